/* plan_findings.h - adds a finding to a plan, for every stage of making it. */
#ifndef CORE_PLAN_PLAN_FINDINGS_H
#define CORE_PLAN_PLAN_FINDINGS_H

#include "core/plan/plan.h"

/* Appends one finding; texts are copied into the plan's arena. */
void plan_find(Plan *plan, Level level, const char *code, int32_t op, int32_t tensor,
               const char *hint, const char *format, ...) __attribute__((format(printf, 7, 8)));

/* Sets the place of the last finding to the place where the decision was made. */
void plan_found_at(Plan *plan, const Origin *origin);

/* The name of a tensor in findings, the same as on screens (core/plan/naming.h). */
const char *plan_value_name(const Plan *plan, int32_t tensor);

/* "megatron.lua:31", "your pin": names a decision in a text. */
const char *plan_origin_text(Arena *arena, const Origin *origin);

#endif
