#include "core/cost/memory_account.h"

#include "core/base/intern.h"
#include "core/plan/routed.h"
#include "core/plan/stage.h"
#include "core/plan/plan_machine.h"

#include <stdlib.h>

enum { RANKS_ASKED_MAX = 4096 };

/* ---- bytes of one rank ---- */

/* Of a rank: local elements of each sharding, computed on first use, and where it is. */
typedef struct {
    const Plan *plan;
    int64_t rank;
    int64_t *elements; /* -1 until computed */
    bool *is_on;       /* by part of the mesh */
} PartSizes;

static PartSizes parts_new(Arena *arena, const Plan *plan, int64_t rank)
{
    int n = shardings_count(plan->shardings), n_parts = plan->decided->n_submeshes;
    PartSizes parts = {plan, rank, arena_array(arena, int64_t, n),
                       arena_array(arena, bool, n_parts)};
    for (int i = 0; i < n; i++)
        parts.elements[i] = -1;
    for (int s = 0; s < n_parts; s++)
        parts.is_on[s] = submesh_has(plan->mesh, plan->decided->submeshes[s], rank);
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
    if (span->kernel == OPERATOR_KEEPS_MASK)
        return *elements;
    const Shape *shape = inferred_shape(plan->inferred, span->tensor);
    int64_t row = shape && shape->n_dims > 0 ? shape->dim[shape->n_dims - 1] : 1;
    if (span->kernel == OPERATOR_KEEPS_ROWS)
        return row > 0 ? *elements / row * dtype_bytes(DT_F32, 1) : 0;
    return routed_bytes(plan->routed, span->tensor, shardings_at(plan->shardings, span->sharding),
                        plan->mesh, inferred_part_bytes(plan->inferred, span->tensor, *elements));
}

static bool has_span(const PartSizes *parts, const LiveSpan *span)
{
    return parts->is_on[span->devices];
}

/* By how much the live bytes change at every moment. */
static int64_t *sum_changes(Arena *scratch, const Account *a, int64_t rank)
{
    PartSizes parts = parts_new(scratch, a->plan, rank);
    int64_t *live = arena_array(scratch, int64_t, (int64_t)a->now + 2);
    for (int part = 0; part < a->plan->decided->n_submeshes; part++)
        for (int i = a->part_begin[part]; parts.is_on[part] && i < a->part_begin[part + 1]; i++) {
            const LiveSpan *span = span_at(a, a->by_part[i]);
            int64_t bytes = part_bytes(&parts, span);
            live[span->first] += bytes;
            live[span->last + 1] -= bytes;
            live[0] += span->others * bytes;
            live[a->last_backward + 1] -= span->others * bytes;
        }
    return live;
}

/* The most bytes at a moment, of bytes that come and go; `change` is overwritten. */
static int64_t most_of(const Account *a, int64_t *change)
{
    int64_t most = change[0];
    for (int i = 1; i <= a->now; i++) {
        change[i] += change[i - 1];
        most = change[i] > most ? change[i] : most;
    }
    return most;
}

/* Live bytes at every moment. */
static int64_t *sum_spans(Arena *scratch, const Account *a, int64_t rank)
{
    int64_t *live = sum_changes(scratch, a, rank);
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
        live[from].of[class[span->as]] += bytes;
        live[span->last + 1].of[class[span->as]] -= bytes;
        live[0].of[class[span->as]] += span->others * bytes;
        live[a->last_backward + 1].of[class[span->as]] -= span->others * bytes;
    }
    for (int i = 1; i <= a->now; i++)
        for (int c = 0; c < MEMORY_CLASS_COUNT; c++)
            live[i].of[c] += live[i - 1].of[c];
    for (int i = 0; i < n; i++)
        out[i] = live[fullest_moment(a, sum, i)];
    arena_free(scratch);
    return out;
}

/* Along these rank 0 need not hold most: a rank between two others has borders of both, the first
 * of one; and parts of given sizes are as large as they are. */
static AtomSet unequal_atoms(const Account *a)
{
    AtomSet atoms = 0;
    for (int i = 0; i < a->spans.n; i++) {
        const Sharding *sharding = shardings_at(a->plan->shardings, span_at(a, i)->sharding);
        for (int d = 0; d < sharding->n_dims; d++)
            if (cut_has_sizes(&sharding->dim[d]) ||
                (cut_has_halo(&sharding->dim[d]) && !cut_is_ring(&sharding->dim[d])))
                atoms |= cut_atoms(&sharding->dim[d]);
    }
    return atoms;
}

/* Ranks that differ in an axis which distinguishes devices of stages are on other parts of the
 * mesh, and ranks may differ along unequal_atoms(); among the others, the first has the largest
 * shards. */
