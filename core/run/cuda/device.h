/* device.h - the GPUs of this machine, and errors of the libraries that drive them.
 *
 * An error says which call failed and what its library says of it; whoever holds the rank and the
 * op puts those before it (part.h).
 */
#ifndef CORE_RUN_CUDA_DEVICE_H
#define CORE_RUN_CUDA_DEVICE_H

#include "core/base/error.h"
#include "core/run/cuda/cuda_api.h"

typedef struct {
    int ordinal; /* as CUDA counts them */
    const char *name;
    int arch; /* 10 * major + minor of the compute capability: 90 */
} Device;

/* Whether there is a driver and a device. ERROR_USAGE says what is missing. Asked in a child
 * process, since one that has begun to use CUDA can fork no other that does. */
bool devices_usable(Error *err);

/* All of them, in the arena; *n is at least 1. ERROR_USAGE: there is none. */
Device *devices_find(Arena *arena, int *n, Error *err);

/* True when the status is that of success; else *err is "CALL: what the library says". ERROR_RUN.
 */
bool cuda_ok(cudaError_t status, const char *call, Error *err);
bool nccl_ok(ncclResult_t status, ncclComm_t comm, const char *call, Error *err);
bool blas_ok(cublasStatus_t status, const char *call, Error *err);

/* Calls a function with at least one argument; false with *err, which names it, when it fails. */
#define CUDA_CALL(err, call, ...) cuda_ok(call(__VA_ARGS__), #call, err)
#define NCCL_CALL(err, call, ...) nccl_ok(call(__VA_ARGS__), NULL, #call, err)
#define BLAS_CALL(err, call, ...) blas_ok(call(__VA_ARGS__), #call, err)

/* From this error on every call fails: the device or what runs on it is lost. */
bool cuda_is_lost(cudaError_t status);

/* cudaFree() and the like where there is nobody to tell: the memory of a lost device is gone. */
void cuda_give_up(cudaError_t status);

#endif
