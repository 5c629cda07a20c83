#include "core/run/trace/trace.h"

#include <math.h>

static bool takes_time(const Instr *instr)
{
    return instr->kind == INSTR_OP || instr->kind == INSTR_STEP;
}

/* Whether the rank executed it. */
static bool was_done(const TraceSpan *span)
{
    return span->end_us > 0;
}

static double first_start(const Trace *trace)
{
    int64_t n = (int64_t)trace->n * trace->n_ranks;
    double first = INFINITY;
    for (int64_t i = 0; i < n; i++)
        if (was_done(&trace->span[i]) && trace->span[i].start_us < first)
            first = trace->span[i].start_us;
    return first;
}

Trace *trace_make(Arena *arena, const Program *program, TraceSpan *const *spans, int n_ranks)
{
    Trace *trace = arena_make(arena, Trace);
    *trace = (Trace){.n_ranks = n_ranks};
    for (int i = program->n_once; i < program->n_instrs; i++)
        trace->n += takes_time(&program->instrs[i]);
    trace->work = arena_array(arena, TraceWork, trace->n);
    trace->n_blocks = program->n_blocks;
    trace->blocks = arena_array(arena, ProgramBlock, program->n_blocks);
    for (int i = 0; i < program->n_blocks; i++)
        trace->blocks[i] = program->blocks[i];
    trace->span = arena_array(arena, TraceSpan, (int64_t)trace->n * n_ranks);
    for (int i = program->n_once, at = 0; i < program->n_instrs; i++) {
        const Instr *instr = &program->instrs[i];
        if (!takes_time(instr))
            continue;
        bool op = instr->kind == INSTR_OP;
        trace->work[at] =
            (TraceWork){op ? instr->op : -1, op ? -1 : instr->reshard, op ? NULL : instr->step,
                        program->n_blocks > 0 ? program->block_of[i] : -1};
        for (int r = 0; r < n_ranks; r++)
            trace->span[(int64_t)r * trace->n + at] = spans[r][i];
        at++;
    }
    double first = first_start(trace);
    for (int64_t i = 0; i < (int64_t)trace->n * n_ranks; i++) {
        if (!was_done(&trace->span[i]))
            continue;
        trace->span[i].start_us -= first;
        trace->span[i].end_us -= first;
    }
    return trace;
}

TraceTotals trace_totals(const Trace *trace, int rank)
{
    TraceTotals totals = {0};
    for (int i = 0; i < trace->n; i++) {
        const TraceSpan *span = trace_span(trace, rank, i);
        double us = span->end_us - span->start_us - span->wait_us;
        *(trace->work[i].op >= 0 ? &totals.compute_us : &totals.comm_us) += us;
        totals.wait_us += span->wait_us;
        if (span->end_us > totals.end_us)
            totals.end_us = span->end_us;
    }
    return totals;
}
