/* quantize.c - numbers in few bits: to them, from them, and products of them.
 *
 *     QuantizeLinear         d0 d1, d1, d1 -> d0 d1              one scale a row, a dim, a block
 *                            d0 (n1 k1), d0 n1 -> d0 (n1 k1)     blocks of k1
 *     DynamicQuantizeLinear  d0^ d1^ -> d0^ d1^, ,               the scale is of all elements
 *     MatMulInteger          m k+, k+ n, m, n -> m n
 *     QLinearMatMul          m k^, , , k^ n, .. -> m n           rounded: k is frozen
 */
#include "core/rules/operators/dims.h"

#include <inttypes.h>

/* ---- scales ---- */

/* Which elements of a tensor share a scale. */
typedef struct {
    int axis;      /* of one scale a place, or a block; -1: one scale for all */
    int64_t block; /* places a block; 0: no blocks */
} Scales;

static bool read_scales(const RuleCall *call, Scales *out, Error *err)
{
    const Shape *x = call->shape[0], *scale = call->shape[1];
    *out = (Scales){.axis = -1};
    if (shape_elements(scale) == 1 && scale->n_dims <= 1)
        return true;
    if (!args_axis(args_int(call, "axis", 1), x->n_dims, &out->axis, err))
        return false;
    if (scale->n_dims == 1 && args_int(call, "block_size", 0) == 0)
        return args_same_size(call, 0, out->axis, 1, 0, err);
    out->block = args_int(call, "block_size", 0);
    bool fits = scale->n_dims == x->n_dims && out->block >= 1;
    for (int d = 0; fits && d < x->n_dims; d++) {
        int64_t size = x->dim[d];
        fits =
            scale->dim[d] == (d == out->axis ? size / out->block + (size % out->block != 0) : size);
    }
    return fits ||
           error_set(err, "its input 1 is not of blocks of %" PRId64 " of dim %d of its input 0",
                     out->block, out->axis);
}

/* Rows of x, of the result, and of scales and zero points. */
static bool scaled_space(RuleCall *call, const Scales *scales, Error *err)
{
    const Shape *x = call->shape[0];
    call->out_shape[0] = *x;
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    for (int d = 0; d < x->n_dims; d++) {
        bool here = d == scales->axis, blocks = here && scales->block > 0;
        int pair[2] = {-1, -1};
        if (blocks && x->dim[d] % scales->block == 0) {
            pair[0] = rule_index_at(call, 'n', d, x->dim[d] / scales->block);
            pair[1] = rule_index_at(call, 'k', d, scales->block);
        } else {
            pair[0] = rule_index_at(call, 'd', d, x->dim[d]);
        }
        rule_radix(space, &space->operand[0], d, pair, 2);
        rule_radix(space, rule_output(space, 0), d, pair, 2);
        bool short_block = blocks && x->dim[d] % scales->block != 0;
        for (int i = 1; i < call->n_inputs; i++) {
            Operand *operand = &space->operand[i];
            if (operand->absent || scales->axis < 0 || short_block)
                continue;
            if (scales->block > 0 || here)
                rule_unit(operand, scales->block > 0 ? d : 0, pair[0]);
        }
    }
    return true;
}

static bool zero_fits(const RuleCall *call, Error *err)
{
    bool single = args_has(call, 2) && shape_elements(call->shape[2]) == 1 &&
                  shape_elements(call->shape[1]) == 1;
    return !args_has(call, 2) || single || args_same_shape(call, 1, 2, err);
}

static bool quantize(RuleCall *call, Error *err)
{
    Scales scales;
    Dtype given;
    if (!args_dtype(call, "output_dtype", DT_U8, &given, err) || !zero_fits(call, err) ||
        !read_scales(call, &scales, err))
        return false;
    call->out_dtype[0] = args_has(call, 2) ? call->dtype[2] : given;
    return scaled_space(call, &scales, err);
}

/* Before opset 19 scales are f32, and so is the result. */
static bool dequantize(RuleCall *call, Error *err)
{
    Scales scales;
    if (!args_dtype(call, "output_dtype", call->dtype[1], &call->out_dtype[0], err) ||
        !zero_fits(call, err) || !read_scales(call, &scales, err))
        return false;
    return scaled_space(call, &scales, err);
}

static bool dynamic_quantize(RuleCall *call, Error *err)
{
    DimUse use[DIMS_MAX];
    for (int d = 0; d < DIMS_MAX; d++)
        use[d] = DIM_FROZEN;
    for (int o = 0; o < call->n_outputs; o++) {
        call->out_shape[o] = o == 0 ? *call->shape[0] : (Shape){0};
        call->out_dtype[o] = o == 1 ? DT_F32 : DT_U8;
    }
    return dims_space(call, call->shape[0], use, NULL, err) != NULL;
}

/* ---- casts ---- */

static bool cast_like(RuleCall *call, Error *err)
{
    call->out_shape[0] = *call->shape[0];
    call->out_dtype[0] = call->dtype[1];
    OpSpace *space = dims_space(call, call->shape[0], NULL, NULL, err);
    if (!space || call->shape[0]->n_dims != call->shape[1]->n_dims)
        return space != NULL;
    for (int d = 0; d < call->shape[0]->n_dims; d++) /* its elements are not read */
        if (call->shape[0]->dim[d] == call->shape[1]->dim[d])
            space->operand[1].projection.row[d] = space->operand[0].projection.row[d];
    return true;
}

