/* Copies, libraries of kernels, launches. */
#include "tests/fakecuda/fake.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- copies */

typedef struct {
    char *to;
    const char *from; /* NULL: data after this struct */
    size_t n_bytes;
    char staged[];
} Copy;

static void run_copy(Op *op)
{
    const Copy *copy = op->data;
    const char *from = copy->from ? copy->from : copy->staged;
    if (memory_reach(op->device, copy->to, copy->n_bytes, "a copy") &&
        memory_reach(op->device, from, copy->n_bytes, "a copy"))
        memmove(copy->to, from, copy->n_bytes);
}

/* Source and target must match the kind and each lie in one block. */
static bool ends_fit(const void *to, const void *from, size_t n_bytes, enum cudaMemcpyKind kind)
{
    static const struct {
        bool to_device, from_device;
    } ends[] = {{false, false}, {true, false}, {false, true}, {true, true}};
    const void *end[] = {to, from};
    for (int i = 0; i < 2; i++) {
        const Memory *m = memory_of(end[i]);
        if (memory_in_arena(end[i]) && (!m || !memory_has(end[i], n_bytes, m->device)))
            return false;
        bool on_device = m && m->device != HOST;
        if (kind != cudaMemcpyDefault &&
            on_device != (i ? ends[kind].from_device : ends[kind].to_device))
            return false;
    }
    return true;
}

/* Pageable host memory is read and written within the call, pinned memory when the stream executes
 * it. */
static cudaError_t put_copy(void *to, const void *from, size_t n_bytes, enum cudaMemcpyKind kind,
                            Stream *stream)
{
    if (kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (!n_bytes)
        return cudaSuccess;
    if (!to || !from || !ends_fit(to, from, n_bytes, kind))
        return cudaErrorInvalidValue;
    bool staged = !memory_of(from) && !stream->capture;
    Copy *copy = malloc(sizeof *copy + (staged ? n_bytes : 0));
    *copy = (Copy){.to = to, .from = staged ? NULL : from, .n_bytes = n_bytes};
    if (staged)
        memcpy(copy->staged, from, n_bytes);
    Op *op = stream_put(stream, run_copy, NULL, copy, sizeof *copy + (staged ? n_bytes : 0));
    free(copy);
    if (op && !memory_of(to))
        op_finish(op, true);
    return fake.device[stream->device].failed;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n_bytes, enum cudaMemcpyKind kind,
                            cudaStream_t handle)
{
    cudaError_t error = fake_enter();
    Stream *stream = error ? NULL : stream_of(handle);
    if (!stream)
        return fake_leave(error ? error : cudaErrorInvalidResourceHandle);
    return fake_leave(put_copy(to, from, n_bytes, kind, stream));
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t n_bytes, enum cudaMemcpyKind kind)
{
    cudaError_t error = fake_enter();
    if (error)
        return fake_leave(error);
    if (capture_forbids())
        return fake_leave(cudaErrorStreamCaptureUnsupported);
    Stream *stream = stream_of(NULL);
    error = put_copy(to, from, n_bytes, kind, stream);
    return fake_leave(error ? error : stream_finish(stream));
}

typedef struct {
    char *to;
    int value;
    size_t n_bytes;
} Fill;

static void run_fill(Op *op)
{
    const Fill *fill = op->data;
    if (memory_reach(op->device, fill->to, fill->n_bytes, "a fill"))
        memset(fill->to, fill->value, fill->n_bytes);
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t n_bytes, cudaStream_t handle)
{
    cudaError_t error = fake_enter();
    Stream *stream = error ? NULL : stream_of(handle);
    if (!stream)
        return fake_leave(error ? error : cudaErrorInvalidResourceHandle);
    const Memory *m = memory_of(to);
    if (n_bytes && (!m || !memory_has(to, n_bytes, m->device)))
        return fake_leave(cudaErrorInvalidValue);
    Fill fill = {to, value, n_bytes};
    if (n_bytes)
        stream_put(stream, run_fill, NULL, &fill, sizeof fill);
    return fake_leave(fake.device[stream->device].failed);
}

/* ---- libraries: shared objects of the fake NVRTC ---- */

typedef struct {
    Object object;
    void *loaded;
    int file; /* open meanwhile: the loader identifies libraries by path */
} Library;

static size_t elf_bytes(const void *code)
{
    Elf64_Ehdr head;
    if (strncmp(code, ELFMAG, SELFMAG) != 0)
        return 0;
    memcpy(&head, code, sizeof head);
    return head.e_shoff + (size_t)head.e_shentsize * head.e_shnum;
}

static void *load(const void *code, int *kept)
{
    size_t n_bytes = elf_bytes(code);
    int file = *kept = n_bytes ? memfd_create("kernels", MFD_CLOEXEC) : -1;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    void *loaded = NULL;
    if (file >= 0 && write(file, code, n_bytes) == (ssize_t)n_bytes)
        loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!loaded)
        fake_say("no kernels in this: %s", n_bytes ? dlerror() : "it is no cubin of fakecuda");
    if (file >= 0 && !loaded)
        close(file);
    return loaded;
}

static void library_empty(void *object)
{
    const Library *library = object;
    dlclose(library->loaded);
    close(library->file);
}

