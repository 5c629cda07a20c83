/* loss.h - the loss at the end of a model's graph.
 *
 * A model may end in its loss: an output that is one float. Else its first float output are scores
 * [.., classes], and a cross entropy is added, in ops whose sums over the classes can be sharded
 * (core/rules/operators/cross_entropy.c):
 *
 *     "labels"       an input: [..], whole numbers. A language model's are already shifted: the
 *                    label of a position is the id of the next one
 *     "loss~max", "loss~sum", "loss~token"       the maximum, the sum of exponentials, the loss of
 *                    each label
 *     "loss"         their mean
 *
 * With an ignore_index, "loss~counts" is 1 for each label that counts, and the loss is the sum of
 * "loss~token" over that of "loss~counts": both sums are over all devices, so that a device with
 * fewer such labels weighs less. NaN if none counts, as torch's.
 *
 * Scores of less than 32 bits are cast to f32 first, as Megatron-LM and torch's autocast do.
 */
#ifndef CORE_STEP_LOSS_H
#define CORE_STEP_LOSS_H

#include "core/rules/infer.h"
#include "core/step/optimizer.h"

typedef struct Loss {
    Graph *graph;  /* the model's with what was added; its ids stay */
    int32_t loss;  /* tensor */
    int32_t seed;  /* the gradient of the loss by itself: "loss~grad", the loss scale */
    int32_t scale; /* "loss~scale", the state that a dynamic scale is; -1 */
    bool added;    /* the model did not have it */
} Loss;

/* spec->loss: a tensor with one float element that is the loss; "auto": as above. Everything new is
 * in the arena. ERROR_USAGE: there is no such tensor, it is no single float, nothing of the model
 * can be scores, or the spec is about labels and no cross entropy is added. ERROR_UNSUPPORTED: the
 * loss is scaled and not of 32 bits or more. */
bool loss_add(Arena *arena, const Inferred *model, const UpdateSpec *spec, Loss *out, Error *err);

#endif
