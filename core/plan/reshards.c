/* Queries of edges.h about the reshards of a plan. */
#include "core/plan/edges.h"

#include "core/plan/stage.h"

ReshardIndex reshard_index(Arena *arena, const Plan *plan)
{
    int n_tensors = plan->inferred->graph->n_tensors;
    int32_t *first = arena_array(arena, int32_t, n_tensors);
    int32_t *next = arena_array(arena, int32_t, plan->moved->n_reshards);
    memset(first, -1, (size_t)n_tensors * sizeof *first);
    for (int r = plan->moved->n_reshards - 1; r >= 0; r--) {
        next[r] = first[plan->moved->reshards[r].tensor];
        first[plan->moved->reshards[r].tensor] = r;
    }
    return (ReshardIndex){plan, first, next};
}

int32_t reshard_filling(const ReshardIndex *index, int32_t tensor, int32_t to, int devices,
                        int phase)
{
    for (int32_t r = index->first[tensor]; r >= 0; r = index->next[r]) {
        const Reshard *reshard = &index->plan->moved->reshards[r];
        bool serves = reshard->phase == 0 || phase == 0 || reshard->phase == phase;
        if (reshard->to == to && reshard->to_devices == devices && serves)
            return r;
    }
    return -1;
}

bool reshards_at_once(const Plan *plan, int32_t tensor)
{
    const Graph *graph = plan->inferred->graph;
    const GraphTensor *at = &graph->tensors[tensor];
    int32_t of = graph->gradient_of ? graph->gradient_of[tensor] : -1;
    bool several = plan->decided->stages && plan->decided->stages->n_micro_batches > 1;
    if (several || of < 0 || at->maker < 0 || !tensor_is_parameter(plan->inferred, of))
        return false;
    for (int u = 0; u < tensor_n_uses(graph, tensor); u++)
        if (graph->phase[graph->uses[at->use + u]] != PHASE_UPDATE)
            return false;
    return true;
}

int32_t reshard_beside(const Plan *plan, const Reshard *reshard, bool *after)
{
    int32_t maker = plan->inferred->graph->tensors[reshard->tensor].maker;
    int32_t reader = reshard->n_uses > 0 ? plan->moved->reshard_uses[reshard->use] : -1;
    *after = reader < maker || reshards_at_once(plan, reshard->tensor);
    return *after ? maker : reader;
}

int reshard_step_devices(const Reshard *reshard, int i)
{
    for (int s = 0; s <= i; s++)
        if (reshard->path->step[s].kind == STEP_SEND)
            return reshard->to_devices;
    return reshard->from_devices;
}
