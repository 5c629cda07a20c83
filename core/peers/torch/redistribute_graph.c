#include "core/peers/torch/redistribute_graph.h"

#include "core/base/heap.h"
#include "core/base/intern.h"

#include <math.h>
#include <string.h>

enum { STATES_MAX = 1 << 16 };

/* Placements, and the rank of each axis among the axes that shard its dim (-1: shards none).
 * Compared as bytes, so it is zeroed first. */
typedef struct {
    Placement place[MESH_AXES_MAX];
    int8_t rank[MESH_AXES_MAX];
} State;

typedef struct {
    double us;
    int32_t state, parent; /* parent: an entry of `visits` */
} Entry;

typedef struct {
    Arena *arena;
    const Redistribution *redistribution;
    Intern *states;
    Heap heap; /* of entries; equal prices in order of insertion */
    Vec(Entry) entries;
    Vec(Entry) visits; /* in the order of removal from the heap */
    Vec(uint8_t) visited;
    unsigned reduces; /* bit op: P(op) is in the source or the target */
} RedistributeSearch;

/* ---- states ---- */

static Placement canonical(const Placement *placement)
{
    Placement out;
    memset(&out, 0, sizeof out);
    out.kind = placement->kind;
    if (placement_is_shard(placement))
        out.dim = placement->dim;
    if (placement->kind > PLACE_SHARD && placement->kind != PLACE_PARTIAL)
        out.factor = placement->factor;
    if (placement->kind == PLACE_PARTIAL)
        out.reduce = placement->reduce;
    return out;
}

static int n_cutting(const State *state, int n_axes, int dim)
{
    int n = 0;
    for (int i = 0; i < n_axes; i++)
        n += state->rank[i] >= 0 && state->place[i].dim == dim;
    return n;
}

/* Inserts axis `at` at position `rank` of the dim's order. */
static void insert_axis(State *state, int n_axes, int at, int dim, int rank)
{
    for (int i = 0; i < n_axes; i++)
        if (i != at && state->rank[i] >= rank && state->place[i].dim == dim)
            state->rank[i]++;
    state->rank[at] = (int8_t)rank;
}

/* The position of axis `at` in its dim's order by its split factor, when the later axes are already
 * in `state`; -1 if the factor is not a product of their sizes. */
static int rank_of_factor(const State *state, const Mesh *mesh, int at, int dim, int64_t factor)
{
    int64_t product = 1;
    int n = n_cutting(state, mesh->n_axes, dim);
    for (int rank = 0; rank <= n; rank++) {
        if (product == factor)
            return rank;
        for (int i = at + 1; i < mesh->n_axes; i++)
            if (state->rank[i] == rank && state->place[i].dim == dim)
                product *= mesh->axes[i].size;
    }
    return -1;
}

/* Returns false if a strided shard is not an order of axes. Strided shards of a view stay. */
static bool state_of(const Placement *placements, const Mesh *mesh, bool of_view, State *out)
{
    memset(out, 0, sizeof *out);
    memset(out->rank, -1, sizeof out->rank);
    for (int i = mesh->n_axes - 1; i >= 0; i--) {
        out->place[i] = canonical(&placements[i]);
        if (!placement_is_shard(&placements[i]))
            continue;
        int dim = placements[i].dim, rank = 0;
        bool ordered = placements[i].kind == PLACE_STRIDED && !of_view;
        if (ordered) {
            rank = rank_of_factor(out, mesh, i, dim, placements[i].factor);
            out->place[i].kind = PLACE_SHARD;
            out->place[i].factor = 0;
        }
        if (rank < 0)
            return false;
        insert_axis(out, mesh->n_axes, i, dim, rank);
    }
    return true;
}

bool redistribute_ranks(const Placement *placements, const Mesh *mesh, bool of_view, int8_t *rank)
{
    State state;
    bool ordered = state_of(placements, mesh, of_view, &state);
    memcpy(rank, state.rank, sizeof state.rank);
    return ordered;
}

/* ---- the search ---- */

