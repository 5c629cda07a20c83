#include "core/run/trace/trace_blocks.h"

#include "core/plan/schedule.h"
#include "core/run/trace/trace_event.h"

#include <stdlib.h>

typedef struct {
    double us, wait_us; /* of a block on a rank */
} BlockSum;

typedef struct {
    const Plan *plan;
    const Trace *trace;
    int pid;
    Json *events;
    int32_t *order; /* of a rank: its works in blocks, by time */
    BlockSum *sums; /* of a rank: per block */
    Arena *arena;
} BlocksWriting;

typedef struct {
    double start_us;
    int32_t work;
} Begun;

static int by_start(const void *a, const void *b)
{
    const Begun *x = a, *y = b;
    if (x->start_us != y->start_us)
        return x->start_us < y->start_us ? -1 : 1;
    return x->work < y->work ? -1 : x->work > y->work;
}

/* Fills order and sums for a rank; returns the number of works in order. */
static int follow(BlocksWriting *w, int rank)
{
    const Trace *trace = w->trace;
    Begun *begun = arena_array(w->arena, Begun, trace->n);
    int n = 0;

    memset(w->sums, 0, (size_t)trace->n_blocks * sizeof *w->sums);
    for (int i = 0; i < trace->n; i++) {
        const TraceSpan *span = trace_span(trace, rank, i);
        const TraceWork *work = &trace->work[i];
        bool sends = work->step && run_step_sends(work->step);
        if (work->block < 0 || span->end_us <= 0 || sends)
            continue;
        w->sums[work->block].us += span->end_us - span->start_us - span->wait_us;
        w->sums[work->block].wait_us += span->wait_us;
        begun[n++] = (Begun){span->start_us, i};
    }
    qsort(begun, (size_t)n, sizeof *begun, by_start);
    for (int i = 0; i < n; i++)
        w->order[i] = begun[i].work;
    return n;
}

static const char *block_pass_name(RunPass pass)
{
    return pass == RUN_UPDATE ? run_pass_name(pass) : schedule_pass_name((BlockPass)pass);
}

static const char *block_name(const BlocksWriting *w, const ProgramBlock *block)
{
    return block->micro_batch < 0
               ? block_pass_name(block->pass)
               : arena_printf(w->arena, "%s %d", block_pass_name(block->pass), block->micro_batch);
}

static void put_slice(const BlocksWriting *w, TraceSlice at, int32_t b)
{
    const ProgramBlock *block = &w->trace->blocks[b];
    Json *args = json_object();

    json_set_int(args, "stage", block->stage);
    if (block->micro_batch >= 0)
        json_set_int(args, "micro_batch", block->micro_batch);
    json_set_real(args, "us", w->sums[b].us);
    json_set_real(args, "wait_us", w->sums[b].wait_us);
    json_set_real(args, "predicted_us", block->predicted_us);
    trace_put_slice(w->events, at, str_from(block_name(w, block)), block_pass_name(block->pass),
                    args);
}

/* One slice for works in a row of one block. */
static void put_rank(BlocksWriting *w, int rank)
{
    int n = follow(w, rank);
    int64_t device = mesh_device(w->plan->mesh, rank);

    if (n == 0)
        return;
    int stage = w->trace->blocks[w->trace->work[w->order[0]].block].stage;
    trace_put_name(w->events, "thread_name", w->pid, device,
                   arena_printf(w->arena, "d%d, stage %d", (int)device, stage));
    trace_put_order(w->events, "thread_sort_index", w->pid, device, device);
    for (int i = 0, next; i < n; i = next) {
        int32_t block = w->trace->work[w->order[i]].block;
        double end_us = 0;
        for (next = i; next < n && w->trace->work[w->order[next]].block == block; next++)
            end_us = trace_span(w->trace, rank, w->order[next])->end_us;
        TraceSlice at = {w->pid, device,
                         trace_ns(trace_span(w->trace, rank, w->order[i])->start_us),
                         trace_ns(end_us)};
        put_slice(w, at, block);
    }
}

void trace_blocks_put(Arena *arena, const Plan *plan, const Trace *trace, int pid, Json *events)
{
    BlocksWriting w = {.plan = plan, .trace = trace, .pid = pid, .events = events, .arena = arena};

    if (trace->n_blocks == 0)
        return;
    w.order = arena_array(arena, int32_t, trace->n);
    w.sums = arena_array(arena, BlockSum, trace->n_blocks);
    trace_put_name(events, "process_name", pid, 0, "blocks of the step, measured");
    trace_put_order(events, "process_sort_index", pid, 0, pid);
    for (int r = 0; r < trace->n_ranks; r++)
        put_rank(&w, r);
}
