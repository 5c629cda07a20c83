#include "core/run/lowering.h"

#include "core/cost/op_declared.h"
#include "core/cost/pipeline.h"
#include "core/plan/stage.h"
#include "core/run/native.h"
#include "core/run/runner.h"

#include <assert.h>

const char *instr_kind_name(InstrKind kind)
{
    static const char *const names[] = {"load",    "op",   "step", "free", "branch", "loop",
                                        "collect", "next", "back", "add"}; /* ORDER INSTR_KIND */
    return names[kind];
}

/* ---- slots ---- */

int32_t lower_instr(Lowering *l, Instr instr)
{
    vec_push(l->arena, &l->instrs, instr);
    vec_push(l->arena, &l->instr_region, l->region);
    vec_push(l->arena, &l->instr_for, l->op);
    return l->instrs.n - 1;
}

static Instr instr_of(InstrKind kind)
{
    return (Instr){.kind = kind, .slot = -1, .from = -1, .op = -1, .reshard = -1, .body = -1};
}

static int32_t add_slot(Lowering *l, ProgramSlot slot, int32_t next)
{
    vec_push(l->arena, &l->slots, slot);
    vec_push(l->arena, &l->next, next);
    vec_push(l->arena, &l->slot_region, l->region);
    return l->slots.n - 1;
}

int32_t lower_slot(Lowering *l, ProgramSlot slot, int32_t region)
{
    int32_t made = add_slot(l, slot, -1);
    l->slot_region.at[made] = region;
    return made;
}

static bool is_seen(const Lowering *l, int32_t slot)
{
    int32_t region = l->region;
    while (region >= 0 && region != l->slot_region.at[slot])
        region = l->regions.at[region].parent;
    return region >= 0;
}

static int32_t find_slot(const Lowering *l, ProgramSlot wanted)
{
    int32_t slot = l->first_slot[wanted.tensor];
    assert(slot < 0 || (l->slots.at && l->next.at));
    while (slot >= 0 && (l->slots.at[slot].sharding != wanted.sharding ||
                         l->slots.at[slot].devices != wanted.devices ||
                         (l->slots.at[slot].phase != 0 && wanted.phase != 0 &&
                          l->slots.at[slot].phase != wanted.phase) ||
                         !is_seen(l, slot)))
        slot = l->next.at[slot];
    return slot;
}

static int32_t named_slot(Lowering *l, ProgramSlot slot)
{
    l->first_slot[slot.tensor] = add_slot(l, slot, l->first_slot[slot.tensor]);
    return l->first_slot[slot.tensor];
}

static int32_t load(Lowering *l, ProgramSlot slot)
{
    Instr instr = instr_of(INSTR_LOAD);
    instr.slot = named_slot(l, slot);
    lower_instr(l, instr);
    return instr.slot;
}

/* ---- reshards ---- */

/* A missing reshard means that the plan is illegal: reports its first finding of level error. */
static void blame_plan(const Lowering *l, int32_t tensor, Error *err)
{
    const Findings *findings = &l->plan->findings;
    if (error_is_set(err))
        return;
    for (int i = 0; i < findings->n; i++)
        if (findings->at[i].level == LEVEL_ERROR) {
            error_kind(err, ERROR_USAGE, "the plan is illegal: %s", findings->at[i].text);
            error_hint(err, "%s", findings->at[i].hint);
            return;
        }
    error_kind(err, ERROR_RUN, "the plan has no reshard of '%s' to what is read",
               tensor_name(l->graph, tensor));
}

/* Appends the steps that fill a slot after the steps that fill their source; slots between steps
 * are not shared. */
