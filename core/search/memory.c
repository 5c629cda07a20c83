#include "core/search/memory.h"

#include "core/cost/memory.h"
#include "core/model/stated.h"
#include "core/plan/routed.h"

/* The node of the parameter that a value is stored beside: a state or a gradient; else -1. */
static int32_t updating_node(const Instance *instance, int32_t tensor, Stored *value)
{
    int32_t parameter;
    *value = stored_value(instance->inferred->graph, tensor, &parameter);
    int32_t node = *value == STORED_STATES || *value == STORED_GRADIENT
                       ? instance->node_of_tensor[parameter]
                       : -1;
    return node >= 0 && instance->nodes.at[node].kind == NODE_PARAMETER ? node : -1;
}

static int64_t elements(const Instance *instance, int32_t sharding)
{
    return sharding_most_elements(shardings_at(instance->as->shardings, sharding),
                                  instance->as->mesh);
}

/* The smaller one, of two Shardings ids. */
static int32_t smaller(const Instance *instance, int32_t a, int32_t b)
{
    return elements(instance, b) < elements(instance, a) ? b : a;
}

/* How a gradient lies at least by choice of its parameter's node: as it is stored for the update,
 * or as the parameter is used; where readers do not agree on that, as any of them uses it. */
static int32_t gradient_as(const Instance *instance, const SearchNode *node, int32_t choice,
                           bool updating)
{
    const ParameterChoice *at = &node->stored[choice];
    int32_t least = at->used;
    if (at->each)
        return at->updated;
    for (int32_t c = 0; !at->agreed && c < node->n; c++)
        least = smaller(instance, least, node->stored[c].used);
    return updating ? smaller(instance, least, at->updated) : least;
}

/* The node that decides how a tensor lies while an op runs, and its Shardings ids by choice; -1:
 * none. least: no plan holds less of it. */
static int32_t decided_by(Arena *arena, Instance *instance, int32_t tensor, int32_t running,
                          bool least, const int32_t **ids)
{
    const Inferred *inferred = instance->inferred;
    int32_t maker = inferred->graph->tensors[tensor].maker;
    Stored value;
    int32_t beside = updating_node(instance, tensor, &value);
    if (value == STORED_GRADIENT && (!least || maker == running))
        beside = -1; /* as it is made */
    int32_t node = beside >= 0  ? beside
                   : maker >= 0 ? instance->node_of_op[maker]
                                : instance->node_of_tensor[tensor];
    const SearchNode *at = node < 0 ? NULL : &instance->nodes.at[node];
    if (!at || at->kind == NODE_SHARED || at->kind == NODE_FIXED)
        return -1;
    if (maker >= 0 && beside < 0) {
        const GraphOp *op = &inferred->graph->ops[maker];
        for (int o = op->n_inputs; o < op->n_inputs + op->n_outputs; o++)
            if (inferred->graph->operands[op->input + o] == tensor)
                *ids = instance_layouts(instance, node, inferred->space[maker], o);
        return node;
    }
    bool updating = op_phase(inferred->graph, running) == PHASE_UPDATE;
    int32_t *out = arena_array(arena, int32_t, at->n);
    for (int32_t c = 0; c < at->n; c++)
        out[c] = at->kind == NODE_INPUT     ? at->sharding[c]
                 : beside < 0               ? at->stored[c].stored
                 : value == STORED_GRADIENT ? gradient_as(instance, at, c, updating)
                                            : at->stored[c].updated;
    *ids = out;
    return node;
}

static double bytes_as(const Instance *instance, int32_t tensor, const Sharding *sharding)
{
    int64_t n = sharding_most_elements(sharding, instance->as->mesh);
    return (double)routed_bytes(instance->as->routed, tensor, sharding, instance->as->mesh,
                                inferred_part_bytes(instance->inferred, tensor, n));
}

/* Returns false if no choice decides how the value lies. */
static bool add_amounts(Arena *arena, Instance *instance, const LiveValue *live, double times,
                        int32_t running, bool least, double **amount)
{
    const int32_t *ids = NULL;
    int32_t node = decided_by(arena, instance, live->tensor, running, least, &ids);
    if (node < 0 || !ids)
        return false;
    int32_t n = instance->nodes.at[node].n;
    if (!amount[node])
        amount[node] = arena_array(arena, double, n);
    for (int32_t c = 0; c < n; c++)
        amount[node][c] +=
            times * bytes_as(instance, live->tensor, shardings_at(instance->as->shardings, ids[c]));
    return true;
}

static void add_live(Arena *arena, Instance *instance, const Plan *plan, const LiveValue *live,
                     MemoryPoint *out)
{
    double own = bytes_as(instance, live->tensor, shardings_at(plan->shardings, live->sharding));
    if (own <= 0)
        return;
    double times = (double)live->bytes / own; /* micro-batches in flight */
    int32_t running = instance->inferred->program[out->place];
    if (add_amounts(arena, instance, live, times, running, false, out->amount))
        out->modelled += (double)live->bytes;
    add_amounts(arena, instance, live, times, running, true, out->least);
}

MemoryPoint memory_point(Arena *arena, Instance *instance, const Plan *plan)
{
    MemoryUse use = memory_use(arena, plan);
    MemoryPoint out = {.place = use.peak_place, .total = (double)use.peak_bytes};
    out.amount = arena_array(arena, double *, instance->nodes.n);
    out.least = arena_array(arena, double *, instance->nodes.n);
    LiveSet live = memory_live_at(arena, plan, use.rank, use.peak_place);
    bool *seen = arena_array(arena, bool, instance->inferred->graph->n_tensors);
    for (int i = 0; i < live.n; i++) {
        const LiveValue *at = &live.at[i];
        bool own = at->sharding == plan->moved->sharding[at->tensor] ||
                   at->sharding == plan->moved->made[at->tensor];
        if (!own || seen[at->tensor])
            continue;
        seen[at->tensor] = true;
        add_live(arena, instance, plan, at, &out);
    }
    return out;
}
