/* fake.h - what the parts of libfakecuda share.
 *
 * One lock guards everything; a function that is not of the CUDA interface expects it held.
 * Work is a graph of Ops: an op may be done when all before it are. A stream is no more than its
 * last op, an event the op it was recorded as. Ops are counted: whoever keeps one holds a count.
 */
#ifndef TESTS_FAKECUDA_FAKE_H
#define TESTS_FAKECUDA_FAKE_H

#include "core/run/cuda/cuda_api.h"
#include "tests/fakecuda/fakecuda.h"

#include <pthread.h>

enum { DEVICES_MAX = 16, HOST = -1, NO_DEVICE = -1, LANE_NONE = -1 };

/* ---- objects: whatever has a handle; a list of all tells handles from garbage, and leaks ---- */

typedef enum {
    OBJECT_STREAM,
    OBJECT_EVENT,
    OBJECT_GRAPH,
    OBJECT_GRAPH_EXEC,
    OBJECT_LIBRARY,
    OBJECT_KERNEL, /* goes with its library */
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
    void (*empty)(void *object); /* lets go of what it holds; or NULL */
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
    OpRun *run;       /* NULL: nothing but a place in the order */
    OpRun *submitted; /* NULL, or called when it enters the queue, after its places are known */
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
void op_submit(Op *op); /* takes the caller's count */
/* Does work until op is done. False: it cannot be now, and `wait` was not asked for,
 * or its device has failed. */
bool op_finish(Op *op, bool wait);
void op_release(Op *op); /* one reason less to wait */
void queue_step(void);   /* does one piece of work, if any can be done */
void queue_changed(void);
void queue_forget(int device); /* what it has to do will do nothing */
void queue_clear(void);

/* ---- streams ---- */

typedef struct Graph Graph;

typedef struct Stream {
    Object object;
    int device, lane;
    bool blocking; /* it waits for the default stream, and the default stream for it */
    Op *tail;
    Graph *capture; /* NULL, or what its work goes into */
    int node;       /* the last one it put there, -1: none */
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
/* Puts work at the end of a stream, or of what it captures. The op that was put, or NULL. */
Op *stream_put(Stream *stream, OpRun *run, OpRun *submitted, const void *data, size_t n_bytes);
/* Work that starts together after what the stream held: between open and close. */
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
bool capture_forbids(void); /* a capture goes on that lets this thread not wait or allocate */

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
    pthread_t thread; /* which began it */
    bool invalid, ended;
};

int graph_add(Graph *graph, OpRun *run, OpRun *submitted, const void *data, size_t n_bytes,
              int device, int lane);
void graph_order(Graph *graph, int node, int before);
/* A call that a stream must not see while it captures. */
cudaError_t capture_break(Stream *stream);
void graph_abandon(Stream *stream); /* it goes, and what it began to capture with it */

/* ---- memory ---- */

typedef struct {
    char *base, *data; /* pages, and what was given: its end is near the pages' */
    size_t n_pages_bytes, n_bytes;
    int device; /* or HOST */
    bool open;
} Memory;

Memory *memory_of(const void *address); /* the one that holds it, or NULL */
/* All of the bytes are of one block of that device (HOST: may be no block at all). */
bool memory_has(const void *address, size_t n_bytes, int device);
/* The library itself is about to touch these bytes for work on a device. False, with
 * the device failed, when they are not (or no more) there. */
bool memory_reach(int device, const void *address, size_t n_bytes, const char *who);
bool memory_in_arena(const void *address);
void memory_open_for(int device);                        /* a kernel is about to run on it */
bool memory_check_ends(int device, const char *who);     /* false, with the device failed */
void memory_explain(const void *address, char out[200]); /* where that is, in words */
void memory_close(void);
void memory_clear(int device); /* all it holds */
void memory_count(FakecudaLeaks *leaks);
bool peer_open(int device, int owner);

/* ---- devices, errors, faults ---- */

typedef struct {
    cudaError_t failed; /* 0, or what each call on it gives */
    bool lost;
    size_t malloc_bytes;
    Stream *standard;       /* the default stream */
    bool peer[DEVICES_MAX]; /* may reach what cudaMalloc gave on that device */
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

cudaError_t fake_enter(void); /* locks; the error of a missing driver or a fork */
cudaError_t fake_enter_device(int device);
bool fake_gives_back(cudaError_t error);   /* on a failed device too what is given back is gone */
cudaError_t fake_leave(cudaError_t error); /* remembers it for the thread, unlocks */
void fake_unlock(void);
void fake_lock(void);
void fake_wait(void); /* until another thread has changed something */
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

/* Runs all blocks; false, with the device failed, when a thread goes astray. */
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
