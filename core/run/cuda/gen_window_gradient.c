/* gen_window_gradient.c - gradients of pools and convolutions.
 *
 *     MaxPool          the place of each window's maximum, then a thread an element of the image
 *     AveragePool      a thread an element of the image, which adds what its windows give back
 *     Conv's image     the kernel of a transposed convolution, and the reverse
 *     Conv's weight    one group of channels: columns times places; several: a block an element
 */
#include "core/run/cuda/gen_window.h"

#include "core/run/kernels/derivative.h"
#include "core/space/gradient.h"

/* ---- gradients of pools ---- */

/* The place in its channel that each window takes its maximum from; -1: none. */
static const char argument_body[] =
    "typedef struct {\n"
    "    const T *x;\n    i64 *to;\n    i64 n, n_elements, n_places, pixels;\n    Tables tables;\n"
    "} Args;\n"
    "KERNEL(256, NAME, Args)\n"
    "{\n"
    "    for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < a.n; i += (i64)gridDim.x * 256) {\n"
    "        const T *image = a.x + i / a.n_places * a.pixels;\n"
    "        i64 best = -1;\n"
    "        C most = 0;\n"
    "        for (i64 e = 0; e < a.n_elements; e++) {\n"
    "            i64 at = image_place(&a.tables, i % a.n_places, e);\n"
    "            C x = at >= 0 ? LOAD(image[at]) : 0;\n"
    "            if (at >= 0 && (best < 0 || x > most || !(x == x))) {\n"
    "                best = at;\n"
    "                most = x;\n"
    "            }\n"
    "        }\n"
    "        a.to[i] = best;\n"
    "    }\n"
    "}\n";

/* A thread an element of the image: what all windows around it give back. */
static const char pool_back_body[] =
    "typedef struct {\n"
    "    const FROM *d;\n    const i64 *argument;\n    T *to;\n    const i64 *counts[N];\n"
    "    i64 n, n_elements, pixels, n_windows, windows[N];\n    double scale;\n    Tables tables;\n"
    "} Args;\n"
    "KERNEL(256, NAME, Args)\n"
    "{\n"
    "    for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < a.n; i += (i64)gridDim.x * 256) {\n"
    "        i64 own = i % a.pixels, channel = i / a.pixels * a.n_windows;\n"
    "        C sum = 0;\n"
    "        for (i64 e = 0; e < a.n_elements; e++) {\n"
    "            i64 at = image_place(&a.tables, own, e), count = 1, rest = at;\n"
    "            if (at < 0 || (a.argument && a.argument[channel + at] != own))\n"
    "                continue;\n"
    "            UNROLL\n"
    "            for (int d = N - 1; d >= 0 && !a.argument; d--) {\n"
    "                count *= a.counts[d][rest % a.windows[d]];\n"
    "                rest /= a.windows[d];\n"
    "            }\n"
    "            sum += LOAD_FROM(a.d[channel + at]) / (C)count;\n"
    "        }\n"
    "        a.to[i] = STORE(sum * (C)a.scale);\n"
    "    }\n"
    "}\n";

static DevicePlace build_arguments(DeviceBuild *build, const Local *image,
                                   const WindowTables *tables, int64_t n)
{
    DevicePlace to = place_workspace(build, n * 8);
    KernelText k = kernel_text(build, "max_places_%s", dtype_name(image->dtype));
    put_window_types(&k, image->dtype, tables->n);
    buf_puts(&k.text, argument_body);
    ARGS_PLACES(&k, place_input(0, 1), to);
    ARGS_I64(&k, n, tables->n_elements, tables->n_places, tables->pixels);
    args_window_tables(&k, tables);
    build_launch(&k, launch_over(n));
    return to;
}

/* What the gradient of a window needs: the windows, and which of them each place is in. */
typedef struct {
    Window window;
    WindowTables tables, turned;
    RuleCall rule;
} PoolBack;

