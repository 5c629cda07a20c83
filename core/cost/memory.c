#include "core/cost/memory.h"

#include "core/base/intern.h"
#include "core/cost/absorbed.h"
#include "core/plan/edges.h"
#include "core/plan/stage.h"

#include <assert.h>
#include <stdlib.h>

enum { RANKS_ASKED_MAX = 4096 };
enum { LOOK_EVERY = 4096 }; /* ops between two checks for cancellation */

/* A value on a rank, alive from one moment to another, both included. A moment is the loading
 * before the run, an op, or a step of a reshard. */
typedef struct {
    int32_t tensor, sharding;
    int first, last;
    int32_t next;        /* the next span of the same tensor, or -1 */
    int32_t whose;       /* the span whose bytes it has, of a layout change that is absorbed, or -1
                          */
    uint8_t phase;       /* Reshard.phase of what makes it */
    int16_t devices;     /* the part of the mesh that holds it: index into plan->submeshes */
    bool filled : 1;     /* made by a step of a reshard, at moment `first` */
    bool in_between : 1; /* between two steps of a reshard: no op reads it */
    bool kept : 1;       /* alive until the end */
} LiveSpan;

typedef struct MemoryAccount {
    Arena *arena; /* the tensor is stored on that part */
    const Plan *plan;
    const Graph *graph;
    Vec(LiveSpan) spans;
    int32_t *of_tensor; /* its first span, or -1 */
    int now;
    int *end;    /* per op of the program: its last moment */
    bool copies; /* layout changes that could be absorbed are made, as in the run */
    ReshardIndex reshards;
} Account;

/* A value in one sharding on one part of the mesh. */
typedef struct {
    int32_t tensor, sharding;
    int devices;
    int phase; /* plan_phase() of its reader */
} HeldValue;

static LiveSpan *span_at(const Account *a, int32_t at)
{
    assert(a->spans.at && 0 <= at && at < a->spans.n);
    return &a->spans.at[at];
}

static int32_t begin_span(Account *a, HeldValue value)
{
    LiveSpan span = {.tensor = value.tensor,
                     .sharding = value.sharding,
                     .devices = (int16_t)value.devices,
                     .first = a->now,
                     .last = a->now,
                     .next = a->of_tensor[value.tensor],
                     .whose = -1};
    vec_push_own(a->arena, &a->spans, span);
    a->of_tensor[value.tensor] = a->spans.n - 1;
    return a->spans.n - 1;
}

/* It is alive now, and so is the span whose bytes it has. */
static void use_span(const Account *a, int32_t at)
{
    for (; at >= 0; at = span_at(a, at)->whose)
        span_at(a, at)->last = a->now;
}

static int32_t find_span(const Account *a, HeldValue value)
{
    int32_t at = a->of_tensor[value.tensor];
    while (at >= 0 && (span_at(a, at)->sharding != value.sharding ||
                       span_at(a, at)->devices != value.devices || span_at(a, at)->in_between ||
                       (span_at(a, at)->phase != 0 && value.phase != 0 &&
                        span_at(a, at)->phase != value.phase)))
        at = span_at(a, at)->next;
    return at;
}

/* Adds a span for every step of the reshard that makes the value: each step fills one copy from
 * the one before. Returns -1 if the source does not exist yet. */
static int32_t move_span(Account *a, HeldValue value)
{
    int32_t r =
        reshard_filling(&a->reshards, value.tensor, value.sharding, value.devices, value.phase);
    if (r < 0)
        return -1;
    const Reshard *reshard = &a->plan->moved->reshards[r];
    const ReshardPath *path = reshard->path;
    HeldValue from = {value.tensor, reshard->from, reshard->from_devices, value.phase};
    int32_t at = find_span(a, from);
    if (at < 0 && reshard->from_devices != value.devices)
        at = move_span(a, from);
    for (int i = 0; at >= 0 && i < path->n_steps; i++) {
        a->now++;
        use_span(a, at);
        at = begin_span(
            a, (HeldValue){value.tensor, path->step[i].to, reshard_step_devices(reshard, i), 0});
        span_at(a, at)->phase = reshard->phase;
        span_at(a, at)->filled = true;
        span_at(a, at)->in_between = i + 1 < path->n_steps;
    }
    return at;
}

