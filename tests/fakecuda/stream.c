/* Streams and events: points in the order of work. */
#include "tests/fakecuda/fake.h"

#include <stdlib.h>

Stream *stream_of(cudaStream_t handle)
{
    if (!handle)
        return fake.device[fake_current_device()].standard;
    return object_is(handle, OBJECT_STREAM) ? (Stream *)(void *)handle : NULL;
}

/* Orders an op after the streams that synchronize with its stream. */
static void after_others(Op *op, const Stream *stream)
{
    Stream *standard = fake.device[stream->device].standard;
    if (stream->blocking && stream != standard)
        op_after(op, standard->tail);
    if (stream != standard)
        return;
    for (const Object *o = object_first(); o; o = o->next) {
        const Stream *other = (const Stream *)o;
        if (o->kind == OBJECT_STREAM && other->device == stream->device && other->blocking &&
            other != standard)
            op_after(op, other->tail);
    }
}

static void set_tail(Stream *stream, Op *op)
{
    op_drop(stream->tail);
    stream->tail = op_keep(op);
}

Op *stream_put(Stream *stream, OpRun *run, OpRun *submitted, const void *data, size_t n_bytes)
{
    if (stream->capture) {
        int before = stream->node;
        stream->node =
            graph_add(stream->capture, run, submitted, data, n_bytes, stream->device, stream->lane);
        graph_order(stream->capture, stream->node, before);
        return NULL;
    }
    Op *op = op_new(run, data, n_bytes, stream->device, stream->lane);
    op->submitted = submitted;
    op_after(op, stream->tail);
    after_others(op, stream);
    set_tail(stream, op);
    op_submit(op);
    return stream->tail;
}

Fork stream_fork(Stream *stream)
{
    Fork fork = {.stream = stream, .base_node = stream->node};
    stream_put(stream, NULL, NULL, NULL, 0);
    fork.base_node = stream->node;
    if (stream->capture) {
        fork.join_node =
            graph_add(stream->capture, NULL, NULL, NULL, 0, stream->device, stream->lane);
        graph_order(stream->capture, fork.join_node, fork.base_node);
        return fork;
    }
    fork.base = op_keep(stream->tail);
    fork.join = op_new(NULL, NULL, 0, stream->device, stream->lane);
    op_after(fork.join, fork.base);
    return fork;
}

void fork_put(Fork *fork, OpRun *run, OpRun *submitted, const void *data, size_t n_bytes)
{
    Stream *stream = fork->stream;
    if (stream->capture) {
        int node =
            graph_add(stream->capture, run, submitted, data, n_bytes, stream->device, stream->lane);
        graph_order(stream->capture, node, fork->base_node);
        graph_order(stream->capture, fork->join_node, node);
        return;
    }
    Op *op = op_new(run, data, n_bytes, stream->device, stream->lane);
    op->submitted = submitted;
    op_after(op, fork->base);
    op_after(fork->join, op);
    op_submit(op);
}

void stream_join(Fork *fork)
{
    Stream *stream = fork->stream;
    if (stream->capture) {
        stream->node = fork->join_node;
        return;
    }
    op_drop(fork->base);
    set_tail(stream, fork->join);
    op_submit(fork->join);
}

cudaError_t stream_finish(Stream *stream)
{
    if (stream->tail)
        op_finish(stream->tail, true);
    return fake.device[stream->device].failed;
}

cudaError_t device_finish(int device)
{
    Op *all = op_new(NULL, NULL, 0, device, LANE_NONE);
    for (const Object *o = object_first(); o; o = o->next) {
        const Stream *stream = (const Stream *)o;
        if (o->kind == OBJECT_STREAM && stream->device == device)
            op_after(all, stream->tail);
    }
    op_keep(all);
    op_submit(all);
    op_finish(all, true);
    op_drop(all);
    return fake.device[device].failed;
}

bool capture_forbids(void)
{
    for (const Object *o = object_first(); o; o = o->next) {
        const Graph *graph = o->kind == OBJECT_STREAM ? ((const Stream *)o)->capture : NULL;
        bool mine = graph && pthread_equal(graph->thread, pthread_self());
        if (graph && (graph->mode == cudaStreamCaptureModeGlobal ||
                      (graph->mode == cudaStreamCaptureModeThreadLocal && mine)))
            return true;
    }
    return false;
}

/* ---- streams */

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned int flags, int priority)
{
    (void)priority;
    cudaError_t error = fake_enter();
    if (error)
        return fake_leave(error);
    if (!out || flags > cudaStreamNonBlocking)
        return fake_leave(cudaErrorInvalidValue);
    Stream *stream = stream_make(fake_current_device(), !(flags & cudaStreamNonBlocking));
    *out = (cudaStream_t)(void *)stream;
    return fake_leave(cudaSuccess);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned int flags)
{
    return cudaStreamCreateWithPriority(out, flags, 0);
}

static void stream_empty(void *object)
{
    Stream *stream = object;
    op_drop(stream->tail);
}

Stream *stream_make(int device, bool blocking)
{
    Stream *stream = object_new(OBJECT_STREAM, sizeof *stream, stream_empty);
    stream->device = device;
    stream->blocking = blocking;
    stream->lane = fake.n_lanes++;
    stream->node = -1;
    return stream;
}

