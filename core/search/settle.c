#include "core/search/settle.h"

#include <math.h>

/* ---- one choice ---- */

/* The moves of an entry are table->move from *from to the returned number. */
static int32_t entry_moves(const MoveTable *table, int32_t a, int32_t b, int32_t *from)
{
    int64_t at = (int64_t)table->class_a[a] * table->n_b + (table->class_b ? table->class_b[b] : 0);
    *from = at > 0 ? table->end[at - 1] : 0;
    return table->end[at];
}

typedef bool Improve(Prices *prices, int32_t move);

/* Improves what is known of the moves of a choice; returns of how many. */
static int improve_moves(Instance *instance, const int32_t *choice, Improve *improve)
{
    int n = 0;
    for (int i = 0; i < instance->tables.n; i++) {
        const PlacedTable *placed = &instance->tables.at[i];
        const MoveTable *table = placed->table;
        int32_t m, end = entry_moves(table, choice[placed->a],
                                     choice[placed->b < 0 ? placed->a : placed->b], &m);
        for (; m < end; m++)
            n += table->move[m] != FORBIDDEN && !table->joined &&
                 improve(instance->memo->prices, table->move[m]);
    }
    return n;
}

int instance_settle(Instance *instance, const int32_t *choice)
{
    int n = 0;
    for (int more = 1; more > 0; n += more) /* a move is settled in steps */
        more = improve_moves(instance, choice, prices_settle);
    return n;
}

/* ---- choices near it ---- */

typedef struct {
    Instance *instance;
    InstanceCost kind;
    const bool *const *allowed;
    int32_t *first, *table; /* tables of node n: table[first[n]] up to table[first[n + 1]] */
    int32_t *choice;
    double *cost, *by_class; /* of one node */
} Descent;

static void count_tables(Descent *d, Arena *arena)
{
    const Instance *instance = d->instance;
    int32_t n_nodes = instance->nodes.n;
    d->first = arena_array(arena, int32_t, n_nodes + 2);
    d->table = arena_array(arena, int32_t, 2 * instance->tables.n);
    for (int pass = 0; pass < 2; pass++) {
        for (int t = 0; t < instance->tables.n; t++) {
            const PlacedTable *placed = &instance->tables.at[t];
            int32_t of[2] = {placed->a, placed->b < 0 ? placed->a : placed->b};
            for (int i = 0; i < (of[0] == of[1] ? 1 : 2); i++)
                if (pass == 0)
                    d->first[of[i] + 2]++;
                else
                    d->table[d->first[of[i] + 1]++] = t;
        }
        for (int32_t n = 2; pass == 0 && n < n_nodes + 2; n++)
            d->first[n] += d->first[n - 1];
    }
}

static double entry_us(const Descent *d, const PlacedTable *placed, int32_t a, int32_t b)
{
    int32_t m, end = entry_moves(placed->table, a, b, &m);
    double us = 0;
    for (; m < end; m++)
        us += instance_move_us(d->instance, placed->table, placed->table->move[m]);
    return us < INFINITY ? us * (d->kind == COST_ON_PATHS ? placed->least : placed->weight) : us;
}

static void add_table(const Descent *d, const PlacedTable *placed, int32_t node)
{
    const MoveTable *table = placed->table;
    int32_t n = d->instance->nodes.at[node].n;
    bool is_a = placed->a == node, is_b = placed->b == node;
    const int32_t *class = is_a ? table->class_a : table->class_b;
    int32_t n_classes = is_a ? table->n_a : table->n_b;
    if (is_a && is_b) {
        for (int32_t c = 0; c < n; c++)
            d->cost[c] += entry_us(d, placed, c, c);
        return;
    }
    for (int32_t i = 0; i < n_classes; i++)
        d->by_class[i] = -1;
    for (int32_t c = 0; c < n; c++) {
        double *us = &d->by_class[class[c]];
        if (*us < 0)
            *us = is_a ? entry_us(d, placed, c, placed->b < 0 ? c : d->choice[placed->b])
                       : entry_us(d, placed, d->choice[placed->a], c);
        d->cost[c] += *us;
    }
}

/* Takes the best choice of a node beside those of the others; returns whether it is another. */
static bool descend(Descent *d, int32_t node)
{
    const SearchNode *at = &d->instance->nodes.at[node];
    int32_t had = d->choice[node], best = had;
    if (at->n == 1)
        return false;
    memcpy(d->cost, d->kind == COST_ON_PATHS ? at->least : at->compute,
           sizeof *d->cost * (size_t)at->n);
    for (int32_t i = d->first[node]; i < d->first[node + 1]; i++)
        add_table(d, &d->instance->tables.at[d->table[i]], node);
    for (int32_t c = 0; c < at->n; c++)
        if (d->cost[c] < d->cost[best] && (!d->allowed || !d->allowed[node] || d->allowed[node][c]))
            best = c;
    d->choice[node] = d->cost[best] < d->cost[had] * (1 - 1e-9) ? best : had;
    return d->choice[node] != had;
}

int instance_tighten_near(Instance *instance, InstanceCost kind, int32_t *choice,
                          const bool *const *allowed)
{
    Arena *scratch = arena_new();
    Descent d = {.instance = instance, .kind = kind, .allowed = allowed, .choice = choice};
    int32_t most = 1;
    int n, all = 0;
    for (int32_t i = 0; i < instance->nodes.n; i++)
        most = instance->nodes.at[i].n > most ? instance->nodes.at[i].n : most;
    d.cost = arena_array(scratch, double, most);
    d.by_class = arena_array(scratch, double, most);
    count_tables(&d, scratch);
    for (bool any = true; any;) {
        n = improve_moves(instance, d.choice, prices_tighten);
        all += n;
        any = n > 0;
        for (int32_t i = 0; i < instance->nodes.n; i++)
            any |= descend(&d, i);
    }
    arena_free(scratch);
    return all;
}

/* ---- all of them ---- */

/* Which classes of n of a node have a choice that is allowed. */
static bool *allowed_classes(Arena *scratch, const Instance *instance, int32_t node,
                             const int32_t *class, int32_t n, const bool *const *allowed)
{
    bool *out = arena_array(scratch, bool, n);
    for (int32_t c = 0; class && c < instance->nodes.at[node].n; c++)
        out[class[c]] |= !allowed || !allowed[node] || allowed[node][c];
    out[0] |= !class;
    return out;
}

void instance_tighten_all(Instance *instance, const bool *const *allowed, SolveClock *clock,
                          int *table)
{
    for (; *table < instance->tables.n; ++*table) {
        const PlacedTable *placed = &instance->tables.at[*table];
        const MoveTable *at = placed->table;
        if (at->joined)
            continue;
        Arena *scratch = arena_new();
        const bool *a =
            allowed_classes(scratch, instance, placed->a, at->class_a, at->n_a, allowed);
        const bool *b =
            allowed_classes(scratch, instance, placed->b, at->class_b, at->n_b, allowed);
        int32_t m = 0;
        for (int64_t e = 0; e < (int64_t)at->n_a * at->n_b; e++)
            for (; m < at->end[e]; m++)
                if (a[e / at->n_b] && b[e % at->n_b] && at->move[m] != FORBIDDEN &&
                    !solve_stopped(clock))
                    prices_tighten(instance->memo->prices, at->move[m]);
        arena_free(scratch);
        if (solve_stopped(clock))
            return;
    }
}
