/* stated_step.h - finds the phases and the gradients of a file that holds a training step.
 *
 * What the loss needs is forward. A gradient is what the file calls so or, of a step that returns
 * new values of its inputs, what is left when the elementwise ops of the update are taken off: the
 * ops between it and the parameter of that size, the state of the optimizer and constants.
 *
 *     p, m -> Mul, Add, Sqrt .. -> p'     p' - lr * m' / .., m' = b1 * m + (1 - b1) * g:  g
 *
 * What follows from gradients is the update, what else they need the backward pass. Phases that the
 * file itself names hold over that.
 */
#ifndef CORE_STEP_STATED_STEP_H
#define CORE_STEP_STATED_STEP_H

#include "core/model/stated.h"

typedef struct {
    int32_t of, made; /* tensors: a parameter, or another input; its gradient, or its next value */
} StatedPair;

/* What a reader knows. */
typedef struct {
    int32_t n_names;
    const uint8_t *phase;   /* per name of an op, as in StatedStep; NULL: none is named */
    int n_pairs;            /* 0: outputs and inputs of one type in one order */
    const StatedPair *pair; /* `made` is an output */
    bool gradients;         /* all pairs are gradients */
    int32_t loss;           /* a tensor; -1: the only float without dims that is an output */
} StatedParts;

/* Sets graph->stated if the graph is a step: there is a loss or a named phase, and a gradient. */
void stated_step_find(Graph *graph, const StatedParts *parts);

#endif
