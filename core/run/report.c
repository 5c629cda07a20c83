#include "core/run/runner.h"

#include "core/cost/memory.h"
#include "core/cost/pipeline.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

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

static const RankResult *result_at(const Team *team, int rank)
{
    return &team->results->rank[rank];
}

/* The last pass counts even if it is a warm-up. */
static int first_timed(const Team *team, int n_passes)
{
    int warmup = team->options->warmup;
    if (team->options->verify && warmup == 0)
        warmup = 1;
    return warmup < n_passes ? warmup : n_passes - 1;
}

static double *times_of_ops(const RankResult *result)
{
    return result->op_us;
}

static double *times_of_reshards(const RankResult *result)
{
    return result->reshard_us;
}

static double *times_of_moves(const RankResult *result)
{
    return result->reshard_move_us;
}

typedef double *ResultTimes(const RankResult *result);

/* Median over passes and the ranks that executed it, for each of n items. */
static double *median_times(Arena *arena, const Team *team, int n_passes, ResultTimes *times, int n)
{
    double *out = arena_array(arena, double, n);
    Arena *scratch = arena_new();
    double *all = arena_array(scratch, double, (int64_t)team->n_ranks *n_passes);
    for (int i = 0; i < n; i++) {
        int n_all = 0;
        for (int r = 0; r < team->n_ranks; r++)
            for (int pass = first_timed(team, n_passes); pass < n_passes; pass++) {
                double us = times(result_at(team, r))[(int64_t)pass * n + i];
                if (us > 0)
                    all[n_all++] = us;
            }
        out[i] = median(all, n_all);
    }
    arena_free(scratch);
    return out;
}

static double *times_of_blocks(const RankResult *result)
{
    return result->block_us;
}

static double *waits_of_blocks(const RankResult *result)
{
    return result->block_wait_us;
}

static void add_blocks(Arena *arena, const Team *team, int n_passes, RunReport *out)
{
    const Program *program = team->program;
    int n = program->n_blocks;
    double *us = median_times(arena, team, n_passes, times_of_blocks, n);
    double *wait_us = median_times(arena, team, n_passes, waits_of_blocks, n);
    out->n_blocks = n;
    out->blocks = arena_array(arena, RunBlock, n);
    for (int i = 0; i < n; i++)
        out->blocks[i] = (RunBlock){program->blocks[i], us[i], wait_us[i]};
}

/* A reshard of several steps runs them all equally often. */
static void count_times(Arena *arena, const Team *team, RunReport *out)
{
    const Program *program = team->program;
    const Moved *moved = team->plan->moved;
    out->op_times = arena_array(arena, double, team->plan->inferred->graph->n_ops);
    out->reshard_times = arena_array(arena, double, moved->n_reshards);
    for (int i = program->n_once; i < program->n_instrs; i++) {
        const Instr *instr = &program->instrs[i];
        if (instr->kind == INSTR_OP)
            out->op_times[instr->op]++;
        else if (instr->kind == INSTR_STEP)
            out->reshard_times[instr->reshard] +=
                1.0 / moved->reshards[instr->reshard].path->n_steps;
    }
}

static double *times_of_passes(const RankResult *result)
{
    return result->pass_us;
}

static double *times_of_beginning(const RankResult *result)
{
    return result->begin_us;
}

/* Of a pass the time of the slowest rank. */
static double median_of_slowest(const Team *team, int n_passes, ResultTimes *times)
{
    Arena *scratch = arena_new();
    double *slowest = arena_array(scratch, double, n_passes);
    int n = 0;
    for (int pass = first_timed(team, n_passes); pass < n_passes; pass++, n++)
        for (int r = 0; r < team->n_ranks; r++)
            if (times(result_at(team, r))[pass] > slowest[n])
                slowest[n] = times(result_at(team, r))[pass];
    double out = median(slowest, n);
    arena_free(scratch);
    return out;
}

/* Ranks of a run hold all rows that a router could send, a plan counts those that it expects. */
static void add_predicted_peak(Arena *arena, const Team *team, RunReport *out)
{
    const Program *program = team->program;
    bool flows = team->plan->routed != NULL;
    for (int i = 0; i < program->n_instrs && !flows; i++)
        flows = program->instrs[i].kind == INSTR_BRANCH || program->instrs[i].kind == INSTR_LOOP;
    ProgramPeak peak = program_peak(team->plan, program);
    out->predicted_peak_at_least = peak.at_least;
    out->predicted_peak_bytes = flows || peak.at_least || program->n_views > 1
                                    ? peak.bytes
                                    : memory_use_in_run(arena, team->plan).peak_bytes;
}

