/* trace_json.h - a plan along time, and a run of it, as Chrome's trace events for Perfetto. */
#ifndef CORE_RUN_TRACE_TRACE_JSON_H
#define CORE_RUN_TRACE_TRACE_JSON_H

#include "core/run/trace/timeline.h"

/* Every slice nests, every thread and process has a name, and names are those of the screens, so
 * that two traces compare.
 *
 *     process 0   the plan. Thread 2n: ops of the n-th part of the mesh that ops run on, 2n+1: its
 *                 reshards
 *     process 1   the run. Thread 2d: ops of device d, 2d+1: its collectives
 *     process 2   the schedule of a plan with stages, a thread a lane of devices that do the same
 *
 * A flow leads from the op that makes a value to what moves it, and from there to the first op that
 * reads it so. Counters are live bytes by class: in process 0 of the device that needs most (with
 * stages, of the first of each part), in process 1 of every device; there, too, they are those the
 * plan predicts, at the times that were measured, since a run does not count them.
 *
 * trace: of a run of the session's plan, or NULL. */
void trace_json_put(const Session *session, const Timeline *timeline, const Trace *trace, Buf *out);

#endif
