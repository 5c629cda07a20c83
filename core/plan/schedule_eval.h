/* schedule_eval.h - the eval verbs `schedule`, which says what each rank does in which order, how
 * long it takes and what it holds, and `schedule.bubble`, its idle time and memory (the requests:
 * TRAINING_FACTS.md beside the conformance files). */
#ifndef CORE_PLAN_SCHEDULE_EVAL_H
#define CORE_PLAN_SCHEDULE_EVAL_H

#include "core/base/eval.h"

bool eval_schedule(const char *verb, Arena *arena, const Json *request, Json *answer, Error *err);
bool eval_schedule_bubble(const char *verb, Arena *arena, const Json *request, Json *answer,
                          Error *err);

#endif
