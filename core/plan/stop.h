/* stop.h - why an axis went no further in propagation: the reason that an op or a tensor refused
 * it.
 *
 * A stop is at one op, about one dim of one of its operands: the operand has the axis, or would
 * have received it.
 */
#ifndef CORE_PLAN_STOP_H
#define CORE_PLAN_STOP_H

#include "core/layout/mesh.h"

/* ORDER STOP */
typedef enum {
    STOP_NONE,
    STOP_CLOSED,     /* the dim is pinned and closed */
    STOP_REPLICATED, /* the axis may not shard this tensor, or is reserved for a pin of a later
                        priority */
    STOP_TAKEN,      /* the axis already shards another dim of that tensor, or another index dim of
                        the op */
    STOP_ORDER,      /* other axes shard the dim, and neither list of axes is a prefix of the
                        other */
    STOP_NESTING,    /* it does not divide: the cut would cross the border of two index dims */
    STOP_FROZEN,     /* the op cannot be sharded along that index dim (Shardy: it needs replication)
                      */
    STOP_WHOLE,      /* the op reads the dim whole, or its size is 1: no index dim corresponds to
                        it */
    STOP_WINDOW,     /* the op reads it in windows or shifted, so a shard would need its neighbours
                      */
    STOP_BLOCKED,    /* the index dim takes no part in propagation (Shardy) */
    STOP_REDUCE,     /* it is summed over, and the reduction would move more bytes than gathering */
    STOP_PARAMETER,  /* only pinned dims of parameters and constants propagate */
    STOP_BARRIER,    /* a barrier lets axes cross only in the other direction */
    STOP_OVERFLOW,   /* a major factor cannot hold all its axes, so the minor part of the dim stays
                        closed */
    STOP_NO_RULE,    /* the operator has no sharding rule */
    STOP_RULE,       /* spmd, strategy: that system's rule for the op does not propagate it */
    STOP_COUNT
} Stop;

typedef struct StopRecord {
    int32_t op;
    int operand, dim; /* operand: of the op, inputs then outputs; dim: of that tensor */
    int index;        /* the index dim (factor) it concerns, or -1 */
    int other;        /* STOP_TAKEN: the index dim, or the dim of the tensor, that has the axis;
                         else -1 */
    bool leaving;     /* true: the tensor has the axis and the op did not take it; false: the other
                         way round */
    AtomSet atoms;    /* the axes that stopped */
    Stop stop;
} StopRecord;

const char *stop_name(Stop stop); /* "not-divisible": the word of JSON answers */

#endif
