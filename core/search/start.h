/* start.h - the choices of one search as the start of the next, about the same program: behind a
 * pin most nodes choose as before, and unfolded layers as folded ones.
 */
#ifndef CORE_SEARCH_START_H
#define CORE_SEARCH_START_H

#include "core/search/instance.h"

/* Keeps a choice of all nodes in the instance's memo. */
void start_keep(Instance *instance, const int32_t *choice);

/* The choice kept last, as one of this instance, in the arena: nodes that did not exist or had
 * other choices take their first. NULL if there is none. */
const int32_t *start_of(Arena *arena, Instance *instance);

#endif
