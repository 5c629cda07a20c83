#include "core/peers/torch/lay.h"
#include "core/peers/torch/redistribute.h"

#include "core/peers/torch/redistribute_graph.h"

#include <math.h>

const char *move_name(MoveKind kind)
{
    static const char *const names[] = {"slice",      "to_partial",     "all_gather",
                                        "all_reduce", "reduce_scatter", "all_to_all"};
    return names[kind];
}

/* ---- prices ---- */

/* Constants of the cost model, in GB/s and us. */
static const double bandwidth_in_host = 87.7, hop_in_host = 0.6, hop_between_hosts = 2.7;
static const double bandwidth_factor_between = 0.22, launch_us = 6.6, all_to_all_penalty_us = 1.0;
enum { DEVICES_PER_HOST = 8 };

typedef struct {
    double bandwidth, hop, n;
} HostLink;

/* An axis is within a host when it and all axes after it are. */
static HostLink link_of(const Mesh *mesh, int axis)
{
    int64_t n_devices = 1;
    for (int i = axis; i < mesh->n_axes; i++)
        n_devices *= mesh->axes[i].size;
    double n = (double)mesh->axes[axis].size;
    if (n_devices <= DEVICES_PER_HOST)
        return (HostLink){bandwidth_in_host, hop_in_host, n};
    return (HostLink){bandwidth_in_host * bandwidth_factor_between, hop_between_hosts, n};
}

/* A ring with `passes` rounds: 1 for gather or scatter, 2 for all-reduce. */
static double ring_us(HostLink link, double passes, double gib)
{
    double hops = passes * (link.n - 1);
    return launch_us + hops * link.hop + gib * hops / link.n / link.bandwidth * 1e6;
}

double redistribute_gib(const Redistribution *redistribution, const Placement *placements)
{
    int64_t n_shards = 1;
    for (int i = 0; i < redistribution->mesh->n_axes; i++)
        if (placement_is_shard(&placements[i]))
            n_shards *= redistribution->mesh->axes[i].size;
    double bytes =
        (double)dtype_bytes(redistribution->dtype, shape_elements(redistribution->shape));
    return bytes / (double)n_shards / 1024 / 1024 / 1024;
}

double redistribute_change_us(const Mesh *mesh, const AxisChange *change, double *gib)
{
    const Placement *from = &change->from, *to = &change->to;
    if (placement_equal(from, to))
        return 0;
    HostLink link = link_of(mesh, change->axis);
    bool to_shard = to->kind == PLACE_SHARD, to_partial = placement_is_partial(to);
    if (from->kind == PLACE_SHARD && to->kind == PLACE_REPLICATE) {
        *gib *= link.n;
        return ring_us(link, 1, *gib);
    }
    if (from->kind == PLACE_SHARD && to_shard)
        return ring_us(link, 1, *gib) + all_to_all_penalty_us;
    if (placement_is_partial(from) && to->kind == PLACE_REPLICATE)
        return ring_us(link, 2, *gib);
    if (placement_is_partial(from) && to_shard) {
        double us = ring_us(link, 1, *gib);
        *gib /= link.n;
        return us;
    }
    if ((from->kind == PLACE_SHARD || placement_is_partial(from)) && to_partial)
        return INFINITY;
    if (from->kind == PLACE_REPLICATE && to_shard)
        *gib /= link.n;
    return 0;
}

/* ---- the greedy planner ---- */

static void add_change(Arena *arena, AxisChanges *out, Placement *current, int axis, Placement to)
{
    if (placement_equal(&current[axis], &to))
        return;
    vec_push(arena, out, (AxisChange){axis, current[axis], to});
    current[axis] = to;
}

/* True if the axes before this one already shard the dim of its target as in the target. */
static bool is_aligned(const Placement *current, const Placement *target, int axis)
{
    for (int i = 0; i < axis; i++) {
        bool now = current[i].kind == PLACE_SHARD && current[i].dim == target[axis].dim;
        bool then = target[i].kind == PLACE_SHARD && target[i].dim == target[axis].dim;
        if (now != then)
            return false;
    }
    return true;
}

