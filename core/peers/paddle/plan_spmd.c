#include "core/peers/paddle/plan_spmd.h"

#include "core/plan/plan_findings.h"
#include "core/peers/paddle/completion.h"

#include <assert.h>
#include <inttypes.h>

/* The first of several similar findings, and their count. */
typedef struct {
    int32_t op;
    int operand, dim, count;
    AtomSet lost;
} SimilarLost;

typedef struct {
    const Decision *pin;
    int why, count;
} IgnoredDecision;

typedef struct {
    Plan *plan;
    Propagated *out;
    Completion *completion;
    Intern *left_ids;
    Vec(IgnoredDecision) ignored; /* decisions that are not applied */
    Intern *cut_ids;              /* OpCuts */
    Intern *asked;                /* (op space, mappings) -> cut */
    Vec(int32_t) answers;         /* by id in `asked`: id of its OpCut */
    Vec(const OpCut *) cuts;      /* by id */
    Intern *flow_ids;             /* (mapping, shape) -> sharding */
    Vec(int32_t) flows;           /* by id in flow_ids */
    int32_t *key;                 /* scratch for a key of `asked` */
} Marking;

/* ---- mappings and cuts ---- */

static int list_atoms(const Mesh *mesh, const SpmdAxes *axes, uint8_t *atom)
{
    int n = 0;
    for (int i = 0; i < axes->n; i++)
        for (int a = 0; a < mesh->axes[axes->axis[i]].n_atoms; a++)
            atom[n++] = (uint8_t)(mesh->axes[axes->axis[i]].atom + a);
    return n;
}

static Cut cut_of(const Mesh *mesh, const SpmdAxes *axes, int64_t size)
{
    uint8_t atom[ATOMS_MAX];
    int n = list_atoms(mesh, axes, atom);
    return cut_by(size, atom, n, mesh);
}

/* Returns false if the cut uses parts of axes or is interleaved. */
static bool axes_of(const Mesh *mesh, const Cut *cut, SpmdAxes *out)
{
    *out = (SpmdAxes){0};
    if (cut_is_whole(cut))
        return true;
    const Digit *digit = &cut->digit[0];
    for (int i = 0; i < digit->n;) {
        int axis = mesh->atoms[digit->atom[i]].axis;
        const MeshAxis *of = &mesh->axes[axis];
        for (int a = 0; a < of->n_atoms; a++, i++)
            if (i >= digit->n || digit->atom[i] != of->atom + a)
                return false;
        spmd_axes_push(out, axis);
    }
    Cut kind = cut_of(mesh, out, cut_size(cut));
    return cut_equal(&kind, cut);
}

/* The sharding of a tensor with that mapping; replicated if it is -1. */
static Sharding sharding_of(const Marking *m, int32_t mapping, int32_t tensor)
{
    const Shape *shape = inferred_shape(m->plan->inferred, tensor);
    assert(shape); /* because it has a mapping, or the caller found one */
    Sharding sharding = sharding_whole(shape);
    for (int d = 0; mapping >= 0 && d < shape->n_dims; d++)
        sharding.dim[d] = cut_of(m->plan->mesh, &completion_mapping(m->completion, mapping).dim[d],
                                 shape->dim[d]);
    return sharding;
}

/* ---- pins ---- */

/* Why a decision is ignored, only partly applied, or refused by Paddle. */
typedef enum { LEFT_MARK, LEFT_UNEVEN, LEFT_NO_PART, LEFT_PRIORITY } IgnoredWhy;

