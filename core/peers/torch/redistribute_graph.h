/* redistribute_graph.h - the planners of redistribute.h that stand in files of their own. */
#ifndef CORE_PEERS_TORCH_REDISTRIBUTE_GRAPH_H
#define CORE_PEERS_TORCH_REDISTRIBUTE_GRAPH_H

#include "core/peers/torch/redistribute.h"

/* A step as a planner makes it: from one placement of the axis to another, of any kind. */
typedef struct {
    int axis;
    Placement from, to;
} Change;

typedef Vec(Change) Changes;

/* Price of one change for a rank that holds *gib, and what it holds afterwards. */
double redistribute_change_us(const Mesh *mesh, const Change *change, double *gib);
double redistribute_gib(const Redistribution *redistribution, const Placement *placements);

typedef enum { GRAPH_FOUND, GRAPH_UNDECODABLE, GRAPH_NO_WAY } GraphAnswer;

/* GRAPH_UNDECODABLE: a strided shard is no order of axes. */
GraphAnswer redistribute_graph(Arena *arena, const Redistribution *redistribution, Changes *out);

/* rank[axis]: its place among the axes that cut its dim, -1 of one that cuts none. False: a strided
 * shard is no order of axes. */
bool redistribute_ranks(const Placement *placements, const Mesh *mesh, bool of_view, int8_t *rank);

/* veScale's order of steps, those through replicated in parts. */
void redistribute_vescale(Arena *arena, const Redistribution *redistribution, Changes *out);

#endif
