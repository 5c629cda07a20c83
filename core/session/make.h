/* make.h - makes a plan from a request, stage by stage. */
#ifndef CORE_SESSION_MAKE_H
#define CORE_SESSION_MAKE_H

#include "core/plan/plan.h"

/* Everything derived, in the plan's own arena (plan_free). A plan is always made: what is wrong
 * with the decisions is in its findings. Returns NULL only for ERROR_OUT_OF_RANGE input (a decision
 * about something that does not exist), and with ERROR_CANCELLED when its progress is asked to
 * stop. */
Plan *plan_make(const PlanRequest *request, Error *err);
void plan_free(Plan *plan); /* NULL is allowed */

/* Only plan->propagated, once more, of a plan that is made: for the bench. */
void plan_propagate(Plan *plan, const PlanRequest *request);

#endif
