/* Operators that compute: integers wrap as their dtype does, f32 results are rounded to f32. */
#include "core/rules/host_ops.h"

#include "core/rules/args.h"

#include <math.h>

/* ---- on integers ---- */

static bool int_add(int64_t a, int64_t b, int64_t *out)
{
    *out = (int64_t)((uint64_t)a + (uint64_t)b);
    return true;
}

static bool int_sub(int64_t a, int64_t b, int64_t *out)
{
    *out = (int64_t)((uint64_t)a - (uint64_t)b);
    return true;
}

static bool int_mul(int64_t a, int64_t b, int64_t *out)
{
    *out = (int64_t)((uint64_t)a * (uint64_t)b);
    return true;
}

/* Rounds towards zero. Division by -1 wraps at the least number instead of trapping. */
static bool int_div(int64_t a, int64_t b, int64_t *out)
{
    if (b == 0)
        return false;
    *out = b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
    return true;
}

/* Has the sign of the divisor, as in Python. */
static bool int_mod_floor(int64_t a, int64_t b, int64_t *out)
{
    if (b == 0)
        return false;
    *out = b == -1 ? 0 : a % b;
    if (*out != 0 && (*out < 0) != (b < 0))
        *out += b;
    return true;
}

/* Has the sign of the dividend, as in C. */
static bool int_mod_trunc(int64_t a, int64_t b, int64_t *out)
{
    if (b == 0)
        return false;
    *out = b == -1 ? 0 : a % b;
    return true;
}

static bool int_pow(int64_t a, int64_t b, int64_t *out)
{
    uint64_t power = 1, base = (uint64_t)a;
    if (b < 0) {
        *out = a == 1 ? 1 : a == -1 ? (b % 2 != 0 ? -1 : 1) : 0;
        return a != 0;
    }
    for (; b > 0; b /= 2, base *= base)
        if (b % 2 != 0)
            power *= base;
    *out = (int64_t)power;
    return true;
}

#define INT_FN(name, expression)                                                                   \
    static bool int_##name(int64_t a, int64_t b, int64_t *out)                                     \
    {                                                                                              \
        (void)b;                                                                                   \
        *out = (expression);                                                                       \
        return true;                                                                               \
    }
INT_FN(max, a > b ? a : b)
INT_FN(min, a < b ? a : b)
INT_FN(neg, (int64_t)(0 - (uint64_t)a))
INT_FN(abs, a < 0 ? (int64_t)(0 - (uint64_t)a) : a)
INT_FN(sign, (a > 0) - (a < 0))
INT_FN(not, a == 0)
INT_FN(and, a != 0 && b != 0)
INT_FN(or, a != 0 || b != 0)
INT_FN(xor, (a != 0) != (b != 0))
INT_FN(equal, a == b)
INT_FN(less, a < b)
INT_FN(less_equal, a <= b)
INT_FN(greater, a > b)
INT_FN(greater_equal, a >= b)

/* ---- on floats ---- */

#define REAL_FN(name, expression)                                                                  \
    static double real_##name(double a, double b)                                                  \
    {                                                                                              \
        (void)b;                                                                                   \
        return (expression);                                                                       \
    }
REAL_FN(add, a + b)
REAL_FN(sub, a - b)
REAL_FN(mul, a *b)
REAL_FN(div, a / b)
REAL_FN(pow, pow(a, b))
REAL_FN(max, isnan(a) || a > b ? a : b)
REAL_FN(min, isnan(a) || a < b ? a : b)
REAL_FN(neg, -a)
REAL_FN(abs, fabs(a))
REAL_FN(sign, (a > 0) - (a < 0))
REAL_FN(floor, floor(a))
REAL_FN(ceil, ceil(a))
REAL_FN(round, nearbyint(a))
REAL_FN(sqrt, sqrt(a))
REAL_FN(reciprocal, 1 / a)
REAL_FN(exp, exp(a))
REAL_FN(log, log(a))
REAL_FN(equal, a >= b && a <= b)
REAL_FN(less, a < b)
REAL_FN(less_equal, a <= b)
REAL_FN(greater, a > b)
REAL_FN(greater_equal, a >= b)

/* ---- element by element ---- */

/* The strides of a broadcast operand along the dims of the result. */
static void broadcast_strides(const Shape *operand, const Shape *out, int64_t *stride)
{
    int64_t own[DIMS_MAX], skip = out->n_dims - operand->n_dims;
    row_major_strides(operand, own);
    for (int64_t d = 0; d < out->n_dims; d++)
        stride[d] = d < skip || operand->dim[d - skip] == 1 ? 0 : own[d - skip];
}

