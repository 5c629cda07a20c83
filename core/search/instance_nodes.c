/* Nodes for ops of the forward pass, with their gradients, and for sums of gradients. */
#include "core/search/instance_parts.h"
#include "core/space/gradient.h"

#include <assert.h>

/* ---- which ops share a node ---- */

static int32_t copied_from(const Graph *graph, int32_t tensor)
{
    int32_t maker = graph->tensors[tensor].maker;
    if (maker < 0 || !graph->phase || graph->phase[maker] != PHASE_AGAIN)
        return -1;
    for (int o = 0; o < graph->ops[maker].n_outputs; o++)
        if (op_outputs(graph, maker)[o] == tensor)
            return op_outputs(graph, graph->of[maker])[o];
    return -1;
}

const Decision *making_use_pin(const Making *m, int32_t tensor, int dim)
{
    const Plan *plan = m->to->session->plan;
    const Decision *pin = plan_pin_of(plan, PIN_TENSOR_DIM, tensor, dim);
    int32_t of = pin ? -1 : copied_from(m->to->inferred->graph, tensor);
    if (of >= 0)
        pin = plan_pin_of(plan, PIN_TENSOR_DIM, of, dim);
    return pin && !pin->store ? pin : NULL;
}

int32_t making_pins_of(const Making *m, Intern *pins, int32_t tensor)
{
    const Plan *plan = m->to->session->plan;
    const Shape *shape = tensor < 0 ? NULL : inferred_shape(m->to->inferred, tensor);
    Vec(int32_t) key = {0};
    for (int d = 0; shape && plan->decided->n_pins > 0 && d < shape->n_dims; d++) {
        const Decision *pin = making_use_pin(m, tensor, d);
        const Decision *both[] = {pin, plan_store_pin_of(plan, tensor, d)};
        for (int i = 0; i < 2; i++) {
            if (!both[i] || (i == 1 && both[1] == pin))
                continue;
            const Cut *cut = decision_cut(both[i]);
            vec_push(m->scratch, &key, d);
            vec_push(m->scratch, &key, both[i]->store | both[i]->keep << 8);
            vec_push(m->scratch, &key, 1 + intern_put(pins, cut, sizeof *cut));
        }
    }
    return key.n == 0 ? 0 : 1 + intern_put(pins, key.at, sizeof *key.at * (size_t)key.n);
}

enum { RULE, PINS, SIGNATURES };

/* Ops with one signature are of one rule (RULE), and equally pinned (PINS). */
static void put_signatures(Making *m, const Inferred *of, int32_t *signature[SIGNATURES])
{
    const Graph *graph = of->graph;
    const Plan *plan = m->to->session->plan;
    Intern *alike = intern_new(m->scratch), *pins = intern_new(m->scratch);
    for (int i = 0; i < of->n_program; i++) {
        int32_t op = of->program[i];
        const GraphOp *node = &graph->ops[op];
        enum { HEAD = 3, MOST = 64 };
        int32_t key[MOST] = {node->op_type, node->attrs, of->space[op]}, n = HEAD;
        signature[RULE][op] = intern_put(alike, key, sizeof *key * HEAD);
        for (int o = 0; o < node->n_inputs + node->n_outputs && n < MOST / 2; o++)
            key[n++] = making_pins_of(m, pins, graph->operands[node->input + o]);
        for (int j = 0; j < program_space(of, op)->n_index; j++) {
            const Decision *pin = plan_pin_of(plan, PIN_INDEX_DIM, op, j);
            const Cut *cut = pin ? decision_cut(pin) : NULL;
            key[n++] = cut ? 1 + intern_put(pins, cut, sizeof *cut) : 0;
        }
        signature[PINS][op] = intern_put(alike, key, sizeof *key * (size_t)n);
    }
}

/* The first group of its stretch that is pinned as it is, whatever stands between them. */
static int32_t tied_to(const Groups *groups, int32_t at)
{
    int32_t head = groups->groups[at].alike;
    for (int i = 0; i < groups->groups[head].alike_n; i++) {
        int32_t member = groups_member(groups, head, i);
        if (member >= at || groups_difference(groups, member, at) < 0)
            return member < at ? member : at;
    }
    return at;
}

