/* flow_visit.h - one visit of the default propagator: axes between an op's index dims and the dims
 * of its operands.
 *
 * Taking: a tensor dim's cut is split at the borders of the index dims it is the mixed radix of,
 * and each part joins the cut of its index dim, less the axes that cut another one. Giving is the
 * inverse. Axes that do not flow on leave a record of the reason if the caller asks for records.
 */
#ifndef CORE_PROPAGATE_FLOW_VISIT_H
#define CORE_PROPAGATE_FLOW_VISIT_H

#include "core/base/vec.h"
#include "core/plan/plan.h"
#include "core/plan/stop.h"

/* How a tensor takes part. ORDER FLOW_ROLE */
typedef enum {
    FLOW_OPEN, /* takes and gives */
    FLOW_SINK, /* made from parameters alone: takes, gives only what is pinned */
    FLOW_LEAF  /* parameter or constant: its uses decide at the end; gives only what is pinned */
} FlowRole;

/* The state of a tensor while axes flow. Interned; n_dims cuts are part of the key. */
typedef struct {
    int64_t n_dims;
    uint32_t pinned, closed; /* by dim */
    AtomSet barred;          /* may not cut it */
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

/* ORDER FLOW_MODE: later ones look at more. */
typedef enum {
    MODE_PARAMETERS, /* pins of parameters, through ops on parameters alone */
    MODE_PINNED,     /* ops take the cuts of pinned operands */
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

/* Joins what an operand is cut by into the op's index dims. */
void flow_take(FlowVisitCase *visit, int operand);
/* The operand with what the index dims hand it. */
Flow flow_give(const FlowVisitCase *visit, int operand);

#endif
