#include "core/plan/plan_findings.h"
#include "core/peers/shardy/plan_shardy_state.h"

/* Returns false if the cut has several digits. */
static bool axes_of_cut(const Cut *cut, const Mesh *mesh, AxisList *out)
{
    out->n = 0;
    if (cut_is_whole(cut))
        return true;
    if (cut->n != 1)
        return false;
    axis_list_from_atoms(cut->digit[0].atom, cut->digit[0].n, mesh, out);
    return true;
}

/* Why a decision is ignored. ORDER REFUSAL */
typedef enum { NO_LIST, AXIS_USED, DIM_HAS_AXIS, GROUP_SHAPE, GROUP_PIN } Why;

static const struct {
    const char *code, *text, *hint;
} refusals[] = {
    [NO_LIST] = {"shardy-pin", "no list of axes can express this cut: the pin is ignored",
                 "pin whole axes, without interleaving; or use --profile explain"},
    [AXIS_USED] = {"shardy-pin",
                   "another dim of the tensor already uses its axis: the pin is ignored",
                   "unpin the other first"},
    [DIM_HAS_AXIS] = {"shardy-pin",
                      "a dim of the tensor is pinned to an axis that is to be kept off the tensor",
                      "unpin the dim first"},
    [GROUP_SHAPE] = {"shardy-group",
                     "its shape differs from its group's, so it is left out of the group",
                     "tensors of a group have one sharding, so they need one shape"},
    [GROUP_PIN] = {"shardy-group",
                   "its pin differs from its group's, so it is left out of the group",
                   "pin one tensor of the group"},
};

/* Refusals from one line of a policy become one finding. */
static void refuse(ShardyPlan *sp, const Decision *pin, Why why)
{
    for (int i = 0; i < sp->refused.n; i++) {
        ShardyRefusal *refusal = &sp->refused.at[i];
        if (refusal->why == (int)why && refusal->pin->origin.line == pin->origin.line &&
            str_eq(str_from(refusal->pin->origin.file), str_from(pin->origin.file))) {
            refusal->count++;
            return;
        }
    }
    vec_push(sp->plan->arena, &sp->refused, (ShardyRefusal){pin, (int)why, 1});
}

static void report_refusal(ShardyPlan *sp, const ShardyRefusal *refusal)
{
    Plan *plan = sp->plan;
    const Graph *graph = plan->inferred->graph;
    const Decision *pin = refusal->pin;
    bool tensor = decision_is_on_tensor(pin->kind);
    const char *more = refusal->count > 1
                           ? arena_printf(plan->arena, " (and %d more like it)", refusal->count - 1)
                           : "";
    plan_find(plan, LEVEL_WARNING, refusals[refusal->why].code, tensor ? -1 : pin->place,
              tensor ? pin->place : -1, refusals[refusal->why].hint, "%s%s: %s",
              tensor ? plan_value_name(plan, pin->place) : op_name(graph, pin->place), more,
              refusals[refusal->why].text);
    plan_found_at(plan, &pin->origin);
}

/* ---- dims ---- */

/* True when an axis of the list is used elsewhere on the tensor. */
static bool is_used(const TensorSharding *sharding, int dim, const AxisList *axes)
{
    AxisRef rest;
    for (int i = 0; i < axes->n; i++) {
        for (int d = 0; d < sharding->n_dims; d++)
            if (d != dim && (!axis_ref_without_list(&axes->at[i], &sharding->dim[d].axes, &rest) ||
                             !axis_ref_equal(&rest, &axes->at[i])))
                return true;
        if (!axis_ref_without_list(&axes->at[i], &sharding->replicated, &rest) ||
            !axis_ref_equal(&rest, &axes->at[i]) ||
            !axis_ref_without_list(&axes->at[i], &sharding->unreduced, &rest) ||
            !axis_ref_equal(&rest, &axes->at[i]))
            return true;
    }
    return false;
}

static void put_state(ShardyPlan *sp, int32_t tensor, TensorSharding *sharding)
{
    sharding->mesh = 0;
    sp->states.at[tensor] = shardy_put(sp->flow, sharding);
}

static bool pin_dim(ShardyPlan *sp, const Decision *pin, int32_t tensor, int dim, const Cut *cut)
{
    TensorSharding sharding = *shardy_at(sp->flow, sp->states.at[tensor]);
    AxisList axes;
    if (dim >= sharding.n_dims)
        return false;
    if (!axes_of_cut(cut, sp->plan->mesh, &axes)) {
        refuse(sp, pin, NO_LIST);
        return false;
    }
    if (is_used(&sharding, dim, &axes)) {
        refuse(sp, pin, AXIS_USED);
        return false;
    }
    bool empty = axes.n == 0 && !pin->open;
    sharding.dim[dim] = (DimSharding){axes, pin->open, empty ? PRIORITY_NONE : pin->priority};
    put_state(sp, tensor, &sharding);
    return true;
}

static void pin_tensor(ShardyPlan *sp, const Decision *pin)
{
    if (pin_dim(sp, pin, pin->place, pin->dim, decision_cut(pin)))
        sp->out->pinned[pin->place] |= (uint16_t)(1u << pin->dim);
}

/* The cut that the pin gives to a dim of an operand; false if the dim does not follow the index
 * dim. */
