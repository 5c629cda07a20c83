#include "tui/app/job.h"

#include "tui/app/ui.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct Job {
    JobWork work;
    Progress progress;
    Error err;
    bool ok;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t over;
    bool is_over; /* under the lock */
    struct timespec began;
};

static void *run(void *argument)
{
    Job *job = argument;
    bool ok = job->work.work(job->work.context, &job->progress, &job->err);

    pthread_mutex_lock(&job->lock);
    job->ok = ok;
    job->is_over = true;
    pthread_cond_signal(&job->over);
    pthread_mutex_unlock(&job->lock);
    return NULL;
}

/* Waits at most that long, for ever where ms is below 0; whether the job is over. */
static bool wait_for(Job *job, int ms)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (ms % 1000) * 1000000L;
    until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&job->lock);
    int failed = 0;
    while (!job->is_over && failed == 0)
        failed = ms < 0 ? pthread_cond_wait(&job->over, &job->lock)
                        : pthread_cond_timedwait(&job->over, &job->lock, &until);
    bool over = job->is_over;
    pthread_mutex_unlock(&job->lock);
    return over;
}

/* done() may start the next job. */
static void finish(Ui *ui)
{
    Job *job = ui->job;

    ui->job = NULL;
    pthread_join(job->thread, NULL);
    job->work.done(ui, job->work.context, job->ok, &job->err);
    pthread_mutex_destroy(&job->lock);
    pthread_cond_destroy(&job->over);
    free(job);
}

bool job_start(Ui *ui, const JobWork *work)
{
    if (ui->job && ui->job->work.yields)
        job_end(ui);
    if (ui->job) {
        ui_fail(ui, "wait for the %s, or stop it with C-c", ui->job->work.title);
        return false;
    }
    Job *job = calloc(1, sizeof *job);
    if (!job) {
        ui_fail(ui, "no memory to begin the %s", work->title);
        return false;
    }
    job->work = *work;
    pthread_mutex_init(&job->lock, NULL);
    pthread_cond_init(&job->over, NULL);
    clock_gettime(CLOCK_MONOTONIC, &job->began);
    if (pthread_create(&job->thread, NULL, run, job) != 0) {
        ui_fail(ui, "no thread to begin the %s on", work->title);
        pthread_mutex_destroy(&job->lock);
        pthread_cond_destroy(&job->over);
        free(job);
        return false;
    }
    ui->job = job;
    int quiet_ms = work->yields ? 0 : JOB_QUIET_MS;
    if (wait_for(job, ui->waits_for_jobs ? -1 : quiet_ms))
        finish(ui);
    return true;
}

bool job_poll(Ui *ui)
{
    if (!ui->job || !wait_for(ui->job, 0))
        return false;
    finish(ui);
    return true;
}

void job_stop(Ui *ui)
{
    if (ui->job)
        progress_stop(&ui->job->progress);
}

void job_end(Ui *ui)
{
    while (ui->job) {
        job_stop(ui);
        wait_for(ui->job, -1);
        finish(ui);
    }
}

bool job_runs(const Ui *ui)
{
    return ui->job != NULL;
}

bool job_is_told(const Ui *ui)
{
    return ui->job && !ui->job->work.yields;
}

bool job_changes_plan(const Ui *ui)
{
    return ui->job && ui->job->work.changes_plan;
}

static double seconds_since(const struct timespec *then)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - then->tv_sec) + (double)(now.tv_nsec - then->tv_nsec) / 1e9;
}

void job_format(const Ui *ui, Buf *out)
{
    const Job *job = ui->job;

    if (!job)
        return;
    const char *stage = atomic_load(&job->progress.stage);
    double share = progress_share(&job->progress), took = seconds_since(&job->began);
    buf_puts(out, stage ? stage : job->work.title);
    if (share >= 0)
        buf_printf(out, " %.0f%%", 100 * share);
    if (share > 0) {
        int left = (int)(took / share - took + 0.5);
        buf_printf(out, ", %d:%02d left", left / 60, left % 60);
    }
    buf_puts(out, ", C-c stops");
}

/* ---- changes of the plan ---- */

typedef struct {
    Arena *arena; /* it lives there */
    Session *session, *next;
    Change change;
    Totals before;
    void (*said)(Ui *ui, const Totals *before, const char *what);
    const char *what;
} ChangeJob;

static bool change_work(void *context, Progress *progress, Error *err)
{
    ChangeJob *job = context;

    job->change.progress = progress;
    job->next = session_prepare(job->session, &job->change, err);
    return job->next != NULL;
}

static void change_done(Ui *ui, void *context, bool ok, const Error *err)
{
    ChangeJob *job = context;

    if (job->change.kind == CHANGE_POLICY) {
        ui->n_policy_runs++;
        ui->policy_failed = *err;
    }
    if (ok) {
        ui_change_to(ui, job->next);
        if (job->said)
            job->said(ui, &job->before, job->what);
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

    *job = (ChangeJob){arena, ui->session, NULL, *change, ui_plan(ui)->totals, said, NULL};
    if (change->decisions) {
        Decision *copy = arena_array(arena, Decision, change->n);
        memcpy(copy, change->decisions, sizeof *copy * (size_t)change->n);
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
