#include "core/plan/schedule_idle.h"

#include "core/base/vec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ORDER IDLE */
static const struct {
    const char *name, *key;
} causes[N_IDLE_CAUSES] = {
    {"warm-up", "warm_up"},
    {"drain", "drain"},
    {"sends", "sends"},
    {"uneven stages", "uneven_stages"},
    {"order of blocks", "order_of_blocks"},
};

const char *idle_cause_name(IdleCause cause)
{
    return causes[cause].name;
}

const char *idle_cause_key(IdleCause cause)
{
    return causes[cause].key;
}

/* ---- stretches of waiting ---- */

typedef struct {
    Arena *arena, *scratch;
    const Schedule *schedule;
    int32_t *last;                  /* per lane: the block it ran last, plus 1 */
    int32_t *filled, *last_forward; /* per lane: blocks; filled: the first backward */
    double (*lane_us)[N_IDLE_CAUSES];
    Vec(IdleGap) gaps, pieces; /* pieces: of the gap that is being shared out, the latest first */
} Sharing;

static void find_phases(Sharing *sharing)
{
    const Schedule *schedule = sharing->schedule;
    const Lanes *lanes = schedule->lanes;
    for (int l = 0; l < lanes->n; l++)
        sharing->filled[l] = schedule->trains ? INT32_MAX : -1;
    for (int i = 0; i < schedule->n_blocks; i++) {
        const Block *block = &schedule->block[i];
        for (int32_t l = lanes->first[block->stage]; l < lanes->first[block->stage + 1]; l++) {
            int32_t lane = lanes->lane[l];
            if (block->backward && i < sharing->filled[lane])
                sharing->filled[lane] = i;
            if (!block->backward)
                sharing->last_forward[lane] = i;
        }
    }
}

/* The cause of waiting for a block; before: the lane's block before the gap, or -1; next: behind
 * it, or n_blocks. */
static IdleCause phase_of(const Sharing *sharing, int32_t lane, int32_t before, int32_t next)
{
    if (before < 0 || next <= sharing->filled[lane])
        return IDLE_WARM_UP;
    return before >= sharing->last_forward[lane] || next == sharing->schedule->n_blocks
               ? IDLE_DRAIN
               : IDLE_UNEVEN;
}

static void add_piece(Sharing *sharing, int32_t lane, IdleCause cause, double start_us,
                      double end_us)
{
    if (start_us >= end_us)
        return;
    int n = sharing->pieces.n;
    sharing->lane_us[lane][cause] += end_us - start_us;
    if (n > 0 && sharing->pieces.at[n - 1].cause == cause)
        sharing->pieces.at[n - 1].start_us = start_us;
    else
        vec_push(sharing->scratch, &sharing->pieces, ((IdleGap){lane, cause, start_us, end_us}));
}

/* Shares out a lane's waiting from start_us to end_us along the chain that begins with `chain`. */
static void share_gap(Sharing *sharing, int32_t lane, double start_us, double end_us,
                      IdleCause phase, int32_t chain)
{
    sharing->pieces.n = 0;
    for (int32_t at = chain; end_us > start_us; at = sharing->schedule->block[at].after) {
        double ended_us = at < 0 ? start_us : fmax(start_us, sharing->schedule->block[at].end_us);
        double began_us = at < 0 ? start_us : fmax(start_us, sharing->schedule->block[at].start_us);
        add_piece(sharing, lane, IDLE_SENDS, ended_us, end_us);
        add_piece(sharing, lane, phase, began_us, ended_us);
        end_us = began_us;
    }
    for (int i = sharing->pieces.n - 1; i >= 0; i--)
        vec_push(sharing->arena, &sharing->gaps, sharing->pieces.at[i]);
}

/* The waiting of a block's lanes before it. */
static void share_before(Sharing *sharing, int32_t i)
{
    const Schedule *schedule = sharing->schedule;
    const Block *block = &schedule->block[i];
    const Lanes *lanes = schedule->lanes;
    for (int32_t l = lanes->first[block->stage]; l < lanes->first[block->stage + 1]; l++) {
        int32_t lane = lanes->lane[l], before = sharing->last[lane] - 1;
        double free_us = before < 0 ? 0 : schedule->block[before].end_us;
        share_gap(sharing, lane, free_us, block->start_us, phase_of(sharing, lane, before, i),
                  block->after);
        sharing->last[lane] = 1 + (block->pair > i ? block->pair : i);
    }
}

