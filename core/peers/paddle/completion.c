#include "core/peers/paddle/completion.h"

#include <assert.h>

enum { NONE = MAPPING_NONE };

typedef struct {
    int32_t op;
    int32_t call;  /* id of the call */
    int32_t first; /* index of its first operand in `operand` */
    unsigned partial;
    const char *refusal; /* this and `rejected`: of the last double sweep */
    bool rejected;
    uint16_t n_inputs, n_outputs;
} OpNode;

struct Completion {
    Arena *arena;
    Progress *progress; /* of the run, or NULL */
    const Inferred *inferred;
    const Mesh *mesh;
    const SpmdRules *rules;
    Intern *mappings;
    Intern *call_ids, *asked;
    Vec(const SpmdOpCall *) calls;
    Vec(SpmdAnswer) answers; /* by id in `asked` */
    int32_t *node_of;        /* per op: number of its node, or NONE */
    OpNode *node;            /* in program order */
    int n_nodes;
    int32_t *operand;     /* mappings of operands; NONE: left out */
    int32_t *of;          /* per operand: its tensor */
    bool *operand_marked; /* per operand */
    int32_t *tensor;      /* mappings of tensors; NONE: left out */
    int32_t *wanted;      /* the same before the last pass */
    bool *marked;         /* per tensor */
    int32_t n_places;
    Vec(int32_t) order; /* the index of an op's node, or ~tensor */
    int32_t *key;       /* scratch for a key of `asked` */
    int32_t *before;    /* scratch for the operands of an op */
    Intern *states;     /* of ops: mappings of their operands */
    Vec(FlowEvent) events;
    Vec(FlowTurn) turns;
    int step;
    bool forward, settled;
    bool lists; /* a mark splits a dim by several axes, so rules may too */
};

/* ---- the log ---- */

static void begin_turn(Completion *c, int32_t pass, bool forward)
{
    FlowTurn turn = {.pass = pass, .first = c->events.n};
    turn.direction = forward ? FLOW_FORWARD : FLOW_BACKWARD;
    vec_push(c->arena, &c->turns, turn);
}

static void log_event(Completion *c, int32_t op, int32_t tensor, int32_t after)
{
    FlowEvent event = {.op = op, .tensor = tensor, .after = after};
    vec_push(c->arena, &c->events, event);
}

/* Logs an op whose operands changed during the visit. */
static void log_op(Completion *c, const OpNode *node)
{
    size_t n_bytes = (size_t)(node->n_inputs + node->n_outputs) * sizeof *c->operand;
    if (memcmp(c->before, c->operand + node->first, n_bytes) != 0)
        log_event(c, node->op, NONE, intern_put(c->states, c->operand + node->first, n_bytes));
}

static bool is_mapping(const Completion *c, int32_t id)
{
    SpmdMapping mapping = mapping_at(c->mappings, id);
    return mapping_is_valid(mapping.dim, mapping.n_dims);
}

/* ---- setting up ---- */

/* Interns the call of an op by what decides its rule, operands and attributes. */
static int32_t put_call(Completion *c, int32_t op)
{
    const Graph *graph = c->inferred->graph;
    const GraphOp *node = &graph->ops[op];
    int32_t n = 0;
    c->key[n++] = c->inferred->space[op];
    c->key[n++] = node->op_type;
    c->key[n++] = node->attrs;
    for (int i = 0; i < node->n_inputs; i++) {
        int32_t t = op_inputs(graph, op)[i];
        c->key[n++] = spmd_first_twin(op_inputs(graph, op), i);
        c->key[n++] = t < 0 ? 0
                      : tensor_is_known(c->inferred, t)
                          ? 1 + (inferred_value(c->inferred, t) != NULL)
                      : tensor_is_parameter(c->inferred, t) ? 3
                                                            : 4;
    }
    int32_t id = intern_put(c->call_ids, c->key, (size_t)n * sizeof *c->key);
    if (id == c->calls.n)
        vec_push(c->arena, &c->calls, spmd_op_call(c->arena, c->rules, c->inferred, op));
    return id;
}

static int32_t first_mapping(Completion *c, int32_t tensor)
{
    const Shape *shape = tensor < 0 ? NULL : inferred_shape(c->inferred, tensor);
    return shape ? mapping_whole(c->mappings, (int)shape->n_dims) : NONE;
}

static void add_node(Completion *c, int32_t op)
{
    const Graph *graph = c->inferred->graph;
    const OpSpace *space = program_space(c->inferred, op);
    OpNode *node = &c->node[c->n_nodes];
    if (space->no_rule || graph->ops[op].n_outputs == 0)
        return;
    *node = (OpNode){.op = op, .first = c->n_places};
    node->n_inputs = graph->ops[op].n_inputs;
    node->n_outputs = graph->ops[op].n_outputs;
    for (int o = 0; o < node->n_inputs + node->n_outputs; o++) {
        int32_t t = op_operand(graph, op, o);
        c->of[c->n_places] = t;
        c->operand[c->n_places++] = first_mapping(c, t);
    }
    node->call = put_call(c, op);
    c->node_of[op] = c->n_nodes++;
}

