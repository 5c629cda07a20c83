/* plan_findings.h - what a finished plan has to say of itself.
 *
 * code               level     when
 * does-not-divide    warning   an axis is gathered because a dim's index dims do not nest with it:
 *                              12 heads over tp=8; or parts (q, k and v) are cut across
 * frozen             note      gathered because the op never cuts that index dim (softmax's d)
 * conflict           note      gathered because the axis cuts another index dim of the op, or a
 *                              reduce dim where reducing would cost more
 * uneven             note      some rank holds less; says the sizes and the bytes padded
 * empty              warning   some rank holds nothing
 * Alike ones are one finding with a count.
 */
#ifndef CORE_PLAN_PLAN_FINDINGS_H
#define CORE_PLAN_PLAN_FINDINGS_H

#include "core/plan/plan.h"

void plan_add_findings(Plan *plan);

/* Appends one finding; texts are copied into the plan's arena. */
void plan_find(Plan *plan, Level level, const char *code, int32_t op, int32_t tensor,
               const char *hint, const char *format, ...) __attribute__((format(printf, 7, 8)));

/* The last finding is about a decision: it stands where that was made. */
void plan_found_at(Plan *plan, const Origin *origin);

#endif
