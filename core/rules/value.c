#include "core/rules/value.h"

#include "core/base/intern.h"
#include "core/base/vec.h"
#include "core/rules/host_ops.h"

#include <assert.h>

__extension__ typedef __int128 Wide;

struct Values {
    Arena *arena;
    Intern *keys;
    Buf key;                 /* scratch */
    Vec(const Value *) made; /* by id; deferred values have ids of their own, below -1 */
    int n_deferred;
    int64_t limit;
};

Values *values_new(Arena *arena)
{
    Values *values = arena_make(arena, Values);
    values->arena = arena;
    values->keys = intern_new(arena);
    values->key = buf_new(arena);
    values->limit = VALUE_ELEMENTS_MAX;
    return values;
}

void values_set_limit(Values *values, int64_t n_elements)
{
    values->limit = n_elements;
}

int64_t values_limit(const Values *values)
{
    return values->limit;
}

Arena *values_arena(const Values *values)
{
    return values->arena;
}

/* ---- affine rows ---- */

/* The first n_dims coordinates of element i of a shape. */
static void coordinates(const Shape *shape, int n_dims, int64_t i, int64_t *x)
{
    for (int d = n_dims - 1; d >= 0; d--) {
        x[d] = i % shape->dim[d];
        i /= shape->dim[d];
    }
}

/* Terms may overflow int64_t even if their sum does not, so they are added modulo 2^64. */
static int64_t affine_at(const Affine *row, const int64_t *x, int n_dims)
{
    uint64_t value = (uint64_t)row->offset;
    for (int d = 0; d < n_dims; d++)
        value += (uint64_t)row->coef[d] * (uint64_t)x[d];
    return (int64_t)value;
}

bool value_int_at(const Value *value, int64_t i, int64_t *out)
{
    int n_dims = (int)value->shape.n_dims;
    int64_t x[DIMS_MAX] = {0};
    assert(0 <= i && i < shape_elements(&value->shape));
    if (value->ints) {
        *out = value->ints[i];
        return true;
    }
    if (!value->affine && value->n_components == 0)
        return false;
    coordinates(&value->shape, n_dims, i, x);
    *out = value->affine ? affine_at(&value->row, x, n_dims)
                         : affine_at(&value->component[x[n_dims - 1]], x, n_dims - 1);
    return true;
}

bool value_one_int(const Value *value, int64_t *out)
{
    return value && !value->partly && !value->sequence && shape_elements(&value->shape) == 1 &&
           value_int_at(value, 0, out);
}

bool value_is_iota(const Value *value)
{
    if (!value->affine || (value->offset != 0 && shape_elements(&value->shape) > 0))
        return false;
    int64_t stride = 1;
    for (int64_t d = value->shape.n_dims - 1; d >= 0; d--) {
        if (value->shape.dim[d] > 1 && value->coef[d] != stride)
            return false;
        stride *= value->shape.dim[d];
    }
    return true;
}

bool value_component(const Value *value, int c, Affine *out)
{
    int64_t last = value->shape.n_dims - 1;
    if (last < 0 || c < 0 || c >= value->shape.dim[last])
        return false;
    if (value->n_components > 0) {
        *out = value->component[c];
        return true;
    }
    if (!value->affine)
        return false;
    *out = value->row;
    out->offset += out->coef[last] * c;
    out->coef[last] = 0;
    return true;
}

/* The integers that a dtype can hold. u64 is limited to the range of int64_t. */
static void dtype_bounds(Dtype dtype, int64_t *lo, int64_t *hi)
{
    int bits = dtype_bits(dtype);
    bool is_signed = dtype == DT_I2 || dtype == DT_I4 || dtype == DT_I8 || dtype == DT_I16 ||
                     dtype == DT_I32 || dtype == DT_I64;
    *hi = bits == 64 ? INT64_MAX : ((int64_t)1 << (bits - is_signed)) - 1;
    *lo = is_signed ? -*hi - 1 : 0;
}

/* Normalizes coefs; returns false if an element is out of range of the dtype. */
static bool affine_settle(Affine *row, const Shape *shape, int64_t n_dims, Dtype dtype)
{
    int64_t least, most;
    dtype_bounds(dtype, &least, &most);
    Wide lo = row->offset, hi = row->offset;
    for (int64_t d = 0; d < DIMS_MAX; d++) {
        if (d >= n_dims || shape->dim[d] <= 1)
            row->coef[d] = 0;
        Wide reach = row->coef[d] == 0 ? 0 : (Wide)row->coef[d] * (shape->dim[d] - 1);
        *(reach < 0 ? &lo : &hi) += reach;
    }
    return least <= lo && hi <= most;
}

/* Finds the row that the elements at[0], at[pitch], .. follow over the first n_dims dims, if there
 * is one. */
