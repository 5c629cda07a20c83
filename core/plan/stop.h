/* stop.h - why an axis went no further: what an op said when it was offered one.
 *
 * A stop is at one op, about one dim of one of its operands (where it has that axis, or where it
 * was to go).
 */
#ifndef CORE_PLAN_STOP_H
#define CORE_PLAN_STOP_H

#include "core/layout/mesh.h"

/* ORDER STOP */
typedef enum {
    STOP_NONE,
    STOP_CLOSED,     /* the dim is pinned, and not open */
    STOP_REPLICATED, /* the axis may not cut this tensor, or is kept for a pin of a later priority
                      */
    STOP_TAKEN,      /* it cuts another dim of that tensor, or another index dim of the op */
    STOP_ORDER,      /* other axes cut the dim: neither list continues the other */
    STOP_NESTING,    /* it does not divide: the cut crosses the border of two index dims */
    STOP_FROZEN,     /* the op never cuts that index dim (Shardy: it needs replication) */
    STOP_WHOLE,      /* the dim is read whole, or has size 1: no index dim goes along it */
    STOP_WINDOW,     /* the op reads it in windows or shifted: a cut would need the neighbours */
    STOP_BLOCKED,    /* the index dim takes no part in propagation (Shardy) */
    STOP_REDUCE,     /* it is summed, and adding up would move more than gathering */
    STOP_PARAMETER,  /* parameters and constants hand nothing on that is not pinned */
    STOP_BARRIER,    /* a barrier lets axes pass in the other direction only */
    STOP_OVERFLOW,   /* a major factor cannot hold all its axes, so the rest of the dim is shut */
    STOP_NO_RULE,    /* nobody said how the op may be cut */
    STOP_RULE,       /* spmd, strategy: what these have for the op does not hand it on */
    STOP_COUNT
} Stop;

typedef struct StopRecord {
    int32_t op;
    int operand, dim; /* of the op: inputs, then outputs; dim of that tensor */
    int index;        /* index dim (factor) it was about; -1: none */
    int other;        /* STOP_TAKEN: the index dim, or the dim of the tensor, that has it; or -1 */
    bool leaving;     /* the tensor has the axis and the op did not take it; else the op has it and
                         the tensor did not */
    AtomSet atoms;    /* what stopped */
    Stop stop;
} StopRecord;

const char *stop_name(Stop stop); /* "not-divisible": the word of JSON answers */

#endif
