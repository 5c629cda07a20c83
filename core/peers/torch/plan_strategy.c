#include "core/peers/torch/plan_strategy.h"

#include "core/plan/plan_findings.h"
#include "core/peers/torch/explain.h"
#include "core/peers/torch/whole_ask.h"
#include "core/peers/torch/whole_cut.h"

/* An op space with given placements of its operands. */
typedef struct {
    int32_t cut;
    int32_t *output; /* lays */
    WholeCut parts;
    OpChoice choice;
    const char *code; /* of the finding, or NULL */
    const char *text, *hint;
    int32_t first_op, first_unpassed;
    int n_ops, n_unpassed;
} Case;

typedef struct {
    Plan *plan;
    Propagated *out;
    const PlanRequest *request;
    const Inferred *inferred;
    const Strategies *strategies;
    Arena *arena;
    Lays lays;
    Intern *call_ids, *case_ids, *cut_ids;
    Vec(WholeCall) calls; /* by op space and kinds of operands */
    Vec(Case) cases;
    Vec(const OpCut *) cuts;
    int32_t *lay;     /* per tensor */
    Sharding **pin;   /* per tensor: its pins, other dims replicated; or NULL */
    OpChoice *choice; /* per op */
    const uint8_t *
        *partial;   /* per tensor: ReduceOp per atom by which it is partial when read, or NULL */
    OpCut **op_pin; /* per op: its pinned index dims, others not sharded; or NULL */
    Vec(int32_t) key;
} StrategyRun;

/* ---- pins ---- */

static void note_inexpressible(StrategyRun *walk, int32_t tensor)
{
    plan_find(walk->plan, LEVEL_WARNING, "pin-inexpressible", -1, tensor,
              "pin whole axes, as an order of axes or in equal blocks",
              "%s has a pin that no placement can express: operators see it as replicated there",
              plan_value_name(walk->plan, tensor));
}

/* Sets a pinned dim of a tensor and removes its axes from the other dims. */
static void pin_dim(Sharding *pinned, int dim, const Cut *cut, const Mesh *mesh)
{
    for (int d = 0; d < pinned->n_dims; d++)
        if (d != dim)
            pinned->dim[d] = cut_without(&pinned->dim[d], cut_atoms(cut), mesh);
    pinned->dim[dim] = *cut;
    for (int a = 0; a < ATOMS_MAX; a++)
        if (cut_atoms(cut) >> a & 1)
            pinned->partial[a] = REDUCE_NONE;
}

static Sharding *pin_of(StrategyRun *walk, int32_t tensor)
{
    if (!walk->pin[tensor]) {
        walk->pin[tensor] = arena_make(walk->arena, Sharding);
        *walk->pin[tensor] = sharding_whole(inferred_shape(walk->inferred, tensor));
    }
    return walk->pin[tensor];
}

static bool is_of_parameters(const StrategyRun *walk, int32_t tensor)
{
    int32_t maker = walk->inferred->graph->tensors[tensor].maker;
    return tensor_is_parameter(walk->inferred, tensor) ||
           (maker >= 0 && !inferred_is_host(walk->inferred, maker) &&
            walk->inferred->on_parameters[maker]);
}

/* Shards the dims of an input whose index dims are pinned at the op. */
static bool pin_operand(const StrategyRun *walk, int32_t op, int operand, Sharding *sharding)
{
    const OpSpace *space = program_space(walk->inferred, op);
    const Operand *o = &space->operand[operand];
    bool any = false;
    for (int d = 0; !o->absent && !o->ignored && d < o->shape.n_dims; d++) {
        Cut cut;
        if (!op_cut_project(space, walk->op_pin[op], operand, d, walk->plan->mesh, &cut) ||
            cut_is_whole(&cut))
            continue;
        pin_dim(sharding, d, &cut, walk->plan->mesh);
        any = true;
    }
    return any;
}

