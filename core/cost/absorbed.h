/* absorbed.h - ops that cost nothing, since a neighbouring op does their work.
 *
 * A GEMM takes each matrix as it is or transposed (transa and transb of BLAS and cuBLAS), and fused
 * attention takes the strides of batch, heads and positions (flash_attn_func and PyTorch's
 * scaled_dot_product_attention need only the last dim to be contiguous). A Transpose of that kind
 * becomes an argument of the op: it takes no time, and its output no memory of its own. The same
 * holds for gradient ops of these operators, and for the gradient of a Transpose.
 */
#ifndef CORE_COST_ABSORBED_H
#define CORE_COST_ABSORBED_H

#include "core/rules/infer.h"

/* The op that absorbs this one: the first reader of its output, or the maker of its input. -1 if
 * the op is no Transpose, or has to move data. */
int32_t op_absorbed_by(const Inferred *inferred, int32_t op);

/* The op whose kernel also makes this op's result: gradients of a norm's scale and shift are made
 * together with that of its input. -1 if there is none. */
int32_t op_made_by(const Inferred *inferred, int32_t op);

/* Whether the op is the gradient of an Add or a similar op and passes the gradient on in the same
 * type: its output is its input. */
bool op_passes_on(const Inferred *inferred, int32_t op);

#endif
