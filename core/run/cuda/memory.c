#include "core/run/cuda/gpu.h"

#include <inttypes.h>

/* ---- the rank's memory ---- */

static bool out_of_memory(GpuRank *gpu, Error *err)
{
    size_t free_bytes = 0, bytes = 0;
    cuda_give_up(cudaGetLastError());
    cuda_give_up(cudaMemGetInfo(&free_bytes, &bytes));
    const StreamSchedule *schedule = &gpu->schedule;
    Error inner = {0};
    const char *name = "its scratch";
    double largest = 0;
    if (schedule->peak_slot >= 0) {
        name = tensor_name(gpu_graph(gpu), gpu_program(gpu)->slots[schedule->peak_slot].tensor);
        largest = (double)gpu->slot_bytes[schedule->peak_slot];
    }
    error_kind(
        &inner, ERROR_RUN,
        "out of memory on %s: %.3f GiB are needed at once, %.3f of %.3f are free; the largest "
        "is '%s' with %.3f GiB",
        gpu->device->name, (double)schedule->bytes / 0x1p30, (double)free_bytes / 0x1p30,
        (double)bytes / 0x1p30, name, largest / 0x1p30);
    error_hint(&inner, "more devices, or smaller dims: --dim batch=1");
    return instr_blame(gpu, schedule->peak_at, &inner, err);
}

static bool alloc_device(GpuRank *gpu, void **out, int64_t n_bytes, Error *err)
{
    cudaError_t status = cudaMalloc(out, (size_t)(n_bytes > 0 ? n_bytes : 1));
    if (status == cudaErrorMemoryAllocation) {
        *out = NULL;
        return out_of_memory(gpu, err);
    }
    return cuda_ok(status, "cudaMalloc", err);
}

static bool alloc_pinned(void **out, size_t n_bytes, Error *err)
{
    return CUDA_CALL(err, cudaMallocHost, out, n_bytes);
}

static bool has_products(const GpuRank *gpu)
{
    for (int at = 0; at < gpu_program(gpu)->n_instrs; at++)
        for (int i = 0; i < gpu->actions[at].n; i++)
            if (gpu->actions[at].at[i].kind == ACT_PRODUCT)
                return true;
    return false;
}

static bool put_tables(GpuRank *gpu, Error *err)
{
    int64_t at = 0;
    for (int t = 0; t < gpu->tables.n; t++) {
        const DeviceTable *table = &gpu->tables.at[t];
        if (!memory_put(gpu, gpu->table_memory + at, table->bytes, table->n_bytes, err))
            return false;
        at += (table->n_bytes + PLACE_ALIGN - 1) / PLACE_ALIGN * PLACE_ALIGN;
    }
    return true;
}

/* Opens progress marks and faults: a number per instruction each. */
static bool open_marks(GpuRank *gpu, Error *err)
{
    int n = gpu_program(gpu)->n_instrs;
    size_t n_bytes = sizeof(int32_t) * (size_t)(n > 0 ? n : 1);
    void *fault = NULL, *number = NULL, *seen = NULL, *mark = NULL;
    bool ok = alloc_device(gpu, &fault, (int64_t)n_bytes, err) &&
              alloc_device(gpu, &number, (int64_t)n_bytes, err) &&
              alloc_pinned(&seen, n_bytes, err) &&
              alloc_pinned(&mark, sizeof(int32_t) * LANES, err);
    gpu->fault = fault;
    gpu->number = number;
    gpu->fault_seen = seen;
    gpu->mark = mark;
    if (!ok)
        return false;
    for (int i = 0; i < n; i++)
        gpu->fault_seen[i] = i;
    gpu->mark[LANE_COMPUTE] = gpu->mark[LANE_COMM] = -1;
    ok = memory_put(gpu, gpu->number, gpu->fault_seen, (int64_t)n_bytes, err);
    memset(gpu->fault_seen, 0, n_bytes);
    return ok && memory_put(gpu, gpu->fault, gpu->fault_seen, (int64_t)n_bytes, err);
}

bool memory_open(GpuRank *gpu, Error *err)
{
    void *memory = NULL, *tables = NULL, *staging = NULL, *workspace = NULL;
    bool ok = alloc_device(gpu, &memory, gpu->schedule.bytes, err) &&
              alloc_device(gpu, &tables, gpu->table_bytes, err) &&
              (!has_products(gpu) || alloc_device(gpu, &workspace, BLAS_WORKSPACE_BYTES, err)) &&
              alloc_pinned(&staging, STAGING_BYTES, err);
    gpu->memory = memory;
    gpu->table_memory = tables;
    gpu->blas_workspace = workspace;
    gpu->staging = staging;
    return ok && open_marks(gpu, err) && put_tables(gpu, err);
}

