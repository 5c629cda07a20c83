/* gradient.h - the index space of a gradient op, derived from that of its forward op.
 *
 *     matmul           b s k+, k+ n -> b s n            y = x w
 *     dx               b s n+, k n+ -> b s k            reads dy and w, writes x's rows
 *     dw               b+ s+ n, b+ s+ k -> k n          reads dy and x, writes w's rows
 *
 * A gradient op has the rows of its forward op: those of the outputs' gradients and of the values
 * that the derivative reads on the input side, those of the operand on the output side. Only index
 * dims that occur in these rows stay, in their order. What is frozen stays frozen; a dim reduced by
 * max or product becomes frozen; a dim that every written operand has is a map dim. Every other dim
 * is summed over: operands that lack it are partial when it is cut, those that have it are cut
 * along it. A written dim that is no mixed radix of index dims (of a slice or a window) is written
 * whole, and its index dims are summed over, since their windows overlap. Where a cut moves the
 * window, a rank's addends stay within what its forward op read: its part and the halo
 * (op_cut_sharding()). The backward pass therefore needs no table of sharding rules: with the
 * forward op's cuts, every saved operand is read as the forward op read it.
 *
 * Parts of a frozen dim that go around a ring do so in the gradient op too, since its kernel gets
 * what the forward op summed over all of them (KernelKept, core/run/kernel.h).
 *
 * The space is also right for operators that are not linear in the operand; only what the kernel
 * computes differs.
 */
#ifndef CORE_SPACE_GRADIENT_H
#define CORE_SPACE_GRADIENT_H

#include "core/space/opspace.h"

/* An input of a gradient op: an operand of the forward op, inputs before outputs, or the gradient
 * of one of its outputs. */
typedef struct {
    uint16_t place;
    bool gradient;
    bool absent; /* the op has no such operand */
} GradientRead;

/* What a gradient op is, besides its rows; kept in OpSpace.gradient. */
typedef struct Gradient {
    const OpSpace *forward;
    const char *of; /* the forward operator, by its own name */
    int input;      /* the first input, as the forward operator numbers them, whose gradient is
                       made */
    int n_reads, n_written;
    const GradientRead *reads;
    const uint16_t *written; /* the inputs of the forward op whose gradients the outputs are */
    const char *kernel;
    double scale; /* the result is multiplied by it */
} Gradient;

/* The space of the gradient op, in the arena, with its outputs shaped as the operands. The gradient
 * is kept by reference. Returns NULL with *err if the gradient needs more index dims or other rows
 * than a space can have; the op then has to be replicated. */
OpSpace *gradient_space(Arena *arena, const Gradient *gradient, Error *err);

#endif
