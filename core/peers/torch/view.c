#include "core/peers/torch/view.h"

#include <inttypes.h>

/* One propagation. Which input dims may stay cut on which axis, and where each goes. */
typedef struct {
    const View *view;
    const Shape *shape;
    const Mesh *mesh;
    const Placement *given; /* interleaved shards written as strided ones */
    bool strict;
    bool blocks; /* interleaved shards are among them: they stay on the first part of a split */
    bool allowed[DIMS_MAX][MESH_AXES_MAX];
    bool falls_back[DIMS_MAX][MESH_AXES_MAX];       /* replicated instead of refused */
    bool matched[MESH_AXES_MAX];                    /* a strided shard that a split takes back */
    int n_goes[DIMS_MAX], goes[DIMS_MAX][DIMS_MAX]; /* output dims of an input dim */
    bool claimed[DIMS_MAX][DIMS_MAX];               /* (input, output) taken by a strided shard */
    int64_t local[DIMS_MAX];
    Error *err;
} Walk;

static int64_t axis_size(const Walk *walk, int axis)
{
    return walk->mesh->axes[axis].size;
}

static bool refuse(Walk *walk, int axis, const char *what, int dim, int64_t size)
{
    error_kind(walk->err, ERROR_NEEDS_RESHARD,
               "%s: dim %d (size %" PRId64 ") over axis '%s' (size %" PRId64 ")", what, dim, size,
               walk->mesh->axes[axis].name, axis_size(walk, axis));
    error_hint(walk->err, "redistribute the input first: replicate it over '%s'",
               walk->mesh->axes[axis].name);
    return false;
}

static void allow(Walk *walk, int dim, bool yes)
{
    for (int axis = 0; axis < walk->mesh->n_axes; axis++)
        walk->allowed[dim][axis] = yes;
}

/* The first axis that plainly cuts the dim; -1. */
static int find_plain(const Walk *walk, int dim)
{
    for (int axis = 0; axis < walk->mesh->n_axes; axis++)
        if (walk->given[axis].kind == PLACE_SHARD && walk->given[axis].dim == dim)
            return axis;
    return -1;
}

static void send_to(Walk *walk, int dim, int output)
{
    walk->goes[dim][walk->n_goes[dim]++] = output;
}

/* In how many pieces a strided shard of `dim` lies that is a cut of this split's part alone, over
 * `axis`: the parts before it, less what earlier axes cut of them. -1: none. */
static int64_t pieces_of_split(const Walk *walk, const ViewDim *split, int dim, int axis,
                               const Placement *placements)
{
    int64_t pieces = 1;
    for (int i = 0; i < split->id; i++)
        pieces *= split->group[i];
    for (int m = 0; m < axis; m++) {
        if (!placement_is_shard(&placements[m]) || placements[m].dim != dim)
            continue;
        if (pieces % axis_size(walk, m) != 0)
            return -1;
        pieces /= axis_size(walk, m);
    }
    return pieces;
}

/* ---- which dims may stay cut ---- */

/* The shards of flattened dims; *any: one of them is cut. */
static bool walk_flatten(Walk *walk, const ViewDim *view, bool *any)
{
    *any = false;
    for (int i = 0; i < view->n; i++) {
        int dim = view->dim[i], axis = find_plain(walk, dim);
        if (axis < 0)
            continue;
        bool even = walk->shape->dim[dim] % axis_size(walk, axis) == 0;
        if (walk->strict && i < view->n - 1 && !even)
            return refuse(walk, axis, "an uneven shard cannot be flattened", dim,
                          walk->shape->dim[dim]);
        allow(walk, dim, walk->strict || (i == 0 && even));
        *any |= walk->strict || i == 0;
    }
    return true;
}

/* Of flattened dims that are split again, only the first one's shard finds a part. */
static void drop_later_shards(Walk *walk, const ViewDim *view)
{
    for (int i = 1; i < view->n; i++)
        for (int axis = 0; axis < walk->mesh->n_axes; axis++) {
            int dim = view->dim[i];
            if (walk->given[axis].kind != PLACE_SHARD || walk->given[axis].dim != dim)
                continue;
            walk->allowed[dim][axis] = false;
            walk->falls_back[dim][axis] = true;
        }
}

