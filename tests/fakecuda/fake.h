/* fake.h - shared by the files of libfakecuda.
 *
 * One lock guards everything; functions outside of the CUDA interface expect it held. Work is a
 * graph of Ops; an op may run when its predecessors are done. A stream is its last op, an event the
 * op it was recorded as. Ops are reference-counted.
 */
#ifndef TESTS_FAKECUDA_FAKE_H
#define TESTS_FAKECUDA_FAKE_H

#include "core/run/cuda/cuda_api.h"
#include "tests/fakecuda/fakecuda.h"

#include <pthread.h>

enum { DEVICES_MAX = 16, HOST = -1, NO_DEVICE = -1, LANE_NONE = -1 };

/* ---- objects: everything with a handle; the list of all detects invalid handles and leaks ---- */

typedef enum {
    OBJECT_STREAM,
    OBJECT_EVENT,
    OBJECT_GRAPH,
    OBJECT_GRAPH_EXEC,
    OBJECT_LIBRARY,
    OBJECT_KERNEL, /* freed with its library */
    OBJECT_PROGRAM,
    OBJECT_BLAS,
    OBJECT_MATMUL_DESC,
    OBJECT_LAYOUT,
    OBJECT_PREFERENCE,
    OBJECT_COMM,
    N_OBJECT_KINDS
} ObjectKind;

typedef struct Object Object;
struct Object {
    ObjectKind kind;
    void (*empty)(void *object); /* releases what it holds; may be NULL */
    Object *next;
};

/* Starts with an Object; zeroed. */
void *object_new(ObjectKind kind, size_t size, void (*empty)(void *object));
bool object_is(const void *handle, ObjectKind kind);
void object_free(void *handle);
Object *object_first(void);

/* ---- work ---- */

typedef struct Op Op;
typedef void OpRun(Op *op);

struct Op {
    OpRun *run;       /* NULL: only an ordering point */
    OpRun *submitted; /* called on entering the queue, with its predecessors known; may be NULL */
    void *data;       /* its own copy */
    size_t n_bytes;
    int device, lane;
    int refs, n_waiting;
    bool done, stuck;
    uint64_t mark;
    double done_at; /* seconds */
    Op **before, **after;
    int n_before, n_after, before_room, after_room;
};

Op *op_new(OpRun *run, const void *data, size_t n_bytes, int device, int lane);
Op *op_keep(Op *op);
void op_drop(Op *op);           /* NULL is fine */
void op_after(Op *op, Op *dep); /* op is done after dep; dep may be NULL */
void op_detach(Op *op, Op *dep);
void op_submit(Op *op); /* takes over the caller's reference */
/* Runs work until op is done. False: not possible without `wait`, or its device has failed. */
bool op_finish(Op *op, bool wait);
void op_release(Op *op); /* one dependency less */
void queue_step(void);   /* runs one op, if any can */
void queue_changed(void);
void queue_forget(int device); /* its pending work becomes no-ops */
void queue_clear(void);

/* ---- streams ---- */

typedef struct Graph Graph;

typedef struct Stream {
    Object object;
    int device, lane;
    bool blocking; /* synchronizes with the default stream */
    Op *tail;
    Graph *capture; /* graph being captured, or NULL */
    int node;       /* last captured node, -1 */
} Stream;

typedef struct Event {
    Object object;
    int device;
    bool timed;
    Op *op; /* NULL: not recorded */
    Graph *capture;
    int node;
} Event;

Stream *stream_make(int device, bool blocking);
Stream *stream_of(cudaStream_t handle); /* NULL: no such stream */
/* Appends work to a stream or its capture; returns the op, or NULL when capturing. */
Op *stream_put(Stream *stream, OpRun *run, OpRun *submitted, const void *data, size_t n_bytes);
/* Concurrent work after the stream's tail, between stream_fork() and stream_join(). */
typedef struct {
    Stream *stream;
    Op *base, *join;
    int base_node, join_node;
} Fork;
Fork stream_fork(Stream *stream);
void fork_put(Fork *fork, OpRun *run, OpRun *submitted, const void *data, size_t n_bytes);
void stream_join(Fork *fork);
cudaError_t stream_finish(Stream *stream);
cudaError_t device_finish(int device);
bool capture_forbids(void); /* a capture forbids this thread to wait or allocate */

