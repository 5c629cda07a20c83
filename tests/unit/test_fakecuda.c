/* The GPUs that are none: that they compute, and that they find what true ones would. */
#include "core/run/cuda/cuda_api.h"
#include "tests/fakecuda/fakecuda.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef __SANITIZE_ADDRESS__
enum { STRAYS_ARE_CAUGHT = 0 }; /* the sanitizer takes the signal for itself */
#else
enum { STRAYS_ARE_CAUGHT = 1 };
#endif

static const char text[] =
    "#include \"device_prelude.h\"\n"
    "typedef struct { float *x; float *y; i64 n; double by; } Args;\n"
    "KERNEL(256, scale, Args)\n"
    "{\n"
    "    i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < a.n) a.y[i] = (float)a.by * a.x[i];\n"
    "}\n"
    "KERNEL(256, block_sum, Args)\n"
    "{\n"
    "    DYNAMIC_SHARED(float, part);\n"
    "    i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    part[threadIdx.x] = i < a.n ? a.x[i] : 0.0f;\n"
    "    __syncthreads();\n"
    "    for (unsigned half = blockDim.x / 2; half; half /= 2) {\n"
    "        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];\n"
    "        __syncthreads();\n"
    "    }\n"
    "    if (threadIdx.x == 0) a.y[blockIdx.x] = part[0];\n"
    "}\n"
    "KERNEL(256, no_barrier, Args)\n"
    "{\n"
    "    DYNAMIC_SHARED(float, part);\n"
    "    part[threadIdx.x] = a.x[threadIdx.x];\n"
    "    a.y[threadIdx.x] = part[blockDim.x - 1 - threadIdx.x];\n"
    "}\n"
    "KERNEL(256, warp_sum, Args)\n"
    "{\n"
    "    float x = a.x[threadIdx.x];\n"
    "    for (int mask = 16; mask; mask /= 2) x += shuffle_xor_f32(x, mask);\n"
    "    a.y[threadIdx.x] = x;\n"
    "}\n"
    "KERNEL(256, some_wait, Args)\n"
    "{\n"
    "    if (threadIdx.x == 3) return;\n"
    "    __syncthreads();\n"
    "    a.y[threadIdx.x] = 1;\n"
    "}\n"
    "KERNEL(64, reach, Args)\n"
    "{\n"
    "    if (threadIdx.x == 0) a.y[a.n] = 7;\n"
    "}\n";

typedef struct {
    const void *x;
    void *y;
    int64_t n;
    double by;
} Args;

static cudaLibrary_t library;

#define ok(call) assert_int_equal((call), 0)

static cudaLibrary_t library_of(const char *program_text)
{
    nvrtcProgram program;
    const char *options[] = {"--gpu-architecture=sm_90"};
    ok(nvrtcCreateProgram(&program, program_text, "kernels.cu", 0, NULL, NULL));
    ok(nvrtcCompileProgram(program, 1, options));
    size_t n_bytes;
    ok(nvrtcGetCUBINSize(program, &n_bytes));
    char *code = malloc(n_bytes);
    ok(nvrtcGetCUBIN(program, code));
    ok(nvrtcDestroyProgram(&program));
    cudaLibrary_t made;
    ok(cudaLibraryLoadData(&made, code, NULL, NULL, 0, NULL, NULL, 0));
    free(code);
    return made;
}

static void begin_with(int n_devices, uint64_t seed, const char *faults)
{
    assert_true(fakecuda_start(n_devices, 64 << 20, seed, faults));
}

static void begin(int n_devices, uint64_t seed, const char *faults)
{
    begin_with(n_devices, seed, faults);
    library = library_of(text);
}

static void end(void)
{
    ok(cudaLibraryUnload(library));
    if (fakecuda_leaks(NULL))
        fail_msg("%d leaks", fakecuda_leaks(NULL));
}

static cudaError_t launch(const char *name, unsigned grid, unsigned block, Args args,
                          cudaStream_t stream)
{
    cudaKernel_t kernel;
    ok(cudaLibraryGetKernel(&kernel, library, name));
    return cudaLaunchKernel((const void *)kernel, (dim3){grid, 1, 1}, (dim3){block, 1, 1},
                            (void *[]){&args}, 4 * block, stream);
}

static float *upload(const float *from, int n)
{
    void *to;
    ok(cudaMalloc(&to, (size_t)n * 4));
    if (from)
        ok(cudaMemcpy(to, from, (size_t)n * 4, cudaMemcpyHostToDevice));
    return to;
}

