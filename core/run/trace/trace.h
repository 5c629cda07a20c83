/* trace.h - when each rank did what: the ops and steps of one pass, for timelines.
 *
 * The pass is the last that all ranks finished. Times are from its first start, on one clock for
 * all ranks; a step's wait is what its rank stood at the door until all had come. What a rank has
 * no part in, since it is of another stage or of a branch not taken, is 0 to 0. What stands in a
 * loop has the times of its last iteration; times by op and by reshard (run.h) are sums over all.
 */
#ifndef CORE_RUN_TRACE_TRACE_H
#define CORE_RUN_TRACE_TRACE_H

#include "core/run/program.h"

typedef struct {
    double start_us, end_us;
    double wait_us; /* of start_us on; 0 for ops */
} TraceSpan;

typedef struct {
    int32_t op, reshard; /* one of them; -1 */
    const Step *step;    /* of the reshard; NULL of an op */
} TraceWork;

typedef struct {
    int n_ranks, n; /* n: ops and steps, in program order */
    TraceWork *work;
    TraceSpan *span; /* rank by rank, n of each */
} Trace;

static inline const TraceSpan *trace_span(const Trace *trace, int rank, int i)
{
    return &trace->span[(int64_t)rank * trace->n + i];
}

/* Of spans by instruction of the program, an array a rank; in the arena. */
Trace *trace_make(Arena *arena, const Program *program, TraceSpan *const *spans, int n_ranks);

/* What a rank did in all. */
typedef struct {
    double compute_us, comm_us, wait_us, end_us;
} TraceTotals;

TraceTotals trace_totals(const Trace *trace, int rank);

#endif
