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
 *
 *     forward_us  = compute_us + comm_us
 *     backward_us = 2 forward_us + again_us
 *
 * Stages meet on a lane of devices (schedule.h) where the parts of the mesh that they run on
 * overlap. A stage's devices are those of most of its ops.
 *
 * code              level     when
 * axis-of-stages    error     a pin asks for an axis that tells devices of stages apart, or a
 *                             propagator cut by it
 * too-many-stages   warning   more than STAGES_MAX: then there are none
 * schedule          error     the schedule does not fit the stages
 * unbalanced        note      the slowest stage takes 1.2 times the mean or more
 */
#ifndef CORE_PLAN_STAGE_H
#define CORE_PLAN_STAGE_H

#include "core/plan/plan.h"
#include "core/plan/schedule.h"

typedef struct {
    int first, last; /* places in the program of its first and last op */
    int16_t devices; /* place in plan->submeshes: of most of its ops */
    bool relay;
    double compute_us; /* of its ops, forward, one micro-batch; of loops all turns */
    double comm_us;    /* of the collectives on its devices, and inside its ops */
    double again_us;   /* of the ops that are computed again, and of the collectives they need */
    double receive_us; /* of what is sent to it */
    int64_t receive_bytes;
    const Decision *decision; /* that it begins there; NULL: devices change */
    const Decision *placed;   /* that its first op runs there; NULL: on the whole mesh */
} Stage;

struct Stages {
    int n;
    Stage *at;
    int16_t *of_op;            /* per op: place in `at`; -1 for host ops */
    int32_t *recompute;        /* per op: group, -1; NULL: nothing is computed again */
    const Decision *scheduled; /* NULL: nobody said; then there is one micro-batch, forward only */
    const char *schedule;      /* its name, "infer_pipe" where nobody said */
    int n_micro_batches;
    const Lanes *lanes;
    const Schedule *table; /* timed; NULL: it does not fit the stages, as a finding says */
    double even_idle;      /* its bubble if all stages took equally long, and sending no time */
};

/* Fills plan->submeshes, devices and stages from the journal: before anything is propagated. */
void stages_place(Plan *plan, const Journal *journal);

/* Fills the times of stages, lanes and the schedule: needs op_us and reshards. */
void stages_time(Plan *plan);

static inline double stage_forward_us(const Stage *stage)
{
    return stage->compute_us + stage->comm_us;
}

static inline double stage_backward_us(const Stage *stage)
{
    return 2 * stage_forward_us(stage) + stage->again_us;
}

/* What a step takes: the schedule's time; without stages, totals.step_us. */
double plan_step_us(const Plan *plan);

/* "1f1b, 8 micro-batches on 4 stages: 1.2 ms, bubble 31.0%; stages that took equally long would
 * have 27.3% = (n-1)/(m+n-1)"; of a plan whose schedule does not fit, that. */
void stages_explain(const Plan *plan, Buf *out);

/* That a backward slot counts by its forward, for whoever shows one. */
const char *stages_backward_note(void);

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
 * it, and on all of it when it is handed out as it is. Places in plan->submeshes, one a call, the
 * same again too; -1: that was all, which comes first where nobody reads it. *at begins with 0. */
int stage_given_on(const Plan *plan, int32_t tensor, int *at);

/* A part of the mesh where a tensor lies: its maker's, of what is given that of a reader: the one
 * that has the rank, where there are several. */
SubMesh stage_part_of(const Plan *plan, int32_t tensor, int64_t rank);

/* The stages that a reshard leaves and comes to, the same where nothing is sent; -1: nobody's. A
 * value that is handed on comes from a stage between its maker's and its reader's, or goes to one.
 * There are stages. */
void stage_ends(const Plan *plan, const Reshard *reshard, int *from, int *to);

/* The stage of an op, -1: there are none, or it is a host op. */
static inline int stage_of(const Plan *plan, int32_t op)
{
    return plan->stages ? plan->stages->of_op[op] : -1;
}

#endif
