#include "core/run/run.h"

#include "core/run/rank.h"
#include "core/run/vectors.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- threads ---- */

static void *thread_main(void *rank)
{
    rank_run(rank);
    return NULL;
}

/* Rank 0 runs here, the others on threads of their own. False with the error of the lowest rank
 * that has one. */
static bool run_ranks(Arena *arena, Team *team, Error *err)
{
    pthread_t *threads = arena_array(arena, pthread_t, team->n_ranks);
    int n_started = 1;
    while (n_started < team->n_ranks &&
           pthread_create(&threads[n_started], NULL, thread_main, &team->ranks[n_started]) == 0)
        n_started++;
    bool all = n_started == team->n_ranks, ok = false;
    if (all)
        ok = rank_run(&team->ranks[0]);
    else
        atomic_store(&team->failed, true);
    for (int r = 1; r < n_started; r++)
        pthread_join(threads[r], NULL);

    if (!all)
        return error_kind(err, ERROR_RUN, "only %d of %d ranks could be started", n_started,
                          team->n_ranks);
    for (int r = 0; r < team->n_ranks; r++)
        if (error_is_set(&team->ranks[r].err)) {
            const Error *first = &team->ranks[r].err;
            return team->n_ranks == 1 ? error_kind(err, first->kind, "%s", first->text)
                                      : error_kind(err, first->kind, "rank %d: %s", r, first->text);
        }
    return ok && !atomic_load(&team->failed);
}

/* ---- the report ---- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    if (n == 0)
        return 0;
    qsort(x, (size_t)n, sizeof *x, compare_doubles);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}

/* A verified pass is not timed when there is another. */
static int first_timed(const Team *team)
{
    return team->options->verify && team->n_passes > 1;
}

typedef double *RankTimes(const Rank *rank);

static double *times_of_ops(const Rank *rank)
{
    return rank->op_us;
}

static double *times_of_reshards(const Rank *rank)
{
    return rank->reshard_us;
}

/* Median over passes and the ranks that did it, for each of n things. */
static double *median_times(Arena *arena, const Team *team, RankTimes *times, int n)
{
    double *out = arena_array(arena, double, n);
    Arena *scratch = arena_new();
    double *all = arena_array(scratch, double, (int64_t)team->n_ranks * team->n_passes);
    for (int i = 0; i < n; i++) {
        int n_all = 0;
        for (int r = 0; r < team->n_ranks; r++)
            for (int pass = first_timed(team); pass < team->n_passes; pass++) {
                double us = times(&team->ranks[r])[(int64_t)pass * n + i];
                if (us > 0)
                    all[n_all++] = us;
            }
        out[i] = median(all, n_all);
    }
    arena_free(scratch);
    return out;
}

static void report_times(Arena *arena, const Team *team, RunReport *out)
{
    const Plan *plan = team->plan;
    out->op_us = median_times(arena, team, times_of_ops, plan->inferred->graph->n_ops);
    out->reshard_us = median_times(arena, team, times_of_reshards, plan->n_reshards);
    out->predicted_us = plan->totals.step_us;
    out->predicted_peak_bytes = plan->totals.peak_bytes;

    Arena *scratch = arena_new();
    double *slowest = arena_array(scratch, double, team->n_passes);
    int n = 0;
    for (int pass = first_timed(team); pass < team->n_passes; pass++, n++)
        for (int r = 0; r < team->n_ranks; r++)
            if (team->ranks[r].pass_us[pass] > slowest[n])
                slowest[n] = team->ranks[r].pass_us[pass];
    out->median_us = median(slowest, n);
    arena_free(scratch);
    for (int r = 0; r < team->n_ranks; r++)
        if (team->ranks[r].peak_bytes > out->peak_bytes)
            out->peak_bytes = team->ranks[r].peak_bytes;
}