static int64_t place(const int64_t *stride, const int64_t *x, int64_t n_dims)
{
    int64_t at = 0;
    for (int64_t d = 0; d < n_dims; d++)
        at += x[d] * stride[d];
    return at;
}

typedef struct {
    int64_t n_dims, a[DIMS_MAX], b[DIMS_MAX];
} Strides;

static bool combine_ints(const Value *a, const Value *b, const Strides *by, Value *made,
                         int64_t *cells, IntFn *fn, Error *err)
{
    int64_t n = shape_elements(&made->shape), x[DIMS_MAX] = {0};
    for (int64_t i = 0; i < n; i++) {
        if (!fn(a->ints[place(by->a, x, by->n_dims)], b->ints[place(by->b, x, by->n_dims)],
                &cells[i]))
            return error_set(err, "it divides by zero");
        cells[i] = host_wrap(made->dtype, cells[i]);
        shape_next(&made->shape, x);
    }
    host_set_cells(made, made->dtype, cells);
    return true;
}

static bool combine_reals(const Value *a, const Value *b, const Strides *by, Value *made,
                          int64_t *cells, RealFn *fn)
{
    int64_t n = shape_elements(&made->shape), x[DIMS_MAX] = {0};
    for (int64_t i = 0; i < n; i++) {
        double real =
            fn(a->floats[place(by->a, x, by->n_dims)], b->floats[place(by->b, x, by->n_dims)]);
        real = host_round(made->dtype, real);
        if (made->dtype == DT_BOOL)
            cells[i] = real != 0;
        else
            memcpy(&cells[i], &real, sizeof real);
        shape_next(&made->shape, x);
    }
    host_set_cells(made, made->dtype, cells);
    return true;
}

static bool uniform(const Value *value)
{
    for (int d = 0; d < DIMS_MAX; d++)
        if (value->coef[d] != 0)
            return false;
    return true;
}

/* to += sign * times * from's row, aligned to the right of n_dims. */
static bool add_row(Affine *to, int64_t n_dims, const Value *from, int64_t times)
{
    int64_t skip = n_dims - from->shape.n_dims, product;
    if (__builtin_mul_overflow(from->offset, times, &product) ||
        __builtin_add_overflow(to->offset, product, &to->offset))
        return false;
    for (int64_t d = 0; d < from->shape.n_dims; d++)
        if (__builtin_mul_overflow(from->coef[d], times, &product) ||
            __builtin_add_overflow(to->coef[d + skip], product, &to->coef[d + skip]))
            return false;
    return true;
}

/* Adds rows, and multiplies rows by a constant. */
static bool combine_rows(IntFn *fn, const Value *a, const Value *b, Value *made)
{
    int64_t n_dims = made->shape.n_dims;
    if (!a->affine || !b->affine)
        return false;
    if (fn == int_add || fn == int_sub)
        return add_row(&made->row, n_dims, a, 1) &&
               add_row(&made->row, n_dims, b, fn == int_add ? 1 : -1);
    if (fn == int_neg)
        return add_row(&made->row, n_dims, a, -1);
    if (fn == int_mul && uniform(b))
        return add_row(&made->row, n_dims, a, b->offset);
    return fn == int_mul && uniform(a) && add_row(&made->row, n_dims, b, a->offset);
}

/* made = fn(a, b); its shape and dtype are set. Returns false without an error if it cannot be
 * evaluated. */
static bool combine(HostCall *host, const Value *a, const Value *b, IntFn *ints, RealFn *reals,
                    Value *made, Error *err)
{
    if (!host_fits(host, &made->shape) || !host_is_held(a) || !host_is_held(b)) {
        made->affine = ints && dtype_is_int(made->dtype) && combine_rows(ints, a, b, made);
        return true;
    }
    Strides by = {.n_dims = made->shape.n_dims};
    int64_t *cells = arena_array(host->arena, int64_t, shape_elements(&made->shape));
    broadcast_strides(&a->shape, &made->shape, by.a);
    broadcast_strides(&b->shape, &made->shape, by.b);
    if (a->ints && b->ints)
        return ints && combine_ints(a, b, &by, made, cells, ints, err);
    return a->floats && b->floats && reals && combine_reals(a, b, &by, made, cells, reals);
}

static bool keep(HostCall *host)
{
    host->out[0] = host->call->value[0];
    return true;
}

/* Folds the operands from the left; a single operand is combined with itself, by a function that
 * reads one argument. */
