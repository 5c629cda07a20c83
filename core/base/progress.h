/* progress.h - how far long work is, told by the thread that works to the one that shows it.
 *
 * The worker names its stage and counts; whoever waits reads, and may ask it to stop. The first
 * things that come by, as the ops of a file that is read, are handed over as lines: one is written
 * once, before n_lines says that it is there. Nothing here blocks. All functions allow NULL: work
 * that nobody watches.
 */
#ifndef CORE_BASE_PROGRESS_H
#define CORE_BASE_PROGRESS_H

#include "core/base/error.h"

#include <stdatomic.h>

enum { PROGRESS_LINES = 100, PROGRESS_NAME = 80, PROGRESS_KIND = 24 };

typedef struct {
    char name[PROGRESS_NAME], kind[PROGRESS_KIND]; /* cut; bytes as the file has them */
} ProgressLine;

typedef struct {
    _Atomic(const char *) stage; /* static text: "reading", "planning"; NULL: not begun */
    atomic_llong done, total;    /* of the stage; total 0: not known */
    atomic_bool stop;            /* asked for */
    atomic_int n_findings;       /* so far */
    atomic_int n_lines;
    ProgressLine line[PROGRESS_LINES];
} Progress;

void progress_stage(Progress *progress, const char *stage, int64_t total);
void progress_add(Progress *progress, int64_t n);

void progress_line(Progress *progress, Str name, Str kind); /* dropped where there are enough */
void progress_findings(Progress *progress, int n);

/* Whether somebody asked for a stop: to leave an inner loop by. */
static inline bool progress_stopped(const Progress *progress)
{
    return progress && atomic_load_explicit(&progress->stop, memory_order_relaxed);
}

/* False with ERROR_CANCELLED when somebody asked for a stop: `return progress_goes_on(p, err)`. */
bool progress_goes_on(Progress *progress, Error *err);
void progress_stop(Progress *progress);

/* 0 to 1 of the stage; below 0: not known. */
double progress_share(const Progress *progress);

#endif
