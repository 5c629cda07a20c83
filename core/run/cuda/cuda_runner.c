/* cuda_runner.c - the runner for GPUs: dimscope_cuda.so. */
#include "core/run/plugin.h"

#include "core/run/cuda/gpu.h"

#include <sched.h>

/* ---- a process ---- */

static bool open_team(Team *team, Error *err)
{
    Arena *arena = arena_new();
    GpuTeam *gpus = arena_make(arena, GpuTeam);
    *gpus = (GpuTeam){.arena = arena};
    team->own = gpus;
    gpus->devices = devices_find(arena, &gpus->n_devices, err);
    if (!gpus->devices || !comm_team_open(team, gpus, err))
        return false;
    gpus->rank = arena_array(arena, GpuRank *, team->n_local);
    gpus->lost = arena_array(arena, atomic_bool, gpus->n_devices);
    gpus->pinned = arena_array(arena, void *, team->n_local *PINNED_MAX);
    gpus->kernels = kernels_new();
    gpus->products = products_new();
    return true;
}

static void close_team(Team *team)
{
    GpuTeam *gpus = gpu_team(team);
    if (!gpus)
        return;
    bool stuck = atomic_load(&gpus->stuck); /* else every call would hang */
    for (int d = 0; !stuck && gpus->lost && d < gpus->n_devices; d++)
        if (atomic_load(&gpus->lost[d])) {
            cuda_give_up(cudaSetDevice(d));
            cuda_give_up(cudaDeviceReset());
        }
    for (int i = 0; !stuck && gpus->pinned && i < team->n_local * PINNED_MAX; i++)
        if (gpus->pinned[i])
            cuda_give_up(cudaFreeHost(gpus->pinned[i]));
    kernels_free(gpus->kernels, stuck);
    products_free(gpus->products);
    arena_free(gpus->arena);
    team->own = NULL;
}

/* ---- a rank ---- */

static void make_lists(GpuRank *gpu)
{
    const Program *program = gpu_program(gpu);
    int n = program->n_instrs;
    gpu->use = arena_array(gpu->arena, InstrUse, n);
    gpu->actions = arena_array(gpu->arena, Actions, n);
    gpu->covered = arena_array(gpu->arena, bool, n);
    gpu->timed = arena_array(gpu->arena, bool, n);
    gpu->done = arena_array(gpu->arena, cudaEvent_t, n);
    gpu->begin = arena_array(gpu->arena, cudaEvent_t, n);
    gpu->end = arena_array(gpu->arena, cudaEvent_t, n);
    gpu->n_readers = arena_array(gpu->arena, int, program->n_slots);
    gpu->slot_bytes = arena_array(gpu->arena, int64_t, program->n_slots);
    gpu->pass_enqueued[LANE_COMPUTE] = gpu->pass_enqueued[LANE_COMM] = -1;
    gpu->texts = device_texts_new(gpu->arena);
}

/* Makes the Locals of all slots, which live as long as the rank: their places are fixed. */
static void make_slots(GpuRank *gpu)
{
    Rank *rank = gpu->rank;
    for (int32_t s = 0; s < gpu_program(gpu)->n_slots; s++)
        gpu->slot_bytes[s] = rank_has(rank, s) ? local_bytes(rank_make(rank, s)) : -1;
}

static void count_readers(GpuRank *gpu)
{
    const Program *program = gpu_program(gpu);
    const Graph *graph = gpu_graph(gpu);
    for (int i = 0; i < program->n_instrs; i++) {
        const Instr *instr = &program->instrs[i];
        if (instr->from >= 0)
            gpu->n_readers[instr->from]++;
        if (instr->kind != INSTR_OP)
            continue;
        const GraphOp *op = &graph->ops[instr->op];
        for (int k = 0; k < op->n_inputs; k++)
            if (program->operand[op->input + k] >= 0)
                gpu->n_readers[program->operand[op->input + k]]++;
    }
    for (int i = 0; i < graph->n_outputs; i++)
        gpu->n_readers[program->output[i]]++;
}

static bool make_actions(GpuRank *gpu, Error *err)
{
    const Program *program = gpu_program(gpu);
    for (int at = 0; at < program->n_instrs; at++) {
        InstrKind kind = program->instrs[at].kind;
        Error inner = {.kind = ERROR_RUN};
        if ((kind == INSTR_OP && !op_actions(gpu, at, &inner)) ||
            (kind == INSTR_STEP && !step_actions(gpu, at, &inner)))
            return instr_blame(gpu, at, &inner, err);
    }
    stream_schedule_make(gpu->arena, program, gpu->use, gpu->slot_bytes, gpu_graph(gpu)->n_outputs,
                         &gpu->schedule);
    RankHead *head = gpu->rank->result->head;
    head->live_bytes = head->peak_bytes = gpu->schedule.peak_bytes;
    return true;
}