static void read_pin(StrategyRun *walk, const Decision *pin)
{
    if (pin->store)
        return;
    if (pin->kind == PIN_TENSOR_DIM) {
        pin_dim(pin_of(walk, pin->place), pin->dim, decision_cut(pin), walk->plan->mesh);
        walk->out->pinned[pin->place] |= (uint16_t)(1u << pin->dim);
        return;
    }
    const OpSpace *space = program_space(walk->inferred, pin->place);
    OpCut **cut = &walk->op_pin[pin->place];
    if (!*cut) {
        *cut = arena_make(walk->arena, OpCut);
        (*cut)->n = space->n_index;
        for (int i = 0; i < space->n_index; i++)
            (*cut)->index[i] = cut_whole(space->index[i].size);
    }
    (*cut)->index[pin->dim] = *decision_cut(pin);
}

/* Index dims pinned at an op shard its parameters from the start, unless those are pinned. */
static void pin_parameters(StrategyRun *walk, int32_t op)
{
    for (int i = 0; i < walk->inferred->graph->ops[op].n_inputs; i++) {
        int32_t t = op_inputs(walk->inferred->graph, op)[i];
        const Shape *shape = t < 0 ? NULL : inferred_shape(walk->inferred, t);
        if (!shape || !is_of_parameters(walk, t) || walk->pin[t])
            continue;
        Sharding sharding = sharding_whole(shape);
        if (pin_operand(walk, op, i, &sharding))
            *pin_of(walk, t) = sharding;
    }
}

/* A pin on a view of a parameter counts for the parameter. */
static void pass_pins_back(StrategyRun *walk, int32_t op)
{
    const Graph *graph = walk->inferred->graph;
    const OpSpace *space = program_space(walk->inferred, op);
    const Mesh *mesh = walk->plan->mesh;
    int32_t made = graph->ops[op].n_outputs > 0 ? op_outputs(graph, op)[0] : -1;
    if (space->no_rule || made < 0 || !walk->pin[made])
        return;
    OpCut cut = {.n = space->n_index};
    for (int i = 0; i < space->n_index; i++)
        cut.index[i] = cut_whole(space->index[i].size);
    for (int d = 0; d < walk->pin[made]->n_dims; d++) {
        const DimFactors *factors = &space->operand[space->n_inputs].factors[d];
        int64_t sizes[FACTORS_MAX];
        Cut part[FACTORS_MAX];
        AtomSet lost;
        if (factors->n == 0 || !factors->exact)
            continue;
        for (int f = 0; f < factors->n; f++)
            sizes[f] = space->index[factors->index[f]].size;
        cut_split(&walk->pin[made]->dim[d], sizes, factors->n, mesh, part, &lost);
        for (int f = 0; f < factors->n; f++)
            cut.index[factors->index[f]] = part[f];
    }
    for (int i = 0; i < space->n_inputs; i++) {
        int32_t t = op_inputs(graph, op)[i];
        if (t < 0 || !inferred_shape(walk->inferred, t) || !is_of_parameters(walk, t))
            continue;
        for (int d = 0; d < space->operand[i].shape.n_dims; d++) {
            Cut dim;
            bool pinned = walk->pin[t] && !cut_is_whole(&walk->pin[t]->dim[d]);
            if (pinned || walk->out->pinned[t] >> d & 1 || space->operand[i].absent ||
                !op_cut_project(space, &cut, i, d, mesh, &dim) || cut_is_whole(&dim))
                continue;
            pin_dim(pin_of(walk, t), d, &dim, mesh);
            walk->out->pinned[t] |= (uint16_t)(walk->out->pinned[made] ? 1u << d : 0);
        }
    }
}

static void read_pins(StrategyRun *walk)
{
    const Inferred *inferred = walk->inferred;
    for (int i = 0; i < walk->plan->decided->n_pins; i++)
        read_pin(walk, walk->plan->decided->pins[i]);
    for (int i = 0; i < inferred->n_program; i++)
        if (walk->op_pin[inferred->program[i]])
            pin_parameters(walk, inferred->program[i]);
    for (int i = inferred->n_program - 1; i >= 0; i--)
        if (inferred->on_parameters[inferred->program[i]])
            pass_pins_back(walk, inferred->program[i]);
}

