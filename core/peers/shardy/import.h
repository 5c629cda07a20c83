/* import.h - Shardy's import passes, which change a graph before propagation.
 *
 * Constants and broadcasts of scalars are copied for each use, so that uses do not influence each
 * other. Values that regions tie together get edges. A closed constraint is applied to its input if
 * that has no sharding and no other user constrains it differently. The last of a chain of
 * constraints replaces later uses of the value that the first constrains. Values of one sharding
 * group start with one sharding; if their shardings differ, open constraints represent them in the
 * group. Source: Shardy's import passes and ShardingGroupMap.
 */
#ifndef CORE_PEERS_SHARDY_IMPORT_H
#define CORE_PEERS_SHARDY_IMPORT_H

#include "core/peers/shardy/flow.h"

typedef struct {
    bool drop_size_one, split_constants, add_edges, apply_constraints;
} ImportSteps;

/* Constraint `op` was applied to its input `value`. */
typedef struct {
    int op, value;
} AppliedConstraint;

typedef struct {
    Arena *arena;       /* owns everything here */
    FactorGraph *graph; /* changed: ops and values are added, operands replaced */
    Vec(int) order;     /* ops in program order */
    int *returned;      /* per result of the function: the returned value */
    int n_groups;
    int32_t *group; /* per value, or -1 */
    int n_given;    /* values before the import */
    int *shown;     /* per value before the import: the one that has its final sharding */
    Vec(AppliedConstraint) applied;
} ImportedGraph;

/* Returns NULL with ERROR_INVALID if the values of a sharding group differ in shape. */
ImportedGraph *import_graph(Arena *arena, FactorGraph *graph, ImportSteps steps, Error *err);

/* op_of: for each op of the program, the op of the graph. */
ShardyProgram *import_program(Arena *arena, ShardyFlow *flow, const ImportedGraph *imported,
                              const int **op_of);

#endif
