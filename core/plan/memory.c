#include "core/plan/memory.h"

#include <stdlib.h>

/* What is alive from one place of the program to another, both included. first > last: never. */
typedef struct {
    int first, last;
    LiveItem item;
} Span;

typedef struct {
    const Plan *plan;
    const Graph *graph;
    int n_places;
    int32_t *place; /* per op: place in the program, -1 for those that are not in it */
} Lives;

static Lives lives_of(Arena *arena, const Plan *plan)
{
    const Inferred *inferred = plan->inferred;
    Lives lives = {plan, inferred->graph, inferred->n_program, NULL};
    lives.place = arena_array(arena, int32_t, lives.graph->n_ops);
    for (int op = 0; op < lives.graph->n_ops; op++)
        lives.place[op] = -1;
    for (int i = 0; i < inferred->n_program; i++)
        lives.place[inferred->program[i]] = i;
    return lives;
}

/* The place of the last reader; -1 when nothing in the program reads the tensor. */
static int last_read(const Lives *lives, int32_t tensor)
{
    const GraphTensor *at = &lives->graph->tensors[tensor];
    if (at->output)
        return lives->n_places - 1;
    int last = -1;
    for (int32_t i = at->use; i < at[1].use; i++) {
        int place = lives->place[lives->graph->uses[i]];
        last = place > last ? place : last;
    }
    return last;
}

static Span span_of(const Lives *lives, int first, int last, int32_t tensor, int32_t sharding)
{
    LiveItem item = {.tensor = tensor, .sharding = sharding};
    item.bytes = plan_local_bytes(lives->plan, tensor, sharding);
    return (Span){first, last, item};
}

/* A tensor as it is stored or given; when a pin changes what its maker left, that one too, while
 * the maker runs. Returns how many spans; none for what is known before the run. */
static int tensor_spans(const Lives *lives, int32_t tensor, Span out[2])
{
    const Plan *plan = lives->plan;
    const GraphTensor *at = &lives->graph->tensors[tensor];
    int32_t sharding = plan->sharding[tensor], made = plan->made[tensor];
    if (plan->inferred->value[tensor])
        return 0;

    if (tensor_is_parameter(plan->inferred, tensor)) {
        out[0] = span_of(lives, 0, lives->n_places - 1, tensor, sharding);
        out[0].item.parameter = true;
        return 1;
    }
    int first = at->maker >= 0 ? lives->place[at->maker] : 0, last = last_read(lives, tensor);
    if (first < 0)
        return 0;
    if (at->maker >= 0 && last < first)
        last = first;
    out[0] = span_of(lives, first, last, tensor, sharding);
    if (at->maker < 0 || made == sharding)
        return 1;
    out[1] = span_of(lives, first, first, tensor, made);
    return 2;
}

/* A resharded copy, from its first use to its last. One that a pin asks for has no uses: it is the
 * tensor itself, and never a span. */
static Span copy_span(const Lives *lives, const Reshard *reshard)
{
    int first = lives->n_places, last = -1;
    for (int32_t i = reshard->use; i < reshard->use + reshard->n_uses; i++) {
        int place = lives->place[lives->plan->reshard_uses[i]];
        first = place >= 0 && place < first ? place : first;
        last = place > last ? place : last;
    }
    Span span = span_of(lives, first, last, reshard->tensor, reshard->to);
    span.item.copy = true;
    return span;
}

typedef Vec(LiveItem) LiveItems;

/* The constants that the op at a place reads. */
static void add_constants(const Lives *lives, Arena *arena, int place, LiveItems *out)
{
    int32_t op = lives->plan->inferred->program[place];
    const GraphOp *at = &lives->graph->ops[op];
    for (int32_t i = at->input; i < at->input + at->n_inputs; i++) {
        int32_t tensor = lives->graph->operands[i];
        if (tensor < 0 || !lives->plan->inferred->value[tensor])
            continue;
        Span span = span_of(lives, place, place, tensor, lives->plan->need[i]);
        vec_push(arena, out, span.item);
    }
}

/* ---- over the whole program ---- */

/* delta[p] is what place p holds more than the one before. */
static void add_span(int64_t *delta, const Span *span)
{
    if (span->first > span->last)
        return;
    delta[span->first] += span->item.bytes;
    delta[span->last + 1] -= span->item.bytes;
}

static int64_t *find_deltas(Arena *arena, const Lives *lives, int64_t *parameter_bytes)
{
    int64_t *delta = arena_array(arena, int64_t, lives->n_places + 1);
    Span spans[2];
    for (int32_t t = 0; t < lives->graph->n_tensors; t++) {
        int n = tensor_spans(lives, t, spans);
        for (int i = 0; i < n; i++)
            add_span(delta, &spans[i]);
        if (n > 0 && spans[0].item.parameter)
            *parameter_bytes += spans[0].item.bytes;
    }
    for (int i = 0; i < lives->plan->n_reshards; i++) {
        spans[0] = copy_span(lives, &lives->plan->reshards[i]);
        add_span(delta, &spans[0]);
    }
    return delta;
}

MemoryUse memory_use(Arena *arena, const Plan *plan)
{
    Arena *scratch = arena_new();
    Lives lives = lives_of(scratch, plan);
    MemoryUse use = {.peak_op = -1};
    int64_t *delta = find_deltas(scratch, &lives, &use.parameter_bytes), live = 0;
    use.live_bytes = arena_array(arena, int64_t, lives.n_places);
    use.peak_bytes = use.parameter_bytes;
    LiveItems constants = {0};
    for (int place = 0; place < lives.n_places; place++) {
        constants.n = 0;
        add_constants(&lives, scratch, place, &constants);
        live += delta[place];
        use.live_bytes[place] = live;
        for (int i = 0; i < constants.n; i++)
            use.live_bytes[place] += constants.at[i].bytes;
        if (use.peak_op < 0 || use.live_bytes[place] > use.peak_bytes) {
            use.peak_bytes = use.live_bytes[place];
            use.peak_op = plan->inferred->program[place];
        }
    }
    arena_free(scratch);
    return use;
}

/* ---- at one op ---- */

/* Larger first, then by number, a copy after its value: the order is one on every machine. */
static int compare_items(const void *left, const void *right)
{
    const LiveItem *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    if (a->tensor != b->tensor)
        return a->tensor < b->tensor ? -1 : 1;
    if (a->copy != b->copy)
        return a->copy ? 1 : -1;
    return (a->sharding > b->sharding) - (a->sharding < b->sharding);
}

static void add_if_alive(Arena *arena, const Span *span, int place, LiveItems *out)
{
    if (span->first <= place && place <= span->last)
        vec_push(arena, out, span->item);
}

int memory_live_at(Arena *arena, const Plan *plan, int32_t op, LiveItem **out)
{
    Lives lives = lives_of(arena, plan);
    LiveItems items = {0};
    int place = lives.place[op];
    Span spans[2];
    *out = NULL;
    if (place < 0)
        return 0;
    for (int32_t t = 0; t < lives.graph->n_tensors; t++) {
        int n = tensor_spans(&lives, t, spans);
        for (int i = 0; i < n; i++)
            add_if_alive(arena, &spans[i], place, &items);
    }
    for (int i = 0; i < plan->n_reshards; i++) {
        spans[0] = copy_span(&lives, &plan->reshards[i]);
        add_if_alive(arena, &spans[0], place, &items);
    }
    add_constants(&lives, arena, place, &items);
    if (items.n > 0)
        qsort(items.at, (size_t)items.n, sizeof *items.at, compare_items);
    *out = items.at;
    return items.n;
}
