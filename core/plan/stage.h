/* stage.h - pipeline stages: ranges of ops, each on its part of the mesh, run in the order of a
 * schedule.
 *
 * A stage is a range of ops in program order, from an op where a decision begins a stage to the
 * next such op; without such decisions, from one change of devices to the next. Ops that read only
 * parameters belong to the stage that reads their results. Several stages may have the same devices
 * (interleaved schedules). An axis, or part of one, that distinguishes the devices of stages shards
 * nothing there: no tensor is sharded by an axis on which the devices of its maker or of a reader
 * have a fixed coordinate.
 *
 * Parameters and graph inputs are on the devices of every stage that reads them. Other values are
 * sent from their maker's devices to their readers'. A stage that relays receives every value that
 * later stages need and sends it on (nnScaler's staging); others do not (its blocking).
 *
 * The graph is one micro-batch; core/cost/pipeline.h times a step of several.
 *
 * code              level     when
 * axis-of-stages    error     a pin asks for an axis that distinguishes devices of stages, or a
 *                             propagator sharded by it
 * too-many-stages   warning   more than STAGES_MAX: the plan then has no stages
 */
#ifndef CORE_PLAN_STAGE_H
#define CORE_PLAN_STAGE_H

#include "core/plan/plan.h"
#include "core/plan/schedule.h"
#include "core/step/backward.h"
#include "core/step/recompute.h"

typedef struct {
    int first, last; /* positions in the program of its first and last op */
    int16_t devices; /* index into plan->decided->submeshes: the part that most of its ops run on */
    bool relay;
    const Decision *decision; /* the decision that begins it; NULL if it begins where devices
                                 change */
    const Decision *placed;   /* the decision that places its first op on devices; NULL if it
                                 runs on the whole mesh */
} Stage;

struct Stages {
    int n;
    Stage *at;
    int16_t *of_op;            /* per op: index into `at`; -1 for host ops */
    const bool *sent;          /* of a training step, per op of the backward pass: another stage's
                                  backward pass reads what it makes, or what its stage makes of that;
                                  NULL for a model */
    const Decision *scheduled; /* NULL without one: one micro-batch runs forward */
    const char *schedule;      /* its name; "infer_pipe" if no decision names one */
    int n_micro_batches;
    Pass overlap; /* the pass of `scheduled` */
};

/* The recomputation group of each op according to the journal, -1 for none; NULL if the journal has
 * no such decisions. */
int32_t *recompute_groups(Arena *arena, const Graph *graph, const Journal *journal);

/* What the training step of a model depends on according to the journal. */
StepShape stages_shape(Arena *arena, const Inferred *model, const Mesh *mesh,
                       const Journal *journal);

/* Fills submeshes, devices, stages, recompute and places of `out`, before propagation. */
void stages_place(Plan *plan, Decided *out, const Journal *journal);

/* The same for a training step, given the decisions about its forward part: an op after the forward
 * part is on the devices, and in the stage, of the op it was derived from; a sum of gradients made
 * by one stage is in that stage. If only recomputation groups are decided, the step has no stages.
 */
void stages_extend(Plan *plan, const Decided *forward, Decided *out);

/* Per tensor, the axes that must not shard it because they distinguish its devices. NULL if there
 * are none. */
const AtomSet *stages_barred(Arena *arena, const Plan *plan);

/* Reports ops that a propagator sharded by an axis which distinguishes the devices of their stage.
 */
void stages_check(Plan *plan);

/* "pp=1, stage 1, megatron.lua:12": where an op runs, and which decision says so. */
void stage_format(const Plan *plan, int32_t op, Buf *out);

/* The decision that placed an op; NULL if there is none, or if op is -1. */
const Decision *stage_decision(const Plan *plan, int32_t op);

/* Lists where a parameter or a graph input is: on the part of the mesh of each op that reads it,
 * and on the whole mesh if it is returned unchanged. Call with *at = 0 first; every call returns an
 * index into plan->decided->submeshes, perhaps repeatedly, and -1 at the end; -1 at once if nothing
 * reads it. */
int stage_given_on(const Plan *plan, int32_t tensor, int *at);

/* The tensor that replaces a parameter or a state on that part of the mesh after the update: the
 * one made there, else the first one, which is sent. -1: it is not updated. */
int32_t stage_next_on(const Plan *plan, int32_t tensor, int devices);

/* A part of the mesh that holds the tensor: its maker's, or a reader's for a tensor without maker;
 * if there are several, one that contains the rank. */
SubMesh stage_part_of(const Plan *plan, int32_t tensor, int64_t rank);

/* The recomputation group of an op of the model; -1 if it has none. */
static inline int recompute_group(const Plan *plan, int32_t op)
{
    const Inferred *step = plan->inferred, *model = step->forward ? step->forward : step;
    const int32_t *group = plan->decided->recompute;
    bool has = group && 0 <= op && op < model->graph->n_ops && group[op] >= 0;
    return has ? group[op] & ~RECOMPUTE_WHOLE : -1;
}

/* The axes that distinguish the parts of the mesh on which ops run. */
static inline AtomSet stages_atoms(const Plan *plan)
{
    AtomSet atoms = 0;
    for (int i = 0; i < plan->decided->n_submeshes; i++)
        atoms |= plan->decided->submeshes[i].fixed;
    return atoms;
}

/* The stage of an op; -1 without stages, and for host ops. */
static inline int stage_of(const Plan *plan, int32_t op)
{
    return plan->decided->stages ? plan->decided->stages->of_op[op] : -1;
}

#endif
