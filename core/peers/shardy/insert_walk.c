#include "core/peers/shardy/insert_walk.h"

/* ---- axes ---- */

/* The part of a after b; they overlap. */
static bool part_after(const AxisRef *a, const AxisRef *b, AxisRef *out)
{
    int end = a->pre * a->size, from = b->pre * b->size;
    bool left = axis_refs_can_coexist(a, b) && end > from;
    *out = (AxisRef){a->axis, from, end / from};
    return left;
}

static const AxisRef *first_overlap(const AxisList *list, const AxisRef *ref)
{
    const AxisRef *found = NULL;
    for (int i = 0; i < list->n; i++)
        if (axis_refs_overlap(&list->at[i], ref) && (!found || list->at[i].pre < found->pre))
            found = &list->at[i];
    return found;
}

AxisList axes_without(const AxisList *a, const AxisList *b)
{
    AxisList out = {0};
    for (int i = 0; i < a->n; i++) {
        AxisRef rest = a->at[i], before;
        const AxisRef *overlap;
        bool left = true;
        while (left && (overlap = first_overlap(b, &rest))) {
            if (axis_ref_without(&rest, overlap, &before))
                axis_list_add(&out, before);
            left = part_after(&rest, overlap, &rest);
        }
        if (left)
            axis_list_add(&out, rest);
    }
    return out;
}

AxisList axes_in_order(const Mesh *mesh, AxisList list)
{
    AxisList out = {0};
    axis_list_sort(&list);
    for (int i = 0; i < list.n; i++)
        axis_list_push(&out, mesh, list.at[i]);
    return out;
}

static AxisList axes_joined(const Mesh *mesh, const AxisList *a, const AxisList *b)
{
    AxisList out = *a;
    for (int i = 0; i < b->n; i++)
        axis_list_add(&out, b->at[i]);
    return axes_in_order(mesh, out);
}

/* ---- shardings and meshes ---- */

bool tensor_sharding_exists(const TensorSharding *sharding)
{
    return sharding->mesh != MESH_NONE;
}

TensorSharding tensor_sharding_closed(int n_dims, int mesh)
{
    TensorSharding sharding = tensor_sharding_open(n_dims);
    sharding.mesh = mesh;
    for (int d = 0; d < n_dims; d++)
        sharding.dim[d].open = false;
    return sharding;
}

bool tensor_sharding_is_replicated(const TensorSharding *sharding)
{
    for (int d = 0; d < sharding->n_dims; d++)
        if (sharding->dim[d].axes.n > 0)
            return false;
    return true;
}

bool tensor_shardings_equivalent(const TensorSharding *a, const TensorSharding *b)
{
    bool replicated = tensor_sharding_is_replicated(b);
    if (tensor_sharding_is_replicated(a))
        return replicated;
    if (replicated || a->mesh != b->mesh)
        return false;
    for (int d = 0; d < a->n_dims; d++)
        if (!axis_list_equal(&a->dim[d].axes, &b->dim[d].axes))
            return false;
    return true;
}

bool mesh_in_order(const Mesh *mesh)
{
    for (int64_t i = 0; mesh->devices && i < mesh->n_devices; i++)
        if (mesh->devices[i] != i)
            return false;
    return true;
}

static bool same_mesh(const InsertWalk *walk, const TensorSharding *a, const TensorSharding *b)
{
    const Mesh *one = walk->program->mesh[a->mesh], *other = walk->program->mesh[b->mesh];
    return meshes_same_axes(one, other) && meshes_same_devices(one, other);
}

/* ---- steps ---- */

int walk_add_node(InsertWalk *walk, int value, int op, const TensorSharding *sharding)
{
    vec_push(walk->arena, &walk->nodes, (InsertNode){value, op, NO_NODE, *sharding});
    return walk->nodes.n - 1;
}

int walk_add_step(InsertWalk *walk, InsertKind kind, int node, const TensorSharding *to,
                  const AxisList *axes)
{
    int value = walk_node(walk, node)->value;
    vec_push(walk->arena, &walk->steps,
             (InsertStep){kind, value, *to, axes ? *axes : (AxisList){0}});
    return walk_add_node(walk, value, NO_OP, to);
}

bool walk_check_rank(const InsertWalk *walk, int node, const TensorSharding *target)
{
    int n = walk_node(walk, node)->sharding.n_dims;
    return n == target->n_dims ||
           error_kind(walk->err, ERROR_RANK, "a value of %d dims has a required sharding of %d", n,
                      target->n_dims);
}