static bool affine_fit(const int64_t *at, int64_t pitch, const Shape *shape, int n_dims,
                       Affine *out)
{
    Shape lead = {.n_dims = n_dims};
    int64_t n = 1;
    *out = (Affine){0};
    for (int d = n_dims - 1; d >= 0; d--)
        n *= lead.dim[d] = shape->dim[d];
    if (n == 0)
        return true;

    out->offset = at[0];
    for (int64_t d = n_dims - 1, stride = pitch; d >= 0; stride *= lead.dim[d--])
        if (lead.dim[d] > 1 && __builtin_sub_overflow(at[stride], at[0], &out->coef[d]))
            return false;
    if (!affine_settle(out, &lead, n_dims, DT_I64))
        return false;
    for (int64_t i = 0; i < n; i++) {
        int64_t x[DIMS_MAX];
        coordinates(&lead, n_dims, i, x);
        if (affine_at(out, x, n_dims) != at[i * pitch])
            return false;
    }
    return true;
}

static void fit(Values *values, Value *value)
{
    int last = (int)value->shape.n_dims - 1;
    value->affine = affine_fit(value->ints, 1, &value->shape, last + 1, &value->row);
    value->n_components = 0;
    value->component = NULL;
    if (value->affine || last < 0 || value->shape.dim[last] > VALUE_COMPONENTS_MAX)
        return;

    int64_t n = value->shape.dim[last];
    Affine *component = arena_array(values->arena, Affine, n);
    for (int64_t c = 0; c < n; c++)
        if (!affine_fit(value->ints + c, n, &value->shape, last, &component[c]))
            return;
    value->n_components = (int)n;
    value->component = component;
}

/* ---- interning ---- */

/* Drops rows that leave the dtype's range, and stores small values as elements. */
static void settle(Values *values, Value *value, int64_t n)
{
    int64_t n_dims = value->shape.n_dims;
    if (value->affine && !affine_settle(&value->row, &value->shape, n_dims, value->dtype))
        value->affine = false;
    if (value->n_components > 0) {
        Affine *component = arena_array(values->arena, Affine, value->n_components);
        memcpy(component, value->component, (size_t)value->n_components * sizeof *component);
        for (int c = 0; c < value->n_components; c++)
            if (!affine_settle(&component[c], &value->shape, n_dims - 1, value->dtype))
                value->n_components = 0;
        value->component = component;
    }
    if (value->ints || value->floats || value_is_deferred(value) || n > values->limit)
        return;
    int64_t *ints = arena_array(values->arena, int64_t, n);
    for (int64_t i = 0; i < n; i++)
        value_int_at(value, i, &ints[i]);
    value->ints = ints;
}

/* Bytes that differ for different values. */
static Str value_key(Values *values, const Value *value, int64_t n)
{
    Buf *key = &values->key;
    key->n = 0;
    int64_t head[3] = {(int64_t)value->dtype, value->n_components, value->partly};
    buf_add(key, (Str){(const char *)head, sizeof head});
    buf_add(key, (Str){(const char *)&value->shape, sizeof value->shape});
    size_t n_bytes = (size_t)n * sizeof(int64_t);
    if (value->ints)
        buf_add(key, (Str){(const char *)value->ints, n_bytes});
    else if (value->floats)
        buf_add(key, (Str){(const char *)value->floats, n_bytes});
    else if (value->affine)
        buf_add(key, (Str){(const char *)&value->row, sizeof value->row});
    else
        buf_add(key, (Str){(const char *)value->component,
                           (size_t)value->n_components * sizeof(Affine)});
    return buf_str(key);
}

static const Value *value_copy(Values *values, const Value *value, int64_t n)
{
    Value *copy = arena_make(values->arena, Value);
    *copy = *value;
    size_t n_bytes = (size_t)n * sizeof(int64_t);
    if (value->ints)
        copy->ints = memcpy(arena_array(values->arena, int64_t, n), value->ints, n_bytes);
    if (value->floats)
        copy->floats = memcpy(arena_array(values->arena, double, n), value->floats, n_bytes);
    return copy;
}

const Value *values_put(Values *values, const Value *value)
{
    Value made = *value;
    int64_t n = shape_elements(&value->shape);
    settle(values, &made, n);
    if (made.ints && dtype_is_int(made.dtype) && !made.partly)
        fit(values, &made);
    if (value_is_deferred(&made)) {
        made.id = -2 - values->n_deferred++;
        return value_copy(values, &made, n);
    }

    Str key = value_key(values, &made, n);
    made.id = intern_put(values->keys, key.s, key.n);
    if (made.id == values->made.n)
        vec_push(values->arena, &values->made, value_copy(values, &made, n));
    return values->made.at[made.id];
}

int64_t loop_trips(const Value *most, const Value *begins, const Value *goes_on)
{
    int64_t n, begun, more;
    bool counted = value_one_int(most, &n), known = value_one_int(begins, &begun);
    if ((counted && n <= 0) || (known && !begun))
        return 0;
    if (!counted || !known || !value_one_int(goes_on, &more))
        return -1;
    return more ? n : 1;
}
