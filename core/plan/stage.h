/* stage.h - pipeline stages: runs of ops, each on its part of the mesh, worked through by a
 * schedule.
 *
 * A stage is a run of ops in program order, from where a decision says that one begins to the next;
 * where nobody says, from one change of devices to the next. Ops on parameters alone go with the
 * stage that reads what they make. Several stages may have the same devices (interleaved
 * schedules). An axis, or part of one, that tells the devices of stages apart cuts nothing there:
 * a tensor is cut by none that its maker's or a reader's devices have a fixed coordinate of.
 *
 * Parameters and inputs of the graph lie on the devices of every stage that reads them. Other
 * values are sent from their maker's devices to their readers'; stages that relay get every value
 * that passes over them and hand it on (nnScaler's staging), others do not (its blocking).
 *
 * The graph is one micro-batch; core/cost/pipeline.h times a step of several.
 *
 * code              level     when
 * axis-of-stages    error     a pin asks for an axis that tells devices of stages apart, or a
 *                             propagator cut by it
 * too-many-stages   warning   more than STAGES_MAX: then there are none
 */
#ifndef CORE_PLAN_STAGE_H
#define CORE_PLAN_STAGE_H

#include "core/plan/plan.h"
#include "core/plan/schedule.h"

typedef struct {
    int first, last; /* places in the program of its first and last op */
    int16_t devices; /* place in plan->decided->submeshes: of most of its ops */
    bool relay;
    const Decision *decision; /* that it begins there; NULL: devices change */
    const Decision *placed;   /* that its first op runs there; NULL: on the whole mesh */
} Stage;

struct Stages {
    int n;
    Stage *at;
    int16_t *of_op;            /* per op: place in `at`; -1 for host ops */
    int32_t *recompute;        /* per op: group, -1; NULL: nothing is computed again */
    const Decision *scheduled; /* NULL: one micro-batch, forward only */
    const char *schedule;      /* its name, "infer_pipe" without a decision */
    int n_micro_batches;
};

/* Fills submeshes, devices, stages and places of `out`, plan->decided, before anything is
 * propagated. */
void stages_place(Plan *plan, Decided *out, const Journal *journal);

/* Axes that a tensor must not be cut by: those that tell its devices apart. Per tensor; NULL: there
 * are none. */
const AtomSet *stages_barred(Arena *arena, const Plan *plan);

/* What propagators must keep to: an op that an axis cuts which tells the devices of its stage apart
 * is a finding. */
void stages_check(Plan *plan);

/* "pp=1, stage 1, megatron.lua:12": where an op runs, and who says so. */
void stage_format(const Plan *plan, int32_t op, Buf *out);

/* What decided where an op runs; NULL: nothing did, or op is -1. */
const Decision *stage_decision(const Plan *plan, int32_t op);

/* Where a parameter or an input of the graph lies: on the part of the mesh of each op that reads
 * it, and on all of it when it is handed out as it is. Places in plan->decided->submeshes, one a
 * call, the same again too; -1: that was all, which comes first where nobody reads it. *at begins
 * with 0. */
int stage_given_on(const Plan *plan, int32_t tensor, int *at);

/* A part of the mesh where a tensor lies: its maker's, of what is given that of a reader: the one
 * that has the rank, where there are several. */
SubMesh stage_part_of(const Plan *plan, int32_t tensor, int64_t rank);

/* The stage of an op, -1: there are none, or it is a host op. */
static inline int stage_of(const Plan *plan, int32_t op)
{
    return plan->decided->stages ? plan->decided->stages->of_op[op] : -1;
}

#endif
