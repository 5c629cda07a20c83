#include "core/run/rank.h"

#include "core/base/intern.h"
#include "core/plan/edges.h"
#include "core/run/runner.h"
#include "core/run/supervise.h"

#include <math.h>
#include <sched.h>
#include <time.h>

double run_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

bool rank_failed(Rank *rank, const Error *err)
{
    if (!error_is_set(&rank->result->head->err))
        rank->result->head->err = *err;
    return false;
}

bool rank_step_failed(Rank *rank, const Instr *instr, const Error *err)
{
    const Team *team = rank->team;
    Error named = {0};
    error_kind(&named, err->kind, "%s of '%s': %s", step_kind_name(instr->step->kind),
               tensor_name(team->plan->inferred->graph, team->program->slots[instr->slot].tensor),
               err->text);
    return rank_failed(rank, &named);
}

/* ---- meetings ---- */

/* Waits for the ranks of this process. */
static bool meet_here(Team *team)
{
    unsigned round = atomic_load(&team->round);
    if (atomic_fetch_add(&team->waiting, 1) + 1 == team->n_local) {
        atomic_store(&team->waiting, 0);
        atomic_fetch_add(&team->round, 1);
    }
    while (atomic_load(&team->round) == round && !atomic_load(&team->failed))
        sched_yield();
    return !atomic_load(&team->failed);
}

/* The first rank of a process speaks for it. */
static bool meet_elsewhere(Rank *rank)
{
    Team *team = rank->team;
    Error err = {0};
    if (rank->position == team->first_rank && !team->world->meet(team->world, false, &err)) {
        rank_failed(rank, &err);
        atomic_store(&team->failed, true);
    }
    return meet_here(team);
}

bool rank_meet(Rank *rank)
{
    RankHead *head = rank->result->head;
    int state = atomic_load(&head->state);
    atomic_store(&head->state, RANK_WAITING);
    bool ok = meet_here(rank->team) && (rank->team->world->n == 1 || meet_elsewhere(rank));
    atomic_store(&head->state, state);
    return ok;
}

/* Waits until no rank of this process does anything any more, failed or not: they read each other's
 * slots. */
static void leave(Team *team)
{
    atomic_fetch_add(&team->n_left, 1);
    while (atomic_load(&team->n_left) < team->n_local)
        sched_yield();
}

/* ---- slots ---- */

void rank_open(Rank *rank, Team *team, int64_t position)
{
    Arena *arena = arena_new();
    *rank = (Rank){.team = team, .position = position, .arena = arena};
    rank->slot = arena_array(arena, Local *, team->program->n_slots);
    rank->result = &team->results->rank[position];
}

void rank_close(Rank *rank)
{
    arena_free(rank->arena);
}

bool rank_stands_on(const Rank *rank, int devices)
{
    const Plan *plan = rank->team->plan;
    return submesh_has(plan->mesh, plan->submeshes[devices], rank->position);
}

bool rank_has(const Rank *rank, int32_t slot)
{
    return rank_stands_on(rank, rank->team->program->slots[slot].devices);
}

Local *rank_make(Rank *rank, int32_t slot)
{
    const Plan *plan = rank->team->plan;
    const Slot *at = &rank->team->program->slots[slot];
    RankHead *head = rank->result->head;
    Local *local = local_new_empty(
        (Dtype)plan->inferred->dtype[at->tensor], inferred_shape(plan->inferred, at->tensor),
        shardings_at(plan->shardings, at->sharding), plan->mesh, rank->position);
    rank->slot[slot] = local;
    head->live_bytes += local_bytes(local);
    if (head->live_bytes > head->peak_bytes)
        head->peak_bytes = head->live_bytes;
    return local;
}

void rank_unmake(Rank *rank, int32_t slot)
{
    if (!rank->slot[slot])
        return;
    rank->result->head->live_bytes -= local_bytes(rank->slot[slot]);
    local_free(rank->slot[slot]);
    rank->slot[slot] = NULL;
}

bool rank_kernel_call(Rank *rank, int32_t op, MakeSlot *make, Arena *scratch, KernelCall *out)
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
        output[i] = slot < 0 ? NULL : make(rank, slot);
        if (slot >= 0 && !output[i])
            return false;
    }
    AtomSet reduced = op_cut_reduced(program_space(plan->inferred, op), program_cut(plan, op));
    *out = (KernelCall){.kernel = program->kernel[op], .inferred = plan->inferred, .op = op};
    out->n_inputs = at->n_inputs;
    out->n_outputs = at->n_outputs;
    out->input = input;
    out->output = output;
    out->first = mesh_stands_first(plan->mesh, reduced, rank->position);
    out->reduce_cut = reduced != 0;
    out->cut = program_cut(plan, op);
    out->mesh = plan->mesh;
    out->position = rank->position;
    out->blas = team->blas;
    out->seed = team->feeds.seed;
    out->scratch = scratch;
    return true;
}

