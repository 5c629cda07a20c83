/* strategies.h - the ways in which an op may be sharded, and their costs, in Alpa's solver.
 *
 * A layout gives each mesh axis a dim of the value, or none: replicated, or partial. A strategy
 * gives each axis one index dim of the op, or none, or passes it on partial through a linear op.
 * What a summed index dim leaves partial is all-reduced, reduce-scattered onto a dim, or passed on.
 * Axes that share a dim are in mesh order; sizes need not divide. Computing is free. With n the
 * size of the axis, b the bytes of a value over the shards of the other axes, f of the whole value:
 *
 *     all_reduce       floor(alpha + beta 2(n-1)/n b) + 0.01
 *     reduce_scatter   floor(alpha + beta (n-1)/n b) + 0.001
 *     a use that needs another dim, or all: floor(alpha + beta (n-1)/n f) + 0.1, or a constant
 *
 * Source: alpa's playground/auto_sharding_solver.
 */
#ifndef CORE_PEERS_ALPA_STRATEGIES_H
#define CORE_PEERS_ALPA_STRATEGIES_H

#include "core/base/vec.h"
#include "core/layout/mesh.h"
#include "core/peers/alpa/hlo_space.h"

/* Places of an axis that are not dims. */
enum { PLACE_WHOLE = -1, PLACE_PARTIAL = -2 };

typedef struct {
    int8_t place[MESH_AXES_MAX]; /* per mesh axis: a dim, or one of the above */
} AlpaLayout;

typedef struct {
    double alpha[MESH_AXES_MAX], beta[MESH_AXES_MAX];
    double all_gather; /* for any size; negative: by the formula */
} AlpaCosts;

typedef struct {
    double cost;
    AlpaLayout made;          /* of the output */
    const AlpaLayout *wanted; /* per input */
} AlpaStrategy;

typedef struct {
    AlpaStrategy *at;
    int n, room;
} AlpaStrategies; /* as Vec(AlpaStrategy) */

/* Every layout of an input: none is partial. */
bool alpa_input_strategies(Arena *arena, const Mesh *mesh, const Shape *shape, AlpaStrategies *out,
                           Error *err);

/* Of several strategies with equal layouts only the cheapest. ERROR_UNSUPPORTED if there are too
 * many. */
bool alpa_op_strategies(Arena *arena, const Mesh *mesh, const AlpaCosts *costs, const HloSpace *hlo,
                        AlpaStrategies *out, Error *err);

/* The cost of one use of a value; INFINITY if it is impossible. */
double alpa_use_cost(const Mesh *mesh, const AlpaCosts *costs, const Shape *shape,
                     const AlpaLayout *made, const AlpaLayout *wanted);

bool alpa_layout_equal(const AlpaLayout *a, const AlpaLayout *b, const Mesh *mesh);

double alpa_bytes(const Shape *shape);                                            /* of f32 */
double alpa_shards(const Mesh *mesh, const AlpaLayout *layout, int without_axis); /* -1: of all */

#endif
