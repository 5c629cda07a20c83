/* Devices, errors, injected faults, and the interface of tests. */
#include "tests/fakecuda/fake.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

Fake fake;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t change = PTHREAD_COND_INITIALIZER;
static Object *objects;
static pid_t owner; /* process that used it first; 0: none */
static char message[400];
static _Thread_local int current_device;
static _Thread_local cudaError_t last_error;

/* ---- objects */

void *object_new(ObjectKind kind, size_t size, void (*empty)(void *object))
{
    Object *object = calloc(1, size);
    object->kind = kind;
    object->empty = empty;
    object->next = objects;
    objects = object;
    return object;
}

Object *object_first(void)
{
    return objects;
}

bool object_is(const void *handle, ObjectKind kind)
{
    for (const Object *o = objects; o; o = o->next) {
        if (o == handle)
            return o->kind == kind;
    }
    return false;
}

void object_free(void *handle)
{
    for (Object **at = &objects; *at; at = &(*at)->next) {
        if (*at != handle)
            continue;
        Object *object = *at;
        *at = object->next;
        if (object->empty)
            object->empty(object);
        free(object);
        return;
    }
}

/* ---- lock, random numbers, time, messages ---- */

void fake_lock(void)
{
    pthread_mutex_lock(&lock);
}

void fake_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void fake_wait(void)
{
    pthread_cond_wait(&change, &lock);
}

void queue_changed(void)
{
    pthread_cond_broadcast(&change);
}

