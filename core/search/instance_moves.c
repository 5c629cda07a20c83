/* What the moves of one value cost, by the choices of its maker and its readers. */
#include "core/plan/routed.h"
#include "core/search/instance_parts.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* ---- what is found, what is needed ---- */

static int32_t pinned_as(Making *m, int32_t tensor, int32_t made)
{
    const Plan *plan = m->to->session->plan;
    Sharding as = sharding_without_partial(shardings_at(m->to->as->shardings, made));
    AtomSet axes = 0;
    uint32_t pinned = 0;
    for (int d = 0; d < as.n_dims; d++) {
        const Decision *pin = making_use_pin(m, tensor, d);
        if (!pin)
            continue;
        as.dim[d] = *decision_cut(pin);
        axes |= cut_atoms(decision_cut(pin));
        pinned |= 1u << d;
    }
    for (int d = 0; d < as.n_dims; d++)
        if (!(pinned >> d & 1) && (cut_atoms(&as.dim[d]) & axes))
            as.dim[d] = cut_without(&as.dim[d], axes, plan->mesh);
    return shardings_put(m->to->as->shardings, &as);
}

/* As the op makes it under a choice, and as readers find it. */
static void found_as(Making *m, const Carried *value, int32_t choice, int32_t *made, int32_t *has)
{
    const SearchNode *node = &m->to->nodes.at[value->node];
    if (value->operand < 0) {
        *made = *has =
            node->kind == NODE_PARAMETER ? node->stored[choice].stored : node->sharding[choice];
        return;
    }
    AtomSet passed =
        value->slot < 0 ? 0 : node->passed[(int64_t)choice * node->n_slots + value->slot];
    *made = making_with_sums(
        m, instance_layouts(m->to, value->node, value->space, value->operand)[choice], passed);
    *has = *made;
    if (value->how == AS_STORED)
        *has = node->stored[choice].stored;
    else if (value->how == PINNED)
        *has = pinned_as(m, value->tensor, *made);
    else if (value->how == REDUCED) {
        Sharding reduced = sharding_without_partial(shardings_at(m->to->as->shardings, *made));
        *has = shardings_put(m->to->as->shardings, &reduced);
    }
}

/* A move that a reader asks for. */
typedef struct {
    int32_t target, other, phase; /* other: the cheaper of the two is made; -1: there is none.
                                     phase 0: one move serves all */
    int time;                     /* when it is made if it serves this reader alone */
} Demand;

enum { DEMANDS_MAX = 16 };

typedef struct {
    int n;
    Demand at[DEMANDS_MAX];
    bool forbidden;
} Demands;

static bool grows(Making *m, int32_t from, int32_t to)
{
    return making_local(m, to) > making_local(m, from);
}

/* Over which atoms the reader reads it partial, as the rules of core/plan/partial_values.c have
 * it; false: the choice says otherwise. */
static bool passes_as(Making *m, const InstanceRead *read, int32_t has, int32_t need, AtomSet used,
                      AtomSet passed, AtomSet *out)
{
    const Sharding *as = shardings_at(m->to->as->shardings, has);
    AtomSet atoms = sharding_only_sums(as) ? sharding_partials(as) : 0;
    if (atoms & used)
        atoms = 0;
    *out = passed;
    if (read->sum) {
        bool joins = (atoms & ~passed) == 0 &&
                     sharding_is_addend(as, shardings_at(m->to->as->shardings, need), passed,
                                        m->to->as->mesh);
        return passed == 0 || atoms == passed || joins;
    }
    if (read->leaf || read->linear == LINEAR_ALONE)
        return passed == atoms;
    return passed == 0 || passed == atoms;
}

/* The value is a gradient that is moved behind its maker, since the choice stores it sharded. */
static bool is_reduced_each(const Carried *value, const SearchNode *reader, int32_t choice)
{
    return value->gradient && reader->kind == NODE_PARAMETER && reader->stored[choice].each;
}

