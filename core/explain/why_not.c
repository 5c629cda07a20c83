#include "core/explain/why_not.h"

#include "core/propagate/propagate.h"
#include "core/explain/sites.h"

/* The search from the dim asked about; parent leads back to it. */
typedef struct {
    const Plan *plan;
    const Sites *sites;
    AtomSet atoms;
    int32_t *parent, *by, *queue; /* by: the op that links a site with its parent; -1 for a loop */
    int32_t n_queued, at;
} StopSearch;

static void found_site(void *context, int32_t site, int32_t op)
{
    StopSearch *walk = context;
    if (walk->parent[site] >= 0 || !site_takes_from(walk->plan, walk->sites, walk->at, site, op))
        return;
    walk->parent[site] = walk->at;
    walk->by[site] = op;
    walk->queue[walk->n_queued++] = site;
}

/* ---- reasons of an op ---- */

/* Why index dim i of an op takes no sharding by these atoms, as far as the plan alone shows. */
static Stop stop_of_index(const Plan *plan, int32_t op, int index, AtomSet atoms, int *other)
{
    const OpSpace *space = program_space(plan->inferred, op);
    const OpCut *cut = program_cut(plan, op);
    *other = -1;
    for (int i = 0; i < cut->n; i++)
        if (i != index && (cut_atoms(&cut->index[i]) & atoms))
            *other = i;
    if (*other >= 0)
        return STOP_TAKEN;
    if (space->index[index].role == ROLE_FROZEN)
        return STOP_FROZEN;
    if (space->index[index].blocked)
        return STOP_BLOCKED;
    if (space->index[index].role == ROLE_REDUCE)
        return STOP_REDUCE;
    return cut_is_whole(&cut->index[index]) ? STOP_NESTING : STOP_ORDER;
}

/* Why dim d of a tensor takes no sharding by these atoms. */
static Stop stop_of_dim(const Plan *plan, int32_t tensor, int dim, AtomSet atoms, int *other)
{
    const Sharding *reached = shardings_at(plan->shardings, plan_reached(plan, tensor));
    *other = -1;
    if (plan_pinned(plan, tensor) >> dim & 1)
        return STOP_CLOSED;
    for (int d = 0; d < reached->n_dims; d++)
        if (d != dim && (cut_atoms(&reached->dim[d]) & atoms))
            *other = d;
    if (*other >= 0)
        return STOP_TAKEN;
    if (tensor_is_parameter(plan->inferred, tensor))
        return STOP_PARAMETER;
    return cut_is_whole(&reached->dim[dim]) ? STOP_NESTING : STOP_ORDER;
}

static int operand_of(const Plan *plan, int32_t op, int32_t tensor)
{
    const OpSpace *space = program_space(plan->inferred, op);
    for (int o = 0; o < space->n_inputs + space->n_outputs; o++)
        if (op_operand(plan->inferred->graph, op, o) == tensor)
            return o;
    return -1;
}

/* The link at which the axis stops: from a site that has it to one that does not. */
static WhyNotStop stop_between(const StopSearch *walk, int32_t has, int32_t not )
{
    const Plan *plan = walk->plan;
    const Sites *sites = walk->sites;
    bool leaving = site_owner(sites, has) >= 0; /* a tensor has it, an index dim does not */
    int32_t tensor = site_owner(sites, leaving ? has : not ), op = walk->by[has];
    int dim = site_dim(sites, leaving ? has : not ), index = site_dim(sites, leaving ? not : has);
    WhyNotStop stop = {.tensor = tensor};
    stop.at = (StopRecord){.op = op, .dim = dim, .leaving = leaving, .atoms = walk->atoms};
    stop.at.index = op < 0 ? -1 : index;
    stop.at.operand = op < 0 ? -1 : operand_of(plan, op, tensor);
    if (op < 0 || !leaving)
        stop.at.stop = stop_of_dim(plan, tensor, dim, walk->atoms, &stop.at.other);
    else
        stop.at.stop = stop_of_index(plan, op, index, walk->atoms, &stop.at.other);
    if (stop.at.stop == STOP_CLOSED)
        stop.pin = plan_pin_of(plan, PIN_TENSOR_DIM, tensor, dim);
    return stop;
}

/* Its rules are its own, or it keeps no record of where axes stopped. */
static bool has_own_rules(const Propagator *propagator)
{
    return propagator->rule_says || (!propagator->stops && !propagator->by_op);
}

/* With such a propagator the op space shows only what no rule could do. */
static bool holds_by_rules(Stop stop)
{
    return stop == STOP_TAKEN || stop == STOP_FROZEN || stop == STOP_BLOCKED || stop == STOP_CLOSED;
}

