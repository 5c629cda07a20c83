/* loss.h - the loss at the end of a model's graph.
 *
 * A model may end in its loss: an output that is one float. Otherwise its first float output holds
 * scores [.., classes], and a cross entropy is added as ops whose sums over the classes can be
 * sharded (core/rules/operators/cross_entropy.c):
 *
 *     "labels"       an input: [..], whole numbers. A language model's are already shifted: the
 *                    label of a position is the id of the next one
 *     "loss~max", "loss~sum", "loss~token"       the maximum, the sum of exponentials, the loss of
 *                    each label
 *     "loss"         their mean
 *
 * With an ignore_index, "loss~counts" is 1 for each label that counts, and the loss is the sum of
 * "loss~token" divided by that of "loss~counts": both sums are over all devices, so that a device
 * with fewer such labels has a smaller weight. NaN if no label counts, as in torch.
 *
 * Scores of less than 32 bits are cast to f32 first, as Megatron-LM and torch's autocast do.
 */
#ifndef CORE_STEP_LOSS_H
#define CORE_STEP_LOSS_H

#include "core/rules/infer.h"
#include "core/step/optimizer.h"

typedef struct Loss {
    Graph *graph;  /* the model's graph with the added ops; its ids stay the same */
    int32_t loss;  /* tensor */
    int32_t seed;  /* the gradient of the loss with respect to itself: "loss~grad", the loss
                      scale */
    int32_t scale; /* "loss~scale", the state of a dynamic loss scale; -1 */
    bool added;    /* the loss was added here */
} Loss;

/* spec->loss names a tensor with one float element, which is the loss; "auto": as above. Everything
 * new is in the arena. ERROR_USAGE: there is no such tensor, it is not a single float, no output
 * can be scores, or the spec has options for labels but no cross entropy is added.
 * ERROR_UNSUPPORTED: the loss is scaled and has fewer than 32 bits. ERROR_OUT_OF_RANGE: an input of
 * the model has no elements. */
bool loss_add(Arena *arena, const Inferred *model, const UpdateSpec *spec, Loss *out, Error *err);

#endif
