/* How parameters and constants are stored, and what a training step keeps beside them. */
#include "core/plan/edges_state.h"

#include "core/layout/weights.h"
#include "core/rules/registry.h"

/* The sharding without the axes that a mark keeps out of the tensor. It is not partial over them
 * either, unless another mark wants that. */
int32_t edges_obey_marks(const Edges *e, int32_t tensor, int32_t sharding)
{
    AtomSet axes = e->replicated ? e->replicated[tensor] : 0;
    if (axes == 0 || sharding < 0)
        return sharding;
    Sharding with = *shardings_at(e->plan->shardings, sharding);
    for (int64_t d = 0; d < with.n_dims; d++)
        if (cut_atoms(&with.dim[d]) & axes)
            with.dim[d] = cut_without(&with.dim[d], axes, e->plan->mesh);
    for (int a = 0; a < ATOMS_MAX; a++)
        if ((axes & ~e->unreduced[tensor]) >> a & 1)
            with.partial[a] = REDUCE_NONE;
    return shardings_put(e->plan->shardings, &with);
}

/* True if the tensor lies as propagation left it, whatever its op makes or its readers need. */
bool edges_is_held(const Edges *e, int32_t tensor)
{
    return plan_pinned(e->plan, tensor) || (e->together && e->together[tensor]) ||
           (e->stored_gradient && e->stored_gradient[tensor]);
}

/* The op that sums the same gradients on another part of the mesh, before this one; -1: none. The
 * sums of all parts are one reader of what they add up. */
static int32_t summed_before(const Graph *graph, int32_t op)
{
    const GraphOp *at = &graph->ops[op];
    int32_t t = at->n_inputs > 1 && graph->phase ? op_inputs(graph, op)[0] : -1;
    if (t < 0 || graph->phase[op] != PHASE_BACKWARD || graph->gradient_of[t] < 0)
        return -1;
    for (int u = 0; u < tensor_n_uses(graph, t); u++) {
        int32_t before = graph->uses[graph->tensors[t].use + u];
        if (before >= op)
            break;
        if (graph->ops[before].op_type == at->op_type &&
            graph->ops[before].n_inputs == at->n_inputs &&
            memcmp(op_inputs(graph, before), op_inputs(graph, op),
                   (size_t)at->n_inputs * sizeof(int32_t)) == 0)
            return before;
    }
    return -1;
}

/* One pass over all reads: counts the readers of each tensor, and finds the one sharding that all
 * uses of a parameter, or of the first of its group, need. */
static void count_reads(Edges *e, int32_t *agreed)
{
    const Plan *plan = e->plan;
    const Inferred *inferred = plan->inferred;
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        if (plan->propagated->cut[op] < 0)
            continue;
        bool update = plan_phase(plan, op) == 1 + PHASE_UPDATE; /* it takes what is stored */
        bool repeats = summed_before(inferred->graph, op) >= 0;
        const int32_t *input = op_inputs(inferred->graph, op), *ids = edges_projections(e, op);
        const OpSpace *space = program_space(inferred, op);
        for (int o = 0; o < inferred->graph->ops[op].n_inputs; o++) {
            int32_t t = input[o];
            if (t < 0 || space->operand[o].absent)
                continue;
            e->n_readers[t] += !repeats;
            if (update)
                continue;
            int32_t need = edges_need(e, space, ids, o, t), first = e->first ? e->first[t] : t;
            bool alike = agreed[first] == UNDECIDED || agreed[first] == need;
            agreed[first] = alike ? need : edges_whole(e, t);
        }
    }
}

/* Parts of unlike sizes are made of units of one size, which are sharded further; `own` alone where
 * a unit is too small. */
static Cut store_units(const Cut *used, int at, const Cut *own, const Mesh *mesh)
{
    Cut out = *used;
    int64_t n = weights_list(mesh, used->digit[at].weights).sum, unit = used->digit[at].size / n;
    if (used->n == DIGITS_MAX || unit < mesh_atoms_size(mesh, cut_atoms(own)))
        return *own;
    for (int i = out.n++; i > at + 1; i--)
        out.digit[i] = out.digit[i - 1];
    out.digit[at].size = n;
    out.digit[at + 1] = own->digit[0];
    out.digit[at + 1].size = unit;
    cut_canonical(&out, mesh);
    return out;
}

Cut cut_stored(const Cut *used, const Cut *own, const Mesh *mesh)
{
    Cut out = *used;
    int last = 0;
    if (cut_is_whole(used) || own->n != 1 || (cut_atoms(own) & cut_atoms(used)))
        return *own;
    for (int i = 0; i < used->n; i++)
        last = used->digit[i].n > 0 ? i : last;
    if (used->digit[last].weights)
        return store_units(used, last, own, mesh);
    for (int i = cut_is_blocks(used) ? 0 : last; i <= (cut_is_blocks(used) ? used->n - 1 : last);
         i++)
        for (int a = 0; a < own->digit[0].n; a++)
            out.digit[i].atom[out.digit[i].n++] = own->digit[0].atom[a];
    cut_canonical(&out, mesh);
    return out;
}

/* A pin of the parameter too is in `from` already, where it is another value's. Axes of `from` stay
 * where they are if the pin is open: it adds its others behind them. */
