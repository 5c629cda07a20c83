/* config_plan.h - the plan of a configuration: opened, priced, closed. */
#ifndef CORE_SEARCH_CONFIG_PLAN_H
#define CORE_SEARCH_CONFIG_PLAN_H

#include "core/search/config_search.h"

/* Fills legal, failed, step_us, peak_bytes and parts. */
void config_plan_make(Arena *arena, const SessionOptions *options, const SessionHooks *hooks,
                      ConfigPlan *out);

#endif