/* Equal layers are tied to the first of them. */
static const int32_t *making_leaders(Making *m)
{
    const Inferred *inferred = m->to->inferred, *of = inferred->forward;
    int32_t *leader = arena_array(m->to->arena, int32_t, inferred->graph->n_ops);
    int32_t *signature[SIGNATURES];
    for (int32_t op = 0; op < inferred->graph->n_ops; op++)
        leader[op] = op;
    if (m->options->unfold)
        return leader;
    of = of ? of : inferred;
    for (int i = 0; i < SIGNATURES; i++)
        signature[i] = arena_array(m->scratch, int32_t, of->graph->n_ops);
    put_signatures(m, of, signature);
    Groups *groups = groups_build(m->scratch, of->graph, of->program, of->n_program,
                                  signature[PINS], signature[RULE]);
    int32_t *shift = arena_array(m->scratch, int32_t, groups->n_groups);
    for (int g = 0; g < groups->n_groups; g++) {
        const Group *group = &groups->groups[g];
        int32_t above = group->parent < 0 ? 0 : shift[group->parent];
        shift[g] = above + groups->groups[tied_to(groups, g)].first - group->first;
    }
    for (int i = 0; i < groups->n_order; i++) {
        int32_t op = groups->order[i], lead = groups->order[i + shift[groups->group_of[op]]];
        leader[op] = signature[PINS][lead] == signature[PINS][op] ? lead : op;
        m->to->folded |= leader[op] != op;
    }
    return leader;
}

/* ---- pins ---- */

static bool keeps_pins(const Making *m, int32_t op, const OpCut *cut)
{
    const Plan *plan = m->to->session->plan;
    const Graph *graph = m->to->inferred->graph;
    const OpSpace *space = program_space(m->to->inferred, op);
    for (int j = 0; j < space->n_index; j++) {
        const Decision *pin = plan_pin_of(plan, PIN_INDEX_DIM, op, j);
        if (pin && !(pin->open ? cut_refines(&cut->index[j], decision_cut(pin), plan->mesh)
                               : cut_equal(&cut->index[j], decision_cut(pin))))
            return false;
    }
    for (int o = 0; o < space->n_inputs && !space->no_rule; o++) {
        int32_t t = op_inputs(graph, op)[o];
        if (t < 0 || space->operand[o].absent || space->operand[o].ignored ||
            !tensor_is_parameter(m->to->inferred, t))
            continue;
        for (int d = 0; d < space->operand[o].projection.n_dims; d++) {
            const Decision *pin = plan_pin_of(plan, PIN_TENSOR_DIM, t, d);
            Cut made;
            if (!pin || pin->store || pin->open)
                continue;
            if (!op_cut_project(space, cut, o, d, plan->mesh, &made))
                made = cut_whole(space->operand[o].shape.dim[d]);
            if (!cut_equal(&made, decision_cut(pin)))
                return false;
        }
    }
    return true;
}

/* Leaves of an op's cuts those that its pins allow. An op whose pins none obeys takes what the
 * session's plan makes of them: so every op has a choice. */
static void obey_pins(Making *m, int32_t op, CutList *cuts, bool *pinned)
{
    int n = 0;
    const OpCut **kept = arena_array(m->to->arena, const OpCut *, cuts->n);
    for (int i = 0; i < cuts->n; i++)
        if (keeps_pins(m, op, cuts->at[i]))
            kept[n++] = cuts->at[i];
    *pinned = n < cuts->n;
    if (n == 0)
        kept[n++] = program_cut(m->to->session->plan, op);
    *cuts = (CutList){n, kept};
}

/* ---- partial values ---- */

static bool is_leaf(const Making *m, int32_t op, int operand)
{
    const Inferred *inferred = m->to->inferred;
    const Gradient *gradient = program_space(inferred, op)->gradient;
    return gradient && operand < gradient->n_reads && gradient->reads[operand].gradient &&
           inferred->forward->on_parameters[inferred->graph->of[op]];
}

