#include "core/peers/shardy/factor_ops.h"

#include "core/peers/shardy/factor_build.h"

/* ---- dims at the same position in all tensors ---- */

/* Adds a factor to dim `dim` of every tensor that has it, with the size it has in tensor `of`. */
static void add_everywhere(FactorBuild *build, int dim, int of, FactorType type, bool blocked)
{
    factor_start(build);
    for (int t = 0; t < build->n; t++)
        if (dim < factor_shape(build, t)->n_dims)
            factor_at(build, t, dim);
    factor_add(build, factor_size(build, of, dim), type, blocked);
}

/* Checks that all tensors except scalars have the same number of dims. */
static bool check_ranks(FactorBuild *build, int of)
{
    int64_t want = factor_shape(build, of)->n_dims;
    for (int t = 0; t < build->n; t++) {
        int64_t n = factor_shape(build, t)->n_dims;
        if (n != 0 && n != want)
            return error_kind(build->err, ERROR_RANK, "%s has %d dim%s but %s has %d",
                              factor_tensor_name(build, t), (int)n, n == 1 ? "" : "s",
                              factor_tensor_name(build, of), (int)want);
    }
    return true;
}

/* Adds one factor a dim with the type that the function returns for it; sizes are those of tensor
 * `of`. */
static bool by_dim(FactorBuild *build, int of, FactorType (*type)(FactorBuild *, int dim),
                   bool blocked)
{
    if (!check_ranks(build, of))
        return false;
    for (int d = 0; d < factor_shape(build, of)->n_dims; d++) {
        FactorType found = type ? type(build, d) : FACTOR_PASS_THROUGH;
        add_everywhere(build, d, of, found, blocked && found != FACTOR_PASS_THROUGH);
    }
    return true;
}

static bool pointwise(FactorBuild *build)
{
    int of = factor_result(build, 0);
    bool any = strcmp(build->call->op, "stablehlo.custom_call") == 0; /* shapes of its own */
    if (!factor_needs(build, 1, 1) || !check_ranks(build, of))
        return false;
    for (int t = 0; t < build->n && !any; t++)
        for (int d = 0; d < factor_shape(build, t)->n_dims; d++)
            if (!factor_same_size(build, t, d, of, d))
                return false;
    return by_dim(build, of, NULL, false);
}

static bool resized(const FactorBuild *build, int d)
{
    return factor_size(build, 0, d) != factor_size(build, factor_result(build, 0), d);
}

static FactorType exchange_where_resized(FactorBuild *build, int d)
{
    return resized(build, d) ? FACTOR_PERMUTATION : FACTOR_PASS_THROUGH;
}

/* slice, pad */
static bool moved(FactorBuild *build)
{
    return factor_needs(build, 1, 1) &&
           by_dim(build, 0, exchange_where_resized, build->call->conservative);
}

static FactorType gather_where_resized(FactorBuild *build, int d)
{
    return resized(build, d) ? FACTOR_NEED_REPLICATION : FACTOR_PASS_THROUGH;
}

static bool chosen(FactorBuild *build) /* dynamic_slice, top-k */
{
    return factor_needs(build, 1, 1) && by_dim(build, 0, gather_where_resized, true);
}

static FactorType of_reversed(FactorBuild *build, int d)
{
    return factor_has(factor_ints(build, "dims"), d) ? FACTOR_PERMUTATION : FACTOR_PASS_THROUGH;
}

static bool reverse(FactorBuild *build)
{
    return factor_needs(build, 1, 1) && by_dim(build, 0, of_reversed, false);
}

static FactorType of_last_two(FactorBuild *build, int d)
{
    return d >= factor_shape(build, 0)->n_dims - 2 ? FACTOR_NEED_REPLICATION : FACTOR_PASS_THROUGH;
}

static bool cholesky(FactorBuild *build)
{
    return factor_needs(build, 1, 1) && by_dim(build, 0, of_last_two, false);
}

/* Its last dims need replication; a last dim that it halves takes no part in propagation. */
static bool fft(FactorBuild *build)
{
    int n = factor_ints(build, "fft_length").n;
    if (!factor_needs(build, 1, 1) || !check_ranks(build, 0))
        return false;
    int rank = (int)factor_shape(build, 0)->n_dims;
    for (int d = 0; d < rank; d++)
        add_everywhere(build, d, 0, d >= rank - n ? FACTOR_NEED_REPLICATION : FACTOR_PASS_THROUGH,
                       d == rank - 1 && resized(build, d));
    return true;
}

