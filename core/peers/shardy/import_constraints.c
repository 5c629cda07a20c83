#include "core/peers/shardy/import_state.h"

static bool has_sharding(const Importer *importer, int value)
{
    return import_value(importer, value)->sharding.mesh != MESH_NONE;
}

static bool is_constraint(const FactorOp *op)
{
    return op->kind == FACTOR_CONSTRAINT || op->kind == FACTOR_MANUAL;
}

static const TensorSharding *constraint_of(const Importer *importer, const FactorOp *op, int input)
{
    return op->kind == FACTOR_MANUAL ? &op->in[input]
                                     : &import_value(importer, op->output[0])->sharding;
}

/* True when a user other than `except` constrains the value; if `sharding` is given, to a different
 * one. */
static bool is_constrained(const Importer *importer, int value, int except,
                           const TensorSharding *sharding)
{
    for (int i = 0; i < importer->out->order.n; i++) {
        int id = importer->out->order.at[i];
        const FactorOp *op = import_op(importer, id);
        for (int k = 0; id != except && is_constraint(op) && k < op->n_inputs; k++)
            if (op->input[k] == value &&
                (!sharding || !tensor_sharding_equal(constraint_of(importer, op, k), sharding)))
                return true;
    }
    return false;
}

/* The only user of an op's result; -1 if there are none or several, or the result is returned. */
static int only_user(const Importer *importer, int op)
{
    int value = import_op(importer, op)->output[0];
    if (import_n_uses(importer, value) != 1)
        return -1;
    for (int i = 0; i < importer->out->order.n; i++) {
        const FactorOp *user = import_op(importer, importer->out->order.at[i]);
        for (int k = 0; k < user->n_inputs; k++)
            if (user->input[k] == value)
                return importer->out->order.at[i];
    }
    return -1;
}

/* The last of a chain of at least two constraints that begins at `head` and has no other uses in
 * between, or -1. */
static int tail_of(const Importer *importer, int head)
{
    int input = import_op(importer, head)->input[0], maker = import_value(importer, input)->maker;
    if ((maker >= 0 && import_op(importer, maker)->kind == FACTOR_CONSTRAINT) ||
        has_sharding(importer, input) || is_constrained(importer, input, head, NULL))
        return -1;
    int tail = head, next;
    while ((next = only_user(importer, tail)) >= 0 &&
           import_op(importer, next)->kind == FACTOR_CONSTRAINT)
        tail = next;
    if (tail == head || is_constrained(importer, import_op(importer, tail)->output[0], -1, NULL))
        return -1;
    return tail;
}

/* Uses after the chain in its region are replaced by the value at its end. */
static void use_tail(Importer *importer, int head, int tail)
{
    int input = import_op(importer, head)->input[0];
    const FactorOp *last = import_op(importer, tail);
    for (int i = import_place(importer, tail) + 1; i < importer->out->order.n; i++) {
        int id = importer->out->order.at[i];
        FactorOp *op = import_op(importer, id);
        for (int k = 0; id != head && op->region_of == last->region_of && k < op->n_inputs; k++)
            if (op->input[k] == input)
                op->input[k] = last->output[0];
    }
}

static bool is_closed(const TensorSharding *sharding)
{
    for (int d = 0; d < sharding->n_dims; d++)
        if (sharding->dim[d].open)
            return false;
    return true;
}

/* Adds or moves a constraint right after the value, so that all its uses can use it. */
static void stand_for(Importer *importer, int op, int value, const TensorSharding *sharding)
{
    if (import_op(importer, op)->kind == FACTOR_CONSTRAINT) {
        import_remove(importer, import_place(importer, op));
        int place = import_place_after(importer, value);
        vec_push(importer->arena, &importer->out->order, op);
        int *order = importer->out->order.at;
        memmove(order + place + 1, order + place,
                (size_t)(importer->out->order.n - 1 - place) * sizeof *order);
        order[place] = op;
        import_replace_uses(importer, value, import_op(importer, op)->output[0], op);
    } else {
        int made = import_add_identity(importer, FACTOR_CONSTRAINT, "sdy.sharding_constraint",
                                       value, sharding);
        import_replace_uses(importer, value, made, importer->graph->ops.n - 1);
    }
    if (sharding->unreduced.n > 0) {
        TensorSharding *own = &import_value(importer, value)->sharding;
        own->unreduced = sharding->unreduced;
        own->mesh = own->mesh == MESH_NONE ? sharding->mesh : own->mesh;
    }
}

static void apply(Importer *importer, int op, int value, TensorSharding sharding)
{
    if (!import_value(importer, value)->is_tensor || has_sharding(importer, value) ||
        !is_closed(&sharding) || is_constrained(importer, value, -1, &sharding))
        return;
    int maker = import_value(importer, value)->maker;
    if (maker >= 0 && import_op(importer, maker)->kind == FACTOR_EDGE) {
        stand_for(importer, op, value, &sharding);
        return;
    }
    import_value(importer, value)->sharding = sharding;
    if (maker >= 0)
        import_state_results(importer, maker);
    vec_push(importer->arena, &importer->out->applied, (AppliedConstraint){op, value});
}

