/* options.h - alternative decisions at a place, and the plans they would give.
 *
 * An option is a list of decisions that are not yet made, with the lines of a policy that would
 * make them. options_for_*() only list them; options_try() makes the plan of each beside the
 * current one and stores its costs. So no price of an option is an estimate: its totals are those
 * of a session with these decisions. Places that repeat (one in each layer) are decided together.
 *
 * For a reshard:
 *     sum into a dim   of a partial value: it is stored sharded there (reduce-scatter)
 *     store so         the value has the sharding its reader needs, for all readers
 *     without          the index dim of its maker that the moved axes shard is left whole
 *     by another dim   the same, and another index dim of it sharded by the same axes
 *     weight whole     the parameters of its maker are not sharded by the moved axes
 *     reader follows   its reader is sharded as the value is, so it moves later or never
 * For a dim of a tensor or of an op: each axis, pairs of axes after those that shard it, whole. For
 * a value that is alive at the peak: each of its dims sharded by each axis that does not yet shard
 * it.
 *
 * Everything is in the given arena. Trying only reads the session, so it may run on another thread
 * as long as nobody changes the session.
 */
#ifndef CORE_SUMMARY_OPTIONS_H
#define CORE_SUMMARY_OPTIONS_H

#include "core/base/progress.h"
#include "core/base/span.h"
#include "core/session/session.h"

typedef struct {
    bool done;
    Totals totals;
    bool legal;         /* whether the plan with it is legal */
    bool same;          /* the totals do not change */
    int n_new;          /* errors and warnings that the current plan does not have */
    const char *reason; /* the first new error or warning; "" */
} Trial;

enum { OPTION_LINES_MAX = 64 };

typedef struct {
    Text text;  /* "sum into dim 1 by tp", "tp", "whole" */
    bool whole; /* the option leaves the dim unsharded */
    int n;
    const Decision *decisions; /* origin.text: the line of Lua, for the first OPTION_LINES_MAX */
    Trial trial;
} PlanOption;

typedef struct {
    Totals now;
    Vec(PlanOption) list;
} PlanOptions;

/* What the plan would be after these decisions; nothing is changed. Returns false with *err if
 * there is no such plan (a decision out of range). */
bool plan_try(Arena *arena, const Session *session, const Decision *decisions, int n, Trial *out,
              Error *err);

/* The options for repeated reshards, of which `reshards` lists the ids. */
PlanOptions options_for_reshard(Arena *arena, const Session *session, const int32_t *reshards,
                                int n);
/* kind: PIN_TENSOR_DIM or PIN_INDEX_DIM; the same dim of n places of equal size. */
PlanOptions options_for_dim(Arena *arena, const Session *session, DecisionKind kind,
                            const int32_t *places, int n, int dim);
PlanOptions options_for_value(Arena *arena, const Session *session, const int32_t *tensors, int n);

/* Makes the plans of all options that have none yet, in order. Returns false with ERROR_CANCELLED;
 * the others then still have none. An option that cannot be planned counts as done, but not legal.
 */
bool options_try(Arena *arena, const Session *session, PlanOptions *options, Progress *progress,
                 Error *err);

/* Legal options first, by the time of a step, then by peak; then those that change nothing, illegal
 * ones, and untried ones. */
void options_sort(PlanOptions *options);
/* The same, by peak and then by the time of a step. */
void options_sort_by_peak(PlanOptions *options);

#endif
