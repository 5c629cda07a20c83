#include "core/peers/shardy/factor_sharding.h"

/* The axes of a dim that are not distributed yet: `first` is the next one or the rest of it. */
typedef struct {
    const AxisList *axes;
    int at;
    AxisRef first;
} Rest;

static Rest rest_of(const AxisList *axes)
{
    Rest rest = {.axes = axes};
    if (axes->n > 0)
        rest.first = axes->at[0];
    return rest;
}

static bool is_left(const Rest *rest)
{
    return rest->at < rest->axes->n;
}

static void next(Rest *rest)
{
    rest->at++;
    if (is_left(rest))
        rest->first = rest->axes->at[rest->at];
}

static void move_all(Rest *rest, const Mesh *mesh, AxisList *out)
{
    for (; is_left(rest); next(rest))
        axis_list_push(out, mesh, rest->first);
}

/* Gives axes to a factor of this size while they divide it, splitting an axis that is larger.
 * Returns what is left of the size. */
static int64_t move_divisors(Rest *rest, int64_t size, AxisList *out)
{
    while (is_left(rest)) {
        int common = (int)common_divisor(size, rest->first.size);
        if (common == 1 && rest->first.size > 1)
            break;
        AxisRef part = {rest->first.axis, rest->first.pre, common};
        axis_list_add(out, part);
        size /= common;
        if (common == rest->first.size) {
            next(rest);
        } else {
            rest->first.pre *= common;
            rest->first.size /= common;
        }
    }
    return size;
}

static void project_dim(const FactorProjection *projection, const FactorDim *dim,
                        const DimSharding *sharding, FactorAxes *factor)
{
    Rest rest = rest_of(&sharding->axes);
    for (int i = 0; i < dim->n; i++) {
        FactorAxes *one = &factor[dim->at[i]];
        one->here = true;
        one->minor = i == dim->n - 1;
        one->closed = !sharding->open;
        if (one->minor) {
            move_all(&rest, projection->mesh, &one->axes);
            return;
        }
        int64_t left = move_divisors(&rest, projection->rule->factor[dim->at[i]].size, &one->axes);
        if (left > 1 && is_left(&rest)) {
            move_all(&rest, projection->mesh, &one->overflow);
            FactorAxes *after = &factor[dim->at[i + 1]];
            after->here = after->closed = true;
            after->minor = i + 1 == dim->n - 1;
            return;
        }
    }
}

FactorProjection *factor_project(Arena *arena, const FactorRule *rule, const Mesh *mesh,
                                 const TensorSharding *const *shardings)
{
    int n = rule->n_operands + rule->n_results;
    FactorProjection *projection = arena_make(arena, FactorProjection);
    *projection = (FactorProjection){rule, mesh, arena_array(arena, TensorFactors, n)};
    for (int t = 0; t < n; t++) {
        TensorFactors *tensor = &projection->tensor[t];
        tensor->factor = arena_array(arena, FactorAxes, rule->n_factors);
        tensor->replicated = shardings[t]->replicated;
        tensor->unreduced = shardings[t]->unreduced;
        for (int d = 0; d < rule->tensor[t].n_dims; d++)
            project_dim(projection, &rule->tensor[t].dim[d], &shardings[t]->dim[d], tensor->factor);
    }
    return projection;
}

/* Appends `axes`; the first is merged with the dim's last axis if it continues it. */
static void append(AxisList *dim, const Mesh *mesh, const AxisList *axes)
{
    for (int i = 0; i < axes->n; i++)
        if (i == 0)
            axis_list_push(dim, mesh, axes->at[i]);
        else
            axis_list_add(dim, axes->at[i]);
}

static void unproject_dim(const FactorProjection *projection, const FactorDim *dim,
                          const FactorAxes *factor, AxisList *out)
{
    out->n = 0;
    for (int i = 0; i < dim->n; i++) {
        const FactorAxes *one = &factor[dim->at[i]];
        append(out, projection->mesh, &one->axes);
        append(out, projection->mesh, &one->overflow);
        if (one->overflow.n > 0 ||
            axis_list_size(&one->axes) < projection->rule->factor[dim->at[i]].size)
            return;
    }
}

TensorSharding factor_unproject(const FactorProjection *projection, int tensor,
                                const TensorSharding *old)
{
    const FactorTensor *rule = &projection->rule->tensor[tensor];
    TensorSharding sharding = *old;
    for (int d = 0; d < rule->n_dims; d++) {
        sharding.dim[d].priority = PRIORITY_NONE;
        unproject_dim(projection, &rule->dim[d], projection->tensor[tensor].factor,
                      &sharding.dim[d].axes);
    }
    return sharding;
}
