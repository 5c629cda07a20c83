/* renumber.h - decisions under the ids of another training step of the same model. */
#ifndef CORE_SESSION_RENUMBER_H
#define CORE_SESSION_RENUMBER_H

#include "core/session/session.h"

/* The journal with the ids of the session's graph; `from` has those that it has now. Decisions
 * about what the session's graph lacks are left out. */
Journal journal_renumbered(const Session *session, const Graph *from, const Journal *journal);

#endif
