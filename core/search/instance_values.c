/* What choices cost: the moves of values from makers to readers. */
#include "core/search/instance_parts.h"

#include <assert.h>

/* ---- values ---- */

/* An operand of an op that reads the value. */
typedef struct {
    int32_t node, space, operand, phase, slot; /* slot: making_slot(), or -1: nothing passes */
    int32_t linear, leaf, sum;
} Read;

enum { READ_WORDS = sizeof(Read) / sizeof(int32_t) };

/* A value, and where it is from: what equal layers share. */
typedef struct {
    int32_t tensor; /* the first of those alike */
    int32_t node, space, operand, slot, how;
    int n_reads;
    const Read *reads;
    double weight;
} Carried;

/* How what an op makes becomes what readers find. */
enum { AS_MADE, REDUCED, AS_STORED, PINNED };

typedef struct {
    Making *m;
    Intern *alike, *pins;
    Vec(Carried) values;
} Values;

static int32_t slot_of(const SearchNode *node, int32_t slot)
{
    for (int i = 0; i < node->n_slots; i++)
        if (node->slot[i] == slot)
            return i;
    return -1;
}

static Read read_of(const Making *m, int32_t op, int operand)
{
    const Inferred *inferred = m->to->inferred;
    const SearchNode *node = &m->to->nodes.at[m->to->node_of_op[op]];
    bool leaf;
    Read read = {.node = m->to->node_of_op[op],
                 .space = inferred->space[op],
                 .operand = operand,
                 .phase = inferred->graph->phase ? 1 + (inferred->graph->phase[op] == PHASE_AGAIN
                                                            ? PHASE_BACKWARD
                                                            : inferred->graph->phase[op])
                                                 : 0,
                 .slot = -1};
    if (making_may_pass(m, op, operand, &leaf)) {
        read.slot = slot_of(node, making_slot(inferred, op));
        read.linear = program_space(inferred, op)->operand[operand].linear;
        read.leaf = leaf;
        read.sum = node->kind == NODE_SUM && read.linear == LINEAR_TOGETHER;
    }
    return read;
}

static const Read *reads_of(Making *m, int32_t tensor, int *n)
{
    const Inferred *inferred = m->to->inferred;
    const Graph *graph = inferred->graph;
    const int32_t *use = graph->uses + graph->tensors[tensor].use;
    Vec(Read) reads = {0};
    for (int u = 0; u < tensor_n_uses(graph, tensor); u++) {
        if ((u > 0 && use[u] == use[u - 1]) || inferred_is_host(inferred, use[u]) ||
            m->to->node_of_op[use[u]] < 0)
            continue;
        for (int o = 0; o < graph->ops[use[u]].n_inputs; o++)
            if (op_inputs(graph, use[u])[o] == tensor)
                vec_push(m->scratch, &reads, read_of(m, use[u], o));
    }
    *n = reads.n;
    return reads.at;
}

/* Where the value comes from; false: it costs nothing to have it. */
static bool source_of(Making *m, int32_t tensor, Carried *out)
{
    const Inferred *inferred = m->to->inferred;
    const Graph *graph = inferred->graph;
    int32_t maker = graph->tensors[tensor].maker;
    out->tensor = tensor;
    out->space = out->operand = out->slot = -1;
    out->weight = 1;
    if (inferred->shape[tensor] < 0 || tensor_is_known(inferred, tensor))
        return false;
    if (maker < 0) {
        out->node = m->to->node_of_tensor[tensor];
        out->how = AS_STORED;
        return out->node >= 0;
    }
    if (inferred_is_host(inferred, maker) || m->to->node_of_op[maker] < 0)
        return false;
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
    out->weight = inferred_repeat(inferred, maker);
    return true;
}

static bool is_pinned_in_use(const Making *m, int32_t tensor)
{
    const Plan *plan = m->to->session->plan;
    for (int d = 0; d < program_shape(m->to->inferred, tensor)->n_dims; d++) {
        const Decision *pin = plan_pin_of(plan, PIN_TENSOR_DIM, tensor, d);
        if (pin && !pin->store)
            return true;
    }
    return false;
}