bool making_may_pass(const Making *m, int32_t op, int operand, bool *leaf)
{
    const Inferred *inferred = m->to->inferred;
    const OpSpace *space = program_space(inferred, op);
    int32_t t = op_inputs(inferred->graph, op)[operand];
    *leaf = is_leaf(m, op, operand);
    if (t < 0 || inferred->shape[t] < 0 || space->no_rule ||
        (space->operand[operand].linear == LINEAR_NO && !*leaf) || m->n_readers[t] != 1 ||
        inferred->graph->tensors[t].output || m->to->as->mesh->n_axes > PASS_PARTS_MAX)
        return false;
    for (int o = 0; o < space->n_outputs && !*leaf; o++)
        if (shape_elements(&opspace_output(space, o)->shape) >
            shape_elements(&space->operand[operand].shape))
            return false;
    return true;
}

/* The set of parts as bits; -1 if the atoms are not whole parts. */
static int parts_of(const Making *m, AtomSet atoms)
{
    int parts = 0;
    for (int i = 0; i < m->n_parts; i++)
        if ((atoms & m->part[i]) == m->part[i]) {
            parts |= 1 << i;
            atoms &= ~m->part[i];
        }
    return atoms ? -1 : parts;
}

static AtomSet atoms_of(const Making *m, int parts)
{
    AtomSet atoms = 0;
    for (int i = 0; i < m->n_parts; i++)
        if (parts >> i & 1)
            atoms |= m->part[i];
    return atoms;
}

/* Whether the op adds up over an index dim that an output does not have. */
static bool adds_up(const OpSpace *space, int output)
{
    bool adds = false;
    for (int j = 0; j < space->n_index; j++)
        adds |= space->index[j].role == ROLE_REDUCE &&
                !operand_has_index(opspace_output(space, output), j);
    return adds;
}

/* Over which atoms a choice of its node leaves an output a sum to be made. */
static AtomSet sums_of_cut(Making *m, int32_t op, int output, int32_t choice)
{
    const OpSpace *space = program_space(m->to->inferred, op);
    OpCut cut = instance_cut(m->to, m->to->node_of_op[op], choice, m->to->inferred->space[op]);
    Sharding made = op_cut_sharding(space, &cut, space->n_inputs + output, m->to->as->mesh);
    return sharding_only_sums(&made) ? sharding_partials(&made) : 0;
}

/* Splits the parts of which the set has some atoms and not all. Returns false if they are too many
 * then. */
static bool split_parts(Making *m, AtomSet atoms)
{
    for (int i = 0, n = m->n_parts; i < n; i++) {
        AtomSet in = m->part[i] & atoms;
        if (!in || in == m->part[i])
            continue;
        if (m->n_parts == PASS_PARTS_MAX)
            return false;
        m->part[m->n_parts++] = m->part[i] & ~in;
        m->part[i] = in;
    }
    return true;
}

/* Axes, or the parts of axes over which cuts leave values partial. */
static void find_parts(Making *m)
{
    const Inferred *inferred = m->to->inferred;
    const Mesh *mesh = m->to->as->mesh;
    Intern *seen = intern_new(m->scratch);
    bool fits = mesh->n_axes <= PASS_PARTS_MAX;
    for (int a = 0; fits && a < mesh->n_axes; a++)
        if (mesh_axis_atoms(mesh, a))
            m->part[m->n_parts++] = mesh_axis_atoms(mesh, a);
    for (int i = 0; fits && i < inferred->n_program; i++) {
        int32_t op = inferred->program[i], node = m->to->node_of_op[op];
        const OpSpace *space = program_space(inferred, op);
        for (int o = 0; node >= 0 && o < inferred->graph->ops[op].n_outputs; o++) {
            int32_t key[3] = {node, inferred->space[op], o};
            int n = intern_count(seen);
            if (!adds_up(space, o) || intern_put(seen, key, sizeof key) < n)
                continue;
            for (int32_t c = 0; fits && c < m->to->nodes.at[node].n; c++)
                fits = split_parts(m, sums_of_cut(m, op, o, c));
        }
    }
}

/* Over which sets of parts the cuts of its node leave an output partial. */
static PartSets partial_by_cuts(Making *m, Intern *known, PartSets *found, int32_t op, int output)
{
    const Inferred *inferred = m->to->inferred;
    const OpSpace *space = program_space(inferred, op);
    int32_t node = m->to->node_of_op[op];
    int32_t key[3] = {node, inferred->space[op], output};
    int32_t id = intern_put(known, key, sizeof key);
    if (found[id])
        return found[id];
    PartSets sets = 1;
    for (int32_t c = 0; adds_up(space, output) && c < m->to->nodes.at[node].n; c++) {
        int parts = parts_of(m, sums_of_cut(m, op, output, c));
        if (parts >= 0)
            sets |= (PartSets)1 << parts;
    }
    return found[id] = sets;
}

