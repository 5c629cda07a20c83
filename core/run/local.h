/* local.h - the part of a tensor that one rank holds, and moves of elements between such parts.
 *
 * A Local is row-major, each dim in run order (core/layout/runs.h): the runs give the global index
 * of place i of dim d. Each has its own arena, so that memory is freed value by value.
 *
 * A sequence or an empty optional is a Local too. Of each element of a sharded sequence a rank has
 * its part, so all ranks have as many elements.
 *
 * Picks map each element of a target to an element of a source: per dim of the target a table of
 * places, which are summed over the dims. Slices, transposes, splits, gathers of a collective and
 * loading a part are all one copy by such tables.
 */
#ifndef CORE_RUN_LOCAL_H
#define CORE_RUN_LOCAL_H

#include "core/base/vec.h"
#include "core/layout/runs.h"
#include "core/run/element.h"

typedef struct Local {
    Arena *arena; /* its own; owns the rest */
    Dtype dtype;
    Shape shape; /* of the part */
    Shape whole; /* of the tensor */
    Runs runs[DIMS_MAX];
    void *data, *own; /* elements, zero-filled; the allocation of local_alloc() */
    bool sequence;    /* a sequence: `items`, each a Local */
    bool nothing;     /* an optional without a value; with one it is that value */
    Vec(struct Local *) items;
} Local;

/* The part of the rank at `position`; ends with local_free(). */
Local *local_new(Dtype dtype, const Shape *whole, const Sharding *sharding, const Mesh *mesh,
                 int64_t position);
/* The same without elements (data is NULL); local_alloc() adds zero-filled ones and returns false
 * when memory is out. */
Local *local_new_empty(Dtype dtype, const Shape *whole, const Sharding *sharding, const Mesh *mesh,
                       int64_t position);
bool local_alloc(Local *local);
Local *local_new_whole(Dtype dtype, const Shape *shape);
void local_free(Local *local); /* NULL is allowed */

/* What a sequence or an optional holds: the number of elements, LIST_TENSOR or LIST_NOTHING. */
enum { LIST_TENSOR = -1, LIST_NOTHING = -2 };
int64_t local_length(const Local *local);

Local *local_new_sequence(Dtype dtype);
Local *local_new_nothing(Dtype dtype);
void local_append(Local *sequence, Local *item); /* takes ownership */
Local *local_copy(const Local *from);            /* deep; NULL: out of memory */

int64_t local_bytes(const Local *local); /* of all elements, of all items */
/* Whether both are tensors of one type and shape, sequences of such, or empty optionals. */
bool local_same_type(const Local *a, const Local *b);
static inline void *local_at(const Local *local, int64_t element)
{
    return (char *)local->data + element * element_bytes(local->dtype);
}

/* elements_load() and elements_store() at place `at` of the part. */
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

static inline double local_number(const Local *local, int64_t at)
{
    double number;
    local_load(local, at, 1, 1, NUMBER_F64, &number);
    return number;
}

/* The place of the i-th index of a shape's dims first .. end-1, in row-major order. */
static inline int64_t strided_place(const Shape *shape, const int64_t *stride, int64_t first,
                                    int64_t end, int64_t i)
{
    int64_t place = 0;
    for (int64_t d = end - 1; d >= first; i /= shape->dim[d--])
        place += i % shape->dim[d] * stride[d];
    return place;
}

#define PICK_NONE INT64_MIN /* nothing is copied there */

typedef struct {
    Arena *arena;
    int n_dims;
    int64_t size[DIMS_MAX];  /* of the target */
    int64_t *from[DIMS_MAX]; /* size[d] places; PICK_NONE */
} Picks;

/* All tables are 0: each element comes from place 0. Allocated in the arena. */
Picks picks_new(Arena *arena, const Shape *target);

/* Maps global index g of dim d of the target to global index start + step * g of the source's dim,
 * which has these runs and stride. */
void picks_match(Picks *picks, int d, const Runs *target, int64_t start, int64_t step,
                 const Runs *source, int64_t stride);
/* Maps dim d of the target to `stride` times its global index; the source is unsharded. */
void picks_global(Picks *picks, int d, const Runs *target, int64_t stride);

/* Maps each element of a part to that of another part of the same tensor. */
Picks picks_between(Arena *arena, const Local *to, const Local *from);

/* Maps each element of a part to its row-major place in the whole tensor. */
Picks picks_whole(Arena *arena, const Local *part);

int64_t picks_count(const Picks *picks); /* elements of the target that get a value */

/* Contiguous elements of the target that come from places `step` apart. */
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

/* Copies by the picks; returns the number of elements copied. Types must be equal. */
int64_t local_pick(Local *to, const Local *from, const Picks *picks);

#endif
