#include "core/run/trace/trace_schedule.h"

#include "core/cost/slot_pieces.h"
#include "core/run/trace/trace_event.h"
#include "core/run/trace/trace_modules.h"

enum { INSIDE_MOST = 50000 }; /* slices inside blocks */

/* What fills a block of a stage. */
typedef struct {
    SlotPieces pieces;
    double *start_us;     /* per piece, from the begin of the block, and one more */
    TraceModules modules; /* first, last: pieces */
} Filled;

typedef struct {
    Arena *arena;
    const Plan *plan;
    const Schedule *table;
    const Lanes *lanes;
    int pid;
    int64_t first_flow;
    Json *events;
    Filled *filled; /* per stage and pass */
    int32_t
        *block[2]; /* per stage and micro-batch: the block of its forward, of its backward; -1 */
    bool inside;   /* modules and collectives are few enough */
} ScheduleWriting;

/* ---- what fills blocks ---- */

static Filled fill(Arena *arena, const Plan *plan, int stage, BlockPass pass)
{
    Filled out = {.pieces = slot_pieces(arena, plan, stage, pass)};
    int *place = arena_array(arena, int, out.pieces.n + 1), n = 0;
    int32_t *op = arena_array(arena, int32_t, out.pieces.n + 1);

    out.start_us = arena_array(arena, double, out.pieces.n + 1);
    for (int i = 0; i < out.pieces.n; i++) {
        const SlotPiece *piece = &out.pieces.piece[i];
        out.start_us[i + 1] = out.start_us[i] + piece->us;
        if (piece->op) {
            place[n] = i;
            op[n++] = piece->of;
        }
    }
    out.modules = trace_modules(arena, plan->inferred->graph, op, n);
    for (int i = 0; i < out.modules.n; i++) {
        out.modules.at[i].first = place[out.modules.at[i].first];
        out.modules.at[i].last = place[out.modules.at[i].last];
    }
    return out;
}

static const Filled *filled_of(const ScheduleWriting *w, const Block *block)
{
    return &w->filled[block->stage * N_BLOCK_PASSES + block->pass];
}

static void fill_all(ScheduleWriting *w)
{
    int64_t n = 0;

    w->filled = arena_array(w->arena, Filled, (int64_t)w->table->n_stages * N_BLOCK_PASSES);
    for (int s = 0; s < w->table->n_stages; s++)
        for (int pass = 0; pass < N_BLOCK_PASSES; pass++)
            w->filled[s * N_BLOCK_PASSES + pass] = fill(w->arena, w->plan, s, (BlockPass)pass);
    for (int b = 0; b < w->table->n_blocks; b++)
        n += filled_of(w, &w->table->block[b])->modules.n;
    w->inside = n <= INSIDE_MOST;
}

/* ---- flows ---- */

static int32_t *block_of(const ScheduleWriting *w, int stage, int micro_batch, bool backward)
{
    return &w->block[backward][(int64_t)stage * w->table->n_micro_batches + micro_batch];
}

static void find_blocks(ScheduleWriting *w)
{
    int64_t n = (int64_t)w->table->n_stages * w->table->n_micro_batches;

    for (int k = 0; k < 2; k++) {
        w->block[k] = arena_array(w->arena, int32_t, n);
        for (int64_t i = 0; i < n; i++)
            w->block[k][i] = -1;
    }
    for (int b = 0; b < w->table->n_blocks; b++) {
        const Block *block = &w->table->block[b];
        if (block->pass != BLOCK_WEIGHT && block->micro_batch < w->table->n_micro_batches)
            *block_of(w, block->stage, block->micro_batch, block->backward) = b;
    }
}

/* The block of the next stage in its pass, or of the one before; -1. */
static int32_t neighbour(const ScheduleWriting *w, const Block *block, int by)
{
    int stage = block->stage + (block->backward ? -by : by);

    if (block->pass == BLOCK_WEIGHT || stage < 0 || stage >= w->table->n_stages ||
        block->micro_batch >= w->table->n_micro_batches)
        return -1;
    return *block_of(w, stage, block->micro_batch, block->backward);
}

/* ---- slices ---- */

static const char *devices_text(const ScheduleWriting *w, int lane)
{
    Buf text = buf_new(w->arena);
    int n = 0;

    for (int s = 0; s < w->table->n_stages; s++)
        for (int32_t i = w->lanes->first[s]; i < w->lanes->first[s + 1]; i++)
            if (w->lanes->lane[i] == lane)
                buf_printf(&text, n++ == 0 ? "stage %d" : ", %d", s);
    return n > 0 ? text.s : arena_printf(w->arena, "lane %d", lane);
}

