/* scatter.c - operators that put, choose or count elements by position.
 *
 *     ScatterElements        d0 5 d2, d0 u d2, d0 u d2 -> d0 5 d2      along axis 1
 *       with reduction=add   u+: each shard adds the updates it holds, the data is added once
 *     ScatterND              * * e2, i0 2, i0 e2 -> * * e2             alike, i0+
 *     TopK                   d0 d^, 1 -> d0 k, d0 k
 *     OneHot                 i0 i1, , 2 -> i0 i1 depth
 *     ReverseSequence        t^ b d2, b -> t^ b d2
 *
 * A dim that positions index is read and written whole. Max and min of updates may be combined with
 * the data on every shard, so the data need not be added only once; products cannot be combined. If
 * the number of chosen elements depends on data, its size is -1.
 */
#include "core/rules/args.h"

#include <inttypes.h>

/* A count from the one element of an input, or from an attribute; -1 if it is known only at run
 * time. */
static bool read_count(const RuleCall *call, int input, const char *attr, int64_t *out, Error *err)
{
    Ints given;
    *out = -1;
    if (args_has(call, input) && !call->value[input])
        return true;
    const Value *value = args_has(call, input) ? call->value[input] : NULL;
    bool is_float = value && value->floats && shape_elements(&value->shape) == 1;
    if (is_float && value->floats[0] >= 0 && value->floats[0] < 0x1p60) {
        *out = (int64_t)value->floats[0]; /* the depth of OneHot may be any number */
        return true;
    }
    if (!args_ints(call, input, attr, &given, err))
        return false;
    if (given.n != 1 || given.at[0] < 0)
        return error_kind(err, ERROR_OUT_OF_RANGE, "its %s is not one number of 0 or more", attr);
    *out = given.at[0];
    return true;
}

/* Outputs have the shape of input 0, with index dims d0, d1, .. except for the dims marked in
 * `whole`. */
static bool same_dims(RuleCall *call, const bool *whole, Error *err)
{
    const Shape *from = call->shape[0];
    call->out_shape[0] = *from;
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    for (int d = 0; d < from->n_dims; d++) {
        if (whole[d])
            continue;
        int index = rule_index_at(call, 'd', d, from->dim[d]);
        rule_unit(&space->operand[0], d, index);
        rule_unit(rule_output(space, 0), d, index);
    }
    return true;
}

/* ---- scatter ---- */

/* How updates are combined with the data; REDUCE_NONE: they replace it. */
static bool read_reduction(const RuleCall *call, ReduceOp *out, Error *err)
{
    static const struct {
        const char *name;
        ReduceOp reduce;
    } words[] = {{"none", REDUCE_NONE},
                 {"add", REDUCE_SUM},
                 {"mul", REDUCE_PROD},
                 {"max", REDUCE_MAX},
                 {"min", REDUCE_MIN}};
    Str text = args_text(call, "reduction", "none");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_eq(text, str_from(words[i].name))) {
            *out = words[i].reduce;
            return true;
        }
    return error_set(err, "unknown reduction '%.*s'", (int)text.n, text.s);
}

/* An index dim of updates of which each shard may hold a part; -1 if the updates are read whole. */
static int update_index(RuleCall *call, char letter, int64_t at, int64_t size, ReduceOp reduce)
{
    if (reduce == REDUCE_NONE || reduce == REDUCE_PROD)
        return -1;
    int index = rule_index_at(call, letter, at, size);
    if (index < 0)
        return -1;
    call->space->index[index].role = ROLE_REDUCE;
    call->space->index[index].reduce = reduce;
    call->space->operand[0].once = reduce == REDUCE_SUM;
    return index;
}

/* Marks the op as linear in data and updates together. */
static void scatter_is_linear(OpSpace *space, ReduceOp reduce)
{
    if (reduce != REDUCE_NONE && reduce != REDUCE_SUM)
        return;
    space->operand[0].linear = space->n_inputs > 2 ? LINEAR_TOGETHER : LINEAR_NO;
    if (space->n_inputs > 2)
        space->operand[2].linear = LINEAR_TOGETHER;
}

