#include "core/model/graph.h"
#include "core/model/wire.h"

#include <assert.h>
#include <inttypes.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements are copied as they lie");

/* Two elements a byte, the first in the low half. */
static int8_t nibble(const char *bytes, int64_t i, bool is_signed)
{
    int half = ((unsigned char)bytes[i / 2] >> (i % 2 * 4)) & 0xF;
    return (int8_t)(is_signed && half > 7 ? half - 16 : half);
}

static void spread_nibbles(const char *bytes, bool is_signed, int64_t n_elements, int8_t *out)
{
    for (int64_t i = 0; i < n_elements; i++)
        out[i] = nibble(bytes, i, is_signed);
}

static bool read_raw(Str bytes, Dtype dtype, int64_t n_elements, void *out, Error *err)
{
    int64_t n_bytes = dtype_bytes(dtype, n_elements);
    if (bytes.n != (uint64_t)n_bytes)
        return error_kind(err, ERROR_UNREADABLE,
                          "%" PRId64 " elements of %s take %" PRId64 " bytes, there are %zu",
                          n_elements, dtype_name(dtype), n_bytes, bytes.n);
    if (dtype_bits(dtype) == 4)
        spread_nibbles(bytes.s, dtype == DT_I4, n_elements, out);
    else if (n_bytes > 0)
        memcpy(out, bytes.s, (size_t)n_bytes);
    return true;
}

/* A varint is one element, but for 4-bit types, where it is a byte of two. */
static bool read_varints(Str bytes, Dtype dtype, int64_t n_elements, void *out, Error *err)
{
    bool nibbles = dtype_bits(dtype) == 4;
    size_t size = nibbles ? 1 : (size_t)dtype_bits(dtype) / 8;
    int64_t n_varints = nibbles ? dtype_bytes(dtype, n_elements) : n_elements;
    assert(size <= sizeof(uint64_t));
    char *at = out;
    for (int64_t i = 0; i < n_varints; i++) {
        uint64_t value;
        if (!wire_take_varint(&bytes, &value))
            return error_kind(err, ERROR_UNREADABLE,
                              "%" PRId64 " numbers wanted, there are %" PRId64, n_varints, i);
        char byte = (char)value;
        if (nibbles)
            spread_nibbles(&byte, dtype == DT_I4, i < n_elements / 2 ? 2 : 1, (int8_t *)at + 2 * i);
        else
            memcpy(at + (size_t)i * size, &value, size);
    }
    return bytes.n == 0 ||
           error_kind(err, ERROR_UNREADABLE, "more numbers than the %" PRId64 " wanted", n_varints);
}

bool data_read(const TensorData *data, Dtype dtype, int64_t n_elements, void *out, Error *err)
{
    switch (data->form) {
    case DATA_RAW:
        return read_raw(data->bytes, dtype, n_elements, out, err);
    case DATA_VARINTS:
        return read_varints(data->bytes, dtype, n_elements, out, err);
    case DATA_STRINGS:
        return error_kind(err, ERROR_DTYPE, "texts are not computed on");
    case DATA_ABSENT:
        error_kind(err, ERROR_UNREADABLE, "the elements are not in the model file");
        if (data->location)
            error_hint(err, "they belong into the file '%s' beside it", data->location);
        return false;
    }
    return false;
}