static void ask(Making *m, const Carried *value, const InstanceRead *read, int32_t has,
                int32_t choice, Demands *out)
{
    const SearchNode *node = &m->to->nodes.at[read->node];
    int32_t other, need = making_read_as(m, read, has, choice, &other);
    if (read->slot >= 0) {
        AtomSet used = (AtomSet)instance_layouts(m->to, read->node, read->space, USED)[choice];
        AtomSet passed = node->passed[(int64_t)choice * node->n_slots + read->slot], atoms;
        if (!passes_as(m, read, has, need, used, passed, &atoms)) {
            out->forbidden = true;
            return;
        }
        need = making_with_sums(m, need, atoms);
        other = other < 0 ? -1 : making_with_sums(m, other, atoms);
    }
    if (need == has)
        return;
    Demand demand = {need, other, read->phase > 0 && grows(m, has, need) ? read->phase : 0,
                     read->phase};
    if (is_reduced_each(value, node, choice))
        demand.time = MOVE_BEHIND_MAKER;
    for (int i = 0; i < out->n; i++)
        if (out->at[i].target == demand.target && out->at[i].phase == demand.phase)
            return;
    if (out->n < DEMANDS_MAX)
        out->at[out->n++] = demand;
}

/* ---- classes: choices that are alike to a value ---- */

typedef struct {
    int n;
    int32_t *of;    /* per choice: its class */
    int32_t *first; /* per class: a choice */
} Classes;

static Classes classes_new(Making *m, int32_t n)
{
    return (Classes){0, arena_array(m->to->memo->arena, int32_t, n),
                     arena_array(m->scratch, int32_t, n)};
}

/* Every choice for itself. */
static Classes each(Making *m, int32_t n)
{
    Classes out = classes_new(m, n);
    out.n = n;
    for (int32_t i = 0; i < n; i++)
        out.of[i] = out.first[i] = i;
    return out;
}

static void put_class(Classes *classes, Intern *alike, int32_t choice, const int32_t *key, int n)
{
    int32_t id = intern_put(alike, key, sizeof *key * (size_t)n);
    if (id == classes->n)
        classes->first[classes->n++] = choice;
    classes->of[choice] = id;
}

/* Choices of the maker by how the value is found. */
static Classes found_classes(Making *m, const Carried *value)
{
    const SearchNode *node = &m->to->nodes.at[value->node];
    Classes out = classes_new(m, node->n);
    Intern *alike = intern_new(m->scratch);
    for (int32_t c = 0; c < node->n; c++) {
        int32_t key[4] = {0}, made;
        found_as(m, value, c, &made, &key[0]);
        if (value->operand < 0 && node->kind == NODE_PARAMETER) {
            key[1] = node->stored[c].used;
            key[2] = node->stored[c].agreed;
        }
        put_class(&out, alike, c, key, 4);
    }
    return out;
}

/* The reads of one node, and its choices by what they need. */
typedef struct {
    int32_t node, role;
    int n;
    const InstanceRead **read;
    Classes classes;
} MoveReader;

static Classes need_classes(Making *m, const Carried *value, const MoveReader *reader)
{
    const SearchNode *node = &m->to->nodes.at[reader->node];
    Classes out = classes_new(m, node->n);
    Intern *alike = intern_new(m->scratch);
    int32_t *key = arena_array(m->scratch, int32_t, 4 * reader->n + 1);
    for (int32_t c = 0; c < node->n; c++) {
        int n = 0;
        for (int i = 0; i < reader->n; i++) {
            const InstanceRead *r = reader->read[i];
            const OpSpace *space = m->to->inferred->spaces[r->space];
            bool halos = making_reads_as_it_lies(space, r->operand);
            bool parts = halos && making_reads_parts(space, r->operand);
            key[n++] = instance_layouts(m->to, r->node, r->space, r->operand)[c];
            key[n++] = !halos ? -1
                       : parts
                           ? c
                           : instance_layouts(m->to, r->node, r->space, WITH_HALOS + r->operand)[c];
            key[n++] =
                r->slot < 0 ? 0 : (int32_t)node->passed[(int64_t)c * node->n_slots + r->slot];
            key[n++] = r->slot < 0 ? 0 : instance_layouts(m->to, r->node, r->space, USED)[c];
        }
        key[n++] = is_reduced_each(value, node, c);
        put_class(&out, alike, c, key, n);
    }
    return out;
}

