/* steps_eval.h - the eval verb `train.steps`: a model trained for some steps on one device (the
 * request: TRAINING_FACTS.md beside the conformance files). */
#ifndef CORE_PROVE_STEPS_EVAL_H
#define CORE_PROVE_STEPS_EVAL_H

#include "core/base/eval.h"

bool eval_train_steps(const char *verb, Arena *arena, const Json *request, Json *answer,
                      Error *err);

#endif
