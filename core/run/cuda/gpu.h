/* gpu.h - a rank on a device: its memory, streams and actions.
 *
 * Everything is decided before the first pass: the stream of each instruction and the places of its
 * buffers (stream_schedule.h), its kernels and products (device_work.h), its messages
 * (step_actions.c). A pass is then a list of asynchronous actions per instruction:
 *
 *     the program --op_actions, step_actions--> actions with Addresses, the slots they use
 *                 --stream_schedule_make--> places --memory_open--> one piece of device memory
 *                 --actions_resolve--> the same actions with pointers and kernels
 *                 --enqueue_instr--> streams, a pass at a time; or captured and replayed (graph.c)
 *
 * Each rank has one thread, since NCCL lets threads use their own communicators concurrently, and a
 * rank's op on the host does not delay others. Where several ranks share a device, which NCCL
 * refuses, each reads the others' slots by kernels, ordered by events (ACT_OFFER, ACT_TAKEN), and
 * the barriers of a step are between threads.
 */
#ifndef CORE_RUN_CUDA_GPU_H
#define CORE_RUN_CUDA_GPU_H

#include "core/base/vec.h"
#include "core/run/cuda/blas.h"
#include "core/run/cuda/compile.h"
#include "core/run/cuda/device.h"
#include "core/run/cuda/stream_schedule.h"
#include "core/run/runner.h"

/* ---- actions ---- */

typedef enum { ADDRESS_SLOT, ADDRESS_PEER, ADDRESS_SCRATCH } AddressKind;

/* An address in the memory of the rank, or of a rank of the same process, before allocation. */
typedef struct {
    AddressKind kind;
    int32_t slot;
    int64_t peer; /* its position */
    int64_t offset_bytes;
} Address;

typedef enum {
    ACT_LAUNCH,
    ACT_PRODUCT,
    ACT_COPY,
    ACT_ZERO,
    ACT_HOST_OP, /* the host's kernel, on copies */
    ACT_OFFER,   /* the rank's source is filled: others may read it after this */
    ACT_AWAIT,   /* waits until `peer` has offered its source or, after ACT_TAKEN, read ours */
    ACT_TAKEN,   /* the rank has read its sources */
    ACT_GROUP_START,
    ACT_GROUP_END,
    ACT_SEND,
    ACT_RECEIVE,
    ACT_ALL_REDUCE,
    ACT_ALL_GATHER,
    ACT_REDUCE_SCATTER
} ActionKind;

typedef struct {
    cudaKernel_t kernel;
    dim3 grid, block;
    size_t shared_bytes;
    uint64_t *words;
} Launch;

/* How the places of a DeviceWork resolve. */
typedef struct {
    const int32_t *ops; /* ops of the program, by DevicePlace.op; NULL: a move */
    Address to, from;   /* output and input of a move */
    int64_t *workspace; /* per workspace: place in the scratch */
    int64_t *table;     /* per table: place among the tables of the rank */
} WorkPlaces;

typedef struct {
    ActionKind kind;
    const DeviceItem *item;   /* LAUNCH, PRODUCT, COPY, ZERO: item of a work */
    const WorkPlaces *places; /* of that work; NULL: `to` and `from` */
    Address to, from;
    size_t n_bytes; /* or elements, of a reduction */
    int64_t peer;   /* position */
    int32_t op;     /* HOST_OP */
    bool taken;     /* AWAIT: for ACT_TAKEN */
    int group;      /* place in GpuTeam.groups; -1: all ranks */
    ncclDataType_t type;
    ncclRedOp_t reduce;
    Launch launch; /* resolved addresses, from here on */
    BlasProduct product;
    void *at_to;
    const void *at_from;
    ncclComm_t comm;
} GpuAction;

typedef Vec(GpuAction) Actions;

/* ---- a process ---- */

/* Communicators of ranks that differ only in these atoms. */
typedef struct {
    AtomSet atoms;
    ncclUniqueId *id; /* per group, by the position of its first rank */
} CommGroup;

typedef struct GpuRank GpuRank;

typedef struct {
    Arena *arena;
    int n_devices;
    Device *devices;
    Kernels *kernels;
    Products *products;
    bool shared;      /* ranks share devices: no NCCL */
    bool *peer_reads; /* [n_devices][n_devices]: the first can read the second's memory */
    ncclUniqueId world_id;
    int n_groups;
    CommGroup *groups;
    int first_device;    /* of the process's first rank */
    GpuRank **rank;      /* ranks of the process; NULL: not open */
    atomic_int n_opened; /* ranks opened, or that failed to open */
    atomic_bool *lost;   /* per device */
    atomic_bool stuck;   /* a device hangs: nothing can be freed */
    void **pinned;       /* PINNED_MAX per rank: freed after all ranks have ended */
} GpuTeam;

/* ---- a rank ---- */

struct GpuRank {
    Rank *rank;
    GpuTeam *team;
    Arena *arena;
    const Device *device;
    cudaStream_t stream[LANES];

    InstrUse *use; /* per instruction, as the next two */
    Actions *actions;
    bool *covered;       /* per instruction: an op fused into an earlier one */
    int *n_readers;      /* per slot */
    int64_t *slot_bytes; /* per slot; -1: not stored */
    StreamSchedule schedule;
    DeviceTexts *texts;
    int64_t table_bytes;
    Vec(DeviceTable) tables;
    int n_host_ops;

