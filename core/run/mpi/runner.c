/* runner.c - ranks as processes under mpirun: ops as on the host, steps by MPI. */
#include "core/run/runner.h"

#include "core/base/intern.h"
#include "core/plan/routed.h"
#include "core/run/mpi/steps.h"
#include "core/run/mpi/world.h"
#include "core/run/plugin.h"

#include <stdlib.h>

typedef Vec(MPI_Request) Requests;

typedef struct {
    Arena *arena;
    MpiWorld *world; /* NULL: a run of one rank */
    MpiSteps steps;
    MpiStep **step; /* per instruction; NULL: not prepared */
    RankWatch watch;
    Requests coming, going; /* parts on their way around a ring */
} Own;

/* ---- agreement of processes ---- */

typedef enum { SAME_MODEL, SAME_PLAN, SAME_OPTIONS, SAME_COUNT } Same;

static uint64_t hash_model(const Plan *plan, Arena *arena)
{
    const Inferred *inferred = plan->inferred;
    Buf text = buf_new(arena);
    for (int32_t t = 0; t < inferred->graph->n_tensors; t++) {
        const Shape *shape = inferred_shape(inferred, t);
        buf_printf(&text, "%s %d", tensor_name(inferred->graph, t), inferred->dtype[t]);
        for (int64_t d = 0; shape && d < shape->n_dims; d++)
            buf_printf(&text, " %lld", (long long)shape->dim[d]);
        buf_putc(&text, '\n');
    }
    return hash_bytes(text.s, text.n);
}

static uint64_t hash_plan(const Plan *plan, const Program *program, Arena *arena)
{
    Buf text = buf_new(arena);
    mesh_format(plan->mesh, &text);
    for (int i = 0; i < program->n_slots; i++) {
        const ProgramSlot *slot = &program->slots[i];
        buf_printf(&text, "\n%d ", slot->tensor);
        submesh_format(plan->mesh, plan->decided->submeshes[slot->devices], &text);
        if (slot->sharding >= 0) /* else replicated */
            sharding_format(shardings_at(plan->shardings, slot->sharding), plan->mesh,
                            VIEW_OURS_ASCII, &text, NULL);
    }
    for (int i = 0; i < program->n_instrs; i++) {
        const Instr *instr = &program->instrs[i];
        buf_printf(&text, "\n%d %d %d %d %d", instr->kind, instr->slot, instr->from, instr->op,
                   instr->target);
        if (instr->step)
            buf_printf(&text, " %d %x", instr->step->kind, instr->step->atoms);
    }
    return hash_bytes(text.s, text.n);
}

static uint64_t hash_options(const RunOptions *options, Arena *arena)
{
    Buf text = buf_new(arena);
    buf_printf(&text, "%d %d %d %d %llu", options->verify, options->deterministic, options->trace,
               run_passes(options), (unsigned long long)options->seed);
    return hash_bytes(text.s, text.n);
}

/* Processes that disagree would wait for each other forever. */
static bool all_alike(const Team *team, MpiWorld *world, Arena *arena, Error *err)
{
    static const char *const other[] = {/* ORDER SAME */ "another model", "another plan",
                                        "other options"};
    uint64_t mine[SAME_COUNT] = {hash_model(team->plan, arena),
                                 hash_plan(team->plan, team->program, arena),
                                 hash_options(team->options, arena)};
    uint64_t *all = arena_array(arena, uint64_t, (int64_t)SAME_COUNT * team->world->n);
    if (!MPI_CALL(err, MPI_Allgather, mine, SAME_COUNT, MPI_UINT64_T, all, SAME_COUNT, MPI_UINT64_T,
                  world->comm))
        return false;
    for (int p = 1; p < team->world->n; p++)
        for (int s = 0; s < SAME_COUNT; s++)
            if (all[p * SAME_COUNT + s] != all[s])
                return error_kind(err, ERROR_USAGE, "process %d has %s than process 0", p,
                                  other[s]);
    return true;
}

static bool open_team(Team *team, Error *err)
{
    Arena *arena = arena_new();
    Own *own = arena_make(arena, Own);
    *own = (Own){.arena = arena, .world = mpi_world_of(team->world)};
    team->own = own;
    if (team->n_ranks == 1)
        own->world = NULL;
    if (team->n_local != 1) {
        error_kind(err, ERROR_USAGE, "%d ranks need as many processes, there %s %d", team->n_ranks,
                   team->world->n == 1 ? "is" : "are", team->world->n);
        error_hint(err, "mpirun -n %d dimscope run .. --backend mpi", team->n_ranks);
        return false;
    }
    if (!own->world)
        return true;
    own->step = arena_array(arena, MpiStep *, team->program->n_instrs);
    return all_alike(team, own->world, arena, err) &&
           mpi_steps_open(arena, team->plan->mesh, own->world->comm, team->options->deterministic,
                          &own->steps, err) &&
           watch_open(arena, &own->world->host, team, &own->watch, err);
}

