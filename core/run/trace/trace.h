/* trace.h - when each rank executed the ops and steps of one pass, for timelines.
 *
 * The pass is the last one that all ranks finished. Times are relative to its start, on one clock
 * for all ranks; wait is the time a step waited for other ranks. Instructions of another stage or
 * an untaken branch are 0 to 0. In a loop the last iteration counts; times by op and by reshard
 * (run.h) are sums over all.
 */
#ifndef CORE_RUN_TRACE_TRACE_H
#define CORE_RUN_TRACE_TRACE_H

#include "core/run/program.h"

typedef struct {
    double start_us, end_us;
    double wait_us; /* at the start; 0 for ops */
} TraceSpan;

typedef struct {
    int32_t op, reshard; /* one of them; -1 */
    const Step *step;    /* of the reshard; NULL of an op */
    int32_t block;       /* of a training step: blocks.h; -1 */
} TraceWork;

typedef struct {
    int n_ranks, n; /* n: ops and steps, in program order */
    TraceWork *work;
    int n_blocks; /* of a training step; 0: a forward pass */
    ProgramBlock *blocks;
    TraceSpan *span; /* rank by rank, n of each */
} Trace;

static inline const TraceSpan *trace_span(const Trace *trace, int rank, int i)
{
    return &trace->span[(int64_t)rank * trace->n + i];
}

/* From spans by instruction of the program, an array per rank; in the arena. */
Trace *trace_make(Arena *arena, const Program *program, TraceSpan *const *spans, int n_ranks);

/* Total times of a rank. */
typedef struct {
    double compute_us, comm_us, wait_us, end_us;
} TraceTotals;

TraceTotals trace_totals(const Trace *trace, int rank);

#endif
