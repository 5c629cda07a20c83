#include "core/peers/torch/view.h"

#include <inttypes.h>

/* One propagation: which input dims may stay sharded on which axis, and where each goes. */
typedef struct {
    const TorchView *view;
    const Shape *shape;
    const Mesh *mesh;
    const Placement *given; /* interleaved shards written as strided ones */
    bool strict;
    bool blocks; /* interleaved shards are among them: they may stay on the first part of a split */
    bool allowed[DIMS_MAX][MESH_AXES_MAX];
    bool falls_back[DIMS_MAX][MESH_AXES_MAX]; /* replicated instead of refused */
    bool matched[MESH_AXES_MAX];              /* a strided shard that a split makes plain again */
    int n_goes[DIMS_MAX], goes[DIMS_MAX][DIMS_MAX]; /* output dims of an input dim */
    bool claimed[DIMS_MAX][DIMS_MAX];               /* (input, output) used by a strided shard */
    int64_t local[DIMS_MAX];
    Error *err;
} ViewRun;

static int64_t axis_size(const ViewRun *run, int axis)
{
    return run->mesh->axes[axis].size;
}

static bool refuse(ViewRun *run, int axis, const char *what, int dim, int64_t size)
{
    error_kind(run->err, ERROR_NEEDS_RESHARD,
               "%s: dim %d (size %" PRId64 ") over axis '%s' (size %" PRId64 ")", what, dim, size,
               run->mesh->axes[axis].name, axis_size(run, axis));
    error_hint(run->err, "redistribute the input first: replicate it over '%s'",
               run->mesh->axes[axis].name);
    return false;
}

static void allow(ViewRun *run, int dim, bool yes)
{
    for (int axis = 0; axis < run->mesh->n_axes; axis++)
        run->allowed[dim][axis] = yes;
}

/* The first axis with a plain shard of the dim, or -1. */
static int find_plain(const ViewRun *run, int dim)
{
    for (int axis = 0; axis < run->mesh->n_axes; axis++)
        if (run->given[axis].kind == PLACE_SHARD && run->given[axis].dim == dim)
            return axis;
    return -1;
}

static void send_to(ViewRun *run, int dim, int output)
{
    run->goes[dim][run->n_goes[dim]++] = output;
}

/* The number of pieces of a strided shard of `dim` over `axis` that shards only this part of the
 * split: the sizes of the parts before it, divided by earlier shards of them; or -1. */
static int64_t pieces_of_split(const ViewRun *run, const ViewDim *split, int dim, int axis,
                               const Placement *placements)
{
    int64_t pieces = 1;
    for (int i = 0; i < split->id; i++)
        pieces *= split->group[i];
    for (int m = 0; m < axis; m++) {
        if (!placement_is_shard(&placements[m]) || placements[m].dim != dim)
            continue;
        if (pieces % axis_size(run, m) != 0)
            return -1;
        pieces /= axis_size(run, m);
    }
    return pieces;
}

/* ---- which dims may stay sharded ---- */

/* Allows the shards of flattened dims; *any is set if one is sharded. */
static bool allow_flatten(ViewRun *run, const ViewDim *view, bool *any)
{
    *any = false;
    for (int i = 0; i < view->n; i++) {
        int dim = view->dim[i], axis = find_plain(run, dim);
        if (axis < 0)
            continue;
        bool even = run->shape->dim[dim] % axis_size(run, axis) == 0;
        if (run->strict && i < view->n - 1 && !even)
            return refuse(run, axis, "an uneven shard cannot be flattened", dim,
                          run->shape->dim[dim]);
        allow(run, dim, run->strict || (i == 0 && even));
        *any |= run->strict || i == 0;
    }
    return true;
}

/* Of flattened dims that are split again, only the first may be sharded. */
static void drop_later_shards(ViewRun *run, const ViewDim *view)
{
    for (int i = 1; i < view->n; i++)
        for (int axis = 0; axis < run->mesh->n_axes; axis++) {
            int dim = view->dim[i];
            if (run->given[axis].kind != PLACE_SHARD || run->given[axis].dim != dim)
                continue;
            run->allowed[dim][axis] = false;
            run->falls_back[dim][axis] = true;
        }
}

