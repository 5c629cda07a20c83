/* verify.h - runs the graph on one device beside the ranks and compares their values.
 *
 * The reference runs the unsharded graph op by op, just before the ranks run the same op, and keeps
 * each value as long as the program does: so the first wrong op is known, at the memory cost of the
 * run itself. A part is compared element by element with its place in the whole. NaN equals NaN;
 * integers must be equal; floats may differ by atol + rtol * |want|.
 */
#ifndef CORE_RUN_VERIFY_H
#define CORE_RUN_VERIFY_H

#include "core/run/feed.h"
#include "core/run/program.h"
#include "core/run/world.h"

typedef struct {
    double max_abs, max_rel; /* |got - want|, and relative to |want| where that is not 0 */
    int64_t max_ulp;
    uint64_t bits; /* checksum of the elements, summed over ranks: equal for equal bits */
    bool ok;
} Difference;

typedef struct {
    double rtol, atol;
} Tolerance;

/* Depends on the element type; atol grows with the largest |want| of the tensor and is at least a
 * float's rounding error, so that noise around 0 passes. */
Tolerance tolerance_for(Dtype dtype, double range);

double local_range(const Local *whole); /* largest finite magnitude of an element */

int64_t local_count_strange(const Local *part); /* elements that are NaN or infinite */

/* Compares a part with the whole and merges the result into *out. Sequences are compared item by
 * item; another type, length or whole shape is an infinite difference. */
void local_compare(const Local *part, const Local *whole, Tolerance tolerance, Difference *out);
/* The global coordinates of the first wrong element of a part, and both values as numbers, 0 for
 * non-numbers (got and want may be NULL). For a sequence those in the first wrong item, without
 * coordinates when shapes differ. False when all elements agree. */
bool local_first_wrong(const Local *part, const Local *whole, Tolerance tolerance, Shape *at,
                       double *got, double *want);
void difference_join(Difference *into, const Difference *other);

typedef struct {
    Arena *arena;
    const Inferred *inferred;
    const Program *program;
    const Feeds *feeds;
    pthread_mutex_t *blas; /* as KernelCall's */
    World *world;          /* process 0 runs the ops and shares the results */
    Local **value;         /* per tensor: the whole, or NULL */
    Local **list;          /* per tensor: list that loops collect, or NULL */
    Tolerance *tolerance;  /* per tensor */
    bool *filled;          /* per slot of the program */
    int32_t *n_filled;     /* per tensor: slots */
    Vec(int32_t) dead;     /* tensors without a filled slot, kept until no rank compares with them
                            */
} Reference;

/* Runs nothing yet. End with reference_close(). */
void reference_open(Arena *arena, const Inferred *inferred, const Program *program,
                    const Feeds *feeds, pthread_mutex_t *blas, World *world, Reference *out);
void reference_close(Reference *reference);

/* Executes instruction `at` on whole tensors; iteration: per body of the graph, as on the ranks. An
 * op, a step or the end of an iteration frees values that no slot holds; no rank may be comparing
 * with them. */
bool reference_step(Reference *reference, int at, const int64_t *iteration, Error *err);

#endif
