/* prices.h - what moves cost: each pair of shardings once, by a small number.
 *
 * A move is the cheapest one by whole axes (ReshardOptions.whole_axes). A plan may find a cheaper
 * one that splits axes; then it costs less than the search adds up.
 *
 * Prices depend on mesh and machine alone, of which they keep copies: a search that is asked again
 * takes those of the one before.
 */
#ifndef CORE_SEARCH_PRICES_H
#define CORE_SEARCH_PRICES_H

#include "core/reshard/reshard.h"

typedef struct {
    Arena *arena;
    const Mesh *mesh;
    const Machine *machine;
    AtomSet fixed; /* of stages: no move is over them */
    Shardings *shardings;
    Resharder *resharder;
    struct PricesAsked *asked; /* private */
} Prices;

/* In the arena. */
Prices *prices_new(Arena *arena, const Mesh *mesh, const Machine *machine, AtomSet fixed);

/* Whether they hold on that mesh and machine. */
bool prices_are_of(const Prices *prices, const Mesh *mesh, const Machine *machine, AtomSet fixed);

/* The id of a move; the shardings differ. fill: the share of the elements that is there
 * (reshard_filled()). */
int32_t prices_ask(Prices *prices, Dtype dtype, int32_t from, int32_t to, double fill);
double prices_us(const Prices *prices, int32_t id);
/* The least that the move can cost as a part of larger collectives: its bytes, each at the time of
 * a byte in the collective of the size that serves it best. */
double prices_joined_us(const Prices *prices, int32_t id);
/* It costs nothing. */
bool prices_free(Prices *prices, Dtype dtype, int32_t from, int32_t to, double fill);

#endif