static bool fold_operands(HostCall *host, IntFn *ints, RealFn *reals, Error *err)
{
    const RuleCall *call = host->call;
    const Value *left = call->value[0];
    if (call->n_inputs == 1 && host->row->inputs_max > 1)
        return keep(host);
    for (int i = call->n_inputs > 1; i < call->n_inputs; i++) {
        const Value *right = call->value[i];
        const Shape *both[2] = {&left->shape, &right->shape};
        Value made = {.dtype = host->row->host->truth ? DT_BOOL : call->value[0]->dtype};
        if (!host_computes(left->dtype) || !host_computes(right->dtype))
            return false;
        if (!args_broadcast(both, 2, &made.shape, err) || !shape_check(&made.shape, err) ||
            !combine(host, left, right, ints, reals, &made, err))
            return false;
        left = values_put(host->values, &made);
    }
    host->out[0] = left;
    return true;
}

static bool elementwise(HostCall *host, Error *err)
{
    return fold_operands(host, host->row->host->ints, host->row->host->reals, err);
}

static bool mod(HostCall *host, Error *err)
{
    bool trunc = args_int(host->call, "fmod", 0) != 0;
    return fold_operands(host, trunc ? int_mod_trunc : int_mod_floor, trunc ? fmod : NULL, err);
}

/* ---- the rest ---- */

static bool where(HostCall *host, Error *err)
{
    const Value *const *in = host->call->value;
    Value made = {.dtype = in[1]->dtype};
    if (!args_broadcast(host->call->shape, 3, &made.shape, err) || !shape_check(&made.shape, err))
        return false;
    bool held = host_fits(host, &made.shape) && in[0]->ints && host_is_held(in[1]) &&
                host_is_held(in[2]) && !in[1]->ints == !in[2]->ints;
    if (!held)
        return host_put(host, 0, &made, err);

    int64_t n = shape_elements(&made.shape), stride[3][DIMS_MAX], x[DIMS_MAX] = {0};
    char *cells = arena_alloc(host->arena, (size_t)n * 8);
    for (int i = 0; i < 3; i++)
        broadcast_strides(&in[i]->shape, &made.shape, stride[i]);
    for (int64_t i = 0; i < n; i++) {
        int chosen = in[0]->ints[place(stride[0], x, made.shape.n_dims)] ? 1 : 2;
        int64_t at = place(stride[chosen], x, made.shape.n_dims);
        memcpy(cells + 8 * i, (const char *)host_cells(in[chosen]) + 8 * at, 8);
        shape_next(&made.shape, x);
    }
    host_set_cells(&made, made.dtype, cells);
    return host_put(host, 0, &made, err);
}

/* Rounds towards zero; clamped to int64_t, and 0 for NaN. */
static int64_t int_from(double real)
{
    if (isnan(real))
        return 0;
    if (real >= 0x1p63)
        return INT64_MAX;
    return real < -0x1p63 ? INT64_MIN : (int64_t)real;
}

static void cast_cells(const Value *in, Dtype to, int64_t n, int64_t *cells)
{
    for (int64_t i = 0; i < n; i++) {
        double real = in->floats ? in->floats[i] : (double)in->ints[i];
        if (dtype_is_float(to)) {
            real = host_round(to, real);
            memcpy(&cells[i], &real, sizeof real);
        } else if (to == DT_BOOL) {
            cells[i] = in->floats ? real < 0 || real > 0 || isnan(real) : in->ints[i] != 0;
        } else {
            cells[i] = host_wrap(to, in->floats ? int_from(real) : in->ints[i]);
        }
    }
}

static bool cast(HostCall *host, Error *err)
{
    const Value *in = host->call->value[0];
    Value made = {.shape = in->shape};
    if (!args_dtype(host->call, "to", DT_NONE, &made.dtype, err))
        return false;
    if (made.dtype == in->dtype)
        return keep(host);
    if (!host_computes(in->dtype) || !host_computes(made.dtype))
        return false;
    if (host_is_held(in) && host_fits(host, &in->shape)) {
        int64_t n = shape_elements(&in->shape), *cells = arena_array(host->arena, int64_t, n);
        cast_cells(in, made.dtype, n, cells);
        host_set_cells(&made, made.dtype, cells);
    } else if (dtype_is_int(made.dtype) && dtype_is_int(in->dtype)) {
        made.affine = in->affine; /* values_put() drops a row that leaves the dtype */
        made.row = in->row;
        made.n_components = in->n_components;
        made.component = in->component;
    }
    return host_put(host, 0, &made, err);
}

static void reduce_cell(const HostCall *host, const Value *in, int64_t i, bool first, int64_t *cell)
{
    double sum, next;
    if (first) {
        memcpy(cell, (const char *)host_cells(in) + 8 * i, 8);
    } else if (in->ints) {
        host->row->host->ints(*cell, in->ints[i], cell);
        *cell = host_wrap(in->dtype, *cell);
    } else {
        memcpy(&sum, cell, 8);
        next = host_round(in->dtype, host->row->host->reals(sum, in->floats[i]));
        memcpy(cell, &next, 8);
    }
}

