/* dtype.h - element types: names, sizes, and the numbers ONNX gives them.
 *
 * Sizes are in bits, since types of 2, 4 and 6 bits exist; a tensor's bytes are rounded up as a
 * whole.
 */
#ifndef CORE_MODEL_DTYPE_H
#define CORE_MODEL_DTYPE_H

#include "core/base/str.h"

/*   id        name    bits onnx  (TensorProto.DataType) */
#define DTYPES(T)                                                                                  \
    T(NONE, "none", 0, 0)                                                                          \
    T(F32, "f32", 32, 1)                                                                           \
    T(U8, "u8", 8, 2)                                                                              \
    T(I8, "i8", 8, 3)                                                                              \
    T(U16, "u16", 16, 4)                                                                           \
    T(I16, "i16", 16, 5)                                                                           \
    T(I32, "i32", 32, 6)                                                                           \
    T(I64, "i64", 64, 7)                                                                           \
    T(STR, "str", 64, 8)                                                                           \
    T(BOOL, "bool", 8, 9)                                                                          \
    T(F16, "f16", 16, 10)                                                                          \
    T(F64, "f64", 64, 11)                                                                          \
    T(U32, "u32", 32, 12)                                                                          \
    T(U64, "u64", 64, 13)                                                                          \
    T(C64, "c64", 64, 14)                                                                          \
    T(C128, "c128", 128, 15)                                                                       \
    T(BF16, "bf16", 16, 16)                                                                        \
    T(F8E4M3FN, "f8e4m3fn", 8, 17)                                                                 \
    T(F8E4M3FNUZ, "f8e4m3fnuz", 8, 18)                                                             \
    T(F8E5M2, "f8e5m2", 8, 19)                                                                     \
    T(F8E5M2FNUZ, "f8e5m2fnuz", 8, 20)                                                             \
    T(U4, "u4", 4, 21)                                                                             \
    T(I4, "i4", 4, 22)                                                                             \
    T(F4E2M1, "f4e2m1", 4, 23)                                                                     \
    T(F8E8M0, "f8e8m0", 8, 24)                                                                     \
    T(U2, "u2", 2, 25)                                                                             \
    T(I2, "i2", 2, 26)                                                                             \
    T(F6E2M3, "f6e2m3", 6, 27)                                                                     \
    T(F6E3M2, "f6e3m2", 6, 28)

typedef enum {
#define T(id, ...) DT_##id,
    DTYPES(T)
#undef T
        DT_COUNT
} Dtype;

const char *dtype_name(Dtype dtype);
int dtype_bits(Dtype dtype);
Dtype dtype_from_onnx(int64_t number); /* DT_NONE when unknown */
int dtype_to_onnx(Dtype dtype);        /* 0 of DT_NONE */
Dtype dtype_from_name(Str name);       /* "fp16" is f16, too; DT_NONE when unknown */
bool dtype_is_float(Dtype dtype);      /* f4 to f64 */
bool dtype_is_int(Dtype dtype);        /* signed or unsigned, bool not */
int64_t dtype_bytes(Dtype dtype, int64_t n_elements);

#endif
