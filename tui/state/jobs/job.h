/* job.h - work that may take longer than a frame, on a thread beside the screen.
 *
 * One job at a time. What is done within JOB_QUIET_MS (JOB_LARGE_QUIET_MS where a model has more
 * than JOB_AT_ONCE_OPS) has happened when job_start() returns, so that short work looks as if there
 * were no threads; after that the screen goes on, the note line shows the stage, how much of it,
 * and how long still, and C-c asks the job to stop. Without a terminal job_start() waits to the
 * end, so that scripts and tests see what they caused.
 *
 * work() sees its context and what nobody changes meanwhile: the graph, what was inferred, the
 * plan. While a job changes the plan (job_changes_plan()) no other change begins, and views that
 * read what propagation keeps (why, events) wait.
 */
#ifndef TUI_STATE_JOBS_JOB_H
#define TUI_STATE_JOBS_JOB_H

#include "core/base/progress.h"
#include "core/session/session.h"

/* Ops of a model that one may go over within a frame. */
enum { JOB_QUIET_MS = 80, JOB_LARGE_QUIET_MS = 10, JOB_AT_ONCE_OPS = 20000 };

typedef struct Ui Ui;
typedef struct Job Job;

typedef struct {
    Job *running; /* the job that is running, or NULL */
    int quiet_ms; /* how long job_start() may wait: JOB_QUIET_MS; below 0: there is no screen that
                     could go on meanwhile */
    int n_done;   /* jobs that have ended; a frame in which one ends is drawn again */
} Jobs;

typedef struct {
    const char *title;                                           /* static: "plan", "run" */
    bool (*work)(void *context, Progress *progress, Error *err); /* on the worker's thread */
    /* On the screen's thread, once, whatever happened: takes the result over and frees the context.
     * ok false: *err says why; ERROR_CANCELLED when it was stopped. */
    void (*done)(Ui *ui, void *context, bool ok, const Error *err);
    void *context;
    bool changes_plan;
    bool yields; /* a background job: not shown on the screen, and ended by any other job */
} JobWork;

/* False when one is running that does not yield, which is said on the message line; done() is not
 * called then. */
bool job_start(Ui *ui, const JobWork *work);

/* Begins work that nobody asked for: it gives way to other jobs, and the screen does not mention
 * it. Its context lives in the arena, which is freed here when the work cannot begin, else by
 * done(). */
void job_follow(Ui *ui, const char *title, bool (*work)(void *, Progress *, Error *),
                void (*done)(Ui *, void *, bool, const Error *), void *context, Arena *arena);

/* Whether it is over now: then done() was called. To be asked at every turn of the loop. */
bool job_poll(Ui *ui);
void job_stop(Ui *ui); /* requests it; the job ends in a later job_poll() */
void job_end(Ui *ui);  /* requests it and waits: before the explorer closes */

/* Whether work over all ops of the session fits into a frame, so that no job is begun for it. Where
 * quiet_ms is 0 no work does. */
bool job_at_once(const Ui *ui);

bool job_runs(const Ui *ui);
bool job_in_foreground(const Ui *ui); /* a job runs that is not a background job */
bool job_changes_plan(const Ui *ui);
extern const char job_waiting[]; /* what views show that wait for it */

/* Before anything is put into the journal's arena, or a plan is made here: false while somebody
 * waits for a job, which is said on the message line. One that yields is ended. */
bool job_may_change(Ui *ui);

/* "planning 43%, 0:12 left, C-c stops"; nothing without a job. */
void job_format(const Ui *ui, Buf *out);

/* ---- changes of the plan as jobs ---- */

/* Makes the change and calls said() when it stands, with the totals of before; errors go to the
 * message line. said may be NULL. The change's decisions and texts are copied. */
void job_change(Ui *ui, const Change *change,
                void (*said)(Ui *ui, const Totals *before, const char *what), const char *what);

#endif
