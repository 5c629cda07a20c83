/* worker.h - runs one piece of work on a thread of its own, with its progress.
 *
 * External signals are delivered to the screen's thread; for a crash of the worker the handlers
 * that restore the terminal run on a stack of their own.
 */
#ifndef TUI_STATE_JOBS_WORKER_H
#define TUI_STATE_JOBS_WORKER_H

#include "core/base/progress.h"

typedef struct Worker Worker;

/* Runs on the worker's thread. Returns false with *err; ERROR_CANCELLED if it was asked to stop. */
typedef bool WorkFn(void *context, Progress *progress, Error *err);

Worker *worker_start(WorkFn *work, void *context); /* Returns NULL if no thread can be started. */

/* Waits at most `ms`, forever if negative; returns whether the work has ended. */
bool worker_wait(Worker *worker, int ms);
Progress *worker_progress(Worker *worker);

/* "inferring 43%, 0:02 left"; the title before the first stage. */
void worker_format(Worker *worker, const char *title, Buf *out);

/* Waits to the end and frees it. Returns the result of work(), and its error. */
bool worker_end(Worker *worker, Error *err);

#endif
