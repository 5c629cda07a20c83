/* timeline.h - a step of a plan along time: its ops and reshards one after the other.
 *
 * The order is the program's; a reshard stands before the first op that reads what it makes, one
 * that nobody reads after its maker. Times are the plan's, of rank 0, which holds the largest parts
 * and so is the slowest; nothing overlaps, as in step_us (cost.h). What is in a loop takes as long
 * as all its turns.
 *
 * Where ops run on parts of the mesh, it is one micro-batch on its way through all of them. Each
 * span is on one part; what is sent from part to part stands with the part that gets it.
 *
 * Spans that are alike but for numbers in their names are one row xN. In plans of more than
 * FOLDED_OPS_MAX ops a row is an operator.
 */
#ifndef CORE_RUN_TRACE_TIMELINE_H
#define CORE_RUN_TRACE_TIMELINE_H

#include "core/session/session.h"
#include "core/run/run.h"

enum { FOLDED_OPS_MAX = 50000, TIME_KINDS_MAX = 62, KIND_RESHARD = 0 };

typedef struct {
    double start_us, us;
    int32_t op, reshard; /* one of them; -1 */
    int16_t kind;        /* letter and operator; KIND_RESHARD */
    int16_t part;        /* whose devices do it */
    int32_t row;
} TimeSpan;

/* An operator with a letter of its own; those past TIME_KINDS_MAX share '?'. */
typedef struct {
    const char *name; /* "Gemm"; "reshard" */
    char letter;
    int n;
    double us, measured_us;
} TimeKind;

typedef struct {
    const char *label; /* "h.*.mlp.c_fc"; "AR tp h.*.mlp.c_proj out" */
    int32_t first;     /* span */
    int n;
    int16_t kind;
    double us, measured_us; /* of all of them */
} TimeRow;

typedef struct {
    Arena *arena;
    int n, n_kinds, n_rows, n_parts;
    TimeSpan *span;
    int16_t *part;  /* places in plan->submeshes of those that something runs on, in its order */
    TimeKind *kind; /* after KIND_RESHARD by time, the dearest first */
    TimeRow *row;   /* the dearest first; by difference once there is a run */
    double us;      /* of all */
} Timeline;

Timeline *timeline_new(const Session *session);
void timeline_free(Timeline *timeline); /* NULL is allowed */

/* Fills measured times, and sorts rows by how far they are from the predicted ones. */
void timeline_measure(Timeline *timeline, const RunReport *report);

int timeline_at(const Timeline *timeline, double us); /* the span at that time */
int timeline_of_op(const Timeline *timeline, int32_t op);

#endif
