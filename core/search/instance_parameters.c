/* Nodes for what no op of the forward pass makes: parameters as they are stored, inputs. */
#include "core/cost/step_comm.h"
#include "core/plan/edges.h"
#include "core/search/instance_parts.h"

typedef struct {
    Making *m;
    int32_t tensor, update; /* the op of the update that is for it; -1 */
    Intern *needs;          /* Shardings ids that readers may need */
    bool halos;             /* how it lies decides what some reader reads of it */
    int n_nodes;            /* distinct ones that read it */
    int32_t first_node;
    Vec(ParameterChoice) choices;
} Parameter;

/* ---- readers ---- */

static bool is_of_update(const Graph *graph, int32_t op)
{
    return graph->phase && graph->phase[op] == PHASE_UPDATE;
}

/* Adds the shardings behind what an operand is read as with borders of the neighbours' parts. */
static void add_parts(Parameter *p, int32_t node, int32_t space, int operand)
{
    if (!making_reads_as_it_lies(p->m->to->inferred->spaces[space], operand))
        return;
    Shardings *shardings = p->m->to->as->shardings;
    const int32_t *with = instance_layouts(p->m->to, node, space, WITH_HALOS + operand);
    for (int32_t c = 0; c < p->m->to->nodes.at[node].n; c++) {
        Sharding part = sharding_without_halo(shardings_at(shardings, with[c]));
        int32_t id = shardings_put(shardings, &part);
        intern_put(p->needs, &id, sizeof id);
    }
    p->halos = true;
}

/* Adds what an op may need of the tensor, and to the key where the need comes from. */
static void add_reads(Parameter *p, int32_t op, int32_t *key, int *n)
{
    const Inferred *inferred = p->m->to->inferred;
    int32_t node = p->m->to->node_of_op[op];
    for (int o = 0; node >= 0 && o < inferred->graph->ops[op].n_inputs; o++) {
        if (op_inputs(inferred->graph, op)[o] != p->tensor)
            continue;
        const int32_t *ids = instance_layouts(p->m->to, node, inferred->space[op], o);
        for (int32_t c = 0; c < p->m->to->nodes.at[node].n; c++)
            intern_put(p->needs, &ids[c], sizeof ids[c]);
        if (inferred->graph->tensors[p->tensor].kind == TENSOR_INPUT)
            add_parts(p, node, inferred->space[op], o);
        key[(*n)++] = node;
        key[(*n)++] = inferred->space[op];
        key[(*n)++] = o;
        p->n_nodes += p->n_nodes == 0 || (node != p->first_node && p->n_nodes == 1);
        p->first_node = p->n_nodes == 1 ? node : p->first_node;
    }
}

/* ---- choices ---- */

static int32_t whole_of(const Parameter *p)
{
    Sharding whole = sharding_whole(program_shape(p->m->to->inferred, p->tensor));
    return shardings_put(p->m->to->as->shardings, &whole);
}

/* The sharding with `by` on a dim, besides what shards it in use. */
static int32_t stored_by(const Parameter *p, int32_t used, int dim, const Cut *by)
{
    Shardings *shardings = p->m->to->as->shardings;
    Sharding out = *shardings_at(shardings, used);
    out.dim[dim] = cut_stored(&out.dim[dim], by, p->m->to->as->mesh);
    return shardings_put(shardings, &out);
}

/* The first dim that axes divide further: as the policies' zero has it. */
static const Cut *dim_to_store(Parameter *p, int32_t used, AtomSet atoms, int *dim)
{
    const Mesh *mesh = p->m->to->as->mesh;
    const Sharding *as = shardings_at(p->m->to->as->shardings, used);
    const Shape *shape = program_shape(p->m->to->inferred, p->tensor);
    uint8_t list[ATOMS_MAX];
    int n = mesh_list_set(mesh, atoms, list);
    for (*dim = 0; *dim < as->n_dims; ++*dim) {
        Cut *by = arena_make(p->m->to->arena, Cut);
        *by = cut_by(shape->dim[*dim], list, n, mesh);
        Cut stored = cut_stored(&as->dim[*dim], by, mesh);
        if (cut_local_size(&as->dim[*dim], mesh, 0) % mesh_atoms_size(mesh, atoms) == 0 &&
            !cut_is_uneven(&stored, mesh))
            return by;
    }
    return NULL;
}

static void add_choice(Parameter *p, ParameterChoice choice)
{
    vec_push(p->m->to->arena, &p->choices, choice);
}

