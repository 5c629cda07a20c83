/* fused.c - operators that frameworks fuse: products with a bias, attention, norms with their
 * statistics, experts.
 *
 *     Linear           d0 d1 k+, n k+, n -> d0 d1 n
 *     Baddbmm          b m n, b m k+, b k+ n -> b m n             the first is added once
 *     ScaledDotProductAttention
 *                      b0 b1 f e^, b0 b1 c^ e^, b0 b1 c^ d -> b0 b1 f d, b0 b1 f
 *     LayerNormStats   d0 d^, d^, d^ -> d0 d^, d0 1, d0 1
 *     GroupNormStats   n (g c^) d2^, (g c^), (g c^) -> n (g c^) d2^, n g, n g
 *     MoeCombine       t h, s k+, s k+ -> s h
 *
 * Queries f of attention are looked at one by one, so they may be cut, unless it is causal: then
 * their place in the whole counts. Fewer key heads than query heads are groups, (g r) for g.
 */
#include "core/rules/operators/dims.h"

#include <assert.h>
#include <inttypes.h>

/* ---- products ---- */

/* x [.. k] by w [n k], or [k n] where w_last; a bias [n] is added once. */
static bool linear_layer(RuleCall *call, bool w_last, Error *err)
{
    const Shape *x = call->shape[0], *w = call->shape[1];
    bool swap_x = args_int(call, "trans_x", 0) != 0 && x->n_dims > 1;
    if (!args_rank(call, 0, 1, DIMS_MAX, err) || !args_rank(call, 1, 2, 2, err))
        return false;
    int64_t last = x->n_dims - 1, at_k = swap_x ? last - 1 : last, k = x->dim[at_k];
    int64_t n = w->dim[w_last ? 1 : 0];
    if (!args_same_size(call, 0, at_k, 1, w_last ? 0 : 1, err) ||
        (args_has(call, 2) && !args_shape(call, 2, &(Shape){.n_dims = 1, .dim = {n}}, err)))
        return false;
    Shape out = *x;
    if (swap_x)
        out.dim[last - 1] = x->dim[last];
    out.dim[last] = n;
    dims_answer(call, &out, call->dtype[0]);
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    for (int64_t d = 0; d < last; d++) {
        int index = rule_index_at(call, 'd', d, out.dim[d]);
        rule_unit(&space->operand[0], swap_x && d == last - 1 ? last : d, index);
        for (int o = 0; o < call->n_outputs; o++)
            rule_unit(rule_output(space, o), d, index);
    }
    int dim_k = rule_index(space, "k", k, ROLE_REDUCE, REDUCE_SUM);
    int dim_n = rule_index(space, "n", n, ROLE_MAP, REDUCE_NONE);
    rule_unit(&space->operand[0], at_k, dim_k);
    rule_unit(&space->operand[1], w_last ? 0 : 1, dim_k);
    rule_unit(&space->operand[1], w_last ? 1 : 0, dim_n);
    for (int o = 0; o < call->n_outputs; o++)
        rule_unit(rule_output(space, o), last, dim_n);
    if (args_has(call, 2)) {
        rule_unit(&space->operand[2], 0, dim_n);
        space->operand[2].once = true;
    }
    return true;
}

static bool linear(RuleCall *call, Error *err)
{
    return linear_layer(call, false, err);
}

/* Paddle's epilogue: trans_y says that the weight lies as Linear's. */
static bool gemm_epilogue(RuleCall *call, Error *err)
{
    return linear_layer(call, args_int(call, "trans_y", 0) == 0, err);
}

/* c + a b, batch by batch; c may broadcast. */
static bool baddbmm(RuleCall *call, Error *err)
{
    const Shape *c = call->shape[0], *a = call->shape[1], *b = call->shape[2];
    Shape out = {.n_dims = 3}, common;
    const Shape *both[2] = {c, &out};
    if (!args_rank(call, 1, 3, 3, err) || !args_rank(call, 2, 3, 3, err) ||
        !args_same_size(call, 1, 0, 2, 0, err) || !args_same_size(call, 1, 2, 2, 1, err))
        return false;
    out.dim[0] = a->dim[0];
    out.dim[1] = a->dim[1];
    out.dim[2] = b->dim[2];
    if (!args_broadcast(both, 2, &common, err))
        return false;
    if (!shape_equal(&common, &out))
        return error_set(err, "its input 0 is larger than the product");
    dims_answer(call, &out, call->dtype[1]);
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int index[3] = {rule_index(space, "b", out.dim[0], ROLE_MAP, REDUCE_NONE),
                    rule_index(space, "m", out.dim[1], ROLE_MAP, REDUCE_NONE),
                    rule_index(space, "n", out.dim[2], ROLE_MAP, REDUCE_NONE)};
    int k = rule_index(space, "k", a->dim[2], ROLE_REDUCE, REDUCE_SUM);
    rule_align(&space->operand[0], index, 3);
    rule_align(&space->operand[1], (const int[]){index[0], index[1], k}, 3);
    rule_align(&space->operand[2], (const int[]){index[0], k, index[2]}, 3);
    rule_align(rule_output(space, 0), index, 3);
    space->operand[0].once = true;
    return true;
}

