/* device_prelude.h - defines for C what kernel texts use of CUDA.
 *
 * The head of texts includes it unless the compiler is CUDA's. One system thread runs a block's
 * threads on separate stacks; the launcher sets the indices before switching to one and provides
 * the functions below. Static shared memory belongs to that system thread.
 */
#ifndef TESTS_FAKECUDA_DEVICE_PRELUDE_H
#define TESTS_FAKECUDA_DEVICE_PRELUDE_H

#include <stdint.h>
#include <string.h>
#include <tgmath.h>

typedef struct {
    unsigned x, y, z;
} DeviceIndex;

/* Define as nothing when blocks always run one at a time. */
#ifndef DEVICE_LOCAL
#define DEVICE_LOCAL _Thread_local
#endif

extern DEVICE_LOCAL DeviceIndex threadIdx, blockIdx, blockDim, gridDim;
extern DEVICE_LOCAL void *device_shared; /* DeviceLaunch.shared_bytes, aligned to 16 */

void __syncthreads(void);
/* The value in the lane that is this one xor mask; all threads of the warp must call it. */
double device_shuffle_xor(double value, int mask);
int64_t device_shuffle_xor_i64(int64_t value, int mask);

/* Defines with NAME its entry and NAME_shape: most threads of a block and size of Args. */
#define KERNEL(threads, name, Args) KERNEL_NAMED(threads, name, Args)
#define KERNEL_NAMED(threads, name, Args)                                                          \
    extern const int64_t name##_shape[2];                                                          \
    const int64_t name##_shape[2] = {threads, sizeof(Args)};                                       \
    void name(Args a);                                                                             \
    void name##_entry(void **args);                                                                \
    void name##_entry(void **args)                                                                 \
    {                                                                                              \
        name(*(Args *)args[0]);                                                                    \
    }                                                                                              \
    void name(Args a)

#define DEVICE static inline
#define SHARED static DEVICE_LOCAL
#define DYNAMIC_SHARED(Type, name) Type *name = (Type *)device_shared
#define ALIGNED(n) __attribute__((aligned(n)))
#define UNROLL

typedef int64_t i64;
typedef uint64_t u64;
typedef uint32_t u32;

DEVICE u32 bits_of_f32(float x)
{
    u32 bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

DEVICE float f32_of_bits(u32 bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

DEVICE float shuffle_xor_f32(float x, int mask)
{
    return (float)device_shuffle_xor(x, mask);
}

DEVICE double shuffle_xor_f64(double x, int mask)
{
    return device_shuffle_xor(x, mask);
}

DEVICE i64 shuffle_xor_i64(i64 x, int mask)
{
    return device_shuffle_xor_i64(x, mask);
}

#endif
