#include "core/run/cuda/device.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- errors ---- */

bool cuda_is_lost(cudaError_t status)
{
    static const cudaError_t lost[] = {
        cudaErrorDevicesUnavailable, cudaErrorECCUncorrectable,   cudaErrorIllegalAddress,
        cudaErrorLaunchTimeout,      cudaErrorContextIsDestroyed, cudaErrorAssert,
        cudaErrorMisalignedAddress,  cudaErrorLaunchFailure,      cudaErrorUnknown};
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++)
        if (lost[i] == status)
            return true;
    return false;
}

bool cuda_ok(cudaError_t status, const char *call, Error *err)
{
    if (status == cudaSuccess)
        return true;
    return error_kind(err, ERROR_RUN, "%s: %s (%s)", call, cudaGetErrorString(status),
                      cudaGetErrorName(status));
}

bool nccl_ok(ncclResult_t status, ncclComm_t comm, const char *call, Error *err)
{
    if (status == ncclSuccess || status == ncclInProgress)
        return true;
    const char *more = comm ? ncclGetLastError(comm) : "";
    error_kind(err, ERROR_RUN, "%s: %s%s%s", call, ncclGetErrorString(status),
               more && *more ? ": " : "", more ? more : "");
    return false;
}

bool blas_ok(cublasStatus_t status, const char *call, Error *err)
{
    return status == CUBLAS_STATUS_SUCCESS ||
           error_kind(err, ERROR_RUN, "%s: %s", call, cublasLtGetStatusString(status));
}

void cuda_give_up(cudaError_t status)
{
    (void)status;
}

/* ---- available devices ---- */

/* Explains an error of cudaGetDeviceCount() and what to do. */
static bool explain_missing(cudaError_t status, int n, Error *err)
{
    int driver = 0, needs = 0;
    cuda_give_up(cudaDriverGetVersion(&driver));
    cuda_give_up(cudaRuntimeGetVersion(&needs));
    if (status == cudaErrorStubLibrary) {
        error_kind(err, ERROR_USAGE,
                   "no NVIDIA driver: the loader found the placeholder libcuda.so.1 of the CUDA "
                   "toolkit, which can only be linked with");
        error_hint(err, "take the toolkit's folder that has it out of LD_LIBRARY_PATH");
    } else if (status == cudaErrorInsufficientDriver && driver == 0)
        error_kind(err, ERROR_USAGE, "no NVIDIA driver is installed on this machine");
    else if (status == cudaErrorInsufficientDriver)
        error_kind(err, ERROR_USAGE,
                   "the NVIDIA driver is of CUDA %d.%d, dimscope_cuda.so was built with %d.%d",
                   driver / 1000, driver % 1000 / 10, needs / 1000, needs % 1000 / 10);
    else if (status == cudaErrorNoDevice || (status == cudaSuccess && n == 0))
        error_kind(err, ERROR_USAGE, "there is an NVIDIA driver, but no GPU on this machine");
    else
        error_kind(err, ERROR_USAGE, "the GPUs cannot be used: %s (%s)", cudaGetErrorString(status),
                   cudaGetErrorName(status));
    error_hint(err, "--backend auto takes the host where there is no GPU");
    return false;
}

static bool count(int *n, Error *err)
{
    *n = 0;
    cudaError_t status = cudaGetDeviceCount(n);
    return status == cudaSuccess && *n > 0 ? true : explain_missing(status, *n, err);
}

enum { EXIT_FOUND = 0, EXIT_MISSING = 10, EXIT_BEGUN = 11 };

/* In the child: sends the send_answer to the parent. */
static void send_answer(int to)
{
    int n = 0;
    Error err = {0};
    if (cudaGetDeviceCount(&n) == cudaErrorInitializationError)
        _exit(EXIT_BEGUN); /* the parent has used CUDA, so its child cannot */
    if (count(&n, &err))
        _exit(EXIT_FOUND);
    ssize_t written = write(to, &err, sizeof err);
    _exit(written == (ssize_t)sizeof err ? EXIT_MISSING : EXIT_FAILURE);
}

bool devices_usable(Error *err)
{
    int ends[2], status = 0, n_devices;
    if (pipe(ends) != 0)
        return error_kind(err, ERROR_RUN, "the GPUs cannot be checked: no pipe");
    pid_t child = fork();
    if (child == 0)
        send_answer(ends[1]);
    close(ends[1]);
    Error sent = {0};
    ssize_t n = child < 0 ? 0 : read(ends[0], &sent, sizeof sent);
    close(ends[0]);
    bool ended = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status);
    if (ended && WEXITSTATUS(status) == EXIT_BEGUN)
        return count(&n_devices, err);
    if (ended && WEXITSTATUS(status) == EXIT_FOUND)
        return true;
    if (n != (ssize_t)sizeof sent)
        return error_kind(
            err, ERROR_USAGE,
            "the GPUs cannot be used: the driver ended the process that checked for them");
    if (err && !error_is_set(err))
        *err = sent;
    return false;
}

Device *devices_find(Arena *arena, int *n, Error *err)
{
    if (!count(n, err))
        return NULL;
    Device *devices = arena_array(arena, Device, *n);
    for (int d = 0; d < *n; d++) {
        struct cudaDeviceProp prop;
        int major = 0, minor = 0;
        if (!CUDA_CALL(err, cudaGetDeviceProperties, &prop, d) ||
            !CUDA_CALL(err, cudaDeviceGetAttribute, &major, cudaDevAttrComputeCapabilityMajor, d) ||
            !CUDA_CALL(err, cudaDeviceGetAttribute, &minor, cudaDevAttrComputeCapabilityMinor, d))
            return NULL;
        devices[d] = (Device){.ordinal = d, .arch = 10 * major + minor};
        devices[d].name = arena_str(arena, str_from(prop.name));
    }
    return devices;
}