static bool outer(RuleCall *call, Error *err)
{
    const Shape *a = call->shape[0], *b = call->shape[1];
    if (!args_rank(call, 0, 1, 1, err) || !args_rank(call, 1, 1, 1, err))
        return false;
    call->out_shape[0] = (Shape){.n_dims = 2, .dim = {a->dim[0], b->dim[0]}};
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int index[2] = {rule_index(space, "m", a->dim[0], ROLE_MAP, REDUCE_NONE),
                    rule_index(space, "n", b->dim[0], ROLE_MAP, REDUCE_NONE)};
    rule_unit(&space->operand[0], 0, index[0]);
    rule_unit(&space->operand[1], 0, index[1]);
    rule_align(rule_output(space, 0), index, 2);
    return true;
}

/* a [m k] by b [k n], or [n k] where b_is_transposed; scales are single elements, or follow m, n.
 */
static bool scaled_matmul(RuleCall *call, Error *err)
{
    const Shape *a = call->shape[0], *b = call->shape[1];
    bool swap = args_int(call, "b_is_transposed", 0) != 0;
    if (!args_rank(call, 0, 2, 2, err) || !args_rank(call, 1, 2, 2, err) ||
        !args_same_size(call, 0, 1, 1, swap, err))
        return false;
    Shape out = {.n_dims = 2, .dim = {a->dim[0], b->dim[!swap]}};
    if (!args_dtype(call, "out_dtype", call->dtype[0], &call->out_dtype[0], err))
        return false;
    call->out_shape[0] = out;
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int m = rule_index(space, "m", out.dim[0], ROLE_MAP, REDUCE_NONE);
    int k = rule_index(space, "k", a->dim[1], ROLE_REDUCE, REDUCE_SUM);
    int n = rule_index(space, "n", out.dim[1], ROLE_MAP, REDUCE_NONE);
    rule_align(&space->operand[0], (const int[]){m, k}, 2);
    rule_unit(&space->operand[1], swap, k);
    rule_unit(&space->operand[1], !swap, n);
    rule_align(rule_output(space, 0), (const int[]){m, n}, 2);
    for (int i = 2; i < call->n_inputs; i++) {
        const Shape *scale = call->shape[i];
        if (!scale || scale->n_dims != 2)
            continue;
        if (scale->dim[0] == out.dim[0])
            rule_unit(&space->operand[i], 0, m);
        if (scale->dim[1] == out.dim[1])
            rule_unit(&space->operand[i], 1, n);
    }
    return true;
}

/* Rows of a, [m k], are in groups that end where offs says, each with its matrix of b [g k n]. Of
 * two stacks of matrices, [g m k] and [g k n], each is a product. */
static bool grouped_matmul(RuleCall *call, Error *err)
{
    const Shape *a = call->shape[0], *b = call->shape[1];
    bool stacks = a->n_dims == 3;
    if (!args_rank(call, 0, 2, 3, err) || !args_rank(call, 1, 3, 3, err) ||
        !args_same_size(call, 0, a->n_dims - 1, 1, 1, err) ||
        (stacks && !args_same_size(call, 0, 0, 1, 0, err)))
        return false;
    Shape out = *a;
    out.dim[out.n_dims - 1] = b->dim[2];
    dims_answer(call, &out, call->dtype[0]);
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int g = stacks ? rule_index(space, "g", b->dim[0], ROLE_MAP, REDUCE_NONE) : -1;
    int m =
        rule_index(space, "m", a->dim[a->n_dims - 2], stacks ? ROLE_MAP : ROLE_FROZEN, REDUCE_NONE);
    int k = rule_index(space, "k", b->dim[1], ROLE_REDUCE, REDUCE_SUM);
    int n = rule_index(space, "n", b->dim[2], ROLE_MAP, REDUCE_NONE);
    rule_align(&space->operand[0], (const int[]){g, m, k}, 3);
    rule_align(rule_output(space, 0), (const int[]){g, m, n}, 3);
    if (stacks)
        rule_unit(&space->operand[1], 0, g);
    rule_unit(&space->operand[1], 1, k);
    rule_unit(&space->operand[1], 2, n);
    return true;
}

