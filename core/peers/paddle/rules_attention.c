/* Rules of attention and rotary embedding. q, k, v are [batch, sequence, heads, head size]; only
 * batch and heads may be split, because a row of scores needs its whole sequence. */
#include "core/peers/paddle/answer.h"

/* True for an absent operand or one without elements. */
static bool is_empty(const SpmdTensor *tensor)
{
    return tensor->absent || tensor->shape.n_dims == 0 || tensor->shape.dim[0] == 0;
}

/* ---- flash attention ---- */

enum { SEQUENCE = 1, HEADS = 2, HEAD_SIZE = 3 };

#define Q_LETTERS "bshd"
#define K_LETTERS "bthd"
#define V_LETTERS "btho"
#define OUT_LETTERS "bsho"
#define MASK_LETTERS "bhst"
#define LSE_LETTERS "bhs"

static bool check_heads(const SpmdTensor *q, const SpmdTensor *other, const char *what, Error *err)
{
    if (!check_rank(other, 4, what, err))
        return false;
    int64_t heads = other->shape.dim[HEADS];
    return (other->shape.dim[0] == q->shape.dim[0] && heads > 0 &&
            q->shape.dim[HEADS] % heads == 0) ||
           error_kind(err, ERROR_INVALID, "batch and heads of %s do not match those of q", what);
}

static bool check_attention(const SpmdTensor *q, const SpmdTensor *k, const SpmdTensor *v,
                            Error *err)
{
    if (!check_rank(q, 4, "q", err) || !check_heads(q, k, "k", err) || !check_heads(q, v, "v", err))
        return false;
    return (q->shape.dim[HEAD_SIZE] == k->shape.dim[HEAD_SIZE] &&
            k->shape.dim[SEQUENCE] == v->shape.dim[SEQUENCE]) ||
           error_kind(err, ERROR_INVALID, "sequence or head size of q, k and v do not match");
}

/* True if heads may be split when k and v have fewer than q: the parts must divide k's heads. */
static bool heads_divide(const SpmdCall *call, const SpmdTensor *k)
{
    int64_t parts = spmd_axes_size(call, &k->dim[HEADS]);
    bool divide = parts <= 1 || k->shape.dim[HEADS] % parts == 0;
    if (!divide)
        spmd_trace(call, "the parts do not divide the heads of k: no heads are split");
    return divide;
}

/* The tensor to merge: sequences and head sizes unsplit, and heads if they must be. */
static SpmdTensor attention_given(const SpmdTensor *tensor, const char *letters, bool whole_heads)
{
    SpmdTensor given = spmd_without_partial(tensor);
    for (int d = 0; d < given.n_dims && letters[d]; d++)
        if (letters[d] != 'b' && (letters[d] != 'h' || whole_heads))
            spmd_unsplit(&given, d);
    return given;
}

/* The needed mask: with one head it is not split by heads. */
static void need_mask(SpmdCall *call, const SpmdTensor *mask, const SpmdLetters *merged)
{
    if (is_empty(mask)) {
        spmd_need_as_given(call, mask);
        return;
    }
    SpmdTensor *need = need_letters(call, mask, MASK_LETTERS, merged);
    if (mask->shape.dim[1] == 1)
        spmd_unsplit(need, 1);
}

/* q, k, v, seed, mask (flash) or q, k, v, start and end rows, seed (flashmask) -> out, softmax,
 * lse, seed. Exact: v's mapping is replaced by k's. */
static bool attention_forward(SpmdCall *call, bool rows, Error *err)
{
    const SpmdTensor *q = &call->input[0], *k = &call->input[1], *v = &call->input[2];
    const SpmdTensor *seed = input_at(call, rows ? 4 : 3), *mask = input_at(call, rows ? 3 : 4);
    if (!check_attention(q, k, v, err) || (!is_empty(mask) && !check_rank(mask, 4, "mask", err)))
        return false;
    bool whole = q->shape.dim[HEADS] != v->shape.dim[HEADS] && !heads_divide(call, k);
    SpmdTensor given[4] = {attention_given(q, Q_LETTERS, whole),
                           attention_given(k, K_LETTERS, whole),
                           attention_given(call->exact ? k : v, V_LETTERS, whole)};
    if (is_empty(mask))
        given[3].absent = true;
    else
        given[3] = attention_given(mask, MASK_LETTERS, whole);
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC,
                    (SpmdOperand[]){{Q_LETTERS, &given[0]},
                                    {K_LETTERS, &given[1]},
                                    {V_LETTERS, &given[2]},
                                    {MASK_LETTERS, &given[3]}},
                    4, &merged, err))
        return false;
    need_letters(call, q, Q_LETTERS, &merged);
    need_letters(call, k, K_LETTERS, &merged);
    need_letters(call, v, V_LETTERS, &merged);
    if (rows)
        need_mask(call, mask, &merged);
    spmd_need_as_given(call, seed);
    if (!rows)
        need_mask(call, mask, &merged);
    out_letters(call, OUT_LETTERS, &merged);
    out_letters(call, MASK_LETTERS, &merged);
    out_letters(call, LSE_LETTERS, &merged);
    memcpy(spmd_out_whole(call, 1)->partial, seed->partial, sizeof seed->partial);
    return true;
}

