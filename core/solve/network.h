/* network.h - a problem being solved: nodes, edges and uses are removed while the cost stays the
 * same.
 *
 * Every change of a network keeps this true: for every choice that may still be the best one,
 *
 *     cost in the problem = constant + costs of the nodes left + costs of the edges left
 *
 * Costs may move between the terms, so those of nodes and edges can be negative. Values are the
 * remaining choices of a node; `id` is their number in the problem. The value of a removed node
 * follows from the others: records say how, the last one first. A clone shares the records made
 * before it.
 */
#ifndef CORE_SOLVE_NETWORK_H
#define CORE_SOLVE_NETWORK_H

#include "core/base/vec.h"
#include "core/solve/points.h"

typedef struct {
    int32_t a, b;
    double *cost; /* [values of a][values of b]; INFINITY: forbidden */
    bool gone;
} NetEdge;

typedef struct {
    int32_t from, to; /* points */
    double *amount;   /* [values] */
} NetUse;

typedef struct {
    int32_t n_values;
    double *cost; /* [n_values] */
    int32_t *id;  /* [n_values] */
    Vec(int32_t) edges;
    Vec(NetUse) uses;
    bool gone, queued;
} NetNode;

/* How the value of a removed node follows from at most two others. */
typedef struct NetRecord {
    const struct NetRecord *before;
    int32_t node, n_of, of[2];
    int32_t n_values[2];   /* of those others, at that time */
    const int32_t *row[2]; /* [choices of the other in the problem]: its value at that time */
    const int32_t *id;     /* [n_values[0]][n_values[1]]: choice of the node */
} NetRecord;

/* Why a network has no solution. */
typedef struct {
    int32_t node;      /* a node without a choice left; -1 */
    int64_t time;      /* if node is -1: a time at which the smallest amounts together exceed the
                          limit */
    double need, most; /* of that time, if node is -1 */
    bool set;
} NetConflict;

typedef struct {
    Arena *arena;
    const SolveProblem *problem;
    int32_t n_nodes, n_left;
    NetNode *node; /* [n_nodes]; many may be gone */
    Vec(NetEdge) edges;
    double constant;
    const NetRecord *last;
    int32_t n_points;
    double *limit, *price;   /* [n_points]: what the remaining nodes may use; a multiplier */
    double *most;            /* [n_points]: the limit of the problem */
    int64_t *time;           /* [n_points] */
    Vec(int32_t) queue;      /* nodes that reductions have to look at */
    bool points_changed;     /* whether limits, amounts or values changed */
    bool *keep;              /* [most choices of a node]: for one call */
    double *least, *most_of; /* the same: least and most cost of a value with all its edges */
    Vec(double) edge_least;  /* the same of each edge of a node: [edges][values] */
    NetConflict conflict;
} Network;

/* One edge seen from one of its ends: cost of (x, y) is at[x * step_x + y * step_y]. */
typedef struct {
    double *at;
    int64_t step_x, step_y;
    int32_t other, n_x, n_y; /* the node at y; values */
} NetView;

/* Costs above `most` count as forbidden. */
Network *network_new(Arena *arena, const SolveProblem *problem, const SolvePoints *points,
                     double most);
Network *network_clone(Arena *arena, const Network *net);

NetView network_view(const Network *net, int32_t edge, int32_t from);

/* Adds costs [values of a][values of b] to the edge between a and b, which is made if needed; a and
 * b differ. Takes over `cost` if it becomes the edge's. */
void network_add_edge(Network *net, int32_t a, int32_t b, double *cost);
void network_drop_edge(Network *net, int32_t edge);
void network_queue(Network *net, int32_t node);
void network_queue_neighbours(Network *net, int32_t node);

/* Keeps the values x with keep[x]; false if none is left. */
bool network_keep(Network *net, int32_t node, const bool *keep);

/* For a record: the row of each choice of the problem among the node's values. */
const int32_t *network_rows(Network *net, int32_t node);
void network_record(Network *net, NetRecord record);

/* Fills in the choices of all removed nodes, given those of the others. */
void network_recover(const Network *net, int32_t *choice);

/* The largest finite cost. */
double network_largest(const Network *net);

#endif