/* Stored as it is used, and sharded further by every set of axes that the use leaves free. */
static void add_stored(Parameter *p, ParameterChoice choice)
{
    const Mesh *mesh = p->m->to->as->mesh;
    AtomSet used = sharding_atoms(shardings_at(p->m->to->as->shardings, choice.used));
    choice.stored = choice.updated = choice.used;
    add_choice(p, choice);
    static const uint8_t levels[] = {STORED_STATES, STORED_GRADIENT | STORED_STATES, STORED_ALL};
    int first = plan_micro_batches(p->m->to->session->plan) == 1; /* its gradient is reduced once */
    for (int axes = 1; axes < 1 << mesh->n_axes; axes++) {
        AtomSet atoms = 0;
        for (int a = 0; a < mesh->n_axes; a++)
            atoms |= axes >> a & 1 ? mesh_axis_atoms(mesh, a) : 0;
        const Cut *by = atoms & (used | p->m->barred) || !atoms
                            ? NULL
                            : dim_to_store(p, choice.used, atoms, &choice.dim);
        for (size_t i = p->update < 0 ? 2 : (size_t)first; by && i < sizeof levels; i++) {
            choice.values = levels[i];
            choice.each = levels[i] & STORED_GRADIENT;
            choice.by = by;
            choice.updated = stored_by(p, choice.used, choice.dim, by);
            choice.stored = levels[i] & STORED_PARAMETER ? choice.updated : choice.used;
            add_choice(p, choice);
        }
    }
}

/* The pins of how it lies: it has those dims so, whatever is needed of it. */
static int32_t pinned_use(const Parameter *p, int32_t used, bool *pinned)
{
    const Plan *plan = p->m->to->session->plan;
    Sharding as = *shardings_at(p->m->to->as->shardings, used);
    const Decision *pins[DIMS_MAX] = {0};
    AtomSet axes = 0;
    for (int d = 0; d < as.n_dims; d++) {
        const Decision *pin = plan_pin_of(plan, PIN_TENSOR_DIM, p->tensor, d);
        if (!pin || pin->store || pin->open)
            continue;
        pins[d] = pin;
        axes |= cut_atoms(decision_cut(pin));
        *pinned = true;
    }
    for (int d = 0; d < as.n_dims; d++)
        if (pins[d])
            as.dim[d] = *decision_cut(pins[d]);
        else if (cut_atoms(&as.dim[d]) & axes)
            as.dim[d] = cut_without(&as.dim[d], axes, plan->mesh);
    return *pinned ? shardings_put(p->m->to->as->shardings, &as) : used;
}

static bool has_store_pins(const Parameter *p)
{
    const Plan *plan = p->m->to->session->plan;
    for (int d = 0; d < program_shape(p->m->to->inferred, p->tensor)->n_dims; d++) {
        const Decision *pin = plan_store_pin_of(plan, p->tensor, d);
        if (pin && pin->store)
            return true;
    }
    return false;
}

static void add_use(Parameter *p, int32_t used, bool agreed)
{
    bool pinned = false;
    ParameterChoice choice = {.used = pinned_use(p, used, &pinned), .agreed = agreed};
    choice.agreed = agreed && !pinned;
    choice.pinned = pinned;
    for (int i = 0; i < p->choices.n; i++)
        if (p->choices.at[i].used == choice.used && p->choices.at[i].agreed == choice.agreed)
            return;
    if (!has_store_pins(p)) {
        if (p->update >= 0 || p->m->options->store)
            add_stored(p, choice);
        else {
            choice.stored = choice.updated = choice.used;
            add_choice(p, choice);
        }
        return;
    }
    choice.each = plan_stores(p->m->to->session->plan, p->tensor, STORED_GRADIENT);
    choice.stored = stored_as_pinned(p->m->to->as, p->tensor, STORED_PARAMETER, choice.used);
    choice.updated = stored_as_pinned(p->m->to->as, p->tensor, STORED_STATES, choice.stored);
    add_choice(p, choice);
}

/* ---- nodes ---- */

/* The nodes made so far by what they are alike in. */
typedef struct {
    Intern *alike, *pins;
    Vec(int32_t) node;
} Known;

