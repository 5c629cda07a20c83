/* timeline.h - the ops and reshards of one step of a plan along time.
 *
 * In program order; a reshard is before the first op that reads its result, an unread one after its
 * maker. Times are the predicted ones of rank 0, which has the largest parts; nothing overlaps, as
 * in step_us (cost.h). A loop counts all its iterations.
 *
 * With stages it is one micro-batch through all of them. A span belongs to one sub-mesh; a send to
 * the receiving one.
 *
 * Spans whose names differ only in numbers are one row xN. In plans of more than FOLDED_OPS_MAX ops
 * a row is an operator.
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
    int16_t part;        /* sub-mesh */
    int32_t row;
} TimeSpan;

/* An operator and its letter; those beyond TIME_KINDS_MAX share '?'. */
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
    int16_t *part;  /* sub-meshes in use: places in plan->submeshes, in its order */
    TimeKind *kind; /* after KIND_RESHARD by decreasing time */
    TimeRow *row;   /* by decreasing time; by difference once measured */
    double us;      /* of all */
} Timeline;

Timeline *timeline_new(const Session *session);
void timeline_free(Timeline *timeline); /* NULL is allowed */

/* Sets measured times and sorts rows by their difference to the prediction. */
void timeline_measure(Timeline *timeline, const RunReport *report);

int timeline_at(const Timeline *timeline, double us); /* the span at that time */
int timeline_of_op(const Timeline *timeline, int32_t op);

#endif