/* x [.. i], dy [.. o], and what is there of dw [i o] and db [o] -> dw, db: sums over the rows. */
static bool linear_grad_add(RuleCall *call, Error *err)
{
    const Shape *x = call->shape[0], *grad = call->shape[1];
    int64_t last = x->n_dims - 1;
    if (!args_rank(call, 0, 2, DIMS_MAX, err) || !args_rank(call, 1, x->n_dims, x->n_dims, err))
        return false;
    for (int64_t d = 0; d < last; d++)
        if (!args_same_size(call, 0, d, 1, d, err))
            return false;
    Shape weight = {.n_dims = 2, .dim = {x->dim[last], grad->dim[last]}};
    Shape bias = {.n_dims = 1, .dim = {grad->dim[last]}};
    for (int i = 2; i < call->n_inputs; i++)
        if (args_has(call, i) && call->shape[i]->n_dims > 0 &&
            !args_shape(call, i, i == 2 ? &weight : &bias, err))
            return false;
    dims_answer(call, &weight, call->dtype[0]);
    if (call->n_outputs > 1)
        call->out_shape[1] = bias;
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    for (int64_t d = 0; d < last; d++) {
        int index = rule_index_at(call, 'd', d, x->dim[d]);
        if (index < 0)
            continue;
        space->index[index].role = ROLE_REDUCE;
        space->index[index].reduce = REDUCE_SUM;
        rule_unit(&space->operand[0], d, index);
        rule_unit(&space->operand[1], d, index);
    }
    int i = rule_index(space, "i", x->dim[last], ROLE_MAP, REDUCE_NONE);
    int o = rule_index(space, "o", grad->dim[last], ROLE_MAP, REDUCE_NONE);
    rule_unit(&space->operand[0], last, i);
    rule_unit(&space->operand[1], last, o);
    for (int at = 2; at < call->n_inputs + call->n_outputs; at++) {
        Operand *operand = &space->operand[at];
        if (operand->absent || operand->shape.n_dims == 0)
            continue;
        rule_align(operand, (const int[]){i, o}, 2);
        operand->once = at < call->n_inputs;
    }
    return true;
}

/* ---- attention ---- */

/* Where batch, heads and places lie: [.., h, s, d] of torch, [b, s, h, d] of Paddle. */
typedef struct {
    int64_t n_dims, heads, places, width;
} Layout;

typedef struct {
    Layout at;
    int batch[DIMS_MAX], group, per_group, query, key, inner, value; /* index dims */
} Attention;

static bool attention_fits(const RuleCall *call, const Layout *at, Error *err)
{
    const Shape *q = call->shape[0], *k = call->shape[1];
    if (!args_rank(call, 0, 2, DIMS_MAX, err) || !args_rank(call, 1, at->n_dims, at->n_dims, err) ||
        !args_rank(call, 2, at->n_dims, at->n_dims, err))
        return false;
    for (int64_t d = 0; d < at->n_dims; d++) {
        bool shares = d == at->heads && k->dim[d] > 0 && q->dim[d] % k->dim[d] == 0;
        if ((d != at->width && !args_same_size(call, 1, d, 2, d, err)) ||
            (d != at->places && !shares && !args_same_size(call, 0, d, 1, d, err)))
            return false;
    }
    return true;
}

static void attention_index(RuleCall *call, bool causal, Attention *out)
{
    const Shape *q = call->shape[0], *k = call->shape[1], *v = call->shape[2];
    const Layout *at = &out->at;
    OpSpace *space = call->space;
    for (int64_t d = 0; d < at->n_dims; d++)
        if (d != at->heads && d != at->places && d != at->width)
            out->batch[d] = rule_index_at(call, 'b', d, q->dim[d]);
    out->group = out->per_group = -1;
    if (at->heads >= 0) {
        int64_t n_groups = k->dim[at->heads], each = q->dim[at->heads] / n_groups;
        out->group = rule_index(space, each > 1 ? "g" : "h", n_groups, ROLE_MAP, REDUCE_NONE);
        out->per_group = rule_index(space, "r", each, ROLE_MAP, REDUCE_NONE);
    }
    out->query =
        rule_index(space, "f", q->dim[at->places], causal ? ROLE_FROZEN : ROLE_MAP, REDUCE_NONE);
    out->key = rule_index(space, "c", k->dim[at->places], ROLE_FROZEN, REDUCE_NONE);
    out->inner = rule_index(space, "e", q->dim[at->width], ROLE_FROZEN, REDUCE_NONE);
    out->value = rule_index(space, "d", v->dim[at->width], ROLE_MAP, REDUCE_NONE);
}