/* The axis whose shard of `dim` is a cut of this part: plain, or strided as its place says. */
static int find_shard_of_split(const Walk *walk, const ViewDim *split, int dim)
{
    for (int axis = 0; axis < walk->mesh->n_axes; axis++) {
        const Placement *placement = &walk->given[axis];
        if (!placement_is_shard(placement) || placement->dim != dim || walk->matched[axis])
            continue;
        if (placement->kind == PLACE_SHARD ||
            pieces_of_split(walk, split, dim, axis, walk->given) == placement->factor)
            return axis;
    }
    return -1;
}

static bool walk_split(Walk *walk, const ViewDim *view)
{
    bool any;
    if (view->n > 1 && !walk_flatten(walk, view, &any))
        return false;
    int dim = view->dim[0];
    for (int i = 0; view->n > 1 && i < view->n; i++)
        if (find_plain(walk, view->dim[i]) >= 0 && (walk->strict || i == 0)) {
            dim = view->dim[i];
            break;
        }
    drop_later_shards(walk, view);
    int64_t size = view->group[view->id];
    int axis = find_shard_of_split(walk, view, dim), plain = find_plain(walk, dim);
    for (int m = 0; view->id == 0 && m < walk->mesh->n_axes; m++)
        walk->allowed[dim][m] = size % axis_size(walk, m) == 0;
    if (view->id == 0 && walk->strict && plain >= 0 && !walk->allowed[dim][plain])
        return refuse(walk, plain, "an uneven shard cannot be unflattened", 0, size);
    if (axis < 0 || walk->given[axis].kind == PLACE_SHARD)
        return true;
    bool last = view->id == view->n_groups - 1, even = size % axis_size(walk, axis) == 0;
    if (walk->strict && !last && !even)
        return refuse(walk, axis, "an uneven shard cannot be unflattened", view->id, size);
    walk->matched[axis] = true;
    walk->allowed[dim][axis] = even || last;
    return true;
}

/* The input dim whose shards a part of a split may take: set by its first part. */
static int split_root(const Walk *walk, const ViewDim *view)
{
    for (int i = 0; view->n > 1 && i < view->n; i++)
        if (find_plain(walk, view->dim[i]) >= 0 && (walk->strict || i == 0))
            return view->dim[i];
    return view->dim[0];
}

static bool walk_dim(Walk *walk, int output)
{
    const ViewDim *view = &walk->view->at[output];
    bool any;
    switch (view->kind) {
    case VIEW_INPUT:
        send_to(walk, view->dim[0], output);
        return true;
    case VIEW_FLATTEN:
        if (!walk_flatten(walk, view, &any))
            return false;
        for (int i = 0; i < view->n; i++)
            if (any ? find_plain(walk, view->dim[i]) >= 0 && (walk->strict || i == 0) : i == 0)
                send_to(walk, view->dim[i], output);
        return true;
    case VIEW_SPLIT:
        if (!walk_split(walk, view))
            return false;
        if (view->id == 0)
            send_to(walk, split_root(walk, view), output);
        else if (walk->n_goes[view->dim[0]] > 0)
            send_to(walk, view->dim[0], output);
        return true;
    case VIEW_REPEAT:
    case VIEW_BROADCAST:
        if (view->n > 0)
            allow(walk, view->dim[0], false);
        return true;
    case VIEW_ONE:
    case VIEW_NEW:
        return true;
    }
    return true;
}

static bool find_allowed(Walk *walk, Placement *input)
{
    for (int i = 0; i < walk->view->n; i++)
        for (int k = 0; k < walk->view->at[i].n; k++)
            allow(walk, walk->view->at[i].dim[k], true);
    for (int i = 0; i < walk->view->n; i++)
        if (!walk_dim(walk, i))
            return false;
    for (int axis = 0; axis < walk->mesh->n_axes; axis++) {
        const Placement *given = &walk->given[axis];
        input[axis] = *given;
        if (!placement_is_shard(given) || walk->allowed[given->dim][axis])
            continue;
        if (walk->strict && !walk->falls_back[given->dim][axis])
            return refuse(walk, axis, "a view cannot take away or regroup a dim that is cut",
                          given->dim, walk->shape->dim[given->dim]);
        input[axis] = (Placement){.kind = PLACE_REPLICATE};
    }
    return true;
}

/* ---- where shards go ---- */