static int64_t fullest_rank(const Account *a)
{
    const Plan *plan = a->plan;
    int64_t fullest = 0;
    double most = -1; /* share of the device's memory */
    AtomSet fixed = unequal_atoms(a) | stages_atoms(plan);
    int64_t n = mesh_atoms_size(plan->mesh, fixed);
    bool each = n <= RANKS_ASKED_MAX;
    for (int64_t i = 0; i < (each ? n : plan->decided->n_submeshes); i++) {
        Arena *scratch = arena_new();
        int64_t rank =
            each ? mesh_group_member(plan->mesh, fixed, 0, i) : plan->decided->submeshes[i].first;
        int64_t bytes = n == 1 ? 0 : most_of(a, sum_changes(scratch, a, rank));
        int64_t memory = plan_rank_memory(plan, rank);
        double share = (double)bytes / (memory > 0 ? (double)memory : 1);
        if (share > most) {
            most = share;
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
    return fullest_use(arena, account_make(plan, true, NULL));
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

/* How many micro-batches have the value at that moment. */
static int n_alive_at(const Account *a, const LiveSpan *span, int moment)
{
    return (span->first <= moment && moment <= span->last) +
           (moment <= a->last_backward ? span->others : 0);
}

static LiveValue live_value(const Account *a, const PartSizes *parts, const LiveSpan *span,
                            MemoryClass class, int moment)
{
    LiveValue value = {.tensor = span->tensor, .sharding = span->sharding, .class = class};
    if (span->in_between || (span->filled && span->first == moment))
        value.class = MEMORY_BUFFER;
    int n = n_alive_at(a, span, moment);
    value.bytes = n * part_bytes(&parts[0], span);
    value.padding_bytes = value.bytes - n * part_bytes(&parts[1], span);
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
        n_alive += n_alive_at(a, span_at(a, i), moment) > 0;
    LiveValue *at = arena_array(arena, LiveValue, n_alive);
    for (int i = 0; i < a->spans.n; i++) {
        const LiveSpan *span = span_at(a, i);
        if (n_alive_at(a, span, moment) == 0 || !has_span(&parts[0], span))
            continue;
        LiveValue value = live_value(a, parts, span, class[span->as], moment);
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

void memory_saved(const Account *a, int64_t rank, int64_t *bytes)
{
    Arena *scratch = arena_new();
    PartSizes parts = parts_new(scratch, a->plan, rank);
    memset(bytes, 0, (size_t)a->graph->n_ops * sizeof *bytes);
    for (int i = 0; i < a->spans.n; i++)
        if (span_at(a, i)->saved && has_span(&parts, span_at(a, i)))
            bytes[span_at(a, i)->op] += part_bytes(&parts, span_at(a, i));
    arena_free(scratch);
}

void account_saved(const Account *a, int64_t rank, ClassBytes *of_stage)
{
    Arena *scratch = arena_new();
    PartSizes parts = parts_new(scratch, a->plan, rank);
    const MemoryClass *class = memory_classes(scratch, a->plan->inferred);
    for (int i = 0; i < a->spans.n; i++) {
        const LiveSpan *span = span_at(a, i);
        if (!span->saved || !has_span(&parts, span))
            continue;
        int stage = a->plan->decided->stages ? stage_of(a->plan, span->op) : 0;
        if (stage >= 0)
            of_stage[stage].of[class[span->as]] += part_bytes(&parts, span);
    }
    arena_free(scratch);
}

StepMemory memory_of_step(const Account *a, int64_t rank)
{
    Arena *scratch = arena_new();
    PartSizes parts = parts_new(scratch, a->plan, rank);
    const MemoryClass *class = memory_classes(scratch, a->plan->inferred);
    StepMemory out = {0};
    int64_t *gradient = arena_array(scratch, int64_t, (int64_t)a->now + 2);
    int64_t *gathered = arena_array(scratch, int64_t, (int64_t)a->now + 2);
    int64_t *buffer = arena_array(scratch, int64_t, (int64_t)a->now + 2);
    for (int i = 0; i < a->spans.n; i++) {
        const LiveSpan *span = span_at(a, i);
        int64_t bytes = has_span(&parts, span) ? part_bytes(&parts, span) : 0;
        MemoryClass is = class[span->as];
        bool source = span->op < 0 && !span->filled;
        out.parameter += source && is == MEMORY_PARAMETER ? bytes : 0;
        out.optimizer += source && is == MEMORY_OPTIMIZER ? bytes : 0;
        out.input += source && is == MEMORY_INPUT ? bytes : 0;
        out.activation += span->saved ? (1 + span->others) * bytes : 0;
        int from = span->in_between ? span->last + 1 : span->first + span->filled;
        buffer[span->first] += bytes;
        buffer[from] -= bytes;
        int64_t *held = span->adds_up                            ? gradient
                        : is == MEMORY_PARAMETER && span->filled ? gathered
                                                                 : NULL;
        if (!held)
            continue;
        held[span->adds_up ? span->first : from] += bytes;
        held[span->last + 1] -= bytes;
    }
    out.gradient = most_of(a, gradient);
    out.gathered = most_of(a, gathered);
    out.buffer = most_of(a, buffer);
    out.peak = most_of(a, sum_changes(scratch, a, rank));
    arena_free(scratch);
    return out;
}

LiveSet memory_live_at(Arena *arena, const Plan *plan, int64_t rank, int place)
{
    Account *account = memory_account_new(plan);
    LiveSet set = memory_live_of(arena, account, rank, place);
    memory_account_free(account);
    return set;
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
        if (!seen[id] && sharding_is_uneven(shardings_at(a->plan->shardings, id), mesh))
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

/* For each rank, which parts of the mesh it is on, as a number: each coordinate that they fix is
 * looked at once. */
static void number_parts(const Plan *plan, int64_t *number)
{
    const Mesh *mesh = plan->mesh;
    int n = plan->decided->n_submeshes;
    Arena *scratch = arena_new();
    AtomSet fixed = stages_atoms(plan);
    int32_t *parts_at = arena_array(scratch, int32_t, mesh_atoms_size(mesh, fixed)); /* from 1 */
    bool *is_on = arena_array(scratch, bool, n);
    Intern *parts = intern_new(scratch);
    for (int64_t rank = 0; rank < mesh->n_devices; rank++) {
        int64_t at = mesh_atoms_coord(mesh, fixed, rank);
        for (int s = 1; s < n && !parts_at[at]; s++)
            is_on[s] = submesh_has(mesh, plan->decided->submeshes[s], rank);
        if (!parts_at[at])
            parts_at[at] = 1 + intern_put(parts, is_on, (size_t)n * sizeof *is_on);
        number[rank] = parts_at[at];
    }
    arena_free(scratch);
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
    if (plan->decided->n_submeshes > 1) {
        number_parts(plan, number);
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