static MoveReader *readers_of(Making *m, const Carried *value, const int32_t *nodes, int *n)
{
    MoveReader *out = arena_array(m->scratch, MoveReader, value->n_reads);
    *n = 0;
    for (int i = 0; i < value->n_reads; i++) {
        int at = 0;
        while (at < *n && out[at].node != value->reads[i].node)
            at++;
        if (at == *n) {
            out[(*n)++] = (MoveReader){.node = value->reads[i].node};
            while (nodes[out[at].role] != out[at].node)
                out[at].role++;
            out[at].read = arena_array(m->scratch, const InstanceRead *, value->n_reads);
        }
        out[at].read[out[at].n++] = &value->reads[i];
    }
    for (int i = 0; i < *n; i++)
        out[i].classes = need_classes(m, value, &out[i]);
    return out;
}

static Demands demands_of(Making *m, const Carried *value, const MoveReader *reader, int32_t has,
                          int32_t choice)
{
    Demands out = {0};
    for (int i = 0; i < reader->n && !out.forbidden; i++)
        ask(m, value, reader->read[i], has, choice, &out);
    return out;
}

/* Whether the reader's needs are what the parameter was taken to be used as. alone: it is the only
 * reader; then the parameter is whole only if its own needs differ. */
static bool agrees(Making *m, const Carried *value, const MoveReader *reader, bool alone,
                   int32_t made, int32_t choice)
{
    const SearchNode *node = &m->to->nodes.at[value->node];
    if (value->operand >= 0 || node->kind != NODE_PARAMETER || reader->node == value->node)
        return true;
    const ParameterChoice *stored = &node->stored[made];
    bool same = true;
    int32_t first = -1;
    for (int i = 0; i < reader->n; i++) {
        const InstanceRead *r = reader->read[i];
        int32_t need = instance_layouts(m->to, r->node, r->space, r->operand)[choice];
        if (stored->agreed && need != stored->used)
            return false;
        first = i == 0 ? need : first;
        same &= need == first;
    }
    return stored->agreed || stored->pinned || !alone || !same;
}

/* ---- moves of a value ---- */

typedef struct {
    Making *m;
    const Carried *value;
    Classes found;
    MoveReader *readers;
    int n_readers, n_users; /* of them, all but its own node, which updates a parameter */
    Dtype dtype;
    bool joined;
    unsigned times; /* when moves may be made, as bits */
    Vec(MoveTable) tables;
    MoveTable table[N_MOVE_TIMES]; /* that are being made, by time, and: */
    Vec(int32_t) moves[N_MOVE_TIMES];
    Vec(SharedChoice) shared;
} AskedMoves;

/* Tables are not whole then, and nobody reads them. */
static bool is_over(AskedMoves *s)
{
    return solve_stopped(&s->m->clock);
}

static int32_t has_of(const AskedMoves *s, int32_t class)
{
    int32_t made, has;
    found_as(s->m, s->value, s->found.first[class], &made, &has);
    return has;
}

static void tables_begin(AskedMoves *s, int32_t a, const Classes *by_a, int32_t b,
                         const Classes *by_b)
{
    MoveTable table = {.a = a, .b = b, .n_a = by_a->n, .n_b = by_b ? by_b->n : 1};
    table.class_a = by_a->of;
    table.class_b = by_b ? by_b->of : NULL;
    table.joined = s->joined;
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
    Classes own = each(s->m, node->n);
    tables_begin(s, ROLE_MAKER, &own, ROLE_NONE, NULL);
    for (int32_t c = 0; c < node->n; c++) {
        int32_t made, has;
        found_as(s->m, s->value, c, &made, &has);
        put_move(s, made, has, MOVE_BEHIND_MAKER);
        end_entry(s, c);
    }
    tables_end(s);
}

