/* step_comm.h - in which pass of a training step a reshard happens, and how often per step.
 *
 *     forward, backward   for each micro-batch; backward with what is made again
 *     update              once a step (reshard_is_of_update())
 *
 * In a forward plan all reshards are in the forward pass. How often: reshard_repeat() of cost.h,
 * times the micro-batches of a step unless it is in the update. Over all reshards, times * us for
 * one micro-batch sums to the collectives in Totals.comm_us.
 */
#ifndef CORE_COST_STEP_COMM_H
#define CORE_COST_STEP_COMM_H

#include "core/plan/plan.h"

/* ORDER COMM_PASS */
typedef enum { COMM_FORWARD, COMM_BACKWARD, COMM_UPDATE, COMM_PASS_COUNT } CommPass;

const char *comm_pass_name(CommPass pass); /* "forward" */
CommPass reshard_pass(const Plan *plan, const Reshard *reshard);
int plan_micro_batches(const Plan *plan); /* per step; 1 without stages */
double reshard_step_times(const Plan *plan, const Reshard *reshard);

/* The time of all reshards: by pass, for one micro-batch and for the update; and for a whole step.
 */
typedef struct {
    int n[COMM_PASS_COUNT];     /* reshards */
    double us[COMM_PASS_COUNT]; /* for one micro-batch; for the update, per step */
    int micro_batches;
    double step_us; /* micro_batches * (forward + backward) + update */
} CommPasses;

CommPasses comm_passes(const Plan *plan);

#endif
