/* memory.h - live bytes per device while a plan runs.
 *
 * The account follows the run (core/run/program.h) step by step, with the same steps on every rank.
 * Rank 0 has the largest shards; with stages, it is on the first devices. A rank holds what its
 * stages hold. The account is for one micro-batch. In a training step a value that the backward
 * pass reads exists once for each micro-batch that the schedule has in flight in its stage
 * (Schedule.together), from the first op to the end of the backward pass, as in the middle of a
 * step; gradients of parameters have buffers (account_hold_gradients()). An inference schedule of
 * several micro-batches holds the inputs of all of them. Parameters, as stored, and graph inputs
 * are always alive, graph outputs from when they are made. A value is alive from its maker to its
 * last reader, or to the reshard step that moves it if nothing reads it later; a resharded copy
 * from its step to its last reader; a value between two steps of a reshard while they run. Views
 * are copies, as in the run. Only a layout change that a neighbouring op absorbs (absorbed.h) has
 * no bytes of its own: its source stays alive instead. A constant is alive from its first reader to
 * its last; the run holds a little less, since kernels take axes and sizes as numbers. Scratch
 * memory inside an op is not counted.
 *
 * Every step of a reshard fills a buffer of its own, in addition to its source. Its bytes on a
 * rank, if the source has s bytes and a group n ranks:
 *
 *     slice, reduce-scatter            s / n
 *     all-gather                       s * n
 *     all-reduce, all-to-all, permute  s
 *
 * or the corresponding sizes of uneven shards. It is a collective_buffer (memory_class.h) while
 * steps of its reshard run; afterwards the copy has the class of its tensor.
 *
 * Padding is what equal shards would waste: the bytes of rank 0's shard minus those of the last
 * rank's, which is the smallest.
 */
#ifndef CORE_COST_MEMORY_H
#define CORE_COST_MEMORY_H

#include "core/cost/memory_class.h"
#include "core/plan/plan.h"

typedef struct {
    int64_t rank;
    int64_t peak_bytes;
    int peak_place;      /* the first op at which that much is alive; -1 if there are no ops */
    int64_t *live_bytes; /* per op of the program: the most bytes while that op, or a reshard step
                            for it, runs */
} MemoryUse;

/* The memory of the rank that needs most. That is rank 0, unless ops run on parts of the mesh; if
 * more than 4096 ranks differ in the parts they are on, it is the first rank of some part. Needs
 * sharding, made and need. live_bytes is in the arena. Empty if a plan that is being made was
 * cancelled. */
MemoryUse memory_use(Arena *arena, const Plan *plan);
/* The same for the runners, which copy where a layout change could be absorbed. */
MemoryUse memory_use_in_run(Arena *arena, const Plan *plan);

typedef struct {
    int32_t tensor, sharding; /* the sharding in which it is held: a Shardings id */
    MemoryClass class;
    int64_t bytes, padding_bytes;
    int from, to; /* indices of ops in the program; -1: exists before the first op; n_program: to
                     the end */
} LiveValue;

typedef struct {
    int64_t bytes, padding_bytes;
    int64_t by_class[MEMORY_CLASS_COUNT];
    int n;
    const LiveValue *at; /* sorted, the largest first */
} LiveSet;

/* The values that are alive on a rank at the peak within that op of the program or a reshard step
 * for it. */
LiveSet memory_live_at(Arena *arena, const Plan *plan, int64_t rank, int place);

/* ---- many ranks and ops: one account that is queried often ---- */

/* The lifetimes of every value of the plan; the plan must outlive it. */
typedef struct MemoryAccount MemoryAccount;

MemoryAccount *memory_account_new(const Plan *plan);
/* Returns NULL if cancelled. */
MemoryAccount *memory_account_make(const Plan *plan, Progress *progress);
void memory_account_free(MemoryAccount *account); /* NULL is allowed */

MemoryUse memory_use_of(Arena *arena, const MemoryAccount *account, int64_t rank);
LiveSet memory_live_of(Arena *arena, const MemoryAccount *account, int64_t rank, int place);

/* The live_bytes of memory_use_of() by class, per op of the program. In the arena. */
typedef struct {
    int64_t of[MEMORY_CLASS_COUNT];
} ClassBytes;
const ClassBytes *memory_classes_of(Arena *arena, const MemoryAccount *account, int64_t rank);

/* What a rank of a training step keeps of one micro-batch from its forward to its backward pass:
 * bytes[op of the graph], counted at the op that makes the value or for which it is moved. Values
 * made only from parameters do not count. */
void memory_saved(const MemoryAccount *account, int64_t rank, int64_t *bytes);

/* The bytes of a rank in a training step, by purpose. */
typedef struct {
    int64_t parameter, optimizer,
        input;          /* as they are stored; master copies count as optimizer states */
    int64_t gradient;   /* buffers in which gradients of parameters are summed, at the moment
                           with most of them */
    int64_t activation; /* memory_saved() of all micro-batches in flight */
    int64_t gathered;   /* parameters as their ops need them, if that is not how they are stored,
                           at the moment with most of them */
    int64_t buffer;     /* filled by steps of reshards, at the moment with most of them */
    int64_t peak;       /* of everything, at the moment with most */
} StepMemory;
StepMemory memory_of_step(const MemoryAccount *account, int64_t rank);

/* Bytes of a rank while parameters are initialised into their stored shardings, in the order of
 * the graph:
 *
 *     parts   each made as its shard alone (deferred until the plan is known):   sum of parts
 *     cut     each made whole, then sliced, before the next is made:
 *                 most over i of (parts before i + whole i + part i, if it is sharded)
 *     whole   all made whole before any is sliced:                               sum of wholes
 */
typedef struct {
    int64_t parts_bytes, cut_bytes, whole_bytes;
    int32_t largest; /* the parameter at which cut_bytes is reached; -1 without parameters */
} InitMemory;
void memory_init(const Plan *plan, int64_t rank, InitMemory *out);

/* Ranks whose shards of every value have equal sizes: they need the same memory at every op. */
typedef struct {
    int64_t rank, n_ranks;                /* the first rank, and how many there are */
    MemoryUse use;                        /* of each rank */
    int64_t by_class[MEMORY_CLASS_COUNT]; /* at its peak */
    InitMemory init;
} RankMemory;

typedef struct {
    int n;
    const RankMemory *at;   /* the groups that need most come first */
    const int32_t *of_rank; /* per rank: the index of its group in `at` */
} RankMemories;

/* The result is not usable if it was cancelled. */
RankMemories memory_ranks(Arena *arena, const MemoryAccount *account, Progress *progress);

#endif