static PartSets joined(PartSets a, PartSets b)
{
    PartSets out = a | b;
    for (int i = 1; i < 64; i++)
        for (int j = 1; a >> i & 1 && j < 64; j++)
            if (b >> j & 1)
                out |= (PartSets)1 << (i | j);
    return out;
}

/* The sets of parts that may pass through an op. */
static PartSets passing(const Making *m, int32_t op)
{
    const Inferred *inferred = m->to->inferred;
    const OpSpace *space = program_space(inferred, op);
    PartSets together = ~(PartSets)0;
    bool any = false, leaf;
    for (int o = 0; o < inferred->graph->ops[op].n_inputs; o++) {
        int32_t t = op_inputs(inferred->graph, op)[o];
        bool may = making_may_pass(m, op, o, &leaf);
        if (may && (leaf || space->operand[o].linear == LINEAR_ALONE) && m->partial[t] > 1)
            return m->partial[t];
        if (space->operand[o].linear != LINEAR_TOGETHER)
            continue;
        together &= may ? m->partial[t] : 1;
        any = true;
    }
    return any ? together : 1;
}

/* An op through which partial values may pass, of a node. */
typedef struct {
    int32_t slot, space;
    PartSets sets;
} SignatureSlot;

typedef Vec(SignatureSlot) Slots;

static void add_slot(Making *m, Slots *slots, int32_t op, PartSets sets)
{
    int32_t slot = making_slot(m->to->inferred, op);
    for (int i = 0; i < slots->n; i++)
        if (slots->at[i].slot == slot) {
            slots->at[i].sets |= sets;
            return;
        }
    vec_push(m->scratch, slots, (SignatureSlot){slot, m->to->inferred->space[op], sets});
}

/* A cast of a gradient is one of a single addend. */
static bool is_sum_of_gradients(const Graph *graph, int32_t op)
{
    int32_t out = op_outputs(graph, op)[0];
    int32_t value = graph->gradient_of && out >= 0 ? graph->gradient_of[out] : -1;
    bool is = value >= 0 && graph->phase[op] == PHASE_BACKWARD;
    for (int i = 0; is && i < graph->ops[op].n_inputs; i++)
        is = op_inputs(graph, op)[i] >= 0 && graph->gradient_of[op_inputs(graph, op)[i]] == value;
    return is && graph->ops[op].n_inputs > 0;
}

/* Follows partial values through the program; per node, the ops that may pass them on. */
static void follow_partials(Making *m, Slots *by_node)
{
    const Inferred *inferred = m->to->inferred;
    const Graph *graph = inferred->graph;
    Intern *known = intern_new(m->scratch);
    PartSets *found = arena_array(m->scratch, PartSets, graph->n_operands + 1);
    find_parts(m);
    m->partial = arena_array(m->scratch, PartSets, graph->n_tensors);
    for (int32_t t = 0; t < graph->n_tensors; t++)
        m->partial[t] = 1;
    for (int i = 0; i < inferred->n_program && m->to->as->mesh->n_axes <= PASS_PARTS_MAX; i++) {
        int32_t op = inferred->program[i], node = m->to->node_of_op[op];
        bool sum = is_sum_of_gradients(graph, op);
        PartSets pass = 1;
        for (int o = 0; sum && o < graph->ops[op].n_inputs; o++)
            pass = joined(pass, m->partial[op_inputs(graph, op)[o]]);
        if (!sum && node >= 0 && (pass = passing(m, op)) > 1)
            add_slot(m, &by_node[node], op, pass);
        for (int o = 0; o < graph->ops[op].n_outputs; o++) {
            int32_t t = op_outputs(graph, op)[o];
            if (t >= 0)
                m->partial[t] =
                    joined(pass, node < 0 ? 1 : partial_by_cuts(m, known, found, op, o));
        }
    }
}

typedef struct {
    Vec(const OpCut *) cut;
    Vec(AtomSet) passed; /* [slots] each */
} Choices;

