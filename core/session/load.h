/* load.h - loads the model of a session: operators, graph, inference, names of tensors.
 *
 * The functions fill the fields of the session that hold these, in its model arena.
 */
#ifndef CORE_SESSION_LOAD_H
#define CORE_SESSION_LOAD_H

#include "core/session/session.h"

/* Reads options.model, unless the session has a graph, and fuses it as options.fuse asks.
 * allow_free: free dims may stay without a size. */
bool load_model(Session *session, bool allow_free, Error *err);

/* The kind of a model's file that a peer reads; NULL: it is another one. */
const struct ModelReader *session_reader(const char *path, Str text);

/* Fuses the loaded graph further (fusions by bit, core/fuse/fuse.h), which are added to
 * options.fuse, and makes its training step as options.train asks now. */
bool load_again(Session *session, unsigned more, Error *err);

/* Makes the training step of options.train, or none, in place of the present one, which another
 * session may be reading: in an arena of its own. */
bool load_training(Session *session, Error *err);

/* Derives the training step again in the shape that the journal gives it (recompute_groups(),
 * stages_parts()), unless the session has it. Only for sessions with a step; the new one is in
 * an arena of its own. */
bool load_step(Session *session, StepShape shape, Error *err);

#endif
