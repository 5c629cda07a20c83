/* window.c - pad, dynamic_slice, dynamic_update_slice, reverse, convolution, windows.
 *
 * A dim that is cut has the same places in operand and result; a dim along which elements move is
 * whole. Convolutions and windows go through the points of the result one by one.
 */
#include "core/run/hlo/scalar.h"

#include <inttypes.h>

/* ---- attributes ---- */

static const int64_t *list_of(const KernelCall *call, const char *name, int *n)
{
    const Attr *attr = op_attr(kernel_graph(call), call->op, name);
    *n = attr && attr->type == ATTR_INTS ? attr->n : 0;
    return *n ? attr->ints : NULL;
}

/* Element i of a list; `fallback` where the list is absent or shorter. */
static int64_t number_of(const KernelCall *call, const char *name, int64_t i, int64_t fallback)
{
    int n;
    const int64_t *at = list_of(call, name, &n);
    return i < n ? at[i] : fallback;
}

static bool same_type(const KernelCall *call, Error *err)
{
    if (call->input[0]->dtype == call->output[0]->dtype &&
        call->input[0]->shape.n_dims == call->output[0]->shape.n_dims)
        return true;
    return error_kind(err, ERROR_RUN, "its operand and its result do not match");
}

/* ---- moves ---- */

/* Elements of the result that the picks leave out are those of another input: its own at the same
 * place, or its only one. */
static void other_terms(const KernelCall *call, const Picks *picks, const Local *other)
{
    const Local *out = call->output[0];
    bool one = shape_elements(&other->shape) == 1;
    for (int64_t i = 0; i < shape_elements(&out->shape); i++) {
        bool left = false;
        int64_t rest = i;
        for (int d = picks->n_dims - 1; d >= 0; rest /= picks->size[d--])
            left |= picks->from[d][rest % picks->size[d]] == PICK_NONE;
        if (left)
            kernel_term(call, out, i, other, one ? 0 : i, 1);
    }
}

static bool pad(const KernelCall *call, Error *err)
{
    if (!kernel_needs(call, 2, err) || !same_type(call, err))
        return false;
    const Local *in = call->input[0];
    Local *out = call->output[0];
    Picks picks = picks_new(call->scratch, &out->shape);
    int64_t stride[DIMS_MAX];
    row_major_strides(&in->shape, stride);
    if (!call->sink)
        elements_copy(out->dtype, out->data, call->input[1]->data, 0, shape_elements(&out->shape));
    for (int d = 0; d < picks.n_dims; d++) {
        int64_t low = number_of(call, "padding", (int64_t)2 * d, 0);
        int64_t step = number_of(call, "interior", d, 0) + 1;
        picks_global(&picks, d, &out->runs[d], 1);
        for (int64_t i = 0; i < picks.size[d]; i++) {
            int64_t at = picks.from[d][i] - low;
            bool inside = at >= 0 && at % step == 0 && at / step < in->whole.dim[d];
            int64_t place = inside ? runs_find(&in->runs[d], at / step) : -1;
            picks.from[d][i] = place < 0 ? PICK_NONE : place * stride[d];
        }
    }
    kernel_pick(call, out, in, &picks);
    if (call->sink && call->sink->term)
        other_terms(call, &picks, call->input[1]);
    return true;
}

static bool flip(const KernelCall *call, Error *err)
{
    int n;
    const int64_t *axes = list_of(call, "axes", &n);
    if (!kernel_needs(call, 1, err) || !same_type(call, err))
        return false;
    const Local *in = call->input[0];
    Local *out = call->output[0];
    Picks picks = picks_new(call->scratch, &out->shape);
    int64_t stride[DIMS_MAX];
    row_major_strides(&in->shape, stride);
    for (int d = 0; d < picks.n_dims; d++) {
        bool turned = n == 0;
        for (int i = 0; i < n; i++)
            turned |= axes[i] == d || axes[i] + picks.n_dims == d;
        picks_match(&picks, d, &out->runs[d], turned ? in->whole.dim[d] - 1 : 0, turned ? -1 : 1,
                    &in->runs[d], stride[d]);
    }
    int64_t n_missing = shape_elements(&out->shape) - kernel_pick(call, out, in, &picks);
    return n_missing == 0 ||
           error_kind(err, ERROR_RUN, "%" PRId64 " elements are on other ranks", n_missing);
}

