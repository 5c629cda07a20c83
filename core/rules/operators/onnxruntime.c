/* onnxruntime.c - operators of the domain com.microsoft, which exporters for onnxruntime and its
 * optimizer write.
 *
 *     SkipLayerNormalization   d0 d1 d^, d0 d1 d^, d^ .. -> d0 d1 d^, .., d0 d1 d^
 *     MultiHeadAttention       b s (h d^), b t^ (h d^), b t^ (h e) -> b s (h e)
 *     GroupQueryAttention      b s (h g d^), b s (h d^), b s (h d^) -> b s (h g d^)
 *     Attention                b s i^, i^ (3^ h d^), (3^ h d^) -> b s^ (h d^)
 *     MatMulNBits              b0 m (kb+ kk+), n kb+ 16, (n kb+) -> b0 m n
 *
 * Source: onnxruntime's published schemas of contributed operators. Present keys and values are as
 * long as past and new ones together; if a buffer that is given at run time decides the length, it
 * is unknown here.
 */
#include "core/rules/operators/attention.h"
#include "core/rules/operators/dims.h"

#include <inttypes.h>

/* ---- place by place ---- */

static bool activation(RuleCall *call, Error *err)
{
    return dims_pointwise(call, call->dtype[0], err);
}

/* One half of the numbers, after adding a bias, gates the other half. */
static bool bias_split_gelu(RuleCall *call, Error *err)
{
    const Shape *x = call->shape[0];
    int64_t last = x->n_dims - 1;
    if (!args_rank(call, 0, 1, DIMS_MAX, err) || !args_rank(call, 1, 1, 1, err) ||
        !args_same_size(call, 0, last, 1, 0, err))
        return false;
    if (x->dim[last] % 2 != 0)
        return error_kind(err, ERROR_NOT_DIVISIBLE,
                          "the last dim of its input 0 has no two equal halves");
    call->out_shape[0] = *x;
    call->out_shape[0].dim[last] /= 2;
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    for (int d = 0; d < x->n_dims; d++) {
        int half = d == last ? rule_index(space, "2", 2, ROLE_FROZEN, REDUCE_NONE) : -1;
        int index = rule_index_at(call, 'd', d, call->out_shape[0].dim[d]);
        rule_radix(space, &space->operand[0], d, (int[]){half, index}, 2);
        rule_unit(rule_output(space, 0), d, index);
        if (d == last)
            rule_radix(space, &space->operand[1], 0, (int[]){half, index}, 2);
    }
    return true;
}

/* ---- norms ---- */

/* Normalizes the last dim of a sum; mean, 1 / deviation and the sum are optional outputs. */
static bool skip_norm(RuleCall *call, Error *err)
{
    const Shape *x = call->shape[0];
    DimUse use[DIMS_MAX] = {DIM_MAP};
    if (!args_rank(call, 0, 2, DIMS_MAX, err))
        return false;
    Shape common;
    if (!args_broadcast(call->shape, call->n_inputs, &common, err))
        return false;
    if (!shape_equal(&common, x))
        return error_set(err, "an input is larger than its input 0");
    use[x->n_dims - 1] = DIM_FROZEN;
    for (int o = 0; o < call->n_outputs; o++) {
        bool is_statistic = o == 1 || o == 2;
        call->out_shape[o] = *x;
        call->out_dtype[o] = is_statistic ? DT_F32 : call->dtype[0];
        if (is_statistic)
            call->out_shape[o].dim[x->n_dims - 1] = 1;
    }
    return dims_space(call, x, use, NULL, err) != NULL;
}

/* ids, segment ids, word, position and segment embeddings, scale, bias, mask, position ids; those
 * for segments may be absent. */