/* Inputs, parameters and constants lie as pinned before the first op. */
static bool is_given(const StrategyRun *walk, int32_t tensor)
{
    return walk->inferred->graph->tensors[tensor].maker < 0 ||
           tensor_is_known(walk->inferred, tensor);
}

/* Sets them. */
static void start_tensors(StrategyRun *walk)
{
    const Inferred *inferred = walk->inferred;
    for (int t = 0; t < inferred->graph->n_tensors; t++) {
        const Shape *shape = inferred_shape(inferred, t);
        walk->lay[t] = shape ? LAY_WHOLE : LAY_NONE;
        if (shape && walk->pin[t] && is_given(walk, t) &&
            !lays_of_sharding(&walk->lays, walk->pin[t], &walk->lay[t]))
            note_inexpressible(walk, t);
    }
}

/* ---- cases ---- */

static int32_t put_cut(StrategyRun *walk, const OpCut *cut)
{
    size_t n_bytes = offsetof(OpCut, index) + (size_t)cut->n * sizeof(Cut);
    int32_t id = intern_put(walk->cut_ids, cut, n_bytes);
    if (id == walk->cuts.n) {
        OpCut *kept = arena_make(walk->arena, OpCut);
        memcpy(kept, cut, n_bytes);
        vec_push(walk->arena, &walk->cuts, kept);
    }
    return id;
}

static void note_refused(StrategyRun *walk, Case *made, int32_t op, const Error *err)
{
    const Graph *graph = walk->inferred->graph;
    bool unknown = err->kind == ERROR_UNSUPPORTED;
    made->code = unknown ? "no-strategy" : "strategy-refused";
    made->text =
        arena_printf(walk->arena, "%s %s: %s%s", op_operator(graph, op), op_path_or_name(graph, op),
                     err->text, unknown ? "; it is replicated" : "");
    made->hint = arena_str(walk->arena, str_from(err->hint));
}

static void note_unknown(StrategyRun *walk, Case *made, int32_t op)
{
    const Graph *graph = walk->inferred->graph;
    Error err = {0};
    error_kind(&err, ERROR_UNSUPPORTED, "torch has no strategy for %s", op_operator(graph, op));
    error_hint(&err, "register_strategy() in a policy file adds one");
    if (!program_space(walk->inferred, op)->no_rule)
        note_refused(walk, made, op, &err);
}

/* An index dim that is never sharded and that the row shards in an input; or NULL. */
static const char *sharded_frozen(const OpSpace *space, const WholeReply *reply, const Mesh *mesh)
{
    for (int i = 0; i < space->n_inputs; i++) {
        const Operand *operand = &space->operand[i];
        for (int a = 0; reply->input[i] && !operand->absent && a < mesh->n_axes; a++) {
            const Placement *at = &reply->input[i][a];
            const DimFactors *factors = placement_is_shard(at) ? &operand->factors[at->dim] : NULL;
            for (int f = 0; factors && f < factors->n; f++)
                if (space->index[factors->index[f]].role == ROLE_FROZEN)
                    return space->index[factors->index[f]].name;
        }
    }
    return NULL;
}

static void note_lost(StrategyRun *walk, Case *made, int32_t op, const WholeReply *reply)
{
    const Graph *graph = walk->inferred->graph;
    Buf row = buf_new(walk->arena);
    const Placement **fed = arena_array(walk->arena, const Placement *, graph->ops[op].n_inputs);
    int n_fed = 0, n_made = 0;
    for (int i = 0; i < graph->ops[op].n_inputs; i++)
        if (reply->input[i])
            fed[n_fed++] = reply->input[i];
    while (n_made < graph->ops[op].n_outputs && reply->output[n_made])
        n_made++;
    strategy_format(fed, n_fed, reply->output, n_made, walk->plan->mesh->n_axes, &row);
    const char *frozen = sharded_frozen(program_space(walk->inferred, op), reply, walk->plan->mesh);
    if (frozen) {
        made->code = "strategy-wrong";
        made->text =
            arena_printf(walk->arena,
                         "%s %s: by %s each rank would compute on its own part of %s, which "
                         "the op needs whole: it is gathered here",
                         op_operator(graph, op), op_path_or_name(graph, op), row.s, frozen);
        made->hint = "'dimscope rule --check OP --profile NAME' tries the rows on simulated ranks";
        return;
    }
    made->code = "strategy-lost";
    made->text = arena_printf(walk->arena, "%s %s: no cut of its index dims expresses all of %s",
                              op_operator(graph, op), op_path_or_name(graph, op), row.s);
    made->hint = "";
}

