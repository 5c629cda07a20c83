#include "tui/views/run_state.h"

#include "core/base/file.h"
#include "core/run/estimate.h"
#include "core/summary/label.h"
#include "tui/state/menu.h"
#include "core/run/rounding.h"
#include "core/run/trace/trace_json.h"

#include <inttypes.h>
#include <math.h>

enum { REPEAT_DEFAULT = 3, REPEAT_MAX = 10000 };

void run_state_forget(RunState *run)
{
    timeline_free(run->timeline);
    run->timeline = NULL;
    run->dropped |= run->arena != NULL;
    arena_free(run->arena);
    run->arena = NULL;
}

RunState *run_state(Ui *ui)
{
    RunState *run = ui->own[SHOW_RUN];

    if (run->timeline)
        return run;
    run->timeline = timeline_new(ui->session);
    run->failed = (Error){0};
    run->span = ui->at.op >= 0 ? timeline_of_op(run->timeline, ui->at.op) : 0;
    run->len_us = 0;
    return run;
}

/* ---- a run as a job ---- */

typedef struct {
    Arena *arena; /* of the report; it lives there */
    const Plan *plan;
    RunOptions options;
    RunReport report;
    Progress *progress;
} RunJob;

static bool report_progress(void *context, int done, int total)
{
    RunJob *job = context;

    atomic_store(&job->progress->total, total);
    atomic_store(&job->progress->done, done);
    return !atomic_load(&job->progress->stop);
}

static bool work(void *context, Progress *progress, Error *err)
{
    RunJob *job = context;

    job->progress = progress;
    job->options.progress = report_progress;
    job->options.context = job;
    progress_stage(progress, "running", 0);
    return run_plan(job->arena, job->plan, &job->options, &job->report, err);
}

static void done(Ui *ui, void *context, bool ok, const Error *err)
{
    RunJob *job = context;
    RunState *run = run_state(ui);

    run->failed = ok ? (Error){0} : *err;
    run->dropped = false;
    if (!ok) {
        arena_free(job->arena);
        ui_error(ui, err);
        return;
    }
    arena_free(run->arena);
    run->arena = job->arena;
    run->actual = NULL;
    run->report = job->report;
    run->verified = job->options.verify;
    run->seed = job->options.seed;
    run->repeat = job->options.repeat;
    timeline_measure(run->timeline, &run->report);
    run->span = run->timeline->n_rows > 0 ? run->timeline->row[0].first : 0;
    int n_asked = run_passes(&job->options);
    if (run->report.n_passes < n_asked)
        ui_say(ui, "stopped: the %d of %d passes that finished count", run->report.n_passes,
               n_asked);
}

static bool read_number(Str *rest, const char *name, int64_t most, int64_t *out, Error *err)
{
    Str word = str_take(rest, ' ');

    if (str_to_int(word, out) && *out >= 0 && *out <= most)
        return true;
    return error_set(err, "%s needs a number: :run %s 3", name, name);
}

/* One process runs it: ranks of MPI begin under mpirun. */
static const char *backend_named(Str word)
{
    static const char *const names[] = {"host", "cuda", "auto"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_eq(word, str_from(names[i])))
            return names[i];
    return NULL;
}

static bool read_options(Str args, RunOptions *out, Error *err)
{
    int64_t repeat = REPEAT_DEFAULT, seed = 0, steps = 0;

    *out = (RunOptions){.verify = true, .trace = true, .isolated = true};
    while (args.n > 0) {
        Str word = str_take(&args, ' ');
        if (str_eq(word, STR("verify")) || str_eq(word, STR("fast")))
            out->verify = str_eq(word, STR("verify"));
        else if (str_eq(word, STR("repeat"))) {
            if (!read_number(&args, "repeat", REPEAT_MAX, &repeat, err))
                return false;
        } else if (str_eq(word, STR("steps"))) {
            if (!read_number(&args, "steps", REPEAT_MAX, &steps, err))
                return false;
        } else if (str_eq(word, STR("seed"))) {
            if (!read_number(&args, "seed", INT64_MAX, &seed, err))
                return false;
        } else if (backend_named(word)) {
            out->backend = backend_named(word);
        } else if (word.n > 0) {
            error_set(err, ":run has no option '%.*s'", STR_ARG(word));
            error_hint(err, ":run [verify|fast] [host|cuda|auto] [repeat N] [seed N] [steps N]");
            return false;
        }
    }
    out->repeat = (int)repeat;
    out->steps = (int)steps;
    out->warmup = 1; /* the pass that checks is not timed */
    out->seed = (uint64_t)seed;
    return true;
}

