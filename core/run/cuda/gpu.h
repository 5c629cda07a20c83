/* gpu.h - a rank on a device: what it has there, and what each instruction is for it.
 *
 * Before the first pass everything is decided: on which stream an instruction is done and where its
 * buffers lie (turns.h), what kernels and products it is (device_work.h), what is sent to whom
 * (step_actions.c). What is left of a pass is one list of actions an instruction, each a call that
 * begins something and does not wait for it:
 *
 *     the program --op_actions, step_actions--> actions with Addresses, what they touch
 *                 --turns_make--> places --memory_open--> one piece of device memory
 *                 --actions_resolve--> the same actions with pointers and kernels
 *                 --enqueue_instr--> streams, a pass at a time; or captured and replayed (graph.c)
 *
 * One thread a rank begins its work: it calls NCCL for its own communicator, which several threads
 * may do at once, and one rank's kernel op on the host holds up no other. Where several ranks share
 * a device, which NCCL refuses, each reads the others' slots by kernels, in the order of events
 * (ACT_OFFER, ACT_TAKEN), and the two meetings of a step are those of threads, not of devices.
 */
#ifndef CORE_RUN_CUDA_GPU_H
#define CORE_RUN_CUDA_GPU_H

#include "core/base/vec.h"
#include "core/run/cuda/blas.h"
#include "core/run/cuda/compile.h"
#include "core/run/cuda/device.h"
#include "core/run/cuda/turns.h"
#include "core/run/runner.h"

/* ---- actions ---- */

typedef enum { ADDRESS_SLOT, ADDRESS_PEER, ADDRESS_SCRATCH } AddressKind;

/* Bytes of the rank, or of a rank of the same process, before it is known where they lie. */
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
    ACT_OFFER,   /* what the rank has is filled: others may read it after this */
    ACT_AWAIT,   /* what `peer` offered, or, after ACT_TAKEN, that it has read */
    ACT_TAKEN,   /* the rank has read what it wanted */
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

/* What the places of a DeviceWork are. */
typedef struct {
    const int32_t *ops; /* of the program, by DevicePlace.op; NULL: a move */
    Address to, from;   /* of a move: its one output and input */
    int64_t *workspace; /* per workspace: place in the scratch */
    int64_t *table;     /* per table: place among the rank's */
} WorkPlaces;

typedef struct {
    ActionKind kind;
    const DeviceItem *item;   /* LAUNCH, PRODUCT, COPY, ZERO of a work */
    const WorkPlaces *places; /* of that work; NULL: `to` and `from` */
    Address to, from;
    size_t n_bytes; /* or elements, of a reduction */
    int64_t peer;   /* position */
    int32_t op;     /* HOST_OP */
    bool taken;     /* AWAIT: that it has read */
    int group;      /* place in GpuTeam.groups; -1: all ranks */
    ncclDataType_t type;
    ncclRedOp_t reduce;
    Launch launch; /* resolved, from here on */
    BlasProduct product;
    void *at_to;
    const void *at_from;
    ncclComm_t comm;
} Action;

typedef Vec(Action) Actions;

/* ---- a process ---- */

/* Ranks that differ in these atoms only are a communicator each. */
typedef struct {
    AtomSet atoms;
    ncclUniqueId *id; /* per group, by the place of its first rank among first ranks */
} CommGroup;

typedef struct GpuRank GpuRank;

typedef struct {
    Arena *arena;
    int n_devices;
    Device *devices;
    Kernels *kernels;
    Products *products;
    bool shared;      /* ranks share devices: no NCCL */
    bool *peer_reads; /* n_devices * n_devices: whether the first can read the second's memory */
    ncclUniqueId world_id;
    int n_groups;
    CommGroup *groups;
    int first_device;    /* of the process's first rank */
    GpuRank **rank;      /* the process's, in order; NULL: not open */
    atomic_int n_opened; /* ranks that were, or failed to be */
    atomic_bool *lost;   /* per device */
    atomic_bool stuck;   /* what a device was given does not end: nothing can be given back */
    void **pinned;       /* PINNED_MAX a rank: what can be given back only after all has ended */
} GpuTeam;

/* ---- a rank ---- */

struct GpuRank {
    Rank *rank;
    GpuTeam *team;
    Arena *arena;
    const Device *device;
    cudaStream_t stream[LANES];

    Touch *touch; /* per instruction, as the next two */
    Actions *actions;
    bool *covered;       /* per instruction: an op that is done with one before it */
    int *n_readers;      /* per slot */
    int64_t *slot_bytes; /* per slot; -1: the rank keeps none */
    Turns turns;
    DeviceTexts *texts;
    int64_t table_bytes;
    Vec(DeviceTable) tables;
    int n_host_ops;

