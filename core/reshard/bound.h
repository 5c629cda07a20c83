/* bound.h - a lower bound of the time from a layout to the target.
 *
 * With t what a rank holds of the target, f what it would hold if every atom sharded it, both
 * without padding, N the product over the slots of the parts that the target does not have there,
 * and N' the same of all parts from the first atom on that is not the target's:
 *
 *     without a permute   drop(N')
 *     with one            drop(N) + least permute + max(f, t/N) * byte
 *     drop(n)             least time of steps that together divide the number of parts by n
 *                         + (n-1)/n * t * byte
 *
 * For each all-gather or all-to-all over n_i, the amount moved is (n_i-1)/n_i of its result, which
 * is at least t divided by the n_i that come after it. Atoms that are far, whose groups are always
 * slower (they reach over nodes), must be in some step's groups: the steps that include them move
 * least when they come first. A value partial over m reduces a payload of at least m f; if the
 * target is larger than what a reduce-scatter leaves, gathers follow from there.
 *
 * The bound never exceeds the cost of the cheapest path, so A* may rely on it; the tests compare
 * it with exhaustive search.
 */
#ifndef CORE_RESHARD_BOUND_H
#define CORE_RESHARD_BOUND_H

#include "core/reshard/space.h"

typedef struct {
    double bytes;       /* bytes on rank 0, the largest */
    double bound;       /* us from here to the target, at least */
    double bound_after; /* the same for the best layout that a permute can make of it */
} Measure;

Measure layout_measure(const Space *space, const Layout *layout);
double layout_bytes(const Space *space, const Layout *layout);

#endif
