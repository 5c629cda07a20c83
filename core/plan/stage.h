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
 * The graph is one micro-batch. A step does it n_micro_batches times, in the order of the schedule.
 * There is no backward graph: a backward slot takes twice its stage's forward, three times where
 * all of it is computed again, and between for a part; nothing else of it is known.
 */
#ifndef CORE_PLAN_STAGE_H
#define CORE_PLAN_STAGE_H

#include "core/plan/plan.h"
#include "core/plan/schedule.h"

typedef struct {
    int first, last; /* places in the program of its first and last op; last < first: it is empty */
    int16_t devices; /* place in plan->submeshes: of most of its ops */
    bool relay;
    double compute_us; /* of its ops, forward, one micro-batch */
    double comm_us;    /* of the collectives on its devices */
    double again_us;   /* of the ops that are computed again */
    double receive_us; /* of what is sent to it */
    int64_t receive_bytes;
    const Decision *decision; /* that it begins there; NULL: devices change */
} Stage;

struct Stages {
    int n;
    Stage *at;
    int16_t *of_op;            /* per op: place in `at`; -1 for host ops */
    int32_t *recompute;        /* per op: group, -1; NULL: nothing is computed again */
    const Decision *scheduled; /* NULL: nobody said; then there is one micro-batch, forward only */
    const char *schedule;      /* its name, "infer_pipe" where nobody said */
    int n_micro_batches;
    const Schedule *table; /* timed; NULL: it does not fit the stages, as a finding says */
};

/* Fills plan->submeshes, devices and stages from the journal: before anything is propagated. */
void stages_place(Plan *plan, const Journal *journal);

/* Fills the times of stages and the schedule: needs op_us and reshards. */
void stages_time(Plan *plan);

/* Axes that a tensor must not be cut by: those that tell its devices apart. Per tensor; NULL: there
 * are none. */
const AtomSet *stages_barred(Arena *arena, const Plan *plan);

/* The stage of an op, -1: there are none, or it is a host op. */
static inline int stage_of(const Plan *plan, int32_t op)
{
    return plan->stages ? plan->stages->of_op[op] : -1;
}

#endif
