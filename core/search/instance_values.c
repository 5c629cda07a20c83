/* The values that are moved from makers to readers, and what that costs. */
#include "core/cost/gradient_reduces.h"
#include "core/plan/routed.h"
#include "core/search/instance_parts.h"

/* ---- values ---- */

typedef struct {
    Making *m;
    Intern *alike;
    Vec(Carried) values;
    int32_t *of; /* per tensor: in values; -1 */
} NodeValues;

static int32_t slot_of(const SearchNode *node, int32_t slot)
{
    for (int i = 0; i < node->n_slots; i++)
        if (node->slot[i] == slot)
            return i;
    return -1;
}

static InstanceRead read_of(const Making *m, int32_t op, int operand)
{
    const Inferred *inferred = m->to->inferred;
    const SearchNode *node = &m->to->nodes.at[m->to->node_of_op[op]];
    bool leaf;
    InstanceRead read = {.node = m->to->node_of_op[op],
                         .space = inferred->space[op],
                         .operand = operand,
                         .phase = inferred->graph->phase
                                      ? 1 + (inferred->graph->phase[op] == PHASE_AGAIN
                                                 ? PHASE_BACKWARD
                                                 : inferred->graph->phase[op])
                                      : 0,
                         .slot = -1};
    if (making_may_pass(m, op, operand, &leaf)) {
        read.slot = slot_of(node, making_slot(inferred, op));
        read.linear = (int32_t)program_space(inferred, op)->operand[operand].linear;
        read.leaf = leaf;
        read.sum = node->kind == NODE_SUM && read.linear == LINEAR_TOGETHER;
    }
    return read;
}

static const InstanceRead *reads_of(Making *m, int32_t tensor, int *n)
{
    const Inferred *inferred = m->to->inferred;
    const Graph *graph = inferred->graph;
    const int32_t *use = graph->uses + graph->tensors[tensor].use;
    Vec(InstanceRead) reads = {0};
    for (int u = 0; u < tensor_n_uses(graph, tensor); u++) {
        if ((u > 0 && use[u] == use[u - 1]) || inferred_is_host(inferred, use[u]) ||
            m->to->node_of_op[use[u]] < 0)
            continue;
        for (int o = 0; o < graph->ops[use[u]].n_inputs; o++)
            if (op_inputs(graph, use[u])[o] == tensor &&
                !program_space(inferred, use[u])->operand[o].absent)
                vec_push(m->scratch, &reads, read_of(m, use[u], o));
    }
    *n = reads.n;
    return reads.at;
}

bool making_is_carried(const Making *m, int32_t tensor)
{
    const Inferred *inferred = m->to->inferred;
    int32_t maker = inferred->graph->tensors[tensor].maker;
    if (inferred->shape[tensor] < 0 || tensor_is_known(inferred, tensor))
        return false;
    if (maker < 0)
        return m->to->node_of_tensor[tensor] >= 0;
    return !inferred_is_host(inferred, maker) && m->to->node_of_op[maker] >= 0;
}

/* Where the value comes from; false: it costs nothing to have it. */
static bool source_of(Making *m, int32_t tensor, Carried *out)
{
    const Inferred *inferred = m->to->inferred;
    const Graph *graph = inferred->graph;
    int32_t maker = graph->tensors[tensor].maker;
    if (!making_is_carried(m, tensor))
        return false;
    out->tensor = tensor;
    out->space = out->operand = out->slot = -1;
    out->repeat = 1;
    out->gradient = gradient_is_of_parameters(m->to->session->plan, tensor);
    if (maker < 0) {
        out->node = m->to->node_of_tensor[tensor];
        out->how = AS_STORED;
        return true;
    }
    out->node = m->to->node_of_op[maker];
    out->space = inferred->space[maker];
    const SearchNode *node = &m->to->nodes.at[out->node];
    out->slot = slot_of(node, making_slot(inferred, maker));
    for (int o = 0; o < graph->ops[maker].n_outputs; o++)
        if (op_outputs(graph, maker)[o] == tensor)
            out->operand = graph->ops[maker].n_inputs + o;
    int32_t next = graph->next_of ? graph->next_of[tensor] : -1;
    out->how = next >= 0 && m->to->node_of_tensor[next] == out->node ? AS_STORED
               : next < 0 && graph->tensors[tensor].output           ? REDUCED
                                                                     : AS_MADE;
    out->repeat = inferred_repeat(inferred, maker) * (double)inferred_items(inferred, tensor);
    return true;
}

