/* insert_walk.h - what inserting reshards keeps on its way, and the steps of single values; for
 * insert.c.
 *
 * A node is a value as an op or a step made it. A step acts on a node and gives a new one; whoever
 * uses the value reads the latest node, less what steps were put in front of that one use.
 */
#ifndef CORE_PEERS_SHARDY_INSERT_WALK_H
#define CORE_PEERS_SHARDY_INSERT_WALK_H

#include "core/base/vec.h"
#include "core/peers/shardy/insert.h"

#include <assert.h>

enum { NO_OP = -1, NO_NODE = -1 };

typedef struct {
    int value;
    int op;        /* of the program, that made it; NO_OP: it is an argument, or a step made it */
    int passed_on; /* the node that a propagation barrier made it of, else NO_NODE */
    TensorSharding sharding;
} InsertNode;

typedef struct {
    Arena *arena;
    const InsertProgram *program;
    Error *err;
    Vec(InsertNode) nodes;
    Vec(InsertStep) steps;
    int *latest;   /* by value: the node that its users get from here on */
    int **operand; /* by op: the nodes it is fed */
    TensorSharding *made;
} InsertWalk;

static inline InsertNode *walk_node(const InsertWalk *walk, int node)
{
    assert(walk->nodes.at && 0 <= node && node < walk->nodes.n);
    return &walk->nodes.at[node];
}

int walk_add_node(InsertWalk *walk, int value, int op, const TensorSharding *sharding);

/* The new node. axes: NULL where none are summed or made partial. */
int walk_add_step(InsertWalk *walk, InsertKind kind, int node, const TensorSharding *to,
                  const AxisList *axes);

/* ERROR_RANK: the node has another number of dims. */
bool walk_check_rank(const InsertWalk *walk, int node, const TensorSharding *target);

/* All-reduces what the node is partial over and the target is not. */
bool walk_reduce_for(InsertWalk *walk, int *node, const TensorSharding *target);

/* Steps for what the target is partial over and the node is not; *node stays if there is none. */
bool walk_become_partial(InsertWalk *walk, int *node, const TensorSharding *target);

/* The node as a use wants it that states its sharding. */
bool walk_bring_to(InsertWalk *walk, int *node, const TensorSharding *target);

AxisList axes_without(const AxisList *a, const AxisList *b); /* what of a is not in b */
AxisList axes_in_order(const Mesh *mesh, AxisList list);     /* sorted, neighbours joined */

bool tensor_sharding_is_given(const TensorSharding *sharding);
bool tensor_sharding_is_replicated(const TensorSharding *sharding); /* no dim is cut */
TensorSharding tensor_sharding_closed(int n_dims, int mesh);        /* not cut, and not to be */
/* Cut the same way; what may still change does not matter, nor what they are partial over. */
bool tensor_shardings_equivalent(const TensorSharding *a, const TensorSharding *b);

bool meshes_same_axes(const Mesh *a, const Mesh *b);
bool meshes_same_devices(const Mesh *a, const Mesh *b); /* of meshes of one size */
bool mesh_in_order(const Mesh *mesh);                   /* position i is device i */

#endif
