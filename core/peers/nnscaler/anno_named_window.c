#include "core/peers/nnscaler/anno_named_call.h"

#include <inttypes.h>

/* One spatial dim of a window. */
typedef struct {
    int64_t in, kernel, stride, padding, output_padding, dilation;
} AnnoWindow;

/* ---- reading ---- */

/* The attribute's number for spatial dim i of n: one for all, or a list. */
static int64_t of_axis(NamedCall *call, const char *name, int i, int n, int64_t fallback)
{
    Shape list;
    if (!named_attr(call, name))
        return fallback;
    if (!named_list(call, name, &list))
        return fallback;
    if (!json_is_array(named_attr(call, name)))
        return list.dim[0];
    if (list.n_dims != n)
        named_fail(call, ERROR_RANK, "a list needs one number a spatial dim");
    return list.dim[i];
}

/* `padding` may be "same" (keeps the size) or "valid" (none). */
static int64_t padding_of(NamedCall *call, const AnnoWindow *window, int i, int n)
{
    const Json *padding = named_attr(call, "padding");
    if (!json_is_string(padding))
        return of_axis(call, "padding", i, n, 0);
    if (str_eq(json_str(padding, ""), STR("same")))
        return ((window->in - 1) * window->stride + window->dilation * (window->kernel - 1) + 1 -
                window->in) /
               2;
    if (!str_eq(json_str(padding, ""), STR("valid")))
        named_fail(call, ERROR_INVALID, "`padding` must be a number, a list, `same` or `valid`");
    return 0;
}

static bool in_range(const AnnoWindow *window)
{
    const int64_t most = INT64_C(1) << 30;
    return window->in <= most && window->kernel <= most && window->stride > 0 &&
           window->dilation > 0 && window->padding >= 0 && window->padding <= most;
}

static AnnoWindow read_window(NamedCall *call, int64_t in, int64_t kernel, int i, int n)
{
    AnnoWindow window = {.in = in,
                         .kernel = kernel,
                         .stride = of_axis(call, "stride", i, n, 1),
                         .dilation = of_axis(call, "dilation", i, n, 1),
                         .output_padding = of_axis(call, "output_padding", i, n, 0)};
    if (!call->failed && in_range(&window))
        window.padding = padding_of(call, &window, i, n);
    if (!in_range(&window))
        named_fail(call, ERROR_INVALID, "stride, dilation or padding is out of range");
    return window;
}

/* Number of windows: (in + 2 padding - dilation (kernel - 1) - 1) / stride + 1 */
static int64_t out_size(NamedCall *call, const AnnoWindow *window)
{
    int64_t room = window->in + 2 * window->padding - window->dilation * (window->kernel - 1) - 1;
    if (call->failed || window->kernel < 1 || room < 0) {
        named_fail(call, ERROR_INVALID, "the window is larger than the padded input");
        return 0;
    }
    return room / window->stride + 1;
}

static int64_t transposed_size(NamedCall *call, const AnnoWindow *window)
{
    (void)call;
    return (window->in - 1) * window->stride - 2 * window->padding +
           window->dilation * (window->kernel - 1) + window->output_padding + 1;
}

/* ---- convolutions ---- */

/* The spatial dims of the three tensors: "8 8", "3 3", "6 6". */
typedef struct {
    bool batched, biased;
    int64_t groups, channels; /* of the input */
    const char *in, *kernel, *out;
} Conv;

/* n spatial dims; the input may lack the batch. `size` computes a spatial dim of the result. */
static bool read_conv(NamedCall *call, int n, int64_t (*size)(NamedCall *, const AnnoWindow *),
                      Conv *conv)
{
    if (!named_rank(call, 0, n + 1, n + 2) || !named_rank(call, 1, n + 2, n + 2))
        return false;
    const Shape *input = named_shape(call, 0), *weight = named_shape(call, 1);
    *conv = (Conv){.batched = input->n_dims == n + 2,
                   .biased = call->n_inputs > 2,
                   .groups = named_int(call, "groups", 1),
                   .channels = input->dim[input->n_dims - n - 1]};
    Buf in = buf_new(call->arena), kernel = buf_new(call->arena), out = buf_new(call->arena);
    for (int i = 0; i < n; i++) {
        int64_t length = input->dim[input->n_dims - n + i];
        AnnoWindow window = read_window(call, length, weight->dim[2 + i], i, n);
        int64_t places = call->failed ? 0 : size(call, &window);
        if (places < 0)
            named_fail(call, ERROR_INVALID, "the result would have a negative size");
        buf_printf(&in, " %" PRId64, window.in);
        buf_printf(&kernel, " %" PRId64, window.kernel);
        buf_printf(&out, " %" PRId64, places);
    }
    conv->in = in.s;
    conv->kernel = kernel.s;
    conv->out = out.s;
    if (conv->groups < 1 || conv->channels % (conv->groups < 1 ? 1 : conv->groups) != 0)
        named_fail(call, ERROR_NOT_DIVISIBLE, "`groups` does not divide the channels");
    return !call->failed;
}