void import_constraints(Importer *importer)
{
    int n = importer->out->order.n; /* the loop adds ops */
    int *order = arena_array(importer->arena, int, n);
    for (int i = 0; i < n; i++)
        order[i] = importer->out->order.at[i];
    for (int i = 0; i < n; i++) {
        const FactorOp *op = import_op(importer, order[i]);
        if (op->kind == FACTOR_CONSTRAINT) {
            int tail = tail_of(importer, order[i]);
            if (tail >= 0)
                use_tail(importer, order[i], tail);
        }
        for (int k = 0; is_constraint(op) && k < op->n_inputs; k++) {
            apply(importer, order[i], op->input[k], *constraint_of(importer, op, k));
            op = import_op(importer, order[i]);
        }
    }
}

/* ---- sharding groups ---- */

typedef struct {
    int64_t id;
    int number,
        parent; /* groups that share a value are merged into the one with the smaller number */
} ConstraintGroup;

typedef struct {
    Vec(ConstraintGroup) groups;
} ConstraintGroups;

static int group_at(Importer *importer, ConstraintGroups *groups, int64_t id)
{
    int g = 0;
    while (g < groups->groups.n && groups->groups.at[g].id != id)
        g++;
    if (g == groups->groups.n)
        vec_push(importer->arena, &groups->groups, (ConstraintGroup){id, -1, g});
    while (groups->groups.at[g].parent != g)
        g = groups->groups.at[g].parent;
    return g;
}

/* True when every dim is empty and open. */
static bool is_unsharded(const TensorSharding *sharding)
{
    if (sharding->mesh == MESH_NONE)
        return true;
    for (int d = 0; d < sharding->n_dims; d++)
        if (!sharding->dim[d].open || sharding->dim[d].axes.n > 0)
            return false;
    return true;
}

typedef struct {
    Vec(int) members; /* values, in program order, each once */
} Members;

static Members members_of(Importer *importer, ConstraintGroups *groups, int group)
{
    Members members = {0};
    for (int i = 0; i < importer->out->order.n; i++) {
        const FactorOp *op = import_op(importer, importer->out->order.at[i]);
        if (op->kind != FACTOR_GROUP || group_at(importer, groups, op->group) != group)
            continue;
        bool seen = false;
        for (int m = 0; m < members.members.n; m++)
            seen |= members.members.at[m] == op->input[0];
        if (!seen)
            vec_push(importer->arena, &members.members, op->input[0]);
    }
    return members;
}

/* The initial sharding of the members; *conflict is set if they have several. */
static const TensorSharding *common_sharding(const Importer *importer, const Members *members,
                                             bool *conflict)
{
    const TensorSharding *common = NULL;
    *conflict = false;
    for (int m = 0; m < members->members.n; m++) {
        const TensorSharding *own = &import_value(importer, members->members.at[m])->sharding;
        if (is_unsharded(own) && members->members.n > 1)
            continue;
        if (common && !tensor_sharding_equal(common, own)) {
            *conflict = true;
            return common;
        }
        common = own;
    }
    return common;
}

static void begin_group(Importer *importer, Members *members)
{
    bool conflict;
    const TensorSharding *found = common_sharding(importer, members, &conflict);
    if (!found)
        return;
    TensorSharding common = *found, open = tensor_sharding_open(found->n_dims);
    open.mesh = common.mesh;
    for (int m = 0; m < members->members.n; m++) {
        int value = members->members.at[m];
        if (!conflict) {
            import_value(importer, value)->sharding = common;
            continue;
        }
        int made = import_add_identity(importer, FACTOR_CONSTRAINT, "sdy.sharding_constraint",
                                       value, &open);
        import_replace_uses(importer, value, made, importer->graph->ops.n - 1);
        members->members.at[m] = made;
    }
}

static bool check_members(const Importer *importer, const Members *members)
{
    const int *value = members->members.at;
    for (int m = 1; m < members->members.n; m++)
        if (!shape_equal(&import_value(importer, value[m - 1])->shape,
                         &import_value(importer, value[m])->shape))
            return error_kind(importer->err, ERROR_INVALID,
                              "values of one sharding group have different shapes");
    return true;
}

/* Merges the groups of each value that is in several. */
static void join_groups(Importer *importer, ConstraintGroups *groups)
{
    int *of = arena_array(importer->arena, int, importer->graph->values.n); /* group + 1 */
    for (int i = 0; i < importer->out->order.n; i++) {
        const FactorOp *op = import_op(importer, importer->out->order.at[i]);
        if (op->kind != FACTOR_GROUP)
            continue;
        int g = group_at(importer, groups, op->group);
        if (of[op->input[0]] > 0) {
            int64_t id = groups->groups.at[of[op->input[0]] - 1].id;
            groups->groups.at[g].parent = group_at(importer, groups, id);
        }
        of[op->input[0]] = g + 1;
    }
}

bool import_groups(Importer *importer)
{
    ConstraintGroups groups = {0};
    join_groups(importer, &groups);
    Members *members = arena_array(importer->arena, Members, groups.groups.n);
    for (int g = 0; g < groups.groups.n; g++) {
        if (groups.groups.at[g].parent != g)
            continue;
        members[g] = members_of(importer, &groups, g);
        if (!check_members(importer, &members[g]))
            return false;
        begin_group(importer, &members[g]);
    }
    importer->out->group = arena_array(importer->arena, int32_t, importer->graph->values.n);
    memset(importer->out->group, -1,
           (size_t)importer->graph->values.n * sizeof *importer->out->group);
    for (int g = 0; g < groups.groups.n; g++) {
        if (members[g].members.n == 0)
            continue;
        for (int m = 0; m < members[g].members.n; m++)
            importer->out->group[members[g].members.at[m]] = importer->out->n_groups;
        importer->out->n_groups++;
    }
    return true;
}