static const struct {
    Level level;
    const char *code, *text, *hint;
} ignored[] = {
    [LEFT_MARK] = {LEVEL_WARNING, "spmd-mark",
                   "no dims_mapping can express this cut: the pin is ignored",
                   "pin whole axes, without interleaving; or use --propagate factor"},
    [LEFT_UNEVEN] = {LEVEL_NOTE, "spmd-mark",
                     "Paddle refuses a mark whose axes do not divide the dim; here it is applied",
                     ""},
    [LEFT_NO_PART] = {LEVEL_WARNING, "spmd-mark",
                      "completion leaves out ops that cannot be sharded: the pin is ignored", ""},
    [LEFT_PRIORITY] = {LEVEL_NOTE, "spmd-decision",
                       "completion applies all marks at once: the priority is ignored", ""},
};

/* Decisions from one line of a policy become one finding. */
static void ignore_decision(Marking *m, const Decision *pin, IgnoredWhy why)
{
    const char *key = arena_printf(m->plan->arena, "%d %d %s", (int)why, pin->origin.line,
                                   pin->origin.file ? pin->origin.file : "");
    int32_t at = intern_put(m->left_ids, key, strlen(key));
    if (at == m->ignored.n)
        vec_push(m->plan->arena, &m->ignored, ((IgnoredDecision){pin, (int)why, 0}));
    assert(m->ignored.at);
    m->ignored.at[at].count++;
}

static void report_ignored(Marking *m, const IgnoredDecision *out)
{
    Plan *plan = m->plan;
    const Graph *graph = plan->inferred->graph;
    const Decision *pin = out->pin;
    bool tensor = decision_is_on_tensor(pin->kind);
    Buf who = buf_new(plan->arena);
    buf_puts(&who, tensor ? plan_value_name(plan, pin->place) : op_name(graph, pin->place));
    if (pin->dim >= 0)
        buf_printf(&who, " dim %d", pin->dim);
    if (out->count > 1)
        buf_printf(&who, " (and %d more like it)", out->count - 1);
    plan_find(plan, ignored[out->why].level, ignored[out->why].code, tensor ? -1 : pin->place,
              tensor ? pin->place : -1, ignored[out->why].hint, "%s: %s", who.s,
              ignored[out->why].text);
    plan_found_at(plan, &pin->origin);
}

static bool axes_of_pin(Marking *m, const Decision *pin, SpmdAxes *out)
{
    bool kind = axes_of(m->plan->mesh, decision_cut(pin), out);
    if (!kind || cut_is_uneven(decision_cut(pin), m->plan->mesh))
        ignore_decision(m, pin, kind ? LEFT_UNEVEN : LEFT_MARK);
    return kind;
}

/* All pins of a tensor are one mark. */
static void mark_tensor(Marking *m, int32_t tensor)
{
    Plan *plan = m->plan;
    const Shape *shape = inferred_shape(plan->inferred, tensor);
    assert(shape); /* because a dim of it is pinned */
    SpmdAxes dim[DIMS_MAX] = {{0}};
    const Decision *held = NULL;
    bool open = false;
    uint16_t pinned = 0;
    for (int d = 0; d < shape->n_dims; d++) {
        const Decision *pin = plan_pin_of(plan, PIN_TENSOR_DIM, tensor, d);
        if (!pin || pin->store || !axes_of_pin(m, pin, &dim[d]))
            continue;
        open |= pin->open;
        pinned |= (uint16_t)(1u << d);
        held = pin;
    }
    if (held && !completion_mark_tensor(m->completion, tensor, dim, open))
        ignore_decision(m, held, LEFT_NO_PART);
    else if (plan->inferred->graph->tensors[tensor].maker < 0 ||
             tensor_is_known(plan->inferred, tensor))
        m->out->pinned[tensor] = pinned;
}

/* The mapping that the cuts of index dims give to an operand; false if it has none of the index
 * dims in `held`. */
static bool operand_mapping(const Mesh *mesh, const OpSpace *space, const OpCut *cut, int operand,
                            unsigned held, SpmdAxes *dim)
{
    const Operand *o = &space->operand[operand];
    bool has = false;
    for (int d = 0; d < o->shape.n_dims; d++) {
        Cut part;
        for (int f = 0; f < o->factors[d].n; f++)
            has |= held >> o->factors[d].index[f] & 1;
        if (!op_cut_project(space, cut, operand, d, mesh, &part) || !axes_of(mesh, &part, &dim[d]))
            dim[d] = (SpmdAxes){0};
    }
    return has && !o->absent;
}

