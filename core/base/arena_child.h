/* arena_child.h - an arena that is freed with another one, for what is made later by other threads.
 *
 * Pieces of the child are taken without touching its parent, so that whoever holds a lock of his
 * own may allocate there while the owner of the parent goes on.
 */
#ifndef CORE_BASE_ARENA_CHILD_H
#define CORE_BASE_ARENA_CHILD_H

#include "core/base/arena.h"

Arena *arena_child(Arena *parent);

#endif
