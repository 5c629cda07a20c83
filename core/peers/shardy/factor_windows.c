/* factor_windows.c - sharding rules of convolution, gather, scatter and reshape. */
#include "core/peers/shardy/factor_build.h"

#include <assert.h>

/* ---- convolution ---- */

/* "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]": for each tensor the batch dim (kernel: output
 * features), the feature dim (kernel: input features), and the spatial dims. */
typedef struct {
    int batch, feature, n_spatial, spatial[DIMS_MAX];
} ConvDims;

static bool read_conv_dims(FactorBuild *build, Str *text, const char *letters, int tensor,
                           ConvDims *out)
{
    *out = (ConvDims){.batch = NO_DIM, .feature = NO_DIM};
    int dim = 0;
    while (text->n > 0 && text->s[0] != '[')
        *text = (Str){text->s + 1, text->n - 1};
    while (text->n > 0 && text->s[0] != ']') {
        char c = text->s[0];
        *text = (Str){text->s + 1, text->n - 1};
        if (c == '[' || c == ',' || c == ' ')
            continue;
        if (c == letters[0])
            out->batch = dim;
        else if (c == letters[1])
            out->feature = dim;
        else if (c >= '0' && c - '0' < DIMS_MAX)
            out->spatial[c - '0'] = dim;
        out->n_spatial += c >= '0' && c <= '9';
        dim++;
    }
    return (dim == factor_shape(build, tensor)->n_dims && out->batch != NO_DIM &&
            out->feature != NO_DIM && out->n_spatial == dim - 2) ||
           factor_refuse(build, ERROR_INVALID, "'dim_numbers' does not fit its tensors");
}

/* A spatial dim of the input is the number of windows times a rest, or the kernel's size times a
 * rest; the larger of the two is major. */
static void add_spatial(FactorBuild *build, int lhs, int kernel, int result)
{
    int64_t size = factor_size(build, 0, lhs), windows = factor_size(build, 2, result);
    int64_t width = factor_size(build, 1, kernel);
    bool by_windows = windows >= width;
    int64_t major = by_windows ? windows : width;
    major = major < size ? major : size;
    int64_t minor = major > 0 ? size / major : 0, least = by_windows ? width : windows;
    minor = minor < least ? minor : least;
    for (int part = 0; part < 2; part++) {
        bool moves = by_windows == (part == 0);
        int64_t factor = part == 0 ? major : minor;
        if (factor <= 1)
            continue;
        factor_start(build);
        factor_at(build, 0, lhs);
        factor_at(build, moves ? 2 : 1, moves ? result : kernel);
        factor_add(build, factor, moves ? FACTOR_PERMUTATION : FACTOR_REDUCTION, false);
    }
}

static void add_at(FactorBuild *build, int lhs, int kernel, int result, int64_t size,
                   FactorType type)
{
    factor_start(build);
    factor_at(build, 0, lhs);
    factor_at(build, 1, kernel);
    factor_at(build, 2, result);
    factor_add(build, size, type, false);
}

bool factor_convolution(FactorBuild *build)
{
    const FactorCall *call = build->call;
    const Attr *text = op_attr(call->graph, call->graph_op, "dim_numbers");
    int64_t batches = op_attr_int(call->graph, call->graph_op, "batch_group_count", 1);
    int64_t groups = op_attr_int(call->graph, call->graph_op, "feature_group_count", 1);
    ConvDims x, w, y;
    if (call->n_operands != 2 || call->n_results != 1 || !text || text->type != ATTR_STRING ||
        batches < 1 || groups < 1)
        return factor_refuse(build, ERROR_INVALID,
                             "it needs two operands, a result and 'dim_numbers'");
    Str rest = text->s;
    if (!read_conv_dims(build, &rest, "bf", 0, &x) || !read_conv_dims(build, &rest, "oi", 1, &w) ||
        !read_conv_dims(build, &rest, "bf", 2, &y))
        return false;
    if (x.n_spatial != w.n_spatial || x.n_spatial != y.n_spatial)
        return factor_refuse(build, ERROR_RANK, "its tensors differ in spatial dims");

    add_at(build, x.batch, batches > 1 ? w.batch : NO_DIM, batches > 1 ? y.feature : y.batch,
           batches > 1 ? batches : factor_size(build, 0, x.batch), FACTOR_PASS_THROUGH);
    if (batches > 1)
        add_at(build, x.batch, NO_DIM, y.batch, factor_size(build, 2, y.batch),
               FACTOR_PASS_THROUGH);
    for (int d = 0; d < x.n_spatial && !call->conservative; d++)
        add_spatial(build, x.spatial[d], w.spatial[d], y.spatial[d]);
    if (groups > 1)
        add_at(build, x.feature, w.batch, y.feature, groups, FACTOR_PASS_THROUGH);
    add_at(build, x.feature, w.feature, NO_DIM, factor_size(build, 1, w.feature), FACTOR_REDUCTION);
    int64_t features = factor_size(build, 1, w.batch) / groups / batches;
    if (features > 1)
        add_at(build, NO_DIM, w.batch, y.feature, features, FACTOR_PASS_THROUGH);
    return true;
}

