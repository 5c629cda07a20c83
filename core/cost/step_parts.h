/* step_parts.h - where the time of a step goes, in parts that sum to it.
 *
 * With stages: on the devices that are busy longest, in a step of m micro-batches
 *
 *     compute        m times the ops of their stages, forward and backward
 *     collective     m times the collectives over the same axes and of one kind; sends are waits
 *     wait           for other stages, by cause (schedule_idle.h)
 *     update         ops that run once a step, in the stage with most of that
 *     reduction      collectives that run once a step, likewise: of gradients, of new parameters
 *
 * Gathers of parameters and reductions of their gradients count only as long as ops wait for them
 * (streams.h). Without stages there is one micro-batch, no wait, and nothing overlaps, as in
 * plan_step_us(). Collectives inside an op (op_declared.h) have no axes.
 */
#ifndef CORE_COST_STEP_PARTS_H
#define CORE_COST_STEP_PARTS_H

#include "core/cost/pipeline.h"
#include "core/plan/schedule_idle.h"

/* ORDER PART */
typedef enum { PART_COMPUTE, PART_COLLECTIVE, PART_WAIT, PART_UPDATE, PART_REDUCTION } PartKind;

typedef struct {
    PartKind kind;
    StepKind step;   /* of collectives and reductions */
    AtomSet atoms;   /* likewise: over which; 0: inside an op */
    IdleCause cause; /* of waiting */
    double us, n;    /* in a step; n: the number of collectives or reductions */
} StepPart;

/* The collectives of a step with one kind, axes and cause. */
typedef struct {
    StepKind step;
    AtomSet atoms; /* 0: inside an op */
    When when;
    bool buckets; /* of parameters or their gradients, concurrent with ops (streams.h) */
    double n, bytes, alone_us, exposed_us; /* in a step; bytes: the sum of a rank's payloads */
} ExposedPart;

typedef struct {
    int n;
    StepPart *part; /* by kind, the longest first; those of 0 us are left out */
    double us;      /* their sum: plan_step_us() */
    int n_exposed;
    ExposedPart *exposed; /* the longest waits first; they add up to collectives and reductions */
    int lane;             /* the devices (Lanes) whose time this is; -1 without stages */
} StepParts;

/* "compute", "all_reduce over tp", "all_gather over dp, once a step", "waits: warm-up"; in the
 * arena. */
const char *step_part_name(Arena *arena, const Mesh *mesh, const StepPart *part);

/* "between ops, forward", "gradients, once a step" */
const char *exposed_part_cause(const ExposedPart *part);

/* In the arena. If the schedule does not fit the stages, one micro-batch goes through all of them,
 * without waits. */
StepParts step_parts(Arena *arena, const Plan *plan);

#endif
