/* layer_modules.c - which ops of a layer are one module, and how modules stand beside each other.
 */
#include "viz/draw/layer.h"

#include "core/cost/cost.h"
#include "core/rules/registry.h"
#include "core/summary/label.h"

/* ---- joining ops ---- */

typedef struct {
    LayerDrawing *layer;
    const char *inside; /* path of the layer */
    int *of;            /* per op of the layer: the first op of its module */
    int32_t *place;     /* per op of the graph: its place among those of the layer, -1 */
    bool *seen;         /* scratch */
    const MatmulRoles *roles;
} Joining;

static int find(const Joining *j, int i)
{
    while (j->of[i] != i)
        i = j->of[i];
    return i;
}

/* Whether module `to` is reached from `from` by way of a third one. */
static bool reaches(const Joining *j, int from, int to, int at, bool left)
{
    const Graph *graph = j->layer->draw->graph;

    if (j->seen[at])
        return false;
    j->seen[at] = true;
    for (int i = 0; i < j->layer->n_ops; i++) {
        const GraphOp *node = &graph->ops[j->layer->op[i]];
        if (find(j, i) != at)
            continue;
        for (int k = 0; k < node->n_outputs; k++) {
            int32_t t = op_outputs(graph, j->layer->op[i])[k];
            for (int u = 0; t >= 0 && u < tensor_n_uses(graph, t); u++) {
                int32_t p = j->place[graph->uses[graph->tensors[t].use + u]];
                int next = p < 0 ? -1 : find(j, p);
                if (next < 0 || next == at || next == from || (next == to && !left))
                    continue;
                if (next == to || reaches(j, from, to, next, true))
                    return true;
            }
        }
    }
    return false;
}

/* Joins two modules if that makes no cycle. a: the earlier one. */
static void join(Joining *j, int a, int b)
{
    a = find(j, a);
    b = find(j, b);
    if (a == b)
        return;
    for (int way = 0; way < 2; way++) {
        memset(j->seen, 0, (size_t)j->layer->n_ops * sizeof *j->seen);
        if (way == 0 ? reaches(j, a, b, a, false) : reaches(j, b, a, b, false))
            return;
    }
    j->of[a < b ? b : a] = a < b ? a : b;
}

static const char *path_of(const Joining *j, int i)
{
    return op_path(j->layer->draw->graph, j->layer->op[i]);
}

static const MatmulRole *role_of(const MatmulRoles *roles, int32_t op)
{
    for (int i = 0; i < roles->n; i++)
        if (roles->at[i].op == op)
            return &roles->at[i];
    return NULL;
}

static bool has_flag(const Joining *j, int i, OperatorFlags flag)
{
    const Operator *row = inferred_operator(j->layer->draw->plan->inferred, j->layer->op[i]);
    return row && row->flags & (unsigned)flag;
}

/* An op that adds two values, each of which this run makes. */
static bool is_add(const Joining *j, int i)
{
    const Draw *draw = j->layer->draw;
    int32_t op = j->layer->op[i];
    const GraphOp *node = &draw->graph->ops[op];
    int n = 0;

    for (int k = 0; k < node->n_inputs; k++) {
        int32_t t = op_inputs(draw->graph, op)[k];
        int32_t maker = t < 0 ? -1 : draw->graph->tensors[t].maker;
        n += maker >= 0 && !draw->plan->inferred->on_parameters[maker] &&
             !tensor_is_known(draw->plan->inferred, t);
    }
    return n == 2 && has_flag(j, i, OPERATOR_ADDS);
}

static const MatmulRole *op_role(const Joining *j, int i)
{
    return role_of(j->roles, j->layer->op[i]);
}

/* Whether a path has ops of several things: two matmuls with weights, or one and attention. */
static bool is_mixed(const Joining *j, const char *path)
{
    int n = 0;

    for (int i = 0; i < j->layer->n_ops; i++)
        n +=
            strcmp(path_of(j, i), path) == 0 && (op_role(j, i) || has_flag(j, i, OPERATOR_ATTENDS));
    return n > 1;
}

