#include "core/model/shape.h"

#include "core/base/intern.h"

#include <assert.h>
#include <inttypes.h>

struct Shapes {
    Intern *shapes; /* keys are whole Shape structs */
};

Shapes *shapes_new(Arena *arena)
{
    Shapes *shapes = arena_make(arena, Shapes);
    shapes->shapes = intern_new(arena);
    return shapes;
}

int32_t shapes_put(Shapes *shapes, const Shape *shape)
{
    for (int64_t d = shape->n_dims; d < DIMS_MAX; d++)
        assert(shape->dim[d] == 0);
    return intern_put(shapes->shapes, shape, sizeof *shape);
}

const Shape *shapes_at(const Shapes *shapes, int32_t id)
{
    return intern_key(shapes->shapes, id, NULL);
}

/* Checks the limits. A size of 0 counts as 1 here, so that the product of any subset of the sizes
 * is within the limit too. */
bool shape_check(const Shape *shape, Error *err)
{
    if (shape->n_dims < 0 || shape->n_dims > DIMS_MAX)
        return error_kind(err, ERROR_RANK, "a tensor has at most %d dims, this one has %" PRId64,
                          DIMS_MAX, shape->n_dims);
    int64_t n_elements = 1;
    for (int64_t d = 0; d < shape->n_dims; d++) {
        int64_t size = shape->dim[d];
        if (size < 0)
            return error_kind(err, ERROR_OUT_OF_RANGE, "dim %" PRId64 " has the size %" PRId64, d,
                              size);
        if (__builtin_mul_overflow(n_elements, size > 0 ? size : 1, &n_elements) ||
            n_elements >= INT64_C(1) << 60)
            return error_kind(err, ERROR_OUT_OF_RANGE, "the shape has 2^60 elements or more");
    }
    return true;
}

int64_t shape_elements(const Shape *shape)
{
    int64_t n_elements = 1;
    for (int64_t d = 0; d < shape->n_dims; d++)
        n_elements *= shape->dim[d];
    return n_elements;
}

bool shape_equal(const Shape *a, const Shape *b)
{
    return a->n_dims == b->n_dims &&
           memcmp(a->dim, b->dim, (size_t)a->n_dims * sizeof *a->dim) == 0;
}

void shape_format(const Shape *shape, Buf *out)
{
    if (shape->n_dims == 0)
        buf_puts(out, "scalar");
    for (int64_t d = 0; d < shape->n_dims; d++)
        buf_printf(out, "%s%" PRId64, d > 0 ? "," : "", shape->dim[d]);
}

void row_major_strides(const Shape *shape, int64_t stride[DIMS_MAX])
{
    int64_t step = 1;
    for (int64_t d = shape->n_dims - 1; d >= 0; d--) {
        stride[d] = step;
        step *= shape->dim[d];
    }
}