/* Rows of an operand laid out as queries or keys are. */
static void attention_rows(RuleCall *call, const Attention *a, Operand *operand, bool of_query,
                           int places, int width)
{
    for (int64_t d = 0; d < a->at.n_dims; d++) {
        int heads[2] = {a->group, of_query ? a->per_group : -1};
        if (d == a->at.heads)
            rule_radix(call->space, operand, d, heads, 2);
        else
            rule_unit(operand, d,
                      d == a->at.places  ? places
                      : d == a->at.width ? width
                                         : a->batch[d]);
    }
}

/* Scores, [.. h, f, c] whatever the layout, or what broadcasts to them: masks, the softmax; without
 * c: its logsumexp. */
static void score_rows(RuleCall *call, const Attention *a, Operand *operand, bool with_keys)
{
    const Shape *q = call->shape[0], *k = call->shape[1];
    int64_t n = a->at.n_dims - (with_keys ? 0 : 1), skip = n - operand->shape.n_dims;
    for (int64_t d = skip > 0 ? skip : 0; d < n; d++) {
        int64_t own = operand->shape.dim[d - skip];
        bool is_key = d == a->at.n_dims - 1, is_query = d == a->at.n_dims - 2;
        bool is_heads = d == a->at.n_dims - 3 && a->at.heads >= 0;
        int heads[2] = {a->group, a->per_group};
        if (is_heads && own == q->dim[a->at.heads])
            rule_radix(call->space, operand, d - skip, heads, 2);
        else if (is_key && own == k->dim[a->at.places])
            rule_unit(operand, d - skip, a->key);
        else if (is_query && own == q->dim[a->at.places])
            rule_unit(operand, d - skip, a->query);
        else if (!is_key && !is_query && !is_heads && own == q->dim[d])
            rule_unit(operand, d - skip, a->batch[d]);
    }
}

static Shape score_shape(const RuleCall *call, const Layout *at, bool with_keys)
{
    const Shape *q = call->shape[0], *k = call->shape[1];
    Shape out = {.n_dims = at->n_dims - (with_keys ? 0 : 1)};
    for (int64_t d = 0; d < out.n_dims; d++)
        out.dim[d] = d == at->n_dims - 1                     ? k->dim[at->places]
                     : d == at->n_dims - 2                   ? q->dim[at->places]
                     : d == at->n_dims - 3 && at->heads >= 0 ? q->dim[at->heads]
                                                             : q->dim[d];
    return out;
}

/* mask: the input; scores, sums: outputs with the softmax and its logsumexp, -1: none. Any output
 * after these is a state of the generator, of n_state numbers (-1: a scalar). */
typedef struct {
    int mask, scores, sums, n_state;
} Places;

static bool attend(RuleCall *call, Layout at, Places places, Error *err)
{
    bool causal = args_int(call, "is_causal", 0) != 0;
    Attention a = {.at = at};
    if (!attention_fits(call, &at, err))
        return false;
    for (int o = 0; o < call->n_outputs; o++) {
        bool state = o > 0 && o != places.scores && o != places.sums;
        Shape of_state = {.n_dims = places.n_state >= 0, .dim = {places.n_state > 0 ? 2 : 0}};
        call->out_shape[o] = o == 0  ? *call->shape[0]
                             : state ? of_state
                                     : score_shape(call, &at, o == places.scores);
        call->out_dtype[o] = o == 0 ? call->dtype[0] : state ? DT_I64 : DT_F32;
    }
    call->out_shape[0].dim[at.width] = call->shape[2]->dim[at.width];
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    attention_index(call, causal, &a);
    attention_rows(call, &a, &space->operand[0], true, a.query, a.inner);
    attention_rows(call, &a, &space->operand[1], false, a.key, a.inner);
    attention_rows(call, &a, &space->operand[2], false, a.key, a.value);
    attention_rows(call, &a, rule_output(space, 0), true, a.query, a.value);
    if (args_has(call, places.mask) && call->shape[places.mask]->n_dims <= at.n_dims)
        score_rows(call, &a, &space->operand[places.mask], true);
    for (int o = 1; o < call->n_outputs; o++)
        if (o == places.scores || o == places.sums)
            score_rows(call, &a, rule_output(space, o), o == places.scores);
    return true;
}

