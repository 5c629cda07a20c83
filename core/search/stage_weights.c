#include "core/search/stage_weights.h"

#include "core/cost/gradient_reduces.h"
#include "core/cost/pipeline.h"
#include "core/cost/step_comm.h"
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

/* ---- sends ---- */

/* The least that a stage's sends take, whatever is sharded how: each device receives its share. */
typedef struct {
    double receive_us, return_us;
} LeastSends;

typedef struct {
    const Plan *plan;
    const Reshard *reshard;
    LeastSends *stage;
} SendVisit;

static void add_send(void *context, const PricedStep *step)
{
    const SendVisit *visit = context;
    double us = step->times * visit->reshard->path->bound_us;
    if (step->when == WHEN_RECEIVED)
        visit->stage[step->stage].receive_us += us;
    else if (step->when == WHEN_RETURNED)
        visit->stage[step->stage].return_us += us;
}

/* Whether another reshard before it sends the value between the same devices: how many there are
 * depends on how readers shard it. */
static bool is_sent_before(const Plan *plan, int r)
{
    const Reshard *all = plan->moved->reshards;
    for (int i = r - 1; i >= 0 && all[i].tensor == all[r].tensor; i--)
        if (all[i].from_devices == all[r].from_devices && all[i].to_devices == all[r].to_devices)
            return true;
    return false;
}

static LeastSends *least_sends(Arena *scratch, const Plan *plan)
{
    LeastSends *out = arena_array(scratch, LeastSends, plan->decided->stages->n);
    for (int r = 0; r < plan->moved->n_reshards; r++) {
        const Reshard *at = &plan->moved->reshards[r];
        if (at->from_devices != at->to_devices && !is_sent_before(plan, r))
            pipeline_visit_steps(plan, at, add_send, &(SendVisit){plan, at, out});
    }
    for (int s = 0; !plan->inferred->forward && s < plan->decided->stages->n; s++)
        out[s].return_us = out[s].receive_us; /* as pipeline.h has it of forward plans */
    return out;
}

/* What a block waits for the send of what it needs, of a plan on whose longest path it is. */
static double awaited_us(const Schedule *table, const Block *block, const LeastSends *least)
{
    const Block *before = block->after < 0 ? NULL : &table->block[block->after];
    if (!before || block->start_us <= before->end_us)
        return 0; /* it waited for its lane */
    return block->backward ? least[before->stage].return_us : least[block->stage].receive_us;
}

/* ---- paths ---- */

void stage_weights_add(StageWeights *weights, const Plan *plan)
{
    const Schedule *table = plan_schedule(plan);
    const StagePrice *price = plan->priced->pipeline->stage;
    if (!table || table->n_stages != weights->n_stages)
        return;
    Arena *scratch = arena_new();
    const LeastSends *least = least_sends(scratch, plan);
    int once = 0;
    for (int32_t at = schedule_last(table); at >= 0; at = table->block[at].after) {
        const Block *block = &table->block[at];
        add_block(weights, block);
        if (block->pair >= 0)
            add_block(weights, &table->block[block->pair]);
        weights->sends_us += awaited_us(table, block, least);
    }
    for (int s = 1; s < weights->n_stages; s++)
        once = price[s].once_us > price[once].once_us ? s : once;
    weights->stage[once].once++;
    weights->n_paths++;
    arena_free(scratch);
}

double stage_weights_sends_us(const StageWeights *weights)
{
    return weights->n_paths > 0 ? weights->sends_us / weights->n_paths : 0;
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

/* Joined traffic of the backward pass is part of what the stage before waits for, whatever op it
 * is for (core/cost/streams.h). */
static double weight_of_moves(const StageWeights *weights, const Plan *plan, int32_t op, bool joins)
{
    int s = stage_of(plan, op);
    bool of_weights =
        joins && s >= 0 && plan_phase(plan, op) == 1 + PHASE_BACKWARD && !op_runs_once(plan, op);
    return of_weights ? weights->stage[s].input / weights->n_paths
                      : stage_weights_of_op(weights, plan, op);
}

/* A parameter's gradient that is stored sharded is reduced for each micro-batch, a single one with
 * the update. */
static double weight_behind(const StageWeights *weights, const Plan *plan, int32_t tensor)
{
    int32_t maker = plan->inferred->graph->tensors[tensor].maker;
    int s = maker < 0 ? -1 : stage_of(plan, maker);
    if (s < 0)
        return 0;
    if (gradient_is_of_parameters(plan, tensor) && plan_micro_batches(plan) == 1)
        return weights->stage[s].once / weights->n_paths;
    return weight_of_moves(weights, plan, maker, stage_weights_joins(plan, tensor));
}

MoveWeights stage_weights_of_value(const StageWeights *weights, const Plan *plan, int32_t tensor)
{
    const Inferred *inferred = plan->inferred;
    int32_t maker = inferred->graph->tensors[tensor].maker;
    const int32_t *use = inferred->graph->uses + inferred->graph->tensors[tensor].use;
    bool joins = stage_weights_joins(plan, tensor);
    bool hidden = joins && plan->decided->stages->overlap != PASS_NONE;
    const Machine *machine = NULL;
    MoveWeights out = {0};
    int n[N_MOVE_TIMES] = {0}, first = N_MOVE_TIMES;
    double least = INFINITY;
    for (int u = 0; u < tensor_n_uses(inferred->graph, tensor); u++) {
        if (inferred_is_host(inferred, use[u]))
            continue;
        int phase = plan_phase(plan, use[u]);
        double weight = weight_of_moves(weights, plan, use[u], joins), low = weight;
        const Machine *on = plan_machine_of(plan, plan_devices(plan, use[u]));
        if (maker < 0 && machine && on != machine)
            low = 0; /* read on devices of two kinds, of which one tells the price */
        machine = on;
        if (hidden || (maker >= 0 && stage_of(plan, maker) != stage_of(plan, use[u])))
            low = 0;
        out.weight[phase] += weight;
        out.least[phase] = n[phase] == 0 ? low : fmin(out.least[phase], low);
        least = fmin(least, low);
        first = phase < first ? phase : first;
        n[phase]++;
    }
    for (int t = 0; t < N_MOVE_TIMES; t++)
        out.weight[t] /= n[t] > 0 ? n[t] : 1;
    out.weight[MOVE_BEHIND_MAKER] = weight_behind(weights, plan, tensor);
    out.least[MOVE_BEHIND_MAKER] = hidden ? 0 : out.weight[MOVE_BEHIND_MAKER];
    if (first < N_MOVE_TIMES) {
        out.weight[MOVE_FOR_ALL] = out.weight[first];
        out.least[MOVE_FOR_ALL] = least;
    }
    return out;
}

int stage_weights_time_of(const Plan *plan, const Reshard *reshard)
{
    return reshard->n_uses > 0 ? plan_phase(plan, plan->moved->reshard_uses[reshard->use])
                               : MOVE_BEHIND_MAKER;
}
