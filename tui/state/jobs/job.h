/* job.h - work that may take longer than a frame, on a thread of its own.
 *
 * One job at a time. Work that ends within JOB_QUIET_MS (JOB_LARGE_QUIET_MS if a model has more
 * than JOB_AT_ONCE_OPS) is complete when job_start() returns, so that short work needs no special
 * handling. After that the screen stays responsive, the note line shows the stage, the fraction
 * done and the time left, and C-c asks the job to stop. Without a terminal job_start() waits until
 * the end, so that scripts and tests see the result.
 *
 * work() reads its context and what nobody changes meanwhile: the graph, the inference, the plan.
 * While a job changes the plan (job_changes_plan()), no other change begins, and views that read
 * what propagation keeps (why, events) wait.
 */
#ifndef TUI_STATE_JOBS_JOB_H
#define TUI_STATE_JOBS_JOB_H

#include "core/base/progress.h"
#include "core/session/session.h"

/* JOB_AT_ONCE_OPS: the most ops of a model that may be visited within a frame. */
enum { JOB_QUIET_MS = 80, JOB_LARGE_QUIET_MS = 10, JOB_AT_ONCE_OPS = 20000 };

typedef struct Ui Ui;
typedef struct Job Job;

typedef struct {
    Job *running; /* the job that is running, or NULL */
    int quiet_ms; /* how long job_start() may wait: JOB_QUIET_MS; negative: there is no screen to
                     keep responsive */
    int n_done;   /* number of jobs that have ended; a frame in which one ends is drawn again */
} Jobs;

typedef struct {
    const char *title;                                           /* static: "plan", "run" */
    bool (*work)(void *context, Progress *progress, Error *err); /* on the worker's thread */
    /* Called on the screen's thread, once, whatever happened: takes over the result and frees the
     * context. ok false: *err has the reason; ERROR_CANCELLED if the job was stopped. */
    void (*done)(Ui *ui, void *context, bool ok, const Error *err);
    void *context;
    bool changes_plan;
    bool yields; /* a background job: not shown on the screen, and ended by any other job */
} JobWork;

/* Returns false, with a message on the message line, if another job is running that does not yield;
 * done() is then not called. */
bool job_start(Ui *ui, const JobWork *work);

/* Starts background work: it yields to other jobs and is not shown on the screen. Its context is in
 * the arena, which is freed here if the work cannot start, else by done(). */
void job_follow(Ui *ui, const char *title, bool (*work)(void *, Progress *, Error *),
                void (*done)(Ui *, void *, bool, const Error *), void *context, Arena *arena);

/* Returns whether the job has just ended; then done() was called. Call it in every turn of the main
 * loop. */
bool job_poll(Ui *ui);
void job_stop(Ui *ui); /* requests it; the job ends in a later job_poll() */
void job_end(Ui *ui);  /* requests it and waits: before the explorer closes */

/* Whether work over all ops of the session fits into a frame, so that no job is needed. Always
 * false if quiet_ms is 0. */
bool job_at_once(const Ui *ui);

bool job_runs(const Ui *ui);
bool job_in_foreground(const Ui *ui); /* a job is running that is not a background job */
bool job_changes_plan(const Ui *ui);
extern const char job_waiting[]; /* shown by views that wait for it */

/* Call it before allocating in the journal's arena or making a plan here: returns false, with a
 * message on the message line, while the user waits for a job. A job that yields is ended. */
bool job_may_change(Ui *ui);

/* "planning 43%, 0:12 left, C-c stops"; nothing if there is no job. */
void job_format(const Ui *ui, Buf *out);

/* ---- changes of the plan as jobs ---- */

/* Makes the change and then calls said() with the totals from before; errors go to the message
 * line. said may be NULL. The change's decisions and texts are copied. */
void job_change(Ui *ui, const Change *change,
                void (*said)(Ui *ui, const Totals *before, const char *what), const char *what);

#endif