static void download(float *to, const float *from, int n)
{
    ok(cudaMemcpy(to, from, (size_t)n * 4, cudaMemcpyDeviceToHost));
}

static float numbers[1000];

/* ---- kernels */

static void test_launch(void **state)
{
    (void)state;
    begin(1, 1, NULL);
    float *x = upload(numbers, 1000), *y = upload(NULL, 1000), out[1000];
    ok(launch("scale", 4, 256, (Args){x, y, 1000, 3}, NULL));
    download(out, y, 1000);
    for (int i = 0; i < 1000; i++)
        assert_true(out[i] == 3 * numbers[i]);
    ok(cudaFree(x));
    ok(cudaFree(y));
    end();
}

static void test_block_sum(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed < 5; seed++) {
        begin(1, seed, NULL);
        float *x = upload(numbers, 1000), *y = upload(NULL, 4), out[4], sum = 0, want = 0;
        ok(launch("block_sum", 4, 256, (Args){x, y, 1000, 0}, NULL));
        download(out, y, 4);
        for (int i = 0; i < 1000; i++)
            want += numbers[i];
        for (int i = 0; i < 4; i++)
            sum += out[i];
        assert_true(sum == want);
        ok(cudaFree(x));
        ok(cudaFree(y));
        end();
    }
}

/* With one seed or another a race shows. */
static void test_missing_barrier(void **state)
{
    (void)state;
    int n_wrong = 0;
    for (uint64_t seed = 1; seed < 5; seed++) {
        begin(1, seed, NULL);
        float *x = upload(numbers, 256), *y = upload(NULL, 256), out[256];
        ok(launch("no_barrier", 1, 256, (Args){x, y, 256, 0}, NULL));
        download(out, y, 256);
        for (int i = 0; i < 256; i++)
            n_wrong += out[i] != numbers[255 - i];
        ok(cudaFree(x));
        ok(cudaFree(y));
        end();
    }
    assert_true(n_wrong > 0);
}

static void test_shuffle(void **state)
{
    (void)state;
    begin(1, 1, NULL);
    float *x = upload(numbers, 96), *y = upload(NULL, 96), out[96];
    ok(launch("warp_sum", 1, 96, (Args){x, y, 96, 0}, NULL));
    download(out, y, 96);
    for (int i = 0; i < 96; i++) {
        float want = 0;
        for (int j = i / 32 * 32; j < i / 32 * 32 + 32; j++)
            want += numbers[j];
        assert_true(out[i] == want);
    }
    ok(cudaFree(x));
    ok(cudaFree(y));
    end();
}

static void fails_with(cudaError_t error, const char *word)
{
    int n_devices;
    cudaGetDeviceCount(&n_devices);
    assert_int_equal(cudaDeviceSynchronize(), error);
    if (!strstr(fakecuda_message(), word))
        fail_msg("'%s' is not in: %s", word, fakecuda_message());
    void *more;
    assert_int_equal(cudaMalloc(&more, 4), error); /* it stays */
    assert_int_equal(cudaGetLastError(), error);
    assert_int_equal(cudaGetLastError(), error);
    assert_int_equal(cudaLibraryUnload(library), error); /* and is gone all the same */
    ok(cudaDeviceReset());
    ok(cudaDeviceSynchronize());
    assert_int_equal(fakecuda_leaks(NULL), n_devices - 1); /* a block on another device */
    fakecuda_start(1, 1 << 20, 1, NULL);
}

static void test_barrier_not_reached(void **state)
{
    (void)state;
    begin(1, 1, NULL);
    float *y = upload(NULL, 64);
    ok(launch("some_wait", 1, 64, (Args){y, y, 64, 0}, NULL));
    fails_with(cudaErrorLaunchFailure, "before a barrier");
}

static void test_stray_write(void **state)
{
    (void)state;
    if (!STRAYS_ARE_CAUGHT)
        skip();
    begin(1, 1, NULL);
    float *y = upload(NULL, 64);
    ok(launch("reach", 1, 64, (Args){y, y, 2000, 0}, NULL));
    fails_with(cudaErrorIllegalAddress, "kernel reach, block 0 0 0, thread 0");
}

static void test_write_past_end(void **state)
{
    (void)state;
    begin(1, 1, NULL);
    float *y = upload(NULL, 63);
    ok(launch("reach", 1, 64, (Args){y, y, 63, 0}, NULL));
    fails_with(cudaErrorIllegalAddress, "past the end");
}

