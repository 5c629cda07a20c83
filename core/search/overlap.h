/* overlap.h - which products are computed in parts, while their operands or results are on their
 * way.
 *
 * A gather before a product, or a reduce-scatter behind it, can be a ring that the product hides
 * (op_cut_ring()). That pays where
 *
 *     compute + collective > max(compute in parts, ring) + what the first turn waits for
 *
 * [Wang et al. 2023, ASPLOS]: small parts fill the processors badly, each is launched
 * by itself, and an operand that several products read goes around once for each of them. So each
 * choice is planned and priced as a whole, with the backward pass of a training step, and is kept
 * if the step takes less time. Equal products are decided together, and so are those that read one
 * gathered value.
 */
#ifndef CORE_SEARCH_OVERLAP_H
#define CORE_SEARCH_OVERLAP_H

#include "core/session/session.h"

typedef struct {
    const Decision *decisions;  /* pins of index dims, ring = true; of origin ORIGIN_SEARCH */
    int n, n_tried, n_kept;     /* decisions; groups of products that could be and that are */
    double before_us, after_us; /* plan_step_us() without and with the decisions */
} OverlapResult;

/* Everything in *out is in the arena; the session stays as it is. Returns false with *err if a plan
 * cannot be made, and with ERROR_CANCELLED if progress (NULL is allowed) is asked to stop. */
bool overlap_find(Arena *arena, const Session *session, Progress *progress, OverlapResult *out,
                  Error *err);

#endif