/* Where the sorted dim is the only one larger than 1 it would be gathered in any case, so its
 * factor is blocked. */
static bool sort(FactorBuild *build)
{
    FactorInts dims = factor_ints(build, "dimension");
    if (!factor_needs(build, 1, 1) || !check_ranks(build, 0) || !factor_check_dims(build, dims, 0))
        return false;
    int along = dims.n > 0 ? (int)dims.at[0] : -1;
    bool alone = true;
    for (int d = 0; d < factor_shape(build, 0)->n_dims; d++)
        alone &= d == along || factor_size(build, 0, d) == 1;
    for (int d = 0; d < factor_shape(build, 0)->n_dims; d++)
        add_everywhere(build, d, 0, d == along ? FACTOR_NEED_REPLICATION : FACTOR_PASS_THROUGH,
                       d == along && alone);
    return true;
}

/* ---- dims that differ: each side has its own factor ---- */

/* Adds a factor for dim `dim` of the operands and one for the results; both need replication. */
static void add_both_sides(FactorBuild *build, int dim, bool operands, bool results)
{
    for (int side = 0; side < 2; side++) {
        int first = side ? factor_result(build, 0) : 0, end = side ? build->n : first;
        if (!side)
            end = build->call->n_operands;
        if (!(side ? results : operands))
            continue;
        factor_start(build);
        for (int t = first; t < end; t++)
            factor_at(build, t, dim);
        factor_add(build, factor_size(build, first, dim), FACTOR_NEED_REPLICATION, false);
    }
}

static bool collective_along(FactorBuild *build, FactorInts dims)
{
    if (!factor_needs(build, 1, 1) || !check_ranks(build, 0) || !factor_check_dims(build, dims, 0))
        return false;
    for (int d = 0; d < factor_shape(build, 0)->n_dims; d++)
        if (!factor_has(dims, d))
            add_everywhere(build, d, 0, FACTOR_PASS_THROUGH, false);
    for (int i = 0; i < dims.n; i++)
        if (i == 0 || dims.at[i] != dims.at[0])
            add_both_sides(build, (int)dims.at[i], true, true);
    return true;
}

static bool all_gather(FactorBuild *build)
{
    return collective_along(build, factor_ints(build, "all_gather_dim"));
}

static bool reduce_scatter(FactorBuild *build)
{
    return collective_along(build, factor_ints(build, "scatter_dimension"));
}

static bool all_to_all(FactorBuild *build)
{
    FactorInts split = factor_ints(build, "split_dimension");
    FactorInts concat = factor_ints(build, "concat_dimension");
    if (split.n != 1 || concat.n != 1)
        return factor_refuse(build, ERROR_INVALID, "it must split one dim and concatenate one");
    int64_t both[2] = {split.at[0], concat.at[0]};
    return collective_along(build, (FactorInts){2, both});
}

/* A dim of size 1 that is expanded gets its own factor. */
static bool broadcast_in_dim(FactorBuild *build)
{
    FactorInts dims = factor_ints(build, "dims");
    int result = factor_result(build, 0);
    if (!factor_needs(build, 1, 1) || !factor_check_dims(build, dims, result))
        return false;
    if (dims.n != factor_shape(build, 0)->n_dims)
        return factor_refuse(build, ERROR_RANK, "'dims' needs one entry per dim of the operand");
    for (int d = 0; d < factor_shape(build, result)->n_dims; d++) {
        int64_t size = factor_size(build, result, d);
        int from = factor_find(dims, d);
        factor_start(build);
        factor_at(build, result, d);
        if (from >= 0 && factor_size(build, 0, from) == size) {
            factor_at(build, 0, from);
        } else if (from >= 0) {
            factor_add_one(build, 0, from, factor_size(build, 0, from), FACTOR_PASS_THROUGH, false);
            factor_start(build);
            factor_at(build, result, d);
        }
        factor_add(build, size, FACTOR_PASS_THROUGH, false);
    }
    return true;
}

