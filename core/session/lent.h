/* lent.h - sessions that borrow the reshards of a plan. */
#ifndef CORE_SESSION_LENT_H
#define CORE_SESSION_LENT_H

#include "core/session/session.h"

/* session_open(); where the lender's mesh and machine are equal to its own, reshards that the
 * lender has are not searched again. The results are the same. lender: nobody else may use it
 * meanwhile; NULL: none. */
Session *session_open_lent(const SessionOptions *options, const SessionHooks *hooks,
                           const Plan *lender, Error *err);

#endif
