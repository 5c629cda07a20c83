/* shape.h - sizes of a tensor's dims, interned: equal shapes have equal ids.
 *
 * Limits are checked where numbers enter: a shape has at most DIMS_MAX dims, no negative size, and
 * fewer than 2^60 elements, so that products of sizes and element bits fit int64_t.
 */
#ifndef CORE_MODEL_SHAPE_H
#define CORE_MODEL_SHAPE_H

#include "core/base/error.h"

enum { DIMS_MAX = 10 };

typedef struct {
    int64_t n_dims; /* 64 bits, so that a shape has no padding and can be compared as bytes */
    int64_t dim[DIMS_MAX];
} Shape;

typedef struct Shapes Shapes;

Shapes *shapes_new(Arena *arena);
int32_t shapes_put(Shapes *shapes, const Shape *shape); /* unused dims must be 0 */
const Shape *shapes_at(const Shapes *shapes, int32_t id);

bool shape_check(const Shape *shape, Error *err);
/* In elements, the last dim fastest. */
void row_major_strides(const Shape *shape, int64_t stride[DIMS_MAX]);
int64_t shape_elements(const Shape *shape); /* product of sizes; 1 for a scalar */
bool shape_equal(const Shape *a, const Shape *b);
void shape_format(const Shape *shape, Buf *out); /* "8,1024,768"; "scalar" */

#endif