/* torch: [.., heads, places, width]; 3 dims have heads as their batch. */
static bool scaled_dot_product(RuleCall *call, Error *err)
{
    int64_t n = call->shape[0]->n_dims;
    return attend(call, (Layout){n, n - 3, n - 2, n - 1}, (Places){3, -1, 1, -1}, err);
}

/* Paddle: [batch, places, heads, width]; inputs 3 and 4 are a seed and the mask. */
static bool flash_attention(RuleCall *call, Error *err)
{
    if (!args_rank(call, 0, 4, 4, err))
        return false;
    return attend(call, (Layout){4, 2, 1, 3}, (Places){4, 1, 2, 1}, err);
}

/* q, k, v [batch, places, heads, width], sin and cos [1, places, 1, width], ids [batch, places]: a
 * place counts by itself where sin and cos are given. */
static bool fused_rope(RuleCall *call, Error *err)
{
    bool tables = args_has(call, 3) && args_has(call, 4), ids = args_has(call, 5);
    int64_t at_s = args_int(call, "time_major", 0) != 0 ? 0 : 1, at_b = 1 - at_s;
    const Shape *q = call->shape[0];
    if (!args_rank(call, 0, 4, 4, err))
        return false;
    assert(q);
    for (int i = 1; i < 3 && i < call->n_inputs; i++)
        if (call->shape[i] &&
            (!args_rank(call, i, 4, 4, err) || !args_same_size(call, 0, 0, i, 0, err) ||
             !args_same_size(call, 0, 1, i, 1, err)))
            return false;
    for (int o = 0; o < call->n_outputs; o++) {
        bool there = o < call->n_inputs && call->shape[o];
        call->out_shape[o] = there ? *call->shape[o] : (Shape){0};
        call->out_dtype[o] = call->dtype[there ? o : 0];
    }
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int b = rule_index(space, "b", q->dim[at_b], ROLE_MAP, REDUCE_NONE);
    int s = rule_index(space, "s", q->dim[at_s], tables ? ROLE_MAP : ROLE_FROZEN, REDUCE_NONE);
    for (int i = 0; i < 3 && i < call->n_outputs; i++) {
        if (!args_has(call, i))
            continue;
        int h = rule_index_at(call, 'h', i, call->shape[i]->dim[2]);
        Operand *both[2] = {&space->operand[i], rule_output(space, i)};
        for (int side = 0; side < 2; side++) {
            rule_unit(both[side], at_b, b);
            rule_unit(both[side], at_s, s);
            rule_unit(both[side], 2, h);
        }
    }
    for (int i = 3; i < 5; i++)
        if (tables && !ids && call->shape[i]->n_dims == 4 && call->shape[i]->dim[1] == q->dim[at_s])
            rule_unit(&space->operand[i], 1, s);
    if (ids && call->shape[5]->n_dims == 2 && call->shape[5]->dim[0] == q->dim[at_b] &&
        call->shape[5]->dim[1] == q->dim[at_s])
        rule_align(&space->operand[5], (const int[]){b, s}, 2);
    return true;
}

/* ---- norms with their statistics ---- */

/* The first normalized dim: `axis`, or as many last dims as normalized_shape lists. */
static bool first_normalized(const RuleCall *call, int *axis, Error *err)
{
    Ints sizes;
    int64_t n = call->shape[0]->n_dims;
    if (!args_ints(call, -1, "normalized_shape", &sizes, err))
        return false;
    return args_axis(sizes.n > 0 ? -(int64_t)sizes.n : args_int(call, "axis", -1), n, axis, err);
}

/* Scale and bias broadcast onto the input, or list the normalized elements in one dim. */
static bool scales_fit(const RuleCall *call, int axis, Error *err)
{
    const Shape *from = call->shape[0];
    int64_t n = 1;
    for (int d = axis; d < from->n_dims; d++)
        n *= from->dim[d];
    for (int i = 1; i < call->n_inputs; i++) {
        const Shape *scale = call->shape[i], *both[2] = {from, scale};
        Shape common;
        if (!scale || (scale->n_dims == 1 && scale->dim[0] == n))
            continue;
        if (!args_broadcast(both, 2, &common, err))
            return false;
        if (!shape_equal(&common, from))
            return error_set(err, "its input %d is larger than its input 0", i);
    }
    return true;
}

