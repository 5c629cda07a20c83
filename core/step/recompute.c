#include "core/step/recompute.h"

#include "core/base/intern.h"
#include "core/base/vec.h"
#include "core/model/group.h"
#include "core/rules/registry.h"
#include "core/space/contraction.h"

/* ---- what is made again ---- */

/* Ops of branches and loops, and the op that ends them. */
static bool *find_controlled(Arena *scratch, const Graph *graph)
{
    bool *controlled = arena_array(scratch, bool, graph->n_ops);
    for (int b = 0; b < graph->n_bodies; b++)
        for (int32_t op = graph->bodies[b].first; op <= graph->bodies[b].end; op++)
            if (op < graph->n_ops)
                controlled[op] = true;
    return controlled;
}

static bool leaves_group(const Inferred *model, const int32_t *group, int32_t tensor)
{
    const Graph *graph = model->graph;
    const GraphTensor *at = &graph->tensors[tensor];
    for (int u = 0; u < tensor_n_uses(graph, tensor); u++) {
        int32_t reader = graph->uses[at->use + u];
        if (group[reader] != group[at->maker] && !inferred_is_host(model, reader))
            return true;
    }
    return at->output;
}

void recompute_mark(const Inferred *model, const int32_t *group, bool *remade)
{
    const Graph *graph = model->graph;
    Arena *scratch = arena_new();
    const bool *controlled = find_controlled(scratch, graph);
    for (int p = 0; p < model->n_program; p++) {
        int32_t op = model->program[p];
        for (int o = 0; group[op] >= 0 && !controlled[op] && o < graph->ops[op].n_outputs; o++) {
            int32_t t = op_outputs(graph, op)[o];
            if (t >= 0)
                remade[t] = !leaves_group(model, group, t);
        }
    }
    arena_free(scratch);
}

/* ---- layers ---- */

typedef struct {
    const Groups *groups;
    Intern *paths; /* of layers */
    Intern *alike; /* (parent, stem) of groups of which two beside each other are alike */
    int32_t *out;
} Layers;

/* "block[*]" of "block[3]": what siblings that differ in their numbers share. */
static int32_t stem_key(Arena *scratch, Intern *stems, const Group *group, bool put)
{
    Buf text = buf_new(scratch);
    buf_printf(&text, "%d ", group->parent);
    for (const char *s = group->name; *s; s++)
        if (!is_digit(*s))
            buf_putc(&text, *s);
        else if (s == group->name || !is_digit(s[-1]))
            buf_putc(&text, '*');
    Str key = buf_str(&text);
    return put ? intern_put(stems, key.s, key.n) : intern_find(stems, key.s, key.n);
}

static void take_layer(Layers *l, int32_t at)
{
    const Group *group = &l->groups->groups[at];
    int32_t layer = intern_put(l->paths, group->path, strlen(group->path));
    for (int i = group->first; i < group->first + group->n; i++)
        l->out[l->groups->order[i]] = layer;
}

/* Members of a cycle, "local global", are layers too. */
static void take_layers(Layers *l, Arena *scratch, int32_t parent, bool is_cycle)
{
    const Group *groups = l->groups->groups;
    for (int32_t at = groups[parent].child; at >= 0; at = groups[at].next) {
        bool layer = is_cycle || stem_key(scratch, l->alike, &groups[at], false) >= 0;
        if (groups[at].cycle || !layer)
            take_layers(l, scratch, at, groups[at].cycle && layer);
        else
            take_layer(l, at);
    }
}

static void number_in_order(Arena *scratch, const Inferred *model, int n, int32_t *group)
{
    int32_t *number = arena_array(scratch, int32_t, n + 1), next = 0;
    for (int p = 0; p < model->n_program; p++) {
        int32_t op = model->program[p];
        if (group[op] < 0)
            continue;
        if (number[group[op]] == 0)
            number[group[op]] = ++next;
        group[op] = number[group[op]] - 1;
    }
}

static int32_t *no_groups(Arena *arena, const Graph *graph)
{
    int32_t *group = arena_array(arena, int32_t, graph->n_ops);
    memset(group, -1, (size_t)graph->n_ops * sizeof *group);
    return group;
}

