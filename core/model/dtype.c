#include "core/model/dtype.h"

#include <stdio.h>

static const struct {
    const char *name;
    int bits, onnx;
} rows[DT_COUNT] = {
#define T(id, name, bits, onnx) [DT_##id] = {name, bits, onnx},
    DTYPES(T)
#undef T
};

const char *dtype_name(Dtype dtype)
{
    return rows[dtype].name;
}

int dtype_bits(Dtype dtype)
{
    return rows[dtype].bits;
}

int dtype_to_onnx(Dtype dtype)
{
    return rows[dtype].onnx;
}

Dtype dtype_from_onnx(int64_t number)
{
    for (int i = 0; i < DT_COUNT; i++)
        if (rows[i].onnx == number)
            return (Dtype)i;
    return DT_NONE;
}

Dtype dtype_from_name(Str name)
{
    char text[sizeof "fp16"];
    bool is_fp = name.n == 4 && str_starts(name, STR("fp"));
    snprintf(text, sizeof text, "f%.2s", is_fp ? name.s + 2 : "");
    for (int i = 0; i < DT_COUNT; i++)
        if (str_eq(is_fp ? str_from(text) : name, str_from(rows[i].name)))
            return (Dtype)i;
    return DT_NONE;
}

/* The kind of elements of each type; rules treat the types of one group alike. */
typedef enum { GROUP_OTHER, GROUP_FLOAT, GROUP_INT } DtypeGroup;

static DtypeGroup group_of(Dtype dtype)
{
    switch (dtype) {
    case DT_F8E4M3FN:
    case DT_F8E4M3FNUZ:
    case DT_F8E5M2:
    case DT_F8E5M2FNUZ:
    case DT_F8E8M0:
    case DT_F6E2M3:
    case DT_F6E3M2:
    case DT_F4E2M1:
    case DT_F16:
    case DT_BF16:
    case DT_F32:
    case DT_F64:
        return GROUP_FLOAT;
    case DT_U2:
    case DT_U4:
    case DT_U8:
    case DT_U16:
    case DT_U32:
    case DT_U64:
    case DT_I2:
    case DT_I4:
    case DT_I8:
    case DT_I16:
    case DT_I32:
    case DT_I64:
        return GROUP_INT;
    case DT_NONE:
    case DT_STR:
    case DT_BOOL:
    case DT_C64:
    case DT_C128:
    case DT_COUNT:
        return GROUP_OTHER;
    }
    return GROUP_OTHER;
}

bool dtype_is_float(Dtype dtype)
{
    return group_of(dtype) == GROUP_FLOAT;
}

bool dtype_is_int(Dtype dtype)
{
    return group_of(dtype) == GROUP_INT;
}

int64_t dtype_bytes(Dtype dtype, int64_t n_elements)
{
    int bits = rows[dtype].bits;
    if (bits < 8)
        return n_elements / 8 * bits + (n_elements % 8 * bits + 7) / 8;
    int64_t n_bytes;
    return __builtin_mul_overflow(n_elements, bits / 8, &n_bytes) ? INT64_MAX : n_bytes;
}
