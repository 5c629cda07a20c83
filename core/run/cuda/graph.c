/* graph.c - captures a pass as a CUDA graph and replays it. */
#include "core/run/cuda/gpu.h"

enum { PASSES_BEFORE = 2 }; /* the first warms up, the second measures ops */

static bool can_capture(const GpuRank *gpu)
{
    bool reads_others = gpu->team->shared && gpu->rank->team->n_ranks > 1;
    return !gpu->refused && gpu->n_host_ops == 0 && !reads_others;
}

/* Ends a capture, whatever was captured. */
static void drop_capture(GpuRank *gpu)
{
    cudaGraph_t graph = NULL;
    cuda_give_up(cudaStreamEndCapture(gpu->stream[LANE_COMPUTE], &graph));
    if (graph)
        cuda_give_up(cudaGraphDestroy(graph));
    cuda_give_up(cudaGetLastError());
}

static bool capture(GpuRank *gpu, cudaGraph_t *graph, Error *err)
{
    cudaStream_t stream = gpu->stream[LANE_COMPUTE];
    if (!CUDA_CALL(err, cudaStreamBeginCapture, stream, cudaStreamCaptureModeThreadLocal))
        return false;
    bool ok = pass_fork(gpu, err) && enqueue_pass(gpu, err) && pass_join(gpu, err);
    if (!ok) {
        drop_capture(gpu);
        return false;
    }
    return CUDA_CALL(err, cudaStreamEndCapture, stream, graph);
}

static bool make_graph(GpuRank *gpu)
{
    cudaGraph_t graph = NULL;
    Error refused = {0};
    gpu->capturing = true;
    bool ok = capture(gpu, &graph, &refused) &&
              CUDA_CALL(&refused, cudaGraphInstantiate, &gpu->graph, graph, 0);
    gpu->capturing = false;
    if (graph)
        cuda_give_up(cudaGraphDestroy(graph));
    if (!ok)
        cuda_give_up(cudaGetLastError());
    return ok;
}

bool graph_replay(GpuRank *gpu, int pass, bool *done, Error *err)
{
    *done = false;
    if (pass < PASSES_BEFORE || !can_capture(gpu))
        return true;
    if (!gpu->graph && !make_graph(gpu)) {
        gpu->refused = true;
        return true;
    }
    *done = true;
    gpu->replaying = true;
    double start = run_now_us();
    bool ok = pass_begin(gpu, err) &&
              CUDA_CALL(err, cudaGraphLaunch, gpu->graph, gpu->stream[LANE_COMPUTE]);
    gpu->enqueue_us += run_now_us() - start;
    int last = gpu_program(gpu)->n_instrs - 1;
    gpu->pass_enqueued[LANE_COMPUTE] = gpu->pass_enqueued[LANE_COMM] = last;
    return ok;
}

void graph_close(GpuRank *gpu)
{
    if (gpu->graph)
        cuda_give_up(cudaGraphExecDestroy(gpu->graph));
}
