#include "core/run/cuda/gpu.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

enum { QUIET_TURNS = 2000, NAP_US = 50, ASKS_EVERY = 64, END_MS = 1000 };

#define STALL_SHARE                                                                                \
    0.6 /* share of the stall limit, so that a hang is attributed before the run is ended */
#define ELSEWHERE_US 60e6        /* limit for an op on another process's host */
#define SLOWER_THAN_PREDICTED 50 /* allowed multiple of the predicted time of a step */

/* ---- progress ---- */

bool instr_blame(const GpuRank *gpu, int at, const Error *inner, Error *err)
{
    const Program *program = gpu_program(gpu);
    const Instr *instr = &program->instrs[at < program->n_instrs ? at : program->n_instrs - 1];
    const Graph *graph = gpu_graph(gpu);
    if (instr->kind == INSTR_OP)
        kernel_blame(graph, instr->op, inner, err);
    else if (instr->kind == INSTR_STEP)
        error_kind(err, inner->kind, "%s of '%s': %s", step_kind_name(instr->step->kind),
                   tensor_name(graph, program->slots[instr->slot].tensor), inner->text);
    else
        error_kind(err, inner->kind, "'%s': %s",
                   tensor_name(graph, program->slots[instr->slot].tensor), inner->text);
    if (inner->hint[0])
        error_hint(err, "%s", inner->hint);
    return false;
}

/* The first instruction of a lane that may be unfinished; -1. */
static int pending(const GpuRank *gpu, Lane lane)
{
    if (!gpu->mark)
        return -1;
    const volatile int32_t *mark = gpu->mark; /* written by the device */
    for (int at = mark[lane] + 1; at <= gpu->pass_enqueued[lane]; at++)
        if (gpu->use[at].lane == lane && gpu->actions[at].n > 0)
            return at;
    return -1;
}

/* Whether the stream has reached the instruction: its waits are over. */
static bool has_reached(const GpuRank *gpu, int at)
{
    Lane lane = gpu->use[at].lane, other = lane == LANE_COMM ? LANE_COMPUTE : LANE_COMM;
    const volatile int32_t *mark = gpu->mark;
    return pending(gpu, lane) == at && gpu->schedule.instr[at].wait <= mark[other];
}

/* The instruction that is running: the next one of the lane that is not waiting. */
static int running_instr(const GpuRank *gpu)
{
    int ops = pending(gpu, LANE_COMPUTE), steps = pending(gpu, LANE_COMM);
    if (gpu->replaying && steps >= 0 && has_reached(gpu, steps))
        return steps; /* few ops are marked in a captured pass */
    if (ops >= 0 && has_reached(gpu, ops))
        return ops;
    return steps >= 0 ? steps : ops;
}

bool watch_blame(GpuRank *gpu, int at, const Error *inner, Error *err)
{
    bool lost = cuda_is_lost(cudaStreamQuery(gpu->stream[LANE_COMPUTE])) ||
                cuda_is_lost(cudaStreamQuery(gpu->stream[LANE_COMM]));
    int where = lost ? running_instr(gpu) : at;
    if (where < 0)
        where = at;
    Error on = {0};
    error_kind(&on, inner->kind, "%s (device %d): %s", gpu->device->name, gpu->device->ordinal,
               inner->text);
    return where < 0 ? error_kind(err, on.kind, "%s", on.text) : instr_blame(gpu, where, &on, err);
}

/* ---- hanging ---- */

static bool is_in_group(const GpuRank *gpu, const GpuRank *other, AtomSet atoms)
{
    const Mesh *mesh = gpu->rank->team->plan->mesh;
    return mesh_group_member(mesh, atoms, gpu->rank->position, 0) ==
           mesh_group_member(mesh, atoms, other->rank->position, 0);
}

/* Names the ranks of the step's group whose streams have not reached it. */
static bool report_hang(const GpuRank *gpu, int at, double s, Error *err)
{
    const Team *team = gpu->rank->team;
    const Instr *instr = &gpu_program(gpu)->instrs[at];
    Error inner = {.kind = ERROR_RUN};
    Arena *scratch = arena_new();
    Buf late = buf_new(scratch);
    int n_late = 0;
    bool step = instr->kind == INSTR_STEP;
    for (int r = 0; step && r < team->n_local; r++) {
        const GpuRank *other = gpu->team->rank[r];
        if (!other || other->actions[at].n == 0 || !is_in_group(gpu, other, instr->step->atoms))
            continue;
        bool passed = other->mark[LANE_COMM] >= at && other->rank->pass == gpu->rank->pass;
        if (!passed && !has_reached(other, at))
            buf_printf(&late, "%s%" PRId64, n_late++ ? ", " : "", other->rank->position);
    }
    if (n_late > 0)
        error_kind(&inner, ERROR_RUN,
                   "it hangs, nothing has happened for %.1f s: rank%s %s %s not "
                   "reached it",
                   s, n_late > 1 ? "s" : "", late.s, n_late > 1 ? "have" : "has");
    else if (step && team->world->n > 1)
        error_kind(&inner, ERROR_RUN,
                   "it hangs, nothing has happened for %.1f s: the ranks of "
                   "this process have reached it, those of others may not",
                   s);
    else
        error_kind(&inner, ERROR_RUN, "it hangs, nothing has happened for %.1f s%s", s,
                   step ? ", though all ranks have reached it" : "");
    arena_free(scratch);
    return instr_blame(gpu, at, &inner, err);
}

typedef struct {
    double since_us;
    int64_t seen;
    int turns;
} Quiet;

/* Progress of the streams of all ranks of this process as one number; -1: a rank works on the host.
 */