static void open_entry(RedistributeSearch *search, Entry entry)
{
    int32_t at = search->entries.n;
    vec_push(search->arena, &search->entries, entry);
    heap_push(search->arena, &search->heap, (HeapEntry){entry.us, at, at});
}

static const State *state_at(const RedistributeSearch *search, int32_t id)
{
    return intern_key(search->states, id, NULL);
}

static int32_t put_state(RedistributeSearch *search, const State *state)
{
    int32_t id = intern_put(search->states, state, sizeof *state);
    while (search->visited.n <= id)
        vec_push(search->arena, &search->visited, 0);
    return id;
}

/* Adds the state in which `axis` has placement `to`. A new shard is last in the order of its
 * dim. */
static void offer(RedistributeSearch *search, const Entry *from, int axis, Placement to, double us)
{
    const Redistribution *redistribution = search->redistribution;
    const State *current = state_at(search, from->state);
    State next = *current;
    AxisChange change = {axis, current->place[axis], to};
    next.rank[axis] = -1;
    next.place[axis] = canonical(&to);
    if (placement_is_shard(&to))
        next.rank[axis] = (int8_t)n_cutting(&next, redistribution->mesh->n_axes, to.dim);
    if (us < 0) {
        double gib = redistribute_gib(redistribution, current->place);
        us = redistribute_change_us(redistribution->mesh, &change, &gib);
    }
    int32_t id = put_state(search, &next);
    if (search->visited.at[id])
        return;
    open_entry(search, (Entry){from->us + us, id, search->visits.n - 1});
}

/* The last axis in the order of the dim, or -1 if none shards it. */
static int last_axis(const State *state, int n_axes, int dim)
{
    int n = n_cutting(state, n_axes, dim);
    for (int i = 0; n > 0 && i < n_axes; i++)
        if (state->rank[i] == n - 1 && state->place[i].dim == dim)
            return i;
    return -1;
}

/* Moves the last axis of each dim to every other dim, or to replicated. */
static void offer_from_shards(RedistributeSearch *search, const Entry *from, PlacementKind kind,
                              bool to_dims)
{
    const State *state = state_at(search, from->state);
    int n_axes = search->redistribution->mesh->n_axes;
    int n_dims = (int)search->redistribution->shape->n_dims;
    for (int d = 0; d < n_dims; d++) {
        int axis = last_axis(state, n_axes, d);
        if (axis < 0 || state->place[axis].kind != kind)
            continue;
        if (!to_dims)
            offer(search, from, axis, (Placement){.kind = PLACE_REPLICATE}, -1);
        for (int to = 0; to_dims && to < n_dims; to++)
            if (to != d)
                offer(search, from, axis, (Placement){.kind = PLACE_SHARD, .dim = to}, -1);
    }
}

static void offer_to_shards(RedistributeSearch *search, const Entry *from, bool from_partial)
{
    const State *state = state_at(search, from->state);
    for (int i = 0; i < search->redistribution->mesh->n_axes; i++) {
        const Placement *place = &state->place[i];
        if (from_partial ? !placement_is_partial(place) : place->kind != PLACE_REPLICATE)
            continue;
        for (int d = 0; d < search->redistribution->shape->n_dims; d++)
            offer(search, from, i, (Placement){.kind = PLACE_SHARD, .dim = d}, -1);
    }
}

static bool mixes(const State *state, int n_axes, ReduceOp reduce)
{
    unsigned commute = 1u << REDUCE_SUM | 1u << REDUCE_AVG, set = 1u << reduce;
    for (int i = 0; i < n_axes; i++)
        if (state->place[i].kind == PLACE_PARTIAL)
            set |= 1u << state->place[i].reduce;
    return (set & (set - 1)) && set != commute;
}

static void offer_partials(RedistributeSearch *search, const Entry *from)
{
    const State *state = state_at(search, from->state);
    int n_axes = search->redistribution->mesh->n_axes;
    for (int i = 0; i < n_axes; i++)
        if (placement_is_partial(&state->place[i]))
            offer(search, from, i, (Placement){.kind = PLACE_REPLICATE}, -1);
    offer_to_shards(search, from, false);
    offer_to_shards(search, from, true);
    for (int i = 0; i < n_axes; i++)
        for (ReduceOp reduce = REDUCE_SUM; reduce <= REDUCE_ALL; reduce++)
            if (state->place[i].kind == PLACE_REPLICATE && search->reduces & 1u << reduce &&
                !mixes(state, n_axes, reduce))
                offer(search, from, i, (Placement){.kind = PLACE_PARTIAL, .reduce = reduce}, -1);
}