/* The output dims that a dim goes to and no strided shard has taken. */
static int open_dims(const Walk *walk, int dim, int *out)
{
    int n = 0;
    for (int i = 0; i < walk->n_goes[dim]; i++)
        if (!walk->claimed[dim][walk->goes[dim][i]])
            out[n++] = walk->goes[dim][i];
    return n;
}

/* Whether a later axis cuts a dim of this flattening at or after `dim`. */
static bool is_last_cut(const Walk *walk, const Placement *input, int axis, const ViewDim *flat)
{
    for (int m = axis + 1; m < walk->mesh->n_axes; m++)
        if (placement_is_shard(&input[m]) && input[m].dim >= input[axis].dim &&
            input[m].dim <= flat->dim[flat->n - 1])
            return false;
    return true;
}

static bool send_flattened(Walk *walk, const Placement *input, int axis, int target,
                           Placement *output)
{
    const ViewDim *flat = &walk->view->at[target];
    int dim = input[axis].dim;
    int64_t pieces = 1;
    for (int d = flat->dim[0]; d < dim; d++)
        pieces *= walk->local[d];
    *output = (Placement){.kind = PLACE_SHARD, .dim = target, .factor = 1};
    if (dim != flat->dim[0]) {
        output->kind = PLACE_STRIDED;
        output->factor = pieces;
    }
    if (walk->local[dim] % axis_size(walk, axis) != 0 && !is_last_cut(walk, input, axis, flat))
        return refuse(walk, axis, "an uneven shard cannot be flattened", dim, walk->local[dim]);
    return true;
}

static bool send_plain(Walk *walk, const Placement *input, int axis, Placement *output)
{
    int dim = input[axis].dim, open[DIMS_MAX], n = open_dims(walk, dim, open), target = -1;
    for (int i = 0; i < n && target < 0; i++) {
        const ViewDim *view = &walk->view->at[open[i]];
        if (n == 1 || (view->kind == VIEW_SPLIT && view->id == 0))
            target = open[i];
    }
    if (target < 0)
        return refuse(walk, axis, "no dim of the result takes this shard", dim,
                      walk->shape->dim[dim]);
    if (walk->view->at[target].kind == VIEW_FLATTEN) {
        if (!send_flattened(walk, input, axis, target, output))
            return false;
    } else {
        *output = (Placement){.kind = PLACE_SHARD, .dim = target, .factor = 1};
    }
    walk->local[dim] /= axis_size(walk, axis);
    return true;
}

/* The product of the flattened dims after `dim`. */
static int64_t size_after(const Walk *walk, const ViewDim *view, int dim)
{
    int64_t size = 1;
    bool found = false;
    for (int i = 0; view->n > 1 && i < view->n; i++) {
        size *= found ? walk->shape->dim[view->dim[i]] : 1;
        found |= view->dim[i] == dim;
    }
    return size;
}

/* The first part of a split whose elements stay together in every piece; -1. */
static int find_strided_target(const Walk *walk, const int *open, int n, const Placement *placement,
                               int axis)
{
    int64_t parts, size = walk->shape->dim[placement->dim];
    if (__builtin_mul_overflow(axis_size(walk, axis), placement->factor, &parts) ||
        size % parts != 0)
        return -1;
    for (int i = 0; i < n; i++) {
        const ViewDim *view = &walk->view->at[open[i]];
        int64_t inner = 1;
        for (int g = view->id + 1; g < view->n_groups; g++)
            inner *= view->group[g];
        int64_t piece = size / parts * size_after(walk, view, placement->dim);
        bool fits = view->kind == VIEW_SPLIT && inner > 0 && piece >= inner && piece % inner == 0;
        if (fits && (view->id == 0 || !walk->blocks))
            return open[i];
    }
    return -1;
}

