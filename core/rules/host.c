#include "core/rules/host_ops.h"

#include "core/rules/args.h"

#include <inttypes.h>
#include <math.h>

/* ---- results ---- */

bool host_put(HostCall *host, int output, const Value *value, Error *err)
{
    if (!shape_check(&value->shape, err))
        return false;
    host->out[output] = values_put(host->values, value);
    return true;
}

bool host_is_held(const Value *value)
{
    return value->ints || value->floats;
}

bool host_fits(const HostCall *host, const Shape *shape)
{
    return shape_check(shape, NULL) && shape_elements(shape) <= values_limit(host->values);
}

const void *host_cells(const Value *value)
{
    return value->ints ? (const void *)value->ints : (const void *)value->floats;
}

void host_set_cells(Value *value, Dtype dtype, void *cells)
{
    value->dtype = dtype;
    if (dtype_is_float(dtype))
        value->floats = cells;
    else
        value->ints = cells;
}

int64_t host_wrap(Dtype dtype, int64_t value)
{
    int bits = dtype_bits(dtype);
    if (dtype == DT_BOOL)
        return value != 0;
    if (bits >= 64)
        return value;
    uint64_t low = (uint64_t)value & (((uint64_t)1 << bits) - 1);
    bool is_signed =
        dtype == DT_I2 || dtype == DT_I4 || dtype == DT_I8 || dtype == DT_I16 || dtype == DT_I32;
    if (is_signed && low >> (bits - 1))
        return (int64_t)low - ((int64_t)1 << bits);
    return (int64_t)low;
}

double host_round(Dtype dtype, double value)
{
    return dtype == DT_F32 ? (double)(float)value : value;
}

bool host_computes(Dtype dtype)
{
    return (dtype_is_int(dtype) && dtype != DT_U64) || dtype == DT_BOOL || dtype == DT_F32 ||
           dtype == DT_F64;
}

void shape_next(const Shape *shape, int64_t *x)
{
    for (int64_t d = shape->n_dims - 1; d >= 0; d--) {
        if (++x[d] < shape->dim[d])
            return;
        x[d] = 0;
    }
}

/* ---- constants ---- */

/* One element in the form it has in memory. */
static int64_t int_of(Dtype dtype, const void *at)
{
    union {
        int8_t i8;
        uint8_t u8;
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
    } cell = {0};
    memcpy(&cell, at, (size_t)dtype_bytes(dtype, 1));
    switch (dtype_bits(dtype)) {
    case 64:
        return cell.i64;
    case 32:
        return dtype == DT_I32 ? cell.i32 : (int64_t)cell.u32;
    case 16:
        return dtype == DT_I16 ? cell.i16 : cell.u16;
    default:
        return dtype == DT_I8 || dtype == DT_I4 || dtype == DT_I2 ? cell.i8 : cell.u8;
    }
}

static double half_of(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double sign = bits >> 15 ? -1 : 1;
    if (exponent == 31)
        return fraction ? NAN : sign * INFINITY;
    return sign * (exponent == 0 ? ldexp(fraction, -24) : ldexp(fraction + 1024, exponent - 25));
}

static bool float_of(Dtype dtype, const void *at, double *out)
{
    float f32;
    uint16_t half;
    uint32_t word;
    if (dtype == DT_F64) {
        memcpy(out, at, sizeof *out);
    } else if (dtype == DT_F32) {
        memcpy(&f32, at, sizeof f32);
        *out = f32;
    } else if (dtype == DT_F16 || dtype == DT_BF16) {
        memcpy(&half, at, sizeof half);
        word = (uint32_t)half << 16;
        memcpy(&f32, &word, sizeof f32);
        *out = dtype == DT_F16 ? half_of(half) : f32;
    } else {
        return false;
    }
    return true;
}

static void ints_of(Dtype dtype, const char *bytes, int64_t n, int64_t *out)
{
    int64_t size = dtype_bytes(dtype, 1);
    for (int64_t i = 0; i < n; i++)
        out[i] = host_wrap(dtype, int_of(dtype, bytes + i * size));
}

