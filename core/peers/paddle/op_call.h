/* op_call.h - an op of ours as a call of Paddle's: the rule it asks, with operands and attributes.
 *
 *     ours      LayerNormalization   x, scale, bias           axis=-1
 *     Paddle's  layer_norm           x, scale, bias           begin_norm_axis=2    3 outputs
 *
 * What differs is a row of a table; the names and attributes of alias.h serve for all operators
 * that need no more. An op under a name of Paddle's is a call as it stands, and a rule a user
 * registered for the op's own name comes first. An operator without any of these asks what Paddle
 * asks then, default_data_parallel: dim 0 of every tensor that is computed is the batch.
 *
 * Upstream's completer asks these rules of some 26 operators, and older code, which mostly takes
 * dim 0 for the batch, of the others (exp, tanh, mean, max, conv2d); here every rule there is, is
 * asked.
 *
 * Gradient rules that Paddle registered as backward rules answer another question (spmd.h): such an
 * op is asked forward only.
 */
#ifndef CORE_PEERS_PADDLE_OP_CALL_H
#define CORE_PEERS_PADDLE_OP_CALL_H

#include "core/peers/paddle/spmd.h"
#include "core/rules/infer.h"

typedef struct {
    const SpmdRule *rule;
    const char *name;  /* as the rule is asked */
    const char *why;   /* by default: why the operator's own rule is not asked; else NULL */
    bool forward_only; /* the rule has no backward, or a gradient in its place */
    SpmdMode mode;
    bool sane;          /* ask for the rule's sane answer (spmd.h) */
    const Graph *graph; /* attributes: those of op `op` */
    int32_t op;
    int n_inputs, n_outputs;   /* of the rule */
    const int *input, *output; /* per operand of the rule: which of ours; -1: none of them */
    const Shape *shape; /* per input, then output: of what is none of ours; n_dims -1: absent */
    int addend;         /* our operand that is added to the result at the end; -1: none */
} SpmdOpCall;

/* Never NULL. Lives in the arena; rules may be NULL. */
const SpmdOpCall *spmd_op_call(Arena *arena, const SpmdRules *rules, const Inferred *inferred,
                               int32_t op);

#endif