uint64_t fake_random(void)
{
    fake.random += 0x9e3779b97f4a7c15u;
    uint64_t x = fake.random;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

double fake_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void fake_say(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    const char *log = getenv("FAKECUDA_LOG");
    if (log && *log == '1')
        fprintf(stderr, "fakecuda: %s\n", message);
}

const char *fakecuda_message(void)
{
    return message;
}

/* ---- faults */

static const struct {
    const char *name;
    size_t offset;
} fault_names[] = {
    {"alloc", offsetof(Faults, alloc)},     {"oom", offsetof(Faults, oom)},
    {"launch", offsetof(Faults, launch)},   {"late", offsetof(Faults, late)},
    {"stuck", offsetof(Faults, stuck)},     {"lost", offsetof(Faults, lost)},
    {"hang", offsetof(Faults, hang)},       {"matmul", offsetof(Faults, matmul)},
    {"compile", offsetof(Faults, compile)}, {"driver", offsetof(Faults, driver)},
};

static bool read_faults(const char *text, Faults *out)
{
    *out = (Faults){0};
    while (text && *(text += strspn(text, " ,"))) {
        size_t length = strcspn(text, "=");
        bool known = false;
        for (size_t i = 0; i < sizeof fault_names / sizeof *fault_names; i++) {
            const char *name = fault_names[i].name;
            if (strlen(name) != length || strncmp(name, text, length) != 0 || !text[length])
                continue;
            char *end;
            *(int64_t *)((char *)out + fault_names[i].offset) =
                strtoll(text + length + 1, &end, 10);
            known = end != text + length + 1;
            text = end;
            break;
        }
        if (!known)
            return false;
    }
    return true;
}

void device_fail(int device, cudaError_t error)
{
    if (!fake.device[device].failed)
        fake.device[device].failed = error;
    queue_changed();
}

/* ---- start and end */

static void reset_device(int at)
{
    Device *device = &fake.device[at];
    bool lost = device->lost;
    memory_clear(at);
    op_drop(device->standard ? device->standard->tail : NULL);
    *device = (Device){.standard = device->standard, .lost = lost};
    device->failed = lost ? cudaErrorDevicesUnavailable : cudaSuccess;
    device->standard->tail = NULL;
}

static void begin(int n_devices, size_t memory_bytes, uint64_t seed, const Faults *faults)
{
    const char *peer = getenv("FAKECUDA_PEER");
    fake = (Fake){
        .n_devices = n_devices, .memory_bytes = memory_bytes, .random = seed, .fault = *faults};
    fake.peers = !peer || *peer != '0';
    for (int i = 0; i < n_devices; i++) {
        fake.device[i].standard = stream_make(i, true);
        reset_device(i);
    }
}

static void clear(void)
{
    queue_clear();
    nccl_clear();
    for (int i = 0; i < DEVICES_MAX; i++)
        memory_clear(i);
    memory_clear(HOST);
    while (objects)
        object_free(objects);
}

static int64_t from_environment(const char *name, int64_t unset)
{
    const char *text = getenv(name);
    return text && *text ? strtoll(text, NULL, 10) : unset;
}

static void write_leaks(void)
{
    const char *path = getenv("FAKECUDA_LEAKS");
    FILE *file = path && getpid() == owner ? fopen(path, "w") : NULL;
    if (!file)
        return;
    FakecudaLeaks l;
    int n = fakecuda_leaks(&l);
    fprintf(file,
            "%d leaks: %d device blocks of %zu bytes, %d host blocks, %d streams, %d events, "
            "%d graphs, %d libraries, %d programs, %d of cuBLASLt, %d communicators\n",
            n, l.device_blocks, l.device_bytes, l.host_blocks, l.streams, l.events, l.graphs,
            l.libraries, l.programs, l.blas, l.comms);
    fclose(file);
}

static void begin_by_environment(void)
{
    Faults faults;
    int64_t n = from_environment("FAKECUDA_DEVICES", 2);
    if (!read_faults(getenv("FAKECUDA_FAULT"), &faults) || n < 0 || n > DEVICES_MAX) {
        fprintf(stderr, "fakecuda: FAKECUDA_FAULT or FAKECUDA_DEVICES makes no sense\n");
        abort();
    }
    begin((int)n, (size_t)from_environment("FAKECUDA_MEMORY", (int64_t)1 << 30),
          (uint64_t)from_environment("FAKECUDA_SEED", 1), &faults);
}

static void own(void)
{
    if (owner)
        return;
    owner = getpid();
    atexit(write_leaks);
}

bool fakecuda_start(int n_devices, size_t memory_bytes, uint64_t seed, const char *text)
{
    Faults faults;
    if (!read_faults(text, &faults) || n_devices < 0 || n_devices > DEVICES_MAX)
        return false;
    fake_lock();
    own();
    clear();
    begin(n_devices, memory_bytes, seed, &faults);
    current_device = 0;
    last_error = cudaSuccess;
    message[0] = 0;
    fake_unlock();
    return true;
}

int fakecuda_leaks(FakecudaLeaks *out)
{
    FakecudaLeaks leaks = {0};
    int *const count[N_OBJECT_KINDS] = {
        [OBJECT_STREAM] = &leaks.streams,    [OBJECT_EVENT] = &leaks.events,
        [OBJECT_GRAPH] = &leaks.graphs,      [OBJECT_GRAPH_EXEC] = &leaks.graphs,
        [OBJECT_LIBRARY] = &leaks.libraries, [OBJECT_PROGRAM] = &leaks.programs,
        [OBJECT_BLAS] = &leaks.blas,         [OBJECT_MATMUL_DESC] = &leaks.blas,
        [OBJECT_LAYOUT] = &leaks.blas,       [OBJECT_PREFERENCE] = &leaks.blas,
        [OBJECT_COMM] = &leaks.comms,
    };
    fake_lock();
    for (const Object *o = objects; o; o = o->next) {
        if (count[o->kind])
            ++*count[o->kind];
    }
    leaks.streams -= fake.n_devices; /* the default streams */
    memory_count(&leaks);
    fake_unlock();
    if (out)
        *out = leaks;
    return leaks.device_blocks + leaks.host_blocks + leaks.streams + leaks.events + leaks.graphs +
           leaks.libraries + leaks.programs + leaks.blas + leaks.comms;
}

FakecudaCounts fakecuda_counts(void)
{
    fake_lock();
    FakecudaCounts counts = fake.count;
    fake_unlock();
    return counts;
}

/* ---- entering and leaving */

static cudaError_t enter_system(void)
{
    fake_lock();
    if (owner && owner != getpid())
        return cudaErrorInitializationError;
    if (!owner) {
        own();
        begin_by_environment();
    }
    if (current_device >= fake.n_devices)
        current_device = 0;
    if (fake.fault.driver)
        return (cudaError_t)fake.fault.driver;
    return fake.n_devices ? cudaSuccess : cudaErrorNoDevice;
}

cudaError_t fake_enter_device(int device)
{
    cudaError_t error = enter_system();
    if (error)
        return error;
    if (device < 0 || device >= fake.n_devices)
        return cudaErrorInvalidDevice;
    return fake.device[device].failed;
}

cudaError_t fake_enter(void)
{
    cudaError_t error = enter_system();
    return error ? error : fake.device[current_device].failed;
}

bool fake_gives_back(cudaError_t error)
{
    return !error || (fake.n_devices && error == fake.device[current_device].failed);
}

cudaError_t fake_leave(cudaError_t error)
{
    if (error && error != cudaErrorNotReady)
        last_error = error;
    fake_unlock();
    return error;
}

int fake_current_device(void)
{
    return current_device;
}

/* ---- devices */

cudaError_t cudaGetDeviceCount(int *count)
{
    cudaError_t error = enter_system();
    if (count)
        *count = error ? 0 : fake.n_devices;
    return fake_leave(error);
}

cudaError_t cudaSetDevice(int device)
{
    cudaError_t error = fake_enter_device(device);
    if (error != cudaErrorInvalidDevice && device >= 0 && device < fake.n_devices)
        current_device = device;
    return fake_leave(error);
}

static const struct {
    enum cudaDeviceAttr attr;
    int value;
} attributes[] = {
    {cudaDevAttrComputeCapabilityMajor, 9},
    {cudaDevAttrComputeCapabilityMinor, 0},
};

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
    cudaError_t error = fake_enter_device(device);
    for (size_t i = 0; !error && i < sizeof attributes / sizeof *attributes; i++) {
        if (attributes[i].attr == attr) {
            *value = attributes[i].value;
            return fake_leave(cudaSuccess);
        }
    }
    return fake_leave(error ? error : cudaErrorInvalidValue);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *out, int device)
{
    cudaError_t error = fake_enter_device(device);
    if (!error) {
        memset(out, 0, sizeof *out);
        snprintf(out->name, sizeof out->name, "fake device %d", device);
    }
    return fake_leave(error);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    cudaError_t error = fake_enter();
    *least = 0;
    *greatest = -5;
    return fake_leave(error);
}

