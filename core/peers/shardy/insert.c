#include "core/peers/shardy/choose.h"
#include "core/peers/shardy/insert_walk.h"

/* ORDER INSERT_KIND */
static const char *const kind_names[INSERT_KIND_COUNT] = {
    "reshard",
    "all_reduce",
    "sharded_to_unreduced",
    "replicated_to_unreduced",
};

const char *insert_kind_name(InsertKind kind)
{
    return kind_names[kind];
}

/* ---- an op ---- */

static bool is_called(const InsertOp *op, const char *name)
{
    return op->call.op && strcmp(op->call.op, name) == 0;
}

static int result_of(const InsertOp *op, int i)
{
    return op->value[op->call.n_operands + i];
}

/* When one result of an op has a sharding, its other results become open. */
static void state_results(InsertWalk *walk, const InsertOp *op)
{
    int mesh = MESH_NONE;
    for (int i = op->call.n_results - 1; i >= 0; i--)
        if (tensor_sharding_exists(&walk->made[result_of(op, i)]))
            mesh = walk->made[result_of(op, i)].mesh;
    for (int i = 0; mesh != MESH_NONE && i < op->call.n_results; i++)
        if (!tensor_sharding_exists(&walk->made[result_of(op, i)]))
            walk->made[result_of(op, i)].mesh = mesh;
}

static bool reduce_operands(InsertWalk *walk, int at)
{
    const InsertOp *op = &walk->program->op[at];
    const TensorSharding *first = op->call.n_results ? &walk->made[result_of(op, 0)] : NULL;
    for (int i = 1; i < op->call.n_results; i++)
        if (!axis_list_equal(&first->unreduced, &walk->made[result_of(op, i)].unreduced))
            return error_kind(walk->err, ERROR_INVALID,
                              "the results of %s are partial over different axes", op->call.op);
    for (int i = 0; i < op->call.n_operands; i++) {
        int *node = &walk->operand[at][i];
        if (!first && walk_node(walk, *node)->sharding.unreduced.n > 0)
            return error_kind(walk->err, ERROR_INVALID, "%s has a partial operand but no result",
                              op->call.op);
        if (first && !walk_reduce_for(walk, node, first))
            return false;
    }
    return true;
}

/* The producers of the operands, as far as rules depend on them. */
static const FactorSource *sources_of(const InsertWalk *walk, int at)
{
    const InsertProgram *program = walk->program;
    int n = program->op[at].call.n_operands;
    FactorSource *source = arena_array(walk->arena, FactorSource, n);
    for (int i = 0; i < n; i++) {
        int node = walk->operand[at][i], maker = walk_node(walk, node)->op;
        const InsertOp *op = maker == NO_OP ? NULL : &program->op[maker];
        bool slice = op && is_called(op, "stablehlo.slice");
        bool constant =
            op && (is_called(op, "stablehlo.constant") || is_called(op, "sdy.constant"));
        int of = slice ? walk->operand[maker][0] : node;
        source[i].op = slice ? STR("stablehlo.slice") : constant ? STR("constant") : STR("arg");
        source[i].of = str_from(arena_printf(walk->arena, "%d", of));
    }
    return source;
}

static bool fits(const FactorRule *rule, const FactorCall *call, Error *err)
{
    bool fits = rule->n_operands == call->n_operands && rule->n_results == call->n_results;
    for (int t = 0; fits && t < call->n_operands + call->n_results; t++)
        fits = rule->tensor[t].n_dims == call->shape[t].n_dims;
    return fits || error_kind(err, ERROR_INVALID, "the rule stated for %s does not fit its tensors",
                              call->op);
}

/* Sets *out to the built-in rule, or to NULL if there is none or the rule is a user's. */
static bool rule_of(InsertWalk *walk, int at, const FactorRule **out)
{
    const InsertOp *op = &walk->program->op[at];
    *out = op->rule;
    if (op->rule && !fits(op->rule, &op->call, walk->err))
        return false;
    if (!op->rule && op->call.graph) {
        FactorCall call = op->call;
        Error why = {0};
        call.source = sources_of(walk, at);
        *out = factor_rule_for(walk->arena, &call, &why);
        if (!*out && why.kind != ERROR_UNSUPPORTED) {
            return error_kind(walk->err, why.kind, "%s: %s", call.op, why.text);
        }
    }
    if (*out && (*out)->custom)
        *out = NULL;
    return true;
}

