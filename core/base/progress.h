/* progress.h - how far long work is, told by the thread that works to the one that shows it.
 *
 * The worker names its stage and counts; whoever waits reads, and may ask it to stop. Nothing here
 * blocks. All functions allow NULL: work that nobody watches.
 */
#ifndef CORE_BASE_PROGRESS_H
#define CORE_BASE_PROGRESS_H

#include "core/base/error.h"

#include <stdatomic.h>

typedef struct {
    _Atomic(const char *) stage; /* static text: "reading", "planning"; NULL: not begun */
    atomic_llong done, total;    /* of the stage; total 0: not known */
    atomic_bool stop;            /* asked for */
} Progress;

void progress_stage(Progress *progress, const char *stage, int64_t total);
void progress_add(Progress *progress, int64_t n);

/* False with ERROR_CANCELLED when somebody asked for a stop: `return progress_goes_on(p, err)`. */
bool progress_goes_on(Progress *progress, Error *err);
void progress_stop(Progress *progress);

/* 0 to 1 of the stage; below 0: not known. */
double progress_share(const Progress *progress);

#endif
