/* draw.h - numbers that stand for weights and inputs nobody gave.
 *
 * A counter-based draw: element i of a tensor is a hash of (seed, tensor name, i), so any rank
 * draws any part, and any plan draws the same numbers. The hash is the finalizer of SplitMix64
 * (Steele, Lea, Flood 2014), of a counter that steps by its golden gamma.
 */
#ifndef CORE_RUN_DRAW_H
#define CORE_RUN_DRAW_H

#include "core/model/shape.h"

uint64_t draw_key(uint64_t seed, Str name);
double draw_uniform(uint64_t key, int64_t index); /* in [-1, 1) */

/* What a weight's draws are multiplied by, so that sums over a reduce dim stay near 1: one over the
 * root of the elements per place of the largest dim, for 2 dims and more; 1 below. */
double draw_weight_scale(const Shape *shape);

#endif