/* Where a part of `size` places begins, moved so that it is inside of the dim. */
static bool read_start(const KernelCall *call, int input, int64_t room, int64_t *out, Error *err)
{
    const Local *at = kernel_input(call, input);
    if (!at || !kernel_scalar(at, out, err))
        return at ? false : error_kind(err, ERROR_RUN, "a start is not there");
    *out = *out < 0 ? 0 : *out > room ? room : *out;
    return true;
}

static bool dynamic_slice(const KernelCall *call, Error *err)
{
    if (!kernel_needs(call, 1, err) || !same_type(call, err) ||
        !kernel_needs(call, 1 + (int)call->input[0]->shape.n_dims, err))
        return false;
    const Local *in = call->input[0];
    Local *out = call->output[0];
    Picks picks = picks_new(call->scratch, &out->shape);
    int64_t stride[DIMS_MAX], start;
    row_major_strides(&in->shape, stride);
    for (int d = 0; d < picks.n_dims; d++) {
        if (!read_start(call, 1 + d, in->whole.dim[d] - out->whole.dim[d], &start, err))
            return false;
        picks_match(&picks, d, &out->runs[d], start, 1, &in->runs[d], stride[d]);
    }
    int64_t n_missing = shape_elements(&out->shape) - kernel_pick(call, out, in, &picks);
    return n_missing == 0 ||
           error_kind(err, ERROR_RUN, "%" PRId64 " elements are on other ranks", n_missing);
}

static bool dynamic_update_slice(const KernelCall *call, Error *err)
{
    if (!kernel_needs(call, 2, err) || !same_type(call, err) || !kernel_same_shape(call, err))
        return false;
    const Local *update = call->input[1];
    Local *out = call->output[0];
    int64_t stride[DIMS_MAX], start, n = shape_elements(&out->shape);
    if (update->shape.n_dims != out->shape.n_dims)
        return error_kind(err, ERROR_RUN, "its update does not match its operand");
    if (!kernel_takes_terms(call, err))
        return false;
    if (!call->sink)
        elements_copy(out->dtype, out->data, call->input[0]->data, 1, n);
    Picks picks = picks_new(call->scratch, &out->shape);
    row_major_strides(&update->shape, stride);
    for (int d = 0; d < picks.n_dims; d++) {
        if (!read_start(call, 2 + d, out->whole.dim[d] - update->whole.dim[d], &start, err))
            return false;
        picks_match(&picks, d, &out->runs[d], -start, 1, &update->runs[d], stride[d]);
    }
    kernel_pick(call, out, update, &picks);
    if (call->sink)
        other_terms(call, &picks, call->input[0]);
    return true;
}

/* ---- points ---- */

/* The coordinates of element i of a shape. */
static void coordinates(const Shape *shape, int64_t i, int64_t at[DIMS_MAX])
{
    for (int64_t d = shape->n_dims - 1; d >= 0; i /= shape->dim[d--])
        at[d] = i % shape->dim[d];
}

static bool is_whole(const Local *local, int64_t d)
{
    return local->shape.dim[d] == local->whole.dim[d];
}

/* ---- windows ---- */

/* A window at a place of the result, along every dim. */
typedef struct {
    int64_t size[DIMS_MAX], stride[DIMS_MAX], low[DIMS_MAX], dilation[DIMS_MAX], base[DIMS_MAX];
    Shape points; /* of the window */
} HloWindow;

static bool read_window(const KernelCall *call, const Local *in, HloWindow *w, Error *err)
{
    *w = (HloWindow){.points = {.n_dims = in->shape.n_dims}};
    for (int d = 0; d < in->shape.n_dims; d++) {
        w->size[d] = w->points.dim[d] = number_of(call, "window_dimensions", d, 1);
        w->stride[d] = number_of(call, "window_strides", d, 1);
        w->low[d] = number_of(call, "padding", (int64_t)2 * d, 0);
        w->dilation[d] = number_of(call, "window_dilations", d, 1);
        w->base[d] = number_of(call, "base_dilations", d, 1);
        bool moves = w->size[d] != 1 || w->stride[d] != 1 || w->low[d] != 0;
        if (moves && !is_whole(in, d))
            return error_kind(err, ERROR_RUN, "dim %d of its window is sharded", d);
        if (w->base[d] < 1 || w->size[d] < 0)
            return error_kind(err, ERROR_RUN, "its window is not one");
    }
    return true;
}