/* Whether the module of an op has a matmul with a weight. */
static bool has_matmul(const Joining *j, int i)
{
    for (int k = 0; k < j->layer->n_ops; k++)
        if (op_role(j, k) && find(j, k) == find(j, i))
            return true;
    return false;
}

/* Whether an op adds a parameter to a value. */
static bool is_bias(const Joining *j, int reader)
{
    return has_flag(j, reader, OPERATOR_ADDS) && !is_add(j, reader);
}

static void join_readers(Joining *j, int i, bool (*may)(const Joining *, int, int))
{
    const Graph *graph = j->layer->draw->graph;
    const GraphOp *node = &graph->ops[j->layer->op[i]];

    for (int k = 0; k < node->n_inputs; k++) {
        int32_t t = op_inputs(graph, j->layer->op[i])[k];
        int32_t maker = t < 0 ? -1 : graph->tensors[t].maker;
        int p = maker < 0 ? -1 : j->place[maker];
        if (p >= 0 && may(j, p, i))
            join(j, p, i);
    }
}

static bool is_view(const Joining *j, int maker, int reader)
{
    (void)maker;
    return op_work(j->layer->draw->plan, j->layer->op[reader]) == WORK_VIEW;
}

static bool is_of_one_path(const Joining *j, int maker, int reader)
{
    const char *path = path_of(j, reader);
    bool multiplies = has_matmul(j, maker);
    if (is_mixed(j, path) && (multiplies || has_matmul(j, reader)) &&
        !(multiplies && is_bias(j, reader)))
        return false;
    return *path && strcmp(path, j->inside) != 0 && strcmp(path, path_of(j, maker)) == 0 &&
           strcmp(path, path_of(j, find(j, maker))) == 0 &&
           strcmp(path, path_of(j, find(j, reader))) == 0;
}

/* A view of a value from outside has no maker to belong to: its first reader. */
static bool follows_view(const Joining *j, int maker, int reader)
{
    return op_work(j->layer->draw->plan, j->layer->op[maker]) == WORK_VIEW &&
           j->of[maker] == maker && !is_add(j, reader);
}

/* ---- modules ---- */

/* "q_proj" of "self_attn.q_proj"; of "mlp.0" the whole. */
static const char *last_part(Arena *arena, Str name)
{
    size_t from = name.n;

    while (from > 0 && name.s[from - 1] != '.')
        from--;
    Str last = {name.s + from, name.n - from};
    int64_t number;
    return arena_str(arena, str_to_int(last, &number) ? name : last);
}

/* A matmul has the name of its weight: "in_proj" of "self_attention.in_proj_weight". */
static const char *weight_title(const Joining *j, const MatmulRole *role)
{
    static const char *const ends[] = {".weight", "_weight", ".w"};
    const Draw *draw = j->layer->draw;
    int32_t t = op_inputs(draw->graph, role->op)[role->weight];

    while (!tensor_is_parameter(draw->plan->inferred, t)) {
        int32_t maker = draw->graph->tensors[t].maker;
        if (maker < 0 || draw->graph->ops[maker].n_inputs < 1 ||
            op_inputs(draw->graph, maker)[0] < 0)
            return label_operator(draw->graph, role->op);
        t = op_inputs(draw->graph, maker)[0];
    }
    Str name = group_relative(naming_label(draw->session->naming, t), j->inside);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (str_ends(name, str_from(ends[i]))) {
            name.n -= strlen(ends[i]);
            break;
        }
    return last_part(draw->arena, name);
}

/* Whether all ops of that path, and of those below it, are one module. */
static bool is_alone(const Joining *j, int first, const char *path)
{
    for (int i = 0; i < j->layer->n_ops; i++) {
        const char *own = path_of(j, i);
        bool below = strcmp(own, path) == 0 || group_relative(own, path).s != own;
        if (find(j, i) != first && below)
            return false;
    }
    return true;
}

/* The name of a module that does nothing else, such as "scan" or "core_attention". */
static const char *attention_title(const Joining *j, int first, const char *path)
{
    Str below = group_relative(path, j->inside);
    bool own = *path && below.s != path && below.n > 0 && is_alone(j, first, path);

    return own ? last_part(j->layer->draw->arena, below) : "attention";
}

