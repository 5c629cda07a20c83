/* deform.c - DeformConv: a convolution that reads at offset places.
 *
 *     columns[ci elements][places] = mask * image at (place + element + offset)
 *     out[co][places]              = weight[co][ci elements] * columns
 *
 * Dim 1 of offsets and mask is (offset groups, elements, spatial dims), found by global index.
 * Where ci or elements are sharded the result is this rank's addend. The image is unsharded.
 * Source: the ONNX operator schema of DeformConv, opset 19 and 22.
 */
#include "core/run/kernels/taps.h"
#include "core/run/kernels/window.h"

typedef struct {
    const KernelCall *call;
    const Local *image, *weight, *offset, *mask;
    Local *out;
    const double *x, *w, *shift, *factor; /* factor NULL: ones */
    Window window;
    LocalWindow held; /* local counts of places and elements */
    const int64_t *place[SPATIAL_MAX], *element[SPATIAL_MAX]; /* global */
    const int64_t *major, *minor;                             /* global channels of the weight */
    int64_t n_places, n_elements, group, offset_group;
    double *columns;
} Deform;

static bool fits(const Deform *c)
{
    const Shape *image = &c->image->shape, *out = &c->out->shape;
    int n = c->window.n;
    bool ok = out->dim[0] == image->dim[0] && out->dim[1] == c->weight->shape.dim[0] &&
              c->image->whole.dim[1] % c->offset_group == 0;
    for (int d = 0; d < n; d++)
        ok = ok && image->dim[2 + d] == c->image->whole.dim[2 + d];
    for (int i = 0; i < 2; i++) {
        const Local *beside = i == 0 ? c->offset : c->mask;
        if (!beside)
            continue;
        ok = ok && beside->shape.n_dims == 2 + n && beside->shape.dim[0] == out->dim[0];
        for (int d = 0; ok && d < n; d++)
            ok = beside->shape.dim[2 + d] == out->dim[2 + d];
    }
    return ok;
}

static bool open_deform(const KernelCall *call, Deform *c, Error *err)
{
    if (!kernel_needs(call, 3, err))
        return false;
    for (int i = 0; i < call->n_inputs; i++)
        if (call->input[i] && !kernel_computes(call->input[i], err))
            return false;
    RuleCall rule = kernel_rule_call(call);
    *c = (Deform){.call = call, .image = call->input[0], .weight = call->input[1]};
    c->offset = call->input[2];
    c->mask = kernel_input(call, 4);
    c->out = call->output[0];
    if (!window_read(&rule, 0, 1, &c->window, err))
        return false;
    c->group = args_int(&rule, "group", 1);
    c->offset_group = args_int(&rule, "offset_group", 1);
    if (c->group < 1 || c->offset_group < 1 || !fits(c))
        return error_kind(err, ERROR_RUN, "operand shapes do not match");
    for (int d = 0; d < c->window.n; d++) {
        c->place[d] = kernel_globals(call->scratch, &c->out->runs[2 + d]);
        c->element[d] = kernel_globals(call->scratch, &c->weight->runs[2 + d]);
        c->held.n_out[d] = c->out->shape.dim[2 + d];
        c->held.n_kernel[d] = c->weight->shape.dim[2 + d];
    }
    c->held.n = c->window.n;
    c->n_places = local_window_places(&c->held);
    c->n_elements = local_window_elements(&c->held);
    c->major = kernel_globals(call->scratch, &c->weight->runs[0]);
    c->minor = kernel_globals(call->scratch, &c->weight->runs[1]);
    c->x = kernel_doubles(call, 0);
    c->w = kernel_doubles(call, 1);
    c->shift = kernel_doubles(call, 2);
    c->factor = kernel_doubles(call, 4);
    c->columns =
        arena_array(call->scratch, double, c->weight->shape.dim[1] * c->n_elements * c->n_places);
    return true;
}

/* The row of offsets (n numbers per element, number `which`) or of the mask (1, 0) for a group and
 * an element; -1: on another rank. */
static int64_t row_beside(const Deform *c, const Local *beside, int64_t group, const int64_t *k,
                          int64_t n, int64_t which)
{
    int64_t at = group;
    for (int d = 0; d < c->window.n; d++)
        at = at * c->window.dim[d].kernel + c->element[d][k[d]];
    return runs_find(&beside->runs[1], at * n + which);
}

