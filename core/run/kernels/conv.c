/* conv.c - convolutions: windows of the image as columns of a matrix, then one product per group.
 *
 *     gather    places[major] = weight[major][minor elements] * columns     Conv
 *     scatter   columns = weight' * places, added to the image              ConvTranspose
 *     weigh     weight += places * columns'
 *
 * The gradient of Conv is scatter for its image and weigh for its weight; that of ConvTranspose is
 * gather, and weigh with the output's gradient as the image.
 *
 * QLinearConv rounds the integer sums to the output's scale. Channels are found by global index, so
 * a rank may have any of them. Where ci or kernel elements are sharded the result is this rank's
 * addend.
 */
#include "core/run/kernels/activation.h"
#include "core/run/kernels/derivative.h"
#include "core/run/kernels/window.h"

#include "core/space/gradient.h"

#include <inttypes.h>
#include <math.h>

/* Indices of operands; -1: none. Integer forms have zero points, rounding ones also scales, fused
 * ones an addend and an activation. */
typedef struct {
    int weight, bias, image_zero, weight_zero;
    int image_scale, weight_scale, out_scale, out_zero;
    int addend;
} ConvForm;

/* Windows lie over the image (the input of Conv, the output of ConvTranspose) at places (the other
 * one). Row `major` of the weight is a channel of the places, row `minor` a channel of the image in
 * the group of that. All numbers are of the class `number`, and dense. */
typedef struct {
    const KernelCall *call; /* of the forward op */
    const ConvForm *form;
    Number number;
    Dtype dtype; /* of numbers of that class */
    int64_t bytes;
    const Local *image, *places, *weight;
    LocalWindow window;
    int64_t n_places, n_elements; /* of the windows */
    int64_t group;
    const int64_t *major, *minor; /* global channels of the weight's dims 0 and 1 */
    bool adds;                    /* other ranks add what this one lacks of the image */
} Conv;

/* ---- windows of a part ---- */

static void spatial_strides(const Local *image, LocalWindow *out)
{
    int64_t step = 1;
    for (int d = out->n - 1; d >= 0; d--) {
        out->stride[d] = step;
        step *= image->shape.dim[2 + d];
    }
}

static int64_t *whole_kernel(Arena *arena, int64_t n)
{
    int64_t *out = arena_array(arena, int64_t, n);
    for (int64_t k = 0; k < n; k++)
        out[k] = k;
    return out;
}

LocalWindow local_window(Arena *arena, const Window *window, const Local *image, const Runs *out,
                         const Runs *kernel)
{
    LocalWindow local = {.n = window->n};
    spatial_strides(image, &local);
    for (int d = 0; d < window->n; d++) {
        const WindowDim *dim = &window->dim[d];
        const int64_t *o = kernel_globals(arena, &out[d]);
        const int64_t *k =
            kernel ? kernel_globals(arena, &kernel[d]) : whole_kernel(arena, dim->kernel);
        local.n_out[d] = out[d].local_size;
        local.n_kernel[d] = kernel ? kernel[d].local_size : dim->kernel;
        local.place[d] = arena_array(arena, int64_t, local.n_out[d] * local.n_kernel[d]);
        for (int64_t i = 0; i < local.n_out[d]; i++)
            for (int64_t e = 0; e < local.n_kernel[d]; e++) {
                int64_t at = o[i] * dim->stride + k[e] * dim->dilation - dim->before;
                int64_t held = runs_find(&image->runs[2 + d], at);
                bool outside = at < 0 || at >= image->whole.dim[2 + d];
                local.place[d][i * local.n_kernel[d] + e] = outside    ? PLACE_PADDING
                                                            : held < 0 ? PLACE_ELSEWHERE
                                                                       : held * local.stride[d];
            }
    }
    return local;
}

int64_t local_window_places(const LocalWindow *window)
{
    int64_t n = 1;
    for (int d = 0; d < window->n; d++)
        n *= window->n_out[d];
    return n;
}

