/* update.h - the end of a training step: what the optimizer does with each parameter.
 *
 *     T~grad [Cast] -> AdamWUpdate  T, T~grad, rate, step, factor, T~m, T~v -> T~next, T~m~next, ..
 *
 * The states of a parameter are initializers named after it ("T~m", "T~v"). A 16-bit parameter has
 * a 32-bit master copy "T~master", which is updated and then rounded to the parameter. With a limit
 * on the norm, the squares of all gradients are summed first; every element counts once, since the
 * sum over a sharded gradient is partial over the axes that shard it (ClipFactor).
 *
 * A parameter that several parts of the mesh hold is updated on each of them, with its own states
 * there: "T~m" on the first, "T~copy1~m" on the second. First, each part gets the sum of the
 * gradients of all parts ("T~grad", "T~copy1~grad"): one all-reduce between them, in rounds in
 * which each part receives one sum ("T~joined") of another. Gradients are cast before that, and
 * count once in the norm.
 *
 * "train~rate" is the learning rate; "train~step" is the number of the step, from 1, and rises by
 * one unless the step is skipped because a gradient is not finite under a dynamic loss scale.
 *
 * A new value is stored like the one it replaces: Graph.next_of.
 */
#ifndef CORE_STEP_UPDATE_H
#define CORE_STEP_UPDATE_H

#include "core/step/extension.h"
#include "core/step/optimizer.h"
#include "core/step/step.h"

/* Announces to the extension how much the update of this many parameters adds. */
void update_expect(Extension *more, const UpdateSpec *spec, int n_parameters);

/* Adds the update to a step being made, of which everything but graph and inference is set.
 * ERROR_UNSUPPORTED: the spec asks for a precision other than the model's. */
bool update_add(Extension *more, const UpdateSpec *spec, const TrainingStep *step, Error *err);

#endif
