#include "tui/views/run_state.h"

#include "core/base/file.h"
#include "tui/views/label.h"
#include "core/run/trace/trace_json.h"

#include <inttypes.h>

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

static bool told(void *context, int done, int total)
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
    job->options.progress = told;
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
    run->report = job->report;
    run->verified = job->options.verify;
    run->seed = job->options.seed;
    run->repeat = job->options.repeat;
    timeline_measure(run->timeline, &run->report);
    run->span = run->timeline->n_rows > 0 ? run->timeline->row[0].first : 0;
    int n_asked = run_passes(&job->options);
    if (run->report.n_passes < n_asked)
        ui_say(ui, "stopped: %d of %d passes were finished and count", run->report.n_passes,
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
    int64_t repeat = REPEAT_DEFAULT, seed = 0;

    *out = (RunOptions){.verify = true, .trace = true, .isolated = true};
    while (args.n > 0) {
        Str word = str_take(&args, ' ');
        if (str_eq(word, STR("verify")) || str_eq(word, STR("fast")))
            out->verify = str_eq(word, STR("verify"));
        else if (str_eq(word, STR("repeat"))) {
            if (!read_number(&args, "repeat", REPEAT_MAX, &repeat, err))
                return false;
        } else if (str_eq(word, STR("seed"))) {
            if (!read_number(&args, "seed", INT64_MAX, &seed, err))
                return false;
        } else if (backend_named(word)) {
            out->backend = backend_named(word);
        } else if (word.n > 0) {
            error_set(err, ":run does not know '%.*s'", STR_ARG(word));
            error_hint(err, ":run [verify|fast] [host|cuda|auto] [repeat N] [seed N]");
            return false;
        }
    }
    out->repeat = (int)repeat;
    out->warmup = 1; /* the pass that checks is not timed */
    out->seed = (uint64_t)seed;
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
    ui_show(ui, SHOW_RUN);
    Arena *arena = arena_new();
    RunJob *job = arena_make(arena, RunJob);
    *job = (RunJob){.arena = arena, .plan = ui_plan(ui), .options = options};
    JobWork all = {.title = "run", .work = work, .done = done, .context = job};
    if (!job_start(ui, &all))
        arena_free(arena);
    return true;
}

/* ---- in words, and as a trace ---- */

void run_put_wrong(const Session *session, const RunReport *report, Buf *out)
{
    const RunWrong *wrong = &report->wrong;
    int32_t maker = session->graph->tensors[report->first_bad].maker;

    buf_add(out, label_tensor(session, out->arena, report->first_bad));
    if (maker >= 0)
        buf_printf(out, ", made by %s %s", op_operator(session->graph, maker),
                   op_name(session->graph, maker));
    buf_puts(out, "\nelement [");
    for (int d = 0; d < wrong->at.n_dims; d++)
        buf_printf(out, "%s%" PRId64, d ? "," : "", wrong->at.dim[d]);
    buf_printf(out, "] is %.6g on d%" PRId64 " and %.6g on one device; the largest is %.6g",
               wrong->got, mesh_device(session->mesh, wrong->rank), wrong->want, wrong->range);
}

void run_put_copied(const RunReport *report, Buf *out)
{
    buf_printf(out, "%d op%s done by the host's kernels, on copies:", report->n_copied_ops,
               report->n_copied_ops == 1 ? " was" : "s were");
    for (int i = 0; i < report->n_copied_operators; i++)
        buf_printf(out, "%s %s", i ? "," : "", report->copied_operator[i]);
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