static bool is_pinned_in_use(const Making *m, int32_t tensor)
{
    for (int d = 0; d < program_shape(m->to->inferred, tensor)->n_dims; d++)
        if (making_use_pin(m, tensor, d))
            return true;
    return false;
}

static void weigh(const Making *m, Carried *value)
{
    const StageWeights *weights = m->options->weights;
    const Plan *plan = m->to->session->plan;
    for (int t = 0; t < N_MOVE_TIMES; t++)
        value->at.weight[t] = value->at.least[t] = 1;
    if (weights) {
        value->at = stage_weights_of_value(weights, plan, value->tensor);
        value->joins = stage_weights_joins(plan, value->tensor);
    }
    for (int t = 0; t < N_MOVE_TIMES; t++) {
        value->at.weight[t] *= value->repeat;
        value->at.least[t] *= value->repeat;
    }
}

static void add_weights(MoveWeights *sum, const MoveWeights *more)
{
    for (int t = 0; t < N_MOVE_TIMES; t++) {
        sum->weight[t] += more->weight[t];
        sum->least[t] += more->least[t];
    }
}

/* Where the value is made; what no op makes is where it is read first. */
static int32_t machine_of(Making *m, int32_t tensor)
{
    const Graph *graph = m->to->inferred->graph;
    const int32_t *use = graph->uses + graph->tensors[tensor].use;
    int32_t maker = graph->tensors[tensor].maker;
    if (maker >= 0 && !inferred_is_host(m->to->inferred, maker))
        return making_machine(m, maker);
    for (int u = 0; u < tensor_n_uses(graph, tensor); u++)
        if (!inferred_is_host(m->to->inferred, use[u]))
            return making_machine(m, use[u]);
    return 0;
}

static void find_values(NodeValues *v)
{
    Making *m = v->m;
    const Inferred *inferred = m->to->inferred;
    bool pins = m->to->session->plan->decided->n_pins > 0;
    for (int32_t t = 0; t < inferred->graph->n_tensors; t++) {
        Carried value = {0};
        if (!source_of(m, t, &value))
            continue;
        value.reads = reads_of(m, t, &value.n_reads);
        if (value.how != AS_STORED && pins && is_pinned_in_use(m, t))
            value.how = PINNED;
        value.machine = machine_of(m, t);
        value.pins = pins ? making_pins_of(m, m->to->memo->pins, t) : 0;
        int32_t head[] = {
            value.node,         value.space,   value.operand,
            value.slot,         value.how,     inferred->dtype[t],
            inferred->shape[t], value.pins,    (int32_t)value.repeat,
            value.gradient,     value.machine, routed_tensor_code(m->to->as->routed, t)};
        enum { HEAD = sizeof head / sizeof *head };
        int32_t *key = arena_array(m->scratch, int32_t, HEAD + READ_WORDS * value.n_reads);
        memcpy(key, head, sizeof head);
        if (value.n_reads > 0)
            memcpy(key + HEAD, value.reads, sizeof *value.reads * (size_t)value.n_reads);
        weigh(m, &value);
        int32_t id =
            intern_put(v->alike, key, sizeof *key * (size_t)(HEAD + READ_WORDS * value.n_reads));
        v->of[t] = id;
        if (id == v->values.n)
            vec_push(m->scratch, &v->values, value);
        else
            add_weights(&v->values.at[id].at, &value.at);
    }
}

/* ---- values at their places ---- */

/* The nodes by role: the maker, then the readers that are others. */
static int32_t *roles_of(Arena *scratch, const Carried *value)
{
    int32_t *nodes = arena_array(scratch, int32_t, value->n_reads + 1);
    int n = 1;
    nodes[0] = value->node;
    for (int i = 0; i < value->n_reads; i++) {
        int at = 0;
        while (at < n && nodes[at] != value->reads[i].node)
            at++;
        nodes[at] = value->reads[i].node;
        n += at == n;
    }
    return nodes;
}

/* A number for the choices of a node that may matter. */
static int32_t left_of(const Making *m, int32_t node)
{
    return m->options->left ? intern_put(m->to->memo->lefts, m->options->left[node],
                                         sizeof(bool) * (size_t)m->to->nodes.at[node].n)
                            : -1;
}

/* What the moves of a value depend on, told by what the memo knows: it may be that of another
 * layer, or of an earlier search. */
