/* arena_child.h - an arena that is freed together with its parent, for what other threads make
 * later.
 *
 * Allocating from the child does not touch the parent, so a thread that holds its own lock may
 * allocate there while the parent's owner goes on working.
 */
#ifndef CORE_BASE_ARENA_CHILD_H
#define CORE_BASE_ARENA_CHILD_H

#include "core/base/arena.h"

Arena *arena_child(Arena *parent);

#endif
