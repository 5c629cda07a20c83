#include "core/model/npy.h"

static const struct {
    const char *descr;
    Dtype dtype;
} descrs[] = {
    {"<f4", DT_F32}, {"<f8", DT_F64},  {"<f2", DT_F16}, {"<i8", DT_I64},   {"<i4", DT_I32},
    {"<i2", DT_I16}, {"|i1", DT_I8},   {"|u1", DT_U8},  {"<u2", DT_U16},   {"<u4", DT_U32},
    {"<u8", DT_U64}, {"|b1", DT_BOOL}, {"<c8", DT_C64}, {"<c16", DT_C128},
};

static bool fail(const char *file, const char *what, Error *err)
{
    error_kind(err, ERROR_UNREADABLE, "%s", what);
    error_in_file(err, file);
    return false;
}

/* The header, a dict of Python; *rest becomes the elements. */
static bool split(Str bytes, Str *header, Str *rest)
{
    const unsigned char *at = (const unsigned char *)bytes.s;
    if (bytes.n < 12 || memcmp(at, "\x93NUMPY", 6) != 0 || at[6] < 1 || at[6] > 3)
        return false;
    size_t start = at[6] == 1 ? 10 : 12, n = at[8] | (size_t)at[9] << 8;
    if (at[6] > 1)
        n |= (size_t)at[10] << 16 | (size_t)at[11] << 24;
    if (n > bytes.n - start)
        return false;
    *header = (Str){bytes.s + start, n};
    *rest = (Str){bytes.s + start + n, bytes.n - start - n};
    return true;
}

/* What follows the key, "'shape':". */
static bool value_of(Str header, const char *key, Str *out)
{
    int64_t at = str_find(header, str_from(key));
    if (at < 0)
        return false;
    size_t from = (size_t)at + strlen(key);
    *out = str_trim((Str){header.s + from, header.n - from});
    return out->n > 0;
}

static bool read_shape(Str text, Shape *shape)
{
    int64_t end = str_find(text, STR(")"));
    if (text.s[0] != '(' || end < 0)
        return false;
    *shape = (Shape){0};
    for (Str rest = {text.s + 1, (size_t)end - 1}; rest.n > 0;) {
        Str size = str_trim(str_take(&rest, ','));
        if (size.n == 0)
            continue;
        if (shape->n_dims == DIMS_MAX || !str_to_int(size, &shape->dim[shape->n_dims++]))
            return false;
    }
    return true;
}

static Dtype read_descr(Str text)
{
    for (size_t i = 0; i < sizeof descrs / sizeof *descrs; i++) {
        Str descr = str_from(descrs[i].descr);
        if (text.n > descr.n + 1 && memcmp(text.s + 1, descr.s, descr.n) == 0)
            return descrs[i].dtype;
    }
    return DT_NONE;
}

/* The elements with the last dim fastest, in place of the first. */
static Str in_c_order(Arena *arena, Str elements, const Shape *shape, size_t size)
{
    int64_t n = shape_elements(shape), index[DIMS_MAX] = {0};
    char *out = arena_alloc(arena, elements.n + 1);
    for (int64_t i = 0; i < n; i++) {
        int64_t place = 0;
        for (int64_t d = shape->n_dims - 1; d >= 0; d--)
            place = place * shape->dim[d] + index[d];
        memcpy(out + (size_t)i * size, elements.s + (size_t)place * size, size);
        for (int64_t d = shape->n_dims - 1; d >= 0 && ++index[d] == shape->dim[d]; d--)
            index[d] = 0;
    }
    return (Str){out, elements.n};
}

/* Complex numbers as pairs along a last dim. */
static bool split_parts(OnnxTensor *tensor)
{
    if (tensor->dtype != DT_C64 && tensor->dtype != DT_C128)
        return true;
    if (tensor->shape.n_dims == DIMS_MAX)
        return false;
    tensor->dtype = tensor->dtype == DT_C64 ? DT_F32 : DT_F64;
    tensor->shape.dim[tensor->shape.n_dims++] = 2;
    return true;
}

bool npy_read(Arena *arena, const char *file, Str bytes, OnnxTensor *out, Error *err)
{
    Str header, elements, value;
    *out = (OnnxTensor){.name = STR("")};
    if (!split(bytes, &header, &elements))
        return fail(file, "this is no whole file of numpy.save()", err);
    if (!value_of(header, "'descr':", &value) || !(out->dtype = read_descr(value)))
        return fail(file, "its elements are of a type that is not read: numbers, little-endian",
                    err);
    bool columns = value_of(header, "'fortran_order':", &value) && str_starts(value, STR("True"));
    if (!value_of(header, "'shape':", &value) || !read_shape(value, &out->shape) ||
        !shape_check(&out->shape, err))
        return fail(file, "it has no shape of at most 10 dims", err);
    if (elements.n != (size_t)dtype_bytes(out->dtype, shape_elements(&out->shape)))
        return fail(file, "its elements are fewer or more than its shape says", err);
    size_t size = (size_t)dtype_bits(out->dtype) / 8;
    if (columns && out->shape.n_dims > 1)
        elements = in_c_order(arena, elements, &out->shape, size);
    out->data = (TensorData){.form = DATA_RAW, .bytes = elements};
    return split_parts(out) || fail(file, "it has no shape of at most 10 dims", err);
}