static bool open_streams(GpuRank *gpu, Error *err)
{
    int least = 0, greatest = 0;
    return CUDA_CALL(err, cudaSetDevice, gpu->device->ordinal) &&
           CUDA_CALL(err, cudaDeviceGetStreamPriorityRange, &least, &greatest) &&
           CUDA_CALL(err, cudaStreamCreateWithPriority, &gpu->stream[LANE_COMPUTE],
                     cudaStreamNonBlocking, least) &&
           CUDA_CALL(err, cudaStreamCreateWithPriority, &gpu->stream[LANE_COMM],
                     cudaStreamNonBlocking, greatest) &&
           CUDA_CALL(err, cudaEventCreateWithFlags, &gpu->offer, cudaEventDisableTiming) &&
           CUDA_CALL(err, cudaEventCreateWithFlags, &gpu->taken, cudaEventDisableTiming);
}

/* Loads everything up front: loaded slots stay, and fused ops may read them earlier than the
 * program loads them. */
static bool load_all(GpuRank *gpu, Error *err)
{
    const Program *program = gpu_program(gpu);
    for (int at = 0; at < program->n_instrs; at++)
        if (program->instrs[at].kind == INSTR_LOAD &&
            !memory_load(gpu, program->instrs[at].slot, err))
            return false;
    return true;
}

static bool open_gpu(GpuRank *gpu, Error *err)
{
    make_lists(gpu);
    make_slots(gpu);
    count_readers(gpu);
    if (!open_streams(gpu, err) || !make_actions(gpu, err) || !memory_open(gpu, err) ||
        !BLAS_CALL(err, cublasLtCreate, &gpu->blas.handle))
        return false;
    gpu->blas.products = gpu->team->products;
    /* Others read this memory, and creating a communicator needs all ranks. */
    return rank_meet(gpu->rank) && comm_open(gpu, err) && actions_resolve(gpu, err) &&
           load_all(gpu, err);
}

static void close_events(GpuRank *gpu)
{
    cudaEvent_t single[] = {gpu->offer, gpu->taken,      gpu->fork,
                            gpu->join,  gpu->pass_begin, gpu->pass_end};
    for (size_t i = 0; i < sizeof single / sizeof *single; i++)
        if (single[i])
            cuda_give_up(cudaEventDestroy(single[i]));
    cudaEvent_t *lists[] = {gpu->done, gpu->begin, gpu->end};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (int at = 0; at < gpu_program(gpu)->n_instrs; at++)
            if (lists[i][at])
                cuda_give_up(cudaEventDestroy(lists[i][at]));
}

static void close_streams(GpuRank *gpu)
{
    close_events(gpu);
    for (int lane = 0; lane < LANES; lane++)
        if (gpu->stream[lane])
            cuda_give_up(cudaStreamDestroy(gpu->stream[lane]));
}

static void close_rank(Rank *rank)
{
    GpuRank *gpu = rank->own;
    cuda_give_up(cudaSetDevice(gpu->device->ordinal));
    comm_close(gpu);
    bool broken = !watch_end(gpu);
    graph_close(gpu);
    if (!broken) /* else the device is reset, which frees everything */
        close_streams(gpu);
    actions_close(gpu);
    memory_close(gpu, broken);
    if (gpu->blas.handle)
        cublasLtDestroy(gpu->blas.handle);
    local_free(gpu->fetched);
    for (int32_t s = 0; s < gpu_program(gpu)->n_slots; s++)
        rank_unmake(rank, s);
    gpu->team->rank[rank->position - rank->team->first_rank] = NULL;
    arena_free(gpu->arena);
    rank->own = NULL;
}

static bool open_rank(Rank *rank)
{
    GpuTeam *gpus = gpu_team(rank->team);
    Arena *arena = arena_new();
    GpuRank *gpu = arena_make(arena, GpuRank);
    int place = (int)(rank->position - rank->team->first_rank);
    *gpu = (GpuRank){.rank = rank, .team = gpus, .arena = arena};
    gpu->device = &gpus->devices[(gpus->first_device + place) % gpus->n_devices];
    rank->own = gpu;
    gpus->rank[place] = gpu;
    Error err = {0};
    Beating *beating = beating_start(rank);
    bool ok = open_gpu(gpu, &err) || rank_failed(rank, &err);
    beating_stop(beating);
    atomic_fetch_add(&gpus->n_opened, 1);
    if (ok)
        return true;
    /* Other ranks may be reading this one's addresses; the failure ends their waits. */
    atomic_store(&rank->team->failed, true);
    while (atomic_load(&gpus->n_opened) < rank->team->n_local)
        sched_yield();
    close_rank(rank);
    return false;
}

/* ---- instructions ---- */

