/* Rules of convolutions: batch n, channels in c, channels out m. A split of c leaves the output
 * partial. The positions d, h, w of input, filter and output share letters although they are
 * different index dims. Exact: a split of one is required of all. */
#include "core/peers/paddle/answer.h"

/* Bits of a row's `number`. */
enum {
    CONV_TRANSPOSED = 1, /* the filter is [c, m, ..] */
    CONV_DEPTHWISE = 2,  /* the filter has no c */
    CONV_NO_FORMAT = 4,  /* channels first, whatever data_format says */
    CONV_3D = 8,
};

typedef struct {
    int n_dims, channel;
    const char *input, *filter, *output; /* letters */
} Conv;

static bool conv_letters(const SpmdCall *call, Conv *conv, Error *err)
{
    int64_t kind = call->rule->number;
    bool is_3d = kind & CONV_3D;
    const char *positions = is_3d ? "dhw" : "hw";
    const char *channels_first = is_3d ? "NCDHW" : "NCHW";
    bool first = kind & CONV_NO_FORMAT ||
                 str_eq(spmd_text(call, "data_format", channels_first), str_from(channels_first));
    conv->n_dims = is_3d ? 5 : 4;
    conv->channel = first ? 1 : conv->n_dims - 1;
    bool depthwise = kind & CONV_DEPTHWISE;
    conv->input = first ? arena_printf(call->arena, depthwise ? "n1%s" : "nc%s", positions)
                        : arena_printf(call->arena, depthwise ? "n%s1" : "n%sc", positions);
    conv->filter = arena_printf(call->arena,
                                kind & CONV_TRANSPOSED ? "cm%s"
                                : depthwise            ? "m1%s"
                                                       : "mc%s",
                                positions);
    conv->output = arena_printf(call->arena, "nm%s", positions);
    return check_rank(&call->input[0], conv->n_dims, "input", err) &&
           check_rank(&call->input[1], conv->n_dims, "filter", err);
}

/* The tensor with unsplit positions. */
static SpmdTensor whole_positions(const SpmdCall *call, const SpmdTensor *tensor,
                                  const char *letters)
{
    SpmdTensor out = *tensor;
    for (int d = 0; letters[d] && !call->exact; d++)
        if (strchr("dhw", letters[d]))
            spmd_unsplit(&out, d);
    return out;
}

/* input, filter -> output */
static bool conv_forward(SpmdCall *call, Error *err)
{
    Conv conv;
    if (!conv_letters(call, &conv, err))
        return false;
    SpmdTensor input = whole_positions(call, &call->input[0], conv.input);
    SpmdTensor filter = whole_positions(call, &call->input[1], conv.filter);
    bool depthwise = call->rule->number & CONV_DEPTHWISE;
    if (depthwise && spmd_is_split(&filter, 1))
        return error_kind(err, ERROR_INVALID, "dim 1 of a depthwise filter is split");
    if (depthwise)
        spmd_unsplit(&input, conv.channel);
    else if (!spmd_axes_equal(&input.dim[conv.channel],
                              &filter.dim[call->rule->number & CONV_TRANSPOSED ? 0 : 1]))
        return error_kind(err, ERROR_INVALID,
                          "the channels of input and filter are split differently");
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC,
                    (SpmdOperand[]){{conv.input, &input}, {conv.filter, &filter}}, 2, &merged, err))
        return false;
    need_letters(call, &input, conv.input, &merged);
    need_letters(call, &filter, conv.filter, &merged);
    SpmdTensor *out = out_letters(call, conv.output, &merged);
    if (!depthwise)
        spmd_partial_of_letters(out, conv.output, &merged, REDUCE_SUM);
    return true;
}

static bool conv_backward(SpmdCall *call, Error *err)
{
    const SpmdTensor *output = &call->output[0];
    Conv conv;
    if (!conv_letters(call, &conv, err) || !check_rank(output, conv.n_dims, "output", err))
        return false;
    SpmdLetters merged;
    SpmdTensor made = whole_positions(call, output, conv.output);
    if (!spmd_merge(call, SPMD_STRICT, (SpmdOperand[]){{conv.output, &made}}, 1, &merged, err))
        return false;
    need_letters(call, &call->input[0], conv.input, &merged);
    need_letters(call, &call->input[1], conv.filter, &merged);
    spmd_out_as_given(call, spmd_given(call, output));
    return true;
}

/* The axis over which the output's gradient is partial, if it splits the channels of input and
 * filter, else -1. More than one such axis is refused. */
