/* deform.c - DeformConv: a convolution that reads at offset places.
 *
 *     columns[ci elements][places] = mask * image at (place + element + offset)
 *     out[co][places]              = weight[co][ci elements] * columns
 *
 * Dim 1 of offsets and mask is (offset groups, elements, spatial dims), found by global index.
 * Where ci or elements are sharded the result is this rank's addend. The image is unsharded.
 * Source: the ONNX operator schema of DeformConv, opset 19 and 22.
 */
#include "core/run/kernels/derivative.h"
#include "core/run/kernels/taps.h"
#include "core/run/kernels/window.h"

#include "core/space/gradient.h"

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
    const double **numbers[] = {&c->x, &c->w, &c->shift, NULL, &c->factor};
    for (int i = 0; i < 5; i++)
        if (numbers[i] && kernel_input(call, i) && call->input[i]->data)
            *numbers[i] = kernel_doubles(call, i);
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

/* An element of a channel: where its image and its rows of offsets and mask begin. */
typedef struct {
    int64_t image, row[SPATIAL_MAX], mask_row, k[SPATIAL_MAX];
} DeformedElement;

/* False if this rank does not hold them. */
static bool find_element(const Deform *c, int64_t batch, int64_t channel, int64_t e,
                         DeformedElement *out)
{
    int n = c->window.n;
    int64_t held = runs_find(&c->image->runs[1], channel), pixels = 1;
    int64_t group = channel / (c->image->whole.dim[1] / c->offset_group);
    *out = (DeformedElement){.image = 0};
    window_split(e, c->held.n_kernel, n, out->k);
    for (int d = 0; d < n; d++) {
        pixels *= c->image->shape.dim[2 + d];
        int64_t row = row_beside(c, c->offset, group, out->k, n, d);
        if (row < 0)
            return false;
        out->row[d] = (batch * c->offset->shape.dim[1] + row) * c->n_places;
    }
    int64_t row = c->mask ? row_beside(c, c->mask, group, out->k, 1, 0) : 0;
    if (c->mask && row >= 0)
        out->mask_row = (batch * c->mask->shape.dim[1] + row) * c->n_places;
    out->image = (batch * c->image->shape.dim[1] + held) * pixels;
    return held >= 0 && row >= 0;
}

/* Taps of an element at place i. */
static void taps_of(const Deform *c, const DeformedElement *element, int64_t i,
                    Taps taps[SPATIAL_MAX])
{
    int64_t o[SPATIAL_MAX] = {0};
    window_split(i, c->held.n_out, c->window.n, o);
    for (int d = 0; d < c->window.n; d++) {
        const WindowDim *dim = &c->window.dim[d];
        int64_t at = c->place[d][o[d]] * dim->stride +
                     c->element[d][element->k[d]] * dim->dilation - dim->before;
        taps[d] = taps_linear((double)at + c->shift[element->row[d] + i], dim->size);
    }
}

/* A row of the columns: an element of a channel at every place. */
static bool fill_row(const Deform *c, int64_t batch, int64_t channel, int64_t e, double *to)
{
    DeformedElement element;
    int64_t stride[DIMS_MAX];
    if (!find_element(c, batch, channel, e, &element))
        return false;
    row_major_strides(&c->image->shape, stride);
    for (int64_t i = 0; i < c->n_places; i++) {
        Taps taps[SPATIAL_MAX];
        taps_of(c, &element, i, taps);
        to[i] = taps_sum(c->x + element.image, taps, stride + 2, c->window.n) *
                (c->factor ? c->factor[element.mask_row + i] : 1);
    }
    return true;
}

/* The weight's rows from `start` in the same group; *group: which. */
static int64_t group_end(const Deform *c, int64_t start, int64_t *group)
{
    int64_t each = c->weight->whole.dim[0] / c->group, end = start + 1;
    *group = c->major[start] / each;
    while (end < c->weight->shape.dim[0] && c->major[end] / each == *group)
        end++;
    return end;
}

