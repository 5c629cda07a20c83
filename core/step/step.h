/* step.h - a training step is one graph: the model and its loss, the backward pass, the update.
 *
 *     Loss loss;   loss_add(arena, model, &spec, &loss, &err);
 *     inferred = infer(.. loss.graph ..);
 *     TrainingStep step;   step_make(arena, inferred, &loss, NULL, 0, shape, &spec, &step, &err);
 *
 * Ops of the model come first and keep their ids, so that pins, plan files and the cursor mean the
 * same with and without the step. Graph.phase says what an op belongs to, Graph.of which op of the
 * model it was derived from. Gradients are named "T~grad".
 *
 * Trained parameters are float initializers that an op reads together with activations, directly or
 * through views, casts, lookups and slices. What is computed from constants is a buffer, such as
 * the frequencies of rotary embeddings, except numbers without dims, such as the logit scale of
 * CLIP; an initializer that no gradient reaches is a buffer, too. A number whose value the file
 * gives is a constant. An initializer that the file itself declares a buffer, or a parameter
 * without gradient, does not train.
 */
#ifndef CORE_STEP_STEP_H
#define CORE_STEP_STEP_H

#include "core/step/backward.h"
#include "core/step/loss.h"

typedef struct {
    Graph *graph;
    Inferred *inferred;  /* its `forward` is the inference of the model with its loss */
    int32_t seed, scale; /* as in Loss; -1 */
    int32_t loss;        /* -1: the gradients of the outputs are inputs */
    int n_parameters;
    const int32_t *parameter; /* tensors that train, in graph order */
    const int32_t *gradient;  /* per tensor of the model: its gradient, or -1 */
    int n_parts;              /* of gradients, as in Backward */
    const GradientPart *part;
} TrainingStep;

/* model: the inference of the model with its loss. frozen: parameters that do not train. spec: of
 * the update (core/step/update.h); NULL: no update. ERROR_UNSUPPORTED names an op that has no
 * derivative but needs one; ERROR_USAGE: nothing trains. */
bool step_make(Arena *arena, const Inferred *model, const Loss *loss, const int32_t *frozen,
               int n_frozen, StepShape shape, const UpdateSpec *spec, TrainingStep *out,
               Error *err);

/* The first op, in program order, that passes no gradient to a tensor computed from the parameter,
 * such as a rounding; -1 if there is none: no loss depends on the parameter. */
int32_t step_stopped_by(const Inferred *model, int32_t parameter);

/* The number of integer initializers that are cast or dequantized to floats which ops read beside
 * activations: they do not train, though float parameters in their place would. Sets *first to the
 * first of them if there is one. */
int step_integers(const Inferred *model, int32_t *first);

/* The step without a loss: the gradients of the float outputs are inputs "T~given"; outputs are the
 * gradients of all float inputs and initializers that they reach. ERROR_USAGE: the model has no
 * float output. */
bool step_make_from_outputs(Arena *arena, const Inferred *model, StepShape shape, TrainingStep *out,
                            Error *err);

#endif