static void find_values(Values *v)
{
    Making *m = v->m;
    const Inferred *inferred = m->to->inferred;
    bool pins = m->to->session->plan->decided->n_pins > 0;
    for (int32_t t = 0; t < inferred->graph->n_tensors; t++) {
        Carried value = {0};
        if (!source_of(m, t, &value))
            continue;
        value.reads = reads_of(m, t, &value.n_reads);
        if (value.how == AS_MADE && pins && is_pinned_in_use(m, t))
            value.how = PINNED;
        int32_t head[] = {value.node,
                          value.space,
                          value.operand,
                          value.slot,
                          value.how,
                          inferred->dtype[t],
                          inferred->shape[t],
                          pins ? making_pins_of(m, v->pins, t) : 0,
                          (int32_t)value.weight};
        enum { HEAD = sizeof head / sizeof *head };
        int32_t *key = arena_array(m->scratch, int32_t, HEAD + READ_WORDS * value.n_reads);
        memcpy(key, head, sizeof head);
        if (value.n_reads > 0)
            memcpy(key + HEAD, value.reads, sizeof *value.reads * (size_t)value.n_reads);
        int32_t id =
            intern_put(v->alike, key, sizeof *key * (size_t)(HEAD + READ_WORDS * value.n_reads));
        if (id == v->values.n)
            vec_push(m->scratch, &v->values, value);
        else
            v->values.at[id].weight += value.weight;
    }
}

/* ---- what is found, what is needed ---- */