static int by_lane(const void *a, const void *b)
{
    const IdleGap *x = a, *y = b;
    if (x->lane != y->lane)
        return x->lane < y->lane ? -1 : 1;
    return x->start_us < y->start_us ? -1 : x->start_us > y->start_us;
}

static void share_all(Sharing *sharing)
{
    const Schedule *schedule = sharing->schedule;
    int32_t ends = schedule_last(schedule);
    for (int32_t i = 0; i < schedule->n_blocks; i++) {
        const Block *block = &schedule->block[i];
        if (block->pair < 0 || block->pair > i) /* else it runs with its partner */
            share_before(sharing, i);
    }
    for (int32_t lane = 0; lane < schedule->lanes->n; lane++) {
        int32_t before = sharing->last[lane] - 1;
        double free_us = before < 0 ? 0 : schedule->block[before].end_us;
        share_gap(sharing, lane, free_us, schedule->us,
                  phase_of(sharing, lane, before, schedule->n_blocks), ends);
    }
    if (sharing->gaps.n > 0)
        qsort(sharing->gaps.at, (size_t)sharing->gaps.n, sizeof *sharing->gaps.at, by_lane);
}

static ScheduleIdle share_idle(Arena *arena, Arena *scratch, const Schedule *schedule)
{
    int n_lanes = schedule->lanes->n;
    Sharing sharing = {.arena = arena, .scratch = scratch, .schedule = schedule};
    sharing.last = arena_array(scratch, int32_t, n_lanes);
    sharing.filled = arena_array(scratch, int32_t, n_lanes);
    sharing.last_forward = arena_array(scratch, int32_t, n_lanes);
    sharing.lane_us = arena_alloc(arena, (size_t)n_lanes * sizeof *sharing.lane_us);
    find_phases(&sharing);
    share_all(&sharing);
    return (ScheduleIdle){.n = sharing.gaps.n, .gap = sharing.gaps.at, .lane_us = sharing.lane_us};
}

/* ---- stages that all take the mean ---- */

static Schedule *even_schedule(Arena *scratch, const Schedule *schedule, const StageTime *stage)
{
    int n = schedule->n_stages;
    Schedule *even = arena_make(scratch, Schedule);
    Block *block = arena_array(scratch, Block, schedule->n_blocks);
    StageTime *takes = arena_array(scratch, StageTime, n), mean = {0};
    for (int s = 0; s < n; s++) {
        mean.forward_us += stage[s].forward_us / n;
        mean.backward_us += stage[s].backward_us / n;
        mean.weight_us += stage[s].weight_us / n;
        mean.pair_us += stage[s].pair_us / n;
    }
    for (int s = 0; s < n; s++)
        takes[s] = mean;
    memcpy(block, schedule->block, (size_t)schedule->n_blocks * sizeof *block);
    *even = *schedule;
    even->block = block;
    schedule_time(scratch, even, takes);
    return even;
}

ScheduleIdle schedule_idle(Arena *arena, const Schedule *schedule, const StageTime *stage)
{
    Arena *scratch = arena_new();
    ScheduleIdle out = share_idle(arena, scratch, schedule);
    ScheduleIdle even = share_idle(scratch, scratch, even_schedule(scratch, schedule, stage));
    double devices = 0;
    for (int l = 0; l < schedule->lanes->n; l++)
        devices += schedule->lanes->n_devices[l];
    for (int l = 0; l < schedule->lanes->n; l++) {
        double *us = out.lane_us[l];
        us[IDLE_ORDER] = fmin(us[IDLE_UNEVEN], even.lane_us[l][IDLE_UNEVEN]);
        us[IDLE_UNEVEN] -= us[IDLE_ORDER];
        for (int cause = 0; cause < N_IDLE_CAUSES; cause++)
            out.share[cause] += schedule->us > 0 ? us[cause] / schedule->us *
                                                       schedule->lanes->n_devices[l] / devices
                                                 : 0;
    }
    arena_free(scratch);
    return out;
}
