#include "tui/state/jobs/job.h"

#include "tui/state/ui.h"
#include "tui/state/jobs/setting_change.h"
#include "tui/state/jobs/worker.h"

#include <stdlib.h>
#include <string.h>

struct Job {
    JobWork work;
    Worker *worker;
    bool asked; /* to stop */
};

/* done() may start the next job. */
static void finish(Ui *ui)
{
    Job *job = ui->jobs.running;
    Error err;
    bool ok = worker_end(job->worker, &err);

    ui->jobs.running = NULL;
    ui->jobs.n_done++;
    job->work.done(ui, job->work.context, ok, &err);
    free(job);
}

/* Work on a large plan takes longer than that: the next frame does not wait for it. */
static int quiet_ms(const Ui *ui, const JobWork *work)
{
    if (work->yields && ui->jobs.quiet_ms > 0)
        return 0;
    return ui->jobs.quiet_ms > JOB_LARGE_QUIET_MS && !job_at_once(ui) ? JOB_LARGE_QUIET_MS
                                                                      : ui->jobs.quiet_ms;
}

bool job_start(Ui *ui, const JobWork *work)
{
    if (ui->jobs.running && ui->jobs.running->work.yields)
        job_end(ui);
    if (ui->jobs.running) {
        ui_fail(ui, "wait for the %s, or stop it with C-c", ui->jobs.running->work.title);
        return false;
    }
    Job *job = calloc(1, sizeof *job);
    if (job) {
        job->work = *work;
        job->worker = worker_start(work->work, work->context);
    }
    if (!job || !job->worker) {
        free(job);
        ui_fail(ui, "not enough memory or threads to start the %s", work->title);
        return false;
    }
    ui->jobs.running = job;
    if (worker_wait(job->worker, quiet_ms(ui, work)))
        finish(ui);
    return true;
}

void job_follow(Ui *ui, const char *title, bool (*work)(void *, Progress *, Error *),
                void (*done)(Ui *, void *, bool, const Error *), void *context, Arena *arena)
{
    if (!job_start(ui, &(JobWork){title, work, done, context, .yields = true}))
        arena_free(arena);
}

bool job_poll(Ui *ui)
{
    if (!ui->jobs.running || !worker_wait(ui->jobs.running->worker, 0))
        return false;
    finish(ui);
    return true;
}

void job_stop(Ui *ui)
{
    if (!ui->jobs.running)
        return;
    ui->jobs.running->asked = true;
    progress_stop(worker_progress(ui->jobs.running->worker));
}

void job_end(Ui *ui)
{
    while (ui->jobs.running) {
        job_stop(ui);
        finish(ui);
    }
}

bool job_at_once(const Ui *ui)
{
    return ui->jobs.quiet_ms != 0 && ui->session->inferred->n_program <= JOB_AT_ONCE_OPS;
}

bool job_runs(const Ui *ui)
{
    return ui->jobs.running != NULL;
}

bool job_in_foreground(const Ui *ui)
{
    return ui->jobs.running && !ui->jobs.running->work.yields;
}

bool job_changes_plan(const Ui *ui)
{
    return ui->jobs.running && ui->jobs.running->work.changes_plan;
}

const char job_waiting[] = "planning: shown when the plan is ready\n";

bool job_may_change(Ui *ui)
{
    if (job_in_foreground(ui)) {
        ui_fail(ui, "wait for the %s, or stop it with C-c", ui->jobs.running->work.title);
        return false;
    }
    job_end(ui);
    return true;
}

void job_format(const Ui *ui, Buf *out)
{
    const Job *job = ui->jobs.running;

    if (!job)
        return;
    buf_printf(out, "%s: ", job->work.title);
    worker_format(job->worker, "beginning", out);
    buf_puts(out, job->asked ? ", stopping" : ", C-c stops");
}

/* ---- changes of the plan ---- */

typedef struct {
    Arena *arena; /* it lives there */
    Session *session, *next;
    bool reopened; /* `next` is of the model opened again */
    Change change;
    Totals before;
    void (*said)(Ui *ui, const Totals *before, const char *what);
    const char *what;
} ChangeJob;

/* A change of the model opens it again, and the explorer goes on with that session. */
static bool change_work(void *context, Progress *progress, Error *err)
{
    ChangeJob *job = context;

    job->change.progress = progress;
    if (!session_reopens(job->session, &job->change, &job->reopened, err))
        return false;
    job->next = job->reopened ? session_reopen_changed(job->session, &job->change, err)
                              : session_prepare(job->session, &job->change, err);
    return job->next != NULL;
}

/* What the status line says of files that were read again. */
static void note_reload(Ui *ui, ChangeKind kind, bool ok, const Error *err)
{
    bool stopped = !ok && err->kind == ERROR_CANCELLED;

    if (kind == CHANGE_POLICY)
        ui->changes.n_policy_runs++;
    if ((kind == CHANGE_POLICY && !stopped) ||
        ((kind == CHANGE_MESH || kind == CHANGE_SETTING) && ok))
        ui->changes.policy_failed = *err;
    if (kind == CHANGE_MACHINE && !stopped) {
        ui->changes.reload_failed = ok ? NULL : "machine";
        ui->changes.reload_line = err->line;
    }
}

static void change_done(Ui *ui, void *context, bool ok, const Error *err)
{
    ChangeJob *job = context;

    note_reload(ui, job->change.kind, ok, err);
    if (job->change.kind == CHANGE_SETTING)
        setting_change_note(ui, ok ? job->next : NULL, str_from(job->change.text));
    if (ok && job->reopened) {
        ui->asked.session = job->next;
    } else if (ok) {
        ui_change_to(ui, job->next);
        if (job->said)
            job->said(ui, &job->before, job->what);
    } else if (err->kind == ERROR_CANCELLED) {
        ui_say(ui, "stopped: the plan is unchanged");
    } else {
        ui_error(ui, err);
    }
    arena_free(job->arena);
}

void job_change(Ui *ui, const Change *change,
                void (*said)(Ui *ui, const Totals *before, const char *what), const char *what)
{
    Arena *arena = arena_new();
    ChangeJob *job = arena_make(arena, ChangeJob);

    *job = (ChangeJob){.arena = arena,
                       .session = ui->session,
                       .change = *change,
                       .before = ui_plan(ui)->priced->totals,
                       .said = said};
    if (change->decisions) {
        Decision *copy = arena_array(arena, Decision, change->n);
        memcpy(copy, change->decisions, sizeof *copy * (size_t)change->n);
        Intern *cuts = intern_new(arena);
        for (int i = 0; i < change->n; i++)
            copy[i].cut = copy[i].cut ? cut_keep(cuts, copy[i].cut) : NULL;
        job->change.decisions = copy;
    }
    if (change->text)
        job->change.text = arena_str(arena, str_from(change->text));
    job->what = what ? arena_str(arena, str_from(what)) : NULL;
    if (!job_start(ui, &(JobWork){.title = "plan",
                                  .work = change_work,
                                  .done = change_done,
                                  .context = job,
                                  .changes_plan = true}))
        arena_free(arena);
}
