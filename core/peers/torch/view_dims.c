#include "core/peers/torch/view.h"

#include <inttypes.h>

/* ---- dims ---- */

static void add_dim(TorchView *view, ViewKind kind, int dim)
{
    if (view->n < DIMS_MAX)
        view->at[view->n++] = (ViewDim){.kind = kind, .n = dim >= 0, .dim = {dim >= 0 ? dim : 0}};
}

/* ---- reshape: groups of equal products ---- */

typedef struct {
    const Shape *from, *to;
    int64_t from_at, to_at;
    int n_from, n_to;
    int64_t f, t; /* products of the groups so far */
    int from_dim[DIMS_MAX];
    int64_t to_size[DIMS_MAX];
} Grouping;

static void add_from(Grouping *group)
{
    group->f *= group->from->dim[group->from_at];
    group->from_dim[group->n_from++] = (int)group->from_at++;
}

static void add_to(Grouping *group)
{
    group->t *= group->to->dim[group->to_at];
    group->to_size[group->n_to++] = group->to->dim[group->to_at++];
}

/* Adds dims on both sides until the products are equal. A dim of size 1 beside a larger one is its
 * own group. */
static void next_group(Grouping *group)
{
    group->n_from = group->n_to = 0;
    group->f = group->t = 1;
    bool from_left = group->from_at < group->from->n_dims,
         to_left = group->to_at < group->to->n_dims;
    int64_t first_from = from_left ? group->from->dim[group->from_at] : 1;
    int64_t first_to = to_left ? group->to->dim[group->to_at] : 1;
    bool from_alone = from_left && to_left && first_from == 1 && first_to != 1;
    bool to_alone = from_left && to_left && first_from != 1 && first_to == 1;
    if (from_left && !to_alone)
        add_from(group);
    if (to_left && !from_alone)
        add_to(group);
    if (from_alone || to_alone)
        return;
    while (group->f != group->t) {
        from_left = group->from_at < group->from->n_dims;
        to_left = group->to_at < group->to->n_dims;
        bool divides = group->f != 0 && group->t % group->f == 0;
        if (from_left && (!to_left || divides || group->t > group->f))
            add_from(group);
        else if (to_left)
            add_to(group);
        else
            return;
    }
}

/* Part `id` of the group's input dims: parts of size 1 are left out. */
static ViewDim group_dim(const Grouping *group, int id)
{
    ViewDim out = {.kind = group->n_from > 1 ? VIEW_FLATTEN : VIEW_INPUT};
    for (int i = 0; i < group->n_from; i++)
        if (group->from->dim[group->from_dim[i]] >= 1)
            out.dim[out.n++] = group->from_dim[i];
    if (group->n_to > 1)
        out.kind = VIEW_SPLIT;
    else if (out.n == 1)
        out.kind = VIEW_INPUT;
    if (out.n == 0 || (group->n_to > 1 && group->to_size[id] == 1))
        return (ViewDim){.kind = VIEW_ONE};
    for (int i = 0; i < group->n_to; i++) {
        if (i == id)
            out.id = out.n_groups;
        if (group->to_size[i] != 1)
            out.group[out.n_groups++] = group->to_size[i];
    }
    return out;
}

bool view_reshape(const Shape *from, const Shape *to, TorchView *out, Error *err)
{
    if (shape_elements(from) != shape_elements(to))
        return error_set(err, "%" PRId64 " elements are not %" PRId64, shape_elements(from),
                         shape_elements(to));
    *out = (TorchView){0};
    Grouping group = {.from = from, .to = to};
    while (group.from_at < from->n_dims || group.to_at < to->n_dims) {
        next_group(&group);
        for (int i = 0; i < group.n_to && out->n < DIMS_MAX; i++)
            out->at[out->n++] = group_dim(&group, i);
    }
    return true;
}

/* ---- the operators ---- */

/* The first of these attributes as a shape; -1 is computed from n_elements, or if n_elements < 0 it
 * is the size in `kept`, counted from the last dim. */
