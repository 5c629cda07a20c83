/* compare.h - compares a rank's part with its place in the whole, element by element.
 *
 * NaN equals NaN; integers must be equal; floats may differ by atol + rtol * |want|. It is for
 * values that were computed by other means: expected outputs of a test, one device at the end of a
 * run, other systems' rules. Where the same op ran on the same inputs, verify.h has sharper bounds.
 */
#ifndef CORE_RUN_VERIFY_COMPARE_H
#define CORE_RUN_VERIFY_COMPARE_H

#include "core/run/local.h"

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

int64_t local_count(const Local *part);         /* elements, of all items */
int64_t local_count_strange(const Local *part); /* those that are NaN or infinite */

/* Compares a part with the whole and merges the result into *out. Sequences are compared item by
 * item; a different type, length or whole shape counts as an infinite difference. */
void local_compare(const Local *part, const Local *whole, Tolerance tolerance, Difference *out);
/* Finds the first wrong element of a part: its global coordinates, and both values as numbers (0
 * for non-numbers; got and want may be NULL). In a sequence it is in the first wrong item; that has
 * no coordinates when shapes differ. Returns false when all elements agree. */
bool local_first_wrong(const Local *part, const Local *whole, Tolerance tolerance, Shape *at,
                       double *got, double *want);
void difference_join(Difference *into, const Difference *other);

#endif
