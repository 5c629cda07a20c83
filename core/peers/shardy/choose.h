/* choose.h - the axes one op computes with, when its tensors are not sharded alike.
 *
 * An op is compatible when every factor has the same axes on all tensors that have it, factors
 * that need replication have none, and no two factors share a part of an axis. If it is not, each
 * factor is given axes that some tensor has for it, and what differs is resharded:
 *
 *   - Two tensors with dims, nothing to replicate, one factor a dim: one tensor keeps what it has,
 *     the one that has no permutation factor sharded, else the larger, else the more sharded, else
 *     the first. The other's own factors keep what the first does not use.
 *   - Otherwise greedily: a candidate is a factor with a prefix of the axes that some tensor has
 *     for it. The best is the one whose tensors are larger in sum; then by the factor's type (pass
 *     through, reduction, permutation, need replication); then by how many more shards it makes;
 *     then the later factor, the longer list, the later name. It is taken; of its factor what goes
 *     further stays, other factors' candidates end before the first overlap. A factor that is minor
 *     in some dim waits for the one before it to be sharded in full.
 *   - The axes of a factor that needs replication, and that all tensors have, move to the batching
 *     factors (pass through, in all tensors), in order, where they divide what is left of them.
 *
 * Source: Shardy's explicit reshards; its sizes are elements.
 */
#ifndef CORE_PEERS_SHARDY_CHOOSE_H
#define CORE_PEERS_SHARDY_CHOOSE_H

#include "core/peers/shardy/factor_sharding.h"

/* by_factor[rule->n_factors] is what the op computes with; size: of each tensor, operands first.
 * What overflows (factor_sharding.h) is not looked at. */
void choose_axes(Arena *arena, const FactorProjection *projection, const double *size,
                 AxisList *by_factor);

/* The same of shardings, operands first. */
void shardy_choose(Arena *arena, const FactorRule *rule, const Mesh *mesh,
                   const TensorSharding *const *shardings, const double *size, AxisList *by_factor);

/* A reshape, with axes that overflow a factor: the side in more shards, the operand of equals,
 * hands its axes to the factors of each side anew, an axis to the first factor that it, or a part
 * of it, divides. by_factor is what both sides then have. */
void choose_reshape(Arena *arena, const FactorProjection *projection, AxisList *by_factor);

#endif
