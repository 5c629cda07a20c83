/* local.h - the part of a tensor that one rank holds, and moving elements between such parts.
 *
 * A Local lies row-major over its dims, each dim in run order (layout.h): place i of dim d is the
 * element with the global index that the runs say. Each has an arena of its own, so that a rank
 * gives memory back as the program frees values.
 *
 * A sequence or an empty optional is a Local too; no rank has only a part of it.
 *
 * Picks say, for a target, where each of its elements is in a source: per dim of the target a table
 * of places, whose sum over the dims is the element's place. Slices, transposes, splits, gathers of
 * a collective and the loading of a rank's part are all one copy by such tables.
 */
#ifndef CORE_RUN_LOCAL_H
#define CORE_RUN_LOCAL_H

#include "core/base/vec.h"
#include "core/layout/runs.h"
#include "core/run/element.h"

typedef struct Local {
    Arena *arena; /* its own; holds what is below */
    Dtype dtype;
    Shape shape; /* of the part */
    Shape whole; /* of the tensor */
    Runs runs[DIMS_MAX];
    void *data, *own; /* elements, zero at first; what local_alloc() took for them */
    bool sequence;    /* no tensor, but `items`, each a Local of its own */
    bool nothing;     /* neither: an optional without a value; one with a value is that value */
    Vec(struct Local *) items;
} Local;

/* The part of the rank at `position`; ends with local_free(). */
Local *local_new(Dtype dtype, const Shape *whole, const Sharding *sharding, const Mesh *mesh,
                 int64_t position);
/* The same without elements, `data` being NULL; local_alloc() gives it some, zero. False: out of
 * memory. */
Local *local_new_empty(Dtype dtype, const Shape *whole, const Sharding *sharding, const Mesh *mesh,
                       int64_t position);
bool local_alloc(Local *local);
Local *local_new_whole(Dtype dtype, const Shape *shape);
void local_free(Local *local); /* NULL is allowed */

Local *local_new_sequence(Dtype dtype);
Local *local_new_nothing(Dtype dtype);
void local_append(Local *sequence, Local *item); /* which it owns from now on */
Local *local_copy(const Local *from);            /* elements and items too; NULL: out of memory */

int64_t local_bytes(const Local *local); /* of the elements, all items' */
/* Both are tensors of one type and shape, or sequences of such, or nothing. */
bool local_alike(const Local *a, const Local *b);
static inline void *local_at(const Local *local, int64_t element)
{
    return (char *)local->data + element * element_bytes(local->dtype);
}

/* elements_load(), elements_store() from or to place `at` of the local part. */
static inline void local_load(const Local *local, int64_t at, int64_t step, int64_t n,
                              Number number, void *out)
{
    elements_load(local->dtype, local_at(local, at), step, n, number, out);
}

static inline void local_store(const Local *local, int64_t at, int64_t n, Number number,
                               const void *from)
{
    elements_store(local->dtype, local_at(local, at), n, number, from);
}

/* Elements between neighbours along each dim of a row-major shape. */
void row_major_strides(const Shape *shape, int64_t stride[DIMS_MAX]);

#define PICK_NONE INT64_MIN /* no element of the source belongs here */

typedef struct {
    Arena *arena;
    int n_dims;
    int64_t size[DIMS_MAX];  /* of the target */
    int64_t *from[DIMS_MAX]; /* size[d] places; PICK_NONE */
} Picks;

/* Every table zero: each element comes from place 0. The tables live in the arena. */
Picks picks_new(Arena *arena, const Shape *target);

/* Dim d of the target takes, for the global index g of its part, the global index start + step * g
 * of the source's dim, of which it holds these runs, `stride` elements apart. */
void picks_match(Picks *picks, int d, const Runs *target, int64_t start, int64_t step,
                 const Runs *source, int64_t stride);
/* Dim d of the target takes `stride` times its global index: from a tensor held whole. */
void picks_global(Picks *picks, int d, const Runs *target, int64_t stride);

int64_t picks_count(const Picks *picks); /* elements of the target that something comes to */

/* Elements of the target that follow each other, and come from places `step` apart. */
typedef struct {
    int64_t to, from, step, n;
} Stretch;

typedef struct {
    const Picks *picks;
    int n_inner, next;
    const Stretch *inner; /* of the last dim */
    int64_t at[DIMS_MAX]; /* of the other dims */
    int64_t row, base;
    bool end;
} PickScan;

PickScan picks_scan(const Picks *picks);
bool picks_next(PickScan *scan, Stretch *out); /* false at the end */

/* Copies what is there; the number of elements copied. Types must be equal. */
int64_t local_pick(Local *to, const Local *from, const Picks *picks);

#endif