static bool embed_norm(RuleCall *call, Error *err)
{
    static const int needed[] = {2, 3, 5, 6};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!args_has(call, needed[i]))
            return error_set(err, "its input %d is absent", needed[i]);
    const Shape *ids = call->shape[0], *words = call->shape[2];
    if (!args_rank(call, 0, 2, 2, err) || !args_rank(call, 2, 2, 2, err))
        return false;
    Shape out = {.n_dims = 3, .dim = {ids->dim[0], ids->dim[1], words->dim[1]}};
    for (int o = 0; o < call->n_outputs; o++) {
        call->out_shape[o] = o == 1 ? (Shape){.n_dims = 1, .dim = {ids->dim[0]}} : out;
        call->out_dtype[o] = o == 1 ? DT_I32 : call->dtype[2];
    }
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int b = rule_index(space, "b", ids->dim[0], ROLE_MAP, REDUCE_NONE);
    bool counts = call->n_outputs > 1; /* of each sample's mask */
    int s = rule_index(space, "s", ids->dim[1], counts ? ROLE_FROZEN : ROLE_MAP, REDUCE_NONE);
    int d = rule_index(space, "d", words->dim[1], ROLE_FROZEN, REDUCE_NONE);
    for (int i = 0; i < call->n_inputs; i++) {
        Operand *operand = &space->operand[i];
        bool of_ids = i < 2 || i > 6;
        if (operand->absent)
            continue;
        for (int64_t k = 0; k < operand->shape.n_dims; k++) {
            int64_t size = operand->shape.dim[k];
            bool last = k == operand->shape.n_dims - 1;
            if (of_ids && k < 2 && size == ids->dim[k])
                rule_unit(operand, k, k == 0 ? b : s);
            else if (!of_ids && last && size == words->dim[1])
                rule_unit(operand, k, d);
        }
    }
    for (int o = 0; o < call->n_outputs; o++)
        rule_align(rule_output(space, o), (int[]){b, s, d}, 3);
    if (call->n_outputs > 1)
        rule_unit(rule_output(space, 1), 0, b);
    return true;
}

/* ---- attention ---- */

static void present_shapes(RuleCall *call, const AttentionSizes *n, int64_t total)
{
    for (int o = 1; o < call->n_outputs && o < 3; o++) {
        call->out_shape[o] =
            (Shape){.n_dims = 4, .dim = {n->q.b, n->k.h, total, o == 1 ? n->k.d : n->v.d}};
        call->out_dtype[o] = call->dtype[0];
    }
}

/* Past keys and values are inputs past and past + 1. */
static bool kept_fit(const RuleCall *call, AttentionSizes *n, int past, Error *err)
{
    for (int i = 0; i < 2; i++) {
        if (!args_has(call, past + i))
            continue;
        if (!args_rank(call, past + i, 4, 4, err))
            return false;
        n->past = i == 0 ? call->shape[past]->dim[2] : n->past;
        Shape want = {.n_dims = 4, .dim = {n->q.b, n->k.h, n->past, i == 0 ? n->k.d : n->v.d}};
        if (!args_shape(call, past + i, &want, err))
            return false;
    }
    return true;
}

static void kept_rows(RuleCall *call, const AttentionIndex *index, int past)
{
    OpSpace *space = call->space;
    const int heads[1] = {index->h};
    for (int i = 0; i < 2; i++) {
        int d = i == 0 ? index->d : index->e;
        if (args_has(call, past + i))
            heads_rows(space, &space->operand[past + i], false, index->b, heads, 1, HEADS_WHOLE, d);
        if (call->n_outputs > 1 + i)
            heads_rows(space, rule_output(space, 1 + i), false, index->b, heads, 1, HEADS_WHOLE, d);
    }
}

/* The attention bias broadcasts to batch, heads, queries and keys. */
static bool bias_fits(const RuleCall *call, const AttentionSizes *n, Error *err)
{
    if (!args_has(call, 5))
        return true;
    if (!args_rank(call, 5, 4, 4, err))
        return false;
    Shape want = {.n_dims = 4, .dim = {n->q.b, n->q.h, n->q.s, n->k.s + n->past}};
    for (int d = 0; d < 2; d++)
        if (call->shape[5]->dim[d] == 1)
            want.dim[d] = 1;
    return args_shape(call, 5, &want, err);
}