static bool send_strided(Walk *walk, const Placement *input, int axis, Placement *output)
{
    const Placement *placement = &input[axis];
    int dim = placement->dim, open[DIMS_MAX], n = open_dims(walk, dim, open);
    bool splits = false;
    *output = *placement;
    for (int i = 0; i < n; i++) {
        const ViewDim *view = &walk->view->at[open[i]];
        splits |= view->kind == VIEW_SPLIT;
        if (view->kind != VIEW_SPLIT ||
            pieces_of_split(walk, view, dim, axis, input) != placement->factor)
            continue;
        walk->claimed[dim][open[i]] = true;
        walk->local[dim] /= axis_size(walk, axis);
        *output = (Placement){.kind = PLACE_SHARD, .dim = open[i], .factor = 1};
        return true;
    }
    output->dim = find_strided_target(walk, open, n, placement, axis);
    if (output->dim < 0 && ((walk->strict && splits) || n == 0))
        return refuse(walk, axis, "no dim of the result lies in the pieces of this shard", dim,
                      walk->shape->dim[dim]);
    if (output->dim < 0)
        output->dim = open[0];
    walk->local[dim] /= axis_size(walk, axis);
    return true;
}

/* Interleaved and strided shards are the same thing to a view. */
static void rename_shards(Placement *placements, int n_axes, PlacementKind from, PlacementKind to)
{
    for (int axis = 0; axis < n_axes; axis++)
        if (placements[axis].kind == from)
            placements[axis].kind = to;
}

bool view_propagate(const View *view, const Shape *shape, const Mesh *mesh, bool strict,
                    const Placement *given, Placement *input, Placement *output, Error *err)
{
    Placement renamed[MESH_AXES_MAX];
    bool interleaved = false;
    for (int axis = 0; axis < mesh->n_axes; axis++) {
        renamed[axis] = given[axis];
        interleaved |= given[axis].kind == PLACE_INTERLEAVED;
    }
    rename_shards(renamed, mesh->n_axes, PLACE_INTERLEAVED, PLACE_STRIDED);
    Walk walk = {.view = view,
                 .shape = shape,
                 .mesh = mesh,
                 .given = renamed,
                 .strict = strict,
                 .blocks = interleaved,
                 .err = err};
    memcpy(walk.local, shape->dim, sizeof walk.local);
    if (!find_allowed(&walk, input))
        return false;
    for (int axis = 0; axis < mesh->n_axes; axis++) {
        output[axis] = input[axis];
        if (input[axis].kind == PLACE_SHARD && !send_plain(&walk, input, axis, &output[axis]))
            return false;
        if (input[axis].kind == PLACE_STRIDED && !send_strided(&walk, input, axis, &output[axis]))
            return false;
    }
    if (interleaved)
        rename_shards(input, mesh->n_axes, PLACE_STRIDED, PLACE_INTERLEAVED);
    return true;
}

/* ---- the answer ---- */

/* Without the overload and the `_` of an in-place form. */
static Str base_of(Str name)
{
    const char *dot = memchr(name.s, '.', name.n);
    size_t n = dot ? (size_t)(dot - name.s) : name.n;
    return (Str){name.s, n > 1 && name.s[n - 1] == '_' ? n - 1 : n};
}

static bool answer_view(const Strategies *strategies, const StrategyCall *call,
                        const StrategyOp *op, StrategyAnswer *out, Error *err)
{
    (void)strategies;
    (void)op;
    const ViewOp *row = view_find(base_of(str_from(call->op)));
    View view;
    Shape shape;
    if (!row || !strategy_need(call, 1, err) || !row->view(call, &view, &shape, err))
        return false;
    int n_axes = call->mesh->n_axes;
    Placement *input = arena_array(call->arena, Placement, n_axes);
    Placement *output = arena_array(call->arena, Placement, n_axes);
    if (!view_propagate(&view, strategy_shape_of(call, 0), call->mesh, row->strict,
                        call->input[0].placements, input, output, err))
        return false;
    if (call->profile == STRATEGY_VESCALE)
        rename_shards(output, n_axes, PLACE_STRIDED, PLACE_INTERLEAVED);
    const Placement **inputs = arena_array(call->arena, const Placement *, call->n_inputs);
    const Placement **outputs = arena_array(call->arena, const Placement *, 1);
    for (int i = 0; i < call->n_inputs; i++)
        inputs[i] = i == 0 ? input : call->input[i].placements;
    outputs[0] = output;
    return strategy_answer_as(call, 1, outputs, inputs, out, err) &&
           strategy_permit(call, out, err);
}

const StrategyOp ops_view[] = {
    {"view _unsafe_view reshape view_copy flatten ravel squeeze unsqueeze expand expand_copy "
     "broadcast_to permute transpose movedim repeat tile view_as_real",
     NULL, NULL, NULL, 0, answer_view},
    {0},
};
