#include "core/run/cuda/gpu.h"

#include <unistd.h>

/* ---- groups ---- */

/* Kinds that NCCL has as one call; others are sends between ranks. */
static bool is_collective(StepKind kind)
{
    return kind == STEP_ALL_REDUCE || kind == STEP_ALL_GATHER || kind == STEP_REDUCE_SCATTER;
}

int comm_group(const GpuTeam *gpus, AtomSet atoms)
{
    for (int g = 0; g < gpus->n_groups; g++)
        if (gpus->groups[g].atoms == atoms)
            return g;
    return -1;
}

static void find_groups(const Team *team, GpuTeam *gpus)
{
    const Program *program = team->program;
    gpus->groups = arena_array(gpus->arena, CommGroup, program->n_instrs);
    for (int i = 0; i < program->n_instrs; i++) {
        const Instr *instr = &program->instrs[i];
        if (instr->kind == INSTR_STEP && instr->step->atoms && is_collective(instr->step->kind) &&
            comm_group(gpus, instr->step->atoms) < 0)
            gpus->groups[gpus->n_groups++] = (CommGroup){.atoms = instr->step->atoms};
    }
}

/* ---- ids of communicators ---- */

static int process_of(const Team *team, int64_t position)
{
    int p = 0;
    while ((int64_t)(p + 1) * team->n_ranks / team->world->n <= position)
        p++;
    return p;
}

static bool share_id(const Team *team, ncclUniqueId *id, int64_t position, Error *err)
{
    int from = process_of(team, position);
    if (from == team->world->me && !NCCL_CALL(err, ncclGetUniqueId, id))
        return false;
    return team->world->share(team->world, id, sizeof *id, from, err);
}

static bool share_group(const Team *team, GpuTeam *gpus, CommGroup *group, Error *err)
{
    const Mesh *mesh = team->plan->mesh;
    group->id = arena_array(gpus->arena, ncclUniqueId, team->n_ranks);
    if (mesh_atoms_size(mesh, group->atoms) == team->n_ranks)
        return true; /* all ranks: the world communicator */
    for (int64_t p = 0; p < team->n_ranks; p++)
        if (mesh_group_member(mesh, group->atoms, p, 0) == p &&
            !share_id(team, &group->id[p], p, err))
            return false;
    return true;
}

/* ---- devices of ranks ---- */

/* Counts the ranks of earlier processes on this host, and all ranks on it. */
static bool count_here(const Team *team, int *n_before, int *n_here, Error *err)
{
    char name[256] = {0}, mine[256] = {0};
    if (gethostname(mine, sizeof mine - 1) != 0)
        return error_kind(err, ERROR_RUN, "this host has no name");
    *n_before = *n_here = 0;
    for (int p = 0; p < team->world->n; p++) {
        memcpy(name, mine, sizeof name);
        if (!team->world->share(team->world, name, sizeof name, p, err))
            return false;
        int n = (int)((int64_t)(p + 1) * team->n_ranks / team->world->n -
                      (int64_t)p * team->n_ranks / team->world->n);
        if (strcmp(name, mine) != 0)
            continue;
        *n_here += n;
        *n_before += p < team->world->me ? n : 0;
    }
    return true;
}

static bool can_read_each_other(GpuTeam *gpus, int n_used, Error *err)
{
    for (int a = 0; a < n_used; a++)
        for (int b = 0; b < n_used; b++) {
            int can = 1;
            if (a != b && !CUDA_CALL(err, cudaDeviceCanAccessPeer, &can, a, b))
                return false;
            if (can)
                continue;
            error_kind(err, ERROR_USAGE,
                       "there are more ranks than GPUs, and %s (device %d) cannot read the memory "
                       "of device %d",
                       gpus->devices[a].name, a, b);
            error_hint(err, "CUDA_VISIBLE_DEVICES=0 puts all ranks on one");
            return false;
        }
    return true;
}