static bool open_pool_back(const KernelCall *call, PoolBack *out)
{
    const Local *d = kernel_input(call, 0), *made = call->output[0];
    KernelCall asked = device_readable(call), forward;
    Error err = {0};
    if (!d || !dtype_on_device(d->dtype) || !dtype_on_device(made->dtype) ||
        !dtype_is_float(made->dtype) || !forward_call(&asked, &forward, &err) ||
        kernel_output(&forward, 1))
        return false;
    out->rule = device_rule_call(&forward);
    if (!window_read(&out->rule, 0, -1, &out->window, &err))
        return false;
    LocalWindow local = local_window(call->scratch, &out->window, made, &d->runs[2], NULL);
    if (!window_tables_of(&local, made, &out->tables))
        return false;
    turn_windows(call->scratch, &local, d, made, &out->turned);
    return true;
}

bool build_pool_gradient(DeviceBuild *build, const KernelCall *call)
{
    const Gradient *gradient = program_space(call->inferred, call->op)->gradient;
    const Local *made = call->output[0], *d = kernel_input(call, 0), *x = kernel_input(call, 1);
    bool most = strcmp(gradient->of, "MaxPool") == 0;
    PoolBack p = {.window = {0}};
    if (!open_pool_back(call, &p) ||
        (most && (!x || !dtype_on_device(x->dtype) || !shape_equal(&x->shape, &made->shape))))
        return false;
    DevicePlace argument = {0};
    if (most)
        argument = build_arguments(build, x, &p.tables, shape_elements(&d->shape));
    const char *type = dtype_name(d->dtype), *class = number_name(dtype_number(made->dtype));
    KernelText k = kernel_text(build, "pool_back_%s", dtype_name(made->dtype));
    put_window_types(&k, made->dtype, p.turned.n);
    buf_printf(&k.text, "typedef t_%s FROM;\n#define LOAD_FROM(x) load_%s_%s(x)\n%s", type, type,
               class, pool_back_body);
    ARGS_PLACES(&k, place_input(0, 0));
    arg_place_if(&k, most, argument);
    ARGS_PLACES(&k, place_output(0, 0));
    bool with_pad = args_int(&p.rule, "count_include_pad", 0) != 0;
    for (int i = 0; i < p.tables.n; i++) {
        const Runs *runs = &d->runs[2 + i];
        const int64_t *counts = window_counts(call->scratch, &p.window.dim[i], runs, with_pad);
        arg_table(&k, counts, runs->local_size * 8);
    }
    int64_t n = shape_elements(&made->shape);
    ARGS_I64(&k, n, p.turned.n_elements, p.turned.n_places, p.tables.n_places);
    args_i64(&k, (size_t)p.tables.n, p.tables.n_out);
    arg_f64(&k, gradient->scale);
    args_window_tables(&k, &p.turned);
    build_launch(&k, launch_over(n));
    return true;
}

/* ---- gradients of convolutions ---- */

/* The forward op, without elements that cannot be read. */
typedef struct {
    KernelCall asked, forward;
    RuleCall rule;
    Window window;
    bool transposed;
} ConvBack;

static bool open_conv_back(const KernelCall *call, ConvBack *out)
{
    const Gradient *gradient = program_space(call->inferred, call->op)->gradient;
    Error err = {0};
    out->asked = device_readable(call);
    out->transposed = strcmp(gradient->of, "ConvTranspose") == 0;
    bool known = out->transposed || strcmp(gradient->of, "Conv") == 0;
    if (!known || gradient->scale != 1 || !kernel_input(call, 0) || !kernel_input(call, 1) ||
        !forward_call(&out->asked, &out->forward, &err))
        return false;
    out->rule = device_rule_call(&out->forward);
    return out->transposed ? window_read_transposed(&out->rule, 0, 1, &out->window, &err)
                           : window_read(&out->rule, 0, 1, &out->window, &err);
}

