#include "core/search/instance.h"

#include "core/plan/stage.h"
#include "core/propagate/step_cuts.h"
#include "core/search/instance_parts.h"

#include <math.h>

/* ---- layouts ---- */

static OpCut cut_as_updated(const Instance *instance, const OpSpace *space, int32_t sharding)
{
    const Sharding *as = shardings_at(instance->as->shardings, sharding);
    OpCut cut = op_cut_whole(space);
    for (int64_t d = 0; space->n_index > 0 && d < as->n_dims; d++) {
        const DimFactors *factors = &space->operand[0].factors[d];
        if (factors->n == 1)
            cut.index[factors->index[0]] = as->dim[d];
    }
    return cut;
}

OpCut instance_cut(const Instance *instance, int32_t node, int32_t choice, int32_t space)
{
    const SearchNode *at = &instance->nodes.at[node];
    const OpSpace *of = instance->inferred->spaces[space];
    if (at->kind == NODE_PARAMETER)
        return cut_as_updated(instance, of, at->stored[choice].updated);
    if (at->kind != NODE_OP && at->kind != NODE_SUM)
        return op_cut_whole(of);
    if (instance->inferred->space[at->place] == space)
        return *at->cut[choice];
    return of->gradient ? gradient_op_cut(of, at->cut[choice], instance->as->mesh)
                        : op_cut_whole(of);
}

/* ---- choices ---- */

typedef Vec(int32_t) Words;

static void put_words(Arena *scratch, Words *key, const void *words, size_t n_bytes)
{
    const int32_t *at = words;
    for (size_t i = 0; i < n_bytes / sizeof *at; i++)
        vec_push(scratch, key, at[i]);
}

/* What choice c is, told by numbers that mean the same in every search of the memo. */
static void put_choice(const Instance *instance, Arena *scratch, const SearchNode *node, int32_t c,
                       Words *key)
{
    if (node->kind == NODE_OP || node->kind == NODE_SUM) {
        bool same = c > 0 && node->cut[c] == node->cut[c - 1];
        int32_t id = same ? -1 : intern_put(instance->memo->pins, node->cut[c], sizeof(OpCut));
        put_words(scratch, key, &id, sizeof id);
        put_words(scratch, key, node->passed ? node->passed + (int64_t)c * node->n_slots : NULL,
                  sizeof(AtomSet) * (size_t)node->n_slots);
    } else if (node->kind == NODE_INPUT) {
        put_words(scratch, key, &node->sharding[c], sizeof *node->sharding);
    } else if (node->kind == NODE_PARAMETER) {
        const ParameterChoice *at = &node->stored[c];
        int32_t words[] = {at->used,   at->pinned | at->agreed << 1 | at->each << 2,
                           at->values, at->dim,
                           at->stored, at->updated};
        put_words(scratch, key, words, sizeof words);
    } else if (node->kind == NODE_SHARED) {
        put_words(scratch, key, &node->shared[c], sizeof *node->shared);
    }
}

static int32_t find_set(const Instance *instance, const SearchNode *node)
{
    Arena *scratch = arena_new();
    Words key = {0};
    bool cut = node->kind == NODE_OP || node->kind == NODE_SUM;
    int32_t head[] = {(int32_t)node->kind, cut ? instance->inferred->space[node->place] : -1,
                      node->n_slots, node->n};
    put_words(scratch, &key, head, sizeof head);
    put_words(scratch, &key, node->slot, sizeof *node->slot * (size_t)node->n_slots);
    for (int32_t c = 0; c < node->n; c++)
        put_choice(instance, scratch, node, c, &key);
    int32_t set = intern_put(instance->memo->sets, key.at, sizeof *key.at * (size_t)key.n);
    arena_free(scratch);
    return set;
}

int32_t instance_set(Instance *instance, int32_t node)
{
    SearchNode *at = &instance->nodes.at[node];
    if (at->set < 0)
        at->set = find_set(instance, at);
    return at->set;
}