bool host_number(Dtype dtype, const char *bytes, int64_t i, double *out)
{
    const char *at = bytes + i * dtype_bytes(dtype, 1);
    if (dtype_is_float(dtype))
        return float_of(dtype, at, out);
    *out = (double)int_of(dtype, at);
    return true;
}

const Value *host_constant(Values *values, const TensorData *data, Dtype dtype, const Shape *shape)
{
    bool integer = (dtype_is_int(dtype) && dtype != DT_U64) || dtype == DT_BOOL;
    if (!integer && (shape->n_dims > 0 || !dtype_is_float(dtype))) /* a weight */
        return NULL;
    if (!shape_check(shape, NULL) || data->form == DATA_ABSENT || data->form == DATA_STRINGS)
        return NULL;

    Arena *arena = values_arena(values);
    Value value = {.dtype = dtype, .shape = *shape};
    int64_t n = shape_elements(shape);
    if (n > values_limit(values))
        return values_put(values, &value);
    char *bytes = arena_alloc(arena, (size_t)(n * 8));
    if (!data_read(data, dtype, n, bytes, NULL))
        return NULL;
    if (integer) {
        int64_t *ints = arena_array(arena, int64_t, n);
        ints_of(dtype, bytes, n, ints);
        value.ints = ints;
    } else {
        double *real = arena_make(arena, double);
        if (!float_of(dtype, bytes, real))
            return NULL;
        value.floats = real;
    }
    return values_put(values, &value);
}

enum { LIST_MAX = 2 * DIMS_MAX };

static const Value *float_list(Values *values, Dtype dtype, const char *bytes, int64_t n)
{
    double *list = arena_array(values_arena(values), double, n);
    for (int64_t i = 0; i < n; i++)
        if (!float_of(dtype, bytes + i * dtype_bytes(dtype, 1), &list[i]))
            return NULL;
    Value value = {.dtype = dtype, .floats = list, .shape = {.n_dims = 1, .dim = {n}}};
    return values_put(values, &value);
}

const Value *host_list(Values *values, const Graph *graph, int32_t tensor)
{
    const GraphTensor *at = &graph->tensors[tensor];
    const TensorData *data = at->data < 0 ? NULL : &graph->data[at->data];
    const Attr *floats = at->maker < 0 ? NULL : op_attr(graph, at->maker, "value_floats");
    const Attr *attr = at->maker < 0 ? NULL : op_attr(graph, at->maker, "value");
    Dtype dtype = (Dtype)at->dtype;
    int64_t n = at->n_declared == 1 ? graph->declared[at->declared].size : -1;
    char bytes[LIST_MAX * sizeof(double)];
    if (at->maker >= 0 && strcmp(op_operator(graph, at->maker), "Constant") != 0)
        return NULL;
    if (floats && floats->type == ATTR_FLOATS && floats->n <= LIST_MAX) {
        Value value = {.dtype = DT_F32, .floats = floats->floats};
        value.shape = (Shape){.n_dims = 1, .dim = {floats->n}};
        return values_put(values, &value);
    }
    if (attr && attr->type == ATTR_TENSOR) {
        const Shape *shape = shapes_at(graph->shapes, attr->shape);
        data = attr->tensor;
        dtype = (Dtype)attr->dtype;
        n = shape->n_dims == 1 ? shape->dim[0] : -1;
    }
    bool held = data && n >= 0 && n <= LIST_MAX && data->form != DATA_ABSENT &&
                data->form != DATA_STRINGS && dtype_is_float(dtype);
    return held && data_read(data, dtype, n, bytes, NULL) ? float_list(values, dtype, bytes, n)
                                                          : NULL;
}

/* ---- values from nothing but shapes and attributes ---- */

static bool put_ints(HostCall *host, const int64_t *ints, int n, bool scalar, Error *err)
{
    Value value = {.dtype = DT_I64, .ints = ints};
    if (!scalar)
        value.shape = (Shape){.n_dims = 1, .dim = {n}};
    return host_put(host, 0, &value, err);
}

