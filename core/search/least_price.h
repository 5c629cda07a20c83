/* least_price.h - what any steps take at least that reduce or gather a value over a group.
 *
 * A path may take one collective, or several over parts of the group, one behind the other: within
 * the nodes and between them, or with fewer hops. With b bytes on a group G, and P any part of it
 * whose coordinates are those of a divisor of its devices in a node and of its nodes,
 *
 *     AG(G, b) = min over P of all_gather(P, b) + AG(G / P, b / |P|)
 *     RS(G, b) = min over P of min(reduce_scatter, all_reduce)(P, b) + RS(G / P, b / |P|)
 *     AR(G, b) = min of all_reduce(G, b) and RS(P, b) + AR(G / P, b / |P|) + AG(P, b)
 *
 * An all-reduce whose result is sliced is a reduce-scatter too. Prices are those of
 * core/reshard/price.h, and grow less than their bytes; so several values, each on the path that is
 * best for it, take no less together than one of all their bytes.
 */
#ifndef CORE_SEARCH_LEAST_PRICE_H
#define CORE_SEARCH_LEAST_PRICE_H

#include "core/reshard/price.h"

typedef struct LeastPrices LeastPrices; /* each found once */

LeastPrices *least_prices_new(Arena *arena, const Machine *machine);

/* In microseconds; `kind` is one of the three, of others one step. */
double least_price_us(LeastPrices *prices, const Mesh *mesh, StepKind kind, AtomSet atoms,
                      double bytes);

#endif
