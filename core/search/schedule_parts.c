#include "core/search/schedule_parts.h"

#include "core/cost/cost.h"
#include "core/cost/op_declared.h"
#include "core/cost/pipeline.h"
#include "core/cost/streams.h"
#include "core/search/stage_weights.h"

/* What is summed, with the weights of the plan's own path. */
typedef struct {
    const Plan *plan;
    const StageWeights *weights;
    const Reshard *reshard;
    double weight;       /* what the search counts of its moves */
    double traffic_us;   /* of the moves of parameters by the search */
    double moves_us;     /* of other moves by the search */
    double in_stages_us; /* of these as the stages have them */
} Summing;

static bool is_send(const Step *step)
{
    return step->kind == STEP_SEND || step->kind == STEP_BROADCAST;
}

/* How many blocks of the path a step counts in. */
static double blocks_of(const Summing *sum, const PricedStep *step)
{
    const StageWeight *at = &sum->weights->stage[step->stage];
    if (step->when == WHEN_ONCE)
        return at->once;
    if (step->when == WHEN_FORWARD)
        return sum->plan->inferred->forward
                   ? at->forward
                   : at->forward + at->weight + at->input * (step->again ? 2 : 1);
    return op_makes_weights(sum->plan, step->for_op) ? at->weight : at->input;
}

static void add_step(void *context, const PricedStep *step)
{
    Summing *sum = context;
    if (is_send(step->step))
        return;
    if (streams_have(sum->plan, sum->reshard, step)) {
        sum->traffic_us += sum->weight * step->us;
        return;
    }
    sum->moves_us += sum->weight * step->us;
    sum->in_stages_us += blocks_of(sum, step) * step->us;
}

/* Whether the search counts nothing for it: a value that keeps its sharding, and is only scattered
 * to be sent, or one that another reshard moves to the same sharding for ops of another stage. */
static bool is_not_counted(const Plan *plan, int r)
{
    const Reshard *all = plan->moved->reshards;
    if (all[r].from == all[r].to)
        return true;
    int time = stage_weights_time_of(plan, &all[r]);
    for (int i = r - 1; i >= 0 && all[i].tensor == all[r].tensor; i--)
        if (all[i].from == all[r].from && all[i].to == all[r].to &&
            stage_weights_time_of(plan, &all[i]) == time)
            return true;
    return false;
}

static void add_moves(Summing *sum)
{
    for (int r = 0; r < sum->plan->moved->n_reshards; r++) {
        sum->reshard = &sum->plan->moved->reshards[r];
        MoveWeights of = stage_weights_of_value(sum->weights, sum->plan, sum->reshard->tensor);
        sum->weight = is_not_counted(sum->plan, r)
                          ? 0
                          : of.weight[stage_weights_time_of(sum->plan, sum->reshard)];
        pipeline_visit_steps(sum->plan, sum->reshard, add_step, sum);
    }
}

static double ops_us(const Plan *plan, const StageWeights *weights)
{
    double us = 0;
    for (int i = 0; i < plan->inferred->n_program; i++) {
        int32_t op = plan->inferred->program[i];
        us += stage_weights_of_op(weights, plan, op) *
              (plan->priced->op_us[op] + op_comm_us(plan, op));
    }
    return us;
}

/* What ops of the path wait for traffic of parameters. */
static double traffic_us(const Plan *plan, const StageWeights *weights)
{
    const Streams *streams = plan->priced->pipeline->streams;
    double us = 0;
    for (int i = 0; i < streams->n; i++) {
        const StageWeight *at = &weights->stage[streams->at[i].stage];
        When when = streams->at[i].when;
        us += streams->at[i].exposed_us * (when == WHEN_ONCE       ? at->once
                                           : when == WHEN_BACKWARD ? at->input
                                                                   : at->forward);
    }
    return us;
}

/* What the blocks of the longest path wait for after the block before them. */
static double waits_us(const Schedule *table)
{
    double us = 0;
    for (int32_t at = schedule_last(table); at >= 0; at = table->block[at].after) {
        int32_t before = table->block[at].after;
        us += table->block[at].start_us - (before < 0 ? 0 : table->block[before].end_us);
    }
    return us;
}

ScheduleParts schedule_parts(const Plan *plan)
{
    Arena *scratch = arena_new();
    ScheduleParts out = {.model_us = plan_step_us(plan)};
    StageWeights *weights = stage_weights_new(scratch, plan);
    if (weights) {
        stage_weights_add(weights, plan);
        Summing sum = {.plan = plan, .weights = weights};
        add_moves(&sum);
        out.model_us = ops_us(plan, weights) + sum.moves_us + sum.traffic_us;
        out.sends_us = waits_us(plan_schedule(plan));
        out.beside_us = sum.in_stages_us - sum.moves_us;
        out.joined_us = sum.traffic_us - traffic_us(plan, weights);
    }
    arena_free(scratch);
    return out;
}
