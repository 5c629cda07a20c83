#include "core/plan/memory.h"

#include <assert.h>

/* A value on rank 0, alive from one moment to another, both included. A moment is one loading, op
 * or step. */
typedef struct {
    int32_t tensor, sharding;
    int first, last;
    int32_t next;    /* another span of the tensor, or -1 */
    bool in_between; /* two steps of a reshard: nobody reads it later */
} Span;

typedef struct {
    Arena *arena;
    const Plan *plan;
    const Graph *graph;
    Vec(Span) spans;
    int32_t *of_tensor; /* its first span, or -1 */
    int now;
} Account;

static Span *span_at(const Account *a, int32_t at)
{
    assert(a->spans.at && 0 <= at && at < a->spans.n);
    return &a->spans.at[at];
}

static int32_t begin_span(Account *a, int32_t tensor, int32_t sharding)
{
    Span span = {tensor, sharding, a->now, a->now, a->of_tensor[tensor], false};
    vec_push(a->arena, &a->spans, span);
    a->of_tensor[tensor] = a->spans.n - 1;
    return a->spans.n - 1;
}

static int32_t find_span(const Account *a, int32_t tensor, int32_t sharding)
{
    int32_t at = a->of_tensor[tensor];
    while (at >= 0 && (span_at(a, at)->sharding != sharding || span_at(a, at)->in_between))
        at = span_at(a, at)->next;
    return at;
}

/* Steps of a reshard: each fills one copy from the one before. */
static int32_t move_span(Account *a, int32_t at, int32_t to)
{
    const Plan *plan = a->plan;
    int32_t tensor = span_at(a, at)->tensor;
    const ReshardPath *path = reshard(plan->resharder, (Dtype)plan->inferred->dtype[tensor],
                                      span_at(a, at)->sharding, to);
    for (int i = 0; i < path->n_steps; i++) {
        a->now++;
        span_at(a, at)->last = a->now;
        at = begin_span(a, tensor, path->step[i].to);
        span_at(a, at)->in_between = i + 1 < path->n_steps;
    }
    return at;
}

/* The span that an operand is read from; -1 for what has no sharding. */
static int32_t read_span(Account *a, int32_t tensor, int32_t need)
{
    if (tensor < 0 || need < 0)
        return -1;
    int32_t at = find_span(a, tensor, need);
    if (at >= 0)
        return at;
    if (tensor_is_known(a->plan->inferred, tensor)) {
        a->now++;
        return begin_span(a, tensor, need);
    }
    at = find_span(a, tensor, a->plan->sharding[tensor]);
    return at < 0 ? -1 : move_span(a, at, need);
}

static bool is_read(const Account *a, int32_t tensor)
{
    const GraphTensor *at = &a->graph->tensors[tensor];
    for (int32_t u = at->use; u < at[1].use; u++)
        if (!inferred_is_host(a->plan->inferred, a->graph->uses[u]))
            return true;
    return at->output;
}

/* Parameters and graph inputs: there before the first op. */
static void add_sources(Account *a)
{
    for (int t = 0; t < a->graph->n_tensors; t++)
        if (a->graph->tensors[t].maker < 0 && !tensor_is_known(a->plan->inferred, t) &&
            a->plan->sharding[t] >= 0 && is_read(a, t))
            begin_span(a, t, a->plan->sharding[t]);
}

static void add_op(Account *a, int32_t op)
{
    const GraphOp *at = &a->graph->ops[op];
    int32_t *read = arena_array(a->arena, int32_t, at->n_inputs);
    for (int i = 0; i < at->n_inputs; i++)
        read[i] = read_span(a, op_inputs(a->graph, op)[i], a->plan->need[at->input + i]);
    a->now++;
    for (int i = 0; i < at->n_inputs; i++)
        if (read[i] >= 0)
            a->spans.at[read[i]].last = a->now;
    for (int i = 0; i < at->n_outputs; i++) {
        int32_t tensor = op_outputs(a->graph, op)[i];
        if (tensor >= 0 && a->plan->made[tensor] >= 0)
            begin_span(a, tensor, a->plan->made[tensor]);
    }
    for (int i = 0; i < at->n_outputs; i++) {
        int32_t tensor = op_outputs(a->graph, op)[i];
        if (tensor >= 0 && a->plan->made[tensor] != a->plan->sharding[tensor])
            move_span(a, find_span(a, tensor, a->plan->made[tensor]), a->plan->sharding[tensor]);
    }
}

/* What stays to the end: sources, which are the only ones alive at moment 0, and outputs. */
static void keep_to_end(Account *a)
{
    for (int i = 0; i < a->graph->n_outputs; i++) {
        int32_t tensor = a->graph->outputs[i];
        int32_t at = read_span(a, tensor, a->plan->sharding[tensor]);
        if (at >= 0)
            span_at(a, at)->last = INT32_MAX;
    }
    for (int i = 0; i < a->spans.n; i++)
        if (span_at(a, i)->first == 0 || span_at(a, i)->last > a->now)
            span_at(a, i)->last = a->now;
}

/* Live bytes at each moment. */
static int64_t *sum_spans(const Account *a)
{
    int64_t *live = arena_array(a->arena, int64_t, (int64_t)a->now + 2);
    for (int i = 0; i < a->spans.n; i++) {
        const Span *span = span_at(a, i);
        int64_t bytes = plan_local_bytes(a->plan, span->tensor, span->sharding);
        live[span->first] += bytes;
        live[span->last + 1] -= bytes;
    }
    for (int i = 1; i <= a->now; i++)
        live[i] += live[i - 1];
    return live;
}

static int64_t most(const int64_t *live, int from, int to)
{
    int64_t bytes = 0;
    for (int i = from; i <= to; i++)
        bytes = live[i] > bytes ? live[i] : bytes;
    return bytes;
}

MemoryUse memory_use(Arena *arena, const Plan *plan)
{
    const Inferred *inferred = plan->inferred;
    Account a = {.arena = arena_new(), .plan = plan, .graph = inferred->graph};
    a.of_tensor = arena_array(a.arena, int32_t, a.graph->n_tensors);
    for (int t = 0; t < a.graph->n_tensors; t++)
        a.of_tensor[t] = -1;
    int *end = arena_array(a.arena, int, inferred->n_program); /* per place: its last moment */
    add_sources(&a);
    for (int i = 0; i < inferred->n_program; i++) {
        add_op(&a, inferred->program[i]);
        end[i] = a.now;
    }
    keep_to_end(&a);

    const int64_t *live = sum_spans(&a);
    MemoryUse use = {.peak_bytes = most(live, 0, a.now)};
    use.live_bytes = arena_array(arena, int64_t, inferred->n_program);
    for (int i = 0; i < inferred->n_program; i++)
        use.live_bytes[i] = most(live, i > 0 ? end[i - 1] + 1 : 0, end[i]);
    arena_free(a.arena);
    return use;
}
