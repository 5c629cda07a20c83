#include "core/rules/infer_state.h"

#include "core/rules/args.h"

static int64_t rank_of(const RuleCall *call, OutputRank rank, int64_t n_dims, int64_t length)
{
    switch (rank) {
    case RANK_BY_RULE:
        return -1;
    case RANK_LENGTH:
        return length;
    case RANK_MORE:
        return length < 0 ? -1 : n_dims + length;
    case RANK_REDUCED:
        if (args_int(call, "keepdims", 1) != 0)
            return n_dims;
        return length < 0 ? -1 : n_dims - length;
    case RANK_LESS:
        return length < 0 ? -1 : n_dims - length;
    case RANK_BROADCAST:
        return length < 0 ? -1 : length > n_dims ? length : n_dims;
    case RANK_ONE:
        return 1;
    case RANK_SAME:
    case RANK_AXES:
    case RANK_SPLIT:
        return n_dims;
    }
    return -1;
}

/* Finds the dims of input 0 that the op leaves unchanged. */
static void find_kept(const RuleCall *call, OutputRank rank, int64_t n_dims, int64_t length,
                      bool *kept)
{
    Ints axes = {0};
    int axis;
    for (int64_t d = 0; d < n_dims; d++)
        kept[d] = rank == RANK_AXES || rank == RANK_SPLIT;
    if (rank == RANK_SPLIT && args_axis(args_int(call, "axis", 0), n_dims, &axis, NULL))
        kept[axis] = false;
    if (rank != RANK_AXES)
        return;
    bool known = args_ints(call, 3, "axes", &axes, NULL);
    for (int64_t d = 0; d < n_dims; d++)
        kept[d] = known && (axes.given || (length >= 0 && d >= length));
    for (int i = 0; known && i < axes.n; i++)
        if (args_axis(axes.at[i], n_dims, &axis, NULL))
            kept[axis] = false;
}

/* The number of elements of an operand; -1 if it is not known. */
static int64_t length_of(const InferState *state, const RuleCall *call, int operand)
{
    int32_t t = operand < call->n_inputs ? op_inputs(call->graph, call->op)[operand] : -1;
    const Shape *shape = t < 0 ? NULL : code_shape(state, state->result->shape[t]);
    return shape && shape_is_known(shape) && shape->n_dims <= 1 ? shape_elements(shape) : -1;
}

static Dtype dtype_of(const RuleCall *call)
{
    const Attr *value = args_attr(call, "value");
    if (strcmp(op_operator(call->graph, call->op), "ConstantOfShape") != 0)
        return call->dtype[0];
    return value && value->type == ATTR_TENSOR ? (Dtype)value->dtype : DT_F32;
}

bool infer_rank(InferState *state, int32_t op, const InferKind *kind, InferAnswer *answers)
{
    RuleCall call = infer_call(state, op, kind);
    int32_t first = call.n_inputs > 0 ? op_inputs(state->graph, op)[0] : -1;
    const Shape *from = first < 0 ? NULL : code_shape(state, state->result->shape[first]);
    const Operator *row = operator_find(kind->row->name);
    if (!from || !row || row->rank == RANK_BY_RULE)
        return false;
    bool known = true, kept[DIMS_MAX] = {false};
    for (int i = 0; i < call.n_inputs; i++) {
        int32_t t = op_inputs(state->graph, op)[i];
        known &=
            t < 0 || (!code_is_partly(state->result->shape[t]) &&
                      (!infer_reads_value(kind, i) || (call.value[i] && !call.value[i]->partly)));
    }
    if (known && kind->row->reads != 0)
        return false;

    int64_t length = length_of(state, &call, row->rank_operand);
    Shape shape = {.n_dims = rank_of(&call, (OutputRank)row->rank, from->n_dims, length)};
    if (shape.n_dims < 0 || shape.n_dims > DIMS_MAX)
        return false;
    find_kept(&call, (OutputRank)row->rank, from->n_dims, length, kept);
    for (int64_t d = 0; d < shape.n_dims; d++)
        shape.dim[d] = kept[d] ? from->dim[d] : SIZE_UNNAMED;
    for (int o = 0; o < call.n_outputs; o++)
        answers[o] = (InferAnswer){infer_code(state, &shape), dtype_of(&call), NULL};
    return true;
}
