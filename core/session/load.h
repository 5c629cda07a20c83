/* load.h - loads the model of a session: operators, graph, inference, names of tensors.
 *
 * The functions fill the corresponding fields of the session, in its model arena.
 */
#ifndef CORE_SESSION_LOAD_H
#define CORE_SESSION_LOAD_H

#include "core/session/session.h"
#include "core/step/backward.h"

/* Reads options.model, unless the session has a graph, and fuses it as options.fuse asks.
 * allow_free: free dims may stay without a size. */
bool load_model(Session *session, bool allow_free, Error *err);

/* The row of a peer that reads this kind of model file; NULL if no peer reads it. */
const struct ModelReader *session_reader(const char *path, Str text);

/* Fuses the loaded graph further (`more`: fusions by bit, core/fuse/fuse.h; added to options.fuse),
 * and makes its training step according to options.train. */
bool load_again(Session *session, unsigned more, Error *err);

/* Makes the model again from session->read, with these sizes of the policy for free dims, in place
 * of session->policy_sizes. */
bool load_sized(Session *session, const DimBindings *sizes, Error *err);

/* Replaces the training step by that of options.train, or removes it. The new one is in an arena of
 * its own, since another session may be reading the old one. */
bool load_training(Session *session, Error *err);

/* Derives the training step again with the shape that the journal requires (stages_shape()), unless
 * the session's step has it already. Only for sessions with a step; the new
 * one is in an arena of its own. */
bool load_step(Session *session, StepShape shape, Error *err);

#endif