/* input, weight [, bias] -> result, whose channels are the bias's. */
static const char *conv_text(NamedCall *call, const Conv *conv, const char *channels,
                             const char *weight, const char *bias, const char *result)
{
    const char *batch = conv->batched ? "n " : "";
    return arena_printf(call->arena, "%s%s%s, %s%s%s%s -> %s%s%s", batch, channels, conv->in,
                        weight, conv->kernel, conv->biased ? ", " : "", conv->biased ? bias : "",
                        batch, result, conv->out);
}

/* With a bias, which is added once, the input's channels may not be sharded. */
static const char *conv(NamedCall *call, int n)
{
    Conv conv;
    if (!read_conv(call, n, out_size, &conv))
        return NULL;
    const int64_t *weight = named_shape(call, 1)->dim;
    if (conv.channels / conv.groups != weight[1])
        return named_fail(call, ERROR_INVALID, "the weight has other channels than the input");
    if (weight[0] % conv.groups != 0)
        return named_fail(call, ERROR_NOT_DIVISIBLE, "`groups` does not divide the filters");
    if (conv.groups == 1)
        return conv_text(call, &conv, conv.biased ? "iC^" : "iC+",
                         conv.biased ? "oC iC^" : "oC iC+", "oC", "oC");
    const char *filters = arena_printf(call->arena, "(g %" PRId64 ")", weight[0] / conv.groups);
    return conv_text(call, &conv, arena_printf(call->arena, "(g %" PRId64 ")", weight[1]),
                     arena_printf(call->arena, "%s %" PRId64, filters, weight[1]), filters,
                     filters);
}

const char *named_conv1d(NamedCall *call)
{
    return conv(call, 1);
}

const char *named_conv2d(NamedCall *call)
{
    return conv(call, 2);
}

/* With groups, the attribute `groups` gives the lengths in the brackets. */
static const char *conv_transpose(NamedCall *call, int n)
{
    Conv conv;
    if (!read_conv(call, n, transposed_size, &conv))
        return NULL;
    if (conv.channels != named_shape(call, 1)->dim[0])
        return named_fail(call, ERROR_INVALID, "the weight has other channels than the input");
    if (conv.groups == 1)
        return conv_text(call, &conv, "iC+", "iC+ oC", "oC", "oC");
    return conv_text(call, &conv, "(groups group_size^)", "(groups group_size^) oC", "oC",
                     "(groups oC)");
}

const char *named_conv_transpose1d(NamedCall *call)
{
    return conv_transpose(call, 1);
}

const char *named_conv_transpose2d(NamedCall *call)
{
    return conv_transpose(call, 2);
}

/* ---- windows without weights ---- */

/* [N, C, H, W] -> [N, C kernel, places] */
const char *named_unfold(NamedCall *call)
{
    if (!named_rank(call, 0, 4, 4))
        return NULL;
    const int64_t *size = named_shape(call, 0)->dim;
    int64_t area = 1, places = 1;
    for (int i = 0; i < 2; i++) {
        int64_t kernel = of_axis(call, "kernel_size", i, 2, -1);
        AnnoWindow window = read_window(call, size[2 + i], kernel, i, 2);
        area = named_times(call, area, kernel);
        places = named_times(call, places, out_size(call, &window));
    }
    if (call->failed)
        return NULL;
    return arena_printf(call->arena, "N C %" PRId64 " %" PRId64 " -> N (C %" PRId64 ") %" PRId64,
                        size[2], size[3], area, places);
}

const char *named_adaptive_pool(NamedCall *call)
{
    Shape size;
    if (!named_list(call, "output_size", &size))
        return NULL;
    if (size.n_dims != 1)
        return named_fail(call, ERROR_RANK, "`output_size` is one size");
    NamedDims in = named_letters(call, (int)named_shape(call, 0)->n_dims), out = in;
    in.dim[in.n - 1] = named_mark(call, in.dim[in.n - 1], '^');
    out.dim[in.n - 1] = named_number(call, size.dim[0]);
    return named_one(call, &in, &out);
}