/* Reductions of held elements, which models use to count elements or to find the largest size. */
static bool reduce(HostCall *host, Error *err)
{
    const Value *in = host->call->value[0];
    Value made = {.dtype = in->dtype};
    bool reduced[DIMS_MAX];
    if (!args_reduce(host->call, reduced, &made.shape, err))
        return false;
    if (!host_is_held(in) || !host_computes(in->dtype) || shape_elements(&in->shape) == 0)
        return false;

    int64_t n = shape_elements(&made.shape), stride[DIMS_MAX] = {0}, size = 1;
    for (int64_t d = in->shape.n_dims - 1; d >= 0; d--) {
        stride[d] = reduced[d] ? 0 : size;
        size *= reduced[d] ? 1 : in->shape.dim[d];
    }
    int64_t *cells = arena_array(host->arena, int64_t, n);
    bool *begun = arena_array(host->arena, bool, n);
    for (int64_t i = 0; i < shape_elements(&in->shape); i++) {
        int64_t at = 0, rest = i;
        for (int64_t d = in->shape.n_dims - 1; d >= 0; rest /= in->shape.dim[d--])
            at += rest % in->shape.dim[d] * stride[d];
        reduce_cell(host, in, i, !begun[at], &cells[at]);
        begun[at] = true;
    }
    host_set_cells(&made, made.dtype, cells);
    return host_put(host, 0, &made, err);
}

/* ---- what rows of operators name ---- */

const HostOp host_op_cast = {.fn = cast};
const HostOp host_op_where = {.fn = where};
const HostOp host_op_mod = {.fn = mod};
const HostOp host_op_add = {.fn = elementwise, .ints = int_add, .reals = real_add};
const HostOp host_op_sub = {.fn = elementwise, .ints = int_sub, .reals = real_sub};
const HostOp host_op_mul = {.fn = elementwise, .ints = int_mul, .reals = real_mul};
const HostOp host_op_div = {.fn = elementwise, .ints = int_div, .reals = real_div};
const HostOp host_op_pow = {.fn = elementwise, .ints = int_pow, .reals = real_pow};
const HostOp host_op_and = {.fn = elementwise, .ints = int_and};
const HostOp host_op_or = {.fn = elementwise, .ints = int_or};
const HostOp host_op_xor = {.fn = elementwise, .ints = int_xor};
const HostOp host_op_equal = {
    .fn = elementwise, .truth = true, .ints = int_equal, .reals = real_equal};
const HostOp host_op_less = {
    .fn = elementwise, .truth = true, .ints = int_less, .reals = real_less};
const HostOp host_op_less_equal = {
    .fn = elementwise, .truth = true, .ints = int_less_equal, .reals = real_less_equal};
const HostOp host_op_greater = {
    .fn = elementwise, .truth = true, .ints = int_greater, .reals = real_greater};
const HostOp host_op_greater_equal = {
    .fn = elementwise, .truth = true, .ints = int_greater_equal, .reals = real_greater_equal};
const HostOp host_op_max = {.fn = elementwise, .ints = int_max, .reals = real_max};
const HostOp host_op_min = {.fn = elementwise, .ints = int_min, .reals = real_min};
const HostOp host_op_abs = {.fn = elementwise, .ints = int_abs, .reals = real_abs};
const HostOp host_op_neg = {.fn = elementwise, .ints = int_neg, .reals = real_neg};
const HostOp host_op_sign = {.fn = elementwise, .ints = int_sign, .reals = real_sign};
const HostOp host_op_not = {.fn = elementwise, .ints = int_not};
const HostOp host_op_floor = {.fn = elementwise, .reals = real_floor};
const HostOp host_op_ceil = {.fn = elementwise, .reals = real_ceil};
const HostOp host_op_round = {.fn = elementwise, .reals = real_round};
const HostOp host_op_sqrt = {.fn = elementwise, .reals = real_sqrt};
const HostOp host_op_reciprocal = {.fn = elementwise, .reals = real_reciprocal};
const HostOp host_op_exp = {.fn = elementwise, .reals = real_exp};
const HostOp host_op_log = {.fn = elementwise, .reals = real_log};
const HostOp host_op_reduce_sum = {.fn = reduce, .ints = int_add, .reals = real_add};
const HostOp host_op_reduce_prod = {.fn = reduce, .ints = int_mul, .reals = real_mul};
const HostOp host_op_reduce_max = {.fn = reduce, .ints = int_max, .reals = real_max};
const HostOp host_op_reduce_min = {.fn = reduce, .ints = int_min, .reals = real_min};