/* Adds a cut with every combination of what passes through its slots. */
static void add_choices(Making *m, const OpCut *const *cuts, const Slots *slots, int at,
                        AtomSet *passed, Choices *out)
{
    Arena *arena = m->to->arena;
    if (at == slots->n) {
        vec_push(arena, &out->cut, cuts[0]);
        for (int i = 0; i < slots->n; i++)
            vec_push(arena, &out->passed, passed[i]);
        return;
    }
    AtomSet used = cuts_used(cuts[1 + at]->index, cuts[1 + at]->n, -1);
    for (int parts = 0; parts < 1 << m->n_parts; parts++) {
        passed[at] = atoms_of(m, parts);
        if (slots->at[at].sets >> parts & 1 && !(passed[at] & used))
            add_choices(m, cuts, slots, at + 1, passed, out);
    }
}

enum { SLOTS_MAX = 8 };

static void expand(Making *m, int32_t node, Slots *slots)
{
    SearchNode *at = &m->to->nodes.at[node];
    Choices out = {0};
    AtomSet passed[SLOTS_MAX];
    OpCut own[SLOTS_MAX];
    const OpCut *cuts[1 + SLOTS_MAX];
    slots->n = slots->n > SLOTS_MAX ? SLOTS_MAX : slots->n;
    if (slots->n == 0)
        return;
    int32_t *slot = arena_array(m->to->arena, int32_t, slots->n);
    for (int32_t c = 0; c < at->n; c++) {
        cuts[0] = at->cut[c];
        for (int i = 0; i < slots->n; i++) {
            own[i] = instance_cut(m->to, node, c, slots->at[i].space);
            cuts[1 + i] = &own[i];
            slot[i] = slots->at[i].slot;
        }
        add_choices(m, cuts, slots, 0, passed, &out);
    }
    at->set = -1;
    at->n = out.cut.n;
    at->cut = out.cut.at;
    at->passed = out.passed.at;
    at->n_slots = slots->n;
    at->slot = slot;
    making_begin_costs(m, at);
}

/* ---- ops ---- */

/* The op whose cut an op of the program takes; -1: none of the forward pass. */
static int32_t taken_from(const Graph *graph, int32_t op)
{
    if (op_is_forward(graph, op))
        return op;
    if (graph->phase[op] == PHASE_UPDATE || is_sum_of_gradients(graph, op))
        return -1;
    return graph->of[op];
}

static void add_op_node(Making *m, int32_t op)
{
    CutList cuts = m->to->cuts[op];
    SearchNode node = {.kind = NODE_OP, .place = op};
    obey_pins(m, op, &cuts, &node.pinned);
    node.n = cuts.n;
    node.cut = cuts.at;
    m->to->node_of_op[op] = making_add_node(m, node);
}

bool making_op_nodes(Making *m, Error *err)
{
    Instance *to = m->to;
    const Inferred *inferred = to->inferred;
    const Graph *graph = inferred->graph;
    to->leader = making_leaders(m);
    to->cuts = cuts_of_ops(to->arena, inferred, to->as->mesh, to->leader, m->barred,
                           !m->options->coarse, m->options->plans, m->options->n_plans);
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i], of = taken_from(graph, op);
        int32_t lead = of < 0 ? -1 : to->leader[of];
        if (lead < 0 || inferred_is_host(inferred, lead))
            continue;
        if (to->node_of_op[lead] < 0)
            add_op_node(m, lead);
        to->node_of_op[op] = to->node_of_op[lead];
        to->nodes.at[to->node_of_op[op]].n_ops += op_is_forward(graph, op);
    }
    Slots *slots = arena_array(m->scratch, Slots, to->nodes.n);
    follow_partials(m, slots);
    for (int32_t n = 0; n < to->nodes.n; n++)
        expand(m, n, &slots[n]);
    return making_goes_on(m, err);
}

/* ---- sums ---- */

