/* step.h - a training step is one graph: the model and its loss, the backward pass, the update.
 *
 *     Loss loss;   loss_add(arena, model, &spec, &loss, &err);
 *     inferred = infer(.. loss.graph ..);
 *     TrainingStep step;   step_make(arena, inferred, &loss, NULL, 0, shape, &spec, &step, &err);
 *
 * Ops of the model come first and keep their ids, so that pins, plan files and the cursor mean the
 * same with and without the step. Graph.phase says what an op belongs to, Graph.of which op of the
 * model it comes of. Gradients are named "T~grad".
 *
 * What trains: an initializer of floats that an op reads beside activations, itself or through
 * views, casts, lookups and slices. Arithmetic on constants makes a buffer, as the frequencies of
 * rotary embeddings are, but for numbers without dims, as the logit scale of CLIP is; so does what
 * no gradient reaches. A number whose value the file gives is a constant. What the file itself
 * calls a buffer, or a parameter without a gradient, does not train.
 */
#ifndef CORE_STEP_STEP_H
#define CORE_STEP_STEP_H

#include "core/step/backward.h"
#include "core/step/loss.h"

typedef struct {
    Graph *graph;
    Inferred *inferred;  /* its `forward` is of the model with its loss */
    int32_t seed, scale; /* as in Loss; -1 */
    int32_t loss;        /* -1: the gradients of the outputs are given */
    int n_parameters;
    const int32_t *parameter; /* tensors that train, in the order of the graph */
    const int32_t *gradient;  /* per tensor of the model: its gradient, or -1 */
    int n_parts;              /* of gradients, as in Backward */
    const GradientPart *part;
} TrainingStep;

/* model: with the loss, as inferred. frozen: parameters that do not train. spec: of the
 * update (core/step/update.h); NULL: there is none. ERROR_UNSUPPORTED names
 * an op on the way that has no derivative; ERROR_USAGE: nothing trains. */
bool step_make(Arena *arena, const Inferred *model, const Loss *loss, const int32_t *frozen,
               int n_frozen, StepShape shape, const UpdateSpec *spec, TrainingStep *out,
               Error *err);

/* The first op, in program order, that lets no gradient pass to what is made of the parameter, as a
 * rounding does; -1: none does, and no loss depends on it. */
int32_t step_stopped_by(const Inferred *model, int32_t parameter);

/* The step without a loss: the gradients of the float outputs are inputs "T~given", and those of
 * all float inputs and initializers that they reach are outputs. ERROR_USAGE: no output has
 * floats. */
bool step_make_from_outputs(Arena *arena, const Inferred *model, StepShape shape, TrainingStep *out,
                            Error *err);

#endif
