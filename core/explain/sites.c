#include "core/explain/sites.h"

static void note_owner(Sites *sites, int32_t first, int32_t end, int32_t owner)
{
    for (int32_t s = (first + SITES_STEP - 1) / SITES_STEP * SITES_STEP; s < end; s += SITES_STEP)
        sites->owner[s / SITES_STEP] = owner;
}

/* Gradient ops by the op they are of. */
static void list_gradient_ops(Arena *arena, const Graph *graph, Sites *sites)
{
    if (!graph->phase)
        return;
    sites->gradient_op = arena_array(arena, int32_t, graph->n_ops);
    sites->next_gradient_op = arena_array(arena, int32_t, graph->n_ops);
    memset(sites->gradient_op, -1, (size_t)graph->n_ops * sizeof *sites->gradient_op);
    for (int32_t op = graph->n_ops - 1; op >= 0; op--) {
        if (graph->of[op] < 0 || graph->phase[op] == PHASE_FORWARD)
            continue;
        sites->next_gradient_op[op] = sites->gradient_op[graph->of[op]];
        sites->gradient_op[graph->of[op]] = op;
    }
}

Sites *sites_new(Arena *arena, const Plan *plan)
{
    const Inferred *inferred = plan->inferred;
    const Graph *graph = inferred->graph;
    Sites *sites = arena_make(arena, Sites);
    sites->tensor = arena_array(arena, int32_t, graph->n_tensors + 1);
    sites->op = arena_array(arena, int32_t, graph->n_ops + 1);
    int32_t n = 0;
    for (int t = 0; t < graph->n_tensors; t++) {
        sites->tensor[t] = n;
        if (plan_reached(plan, t) >= 0)
            n += (int32_t)shardings_at(plan->shardings, plan_reached(plan, t))->n_dims;
    }
    sites->tensor[graph->n_tensors] = n;
    for (int op = 0; op < graph->n_ops; op++) {
        sites->op[op] = n;
        if (!inferred_is_host(inferred, op))
            n += program_space(inferred, op)->n_index;
    }
    sites->op[graph->n_ops] = sites->n = n;
    sites->n_tensors = graph->n_tensors;
    sites->owner = arena_array(arena, int32_t, n / SITES_STEP + 1);
    list_gradient_ops(arena, graph, sites);
    for (int t = 0; t < graph->n_tensors; t++)
        note_owner(sites, sites->tensor[t], sites->tensor[t + 1], t);
    for (int op = 0; op < graph->n_ops; op++)
        note_owner(sites, sites->op[op], sites->op[op + 1], ~op);
    return sites;
}

bool site_has(const Plan *plan, const Sites *sites, int32_t site, AtomSet atoms)
{
    int32_t owner = site_owner(sites, site);
    int dim = site_dim(sites, site);
    const Cut *cut = owner >= 0
                         ? &shardings_at(plan->shardings, plan_reached(plan, owner))->dim[dim]
                         : &program_cut(plan, ~owner)->index[dim];
    return (cut_atoms(cut) & atoms) != 0;
}

typedef struct {
    const Plan *plan;
    const Sites *sites;
    SiteFound *found;
    void *context;
} Joints;

/* From a tensor dim to the index dims of one op. */
static void joined_in_op(const Joints *j, int32_t op, int32_t tensor, int dim)
{
    const OpSpace *space = inferred_space(j->plan->inferred, op);
    if (!space || space->no_rule)
        return;
    for (int o = 0; o < space->n_inputs + space->n_outputs; o++) {
        if (op_operand(j->plan->inferred->graph, op, o) != tensor)
            continue;
        const DimFactors *factors = &space->operand[o].factors[dim];
        for (int f = 0; f < factors->n; f++)
            j->found(j->context, site_of_op(j->sites, op, factors->index[f]), op);
    }
}

static void joined_by_loops(const Joints *j, int32_t tensor, int dim)
{
    const Graph *graph = j->plan->inferred->graph;
    for (int i = 0; i < graph->n_carries; i++) {
        const GraphCarry *carry = &graph->carries[i];
        int32_t other = carry->in == tensor ? carry->next : carry->next == tensor ? carry->in : -1;
        if (other >= 0 && other != tensor &&
            site_of_tensor(j->sites, other, dim) < j->sites->tensor[other + 1])
            j->found(j->context, site_of_tensor(j->sites, other, dim), -1);
    }
}

