/* host_runner.c - ranks as threads of this process, with shared Locals.
 *
 * A step reads the slots of other ranks between two meetings of those that hold its source or its
 * target: after the first all sources are filled, before the second none is freed. Other ranks go
 * on, so the stages of a pipeline work side by side. All ranks have one list, in which whoever
 * waits is waited for by nobody before: they cannot wait for each other in a circle.
 */
#include "core/run/runner.h"

#include "core/base/units.h"
#include "core/base/wait.h"
#include "core/run/collective.h"

#include <stdlib.h>

/* Per instruction: ranks that came to the first and to the second meeting, of all times that it was
 * executed. */
typedef struct {
    atomic_uint came, left;
} Meeting;

static bool open_team(Team *team, Error *err)
{
    if (team->world->n == 1) {
        size_t n = (size_t)team->program->n_instrs + 1;
        team->own = calloc(n, sizeof(Meeting));
        return team->own || error_kind(err, ERROR_RUN, "out of memory for %zu instructions", n);
    }
    error_kind(err, ERROR_USAGE, "the host's ranks are threads of one process, these are %d",
               team->world->n);
    error_hint(err, "under mpirun: --backend mpi");
    return false;
}

static void close_team(Team *team)
{
    free(team->own);
}

/* How often the rank has executed each instruction. */
static bool open_rank(Rank *rank)
{
    Error err = {0};
    rank->own = calloc((size_t)rank->team->program->n_instrs + 1, sizeof(int));
    if (rank->own)
        return true;
    error_kind(&err, ERROR_RUN, "out of memory");
    return rank_failed(rank, &err);
}

static void close_rank(Rank *rank)
{
    free(rank->own);
}

static bool out_of_memory(Rank *rank, int32_t slot, int64_t n_bytes)
{
    const Team *team = rank->team;
    Error err = {0};
    Arena *scratch = arena_new();
    Buf wants = buf_new(scratch), has = buf_new(scratch);
    units_format_bytes(n_bytes, &wants);
    int64_t counted = rank->slot[slot] ? n_bytes : 0;
    units_format_bytes(rank->result->head->live_bytes - counted, &has);
    error_kind(&err, ERROR_RUN, "out of memory for '%s': %s beside %s that it has",
               tensor_name(team->plan->inferred->graph, team->program->slots[slot].tensor), wants.s,
               has.s);
    arena_free(scratch);
    return rank_failed(rank, &err);
}

Local *host_make_slot(Rank *rank, int32_t slot)
{
    Local *local = rank_make(rank, slot);
    if (!local || local_alloc(local))
        return local;
    out_of_memory(rank, slot, local_bytes(local));
    return NULL;
}

/* The rank's part of a tensor in a list; NULL with *err if it is not as inferred. */
static Local *part_of_given(const Rank *rank, int32_t slot, const Local *given, Error *err)
{
    const Plan *plan = rank->team->plan;
    const ProgramSlot *at = &rank->team->program->slots[slot];
    if (!shape_equal(&given->whole, program_shape(plan->inferred, at->tensor))) {
        error_kind(err, ERROR_RUN, "an element of '%s' has another shape than the model says",
                   tensor_name(plan->inferred->graph, at->tensor));
        return NULL;
    }
    const Sharding *sharding = shardings_at(plan->shardings, at->sharding);
    Local *part = local_new(given->dtype, &given->whole, sharding, plan->mesh, rank->position);
    Picks picks = picks_between(part->arena, part, given);
    local_pick(part, given, &picks);
    return part;
}

/* A sequence, an optional: of a sharded one the rank's part of each element. */
static bool load_listed(Rank *rank, int32_t slot, const Local *listed)
{
    Error err = {0};
    bool sharded = rank->team->program->slots[slot].sharding >= 0;
    int64_t n = sharded ? local_length(listed) : LIST_NOTHING;
    Local *local = n == LIST_TENSOR ? part_of_given(rank, slot, listed, &err)
                   : n < 0          ? local_copy(listed)
                                    : local_new_sequence(listed->dtype);
    for (int64_t i = 0; local && i < n; i++) {
        Local *part = part_of_given(rank, slot, listed->items.at[i], &err);
        if (!part) {
            local_free(local);
            return rank_failed(rank, &err);
        }
        local_append(local, part);
    }
    if (!local)
        return error_is_set(&err) ? rank_failed(rank, &err)
                                  : out_of_memory(rank, slot, local_bytes(listed));
    rank_put(rank, slot, local);
    return true;
}

