/* update.h - the end of a training step: what the optimizer does with each parameter.
 *
 *     T~grad [Cast] -> AdamWUpdate  T, T~grad, rate, step, factor, T~m, T~v -> T~next, T~m~next, ..
 *
 * The states of a parameter are initializers beside it ("T~m", "T~v"), and a parameter of 16 bits
 * has a master copy "T~master" of 32, which is updated, and rounded to the parameter. With a limit
 * of the norm, the squares of all gradients are summed first: every element counts once, since the
 * sum of a sharded gradient is partial over the axes that shard it (ClipFactor).
 *
 * A parameter that several parts of the mesh hold is updated on each of them, with states of its
 * own there: "T~m" on the first, "T~copy1~m" on the second. First the gradients of all parts are
 * summed on each ("T~grad", "T~copy1~grad"): one all-reduce between them, in rounds in which each
 * part receives one sum ("T~joined") of another. They are cast before, and count once in the norm.
 *
 * "train~rate" is the learning rate, "train~step" the number of the step, from 1, to which one is
 * added, unless the step is skipped since a gradient is not finite under a dynamic loss scale.
 *
 * What is new at the end lies as what it takes the place of: Graph.next_of.
 */
#ifndef CORE_STEP_UPDATE_H
#define CORE_STEP_UPDATE_H

#include "core/step/extension.h"
#include "core/step/optimizer.h"
#include "core/step/step.h"

/* Tells the extension how much the update of so many parameters adds. */
void update_expect(Extension *more, const UpdateSpec *spec, int n_parameters);

/* Adds the update to a step that is being made: all of it but graph and inference is known.
 * ERROR_UNSUPPORTED: the spec asks for another precision than the model has. */
bool update_add(Extension *more, const UpdateSpec *spec, const TrainingStep *step, Error *err);

#endif
