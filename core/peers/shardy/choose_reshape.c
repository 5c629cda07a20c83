#include "core/peers/shardy/choose.h"

static void append(AxisList *list, const AxisList *axes)
{
    for (int i = 0; i < axes->n; i++)
        axis_list_add(list, axes->at[i]);
}

/* All axes of a tensor, factor by factor. */
static AxisList all_axes(const FactorProjection *projection, int tensor)
{
    AxisList all = {0};
    for (int f = 0; f < projection->rule->n_factors; f++) {
        append(&all, &projection->tensor[tensor].factor[f].axes);
        append(&all, &projection->tensor[tensor].factor[f].overflow);
    }
    return all;
}

/* Gives parts of an axis to the factors in order and reduces the axis to what is left. Returns
 * false if no factor accepts a part. */
static bool offer(const Mesh *mesh, AxisRef *axis, FactorAxes **own, int64_t *room, int n)
{
    bool used = false;
    for (int i = 0; i < n && axis->size > 0; i++) {
        int common = (int)common_divisor(room[i], axis->size);
        if (room[i] <= 1 || (common == 1 && axis->size != 1))
            continue;
        used = true;
        axis_list_push(&own[i]->axes, mesh, (AxisRef){axis->axis, axis->pre, common});
        room[i] /= common;
        axis->pre *= common;
        axis->size = axis->size == common ? 0 : axis->size / common;
    }
    return used;
}

/* Fills `own` with the factors of a tensor, dim by dim, without their axes, and `room` with their
 * sizes; returns how many. */
static int own_factors(const FactorProjection *projection, int tensor, FactorAxes **own,
                       int64_t *room)
{
    const FactorTensor *dims = &projection->rule->tensor[tensor];
    int n = 0;
    for (int d = 0; d < dims->n_dims; d++)
        for (int i = 0; i < dims->dim[d].n; i++) {
            FactorAxes *one = &projection->tensor[tensor].factor[dims->dim[d].at[i]];
            if (!one->here)
                continue;
            one->axes.n = one->overflow.n = 0;
            room[n] = projection->rule->factor[dims->dim[d].at[i]].size;
            own[n++] = one;
        }
    return n;
}

/* Distributes the axes over the factors of a tensor again. From the first axis that no factor
 * accepts, all axes overflow. */
static void hand_out(Arena *arena, FactorProjection *projection, int tensor, const AxisList *axes)
{
    FactorAxes **own = arena_array(arena, FactorAxes *, projection->rule->n_factors);
    int64_t *room = arena_array(arena, int64_t, projection->rule->n_factors);
    int n = own_factors(projection, tensor, own, room);
    for (int i = 0; i < axes->n && n > 0; i++) {
        AxisRef left = axes->at[i];
        while (left.size > 0 && offer(projection->mesh, &left, own, room, n))
            ;
        if (left.size == 0)
            continue;
        axis_list_push(&own[n - 1]->overflow, projection->mesh, left);
        while (++i < axes->n)
            axis_list_push(&own[n - 1]->overflow, projection->mesh, axes->at[i]);
    }
}

static AxisList common_prefix(const AxisList *a, const AxisList *b)
{
    AxisList out = {0};
    for (int i = 0; i < a->n && i < b->n; i++) {
        const AxisRef *one = &a->at[i], *other = &b->at[i];
        bool same = axis_ref_equal(one, other);
        if (same || axis_ref_is_prefix(one, other))
            axis_list_add(&out, *one);
        else if (axis_ref_is_prefix(other, one))
            axis_list_add(&out, *other);
        if (!same)
            break;
    }
    return out;
}

void choose_reshape(Arena *arena, const FactorProjection *projection, AxisList *by_factor)
{
    const FactorRule *rule = projection->rule;
    AxisList sides[2] = {all_axes(projection, 0), all_axes(projection, 1)};
    const AxisList *axes = &sides[axis_list_size(&sides[0]) >= axis_list_size(&sides[1]) ? 0 : 1];
    TensorSharding *legal = arena_array(arena, TensorSharding, 2);
    const TensorSharding *both[2] = {&legal[0], &legal[1]};
    FactorProjection anew = {rule, projection->mesh, arena_array(arena, TensorFactors, 2)};
    for (int t = 0; t < 2; t++) {
        anew.tensor[t].factor = arena_array(arena, FactorAxes, rule->n_factors);
        for (int f = 0; f < rule->n_factors; f++)
            anew.tensor[t].factor[f] = projection->tensor[t].factor[f];
        hand_out(arena, &anew, t, axes);
        legal[t] = tensor_sharding_open(rule->tensor[t].n_dims);
        legal[t] = factor_unproject(&anew, t, &legal[t]);
    }
    const FactorProjection *now = factor_project(arena, rule, projection->mesh, both);
    for (int f = 0; f < rule->n_factors; f++) {
        const FactorAxes *one = &now->tensor[0].factor[f], *other = &now->tensor[1].factor[f];
        if (one->here && other->here)
            by_factor[f] = common_prefix(&one->axes, &other->axes);
        else
            by_factor[f] = one->here ? one->axes : other->axes;
    }
}
