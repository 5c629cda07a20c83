/* What the moves of one value cost, by the choices of its maker and its readers. */
#include "core/plan/routed.h"
#include "core/search/instance_parts.h"

#include <assert.h>
#include <stdlib.h>

/* ---- moves of a value ---- */

typedef struct {
    Making *m;
    const Carried *value;
    ChoiceClasses found;
    MoveReader *readers;
    int n_readers, n_users; /* of them, all but its own node, which updates a parameter */
    Dtype dtype;
    bool joined;
    unsigned times; /* when moves may be made, as bits */
    Vec(MoveTable) tables;
    MoveTable table[N_MOVE_TIMES]; /* that are being made, by time, and: */
    Vec(int32_t) moves[N_MOVE_TIMES];
    Vec(SharedChoice) shared;
    Vec(int) n_asking; /* per choice of it: readers that may ask for it */
    Intern *asked;     /* (made, target) of moves that readers may share if each pays its part; */
    Vec(int) payers;   /* how many may; NULL: a node pays for them */
    int most_payers;
} AskedMoves;

/* Tables are not whole then, and nobody reads them. */
static bool is_over(AskedMoves *s)
{
    return solve_stopped(&s->m->clock);
}

static int32_t has_of(const AskedMoves *s, int32_t class)
{
    int32_t made, has;
    making_found_as(s->m, s->value, s->found.first[class], &made, &has);
    return has;
}

static void tables_begin(AskedMoves *s, int32_t a, const ChoiceClasses *by_a, int32_t b,
                         const ChoiceClasses *by_b)
{
    MoveTable table = {.a = a, .b = b, .n_a = by_a->n, .n_b = by_b ? by_b->n : 1};
    table.class_a = by_a->of;
    table.class_b = by_b ? by_b->of : NULL;
    table.joined = s->joined;
    table.among = 1;
    for (table.time = 0; table.time < N_MOVE_TIMES; table.time++) {
        table.end = NULL;
        if (s->times >> table.time & 1)
            table.end = arena_array(s->m->to->memo->arena, int32_t, (int64_t)table.n_a * table.n_b);
        s->table[table.time] = table;
        s->moves[table.time].n = 0;
    }
}

/* The entry that is being made is whole. */
static void end_entry(AskedMoves *s, int64_t at)
{
    for (int t = 0; t < N_MOVE_TIMES; t++)
        if (s->times >> t & 1)
            s->table[t].end[at] = s->moves[t].n;
}

/* The share of the value that is there to be moved. */
static double move_fill(const AskedMoves *s, int32_t from, int32_t to)
{
    const Instance *in = s->m->to;
    return routed_move_fill(in->as->routed, s->value->tensor, shardings_at(in->as->shardings, from),
                            shardings_at(in->as->shardings, to), in->as->mesh);
}

static int32_t ask_price(AskedMoves *s, int32_t from, int32_t to)
{
    return prices_ask(s->m->to->memo->prices, s->value->machine, s->dtype, from, to,
                      move_fill(s, from, to));
}

static bool is_free(AskedMoves *s, int32_t from, int32_t to)
{
    return prices_free(s->m->to->memo->prices, s->value->machine, s->dtype, from, to,
                       move_fill(s, from, to));
}

/* A move of the entry that is being made, unless it is free; of two the cheaper one. */
static void put_cheaper(AskedMoves *s, int32_t from, int32_t to, int32_t other, int time)
{
    Prices *prices = s->m->to->memo->prices;
    if (from == to || from == other || is_over(s))
        return;
    int32_t id = ask_price(s, from, to);
    id = other < 0 ? id : prices_cheaper(prices, id, ask_price(s, from, other));
    if (!prices_is_free(prices, id))
        vec_push(s->m->scratch, &s->moves[s->times >> time & 1 ? time : MOVE_FOR_ALL], id);
}

static void put_move(AskedMoves *s, int32_t from, int32_t to, int time)
{
    put_cheaper(s, from, to, -1, time);
}