static int32_t reshard_slot(Lowering *l, ProgramSlot wanted, Error *err)
{
    int32_t r =
        reshard_filling(&l->reshards, wanted.tensor, wanted.sharding, wanted.devices, wanted.phase);
    const Reshard *reshard = r < 0 ? NULL : &l->plan->moved->reshards[r];
    int32_t slot = -1;
    if (reshard) {
        ProgramSlot from = {wanted.tensor, reshard->from, reshard->from_devices, wanted.phase};
        slot = find_slot(l, from);
        if (slot < 0 && reshard->from_devices != wanted.devices)
            slot = reshard_slot(l, from, err);
    }
    if (slot < 0) {
        blame_plan(l, wanted.tensor, err);
        return -1;
    }
    wanted.phase = reshard->phase;
    for (int i = 0; i < reshard->path->n_steps; i++) {
        Instr instr = instr_of(INSTR_STEP);
        instr.from = slot;
        instr.reshard = r;
        instr.step = &reshard->path->step[i];
        ProgramSlot filled = {wanted.tensor, instr.step->to, reshard_step_devices(reshard, i), 0};
        slot = i + 1 == reshard->path->n_steps ? named_slot(l, wanted) : add_slot(l, filled, -1);
        instr.slot = slot;
        lower_instr(l, instr);
    }
    return slot;
}

int32_t lower_read(Lowering *l, ProgramSlot wanted, Error *err)
{
    int32_t slot = find_slot(l, wanted);
    if (slot >= 0)
        return slot;
    if (tensor_is_known(l->plan->inferred, wanted.tensor))
        return load(l, (ProgramSlot){wanted.tensor, wanted.sharding, wanted.devices, 0});
    return reshard_slot(l, wanted, err);
}

/* ---- ops ---- */

/* Sequences and tensors of unknown shape are replicated. */
static bool check_tensor(const Lowering *l, int32_t tensor, int32_t sharding, Error *err)
{
    Dtype dtype = (Dtype)l->plan->inferred->dtype[tensor];
    const char *name = tensor_name(l->graph, tensor);
    bool late = !inferred_shape(l->plan->inferred, tensor);
    if (dtype == DT_STR)
        return error_kind(err, ERROR_USAGE, "'%s' cannot be run: its type is %s", name,
                          dtype_name(dtype));
    if (late ? sharding >= 0 : sharding < 0)
        return error_kind(err, ERROR_USAGE, "'%s' cannot be run: its shape is not known", name);
    if (dtype == DT_NONE && !late)
        return error_kind(err, ERROR_USAGE, "'%s' cannot be run: its type is not known", name);
    return true;
}

static bool is_listed(const Lowering *l, int32_t tensor)
{
    return tensor >= 0 && inferred_is_list(l->plan->inferred, tensor);
}

/* One more than the largest Names id of an operator. */
static int32_t n_op_types(const Graph *graph)
{
    int32_t n = 0;
    for (int32_t op = 0; op < graph->n_ops; op++)
        n = graph->ops[op].op_type >= n ? graph->ops[op].op_type + 1 : n;
    return n;
}

/* An Identity of a sequence or an optional runs as Optional, whose kernel copies these. Kernels are
 * found by name, so those of operators are kept by Names id. */
static const Kernel *kernel_of(const Lowering *l, int32_t op)
{
    const GraphOp *at = &l->graph->ops[op];
    const OpSpace *space = inferred_space(l->plan->inferred, op);
    if (at->n_inputs == 1 && is_listed(l, op_inputs(l->graph, op)[0]) &&
        lower_is(l, op, "Identity"))
        return kernel_find(NULL, "Optional");
    if (space && (space->own || space->kernel))
        return kernel_find(space, op_operator(l->graph, op));
    const Kernel **kept = &l->kernel_of_type[at->op_type];
    if (!*kept)
        *kept = kernel_find(NULL, op_operator(l->graph, op));
    return *kept;
}