static bool check_elements(const RuleCall *call, int axis, Error *err)
{
    const Shape *data = call->shape[0], *indices = call->shape[1];
    if ((args_has(call, 2) && !args_same_shape(call, 1, 2, err)) ||
        !args_rank(call, 1, data->n_dims, data->n_dims, err))
        return false;
    for (int d = 0; d < data->n_dims; d++)
        if (d != axis && indices->dim[d] > data->dim[d])
            return error_kind(err, ERROR_OUT_OF_RANGE,
                              "dim %d of its input 1 is %" PRId64
                              ", and of its input 0 only %" PRId64,
                              d, indices->dim[d], data->dim[d]);
    return true;
}

/* Freezes the index dims that only dim d of the indices had. */
static void freeze_dim(OpSpace *space, int d)
{
    for (int j = 0; j < space->n_index; j++)
        if (space->operand[1].projection.row[d].coef[j] != 0) {
            space->index[j].role = ROLE_FROZEN;
            space->index[j].reduce = REDUCE_NONE;
        }
    row_whole(&space->operand[2].projection.row[d], space->operand[2].shape.dim[d]);
}

static bool scatter_along(RuleCall *call, int axis, Error *err)
{
    const Shape *data = call->shape[0], *indices = call->shape[1];
    ReduceOp reduce;
    if (!read_reduction(call, &reduce, err))
        return false;
    bool whole[DIMS_MAX] = {false};
    for (int d = 0; d < data->n_dims; d++)
        whole[d] = d == axis || indices->dim[d] != data->dim[d];
    call->out_dtype[0] = call->dtype[0];
    if (!same_dims(call, whole, err))
        return false;

    OpSpace *space = call->space;
    for (int d = 0; d < data->n_dims; d++) {
        int index = -1;
        if (!whole[d])
            index = opspace_find_index(space, str_from(arena_printf(call->arena, "d%d", d)));
        else if (d == axis)
            index = update_index(call, 'u', d, indices->dim[d], reduce);
        for (int i = 1; i < call->n_inputs && index >= 0; i++)
            rule_unit(&space->operand[i], d, index);
    }
    scatter_is_linear(space, reduce);
    return true;
}

static bool scatter_elements(RuleCall *call, Error *err)
{
    int axis;
    return args_axis(args_int(call, "axis", 0), call->shape[0]->n_dims, &axis, err) &&
           check_elements(call, axis, err) && scatter_along(call, axis, err);
}

/* torch's scatter: one value for all, or a source longer than the indices, whose rest is not
 * read. */
static bool scatter_some(RuleCall *call, Error *err)
{
    const Shape *indices = call->shape[1];
    RuleCall cut = *call;
    const Shape *shape[3] = {call->shape[0], indices, indices};
    int axis;
    cut.shape = shape;
    for (int64_t d = 0; args_has(call, 2) && d < indices->n_dims; d++)
        if (call->shape[2]->n_dims != indices->n_dims || call->shape[2]->dim[d] < indices->dim[d])
            return error_kind(err, ERROR_RANK, "its input 2 is smaller than its input 1");
    if (!args_axis(args_int(call, "axis", 0), call->shape[0]->n_dims, &axis, err) ||
        !check_elements(&cut, axis, err) || !scatter_along(call, axis, err))
        return false;
    for (int64_t d = 0; args_has(call, 2) && d < indices->n_dims; d++)
        if (call->shape[2]->dim[d] != indices->dim[d])
            freeze_dim(call->space, (int)d);
    return true;
}

