#include "core/peers/shardy/choose.h"

#include "core/base/vec.h"

#include <string.h>

static int tensor_count(const FactorRule *rule)
{
    return rule->n_operands + rule->n_results;
}

/* Cuts `list` before its first overlap with `other`; returns true when it became shorter. */
static bool end_before_overlap(AxisList *list, const AxisList *other)
{
    for (int i = 0; i < list->n; i++) {
        AxisRef rest;
        bool left = axis_ref_without_list(&list->at[i], other, &rest);
        if (left && axis_ref_equal(&rest, &list->at[i]))
            continue;
        list->n = left ? i + 1 : i;
        if (left)
            list->at[i] = rest;
        return true;
    }
    return false;
}

static bool lists_overlap(const AxisList *a, const AxisList *b)
{
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < b->n; j++)
            if (axis_refs_overlap(&a->at[i], &b->at[j]))
                return true;
    return false;
}

/* ---- compatible ---- */

/* The axes of a factor; false when its tensors disagree. */
static bool common_axes(const FactorProjection *projection, int factor, AxisList *out)
{
    bool seen = false;
    *out = (AxisList){0};
    for (int t = 0; t < tensor_count(projection->rule); t++) {
        const FactorAxes *own = &projection->tensor[t].factor[factor];
        if (!own->here)
            continue;
        if (seen && !axis_list_equal(out, &own->axes))
            return false;
        *out = own->axes;
        seen = true;
    }
    return true;
}

static bool is_compatible(const FactorProjection *projection, AxisList *by_factor)
{
    const FactorRule *rule = projection->rule;
    for (int f = 0; f < rule->n_factors; f++) {
        if (!common_axes(projection, f, &by_factor[f]) ||
            (rule->factor[f].type == FACTOR_NEED_REPLICATION && by_factor[f].n > 0))
            return false;
        for (int before = 0; before < f; before++)
            if (lists_overlap(&by_factor[before], &by_factor[f]))
                return false;
    }
    return true;
}

/* ---- two tensors ---- */

static bool has_sharded_permutation(const FactorProjection *projection, int tensor)
{
    for (int f = 0; f < projection->rule->n_factors; f++)
        if (projection->rule->factor[f].type == FACTOR_PERMUTATION &&
            projection->tensor[tensor].factor[f].axes.n > 0)
            return true;
    return false;
}

static int64_t shards(const FactorProjection *projection, int tensor)
{
    int64_t n = 1;
    for (int f = 0; f < projection->rule->n_factors; f++) {
        const FactorAxes *own = &projection->tensor[tensor].factor[f];
        n *= axis_list_size(&own->axes) * axis_list_size(&own->overflow);
    }
    return n;
}

/* True when tensor b should keep its axes rather than a. */
static bool should_keep_second(const FactorProjection *projection, const double *size, int a, int b)
{
    bool moves_a = has_sharded_permutation(projection, a);
    bool moves_b = has_sharded_permutation(projection, b);
    if (moves_a != moves_b)
        return moves_a;
    if (size[a] < size[b] || size[a] > size[b])
        return size[b] > size[a];
    return shards(projection, b) > shards(projection, a);
}

/* True for a rule with exactly two tensors that have dims (put in `pair`), one factor a dim, and no
 * factor that needs replication. */
static bool is_unary(const FactorRule *rule, int pair[2])
{
    int n = 0;
    for (int t = 0; t < tensor_count(rule); t++) {
        if (rule->tensor[t].n_dims > 0 && n++ < 2)
            pair[n - 1] = t;
        for (int d = 0; d < rule->tensor[t].n_dims; d++)
            if (rule->tensor[t].dim[d].n > 1)
                return false;
    }
    for (int f = 0; f < rule->n_factors; f++)
        if (rule->factor[f].type == FACTOR_NEED_REPLICATION)
            return false;
    return n == 2;
}

static void choose_unary(const FactorProjection *projection, const double *size, const int pair[2],
                         AxisList *by_factor)
{
    bool swap = should_keep_second(projection, size, pair[0], pair[1]);
    const FactorAxes *kept = projection->tensor[pair[swap ? 1 : 0]].factor;
    const FactorAxes *other = projection->tensor[pair[swap ? 0 : 1]].factor;
    int n = projection->rule->n_factors;
    for (int f = 0; f < n; f++) {
        by_factor[f] = (AxisList){0};
        if (kept[f].here || !other[f].here) {
            by_factor[f] = kept[f].axes;
            continue;
        }
        by_factor[f] = other[f].axes;
        for (int k = 0; k < n; k++)
            if (kept[k].here)
                end_before_overlap(&by_factor[f], &kept[k].axes);
    }
}

