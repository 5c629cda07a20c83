/* schedule_json.h - the schedule of a step as JSON: "schedule" of `plan --json`.
 *
 *     {"name":"1f1b","micro_batches":8,"trains":true,"steps":22,"us":..,"step_us":..,"bubble":0.27,
 *      "even_bubble":..,"bubble_by_cause":{"warm_up":0.13,"drain":..,..},
 *      "lanes":[{"stages":[0],"devices":4,"busy_us":..,"waits_us":{"warm_up":..,..}}],
 *      "blocks":[{"stage":0,"pass":"forward","micro_batch":0,..,"start_us":..,"end_us":..}]}
 *
 * Causes are those of core/plan/schedule_idle.h. They sum to "bubble"; a lane's waits and its
 * "busy_us" sum to "us".
 */
#ifndef CORE_SESSION_SCHEDULE_JSON_H
#define CORE_SESSION_SCHEDULE_JSON_H

#include "core/base/json.h"
#include "core/plan/plan.h"

/* null if the schedule does not fit the stages. blocks: whether to list them; very many are never
 * listed. The caller owns it. */
Json *schedule_json(const Plan *plan, bool blocks);

#endif
