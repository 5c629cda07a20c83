/* decide.c - operators with data-dependent output sizes: NonZero, Compress, Unique, and two of
 * onnxruntime, DynamicTimeWarping and BifurcationDetector, as its kernels for processors decide
 * ties.
 *
 * The counted dims are unsharded; Compress allows other dims to be sharded. See kernel_decide().
 */
#include "core/rules/args.h"
#include "core/run/kernel.h"

#include <math.h>
#include <stdlib.h>

static bool is_whole(const Local *local, Error *err)
{
    return shape_equal(&local->shape, &local->whole) ||
           error_kind(err, ERROR_RUN, "a tensor that must be whole is sharded");
}

/* Whether element i is true: not 0 (NaN is true). */
static bool is_true(const Local *local, int64_t i)
{
    double real = 0;
    int64_t integer = 0;
    if (dtype_is_float(local->dtype))
        local_load(local, i, 1, 1, NUMBER_F64, &real);
    else
        local_load(local, i, 1, 1, NUMBER_I64, &integer);
    return real < 0 || real > 0 || real != real || integer != 0;
}

/* ---- NonZero ---- */

/* Column j of the output: the coordinates of the j-th element that is not 0. */
static bool non_zero(const KernelCall *call, Error *err)
{
    if (!kernel_numeric(call, 1, err) || !is_whole(call->input[0], err))
        return false;
    const Local *in = call->input[0];
    int64_t n = shape_elements(&in->shape), n_found = 0, n_dims = in->shape.n_dims;
    int64_t stride[DIMS_MAX], *found = arena_array(call->scratch, int64_t, n);
    for (int64_t i = 0; i < n; i++)
        if (is_true(in, i))
            found[n_found++] = i;
    Local *out;
    if (!kernel_decide(call, 0, &(Shape){.n_dims = 2, .dim = {n_dims, n_found}}, &out, err))
        return false;
    row_major_strides(&in->shape, stride);
    for (int64_t d = 0; out && d < n_dims; d++)
        for (int64_t j = 0; j < n_found; j++)
            ((int64_t *)out->data)[d * n_found + j] = found[j] / stride[d] % in->shape.dim[d];
    return true;
}

/* ---- Compress ---- */

/* A tensor as blocks [outer][n][inner], some of which are selected. */
typedef struct {
    int64_t outer, n, inner;
} SelectedBlocks;

static SelectedBlocks blocks_along(const Shape *shape,
                                   int64_t axis) /* -1: each element is a block */
{
    SelectedBlocks blocks = {1, axis < 0 ? shape_elements(shape) : shape->dim[axis], 1};
    for (int64_t d = 0; axis >= 0 && d < shape->n_dims; d++)
        *(d < axis ? &blocks.outer : &blocks.inner) *= d == axis ? 1 : shape->dim[d];
    return blocks;
}

/* out[o][j] = in[o][taken[j]], blocks of `inner` elements. */
static void copy_blocks(const KernelCall *call, const Local *in, const SelectedBlocks *blocks,
                        const int64_t *taken, int64_t n_taken, Local *out)
{
    Picks picks = picks_new(call->scratch,
                            &(Shape){.n_dims = 3, .dim = {blocks->outer, n_taken, blocks->inner}});
    for (int64_t o = 0; o < blocks->outer; o++)
        picks.from[0][o] = o * blocks->n * blocks->inner;
    for (int64_t j = 0; j < n_taken; j++)
        picks.from[1][j] = taken[j] * blocks->inner;
    for (int64_t i = 0; i < blocks->inner; i++)
        picks.from[2][i] = i;
    kernel_pick(call, out, in, &picks);
}

/* The op's axis; -1: none, the tensor is flattened. */
static bool read_axis(const KernelCall *call, int64_t *axis, Error *err)
{
    RuleCall rule = kernel_rule_call(call);
    int found = -1;
    bool given = args_attr(&rule, "axis") != NULL;
    if (given && !args_axis(args_int(&rule, "axis", 0), call->input[0]->shape.n_dims, &found, err))
        return false;
    *axis = found;
    return true;
}