/* The place of point p of the window at `at`; -1 if it is in the padding. */
static int64_t window_place(const HloWindow *w, const Local *in, const int64_t *stride,
                            const int64_t *at, const int64_t *p)
{
    int64_t place = 0;
    for (int64_t d = 0; d < in->shape.n_dims; d++) {
        int64_t x = at[d] * w->stride[d] + p[d] * w->dilation[d] - w->low[d];
        if (x < 0 || x % w->base[d] != 0 || x / w->base[d] >= in->shape.dim[d])
            return -1;
        place += x / w->base[d] * stride[d];
    }
    return place;
}

/* The place of the element that the region chooses in the window at `at`, the first of equal ones;
 * -1: the initial value. */
static int64_t chosen(const KernelCall *call, const ScalarCode *code, const HloWindow *w,
                      const int64_t *stride, const int64_t *at)
{
    const Local *in = call->input[0];
    int64_t best = -1, p[DIMS_MAX];
    Scalar args[2] = {scalar_load(call->input[1], 0)};
    for (int64_t j = 0; j < shape_elements(&w->points); j++) {
        coordinates(&w->points, j, p);
        int64_t place = window_place(w, in, stride, at, p);
        if (place < 0)
            continue;
        Scalar before = args[0];
        args[1] = scalar_load(in, place);
        scalar_code_run(code, args, args);
        if (dtype_is_float(in->dtype) ? before.real < args[0].real || before.real > args[0].real
                                      : before.whole != args[0].whole)
            best = place;
    }
    return best;
}

/* Terms of a window that adds its elements, or that chooses one of them. */
static bool window_terms(const KernelCall *call, const ScalarCode *code, const HloWindow *w,
                         Error *err)
{
    const Local *in = call->input[0], *out = call->output[0];
    int64_t stride[DIMS_MAX], at[DIMS_MAX], p[DIMS_MAX];
    RegionKind kind = scalar_code_kind(call, code);
    bool adds = kind == REGION_ADDS;
    if ((!adds && kind != REGION_CHOOSES) || call->n_outputs != 1)
        return error_kind(err, ERROR_RUN, "the derivative of its region is not known");
    if (!kernel_takes_terms(call, err))
        return false;
    row_major_strides(&in->shape, stride);
    for (int64_t i = 0; i < shape_elements(&out->shape); i++) {
        coordinates(&out->shape, i, at);
        int64_t best = adds ? -1 : chosen(call, code, w, stride, at);
        bool begins = best < 0; /* with the initial value, which a sum has too */
        kernel_term(call, out, i, begins ? call->input[1] : in, begins ? 0 : best, 1);
        for (int64_t j = 0; adds && j < shape_elements(&w->points); j++) {
            coordinates(&w->points, j, p);
            int64_t place = window_place(w, in, stride, at, p);
            if (place >= 0)
                kernel_term(call, out, i, in, place, 1);
        }
    }
    return true;
}

static bool reduce_window(const KernelCall *call, Error *err)
{
    int n = call->n_outputs;
    if (!kernel_needs(call, 2 * n, err))
        return false;
    Arena *arena = call->scratch;
    Dtype *types = arena_array(arena, Dtype, 2 * n);
    Scalar *args = arena_array(arena, Scalar, 2 * n);
    for (int i = 0; i < 2 * n; i++)
        types[i] = call->input[i % n]->dtype;
    const ScalarCode *code;
    HloWindow w;
    const Local *in = call->input[0];
    Local *out = call->output[0];
    if (!scalar_code_read(call, types, 2 * n, &code, err) || !read_window(call, in, &w, err))
        return false;
    if (call->sink)
        return window_terms(call, code, &w, err);
    int64_t stride[DIMS_MAX], at[DIMS_MAX], p[DIMS_MAX];
    row_major_strides(&in->shape, stride);
    for (int64_t i = 0; i < shape_elements(&out->shape); i++) {
        coordinates(&out->shape, i, at);
        for (int k = 0; k < n; k++)
            args[k] = scalar_load(call->input[n + k], 0);
        for (int64_t j = 0; j < shape_elements(&w.points); j++) {
            coordinates(&w.points, j, p);
            int64_t place = window_place(&w, in, stride, at, p);
            for (int k = 0; k < n && place >= 0; k++)
                args[n + k] = scalar_load(call->input[k], place);
            if (place >= 0)
                scalar_code_run(code, args, args);
        }
        for (int k = 0; k < n; k++)
            scalar_store(call->output[k], i, args[k]);
    }
    return true;
}