static void free_kernels(const Library *library)
{
    for (Object *o = object_first(), *next; o; o = next) {
        next = o->next;
        if (o->kind == OBJECT_KERNEL && ((const Kernel *)o)->library == &library->object)
            object_free(o);
    }
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t *out, const void *code, enum cudaJitOption *options,
                                void **values, unsigned int n, enum cudaLibraryOption *more,
                                void **more_values, unsigned int n_more)
{
    (void)options, (void)values, (void)n, (void)more, (void)more_values, (void)n_more;
    cudaError_t error = fake_enter();
    if (error || !out || !code)
        return fake_leave(error ? error : cudaErrorInvalidValue);
    int file;
    void *loaded = load(code, &file);
    if (!loaded)
        return fake_leave(cudaErrorInvalidKernelImage);
    Library *library = object_new(OBJECT_LIBRARY, sizeof *library, library_empty);
    library->loaded = loaded;
    library->file = file;
    *out = (cudaLibrary_t)(void *)library;
    return fake_leave(cudaSuccess);
}

static void *named(const Library *library, const char *name, const char *suffix)
{
    char symbol[300];
    snprintf(symbol, sizeof symbol, "%s_%s", name, suffix);
    return dlsym(library->loaded, symbol);
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *out, cudaLibrary_t handle, const char *name)
{
    cudaError_t error = fake_enter();
    if (error || !out || !name || !handle || !object_is(handle, OBJECT_LIBRARY))
        return fake_leave(error ? error : cudaErrorInvalidResourceHandle);
    Library *library = (Library *)(void *)handle;
    void *entry = named(library, name, "entry");
    const int64_t *shape = named(library, name, "shape");
    if (!entry || !shape)
        return fake_leave(cudaErrorSymbolNotFound);
    Kernel *kernel = object_new(OBJECT_KERNEL, sizeof *kernel, NULL);
    kernel->library = &library->object;
    memcpy(&kernel->entry, &entry, sizeof entry);
    kernel->threads_max = (int)shape[0];
    kernel->argument_bytes = (size_t)shape[1];
    kernel->dynamic_shared_max = 49152;
    snprintf(kernel->name, sizeof kernel->name, "%s", name);
    *out = (cudaKernel_t)(void *)kernel;
    return fake_leave(cudaSuccess);
}

cudaError_t cudaLibraryUnload(cudaLibrary_t handle)
{
    cudaError_t error = fake_enter();
    if (!fake_gives_back(error))
        return fake_leave(error);
    if (!handle || !object_is(handle, OBJECT_LIBRARY))
        return fake_leave(cudaErrorInvalidResourceHandle);
    for (int i = 0; i < fake.n_devices; i++)
        device_finish(i);
    free_kernels((const Library *)(void *)handle);
    object_free(handle);
    return fake_leave(error);
}

cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr, int value)
{
    cudaError_t error = fake_enter();
    if (error || !object_is(func, OBJECT_KERNEL))
        return fake_leave(error ? error : cudaErrorInvalidDeviceFunction);
    if (attr != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 || value > 232448)
        return fake_leave(cudaErrorInvalidValue);
    Kernel *kernel = (Kernel *)(uintptr_t)func;
    kernel->dynamic_shared_max = (size_t)value;
    return fake_leave(cudaSuccess);
}

/* ---- launches */

static void run_launch(Op *op)
{
    Launch *launch = op->data;
    if (launch->late) {
        fake_say("kernel %s fails, as it was asked to", launch->kernel->name);
        device_fail(op->device, cudaErrorIllegalAddress);
        return;
    }
    blocks_run(op->device, launch);
}

static void run_stuck(Op *op)
{
    op->stuck = true;
}

static cudaError_t launch_fault(const Kernel *kernel, dim3 grid, dim3 block, size_t shared_bytes)
{
    uint64_t threads = (uint64_t)block.x * block.y * block.z;
    if (!threads || block.x > 1024 || block.y > 1024 || block.z > 64 || threads > 1024)
        return cudaErrorInvalidConfiguration;
    if (!grid.x || !grid.y || !grid.z || grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535)
        return cudaErrorInvalidConfiguration;
    if (shared_bytes > kernel->dynamic_shared_max)
        return cudaErrorInvalidValue;
    return threads > (uint64_t)kernel->threads_max ? cudaErrorLaunchOutOfResources : cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void *func, dim3 grid, dim3 block, void **args,
                             size_t shared_bytes, cudaStream_t handle)
{
    cudaError_t error = fake_enter();
    Stream *stream = error ? NULL : stream_of(handle);
    if (!stream || stream->device != fake_current_device())
        return fake_leave(error ? error : cudaErrorInvalidResourceHandle);
    if (!object_is(func, OBJECT_KERNEL))
        return fake_leave(cudaErrorInvalidDeviceFunction);
    Kernel *kernel = (Kernel *)(uintptr_t)func;
    error = launch_fault(kernel, grid, block, shared_bytes);
    int64_t number = ++fake.count.launches;
    if (error || number == fake.fault.launch)
        return fake_leave(error ? error : cudaErrorLaunchOutOfResources);
    Launch *launch = calloc(1, sizeof *launch + kernel->argument_bytes + 8);
    *launch = (Launch){kernel, grid, block, shared_bytes, number == fake.fault.late};
    memcpy(launch->argument, args[0], kernel->argument_bytes);
    OpRun *run = number == fake.fault.stuck ? run_stuck : run_launch;
    stream_put(stream, run, NULL, launch, sizeof *launch + kernel->argument_bytes + 8);
    free(launch);
    return fake_leave(cudaSuccess);
}
