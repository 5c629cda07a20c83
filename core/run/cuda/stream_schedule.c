#include "core/run/cuda/stream_schedule.h"

#include "core/base/vec.h"

#include <stdlib.h>

/* A buffer, live from one instruction to another, both included. */
typedef struct {
    int first, last;
    int32_t slot; /* -1: scratch */
    int64_t bytes, place;
    int last_use[LANES]; /* per lane: last instruction that used it; -1 */
    int written;         /* last write per lane; -1 */
    Lane writer_lane;
} Buffer;

typedef struct {
    Arena *arena;
    const Program *program;
    const InstrUse *use;
    int n;
    Buffer *buffer;          /* of used slots, then of scratch */
    int *of_slot, *of_instr; /* places in buffer; -1 */
} LanePlanner;

static int64_t aligned(int64_t bytes)
{
    return bytes <= 0 ? PLACE_ALIGN : (bytes + PLACE_ALIGN - 1) / PLACE_ALIGN * PLACE_ALIGN;
}

/* ---- lifetimes ---- */

static void hold(Buffer *buffer, int from, int to)
{
    if (from < buffer->first)
        buffer->first = from;
    if (to > buffer->last)
        buffer->last = to;
}

static void hold_used(LanePlanner *p, int at)
{
    const InstrUse *use = &p->use[at];
    int slack = use->lane == LANE_COMM ? AHEAD_MAX : 0;
    int from = at - slack, to = at + slack, end = p->program->n_instrs;
    if (from < p->program->n_once)
        from = p->program->n_once < at ? p->program->n_once : at;
    for (int i = 0; i < use->n_writes; i++)
        if (p->of_slot[use->write[i]] >= 0)
            hold(&p->buffer[p->of_slot[use->write[i]]], from, at);
    for (int i = 0; i < use->n_reads; i++)
        if (p->of_slot[use->read[i]] >= 0)
            hold(&p->buffer[p->of_slot[use->read[i]]], at, to < end ? to : end);
    if (p->of_instr[at] >= 0)
        hold(&p->buffer[p->of_instr[at]], from, to < end ? to : end);
}

static void hold_all(LanePlanner *p)
{
    const Program *program = p->program;
    for (int i = 0; i < program->n_instrs; i++) {
        const Instr *instr = &program->instrs[i];
        hold_used(p, i);
        int b = instr->slot < 0 ? -1 : p->of_slot[instr->slot];
        if (b < 0)
            continue;
        if (instr->kind == INSTR_LOAD)
            hold(&p->buffer[b], 0, program->n_instrs);
        if (instr->kind == INSTR_FREE)
            hold(&p->buffer[b], i, i);
    }
}

static void make_buffers(LanePlanner *p, const int64_t *slot_bytes, const int32_t *outputs,
                         int n_outputs)
{
    const Program *program = p->program;
    p->buffer = arena_array(p->arena, Buffer, program->n_slots + program->n_instrs);
    p->of_slot = arena_array(p->arena, int, program->n_slots);
    p->of_instr = arena_array(p->arena, int, program->n_instrs);
    Buffer none = {.first = program->n_instrs, .last = -1, .slot = -1, .place = -1};
    none.last_use[LANE_COMPUTE] = none.last_use[LANE_COMM] = none.written = -1;
    for (int32_t s = 0; s < program->n_slots; s++) {
        p->of_slot[s] = slot_bytes[s] < 0 ? -1 : p->n;
        if (slot_bytes[s] < 0)
            continue;
        p->buffer[p->n] = none;
        p->buffer[p->n].slot = s;
        p->buffer[p->n++].bytes = aligned(slot_bytes[s]);
    }
    for (int i = 0; i < program->n_instrs; i++) {
        p->of_instr[i] = p->use[i].scratch_bytes > 0 ? p->n : -1;
        if (p->use[i].scratch_bytes <= 0)
            continue;
        p->buffer[p->n] = none;
        p->buffer[p->n++].bytes = aligned(p->use[i].scratch_bytes);
    }
    hold_all(p);
    for (int i = 0; i < n_outputs; i++)
        if (p->of_slot[outputs[i]] >= 0)
            hold(&p->buffer[p->of_slot[outputs[i]]], program->n_instrs, program->n_instrs);
}

/* ---- places: largest first, each in the smallest gap between buffers that live at the same time
 * ---- */

static int by_size(const void *a, const void *b)
{
    const Buffer *x = *(Buffer *const *)a, *y = *(Buffer *const *)b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->first != y->first ? (x->first > y->first) - (x->first < y->first) : (x > y) - (x < y);
}

static int64_t best_gap(Buffer *const *placed, int n, const Buffer *buffer)
{
    int64_t end = 0, best = -1, best_room = INT64_MAX;
    for (int i = 0; i < n; i++) {
        if (placed[i]->last < buffer->first || placed[i]->first > buffer->last)
            continue;
        int64_t room = placed[i]->place - end;
        if (room >= buffer->bytes && room < best_room) {
            best = end;
            best_room = room;
        }
        if (placed[i]->place + placed[i]->bytes > end)
            end = placed[i]->place + placed[i]->bytes;
    }
    return best >= 0 ? best : end;
}

