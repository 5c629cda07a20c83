/* lent.h - opens sessions that reuse reshards which another plan has already searched. */
#ifndef CORE_SESSION_LENT_H
#define CORE_SESSION_LENT_H

#include "core/session/session.h"

/* Like session_open(), but if the lender's mesh and machine equal its own, reshards that the lender
 * has are not searched again. The results are the same. lender: no one else may use it meanwhile;
 * NULL: none. */
Session *session_open_lent(const SessionOptions *options, const SessionHooks *hooks,
                           const Plan *lender, Error *err);

#endif
