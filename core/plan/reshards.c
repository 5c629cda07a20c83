/* Queries of edges.h about the reshards of a plan. */
#include "core/plan/edges.h"

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

int32_t reshard_beside(const Plan *plan, const Reshard *reshard, bool *after)
{
    int32_t maker = plan->inferred->graph->tensors[reshard->tensor].maker;
    int32_t reader = reshard->n_uses > 0 ? plan->moved->reshard_uses[reshard->use] : -1;
    *after = reader < maker;
    return *after ? maker : reader;
}

int reshard_step_devices(const Reshard *reshard, int i)
{
    for (int s = 0; s <= i; s++)
        if (reshard->path->step[s].kind == STEP_SEND)
            return reshard->to_devices;
    return reshard->from_devices;
}
