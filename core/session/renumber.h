/* renumber.h - decisions about what has other ids in another step of the same model. */
#ifndef CORE_SESSION_RENUMBER_H
#define CORE_SESSION_RENUMBER_H

#include "core/session/session.h"

/* The journal with the present ids of what the step adds to the model. Decisions about copies that
 * are gone are left out. */
Journal journal_renumbered(const Session *session, const Graph *from, const Journal *journal);

#endif