/* The span that an operand is read from; -1 if it has no sharding. */
static int32_t read_span(Account *a, HeldValue value)
{
    if (value.tensor < 0 || value.sharding < 0)
        return -1;
    int32_t at = find_span(a, value);
    if (at >= 0)
        return at;
    if (tensor_is_known(a->plan->inferred, value.tensor)) {
        a->now++;
        return begin_span(a, value);
    }
    return move_span(a, value);
}

/* A parameter or graph input on the parts of the mesh that store it; on none if nobody reads it. */
static void add_source(Account *a, int32_t tensor)
{
    HeldValue value = {tensor, a->plan->moved->sharding[tensor], 0, 0};
    for (int at = 0; (value.devices = stage_given_on(a->plan, tensor, &at)) >= 0;)
        if (find_span(a, value) < 0)
            begin_span(a, value);
}

/* Values that exist before the first op. */
static void add_sources(Account *a)
{
    for (int t = 0; t < a->graph->n_tensors; t++)
        if (a->graph->tensors[t].maker < 0 && !tensor_is_known(a->plan->inferred, t) &&
            a->plan->moved->sharding[t] >= 0)
            add_source(a, t);
}

/* The span of the value that output o is the new value of, where it is written in its place; -1. */
static int32_t updated_span(const Account *a, int32_t op, int o, const int32_t *read)
{
    const OpSpace *space = program_space(a->plan->inferred, op);
    int input = o < space->n_outputs ? opspace_output(space, o)->updates - 1 : -1;
    int32_t made = op_outputs(a->graph, op)[o];
    const int32_t *next_of = a->graph->next_of;
    bool own = !a->copies && input >= 0 && next_of &&
               next_of[made] == op_inputs(a->graph, op)[input] && read[input] >= 0;
    return own && span_at(a, read[input])->sharding == a->plan->moved->made[made] ? read[input]
                                                                                  : -1;
}

static void add_op(Account *a, int32_t op)
{
    const GraphOp *at = &a->graph->ops[op];
    int32_t *read = arena_array(a->arena, int32_t, at->n_inputs);
    int devices = plan_devices(a->plan, op);
    for (int i = 0; i < at->n_inputs; i++)
        read[i] = read_span(a, (HeldValue){op_inputs(a->graph, op)[i],
                                           a->plan->moved->need[at->input + i], devices,
                                           plan_phase(a->plan, op)});
    a->now++;
    for (int i = 0; i < at->n_inputs; i++)
        use_span(a, read[i]);
    bool absorbed = !a->copies && op_absorbed_by(a->plan->inferred, op) >= 0;
    for (int i = 0; i < at->n_outputs; i++) {
        int32_t tensor = op_outputs(a->graph, op)[i], span;
        if (tensor < 0 || a->plan->moved->made[tensor] < 0)
            continue;
        span = begin_span(a, (HeldValue){tensor, a->plan->moved->made[tensor], devices, 0});
        span_at(a, span)->whose = absorbed ? read[0] : updated_span(a, op, i, read);
    }
    for (int i = 0; i < at->n_outputs; i++) {
        int32_t tensor = op_outputs(a->graph, op)[i];
        if (tensor >= 0 && a->plan->moved->made[tensor] != a->plan->moved->sharding[tensor])
            move_span(a, (HeldValue){tensor, a->plan->moved->sharding[tensor], devices, 0});
    }
}