static void report_checks(Arena *arena, const Team *team, RunReport *out)
{
    const Graph *graph = team->plan->inferred->graph;
    int first_bad = INT_MAX;
    out->first_bad = -1;
    for (int r = 0; r < team->n_ranks; r++)
        if (team->ranks[r].first_bad >= 0 && team->ranks[r].first_bad < first_bad) {
            first_bad = team->ranks[r].first_bad;
            out->first_bad = team->ranks[r].bad_tensor;
            out->wrong = team->ranks[r].wrong;
        }
    for (int r = 0; r < team->n_ranks; r++)
        out->n_values_checked += team->ranks[r].n_checked;
    out->ok = out->first_bad < 0;
    if (!team->options->verify && !team->expected)
        return;
    out->outputs = arena_array(arena, RunOutput, graph->n_outputs);
    out->n_outputs = graph->n_outputs;
    for (int i = 0; i < graph->n_outputs; i++) {
        Difference all = {.ok = true};
        for (int r = 0; r < team->n_ranks; r++)
            difference_join(&all, &team->ranks[r].output[i]);
        out->outputs[i] =
            (RunOutput){graph->outputs[i], all.max_abs, all.max_rel, all.max_ulp, all.ok};
        out->ok = out->ok && all.ok;
    }
}

/* ---- a run ---- */

/* What the ranks and the reference will hold must fit this machine's memory. */
static bool check_size(const Plan *plan, Error *err)
{
    int64_t n_ranks = plan->mesh->n_devices;
    if (n_ranks > RUN_RANKS_MAX) {
        error_kind(err, ERROR_USAGE,
                   "a run on this host has at most %d ranks, the mesh has %" PRId64, RUN_RANKS_MAX,
                   n_ranks);
        error_hint(err, "run the plan on a smaller mesh: -m");
        return false;
    }
    double has_bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double needs_bytes = (double)plan->totals.peak_bytes * (double)n_ranks;
    if (has_bytes <= 0 || needs_bytes < has_bytes)
        return true;
    error_kind(err, ERROR_USAGE, "the ranks need %.1f GiB, this machine has %.1f",
               needs_bytes / 0x1p30, has_bytes / 0x1p30);
    error_hint(err, "bind smaller dims: --dim batch=1,seq=16");
    return false;
}

static bool *loaded_once(Arena *arena, const Program *program)
{
    bool *stays = arena_array(arena, bool, program->n_slots);
    for (int i = 0; i < program->n_once; i++)
        stays[program->instrs[i].slot] = true;
    return stays;
}

static bool open_feeds(Arena *arena, Team *team, const char *folder, Vectors *inputs, Error *err)
{
    const Inferred *inferred = team->plan->inferred;
    const Program *program = team->program;
    if (folder && !vectors_open(arena, folder, "input", inputs, err))
        return false;
    bool *wanted = arena_array(arena, bool, inferred->graph->n_tensors);
    for (int i = 0; i < program->n_instrs; i++)
        if (program->instrs[i].kind == INSTR_LOAD)
            wanted[program->slots[program->instrs[i].slot].tensor] = true;
    return feeds_open(arena, inferred, wanted, team->options->seed, folder ? inputs : NULL,
                      &team->feeds, err);
}

/* Of a run that was stopped: the passes that all ranks have done count. False: there is none. */
static bool keep_finished(Team *team)
{
    for (int r = 0; r < team->n_ranks; r++)
        if (team->ranks[r].n_done < team->n_passes)
            team->n_passes = team->ranks[r].n_done;
    return team->n_passes > 0;
}

static void report_trace(Arena *arena, Arena *scratch, const Team *team, RunReport *out)
{
    TraceSpan **spans = arena_array(scratch, TraceSpan *, team->n_ranks);
    for (int r = 0; r < team->n_ranks; r++) {
        if (team->ranks[r].n_done != team->n_passes)
            return; /* stopped between passes: not all kept the same one */
        spans[r] = team->ranks[r].last_span;
    }
    out->trace = trace_make(arena, team->program, spans, team->n_ranks);
}