/* query, key, value, bias, padding mask, attention bias, past keys and values. */
static bool multi_head_attention(RuleCall *call, Error *err)
{
    int64_t heads = args_int(call, "num_heads", 0);
    AttentionSizes n = {.past = 0};
    if (!args_has(call, 1) || !args_has(call, 2) || call->shape[0]->n_dims != 3)
        return error_kind(err, ERROR_UNSUPPORTED, "its queries, keys and values are packed in one");
    if (!heads_read(call, 0, heads, &n.q, err) || !heads_read(call, 1, heads, &n.k, err) ||
        !heads_read(call, 2, heads, &n.v, err) || !attention_fits(&n, err) ||
        !kept_fit(call, &n, 6, err) || !bias_fits(call, &n, err))
        return false;
    Heads y = n.q;
    y.d = n.v.d;
    call->out_shape[0] = heads_shape(&y);
    call->out_dtype[0] = call->dtype[0];
    present_shapes(call, &n, n.k.s + n.past);
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    bool causal = args_int(call, "unidirectional", 0) != 0;
    AttentionIndex index = attention_index(call, &n, (AttentionWindow){-1, causal ? 0 : -1});
    const int all[1] = {index.h};
    if (causal && index.s >= 0)
        space->index[index.s].role = ROLE_FROZEN; /* the position of a query matters */
    heads_rows(space, &space->operand[0], true, index.b, all, 1, index.s, index.d);
    heads_rows(space, &space->operand[1], n.k.packed, index.b, all, 1, index.t, index.d);
    heads_rows(space, &space->operand[2], n.v.packed, index.b, all, 1, index.t, index.e);
    heads_rows(space, rule_output(space, 0), true, index.b, all, 1, index.s, index.e);
    if (args_has(call, 4) && call->shape[4]->dim[0] == n.q.b)
        rule_unit(&space->operand[4], 0, index.b);
    if (args_has(call, 5))
        attention_mask(space, &space->operand[5], &index);
    kept_rows(call, &index, 6);
    return true;
}

/* The length of the present keys: that of the given buffer, or of the new keys if there is no
 * buffer. If the total is longer, the length is known only at run time. */
static int64_t present_length(const RuleCall *call, const AttentionSizes *n)
{
    int64_t total;
    if (!args_has(call, 3))
        return n->k.s;
    if (args_has(call, 6) && value_one_int(call->value[6], &total))
        return total > n->past ? total : n->past;
    return n->past > 0 ? -1 : n->k.s;
}

/* If `present` is the given buffer, new rows are written in place and keys outside every window are
 * not read. Counts a full buffer, unless the total length is known. */
static void skip_buffer(RuleCall *call, const AttentionSizes *n, AttentionWindow window)
{
    OpSpace *space = call->space;
    int64_t length = call->n_outputs > 1 ? call->out_shape[1].dim[2] : -1;
    for (int i = 0; i < 2 && length > 0 && args_has(call, 3 + i); i++) {
        if (call->shape[3 + i]->dim[2] != length)
            return;
        space->operand[3 + i].untouched = attention_unseen(n, window, 0, length);
        if (call->n_outputs > 1 + i)
            rule_output(space, 1 + i)->untouched = 1 - (float)n->k.s / (float)length;
    }
}

