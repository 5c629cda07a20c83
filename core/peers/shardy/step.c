#include "core/peers/shardy/step_state.h"

/* ---- which axes propagate along a factor ---- */

/* Reduces *so_far to the part that agrees with `next`. *more on entry: `next` may extend the list;
 * on return: later lists may. */
static void agree(AxisList *so_far, const AxisList *next, bool *more)
{
    AxisList out = {0};
    int both = so_far->n < next->n ? so_far->n : next->n, i = 0;
    for (; i < both; i++) {
        const AxisRef *a = &so_far->at[i], *b = &next->at[i];
        if (axis_ref_equal(a, b)) {
            axis_list_add(&out, *a);
            continue;
        }
        bool shorter = a->axis == b->axis && axis_ref_is_prefix(b, a);
        bool longer = a->axis == b->axis && axis_ref_is_prefix(a, b);
        bool goes_on = shorter ? i == next->n - 1 : longer && *more && i == so_far->n - 1;
        if (goes_on) {
            axis_list_add(&out, shorter ? *a : *b);
            continue;
        }
        if (shorter || longer)
            axis_list_add(&out, shorter ? *b : *a);
        *so_far = out;
        *more = false;
        return;
    }
    const AxisList *rest = so_far->n > next->n ? so_far : *more ? next : so_far;
    for (; i < rest->n; i++)
        axis_list_add(&out, rest->at[i]);
    *so_far = out;
}

static void agree_all(const FactorProjection *projection, int factor, int from, int to,
                      AxisList *axes, bool *more)
{
    for (int t = from; t < to; t++)
        if (projection->tensor[t].factor[factor].here)
            agree(axes, &projection->tensor[t].factor[factor].axes, more);
}

Pass step_direction(const FactorStep *step, int factor)
{
    return step->rule->factor[factor].blocked ? PASS_NONE : step->direction[factor];
}

/* The axes that propagate along a factor, before any check shortens them. */
static void step_agreed(const FactorStep *step, const FactorProjection *projection, int factor,
                        AxisList *out)
{
    Pass direction = step_direction(step, factor);
    int operands = step->rule->n_operands, n = operands + step->rule->n_results;
    bool backward = direction == PASS_BACKWARD, more = true;
    out->n = 0;
    if (direction == PASS_NONE)
        return;
    agree_all(projection, factor, backward ? operands : 0, backward ? n : operands, out, &more);
    more &= direction == PASS_BOTH;
    agree_all(projection, factor, backward ? 0 : operands, backward ? operands : n, out, &more);
}

/* ---- where the list ends ---- */

static bool stop(StepStop *why, Stop reason, int other)
{
    *why = (StepStop){reason, other};
    return false;
}

bool step_within(const FactorStep *step, const TensorFactors *tensor, int factor, int64_t before,
                 AxisRef *axis, StepStop *why)
{
    const FactorAxes *own = &tensor->factor[factor];
    AxisRef whole = *axis;
    if (!axis_ref_without_list(axis, &tensor->replicated, axis))
        return stop(why, STOP_REPLICATED, -1);
    if (!axis_ref_equal(axis, &whole))
        stop(why, STOP_REPLICATED, -1);
    whole = *axis;
    if (!axis_ref_without_list(axis, &tensor->unreduced, axis))
        return stop(why, STOP_REPLICATED, -1);
    if (!axis_ref_equal(axis, &whole))
        stop(why, STOP_REPLICATED, -1);
    for (int i = 0; i < own->axes.n; i++)
        if (axis_ref_contains(&own->axes.at[i], axis))
            return true;

    int64_t size = step->rule->factor[factor].size;
    if (own->closed) {
        stop(why, STOP_CLOSED, -1);
    } else if (own->overflow.n > 0) {
        stop(why, STOP_OVERFLOW, -1);
    } else if (own->minor) {
        return true;
    } else {
        stop(why, STOP_NESTING, -1);
        int64_t common = size % before == 0 ? common_divisor(size / before, axis->size) : 1;
        if (common == axis->size)
            return true;
        if (common > 1) {
            axis->size = (int)common;
            return true;
        }
    }
    /* The part it already has stays. */
    const AxisRef *last = own->axes.n > 0 ? &own->axes.at[own->axes.n - 1] : NULL;
    if (!last || !axis_ref_is_prefix(last, axis))
        return false;
    *axis = *last;
    return true;
}

