/* rule_check.h - a rule proven by brute force: every cut it allows, on simulated ranks.
 *
 * What an op space claims of an op can be checked: cut an index dim, give each rank the parts that
 * the projections say, run the op's own kernel on each, join what the ranks made as the rule says
 * (pieces of a MAP dim, addends of a REDUCE dim), and the result must be that of one device. Tried
 * are, on meshes of 2, of 3 and of 2 by 3 devices: each MAP and REDUCE dim alone, each ordered pair
 * of them, each by two axes, each interleaved; and each operand that is said to let a partial value
 * through, as addends, alone and beside a cut. Sizes that do not divide and empty parts come of
 * themselves, from small operands.
 *
 * What it cannot show: that a FROZEN dim must be frozen, and what only other sizes would.
 */
#ifndef CORE_PROVE_RULE_CHECK_H
#define CORE_PROVE_RULE_CHECK_H

#include "core/prove/simulated.h"

/* Inputs are drawn; whole numbers lie in 0..2, so that they choose places of any dim. The space may
 * be another than the op's own: a claim to be checked. ERROR_UNSUPPORTED: the op has no kernel;
 * ERROR_RUN: the kernel fails on whole tensors. */
bool rule_check(Arena *arena, const Inferred *inferred, int32_t op, const OpSpace *space,
                uint64_t seed, RuleProof *out, Error *err);

#endif