static bool failed(Rank *rank, bool ok, const Error *err)
{
    return ok || rank_failed(rank, err);
}

static bool load(Rank *rank, const Instr *instr)
{
    (void)rank, (void)instr; /* loaded when the rank was opened */
    return true;
}

/* Starts a pass on its first instruction. */
static bool begin(GpuRank *gpu, const Instr *instr, Error *err)
{
    if (!gpu->in_pass && (!pass_begin(gpu, err) || !pass_fork(gpu, err)))
        return false;
    gpu->in_pass = true;
    return enqueue_instr(gpu, (int)(instr - gpu_program(gpu)->instrs), true, err);
}

static bool run_op(Rank *rank, const Instr *instr)
{
    Error err = {0};
    return failed(rank, begin(rank->own, instr, &err), &err);
}

static bool run_step(Rank *rank, const Instr *instr, double *wait_us)
{
    Error err = {0};
    *wait_us = 0;
    return failed(rank, begin(rank->own, instr, &err), &err);
}

/* Slots keep their memory. */
static void drop(Rank *rank, int32_t slot)
{
    (void)rank, (void)slot;
}

/* ---- passes ---- */

static bool replay(Rank *rank, int pass, bool *done)
{
    Error err = {0};
    GpuRank *gpu = rank->own;
    gpu->replaying = false;
    return failed(rank, graph_replay(gpu, pass, done, &err), &err);
}

/* Reports faults that kernels found in their data. */
static bool check_faults(GpuRank *gpu, Error *err)
{
    for (int at = 0; at < gpu_program(gpu)->n_instrs; at++)
        if (gpu->fault_seen[at] != FAULT_NONE) {
            Error inner = {0};
            error_kind(&inner, ERROR_RUN, "an index is outside its dim, or on another rank");
            return instr_blame(gpu, at, &inner, err);
        }
    return true;
}

static double us_between(cudaEvent_t from, cudaEvent_t to)
{
    float ms = 0;
    return cudaEventElapsedTime(&ms, from, to) == cudaSuccess ? (double)ms * 1e3 : 0;
}

static void record_times(GpuRank *gpu, int pass)
{
    const Program *program = gpu_program(gpu);
    for (int at = 0; at < program->n_instrs; at++)
        if (gpu->timed[at]) {
            double start = gpu->pass_start_us + us_between(gpu->pass_begin, gpu->begin[at]);
            double us = us_between(gpu->begin[at], gpu->end[at]);
            rank_record_time(gpu->rank, &program->instrs[at], pass,
                             (TraceSpan){start, start + us, 0});
        }
    rank_took_pass(gpu->rank, pass, us_between(gpu->pass_begin, gpu->pass_end));
}

static bool end_pass(GpuRank *gpu, int pass, Error *err)
{
    bool empty = !gpu->in_pass && !gpu->replaying;
    bool joined = gpu->replaying || ((!empty || pass_begin(gpu, err)) && pass_join(gpu, err));
    gpu->in_pass = false;
    if (!joined ||
        (!gpu->pass_end && !CUDA_CALL(err, cudaEventCreateWithFlags, &gpu->pass_end, 0)) ||
        !CUDA_CALL(err, cudaEventRecord, gpu->pass_end, gpu->stream[LANE_COMPUTE]) ||
        !watch_lane(gpu, LANE_COMPUTE, err) || !check_faults(gpu, err))
        return false;
    record_times(gpu, pass);
    gpu->rank->result->begin_us[pass] = gpu->enqueue_us;
    return true;
}

static bool finish(Rank *rank, int pass)
{
    Error err = {0};
    return failed(rank, end_pass(rank->own, pass, &err), &err);
}

static bool fetch_slot(GpuRank *gpu, int32_t slot, Error *err)
{
    local_free(gpu->fetched);
    gpu->fetched = memory_host_local(gpu, slot, err);
    return gpu->fetched && watch_lane(gpu, LANE_COMM, err) &&
           memory_fetch(gpu, slot, gpu->fetched, err);
}

static const Local *fetch(Rank *rank, int32_t slot)
{
    GpuRank *gpu = rank->own;
    Error err = {0};
    return failed(rank, fetch_slot(gpu, slot, &err), &err) ? gpu->fetched : NULL;
}

static const Runner cuda_runner = {.name = "cuda",
                                   .timed = true,
                                   .straight = true,
                                   .open = open_team,
                                   .close = close_team,
                                   .rank_open = open_rank,
                                   .rank_close = close_rank,
                                   .load = load,
                                   .op = run_op,
                                   .step = run_step,
                                   .drop = drop,
                                   .replay = replay,
                                   .finish = finish,
                                   .fetch = fetch};

const Plugin dimscope_plugin = {
    .version = PLUGIN_VERSION, .runner = &cuda_runner, .usable = devices_usable};