static bool compress(const KernelCall *call, Error *err)
{
    int64_t axis, n_taken = 0;
    if (!kernel_needs(call, 2, err) || !kernel_computes(call->input[1], err) ||
        !is_whole(call->input[1], err) || !read_axis(call, &axis, err))
        return false;
    const Local *in = call->input[0], *condition = call->input[1];
    SelectedBlocks blocks = blocks_along(&in->shape, axis);
    if (axis < 0 ? !is_whole(in, err) : blocks.n != in->whole.dim[axis])
        return error_kind(err, ERROR_RUN, "the dim to choose from is sharded");
    int64_t *taken = arena_array(call->scratch, int64_t, blocks.n);
    for (int64_t i = 0; i < shape_elements(&condition->shape); i++) {
        if (!is_true(condition, i))
            continue;
        if (i >= blocks.n)
            return error_kind(err, ERROR_RUN, "the condition selects places outside the dim");
        taken[n_taken++] = i;
    }
    Shape whole = axis < 0 ? (Shape){.n_dims = 1} : in->whole;
    whole.dim[axis < 0 ? 0 : axis] = n_taken;
    Local *out;
    if (!kernel_decide(call, 0, &whole, &out, err))
        return false;
    if (!out)
        return true;
    if (out->dtype != in->dtype ||
        shape_elements(&out->shape) != blocks.outer * n_taken * blocks.inner)
        return error_kind(err, ERROR_RUN, "input and output differ in shape");
    copy_blocks(call, in, &blocks, taken, n_taken, out);
    return true;
}

/* ---- Unique ---- */

/* A block as numbers: [outer][inner]. */
typedef struct {
    const void *numbers;
    int64_t n, place;
    bool is_float;
} Item;

/* Elements in order, NaN last and equal to itself. */
static int compare_items(const Item *a, const Item *b)
{
    for (int64_t i = 0; i < a->n; i++) {
        if (!a->is_float) {
            int64_t x = ((const int64_t *)a->numbers)[i], y = ((const int64_t *)b->numbers)[i];
            if (x != y)
                return x < y ? -1 : 1;
            continue;
        }
        double x = ((const double *)a->numbers)[i], y = ((const double *)b->numbers)[i];
        bool x_nan = x != x, y_nan = y != y;
        if (x_nan != y_nan)
            return x_nan ? 1 : -1;
        if (!x_nan && (x < y || x > y))
            return x < y ? -1 : 1;
    }
    return 0;
}

/* Equal blocks in their order. */
static int order_items(const void *left, const void *right)
{
    const Item *a = left, *b = right;
    int order = compare_items(a, b);
    return order != 0 ? order : (a->place > b->place) - (a->place < b->place);
}

static Item *read_items(Arena *arena, const Local *in, const SelectedBlocks *blocks)
{
    bool is_float = dtype_is_float(in->dtype);
    int64_t each = blocks->outer * blocks->inner;
    Item *items = arena_array(arena, Item, blocks->n);
    for (int64_t i = 0; i < blocks->n; i++) {
        double *numbers = arena_array(arena, double, each); /* or as many int64_t */
        for (int64_t o = 0; o < blocks->outer; o++)
            local_load(in, (o * blocks->n + i) * blocks->inner, 1, blocks->inner,
                       is_float ? NUMBER_F64 : NUMBER_I64, numbers + o * blocks->inner);
        if (!is_float)
            integers_order(in->dtype, (int64_t *)(void *)numbers, each);
        items[i] = (Item){numbers, each, i, is_float};
    }
    return items;
}

/* Unique blocks: first place, count, and the unique block of each block. */
typedef struct {
    int64_t n, *first, *count, *which;
} Different;

