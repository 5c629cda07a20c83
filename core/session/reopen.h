/* reopen.h - opens sessions that copy the options they are opened with. */
#ifndef CORE_SESSION_REOPEN_H
#define CORE_SESSION_REOPEN_H

#include "core/session/session.h"

/* session_open() with options whose texts the caller may free afterwards. */
Session *session_open_own(const SessionOptions *options, const SessionHooks *hooks, Error *err);

#endif
