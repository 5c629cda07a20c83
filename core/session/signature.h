/* signature.h - finds ops of a plan that are equal, so that their modules can be folded. */
#ifndef CORE_SESSION_SIGNATURE_H
#define CORE_SESSION_SIGNATURE_H

#include "core/session/session.h"

/* Per op, in the arena: a number that equal ops share. */
int32_t *op_signatures(Arena *arena, Arena *scratch, const Session *session);

/* Whether reshards of the value are shown at the op that makes it. Those of inputs and of values
 * made only from parameters are shown at the first reader. */
bool moved_at_maker(const Inferred *inferred, int32_t tensor);

#endif
