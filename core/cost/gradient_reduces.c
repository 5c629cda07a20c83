#include "core/cost/gradient_reduces.h"

#include "core/plan/stage.h"

bool gradient_is_of_parameters(const Plan *plan, int32_t tensor)
{
    const Graph *graph = plan->inferred->graph;
    int32_t value = tensor < 0 || !graph->gradient_of ? -1 : graph->gradient_of[tensor];
    int32_t maker = value < 0 ? -1 : graph->tensors[value].maker;
    return value >= 0 && (maker >= 0 ? plan->inferred->on_parameters[maker]
                                     : tensor_is_parameter(plan->inferred, value));
}

/* Whether the backward pass reads what a pin reshards behind its maker. */
static bool is_read_backward(const Plan *plan, int32_t tensor)
{
    const Graph *graph = plan->inferred->graph;
    const int32_t *use = graph->uses + graph->tensors[tensor].use;
    for (int i = 0; i < tensor_n_uses(graph, tensor); i++)
        if (plan_phase(plan, use[i]) <= 1 + PHASE_BACKWARD)
            return true;
    return false;
}

bool reshard_is_of_update(const Plan *plan, const Reshard *reshard)
{
    int32_t maker = plan->inferred->graph->tensors[reshard->tensor].maker;
    if (reshard->n_uses > 0)
        return plan_phase(plan, plan->moved->reshard_uses[reshard->use]) == 1 + PHASE_UPDATE;
    return gradient_is_of_parameters(plan, reshard->tensor)
               ? !is_read_backward(plan, reshard->tensor)
               : plan_phase(plan, maker) == 1 + PHASE_UPDATE;
}

GradientReduces gradient_reduces(const Plan *plan)
{
    const Stages *stages = plan->decided->stages;
    GradientReduces out = {.n_micro_batches = stages ? stages->n_micro_batches : 1};
    out.first_each = -1;
    for (int r = 0; r < plan->moved->n_reshards; r++) {
        const Reshard *reshard = &plan->moved->reshards[r];
        if (!gradient_is_of_parameters(plan, reshard->tensor))
            continue;
        bool once = reshard_is_of_update(plan, reshard);
        for (int s = 0; s < reshard->path->n_steps; s++) {
            const Step *step = &reshard->path->step[s];
            if (step->kind != STEP_ALL_REDUCE && step->kind != STEP_REDUCE_SCATTER)
                continue;
            out.n_once += once;
            out.n_each += !once;
            if (once)
                continue;
            out.first_each = out.first_each < 0 ? r : out.first_each;
            out.each_bytes += step->wire_bytes;
            out.each_us += step->us;
        }
    }
    return out;
}
