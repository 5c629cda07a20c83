/* trace_json.h - a plan, and a run of it, along time as Chrome trace events for Perfetto. */
#ifndef CORE_RUN_TRACE_TRACE_JSON_H
#define CORE_RUN_TRACE_TRACE_JSON_H

#include "core/run/trace/timeline.h"

/* Slices nest, threads and processes have names, and names are those of the screens, so that traces
 * can be compared.
 *
 *     process 0   the plan. Thread 2n: ops of the n-th part of the mesh that ops run on, 2n+1: its
 *                 reshards
 *     process 1   the run. Thread 2d: ops of device d, 2d+1: its collectives
 *     process 2   the schedule of a plan with stages (trace_schedule.h). Thread 2n: blocks of the
 *                 n-th lane of devices, 2n+1: its collectives
 *     process 3   the blocks of a training step that ran (trace_blocks.h), with their predicted
 *                 times. Thread d: device d
 *
 * Ops are inside slices of their modules, as far as these follow each other in the lane.
 *
 * Flows lead from the op that makes a value to its reshard, and from there to the first op that
 * reads it. Counters are live bytes by class: in process 0 of the device with the highest peak
 * (with stages, of the first of each), in process 1 of every device, where they are predicted
 * values at measured times.
 *
 * trace: of a run of the session's plan, or NULL. */
void trace_json_put(const Session *session, const Timeline *timeline, const Trace *trace, Buf *out);

#endif