static int count_drawn(const Feeds *feeds)
{
    int n = 0;
    for (int t = 0; t < feeds->inferred->graph->n_tensors; t++)
        n += feeds->at[t].kind == FEED_DRAWN && tensor_is_parameter(feeds->inferred, t);
    return n;
}

static bool run_team(Arena *arena, Arena *scratch, Team *team, RunReport *out, Error *err)
{
    team->stays = loaded_once(scratch, team->program);
    team->ranks = arena_array(scratch, Rank, team->n_ranks);
    for (int r = 0; r < team->n_ranks; r++)
        rank_open(&team->ranks[r], team, r);
    pthread_mutex_init(&team->lock, NULL);
    team->blas = team->options->deterministic ? NULL : &team->lock;
    reference_open(scratch, team->plan->inferred, team->program, &team->feeds, team->blas,
                   &team->reference);
    Error inner = {0};
    bool ok = run_ranks(scratch, team, &inner);
    if (!ok && team->cancelled && keep_finished(team))
        ok = true;
    else if (!ok && err)
        *err = inner;
    if (ok) {
        *out = (RunReport){.n_ranks = team->n_ranks, .backend = "host"};
        out->n_passes = team->n_passes;
        out->n_drawn = count_drawn(&team->feeds);
        report_times(arena, team, out);
        if (team->options->trace)
            report_trace(arena, scratch, team, out);
        report_checks(arena, team, out);
    }
    reference_close(&team->reference);
    pthread_mutex_destroy(&team->lock);
    for (int r = 0; r < team->n_ranks; r++)
        rank_close(&team->ranks[r]);
    return ok;
}

/* expected: per tensor, or NULL. */
static bool run(Arena *arena, const Plan *plan, const RunOptions *options, const char *folder,
                Local **expected, RunReport *out, Error *err)
{
    Program program;
    Vectors inputs = {.maps = {.n = 0}};
    Team team = {.plan = plan, .program = &program, .options = options, .expected = expected};
    team.n_ranks = (int)plan->mesh->n_devices;
    team.n_passes = options->repeat > 1 ? options->repeat : 1;
    Arena *scratch = arena_new();
    bool ok = program_lower(scratch, plan, &program, err) &&
              open_feeds(scratch, &team, folder, &inputs, err) &&
              run_team(arena, scratch, &team, out, err);
    if (team.feeds.inferred)
        feeds_close(&team.feeds);
    vectors_close(&inputs);
    arena_free(scratch);
    return ok;
}

bool run_plan(Arena *arena, const Plan *plan, const RunOptions *options, RunReport *out, Error *err)
{
    return check_size(plan, err) && run(arena, plan, options, options->inputs, NULL, out, err);
}

/* The wholes that the outputs must be. */
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
        int64_t n = shape_elements(&vector->shape);
        const void *elements = data_elements(arena, &vector->data, vector->dtype, n, err);
        if (!elements)
            return false;
        expected[tensor] = local_new_whole(vector->dtype, &vector->shape);
        elements_copy(vector->dtype, expected[tensor]->data, elements, 1, n);
    }
    return true;
}

bool run_onnx_test(Arena *arena, const Plan *plan, const char *data_set, const RunOptions *options,
                   RunReport *out, Error *err)
{
    if (!check_size(plan, err))
        return false;
    const Graph *graph = plan->inferred->graph;
    Arena *scratch = arena_new();
    Vectors outputs;
    Local **expected = arena_array(scratch, Local *, graph->n_tensors);
    bool ok = vectors_open(scratch, data_set, "output", &outputs, err) &&
              read_expected(scratch, plan->inferred, &outputs, expected, err) &&
              run(arena, plan, options, data_set, expected, out, err);
    for (int t = 0; t < graph->n_tensors; t++)
        local_free(expected[t]);
    vectors_close(&outputs);
    arena_free(scratch);
    return ok;
}
