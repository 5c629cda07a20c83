/* elementwise.c - elementwise operators.
 *
 * A row is a name and an expression of x, y, z (broadcast inputs) and p, q (attributes), in type T
 * of the op's number class: that of its first input, for Where of its second. Comparisons give 0 or
 * 1. An absent input is p or q.
 */
#include "core/run/kernels/elementwise.h"

#include <assert.h>
#include <tgmath.h>

ELEMENT_FUNCTIONS(static inline)

#define ROW(name, p, p_default, q, q_default) {name, {p, q}, {p_default, q_default}},
static const struct {
    const char *op_type, *attr[2];
    double fallback[2];
} attributes[] = {ELEMENT_ATTRIBUTES(ROW)};
#undef ROW

/* n elements; params are p and q. All of one class. */
typedef void BlockFn(const void *const in[3], void *out, int64_t n, const void *params);

#define BLOCK_FN(id, suffix, Real, expression)                                                     \
    static void id##_##suffix(const void *const in[3], void *out, int64_t n, const void *params)   \
    {                                                                                              \
        typedef Real T;                                                                            \
        const T *xs = in[0], *ys = in[1], *zs = in[2];                                             \
        T *to = out;                                                                               \
        T p = ((const T *)params)[0], q = ((const T *)params)[1];                                  \
        (void)p, (void)q;                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                          \
            T x = xs[i], y = ys[i], z = zs[i];                                                     \
            (void)y, (void)z;                                                                      \
            to[i] = (T)(expression);                                                               \
        }                                                                                          \
    }

#define FF(id, rounding, name, n, expression)                                                      \
    BLOCK_FN(id, f32, float, expression)                                                           \
    BLOCK_FN(id, f64, double, expression)
#define II(id, name, n, expression) BLOCK_FN(id, i64, int64_t, expression)
#define BB(id, rounding, name, n, of_floats, of_ints)                                              \
    FF(id, rounding, name, n, of_floats) II(id, name, n, of_ints)
ELEMENT_ROWS(FF, II, BB)
#undef FF
#undef II
#undef BB

typedef struct {
    int n_inputs; /* 0: variadic */
    BlockFn *block[NUMBER_KINDS];
} ElementRow;

#define FF(id, rounding, name, n, expression)                                                      \
    static const ElementRow row_##id = {n, {id##_f32, id##_f64, NULL}};
#define II(id, name, n, expression) static const ElementRow row_##id = {n, {NULL, NULL, id##_i64}};
#define BB(id, rounding, name, n, of_floats, of_ints)                                              \
    static const ElementRow row_##id = {n, {id##_f32, id##_f64, id##_i64}};
ELEMENT_ROWS(FF, II, BB)
#undef FF
#undef II
#undef BB

#define U(id, expression) BLOCK_FN(id, u64, uint64_t, expression)
UNSIGNED_ROWS(U)
#undef U

static BlockFn *block_of(const ElementRow *row, Number number, Dtype dtype)
{
    static const struct {
        const ElementRow *row;
        BlockFn *block;
    } unsigned_blocks[] = {
#define U(id, expression) {&row_##id, id##_u64},
        UNSIGNED_ROWS(U)
#undef U
    };
    BlockFn *block = row->block[number];
    for (size_t i = 0; i < sizeof unsigned_blocks / sizeof *unsigned_blocks; i++)
        if (unsigned_blocks[i].row == row && number == NUMBER_I64 && dtype == DT_U64)
            block = unsigned_blocks[i].block;
    return block;
}

/* The dims of an op without size 1, joined where all inputs have regular strides. */
typedef struct {
    int n_dims;
    int64_t size[DIMS_MAX], stride[DIMS_MAX][3];
    int64_t n; /* elements */
} BroadcastDims;

static bool broadcast_dims(const Local *const in[3], const Local *out, BroadcastDims *dims,
                           Error *err)
{
    int64_t stride[3][DIMS_MAX] = {{0}};
    for (int k = 0; k < 3; k++)
        if (in[k] && !kernel_broadcast(in[k], out, stride[k], err))
            return false;

    *dims = (BroadcastDims){.n = shape_elements(&out->shape)};
    for (int64_t d = 0; d < out->shape.n_dims; d++) {
        int64_t size = out->shape.dim[d];
        int last = dims->n_dims - 1;
        bool joins = last >= 0;
        for (int k = 0; k < 3; k++)
            joins = joins && dims->stride[last][k] == stride[k][d] * size;
        if (size == 1)
            continue;
        if (joins)
            dims->size[last] *= size;
        else
            dims->size[++last] = size;
        dims->n_dims = last + 1;
        for (int k = 0; k < 3; k++)
            dims->stride[last][k] = stride[k][d];
    }
    if (dims->n_dims == 0)
        dims->size[dims->n_dims++] = 1;
    return true;
}

