/* trace_schedule.h - the schedule of a step along time: blocks of micro-batches with the modules
 * and the collectives that fill them, as predicted. */
#ifndef CORE_RUN_TRACE_TRACE_SCHEDULE_H
#define CORE_RUN_TRACE_TRACE_SCHEDULE_H

#include "core/base/json.h"
#include "core/plan/plan.h"

/* Adds the events of process `pid` to a trace; none for a plan without a schedule. Thread 2n: the
 * n-th lane of devices, blocks with their modules inside them; 2n+1: its collectives. Flows, with
 * ids from first_flow on, lead from a block to the one of another stage that reads what it makes. A
 * schedule with very many modules has blocks and collectives alone. */
void trace_schedule_put(Arena *arena, const Plan *plan, int pid, int64_t first_flow, Json *events);

#endif