/* Statistics keep the normalized dims with size 1, or, with stats_keepdims=0, lose them. */
static bool layer_norm_stats(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    bool keep = args_int(call, "stats_keepdims", 1) != 0, marked[DIMS_MAX] = {false};
    DimUse use[DIMS_MAX];
    int index[DIMS_MAX], axis;
    if (!first_normalized(call, &axis, err) || !scales_fit(call, axis, err))
        return false;
    for (int d = 0; d < from->n_dims; d++) {
        marked[d] = d >= axis;
        use[d] = d >= axis ? DIM_FROZEN : DIM_MAP;
    }
    Shape stats = dims_without(from, marked, keep);
    dims_answer(call, &stats, DT_F32);
    call->out_shape[0] = *from;
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = dims_space(call, from, use, index, err);
    for (int o = 1; space && o < call->n_outputs; o++)
        for (int d = 0; d < stats.n_dims; d++)
            rule_unit(rule_output(space, o), d, d < axis ? index[d] : -1);
    return space;
}

/* Channels, dim 1, are (g c^); statistics [n, g]. groups 0: each channel is one. */
static bool group_stats(RuleCall *call, int64_t n_groups, Error *err)
{
    const Shape *from = call->shape[0];
    if (!args_rank(call, 0, 2, DIMS_MAX, err))
        return false;
    int64_t channels = from->dim[1];
    n_groups = n_groups > 0 ? n_groups : channels;
    if (n_groups < 1 || channels % n_groups != 0)
        return error_kind(err, ERROR_NOT_DIVISIBLE,
                          "%" PRId64 " channels do not make %" PRId64 " groups", channels,
                          n_groups);
    Shape stats = {.n_dims = 2, .dim = {from->dim[0], n_groups}};
    dims_answer(call, &stats, DT_F32);
    call->out_shape[0] = *from;
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int n = rule_index(space, "n", from->dim[0], ROLE_MAP, REDUCE_NONE);
    int pair[2] = {rule_index(space, "g", n_groups, ROLE_MAP, REDUCE_NONE),
                   rule_index(space, "c", channels / n_groups, ROLE_FROZEN, REDUCE_NONE)};
    Operand *both[2] = {&space->operand[0], rule_output(space, 0)};
    for (int side = 0; side < 2; side++) {
        rule_unit(both[side], 0, n);
        rule_radix(space, both[side], 1, pair, 2);
    }
    for (int i = 1; i < call->n_inputs; i++)
        if (call->shape[i] && call->shape[i]->n_dims == 1 && call->shape[i]->dim[0] == channels)
            rule_radix(space, &space->operand[i], 0, pair, 2);
    for (int o = 1; o < call->n_outputs; o++)
        rule_align(rule_output(space, o), (const int[]){n, pair[0]}, 2);
    return true;
}

static bool group_norm_stats(RuleCall *call, Error *err)
{
    return group_stats(call, args_int(call, "groups", 1), err);
}

static bool instance_norm_stats(RuleCall *call, Error *err)
{
    return group_stats(call, 0, err);
}

/* x, mean, variance, scale, bias -> y, then statistics [C]; all but the channels are normalized
 * together, unless it is a test. The last of six outputs is of no known size. */
static bool batch_norm_stats(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    bool test = args_int(call, "is_test", 0) != 0;
    int channel = args_int(call, "channels_last", 0) != 0 ? (int)from->n_dims - 1 : 1;
    DimUse use[DIMS_MAX];
    int index[DIMS_MAX];
    if (!args_rank(call, 0, 2, DIMS_MAX, err))
        return false;
    Shape stats = {.n_dims = 1, .dim = {from->dim[channel]}};
    dims_answer(call, &stats, DT_F32);
    call->out_shape[0] = *from;
    call->out_dtype[0] = call->dtype[0];
    if (call->n_outputs > 5)
        call->out_shape[5].dim[0] = 0;
    for (int d = 0; d < from->n_dims; d++)
        use[d] = test || d == channel ? DIM_MAP : DIM_FROZEN;
    OpSpace *space = dims_space(call, from, use, index, err);
    if (!space)
        return false;
    for (int i = 1; i < call->n_inputs + call->n_outputs; i++) {
        Operand *operand = &space->operand[i];
        if (i == call->n_inputs || operand->absent || operand->shape.n_dims != 1)
            continue;
        row_whole(&operand->projection.row[0], operand->shape.dim[0]);
        if (operand->shape.dim[0] == from->dim[channel])
            rule_unit(operand, 0, index[channel]);
    }
    return true;
}

/* ---- gates and experts ---- */