/* ---- gather ---- */

/* The first dim at or after `from` that is in neither list. */
static int next_dim(int from, FactorInts a, FactorInts b)
{
    while (factor_has(a, from) || factor_has(b, from))
        from++;
    return from;
}

/* Adds a dim of the operand. A whole slice passes through; one element at a time makes it a
 * reduction; some elements need replication. */
static void add_slice_dim(FactorBuild *build, int operand, int64_t slice, int result)
{
    int64_t size = factor_size(build, 0, operand);
    int to = factor_result(build, 0);
    factor_start(build);
    factor_at(build, 0, operand);
    if (slice == 1 && size != 1) {
        factor_add(build, size, FACTOR_REDUCTION, false);
        factor_add_one(build, to, result, 1, FACTOR_NEED_REPLICATION, false);
        return;
    }
    factor_at(build, to, result);
    factor_add(build, size, slice == size ? FACTOR_PASS_THROUGH : FACTOR_NEED_REPLICATION,
               slice != size);
}

/* Adds a dim of the indices and the result, and of the operand if they are batching dims. */
static void add_index_dim(FactorBuild *build, int index, int result)
{
    int paired = factor_find(factor_ints(build, "start_indices_batching_dims"), index);
    FactorInts of_operand = factor_ints(build, "operand_batching_dims");
    factor_start(build);
    factor_at(build, 1, index);
    factor_at(build, factor_result(build, 0), result);
    if (paired >= 0 && paired < of_operand.n)
        factor_at(build, 0, (int)of_operand.at[paired]);
    factor_add(build, factor_size(build, 1, index), FACTOR_PASS_THROUGH, false);
}

/* The dim of the indices that holds coordinates, or NO_DIM. */
static int64_t vector_dim(const FactorBuild *build)
{
    int64_t dim = op_attr_int(build->call->graph, build->call->graph_op, "index_vector_dim", -1);
    return dim >= 0 && dim < factor_shape(build, 1)->n_dims ? dim : NO_DIM;
}

static void add_vector_dim(FactorBuild *build, int64_t dim)
{
    if (dim != NO_DIM)
        factor_add_one(build, 1, (int)dim, factor_size(build, 1, (int)dim), FACTOR_NEED_REPLICATION,
                       false);
}

static bool check_gather(FactorBuild *build, FactorInts offset, FactorInts collapsed,
                         FactorInts batch)
{
    FactorInts slices = factor_ints(build, "slice_sizes");
    int n = (int)factor_shape(build, 0)->n_dims;
    int n_vector = vector_dim(build) != NO_DIM;
    return factor_check_dims(build, collapsed, 0) && factor_check_dims(build, batch, 0) &&
           factor_check_dims(build, offset, 2) &&
           ((slices.n == n && offset.n == n - collapsed.n - batch.n &&
             factor_shape(build, 2)->n_dims ==
                 factor_shape(build, 1)->n_dims - n_vector + offset.n) ||
            factor_refuse(build, ERROR_RANK, "its dims do not match"));
}

bool factor_gather(FactorBuild *build)
{
    FactorInts offset = factor_ints(build, "offset_dims");
    FactorInts collapsed = factor_ints(build, "collapsed_slice_dims");
    FactorInts batch = factor_ints(build, "operand_batching_dims");
    FactorInts slices = factor_ints(build, "slice_sizes");
    if (build->call->n_operands != 2 || build->call->n_results != 1)
        return factor_refuse(build, ERROR_INVALID, "it needs two operands and a result");
    if (!check_gather(build, offset, collapsed, batch))
        return false;
    int64_t vector = vector_dim(build);
    int operand = next_dim(0, collapsed, batch), index = 0;
    for (int d = 0; d < factor_shape(build, 2)->n_dims; d++) {
        if (factor_has(offset, d)) {
            add_slice_dim(build, operand, slices.at[operand], d);
            operand = next_dim(operand + 1, collapsed, batch);
            continue;
        }
        index += index == vector;
        add_index_dim(build, index++, d);
    }
    for (int d = 0; d < factor_shape(build, 0)->n_dims; d++)
        if (factor_has(collapsed, d))
            factor_add_one(
                build, 0, d, factor_size(build, 0, d),
                factor_size(build, 0, d) == 1 ? FACTOR_NEED_REPLICATION : FACTOR_REDUCTION, false);
    add_vector_dim(build, vector);
    return true;
}

