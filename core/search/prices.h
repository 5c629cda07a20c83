/* prices.h - what moves cost: each pair of shardings once, by a small number.
 *
 * A move is the cheapest one by whole axes (ReshardOptions.whole_axes), which is found soon. A plan
 * may find a cheaper one that splits axes. Of the moves that matter to an answer that one is asked
 * for too: the move is settled, and its price is that of a plan. Of others a lower bound is known.
 * On a mesh of more than SETTLED_ATOMS_MAX atoms that takes too long: there every move counts as
 * settled by whole axes until a plan is made that has it for less.
 *
 * Prices depend on mesh and machine alone, of which they keep copies: a search that is asked again
 * takes those of the one before.
 */
#ifndef CORE_SEARCH_PRICES_H
#define CORE_SEARCH_PRICES_H

#include "core/plan/plan.h"

enum { SETTLED_ATOMS_MAX = 6 }; /* 64 devices */

typedef struct {
    Arena *arena;
    const Mesh *mesh;
    const Machine *machine;
    AtomSet fixed; /* of stages: no move is over them */
    Shardings *shardings;
    Resharder *resharder;      /* of whole axes */
    struct PricesAsked *asked; /* private */
} Prices;

/* In the arena. */
Prices *prices_new(Arena *arena, const Mesh *mesh, const Machine *machine, AtomSet fixed);

/* Whether they hold on that mesh and machine. */
bool prices_are_of(const Prices *prices, const Mesh *mesh, const Machine *machine, AtomSet fixed);

/* Whether moves may have to be settled on that mesh. */
bool prices_settle_moves(const Prices *prices);

/* The number of a machine that part of the mesh is: 0 is the one of the prices, others are of a
 * cluster (core/reshard/cluster.h), whose parts have links of their own. */
int32_t prices_machine(Prices *prices, const Machine *machine);

/* The id of a move on the machine of that number; the shardings differ. fill: the share of the
 * elements that is there (reshard_filled()). */
int32_t prices_ask(Prices *prices, int32_t machine, Dtype dtype, int32_t from, int32_t to,
                   double fill);
double prices_us(const Prices *prices, int32_t id);
/* No plan makes the move for less. */
double prices_least_us(const Prices *prices, int32_t id);
/* Finds a better lower bound, which takes a fraction of the time of a search. False: it was found
 * before, and nothing changes. */
bool prices_tighten(Prices *prices, int32_t id);
/* Finds the move that a plan makes, or first that bound. False: the move is settled, and nothing
 * changes. */
bool prices_settle(Prices *prices, int32_t id);
/* Takes the prices of moves that a plan makes for less than was found; returns whether there are
 * any. */
bool prices_take(Prices *prices, const Plan *plan);
/* The least that the move can cost as a part of larger collectives: its bytes, each at the time of
 * a byte in the collective of the size that serves it best. */
double prices_joined_us(const Prices *prices, int32_t id);
/* It costs nothing. */
bool prices_free(Prices *prices, int32_t machine, Dtype dtype, int32_t from, int32_t to,
                 double fill);

#endif
