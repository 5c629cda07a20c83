#include "core/peers/shardy/plan_shardy.h"

#include "core/plan/plan_findings.h"
#include "core/peers/shardy/choose.h"
#include "core/peers/shardy/plan_shardy_state.h"

#include <assert.h>

/* ---- the log ---- */

/* Logs the initial shardings first; before that every tensor is open. */
static void log_given(const ShardyPlan *sp, FlowLog *out)
{
    int n_tensors = sp->plan->inferred->graph->n_tensors;
    int32_t *start = arena_array(sp->plan->arena, int32_t, n_tensors);
    out->start = start;
    for (int t = 0; t < n_tensors; t++) {
        int32_t given = sp->program.log->start[t];
        const TensorSharding *known = shardy_at(sp->flow, given);
        start[t] = shardy_open_state(sp, known->n_dims, known->shape);
        if (start[t] == given)
            continue;
        if (out->turns.n == 0)
            vec_push(sp->plan->arena, &out->turns, (FlowTurn){PASS_SET, FLOW_BOTH, 0});
        vec_push(sp->plan->arena, &out->events, (FlowEvent){-1, t, given});
    }
}

/* The log without the tensors that were added here: events.h knows only those of the graph. */
static const FlowLog *graph_log(const ShardyPlan *sp)
{
    const FlowLog *log = sp->program.log;
    int n_tensors = sp->plan->inferred->graph->n_tensors;
    FlowLog *out = arena_make(sp->plan->arena, FlowLog);
    log_given(sp, out);
    for (int t = 0, at = 0; t < log->turns.n; t++) {
        int end = t + 1 < log->turns.n ? log->turns.at[t + 1].first : log->events.n;
        FlowTurn turn = log->turns.at[t];
        turn.first = out->events.n;
        vec_push(sp->plan->arena, &out->turns, turn);
        for (; at < end; at++)
            if (log->events.at[at].tensor < n_tensors)
                vec_push(sp->plan->arena, &out->events, log->events.at[at]);
    }
    return out;
}

/* Converts a state to a layout. A part of an axis that atoms cannot express and the axes after it
 * are left out; returns false if some were. */
static bool layout_of(const ShardyPlan *sp, const TensorSharding *sharding, Sharding *out)
{
    const Shape *shape = shapes_at(sp->plan->inferred->shapes, sharding->shape);
    TensorSharding sharding_text = *sharding;
    bool all = true;
    sharding_text.unreduced.n = 0;
    for (int d = 0; d < sharding_text.n_dims; d++)
        for (int i = 0; i < sharding_text.dim[d].axes.n; i++) {
            uint8_t atom[ATOMS_MAX];
            int n = 0;
            if (axis_ref_to_atoms(&sharding_text.dim[d].axes.at[i], sp->plan->mesh, atom, &n))
                continue;
            sharding_text.dim[d].axes.n = i;
            all = false;
        }
    bool sayable = tensor_sharding_to_layout(&sharding_text, shape, sp->plan->mesh, out);
    assert(sayable);
    (void)sayable;
    return all;
}

static int32_t sharding_of(const void *context, Shardings *shardings, int32_t state)
{
    const ShardyPlan *sp = context;
    Sharding layout;
    layout_of(sp, shardy_at(sp->flow, state), &layout);
    return shardings_put(shardings, &layout);
}

/* Ops have no states of their own here, so no event calls this. */
static const OpCut *cut_of(const void *context, int32_t state)
{
    (void)context;
    (void)state;
    return NULL;
}

static void publish_log(ShardyPlan *sp)
{
    Propagated *out = sp->out;
    out->log = (PlanLog){.flow = graph_log(sp), .end = sp->program.state, .op = sp->of};
    out->log.pass_name = shardy_pass_names();
    out->log.context = sp;
    out->log.sharding_of = sharding_of;
    out->log.cut_of = cut_of;
    for (int t = 0; t < out->log.flow->turns.n; t++)
        out->sweeps += out->log.flow->turns.at[t].pass != PASS_SET;
}

/* ---- tensors ---- */

static void note_sub_axis(ShardyPlan *sp, int32_t tensor, int count)
{
    Plan *plan = sp->plan;
    const char *more =
        count > 1 ? arena_printf(plan->arena, " (and %d more like it)", count - 1) : "";
    Json *sharding_text = tensor_sharding_to_json(plan->arena, plan->mesh,
                                                  shardy_at(sp->flow, sp->program.state[tensor]));
    Buf text = buf_new(plan->arena);
    json_write(json_get(sharding_text, "dims"), &text);
    json_free(sharding_text);
    plan_find(
        plan, LEVEL_NOTE, "shardy-sub-axis", -1, tensor, "",
        "%s%s: %s has a part of an axis that is not made of prime parts in a row: it is left out",
        plan_value_name(plan, tensor), more, text.s);
}

