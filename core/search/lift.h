/* lift.h - a session as a search sees it: without decisions that are lifted.
 *
 * Decisions of an earlier search are its proposals, not constraints: they never hold in the next
 * one. A search that prices a pin lifts the pin as well.
 */
#ifndef CORE_SEARCH_LIFT_H
#define CORE_SEARCH_LIFT_H

#include "core/session/session.h"

/* Fills *out with the session under the decisions that are left, in the arena; its plan is the
 * session's own if nothing is lifted. It has a propagation of its own, so that the session may be
 * looked at by another thread. lifted: [session->journal.n_done], or NULL. Returns false with *err.
 */
bool lift_decisions(Arena *arena, const Session *session, const bool *lifted, Session *out,
                    Error *err);
/* Frees the plan that was made for it. */
void lift_end(const Session *session, Session *lifted);

/* Appends to `out` what takes the decisions of earlier searches away from the session. */
typedef Vec(Decision) LiftedDecisions;
void lift_searched(Arena *arena, const Session *session, LiftedDecisions *out);

#endif