static void add_tensor(Completion *c, int32_t tensor, bool *seen)
{
    if (tensor < 0 || seen[tensor] || tensor_is_known(c->inferred, tensor))
        return;
    seen[tensor] = true;
    c->tensor[tensor] = first_mapping(c, tensor);
    if (c->tensor[tensor] != NONE)
        vec_push(c->arena, &c->order, ~tensor);
}

/* Puts ops and tensors into program order; a tensor without a producer comes before its first
 * reader. */
static void set_order(Completion *c)
{
    const Graph *graph = c->inferred->graph;
    bool *seen = arena_array(c->arena, bool, graph->n_tensors);
    for (int i = 0; i < c->n_nodes; i++) {
        const OpNode *node = &c->node[i];
        for (int o = 0; o < node->n_inputs; o++)
            add_tensor(c, c->of[node->first + o], seen);
        vec_push(c->arena, &c->order, i);
        for (int o = node->n_inputs; o < node->n_inputs + node->n_outputs; o++)
            add_tensor(c, c->of[node->first + o], seen);
    }
}

Completion *completion_new(Arena *arena, const Inferred *inferred, const Mesh *mesh,
                           const SpmdRules *rules)
{
    const Graph *graph = inferred->graph;
    Completion *c = arena_make(arena, Completion);
    *c = (Completion){.arena = arena, .inferred = inferred, .mesh = mesh, .rules = rules};
    c->mappings = intern_new(arena);
    c->call_ids = intern_new(arena);
    c->asked = intern_new(arena);
    c->states = intern_new(arena);
    int64_t n_places = 0, most = 0;
    for (int i = 0; i < inferred->n_program; i++) {
        const GraphOp *op = &graph->ops[inferred->program[i]];
        int64_t n = op->n_inputs + op->n_outputs;
        n_places += n;
        most = n > most ? n : most;
    }
    c->node_of = arena_array(arena, int32_t, graph->n_ops);
    for (int i = 0; i < graph->n_ops; i++)
        c->node_of[i] = NONE;
    c->node = arena_array(arena, OpNode, inferred->n_program);
    c->operand = arena_array(arena, int32_t, n_places);
    c->of = arena_array(arena, int32_t, n_places);
    c->operand_marked = arena_array(arena, bool, n_places);
    c->tensor = arena_array(arena, int32_t, graph->n_tensors);
    c->wanted = arena_array(arena, int32_t, graph->n_tensors);
    c->marked = arena_array(arena, bool, graph->n_tensors);
    c->key = arena_array(arena, int32_t, 2 * most + 4);
    c->before = arena_array(arena, int32_t, most);
    for (int t = 0; t < graph->n_tensors; t++)
        c->tensor[t] = c->wanted[t] = NONE;
    for (int i = 0; i < inferred->n_program; i++)
        add_node(c, inferred->program[i]);
    set_order(c);
    begin_turn(c, PASS_SET, true);
    return c;
}

static void note_lists(Completion *c, const SpmdAxes *dim, int n)
{
    for (int d = 0; d < n; d++)
        c->lists |= dim[d].n > 1;
}

/* Of a tensor that may be marked; constants take part by their mark alone. */
static int32_t markable_mapping(Completion *c, int32_t tensor)
{
    const Graph *graph = c->inferred->graph;
    if (c->tensor[tensor] != NONE || !tensor_is_known(c->inferred, tensor))
        return c->tensor[tensor];
    for (int32_t u = graph->tensors[tensor].use; u < graph->tensors[tensor + 1].use; u++)
        if (c->node_of[graph->uses[u]] != NONE)
            return first_mapping(c, tensor);
    return NONE;
}

bool completion_mark_tensor(Completion *c, int32_t tensor, const SpmdAxes *dim, bool open)
{
    int32_t before = markable_mapping(c, tensor);
    int n = before == NONE ? 0 : mapping_at(c->mappings, before).n_dims;
    if (before == NONE || !mapping_is_valid(dim, n))
        return false;
    c->tensor[tensor] = mapping_put(c->mappings, dim, n);
    log_event(c, NONE, tensor, c->tensor[tensor]);
    c->marked[tensor] = !open;
    note_lists(c, dim, n);
    return true;
}

