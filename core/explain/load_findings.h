/* load_findings.h - findings about how a router's tokens are expected to spread over experts.
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
