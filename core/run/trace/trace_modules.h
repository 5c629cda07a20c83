/* trace_modules.h - the modules of ops that follow each other in a lane, so that their slices stand
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
