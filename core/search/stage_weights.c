#include "core/search/stage_weights.h"

#include "core/cost/gradient_reduces.h"
#include "core/cost/pipeline.h"
#include "core/plan/stage.h"

#include <math.h>

StageWeights *stage_weights_new(Arena *arena, const Plan *plan)
{
    if (!plan_schedule(plan))
        return NULL;
    StageWeights *out = arena_make(arena, StageWeights);
    out->n_stages = plan->decided->stages->n;
    out->stage = arena_array(arena, StageWeight, out->n_stages);
    return out;
}

static void add_block(StageWeights *weights, const Block *block)
{
    StageWeight *at = &weights->stage[block->stage];
    at->forward += block->pass == BLOCK_FORWARD;
    at->input += block->pass == BLOCK_BACKWARD || block->pass == BLOCK_INPUT;
    at->weight += block->pass == BLOCK_BACKWARD || block->pass == BLOCK_WEIGHT;
}

void stage_weights_add(StageWeights *weights, const Plan *plan)
{
    const Schedule *table = plan_schedule(plan);
    const StagePrice *price = plan->priced->pipeline->stage;
    int32_t at = -1;
    int once = 0;
    if (!table || table->n_stages != weights->n_stages)
        return;
    for (int32_t i = 0; i < table->n_blocks; i++)
        at = at < 0 || table->block[i].end_us > table->block[at].end_us ? i : at;
    for (; at >= 0; at = table->block[at].after) {
        const Block *block = &table->block[at];
        add_block(weights, block);
        if (block->pair >= 0)
            add_block(weights, &table->block[block->pair]);
    }
    for (int s = 1; s < weights->n_stages; s++)
        once = price[s].once_us > price[once].once_us ? s : once;
    weights->stage[once].once++;
    weights->n_paths++;
}

/* Of a forward plan the backward pass is twice its forward, and what runs again (pipeline.h). */
double stage_weights_of_op(const StageWeights *weights, const Plan *plan, int32_t op)
{
    int s = stage_of(plan, op);
    if (s < 0 || weights->n_paths == 0)
        return 0;
    const StageWeight *at = &weights->stage[s];
    double sum = op_runs_once(plan, op)                      ? at->once
                 : plan_phase(plan, op) <= 1 + PHASE_FORWARD ? at->forward
                 : op_makes_weights(plan, op)                ? at->weight
                                                             : at->input;
    if (!plan->inferred->forward)
        sum += at->input * (recompute_group(plan, op) >= 0 ? 2 : 1) + at->weight;
    return sum / weights->n_paths;
}

bool stage_weights_joins(const Plan *plan, int32_t tensor)
{
    int32_t maker = plan->inferred->graph->tensors[tensor].maker;
    if (gradient_is_of_parameters(plan, tensor))
        return true;
    return maker < 0 ? tensor_is_parameter(plan->inferred, tensor)
                     : plan->inferred->on_parameters[maker] ||
                           plan_phase(plan, maker) == 1 + PHASE_UPDATE;
}

double stage_weights_of_value(const StageWeights *weights, const Plan *plan, int32_t tensor,
                              bool least)
{
    const Inferred *inferred = plan->inferred;
    int32_t maker = inferred->graph->tensors[tensor].maker;
    const int32_t *use = inferred->graph->uses + inferred->graph->tensors[tensor].use;
    double sum = 0, low = INFINITY;
    int n = 0;
    if (least && stage_weights_joins(plan, tensor) && plan->decided->stages->overlap != PASS_NONE)
        return 0;
    const Machine *machine = NULL;
    for (int u = 0; u < tensor_n_uses(inferred->graph, tensor); u++) {
        if (inferred_is_host(inferred, use[u]))
            continue;
        double weight = stage_weights_of_op(weights, plan, use[u]);
        const Machine *on = plan_machine_of(plan, plan_devices(plan, use[u]));
        if (maker < 0 && machine && on != machine)
            low = 0; /* read on devices of two kinds, of which one tells the price */
        machine = on;
        bool sent = maker >= 0 && stage_of(plan, maker) != stage_of(plan, use[u]);
        low = fmin(low, sent ? 0 : weight);
        sum += weight;
        n++;
    }
    if (n == 0)
        return maker < 0 ? 0 : stage_weights_of_op(weights, plan, maker);
    return least ? low : sum / n;
}
