/* import.h - what Shardy does to a graph before it propagates.
 *
 * A constant, and the broadcast of a scalar, becomes one for each use, so that no use tells another
 * how to be cut. Values that regions tie together get edges. A closed constraint is handed to its
 * input when that has no sharding and no user wants another; of a chain of constraints the last
 * replaces later uses of what the first constrains. Values of one sharding group begin with one
 * sharding; where they were given different ones, open constraints stand for them in the group.
 * Source: Shardy's import passes and ShardingGroupMap.
 */
#ifndef CORE_PEERS_SHARDY_IMPORT_H
#define CORE_PEERS_SHARDY_IMPORT_H

#include "core/peers/shardy/flow.h"

typedef struct {
    bool drop_size_one, split_constants, add_edges, apply_constraints;
} ImportSteps;

/* A constraint that gave its input the sharding it has: op `op` to value `value`. */
typedef struct {
    int op, value;
} AppliedConstraint;

typedef struct {
    Arena *arena;       /* where all of it lives */
    FactorGraph *graph; /* changed: ops and values are added, operands replaced */
    Vec(int) order;     /* ops in program order */
    int *returned;      /* per result of the function: the value it returns */
    int n_groups;
    int32_t *group; /* per value; -1: none */
    int n_given;    /* values before the import */
    int *shown;     /* per value as given: the one that has its sharding in the end */
    Vec(AppliedConstraint) applied;
} ImportedGraph;

/* ERROR_INVALID: a sharding group of values of several shapes. NULL with the error. */
ImportedGraph *import_graph(Arena *arena, FactorGraph *graph, ImportSteps steps, Error *err);

/* op_of: per op of the program, the graph's. */
ShardyProgram *import_program(Arena *arena, ShardyFlow *flow, const ImportedGraph *imported,
                              const int **op_of);

#endif
