/* backward.h - the backward pass of a graph, derived: gradient ops behind the ops of the model.
 *
 *     Backward backward;
 *     backward_derive(arena, inferred, &request, &backward, &err);
 *
 * The result is a graph of the same kind. The model's ops come first, with the ids they have;
 * gradient ops follow in reverse program order. An op gets gradient ops as the column `gradient` of
 * its operator's row says (core/rules/derivative.h), their index spaces are derived from its own
 * (core/space/gradient.h) and interned like others. Ops that no gradient reaches, and values on
 * which nothing wanted depends, get none. Where several ops read a value its gradient is a Sum.
 *
 * A view of a parameter, such as a transposed weight, and what is unpacked from integers are not
 * kept for the backward pass, nor what is recomputed (recompute.h): their ops are there again
 * (PHASE_AGAIN), "T~again".
 *
 * A parameter that ops on several parts of the mesh read, as an embedding that is also the head,
 * is held by each of them (StepShape.part). Each adds up the gradients of its own readers; the sum
 * over the parts is of the update (update.h).
 *
 * Names: the gradient of T is "T~grad"; the gradient op of `h.3.c_fc` for its operand 1 is
 * "h.3.c_fc~d1", of the operator "MatMul~d1". Where T has several readers that is also the name of
 * the addend that the op makes. What a part of the mesh adds up is "T~part0", "T~part1".
 */
#ifndef CORE_STEP_BACKWARD_H
#define CORE_STEP_BACKWARD_H

#include "core/rules/infer.h"

/* What of a plan a step depends on. */
typedef struct {
    const int32_t *recompute; /* per op of the model: recompute.h; NULL: nothing is recomputed */
    const int32_t *part; /* per op of the model that reads a parameter which several parts of the
                            mesh read: the part that it runs on; -1 of others; NULL: there is no
                            such parameter */
} StepShape;

typedef struct {
    /* Tensors of the model whose gradients are given. */
    const int32_t *given;
    const int32_t *given_gradient; /* tensors of the model that are these; NULL: they are inputs
                                      "T~given" of the new graph */
    int n_given;
    /* Tensors whose gradients are wanted. */
    const int32_t *wanted;
    int n_wanted;
    bool outputs; /* the gradients wanted are outputs of the new graph */
    StepShape shape;
} BackwardRequest;

/* Of a parameter that several parts of the mesh hold: what the readers on one of them give. */
typedef struct {
    int32_t parameter, gradient;
    int32_t reader; /* the first op of the model that reads the parameter there */
    int number;     /* of the parts, from 0, in the order of these readers */
} GradientPart;

typedef struct {
    Graph *graph;            /* with columns phase, of, gradient_of */
    Inferred *inferred;      /* of that graph */
    const int32_t *gradient; /* per tensor of the model: its gradient, or that of its first part;
                                -1: it has none */
    int n_parts;
    const GradientPart *part; /* those of one parameter in a row */
} Backward;

/* Adds the backward pass to a model, without graph and inference in *out. */
struct Extension;
bool backward_add(struct Extension *more, const BackwardRequest *request, Backward *out,
                  Error *err);

/* The same, sealed. Everything is in the arena, which outlives neither the model's graph nor its
 * inference. ERROR_UNSUPPORTED names an op on the way whose derivative is not known, and the tensor
 * that waits for it. */
bool backward_derive(Arena *arena, const Inferred *model, const BackwardRequest *request,
                     Backward *out, Error *err);

#endif
