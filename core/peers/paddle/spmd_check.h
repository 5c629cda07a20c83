/* spmd_check.h - proves a dims_mapping rule by executing its answers on simulated ranks.
 *
 * On meshes of 2, 3, 2 by 2 and 2 by 3 devices it tries the mappings that put each axis on each dim
 * of each operand or make an input partial over it; if there are too many, a fixed selection. For a
 * forward answer, inputs sharded as needed must give the outputs as answered. The same holds for a
 * backward answer, except that an axis that splits no needed input may split an output: all ranks
 * along it compute the same and slice. A rule may refuse a mapping.
 */
#ifndef CORE_PEERS_PADDLE_SPMD_CHECK_H
#define CORE_PEERS_PADDLE_SPMD_CHECK_H

#include "core/peers/paddle/spmd.h"
#include "core/prove/layout_check.h"

typedef struct {
    const SpmdRule *rule;
    bool exact; /* as in SpmdCall */
    bool forward, backward;
} SpmdClaim;

/* *out covers the static and the eager form of the rule. ERROR_UNSUPPORTED if no kernel runs the op
 * or the rule refuses everything. */
bool spmd_check(Arena *arena, const Registry *registry, const SpmdClaim *claim,
                const SystemCall *call, RuleProof *out, Error *err);

#endif
