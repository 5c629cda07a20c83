/* cut_check.h - a model run under every cut of its ops, one at a time.
 *
 * Every op that is computed is taken by itself: each of its index dims that may be cut, map and
 * reduce, is cut by each axis of the mesh, then by two axes at once, then two of its dims by an
 * axis each. Each is one decision, or two; the rest of the plan follows from it as it would for
 * anybody, and the run must give the outputs that were given. Sizes that do not divide are cut like
 * others. Ops with the same space (operator, attributes, shapes) are one case: the first of them is
 * cut.
 */
#ifndef CORE_PROVE_CUT_CHECK_H
#define CORE_PROVE_CUT_CHECK_H

#include "core/session/session.h"
#include "core/run/run.h"

typedef struct {
    int n_cuts;     /* that were run, the failing one included */
    double max_abs; /* over the outputs of all that were run to the end */
    const char
        *line; /* the decisions under which it fails, as lines of a policy; NULL: none does */
    RunReport report; /* of the last one */
    Error err;        /* why the failing one could not be run; not set: an output differs */
} CutProof;

/* Stops at the first that fails. What the session's journal says stays in force. */
CutProof cut_check(Arena *arena, const Session *session, const char *data_set,
                   const RunOptions *options);

/* The largest error of an output. */
double run_largest_error(const RunReport *report);

#endif
