/* calibrate.h - fits the numbers of a machine to the times of a run.
 *
 * The formulas are those of cost.h and, for collectives, the ring of machine.h. Each number is
 * fitted to the ops it occurs in:
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
 * A number that no op depends on stays as it was. Left out are the shares of special kernels
 * (attention, norms, functions, two-byte types), waves and matmul_us, which belong to another
 * machine. With tables of measured times (calibrate_tables()) the formulas serve only what no table
 * has. A fit holds for the machine and number of ranks it was made on: ranks that share memory or a
 * network slow each other down.
 */
#ifndef CORE_RUN_CALIBRATE_H
#define CORE_RUN_CALIBRATE_H

#include "core/reshard/measured.h"
#include "core/run/run.h"

/* How far predictions are from measurements: the median of max(p/m, m/p), which is at least 1. */
typedef struct {
    int n;
    double before, after;
} CalibrateFit;

typedef struct {
    CalibrateFit ops, reshards;
    bool has_launch, has_matmul, has_memory, has_vector, has_gather, has_link;
} Calibration;

/* *out starts as a copy of the plan's machine, without its Tuning if links are fitted. ERROR_USAGE
 * when no op of the run takes measurable time. */
bool calibrate(const Plan *plan, const RunReport *report, Machine *out, Calibration *fitted,
               Error *err);

/* A run of a plan, with its measured times. */
typedef struct {
    const Plan *plan;
    const RunReport *report;
} CalibratedRun;

/* The tables of core/reshard/measured.h from these runs: for each operator and element type the
 * median time of ops of equal sizes; for each kind of collective and number of ranks a
 * least-squares fit of the relative errors over all bytes. In the arena; names are the graphs'. */
const Measured *calibrate_tables(Arena *arena, const CalibratedRun *runs, int n);

#endif
