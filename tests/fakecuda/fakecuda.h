/* fakecuda.h - controls libfakecuda.so, simulated GPUs for tests.
 *
 * The library implements core/run/cuda/cuda_api.h on the CPU, as strictly as it can:
 *   - work waits in its streams, and is done where the program waits for it, in an order drawn from
 *     a seed among all that streams and events allow: a missing wait shows as wrong data;
 *   - memory of a device can be reached by work on that device and on peers it is opened to, and
 *     by nothing else; new memory holds 0xff (in its first 4 MiB), its ends are guarded, and
 *     freed memory is not given again;
 *   - threads of a block have their own stacks, so that barriers and shuffles are real;
 *   - an error from 700 on stays with the device until it is reset; a lost device stays lost;
 *   - a process forked from one that has used it gets cudaErrorInitializationError.
 *
 * Environment, read at the first call: FAKECUDA_DEVICES (2), FAKECUDA_MEMORY (bytes of each, 1
 * GiB), FAKECUDA_SEED (1), FAKECUDA_FAULT (below), FAKECUDA_PEER=0 (no peer access), FAKECUDA_CACHE
 * (folder of compiled kernels), FAKECUDA_LOG=1 (each fault it finds goes to stderr),
 * FAKECUDA_LEAKS=FILE (at the exit: what was not given back).
 *
 * Faults, separated by spaces; counts start at 1 and span all devices:
 *   alloc=K      allocation K fails               oom=BYTES    so does each one of that size
 *   launch=K     kernel launch K is refused       late=K       launch K fails when it is done
 *   stuck=K      launch K never ends              lost=K       at step K its device goes away
 *   hang=K       in collective K one rank is never there
 *   matmul=K     cublasLtMatmul K fails           compile=K    NVRTC's compilation K fails
 *   driver=CODE  each call fails with it (35: no driver, 100: no device)
 */
#ifndef TESTS_FAKECUDA_FAKECUDA_H
#define TESTS_FAKECUDA_FAKECUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Resets everything and starts with these devices. faults may be NULL. False: unknown fault or too
 * many devices. */
bool fakecuda_start(int n_devices, size_t memory_bytes, uint64_t seed, const char *faults);

/* Description of the last error found; "" when there is none. Valid until the next call. */
const char *fakecuda_message(void);

/* Objects that have not been freed. */
typedef struct {
    int device_blocks, host_blocks, streams, events, graphs, libraries, programs, blas, comms;
    size_t device_bytes;
} FakecudaLeaks;

/* Returns their number; *leaks may be NULL. */
int fakecuda_leaks(FakecudaLeaks *leaks);

/* Operations since the start. */
typedef struct {
    int64_t allocations, launches, matmuls, collectives, compilations, compiled_new, graph_launches;
    int64_t steps; /* operations of all kinds */
} FakecudaCounts;

FakecudaCounts fakecuda_counts(void);

#endif
