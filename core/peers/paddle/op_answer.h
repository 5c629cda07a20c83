/* op_answer.h - combines the forward and the backward answer of a rule for one op.
 *
 * The forward and the backward rule are applied; their answers for an operand are combined
 * (mapping.h), and an operand with conflicting answers stays as it was. The rule is applied as
 * Paddle has it; if that refuses, in its corrected form (spmd.h). Of a list of axes the largest is
 * used unless `lists` is set.
 *
 * An addend (op_call.h) is an elementwise_add after the op. Source: PaddlePaddle 3.3.1,
 * distributed/auto_parallel/static/operators.
 */
#ifndef CORE_PEERS_PADDLE_OP_ANSWER_H
#define CORE_PEERS_PADDLE_OP_ANSWER_H

#include "core/base/intern.h"
#include "core/peers/paddle/op_call.h"

/* An op with mapped operands: inputs, then outputs. */
typedef struct {
    Arena *arena; /* of the answer */
    const Inferred *inferred;
    const Mesh *mesh;
    Intern *mappings;
    const SpmdOpCall *call;
    int n_inputs, n_outputs;
    const int32_t *tensor, *mapping; /* per operand; MAPPING_NONE: left out */
    bool lists;
} SpmdQuestion;

typedef struct {
    const int32_t *operand; /* per operand; MAPPING_NONE: unchanged */
    unsigned partial;       /* axes, as bits, over which outputs are partial */
    bool rejected;          /* Paddle has no kernel for it: nothing changes */
    const char *refusal;    /* message of Paddle's rule if it refused, else NULL */
} SpmdAnswer;

SpmdAnswer spmd_op_answer(const SpmdQuestion *question);

/* The first input that is the same tensor as input i. */
int spmd_first_twin(const int32_t *tensor, int i);

#endif