bool step_across(const FactorStep *step, const TensorFactors *tensor, int factor, AxisRef *axis,
                 StepStop *why)
{
    for (int f = 0; f < step->rule->n_factors; f++) {
        if (f == factor || !tensor->factor[f].here)
            continue;
        AxisRef whole = *axis;
        if (!axis_ref_without_list(axis, &tensor->factor[f].overflow, axis) ||
            !axis_ref_without_list(axis, &tensor->factor[f].axes, axis))
            return stop(why, STOP_TAKEN, f);
        if (!axis_ref_equal(axis, &whole))
            stop(why, STOP_TAKEN, f);
    }
    return true;
}

/* Shortens a list at the first axis that does not pass entirely. */
typedef bool Check(const FactorStep *step, const void *of, int factor, int64_t before,
                   AxisRef *axis);

static void shorten(const FactorStep *step, const void *of, int factor, Check *check,
                    AxisList *axes)
{
    int64_t before = 1;
    for (int i = 0; i < axes->n; i++) {
        AxisRef axis = axes->at[i];
        if (!check(step, of, factor, before, &axis) ||
            (step->conservative && !axis_ref_is_whole(&axis, step->mesh))) {
            axes->n = i;
            return;
        }
        if (!axis_ref_equal(&axis, &axes->at[i])) {
            axes->at[i] = axis;
            axes->n = i + 1;
            return;
        }
        before *= axis.size;
    }
}

static bool expand(FactorAxes *own, const AxisList *axes)
{
    if (!own->here || !axis_list_is_strict_prefix(&own->axes, axes))
        return false;
    own->axes = *axes;
    return true;
}

/* ---- basic ---- */

static bool check_all(const FactorStep *step, const void *of, int factor, int64_t before,
                      AxisRef *axis)
{
    const FactorProjection *projection = of;
    StepStop why;
    for (int t = 0; t < step->rule->n_operands + step->rule->n_results; t++) {
        const TensorFactors *tensor = &projection->tensor[t];
        if (!step_across(step, tensor, factor, axis, &why))
            return false;
        if (tensor->factor[factor].here && !step_within(step, tensor, factor, before, axis, &why))
            return false;
    }
    return true;
}

static void basic(const FactorStep *step, FactorProjection *projection, bool *updated)
{
    for (int f = 0; f < step->rule->n_factors; f++) {
        AxisList axes;
        step_agreed(step, projection, f, &axes);
        shorten(step, projection, f, check_all, &axes);
        for (int t = 0; t < step->rule->n_operands + step->rule->n_results; t++)
            updated[t] |= expand(&projection->tensor[t].factor[f], &axes);
    }
}

/* ---- aggressive ---- */

/* The axes to propagate along a factor, and the largest tensor that has them. */
typedef struct {
    int factor, source;
    int64_t source_size, shards;
    AxisList axes;
} StepCandidate;

static int64_t size_of(const FactorRule *rule, const TensorFactors *tensor)
{
    int64_t size = 1;
    for (int f = 0; f < rule->n_factors; f++)
        if (tensor->factor[f].here && __builtin_mul_overflow(size, rule->factor[f].size, &size))
            return INT64_MAX;
    return size;
}

static void find_source(const FactorStep *step, const FactorProjection *projection,
                        StepCandidate *candidate)
{
    candidate->source = -1;
    candidate->source_size = -1;
    for (int t = 0; t < step->rule->n_operands + step->rule->n_results; t++) {
        const FactorAxes *own = &projection->tensor[t].factor[candidate->factor];
        if (candidate->axes.n == 0 || !own->here ||
            !axis_list_is_prefix(&candidate->axes, &own->axes))
            continue;
        int64_t size = size_of(step->rule, &projection->tensor[t]);
        if (size > candidate->source_size) {
            candidate->source_size = size;
            candidate->source = t;
        }
    }
}

static bool goes_first(const StepCandidate *a, const StepCandidate *b)
{
    if (a->source_size != b->source_size)
        return a->source_size > b->source_size;
    if (a->shards != b->shards)
        return a->shards > b->shards;
    return a->source != b->source ? a->source < b->source : a->factor < b->factor;
}

