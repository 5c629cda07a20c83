/* op_call.h - translates an op to Paddle: the rule to apply, with operands and attributes.
 *
 *     ours      LayerNormalization   x, scale, bias           axis=-1
 *     Paddle's  layer_norm           x, scale, bias           begin_norm_axis=2    3 outputs
 *
 * Operators that differ have a row in a table; for the others the names and attributes of alias.h
 * suffice. An op that has Paddle's name is used unchanged, and a user's rule for the op's own name
 * comes first. An operator that a user registered without a rule has that of its op space
 * (space_rule.h). Any other operator uses default_data_parallel, as in Paddle: dim 0 of every
 * computed tensor is the batch.
 *
 * Paddle's completion applies these rules to about 26 operators; for the others (exp, tanh, mean,
 * max, conv2d) it uses older code that mostly treats dim 0 as the batch. Here every existing rule
 * is applied.
 *
 * Some gradient rules are registered as backward rules in Paddle (spmd.h): for such an op only the
 * forward rule is applied.
 */
#ifndef CORE_PEERS_PADDLE_OP_CALL_H
#define CORE_PEERS_PADDLE_OP_CALL_H

#include "core/peers/paddle/spmd.h"
#include "core/rules/infer.h"

typedef struct {
    const SpmdRule *rule;
    const char *name; /* Paddle's operator name */
    const char *why; /* with the default rule: why the operator's own rule is not used; else NULL */
    bool forward_only; /* the rule has no backward rule, or a gradient in its place */
    SpmdMode mode;
    bool corrected;     /* use the rule's corrected form (spmd.h) */
    const Graph *graph; /* attributes: those of op `op` */
    int32_t op;
    int n_inputs, n_outputs;   /* of the rule */
    const int *input, *output; /* per operand of the rule: the operand of ours, or -1 */
    const Shape *shape; /* per input, then output: shape where that is -1; n_dims -1: absent */
    int addend;         /* our operand that is added to the result at the end, or -1 */
} SpmdOpCall;

/* Never NULL; in the arena. rules may be NULL. */
const SpmdOpCall *spmd_op_call(Arena *arena, const SpmdRules *rules, const Inferred *inferred,
                               int32_t op);

#endif
