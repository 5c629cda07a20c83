/* signal.c - Fourier transforms, their windows, and pictures from bytes.
 *
 *     DFT     d0 10 2 -> d0 10 2                      along axis 1: read and written whole
 *     STFT    b {8*f:+16} 1, , 16 -> b f 9 2          a frame f reads 16 samples from 8 f on
 *
 * Neighbouring frames share samples, so sharding f needs a halo. Windows and filter banks are made
 * from sizes that are inputs: -1 if they are known only at run time.
 */
#include "core/rules/args.h"

#include <inttypes.h>

/* Reads one number of an input; *known is false if it is known only at run time, or the input is
 * absent. */
static bool read_number(const RuleCall *call, int input, int64_t *out, bool *known, Error *err)
{
    *known = args_has(call, input) && call->value[input];
    if (!*known)
        return true;
    if (!value_one_int(call->value[input], out))
        return error_set(err, "its input %d is not one whole number", input);
    return true;
}

/* A size of 0 or more from input `input`; -1 if it is known only at run time; `fallback` if the
 * input is absent. */
static bool read_size(const RuleCall *call, int input, int64_t fallback, int64_t *out, Error *err)
{
    bool known;
    *out = args_has(call, input) ? -1 : fallback;
    if (!read_number(call, input, out, &known, err))
        return false;
    return !known || *out >= 0 ||
           error_kind(err, ERROR_OUT_OF_RANGE, "its input %d is negative", input);
}

/* ---- DFT ---- */

/* Before opset 20 the axis is an attribute, counted from the second dim. */
static bool dft_axis(const RuleCall *call, int *axis, bool *known, Error *err)
{
    int64_t n = call->shape[0]->n_dims, given = call->opset < 20 ? args_int(call, "axis", 1) : -2;
    if (!args_rank(call, 0, 2, DIMS_MAX, err))
        return false;
    if (!read_number(call, 2, &given, known, err))
        return false;
    *known |= !args_has(call, 2);
    if (!args_axis(given, n, axis, err))
        return false;
    return !*known || *axis < n - 1 ||
           error_kind(err, ERROR_OUT_OF_RANGE, "its axis is that of real and imaginary parts");
}

static bool dft_shape(const RuleCall *call, int axis, bool known, Shape *out, Error *err)
{
    const Shape *from = call->shape[0];
    bool inverse = args_int(call, "inverse", 0) != 0, half = args_int(call, "onesided", 0) != 0;
    int64_t parts = from->dim[from->n_dims - 1], size = from->dim[axis], length;
    if (parts < 1 || parts > 2 || (half && parts != (inverse ? 2 : 1)))
        return error_set(err, "its last dim has %" PRId64 " parts of a number", parts);
    if (!read_size(call, 1, inverse && half ? 2 * (size - 1) : size, &length, err))
        return false;
    *out = *from;
    out->dim[out->n_dims - 1] = inverse && half ? 1 : 2;
    out->dim[axis] = !half || inverse || length < 0 ? length : length / 2 + 1;
    if (!known)
        for (int64_t d = 0; d < out->n_dims - 1; d++)
            out->dim[d] = -1;
    return true;
}

static bool dft(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    bool known = false;
    int axis = 0;
    if (!dft_axis(call, &axis, &known, err) ||
        !dft_shape(call, axis, known, &call->out_shape[0], err))
        return false;
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    for (int d = 0; d < from->n_dims - 1 && known; d++) {
        if (d == axis)
            continue;
        int index = rule_index_at(call, 'd', d, from->dim[d]);
        rule_unit(&space->operand[0], d, index);
        rule_unit(rule_output(space, 0), d, index);
    }
    if (shape_equal(from, &call->out_shape[0]))
        space->operand[0].linear = LINEAR_ALONE;
    return true;
}

/* ---- STFT ---- */

typedef struct {
    int64_t step, length, n_frames, n_bins;
} Frames;

/* n_frames or n_bins is -1 if it depends on a size that is known only at run time. */
static bool read_frames(const RuleCall *call, Frames *frames, Error *err)
{
    const Shape *from = call->shape[0];
    int64_t window = args_has(call, 2) ? call->shape[2]->dim[0] : -1;
    bool complex_in = from->n_dims == 3 && from->dim[2] == 2;
    if (!args_rank(call, 0, 2, 3, err) || (args_has(call, 2) && !args_rank(call, 2, 1, 1, err)))
        return false;
    if (!read_size(call, 1, -1, &frames->step, err) ||
        !read_size(call, 3, window, &frames->length, err))
        return false;
    if (frames->step == 0 || frames->length == 0 || frames->length > from->dim[1])
        return error_kind(err, ERROR_OUT_OF_RANGE, "no frame fits its signal");
    if (window >= 0 && frames->length >= 0 && window != frames->length)
        return error_set(err, "its window is not as long as a frame");
    bool half = args_int(call, "onesided", !complex_in) != 0;
    bool known = frames->length > 0 && frames->step > 0;
    frames->n_frames = known ? (from->dim[1] - frames->length) / frames->step + 1 : -1;
    frames->n_bins = half && frames->length > 0 ? frames->length / 2 + 1 : frames->length;
    return true;
}