static bool shape_of(HostCall *host, Error *err)
{
    const Shape *shape = host->call->shape[0];
    int64_t n = shape->n_dims;
    int64_t start = args_int(host->call, "start", 0), end = args_int(host->call, "end", n);
    start = clamp(start < 0 ? start + n : start, 0, n);
    end = clamp(end < 0 ? end + n : end, start, n);
    return put_ints(host, shape->dim + start, (int)(end - start), false, err);
}

static bool size_of(HostCall *host, Error *err)
{
    int64_t size = shape_elements(host->call->shape[0]);
    return put_ints(host, &size, 1, true, err);
}

/* The value of a Constant, by whichever attribute has it. Tensors of floats, and strings, have no
 * value here. */
static bool constant(HostCall *host, Error *err)
{
    const RuleCall *call = host->call;
    const Attr *attr = op_attr(call->graph, call->op, "value");
    if (attr && attr->type == ATTR_TENSOR) {
        const Shape *shape = shapes_at(call->graph->shapes, attr->shape);
        host->out[0] = host_constant(host->values, attr->tensor, (Dtype)attr->dtype, shape);
        return host->out[0] != NULL;
    }
    if ((attr = op_attr(call->graph, call->op, "value_int")) && attr->type == ATTR_INT)
        return put_ints(host, &attr->i, 1, true, err);
    if ((attr = op_attr(call->graph, call->op, "value_ints")) && attr->type == ATTR_INTS)
        return attr->n <= values_limit(host->values) &&
               put_ints(host, attr->ints, attr->n, false, err);
    if ((attr = op_attr(call->graph, call->op, "value_float")) && attr->type == ATTR_FLOAT) {
        double real = host_round(DT_F32, attr->f);
        Value value = {.dtype = DT_F32, .floats = &real};
        return host_put(host, 0, &value, err);
    }
    return false;
}

/* The element that a ConstantOfShape repeats, by default float 0. Returns false if values of its
 * type, which is set nevertheless, are not computed here. */
static bool fill_element(const Attr *attr, Value *value, int64_t *cell)
{
    double real = 0;
    char bytes[16] = {0};
    value->dtype = DT_F32;
    *cell = 0;
    if (!attr)
        return true;
    value->dtype = (Dtype)attr->dtype;
    if (!host_computes(value->dtype) || !data_read(attr->tensor, value->dtype, 1, bytes, NULL))
        return false;
    if (float_of(value->dtype, bytes, &real))
        memcpy(cell, &real, sizeof *cell);
    else
        *cell = host_wrap(value->dtype, int_of(value->dtype, bytes));
    return true;
}

static bool constant_of_shape(HostCall *host, Error *err)
{
    const Value *sizes = host->call->value[0];
    const Attr *attr = op_attr(host->call->graph, host->call->op, "value");
    Value value = {0};
    int64_t cell;
    if (!sizes->ints || (attr && attr->type != ATTR_TENSOR))
        return false;
    bool held = fill_element(attr, &value, &cell);
    int64_t n_dims = shape_elements(&sizes->shape);
    if (n_dims > DIMS_MAX)
        return error_kind(err, ERROR_RANK, "its output has more than %d dims", DIMS_MAX);
    value.shape.n_dims = n_dims;
    memcpy(value.shape.dim, sizes->ints, (size_t)n_dims * sizeof(int64_t));
    if (!shape_check(&value.shape, err))
        return false;

    if (held && host_fits(host, &value.shape)) {
        int64_t n = shape_elements(&value.shape);
        int64_t *cells = arena_array(host->arena, int64_t, n);
        for (int64_t i = 0; i < n; i++)
            cells[i] = cell;
        host_set_cells(&value, value.dtype, cells);
    } else if (held && dtype_is_int(value.dtype)) {
        value.affine = true;
        value.offset = cell;
    }
    return host_put(host, 0, &value, err);
}