int64_t local_window_elements(const LocalWindow *window)
{
    int64_t n = 1;
    for (int d = 0; d < window->n; d++)
        n *= window->n_kernel[d];
    return n;
}

/* ---- the convolution of a part ---- */

static const ConvForm plain = {1, 2, -1, -1, -1, -1, -1, -1, -1};
static const ConvForm integer = {1, -1, 2, 3, -1, -1, -1, -1, -1};
static const ConvForm rounded = {3, 8, 2, 5, 1, 4, 6, 7, -1};
static const ConvForm fused = {1, 2, -1, -1, -1, -1, -1, -1, 3};

/* The elements of the operands are not looked at. */
static bool conv_open(const KernelCall *call, bool transposed, Conv *out, Error *err)
{
    static const Dtype dtypes[NUMBER_KINDS] = {DT_F32, DT_F64, DT_I64};
    const ConvForm *form = call->kernel->row;
    if (!kernel_needs(call, form->weight + 1, err) || !kernel_computes(call->input[0], err))
        return false;
    RuleCall rule = kernel_rule_call(call);
    const Local *in = call->input[0], *weight = call->input[form->weight];
    Local *made = call->output[0];
    Window window = {0};
    *out = (Conv){.call = call, .form = form, .weight = weight, .group = 1};
    out->image = transposed ? made : in;
    out->places = transposed ? in : made;
    if (form->image_zero < 0 && (in->dtype != weight->dtype || in->dtype != made->dtype))
        return error_kind(err, ERROR_RUN, "its operands differ in type");
    if (transposed ? !window_read_transposed(&rule, 0, form->weight, &window, err)
                   : !window_read(&rule, 0, form->weight, &window, err))
        return false;
    out->number = dtype_number(in->dtype);
    out->dtype = dtypes[out->number];
    out->bytes = number_bytes(out->number);
    out->group = args_int(&rule, "group", 1);
    out->major = kernel_globals(call->scratch, &weight->runs[0]);
    out->minor = kernel_globals(call->scratch, &weight->runs[1]);
    out->window =
        local_window(call->scratch, &window, out->image, &out->places->runs[2], &weight->runs[2]);
    out->n_places = local_window_places(&out->window);
    out->n_elements = local_window_elements(&out->window);
    if (in->shape.dim[0] != made->shape.dim[0])
        return error_kind(err, ERROR_RUN, "its batch sizes differ");
    return out->places->shape.dim[1] == weight->shape.dim[0] ||
           error_kind(err, ERROR_RUN, "its channel counts differ");
}

/* Numbers of an operand that a kernel makes: its data if they are the elements. */
static char *numbers_made(const Conv *c, const Local *made)
{
    if (dtype_is_number(made->dtype) && c->form->out_scale < 0)
        return made->data;
    return arena_alloc(c->call->scratch,
                       arena_array_bytes((size_t)shape_elements(&made->shape), (size_t)c->bytes));
}

static void *columns_of(const Conv *c)
{
    size_t n =
        arena_array_bytes((size_t)(c->weight->shape.dim[1] * c->n_elements), (size_t)c->n_places);
    return arena_alloc(c->call->scratch, arena_array_bytes(n, (size_t)c->bytes));
}

/* The end of the weight rows from `start` in the same group of `each` channels. */
static int64_t group_end(const Conv *c, int64_t start, int64_t each)
{
    int64_t end = start + 1;
    while (end < c->weight->shape.dim[0] && c->major[end] / each == c->major[start] / each)
        end++;
    return end;
}

/* Adds the bias to all places of each channel. */
static void add_bias(const Conv *c, void *y, const void *b)
{
    int64_t channels = c->call->output[0]->shape.dim[1],
            n = shape_elements(&c->call->output[0]->shape);
    int64_t n_images = channels * c->call->output[0]->shape.dim[0],
            each = n_images > 0 ? n / n_images : 0;
    for (int64_t i = 0; each > 0 && i < n; i++) {
        int64_t at = i / each % channels;
        if (c->number == NUMBER_F32)
            ((float *)y)[i] += ((const float *)b)[at];
        else if (c->number == NUMBER_F64)
            ((double *)y)[i] += ((const double *)b)[at];
        else
            ((int64_t *)y)[i] += ((const int64_t *)b)[at];
    }
}