/* Values that stay until the end: sources, which alone are alive at moment 0, and graph outputs. */
static void keep_to_end(Account *a)
{
    for (int i = 0; i < a->graph->n_outputs; i++) {
        int32_t tensor = a->graph->outputs[i], maker = a->graph->tensors[tensor].maker;
        bool made = maker >= 0 && !tensor_is_known(a->plan->inferred, tensor);
        int devices = made ? plan_devices(a->plan, maker) : 0;
        int32_t at =
            read_span(a, (HeldValue){tensor, a->plan->moved->sharding[tensor], devices, 0});
        if (at >= 0)
            span_at(a, at)->kept = true;
    }
    for (int i = 0; i < a->spans.n; i++) {
        span_at(a, i)->kept |= span_at(a, i)->first == 0;
        if (span_at(a, i)->kept)
            use_span(a, i);
    }
}

static Account *make_account(const Plan *plan, bool copies, Progress *progress)
{
    const Inferred *inferred = plan->inferred;
    Arena *arena = arena_new();
    Account *a = arena_make(arena, Account);
    *a = (Account){.arena = arena, .plan = plan, .graph = inferred->graph, .copies = copies};
    a->of_tensor = arena_array(arena, int32_t, a->graph->n_tensors);
    for (int t = 0; t < a->graph->n_tensors; t++)
        a->of_tensor[t] = -1;
    a->end = arena_array(arena, int, inferred->n_program);
    a->reshards = reshard_index(arena, plan);
    add_sources(a);
    for (int i = 0; i < inferred->n_program; i++) {
        if (i % LOOK_EVERY == 0 && progress_stopped(progress)) {
            arena_free(arena);
            return NULL;
        }
        add_op(a, inferred->program[i]);
        a->end[i] = a->now;
    }
    keep_to_end(a);
    if (inferred->n_program > 0)
        a->end[inferred->n_program - 1] = a->now;
    return a;
}

Account *memory_account_make(const Plan *plan, Progress *progress)
{
    return make_account(plan, false, progress);
}

Account *memory_account_new(const Plan *plan)
{
    return memory_account_make(plan, NULL);
}

void memory_account_free(Account *account)
{
    if (account)
        arena_free(account->arena);
}

/* ---- bytes of one rank ---- */

/* Local elements of each sharding on a rank, computed on first use. */
typedef struct {
    const Plan *plan;
    int64_t rank;
    int64_t *elements; /* -1 until computed */
} PartSizes;

static PartSizes parts_new(Arena *arena, const Plan *plan, int64_t rank)
{
    int n = shardings_count(plan->shardings);
    PartSizes parts = {plan, rank, arena_array(arena, int64_t, n)};
    for (int i = 0; i < n; i++)
        parts.elements[i] = -1;
    return parts;
}

/* Bytes on a rank that holds the value. */
static int64_t part_bytes(const PartSizes *parts, const LiveSpan *span)
{
    const Plan *plan = parts->plan;
    int64_t *elements = &parts->elements[span->sharding];
    if (span->whose >= 0)
        return 0;
    if (*elements < 0)
        *elements = sharding_local_elements(shardings_at(plan->shardings, span->sharding),
                                            plan->mesh, parts->rank);
    return dtype_bytes((Dtype)plan->inferred->dtype[span->tensor], *elements);
}

static bool has_span(const PartSizes *parts, const LiveSpan *span)
{
    const Plan *plan = parts->plan;
    return submesh_has(plan->mesh, plan->decided->submeshes[span->devices], parts->rank);
}

/* Live bytes at every moment. */
static int64_t *sum_spans(Arena *scratch, const Account *a, int64_t rank)
{
    PartSizes parts = parts_new(scratch, a->plan, rank);
    int64_t *live = arena_array(scratch, int64_t, (int64_t)a->now + 2);
    for (int i = 0; i < a->spans.n; i++) {
        const LiveSpan *span = span_at(a, i);
        int64_t bytes = has_span(&parts, span) ? part_bytes(&parts, span) : 0;
        live[span->first] += bytes;
        live[span->last + 1] -= bytes;
    }
    for (int i = 1; i <= a->now; i++)
        live[i] += live[i - 1];
    return live;
}

