#include "core/search/result.h"

#include "core/base/units.h"

#include <math.h>
#include <string.h>

void result_keep_decision(Arena *arena, Journal *kept, const Decision *decision)
{
    Decision own = *decision;
    own.origin.text = own.origin.text ? arena_str(arena, str_from(own.origin.text)) : NULL;
    journal_add(kept, arena, &own);
}

void result_hand_out(Arena *arena, SearchResult *result)
{
    Journal kept = {0};
    SearchDecision *by_op = arena_array(arena, SearchDecision, result->n_by_op);
    for (int i = 0; i < result->n_decisions; i++)
        result_keep_decision(arena, &kept, &result->decisions[i]);
    result->decisions = kept.decisions.at;
    if (result->n_by_op > 0)
        memcpy(by_op, result->by_op, sizeof *by_op * (size_t)result->n_by_op);
    result->by_op = by_op;
    if (result->price_of) {
        int32_t *price_of = arena_array(arena, int32_t, result->n_decisions);
        memcpy(price_of, result->price_of, sizeof *price_of * (size_t)result->n_decisions);
        result->price_of = price_of;
    }
    if (result->conflict)
        result->conflict = arena_str(arena, str_from(result->conflict));
    result->pricing = NULL;
}

void result_count(SearchResult *result, const Instance *instance)
{
    result->n_choices = 0;
    result->n_nodes = instance->nodes.n;
    result->n_edges = instance->edges.n;
    for (int i = 0; i < instance->nodes.n; i++) {
        result->n_choices += instance->nodes.at[i].n;
        result->n_folded = instance->nodes.at[i].n_ops > result->n_folded
                               ? instance->nodes.at[i].n_ops
                               : result->n_folded;
    }
    result->n_folded = instance->folded ? result->n_folded : 0;
}

static double least_bytes(const Instance *instance, const MemoryPoint *point)
{
    double sum = 0;
    for (int32_t i = 0; i < instance->nodes.n; i++) {
        const double *least = point->least[i];
        double low = least ? INFINITY : 0;
        for (int32_t c = 0; least && c < instance->nodes.at[i].n; c++)
            low = fmin(low, least[c]);
        sum += low;
    }
    return sum;
}

void result_say_conflict(SearchResult *result, Arena *arena, const Instance *instance,
                         const MemoryPoint *point, int n_points, int64_t most_bytes,
                         const char *why)
{
    Buf text = buf_new(arena);
    int64_t least = INT64_MAX;
    for (int p = 0; p < n_points; p++) {
        double bytes = least_bytes(instance, &point[p]);
        if (bytes > (double)most_bytes && (int64_t)bytes < least)
            least = (int64_t)bytes;
    }
    if (n_points == 0) {
        buf_printf(&text, "the pins together leave no plan: %s", why ? why : "");
    } else {
        buf_puts(&text, "no plan keeps the limit of ");
        units_format_bytes(most_bytes, &text);
        if (least < INT64_MAX) {
            buf_puts(&text, " a device: what is alive at its peak takes at least ");
            units_format_bytes(least, &text);
        }
    }
    result->conflict = text.s;
    result->outcome = SEARCH_INFEASIBLE;
}
