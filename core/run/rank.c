#include "core/run/rank.h"

#include "core/plan/edges.h"
#include "core/run/collective.h"

#include <math.h>
#include <sched.h>
#include <time.h>

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* Waits for all ranks. False when one of them has failed. */
static bool meet(Team *team)
{
    unsigned round = atomic_load(&team->round);
    if (atomic_fetch_add(&team->waiting, 1) + 1 == team->n_ranks) {
        atomic_store(&team->waiting, 0);
        atomic_fetch_add(&team->round, 1);
    }
    while (atomic_load(&team->round) == round && !atomic_load(&team->failed))
        sched_yield();
    return !atomic_load(&team->failed);
}

void rank_open(Rank *rank, Team *team, int64_t position)
{
    const Plan *plan = team->plan;
    const Graph *graph = plan->inferred->graph;
    Arena *arena = arena_new();
    *rank = (Rank){.team = team, .position = position, .arena = arena, .first_bad = -1};
    rank->slot = arena_array(arena, Local *, team->program->n_slots);
    rank->op_us = arena_array(arena, double, (int64_t)team->n_passes * graph->n_ops);
    rank->reshard_us = arena_array(arena, double, (int64_t)team->n_passes * plan->n_reshards);
    rank->pass_us = arena_array(arena, double, team->n_passes);
    if (team->options->trace) {
        rank->span = arena_array(arena, TraceSpan, team->program->n_instrs);
        rank->last_span = arena_array(arena, TraceSpan, team->program->n_instrs);
    }
    rank->output = arena_array(arena, Difference, graph->n_outputs);
    for (int i = 0; i < graph->n_outputs; i++)
        rank->output[i].ok = true;
}

void rank_close(Rank *rank)
{
    for (int s = 0; rank->slot && s < rank->team->program->n_slots; s++)
        local_free(rank->slot[s]);
    arena_free(rank->arena);
}

/* ---- slots ---- */

static Local *fill_slot(Rank *rank, int32_t slot)
{
    const Plan *plan = rank->team->plan;
    const Slot *at = &rank->team->program->slots[slot];
    Local *local = local_new(
        (Dtype)plan->inferred->dtype[at->tensor], inferred_shape(plan->inferred, at->tensor),
        shardings_at(plan->shardings, at->sharding), plan->mesh, rank->position);
    rank->slot[slot] = local;
    rank->live_bytes += local_bytes(local);
    if (rank->live_bytes > rank->peak_bytes)
        rank->peak_bytes = rank->live_bytes;
    return local;
}

static void free_slot(Rank *rank, int32_t slot)
{
    if (!rank->slot[slot])
        return;
    rank->live_bytes -= local_bytes(rank->slot[slot]);
    local_free(rank->slot[slot]);
    rank->slot[slot] = NULL;
}

/* Whether the rank is on a part of the mesh. */
static bool stands_on(const Rank *rank, int devices)
{
    const Plan *plan = rank->team->plan;
    return submesh_has(plan->mesh, plan->submeshes[devices], rank->position);
}

static bool has_slot(const Rank *rank, int32_t slot)
{
    return stands_on(rank, rank->team->program->slots[slot].devices);
}

static void load(Rank *rank, int32_t slot)
{
    if (!has_slot(rank, slot))
        return;
    Arena *scratch = arena_new();
    feed_fill(&rank->team->feeds, rank->team->program->slots[slot].tensor, fill_slot(rank, slot),
              scratch);
    arena_free(scratch);
}

/* ---- ops ---- */

static bool run_kernel(Rank *rank, int32_t op, Arena *scratch)
{
    Team *team = rank->team;
    const Plan *plan = team->plan;
    const Program *program = team->program;
    const GraphOp *at = &plan->inferred->graph->ops[op];
    const Local **input = arena_array(scratch, const Local *, at->n_inputs);
    Local **output = arena_array(scratch, Local *, at->n_outputs);
    for (int i = 0; i < at->n_inputs; i++) {
        int32_t slot = program->operand[at->input + i];
        input[i] = slot < 0 ? NULL : rank->slot[slot];
    }
    for (int i = 0; i < at->n_outputs; i++) {
        int32_t slot = program->operand[op_output_place(at) + i];
        output[i] = slot < 0 ? NULL : fill_slot(rank, slot);
    }
    AtomSet reduced = op_cut_reduced(program_space(plan->inferred, op), program_cut(plan, op));
    KernelCall call = {.kernel = program->kernel[op], .inferred = plan->inferred, .op = op};
    call.n_inputs = at->n_inputs;
    call.n_outputs = at->n_outputs;
    call.input = input;
    call.output = output;
    call.first = mesh_stands_first(plan->mesh, reduced, rank->position);
    call.reduce_cut = reduced != 0;
    call.cut = program_cut(plan, op);
    call.mesh = plan->mesh;
    call.position = rank->position;
    call.blas = team->blas;
    call.seed = team->feeds.seed;
    call.scratch = scratch;
    Error inner = {.kind = ERROR_RUN};
    if (call.kernel->run(&call, &inner))
        return true;
    kernel_blame(plan->inferred->graph, op, &inner, &rank->err);
    return false;
}

