#include "core/step/stated_step.h"

#include "core/rules/registry.h"

#include <string.h>

enum {
    DEPTH_MAX = 256, /* of elementwise ops in a row */
    LOSSES_TRIED = 8,
    PAIRS_TRIED = 1 << 26
};

typedef struct {
    Arena *arena; /* scratch */
    Graph *graph;
    const StatedParts *parts;
    int32_t loss;
    bool *forward, *backward, *update; /* per op */
    int32_t *next_of_carry; /* per op that makes what a loop carries: the tensor that an iteration
                               hands on; -1 */
    uint8_t *elementwise;   /* per name of an operator: 1 no, 2 yes; 0: not looked up yet */
    uint8_t *pure;          /* per tensor, likewise: see is_pure() */
    int32_t *met;           /* per tensor: the last walk that met it, from 1 */
    int32_t walk, found;    /* the walk's number; the tensor that it found, -1 */
    Vec(StatedPair) pairs, gradients;
} StepFinding;

/* ---- which ops need which ---- */

static int32_t maker_of(const Graph *graph, int32_t tensor)
{
    return tensor < 0 ? -1 : graph->tensors[tensor].maker;
}

/* Ops whose operands are still to be marked. */
typedef struct {
    bool *needed;
    int32_t *stack;
    int n;
} Marking;

static void need(Marking *m, int32_t op)
{
    if (op < 0 || m->needed[op])
        return;
    m->needed[op] = true;
    m->stack[m->n++] = op;
}

/* Marks what marked ops need. What a loop carries needs what its iterations hand on. */
static void mark_needed(const StepFinding *s, bool *needed)
{
    const Graph *graph = s->graph;
    Marking m = {.needed = needed, .stack = arena_array(s->arena, int32_t, graph->n_ops)};
    for (int32_t op = 0; op < graph->n_ops; op++)
        if (needed[op])
            m.stack[m.n++] = op;
    while (m.n > 0) {
        int32_t op = m.stack[--m.n], next = s->next_of_carry[op];
        if (next >= 0)
            need(&m, maker_of(graph, next));
        for (int i = 0; i < graph->ops[op].n_inputs; i++)
            need(&m, maker_of(graph, op_inputs(graph, op)[i]));
    }
}

static void find_carries(StepFinding *s)
{
    const Graph *graph = s->graph;
    s->next_of_carry = arena_array(s->arena, int32_t, graph->n_ops);
    memset(s->next_of_carry, -1, (size_t)graph->n_ops * sizeof *s->next_of_carry);
    for (int c = 0; c < graph->n_carries; c++) {
        int32_t in = maker_of(graph, graph->carries[c].in);
        if (in >= 0)
            s->next_of_carry[in] = graph->carries[c].next;
    }
}

/* Marks what reads the results of marked ops. */
static void mark_followers(const Graph *graph, bool *marked)
{
    for (int32_t op = 0; op < graph->n_ops; op++)
        for (int i = 0; i < graph->ops[op].n_inputs && !marked[op]; i++) {
            int32_t maker = maker_of(graph, op_inputs(graph, op)[i]);
            marked[op] = maker >= 0 && marked[maker];
        }
}

static int named_phase(const StepFinding *s, int32_t op) /* -1: none is named */
{
    int32_t name = s->graph->ops[op].name;
    return s->parts->phase && name < s->parts->n_names ? s->parts->phase[name] - 1 : -1;
}

static void mark_named(const StepFinding *s, bool *marked, bool backward)
{
    for (int32_t op = 0; op < s->graph->n_ops; op++) {
        int phase = named_phase(s, op);
        marked[op] |=
            backward ? phase == PHASE_BACKWARD || phase == PHASE_AGAIN : phase == PHASE_FORWARD;
    }
}

static bool has_named(const StepFinding *s)
{
    for (int32_t op = 0; op < s->graph->n_ops; op++)
        if (named_phase(s, op) >= 0)
            return true;
    return false;
}

/* ---- gradients ---- */

static bool is_elementwise(const StepFinding *s, int32_t op)
{
    uint8_t *known = &s->elementwise[s->graph->ops[op].op_type];
    if (*known == 0) {
        const Operator *row = operator_find(op_operator(s->graph, op));
        *known = row && strcmp(row->family, "elementwise") == 0 ? 2 : 1;
    }
    return *known == 2 && s->graph->ops[op].n_inputs > 0;
}

static int64_t elements_of(const Graph *graph, int32_t tensor) /* -1: not known */
{
    const GraphTensor *t = &graph->tensors[tensor];
    int64_t n = t->declared < 0 ? -1 : 1;
    for (int d = 0; d < t->n_declared; d++)
        n *= graph->declared[t->declared + d].size;
    return n;
}