/* Input of a block function: elements in place, or converted. */
static const void *input_block(const Local *in, int64_t at, int64_t step, int64_t n, Number number,
                               NumberBlock *room)
{
    if (step == 1 && dtype_is_number(in->dtype) && dtype_number(in->dtype) == number)
        return local_at(in, at);
    local_load(in, at, step, n, number, room);
    return room;
}

static void compute_block(BlockFn *fn, Number number, const void *const in[3], Local *out,
                          int64_t at, int64_t n, const void *params)
{
    if (dtype_is_number(out->dtype) && dtype_number(out->dtype) == number) {
        fn(in, local_at(out, at), n, params);
        return;
    }
    NumberBlock result;
    fn(in, &result, n, params);
    local_store(out, at, n, number, &result);
}

/* p and q as numbers of the class, at the ends of the type where they are beyond it. */
static void load_params(const double params[2], Number number, Dtype dtype, NumberBlock *out)
{
    elements_load(DT_F64, params, 1, 2, number, out);
    if (number == NUMBER_I64 && dtype == DT_U64)
        for (int k = 0; k < 2; k++)
            if (params[k] < 0 || isinf(params[k]))
                out->i64[k] = params[k] < 0 ? 0 : -1;
}

/* out = fn(in..); an absent input k is params[k - 1], of which there are two. */
static void compute(BlockFn *fn, Number number, const Local *const in[3], const BroadcastDims *dims,
                    Local *out, const double params[2])
{
    NumberBlock room[3], converted;
    assert(in[0]);
    load_params(params, number, in[0]->dtype, &converted);
    Dtype held = number == NUMBER_F32 ? DT_F32 : number == NUMBER_F64 ? DT_F64 : DT_I64;
    for (int k = 1; k < 3; k++)
        if (!in[k])
            elements_copy(held, &room[k], (char *)&converted + (k - 1) * number_bytes(number), 0,
                          ELEMENT_BLOCK);

    int last = dims->n_dims - 1;
    int64_t at[DIMS_MAX] = {0}, place[3] = {0};
    for (int64_t done = 0; done < dims->n;) {
        for (int64_t i = 0; i < dims->size[last]; i += ELEMENT_BLOCK) {
            int64_t n = dims->size[last] - i < ELEMENT_BLOCK ? dims->size[last] - i : ELEMENT_BLOCK;
            const void *block[3] = {&room[0], &room[1], &room[2]};
            for (int k = 0; k < 3; k++)
                if (in[k])
                    block[k] = input_block(in[k], place[k] + i * dims->stride[last][k],
                                           dims->stride[last][k], n, number, &room[k]);
            compute_block(fn, number, block, out, done, n, &converted);
            done += n;
        }
        for (int d = last - 1; d >= 0; d--) {
            bool wraps = ++at[d] == dims->size[d];
            for (int k = 0; k < 3; k++)
                place[k] += dims->stride[d][k] * (wraps ? 1 - dims->size[d] : 1);
            if (!wraps)
                break;
            at[d] = 0;
        }
    }
}

static double param_of(const KernelCall *call, const char *name, double fallback)
{
    const Attr *attr = name ? op_attr(kernel_graph(call), call->op, name) : NULL;
    if (!attr)
        return fallback;
    if (attr->type == ATTR_STRING)
        return !str_eq(attr->s, STR("none")) && !str_eq(attr->s, STR("LEFT"));
    return attr->type == ATTR_INT ? (double)attr->i : attr->type == ATTR_FLOAT ? attr->f : fallback;
}

void element_params(const KernelCall *call, double params[2])
{
    element_params_of(call, call->kernel->name, params);
}

void element_params_of(const KernelCall *call, const char *op_type, double params[2])
{
    params[0] = params[1] = 0;
    for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (strcmp(attributes[i].op_type, op_type) == 0)
            for (int k = 0; k < 2; k++)
                params[k] = param_of(call, attributes[i].attr[k], attributes[i].fallback[k]);
}

Number element_class(const KernelCall *call)
{
    int like = call->kernel->row == &row_WHERE;
    Number number = dtype_number(call->input[like]->dtype);
    for (int i = 0; i < call->n_inputs; i++)
        if (call->input[i] && number == NUMBER_I64 && dtype_is_float(call->input[i]->dtype))
            return NUMBER_F64;
    return number;
}

static bool apply(const KernelCall *call, Number number, const Local *const in[3], Error *err)
{
    const ElementRow *row = call->kernel->row;
    double params[2];
    BroadcastDims dims;
    if (!broadcast_dims(in, call->output[0], &dims, err))
        return false;
    element_params(call, params);
    compute(block_of(row, number, call->input[0]->dtype), number, in, &dims, call->output[0],
            params);
    return true;
}