cudaError_t cudaDeviceSynchronize(void)
{
    cudaError_t error = fake_enter();
    if (!error && capture_forbids())
        return fake_leave(cudaErrorStreamCaptureUnsupported);
    return fake_leave(error ? error : device_finish(current_device));
}

/* Destroys everything on the device, streams and events too; a lost device stays lost. */
cudaError_t cudaDeviceReset(void)
{
    cudaError_t error = enter_system();
    if (error)
        return fake_leave(error);
    queue_forget(current_device);
    for (Object *o = objects, *next; o; o = next) {
        next = o->next;
        bool here = (o->kind == OBJECT_STREAM && ((Stream *)o)->device == current_device &&
                     (Stream *)o != fake.device[current_device].standard) ||
                    (o->kind == OBJECT_EVENT && ((Event *)o)->device == current_device);
        if (here)
            object_free(o);
    }
    reset_device(current_device);
    last_error = cudaSuccess;
    return fake_leave(fake.device[current_device].failed);
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    cudaError_t error = fake_enter_device(device);
    if (!error && (peer < 0 || peer >= fake.n_devices))
        error = cudaErrorInvalidDevice;
    if (!error)
        *can = fake.peers && peer != device;
    return fake_leave(error);
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags)
{
    cudaError_t error = fake_enter();
    if (error || flags || peer < 0 || peer >= fake.n_devices || peer == current_device)
        return fake_leave(error ? error : flags ? cudaErrorInvalidValue : cudaErrorInvalidDevice);
    if (!fake.peers)
        return fake_leave(cudaErrorPeerAccessUnsupported);
    bool *open = &fake.device[current_device].peer[peer];
    if (*open)
        return fake_leave(cudaErrorPeerAccessAlreadyEnabled);
    *open = true;
    memory_close();
    return fake_leave(cudaSuccess);
}

cudaError_t cudaDriverGetVersion(int *version)
{
    cudaError_t error = enter_system();
    *version = error == cudaErrorInsufficientDriver ? 0 : 13000;
    fake_unlock();
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = 13000;
    return cudaSuccess;
}

/* ---- errors */

#define NAMED(error)                                                                               \
    {                                                                                              \
        error, #error                                                                              \
    }
static const struct {
    cudaError_t error;
    const char *name;
} errors[] = {
    NAMED(cudaSuccess),
    NAMED(cudaErrorInvalidValue),
    NAMED(cudaErrorMemoryAllocation),
    NAMED(cudaErrorInitializationError),
    NAMED(cudaErrorInvalidConfiguration),
    NAMED(cudaErrorInvalidMemcpyDirection),
    NAMED(cudaErrorInsufficientDriver),
    NAMED(cudaErrorDevicesUnavailable),
    NAMED(cudaErrorInvalidDeviceFunction),
    NAMED(cudaErrorNoDevice),
    NAMED(cudaErrorInvalidDevice),
    NAMED(cudaErrorInvalidKernelImage),
    NAMED(cudaErrorPeerAccessUnsupported),
    NAMED(cudaErrorInvalidResourceHandle),
    NAMED(cudaErrorSymbolNotFound),
    NAMED(cudaErrorNotReady),
    NAMED(cudaErrorIllegalAddress),
    NAMED(cudaErrorLaunchOutOfResources),
    NAMED(cudaErrorPeerAccessAlreadyEnabled),
    NAMED(cudaErrorLaunchFailure),
    NAMED(cudaErrorStreamCaptureUnsupported),
    NAMED(cudaErrorStreamCaptureInvalidated),
    NAMED(cudaErrorStreamCaptureUnmatched),
    NAMED(cudaErrorStreamCaptureUnjoined),
    NAMED(cudaErrorStreamCaptureIsolation),
    NAMED(cudaErrorCapturedEvent),
};
#undef NAMED

const char *cudaGetErrorName(cudaError_t error)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (errors[i].error == error)
            return errors[i].name;
    }
    return "an error without a name here";
}

const char *cudaGetErrorString(cudaError_t error)
{
    return cudaGetErrorName(error);
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t error = fake_enter();
    fake_unlock();
    error = error ? error : last_error;
    last_error = cudaSuccess;
    return error;
}
