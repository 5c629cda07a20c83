/* quantize.c - quantization, dequantization, and quantized elementwise operators.
 *
 * x is scaled in double, rounded to even and clamped to the type. Scales and zero points are found
 * by the global index of their row or block.
 */
#include "core/rules/args.h"
#include "core/run/kernels/derivative.h"
#include "core/model/small_float.h"

#include <inttypes.h>
#include <math.h>

/* ---- one scale for each place of an axis, for each block of it, or for all ---- */

typedef struct {
    int axis;        /* -1: one for all */
    int64_t block;   /* places of the axis that share a scale; 0: scales are a list */
    int64_t *global; /* of the axis of x */
    const Local *x, *scale, *zero;
} Scaling;

static bool open_scaling(const KernelCall *call, Scaling *out, Error *err)
{
    if (!kernel_numeric(call, 2, err))
        return false;
    RuleCall rule = kernel_rule_call(call);
    *out = (Scaling){.axis = -1, .x = call->input[0], .scale = call->input[1]};
    out->zero = kernel_input(call, 2);
    if (out->zero && !kernel_computes(out->zero, err))
        return false;
    bool single = shape_elements(&out->scale->whole) == 1 && out->scale->whole.n_dims <= 1;
    bool fits = !out->zero || shape_equal(&out->zero->shape, &out->scale->shape) ||
                (single && shape_elements(&out->zero->whole) == 1);
    if (!shape_equal(&out->x->shape, &call->output[0]->shape) || !fits)
        return error_kind(err, ERROR_RUN, "input and output differ in shape");
    if (single)
        return true;
    if (!args_axis(args_int(&rule, "axis", 1), out->x->shape.n_dims, &out->axis, err))
        return false;
    out->block = args_int(&rule, "block_size", 0);
    out->global = kernel_globals(call->scratch, &out->x->runs[out->axis]);
    return true;
}

/* The place in the scales for place i of x; -1: on another rank. */
static int64_t scale_place(const Scaling *s, int64_t i)
{
    const Shape *shape = &s->x->shape;
    int64_t at[DIMS_MAX] = {0}, place = 0;
    if (s->axis < 0)
        return 0;
    for (int64_t d = shape->n_dims - 1; d >= 0; i /= shape->dim[d--])
        at[d] = i % shape->dim[d];
    int64_t along = s->global[at[s->axis]];
    if (s->block == 0)
        return runs_find(&s->scale->runs[0], along);
    for (int64_t d = 0; d < shape->n_dims; d++) {
        int64_t held = d == s->axis ? runs_find(&s->scale->runs[d], along / s->block) : at[d];
        if (held < 0 || held >= s->scale->shape.dim[d])
            return -1;
        place = place * s->scale->shape.dim[d] + held;
    }
    return place;
}

/* Rounds to the precision of a type, which decides ties. For 16 bits it is the single-precision
 * quotient, which rounds like the exact one. */
static double divided(Dtype precision, double x, double by)
{
    double quotient = precision == DT_F64 ? x / by : (double)((float)x / (float)by);
    if (precision == DT_F16 || precision == DT_BF16) {
        uint16_t element;
        elements_store(precision, &element, 1, NUMBER_F64, &quotient);
        elements_load(precision, &element, 1, 1, NUMBER_F64, &quotient);
    }
    return quotient;
}

static double quotient(double x, double by)
{
    return rint(divided(DT_F32, x, by));
}

/* quotient + zero as a quantized number: an integer, or a float of at most 8 bits. */
static void store_few(Local *out, int64_t i, double quotient, double zero, bool saturate)
{
    double least = 0, most = 0;
    if (dtype_is_float(out->dtype)) {
        float y = (float)(quotient + zero);
        *(uint8_t *)local_at(out, i) = small_float_bits(out->dtype, y, saturate, POWER_UP);
        return;
    }
    dtype_int_range(out->dtype, &least, &most);
    double y = fmin(fmax(rint(quotient) + zero, least), most);
    local_store(out, i, 1, NUMBER_F64, &y);
}

/* row NULL: dequantize; else quantize. */
static bool scale(const KernelCall *call, Error *err)
{
    Scaling s;
    if (!open_scaling(call, &s, err))
        return false;
    Local *out = call->output[0];
    bool to_few = call->kernel->row != NULL;
    if (to_few && !dtype_is_int(out->dtype) && dtype_bits(out->dtype) > 8)
        return error_kind(err, ERROR_RUN, "no kernel rounds to elements of type %s",
                          dtype_name(out->dtype));
    bool saturate = op_attr_int(kernel_graph(call), call->op, "saturate", 1) != 0;
    Dtype precision =
        dtype_from_onnx(op_attr_int(kernel_graph(call), call->op, "precision", DT_NONE));
    if (precision == DT_NONE)
        precision = s.scale->dtype;
    for (int64_t i = 0; i < shape_elements(&s.x->shape); i++) {
        int64_t place = scale_place(&s, i);
        if (place < 0)
            return error_kind(err, ERROR_RUN, "a scale is on another rank");
        double by = local_number(s.scale, place), zero = s.zero ? local_number(s.zero, place) : 0;
        double x = local_number(s.x, i);
        if (to_few) {
            store_few(out, i, divided(precision, x, by), zero, saturate);
            continue;
        }
        x = (x - zero) * by;
        local_store(out, i, 1, NUMBER_F64, &x);
    }
    return true;
}

