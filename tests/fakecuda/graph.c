/* Graphs: captured work that streams execute repeatedly. */
#include "tests/fakecuda/fake.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    Object object;
    Graph *graph; /* a copy of its own */
    Op *last;     /* end of its last launch: launches of a graph do not overlap */
} Exec;

int graph_add(Graph *graph, OpRun *run, OpRun *submitted, const void *data, size_t n_bytes,
              int device, int lane)
{
    graph->node = realloc(graph->node, (size_t)(graph->n_nodes + 1) * sizeof(Node));
    Node *node = &graph->node[graph->n_nodes];
    *node = (Node){.run = run, .submitted = submitted, .n_bytes = n_bytes, .device = device};
    node->lane = lane;
    node->data = malloc(n_bytes + 1);
    if (n_bytes)
        memcpy(node->data, data, n_bytes);
    return graph->n_nodes++;
}

void graph_order(Graph *graph, int node, int before)
{
    if (before < 0)
        return;
    Node *at = &graph->node[node];
    at->before = realloc(at->before, (size_t)(at->n_before + 1) * sizeof(int));
    at->before[at->n_before++] = before;
}

static void graph_empty(void *object)
{
    Graph *graph = object;
    for (int i = 0; i < graph->n_nodes; i++) {
        free(graph->node[i].data);
        free(graph->node[i].before);
    }
    free(graph->node);
    graph->node = NULL;
    graph->n_nodes = 0;
}

/* Detaches streams and events from a graph. */
static void leave_graph(const Graph *graph)
{
    for (Object *o = object_first(); o; o = o->next) {
        Stream *stream = (Stream *)o;
        if (o->kind == OBJECT_STREAM && stream->capture == graph) {
            stream->capture = NULL;
            stream->node = -1;
        }
    }
}

static void forget_graph(const Graph *graph)
{
    for (Object *o = object_first(); o; o = o->next) {
        Event *event = (Event *)o;
        if (o->kind == OBJECT_EVENT && event->capture == graph)
            event->capture = NULL;
    }
}

cudaError_t capture_break(Stream *stream)
{
    if (stream->capture)
        stream->capture->invalid = true;
    return cudaErrorStreamCaptureUnsupported;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, enum cudaStreamCaptureMode mode)
{
    cudaError_t error = fake_enter();
    Stream *stream = error ? NULL : stream_of(handle);
    if (!stream)
        return fake_leave(error ? error : cudaErrorInvalidResourceHandle);
    if (stream == fake.device[stream->device].standard)
        return fake_leave(cudaErrorStreamCaptureUnsupported);
    if (stream->capture)
        return fake_leave(cudaErrorInvalidValue);
    stream->capture = object_new(OBJECT_GRAPH, sizeof(Graph), graph_empty);
    stream->capture->origin = stream;
    stream->capture->mode = mode;
    stream->capture->thread = pthread_self();
    stream->node = -1;
    return fake_leave(cudaSuccess);
}

static void reach_back(const Graph *graph, int node, bool *seen)
{
    if (node < 0 || seen[node])
        return;
    seen[node] = true;
    for (int i = 0; i < graph->node[node].n_before; i++)
        reach_back(graph, graph->node[node].before[i], seen);
}

/* Every stream in the capture must have been joined. */
static bool all_joined(const Graph *graph)
{
    bool *seen = calloc((size_t)graph->n_nodes + 1, 1);
    reach_back(graph, graph->origin->node, seen);
    bool all = true;
    for (const Object *o = object_first(); o; o = o->next) {
        const Stream *stream = (const Stream *)o;
        if (o->kind == OBJECT_STREAM && stream->capture == graph && stream->node >= 0)
            all = all && seen[stream->node];
    }
    free(seen);
    return all;
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t *out)
{
    cudaError_t error = fake_enter();
    Stream *stream = fake_gives_back(error) ? stream_of(handle) : NULL;
    if (!stream || !out)
        return fake_leave(error ? error : cudaErrorInvalidValue);
    Graph *graph = stream->capture;
    if (!graph)
        return fake_leave(error ? error : cudaErrorInvalidValue);
    if (graph->origin != stream)
        return fake_leave(cudaErrorStreamCaptureUnmatched);
    error = error               ? error
            : graph->invalid    ? cudaErrorStreamCaptureInvalidated
            : all_joined(graph) ? cudaSuccess
                                : cudaErrorStreamCaptureUnjoined;
    graph->ended = true;
    leave_graph(graph);
    *out = error ? NULL : (cudaGraph_t)(void *)graph;
    if (error) {
        forget_graph(graph);
        object_free(graph);
    }
    return fake_leave(error);
}

