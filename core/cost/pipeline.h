/* pipeline.h - what stages take, and the schedule that works through the micro-batches of a step.
 *
 * The graph is one micro-batch. A step does it n_micro_batches times, in the order of the schedule.
 * There is no backward graph: a backward slot takes twice its stage's forward, three times where
 * all of it is computed again, and between for a part; nothing else of it is known.
 *
 *     forward_us  = compute_us + comm_us
 *     backward_us = 2 forward_us + again_us
 *
 * Stages meet on a lane of devices (schedule.h) where the parts of the mesh that they run on
 * overlap. A stage's devices are those of most of its ops.
 *
 * code              level     when
 * schedule          error     the schedule does not fit the stages
 * unbalanced        note      the slowest stage takes 1.2 times the mean or more
 */
#ifndef CORE_COST_PIPELINE_H
#define CORE_COST_PIPELINE_H

#include "core/plan/schedule.h"
#include "core/plan/stage.h"

typedef struct {
    double compute_us; /* of its ops, forward, one micro-batch; of loops all turns */
    double comm_us;    /* of the collectives on its devices, and inside its ops */
    double again_us;   /* of the ops that are computed again, and of the collectives they need */
    double receive_us; /* of what is sent to it */
    int64_t receive_bytes;
} StagePrice;

struct Pipeline {
    const StagePrice *stage; /* ORDER plan->decided->stages->at */
    const Lanes *lanes;
    const Schedule *table; /* timed; NULL if it does not fit the stages, as a finding says */
    double even_idle;      /* its bubble if all stages took equally long, and sending no time */
};

/* Prices the stages and times the schedule, in the plan's arena; needs op_us and reshards. NULL if
 * there are no stages. */
const Pipeline *pipeline_price(Plan *plan);

static inline double stage_forward_us(const StagePrice *stage)
{
    return stage->compute_us + stage->comm_us;
}

static inline double stage_backward_us(const StagePrice *stage)
{
    return 2 * stage_forward_us(stage) + stage->again_us;
}

/* The schedule of a step; NULL if there is none, or if it does not fit. */
static inline const Schedule *plan_schedule(const Plan *plan)
{
    return plan->priced->pipeline ? plan->priced->pipeline->table : NULL;
}

/* What a step takes: the schedule's time; without stages, totals.step_us. */
double plan_step_us(const Plan *plan);

/* "1f1b, 8 micro-batches on 4 stages: 1.2 ms, bubble 31.0%; stages that took equally long would
 * have 27.3% = (n-1)/(m+n-1)"; for a plan whose schedule does not fit, that. There are stages. */
void pipeline_explain(const Plan *plan, Buf *out);

/* That a backward slot counts by its forward, for whoever shows one. */
const char *pipeline_backward_note(void);

/* The stages that a reshard leaves and comes to, the same where nothing is sent; -1: nobody's. A
 * value that is handed on comes from a stage between its maker's and its reader's, or goes to one.
 * There are stages. */
void stage_ends(const Plan *plan, const Reshard *reshard, int *from, int *to);

#endif
