#include "core/run/verify/joined.h"

#include "core/run/runner.h"

#include <math.h>

static const Sharding *sharding_of(const Team *team, int32_t slot)
{
    int32_t sharding = team->program->slots[slot].sharding;
    return sharding < 0 ? NULL : shardings_at(team->plan->shardings, sharding);
}

bool slot_is_partial(const Team *team, int32_t slot)
{
    const Sharding *sharding = sharding_of(team, slot);
    return sharding && sharding_partials(sharding);
}

/* The reduction of a partial value: a mean if it is a sum over some axes and a mean over others,
 * *averaged. Returns false when it is partial by several reductions of other kinds. */
static bool reduction_of(const Sharding *sharding, ReduceOp *out, AtomSet *averaged)
{
    *out = REDUCE_NONE;
    *averaged = 0;
    for (int a = 0; a < ATOMS_MAX; a++) {
        ReduceOp reduce = (ReduceOp)sharding->partial[a];
        if (reduce == REDUCE_AVG) {
            *averaged |= (AtomSet)1 << a;
            reduce = REDUCE_SUM;
        }
        if (reduce != REDUCE_NONE && *out != REDUCE_NONE && reduce != *out)
            return false;
        *out = reduce != REDUCE_NONE ? reduce : *out;
    }
    *out = *averaged ? REDUCE_AVG : *out;
    return true;
}

/* The elements while they are being joined: as numbers if parts are addends. */
typedef struct {
    Joined *joined;
    ReduceOp reduce;
    int64_t n_averaged; /* of REDUCE_AVG: what the sum is divided by */
    double *real;
    int64_t *number;
    uint8_t *n_seen; /* per element: 0 or more parts have it */
} Joining;

static double combine(ReduceOp reduce, double a, double b)
{
    switch (reduce) {
    case REDUCE_MAX:
    case REDUCE_ANY:
        return isnan(b) || b > a ? b : a;
    case REDUCE_MIN:
    case REDUCE_ALL:
        return isnan(b) || b < a ? b : a;
    case REDUCE_PROD:
        return a * b;
    case REDUCE_NONE:
    case REDUCE_SUM:
    case REDUCE_AVG:
        break;
    }
    return a + b;
}