static void forbid(AskedMoves *s)
{
    vec_push(s->m->scratch, &s->moves[MOVE_FOR_ALL], FORBIDDEN);
}

static int in_order(const void *a, const void *b)
{
    const int32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void keep_distinct(Arena *arena, MoveTable *table, int n)
{
    int32_t *at = arena_array(arena, int32_t, n);
    int kept = 0;
    memcpy(at, table->move, sizeof *at * (size_t)n);
    qsort(at, (size_t)n, sizeof *at, in_order);
    for (int i = 0; i < n; i++)
        if (at[i] != FORBIDDEN && (kept == 0 || at[i] != at[kept - 1]))
            at[kept++] = at[i];
    table->distinct = at;
    table->n_distinct = kept;
}

/* Keeps the tables that say something. */
static void tables_end(AskedMoves *s)
{
    Arena *arena = s->m->to->memo->arena;
    for (int t = 0; t < N_MOVE_TIMES; t++) {
        int32_t *move = arena_array(arena, int32_t, s->moves[t].n);
        if (s->moves[t].n == 0)
            continue;
        memcpy(move, s->moves[t].at, sizeof *move * (size_t)s->moves[t].n);
        s->table[t].move = move;
        keep_distinct(arena, &s->table[t], s->moves[t].n);
        vec_push(arena, &s->tables, s->table[t]);
    }
}

/* What is moved where a pin, an output or the next step asks for it, whoever reads. */
static void add_own_moves(AskedMoves *s)
{
    const SearchNode *node = &s->m->to->nodes.at[s->value->node];
    if (s->value->operand < 0 || s->value->how == AS_MADE)
        return;
    ChoiceClasses own = making_each(s->m, node->n);
    tables_begin(s, ROLE_MAKER, &own, ROLE_NONE, NULL);
    for (int32_t c = 0; c < node->n; c++) {
        int32_t made, has;
        making_found_as(s->m, s->value, c, &made, &has);
        put_move(s, made, has, MOVE_BEHIND_MAKER);
        end_entry(s, c);
    }
    tables_end(s);
}

/* How many readers may pay for a move together. */
static int payers_of(AskedMoves *s, int32_t has, const Demand *demand)
{
    int32_t to[] = {demand->target, demand->other};
    int n = 1;
    for (int i = 0; s->asked && i < 2; i++) {
        int32_t key[] = {has, to[i]}, id = intern_find(s->asked, key, sizeof key);
        n = id >= 0 && s->payers.at[id] > n ? s->payers.at[id] : n;
    }
    return n;
}

/* Those that so many readers may pay for. */
static void put_demands(AskedMoves *s, int32_t has, const Demands *demands, int among,
                        const SharedChoice *shared)
{
    for (int i = 0; i < demands->n; i++) {
        const Demand *d = &demands->at[i];
        if (payers_of(s, has, d) != among)
            continue;
        bool is_shared =
            shared &&
            (shared->target == d->target || (d->other >= 0 && shared->target == d->other)) &&
            (d->phase == 0 || shared->phases >> d->phase & 1);
        if (!is_shared)
            put_cheaper(s, has, d->target, d->other, d->time);
    }
}

/* Maker and one reader, with the moves that so many may pay for, this reader its part; 0: none, the
 * table only forbids what does not agree, as that of what one pays for does. */
static void add_pair(AskedMoves *s, const MoveReader *reader, int among)
{
    Making *m = s->m;
    tables_begin(s, ROLE_MAKER, &s->found, reader->role, &reader->classes);
    for (int t = 0; t < N_MOVE_TIMES && among > 0; t++)
        s->table[t].among = among;
    for (int i = 0; i < s->found.n && !is_over(s); i++) {
        int32_t has = has_of(s, i);
        for (int j = 0; j < reader->classes.n; j++) {
            int32_t choice = reader->classes.first[j];
            Demands demands = {0};
            if (among > 0)
                demands = making_demands(m, s->value, reader, has, choice);
            bool may = !demands.forbidden && making_agrees(m, s->value, reader, s->n_users == 1,
                                                           s->found.first[i], choice);
            if (!may && among <= 1)
                forbid(s);
            if (may)
                put_demands(s, has, &demands, among, NULL);
            end_entry(s, (int64_t)i * reader->classes.n + j);
        }
    }
    tables_end(s);
}

/* ---- what is read ---- */

/* An op that reads the value so, made as often as the value; -1: none. */
static int32_t op_of_read(const Making *m, const Carried *value, const InstanceRead *read)
{
    const Inferred *inferred = m->to->inferred;
    const Graph *graph = inferred->graph;
    const int32_t *use = graph->uses + graph->tensors[value->tensor].use;
    for (int u = 0; u < tensor_n_uses(graph, value->tensor); u++)
        if (m->to->node_of_op[use[u]] == read->node && inferred->space[use[u]] == read->space &&
            inferred_repeat(inferred, use[u]) == value->repeat)
            return use[u];
    return -1;
}

enum { NOTHING = -1 }; /* in place of a number of prices */

/* How the op reads it: of two ways the first, unless the other costs no move. */
static int32_t read_now(AskedMoves *s, const InstanceRead *read, int32_t has, int32_t choice)
{
    int32_t other, as = making_read_as(s->m, read, has, choice, &other);
    return other >= 0 && is_free(s, has, other) ? other : as;
}

/* What one read takes longer than where as little is read as its choice allows, by maker's class
 * and reader's choice: numbers of prices, or NOTHING. NULL: there is no such op. */
static const int32_t *more_of_read(AskedMoves *s, const InstanceRead *read)
{
    Making *m = s->m;
    int32_t op = op_of_read(m, s->value, read), n_b = m->to->nodes.at[read->node].n;
    const int32_t *least =
        instance_layouts(m->to, read->node, read->space, LEAST_READ + read->operand);
    if (op < 0)
        return NULL;
    int32_t *as = arena_array(m->scratch, int32_t, (int64_t)s->found.n * n_b);
    for (int i = 0; i < s->found.n && !is_over(s); i++)
        for (int32_t c = 0; c < n_b; c++)
            as[i * n_b + c] = read_now(s, read, has_of(s, i), c);
    const OpPricer *pricer = op_pricer_new(m->scratch, m->to->as);
    Intern *asked = intern_new(m->scratch);
    Vec(int32_t) id = {0};
    for (int i = 0; i < s->found.n && !is_over(s); i++)
        for (int32_t c = 0; c < n_b; c++) {
            int32_t key[2] = {c, as[i * n_b + c]};
            if (key[1] == least[c]) {
                as[i * n_b + c] = NOTHING;
                continue;
            }
            int32_t at = intern_put(asked, key, sizeof key);
            if (at == id.n) {
                double more = making_op_us(m, pricer, op, c, read->operand, key[1]) -
                              making_op_us(m, pricer, op, c, -1, -1);
                vec_push(m->scratch, &id,
                         more > 0 ? prices_fixed(m->to->memo->prices, more) : NOTHING);
            }
            assert(id.at);
            as[i * n_b + c] = id.at[at];
        }
    return as;
}

/* What reads take longer, by how the value lies. Under a schedule it is left out of what is added
 * up. */
static void add_reads(AskedMoves *s, const MoveReader *reader)
{
    if (s->joined || s->m->options->weights)
        return;
    for (int r = 0; r < reader->n && !is_over(s); r++) {
        const InstanceRead *read = reader->read[r];
        if (!making_reads_as_it_lies(s->m->to->inferred->spaces[read->space], read->operand))
            continue;
        const int32_t *more = more_of_read(s, read);
        if (!more || is_over(s))
            continue;
        ChoiceClasses own = making_each(s->m, s->m->to->nodes.at[read->node].n);
        tables_begin(s, ROLE_MAKER, &s->found, reader->role, &own);
        for (int32_t e = 0; e < s->found.n * own.n; e++) {
            if (more[e] != NOTHING)
                vec_push(s->m->scratch, &s->moves[MOVE_FOR_ALL], more[e]);
            end_entry(s, e);
        }
        tables_end(s);
    }
}

/* ---- moves that several readers share ---- */

static void put_shared_choice(AskedMoves *s, SharedChoice choice, int n_asking)
{
    vec_push(s->m->to->memo->arena, &s->shared, choice);
    vec_push(s->m->scratch, &s->n_asking, n_asking);
}

/* Adds, for a sharding as found, the targets that at least two readers may ask for. */
static void add_targets(AskedMoves *s, int32_t has)
{
    Arena *scratch = s->m->scratch;
    Intern *targets = intern_new(scratch);
    Vec(int) n_asking = {0}, last = {0};
    Vec(unsigned) phases = {0};
    for (int r = 0; r < s->n_readers; r++)
        for (int j = 0; j < s->readers[r].classes.n; j++) {
            if (!s->readers[r].classes.left[j])
                continue;
            Demands demands =
                making_demands(s->m, s->value, &s->readers[r], has, s->readers[r].classes.first[j]);
            for (int i = 0; i < 2 * demands.n && !demands.forbidden; i++) {
                const Demand *demand = &demands.at[i / 2];
                int32_t target = i % 2 == 0 ? demand->target : demand->other;
                if (target < 0 || (demand->other >= 0 && is_free(s, has, demand->other)))
                    continue;
                int32_t id = intern_put(targets, &target, sizeof target);
                if (id == n_asking.n) {
                    vec_push(scratch, &n_asking, 0);
                    vec_push(scratch, &phases, 0);
                    vec_push(scratch, &last, -1);
                }
                assert(n_asking.at && last.at && phases.at);
                n_asking.at[id] += last.at[id] != r;
                last.at[id] = r;
                if (demand->phase)
                    phases.at[id] |= 1u << demand->phase;
            }
        }
    for (int32_t id = 0; id < n_asking.n; id++) {
        int32_t target = *(const int32_t *)intern_key(targets, id, NULL);
        if (n_asking.at[id] < 2 || is_free(s, has, target))
            continue;
        unsigned all = phases.at[id], first = all & (~all + 1);
        put_shared_choice(s, (SharedChoice){has, target, all}, n_asking.at[id]);
        if (first != all)
            put_shared_choice(s, (SharedChoice){has, target, first}, n_asking.at[id]);
    }
}

/* What a shared move costs: one for each phase that it is made in. */
static void put_shared(AskedMoves *s, const SharedChoice *choice)
{
    if (choice->target < 0)
        return;
    if (choice->phases == 0)
        put_move(s, choice->made, choice->target, MOVE_FOR_ALL);
    for (int phase = 0; phase < N_MOVE_TIMES; phase++)
        if (choice->phases >> phase & 1)
            put_move(s, choice->made, choice->target, phase);
}

/* The node that pays for shared moves: its tables with the maker and with all readers. */
static void add_shared(AskedMoves *s)
{
    Making *m = s->m;
    int n = s->shared.n;
    const SharedChoice *choice = s->shared.at;
    ChoiceClasses own = making_each(m, n);
    tables_begin(s, ROLE_SHARED, &own, ROLE_NONE, NULL);
    for (int i = 0; i < n; i++) {
        put_shared(s, &choice[i]);
        end_entry(s, i);
    }
    tables_end(s);
    tables_begin(s, ROLE_MAKER, &s->found, ROLE_SHARED, &own);
    for (int i = 0; i < s->found.n && !is_over(s); i++) {
        int32_t has = has_of(s, i);
        for (int j = 0; j < n; j++) {
            if (has != choice[j].made)
                forbid(s);
            end_entry(s, (int64_t)i * n + j);
        }
    }
    tables_end(s);
    for (int r = 0; r < s->n_readers; r++) {
        const MoveReader *reader = &s->readers[r];
        tables_begin(s, ROLE_SHARED, &own, reader->role, &reader->classes);
        for (int i = 0; i < n && !is_over(s); i++)
            for (int j = 0; j < reader->classes.n; j++) {
                Demands demands =
                    making_demands(m, s->value, reader, choice[i].made, reader->classes.first[j]);
                if (demands.forbidden)
                    forbid(s);
                else
                    put_demands(s, choice[i].made, &demands, 1, &choice[i]);
                end_entry(s, (int64_t)i * reader->classes.n + j);
            }
        tables_end(s);
    }
}

/* Finds the choices of the node of shared moves; false if no two readers share any. */
static bool find_shared(AskedMoves *s)
{
    Intern *seen = intern_new(s->m->scratch);
    bool some = false;
    for (int i = 0; i < s->found.n && s->n_readers > 1 && !is_over(s); i++) {
        int32_t has = has_of(s, i);
        int n = s->shared.n;
        if (!s->found.left[i] || intern_find(seen, &has, sizeof has) >= 0)
            continue;
        intern_put(seen, &has, sizeof has);
        put_shared_choice(s, (SharedChoice){has, -1, 0}, 0);
        add_targets(s, has);
        some |= s->shared.n > n + 1;
    }
    return some;
}

/* Whether the tables of the node of shared moves have too many entries. */
static bool are_too_many(const AskedMoves *s)
{
    int64_t most = s->m->options->together_most, n = s->found.n;
    for (int r = 0; r < s->n_readers; r++)
        n += s->readers[r].classes.n;
    return most > 0 && n * s->shared.n > most;
}

/* In place of that node each reader pays its part of what several may share: never more in all than
 * they do together. */
static void pay_apart(AskedMoves *s)
{
    s->asked = intern_new(s->m->scratch);
    for (int i = 0; i < s->shared.n; i++) {
        int32_t key[] = {s->shared.at[i].made, s->shared.at[i].target};
        int n = s->n_asking.at[i];
        if (n > 1 && intern_put(s->asked, key, sizeof key) == s->payers.n)
            vec_push(s->m->scratch, &s->payers, n);
        s->most_payers = n > s->most_payers ? n : s->most_payers;
    }
}

/* When its moves may be made; without a schedule all cost the same. */
static unsigned times_of(const Making *m, const Carried *value)
{
    unsigned times = 1u << MOVE_FOR_ALL;
    if (!m->options->weights)
        return times;
    for (int i = 0; i < value->n_reads; i++)
        times |= 1u << value->reads[i].phase;
    return times | 1u << MOVE_BEHIND_MAKER;
}

const ValueTables *making_tables(Making *m, const Carried *value, const int32_t *nodes, bool joined)
{
    AskedMoves s = {.m = m, .value = value, .joined = joined};
    s.dtype = (Dtype)m->to->inferred->dtype[value->tensor];
    s.times = times_of(m, value);
    s.found = making_found_classes(m, value);
    s.readers = making_readers(m, value, nodes, &s.n_readers);
    for (int r = 0; r < s.n_readers; r++)
        s.n_users += s.readers[r].node != value->node;
    add_own_moves(&s);
    bool some = !m->options->coarse && find_shared(&s), apart = some && are_too_many(&s);
    some = some && !apart;
    if (apart)
        pay_apart(&s);
    for (int r = 0; r < s.n_readers; r++)
        add_pair(&s, &s.readers[r], some ? 0 : 1);
    for (int n = 2; n <= s.most_payers; n++)
        for (int r = 0; r < s.n_readers; r++)
            add_pair(&s, &s.readers[r], n);
    for (int r = 0; r < s.n_readers; r++)
        add_reads(&s, &s.readers[r]);
    if (some)
        add_shared(&s);
    ValueTables *out = arena_make(m->to->memo->arena, ValueTables);
    *out = (ValueTables){s.tables.n, some ? s.shared.n : 0, s.tables.at, s.shared.at, apart};
    return out;
}