/* A row of the columns: an element of a channel at every place. */
static bool fill_row(const Deform *c, int64_t batch, int64_t channel, int64_t e, double *to)
{
    int n = c->window.n;
    int64_t k[SPATIAL_MAX] = {0}, o[SPATIAL_MAX] = {0}, row[SPATIAL_MAX] = {0}, mask_row = 0;
    int64_t held = runs_find(&c->image->runs[1], channel), stride[DIMS_MAX], pixels = 1;
    int64_t group = channel / (c->image->whole.dim[1] / c->offset_group);
    row_major_strides(&c->image->shape, stride);
    window_split(e, c->held.n_kernel, n, k);
    for (int d = 0; d < n; d++) {
        pixels *= c->image->shape.dim[2 + d];
        row[d] = row_beside(c, c->offset, group, k, n, d);
        if (row[d] < 0)
            return false;
        row[d] = (batch * c->offset->shape.dim[1] + row[d]) * c->n_places;
    }
    if (c->mask) {
        mask_row = row_beside(c, c->mask, group, k, 1, 0);
        if (mask_row < 0)
            return false;
        mask_row = (batch * c->mask->shape.dim[1] + mask_row) * c->n_places;
    }
    if (held < 0)
        return false;
    const double *image = c->x + (batch * c->image->shape.dim[1] + held) * pixels;
    for (int64_t i = 0; i < c->n_places; i++) {
        Taps taps[SPATIAL_MAX];
        window_split(i, c->held.n_out, n, o);
        for (int d = 0; d < n; d++) {
            const WindowDim *dim = &c->window.dim[d];
            int64_t at =
                c->place[d][o[d]] * dim->stride + c->element[d][k[d]] * dim->dilation - dim->before;
            taps[d] = taps_linear((double)at + c->shift[row[d] + i], dim->size);
        }
        to[i] = taps_sum(image, taps, stride + 2, n) * (c->factor ? c->factor[mask_row + i] : 1);
    }
    return true;
}

static bool add_bias(const Deform *c, double *y, Error *err)
{
    const Local *bias = c->call->n_inputs > 3 ? c->call->input[3] : NULL;
    int64_t channels = c->out->shape.dim[1];
    if (!bias || !c->call->first)
        return true;
    if (shape_elements(&bias->shape) != channels)
        return error_kind(err, ERROR_RUN, "its bias has another size");
    const double *b = kernel_doubles(c->call, 3);
    for (int64_t i = 0; i < shape_elements(&c->out->shape); i++)
        y[i] += b[i / c->n_places % channels];
    return true;
}

static bool deform_conv(const KernelCall *call, Error *err)
{
    Deform c;
    if (!open_deform(call, &c, err))
        return false;
    int64_t n_out = c.weight->shape.dim[0], n_in = c.weight->shape.dim[1];
    int64_t each = c.weight->whole.dim[0] / c.group, n = shape_elements(&c.out->shape);
    double *y = arena_array(call->scratch, double, n);
    Product p = {.k = n_in * c.n_elements, .n = c.n_places, .scale = 1};
    for (int64_t b = 0; b < c.image->shape.dim[0] && c.n_places > 0; b++)
        for (int64_t start = 0, end; start < n_out; start = end) {
            int64_t group = c.major[start] / each;
            for (end = start + 1; end < n_out && c.major[end] / each == group;)
                end++;
            for (int64_t i = 0; i < p.k; i++) {
                int64_t channel = group * c.weight->whole.dim[1] + c.minor[i / c.n_elements];
                if (!fill_row(&c, b, channel, i % c.n_elements, c.columns + i * p.n))
                    return error_kind(err, ERROR_RUN, "an operand is on another rank");
            }
            p.m = end - start;
            kernel_multiply(call, &p, DT_F64, c.w + start * p.k, c.columns,
                            y + (b * n_out + start) * p.n);
        }
    if (c.n_places > 0 && !add_bias(&c, y, err))
        return false;
    local_store(c.out, 0, n, NUMBER_F64, y);
    return true;
}

const Kernel kernels_deform[] = {
    {"DeformConv", deform_conv, NULL, 0, ROUNDING_SENSITIVE},
    {0},
};