void graph_abandon(Stream *stream)
{
    Graph *graph = stream->capture;
    capture_break(stream);
    if (!graph || graph->origin != stream)
        return;
    leave_graph(graph);
    forget_graph(graph);
    object_free(graph);
}

static void exec_empty(void *object)
{
    Exec *exec = object;
    op_drop(exec->last);
    graph_empty(exec->graph);
    free(exec->graph);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t handle, unsigned long long flags)
{
    cudaError_t error = fake_enter();
    if (error || !out || flags || !handle || !object_is(handle, OBJECT_GRAPH))
        return fake_leave(error ? error : cudaErrorInvalidValue);
    const Graph *from = (const Graph *)(void *)handle;
    Exec *exec = object_new(OBJECT_GRAPH_EXEC, sizeof *exec, exec_empty);
    Graph *graph = exec->graph = calloc(1, sizeof *graph);
    for (int i = 0; i < from->n_nodes; i++) {
        const Node *node = &from->node[i];
        graph_add(graph, node->run, node->submitted, node->data, node->n_bytes, node->device,
                  node->lane);
        for (int b = 0; b < node->n_before; b++)
            graph_order(graph, i, node->before[b]);
    }
    *out = (cudaGraphExec_t)(void *)exec;
    return fake_leave(cudaSuccess);
}

/* Puts a start, each node after its predecessors, and an end after all. */
static void launch(Exec *exec, Stream *stream)
{
    const Graph *graph = exec->graph;
    Fork fork = stream_fork(stream);
    Op **op = calloc((size_t)graph->n_nodes + 1, sizeof(Op *));
    for (int i = 0; i < graph->n_nodes; i++) {
        const Node *node = &graph->node[i];
        op[i] = op_new(node->run, node->data, node->n_bytes, node->device, node->lane);
        op[i]->submitted = node->submitted;
        op_after(op[i], fork.base);
        op_after(op[i], exec->last);
        for (int b = 0; b < node->n_before; b++)
            op_after(op[i], op[node->before[b]]);
        op_after(fork.join, op[i]);
    }
    for (int i = 0; i < graph->n_nodes; i++)
        op_submit(op[i]);
    free(op);
    op_drop(exec->last);
    exec->last = op_keep(fork.join);
    stream_join(&fork);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream_handle)
{
    cudaError_t error = fake_enter();
    Stream *stream = error ? NULL : stream_of(stream_handle);
    if (!stream)
        return fake_leave(error ? error : cudaErrorInvalidResourceHandle);
    if (!handle || !object_is(handle, OBJECT_GRAPH_EXEC))
        return fake_leave(cudaErrorInvalidValue);
    if (stream->capture)
        return fake_leave(capture_break(stream));
    fake.count.graph_launches++;
    launch((Exec *)(void *)handle, stream);
    return fake_leave(fake.device[stream->device].failed);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle)
{
    cudaError_t error = fake_enter();
    if (!fake_gives_back(error) || !handle || !object_is(handle, OBJECT_GRAPH_EXEC))
        return fake_leave(error ? error : cudaErrorInvalidValue);
    object_free(handle);
    return fake_leave(error);
}

cudaError_t cudaGraphDestroy(cudaGraph_t handle)
{
    cudaError_t error = fake_enter();
    if (!fake_gives_back(error) || !handle || !object_is(handle, OBJECT_GRAPH))
        return fake_leave(error ? error : cudaErrorInvalidValue);
    Graph *graph = (Graph *)(void *)handle;
    forget_graph(graph);
    object_free(graph);
    return fake_leave(error);
}