/* query, key, value, past keys and values, lengths, total length, cosines, sines. */
static bool group_query_attention(RuleCall *call, Error *err)
{
    AttentionSizes n = {.past = 0};
    int64_t heads = args_int(call, "num_heads", 0), kept = args_int(call, "kv_num_heads", 0);
    if (!args_has(call, 1) || !args_has(call, 2))
        return error_kind(err, ERROR_UNSUPPORTED, "its queries, keys and values are packed in one");
    if (!heads_read(call, 0, heads, &n.q, err) || !heads_read(call, 1, kept, &n.k, err) ||
        !heads_read(call, 2, kept, &n.v, err) || !attention_fits(&n, err) ||
        !kept_fit(call, &n, 3, err))
        return false;
    Heads y = n.q;
    y.d = n.v.d;
    call->out_shape[0] = heads_shape(&y);
    call->out_dtype[0] = call->dtype[0];
    present_shapes(call, &n, present_length(call, &n));
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int64_t width = args_int(call, "local_window_size", -1);
    AttentionWindow window = {width < 0 ? -1 : width - 1,
                              args_int(call, "causal", 1) != 0 ? 0 : -1};
    int64_t total;
    if (args_has(call, 6) && value_one_int(call->value[6], &total) && total >= n.k.s)
        n.past = total - n.k.s;
    AttentionIndex index = attention_index(call, &n, window);
    const int all[2] = {index.h, index.g};
    if (index.s >= 0) /* keys are positions of the same sequence, and their order matters */
        space->index[index.s].role = ROLE_FROZEN;
    heads_rows(space, &space->operand[0], n.q.packed, index.b, all, 2, index.s, index.d);
    heads_rows(space, &space->operand[1], n.k.packed, index.b, all, 1, index.t, index.d);
    heads_rows(space, &space->operand[2], n.v.packed, index.b, all, 1, index.t, index.e);
    heads_rows(space, rule_output(space, 0), n.q.packed, index.b, all, 2, index.s, index.e);
    if (args_has(call, 5) && call->shape[5]->n_dims >= 1 && call->shape[5]->dim[0] == n.q.b)
        rule_unit(&space->operand[5], 0, index.b);
    kept_rows(call, &index, 3);
    skip_buffer(call, &n, window);
    return true;
}

/* One weight makes queries, keys and values; past ones are stacked: [2, b, h, t, d]. */
static bool fused_attention(RuleCall *call, Error *err)
{
    const Shape *x = call->shape[0], *w = call->shape[1];
    int64_t heads = args_int(call, "num_heads", 0);
    if (!args_rank(call, 0, 3, 3, err) || !args_rank(call, 1, 2, 2, err) ||
        !args_same_size(call, 0, 2, 1, 0, err))
        return false;
    if (heads < 1 || heads > w->dim[1] || w->dim[1] % (3 * heads) != 0 ||
        args_attr(call, "qkv_hidden_sizes"))
        return error_kind(err, ERROR_UNSUPPORTED, "its weight is not three equal parts of heads");
    int64_t d = w->dim[1] / 3 / heads, past = 0;
    if (args_has(call, 4)) {
        if (!args_rank(call, 4, 5, 5, err))
            return false;
        past = call->shape[4]->dim[3];
        Shape kept = {.n_dims = 5, .dim = {2, x->dim[0], heads, past, d}};
        if (!args_shape(call, 4, &kept, err))
            return false;
    }
    const Heads own = {x->dim[0], heads, x->dim[1], d, true};
    const AttentionSizes n = {.q = own, .k = own, .v = own, .past = past};
    if (!bias_fits(call, &n, err))
        return false;
    call->out_shape[0] = (Shape){.n_dims = 3, .dim = {x->dim[0], x->dim[1], heads * d}};
    for (int o = 0; o < call->n_outputs; o++)
        call->out_dtype[o] = call->dtype[0];
    if (call->n_outputs > 1)
        call->out_shape[1] =
            (Shape){.n_dims = 5, .dim = {2, x->dim[0], heads, past + x->dim[1], d}};
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int b = rule_index(space, "b", x->dim[0], ROLE_MAP, REDUCE_NONE);
    int s = rule_index(space, "s", x->dim[1], ROLE_FROZEN, REDUCE_NONE);
    int i = rule_index(space, "i", x->dim[2], ROLE_FROZEN, REDUCE_NONE);
    int part = rule_index(space, "3", 3, ROLE_FROZEN, REDUCE_NONE);
    int h = rule_index(space, "h", heads, ROLE_MAP, REDUCE_NONE);
    int each = rule_index(space, "d", d, ROLE_FROZEN, REDUCE_NONE);
    rule_align(&space->operand[0], (int[]){b, s, i}, 3);
    rule_unit(&space->operand[1], 0, i);
    rule_radix(space, &space->operand[1], 1, (int[]){part, h, each}, 3);
    if (args_has(call, 2) && call->shape[2]->n_dims == 1 && call->shape[2]->dim[0] == w->dim[1])
        rule_radix(space, &space->operand[2], 0, (int[]){part, h, each}, 3);
    heads_rows(space, rule_output(space, 0), true, b, &h, 1, s, each);
    if (args_has(call, 3) && call->shape[3]->n_dims > 0 && call->shape[3]->dim[0] == x->dim[0])
        rule_unit(&space->operand[3], 0, b);
    if (args_has(call, 5))
        attention_mask(space, &space->operand[5],
                       &(AttentionIndex){.b = b, .h = h, .g = -1, .s = s});
    for (int k = 0; k < 2; k++) {
        Operand *kept = k == 0 ? &space->operand[4] : rule_output(space, 1);
        if (k == 0 ? !args_has(call, 4) : call->n_outputs < 2)
            continue;
        rule_unit(kept, 1, b);
        rule_unit(kept, 2, h);
    }
    space->flops =
        2.0 * (double)(x->dim[0] * x->dim[1]) * (double)w->dim[0] * (double)w->dim[1] +
        attention_flops(&n, (AttentionWindow){-1, args_int(call, "unidirectional", 0) ? 0 : -1});
    return true;
}