/* The pins of an op mark the operands that have one of its pinned index dims. */
static void mark_op(Marking *m, int32_t op)
{
    const Mesh *mesh = m->plan->mesh;
    const OpSpace *space = program_space(m->plan->inferred, op);
    const Decision *last = NULL;
    OpCut cut = {.n = space->n_index};
    unsigned held = 0;
    bool marked = false;
    for (int i = 0; i < space->n_index; i++) {
        const Decision *pin = plan_pin_of(m->plan, PIN_INDEX_DIM, op, i);
        SpmdAxes axes = {0};
        if (pin && axes_of_pin(m, pin, &axes)) {
            held |= 1u << i;
            last = pin;
        }
        cut.index[i] = cut_of(mesh, &axes, space->index[i].size);
    }
    for (int o = 0; o < space->n_inputs + space->n_outputs; o++) {
        SpmdAxes dim[DIMS_MAX] = {{0}};
        if (operand_mapping(mesh, space, &cut, o, held, dim))
            marked |= completion_mark_operand(m->completion, op, o, dim);
    }
    if (last && !marked)
        ignore_decision(m, last, LEFT_NO_PART);
}

static void mark(Marking *m)
{
    Plan *plan = m->plan;
    Intern *seen = intern_new(plan->arena);
    for (int i = 0; i < plan->decided->n_pins; i++) {
        const Decision *pin = plan->decided->pins[i];
        int32_t place[2] = {(int32_t)pin->kind, pin->place};
        int n_seen = intern_count(seen);
        if (pin->priority > 0)
            ignore_decision(m, pin, LEFT_PRIORITY);
        if (pin->store || intern_put(seen, place, sizeof place) < n_seen)
            continue;
        if (pin->kind == PIN_TENSOR_DIM)
            mark_tensor(m, pin->place);
        else
            mark_op(m, pin->place);
    }
    for (int i = 0; i < m->ignored.n; i++)
        report_ignored(m, &m->ignored.at[i]);
}

/* ---- cuts ---- */

static void cut_index(const OpSpace *space, OpCut *cut, int index, const Cut *offered,
                      const Mesh *mesh)
{
    Cut joined, part = cut_without(offered, cuts_used(cut->index, cut->n, index), mesh);
    if (space->index[index].role != ROLE_FROZEN && !cut_is_whole(&part) &&
        cut_join(&cut->index[index], &part, mesh, &joined))
        cut->index[index] = joined;
}

/* Adds an operand's mapping to the cuts of the index dims with that role; to all if it is an
 * output. */
static void cut_by_operand(const OpSpace *space, OpCut *cut, int operand, SpmdMapping mapping,
                           IndexRole role, const Mesh *mesh)
{
    const Operand *o = &space->operand[operand];
    for (int d = 0; d < mapping.n_dims && d < o->shape.n_dims; d++) {
        const DimFactors *factors = &o->factors[d];
        if (mapping.dim[d].n == 0 || factors->n == 0 || !factors->exact)
            continue;
        int64_t sizes[FACTORS_MAX];
        Cut part[FACTORS_MAX], whole = cut_of(mesh, &mapping.dim[d], o->shape.dim[d]);
        AtomSet lost;
        for (int f = 0; f < factors->n; f++)
            sizes[f] = space->index[factors->index[f]].size;
        cut_split(&whole, sizes, factors->n, mesh, part, &lost);
        for (int f = 0; f < factors->n; f++)
            if (space->index[factors->index[f]].role == role)
                cut_index(space, cut, factors->index[f], &part[f], mesh);
    }
}

