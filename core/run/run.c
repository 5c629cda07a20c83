#include "core/run/run.h"

#include "core/run/estimate.h"
#include "core/run/plugin.h"
#include "core/run/supervise.h"
#include "core/run/verify/vectors.h"
#include "core/run/verify/verify.h"

#include <inttypes.h>
#include <unistd.h>

/* ---- threads ---- */

static void *thread_main(void *rank)
{
    rank_run(rank);
    return NULL;
}

/* Runs the first rank of this process here, the others on their own threads. False with the error
 * of the lowest failed rank. */
static bool run_ranks(Team *team, Arena *arena, Error *err)
{
    pthread_t *threads = arena_array(arena, pthread_t, team->n_local);
    int n_started = 1;
    while (n_started < team->n_local &&
           pthread_create(&threads[n_started], NULL, thread_main, &team->ranks[n_started]) == 0)
        n_started++;
    int n_missing = team->n_local - n_started;
    if (n_missing > 0) {
        atomic_store(&team->failed, true);
        atomic_fetch_add(&team->n_left, n_missing);
    }
    bool ok = rank_run(&team->ranks[0]);
    for (int r = 1; r < n_started; r++)
        pthread_join(threads[r], NULL);

    if (n_missing > 0)
        return error_kind(err, ERROR_RUN, "only %d of %d ranks could be started", n_started,
                          team->n_local);
    for (int r = 0; r < team->n_local; r++) {
        const Error *first = &team->ranks[r].result->head->err;
        if (!error_is_set(first))
            continue;
        if (team->n_ranks == 1 || first->kind == ERROR_CANCELLED)
            error_kind(err, first->kind, "%s", first->text);
        else
            error_kind(err, first->kind, "rank %d: %s", team->first_rank + r, first->text);
        if (first->hint[0])
            error_hint(err, "%s", first->hint);
        return false;
    }
    return ok && !atomic_load(&team->failed);
}

/* ---- a run ---- */

/* Checks that the ranks and the reference fit the machine's memory. */
static bool check_size(const Plan *plan, const RunOptions *options, Error *err)
{
    int64_t n_ranks = plan->mesh->n_devices;
    if (n_ranks > RUN_RANKS_MAX) {
        error_kind(err, ERROR_USAGE,
                   "a run on this host has at most %d ranks, the mesh has %" PRId64, RUN_RANKS_MAX,
                   n_ranks);
        error_hint(err, "run the plan on a smaller mesh: -m");
        return false;
    }
    RunEstimate estimate;
    run_estimate_memory(plan, options, &estimate);
    return run_estimate_fits(NULL, &estimate, err);
}

static bool *loaded_once(Arena *arena, const Program *program)
{
    bool *stays = arena_array(arena, bool, program->n_slots);
    for (int i = 0; i < program->n_once; i++)
        stays[program->instrs[i].slot] = true;
    return stays;
}

/* The files given by the user, open while the feeds need them. */
typedef struct {
    Vectors inputs;
    SafeTensors weights;
} GivenFiles;

static bool open_feeds(Arena *arena, Team *team, GivenFiles *files, Error *err)
{
    const Inferred *inferred = team->plan->inferred;
    const Program *program = team->program;
    const RunOptions *options = team->options;
    Given given = {.seed = options->seed, .deterministic = options->deterministic};
    if ((options->inputs && !inputs_open(arena, inferred, options->inputs, &files->inputs, err)) ||
        (options->weights && !safetensors_open(arena, options->weights, &files->weights, err)))
        return false;
    given.inputs = options->inputs ? &files->inputs : NULL;
    given.weights = options->weights ? &files->weights : NULL;
    given.draw_missing = options->draw_missing;
    bool *wanted = arena_array(arena, bool, inferred->graph->n_tensors);
    for (int i = 0; i < program->n_instrs; i++)
        if (program->instrs[i].kind == INSTR_LOAD)
            wanted[program->slots[program->instrs[i].slot].tensor] = true;
    return feeds_open(arena, inferred, wanted, &given, &team->feeds, err);
}

static int count_drawn(const Feeds *feeds)
{
    int n = 0;
    for (int t = 0; t < feeds->inferred->graph->n_tensors; t++)
        n += feeds->at[t].kind == FEED_DRAWN && tensor_is_parameter(feeds->inferred, t);
    return n;
}

