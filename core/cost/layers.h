/* layers.h - the layers of a model, and the layer of each op and parameter of its training step.
 *
 * A layer consists of the ops whose path is equal up to its first part that is a number or ends
 * with one after a '_' ("model.layers.3", "block_3"); ops between two layers belong to the one
 * before. Parts are numbered: 0 is before the first layer, 1..n are the layers, n + 1 is after the
 * last. A model without layers has only part 0.
 *
 * scripts/policies/lib/stages.lua finds layers in the same way. */
#ifndef CORE_COST_LAYERS_H
#define CORE_COST_LAYERS_H

#include "core/rules/infer.h"

/* Fills part[op] for each op of a model's graph, -1 for ops that are not in its program; returns
 * the number of layers. */
int layers_of_ops(Arena *arena, const Inferred *model, int32_t *part);

typedef struct {
    int n;                       /* layers */
    const int32_t *part;         /* per op of the model */
    const int32_t *of_parameter; /* per tensor of the step: for a parameter, its states and its
                                    gradient the part that reads the parameter first; -1 for
                                    other tensors */
} LayerParts;

/* Of a training step; in the arena. */
LayerParts layer_parts(Arena *arena, const Inferred *step);

/* The part of a step's op: for a gradient op that of its forward op, for an update that of its
 * parameter; -1 if it has none. */
int layer_of_op(const LayerParts *layers, const Graph *step, int32_t op);

#endif
