#include "core/run/rank.h"

#include "core/plan/assume.h"
#include "core/base/intern.h"
#include "core/base/wait.h"
#include "core/run/verify/joined.h"
#include "core/run/runner.h"
#include "core/run/supervise.h"
#include "core/run/verify/verify.h"

#include <math.h>
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

/* ---- barriers ---- */

/* Barrier of the ranks of this process. */
static bool meet_here(Team *team)
{
    unsigned round = atomic_load(&team->round);
    if (atomic_fetch_add(&team->waiting, 1) + 1 == team->n_local) {
        atomic_store(&team->waiting, 0);
        atomic_fetch_add(&team->round, 1);
        wait_wake(&team->round);
    }
    int n_turns = 0;
    while (atomic_load(&team->round) == round && !atomic_load(&team->failed))
        wait_change(&team->round, round, &n_turns);
    return !atomic_load(&team->failed);
}

/* The first rank of a process takes part in the barrier of processes. */
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

/* Waits until no rank of this process is running, whether it failed or not, since ranks read each
 * other's slots. */
static void leave(Team *team)
{
    unsigned n_left = atomic_fetch_add(&team->n_left, 1) + 1, n_all = (unsigned)team->n_local;
    if (n_left == n_all)
        wait_wake(&team->n_left);
    for (int n_turns = 0; n_left < n_all; n_left = atomic_load(&team->n_left))
        wait_change(&team->n_left, n_left, &n_turns);
}

/* ---- slots ---- */

void rank_open(Rank *rank, Team *team, int64_t position)
{
    Arena *arena = arena_new();
    *rank = (Rank){.team = team, .position = position, .arena = arena};
    int n_bodies = team->plan->inferred->graph->n_bodies;
    const Program *program = team->program;
    rank->views = arena_array(arena, Local *, (int64_t)program->n_views * program->n_slots);
    rank->slot = rank->views;
    rank->runtime = arena_array(arena, RuntimeShape, team->program->n_slots);
    rank->kept = arena_array(arena, KernelKept, (int64_t)program->n_views * program->n_kept);
    rank->iteration = arena_array(arena, int64_t, n_bodies);
    rank->most = arena_array(arena, int64_t, n_bodies);
    rank->result = &team->results->rank[position];
}

void rank_close(Rank *rank)
{
    arena_free(rank->arena);
}

bool rank_stands_on(const Rank *rank, int devices)
{
    const Plan *plan = rank->team->plan;
    return submesh_has(plan->mesh, plan->decided->submeshes[devices], rank->position);
}

bool rank_has(const Rank *rank, int32_t slot)
{
    return rank_stands_on(rank, rank->team->program->slots[slot].devices);
}

void rank_view(Rank *rank, int view)
{
    rank->slot = rank->views + (int64_t)view * rank->team->program->n_slots;
}

int64_t rank_batch(const Rank *rank, const Instr *instr)
{
    const Program *program = rank->team->program;
    int n = program->n_views > 1 ? program->n_views - 1 : 1;
    return program->n_carried == 0 ? 0 : (int64_t)rank->pass * n + instr->view % n;
}

static void set_slot(Rank *rank, int32_t slot, Local *local)
{
    const Program *program = rank->team->program;
    rank->slot[slot] = local;
    for (int v = 0; program->shared[slot] && v < program->n_views; v++)
        rank->views[(int64_t)v * program->n_slots + slot] = local;
}

void rank_put(Rank *rank, int32_t slot, Local *local)
{
    RankHead *head = rank->result->head;
    set_slot(rank, slot, local);
    head->live_bytes += local_bytes(local);
    if (head->live_bytes > head->peak_bytes)
        head->peak_bytes = head->live_bytes;
}

Local *rank_remove(Rank *rank, int32_t slot)
{
    Local *local = rank->slot[slot];
    if (local)
        rank->result->head->live_bytes -= local_bytes(local);
    set_slot(rank, slot, NULL);
    return local;
}

static const Sharding *sharding_of(const Rank *rank, const ProgramSlot *slot, Sharding *whole,
                                   const Shape *shape)
{
    if (slot->sharding >= 0)
        return shardings_at(rank->team->plan->shardings, slot->sharding);
    *whole = sharding_whole(shape);
    return whole;
}