static void plan_greedy(Arena *arena, const Redistribution *redistribution, AxisChanges *out)
{
    int n_axes = redistribution->mesh->n_axes;
    const Placement *target = redistribution->to;
    Placement current[MESH_AXES_MAX];
    bool is_cut = false;
    for (int i = 0; i < n_axes; i++) {
        current[i] = redistribution->from[i];
        is_cut |= placement_is_shard(&current[i]) && redistribution->mesh->axes[i].size > 1;
    }
    for (int i = n_axes - 1; is_cut && n_axes > 1 && i >= 0; i--) {
        bool waits = target[i].kind == PLACE_SHARD && !is_aligned(current, target, i);
        add_change(arena, out, current, i,
                   waits ? (Placement){.kind = PLACE_REPLICATE} : target[i]);
    }
    for (int i = 0; i < n_axes; i++)
        add_change(arena, out, current, i, target[i]);
}

/* ---- choosing a planner; steps ---- */

static bool involves_strided(const Redistribution *redistribution)
{
    int n_axes = redistribution->mesh->n_axes;
    return placements_are_strided(redistribution->from, n_axes) ||
           placements_are_strided(redistribution->to, n_axes);
}

static bool check_partial(const Placement *from, const Placement *to, Error *err)
{
    bool sum_of_shards =
        placement_is_shard(from) && to->kind == PLACE_PARTIAL && to->reduce == REDUCE_SUM;
    if (!placement_is_partial(to) || placement_equal(from, to) || sum_of_shards)
        return true;
    return error_kind(err, ERROR_PARTIAL, "only a shard can become partial, and only as a sum");
}

static bool check_blocks(const Redistribution *redistribution, const Placement *placements,
                         Error *err)
{
    for (int d = 0; d < redistribution->shape->n_dims; d++) {
        int64_t size = redistribution->shape->dim[d];
        for (int i = 0; i < redistribution->mesh->n_axes; i++) {
            const Placement *placement = &placements[i];
            int64_t n = redistribution->mesh->axes[i].size;
            if (!placement_is_shard(placement) || placement->dim != d)
                continue;
            if (placement->kind == PLACE_INTERLEAVED &&
                (size % placement->factor != 0 || size / placement->factor % n != 0))
                return error_kind(err, ERROR_NOT_DIVISIBLE,
                                  "the blocks of IS do not divide dim %d evenly", d);
            size = size / n + (size % n != 0);
        }
    }
    return true;
}

bool redistribute_allowed(const Redistribution *redistribution, Error *err)
{
    bool vescale = redistribution->planner == PLANNER_VESCALE;
    PlacementKind foreign = vescale ? PLACE_STRIDED : PLACE_INTERLEAVED;
    for (int i = 0; i < redistribution->mesh->n_axes; i++) {
        const Placement *from = &redistribution->from[i], *to = &redistribution->to[i];
        if (from->kind == foreign || to->kind == foreign)
            return error_kind(err, ERROR_UNSUPPORTED, "%s has no %s shards",
                              vescale ? "veScale" : "torch", vescale ? "strided" : "interleaved");
        if (!vescale && !check_partial(from, to, err))
            return false;
    }
    return check_blocks(redistribution, redistribution->from, err) &&
           check_blocks(redistribution, redistribution->to, err);
}

static bool plan_changes(Arena *arena, const Redistribution *redistribution, AxisChanges *out,
                         Error *err)
{
    if (redistribution->planner == PLANNER_VESCALE) {
        redistribute_vescale(arena, redistribution, out);
        return true;
    }
    bool graph = redistribution->planner == PLANNER_GRAPH ||
                 (redistribution->planner == PLANNER_DEFAULT && involves_strided(redistribution));
    switch (graph ? redistribute_graph(arena, redistribution, out) : GRAPH_UNDECODABLE) {
    case GRAPH_FOUND:
        return true;
    case GRAPH_NO_WAY:
        return error_kind(err, ERROR_UNSUPPORTED,
                          "the graph planner finds no way between these placements");
    case GRAPH_UNDECODABLE:
        break;
    }
    plan_greedy(arena, redistribution, out);
    return true;
}

static MoveKind kind_of(const Placement *from, const Placement *to)
{
    if (to->kind == PLACE_REPLICATE)
        return placement_is_partial(from) ? MOVE_ALL_REDUCE : MOVE_ALL_GATHER;
    if (placement_is_partial(to))
        return MOVE_TO_PARTIAL;
    if (from->kind == PLACE_REPLICATE)
        return MOVE_SLICE;
    return placement_is_partial(from) ? MOVE_REDUCE_SCATTER : MOVE_ALL_TO_ALL;
}

