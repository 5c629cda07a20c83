#include "core/cost/memory.h"

#include "core/plan/stage.h"

/* Returns whether the rank stores the parameter. */
static bool has_parameter(const Plan *plan, int32_t tensor, int64_t rank)
{
    if (!plan->decided->devices)
        return true;
    for (int at = 0, devices; (devices = stage_given_on(plan, tensor, &at)) >= 0;)
        if (submesh_has(plan->mesh, plan->decided->submeshes[devices], rank))
            return true;
    return false;
}

void memory_init(const Plan *plan, int64_t rank, InitMemory *out)
{
    const Inferred *inferred = plan->inferred;
    *out = (InitMemory){.largest = -1};
    for (int32_t t = 0; t < inferred->graph->n_tensors; t++) {
        if (!tensor_is_parameter(inferred, t) || plan->moved->sharding[t] < 0 ||
            !has_parameter(plan, t, rank))
            continue;
        int64_t whole = inferred_bytes(inferred, t);
        int64_t part =
            dtype_bytes((Dtype)inferred->dtype[t],
                        sharding_local_elements(plan_sharding(plan, t), plan->mesh, rank));
        int64_t now = out->parts_bytes + whole + (part < whole ? part : 0);
        if (out->largest < 0 || now > out->cut_bytes) {
            out->cut_bytes = now;
            out->largest = t;
        }
        out->parts_bytes += part;
        out->whole_bytes += whole;
    }
}
