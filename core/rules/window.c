#include "core/rules/window.h"

#include <inttypes.h>

static const int64_t number_max = INT64_C(1) << 31; /* products of two stay below 2^63 */

typedef enum { PAD_EXPLICIT, PAD_SAME_UPPER, PAD_SAME_LOWER, PAD_VALID } AutoPad;

/* ---- attributes ---- */

/* Whether the list has n numbers, or fewer that repeat: other systems give one number for every
 * dim, or pads that are equal at both ends. */
static bool repeats_to(const Ints *given, int n)
{
    return given->n > 0 && n % given->n == 0;
}

/* Reads n numbers of a list attribute; the fallback if it is not given. */
static bool read_numbers(const RuleCall *call, const char *attr, int n, int64_t least,
                         int64_t fallback, int64_t *out, Error *err)
{
    Ints given;
    if (!args_ints(call, -1, attr, &given, err))
        return false;
    if (given.n > 0 && !repeats_to(&given, n))
        return error_kind(err, ERROR_RANK, "its attribute '%s' has %d numbers, not %d", attr,
                          given.n, n);
    for (int i = 0; i < n; i++) {
        out[i] = given.n > 0 ? given.at[i % given.n] : fallback;
        if (out[i] < least || out[i] > number_max)
            return error_kind(err, ERROR_OUT_OF_RANGE,
                              "its attribute '%s' holds %" PRId64 ", which is not in %" PRId64
                              "..%" PRId64,
                              attr, out[i], least, number_max);
    }
    return true;
}

static bool read_auto_pad(const RuleCall *call, AutoPad *out, Error *err)
{
    static const char *const names[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
    Str given = args_text(call, "auto_pad", "NOTSET");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_eq(given, str_from(names[i])) || given.n == 0) {
            *out = (AutoPad)i;
            return true;
        }
    return error_set(err, "its auto_pad is '%.*s'", (int)given.n, given.s);
}

/* Reads the kernel sizes: the attribute, which must agree with the dims of the weight if there is
 * one. */
static bool read_kernel(const RuleCall *call, int weight, int n, int64_t *out, Error *err)
{
    const Shape *shape = weight < 0 ? NULL : call->shape[weight];
    Ints given;
    if (!args_ints(call, -1, "kernel_shape", &given, err))
        return false;
    if (!given.given && !shape)
        return error_set(err, "it has no kernel_shape");
    if (given.given && !repeats_to(&given, n))
        return error_kind(err, ERROR_RANK, "its kernel_shape has %d numbers, not %d", given.n, n);
    for (int d = 0; d < n; d++) {
        int64_t held = shape ? shape->dim[2 + d] : given.at[d % given.n];
        out[d] = given.given ? given.at[d % given.n] : held;
        if (out[d] != held)
            return error_set(err, "its kernel_shape is not that of its weight");
        if (out[d] < 1 || out[d] > number_max)
            return error_kind(err, ERROR_OUT_OF_RANGE, "its kernel has size %" PRId64, out[d]);
    }
    return true;
}

/* Reads everything except the number of places and automatic pads. */
static bool read_dims(const RuleCall *call, int image, int weight, Window *out, AutoPad *pad,
                      Error *err)
{
    const Shape *from = call->shape[image];
    int64_t kernel[SPATIAL_MAX], stride[SPATIAL_MAX], dilation[SPATIAL_MAX];
    int64_t pads[2 * SPATIAL_MAX];
    if (!args_rank(call, image, 3, 2 + SPATIAL_MAX, err) ||
        (weight >= 0 && !args_rank(call, weight, from->n_dims, from->n_dims, err)))
        return false;
    int n = (int)from->n_dims - 2;
    if (!read_auto_pad(call, pad, err) || !read_kernel(call, weight, n, kernel, err) ||
        !read_numbers(call, "strides", n, 1, 1, stride, err) ||
        !read_numbers(call, "dilations", n, 1, 1, dilation, err) ||
        !read_numbers(call, "pads", 2 * n, 0, 0, pads, err))
        return false;
    *out = (Window){.n = n};
    for (int d = 0; d < n; d++) {
        bool given = *pad == PAD_EXPLICIT;
        out->dim[d] = (WindowDim){.size = from->dim[2 + d],
                                  .kernel = kernel[d],
                                  .stride = stride[d],
                                  .dilation = dilation[d],
                                  .before = given ? pads[d] : 0,
                                  .after = given ? pads[n + d] : 0};
    }
    return true;
}

/* ---- windows ---- */

static int64_t reach_of(const WindowDim *dim)
{
    return (dim->kernel - 1) * dim->dilation + 1;
}

static void share_pads(WindowDim *dim, int64_t total, bool more_after)
{
    dim->before = more_after ? total / 2 : total - total / 2;
    dim->after = total - dim->before;
}