bool host_load(Rank *rank, const Instr *instr)
{
    int32_t slot = instr->slot;
    const Local *listed = feed_listed(&rank->team->feeds, rank->team->program->slots[slot].tensor);
    if (listed)
        return load_listed(rank, slot, listed);
    Local *local = host_make_slot(rank, slot);
    if (!local)
        return false;
    Arena *scratch = arena_new();
    feed_fill(&rank->team->feeds, rank->team->program->slots[slot].tensor, rank_batch(rank, instr),
              local, scratch);
    arena_free(scratch);
    return true;
}

bool host_op(Rank *rank, const Instr *instr)
{
    KernelCall call;
    Error inner = {.kind = ERROR_RUN}, err = {0};
    Arena *scratch = arena_new();
    bool ok = rank_kernel_call(rank, instr, host_make_slot, scratch, &call);
    bool begun = ok;
    bool ring = ok && ring_index_of(rank->team->plan, instr->op) >= 0;
    if (ok && !(ring ? ring_op(rank, instr, &call, &inner) : kernel_run_part(&call, &inner))) {
        kernel_blame(rank->team->plan->inferred->graph, instr->op, &inner, &err);
        ok = rank_failed(rank, &err);
    }
    if (begun)
        ok = rank_keep_made(rank, &call) && ok;
    arena_free(scratch);
    return ok;
}

/* The part of a tensor that the rank receives, as a Local of its own; NULL on error. */
static Local *part_from(const Collective *c, int64_t position, const Local *const *held,
                        Arena *scratch, Error *err)
{
    Local *part = local_new_empty(held[0]->dtype, &held[0]->whole, c->to, c->mesh, position);
    if (!local_alloc(part))
        error_kind(err, ERROR_RUN, "out of memory");
    else if (collective_run(c, position, held, part, scratch, err))
        return part;
    local_free(part);
    return NULL;
}

/* The parts of a sequence, element by element, or of what an optional holds. */
static Local *list_from(const Collective *c, int64_t position, const Local *const *held,
                        Arena *scratch, Error *err)
{
    int64_t n = local_length(held[0]), n_held = mesh_atoms_size(c->mesh, c->atoms);
    const Local **items = arena_array(scratch, const Local *, n_held);
    if (n == LIST_TENSOR)
        return part_from(c, position, held, scratch, err);
    if (n == LIST_NOTHING)
        return local_new_nothing(held[0]->dtype);
    Local *list = local_new_sequence(held[0]->dtype);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < n_held; k++)
            items[k] = held[k]->items.at[i];
        Local *part = part_from(c, position, items, scratch, err);
        if (!part) {
            local_free(list);
            return NULL;
        }
        local_append(list, part);
    }
    return list;
}

static bool fill_from_group(Rank *rank, const Instr *instr, Arena *scratch)
{
    const Team *team = rank->team;
    const Plan *plan = team->plan;
    Collective collective = {.mesh = plan->mesh, .atoms = instr->step->atoms};
    collective.from = shardings_at(plan->shardings, instr->step->from);
    collective.to = shardings_at(plan->shardings, instr->step->to);
    int64_t n = mesh_atoms_size(plan->mesh, collective.atoms);
    const Local **held = arena_array(scratch, const Local *, n);
    SubMesh source = plan->decided->submeshes[team->program->slots[instr->from].devices];
    for (int64_t i = 0; i < n; i++) {
        int64_t member = mesh_group_member(plan->mesh, collective.atoms, rank->position, i);
        member = submesh_twin(plan->mesh, source, member);
        held[i] = team->ranks[member].slot[instr->from];
    }
    Error inner = {.kind = ERROR_RUN};
    if (inferred_is_list(plan->inferred, team->program->slots[instr->slot].tensor)) {
        Local *list = list_from(&collective, rank->position, held, scratch, &inner);
        if (list)
            rank_put(rank, instr->slot, list);
        return list || rank_step_failed(rank, instr, &inner);
    }
    Local *target = host_make_slot(rank, instr->slot);
    if (!target)
        return false;
    return collective_run(&collective, rank->position, held, target, scratch, &inner) ||
           rank_step_failed(rank, instr, &inner);
}