static bool is_mapped(const OpSpace *space, int operand, int32_t mapping)
{
    const Operand *o = &space->operand[operand];
    return mapping >= 0 && !o->absent && !o->ignored;
}

static OpCut cut_by_mappings(const Marking *m, const OpSpace *space, const int32_t *mapping)
{
    const Mesh *mesh = m->plan->mesh;
    int n = space->n_inputs + space->n_outputs;
    OpCut cut = {.n = space->n_index};
    for (int i = 0; i < space->n_index; i++)
        cut.index[i] = cut_whole(space->index[i].size);
    for (int o = 0; o < n; o++)
        if (o < space->n_inputs && is_mapped(space, o, mapping[o]))
            cut_by_operand(space, &cut, o, completion_mapping(m->completion, mapping[o]),
                           ROLE_REDUCE, mesh);
    for (int o = space->n_inputs; o < n; o++)
        if (is_mapped(space, o, mapping[o]))
            cut_by_operand(space, &cut, o, completion_mapping(m->completion, mapping[o]), ROLE_MAP,
                           mesh);
    return cut;
}

static int32_t put_cut(Marking *m, const OpCut *cut)
{
    size_t n_bytes = offsetof(OpCut, index) + (size_t)cut->n * sizeof(Cut);
    int32_t id = intern_put(m->cut_ids, cut, n_bytes);
    if (id == m->cuts.n) {
        OpCut *kept = arena_make(m->plan->arena, OpCut);
        memcpy(kept, cut, n_bytes);
        vec_push(m->plan->arena, &m->cuts, kept);
    }
    return id;
}

/* The id of the op's cut for these mappings of its operands; NULL: their final mappings. */
static int32_t cut_for(Marking *m, int32_t op, const int32_t *mapping)
{
    const OpSpace *space = program_space(m->plan->inferred, op);
    int n = space->n_inputs + space->n_outputs;
    m->key[0] = space->id;
    for (int o = 0; o < n; o++)
        m->key[1 + o] = mapping ? mapping[o] : completion_operand(m->completion, op, o);
    int32_t id = intern_put(m->asked, m->key, (size_t)(n + 1) * sizeof *m->key);
    if (id == m->answers.n) {
        OpCut cut = cut_by_mappings(m, space, m->key + 1);
        vec_push(m->plan->arena, &m->answers, put_cut(m, &cut));
    }
    assert(m->answers.at);
    return m->answers.at[id];
}

/* ---- what was lost ---- */

/* "matmul_v2", the name of the rule that was applied */
static const char *rule_name(const Marking *m, int32_t op)
{
    const SpmdOpCall *call = completion_call(m->completion, op);
    return call ? call->name : "no rule";
}

static void report_lost(Marking *m, const SimilarLost *similar)
{
    Plan *plan = m->plan;
    const Graph *graph = plan->inferred->graph;
    const OpSpace *space = program_space(plan->inferred, similar->op);
    bool input = similar->operand < space->n_inputs;
    Buf text = buf_new(plan->arena);
    mesh_format_set(plan->mesh, similar->lost, ".", &text);
    if (similar->count > 1)
        buf_printf(&text, " (and %d more like it)", similar->count - 1);
    plan_find(plan, LEVEL_NOTE, "spmd-lost", similar->op, -1, "",
              "%s %s: %s splits dim %d of %s %d, but no cut of the op does: it is %s whole over %s",
              op_operator(graph, similar->op), op_name(graph, similar->op),
              rule_name(m, similar->op), similar->dim, input ? "input" : "output",
              input ? similar->operand : similar->operand - space->n_inputs,
              input ? "read" : "produced", text.s);
}

