/* config_explain.h - why a configuration: what one other choice costs, and what a limit does.
 *
 * A change is one choice made otherwise, the rest as it is: an axis twice or half as large, with as
 * many fewer or more devices on dp; a micro-batch of twice or half the samples; another schedule,
 * level of ZeRO, order of axes, split of stages; what runs again; sequence parallelism. Each is a
 * configuration of the space, and its time a plan's, in parts.
 */
#ifndef CORE_SEARCH_CONFIG_EXPLAIN_H
#define CORE_SEARCH_CONFIG_EXPLAIN_H

#include "core/search/config_search.h"

/* The difference of a part of the step between two plans; positive: the change takes more. */
typedef struct {
    const char *name;
    double us;
} ConfigDelta;

typedef struct {
    const char *what;       /* "tp=8 instead of 4, dp=32" */
    const ConfigPlan *plan; /* NULL: not planned, since its bound is above those that are, .. */
    double bound_us;        /* .. or it needs more than the limit */
    int64_t bound_bytes;
    bool fits; /* the plan, or as far as the bound tells */
    int n_deltas;
    const ConfigDelta *delta; /* of a plan: parts that differ by half a microsecond, the largest
                                 first; they add up to the difference of the steps */
} ConfigChange;

typedef struct {
    int n;
    ConfigChange *change; /* those that fit first, the fastest first */
} ConfigChanges;

/* most: how many are planned at most, those with the least bounds. In the arena. Returns false with
 * ERROR_CANCELLED if the search's progress was stopped. */
bool config_changes(Arena *arena, ConfigSearch *search, const ConfigPlan *best, int64_t max_peak,
                    int most, ConfigChanges *out, Error *err);

/* Points of the frontier: each is proven to be the fastest, within `gap`, of those with less memory
 * than the point before, by at least a thirtieth. From the fastest of all to the smallest. */
bool config_frontier(Arena *arena, ConfigSearch *search, const ConfigQuestion *question,
                     const ConfigPlan ***out, int *n, Error *err);

#endif