static void note_span(Rank *rank, const Instr *instr, TraceSpan span)
{
    if (rank->span)
        rank->span[instr - rank->team->program->instrs] = span;
}

static bool run_op(Rank *rank, const Instr *instr, int pass)
{
    int32_t op = instr->op;
    if (!stands_on(rank, plan_devices(rank->team->plan, op)))
        return true;
    double start = now_us();
    Arena *scratch = arena_new();
    bool ok = run_kernel(rank, op, scratch);
    arena_free(scratch);
    double end = now_us(), us = end - start;
    note_span(rank, instr, (TraceSpan){start, end, 0});
    rank->op_us[(int64_t)pass * rank->team->plan->inferred->graph->n_ops + op] = us;
    rank->pass_us[pass] += us;
    return ok;
}

/* ---- steps ---- */

static bool fill_from_group(Rank *rank, const Instr *instr, Arena *scratch)
{
    const Plan *plan = rank->team->plan;
    Collective collective = {.mesh = plan->mesh, .atoms = instr->step->atoms};
    collective.from = shardings_at(plan->shardings, instr->step->from);
    collective.to = shardings_at(plan->shardings, instr->step->to);
    int64_t n = mesh_atoms_size(plan->mesh, collective.atoms);
    const Local **held = arena_array(scratch, const Local *, n);
    SubMesh source = plan->submeshes[rank->team->program->slots[instr->from].devices];
    for (int64_t i = 0; i < n; i++) {
        int64_t member = mesh_group_member(plan->mesh, collective.atoms, rank->position, i);
        member = submesh_twin(plan->mesh, source, member);
        held[i] = rank->team->ranks[member].slot[instr->from];
    }
    Error inner = {.kind = ERROR_RUN};
    if (collective_run(&collective, rank->position, held, fill_slot(rank, instr->slot), scratch,
                       &inner))
        return true;
    error_kind(&rank->err, ERROR_RUN, "%s of '%s': %s", step_kind_name(instr->step->kind),
               tensor_name(plan->inferred->graph, rank->team->program->slots[instr->slot].tensor),
               inner.text);
    return false;
}

static bool run_step(Rank *rank, const Instr *instr, int pass)
{
    bool alone = instr->step->atoms == 0, takes_part = has_slot(rank, instr->slot);
    double start = now_us();
    if (!alone && !meet(rank->team))
        return false;
    double wait = alone ? 0 : now_us() - start;
    Arena *scratch = arena_new();
    bool ok = !takes_part || fill_from_group(rank, instr, scratch);
    arena_free(scratch);
    if (!ok || (!alone && !meet(rank->team)))
        return false;
    double end = now_us(), us = end - start;
    rank->pass_us[pass] += us;
    if (!takes_part)
        return true;
    note_span(rank, instr, (TraceSpan){start, end, wait});
    rank->reshard_us[(int64_t)pass * rank->team->plan->n_reshards + instr->reshard] += us;
    return true;
}

/* ---- comparing ---- */

Tolerance team_tolerance(const Team *team, Tolerance of_value)
{
    const RunOptions *options = team->options;
    return options->rtol > 0 || options->atol > 0 ? (Tolerance){options->rtol, options->atol}
                                                  : of_value;
}

/* The first element of a part that differs from the whole, with both values. */
static void note_wrong(Rank *rank, const Local *part, const Local *whole)
{
    const Team *team = rank->team;
    RunWrong *wrong = &rank->wrong;
    Tolerance tolerance = team_tolerance(team, team->reference.tolerance[rank->bad_tensor]);
    *wrong = (RunWrong){.rank = rank->position, .range = local_range(whole)};
    local_first_wrong(part, whole, tolerance, &wrong->at, &wrong->got, &wrong->want);
}

