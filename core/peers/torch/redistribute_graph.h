/* redistribute_graph.h - shared by the planners of redistribute.h; internal to redistribute*.c and
 * planners.c. */
#ifndef CORE_PEERS_TORCH_REDISTRIBUTE_GRAPH_H
#define CORE_PEERS_TORCH_REDISTRIBUTE_GRAPH_H

#include "core/peers/torch/redistribute.h"

/* A planner's step: from one placement of the axis to another, of any kind. */
typedef struct {
    int axis;
    Placement from, to;
} AxisChange;

typedef Vec(AxisChange) AxisChanges;

/* Price of one change for a rank that holds *gib; updates *gib. */
double redistribute_change_us(const Mesh *mesh, const AxisChange *change, double *gib);
double redistribute_gib(const Redistribution *redistribution, const Placement *placements);

typedef enum { GRAPH_FOUND, GRAPH_UNDECODABLE, GRAPH_NO_WAY } GraphAnswer;

/* GRAPH_UNDECODABLE: a strided shard is not an order of axes. */
GraphAnswer redistribute_graph(Arena *arena, const Redistribution *redistribution,
                               AxisChanges *out);

/* rank[axis]: its position among the axes that shard its dim, or -1. Returns false if a strided
 * shard is not an order of axes. */
bool redistribute_ranks(const Placement *placements, const Mesh *mesh, bool of_view, int8_t *rank);

/* veScale's order of steps. */
void redistribute_vescale(Arena *arena, const Redistribution *redistribution, AxisChanges *out);

#endif