static int64_t place_all(LanePlanner *p)
{
    Buffer **order = arena_array(p->arena, Buffer *, p->n), **placed;
    placed = arena_array(p->arena, Buffer *, p->n); /* by place */
    int n = 0;
    int64_t bytes = 0;
    for (int b = 0; b < p->n; b++)
        if (p->buffer[b].last >= 0)
            order[n++] = &p->buffer[b];
    qsort(order, (size_t)n, sizeof *order, by_size);
    for (int b = 0; b < n; b++) {
        order[b]->place = best_gap(placed, b, order[b]);
        int at = b;
        for (; at > 0 && placed[at - 1]->place > order[b]->place; at--)
            placed[at] = placed[at - 1];
        placed[at] = order[b];
        if (order[b]->place + order[b]->bytes > bytes)
            bytes = order[b]->place + order[b]->bytes;
    }
    return bytes;
}

/* ---- waits ---- */

typedef struct {
    int need[LANES]; /* per lane: last instruction to wait for */
} Needs;

static void need_last_use(Needs *needs, const Buffer *buffer)
{
    for (int lane = 0; lane < LANES; lane++)
        if (buffer->last_use[lane] > needs->need[lane])
            needs->need[lane] = buffer->last_use[lane];
}

/* Waits for previous users of the place. */
static void need_place(const LanePlanner *p, Needs *needs, const Buffer *buffer)
{
    for (int b = 0; b < p->n; b++) {
        const Buffer *other = &p->buffer[b];
        if (other != buffer && other->place >= 0 && other->last < buffer->first &&
            other->place < buffer->place + buffer->bytes &&
            buffer->place < other->place + other->bytes)
            need_last_use(needs, other);
    }
}

static void need_write(const LanePlanner *p, Needs *needs, int b)
{
    if (b < 0)
        return;
    if (p->buffer[b].written < 0)
        need_place(p, needs, &p->buffer[b]);
    need_last_use(needs, &p->buffer[b]);
}

static void note_use(LanePlanner *p, int b, Lane lane, int at, bool writes)
{
    if (b < 0)
        return;
    p->buffer[b].last_use[lane] = at;
    if (writes) {
        p->buffer[b].written = at;
        p->buffer[b].writer_lane = lane;
    }
}

static int waits_for(LanePlanner *p, int at)
{
    const InstrUse *use = &p->use[at];
    Needs needs = {.need = {-1, -1}};
    for (int i = 0; i < use->n_reads; i++) {
        int b = p->of_slot[use->read[i]];
        if (b >= 0 && p->buffer[b].written > needs.need[p->buffer[b].writer_lane])
            needs.need[p->buffer[b].writer_lane] = p->buffer[b].written;
    }
    for (int i = 0; i < use->n_writes; i++)
        need_write(p, &needs, p->of_slot[use->write[i]]);
    need_write(p, &needs, p->of_instr[at]);
    for (int i = 0; i < use->n_reads; i++)
        note_use(p, p->of_slot[use->read[i]], use->lane, at, false);
    for (int i = 0; i < use->n_writes; i++)
        note_use(p, p->of_slot[use->write[i]], use->lane, at, true);
    note_use(p, p->of_instr[at], use->lane, at, true);
    return needs.need[use->lane == LANE_COMM ? LANE_COMPUTE : LANE_COMM];
}

/* ---- all of it ---- */

static void find_peak(Arena *arena, const LanePlanner *p, StreamSchedule *out)
{
    int n = p->program->n_instrs;
    int64_t *change = arena_array(arena, int64_t, n + 2), held = 0;
    for (int b = 0; b < p->n; b++)
        if (p->buffer[b].last >= 0) {
            change[p->buffer[b].first] += p->buffer[b].bytes;
            change[p->buffer[b].last + 1] -= p->buffer[b].bytes;
        }
    for (int i = 0; i <= n; i++) {
        held += change[i];
        if (held > out->peak_bytes) {
            out->peak_bytes = held;
            out->peak_at = i;
        }
    }
    int64_t largest = -1;
    for (int b = 0; b < p->n; b++) {
        const Buffer *buffer = &p->buffer[b];
        if (buffer->slot >= 0 && buffer->first <= out->peak_at && buffer->last >= out->peak_at &&
            buffer->bytes > largest) {
            largest = buffer->bytes;
            out->peak_slot = buffer->slot;
        }
    }
}

void stream_schedule_make(Arena *arena, const Program *program, const InstrUse *use,
                          const int64_t *slot_bytes, int n_outputs, StreamSchedule *out)
{
    Arena *scratch = arena_new();
    LanePlanner p = {.arena = scratch, .program = program, .use = use};
    *out = (StreamSchedule){.peak_slot = -1};
    out->place = arena_array(arena, int64_t, program->n_slots);
    out->instr = arena_array(arena, StreamInstr, program->n_instrs);
    make_buffers(&p, slot_bytes, program->output, n_outputs);
    out->bytes = place_all(&p);
    find_peak(scratch, &p, out);

    int known[LANES] = {-1, -1};
    for (int i = 0; i < program->n_instrs; i++) {
        StreamInstr *sync = &out->instr[i];
        Lane lane = use[i].lane;
        int need = waits_for(&p, i);
        *sync = (StreamInstr){.wait = -1};
        sync->scratch = p.of_instr[i] < 0 ? 0 : p.buffer[p.of_instr[i]].place;
        if (i < program->n_once || need < program->n_once || need <= known[lane])
            continue;
        known[lane] = sync->wait = need;
        out->instr[need].awaited = true;
    }
    for (int32_t s = 0; s < program->n_slots; s++)
        out->place[s] = p.of_slot[s] < 0 ? -1 : p.buffer[p.of_slot[s]].place;
    arena_free(scratch);
}
