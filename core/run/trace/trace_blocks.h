/* trace_blocks.h - the measured blocks of a training step along time, each with its predicted time,
 * to be compared with a schedule's predicted blocks (trace_schedule.h). */
#ifndef CORE_RUN_TRACE_TRACE_BLOCKS_H
#define CORE_RUN_TRACE_TRACE_BLOCKS_H

#include "core/base/json.h"
#include "core/run/trace/trace.h"

/* Adds the events of process `pid` to a trace; none for a forward pass. Thread d is device d; its
 * slices are blocks of micro-batches and the update. A block that another block or a send
 * interrupts has several slices. Gaps between slices are sends and waits for them. The arguments
 * are of the whole block on the device, in us: its ops and collectives, the waits of the latter,
 * and what was predicted for the ops and collectives. */
void trace_blocks_put(Arena *arena, const Plan *plan, const Trace *trace, int pid, Json *events);

#endif
