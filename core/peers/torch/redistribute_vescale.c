#include "core/peers/torch/redistribute_graph.h"

static const Placement whole = {.kind = PLACE_REPLICATE};

/* The size of rank 0's part of a dim. */
static int64_t held_size(const Redistribution *redistribution, const Placement *placements, int dim)
{
    int64_t size = redistribution->shape->dim[dim];
    for (int i = 0; i < redistribution->mesh->n_axes; i++) {
        int64_t n = redistribution->mesh->axes[i].size;
        if (placement_is_shard(&placements[i]) && placements[i].dim == dim)
            size = size / n + (size % n != 0);
    }
    return size;
}

/* True for a shard that moves to another dim unevenly: it is gathered first. */
static bool is_uneven(const Redistribution *redistribution, const Placement *current,
                      const AxisChange *change)
{
    int64_t n = redistribution->mesh->axes[change->axis].size;
    return held_size(redistribution, current, change->to.dim) % n != 0 ||
           redistribution->shape->dim[change->from.dim] % n != 0;
}

static bool is_interleaved(const AxisChange *change)
{
    return change->from.kind == PLACE_INTERLEAVED || change->to.kind == PLACE_INTERLEAVED;
}

/* Sort key of a change: shards are removed from the last axis to the first, and added from the
 * first to the last. All others come with those of axis 0. */
static int turn_of(const AxisChange *change)
{
    bool from_shard = placement_is_shard(&change->from), to_shard = placement_is_shard(&change->to);
    if (from_shard && !to_shard)
        return -change->axis;
    return !from_shard && to_shard ? change->axis : 0;
}

static void insert_by_turn(Arena *arena, AxisChanges *changes, AxisChange change)
{
    vec_push(arena, changes, change);
    int i = changes->n - 1;
    for (; i > 0 && turn_of(&changes->at[i - 1]) > turn_of(&change); i--)
        changes->at[i] = changes->at[i - 1];
    changes->at[i] = change;
}

/* Adds the steps of one change to the current placements. */
static void add_steps(Arena *arena, const Redistribution *redistribution, Placement *current,
                      const AxisChange *change, AxisChanges *out)
{
    const Placement *from = &change->from, *to = &change->to;
    bool from_shard = placement_is_shard(from), to_shard = placement_is_shard(to);
    bool same_dim = from_shard && to_shard && from->dim == to->dim;
    bool via_whole = placement_is_partial(from) && to->kind != PLACE_SHARD;
    via_whole |= from_shard && placement_is_partial(to);
    via_whole |= from_shard && to_shard && !same_dim && is_uneven(redistribution, current, change);
    if (placement_equal(from, to) || same_dim)
        return;
    if (via_whole && to->kind != PLACE_REPLICATE) {
        vec_push(arena, out, (AxisChange){change->axis, *from, whole});
        vec_push(arena, out, (AxisChange){change->axis, whole, *to});
    } else {
        vec_push(arena, out, *change);
    }
    current[change->axis] = *to;
}

void redistribute_vescale(Arena *arena, const Redistribution *redistribution, AxisChanges *out)
{
    int n_axes = redistribution->mesh->n_axes;
    AxisChanges sorted = {0};
    Placement current[MESH_AXES_MAX];
    bool same = true;
    for (int i = 0; i < n_axes; i++) {
        current[i] = redistribution->from[i];
        same &= placement_equal(&redistribution->from[i], &redistribution->to[i]);
    }
    for (int i = 0; i < n_axes && !same; i++) {
        AxisChange change = {i, redistribution->from[i], redistribution->to[i]};
        bool both = placement_is_shard(&change.from) && placement_is_shard(&change.to);
        if (both && is_interleaved(&change)) {
            insert_by_turn(arena, &sorted, (AxisChange){i, change.from, whole});
            insert_by_turn(arena, &sorted, (AxisChange){i, whole, change.to});
        } else {
            insert_by_turn(arena, &sorted, change);
        }
    }
    for (int i = 0; i < sorted.n; i++)
        add_steps(arena, redistribution, current, &sorted.at[i], out);
}