/* Adds strided shards of the target, and shards that are partial sums in the target, at no cost. */
static void offer_targets(RedistributeSearch *search, const Entry *from, const State *target)
{
    const State *state = state_at(search, from->state);
    int n_axes = search->redistribution->mesh->n_axes;
    for (int i = 0; i < n_axes; i++)
        for (int k = 0; k < n_axes && state->place[i].kind == PLACE_REPLICATE; k++)
            if (target->place[k].kind == PLACE_STRIDED)
                offer(search, from, i, target->place[k], -1);
    for (int d = 0; d < search->redistribution->shape->n_dims; d++) {
        int axis = last_axis(state, n_axes, d);
        if (axis >= 0 && state->place[axis].kind == PLACE_SHARD &&
            target->place[axis].kind == PLACE_PARTIAL && target->place[axis].reduce == REDUCE_SUM)
            offer(search, from, axis, target->place[axis], 0);
    }
}

static void offer_all(RedistributeSearch *search, const Entry *from, const State *target)
{
    offer_from_shards(search, from, PLACE_SHARD, true);
    offer_from_shards(search, from, PLACE_SHARD, false);
    offer_partials(search, from);
    offer_from_shards(search, from, PLACE_STRIDED, false);
    offer_targets(search, from, target);
}

static void read_path(RedistributeSearch *search, Arena *arena, AxisChanges *out)
{
    Vec(int32_t) path = {0};
    for (int i = search->visits.n - 1; i >= 0; i = search->visits.at[i].parent)
        vec_push(search->arena, &path, search->visits.at[i].state);
    for (int k = path.n - 1; k > 0; k--) {
        const State *from = state_at(search, path.at[k]), *to = state_at(search, path.at[k - 1]);
        for (int i = 0; i < search->redistribution->mesh->n_axes; i++)
            if (!placement_equal(&from->place[i], &to->place[i]))
                vec_push(arena, out, (AxisChange){i, from->place[i], to->place[i]});
    }
}

static void note_reduces(RedistributeSearch *search, const State *state)
{
    for (int i = 0; i < search->redistribution->mesh->n_axes; i++)
        if (state->place[i].kind == PLACE_PARTIAL)
            search->reduces |= 1u << state->place[i].reduce;
}

static GraphAnswer find_path(RedistributeSearch *search, const State *source, const State *target,
                             Arena *arena, AxisChanges *out)
{
    note_reduces(search, source);
    note_reduces(search, target);
    int32_t goal = put_state(search, target);
    open_entry(search, (Entry){.state = put_state(search, source), .parent = -1});
    while (search->heap.n > 0 && intern_count(search->states) < STATES_MAX) {
        Entry entry = search->entries.at[heap_pop(&search->heap).item];
        if (search->visited.at[entry.state])
            continue;
        search->visited.at[entry.state] = 1;
        vec_push(search->arena, &search->visits, entry);
        if (entry.state == goal) {
            read_path(search, arena, out);
            return GRAPH_FOUND;
        }
        offer_all(search, &entry, target);
    }
    return GRAPH_NO_WAY;
}

GraphAnswer redistribute_graph(Arena *arena, const Redistribution *redistribution, AxisChanges *out)
{
    State source, target;
    if (!state_of(redistribution->from, redistribution->mesh, redistribution->from_view, &source) ||
        !state_of(redistribution->to, redistribution->mesh, redistribution->to_view, &target))
        return GRAPH_UNDECODABLE;
    Arena *scratch = arena_new();
    RedistributeSearch search = {
        .arena = scratch, .redistribution = redistribution, .states = intern_new(scratch)};
    GraphAnswer answer = find_path(&search, &source, &target, arena, out);
    arena_free(scratch);
    return answer;
}