/* The sharding of a node before any propagation barriers. */
static const TensorSharding *sharding_before_barriers(const InsertWalk *walk, int node)
{
    while (walk_node(walk, node)->passed_on != NO_NODE)
        node = walk_node(walk, node)->passed_on;
    return &walk_node(walk, node)->sharding;
}

/* A mesh without axes and device list is compatible with any. */
static bool is_any_mesh(const Mesh *mesh)
{
    return mesh->n_axes == 0 && !mesh->devices;
}

/* The mesh if all have the same axes, preferably one with devices in order. */
static int common_mesh(const InsertWalk *walk, const TensorSharding *const *sharding, int n)
{
    const Mesh *const *mesh = walk->program->mesh;
    int found = MESH_NONE;
    for (int t = 0; t < n; t++) {
        int its = sharding[t]->mesh;
        if (its == MESH_NONE)
            continue;
        if (found != MESH_NONE && !is_any_mesh(mesh[found])) {
            if (!is_any_mesh(mesh[its]) && !meshes_same_axes(mesh[found], mesh[its]))
                return MESH_NONE;
            if (is_any_mesh(mesh[its]) || !mesh_in_order(mesh[its]))
                continue;
        }
        found = its;
    }
    return found;
}

/* The mesh that an op computes on; MESH_NONE if the op is skipped. */
static int mesh_of(const InsertWalk *walk, const TensorSharding *const *sharding, int n)
{
    int found = common_mesh(walk, sharding, n), most = 0;
    if (found == MESH_NONE ||
        (walk->program->mesh[found]->n_axes == 0 && walk->program->mesh[found]->devices))
        return MESH_NONE;
    for (int t = 0; t < n; t++) {
        int count = 0;
        for (int i = 0; i <= t && !tensor_sharding_is_replicated(sharding[t]); i++)
            count += sharding[i]->mesh == sharding[t]->mesh &&
                     !tensor_sharding_is_replicated(sharding[i]);
        if (tensor_sharding_exists(sharding[t]) && count > most) {
            most = count;
            found = sharding[t]->mesh;
        }
    }
    return found;
}

/* The op being visited and its tensors, operands first. */
typedef struct {
    int at, n;
    const InsertOp *op;
    const FactorRule *rule;
    int mesh;
    TensorSharding *before; /* before the visit */
    bool *moved;            /* [n] they are resharded */
    FactorProjection *projection;
    AxisList *by_factor;
} Visit;

static bool overflows(const Visit *visit)
{
    for (int t = 0; t < visit->n; t++)
        for (int f = 0; f < visit->rule->n_factors; f++)
            if (visit->projection->tensor[t].factor[f].overflow.n > 0)
                return true;
    return false;
}

/* Gives the axes of each factor to all tensors. */
static void apply_choice(Visit *visit)
{
    for (int t = 0; t < visit->n; t++)
        for (int f = 0; f < visit->rule->n_factors; f++) {
            FactorAxes *own = &visit->projection->tensor[t].factor[f];
            if (!own->here ||
                (axis_list_equal(&own->axes, &visit->by_factor[f]) && own->overflow.n == 0))
                continue;
            own->axes = visit->by_factor[f];
            own->overflow.n = 0;
            visit->moved[t] = true;
        }
}

static TensorSharding chosen_for(const Visit *visit, int tensor)
{
    TensorSharding sharding = factor_unproject(visit->projection, tensor, &visit->before[tensor]);
    sharding.mesh = visit->mesh;
    return sharding;
}

static void choose(InsertWalk *walk, Visit *visit)
{
    double *size = arena_array(walk->arena, double, visit->n);
    for (int t = 0; t < visit->n; t++) {
        const Shape *shape = &visit->op->call.shape[t];
        size[t] = 1;
        for (int d = 0; d < shape->n_dims; d++)
            size[t] *= shape->dim[d] < 0 ? 0 : (double)shape->dim[d];
    }
    visit->by_factor = arena_array(walk->arena, AxisList, visit->rule->n_factors);
    visit->moved = arena_array(walk->arena, bool, visit->n);
    bool reshape = is_called(visit->op, "stablehlo.reshape") && overflows(visit);
    if (reshape)
        choose_reshape(walk->arena, visit->projection, visit->by_factor);
    else
        choose_axes(walk->arena, visit->projection, size, visit->by_factor);
    apply_choice(visit);
    for (int t = 0; t < visit->n; t++) {
        TensorSharding to = chosen_for(visit, t);
        if (reshape)
            visit->moved[t] = !tensor_shardings_equivalent(&visit->before[t], &to);
        visit->moved[t] |= !tensor_sharding_is_replicated(&visit->before[t]) &&
                           !meshes_same_devices(walk->program->mesh[visit->before[t].mesh],
                                                walk->program->mesh[visit->mesh]);
    }
}