/* Inputs: the gradient of the result, the weight. */
static bool conv_grad(DeviceBuild *build, const KernelCall *call, const void *row)
{
    (void)row;
    ConvBack back;
    ConvWindows c = {.image = kernel_input(call, 0),
                     .weight = kernel_input(call, 1),
                     .out = call->output[0],
                     .at_image = place_input(0, 0),
                     .at_weight = place_input(0, 1)};
    if (!open_conv_back(call, &back))
        return false;
    return back.transposed ? gather_windows(build, call, &back.rule, &back.window, &c)
                           : scatter_windows(build, call, &back.rule, &back.window, &c);
}

/* A thread an element of the weight: over all images and places. */
static const char weigh_body[] =
    "typedef struct {\n"
    "    const T *x, *d;\n    T *y;\n    const i64 *channel;\n"
    "    i64 n, n_minor, n_elements, n_batch, image, pixels, places, n_places;\n    Tables "
    "tables;\n"
    "} Args;\n"
    "KERNEL(256, NAME, Args)\n"
    "{\n"
    "    SHARED C room[8];\n"
    "    for (i64 i = blockIdx.x; i < a.n; i += gridDim.x) {\n"
    "        i64 e = i % a.n_elements, major = i / a.n_elements / a.n_minor;\n"
    "        i64 channel = a.channel[i / a.n_elements];\n"
    "        C sum = 0;\n"
    "        for (i64 at = threadIdx.x; at < a.n_batch * a.n_places; at += 256) {\n"
    "            i64 b = at / a.n_places, o = at % a.n_places;\n"
    "            i64 place = image_place(&a.tables, o, e);\n"
    "            if (place >= 0)\n"
    "                sum += LOAD(a.x[b * a.image + channel * a.pixels + place]) *\n"
    "                       LOAD(a.d[b * a.places + major * a.n_places + o]);\n"
    "        }\n"
    "        UNROLL\n"
    "        for (int m = 16; m > 0; m /= 2)\n"
    "            sum += SHUFFLE(sum, m);\n"
    "        __syncthreads();\n"
    "        if (threadIdx.x % 32 == 0)\n"
    "            room[threadIdx.x / 32] = sum;\n"
    "        __syncthreads();\n"
    "        if (threadIdx.x > 0)\n"
    "            continue;\n"
    "        for (int w = 1; w < 8; w++)\n"
    "            sum += room[w];\n"
    "        a.y[i] = STORE(sum);\n"
    "    }\n"
    "}\n";

/* x and d: the inputs that are the image and the places. */
static void build_weigh(DeviceBuild *build, const ConvWindows *c, const Local *places,
                        DevicePlace x, DevicePlace d)
{
    Dtype dtype = c->image->dtype;
    int64_t n = shape_elements(&c->weight->shape), n_minor = c->weight->shape.dim[1];
    KernelText k = kernel_text(build, "weigh_%s", dtype_name(dtype));
    put_window_types(&k, dtype, c->tables.n);
    buf_puts(&k.text, weigh_body);
    ARGS_PLACES(&k, x, d, place_output(0, 0),
                place_table(build, c->channels, c->weight->shape.dim[0] * n_minor * 8));
    ARGS_I64(&k, n, n_minor, c->tables.n_elements, c->image->shape.dim[0],
             c->image->shape.dim[1] * c->tables.pixels, c->tables.pixels,
             places->shape.dim[1] * c->tables.n_places, c->tables.n_places);
    args_window_tables(&k, &c->tables);
    build_launch(&k, (LaunchSize){{n < 65535 ? n : 65535, 1, 1}, 256, 0});
}

