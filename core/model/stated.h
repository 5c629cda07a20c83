/* stated.h - a file that holds a whole training step, as a joint graph of torch or a jitted step of
 * jax does: which op belongs to which phase, which value is the gradient of which parameter.
 *
 * To the engine such a graph is a model like any other: it has no Graph.phase, which only a step
 * derived here has (core/step/step.h). What is known is stored by names, so it holds for every
 * graph made from the file's: an op that a rewrite adds gets the phase of what it reads.
 * core/step/stated_step.h finds these facts.
 */
#ifndef CORE_MODEL_STATED_H
#define CORE_MODEL_STATED_H

#include "core/model/graph.h"

typedef struct {
    int32_t parameter, gradient; /* names of tensors */
} StatedGradient;

struct StatedStep {
    int32_t n_names;
    const uint8_t *phase; /* per name of an op: 1 + Phase; 0: not an op of the file */
    int n_gradients;
    const StatedGradient *gradient; /* in the order of the graph's outputs */
    int32_t loss;                   /* name of a tensor; -1: the file does not return the loss */
    bool by_flow;                   /* phases were found by data flow, since the file does not
                                       name them */
};

/* The phase of an op in a derived step, in a step from a file, or in a model, where every op is
 * forward. */
Phase op_phase(const Graph *graph, int32_t op);
/* The path of the op as the file has it; in a step from a file it begins with "backward" or
 * "update". */
Str op_stated_path(const Graph *graph, int32_t op);
/* Whether ops have phases. */
bool graph_has_phases(const Graph *graph);

#endif