/* The place of each element along one dim. */
static bool iota(HostCall *host, Error *err)
{
    Ints sizes;
    int axis;
    Value value = {.affine = true};
    if (!args_ints(host->call, -1, "shape", &sizes, err) || !sizes.given || sizes.n > DIMS_MAX ||
        !args_axis(args_int(host->call, "dimension", 0), sizes.n, &axis, err) ||
        !args_dtype(host->call, "dtype", DT_I32, &value.dtype, err) || !dtype_is_int(value.dtype))
        return false;
    value.shape.n_dims = sizes.n;
    for (int d = 0; d < sizes.n; d++)
        value.shape.dim[d] = sizes.at[d];
    value.coef[axis] = sizes.at[axis] > 1;
    return host_put(host, 0, &value, err);
}

/* start, start + delta, .. up to but not including limit. */
static bool range_ints(HostCall *host, Error *err)
{
    const Value *const *in = host->call->value;
    int64_t n;
    if (!args_range(host->call, &n, err))
        return false;
    Value value = {.dtype = in[0]->dtype,
                   .shape = {.n_dims = 1, .dim = {n}},
                   .affine = true,
                   .offset = in[0]->ints[0],
                   .coef = {in[2]->ints[0]}};
    return host_put(host, 0, &value, err);
}

static bool range_floats(HostCall *host, Error *err)
{
    const Value *const *in = host->call->value;
    double start = in[0]->floats[0], delta = in[2]->floats[0];
    Value value = {.dtype = in[0]->dtype, .shape = {.n_dims = 1}};
    if (!args_range(host->call, &value.shape.dim[0], err))
        return false;
    if (!host_fits(host, &value.shape))
        return host_put(host, 0, &value, err);
    double *cells = arena_array(host->arena, double, value.shape.dim[0]);
    for (int64_t i = 0; i < value.shape.dim[0]; i++)
        cells[i] = host_round(value.dtype, start + (double)i * delta);
    value.floats = cells;
    return host_put(host, 0, &value, err);
}

static bool range(HostCall *host, Error *err)
{
    const Value *const *in = host->call->value;
    int n_ints = 0, n_floats = 0;
    for (int i = 0; i < 3; i++) {
        if (shape_elements(&in[i]->shape) != 1)
            return error_set(err, "its operand %d is not one element", i);
        n_ints += in[i]->ints != NULL;
        n_floats += in[i]->floats != NULL;
    }
    if (!host_computes(in[0]->dtype) || (n_ints < 3 && n_floats < 3))
        return false;
    return n_ints == 3 ? range_ints(host, err) : range_floats(host, err);
}

/* ---- what rows of operators name ---- */

const HostOp host_op_shape = {.fn = shape_of, .shape_only = true};
const HostOp host_op_size = {.fn = size_of, .shape_only = true};
const HostOp host_op_constant = {.fn = constant};
const HostOp host_op_iota = {.fn = iota};
const HostOp host_op_constant_of_shape = {.fn = constant_of_shape};
const HostOp host_op_range = {.fn = range};

bool host_knows(const char *op_type)
{
    const Operator *row = operator_find(op_type);
    return row && row->host;
}

bool host_needs_values(const char *op_type)
{
    const Operator *row = operator_find(op_type);
    return !row || !row->host || !row->host->shape_only;
}

bool host_evaluate(Values *values, const RuleCall *call, const Value **out, Error *err)
{
    const Operator *row = operator_find(op_operator(call->graph, call->op));
    int outputs_max = row && row->outputs_max > 0 ? row->outputs_max : 1;
    if (!row || !row->host || call->n_inputs < row->inputs_min ||
        call->n_inputs > row->inputs_max || call->n_outputs < 1 || call->n_outputs > outputs_max)
        return false;
    for (int i = 0; i < call->n_inputs; i++) {
        bool optional = i >= row->inputs_min && row->inputs_max != OPERATOR_ANY;
        if (!call->shape[i] && !optional)
            return false;
        if (call->shape[i] && !call->value[i] && !row->host->shape_only)
            return false;
    }
    HostCall host = {values, call, row, out, values_arena(values)};
    return row->host->fn(&host, err);
}