/* One input after the other is folded into the output. */
static bool apply_many(const KernelCall *call, Number number, Error *err)
{
    Local *out = call->output[0];
    assert(call->input[0]);
    if (call->n_inputs == 1) {
        int64_t n = shape_elements(&out->shape);
        if (shape_elements(&call->input[0]->shape) != n)
            return error_kind(err, ERROR_RUN, "input and output differ in shape");
        elements_copy(out->dtype, out->data, call->input[0]->data, 1, n);
        return true;
    }
    for (int i = 1; i < call->n_inputs; i++) {
        const Local *in[3] = {i == 1 ? call->input[0] : out, call->input[i]};
        if (!apply(call, number, in, err))
            return false;
    }
    return call->kernel->row != &row_MEAN || kernel_scale(out, 1.0 / call->n_inputs, err);
}

static bool elementwise(const KernelCall *call, Error *err)
{
    const ElementRow *row = call->kernel->row;
    int n_needed = row->n_inputs == 0 ? call->n_inputs : row == &row_CLIP ? 1 : row->n_inputs;
    if (!kernel_needs(call, n_needed > 0 ? n_needed : 1, err) ||
        !kernel_computes(call->output[0], err))
        return false;
    for (int i = 0; i < call->n_inputs; i++)
        if (call->input[i] && !kernel_computes(call->input[i], err))
            return false;
    assert(call->input[0]);
    Number number = element_class(call);
    if (!row->block[number])
        return error_kind(err, ERROR_RUN, "no kernel of %s for elements of type %s",
                          call->kernel->name, dtype_name(call->input[0]->dtype));
    if (row->n_inputs == 0)
        return apply_many(call, number, err);
    const Local *in[3] = {NULL};
    for (int k = 0; k < row->n_inputs && k < call->n_inputs; k++)
        in[k] = call->input[k];
    return apply(call, number, in, err);
}

const Kernel kernels_elementwise[] = {
#define FF(id, rounding, name, n, expression)                                                      \
    {name, elementwise, &row_##id, 0, ROUNDING_##rounding},
#define II(id, name, n, expression) {name, elementwise, &row_##id, 0, ROUNDING_EXACT},
#define BB(id, rounding, name, n, of_floats, of_ints)                                              \
    {name, elementwise, &row_##id, 0, ROUNDING_##rounding},
    ELEMENT_ROWS(FF, II, BB)
#undef FF
#undef II
#undef BB
        {0}};

bool kernel_combine(ReduceOp reduce, Dtype dtype, void *to, const void *from, int64_t step,
                    int64_t n)
{
    static const ElementRow *const rows[] = {
        [REDUCE_SUM] = &row_ADD, [REDUCE_AVG] = &row_ADD,  [REDUCE_MAX] = &row_MAX,
        [REDUCE_MIN] = &row_MIN, [REDUCE_PROD] = &row_MUL, [REDUCE_ANY] = &row_MAX,
        [REDUCE_ALL] = &row_MIN,
    };
    if (!dtype_is_computed(dtype))
        return false;
    Number number = dtype_number(dtype);
    BlockFn *fn = block_of(rows[reduce], number, dtype);
    int64_t n_bytes = element_bytes(dtype), none[2] = {0};
    for (int64_t i = 0; i < n; i += ELEMENT_BLOCK) {
        int64_t n_block = n - i < ELEMENT_BLOCK ? n - i : ELEMENT_BLOCK;
        NumberBlock x, y;
        char *at = (char *)to + i * n_bytes;
        elements_load(dtype, at, 1, n_block, number, &x);
        elements_load(dtype, (const char *)from + i * step * n_bytes, step, n_block, number, &y);
        const void *in[3] = {&x, &y, &y};
        fn(in, &x, n_block, none);
        elements_store(dtype, at, n_block, number, &x);
    }
    return true;
}

bool kernel_scale(Local *local, double factor, Error *err)
{
    if (!kernel_computes(local, err))
        return false;
    int64_t n = shape_elements(&local->shape);
    for (int64_t i = 0; i < n; i += ELEMENT_BLOCK) {
        double x[ELEMENT_BLOCK];
        int64_t n_block = n - i < ELEMENT_BLOCK ? n - i : ELEMENT_BLOCK;
        local_load(local, i, 1, n_block, NUMBER_F64, x);
        for (int64_t k = 0; k < n_block; k++)
            x[k] *= factor;
        local_store(local, i, n_block, NUMBER_F64, x);
    }
    return true;
}