static void joined_with_tensor(const Joints *j, int32_t tensor, int dim)
{
    const Graph *graph = j->plan->inferred->graph;
    if (graph->tensors[tensor].maker >= 0)
        joined_in_op(j, graph->tensors[tensor].maker, tensor, dim);
    for (int32_t u = graph->tensors[tensor].use; u < graph->tensors[tensor + 1].use; u++)
        joined_in_op(j, graph->uses[u], tensor, dim);
    joined_by_loops(j, tensor, dim);
}

static void joined_with_index(const Joints *j, int32_t op, int index)
{
    const OpSpace *space = program_space(j->plan->inferred, op);
    for (int o = 0; o < space->n_inputs + space->n_outputs; o++) {
        int32_t tensor = op_operand(j->plan->inferred->graph, op, o);
        if (tensor < 0 || plan_reached(j->plan, tensor) < 0)
            continue;
        for (int d = 0; d < space->operand[o].shape.n_dims; d++)
            for (int f = 0; f < space->operand[o].factors[d].n; f++)
                if (space->operand[o].factors[d].index[f] == index)
                    j->found(j->context, site_of_tensor(j->sites, tensor, d), op);
    }
}

bool op_copies_partition(const Plan *plan, int32_t op)
{
    const Graph *graph = plan->inferred->graph;
    return graph->phase && graph->of[op] >= 0 &&
           (graph->phase[op] == PHASE_AGAIN || program_space(plan->inferred, op)->gradient);
}

/* Index dims of one name, of an op and of one that copies its partition. */
static void joined_by_name(const Joints *j, Str name, int32_t other)
{
    int same = opspace_find_index(program_space(j->plan->inferred, other), name);
    if (same >= 0)
        j->found(j->context, site_of_op(j->sites, other, same), -1);
}

static void joined_with_gradients(const Joints *j, int32_t op, int index)
{
    if (!j->sites->gradient_op)
        return;
    Str name = str_from(program_space(j->plan->inferred, op)->index[index].name);
    for (int32_t g = j->sites->gradient_op[op]; g >= 0; g = j->sites->next_gradient_op[g])
        if (op_copies_partition(j->plan, g))
            joined_by_name(j, name, g);
    if (op_copies_partition(j->plan, op))
        joined_by_name(j, name, j->plan->inferred->graph->of[op]);
}

void sites_joined(const Plan *plan, const Sites *sites, int32_t site, SiteFound *found,
                  void *context)
{
    Joints joints = {plan, sites, found, context};
    int32_t owner = site_owner(sites, site);
    if (owner >= 0)
        joined_with_tensor(&joints, owner, site_dim(sites, site));
    else {
        joined_with_index(&joints, ~owner, site_dim(sites, site));
        joined_with_gradients(&joints, ~owner, site_dim(sites, site));
    }
}

/* The op updates the parameter by that gradient, and is partitioned as the parameter is stored. */
static bool is_updated_with(const Plan *plan, int32_t op, int32_t gradient)
{
    const Graph *graph = plan->inferred->graph;
    return gradient >= 0 && graph->gradient_of[gradient] >= 0 && graph->ops[op].n_inputs > 1 &&
           stored_updated(graph, op) == graph->gradient_of[gradient];
}

bool site_takes_from(const Plan *plan, const Sites *sites, int32_t site, int32_t from, int32_t op)
{
    const Inferred *forward = plan->inferred->forward;
    if (!forward)
        return true;
    int32_t to = site_owner(sites, site), owner = site_owner(sites, from);
    if (to >= forward->graph->n_tensors)
        return op >= 0 && plan->inferred->graph->tensors[to].maker == op;
    if (to < 0 && ~to >= forward->graph->n_ops)
        return op < 0 || !(op_copies_partition(plan, ~to) || is_updated_with(plan, ~to, owner));
    return owner >= 0 ? owner < forward->graph->n_tensors : ~owner < forward->graph->n_ops;
}