static void start(Ui *ui, const RunOptions *options)
{
    ui_show(ui, SHOW_RUN);
    Arena *arena = arena_new();
    RunJob *job = arena_make(arena, RunJob);
    *job = (RunJob){.arena = arena, .plan = ui_plan(ui), .options = *options};
    JobWork all = {.title = "run", .work = work, .done = done, .context = job};
    if (!job_start(ui, &all))
        arena_free(arena);
}

/* ---- a run that takes long ---- */

enum { LONG_RUN, LONG_SMALLER, LONG_SAMPLE };

/* Opens the model again with smaller free dims, as a job. */
typedef struct {
    Arena *arena;
    const Session *old;
    DimBindings dims;
    Session *next;
} Rebinding;

static bool rebind_work(void *context, Progress *progress, Error *err)
{
    Rebinding *rebinding = context;

    rebinding->next = session_reopen(rebinding->old, &rebinding->dims, progress, err);
    return rebinding->next != NULL;
}

static void rebind_done(Ui *ui, void *context, bool ok, const Error *err)
{
    Rebinding *rebinding = context;

    if (ok)
        ui->asked.session = rebinding->next;
    else
        ui_error(ui, err);
    arena_free(rebinding->arena);
}

static void rebind(Ui *ui, const char *dims)
{
    Arena *arena = arena_new();
    Rebinding *rebinding = arena_make(arena, Rebinding);
    Source source = {.text = str_from(arena_str(arena, str_from(dims)))};

    *rebinding = (Rebinding){.arena = arena, .old = ui->session};
    JobWork all = {.title = "model",
                   .work = rebind_work,
                   .done = rebind_done,
                   .context = rebinding,
                   .changes_plan = true};
    if (!dims_parse(arena, &source, &rebinding->dims, NULL) || !job_start(ui, &all))
        arena_free(arena);
}

static void long_chosen(Ui *ui, int value)
{
    const RunState *run = run_state(ui);

    if (value == LONG_RUN)
        start(ui, &run->asked);
    else if (value == LONG_SMALLER)
        rebind(ui, run->smaller);
    else
        ui_say(ui, "dimscope samples/models/tiny-gpt.onnx -m dp=2,tp=2 -p megatron, then :run");
}

/* Returns whether it takes so long that the user is asked first. */
static bool ask_long(Ui *ui, const RunOptions *options)
{
    RunEstimate estimate, smaller;
    RunState *run = run_state(ui);
    Buf text = buf_new(ui->frame);

    if (options->backend && strcmp(options->backend, "host") != 0)
        return false;
    run_estimate(ui_plan(ui), options, &estimate);
    if (estimate.us < RUN_LONG_US || !run_estimate_fits(ui->session, &estimate, NULL))
        return false; /* the run refuses what does not fit */
    run->asked = *options;
    run_estimate_put(&estimate, &text);
    menu_open(ui, arena_printf(ui->frame, "the run takes %s", text.s), long_chosen);
    menu_add(ui, 'r', STR("run it; C-c stops it"), LONG_RUN);
    const char *dims = run_estimate_smaller(ui->arena, ui->session, &estimate, &smaller);
    if (dims) {
        run->smaller = dims;
        text = buf_new(ui->frame);
        run_estimate_put(&smaller, &text);
        menu_add(ui, 's',
                 str_from(arena_printf(ui->frame, "open it with --dim %s: %s", dims, text.s)),
                 LONG_SMALLER);
    }
    const char *model = ui->session->options.model;
    if (!model || !str_ends(str_from(model), STR("tiny-gpt.onnx")))
        menu_add(ui, 't', STR("a small sample: tiny-gpt"), LONG_SAMPLE);
    return true;
}

bool run_begin(Ui *ui, Str args, Error *err)
{
    RunOptions options;

    if (!read_options(args, &options, err))
        return false;
    if (file_map_is_stale(&ui->session->model_map)) {
        error_set(err, "%s was overwritten after it was read", ui->session->options.model);
        error_hint(err, "R reads it again");
        return false;
    }
    if (!ask_long(ui, &options))
        start(ui, &options);
    return true;
}

