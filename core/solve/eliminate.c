#include "core/solve/eliminate.h"

#include <math.h>

enum { TABLE_NODES_MAX = 24 }; /* of one table, the eliminated node included */
#define CELLS_MOST 3e7         /* of all tables together: 240 MB */

/* Costs of the combinations of some nodes; the last node's values are next to each other. */
typedef struct {
    int n;
    int32_t node[TABLE_NODES_MAX];
    const double *cost;
} CostTable;

typedef struct {
    int32_t node;
    int n; /* its neighbours when it is eliminated */
    int32_t other[TABLE_NODES_MAX];
    int n_tables;
    const CostTable **table; /* those that have it */
} TableBucket;

typedef Vec(int32_t) NodeList;
typedef Vec(const CostTable *) TableList;

typedef struct {
    Arena *arena;
    const Network *net;
    NodeList *others;  /* [n_nodes]: neighbours not eliminated */
    TableList *tables; /* [n_nodes]: tables not yet used */
    double *size;      /* [n_nodes]: combinations of the neighbours and the node; -1: gone */
    int n_buckets;
    TableBucket *bucket; /* in order of elimination */
    double constant;
} Elimination;

/* ---- the order ---- */

static double combinations(const Elimination *e, int32_t at)
{
    const NodeList *others = &e->others[at];
    double product = e->net->node[at].n_values;
    for (int i = 0; i < others->n; i++)
        product *= e->net->node[others->at[i]].n_values;
    return others->n < TABLE_NODES_MAX ? product : INFINITY;
}

static bool has(const NodeList *list, int32_t node)
{
    for (int i = 0; i < list->n; i++)
        if (list->at[i] == node)
            return true;
    return false;
}

static void forget(NodeList *list, int32_t node)
{
    for (int i = 0; i < list->n; i++)
        if (list->at[i] == node) {
            list->at[i] = list->at[--list->n];
            return;
        }
}

/* Joins the neighbours of the node, which leaves. */
static void take_out(Elimination *e, int32_t at)
{
    const NodeList *others = &e->others[at];
    for (int i = 0; i < others->n; i++)
        forget(&e->others[others->at[i]], at);
    for (int i = 0; i < others->n; i++)
        for (int k = 0; k < others->n; k++)
            if (k != i && !has(&e->others[others->at[i]], others->at[k]))
                vec_push(e->arena, &e->others[others->at[i]], others->at[k]);
    for (int i = 0; i < others->n; i++)
        e->size[others->at[i]] = combinations(e, others->at[i]);
    e->size[at] = -1;
}

static bool lay_graph(Elimination *e)
{
    const Network *net = e->net;
    for (int i = 0; i < net->edges.n; i++) {
        const NetEdge *edge = &net->edges.at[i];
        if (edge->gone)
            continue;
        vec_push(e->arena, &e->others[edge->a], edge->b);
        vec_push(e->arena, &e->others[edge->b], edge->a);
    }
    for (int32_t n = 0; n < net->n_nodes; n++) {
        if (!net->node[n].gone && net->node[n].uses.n > 0)
            return false;
        e->size[n] = net->node[n].gone ? -1 : combinations(e, n);
    }
    return true;
}

/* Returns false if it would be too much work. */
static bool find_order(Elimination *e, double work_most, SolveClock *clock)
{
    double work = 0, cells = 0;
    if (!lay_graph(e))
        return false;
    for (int left = e->net->n_left; left > 0; left--) {
        int32_t best = -1;
        for (int32_t n = 0; n < e->net->n_nodes; n++)
            if (e->size[n] >= 0 && (best < 0 || e->size[n] < e->size[best]))
                best = n;
        work += e->size[best] * 3;
        cells += e->size[best] / e->net->node[best].n_values;
        if (!(work <= work_most) || cells > CELLS_MOST || solve_stopped(clock))
            return false;
        TableBucket *bucket = &e->bucket[e->n_buckets++];
        bucket->node = best;
        for (int i = 0; i < e->others[best].n; i++)
            bucket->other[bucket->n++] = e->others[best].at[i];
        take_out(e, best);
    }
    return true;
}

/* ---- the tables ---- */

static void add_table(Elimination *e, const CostTable *table, const int32_t *rank)
{
    int32_t first = table->node[0];
    for (int i = 1; i < table->n; i++)
        if (rank[table->node[i]] < rank[first])
            first = table->node[i];
    vec_push(e->arena, &e->tables[first], table);
}

static void lay_tables(Elimination *e, const int32_t *rank)
{
    const Network *net = e->net;
    for (int32_t n = 0; n < net->n_nodes; n++) {
        if (net->node[n].gone)
            continue;
        CostTable *own = arena_make(e->arena, CostTable);
        *own = (CostTable){.n = 1, .node = {n}, .cost = net->node[n].cost};
        add_table(e, own, rank);
    }
    for (int i = 0; i < net->edges.n; i++) {
        const NetEdge *edge = &net->edges.at[i];
        if (edge->gone)
            continue;
        CostTable *table = arena_make(e->arena, CostTable);
        *table = (CostTable){.n = 2, .node = {edge->a, edge->b}, .cost = edge->cost};
        add_table(e, table, rank);
    }
}