/* Creates, runs and ends the ranks of this process. */
static bool run_here(Team *team, Arena *arena, Error *err)
{
    team->stays = loaded_once(arena, team->program);
    team->ranks = arena_array(arena, Rank, team->n_local);
    for (int r = 0; r < team->n_local; r++)
        rank_open(&team->ranks[r], team, team->first_rank + r);
    pthread_mutex_init(&team->lock, NULL);
    team->blas = team->options->deterministic ? NULL : &team->lock;
    reference_open(arena, team->plan->inferred, team->program, &team->feeds, team->blas,
                   team->world, &team->reference);
    team->verify = team->options->verify ? verify_open(arena, team) : NULL;
    bool ok = team->runner->open(team, err) && run_ranks(team, arena, err);
    if (team->runner->close)
        team->runner->close(team);
    verify_close(team->verify);
    reference_close(&team->reference);
    pthread_mutex_destroy(&team->lock);
    for (int r = 0; r < team->n_local; r++)
        rank_close(&team->ranks[r]);
    return ok;
}

/* SupervisedRun */
static void run_team(Team *team)
{
    Arena *arena = arena_new();
    RunOutcome *outcome = team->results->outcome;
    GivenFiles files = {.inputs = {.maps = {.n = 0}}};
    outcome->ok = open_feeds(arena, team, &files, &outcome->err);
    if (outcome->ok) {
        outcome->n_drawn = count_drawn(&team->feeds);
        outcome->ok = run_here(team, arena, &outcome->err);
    }
    if (team->feeds.inferred)
        feeds_close(&team->feeds);
    vectors_close(&files.inputs);
    safetensors_close(&files.weights);
    arena_free(arena);
}

/* Gathers the results of all ranks to process 0. */
static bool gather_results(Team *team, Error *err)
{
    const Results *results = team->results;
    World *world = team->world;
    if (world->n == 1)
        return true;
    char *all = (char *)results->rank[0].head;
    return world->gather(world, results->rank[team->first_rank].head,
                         results->rank_bytes * team->n_local, world->me == 0 ? all : NULL, err) &&
           (world->me > 0 || results_check(results, team->plan, team->program, team->options, err));
}

static bool report(Arena *arena, Team *team, RunReport *out, Error *err)
{
    World *world = team->world;
    bool ok = gather_results(team, err), made = true;
    if (ok && world->me == 0)
        made = report_make(arena, team, out) || error_kind(err, ERROR_RUN, "no pass was finished");
    else
        *out = (RunReport){.n_ranks = team->n_ranks, .elsewhere = true};
    return ok && world_share_bool(world, &out->ok, 0, err) && made;
}

/* Each process has equally many consecutive ranks. */
static bool place_ranks(Team *team, Error *err)
{
    int n = team->world->n;
    team->n_ranks = (int)team->plan->mesh->n_devices;
    team->n_local = team->n_ranks / n;
    team->first_rank = team->world->me * team->n_local;
    if (team->n_ranks % n == 0)
        return true;
    error_kind(err, ERROR_USAGE, "%d processes cannot share %d ranks evenly", n, team->n_ranks);
    error_hint(err, "mpirun -n %d ..", team->n_ranks);
    return false;
}

static bool run_lowered(Arena *arena, Team *team, RunReport *out, Error *err)
{
    RunOutcome *outcome = team->results->outcome;
    Error inner = {0};
    if (team->options->isolated && team->world->n == 1) {
        if (!supervise(team, run_team, &inner))
            outcome->ok = false;
    } else {
        run_team(team);
    }
    if (!error_is_set(&inner))
        inner = outcome->err;
    if (outcome->ok)
        return report(arena, team, out, err);
    if (outcome->cancelled && report(arena, team, out, NULL))
        return true;
    team->world->stop(team->world, &inner);
    if (err)
        *err = inner;
    return false;
}

static bool has_flow(const Program *program)
{
    for (int i = 0; i < program->n_instrs; i++)
        if (program->instrs[i].kind > INSTR_FREE)
            return true;
    return false;
}

static bool has_ring(const Team *team, int32_t *op)
{
    const Inferred *inferred = team->plan->inferred;
    for (int i = 0; i < inferred->n_program; i++) {
        *op = inferred->program[i];
        if (ring_index_of(team->plan, *op) >= 0)
            return true;
    }
    return false;
}

/* Checks what the runner does not support on any machine. */
static bool check_runner(const Team *team, Error *err)
{
    const Graph *graph = team->plan->inferred->graph;
    const char *name = team->runner->name;
    int32_t op = team->program->copying_op;
    if (op >= 0 && team->runner->straight)
        error_kind(err, ERROR_USAGE,
                   "op '%s' cannot be run by %s: it has a sequence, a list or a shape that is "
                   "known only at run time",
                   op_name(graph, op), name);
    else if (team->runner->straight && team->program->n_views > 1)
        error_kind(err, ERROR_USAGE, "a step of several micro-batches cannot be run by %s", name);
    else if (team->runner->straight && team->options->steps > 1)
        error_kind(err, ERROR_USAGE, "several steps of training cannot be run by %s", name);
    else if (!team->runner->pass_begin && has_ring(team, &op))
        error_kind(err, ERROR_USAGE, "op '%s' cannot be run by %s: parts of it go around a ring",
                   op_name(graph, op), name);
    else if (team->runner->straight && has_flow(team->program))
        error_kind(err, ERROR_USAGE, "a model with branches or loops cannot be run by %s", name);
    else
        return true;
    error_hint(err, "the host's threads run it: --backend host");
    return false;
}

