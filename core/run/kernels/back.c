/* back.c - scatters elements to where they came from: MaxUnpool, Col2Im.
 *
 * A rank has whole images of some batches and channels. Columns may be sharded, and the elements of
 * blocks, which are summed: the image is then this rank's addend. Source: the ONNX operator schemas
 * of MaxUnpool (opset 9 to 22) and Col2Im (18).
 */
#include "core/layout/runs.h"
#include "core/rules/window.h"
#include "core/run/element.h"
#include "core/run/kernel.h"

/* ---- MaxUnpool ---- */

/* A position is an index into the whole tensor that a pool with the op's windows would have read;
 * the index within its channel's image is the target. A larger output has that image in its first
 * corner. */
static bool max_unpool(const KernelCall *call, Error *err)
{
    Window window = {.n = 0};
    if (!kernel_needs(call, 2, err) || !kernel_computes(call->input[1], err))
        return false;
    RuleCall rule = kernel_rule_call(call);
    if (!window_read_transposed(&rule, 0, -1, &window, err))
        return false;
    const Local *in = call->input[0], *position = call->input[1];
    Local *out = call->output[0];
    int64_t n = 1, pixels = 1, plane = 1, stride[DIMS_MAX];
    row_major_strides(&out->shape, stride);
    bool fits = in->dtype == out->dtype && shape_equal(&in->shape, &position->shape) &&
                out->shape.n_dims == 2 + window.n && in->shape.dim[0] == out->shape.dim[0] &&
                in->shape.dim[1] == out->shape.dim[1];
    for (int d = 0; fits && d < window.n; d++) {
        n *= in->shape.dim[2 + d];
        plane *= window.dim[d].out;
        pixels *= out->shape.dim[2 + d];
        fits = out->shape.dim[2 + d] == out->whole.dim[2 + d];
    }
    if (!fits || plane < 1)
        return error_kind(err, ERROR_RUN, "operand shapes do not match");
    Picks picks =
        picks_new(call->scratch, &(Shape){.n_dims = 1, .dim = {shape_elements(&out->shape)}});
    for (int64_t i = 0; i < picks.size[0]; i++)
        picks.from[0][i] = PICK_NONE;
    for (int64_t i = 0; i < shape_elements(&in->shape); i++) {
        int64_t at, to = i / n * pixels;
        local_load(position, i, 1, 1, NUMBER_I64, &at);
        bool inside = at >= 0;
        at %= plane;
        for (int d = window.n - 1; inside && d >= 0; at /= window.dim[d--].out) {
            int64_t place = at % window.dim[d].out;
            inside = place < out->shape.dim[2 + d];
            to += place * stride[2 + d];
        }
        if (!inside)
            return error_kind(err, ERROR_RUN, "a position is outside its image");
        picks.from[0][to] = i;
    }
    kernel_pick(call, out, in, &picks);
    return true;
}

/* ---- Col2Im ---- */

typedef struct {
    int n; /* spatial dims */
    int64_t size[SPATIAL_MAX], block[SPATIAL_MAX], stride[SPATIAL_MAX], dilation[SPATIAL_MAX];
    int64_t before[SPATIAL_MAX], n_blocks[SPATIAL_MAX];
} WindowBlocks;

static bool read_blocks(const KernelCall *call, WindowBlocks *out, Error *err)
{
    Ints block, stride, dilation, pads;
    RuleCall rule = kernel_rule_call(call);
    const Shape *image = &call->output[0]->whole;
    if (!args_ints(&rule, 2, "block_shape", &block, err) ||
        !args_ints(&rule, -1, "strides", &stride, err) ||
        !args_ints(&rule, -1, "dilations", &dilation, err) ||
        !args_ints(&rule, -1, "pads", &pads, err))
        return false;
    int n = (int)image->n_dims - 2;
    *out = (WindowBlocks){.n = n};
    if (n < 1 || n > SPATIAL_MAX || block.n != n || (stride.given && stride.n != n) ||
        (dilation.given && dilation.n != n) || (pads.given && pads.n != 2 * n))
        return error_kind(err, ERROR_RUN, "its blocks and its image do not fit");
    for (int d = 0; d < n; d++) {
        out->size[d] = image->dim[2 + d];
        out->block[d] = block.at[d];
        out->stride[d] = stride.given ? stride.at[d] : 1;
        out->dilation[d] = dilation.given ? dilation.at[d] : 1;
        out->before[d] = pads.given ? pads.at[d] : 0;
        int64_t room = out->size[d] + out->before[d] + (pads.given ? pads.at[n + d] : 0) -
                       (out->block[d] - 1) * out->dilation[d] - 1;
        if (out->stride[d] < 1 || out->dilation[d] < 1 || out->block[d] < 1 || room < 0)
            return error_kind(err, ERROR_RUN, "its blocks do not fit its image");
        out->n_blocks[d] = room / out->stride[d] + 1;
    }
    return true;
}

/* The place in the image of an element of a block; -1: in the padding. */
static int64_t place_of(const WindowBlocks *b, int64_t element, int64_t block)
{
    int64_t place = 0, step = 1;
    for (int d = b->n - 1; d >= 0; d--) {
        int64_t at = block % b->n_blocks[d] * b->stride[d] +
                     element % b->block[d] * b->dilation[d] - b->before[d];
        if (at < 0 || at >= b->size[d])
            return -1;
        place += at * step;
        step *= b->size[d];
        element /= b->block[d];
        block /= b->n_blocks[d];
    }
    return place;
}

static bool col2im(const KernelCall *call, Error *err)
{
    WindowBlocks b = {.n = 0};
    if (!kernel_numeric(call, 1, err) || !read_blocks(call, &b, err))
        return false;
    const Local *in = call->input[0];
    Local *out = call->output[0];
    int64_t elements = 1, pixels = 1;
    for (int d = 0; d < b.n; d++) {
        elements *= b.block[d];
        pixels *= b.size[d];
    }
    const int64_t *row = kernel_globals(call->scratch, &in->runs[1]);
    const int64_t *column = kernel_globals(call->scratch, &in->runs[2]);
    int64_t rows = in->shape.dim[1], columns = in->shape.dim[2], n = shape_elements(&out->shape);
    if (in->shape.dim[0] != out->shape.dim[0] ||
        n != out->shape.dim[0] * out->shape.dim[1] * pixels)
        return error_kind(err, ERROR_RUN, "operand shapes do not match");
    if (!kernel_takes_terms(call, err))
        return false;
    double *image = call->sink ? NULL : arena_array(call->scratch, double, n);
    const double *x = call->sink ? NULL : kernel_doubles(call, 0);
    for (int64_t i = 0; i < in->shape.dim[0] * rows; i++) {
        int64_t channel = runs_find(&out->runs[1], row[i % rows] / elements);
        if (channel < 0)
            return error_kind(err, ERROR_RUN, "an output channel is on another rank");
        int64_t to = (i / rows * out->shape.dim[1] + channel) * pixels;
        for (int64_t l = 0; l < columns; l++) {
            int64_t place = place_of(&b, row[i % rows] % elements, column[l]);
            if (place < 0)
                continue;
            if (call->sink)
                kernel_term(call, out, to + place, in, i * columns + l, 1);
            else
                image[to + place] += x[i * columns + l];
        }
    }
    if (!call->sink)
        local_store(out, 0, n, NUMBER_F64, image);
    return true;
}

const Kernel kernels_back[] = {
    {"MaxUnpool", max_unpool, NULL, 0, ROUNDING_EXACT},
    {"Col2Im", col2im, NULL, 0, ROUNDING_SUM},
    {0},
};
