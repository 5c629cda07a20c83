/* layers.h - the layers of a model, and to which of them an op or a parameter of its step belongs.
 *
 * A layer is the ops whose path agrees up to its first part that is a number, or that ends with one
 * behind a '_' ("model.layers.3", "block_3"), and the ops between two layers belong to the one
 * before. Parts are numbered: 0 is what is before the first layer, 1..n are the layers, n + 1 is
 * what is behind the last. A model without layers is part 0.
 *
 * scripts/policies/lib/stages.lua finds them likewise. */
#ifndef CORE_COST_LAYERS_H
#define CORE_COST_LAYERS_H

#include "core/rules/infer.h"

/* Fills part[op] for each op of a model's graph, -1 of ops that are not in its program; returns
 * the number of layers. */
int layers_of_ops(Arena *arena, const Inferred *model, int32_t *part);

typedef struct {
    int n;                       /* layers */
    const int32_t *part;         /* per op of the model */
    const int32_t *of_parameter; /* per tensor of the step: the part that reads a parameter first;
                                    likewise of its states and its gradient; -1 of other tensors */
} LayerParts;

/* Of a training step; in the arena. */
LayerParts layer_parts(Arena *arena, const Inferred *step);

/* The part of a step's op: of a gradient op that of the op it comes of, of an update that of its
 * parameter; -1 if it has none of its own. */
int layer_of_op(const LayerParts *layers, const Graph *step, int32_t op);

#endif