bool completion_mark_operand(Completion *c, int32_t op, int operand, const SpmdAxes *dim)
{
    if (c->node_of[op] == NONE)
        return false;
    int32_t place = c->node[c->node_of[op]].first + operand;
    int n = c->operand[place] == NONE ? 0 : mapping_at(c->mappings, c->operand[place]).n_dims;
    if (c->operand[place] == NONE || !mapping_is_valid(dim, n))
        return false;
    c->operand[place] = mapping_put(c->mappings, dim, n);
    c->operand_marked[place] = true;
    note_lists(c, dim, n);
    return true;
}

/* ---- sweeps ---- */

static const SpmdAnswer *look_up(Completion *c, const OpNode *node)
{
    int n = node->n_inputs + node->n_outputs;
    c->key[0] = node->call;
    memcpy(c->key + 1, c->operand + node->first, (size_t)n * sizeof *c->key);
    int32_t id = intern_put(c->asked, c->key, (size_t)(n + 1) * sizeof *c->key);
    if (id == c->answers.n) {
        SpmdQuestion question = {.arena = c->arena, .inferred = c->inferred, .mesh = c->mesh};
        question.mappings = c->mappings;
        question.call = c->calls.at[node->call];
        question.n_inputs = node->n_inputs;
        question.n_outputs = node->n_outputs;
        question.tensor = c->of + node->first;
        question.mapping = c->operand + node->first;
        question.lists = c->lists;
        vec_push(c->arena, &c->answers, spmd_op_answer(&question));
    }
    assert(c->answers.at);
    return &c->answers.at[id];
}

/* op: whose operand gave the mapping, or NONE for the other end of a loop. */
static void set_tensor(Completion *c, int32_t op, int32_t tensor, int32_t mapping)
{
    if (mapping == NONE || mapping == c->tensor[tensor] || !is_mapping(c, mapping))
        return;
    log_event(c, op, tensor, mapping);
    c->tensor[tensor] = mapping;
}

/* Combines the mapping with every operand of the op that is this tensor; false if they conflict. */
static bool combine_with_op(Completion *c, int32_t op, int32_t tensor, bool outputs,
                            int32_t *mapping)
{
    if (op < 0 || c->node_of[op] == NONE)
        return true;
    const OpNode *node = &c->node[c->node_of[op]];
    int begin = outputs ? node->n_inputs : 0;
    int end = outputs ? node->n_inputs + node->n_outputs : node->n_inputs;
    for (int o = begin; o < end; o++) {
        if (c->of[node->first + o] != tensor)
            continue;
        *mapping = mapping_compatible(c->mappings, *mapping, c->operand[node->first + o]);
        if (*mapping == NONE)
            return false;
    }
    return true;
}

static void visit_tensor(Completion *c, int32_t tensor)
{
    const Graph *graph = c->inferred->graph;
    int32_t mapping = c->tensor[tensor], maker = graph->tensors[tensor].maker;
    if (c->marked[tensor])
        return;
    if (c->forward) {
        if (combine_with_op(c, maker, tensor, true, &mapping))
            set_tensor(c, maker, tensor, mapping);
        return;
    }
    int32_t last = NONE, from = NONE; /* an op that reads it twice is listed twice */
    for (int32_t u = graph->tensors[tensor].use; u < graph->tensors[tensor + 1].use; u++) {
        int32_t op = graph->uses[u], before = mapping;
        if (op != last && !combine_with_op(c, op, tensor, false, &mapping))
            return;
        from = mapping != before ? op : from;
        last = op;
    }
    set_tensor(c, from, tensor, mapping);
}

static void read_tensors(Completion *c, OpNode *node)
{
    int begin = c->forward ? 0 : node->n_inputs;
    int end = c->forward ? node->n_inputs : node->n_inputs + node->n_outputs;
    for (int o = begin; o < end; o++) {
        int32_t place = node->first + o, t = c->of[place];
        if (t < 0 || c->tensor[t] == NONE || c->operand[place] == NONE || c->operand_marked[place])
            continue;
        int32_t mapping = mapping_compatible(c->mappings, c->operand[place], c->tensor[t]);
        if (mapping != NONE && is_mapping(c, mapping))
            c->operand[place] = mapping;
    }
}

static void visit_op(Completion *c, OpNode *node)
{
    size_t n = (size_t)(node->n_inputs + node->n_outputs);
    memcpy(c->before, c->operand + node->first, n * sizeof *c->before);
    read_tensors(c, node);
    const SpmdAnswer *said = look_up(c, node);
    node->rejected = said->rejected || (node->rejected && !c->forward);
    if (said->refusal || c->forward)
        node->refusal = said->refusal;
    if (said->rejected) {
        memcpy(c->operand + node->first, c->before, n * sizeof *c->before);
        return;
    }
    for (size_t o = 0; o < n; o++)
        if (said->operand[o] != NONE)
            c->operand[(size_t)node->first + o] = said->operand[o];
    node->partial = said->partial;
    log_op(c, node);
}