static bool bit_cast(RuleCall *call, Error *err)
{
    Dtype to;
    if (!args_dtype(call, "to", DT_NONE, &to, err))
        return false;
    if (dtype_bits(to) != dtype_bits(call->dtype[0]))
        return error_kind(err, ERROR_DTYPE, "%s and %s do not have as many bits",
                          dtype_name(call->dtype[0]), dtype_name(to));
    return dims_pointwise(call, to, err);
}

/* ---- elementwise on quantized operands: each with a scale and a zero point ---- */

/* com.microsoft: a, a's scale, a's zero point, b, .. The tensors broadcast; scales and zero points
 * are whole. */
static bool pointwise_of(RuleCall *call, int n_tensors, Error *err)
{
    const Shape *tensors[2] = {call->shape[0], n_tensors > 1 ? call->shape[3] : NULL};
    Shape out;
    if (!args_broadcast(tensors, n_tensors, &out, err))
        return false;
    OpSpace *space = rule_space_as(call, &out, call->dtype[0], err);
    if (!space)
        return false;
    int index[DIMS_MAX];
    for (int d = 0; d < out.n_dims; d++)
        index[d] = rule_index_at(call, 'd', d, out.dim[d]);
    for (int i = 0; i < n_tensors; i++)
        rule_align(&space->operand[(ptrdiff_t)3 * i], index, (int)out.n_dims);
    rule_align(rule_output(space, 0), index, (int)out.n_dims);
    return true;
}

static bool quantized_pair(RuleCall *call, Error *err)
{
    return call->shape[3] ? pointwise_of(call, 2, err) : error_set(err, "its input 3 is absent");
}

static bool quantized_one(RuleCall *call, Error *err)
{
    return pointwise_of(call, 1, err);
}

#define FAMILY "quantize"

const Operator operators_quantize[] = {
    {OP("QuantizeLinear", quantize, 2, 2, 3), GRADIENT("all: zero"), EARLY,
     ONNX("axis block_size output_dtype precision saturate", ".fi .fi .fic"),
     .kernel = "QuantizeLinear", .examples = "5x6,6,6:u8; 5x6,scalar,scalar:i8"},
    {OP("DequantizeLinear", dequantize, 2, 2, 3),
     GRADIENT("0: zero; 1: DequantizeLinearBackward(x0 x2); 2: zero"), EARLY,
     ONNX("axis block_size output_dtype", "Afic .f Afic"), .kernel = "DequantizeLinear",
     .examples =
         "5x6:i8,5,5:i8 axis=0; 5x6:u8,5x2 axis=1 block_size=3; 5x7:u8,5x3 axis=1 block_size=3"},
    {OP("com.microsoft::QuantizeLinear", quantize, 2, 2, 3), GRADIENT("all: zero"), OWN("axis", ""),
     EARLY, .kernel = "QuantizeLinear", .examples = "5x6,6,6:u8"},
    {OP("com.microsoft::DequantizeLinear", dequantize, 2, 2, 3),
     GRADIENT("0: zero; 1: DequantizeLinearBackward(x0 x2); 2: zero"), OWN("axis", ""), EARLY,
     .kernel = "DequantizeLinear", .examples = "5x6:i8,5,5:i8 axis=0"},
    {OP("DynamicQuantizeLinear", dynamic_quantize, 2, 1, 1), EARLY, .outputs_max = 3,
     ONNX("", ".f"), .kernel = "DynamicQuantizeLinear", .examples = "5x6 -> 3"},
    {OP("CastLike", cast_like, 2, 2, 2), GRADIENT("0: contract; 1: zero"), EARLY,
     ONNX("round_mode saturate", ""), .kernel = "Cast", .examples = "5x6,3:i32"},
    {OP("BitCast", bit_cast, 2, 1, 1), EARLY, ONNX("to", ""), .kernel = "BitCast",
     .examples = "5x6 to=6"},
    {OP("com.microsoft::QLinearAdd", quantized_pair, 2, 7, 8), OWN("", ""), EARLY,
     .kernel = "com.microsoft::QLinearAdd",
     .examples = "5x6:u8,scalar,scalar:u8,6:u8,scalar,scalar:u8,scalar,scalar:u8"},
    {OP("com.microsoft::QLinearMul", quantized_pair, 2, 7, 8), OWN("", ""), EARLY,
     .kernel = "com.microsoft::QLinearMul",
     .examples = "5x6:u8,scalar,scalar:u8,6:u8,scalar,scalar:u8,scalar,scalar:u8"},
    {OP("com.microsoft::QLinearSigmoid", quantized_one, 2, 4, 5), OWN("", ""), EARLY,
     .kernel = "com.microsoft::QLinearSigmoid",
     .examples = "5x6:u8,scalar,scalar:u8,scalar,scalar:u8"},
    {OP("com.microsoft::QLinearLeakyRelu", quantized_one, 2, 4, 5), OWN("alpha", ""), EARLY,
     .kernel = "com.microsoft::QLinearLeakyRelu",
     .examples = "5x6:u8,scalar,scalar:u8,scalar,scalar:u8"},
    {0},
};
