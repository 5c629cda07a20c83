/* op_answer.h - what a rule says of one op, forward and backward put together.
 *
 * A rule answers what it has on the inputs, and what it has on the outputs; where both speak of an
 * operand the answers are put together (mapping.h), and an operand of which they say two things
 * stays as it was. The rule is asked as upstream has it; where that refuses, for its sane answer
 * (spmd.h). Of lists of axes the largest is taken unless lists are wanted.
 *
 * An addend (op_call.h) is an elementwise_add behind the op, whose operand in between nobody sees.
 * Source: PaddlePaddle 3.3.1, distributed/auto_parallel/static/operators.
 */
#ifndef CORE_PEERS_PADDLE_OP_ANSWER_H
#define CORE_PEERS_PADDLE_OP_ANSWER_H

#include "core/peers/paddle/mapping.h"
#include "core/peers/paddle/op_call.h"

/* An op with mapped operands: inputs, then outputs. */
typedef struct {
    Arena *arena; /* of the answer */
    const Inferred *inferred;
    const Mesh *mesh;
    Intern *mappings;
    const SpmdOpCall *call;
    int n_inputs, n_outputs;
    const int32_t *tensor, *mapping; /* per operand; MAPPING_NONE: takes no part */
    bool lists;
} SpmdQuestion;

typedef struct {
    const int32_t *operand; /* per operand; MAPPING_NONE: as it was */
    unsigned partial;       /* axes, as bits, over which outputs are partial */
    bool rejected;          /* upstream has no kernel for it: all stays as it was */
    const char *refusal;    /* of the rule as upstream has it; NULL: it answered */
} SpmdAnswer;

SpmdAnswer spmd_op_answer(const SpmdQuestion *question);

/* The first input that is the same tensor as input i. */
int spmd_first_twin(const int32_t *tensor, int i);

#endif