static void join_carries(Completion *c)
{
    const Graph *graph = c->inferred->graph;
    for (int i = 0; i < graph->n_carries; i++) {
        int32_t in = graph->carries[i].in, next = graph->carries[i].next;
        if (in < 0 || next < 0 || c->tensor[in] == NONE || c->tensor[next] == NONE)
            continue;
        int32_t both = mapping_compatible(c->mappings, c->tensor[in], c->tensor[next]);
        set_tensor(c, NONE, in, both);
        set_tensor(c, NONE, next, both);
    }
}

static void half_sweep(Completion *c, bool forward)
{
    c->forward = forward;
    begin_turn(c, COMPLETION_SWEEP, forward);
    for (int i = 0; i < c->order.n && !progress_stopped(c->progress); i++) {
        int32_t at = c->order.at[forward ? i : c->order.n - 1 - i];
        if (at < 0)
            visit_tensor(c, ~at);
        else
            visit_op(c, &c->node[at]);
    }
    join_carries(c);
}

static void follow_makers(Completion *c)
{
    begin_turn(c, COMPLETION_MAKERS, true);
    for (int32_t place = 0; place < c->n_places; place++)
        if (c->operand[place] != NONE)
            c->operand[place] = mapping_cleaned(c->mappings, c->operand[place]);
    for (int i = 0; i < c->n_nodes; i++) {
        const OpNode *node = &c->node[i];
        for (int o = node->n_inputs; o < node->n_inputs + node->n_outputs; o++) {
            int32_t t = c->of[node->first + o];
            if (t >= 0 && c->tensor[t] != NONE)
                set_tensor(c, node->op, t, c->operand[node->first + o]);
        }
    }
}

void completion_watch(Completion *c, Progress *progress)
{
    c->progress = progress;
}

void completion_run(Completion *c)
{
    const size_t n_tensors = (size_t)c->inferred->graph->n_tensors;
    int32_t *tensor = arena_array(c->arena, int32_t, n_tensors);
    int32_t *operand = arena_array(c->arena, int32_t, c->n_places);
    for (c->step = 0; c->step < COMPLETION_STEPS_MAX && !c->settled; c->step++) {
        memcpy(tensor, c->tensor, n_tensors * sizeof *tensor);
        memcpy(operand, c->operand, (size_t)c->n_places * sizeof *operand);
        half_sweep(c, true);
        half_sweep(c, false);
        progress_add(c->progress, 2 * (int64_t)c->order.n);
        c->settled = memcmp(tensor, c->tensor, n_tensors * sizeof *tensor) == 0 &&
                     memcmp(operand, c->operand, (size_t)c->n_places * sizeof *operand) == 0;
    }
    memcpy(c->wanted, c->tensor, n_tensors * sizeof *tensor);
    follow_makers(c);
}

/* ---- results ---- */

SpmdMapping completion_mapping(const Completion *c, int32_t id)
{
    return mapping_at(c->mappings, id);
}

int completion_steps(const Completion *c)
{
    return c->step;
}

bool completion_settled(const Completion *c)
{
    return c->settled;
}

int32_t completion_tensor(const Completion *c, int32_t tensor)
{
    return c->tensor[tensor];
}

int32_t completion_before_makers(const Completion *c, int32_t tensor)
{
    return c->wanted[tensor];
}

static const OpNode *node_at(const Completion *c, int32_t op)
{
    return c->node_of[op] == NONE ? NULL : &c->node[c->node_of[op]];
}

int32_t completion_operand(const Completion *c, int32_t op, int operand)
{
    const OpNode *node = node_at(c, op);
    return node ? c->operand[node->first + operand] : NONE;
}

unsigned completion_partial(const Completion *c, int32_t op)
{
    const OpNode *node = node_at(c, op);
    return node ? node->partial : 0;
}

const SpmdOpCall *completion_call(const Completion *c, int32_t op)
{
    const OpNode *node = node_at(c, op);
    return node ? c->calls.at[node->call] : NULL;
}

const char *completion_refusal(const Completion *c, int32_t op)
{
    const OpNode *node = node_at(c, op);
    return node ? node->refusal : NULL;
}

bool completion_is_rejected(const Completion *c, int32_t op)
{
    const OpNode *node = node_at(c, op);
    return node && node->rejected;
}

const int32_t *completion_state(const Completion *c, int32_t state)
{
    return intern_key(c->states, state, NULL);
}

CompletionLog completion_log(const Completion *c)
{
    return (CompletionLog){
        .event = c->events.at, .turn = c->turns.at, .n_events = c->events.n, .n_turns = c->turns.n};
}
