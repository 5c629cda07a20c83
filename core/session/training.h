/* training.h - which training step a session plans: as the user, a plan file or its policy asks. */
#ifndef CORE_SESSION_TRAINING_H
#define CORE_SESSION_TRAINING_H

#include "core/session/session.h"

bool training_same(const char *a, const char *b); /* NULL: no step */
bool training_is_none(const char *train);         /* "none" */

#endif