static bool channel_partial(const SpmdCall *call, const Conv *conv, int filter_channel, int *axis,
                            Error *err)
{
    const SpmdTensor *out_grad = &call->input[2];
    int n = 0, found = -1;
    for (int i = 0; i < call->mesh->n_axes; i++) {
        n += out_grad->partial[i] != REDUCE_NONE;
        found = out_grad->partial[i] != REDUCE_NONE ? i : found;
    }
    *axis = found >= 0 && spmd_axes_have(&call->input[0].dim[conv->channel], found) &&
                    spmd_axes_have(&call->input[1].dim[filter_channel], found)
                ? found
                : -1;
    return n <= 1 || error_kind(err, ERROR_INVALID, "out_grad is partial over %d axes", n);
}

/* input, filter, out_grad -> input_grad, filter_grad. Each gradient is computed from the other
 * operand and out_grad, and partial over the axes of letters that they share and it lacks. */
static bool conv_gradient(SpmdCall *call, Error *err)
{
    int filter_channel = call->rule->number & CONV_TRANSPOSED ? 0 : 1, axis = -1;
    bool depthwise = call->rule->number & CONV_DEPTHWISE;
    Conv conv;
    if (!conv_letters(call, &conv, err) ||
        !check_rank(&call->input[2], conv.n_dims, "out_grad", err) ||
        (!depthwise && !channel_partial(call, &conv, filter_channel, &axis, err)))
        return false;
    const SpmdTensor input = whole_positions(call, &call->input[0], conv.input),
                     filter = whole_positions(call, &call->input[1], conv.filter),
                     out_grad = whole_positions(call, &call->input[2], conv.output);
    SpmdOperand of_input = {conv.input, &input}, of_filter = {conv.filter, &filter},
                of_out = {conv.output, &out_grad};
    SpmdLetters for_input, for_filter, for_out;
    if (!spmd_merge(call, SPMD_CLASSIC, (SpmdOperand[]){of_filter, of_out}, 2, &for_input, err) ||
        !spmd_merge(call, SPMD_CLASSIC, (SpmdOperand[]){of_input, of_out}, 2, &for_filter, err) ||
        !spmd_merge(call, SPMD_CLASSIC, (SpmdOperand[]){of_input, of_filter, of_out}, 3, &for_out,
                    err))
        return false;
    need_letters(call, &input, conv.input, &for_filter);
    need_letters(call, &filter, conv.filter, &for_input);
    SpmdTensor *need_out = need_letters(call, &out_grad, conv.output, &for_out);
    SpmdTensor *input_grad = out_letters(call, conv.input, &for_input);
    SpmdTensor *filter_grad = out_letters(call, conv.filter, &for_filter);
    if (!depthwise) {
        spmd_partial_of_letters(input_grad, conv.input, &for_input, REDUCE_SUM);
        spmd_partial_of_letters(filter_grad, conv.filter, &for_filter, REDUCE_SUM);
    }
    if (axis >= 0) {
        SpmdAxes one = {1, {(uint8_t)axis}};
        input_grad->dim[conv.channel] = one;
        filter_grad->dim[filter_channel] = one;
        spmd_add_partial(need_out, &one, REDUCE_SUM);
    }
    return true;
}

const SpmdRule spmd_rules_conv[] = {
    {.names = "conv2d",
     .forward = conv_forward,
     .backward = conv_backward,
     .inputs = {2, 2},
     .outputs = {1, 1},
     .number = CONV_NO_FORMAT},
    {.names = "conv2d_grad", .forward = conv_gradient, .inputs = {3, 3}, .number = CONV_NO_FORMAT},
    {.names = "conv3d",
     .forward = conv_forward,
     .backward = conv_gradient,
     .flags = SPMD_GRADIENT,
     .inputs = {2, 2},
     .outputs = {1, 1},
     .number = CONV_3D},
    {.names = "conv3d_grad", .forward = conv_gradient, .inputs = {3, 3}, .number = CONV_3D},
    {.names = "conv2d_transpose",
     .forward = conv_forward,
     .backward = conv_gradient,
     .flags = SPMD_GRADIENT,
     .inputs = {2, 2},
     .outputs = {1, 1},
     .number = CONV_TRANSPOSED},
    {.names = "conv2d_transpose_grad",
     .forward = conv_gradient,
     .inputs = {3, 3},
     .number = CONV_TRANSPOSED},
    {.names = "depthwise_conv2d",
     .forward = conv_forward,
     .backward = conv_gradient,
     .flags = SPMD_GRADIENT,
     .inputs = {2, 2},
     .outputs = {1, 1},
     .number = CONV_DEPTHWISE},
    {.names = "depthwise_conv2d_grad",
     .forward = conv_gradient,
     .inputs = {3, 3},
     .number = CONV_DEPTHWISE},
    {0},
};