/* Stores the cut of the chosen row; reply NULL: everything replicated. */
static void set_reply(StrategyRun *walk, Case *made, int32_t op, const WholeReply *reply)
{
    const GraphOp *node = &walk->inferred->graph->ops[op];
    const OpSpace *space = program_space(walk->inferred, op);
    const Placement **none =
        arena_array(walk->arena, const Placement *, node->n_inputs + node->n_outputs);
    WholeRowChosen chosen = {none, none, false};
    if (reply)
        chosen = (WholeRowChosen){reply->input, reply->output, reply->composed};
    made->parts = whole_cut(walk->arena, walk->plan->mesh, space, &chosen);
    made->cut = put_cut(walk, &made->parts.cut);
    made->output = arena_array(walk->arena, int32_t, node->n_outputs);
    for (int o = 0; reply && o < node->n_outputs; o++)
        if (reply->output[o])
            made->output[o] = lays_put(&walk->lays, chosen.output[o], reply->view_made);
    if (reply && made->parts.lost && !made->code)
        note_lost(walk, made, op, reply);
}

static void make_case(StrategyRun *walk, Case *made, const WholeCall *call, int32_t op,
                      const int32_t *given)
{
    WholeQuestion question = {.inferred = walk->inferred,
                              .strategies = walk->strategies,
                              .lays = &walk->lays,
                              .call = call,
                              .op = op,
                              .given = given,
                              .no_redistribute = walk->request->no_redistribute};
    if (walk->request->propagator == &propagator_vescale)
        question.profile = STRATEGY_VESCALE;
    Arena *scratch = arena_new();
    WholeReply reply;
    Error err = {0};
    bool known = call->n_steps > 0, answered = known && whole_ask(scratch, &question, &reply, &err);
    made->first_op = op;
    if (known && !answered) {
        note_refused(walk, made, op, &err);
        answered = err.kind != ERROR_UNSUPPORTED && whole_ask_fixed(scratch, &question, &reply);
    }
    if (!known && !call->makes)
        note_unknown(walk, made, op);
    made->choice = answered ? reply.choice : (OpChoice){.us = -1};
    set_reply(walk, made, op, answered ? &reply : NULL);
    arena_free(scratch);
}

static int32_t find_call(StrategyRun *walk, int32_t op)
{
    const Inferred *inferred = walk->inferred;
    walk->key.n = 0;
    vec_push(walk->arena, &walk->key, inferred->space[op]);
    for (int i = 0; i < inferred->graph->ops[op].n_inputs; i++) {
        int32_t t = op_inputs(inferred->graph, op)[i];
        int32_t kind = t < 0 ? -1 : (int32_t)whole_operand(inferred, t);
        vec_push(walk->arena, &walk->key, kind);
    }
    int32_t id =
        intern_put(walk->call_ids, walk->key.at, (size_t)walk->key.n * sizeof *walk->key.at);
    if (id == walk->calls.n) {
        WholeCall call = whole_call(walk->arena, inferred, walk->strategies, op);
        vec_push(walk->arena, &walk->calls, call);
    }
    return id;
}

static Case *find_case(StrategyRun *walk, int32_t op, const int32_t *given)
{
    int32_t called = find_call(walk, op);
    walk->key.n = 0;
    vec_push(walk->arena, &walk->key, called);
    for (int i = 0; i < walk->inferred->graph->ops[op].n_inputs; i++)
        vec_push(walk->arena, &walk->key, given[i]);
    int32_t id =
        intern_put(walk->case_ids, walk->key.at, (size_t)walk->key.n * sizeof *walk->key.at);
    if (id == walk->cases.n) {
        Case made = {0};
        make_case(walk, &made, &walk->calls.at[called], op, given);
        vec_push(walk->arena, &walk->cases, made);
    }
    return &walk->cases.at[id];
}