/* x by the sigmoid of x times y; without y the last dim is both halves. */
static bool swiglu(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    if (args_has(call, 1))
        return dims_pointwise(call, call->dtype[0], err);
    int64_t last = from->n_dims - 1;
    if (last < 0 || from->dim[last] % 2 != 0)
        return error_kind(err, ERROR_NOT_DIVISIBLE,
                          "the last dim of its input 0 is not two halves");
    Shape out = *from;
    out.dim[last] /= 2;
    dims_answer(call, &out, call->dtype[0]);
    OpSpace *space = dims_space(call, &out, NULL, NULL, err);
    if (!space || out.dim[last] == 0)
        return space;
    int pair[2] = {
        rule_index(space, "p", 2, ROLE_FROZEN, REDUCE_NONE),
        opspace_find_index(space, str_from(arena_printf(call->arena, "d%" PRId64, last)))};
    rule_radix(space, &space->operand[0], last, pair, 2);
    return true;
}

/* x [s h], gate [s e] -> x by expert [e capacity h], weights [s k], places [k s], counts [e],
 * experts [s k]: which tokens find room depends on all of them. */
static bool moe_dispatch(RuleCall *call, Error *err)
{
    const Shape *x = call->shape[0], *gate = call->shape[1];
    int64_t k = args_int(call, "k", 1), room = args_int(call, "capacity", 1);
    if (!args_rank(call, 0, 2, 2, err) || !args_rank(call, 1, 2, 2, err) ||
        !args_same_size(call, 0, 0, 1, 0, err))
        return false;
    if (k < 0 || room < 0)
        return error_kind(err, ERROR_OUT_OF_RANGE, "k or its capacity is negative");
    const Shape outputs[5] = {{.n_dims = 3, .dim = {gate->dim[1], room, x->dim[1]}},
                              {.n_dims = 2, .dim = {x->dim[0], k}},
                              {.n_dims = 2, .dim = {k, x->dim[0]}},
                              {.n_dims = 1, .dim = {gate->dim[1]}},
                              {.n_dims = 2, .dim = {x->dim[0], k}}};
    for (int o = 0; o < call->n_outputs; o++) {
        call->out_shape[o] = outputs[o];
        call->out_dtype[o] = o == 0 ? call->dtype[0] : o == 1 ? DT_F32 : DT_I32;
    }
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int h = rule_index(space, "h", x->dim[1], ROLE_MAP, REDUCE_NONE);
    rule_unit(&space->operand[0], 1, h);
    rule_unit(rule_output(space, 0), 2, h);
    return true;
}

/* Each token adds up k rows of x, by weight. */
static bool moe_combine(RuleCall *call, Error *err)
{
    const Shape *x = call->shape[0], *weight = call->shape[1];
    if (!args_rank(call, 0, 2, 2, err) || !args_rank(call, 1, 2, 2, err) ||
        !args_same_shape(call, 1, 2, err))
        return false;
    call->out_shape[0] = (Shape){.n_dims = 2, .dim = {weight->dim[0], x->dim[1]}};
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int s = rule_index(space, "s", weight->dim[0], ROLE_MAP, REDUCE_NONE);
    int h = rule_index(space, "h", x->dim[1], ROLE_MAP, REDUCE_NONE);
    int k = rule_index(space, "k", weight->dim[1], ROLE_REDUCE, REDUCE_SUM);
    rule_unit(&space->operand[0], 1, h);
    rule_align(&space->operand[1], (const int[]){s, k}, 2);
    rule_align(&space->operand[2], (const int[]){s, k}, 2);
    rule_align(rule_output(space, 0), (const int[]){s, h}, 2);
    return true;
}

#define FAMILY "fused"

