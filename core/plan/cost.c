#include "core/plan/cost.h"

double op_flops_local(const Plan *plan, int32_t op)
{
    const OpSpace *space = inferred_space(plan->inferred, op);
    if (!space)
        return 0;
    double flops = space->flops;
    const OpCut *cut = plan_cut(plan, op);
    for (int j = 0; cut && j < space->n_index; j++)
        if (space->index[j].size > 0)
            flops *= (double)cut_local_size(&cut->index[j], plan->mesh, 0) /
                     (double)space->index[j].size;
    return flops;
}

/* Bytes that rank 0 reads and writes: every operand once, as it is read, as it is made. */
static int64_t op_bytes_local(const Plan *plan, int32_t op)
{
    const Graph *graph = plan->inferred->graph;
    const GraphOp *at = &graph->ops[op];
    int64_t bytes = 0;
    for (int32_t i = at->input; i < at->input + at->n_inputs; i++)
        if (graph->operands[i] >= 0)
            bytes += plan_local_bytes(plan, graph->operands[i], plan->need[i]);
    for (int32_t i = at->output; i < at->output + at->n_outputs; i++)
        if (graph->operands[i] >= 0)
            bytes += plan_local_bytes(plan, graph->operands[i], plan->made[graph->operands[i]]);
    return bytes;
}

/* The peak for the element type an op computes with: that of its first operand. */
static double op_flops_per_s(const Plan *plan, int32_t op)
{
    const Graph *graph = plan->inferred->graph;
    const double *flops_per_s = plan->machine->flops_per_s;
    for (int i = 0; i < graph->ops[op].n_inputs; i++) {
        int32_t tensor = op_inputs(graph, op)[i];
        if (tensor >= 0 && flops_per_s[plan->inferred->dtype[tensor]] > 0)
            return flops_per_s[plan->inferred->dtype[tensor]];
        if (tensor >= 0)
            break;
    }
    return flops_per_s[DT_F32];
}

/* Ops that move no data cost nothing: views, and what the host computes. */
static bool is_free(const OpSpace *space)
{
    return !space || (space->kernel && strcmp(space->kernel, "view") == 0);
}

/* The roofline: max(flops / peak, bytes / bandwidth) [Williams et al., 2009], and a launch. */
static double op_us(const Plan *plan, int32_t op, double flops)
{
    if (is_free(inferred_space(plan->inferred, op)))
        return 0;
    const Machine *machine = plan->machine;
    double compute_s = flops / op_flops_per_s(plan, op);
    double memory_s = (double)op_bytes_local(plan, op) / machine->memory_bytes_per_s;
    return (compute_s > memory_s ? compute_s : memory_s) * 1e6 + machine->launch_us;
}

double reshard_repeat(const Plan *plan, const Reshard *reshard)
{
    int32_t maker = plan->inferred->graph->tensors[reshard->tensor].maker;
    return maker < 0 ? 1 : inferred_repeat(plan->inferred, maker);
}

void cost_fill(Plan *plan)
{
    const Inferred *inferred = plan->inferred;
    Totals totals = {.peak_bytes = plan->totals.peak_bytes};
    double wire_bytes = 0;
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        double flops = op_flops_local(plan, op), n = inferred_repeat(inferred, op);
        plan->op_us[op] = n * op_us(plan, op, flops); /* an op of a loop runs n times */
        flops *= n;
        totals.compute_us += plan->op_us[op];
        totals.flops += flops;
    }
    for (int i = 0; i < plan->n_reshards; i++) {
        const ReshardPath *path = plan->reshards[i].path;
        double n = reshard_repeat(plan, &plan->reshards[i]);
        totals.comm_us += n * path->us;
        wire_bytes += n * (double)path->wire_bytes;
    }
    totals.comm_bytes = wire_bytes < 0x1p62 ? (int64_t)wire_bytes : INT64_MAX;
    totals.step_us = totals.compute_us + totals.comm_us;
    plan->totals = totals;
}