static bool takes_operands(const Lowering *l, int32_t op, Error *err)
{
    if (l->out->kernel[op]->first_value == KERNEL_LISTS)
        return true;
    for (int i = 0; i < l->graph->ops[op].n_inputs; i++)
        if (is_listed(l, op_inputs(l->graph, op)[i]))
            return error_kind(
                err, ERROR_USAGE, "op '%s' cannot be run: it reads '%s', a sequence or an optional",
                op_name(l->graph, op), tensor_name(l->graph, op_inputs(l->graph, op)[i]));
    return true;
}

bool lower_find_kernel(Lowering *l, int32_t op, Error *err)
{
    const char *op_type = op_operator(l->graph, op);
    if (l->out->kernel[op])
        return true;
    l->out->kernel[op] = kernel_of(l, op);
    Error inner = {0};
    const OpDeclared *declared = op_declared(l->plan, op);
    if (declared && declared->n_comms > 0) {
        error_kind(err, ERROR_USAGE,
                   "op '%s' cannot be run: %s communicates inside the op, which runs do not do",
                   op_name(l->graph, op), op_type);
        error_hint(err, "the plan can be inspected, but not run: choose a mesh that does not shard "
                        "it this way");
        return false;
    }
    if (l->out->kernel[op] && native_allowed(l->out->kernel[op], &inner))
        return takes_operands(l, op, err);
    if (l->out->kernel[op]) {
        kernel_blame(l->graph, op, &inner, err);
        error_hint(err, "%s", inner.hint);
        return false;
    }
    const OpSpace *space = inferred_space(l->plan->inferred, op);
    error_kind(err, ERROR_USAGE, "op '%s' cannot be run: no kernel for %s%s", op_name(l->graph, op),
               space && space->kernel && !space->kernel[0] ? "this form of " : "", op_type);
    error_hint(err, "the plan can be looked at without running it");
    return false;
}

/* Whether the operand of an If exists: with a condition known at load only the branch that is taken
 * does. */
static bool is_taken(const Lowering *l, int32_t op, int input)
{
    int32_t condition = op_inputs(l->graph, op)[0];
    int64_t taken;
    const Value *known = condition < 0 ? NULL : inferred_value(l->plan->inferred, condition);
    return input == 0 || !value_one_int(known, &taken) || (input == 1) == (taken != 0);
}

bool lower_reads(const Lowering *l, int32_t op, int input)
{
    const GraphOp *at = &l->graph->ops[op];
    if (op_inputs(l->graph, op)[input] < 0 || l->out->operand[at->input + input] >= 0 ||
        kernel_knows(l->plan->inferred, op, l->out->kernel[op], input))
        return false;
    const OpSpace *space = inferred_space(l->plan->inferred, op);
    if (space && space->operand[input].absent) /* how often a loop runs */
        return false;
    if (lower_is(l, op, "If"))
        return is_taken(l, op, input);
    return l->goes_with[op] < 0 || (input == 0 && lower_is(l, op, "LoopResult"));
}

static void note_late(Lowering *l, int32_t op, int32_t tensor)
{
    if (l->out->copying_op < 0 && !inferred_tensor_shape(l->plan->inferred, tensor))
        l->out->copying_op = op;
}

bool lower_input(Lowering *l, int32_t op, int input, Error *err)
{
    int32_t place = l->graph->ops[op].input + input;
    int32_t tensor = l->graph->operands[place], need = l->plan->moved->need[place];
    if (!check_tensor(l, tensor, need, err))
        return false;
    note_late(l, op, tensor);
    l->out->operand[place] = lower_read(
        l, (ProgramSlot){tensor, need, plan_devices(l->plan, op), plan_phase(l->plan, op)}, err);
    return l->out->operand[place] >= 0;
}

/* Checks that an op that only has a meaning in a loop is in one. */
static bool check_loop(const Lowering *l, int32_t op, Error *err)
{
    static const char *const results[] = {"LoopResult", "LoopStack", "SequenceMap"};
    static const char *const inside[] = {"LoopIndex", "LoopCarry", "LoopSlice", "SequenceElement"};
    bool lost = false;
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        lost |= l->goes_with[op] < 0 && lower_is(l, op, results[i]);
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
        lost |= l->body < 0 && lower_is(l, op, inside[i]);
    return !lost || error_kind(err, ERROR_USAGE, "op '%s' cannot be run: %s belongs to no loop",
                               op_name(l->graph, op), op_operator(l->graph, op));
}

