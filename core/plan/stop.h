/* stop.h - why an axis went no further: the reason an op or tensor refused it in propagation.
 *
 * A stop is at one op, about one dim of one of its operands (which has that axis, or was to get
 * it).
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
    STOP_ORDER,      /* other axes shard the dim: neither list of axes continues the other */
    STOP_NESTING,    /* it does not divide: the cut would cross the border of two index dims */
    STOP_FROZEN,     /* the op cannot be sharded along that index dim (Shardy: it needs replication)
                      */
    STOP_WHOLE,      /* the op reads the dim whole, or it has size 1: no index dim goes along it */
    STOP_WINDOW,     /* the op reads it in windows or shifted, so a shard would need its neighbours
                      */
    STOP_BLOCKED,    /* the index dim takes no part in propagation (Shardy) */
    STOP_REDUCE,     /* it is summed over, and a reduction would move more than gathering */
    STOP_PARAMETER,  /* only pinned dims of parameters and constants propagate */
    STOP_BARRIER,    /* a barrier lets axes cross in the other direction only */
    STOP_OVERFLOW,   /* a major factor cannot hold all its axes, so the minor part of the dim stays
                        closed */
    STOP_NO_RULE,    /* the operator has no sharding rule */
    STOP_RULE,       /* spmd, strategy: the system's rule for the op does not propagate it */
    STOP_COUNT
} Stop;

typedef struct StopRecord {
    int32_t op;
    int operand, dim; /* operand: of the op, inputs then outputs; dim: of that tensor */
    int index;        /* index dim (factor) it is about, or -1 */
    int other;        /* STOP_TAKEN: the index dim, or the dim of the tensor, that has the axis;
                         else -1 */
    bool leaving;     /* true: the tensor has the axis and the op did not take it; false: the other
                         way round */
    AtomSet atoms;    /* the axes that stopped */
    Stop stop;
} StopRecord;

const char *stop_name(Stop stop); /* "not-divisible": the word of JSON answers */

#endif
