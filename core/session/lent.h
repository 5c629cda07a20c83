/* lent.h - opens sessions that reuse reshards which another plan has already searched. */
#ifndef CORE_SESSION_LENT_H
#define CORE_SESSION_LENT_H

#include "core/session/session.h"

/* Like session_open(), but if the lender's mesh and machine equal its own, reshards that the lender
 * has are not searched again. The results are the same. lender: no one else may use it meanwhile;
 * NULL: none. */
Session *session_open_lent(const SessionOptions *options, const SessionHooks *hooks,
                           const Plan *lender, Error *err);

/* The same where one of these sessions of the same model and policy has its sizes of free dims: it
 * shares that one's model, and must be closed first. The policy's own decisions are taken, and of
 * the options mesh, settings and progress. Returns NULL without an error if none of them has. */
Session *session_open_beside(const Session *const *open, int n, const SessionOptions *options,
                             const Plan *lender, Error *err);

#endif
