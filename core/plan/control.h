/* control.h - branches and loops: each runs on one part of the mesh.
 *
 * Only the devices that run a branch or a loop know its condition. So all ops of the outermost If,
 * Loop, Scan or SequenceMap, and those that return its results, run on the devices of its first op;
 * a stage that would begin inside begins after it. What they read from outside, the condition and
 * every captured value, is sent to these devices before the branch or the loop.
 *
 * code               level     when
 * control-in-stages  warning   a decision splits a branch or a loop between stages or devices
 */
#ifndef CORE_PLAN_CONTROL_H
#define CORE_PLAN_CONTROL_H

#include "core/plan/plan.h"

typedef struct {
    int32_t first, end; /* ops of the graph: all bodies, and the ops that return their results */
} ControlRange;

/* The outermost branches and loops that are decided during a run, in program order. An If whose
 * condition is known at load is not listed: its ops are ordinary ones. */
int control_ranges(Arena *arena, const Inferred *inferred, const ControlRange **out);

/* The tensor that decides a body before it begins: the condition of a branch, the trip count of a
 * loop, the tensor that is scanned. Returns -1 if that is known before the run. */
int32_t control_read(const Inferred *inferred, int body);

/* The sharding in which devices read that tensor: whole, but a sequence, of which only the length
 * is read, as it is where they have it. -1: its shape is known only at run time. */
int32_t control_sharding(const Plan *plan, int32_t tensor, int devices);

/* Whether the run reads the condition of a loop before each iteration. */
bool control_reads_condition(const Inferred *inferred, int body);

#endif