bool lower_op_alone(Lowering *l, int32_t op, Error *err)
{
    const GraphOp *at = &l->graph->ops[op];
    l->op = op;
    if (!lower_find_kernel(l, op, err) || !check_loop(l, op, err))
        return false;
    for (int i = 0; i < at->n_inputs; i++)
        if (lower_reads(l, op, i) && !lower_input(l, op, i, err))
            return false;
    for (int i = 0; i < at->n_outputs; i++) {
        int32_t tensor = op_outputs(l->graph, op)[i];
        if (tensor < 0)
            continue;
        if (!check_tensor(l, tensor, l->plan->moved->made[tensor], err))
            return false;
        note_late(l, op, tensor);
        l->out->operand[op_output_place(at) + i] = named_slot(
            l, (ProgramSlot){tensor, l->plan->moved->made[tensor], plan_devices(l->plan, op), 0});
    }
    Instr instr = instr_of(INSTR_OP);
    instr.op = op;
    l->out->loop_of[op] = l->goes_with[op] >= 0 ? l->goes_with[op] : l->body;
    lower_instr(l, instr);
    return true;
}

/* Reshards a gradient of a parameter to what the update reads. */
static bool lower_at_once(Lowering *l, int32_t tensor, Error *err)
{
    const GraphTensor *at = &l->graph->tensors[tensor];
    for (int u = 0; u < tensor_n_uses(l->graph, tensor); u++) {
        int32_t reader = l->graph->uses[at->use + u];
        for (int i = 0; i < l->graph->ops[reader].n_inputs; i++)
            if (op_inputs(l->graph, reader)[i] == tensor && !lower_input(l, reader, i, err))
                return false;
    }
    return true;
}

bool lower_pins(Lowering *l, int32_t op, Error *err)
{
    const Plan *plan = l->plan;
    for (int i = 0; i < l->graph->ops[op].n_outputs; i++) {
        int32_t tensor = op_outputs(l->graph, op)[i];
        if (tensor < 0)
            continue;
        ProgramSlot pinned = {tensor, plan->moved->sharding[tensor], plan_devices(plan, op), 0};
        if (plan->moved->made[tensor] != pinned.sharding && reshard_slot(l, pinned, err) < 0)
            return false;
        if (reshards_at_once(plan, tensor) && !lower_at_once(l, tensor, err))
            return false;
    }
    return true;
}

bool lower_op(Lowering *l, int32_t op, Error *err)
{
    return lower_op_alone(l, op, err) && lower_pins(l, op, err);
}

/* ---- the instructions ---- */

/* Loads a parameter or graph input in its stored layout; skipped when nobody reads it. */
static bool load_source(Lowering *l, int32_t tensor, Error *err)
{
    ProgramSlot slot = {tensor, l->plan->moved->sharding[tensor], 0, 0};
    for (int at = 0; (slot.devices = stage_given_on(l->plan, tensor, &at)) >= 0;) {
        if (find_slot(l, slot) >= 0)
            continue;
        if (!check_tensor(l, tensor, slot.sharding, err))
            return false;
        load(l, slot);
    }
    return true;
}

static bool load_kind(Lowering *l, bool initializers, Error *err)
{
    for (int t = 0; t < l->graph->n_tensors; t++)
        if (l->graph->tensors[t].maker < 0 && !tensor_is_known(l->plan->inferred, t) &&
            (l->graph->tensors[t].kind == TENSOR_INITIALIZER) == initializers &&
            !load_source(l, t, err))
            return false;
    return true;
}