static void add_times(Arena *arena, const Team *team, RunReport *out)
{
    const Plan *plan = team->plan;
    int n_passes = out->n_passes;
    out->op_us = median_times(arena, team, n_passes, times_of_ops, plan->inferred->graph->n_ops);
    out->reshard_us =
        median_times(arena, team, n_passes, times_of_reshards, plan->moved->n_reshards);
    out->reshard_move_us =
        median_times(arena, team, n_passes, times_of_moves, plan->moved->n_reshards);
    add_blocks(arena, team, n_passes, out);
    count_times(arena, team, out);
    out->predicted_us = plan_step_us(plan);
    add_predicted_peak(arena, team, out);

    out->median_us = median_of_slowest(team, n_passes, times_of_passes);
    out->begin_us = median_of_slowest(team, n_passes, times_of_beginning);
    out->rank_peak_bytes = arena_array(arena, int64_t, team->n_ranks);
    for (int r = 0; r < team->n_ranks; r++) {
        out->rank_peak_bytes[r] = result_at(team, r)->head->peak_bytes;
        if (out->rank_peak_bytes[r] > out->peak_bytes)
            out->peak_bytes = out->rank_peak_bytes[r];
    }
}

/* A dynamic loss scale is halved by gradients that are not finite, and by nothing else. */
static void mark_skipped(const Team *team, RunReport *out)
{
    const Graph *graph = team->plan->inferred->graph;
    int at = team->program->scale;
    float before = 0;
    if (at < 0)
        return;
    const GraphTensor *scale = &graph->tensors[graph->next_of[graph->outputs[at]]];
    if (!data_read(&graph->data[scale->data], DT_F32, 1, &before, NULL))
        return;
    for (int i = 0; i < out->n_steps; i++) {
        double last = i > 0 ? out->steps[i - 1].scale : before;
        out->steps[i].skipped = out->steps[i].scale < last;
    }
}

static void add_steps(Arena *arena, const Team *team, RunReport *out)
{
    if (team->program->n_carried == 0)
        return;
    out->n_steps = out->n_passes;
    out->steps = arena_array(arena, RunStep, out->n_steps);
    for (int i = 0; i < out->n_steps; i++) {
        RunStep *step = &out->steps[i];
        step->drifts = -1;
        for (int r = 0; r < team->n_ranks; r++) {
            const RankResult *result = result_at(team, r);
            const RunStep *of = &result->step[i];
            if (of->has_loss && !step->has_loss) {
                step->has_loss = true;
                step->loss = of->loss;
                step->one_device = of->one_device;
            }
            step->scale = fmax(step->scale, of->scale);
            if (of->drift > step->drift) {
                step->drift = of->drift;
                step->drifts = of->drifts;
            }
            if (result->pass_us[i] > step->us)
                step->us = result->pass_us[i];
        }
    }
    mark_skipped(team, out);
}

static void add_outputs(Arena *arena, const Team *team, RunReport *out)
{
    const Graph *graph = team->plan->inferred->graph;
    out->outputs = arena_array(arena, RunOutput, graph->n_outputs);
    out->n_outputs = graph->n_outputs;
    for (int i = 0; i < graph->n_outputs; i++) {
        Difference all = {.ok = true};
        for (int r = 0; r < team->n_ranks; r++)
            difference_join(&all, &result_at(team, r)->output[i]);
        out->outputs[i] =
            (RunOutput){graph->outputs[i], all.max_abs, all.max_rel, all.max_ulp, all.bits, all.ok};
        out->outputs[i].ok = all.ok && out->first_bad < 0;
    }
}

/* An output that has elements, none of which is finite; -1 if there is none. */
static int32_t find_unproven(const Team *team)
{
    const Graph *graph = team->plan->inferred->graph;
    for (int i = 0; i < graph->n_outputs; i++) {
        int64_t n = 0, n_finite = 0;
        for (int r = 0; r < team->n_ranks; r++) {
            n += result_at(team, r)->n_elements[i];
            n_finite += result_at(team, r)->n_finite[i];
        }
        if (n > 0 && n_finite == 0)
            return graph->outputs[i];
    }
    return -1;
}