static bool transpose(FactorBuild *build)
{
    FactorInts dims = factor_ints(build, "dims");
    int result = factor_result(build, 0);
    if (!factor_needs(build, 1, 1) || !factor_check_dims(build, dims, 0))
        return false;
    if (dims.n != factor_shape(build, result)->n_dims || dims.n != factor_shape(build, 0)->n_dims)
        return factor_refuse(build, ERROR_RANK, "'dims' needs one entry per dim");
    for (int d = 0; d < dims.n; d++) {
        factor_start(build);
        factor_at(build, 0, (int)dims.at[d]);
        factor_at(build, result, d);
        factor_add(build, factor_size(build, result, d), FACTOR_PASS_THROUGH, false);
    }
    return true;
}

/* The extra dim of the narrower type needs replication. */
static bool bitcast_convert(FactorBuild *build)
{
    if (!factor_needs(build, 1, 1))
        return false;
    const Shape *from = factor_shape(build, 0), *to = factor_shape(build, 1);
    int common = (int)(from->n_dims < to->n_dims ? from->n_dims : to->n_dims);
    int of = from->n_dims > to->n_dims ? 0 : 1;
    for (int d = 0; d < factor_shape(build, of)->n_dims; d++)
        add_everywhere(build, d, of, d < common ? FACTOR_PASS_THROUGH : FACTOR_NEED_REPLICATION,
                       false);
    return true;
}

/* True when all operands are slices, or all are slices of one tensor or the tensor itself:
 * neighbours then exchange elements. */
static bool comes_from_slices(const FactorBuild *build)
{
    const FactorSource *source = build->call->source;
    bool all = true, same = true, any = false;
    for (int i = 0; source && i < build->call->n_operands; i++) {
        bool slice = str_eq(source[i].op, STR("stablehlo.slice"));
        all &= slice;
        any |= slice;
        same &= source[i].of.n > 0 && str_eq(source[i].of, source[0].of) &&
                (slice || str_eq(source[i].op, STR("arg")));
    }
    return source && any && (all || same);
}

static bool concatenate(FactorBuild *build)
{
    FactorInts dims = factor_ints(build, "dimension");
    int result = factor_result(build, 0);
    if (!factor_needs(build, 1, 1) || !check_ranks(build, result) ||
        !factor_check_dims(build, dims, result))
        return false;
    if (dims.n != 1)
        return factor_refuse(build, ERROR_INVALID, "it must concatenate one dim");
    FactorType type = comes_from_slices(build) ? FACTOR_PERMUTATION : FACTOR_NEED_REPLICATION;
    for (int d = 0; d < factor_shape(build, result)->n_dims; d++)
        if (d != dims.at[0] || !build->call->conservative)
            add_everywhere(build, d, result, d == dims.at[0] ? type : FACTOR_PASS_THROUGH, false);
    return true;
}

/* The updated tensor keeps its factors. A dim where the update is smaller needs replication in the
 * update unless the offsets are constants. */
static bool dynamic_update_slice(FactorBuild *build)
{
    const FactorCall *call = build->call;
    int result = factor_result(build, 0);
    bool constant = call->source != NULL;
    if (!factor_needs(build, 2, 1) || !check_ranks(build, 0))
        return false;
    for (int i = 2; call->source && i < call->n_operands; i++)
        constant &= str_eq(call->source[i].op, STR("constant"));
    for (int d = 0; d < factor_shape(build, 0)->n_dims; d++) {
        int64_t size = factor_size(build, 0, d), part = factor_size(build, 1, d);
        factor_start(build);
        factor_at(build, 0, d);
        factor_at(build, result, d);
        if (part == size)
            factor_at(build, 1, d);
        factor_add(build, size, FACTOR_PASS_THROUGH, false);
        if (part != size)
            factor_add_one(build, 1, d, part,
                           constant ? FACTOR_PASS_THROUGH : FACTOR_NEED_REPLICATION, false);
    }
    return true;
}

/* ---- windows without weights ---- */

/* True when the window is wider than 1, strided or padded along a dim. */
static bool window_moves(const FactorBuild *build, int d)
{
    FactorInts window = factor_ints(build, "window_dimensions");
    FactorInts stride = factor_ints(build, "window_strides");
    FactorInts pad = factor_ints(build, "padding");
    ptrdiff_t pad_at = (ptrdiff_t)2 * d;
    return (d < window.n && window.at[d] != 1) || (d < stride.n && stride.at[d] != 1) ||
           (pad_at + 1 < pad.n && (pad.at[pad_at] != 0 || pad.at[pad_at + 1] != 0));
}

