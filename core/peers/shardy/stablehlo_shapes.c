#include "core/peers/shardy/stablehlo_shapes.h"

#include "core/rules/args.h"

#include <string.h>

/* ---- attributes ---- */

static Ints read_ints(RuleCall *call, const char *name)
{
    Ints list;
    Error err = {0};
    if (!args_ints(call, -1, name, &list, &err))
        list = (Ints){.given = false};
    return list;
}

static int64_t at_or(Ints list, int i, int64_t otherwise)
{
    return i < list.n ? list.at[i] : otherwise;
}

static bool has(Ints list, int64_t dim)
{
    for (int i = 0; i < list.n; i++)
        if (list.at[i] == dim)
            return true;
    return false;
}

static bool push_dim(Shape *out, int64_t size)
{
    if (out->n_dims == DIMS_MAX || size < 0)
        return false;
    out->dim[out->n_dims++] = size;
    return true;
}

/* ---- operators ---- */

static bool same_as_operand(RuleCall *call, int o, Shape *out)
{
    if (o >= call->n_inputs || !call->shape[o])
        return false;
    *out = *call->shape[o];
    return true;
}

static bool dynamic_slice(RuleCall *call, int o, Shape *out)
{
    (void)o;
    Ints sizes = read_ints(call, "slice_sizes");
    if (!sizes.given || sizes.n != call->shape[0]->n_dims)
        return false;
    for (int d = 0; d < sizes.n; d++)
        if (!push_dim(out, sizes.at[d]))
            return false;
    return true;
}

/* Dims of the result in offset_dims are those of a slice that stay, in order; the others those of
 * the indices but for index_vector_dim. */
static bool gather(RuleCall *call, int o, Shape *out)
{
    (void)o;
    Ints sizes = read_ints(call, "slice_sizes"), offset = read_ints(call, "offset_dims");
    Ints collapsed = read_ints(call, "collapsed_slice_dims"),
         batching = read_ints(call, "operand_batching_dims");
    if (!sizes.given || call->n_inputs < 2 || !call->shape[1] || sizes.n != call->shape[0]->n_dims)
        return false;
    const Shape *indices = call->shape[1];
    int64_t vector = args_int(call, "index_vector_dim", 0);
    int64_t n_batch = indices->n_dims - (vector < indices->n_dims);
    int slice = 0, index = 0;
    for (int64_t d = 0; d < n_batch + offset.n; d++) {
        bool ok;
        if (has(offset, d)) {
            while (slice < sizes.n && (has(collapsed, slice) || has(batching, slice)))
                slice++;
            ok = slice < sizes.n && push_dim(out, sizes.at[slice++]);
        } else {
            index += index == vector;
            ok = index < indices->n_dims && push_dim(out, indices->dim[index++]);
        }
        if (!ok)
            return false;
    }
    while (slice < sizes.n && (has(collapsed, slice) || has(batching, slice)))
        slice++;
    return slice == sizes.n;
}

/* A window of `width` elements, `apart` apart, over a dim: its elements are `spread` apart, with
 * padding on both sides. */
typedef struct {
    int64_t size, spread, low, high, width, apart, stride;
} Sweep;

static int64_t sweep_places(Sweep s)
{
    if (s.size > INT32_MAX || s.width > INT32_MAX) /* the products below have room */
        return -1;
    int64_t whole = (s.size > 0 ? (s.size - 1) * s.spread + 1 : 0) + s.low + s.high;
    int64_t window = s.width > 0 ? (s.width - 1) * s.apart + 1 : 0;
    if (s.stride < 1 || s.spread < 1 || s.apart < 1 || whole < 0)
        return -1;
    return whole == 0 || window > whole ? 0 : (whole - window) / s.stride + 1;
}

/* Attributes are any numbers: those with which a sum might overflow are refused. */
static bool is_small(Ints list)
{
    const int64_t most = (int64_t)1 << 30;
    for (int i = 0; i < list.n; i++)
        if (list.at[i] > most || list.at[i] < -most)
            return false;
    return true;
}

typedef struct {
    Ints padding, strides, spread, apart;
} Windows;

static bool read_windows(RuleCall *call, const char *strides, const char *spread, const char *apart,
                         Windows *out)
{
    *out = (Windows){read_ints(call, "padding"), read_ints(call, strides), read_ints(call, spread),
                     read_ints(call, apart)};
    return is_small(out->padding) && is_small(out->strides) && is_small(out->spread) &&
           is_small(out->apart);
}

