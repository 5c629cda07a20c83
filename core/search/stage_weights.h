/* stage_weights.h - what the time of each stage counts in a step under the schedule.
 *
 * A step takes as long as its longest path of blocks, each of which is a pass of a stage, and
 * behind the schedule the update of one stage:
 *
 *     step_us = max over paths of sum over stages (n_forward * forward_us + ..) + sends
 *               + max over stages of once_us
 *
 * The order of the blocks is the schedule's, so that the paths are the same for all plans on these
 * stages. Hence the numbers of blocks on any path are weights with which no plan costs more than
 * its step takes, and one whose longest path it is costs just that, but for sends and for what
 * traffic of parameters the ops hide (core/cost/streams.h): schedule_parts.h. The same holds for a
 * mean of several paths, which bounds better where several are equally long.
 */
#ifndef CORE_SEARCH_STAGE_WEIGHTS_H
#define CORE_SEARCH_STAGE_WEIGHTS_H

#include "core/plan/plan.h"

/* Blocks on the paths: forward, backward for the inputs, backward for the weights; updates. */
typedef struct {
    double forward, input, weight, once;
} StageWeight;

typedef struct {
    int n_stages, n_paths;
    StageWeight *stage; /* [n_stages]: sums over the paths */
    double sends_us;    /* likewise: what the paths wait for sends at least, however values lie */
} StageWeights;

/* NULL without a schedule. Of no path yet; in the arena. */
StageWeights *stage_weights_new(Arena *arena, const Plan *plan);

/* Adds the longest path of a plan on the same stages. */
void stage_weights_add(StageWeights *weights, const Plan *plan);

/* Whether moves of the value are traffic of parameters, which is joined (core/cost/streams.h). */
bool stage_weights_joins(const Plan *plan, int32_t tensor);

/* What every plan's step waits for sends at least, in microseconds: the mean of the paths. */
double stage_weights_sends_us(const StageWeights *weights);

/* What a microsecond of an op of the program counts: the mean of the paths. plan: one on these
 * stages. */
double stage_weights_of_op(const StageWeights *weights, const Plan *plan, int32_t op);

/* When a move of a value is made: for its readers of one phase, numbered as by plan_phase(); once
 * for readers of all phases, with the first; or behind its maker, whoever reads. */
enum { MOVE_FOR_ALL = 0, MOVE_BEHIND_MAKER = 2 + PHASE_UPDATE, N_MOVE_TIMES };

/* What a microsecond of a value's moves counts, by when they are made. least: at least so much in
 * every plan; 0 where they go to another stage, or are traffic of parameters that may run beside
 * ops. */
typedef struct {
    double weight[N_MOVE_TIMES], least[N_MOVE_TIMES];
} MoveWeights;

MoveWeights stage_weights_of_value(const StageWeights *weights, const Plan *plan, int32_t tensor);

/* When a reshard of a plan is made, as the plan's price has it (core/cost/pipeline.h). */
int stage_weights_time_of(const Plan *plan, const Reshard *reshard);

#endif