static void close_team(Team *team)
{
    Own *own = team->own;
    free(own->coming.at);
    free(own->going.at);
    if (own->watch.team) {
        watch_close(&own->watch);
        mpi_steps_close(&own->steps);
    }
    arena_free(own->arena);
}

/* ---- steps ---- */

static MpiStep *prepare(Rank *rank, const Instr *instr, Error *err)
{
    const Team *team = rank->team;
    const Plan *plan = team->plan;
    const ProgramSlot *from = &team->program->slots[instr->from],
                      *to = &team->program->slots[instr->slot];
    MpiStepCall call = {.kind = instr->step->kind, .number = instr - team->program->instrs};
    call.collective =
        (Collective){plan->mesh, shardings_at(plan->shardings, instr->step->from),
                     shardings_at(plan->shardings, instr->step->to), instr->step->atoms};
    call.makers = plan->decided->submeshes[from->devices];
    call.readers = plan->decided->submeshes[to->devices];
    call.dtype = (Dtype)plan->inferred->dtype[to->tensor];
    call.ragged = 1 + routed_row_dim(plan->routed, to->tensor);
    return mpi_step_prepare(&((Own *)team->own)->steps, &call, err);
}

/* Measures the wait for the group when the run is traced. */
static bool wait_for_group(const Team *team, const MpiStep *step, double *wait_us, Error *err)
{
    double start = run_now_us();
    if (!team->options->trace || step->comm == MPI_COMM_NULL)
        return true;
    bool ok = MPI_CALL(err, MPI_Barrier, step->comm);
    *wait_us = run_now_us() - start;
    return ok;
}

static bool do_step(Rank *rank, const Instr *instr, const Local *source, Local *target,
                    double *wait_us, Error *err)
{
    Own *own = rank->team->own;
    MpiStep **step = &own->step[instr - rank->team->program->instrs];
    if (!*step)
        *step = prepare(rank, instr, err);
    return *step && wait_for_group(rank->team, *step, wait_us, err) &&
           mpi_step_do(&own->steps, *step, source, target, err);
}

/* ---- steps of sequences ---- */

/* What the source holds, local_length(), on all ranks of the step: those that have no part of it
 * are told by the first that has one. */
static bool tell_length(const Rank *rank, const Instr *instr, const Local *source, int64_t *n,
                        Error *err)
{
    enum { LENGTH_TAG = 2 };
    const Team *team = rank->team;
    const Plan *plan = team->plan;
    MPI_Comm comm = ((const Own *)team->own)->world->comm;
    SubMesh makers = plan->decided->submeshes[team->program->slots[instr->from].devices];
    SubMesh readers = plan->decided->submeshes[team->program->slots[instr->slot].devices];
    if (!source)
        return MPI_CALL(err, MPI_Recv, n, 1, MPI_INT64_T, (int)makers.first, LENGTH_TAG, comm,
                        MPI_STATUS_IGNORE);
    *n = local_length(source);
    bool ok = true;
    for (int64_t r = 0; ok && rank->position == makers.first && r < plan->mesh->n_devices; r++)
        if (submesh_has(plan->mesh, readers, r) && !submesh_has(plan->mesh, makers, r))
            ok = MPI_CALL(err, MPI_Send, n, 1, MPI_INT64_T, (int)r, LENGTH_TAG, comm);
    return ok;
}

/* Fills the rank's part of a tensor in a list from an element of the source; NULL where the rank
 * has no part of the one or the other. */
static bool do_item(Rank *rank, const Instr *instr, const Local *source, Local **target,
                    double *wait_us, Error *err)
{
    const Plan *plan = rank->team->plan;
    int32_t tensor = rank->team->program->slots[instr->slot].tensor;
    *target = NULL;
    if (rank_has(rank, instr->slot)) {
        *target = local_new_empty(
            (Dtype)plan->inferred->dtype[tensor], program_shape(plan->inferred, tensor),
            shardings_at(plan->shardings, instr->step->to), plan->mesh, rank->position);
        if (!local_alloc(*target))
            return error_kind(err, ERROR_RUN, "out of memory");
    }
    return do_step(rank, instr, source, *target, wait_us, err);
}

/* A step of a sequence, element by element, or of what an optional holds. */
static bool do_list(Rank *rank, const Instr *instr, double *wait_us, Error *err)
{
    const Local *source = rank_has(rank, instr->from) ? rank->slot[instr->from] : NULL;
    int32_t tensor = rank->team->program->slots[instr->slot].tensor;
    Dtype dtype = (Dtype)rank->team->plan->inferred->dtype[tensor];
    bool reads = rank_has(rank, instr->slot), ok = true;
    int64_t n;
    Local *made = NULL;
    if (!tell_length(rank, instr, source, &n, err))
        return false;
    if (n == LIST_TENSOR)
        ok = do_item(rank, instr, source, &made, wait_us, err);
    else if (reads)
        made = n == LIST_NOTHING ? local_new_nothing(dtype) : local_new_sequence(dtype);
    for (int64_t i = 0; ok && i < n; i++) {
        Local *item;
        ok = do_item(rank, instr, source ? source->items.at[i] : NULL, &item, wait_us, err);
        if (item)
            local_append(made, item);
    }
    if (made && ok)
        rank_put(rank, instr->slot, made);
    else
        local_free(made);
    return ok;
}

