#include "core/rules/resample.h"

#include <inttypes.h>
#include <math.h>

bool resample_axes(const RuleCall *call, int input, int axes[DIMS_MAX], int *n, Error *err)
{
    int64_t n_dims = call->shape[0]->n_dims;
    bool marked[DIMS_MAX] = {false};
    Ints given;
    if (!args_ints(call, input, "axes", &given, err))
        return false;
    *n = given.given ? given.n : (int)n_dims;
    if (*n > n_dims)
        return error_kind(err, ERROR_RANK, "it has %d axes for %" PRId64 " dims", *n, n_dims);
    for (int i = 0; i < *n; i++) {
        if (!args_axis(given.given ? given.at[i] : i, n_dims, &axes[i], err))
            return false;
        if (marked[axes[i]])
            return error_kind(err, ERROR_DUPLICATE, "axis %d is given twice", axes[i]);
        marked[axes[i]] = true;
    }
    return true;
}

/* ---- Resize, Upsample ---- */

static bool has_elements(const RuleCall *call, int input)
{
    return args_has(call, input) && shape_elements(call->shape[input]) > 0;
}

/* Reads scales from input `at`, or from the attribute in Upsample's first opsets. */
static bool read_scales(const RuleCall *call, int at, const double **out, int *n, Error *err)
{
    const Attr *attr = at < 0 ? args_attr(call, "scales") : NULL;
    if (attr && attr->type == ATTR_FLOATS) {
        *out = attr->floats;
        *n = attr->n;
        return true;
    }
    if (at < 0)
        return error_set(err, "it has no scales");
    const Value *value = call->value[at];
    if (!value || !value->floats)
        return error_kind(err, ERROR_NOT_INFERABLE,
                          "its input %d (scales) is not known before the run", at);
    *out = value->floats;
    *n = (int)shape_elements(&value->shape);
    return true;
}

/* Computes the size in single precision, like the scales. */
static bool scale_dim(const RuleCall *call, int d, double scale, Resizing *out, Error *err)
{
    float scaled = floorf((float)call->shape[0]->dim[d] * (float)scale);
    if (!(scale > 0) || !(scaled < 1e15F))
        return error_kind(err, ERROR_OUT_OF_RANGE, "it scales dim %d by %g", d, scale);
    out->scale[d] = scale;
    out->out.dim[d] = (int64_t)scaled;
    return true;
}

static bool by_scales(const RuleCall *call, int at, Resizing *out, Error *err)
{
    const double *scales = NULL;
    int n = 0;
    if (!read_scales(call, at, &scales, &n, err))
        return false;
    if (n != out->n_axes)
        return error_kind(err, ERROR_RANK, "it has %d scales for %d dims", n, out->n_axes);
    for (int i = 0; i < n; i++)
        if (!scale_dim(call, out->axes[i], scales[i], out, err))
            return false;
    return true;
}

/* Uses one scale for all axes: the smallest or the largest that the sizes require. */
static bool keep_aspect(const RuleCall *call, double common, Resizing *out, Error *err)
{
    for (int i = 0; i < out->n_axes; i++) {
        int d = out->axes[i];
        double exact = common * (double)call->shape[0]->dim[d];
        if (!(exact >= 0 && exact < 1e15))
            return error_kind(err, ERROR_OUT_OF_RANGE, "it scales dim %d by %g", d, common);
        out->scale[d] = common;
        out->out.dim[d] = (int64_t)floor(exact + 0.5);
    }
    return true;
}

static bool by_sizes(const RuleCall *call, Resizing *out, Error *err)
{
    Str policy = args_text(call, "keep_aspect_ratio_policy", "stretch");
    bool least = str_eq(policy, STR("not_larger")), most = str_eq(policy, STR("not_smaller"));
    double common = 0;
    Ints sizes;
    if (!args_ints(call, 3, "sizes", &sizes, err))
        return false;
    if (sizes.n != out->n_axes)
        return error_kind(err, ERROR_RANK, "it has %d sizes for %d dims", sizes.n, out->n_axes);
    for (int i = 0; i < sizes.n; i++) {
        int d = out->axes[i];
        int64_t size = call->shape[0]->dim[d];
        out->scale[d] = size > 0 ? (double)sizes.at[i] / (double)size : 1;
        out->out.dim[d] = sizes.at[i];
        if (i == 0 || (least && out->scale[d] < common) || (most && out->scale[d] > common))
            common = out->scale[d];
    }
    return !(least || most) || keep_aspect(call, common, out, err);
}

static bool read_resize(const RuleCall *call, Resizing *out, Error *err)
{
    bool old = call->opset < 11;
    int scales = old ? 1 : 2;
    if (!resample_axes(call, -1, out->axes, &out->n_axes, err))
        return false;
    if (has_elements(call, scales) && (old || !has_elements(call, 3)))
        return by_scales(call, scales, out, err);
    if (old || !args_has(call, 3))
        return error_set(err, "it has neither scales nor sizes");
    return by_sizes(call, out, err);
}

/* Scales are an input since opset 9; before they are a list, and in opset 1 a height and a
 * width. */
static bool read_upsample(const RuleCall *call, Resizing *out, Error *err)
{
    out->n_axes = (int)call->shape[0]->n_dims;
    for (int d = 0; d < out->n_axes; d++)
        out->axes[d] = d;
    if (!args_attr(call, "height_scale"))
        return by_scales(call, args_has(call, 1) ? 1 : -1, out, err);
    if (!args_rank(call, 0, 4, 4, err))
        return false;
    return scale_dim(call, 2, args_float(call, "height_scale", 1), out, err) &&
           scale_dim(call, 3, args_float(call, "width_scale", 1), out, err);
}

bool resize_read(const RuleCall *call, bool upsample, Resizing *out, Error *err)
{
    bool old = upsample || call->opset < 11;
    *out = (Resizing){.out = *call->shape[0]};
    for (int d = 0; d < DIMS_MAX; d++)
        out->scale[d] = 1;
    out->mode = args_text(call, "mode", "nearest");
    out->where =
        args_text(call, "coordinate_transformation_mode", old ? "asymmetric" : "half_pixel");
    out->round = args_text(call, "nearest_mode", old ? "floor" : "round_prefer_floor");
    return upsample ? read_upsample(call, out, err) : read_resize(call, out, err);
}

/* ---- Pad ---- */

bool pad_read(const RuleCall *call, Padding *out, Error *err)
{
    const char *name = args_attr(call, "paddings") ? "paddings" : "pads"; /* opset 1, since 2 */
    int axes[DIMS_MAX], n;
    Ints pads;
    *out = (Padding){.out = *call->shape[0]};
    if (!args_ints(call, 1, name, &pads, err) || !resample_axes(call, 3, axes, &n, err))
        return false;
    if (!pads.given || pads.n != 2 * n)
        return error_kind(err, ERROR_RANK, "it has %d pads for %d dims, not two each", pads.n, n);
    for (int i = 0; i < n; i++) {
        int64_t *size = &out->out.dim[axes[i]];
        out->before[axes[i]] = pads.at[i];
        out->after[axes[i]] = pads.at[n + i];
        if (__builtin_add_overflow(*size, pads.at[i], size) ||
            __builtin_add_overflow(*size, pads.at[n + i], size) || *size < 0 ||
            pads.at[i] < -INT32_MAX || pads.at[i] > INT64_MAX / 4)
            return error_kind(err, ERROR_OUT_OF_RANGE, "its pads do not fit dim %d", axes[i]);
    }
    return true;
}
