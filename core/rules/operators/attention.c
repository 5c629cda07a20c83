/* attention.c - queries against keys and values, and their positions.
 *
 *     Attention        b (h g) s d^, b h t^ d^, b h t^ e -> b (h g) s e
 *                      b s (h g d^), b t^ (h d^), b t^ (h e) -> b s (h g e)      packed
 *     LinearAttention  b t^ (h g d^), b t^ (h d^), b t^ (h e) -> b t^ (h g e), b h d^ e
 *     RotaryEmbedding  b h s d^, b s 32, b s 32 -> b h s d^
 *
 * Heads are sharded at their borders. Those of queries are (h g) if g of them share the keys of
 * one; a shard of g reads the whole keys that it shares with others. `present` has the past keys
 * and values followed by the new ones.
 */
#include "core/rules/operators/attention.h"

#include <inttypes.h>

/* ---- operands with heads ---- */

bool heads_read(const RuleCall *call, int input, int64_t n_heads, Heads *out, Error *err)
{
    const Shape *shape = call->shape[input];
    if (shape->n_dims == 4) {
        *out = (Heads){shape->dim[0], shape->dim[1], shape->dim[2], shape->dim[3], false};
        return true;
    }
    if (!args_rank(call, input, 3, 4, err))
        return false;
    if (n_heads < 1 || shape->dim[2] % n_heads != 0)
        return error_kind(err, ERROR_NOT_DIVISIBLE,
                          "its input %d has %" PRId64 " numbers for %" PRId64 " heads", input,
                          shape->dim[2], n_heads);
    *out = (Heads){shape->dim[0], n_heads, shape->dim[1], shape->dim[2] / n_heads, true};
    return true;
}

Shape heads_shape(const Heads *n)
{
    if (n->packed)
        return (Shape){.n_dims = 3, .dim = {n->b, n->s, n->h * n->d}};
    return (Shape){.n_dims = 4, .dim = {n->b, n->h, n->s, n->d}};
}

void heads_rows(const OpSpace *space, Operand *operand, bool packed, int b, const int *heads,
                int n_heads, int s, int d)
{
    int all[FACTORS_MAX];
    for (int i = 0; i < n_heads; i++)
        all[i] = heads[i];
    all[n_heads] = d;
    rule_unit(operand, 0, b);
    if (s != HEADS_WHOLE)
        rule_unit(operand, packed ? 1 : 2, s);
    if (packed) {
        rule_radix(space, operand, 2, all, n_heads + 1);
        return;
    }
    rule_radix(space, operand, 1, heads, n_heads);
    rule_unit(operand, 3, d);
}

