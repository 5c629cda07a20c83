/* training.h - which training step a session plans: as the user, a plan file or its policy asks. */
#ifndef CORE_SESSION_TRAINING_H
#define CORE_SESSION_TRAINING_H

#include "core/session/session.h"

bool training_same(const char *a, const char *b); /* NULL: no step */

/* The type of parameters that --dtype, the setting `precision` or a word of --train asks for;
 * DT_NONE: nobody does. ERROR_USAGE: a type that they cannot have, or two that differ. */
bool session_dtype(const Session *session, Dtype *out, Error *err);

#endif
