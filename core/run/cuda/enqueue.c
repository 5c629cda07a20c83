#include "core/run/cuda/gpu.h"

/* ---- ops on the host ---- */

/* A Local in host memory with the layout of a device slot; if `filled`, with its elements too. */
static Local *host_copy(GpuRank *gpu, int32_t slot, bool filled, Error *err)
{
    Local *copy = memory_host_local(gpu, slot, err);
    if (copy && (!filled || memory_fetch(gpu, slot, copy, err)))
        return copy;
    local_free(copy);
    return NULL;
}

/* Sets the call's inputs to host copies of the slots that the op reads, and its outputs to empty
 * ones. */
static bool copy_operands(GpuRank *gpu, int32_t op, KernelCall *call, Local **copy, Error *err)
{
    const GraphOp *at = &gpu_graph(gpu)->ops[op];
    const int32_t *operand = gpu_program(gpu)->operand;
    Local **output = arena_array(call->scratch, Local *, at->n_outputs);
    const Local **input = arena_array(call->scratch, const Local *, at->n_inputs);
    for (int i = 0; i < at->n_outputs; i++) {
        int32_t slot = operand[op_output_place(at) + i];
        if (slot >= 0 && !(copy[i] = host_copy(gpu, slot, false, err)))
            return false;
        output[i] = copy[i];
    }
    for (int i = 0; i < at->n_inputs; i++) {
        int32_t slot = operand[at->input + i];
        if (slot >= 0 && !(copy[at->n_outputs + i] = host_copy(gpu, slot, true, err)))
            return false;
        input[i] = copy[at->n_outputs + i];
    }
    call->output = output;
    call->input = input;
    return true;
}

static bool op_on_host(GpuRank *gpu, int32_t op, Error *err)
{
    const GraphOp *at = &gpu_graph(gpu)->ops[op];
    Arena *scratch = arena_new();
    Local **copy = arena_array(scratch, Local *, at->n_outputs + at->n_inputs);
    KernelCall call;
    bool ok = rank_kernel_call(gpu->rank, &(Instr){.op = op}, gpu_existing_slot, scratch, &call) &&
              copy_operands(gpu, op, &call, copy, err) && call.kernel->run(&call, err);
    for (int i = 0; ok && i < at->n_outputs; i++)
        if (copy[i]) {
            int32_t slot = gpu_program(gpu)->operand[op_output_place(at) + i];
            ok = memory_put(gpu, gpu->memory + gpu->schedule.place[slot], copy[i]->data,
                            local_bytes(copy[i]), err);
        }
    for (int i = 0; i < at->n_outputs + at->n_inputs; i++)
        local_free(copy[i]);
    arena_free(scratch);
    return ok;
}

/* ---- actions ---- */

static bool launch(const Launch *launch, cudaStream_t stream, Error *err)
{
    void *args[] = {launch->words};
    return CUDA_CALL(err, cudaLaunchKernel, launch->kernel, launch->grid, launch->block, args,
                     launch->shared_bytes, stream);
}

/* Records the event, then waits until all ranks have recorded theirs, since they read each other's
 * slots. */
static bool record_for_peers(GpuRank *gpu, cudaEvent_t event, cudaStream_t stream, Error *err)
{
    return CUDA_CALL(err, cudaEventRecord, event, stream) && rank_meet(gpu->rank);
}

static bool await(GpuRank *gpu, const GpuAction *action, cudaStream_t stream, Error *err)
{
    const GpuRank *peer = gpu->team->rank[action->peer - gpu->rank->team->first_rank];
    return CUDA_CALL(err, cudaStreamWaitEvent, stream, action->taken ? peer->taken : peer->offer,
                     0);
}

static ncclResult_t collective(const GpuAction *a, cudaStream_t stream)
{
    if (a->kind == ACT_ALL_REDUCE)
        return ncclAllReduce(a->at_from, a->at_to, a->n_bytes, a->type, a->reduce, a->comm, stream);
    if (a->kind == ACT_ALL_GATHER)
        return ncclAllGather(a->at_from, a->at_to, a->n_bytes, ncclInt8, a->comm, stream);
    if (a->kind == ACT_REDUCE_SCATTER)
        return ncclReduceScatter(a->at_from, a->at_to, a->n_bytes, a->type, a->reduce, a->comm,
                                 stream);
    return a->kind == ACT_SEND
               ? ncclSend(a->at_from, a->n_bytes, ncclInt8, (int)a->peer, a->comm, stream)
               : ncclRecv(a->at_to, a->n_bytes, ncclInt8, (int)a->peer, a->comm, stream);
}