/* ---- times ---- */

void rank_took(Rank *rank, const Instr *instr, int pass, TraceSpan span)
{
    const Team *team = rank->team;
    RankResult *result = rank->result;
    double us = span.end_us - span.start_us;
    if (result->span)
        result->span[instr - team->program->instrs] = span;
    if (instr->kind == INSTR_OP)
        result->op_us[(int64_t)pass * team->plan->inferred->graph->n_ops + instr->op] += us;
    if (instr->kind == INSTR_OP)
        return;
    int64_t place = (int64_t)pass * team->plan->n_reshards + instr->reshard;
    result->reshard_us[place] += us;
    result->reshard_move_us[place] += us - span.wait_us;
}

void rank_took_pass(Rank *rank, int pass, double us)
{
    rank->result->pass_us[pass] = us;
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
    RankHead *head = rank->result->head;
    Tolerance tolerance = team_tolerance(team, team->reference.tolerance[head->bad_tensor]);
    head->wrong = (RunWrong){.rank = rank->position, .range = local_range(whole)};
    local_first_wrong(part, whole, tolerance, &head->wrong.at, &head->wrong.got, &head->wrong.want);
}

/* Compares what a slot holds with the reference. Addends have nothing to be compared with. */
static bool check_slot(Rank *rank, int at, int32_t slot)
{
    const Team *team = rank->team;
    RankHead *head = rank->result->head;
    if (slot < 0 || !rank_has(rank, slot))
        return true;
    const Slot *held = &team->program->slots[slot];
    if (sharding_partials(shardings_at(team->plan->shardings, held->sharding)))
        return true;
    const Local *part = team->runner->fetch(rank, slot);
    if (!part)
        return false;
    Difference difference = {.ok = true};
    local_compare(part, team->reference.value[held->tensor],
                  team_tolerance(team, team->reference.tolerance[held->tensor]), &difference);
    head->n_checked += rank->position == team->plan->submeshes[held->devices].first;
    if (!difference.ok && head->first_bad < 0) {
        head->first_bad = at;
        head->bad_tensor = held->tensor;
        note_wrong(rank, part, team->reference.value[held->tensor]);
    }
    return true;
}

static bool check_instr(Rank *rank, int at)
{
    const Program *program = rank->team->program;
    const Instr *instr = &program->instrs[at];
    if (instr->kind == INSTR_STEP)
        return check_slot(rank, at, instr->slot);
    if (instr->kind != INSTR_OP)
        return true;
    const GraphOp *op = &rank->team->plan->inferred->graph->ops[instr->op];
    for (int i = 0; i < op->n_outputs; i++)
        if (!check_slot(rank, at, program->operand[op_output_place(op) + i]))
            return false;
    return true;
}

/* What an output must be: given, else the reference's; NULL: nobody knows. */
static const Local *wanted_output(const Team *team, int32_t tensor)
{
    if (team->expected && team->expected[tensor])
        return team->expected[tensor];
    return team->options->verify ? team->reference.value[tensor] : NULL;
}

static void compare_output(Rank *rank, int i, const Local *part, const Local *want)
{
    const Team *team = rank->team;
    Tolerance tolerance = tolerance_for(want->dtype, local_range(want));
    if (team->expected && team->expected[team->plan->inferred->graph->outputs[i]])
        tolerance.rtol = fmax(tolerance.rtol, 1e-3); /* ONNX's own, for its test sets */
    Difference *output = &rank->result->output[i];
    output->bits =
        hash_bytes(part->data, (size_t)local_bytes(part)) * (2 * (uint64_t)rank->position + 1);
    local_compare(part, want, team_tolerance(team, tolerance), output);
}

static bool check_outputs(Rank *rank)
{
    const Team *team = rank->team;
    const Graph *graph = team->plan->inferred->graph;
    RankHead *head = rank->result->head;
    for (int i = 0; i < graph->n_outputs; i++) {
        if (!rank_has(rank, team->program->output[i]))
            continue;
        const Local *want = wanted_output(team, graph->outputs[i]);
        const Local *part = team->runner->fetch(rank, team->program->output[i]);
        if (!part)
            return false;
        if (head->strange < 0 && (head->n_strange = local_count_strange(part)) > 0)
            head->strange = graph->outputs[i];
        if (want)
            compare_output(rank, i, part, want);
    }
    return true;
}

/* ---- all of it ---- */