/* Axes that the mapping has on a dim but the op's cut does not. */
static AtomSet lost_on(const Marking *m, int32_t op, int operand, int dim, const SpmdAxes *axes)
{
    const Plan *plan = m->plan;
    uint8_t atom[ATOMS_MAX];
    AtomSet lost = 0;
    Cut cut;
    int n = list_atoms(plan->mesh, axes, atom);
    for (int a = 0; a < n; a++)
        lost |= (AtomSet)1 << atom[a];
    if (lost && op_cut_project(program_space(plan->inferred, op), program_cut(plan, op), operand,
                               dim, plan->mesh, &cut))
        lost &= ~cut_atoms(&cut);
    return lost;
}

typedef struct {
    Intern *seen;
    Vec(SimilarLost) similar;
} LostSet;

static void find_lost_dims(Marking *m, LostSet *g, int32_t op, int operand)
{
    const OpSpace *space = program_space(m->plan->inferred, op);
    int32_t id = completion_operand(m->completion, op, operand);
    SpmdMapping mapping = {0};
    if (is_mapped(space, operand, id))
        mapping = completion_mapping(m->completion, id);
    for (int d = 0; d < mapping.n_dims && d < space->operand[operand].shape.n_dims; d++) {
        AtomSet lost = lost_on(m, op, operand, d, &mapping.dim[d]);
        int64_t key[4] = {space->id, operand, d, lost};
        int32_t at = lost ? intern_put(g->seen, key, sizeof key) : -1;
        if (at == g->similar.n)
            vec_push(m->plan->arena, &g->similar, ((SimilarLost){op, operand, d, 0, lost}));
        if (at >= 0)
            g->similar.at[at].count++;
    }
}

static void find_lost(Marking *m)
{
    const Inferred *inferred = m->plan->inferred;
    LostSet g = {.seen = intern_new(m->plan->arena)};
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        const OpSpace *space = program_space(inferred, op);
        for (int o = 0; o < space->n_inputs + space->n_outputs; o++)
            find_lost_dims(m, &g, op, o);
    }
    for (int i = 0; i < g.similar.n; i++)
        report_lost(m, &g.similar.at[i]);
}

/* ---- ops without a rule's answer ---- */

typedef enum { NO_ANSWER_RULE, NO_ANSWER_REFUSED, NO_ANSWER_REJECTED, NO_ANSWER_COUNT } NoAnswer;

static const struct {
    Level level;
    const char *code, *verb, *hint; /* verb: between the rule's name and the reason */
} no_answers[NO_ANSWER_COUNT] = {
    [NO_ANSWER_RULE] = {LEVEL_NOTE, "spmd-no-rule",
                        " is used instead, which takes dim 0 as the batch: ",
                        "register_rule in a policy file gives an operator its rule"},
    [NO_ANSWER_REFUSED] =
        {LEVEL_WARNING, "spmd-refused",
         " refuses: ", "Paddle's completion stops there; here the op keeps its mappings: pin it"},
    [NO_ANSWER_REJECTED] = {LEVEL_NOTE, "spmd-rejected", " has an answer that Paddle discards: ",
                            "pin another dim; or use --propagate factor"},
};

/* The reason, or NULL if the op has no finding of this kind. */
static const char *no_answer_reason(const Marking *m, int32_t op, NoAnswer kind)
{
    const SpmdOpCall *call = completion_call(m->completion, op);
    switch (kind) {
    case NO_ANSWER_RULE:
        return call ? call->why : NULL;
    case NO_ANSWER_REFUSED:
        return completion_refusal(m->completion, op);
    case NO_ANSWER_REJECTED:
        return completion_is_rejected(m->completion, op) ? "it has no kernel for this split" : NULL;
    case NO_ANSWER_COUNT:
        break;
    }
    return NULL;
}