/* The axis whose shard of `dim` shards this part: plain, or strided by its position. */
static int find_shard_of_split(const ViewRun *run, const ViewDim *split, int dim)
{
    for (int axis = 0; axis < run->mesh->n_axes; axis++) {
        const Placement *placement = &run->given[axis];
        if (!placement_is_shard(placement) || placement->dim != dim || run->matched[axis])
            continue;
        if (placement->kind == PLACE_SHARD ||
            pieces_of_split(run, split, dim, axis, run->given) == placement->factor)
            return axis;
    }
    return -1;
}

static bool allow_split(ViewRun *run, const ViewDim *view)
{
    bool any;
    if (view->n > 1 && !allow_flatten(run, view, &any))
        return false;
    int dim = view->dim[0];
    for (int i = 0; view->n > 1 && i < view->n; i++)
        if (find_plain(run, view->dim[i]) >= 0 && (run->strict || i == 0)) {
            dim = view->dim[i];
            break;
        }
    drop_later_shards(run, view);
    int64_t size = view->group[view->id];
    int axis = find_shard_of_split(run, view, dim), plain = find_plain(run, dim);
    for (int m = 0; view->id == 0 && m < run->mesh->n_axes; m++)
        run->allowed[dim][m] = size % axis_size(run, m) == 0;
    if (view->id == 0 && run->strict && plain >= 0 && !run->allowed[dim][plain])
        return refuse(run, plain, "an uneven shard cannot be unflattened", 0, size);
    if (axis < 0 || run->given[axis].kind == PLACE_SHARD)
        return true;
    bool last = view->id == view->n_groups - 1, even = size % axis_size(run, axis) == 0;
    if (run->strict && !last && !even)
        return refuse(run, axis, "an uneven shard cannot be unflattened", view->id, size);
    run->matched[axis] = true;
    run->allowed[dim][axis] = even || last;
    return true;
}

/* The input dim whose shards a part of a split may have: set by its first part. */
static int split_root(const ViewRun *run, const ViewDim *view)
{
    for (int i = 0; view->n > 1 && i < view->n; i++)
        if (find_plain(run, view->dim[i]) >= 0 && (run->strict || i == 0))
            return view->dim[i];
    return view->dim[0];
}

static bool allow_dim(ViewRun *run, int output)
{
    const ViewDim *view = &run->view->at[output];
    bool any;
    switch (view->kind) {
    case VIEW_INPUT:
        send_to(run, view->dim[0], output);
        return true;
    case VIEW_FLATTEN:
        if (!allow_flatten(run, view, &any))
            return false;
        for (int i = 0; i < view->n; i++)
            if (any ? find_plain(run, view->dim[i]) >= 0 && (run->strict || i == 0) : i == 0)
                send_to(run, view->dim[i], output);
        return true;
    case VIEW_SPLIT:
        if (!allow_split(run, view))
            return false;
        if (view->id == 0)
            send_to(run, split_root(run, view), output);
        else if (run->n_goes[view->dim[0]] > 0)
            send_to(run, view->dim[0], output);
        return true;
    case VIEW_REPEAT:
    case VIEW_BROADCAST:
        if (view->n > 0)
            allow(run, view->dim[0], false);
        return true;
    case VIEW_ONE:
    case VIEW_NEW:
        return true;
    }
    return true;
}

static bool find_allowed(ViewRun *run, Placement *input)
{
    for (int i = 0; i < run->view->n; i++)
        for (int k = 0; k < run->view->at[i].n; k++)
            allow(run, run->view->at[i].dim[k], true);
    for (int i = 0; i < run->view->n; i++)
        if (!allow_dim(run, i))
            return false;
    for (int axis = 0; axis < run->mesh->n_axes; axis++) {
        const Placement *given = &run->given[axis];
        input[axis] = *given;
        if (!placement_is_shard(given) || run->allowed[given->dim][axis])
            continue;
        if (run->strict && !run->falls_back[given->dim][axis])
            return refuse(run, axis, "a view cannot remove or regroup a sharded dim", given->dim,
                          run->shape->dim[given->dim]);
        input[axis] = (Placement){.kind = PLACE_REPLICATE};
    }
    return true;
}

