/* ties.h - tensors that the default propagator shards alike though no op of the graph joins them.
 *
 *     what a loop carries                                  in = next, dim by dim
 *     Slices of one tensor that are all of it, in parts    as the outputs of a Split
 *
 * A tie is an op of the propagator's own, with an index space; the engine visits it like the ops of
 * the graph.
 */
#ifndef CORE_PROPAGATE_TIES_H
#define CORE_PROPAGATE_TIES_H

#include "core/base/vec.h"
#include "core/rules/infer.h"

typedef struct {
    int32_t space;  /* id */
    int32_t tensor; /* index in Ties.tensors of its first tensor: one input, then outputs */
    int32_t n_outputs;
    bool on_parameters; /* all its tensors depend on parameters alone */
} Tie;

typedef struct {
    Vec(Tie) ties;
    Vec(int32_t) tensors;
    Vec(const OpSpace *) spaces; /* distinct; their ids follow those of the graph's spaces */
} Ties;

Ties ties_find(Arena *arena, const Inferred *inferred);

#endif