void memory_close(GpuRank *gpu, bool broken)
{
    void *pieces[] = {gpu->memory, gpu->table_memory, gpu->blas_workspace, gpu->fault, gpu->number};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        if (pieces[i] && !broken)
            cuda_give_up(cudaFree(pieces[i]));
    /* Freeing pinned memory waits for all devices, one of which may hang. */
    void *pinned[PINNED_MAX] = {gpu->staging, gpu->fault_seen, gpu->mark};
    const Team *team = gpu->rank->team;
    int64_t place = (gpu->rank->position - team->first_rank) * PINNED_MAX;
    for (int i = 0; i < PINNED_MAX; i++)
        gpu->team->pinned[place + i] = pinned[i];
}

/* ---- transfers through pinned memory ---- */

bool memory_put(GpuRank *gpu, void *to, const void *from, int64_t n_bytes, Error *err)
{
    for (int64_t at = 0; at < n_bytes; at += STAGING_BYTES) {
        int64_t left = n_bytes - at;
        size_t n = (size_t)(left < STAGING_BYTES ? left : STAGING_BYTES);
        memcpy(gpu->staging, (const char *)from + at, n);
        if (!CUDA_CALL(err, cudaMemcpyAsync, (char *)to + at, gpu->staging, n,
                       cudaMemcpyHostToDevice, gpu->stream[LANE_COMPUTE]) ||
            !watch_lane(gpu, LANE_COMPUTE, err))
            return false;
        rank_beats(gpu->rank);
    }
    return true;
}

static bool memory_get(GpuRank *gpu, void *to, const void *from, int64_t n_bytes, Error *err)
{
    for (int64_t at = 0; at < n_bytes; at += STAGING_BYTES) {
        int64_t left = n_bytes - at;
        size_t n = (size_t)(left < STAGING_BYTES ? left : STAGING_BYTES);
        if (!CUDA_CALL(err, cudaMemcpyAsync, gpu->staging, (const char *)from + at, n,
                       cudaMemcpyDeviceToHost, gpu->stream[LANE_COMPUTE]) ||
            !watch_lane(gpu, LANE_COMPUTE, err))
            return false;
        memcpy((char *)to + at, gpu->staging, n);
    }
    return true;
}

static void *slot_at(const GpuRank *gpu, int32_t slot)
{
    return gpu->memory + gpu->schedule.place[slot];
}

Local *memory_host_local(GpuRank *gpu, int32_t slot, Error *err)
{
    const Plan *plan = gpu->rank->team->plan;
    const ProgramSlot *held = &gpu_program(gpu)->slots[slot];
    const Local *at = gpu->rank->slot[slot];
    Local *local =
        local_new_empty(at->dtype, &at->whole, shardings_at(plan->shardings, held->sharding),
                        plan->mesh, gpu->rank->position);
    if (local_alloc(local))
        return local;
    error_kind(err, ERROR_RUN, "out of memory on the host for '%s'",
               tensor_name(gpu_graph(gpu), held->tensor));
    local_free(local);
    return NULL;
}

bool memory_load(GpuRank *gpu, int32_t slot, Error *err)
{
    if (!gpu->rank->slot[slot] || gpu->schedule.place[slot] < 0)
        return true;
    Local *part = memory_host_local(gpu, slot, err);
    if (!part)
        return false;
    Arena *scratch = arena_new();
    feed_fill(&gpu->rank->team->feeds, gpu_program(gpu)->slots[slot].tensor, 0, part, scratch);
    bool ok = memory_put(gpu, slot_at(gpu, slot), part->data, local_bytes(part), err);
    arena_free(scratch);
    local_free(part);
    return ok;
}

bool memory_fetch(GpuRank *gpu, int32_t slot, Local *to, Error *err)
{
    if (gpu->schedule.place[slot] < 0)
        return error_kind(err, ERROR_RUN, "'%s' has no memory on the device",
                          tensor_name(gpu_graph(gpu), gpu_program(gpu)->slots[slot].tensor));
    return memory_get(gpu, to->data, slot_at(gpu, slot), local_bytes(to), err);
}