static bool stft(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    Frames frames = {0};
    if (!read_frames(call, &frames, err))
        return false;
    call->out_shape[0] =
        (Shape){.n_dims = 4, .dim = {from->dim[0], frames.n_frames, frames.n_bins, 2}};
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = rule_space(call, err);
    if (!space || frames.n_frames < 0)
        return space;
    int b = rule_index(space, "b", from->dim[0], ROLE_MAP, REDUCE_NONE);
    int f = rule_index(space, "f", frames.n_frames, ROLE_MAP, REDUCE_NONE);
    rule_unit(&space->operand[0], 0, b);
    rule_unit(rule_output(space, 0), 0, b);
    rule_unit(rule_output(space, 0), 1, f);
    if (f >= 0) {
        Row *row = &space->operand[0].projection.row[1];
        *row = (Row){.window = frames.length};
        row->coef[f] = frames.step;
    }
    return true;
}

/* ---- made from sizes ---- */

static bool window(RuleCall *call, Error *err)
{
    call->out_shape[0] = (Shape){.n_dims = 1};
    return read_size(call, 0, 0, &call->out_shape[0].dim[0], err) &&
           args_dtype(call, "output_datatype", DT_F32, &call->out_dtype[0], err) &&
           rule_space(call, err);
}

/* Rows are the bins of a one-sided DFT, columns the mel bands. */
static bool mel_weights(RuleCall *call, Error *err)
{
    int64_t n_bands, length;
    if (!read_size(call, 0, 0, &n_bands, err) || !read_size(call, 1, 0, &length, err) ||
        !args_dtype(call, "output_datatype", DT_F32, &call->out_dtype[0], err))
        return false;
    call->out_shape[0] = (Shape){.n_dims = 2, .dim = {length < 0 ? -1 : length / 2 + 1, n_bands}};
    return rule_space(call, err);
}

/* Height and width are in the encoded bytes. */
static bool decode_image(RuleCall *call, Error *err)
{
    bool grey = str_eq(args_text(call, "pixel_format", "RGB"), STR("Grayscale"));
    if (!args_rank(call, 0, 1, 1, err))
        return false;
    call->out_shape[0] = (Shape){.n_dims = 3, .dim = {-1, -1, grey ? 1 : 3}};
    call->out_dtype[0] = DT_U8;
    return rule_space(call, err);
}

#define FAMILY "signal"

/* Flops are rough: the points of the index space do not include the dim that is transformed. */
const Operator operators_signal[] = {
    {OP("DFT", dft, 64, 1, 3), GRADIENT("0: DFTGrad(x1 x2)"), .reads = 1 << 1 | 1 << 2,
     ONNX("axis inverse onesided", ".f .i .i"), .kernel = "DFT",
     .examples = "3x7x2; 3x8x5x1,-,=1 onesided=1"},
    {OP("STFT", stft, 64, 2, 4), GRADIENT("0: STFTGrad(x1 x2 x3); 2: STFTGrad(x0 x1 x3)"),
     .reads = 1 << 1 | 1 << 3, ONNX("onesided", "Af Bi Af Bi"), .kernel = "STFT",
     .examples = "3x20x1,=4,8; 3x20x2,=8,-,=8 onesided=0"},
    {OP("BlackmanWindow", window, 0, 1, 1), .reads = 1 << 0, ONNX("output_datatype periodic", ".i"),
     .kernel = "BlackmanWindow", .examples = "=7"},
    {OP("HammingWindow", window, 0, 1, 1), .reads = 1 << 0, ONNX("output_datatype periodic", ".i"),
     .kernel = "HammingWindow", .examples = "=7"},
    {OP("HannWindow", window, 0, 1, 1), .reads = 1 << 0, ONNX("output_datatype periodic", ".i"),
     .kernel = "HannWindow", .examples = "=7"},
    {OP("MelWeightMatrix", mel_weights, 0, 5, 5), .reads = 1 << 0 | 1 << 1,
     ONNX("output_datatype", "Ai Ai Ai Bf Bf"), .kernel = "MelWeightMatrix",
     .examples = "=7,=16,=8000,scalar,scalar"},
    {OP("ImageDecoder", decode_image, 0, 1, 1), ONNX("pixel_format", ".i"), .examples = "100:u8"},
    {0},
};
