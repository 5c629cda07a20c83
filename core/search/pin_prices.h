/* pin_prices.h - what each pin and the limit of memory cost, and which of them leave no plan.
 *
 * Pins of one line of a policy, or of one step of undo, are one pin here. What it costs is found by
 * a search without it: the difference to the plan that obeys it. Where no plan obeys all, a
 * deletion filter finds a smallest set that none obeys: leave one out after the other, and take
 * back those without which there is a plan.
 */
#ifndef CORE_SEARCH_PIN_PRICES_H
#define CORE_SEARCH_PIN_PRICES_H

#include "core/search/search.h"

/* What is lifted, and the best plan then. */
typedef struct {
    int first, n;  /* decisions: the first in the journal, how many; n 0: the limit, or all */
    bool limit;    /* the limit of memory */
    bool conflict; /* of the smallest set that leaves no plan */
    SearchOutcome outcome;
    double cost_us, bound_us;
    int64_t peak_bytes;
    bool proven;
} PinPrice;

typedef struct {
    PinPrice *pin; /* [n]: those of the session in the order of the journal, then the limit */
    int n;
    PinPrice all; /* without all of them but the limit; n 0 if there are fewer than two */
} PinPrices;

/* Searches once for each pin. Returns false with *err, ERROR_CANCELLED if the progress was stopped.
 */
bool search_price_pins(Arena *arena, const SearchRequest *request, PinPrices *out, Error *err);

/* Of a request without a plan: the smallest set, marked `conflict`, and for each of it the best
 * plan without it. */
bool search_conflict(Arena *arena, const SearchRequest *request, PinPrices *out, Error *err);

/* "megatron.lua:29  graph:shard(..) and 31 more", "the limit of 75.0 GiB a device" */
void pin_price_put(const SearchRequest *request, const PinPrice *price, Buf *out);

#endif