/* The place in the window at `at` that the region selects; -1: the window is empty. */
static int64_t selected(const ScalarCode *code, const HloWindow *w, const Local *in,
                        const int64_t *stride, const int64_t *at)
{
    int64_t best = -1, p[DIMS_MAX];
    Scalar args[2];
    for (int64_t j = 0; j < shape_elements(&w->points); j++) {
        coordinates(&w->points, j, p);
        int64_t place = window_place(w, in, stride, at, p);
        if (place < 0)
            continue;
        args[0] = scalar_load(in, best < 0 ? place : best);
        args[1] = scalar_load(in, place);
        if (best >= 0)
            scalar_code_run(code, args, args);
        if (best < 0 || args[0].whole == 0)
            best = place;
    }
    return best;
}

/* The source's elements are added where the region selects an element of the operand. */
static bool select_and_scatter(const KernelCall *call, Error *err)
{
    if (!kernel_needs(call, 3, err) || !same_type(call, err) || !kernel_same_shape(call, err))
        return false;
    const Local *in = call->input[0], *source = call->input[1];
    Local *out = call->output[0];
    const Attr *adds = op_attr(kernel_graph(call), call->op, "reducers");
    if (!adds || adds->type != ATTR_STRINGS || !str_eq(adds->strings[0], STR("stablehlo.add")))
        return error_kind(err, ERROR_RUN, "it does not add what it scatters");
    const Dtype types[2] = {in->dtype, in->dtype};
    const ScalarCode *code;
    HloWindow w;
    if (!scalar_code_read(call, types, 2, &code, err) || !read_window(call, in, &w, err))
        return false;
    int64_t stride[DIMS_MAX], at[DIMS_MAX];
    row_major_strides(&in->shape, stride);
    if (!kernel_takes_terms(call, err))
        return false;
    for (int64_t i = 0; call->sink && i < shape_elements(&out->shape); i++)
        kernel_term(call, out, i, call->input[2], 0, 1);
    if (!call->sink)
        elements_copy(out->dtype, out->data, call->input[2]->data, 0, shape_elements(&out->shape));
    for (int64_t i = 0; i < shape_elements(&source->shape); i++) {
        coordinates(&source->shape, i, at);
        int64_t place = selected(code, &w, in, stride, at);
        if (place >= 0 && call->sink)
            kernel_term(call, out, place, source, i, 1);
        if (place < 0 || call->sink)
            continue;
        Scalar sum = scalar_load(out, place), more = scalar_load(source, i);
        if (dtype_is_float(out->dtype))
            sum.real += more.real;
        else
            sum.whole = (int64_t)((uint64_t)sum.whole + (uint64_t)more.whole);
        scalar_store(out, place, sum);
    }
    return true;
}

/* ---- convolution ---- */

enum { SIDE_IMAGE, SIDE_KERNEL, SIDE_RESULT, SIDES };

/* "[b,0,1,f]x[0,1,i,o]->[b,0,1,f]": of each side the dim of its first and second letter (b f, o i,
 * b f), then those of the spatial dims in their order. */
typedef struct {
    int n_space;
    int dim[SIDES][DIMS_MAX];
} ConvDims;