static bool run_step(Rank *rank, const Instr *instr, double *wait_us)
{
    Own *own = rank->team->own;
    atomic_int *state = &rank->result->head->state;
    bool reads = rank_has(rank, instr->slot);
    if (!own->world)
        return host_step(rank, instr, wait_us);
    if (!reads && !rank_has(rank, instr->from))
        return true;
    bool list = inferred_is_list(rank->team->plan->inferred,
                                 rank->team->program->slots[instr->slot].tensor);
    Local *target = reads && !list ? host_make_slot(rank, instr->slot) : NULL;
    if (reads && !list && !target)
        return false;
    Error inner = {0};
    atomic_store(state, RANK_WAITING);
    watch_note(&own->watch);
    bool ok = list ? do_list(rank, instr, wait_us, &inner)
                   : do_step(rank, instr, rank->slot[instr->from], target, wait_us, &inner);
    atomic_store(state, RANK_WORKING);
    return ok || rank_step_failed(rank, instr, &inner);
}

/* ---- ops and ranks ---- */

static bool run_op(Rank *rank, const Instr *instr)
{
    Own *own = rank->team->own;
    if (own->world)
        watch_note(&own->watch);
    return host_op(rank, instr);
}

/* Posts one message, in pieces that MPI's int counts can express. */
static bool post(Requests *requests, bool sends, const MpiWorld *world, int64_t other,
                 const Local *local, Error *err)
{
    enum { RING_TAG = 1, PIECE = 1 << 30 };
    bool ok = true;
    for (int64_t at = 0, n = local_bytes(local); ok && at < n; at += PIECE) {
        int now = (int)(n - at < PIECE ? n - at : PIECE);
        char *data = (char *)local->data + at;
        vec_push(NULL, requests, MPI_REQUEST_NULL);
        MPI_Request *request = &requests->at[requests->n - 1];
        int code = sends
                       ? MPI_Isend(data, now, MPI_BYTE, (int)other, RING_TAG, world->comm, request)
                       : MPI_Irecv(data, now, MPI_BYTE, (int)other, RING_TAG, world->comm, request);
        ok = mpi_fine(code, sends ? "MPI_Isend" : "MPI_Irecv", err);
    }
    return ok;
}

static bool pass_begin(Rank *rank, RingPass *pass)
{
    Own *own = rank->team->own;
    Error err = {0};
    bool ok = true;
    for (int i = 0; ok && i < pass->n; i++)
        ok = post(&own->coming, false, own->world, pass->before, pass->to[i], &err);
    for (int i = 0; ok && i < pass->n; i++)
        ok = post(&own->going, true, own->world, pass->next, pass->from[i], &err);
    return ok || rank_failed(rank, &err);
}

static bool pass_end(Rank *rank, const Instr *instr, RingPass *pass)
{
    Own *own = rank->team->own;
    Error err = {0};
    (void)instr;
    (void)pass;
    atomic_int *state = &rank->result->head->state;
    atomic_store(state, RANK_WAITING);
    watch_note(&own->watch);
    bool ok = MPI_CALL(&err, MPI_Waitall, own->coming.n, own->coming.at, MPI_STATUSES_IGNORE) &&
              MPI_CALL(&err, MPI_Waitall, own->going.n, own->going.at, MPI_STATUSES_IGNORE);
    atomic_store(state, RANK_WORKING);
    own->coming.n = own->going.n = 0;
    return ok || rank_failed(rank, &err);
}

/* Nothing more may come into parts that are freed. */
static void stop_coming(Own *own)
{
    for (int i = 0; i < own->coming.n; i++)
        if (own->coming.at[i] != MPI_REQUEST_NULL)
            MPI_Cancel(&own->coming.at[i]);
    own->coming.n = 0;
}

/* Converts times to the clock of process 0. */
static void close_rank(Rank *rank)
{
    Own *own = rank->team->own;
    TraceSpan *span = rank->result->last_span;
    stop_coming(own);
    for (int i = 0; own->world && span && i < rank->team->program->n_instrs; i++)
        if (span[i].end_us > 0) {
            span[i].start_us += own->world->ahead_us;
            span[i].end_us += own->world->ahead_us;
        }
}

static const Runner mpi_runner = {.name = "mpi",
                                  .open = open_team,
                                  .close = close_team,
                                  .rank_close = close_rank,
                                  .load = host_load,
                                  .op = run_op,
                                  .step = run_step,
                                  .drop = rank_unmake,
                                  .pass_begin = pass_begin,
                                  .pass_end = pass_end,
                                  .fetch = host_fetch};

extern const Plugin dimscope_plugin;
const Plugin dimscope_plugin = {
    .version = PLUGIN_VERSION, .runner = &mpi_runner, .world_open = mpi_world_open};
