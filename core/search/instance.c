#include "core/search/instance.h"

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

const int32_t *instance_layouts(Instance *instance, int32_t node, int32_t space, int operand)
{
    int32_t key[3] = {node, space, operand};
    struct InstanceLayouts *known = instance->layouts;
    int32_t id = intern_put(known->asked, key, sizeof key);
    if (id < known->at.n)
        return known->at.at[id];
    const SearchNode *at = &instance->nodes.at[node];
    const OpSpace *of = instance->inferred->spaces[space];
    const Operand *o = &of->operand[operand < 0 ? 0 : operand];
    int32_t *out = arena_array(instance->arena, int32_t, at->n);
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
                                    : op_cut_sharding(of, &cut, operand, instance->as->mesh);
        out[c] = same ? out[c - 1] : shardings_put(instance->as->shardings, &sharding);
    }
    vec_push(instance->arena, &known->at, out);
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
            1 + sharding_local_elements(shardings_at(m->to->as->shardings, sharding),
                                        m->to->as->mesh, 0);
    return m->local.at[sharding] - 1;
}

/* ---- nodes and edges ---- */

int32_t making_add_node(Making *m, SearchNode node)
{
    node.compute = arena_array(m->to->arena, double, node.n);
    node.cost = arena_array(m->to->arena, double, node.n);
    vec_push(m->to->arena, &m->to->nodes, node);
    return m->to->nodes.n - 1;
}

/* ---- costs ---- */

/* Makes an edge for every pair of nodes that a table is about. */
static void make_edges(Instance *instance)
{
    Intern *pairs = intern_new(instance->arena);
    for (int i = 0; i < instance->tables.n; i++) {
        MoveTable *table = &instance->tables.at[i];
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

static double entry_us(const Instance *instance, const MoveTable *table, int64_t at)
{
    double us = 0;
    if (table->forbidden[at])
        return INFINITY;
    for (int32_t i = table->first[at]; i < table->first[at + 1]; i++)
        us +=
            instance->moves.at[i].times * prices_us(instance->prices, instance->moves.at[i].price);
    return table->weight * us;
}

/* Spreads the entries of a table over the choices of its nodes. */
static void add_table_costs(Instance *instance, const MoveTable *table, double *entry)
{
    SearchNode *a = &instance->nodes.at[table->a];
    for (int64_t i = 0; i < (int64_t)table->n_a * table->n_b; i++)
        entry[i] = entry_us(instance, table, i);
    if (table->edge < 0) {
        for (int32_t c = 0; c < a->n; c++)
            a->cost[c] += entry[(int64_t)table->class_a[c] * table->n_b +
                                (table->class_b ? table->class_b[c] : 0)];
        return;
    }
    double *cost = instance->edges.at[table->edge].cost;
    int32_t n_b = instance->nodes.at[table->b].n;
    bool turned = table->a > table->b;
    for (int32_t i = 0; i < a->n; i++) {
        const double *row = entry + (int64_t)table->class_a[i] * table->n_b;
        for (int32_t j = 0; j < n_b; j++)
            cost[turned ? (int64_t)j * a->n + i : (int64_t)i * n_b + j] += row[table->class_b[j]];
    }
}

static void add_up(Instance *instance)
{
    Arena *scratch = arena_new();
    int64_t most = 0;
    for (int i = 0; i < instance->nodes.n; i++)
        memcpy(instance->nodes.at[i].cost, instance->nodes.at[i].compute,
               sizeof(double) * (size_t)instance->nodes.at[i].n);
    for (int i = 0; i < instance->edges.n; i++)
        memset(instance->edges.at[i].cost, 0,
               sizeof(double) * (size_t)instance->nodes.at[instance->edges.at[i].a].n *
                   (size_t)instance->nodes.at[instance->edges.at[i].b].n);
    for (int i = 0; i < instance->tables.n; i++) {
        int64_t n = (int64_t)instance->tables.at[i].n_a * instance->tables.at[i].n_b;
        most = n > most ? n : most;
    }
    double *entry = arena_array(scratch, double, most);
    for (int i = 0; i < instance->tables.n; i++)
        add_table_costs(instance, &instance->tables.at[i], entry);
    arena_free(scratch);
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
    to->prices = options->prices && prices_are_of(options->prices, session->mesh, session->machine)
                     ? options->prices
                     : prices_new(arena, session->mesh, session->machine);
    to->as = plan_of_nothing(arena, session, to->prices);
    to->layouts = arena_make(arena, struct InstanceLayouts);
    to->layouts->asked = intern_new(arena);
    to->node_of_op = arena_array(arena, int32_t, graph->n_ops);
    to->node_of_tensor = arena_array(arena, int32_t, graph->n_tensors);
    memset(to->node_of_op, -1, sizeof *to->node_of_op * (size_t)graph->n_ops);
    memset(to->node_of_tensor, -1, sizeof *to->node_of_tensor * (size_t)graph->n_tensors);
    Making m = {.to = to, .options = options, .scratch = scratch};
    m.clock = (SolveClock){.deadline_s = options->deadline_s, .progress = options->progress};
    m.summed = intern_new(scratch);
    count_readers(&m);
    bool ok = making_op_nodes(&m, err);
    if (ok) {
        making_sum_nodes(&m);
        making_tensor_nodes(&m);
        ok = making_costs(&m, err);
    }
    if (ok) {
        make_edges(to);
        add_up(to);
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
