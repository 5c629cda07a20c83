/* estimate.h - how long a run takes on this machine and what memory it needs, before it starts.
 *
 * The ranks are threads of this machine, whose speed three short loops measure: a product by BLAS,
 * one by plain loops, and reading single elements. A pass takes
 *
 *     us = (flops / product rate + elements * ELEMENTS_OP * element_us) * ranks / cores
 *
 * A verifying pass runs each op whole several times more and compares all elements of its results,
 * on one thread. Before the passes, missing weights are drawn. Accurate to a factor of two or
 * three, enough to decide whether to wait: kernels differ, and other programs use the cores.
 */
#ifndef CORE_RUN_ESTIMATE_H
#define CORE_RUN_ESTIMATE_H

#include "core/run/run.h"
#include "core/session/session.h"

#define RUN_LONG_US 30e6 /* a run is announced if it takes longer */

typedef struct {
    double us, fixed_us;       /* fixed: the part for parameters, which does not depend on free
                                  dims */
    double bytes, fixed_bytes; /* of all ranks; with verify also of the whole graph */
    double machine_bytes;      /* 0: not known */
} RunEstimate;

/* For the host's runner. Measures the machine, for about 50 ms, unless the run would be short on
 * any machine. */
void run_estimate(const Plan *plan, const RunOptions *options, RunEstimate *out);

/* Only the memory; measures nothing. */
void run_estimate_memory(const Plan *plan, const RunOptions *options, RunEstimate *out);

/* ERROR_USAGE if the run needs more memory than the machine has; the hint says which sizes of the
 * session's free dims fit. session: NULL if there is none. */
bool run_estimate_fits(const Session *session, const RunEstimate *estimate, Error *err);

/* "about 2.1 h on this machine, 40.0 GiB" */
void run_estimate_put(const RunEstimate *estimate, Buf *out);

/* Sizes of the session's free dims with which a run takes less than half of RUN_LONG_US and fits:
 * the largest size is halved repeatedly. Returns "batch=8,seq=64" with their estimate, or NULL if
 * no sizes are small enough. */
const char *run_estimate_smaller(Arena *arena, const Session *session, const RunEstimate *estimate,
                                 RunEstimate *smaller);

#endif