static bool read_size(const StrategyCall *call, const char *const *names, int64_t n_elements,
                      const Shape *kept, Shape *out, Error *err)
{
    int n = 0, open = -1;
    const int64_t *size = NULL;
    int64_t product = 1;
    for (; !size && *names; names++)
        size = strategy_ints(call, *names, &n);
    if (!size || n > DIMS_MAX)
        return error_set(err, "%s needs the sizes of its result", call->op);
    *out = (Shape){.n_dims = n};
    for (int d = 0; d < n; d++) {
        int64_t from = d - (n - kept->n_dims);
        out->dim[d] = size[d];
        if (size[d] == -1 && n_elements < 0 && from >= 0)
            out->dim[d] = kept->dim[from];
        else if (size[d] == -1)
            open = d;
        else if (__builtin_mul_overflow(product, size[d], &product))
            return error_kind(err, ERROR_OUT_OF_RANGE, "%s: its result is too large", call->op);
    }
    if (open >= 0)
        out->dim[open] = product > 0 && n_elements >= 0 ? n_elements / product : 0;
    return shape_check(out, err);
}

static const char *const size_names[] = {"out_shape", "size", "shape", NULL};

static bool view_of_size(const StrategyCall *call, TorchView *out, Shape *shape, Error *err)
{
    const Shape *from = strategy_shape_of(call, 0);
    return read_size(call, size_names, shape_elements(from), from, shape, err) &&
           view_reshape(from, shape, out, err);
}

/* Merges dims start..end, all by default. */
static bool view_flatten(const StrategyCall *call, TorchView *out, Shape *shape, Error *err)
{
    const Shape *from = strategy_shape_of(call, 0);
    int n;
    if (strategy_ints(call, "out_shape", &n))
        return view_of_size(call, out, shape, err);
    int64_t start, end;
    if (!strategy_dim(call, "start_dim", from->n_dims, 0, &start, err) ||
        !strategy_dim(call, "end_dim", from->n_dims, -1, &end, err))
        return false;
    *shape = (Shape){0};
    for (int64_t d = 0; d < from->n_dims; d++) {
        bool joins = d > start && d <= end;
        if (!joins)
            shape->dim[shape->n_dims++] = 1;
        shape->dim[shape->n_dims - 1] *= from->dim[d];
    }
    if (from->n_dims == 0)
        *shape = (Shape){.n_dims = 1, .dim = {1}};
    return view_reshape(from, shape, out, err);
}

static bool view_order(const Shape *from, const int64_t *order, TorchView *out, Shape *shape)
{
    *shape = (Shape){.n_dims = from->n_dims};
    *out = (TorchView){0};
    for (int64_t d = 0; d < from->n_dims; d++) {
        add_dim(out, VIEW_INPUT, (int)order[d]);
        shape->dim[d] = from->dim[order[d]];
    }
    return true;
}

static bool view_permute(const StrategyCall *call, TorchView *out, Shape *shape, Error *err)
{
    const Shape *from = strategy_shape_of(call, 0);
    int n;
    int64_t order[DIMS_MAX] = {0};
    unsigned seen = 0;
    const int64_t *dims = strategy_ints(call, "dims", &n);
    if (!dims || n != from->n_dims)
        return error_kind(err, ERROR_RANK, "%s lists each dim once", call->op);
    for (int d = 0; d < n; d++) {
        order[d] = dims[d] < 0 ? dims[d] + n : dims[d];
        if (order[d] < 0 || order[d] >= n || seen & 1u << order[d])
            return error_kind(err, ERROR_OUT_OF_RANGE, "%s lists each dim once", call->op);
        seen |= 1u << order[d];
    }
    return view_order(from, order, out, shape);
}