/* The axes that the results are summed over, except those that the first stays partial over. */
static AxisList summed_axes(const InsertWalk *walk, const Visit *visit)
{
    AxisList axes = {0};
    const Mesh *mesh = walk->program->mesh[visit->mesh];
    for (int f = 0; f < visit->rule->n_factors; f++)
        if (visit->rule->factor[f].type == FACTOR_REDUCTION)
            for (int i = 0; i < visit->by_factor[f].n; i++)
                axis_list_add(&axes, visit->by_factor[f].at[i]);
    if (visit->op->call.n_results == 0)
        return (AxisList){0};
    axes = axes_without(&axes, &walk->made[result_of(visit->op, 0)].unreduced);
    return axes_in_order(mesh, axes);
}

static void move_operands(InsertWalk *walk, const Visit *visit)
{
    for (int i = 0; i < visit->op->call.n_operands; i++) {
        TensorSharding to = chosen_for(visit, i);
        int *node = &walk->operand[visit->at][i];
        if (visit->moved[i])
            *node = walk_add_step(walk, INSERT_RESHARD, *node, &to, NULL);
    }
}

static void move_results(InsertWalk *walk, const Visit *visit)
{
    const InsertOp *op = visit->op;
    int first = op->call.n_operands;
    for (int i = 0; i < op->call.n_results; i++)
        if (visit->moved[first + i])
            walk->made[result_of(op, i)] = chosen_for(visit, first + i);
    state_results(walk, op);
    AxisList summed = summed_axes(walk, visit);
    for (int i = 0; i < op->call.n_results; i++) {
        int value = result_of(op, i), *node = &walk->latest[value];
        TensorSharding made = walk->made[value];
        *node = walk_add_node(walk, value, visit->at, &made);
        if (!tensor_sharding_exists(&made))
            made = tensor_sharding_closed(made.n_dims, visit->mesh);
        if (summed.n > 0)
            *node = walk_add_step(walk, INSERT_ALL_REDUCE, *node, &made, &summed);
        if (visit->moved[first + i])
            *node = walk_add_step(walk, INSERT_RESHARD, *node, &visit->before[first + i], NULL);
    }
}

/* Reads the tensors' shardings; closed and replicated where there is none. */
static void read_shardings(InsertWalk *walk, Visit *visit)
{
    visit->before = arena_array(walk->arena, TensorSharding, visit->n);
    const TensorSharding **sharding = arena_array(walk->arena, const TensorSharding *, visit->n);
    for (int t = 0; t < visit->n; t++) {
        bool operand = t < visit->op->call.n_operands;
        visit->before[t] = operand ? *sharding_before_barriers(walk, walk->operand[visit->at][t])
                                   : walk->made[visit->op->value[t]];
        sharding[t] = &visit->before[t];
    }
    visit->mesh = mesh_of(walk, sharding, visit->n);
    if (visit->mesh == MESH_NONE)
        return;
    for (int t = 0; t < visit->n; t++)
        if (!tensor_sharding_exists(&visit->before[t]))
            visit->before[t] = tensor_sharding_closed(visit->before[t].n_dims, visit->mesh);
    visit->projection =
        factor_project(walk->arena, visit->rule, walk->program->mesh[visit->mesh], sharding);
}

/* Adds the results with their stated shardings, without any step. */
static void make_results(InsertWalk *walk, int at)
{
    const InsertOp *op = &walk->program->op[at];
    for (int i = 0; i < op->call.n_results; i++) {
        int value = result_of(op, i);
        walk->latest[value] = walk_add_node(walk, value, at, &walk->made[value]);
    }
}

static bool compute(InsertWalk *walk, int at)
{
    const InsertOp *op = &walk->program->op[at];
    Visit visit = {.at = at, .op = op, .n = op->call.n_operands + op->call.n_results};
    if (!rule_of(walk, at, &visit.rule))
        return false;
    if (visit.rule)
        read_shardings(walk, &visit);
    if (!visit.rule || visit.mesh == MESH_NONE) {
        make_results(walk, at);
        return true;
    }
    choose(walk, &visit);
    move_operands(walk, &visit);
    move_results(walk, &visit);
    return true;
}

/* ---- the program ---- */