/* The propagator's own reason for the same link, if it has one. */
static void refine(Arena *arena, const Plan *plan, WhyNotStop *stop)
{
    bool backward = stop->at.op >= 0 && !stop->at.leaving &&
                    stop->at.operand < plan->inferred->graph->ops[stop->at.op].n_inputs;
    bool by_op = plan->propagator->by_op;
    if ((has_own_rules(plan->propagator) && !holds_by_rules(stop->at.stop)) ||
        (by_op && (backward || !holds_by_rules(stop->at.stop)))) {
        stop->at.stop = STOP_RULE;
        return;
    }
    StopRecord *records;
    int n = stop->at.op < 0 ? 0 : propagate_stops(arena, plan, stop->at.op, &records);
    for (int i = 0; i < n; i++) {
        const StopRecord *record = &records[i];
        if (op_operand(plan->inferred->graph, record->op, record->operand) == stop->tensor &&
            record->dim == stop->at.dim && record->leaving == stop->at.leaving &&
            (record->atoms & stop->at.atoms) &&
            (record->index < 0 || record->index == stop->at.index || !record->leaving)) {
            stop->at = *record;
            return;
        }
    }
}

/* ---- the answer ---- */

static int ops_between(const StopSearch *walk, int32_t site)
{
    int n = 0;
    for (int32_t s = walk->parent[site]; s != walk->parent[s]; s = walk->parent[s])
        n += site_owner(walk->sites, s) < 0;
    return n;
}

/* Returns whether an earlier stop gives the same reason about an op of the same kind. */
static bool is_repeated(const Plan *plan, const WhyNotDim *dim, const WhyNotStop *stop)
{
    for (int i = 0; i < dim->n_stops; i++) {
        const StopRecord *a = &dim->stop[i].at, *b = &stop->at;
        bool alike = a->op < 0 || b->op < 0
                         ? a->op == b->op
                         : plan->inferred->space[a->op] == plan->inferred->space[b->op];
        if (alike && a->stop == b->stop && a->dim == b->dim && a->operand == b->operand)
            return true;
    }
    return false;
}

static void find_stops(Arena *arena, StopSearch *walk, WhyNotDim *out)
{
    const Plan *plan = walk->plan;
    int axis = 0;
    while (!(mesh_axis_atoms(plan->mesh, axis) & walk->atoms))
        axis++;
    for (int32_t i = 0; i < walk->n_queued && out->n_stops < WHY_NOT_STOPS; i++) {
        int32_t site = walk->queue[i], owner = site_owner(walk->sites, site);
        if (!site_has(plan, walk->sites, site, walk->atoms)) {
            walk->at = site;
            sites_joined(plan, walk->sites, site, found_site, walk);
            continue;
        }
        WhyNotStop stop = stop_between(walk, site, walk->parent[site]);
        refine(arena, plan, &stop);
        if (is_repeated(plan, out, &stop))
            continue;
        stop.n_ops = ops_between(walk, site);
        stop.has_chain =
            why_axis(arena, plan, axis, owner >= 0 ? owner : -1, owner >= 0 ? -1 : ~owner,
                     site_dim(walk->sites, site), &stop.from);
        out->stop[out->n_stops++] = stop;
    }
}

/* The reason an op beside the tensor gives by itself: it has no rule, reads the dim whole, or is
 * sharded along another index dim by the axis. */
static Stop wall_of(const Plan *plan, int32_t op, int operand, int dim, AtomSet atoms,
                    StopRecord *at)
{
    const OpSpace *space = program_space(plan->inferred, op);
    const DimFactors *factors = &space->operand[operand].factors[dim];
    at->index = factors->n ? factors->index[0] : -1;
    if (space->no_rule)
        return STOP_NO_RULE;
    if (factors->n == 0)
        return STOP_WHOLE;
    Stop stop = stop_of_index(plan, op, at->index, atoms, &at->other);
    return stop == STOP_TAKEN || stop == STOP_FROZEN || stop == STOP_BLOCKED ? stop : STOP_NONE;
}

bool why_not_at(const Plan *plan, int32_t op, int operand, int dim, AtomSet atoms, WhyNotStop *out)
{
    StopRecord at = {.op = op, .operand = operand, .dim = dim, .other = -1, .atoms = atoms};
    at.leaving = operand < plan->inferred->graph->ops[op].n_inputs;
    at.stop = wall_of(plan, op, operand, dim, atoms, &at);
    *out = (WhyNotStop){
        .at = at, .tensor = op_operand(plan->inferred->graph, op, operand), .beside = true};
    return at.stop != STOP_NONE;
}

/* Where the axis is nowhere near: the ops beside the tensor through which the dim cannot be
 * sharded. */
