/* whole.h - translates an op of the model to torch: operators, operands and attributes.
 *
 *     ours                                      torch's
 *     Gemm x, w [N, K], b  transB=1             linear(x, w, b)
 *     Softmax x  axis=-1                        _softmax(x)  dim=-1
 *     Mul x, 0.125                              mul(x): a number is no tensor
 *     Slice x  of two dims                      slice(x)  dim=0 ..; slice(that)  dim=2 ..
 *
 * Most are one operator: the table has its name and how to write its attributes. Elementwise ones
 * have their name in alias.h. Some are several operators in sequence. An op with torch's own name
 * ("torch::mm"), with a user's strategy, or registered by a user is unchanged.
 */
#ifndef CORE_PEERS_TORCH_WHOLE_H
#define CORE_PEERS_TORCH_WHOLE_H

#include "core/peers/torch/strategy.h"
#include "core/rules/infer.h"

/* One torch operator. The result of step i is input ~i of later ones. */
enum { WHOLE_NO_INPUT = INT16_MIN };

typedef struct {
    const char *name;
    const Graph *graph; /* attributes: those of its op graph_op */
    int32_t graph_op;
    const OpSpace *space;    /* of an operator of the user without strategies: they are its cuts */
    int n_inputs, n_indices; /* n_indices: StrategyCall */
    const int *input;        /* ours, or ~step, or WHOLE_NO_INPUT: absent */
    Shape made;              /* its result, if a later step reads it */
} WholeStep;

typedef struct {
    int n_steps; /* 0: torch has no such operator. The outputs are those of the last step */
    const WholeStep *step;
    bool makes; /* reads only known constants: every rank computes all of it */
} WholeCall;

/* Ops with equal op spaces and equal kinds of operands have equal calls. */
typedef enum { OPERAND_TENSOR, OPERAND_NUMBER, OPERAND_PARAMETER } OperandKind;
OperandKind whole_operand(const Inferred *inferred, int32_t tensor);

/* The result is in the arena. */
WholeCall whole_call(Arena *arena, const Inferred *inferred, const Strategies *strategies,
                     int32_t op);

#endif
