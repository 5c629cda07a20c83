/* stated_step.h - finds the phases and the gradients of a file that holds a training step.
 *
 * Ops that the loss needs are forward ops. A gradient is either named as such by the file or, in a
 * step that returns new values of its inputs, found by removing the elementwise ops of the update:
 * the ops between it and the parameter of that size, the optimizer's state and constants.
 *
 *     p, m -> Mul, Add, Sqrt .. -> p'     p' - lr * m' / .., m' = b1 * m + (1 - b1) * g:  g
 *
 * Ops that depend on gradients are the update; other ops that gradients need are the backward pass.
 * Phases that the file itself names take precedence.
 */
#ifndef CORE_STEP_STATED_STEP_H
#define CORE_STEP_STATED_STEP_H

#include "core/model/stated.h"

typedef struct {
    int32_t of, made; /* tensors: a parameter or another input, and its gradient or its next
                         value */
} StatedPair;

/* What the reader of the file knows. */
typedef struct {
    int32_t n_names;
    const uint8_t *phase;   /* per name of an op, as in StatedStep; NULL: none is named */
    int n_pairs;            /* 0: outputs and inputs correspond in order, by type */
    const StatedPair *pair; /* `made` is an output */
    bool gradients;         /* all pairs are gradients */
    int32_t loss;           /* a tensor; -1: the only output that is a float without dims */
} StatedParts;

/* Sets graph->stated if the graph is a step: there is a loss or a named phase, and a gradient. */
void stated_step_find(Graph *graph, const StatedParts *parts);

#endif
