/* Which values stay partial through ops: the rules of edges.h. */
#include "core/plan/edges_state.h"
#include "core/space/gradient.h"

/* An op of a training step behind its forward part, and no copy of an op there: no propagator
 * decides what stays partial. */
static bool is_behind(const Edges *e, int32_t op)
{
    const Inferred *forward = e->plan->inferred->forward;
    return forward && op >= forward->graph->n_ops &&
           e->plan->inferred->graph->phase[op] != PHASE_AGAIN;
}

static bool rules_hold(const Edges *e, int32_t op)
{
    return !e->plan->propagated->passed || is_behind(e, op);
}

/* A gradient on its way through values that are made of parameters alone: it stays partial, even
 * if it grows, until the gradient of the parameter is needed. */
static bool is_leaf(const Edges *e, int32_t op, int operand)
{
    const Inferred *inferred = e->plan->inferred;
    const Gradient *gradient = program_space(inferred, op)->gradient;
    return gradient && operand < gradient->n_reads && gradient->reads[operand].gradient &&
           inferred->forward->on_parameters[inferred->graph->of[op]];
}

/* The axes over which a mark leaves the result of the op partial, or of the op that it repeats. */
static AtomSet marked(const Edges *e, int32_t op)
{
    const Graph *graph = e->plan->inferred->graph;
    bool repeats = e->plan->inferred->forward && graph->phase[op] == PHASE_AGAIN;
    int32_t first = repeats ? graph->of[op] : op;
    int32_t made = graph->ops[op].n_outputs == 1 ? op_outputs(graph, first)[0] : -1;
    return e->unreduced && made >= 0 ? e->unreduced[made] : 0;
}

/* The axes over which input `operand` is partial and may stay partial through the op; 0 if it must
 * be reduced first. */
static AtomSet passing(const Edges *e, int32_t op, int operand)
{
    const Plan *plan = e->plan;
    const OpSpace *space = program_space(plan->inferred, op);
    int32_t t = op_inputs(plan->inferred->graph, op)[operand];
    bool leaf = is_leaf(e, op, operand);
    bool may = leaf || space->operand[operand].linear != LINEAR_NO ||
               (space->operand[operand].addend && marked(e, op));
    if (t < 0 || plan->moved->sharding[t] < 0 || !may)
        return 0;
    const Sharding *sharding = plan_sharding(plan, t);
    const OpCut *cut = program_cut(plan, op);
    AtomSet atoms = sharding_partials(sharding);
    if (!atoms || !sharding_only_sums(sharding) || e->n_readers[t] != 1 ||
        plan->inferred->graph->tensors[t].output || (atoms & cuts_used(cut->index, cut->n, -1)))
        return 0;
    for (int o = 0; o < space->n_outputs && !leaf; o++)
        if (shape_elements(&opspace_output(space, o)->shape) >
            shape_elements(&space->operand[operand].shape))
            return 0;
    return atoms;
}

/* A sum of gradients, or of their squares, or one that a mark leaves partial, whose addends all lie
 * as it needs them, or are sharded by axes over which others are partial, or are partial over just
 * these. Addends that are not partial over such an axis are joined by being zero at all its
 * coordinates but the first, or outside of their shard, which moves nothing. */
static bool joins_addends(Edges *e, int32_t op, AtomSet partial)
{
    const Plan *plan = e->plan;
    const OpSpace *space = program_space(plan->inferred, op);
    if (!partial || space->gradient)
        return false;
    const int32_t *ids = edges_projections(e, op);
    for (int i = 0; i < space->n_inputs; i++) {
        int32_t t = op_inputs(plan->inferred->graph, op)[i];
        bool addend = space->operand[i].linear == LINEAR_TOGETHER || space->operand[i].addend;
        if (!addend || t < 0 || plan->moved->sharding[t] < 0 || ids[i] < 0)
            return false;
        if (plan->inferred->graph->tensors[t].maker >= 0 && passing(e, op, i) != partial &&
            !sharding_is_addend(plan_sharding(plan, t), shardings_at(plan->shardings, ids[i]),
                                partial, plan->mesh))
            return false;
    }
    return space->n_inputs > 1;
}

