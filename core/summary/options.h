/* options.h - alternative decisions at a place, and the plans they would give.
 *
 * An option is a list of decisions that are not made yet, with the lines of a policy that make
 * them. options_for_*() only list them; options_try() makes the plan of each, beside the current
 * one, and notes its costs. So no price of an option is an estimate: its totals are those of a
 * session with its decisions. Places that repeat (one in each layer) are decided together.
 *
 * For a reshard:
 *     sum into a dim   of a partial value: it is stored sharded there (reduce-scatter)
 *     store so         the value has the sharding its reader needs, for all readers
 *     without          the index dim of its maker that the moved axes shard is left whole
 *     by another dim   the same, and another index dim of it sharded by the same axes
 *     weight whole     the parameters of its maker are not sharded by the moved axes
 *     reader follows   its reader is sharded as the value is, so it moves later or never
 * For a dim of a tensor or of an op: each axis, pairs of axes after those that shard it, whole.
 * For a value that is alive at the peak: each of its dims sharded by each axis that shards none of
 * it.
 *
 * Everything is in the given arena. Trying reads the session and changes nothing in it, so it may
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
    bool same;          /* the totals are the current ones */
    int n_new;          /* errors and warnings beyond the current ones */
    const char *reason; /* the plan's first new error, or warning; "" */
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

/* What the plan would be after those decisions; nothing is changed. Returns false with *err if
 * there is no such plan (a decision out of range). */
bool plan_try(Arena *arena, const Session *session, const Decision *decisions, int n, Trial *out,
              Error *err);

/* The options for repeated reshards, of which this is the first. */
PlanOptions options_for_reshard(Arena *arena, const Session *session, const int32_t *reshards,
                                int n);
/* kind: PIN_TENSOR_DIM or PIN_INDEX_DIM; one dim of n places of equal size. */
PlanOptions options_for_dim(Arena *arena, const Session *session, DecisionKind kind,
                            const int32_t *places, int n, int dim);
PlanOptions options_for_value(Arena *arena, const Session *session, const int32_t *tensors, int n);

/* Makes the plans of all that are not done, in order. Returns false with ERROR_CANCELLED; the rest
 * then stays not done. An option that cannot be planned is done, and not legal. */
bool options_try(Arena *arena, const Session *session, PlanOptions *options, Progress *progress,
                 Error *err);

/* Legal ones first, by the time of a step, then by peak; then those that change nothing, illegal
 * ones, and untried ones. */
void options_sort(PlanOptions *options);
/* The same, by peak and then by the time of a step. */
void options_sort_by_peak(PlanOptions *options);

#endif