int32_t stored_as_pinned(const Plan *plan, int32_t parameter, Stored values, int32_t from)
{
    const Sharding *before = shardings_at(plan->shardings, from);
    const Decision *pin[DIMS_MAX] = {0};
    Cut adds[DIMS_MAX];
    AtomSet stored = 0;
    bool any = false;
    for (int d = 0; d < before->n_dims; d++) {
        pin[d] = plan_store_pin_for(plan, parameter, d, values);
        if (pin[d] && values != STORED_PARAMETER && pin[d]->store & STORED_PARAMETER)
            pin[d] = NULL;
        if (!pin[d])
            continue;
        adds[d] = *decision_cut(pin[d]);
        if (pin[d]->open)
            adds[d] = cut_without(&adds[d], cuts_used(before->dim, before->n_dims, -1), plan->mesh);
        stored |= cut_atoms(&adds[d]);
        any = true;
    }
    if (!any)
        return from;
    Sharding sharding = *before;
    for (int d = 0; d < sharding.n_dims; d++) {
        AtomSet own = pin[d] ? cut_atoms(&adds[d]) : 0;
        if (cut_atoms(&sharding.dim[d]) & stored & ~own)
            sharding.dim[d] = cut_without(&sharding.dim[d], stored & ~own, plan->mesh);
        if (own || (pin[d] && !pin[d]->open))
            sharding.dim[d] = cut_stored(&sharding.dim[d], &adds[d], plan->mesh);
    }
    return shardings_put(plan->shardings, &sharding);
}

/* A pin that keeps what is gathered of a value keeps it of the views of that value too. */
static void find_kept(Edges *e)
{
    const Inferred *inferred = e->plan->inferred;
    const Decided *decided = e->plan->decided;
    for (int i = 0; i < decided->n_pins; i++) {
        if (!decided->pins[i]->keep || decided->pins[i]->kind != PIN_TENSOR_DIM)
            continue;
        if (!e->kept)
            e->kept = arena_array(e->scratch, bool, inferred->graph->n_tensors);
        e->kept[decided->pins[i]->place] = true;
    }
    for (int i = 0; e->kept && i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        bool reads = inferred->graph->ops[op].n_inputs > 0;
        int32_t of = reads ? op_inputs(inferred->graph, op)[0] : NONE;
        if (of >= 0 && e->kept[of] && operator_is_view(inferred_operator(inferred, op)))
            e->kept[op_outputs(inferred->graph, op)[0]] = true;
    }
}

static void apply_store_pins(Edges *e)
{
    const Plan *plan = e->plan;
    bool *applied = arena_array(e->scratch, bool, plan->inferred->graph->n_tensors);
    for (int i = 0; i < plan->decided->n_pins; i++) {
        const Decision *pin = plan->decided->pins[i];
        int32_t t = pin->place;
        if (!(pin->store & STORED_PARAMETER) || applied[t])
            continue;
        applied[t] = true;
        e->out->made[t] = e->out->sharding[t] =
            stored_as_pinned(plan, t, STORED_PARAMETER, e->out->sharding[t]);
    }
}

/* The states of a parameter follow each other, and are stored alike. */
static int32_t state_stored(Edges *e, int32_t parameter, int32_t from)
{
    if (e->last_state.parameter != parameter || e->last_state.from != from) {
        e->last_state.parameter = parameter;
        e->last_state.from = from;
        e->last_state.stored = stored_as_pinned(e->plan, parameter, STORED_STATES, from);
    }
    return e->last_state.stored;
}

/* States are stored as their parameter, and so is a gradient that a pin places; the pins of each
 * add to that. Other gradients are reduced where the update reads them. */
static void store_beside(Edges *e, int32_t tensor)
{
    const Plan *plan = e->plan;
    int32_t parameter;
    Stored value = stored_value(plan->inferred->graph, tensor, &parameter);
    if (value == STORED_NONE || value == STORED_PARAMETER || plan->moved->sharding[parameter] < 0 ||
        (value == STORED_GRADIENT && !plan_stores(plan, parameter, STORED_GRADIENT)))
        return;
    int32_t from = plan->moved->sharding[parameter];
    int32_t stored = value == STORED_STATES ? state_stored(e, parameter, from)
                                            : stored_as_pinned(plan, parameter, value, from);
    stored = stored_as_pinned(plan, tensor, STORED_PARAMETER, stored); /* its own */
    e->out->sharding[tensor] = stored;
    if (value == STORED_STATES) {
        e->out->made[tensor] = stored;
        return;
    }
    if (!e->stored_gradient)
        e->stored_gradient = arena_array(e->scratch, bool, plan->inferred->graph->n_tensors);
    e->stored_gradient[tensor] = true;
}

void edges_store_parameters(Edges *e)
{
    const Plan *plan = e->plan;
    const Graph *graph = plan->inferred->graph;
    int32_t *agreed = arena_array(e->scratch, int32_t, graph->n_tensors);
    for (int t = 0; t < graph->n_tensors; t++)
        agreed[t] = UNDECIDED;
    count_reads(e, agreed);
    for (int t = 0; t < graph->n_tensors; t++) {
        if (plan->moved->sharding[t] < 0)
            continue;
        int32_t uses = agreed[e->first ? e->first[t] : t];
        if (tensor_is_known(plan->inferred, t))
            e->out->sharding[t] = edges_whole(e, t);
        else if (graph->tensors[t].kind == TENSOR_INITIALIZER && !edges_is_held(e, t) &&
                 !plan->propagated->passed && uses >= 0)
            e->out->sharding[t] = edges_obey_marks(e, t, uses);
        e->out->made[t] = e->out->sharding[t];
    }
    find_kept(e);
    apply_store_pins(e);
    for (int t = 0; graph->next_of && t < graph->n_tensors; t++)
        store_beside(e, t);
}