static void add_move(Arena *arena, TorchMoves *out, int axis, Placement from, Placement to)
{
    vec_push(arena, out, (TorchMove){kind_of(&from, &to), axis, from, to});
}

bool redistribute_plan(Arena *arena, const Redistribution *redistribution, TorchMoves *out,
                       Error *err)
{
    const Placement whole = {.kind = PLACE_REPLICATE};
    AxisChanges changes = {0};
    if (!plan_changes(arena, redistribution, &changes, err))
        return false;
    for (int i = 0; i < changes.n; i++) {
        AxisChange change = changes.at[i];
        bool strided = change.from.kind > PLACE_SHARD && placement_is_shard(&change.from);
        strided |= change.to.kind > PLACE_SHARD && placement_is_shard(&change.to);
        if (!strided || change.from.kind == PLACE_REPLICATE || change.to.kind == PLACE_REPLICATE) {
            add_move(arena, out, change.axis, change.from, change.to);
            continue;
        }
        add_move(arena, out, change.axis, change.from, whole);
        add_move(arena, out, change.axis, whole, change.to);
    }
    return true;
}

/* A strided shard that stands for an order of axes has no finite price, so it is never chosen to be
 * moved. */
static double price_of_strided(Arena *arena, const Redistribution *redistribution)
{
    int n_axes = redistribution->mesh->n_axes;
    if ((placements_are_strided(redistribution->from, n_axes) && !redistribution->from_view) ||
        (placements_are_strided(redistribution->to, n_axes) && !redistribution->to_view))
        return INFINITY;
    AxisChanges changes = {0};
    if (!plan_changes(arena, redistribution, &changes, NULL))
        return INFINITY;
    double us = 0, gib = redistribute_gib(redistribution, redistribution->from);
    for (int i = 0; i < changes.n; i++)
        us += redistribute_change_us(redistribution->mesh, &changes.at[i], &gib);
    return us;
}

double redistribute_us(Arena *arena, const Redistribution *redistribution)
{
    bool replicated = true, same = true;
    for (int i = 0; i < redistribution->mesh->n_axes; i++) {
        replicated &= redistribution->from[i].kind == PLACE_REPLICATE;
        same &= placement_equal(&redistribution->from[i], &redistribution->to[i]);
    }
    if (replicated || same)
        return 0;
    if (involves_strided(redistribution))
        return price_of_strided(arena, redistribution);
    AxisChanges changes = {0};
    AxisChange room[2 * MESH_AXES_MAX];
    changes.at = room;
    changes.room = 2 * MESH_AXES_MAX;
    plan_greedy(arena, redistribution, &changes);
    double us = 0, gib = redistribute_gib(redistribution, redistribution->from);
    for (int i = 0; i < changes.n; i++)
        us += redistribute_change_us(redistribution->mesh, &changes.at[i], &gib);
    return us;
}

double redistribute_floor_us(Arena *arena, const Redistribution *redistribution)
{
    const Mesh *mesh = redistribution->mesh;
    const Placement *from = redistribution->from, *to = redistribution->to;
    bool of_views = (!placements_are_strided(from, mesh->n_axes) || redistribution->from_view) &&
                    (!placements_are_strided(to, mesh->n_axes) || redistribution->to_view);
    if (!involves_strided(redistribution) || !of_views)
        return redistribute_us(arena, redistribution);
    double us = 0, gib = redistribute_gib(redistribution, from);
    for (int i = 0; i < mesh->n_axes; i++)
        gib /= from[i].kind == PLACE_SHARD ? 1 : (double)mesh->axes[i].size;
    for (int i = 0; i < mesh->n_axes; i++)
        if ((from[i].kind == PLACE_SHARD || placement_is_partial(&from[i])) &&
            !placement_equal(&from[i], &to[i]))
            us += ring_us(link_of(mesh, i), 1, gib);
    return us * (1 - 1e-9); /* rounding depends on the order of the sum */
}

int redistribute_n_comm(const Mesh *mesh, const TorchMoves *moves)
{
    int n = 0;
    for (int i = 0; i < moves->n; i++)
        n += moves->at[i].kind >= MOVE_ALL_GATHER && mesh->axes[moves->at[i].axis].size > 1;
    return n;
}
