/* decide.h - replays a journal and finds which decisions hold. */
#ifndef CORE_PLAN_DECIDE_H
#define CORE_PLAN_DECIDE_H

#include "core/plan/plan.h"

/* Checks that a decision names things that exist in the model and the mesh. Returns false with
 * ERROR_OUT_OF_RANGE if it does not. */
bool decision_check(const Inferred *inferred, const Mesh *mesh, const Decision *decision,
                    Error *err);

/* Fills plan->decided; in a training step the decisions about the forward pass come first. The last
 * decision about a dim, tensor or op holds; decisions that cannot hold become findings, and so do
 * those of a kind that plan->propagator does not obey. */
void plan_decide(Plan *plan, const Journal *journal);

#endif