static int64_t places_along(const Windows *w, int i, int64_t size, int64_t width)
{
    return sweep_places((Sweep){.size = size,
                                .spread = at_or(w->spread, i, 1),
                                .low = at_or(w->padding, 2 * i, 0),
                                .high = at_or(w->padding, 2 * i + 1, 0),
                                .width = width,
                                .apart = at_or(w->apart, i, 1),
                                .stride = at_or(w->strides, i, 1)});
}

static bool reduce_window(RuleCall *call, int o, Shape *out)
{
    const Shape *operand = o < call->n_inputs ? call->shape[o] : NULL;
    Ints widths = read_ints(call, "window_dimensions");
    Windows w;
    if (!operand || !widths.given || widths.n != operand->n_dims || !is_small(widths) ||
        !read_windows(call, "window_strides", "base_dilations", "window_dilations", &w))
        return false;
    for (int d = 0; d < widths.n; d++)
        if (!push_dim(out, places_along(&w, d, operand->dim[d], widths.at[d])))
            return false;
    return true;
}

/* A side of "[b,0,1,f]x[0,1,i,o]->[b,0,1,f]": the letter or digit of each dim. Its length; 0: it is
 * not read. */
static int take_side(Str *text, char *letter)
{
    int n = 0;
    str_take(text, '[');
    Str list = str_take(text, ']');
    while (list.n > 0) {
        Str name = str_trim(str_take(&list, ','));
        if (name.n != 1 || n == DIMS_MAX)
            return 0;
        letter[n++] = name.s[0];
    }
    return n;
}

static int dim_of(const char *letter, int n, char which)
{
    const char *at = memchr(letter, which, (size_t)n);
    return at ? (int)(at - letter) : -1;
}

static bool convolution(RuleCall *call, int o, Shape *out)
{
    (void)o;
    char image[DIMS_MAX], kernel[DIMS_MAX], result[DIMS_MAX];
    Str text = args_text(call, "dim_numbers", "");
    int64_t batches = args_int(call, "batch_group_count", 1);
    Windows w;
    if (call->n_inputs != 2 || !call->shape[1] || batches < 1 ||
        !read_windows(call, "strides", "lhs_dilation", "rhs_dilation", &w))
        return false;
    const Shape *x = call->shape[0], *k = call->shape[1];
    int n = take_side(&text, image);
    if (n == 0 || take_side(&text, kernel) != n || take_side(&text, result) != n ||
        x->n_dims != n || k->n_dims != n)
        return false;
    for (int d = 0; d < n; d++) {
        int in = dim_of(image, n, result[d]), of = dim_of(kernel, n, result[d]);
        int64_t size = -1;
        if (result[d] == 'b')
            size = in < 0 ? -1 : x->dim[in] / batches;
        else if (result[d] == 'f')
            size = dim_of(kernel, n, 'o') < 0 ? -1 : k->dim[dim_of(kernel, n, 'o')];
        else if (in >= 0 && of >= 0 && is_digit(result[d]))
            size = places_along(&w, result[d] - '0', x->dim[in], k->dim[of]);
        if (!push_dim(out, size))
            return false;
    }
    return true;
}

static bool reduce(RuleCall *call, int o, Shape *out)
{
    const Shape *operand = o < call->n_inputs ? call->shape[o] : NULL;
    Ints dims = read_ints(call, "dimensions");
    if (!operand || !dims.given)
        return false;
    for (int d = 0; d < operand->n_dims; d++)
        if (!has(dims, d) && !push_dim(out, operand->dim[d]))
            return false;
    return true;
}

static const struct {
    const char *name;
    bool (*shape)(RuleCall *call, int o, Shape *out);
} rows[] = {
    {"stablehlo.convolution", convolution},
    {"stablehlo.dynamic_slice", dynamic_slice},
    {"stablehlo.dynamic_update_slice", same_as_operand},
    {"stablehlo.gather", gather},
    {"stablehlo.reduce", reduce},
    {"stablehlo.reduce_window", reduce_window},
    {"stablehlo.scatter", same_as_operand},
    {"stablehlo.select_and_scatter", same_as_operand},
    {"stablehlo.sort", same_as_operand},
};

bool stablehlo_result_shape(RuleCall *call, int o, Shape *out)
{
    *out = (Shape){0};
    for (int i = 0; i < call->n_inputs; i++)
        for (int d = 0; call->shape[i] && d < call->shape[i]->n_dims; d++)
            if (call->shape[i]->dim[d] < 0)
                return false;
    const char *name = op_operator(call->graph, call->op);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(name, rows[i].name) == 0)
            return call->n_inputs > 0 && call->shape[0] && rows[i].shape(call, o, out);
    return false;
}