/* Adds the shardings, without what is partial, that an output may be made in. */
static void add_layouts(Making *m, Intern *seen, int32_t tensor)
{
    const Inferred *inferred = m->to->inferred;
    int32_t maker = inferred->graph->tensors[tensor].maker;
    int32_t node = maker < 0 ? -1 : m->to->node_of_op[maker];
    if (node < 0)
        return;
    const GraphOp *op = &inferred->graph->ops[maker];
    for (int o = op->n_inputs; o < op->n_inputs + op->n_outputs; o++) {
        if (inferred->graph->operands[op->input + o] != tensor)
            continue;
        const int32_t *ids = instance_layouts(m->to, node, inferred->space[maker], o);
        for (int32_t c = 0; c < m->to->nodes.at[node].n; c++) {
            Sharding made = sharding_without_partial(shardings_at(m->to->as->shardings, ids[c]));
            int32_t id = shardings_put(m->to->as->shardings, &made);
            intern_put(seen, &id, sizeof id);
        }
    }
}

static OpCut cut_like(const OpSpace *space, const Sharding *as)
{
    OpCut cut = op_cut_whole(space);
    for (int64_t d = 0; d < as->n_dims; d++) {
        const DimFactors *factors = &space->operand[0].factors[d];
        if (factors->n == 1)
            cut.index[factors->index[0]] = as->dim[d];
    }
    return cut;
}

static SearchNode sum_node(Making *m, int32_t op)
{
    const Graph *graph = m->to->inferred->graph;
    const OpSpace *space = program_space(m->to->inferred, op);
    Intern *seen = intern_new(m->scratch);
    for (int i = 0; i < graph->ops[op].n_inputs; i++)
        add_layouts(m, seen, op_inputs(graph, op)[i]);
    add_layouts(m, seen, graph->gradient_of[op_outputs(graph, op)[0]]);
    Slots slot = {0};
    add_slot(m, &slot, op, m->partial[op_outputs(graph, op)[0]]);
    Choices out = {0};
    for (int32_t i = 0; i < intern_count(seen); i++) {
        int32_t id = *(const int32_t *)intern_key(seen, i, NULL);
        OpCut *cut = arena_make(m->to->arena, OpCut);
        *cut = cut_like(space, shardings_at(m->to->as->shardings, id));
        const OpCut *cuts[2] = {cut, cut};
        AtomSet passed[1];
        add_choices(m, cuts, &slot, 0, passed, &out);
    }
    int32_t *of = arena_array(m->to->arena, int32_t, 1);
    of[0] = making_slot(m->to->inferred, op);
    return (SearchNode){.kind = NODE_SUM,
                        .place = op,
                        .n = out.cut.n,
                        .cut = out.cut.at,
                        .n_slots = 1,
                        .slot = of,
                        .passed = out.passed.at};
}

/* Where a value comes from, as a key that equal layers share. */
static void put_source(const Making *m, int32_t tensor, int32_t *key, int *n)
{
    const Graph *graph = m->to->inferred->graph;
    int32_t maker = tensor < 0 ? -1 : graph->tensors[tensor].maker;
    int place = 0;
    for (int o = 0; maker >= 0 && o < graph->ops[maker].n_outputs; o++)
        if (op_outputs(graph, maker)[o] == tensor)
            place = o;
    key[(*n)++] = maker < 0 ? -1 : m->to->node_of_op[maker];
    key[(*n)++] = maker < 0 ? -1 : m->to->inferred->space[maker];
    key[(*n)++] = place;
}

void making_sum_nodes(Making *m)
{
    const Inferred *inferred = m->to->inferred;
    const Graph *graph = inferred->graph;
    Intern *alike = intern_new(m->scratch);
    Vec(int32_t) nodes = {0};
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        if (!is_sum_of_gradients(graph, op))
            continue;
        int n = 0, n_in = graph->ops[op].n_inputs;
        int32_t *key = arena_array(m->scratch, int32_t, 4 + 3 * n_in);
        key[n++] = inferred->space[op];
        put_source(m, graph->gradient_of[op_outputs(graph, op)[0]], key, &n);
        for (int o = 0; o < n_in; o++)
            put_source(m, op_inputs(graph, op)[o], key, &n);
        int32_t id = intern_put(alike, key, sizeof *key * (size_t)n);
        if (id == nodes.n) {
            int32_t node = making_add_node(m, sum_node(m, op));
            vec_push(m->scratch, &nodes, node);
        }
        assert(nodes.at);
        m->to->node_of_op[op] = nodes.at[id];
    }
}