Local *rank_make(Rank *rank, int32_t slot)
{
    const Plan *plan = rank->team->plan;
    const ProgramSlot *at = &rank->team->program->slots[slot];
    const Shape *known = inferred_shape(plan->inferred, at->tensor);
    const Shape *shape = known ? known : &rank->runtime[slot].shape;
    Dtype dtype = known ? (Dtype)plan->inferred->dtype[at->tensor] : rank->runtime[slot].dtype;
    Sharding whole;
    rank_put(rank, slot,
             local_new_empty(dtype, shape, sharding_of(rank, at, &whole, shape), plan->mesh,
                             rank->position));
    return rank->slot[slot];
}

void rank_unmake(Rank *rank, int32_t slot)
{
    local_free(rank_remove(rank, slot));
}

/* Stores the shapes of outputs that become known only at run time. */
static bool store_shapes(Rank *rank, const KernelCall *call)
{
    const Program *program = rank->team->program;
    const Inferred *inferred = call->inferred;
    const GraphOp *at = &inferred->graph->ops[call->op];
    Shape *shape = arena_array(call->scratch, Shape, at->n_outputs);
    Dtype *dtype = arena_array(call->scratch, Dtype, at->n_outputs);
    Error inner = {.kind = ERROR_RUN}, err = {0};
    if (!kernel_begin(call, kernel_is_dynamic(inferred, call->op, call->kernel), shape, dtype,
                      &inner)) {
        kernel_blame(inferred->graph, call->op, &inner, &err);
        return rank_failed(rank, &err);
    }
    for (int i = 0; i < at->n_outputs; i++) {
        int32_t slot = program->operand[op_output_place(at) + i];
        if (slot >= 0)
            rank->runtime[slot] = (RuntimeShape){shape[i], dtype[i]};
    }
    return true;
}

/* An output of unknown size is not made here: a kernel with data-dependent sizes makes it. */
static bool make_outputs(Rank *rank, const KernelCall *call, MakeSlot *make, Local **output)
{
    const Program *program = rank->team->program;
    const GraphOp *at = &call->inferred->graph->ops[call->op];
    for (int i = 0; i < at->n_outputs; i++) {
        int32_t slot = program->operand[op_output_place(at) + i];
        bool decided = slot >= 0 && call->kernel->first_value < 0 &&
                       !inferred_tensor_shape(call->inferred, program->slots[slot].tensor);
        output[i] = slot < 0 || decided ? NULL : make(rank, slot);
        if (slot >= 0 && !decided && !output[i])
            return false;
    }
    return true;
}

bool rank_kernel_call(Rank *rank, const Instr *instr, MakeSlot *make, Arena *scratch,
                      KernelCall *out)
{
    int32_t op = instr->op;
    int64_t batch = rank_batch(rank, instr);
    Team *team = rank->team;
    const Plan *plan = team->plan;
    const Program *program = team->program;
    int32_t loop = program->loop_of[op];
    const GraphOp *at = &plan->inferred->graph->ops[op];
    const Local **input = arena_array(scratch, const Local *, at->n_inputs);
    Local **output = arena_array(scratch, Local *, at->n_outputs);
    for (int i = 0; i < at->n_inputs; i++) {
        int32_t slot = program->operand[at->input + i];
        input[i] = slot < 0 ? NULL : rank->slot[slot];
    }
    AtomSet reduced = op_cut_reduced(program_space(plan->inferred, op), program_cut(plan, op));
    *out = (KernelCall){.kernel = program->kernel[op], .inferred = plan->inferred, .op = op};
    out->n_inputs = at->n_inputs;
    out->n_outputs = at->n_outputs;
    out->input = input;
    out->output = output;
    out->made = arena_array(scratch, Local *, at->n_outputs);
    out->first = mesh_stands_first(plan->mesh, reduced, rank->position);
    out->reduce_cut = reduced != 0;
    out->cut = program_cut(plan, op);
    out->mesh = plan->mesh;
    out->position = rank->position;
    out->blas = team->blas;
    Draws draws = assume_draws(plan, op, rank->position);
    out->seed = batch_seed(team->feeds.seed, batch);
    out->by_rank = draws.by_rank;
    out->by_place = draws.by_place;
    out->iteration = loop < 0 ? 0 : rank->iteration[loop];
    out->scratch = scratch;
    int32_t kept = program->kept_of[op];
    if (kept >= 0) {
        out->kept = &rank->kept[(int64_t)instr->view * program->n_kept + kept];
        out->kept->arena = rank->arena;
    }
    return store_shapes(rank, out) && make_outputs(rank, out, make, output);
}