/* ---- the walk ---- */

/* The lay of an operand after redistribution to the op's pinned index dims; partial on other axes
 * stays. */
static int32_t lay_before_op(StrategyRun *walk, int32_t op, int operand, int32_t lay)
{
    int32_t t = op_inputs(walk->inferred->graph, op)[operand];
    Sharding sharding = lays_sharding(&walk->lays, lay, inferred_shape(walk->inferred, t));
    if (!pin_operand(walk, op, operand, &sharding))
        return lay;
    int32_t pinned;
    if (!lays_of_sharding(&walk->lays, &sharding, &pinned))
        note_inexpressible(walk, t);
    Lay both = *lays_at(&walk->lays, pinned);
    const Lay *before = lays_at(&walk->lays, lay);
    for (int axis = 0; axis < walk->plan->mesh->n_axes; axis++)
        if (both.at[axis].kind == PLACE_REPLICATE && placement_is_partial(&before->at[axis]))
            both.at[axis] = before->at[axis];
    return lays_put(&walk->lays, both.at, both.view_made != 0);
}

static void read_inputs(StrategyRun *walk, int32_t op, int32_t *given)
{
    const Inferred *inferred = walk->inferred;
    for (int i = 0; i < inferred->graph->ops[op].n_inputs; i++) {
        int32_t t = op_inputs(inferred->graph, op)[i];
        given[i] = t < 0 ? LAY_NONE : walk->lay[t];
        if (given[i] >= 0 && walk->op_pin[op] && !program_space(inferred, op)->no_rule)
            given[i] = lay_before_op(walk, op, i, given[i]);
    }
}

/* True if an input that is partial on an axis in the row is partial or may become so; *any is set
 * if it is. */
static bool may_be_partial(const uint8_t *partial, AtomSet axis, const uint8_t *kind, bool *any)
{
    for (int a = 0; a < ATOMS_MAX; a++) {
        ReduceOp is = axis >> a & 1 && partial ? (ReduceOp)partial[a] : REDUCE_NONE;
        if (is != REDUCE_NONE && is != (ReduceOp)kind[a])
            return false;
        *any |= is != REDUCE_NONE;
    }
    return true;
}

/* The axes that stay partial through the op: those of the row on which an input is partial by the
 * same reduction and the others are too, or replicated. */
static AtomSet pass_partial(StrategyRun *walk, int32_t op, Case *found)
{
    const Graph *graph = walk->inferred->graph;
    const WholeCut *parts = &found->parts;
    AtomSet passes = 0;
    for (int axis = 0; axis < walk->plan->mesh->n_axes; axis++) {
        AtomSet atoms = mesh_axis_atoms(walk->plan->mesh, axis);
        bool any = false, all = (parts->passes & atoms) != 0;
        for (int i = 0; all && i < graph->ops[op].n_inputs; i++) {
            int32_t t = op_inputs(graph, op)[i];
            if (t >= 0 && parts->reads[i] & atoms)
                all = may_be_partial(walk->partial[t], atoms, parts->kind, &any);
        }
        passes |= all && any ? atoms : 0;
    }
    for (int i = 0; passes && i < graph->ops[op].n_inputs; i++)
        walk->out->passed[graph->ops[op].input + i] = parts->reads[i] & passes;
    if (passes != parts->passes && found->n_unpassed++ == 0)
        found->first_unpassed = op;
    return passes;
}

