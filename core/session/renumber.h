/* renumber.h - translates decisions to the ids of another training step of the same model. */
#ifndef CORE_SESSION_RENUMBER_H
#define CORE_SESSION_RENUMBER_H

#include "core/session/session.h"

/* The journal with the ids of the session's graph; `from` is the graph whose ids it has now.
 * Decisions about ops or tensors that the session's graph lacks are left out. */
Journal journal_renumbered(const Session *session, const Graph *from, const Journal *journal);

#endif