static bool reduce_window(FactorBuild *build)
{
    int result = factor_result(build, 0);
    if (!factor_needs(build, 1, 1) || !check_ranks(build, result))
        return false;
    for (int d = 0; d < factor_shape(build, result)->n_dims; d++) {
        bool moves = window_moves(build, d);
        add_everywhere(build, d, result, moves ? FACTOR_PERMUTATION : FACTOR_PASS_THROUGH,
                       moves && build->call->conservative);
    }
    return true;
}

/* Operand, source, initial value; window dims of the source need replication. */
static bool select_and_scatter(FactorBuild *build)
{
    bool blocked = build->call->conservative;
    if (!factor_needs(build, 3, 1) || !check_ranks(build, 0))
        return false;
    for (int d = 0; d < factor_shape(build, 0)->n_dims; d++) {
        if (!window_moves(build, d)) {
            add_everywhere(build, d, 0, FACTOR_PASS_THROUGH, false);
            continue;
        }
        factor_add_one(build, 1, d, factor_size(build, 1, d), FACTOR_NEED_REPLICATION, blocked);
        factor_start(build);
        factor_at(build, 0, d);
        factor_at(build, factor_result(build, 0), d);
        factor_add(build, factor_size(build, 0, d), FACTOR_PERMUTATION, blocked);
    }
    return true;
}

/* ---- linear algebra ---- */

static bool batch_norm(FactorBuild *build)
{
    FactorInts feature = factor_ints(build, "feature_index");
    int result = factor_result(build, 0);
    if (!factor_needs(build, 1, 1) || !factor_check_dims(build, feature, 0))
        return false;
    for (int d = 0; d < factor_shape(build, 0)->n_dims; d++) {
        factor_start(build);
        factor_at(build, 0, d);
        factor_at(build, result, d);
        for (int t = 1; factor_has(feature, d) && t < build->call->n_operands; t++)
            factor_at(build, t, 0);
        factor_add(build, factor_size(build, 0, d), FACTOR_PASS_THROUGH, false);
    }
    return true;
}

/* Solves a x = b (left) or x a = b: the last two dims of b, and the dim of a that x's new dim comes
 * from, need replication. */
static bool triangular_solve(FactorBuild *build)
{
    if (!factor_needs(build, 2, 1) || factor_shape(build, 0)->n_dims < 2 || !check_ranks(build, 0))
        return factor_refuse(build, ERROR_RANK, "its operands need at least two dims");
    const Attr *transpose_a = op_attr(build->call->graph, build->call->graph_op, "transpose_a");
    bool turned = transpose_a && transpose_a->type == ATTR_STRING &&
                  !str_eq(transpose_a->s, STR("NO_TRANSPOSE"));
    bool left = op_attr_int(build->call->graph, build->call->graph_op, "left_side", 1) != 0;
    int n = (int)factor_shape(build, 0)->n_dims, row = n - 2, column = n - 1;
    /* of a: the dim that is contracted with b, and the other one, which x has */
    int meets = left ? (turned ? column : row) : (turned ? row : column);
    int other = meets == row ? column : row;
    for (int d = 0; d < n - 2; d++)
        add_everywhere(build, d, 0, FACTOR_PASS_THROUGH, false);
    for (int d = row; d <= column; d++) { /* of b */
        bool met = d == (left ? row : column);
        factor_start(build);
        factor_at(build, 0, met ? meets : NO_DIM);
        factor_at(build, 1, d);
        factor_at(build, 2, met ? NO_DIM : d);
        factor_add(build, factor_size(build, 1, d), FACTOR_NEED_REPLICATION, false);
    }
    factor_start(build);
    factor_at(build, 0, other);
    factor_at(build, 2, left ? row : column);
    factor_add(build, factor_size(build, 0, other), FACTOR_NEED_REPLICATION, false);
    return true;
}

/* The result lacks the row dim of the matrix: [.., m, n] -> [.., m, n], [.., n]. */
static bool eigh(FactorBuild *build)
{
    if (!factor_needs(build, 1, 1) || factor_shape(build, 0)->n_dims < 2)
        return factor_refuse(build, ERROR_RANK, "its operand needs at least two dims");
    int n = (int)factor_shape(build, 0)->n_dims;
    for (int d = 0; d < n; d++) {
        factor_start(build);
        factor_at(build, 0, d);
        factor_at(build, factor_result(build, 0), d);
        for (int i = 1; d != n - 2 && i < build->call->n_results; i++)
            factor_at(build, factor_result(build, i), d < n - 2 ? d : n - 2);
        factor_add(build, factor_size(build, 0, d), FACTOR_PASS_THROUGH, false);
    }
    return true;
}

