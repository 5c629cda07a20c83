#include "core/plan/spmd/completion.h"

#include "core/base/intern.h"

#include <assert.h>

enum { NONE = -1 };

typedef struct {
    int32_t op;
    int32_t call;  /* number of the call */
    int32_t first; /* place of its operands in `operand` */
    unsigned partial;
    const char *refusal; /* of the last double sweep, as are these two */
    bool rejected;
    uint16_t n_inputs, n_outputs;
} OpNode;

/* What a rule says, forward and backward together, of one call with mapped operands. */
typedef struct {
    const int32_t *operand; /* per operand of ours: a mapping, or NONE: as it was */
    unsigned partial;
    bool rejected; /* nobody computes an op mapped so: it stays as it was */
    const char *refusal;
} Answer;

struct Completion {
    Arena *arena;
    const Inferred *inferred;
    const Mesh *mesh;
    const SpmdRules *rules;
    Intern *mappings; /* lists of SpmdAxes */
    Intern *call_ids, *asked;
    Vec(const SpmdOpCall *) calls;
    Vec(Answer) answers; /* by id in `asked` */
    int32_t *node_of;    /* per op: number of its node, or NONE */
    OpNode *node;        /* in program order */
    int n_nodes;
    int32_t *operand;     /* mappings of operands, by place; NONE: takes no part */
    int32_t *of;          /* per place: the tensor */
    bool *operand_marked; /* per place */
    int32_t *tensor;      /* mappings of tensors; NONE: takes no part */
    int32_t *wanted;      /* the same before the last pass */
    bool *marked;         /* per tensor */
    int32_t n_places;
    Vec(int32_t) order; /* op: number of its node; tensor: ~tensor */
    int32_t *key;       /* room for a question */
    int32_t *before;    /* room for the operands of an op */
    int64_t n_visits;
    int step;
    bool forward, settled;
    bool lists; /* some mark splits a dim by several axes: rules may, too */
};

/* ---- mappings ---- */

static int32_t put_mapping(Completion *c, const SpmdAxes *dim, int n)
{
    SpmdAxes clean[DIMS_MAX];
    memset(clean, 0, sizeof clean);
    for (int d = 0; d < n; d++) {
        clean[d].n = dim[d].n;
        memcpy(clean[d].axis, dim[d].axis, dim[d].n);
    }
    return intern_put(c->mappings, clean, (size_t)n * sizeof *clean);
}

SpmdMapping completion_mapping(const Completion *c, int32_t id)
{
    size_t n_bytes;
    const SpmdAxes *dim = intern_key(c->mappings, id, &n_bytes);
    return (SpmdMapping){(int)(n_bytes / sizeof *dim), dim};
}

static int32_t whole(Completion *c, int64_t n_dims)
{
    SpmdAxes dim[DIMS_MAX] = {{0}};
    return put_mapping(c, dim, (int)n_dims);
}

static bool is_valid(const SpmdAxes *dim, int n)
{
    unsigned used = 0;
    for (int d = 0; d < n; d++)
        for (int i = 0; i < dim[d].n; i++) {
            if (used >> dim[d].axis[i] & 1)
                return false;
            used |= 1u << dim[d].axis[i];
        }
    return true;
}

/* NONE: they do not go together. An axis may come out twice: what tensors take is checked, what an
 * op is told by its rule is not. */
static int32_t compatible(Completion *c, int32_t a, int32_t b)
{
    if (a == b || a == NONE || b == NONE)
        return a == NONE ? b : a;
    SpmdMapping one = completion_mapping(c, a), other = completion_mapping(c, b);
    SpmdAxes dim[DIMS_MAX];
    if (one.n_dims != other.n_dims)
        return NONE;
    for (int d = 0; d < one.n_dims; d++) {
        if (one.dim[d].n > 0 && other.dim[d].n > 0 && !spmd_axes_equal(&one.dim[d], &other.dim[d]))
            return NONE;
        dim[d] = one.dim[d].n > 0 ? one.dim[d] : other.dim[d];
    }
    return put_mapping(c, dim, one.n_dims);
}

/* Of an axis that is there twice the first use. */
static void drop_second_uses(SpmdAxes *dim, int n)
{
    unsigned used = 0;
    for (int d = 0; d < n; d++) {
        SpmdAxes kept = {0};
        for (int i = 0; i < dim[d].n; i++) {
            if (!(used >> dim[d].axis[i] & 1))
                spmd_axes_push(&kept, dim[d].axis[i]);
            used |= 1u << dim[d].axis[i];
        }
        dim[d] = kept;
    }
}