bool attention_fits(const AttentionSizes *n, Error *err)
{
    const struct {
        const char *what, *a, *b;
        int64_t size_a, size_b;
    } same[] = {{"batch", "queries", "keys", n->q.b, n->k.b},
                {"batch", "queries", "values", n->q.b, n->v.b},
                {"heads", "keys", "values", n->k.h, n->v.h},
                {"positions", "keys", "values", n->k.s, n->v.s},
                {"numbers a head", "queries", "keys", n->q.d, n->k.d}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (same[i].size_a != same[i].size_b)
            return error_set(err, "its %s and %s differ in %s: %" PRId64 " and %" PRId64, same[i].a,
                             same[i].b, same[i].what, same[i].size_a, same[i].size_b);
    if (n->k.h < 1 || n->q.h % n->k.h != 0)
        return error_kind(err, ERROR_NOT_DIVISIBLE,
                          "%" PRId64 " query heads are not a multiple of %" PRId64 " key heads",
                          n->q.h, n->k.h);
    return true;
}

/* The sum of clamp(first + i, 0, most) over i = 0 .. n - 1. */
static double sum_clamped(int64_t n, int64_t first, int64_t most)
{
    int64_t rises = clamp(-first, 0, n), full = clamp(most - first, rises, n);
    double terms = (double)(full - rises);
    return terms * (double)(first + rises) + terms * (terms - 1) / 2 +
           (double)(n - full) * (double)most;
}

double attention_flops(const AttentionSizes *n, AttentionWindow window)
{
    int64_t keys = n->k.s + n->past;
    double before_end = window.right < 0 ? (double)n->q.s * (double)keys
                                         : sum_clamped(n->q.s, n->past + 1 + window.right, keys);
    double before_begin = window.left < 0 ? 0 : sum_clamped(n->q.s, n->past - window.left, keys);
    return 2.0 * (double)(n->q.b * n->q.h) * (before_end - before_begin) *
           (double)(n->q.d + n->v.d);
}

float attention_unseen(const AttentionSizes *n, AttentionWindow window, int64_t from, int64_t to)
{
    int64_t begin = window.left < 0 ? from : clamp(n->past - window.left, from, to);
    int64_t end = window.right < 0 ? to : clamp(n->past + n->q.s + window.right, begin, to);
    return to > from ? 1 - (float)(end - begin) / (float)(to - from) : 0;
}

AttentionIndex attention_index(RuleCall *call, const AttentionSizes *n, AttentionWindow window)
{
    OpSpace *space = call->space;
    AttentionIndex index;
    index.b = rule_index(space, "b", n->q.b, ROLE_MAP, REDUCE_NONE);
    index.h = rule_index(space, "h", n->k.h, ROLE_MAP, REDUCE_NONE);
    index.g = rule_index(space, "g", n->q.h / n->k.h, ROLE_MAP, REDUCE_NONE);
    index.s = rule_index(space, "s", n->q.s, ROLE_MAP, REDUCE_NONE);
    index.t = rule_index(space, "t", n->k.s, ROLE_FROZEN, REDUCE_NONE);
    index.d = rule_index(space, "d", n->q.d, ROLE_FROZEN, REDUCE_NONE);
    index.e = rule_index(space, "e", n->v.d, ROLE_MAP, REDUCE_NONE);
    space->flops = attention_flops(n, window);
    return index;
}

/* Says which keys a query sees, if the window has both bounds: keys then follow the queries. */
static void follow_queries(OpSpace *space, const AttentionIndex *index, AttentionWindow window)
{
    if (window.left < 0 || window.right < 0 || index->s < 0 || index->t < 0)
        return;
    IndexDim *keys = &space->index[index->t];
    keys->follows = (uint8_t)(1 + index->s);
    keys->before = window.left < keys->size ? window.left : keys->size;
    keys->after = window.right < keys->size ? window.right : keys->size;
}

void attention_mask(const OpSpace *space, Operand *operand, const AttentionIndex *index)
{
    int64_t n = operand->shape.n_dims;
    const int *heads = (int[]){index->h, index->g};
    for (int64_t d = 0; d < n - 1; d++) {
        int64_t from_end = n - 1 - d;
        if (operand->shape.dim[d] == 1)
            rule_unit(operand, d, -1);
        else if (from_end == 1)
            rule_unit(operand, d, index->s);
        else if (from_end == 2)
            rule_radix(space, operand, d, heads, 2);
        else if (from_end == 3)
            rule_unit(operand, d, index->b);
    }
}

/* ---- Attention ---- */

static int64_t dim_or(const Shape *shape, int64_t d, int64_t other)
{
    return d < 0 ? other : shape->dim[d];
}

static bool mask_fits(const RuleCall *call, const AttentionSizes *n, Error *err)
{
    const Shape *mask = call->shape[3];
    int64_t last = mask->n_dims - 1;
    const int64_t want[3] = {n->q.s, n->q.h, n->q.b};
    bool fits = mask->n_dims >= 1 && mask->n_dims <= 4 && mask->dim[last] <= n->k.s + n->past;
    for (int i = 0; fits && i < 3; i++) {
        int64_t size = dim_or(mask, last - 1 - i, 1);
        fits = size == 1 || size == want[i];
    }
    return fits || error_set(err,
                             "its input 3, the mask, does not broadcast to [%" PRId64 ",%" PRId64
                             ",%" PRId64 ",%" PRId64 "]",
                             n->q.b, n->q.h, n->q.s, n->k.s + n->past);
}

static bool past_fits(const RuleCall *call, AttentionSizes *n, Error *err)
{
    if (!args_has(call, 4) && !args_has(call, 5))
        return true;
    const Shape *keys = args_has(call, 4) ? call->shape[4] : NULL;
    const Shape *values = args_has(call, 5) ? call->shape[5] : NULL;
    if (!keys || !values)
        return error_set(err, "its input %d is absent", keys ? 5 : 4);
    if (!args_rank(call, 4, 4, 4, err))
        return false;
    n->past = keys->dim[2];
    Shape want_keys = {.n_dims = 4, .dim = {n->k.b, n->k.h, n->past, n->k.d}};
    Shape want_values = {.n_dims = 4, .dim = {n->v.b, n->v.h, n->past, n->v.d}};
    return args_shape(call, 4, &want_keys, err) && args_shape(call, 5, &want_values, err);
}

static bool read_attention(const RuleCall *call, AttentionSizes *out, Error *err)
{
    int64_t q_heads = args_int(call, "q_num_heads", 0), k_heads = args_int(call, "kv_num_heads", 0);
    *out = (AttentionSizes){.past = 0};
    return heads_read(call, 0, q_heads, &out->q, err) &&
           heads_read(call, 1, k_heads, &out->k, err) &&
           heads_read(call, 2, k_heads, &out->v, err) && attention_fits(out, err);
}

static void attention_shapes(RuleCall *call, const AttentionSizes *n)
{
    Heads y = n->q;
    int64_t total = n->k.s + n->past;
    y.d = n->v.d;
    const Shape all[4] = {
        heads_shape(&y),
        {.n_dims = 4, .dim = {n->q.b, n->k.h, total, n->k.d}},
        {.n_dims = 4, .dim = {n->q.b, n->k.h, total, n->v.d}},
        {.n_dims = 4, .dim = {n->q.b, n->q.h, n->q.s, total}},
    };
    for (int o = 0; o < call->n_outputs; o++) {
        call->out_shape[o] = all[o];
        call->out_dtype[o] = call->dtype[o == 1 || o == 2 ? o : 0];
    }
}

/* Rows of queries, keys, values and outputs; past keys and values by batch and head. */
static void attention_rows(RuleCall *call, const AttentionSizes *n, const AttentionIndex *index)
{
    OpSpace *space = call->space;
    const int heads[2] = {index->h, index->g};
    heads_rows(space, &space->operand[0], n->q.packed, index->b, heads, 2, index->s, index->d);
    heads_rows(space, &space->operand[1], n->k.packed, index->b, heads, 1, index->t, index->d);
    heads_rows(space, &space->operand[2], n->v.packed, index->b, heads, 1, index->t, index->e);
    heads_rows(space, rule_output(space, 0), n->q.packed, index->b, heads, 2, index->s, index->e);
    for (int o = 1; o < call->n_outputs && o < 3; o++)
        heads_rows(space, rule_output(space, o), false, index->b, heads, 1, HEADS_WHOLE,
                   o == 1 ? index->d : index->e);
    if (call->n_outputs > 3)
        attention_mask(space, rule_output(space, 3), index);
}

static AttentionWindow read_window(const RuleCall *call)
{
    AttentionWindow window = {args_int(call, "left_window_size", -1),
                              args_int(call, "right_window_size", -1)};
    if (args_int(call, "is_causal", 0) != 0)
        window.right = 0;
    return window;
}

/* Marks keys and values outside every window as unread, unless they are copied to `present`. */
static void skip_unseen(const RuleCall *call, const AttentionSizes *n, AttentionWindow window)
{
    Operand *operand = call->space->operand;
    for (int i = 0; i < 2 && call->n_outputs == 1; i++) {
        operand[1 + i].untouched = attention_unseen(n, window, n->past, n->past + n->k.s);
        if (args_has(call, 4 + i))
            operand[4 + i].untouched = attention_unseen(n, window, 0, n->past);
    }
}

static bool attention(RuleCall *call, Error *err)
{
    AttentionSizes n;
    if (!read_attention(call, &n, err) || !past_fits(call, &n, err) ||
        (args_has(call, 3) && !mask_fits(call, &n, err)))
        return false;
    if (args_has(call, 6) && !args_shape(call, 6, &(Shape){.n_dims = 1, .dim = {n.q.b}}, err))
        return false;
    attention_shapes(call, &n);
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    AttentionWindow window = read_window(call);
    AttentionIndex index = attention_index(call, &n, window);
    const int heads[1] = {index.h};
    attention_rows(call, &n, &index);
    if (n.past == 0 && call->n_outputs == 1 && index.t >= 0) {
        space->index[index.t].rounds = 1;
        if (!args_has(call, 6))
            follow_queries(space, &index, window);
    }
    skip_unseen(call, &n, window);
    if (args_has(call, 3))
        attention_mask(space, &space->operand[3], &index);
    for (int i = 4; i < 6; i++)
        if (args_has(call, i))
            heads_rows(space, &space->operand[i], false, index.b, heads, 1, HEADS_WHOLE,
                       i == 4 ? index.d : index.e);
    if (args_has(call, 6))
        rule_unit(&space->operand[6], 0, index.b);
    return true;
}

/* A custom graph that rewrites the scores may combine any of them. */
static bool flex_attention(RuleCall *call, Error *err)
{
    AttentionSizes n;
    if (!read_attention(call, &n, err))
        return false;
    attention_shapes(call, &n);
    if (!rule_space(call, err))
        return false;
    AttentionIndex index = attention_index(call, &n, (AttentionWindow){-1, -1});
    attention_rows(call, &n, &index);
    bool rewritten = args_attr(call, "score_mod") || args_attr(call, "prob_mod");
    const int mixed[4] = {index.b, index.h, index.g, index.s};
    for (int i = 0; rewritten && i < 4; i++)
        if (mixed[i] >= 0)
            call->space->index[mixed[i]].role = ROLE_FROZEN;
    if (rewritten)
        call->space->kernel = "";
    return true;
}

/* ---- LinearAttention ---- */

/* decay: one number per head, or one per key number of a head; beta: one number per head, or a
 * single one. */
static bool gate_row(RuleCall *call, int input, const AttentionSizes *n,
                     const AttentionIndex *index, Error *err)
{
    Operand *operand = &call->space->operand[input];
    if (!args_has(call, input))
        return true;
    const Shape *shape = call->shape[input];
    bool each = shape->n_dims == 3 && shape->dim[2] == n->k.h * n->k.d && input == 4;
    bool fits = shape->n_dims == 3 && shape->dim[0] == n->q.b && shape->dim[1] == n->q.s &&
                (each || shape->dim[2] == n->k.h || (shape->dim[2] == 1 && input == 5));
    if (!fits)
        return error_set(err, "its input %d does not have one number for each head", input);
    rule_unit(operand, 0, index->b);
    rule_unit(operand, 1, index->t);
    if (each)
        rule_radix(call->space, operand, 2, (int[]){index->h, index->d}, 2);
    else
        rule_unit(operand, 2, shape->dim[2] == 1 ? -1 : index->h);
    return true;
}

/* A state of d x e numbers per head is carried along the positions; its columns e are independent
 * of each other. */
static bool linear_attention(RuleCall *call, Error *err)
{
    AttentionSizes n;
    if (!read_attention(call, &n, err))
        return false;
    for (int i = 0; i < 3; i++)
        if (!args_rank(call, i, 3, 3, err) || !args_same_size(call, 0, 1, i, 1, err))
            return false;
    Shape state = {.n_dims = 4, .dim = {n.q.b, n.k.h, n.k.d, n.v.d}};
    if (args_has(call, 3) && !args_shape(call, 3, &state, err))
        return false;
    attention_shapes(call, &n);
    if (call->n_outputs > 1)
        call->out_shape[1] = state;
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;

    AttentionIndex index = {
        .b = rule_index(space, "b", n.q.b, ROLE_MAP, REDUCE_NONE),
        .h = rule_index(space, "h", n.k.h, ROLE_MAP, REDUCE_NONE),
        .g = rule_index(space, "g", n.q.h / n.k.h, ROLE_MAP, REDUCE_NONE),
        .t = rule_index(space, "t", n.k.s, ROLE_FROZEN, REDUCE_NONE),
        .d = rule_index(space, "d", n.q.d, ROLE_FROZEN, REDUCE_NONE),
        .e = rule_index(space, "e", n.v.d, ROLE_MAP, REDUCE_NONE),
    };
    const int heads[2] = {index.h, index.g};
    for (int i = 0; i < 2; i++) {
        Operand *queries = i == 0 ? &space->operand[0] : rule_output(space, 0);
        heads_rows(space, queries, true, index.b, heads, 2, index.t, i == 0 ? index.d : index.e);
        heads_rows(space, &space->operand[1 + i], true, index.b, heads, 1, index.t,
                   i == 0 ? index.d : index.e);
    }
    for (int i = 0; i < 2; i++) {
        bool there = i == 0 ? args_has(call, 3) : call->n_outputs > 1;
        Operand *kept = i == 0 ? &space->operand[3] : rule_output(space, 1);
        if (there)
            rule_align(kept, (int[]){index.b, index.h, index.d, index.e}, 4);
    }
    /* S' q of each query head; k v' of each key head, and S' k where the rule corrects. */
    double products = (double)n.q.h + (double)n.k.h * (args_has(call, 5) ? 2.0 : 1.0);
    space->flops = 2.0 * (double)(n.q.b * n.q.s) * products * (double)(n.q.d * n.v.d);
    return gate_row(call, 4, &n, &index, err) && gate_row(call, 5, &n, &index, err);
}

/* ---- RotaryEmbedding ---- */

/* Rows of cosines and sines: one for each position of each sample, or a table indexed by position
 * ids. */
static bool angles_row(RuleCall *call, int input, const Heads *n, int b, int s, Error *err)
{
    Operand *operand = &call->space->operand[input];
    const Shape *shape = call->shape[input];
    if (shape->n_dims == 2)
        return true;
    if (shape->n_dims != 3 || (shape->dim[0] != n->b && shape->dim[0] != 1) ||
        (shape->dim[1] != n->s && shape->dim[1] != 1))
        return error_set(err, "its input %d does not fit its positions", input);
    rule_unit(operand, 0, shape->dim[0] == 1 ? -1 : b);
    rule_unit(operand, 1, shape->dim[1] == 1 ? -1 : s);
    return true;
}

static bool rotary_embedding(RuleCall *call, Error *err)
{
    Heads n;
    if (!heads_read(call, 0, args_int(call, "num_heads", 0), &n, err))
        return false;
    OpSpace *space = rule_space_as(call, call->shape[0], call->dtype[0], err);
    if (!space)
        return false;
    int b = rule_index(space, "b", n.b, ROLE_MAP, REDUCE_NONE);
    int h = rule_index(space, "h", n.h, ROLE_MAP, REDUCE_NONE);
    int s = rule_index(space, "s", n.s, ROLE_MAP, REDUCE_NONE);
    int d = rule_index(space, "d", n.d, ROLE_FROZEN, REDUCE_NONE);
    heads_rows(space, &space->operand[0], n.packed, b, &h, 1, s, d);
    heads_rows(space, rule_output(space, 0), n.packed, b, &h, 1, s, d);
    if (args_has(call, 3)) {
        if (!args_shape(call, 3, &(Shape){.n_dims = 2, .dim = {n.b, n.s}}, err))
            return false;
        rule_align(&space->operand[3], (int[]){b, s}, 2);
    }
    return angles_row(call, 1, &n, b, s, err) && angles_row(call, 2, &n, b, s, err);
}

#define FAMILY "attention"

const Operator operators_attention[] = {
    {OP("Attention", attention, 0, 3, 7), .flags = OPERATOR_KEEPS_ROWS | OPERATOR_ATTENDS,
     GRADIENT("0 1 2 3 4 5: AttentionBackward(inputs)"), .outputs_max = 4,
     ONNX("is_causal kv_num_heads left_window_size q_num_heads qk_matmul_output_mode "
          "right_window_size scale softcap softmax_precision",
          "Af Af Bf . Af Bf .i"),
     .kernel = "Attention",
     .examples = "3x4x5x6,3x2x7x6,3x2x7x8; 3x5x24,3x7x12,3x7x16 q_num_heads=4 kv_num_heads=2; "
                 "3x4x5x6,3x2x7x6,3x2x7x8,3x1x5x11,3x2x4x6,3x2x4x8 -> 4; 3x4x5x6,3x2x5x6,3x2x5x8 "
                 "is_causal=1"},
    {OP("ai.onnx.preview::FlexAttention", flex_attention, 0, 3, 3),
     .flags = OPERATOR_KEEPS_ROWS | OPERATOR_ATTENDS, GRADIENT("0 1 2: AttentionBackward(inputs)"),
     ONNX("kv_num_heads prob_mod q_num_heads scale score_mod softmax_precision", "Af Af Af"),
     .kernel = "ai.onnx.preview::FlexAttention",
     .examples = "3x4x5x6,3x2x7x6,3x2x7x8; 3x5x24,3x7x12,3x7x16 q_num_heads=4 kv_num_heads=2"},
    {OP("LinearAttention", linear_attention, 0, 3, 6), .flags = OPERATOR_ATTENDS, .outputs_max = 2,
     GRADIENT("0 1 2 3 4 5: LinearAttentionBackward(inputs)"),
     ONNX("chunk_size kv_num_heads q_num_heads scale update_rule", "Af Af Af .f Af Af"),
     .kernel = "LinearAttention",
     .examples = "3x7x24,3x7x12,3x7x16,3x2x6x8,3x7x12,3x7x2 q_num_heads=4 kv_num_heads=2 -> 2"},
    {OP("RotaryEmbedding", rotary_embedding, 3, 3, 4), GRADIENT("0 1 2: RotaryBackward(inputs)"),
     EARLY, ONNX("interleaved num_heads rotary_embedding_dim", "Af Af Af .i"),
     .kernel = "RotaryEmbedding",
     .examples = "3x4x5x6,7x3,7x3,3x5:i64; 3x5x24,3x5x3,3x5x3 num_heads=4"},
    {0},
};