/* X, positions, cosines, sines: tables indexed by the positions. */
static bool rotary(RuleCall *call, Error *err)
{
    const Shape *x = call->shape[0], *positions = call->shape[1];
    int64_t heads = args_int(call, "num_heads", 0);
    Heads n;
    if (heads == 0 && call->shape[2]->n_dims == 2 && x->n_dims == 3 && call->shape[2]->dim[1] > 0)
        heads = x->dim[2] / (2 * call->shape[2]->dim[1]);
    if (!heads_read(call, 0, heads, &n, err))
        return false;
    OpSpace *space = rule_space_as(call, x, call->dtype[0], err);
    if (!space)
        return false;
    int b = rule_index(space, "b", n.b, ROLE_MAP, REDUCE_NONE);
    int h = rule_index(space, "h", n.h, ROLE_MAP, REDUCE_NONE);
    bool counted = positions->n_dims < 2; /* by the place in the sequence */
    int s = rule_index(space, "s", n.s, counted ? ROLE_FROZEN : ROLE_MAP, REDUCE_NONE);
    int d = rule_index(space, "d", n.d, ROLE_FROZEN, REDUCE_NONE);
    heads_rows(space, &space->operand[0], n.packed, b, &h, 1, s, d);
    heads_rows(space, rule_output(space, 0), n.packed, b, &h, 1, s, d);
    if (positions->n_dims == 2 && positions->dim[0] == n.b && positions->dim[1] == n.s)
        rule_align(&space->operand[1], (int[]){b, s}, 2);
    return true;
}

/* ---- MatMulNBits ---- */

/* How many blocks share a byte of zero points, which must not be split. */
static int64_t blocks_together(const RuleCall *call)
{
    int64_t bits = args_int(call, "bits", 4);
    bool packed = args_has(call, 3) && call->dtype[3] == DT_U8;
    return packed && bits > 0 && bits < 8 ? 8 / bits : 1;
}

/* Rows of an operand with one number for each block of each column, in one dim or in two. */
static void put_blocks(const OpSpace *space, Operand *operand, int64_t n_dims, const int *blocks,
                       int n_digits)
{
    if (n_dims == 1) {
        rule_radix(space, operand, 0, blocks, n_digits);
        return;
    }
    rule_unit(operand, 0, blocks[0]);
    rule_radix(space, operand, 1, blocks + 1, n_digits - 1);
}

