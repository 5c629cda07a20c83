/* choose.h - chooses the axes that an op computes with when its tensors' shardings disagree.
 *
 * An op is compatible when every factor has the same axes on all its tensors, factors that need
 * replication have no axes, and no two factors share a part of an axis. Otherwise each factor gets
 * axes that one of its tensors has, and the tensors that differ are resharded:
 *
 *   - Two tensors with dims, no factor that needs replication, one factor a dim: one tensor keeps
 *     its axes: the one without a sharded permutation factor, then the larger, then the more
 *     sharded, then the first. Factors of the other tensor alone keep what the first does not use.
 *   - Otherwise greedily. A candidate is a factor with a prefix of the axes that some tensor has
 * for it. The best has the largest sum of tensor sizes; ties are broken by the factor's type (pass
 *     through, reduction, permutation, need replication), then by the number of added shards, then
 *     the later factor, the longer list, the later name. After a candidate is accepted, longer
 *     candidates of its factor stay, and candidates of other factors are cut before the first
 *     overlap. A factor that is minor in a dim waits until the factor before it is fully sharded.
 *   - Axes of a factor that needs replication, when all tensors have the factor, move in order to
 *     the batching factors (pass through, in all tensors) whose remaining size they divide.
 *
 * Source: Shardy's explicit reshards; its sizes are elements.
 */
#ifndef CORE_PEERS_SHARDY_CHOOSE_H
#define CORE_PEERS_SHARDY_CHOOSE_H

#include "core/peers/shardy/factor_sharding.h"

/* Fills by_factor[rule->n_factors] with the axes that the op computes with. size: one per tensor,
 * operands first. Ignores axes that overflow a factor (factor_sharding.h). */
void choose_axes(Arena *arena, const FactorProjection *projection, const double *size,
                 AxisList *by_factor);

/* The same from shardings, operands first. */
void shardy_choose(Arena *arena, const FactorRule *rule, const Mesh *mesh,
                   const TensorSharding *const *shardings, const double *size, AxisList *by_factor);

/* For a reshape whose axes overflow a factor. The axes of the side with more shards (the operand if
 * equal) are distributed again over the factors of each side, an axis to the first factor that it
 * or a part of it divides. by_factor gets the axes that both sides then share. */
void choose_reshape(Arena *arena, const FactorProjection *projection, AxisList *by_factor);

#endif