/* Computes auto_pad: as many places as strides fit into the dim, with the padding that this
 * needs. */
static void same_places(WindowDim *dim, bool upper)
{
    dim->out = (dim->size + dim->stride - 1) / dim->stride;
    int64_t total = (dim->out - 1) * dim->stride + reach_of(dim) - dim->size;
    share_pads(dim, total > 0 ? total : 0, upper);
}

/* With `ceil`, a last window that extends beyond the end counts, unless it begins in the padding
 * after the end. */
static bool count_places(WindowDim *dim, int d, bool ceil, Error *err)
{
    int64_t room = dim->size + dim->before + dim->after - reach_of(dim);
    if (room < 0 && !(ceil && room > -dim->stride))
        return error_kind(err, ERROR_OUT_OF_RANGE,
                          "a window that reaches over %" PRId64 " does not fit spatial dim %d of "
                          "size %" PRId64,
                          reach_of(dim), d, dim->size);
    int64_t over = ceil ? dim->stride - 1 : 0;
    dim->out = (room + over) / dim->stride + 1;
    if (ceil && (dim->out - 1) * dim->stride >= dim->size + dim->before)
        dim->out--;
    return true;
}

bool window_read(const RuleCall *call, int image, int weight, Window *out, Error *err)
{
    AutoPad pad;
    if (!read_dims(call, image, weight, out, &pad, err))
        return false;
    bool ceil = weight < 0 && args_int(call, "ceil_mode", 0) != 0;
    for (int d = 0; d < out->n; d++)
        if (pad == PAD_SAME_UPPER || pad == PAD_SAME_LOWER)
            same_places(&out->dim[d], pad == PAD_SAME_UPPER);
        else if (!count_places(&out->dim[d], d, ceil, err))
            return false;
    return true;
}

/* If an output shape is given, or requested by auto_pad, it decides the pads. */
bool window_read_transposed(const RuleCall *call, int image, int weight, Window *out, Error *err)
{
    AutoPad pad = PAD_EXPLICIT;
    int64_t extra[SPATIAL_MAX] = {0}, given[SPATIAL_MAX] = {0};
    if (!read_dims(call, image, weight, out, &pad, err) ||
        !read_numbers(call, "output_padding", out->n, 0, 0, extra, err) ||
        !read_numbers(call, "output_shape", out->n, 0, 0, given, err))
        return false;
    bool shaped = args_attr(call, "output_shape") != NULL;
    bool same = pad == PAD_SAME_UPPER || pad == PAD_SAME_LOWER;
    for (int d = 0; d < out->n; d++) {
        WindowDim *dim = &out->dim[d];
        if (dim->size > INT64_MAX / 4 / dim->stride)
            return error_set(err, "its output has too many elements");
        int64_t all = dim->stride * (dim->size - 1) + extra[d] + reach_of(dim);
        if (shaped || same) { /* pads remove the surplus; they never add */
            int64_t want = shaped ? given[d] : dim->size * dim->stride;
            share_pads(dim, all > want ? all - want : 0, pad == PAD_SAME_UPPER);
            dim->out = shaped || all > want ? want : all;
        } else {
            dim->out = all - dim->before - dim->after;
        }
        if (dim->out < 0)
            return error_kind(err, ERROR_OUT_OF_RANGE, "its pads leave nothing of spatial dim %d",
                              d);
    }
    return true;
}

bool window_tiles(const WindowDim *dim)
{
    return dim->dilation == 1 && dim->before == 0 && dim->after == 0 &&
           (dim->stride == dim->kernel || dim->out == 1) && dim->out * dim->kernel == dim->size;
}

bool window_pads(const Window *window)
{
    for (int d = 0; d < window->n; d++) {
        const WindowDim *dim = &window->dim[d];
        if (dim->before > 0 ||
            (dim->out - 1) * dim->stride + reach_of(dim) - dim->before > dim->size)
            return true;
    }
    return false;
}

/* ---- index dims ---- */

int window_index(RuleCall *call, const char *letter, int d, int n, int64_t size, IndexRole role,
                 ReduceOp reduce)
{
    static const char spatial[] = "dhw";
    const char *name = n <= 3 ? arena_printf(call->arena, "%s%c", letter, spatial[3 - n + d])
                              : arena_printf(call->arena, "%ss%d", letter, d);
    return rule_index(call->space, name, size, role, reduce);
}

void window_row(const WindowDim *dim, int place, int element, Row *row)
{
    *row = (Row){.offset = -dim->before, .window = 1};
    if (place >= 0)
        row->coef[place] = dim->stride;
    if (element >= 0)
        row->coef[element] = dim->dilation;
}