static bool flash_forward(SpmdCall *call, Error *err)
{
    return attention_forward(call, false, err);
}

static bool flashmask_forward(SpmdCall *call, Error *err)
{
    return attention_forward(call, true, err);
}

/* q, k, v, seed, mask, out, softmax, lse, seed. Exact: v's mapping is used for out. */
static bool flash_backward(SpmdCall *call, Error *err)
{
    if (call->n_inputs != 9)
        return error_kind(err, ERROR_RANK, "the rule needs 5 inputs and 4 outputs");
    const SpmdTensor *q = &call->input[0], *k = &call->input[1], *v = &call->input[2],
                     *seed = &call->input[3], *mask = &call->input[4], *lse = &call->input[7];
    const SpmdTensor *out = &call->input[call->exact ? 2 : 5];
    if (!check_rank(&call->input[5], 4, "out", err) || !check_rank(out, 4, "v", err) ||
        !check_rank(q, 4, "q", err) || !check_rank(k, 4, "k", err) ||
        !check_rank(lse, 3, "softmax_lse", err))
        return false;
    const Shape *shape = &call->input[5].shape;
    if (shape->dim[0] != lse->shape.dim[0] || shape->dim[HEADS] != lse->shape.dim[1] ||
        shape->dim[SEQUENCE] != lse->shape.dim[2])
        return error_kind(err, ERROR_INVALID, "out and softmax_lse do not match");
    bool whole = q->shape.dim[HEADS] != k->shape.dim[HEADS] && !heads_divide(call, k);
    SpmdTensor given_out = attention_given(out, OUT_LETTERS, whole),
               given_lse = attention_given(lse, LSE_LETTERS, whole);
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC,
                    (SpmdOperand[]){{OUT_LETTERS, &given_out}, {LSE_LETTERS, &given_lse}}, 2,
                    &merged, err))
        return false;
    need_letters(call, q, Q_LETTERS, &merged);
    need_letters(call, k, K_LETTERS, &merged);
    need_letters(call, v, V_LETTERS, &merged);
    spmd_need_as_given(call, seed);
    need_mask(call, mask, &merged);
    out_letters(call, OUT_LETTERS, &merged);
    spmd_out_as_given(call, spmd_given(call, &call->input[6]));
    out_letters(call, LSE_LETTERS, &merged);
    if (seed->absent)
        spmd_out_whole(call, 0);
    else
        spmd_out_as_given(call, seed);
    return true;
}

/* q, k, v [, rows], out, lse, seed [, mask], out_grad -> q_grad, k_grad, v_grad */
static bool attention_gradient(SpmdCall *call, bool rows, Error *err)
{
    const SpmdTensor *q = &call->input[0], *k = &call->input[1], *v = &call->input[2],
                     *out = &call->input[rows ? 4 : 3], *lse = out + 1, *seed = out + 2,
                     *mask = &call->input[rows ? 3 : 6], *out_grad = &call->input[7];
    if (call->n_inputs != 8)
        return error_kind(err, ERROR_RANK, "the rule needs 8 inputs, not %d", call->n_inputs);
    if (!check_attention(q, k, v, err) || !check_rank(out, 4, "out", err) ||
        !check_rank(lse, 3, "softmax_lse", err) || !check_rank(out_grad, 4, "out_grad", err))
        return false;
    bool whole = q->shape.dim[HEADS] != v->shape.dim[HEADS] && !heads_divide(call, k);
    const char *const letters[6] = {Q_LETTERS,   K_LETTERS,   V_LETTERS,
                                    OUT_LETTERS, OUT_LETTERS, LSE_LETTERS};
    const SpmdTensor *const asked[6] = {q, k, call->exact ? k : v, out, out_grad, lse};
    SpmdTensor given[6];
    SpmdOperand operand[6];
    for (int i = 0; i < 6; i++) {
        given[i] = attention_given(asked[i], letters[i], whole);
        operand[i] = (SpmdOperand){letters[i], &given[i]};
    }
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC, operand, 6, &merged, err))
        return false;
    need_letters(call, q, Q_LETTERS, &merged);
    need_letters(call, k, K_LETTERS, &merged);
    need_letters(call, v, V_LETTERS, &merged);
    if (rows)
        need_mask(call, mask, &merged);
    need_letters(call, out, OUT_LETTERS, &merged);
    need_letters(call, lse, LSE_LETTERS, &merged);
    spmd_need_as_given(call, spmd_given(call, seed));
    if (!rows)
        need_mask(call, mask, &merged);
    need_letters(call, out_grad, OUT_LETTERS, &merged);
    out_letters(call, Q_LETTERS, &merged);
    out_letters(call, K_LETTERS, &merged);
    out_letters(call, V_LETTERS, &merged);
    return true;
}