static const char *title_of(const Joining *j, int first, const MatmulRole *role)
{
    const Draw *draw = j->layer->draw;
    double most = -1;
    int32_t heaviest = j->layer->op[first];
    bool multiplies = false;
    int n_working = 0, attends = -1;
    const char *path = path_of(j, first);

    for (int i = 0; i < j->layer->n_ops; i++) {
        int32_t op = j->layer->op[i];
        if (find(j, i) != first)
            continue;
        Work work = op_work(draw->plan, op);
        n_working += work != WORK_VIEW;
        attends = has_flag(j, i, OPERATOR_ATTENDS) ? i : attends;
        multiplies |= work == WORK_MATMUL;
        if (draw->plan->priced->op_us[op] > most) {
            most = draw->plan->priced->op_us[op];
            heaviest = op;
            path = path_of(j, i);
        }
    }
    if (role)
        return weight_title(j, role);
    if (attends >= 0 && multiplies)
        return attention_title(j, first, path_of(j, attends));
    Str below = group_relative(path, j->inside);
    if (!*path || below.s == path || below.n == 0 || (n_working == 1 && !is_alone(j, first, path)))
        return label_operator(draw->graph, heaviest);
    return last_part(draw->arena, below);
}

static void add_modules(Joining *j, const MatmulRoles *roles)
{
    LayerDrawing *layer = j->layer;
    int *number = arena_array(layer->draw->arena, int, layer->n_ops + 1);

    for (int i = 0; i < layer->n_ops; i++) {
        int first = find(j, i);
        const MatmulRole *role = role_of(roles, layer->op[i]);
        if (first == i) {
            LayerModule module = {.op = layer->op[i], .adds = is_add(j, i), .to = 1};
            number[i] = layer->modules.n;
            vec_push(layer->draw->arena, &layer->modules, module);
        }
        LayerModule *module = &layer->modules.at[number[first]];
        if (role && !module->role)
            module->role = role;
        module->adds &= find(j, i) == i || op_work(layer->draw->plan, layer->op[i]) == WORK_VIEW;
        layer->module_of[layer->op[i]] = number[first];
    }
    for (int i = 0; i < layer->n_ops; i++)
        if (find(j, i) == i) {
            LayerModule *module = &layer->modules.at[number[i]];
            module->title = module->adds ? "+" : title_of(j, i, module->role);
        }
}

/* ---- values ---- */

static LayerValue *value_of(LayerDrawing *layer, int32_t tensor, int maker)
{
    for (int i = 0; i < layer->values.n; i++)
        if (layer->values.at[i].tensor == tensor)
            return &layer->values.at[i];
    LayerValue value = {.tensor = tensor, .maker = maker};
    vec_push(layer->draw->arena, &layer->values, value);
    return &layer->values.at[layer->values.n - 1];
}

static void add_reader(LayerDrawing *layer, LayerValue *value, int reader, int32_t need)
{
    for (int i = 0; i < value->readers.n; i++)
        if (value->readers.at[i] == reader)
            return;
    vec_push(layer->draw->arena, &value->readers, reader);
    vec_push(layer->draw->arena, &value->needs, need);
}

static bool is_forward(const Graph *graph, int32_t op)
{
    return !graph->phase || graph->phase[op] == PHASE_FORWARD;
}

