/* insert_walk.h - state of the reshard insertion and the steps on single values; internal to
 * insert.c.
 *
 * A node is a version of a value, produced by an op or a step. A step acts on a node and produces a
 * new one. Uses read the latest node, except for steps that are inserted before one use only.
 */
#ifndef CORE_PEERS_SHARDY_INSERT_WALK_H
#define CORE_PEERS_SHARDY_INSERT_WALK_H

#include "core/base/vec.h"
#include "core/peers/shardy/insert.h"

#include <assert.h>

enum { NO_OP = -1, NO_NODE = -1 };

typedef struct {
    int value;
    int op;        /* of the program, that produced it; NO_OP for arguments and results of steps */
    int passed_on; /* input node of the propagation barrier that produced it, or NO_NODE */
    TensorSharding sharding;
} InsertNode;

typedef struct {
    Arena *arena;
    const InsertProgram *program;
    Error *err;
    Vec(InsertNode) nodes;
    Vec(InsertStep) steps;
    int *latest;   /* by value: the node that later uses read */
    int **operand; /* by op: the nodes of its operands */
    TensorSharding *made;
} InsertWalk;

static inline InsertNode *walk_node(const InsertWalk *walk, int node)
{
    assert(walk->nodes.at && 0 <= node && node < walk->nodes.n);
    return &walk->nodes.at[node];
}

int walk_add_node(InsertWalk *walk, int value, int op, const TensorSharding *sharding);

/* Returns the new node. axes: NULL if none are summed or become partial. */
int walk_add_step(InsertWalk *walk, InsertKind kind, int node, const TensorSharding *to,
                  const AxisList *axes);

/* ERROR_RANK if the node has a different number of dims. */
bool walk_check_rank(const InsertWalk *walk, int node, const TensorSharding *target);

/* All-reduces over the axes on which the node is partial and the target is not. */
bool walk_reduce_for(InsertWalk *walk, int *node, const TensorSharding *target);

/* Adds steps for the axes on which the target is partial and the node is not, if any. */
bool walk_become_partial(InsertWalk *walk, int *node, const TensorSharding *target);

/* Adds the steps that bring the node to a stated sharding. */
bool walk_bring_to(InsertWalk *walk, int *node, const TensorSharding *target);

AxisList axes_without(const AxisList *a, const AxisList *b); /* the parts of a that are not in b */
AxisList axes_in_order(const Mesh *mesh, AxisList list);     /* sorted and adjacent parts merged */

bool tensor_sharding_exists(const TensorSharding *sharding);
bool tensor_sharding_is_replicated(const TensorSharding *sharding); /* no dim is sharded */
TensorSharding tensor_sharding_closed(int n_dims, int mesh);        /* every dim empty and closed */
/* True when all dims have the same axes; open, replicated and unreduced are ignored. */
bool tensor_shardings_equivalent(const TensorSharding *a, const TensorSharding *b);

bool mesh_in_order(const Mesh *mesh); /* position i is device i */

#endif