/* Compares what a slot holds with the reference. Addends have nothing to be compared with. */
static void check_slot(Rank *rank, int at, int32_t slot)
{
    const Team *team = rank->team;
    if (slot < 0 || !has_slot(rank, slot))
        return;
    const Slot *held = &team->program->slots[slot];
    if (sharding_partials(shardings_at(team->plan->shardings, held->sharding)))
        return;
    Difference difference = {.ok = true};
    local_compare(rank->slot[slot], team->reference.value[held->tensor],
                  team_tolerance(team, team->reference.tolerance[held->tensor]), &difference);
    rank->n_checked += rank->position == team->plan->submeshes[held->devices].first;
    if (!difference.ok && rank->first_bad < 0) {
        rank->first_bad = at;
        rank->bad_tensor = held->tensor;
        note_wrong(rank, rank->slot[slot], team->reference.value[held->tensor]);
    }
}

static void check_instr(Rank *rank, int at)
{
    const Program *program = rank->team->program;
    const Instr *instr = &program->instrs[at];
    if (instr->kind == INSTR_STEP)
        check_slot(rank, at, instr->slot);
    if (instr->kind != INSTR_OP)
        return;
    const GraphOp *op = &rank->team->plan->inferred->graph->ops[instr->op];
    for (int i = 0; i < op->n_outputs; i++)
        check_slot(rank, at, program->operand[op_output_place(op) + i]);
}

/* Outputs against given ones, else against the reference. */
static void check_outputs(Rank *rank)
{
    const Team *team = rank->team;
    const Graph *graph = team->plan->inferred->graph;
    for (int i = 0; i < graph->n_outputs; i++) {
        int32_t tensor = graph->outputs[i];
        const Local *want = team->expected ? team->expected[tensor] : NULL;
        if (!want && team->options->verify)
            want = team->reference.value[tensor];
        if (!want || !has_slot(rank, team->program->output[i]))
            continue;
        Tolerance tolerance = tolerance_for(want->dtype, local_range(want));
        if (team->expected && team->expected[tensor])
            tolerance.rtol = fmax(tolerance.rtol, 1e-3); /* ONNX's own, for its test sets */
        local_compare(rank->slot[team->program->output[i]], want, team_tolerance(team, tolerance),
                      &rank->output[i]);
    }
}

/* ---- all of it ---- */

static bool progress(Rank *rank, int at, int pass)
{
    const Team *team = rank->team;
    const RunOptions *options = team->options;
    if (rank->position != 0 || !options->progress)
        return true;
    int n_each = team->program->n_instrs - team->program->n_once;
    int total = team->program->n_once + team->n_passes * n_each;
    if (options->progress(options->context, at + pass * n_each, total))
        return true;
    rank->team->cancelled = true;
    return error_kind(&rank->err, ERROR_CANCELLED, "cancelled");
}

/* The reference's part of an instruction, before the ranks' own. */
static bool prepare(Rank *rank, int at)
{
    Team *team = rank->team;
    InstrKind kind = team->program->instrs[at].kind;
    bool together = kind == INSTR_OP || kind == INSTR_STEP;
    if (together && !meet(team))
        return false;
    if (rank->position == 0 && !reference_step(&team->reference, at, &rank->err))
        return false;
    return !together || meet(team);
}

static bool run_instr(Rank *rank, int at, int pass)
{
    const Instr *instr = &rank->team->program->instrs[at];
    bool verify = rank->team->options->verify && pass == 0;
    if (atomic_load(&rank->team->failed) || !progress(rank, at, pass) ||
        (verify && !prepare(rank, at)))
        return false;
    if (instr->kind == INSTR_LOAD)
        load(rank, instr->slot);
    if (instr->kind == INSTR_FREE)
        free_slot(rank, instr->slot);
    if ((instr->kind == INSTR_OP && !run_op(rank, instr, pass)) ||
        (instr->kind == INSTR_STEP && !run_step(rank, instr, pass)))
        return false;
    if (verify)
        check_instr(rank, at);
    return true;
}

static bool run_all(Rank *rank)
{
    const Team *team = rank->team;
    const Program *program = team->program;
    for (int at = 0; at < program->n_once; at++)
        if (!run_instr(rank, at, 0))
            return false;
    for (int pass = 0; pass < team->n_passes; pass++) {
        for (int at = program->n_once; at < program->n_instrs; at++)
            if (!run_instr(rank, at, pass))
                return false;
        if (pass == 0) {
            if (!meet(rank->team)) /* the reference may have loaded an output just now */
                return false;
            check_outputs(rank);
        }
        for (int i = 0; i < team->plan->inferred->graph->n_outputs; i++)
            if (!team->stays[program->output[i]])
                free_slot(rank, program->output[i]);
        rank->n_done = pass + 1;
        if (rank->span)
            memcpy(rank->last_span, rank->span, sizeof *rank->span * (size_t)program->n_instrs);
    }
    return true;
}

bool rank_run(Rank *rank)
{
    bool ok = run_all(rank);
    if (!ok)
        atomic_store(&rank->team->failed, true);
    return ok;
}