static bool flash_gradient(SpmdCall *call, Error *err)
{
    return attention_gradient(call, false, err);
}

static bool flashmask_gradient(SpmdCall *call, Error *err)
{
    return attention_gradient(call, true, err);
}

/* ---- rotary embedding: q, k, v, sin, cos, position ids; all but q may be absent ---- */

/* The operands, which the gradient and the backward rule have in different places. */
typedef struct {
    const SpmdTensor *qkv[3], *sin, *cos, *ids;
    bool time_major;
} Rope;

/* The answers for the operands. */
typedef struct {
    SpmdTensor qkv, sin, cos, ids;
} RopeAnswer;

static bool check_rope(const Rope *rope, Error *err)
{
    const Shape *q = &rope->qkv[0]->shape;
    if (!check_rank(rope->qkv[0], 4, "q", err))
        return false;
    for (int i = 1; i < 3; i++)
        if (!is_empty(rope->qkv[i]) && !shape_equal(&rope->qkv[i]->shape, q))
            return error_kind(err, ERROR_INVALID, "q and %s differ in shape", i == 1 ? "k" : "v");
    if (is_empty(rope->sin) || is_empty(rope->cos))
        return true;
    const Shape *sin = &rope->sin->shape;
    if (!shape_equal(sin, &rope->cos->shape) || (sin->n_dims != 2 && sin->n_dims != 4))
        return error_kind(err, ERROR_INVALID,
                          "sin and cos must have the same shape of 2 or 4 dims");
    int64_t batch = q->dim[rope->time_major ? 1 : 0], sequence = q->dim[rope->time_major ? 0 : 1];
    bool four = sin->n_dims == 4, ids = !is_empty(rope->ids);
    int64_t rows = sin->dim[four ? 1 : 0], size = sin->dim[four ? 3 : 1];
    if (ids && (rope->ids->shape.n_dims != 2 || rope->ids->shape.dim[0] != batch ||
                rope->ids->shape.dim[1] != sequence))
        return error_kind(err, ERROR_INVALID, "position_ids must be [batch, sequence]");
    return (size == q->dim[HEAD_SIZE] && (ids ? rows >= sequence : rows == sequence) &&
            (!four || (sin->dim[0] == 1 && sin->dim[2] == 1))) ||
           error_kind(err, ERROR_INVALID, "sin and cos do not fit q");
}

/* The needed sin or cos. Exact: one without the other has no dims. */
static SpmdTensor rope_table(const SpmdCall *call, const Rope *rope, const SpmdTensor *table,
                             const SpmdAxes *sequence)
{
    SpmdTensor out = spmd_without_partial(table);
    if (is_empty(rope->sin) || is_empty(rope->cos)) {
        spmd_replicate(&out);
        if (call->exact)
            out.n_dims = 0;
        return out;
    }
    int at = table->n_dims == 4 ? 1 : 0;
    spmd_unsplit(&out, at);
    spmd_unsplit(&out, -1);
    if (sequence)
        out.dim[at] = *sequence;
    return out;
}

/* Merges the present ones of q, k, v (and ids). The sequence stays split only if sin and cos can
 * follow: they are present, and ids are not. Exact: cos is derived from sin's given mapping. */
