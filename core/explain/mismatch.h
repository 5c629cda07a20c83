/* mismatch.h - findings about a finished plan: where the sharding that a value has is not the one
 * that an op needs, and which dims do not divide.
 *
 * code               level     when
 * does-not-divide    warning   a reshard, since an axis does not divide the index dims of a dim:
 *                              12 heads over tp=8; or it would split parts such as q, k and v
 * frozen             note      a reshard, since the op cannot run sharded along the dim (softmax)
 * conflict           note      a reshard, since other axes shard the dim in the op, or the axis
 *                              shards another index dim of it, or would leave a partial sum that
 *                              costs more than gathering
 * pin-moves          note      a reshard, since the op makes the dim other than it is pinned
 * uneven             note      the last rank holds less than the first; with sizes and padded bytes
 * empty              warning   the last rank holds nothing
 * not-partial        warning   a tensor is marked unreduced, but no op leaves it partial
 *
 * Findings that differ only in op and tensor are one, with a count.
 *
 * If one pin gave the value its axis and another pin gave the op the same axis elsewhere, the
 * finding names both, with their lines: the pin that the op follows wins, the other one loses, and
 * the reshard is the collective that this costs.
 */
#ifndef CORE_EXPLAIN_MISMATCH_H
#define CORE_EXPLAIN_MISMATCH_H

#include "core/plan/plan.h"

/* Needs plan->moved. */
void mismatch_find(Plan *plan);

#endif
