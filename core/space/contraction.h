/* contraction.h - ops that multiply two operands and sum over what both have: matrix products,
 * einsums, convolutions, and the gradients of these.
 */
#ifndef CORE_SPACE_CONTRACTION_H
#define CORE_SPACE_CONTRACTION_H

#include "core/space/opspace.h"

/* The index dims of the first two operands that share one over which the op sums, while each has
 * one that the other lacks. Returns false if there are none. */
bool op_space_contracts(const OpSpace *space, uint32_t *left, uint32_t *right);

/* Whether the op is a product of matrices, as MatMul, Gemm and Einsum are and a convolution is not:
 * each index dim is a dim by itself in every operand that has it. One of them may be a vector, as
 * the one row of a decoding step is, whose dims of size 1 are no index dims; not in a gradient,
 * where what is summed beside a broadcast has that form, too. */
bool op_space_is_product(const OpSpace *space);

/* Whether a product can be computed part by part along this index dim, with the other operands
 * sliced: each operand has it as a dim by itself, or lacks it. Results that have it are made part
 * by part, others are summed up. Never for a frozen dim, nor for operators of users. */
bool op_space_in_parts(const OpSpace *space, int index);

#endif