static void report_no_answer(Marking *m, NoAnswer kind, int32_t op, int count)
{
    const Graph *graph = m->plan->inferred->graph;
    const char *more =
        count > 1 ? arena_printf(m->plan->arena, " (and %d more like it)", count - 1) : "";
    Buf text = buf_new(m->plan->arena);
    buf_printf(&text, "%s %s%s: ", op_operator(graph, op), op_name(graph, op), more);
    buf_puts(&text, rule_name(m, op));
    buf_puts(&text, no_answers[kind].verb);
    buf_puts(&text, no_answer_reason(m, op, kind));
    plan_find(m->plan, no_answers[kind].level, no_answers[kind].code, op, -1, no_answers[kind].hint,
              "%s", text.s);
}

typedef struct {
    int32_t op;
    int count;
} NoAnswerCount;

/* One finding per operator and text. */
static void find_no_answers(Marking *m, NoAnswer kind)
{
    Plan *plan = m->plan;
    const Graph *graph = plan->inferred->graph;
    Intern *seen = intern_new(plan->arena);
    Vec(NoAnswerCount) once = {0};
    for (int i = 0; i < plan->inferred->n_program; i++) {
        int32_t op = plan->inferred->program[i];
        const char *text = no_answer_reason(m, op, kind);
        if (!text)
            continue;
        const char *key = arena_printf(plan->arena, "%s %s", op_operator(graph, op), text);
        int32_t at = intern_put(seen, key, strlen(key));
        if (at == once.n)
            vec_push(plan->arena, &once, ((NoAnswerCount){op, 0}));
        assert(once.at);
        once.at[at].count++;
    }
    for (int i = 0; i < once.n; i++)
        report_no_answer(m, kind, once.at[i].op, once.at[i].count);
}

/* ---- tensors ---- */

static void put_axes(const Marking *m, int32_t mapping, int32_t tensor, Buf *out)
{
    Sharding sharding = sharding_of(m, mapping, tensor);
    sharding_format(&sharding, m->plan->mesh, VIEW_OURS, out, NULL);
}

static void find_overruled(Marking *m)
{
    Plan *plan = m->plan;
    for (int t = 0; t < plan->inferred->graph->n_tensors; t++) {
        int32_t is = completion_tensor(m->completion, t),
                was = completion_before_makers(m->completion, t);
        bool pinned = false;
        for (int d = 0; is != was && d < completion_mapping(m->completion, is).n_dims; d++) {
            const Decision *pin = plan_pin_of(plan, PIN_TENSOR_DIM, t, d);
            pinned |= pin && !pin->store;
        }
        if (!pinned)
            continue;
        Buf made = buf_new(plan->arena), marked = buf_new(plan->arena);
        put_axes(m, is, t, &made);
        put_axes(m, was, t, &marked);
        plan_find(plan, LEVEL_NOTE, "spmd-overruled", -1, t, "",
                  "%s is marked %s but produced as %s by %s: its readers reshard",
                  plan_value_name(plan, t), marked.s, made.s,
                  rule_name(m, plan->inferred->graph->tensors[t].maker));
    }
}

/* The id of the sharding for a tensor's mapping, or -1 if its shape is unknown. */
static int32_t flow_of(Marking *m, int32_t mapping, int32_t tensor)
{
    int32_t key[2] = {mapping, m->plan->inferred->shape[tensor]};
    if (key[1] < 0)
        return -1;
    int32_t at = intern_put(m->flow_ids, key, sizeof key);
    if (at == m->flows.n) {
        Sharding sharding = sharding_of(m, mapping, tensor);
        vec_push(m->plan->arena, &m->flows, shardings_put(m->plan->shardings, &sharding));
    }
    assert(m->flows.at);
    return m->flows.at[at];
}

/* ---- the log: states of tensors are shardings, of ops cuts ---- */

static int32_t logged_sharding(const void *context, Shardings *shardings, int32_t state)
{
    (void)context;
    (void)shardings;
    return state;
}

static const OpCut *logged_cut(const void *context, int32_t state)
{
    const Plan *plan = context;
    return plan->propagated->cuts[state];
}

