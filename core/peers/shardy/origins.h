/* origins.h - records from which input, result or constraint each axis of a value comes, as Shardy
 * reports it.
 *
 * Before propagation each given axis has an origin: an input or a result of the function, or a
 * constraint. Axes that a visit adds to a tensor along a factor are attributed to the first
 * operand, else the first result, whose axes of that factor start with all the new ones; they get
 * the origin that the axis has there. That need not be the tensor that decided it. Axes that were
 * split or merged meanwhile are matched by the first overlap. Source: Shardy's
 * SourceShardingHandler.
 */
#ifndef CORE_PEERS_SHARDY_ORIGINS_H
#define CORE_PEERS_SHARDY_ORIGINS_H

#include "core/peers/shardy/import.h"

typedef struct Origins Origins;

/* The context to pass to shardy_run() with origins_seen. op_of: from import_program(). */
Origins *origins_new(Arena *arena, const ImportedGraph *imported, const ShardyProgram *program,
                     const int *op_of);
ShardyObserver origins_seen;

/* {value: {axis: "self" | "input:0" | "output:0" | "constraint:0"}}, with results of the function
 * as "output:0". */
Json *origins_json(const Origins *origins);
/* {value: [{"axis", "from": "operand:0", "to": ["result:0"]}]}, keyed by the first result of each
 * op. */
Json *origins_edges_json(const Origins *origins);

#endif
