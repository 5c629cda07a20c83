/* backward.h - derives the backward pass of a graph: gradient ops after the ops of the model.
 *
 *     Backward backward;
 *     backward_derive(arena, inferred, &request, &backward, &err);
 *
 * The result is a graph of the same kind. The model's ops come first, with the ids they have;
 * gradient ops follow in reverse program order. An op gets gradient ops as the column `gradient` of
 * its operator says (core/rules/derivative.h); their index spaces are derived from its own
 * (core/space/gradient.h) and interned like others. Ops that no gradient reaches, and values on
 * which no wanted gradient depends, get none. If several ops read a value, its gradient is a Sum.
 *
 * Three kinds of values are not kept for the backward pass, but made again by copies of their ops
 * (PHASE_AGAIN), named "T~again": views of a parameter, such as a transposed weight; what is
 * unpacked from integers; and what is recomputed (recompute.h).
 *
 * If ops on several parts of the mesh read a parameter, such as an embedding that is also the head,
 * each part holds it (StepShape.part). Each part sums the gradients of its own readers; the update
 * adds up these sums (update.h).
 *
 * Names: the gradient of T is "T~grad"; the gradient op of `h.3.c_fc` for its operand 1 is
 * "h.3.c_fc~d1", of the operator "MatMul~d1". If T has several readers, this is also the name of
 * the addend that the op makes. The sums of the parts are "T~part0", "T~part1".
 */
#ifndef CORE_STEP_BACKWARD_H
#define CORE_STEP_BACKWARD_H

#include "core/rules/infer.h"

/* The facts about a plan that a training step depends on. */
typedef struct {
    const int32_t *recompute; /* per op of the model: recompute.h; NULL: -1 for all */
    const int32_t *part;      /* for a parameter that several parts of the mesh read, per op of the
                                 model that reads it: the part it runs on; -1 for other ops; NULL:
                                 there is no such parameter */
} StepShape;

typedef struct {
    /* Tensors of the model whose gradients are given. */
    const int32_t *given;
    const int32_t *given_gradient; /* tensors of the model that are these gradients; NULL: they
                                      are inputs "T~given" of the new graph */
    int n_given;
    /* Tensors whose gradients are wanted. */
    const int32_t *wanted;
    int n_wanted;
    bool outputs; /* makes the wanted gradients outputs of the new graph */
    StepShape shape;
} BackwardRequest;

/* For a parameter that several parts of the mesh hold: the sum of gradients of the readers on one
 * part. */
typedef struct {
    int32_t parameter, gradient;
    int32_t reader; /* the first op of the model that reads the parameter there */
    int number;     /* of the part, from 0, in the order of first readers */
} GradientPart;

typedef struct {
    Graph *graph;            /* with columns phase, of, gradient_of */
    Inferred *inferred;      /* of that graph */
    const int32_t *gradient; /* per tensor of the model: its gradient, or that on its first part;
                                -1: it has none */
    int n_parts;
    const GradientPart *part; /* the parts of one parameter are contiguous */
} Backward;

/* Adds the backward pass to a model; sets all of *out but graph and inference. */
struct Extension;
bool backward_add(struct Extension *more, const BackwardRequest *request, Backward *out,
                  Error *err);

/* The same, and seals the graph. Everything is in the arena, which must not outlive the model's
 * graph and its inference. ERROR_UNSUPPORTED names an op whose derivative is needed but not known,
 * and the tensor that needs it. */
bool backward_derive(Arena *arena, const Inferred *model, const BackwardRequest *request,
                     Backward *out, Error *err);

#endif