/* Ranks that hold the source or the target of a step. */
static int64_t count_ranks(const Team *team, const Instr *instr)
{
    const Plan *plan = team->plan;
    SubMesh from = plan->decided->submeshes[team->program->slots[instr->from].devices];
    SubMesh to = plan->decided->submeshes[team->program->slots[instr->slot].devices];
    int64_t n = submesh_size(plan->mesh, from);
    for (int64_t r = 0; r < plan->mesh->n_devices && !submesh_equal(from, to); r++)
        n += submesh_has(plan->mesh, to, r) && !submesh_has(plan->mesh, from, r);
    return n;
}

static bool meet(Rank *rank, atomic_uint *here, unsigned n)
{
    RankHead *head = rank->result->head;
    int state = atomic_load(&head->state);
    atomic_store(&head->state, RANK_WAITING);
    unsigned came = atomic_fetch_add(here, 1) + 1;
    if (came == n)
        wait_wake(here);
    for (int n_turns = 0; came < n && !atomic_load(&rank->team->failed); came = atomic_load(here))
        wait_change(here, came, &n_turns);
    atomic_store(&head->state, state);
    return !atomic_load(&rank->team->failed);
}

static bool fill(Rank *rank, const Instr *instr)
{
    Arena *scratch = arena_new();
    bool ok = !rank_has(rank, instr->slot) || fill_from_group(rank, instr, scratch);
    arena_free(scratch);
    return ok;
}

bool host_step(Rank *rank, const Instr *instr, double *wait_us)
{
    Team *team = rank->team;
    *wait_us = 0;
    if (instr->step->atoms == 0 || team->n_local == 1)
        return fill(rank, instr);
    if (!rank_has(rank, instr->slot) && !rank_has(rank, instr->from))
        return true;
    int64_t at = instr - team->program->instrs, times = ++((int *)rank->own)[at];
    Meeting *meeting = (Meeting *)team->own + at;
    unsigned n = (unsigned)(times * count_ranks(team, instr));
    double start = run_now_us();
    if (!meet(rank, &meeting->came, n))
        return false;
    *wait_us = run_now_us() - start;
    return fill(rank, instr) && meet(rank, &meeting->left, n);
}

static bool pass_begin(Rank *rank, RingPass *pass)
{
    rank->handed = pass->from;
    return true;
}

/* All ranks of the op meet before and behind the copies, as in a step. */
static bool pass_end(Rank *rank, const Instr *instr, RingPass *pass)
{
    Team *team = rank->team;
    const Plan *plan = team->plan;
    int64_t at = instr - team->program->instrs, times = ++((int *)rank->own)[at];
    SubMesh on = plan->decided->submeshes[plan_devices(plan, instr->op)];
    unsigned n = (unsigned)(times * submesh_size(plan->mesh, on));
    Meeting *meeting = (Meeting *)team->own + at;
    if (!meet(rank, &meeting->came, n))
        return false;
    Local *const *from = team->ranks[pass->before].handed;
    for (int i = 0; i < pass->n; i++)
        memcpy(pass->to[i]->data, from[i]->data, (size_t)local_bytes(pass->to[i]));
    return meet(rank, &meeting->left, n);
}

const Local *host_fetch(Rank *rank, int32_t slot)
{
    return rank->slot[slot];
}

const Runner host_runner = {.name = "host",
                            .open = open_team,
                            .close = close_team,
                            .rank_open = open_rank,
                            .rank_close = close_rank,
                            .load = host_load,
                            .op = host_op,
                            .step = host_step,
                            .drop = rank_unmake,
                            .pass_begin = pass_begin,
                            .pass_end = pass_end,
                            .fetch = host_fetch};
