#include "core/fuse/collected.h"

#include "core/base/vec.h"
#include "core/model/rewrite.h"

/* New ops are operators of this opset. */
enum { NEW_OPSET = 23 };

/* A sequence that a loop fills. */
typedef struct {
    const GraphBody *body;
    int32_t empty, carry, insert, result; /* ops */
    int32_t element, list;                /* tensors: what is added; the sequence behind the loop */
} Collected;

typedef struct {
    const Inferred *inferred;
    const Graph *graph;
    Arena *arena, *scratch;
    GraphBuilder *builder;
    const Collected **by; /* per op: the sequence that it makes or reads; NULL */
    bool *gone;           /* per op: nothing stands in its place */
    int32_t *now;         /* per tensor: what it is in the new graph; -1: nothing */
    Vec(int32_t) lines;
    int n;
} Collecting;

static bool is(const Collecting *c, int32_t op, const char *op_type)
{
    return op >= 0 && strcmp(op_operator(c->graph, op), op_type) == 0;
}

static int32_t input_of(const Collecting *c, int32_t op, int i)
{
    return i < c->graph->ops[op].n_inputs ? op_inputs(c->graph, op)[i] : -1;
}

static int32_t maker_of(const Collecting *c, int32_t tensor)
{
    return tensor < 0 ? -1 : c->graph->tensors[tensor].maker;
}

/* ---- which sequences ---- */

/* The op runs once in each iteration: in the body, and in none inside it. */
static bool runs_always(const Graph *graph, const GraphBody *body, int32_t op)
{
    if (op < body->first || op >= body->end)
        return false;
    for (const GraphBody *b = body + 1; b < graph->bodies + graph->n_bodies; b++)
        if (b->end <= body->end && op >= b->first && op < b->end)
            return false;
    return true;
}

static bool has_known_shape(const Collecting *c, int32_t tensor)
{
    const Shape *shape = inferred_shape(c->inferred, tensor);
    for (int64_t d = 0; shape && d < shape->n_dims; d++)
        if (shape->dim[d] < 0)
            return false;
    return shape && shape->n_dims < DIMS_MAX;
}

/* The dim along which elements of so many dims are joined, or the new one; -1: there is none. */
static int axis_of(const Collecting *c, int32_t op, int64_t n_dims)
{
    int64_t axis = op_attr_int(c->graph, op, "axis", 0);
    n_dims += op_attr_int(c->graph, op, "new_axis", 0) != 0;
    axis += axis < 0 ? n_dims : 0;
    return axis >= 0 && axis < n_dims ? (int)axis : -1;
}

static bool is_read_as_tensors(const Collecting *c, int32_t list, int64_t n_dims)
{
    const int32_t *use = c->graph->uses + c->graph->tensors[list].use;
    for (int u = 0; u < tensor_n_uses(c->graph, list); u++) {
        bool joins = is(c, use[u], "ConcatFromSequence") && axis_of(c, use[u], n_dims) >= 0;
        if (!joins && !is(c, use[u], "SequenceAt") && !is(c, use[u], "SequenceLength"))
            return false;
    }
    return !c->graph->tensors[list].output && tensor_n_uses(c->graph, list) > 0;
}

static bool read_carry(const Collecting *c, const GraphBody *body, const GraphCarry *carry,
                       Collected *out)
{
    const Graph *graph = c->graph;
    *out = (Collected){
        .body = body, .carry = maker_of(c, carry->in), .insert = maker_of(c, carry->next)};
    if (!is(c, out->carry, "LoopCarry") || !is(c, out->insert, "SequenceInsert") ||
        input_of(c, out->insert, 0) != carry->in || input_of(c, out->insert, 2) >= 0 ||
        tensor_n_uses(graph, carry->in) != 1 || tensor_n_uses(graph, carry->next) != 1 ||
        !runs_always(graph, body, out->insert))
        return false;
    out->empty = maker_of(c, input_of(c, out->carry, 0));
    out->result = graph->uses[graph->tensors[carry->next].use];
    if (!is(c, out->empty, "SequenceEmpty") || !is(c, out->result, "LoopResult"))
        return false;
    out->element = input_of(c, out->insert, 1);
    out->list = op_outputs(graph, out->result)[0];
    return out->list >= 0 && has_known_shape(c, out->element) &&
           is_read_as_tensors(c, out->list, program_shape(c->inferred, out->element)->n_dims);
}

