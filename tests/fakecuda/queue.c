/* Executes work in dependency order, randomly where there is a choice. */
#include "tests/fakecuda/fake.h"

#include <stdlib.h>
#include <string.h>

static struct {
    Op **ready;
    int n_ready, room;
    Op **pending; /* submitted and unfinished ops, each with a reference */
    int n_pending, pending_room;
    uint64_t mark, mood; /* random ranking of lanes, which changes at times */
} queue;

static void push(Op ***list, int *n, int *room, Op *op)
{
    if (*n == *room) {
        *room = *room ? 2 * *room : 4;
        *list = realloc(*list, (size_t)*room * sizeof(Op *));
    }
    (*list)[(*n)++] = op;
}

static bool take_out(Op **list, int *n, const Op *op)
{
    for (int i = 0; i < *n; i++) {
        if (list[i] != op)
            continue;
        memmove(list + i, list + i + 1, (size_t)(*n - i - 1) * sizeof *list);
        --*n;
        return true;
    }
    return false;
}

Op *op_new(OpRun *run, const void *data, size_t n_bytes, int device, int lane)
{
    Op *op = calloc(1, sizeof *op);
    op->run = run;
    op->data = malloc(n_bytes + 1);
    if (n_bytes)
        memcpy(op->data, data, n_bytes);
    op->n_bytes = n_bytes;
    op->device = device;
    op->lane = lane;
    op->refs = 1;
    op->n_waiting = 1; /* until it is submitted */
    return op;
}

Op *op_keep(Op *op)
{
    op->refs++;
    return op;
}

static void forget_before(Op *op)
{
    for (int i = 0; i < op->n_before; i++)
        op_drop(op->before[i]);
    op->n_before = 0;
}

void op_drop(Op *op)
{
    if (!op || --op->refs)
        return;
    forget_before(op);
    free(op->before);
    free(op->after);
    free(op->data);
    free(op);
}

void op_after(Op *op, Op *dep)
{
    if (!dep || dep->done || dep == op)
        return;
    push(&op->before, &op->n_before, &op->before_room, op_keep(dep));
    push(&dep->after, &dep->n_after, &dep->after_room, op);
    op->n_waiting++;
}

void op_release(Op *op)
{
    if (--op->n_waiting == 0)
        push(&queue.ready, &queue.n_ready, &queue.room, op);
}

void op_detach(Op *op, Op *dep)
{
    if (!take_out(dep->after, &dep->n_after, op))
        return;
    take_out(op->before, &op->n_before, dep);
    op_drop(dep);
    op_release(op);
}

void op_submit(Op *op)
{
    push(&queue.pending, &queue.n_pending, &queue.pending_room, op);
    if (op->submitted)
        op->submitted(op);
    op_release(op);
    queue_changed();
}

static void op_finished(Op *op)
{
    op->done = true;
    op->done_at = fake_seconds();
    for (int i = 0; i < op->n_after; i++)
        op_release(op->after[i]);
    op->n_after = 0;
    forget_before(op);
    take_out(queue.pending, &queue.n_pending, op);
    op_drop(op);
}

/* A failed device executes nothing more; its work counts as done. */
static void op_run(Op *op)
{
    bool there = op->device != NO_DEVICE;
    fake.count.steps++;
    if (there && fake.fault.lost && fake.count.steps >= fake.fault.lost) {
        fake.fault.lost = 0;
        fake.device[op->device].lost = true;
        device_fail(op->device, cudaErrorDevicesUnavailable);
    }
    if (op->run && !(there && fake.device[op->device].failed))
        op->run(op);
    if (!op->stuck)
        op_finished(op);
}

/* Marks what op depends on, to execute nothing else. */
static void mark_before(Op *op)
{
    if (op->mark == queue.mark)
        return;
    op->mark = queue.mark;
    for (int i = 0; i < op->n_before; i++)
        mark_before(op->before[i]);
}

static uint64_t rank_of(const Op *op)
{
    uint64_t x = ((uint64_t)(unsigned)op->lane + 1) * 0x9e3779b97f4a7c15u ^ queue.mood;
    x = (x ^ x >> 31) * 0xbf58476d1ce4e5b9u;
    return x ^ x >> 29;
}

/* A ready op of the lane that is ahead. */
static Op *take_ready(bool only_marked)
{
    int best = -1;
    for (int i = 0; i < queue.n_ready; i++) {
        const Op *op = queue.ready[i];
        if (only_marked && op->mark != queue.mark)
            continue;
        if (best < 0 || rank_of(op) > rank_of(queue.ready[best]))
            best = i;
    }
    if (best < 0)
        return NULL;
    Op *op = queue.ready[best];
    queue.ready[best] = queue.ready[--queue.n_ready];
    if (fake_random() % 8 == 0)
        queue.mood = fake_random();
    return op;
}

/* Half of the time only dependencies of op run, so that unordered work comes late; else any work
 * runs, so that it comes early. */
bool op_finish(Op *op, bool wait)
{
    bool least = fake_random() % 2;
    op_keep(op);
    queue.mood = fake_random();
    uint64_t mine = 0;
    while (!op->done && !fake.device[op->device].failed) {
        Op *next = mine == queue.mark ? take_ready(least) : NULL;
        if (!next) { /* another thread has set its marks */
            mine = ++queue.mark;
            mark_before(op);
            next = take_ready(least);
        }
        if (next) {
            bool elsewhere = next->device != op->device;
            op_run(next); /* which may free it */
            if (elsewhere || !least) {
                fake_unlock(); /* others may add ready ops */
                fake_lock();
            }
        } else if (wait) {
            memory_close();
            fake_wait();
        } else {
            break;
        }
    }
    memory_close();
    bool done = op->done;
    op_drop(op);
    queue_changed();
    return done;
}

void queue_step(void)
{
    Op *next = take_ready(false);
    if (next)
        op_run(next);
    if (!queue.n_ready) /* more will follow soon, and closing is slow */
        memory_close();
    queue_changed();
}

void queue_forget(int device)
{
    for (int i = 0; i < queue.n_pending; i++) {
        Op *op = queue.pending[i];
        if (op->device != device)
            continue;
        op->run = NULL;
        if (op->stuck)
            push(&queue.ready, &queue.n_ready, &queue.room, op);
        op->stuck = false;
    }
}

void queue_clear(void)
{
    while (queue.n_pending) {
        Op *op = queue.pending[0];
        op->n_after = 0;
        take_out(queue.pending, &queue.n_pending, op);
        forget_before(op);
        op->done = true;
        op_drop(op);
    }
    queue.n_ready = 0;
}
