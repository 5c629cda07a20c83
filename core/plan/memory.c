#include "core/plan/memory.h"

#include <assert.h>
#include <stdlib.h>

/* A value on rank 0, alive from one moment to another, both included. A moment is one loading, op
 * or step. */
typedef struct {
    int32_t tensor, sharding;
    int first, last;
    int32_t next;    /* another span of the tensor, or -1 */
    bool filled;     /* by a step of a reshard, at moment `first` */
    bool in_between; /* two steps of a reshard: nobody reads it later */
    bool kept;       /* to the end */
} Span;

typedef struct {
    Arena *arena;
    const Plan *plan;
    const Graph *graph;
    Vec(Span) spans;
    int32_t *of_tensor; /* its first span, or -1 */
    int now;
    int *end;      /* per place: its last moment */
    int64_t *live; /* bytes at each moment */
} Account;

static Span *span_at(const Account *a, int32_t at)
{
    assert(a->spans.at && 0 <= at && at < a->spans.n);
    return &a->spans.at[at];
}

static int32_t begin_span(Account *a, int32_t tensor, int32_t sharding)
{
    Span span = {.tensor = tensor,
                 .sharding = sharding,
                 .first = a->now,
                 .last = a->now,
                 .next = a->of_tensor[tensor]};
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
        span_at(a, at)->filled = true;
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
            span_at(a, read[i])->last = a->now;
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
            span_at(a, at)->kept = true;
    }
    for (int i = 0; i < a->spans.n; i++) {
        Span *span = span_at(a, i);
        span->kept |= span->first == 0;
        if (span->kept)
            span->last = a->now;
    }
}

/* Live bytes at each moment. */
static void sum_spans(Account *a)
{
    int64_t *live = a->live = arena_array(a->arena, int64_t, (int64_t)a->now + 2);
    for (int i = 0; i < a->spans.n; i++) {
        const Span *span = span_at(a, i);
        int64_t bytes = plan_local_bytes(a->plan, span->tensor, span->sharding);
        live[span->first] += bytes;
        live[span->last + 1] -= bytes;
    }
    for (int i = 1; i <= a->now; i++)
        live[i] += live[i - 1];
}

/* arena_free(a.arena) ends it. */
static Account account_make(const Plan *plan)
{
    const Inferred *inferred = plan->inferred;
    Account a = {.arena = arena_new(), .plan = plan, .graph = inferred->graph};
    a.of_tensor = arena_array(a.arena, int32_t, a.graph->n_tensors);
    for (int t = 0; t < a.graph->n_tensors; t++)
        a.of_tensor[t] = -1;
    a.end = arena_array(a.arena, int, inferred->n_program);
    add_sources(&a);
    for (int i = 0; i < inferred->n_program; i++) {
        add_op(&a, inferred->program[i]);
        a.end[i] = a.now;
    }
    keep_to_end(&a);
    if (inferred->n_program > 0)
        a.end[inferred->n_program - 1] = a.now;
    sum_spans(&a);
    return a;
}

/* The moment of a place when most is alive; what is there before the first op counts for it. */
static int fullest_moment(const Account *a, int place)
{
    int most = place > 0 ? a->end[place - 1] + 1 : 0;
    for (int i = most; place >= 0 && i <= a->end[place]; i++)
        if (a->live[i] > a->live[most])
            most = i;
    return most;
}

MemoryUse memory_use(Arena *arena, const Plan *plan)
{
    Account a = account_make(plan);
    int n = plan->inferred->n_program;
    MemoryUse use = {.peak_bytes = a.live[0], .peak_place = n > 0 ? 0 : -1};
    use.live_bytes = arena_array(arena, int64_t, n);
    for (int i = 0; i < n; i++) {
        use.live_bytes[i] = a.live[fullest_moment(&a, i)];
        if (use.live_bytes[i] > use.peak_bytes) {
            use.peak_bytes = use.live_bytes[i];
            use.peak_place = i;
        }
    }
    arena_free(a.arena);
    return use;
}

/* ---- what is alive ---- */

/* Of a moment after the first: ends rise. */
static int place_of(const Account *a, int moment)
{
    int first = 0, last = a->plan->inferred->n_program - 1;
    while (first < last) {
        int middle = first + (last - first) / 2;
        if (a->end[middle] < moment)
            first = middle + 1;
        else
            last = middle;
    }
    return first;
}

static LiveValue live_value(const Account *a, const Span *span, MemoryClass class, int moment)
{
    const Plan *plan = a->plan;
    const Sharding *sharding = shardings_at(plan->shardings, span->sharding);
    Dtype dtype = (Dtype)plan->inferred->dtype[span->tensor];
    LiveValue value = {.tensor = span->tensor, .sharding = span->sharding, .class = class};
    if (span->in_between || (span->filled && span->first == moment))
        value.class = MEMORY_BUFFER;
    value.bytes = plan_local_bytes(plan, span->tensor, span->sharding);
    int64_t least = sharding_local_elements(sharding, plan->mesh, plan->mesh->n_devices - 1);
    value.padding_bytes = value.bytes - dtype_bytes(dtype, least);
    value.from = span->first == 0 ? -1 : place_of(a, span->first);
    value.to = span->kept ? plan->inferred->n_program : place_of(a, span->last);
    return value;
}

static int larger_first(const void *left, const void *right)
{
    const LiveValue *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    if (a->tensor != b->tensor)
        return a->tensor < b->tensor ? -1 : 1;
    return (a->sharding > b->sharding) - (a->sharding < b->sharding);
}

LiveSet memory_live_at(Arena *arena, const Plan *plan, int place)
{
    Account a = account_make(plan);
    const MemoryClass *class = memory_classes(a.arena, plan->inferred);
    int moment = fullest_moment(&a, place);
    LiveSet set = {0};
    LiveValue *at = arena_array(arena, LiveValue, a.spans.n);
    for (int i = 0; i < a.spans.n; i++) {
        const Span *span = span_at(&a, i);
        if (moment < span->first || span->last < moment)
            continue;
        LiveValue value = live_value(&a, span, class[span->tensor], moment);
        set.bytes += value.bytes;
        set.padding_bytes += value.padding_bytes;
        set.by_class[value.class] += value.bytes;
        if (value.bytes > 0)
            at[set.n++] = value;
    }
    qsort(at, (size_t)set.n, sizeof *at, larger_first);
    set.at = at;
    arena_free(a.arena);
    return set;
}

/* ---- before the run ---- */

void memory_init(const Plan *plan, int64_t rank, InitMemory *out)
{
    const Inferred *inferred = plan->inferred;
    *out = (InitMemory){.largest = -1};
    for (int32_t t = 0; t < inferred->graph->n_tensors; t++) {
        if (!tensor_is_parameter(inferred, t) || plan->sharding[t] < 0)
            continue;
        int64_t whole = inferred_bytes(inferred, t);
        int64_t part =
            dtype_bytes((Dtype)inferred->dtype[t],
                        sharding_local_elements(plan_sharding(plan, t), plan->mesh, rank));
        int64_t now = out->parts_bytes + whole + (part < whole ? part : 0);
        if (out->largest < 0 || now > out->cut_bytes) {
            out->cut_bytes = now;
            out->largest = t;
        }
        out->parts_bytes += part;
        out->whole_bytes += whole;
    }
}