/* ---- scatter: n operands, indices, n updates, n results ---- */

bool stablehlo_reducer(Str name, ReduceOp *out)
{
    static const struct {
        const char *name;
        ReduceOp reduce;
    } rows[] = {{"stablehlo.add", REDUCE_SUM},     {"stablehlo.maximum", REDUCE_MAX},
                {"stablehlo.minimum", REDUCE_MIN}, {"stablehlo.multiply", REDUCE_PROD},
                {"stablehlo.and", REDUCE_ALL},     {"stablehlo.or", REDUCE_ANY}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (str_eq(name, str_from(rows[i].name))) {
            *out = rows[i].reduce;
            return true;
        }
    return false;
}

/* Whether all results are reduced in one way, which is known: else updates on several devices have
 * no reduction that joins them. */
static bool reduces_alike(const FactorBuild *build)
{
    const Attr *attr = op_attr(build->call->graph, build->call->graph_op, "reducers");
    ReduceOp first, other;
    if (!attr || attr->type != ATTR_STRINGS || attr->n == 0)
        return true;
    if (!stablehlo_reducer(attr->strings[0], &first))
        return false;
    for (int i = 1; i < attr->n; i++)
        if (!stablehlo_reducer(attr->strings[i], &other) || other != first)
            return false;
    return true;
}

typedef struct {
    int n;
    FactorType scattered; /* of the dims of the updates that are no window */
    FactorInts window, inserted, batch, index_batch;
    int64_t vector;
} Scatter;

/* Starts a factor at these dims of all operands and results, of the indices and of all updates. */
static void start_scatter(FactorBuild *build, const Scatter *s, int operand, int index, int update)
{
    factor_start(build);
    for (int i = 0; i < s->n; i++) {
        factor_at(build, i, operand);
        factor_at(build, factor_result(build, i), operand);
        factor_at(build, s->n + 1 + i, update);
    }
    factor_at(build, s->n, index);
}

static void add_window_dim(FactorBuild *build, const Scatter *s, int operand, int update)
{
    int64_t size = factor_size(build, 0, operand), part = factor_size(build, s->n + 1, update);
    start_scatter(build, s, operand, NO_DIM, part == size ? update : NO_DIM);
    factor_add(build, size, part == size ? FACTOR_PASS_THROUGH : FACTOR_NEED_REPLICATION, false);
    if (part == size)
        return;
    start_scatter(build, s, NO_DIM, NO_DIM, update);
    factor_add(build, part, FACTOR_NEED_REPLICATION, false);
}

static void add_scatter_dim(FactorBuild *build, const Scatter *s, int index, int update)
{
    int paired = factor_find(s->index_batch, index);
    bool batched = paired >= 0 && paired < s->batch.n;
    start_scatter(build, s, batched ? (int)s->batch.at[paired] : NO_DIM, index, update);
    factor_add(build, factor_size(build, s->n, index), batched ? FACTOR_PASS_THROUGH : s->scattered,
               false);
}

static bool check_scatter(FactorBuild *build, const Scatter *s)
{
    int n_dims = (int)factor_shape(build, 0)->n_dims, n_vector = s->vector != NO_DIM;
    for (int i = 1; i < s->n; i++)
        if (factor_shape(build, i)->n_dims != n_dims ||
            factor_shape(build, s->n + 1 + i)->n_dims != factor_shape(build, s->n + 1)->n_dims)
            return factor_refuse(build, ERROR_RANK, "its operands differ in rank");
    return factor_check_dims(build, s->inserted, 0) && factor_check_dims(build, s->batch, 0) &&
           factor_check_dims(build, s->window, s->n + 1) &&
           ((s->window.n == n_dims - s->inserted.n - s->batch.n &&
             factor_shape(build, s->n + 1)->n_dims ==
                 factor_shape(build, s->n)->n_dims - n_vector + s->window.n) ||
            factor_refuse(build, ERROR_RANK, "its dims do not match"));
}

bool factor_scatter(FactorBuild *build)
{
    Scatter s = {.n = build->call->n_results};
    if (s.n < 1 || build->call->n_operands != 2 * s.n + 1)
        return factor_refuse(build, ERROR_INVALID,
                             "it needs operands, indices, updates and results");
    s.scattered = reduces_alike(build) ? FACTOR_REDUCTION : FACTOR_NEED_REPLICATION;
    s.window = factor_ints(build, "update_window_dims");
    s.inserted = factor_ints(build, "inserted_window_dims");
    s.batch = factor_ints(build, "input_batching_dims");
    s.index_batch = factor_ints(build, "scatter_indices_batching_dims");
    s.vector = op_attr_int(build->call->graph, build->call->graph_op, "index_vector_dim", NO_DIM);
    if (s.vector < 0 || s.vector >= factor_shape(build, s.n)->n_dims)
        s.vector = NO_DIM;
    if (!check_scatter(build, &s))
        return false;
    int operand = next_dim(0, s.inserted, s.batch), index = 0;
    for (int d = 0; d < factor_shape(build, s.n + 1)->n_dims; d++) {
        if (factor_has(s.window, d)) {
            add_window_dim(build, &s, operand, d);
            operand = next_dim(operand + 1, s.inserted, s.batch);
            continue;
        }
        index += index == s.vector;
        add_scatter_dim(build, &s, index++, d);
    }
    for (int d = 0; d < factor_shape(build, 0)->n_dims; d++) {
        if (!factor_has(s.inserted, d))
            continue;
        start_scatter(build, &s, d, NO_DIM, NO_DIM);
        factor_add(build, factor_size(build, 0, d), FACTOR_PASS_THROUGH, false);
    }
    if (s.vector != NO_DIM)
        factor_add_one(build, s.n, (int)s.vector, factor_size(build, s.n, (int)s.vector),
                       FACTOR_NEED_REPLICATION, false);
    return true;
}

/* ---- reshape ---- */

/* Position in one side's dims: the dim being divided, what is left of it, and the product of the
 * factors so far. */
typedef struct {
    int tensor, dim;
    int64_t left, product;
} ReshapeSide;

static bool side_ended(const FactorBuild *build, const ReshapeSide *side)
{
    return side->dim >= factor_shape(build, side->tensor)->n_dims;
}

static void side_advance(FactorBuild *build, ReshapeSide *side, int64_t size)
{
    assert(size > 0); /* shapes without elements were refused */
    side->left /= size;
    side->product *= size;
    side->dim += side->left == 1;
    if (side->left == 1 && !side_ended(build, side))
        side->left = factor_size(build, side->tensor, side->dim);
}

/* Dims of size 1 get their own factors. */
static void add_ones(FactorBuild *build, ReshapeSide *side)
{
    while (!side_ended(build, side) && factor_size(build, side->tensor, side->dim) == 1) {
        factor_add_one(build, side->tensor, side->dim++, 1, FACTOR_PASS_THROUGH, false);
        if (!side_ended(build, side))
            side->left = factor_size(build, side->tensor, side->dim);
    }
}

static void add_one_side(FactorBuild *build, ReshapeSide *side, int64_t size)
{
    factor_add_one(build, side->tensor, side->dim, size, FACTOR_PASS_THROUGH, false);
    side_advance(build, side, size);
}

/* Advances the side with the smaller product: by the missing quotient if its dim is divisible by
 * it; otherwise by what its dim does not share with the other's, or by all of it if they share
 * everything. */
static void catch_up(FactorBuild *build, ReshapeSide *side, const ReshapeSide *other)
{
    int64_t lacks = other->product / side->product;
    bool whole = other->product % side->product == 0 && side->left % lacks == 0;
    int64_t part = whole ? lacks : side->left / common_divisor(side->left, other->left);
    add_one_side(build, side, part > 1 ? part : side->left);
}

static void add_common(FactorBuild *build, ReshapeSide *from, ReshapeSide *to)
{
    int64_t size = common_divisor(from->left, to->left);
    if (size == 1) {
        add_one_side(build, from, from->left);
        add_one_side(build, to, to->left);
        return;
    }
    factor_start(build);
    factor_at(build, 0, from->dim);
    factor_at(build, 1, to->dim);
    factor_add(build, size, FACTOR_PASS_THROUGH, false);
    side_advance(build, from, size);
    side_advance(build, to, size);
}

bool factor_reshape(FactorBuild *build)
{
    if (build->call->n_operands != 1 || build->call->n_results != 1)
        return factor_refuse(build, ERROR_INVALID, "it needs one operand and a result");
    int64_t n = shape_elements(factor_shape(build, 0));
    if (n != shape_elements(factor_shape(build, 1)))
        return factor_refuse(build, ERROR_INVALID,
                             "operand and result differ in number of elements");
    if (n == 0)
        return factor_refuse(build, ERROR_UNSUPPORTED, "shapes without elements have no rule");
    ReshapeSide from = {.tensor = 0, .product = 1}, to = {.tensor = 1, .product = 1};
    from.left = factor_shape(build, 0)->n_dims > 0 ? factor_size(build, 0, 0) : 1;
    to.left = factor_shape(build, 1)->n_dims > 0 ? factor_size(build, 1, 0) : 1;
    for (;;) {
        add_ones(build, &from);
        add_ones(build, &to);
        bool more = !side_ended(build, &from) || !side_ended(build, &to);
        if (!more)
            return true;
        if (from.product == to.product)
            add_common(build, &from, &to);
        else if (from.product < to.product)
            catch_up(build, &from, &to);
        else
            catch_up(build, &to, &from);
    }
}