static void test_use_after_free(void **state)
{
    (void)state;
    if (!STRAYS_ARE_CAUGHT)
        skip();
    begin(1, 1, NULL);
    float *y = upload(NULL, 64);
    ok(cudaFree(y));
    ok(launch("reach", 1, 64, (Args){y, y, 0, 0}, NULL));
    fails_with(cudaErrorIllegalAddress, "freed");
}

static void test_other_device(void **state)
{
    (void)state;
    if (!STRAYS_ARE_CAUGHT)
        skip();
    begin(2, 1, NULL);
    float *y = upload(NULL, 64);
    ok(cudaSetDevice(1));
    ok(cudaDeviceEnablePeerAccess(0, 0));
    assert_int_equal(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessAlreadyEnabled);
    ok(launch("reach", 1, 64, (Args){y, y, 0, 0}, NULL));
    ok(cudaDeviceSynchronize()); /* a peer may */
    ok(cudaSetDevice(0));
    void *mine;
    ok(cudaSetDevice(1));
    ok(cudaMalloc(&mine, 256));
    ok(cudaSetDevice(0));
    ok(launch("reach", 1, 64, (Args){mine, mine, 0, 0}, NULL));
    fails_with(cudaErrorIllegalAddress, "on device 1, on device 0");
}

static void test_refused_launches(void **state)
{
    (void)state;
    begin(2, 1, NULL);
    assert_int_equal(launch("scale", 1, 1025, (Args){0}, NULL), cudaErrorInvalidConfiguration);
    assert_int_equal(launch("scale", 0, 32, (Args){0}, NULL), cudaErrorInvalidConfiguration);
    assert_int_equal(launch("scale", 1, 512, (Args){0}, NULL), cudaErrorLaunchOutOfResources);
    cudaKernel_t kernel;
    assert_int_equal(cudaLibraryGetKernel(&kernel, library, "none"), cudaErrorSymbolNotFound);
    ok(cudaLibraryGetKernel(&kernel, library, "scale"));
    Args args = {0};
    void *list[] = {&args};
    dim3 one = {1, 1, 1};
    assert_int_equal(cudaLaunchKernel(kernel, one, one, list, 50000, NULL), cudaErrorInvalidValue);
    ok(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 50000));
    ok(cudaLaunchKernel(kernel, one, one, list, 50000, NULL));
    cudaStream_t stream;
    ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    ok(cudaSetDevice(1));
    assert_int_equal(launch("scale", 1, 32, (Args){0}, stream), cudaErrorInvalidResourceHandle);
    ok(cudaStreamDestroy(stream));
    assert_int_equal(cudaStreamDestroy(stream), cudaErrorInvalidResourceHandle);
    end();
}

/* One that is loaded after another is not that other. */
static void test_libraries(void **state)
{
    (void)state;
    begin(1, 1, NULL);
    cudaKernel_t kernel;
    cudaLibrary_t other = library_of("#include \"device_prelude.h\"\n"
                                     "typedef struct { i64 n; } Args;\n"
                                     "KERNEL(32, nothing, Args) { (void)a; }\n");
    ok(cudaLibraryGetKernel(&kernel, other, "nothing"));
    ok(cudaLibraryGetKernel(&kernel, library, "scale"));
    assert_int_equal(cudaLibraryGetKernel(&kernel, other, "scale"), cudaErrorSymbolNotFound);
    ok(cudaLibraryUnload(other));
    end();
}

static void test_compile_errors(void **state)
{
    (void)state;
    begin_with(1, 1, "compile=2");
    nvrtcProgram program;
    ok(nvrtcCreateProgram(&program, "int x;\nint y = z;\n", "bad.cu", 0, NULL, NULL));
    assert_int_equal(nvrtcCompileProgram(program, 0, NULL), NVRTC_ERROR_COMPILATION);
    char log[1000];
    size_t n_bytes;
    ok(nvrtcGetProgramLogSize(program, &n_bytes));
    assert_in_range(n_bytes, 2, sizeof log);
    ok(nvrtcGetProgramLog(program, log));
    assert_non_null(strstr(log, "bad.cu:2"));
    ok(nvrtcDestroyProgram(&program));
    ok(nvrtcCreateProgram(&program, "int x;\n", "good.cu", 0, NULL, NULL));
    assert_int_equal(nvrtcCompileProgram(program, 0, NULL), NVRTC_ERROR_COMPILATION);
    const char *option = "--no-such";
    assert_int_equal(nvrtcCompileProgram(program, 1, &option), NVRTC_ERROR_INVALID_OPTION);
    assert_int_equal(cudaLibraryLoadData(&library,
                                         "no cubin, but as long as a header of one is: "
                                         "sixty four bytes",
                                         NULL, NULL, 0, NULL, NULL, 0),
                     cudaErrorInvalidKernelImage);
    assert_int_equal(fakecuda_leaks(NULL), 1);
    ok(nvrtcDestroyProgram(&program));
}