static const Local *input_of(const Conv *c, int input)
{
    return input >= 0 && input < c->call->n_inputs ? c->call->input[input] : NULL;
}

/* The number for local channel `channel`: one per channel, or one for all. */
static bool channel_number(const Conv *c, int input, int64_t channel, double absent, double *out,
                           Error *err)
{
    const Local *local = input_of(c, input);
    *out = absent;
    if (!local)
        return true;
    int64_t n = shape_elements(&local->shape);
    if (!kernel_computes(local, err) || (n != 1 && n != c->call->output[0]->shape.dim[1]))
        return error_kind(err, ERROR_RUN, "input %d has another size", input);
    local_load(local, n == 1 ? 0 : channel, 1, 1, NUMBER_F64, out);
    return true;
}

/* Rounds integer sums to the output type, in single precision to even. */
static bool store_rounded(const Conv *c, const void *y, Error *err)
{
    int64_t channels = c->call->output[0]->shape.dim[1],
            n = shape_elements(&c->call->output[0]->shape);
    int64_t n_images = channels * c->call->output[0]->shape.dim[0],
            each = n_images > 0 ? n / n_images : 0;
    double least, most;
    dtype_int_range(c->call->output[0]->dtype, &least, &most);
    for (int64_t image = 0; image < n_images; image++) {
        double x, w, step, zero;
        int64_t channel = image % channels;
        if (!channel_number(c, c->form->image_scale, 0, 1, &x, err) ||
            !channel_number(c, c->form->weight_scale, channel, 1, &w, err) ||
            !channel_number(c, c->form->out_scale, channel, 1, &step, err) ||
            !channel_number(c, c->form->out_zero, channel, 0, &zero, err))
            return false;
        for (int64_t i = image * each; i < (image + 1) * each; i++) {
            float sum = (float)((const int64_t *)y)[i];
            double number =
                fmin(fmax((double)rintf(sum * (float)(x * w / step)) + zero, least), most);
            local_store(c->call->output[0], i, 1, NUMBER_F64, &number);
        }
    }
    return true;
}

/* Adds the bias (on one rank) and stores the numbers as elements; then what is fused. */
static bool finish(const Conv *c, void *y, Error *err)
{
    const Local *bias = input_of(c, c->form->bias), *addend = input_of(c, c->form->addend);
    Local *out = c->call->output[0];
    if (bias && c->call->first) {
        if (shape_elements(&bias->shape) != out->shape.dim[1] ||
            dtype_number(bias->dtype) != c->number)
            return error_kind(err, ERROR_RUN, "its bias has another size");
        add_bias(c, y, kernel_numbers(c->call->scratch, bias));
    }
    if (c->form->out_scale >= 0)
        return store_rounded(c, y, err);
    if (y != out->data)
        local_store(out, 0, shape_elements(&out->shape), c->number, y);
    return c->form != &fused || activation_finish(c->call, addend, err);
}

/* ---- from the image to places ---- */

/* A row of the columns: element `element` of every window of the channel at `from`. Zero is all
 * bits zero in every class. False when it is on another rank. */
static bool fill_row(const Conv *c, const char *from, int64_t element, char *to)
{
    const LocalWindow *w = &c->window;
    int last = w->n - 1;
    int64_t k[SPATIAL_MAX] = {0}, o[SPATIAL_MAX] = {0}, n_last = w->n_out[last];
    window_split(element, w->n_kernel, w->n, k);
    for (int64_t row = 0; row < c->n_places; row += n_last) {
        window_split(row / n_last, w->n_out, last, o);
        int64_t base = window_place(w, w->n - 1, o, k);
        if (base == PLACE_ELSEWHERE && !c->adds)
            return false;
        for (int64_t i = 0; i < n_last; i++) {
            int64_t at = base < 0 ? base : w->place[last][i * w->n_kernel[last] + k[last]];
            if (at == PLACE_ELSEWHERE && !c->adds)
                return false;
            if (at < 0)
                memset(to + (row + i) * c->bytes, 0, (size_t)c->bytes);
            else if (c->bytes == (int64_t)sizeof(uint32_t))
                ((uint32_t *)(void *)to)[row + i] =
                    ((const uint32_t *)(const void *)from)[base + at];
            else
                ((uint64_t *)(void *)to)[row + i] =
                    ((const uint64_t *)(const void *)from)[base + at];
        }
    }
    return true;
}