static bool read_side(Str *text, const char *letters, int *dim, int *n)
{
    str_take(text, '[');
    Str list = str_take(text, ']');
    dim[0] = dim[1] = -1;
    *n = 0;
    for (int d = 0; list.n > 0; d++) {
        Str name = str_take(&list, ',');
        int64_t place;
        if (name.n == 1 && name.s[0] == letters[0])
            dim[0] = d;
        else if (name.n == 1 && name.s[0] == letters[1])
            dim[1] = d;
        else if (str_to_int(name, &place) && place >= 0 && place < DIMS_MAX - 2)
            dim[2 + place] = d;
        else
            return false;
        *n = d + 1;
    }
    return dim[0] >= 0 && dim[1] >= 0;
}

static bool read_conv_dims(const KernelCall *call, ConvDims *out, Error *err)
{
    static const char *const letters[SIDES] = {"bf", "oi", "bf"};
    Str text = op_attr_text(kernel_graph(call), call->op, "dim_numbers", "");
    const Local *side[SIDES] = {call->input[0], call->input[1], call->output[0]};
    for (int s = 0; s < SIDES; s++) {
        int n;
        if (!read_side(&text, letters[s], out->dim[s], &n) || n != side[s]->shape.n_dims)
            return error_kind(err, ERROR_RUN, "its dim_numbers do not fit its operands");
    }
    out->n_space = (int)side[0]->shape.n_dims - 2;
    for (int s = 0; s < SIDES; s++)
        for (int i = 0; i < out->n_space; i++)
            if (!is_whole(side[s], out->dim[s][2 + i]))
                return error_kind(err, ERROR_RUN, "a spatial dim is sharded");
    return true;
}

typedef struct {
    const KernelCall *call;
    ConvDims dims;
    Shape window; /* spatial sizes of the kernel */
    int64_t stride[SIDES][DIMS_MAX];
    const double *image, *kernel; /* NULL: a derivative does not read it */
    int64_t feature_groups, batch_groups;
} Convolution;

/* The place in the image, and in the kernel, of spatial point p for the result's place `at`; false
 * in the padding. */
static bool conv_point(const Convolution *c, const int64_t *at, const int64_t *p, int64_t *image,
                       int64_t *kernel)
{
    for (int i = 0; i < c->dims.n_space; i++) {
        int64_t y = at[c->dims.dim[SIDE_RESULT][2 + i]];
        int64_t x = y * number_of(c->call, "strides", i, 1) +
                    p[i] * number_of(c->call, "rhs_dilation", i, 1) -
                    number_of(c->call, "padding", (int64_t)2 * i, 0);
        int64_t base = number_of(c->call, "lhs_dilation", i, 1);
        int d = c->dims.dim[SIDE_IMAGE][2 + i], k = c->dims.dim[SIDE_KERNEL][2 + i];
        bool turned = number_of(c->call, "reversal", i, 0) != 0;
        if (x < 0 || base < 1 || x % base != 0 || x / base >= c->call->input[0]->shape.dim[d])
            return false;
        *image += x / base * c->stride[SIDE_IMAGE][d];
        *kernel += (turned ? c->window.dim[i] - 1 - p[i] : p[i]) * c->stride[SIDE_KERNEL][k];
    }
    return true;
}

/* Adds a product to the sum; or, for a derivative, says what it is with respect to each factor. */
static double conv_product(const Convolution *c, int64_t at, int64_t image, int64_t kernel)
{
    const KernelCall *call = c->call;
    if (!call->sink)
        return c->image[image] * c->kernel[kernel];
    if (c->kernel)
        kernel_term(call, call->output[0], at, call->input[0], image, c->kernel[kernel]);
    if (c->image)
        kernel_term(call, call->output[0], at, call->input[1], kernel, c->image[image]);
    return 0;
}

/* The sum over the features of one group, at a point of the window of element `at` of the result.
 * Features are global: this rank adds those that it has of the image and of the kernel. */
