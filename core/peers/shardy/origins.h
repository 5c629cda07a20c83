/* origins.h - where Shardy says that the axes of a value come from.
 *
 * Before anything is handed on, each axis that is given has an origin: an input or a result of the
 * function, or a constraint. What a visit adds to a tensor along a factor is said to come from the
 * first operand, else the first result, whose axes of that factor began with all it has now; the
 * axis has there the origin that it has here. That need not be the tensor that decided it. Axes
 * that were split or merged on the way are found by the first that has a part in common. Source:
 * Shardy's SourceShardingHandler.
 */
#ifndef CORE_PEERS_SHARDY_ORIGINS_H
#define CORE_PEERS_SHARDY_ORIGINS_H

#include "core/peers/shardy/import.h"

typedef struct Origins Origins;

/* To be given to shardy_run() as its context, with origins_seen. op_of: of import_program(). */
Origins *origins_new(Arena *arena, const ImportedGraph *imported, const ShardyProgram *program,
                     const int *op_of);
ShardySeen origins_seen;

/* {value: {axis: "self" | "input:0" | "output:0" | "constraint:0"}}, results as "output:0". */
Json *origins_json(const Origins *origins);
/* {value: [{"axis", "from": "operand:0", "to": ["result:0"]}]}, by the first result of each op. */
Json *origins_edges_json(const Origins *origins);

#endif