    char *memory, *table_memory; /* on the device */
    int32_t *fault, *number;     /* on the device, per instruction: fault found; its own index */
    int32_t *fault_seen, *mark;  /* pinned: copy of the faults; per lane the last finished
                                  * instruction, -1 */
    char *staging;               /* pinned, STAGING_BYTES */
    void *blas_workspace;
    Blas blas;
    ncclComm_t comm, *group_comm;

    cudaEvent_t *done;        /* per instruction that others wait for */
    cudaEvent_t *begin, *end; /* per instruction, with times */
    cudaEvent_t offer, taken, fork, join, pass_begin, pass_end;
    bool *timed; /* per instruction: timed in this pass */
    double pass_start_us, enqueue_us;
    int pass_enqueued[LANES]; /* the last instruction that was enqueued; -1 */
    bool in_pass, capturing, refused, replaying;
    atomic_bool watching; /* it is waiting for its device */
    cudaGraphExec_t graph;
    Local *fetched;
};

enum { STAGING_BYTES = 4 << 20, PINNED_MAX = 3 };

static inline const Program *gpu_program(const GpuRank *gpu)
{
    return gpu->rank->team->program;
}

static inline const Graph *gpu_graph(const GpuRank *gpu)
{
    return gpu->rank->team->plan->inferred->graph;
}

static inline GpuTeam *gpu_team(const Team *team)
{
    return team->own;
}

/* ---- making (op_actions.c, step_actions.c, actions.c) ---- */

/* The actions of an op and the ops fused with it. */
bool op_actions(GpuRank *gpu, int at, Error *err);
Local *gpu_existing_slot(Rank *rank, int32_t slot); /* MakeSlot: all slots exist */
/* The actions of a step; none if the rank takes no part in it. */
bool step_actions(GpuRank *gpu, int at, Error *err);

/* Allocates scratch of instruction `at`. */
Address scratch_address(GpuRank *gpu, int at, int64_t n_bytes);
Address slot_address(int32_t slot, int64_t offset_bytes);
void use_slot(GpuRank *gpu, int at, int32_t slot, bool writes);
/* Adds the items of a work; places its workspaces and tables. */
void add_work(GpuRank *gpu, int at, const DeviceWork *work, const WorkPlaces *places);

/* Resolves addresses and kernels, once memory and communicators exist. */
bool actions_resolve(GpuRank *gpu, Error *err);
void actions_close(GpuRank *gpu);

/* ---- memory (memory.c) ---- */

bool memory_open(GpuRank *gpu, Error *err);
void memory_close(GpuRank *gpu, bool broken); /* with a broken device frees only host memory */
bool memory_load(GpuRank *gpu, int32_t slot, Error *err);
/* A Local in host memory with the layout of the slot; NULL when memory is out. */
Local *memory_host_local(GpuRank *gpu, int32_t slot, Error *err);
/* Copies the slot to the host after pending work. */
bool memory_fetch(GpuRank *gpu, int32_t slot, Local *to, Error *err);
bool memory_put(GpuRank *gpu, void *to, const void *from, int64_t n_bytes, Error *err);

/* ---- communicators (comm.c) ---- */

/* Assigns devices and shares the ids of communicators among processes. */
bool comm_team_open(Team *team, GpuTeam *gpus, Error *err);
bool comm_open(GpuRank *gpu, Error *err);
void comm_close(GpuRank *gpu); /* aborts pending operations when the run has failed */
int comm_group(const GpuTeam *gpus, AtomSet atoms); /* -1: none */
bool comm_errors(GpuRank *gpu, Error *err);         /* asynchronous errors of NCCL */

/* ---- executing (enqueue.c, graph.c) ---- */

bool pass_begin(GpuRank *gpu, Error *err);
bool pass_fork(GpuRank *gpu, Error *err); /* the second stream joins the pass */
bool pass_join(GpuRank *gpu, Error *err); /* the compute stream waits for both */
bool enqueue_instr(GpuRank *gpu, int at, bool timed, Error *err);
bool enqueue_pass(GpuRank *gpu, Error *err);

/* Captures a pass once, then replays it. *done is false when the pass cannot be replayed. */
bool graph_replay(GpuRank *gpu, int pass, bool *done, Error *err);
void graph_close(GpuRank *gpu);

/* ---- waiting (watch.c) ---- */

/* Waits until the work of a stream ends, fails or hangs. False without *err: another rank has
 * failed. */
bool watch_lane(GpuRank *gpu, Lane lane, Error *err);
/* The same, briefly, when a rank is closed. False: the device is lost or hangs, which is recorded
 * in the team. */
bool watch_end(GpuRank *gpu);
/* Sets *err from an error of a call about instruction `at` (-1: none); for a lost device it names
 * the instruction that was running. */
bool watch_blame(GpuRank *gpu, int at, const Error *inner, Error *err);
/* Puts "op 'x'" or "all-reduce of 'y'" before the error. */
bool instr_blame(const GpuRank *gpu, int at, const Error *inner, Error *err);

/* Reports progress while a device is opened, for a minute at most. */
typedef struct Beating Beating;
Beating *beating_start(Rank *rank);
void beating_stop(Beating *beating);

#endif