static double conv_features(const Convolution *c, int64_t at, int64_t batch, int64_t out_feature,
                            int64_t image, int64_t kernel)
{
    const Local *x = c->call->input[0], *w = c->call->input[1], *y = c->call->output[0];
    const int *xd = c->dims.dim[SIDE_IMAGE], *wd = c->dims.dim[SIDE_KERNEL];
    int64_t n_out = y->whole.dim[c->dims.dim[SIDE_RESULT][1]], n_in = w->whole.dim[wd[1]];
    int64_t group = out_feature / (n_out / c->feature_groups);
    int64_t of_batch = out_feature / (n_out / c->batch_groups);
    int64_t n_batch = x->whole.dim[xd[0]] / c->batch_groups;
    int64_t b = runs_find(&x->runs[xd[0]], of_batch * n_batch + batch);
    int64_t o = runs_find(&w->runs[wd[0]], out_feature);
    double sum = 0;
    for (int64_t f = 0; f < n_in && b >= 0 && o >= 0; f++) {
        int64_t i = runs_find(&w->runs[wd[1]], f);
        int64_t j = runs_find(&x->runs[xd[1]], c->feature_groups > 1 ? group * n_in + f : f);
        if (i >= 0 && j >= 0)
            sum += conv_product(
                c, at, image + b * c->stride[SIDE_IMAGE][xd[0]] + j * c->stride[SIDE_IMAGE][xd[1]],
                kernel + o * c->stride[SIDE_KERNEL][wd[0]] + i * c->stride[SIDE_KERNEL][wd[1]]);
    }
    return sum;
}

static bool convolution(const KernelCall *call, Error *err)
{
    Convolution c = {.call = call};
    if (!kernel_numeric(call, 2, err) || !read_conv_dims(call, &c.dims, err))
        return false;
    Local *out = call->output[0];
    c.feature_groups = op_attr_int(kernel_graph(call), call->op, "feature_group_count", 1);
    c.batch_groups = op_attr_int(kernel_graph(call), call->op, "batch_group_count", 1);
    const int *yd = c.dims.dim[SIDE_RESULT];
    if (c.feature_groups < 1 || c.batch_groups < 1 ||
        out->whole.dim[yd[1]] % c.feature_groups != 0 ||
        out->whole.dim[yd[1]] % c.batch_groups != 0)
        return error_kind(err, ERROR_RUN, "its groups do not fit its features");
    c.window.n_dims = c.dims.n_space;
    for (int i = 0; i < c.dims.n_space; i++)
        c.window.dim[i] = call->input[1]->shape.dim[c.dims.dim[SIDE_KERNEL][2 + i]];
    row_major_strides(&call->input[0]->shape, c.stride[SIDE_IMAGE]);
    row_major_strides(&call->input[1]->shape, c.stride[SIDE_KERNEL]);
    if (!kernel_takes_terms(call, err))
        return false;
    c.image = call->input[0]->data ? local_doubles(call->scratch, call->input[0]) : NULL;
    c.kernel = call->input[1]->data ? local_doubles(call->scratch, call->input[1]) : NULL;
    const int64_t *batch = kernel_globals(call->scratch, &out->runs[yd[0]]);
    const int64_t *feature = kernel_globals(call->scratch, &out->runs[yd[1]]);
    int64_t at[DIMS_MAX], p[DIMS_MAX];
    for (int64_t i = 0; i < shape_elements(&out->shape); i++) {
        double sum = 0;
        coordinates(&out->shape, i, at);
        for (int64_t j = 0; j < shape_elements(&c.window); j++) {
            int64_t image = 0, kernel = 0;
            coordinates(&c.window, j, p);
            if (conv_point(&c, at, p, &image, &kernel))
                sum += conv_features(&c, i, batch[at[yd[0]]], feature[at[yd[1]]], image, kernel);
        }
        if (!call->sink)
            local_store(out, i, 1, NUMBER_F64, &sum);
    }
    return true;
}

const Kernel kernels_hlo_window[] = {
    {"Flip", flip, NULL, 0, ROUNDING_EXACT},
    {"stablehlo.pad", pad, NULL, 0, ROUNDING_EXACT},
    {"stablehlo.dynamic_slice", dynamic_slice, NULL, 0, ROUNDING_EXACT},
    {"stablehlo.dynamic_update_slice", dynamic_update_slice, NULL, 0, ROUNDING_EXACT},
    {"stablehlo.reduce_window", reduce_window, NULL, 0, ROUNDING_SUM},
    {"stablehlo.select_and_scatter", select_and_scatter, NULL, 0, ROUNDING_SUM},
    {"stablehlo.convolution", convolution, NULL, 0, ROUNDING_SUM},
    {0},
};