static void add_parameter(Making *m, Known *known, const int32_t *update_of, int32_t tensor)
{
    const Inferred *inferred = m->to->inferred;
    const Graph *graph = inferred->graph;
    Parameter p = {.m = m, .tensor = tensor, .update = update_of[tensor]};
    p.needs = intern_new(m->scratch);
    const int32_t *use = graph->uses + graph->tensors[tensor].use;
    int n_uses = tensor_n_uses(graph, tensor), n = 0;
    int32_t *key = arena_array(m->scratch, int32_t, 8 + 3 * 8 * n_uses);
    for (int u = 0; u < n_uses; u++)
        if ((u == 0 || use[u] != use[u - 1]) && !inferred_is_host(inferred, use[u]))
            add_reads(&p, use[u], key, &n);
    if (p.n_nodes == 0 ||
        (p.update < 0 && p.n_nodes < 2 && !m->options->store && !has_store_pins(&p)))
        return;
    key[n++] = p.update < 0 ? -1 : inferred->space[p.update];
    key[n++] = inferred->dtype[tensor];
    key[n++] = making_pins_of(m, known->pins, tensor);
    int32_t id = intern_put(known->alike, key, sizeof *key * (size_t)n);
    if (id == known->node.n) {
        for (int32_t i = 0; i < intern_count(p.needs); i++)
            add_use(&p, *(const int32_t *)intern_key(p.needs, i, NULL), true);
        add_use(&p, whole_of(&p), false);
        SearchNode node = {.kind = NODE_PARAMETER, .place = tensor, .n = p.choices.n};
        node.stored = p.choices.at;
        int32_t added = making_add_node(m, node);
        vec_push(m->scratch, &known->node, added);
    }
    m->to->node_of_tensor[tensor] = known->node.at[id];
}

/* An input is given as some reader needs it, as parts whose borders some reader reads, or whole.
 * With one reader that needs all of it it follows from that. */
static void add_input(Making *m, int32_t tensor)
{
    bool pinned = false;
    const Inferred *inferred = m->to->inferred;
    const Graph *graph = inferred->graph;
    Parameter p = {.m = m, .tensor = tensor, .update = -1};
    p.needs = intern_new(m->scratch);
    const int32_t *use = graph->uses + graph->tensors[tensor].use;
    int n_uses = tensor_n_uses(graph, tensor), n = 0;
    int32_t *key = arena_array(m->scratch, int32_t, 3 * 8 * n_uses), whole = whole_of(&p);
    for (int u = 0; u < n_uses; u++)
        if ((u == 0 || use[u] != use[u - 1]) && !inferred_is_host(inferred, use[u]))
            add_reads(&p, use[u], key, &n);
    pinned_use(&p, whole, &pinned);
    if (p.n_nodes == 0 || (p.n_nodes == 1 && !pinned && !p.halos))
        return;
    intern_put(p.needs, &whole, sizeof whole);
    Intern *given = intern_new(m->scratch);
    for (int32_t i = 0; i < intern_count(p.needs); i++) {
        int32_t id = pinned_use(&p, *(const int32_t *)intern_key(p.needs, i, NULL), &pinned);
        intern_put(given, &id, sizeof id);
    }
    SearchNode node = {.kind = NODE_INPUT, .place = tensor, .n = intern_count(given)};
    int32_t *ids = arena_array(m->to->arena, int32_t, node.n);
    for (int32_t i = 0; i < node.n; i++)
        ids[i] = *(const int32_t *)intern_key(given, i, NULL);
    node.sharding = ids;
    m->to->node_of_tensor[tensor] = making_add_node(m, node);
}

void making_tensor_nodes(Making *m)
{
    const Inferred *inferred = m->to->inferred;
    const Graph *graph = inferred->graph;
    Known known = {intern_new(m->scratch), intern_new(m->scratch), {0}};
    int32_t *update_of = arena_array(m->scratch, int32_t, graph->n_tensors);
    memset(update_of, -1, sizeof *update_of * (size_t)graph->n_tensors);
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t of = stored_updated(graph, inferred->program[i]);
        if (of >= 0 && update_of[of] < 0)
            update_of[of] = inferred->program[i];
    }
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        if (inferred->shape[t] < 0 || tensor_is_known(inferred, t))
            continue;
        if (graph->tensors[t].kind == TENSOR_INITIALIZER)
            add_parameter(m, &known, update_of, t);
        else if (graph->tensors[t].kind == TENSOR_INPUT)
            add_input(m, t);
    }
    int32_t fixed = -1;
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i], of = stored_updated(graph, op);
        int32_t first = of >= 0 || !is_of_update(graph, op) ? -1 : op_inputs(graph, op)[0];
        int32_t maker = first < 0 ? -1 : graph->tensors[first].maker;
        if (of >= 0)
            m->to->node_of_op[op] = m->to->node_of_tensor[of];
        else if (maker >= 0 && is_of_update(graph, maker) && !inferred_is_host(inferred, maker))
            m->to->node_of_op[op] = m->to->node_of_op[maker]; /* as what it reads is made */
        if (m->to->node_of_op[op] >= 0)
            continue;
        if (fixed < 0)
            fixed = making_add_node(m, (SearchNode){.kind = NODE_FIXED, .place = -1, .n = 1});
        m->to->node_of_op[op] = fixed;
    }
}