/* The reductions of the outputs per atom: from the cut, and from passing inputs. */
static const uint8_t *partial_of(StrategyRun *walk, int32_t op, const Case *found, AtomSet passes)
{
    const OpSpace *space = program_space(walk->inferred, op);
    if (!(found->parts.reduced | passes))
        return NULL;
    uint8_t *partial = arena_array(walk->arena, uint8_t, ATOMS_MAX);
    for (int a = 0; a < ATOMS_MAX; a++)
        partial[a] = passes >> a & 1 ? found->parts.kind[a] : REDUCE_NONE;
    for (int i = 0; i < space->n_index; i++) {
        AtomSet atoms =
            space->index[i].role == ROLE_REDUCE ? cut_atoms(&found->parts.cut.index[i]) : 0;
        for (int a = 0; a < ATOMS_MAX; a++)
            if (atoms >> a & 1)
                partial[a] = (uint8_t)space->index[i].reduce;
    }
    return partial;
}

static void put_flow(StrategyRun *walk, int32_t tensor, const Sharding *sharding)
{
    Sharding whole = sharding_without_partial(sharding);
    walk->out->reached[tensor] = shardings_put(walk->plan->shardings, &whole);
}

/* Sets an output; if it is pinned, it is redistributed after its producer. */
static void set_output(StrategyRun *walk, int32_t tensor, int32_t lay, const uint8_t *partial)
{
    const Shape *shape = inferred_shape(walk->inferred, tensor);
    if (!shape)
        return;
    Sharding sharding = lays_sharding(&walk->lays, lay, shape);
    uint16_t pinned = walk->out->pinned[tensor];
    walk->lay[tensor] = lay;
    for (int d = 0; d < sharding.n_dims; d++)
        if (pinned >> d & 1)
            pin_dim(&sharding, d, &walk->pin[tensor]->dim[d], walk->plan->mesh);
    if (pinned && !lays_of_sharding(&walk->lays, &sharding, &walk->lay[tensor]))
        note_inexpressible(walk, tensor);
    bool leaves = pinned || walk->inferred->graph->tensors[tensor].output;
    walk->partial[tensor] = leaves ? NULL : partial;
    put_flow(walk, tensor, &sharding);
}

static void check_pinned(StrategyRun *walk, int32_t op, const OpCut *cut)
{
    const Graph *graph = walk->inferred->graph;
    const OpCut *pinned = walk->op_pin[op];
    for (int i = 0; pinned && i < cut->n; i++)
        if (!cut_refines(&cut->index[i], &pinned->index[i], walk->plan->mesh))
            plan_find(walk->plan, LEVEL_WARNING, "pin-overruled", op, -1,
                      "pin its operands as in one of the operator's rows (dimscope rule)",
                      "%s %s: %s is pinned, but the chosen row shards it differently",
                      op_operator(graph, op), op_path_or_name(graph, op),
                      program_space(walk->inferred, op)->index[i].name);
}

static void visit_op(StrategyRun *walk, int32_t op, int32_t *given)
{
    const Graph *graph = walk->inferred->graph;
    read_inputs(walk, op, given);
    Case *found = find_case(walk, op, given);
    found->n_ops++;
    walk->out->cut[op] = found->cut;
    walk->choice[op] = found->choice;
    const uint8_t *partial = partial_of(walk, op, found, pass_partial(walk, op, found));
    for (int o = 0; o < graph->ops[op].n_outputs; o++)
        if (op_outputs(graph, op)[o] >= 0)
            set_output(walk, op_outputs(graph, op)[o], found->output[o], partial);
    check_pinned(walk, op, &found->parts.cut);
}

/* ---- start and end ---- */

static StrategyRun *run_new(Plan *plan, Propagated *out, const PlanRequest *request)
{
    const Graph *graph = plan->inferred->graph;
    StrategyRun *walk = arena_make(plan->arena, StrategyRun);
    *walk = (StrategyRun){
        .plan = plan,
        .out = out,
        .request = request,
        .inferred = plan->inferred,
        .strategies = strategies_of(request->rules),
        .arena = plan->arena,
        .lays = lays_new(plan->arena, plan->mesh, request->propagator == &propagator_vescale),
        .call_ids = intern_new(plan->arena),
        .case_ids = intern_new(plan->arena),
        .cut_ids = intern_new(plan->arena)};
    if (!walk->strategies)
        walk->strategies = strategies_new(plan->arena);
    walk->lay = arena_array(plan->arena, int32_t, graph->n_tensors);
    walk->pin = arena_array(plan->arena, Sharding *, graph->n_tensors);
    walk->partial = arena_array(plan->arena, const uint8_t *, graph->n_tensors);
    walk->op_pin = arena_array(plan->arena, OpCut *, graph->n_ops);
    walk->out->choice = walk->choice = arena_array(plan->arena, OpChoice, graph->n_ops);
    walk->out->passed = arena_array(plan->arena, AtomSet, graph_n_input_places(graph));
    return walk;
}

