/* Rules of softmax and normalisations. A normalised dim is never split; the statistics have the
 * other dims. The gradients of scale and bias are sums over these, so they are partial over their
 * axes. */
#include "core/peers/paddle/align.h"
#include "core/peers/paddle/answer.h"

/* ---- softmax, log_softmax ---- */

static bool softmax_axis(const SpmdCall *call, const SpmdTensor *tensor, int *axis, Error *err)
{
    if (!spmd_axis(spmd_int(call, "axis", -1), tensor->n_dims, axis, err))
        return false;
    spmd_trace(call, "dim %d is normalised: not split", *axis);
    return true;
}

/* x -> out, which may not be split unevenly. Exact: x may. */
static bool softmax_forward(SpmdCall *call, Error *err)
{
    int axis;
    if (!softmax_axis(call, &call->input[0], &axis, err))
        return false;
    SpmdTensor *need = spmd_need(call, &call->input[0]);
    spmd_unsplit(need, axis);
    if (!call->exact)
        spmd_drop_indivisible(call, need);
    spmd_drop_indivisible(call, spmd_out(call, need));
    return true;
}

static bool softmax_backward(SpmdCall *call, Error *err)
{
    int axis;
    if (!softmax_axis(call, &call->output[0], &axis, err))
        return false;
    SpmdTensor *out = spmd_out(call, &call->output[0]);
    spmd_unsplit(out, axis);
    spmd_drop_indivisible(call, spmd_need(call, out));
    return true;
}

/* out, out_grad -> x_grad */
static bool softmax_gradient(SpmdCall *call, Error *err)
{
    SpmdTensor given[2] = {call->input[0], call->input[1]};
    int axis;
    if (!softmax_axis(call, &given[0], &axis, err) ||
        !check_rank(&given[1], given[0].n_dims, "out_grad", err))
        return false;
    const char *letters = spmd_letters(call, given[0].n_dims, 'a');
    SpmdOperand operand[2];
    for (int i = 0; i < 2; i++) {
        spmd_unsplit(&given[i], axis);
        operand[i] = (SpmdOperand){letters, &given[i]};
    }
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_BY_FOLLOWED, operand, 2, &merged, err))
        return false;
    need_letters(call, &given[0], letters, &merged);
    need_letters(call, &given[1], letters, &merged);
    out_letters(call, letters, &merged);
    return true;
}

/* ---- layer_norm, rms_norm ---- */

/* The first normalised dim: from an attribute, or the last dim if the row's number is 1. */
static bool norm_begin(const SpmdCall *call, const SpmdTensor *x, int *begin, Error *err)
{
    int64_t at = call->rule->number == 1 ? x->n_dims - 1 : spmd_int(call, "begin_norm_axis", 1);
    *begin = (int)at;
    spmd_trace(call, "dims %d and later are normalised: not split", *begin);
    return (at >= 0 && at <= x->n_dims) ||
           error_kind(err, ERROR_INVALID, "begin_norm_axis %d of %d dims", *begin, x->n_dims);
}

/* "ab11" for 4 dims: letters of the dims that are not normalised. */
static const char *norm_letters(const SpmdCall *call, int n_dims, int begin)
{
    char *out = arena_array(call->arena, char, n_dims + 1);
    for (int d = 0; d < n_dims; d++)
        out[d] = d < begin ? (char)('a' + d) : '1';
    return out;
}

static bool check_vector(const SpmdTensor *tensor, const char *what, Error *err)
{
    return tensor->absent || check_rank(tensor, 1, what, err);
}

/* x, scale [, bias] -> out, mean [, variance] */
static bool norm_forward(SpmdCall *call, Error *err)
{
    const SpmdTensor *x = &call->input[0];
    int begin;
    if (!norm_begin(call, x, &begin, err))
        return false;
    for (int i = 1; i < call->n_inputs; i++)
        if (!check_vector(&call->input[i], i == 1 ? "scale" : "bias", err))
            return false;
    SpmdTensor *need = spmd_need(call, x);
    unsplit_from(need, begin);
    for (int i = 1; i < call->n_inputs; i++)
        need_whole(call, &call->input[i]);
    spmd_out(call, need);
    for (int i = 1; i < call->n_inputs; i++)
        spmd_out(call, need)->n_dims = begin;
    return true;
}

/* A statistic extended to n_dims dims; the added ones are not split. */
static SpmdTensor statistic_of(const SpmdTensor *given, int n_dims)
{
    SpmdTensor out = *given;
    for (int d = given->n_dims; d < n_dims; d++)
        out.dim[d].n = 0;
    out.n_dims = n_dims;
    return out;
}

/* Merges out and its statistics. Exact: a normalised dim that is split wins its axis from the
 * statistics' dims before it is dropped. */
