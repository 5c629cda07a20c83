/* price_choice.h - which algorithm a step of a reshard takes, as data, and its formula in parts.
 *
 * price_explain() of price.h writes the same in two lines.
 */
#ifndef CORE_RESHARD_PRICE_CHOICE_H
#define CORE_RESHARD_PRICE_CHOICE_H

#include "core/reshard/price.h"

typedef struct {
    Algorithm algorithm; /* ALGORITHM_RING for what NCCL has no algorithm for: direct, pairwise */
    const char *name;    /* "ring LL128" */
    const char *formula; /* "base + 14 hops + 2(n-1)/n * bytes / bandwidth" */
} PriceChoice;

/* Of price_step() with the same arguments; name and formula are "" if nothing moves. */
PriceChoice price_choice(const Machine *machine, const Mesh *mesh, StepKind kind, AtomSet atoms,
                         int64_t bytes);

/* The formula with its numbers: "14 us + 14 * 1.9 us + .. = 46.1 us"; "0: nothing moves". */
void price_sum(const Machine *machine, const Mesh *mesh, StepKind kind, AtomSet atoms,
               int64_t bytes, Buf *out);

#endif