static bool same_type(const Graph *graph, int32_t a, int32_t b)
{
    const GraphTensor *x = &graph->tensors[a], *y = &graph->tensors[b];
    if (x->dtype != y->dtype || x->n_declared != y->n_declared || x->declared < 0 ||
        y->declared < 0)
        return false;
    for (int d = 0; d < x->n_declared; d++)
        if (graph->declared[x->declared + d].size != graph->declared[y->declared + d].size)
            return false;
    return true;
}

/* Whether a tensor is a gradient, or is made of gradients alone by elementwise ops: of no input, no
 * constant, no number for all elements. */
static bool is_pure(const StepFinding *s, int32_t tensor, int depth)
{
    int32_t op = maker_of(s->graph, tensor);
    const GraphTensor *made = &s->graph->tensors[tensor];
    if (op < 0 || s->forward[op] || (made->declared >= 0 && made->n_declared == 0))
        return false;
    const GraphOp *node = &s->graph->ops[op];
    if (named_phase(s, op) == PHASE_BACKWARD || depth == DEPTH_MAX)
        return true;
    if (s->pure[tensor] == 0) {
        bool pure = node->n_inputs > 0;
        if (pure && op_inputs(s->graph, op)[0] >= 0) /* not one number for all elements */
            pure = elements_of(s->graph, op_inputs(s->graph, op)[0]) != 1 ||
                   elements_of(s->graph, tensor) == 1;
        for (int i = 0; pure && i < node->n_inputs && is_elementwise(s, op); i++)
            pure = is_pure(s, op_inputs(s->graph, op)[i], depth + 1);
        s->pure[tensor] = pure ? 2 : 1;
    }
    return s->pure[tensor] == 2;
}

/* The first gradient that the ops of an update make a value of. */
static void walk_update(StepFinding *s, int32_t tensor, int32_t of, int depth)
{
    int32_t op = maker_of(s->graph, tensor);
    if (op < 0 || depth == DEPTH_MAX || s->met[tensor] == s->walk)
        return;
    s->met[tensor] = s->walk;
    if (is_pure(s, tensor, 0)) {
        int32_t last = maker_of(s->graph, s->found);
        if (same_type(s->graph, tensor, of) && (last < 0 || op < last))
            s->found = tensor;
        return;
    }
    for (int i = 0; i < s->graph->ops[op].n_inputs && is_elementwise(s, op); i++)
        walk_update(s, op_inputs(s->graph, op)[i], of, depth + 1);
}

static bool is_read_forward(const StepFinding *s, int32_t tensor)
{
    const int32_t *use = s->graph->uses + s->graph->tensors[tensor].use;
    for (int u = 0; u < tensor_n_uses(s->graph, tensor); u++)
        if (s->forward[use[u]])
            return true;
    return false;
}

static void find_gradients(StepFinding *s)
{
    s->gradients.n = 0;
    memset(s->pure, 0, (size_t)s->graph->n_tensors);
    for (int i = 0; i < s->pairs.n; i++) {
        StatedPair pair = s->pairs.at[i];
        s->found = s->parts->gradients ? pair.made : -1;
        s->walk++;
        if (!s->parts->gradients && is_read_forward(s, pair.of))
            walk_update(s, pair.made, pair.of, 0);
        if (s->found >= 0)
            vec_push(s->arena, &s->gradients, ((StatedPair){pair.of, s->found}));
    }
}

/* ---- what goes with what ---- */

/* Each output with the next input of its type: jax flattens arguments and results in one order. */
static void pair_by_position(StepFinding *s)
{
    const Graph *graph = s->graph;
    if ((int64_t)graph->n_outputs * graph->n_inputs > PAIRS_TRIED)
        return;
    for (int o = 0, next = 0; o < graph->n_outputs; o++)
        for (int i = next; i < graph->n_inputs; i++) {
            int32_t made = graph->outputs[o], of = graph->inputs[i];
            if (graph->tensors[made].n_declared == 0 || !same_type(graph, made, of))
                continue;
            vec_push(s->arena, &s->pairs, ((StatedPair){of, made}));
            next = i + 1;
            break;
        }
}

static void take_pairs(StepFinding *s)
{
    for (int i = 0; i < s->parts->n_pairs; i++)
        vec_push(s->arena, &s->pairs, s->parts->pair[i]);
    if (s->parts->n_pairs == 0)
        pair_by_position(s);
}

