#include "core/run/program.h"

#include "core/plan/edges.h"
#include "core/plan/stage.h"
#include "core/plan/op_said.h"
#include "core/run/native.h"

#include <assert.h>

typedef struct {
    Arena *arena;
    const Plan *plan;
    const Graph *graph;
    Program *out;
    Vec(Slot) slots;
    Vec(Instr) instrs;
    Vec(int32_t) next;   /* per slot: another slot of its tensor, or -1 */
    int32_t *first_slot; /* per tensor */
    ReshardIndex reshards;
} Lowering;

const char *instr_kind_name(InstrKind kind)
{
    static const char *const names[] = {"load", "op", "step", "free"}; /* ORDER INSTR_KIND */
    return names[kind];
}

/* ---- slots ---- */

static int32_t add_slot(Lowering *l, Slot slot, int32_t next)
{
    vec_push(l->arena, &l->slots, slot);
    vec_push(l->arena, &l->next, next);
    return l->slots.n - 1;
}

static int32_t find_slot(const Lowering *l, Slot wanted)
{
    int32_t slot = l->first_slot[wanted.tensor];
    assert(slot < 0 || (l->slots.at && l->next.at));
    while (slot >= 0 && (l->slots.at[slot].sharding != wanted.sharding ||
                         l->slots.at[slot].devices != wanted.devices))
        slot = l->next.at[slot];
    return slot;
}

static int32_t named_slot(Lowering *l, Slot slot)
{
    l->first_slot[slot.tensor] = add_slot(l, slot, l->first_slot[slot.tensor]);
    return l->first_slot[slot.tensor];
}

static int32_t load(Lowering *l, Slot slot)
{
    Instr instr = {.kind = INSTR_LOAD, .from = -1, .op = -1, .reshard = -1};
    instr.slot = named_slot(l, slot);
    vec_push(l->arena, &l->instrs, instr);
    return instr.slot;
}

/* ---- reshards ---- */

/* The steps that fill a slot, after those that fill what they begin with; the slots between are
 * nobody else's. */
static int32_t reshard_slot(Lowering *l, Slot wanted, Error *err)
{
    int32_t r = reshard_filling(&l->reshards, wanted.tensor, wanted.sharding, wanted.devices);
    const Reshard *reshard = r < 0 ? NULL : &l->plan->reshards[r];
    int32_t slot = -1;
    if (reshard) {
        Slot from = {wanted.tensor, reshard->from, reshard->from_devices};
        slot = find_slot(l, from);
        if (slot < 0 && reshard->from_devices != wanted.devices)
            slot = reshard_slot(l, from, err);
    }
    if (slot < 0) {
        if (!error_is_set(err))
            error_kind(err, ERROR_RUN, "the plan has no reshard of '%s' to what is read",
                       tensor_name(l->graph, wanted.tensor));
        return -1;
    }
    for (int i = 0; i < reshard->path->n_steps; i++) {
        Instr instr = {.kind = INSTR_STEP, .from = slot, .op = -1, .reshard = r};
        instr.step = &reshard->path->step[i];
        Slot filled = {wanted.tensor, instr.step->to, reshard_step_devices(reshard, i)};
        slot = i + 1 == reshard->path->n_steps ? named_slot(l, wanted) : add_slot(l, filled, -1);
        instr.slot = slot;
        vec_push(l->arena, &l->instrs, instr);
    }
    return slot;
}

/* The slot an operand is read from, made ready when it is not. -1 with *err. */
static int32_t read_slot(Lowering *l, Slot wanted, Error *err)
{
    int32_t slot = find_slot(l, wanted);
    if (slot >= 0)
        return slot;
    if (tensor_is_known(l->plan->inferred, wanted.tensor))
        return load(l, wanted);
    return reshard_slot(l, wanted, err);
}

/* ---- ops ---- */

static bool check_tensor(const Lowering *l, int32_t tensor, int32_t sharding, Error *err)
{
    Dtype dtype = (Dtype)l->plan->inferred->dtype[tensor];
    const char *name = tensor_name(l->graph, tensor);
    if (!inferred_shape(l->plan->inferred, tensor) || sharding < 0)
        return error_kind(err, ERROR_USAGE, "'%s' cannot be run: its shape is not known", name);
    if (dtype == DT_NONE || dtype == DT_STR)
        return error_kind(err, ERROR_USAGE, "'%s' cannot be run: its type is %s", name,
                          dtype_name(dtype));
    return true;
}

