/* load_infer.h - infers the graph of a session with its options; private to core/session/load.c. */
#ifndef CORE_SESSION_LOAD_INFER_H
#define CORE_SESSION_LOAD_INFER_H

#include "core/session/session.h"

/* allow_free: free dims may stay without a size. Returns false with *err. */
bool load_infer(Session *session, bool allow_free, Error *err);

/* The same, and ops become those that they are made of (core/fuse/write_out.h), which may be made
 * of others. What stays whole is a note of the session. */
bool load_infer_written(Session *session, bool allow_free, Error *err);

#endif