/* ---- in words, and as a trace ---- */

/* "MatMul h.0.attn" or "what reshards or loads x". */
static void put_maker(const Session *session, const RunElement *element, Buf *out)
{
    int32_t maker = session->graph->tensors[element->tensor].maker;
    if (element->moved || maker < 0) {
        buf_puts(out, "the load or reshard of ");
        buf_add(out, label_tensor(session, out->arena, element->tensor));
        return;
    }
    buf_printf(out, "%s %s", op_operator(session->graph, maker), op_name(session->graph, maker));
}

void run_put_place(const RunElement *element, Buf *out)
{
    buf_puts(out, "element [");
    for (int d = 0; d < element->at.n_dims; d++)
        buf_printf(out, "%s%" PRId64, d ? "," : "", element->at.dim[d]);
    buf_putc(out, ']');
}

const RunElement *run_wrong(const Ui *ui)
{
    const RunState *run = ui->own[SHOW_RUN];

    return run->arena && run->verified && run->report.first_bad >= 0 ? &run->report.wrong : NULL;
}

void run_put_element(const Session *session, const RunElement *wrong, Buf *out)
{
    if (wrong->at.n_dims < 0) {
        buf_printf(out, "its type or shape on d%" PRId64 " differs from that on one device",
                   mesh_device(session->mesh, wrong->rank));
        return;
    }
    run_put_place(wrong, out);
    buf_printf(out, " is %.9g on d%" PRId64 " and %.9g on one device, from the same inputs; ",
               wrong->got, mesh_device(session->mesh, wrong->rank), wrong->want);
    if (!isfinite(wrong->got) && isfinite(wrong->want) && wrong->rounding == ROUNDING_SUM)
        buf_puts(out, "a partial sum overflows its element type");
    else
        buf_printf(out, "rounding explains %.3g (%s)", wrong->bound,
                   rounding_name((Rounding)wrong->rounding));
}

static void put_wrong(const Session *session, const RunElement *wrong, Buf *out)
{
    buf_puts(out, "the first wrong value is ");
    buf_add(out, label_tensor(session, out->arena, wrong->tensor));
    buf_puts(out, ", from ");
    put_maker(session, wrong, out);
    buf_puts(out, "\n");
    run_put_element(session, wrong, out);
}

static void put_unproven(const Session *session, const RunReport *report, Buf *out)
{
    if (report->unproven >= 0) {
        buf_puts(out, "no element of output ");
        buf_add(out, label_tensor(session, out->arena, report->unproven));
        buf_puts(out, " is finite");
    } else if (report->n_values_unchecked > 0) {
        buf_printf(out,
                   "%d values could not be compared: they are partial by several reductions, or "
                   "addends that a loop collects",
                   report->n_values_unchecked);
    } else {
        buf_puts(out, "no op or reshard ran, so nothing could be compared");
    }
}

static void put_right(const Session *session, const RunReport *report, Buf *out)
{
    buf_printf(out, "%d values, each compared on every rank with one device on the same inputs",
               report->n_values_checked);
    if (report->closest <= 0) {
        buf_puts(out, "; all are bitwise equal");
        return;
    }
    buf_printf(out, "\nlargest difference: %.2g of what rounding explains (%.3g of %.3g, %s) at ",
               report->closest, fabs(report->close.got - report->close.want), report->close.bound,
               rounding_name((Rounding)report->close.rounding));
    put_maker(session, &report->close, out);
}

/* With given outputs, whose verdict is each output's own. */
static void put_outputs(const Session *session, const RunReport *report, Buf *out)
{
    double largest = 0;
    for (int i = 0; i < report->n_outputs; i++)
        largest = fmax(largest, report->outputs[i].max_abs);
    buf_printf(out, "the largest difference of an output is %.3g", largest);
    for (int i = 0; i < report->n_outputs; i++)
        if (!report->outputs[i].ok) {
            buf_puts(out, "; output ");
            buf_add(out, label_tensor(session, out->arena, report->outputs[i].tensor));
            buf_puts(out, " differs");
        }
}

/* ORDER RUN_VERDICT */
static const char *const verdicts[][2] = {{"NOT CHECKED", "not checked"},
                                          {"PASS", "pass"},
                                          {"FAIL", "fail"},
                                          {"NOT PROVEN", "not proven"}};

