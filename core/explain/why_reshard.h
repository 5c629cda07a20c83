/* why_reshard.h - why a value is resharded: how its op makes it, and why its reader needs another
 * sharding.
 *
 * `why` of its dims (reason.h) explains how the value came to be made like this. The other side is
 * the first op that reads the result: for each axis that the op needs and the value lacks, the
 * chain by which the axis reached the op; for each axis that the value has and the op cannot use,
 * what kept the axis from the op (stop.h).
 */
#ifndef CORE_EXPLAIN_WHY_RESHARD_H
#define CORE_EXPLAIN_WHY_RESHARD_H

#include "core/explain/why_not.h"

typedef struct {
    int dim; /* of the tensor */
    ReasonChain chain;
} WantedAxis;

typedef struct {
    int dim;
    AtomSet atoms;
    bool found;
    WhyNotStop stop; /* if found */
} DroppedAxes;

typedef struct {
    const Reshard *reshard;
    const ReshardPath *runner_up; /* set to why_reshard_other() by callers that show it; else
                                     NULL */
    int32_t op;                   /* the first op that reads the result; -1 for a pin, or if
                                     nothing reads it */
    int n_wanted, n_dropped;
    WantedAxis *wanted;
    DroppedAxes *dropped;
    int32_t joined; /* reshard_joins() */
    AtomSet summed; /* the value is partial over these, and the reader needs the sum */
} WhyReshard;

/* The next best path; NULL if there is none, or if the value is sent to another stage. This
 * searches for the path and gives its shardings ids in the plan, so no other thread may read the
 * plan meanwhile. */
const ReshardPath *why_reshard_other(const Plan *plan, const Reshard *reshard);

/* In the arena, without the runner-up. */
WhyReshard why_reshard(Arena *arena, const Plan *plan, const Reshard *reshard);

/* The op that makes a value partial over any of the axes: it sums over an index dim that they
 * shard. Follows ops that pass partial values on. Returns -1 if there is none; index may be NULL.
 */
int32_t why_summed_by(const Plan *plan, int32_t tensor, AtomSet atoms, int *index);

/* "half of an all-reduce of the gradient of T, which pp=0 and pp=3 both hold", for a reshard with a
 * parameter in `joined`; else nothing. */
void why_reshard_format_joined(const Plan *plan, const WhyReshard *why, Buf *out);

/* Lines of text, all but the first indented. */
void why_reshard_format(const Plan *plan, const Reshard *reshard, Buf *out);

#endif
