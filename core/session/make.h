/* make.h - makes a plan from a request, stage by stage. */
#ifndef CORE_SESSION_MAKE_H
#define CORE_SESSION_MAKE_H

#include "core/plan/plan.h"

/* Makes everything that follows from the request, in the plan's own arena (plan_free). A plan is
 * always made: wrong decisions become findings. Returns NULL only with ERROR_OUT_OF_RANGE (a
 * decision about something that does not exist) or with ERROR_CANCELLED (its progress was asked to
 * stop). */
Plan *plan_make(const PlanRequest *request, Error *err);
/* The same, but only up to plan->propagated: which decisions hold, and the resulting cuts. */
Plan *plan_make_cuts(const PlanRequest *request, Error *err);
/* The same for the forward pass only: plan->propagated has no columns for ops after it. */
Plan *plan_make_forward_cuts(const PlanRequest *request, Error *err);
void plan_free(Plan *plan); /* NULL is allowed */

/* Only for the bench: computes plan->propagated of a finished plan again. */
void plan_propagate(Plan *plan, const PlanRequest *request);

#endif