static bool find_kernel(Lowering *l, int32_t op, Error *err)
{
    const char *operator= op_operator(l->graph, op);
    l->out->kernel[op] = kernel_find(inferred_space(l->plan->inferred, op), operator);
    Error inner = {0};
    const OpSaid *said = op_said(l->plan, op);
    if (said && said->n_comms > 0) {
        error_kind(err, ERROR_USAGE, "op '%s' cannot be run: what %s sends inside is not run here",
                   op_name(l->graph, op), operator);
        error_hint(err, "the plan can be looked at; it runs on a mesh that does not cut it so");
        return false;
    }
    if (l->out->kernel[op] && native_allowed(l->out->kernel[op], &inner))
        return true;
    if (l->out->kernel[op]) {
        kernel_blame(l->graph, op, &inner, err);
        error_hint(err, "%s", inner.hint);
        return false;
    }
    error_kind(err, ERROR_USAGE, "op '%s' cannot be run: there is no kernel of %s",
               op_name(l->graph, op), operator);
    error_hint(err, "the plan can be looked at without running it");
    return false;
}

static bool lower_inputs(Lowering *l, int32_t op, Error *err)
{
    const GraphOp *at = &l->graph->ops[op];
    for (int i = 0; i < at->n_inputs; i++) {
        int32_t tensor = op_inputs(l->graph, op)[i], need = l->plan->need[at->input + i];
        if (tensor < 0 || kernel_reads_value(l->out->kernel[op], i))
            continue;
        if (!check_tensor(l, tensor, need, err))
            return false;
        int32_t slot = read_slot(l, (Slot){tensor, need, plan_devices(l->plan, op)}, err);
        if (slot < 0)
            return false;
        l->out->operand[at->input + i] = slot;
    }
    return true;
}

/* Outputs as the op makes them, then as a pin wants them. */
static bool lower_outputs(Lowering *l, int32_t op, Error *err)
{
    const GraphOp *at = &l->graph->ops[op];
    const Plan *plan = l->plan;
    int devices = plan_devices(plan, op);
    for (int i = 0; i < at->n_outputs; i++) {
        int32_t tensor = op_outputs(l->graph, op)[i];
        if (tensor < 0)
            continue;
        if (!check_tensor(l, tensor, plan->made[tensor], err))
            return false;
        l->out->operand[op_output_place(at) + i] =
            named_slot(l, (Slot){tensor, plan->made[tensor], devices});
    }
    vec_push(l->arena, &l->instrs,
             (Instr){.kind = INSTR_OP, .slot = -1, .from = -1, .op = op, .reshard = -1});
    for (int i = 0; i < at->n_outputs; i++) {
        int32_t tensor = op_outputs(l->graph, op)[i];
        if (tensor < 0 || plan->made[tensor] == plan->sharding[tensor])
            continue;
        if (reshard_slot(l, (Slot){tensor, plan->sharding[tensor], devices}, err) < 0)
            return false;
    }
    return true;
}

/* ---- the list ---- */

/* Loads a parameter or an input of the graph wherever it lies; nowhere when nobody reads it. */
static bool load_source(Lowering *l, int32_t tensor, Error *err)
{
    Slot slot = {tensor, l->plan->sharding[tensor], 0};
    for (int at = 0; (slot.devices = stage_given_on(l->plan, tensor, &at)) >= 0;) {
        if (find_slot(l, slot) >= 0)
            continue;
        if (!check_tensor(l, tensor, slot.sharding, err))
            return false;
        load(l, slot);
    }
    return true;
}

/* Parameters and graph inputs, as they are stored and given. */
static bool load_sources(Lowering *l, Error *err)
{
    for (int t = 0; t < l->graph->n_tensors; t++)
        if (l->graph->tensors[t].maker < 0 && !tensor_is_known(l->plan->inferred, t) &&
            !load_source(l, t, err))
            return false;
    l->out->n_once = l->instrs.n;
    return true;
}

