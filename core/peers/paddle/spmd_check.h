/* spmd_check.h - a rule of dims_mappings proven: what it answers, executed.
 *
 * Asked are, on meshes of 2, of 3, of 2 by 2 and of 2 by 3 devices, the mappings that put each axis
 * on each dim of each operand, or make an input partial over it; where these are too many, a fixed
 * choice of them. A forward answer must hold: inputs that lie as needed give outputs as said. A
 * backward answer must as well, but an axis that splits no needed input may split an output: all
 * ranks along it compute the same, and slice. A rule may refuse a question.
 */
#ifndef CORE_PEERS_PADDLE_SPMD_CHECK_H
#define CORE_PEERS_PADDLE_SPMD_CHECK_H

#include "core/peers/paddle/spmd.h"
#include "core/prove/layout_check.h"

typedef struct {
    const SpmdRule *rule;
    bool exact; /* as SpmdCall's */
    bool forward, backward;
} SpmdClaim;

/* *out joins the static and the eager form of the rule. ERROR_UNSUPPORTED: nothing runs the op, or
 * the rule refuses everything, as a script does that fails. */
bool spmd_check(Arena *arena, const Registry *registry, const SpmdClaim *claim,
                const SystemCall *call, RuleProof *out, Error *err);

#endif
