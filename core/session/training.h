/* training.h - decides which training step a session plans, from the requests of the user, a plan
 * file and its policy. */
#ifndef CORE_SESSION_TRAINING_H
#define CORE_SESSION_TRAINING_H

#include "core/session/session.h"

bool training_same(const char *a, const char *b); /* NULL: no step */

/* The type of parameters that --dtype, the setting `precision` or a word of --train asks for;
 * DT_NONE if none does. ERROR_USAGE: parameters cannot have the type, or two requests differ. */
bool session_dtype(const Session *session, Dtype *out, Error *err);

#endif
