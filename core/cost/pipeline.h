/* pipeline.h - stage times, and the schedule of a step's micro-batches.
 *
 * The graph is one micro-batch. A step runs it n_micro_batches times, in the order of the schedule.
 * In a training step the backward pass consists of ops of its own, and what happens once a step
 * (gradients of parameters are reduced, parameters updated) follows the schedule:
 *
 *     forward_us  = compute_us + comm_us
 *     backward_us = its ops and their collectives, with what is made again; of gathers of
 * parameters and reductions of their gradients what streams.h says; a split backward leaves
 *                   weight_us, the ops that make gradients of parameters alone
 *     step        = the schedule + the most once_us of a stage
 *
 * A forward plan knows nothing about the backward pass: backward_us is 2 forward_us + again_us, and
 * weight_us is forward_us; again_us is then the forward time of recomputed ops.
 *
 * Stages share a lane of devices (schedule.h) if the parts of the mesh that they run on overlap. A
 * stage's devices are those of most of its ops.
 *
 * code              level     when
 * schedule          error     the schedule does not fit the stages
 * unbalanced        note      the slowest stage takes 1.2 times the mean or more
 */
#ifndef CORE_COST_PIPELINE_H
#define CORE_COST_PIPELINE_H

#include "core/plan/plan.h"
#include "core/plan/schedule.h"

typedef struct {
    double compute_us; /* its ops, forward, for one micro-batch; loops with all iterations */
    double comm_us;    /* collectives on its devices, and inside its ops */
    double again_us;   /* ops that run again, and the collectives they need; in a training step
                          part of backward_us */
    double receive_us; /* sending values of the forward pass to it */
    bool trains;       /* the next four are for training steps only */
    double backward_us, weight_us, once_us;
    double return_us; /* sending from it the values that the backward pass of earlier stages
                         needs */
    int64_t receive_bytes;
} StagePrice;

struct Pipeline {
    const struct Streams *streams; /* streams.h: traffic of parameters, part of the stages' times */
    const StagePrice *stage;       /* the same order as plan->decided->stages->at */
    const Lanes *lanes;
    const Schedule *table; /* timed; NULL if it does not fit the stages, which is a finding */
    double even_idle;      /* its bubble if all stages took equally long and sending took no time */
};

/* Computes stage times and the schedule, in the plan's arena; needs op_us and reshards. NULL
 * without stages. */
const Pipeline *pipeline_price(Plan *plan);

static inline double stage_forward_us(const StagePrice *stage)
{
    return stage->compute_us + stage->comm_us;
}

static inline double stage_backward_us(const StagePrice *stage)
{
    return stage->trains ? stage->backward_us : 2 * stage_forward_us(stage) + stage->again_us;
}

static inline double stage_return_us(const StagePrice *stage)
{
    return stage->trains ? stage->return_us : stage->receive_us;
}

static inline double stage_weight_us(const StagePrice *stage)
{
    return stage->trains ? stage->weight_us : stage_forward_us(stage);
}

/* Whether a backward op serves only gradients of parameters and its stage, so that a split backward
 * may run it later. */
bool op_makes_weights(const Plan *plan, int32_t op);

/* The schedule of a step; NULL if there is none, or if it does not fit. */
static inline const Schedule *plan_schedule(const Plan *plan)
{
    return plan->priced->pipeline ? plan->priced->pipeline->table : NULL;
}

/* Whether the schedule trains but the graph is forward only: memory and time of gradients and
 * optimizer states are then not counted. */
static inline bool plan_counts_forward_only(const Plan *plan)
{
    return plan_schedule(plan) && plan_schedule(plan)->trains && !plan->inferred->forward;
}

/* The time of a step: that of the schedule or, without stages, totals.step_us. */
double plan_step_us(const Plan *plan);

/* "1f1b, 8 micro-batches on 4 stages: 1.2 ms, bubble 31.0%; stages that took equally long would
 * have 27.3% = (n-1)/(m+n-1)"; says so if the schedule does not fit. Only for plans with stages. */
void pipeline_explain(const Plan *plan, Buf *out);

/* Explains in words where the times of backward slots come from. */
const char *pipeline_backward_note(const Plan *plan);

/* ORDER WHEN: for each micro-batch, in its forward or its backward pass; sent to a stage before its
 * forward pass, or from a stage for the backward pass of an earlier one; once a step, after the
 * schedule. */
typedef enum { WHEN_FORWARD, WHEN_BACKWARD, WHEN_RECEIVED, WHEN_RETURNED, WHEN_ONCE } When;

/* A step of a reshard, and where in the schedule it counts. */
typedef struct {
    const Step *step;
    When when;
    int stage;        /* the stage whose time it takes: before a send, and for one that is
                         returned, the sender's; 0 without stages */
    int32_t for_op;   /* the op that waits for it; if none reads it, its value's maker */
    bool again;       /* it serves an op of a forward plan that runs again in the backward pass */
    double times, us; /* how often a micro-batch, or a step, runs it; the total time */
} PricedStep;
typedef void PricedStepVisit(void *context, const PricedStep *step);

/* Visits the steps of a reshard; none if neither end of it is in a stage. */
void pipeline_visit_steps(const Plan *plan, const Reshard *reshard, PricedStepVisit *visit,
                          void *context);

/* The stages between which a reshard moves a value, equal if nothing is sent; -1 if an end is in no
 * stage. A relayed value comes from, or goes to, a stage between its maker's and its reader's. Only
 * for plans with stages. */
void stage_ends(const Plan *plan, const Reshard *reshard, int *from, int *to);

#endif
