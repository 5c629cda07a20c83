/* signature.h - which ops of a plan are equal, so that their modules fold. */
#ifndef CORE_SESSION_SIGNATURE_H
#define CORE_SESSION_SIGNATURE_H

#include "core/session/session.h"

/* Per op, in the arena: a number that equal ops share. */
int32_t *op_signatures(Arena *arena, Arena *scratch, const Session *session);

/* Whether reshards of the value are shown at the op that makes it: not at its first reader, as
 * those of inputs and of what is made from parameters alone. */
bool moved_at_maker(const Inferred *inferred, int32_t tensor);

#endif
