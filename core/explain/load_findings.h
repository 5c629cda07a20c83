/* load_findings.h - findings about the expected distribution of a router's tokens over experts.
 *
 * code             level     when
 * expert-load      note      the fullest rank gets more rows than the mean of all, so that the
 *                            others wait for it
 */
#ifndef CORE_EXPLAIN_LOAD_FINDINGS_H
#define CORE_EXPLAIN_LOAD_FINDINGS_H

#include "core/plan/plan.h"

/* Needs the cuts of all ops. */
void load_find(Plan *plan);

#endif