static bool norm_merge(SpmdCall *call, int begin, SpmdLetters *merged, Error *err)
{
    SpmdTensor given[3];
    SpmdOperand operand[3];
    for (int i = 0; i < call->n_outputs; i++) {
        int n_dims = i == 0 ? call->output[0].n_dims : begin;
        given[i] = statistic_of(&call->output[i], n_dims);
        operand[i] = (SpmdOperand){norm_letters(call, n_dims, begin), &given[i]};
    }
    if (!call->exact)
        unsplit_from(&given[0], begin);
    return spmd_merge(call, SPMD_CLASSIC, operand, call->n_outputs, merged, err);
}

/* Partial values stay so, except for rms_norm. */
static bool norm_backward(SpmdCall *call, Error *err)
{
    int begin, n_dims = call->output[0].n_dims;
    SpmdLetters merged;
    if (!norm_begin(call, &call->output[0], &begin, err) || !norm_merge(call, begin, &merged, err))
        return false;
    const char *letters = norm_letters(call, n_dims, begin);
    const char *statistics = spmd_letters(call, begin, 'a');
    for (int i = 0; i < call->n_inputs; i++) {
        SpmdTensor *need = spmd_need_as_given(call, spmd_given(call, &call->input[i]));
        spmd_set_letters(need, i == 0 ? letters : "1", &merged);
    }
    for (int i = 0; i < call->n_outputs; i++) {
        SpmdTensor *out = spmd_out_as_given(call, &call->output[i]);
        spmd_set_letters(out, i == 0 ? letters : statistics, &merged);
    }
    for (int i = 0; call->rule->number == 1 && i < call->n_outputs; i++) {
        spmd_clear_partial(call->out.at[i]);
        spmd_clear_partial(call->need.at[i]);
    }
    return true;
}

/* The gradients of n vectors: partial (sum) over the axes of the dims of x before `end`. */
static bool vector_gradients(SpmdCall *call, const SpmdTensor *x, int end, const SpmdTensor *vector,
                             int n, Error *err)
{
    for (int i = 0; i < n; i++) {
        SpmdTensor *gradient = spmd_out(call, &vector[i]);
        if (vector[i].absent)
            continue;
        spmd_replicate(gradient);
        for (int d = 0; d < end; d++)
            if (!spmd_set_partial(gradient, &x->dim[d], REDUCE_SUM, err))
                return false;
    }
    return true;
}

/* x, scale [, bias], mean, variance, out_grad -> x_grad, scale_grad [, bias_grad] */
static bool layer_norm_gradient(SpmdCall *call, Error *err)
{
    int n_vectors = call->n_inputs - 4, at = 1 + n_vectors, begin;
    SpmdTensor given[4] = {call->input[0], call->input[at], call->input[at + 1],
                           spmd_without_partial(&call->input[at + 2])};
    if (!norm_begin(call, &given[0], &begin, err) ||
        !check_rank(&given[3], given[0].n_dims, "out_grad", err) ||
        !check_rank(&given[2], given[1].n_dims, "variance", err))
        return false;
    SpmdOperand operand[4];
    for (int i = 0; i < 4; i++) {
        if (i == 1 || i == 2)
            given[i] = statistic_of(&given[i], begin > 0 ? begin : given[i].n_dims);
        unsplit_from(&given[i], begin);
        operand[i] = (SpmdOperand){norm_letters(call, given[i].n_dims, begin), &given[i]};
    }
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC, operand, 4, &merged, err))
        return false;
    for (int i = 0; i < 4; i++) {
        spmd_set_letters(&given[i], operand[i].letters, &merged);
        if (begin == 0)
            spmd_clear_partial(&given[i]);
    }
    spmd_need_as_given(call, &given[0]);
    for (int i = 1; i <= n_vectors; i++)
        need_whole(call, &call->input[i]);
    for (int i = 1; i < 4; i++)
        spmd_need_as_given(call, &given[i]);
    spmd_out_as_given(call, &given[3]);
    return vector_gradients(call, &given[0], begin, &call->input[1], n_vectors, err);
}

/* x, scale, invvar, out_grad -> x_grad, scale_grad. x, scale and out_grad are aligned. */
static bool rms_norm_gradient(SpmdCall *call, Error *err)
{
    const SpmdTensor *x = &call->input[0], *scale = &call->input[1];
    int begin;
    if (!norm_begin(call, x, &begin, err) || !check_rank(&call->input[2], begin, "invvar", err) ||
        !check_rank(&call->input[3], x->n_dims, "out_grad", err))
        return false;
    const char *letters = spmd_letters(call, x->n_dims, 'a');
    const char *align = spmd_letters(call, begin, 'a');
    SpmdTensor given[3], aligned[3];
    SpmdOperand operand[3];
    for (int i = 0; i < 3; i++) {
        given[i] = spmd_without_partial(i == 0 ? x : &call->input[i + 1]);
        operand[i] = (SpmdOperand){i == 1 ? align : letters, &given[i]};
    }
    spmd_align(call, operand, 3, align, false, aligned);
    spmd_need(call, &aligned[0]);
    need_whole(call, scale);
    spmd_need(call, &aligned[1]);
    spmd_need(call, &aligned[2]);
    spmd_out(call, &aligned[2]);
    return vector_gradients(call, &aligned[0], begin, scale, 1, err);
}

