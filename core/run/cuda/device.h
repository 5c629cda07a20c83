/* device.h - the GPUs of this machine, and errors of the libraries that drive them.
 *
 * An error names the failed call and the library's message; the caller adds the rank and the op.
 */
#ifndef CORE_RUN_CUDA_DEVICE_H
#define CORE_RUN_CUDA_DEVICE_H

#include "core/base/error.h"
#include "core/run/cuda/cuda_api.h"

typedef struct {
    int ordinal; /* CUDA's device number */
    const char *name;
    int arch; /* 10 * major + minor of the compute capability: 90 */
} Device;

/* Whether there is a driver and a device. ERROR_USAGE says what is missing. Checked in a child
 * process, since a process that has used CUDA cannot fork users of it. */
bool devices_usable(Error *err);

/* All devices, in the arena; *n is at least 1. ERROR_USAGE when there is none. */
Device *devices_find(Arena *arena, int *n, Error *err);

/* True on success; else *err is ERROR_RUN "CALL: the library's message". */
bool cuda_ok(cudaError_t status, const char *call, Error *err);
bool nccl_ok(ncclResult_t status, ncclComm_t comm, const char *call, Error *err);
bool blas_ok(cublasStatus_t status, const char *call, Error *err);

/* Calls a function with at least one argument; false with *err, which names it, when it fails. */
#define CUDA_CALL(err, call, ...) cuda_ok(call(__VA_ARGS__), #call, err)
#define NCCL_CALL(err, call, ...) nccl_ok(call(__VA_ARGS__), NULL, #call, err)
#define BLAS_CALL(err, call, ...) blas_ok(call(__VA_ARGS__), #call, err)

/* The error is final: the device or its context is lost. */
bool cuda_is_lost(cudaError_t status);

/* Ignores the status of clean-up calls such as cudaFree(). */
void cuda_give_up(cudaError_t status);

#endif