/* A matrix as operand and result, [.., m, n], and the scalar factors of its reflectors, [.., k]. */
static bool reflectors(FactorBuild *build)
{
    int n_tensors = build->n;
    if (n_tensors != 3 || factor_shape(build, 0)->n_dims < 2)
        return factor_refuse(build, ERROR_RANK, "it needs a matrix, factors and a result");
    int n = (int)factor_shape(build, 0)->n_dims;
    int result = build->call->n_operands == 1 ? 1 : 2, factors = 3 - result;
    if (factor_shape(build, result)->n_dims != n || factor_shape(build, factors)->n_dims != n - 1)
        return factor_refuse(build, ERROR_RANK, "its tensors do not match");
    for (int d = 0; d < n; d++) {
        factor_start(build);
        factor_at(build, 0, d);
        factor_at(build, result, d);
        factor_at(build, factors, d < n - 2 ? d : NO_DIM);
        factor_add(build, factor_size(build, 0, d),
                   d < n - 2 ? FACTOR_PASS_THROUGH : FACTOR_NEED_REPLICATION, false);
    }
    factor_add_one(build, factors, n - 2, factor_size(build, factors, n - 2),
                   FACTOR_NEED_REPLICATION, false);
    return true;
}

/* ---- the rest ---- */

/* The state needs replication; the drawn numbers may be sharded. */
static bool rng_bit_generator(FactorBuild *build)
{
    if (!factor_needs(build, 1, 2))
        return false;
    for (int d = 0; d < factor_shape(build, 0)->n_dims; d++) {
        factor_start(build);
        factor_at(build, 0, d);
        factor_at(build, 1, d);
        factor_add(build, factor_size(build, 0, d), FACTOR_NEED_REPLICATION, true);
    }
    for (int d = 0; d < factor_shape(build, 2)->n_dims; d++)
        factor_add_one(build, 2, d, factor_size(build, 2, d), FACTOR_PASS_THROUGH, false);
    return true;
}

/* Combines two halves; the first dim of a random generator's state needs replication. */
static bool combine_halves(FactorBuild *build)
{
    if (!build->call->feeds_rng)
        return pointwise(build);
    if (factor_needs(build, 1, 1) && check_ranks(build, 0) && factor_shape(build, 0)->n_dims > 0)
        add_everywhere(build, 0, 0, FACTOR_NEED_REPLICATION, true);
    return true;
}

/* Along the dim that is selected from, the results have their own factor. */
static bool approximate_top(FactorBuild *build)
{
    int result = factor_result(build, 0);
    if (!factor_needs(build, 1, 1) || !check_ranks(build, 0))
        return false;
    for (int d = 0; d < factor_shape(build, 0)->n_dims; d++) {
        if (!resized(build, d)) {
            add_everywhere(build, d, 0, FACTOR_PASS_THROUGH, false);
            continue;
        }
        for (int side = 0; side < 2; side++) {
            factor_start(build);
            for (int t = side ? result : 0; t < (side ? build->n : result); t++)
                if (factor_shape(build, t)->n_dims > 0)
                    factor_at(build, t, d);
            factor_add(build, factor_size(build, side ? result : 0, d),
                       side ? FACTOR_NEED_REPLICATION : FACTOR_PASS_THROUGH, side);
        }
    }
    return true;
}

/* ---- the table ---- */

typedef struct {
    const char *names; /* separated by spaces */
    FactorFn *build;
} FactorRow;