/* The moment of an op at which most is alive; the loading before the run counts for the first op.
 */
static int fullest_moment(const Account *a, const int64_t *live, int place)
{
    int most = place > 0 ? a->end[place - 1] + 1 : 0;
    for (int i = most; place >= 0 && i <= a->end[place]; i++)
        if (live[i] > live[most])
            most = i;
    return most;
}

MemoryUse memory_use_of(Arena *arena, const Account *a, int64_t rank)
{
    Arena *scratch = arena_new();
    const int64_t *live = sum_spans(scratch, a, rank);
    int n = a->plan->inferred->n_program;
    MemoryUse use = {.rank = rank, .peak_bytes = live[0], .peak_place = n > 0 ? 0 : -1};
    use.live_bytes = arena_array(arena, int64_t, n);
    for (int i = 0; i < n; i++) {
        use.live_bytes[i] = live[fullest_moment(a, live, i)];
        if (use.live_bytes[i] > use.peak_bytes) {
            use.peak_bytes = use.live_bytes[i];
            use.peak_place = i;
        }
    }
    arena_free(scratch);
    return use;
}

const ClassBytes *memory_classes_of(Arena *arena, const Account *a, int64_t rank)
{
    Arena *scratch = arena_new();
    PartSizes parts = parts_new(scratch, a->plan, rank);
    const int64_t *sum = sum_spans(scratch, a, rank);
    const MemoryClass *class = memory_classes(scratch, a->plan->inferred);
    ClassBytes *live = arena_array(scratch, ClassBytes, (int64_t)a->now + 2);
    int n = a->plan->inferred->n_program;
    ClassBytes *out = arena_array(arena, ClassBytes, n);

    for (int i = 0; i < a->spans.n; i++) {
        const LiveSpan *span = span_at(a, i);
        int64_t bytes = has_span(&parts, span) ? part_bytes(&parts, span) : 0;
        int from = span->in_between ? span->last + 1 : span->first + span->filled;
        live[span->first].of[MEMORY_BUFFER] += bytes; /* while it is being filled */
        live[from].of[MEMORY_BUFFER] -= bytes;
        live[from].of[class[span->tensor]] += bytes;
        live[span->last + 1].of[class[span->tensor]] -= bytes;
    }
    for (int i = 1; i <= a->now; i++)
        for (int c = 0; c < MEMORY_CLASS_COUNT; c++)
            live[i].of[c] += live[i - 1].of[c];
    for (int i = 0; i < n; i++)
        out[i] = live[fullest_moment(a, sum, i)];
    arena_free(scratch);
    return out;
}

/* Ranks that differ in an axis which distinguishes devices of stages are on other parts of the
 * mesh; among the others, the first has the largest shards. */
static int64_t fullest_rank(const Account *a)
{
    const Plan *plan = a->plan;
    int64_t fullest = 0, most = -1;
    AtomSet fixed = 0;
    for (int s = 0; s < plan->decided->n_submeshes; s++)
        fixed |= plan->decided->submeshes[s].fixed;
    int64_t n = mesh_atoms_size(plan->mesh, fixed);
    bool each = n <= RANKS_ASKED_MAX;
    for (int64_t i = 0; i < (each ? n : plan->decided->n_submeshes); i++) {
        Arena *scratch = arena_new();
        int64_t rank =
            each ? mesh_group_member(plan->mesh, fixed, 0, i) : plan->decided->submeshes[i].first;
        int64_t bytes = n == 1 ? 0 : memory_use_of(scratch, a, rank).peak_bytes;
        if (bytes > most) {
            most = bytes;
            fullest = rank;
        }
        arena_free(scratch);
    }
    return fullest;
}

static MemoryUse fullest_use(Arena *arena, Account *account)
{
    if (!account)
        return (MemoryUse){.peak_place = -1};
    MemoryUse use = memory_use_of(arena, account, fullest_rank(account));
    memory_account_free(account);
    return use;
}

