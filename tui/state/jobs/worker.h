/* worker.h - one piece of work on a thread of its own, and how far it is.
 *
 * Signals that come from outside stay with the thread of the screen; a fault of the worker's own
 * still finds the handlers that put the terminal right, on a stack of its own.
 */
#ifndef TUI_STATE_JOBS_WORKER_H
#define TUI_STATE_JOBS_WORKER_H

#include "core/base/progress.h"

typedef struct Worker Worker;

/* On the worker's thread. False with *err; ERROR_CANCELLED when it was asked to stop. */
typedef bool WorkFn(void *context, Progress *progress, Error *err);

Worker *worker_start(WorkFn *work, void *context); /* Returns NULL if no thread can be started. */

/* Waits at most that long, for ever where ms is below 0; whether the work is over. */
bool worker_wait(Worker *worker, int ms);
Progress *worker_progress(Worker *worker);

/* "inferring 43%, 0:02 left"; title where no stage is named yet. */
void worker_format(Worker *worker, const char *title, Buf *out);

/* Waits to the end and frees it. What work() answered, and its error. */
bool worker_end(Worker *worker, Error *err);

#endif