/* Parameters and graph inputs, as stored and given. A training step has other inputs each time. */
static bool load_sources(Lowering *l, Error *err)
{
    bool trains = l->graph->next_of != NULL;
    if (!load_kind(l, true, err) || (!trains && !load_kind(l, false, err)))
        return false;
    l->out->n_once = l->instrs.n;
    return !trains || load_kind(l, false, err);
}

static bool find_outputs(Lowering *l, Error *err)
{
    for (int i = 0; i < l->graph->n_outputs; i++) {
        int32_t tensor = l->graph->outputs[i], sharding = l->plan->moved->sharding[tensor];
        int32_t maker = l->graph->tensors[tensor].maker;
        if (!check_tensor(l, tensor, sharding, err))
            return false;
        int devices = maker < 0 || tensor_is_known(l->plan->inferred, tensor)
                          ? 0
                          : plan_devices(l->plan, maker);
        l->out->output[i] = lower_read(l, (ProgramSlot){tensor, sharding, devices, 0}, err);
        if (l->out->output[i] < 0)
            return false;
    }
    return true;
}

static void share_slots(Lowering *l)
{
    l->out->n_views = 1;
    l->out->shared = arena_array(l->arena, bool, l->slots.n);
    for (int i = 0; i < l->out->n_once; i++)
        l->out->shared[l->instrs.at[i].slot] = true;
}

static bool is_loss(const Lowering *l, int32_t tensor)
{
    const Shape *shape = inferred_shape(l->plan->inferred, tensor);
    return l->graph->next_of[tensor] < 0 && shape && shape_elements(shape) == 1 &&
           dtype_is_float((Dtype)l->plan->inferred->dtype[tensor]);
}

static bool is_next_scale(const Graph *graph, int32_t tensor)
{
    int32_t maker = graph->tensors[tensor].maker;
    return maker >= 0 && strcmp(op_operator(graph, maker), "LossScaleUpdate") == 0 &&
           op_first_output(graph, maker) == tensor;
}

static bool is_made_on(const Lowering *l, int output, int devices)
{
    const Decided *decided = l->plan->decided;
    int made = l->slots.at[l->out->output[output]].devices;
    return submesh_contains(l->plan->mesh, decided->submeshes[made], decided->submeshes[devices]);
}

/* Whether the output takes its place there: it is made there, or nothing else is. */
static bool is_next_on(const Lowering *l, int output, int devices)
{
    int32_t tensor = l->graph->outputs[output];
    return is_made_on(l, output, devices) ||
           stage_next_on(l->plan, l->graph->next_of[tensor], devices) == tensor;
}

/* The slot of an output, or of its copy on that part of the mesh; -1 with *err. */
static int32_t output_on(Lowering *l, int output, int devices, Error *err)
{
    int32_t slot = l->out->output[output];
    ProgramSlot wanted = l->slots.at[slot];
    wanted.devices = devices;
    return is_made_on(l, output, devices) ? slot : lower_read(l, wanted, err);
}

/* What the outputs of a training step take the place of, on every part of the mesh that has it. */
static bool carry(Lowering *l, Error *err)
{
    Program *out = l->out;
    Vec(ProgramMove) moves = {0};
    out->loss = out->scale = -1;
    for (int i = l->graph->n_outputs - 1; l->graph->next_of && i >= 0; i--) {
        int32_t tensor = l->graph->outputs[i], of = l->graph->next_of[tensor];
        if (is_loss(l, tensor))
            out->loss = i;
        if (is_next_scale(l->graph, tensor))
            out->scale = i;
        for (int k = 0; of >= 0 && k < out->n_once; k++) {
            int32_t to = l->instrs.at[k].slot;
            if (l->slots.at[to].tensor != of || !is_next_on(l, i, l->slots.at[to].devices))
                continue;
            int32_t from = output_on(l, i, l->slots.at[to].devices, err);
            if (from < 0)
                return false;
            for (int m = moves.n - 1; m >= 0 && l->slots.at[moves.at[m].to].tensor == of; m--)
                moves.at[m].keeps |= moves.at[m].from == from;
            vec_push(l->arena, &moves, ((ProgramMove){from, to, false}));
        }
    }
    out->carried = moves.at;
    out->n_carried = moves.n;
    return true;
}

