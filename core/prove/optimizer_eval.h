/* optimizer_eval.h - the eval verbs `optimizer.step`, parameters and states after some steps, and
 * `lr.schedule`, the learning rate of each step (the requests: TRAINING_FACTS.md beside the
 * conformance files). */
#ifndef CORE_PROVE_OPTIMIZER_EVAL_H
#define CORE_PROVE_OPTIMIZER_EVAL_H

#include "core/base/eval.h"

bool eval_optimizer_step(const char *verb, Arena *arena, const Json *request, Json *answer,
                         Error *err);
bool eval_lr_schedule(const char *verb, Arena *arena, const Json *request, Json *answer,
                      Error *err);

#endif
