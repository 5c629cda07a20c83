#include "tui/state/jobs/worker.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

enum { FAULT_STACK_BYTES = 64 * 1024, LEFT_SHOWN_S = 24 * 3600 };

struct Worker {
    WorkFn *work;
    void *context;
    Progress progress;
    Error err;
    bool ok;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t over;
    bool is_over;           /* under the lock */
    struct timespec staged; /* when the stage that is shown was first seen */
    const char *stage;
    unsigned char fault_stack[FAULT_STACK_BYTES];
};

static void *run(void *argument)
{
    Worker *worker = argument;
    stack_t stack = {.ss_sp = worker->fault_stack, .ss_size = FAULT_STACK_BYTES};

    sigaltstack(&stack, NULL);
    bool ok = worker->work(worker->context, &worker->progress, &worker->err);
    stack = (stack_t){.ss_flags = SS_DISABLE};
    sigaltstack(&stack, NULL);
    pthread_mutex_lock(&worker->lock);
    worker->ok = ok;
    worker->is_over = true;
    pthread_cond_signal(&worker->over);
    pthread_mutex_unlock(&worker->lock);
    return NULL;
}

static void forget(Worker *worker)
{
    pthread_mutex_destroy(&worker->lock);
    pthread_cond_destroy(&worker->over);
    free(worker);
}

/* The new thread inherits the mask: nothing but its own faults. */
static bool start_thread(Worker *worker)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    sigset_t all, old;

    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool ok = pthread_create(&worker->thread, NULL, run, worker) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return ok;
}

Worker *worker_start(WorkFn *work, void *context)
{
    Worker *worker = calloc(1, sizeof *worker);
    pthread_condattr_t clock;

    if (!worker)
        return NULL;
    worker->work = work;
    worker->context = context;
    pthread_mutex_init(&worker->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&worker->over, &clock);
    pthread_condattr_destroy(&clock);
    clock_gettime(CLOCK_MONOTONIC, &worker->staged);
    if (start_thread(worker))
        return worker;
    forget(worker);
    return NULL;
}

bool worker_wait(Worker *worker, int ms)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ms > 0 ? (ms % 1000) * 1000000L : 0;
    until.tv_sec += (ms > 0 ? ms / 1000 : 0) + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&worker->lock);
    int failed = 0;
    while (!worker->is_over && failed == 0)
        failed = ms < 0 ? pthread_cond_wait(&worker->over, &worker->lock)
                        : pthread_cond_timedwait(&worker->over, &worker->lock, &until);
    bool over = worker->is_over;
    pthread_mutex_unlock(&worker->lock);
    return over;
}

Progress *worker_progress(Worker *worker)
{
    return &worker->progress;
}

/* Since the stage was first seen; a new one begins now. */
static double seconds_of_stage(Worker *worker, const char *stage)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (stage != worker->stage) {
        worker->stage = stage;
        worker->staged = now;
    }
    return (double)(now.tv_sec - worker->staged.tv_sec) +
           (double)(now.tv_nsec - worker->staged.tv_nsec) / 1e9;
}

void worker_format(Worker *worker, const char *title, Buf *out)
{
    const char *stage = atomic_load(&worker->progress.stage);
    double took = seconds_of_stage(worker, stage), share = progress_share(&worker->progress);

    buf_puts(out, stage ? stage : title);
    if (share < 0)
        return;
    share = share > 1 ? 1 : share;
    buf_printf(out, " %.0f%%", 100 * share);
    if (share <= 0 || took <= 0 || took / share > LEFT_SHOWN_S)
        return;
    int left = (int)(took / share - took + 0.5);
    buf_printf(out, ", %d:%02d left", left / 60, left % 60);
}

bool worker_end(Worker *worker, Error *err)
{
    pthread_join(worker->thread, NULL);
    bool ok = worker->ok;
    if (err)
        *err = worker->err;
    forget(worker);
    return ok;
}