/* Checks that elements have the shape that was inferred, or that the user gave. */
static bool check_elements(Rank *rank, const KernelCall *call, int output)
{
    int32_t tensor = op_outputs(call->inferred->graph, call->op)[output];
    const Shape *known = inferred_shape(call->inferred, tensor);
    const Local *made = call->made[output];
    Error err = {0};
    for (int i = 0; known && i < made->items.n; i++) {
        if (shape_equal(known, &made->items.at[i]->whole))
            continue;
        Buf want = buf_new(call->scratch), have = buf_new(call->scratch);
        shape_format(known, &want);
        shape_format(&made->items.at[i]->whole, &have);
        error_kind(&err, ERROR_RUN, "element %d of '%s' is %s, but was planned as %s", i,
                   tensor_name(call->inferred->graph, tensor), have.s, want.s);
        return rank_failed(rank, &err);
    }
    return true;
}

bool rank_keep_made(Rank *rank, const KernelCall *call)
{
    const Program *program = rank->team->program;
    const GraphOp *at = &call->inferred->graph->ops[call->op];
    bool ok = true;
    for (int i = 0; i < at->n_outputs; i++) {
        int32_t slot = program->operand[op_output_place(at) + i];
        if (call->made[i] && slot >= 0) {
            rank_put(rank, slot, call->made[i]);
            ok = check_elements(rank, call, i) && ok;
        } else {
            local_free(call->made[i]);
        }
    }
    return ok;
}

/* ---- times ---- */

/* Sends wait for what is sent: a block's work has none. */
static void record_in_block(Rank *rank, const Instr *instr, int pass, double us, double wait_us)
{
    const Program *program = rank->team->program;
    int32_t block = program->n_blocks > 0 ? program->block_of[instr - program->instrs] : -1;
    if (block < 0)
        return;
    int64_t place = (int64_t)pass * program->n_blocks + block;
    if (instr->kind == INSTR_STEP && run_step_sends(instr->step))
        wait_us = us;
    rank->result->block_us[place] += us - wait_us;
    rank->result->block_wait_us[place] += wait_us;
}

void rank_record_time(Rank *rank, const Instr *instr, int pass, TraceSpan span)
{
    const Team *team = rank->team;
    RankResult *result = rank->result;
    double us = span.end_us - span.start_us;
    if (result->span)
        result->span[instr - team->program->instrs] = span;
    record_in_block(rank, instr, pass, us, span.wait_us);
    if (instr->kind == INSTR_OP) {
        result->op_us[(int64_t)pass * team->plan->inferred->graph->n_ops + instr->op] += us;
        return;
    }
    int64_t place = (int64_t)pass * team->plan->moved->n_reshards + instr->reshard;
    result->reshard_us[place] += us;
    result->reshard_move_us[place] += us - span.wait_us;
}

void rank_took_pass(Rank *rank, int pass, double us)
{
    rank->result->pass_us[pass] = us;
}

void rank_beats(Rank *rank)
{
    atomic_fetch_add(&rank->result->head->n_beats, 1);
}

/* ---- comparing outputs ---- */

/* The expected value of an output: the one given, else the reference's; NULL if neither exists. */
static const Local *wanted_output(const Team *team, int32_t tensor)
{
    if (team->expected && team->expected[tensor])
        return team->expected[tensor];
    return team->options->verify ? team->reference.value[tensor] : NULL;
}

/* The checksum of a part; for a sequence that of its items, in order. */
static uint64_t bits_of(const Local *part)
{
    uint64_t bits = 0;
    for (int i = 0; i < part->items.n; i++)
        bits = bits * 31 + bits_of(part->items.at[i]);
    if (part->sequence || part->nothing)
        return bits;
    return hash_bytes(part->data, (size_t)local_bytes(part));
}

/* ONNX's tolerance for its test sets, or that of the options; two units in the last place of a
 * bf16. */
static Tolerance given_tolerance(const Team *team, const Local *want)
{
    const RunOptions *options = team->options;
    Tolerance out = tolerance_for(want->dtype, local_range(want));
    out.rtol = fmax(out.rtol, 1e-3);
    if (options->rtol > 0 || options->atol > 0)
        out = (Tolerance){options->rtol, options->atol};
    if (want->dtype == DT_BF16)
        out.rtol = fmax(out.rtol, 0x1p-6);
    return out;
}

