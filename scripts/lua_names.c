#include "scripts/lua_names.h"

#include <limits.h>

bool tensor_can_be_sharded(const Inferred *inferred, int32_t tensor)
{
    const GraphTensor *it = &inferred->graph->tensors[tensor];
    if (inferred_value(inferred, tensor))
        return false;
    return it->kind != TENSOR_MADE || (it->maker >= 0 && !inferred_is_host(inferred, it->maker));
}

bool tensor_is_weight(const Inferred *inferred, int32_t tensor)
{
    int32_t maker = inferred->graph->tensors[tensor].maker;
    return tensor_is_parameter(inferred, tensor) || (maker >= 0 && inferred->on_parameters[maker]);
}

/* ---- all names ---- */

NameWalk names_walk(Arena *arena, const Inferred *inferred, const Naming *naming)
{
    return (NameWalk){.inferred = inferred, .naming = naming, .text = buf_new(arena)};
}

int names_count_all(const Inferred *inferred, const Naming *naming)
{
    return inferred->graph->n_tensors + naming_n_paths(naming) * PART_COUNT;
}

/* What the step makes of the tensor at hand, by its own name; -1 if nothing. */
static int32_t derived_tensor(NameWalk *walk)
{
    walk->text.n = 0;
    buf_puts(&walk->text, tensor_name(walk->inferred->graph, walk->tensor));
    buf_add(&walk->text, walk->derived);
    return graph_find_tensor(walk->inferred->graph, buf_str(&walk->text));
}

/* PATH.part for the next path and part there are, or false when all have been looked at. */
static bool next_part(NameWalk *walk, Str tail)
{
    for (; walk->path < naming_n_paths(walk->naming); walk->path++, walk->part = 0) {
        Str path = str_from(naming_path(walk->naming, walk->path));
        while (path.n > 0 && walk->part < PART_COUNT) {
            Part part = (Part)walk->part++;
            walk->tensor = naming_part_at(walk->naming, walk->path, part);
            if (walk->tensor >= 0 && walk->derived.n > 0)
                walk->tensor = derived_tensor(walk);
            if (walk->tensor < 0 || walk->tensor >= walk->inferred->graph->n_tensors)
                continue; /* nothing, or of the training step of the graph that is walked */
            walk->text.n = 0;
            buf_add(&walk->text, path);
            buf_putc(&walk->text, '.');
            buf_puts(&walk->text, part_name(part));
            buf_add(&walk->text, walk->derived);
            walk->name = buf_str(&walk->text);
            if (str_ends(walk->name, tail))
                return true;
        }
    }
    return false;
}

bool names_next(NameWalk *walk, Str tail)
{
    const Graph *graph = walk->inferred->graph;
    if (next_part(walk, tail))
        return true;
    while (walk->next < graph->n_tensors) {
        walk->tensor = walk->next++;
        walk->name = names_str(graph->names, graph->tensors[walk->tensor].name);
        if (str_ends(walk->name, tail) && tensor_can_be_sharded(walk->inferred, walk->tensor))
            return true;
    }
    return false;
}

/* naming_part(); the names may be those of the training step of the graph at hand, whose other ops
 * are none here. */
static int32_t part_of_graph(const Graph *graph, const Naming *naming, Str path, Part part,
                             int32_t *op)
{
    int32_t tensor = naming_part(naming, path, part, op);
    if (*op >= graph->n_ops)
        *op = -1;
    return tensor;
}

/* It is the own name of another tensor, which comes later. */
static bool is_taken(const NameWalk *walk)
{
    return walk->next == 0 && graph_find_tensor(walk->inferred->graph, walk->name) >= 0;
}

bool names_take(const NameWalk *walk, Names *kept, NamedTensor *out)
{
    *out = (NamedTensor){NULL, walk->tensor, -1};
    if (is_taken(walk))
        return false;
    if (walk->next > 0) {
        out->name = tensor_name(walk->inferred->graph, walk->tensor);
        return true;
    }
    Str path = str_from(naming_path(walk->naming, walk->path));
    if (walk->derived.n == 0)
        part_of_graph(walk->inferred->graph, walk->naming, path, (Part)(walk->part - 1), &out->op);
    out->name = names_text(kept, names_intern(kept, walk->name));
    return true;
}