static bool fill_columns(const Conv *c, const char *image, int64_t batch, int64_t group,
                         char *columns, Error *err)
{
    int64_t channels = c->weight->shape.dim[1], pixels = 1;
    for (int d = 0; d < c->window.n; d++)
        pixels *= c->image->shape.dim[2 + d];
    char *to = columns;
    for (int64_t i = 0; i < channels; i++) {
        int64_t global = group * c->weight->whole.dim[1] + c->minor[i];
        int64_t channel = runs_find(&c->image->runs[1], global);
        const char *from = image + (batch * c->image->shape.dim[1] + channel) * pixels * c->bytes;
        for (int64_t e = 0; e < c->n_elements; e++, to += c->n_places * c->bytes)
            if (channel < 0 || !fill_row(c, from, e, to))
                return error_kind(err, ERROR_RUN, "a part of the image is on another rank");
    }
    return true;
}

/* What is written is zero before. False with *err if a part of the image is on another rank. */
static bool conv_gather(const Conv *c, const void *image, const void *weight, void *places,
                        Error *err)
{
    char *columns = columns_of(c);
    Product p = {.k = c->weight->shape.dim[1] * c->n_elements, .n = c->n_places, .scale = 1};
    int64_t n_major = c->weight->shape.dim[0], each = c->weight->whole.dim[0] / c->group;
    for (int64_t b = 0; b < c->image->shape.dim[0] && c->n_places > 0; b++)
        for (int64_t start = 0, end; start < n_major; start = end) {
            end = group_end(c, start, each);
            if (!fill_columns(c, image, b, c->major[start] / each, columns, err))
                return false;
            p.m = end - start;
            kernel_multiply(c->call, &p, c->dtype, (const char *)weight + start * p.k * c->bytes,
                            columns, (char *)places + (b * n_major + start) * p.n * c->bytes);
        }
    return true;
}

static bool conv_weigh(const Conv *c, const void *image, const void *places, void *weight,
                       Error *err)
{
    char *columns = columns_of(c), *addend;
    Product p = {.k = c->n_places, .n = c->weight->shape.dim[1] * c->n_elements, .scale = 1};
    int64_t n_major = c->weight->shape.dim[0], each = c->weight->whole.dim[0] / c->group;
    size_t n_bytes = arena_array_bytes((size_t)(n_major * p.n), (size_t)c->bytes);
    p.b_turned = true;
    addend = arena_alloc(c->call->scratch, n_bytes);
    for (int64_t b = 0; b < c->image->shape.dim[0] && c->n_places > 0; b++)
        for (int64_t start = 0, end; start < n_major; start = end) {
            end = group_end(c, start, each);
            if (!fill_columns(c, image, b, c->major[start] / each, columns, err))
                return false;
            p.m = end - start;
            memset(addend, 0, (size_t)(p.m * p.n * c->bytes));
            kernel_multiply(c->call, &p, c->dtype,
                            (const char *)places + (b * n_major + start) * p.k * c->bytes, columns,
                            addend);
            kernel_combine(REDUCE_SUM, c->dtype, (char *)weight + start * p.n * c->bytes, addend, 1,
                           p.m * p.n);
        }
    return true;
}

/* ---- from places to the image ---- */

