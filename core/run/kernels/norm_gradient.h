/* norm_gradient.h - which numbers share a mean in a norm whose gradient is computed, for every back
 * end.
 *
 * The members of a group share a mean and are never sharded. Element `m` of group `g` is at the sum
 * of the places of both.
 */
#ifndef CORE_RUN_KERNELS_NORM_GRADIENT_H
#define CORE_RUN_KERNELS_NORM_GRADIENT_H

#include "core/run/kernel.h"

/* Dims with their strides in x, in scale and in what is made. */
typedef struct {
    Shape shape;
    int64_t x[DIMS_MAX], scale[DIMS_MAX], to[DIMS_MAX];
} NormWalk;

typedef enum { MAKES_X, MAKES_SCALE, MAKES_SHIFT, MAKES_MEAN, MAKES_VARIANCE } NormMakes;

typedef struct {
    const Local *like; /* laid out as x */
    NormMakes makes;
    NormWalk group, member;
    bool given; /* mean and variance are inputs 3 and 4 of the forward op, at the places of scale */
    bool centre, outside; /* outside: epsilon is added to the deviation */
    int scale;            /* the forward op's input; -1: none */
    double epsilon;
} NormFrame;

/* Of a gradient op of norm_gradient.c. Reads shapes alone. False with *err for norms of sums. */
bool norm_frame(const KernelCall *call, NormFrame *out, Error *err);

#endif