/* ---- batch_norm, group_norm, instance_norm ---- */

/* The dims of x that stay split. */
typedef struct {
    int n, dim[2];
} Kept;

static bool keep_batch(const SpmdCall *call, const SpmdTensor *x, Kept *kept, Error *err)
{
    (void)call;
    *kept = (Kept){
        1,
        {0},
    };
    return (x->n_dims >= 3 && x->n_dims <= 5) ||
           error_kind(err, ERROR_INVALID, "x has %d dims but needs 3 to 5", x->n_dims);
}

static bool keep_batch_and_channel(const SpmdCall *call, const SpmdTensor *x, Kept *kept,
                                   Error *err)
{
    (void)call;
    *kept = (Kept){2, {0, 1}};
    return check_rank(x, 4, "x", err);
}

static bool keep_channel(const SpmdCall *call, const SpmdTensor *x, bool formatted, Kept *kept,
                         Error *err)
{
    Str format = formatted ? spmd_text(call, "data_format", "NCHW") : STR("NCHW");
    bool first = format.n > 1 && format.s[1] == 'C';
    *kept = (Kept){1, {first ? 1 : x->n_dims - 1}};
    return x->n_dims >= 2 ||
           error_kind(err, ERROR_INVALID, "x has %d dims but needs 2 or more", x->n_dims);
}

/* x with only these dims split. */
static SpmdTensor kept_of(const SpmdCall *call, const SpmdTensor *x, const Kept *kept)
{
    SpmdTensor out = spmd_without_partial(x);
    spmd_replicate(&out);
    for (int i = 0; i < kept->n; i++) {
        out.dim[kept->dim[i]] = x->dim[kept->dim[i]];
        spmd_trace(call, "dim %d of x may be split", kept->dim[i]);
    }
    return out;
}

/* A statistic of n_dims dims, split as the kept dims of x. */
static void out_statistic(SpmdCall *call, const SpmdTensor *x, const Kept *kept, int n_dims)
{
    SpmdTensor *out = spmd_out_whole(call, n_dims);
    for (int i = 0; i < kept->n; i++)
        out->dim[i] = x->dim[kept->dim[i]];
}

/* x, scale, bias -> out, mean, variance. Exact: scale and bias stay unsplit when x is split by
 * channel. */
static bool statistics_forward(SpmdCall *call,
                               bool (*keep)(const SpmdCall *, const SpmdTensor *, Kept *, Error *),
                               Error *err)
{
    Kept kept;
    if (!keep(call, &call->input[0], &kept, err))
        return false;
    SpmdTensor x = kept_of(call, &call->input[0], &kept);
    spmd_need(call, &x);
    for (int i = 1; i < call->n_inputs; i++) {
        SpmdTensor *need = need_whole(call, &call->input[i]);
        if (!call->exact && need->n_dims == 1)
            need->dim[0] = x.dim[1];
    }
    spmd_out(call, &x);
    out_statistic(call, &x, &kept, 2);
    out_statistic(call, &x, &kept, 2);
    return true;
}

static bool group_norm_forward(SpmdCall *call, Error *err)
{
    return statistics_forward(call, keep_batch, err);
}

static bool instance_norm_forward(SpmdCall *call, Error *err)
{
    return statistics_forward(call, keep_batch_and_channel, err);
}

/* x, scale, bias, out, mean, variance, out_grad -> x_grad, scale_grad, bias_grad */
static bool group_norm_gradient(SpmdCall *call, Error *err)
{
    Kept kept;
    if (!keep_batch(call, &call->input[0], &kept, err))
        return false;
    SpmdTensor x = kept_of(call, &call->input[0], &kept);
    for (int i = 0; i < call->n_inputs; i++) {
        const SpmdTensor *given = &call->input[i];
        if (i == 1 || i == 2) {
            need_whole(call, given);
        } else if (i == 4 || i == 5) {
            SpmdTensor *need = need_whole(call, given);
            if (need->n_dims > 0)
                need->dim[0] = x.dim[0];
        } else {
            spmd_need(call, &x);
        }
    }
    spmd_out(call, &x);
    return vector_gradients(call, &x, x.n_dims, &call->input[1], 2, err);
}

