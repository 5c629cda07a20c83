/* device_text.c - the head of all texts: CUDA's keywords, and conversions between types. */
#include "core/run/cuda/device_build.h"

#include "core/run/kernels/elementwise.h"

#define TEXT(...) TEXT_OF(__VA_ARGS__)
#define TEXT_OF(...) #__VA_ARGS__

/* The CUDA keywords that kernel texts use. A text compiled as C gets them from a prelude. */
#define WORDS                                                                                      \
    "#ifndef __CUDACC__\n"                                                                         \
    "#include \"device_prelude.h\"\n"                                                              \
    "#else\n"                                                                                      \
    "#define KERNEL(threads, name, Args) \\\n"                                                     \
    "    extern \"C\" __global__ void __launch_bounds__(threads) name(const __grid_constant__ "    \
    "Args a)\n"                                                                                    \
    "#define DEVICE static __device__ __forceinline__\n"                                           \
    "#define SHARED __shared__\n"                                                                  \
    "#define DYNAMIC_SHARED(Type, name) \\\n"                                                      \
    "    extern __shared__ __align__(16) unsigned char device_shared[]; \\\n"                      \
    "    Type *name = (Type *)device_shared\n"                                                     \
    "#define ALIGNED(n) __align__(n)\n"                                                            \
    "#define UNROLL _Pragma(\"unroll\")\n"                                                         \
    "#define INFINITY f32_of_bits(0x7f800000u)\n"                                                  \
    "#define int64_t i64\n"                                                                        \
    "#define uint64_t u64\n"                                                                       \
    "typedef long long i64;\n"                                                                     \
    "typedef unsigned long long u64;\n"                                                            \
    "typedef unsigned u32;\n"                                                                      \
    "DEVICE u32 bits_of_f32(float x) { return __float_as_uint(x); }\n"                             \
    "DEVICE float f32_of_bits(u32 x) { return __uint_as_float(x); }\n"                             \
    "DEVICE float shuffle_xor_f32(float x, int m) { return __shfl_xor_sync(~0u, x, m); }\n"        \
    "DEVICE double shuffle_xor_f64(double x, int m) { return __shfl_xor_sync(~0u, x, m); }\n"      \
    "DEVICE i64 shuffle_xor_i64(i64 x, int m) { return __shfl_xor_sync(~0u, x, m); }\n"            \
    "#endif\n"                                                                                     \
    "typedef float c_f32;\n"                                                                       \
    "typedef double c_f64;\n"                                                                      \
    "typedef i64 c_i64;\n"                                                                         \
    "#define WRAP(x, op, y) ((int64_t)((uint64_t)(x)op(uint64_t)(y)))\n"