/* ---- graphs ---- */

typedef struct {
    OpRun *run, *submitted;
    void *data;
    size_t n_bytes;
    int device, lane;
    int *before, n_before;
} Node;

struct Graph {
    Object object;
    Node *node;
    int n_nodes;
    Stream *origin;
    enum cudaStreamCaptureMode mode;
    pthread_t thread; /* thread that began the capture */
    bool invalid, ended;
};

int graph_add(Graph *graph, OpRun *run, OpRun *submitted, const void *data, size_t n_bytes,
              int device, int lane);
void graph_order(Graph *graph, int node, int before);
/* The error of a call that is forbidden during capture; invalidates it. */
cudaError_t capture_break(Stream *stream);
void graph_abandon(Stream *stream); /* drops the stream and the capture it began */

/* ---- memory ---- */

typedef struct {
    char *base, *data; /* pages, and the block, which ends near their end */
    size_t n_pages_bytes, n_bytes;
    int device; /* or HOST */
    bool open;
} Memory;

Memory *memory_of(const void *address); /* block containing the address, or NULL */
/* Whether all bytes are in one block of the device (HOST: maybe in none). */
bool memory_has(const void *address, size_t n_bytes, int device);
/* Checks bytes that the library touches for work on a device. False, with the device failed, when
 * they are not accessible there. */
bool memory_reach(int device, const void *address, size_t n_bytes, const char *who);
bool memory_in_arena(const void *address);
void memory_open_for(int device);                        /* before a kernel runs on the device */
bool memory_check_ends(int device, const char *who);     /* false, with the device failed */
void memory_explain(const void *address, char out[200]); /* describes the address */
void memory_close(void);
void memory_clear(int device); /* all it holds */
void memory_count(FakecudaLeaks *leaks);
bool peer_open(int device, int owner);

/* ---- devices, errors, faults ---- */

typedef struct {
    cudaError_t failed; /* error of every call on it, or 0 */
    bool lost;
    size_t malloc_bytes;
    Stream *standard;       /* the default stream */
    bool peer[DEVICES_MAX]; /* may access memory of that device */
} Device;

typedef struct {
    int64_t alloc, oom, launch, late, stuck, lost, hang, matmul, compile, driver;
} Faults;

typedef struct {
    int n_devices;
    size_t memory_bytes;
    bool peers;
    uint64_t random;
    Faults fault;
    FakecudaCounts count;
    Device device[DEVICES_MAX];
    int n_lanes;
} Fake;

extern Fake fake;

cudaError_t fake_enter(void); /* locks; returns the error of a missing driver or a fork */
cudaError_t fake_enter_device(int device);
bool fake_gives_back(cudaError_t error);   /* a failed device still accepts frees */
cudaError_t fake_leave(cudaError_t error); /* stores the thread's last error, unlocks */
void fake_unlock(void);
void fake_lock(void);
void fake_wait(void); /* waits until another thread changes something */
int fake_current_device(void);
uint64_t fake_random(void);
double fake_seconds(void);
__attribute__((format(printf, 1, 2))) void fake_say(const char *format, ...);
void device_fail(int device, cudaError_t error);

/* ---- kernels ---- */

typedef struct {
    Object object;
    const Object *library;
    char name[64];
    void (*entry)(void **args);
    size_t argument_bytes;
    int threads_max;
    size_t dynamic_shared_max;
} Kernel;

typedef struct {
    Kernel *kernel;
    dim3 grid, block;
    size_t shared_bytes;
    bool late;
    uint64_t argument[];
} Launch;

/* Runs all blocks; false, with the device failed, on an invalid access or barrier. */
bool blocks_run(int device, Launch *launch);

/* ---- collectives ---- */

void nccl_clear(void);

/* ---- numbers ---- */

float half_value(uint16_t bits);
uint16_t half_of(float x);
float bf16_value(uint16_t bits);
uint16_t bf16_of(float x);
size_t nccl_type_bytes(ncclDataType_t type); /* 0: no such type */
/* to = to (op) with, and to = to / by, for each of n. */
void numbers_reduce(ncclDataType_t type, ncclRedOp_t op, char *to, const char *with, size_t n);
void numbers_divide(ncclDataType_t type, char *to, size_t n, int by);

#endif