static void add_values(LayerDrawing *layer)
{
    const Draw *draw = layer->draw;
    const Graph *graph = draw->graph;

    for (int i = 0; i < layer->n_ops; i++) {
        const GraphOp *node = &graph->ops[layer->op[i]];
        int module = layer->module_of[layer->op[i]];
        for (int k = 0; k < node->n_inputs; k++) {
            int32_t t = op_inputs(graph, layer->op[i])[k];
            int32_t maker = t < 0 ? -1 : graph->tensors[t].maker;
            int from = maker < 0 ? -1 : layer->module_of[maker];
            if (maker < 0 || from == module || draw->plan->inferred->on_parameters[maker] ||
                tensor_is_known(draw->plan->inferred, t))
                continue;
            add_reader(layer, value_of(layer, t, from), module,
                       draw->plan->moved->need[node->input + k]);
        }
        for (int k = 0; k < node->n_outputs; k++) {
            int32_t t = op_outputs(graph, layer->op[i])[k];
            for (int u = 0; t >= 0 && u < tensor_n_uses(graph, t); u++) {
                int32_t op = graph->uses[graph->tensors[t].use + u];
                if (layer->module_of[op] < 0 && is_forward(graph, op) &&
                    !inferred_is_host(draw->plan->inferred, op))
                    value_of(layer, t, module)->leaves = true;
            }
        }
    }
}

/* ---- ranks and shares of the width ---- */

/* A module that reads values from outside alone stands right above what reads it: keys and values
 * of what an encoder made, beside the queries. */
static void lower_module(LayerDrawing *layer, int m)
{
    int rank = layer->modules.n;
    for (int v = 0; v < layer->values.n; v++) {
        const LayerValue *value = &layer->values.at[v];
        for (int r = 0; r < value->readers.n; r++) {
            if (value->readers.at[r] == m && value->maker >= 0)
                return;
            int below = layer->modules.at[value->readers.at[r]].rank - 1;
            rank = value->maker == m && below < rank ? below : rank;
        }
    }
    if (rank < layer->modules.n)
        layer->modules.at[m].rank = rank;
}

static void rank_modules(LayerDrawing *layer)
{
    for (int pass = 0; pass < layer->modules.n; pass++) {
        bool moved = false;
        for (int v = 0; v < layer->values.n; v++) {
            const LayerValue *value = &layer->values.at[v];
            int least = value->maker < 0 ? 0 : layer->modules.at[value->maker].rank + 1;
            for (int r = 0; r < value->readers.n; r++) {
                LayerModule *reader = &layer->modules.at[value->readers.at[r]];
                moved |= reader->rank < least;
                reader->rank = reader->rank < least ? least : reader->rank;
            }
        }
        if (!moved)
            break;
    }
    for (int m = 0; m < layer->modules.n; m++)
        lower_module(layer, m);
    for (int m = 0; m < layer->modules.n; m++)
        if (layer->modules.at[m].rank >= layer->n_ranks)
            layer->n_ranks = layer->modules.at[m].rank + 1;
}

/* What it reads from the rank before it spans this share; readers of one value divide its share. */
static void share_width(LayerDrawing *layer, int m)
{
    LayerModule *module = &layer->modules.at[m];
    double from = 1, to = 0;

    for (int v = 0; v < layer->values.n; v++) {
        const LayerValue *value = &layer->values.at[v];
        int at = -1, n = 0;
        for (int r = 0; r < value->readers.n; r++) {
            if (value->readers.at[r] == m)
                at = n;
            n += layer->modules.at[value->readers.at[r]].rank == module->rank;
        }
        if (at < 0 || (value->maker < 0 && value->readers.n < 2 && module->rank > 0))
            continue;
        double left = value->maker < 0 ? 0 : layer->modules.at[value->maker].from;
        double right = value->maker < 0 ? 1 : layer->modules.at[value->maker].to;
        double part = (right - left) / n;
        from = left + at * part < from ? left + at * part : from;
        to = left + (at + 1) * part > to ? left + (at + 1) * part : to;
    }
    if (from < to) {
        module->from = from;
        module->to = to;
    }
}

/* Modules of one rank that cover each other divide the whole width. */
static void part_rank(LayerDrawing *layer, int rank)
{
    Vec(int) in = {0};
    bool covered = false;

    for (int m = 0; m < layer->modules.n; m++)
        if (layer->modules.at[m].rank == rank)
            vec_push(layer->draw->arena, &in, m);
    for (int a = 0; a < in.n; a++)
        for (int b = a + 1; b < in.n; b++)
            covered |= layer->modules.at[in.at[a]].from < layer->modules.at[in.at[b]].to - 1e-9 &&
                       layer->modules.at[in.at[b]].from < layer->modules.at[in.at[a]].to - 1e-9;
    for (int a = 0; covered && a < in.n; a++) {
        layer->modules.at[in.at[a]].from = (double)a / in.n;
        layer->modules.at[in.at[a]].to = (double)(a + 1) / in.n;
    }
}

