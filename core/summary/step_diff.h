/* step_diff.h - compares a training step that was derived here with the one that a file holds, both
 * as planned: gradients of parameters by name, ops and FLOPs by phase, collectives by pass, kind
 * and axes.
 */
#ifndef CORE_SUMMARY_STEP_DIFF_H
#define CORE_SUMMARY_STEP_DIFF_H

#include "core/cost/step_comm.h"
#include "core/session/session.h"

enum { STEP_DERIVED, STEP_STATED, STEP_SIDES };

typedef struct {
    const char *parameter;
    int32_t tensor[STEP_SIDES]; /* the gradient on each side; -1: there is none */
    bool other_shape, other_sharding;
} StepDiffGradient;

typedef struct {
    Phase phase;
    const char *operator;
    double n[STEP_SIDES]; /* number of ops; in loops, of all iterations */
} StepDiffOps;

typedef struct {
    CommPass pass;
    StepKind kind;
    const char *axes;     /* "tp" */
    double n[STEP_SIDES]; /* number of collectives of one micro-batch */
    double bytes[STEP_SIDES];
} StepDiffComm;

typedef struct {
    const Session *side[STEP_SIDES];
    Vec(StepDiffGradient) gradients; /* in the order of the derived step, then of the file's */
    Vec(StepDiffOps) ops;            /* by phase, then by name */
    Vec(StepDiffComm) comm;          /* by pass, kind, axes */
    double flops[STEP_SIDES][PHASE_UPDATE + 1]; /* of whole ops, on all devices */
    int n_both, n_only[STEP_SIDES];             /* gradients */
    bool updates;                               /* the file holds an update too */
    bool same; /* gradients, their shapes, and the collectives of the passes that both have are
                  equal */
} StepDiff;

/* derived: a session with a step; stated: a session of a file with Graph.stated, on an equal mesh.
 */
StepDiff *step_diff(Arena *arena, const Session *derived, const Session *stated);

void step_diff_format(const StepDiff *diff, Buf *out);
Json *step_diff_json(const StepDiff *diff);

#endif