/* A weight of n columns, each in blocks of k that share a scale and, optionally, a zero point. */
static bool matmul_nbits(RuleCall *call, Error *err)
{
    const Shape *a = call->shape[0], *w = call->shape[1], *scale = call->shape[2];
    int64_t k = args_int(call, "K", 0), n = args_int(call, "N", 0);
    int64_t block = args_int(call, "block_size", 0);
    if (!args_rank(call, 0, 1, DIMS_MAX, err))
        return false;
    if (a->dim[a->n_dims - 1] != k || k < 1 || n < 1 || block < 1)
        return error_set(err,
                         "its attributes K %" PRId64 ", N %" PRId64 " and block_size %" PRId64
                         " do not fit the last dim of its input 0, %" PRId64,
                         k, n, block, a->dim[a->n_dims - 1]);
    int64_t n_blocks = k / block + (k % block != 0);
    Shape flat = {.n_dims = 1, .dim = {0}}, table = {.n_dims = 2, .dim = {n, n_blocks}};
    if (!args_rank(call, 1, 3, 3, err) || __builtin_mul_overflow(n, n_blocks, &flat.dim[0]))
        return error_kind(err, ERROR_OUT_OF_RANGE, "it has too many blocks");
    Shape weight = {.n_dims = 3, .dim = {n, n_blocks, w->dim[2]}};
    Shape bias = {.n_dims = 1, .dim = {n}};
    if (!args_shape(call, 1, &weight, err) ||
        !args_shape(call, 2, scale->n_dims == 1 ? &flat : &table, err) ||
        (args_has(call, 5) && !args_shape(call, 5, &bias, err)))
        return false;
    call->out_shape[0] = *a;
    call->out_shape[0].dim[a->n_dims - 1] = n;
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;

    int64_t last = a->n_dims - 1;
    int64_t together = blocks_together(call);
    bool adds = k % block == 0 && !args_has(call, 4) && n_blocks % together == 0;
    IndexRole role = adds ? ROLE_REDUCE : ROLE_FROZEN;
    ReduceOp how = adds ? REDUCE_SUM : REDUCE_NONE;
    for (int d = 0; d < last; d++) {
        int index = rule_index_at(call, 'd', d, a->dim[d]);
        rule_unit(&space->operand[0], d, index);
        rule_unit(rule_output(space, 0), d, index);
    }
    together = adds ? together : 1;
    int column = rule_index(space, "n", n, ROLE_MAP, REDUCE_NONE);
    int kb = rule_index(space, "kb", n_blocks / together, role, how);
    /* n, then the blocks of a column */
    int blocks[4] = {column, kb}, n_digits = 2;
    if (together > 1)
        blocks[n_digits++] = rule_index(space, "kz", together, ROLE_FROZEN, REDUCE_NONE);
    if (adds) {
        blocks[n_digits] = rule_index(space, "kk", block, ROLE_FROZEN, REDUCE_NONE);
        rule_radix(space, &space->operand[0], last, blocks + 1, n_digits);
    }
    rule_unit(rule_output(space, 0), last, column);
    rule_unit(&space->operand[1], 0, column);
    rule_radix(space, &space->operand[1], 1, blocks + 1, n_digits - 1);
    put_blocks(space, &space->operand[2], scale->n_dims, blocks, n_digits);
    if (adds && args_has(call, 3))
        put_blocks(space, &space->operand[3], call->shape[3]->n_dims, blocks, 2);
    if (args_has(call, 5)) {
        rule_unit(&space->operand[5], 0, column);
        space->operand[5].once = true;
    }
    space->flops = 2.0 * (double)shape_elements(a) * (double)n;
    return true;
}

#define FAMILY "onnxruntime"

