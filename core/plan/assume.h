/* assume.h - what a plan assumes about values, whatever their ops make.
 *
 *     graph:assume("*.ln_1.weight~grad", "reduced", "tp")
 *
 * Frameworks often know only by convention whether a value is complete or still partial over an
 * axis, and bugs of that kind are silent. An assumption makes such a convention part of the plan:
 * the values that match are moved and read as if, over the axes, they were
 *
 *     reduced   complete on every rank: nothing is summed
 *     partial   addends: they are summed
 *     mean      addends that are averaged
 *
 * Two kinds are about values of ops that draw numbers, such as Dropout. A plan draws each number by
 * the place of its element in the whole tensor; frameworks have a seed and a counter per rank, so
 *
 *     drawn by rank   ranks along the axes draw other numbers, though they hold the same elements
 *     drawn alike     ranks along the axes draw the same numbers, each for its shard
 *
 * An op that runs again in the backward pass draws the numbers of the forward pass, unless an
 * assumption about "T~again" says otherwise.
 *
 * Of several assumptions of one kind about one value and axis, the last one holds. Nothing else
 * changes: each op computes what it computes. An assumption that contradicts its op is a finding
 * (core/explain/step_check.h), and the values are then wrong in a run. An assumption has no effect
 * over an axis that shards a dim of the value; only "drawn alike" has none over the other axes.
 *
 * A pattern matches names of values that ops make, both their own and those of core/plan/naming.h,
 * in the whole training step: "T~grad" is the gradient of T.
 *
 * code                      level     when
 * pattern-matched-nothing   warning   no op makes a value of such a name
 */
#ifndef CORE_PLAN_ASSUME_H
#define CORE_PLAN_ASSUME_H

#include "core/plan/plan.h"

/* One decision about one value. */
typedef struct {
    int32_t tensor;
    int32_t next; /* the next assumption about the same tensor: index into Assumptions.at; -1 */
    const Decision *decision;
} Assumption;

struct Assumptions {
    int n;
    const Assumption *at;
    const int32_t *first; /* per tensor: index into `at`; -1 */
};

const char *assumed_name(Assumed assumed); /* "reduced", "partial", "mean", .. */
bool assumed_parse(Str name, Assumed *out);
/* Returns whether it is about the numbers that an op draws, not about reductions. */
static inline bool assumed_draws(Assumed assumed)
{
    return assumed >= ASSUMED_DRAWN_BY_RANK;
}
ReduceOp assumed_reduce(Assumed assumed); /* how the addends are reduced */

/* ERROR_OUT_OF_RANGE: no pattern, no axis, or an axis that the mesh does not have. */
bool assume_check(const Mesh *mesh, const Decision *decision, Error *err);

/* The assumptions of a journal about plan->inferred; NULL if there are none. */
const Assumptions *assume_find(Plan *plan, const Journal *journal);

/* The decision that assumes how the value is reduced over one of the axes, or drawn along it; NULL
 * if there is none. */
const Decision *assumed_over(const Plan *plan, int32_t tensor, AtomSet axes);
const Decision *assumed_drawn(const Plan *plan, int32_t tensor, AtomSet axes);

/* How an op draws numbers on a rank. */
typedef struct {
    uint64_t by_rank;  /* added to its seed */
    uint16_t by_place; /* bits: dims of the value along which places count from the start of the
                          shard */
} Draws;

/* op: an op that draws, its gradient op, or its copy in the backward pass. */
Draws assume_draws(const Plan *plan, int32_t op, int64_t position);

/* Space for Moved.computed; NULL without assumptions. */
int32_t *assume_computed(const Plan *plan);

/* The sharding that a value is assumed to have if its op makes `made`; both are Shardings ids.
 * Notes `made` in computed[]. */
int32_t assume_made(const Plan *plan, int32_t tensor, int32_t made, int32_t *computed);

#endif