static int order_numbers(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* In sorted order, or by first place. */
static Different find_different(Arena *arena, Item *items, int64_t n, bool sorted)
{
    Different found = {0, arena_array(arena, int64_t, n), arena_array(arena, int64_t, n),
                       arena_array(arena, int64_t, n)};
    int64_t *first_of = arena_array(arena, int64_t, n); /* block -> first equal block */
    qsort(items, (size_t)n, sizeof *items, order_items);
    for (int64_t i = 0; i < n; i++) {
        bool is_new = i == 0 || compare_items(&items[i - 1], &items[i]) != 0;
        if (is_new)
            found.first[found.n++] = items[i].place;
        first_of[items[i].place] = found.first[found.n - 1];
    }
    if (!sorted)
        qsort(found.first, (size_t)found.n, sizeof *found.first, order_numbers);
    int64_t *rank = arena_array(arena, int64_t, n); /* rank of a first block */
    for (int64_t k = 0; k < found.n; k++)
        rank[found.first[k]] = k;
    for (int64_t i = 0; i < n; i++) {
        found.which[i] = rank[first_of[i]];
        found.count[found.which[i]]++;
    }
    return found;
}

/* Outputs a list of numbers. */
static bool store_list(const KernelCall *call, int output, const int64_t *list, int64_t n,
                       Error *err)
{
    Local *out;
    if (!kernel_decide(call, output, &(Shape){.n_dims = 1, .dim = {n}}, &out, err))
        return false;
    if (out)
        elements_copy(DT_I64, out->data, list, 1, n);
    return true;
}

static bool unique(const KernelCall *call, Error *err)
{
    int64_t axis;
    if (!kernel_numeric(call, 1, err) || !is_whole(call->input[0], err) ||
        !read_axis(call, &axis, err))
        return false;
    const Local *in = call->input[0];
    SelectedBlocks blocks = blocks_along(&in->shape, axis);
    bool sorted = op_attr_int(kernel_graph(call), call->op, "sorted", 1) != 0;
    Item *items = read_items(call->scratch, in, &blocks);
    Different found = find_different(call->scratch, items, blocks.n, sorted);
    Shape whole = axis < 0 ? (Shape){.n_dims = 1} : in->whole;
    whole.dim[axis < 0 ? 0 : axis] = found.n;
    Local *out;
    if (!kernel_decide(call, 0, &whole, &out, err))
        return false;
    if (out)
        copy_blocks(call, in, &blocks, found.first, found.n, out);
    return store_list(call, 1, found.first, found.n, err) &&
           store_list(call, 2, found.which, blocks.n, err) &&
           store_list(call, 3, found.count, found.n, err);
}

/* ---- DynamicTimeWarping ---- */

typedef enum { CAME_BOTH, CAME_DOWN, CAME_RIGHT } Came;

/* The least cost of reaching each point of a matrix [m][n] from its first, and from where: costs
 * are [m + 1][n + 1], with a border before the first row and column. */
static void warp_costs(const Local *in, int64_t m, int64_t n, float *cost, uint8_t *came)
{
    int64_t row = n + 1;
    for (int64_t i = 0; i <= m; i++)
        for (int64_t j = 0; j <= n; j++) {
            int64_t at = i * row + j;
            cost[at] = at == 0 ? 0 : INFINITY;
            came[at] = i == 0 ? CAME_RIGHT : CAME_DOWN;
            if (i == 0 || j == 0)
                continue;
            float both = cost[at - row - 1], down = cost[at - row], right = cost[at - 1];
            came[at] = both < down && both < right   ? CAME_BOTH
                       : down < both && down < right ? CAME_DOWN
                                                     : CAME_RIGHT;
            float before = came[at] == CAME_BOTH ? both : came[at] == CAME_DOWN ? down : right;
            cost[at] = before + (float)local_number(in, (i - 1) * n + j - 1);
        }
}

static bool warp(const KernelCall *call, Error *err)
{
    if (!kernel_numeric(call, 1, err) || !is_whole(call->input[0], err))
        return false;
    const Local *in = call->input[0];
    int64_t n_dims = in->shape.n_dims, m = in->shape.dim[n_dims - 2], n = in->shape.dim[n_dims - 1];
    float *cost = arena_array(call->scratch, float, (m + 1) * (n + 1));
    uint8_t *came = arena_array(call->scratch, uint8_t, (m + 1) * (n + 1));
    int32_t *rows = arena_array(call->scratch, int32_t, m + n),
            *columns = arena_array(call->scratch, int32_t, m + n);
    int64_t length = 0;
    warp_costs(in, m, n, cost, came);
    for (int64_t i = m, j = n; i > 0 || j > 0; length++) {
        rows[length] = (int32_t)(i - 1);
        columns[length] = (int32_t)(j - 1);
        uint8_t from = came[i * (n + 1) + j];
        i -= from != CAME_RIGHT;
        j -= from != CAME_DOWN;
    }
    Local *out;
    if (!kernel_decide(call, 0, &(Shape){.n_dims = 2, .dim = {2, length}}, &out, err))
        return false;
    for (int64_t t = 0; out && t < length; t++) {
        ((int32_t *)out->data)[t] = rows[length - 1 - t];
        ((int32_t *)out->data)[length + t] = columns[length - 1 - t];
    }
    return true;
}

/* ---- BifurcationDetector ---- */

/* Where the last n tokens stand in the source, and how often. */
static int64_t find_last(const int64_t *source, int64_t n_source, const int64_t *end, int64_t n,
                         int64_t *first)
{
    int64_t n_found = 0;
    for (int64_t at = 0; at + n <= n_source; at++)
        if (memcmp(source + at, end - n, (size_t)n * sizeof *source) == 0 && n_found++ == 0)
            *first = at;
    return n_found;
}

/* The place in the source behind the only match of the last tokens, of as few as tell; -1. */
static int64_t match_suffix(const KernelCall *call, const int64_t *source, int64_t n_source,
                            const int64_t *tokens, int64_t n_tokens)
{
    const Graph *graph = kernel_graph(call);
    int64_t least = op_attr_int(graph, call->op, "min_ngram_size", 1), first = 0;
    int64_t most = op_attr_int(graph, call->op, "max_ngram_size", 3);
    for (int64_t n = least; n <= most && n <= n_tokens; n++) {
        int64_t n_found = find_last(source, n_source, tokens + n_tokens, n, &first);
        if (n_found == 0)
            return -1;
        if (n_found == 1 || first + n >= n_source)
            return first + n;
    }
    return -1;
}

/* The predicted tokens up to the first that the source does not have there, behind the current
 * ones. */
static bool bifurcate(const KernelCall *call, Error *err)
{
    const int64_t *list[4];
    int64_t n[4] = {0}, prefix = 0;
    if (!kernel_needs(call, 3, err))
        return false;
    for (int i = 0; i < 4; i++) {
        const Local *in = kernel_input(call, i);
        if (in && (!kernel_computes(in, err) || !is_whole(in, err)))
            return false;
        list[i] = in ? kernel_numbers(call->scratch, in) : NULL;
        n[i] = in ? shape_elements(&in->shape) : 0;
    }
    int64_t before = *list[2];
    if (list[3] && (before < 0 || before > n[0] || n[3] != n[0] + 1 - before))
        return error_kind(err, ERROR_RUN,
                          "its predicted tokens are not those behind the last match");
    while (list[3] && prefix < n[0] - before && list[3][prefix] == list[0][before + prefix])
        prefix++;
    int64_t n_added = list[3] ? prefix + 1 : 0, n_tokens = n[1] + n_added;
    int64_t *tokens = arena_array(call->scratch, int64_t, n_tokens);
    memcpy(tokens, list[1], (size_t)n[1] * sizeof *tokens);
    if (n_added > 0)
        memcpy(tokens + n[1], list[3], (size_t)n_added * sizeof *tokens);
    int64_t match = match_suffix(call, list[0], n[0], tokens, n_tokens);
    Local *out;
    if (!kernel_decide(call, 0, &(Shape){.n_dims = 1, .dim = {n_tokens}}, &out, err))
        return false;
    if (out)
        local_store(out, 0, n_tokens, NUMBER_I64, tokens);
    if (!kernel_decide(call, 1, &(Shape){0}, &out, err))
        return false;
    if (out)
        local_store(out, 0, 1, NUMBER_I64, &match);
    return true;
}

const Kernel kernels_decide[] = {
    {"NonZero", non_zero, NULL, KERNEL_DECIDES, ROUNDING_EXACT},
    {"Compress", compress, NULL, KERNEL_DECIDES, ROUNDING_EXACT},
    {"Unique", unique, NULL, KERNEL_DECIDES, ROUNDING_EXACT},
    {"com.microsoft::DynamicTimeWarping", warp, NULL, KERNEL_DECIDES, ROUNDING_EXACT},
    {"com.microsoft::BifurcationDetector", bifurcate, NULL, KERNEL_DECIDES, ROUNDING_EXACT},
    {0},
};