const int32_t *instance_layouts(Instance *instance, int32_t node, int32_t space, int operand)
{
    SearchMemo *memo = instance->memo;
    int32_t key[3] = {instance_set(instance, node), space, operand};
    int32_t id = intern_put(memo->layouts, key, sizeof key);
    if (id < memo->layout.n)
        return memo->layout.at[id];
    const SearchNode *at = &instance->nodes.at[node];
    const OpSpace *of = instance->inferred->spaces[space];
    int how = operand < WITH_HALOS ? 0 : operand < LEAST_READ ? WITH_HALOS : LEAST_READ;
    const Operand *o = &of->operand[operand < 0 ? 0 : operand - how];
    int32_t *out = arena_array(memo->arena, int32_t, at->n);
    bool whole = of->no_rule || o->ignored || o->absent;
    for (int32_t c = 0; c < at->n; c++) {
        bool same = c > 0 && at->cut && at->cut[c] == at->cut[c - 1];
        OpCut cut = same || whole ? (OpCut){0} : instance_cut(instance, node, c, space);
        if (operand == USED) {
            out[c] = same ? out[c - 1] : (int32_t)cuts_used(cut.index, cut.n, -1);
            continue;
        }
        Sharding sharding = same    ? (Sharding){0}
                            : whole ? sharding_whole(&o->shape)
                                    : op_cut_sharding(of, &cut, operand - how, instance->as->mesh);
        if (!same && !whole && how > 0)
            making_read_less(of, &cut, operand - how, instance->as->mesh, how, &sharding);
        out[c] = same ? out[c - 1] : shardings_put(instance->as->shardings, &sharding);
    }
    vec_push(memo->arena, &memo->layout, out);
    return out;
}

/* ---- shardings ---- */

int32_t making_with_sums(Making *m, int32_t sharding, AtomSet atoms)
{
    if (!atoms)
        return sharding;
    int32_t key[2] = {sharding, (int32_t)atoms};
    int32_t id = intern_put(m->summed, key, sizeof key);
    if (id < m->sum_at.n)
        return m->sum_at.at[id];
    Sharding with = *shardings_at(m->to->as->shardings, sharding);
    for (int a = 0; a < ATOMS_MAX; a++)
        if (atoms >> a & 1)
            with.partial[a] = REDUCE_SUM;
    int32_t out = shardings_put(m->to->as->shardings, &with);
    vec_push(m->scratch, &m->sum_at, out);
    return out;
}

int64_t making_local(Making *m, int32_t sharding)
{
    while (m->local.n <= sharding)
        vec_push(m->scratch, &m->local, 0);
    if (m->local.at[sharding] == 0)
        m->local.at[sharding] =
            1 +
            sharding_most_elements(shardings_at(m->to->as->shardings, sharding), m->to->as->mesh);
    return m->local.at[sharding] - 1;
}

/* ---- nodes and edges ---- */

void making_begin_costs(Making *m, SearchNode *node)
{
    node->compute = arena_array(m->to->arena, double, node->n);
    node->least = m->options->weights ? arena_array(m->to->arena, double, node->n) : node->compute;
    node->cost = arena_array(m->to->arena, double, node->n);
}

int32_t making_add_node(Making *m, SearchNode node)
{
    node.set = -1;
    making_begin_costs(m, &node);
    vec_push(m->to->arena, &m->to->nodes, node);
    return m->to->nodes.n - 1;
}

/* ---- costs ---- */

/* Makes an edge for every pair of nodes that a table is about. */
static void make_edges(Instance *instance)
{
    Intern *pairs = intern_new(instance->arena);
    for (int i = 0; i < instance->tables.n; i++) {
        PlacedTable *table = &instance->tables.at[i];
        int32_t a = table->a, b = table->b, pair[2] = {a < b ? a : b, a < b ? b : a};
        table->edge = -1;
        if (b < 0 || a == b)
            continue;
        table->edge = intern_put(pairs, pair, sizeof pair);
        if (table->edge < instance->edges.n)
            continue;
        int64_t n = (int64_t)instance->nodes.at[a].n * instance->nodes.at[b].n;
        vec_push(instance->arena, &instance->edges,
                 (SearchEdge){pair[0], pair[1], arena_array(instance->arena, double, n)});
    }
}

