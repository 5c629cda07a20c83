/* plan_findings.h - findings about a finished plan: what its shardings cost.
 *
 * code               level     when
 * does-not-divide    warning   a reshard, since an axis does not divide the index dims of a dim:
 *                              12 heads over tp=8; or it would split parts such as q, k and v
 * frozen             note      a reshard, since the op cannot run sharded along the dim (softmax)
 * conflict           note      a reshard, since other axes shard the dim in the op, or the axis
 *                              would leave a partial sum that costs more than gathering
 * pin-moves          note      a reshard, since the op makes the dim other than it is pinned
 * uneven             note      the last rank holds less than the first; with sizes and padded bytes
 * empty              warning   the last rank holds nothing
 * not-partial        warning   a tensor is marked unreduced, but no op leaves it partial
 *
 * Findings that differ only in op and tensor are one, with a count.
 */
#ifndef CORE_PLAN_PLAN_FINDINGS_H
#define CORE_PLAN_PLAN_FINDINGS_H

#include "core/plan/plan.h"

void plan_add_findings(Plan *plan);

/* Appends one finding; texts are copied into the plan's arena. */
void plan_find(Plan *plan, Level level, const char *code, int32_t op, int32_t tensor,
               const char *hint, const char *format, ...) __attribute__((format(printf, 7, 8)));

/* Sets the place of the last finding to where the decision was made. */
void plan_found_at(Plan *plan, const Origin *origin);

#endif
