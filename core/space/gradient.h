/* gradient.h - the index space of the gradient of an op, derived from the op's own.
 *
 *     matmul           b s k+, k+ n -> b s n            y = x w
 *     dx               b s n+, k n+ -> b s k            reads dy and w, writes x's rows
 *     dw               b+ s+ n, b+ s+ k -> k n          reads dy and x, writes w's rows
 *
 * A gradient op has the rows of its forward op: those of the outputs' gradients and of the values
 * that the derivative reads on the input side, those of the operand on the output side. Only index
 * dims that these rows mention stay, in their order. What is frozen stays frozen, and a dim over
 * which a maximum or a product is taken becomes so; a dim of every written operand is mapped. Any
 * other is summed over: operands that lack it are partial where it is cut, those that have it are
 * cut along it. A written dim that is no mixed radix of index dims, one of a slice or of a window,
 * is written whole and its index dims are summed over: their windows overlap. Where a cut moves the
 * window, a rank's addends are within what its forward op read, the part and its halo
 * (op_cut_sharding()). So the sharding rules of the backward pass need
 * no table: with the forward op's cuts every saved operand is read as the forward op read it.
 *
 * Parts of a frozen dim that go around a ring do so twice: once for what the forward op summed up
 * over all of them, once for the gradients.
 *
 * The space is right for operators that are not linear in the operand too; only what the kernel
 * computes differs. Source: the proof by prototype is in the project's design of training steps.
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

/* What a gradient op is, beside its rows: kept in OpSpace.gradient. */
typedef struct Gradient {
    const OpSpace *forward;
    const char *of; /* the forward operator, by its own name; */
    int input;      /* and by its numbering the first input whose gradient is made */
    int n_reads, n_written;
    const GradientRead *reads;
    const uint16_t *written; /* inputs of the forward op whose gradients the outputs are */
    const char *kernel;
    double scale; /* the result is multiplied by it */
} Gradient;

/* The space of the gradient op, in the arena, with its outputs shaped as the operands. The gradient
 * is kept by reference. False with *err: it has more index dims or other rows than a space can
 * have, and the op has to be replicated. */
OpSpace *gradient_space(Arena *arena, const Gradient *gradient, Error *err);

#endif