double instance_move_us(const Instance *instance, const MoveTable *table, int32_t move)
{
    if (move == FORBIDDEN)
        return INFINITY;
    return table->joined ? prices_joined_us(instance->memo->prices, move)
                         : prices_us(instance->memo->prices, move);
}

static bool is_weighed(const Instance *instance, const PlacedTable *placed)
{
    const MoveTable *table = placed->table;
    bool changed = !placed->entry;
    for (int i = 0; i < table->n_distinct && !changed; i++)
        changed = prices_changed(instance->memo->prices, table->distinct[i], placed->n_changes);
    return !changed;
}

/* What the entries of a table cost, paid for as often as at its place, above what is in the costs
 * of its nodes and edge, which is kept up. Returns whether any differs; rows[i]: one of class i of
 * a does. */
static bool price_entries(Instance *instance, PlacedTable *placed, double *more, bool *rows)
{
    const MoveTable *table = placed->table;
    double times = instance->weighed == COST_ON_PATHS ? placed->least : placed->weight;
    int64_t n = (int64_t)table->n_a * table->n_b;
    int32_t m = 0;
    bool any = false;
    if (!placed->entry)
        placed->entry = arena_array(instance->arena, double, n);
    memset(rows, 0, sizeof *rows * (size_t)table->n_a);
    for (int64_t i = 0; i < n; i++) {
        double us = 0;
        for (; m < table->end[i]; m++)
            us += instance_move_us(instance, table, table->move[m]);
        us = us < INFINITY ? times * us : INFINITY;
        bool same = us <= placed->entry[i] && us >= placed->entry[i];
        more[i] = same ? 0 : us - placed->entry[i];
        rows[i / table->n_b] |= !same;
        any |= !same;
        placed->entry[i] = us;
    }
    return any;
}

/* Spreads the entries of a table over the choices of its nodes. */
static void add_table_costs(Instance *instance, const PlacedTable *placed, const double *more,
                            const bool *rows)
{
    const MoveTable *table = placed->table;
    SearchNode *a = &instance->nodes.at[placed->a];
    if (placed->edge < 0) {
        for (int32_t c = 0; c < a->n; c++)
            a->cost[c] += more[(int64_t)table->class_a[c] * table->n_b +
                               (table->class_b ? table->class_b[c] : 0)];
        return;
    }
    double *cost = instance->edges.at[placed->edge].cost;
    int32_t n_b = instance->nodes.at[placed->b].n;
    bool turned = placed->a > placed->b;
    for (int32_t i = 0; i < a->n; i++) {
        const double *row = more + (int64_t)table->class_a[i] * table->n_b;
        for (int32_t j = 0; j < n_b && rows[table->class_a[i]]; j++)
            cost[turned ? (int64_t)j * a->n + i : (int64_t)i * n_b + j] += row[table->class_b[j]];
    }
}

/* Costs without moves. */
static void begin_costs(Instance *instance, InstanceCost kind)
{
    for (int i = 0; i < instance->nodes.n; i++) {
        const SearchNode *node = &instance->nodes.at[i];
        memcpy(node->cost, kind == COST_ON_PATHS ? node->least : node->compute,
               sizeof(double) * (size_t)node->n);
    }
    for (int i = 0; i < instance->edges.n; i++)
        memset(instance->edges.at[i].cost, 0,
               sizeof(double) * (size_t)instance->nodes.at[instance->edges.at[i].a].n *
                   (size_t)instance->nodes.at[instance->edges.at[i].b].n);
    for (int i = 0; i < instance->tables.n; i++)
        instance->tables.at[i].entry = NULL;
    instance->weighed = kind;
}