static bool rope_merge(SpmdCall *call, const Rope *rope, const SpmdTensor *const *asked,
                       bool ask_ids, RopeAnswer *answer, Error *err)
{
    SpmdOperand operand[4];
    int n = 0, at = rope->time_major ? 0 : 1;
    const char *ids_letters = rope->time_major ? "ba" : "ab";
    if (!check_rope(rope, err))
        return false;
    for (int i = 0; i < 3; i++)
        if (!is_empty(asked[i]))
            operand[n++] = (SpmdOperand){"abcd", asked[i]};
    if (ask_ids && !is_empty(rope->ids))
        operand[n++] = (SpmdOperand){ids_letters, rope->ids};
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC, operand, n, &merged, err))
        return false;
    answer->qkv = spmd_without_partial(asked[0]);
    spmd_set_letters(&answer->qkv, "abcd", &merged);
    spmd_unsplit(&answer->qkv, HEAD_SIZE);
    bool follow = !is_empty(rope->sin) && !is_empty(rope->cos) && is_empty(rope->ids) &&
                  spmd_is_split(&answer->qkv, at);
    if (!follow)
        spmd_unsplit(&answer->qkv, at);
    const SpmdAxes *sequence = follow ? &answer->qkv.dim[at] : NULL;
    answer->sin = rope_table(call, rope, rope->sin, sequence);
    answer->cos = rope_table(call, rope, call->exact && follow ? rope->sin : rope->cos, sequence);
    answer->ids = spmd_without_partial(rope->ids);
    if (!is_empty(rope->ids)) {
        spmd_set_letters(&answer->ids, ids_letters, &merged);
        spmd_unsplit(&answer->ids, 1);
    }
    return true;
}

static void rope_qkv(SpmdCall *call, const Rope *rope, const RopeAnswer *answer,
                     SpmdTensor *(*push)(SpmdCall *, const SpmdTensor *))
{
    for (int i = 0; i < 3; i++)
        push(call, is_empty(rope->qkv[i]) ? rope->qkv[i] : &answer->qkv);
}

static bool rope_is_time_major(const SpmdCall *call)
{
    return spmd_int(call, "time_major", 0) != 0;
}

static bool rope_answer(SpmdCall *call, const Rope *rope, bool forward, Error *err)
{
    RopeAnswer answer;
    if (!rope_merge(call, rope, rope->qkv, forward, &answer, err))
        return false;
    rope_qkv(call, rope, &answer, spmd_need);
    spmd_need(call, &answer.sin);
    spmd_need(call, &answer.cos);
    spmd_need(call, &answer.ids);
    rope_qkv(call, rope, &answer, spmd_out);
    return true;
}

static bool rope_forward(SpmdCall *call, Error *err)
{
    Rope rope = {{&call->input[0], input_at(call, 1), input_at(call, 2)},
                 input_at(call, 3),
                 input_at(call, 4),
                 input_at(call, 5),
                 rope_is_time_major(call)};
    return rope_answer(call, &rope, true, err);
}

/* An input with its given mapping, which backward rules usually do not see. */
static const SpmdTensor *given_at(const SpmdCall *call, int i)
{
    return i < call->n_inputs ? spmd_given(call, &call->input[i]) : input_at(call, i);
}

/* The dims of sin and cos that are neither sequence nor head size stay as given. */
static bool rope_backward(SpmdCall *call, Error *err)
{
    Rope rope = {{&call->output[0], &call->output[1], &call->output[2]},
                 given_at(call, 3),
                 given_at(call, 4),
                 input_at(call, 5),
                 rope_is_time_major(call)};
    return rope_answer(call, &rope, false, err);
}

/* sin, cos, ids, gradients of q, k, v -> gradients of the inputs. */
static bool rope_gradient(SpmdCall *call, Error *err)
{
    if (call->n_inputs != 6)
        return error_kind(err, ERROR_RANK, "the rule needs 6 inputs, not %d", call->n_inputs);
    const SpmdTensor *in = call->input;
    Rope rope = {{&in[3], &in[4], &in[5]}, &in[0], &in[1], &in[2], rope_is_time_major(call)};
    RopeAnswer answer;
    if (!rope_merge(call, &rope, rope.qkv, true, &answer, err))
        return false;
    spmd_need(call, &answer.sin);
    spmd_need(call, &answer.cos);
    spmd_need(call, &answer.ids);
    rope_qkv(call, &rope, &answer, spmd_need);
    rope_qkv(call, &rope, &answer, spmd_out);
    return true;
}

const SpmdRule spmd_rules_attention[] = {
    {.names = "flash_attention",
     .forward = flash_forward,
     .backward = flash_backward,
     .flags = SPMD_GRADIENT,
     .inputs = {3, 5},
     .outputs = {4, 4}},
    {.names = "flash_attention_grad", .forward = flash_gradient, .inputs = {5, 8}},
    {.names = "flashmask_attention", .forward = flashmask_forward, .inputs = {3, 5}},
    {.names = "flashmask_attention_grad", .forward = flashmask_gradient, .inputs = {3, 8}},
    {.names = "fused_rotary_position_embedding",
     .forward = rope_forward,
     .backward = rope_backward,
     .inputs = {1, 6},
     .outputs = {3, 3}},
    {.names = "fused_rotary_position_embedding_grad", .forward = rope_gradient, .inputs = {0, 6}},
    {0},
};