    char *memory, *table_memory; /* on the device */
    int32_t *fault,
        *number; /* on the device, per instruction: what a kernel found; its own place */
    int32_t *fault_seen, *mark; /* pinned: a copy of them; per lane the last instruction done, -1 */
    char *staging;              /* pinned, STAGING_BYTES */
    void *blas_workspace;
    Blas blas;
    ncclComm_t comm, *group_comm;

    cudaEvent_t *done;        /* per instruction that is awaited */
    cudaEvent_t *begin, *end; /* per instruction, with times */
    cudaEvent_t offer, taken, fork, join, pass_begin, pass_end;
    bool *timed; /* per instruction: begun and ended in this pass */
    double pass_start_us, enqueue_us;
    int pass_enqueued[LANES]; /* the last instruction that was enqueued; -1 */
    bool in_pass, capturing, refused, replaying;
    atomic_bool watching; /* it waits for its device */
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

/* What an op is, with those after it that become one with it. */
bool op_actions(GpuRank *gpu, int at, Error *err);
Local *gpu_existing_slot(Rank *rank, int32_t slot); /* MakeSlot: all slots exist */
/* What a step is for the rank, which may have no part in it. */
bool step_actions(GpuRank *gpu, int at, Error *err);

/* Room in the scratch of instruction `at`. */
Address scratch_address(GpuRank *gpu, int at, int64_t n_bytes);
Address slot_address(int32_t slot, int64_t offset_bytes);
void touch_slot(GpuRank *gpu, int at, int32_t slot, bool writes);
/* Adds the items of a work; its workspaces and tables get their places. */
void add_work(GpuRank *gpu, int at, const DeviceWork *work, const WorkPlaces *places);

/* Pointers and kernels for all addresses, once memory and communicators are there. */
bool actions_resolve(GpuRank *gpu, Error *err);
void actions_close(GpuRank *gpu);

/* ---- memory (memory.c) ---- */

bool memory_open(GpuRank *gpu, Error *err);
void memory_close(GpuRank *gpu, bool broken); /* of a broken device only what is the host's */
bool memory_load(GpuRank *gpu, int32_t slot, Error *err);
/* A Local in the host's memory like the slot's; NULL when memory is out. */
Local *memory_host_local(GpuRank *gpu, int32_t slot, Error *err);
/* The slot as it lies on the device now, when what was begun is done. */
bool memory_fetch(GpuRank *gpu, int32_t slot, Local *to, Error *err);
bool memory_put(GpuRank *gpu, void *to, const void *from, int64_t n_bytes, Error *err);

/* ---- communicators (comm.c) ---- */

/* Which device is whose, and the ids of communicators, shared by all processes. */
bool comm_team_open(Team *team, GpuTeam *gpus, Error *err);
bool comm_open(GpuRank *gpu, Error *err);
void comm_close(GpuRank *gpu); /* ends what is on the way where the run has failed */
int comm_group(const GpuTeam *gpus, AtomSet atoms); /* -1: none */
bool comm_errors(GpuRank *gpu, Error *err);         /* what NCCL found since */

/* ---- doing (enqueue.c, graph.c) ---- */

bool pass_begin(GpuRank *gpu, Error *err);
bool pass_fork(GpuRank *gpu, Error *err); /* both streams go on from here */
bool pass_join(GpuRank *gpu, Error *err); /* all is done once the stream of ops is */
bool enqueue_instr(GpuRank *gpu, int at, bool timed, Error *err);
bool enqueue_pass(GpuRank *gpu, Error *err);

/* Captures a pass once, then replays it. False in *done: it is not one to be replayed. */
bool graph_replay(GpuRank *gpu, int pass, bool *done, Error *err);
void graph_close(GpuRank *gpu);

/* ---- waiting (watch.c) ---- */

/* Until all that was begun on a stream is done, or fails, or hangs. False without an error: another
 * rank has failed. */
bool watch_lane(GpuRank *gpu, Lane lane, Error *err);
/* The same for a moment, when a rank is closed. False: the device is lost or stuck, which the team
 * is told. */
bool watch_end(GpuRank *gpu);
/* An error of a call about instruction `at`, -1 of none: where the device is lost it is about what
 * was going on there. */
bool watch_blame(GpuRank *gpu, int at, const Error *inner, Error *err);
/* "op 'x'", "all-reduce of 'y'" before the error. */
bool instr_blame(const GpuRank *gpu, int at, const Error *inner, Error *err);

/* Says that the rank lives while a device is opened, which may take long; for a minute. */
typedef struct Beating Beating;
Beating *beating_start(Rank *rank);
void beating_stop(Beating *beating);

#endif