/* *n_picked: the number of leading dims of the data that a row of indices selects from. */
static bool check_rows(const RuleCall *call, int64_t *n_picked, Error *err)
{
    const Shape *data = call->shape[0], *indices = call->shape[1];
    int64_t lead = indices->n_dims - 1;
    if (!args_rank(call, 0, 1, DIMS_MAX, err) || !args_rank(call, 1, 1, DIMS_MAX, err))
        return false;
    *n_picked = indices->dim[lead];
    if (*n_picked > data->n_dims)
        return error_kind(err, ERROR_OUT_OF_RANGE,
                          "the last dim of its input 1 is %" PRId64 ", and its input 0 has %" PRId64
                          " dims",
                          *n_picked, data->n_dims);
    Shape want = {.n_dims = lead + data->n_dims - *n_picked};
    if (!args_rank(call, 2, want.n_dims, want.n_dims, err))
        return false;
    for (int64_t d = 0; d < want.n_dims; d++)
        want.dim[d] = d < lead ? indices->dim[d] : data->dim[d - lead + *n_picked];
    return args_shape(call, 2, &want, err);
}

static bool scatter_nd(RuleCall *call, Error *err)
{
    const Shape *data = call->shape[0], *indices = call->shape[1];
    int64_t lead = indices->n_dims - 1, n_picked = 0;
    ReduceOp reduce;
    if (!check_rows(call, &n_picked, err) || !read_reduction(call, &reduce, err))
        return false;
    OpSpace *space = rule_space_as(call, data, call->dtype[0], err);
    if (!space)
        return false;

    for (int64_t d = n_picked; d < data->n_dims; d++) {
        int index = rule_index_at(call, 'e', d, data->dim[d]);
        rule_unit(&space->operand[0], d, index);
        rule_unit(&space->operand[2], lead + d - n_picked, index);
        rule_unit(rule_output(space, 0), d, index);
    }
    for (int64_t d = 0; d < lead && space->n_index < X_MAX; d++) {
        int index = update_index(call, 'i', d, indices->dim[d], reduce);
        if (index < 0)
            continue;
        rule_unit(&space->operand[1], d, index);
        rule_unit(&space->operand[2], d, index);
    }
    scatter_is_linear(space, reduce);
    return true;
}

/* ---- choosing ---- */

static bool top_k(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    int64_t k;
    int axis;
    if (!args_axis(args_int(call, "axis", -1), from->n_dims, &axis, err) ||
        !read_count(call, 1, "k", &k, err))
        return false;
    if (k > from->dim[axis])
        return error_kind(err, ERROR_OUT_OF_RANGE, "it selects %" PRId64 " of %" PRId64, k,
                          from->dim[axis]);
    for (int o = 0; o < call->n_outputs; o++) {
        call->out_shape[o] = *from;
        call->out_shape[o].dim[axis] = k;
        call->out_dtype[o] = o == 0 ? call->dtype[0] : DT_I64;
    }
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    for (int d = 0; d < from->n_dims; d++) {
        int index = d == axis ? rule_index(space, "d", from->dim[d], ROLE_FROZEN, REDUCE_NONE)
                              : rule_index_at(call, 'd', d, from->dim[d]);
        rule_unit(&space->operand[0], d, index);
        for (int o = 0; o < call->n_outputs && d != axis; o++)
            rule_unit(rule_output(space, o), d, index);
    }
    return true;
}

/* How many of the first n elements of input 1 are true; -1 if that is known only at run time. */
static int64_t count_chosen(const RuleCall *call, int64_t n)
{
    const Value *condition = call->value[1];
    int64_t n_chosen = 0, chosen;
    for (int64_t i = 0; i < n && i < shape_elements(call->shape[1]); i++) {
        if (!condition || !value_int_at(condition, i, &chosen))
            return -1;
        n_chosen += chosen != 0;
    }
    return n_chosen;
}

