/* fused_attention.c - attention and rotary embeddings as torch and Paddle fuse them.
 *
 *     ScaledDotProductAttention
 *                 b0 b1 f e^, b0 b1 c^ e^, b0 b1 c^ d -> b0 b1 f d, b0 b1 f
 *
 * Queries (f) are independent, so f may be sharded, unless the attention is causal: then the
 * position of a query in the whole sequence matters. With fewer key heads than query heads, the
 * heads of queries are (g r): g groups, one a key head, of r.
 */
#include "core/rules/operators/attention.h"
#include "core/rules/operators/dims.h"

#include <assert.h>

/* The order of dims: [.., h, s, d] in torch, [b, s, h, d] in Paddle. */
typedef struct {
    int64_t n_dims, heads, places, width;
} DimLayout;

typedef struct {
    DimLayout at;
    int batch[DIMS_MAX], group, per_group, query, key, inner, value; /* index dims */
} FusedLayout;

static bool layout_fits(const RuleCall *call, const DimLayout *at, Error *err)
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

static void make_index(RuleCall *call, bool causal, FusedLayout *out)
{
    const Shape *q = call->shape[0], *k = call->shape[1], *v = call->shape[2];
    const DimLayout *at = &out->at;
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

/* Rows of an operand with the layout of queries or keys. */
static void layout_rows(RuleCall *call, const FusedLayout *a, Operand *operand, bool of_query,
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

/* Flops of all heads of all batches. */
static double flops_of(const RuleCall *call, const DimLayout *at, bool causal)
{
    const Shape *q = call->shape[0];
    const Heads keys = {.b = 1, .h = 1, .s = call->shape[1]->dim[at->places]};
    AttentionSizes n = {.q = keys, .k = keys, .v = keys};
    n.q.s = q->dim[at->places];
    n.q.d = q->dim[at->width];
    n.v.d = call->shape[2]->dim[at->width];
    for (int64_t d = 0; d < at->n_dims; d++)
        if (d != at->places && d != at->width)
            n.q.b *= q->dim[d];
    return attention_flops(&n, (AttentionWindow){-1, causal ? 0 : -1});
}

/* Rows of the scores, [.. h, f, c] in any layout, and of operands that broadcast to them: masks and
 * the softmax; without c, its logsumexp. */
static void score_rows(RuleCall *call, const FusedLayout *a, Operand *operand, bool with_keys)
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

static Shape score_shape(const RuleCall *call, const DimLayout *at, bool with_keys)
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

/* mask: the input; scores, sums: outputs with the softmax and its logsumexp, -1 if absent. Outputs
 * after these are the random state, of n_state numbers (-1: a scalar). */
typedef struct {
    int mask, scores, sums, n_state;
} Places;

static bool attend(RuleCall *call, DimLayout at, Places places, Error *err)
{
    bool causal = args_int(call, "is_causal", 0) != 0;
    FusedLayout a = {.at = at};
    if (!layout_fits(call, &at, err))
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
    make_index(call, causal, &a);
    space->flops = flops_of(call, &at, causal);
    layout_rows(call, &a, &space->operand[0], true, a.query, a.inner);
    layout_rows(call, &a, &space->operand[1], false, a.key, a.inner);
    layout_rows(call, &a, &space->operand[2], false, a.key, a.value);
    layout_rows(call, &a, rule_output(space, 0), true, a.query, a.value);
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
    return attend(call, (DimLayout){n, n - 3, n - 2, n - 1}, (Places){3, -1, 1, -1}, err);
}

/* Paddle: [batch, places, heads, width]; inputs 3 and 4 are a seed and the mask. */
static bool flash_attention(RuleCall *call, Error *err)
{
    if (!args_rank(call, 0, 4, 4, err))
        return false;
    return attend(call, (DimLayout){4, 2, 1, 3}, (Places){4, 1, 2, 1}, err);
}

/* q, k, v [batch, places, heads, width], sin and cos [1, places, 1, width], ids [batch, places]. If
 * sin and cos are given, positions are independent. */
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

#define FAMILY "fused_attention"

const Operator operators_fused_attention[] = {
    {OP("ScaledDotProductAttention", scaled_dot_product, 0, 3, 4),
     .flags = OPERATOR_KEEPS_ROWS | OPERATOR_ATTENDS, .outputs_max = 9,
     OWN("dropout_p enable_gqa is_causal scale", ".f .f .f"),
     .examples = "3x4x5x6,3x2x7x6,3x2x7x8 -> 2; 3x4x5x6,3x4x7x6,3x4x7x8,5x7 is_causal=1",
     NNSCALER("scaled_dot_product_attention"),
     TORCH("scaled_dot_product_attention _scaled_dot_product_flash_attention "
           "_scaled_dot_product_efficient_attention _scaled_dot_product_cudnn_attention "
           "_scaled_dot_product_attention_math")},
    {OP("FlashAttention", flash_attention, 0, 3, 6),
     .flags = OPERATOR_KEEPS_ROWS | OPERATOR_ATTENDS, .outputs_max = 4,
     OWN("dropout is_causal is_test return_softmax rng_name", ".f .f .f"),
     .examples = "3x5x4x6,3x7x2x6,3x7x2x8 -> 4",
     PADDLE("flash_attention(causal=is_causal) flashmask_attention(causal=is_causal; 0,1,2,4)")},
    {OP("FusedRotaryEmbedding", fused_rope, 6, 1, 6), EARLY, .outputs_max = 3,
     OWN("rotary_emb_base time_major use_neox_rotary_style", ".f"),
     .examples =
         "3x5x4x6,3x5x2x6 -> 2; 3x5x4x6,-,-,1x5x1x6,1x5x1x6; 3x5x4x6,-,-,1x7x1x6,1x7x1x6,3x5:i64",
     PADDLE("fused_rotary_position_embedding fused_rotary_position_embedding_grad(; 2,3,4,0,1,5)")},
    {0},
};