static void add_heads(const Team *team, RunReport *out)
{
    int first_bad = INT_MAX, first_overflow = INT_MAX;
    out->first_bad = out->overflowed = out->strange = -1;
    for (int r = 0; r < team->n_ranks; r++) {
        const RankHead *head = result_at(team, r)->head;
        out->n_values_checked += head->n_checked;
        out->n_values_unchecked += head->n_unchecked;
        if (out->strange < 0 && head->strange >= 0) {
            out->strange = head->strange;
            out->n_strange = head->n_strange;
        }
        if (head->closest > out->closest) {
            out->closest = head->closest;
            out->close = head->close;
        }
        if (head->first_overflow >= 0 && head->first_overflow < first_overflow) {
            first_overflow = head->first_overflow;
            out->overflowed = head->overflow.tensor;
            out->overflow = head->overflow;
        }
        if (head->first_bad < 0 || head->first_bad >= first_bad)
            continue;
        first_bad = head->first_bad;
        out->first_bad = head->wrong.tensor;
        out->wrong = head->wrong;
    }
}

static RunVerdict verdict_of(const Team *team, const RunReport *report)
{
    bool differs = report->first_bad >= 0;
    for (int i = 0; i < report->n_outputs; i++)
        differs = differs || !report->outputs[i].ok;
    if (!team->options->verify && !team->expected)
        return RUN_NOT_CHECKED;
    if (differs)
        return RUN_FAIL;
    bool proven =
        report->n_values_unchecked == 0 && report->unproven < 0 && report->n_values_checked > 0;
    return team->expected || proven ? RUN_PASS : RUN_NOT_PROVEN;
}

static void add_checks(Arena *arena, const Team *team, RunReport *out)
{
    add_heads(team, out);
    add_steps(arena, team, out);
    if (team->options->verify || team->expected)
        add_outputs(arena, team, out);
    out->unproven = team->options->verify ? find_unproven(team) : -1;
    out->verdict = verdict_of(team, out);
    out->ok = out->verdict == RUN_PASS || out->verdict == RUN_NOT_CHECKED;
}

static bool is_copied(const Team *team, int32_t op)
{
    for (int r = 0; r < team->n_ranks; r++)
        if (result_at(team, r)->copied[op])
            return true;
    return false;
}

static bool is_listed(const RunReport *report, const char *op_type)
{
    for (int i = 0; i < report->n_copied_operators; i++)
        if (strcmp(report->copied_operator[i], op_type) == 0)
            return true;
    return false;
}

static void add_copied(Arena *arena, const Team *team, RunReport *out)
{
    const Graph *graph = team->plan->inferred->graph;
    out->copied_operator = arena_array(arena, const char *, graph->n_ops);
    for (int32_t op = 0; op < graph->n_ops; op++) {
        if (!is_copied(team, op))
            continue;
        out->n_copied_ops++;
        if (!is_listed(out, op_operator(graph, op)))
            out->copied_operator[out->n_copied_operators++] = op_operator(graph, op);
    }
}

static void add_trace(Arena *arena, const Team *team, RunReport *out)
{
    Arena *scratch = arena_new();
    TraceSpan **spans = arena_array(scratch, TraceSpan *, team->n_ranks);
    bool alike = true; /* else it was stopped between passes, and ranks kept different ones */
    for (int r = 0; r < team->n_ranks; r++) {
        spans[r] = result_at(team, r)->last_span;
        alike = alike && result_at(team, r)->head->n_done == out->n_passes;
    }
    if (alike)
        out->trace = trace_make(arena, team->program, spans, team->n_ranks);
    arena_free(scratch);
}

bool report_make(Arena *arena, const Team *team, RunReport *out)
{
    *out = (RunReport){
        .n_ranks = team->n_ranks, .backend = team->runner->name, .instead = team->instead};
    out->n_passes = team->n_passes;
    for (int r = 0; r < team->n_ranks; r++)
        if (result_at(team, r)->head->n_done < out->n_passes)
            out->n_passes = result_at(team, r)->head->n_done;
    if (out->n_passes == 0)
        return false;
    out->n_timed = out->n_passes - first_timed(team, out->n_passes);
    out->n_drawn = team->results->outcome->n_drawn;
    add_times(arena, team, out);
    if (team->options->trace)
        add_trace(arena, team, out);
    add_checks(arena, team, out);
    add_copied(arena, team, out);
    return true;
}