/* ---- where shards go ---- */

/* The output dims of a dim that no strided shard uses. */
static int open_dims(const ViewRun *run, int dim, int *out)
{
    int n = 0;
    for (int i = 0; i < run->n_goes[dim]; i++)
        if (!run->claimed[dim][run->goes[dim][i]])
            out[n++] = run->goes[dim][i];
    return n;
}

/* True unless a later axis shards a dim of this flattening at or after `dim`. */
static bool is_last_cut(const ViewRun *run, const Placement *input, int axis, const ViewDim *flat)
{
    for (int m = axis + 1; m < run->mesh->n_axes; m++)
        if (placement_is_shard(&input[m]) && input[m].dim >= input[axis].dim &&
            input[m].dim <= flat->dim[flat->n - 1])
            return false;
    return true;
}

static bool send_flattened(ViewRun *run, const Placement *input, int axis, int target,
                           Placement *output)
{
    const ViewDim *flat = &run->view->at[target];
    int dim = input[axis].dim;
    int64_t pieces = 1;
    for (int d = flat->dim[0]; d < dim; d++)
        pieces *= run->local[d];
    *output = (Placement){.kind = PLACE_SHARD, .dim = target, .factor = 1};
    if (dim != flat->dim[0]) {
        output->kind = PLACE_STRIDED;
        output->factor = pieces;
    }
    if (run->local[dim] % axis_size(run, axis) != 0 && !is_last_cut(run, input, axis, flat))
        return refuse(run, axis, "an uneven shard cannot be flattened", dim, run->local[dim]);
    return true;
}

static bool send_plain(ViewRun *run, const Placement *input, int axis, Placement *output)
{
    int dim = input[axis].dim, open[DIMS_MAX], n = open_dims(run, dim, open), target = -1;
    for (int i = 0; i < n && target < 0; i++) {
        const ViewDim *view = &run->view->at[open[i]];
        if (n == 1 || (view->kind == VIEW_SPLIT && view->id == 0))
            target = open[i];
    }
    if (target < 0)
        return refuse(run, axis, "no dim of the result can have this shard", dim,
                      run->shape->dim[dim]);
    if (run->view->at[target].kind == VIEW_FLATTEN) {
        if (!send_flattened(run, input, axis, target, output))
            return false;
    } else {
        *output = (Placement){.kind = PLACE_SHARD, .dim = target, .factor = 1};
    }
    run->local[dim] /= axis_size(run, axis);
    return true;
}

/* The product of the flattened dims after `dim`. */
static int64_t size_after(const ViewRun *run, const ViewDim *view, int dim)
{
    int64_t size = 1;
    bool found = false;
    for (int i = 0; view->n > 1 && i < view->n; i++) {
        size *= found ? run->shape->dim[view->dim[i]] : 1;
        found |= view->dim[i] == dim;
    }
    return size;
}

/* The first part of a split whose elements stay together in every piece; -1. */
static int find_strided_target(const ViewRun *run, const int *open, int n,
                               const Placement *placement, int axis)
{
    int64_t parts, size = run->shape->dim[placement->dim];
    if (__builtin_mul_overflow(axis_size(run, axis), placement->factor, &parts) ||
        size % parts != 0)
        return -1;
    for (int i = 0; i < n; i++) {
        const ViewDim *view = &run->view->at[open[i]];
        int64_t inner = 1;
        for (int g = view->id + 1; g < view->n_groups; g++)
            inner *= view->group[g];
        int64_t piece = size / parts * size_after(run, view, placement->dim);
        bool fits = view->kind == VIEW_SPLIT && inner > 0 && piece >= inner && piece % inner == 0;
        if (fits && (view->id == 0 || !run->blocks))
            return open[i];
    }
    return -1;
}

