/* options.h - what else could be decided at a place, and what the plan would be with it.
 *
 * An option is a list of decisions nobody has made, with the lines of a policy that make them.
 * options_for_*() only list them; options_try() makes the plan of each, beside the one that is, and
 * notes what it costs. So no price of an option is a guess: its totals are those of a session that
 * has its decisions. Places that are alike (one in each layer) are decided together.
 *
 * For a reshard:
 *     sum into a dim   of a partial value: what is stored is cut there (reduce-scatter)
 *     store so         the value lies as its reader wants it, for all who read it
 *     not cut          the index dim of its maker that is cut by what moves is left whole
 *     cut instead      the same, and another index dim of it cut by the same axes
 *     weight whole     the parameters of its maker are not cut by what moves
 *     reader follows   its reader's index dims are cut as the value is, so it moves later or never
 * For a dim of a tensor or of an op: each axis, pairs of axes behind what cuts it, whole.
 * For a value that is alive at the peak: each of its dims cut by each axis that cuts none of it.
 *
 * Everything lies in the arena given. Trying reads the session and changes nothing of it, so it may
 * run on another thread while nobody changes the session.
 */
#ifndef CORE_SUMMARY_OPTIONS_H
#define CORE_SUMMARY_OPTIONS_H

#include "core/base/progress.h"
#include "core/base/span.h"
#include "core/session/session.h"

typedef struct {
    bool done;
    Totals totals;
    bool legal;         /* the plan with it */
    bool same;          /* totals are as now: it changes nothing that costs */
    int n_new;          /* findings that are errors or warnings, more than now */
    const char *reason; /* the first error, or warning, that the plan now has not; "" */
} Trial;

enum { OPTION_LINES_MAX = 64 };

typedef struct {
    Text text;  /* "sum into dim 1 by tp", "tp", "whole" */
    bool whole; /* the dim is not to be sharded */
    int n;
    const Decision *decisions; /* origin.text: the Lua line, of the first OPTION_LINES_MAX */
    Trial trial;
} PlanOption;

typedef struct {
    Totals now;
    Vec(PlanOption) list;
} PlanOptions;

/* What the plan would be after those decisions; nothing is changed. False with *err: there is no
 * such plan (a decision out of range). */
bool plan_try(Arena *arena, const Session *session, const Decision *decisions, int n, Trial *out,
              Error *err);

/* Those of reshards that are alike, the first of which is asked about. */
PlanOptions options_for_reshard(Arena *arena, const Session *session, const int32_t *reshards,
                                int n);
/* kind: PIN_TENSOR_DIM or PIN_INDEX_DIM; one dim of n places of equal size. */
PlanOptions options_for_dim(Arena *arena, const Session *session, DecisionKind kind,
                            const int32_t *places, int n, int dim);
PlanOptions options_for_value(Arena *arena, const Session *session, const int32_t *tensors, int n);

/* Makes the plans of all that are not done, in order. False with ERROR_CANCELLED: those not done
 * stay so. One that cannot be planned is done, and not legal. */
bool options_try(Arena *arena, const Session *session, PlanOptions *options, Progress *progress,
                 Error *err);

/* Legal ones first, by the time of a step, then by peak; then what changes nothing, what is
 * illegal, and what has not been tried. */
void options_sort(PlanOptions *options);
/* The same, by peak and then by the time of a step. */
void options_sort_by_peak(PlanOptions *options);

#endif