static void put_modules(const ScheduleWriting *w, TraceSlice at, const Filled *filled,
                        double start_us)
{
    for (int m = 0; m < filled->modules.n; m++) {
        const TraceModule *module = &filled->modules.at[m];
        double us = filled->start_us[module->last + 1] - filled->start_us[module->first];
        Json *args = json_object();
        TraceSlice inside = at;
        inside.start_ns = trace_ns(start_us + filled->start_us[module->first]);
        inside.end_ns = trace_ns(start_us + filled->start_us[module->last + 1]);
        json_set_real(args, "us", us);
        trace_put_around(w->events, inside, module->path, "module", args);
    }
}

static void put_collectives(const ScheduleWriting *w, TraceSlice at, const Filled *filled,
                            double start_us)
{
    at.tid++;
    for (int i = 0; i < filled->pieces.n; i++) {
        const SlotPiece *piece = &filled->pieces.piece[i];
        Buf name = buf_new(w->arena);
        if (piece->op)
            continue;
        Json *args = json_object();
        buf_puts(&name, piece->kind < 0 ? "inside an op" : step_kind_mark((StepKind)piece->kind));
        buf_puts(&name, piece->atoms ? " " : "");
        mesh_format_set(w->plan->mesh, piece->atoms, ".", &name);
        at.start_ns = trace_ns(start_us + filled->start_us[i]);
        at.end_ns = trace_ns(start_us + filled->start_us[i + 1]);
        json_set_real(args, "us", piece->us);
        trace_put_slice(w->events, at, buf_str(&name), "collective", args);
    }
}

static void put_block(const ScheduleWriting *w, int32_t b, int32_t lane, bool first)
{
    const Block *block = &w->table->block[b];
    const char *pass = schedule_pass_name((BlockPass)block->pass);
    TraceSlice at = {w->pid, 2 * lane, trace_ns(block->start_us), trace_ns(block->end_us)};
    Json *args = json_object();

    json_set_int(args, "stage", block->stage);
    json_set_int(args, "micro_batch", block->micro_batch);
    json_set_int(args, "step", block->step);
    json_set_real(args, "us", block->end_us - block->start_us);
    trace_put_around(w->events, at,
                     str_from(arena_printf(w->arena, "%s %d", pass, block->micro_batch)), pass,
                     args);
    if (first && neighbour(w, block, -1) >= 0)
        trace_put_flow_in(w->events, at, w->first_flow + neighbour(w, block, -1));
    if (first && neighbour(w, block, 1) >= 0)
        trace_put_flow_out(w->events, at, w->first_flow + b);
    if (w->inside)
        put_modules(w, at, filled_of(w, block), block->start_us);
    put_collectives(w, at, filled_of(w, block), block->start_us);
}

void trace_schedule_put(Arena *arena, const Plan *plan, int pid, int64_t first_flow, Json *events)
{
    ScheduleWriting w = {.arena = arena,
                         .plan = plan,
                         .table = plan_schedule(plan),
                         .pid = pid,
                         .first_flow = first_flow,
                         .events = events};

    if (!w.table)
        return;
    w.lanes = plan->priced->pipeline->lanes;
    fill_all(&w);
    find_blocks(&w);
    const char *name = arena_printf(arena, "schedule %s, predicted", w.table->name);
    trace_put_name(events, "process_name", pid, 0, name);
    trace_put_order(events, "process_sort_index", pid, 0, pid);
    for (int lane = 0; lane < w.lanes->n; lane++) {
        const char *devices = devices_text(&w, lane);
        trace_put_name(events, "thread_name", pid, 2 * lane, devices);
        trace_put_name(events, "thread_name", pid, 2 * lane + 1,
                       arena_printf(arena, "%s collectives", devices));
        trace_put_order(events, "thread_sort_index", pid, 2 * lane, 2 * lane);
        trace_put_order(events, "thread_sort_index", pid, 2 * lane + 1, 2 * lane + 1);
    }
    for (int32_t b = 0; b < w.table->n_blocks; b++) {
        int stage = w.table->block[b].stage;
        for (int32_t i = w.lanes->first[stage]; i < w.lanes->first[stage + 1]; i++)
            put_block(&w, b, w.lanes->lane[i], i == w.lanes->first[stage]);
    }
}
