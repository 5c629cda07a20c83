/* choice_prices.h - private to search.c and choice_prices.c: what search_price_choices() asks.
 */
#ifndef CORE_SEARCH_CHOICE_PRICES_H
#define CORE_SEARCH_CHOICE_PRICES_H

#include "core/search/instance.h"

/* Costs are weighed at COST_OF_PLAN, and the memo is not asked: a later search may have emptied it.
 */
struct SearchPricing {
    Instance *instance;
    const int32_t *choice; /* [nodes] */
    double below_us;       /* what costs more costs at least that */
};

#endif