static void publish_tensors(ShardyPlan *sp)
{
    Plan *plan = sp->plan;
    int n_unsaid = 0, unsaid = -1, n_states = 0;
    for (int t = 0; t < sp->program.n_tensors; t++)
        n_states = sp->program.state[t] >= n_states ? sp->program.state[t] + 1 : n_states;
    int32_t *known = arena_array(plan->arena, int32_t, n_states); /* 1 + sharding */
    bool *lost = arena_array(plan->arena, bool, n_states);
    for (int t = 0; t < plan->inferred->graph->n_tensors; t++) {
        int32_t state = sp->program.state[t];
        sp->out->reached[t] = -1;
        if (!inferred_shape(plan->inferred, t))
            continue;
        if (known[state] == 0) {
            Sharding layout;
            lost[state] = !layout_of(sp, shardy_at(sp->flow, state), &layout);
            known[state] = shardings_put(plan->shardings, &layout) + 1;
        }
        sp->out->reached[t] = known[state] - 1;
        n_unsaid += lost[state];
        unsaid = unsaid < 0 && lost[state] ? t : unsaid;
    }
    if (n_unsaid > 0)
        note_sub_axis(sp, unsaid, n_unsaid);
}

/* ---- ops ---- */

typedef struct {
    ShardyPlan *sp;
    Intern *cut_ids;         /* OpCuts */
    Vec(const OpCut *) cuts; /* by id */
    Intern *visited;         /* (op space, states) -> cut */
    Vec(int32_t) answers;
    int n_lost; /* ops with axes that no cut can express */
    int32_t lost;
} Cutting;

static int32_t put_cut(Cutting *c, const OpCut *cut)
{
    size_t n_bytes = offsetof(OpCut, index) + (size_t)cut->n * sizeof(Cut);
    int32_t id = intern_put(c->cut_ids, cut, n_bytes);
    if (id == c->cuts.n) {
        OpCut *kept = arena_make(c->sp->plan->arena, OpCut);
        memcpy(kept, cut, n_bytes);
        vec_push(c->sp->plan->arena, &c->cuts, kept);
    }
    return id;
}

/* The axes with which Shardy computes the op, by factor. */
static void choose(const Cutting *c, Arena *scratch, const OpSpace *space, const ShardyOp *op,
                   AxisList *by_factor)
{
    const ShardyPlan *sp = c->sp;
    int n = op->n_inputs + op->n_outputs;
    const TensorSharding **sharding = arena_array(scratch, const TensorSharding *, n);
    double *size = arena_array(scratch, double, n);
    for (int t = 0; t < n; t++) {
        sharding[t] = shardy_at(sp->flow, sp->program.state[op->tensor[t]]);
        size[t] = space->operand[t].absent ? 1 : (double)shape_elements(&space->operand[t].shape);
    }
    shardy_choose(scratch, op->rule, sp->plan->mesh, sharding, size, by_factor);
}

/* True when a tensor dim follows the index dim exactly, so that a cut of one is a cut of the
 * other. */
static bool can_cut(const OpSpace *space, int index)
{
    if (space->index[index].role == ROLE_FROZEN)
        return false;
    for (int o = 0; o < space->n_inputs + space->n_outputs; o++) {
        const Operand *operand = &space->operand[o];
        for (int d = 0; !operand->absent && !operand->ignored && d < operand->shape.n_dims; d++)
            for (int k = 0; operand->factors[d].exact && k < operand->factors[d].n; k++)
                if (operand->factors[d].index[k] == index)
                    return true;
    }
    return false;
}

static bool cut_index(const ShardyPlan *sp, const OpSpace *space, int index, const AxisList *axes,
                      Cut *out)
{
    uint8_t atom[ATOMS_MAX];
    int n = 0;
    bool all = axes->n == 0 || can_cut(space, index);
    for (int i = 0; can_cut(space, index) && i < axes->n; i++) {
        int before = n;
        if (!axis_ref_to_atoms(&axes->at[i], sp->plan->mesh, atom, &n)) {
            n = before;
            all = false;
            break;
        }
    }
    *out = cut_by(space->index[index].size, atom, n, sp->plan->mesh);
    return all;
}