void instance_weigh(Instance *instance, InstanceCost kind)
{
    Arena *scratch = arena_new();
    int64_t most = 0, most_rows = 0;
    if (instance->tables.n == 0 || !instance->tables.at[0].entry || instance->weighed != kind)
        begin_costs(instance, kind);
    for (int i = 0; i < instance->tables.n; i++) {
        const MoveTable *table = instance->tables.at[i].table;
        int64_t n = (int64_t)table->n_a * table->n_b;
        most = n > most ? n : most;
        most_rows = table->n_a > most_rows ? table->n_a : most_rows;
    }
    double *more = arena_array(scratch, double, most);
    bool *rows = arena_array(scratch, bool, most_rows);
    for (int i = 0; i < instance->tables.n; i++) {
        PlacedTable *placed = &instance->tables.at[i];
        if (!is_weighed(instance, placed) && price_entries(instance, placed, more, rows))
            add_table_costs(instance, placed, more, rows);
        placed->n_changes = prices_changes(instance->memo->prices);
    }
    arena_free(scratch);
}

/* ---- one choice ---- */

double instance_cost_us(const Instance *instance, const int32_t *choice)
{
    double us = 0;
    for (int i = 0; i < instance->nodes.n; i++)
        us += instance->nodes.at[i].cost[choice[i]];
    for (int i = 0; i < instance->edges.n; i++) {
        const SearchEdge *edge = &instance->edges.at[i];
        int64_t n_b = instance->nodes.at[edge->b].n;
        us += edge->cost[choice[edge->a] * n_b + choice[edge->b]];
    }
    return us;
}

/* ---- all of it ---- */

static Plan *plan_of_nothing(Arena *arena, const Session *session, const Prices *prices)
{
    Plan *plan = arena_make(arena, Plan);
    *plan = (Plan){.arena = arena,
                   .inferred = session->inferred,
                   .mesh = prices->mesh,
                   .machine = prices->machine,
                   .shardings = prices->shardings,
                   .resharder = prices->resharder};
    plan->decided = session->plan->decided;
    plan->routed = session->plan->routed;
    plan->priced = arena_make(arena, Priced);
    return plan;
}

static void count_readers(Making *m)
{
    const Inferred *inferred = m->to->inferred;
    m->n_readers = arena_array(m->scratch, int32_t, inferred->graph->n_tensors);
    for (int i = 0; i < inferred->n_program; i++) {
        const int32_t *input = op_inputs(inferred->graph, inferred->program[i]);
        for (int o = 0; o < inferred->graph->ops[inferred->program[i]].n_inputs; o++)
            if (input[o] >= 0)
                m->n_readers[input[o]]++;
    }
}

Instance *instance_make(Arena *arena, const Session *session, const InstanceOptions *options,
                        Error *err)
{
    Arena *scratch = arena_new();
    Instance *to = arena_make(arena, Instance);
    const Graph *graph = session->graph;
    *to = (Instance){.arena = arena, .session = session, .inferred = session->inferred};
    to->memo = options->memo;
    search_memo_begin(to->memo, session);
    to->as = plan_of_nothing(arena, session, to->memo->prices);
    to->node_of_op = arena_array(arena, int32_t, graph->n_ops);
    to->node_of_tensor = arena_array(arena, int32_t, graph->n_tensors);
    to->shared_of_tensor = arena_array(arena, int32_t, graph->n_tensors);
    memset(to->shared_of_tensor, -1, sizeof *to->shared_of_tensor * (size_t)graph->n_tensors);
    memset(to->node_of_op, -1, sizeof *to->node_of_op * (size_t)graph->n_ops);
    memset(to->node_of_tensor, -1, sizeof *to->node_of_tensor * (size_t)graph->n_tensors);
    Making m = {.to = to, .options = options, .scratch = scratch};
    m.clock = (SolveClock){.deadline_s = options->deadline_s, .progress = options->progress};
    m.summed = intern_new(scratch);
    m.barred = stages_atoms(session->plan);
    count_readers(&m);
    bool ok = making_op_nodes(&m, err);
    if (ok) {
        making_sum_nodes(&m);
        making_tensor_nodes(&m);
        ok = making_costs(&m, err);
    }
    if (ok) {
        make_edges(to);
        instance_weigh(to, COST_OF_PLAN);
    }
    arena_free(scratch);
    return ok ? to : NULL;
}

