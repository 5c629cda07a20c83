/* prices.h - what moves cost: each pair of shardings once, by a small number.
 *
 * Of a move that is asked about, a lower bound is known at first, by a formula
 * (reshard_bound_us()). Those that matter to an answer are settled: the path is searched that a
 * plan makes, and the price is the plan's. In between are the cheapest path of whole axes
 * (ReshardOptions.whole_axes), which is found soon and often meets the bound, and a tighter bound.
 *
 * Prices depend on mesh and machine alone, of which they keep copies: a search that is asked again
 * takes those of the one before.
 */
#ifndef CORE_SEARCH_PRICES_H
#define CORE_SEARCH_PRICES_H

#include "core/plan/plan.h"

typedef struct {
    Arena *arena;
    const Mesh *mesh;
    const Machine *machine;
    AtomSet fixed; /* of stages: no move is over them */
    Shardings *shardings;
    Resharder *resharder;      /* of whole axes, and for bounds, on the machine */
    struct PricesAsked *asked; /* private */
} Prices;

/* In the arena. */
Prices *prices_new(Arena *arena, const Mesh *mesh, const Machine *machine, AtomSet fixed);

/* Whether they hold on that mesh and machine. */
bool prices_are_of(const Prices *prices, const Mesh *mesh, const Machine *machine, AtomSet fixed);

/* Whether what is known at first is a bound on that mesh; else prices tell nothing that is proven.
 */
bool prices_have_bounds(const Prices *prices);

/* The number of a machine that part of the mesh is: 0 is the one of the prices, others are of a
 * cluster (core/reshard/cluster.h), whose parts have links of their own. */
int32_t prices_machine(Prices *prices, const Machine *machine);

/* The id of a move on the machine of that number; the shardings differ. fill: the share of the
 * elements that is there (reshard_filled()). One from or to halos is an exchange with the
 * neighbours and the move before or behind it, as plans have it (core/reshard/halos.c). */
int32_t prices_ask(Prices *prices, int32_t machine, Dtype dtype, int32_t from, int32_t to,
                   double fill);
/* The id of what costs that much and is no move. */
int32_t prices_fixed(Prices *prices, double us);
/* The id of the cheaper of two. */
int32_t prices_cheaper(Prices *prices, int32_t a, int32_t b);
/* No plan makes the move for less; of a settled move, what it costs. */
double prices_us(const Prices *prices, int32_t id);
/* The number of changes of all prices so far, and whether that of a move changed after so many. */
int64_t prices_changes(const Prices *prices);
bool prices_changed(const Prices *prices, int32_t id, int64_t since);
/* Finds a path of whole axes and, if that does not meet the bound, a better bound, which takes a
 * fraction of the time of a search; on a mesh of few atoms, where a search is faster, the move that
 * a plan makes. False: it was done before, and nothing changes. */
bool prices_tighten(Prices *prices, int32_t id);
/* Whether that is so on this mesh: moves are settled in about as much time as bounds take. */
bool prices_settle_soon(const Prices *prices);
/* Finds the move that a plan makes, or first that bound. False: the move is settled, and nothing
 * changes. */
bool prices_settle(Prices *prices, int32_t id);
/* Settles the moves that a plan makes, on its paths. */
void prices_take(Prices *prices, const Plan *plan);
/* Finds the paths that plans make, and knows those of the settled moves. */
const Resharder *prices_settler(const Prices *prices);
/* The least that the move can cost as a part of larger collectives: its bytes, each at the time of
 * a byte in the collective of the size that serves it best. */
double prices_joined_us(Prices *prices, int32_t id);
/* It costs nothing, which is known for certain. */
bool prices_is_free(const Prices *prices, int32_t id);
bool prices_free(Prices *prices, int32_t machine, Dtype dtype, int32_t from, int32_t to,
                 double fill);

#endif