static bool progress(Rank *rank, int at)
{
    const Team *team = rank->team;
    const RunOptions *options = team->options;
    RankHead *head = rank->result->head;
    atomic_store(&head->at, at);
    atomic_fetch_add(&head->n_begun, 1);
    bool goes_on = !atomic_load(&team->results->outcome->stop);
    if (rank->position == 0 && options->progress && goes_on)
        goes_on = options->progress(options->context, atomic_load(&head->n_begun) - 1,
                                    program_length(team->program, team->n_passes));
    if (goes_on || rank->position != 0)
        return true;
    Error err = {0};
    team->results->outcome->cancelled = true;
    error_kind(&err, ERROR_CANCELLED, "cancelled");
    return rank_failed(rank, &err);
}

/* The reference's part of an instruction, before the ranks' own. */
static bool prepare(Rank *rank, int at)
{
    Team *team = rank->team;
    InstrKind kind = team->program->instrs[at].kind;
    Error err = {0};
    bool together = kind == INSTR_OP || kind == INSTR_STEP;
    if (together && !rank_meet(rank))
        return false;
    if (rank->position == team->first_rank && !reference_step(&team->reference, at, &err))
        return rank_failed(rank, &err);
    return !together || rank_meet(rank);
}

/* Ops and steps, timed unless the runner does so itself. */
static bool do_timed(Rank *rank, const Instr *instr)
{
    const Runner *runner = rank->team->runner;
    bool op = instr->kind == INSTR_OP;
    if (op && !rank_stands_on(rank, plan_devices(rank->team->plan, instr->op)))
        return true;
    double wait_us = 0, start = run_now_us();
    if (!(op ? runner->op(rank, instr) : runner->step(rank, instr, &wait_us)))
        return false;
    double end = run_now_us();
    if (runner->timed)
        return true;
    rank->result->pass_us[rank->pass] += end - start;
    if (op || rank_has(rank, instr->slot))
        rank_took(rank, instr, rank->pass, (TraceSpan){start, end, wait_us});
    return true;
}

static bool do_instr(Rank *rank, int at)
{
    const Team *team = rank->team;
    const Instr *instr = &team->program->instrs[at];
    switch (instr->kind) {
    case INSTR_LOAD:
        return !rank_has(rank, instr->slot) || team->runner->load(rank, instr->slot);
    case INSTR_FREE:
        team->runner->drop(rank, instr->slot);
        return true;
    case INSTR_OP:
    case INSTR_STEP:
        break;
    }
    return do_timed(rank, instr);
}

static bool run_instr(Rank *rank, int at)
{
    bool verify = rank->team->options->verify && rank->pass == 0;
    if (atomic_load(&rank->team->failed) || !progress(rank, at) || (verify && !prepare(rank, at)) ||
        !do_instr(rank, at))
        return false;
    return !verify || check_instr(rank, at);
}

static bool run_pass(Rank *rank)
{
    const Team *team = rank->team;
    const Program *program = team->program;
    bool done = false;
    if (team->runner->replay && !team->runner->replay(rank, rank->pass, &done))
        return false;
    for (int at = program->n_once; !done && at < program->n_instrs; at++)
        if (!run_instr(rank, at))
            return false;
    return !team->runner->finish || team->runner->finish(rank, rank->pass);
}

static void drop_outputs(Rank *rank)
{
    const Team *team = rank->team;
    for (int i = 0; i < team->plan->inferred->graph->n_outputs; i++)
        if (!team->stays[team->program->output[i]])
            team->runner->drop(rank, team->program->output[i]);
}

static bool run_all(Rank *rank)
{
    const Team *team = rank->team;
    const Program *program = team->program;
    RankResult *result = rank->result;
    for (int at = 0; at < program->n_once; at++)
        if (!run_instr(rank, at))
            return false;
    for (; rank->pass < team->n_passes; rank->pass++) {
        if (!run_pass(rank))
            return false;
        /* The reference may have loaded an output just now. */
        if (rank->pass == 0 && (!rank_meet(rank) || !check_outputs(rank)))
            return false;
        drop_outputs(rank);
        result->head->n_done = rank->pass + 1;
        if (result->span)
            memcpy(result->last_span, result->span,
                   sizeof *result->span * (size_t)program->n_instrs);
    }
    return true;
}

bool rank_run(Rank *rank)
{
    const Team *team = rank->team;
    RankHead *head = rank->result->head;
    supervise_thread(rank);
    atomic_store(&head->state, RANK_WORKING);
    bool opened = team->runner->rank_open(rank), ok = opened && run_all(rank);
    if (!ok)
        atomic_store(&rank->team->failed, true);
    else
        atomic_store(&head->state, RANK_DONE);
    leave(rank->team);
    for (int32_t s = 0; opened && s < team->program->n_slots; s++)
        team->runner->drop(rank, s);
    if (opened)
        team->runner->rank_close(rank);
    return ok;
}