static void find_walls(const Plan *plan, int32_t tensor, AtomSet atoms, WhyNotDim *out)
{
    const GraphTensor *tensors = &plan->inferred->graph->tensors[tensor];
    int32_t first = tensors->use - 1;
    for (int32_t u = first; u < tensors[1].use && out->n_stops < WHY_NOT_STOPS; u++) {
        int32_t op = u == first ? tensors->maker : plan->inferred->graph->uses[u];
        if (op < 0 || inferred_is_host(plan->inferred, op))
            continue;
        int operand = operand_of(plan, op, tensor);
        out->n_stops += operand >= 0 &&
                        why_not_at(plan, op, operand, out->dim, atoms, &out->stop[out->n_stops]);
    }
}

/* Where the search begins: at the dim; but if its readers passed the axis to it and its maker did
 * not take it, at the maker's index dims, from which the dim itself is the nearest. */
static void begin_walk(StopSearch *walk, int32_t tensor, int dim)
{
    const Inferred *inferred = walk->plan->inferred;
    int32_t site = site_of_tensor(walk->sites, tensor, dim),
            op = inferred->graph->tensors[tensor].maker;
    const DimFactors *factors = NULL;
    int operand = -1;
    if (site_has(walk->plan, walk->sites, site, walk->atoms) && op >= 0)
        operand = operand_of(walk->plan, op, tensor);
    if (operand >= 0)
        factors = &program_space(inferred, op)->operand[operand].factors[dim];
    for (int i = 0; factors && i < factors->n; i++) {
        int32_t made_of = site_of_op(walk->sites, op, factors->index[i]);
        if (site_has(walk->plan, walk->sites, made_of, walk->atoms))
            continue;
        walk->parent[made_of] = made_of;
        walk->queue[walk->n_queued++] = made_of;
    }
    if (walk->n_queued == 0) {
        walk->parent[site] = site;
        walk->queue[walk->n_queued++] = site;
    }
}

/* Another dim of the tensor that the axis shards; -1 if none. */
static int dim_that_has(const Sharding *sharding, int dim, AtomSet atoms)
{
    for (int d = 0; d < sharding->n_dims; d++)
        if (d != dim && (cut_atoms(&sharding->dim[d]) & atoms))
            return d;
    return -1;
}

static void ask_dim(Arena *arena, const Plan *plan, const Sites *sites, int32_t tensor,
                    AtomSet atoms, WhyNotDim *out)
{
    const Sharding *made = shardings_at(plan->shardings, plan->moved->made[tensor]);
    out->here =
        (cut_atoms(&made->dim[out->dim]) | cut_atoms(&plan_sharding(plan, tensor)->dim[out->dim])) &
        atoms;
    atoms &= ~out->here;
    int other;
    if (atoms == 0)
        return;
    out->other_dim = dim_that_has(plan_sharding(plan, tensor), out->dim, atoms);
    if (out->other_dim >= 0)
        return;
    if (stop_of_dim(plan, tensor, out->dim, atoms, &other) == STOP_TAKEN) {
        out->other_dim = other;
        return;
    }
    Arena *scratch = arena_new();
    StopSearch walk = {.plan = plan, .sites = sites, .atoms = atoms};
    walk.parent = arena_array(scratch, int32_t, sites->n);
    walk.by = arena_array(scratch, int32_t, sites->n);
    walk.queue = arena_array(scratch, int32_t, sites->n);
    memset(walk.parent, -1, (size_t)sites->n * sizeof *walk.parent);
    begin_walk(&walk, tensor, out->dim);
    find_stops(arena, &walk, out);
    arena_free(scratch);
    if (out->n_stops == 0 && cut_size(&made->dim[out->dim]) > 1)
        find_walls(plan, tensor, atoms, out);
}

WhyNot why_not(Arena *arena, const Plan *plan, int32_t tensor, int dim, int axis)
{
    WhyNot answer = {.tensor = tensor, .axis = axis};
    AtomSet atoms = mesh_axis_atoms(plan->mesh, axis);
    if (plan->moved->made[tensor] < 0 || plan_reached(plan, tensor) < 0)
        return answer;
    const Sharding *made = shardings_at(plan->shardings, plan->moved->made[tensor]);
    answer.partial = (sharding_partials(made) & atoms) != 0;
    answer.dim = arena_array(arena, WhyNotDim, made->n_dims);
    const Sites *sites = plan_sites(plan);
    for (int d = 0; d < made->n_dims; d++) {
        if (dim >= 0 && d != dim)
            continue;
        WhyNotDim *at = &answer.dim[answer.n_dims++];
        at->dim = d;
        at->other_dim = -1;
        if (atoms)
            ask_dim(arena, plan, sites, tensor, atoms, at);
    }
    return answer;
}