/* The gradient of the scales: (x - zero) dy, summed over what shares a scale. */
static bool scale_gradient(const KernelCall *call, Error *err)
{
    Scaling s;
    KernelCall forward;
    if (!forward_call(call, &forward, err) || !open_scaling(&forward, &s, err))
        return false;
    const Local *dy = forward.output[0];
    Local *made = call->output[0];
    int64_t n = shape_elements(&made->shape);
    double *sums = arena_array(call->scratch, double, n);
    for (int64_t i = 0; dy->data && i < shape_elements(&s.x->shape); i++) {
        int64_t place = scale_place(&s, i);
        if (place < 0)
            return error_kind(err, ERROR_RUN, "a scale is on another rank");
        sums[place] += (local_number(s.x, i) - (s.zero ? local_number(s.zero, place) : 0)) *
                       local_number(dy, i);
    }
    local_store(made, 0, n, NUMBER_F64, sums);
    return true;
}

/* Maps the range of all elements, with 0, to 0..255. */
static bool dynamic(const KernelCall *call, Error *err)
{
    if (!kernel_numeric(call, 1, err))
        return false;
    const Local *x = call->input[0];
    int64_t n = shape_elements(&x->shape);
    double least = 0, most = 0;
    if (!shape_equal(&x->shape, &call->output[0]->shape))
        return error_kind(err, ERROR_RUN, "input and output differ in shape");
    for (int64_t i = 0; i < n; i++) {
        least = fmin(least, local_number(x, i));
        most = fmax(most, local_number(x, i));
    }
    double by = (double)((float)(most - least) / 255.0F);
    double zero = by > 0 ? fmin(fmax(quotient(-least, by), 0), 255) : 0;
    for (int64_t i = 0; i < n; i++) {
        double y = by > 0 ? fmin(fmax(quotient(local_number(x, i), by) + zero, 0), 255) : zero;
        elements_store(DT_U8, local_at(call->output[0], i), 1, NUMBER_F64, &y);
    }
    const double stored[3] = {0, by, zero};
    for (int o = 1; o < call->n_outputs && o < 3; o++)
        if (call->output[o])
            local_store(call->output[o], 0, 1, NUMBER_F64, &stored[o]);
    return true;
}

/* ---- elementwise, operands with scale and zero point ---- */

static double added(double x, double y, double alpha)
{
    (void)alpha;
    return x + y;
}

static double multiplied(double x, double y, double alpha)
{
    (void)alpha;
    return x * y;
}

static double sigmoid(double x, double y, double alpha)
{
    (void)y;
    (void)alpha;
    return 1 / (1 + exp(-x));
}

static double leaky(double x, double y, double alpha)
{
    (void)y;
    return x < 0 ? alpha * x : x;
}

typedef struct {
    int n; /* operands; those of the output follow */
    double (*of)(double x, double y, double alpha);
} Pointwise;

static const Pointwise of_add = {2, added}, of_mul = {2, multiplied}, of_sigmoid = {1, sigmoid},
                       of_leaky = {1, leaky};

/* The one number of an input, 0 where it is absent. */
static bool one_number(const KernelCall *call, int input, double *out, Error *err)
{
    const Local *local = kernel_input(call, input);
    *out = 0;
    if (!local)
        return true;
    if (!kernel_computes(local, err) || shape_elements(&local->shape) != 1)
        return error_kind(err, ERROR_RUN, "input %d is not a scalar", input);
    *out = local_number(local, 0);
    return true;
}

static bool pointwise(const KernelCall *call, Error *err)
{
    const Pointwise *f = call->kernel->row;
    int64_t stride[2][DIMS_MAX] = {{0}};
    double by[3], zero[3], least, most;
    if (!kernel_needs(call, 3 * f->n + 1, err) || !kernel_computes(call->output[0], err))
        return false;
    Local *out = call->output[0];
    for (int k = 0; k < f->n; k++)
        if (!kernel_computes(call->input[(ptrdiff_t)3 * k], err) ||
            !kernel_broadcast(call->input[(ptrdiff_t)3 * k], out, stride[k], err) ||
            !one_number(call, 3 * k + 1, &by[k], err) ||
            !one_number(call, 3 * k + 2, &zero[k], err))
            return false;
    if (!one_number(call, 3 * f->n, &by[2], err) || !one_number(call, 3 * f->n + 1, &zero[2], err))
        return false;
    double alpha = op_attr_float(kernel_graph(call), call->op, "alpha", 0.01);
    dtype_int_range(out->dtype, &least, &most);
    for (int64_t i = 0; i < shape_elements(&out->shape); i++) {
        double x[2] = {0, 0};
        for (int k = 0; k < f->n; k++) {
            int64_t place = strided_place(&out->shape, stride[k], 0, out->shape.n_dims, i);
            x[k] = (local_number(call->input[(ptrdiff_t)3 * k], place) - zero[k]) * by[k];
        }
        double y = fmin(fmax(quotient(f->of(x[0], x[1], alpha), by[2]) + zero[2], least), most);
        local_store(out, i, 1, NUMBER_F64, &y);
    }
    return true;
}

const Kernel kernels_quantize[] = {
    {"QuantizeLinear", scale, "to", 0, ROUNDING_STEP},
    {"DequantizeLinear", scale, NULL, 0, ROUNDING_STEP},
    {"DequantizeLinearBackward", scale_gradient, NULL, 0, ROUNDING_SENSITIVE},
    {"DynamicQuantizeLinear", dynamic, NULL, 0, ROUNDING_STEP},
    {"com.microsoft::QLinearAdd", pointwise, &of_add, 0, ROUNDING_STEP},
    {"com.microsoft::QLinearMul", pointwise, &of_mul, 0, ROUNDING_STEP},
    {"com.microsoft::QLinearSigmoid", pointwise, &of_sigmoid, 0, ROUNDING_STEP},
    {"com.microsoft::QLinearLeakyRelu", pointwise, &of_leaky, 0, ROUNDING_STEP},
    {0},
};