static StepCandidate *candidates(Arena *scratch, const FactorStep *step,
                                 const FactorProjection *projection)
{
    int n = step->rule->n_factors;
    StepCandidate *sorted = arena_array(scratch, StepCandidate, n);
    for (int f = 0; f < n; f++) {
        StepCandidate one = {.factor = f};
        step_agreed(step, projection, f, &one.axes);
        find_source(step, projection, &one);
        one.shards = step->elementwise ? axis_list_size(&one.axes) : 0;
        int at = f;
        for (; at > 0 && goes_first(&one, &sorted[at - 1]); at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = one;
    }
    return sorted;
}

static bool check_within(const FactorStep *step, const void *of, int factor, int64_t before,
                         AxisRef *axis)
{
    StepStop why;
    return step_within(step, of, factor, before, axis, &why);
}

static bool check_across(const FactorStep *step, const void *of, int factor, int64_t before,
                         AxisRef *axis)
{
    StepStop why;
    (void)before;
    return step_across(step, of, factor, axis, &why);
}

/* Shortens the axes to those that the results of an elementwise op have. */
static void keep_to_results(const FactorStep *step, const FactorProjection *projection, int factor,
                            AxisList *axes)
{
    int operands = step->rule->n_operands;
    for (int t = operands; step->elementwise && t < operands + step->rule->n_results; t++) {
        const FactorAxes *result = &projection->tensor[t].factor[factor];
        if (result->here && axis_list_is_strict_prefix(&result->axes, axes))
            *axes = result->axes;
    }
}

static bool write_tensor(const FactorStep *step, FactorProjection *projection, int t,
                         const StepCandidate *sorted)
{
    TensorFactors *tensor = &projection->tensor[t];
    bool updated = false;
    for (int i = 0; i < step->rule->n_factors; i++) {
        int f = sorted[i].factor;
        AxisList axes = sorted[i].axes;
        if (!tensor->factor[f].here || axes.n == 0)
            continue;
        shorten(step, tensor, f, check_within, &axes);
        if (!axis_list_is_strict_prefix(&tensor->factor[f].axes, &axes))
            continue;
        shorten(step, tensor, f, check_across, &axes);
        if (t < step->rule->n_operands)
            keep_to_results(step, projection, f, &axes);
        updated |= expand(&tensor->factor[f], &axes);
    }
    return updated;
}

static void aggressive(Arena *scratch, const FactorStep *step, FactorProjection *projection,
                       bool *updated)
{
    int operands = step->rule->n_operands, n = operands + step->rule->n_results;
    const StepCandidate *sorted = candidates(scratch, step, projection);
    for (int t = operands; t < n; t++)
        updated[t] = write_tensor(step, projection, t, sorted);
    for (int t = 0; t < operands; t++)
        updated[t] = write_tensor(step, projection, t, sorted);
}

void factor_propagate(Arena *scratch, const FactorStep *step, FactorProjection *projection,
                      bool *updated)
{
    if (step->aggressive)
        aggressive(scratch, step, projection, updated);
    else
        basic(step, projection, updated);
}

bool factor_step(Arena *scratch, const FactorStep *step, int mesh_of_op,
                 TensorSharding *const *shardings, bool *changed)
{
    int n = step->rule->n_operands + step->rule->n_results;
    const TensorSharding **seen = arena_array(scratch, const TensorSharding *, n);
    for (int t = 0; t < n; t++) {
        seen[t] = shardings[t];
        changed[t] = false;
    }
    FactorProjection *projection = factor_project(scratch, step->rule, step->mesh, seen);
    factor_propagate(scratch, step, projection, changed);

    bool any = false;
    for (int t = 0; t < n; t++) {
        if (!changed[t])
            continue;
        TensorSharding now = factor_unproject(projection, t, shardings[t]);
        now.mesh = mesh_of_op;
        changed[t] = shardings[t]->mesh == MESH_NONE ? tensor_sharding_uses_axes(&now)
                                                     : !tensor_sharding_equal(&now, shardings[t]);
        if (changed[t])
            *shardings[t] = now;
        any |= changed[t];
    }
    return any;
}