bool comm_team_open(Team *team, GpuTeam *gpus, Error *err)
{
    int n_before, n_here;
    if (!count_here(team, &n_before, &n_here, err))
        return false;
    gpus->first_device = n_before % gpus->n_devices;
    gpus->shared = n_here > gpus->n_devices;
    if (gpus->shared && team->world->n > 1) {
        error_kind(err, ERROR_USAGE, "%d ranks on this host, which has %d GPU%s", n_here,
                   gpus->n_devices, gpus->n_devices == 1 ? "" : "s");
        error_hint(err, "the ranks of one process may share a GPU: run it without mpirun");
        return false;
    }
    if (gpus->shared)
        return can_read_each_other(gpus, gpus->n_devices, err);
    if (team->n_ranks == 1)
        return true;
    find_groups(team, gpus);
    if (!share_id(team, &gpus->world_id, 0, err))
        return false;
    for (int g = 0; g < gpus->n_groups; g++)
        if (!share_group(team, gpus, &gpus->groups[g], err))
            return false;
    return true;
}

/* ---- communicators of a rank ---- */

static bool enable_reads(GpuRank *gpu, Error *err)
{
    for (int d = 0; d < gpu->team->n_devices; d++) {
        if (d == gpu->device->ordinal)
            continue;
        cudaError_t status = cudaDeviceEnablePeerAccess(d, 0);
        if (status == cudaErrorPeerAccessAlreadyEnabled)
            cuda_give_up(cudaGetLastError());
        else if (!cuda_ok(status, "cudaDeviceEnablePeerAccess", err))
            return false;
    }
    return true;
}

static bool open_group(GpuRank *gpu, int g, Error *err)
{
    const Mesh *mesh = gpu->rank->team->plan->mesh;
    const CommGroup *group = &gpu->team->groups[g];
    int64_t n = mesh_atoms_size(mesh, group->atoms), place = 0, position = gpu->rank->position;
    if (n == gpu->rank->team->n_ranks) {
        gpu->group_comm[g] = gpu->comm;
        return true;
    }
    while (mesh_group_member(mesh, group->atoms, position, place) != position)
        place++;
    int64_t first = mesh_group_member(mesh, group->atoms, position, 0);
    return NCCL_CALL(err, ncclCommInitRank, &gpu->group_comm[g], (int)n, group->id[first],
                     (int)place);
}

bool comm_open(GpuRank *gpu, Error *err)
{
    const Team *team = gpu->rank->team;
    if (gpu->team->shared)
        return enable_reads(gpu, err);
    if (team->n_ranks == 1)
        return true;
    gpu->group_comm = arena_array(gpu->arena, ncclComm_t, gpu->team->n_groups);
    if (!NCCL_CALL(err, ncclCommInitRank, &gpu->comm, team->n_ranks, gpu->team->world_id,
                   (int)gpu->rank->position))
        return false;
    for (int g = 0; g < gpu->team->n_groups; g++)
        if (!open_group(gpu, g, err))
            return false;
    return true;
}

bool comm_errors(GpuRank *gpu, Error *err)
{
    for (int g = -1; gpu->comm && g < gpu->team->n_groups; g++) {
        ncclComm_t comm = g < 0 ? gpu->comm : gpu->group_comm[g];
        ncclResult_t status = ncclSuccess;
        if (!nccl_ok(ncclCommGetAsyncError(comm, &status), comm, "ncclCommGetAsyncError", err) ||
            !nccl_ok(status, comm, "NCCL", err))
            return false;
    }
    return true;
}

static void end_comm(GpuRank *gpu, ncclComm_t comm, bool failed)
{
    Error unheard = {0};
    nccl_ok(failed ? ncclCommAbort(comm) : ncclCommDestroy(comm), NULL, "", &unheard);
    (void)gpu;
}

void comm_close(GpuRank *gpu)
{
    bool failed = atomic_load(&gpu->rank->team->failed);
    for (int g = 0; gpu->group_comm && g < gpu->team->n_groups; g++)
        if (gpu->group_comm[g] && gpu->group_comm[g] != gpu->comm)
            end_comm(gpu, gpu->group_comm[g], failed);
    if (gpu->comm)
        end_comm(gpu, gpu->comm, failed);
    gpu->comm = NULL;
    gpu->group_comm = NULL;
}