#define SPREAD(suffix, Real)                                                                       \
    static void spread_##suffix(const Conv *c, int64_t element, const char *from, char *to)        \
    {                                                                                              \
        const LocalWindow *w = &c->window;                                                         \
        const Real *column = (const Real *)(const void *)from;                                     \
        int last = w->n - 1;                                                                       \
        int64_t k[SPATIAL_MAX] = {0}, o[SPATIAL_MAX] = {0}, n_last = w->n_out[last];               \
        window_split(element, w->n_kernel, w->n, k);                                               \
        for (int64_t row = 0; row < c->n_places; row += n_last) {                                  \
            window_split(row / n_last, w->n_out, last, o);                                         \
            int64_t base = window_place(w, last, o, k);                                            \
            for (int64_t i = 0; base >= 0 && i < n_last; i++) {                                    \
                int64_t place = w->place[last][i * w->n_kernel[last] + k[last]];                   \
                if (place >= 0)                                                                    \
                    ((Real *)(void *)to)[base + place] += column[row + i];                         \
            }                                                                                      \
        }                                                                                          \
    }
SPREAD(f32, float)
SPREAD(f64, double)
SPREAD(i64, int64_t)

static bool spread(const Conv *c, const char *columns, int64_t batch, int64_t group, char *image,
                   Error *err)
{
    static void (*const add[NUMBER_KINDS])(const Conv *, int64_t, const char *,
                                           char *) = {spread_f32, spread_f64, spread_i64};
    int64_t channels = c->weight->shape.dim[1], pixels = 1;
    for (int d = 0; d < c->window.n; d++)
        pixels *= c->image->shape.dim[2 + d];
    const char *from = columns;
    for (int64_t i = 0; i < channels; i++) {
        int64_t global = group * c->weight->whole.dim[1] + c->minor[i];
        int64_t channel = runs_find(&c->image->runs[1], global);
        if (channel < 0)
            return error_kind(err, ERROR_RUN, "an output channel is on another rank");
        char *to = image + (batch * c->image->shape.dim[1] + channel) * pixels * c->bytes;
        for (int64_t e = 0; e < c->n_elements; e++, from += c->n_places * c->bytes)
            add[c->number](c, e, from, to);
    }
    return true;
}

static bool conv_scatter(const Conv *c, const void *places, const void *weight, void *image,
                         Error *err)
{
    char *columns = columns_of(c);
    Product p = {.m = c->weight->shape.dim[1] * c->n_elements, .n = c->n_places, .scale = 1};
    int64_t n_major = c->weight->shape.dim[0], each = c->weight->whole.dim[0] / c->group;
    p.a_turned = true;
    for (int64_t b = 0; b < c->image->shape.dim[0] && c->n_places > 0; b++)
        for (int64_t start = 0, end; start < n_major; start = end) {
            end = group_end(c, start, each);
            p.k = end - start;
            memset(columns, 0, (size_t)(p.m * p.n * c->bytes));
            kernel_multiply(c->call, &p, c->dtype, (const char *)weight + start * p.m * c->bytes,
                            (const char *)places + (b * n_major + start) * p.n * c->bytes, columns);
            if (!spread(c, columns, b, c->major[start] / each, image, err))
                return false;
        }
    return true;
}

/* ---- kernels ---- */

/* Subtracts the zero point of an integer operand, one for all or one per row. */
static bool subtract_zero_point(const Conv *c, const Local *local, int input, const void **numbers,
                                Error *err)
{
    const Local *zero = input_of(c, input);
    int64_t n = shape_elements(&local->shape), n_rows = local->shape.dim[0], n_zero = 1;
    if (!zero)
        return true;
    n_zero = shape_elements(&zero->shape);
    if (!kernel_computes(zero, err))
        return false;
    if (n_zero != 1 && n_zero != n_rows)
        return error_kind(err, ERROR_RUN, "its zero points have another size");
    const int64_t *from = *numbers;
    const int64_t *less = kernel_numbers(c->call->scratch, zero);
    int64_t *to = arena_array(c->call->scratch, int64_t, n);
    for (int64_t i = 0; i < n; i++)
        to[i] = from[i] - less[n_zero == 1 ? 0 : i / (n / n_rows)];
    *numbers = to;
    return true;
}