/* A part of a split that holds whole groups of the blocks of an interleaved shard: 4 blocks over
 * (2, 96) are 2 blocks in each 96. Changes output, or returns false. */
static bool send_blocks(ViewRun *run, const int *open, int n, const Placement *input, int axis,
                        Placement *output)
{
    const Placement *placement = &input[axis];
    for (int i = 0; run->blocks && i < n; i++) {
        const ViewDim *view = &run->view->at[open[i]];
        int64_t before =
            view->kind == VIEW_SPLIT ? pieces_of_split(run, view, placement->dim, axis, input) : -1;
        if (before <= 1 || placement->factor % before != 0)
            continue;
        int64_t blocks = placement->factor / before, parts = blocks * axis_size(run, axis);
        if (view->group[view->id] % parts != 0)
            continue;
        run->claimed[placement->dim][open[i]] = true;
        run->local[placement->dim] /= axis_size(run, axis);
        output->dim = open[i];
        output->factor = blocks;
        return true;
    }
    return false;
}

static bool send_strided(ViewRun *run, const Placement *input, int axis, Placement *output)
{
    const Placement *placement = &input[axis];
    int dim = placement->dim, open[DIMS_MAX], n = open_dims(run, dim, open);
    bool splits = false;
    *output = *placement;
    for (int i = 0; i < n; i++) {
        const ViewDim *view = &run->view->at[open[i]];
        splits |= view->kind == VIEW_SPLIT;
        if (view->kind != VIEW_SPLIT ||
            pieces_of_split(run, view, dim, axis, input) != placement->factor)
            continue;
        run->claimed[dim][open[i]] = true;
        run->local[dim] /= axis_size(run, axis);
        *output = (Placement){.kind = PLACE_SHARD, .dim = open[i], .factor = 1};
        return true;
    }
    if (send_blocks(run, open, n, input, axis, output))
        return true;
    output->dim = find_strided_target(run, open, n, placement, axis);
    if (output->dim < 0 && ((run->strict && splits) || n == 0))
        return refuse(run, axis, "no dim of the result has the pieces of this shard", dim,
                      run->shape->dim[dim]);
    if (output->dim < 0)
        output->dim = open[0];
    run->local[dim] /= axis_size(run, axis);
    return true;
}

/* A view treats interleaved and strided shards alike. */
static void rename_shards(Placement *placements, int n_axes, PlacementKind from, PlacementKind to)
{
    for (int axis = 0; axis < n_axes; axis++)
        if (placements[axis].kind == from)
            placements[axis].kind = to;
}

bool view_propagate(const TorchView *view, const Shape *shape, const Mesh *mesh, bool strict,
                    const Placement *given, Placement *input, Placement *output, Error *err)
{
    Placement renamed[MESH_AXES_MAX];
    bool interleaved = false;
    for (int axis = 0; axis < mesh->n_axes; axis++) {
        renamed[axis] = given[axis];
        interleaved |= given[axis].kind == PLACE_INTERLEAVED;
    }
    rename_shards(renamed, mesh->n_axes, PLACE_INTERLEAVED, PLACE_STRIDED);
    ViewRun run = {.view = view,
                   .shape = shape,
                   .mesh = mesh,
                   .given = renamed,
                   .strict = strict,
                   .blocks = interleaved,
                   .err = err};
    memcpy(run.local, shape->dim, sizeof run.local);
    if (!find_allowed(&run, input))
        return false;
    for (int axis = 0; axis < mesh->n_axes; axis++) {
        output[axis] = input[axis];
        if (input[axis].kind == PLACE_SHARD && !send_plain(&run, input, axis, &output[axis]))
            return false;
        if (input[axis].kind == PLACE_STRIDED && !send_strided(&run, input, axis, &output[axis]))
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
    TorchView view;
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