const char *run_verdict_name(RunVerdict verdict)
{
    return verdicts[verdict][1];
}

void run_put_verdict(const Session *session, const RunReport *report, Buf *out)
{
    buf_printf(out, "%s: ", verdicts[report->verdict][0]);
    if (report->first_bad >= 0)
        put_wrong(session, &report->wrong, out);
    else if (report->verdict == RUN_NOT_PROVEN)
        put_unproven(session, report, out);
    else if (report->n_values_checked > 0)
        put_right(session, report, out);
    else
        put_outputs(session, report, out);
}

void run_put_copied(const RunReport *report, Buf *out)
{
    buf_printf(out, "%d op%s run by the host's kernels, on copies:", report->n_copied_ops,
               report->n_copied_ops == 1 ? " was" : "s were");
    for (int i = 0; i < report->n_copied_operators; i++)
        buf_printf(out, "%s %s", i ? "," : "", report->copied_operator[i]);
}

/* ---- what a job ran ---- */

/* A report of the collectives: ops have no times. */
static void report_actual(RunState *run, const Session *session, const Actual *actual)
{
    int n = session->plan->moved->n_reshards;
    run->report = (RunReport){.n_ranks = 1,
                              .n_passes = 1,
                              .n_timed = 1,
                              .backend = "job",
                              .first_bad = -1,
                              .overflowed = -1,
                              .strange = -1,
                              .unproven = -1,
                              .ok = true};
    run->report.op_us = arena_array(run->arena, double, session->graph->n_ops + 1);
    run->report.reshard_us = actual_reshard_us(run->arena, actual);
    for (int i = 0; i < n; i++) {
        double us = run->report.reshard_us[i];
        run->report.reshard_us[i] = us < 0 ? 0 : us;
        run->report.median_us += run->report.reshard_us[i];
    }
    run->report.reshard_move_us = run->report.reshard_us;
    run->actual = actual;
}

bool run_read_actual(Ui *ui, Str args, Error *err)
{
    RunState *run = run_state(ui);
    Arena *arena = arena_new();
    int64_t steps = 1;
    Str path = str_take(&args, ' ');

    if (path.n == 0 ||
        (args.n > 0 && (!str_to_int(args, &steps) || steps < 1 || steps > 1 << 20))) {
        arena_free(arena);
        return error_set(
            err, "which trace? :actual FILE STEPS, where STEPS is how many steps the job ran");
    }
    const ActualTrace *trace = actual_read(arena, arena_str(arena, path), err);
    if (!trace) {
        arena_free(arena);
        return false;
    }
    const Actual *actual = actual_compare(arena, ui->session, trace, 2, (int)steps);
    arena_free(run->arena);
    run->arena = arena;
    run->dropped = run->verified = false;
    report_actual(run, ui->session, actual);
    timeline_measure(run->timeline, &run->report);
    run->span = run->timeline->n_rows > 0 ? run->timeline->row[0].first : 0;
    ui_say(ui, "%d collectives ran as planned, %d missing, %d unplanned, %d slow",
           actual->rows.n - actual->n_missing - actual->n_unplanned, actual->n_missing,
           actual->n_unplanned, actual->n_slow);
    ui_show(ui, SHOW_RUN);
    return true;
}

void run_put_trace(Ui *ui, Buf *out)
{
    const RunState *run = run_state(ui);

    trace_json_put(ui->session, run->timeline, run->arena ? run->report.trace : NULL, out);
}

bool run_write_trace(Ui *ui, Str path, Error *err)
{
    Buf text = buf_new(ui->frame);
    const char *file = arena_str(ui->frame, path);

    if (path.n == 0)
        return error_set(err, "write the trace to which file? :trace FILE.json");
    run_put_trace(ui, &text);
    if (!file_write(file, buf_str(&text), err))
        return false;
    ui_say(ui, "wrote %s: open it in ui.perfetto.dev", file);
    return true;
}

Str run_ratio_text(const Ui *ui, double predicted, double measured)
{
    if (predicted <= 0 || measured <= 0)
        return STR("-");
    if (measured > 2 * predicted)
        return str_from(arena_printf(ui->frame, measured < 1000 * predicted ? "%s%.3g" : "%s%.0f",
                                     ui->look.ascii ? "x" : "×", measured / predicted));
    return str_from(arena_printf(ui->frame, "%+.0f%%", 100 * (measured / predicted - 1)));
}
