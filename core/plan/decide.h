/* decide.h - replays a journal: which decisions hold. */
#ifndef CORE_PLAN_DECIDE_H
#define CORE_PLAN_DECIDE_H

#include "core/plan/plan.h"

/* Whether a decision is about a place of the model and the mesh that exists. Returns false with
 * ERROR_OUT_OF_RANGE if it is not. */
bool decision_check(const Inferred *inferred, const Mesh *mesh, const Decision *decision,
                    Error *err);

/* Makes plan->decided. The last decision about a dim, tensor or op holds; what cannot hold is a
 * finding. */
void plan_decide(Plan *plan, const Journal *journal);

#endif
