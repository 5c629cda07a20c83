/* draw.h - values of weights and inputs that nobody gave: drawn, or as an operator generates them.
 *
 * Draws are counter-based: element i of a tensor is a hash of (seed, tensor name, i), so any rank
 * draws any part, and every plan gets the same numbers. The hash is the finalizer of SplitMix64
 * (Steele, Lea, Flood 2014), its counter steps by the golden gamma.
 *
 * A user's operator may generate its inputs (UserOp.input_gen). The first op in program order that
 * generates a tensor decides; it sees the whole op, so every rank and plan gets the same numbers.
 */
#ifndef CORE_RUN_DRAW_H
#define CORE_RUN_DRAW_H

#include "core/cost/op_part.h"

uint64_t draw_key(uint64_t seed, Str name);
double draw_uniform(uint64_t key, int64_t index); /* in [-1, 1) */

/* Factor for the draws of a weight, so that sums over a reduce dim stay near 1: with 2 dims or more
 * 1 / sqrt(elements per place of the largest dim), else 1. */
double draw_weight_scale(const Shape *shape);

/* Fills out[tensor] for the op's inputs that are not set yet. ERROR_RUN names the failing op. */
bool generate_of_op(Arena *arena, const Inferred *inferred, int32_t op, Generated *out, Error *err);
/* For all ops of the program, one per tensor. NULL on error. */
const Generated *generate_of_all(Arena *arena, const Inferred *inferred, Error *err);
/* Element i of a tensor of that type; `key` is that of its draws. */
double generated_number(const Generated *of, Dtype dtype, uint64_t key, int64_t i);

#endif