/* ---- greedily ---- */

typedef struct {
    int factor;
    AxisList axes;
    double size;    /* sum over the tensors that have it */
    int64_t shards; /* shards it adds, as last counted */
} FactorCandidate;

typedef struct {
    const FactorProjection *projection;
    AxisList *by_factor;
    bool
        *waits; /* [factor][factor]: the first is minor to the second, which is not fully sharded */
    Vec(FactorCandidate) candidates;
} Greedy;

static void add_candidate(Greedy *greedy, Arena *arena, int factor, const AxisList *axes)
{
    for (int i = 0; i < greedy->candidates.n; i++)
        if (greedy->candidates.at[i].factor == factor &&
            axis_list_equal(&greedy->candidates.at[i].axes, axes))
            return;
    vec_push(arena, &greedy->candidates, (FactorCandidate){factor, *axes, 0, axis_list_size(axes)});
}

static void find_candidates(Greedy *greedy, Arena *arena, const double *size)
{
    const FactorRule *rule = greedy->projection->rule;
    for (int t = 0; t < tensor_count(rule); t++)
        for (int f = 0; f < rule->n_factors; f++) {
            AxisList axes = greedy->projection->tensor[t].factor[f].axes;
            for (; axes.n > 0; axes.n--)
                add_candidate(greedy, arena, f, &axes);
        }
    for (int i = 0; i < greedy->candidates.n; i++)
        for (int t = 0; t < tensor_count(rule); t++) {
            FactorCandidate *candidate = &greedy->candidates.at[i];
            const FactorAxes *own = &greedy->projection->tensor[t].factor[candidate->factor];
            if (axis_list_is_prefix(&candidate->axes, &own->axes))
                candidate->size += size[t];
        }
}

static void find_waiting(Greedy *greedy, Arena *arena)
{
    const FactorRule *rule = greedy->projection->rule;
    greedy->waits = arena_array(arena, bool, rule->n_factors * rule->n_factors);
    for (int t = 0; t < tensor_count(rule); t++)
        for (int d = 0; d < rule->tensor[t].n_dims; d++) {
            const FactorDim *dim = &rule->tensor[t].dim[d];
            for (int i = 1; i < dim->n; i++)
                greedy->waits[dim->at[i] * rule->n_factors + dim->at[i - 1]] = true;
        }
}

static bool is_waiting(const Greedy *greedy, int factor)
{
    int n = greedy->projection->rule->n_factors;
    bool waits = false;
    for (int before = 0; before < n; before++)
        waits |= greedy->waits[factor * n + before];
    return waits;
}

/* Orders two lists of one factor: the shorter first, then by the first axis that differs. */
static int compare_lists(const Mesh *mesh, const AxisList *a, const AxisList *b)
{
    if (a->n != b->n)
        return a->n - b->n;
    for (int i = 0; i < a->n; i++) {
        const AxisRef *one = &a->at[i], *other = &b->at[i];
        if (one->axis != other->axis)
            return strcmp(mesh->axes[one->axis].name, mesh->axes[other->axis].name);
        if (one->pre != other->pre || one->size != other->size)
            return one->pre != other->pre ? one->pre - other->pre : one->size - other->size;
    }
    return 0;
}

static bool is_better(const Greedy *greedy, const FactorCandidate *a, const FactorCandidate *b)
{
    const Factor *factor = greedy->projection->rule->factor;
    static const int rank[FACTOR_TYPE_COUNT] = {[FACTOR_PASS_THROUGH] = 3,
                                                [FACTOR_REDUCTION] = 2,
                                                [FACTOR_PERMUTATION] = 1,
                                                [FACTOR_NEED_REPLICATION] = 0};
    if (a->size < b->size || a->size > b->size)
        return a->size > b->size;
    if (rank[factor[a->factor].type] != rank[factor[b->factor].type])
        return rank[factor[a->factor].type] > rank[factor[b->factor].type];
    if (a->shards != b->shards)
        return a->shards > b->shards;
    if (a->factor != b->factor)
        return a->factor > b->factor;
    return compare_lists(greedy->projection->mesh, &a->axes, &b->axes) > 0;
}

static const FactorCandidate *best_candidate(const Greedy *greedy)
{
    const FactorCandidate *best = NULL;
    for (int i = 0; i < greedy->candidates.n; i++) {
        const FactorCandidate *candidate = &greedy->candidates.at[i];
        if (!is_waiting(greedy, candidate->factor) && (!best || is_better(greedy, candidate, best)))
            best = candidate;
    }
    return best;
}

