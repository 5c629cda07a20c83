/* cut_check.h - runs a model under every sharding of each op.
 *
 * Each op is checked alone: each of its MAP and REDUCE dims is sharded by each axis of the mesh,
 * then by two axes, then two dims by one axis each. Each is one or two decisions; the rest of the
 * plan is propagated, and the run must give the expected outputs. Sizes that do not divide are
 * included. Ops with equal op spaces are one case: the first is checked.
 */
#ifndef CORE_PROVE_CUT_CHECK_H
#define CORE_PROVE_CUT_CHECK_H

#include "core/session/session.h"
#include "core/run/run.h"

typedef struct {
    int n_cuts;       /* runs, the failing one included */
    double max_abs;   /* over outputs of finished runs */
    const char *line; /* the failing decisions, as lines of a policy; NULL: no failure */
    RunReport report; /* of the last one */
    Error err;        /* why the failing run stopped; not set: an output differs */
} CutProof;

/* Runs a plan on the data set and compares the results with it: run_onnx_test(), or
 * run_gradient_test(). */
typedef bool RunTest(Arena *arena, const Plan *plan, const char *data_set,
                     const RunOptions *options, RunReport *out, Error *err);

/* Stops at the first failure. Decisions of the session's journal stay in force. In a training step
 * the forward ops are sharded; gradient ops follow them. */
CutProof cut_check(Arena *arena, const Session *session, RunTest *test, const char *data_set,
                   const RunOptions *options);

/* The largest error of an output. */
double run_largest_error(const RunReport *report);

#endif
