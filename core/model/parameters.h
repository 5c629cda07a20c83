/* parameters.h - graph inputs that are really parameters: jax and others pass weights as arguments.

 */
#ifndef CORE_MODEL_PARAMETERS_H
#define CORE_MODEL_PARAMETERS_H

#include "core/model/graph.h"

/* Turns inputs whose names match the pattern into parameters, which have no elements; str_glob()
 * reads the pattern: "p.*". Returns how many inputs matched. */
int graph_make_parameters(Graph *graph, Str pattern);

/* For a graph without parameters: a pattern, in the arena, that may match them: the first part of a
 * name, "p.*", with which most of its inputs begin. NULL if there is none. */
const char *graph_likely_parameters(Arena *arena, const Graph *graph);

#endif