static OpCut cut_by_factors(Cutting *c, const OpSpace *space, const AxisList *by_factor, bool *all)
{
    const SpaceRule *rule = &c->sp->space[space->id];
    OpCut cut = {.n = space->n_index};
    bool used[X_MAX * FACTORS_MAX] = {0};
    for (int i = 0; i < space->n_index; i++) {
        AxisList none = {0};
        int f = rule->factor[i];
        *all &= cut_index(c->sp, space, i, f < 0 ? &none : &by_factor[f], &cut.index[i]);
        if (f >= 0 && f < (int)sizeof used)
            used[f] = true;
    }
    for (int f = 0; f < rule->rule->n_factors && f < (int)sizeof used; f++)
        *all &= used[f] || by_factor[f].n == 0;
    return cut;
}

/* Sets pinned index dims to exactly their pins, open ones too, whatever else uses those axes. */
static bool apply_pins(const ShardyPlan *sp, int32_t op, OpCut *cut)
{
    bool any = false;
    for (int i = 0; i < cut->n; i++) {
        const Decision *pin = plan_pin_of(sp->plan, PIN_INDEX_DIM, op, i);
        if (!pin || (pin->open && cut_refines(&cut->index[i], decision_cut(pin), sp->plan->mesh)))
            continue;
        for (int j = 0; j < cut->n; j++)
            if (j != i)
                cut->index[j] =
                    cut_without(&cut->index[j], cut_atoms(decision_cut(pin)), sp->plan->mesh);
        cut->index[i] = *decision_cut(pin);
        any = true;
    }
    return any;
}

static int32_t cut_for(Cutting *c, const OpSpace *space, const ShardyOp *op, int32_t graph_op)
{
    Arena *scratch = arena_new();
    int n = op->n_inputs + op->n_outputs;
    int32_t *key = arena_array(scratch, int32_t, n + 1);
    key[0] = space->id;
    for (int t = 0; t < n; t++)
        key[1 + t] = c->sp->program.state[op->tensor[t]];
    int32_t id = intern_put(c->visited, key, (size_t)(n + 1) * sizeof *key);
    if (id == c->answers.n) {
        AxisList *by_factor = arena_array(scratch, AxisList, op->rule->n_factors);
        bool all = true;
        choose(c, scratch, space, op, by_factor);
        OpCut cut = cut_by_factors(c, space, by_factor, &all);
        if (!all && c->n_lost++ == 0)
            c->lost = graph_op;
        vec_push(c->sp->plan->arena, &c->answers, put_cut(c, &cut));
    }
    assert(c->answers.at);
    arena_free(scratch);
    return c->answers.at[id];
}

static void cut_op(Cutting *c, int32_t graph_op)
{
    const OpSpace *space = program_space(c->sp->plan->inferred, graph_op);
    int32_t at = c->sp->at[graph_op];
    OpCut cut = op_cut_whole(space);
    int32_t id = at < 0 ? put_cut(c, &cut) : cut_for(c, space, &c->sp->ops.at[at], graph_op);
    assert(c->cuts.at);
    cut = *c->cuts.at[id];
    if (apply_pins(c->sp, graph_op, &cut))
        id = put_cut(c, &cut);
    c->sp->out->cut[graph_op] = id;
}

static void publish_cuts(ShardyPlan *sp)
{
    Plan *plan = sp->plan;
    const Graph *graph = plan->inferred->graph;
    Cutting c = {.sp = sp, .cut_ids = intern_new(plan->arena), .visited = intern_new(plan->arena)};
    for (int i = 0; i < plan->inferred->n_program; i++)
        cut_op(&c, plan->inferred->program[i]);
    sp->out->cuts = c.cuts.at;
    sp->out->n_cuts = c.cuts.n;
    if (c.n_lost > 0)
        plan_find(plan, LEVEL_NOTE, "shardy-lost", c.lost, -1, "",
                  "%s %s%s: Shardy shards it along factors that match no index dim here",
                  op_operator(graph, c.lost), op_name(graph, c.lost),
                  c.n_lost > 1 ? arena_printf(plan->arena, " (and %d more like it)", c.n_lost - 1)
                               : "");
}

/* ---- all of it ---- */