static void open_arrays(Lowering *l)
{
    const Graph *graph = l->graph;
    Program *out = l->out;
    out->operand = arena_array(l->arena, int32_t, graph->n_operands);
    out->output = arena_array(l->arena, int32_t, graph->n_outputs);
    out->kernel = arena_array(l->arena, const Kernel *, graph->n_ops);
    out->loop_of = arena_array(l->arena, int32_t, graph->n_ops);
    out->loops = arena_array(l->arena, ProgramLoop, graph->n_bodies);
    l->first_slot = arena_array(l->arena, int32_t, graph->n_tensors);
    l->goes_with = arena_array(l->arena, int32_t, graph->n_ops);
    l->kernel_of_type = arena_array(l->arena, const Kernel *, n_op_types(graph));
    for (int i = 0; i < graph->n_operands; i++)
        out->operand[i] = -1;
    for (int t = 0; t < graph->n_tensors; t++)
        l->first_slot[t] = -1;
    for (int op = 0; op < graph->n_ops; op++)
        l->goes_with[op] = out->loop_of[op] = -1;
    vec_push(l->arena, &l->regions, ((Region){.parent = -1, .next = -1, .back = -1}));
}

/* Ops whose parts go around a ring, all copies of a forward op, and their gradient ops share what
 * is kept. */
static void find_kept(Lowering *l)
{
    const Graph *graph = l->graph;
    Program *out = l->out;
    out->kept_of = arena_array(l->arena, int32_t, graph->n_ops);
    for (int32_t op = 0; op < graph->n_ops; op++)
        out->kept_of[op] = -1;
    for (int32_t op = 0; graph->of && op < graph->n_ops; op++) {
        const OpSpace *space = inferred_space(l->plan->inferred, op);
        int ring = space && space->gradient ? ring_index_of(l->plan, op) : -1;
        int32_t of = graph->of[op];
        if (ring < 0 || space->index[ring].role != ROLE_FROZEN || of < 0)
            continue;
        if (out->kept_of[of] < 0)
            out->kept_of[of] = out->n_kept++;
        out->kept_of[op] = out->kept_of[of];
    }
    for (int32_t op = 0; graph->of && op < graph->n_ops; op++)
        if (graph->of[op] >= 0 && out->kept_of[graph->of[op]] >= 0)
            out->kept_of[op] = out->kept_of[graph->of[op]];
}

bool program_lower(Arena *arena, const Plan *plan, Program *out, Error *err)
{
    const Graph *graph = plan->inferred->graph;
    Lowering l = {.arena = arena, .plan = plan, .graph = graph, .out = out, .body = -1, .op = -1};
    *out = (Program){.copying_op = -1};
    l.reshards = reshard_index(arena, plan);
    open_arrays(&l);
    find_kept(&l);
    if (!load_sources(&l, err) || !lower_range(&l, 0, graph->n_ops, 0, err))
        return false;
    l.op = -1;
    if (!find_outputs(&l, err) || !carry(&l, err))
        return false;
    l.regions.at[0].end = l.instrs.n;
    out->slots = l.slots.at;
    out->n_slots = l.slots.n;
    out->moves = l.moves.at;
    share_slots(&l);
    const Stages *stages = plan->decided->stages;
    if (graph->next_of && stages && stages->scheduled && !plan_schedule(plan)) {
        blame_plan(&l, graph->outputs[0], err);
        return false;
    }
    if (lower_micro_batches(plan) <= 1)
        lower_frees(&l);
    else if (!lower_steps(&l, err))
        return false;
    program_blocks(arena, plan, out);
    return true;
}