static bool conv(const KernelCall *call, Error *err)
{
    Conv c;
    if (!conv_open(call, false, &c, err))
        return false;
    const void *x = kernel_numbers(call->scratch, c.image);
    const void *w = kernel_numbers(call->scratch, c.weight);
    if (c.form->image_zero >= 0 &&
        (c.number != NUMBER_I64 || !subtract_zero_point(&c, c.image, c.form->image_zero, &x, err) ||
         !subtract_zero_point(&c, c.weight, c.form->weight_zero, &w, err)))
        return error_kind(err, ERROR_RUN, "its operands are not integers");
    void *y = numbers_made(&c, call->output[0]);
    return conv_gather(&c, x, w, y, err) && finish(&c, y, err);
}

static bool conv_transpose(const KernelCall *call, Error *err)
{
    Conv c;
    if (!conv_open(call, true, &c, err))
        return false;
    const void *w = kernel_numbers(call->scratch, c.weight);
    void *y = numbers_made(&c, call->output[0]);
    return conv_scatter(&c, kernel_numbers(call->scratch, c.places), w, y, err) &&
           finish(&c, y, err);
}

/* ---- gradients ---- */

/* The convolution whose gradient the call makes, and the numbers of the output's gradient. */
static bool open_gradient(const KernelCall *call, KernelCall *forward, Conv *c, bool *transposed,
                          const void **grad, Error *err)
{
    if (!forward_call(call, forward, err))
        return false;
    const Gradient *gradient = program_space(call->inferred, call->op)->gradient;
    *transposed = strcmp(gradient->of, "ConvTranspose") == 0;
    if (!conv_open(forward, *transposed, c, err))
        return false;
    const Local *from = forward->output[0];
    c->adds = call->reduce_cut && *transposed;
    if (c->form == &fused && !(from = activation_gradient(forward, from, call, err)))
        return false;
    *grad = kernel_numbers(call->scratch, from);
    return true;
}

static void store_made(const Conv *c, Local *made, const void *numbers)
{
    if (numbers != made->data)
        local_store(made, 0, shape_elements(&made->shape), c->number, numbers);
}

/* Of the image; of the places for a transposed convolution. */
static bool conv_grad(const KernelCall *call, Error *err)
{
    KernelCall forward;
    Conv c;
    bool transposed;
    const void *grad;
    if (!open_gradient(call, &forward, &c, &transposed, &grad, err))
        return false;
    const void *w = kernel_numbers(call->scratch, c.weight);
    void *made = numbers_made(&c, call->output[0]);
    if (transposed ? !conv_gather(&c, grad, w, made, err) : !conv_scatter(&c, grad, w, made, err))
        return false;
    store_made(&c, call->output[0], made);
    return true;
}

static bool conv_weight_grad(const KernelCall *call, Error *err)
{
    KernelCall forward;
    Conv c;
    bool transposed;
    const void *grad;
    if (!open_gradient(call, &forward, &c, &transposed, &grad, err))
        return false;
    const void *x = kernel_numbers(call->scratch, forward.input[0]);
    void *made = numbers_made(&c, call->output[0]);
    if (!conv_weigh(&c, transposed ? grad : x, transposed ? x : grad, made, err))
        return false;
    store_made(&c, call->output[0], made);
    return true;
}

const Kernel kernels_conv[] = {
    {"Conv", conv, &plain, 0, ROUNDING_SUM},
    {"ConvTranspose", conv_transpose, &plain, 0, ROUNDING_SUM},
    {"ConvInteger", conv, &integer, 0, ROUNDING_EXACT},
    {"com.microsoft::FusedConv", conv, &fused, 0, ROUNDING_SUM},
    {"ConvGrad", conv_grad, NULL, 0, ROUNDING_SUM},
    {"ConvWeightGrad", conv_weight_grad, NULL, 0, ROUNDING_SUM},
    {"QLinearConv", conv, &rounded, 0, ROUNDING_STEP},
    {0},
};
