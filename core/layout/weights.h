/* weights.h - parts of unlike sizes: `8/tp{3,3,2}`.
 *
 * A digit whose parts have sizes of their own refers to a list of weights, one for each part, that
 * its mesh keeps. Weights are the sizes without their common divisor, so that 8/tp{3,3,2} and
 * 512/tp{192,192,128} share the list 3, 3, 2; their sum divides the digit's size.
 *
 * A mesh keeps each list once, so equal numbers are equal lists. The lists are the one part of a
 * mesh that grows while it is read: a list never changes once it is there, and threads may add
 * lists at the same time.
 */
#ifndef CORE_LAYOUT_WEIGHTS_H
#define CORE_LAYOUT_WEIGHTS_H

#include "core/layout/cut.h"

enum { WEIGHT_LISTS_MAX = 63, WEIGHTS_MAX = 1024 };

typedef struct {
    const int32_t *at; /* in the order of the parts; each is 1 or more */
    int n;
    int64_t sum;
} WeightList;

WeightList weights_list(const Mesh *mesh, int number);

/* A dim in parts of these sizes, one for each position along the n atoms, the last atom fastest.
 * Returns false with ERROR_NOT_DIVISIBLE if there are not as many parts as positions, or they do
 * not add up to the dim, and with ERROR_OUT_OF_RANGE if a size is less than 1 or more than
 * INT32_MAX, or if the mesh has no room for another list. */
bool cut_sized(int64_t size, const int64_t *part, int n_parts, const uint8_t *atom, int n,
               const Mesh *mesh, Cut *out, Error *err);

/* What a mesh keeps, made by mesh_new(). */
Weights *weights_new(Arena *arena);

#endif