static void start_flows(StrategyRun *walk)
{
    for (int t = 0; t < walk->inferred->graph->n_tensors; t++) {
        const Shape *shape = inferred_shape(walk->inferred, t);
        walk->out->reached[t] = -1;
        if (!shape)
            continue;
        Sharding whole = sharding_whole(shape);
        put_flow(walk, t, walk->pin[t] && is_given(walk, t) ? walk->pin[t] : &whole);
    }
}

static void count_others(int n, Buf *out)
{
    if (n > 1)
        buf_printf(out, " (and %d more like it)", n - 1);
}

static void publish_findings(StrategyRun *walk)
{
    const Graph *graph = walk->inferred->graph;
    for (int i = 0; i < walk->cases.n; i++) {
        const Case *found = &walk->cases.at[i];
        Buf others = buf_new(walk->arena);
        if (found->code) {
            Level level = strcmp(found->code, "strategy-refused") == 0 ? LEVEL_ERROR
                          : strcmp(found->code, "no-strategy") == 0 ||
                                  strcmp(found->code, "strategy-wrong") == 0
                              ? LEVEL_WARNING
                              : LEVEL_NOTE;
            count_others(found->n_ops, &others);
            plan_find(walk->plan, level, found->code, found->first_op, -1, found->hint, "%s%s",
                      found->text, others.s ? others.s : "");
        }
        if (found->n_unpassed == 0)
            continue;
        others = buf_new(walk->arena);
        count_others(found->n_unpassed, &others);
        plan_find(walk->plan, LEVEL_NOTE, "strategy-lost", found->first_unpassed, -1, "",
                  "%s %s: torch leaves its result partial by a reduction that no cut here "
                  "produces: it is reduced%s",
                  op_operator(graph, found->first_unpassed),
                  op_path_or_name(graph, found->first_unpassed), others.s ? others.s : "");
    }
}

static void publish(StrategyRun *walk)
{
    walk->out->cuts = walk->cuts.at;
    walk->out->n_cuts = walk->cuts.n;
    walk->out->sweeps = 1;
    publish_findings(walk);
}

static void run(Plan *plan, Propagated *out, const PlanRequest *request)
{
    const Inferred *inferred = plan->inferred;
    StrategyRun *walk = run_new(plan, out, request);
    int32_t n_inputs = 0;
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t n = inferred->graph->ops[inferred->program[i]].n_inputs;
        n_inputs = n > n_inputs ? n : n_inputs;
    }
    int32_t *given = arena_array(plan->arena, int32_t, n_inputs);
    read_pins(walk);
    start_tensors(walk);
    start_flows(walk);
    for (int i = 0; i < inferred->n_program; i++) {
        if (!plan_making_goes_on(plan, i))
            return;
        visit_op(walk, inferred->program[i], given);
    }
    publish(walk);
}

const Propagator propagator_torch = {
    .name = "strategy",
    .profile = "torch",
    .about = "op by op in program order, as DTensor dispatches: the cheapest "
             "redistribution to one of the op's strategies",
    .run = run,
    .by_op = true,
    .obeys = OBEYS_PINS,
    .may_refuse = true,
    .keeps_partial = true,
};

const Propagator propagator_vescale = {
    .name = "strategy",
    .profile = "vescale",
    .about = "like torch, but an input that needs redistribution is an error that names the fix",
    .run = run,
    .by_op = true,
    .obeys = OBEYS_PINS,
    .may_refuse = true,
    .keeps_partial = true,
};