static bool cut_of_dim(const ShardyPlan *sp, const OpSpace *space, const Decision *pin, int operand,
                       int dim, Cut *out)
{
    const DimFactors *factors = &space->operand[operand].factors[dim];
    bool along = false;
    for (int k = 0; k < factors->n; k++)
        along |= factors->index[k] == pin->dim;
    OpCut cut = {.n = space->n_index};
    for (int i = 0; i < space->n_index; i++)
        cut.index[i] = i == pin->dim ? *decision_cut(pin) : cut_whole(space->index[i].size);
    return along && op_cut_project(space, &cut, operand, dim, sp->plan->mesh, out);
}

/* A dim that is pinned itself, or by an earlier pin of another op, stays as it is. */
static void pin_index(ShardyPlan *sp, const Decision *pin)
{
    if (sp->at[pin->place] < 0)
        return;
    const OpSpace *space = program_space(sp->plan->inferred, pin->place);
    const ShardyOp *op = &sp->ops.at[sp->at[pin->place]];
    for (int o = 0; o < op->n_inputs + op->n_outputs; o++) {
        const Operand *operand = &space->operand[o];
        for (int d = 0; !operand->absent && d < operand->shape.n_dims; d++) {
            const TensorSharding *own = shardy_at(sp->flow, sp->states.at[op->tensor[o]]);
            Cut cut;
            if (own->dim[d].open && own->dim[d].axes.n == 0 &&
                cut_of_dim(sp, space, pin, o, d, &cut))
                pin_dim(sp, pin, op->tensor[o], d, &cut);
        }
    }
}

/* ---- tensors as a whole ---- */

static void mark_axes(ShardyPlan *sp, const Decision *mark)
{
    TensorSharding sharding = *shardy_at(sp->flow, sp->states.at[mark->place]);
    uint8_t atom[ATOMS_MAX];
    AxisList axes;
    axis_list_from_atoms(atom, mesh_list_set(sp->plan->mesh, mark->axes, atom), sp->plan->mesh,
                         &axes);
    if (is_used(&sharding, -1, &axes)) {
        refuse(sp, mark, DIM_HAS_AXIS);
        return;
    }
    *(mark->kind == PIN_REPLICATED ? &sharding.replicated : &sharding.unreduced) = axes;
    put_state(sp, mark->place, &sharding);
}

static bool is_unconstrained(const TensorSharding *sharding)
{
    for (int d = 0; d < sharding->n_dims; d++)
        if (!sharding->dim[d].open || sharding->dim[d].axes.n > 0)
            return false;
    return true;
}

/* The members of a group start with the sharding that one of them has. */
static void make_groups(ShardyPlan *sp)
{
    Plan *plan = sp->plan;
    Intern *names = intern_new(plan->arena);
    int32_t *first = arena_array(plan->arena, int32_t, plan->decided->n_marks); /* per group */
    int32_t *group = arena_array(plan->arena, int32_t, sp->states.n);
    memset(group, -1, (size_t)sp->states.n * sizeof *group);
    for (int i = 0; i < plan->decided->n_marks; i++) {
        const Decision *mark = plan->decided->marks[i];
        if (mark->kind != PIN_GROUP || !inferred_shape(plan->inferred, mark->place))
            continue;
        int32_t n = intern_count(names), id = intern_put(names, mark->group, strlen(mark->group));
        if (id == n)
            first[id] = mark->place;
        const TensorSharding *own = shardy_at(sp->flow, sp->states.at[mark->place]);
        const TensorSharding *common = shardy_at(sp->flow, sp->states.at[first[id]]);
        if (plan->inferred->shape[mark->place] != plan->inferred->shape[first[id]]) {
            refuse(sp, mark, GROUP_SHAPE);
            continue;
        }
        if (!is_unconstrained(own) && !is_unconstrained(common) &&
            !tensor_sharding_equal(own, common)) {
            refuse(sp, mark, GROUP_PIN);
            continue;
        }
        group[mark->place] = id;
        if (is_unconstrained(common))
            sp->states.at[first[id]] = sp->states.at[mark->place];
    }
    for (int t = 0; t < plan->inferred->graph->n_tensors; t++)
        if (group[t] >= 0)
            sp->states.at[t] = sp->states.at[first[group[t]]];
    sp->program.n_groups = intern_count(names);
    sp->program.group = sp->program.n_groups > 0 ? group : NULL;
}

void shardy_plan_pins(ShardyPlan *sp)
{
    const Plan *plan = sp->plan;
    for (int i = 0; i < plan->decided->n_pins; i++)
        if (plan->decided->pins[i]->kind == PIN_TENSOR_DIM && !plan->decided->pins[i]->store)
            pin_tensor(sp, plan->decided->pins[i]);
    for (int i = 0; i < plan->decided->n_marks; i++)
        if ((plan->decided->marks[i]->kind == PIN_REPLICATED ||
             plan->decided->marks[i]->kind == PIN_UNREDUCED) &&
            inferred_shape(plan->inferred, plan->decided->marks[i]->place))
            mark_axes(sp, plan->decided->marks[i]);
    for (int i = 0; i < plan->decided->n_pins; i++)
        if (plan->decided->pins[i]->kind == PIN_INDEX_DIM)
            pin_index(sp, plan->decided->pins[i]);
    make_groups(sp);
    for (int i = 0; i < sp->refused.n; i++)
        report_refusal(sp, &sp->refused.at[i]);
}