static bool fill_columns(const Deform *c, int64_t batch, int64_t group, Error *err)
{
    for (int64_t i = 0; i < c->weight->shape.dim[1] * c->n_elements; i++) {
        int64_t channel = group * c->weight->whole.dim[1] + c->minor[i / c->n_elements];
        if (!fill_row(c, batch, channel, i % c->n_elements, c->columns + i * c->n_places))
            return error_kind(err, ERROR_RUN, "an operand is on another rank");
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
    int64_t n_out = c.weight->shape.dim[0], n = shape_elements(&c.out->shape), group;
    double *y = arena_array(call->scratch, double, n);
    Product p = {.k = c.weight->shape.dim[1] * c.n_elements, .n = c.n_places, .scale = 1};
    for (int64_t b = 0; b < c.image->shape.dim[0] && c.n_places > 0; b++)
        for (int64_t start = 0, end; start < n_out; start = end) {
            end = group_end(&c, start, &group);
            if (!fill_columns(&c, b, group, err))
                return false;
            p.m = end - start;
            kernel_multiply(call, &p, DT_F64, c.w + start * p.k, c.columns,
                            y + (b * n_out + start) * p.n);
        }
    if (c.n_places > 0 && !add_bias(&c, y, err))
        return false;
    local_store(c.out, 0, n, NUMBER_F64, y);
    return true;
}

/* ---- gradients ---- */

static bool deform_weight_grad(const KernelCall *call, Error *err)
{
    KernelCall forward;
    Deform c;
    if (!forward_call(call, &forward, err) || !open_deform(&forward, &c, err))
        return false;
    const double *grad = local_doubles(call->scratch, c.out);
    int64_t n_out = c.weight->shape.dim[0], n = shape_elements(&c.weight->shape), group;
    double *sums = arena_array(call->scratch, double, n);
    double *addend = arena_array(call->scratch, double, n);
    Product p = {.k = c.n_places, .n = c.weight->shape.dim[1] * c.n_elements, .b_turned = true};
    p.scale = 1;
    for (int64_t b = 0; b < c.image->shape.dim[0] && c.n_places > 0; b++)
        for (int64_t start = 0, end; start < n_out; start = end) {
            end = group_end(&c, start, &group);
            if (!fill_columns(&c, b, group, err))
                return false;
            p.m = end - start;
            memset(addend, 0, (size_t)(p.m * p.n) * sizeof *addend);
            kernel_multiply(call, &p, DT_F64, grad + (b * n_out + start) * p.k, c.columns, addend);
            for (int64_t i = 0; i < p.m * p.n; i++)
                sums[start * p.n + i] += addend[i];
        }
    local_store(call->output[0], 0, n, NUMBER_F64, sums);
    return true;
}

static void add_taps(double *image, const Taps *taps, const int64_t *stride, int n_dims, double x)
{
    if (n_dims == 0)
        *image += x;
    for (int i = 0; n_dims > 0 && i < taps->n; i++)
        if (taps->place[i] >= 0)
            add_taps(image + taps->place[i] * *stride, taps + 1, stride + 1, n_dims - 1,
                     x * taps->weight[i]);
}

/* Adds what a row of the columns' gradient gives to the image (input 0), the offsets (2) or the
 * mask (4). */
static void add_row(const Deform *c, const DeformedElement *element, const double *grad, int input,
                    double *sums)
{
    int n = c->window.n;
    int64_t stride[DIMS_MAX];
    row_major_strides(&c->image->shape, stride);
    for (int64_t i = 0; i < c->n_places; i++) {
        Taps taps[SPATIAL_MAX];
        double by = grad[i] * (c->factor && input != 4 ? c->factor[element->mask_row + i] : 1);
        taps_of(c, element, i, taps);
        if (input == 0)
            add_taps(sums + element->image, taps, stride + 2, n, by);
        if (input == 4)
            sums[element->mask_row + i] +=
                by * taps_sum(c->x + element->image, taps, stride + 2, n);
        for (int d = 0; input == 2 && d < n; d++) {
            Taps kept = taps[d];
            for (int k = 0; k < kept.n; k++) /* slopes of the two weights */
                taps[d].weight[k] = k == 0 ? -1 : 1;
            sums[element->row[d] + i] += by * taps_sum(c->x + element->image, taps, stride + 2, n);
            taps[d] = kept;
        }
    }
}

static bool deform_grad(const KernelCall *call, Error *err)
{
    KernelCall forward;
    Deform c;
    if (!forward_call(call, &forward, err) || !open_deform(&forward, &c, err))
        return false;
    int input = program_space(call->inferred, call->op)->gradient->written[0];
    const double *grad = local_doubles(call->scratch, c.out);
    int64_t n_out = c.weight->shape.dim[0], group, n = shape_elements(&call->output[0]->shape);
    double *sums = arena_array(call->scratch, double, n);
    Product p = {.m = c.weight->shape.dim[1] * c.n_elements, .n = c.n_places, .a_turned = true};
    p.scale = 1;
    for (int64_t b = 0; b < c.image->shape.dim[0] && c.n_places > 0; b++)
        for (int64_t start = 0, end; start < n_out; start = end) {
            end = group_end(&c, start, &group);
            p.k = end - start;
            memset(c.columns, 0, (size_t)(p.m * p.n) * sizeof *c.columns);
            kernel_multiply(call, &p, DT_F64, c.w + start * p.m, grad + (b * n_out + start) * p.n,
                            c.columns);
            for (int64_t i = 0; i < p.m; i++) {
                int64_t channel = group * c.weight->whole.dim[1] + c.minor[i / c.n_elements];
                DeformedElement element;
                if (!find_element(&c, b, channel, i % c.n_elements, &element))
                    return error_kind(err, ERROR_RUN, "an operand is on another rank");
                add_row(&c, &element, c.columns + i * p.n, input, sums);
            }
        }
    local_store(call->output[0], 0, n, NUMBER_F64, sums);
    return true;
}

const Kernel kernels_deform[] = {
    {"DeformConv", deform_conv, NULL, 0, ROUNDING_SENSITIVE},
    {"DeformConvGrad", deform_grad, NULL, 0, ROUNDING_SENSITIVE},
    {"DeformConvWeightGrad", deform_weight_grad, NULL, 0, ROUNDING_SENSITIVE},
    {0},
};
