/* verify.h - the same ops on one device, beside the ranks, and what differs.
 *
 * The reference runs the unsharded graph op by op, just before the ranks do that op, and keeps each
 * value until the program is done with it: so the first op that differs is known, and no more is
 * held than the run itself holds. A part is compared element by element with its place in the
 * whole. NaN equals NaN; integers must be equal; floats may differ by atol + rtol * |want|.
 */
#ifndef CORE_RUN_VERIFY_H
#define CORE_RUN_VERIFY_H

#include "core/run/feed.h"
#include "core/run/program.h"
#include "core/run/world.h"

typedef struct {
    double max_abs, max_rel; /* |got - want|, and that over |want| where it is not 0 */
    int64_t max_ulp;
    uint64_t bits; /* of the elements; of several ranks the sum: equal where the bits are */
    bool ok;
} Difference;

typedef struct {
    double rtol, atol;
} Tolerance;

/* By element type; atol grows with the largest |want| of the tensor, and has a floor of a float's
 * rounding, so that noise around a true 0 is no difference. */
Tolerance tolerance_for(Dtype dtype, double range);

double local_range(const Local *whole); /* largest finite size of an element */

int64_t local_count_strange(const Local *part); /* elements that are NaN or infinite */

/* Compares a part with the whole and joins the result into *out. Where one is a sequence, item by
 * item; another type, length or whole shape is a difference without end. */
void local_compare(const Local *part, const Local *whole, Tolerance tolerance, Difference *out);
/* The global coordinates of the first element of a part that is not that of the whole, and both as
 * numbers, 0 for what is no number (got and want may be NULL); of a sequence those in the first
 * item that differs, no coordinates where the shapes do. False: all are. */
bool local_first_wrong(const Local *part, const Local *whole, Tolerance tolerance, Shape *at,
                       double *got, double *want);
void difference_join(Difference *into, const Difference *other);

typedef struct {
    Arena *arena;
    const Inferred *inferred;
    const Program *program;
    const Feeds *feeds;
    pthread_mutex_t *blas; /* as KernelCall's */
    World *world;          /* process 0 runs the ops, and shares what they make */
    Local **value;         /* per tensor: the whole, or NULL */
    Local **list;          /* per tensor: what loops collect for it, or NULL */
    Tolerance *tolerance;  /* per tensor */
    bool *filled;          /* per slot of the program */
    int32_t *n_filled;     /* per tensor: slots */
    Vec(int32_t) dead;     /* tensors with no filled slot, until nobody compares with them */
} Reference;

/* Nothing is run yet. Ends with reference_close(). */
void reference_open(Arena *arena, const Inferred *inferred, const Program *program,
                    const Feeds *feeds, pthread_mutex_t *blas, World *world, Reference *out);
void reference_close(Reference *reference);

/* Does instruction `at` on whole tensors; iteration: per body of the graph, as the ranks have it.
 * An op, a step or the end of an iteration frees values that no slot holds any more: no rank may be
 * comparing with them then. */
bool reference_step(Reference *reference, int at, const int64_t *iteration, Error *err);

#endif
