/* make.h - makes a plan from a request, stage by stage. */
#ifndef CORE_SESSION_MAKE_H
#define CORE_SESSION_MAKE_H

#include "core/plan/plan.h"

/* Makes everything that follows from the request, in the plan's own arena (plan_free). A plan is
 * always made: what is wrong with its decisions is in its findings. Returns NULL only with
 * ERROR_OUT_OF_RANGE (a decision about something that does not exist), and with ERROR_CANCELLED if
 * its progress is asked to stop. */
Plan *plan_make(const PlanRequest *request, Error *err);
/* The same only as far as plan->propagated: which decisions hold, the cuts that follow. */
Plan *plan_make_cuts(const PlanRequest *request, Error *err);
/* The same of the forward pass alone: plan->propagated has no columns for what is behind it. */
Plan *plan_make_forward_cuts(const PlanRequest *request, Error *err);
void plan_free(Plan *plan); /* NULL is allowed */

/* Computes only plan->propagated again, of a finished plan: for the bench. */
void plan_propagate(Plan *plan, const PlanRequest *request);

#endif