/* "auto" falls back to the host for programs that the device's runner does not support. */
static bool choose_runner(Arena *arena, Team *team, Program *program, Error *err)
{
    const char *backend = team->options->backend;
    Error inner = {0};
    if (check_runner(team, &inner)) {
        if (team->runner->straight)
            program->n_carried = 0; /* passes repeat one step */
        return true;
    }
    if (backend && strcmp(backend, "auto") == 0) {
        team->runner = &host_runner;
        team->instead = arena_str(arena, str_from(inner.text));
        return true;
    }
    if (err)
        *err = inner;
    return false;
}

bool run_expecting(Arena *arena, const Plan *plan, const RunOptions *options, Local **expected,
                   RunReport *out, Error *err)
{
    Program program;
    Results results = {.map = NULL};
    World alone = world_alone();
    Team team = {.plan = plan, .program = &program, .options = options, .expected = expected};
    team.world = options->world ? options->world : &alone;
    team.results = &results;
    team.n_passes = run_passes(options);
    Arena *scratch = arena_new();
    team.runner = options->runner ? options->runner : runner_find(options->backend, err);
    bool ok = team.runner && check_size(plan, options, err) && place_ranks(&team, err) &&
              program_lower(scratch, plan, &program, err) &&
              choose_runner(arena, &team, &program, err) &&
              results_open(scratch, plan, &program, team.n_ranks, options, &results, err) &&
              run_lowered(arena, &team, out, err);
    results_close(&results);
    arena_free(scratch);
    return ok;
}

bool run_plan(Arena *arena, const Plan *plan, const RunOptions *options, RunReport *out, Error *err)
{
    return run_expecting(arena, plan, options, NULL, out, err);
}

/* Reads the expected outputs as whole values. */
static bool read_expected(Arena *arena, const Inferred *inferred, const Vectors *outputs,
                          Local **expected, Error *err)
{
    const Graph *graph = inferred->graph;
    for (int i = 0; i < graph->n_outputs; i++) {
        int32_t tensor = graph->outputs[i];
        const OnnxTensor *vector =
            vectors_find(outputs, names_str(graph->names, graph->tensors[tensor].name), i);
        if (!vector || expected[tensor])
            continue;
        if (!vector_fits(inferred, tensor, vector, err))
            return false;
        expected[tensor] = vector_value(arena, vector, (Dtype)inferred->dtype[tensor], err);
        if (!expected[tensor])
            return false;
    }
    return true;
}

/* output_N.pb in the folder, or NAME_output_N.pb beside NAME.onnx. */
static bool open_outputs(Arena *arena, const char *data_set, const Graph *graph, Vectors *out,
                         Error *err)
{
    Str name = str_from(data_set);
    if (!str_ends(name, STR(".onnx")))
        return vectors_open(arena, data_set, "output", graph, out, err);
    size_t start = name.n;
    while (start > 0 && data_set[start - 1] != '/')
        start--;
    const char *stem =
        arena_printf(arena, "%.*s_output", (int)(name.n - start) - 5, data_set + start);
    return vectors_open(arena, path_dir(arena, data_set), stem, graph, out, err);
}

static bool draws(const Plan *plan, const Program *program)
{
    bool any = false;
    for (int i = 0; i < program->n_instrs; i++) {
        int32_t op = program->instrs[i].op;
        any |= program->instrs[i].kind == INSTR_OP &&
               kernel_draws(plan->inferred->graph, op, program->kernel[op]);
    }
    return any;
}

bool run_onnx_test(Arena *arena, const Plan *plan, const char *data_set, const RunOptions *options,
                   RunReport *out, Error *err)
{
    RunOptions with_inputs = *options;
    with_inputs.inputs = data_set;
    const Graph *graph = plan->inferred->graph;
    Arena *scratch = arena_new();
    Vectors outputs = {0};
    Program program; /* report first what cannot run, then what does not match */
    Local **expected = arena_array(scratch, Local *, graph->n_tensors);
    bool ok = program_lower(scratch, plan, &program, err) &&
              open_outputs(scratch, data_set, graph, &outputs, err) &&
              read_expected(scratch, plan->inferred, &outputs, expected, err);
    bool drawn = ok && draws(plan, &program);
    with_inputs.verify |= drawn;
    ok = ok && run_expecting(arena, plan, &with_inputs, drawn ? NULL : expected, out, err);
    for (int t = 0; t < graph->n_tensors; t++)
        local_free(expected[t]);
    vectors_close(&outputs);
    arena_free(scratch);
    return ok;
}