static bool find_outputs(Lowering *l, Error *err)
{
    for (int i = 0; i < l->graph->n_outputs; i++) {
        int32_t tensor = l->graph->outputs[i], sharding = l->plan->sharding[tensor];
        int32_t maker = l->graph->tensors[tensor].maker;
        if (!check_tensor(l, tensor, sharding, err))
            return false;
        if (sharding_partials(shardings_at(l->plan->shardings, sharding))) {
            error_kind(err, ERROR_UNSUPPORTED, "output '%s' is left partial: no rank has its value",
                       tensor_name(l->graph, tensor));
            error_hint(err, "a mark `unreduced` asks for that: take it away to run the plan");
            return false;
        }
        int devices = maker < 0 || tensor_is_known(l->plan->inferred, tensor)
                          ? 0
                          : plan_devices(l->plan, maker);
        l->out->output[i] = read_slot(l, (Slot){tensor, sharding, devices}, err);
        if (l->out->output[i] < 0)
            return false;
    }
    return true;
}

/* Place of the last instruction that reads or fills each slot. */
static int *last_uses(const Lowering *l)
{
    const Program *out = l->out;
    int *last = arena_array(l->arena, int, l->slots.n);
    for (int i = 0; i < l->instrs.n; i++) {
        const Instr *instr = &l->instrs.at[i];
        if (instr->slot >= 0)
            last[instr->slot] = i;
        if (instr->from >= 0)
            last[instr->from] = i;
        if (instr->kind != INSTR_OP)
            continue;
        const GraphOp *op = &l->graph->ops[instr->op];
        for (int k = 0; k < op->n_inputs; k++)
            if (out->operand[op->input + k] >= 0)
                last[out->operand[op->input + k]] = i;
        for (int k = 0; k < op->n_outputs; k++)
            if (out->operand[op_output_place(op) + k] >= 0)
                last[out->operand[op_output_place(op) + k]] = i;
    }
    for (int i = 0; i < l->graph->n_outputs; i++)
        last[out->output[i]] = l->instrs.n; /* kept */
    for (int i = 0; i < out->n_once; i++)
        last[l->instrs.at[i].slot] = l->instrs.n;
    return last;
}

/* The list with a FREE after the last use of each slot. */
static void add_frees(Lowering *l)
{
    const int *last = last_uses(l);
    int32_t *first = arena_array(l->arena, int32_t, l->instrs.n + 1); /* slots by last use */
    int32_t *next = arena_array(l->arena, int32_t, l->slots.n);
    for (int i = 0; i <= l->instrs.n; i++)
        first[i] = -1;
    for (int s = l->slots.n - 1; s >= 0; s--) {
        next[s] = first[last[s]];
        first[last[s]] = s;
    }
    Vec(Instr) list = {0};
    for (int i = 0; i < l->instrs.n; i++) {
        vec_push(l->arena, &list, l->instrs.at[i]);
        for (int32_t s = first[i]; s >= 0; s = next[s])
            vec_push(l->arena, &list,
                     (Instr){.kind = INSTR_FREE, .slot = s, .from = -1, .op = -1, .reshard = -1});
    }
    l->out->instrs = list.at;
    l->out->n_instrs = list.n;
}

bool program_lower(Arena *arena, const Plan *plan, Program *out, Error *err)
{
    const Graph *graph = plan->inferred->graph;
    Lowering l = {.arena = arena, .plan = plan, .graph = graph, .out = out};
    *out = (Program){.n_once = 0};
    int32_t n = graph->n_operands;
    out->operand = arena_array(arena, int32_t, n);
    out->output = arena_array(arena, int32_t, graph->n_outputs);
    out->kernel = arena_array(arena, const Kernel *, graph->n_ops);
    l.first_slot = arena_array(arena, int32_t, graph->n_tensors);
    for (int i = 0; i < n; i++)
        out->operand[i] = -1;
    for (int t = 0; t < graph->n_tensors; t++)
        l.first_slot[t] = -1;
    l.reshards = reshard_index(arena, plan);

    if (!load_sources(&l, err))
        return false;
    for (int i = 0; i < plan->inferred->n_program; i++) {
        int32_t op = plan->inferred->program[i];
        if (!find_kernel(&l, op, err) || !lower_inputs(&l, op, err) || !lower_outputs(&l, op, err))
            return false;
    }
    if (!find_outputs(&l, err))
        return false;
    add_frees(&l);
    out->slots = l.slots.at;
    out->n_slots = l.slots.n;
    return true;
}