static int64_t progress(const GpuRank *gpu)
{
    const Team *team = gpu->rank->team;
    int64_t seen = 0;
    for (int r = 0; r < team->n_local; r++) {
        const GpuRank *other = gpu->team->rank[r];
        if (!other || !other->mark)
            continue;
        if (!atomic_load(&other->watching) &&
            atomic_load(&other->rank->result->head->state) == RANK_WORKING)
            return -1;
        const volatile int32_t *mark = other->mark;
        seen += mark[LANE_COMPUTE] + mark[LANE_COMM] +
                (int64_t)other->rank->pass * gpu_program(gpu)->n_instrs * LANES;
    }
    return seen;
}

/* Longest time without progress: that of the slowest running instruction. */
static double allowed_us(const GpuRank *gpu)
{
    const Team *team = gpu->rank->team;
    double stall_s = team->options->stall_s > 0 ? team->options->stall_s : RUN_STALL_S;
    int at = pending(gpu, LANE_COMM);
    double us = STALL_SHARE * stall_s * 1e6;
    if (at >= 0 && gpu_program(gpu)->instrs[at].kind == INSTR_STEP)
        us += SLOWER_THAN_PREDICTED * gpu_program(gpu)->instrs[at].step->us;
    if (team->world->n > 1 && gpu->n_host_ops > 0)
        us += ELSEWHERE_US;
    return us + (gpu->replaying ? SLOWER_THAN_PREDICTED * team->plan->priced->totals.step_us : 0);
}

static bool has_stalled(GpuRank *gpu, Quiet *quiet, Error *err)
{
    double now = run_now_us();
    int64_t seen = progress(gpu);
    if (seen < 0 || seen != quiet->seen) {
        quiet->seen = seen;
        quiet->since_us = now;
        rank_beats(gpu->rank);
        return false;
    }
    if (now - quiet->since_us < allowed_us(gpu))
        return false;
    int at = running_instr(gpu);
    if (at < 0)
        return error_kind(err, ERROR_RUN, "the device does not answer"), true;
    report_hang(gpu, at, (now - quiet->since_us) * 1e-6, err);
    return true;
}

/* ---- waiting ---- */

static void nap(void)
{
    struct timespec time = {.tv_nsec = NAP_US * 1000};
    nanosleep(&time, NULL);
}

static bool goes_on(GpuRank *gpu, Quiet *quiet, Error *err)
{
    const Team *team = gpu->rank->team;
    if (atomic_load(&team->failed))
        return false;
    if (quiet->turns++ % ASKS_EVERY == 0) {
        Error inner = {0};
        if (!comm_errors(gpu, &inner))
            return watch_blame(gpu, running_instr(gpu), &inner, err);
        if (has_stalled(gpu, quiet, err))
            return false;
    }
    if (quiet->turns < QUIET_TURNS)
        sched_yield();
    else
        nap();
    return true;
}

static bool watch(GpuRank *gpu, Lane lane, Error *err)
{
    Quiet quiet = {.since_us = run_now_us(), .seen = INT64_MIN};
    for (;;) {
        cudaError_t status = cudaStreamQuery(gpu->stream[lane]);
        if (status == cudaSuccess)
            return true;
        Error inner = {0};
        if (status != cudaErrorNotReady) {
            cuda_ok(status, "the device stopped", &inner);
            return watch_blame(gpu, running_instr(gpu), &inner, err);
        }
        if (!goes_on(gpu, &quiet, err))
            return false;
    }
}

bool watch_lane(GpuRank *gpu, Lane lane, Error *err)
{
    atomic_store(&gpu->watching, true);
    bool ok = watch(gpu, lane, err);
    atomic_store(&gpu->watching, false);
    return ok;
}

bool watch_end(GpuRank *gpu)
{
    double until = run_now_us() + END_MS * 1e3;
    for (int lane = 0; lane < LANES; lane++) {
        cudaError_t status = cudaErrorNotReady;
        while (gpu->stream[lane] && status == cudaErrorNotReady) {
            status = cudaStreamQuery(gpu->stream[lane]);
            if (cuda_is_lost(status))
                atomic_store(&gpu->team->lost[gpu->device->ordinal], true);
            else if (status == cudaErrorNotReady && run_now_us() > until)
                atomic_store(&gpu->team->stuck, true);
            if (cuda_is_lost(status) || atomic_load(&gpu->team->stuck))
                return false;
            if (status == cudaErrorNotReady)
                nap();
        }
    }
    return true;
}

/* ---- progress while opening ---- */

enum { BEAT_MS = 200, BEATS_MAX = 300 };

struct Beating {
    Rank *rank;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stopped;
    bool stop;
};

static void *beat(void *of)
{
    Beating *beating = of;
    pthread_mutex_lock(&beating->lock);
    for (int i = 0; i < BEATS_MAX && !beating->stop; i++) {
        struct timespec until;
        rank_beats(beating->rank);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += BEAT_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&beating->stopped, &beating->lock, &until);
    }
    pthread_mutex_unlock(&beating->lock);
    return NULL;
}

Beating *beating_start(Rank *rank)
{
    Beating *beating = arena_make(rank->arena, Beating);
    beating->rank = rank;
    pthread_mutex_init(&beating->lock, NULL);
    pthread_cond_init(&beating->stopped, NULL);
    if (pthread_create(&beating->thread, NULL, beat, beating) != 0)
        return NULL;
    return beating;
}

void beating_stop(Beating *beating)
{
    if (!beating)
        return;
    pthread_mutex_lock(&beating->lock);
    beating->stop = true;
    pthread_cond_signal(&beating->stopped);
    pthread_mutex_unlock(&beating->lock);
    pthread_join(beating->thread, NULL);
    pthread_cond_destroy(&beating->stopped);
    pthread_mutex_destroy(&beating->lock);
}