static bool act(GpuRank *gpu, const GpuAction *action, cudaStream_t stream, Error *err)
{
    switch (action->kind) {
    case ACT_LAUNCH:
        return launch(&action->launch, stream, err);
    case ACT_PRODUCT:
        return product_run(&gpu->blas, &action->product, gpu->blas_workspace, stream, err);
    case ACT_COPY:
        return CUDA_CALL(err, cudaMemcpyAsync, action->at_to, action->at_from, action->n_bytes,
                         cudaMemcpyDeviceToDevice, stream);
    case ACT_ZERO:
        return CUDA_CALL(err, cudaMemsetAsync, action->at_to, 0, action->n_bytes, stream);
    case ACT_HOST_OP:
        return op_on_host(gpu, action->op, err);
    case ACT_OFFER:
        return record_for_peers(gpu, gpu->offer, stream, err);
    case ACT_TAKEN:
        return record_for_peers(gpu, gpu->taken, stream, err);
    case ACT_AWAIT:
        return await(gpu, action, stream, err);
    case ACT_GROUP_START:
        return nccl_ok(ncclGroupStart(), NULL, "ncclGroupStart", err);
    case ACT_GROUP_END:
        return nccl_ok(ncclGroupEnd(), NULL, "ncclGroupEnd", err);
    case ACT_SEND:
    case ACT_RECEIVE:
    case ACT_ALL_REDUCE:
    case ACT_ALL_GATHER:
    case ACT_REDUCE_SCATTER:
        break;
    }
    return nccl_ok(collective(action, stream), action->comm, "NCCL", err);
}

/* ---- instructions ---- */

static bool make_event(cudaEvent_t *event, unsigned flags, Error *err)
{
    return *event || CUDA_CALL(err, cudaEventCreateWithFlags, event, flags);
}

static bool record(cudaEvent_t *event, unsigned flags, cudaStream_t stream, Error *err)
{
    return make_event(event, flags, err) && CUDA_CALL(err, cudaEventRecord, *event, stream);
}

/* Copies the instruction's number to where the host sees how far the stream is. */
static bool mark(GpuRank *gpu, int at, Lane lane, Error *err)
{
    return CUDA_CALL(err, cudaMemcpyAsync, &gpu->mark[lane], &gpu->number[at], sizeof(int32_t),
                     cudaMemcpyDeviceToHost, gpu->stream[lane]);
}

static bool do_actions(GpuRank *gpu, int at, cudaStream_t stream, Error *err)
{
    for (int i = 0; i < gpu->actions[at].n; i++)
        if (!act(gpu, &gpu->actions[at].at[i], stream, err))
            return false;
    return true;
}

/* In a captured pass only steps and what they wait for are marked: a copy after each op would cost
 * what capturing saves. */
static bool is_marked(const GpuRank *gpu, int at)
{
    return !gpu->capturing || gpu->use[at].lane == LANE_COMM || gpu->schedule.instr[at].awaited;
}

static bool enqueue(GpuRank *gpu, int at, bool timed, Error *err)
{
    const StreamInstr *sync = &gpu->schedule.instr[at];
    Lane lane = gpu->use[at].lane;
    cudaStream_t stream = gpu->stream[lane];
    gpu->pass_enqueued[lane] = at;
    gpu->timed[at] = timed;
    if (sync->wait >= 0 && !CUDA_CALL(err, cudaStreamWaitEvent, stream, gpu->done[sync->wait], 0))
        return false;
    return (!timed || record(&gpu->begin[at], 0, stream, err)) &&
           do_actions(gpu, at, stream, err) && (!timed || record(&gpu->end[at], 0, stream, err)) &&
           (!is_marked(gpu, at) || mark(gpu, at, lane, err)) &&
           (!sync->awaited || record(&gpu->done[at], cudaEventDisableTiming, stream, err));
}

bool enqueue_instr(GpuRank *gpu, int at, bool timed, Error *err)
{
    if (gpu->actions[at].n == 0 && !gpu->schedule.instr[at].awaited)
        return true;
    Error inner = {.kind = ERROR_RUN};
    double start = run_now_us();
    bool ok = enqueue(gpu, at, timed, &inner);
    gpu->enqueue_us += run_now_us() - start;
    if (ok || !error_is_set(&inner)) /* another rank failed */
        return ok;
    return watch_blame(gpu, at, &inner, err);
}

bool enqueue_pass(GpuRank *gpu, Error *err)
{
    const Program *program = gpu_program(gpu);
    for (int at = program->n_once; at < program->n_instrs; at++)
        if (!enqueue_instr(gpu, at, false, err))
            return false;
    return true;
}

/* ---- passes ---- */

bool pass_begin(GpuRank *gpu, Error *err)
{
    for (int lane = 0; lane < LANES; lane++)
        gpu->mark[lane] = gpu->pass_enqueued[lane] = -1;
    memset(gpu->timed, 0, (size_t)gpu_program(gpu)->n_instrs);
    gpu->enqueue_us = 0;
    gpu->pass_start_us = run_now_us();
    return record(&gpu->pass_begin, 0, gpu->stream[LANE_COMPUTE], err);
}

bool pass_fork(GpuRank *gpu, Error *err)
{
    return record(&gpu->fork, cudaEventDisableTiming, gpu->stream[LANE_COMPUTE], err) &&
           CUDA_CALL(err, cudaStreamWaitEvent, gpu->stream[LANE_COMM], gpu->fork, 0);
}

bool pass_join(GpuRank *gpu, Error *err)
{
    size_t n = (size_t)gpu_program(gpu)->n_instrs;
    cudaStream_t stream = gpu->stream[LANE_COMPUTE];
    return record(&gpu->join, cudaEventDisableTiming, gpu->stream[LANE_COMM], err) &&
           CUDA_CALL(err, cudaStreamWaitEvent, stream, gpu->join, 0) &&
           CUDA_CALL(err, cudaMemcpyAsync, gpu->fault_seen, gpu->fault, n * sizeof *gpu->fault,
                     cudaMemcpyDeviceToHost, stream);
}