static bool view_transpose(const StrategyCall *call, TorchView *out, Shape *shape, Error *err)
{
    const Shape *from = strategy_shape_of(call, 0);
    int64_t a, b, order[DIMS_MAX];
    if (!strategy_dim(call, "dim0", from->n_dims, 0, &a, err) ||
        !strategy_dim(call, "dim1", from->n_dims, from->n_dims > 1, &b, err))
        return false;
    for (int64_t d = 0; d < from->n_dims; d++)
        order[d] = d == a ? b : d == b ? a : d;
    return view_order(from, order, out, shape);
}

/* Reads an attribute that is an int or a list. */
static int read_dims(const StrategyCall *call, const char *name, int64_t *out)
{
    int n;
    const int64_t *list = strategy_ints(call, name, &n);
    out[0] = strategy_int(call, name, 0);
    for (int i = 0; list && i < n && i < DIMS_MAX; i++)
        out[i] = list[i];
    return list ? (n < DIMS_MAX ? n : DIMS_MAX) : 1;
}

static bool view_movedim(const StrategyCall *call, TorchView *out, Shape *shape, Error *err)
{
    const Shape *from = strategy_shape_of(call, 0);
    int64_t source[DIMS_MAX], target[DIMS_MAX], order[DIMS_MAX];
    int n = read_dims(call, "source", source);
    unsigned moved = 0;
    if (read_dims(call, "destination", target) != n)
        return error_set(err, "%s needs as many destinations as sources", call->op);
    for (int64_t d = 0; d < from->n_dims; d++)
        order[d] = -1;
    for (int i = 0; i < n; i++) {
        source[i] += source[i] < 0 ? from->n_dims : 0;
        target[i] += target[i] < 0 ? from->n_dims : 0;
        if (source[i] < 0 || source[i] >= from->n_dims || target[i] < 0 ||
            target[i] >= from->n_dims || order[target[i]] >= 0 || moved & 1u << source[i])
            return error_kind(err, ERROR_OUT_OF_RANGE, "%s: no such dim, or one twice", call->op);
        order[target[i]] = source[i];
        moved |= 1u << source[i];
    }
    for (int64_t d = 0, next = 0; d < from->n_dims; d++) {
        if (order[d] >= 0)
            continue;
        while (moved & 1u << next)
            next++;
        order[d] = next++;
    }
    return view_order(from, order, out, shape);
}

static bool view_unsqueeze(const StrategyCall *call, TorchView *out, Shape *shape, Error *err)
{
    const Shape *from = strategy_shape_of(call, 0);
    int64_t at;
    if (!strategy_dim(call, "dim", from->n_dims + 1, 0, &at, err))
        return false;
    if (from->n_dims == DIMS_MAX)
        return error_kind(err, ERROR_RANK, "more than %d dims", DIMS_MAX);
    *shape = (Shape){.n_dims = from->n_dims + 1};
    *out = (TorchView){0};
    for (int64_t d = 0; d <= from->n_dims; d++) {
        bool is_new = d == at;
        add_dim(out, is_new ? VIEW_ONE : VIEW_INPUT, is_new ? -1 : (int)(d - (d > at)));
        shape->dim[d] = is_new ? 1 : from->dim[d - (d > at)];
    }
    return true;
}

static bool view_squeeze(const StrategyCall *call, TorchView *out, Shape *shape, Error *err)
{
    const Shape *from = strategy_shape_of(call, 0);
    unsigned dims;
    if (!strategy_dims(call, "dim", from->n_dims, &dims, err))
        return false;
    *shape = (Shape){0};
    *out = (TorchView){0};
    for (int64_t d = 0; d < from->n_dims; d++) {
        if (from->dim[d] <= 1 && dims & 1u << d)
            continue;
        add_dim(out, VIEW_INPUT, (int)d);
        shape->dim[shape->n_dims++] = from->dim[d];
    }
    return true;
}