int32_t *recompute_layers(Arena *arena, const Inferred *model)
{
    const Graph *graph = model->graph;
    Arena *scratch = arena_new();
    Intern *signatures = intern_new(scratch);
    int32_t *signature = arena_array(scratch, int32_t, graph->n_ops);
    for (int p = 0; p < model->n_program; p++) {
        int32_t op = model->program[p];
        int32_t key[3] = {graph->ops[op].op_type, graph->ops[op].attrs, model->space[op]};
        signature[op] = intern_put(signatures, key, sizeof key);
    }
    Layers l = {.out = no_groups(arena, graph)};
    l.groups = groups_build(scratch, graph, model->program, model->n_program, signature, signature);
    l.paths = intern_new(scratch);
    l.alike = intern_new(scratch);
    for (int g = 1; g < l.groups->n_groups; g++) {
        const Group *group = &l.groups->groups[g];
        if (group->alike_n > 1 || group->alike != g)
            stem_key(scratch, l.alike, group, true);
    }
    take_layers(&l, scratch, 0, false);
    number_in_order(scratch, model, intern_count(l.paths), l.out);
    arena_free(scratch);
    return l.out;
}

/* ---- attention ---- */

static bool is_product(const Inferred *model, int32_t op)
{
    const OpSpace *space = inferred_space(model, op);
    return space && op_space_is_product(space);
}

typedef struct {
    const Inferred *model;
    Arena *scratch;
    const Shape *scores; /* of queries and keys */
    Vec(int32_t) ops;
} Core;

enum { CORE_OPS_MAX = 64 };

/* Whether the tensor has an element for each score: it lies between the two products. */
static bool has_scores(const Core *core, int32_t tensor)
{
    const Shape *shape = tensor < 0 ? NULL : inferred_shape(core->model, tensor);
    return shape && shape_elements(shape) == shape_elements(core->scores);
}

static bool has_op(const Core *core, int32_t op)
{
    for (int i = 0; i < core->ops.n; i++)
        if (core->ops.at[i] == op)
            return true;
    return false;
}

static void add_op(Core *core, int32_t op)
{
    if (!has_op(core, op))
        vec_push(core->scratch, &core->ops, op);
}

/* Adds what reads the op's results, up to the product with the values; false: something else reads
 * them. */
static bool add_readers(Core *core, int32_t softmax)
{
    const Graph *graph = core->model->graph;
    bool found = false;
    for (int at = 0; at < core->ops.n; at++) {
        int32_t op = core->ops.at[at];
        if (op != softmax && is_product(core->model, op))
            continue;
        for (int o = 0; o < graph->ops[op].n_outputs; o++) {
            int32_t t = op_outputs(graph, op)[o];
            for (int u = 0; t >= 0 && u < tensor_n_uses(graph, t); u++) {
                int32_t reader = graph->uses[graph->tensors[t].use + u];
                if (inferred_is_host(core->model, reader))
                    continue;
                bool product = is_product(core->model, reader);
                if ((!product && !has_scores(core, op_outputs(graph, reader)[0])) ||
                    core->ops.n == CORE_OPS_MAX)
                    return false;
                found |= product;
                add_op(core, reader);
            }
        }
    }
    return found;
}

/* Adds what the softmax is made of, back to the product of queries and keys, through operands of
 * the scores' size; false: it is made otherwise. */
static bool add_makers(Core *core, int32_t softmax)
{
    const Graph *graph = core->model->graph;
    bool found = false;
    int32_t at = softmax;
    while (at >= 0 && !found && core->ops.n < CORE_OPS_MAX) {
        int32_t next = -1;
        for (int i = 0; i < graph->ops[at].n_inputs && next < 0; i++) {
            int32_t t = op_inputs(graph, at)[i], maker = t < 0 ? -1 : graph->tensors[t].maker;
            if (maker >= 0 && has_scores(core, t) && dtype_is_float((Dtype)core->model->dtype[t]) &&
                !core->model->on_parameters[maker] && !inferred_is_host(core->model, maker))
                next = maker;
        }
        at = next;
        found = at >= 0 && is_product(core->model, at);
        if (at >= 0)
            add_op(core, at);
    }
    return found;
}

int32_t *recompute_attention(Arena *arena, const Inferred *model)
{
    const Graph *graph = model->graph;
    int32_t *group = no_groups(arena, graph), n = 0;
    OperatorRows rows = operator_rows_new(arena, model);
    for (int p = 0; p < model->n_program; p++) {
        int32_t op = model->program[p];
        if (!(operator_row_flags(&rows, op) & OPERATOR_ATTENDS) || graph->ops[op].n_inputs != 1)
            continue;
        Arena *scratch = arena_new();
        Core core = {.model = model, .scratch = scratch};
        core.scores = inferred_shape(model, op_inputs(graph, op)[0]);
        add_op(&core, op);
        if (core.scores && add_readers(&core, op) && add_makers(&core, op)) {
            for (int i = 0; i < core.ops.n; i++)
                group[core.ops.at[i]] = n;
            n++;
        }
        arena_free(scratch);
    }
    return group;
}
