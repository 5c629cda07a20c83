/* gradient_eval.h - the eval verbs `grad` and `grad.graph`: gradients of one op, or of a small
 * graph, computed on one device by the ops that core/step/backward.h derives (the requests:
 * TRAINING_FACTS.md beside the conformance files). */
#ifndef CORE_PROVE_GRADIENT_EVAL_H
#define CORE_PROVE_GRADIENT_EVAL_H

#include "core/base/eval.h"

bool eval_grad(const char *verb, Arena *arena, const Json *request, Json *answer, Error *err);
bool eval_grad_graph(const char *verb, Arena *arena, const Json *request, Json *answer, Error *err);

#endif
