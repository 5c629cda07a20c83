/* derivative.h - how an operator is differentiated: what the column `gradient` of its row says.
 *
 *     {OP("MatMul", ..), .gradient = "0: contract(x1); 1: contract(x0)"},
 *     {OP("Gemm", ..), .gradient = "0: contract(x1) *alpha; 1: contract(x0) *alpha; 2: contract
 * *beta"}, {OP("Tanh", ..), .gradient = "0: local(y0)"}, {OP("Concat", ..), .gradient = "all:
 * move"}, {OP("LayerNormalization", ..), .gradient = "0: NormGrad(x0 x1); 1: NormGrad(x0); 2:
 * contract"}, {OP("Where", ..), .gradient = "0: zero; 1: local(x0); 2: local(x0)"},
 *
 * Clauses with `;` between. Before the colon are the operator's inputs: one; several separated by
 * blanks, whose gradients one op makes; or `all`, for each input without a clause of its own. Then
 * the kernel that computes the gradient, and in parentheses what it reads besides the gradients of
 * all outputs: inputs x0, x1, outputs y0, y1; `others`, all inputs that are not differentiated;
 * `inputs`, all of them. An operand that the op lacks is absent for the kernel too. After `*` comes
 * a factor: a number; an attribute of the op (1 if it is not given); or `mean`: 1 divided by the
 * number of points that the op reduces, times the number of its inputs in a clause about `all`.
 *
 *     contract   the product of what it reads, summed over the index dims that the result lacks
 *     activated  contract behind an activation, whose result is the last that is read
 *     move       elements go back to where they came from, with the weights of the kernel's terms
 *     local      an expression of core/run/kernels/derivative.h for each element, then summed
 *     branch     of If: the gradient of the output itself, where the branch is taken
 *     zero       the output does not vary with the input, or only in steps
 *     refused    with the reason behind it: there is a derivative, and nothing that computes it
 *
 * The index space of the gradient op is derived from the operator's (core/space/gradient.h).
 */
#ifndef CORE_RULES_DERIVATIVE_H
#define CORE_RULES_DERIVATIVE_H

#include "core/rules/registry.h"

enum { CLAUSE_INPUTS = 8, CLAUSE_READS = 16, CLAUSES_MAX = 24 };

typedef enum { FACTOR_NUMBER, FACTOR_ATTR, FACTOR_MEAN } FactorKind;

typedef struct {
    bool all, others, inputs;
    int n_inputs, n_reads;
    int input[CLAUSE_INPUTS];
    struct {
        int operand;
        bool output;
    } read[CLAUSE_READS];
    const char *kernel;  /* NULL: zero, or refused */
    const char *refused; /* the reason */
    FactorKind factor;
    double number;
    const char *attr;
} DerivativeClause;

struct Derivative {
    int n;
    const DerivativeClause *clause;
};

/* Reads the column; texts are copied. Returns false with *err naming the part that is wrong. */
bool derivative_read(Arena *arena, const char *text, Derivative *out, Error *err);

/* The clause about an input of the operator; NULL if there is none: the input is then a constant.
 */
const DerivativeClause *derivative_clause(const Derivative *derivative, int input);

/* How an op of that operator is differentiated, from the first of these that exists; NULL if it is
 * not known.
 *   - the column of its row;
 *   - of a user's operator that runs the kernel of a built-in one: the column of that one;
 *   - of a user's operator all of whose inputs are summed over, such as "m k+, k+ n -> m n": it is
 *     taken to be the product of its inputs.
 * `row` may be NULL; `space` is the op's, or NULL. */
const Derivative *derivative_find(const Registry *registry, const Operator *row,
                                  const OpSpace *space);

/* Whether a gradient is wanted for the input: there is a kernel, or a reason why it is refused. */
static inline bool clause_passes(const DerivativeClause *clause)
{
    return clause && (clause->kernel || clause->refused);
}

/* The flops of a whole gradient op, from its index space (space->gradient):
 *
 *     contract,           at each index point a multiplication for each operand but one, and an
 *     convolutions        addition if an index dim is summed over: 2 as in the forward product, 1
 *                         in the gradient of a bias, 0 where the gradient is passed on
 *     move                an addition at each index point if elements meet, else 0
 *     local               what the operator itself costs, and a multiplication
 *     attention           2.5 of the forward op, which has two products of the scores' size: the
 *                         backward pass has five (Dao, FlashAttention-2, section 3.2)
 *     recurrent           3 of the forward op, which runs again
 *     lookups, scatters   an addition for each element of the gradient that is read
 *     others              of a table, by index point; without a row 2 of the forward op
 */
double derivative_flops(const OpSpace *space);
/* Whether the gradient is passed on unchanged: the op moves elements and computes nothing. */
bool derivative_passes_on(const OpSpace *space);

#endif
