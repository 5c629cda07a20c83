/* calibrate.h - the numbers of a machine from what a run took.
 *
 * The formulas are those of cost.h and, for collectives, the ring of machine.h; each number is that
 * which fits the times of the ops it is in:
 *
 *     launch_us           the median time of ops that have next to nothing to do
 *     flops_per_s         of a type: the best rate of a matmul, work over time less the launch; of
 *                         types that were not measured none, so that they run as f32
 *     memory_bytes_per_s  the same of element-wise ops and copies
 *     matmul_share, memory_share, gather_share, vector_flops_per_s
 *                         in this order, of the rates that were measured the one under which the
 *                         median op of that work is least off
 *     latency_us, bytes_per_s
 *                         of a hop and of a link: least squares of the relative errors of all
 *                         steps, us = hops * latency_us + wire bytes / bytes_per_s, waiting left
 *                         out
 *
 * A number that no op tells stays as it was. What is fitted on one machine and number of ranks
 * holds there: ranks that share a memory or a network are slower the more they are.
 */
#ifndef CORE_RUN_CALIBRATE_H
#define CORE_RUN_CALIBRATE_H

#include "core/run/run.h"

/* How far predictions are from what was measured: the median of max(p/m, m/p), 1 or more. */
typedef struct {
    int n;
    double before, after;
} CalibrateFit;

typedef struct {
    CalibrateFit ops, reshards;
    bool has_launch, has_matmul, has_memory, has_vector, has_gather, has_link;
} Calibration;

/* *out begins as the plan's machine, without its Tuning where links are fitted. ERROR_USAGE: the
 * run has no op that takes time. */
bool calibrate(const Plan *plan, const RunReport *report, Machine *out, Calibration *said,
               Error *err);

#endif
