/* op_declared.h - the costs and collectives that users' operators declare for themselves.
 *
 * The functions `cost` and `comm` (core/rules/user_op.h) are called once per op space and cut, only
 * while the plan is made, since they may call into scripts; their answers are kept in plan->priced.
 * A function that fails is a finding, and the op is priced like any other. A cut under which the
 * op's keyword arguments are undefined is an error, since the op cannot run.
 *
 * A collective over an index dim uses the axes that shard it; one over a mesh axis uses that axis
 * if it shards the op; without axes there is no collective. Its price is that of a reshard step of
 * the same kind and payload. It is part of its op: nothing overlaps with it.
 */
#ifndef CORE_COST_OP_DECLARED_H
#define CORE_COST_OP_DECLARED_H

#include "core/cost/op_part.h"

typedef struct {
    StepKind kind;
    AtomSet atoms;
    int64_t bytes; /* payload of one rank */
    Price price;
    const char *dim; /* the index dim that is sharded; NULL if the collective names a mesh axis */
} OpComm;

struct OpDeclared {
    DeclaredCost cost; /* negative if the operator declares no cost */
    int n_comms;
    const OpComm *comm;
    double comm_us; /* sum over all of them, for one run */
    int64_t wire_bytes;
};

/* Per op, in the plan's arena; adds findings. NULL if no operator declares anything. Needs cuts. */
const OpDeclared *const *op_declared_make(Plan *plan);

/* NULL if the operator declares nothing. */
static inline const OpDeclared *op_declared(const Plan *plan, int32_t op)
{
    return plan->priced->declared ? plan->priced->declared[op] : NULL;
}

static inline double op_comm_us(const Plan *plan, int32_t op)
{
    const OpDeclared *declared = op_declared(plan, op);
    return declared ? declared->comm_us * inferred_repeat(plan->inferred, op) : 0;
}

/* "all_gather s over tp: 4,096 B, 12.3 us" */
void op_comm_format(const Plan *plan, const OpComm *comm, Buf *out);

#endif