/* Of a training step. */
static void note_drift(Rank *rank, const Local *want, int32_t tensor, double difference)
{
    RunStep *step = &rank->result->step[rank->pass];
    if (rank->team->program->n_carried == 0 || difference == 0)
        return;
    double range = local_range(want), drift = range > 0 ? difference / range : difference;
    if (drift <= step->drift)
        return;
    step->drift = drift;
    step->drifts = tensor;
}

/* Compares an output with the given one by tolerance; with one device's result only to measure the
 * drift. */
static void compare_output(Rank *rank, int i, const Local *part, const Local *want)
{
    const Team *team = rank->team;
    bool given = team->expected && team->expected[team->plan->inferred->graph->outputs[i]];
    Difference *output = &rank->result->output[i], one = {.ok = true};
    output->bits = bits_of(part) * (2 * (uint64_t)rank->position + 1);
    local_compare(part, want, given ? given_tolerance(team, want) : (Tolerance){0, 0}, &one);
    note_drift(rank, want, team->plan->inferred->graph->outputs[i], one.max_abs);
    difference_join(output, &one);
    output->ok = output->ok || (!given && local_same_type(part, want));
}

static double first_number(const Local *value)
{
    double number = NAN;
    if (local_count(value) == 1 && dtype_is_computed(value->dtype))
        local_load(value, 0, 1, 1, NUMBER_F64, &number);
    return number;
}

static void note_step(Rank *rank, int i, const Local *part, const Local *want)
{
    const Program *program = rank->team->program;
    RunStep *step = &rank->result->step[rank->pass];
    if (program->n_carried > 0 && i == program->scale)
        step->scale = first_number(part);
    if (program->n_carried == 0 || i != program->loss)
        return;
    step->has_loss = true;
    step->loss = first_number(part);
    step->one_device = want ? first_number(want) : NAN;
}

/* An output that is left partial: its addends are summed, and the sum is compared. */
static bool check_sum(Rank *rank, int i, const Local *want)
{
    const Team *team = rank->team;
    Error err = {0};
    Local *whole;
    if (!want)
        return true;
    if (!team->options->verify) {
        error_kind(
            &err, ERROR_UNSUPPORTED, "output '%s' is left partial: no rank has its value",
            tensor_name(team->plan->inferred->graph, team->plan->inferred->graph->outputs[i]));
        error_hint(&err, "--verify sums its addends and compares them");
        return rank_failed(rank, &err);
    }
    if (!verify_join_output(rank, team->program->output[i], &whole))
        return false;
    if (whole)
        compare_output(rank, i, whole, want);
    local_free(whole);
    return true;
}

static bool check_outputs(Rank *rank)
{
    const Team *team = rank->team;
    const Graph *graph = team->plan->inferred->graph;
    RankHead *head = rank->result->head;
    for (int i = 0; i < graph->n_outputs; i++) {
        const Local *want = wanted_output(team, graph->outputs[i]);
        bool partial = slot_is_partial(team, team->program->output[i]);
        rank_beats(rank);
        if (partial && !check_sum(rank, i, want))
            return false;
        if (!rank_has(rank, team->program->output[i]))
            continue;
        const Local *part = team->runner->fetch(rank, team->program->output[i]);
        if (!part)
            return false;
        int64_t n_strange = local_count_strange(part), n = local_count(part);
        rank->result->n_finite[i] = n - n_strange;
        rank->result->n_elements[i] = n;
        if (head->strange < 0 && n_strange > 0) {
            head->strange = graph->outputs[i];
            head->n_strange = n_strange;
        }
        note_step(rank, i, part, want);
        if (want && !partial)
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
    int done = atomic_load(&head->n_begun) - 1;
    int total = program_length(team->program, team->n_passes);
    if (rank->position == 0 && options->progress && goes_on)
        goes_on = options->progress(options->context, done < total ? done : total, total);
    if (goes_on || rank->position != 0)
        return true;
    Error err = {0};
    team->results->outcome->cancelled = true;
    error_kind(&err, ERROR_CANCELLED, "cancelled");
    return rank_failed(rank, &err);
}

/* The reference executes an instruction before the ranks do. */
static bool prepare(Rank *rank, int at)
{
    Team *team = rank->team;
    const Instr *instr = &team->program->instrs[at];
    InstrKind kind = instr->kind;
    Error err = {0};
    bool together = kind == INSTR_OP || kind == INSTR_STEP || kind == INSTR_BACK;
    if (together && !rank_meet(rank))
        return false;
    if (rank->position == team->first_rank &&
        !reference_step(&team->reference, at, rank_batch(rank, instr), rank->iteration, &err))
        return rank_failed(rank, &err);
    return (!together || rank_meet(rank)) && verify_before(rank, at);
}

/* Executes an op or a step and measures its time, unless the runner measures by itself. */
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
        rank_record_time(rank, instr, rank->pass, (TraceSpan){start, end, wait_us});
    return true;
}