const char *names_nearest(Arena *arena, const Inferred *inferred, const Naming *naming, Str pattern)
{
    size_t tail = pattern.n;
    while (tail > 0 && pattern.s[tail - 1] != '*')
        tail--;
    Str wanted = {pattern.s + tail, pattern.n - tail};
    int best = INT_MAX;
    Buf nearest = buf_new(arena);
    NameWalk walk = names_walk(arena, inferred, naming);
    for (int i = 0; i < NEAREST_LOOK_AT && names_next(&walk, STR("")); i++) {
        Str name = walk.name;
        if (tail > 0 && name.n > wanted.n)
            name = (Str){name.s + (name.n - wanted.n), wanted.n};
        int distance = str_distance(wanted, name);
        if (distance >= best || is_taken(&walk))
            continue;
        best = distance;
        nearest.n = 0;
        buf_add(&nearest, walk.name);
    }
    return wanted.n == 0 || best < (int)(wanted.n - wanted.n / 4) ? nearest.s : NULL;
}

/* ---- one name ---- */

/* The op through which PATH.part names its tensor; -1 for an own name. */
static int32_t op_of_name(const Graph *graph, const Naming *naming, Str name)
{
    size_t dot = name.n;
    while (dot > 0 && name.s[dot - 1] != '.')
        dot--;
    if (dot == 0 || graph_find_tensor(graph, name) >= 0)
        return -1;
    for (int p = 0; p < PART_COUNT; p++) {
        int32_t op;
        if (str_eq((Str){name.s + dot, name.n - dot}, str_from(part_name((Part)p))) &&
            part_of_graph(graph, naming, (Str){name.s, dot - 1}, (Part)p, &op) >= 0)
            return op;
    }
    return -1;
}

bool tensor_by_name(Arena *arena, const Inferred *inferred, const Naming *naming, Str name,
                    NamedTensor *out, Error *err)
{
    *out = (NamedTensor){.tensor = naming_find(naming, name, err)};
    if (out->tensor < 0)
        return false;
    out->name = arena_str(arena, name);
    out->op = op_of_name(inferred->graph, naming, name);
    return true;
}

/* ---- index dims ---- */

enum { KNOWN_MAX = 16, VIEWS_DEPTH_MAX = 8, VIEWS_MAX = 1000 };

typedef struct {
    const Inferred *inferred;
    Str index;
    IndexPlace *out;
    int n_views; /* that were looked through: paths through a graph can be very many */
    int n_known; /* index dims that were met, for the error */
    const char *known[KNOWN_MAX];
} IndexSearch;

static void remember(IndexSearch *search, const char *index)
{
    for (int i = 0; i < search->n_known; i++)
        if (strcmp(search->known[i], index) == 0)
            return;
    if (search->n_known < KNOWN_MAX)
        search->known[search->n_known++] = index;
}

static bool find_in_operand(IndexSearch *search, int32_t op, int32_t tensor, const Operand *operand)
{
    const OpSpace *space = inferred_space(search->inferred, op);
    if (operand->absent || operand->ignored)
        return false;
    for (int d = 0; d < operand->projection.n_dims; d++) {
        const DimFactors *factors = &operand->factors[d];
        for (int f = 0; f < factors->n; f++) {
            const char *index = space->index[factors->index[f]].name;
            remember(search, index);
            if (str_eq(search->index, str_from(index))) {
                *search->out = (IndexPlace){tensor, op, d, f, *factors};
                return true;
            }
        }
    }
    return false;
}

static bool find_in_op(IndexSearch *search, int32_t op, int32_t tensor)
{
    const Graph *graph = search->inferred->graph;
    const OpSpace *space = inferred_space(search->inferred, op);
    if (!space)
        return false;
    for (int i = 0; i < space->n_inputs; i++)
        if (op_inputs(graph, op)[i] == tensor &&
            find_in_operand(search, op, tensor, &space->operand[i]))
            return true;
    for (int i = 0; i < space->n_outputs; i++)
        if (op_outputs(graph, op)[i] == tensor &&
            find_in_operand(search, op, tensor, opspace_output(space, i)))
            return true;
    return false;
}

