/* flow_visit.h - one visit of the default propagator: axes move between an op's index dims and the
 * dims of its operands.
 *
 * Taking: the cut of a tensor dim is split at the borders of the index dims whose mixed radix the
 * dim is, and each part joins the cut of its index dim, without the axes that cut another index
 * dim. Giving is the inverse. For axes that do not move on, a record of the reason is kept if the
 * caller asks for records.
 */
#ifndef CORE_PROPAGATE_FLOW_VISIT_H
#define CORE_PROPAGATE_FLOW_VISIT_H

#include "core/base/vec.h"
#include "core/plan/plan.h"
#include "core/plan/stop.h"

/* How a tensor takes part in propagation. ORDER FLOW_ROLE */
typedef enum {
    FLOW_OPEN, /* takes and gives */
    FLOW_SINK, /* made from parameters alone: takes axes, gives only pinned ones */
    FLOW_LEAF  /* parameter or constant: its uses decide at the end; gives only pinned axes */
} FlowRole;

/* The state of a tensor during propagation. Interned; n_dims cuts are part of the key. */
typedef struct {
    int64_t n_dims;
    uint32_t pinned, closed; /* by dim */
    AtomSet barred;          /* axes that may not cut it */
    int32_t role, pass;      /* FlowRole, Pass */
    uint32_t unused;
    Cut dim[DIMS_MAX];
} Flow;

/* The state of an op. */
typedef struct {
    uint32_t closed; /* by index dim */
    AtomSet barred;
    OpCut cut;
} FlowState;

/* ORDER FLOW_MODE: later modes include more. */
typedef enum {
    MODE_PARAMETERS, /* pins of parameters, through ops on parameters alone */
    MODE_PINNED,     /* ops receive the cuts of pinned operands */
    MODE_EARLY,
    MODE_MAP,
    MODE_REDUCE,
    MODE_COUNT
} FlowMode;

typedef Vec(StopRecord) StopRecords;

typedef struct {
    const OpSpace *space;
    const Mesh *mesh;
    FlowMode mode;
    FlowState state;
    const Flow **flow;  /* per operand; NULL: absent or without a shape */
    Arena *arena;       /* of stops */
    StopRecords *stops; /* NULL: no records */
} FlowVisitCase;

/* Adds the cuts of an operand to the op's index dims. */
void flow_take(FlowVisitCase *visit, int operand);
/* The operand with the cuts that the index dims give it. */
Flow flow_give(const FlowVisitCase *visit, int operand);

#endif