static void mark(Collecting *c, const Collected *found)
{
    const Graph *graph = c->graph;
    const int32_t *use = graph->uses + graph->tensors[found->list].use;
    c->by[found->result] = found;
    c->gone[found->carry] = c->gone[found->insert] = true;
    for (int u = 0; u < tensor_n_uses(graph, found->list); u++)
        c->by[use[u]] = found;
    c->n++;
}

/* A sequence without elements that only replaced ops read. */
static void drop_empty(Collecting *c, int32_t op)
{
    int32_t tensor = op_outputs(c->graph, op)[0];
    const int32_t *use = c->graph->uses + c->graph->tensors[tensor].use;
    for (int u = 0; u < tensor_n_uses(c->graph, tensor); u++)
        if (!c->gone[use[u]] && !c->by[use[u]])
            return;
    c->gone[op] = true;
}

static void find(Collecting *c)
{
    const Graph *graph = c->graph;
    for (int b = 0; b < graph->n_bodies; b++) {
        const GraphBody *body = &graph->bodies[b];
        for (int k = 1; body->kind == BODY_LOOP && k < body->n_carries; k++) {
            Collected *found = arena_make(c->scratch, Collected);
            if (!read_carry(c, body, &graph->carries[body->carry + k], found))
                continue;
            mark(c, found);
            drop_empty(c, found->empty);
        }
    }
}

/* ---- the new graph ---- */

static Attr int_attr(const Collecting *c, const char *name, int64_t value)
{
    return (Attr){
        .name = names_intern(c->graph->names, str_from(name)), .type = ATTR_INT, .i = value};
}

/* An op in the place of `of`; ending: of its name, behind that of `of`. */
static void add(Collecting *c, int32_t of, const char *op_type, const char *ending,
                const int32_t *inputs, int n_inputs, int32_t output, const Attr *attrs, int n_attrs)
{
    const char *name = arena_printf(c->arena, "%s%s", op_name(c->graph, of), ending);
    graph_add_op(c->builder, str_from(op_type), str_from(name), str_from(op_path(c->graph, of)),
                 inputs, n_inputs, &output, 1,
                 graph_add_attrs_of_opset(c->builder, attrs, n_attrs, NEW_OPSET));
    vec_push(c->arena, &c->lines, c->graph->lines ? c->graph->lines[of] : 0);
}

static int32_t new_tensor(Collecting *c, int32_t of, const char *ending)
{
    int32_t tensor = op_outputs(c->graph, of)[0];
    return graph_new_tensor(
        c->builder,
        str_from(arena_printf(c->arena, "%s.%s", tensor_name(c->graph, tensor), ending)));
}

/* As the reader makes it of a loop's other results. */
static void add_stack(Collecting *c, const Collected *of)
{
    const GraphCarry *condition = &c->graph->carries[of->body->carry];
    int32_t begins = input_of(c, maker_of(c, condition->in), 0);
    const int32_t inputs[] = {c->now[of->element], of->body->of < 0 ? -1 : c->now[of->body->of],
                              condition->next < 0 ? -1 : c->now[condition->next], -1,
                              begins < 0 ? -1 : c->now[begins]};
    add(c, of->result, "LoopStack", "", inputs, 5, c->now[of->list], NULL, 0);
}

static int64_t *turned(Collecting *c, int n_dims, int axis)
{
    int64_t *perm = arena_array(c->arena, int64_t, n_dims);
    for (int d = 0; d < n_dims; d++)
        perm[d] = d < axis ? d + 1 : d == axis ? 0 : d;
    return perm;
}

static int32_t shape_constant(Collecting *c, int32_t of, const Shape *element, int axis)
{
    int64_t *sizes = arena_array(c->arena, int64_t, (int)element->n_dims);
    const Shape shape = {.n_dims = 1, .dim = {element->n_dims}};
    for (int d = 0; d < element->n_dims; d++)
        sizes[d] = d == axis ? -1 : element->dim[d];
    int32_t tensor = new_tensor(c, of, "shape");
    graph_add_initializer(
        c->builder, tensor, DT_I64, &shape,
        (TensorData){.form = DATA_RAW,
                     .bytes = {(const char *)sizes, sizeof *sizes * (size_t)element->n_dims}});
    return tensor;
}

