/* memory.h - live bytes per device while a plan runs.
 *
 * The account follows the run (core/run/program.h) step by step, the same steps on every rank; rank
 * 0 has the largest parts, in a stage the first of its devices. A rank has what lies on its stages.
 * It is one micro-batch: what a schedule keeps of others for the backward pass is not counted.
 * Parameters, as stored, and graph inputs live always, graph outputs from when they are made. A
 * value lives from its maker to its last reader, or to the step that moves it when nobody reads it
 * later; a moved copy from its step to its last reader, what lies between two steps of a reshard
 * while they run. Views are copies, as in the run. A constant lives from its first reader to its
 * last; the run holds a little less, since kernels take axes and sizes as numbers. Scratch memory
 * inside an op is not counted.
 *
 * Every step of a reshard fills a buffer of its own beside its source. Its bytes on a rank, where
 * the source has s and n ranks are in a group:
 *
 *     slice, reduce-scatter            s / n
 *     all-gather                       s * n
 *     all-reduce, all-to-all, permute  s
 *
 * or what uneven parts make of that. It is a collective_buffer (memory_class.h) while steps of its
 * reshard run; from then on the copy is what its tensor is.
 *
 * Padding is what parts of one size would waste: the bytes of rank 0's part less those of the last
 * rank's, which is the smallest.
 */
#ifndef CORE_COST_MEMORY_H
#define CORE_COST_MEMORY_H

#include "core/cost/memory_class.h"
#include "core/plan/plan.h"

typedef struct {
    int64_t rank;
    int64_t peak_bytes;
    int peak_place; /* the first with so much; -1: there are no ops */
    int64_t
        *live_bytes; /* per place in the program: the most while that op, or a step for it, runs */
} MemoryUse;

/* Of the rank that needs most: rank 0, but where ops run on parts of the mesh; where more than 4096
 * ranks differ in the parts they stand on, of the first ranks of the parts. Needs sharding, made
 * and need. live_bytes lies in the arena. Nothing when a plan that is being made was stopped. */
MemoryUse memory_use(Arena *arena, const Plan *plan);

typedef struct {
    int32_t tensor, sharding; /* as it lies: Shardings id */
    MemoryClass class;
    int64_t bytes, padding_bytes;
    int from, to; /* places in the program; -1: there before the first op; n_program: to the end */
} LiveValue;

typedef struct {
    int64_t bytes, padding_bytes;
    int64_t by_class[MEMORY_CLASS_COUNT];
    int n;
    const LiveValue *at; /* the largest first */
} LiveSet;

/* What is alive on a rank when most is, while the op at that place, or a step for it, runs. */
LiveSet memory_live_at(Arena *arena, const Plan *plan, int64_t rank, int place);

/* ---- any rank, any place: one account, asked often ---- */

/* When every value of the plan begins and ends; the plan must outlive it. */
typedef struct MemoryAccount MemoryAccount;

MemoryAccount *memory_account_new(const Plan *plan);
/* NULL when it was stopped. */
MemoryAccount *memory_account_make(const Plan *plan, Progress *progress);
void memory_account_free(MemoryAccount *account); /* NULL is allowed */

MemoryUse memory_use_of(Arena *arena, const MemoryAccount *account, int64_t rank);
LiveSet memory_live_of(Arena *arena, const MemoryAccount *account, int64_t rank, int place);

/* What live_bytes of memory_use_of() are, by class: per place in the program. In the arena. */
typedef struct {
    int64_t of[MEMORY_CLASS_COUNT];
} ClassBytes;
const ClassBytes *memory_classes_of(Arena *arena, const MemoryAccount *account, int64_t rank);

/* Bytes of a rank while parameters are initialised, as each is stored, in the order of the graph:
 *
 *     parts   each made as its part alone (deferred until the plan is known):   sum of parts
 *     cut     each made whole, then cut, before the next is made:
 *                 most over i of (parts before i + whole i + part i, if it is cut)
 *     whole   all made whole before any is cut:                                 sum of wholes
 */
typedef struct {
    int64_t parts_bytes, cut_bytes, whole_bytes;
    int32_t largest; /* the parameter at which cut_bytes is reached; -1: there are none */
} InitMemory;
void memory_init(const Plan *plan, int64_t rank, InitMemory *out);

/* Ranks whose parts of every value are of one size: they need the same at every place. */
typedef struct {
    int64_t rank, n_ranks;                /* the first of them; how many */
    MemoryUse use;                        /* of each of them */
    int64_t by_class[MEMORY_CLASS_COUNT]; /* at its peak */
    InitMemory init;
} RankMemory;

typedef struct {
    int n;
    const RankMemory *at;   /* what needs most first */
    const int32_t *of_rank; /* per rank: its place in `at` */
} RankMemories;

/* Good for nothing when it was stopped. */
RankMemories memory_ranks(Arena *arena, const MemoryAccount *account, Progress *progress);

#endif