/* Without an axis, elements are chosen from the flattened tensor. */
static bool compress(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    bool flat = !args_attr(call, "axis");
    int64_t n = shape_elements(from);
    int axis = 0;
    if (!flat && !args_axis(args_int(call, "axis", 0), from->n_dims, &axis, err))
        return false;
    if (!args_rank(call, 1, 1, 1, err))
        return false;
    call->out_shape[0] = flat ? (Shape){.n_dims = 1} : *from;
    call->out_dtype[0] = call->dtype[0];
    call->out_shape[0].dim[axis] = count_chosen(call, flat ? n : from->dim[axis]);
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    for (int d = 0; d < from->n_dims && !flat; d++) {
        if (d == axis)
            continue;
        int index = rule_index_at(call, 'd', d, from->dim[d]);
        rule_unit(&space->operand[0], d, index);
        rule_unit(rule_output(space, 0), d, index);
    }
    space->operand[0].linear = LINEAR_ALONE;
    return true;
}

/* One column per element found, one row per dim. */
static bool non_zero(RuleCall *call, Error *err)
{
    call->out_shape[0] = (Shape){.n_dims = 2, .dim = {call->shape[0]->n_dims, -1}};
    call->out_dtype[0] = DT_I64;
    return rule_space(call, err);
}

/* Rows of (batch, class, box). */
static bool boxes_kept(RuleCall *call, Error *err)
{
    call->out_shape[0] = (Shape){.n_dims = 2, .dim = {-1, 3}};
    call->out_dtype[0] = DT_I64;
    return rule_space(call, err);
}

/* Outputs: the unique slices, the first index of each, the unique slice of each slice, their
 * counts. */
static bool unique(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    const Attr *given = args_attr(call, "axis");
    bool flat = !given || given->type != ATTR_INT;
    int axis = 0;
    if (!flat && !args_axis(args_int(call, "axis", 0), from->n_dims, &axis, err))
        return false;
    for (int o = 0; o < call->n_outputs; o++) {
        call->out_shape[o] = (Shape){.n_dims = 1, .dim = {-1}};
        call->out_dtype[o] = o == 0 ? call->dtype[0] : DT_I64;
    }
    if (!flat) {
        call->out_shape[0] = *from;
        call->out_shape[0].dim[axis] = -1;
    }
    if (call->n_outputs > 2)
        call->out_shape[2].dim[0] = flat ? shape_elements(from) : from->dim[axis];
    return rule_space(call, err);
}

/* ---- positions ---- */

static bool one_hot(RuleCall *call, Error *err)
{
    const Shape *indices = call->shape[0];
    Shape *out = &call->out_shape[0];
    int64_t depth;
    int axis;
    if (indices->n_dims == DIMS_MAX)
        return error_kind(err, ERROR_RANK, "its output has more than %d dims", DIMS_MAX);
    if (!args_axis(args_int(call, "axis", -1), indices->n_dims + 1, &axis, err) ||
        !read_count(call, 1, "depth", &depth, err))
        return false;
    *out = (Shape){.n_dims = indices->n_dims + 1};
    for (int d = 0; d < out->n_dims; d++)
        out->dim[d] = d == axis ? depth : indices->dim[d - (d > axis)];
    call->out_dtype[0] = args_has(call, 2) ? call->dtype[2] : DT_I64;
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    for (int d = 0; d < indices->n_dims; d++) {
        int index = rule_index_at(call, 'i', d, indices->dim[d]);
        rule_unit(&space->operand[0], d, index);
        rule_unit(rule_output(space, 0), d + (d >= axis), index);
    }
    return true;
}