MemoryUse memory_use(Arena *arena, const Plan *plan)
{
    return fullest_use(arena, memory_account_make(plan, plan->progress));
}

MemoryUse memory_use_in_run(Arena *arena, const Plan *plan)
{
    return fullest_use(arena, make_account(plan, true, NULL));
}

/* ---- what is alive ---- */

/* For moments after the first, since ends only grow. */
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

static LiveValue live_value(const Account *a, const PartSizes *parts, const LiveSpan *span,
                            MemoryClass class, int moment)
{
    LiveValue value = {.tensor = span->tensor, .sharding = span->sharding, .class = class};
    if (span->in_between || (span->filled && span->first == moment))
        value.class = MEMORY_BUFFER;
    value.bytes = part_bytes(&parts[0], span);
    value.padding_bytes = value.bytes - part_bytes(&parts[1], span);
    value.from = span->first == 0 ? -1 : place_of(a, span->first);
    value.to = span->kept ? a->plan->inferred->n_program : place_of(a, span->last);
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

LiveSet memory_live_of(Arena *arena, const Account *a, int64_t rank, int place)
{
    Arena *scratch = arena_new();
    int moment = fullest_moment(a, sum_spans(scratch, a, rank), place);
    const MemoryClass *class = memory_classes(scratch, a->plan->inferred);
    const PartSizes parts[2] = {parts_new(scratch, a->plan, rank),
                                parts_new(scratch, a->plan, a->plan->mesh->n_devices - 1)};
    LiveSet set = {0};
    int n_alive = 0;
    for (int i = 0; i < a->spans.n; i++) /* on some rank */
        n_alive += span_at(a, i)->first <= moment && moment <= span_at(a, i)->last;
    LiveValue *at = arena_array(arena, LiveValue, n_alive);
    for (int i = 0; i < a->spans.n; i++) {
        const LiveSpan *span = span_at(a, i);
        if (moment < span->first || span->last < moment || !has_span(&parts[0], span))
            continue;
        LiveValue value = live_value(a, parts, span, class[span->tensor], moment);
        set.bytes += value.bytes;
        set.padding_bytes += value.padding_bytes;
        set.by_class[value.class] += value.bytes;
        if (value.bytes > 0)
            at[set.n++] = value;
    }
    if (set.n > 0)
        qsort(at, (size_t)set.n, sizeof *at, larger_first);
    set.at = at;
    arena_free(scratch);
    return set;
}

LiveSet memory_live_at(Arena *arena, const Plan *plan, int64_t rank, int place)
{
    Account *account = memory_account_new(plan);
    LiveSet set = memory_live_of(arena, account, rank, place);
    memory_account_free(account);
    return set;
}

/* ---- before the run ---- */

/* Returns whether the rank stores the parameter. */
static bool has_parameter(const Plan *plan, int32_t tensor, int64_t rank)
{
    if (!plan->decided->devices)
        return true;
    for (int at = 0, devices; (devices = stage_given_on(plan, tensor, &at)) >= 0;)
        if (submesh_has(plan->mesh, plan->decided->submeshes[devices], rank))
            return true;
    return false;
}

void memory_init(const Plan *plan, int64_t rank, InitMemory *out)
{
    const Inferred *inferred = plan->inferred;
    *out = (InitMemory){.largest = -1};
    for (int32_t t = 0; t < inferred->graph->n_tensors; t++) {
        if (!tensor_is_parameter(inferred, t) || plan->moved->sharding[t] < 0 ||
            !has_parameter(plan, t, rank))
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

/* ---- rank by rank ---- */

/* The shardings of all spans whose shards have different sizes. */
static int uneven_shardings(Arena *scratch, const Account *a, int32_t *out)
{
    const Mesh *mesh = a->plan->mesh;
    bool *seen = arena_array(scratch, bool, shardings_count(a->plan->shardings));
    int n = 0;
    for (int i = 0; i < a->spans.n; i++) {
        int32_t id = span_at(a, i)->sharding;
        const Sharding *sharding = shardings_at(a->plan->shardings, id);
        if (!seen[id] && sharding_local_elements(sharding, mesh, 0) !=
                             sharding_local_elements(sharding, mesh, mesh->n_devices - 1))
            out[n++] = id;
        seen[id] = true;
    }
    return n;
}

static int more_first(const void *left, const void *right)
{
    const RankMemory *a = left, *b = right;
    if (a->use.peak_bytes != b->use.peak_bytes)
        return a->use.peak_bytes > b->use.peak_bytes ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Splits groups of ranks by one number of each rank; returns the number of groups. */
static int split_by(const Mesh *mesh, int32_t *group, const int64_t *number)
{
    Arena *scratch = arena_new();
    Intern *keys = intern_new(scratch);
    for (int64_t rank = 0; rank < mesh->n_devices; rank++) {
        int64_t key[2] = {group[rank], number[rank]};
        group[rank] = intern_put(keys, key, sizeof key);
    }
    int n = intern_count(keys);
    arena_free(scratch);
    return n;
}

/* Splits the ranks by the sizes of their shards, and by the parts of the mesh they are on; returns
 * the number of groups. */
static int split_ranks(const Account *a, const int32_t *uneven, int n_uneven, int32_t *group)
{
    const Plan *plan = a->plan;
    const Mesh *mesh = plan->mesh;
    int n_groups = 1;
    Arena *scratch = arena_new();
    int64_t *number = arena_array(scratch, int64_t, mesh->n_devices);
    for (int i = 0; i < n_uneven; i++) {
        const Sharding *sharding = shardings_at(plan->shardings, uneven[i]);
        for (int64_t rank = 0; rank < mesh->n_devices; rank++)
            number[rank] = sharding_local_elements(sharding, mesh, rank);
        n_groups = split_by(mesh, group, number);
    }
    for (int s = 1; s < plan->decided->n_submeshes; s++) {
        for (int64_t rank = 0; rank < mesh->n_devices; rank++)
            number[rank] = submesh_has(mesh, plan->decided->submeshes[s], rank);
        n_groups = split_by(mesh, group, number);
    }
    arena_free(scratch);
    return n_groups;
}

RankMemories memory_ranks(Arena *arena, const Account *a, Progress *progress)
{
    int64_t n_ranks = a->plan->mesh->n_devices;
    Arena *scratch = arena_new();
    int32_t *uneven = arena_array(scratch, int32_t, shardings_count(a->plan->shardings));
    int n_uneven = uneven_shardings(scratch, a, uneven);
    int32_t *group = arena_array(arena, int32_t, n_ranks);
    RankMemories ranks = {.n = split_ranks(a, uneven, n_uneven, group), .of_rank = group};
    RankMemory *at = arena_array(arena, RankMemory, ranks.n);
    for (int64_t rank = n_ranks - 1; rank >= 0; rank--) {
        at[group[rank]].rank = rank;
        at[group[rank]].n_ranks++;
    }
    int32_t *before = arena_array(scratch, int32_t, n_ranks), *now = NULL;
    progress_stage(progress, "counting memory", ranks.n);
    for (int i = 0; i < ranks.n && !progress_stopped(progress); i++) {
        before[at[i].rank] = i;
        at[i].use = memory_use_of(arena, a, at[i].rank);
        LiveSet set = memory_live_of(scratch, a, at[i].rank, at[i].use.peak_place);
        memcpy(at[i].by_class, set.by_class, sizeof set.by_class);
        memory_init(a->plan, at[i].rank, &at[i].init);
        progress_add(progress, 1);
    }
    qsort(at, (size_t)ranks.n, sizeof *at, more_first);
    now = arena_array(scratch, int32_t, ranks.n);
    for (int i = 0; i < ranks.n; i++)
        now[before[at[i].rank]] = i;
    for (int64_t rank = 0; rank < n_ranks; rank++)
        group[rank] = now[group[rank]];
    ranks.at = at;
    arena_free(scratch);
    return ranks;
}