static int32_t pinned_as(Making *m, int32_t tensor, int32_t made)
{
    const Plan *plan = m->to->session->plan;
    Sharding as = sharding_without_partial(shardings_at(m->to->as->shardings, made));
    AtomSet axes = 0;
    uint32_t pinned = 0;
    for (int d = 0; d < as.n_dims; d++) {
        const Decision *pin = plan_pin_of(plan, PIN_TENSOR_DIM, tensor, d);
        if (!pin || pin->store)
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
    int32_t target, phase; /* phase 0: one move serves all */
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

static bool same_dims_without(Making *m, const Sharding *has, const Sharding *need, AtomSet drop)
{
    for (int64_t d = 0; d < has->n_dims; d++) {
        Cut less = cut_without(&has->dim[d], drop, m->to->as->mesh);
        if (!cut_equal(&has->dim[d], &need->dim[d]) && !cut_equal(&less, &need->dim[d]))
            return false;
    }
    return true;
}

/* Over which atoms the reader reads it partial, as the rules of core/plan/partial_values.h have
 * it; false: the choice says otherwise. */
static bool passes_as(Making *m, const Read *read, int32_t has, int32_t need, AtomSet used,
                      AtomSet passed, AtomSet *out)
{
    const Sharding *as = shardings_at(m->to->as->shardings, has);
    AtomSet atoms = sharding_only_sums(as) ? sharding_partials(as) : 0;
    if (atoms & used)
        atoms = 0;
    *out = passed;
    if (read->sum) {
        bool joins = (atoms & ~passed) == 0 &&
                     same_dims_without(m, as, shardings_at(m->to->as->shardings, need), passed);
        return passed == 0 || atoms == passed || joins;
    }
    if (read->leaf || read->linear == LINEAR_ALONE)
        return passed == atoms;
    return passed == 0 || passed == atoms;
}

static void ask(Making *m, const Read *read, int32_t has, int32_t choice, Demands *out)
{
    const SearchNode *node = &m->to->nodes.at[read->node];
    const OpSpace *space = m->to->inferred->spaces[read->space];
    int32_t need = instance_layouts(m->to, read->node, read->space, read->operand)[choice];
    const DimFactors *factors = space->operand[read->operand].factors;
    bool parts = false;
    for (int d = 0; d < space->operand[read->operand].projection.n_dims; d++)
        parts |= !factors[d].exact && factors[d].n > 0;
    if (parts && !space->no_rule && has != need) {
        OpCut cut = instance_cut(m->to, read->node, choice, read->space);
        Sharding as = *shardings_at(m->to->as->shardings, need);
        if (op_cut_read_parts(space, &cut, read->operand, shardings_at(m->to->as->shardings, has),
                              m->to->as->mesh, &as))
            need = shardings_put(m->to->as->shardings, &as);
    }
    if (read->slot >= 0) {
        AtomSet used = (AtomSet)instance_layouts(m->to, read->node, read->space, USED)[choice];
        AtomSet passed = node->passed[(int64_t)choice * node->n_slots + read->slot], atoms;
        if (!passes_as(m, read, has, need, used, passed, &atoms)) {
            out->forbidden = true;
            return;
        }
        need = making_with_sums(m, need, atoms);
    }
    if (need == has)
        return;
    Demand demand = {need, read->phase > 0 && grows(m, has, need) ? read->phase : 0};
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
    return (Classes){0, arena_array(m->to->arena, int32_t, n), arena_array(m->scratch, int32_t, n)};
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
    int32_t node;
    int n;
    const Read **read;
    Classes classes;
} Reader;

static Classes need_classes(Making *m, const Reader *reader)
{
    const SearchNode *node = &m->to->nodes.at[reader->node];
    Classes out = classes_new(m, node->n);
    Intern *alike = intern_new(m->scratch);
    int32_t *key = arena_array(m->scratch, int32_t, 3 * reader->n);
    for (int32_t c = 0; c < node->n; c++) {
        int n = 0;
        for (int i = 0; i < reader->n; i++) {
            const Read *r = reader->read[i];
            const DimFactors *factors =
                m->to->inferred->spaces[r->space]->operand[r->operand].factors;
            bool by_cut = false;
            for (int d = 0; d < DIMS_MAX; d++)
                by_cut |= !factors[d].exact && factors[d].n > 0;
            key[n++] = instance_layouts(m->to, r->node, r->space, r->operand)[c];
            key[n++] =
                r->slot < 0 ? 0 : (int32_t)node->passed[(int64_t)c * node->n_slots + r->slot];
            key[n++] = by_cut        ? c
                       : r->slot < 0 ? 0
                                     : instance_layouts(m->to, r->node, r->space, USED)[c];
        }
        put_class(&out, alike, c, key, n);
    }
    return out;
}

static Reader *readers_of(Making *m, const Carried *value, int *n)
{
    Reader *out = arena_array(m->scratch, Reader, value->n_reads);
    *n = 0;
    for (int i = 0; i < value->n_reads; i++) {
        int at = 0;
        while (at < *n && out[at].node != value->reads[i].node)
            at++;
        if (at == *n) {
            out[(*n)++] = (Reader){.node = value->reads[i].node};
            out[at].read = arena_array(m->scratch, const Read *, value->n_reads);
        }
        out[at].read[out[at].n++] = &value->reads[i];
    }
    for (int i = 0; i < *n; i++)
        out[i].classes = need_classes(m, &out[i]);
    return out;
}

static Demands demands_of(Making *m, const Reader *reader, int32_t has, int32_t choice)
{
    Demands out = {0};
    for (int i = 0; i < reader->n && !out.forbidden; i++)
        ask(m, reader->read[i], has, choice, &out);
    return out;
}

/* Whether the reader's needs are what the parameter was taken to be used as. alone: it is the only
 * reader; then the parameter is whole only if its own needs differ. */
static bool agrees(Making *m, const Carried *value, const Reader *reader, bool alone, int32_t made,
                   int32_t choice)
{
    const SearchNode *node = &m->to->nodes.at[value->node];
    if (value->operand >= 0 || node->kind != NODE_PARAMETER || reader->node == value->node)
        return true;
    const ParameterChoice *stored = &node->stored[made];
    bool same = true;
    int32_t first = -1;
    for (int i = 0; i < reader->n; i++) {
        const Read *r = reader->read[i];
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
    Reader *readers;
    int n_readers, n_users; /* of them, all but its own node, which updates a parameter */
    Dtype dtype;
} Moves;

static int32_t has_of(const Moves *s, int32_t class)
{
    int32_t made, has;
    found_as(s->m, s->value, s->found.first[class], &made, &has);
    return has;
}

static MoveTable table_new(const Moves *s, int32_t a, const Classes *by_a, int32_t b,
                           const Classes *by_b, double weight)
{
    Arena *arena = s->m->to->arena;
    MoveTable table = {.a = a, .b = b, .weight = weight, .n_a = by_a->n, .n_b = by_b ? by_b->n : 1};
    table.class_a = by_a->of;
    table.class_b = by_b ? by_b->of : NULL;
    table.first = arena_array(arena, int32_t, (int64_t)table.n_a * table.n_b + 1);
    table.forbidden = arena_array(arena, bool, (int64_t)table.n_a *table.n_b);
    return table;
}

static void put_move(const Moves *s, int32_t from, int32_t to, int times)
{
    Instance *instance = s->m->to;
    if (from != to && !solve_stopped(&s->m->clock))
        vec_push(instance->arena, &instance->moves,
                 (Move){prices_ask(instance->prices, s->dtype, from, to), times});
}

/* The next entry of the table begins behind the moves so far. */
static void end_entry(const Moves *s, MoveTable *table, int64_t at)
{
    table->first[at + 1] = s->m->to->moves.n;
}

static void add_table(const Moves *s, const MoveTable *table)
{
    bool any = table->first[(int64_t)table->n_a * table->n_b] > table->first[0];
    for (int64_t i = 0; i < (int64_t)table->n_a * table->n_b; i++)
        any |= table->forbidden[i];
    if (any)
        vec_push(s->m->to->arena, &s->m->to->tables, *table);
}

/* What is moved where a pin, an output or the next step asks for it, whoever reads. */
static void add_own_moves(const Moves *s)
{
    const SearchNode *node = &s->m->to->nodes.at[s->value->node];
    if (s->value->operand < 0 || s->value->how == AS_MADE)
        return;
    Classes own = each(s->m, node->n);
    MoveTable table = table_new(s, s->value->node, &own, -1, NULL, s->value->weight);
    table.first[0] = s->m->to->moves.n;
    for (int32_t c = 0; c < node->n; c++) {
        int32_t made, has;
        found_as(s->m, s->value, c, &made, &has);
        put_move(s, made, has, 1);
        end_entry(s, &table, c);
    }
    add_table(s, &table);
}

static void put_demands(const Moves *s, int32_t has, const Demands *demands,
                        const SharedChoice *shared)
{
    for (int i = 0; i < demands->n; i++) {
        const Demand *d = &demands->at[i];
        bool is_shared = shared && shared->target == d->target &&
                         (d->phase == 0 || shared->phases >> d->phase & 1);
        if (!is_shared)
            put_move(s, has, d->target, 1);
    }
}

/* Maker and one reader. moves: each move is counted, for this reader alone; else the table only
 * forbids what does not agree. */
static void add_pair(const Moves *s, const Reader *reader, bool moves)
{
    Making *m = s->m;
    MoveTable table =
        table_new(s, s->value->node, &s->found, reader->node, &reader->classes, s->value->weight);
    table.first[0] = m->to->moves.n;
    for (int i = 0; i < s->found.n; i++) {
        int32_t has = has_of(s, i);
        for (int j = 0; j < reader->classes.n; j++) {
            int32_t choice = reader->classes.first[j];
            int64_t at = (int64_t)i * reader->classes.n + j;
            Demands demands = {0};
            if (moves)
                demands = demands_of(m, reader, has, choice);
            table.forbidden[at] = demands.forbidden || !agrees(m, s->value, reader, s->n_users == 1,
                                                               s->found.first[i], choice);
            put_demands(s, has, &demands, NULL);
            end_entry(s, &table, at);
        }
    }
    add_table(s, &table);
}

/* ---- moves that several readers share ---- */

typedef struct {
    const Moves *moves;
    Vec(SharedChoice) choices;
} Sharing;

/* Adds, for a sharding as found, the targets that at least two readers may ask for. */
static void add_targets(Sharing *sharing, int32_t has)
{
    const Moves *s = sharing->moves;
    Arena *scratch = s->m->scratch;
    Intern *targets = intern_new(scratch);
    Vec(int) n_asking = {0}, last = {0};
    Vec(unsigned) phases = {0};
    for (int r = 0; r < s->n_readers; r++)
        for (int j = 0; j < s->readers[r].classes.n; j++) {
            Demands demands = demands_of(s->m, &s->readers[r], has, s->readers[r].classes.first[j]);
            for (int i = 0; i < demands.n && !demands.forbidden; i++) {
                int32_t id = intern_put(targets, &demands.at[i].target, sizeof(int32_t));
                if (id == n_asking.n) {
                    vec_push(scratch, &n_asking, 0);
                    vec_push(scratch, &phases, 0);
                    vec_push(scratch, &last, -1);
                }
                assert(n_asking.at && last.at && phases.at);
                n_asking.at[id] += last.at[id] != r;
                last.at[id] = r;
                if (demands.at[i].phase)
                    phases.at[id] |= 1u << demands.at[i].phase;
            }
        }
    for (int32_t id = 0; id < n_asking.n; id++) {
        int32_t target = *(const int32_t *)intern_key(targets, id, NULL);
        if (n_asking.at[id] < 2 || prices_free(s->m->to->prices, s->dtype, has, target))
            continue;
        unsigned all = phases.at[id], first = all & (~all + 1);
        vec_push(s->m->to->arena, &sharing->choices, (SharedChoice){has, target, all});
        if (first != all)
            vec_push(s->m->to->arena, &sharing->choices, (SharedChoice){has, target, first});
    }
}

static int n_phases(unsigned phases)
{
    int n = 0;
    for (; phases; phases &= phases - 1)
        n++;
    return n ? n : 1;
}

/* The node that pays for a shared move, its tables with the maker and with all readers. */
static void add_shared(const Moves *s, const Sharing *sharing)
{
    Making *m = s->m;
    int n = sharing->choices.n;
    const SharedChoice *choice = sharing->choices.at;
    SearchNode node = {.kind = NODE_SHARED, .place = s->value->tensor, .n = n, .shared = choice};
    int32_t at = making_add_node(m, node);
    Classes own = each(m, n);
    MoveTable paid = table_new(s, at, &own, -1, NULL, s->value->weight);
    paid.first[0] = m->to->moves.n;
    for (int i = 0; i < n; i++) {
        if (choice[i].target >= 0)
            put_move(s, choice[i].made, choice[i].target, n_phases(choice[i].phases));
        end_entry(s, &paid, i);
    }
    add_table(s, &paid);
    MoveTable same = table_new(s, s->value->node, &s->found, at, &own, 1);
    for (int64_t i = 0; i <= (int64_t)s->found.n * n; i++)
        same.first[i] = m->to->moves.n;
    for (int i = 0; i < s->found.n; i++)
        for (int j = 0; j < n; j++)
            same.forbidden[(int64_t)i * n + j] = has_of(s, i) != choice[j].made;
    add_table(s, &same);
    for (int r = 0; r < s->n_readers; r++) {
        const Reader *reader = &s->readers[r];
        MoveTable table = table_new(s, at, &own, reader->node, &reader->classes, s->value->weight);
        table.first[0] = m->to->moves.n;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < reader->classes.n; j++) {
                int64_t entry = (int64_t)i * reader->classes.n + j;
                Demands demands = demands_of(m, reader, choice[i].made, reader->classes.first[j]);
                table.forbidden[entry] = demands.forbidden;
                put_demands(s, choice[i].made, &demands, &choice[i]);
                end_entry(s, &table, entry);
            }
        add_table(s, &table);
    }
}

static void add_value(Making *m, const Carried *value)
{
    Moves s = {.m = m, .value = value, .dtype = (Dtype)m->to->inferred->dtype[value->tensor]};
    s.found = found_classes(m, value);
    s.readers = readers_of(m, value, &s.n_readers);
    for (int r = 0; r < s.n_readers; r++)
        s.n_users += s.readers[r].node != value->node;
    add_own_moves(&s);
    Sharing sharing = {.moves = &s};
    Intern *seen = intern_new(m->scratch);
    bool some = false;
    for (int i = 0; i < s.found.n && s.n_readers > 1; i++) {
        int32_t has = has_of(&s, i);
        int n = sharing.choices.n;
        if (intern_find(seen, &has, sizeof has) >= 0)
            continue;
        intern_put(seen, &has, sizeof has);
        vec_push(m->to->arena, &sharing.choices, (SharedChoice){has, -1, 0});
        add_targets(&sharing, has);
        some |= sharing.choices.n > n + 1;
    }
    for (int r = 0; r < s.n_readers; r++)
        add_pair(&s, &s.readers[r], !some);
    if (some)
        add_shared(&s, &sharing);
}

bool making_costs(Making *m, Error *err)
{
    Values values = {m, intern_new(m->scratch), intern_new(m->scratch), {0}};
    making_op_costs(m);
    find_values(&values);
    progress_stage(m->options->progress, "pricing choices", values.values.n);
    for (int i = 0; i < values.values.n; i++) {
        add_value(m, &values.values.at[i]);
        progress_add(m->options->progress, 1);
        if (!making_goes_on(m, err))
            return false;
    }
    return true;
}