/* The stacked dim becomes a dim of its own, or is joined with that dim of the elements. */
static void add_concat(Collecting *c, int32_t op, const Collected *of)
{
    const Shape *element = program_shape(c->inferred, of->element);
    bool stacks = op_attr_int(c->graph, op, "new_axis", 0) != 0;
    int n = (int)element->n_dims + 1, axis = axis_of(c, op, element->n_dims);
    int32_t out = c->now[op_outputs(c->graph, op)[0]], list = c->now[of->list];
    int32_t moved = stacks ? out : new_tensor(c, op, "moved");
    Attr perm = int_attr(c, "perm", 0);
    perm.type = ATTR_INTS;
    perm.n = n;
    perm.ints = turned(c, n, axis);
    add(c, op, "Transpose", stacks ? "" : ".moved", &list, 1, moved, &perm, 1);
    if (stacks)
        return;
    const int32_t inputs[] = {moved, shape_constant(c, op, element, axis)};
    add(c, op, "Reshape", "", inputs, 2, out, NULL, 0);
}

static void add_length(Collecting *c, int32_t op, const Collected *of)
{
    int32_t list = c->now[of->list], sizes = new_tensor(c, op, "sizes");
    const Attr range[] = {int_attr(c, "start", 0), int_attr(c, "end", 1)};
    add(c, op, "Shape", ".sizes", &list, 1, sizes, range, 2);
    add(c, op, "Squeeze", "", &sizes, 1, c->now[op_outputs(c->graph, op)[0]], NULL, 0);
}

static void emit(void *context, int32_t op)
{
    Collecting *c = context;
    const GraphOp *old = &c->graph->ops[op];
    const Collected *of = c->by[op];
    int32_t *operand = arena_array(c->scratch, int32_t, old->n_inputs + old->n_outputs + 1);
    if (c->gone[op])
        return;
    for (int i = 0; i < old->n_inputs + old->n_outputs; i++) {
        int32_t t = op_operand(c->graph, op, i);
        operand[i] = t < 0 ? -1 : c->now[t];
    }
    const Attr first = int_attr(c, "axis", 0);
    if (of && op == of->result)
        add_stack(c, of);
    else if (of && is(c, op, "SequenceAt"))
        add(c, op, "Gather", "", operand, 2, operand[old->n_inputs], &first, 1);
    else if (of && is(c, op, "SequenceLength"))
        add_length(c, op, of);
    else if (of)
        add_concat(c, op, of);
    else {
        graph_add_op_like(c->builder, *old, operand, operand + old->n_inputs);
        vec_push(c->arena, &c->lines, c->graph->lines ? c->graph->lines[op] : 0);
    }
}

static bool drops(void *context, const GraphCarry *carry)
{
    const Collecting *c = context;
    int32_t maker = maker_of(c, carry->in);
    return maker >= 0 && c->gone[maker];
}

static Graph *rebuilt(Collecting *c, Error *err)
{
    const Graph *graph = c->graph;
    c->builder = graph_builder_like(graph->arena, graph);
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        int32_t maker = graph->tensors[t].maker;
        bool stacked = maker >= 0 && c->by[maker] && c->by[maker]->list == t;
        c->now[t] = maker >= 0 && c->gone[maker] ? -1
                    : stacked                    ? new_tensor(c, maker, "stacked")
                                                 : rewrite_copy_tensor(c->builder, graph, t);
    }
    rewrite_copy_ends(c->builder, graph, c->now);
    rewrite_copy_ops(c->builder, graph, c->now, &(RewriteOps){c, emit, drops});
    return rewrite_seal_like(c->builder, graph, c->lines.at, err);
}

bool collect_in_loops(const Inferred *inferred, Graph **out, int *n, Error *err)
{
    const Graph *graph = inferred->graph;
    Collecting c = {
        .inferred = inferred, .graph = graph, .arena = graph->arena, .scratch = arena_new()};
    *out = NULL;
    *n = 0;
    if (inferred->listed && graph->n_bodies > 0) {
        c.by = arena_array(c.scratch, const Collected *, graph->n_ops);
        c.gone = arena_array(c.scratch, bool, graph->n_ops);
        c.now = arena_array(c.scratch, int32_t, graph->n_tensors);
        find(&c);
    }
    if (c.n > 0)
        *out = rebuilt(&c, err);
    *n = c.n;
    arena_free(c.scratch);
    return c.n == 0 || *out;
}