/* Readers on parameters alone are looked through: what they make is a view of the tensor. */
static bool find_in_readers(IndexSearch *search, int32_t tensor, int depth)
{
    const Graph *graph = search->inferred->graph;
    int32_t first = graph->tensors[tensor].use;
    for (int i = 0; i < tensor_n_uses(graph, tensor); i++) {
        int32_t op = graph->uses[first + i];
        if (!search->inferred->on_parameters[op] && find_in_op(search, op, tensor))
            return true;
        int32_t view = graph->ops[op].n_outputs > 0 ? op_outputs(graph, op)[0] : -1;
        if (search->inferred->on_parameters[op] && view >= 0 && depth < VIEWS_DEPTH_MAX &&
            search->n_views++ < VIEWS_MAX && find_in_readers(search, view, depth + 1))
            return true;
    }
    return false;
}

/* The index dim alone that a dim of an operand is; -1: it is none, or several. */
static int index_of_dim(const Operand *operand, int64_t d)
{
    if (operand->absent || operand->ignored || d < 0 || d >= operand->projection.n_dims)
        return -1;
    return operand->factors[d].n == 1 ? operand->factors[d].index[0] : -1;
}

/* Whether the value that `maker` makes has the index dim, as dim d. */
static bool is_made_by_index(const IndexSearch *search, int32_t maker, int32_t value, int64_t d)
{
    const OpSpace *space = maker < 0 ? NULL : inferred_space(search->inferred, maker);
    for (int o = 0; space && o < space->n_outputs; o++) {
        int i = op_outputs(search->inferred->graph, maker)[o] == value
                    ? index_of_dim(opspace_output(space, o), d)
                    : -1;
        if (i >= 0 && str_eq(search->index, str_from(space->index[i].name)))
            return true;
    }
    return false;
}

/* A bias that is added by an op of its own: its dim is that of the matmul's output which it meets
 * there, whether an exporter fused the two or not. */
static bool find_beside(IndexSearch *search, int32_t tensor, int32_t op)
{
    const Graph *graph = search->inferred->graph;
    const OpSpace *space = inferred_space(search->inferred, op);
    const int32_t *input = op_inputs(graph, op);
    int own = 0;
    while (space && own < space->n_inputs && input[own] != tensor)
        own++;
    if (!space || own == space->n_inputs || space->operand[own].projection.n_dims != 1)
        return false;
    int index = index_of_dim(&space->operand[own], 0);
    for (int i = 0; index >= 0 && i < space->n_inputs; i++)
        for (int64_t d = 0; i != own && d < space->operand[i].projection.n_dims; d++)
            if (index_of_dim(&space->operand[i], d) == index &&
                is_made_by_index(search, graph->tensors[input[i]].maker, input[i], d)) {
                *search->out = (IndexPlace){tensor, op, 0, 0, space->operand[own].factors[0]};
                return true;
            }
    return false;
}

static bool find_beside_readers(IndexSearch *search, int32_t tensor)
{
    const Graph *graph = search->inferred->graph;
    const int32_t *use = graph->uses + graph->tensors[tensor].use;
    for (int u = 0; u < tensor_n_uses(graph, tensor); u++)
        if (find_beside(search, tensor, use[u]))
            return true;
    return false;
}

bool tensor_find_index(Arena *arena, const Inferred *inferred, const NamedTensor *named, Str index,
                       IndexPlace *out, Error *err)
{
    IndexSearch search = {.inferred = inferred, .index = index, .out = out};
    int32_t maker = inferred->graph->tensors[named->tensor].maker;
    if ((named->op >= 0 && find_in_op(&search, named->op, named->tensor)) ||
        (maker >= 0 && find_in_op(&search, maker, named->tensor)) ||
        find_in_readers(&search, named->tensor, 0) || find_beside_readers(&search, named->tensor))
        return true;
    error_kind(err, ERROR_OUT_OF_RANGE, "no op that uses '%s' has an index dim '%.*s'", named->name,
               STR_ARG(index));
    Buf known = buf_new(arena);
    for (int i = 0; i < search.n_known; i++)
        buf_printf(&known, "%s%s", i > 0 ? ", " : "", search.known[i]);
    if (known.n > 0)
        error_hint(err, "index dims there: %s", known.s);
    return false;
}
