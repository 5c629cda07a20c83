/* stated.h - a file that holds a whole training step, as a joint graph of torch or a jitted step of
 * jax does: which op belongs to which phase, which value is the gradient of which parameter.
 *
 * Such a graph is a model like any other to the engine: it has no Graph.phase, which a step that
 * was derived here has (core/step/step.h), with ops that are of other ops. What is known is by
 * names, so it holds for every graph that is made of the file's: an op that a rewrite adds has the
 * phase of what it reads. core/step/stated_step.h finds it.
 */
#ifndef CORE_MODEL_STATED_H
#define CORE_MODEL_STATED_H

#include "core/model/graph.h"

typedef struct {
    int32_t parameter, gradient; /* names of tensors */
} StatedGradient;

struct StatedStep {
    int32_t n_names;
    const uint8_t *phase; /* per name of an op: 1 + Phase; 0: an op that is not of the file */
    int n_gradients;
    const StatedGradient *gradient; /* in the order of the graph's outputs */
    int32_t loss;                   /* name of a tensor; -1: the file does not return it */
    bool by_flow;                   /* phases by the flow of data, since the file names none */
};

/* Of a derived step, a stated one, or a model alone: all is forward there. */
Phase op_phase(const Graph *graph, int32_t op);
/* The path of the op as the file has it: that of a stated step begins with "backward" or "update".
 */
Str op_stated_path(const Graph *graph, int32_t op);
/* Whether ops have phases. */
bool graph_has_phases(const Graph *graph);

#endif