/* Updates a candidate after `accepted` was accepted; returns false if it adds nothing more. */
static bool update_candidate(const Greedy *greedy, FactorCandidate *candidate,
                             const FactorCandidate *accepted)
{
    const AxisList *had = &greedy->by_factor[candidate->factor];
    candidate->shards = axis_list_size(&candidate->axes);
    if (candidate->factor == accepted->factor) {
        candidate->shards /= axis_list_size(&accepted->axes);
        return axis_list_is_strict_prefix(&accepted->axes, &candidate->axes);
    }
    if (!end_before_overlap(&candidate->axes, &accepted->axes))
        return true;
    candidate->shards = axis_list_size(&candidate->axes) / axis_list_size(had);
    return !axis_list_equal(&candidate->axes, had);
}

static void accept_candidate(Greedy *greedy, FactorCandidate accepted)
{
    const FactorRule *rule = greedy->projection->rule;
    greedy->by_factor[accepted.factor] = accepted.axes;
    if (axis_list_size(&accepted.axes) == rule->factor[accepted.factor].size)
        for (int f = 0; f < rule->n_factors; f++)
            greedy->waits[f * rule->n_factors + accepted.factor] = false;
    int n = 0;
    for (int i = 0; i < greedy->candidates.n; i++) {
        FactorCandidate candidate = greedy->candidates.at[i];
        if (update_candidate(greedy, &candidate, &accepted))
            greedy->candidates.at[n++] = candidate;
    }
    greedy->candidates.n = n;
}

static void choose_greedily(Arena *arena, const FactorProjection *projection, const double *size,
                            AxisList *by_factor)
{
    Greedy greedy = {.projection = projection, .by_factor = by_factor};
    for (int f = 0; f < projection->rule->n_factors; f++)
        by_factor[f] = (AxisList){0};
    find_candidates(&greedy, arena, size);
    find_waiting(&greedy, arena);
    for (const FactorCandidate *best; (best = best_candidate(&greedy));)
        accept_candidate(&greedy, *best);
}

/* ---- factors that need replication ---- */

/* True when all tensors with dims have the factor. */
static bool is_everywhere(const FactorRule *rule, int factor)
{
    for (int t = 0; t < tensor_count(rule); t++) {
        bool has = rule->tensor[t].n_dims == 0;
        for (int d = 0; d < rule->tensor[t].n_dims && !has; d++)
            for (int i = 0; i < rule->tensor[t].dim[d].n; i++)
                has |= rule->tensor[t].dim[d].at[i] == factor;
        if (!has)
            return false;
    }
    return true;
}

static void move_to_batching(const FactorProjection *projection, const AxisList *moved,
                             AxisList *by_factor)
{
    const FactorRule *rule = projection->rule;
    int next = 0;
    for (int f = 0; f < rule->n_factors && next < moved->n; f++) {
        int64_t has = axis_list_size(&by_factor[f]), size = rule->factor[f].size;
        if (rule->factor[f].type != FACTOR_PASS_THROUGH || !is_everywhere(rule, f) || size == 0 ||
            size % has != 0)
            continue;
        for (int64_t room = size / has; next < moved->n; next++) {
            if (room % moved->at[next].size != 0)
                break;
            room /= moved->at[next].size;
            axis_list_push(&by_factor[f], projection->mesh, moved->at[next]);
        }
    }
}

static void empty_replicated(const FactorProjection *projection, AxisList *by_factor)
{
    const FactorRule *rule = projection->rule;
    for (int f = 0; f < rule->n_factors; f++) {
        AxisList moved = by_factor[f];
        if (rule->factor[f].type != FACTOR_NEED_REPLICATION)
            continue;
        by_factor[f].n = 0;
        if (is_everywhere(rule, f))
            move_to_batching(projection, &moved, by_factor);
    }
}

void choose_axes(Arena *arena, const FactorProjection *projection, const double *size,
                 AxisList *by_factor)
{
    int pair[2];
    if (is_compatible(projection, by_factor))
        return;
    if (is_unary(projection->rule, pair)) {
        choose_unary(projection, size, pair, by_factor);
        return;
    }
    choose_greedily(arena, projection, size, by_factor);
    empty_replicated(projection, by_factor);
}

void shardy_choose(Arena *arena, const FactorRule *rule, const Mesh *mesh,
                   const TensorSharding *const *shardings, const double *size, AxisList *by_factor)
{
    choose_axes(arena, factor_project(arena, rule, mesh, shardings), size, by_factor);
}
