/* ties.h - tensors that the default propagator shards together though no op of the graph joins
 * them.
 *
 *     what a loop carries                                  in = next, dim by dim
 *     Slices of one tensor that are all of it, in parts    as the outputs of a Split
 *
 * A tie is an op of the propagator's own, with an index space; the engine visits it as it visits
 * ops of the graph.
 */
#ifndef CORE_PROPAGATE_TIES_H
#define CORE_PROPAGATE_TIES_H

#include "core/base/vec.h"
#include "core/rules/infer.h"

typedef struct {
    int32_t space;  /* id */
    int32_t tensor; /* its first in Ties.tensors: one input, then outputs */
    int32_t n_outputs;
    bool on_parameters; /* all its tensors depend on parameters alone */
} Tie;

typedef struct {
    Vec(Tie) ties;
    Vec(int32_t) tensors;
    Vec(const OpSpace *) spaces; /* distinct; ids begin behind those of the graph's ops */
} Ties;

Ties ties_find(Arena *arena, const Inferred *inferred);

#endif