static void keep_log(Marking *m)
{
    static const char *const passes[] = {
        [COMPLETION_SWEEP] = "completion", [COMPLETION_MAKERS] = "as made"};
    Plan *plan = m->plan;
    const Graph *graph = plan->inferred->graph;
    CompletionLog from = completion_log(m->completion);
    FlowLog *log = arena_make(plan->arena, FlowLog);
    int32_t *start = arena_array(plan->arena, int32_t, graph->n_tensors);
    int32_t *op = arena_array(plan->arena, int32_t, graph->n_ops);
    for (int t = 0; t < graph->n_tensors; t++)
        start[t] = flow_of(m, -1, t);
    for (int i = 0; i < graph->n_ops; i++)
        op[i] = i;
    for (int i = 0; i < from.n_turns; i++)
        vec_push(plan->arena, &log->turns, from.turn[i]);
    for (int i = 0; i < from.n_events; i++) {
        FlowEvent event = from.event[i];
        event.after = event.tensor >= 0
                          ? flow_of(m, event.after, event.tensor)
                          : cut_for(m, event.op, completion_state(m->completion, event.after));
        vec_push(plan->arena, &log->events, event);
    }
    log->start = start;
    m->out->log = (PlanLog){.flow = log, .end = m->out->reached, .op = op, .pass_name = passes};
    m->out->log.context = plan;
    m->out->log.sharding_of = logged_sharding;
    m->out->log.cut_of = logged_cut;
}

/* Writes the completed mappings to the plan. */
static void publish(Marking *m)
{
    Plan *plan = m->plan;
    const Inferred *inferred = plan->inferred;
    for (int i = 0; i < inferred->n_program; i++)
        m->out->cut[inferred->program[i]] = cut_for(m, inferred->program[i], NULL);
    for (int t = 0; t < inferred->graph->n_tensors; t++)
        m->out->reached[t] = flow_of(m, completion_tensor(m->completion, t), t);
    keep_log(m);
    m->out->cuts = m->cuts.at;
    m->out->n_cuts = m->cuts.n;
}

static void run(Plan *plan, Propagated *out, const PlanRequest *request)
{
    const SpmdRules *rules = spmd_rules_of(request->rules);
    const Inferred *inferred = plan->inferred;
    int64_t most = 0;
    for (int i = 0; i < inferred->graph->n_ops; i++) {
        const GraphOp *op = &inferred->graph->ops[i];
        int64_t n = op->n_inputs + op->n_outputs;
        most = n > most ? n : most;
    }
    Marking m = {.plan = plan, .out = out, .cut_ids = intern_new(plan->arena)};
    m.asked = intern_new(plan->arena);
    m.left_ids = intern_new(plan->arena);
    m.flow_ids = intern_new(plan->arena);
    m.key = arena_array(plan->arena, int32_t, most + 1);
    m.completion = completion_new(plan->arena, inferred, plan->mesh, rules);
    mark(&m);
    completion_watch(m.completion, plan->progress);
    completion_run(m.completion);
    out->sweeps = completion_steps(m.completion);
    out->passed =
        arena_array(plan->arena, AtomSet,
                    graph_n_input_places(inferred->graph)); /* nothing reads a partial value */
    publish(&m);
    if (!completion_settled(m.completion))
        plan_find(plan, LEVEL_WARNING, "spmd-steps", -1, -1, "",
                  "completion stopped after %d double sweeps without a fixed point",
                  COMPLETION_STEPS_MAX);
    find_overruled(&m);
    for (int kind = 0; kind < NO_ANSWER_COUNT; kind++)
        find_no_answers(&m, (NoAnswer)kind);
    find_lost(&m);
}

const Propagator propagator_spmd = {
    .name = "spmd",
    .profile = "paddle",
    .about = "Paddle's completion of dims_mappings over the program",
    .run = run,
    .rule_says = "Paddle's rule for the op or for a neighbour does not allow it",
    .own_rules = true,
    .obeys = OBEYS_PINS,
};
