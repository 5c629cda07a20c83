/* rule_check.h - checks a rule by brute force: every sharding it allows, on simulated ranks.
 *
 * An op space's claims can be checked: shard an index dim, give each rank the parts that the
 * projections name, run the op's kernel on each, join the results as the rule says (pieces of a MAP
 * dim, addends of a REDUCE dim), and compare with one device. On meshes of 2, 3 and 2 x 3 devices
 * this tries each MAP and REDUCE dim alone, each ordered pair, each by two axes, each interleaved,
 * each dim in parts (dim_part.h) as the list of them, and each operand through which a partial
 * value may pass, alone and beside a sharding. Small operands give uneven and empty parts.
 *
 * It cannot show that a FROZEN dim must be frozen, or what only other sizes show.
 */
#ifndef CORE_PROVE_RULE_CHECK_H
#define CORE_PROVE_RULE_CHECK_H

#include "core/prove/simulated.h"

/* Whether the operator has a kernel that runs without a model around it. Not so: stacking the
 * iterations of a loop, which the loop makes; a custom call, which calls a function of the model.
 */
bool rule_check_runs_alone(const char *op_type);

/* Infers a graph of one op. Sizes that depend on the data are those of the drawn inputs. NULL with
 * *err. */
const Inferred *rule_check_infer(Arena *arena, const Graph *graph, const Registry *registry,
                                 uint64_t seed, Error *err);

/* Inputs are drawn; integers lie in 0..2, so that they are valid indices. `space` may differ from
 * the op's own. ERROR_UNSUPPORTED: the op has no kernel; ERROR_RUN: the kernel fails on whole
 * tensors. */
bool rule_check(Arena *arena, const Inferred *inferred, int32_t op, const OpSpace *space,
                uint64_t seed, RuleProof *out, Error *err);

/* The same with values of inputs, as simulated_open() takes them. */
bool rule_check_values(Arena *arena, const Inferred *inferred, int32_t op, const OpSpace *space,
                       uint64_t seed, Local *const *given, RuleProof *out, Error *err);

#endif