static bool reverse_sequence(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    int time, batch;
    if (!args_axis(args_int(call, "time_axis", 0), from->n_dims, &time, err) ||
        !args_axis(args_int(call, "batch_axis", 1), from->n_dims, &batch, err))
        return false;
    if (time == batch)
        return error_kind(err, ERROR_DUPLICATE, "its time and batch axes are the same");
    if (!args_shape(call, 1, &(Shape){.n_dims = 1, .dim = {from->dim[batch]}}, err))
        return false;
    OpSpace *space = rule_space_as(call, from, call->dtype[0], err);
    if (!space)
        return false;
    for (int d = 0; d < from->n_dims; d++) {
        int index = d == time    ? rule_index(space, "t", from->dim[d], ROLE_FROZEN, REDUCE_NONE)
                    : d == batch ? rule_index(space, "b", from->dim[d], ROLE_MAP, REDUCE_NONE)
                                 : rule_index_at(call, 'd', d, from->dim[d]);
        rule_unit(&space->operand[0], d, index);
        rule_unit(rule_output(space, 0), d, index);
        if (d == batch)
            rule_unit(&space->operand[1], 0, index);
    }
    space->operand[0].linear = LINEAR_ALONE;
    return true;
}

/* Which elements are 1 depends on their index in the whole matrix. */
static bool eye_like(RuleCall *call, Error *err)
{
    static const bool whole[DIMS_MAX] = {true, true};
    return args_rank(call, 0, 2, 2, err) &&
           args_dtype(call, "dtype", call->dtype[0], &call->out_dtype[0], err) &&
           same_dims(call, whole, err);
}

static bool determinant(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    int64_t n = from->n_dims - 2;
    if (!args_rank(call, 0, 2, DIMS_MAX, err) || !args_same_size(call, 0, n, 0, n + 1, err))
        return false;
    call->out_shape[0] = (Shape){.n_dims = n};
    for (int64_t d = 0; d < n; d++)
        call->out_shape[0].dim[d] = from->dim[d];
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    for (int64_t d = 0; d < n; d++) {
        int index = rule_index_at(call, 'd', d, from->dim[d]);
        rule_unit(&space->operand[0], d, index);
        rule_unit(rule_output(space, 0), d, index);
    }
    return true;
}

/* Picks columns of the last dim; a vector counts as one row. */
static bool feature_extractor(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    Shape *out = &call->out_shape[0];
    if (!args_rank(call, 0, 1, DIMS_MAX, err))
        return false;
    *out = *from;
    if (from->n_dims == 1)
        *out = (Shape){.n_dims = 2, .dim = {1}};
    out->dim[out->n_dims - 1] = shape_elements(call->shape[1]);
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    for (int64_t d = 0; d < from->n_dims - 1; d++) {
        int index = rule_index_at(call, 'd', d, from->dim[d]);
        rule_unit(&space->operand[0], d, index);
        rule_unit(rule_output(space, 0), d, index);
    }
    return true;
}

#define FAMILY "scatter"

