/* plan_findings.h - how every stage of making a plan adds a finding to it. */
#ifndef CORE_PLAN_PLAN_FINDINGS_H
#define CORE_PLAN_PLAN_FINDINGS_H

#include "core/plan/plan.h"

/* Appends one finding; texts are copied into the plan's arena. */
void plan_find(Plan *plan, Level level, const char *code, int32_t op, int32_t tensor,
               const char *hint, const char *format, ...) __attribute__((format(printf, 7, 8)));

/* Sets the place of the last finding to where the decision was made. */
void plan_found_at(Plan *plan, const Origin *origin);

/* The name of a tensor in findings, as on screens (core/plan/naming.h). */
const char *plan_value_name(const Plan *plan, int32_t tensor);

/* "megatron.lua:31", "your pin": for a text that names a decision. */
const char *plan_origin_text(Arena *arena, const Origin *origin);

#endif