static int32_t *value_key(Making *m, const Carried *value, const int32_t *nodes, bool joined,
                          int *n)
{
    int32_t head[] = {instance_set(m->to, value->node),
                      value->space,
                      value->operand,
                      value->slot,
                      value->how,
                      value->pins,
                      m->to->inferred->dtype[value->tensor],
                      m->to->inferred->shape[value->tensor],
                      joined,
                      m->options->weights != NULL,
                      value->gradient,
                      value->machine,
                      routed_tensor_code(m->to->as->routed, value->tensor),
                      (int32_t)m->options->together_most};
    enum { HEAD = sizeof head / sizeof *head };
    int32_t *key = arena_array(m->scratch, int32_t, HEAD + 1 + (READ_WORDS + 2) * value->n_reads);
    memcpy(key, head, sizeof head);
    *n = HEAD;
    key[(*n)++] = left_of(m, value->node);
    for (int i = 0; i < value->n_reads; i++) {
        InstanceRead read = value->reads[i];
        int32_t node = read.node;
        read.node = 0;
        while (nodes[read.node] != node)
            read.node++;
        key[(*n)++] = instance_set(m->to, node);
        key[(*n)++] = left_of(m, node);
        memcpy(key + *n, &read, sizeof read);
        *n += READ_WORDS;
    }
    return key;
}

static const ValueTables *known_tables(Making *m, const Carried *value, const int32_t *nodes,
                                       bool joined)
{
    SearchMemo *memo = m->to->memo;
    int n;
    int32_t *key = value_key(m, value, nodes, joined, &n);
    int32_t id = intern_find(memo->values, key, sizeof *key * (size_t)n);
    if (id >= 0)
        return memo->tables.at[id];
    const ValueTables *tables = making_tables(m, value, nodes, joined);
    if (solve_stopped(&m->clock)) /* they are not whole */
        return tables;
    intern_put(memo->values, key, sizeof *key * (size_t)n);
    vec_push(memo->arena, &memo->tables, tables);
    return tables;
}

static void place_tables(Making *m, const ValueTables *tables, const int32_t *nodes, int32_t shared,
                         const double *weight, const double *least)
{
    for (int i = 0; i < tables->n; i++) {
        const MoveTable *table = &tables->table[i];
        PlacedTable placed = {.table = table, .edge = -1};
        placed.weight = weight[table->time] / table->among;
        placed.least = least[table->time] / table->among;
        placed.a = table->a == ROLE_SHARED ? shared : nodes[table->a];
        placed.b = table->b == ROLE_NONE ? -1 : table->b == ROLE_SHARED ? shared : nodes[table->b];
        vec_push(m->to->arena, &m->to->tables, placed);
    }
}

/* Returns the node of moves that readers share, or -1. */
static int32_t add_value(Making *m, const Carried *value)
{
    int32_t *nodes = roles_of(m->scratch, value), shared = -1;
    const ValueTables *tables = known_tables(m, value, nodes, false);
    m->to->apart |= tables->apart;
    if (tables->n_shared > 0)
        shared = making_add_node(m, (SearchNode){.kind = NODE_SHARED,
                                                 .place = value->tensor,
                                                 .n = tables->n_shared,
                                                 .shared = tables->shared});
    static const double nothing[N_MOVE_TIMES];
    const MoveWeights *at = &value->at;
    place_tables(m, tables, nodes, shared, at->weight, value->joins ? nothing : at->least);
    if (value->joins)
        place_tables(m, known_tables(m, value, nodes, true), nodes, shared, nothing, at->least);
    return shared;
}

bool making_costs(Making *m, Error *err)
{
    int32_t n_tensors = m->to->inferred->graph->n_tensors;
    NodeValues values = {m, intern_new(m->scratch),
                         .of = arena_array(m->scratch, int32_t, n_tensors)};
    memset(values.of, -1, sizeof *values.of * (size_t)n_tensors);
    making_op_costs(m);
    find_values(&values);
    int32_t *shared = arena_array(m->scratch, int32_t, values.values.n);
    progress_stage(m->options->progress, "pricing choices", values.values.n);
    for (int i = 0; i < values.values.n; i++) {
        shared[i] = add_value(m, &values.values.at[i]);
        progress_add(m->options->progress, 1);
        if (!making_goes_on(m, err))
            return false;
    }
    for (int32_t t = 0; t < n_tensors; t++)
        if (values.of[t] >= 0)
            m->to->shared_of_tensor[t] = shared[values.of[t]];
    return true;
}
