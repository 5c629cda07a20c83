#include "core/peers/shardy/step_state.h"

typedef struct {
    const FactorStep *step;
    const FactorProjection *projection;
    FactorStops *out;
    Arena *arena;
} Stops;

/* The first axis that the source has and the target lacks; false if there is none. *goes_on: the
 * target's list is a prefix of the source's. */
static bool first_missing(const AxisList *source, const AxisList *target, AxisRef *axis,
                          bool *goes_on)
{
    int i = 0;
    while (i < source->n && i < target->n && axis_ref_equal(&source->at[i], &target->at[i]))
        i++;
    if (i == source->n)
        return false;
    *axis = source->at[i];
    *goes_on = i == target->n ||
               (i == target->n - 1 && axis_ref_is_prefix(&target->at[i], &source->at[i]));
    if (i < target->n && axis_ref_is_prefix(&source->at[i], &target->at[i]))
        return false; /* the target has it, and more */
    return true;
}

static bool lets_pass(const Stops *s, int factor, int source, int target)
{
    Pass direction = step_direction(s->step, factor);
    int operands = s->step->rule->n_operands;
    if (direction == PASS_FORWARD)
        return source < operands && target >= operands;
    if (direction == PASS_BACKWARD)
        return source >= operands && target < operands;
    return direction == PASS_BOTH;
}

static StepStop within_or_across(const Stops *s, int factor, int target, AxisRef axis)
{
    const TensorFactors *tensor = &s->projection->tensor[target];
    StepStop why = {STOP_NONE, -1};
    AxisRef whole = axis;
    int64_t before = axis_list_size(&tensor->factor[factor].axes);
    if (!step_within(s->step, tensor, factor, before, &axis, &why) ||
        !axis_ref_equal(&axis, &whole))
        return why;
    int n = s->step->rule->n_operands + s->step->rule->n_results;
    for (int t = 0; t < n; t++)
        if ((t == target || !s->step->aggressive) &&
            (!step_across(s->step, &s->projection->tensor[t], factor, &axis, &why) ||
             !axis_ref_equal(&axis, &whole)))
            return why;
    return (StepStop){STOP_NONE, -1};
}

/* A tensor whose axes for the factor the axis cannot extend, or -1. */
static int find_contradiction(const Stops *s, int factor, const AxisRef *axis)
{
    int n = s->step->rule->n_operands + s->step->rule->n_results;
    for (int t = 0; t < n; t++) {
        const FactorAxes *own = &s->projection->tensor[t].factor[factor];
        bool has = false;
        for (int i = 0; i < own->axes.n; i++)
            has |= axis_refs_overlap(&own->axes.at[i], axis);
        if (own->here && own->axes.n > 0 && !has)
            return t;
    }
    return -1;
}

static StepStop reason_of(const Stops *s, int factor, int source, int target, AxisRef axis,
                          bool goes_on)
{
    int operands = s->step->rule->n_operands;
    if (s->step->rule->factor[factor].blocked)
        return (StepStop){STOP_BLOCKED, -1};
    if (!lets_pass(s, factor, source, target))
        return (StepStop){STOP_BARRIER, -1};
    if (!goes_on)
        return (StepStop){STOP_ORDER, target};
    StepStop why = within_or_across(s, factor, target, axis);
    if (why.stop != STOP_NONE)
        return why;
    /* An operand of an elementwise op never has more than its result, so the result has the
     * reason. */
    if (s->step->elementwise && target < operands && source < operands) {
        why = within_or_across(s, factor, operands, axis);
        if (why.stop != STOP_NONE)
            return why;
    }
    int other = find_contradiction(s, factor, &axis);
    return other >= 0 ? (StepStop){STOP_ORDER, other} : (StepStop){STOP_NESTING, -1};
}

static bool is_listed(const Stops *s, int factor, int target, const AxisRef *axis)
{
    for (int i = 0; i < s->out->n; i++) {
        const FactorStop *at = &s->out->at[i];
        if (at->factor == factor && at->tensor == target && axis_ref_equal(&at->axis, axis))
            return true;
    }
    return false;
}

static void add_stop(const Stops *s, int factor, int target)
{
    int n = s->step->rule->n_operands + s->step->rule->n_results;
    const FactorAxes *to = &s->projection->tensor[target].factor[factor];
    for (int source = 0; to->here && source < n; source++) {
        const FactorAxes *from = &s->projection->tensor[source].factor[factor];
        AxisRef axis;
        bool goes_on;
        if (source == target || !from->here ||
            !first_missing(&from->axes, &to->axes, &axis, &goes_on) ||
            is_listed(s, factor, target, &axis))
            continue;
        StepStop why = reason_of(s, factor, source, target, axis, goes_on);
        vec_push(s->arena, s->out, (FactorStop){factor, target, source, axis, why.stop, why.other});
    }
}

void factor_stops(Arena *arena, const FactorStep *step, const TensorSharding *const *shardings,
                  FactorStops *out)
{
    int n = step->rule->n_operands + step->rule->n_results;
    Stops stops = {.step = step, .out = out, .arena = arena};
    stops.projection = factor_project(arena, step->rule, step->mesh, shardings);
    for (int f = 0; f < step->rule->n_factors; f++)
        for (int t = 0; t < n; t++)
            add_stop(&stops, f, t);
}