const Operator operators_onnxruntime[] = {
    {OP("com.microsoft::Gelu", activation, 0, 1, 1), GRADIENT("0: local(x0)"), OWN("", ""), EARLY,
     .kernel = "com.microsoft::Gelu", .examples = "5x6"},
    {OP("com.microsoft::QuickGelu", activation, 0, 1, 1), GRADIENT("0: local(x0)"),
     OWN("alpha", ""), EARLY, .kernel = "com.microsoft::QuickGelu", .examples = "5x6"},
    {OP("com.microsoft::FastGelu", activation, 0, 1, 2),
     GRADIENT("0: local(x0 x1); 1: local(x0 x1)"), OWN("", ""), EARLY,
     .kernel = "com.microsoft::FastGelu", .examples = "5x6; 5x6,6"},
    {OP("com.microsoft::BiasGelu", activation, 0, 1, 2),
     GRADIENT("0: local(x0 x1); 1: local(x0 x1)"), OWN("", ""), EARLY,
     .kernel = "com.microsoft::Gelu", .examples = "5x6,6"},
    {OP("com.microsoft::BiasAdd", activation, 0, 1, 3), GRADIENT("all: contract"), OWN("", ""),
     EARLY, .kernel = "com.microsoft::BiasAdd", .examples = "3x4x5,5,3x4x5"},
    {OP("com.microsoft::BiasSplitGelu", bias_split_gelu, 0, 2, 2),
     GRADIENT("0: BiasSplitGeluBackward(x0 x1); 1: BiasSplitGeluBackward(x0 x1)"), OWN("", ""),
     EARLY, .kernel = "com.microsoft::BiasSplitGelu", .examples = "3x4x10,10"},
    {OP("com.microsoft::SkipLayerNormalization", skip_norm, 0, 3, 5),
     GRADIENT(
         "0: SkipLayerNormalizationBackward(x0 x1 x2 x4); 1: SkipLayerNormalizationBackward(x0 x1 "
         "x2 x4); 4: SkipLayerNormalizationBackward(x0 x1 x2 x4); 2: "
         "SkipLayerNormalizationBackward(x0 x1 x4); 3: SkipLayerNormalizationBackward"),
     OWN("epsilon", ""), EARLY, .outputs_max = 4, .kernel = "com.microsoft::SkipLayerNormalization",
     .examples = "5x6x4,5x6x4,4,4,4 -> 4"},
    {OP("com.microsoft::SkipSimplifiedLayerNormalization", skip_norm, 0, 3, 4),
     GRADIENT("0: SkipSimplifiedLayerNormalizationBackward(x0 x1 x2 x3); 1: "
              "SkipSimplifiedLayerNormalizationBackward(x0 x1 x2 x3); 3: "
              "SkipSimplifiedLayerNormalizationBackward(x0 x1 x2 x3); 2: "
              "SkipSimplifiedLayerNormalizationBackward(x0 x1 x3)"),
     OWN("epsilon", ""), EARLY, .outputs_max = 4,
     .kernel = "com.microsoft::SkipSimplifiedLayerNormalization", .examples = "5x6x4,5x6x4,4"},
    {OP("com.microsoft::EmbedLayerNormalization", embed_norm, 0, 1, 9),
     GRADIENT(
         "2: EmbedLayerNormalizationBackward(x0 x1 x2 x3 x4 x5 x8); 3: "
         "EmbedLayerNormalizationBackward(x0 x1 x2 x3 x4 x5 x8); 4: "
         "EmbedLayerNormalizationBackward(x0 x1 x2 x3 x4 x5 x8); 5: "
         "EmbedLayerNormalizationBackward(x0 x1 x2 x3 x4 x8); 6: EmbedLayerNormalizationBackward"),
     OWN("epsilon mask_index_type", ""), .outputs_max = 3,
     .kernel = "com.microsoft::EmbedLayerNormalization",
     .examples = "3x5:i32,3x5:i32,9x4,7x4,3x4,4,4; 3x5:i32,-,9x4,7x4,-,4,4,3x5:i32 -> 2"},
    {OP("com.microsoft::MultiHeadAttention", multi_head_attention, 0, 1, 10),
     .flags = OPERATOR_KEEPS_ROWS | OPERATOR_ATTENDS,
     GRADIENT("0 1 2 3 5 6 7: AttentionBackward(inputs)"),
     OWN("mask_filter_value num_heads scale unidirectional", ""), .outputs_max = 3,
     .kernel = "com.microsoft::MultiHeadAttention",
     .examples = "3x5x24,3x7x24,3x7x32,80,-,3x4x5x7 num_heads=4; "
                 "3x5x24,3x7x24,3x7x32,-,-,-,3x4x2x6,3x4x2x8 num_heads=4 -> 3; "
                 "3x5x24,3x4x7x6,3x4x7x8 num_heads=4 unidirectional=1"},
    {OP("com.microsoft::GroupQueryAttention", group_query_attention, 0, 1, 16),
     .flags = OPERATOR_KEEPS_ROWS | OPERATOR_ATTENDS,
     GRADIENT("0 1 2 3 4 7 8: AttentionBackward(inputs)"),
     OWN("causal do_rotary k_quant_type kv_cache_bit_width kv_num_heads local_window_size "
         "num_heads "
         "qk_norm_epsilon qk_output rotary_interleaved scale sliding_window_cache smooth_softmax "
         "softcap v_quant_type",
         ""),
     .outputs_max = 3, .reads = 1 << 6, .kernel = "com.microsoft::GroupQueryAttention",
     .examples = "3x5x24,3x5x12,3x5x12,-,-,3:i32,=5 num_heads=4 kv_num_heads=2 -> 3; "
                 "3x5x24,3x5x12,3x5x12,3x2x9x6,3x2x9x6,3:i32,=9 num_heads=4 kv_num_heads=2 -> 3"},
    {OP("com.microsoft::Attention", fused_attention, 0, 2, 7),
     .flags = OPERATOR_KEEPS_ROWS | OPERATOR_ATTENDS,
     GRADIENT("0 1 2 4 5: AttentionBackward(inputs)"),
     OWN("do_rotary mask_filter_value num_heads past_present_share_buffer qkv_hidden_sizes "
         "rotary_embedding_dim scale unidirectional",
         ""),
     .outputs_max = 2, .kernel = "com.microsoft::Attention",
     .examples = "3x5x8,8x36,36 num_heads=4 -> 2; 3x5x8,8x36,36,3x5:i32,-,3x4x5x5 num_heads=4"},
    {OP("com.microsoft::RotaryEmbedding", rotary, 0, 4, 4),
     GRADIENT("0 2 3: RotaryBackward(inputs)"),
     OWN("interleaved is_packed_batching num_heads rotary_embedding_dim scale", ""), EARLY,
     .kernel = "com.microsoft::RotaryEmbedding", .examples = "3x5x24,3x5:i64,7x3,7x3 num_heads=4"},
    {OP("com.microsoft::MatMulNBits", matmul_nbits, 0, 3, 6),
     GRADIENT("0: NBitsGrad(x1 x2 x3); 2 3: NBitsScaleGrad(inputs); 5: contract"),
     OWN("K N accuracy_level bits block_size weight_prepacked", ""),
     .kernel = "com.microsoft::MatMulNBits",
     .examples =
         "3x5x32,7x2x8:u8,14 K=32 N=7 bits=4 block_size=16; 5x40,7x3x8:u8,7x3 K=40 N=7 bits=4 "
         "block_size=16; 5x32,7x2x8:u8,7x2,7x1:u8,-,7 K=32 N=7 bits=4 block_size=16; "
         "5x96,7x6x8:u8,42,21:u8 K=96 N=7 bits=4 block_size=16"},
    {0},
};
