/* group_fold.h - equal neighbours become a fold, unlike neighbours that repeat become cycles first.
 *
 *     layers  a a a a       one fold of 4 groups
 *             a b a b a     a fold of 2 cycles "a b", and a
 *             a a b a a b   a fold of 2 cycles, in each of which a folds
 *
 * A cycle is a group of its own between the layers and what holds them. Cycles depend on structure
 * alone, so any two plans of a graph have the same groups.
 */
#ifndef CORE_MODEL_GROUP_FOLD_H
#define CORE_MODEL_GROUP_FOLD_H

#include "core/model/group.h"
#include "core/model/group_tree.h"

enum { CYCLE_LAYERS_MAX = 8 };

/* Adds the cycles to the groups and fills their folds and stretches. Overwrites tree->place. */
void groups_find_folds(Arena *arena, const GroupTree *tree, Groups *groups);

#endif