/* The axes by which two addends or more are sharded where the sum needs them whole: one sum over
 * these sends no more than gathering each of them. */
static AtomSet sharding_several(Edges *e, int32_t op)
{
    const Plan *plan = e->plan;
    const OpSpace *space = program_space(plan->inferred, op);
    const OpCut *cut = program_cut(plan, op);
    AtomSet one = 0, several = 0;
    for (int o = 0; o < space->n_inputs && !space->gradient; o++) {
        int32_t t = op_inputs(plan->inferred->graph, op)[o];
        if (space->operand[o].linear != LINEAR_TOGETHER || t < 0 || plan->moved->sharding[t] < 0)
            return 0;
        AtomSet atoms = sharding_atoms(plan_sharding(plan, t)) & ~cuts_used(cut->index, cut->n, -1);
        several |= one & atoms;
        one |= atoms;
    }
    return several;
}

/* The axes over which one input or another is partial and may stay so. */
static AtomSet passing_any(const Edges *e, int32_t op)
{
    AtomSet atoms = 0;
    for (int o = 0; o < program_space(e->plan->inferred, op)->n_inputs; o++)
        atoms |= passing(e, op, o);
    return atoms;
}

static AtomSet passed_by_rules(const Edges *e, int32_t op)
{
    const OpSpace *space = program_space(e->plan->inferred, op);
    AtomSet together = 0;
    bool first = true;
    for (int o = 0; o < space->n_inputs; o++) {
        Linear linear = space->operand[o].linear;
        if ((linear == LINEAR_ALONE || is_leaf(e, op, o)) && passing(e, op, o))
            return passing(e, op, o);
        if (linear != LINEAR_TOGETHER)
            continue;
        AtomSet atoms = passing(e, op, o);
        together = first || together == atoms ? atoms : 0;
        if (!together)
            return 0;
        first = false;
    }
    return together;
}

AtomSet partial_read(const Edges *e, int32_t op, int operand, const PassedPartials *partials)
{
    const Plan *plan = e->plan;
    if (partials->joined)
        return partials->passed;
    if (!rules_hold(e, op))
        return plan->propagated->passed[plan->inferred->graph->ops[op].input + operand];
    bool same = partials->passed && passing(e, op, operand) == partials->passed;
    return same ? partials->passed : 0;
}

PassedPartials partial_passed(Edges *e, int32_t op)
{
    const Graph *graph = e->plan->inferred->graph;
    AtomSet may = is_behind(e, op) ? ~(AtomSet)0 : rules_hold(e, op) ? marked(e, op) : 0;
    AtomSet any = may ? may & passing_any(e, op) : 0;
    AtomSet more = is_behind(e, op) ? any | sharding_several(e, op) : any;
    PassedPartials partials = {.joined = joins_addends(e, op, more)};
    if (partials.joined)
        any = more;
    else if (more != any)
        partials.joined = joins_addends(e, op, any);
    if (rules_hold(e, op))
        partials.passed = partials.joined ? any : passed_by_rules(e, op);
    for (int o = 0; o < graph->ops[op].n_inputs; o++) {
        AtomSet atoms = partial_read(e, op, o, &partials);
        for (int a = 0; atoms && a < ATOMS_MAX; a++) {
            bool reads = atoms >> a & 1;
            uint8_t kind =
                reads ? plan_sharding(e->plan, op_inputs(graph, op)[o])->partial[a] : REDUCE_NONE;
            if (reads && partials.joined && kind == REDUCE_NONE)
                kind = REDUCE_SUM; /* of shards alone */
            if (kind == REDUCE_NONE)
                continue;
            partials.kind[a] = kind;
            partials.atoms |= (AtomSet)1 << a;
        }
    }
    return partials;
}
