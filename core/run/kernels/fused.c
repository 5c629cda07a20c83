/* fused.c - fused operators of exporters and frameworks: activations with a bias, gates, sums with
 * a norm, a product with a bias.
 *
 *     BiasGelu       y = gelu(x + bias)                  bias: of the last dim
 *     BiasSplitGelu  y = (x + bias)[first half] * gelu((x + bias)[second half])
 *     SkipLayerNormalization   y = norm of (x + skip + bias) * scale + shift
 *     Linear         y[.. n] = x[.. k] * w[n k]' + bias
 *
 * Computed in double and rounded once, except the product. Normalized rows are never sharded.
 * Source: onnxruntime's published schemas of contributed operators.
 */
#include "core/run/kernels/derivative.h"
#include "core/space/gradient.h"

#include <math.h>

static bool unequal(Error *err)
{
    return error_kind(err, ERROR_RUN, "operand shapes do not match");
}

/* ---- activations ---- */

static double gelu(double x, double alpha)
{
    (void)alpha;
    return 0.5 * x * (1 + erf(x * sqrt(0.5)));
}

static double fast_gelu(double x, double alpha)
{
    (void)alpha;
    return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

static double quick_gelu(double x, double alpha)
{
    return x / (1 + exp(-alpha * x));
}

static double same(double x, double alpha)
{
    (void)alpha;
    return x;
}

typedef struct {
    double (*of)(double x, double alpha);
} FusedActivation;

static const FusedActivation of_gelu = {gelu}, of_fast = {fast_gelu}, of_quick = {quick_gelu},
                             of_same = {same};

/* f(x + bias) + skip; both may be absent. */
static bool biased(const KernelCall *call, Error *err)
{
    if (!kernel_numeric(call, 1, err))
        return false;
    const FusedActivation *f = call->kernel->row;
    const Shape *shape = &call->input[0]->shape;
    Local *out = call->output[0];
    const Local *bias = kernel_input(call, 1), *skip = kernel_input(call, 2);
    int64_t n = shape_elements(shape), last = shape->n_dims > 0 ? shape->dim[shape->n_dims - 1] : 1;
    double alpha = op_attr_float(kernel_graph(call), call->op, "alpha", 1.702);
    if (!shape_equal(shape, &out->shape) || (bias && shape_elements(&bias->shape) != last) ||
        (skip && !shape_equal(&skip->shape, shape)))
        return unequal(err);
    const double *x = kernel_doubles(call, 0), *b = kernel_doubles(call, 1);
    const double *more = kernel_doubles(call, 2);
    for (int64_t i = 0; i < n; i++) {
        double y = f->of(x[i] + (b ? b[i % last] : 0), alpha) + (more ? more[i] : 0);
        local_store(out, i, 1, NUMBER_F64, &y);
    }
    return true;
}

/* ---- gates: two halves of the last dim ---- */

static bool bias_split_gelu(const KernelCall *call, Error *err)
{
    if (!kernel_numeric(call, 2, err))
        return false;
    const Shape *shape = &call->output[0]->shape;
    int64_t n = shape_elements(shape), half = shape->dim[shape->n_dims - 1];
    if (shape_elements(&call->input[0]->shape) != 2 * n ||
        shape_elements(&call->input[1]->shape) != 2 * half)
        return unequal(err);
    const double *x = kernel_doubles(call, 0), *b = kernel_doubles(call, 1);
    Local *out = call->output[0];
    for (int64_t i = 0; i < n; i++) {
        int64_t at = i / half * 2 * half + i % half, k = i % half;
        double y = (x[at] + b[k]) * gelu(x[at + half] + b[half + k], 0);
        local_store(out, i, 1, NUMBER_F64, &y);
    }
    return true;
}

DERIVATIVE_FUNCTIONS(static inline)

/* Of x, or summed over rows that of the bias. */
static bool bias_split_gelu_gradient(const KernelCall *call, Error *err)
{
    KernelCall forward;
    if (!kernel_numeric(call, 3, err) || !forward_call(call, &forward, err))
        return false;
    const Shape *shape = &call->input[0]->shape;
    int64_t n = shape_elements(shape), half = shape->dim[shape->n_dims - 1];
    bool of_bias = program_space(call->inferred, call->op)->gradient->written[0] == 1;
    if (shape_elements(&forward.input[0]->shape) != 2 * n ||
        shape_elements(&forward.input[1]->shape) != 2 * half)
        return unequal(err);
    const double *d = kernel_doubles(call, 0), *x = kernel_doubles(call, 1);
    const double *b = kernel_doubles(call, 2);
    Local *made = call->output[0];
    double *to = arena_array(call->scratch, double, shape_elements(&made->shape));
    for (int64_t i = 0; i < n; i++) {
        int64_t k = i % half, at = i / half * 2 * half + k, place = of_bias ? k : at;
        double gate = x[at + half] + b[half + k];
        to[place] += d[i] * gelu(gate, 0);
        to[place + half] += d[i] * (x[at] + b[k]) * slope_of_gelu(gate);
    }
    local_store(made, 0, shape_elements(&made->shape), NUMBER_F64, to);
    return true;
}

/* x / (1 + exp(-x)) * y; without the input y, x and y are the halves of input 0. */
static bool swiglu(const KernelCall *call, Error *err)
{
    if (!kernel_numeric(call, 1, err))
        return false;
    const Shape *shape = &call->output[0]->shape;
    const Local *gate = kernel_input(call, 1);
    int64_t n = shape_elements(shape), half = shape->n_dims > 0 ? shape->dim[shape->n_dims - 1] : 1;
    if (shape_elements(&call->input[0]->shape) != (gate ? n : 2 * n) ||
        (gate && !shape_equal(&gate->shape, shape)))
        return unequal(err);
    const double *x = kernel_doubles(call, 0), *by = kernel_doubles(call, 1);
    Local *out = call->output[0];
    for (int64_t i = 0; i < n; i++) {
        int64_t at = gate ? i : i / half * 2 * half + i % half;
        double y = x[at] / (1 + exp(-x[at])) * (gate ? by[i] : x[at + half]);
        local_store(out, i, 1, NUMBER_F64, &y);
    }
    return true;
}

/* ---- sums with a norm ---- */

/* Indices of scale, shift and bias; -1: none. */
typedef struct {
    int scale, shift, bias;
} SkipForm;

static const SkipForm with_mean = {2, 3, 4}, without_mean = {2, -1, 3};

typedef struct {
    const KernelCall *call;
    int64_t n, n_rows; /* numbers of a row */
    const double *x, *skip, *scale, *shift, *bias;
    int64_t skip_stride[DIMS_MAX];
    bool centre;
    double epsilon;
} Skip;

static bool open_skip(const KernelCall *call, Skip *s, Error *err)
{
    const SkipForm *form = call->kernel->row;
    if (!kernel_numeric(call, 3, err))
        return false;
    const Local *x = call->input[0];
    *s = (Skip){.call = call, .centre = form == &with_mean};
    s->n = x->shape.n_dims > 0 ? x->shape.dim[x->shape.n_dims - 1] : 0;
    s->n_rows = s->n > 0 ? shape_elements(&x->shape) / s->n : 0;
    const int lines[3] = {form->scale, form->shift, form->bias};
    for (int i = 0; i < 3; i++) {
        const Local *line = lines[i] < 0 ? NULL : kernel_input(call, lines[i]);
        if (line && shape_elements(&line->shape) != s->n)
            return unequal(err);
    }
    for (int o = 0; o < call->n_outputs; o++)
        if (call->output[o] &&
            shape_elements(&call->output[o]->shape) != (o % 3 == 0 ? s->n : 1) * s->n_rows)
            return unequal(err);
    if (!kernel_broadcast(call->input[1], call->output[0], s->skip_stride, err))
        return false;
    s->epsilon = op_attr_float(kernel_graph(call), call->op, "epsilon", 1e-12);
    s->x = kernel_doubles(call, 0);
    s->skip = kernel_doubles(call, 1);
    s->scale = kernel_doubles(call, form->scale);
    s->shift = form->shift < 0 ? NULL : kernel_doubles(call, form->shift);
    s->bias = kernel_doubles(call, form->bias);
    return true;
}

static double skip_at(const Skip *s, int64_t i)
{
    const Shape *shape = &s->call->output[0]->shape;
    return s->skip[strided_place(shape, s->skip_stride, 0, shape->n_dims, i)];
}

static void store(const KernelCall *call, int output, int64_t at, int64_t n, const double *from)
{
    Local *out = kernel_output(call, output);
    if (out)
        local_store(out, at, n, NUMBER_F64, from);
}

static bool skip_norm(const KernelCall *call, Error *err)
{
    Skip s;
    if (!open_skip(call, &s, err))
        return false;
    double *row = arena_array(call->scratch, double, s.n);
    for (int64_t r = 0; r < s.n_rows; r++) {
        double mean = 0, squares = 0;
        for (int64_t i = 0; i < s.n; i++) {
            row[i] = s.x[r * s.n + i] + skip_at(&s, r * s.n + i) + (s.bias ? s.bias[i] : 0);
            mean += s.centre ? row[i] / (double)s.n : 0;
        }
        store(call, 3, r * s.n, s.n, row);
        for (int64_t i = 0; i < s.n; i++)
            squares += (row[i] - mean) * (row[i] - mean);
        double inverse = 1 / sqrt(squares / (double)s.n + s.epsilon);
        for (int64_t i = 0; i < s.n; i++)
            row[i] = (row[i] - mean) * inverse * s.scale[i] + (s.shift ? s.shift[i] : 0);
        store(call, 0, r * s.n, s.n, row);
        store(call, 1, r, 1, s.centre ? &mean : &inverse);
        store(call, 2, r, 1, &inverse);
    }
    return true;
}

/* ---- Linear ---- */

static bool linear(const KernelCall *call, Error *err)
{
    if (!kernel_numeric(call, 2, err))
        return false;
    const Local *x = call->input[0], *w = call->input[1], *bias = kernel_input(call, 2);
    Local *out = call->output[0];
    int64_t last = x->shape.n_dims - 1, n = shape_elements(&out->shape);
    if (op_attr_int(kernel_graph(call), call->op, "trans_x", 0) != 0)
        return error_kind(err, ERROR_RUN, "a transposed input is not supported");
    if (last < 0 || w->shape.n_dims != 2 || w->shape.dim[1] != x->shape.dim[last] ||
        x->dtype != w->dtype || x->dtype != out->dtype ||
        (bias && shape_elements(&bias->shape) != w->shape.dim[0]))
        return unequal(err);
    Product p = {.n = w->shape.dim[0], .k = w->shape.dim[1], .b_turned = true, .scale = 1};
    p.m = p.n > 0 ? n / p.n : 0;
    if (shape_elements(&x->shape) != p.m * p.k && n > 0)
        return unequal(err);
    kernel_multiply(call, &p, x->dtype, x->data, w->data, out->data);
    if (!bias || !call->first)
        return true;
    const double *b = kernel_doubles(call, 2);
    for (int64_t i = 0; i < n; i++) {
        double y;
        local_load(out, i, 1, 1, NUMBER_F64, &y);
        y += b[i % p.n];
        local_store(out, i, 1, NUMBER_F64, &y);
    }
    return true;
}

const Kernel kernels_fused[] = {
    {"com.microsoft::Gelu", biased, &of_gelu, 0, ROUNDING_OPERANDS},
    {"com.microsoft::FastGelu", biased, &of_fast, 0, ROUNDING_OPERANDS},
    {"com.microsoft::QuickGelu", biased, &of_quick, 0, ROUNDING_OPERANDS},
    {"com.microsoft::BiasAdd", biased, &of_same, 0, ROUNDING_OPERANDS},
    {"com.microsoft::BiasSplitGelu", bias_split_gelu, NULL, 0, ROUNDING_OPERANDS},
    {"BiasSplitGeluBackward", bias_split_gelu_gradient, NULL, 0, ROUNDING_SUM},
    {"com.microsoft::SkipLayerNormalization", skip_norm, &with_mean, 0, ROUNDING_SENSITIVE},
    {"com.microsoft::SkipSimplifiedLayerNormalization", skip_norm, &without_mean, 0,
     ROUNDING_SENSITIVE},
    {"Swiglu", swiglu, NULL, 0, ROUNDING_SENSITIVE},
    {"Linear", linear, NULL, 0, ROUNDING_SUM},
    {0},
};