static void run(Plan *plan, Propagated *out, const PlanRequest *request)
{
    (void)request;
    ShardyPlan *sp = arena_make(plan->arena, ShardyPlan);
    FactorMeshes *meshes = arena_make(plan->arena, FactorMeshes);
    *meshes = (FactorMeshes){.n = 1, .at = arena_array(plan->arena, const Mesh *, 1)};
    meshes->at[0] = plan->mesh;
    *sp = (ShardyPlan){.plan = plan, .out = out, .flow = shardy_flow_new(plan->arena)};
    sp->aggressive = plan->propagator != &propagator_shardy_basic;
    shardy_plan_program(sp);
    shardy_plan_pins(sp);
    sp->program.meshes = meshes;
    sp->program.n_ops = sp->ops.n;
    sp->program.op = sp->ops.at;
    sp->program.n_tensors = sp->states.n;
    sp->program.state = sp->states.at;
    sp->program.log_arena = plan->arena;
    sp->program.progress = plan->progress;
    ShardyMethod method = {.basic = plan->propagator != &propagator_shardy,
                           .aggressive = sp->aggressive,
                           .op_priorities = true,
                           .user_priorities = true};
    shardy_run(sp->flow, &sp->program, method, NULL, NULL);
    out->passed = arena_array(plan->arena, AtomSet, graph_n_input_places(plan->inferred->graph));
    publish_tensors(sp);
    publish_cuts(sp);
    out->group = sp->program.group;
    publish_log(sp);
}

/* ---- stops ---- */

static int dim_of(const FactorTensor *tensor, int factor)
{
    for (int d = 0; d < tensor->n_dims; d++)
        for (int k = 0; k < tensor->dim[d].n; k++)
            if (tensor->dim[d].at[k] == factor)
                return d;
    return -1;
}

static int index_of(const SpaceRule *rule, int n_index, int factor)
{
    for (int i = 0; i < n_index; i++)
        if (rule->factor[i] == factor)
            return i;
    return -1;
}

static StopRecord record_of(const ShardyPlan *sp, int32_t op, const FactorStop *stop, bool leaving)
{
    const OpSpace *space = program_space(sp->plan->inferred, op);
    const SpaceRule *rule = &sp->space[space->id];
    StopRecord record = {.op = op, .stop = stop->stop, .leaving = leaving, .other = -1};
    uint8_t atom[ATOMS_MAX];
    int n = 0;
    record.operand = leaving ? stop->source : stop->tensor;
    record.dim = dim_of(&rule->rule->tensor[record.operand], stop->factor);
    record.index = index_of(rule, space->n_index, stop->factor);
    if (stop->stop == STOP_TAKEN)
        record.other = leaving ? index_of(rule, space->n_index, stop->other)
                               : dim_of(&rule->rule->tensor[record.operand], stop->other);
    if (axis_ref_to_atoms(&stop->axis, sp->plan->mesh, atom, &n))
        for (int i = 0; i < n; i++)
            record.atoms |= (AtomSet)1 << atom[i];
    return record;
}

static int stops(Arena *arena, const Plan *plan, int32_t op, StopRecord **out)
{
    const ShardyPlan *sp = plan->propagated->log.context;
    Vec(StopRecord) records = {0};
    FactorStops stops = {0};
    *out = NULL;
    if (sp->at[op] < 0)
        return 0;
    const ShardyOp *shardy = &sp->ops.at[sp->at[op]];
    int n = shardy->n_inputs + shardy->n_outputs;
    const TensorSharding **sharding = arena_array(arena, const TensorSharding *, n);
    Pass *direction = arena_array(arena, Pass, shardy->rule->n_factors);
    for (int t = 0; t < n; t++)
        sharding[t] = shardy_at(sp->flow, sp->program.state[shardy->tensor[t]]);
    FactorStep step = shardy_step_of(&sp->program, shardy, SHARDY_PASSES - 1, sp->aggressive,
                                     sharding, direction);
    if (!step.mesh)
        return 0;
    factor_stops(arena, &step, sharding, &stops);
    for (int i = 0; i < stops.n; i++)
        for (int leaving = 0; leaving < 2; leaving++)
            vec_push(arena, &records, record_of(sp, op, &stops.at[i], leaving));
    *out = records.at;
    return records.n;
}

const Propagator propagator_shardy = {
    .name = "factor",
    .profile = "shardy",
    .about = "Shardy's rules, priorities and order of visits, aggressive",
    .run = run,
    .stops = stops,
    .own_rules = true,
    .obeys = OBEYS_PINS | OBEYS_MARKS,
};

const Propagator propagator_shardy_basic = {
    .name = "factor",
    .profile = "shardy-basic",
    .about = "like shardy, but any conflict stops a factor",
    .run = run,
    .stops = stops,
    .own_rules = true,
    .obeys = OBEYS_PINS | OBEYS_MARKS,
};

const Propagator propagator_shardy_both = {
    .name = "factor",
    .profile = "shardy-basic-then-aggressive",
    .about = "like shardy, first basic and then aggressive",
    .run = run,
    .stops = stops,
    .own_rules = true,
    .obeys = OBEYS_PINS | OBEYS_MARKS,
};