/* How far a step of each of the bucket's nodes (its neighbours, then itself) moves in a table. */
static void strides(const Elimination *e, const TableBucket *bucket, const CostTable *table,
                    int64_t *stride)
{
    for (int i = 0; i <= bucket->n; i++)
        stride[i] = 0;
    int64_t step = 1;
    for (int t = table->n - 1; t >= 0; t--) {
        for (int i = 0; i <= bucket->n; i++)
            if ((i < bucket->n ? bucket->other[i] : bucket->node) == table->node[t])
                stride[i] = step;
        step *= e->net->node[table->node[t]].n_values;
    }
}

/* Where each of a bucket's tables stands at one combination of the neighbours. */
typedef struct {
    int32_t digit[TABLE_NODES_MAX];                  /* values of the neighbours */
    int64_t (*stride)[TABLE_NODES_MAX + 1], *offset; /* [n_tables] */
} TablePlace;

static TablePlace place_begin(Elimination *e, const TableBucket *bucket)
{
    TablePlace place = {.offset = arena_array(e->arena, int64_t, bucket->n_tables)};
    place.stride = arena_alloc(e->arena, (size_t)bucket->n_tables * sizeof *place.stride);
    for (int t = 0; t < bucket->n_tables; t++)
        strides(e, bucket, bucket->table[t], place.stride[t]);
    return place;
}

/* Counts up, the last neighbour fastest. */
static void place_next(const Elimination *e, const TableBucket *bucket, TablePlace *place)
{
    for (int i = bucket->n - 1; i >= 0; i--) {
        int32_t n = e->net->node[bucket->other[i]].n_values;
        bool carry = ++place->digit[i] == n;
        for (int t = 0; t < bucket->n_tables; t++)
            place->offset[t] += place->stride[t][i] * (carry ? 1 - n : 1);
        if (!carry)
            return;
        place->digit[i] = 0;
    }
}

static double best_value(const Elimination *e, const TableBucket *bucket, const TablePlace *place,
                         int32_t *best)
{
    double least = INFINITY;
    *best = 0;
    for (int32_t x = 0; x < e->net->node[bucket->node].n_values; x++) {
        double sum = 0;
        for (int t = 0; t < bucket->n_tables; t++)
            sum += bucket->table[t]->cost[place->offset[t] + place->stride[t][bucket->n] * x];
        if (sum < least) {
            least = sum;
            *best = x;
        }
    }
    return least;
}

static bool eliminate(Elimination *e, TableBucket *bucket, const int32_t *rank, SolveClock *clock)
{
    bucket->n_tables = e->tables[bucket->node].n;
    bucket->table = e->tables[bucket->node].at;
    int64_t n_cells = 1;
    for (int i = 0; i < bucket->n; i++)
        n_cells *= e->net->node[bucket->other[i]].n_values;
    double *cost = arena_array(e->arena, double, n_cells);
    TablePlace place = place_begin(e, bucket);
    int32_t best;
    for (int64_t cell = 0; cell < n_cells; cell++) {
        if (cell % 4096 == 0 && solve_stopped(clock))
            return false;
        cost[cell] = best_value(e, bucket, &place, &best);
        place_next(e, bucket, &place);
    }
    if (bucket->n == 0) {
        e->constant += cost[0];
        return true;
    }
    CostTable *table = arena_make(e->arena, CostTable);
    *table = (CostTable){.n = bucket->n, .cost = cost};
    memcpy(table->node, bucket->other, (size_t)bucket->n * sizeof *table->node);
    add_table(e, table, rank);
    return true;
}

/* Last eliminated first: the neighbours of each are known then. */
static void choose(Elimination *e, int32_t *choice)
{
    for (int b = e->n_buckets - 1; b >= 0; b--) {
        const TableBucket *bucket = &e->bucket[b];
        TablePlace place = place_begin(e, bucket);
        for (int t = 0; t < bucket->n_tables; t++)
            for (int i = 0; i < bucket->n; i++)
                place.offset[t] += place.stride[t][i] * choice[bucket->other[i]];
        best_value(e, bucket, &place, &choice[bucket->node]);
    }
}

bool network_eliminate(Arena *arena, const Network *net, double work_most, SolveClock *clock,
                       int32_t *choice, double *cost)
{
    Elimination e = {.arena = arena,
                     .net = net,
                     .others = arena_array(arena, NodeList, net->n_nodes),
                     .tables = arena_array(arena, TableList, net->n_nodes),
                     .size = arena_array(arena, double, net->n_nodes),
                     .bucket = arena_array(arena, TableBucket, net->n_left),
                     .constant = net->constant};
    if (!find_order(&e, work_most, clock))
        return false;
    int32_t *rank = arena_array(arena, int32_t, net->n_nodes);
    for (int b = 0; b < e.n_buckets; b++)
        rank[e.bucket[b].node] = b;
    lay_tables(&e, rank);
    for (int b = 0; b < e.n_buckets; b++)
        if (!eliminate(&e, &e.bucket[b], rank, clock))
            return false;
    *cost = e.constant;
    if (*cost < INFINITY)
        choose(&e, choice);
    return true;
}