/* x, scale, bias, saved mean, saved variance, out_grad -> x_grad, scale_grad, bias_grad. The answer
 * has no needed mapping for the bias. */
static bool instance_norm_gradient(SpmdCall *call, Error *err)
{
    Kept kept;
    if (!keep_batch_and_channel(call, &call->input[0], &kept, err))
        return false;
    SpmdTensor x = kept_of(call, &call->input[0], &kept);
    spmd_need(call, &x);
    need_whole(call, &call->input[1]);
    for (int i = 3; i <= 4; i++) {
        SpmdTensor *need = need_whole(call, &call->input[i]);
        for (int d = 0; d < 2 && d < need->n_dims; d++)
            need->dim[d] = x.dim[d];
    }
    spmd_need(call, &x);
    spmd_out(call, &x);
    return vector_gradients(call, &x, x.n_dims, &call->input[1], 2, err);
}

/* The static rule ignores data_format. Exact: scale and bias stay unsplit when the statistics are
 * split. x, mean, variance, scale, bias -> out, mean, variance, saved mean, saved variance, reserve
 * space
 */
static bool batch_norm_forward(SpmdCall *call, Error *err)
{
    Kept kept;
    if (!keep_channel(call, &call->input[0], call->mode == SPMD_EAGER, &kept, err))
        return false;
    SpmdTensor x = kept_of(call, &call->input[0], &kept);
    spmd_need(call, &x);
    for (int i = 1; i < call->n_inputs; i++) {
        SpmdTensor *need = need_whole(call, &call->input[i]);
        if ((i <= 2 || !call->exact) && need->n_dims > 0)
            need->dim[0] = x.dim[kept.dim[0]];
    }
    spmd_out(call, &x);
    for (int i = 0; i < 4; i++)
        out_statistic(call, &x, &kept, 1);
    spmd_out_whole(call, 1);
    return true;
}

/* x, scale, bias, mean, variance, saved mean, saved variance, reserve space, out_grad -> x_grad,
 * scale_grad, bias_grad */
static bool batch_norm_gradient(SpmdCall *call, Error *err)
{
    Kept kept;
    if (!keep_channel(call, &call->input[0], true, &kept, err))
        return false;
    SpmdTensor x = kept_of(call, &call->input[0], &kept);
    spmd_need(call, &x);
    for (int i = 1; i < call->n_inputs - 1; i++) {
        SpmdTensor *need = need_whole(call, &call->input[i]);
        if (i >= 3 && i <= 6 && need->n_dims > 0)
            need->dim[0] = x.dim[kept.dim[0]];
    }
    spmd_need(call, &x);
    spmd_out(call, &x);
    return vector_gradients(call, &x, x.n_dims, &call->input[1], 2, err);
}

const SpmdRule spmd_rules_norm[] = {
    {.names = "softmax log_softmax",
     .forward = softmax_forward,
     .backward = softmax_backward,
     .flags = SPMD_LISTS,
     .inputs = {1, 1},
     .outputs = {1, 1}},
    {.names = "softmax_grad", .forward = softmax_gradient, .flags = SPMD_LISTS, .inputs = {2, 2}},
    {.names = "layer_norm",
     .forward = norm_forward,
     .backward = norm_backward,
     .inputs = {3, 3},
     .outputs = {3, 3}},
    {.names = "layer_norm_grad", .forward = layer_norm_gradient, .inputs = {6, 6}},
    {.names = "fast_layer_norm", .forward = norm_forward, .inputs = {3, 3}, .number = 1},
    {.names = "fast_layer_norm_grad",
     .forward = layer_norm_gradient,
     .inputs = {5, 5},
     .number = 1},
    {.names = "rms_norm fused_rms_norm",
     .forward = norm_forward,
     .backward = norm_backward,
     .inputs = {2, 2},
     .outputs = {2, 2},
     .number = 1},
    {.names = "rms_norm_grad fused_rms_norm_grad",
     .forward = rms_norm_gradient,
     .flags = SPMD_LISTS,
     .inputs = {4, 4},
     .number = 1},
    {.names = "group_norm", .forward = group_norm_forward, .inputs = {3, 3}},
    {.names = "group_norm_grad", .forward = group_norm_gradient, .inputs = {7, 7}},
    {.names = "instance_norm",
     .forward = instance_norm_forward,
     .backward = instance_norm_gradient,
     .flags = SPMD_GRADIENT,
     .inputs = {3, 3},
     .outputs = {3, 3}},
    {.names = "instance_norm_grad", .forward = instance_norm_gradient, .inputs = {6, 6}},
    {.names = "batch_norm", .forward = batch_norm_forward, .inputs = {5, 5}},
    {.names = "batch_norm_grad", .forward = batch_norm_gradient, .inputs = {9, 9}},
    {0},
};
