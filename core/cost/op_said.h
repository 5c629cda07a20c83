/* op_said.h - what users' operators say of their cost and of the collectives inside them.
 *
 * cost and comm (core/rules/user_op.h) are asked once for each op space and cut, while the plan is
 * made and never after, since they may call into scripts; what they say stands in
 * plan->priced->said. One that fails is a finding, and the op is priced as any other. So is a cut
 * under which the op's keyword arguments cannot be told: an error, since it cannot be run.
 *
 * A collective over an index dim goes over the axes that cut it there, one over an axis over that
 * axis where it cuts the op; over nothing it is not there. Its price is that of a step of a reshard
 * of the same kind and payload. It is part of its op: nothing overlaps with it.
 */
#ifndef CORE_COST_OP_SAID_H
#define CORE_COST_OP_SAID_H

#include "core/cost/op_part.h"

typedef struct {
    StepKind kind;
    AtomSet atoms;
    int64_t bytes; /* payload of one rank */
    Price price;
    const char *dim; /* the index dim that is cut; NULL: it was said by axis */
} OpComm;

struct OpSaid {
    SaidCost cost; /* all below 0: nothing is said */
    int n_comms;
    const OpComm *comm;
    double comm_us; /* of all of them, once */
    int64_t wire_bytes;
};

/* Per op, in the plan's arena, with findings; NULL if no operator says anything. Needs cuts. */
const OpSaid *const *op_said_ask(Plan *plan);

/* NULL: the operator says nothing. */
static inline const OpSaid *op_said(const Plan *plan, int32_t op)
{
    return plan->priced->said ? plan->priced->said[op] : NULL;
}

static inline double op_comm_us(const Plan *plan, int32_t op)
{
    const OpSaid *said = op_said(plan, op);
    return said ? said->comm_us * inferred_repeat(plan->inferred, op) : 0;
}

/* "all_gather s over tp: 4,096 B, 12.3 us" */
void op_comm_format(const Plan *plan, const OpComm *comm, Buf *out);

#endif
