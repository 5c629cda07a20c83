/* memory_account.h - the lifetimes of values; private to the files that count memory. */
#ifndef CORE_COST_MEMORY_ACCOUNT_H
#define CORE_COST_MEMORY_ACCOUNT_H

#include "core/base/vec.h"
#include "core/cost/memory.h"
#include "core/plan/edges.h"
#include "core/rules/registry.h"

#include <assert.h>

/* A value on a rank, alive from one moment to another, both inclusive. A moment is the loading
 * before the run, an op, or a step of a reshard. */
typedef struct {
    int32_t tensor, sharding;
    int first, last;
    int32_t next;        /* the next span of the same tensor, or -1 */
    int32_t whose;       /* of an absorbed layout change: the span whose bytes it uses, or -1 */
    int32_t op;          /* the op that makes it, or for which it is moved; -1 before the run */
    int32_t as;          /* the tensor whose class its bytes have: the gradient of a parameter
                            that shares them, else its own */
    int others;          /* how many other micro-batches have this value alive at the same time */
    uint8_t phase;       /* Reshard.phase of the reshard that makes it */
    uint16_t kernel;     /* if this is not the value but what the kernel that makes it keeps for
                            the gradient: OPERATOR_KEEPS_MASK or _ROWS; else 0 */
    int16_t devices;     /* the part of the mesh that holds it: index into plan->submeshes */
    bool filled : 1;     /* made by a step of a reshard, at moment `first` */
    bool in_between : 1; /* between two steps of a reshard: no op reads it */
    bool kept : 1;       /* alive until the end */
    bool adds_up : 1;    /* the buffer in which gradients of a parameter are summed */
    bool saved : 1;      /* made by the forward pass and read by the backward pass */
} LiveSpan;

typedef struct MemoryAccount {
    Arena *arena; /* the tensor is stored on that part */
    const Plan *plan;
    const Graph *graph;
    Vec(LiveSpan) spans;
    int32_t *by_part;         /* all spans, by the part of the mesh that holds them */
    int *part_begin;          /* in by_part; of the part after the last too */
    int32_t *of_tensor;       /* its first span, or -1 */
    const MemoryClass *class; /* per tensor, of a training step */
    int now;
    int32_t op;        /* the op whose spans are being added; -1 */
    int last_backward; /* the last moment of the forward and the backward pass; until then other
                          micro-batches are in flight */
    int *end;          /* per op of the program: its last moment */
    OperatorRows rows;
    int32_t *kept_of; /* per op of the model: the span of what its kernel keeps, or -1; NULL: that
                         is not counted */
    bool copies;      /* layout changes that could be absorbed are copies, as in the run */
    ReshardIndex reshards;
} Account;

static inline LiveSpan *span_at(const Account *a, int32_t at)
{
    assert(a->spans.at && 0 <= at && at < a->spans.n);
    return &a->spans.at[at];
}

/* copies: layout changes that could be absorbed are copies, as in the run. NULL if cancelled. */
Account *account_make(const Plan *plan, bool copies, Progress *progress);

/* What a rank keeps of one micro-batch (memory_saved()), by class and stage; added to
 * of_stage[stages]. Without stages everything counts for the first. */
void account_saved(const Account *a, int64_t rank, ClassBytes *of_stage);

/* Gives the gradients of parameters their buffers: one for each parameter, in the type in which
 * they are summed, from the first op on, as data-parallel trainers allocate them; if they are
 * stored sharded, each rank holds its shard. */
void account_hold_gradients(Account *a);

/* Ends values of the forward pass that fused kernels recompute in the backward pass: those made
 * element by element from values that are kept anyway, and read only by element-wise gradient ops.
 * So of act(gate) * up, gate and up are kept and act(gate) is not, as in Megatron-LM's and
 * Transformer Engine's fused SwiGLU and in torch.compile. */
void account_drop_fused(Account *a);

#endif
