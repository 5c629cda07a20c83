/* trace_modules.h - finds the modules of consecutive ops in a lane, so that the slices of ops are
 * inside those of their modules. */
#ifndef CORE_RUN_TRACE_TRACE_MODULES_H
#define CORE_RUN_TRACE_TRACE_MODULES_H

#include "core/base/vec.h"
#include "core/model/graph.h"

/* Ops first .. last of the lane, more than one, have paths that begin with this one. */
typedef struct {
    int first, last;
    Str path; /* "model.layers.0.mlp" */
} TraceModule;

typedef Vec(TraceModule) TraceModules;

/* op: those of a lane, by time. Modules are in the order of their first ops, outer ones before
 * those inside them; they nest. */
TraceModules trace_modules(Arena *arena, const Graph *graph, const int32_t *op, int n);

#endif
