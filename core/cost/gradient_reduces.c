#include "core/cost/gradient_reduces.h"

#include "core/cost/step_comm.h"

static bool step_reduces(const Step *step)
{
    return step->kind == STEP_ALL_REDUCE || step->kind == STEP_REDUCE_SCATTER;
}

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

/* Whether the op adds up gradients of a parameter that several parts of the mesh hold. */
static bool op_joins_parts(const Plan *plan, int32_t op)
{
    const Graph *graph = plan->inferred->graph;
    const GraphOp *at = &graph->ops[op];
    if (plan_phase(plan, op) != 1 + PHASE_BACKWARD || program_space(plan->inferred, op)->gradient)
        return false;
    int32_t sums = graph->gradient_of[op_outputs(graph, op)[0]];
    if (sums < 0 || !tensor_is_parameter(plan->inferred, sums))
        return false; /* what is made of a parameter is sent to other parts, as activations are */
    for (int i = 0; i < at->n_inputs; i++) {
        int32_t t = op_inputs(graph, op)[i], maker = t < 0 ? -1 : graph->tensors[t].maker;
        if (maker >= 0 && plan_devices(plan, maker) != plan_devices(plan, op))
            return true;
    }
    return false;
}

int32_t reshard_joins(const Plan *plan, const Reshard *reshard)
{
    bool joins = reshard->from_devices != reshard->to_devices && reshard->n_uses > 0 &&
                 op_joins_parts(plan, plan->moved->reshard_uses[reshard->use]);
    return joins ? plan->inferred->graph->gradient_of[reshard->tensor] : -1;
}

bool op_runs_once(const Plan *plan, int32_t op)
{
    return plan_phase(plan, op) == 1 + PHASE_UPDATE || op_joins_parts(plan, op);
}

bool reshard_is_of_update(const Plan *plan, const Reshard *reshard)
{
    int32_t maker = plan->inferred->graph->tensors[reshard->tensor].maker;
    if (reshard->n_uses > 0)
        return op_runs_once(plan, plan->moved->reshard_uses[reshard->use]);
    if (plan_phase(plan, maker) == 1 + PHASE_UPDATE)
        return true;
    return gradient_is_of_parameters(plan, reshard->tensor) && plan_micro_batches(plan) == 1 &&
           !is_read_backward(plan, reshard->tensor);
}

/* What reductions of each micro-batch send on one part of the mesh. */
typedef struct {
    int64_t bytes;
    double us;
} SentEach;

/* Counts the reductions of a reshard for each micro-batch. */
static void count_each(const Plan *plan, int r, SentEach *sent, GradientReduces *out)
{
    const Reshard *reshard = &plan->moved->reshards[r];
    SentEach *of = &sent[reshard->to_devices];
    for (int s = 0; s < reshard->path->n_steps; s++) {
        const Step *step = &reshard->path->step[s];
        if (!step_reduces(step))
            continue;
        out->n_each++;
        out->first_each = out->first_each < 0 ? r : out->first_each;
        of->bytes += step->wire_bytes;
        of->us += step->us;
    }
    if (of->us > out->each_us) {
        out->each_us = of->us;
        out->each_bytes = of->bytes;
    }
}

GradientReduces gradient_reduces(const Plan *plan)
{
    GradientReduces out = {.n_micro_batches = plan_micro_batches(plan)};
    Arena *scratch = arena_new();
    SentEach *sent = arena_array(scratch, SentEach, plan->decided->n_submeshes);
    int32_t joined = -1; /* reshards of one are in a row */
    out.first_each = -1;
    for (int r = 0; r < plan->moved->n_reshards; r++) {
        const Reshard *reshard = &plan->moved->reshards[r];
        if (!gradient_is_of_parameters(plan, reshard->tensor))
            continue;
        bool once = reshard_is_of_update(plan, reshard);
        int32_t joins = reshard_joins(plan, reshard);
        out.n_joined += joins >= 0 && joins != joined;
        joined = joins >= 0 ? joins : joined;
        if (!once)
            count_each(plan, r, sent, &out);
        for (int s = 0; once && s < reshard->path->n_steps; s++)
            out.n_once += step_reduces(&reshard->path->step[s]);
    }
    arena_free(scratch);
    return out;
}