static bool try_loss(StepFinding *s, int32_t loss)
{
    const Graph *graph = s->graph;
    s->loss = loss;
    memset(s->forward, 0, (size_t)graph->n_ops * sizeof *s->forward);
    mark_named(s, s->forward, false);
    if (maker_of(graph, loss) >= 0)
        s->forward[maker_of(graph, loss)] = true;
    mark_needed(s, s->forward);
    for (int32_t op = 0; op < graph->n_ops; op++) /* what the file names holds */
        s->forward[op] &= named_phase(s, op) <= PHASE_FORWARD;
    find_gradients(s);
    return s->gradients.n > 0;
}

/* The loss is the output without dims of which gradients are found. */
static bool find_loss(StepFinding *s)
{
    const Graph *graph = s->graph;
    if (s->parts->loss >= 0)
        return try_loss(s, s->parts->loss);
    for (int o = 0, n = 0; o < graph->n_outputs && n < LOSSES_TRIED; o++) {
        const GraphTensor *t = &graph->tensors[graph->outputs[o]];
        if (t->declared < 0 || t->n_declared > 0 || !dtype_is_float((Dtype)t->dtype))
            continue;
        n++;
        if (try_loss(s, graph->outputs[o]))
            return true;
    }
    return has_named(s) && try_loss(s, -1);
}

/* ---- the result ---- */

static void mark_phases(StepFinding *s)
{
    for (int i = 0; i < s->gradients.n; i++) {
        int32_t maker = maker_of(s->graph, s->gradients.at[i].made);
        if (maker >= 0)
            s->backward[maker] = s->update[maker] = true;
    }
    mark_named(s, s->backward, true);
    mark_needed(s, s->backward);
    mark_followers(s->graph, s->update);
}

static Phase phase_of(const StepFinding *s, int32_t op)
{
    int named = named_phase(s, op);
    if (named >= 0)
        return (Phase)named;
    if (s->forward[op])
        return PHASE_FORWARD;
    if (s->backward[op])
        return PHASE_BACKWARD;
    return s->update[op] || !s->parts->gradients ? PHASE_UPDATE : PHASE_FORWARD;
}

/* As in a derived step: "backward.h.0.mlp", "update". */
static int32_t path_in_phase(const StepFinding *s, int32_t op, Phase phase)
{
    const char *path = op_path(s->graph, op);
    if (phase == PHASE_FORWARD)
        return s->graph->ops[op].path;
    const char *module = phase == PHASE_UPDATE ? "update" : "backward";
    if (path[0])
        module = arena_printf(s->arena, "%s.%s", module, path);
    return names_intern(s->graph->names, str_from(module));
}

/* The names of paths that were added name no tensor. */
static void take_names(Graph *graph)
{
    int32_t n = names_count(graph->names);
    int32_t *owner = arena_array(graph->arena, int32_t, n);
    memset(owner, -1, (size_t)n * sizeof *owner);
    memcpy(owner, graph->owner_of_name, (size_t)graph->n_names * sizeof *owner);
    graph->owner_of_name = owner;
    graph->n_names = n;
}

static void keep(const StepFinding *s)
{
    Graph *graph = s->graph;
    struct StatedStep *out = arena_make(graph->arena, struct StatedStep);
    StatedGradient *gradient = arena_array(graph->arena, StatedGradient, s->gradients.n);
    out->n_names = graph->n_names;
    uint8_t *phase = arena_array(graph->arena, uint8_t, out->n_names);
    for (int32_t op = 0; op < graph->n_ops; op++) {
        phase[graph->ops[op].name] = (uint8_t)(1 + phase_of(s, op));
        graph->ops[op].path = path_in_phase(s, op, phase_of(s, op));
    }
    for (int i = 0; i < s->gradients.n; i++)
        gradient[i] = (StatedGradient){graph->tensors[s->gradients.at[i].of].name,
                                       graph->tensors[s->gradients.at[i].made].name};
    out->phase = phase;
    out->gradient = gradient;
    out->n_gradients = s->gradients.n;
    out->loss = s->loss < 0 ? -1 : graph->tensors[s->loss].name;
    out->by_flow = !has_named(s);
    take_names(graph);
    graph->stated = out;
}

void stated_step_find(Graph *graph, const StatedParts *parts)
{
    Arena *arena = arena_new();
    StepFinding s = {.arena = arena, .graph = graph, .parts = parts, .loss = -1};
    s.forward = arena_array(arena, bool, graph->n_ops);
    s.backward = arena_array(arena, bool, graph->n_ops);
    s.update = arena_array(arena, bool, graph->n_ops);
    s.elementwise = arena_array(arena, uint8_t, graph->n_names);
    s.pure = arena_array(arena, uint8_t, graph->n_tensors);
    s.met = arena_array(arena, int32_t, graph->n_tensors);
    find_carries(&s);
    take_pairs(&s);
    if (s.pairs.n > 0 && find_loss(&s)) {
        mark_phases(&s);
        keep(&s);
    }
    arena_free(arena);
}