/* An optimization barrier reshards each operand to the sharding of its result. */
static bool pass_on(InsertWalk *walk, int at)
{
    const InsertOp *op = &walk->program->op[at];
    for (int i = 0; i < op->call.n_operands && i < op->call.n_results; i++)
        if (!walk_bring_to(walk, &walk->operand[at][i], &walk->made[result_of(op, i)]))
            return false;
    make_results(walk, at);
    return true;
}

/* A reshard of the program stays, except for axes that become partial. */
static bool reshard(InsertWalk *walk, int at)
{
    const InsertOp *op = &walk->program->op[at];
    TensorSharding to = walk->made[result_of(op, 0)];
    int node = walk->operand[at][0], before = node;
    if (!walk_check_rank(walk, node, &to) || !walk_become_partial(walk, &node, &to))
        return false;
    if (node == before) {
        if (!walk_reduce_for(walk, &node, &to))
            return false;
        node = walk_add_step(walk, INSERT_RESHARD, node, &to, NULL);
    }
    walk->latest[result_of(op, 0)] = node;
    return true;
}

static bool visit_op(InsertWalk *walk, int at)
{
    const InsertOp *op = &walk->program->op[at];
    walk->operand[at] = arena_array(walk->arena, int, op->call.n_operands);
    for (int i = 0; i < op->call.n_operands; i++)
        walk->operand[at][i] = walk->latest[op->value[i]];
    state_results(walk, op);
    if (is_called(op, "stablehlo.optimization_barrier"))
        return pass_on(walk, at);
    if (is_called(op, "sdy.reshard") && op->call.n_operands == 1 && op->call.n_results == 1)
        return reshard(walk, at);
    if (!reduce_operands(walk, at) || !compute(walk, at))
        return false;
    if (is_called(op, "sdy.propagation_barrier") && op->call.n_operands == 1 &&
        op->call.n_results == 1)
        walk_node(walk, walk->latest[result_of(op, 0)])->passed_on = walk->operand[at][0];
    return true;
}

static bool are_apart(const AxisList *a, const AxisList *b)
{
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < b->n; j++)
            if ((a != b || i != j) && axis_refs_overlap(&a->at[i], &b->at[j]))
                return false;
    return true;
}

/* Checks that no axis is used twice, and that no summed axis shards the value. */
static bool check_axes(const TensorSharding *sharding, const AxisList *summed, Error *err)
{
    const AxisList *list[DIMS_MAX + 3];
    int n = 0;
    for (int d = 0; d < sharding->n_dims; d++)
        list[n++] = &sharding->dim[d].axes;
    list[n++] = &sharding->replicated;
    list[n++] = summed ? summed : &sharding->unreduced;
    bool apart = true;
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++)
            apart &= are_apart(list[i], list[j]);
    return apart || error_kind(err, ERROR_INVALID,
                               "an op computes with an axis over which its result is partial or "
                               "must be replicated");
}

static bool check_all(const InsertProgram *program, const Inserted *inserted, Error *err)
{
    for (int v = 0; v < program->n_values; v++)
        if (!check_axes(&inserted->made[v], NULL, err))
            return false;
    for (int i = 0; i < inserted->n_steps; i++) {
        const InsertStep *step = &inserted->step[i];
        bool sums = step->kind == INSERT_ALL_REDUCE;
        if (!check_axes(&step->to, NULL, err) || (sums && !check_axes(&step->to, &step->axes, err)))
            return false;
    }
    return true;
}

bool insert_reshards(Arena *arena, const InsertProgram *program, Inserted *out, Error *err)
{
    InsertWalk walk = {.arena = arena, .program = program, .err = err};
    walk.latest = arena_array(arena, int, program->n_values);
    walk.operand = arena_array(arena, int *, program->n_ops);
    walk.made = arena_array(arena, TensorSharding, program->n_values);
    for (int v = 0; v < program->n_values; v++) {
        walk.made[v] = program->sharding[v];
        walk.latest[v] = walk_add_node(&walk, v, NO_OP, &program->sharding[v]);
    }
    for (int i = 0; i < program->n_ops; i++)
        if (!visit_op(&walk, i))
            return false;
    for (int i = 0; i < program->n_outputs; i++) {
        int node = walk.latest[program->output[i].value];
        if (!walk_bring_to(&walk, &node, &program->output[i].sharding))
            return false;
    }
    *out = (Inserted){.n_steps = walk.steps.n, .step = walk.steps.at, .made = walk.made};
    for (int i = 0; i < out->n_steps; i++)
        out->n_reshards += out->step[i].kind == INSERT_RESHARD;
    return check_all(program, out, err);
}
