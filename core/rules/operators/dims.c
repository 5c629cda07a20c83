#include "core/rules/operators/dims.h"

#include "core/space/einsum.h"

#include <inttypes.h>

static int add_index(RuleCall *call, int64_t dim, int64_t size, DimUse use, bool only_frozen)
{
    static const IndexRole roles[] = {
        [DIM_MAP] = ROLE_MAP, [DIM_FROZEN] = ROLE_FROZEN, [DIM_SUM] = ROLE_REDUCE};
    if (use == DIM_WHOLE)
        return -1;
    int index = use == DIM_FROZEN && only_frozen
                    ? rule_index(call->space, "d", size, ROLE_FROZEN, REDUCE_NONE)
                    : rule_index_at(call, 'd', dim, size);
    if (index >= 0) {
        call->space->index[index].role = roles[use];
        call->space->index[index].reduce = use == DIM_SUM ? REDUCE_SUM : REDUCE_NONE;
    }
    return index;
}

static void follow(Operand *operand, const Shape *base, const DimUse *use, const int *index)
{
    int64_t skip = base->n_dims - operand->shape.n_dims;
    for (int64_t d = 0; d < operand->shape.n_dims; d++) {
        int64_t at = d + skip;
        if (at >= 0 && operand->shape.dim[d] == base->dim[at] && (!use || use[at] != DIM_WHOLE))
            rule_unit(operand, d, index[at]);
    }
}

OpSpace *dims_space(RuleCall *call, const Shape *base, const DimUse *use, int *index, Error *err)
{
    int own[DIMS_MAX] = {0}, n_frozen = 0;
    if (!index)
        index = own;
    OpSpace *space = rule_space(call, err);
    if (!space)
        return NULL;
    for (int64_t d = 0; d < base->n_dims && use; d++)
        n_frozen += use[d] == DIM_FROZEN;
    for (int64_t d = 0; d < base->n_dims; d++)
        index[d] = add_index(call, d, base->dim[d], use ? use[d] : DIM_MAP, n_frozen == 1);
    for (int i = 0; i < call->n_inputs + call->n_outputs; i++)
        if (!space->operand[i].absent && !space->operand[i].ignored)
            follow(&space->operand[i], base, use, index);
    return space;
}

void dims_answer(RuleCall *call, const Shape *shape, Dtype dtype)
{
    for (int o = 0; o < call->n_outputs; o++) {
        call->out_shape[o] = *shape;
        call->out_dtype[o] = dtype;
    }
}

bool dims_pointwise(RuleCall *call, Dtype dtype, Error *err)
{
    Shape out;
    if (!args_broadcast(call->shape, call->n_inputs, &out, err))
        return false;
    dims_answer(call, &out, dtype);
    return dims_space(call, &out, NULL, NULL, err);
}

static bool along_axis(RuleCall *call, int64_t axis, DimUse use, Error *err)
{
    const Shape *from = call->shape[0];
    DimUse uses[DIMS_MAX] = {DIM_MAP};
    int dim;
    if (!args_axis(axis, from->n_dims, &dim, err))
        return false;
    uses[dim] = use;
    for (int o = 0; o < call->n_outputs; o++)
        call->out_shape[o] = *from;
    return dims_space(call, from, uses, NULL, err);
}

bool dims_along(RuleCall *call, const char *attr, int64_t fallback, DimUse use, Error *err)
{
    return along_axis(call, args_int(call, attr, fallback), use, err);
}

bool dims_cumulate(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    DimUse use[DIMS_MAX];
    int64_t axis;
    if (args_all_as_one_row(call)) {
        call->out_shape[0] = (Shape){.n_dims = 1, .dim = {shape_elements(from)}};
        return rule_space(call, err);
    }
    if (!args_has(call, 1) && !args_attr(call, "axis"))
        return error_set(err, "it has no axis");
    if (!args_has(call, 1))
        return dims_along(call, "axis", 0, DIM_FROZEN, err);
    if (value_one_int(call->value[1], &axis))
        return along_axis(call, axis, DIM_FROZEN, err);
    for (int64_t d = 0; d < from->n_dims; d++)
        use[d] = DIM_FROZEN;
    call->out_shape[0] = *from;
    return dims_space(call, from, use, NULL, err);
}

bool dims_view(RuleCall *call, const Shape *to, Error *err)
{
    dims_answer(call, to, call->dtype[0]);
    OpSpace *space = rule_space(call, err);
    const OpSpace *rows = space ? reshape_opspace(call->arena, call->shape[0], to, err) : NULL;
    if (!rows)
        return false;
    space->n_index = rows->n_index;
    memcpy(space->index, rows->index, sizeof space->index);
    space->operand[0].projection = rows->operand[0].projection;
    space->operand[0].linear = LINEAR_ALONE;
    rule_output(space, 0)->projection = rows->operand[1].projection;
    return true;
}