static void place_modules(LayerDrawing *layer)
{
    rank_modules(layer);
    for (int rank = 0; rank < layer->n_ranks; rank++) {
        for (int m = 0; m < layer->modules.n; m++)
            if (layer->modules.at[m].rank == rank)
                share_width(layer, m);
        part_rank(layer, rank);
    }
}

/* Convolutions have weights as matmuls do: rows are channels in, columns channels out. */
static void add_convolutions(const LayerDrawing *layer, MatmulRoles *roles)
{
    const Draw *draw = layer->draw;
    Vec(MatmulRole) all = {0};

    for (int i = 0; i < roles->n; i++)
        vec_push(draw->arena, &all, roles->at[i]);
    for (int i = 0; i < layer->n_ops; i++) {
        int32_t op = layer->op[i];
        const OpSpace *space = inferred_space(draw->plan->inferred, op);
        if (role_of(roles, op) || !space || space->n_inputs < 2 ||
            space->operand[1].projection.n_dims < 3)
            continue;
        const DimFactors *dims = space->operand[1].factors;
        int32_t weight = op_inputs(draw->graph, op)[1];
        bool plain = dims[0].n == 1 && dims[1].n == 1 && /* not in groups */
                     space->index[dims[0].index[0]].role == ROLE_MAP &&
                     space->index[dims[1].index[0]].role == ROLE_REDUCE;
        if (plain && tensor_is_parameter(draw->plan->inferred, weight))
            vec_push(draw->arena, &all,
                     ((MatmulRole){.op = op,
                                   .weight = 1,
                                   .k = dims[1].index[0],
                                   .n = dims[0].index[0],
                                   .expert = -1,
                                   .stack = {-1, -1, -1, -1},
                                   .reader = -1,
                                   .stream = -1}));
    }
    *roles = (MatmulRoles){all.at, all.n};
}

LayerDrawing *layer_of(Draw *draw, int32_t group)
{
    const Group *g = &draw->groups->groups[group];
    LayerDrawing *layer = arena_make(draw->arena, LayerDrawing);
    int32_t *op = arena_array(draw->arena, int32_t, g->n + 1);
    Joining j = {.layer = layer, .inside = group_prefix(draw->groups, group)};
    MatmulRoles *roles = arena_make(draw->arena, MatmulRoles);

    layer->draw = draw;
    layer->op = op;
    layer->module_of = arena_array(draw->arena, int, draw->graph->n_ops + 1);
    j.of = arena_array(draw->arena, int, g->n + 1);
    j.seen = arena_array(draw->arena, bool, g->n + 1);
    j.place = arena_array(draw->arena, int32_t, draw->graph->n_ops + 1);
    for (int i = 0; i < draw->graph->n_ops; i++)
        j.place[i] = layer->module_of[i] = -1;
    for (int32_t i = g->first; i < g->first + g->n; i++) {
        int32_t at = draw->groups->order[i];
        if (draw->plan->inferred->on_parameters[at] || !plan_cut(draw->plan, at) ||
            !is_forward(draw->graph, at))
            continue;
        j.place[at] = j.of[layer->n_ops] = layer->n_ops;
        op[layer->n_ops++] = at;
    }
    j.roles = roles;
    *roles = roles_find(draw->arena, draw->plan->inferred->forward ? draw->plan->inferred->forward
                                                                   : draw->plan->inferred);
    add_convolutions(layer, roles);
    for (int i = 0; i < layer->n_ops; i++)
        join_readers(&j, i, is_view);
    for (int i = 0; i < layer->n_ops; i++)
        join_readers(&j, i, is_of_one_path);
    for (int i = 0; i < layer->n_ops; i++)
        join_readers(&j, i, follows_view);
    add_modules(&j, roles);
    add_values(layer);
    place_modules(layer);
    return layer;
}
