/* group_tree.h - the tree that groups come from, and the place of every shown op in it.
 *
 * A node is a path, or a block where the graph has no paths. The ops are kept in program order,
 * with two exceptions. Ops that read only parameters, such as the Identity ops on weights that
 * exporters put first, are moved before their first reader. A shared op is one that an exporter
 * left in the first of the groups that use it ("layers.0" holds the mask of all layers): it is
 * moved to the node that contains all of them, before the first, so that the groups become equal.
 * This needs groups with equal names but for digits: an op read through a skip connection is not
 * shared.
 */
#ifndef CORE_MODEL_GROUP_TREE_H
#define CORE_MODEL_GROUP_TREE_H

#include "core/model/graph.h"

typedef struct {
    int32_t parent; /* -1: the root, node 0 */
    int32_t depth;
    size_t name; /* where the last part of the path begins */
} GroupNode;

typedef struct {
    Arena *arena;
    const Graph *graph;
    const int32_t *structure; /* per op: repeated stretches are found by it */
    int32_t n_shown;
    int32_t *shown; /* ops, in the order they are placed; k below is a place in it */
    int32_t *place; /* per op: its k, or -1 */
    Names *paths;   /* the path of node n has the id n */
    Vec(GroupNode) nodes;
    int32_t *node; /* per k */
} GroupTree;

/* Everything is made in arena, which may be freed with the tree. */
GroupTree *group_tree_new(Arena *arena, const Graph *graph, const int32_t *shown, int32_t n_shown,
                          const int32_t *structure);

/* Whether the names are equal but for digits: "layer_9" and "layer_10", not "k_proj" and "v_proj".
 */
bool group_names_alike(const char *a, const char *b);

/* The node at `depth` above node, or node itself. */
static inline int32_t node_at_depth(const GroupTree *tree, int32_t node, int32_t depth)
{
    while (tree->nodes.at[node].depth > depth)
        node = tree->nodes.at[node].parent;
    return node;
}

#endif