/* Its pending work continues. */
cudaError_t cudaStreamDestroy(cudaStream_t handle)
{
    cudaError_t error = fake_enter();
    if (!fake_gives_back(error))
        return fake_leave(error);
    if (!handle || !object_is(handle, OBJECT_STREAM))
        return fake_leave(cudaErrorInvalidResourceHandle);
    Stream *stream = stream_of(handle);
    graph_abandon(stream);
    object_free(stream);
    return fake_leave(error);
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle)
{
    cudaError_t error = fake_enter();
    Stream *stream = error ? NULL : stream_of(handle);
    if (!stream)
        return fake_leave(error ? error : cudaErrorInvalidResourceHandle);
    if (stream->capture)
        return fake_leave(capture_break(stream));
    return fake_leave(stream_finish(stream));
}

/* A query executes one op, so that polling makes progress. */
static cudaError_t look(const Op *op, int device)
{
    if (op && !op->done)
        queue_step();
    if (fake.device[device].failed)
        return fake.device[device].failed;
    return !op || op->done ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamQuery(cudaStream_t handle)
{
    cudaError_t error = fake_enter();
    Stream *stream = error ? NULL : stream_of(handle);
    if (!stream)
        return fake_leave(error ? error : cudaErrorInvalidResourceHandle);
    if (stream->capture)
        return fake_leave(capture_break(stream));
    return fake_leave(look(stream->tail, stream->device));
}

/* ---- events */

static void event_empty(void *object)
{
    Event *event = object;
    op_drop(event->op);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned int flags)
{
    cudaError_t error = fake_enter();
    if (error || !out)
        return fake_leave(error ? error : cudaErrorInvalidValue);
    Event *event = object_new(OBJECT_EVENT, sizeof *event, event_empty);
    event->device = fake_current_device();
    event->timed = !(flags & cudaEventDisableTiming);
    *out = (cudaEvent_t)(void *)event;
    return fake_leave(cudaSuccess);
}

static Event *event_of(cudaEvent_t handle)
{
    return handle && object_is(handle, OBJECT_EVENT) ? (Event *)(void *)handle : NULL;
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream_handle)
{
    cudaError_t error = fake_enter();
    Stream *stream = error ? NULL : stream_of(stream_handle);
    Event *event = event_of(handle);
    if (!stream || !event || event->device != stream->device)
        return fake_leave(error ? error : cudaErrorInvalidResourceHandle);
    Op *op = stream_put(stream, NULL, NULL, NULL, 0);
    op_drop(event->op);
    event->op = op ? op_keep(op) : NULL;
    event->capture = stream->capture;
    event->node = stream->node;
    return fake_leave(cudaSuccess);
}

/* Waiting for a captured event adds a stream to the capture. */
static cudaError_t wait_captured(Stream *stream, const Event *event)
{
    if (stream->capture && stream->capture != event->capture)
        return stream->capture->invalid = true, cudaErrorStreamCaptureIsolation;
    if (!event->capture || event->capture->ended)
        return cudaErrorCapturedEvent;
    bool joins = !stream->capture;
    stream->capture = event->capture;
    int before = joins ? -1 : stream->node;
    stream->node = graph_add(stream->capture, NULL, NULL, NULL, 0, stream->device, stream->lane);
    graph_order(stream->capture, stream->node, before);
    graph_order(stream->capture, stream->node, event->node);
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream_handle, cudaEvent_t handle, unsigned int flags)
{
    cudaError_t error = fake_enter();
    Stream *stream = error ? NULL : stream_of(stream_handle);
    Event *event = event_of(handle);
    if (!stream || !event || flags)
        return fake_leave(error ? error : cudaErrorInvalidResourceHandle);
    if (event->capture || stream->capture)
        return fake_leave(event->capture || event->op ? wait_captured(stream, event) : cudaSuccess);
    if (!event->op || event->op->done)
        return fake_leave(cudaSuccess);
    Op *op = op_new(NULL, NULL, 0, stream->device, stream->lane);
    op_after(op, stream->tail);
    op_after(op, event->op);
    set_tail(stream, op);
    op_submit(op);
    return fake_leave(cudaSuccess);
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle)
{
    cudaError_t error = fake_enter();
    Event *event = event_of(handle);
    if (error || !event)
        return fake_leave(error ? error : cudaErrorInvalidResourceHandle);
    if (event->capture)
        return fake_leave(cudaErrorCapturedEvent);
    if (event->op)
        op_finish(event->op, true);
    return fake_leave(fake.device[event->device].failed);
}

cudaError_t cudaEventQuery(cudaEvent_t handle)
{
    cudaError_t error = fake_enter();
    Event *event = event_of(handle);
    if (error || !event)
        return fake_leave(error ? error : cudaErrorInvalidResourceHandle);
    if (event->capture)
        return fake_leave(cudaErrorCapturedEvent);
    return fake_leave(look(event->op, event->device));
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    cudaError_t error = fake_enter();
    const Event *a = event_of(start);
    const Event *b = event_of(end);
    if (error)
        return fake_leave(error);
    if (!ms || !a || !b)
        return fake_leave(cudaErrorInvalidValue);
    if (a->device != b->device || !a->timed || !b->timed || !a->op || !b->op)
        return fake_leave(cudaErrorInvalidResourceHandle);
    if (!a->op->done || !b->op->done)
        return fake_leave(cudaErrorNotReady);
    *ms = (float)((b->op->done_at - a->op->done_at) * 1e3);
    return fake_leave(cudaSuccess);
}

cudaError_t cudaEventDestroy(cudaEvent_t handle)
{
    cudaError_t error = fake_enter();
    Event *event = event_of(handle);
    if (!fake_gives_back(error) || !event)
        return fake_leave(error ? error : cudaErrorInvalidResourceHandle);
    object_free(event);
    return fake_leave(error);
}