/* ---- order */

/* y = 2 x on one stream, z = 3 y on another: right in each order only with a wait between. */
static int n_wrong_orders(bool waits)
{
    int n_wrong = 0;
    for (uint64_t seed = 1; seed <= 16; seed++) {
        begin(1, seed, NULL);
        float *x = upload(numbers, 64), *y = upload(NULL, 64), *z = upload(NULL, 64), out[64];
        cudaStream_t one, two;
        cudaEvent_t event;
        ok(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
        ok(cudaStreamCreateWithPriority(&two, cudaStreamNonBlocking, -1));
        ok(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
        ok(launch("scale", 1, 64, (Args){x, y, 64, 2}, one));
        ok(cudaEventRecord(event, one));
        if (waits)
            ok(cudaStreamWaitEvent(two, event, 0));
        ok(launch("scale", 1, 64, (Args){y, z, 64, 3}, two));
        ok(cudaStreamSynchronize(two));
        ok(cudaDeviceSynchronize());
        download(out, z, 64);
        n_wrong += out[5] != 6 * numbers[5];
        ok(cudaStreamDestroy(one));
        ok(cudaStreamDestroy(two));
        ok(cudaEventDestroy(event));
        ok(cudaFree(x));
        ok(cudaFree(y));
        ok(cudaFree(z));
        end();
    }
    return n_wrong;
}

static void test_event_wait(void **state)
{
    (void)state;
    assert_int_equal(n_wrong_orders(true), 0);
    assert_in_range(n_wrong_orders(false), 4, 16);
}

/* Streams that are not "non-blocking" and the default stream wait for each other. */
static void test_default_stream(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        begin(1, seed, NULL);
        float *x = upload(numbers, 64), *y = upload(NULL, 64), out[64];
        cudaStream_t stream;
        ok(cudaStreamCreateWithFlags(&stream, 0));
        ok(launch("scale", 1, 64, (Args){x, y, 64, 2}, stream));
        ok(launch("scale", 1, 64, (Args){y, x, 64, 2}, NULL));
        ok(launch("scale", 1, 64, (Args){x, y, 64, 2}, stream));
        ok(cudaStreamSynchronize(stream));
        download(out, y, 64);
        assert_true(out[9] == 8 * numbers[9]);
        ok(cudaStreamDestroy(stream));
        ok(cudaFree(x));
        ok(cudaFree(y));
        end();
    }
}

static void test_pinned_copies_are_late(void **state)
{
    (void)state;
    begin(1, 1, NULL);
    float *y = upload(NULL, 1), out, plain = 1;
    void *memory;
    ok(cudaMallocHost(&memory, 4));
    float *pinned = memory;
    *pinned = 1;
    ok(cudaMemcpyAsync(y, pinned, 4, cudaMemcpyHostToDevice, NULL));
    *pinned = 2;
    download(&out, y, 1);
    assert_true(out == 2); /* read when the stream came to it */
    ok(cudaMemcpyAsync(y, &plain, 4, cudaMemcpyHostToDevice, NULL));
    plain = 2;
    download(&out, y, 1);
    assert_true(out == 1); /* read at once */
    assert_int_equal(cudaMemcpy(y, &plain, 8, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    assert_int_equal(cudaMemcpy(&plain, y, 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    ok(cudaFreeHost(memory));
    ok(cudaFree(y));
    end();
}

static void test_polling(void **state)
{
    (void)state;
    begin(1, 1, NULL);
    float *x = upload(numbers, 64), *y = upload(NULL, 64);
    cudaEvent_t from, to;
    ok(cudaEventCreateWithFlags(&from, 0));
    ok(cudaEventCreateWithFlags(&to, 0));
    ok(cudaEventRecord(from, NULL));
    ok(launch("scale", 1, 64, (Args){x, y, 64, 2}, NULL));
    ok(cudaEventRecord(to, NULL));
    float ms;
    assert_int_equal(cudaEventElapsedTime(&ms, from, to), cudaErrorNotReady);
    assert_int_equal(cudaEventQuery(to), cudaErrorNotReady);
    while (cudaStreamQuery(NULL) == cudaErrorNotReady)
        ;
    ok(cudaEventQuery(to));
    ok(cudaEventElapsedTime(&ms, from, to));
    assert_true(ms > 0);
    ok(cudaGetLastError());
    ok(cudaEventDestroy(from));
    ok(cudaEventDestroy(to));
    ok(cudaFree(x));
    ok(cudaFree(y));
    end();
}

/* ---- graphs */

/* Two streams, a fork and a join, replayed. */
static void test_graph(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        begin(1, seed, NULL);
        float *x = upload(numbers, 64), *y = upload(NULL, 64), out[64];
        cudaStream_t one, two;
        cudaEvent_t event;
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        ok(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
        ok(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
        ok(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
        ok(cudaStreamBeginCapture(one, cudaStreamCaptureModeThreadLocal));
        ok(launch("scale", 1, 64, (Args){x, y, 64, 2}, one));
        ok(cudaEventRecord(event, one));
        ok(cudaStreamWaitEvent(two, event, 0));
        ok(launch("scale", 1, 64, (Args){y, x, 64, 1}, two));
        ok(cudaEventRecord(event, two));
        ok(cudaStreamWaitEvent(one, event, 0));
        ok(cudaStreamEndCapture(one, &graph));
        ok(cudaGraphInstantiate(&exec, graph, 0));
        ok(cudaGraphDestroy(graph));
        download(out, x, 64);
        assert_true(out[3] == numbers[3]); /* captured is not done */
        for (int i = 0; i < 3; i++)
            ok(cudaGraphLaunch(exec, i % 2 ? two : one)); /* one launch waits for the one before */
        ok(cudaDeviceSynchronize());
        download(out, x, 64);
        assert_true(out[3] == 8 * numbers[3]);
        ok(cudaGraphExecDestroy(exec));
        ok(cudaStreamDestroy(one));
        ok(cudaStreamDestroy(two));
        ok(cudaEventDestroy(event));
        ok(cudaFree(x));
        ok(cudaFree(y));
        end();
    }
}

static void test_broken_captures(void **state)
{
    (void)state;
    begin(1, 1, NULL);
    cudaStream_t one, two;
    cudaEvent_t event;
    cudaGraph_t graph;
    void *memory;
    float *y = upload(numbers, 1), out;
    ok(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    ok(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
    ok(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    assert_int_equal(cudaStreamBeginCapture(NULL, cudaStreamCaptureModeThreadLocal),
                     cudaErrorStreamCaptureUnsupported);
    ok(cudaStreamBeginCapture(one, cudaStreamCaptureModeThreadLocal));
    ok(cudaEventRecord(event, one));
    ok(cudaStreamWaitEvent(two, event, 0));
    ok(cudaMemsetAsync(y, 0, 4, two));
    assert_int_equal(cudaStreamEndCapture(one, &graph), cudaErrorStreamCaptureUnjoined);
    ok(cudaStreamBeginCapture(one, cudaStreamCaptureModeThreadLocal));
    assert_int_equal(cudaStreamSynchronize(one), cudaErrorStreamCaptureUnsupported);
    assert_int_equal(cudaStreamEndCapture(one, &graph), cudaErrorStreamCaptureInvalidated);
    ok(cudaStreamBeginCapture(one, cudaStreamCaptureModeThreadLocal));
    assert_int_equal(cudaMalloc(&memory, 4), cudaErrorStreamCaptureUnsupported);
    ok(cudaStreamEndCapture(one, &graph));
    ok(cudaGraphDestroy(graph));
    ok(cudaStreamBeginCapture(one, cudaStreamCaptureModeRelaxed));
    ok(cudaMalloc(&memory, 4)); /* which this mode allows */
    ok(cudaStreamEndCapture(one, &graph));
    ok(cudaGraphDestroy(graph));
    download(&out, y, 1);
    assert_true(out == numbers[0]); /* what was captured was not done */
    ok(cudaFree(memory));
    ok(cudaFree(y));
    ok(cudaStreamBeginCapture(two, cudaStreamCaptureModeRelaxed));
    ok(cudaStreamDestroy(one));
    ok(cudaStreamDestroy(two)); /* and what it has captured */
    ok(cudaEventDestroy(event));
    end();
}

/* ---- faults */

static void test_fault_alloc(void **state)
{
    (void)state;
    begin(1, 1, "alloc=2, oom=5000");
    void *memory;
    ok(cudaMalloc(&memory, 4));
    ok(cudaFree(memory));
    assert_int_equal(cudaMalloc(&memory, 4), cudaErrorMemoryAllocation);
    ok(cudaMalloc(&memory, 4999));
    ok(cudaFree(memory));
    assert_int_equal(cudaMalloc(&memory, 5000), cudaErrorMemoryAllocation);
    ok(cudaDeviceSynchronize());
    end();
}

static void test_fault_launch(void **state)
{
    (void)state;
    begin(1, 1, "launch=2");
    float *y = upload(numbers, 64);
    ok(launch("scale", 1, 64, (Args){y, y, 64, 2}, NULL));
    assert_int_equal(launch("scale", 1, 64, (Args){y, y, 64, 2}, NULL),
                     cudaErrorLaunchOutOfResources);
    ok(launch("scale", 1, 64, (Args){y, y, 64, 2}, NULL));
    ok(cudaDeviceSynchronize());
    ok(cudaFree(y));
    end();
}

static void test_fault_late(void **state)
{
    (void)state;
    begin(1, 1, "late=2");
    float *y = upload(numbers, 64);
    for (int i = 0; i < 3; i++)
        ok(launch("scale", 1, 64, (Args){y, y, 64, 2}, NULL));
    fails_with(cudaErrorIllegalAddress, "scale");
}

static void test_fault_stuck(void **state)
{
    (void)state;
    begin(1, 1, "stuck=1");
    float *y = upload(numbers, 64);
    ok(launch("scale", 1, 64, (Args){y, y, 64, 2}, NULL));
    for (int i = 0; i < 100; i++)
        assert_int_equal(cudaStreamQuery(NULL), cudaErrorNotReady);
    begin_with(1, 1, NULL);
}

static void test_fault_lost(void **state)
{
    (void)state;
    begin(2, 1, "lost=3");
    float *y = upload(numbers, 64);
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < 4 && !error; i++) {
        error = launch("scale", 1, 64, (Args){y, y, 64, 2}, NULL);
        error = error ? error : cudaDeviceSynchronize();
    }
    assert_int_equal(error, cudaErrorDevicesUnavailable);
    assert_int_equal(cudaDeviceReset(), cudaErrorDevicesUnavailable);
    ok(cudaSetDevice(1));
    ok(cudaDeviceSynchronize()); /* the other one is there */
    begin_with(1, 1, NULL);
}

static void test_no_device(void **state)
{
    (void)state;
    int n = 7, version;
    cublasLtHandle_t handle;
    ncclComm_t comm;
    begin_with(1, 1, "driver=35");
    assert_int_equal(cudaGetDeviceCount(&n), cudaErrorInsufficientDriver);
    assert_int_equal(n, 0);
    ok(cudaDriverGetVersion(&version));
    assert_int_equal(version, 0);
    assert_int_equal(cublasLtCreate(&handle), CUBLAS_STATUS_NOT_INITIALIZED);
    assert_int_equal(ncclCommInitAll(&comm, 1, NULL), ncclUnhandledCudaError);
    begin_with(0, 1, NULL);
    assert_int_equal(cudaGetDeviceCount(&n), cudaErrorNoDevice);
    assert_false(fakecuda_start(1, 1, 1, "nonsense=1"));
    assert_false(fakecuda_start(99, 1, 1, NULL));
    begin_with(3, 1, NULL);
    ok(cudaGetDeviceCount(&n));
    assert_int_equal(n, 3);
    assert_int_equal(cudaSetDevice(3), cudaErrorInvalidDevice);
    struct cudaDeviceProp about;
    ok(cudaGetDeviceProperties(&about, 2));
    assert_string_equal(about.name, "fake device 2");
}

#define ROW(name) cmocka_unit_test(test_##name)

int main(void)
{
    for (int i = 0; i < 1000; i++)
        numbers[i] = (float)(i % 17) - 5;
    const struct CMUnitTest tests[] = {
        ROW(launch),           ROW(block_sum),      ROW(missing_barrier),
        ROW(shuffle),          ROW(stray_write),    ROW(barrier_not_reached),
        ROW(write_past_end),   ROW(use_after_free), ROW(other_device),
        ROW(refused_launches), ROW(compile_errors), ROW(libraries),
        ROW(event_wait),       ROW(default_stream), ROW(pinned_copies_are_late),
        ROW(polling),          ROW(graph),          ROW(broken_captures),
        ROW(fault_alloc),      ROW(fault_launch),   ROW(fault_late),
        ROW(fault_stuck),      ROW(fault_lost),     ROW(no_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
