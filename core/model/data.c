#include "core/model/dense.h"
#include "core/model/graph.h"
#include "core/model/wire.h"

#include <assert.h>
#include <inttypes.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements are copied as they lie");

/* Elements of less than a byte, the first in the lowest bits; those of 6 bits cross bytes. */
static int8_t small_element(const char *bytes, int64_t i, int bits, bool is_signed)
{
    int64_t bit = i * bits;
    unsigned at = (unsigned char)bytes[bit / 8];
    if (bit % 8 + bits > 8)
        at |= (unsigned)(unsigned char)bytes[bit / 8 + 1] << 8;
    int value = (int)(at >> (bit % 8) & ((1U << bits) - 1));
    return (int8_t)(is_signed && value >> (bits - 1) ? value - (1 << bits) : value);
}

static void spread_small(const char *bytes, Dtype dtype, int64_t n_elements, int8_t *out)
{
    for (int64_t i = 0; i < n_elements; i++)
        out[i] = small_element(bytes, i, dtype_bits(dtype), dtype == DT_I4 || dtype == DT_I2);
}

static bool read_raw(Str bytes, Dtype dtype, int64_t n_elements, void *out, Error *err)
{
    int64_t n_bytes = dtype_bytes(dtype, n_elements);
    if (bytes.n != (uint64_t)n_bytes)
        return error_kind(err, ERROR_UNREADABLE,
                          "%" PRId64 " elements of %s take %" PRId64 " bytes, there are %zu",
                          n_elements, dtype_name(dtype), n_bytes, bytes.n);
    if (dtype_bits(dtype) < 8)
        spread_small(bytes.s, dtype, n_elements, out);
    else if (n_bytes > 0)
        memcpy(out, bytes.s, (size_t)n_bytes);
    return true;
}

/* Reads packed varints. Each is one element, except for types of less than a byte, where it is a
 * byte that holds several. */
static bool read_varints(Str bytes, Dtype dtype, int64_t n_elements, void *out, Error *err)
{
    int bits = dtype_bits(dtype);
    int64_t per_varint = bits < 8 && bits > 0 ? 8 / bits : 1;
    int64_t n_varints = (n_elements + per_varint - 1) / per_varint;
    size_t size = bits < 8 ? 1 : (size_t)bits / 8;
    assert(size <= sizeof(uint64_t));
    char *at = out;
    for (int64_t i = 0; i < n_varints; i++) {
        uint64_t value;
        if (!wire_take_varint(&bytes, &value))
            return error_kind(err, ERROR_UNREADABLE,
                              "%" PRId64 " numbers wanted, there are %" PRId64, n_varints, i);
        char byte = (char)value;
        int64_t left = n_elements - i * per_varint;
        if (bits < 8)
            spread_small(&byte, dtype, left < per_varint ? left : per_varint,
                         (int8_t *)at + i * per_varint);
        else
            memcpy(at + (size_t)i * size, &value, size);
    }
    return bytes.n == 0 ||
           error_kind(err, ERROR_UNREADABLE, "more numbers than the %" PRId64 " wanted", n_varints);
}

static bool fill(double value, Dtype dtype, int64_t n, void *out, Error *err)
{
    memset(out, 0, (size_t)n * (size_t)(dtype_bits(dtype) < 8 ? 8 : dtype_bits(dtype)) / 8);
    if (value != 0 && dtype != DT_F32 && dtype != DT_F64 && dtype != DT_I64)
        return error_kind(err, ERROR_DTYPE, "elements of %s are not filled with %g",
                          dtype_name(dtype), value);
    for (int64_t i = 0; i < n && value != 0; i++)
        if (dtype == DT_F64)
            ((double *)out)[i] = value;
        else if (dtype == DT_I64)
            ((int64_t *)out)[i] = (int64_t)value;
        else
            ((float *)out)[i] = (float)value;
    return true;
}

/* The f32 elements are read into the second half of the room for f64, then spread out. */
static bool read_widened(const TensorData *data, int64_t n, double *out, Error *err)
{
    TensorData narrow = *data;
    char *half = (char *)out + (size_t)n * sizeof(float);
    narrow.stored = DT_NONE;
    if (!data_read(&narrow, DT_F32, n, half, err))
        return false;
    for (int64_t i = 0; i < n; i++) {
        float element;
        memcpy(&element, half + (size_t)i * sizeof element, sizeof element);
        out[i] = (double)element;
    }
    return true;
}

bool data_read(const TensorData *data, Dtype dtype, int64_t n_elements, void *out, Error *err)
{
    if (data->stored == DT_F32 && dtype == DT_F64)
        return read_widened(data, n_elements, out, err);
    switch (data->form) {
    case DATA_RAW:
        return read_raw(data->bytes, dtype, n_elements, out, err);
    case DATA_VARINTS:
        return read_varints(data->bytes, dtype, n_elements, out, err);
    case DATA_STRINGS:
        return error_kind(err, ERROR_DTYPE, "strings cannot be computed with");
    case DATA_DENSE:
        return dense_read(data->bytes, dtype, n_elements, out, err);
    case DATA_FILL:
        return fill(data->fill, dtype, n_elements, out, err);
    case DATA_ABSENT:
        error_kind(err, ERROR_UNREADABLE, "the elements are not in the model file");
        if (data->location)
            error_hint(err, "they belong in the file '%s' beside it", data->location);
        return false;
    }
    return false;
}