/* Dims of size 1 are repeated; dims before the first are new. */
static bool expand_to(const StrategyCall *call, TorchView *out, const Shape *shape, Error *err)
{
    const Shape *from = strategy_shape_of(call, 0);
    *out = (TorchView){0};
    for (int64_t d = 0; d < shape->n_dims; d++) {
        int64_t at = d - (shape->n_dims - from->n_dims);
        int64_t size = at >= 0 ? from->dim[at] : 1;
        if (size != 1 && size != shape->dim[d])
            return error_set(err, "%s: a dim of %" PRId64 " cannot become %" PRId64, call->op, size,
                             shape->dim[d]);
        ViewKind kind = size != shape->dim[d] ? VIEW_BROADCAST : at < 0 ? VIEW_ONE : VIEW_INPUT;
        add_dim(out, kind, (int)at);
    }
    return true;
}

static bool view_expand(const StrategyCall *call, TorchView *out, Shape *shape, Error *err)
{
    const Shape *from = strategy_shape_of(call, 0);
    return read_size(call, size_names, -1, from, shape, err) && expand_to(call, out, shape, err);
}

static bool view_repeat(const StrategyCall *call, TorchView *out, Shape *shape, Error *err)
{
    const Shape *from = strategy_shape_of(call, 0);
    int n;
    const int64_t *times = strategy_ints(call, "repeats", &n);
    if (!times)
        times = strategy_ints(call, "dims", &n);
    if (!times || n < from->n_dims || n > DIMS_MAX)
        return error_kind(err, ERROR_RANK, "%s needs a count for every dim", call->op);
    *shape = (Shape){.n_dims = n};
    *out = (TorchView){0};
    for (int d = 0; d < n; d++) {
        int64_t at = d - (n - from->n_dims);
        if (__builtin_mul_overflow(times[d], at >= 0 ? from->dim[at] : 1, &shape->dim[d]))
            return error_kind(err, ERROR_OUT_OF_RANGE, "%s: its result is too large", call->op);
        if (at < 0)
            add_dim(out, times[d] == 1 ? VIEW_ONE : VIEW_BROADCAST, -1);
        else
            add_dim(out, times[d] == 1 ? VIEW_INPUT : VIEW_REPEAT, (int)at);
    }
    return shape_check(shape, err);
}

/* Adds a last dim of size 2: real and imaginary parts. */
static bool view_real(const StrategyCall *call, TorchView *out, Shape *shape, Error *err)
{
    *shape = *strategy_shape_of(call, 0);
    if (shape->n_dims == 0 || shape->n_dims == DIMS_MAX)
        return error_kind(err, ERROR_RANK, "%s: the result would have too many dims", call->op);
    *out = (TorchView){0};
    for (int64_t d = 0; d < shape->n_dims; d++)
        add_dim(out, VIEW_INPUT, (int)d);
    ViewDim *last = &out->at[shape->n_dims - 1];
    last->kind = VIEW_SPLIT;
    last->n_groups = 2;
    last->group[0] = shape->dim[shape->n_dims - 1];
    last->group[1] = 2;
    out->at[out->n] = *last;
    out->at[out->n++].id = 1;
    shape->dim[shape->n_dims++] = 2;
    return true;
}

static const ViewOp view_ops[] = {
    {"view", view_of_size, true},         {"_unsafe_view", view_of_size, true},
    {"reshape", view_of_size, true},      {"view_copy", view_of_size, false},
    {"flatten", view_flatten, true},      {"ravel", view_flatten, true},
    {"squeeze", view_squeeze, true},      {"unsqueeze", view_unsqueeze, false},
    {"expand", view_expand, false},       {"expand_copy", view_expand, false},
    {"broadcast_to", view_expand, false}, {"permute", view_permute, false},
    {"transpose", view_transpose, false}, {"movedim", view_movedim, false},
    {"repeat", view_repeat, false},       {"tile", view_repeat, false},
    {"view_as_real", view_real, false},
};

const ViewOp *view_find(Str name)
{
    for (size_t i = 0; i < sizeof view_ops / sizeof *view_ops; i++)
        if (str_eq(name, str_from(view_ops[i].name)))
            return &view_ops[i];
    return NULL;
}
