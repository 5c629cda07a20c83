/* classes.h - an edge's costs without repetition.
 *
 * Values of a node that cost the same beside every value of the other end are one class of the
 * edge. Costs of moves depend on how a value is made and needed, not on the whole choice, so that
 * the classes of an edge are a fraction of its values, and what is done for every pair of values
 * is done for every pair of classes.
 */
#ifndef CORE_SOLVE_CLASSES_H
#define CORE_SOLVE_CLASSES_H

#include "core/base/arena.h"

typedef struct {
    int32_t n_a, n_b;           /* classes of the rows and of the columns */
    const int32_t *of_a, *of_b; /* per value: its class */
    const double *by_a, *by_b;  /* costs [n_a][n_b], and turned [n_b][n_a] */
} EdgeClasses;

/* Of costs [values_a][values_b], in the arena. */
EdgeClasses edge_classes(Arena *arena, const double *cost, int32_t values_a, int32_t values_b);

/* Writes for each value x of one end the least of cost(x, y) - less[y] over the values y of the
 * other; of_a: x is a row. room: doubles, [n_a + n_b]. */
void edge_classes_least(const EdgeClasses *classes, bool of_a, int32_t n_x, int32_t n_y,
                        const double *less, double *room, double *least);

#endif
