/* device_prelude.h - what kernel texts name that C does not have: CUDA's words, for a CPU.
 *
 * device_text_head() includes it where the compiler is none of CUDA. A block's threads are run by
 * one thread of the system, each on a stack of its own; who launches sets the indices before it
 * switches to one, and answers the functions below. Static shared memory is of that system thread.
 */
#ifndef TESTS_FAKECUDA_DEVICE_PRELUDE_H
#define TESTS_FAKECUDA_DEVICE_PRELUDE_H

#include <stdint.h>
#include <string.h>
#include <tgmath.h>

typedef struct {
    unsigned x, y, z;
} DeviceIndex;

/* Who runs one block at a time, whatever the thread, defines it as nothing. */
#ifndef DEVICE_LOCAL
#define DEVICE_LOCAL _Thread_local
#endif

extern DEVICE_LOCAL DeviceIndex threadIdx, blockIdx, blockDim, gridDim;
extern DEVICE_LOCAL void *device_shared; /* DeviceLaunch.shared_bytes, aligned to 16 */

void __syncthreads(void);
/* The value of the thread whose lane is this one's xor mask; all threads
 * of the warp call it together. */
double device_shuffle_xor(double value, int mask);
int64_t device_shuffle_xor_i64(int64_t value, int mask);

/* With NAME go its entry, and as NAME_shape the threads a block may have and the bytes of Args. */
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

DEVICE float rsqrt_f32(float x)
{
    return 1 / sqrtf(x);
}

#endif