const Operator operators_fused[] = {
    {OP("Linear", linear, 2, 2, 3), .kernel = "Linear", .examples = "3x5x6,7x6,7",
     NNSCALER("linear"), TORCH("linear")},
    {OP("GemmEpilogue", gemm_epilogue, 2, 2, 3), .outputs_max = 2,
     .examples = "5x6,6x7,7 -> 2; 6x5,7x6,7 trans_x=1 trans_y=1",
     PADDLE("fused_gemm_epilogue linear_v2(transpose_weight=trans_y)")},
    {OP("Baddbmm", baddbmm, 2, 3, 3), .examples = "3x5x7,3x5x6,3x6x7; 5x1,3x5x6,3x6x7",
     NNSCALER("baddbmm"), TORCH("baddbmm"), PADDLE("baddbmm")},
    {OP("Outer", outer, 1, 2, 2), .examples = "5,6", NNSCALER("outer"), TORCH("outer ger"),
     PADDLE("outer")},
    {OP("ScaledMatMul", scaled_matmul, 2, 2, 5),
     .examples =
         "5x6:f8e4m3fn,6x7:f8e4m3fn,scalar,scalar out_dtype=1; 5x6,7x6,5x1,1x7 b_is_transposed=1",
     TORCH("_scaled_mm scaled_mm")},
    {OP("GroupedMatMul", grouped_matmul, 2, 2, 3), .examples = "5x6,3x6x7,3:i32; 3x5x6,3x6x7",
     TORCH("grouped_mm _grouped_mm _scaled_grouped_mm")},
    {OP("LinearGradAdd", linear_grad_add, 2, 2, 4), .outputs_max = 2,
     .examples = "3x5x6,3x5x7,6x7,7 -> 2", PADDLE("fused_linear_param_grad_add")},
    {OP("ScaledDotProductAttention", scaled_dot_product, 4, 3, 4), .outputs_max = 9,
     .examples = "3x4x5x6,3x2x7x6,3x2x7x8 -> 2; 3x4x5x6,3x4x7x6,3x4x7x8,5x7 is_causal=1",
     NNSCALER("scaled_dot_product_attention"),
     TORCH("scaled_dot_product_attention _scaled_dot_product_flash_attention "
           "_scaled_dot_product_efficient_attention _scaled_dot_product_cudnn_attention "
           "_scaled_dot_product_attention_math")},
    {OP("FlashAttention", flash_attention, 4, 3, 6), .outputs_max = 4,
     .examples = "3x5x4x6,3x7x2x6,3x7x2x8 -> 4",
     PADDLE("flash_attention(causal=is_causal) flashmask_attention(causal=is_causal; 0,1,2,4)")},
    {OP("FusedRotaryEmbedding", fused_rope, 6, 1, 6), EARLY, .outputs_max = 3,
     .examples =
         "3x5x4x6,3x5x2x6 -> 2; 3x5x4x6,-,-,1x5x1x6,1x5x1x6; 3x5x4x6,-,-,1x7x1x6,1x7x1x6,3x5:i64",
     PADDLE("fused_rotary_position_embedding fused_rotary_position_embedding_grad(; 2,3,4,0,1,5)")},
    {OP("LayerNormStats", layer_norm_stats, 8, 1, 3), EARLY, .outputs_max = 3,
     .examples = "5x6x4,4,4 axis=-1 -> 3; 5x6x4,24 normalized_shape=[6,4] stats_keepdims=0 -> 3",
     NNSCALER("layer_norm"), TORCH("layer_norm native_layer_norm"),
     PADDLE("layer_norm(begin_norm_axis=axis;; stats_keepdims:=0) fast_layer_norm(;; "
            "stats_keepdims:=0)")},
    {OP("RmsNormStats", layer_norm_stats, 6, 1, 3), EARLY, .outputs_max = 2,
     .examples = "5x6x4,4 -> 2", NNSCALER("rms_norm"), TORCH("rms_norm _fused_rms_norm"),
     PADDLE("rms_norm(;; stats_keepdims:=0) fused_rms_norm(;; stats_keepdims:=0)")},
    {OP("GroupNormStats", group_norm_stats, 8, 1, 3), EARLY, .outputs_max = 3,
     .examples = "3x6x4x5,6,6 groups=3 -> 3", NNSCALER("group_norm(num_groups=groups)"),
     TORCH("native_group_norm(group=groups) group_norm(num_groups=groups)"), PADDLE("group_norm")},
    {OP("InstanceNormStats", instance_norm_stats, 8, 1, 3), EARLY, .outputs_max = 3,
     .examples = "3x5x4x6,5,5 -> 3", TORCH("instance_norm"), PADDLE("instance_norm")},
    {OP("BatchNormStats", batch_norm_stats, 8, 1, 5), EARLY, .outputs_max = 6,
     .examples = "3x5x4x6,5,5,5,5 -> 6; 3x4x6x5,5,5,5,5 is_test=1 channels_last=1",
     TORCH("native_batch_norm(; 0,3,4,1,2) batch_norm(; 0,3,4,1,2)"), PADDLE("batch_norm")},
    {OP("Swiglu", swiglu, 6, 1, 2), EARLY, .kernel = "Swiglu", .examples = "5x6,5x6; 5x8",
     PADDLE("swiglu")},
    {OP("MoeGateDispatch", moe_dispatch, 1, 2, 3), .outputs_max = 5,
     .examples = "5x6,5x4 k=2 capacity=3 -> 5", PADDLE("moe_gate_dispatch")},
    {OP("MoeCombine", moe_combine, 2, 3, 3), .examples = "7x6,5x2,5x2:i32", PADDLE("moe_combine")},
    {0},
};
