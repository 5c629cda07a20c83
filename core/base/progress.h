/* progress.h - the progress of long work: the working thread writes it, the thread that shows it
 * reads it.
 *
 * The worker names its stage and counts; the reader may ask it to stop. The first items, such as
 * the ops of a file being read, are passed on as lines: each is written once, before n_lines counts
 * it. Nothing here blocks. Every function accepts NULL: then nobody watches the work.
 */
#ifndef CORE_BASE_PROGRESS_H
#define CORE_BASE_PROGRESS_H

#include "core/base/error.h"

#include <stdatomic.h>

enum { PROGRESS_LINES = 100, PROGRESS_NAME = 80, PROGRESS_KIND = 24 };

typedef struct {
    char name[PROGRESS_NAME], kind[PROGRESS_KIND]; /* cut to length; bytes as in the file */
} ProgressLine;

typedef struct {
    /* Static text: "reading", "planning"; NULL before the first stage. */
    _Atomic(const char *) stage;
    atomic_llong done, total; /* of the stage; total is 0 if not known */
    atomic_bool stop;         /* whether the reader asked the worker to stop */
    atomic_int n_findings;    /* found so far */
    atomic_int n_lines;
    ProgressLine line[PROGRESS_LINES];
} Progress;

void progress_stage(Progress *progress, const char *stage, int64_t total);
void progress_add(Progress *progress, int64_t n);

void progress_line(Progress *progress, Str name, Str kind); /* dropped once the list is full */
void progress_findings(Progress *progress, int n);

/* Returns whether a stop was asked for; for leaving inner loops. */
static inline bool progress_stopped(const Progress *progress)
{
    return progress && atomic_load_explicit(&progress->stop, memory_order_relaxed);
}

/* Returns false with ERROR_CANCELLED if the work is to stop, for `return progress_goes_on(p,
 * err)`. */
bool progress_goes_on(Progress *progress, Error *err);
void progress_stop(Progress *progress);

/* The fraction of the stage that is done, 0 to 1; negative if not known. */
double progress_share(const Progress *progress);

#endif