/* Rounds to nearest even in integer arithmetic: the same bits from every compiler. */
#define CONVERSIONS                                                                                \
    "DEVICE i64 int_of_double(double x)\n"                                                         \
    "{\n"                                                                                          \
    "    if (!(x == x))\n"                                                                         \
    "        return 0;\n"                                                                          \
    "    if (x >= 9223372036854775808.0)\n"                                                        \
    "        return (i64)(~(u64)0 >> 1);\n"                                                        \
    "    return x < -9223372036854775808.0 ? (i64)((u64)1 << 63) : (i64)x;\n"                      \
    "}\n"                                                                                          \
    "DEVICE float f32_of_f16(u32 h)\n"                                                             \
    "{\n"                                                                                          \
    "    u32 bits = (h & 0x7fffu) << 13;\n"                                                        \
    "    u32 size = bits >= 0x0f800000u ? bits | 0x7f800000u\n"                                    \
    "                                   : bits_of_f32(f32_of_bits(bits) * 0x1p112f);\n"            \
    "    return f32_of_bits(size | (h & 0x8000u) << 16);\n"                                        \
    "}\n"                                                                                          \
    "DEVICE unsigned short f16_of_f32(float x)\n"                                                  \
    "{\n"                                                                                          \
    "    u32 bits = bits_of_f32(x), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;\n"     \
    "    u32 half = (size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13;\n"                    \
    "    if (size < 0x38800000u)\n"                                                                \
    "        half = bits_of_f32(f32_of_bits(size) + 0.5f) - 0x3f000000u;\n"                        \
    "    if (size >= 0x477ff000u)\n"                                                               \
    "        half = size > 0x7f800000u ? 0x7e00u : 0x7c00u;\n"                                     \
    "    return (unsigned short)(sign | half);\n"                                                  \
    "}\n"                                                                                          \
    "DEVICE float f32_of_bf16(u32 b) { return f32_of_bits(b << 16); }\n"                           \
    "DEVICE unsigned short bf16_of_f32(float x)\n"                                                 \
    "{\n"                                                                                          \
    "    u32 bits = bits_of_f32(x);\n"                                                             \
    "    return (unsigned short)(x == x ? (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16\n"            \
    "                                   : bits >> 16 | 0x40u);\n"                                  \
    "}\n"                                                                                          \
    "#define TYPE(D, Type, from_f32, from_f64, from_i64, of_f32, of_f64, of_i64) \\\n"             \
    "    typedef Type t_##D; \\\n"                                                                 \
    "    DEVICE float load_##D##_f32(t_##D x) { return from_f32; } \\\n"                           \
    "    DEVICE double load_##D##_f64(t_##D x) { return from_f64; } \\\n"                          \
    "    DEVICE i64 load_##D##_i64(t_##D x) { return from_i64; } \\\n"                             \
    "    DEVICE t_##D store_##D##_f32(float x) { return of_f32; } \\\n"                            \
    "    DEVICE t_##D store_##D##_f64(double x) { return of_f64; } \\\n"                           \
    "    DEVICE t_##D store_##D##_i64(i64 x) { return of_i64; }\n"                                 \
    "#define REAL(D, Type) TYPE(D, Type, (float)x, (double)x, int_of_double((double)x), (Type)x, " \
    "\\\n"                                                                                         \
    "    (Type)x, (Type)x)\n"                                                                      \
    "#define HALF(D) TYPE(D, unsigned short, f32_of_##D(x), (double)f32_of_##D(x), \\\n"           \
    "    int_of_double((double)f32_of_##D(x)), D##_of_f32(x), D##_of_f32((float)x), \\\n"          \
    "    D##_of_f32((float)x))\n"                                                                  \
    "#define WHOLE(D, Type) TYPE(D, Type, (float)x, (double)x, (i64)x, \\\n"                       \
    "    (Type)int_of_double((double)x), (Type)int_of_double(x), (Type)x)\n"                       \
    "REAL(f32, float)\n"                                                                           \
    "REAL(f64, double)\n"                                                                          \
    "HALF(f16)\n"                                                                                  \
    "HALF(bf16)\n"                                                                                 \
    "WHOLE(i8, signed char)\n"                                                                     \
    "WHOLE(u8, unsigned char)\n"                                                                   \
    "WHOLE(i16, short)\n"                                                                          \
    "WHOLE(u16, unsigned short)\n"                                                                 \
    "WHOLE(i32, int)\n"                                                                            \
    "WHOLE(u32, u32)\n"                                                                            \
    "WHOLE(i64, i64)\n"                                                                            \
    "WHOLE(u64, u64)\n"                                                                            \
    "TYPE(bool, unsigned char, (float)(x != 0), (double)(x != 0), x != 0, x != 0, x != 0, x != "   \
    "0)\n"

/* Integer functions used by the expressions of elementwise.h. */
#define FUNCTIONS "#define CLIPPED " TEXT(CLIPPED) "\n" TEXT(ELEMENT_FUNCTIONS(DEVICE)) "\n"

void device_head(Buf *out)
{
    buf_puts(out, WORDS);
    buf_puts(out, CONVERSIONS);
    buf_puts(out, FUNCTIONS);
}