bool dims_permute(RuleCall *call, const int *perm, Error *err)
{
    const Shape *from = call->shape[0];
    int index[DIMS_MAX] = {0}, n = (int)from->n_dims;
    call->out_shape[0] = (Shape){.n_dims = n};
    for (int d = 0; d < n; d++)
        call->out_shape[0].dim[d] = from->dim[perm[d]];
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    for (int d = 0; d < n; d++)
        index[d] = rule_index_at(call, 'd', d, from->dim[d]);
    for (int d = 0; d < n; d++) {
        rule_unit(&space->operand[0], d, index[d]);
        rule_unit(rule_output(space, 0), d, index[perm[d]]);
    }
    space->operand[0].linear = LINEAR_ALONE;
    return true;
}

bool dims_repeat(RuleCall *call, const int64_t *times, int64_t n, Error *err)
{
    const Shape *from = call->shape[0];
    Shape out = {.n_dims = n};
    int64_t skip = n - from->n_dims;
    for (int64_t d = 0; d < n; d++)
        if (times[d] < 0 ||
            __builtin_mul_overflow(times[d], d < skip ? 1 : from->dim[d - skip], &out.dim[d]))
            return error_kind(err, ERROR_OUT_OF_RANGE,
                              "it repeats dim %" PRId64 " %" PRId64 " times", d, times[d]);
    dims_answer(call, &out, call->dtype[0]);
    OpSpace *space = rule_space(call, err);
    for (int64_t d = 0; space && d < n; d++) {
        if (space->n_index + 2 > X_MAX)
            return error_kind(err, ERROR_RANK, "it repeats too many dims");
        int pair[2] = {rule_index_at(call, 't', d, times[d]), -1};
        if (d >= skip) {
            pair[1] = rule_index_at(call, 'd', d - skip, from->dim[d - skip]);
            rule_unit(&space->operand[0], d - skip, pair[1]);
        }
        rule_radix(space, rule_output(space, 0), d, pair, 2);
    }
    return space;
}

bool dims_marked(const RuleCall *call, const char *attr, bool *marked, Error *err)
{
    int64_t n_dims = call->shape[0]->n_dims;
    Ints axes;
    if (!args_ints(call, -1, attr, &axes, err))
        return false;
    for (int64_t d = 0; d < n_dims; d++)
        marked[d] = axes.n == 0;
    for (int i = 0; i < axes.n; i++) {
        int axis;
        if (!args_axis(axes.at[i], n_dims, &axis, err))
            return false;
        if (marked[axis])
            return error_kind(err, ERROR_DUPLICATE, "axis %d is given twice", axis);
        marked[axis] = true;
    }
    return true;
}

Shape dims_without(const Shape *shape, const bool *marked, bool keep)
{
    Shape out = {0};
    for (int64_t d = 0; d < shape->n_dims; d++)
        if (!marked[d] || keep)
            out.dim[out.n_dims++] = marked[d] ? 1 : shape->dim[d];
    return out;
}

bool dims_beside(RuleCall *call, int axis, bool has_axis, Error *err)
{
    const Shape *from = call->shape[0];
    OpSpace *space = rule_space(call, err);
    for (int d = 0; space && d < from->n_dims; d++) {
        if (d == axis)
            continue;
        int index = rule_index_at(call, 'd', d, from->dim[d]);
        rule_unit(&space->operand[0], d, index);
        for (int o = 0; o < call->n_outputs; o++)
            rule_unit(rule_output(space, o), d - (!has_axis && d > axis), index);
    }
    if (space)
        space->operand[0].linear = LINEAR_ALONE;
    return space;
}

Shape dims_without_one(const Shape *shape, int axis)
{
    bool gone[DIMS_MAX] = {false};
    gone[axis] = true;
    return dims_without(shape, gone, false);
}

void dims_equal_parts(RuleCall *call, int axis, int64_t part)
{
    OpSpace *space = call->space;
    int pair[2] = {rule_index(space, "p", call->n_outputs, ROLE_FROZEN, REDUCE_NONE),
                   rule_index(space, "j", part, ROLE_MAP, REDUCE_NONE)};
    rule_radix(space, &space->operand[0], axis, pair, 2);
    for (int o = 0; o < call->n_outputs; o++)
        rule_unit(rule_output(space, o), axis, pair[1]);
}