bool walk_reduce_for(InsertWalk *walk, int *node, const TensorSharding *target)
{
    TensorSharding to = walk_node(walk, *node)->sharding;
    if (!tensor_sharding_exists(&to) || to.unreduced.n == 0)
        return true;
    if (tensor_sharding_exists(target) && !same_mesh(walk, &to, target))
        return error_kind(walk->err, ERROR_INVALID, "a partial value is required on another mesh");
    AxisList axes = axes_without(&to.unreduced, &target->unreduced);
    if (axes.n == 0)
        return true;
    to.unreduced = axes_without(&to.unreduced, &axes);
    *node = walk_add_step(walk, INSERT_ALL_REDUCE, *node, &to, &axes);
    return true;
}

/* The axes of `axes` that follow its prefix `kept`. */
static AxisList axes_behind(const AxisList *axes, const AxisList *kept)
{
    AxisList out = {0};
    AxisRef rest;
    int n = kept->n;
    if (n > 0 && !axis_ref_equal(&kept->at[n - 1], &axes->at[n - 1]) &&
        part_after(&axes->at[n - 1], &kept->at[n - 1], &rest))
        axis_list_add(&out, rest);
    for (int i = n; i < axes->n; i++)
        axis_list_add(&out, axes->at[i]);
    return out;
}

/* The axes that become partial between two shardings, and where they come from. */
typedef struct {
    AxisList all, sharded; /* all that become unreduced; those that shard a dim of the source */
    bool reshards;         /* a dim must be resharded first */
    TensorSharding between;
} Partial;

static void compare_dims(const TensorSharding *source, const TensorSharding *target, Partial *out)
{
    for (int d = 0; d < source->n_dims; d++) {
        const AxisList *from = &source->dim[d].axes, *to = &target->dim[d].axes;
        out->between.dim[d] = target->dim[d];
        if (axis_list_equal(from, to))
            continue;
        bool shrinks = axis_list_is_prefix(to, from);
        AxisList behind = shrinks ? axes_behind(from, to) : (AxisList){0};
        if (!shrinks || axes_without(&behind, &out->all).n > 0) {
            out->reshards = true;
            continue;
        }
        for (int i = 0; i < behind.n; i++)
            axis_list_add(&out->sharded, behind.at[i]);
        out->between.dim[d] = source->dim[d];
    }
}

bool walk_become_partial(InsertWalk *walk, int *node, const TensorSharding *target)
{
    TensorSharding source = walk_node(walk, *node)->sharding;
    if (!tensor_sharding_exists(&source) || !tensor_sharding_exists(target) ||
        target->unreduced.n == 0)
        return true;
    if (!same_mesh(walk, &source, target))
        return error_kind(walk->err, ERROR_INVALID,
                          "a value becomes partial while it moves to another mesh");
    const Mesh *mesh = walk->program->mesh[source.mesh];
    Partial partial = {.all = axes_without(&target->unreduced, &source.unreduced),
                       .between = source};
    if (partial.all.n == 0)
        return true;
    if (axes_without(&source.unreduced, &target->unreduced).n > 0)
        return error_kind(walk->err, ERROR_INVALID,
                          "a value becomes partial over some axes and is reduced over others");
    compare_dims(&source, target, &partial);
    if (partial.reshards)
        *node = walk_add_step(walk, INSERT_RESHARD, *node, &partial.between, NULL);
    AxisList free = axes_without(&partial.all, &partial.sharded);
    if (free.n > 0) {
        partial.between.replicated = target->replicated;
        partial.between.unreduced = axes_joined(mesh, &source.unreduced, &free);
        *node = walk_add_step(walk, INSERT_REPLICATED_TO_UNREDUCED, *node, &partial.between, &free);
    }
    if (partial.sharded.n > 0)
        *node = walk_add_step(walk, INSERT_SHARDED_TO_UNREDUCED, *node, target, &partial.sharded);
    return true;
}

bool walk_bring_to(InsertWalk *walk, int *node, const TensorSharding *target)
{
    if (!walk_check_rank(walk, *node, target) || !walk_reduce_for(walk, node, target) ||
        !walk_become_partial(walk, node, target))
        return false;
    TensorSharding now = walk_node(walk, *node)->sharding;
    if (tensor_shardings_equivalent(&now, target))
        return true;
    TensorSharding to =
        tensor_sharding_exists(target) ? *target : tensor_sharding_closed(now.n_dims, now.mesh);
    *node = walk_add_step(walk, INSERT_RESHARD, *node, &to, NULL);
    return true;
}