static bool is_mapping(const Completion *c, int32_t id)
{
    SpmdMapping mapping = completion_mapping(c, id);
    return is_valid(mapping.dim, mapping.n_dims);
}

/* ---- setting up ---- */

static int32_t operand_tensor(const Graph *graph, int32_t op, int operand)
{
    int n_inputs = graph->ops[op].n_inputs;
    return operand < n_inputs ? op_inputs(graph, op)[operand]
                              : op_outputs(graph, op)[operand - n_inputs];
}

/* The first input that is the same tensor as input i. */
static int first_of(const int32_t *tensor, int i)
{
    int first = 0;
    while (tensor[first] != tensor[i])
        first++;
    return first;
}

/* Ops alike ask alike: the rule, its operands and attributes follow from these. */
static int32_t put_call(Completion *c, int32_t op)
{
    const Graph *graph = c->inferred->graph;
    const GraphOp *node = &graph->ops[op];
    int32_t n = 0;
    c->key[n++] = c->inferred->space[op];
    c->key[n++] = node->operator;
    c->key[n++] = node->attrs;
    for (int i = 0; i < node->n_inputs; i++) {
        int32_t t = op_inputs(graph, op)[i];
        c->key[n++] = first_of(op_inputs(graph, op), i);
        c->key[n++] = t < 0                                 ? 0
                      : tensor_is_known(c->inferred, t)     ? 1 + (c->inferred->value[t] != NULL)
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
    return shape ? whole(c, shape->n_dims) : NONE;
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
        int32_t t = operand_tensor(graph, op, o);
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

/* In program order, a tensor that no op makes before its first reader. */
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
    return c;
}

static void note_lists(Completion *c, const SpmdAxes *dim, int n)
{
    for (int d = 0; d < n; d++)
        c->lists |= dim[d].n > 1;
}

bool completion_mark_tensor(Completion *c, int32_t tensor, const SpmdAxes *dim, bool open)
{
    int32_t before = c->tensor[tensor];
    int n = before == NONE ? 0 : completion_mapping(c, before).n_dims;
    if (before == NONE || !is_valid(dim, n))
        return false;
    c->tensor[tensor] = put_mapping(c, dim, n);
    c->marked[tensor] = !open;
    note_lists(c, dim, n);
    return true;
}

bool completion_mark_operand(Completion *c, int32_t op, int operand, const SpmdAxes *dim)
{
    if (c->node_of[op] == NONE)
        return false;
    int32_t place = c->node[c->node_of[op]].first + operand;
    int n = c->operand[place] == NONE ? 0 : completion_mapping(c, c->operand[place]).n_dims;
    if (c->operand[place] == NONE || !is_valid(dim, n))
        return false;
    c->operand[place] = put_mapping(c, dim, n);
    c->operand_marked[place] = true;
    note_lists(c, dim, n);
    return true;
}

/* ---- asking a rule ---- */

/* One question in the making: in the arena of the case. */
typedef struct {
    Completion *c;
    Arena *arena;
    const SpmdOpCall *call;
    const OpNode *node;
    const int32_t *mapping; /* per operand of ours */
    int32_t *said;          /* per operand of ours: NONE, nothing yet */
    bool *clash;            /* per operand: two answers do not go together */
    unsigned partial;
    const char *refusal;
} Question;

static void set_dims(SpmdTensor *tensor, SpmdMapping mapping)
{
    tensor->n_dims = mapping.n_dims;
    memcpy(tensor->dim, mapping.dim, (size_t)mapping.n_dims * sizeof *mapping.dim);
}

/* As the rule sees it; at: its place among inputs, then outputs. */
static SpmdTensor see(const Question *q, int operand, int at)
{
    if (operand < 0) {
        bool shaped = q->call->shape && q->call->shape[at].n_dims >= 0;
        SpmdTensor none = {.absent = !shaped};
        if (shaped) {
            none.shape = q->call->shape[at];
            none.n_dims = (int)none.shape.n_dims;
        }
        return none;
    }
    int32_t t = q->c->of[q->node->first + operand];
    SpmdTensor tensor = {.absent = q->mapping[operand] == NONE};
    if (!tensor.absent) {
        tensor.shape = *inferred_shape(q->c->inferred, t);
        set_dims(&tensor, completion_mapping(q->c, q->mapping[operand]));
        drop_second_uses(tensor.dim, tensor.n_dims);
    }
    return tensor;
}

static void say(Question *q, const SpmdCall *call, int operand, const SpmdTensor *answer)
{
    if (operand < 0 || q->mapping[operand] == NONE || answer->absent ||
        answer->n_dims != completion_mapping(q->c, q->mapping[operand]).n_dims)
        return;
    SpmdTensor said = *answer;
    if (!q->c->lists)
        spmd_take_largest(call, &said);
    int32_t id = put_mapping(q->c, said.dim, said.n_dims);
    int32_t both = compatible(q->c, q->said[operand], id);
    q->clash[operand] |= both == NONE;
    q->said[operand] = both == NONE ? q->said[operand] : both;
}

/* Where upstream refuses what can be answered, the sane answer. */
static bool apply(Question *q, const SpmdRule *rule, SpmdCall *call)
{
    SpmdCall sane = *call;
    Error err = {0};
    call->exact = true;
    if (spmd_apply(rule, call, &err))
        return true;
    if (!q->refusal)
        q->refusal = arena_str(q->c->arena, str_from(err.text));
    *call = sane;
    return spmd_apply(rule, call, &err);
}

static SpmdCall call_of(const Question *q, bool backward)
{
    return (SpmdCall){.arena = q->arena,
                      .mesh = q->c->mesh,
                      .graph = q->call->graph,
                      .op = q->call->op,
                      .name = q->call->name,
                      .mode = SPMD_STATIC,
                      .backward = backward};
}

/* The op's result before its addend, and after: what add's rule says of both, either way. result:
 * as the op makes it (forward), or as it is given (backward); becomes what is asked of it. */
static bool add_on(Question *q, bool backward, SpmdTensor *result)
{
    const SpmdRule *rule = spmd_rules_find(NULL, STR("elementwise_add"));
    SpmdTensor input[2] = {*result, see(q, q->call->addend, 0)};
    input[0].shape = see(q, q->node->n_inputs, 0).shape;
    spmd_clear_partial(&input[0]);
    SpmdCall add = call_of(q, backward);
    add.name = "elementwise_add";
    add.input = input;
    add.output = result;
    add.n_inputs = 2;
    add.n_outputs = backward;
    if (!apply(q, rule, &add))
        return false;
    say(q, &add, q->call->addend, add.need.at[1]);
    say(q, &add, q->node->n_inputs, add.out.at[0]);
    result->n_dims = add.need.at[0]->n_dims;
    memcpy(result->dim, add.need.at[0]->dim, sizeof result->dim);
    return true;
}

static void ask_direction(Question *q, bool backward)
{
    const SpmdOpCall *of = q->call;
    SpmdTensor *input = arena_array(q->arena, SpmdTensor, of->n_inputs);
    SpmdTensor *output = arena_array(q->arena, SpmdTensor, of->n_outputs);
    for (int i = 0; i < of->n_inputs; i++)
        input[i] = see(q, of->input[i], i);
    for (int o = 0; o < of->n_outputs; o++)
        output[o] =
            see(q, of->output[o] < 0 ? NONE : q->node->n_inputs + of->output[o], of->n_inputs + o);
    bool adds = of->addend >= 0;
    if (adds && backward && !add_on(q, true, &output[0]))
        return;
    SpmdCall call = call_of(q, backward);
    call.input = input;
    call.output = output;
    call.n_inputs = of->n_inputs;
    call.n_outputs = of->n_outputs;
    if (!apply(q, of->rule, &call))
        return;
    for (int i = 0; i < of->n_inputs && i < call.need.n; i++)
        say(q, &call, of->input[i], call.need.at[i]);
    for (int o = 0; o < of->n_outputs && o < call.out.n && of->output[o] >= 0; o++) {
        for (int axis = 0; axis < q->c->mesh->n_axes && !backward; axis++)
            if (call.out.at[o]->partial[axis] != REDUCE_NONE)
                q->partial |= 1u << axis;
        if (!adds)
            say(q, &call, q->node->n_inputs + of->output[o], call.out.at[o]);
    }
    if (adds && !backward && call.out.n > 0)
        (void)add_on(q, false, call.out.at[0]);
}

static bool is_split(const Question *q, int32_t id, int64_t dim)
{
    if (id == NONE)
        return false;
    SpmdMapping mapping = completion_mapping(q->c, id);
    dim += dim < 0 ? mapping.n_dims : 0;
    return dim >= 0 && dim < mapping.n_dims && mapping.dim[dim].n > 0;
}

/* What input i of the call comes to. */
static int32_t comes_to(const Question *q, int i)
{
    int operand = q->call->input[i];
    return q->said[operand] == NONE ? q->mapping[operand] : q->said[operand];
}

/* Upstream has kernels for some ways to split an op only: no product split by k and by n, no sum
 * over split dims unless over all, no softmax that was asked with its axis split. */
static bool is_rejected(const Question *q)
{
    const SpmdCall call = call_of(q, false);
    if (strcmp(q->call->name, "matmul_v2") == 0) {
        bool trans_x = spmd_int(&call, "trans_x", 0), trans_y = spmd_int(&call, "trans_y", 0);
        return is_split(q, comes_to(q, 0), trans_x ? -2 : -1) &&
               is_split(q, comes_to(q, 1), trans_y ? -2 : -1);
    }
    if (strcmp(q->call->name, "softmax") == 0) {
        int64_t axis = spmd_int(&call, "axis", -1);
        return is_split(q, q->mapping[0], axis) || is_split(q, q->mapping[q->node->n_inputs], axis);
    }
    if (strcmp(q->call->name, "reduce_sum") != 0)
        return false;
    SpmdInts axes = spmd_ints(&call, "axis");
    bool split = false;
    for (int i = 0; i < axes.n; i++)
        split |= is_split(q, comes_to(q, 0), axes.at[i]);
    return split && axes.n < completion_mapping(q->c, q->mapping[0]).n_dims;
}

/* A tensor that is two inputs has one mapping: what is said of it last. */
static void share_twins(Question *q)
{
    const int32_t *tensor = q->c->of + q->node->first;
    for (int i = 0; i < q->node->n_inputs; i++) {
        int first = first_of(tensor, i);
        if (first < i && q->said[i] != NONE)
            q->said[first] = q->said[i];
    }
    for (int i = 0; i < q->node->n_inputs; i++)
        q->said[i] = q->said[first_of(tensor, i)];
}

static Answer answer(Completion *c, const OpNode *node)
{
    int n = node->n_inputs + node->n_outputs;
    Question q = {.c = c, .call = c->calls.at[node->call], .node = node};
    q.mapping = c->operand + node->first;
    q.said = arena_array(c->arena, int32_t, n);
    q.arena = arena_new();
    q.clash = arena_array(q.arena, bool, n);
    for (int o = 0; o < n; o++)
        q.said[o] = NONE;
    ask_direction(&q, false);
    if (!q.call->forward_only)
        ask_direction(&q, true);
    for (int o = 0; o < n; o++)
        if (q.clash[o])
            q.said[o] = NONE;
    share_twins(&q);
    Answer new = {.operand = q.said, .partial = q.partial, .refusal = q.refusal};
    new.rejected = is_rejected(&q);
    arena_free(q.arena);
    return new;
}

static const Answer *look_up(Completion *c, const OpNode *node)
{
    int n = node->n_inputs + node->n_outputs;
    c->key[0] = node->call;
    memcpy(c->key + 1, c->operand + node->first, (size_t)n * sizeof *c->key);
    int32_t id = intern_put(c->asked, c->key, (size_t)(n + 1) * sizeof *c->key);
    if (id == c->answers.n) {
        Answer new = answer(c, node);
        vec_push(c->arena, &c->answers, new);
    }
    assert(c->answers.at);
    return &c->answers.at[id];
}

/* ---- sweeps ---- */

static void set_tensor(Completion *c, int32_t tensor, int32_t mapping)
{
    if (mapping != NONE && is_mapping(c, mapping))
        c->tensor[tensor] = mapping;
}

/* Together with every operand of the op that is this tensor; false: they do not go together. */
static bool meet_op(Completion *c, int32_t op, int32_t tensor, bool outputs, int32_t *mapping)
{
    if (op < 0 || c->node_of[op] == NONE)
        return true;
    const OpNode *node = &c->node[c->node_of[op]];
    int begin = outputs ? node->n_inputs : 0;
    int end = outputs ? node->n_inputs + node->n_outputs : node->n_inputs;
    for (int o = begin; o < end; o++) {
        if (c->of[node->first + o] != tensor)
            continue;
        *mapping = compatible(c, *mapping, c->operand[node->first + o]);
        if (*mapping == NONE)
            return false;
    }
    return true;
}

static void visit_tensor(Completion *c, int32_t tensor)
{
    const Graph *graph = c->inferred->graph;
    int32_t mapping = c->tensor[tensor];
    if (c->marked[tensor])
        return;
    if (c->forward) {
        if (meet_op(c, graph->tensors[tensor].maker, tensor, true, &mapping))
            set_tensor(c, tensor, mapping);
        return;
    }
    int32_t before = NONE; /* an op that reads it twice is in the list twice */
    for (int32_t u = graph->tensors[tensor].use; u < graph->tensors[tensor + 1].use; u++) {
        int32_t op = graph->uses[u];
        if (op != before && !meet_op(c, op, tensor, false, &mapping))
            return;
        before = op;
    }
    set_tensor(c, tensor, mapping);
}

static void take_tensors(Completion *c, OpNode *node)
{
    int begin = c->forward ? 0 : node->n_inputs;
    int end = c->forward ? node->n_inputs : node->n_inputs + node->n_outputs;
    for (int o = begin; o < end; o++) {
        int32_t place = node->first + o, t = c->of[place];
        if (t < 0 || c->tensor[t] == NONE || c->operand[place] == NONE || c->operand_marked[place])
            continue;
        int32_t mapping = compatible(c, c->operand[place], c->tensor[t]);
        if (mapping != NONE && is_mapping(c, mapping))
            c->operand[place] = mapping;
    }
}

static void visit_op(Completion *c, OpNode *node)
{
    size_t n = (size_t)(node->n_inputs + node->n_outputs);
    c->n_visits++;
    memcpy(c->before, c->operand + node->first, n * sizeof *c->before);
    take_tensors(c, node);
    const Answer *said = look_up(c, node);
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
}

static void join_carries(Completion *c)
{
    const Graph *graph = c->inferred->graph;
    for (int i = 0; i < graph->n_carries; i++) {
        int32_t in = graph->carries[i].in, next = graph->carries[i].next;
        if (in < 0 || next < 0 || c->tensor[in] == NONE || c->tensor[next] == NONE)
            continue;
        int32_t both = compatible(c, c->tensor[in], c->tensor[next]);
        set_tensor(c, in, both);
        set_tensor(c, next, both);
    }
}

static void half_sweep(Completion *c, bool forward)
{
    c->forward = forward;
    for (int i = 0; i < c->order.n; i++) {
        int32_t at = c->order.at[forward ? i : c->order.n - 1 - i];
        if (at < 0)
            visit_tensor(c, ~at);
        else
            visit_op(c, &c->node[at]);
    }
    join_carries(c);
}

/* A mapping that is none (an axis is there twice) loses the second use. */
static int32_t cleaned(Completion *c, int32_t id)
{
    SpmdAxes dim[DIMS_MAX];
    if (id == NONE || is_mapping(c, id))
        return id;
    SpmdMapping mapping = completion_mapping(c, id);
    memcpy(dim, mapping.dim, (size_t)mapping.n_dims * sizeof *dim);
    drop_second_uses(dim, mapping.n_dims);
    return put_mapping(c, dim, mapping.n_dims);
}

static void follow_makers(Completion *c)
{
    for (int32_t place = 0; place < c->n_places; place++)
        c->operand[place] = cleaned(c, c->operand[place]);
    for (int i = 0; i < c->n_nodes; i++) {
        const OpNode *node = &c->node[i];
        for (int o = node->n_inputs; o < node->n_inputs + node->n_outputs; o++) {
            int32_t t = c->of[node->first + o];
            if (t >= 0 && c->tensor[t] != NONE && c->operand[node->first + o] != NONE)
                c->tensor[t] = c->operand[node->first + o];
        }
    }
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
        c->settled = memcmp(tensor, c->tensor, n_tensors * sizeof *tensor) == 0 &&
                     memcmp(operand, c->operand, (size_t)c->n_places * sizeof *operand) == 0;
    }
    memcpy(c->wanted, c->tensor, n_tensors * sizeof *tensor);
    follow_makers(c);
}

/* ---- asking ---- */

int completion_steps(const Completion *c)
{
    return c->step;
}

bool completion_settled(const Completion *c)
{
    return c->settled;
}

int64_t completion_n_visits(const Completion *c)
{
    return c->n_visits;
}

int32_t completion_tensor(const Completion *c, int32_t tensor)
{
    return c->tensor[tensor];
}

int32_t completion_wanted(const Completion *c, int32_t tensor)
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
