#include "core/cost/step_comm.h"

#include "core/cost/cost.h"
#include "core/cost/gradient_reduces.h"
#include "core/model/stated.h"
#include "core/plan/stage.h"

const char *comm_pass_name(CommPass pass)
{
    /* ORDER COMM_PASS */
    static const char *const names[COMM_PASS_COUNT] = {"forward", "backward", "update"};
    return names[pass];
}

CommPass reshard_pass(const Plan *plan, const Reshard *reshard)
{
    const Graph *graph = plan->inferred->graph;
    if (!graph_has_phases(graph))
        return COMM_FORWARD;
    int32_t maker = graph->tensors[reshard->tensor].maker;
    int32_t op = reshard->n_uses > 0 ? plan->moved->reshard_uses[reshard->use] : maker;
    if (op < 0 || op_phase(graph, op) == PHASE_FORWARD)
        return COMM_FORWARD;
    bool update =
        graph->phase ? reshard_is_of_update(plan, reshard) : op_phase(graph, op) == PHASE_UPDATE;
    return update ? COMM_UPDATE : COMM_BACKWARD;
}

int plan_micro_batches(const Plan *plan)
{
    const Stages *stages = plan->decided->stages;
    return stages && stages->n_micro_batches > 1 ? stages->n_micro_batches : 1;
}

double reshard_step_times(const Plan *plan, const Reshard *reshard)
{
    bool once = reshard_pass(plan, reshard) == COMM_UPDATE;
    return reshard_repeat(plan, reshard) * (once ? 1 : plan_micro_batches(plan));
}

CommPasses comm_passes(const Plan *plan)
{
    CommPasses out = {.micro_batches = plan_micro_batches(plan)};
    for (int r = 0; r < plan->moved->n_reshards; r++) {
        const Reshard *reshard = &plan->moved->reshards[r];
        CommPass pass = reshard_pass(plan, reshard);
        out.n[pass]++;
        out.us[pass] += reshard_repeat(plan, reshard) * reshard->path->us;
    }
    out.step_us =
        out.micro_batches * (out.us[COMM_FORWARD] + out.us[COMM_BACKWARD]) + out.us[COMM_UPDATE];
    return out;
}
