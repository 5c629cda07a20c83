/* parameters.h - inputs of a graph that are its parameters: jax and others pass weights as
 * arguments.
 */
#ifndef CORE_MODEL_PARAMETERS_H
#define CORE_MODEL_PARAMETERS_H

#include "core/model/graph.h"

/* Makes parameters, which have no elements, of the inputs whose names the pattern matches, as
 * str_glob() reads it: "p.*". Returns how many there were. */
int graph_make_parameters(Graph *graph, Str pattern);

/* The pattern of inputs that may be parameters, in the arena: of a graph without any, the first
 * part of a name, "p.*", that most of its inputs begin with. NULL if there is none. */
const char *graph_likely_parameters(Arena *arena, const Graph *graph);

#endif