const Operator operators_scatter[] = {
    {OP("ScatterElements", scatter_elements, 0, 3, 3),
     GRADIENT("0: ScatterGrad(x0 x1 x2); 2: ScatterGrad(x0 x1 x2)"),
     ONNX("axis reduction", "A .i A"), .kernel = "ScatterElements",
     .examples = "5x6,5x4:i64,5x4 axis=1; 5x6,5x4:i64,5x4 axis=1 reduction=add; 5x6,3x4:i64,3x4 "
                 "axis=1 reduction=max; 5x6,5x4:i64,5x4 axis=1 reduction=mul",
     TORCH("scatter_add(dim=axis;; reduction:=add)"),
     PADDLE("put_along_axis(axis=axis) take_along_axis_grad(;; reduction:=add)"),
     .dtensor = "along_first scatter"},
    {OP("Scatter", scatter_elements, 0, 3, 3),
     GRADIENT("0: ScatterGrad(x0 x1 x2); 2: ScatterGrad(x0 x1 x2)"), ONNX("axis", "A .i A"),
     .kernel = "ScatterElements", .examples = "5x6,5x4:i64,5x4 axis=1"},
    {OP("ScatterSome", scatter_some, 0, 2, 3), OWN("axis reduction value", ". .i"),
     .examples = "5x6,5x4:i64,5x4 axis=1 reduction=add; 5x6,5x4:i64,7x4 axis=1; 5x6,5x4:i64 axis=1",
     TORCH("scatter(dim=axis)")},
    {OP("ScatterND", scatter_nd, 0, 3, 3),
     GRADIENT("0: ScatterGrad(x0 x1 x2); 2: ScatterGrad(x0 x1 x2)"), ONNX("reduction", "A .i A"),
     .kernel = "ScatterND",
     .examples =
         "5x6x4,3x2:i64,3x4; 5x6x4,3x2:i64,3x4 reduction=add; 5x6,3x7x1:i64,3x7x6 reduction=min",
     PADDLE("scatter_nd_add(;; reduction:=add) gather_nd_grad(;; reduction:=add)")},
    {OP("TopK", top_k, 0, 1, 2), .flags = OPERATOR_CHOOSES, GRADIENT("0: move(x0)"),
     .outputs_max = 2, .reads = 1 << 1, ONNX("axis k largest sorted", ".fi .i"), .kernel = "TopK",
     .examples = "5x6x4,=[3] axis=1 -> 2", NNSCALER("topk(dim=axis)"), TORCH("topk(dim=axis)"),
     TORCH_CALLS("topk: 5x6x4,=[2] axis=1 -> 2 | dim=1 k=2"), PADDLE("topk(k=k)"),
     .dtensor = "along_last topk"},
    {OP("OneHot", one_hot, 0, 1, 3), GRADIENT("2: move(x0)"), .reads = 1 << 1,
     ONNX("axis", ".fi .fi"), .kernel = "OneHot", .examples = "5x6:i64,=7,2; 5x6:i64,=7,2 axis=0",
     TORCH("one_hot(num_classes=depth)"), PADDLE("one_hot(num_classes=depth)")},
    {OP("Compress", compress, 0, 2, 2), GRADIENT("0: move(x1)"), .reads = 1 << 1,
     ONNX("axis", ". .b"), .kernel = "Compress",
     .examples = "5x6x4,6:bool axis=1; 5x6x4,=[1,0,1,1,0,1] axis=1"},
    {OP("NonZero", non_zero, 0, 1, 1), ONNX("", ""), .kernel = "NonZero", .examples = "5x6",
     PADDLE("nonzero_static")},
    {OP("Unique", unique, 0, 1, 1), GRADIENT("0: refused its places depend on the values"),
     .outputs_max = 4, ONNX("axis sorted", ""), .kernel = "Unique", .examples = "5x6 axis=1 -> 4",
     PADDLE("unique")},
    {OP("NonMaxSuppression", boxes_kept, 0, 2, 5), ONNX("center_point_box", ".f .f .i .f .f"),
     .kernel = "NonMaxSuppression", .examples = "2x7x4,2x3x7,=[4]"},
    {OP("ReverseSequence", reverse_sequence, 0, 2, 2), GRADIENT("0: move(x1)"),
     ONNX("batch_axis time_axis", ". .i"), .kernel = "ReverseSequence",
     .examples = "7x5x4,5:i64; 5x7x4,5:i64 time_axis=1 batch_axis=0"},
    {OP("EyeLike", eye_like, 0, 1, 1), GRADIENT("0: zero"), ONNX("dtype k", ""),
     .kernel = "EyeLike", .examples = "5x6"},
    {OP("Det", determinant, 0, 1, 1), GRADIENT("0: DetGrad(x0)"), ONNX("", ".f"), .kernel = "Det",
     .examples = "3x5x5", TORCH("det linalg_det"), PADDLE("determinant")},
    {OP("ai.onnx.ml::ArrayFeatureExtractor", feature_extractor, 0, 2, 2), ONNX("", ".fis .i"),
     .kernel = "ai.onnx.ml::ArrayFeatureExtractor", .examples = "5x6,3:i64; 6,3:i64"},
    {0},
};