/* Columns of each image times its places; addends of images are rounded once, then summed. */
static bool build_weigh_product(DeviceBuild *build, const ConvWindows *c, const Local *places,
                                DevicePlace d)
{
    bool own = windows_are_columns(c);
    Dtype dtype = c->image->dtype;
    Number class = dtype_number(dtype);
    int64_t bytes = element_bytes(dtype), columns = c->n_in * c->tables.n_elements;
    int64_t n_batch = c->image->shape.dim[0], one = columns * c->tables.n_places;
    int64_t n_weight = shape_elements(&c->weight->shape);
    int64_t at_once = one > 0 ? COLUMNS_BYTES_MAX / (one * bytes) : n_batch;
    at_once = own || at_once > n_batch ? n_batch : at_once < 1 ? 1 : at_once;
    if (n_batch * n_weight * bytes > COLUMNS_BYTES_MAX * 4LL)
        return false;
    DevicePlace at = own ? c->at_image : place_workspace(build, at_once * one * bytes);
    DevicePlace parts =
        n_batch == 1 ? place_output(0, 0) : place_workspace(build, n_batch * n_weight * bytes);
    for (int64_t b = 0; b < n_batch; b += at_once) {
        DeviceMatmul p = {.dtype = dtype, .alpha = 1, .k = c->tables.n_places, .b_turned = true};
        p.n_batch = n_batch - b < at_once ? n_batch - b : at_once;
        p.m = c->weight->shape.dim[0];
        p.n = p.out_row = columns;
        p.a_row = p.b_row = p.k;
        p.a_batch = places->shape.dim[1] * p.k;
        p.b_batch = one;
        p.out_batch = n_weight;
        p.a = place_plus(d, b * p.a_batch * bytes);
        p.b = own ? place_plus(at, b * one * bytes) : at;
        p.out = place_plus(parts, b * n_weight * bytes);
        if (!own)
            build_window_columns(build, c, b, p.n_batch, at);
        build_product(build, &p);
    }
    if (n_batch == 1)
        return true;
    build_fold(build,
               &(DeviceFold){.name = "sum_images",
                             .start = "0",
                             .of = "x0",
                             .merge = "s + t",
                             .last = "s",
                             .n_operands = 1,
                             .n_dims = 2,
                             .operand = {parts},
                             .to = place_output(0, 0),
                             .dtype = {dtype},
                             .out = dtype,
                             .class = class,
                             .dim = {{n_batch, 0, true, {n_weight}}, {n_weight, 1, false, {1}}}});
    return true;
}

/* Inputs: the gradient of the result, the image. A transposed convolution has them swapped. */
static bool conv_weight_grad(DeviceBuild *build, const KernelCall *call, const void *row)
{
    (void)row;
    ConvBack back;
    if (!open_conv_back(call, &back))
        return false;
    int x = back.transposed ? 0 : 1, d = 1 - x;
    const Local *places = call->input[d];
    int64_t group = args_int(&back.rule, "group", 1), *channel, *terms;
    ConvWindows c = {.image = call->input[x],
                     .weight = call->output[0],
                     .out = places,
                     .at_image = place_input(0, x)};
    if (!windows_fit(&c) || places->shape.dim[1] != c.weight->shape.dim[0] || group < 1)
        return false;
    LocalWindow local =
        local_window(call->scratch, &back.window, c.image, &places->runs[2], &c.weight->runs[2]);
    if (!window_tables_of(&local, c.image, &c.tables) ||
        !window_terms(call, &c, group, &channel, &terms))
        return false;
    c.n_in = c.weight->shape.dim[1];
    c.channels = channel;
    if (c.tables.n_places == 0 || c.image->shape.dim[0] == 0)
        build_zero(build, place_output(0, 0), local_bytes(c.weight));
    else if (group > 1 || !build_weigh_product(build, &c, places, place_input(0, d)))
        build_weigh(build, &c, places, c.at_image, place_input(0, d));
    return true;
}

const DeviceOp device_ops_window_gradient[] = {
    {"ConvGrad", conv_grad, NULL},
    {"ConvWeightGrad", conv_weight_grad, NULL},
    {0},
};