static int64_t combine_ints(ReduceOp reduce, int64_t a, int64_t b)
{
    if (reduce == REDUCE_PROD)
        return (int64_t)((uint64_t)a * (uint64_t)b);
    if (reduce == REDUCE_MAX || reduce == REDUCE_ANY)
        return a > b ? a : b;
    if (reduce == REDUCE_MIN || reduce == REDUCE_ALL)
        return a < b ? a : b;
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static void add_element(const Joining *j, int64_t place, const Local *part, int64_t i)
{
    bool first = j->n_seen[place] == 0;
    j->n_seen[place] = 1;
    if (j->number) {
        int64_t x;
        local_load(part, i, 1, 1, NUMBER_I64, &x);
        j->number[place] = first ? x : combine_ints(j->reduce, j->number[place], x);
        return;
    }
    double x;
    local_load(part, i, 1, 1, NUMBER_F64, &x);
    j->real[place] = first ? x : combine(j->reduce, j->real[place], x);
    if (j->joined->size)
        j->joined->size[place] =
            j->reduce == REDUCE_PROD ? fabs(j->real[place]) : j->joined->size[place] + fabs(x);
}

static void add_part(const Joining *j, const Local *part)
{
    Local *whole = j->joined->whole;
    int64_t bytes = element_bytes(whole->dtype);
    Arena *scratch = arena_new();
    Picks picks = picks_whole(scratch, part);
    Stretch s;
    for (PickScan scan = picks_scan(&picks); picks_next(&scan, &s);) {
        if (j->n_seen)
            for (int64_t i = 0; i < s.n; i++)
                add_element(j, s.from + i * s.step, part, s.to + i);
        else if (s.step == 1)
            memcpy(local_at(whole, s.from), local_at(part, s.to), (size_t)(s.n * bytes));
        else
            for (int64_t i = 0; i < s.n; i++)
                memcpy(local_at(whole, s.from + i * s.step), local_at(part, s.to + i),
                       (size_t)bytes);
    }
    arena_free(scratch);
}

/* Adds what a part of a running sum has at its end to all places behind it, or from its start to
 * all before it. */
static void add_carried(const Joining *j, const Local *part, int dim, bool behind)
{
    const Shape *whole = &part->whole;
    int64_t n = part->shape.dim[dim], stride[DIMS_MAX];
    row_major_strides(whole, stride);
    if (shape_elements(&part->shape) == 0)
        return;
    int64_t first = part->runs[dim].at[0].start, end = behind ? first + n - 1 : first;
    Arena *scratch = arena_new();
    Picks picks = picks_whole(scratch, part);
    Stretch s;
    for (PickScan scan = picks_scan(&picks); picks_next(&scan, &s);)
        for (int64_t i = 0; i < s.n; i++) {
            int64_t place = s.from + i * s.step, step = behind ? stride[dim] : -stride[dim];
            int64_t at = place / stride[dim] % whole->dim[dim];
            int64_t left = at != end ? 0 : behind ? whole->dim[dim] - 1 - at : at;
            for (int64_t k = 1; k <= left; k++)
                add_element(j, place + k * step, part, s.to + i);
        }
    arena_free(scratch);
}

static Joining begin_joining(Arena *arena, Joined *joined, ReduceOp reduce)
{
    Joining out = {.joined = joined, .reduce = reduce};
    int64_t n = shape_elements(&joined->whole->shape);
    Dtype dtype = joined->whole->dtype;
    if (!joined->of_addends)
        return out;
    out.n_seen = arena_array(arena, uint8_t, n);
    if (dtype_number(dtype) == NUMBER_I64) {
        out.number = arena_array(arena, int64_t, n);
        return out;
    }
    out.real = arena_array(arena, double, n);
    if (reduce == REDUCE_SUM || reduce == REDUCE_AVG || reduce == REDUCE_PROD)
        joined->size = arena_array(arena, double, n);
    return out;
}

static void end_joining(const Joining *j)
{
    Joined *joined = j->joined;
    int64_t n = shape_elements(&joined->whole->shape);
    if (!joined->of_addends)
        return;
    for (int64_t i = 0; j->reduce == REDUCE_AVG && i < n; i++) {
        if (j->number) {
            j->number[i] /= j->n_averaged;
            continue;
        }
        j->real[i] /= (double)j->n_averaged;
        joined->size[i] /= (double)j->n_averaged;
    }
    if (j->number)
        local_store(joined->whole, 0, n, NUMBER_I64, j->number);
    else
        local_store(joined->whole, 0, n, NUMBER_F64, j->real);
}

/* The part of a rank: posted here if the rank is in this process, else broadcast by its process
 * into *received. Returns NULL without an error if the rank has no part. */
static bool part_of(Joiner *joiner, int32_t slot, int64_t position, const Local **part,
                    Local **received, Error *err)
{
    const Team *team = joiner->team;
    World *world = team->world;
    int process = (int)(position / team->n_local);
    const ProgramSlot *at = &team->program->slots[slot];
    *part = process == world->me ? joiner->posted[position - team->first_rank] : NULL;
    *received = NULL;
    if (world->n == 1)
        return true;
    bool there = *part != NULL;
    if (!world_share_bool(world, &there, process, err) || !there)
        return !error_is_set(err);
    if (process != world->me) {
        const Inferred *inferred = team->plan->inferred;
        *part = *received =
            local_new((Dtype)inferred->dtype[at->tensor], inferred_shape(inferred, at->tensor),
                      sharding_of(team, slot), team->plan->mesh, position);
    }
    if (*part ? world->share(world, (*part)->data, local_bytes(*part), process, err)
              : error_kind(err, ERROR_RUN, "out of memory"))
        return true;
    local_free(*received);
    return false;
}

/* The atoms along which a slot with a sharding is replicated. */
static AtomSet replica_atoms(const Team *team, int32_t slot, const Sharding *sharding)
{
    int devices = team->program->slots[slot].devices;
    AtomSet free = submesh_free(team->plan->mesh, team->plan->decided->submeshes[devices]);
    return free & ~(sharding_atoms(sharding) | sharding_partials(sharding));
}

int64_t slot_replicas(const Team *team, int32_t slot)
{
    const Sharding *sharding = sharding_of(team, slot);
    return sharding ? mesh_atoms_size(team->plan->mesh, replica_atoms(team, slot, sharding)) : 1;
}

/* The sharding with each element on one rank of those that hold no addends of it: borders that are
 * copies of the neighbours' do not count. */
static Sharding without_copies(const Sharding *sharding)
{
    Sharding out = *sharding;
    for (int64_t d = 0; d < out.n_dims; d++) {
        Cut *cut = &out.dim[d];
        if (cut_has_halo(cut) && !cut_is_ring(cut) && !(cut_atoms(cut) & sharding_partials(&out)))
            cut->before = cut->after = cut->around = 0;
    }
    return out;
}

/* Adds what a part holds of those elements. */
static bool add_own(const Joining *j, const Local *part, const Sharding *own, const Mesh *mesh,
                    int64_t position, Error *err)
{
    Local *local = local_new(part->dtype, &part->whole, own, mesh, position);
    if (!local)
        return error_kind(err, ERROR_RUN, "out of memory");
    Picks picks = picks_between(local->arena, local, part);
    local_pick(local, part, &picks);
    add_part(j, local);
    local_free(local);
    return true;
}

/* Joins the parts of a slot with a sharding, those of one replica. */
static bool join_parts(Joiner *joiner, int32_t slot, const Sharding *sharding, int64_t replica,
                       Joined *out, Error *err)
{
    const Team *team = joiner->team;
    const Mesh *mesh = team->plan->mesh;
    const ProgramSlot *at = &team->program->slots[slot];
    SubMesh sub = team->plan->decided->submeshes[at->devices];
    AtomSet addends = sharding_partials(sharding);
    AtomSet replicas = replica_atoms(team, slot, sharding), averaged;
    const Inferred *inferred = team->plan->inferred;
    ReduceOp reduce;
    Dtype dtype = (Dtype)inferred->dtype[at->tensor];
    *out = (Joined){.of_addends = addends != 0, .n_addends = mesh_atoms_size(mesh, addends)};
    out->unknown =
        !reduction_of(sharding, &reduce, &averaged) || (addends && !dtype_is_computed(dtype));
    out->whole = local_new_whole(dtype, inferred_shape(inferred, at->tensor));
    if (!out->whole)
        return error_kind(err, ERROR_RUN, "out of memory");
    Joining joining = begin_joining(joiner->scratch, out, reduce);
    joining.n_averaged = mesh_atoms_size(mesh, averaged);
    bool any = false;
    int carried = sharding_carried_dim(sharding);
    Sharding own = without_copies(sharding);
    bool copies = addends && !sharding_equal(&own, sharding);
    for (int64_t p = 0; p < team->n_ranks; p++) {
        const Local *part;
        Local *received;
        if (!submesh_has(mesh, sub, p) || mesh_atoms_coord(mesh, replicas, p) != replica)
            continue;
        if (!part_of(joiner, slot, p, &part, &received, err))
            return false;
        any = any || part;
        if (part && !out->unknown && !copies)
            add_part(&joining, part);
        if (part && !out->unknown && copies && !add_own(&joining, part, &own, mesh, p, err)) {
            local_free(received);
            return false;
        }
        if (part && !out->unknown && carried >= 0)
            add_carried(&joining, part, carried, sharding->dim[carried].after == CUT_CARRY);
        local_free(received);
    }
    if (any && !out->unknown)
        end_joining(&joining);
    if (!any || out->unknown) {
        local_free(out->whole);
        out->whole = NULL;
    }
    return true;
}

/* The slot of one collected value, if a loop collects them in this slot; else -1. */
static int32_t item_slot(const Team *team, int32_t slot)
{
    const Program *program = team->program;
    for (int i = 0; i < program->n_instrs; i++)
        if (program->instrs[i].kind == INSTR_COLLECT && program->instrs[i].slot == slot)
            return program->instrs[i].from;
    return -1;
}

/* Adds the parts that the rank at `position` has of each collected value to the wholes; of a rank
 * in another process its process shares them. Values that `wholes` lacks are received and dropped.
 */
static bool add_items(Joiner *joiner, int32_t item, int64_t position, const Local *wholes,
                      Error *err)
{
    const Team *team = joiner->team;
    const Inferred *inferred = team->plan->inferred;
    World *world = team->world;
    int32_t tensor = team->program->slots[item].tensor;
    int process = (int)(position / team->n_local);
    bool mine = process == world->me, apart = world->n > 1;
    const Local *list = mine ? joiner->posted[position - team->first_rank] : NULL;
    int64_t n = list ? list->items.n : 0;
    if (apart && !world->share(world, &n, sizeof n, process, err))
        return false;
    for (int64_t i = 0; i < n; i++) {
        Local *received = NULL;
        if (!list)
            received = local_new((Dtype)inferred->dtype[tensor], inferred_shape(inferred, tensor),
                                 sharding_of(team, item), team->plan->mesh, position);
        const Local *part = list ? list->items.at[i] : received;
        bool ok = part ? !apart || world->share(world, part->data, local_bytes(part), process, err)
                       : error_kind(err, ERROR_RUN, "out of memory");
        if (ok && wholes && i < wholes->items.n) {
            Joining joining = {.joined = &(Joined){.whole = wholes->items.at[i]}};
            add_part(&joining, part);
        }
        local_free(received);
        if (!ok)
            return false;
    }
    return true;
}

/* Replaces the parts in a list by wholes, joined from all ranks. list: NULL if no rank of this
 * process has it. */
static bool join_items(Joiner *joiner, int32_t slot, int32_t item, Local *list, Error *err)
{
    const Team *team = joiner->team;
    SubMesh sub = team->plan->decided->submeshes[team->program->slots[slot].devices];
    for (int i = 0; list && i < list->items.n; i++) {
        Local *whole = local_new_whole(list->items.at[i]->dtype, &list->items.at[i]->whole);
        if (!whole)
            return error_kind(err, ERROR_RUN, "out of memory");
        local_free(list->items.at[i]);
        list->items.at[i] = whole;
    }
    for (int64_t p = 0; p < team->n_ranks; p++)
        if (submesh_has(team->plan->mesh, sub, p) && !add_items(joiner, item, p, list, err))
            return false;
    return true;
}

/* A slot without a sharding is replicated: the value of any rank of this process. Of the values
 * that a loop collects every rank has its parts: they are joined, unless they are addends. */
static bool join_replicas(Joiner *joiner, int32_t slot, Joined *out, Error *err)
{
    const Team *team = joiner->team;
    int32_t item = item_slot(team, slot);
    const Sharding *parts = item < 0 ? NULL : sharding_of(team, item);
    *out = (Joined){.n_addends = 1, .unknown = parts && sharding_partials(parts)};
    for (int r = 0; r < team->n_local && !out->whole; r++)
        if (joiner->posted[r] && !(out->whole = local_copy(joiner->posted[r])))
            return error_kind(err, ERROR_RUN, "out of memory");
    return out->unknown || !parts || !sharding_atoms(parts) ||
           join_items(joiner, slot, item, out->whole, err);
}

/* ---- sequences and optionals with a sharding ---- */

enum { LIST_ABSENT = -3 }; /* a rank has no value, as of a branch that was not taken */

/* The whole of what a rank holds n of: zeros, to which the parts are added. */
static Local *new_list(Dtype dtype, const Shape *shape, int64_t n)
{
    if (n == LIST_TENSOR)
        return local_new_whole(dtype, shape);
    Local *list = n == LIST_NOTHING ? local_new_nothing(dtype) : local_new_sequence(dtype);
    for (int64_t i = 0; i < n; i++)
        local_append(list, local_new_whole(dtype, shape));
    return list;
}

/* Adds the part that the rank at `position` has of one element; part NULL: it comes from the
 * process of that rank. */
static bool add_item(const Joiner *joiner, int32_t slot, int64_t position, const Local *part,
                     Local *whole, Error *err)
{
    const Team *team = joiner->team;
    World *world = team->world;
    int process = (int)(position / team->n_local);
    Local *received = part ? NULL
                           : local_new(whole->dtype, &whole->whole, sharding_of(team, slot),
                                       team->plan->mesh, position);
    part = part ? part : received;
    bool ok = world->n == 1 || world->share(world, part->data, local_bytes(part), process, err);
    Joining joining = {.joined = &(Joined){.whole = whole}};
    if (ok)
        add_part(&joining, part);
    local_free(received);
    return ok;
}

/* Joins the parts of each element; in every process, also in one whose ranks have none. */
static bool join_list(Joiner *joiner, int32_t slot, Joined *out, Error *err)
{
    const Team *team = joiner->team;
    const Inferred *inferred = team->plan->inferred;
    const ProgramSlot *at = &team->program->slots[slot];
    SubMesh sub = team->plan->decided->submeshes[at->devices];
    *out = (Joined){.n_addends = 1};
    for (int64_t p = 0; p < team->n_ranks; p++) {
        int process = (int)(p / team->n_local);
        const Local *held =
            process == team->world->me ? joiner->posted[p - team->first_rank] : NULL;
        int64_t n = held ? local_length(held) : LIST_ABSENT;
        if (!submesh_has(team->plan->mesh, sub, p))
            continue;
        if (team->world->n > 1 && !team->world->share(team->world, &n, sizeof n, process, err))
            return false;
        if (n == LIST_ABSENT)
            continue;
        if (!out->whole)
            out->whole = new_list((Dtype)inferred->dtype[at->tensor],
                                  program_shape(inferred, at->tensor), n);
        if (local_length(out->whole) != n)
            return error_kind(err, ERROR_RUN, "ranks have sequences of several lengths");
        bool ok = n != LIST_TENSOR || add_item(joiner, slot, p, held, out->whole, err);
        for (int64_t i = 0; ok && i < n; i++)
            ok = add_item(joiner, slot, p, held ? held->items.at[i] : NULL, out->whole->items.at[i],
                          err);
        if (!ok)
            return false;
    }
    return true;
}

/* What this rank has of the slot, for the rank that joins. */
static bool post(Rank *rank, int32_t slot, const Joiner *joiner)
{
    const Local **posted = &joiner->posted[rank->position - rank->team->first_rank];
    bool has = rank_has(rank, slot) && rank->slot[slot];
    *posted = has ? rank->team->runner->fetch(rank, slot) : NULL;
    return !has || *posted;
}

bool slot_join_replica(Rank *rank, int32_t slot, int64_t replica, Joiner *joiner, Joined *out)
{
    const Sharding *sharding = sharding_of(rank->team, slot);
    Error err = {0};
    if (!post(rank, slot, joiner) || !rank_meet(rank))
        return false;
    if (!rank_leads(rank))
        return rank_meet(rank);
    bool list =
        inferred_is_list(rank->team->plan->inferred, rank->team->program->slots[slot].tensor);
    bool joined = sharding && list ? join_list(joiner, slot, out, &err)
                  : sharding       ? join_parts(joiner, slot, sharding, replica, out, &err)
                                   : join_replicas(joiner, slot, out, &err);
    if (joined ? rank_meet(rank) : rank_failed(rank, &err))
        return true;
    local_free(out->whole);
    out->whole = NULL;
    return false;
}

bool slot_join(Rank *rank, int32_t slot, Joiner *joiner, Joined *out)
{
    return slot_join_replica(rank, slot, 0, joiner, out);
}
