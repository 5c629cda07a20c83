/* whole.h - an op of a model as torch runs it: which of its operators, on what, with what
 * attributes.
 *
 *     ours                                      torch's
 *     Gemm x, w [N, K], b  transB=1             linear(x, w, b)
 *     Softmax x  axis=-1                        _softmax(x)  dim=-1
 *     Mul x, 0.125                              mul(x): a number is no tensor
 *     Slice x  of two dims                      slice(x)  dim=0 ..; slice(that)  dim=2 ..
 *
 * Most are one operator: the table says its name and how to write its attributes. Element-wise ones
 * have the name that alias.h knows. Some are several, run one after another. An op that has torch's
 * own name ("torch::mm"), or a name that a user's strategy has, is itself.
 */
#ifndef CORE_PEERS_TORCH_WHOLE_H
#define CORE_PEERS_TORCH_WHOLE_H

#include "core/peers/torch/strategy.h"
#include "core/rules/infer.h"

/* One operator of torch's. The result of step i is input ~i of later ones. */
enum { WHOLE_NO_INPUT = INT16_MIN };

typedef struct {
    const char *name;
    const Graph *graph; /* attributes: those of its op graph_op */
    int32_t graph_op;
    int n_inputs, n_indices; /* n_indices: StrategyCall */
    const int *input;        /* ours, or ~step, or WHOLE_NO_INPUT: absent */
    Shape made;              /* its result, where a later step reads it */
} WholeStep;

typedef struct {
    int n_steps; /* 0: torch has no such operator; the outputs are those of the last step */
    const WholeStep *step;
    bool makes; /* reads no tensor but those known before the run: every rank makes all of it */
} WholeCall;

/* Equal op spaces have equal calls, as far as their operands agree in what this says of each. */
typedef enum { OPERAND_TENSOR, OPERAND_NUMBER, OPERAND_PARAMETER } OperandKind;
OperandKind whole_operand(const Inferred *inferred, int32_t tensor);

/* What is kept is made in the arena. */
WholeCall whole_call(Arena *arena, const Inferred *inferred, const Strategies *strategies,
                     int32_t op);

#endif