/* Those of n choices that are allowed; NULL: all. Returns their number. */
static int32_t allowed_of(Arena *arena, const bool *allowed, int32_t n, int32_t **out)
{
    int32_t kept = 0;
    *out = arena_array(arena, int32_t, n);
    for (int32_t c = 0; c < n; c++)
        if (!allowed || allowed[c])
            (*out)[kept++] = c;
    return kept;
}

static const double *restricted_edge(Arena *arena, const SearchEdge *edge, int32_t n_of_b,
                                     const int32_t *a, int32_t n_a, const int32_t *b, int32_t n_b)
{
    double *out = arena_array(arena, double, (int64_t)n_a *n_b);
    for (int32_t i = 0; i < n_a; i++)
        for (int32_t j = 0; j < n_b; j++)
            out[(int64_t)i * n_b + j] = edge->cost[(int64_t)a[i] * n_of_b + b[j]];
    return out;
}

SolveProblem instance_restricted(Arena *arena, const Instance *instance, const bool *const *allowed,
                                 int32_t ***choices)
{
    SolveProblem problem = {.n_nodes = instance->nodes.n, .n_edges = instance->edges.n};
    int32_t *n_choices = arena_array(arena, int32_t, problem.n_nodes);
    const double **cost = arena_array(arena, const double *, problem.n_nodes);
    SolveEdge *edge = arena_array(arena, SolveEdge, problem.n_edges);
    int32_t **kept = *choices = arena_array(arena, int32_t *, problem.n_nodes);
    for (int32_t i = 0; i < problem.n_nodes; i++) {
        const SearchNode *node = &instance->nodes.at[i];
        n_choices[i] = allowed_of(arena, allowed[i], node->n, &kept[i]);
        double *own = arena_array(arena, double, n_choices[i]);
        for (int32_t c = 0; c < n_choices[i]; c++)
            own[c] = node->cost[kept[i][c]];
        cost[i] = own;
    }
    for (int32_t i = 0; i < problem.n_edges; i++) {
        const SearchEdge *of = &instance->edges.at[i];
        bool whole = !allowed[of->a] && !allowed[of->b];
        edge[i] =
            (SolveEdge){of->a, of->b,
                        whole ? of->cost
                              : restricted_edge(arena, of, instance->nodes.at[of->b].n, kept[of->a],
                                                n_choices[of->a], kept[of->b], n_choices[of->b])};
    }
    problem.n_choices = n_choices;
    problem.cost = cost;
    problem.edge = edge;
    return problem;
}

SolveProblem instance_problem(Arena *arena, const Instance *instance)
{
    SolveProblem problem = {.n_nodes = instance->nodes.n, .n_edges = instance->edges.n};
    int32_t *n_choices = arena_array(arena, int32_t, problem.n_nodes);
    const double **cost = arena_array(arena, const double *, problem.n_nodes);
    SolveEdge *edge = arena_array(arena, SolveEdge, problem.n_edges);
    for (int32_t i = 0; i < problem.n_nodes; i++) {
        n_choices[i] = instance->nodes.at[i].n;
        cost[i] = instance->nodes.at[i].cost;
    }
    for (int32_t i = 0; i < problem.n_edges; i++)
        edge[i] = (SolveEdge){instance->edges.at[i].a, instance->edges.at[i].b,
                              instance->edges.at[i].cost};
    problem.n_choices = n_choices;
    problem.cost = cost;
    problem.edge = edge;
    return problem;
}
