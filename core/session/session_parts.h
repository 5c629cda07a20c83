/* session_parts.h - private to the files of a session: session.c opens it, session_change.c changes
 * it. */
#ifndef CORE_SESSION_SESSION_PARTS_H
#define CORE_SESSION_SESSION_PARTS_H

#include "core/session/session.h"

/* A session without a model. */
Session *session_new(const SessionOptions *options, const SessionHooks *hooks);

/* The text of the mesh in use. */
const char *session_mesh_text(const Session *session);

/* The sizes of free dims that the policy asks for under the current settings and mesh, in the
 * arena. */
bool session_policy_sizes(const Session *session, Arena *arena, DimBindings *out, Error *err);

/* The options in use after a change of mesh, policy or setting; texts are those of the change, of
 * the session, or in the arena. ERROR_USAGE: the text is no setting, or there is no policy for it.
 */
bool session_options_after(const Session *session, const Change *change, Arena *arena,
                           SessionOptions *out, Error *err);

/* Reads a mesh such as "dp=2,tp=4" into the arena of the journal; ERROR_USAGE if the text is none.
 */
bool session_read_mesh(Session *session, const char *text, Mesh **out, Error *err);

/* Makes the plan for a journal. The old plan is not freed here, since a screen may be showing it.
 * The propagator's cache is valid for one mesh. */
bool session_remake(Session *session, const Journal *decisions, const Findings *notes, Error *err);

/* Clears the notes and runs the policy; if it fails, the old notes come back. The user's decisions
 * follow: those of `kept`, or those of `from`, a session with another mesh, matched by name. */
bool session_run_policy(Session *session, const Journal *kept, const Session *from, Error *err);

#endif