static void put_demands(AskedMoves *s, int32_t has, const Demands *demands,
                        const SharedChoice *shared)
{
    for (int i = 0; i < demands->n; i++) {
        const Demand *d = &demands->at[i];
        bool is_shared =
            shared &&
            (shared->target == d->target || (d->other >= 0 && shared->target == d->other)) &&
            (d->phase == 0 || shared->phases >> d->phase & 1);
        if (!is_shared)
            put_cheaper(s, has, d->target, d->other, d->time);
    }
}

/* Maker and one reader. moves: each move is counted, for this reader alone; else the table only
 * forbids what does not agree. */
static void add_pair(AskedMoves *s, const MoveReader *reader, bool moves)
{
    Making *m = s->m;
    tables_begin(s, ROLE_MAKER, &s->found, reader->role, &reader->classes);
    for (int i = 0; i < s->found.n && !is_over(s); i++) {
        int32_t has = has_of(s, i);
        for (int j = 0; j < reader->classes.n; j++) {
            int32_t choice = reader->classes.first[j];
            Demands demands = {0};
            if (moves)
                demands = demands_of(m, s->value, reader, has, choice);
            if (demands.forbidden ||
                !agrees(m, s->value, reader, s->n_users == 1, s->found.first[i], choice))
                forbid(s);
            else
                put_demands(s, has, &demands, NULL);
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
        Classes own = each(s->m, s->m->to->nodes.at[read->node].n);
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

/* Adds, for a sharding as found, the targets that at least two readers may ask for. */
static void add_targets(AskedMoves *s, int32_t has)
{
    Arena *scratch = s->m->scratch;
    Intern *targets = intern_new(scratch);
    Vec(int) n_asking = {0}, last = {0};
    Vec(unsigned) phases = {0};
    for (int r = 0; r < s->n_readers; r++)
        for (int j = 0; j < s->readers[r].classes.n; j++) {
            Demands demands =
                demands_of(s->m, s->value, &s->readers[r], has, s->readers[r].classes.first[j]);
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
        vec_push(s->m->to->memo->arena, &s->shared, (SharedChoice){has, target, all});
        if (first != all)
            vec_push(s->m->to->memo->arena, &s->shared, (SharedChoice){has, target, first});
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
    Classes own = each(m, n);
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
                    demands_of(m, s->value, reader, choice[i].made, reader->classes.first[j]);
                if (demands.forbidden)
                    forbid(s);
                else
                    put_demands(s, choice[i].made, &demands, &choice[i]);
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
        if (intern_find(seen, &has, sizeof has) >= 0)
            continue;
        intern_put(seen, &has, sizeof has);
        vec_push(s->m->to->memo->arena, &s->shared, (SharedChoice){has, -1, 0});
        add_targets(s, has);
        some |= s->shared.n > n + 1;
    }
    return some;
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
    s.found = found_classes(m, value);
    s.readers = readers_of(m, value, nodes, &s.n_readers);
    for (int r = 0; r < s.n_readers; r++)
        s.n_users += s.readers[r].node != value->node;
    add_own_moves(&s);
    bool some = !m->options->coarse && find_shared(&s);
    for (int r = 0; r < s.n_readers; r++)
        add_pair(&s, &s.readers[r], !some);
    for (int r = 0; r < s.n_readers; r++)
        add_reads(&s, &s.readers[r]);
    if (some)
        add_shared(&s);
    ValueTables *out = arena_make(m->to->memo->arena, ValueTables);
    *out = (ValueTables){s.tables.n, some ? s.shared.n : 0, s.tables.at, s.shared.at};
    return out;
}