static const FactorRow operators[] = {
    {"abs add and atan2 cbrt ceil clamp collective_broadcast collective_permute compare complex "
     "convert cosine count_leading_zeros cross-replica-sum divide exponential "
     "exponential_minus_one floor imag is_finite log log_plus_one logistic maximum minimum "
     "multiply negate not or popcnt power real reduce_precision remainder round_nearest_afz "
     "round_nearest_even rsqrt select shift_left shift_right_arithmetic shift_right_logical sign "
     "sine sqrt subtract tan tanh xor all_reduce",
     pointwise},
    {"all_gather", all_gather},
    {"all_to_all", all_to_all},
    {"reduce_scatter", reduce_scatter},
    {"batch_norm_inference", batch_norm},
    {"bitcast_convert", bitcast_convert},
    {"broadcast_in_dim", broadcast_in_dim},
    {"cholesky", cholesky},
    {"concatenate", concatenate},
    {"convolution", factor_convolution},
    {"dot", factor_dot},
    {"dot_general", factor_dot_general},
    {"dynamic_slice", chosen},
    {"dynamic_update_slice", dynamic_update_slice},
    {"fft", fft},
    {"gather", factor_gather},
    {"pad slice", moved},
    {"reduce", factor_reduce},
    {"reduce_window", reduce_window},
    {"reshape", factor_reshape},
    {"reverse", reverse},
    {"rng_bit_generator", rng_bit_generator},
    {"scatter", factor_scatter},
    {"select_and_scatter", select_and_scatter},
    {"sort", sort},
    {"transpose", transpose},
    {"triangular_solve", triangular_solve},
    {NULL, NULL},
};

static const FactorRow callees[] = {
    {"Cholesky CompactWyHelper InspectSharding LayoutConstraint MoveToDevice MoveToHost "
     "X64SplitHigh X64SplitLow annotate_device_placement mhlo.erf xla.megascale.provide_metadata",
     pointwise},
    {"ApproxTopK PartialReduce", approximate_top},
    {"Eigh", eigh},
    {"ProductOfElementaryHouseholderReflectors Qr QrDecompositionBlock", reflectors},
    {"X64Combine", combine_halves},
    {"mhlo.topk", chosen},
    {NULL, NULL},
};

static FactorFn *find(const FactorRow *rows, Str name)
{
    while (rows->names && !str_has_word(str_from(rows->names), name))
        rows++;
    return rows->build;
}

/* ---- all of it ---- */

/* The name without the dialect's prefix. */
static Str short_name(const char *op)
{
    static const char *const prefixes[] = {"stablehlo.", "stablehlo::"};
    for (int i = 0; i < 2; i++)
        if (str_starts(str_from(op), str_from(prefixes[i])))
            return str_from(op + strlen(prefixes[i]));
    return str_from(op);
}

static FactorFn *find_function(const FactorCall *call, Error *err)
{
    Str name = short_name(call->op);
    FactorFn *found = NULL;
    if (!str_eq(name, STR("custom_call"))) {
        found = find(operators, name);
    } else {
        const Attr *callee = op_attr(call->graph, call->graph_op, "callee");
        if (callee && callee->type == ATTR_STRING)
            found = find(callees, name = callee->s);
    }
    if (!found)
        error_kind(err, ERROR_UNSUPPORTED, "'%.*s' has no sharding rule", STR_ARG(name));
    return found;
}

bool factor_op_is_elementwise(const char *op)
{
    static const char collectives[] =
        "all_reduce collective_broadcast collective_permute cross-replica-sum";
    Str name = short_name(op);
    FactorFn *function = find(operators, name);
    return (function == pointwise && !str_has_word(STR(collectives), name)) ||
           function == bitcast_convert;
}

static bool check_shapes(const FactorCall *call, Error *err)
{
    int n = call->n_operands + call->n_results;
    if (n > FACTOR_TENSORS_MAX)
        return error_kind(err, ERROR_UNSUPPORTED, "it has more than %d tensors",
                          FACTOR_TENSORS_MAX);
    for (int t = 0; t < n; t++) {
        for (int64_t d = 0; d < call->shape[t].n_dims; d++)
            if (call->shape[t].dim[d] < 0)
                return error_kind(err, ERROR_INVALID, "dim %d of tensor %d has an unknown size",
                                  (int)d, t);
        if (!shape_check(&call->shape[t], err))
            return false;
    }
    return true;
}

FactorRule *factor_rule_for(Arena *arena, const FactorCall *call, Error *err)
{
    FactorFn *function = find_function(call, err);
    if (!function || !check_shapes(call, err))
        return NULL;
    FactorBuild build = {.arena = arena, .call = call, .err = err};
    build.n = call->n_operands + call->n_results;
    build.list = arena_alloc(arena, (size_t)build.n * sizeof *build.list);
    return function(&build) ? factor_finish(&build) : NULL;
}