static bool do_instr(Rank *rank, int at, int *next)
{
    const Team *team = rank->team;
    const Instr *instr = &team->program->instrs[at];
    switch (instr->kind) {
    case INSTR_LOAD:
        return !rank_has(rank, instr->slot) || team->runner->load(rank, instr);
    case INSTR_FREE:
        team->runner->drop(rank, instr->slot);
        return true;
    case INSTR_OP:
    case INSTR_STEP:
        return do_timed(rank, instr);
    case INSTR_BRANCH:
    case INSTR_LOOP:
    case INSTR_COLLECT:
    case INSTR_NEXT:
    case INSTR_BACK:
    case INSTR_ADD:
        break;
    }
    return rank_flow(rank, at, next);
}

static bool run_instr(Rank *rank, int at, int *next)
{
    const Program *program = rank->team->program;
    bool verify = rank->team->options->verify && (rank->pass == 0 || program->n_carried > 0);
    *next = at + 1;
    rank_view(rank, program->instrs[at].view);
    if (atomic_load(&rank->team->failed) || !progress(rank, at) || (verify && !prepare(rank, at)) ||
        !do_instr(rank, at, next))
        return false;
    return !verify || verify_after(rank, at);
}

static bool run_pass(Rank *rank)
{
    const Team *team = rank->team;
    const Program *program = team->program;
    bool done = false;
    if (team->runner->replay && !team->runner->replay(rank, rank->pass, &done))
        return false;
    for (int at = program->n_once; !done && at < program->n_instrs;)
        if (!run_instr(rank, at, &at))
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

/* Outputs that nothing is carried from, as the loss, are dropped. */
static bool carry(Rank *rank)
{
    Team *team = rank->team;
    Error err = {0};
    if (team->program->n_carried == 0)
        return true;
    if (!rank_meet(rank) || !rank_carry(rank))
        return false;
    drop_outputs(rank);
    if (rank_leads(rank) && team->options->verify && !reference_carry(&team->reference, &err))
        return rank_failed(rank, &err);
    return rank_meet(rank);
}

static bool run_all(Rank *rank)
{
    const Team *team = rank->team;
    const Program *program = team->program;
    RankResult *result = rank->result;
    for (int at = 0; at < program->n_once;)
        if (!run_instr(rank, at, &at))
            return false;
    for (; rank->pass < team->n_passes; rank->pass++) {
        if (program->n_carried > 0)
            result->step[rank->pass].drifts = -1;
        if ((rank->pass > 0 && !carry(rank)) || !run_pass(rank))
            return false;
        rank_view(rank, program_last_view(program));
        /* Drops outputs that the reference has just loaded; a runner may execute its last pass
         * differently (replay). */
        bool last = rank->pass == team->n_passes - 1, trains = program->n_carried > 0;
        bool checked = rank->pass == 0 || last || trains;
        if (checked && (!rank_meet(rank) || !check_outputs(rank)))
            return false;
        if (!trains || last)
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
    bool opened = !team->runner->rank_open || team->runner->rank_open(rank);
    bool ok = opened && run_all(rank);
    if (!ok)
        atomic_store(&rank->team->failed, true);
    else
        atomic_store(&head->state, RANK_DONE);
    leave(rank->team);
    for (int v = 0; opened && v < team->program->n_views; v++) {
        rank_view(rank, v);
        for (int32_t s = 0; s < team->program->n_slots; s++)
            team->runner->drop(rank, s);
    }
    if (opened && team->runner->rank_close)
        team->runner->rank_close(rank);
    for (int i = 0; i < rank->parts.n; i++)
        local_free(rank->parts.at[i]);
    return ok;
}
