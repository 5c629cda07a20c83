/* gen_window.c - kernels of sliding windows: Conv, ConvTranspose and pools.
 *
 * Tables per dim (kernels/window.h) map an output place and a window element to a place of the
 * image; they cover padding, strides and local parts.
 *
 *     one group of channels     the windows become columns in a workspace, an image or more at a
 *                               time, and cuBLASLt multiplies; a window of one element that takes
 *                               every place needs no columns
 *     several, or transposed    a thread an output
 *     pools                     a thread an output
 */
#include "core/run/cuda/device_build.h"
#include "core/rules/args.h"
#include "core/run/kernels/derivative.h"
#include "core/run/kernels/window.h"
#include "core/space/gradient.h"

enum { COLUMNS_BYTES_MAX = 256 << 20 };

/* Per spatial dim [n_out][n_kernel]: places of the image, negative for none. */
typedef struct {
    int n;
    int64_t n_out[SPATIAL_MAX], n_kernel[SPATIAL_MAX];
    int64_t *place[SPATIAL_MAX];
    int64_t n_places, n_elements, pixels; /* products over dims of n_out, n_kernel, image sizes */
} Tables;

static bool tables_of(const LocalWindow *window, const Local *image, Tables *out)
{
    *out = (Tables){.n = window->n, .n_places = 1, .n_elements = 1, .pixels = 1};
    for (int d = 0; d < window->n; d++) {
        out->n_out[d] = window->n_out[d];
        out->n_kernel[d] = window->n_kernel[d];
        out->place[d] = window->place[d];
        out->n_places *= window->n_out[d];
        out->n_elements *= window->n_kernel[d];
        out->pixels *= image->shape.dim[2 + d];
        for (int64_t i = 0; i < window->n_out[d] * window->n_kernel[d]; i++)
            if (window->place[d][i] == PLACE_ELSEWHERE)
                return false;
    }
    return true;
}

static const char table_head[] =
    "typedef struct {\n"
    "    i64 n_out[N], n_kernel[N];\n    const i64 *place[N];\n"
    "} Tables;\n"
    "/* Where element e of window o lies in a channel of the image; -1: it is padding. */\n"
    "DEVICE i64 image_place(const Tables *t, i64 o, i64 e)\n"
    "{\n"
    "    i64 at = 0;\n"
    "    int inside = 1;\n"
    "    UNROLL\n"
    "    for (int d = N - 1; d >= 0; d--) {\n"
    "        i64 place = t->place[d][o % t->n_out[d] * t->n_kernel[d] + e % t->n_kernel[d]];\n"
    "        o /= t->n_out[d];\n"
    "        e /= t->n_kernel[d];\n"
    "        inside &= place >= 0;\n"
    "        at += place;\n"
    "    }\n"
    "    return inside ? at : -1;\n"
    "}\n";

static void args_tables(KernelText *k, const Tables *tables)
{
    args_i64(k, (size_t)tables->n, tables->n_out);
    args_i64(k, (size_t)tables->n, tables->n_kernel);
    for (int d = 0; d < tables->n; d++)
        arg_table(k, tables->place[d], tables->n_out[d] * tables->n_kernel[d] * 8);
}

static void put_window_types(KernelText *k, Dtype dtype, int n)
{
    put_types(k, dtype, dtype_number(dtype));
    buf_printf(&k->text, "enum { N = %d };\n%s", n, table_head);
}

/* ---- columns ---- */

static const char columns_body[] =
    "typedef struct {\n"
    "    const T *x;\n    T *to;\n    const i64 *channels;\n"
    "    i64 n, n_channels, n_elements, n_places, image, pixels;\n    Tables tables;\n"
    "} Args;\n"
    "KERNEL(256, NAME, Args)\n"
    "{\n"
    "    for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < a.n; i += (i64)gridDim.x * 256) {\n"
    "        i64 place = i % a.n_places, e = i / a.n_places % a.n_elements;\n"
    "        i64 rest = i / a.n_places / a.n_elements;\n"
    "        i64 channel = a.channels[rest % a.n_channels], b = rest / a.n_channels;\n"
    "        i64 at = image_place(&a.tables, place, e);\n"
    "        T element = STORE(0);\n"
    "        if (at >= 0)\n"
    "            element = a.x[b * a.image + channel * a.pixels + at];\n"
    "        a.to[i] = element;\n"
    "    }\n"
    "}\n";

typedef struct {
    const Local *image, *weight, *out;
    DevicePlace at_image, at_weight;
    const Local *bias; /* input 2; NULL: none, or another rank adds it */
    Tables tables;
    int64_t n_in; /* image channels of the weight */
    const int64_t *channels;
} Conv;

static void build_columns(DeviceBuild *build, const Conv *c, int64_t batch, int64_t n_batch,
                          DevicePlace to)
{
    Dtype dtype = c->image->dtype;
    int64_t image = c->image->shape.dim[1] * c->tables.pixels;
    KernelText k = kernel_text(build, "columns_%s", dtype_name(dtype));
    put_window_types(&k, dtype, c->tables.n);
    buf_puts(&k.text, columns_body);
    int64_t n = n_batch * c->n_in * c->tables.n_elements * c->tables.n_places;
    ARGS_PLACES(&k, place_plus(c->at_image, batch * image * element_bytes(dtype)), to,
                place_table(build, c->channels, c->n_in * 8));
    ARGS_I64(&k, n, c->n_in, c->tables.n_elements, c->tables.n_places, image, c->tables.pixels);
    args_tables(&k, &c->tables);
    build_launch(&k, launch_over(n));
}

/* The image is its own column matrix: a 1-element window over all places and channels. */
static bool is_own_columns(const Conv *c)
{
    if (c->tables.n_elements != 1 || c->tables.n_places != c->tables.pixels ||
        c->n_in != c->image->shape.dim[1])
        return false;
    int64_t step = 1;
    for (int d = c->tables.n - 1; d >= 0; d--) {
        for (int64_t i = 0; i < c->tables.n_out[d]; i++)
            if (c->tables.place[d][i] != i * step)
                return false;
        step *= c->image->shape.dim[2 + d];
    }
    for (int64_t i = 0; i < c->n_in; i++)
        if (c->channels[i] != i)
            return false;
    return true;
}

/* Broadcasts the bias into the output, to which the product is added. */
static bool lay_bias(DeviceBuild *build, const KernelCall *call, const Conv *c)
{
    const Local *bias = c->bias, *out = c->out;
    if (bias->dtype != out->dtype || shape_elements(&bias->shape) != out->shape.dim[1])
        return false;
    Picks picks = picks_new(call->scratch, &out->shape);
    for (int64_t i = 0; i < picks.size[1]; i++)
        picks.from[1][i] = i;
    return build_move(build, out->dtype, &picks, place_output(0, 0), place_input(0, 2));
}

static bool build_product_of(DeviceBuild *build, const KernelCall *call, const Conv *c)
{
    bool own = is_own_columns(c), with_bias = c->bias != NULL;
    int64_t bytes = element_bytes(c->image->dtype), k = c->n_in * c->tables.n_elements;
    int64_t n_batch = c->image->shape.dim[0], one = k * c->tables.n_places;
    int64_t at_once = one > 0 ? COLUMNS_BYTES_MAX / (one * bytes) : n_batch;
    at_once = own || at_once > n_batch ? n_batch : at_once < 1 ? 1 : at_once;
    if (with_bias && !lay_bias(build, call, c))
        return false;
    DevicePlace columns = own ? c->at_image : place_workspace(build, at_once * one * bytes);
    for (int64_t b = 0; b < n_batch; b += at_once) {
        DeviceMatmul p = {.dtype = c->image->dtype, .alpha = 1, .beta = with_bias, .k = k};
        p.n_batch = n_batch - b < at_once ? n_batch - b : at_once;
        p.m = c->weight->shape.dim[0];
        p.n = p.b_row = p.out_row = c->tables.n_places;
        p.a_row = k;
        p.b_batch = one;
        p.out_batch = p.m * p.n;
        p.a = c->at_weight;
        p.b = own ? place_plus(columns, b * one * bytes) : columns;
        p.out = place_plus(place_output(0, 0), b * p.out_batch * bytes);
        if (!own)
            build_columns(build, c, b, p.n_batch, columns);
        build_product(build, &p);
    }
    return true;
}

/* ---- direct convolution: a thread per output ---- */

/* Term j of output channel co: image channel and weight window; none where negative. */
static const char direct_body[] =
    "typedef struct {\n"
    "    const T *x, *w, *bias;\n    T *y;\n    const i64 *channel, *window;\n"
    "    i64 n, n_out, n_terms, n_elements, n_places, image, pixels;\n    Tables tables;\n"
    "} Args;\n"
    "KERNEL(256, NAME, Args)\n"
    "{\n"
    "    for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < a.n; i += (i64)gridDim.x * 256) {\n"
    "        i64 place = i % a.n_places, co = i / a.n_places % a.n_out;\n"
    "        const T *image = a.x + i / a.n_places / a.n_out * a.image;\n"
    "        C sum = a.bias ? LOAD(a.bias[co]) : 0;\n"
    "        for (i64 e = 0; e < a.n_elements; e++) {\n"
    "            i64 at = image_place(&a.tables, place, e);\n"
    "            for (i64 j = 0; j < a.n_terms && at >= 0; j++) {\n"
    "                i64 channel = a.channel[co * a.n_terms + j];\n"
    "                if (channel >= 0)\n"
    "                    sum += LOAD(image[channel * a.pixels + at]) *\n"
    "                           LOAD(a.w[a.window[co * a.n_terms + j] * a.n_elements + e]);\n"
    "            }\n"
    "        }\n"
    "        a.y[i] = STORE(sum);\n"
    "    }\n"
    "}\n";

static bool build_direct(DeviceBuild *build, const Conv *c, const int64_t *channel,
                         const int64_t *window, int64_t n_terms)
{
    int64_t n_out = c->out->shape.dim[1], n = shape_elements(&c->out->shape);
    const Local *bias = c->bias;
    KernelText k = kernel_text(build, "windows_%s", dtype_name(c->image->dtype));
    if (bias && (bias->dtype != c->out->dtype || shape_elements(&bias->shape) != n_out))
        return false;
    put_window_types(&k, c->image->dtype, c->tables.n);
    buf_puts(&k.text, direct_body);
    ARGS_PLACES(&k, c->at_image, c->at_weight);
    arg_place_if(&k, bias, place_input(0, 2));
    ARGS_PLACES(&k, place_output(0, 0), place_table(build, channel, n_out * n_terms * 8),
                place_table(build, window, n_out * n_terms * 8));
    ARGS_I64(&k, n, n_out, n_terms, c->tables.n_elements, c->tables.n_places,
             c->image->shape.dim[1] * c->tables.pixels, c->tables.pixels);
    args_tables(&k, &c->tables);
    build_launch(&k, launch_over(n));
    return true;
}

/* ---- Conv ---- */

static bool fits(const Conv *c)
{
    return c->image && c->weight && c->out && c->image->dtype == c->weight->dtype &&
           c->image->dtype == c->out->dtype && dtype_on_device(c->image->dtype) &&
           dtype_is_float(c->image->dtype) && c->image->shape.n_dims > 2 &&
           c->image->shape.dim[0] == c->out->shape.dim[0];
}

static Conv conv_of(const KernelCall *call)
{
    return (Conv){.image = kernel_input(call, 0),
                  .weight = kernel_input(call, 1),
                  .out = call->output[0],
                  .at_image = place_input(0, 0),
                  .at_weight = place_input(0, 1),
                  .bias = call->first ? kernel_input(call, 2) : NULL};
}

/* Image channels of the terms of each output channel; false when one is not local. */
static bool conv_terms(const KernelCall *call, const Conv *c, int64_t group, int64_t **channel,
                       int64_t **window)
{
    const int64_t *major = kernel_globals(call->scratch, &c->weight->runs[0]);
    const int64_t *minor = kernel_globals(call->scratch, &c->weight->runs[1]);
    int64_t n_out = c->weight->shape.dim[0], n_in = c->weight->shape.dim[1];
    int64_t each = c->weight->whole.dim[0] / group;
    *channel = arena_array(call->scratch, int64_t, n_out * n_in);
    *window = arena_array(call->scratch, int64_t, n_out * n_in);
    for (int64_t o = 0; o < n_out; o++)
        for (int64_t j = 0; j < n_in; j++) {
            int64_t global = major[o] / each * c->weight->whole.dim[1] + minor[j];
            int64_t found = runs_find(&c->image->runs[1], global);
            (*channel)[o * n_in + j] = found;
            (*window)[o * n_in + j] = o * n_in + j;
            if (found < 0)
                return false;
        }
    return true;
}

/* From the image to places. rule: of the forward op, whose windows these are. */
static bool gather_windows(DeviceBuild *build, const KernelCall *call, const RuleCall *rule,
                           const Window *window, Conv *c)
{
    int64_t group = args_int(rule, "group", 1), *channel, *terms;
    if (!fits(c) || c->out->shape.dim[1] != c->weight->shape.dim[0])
        return false;
    LocalWindow local =
        local_window(call->scratch, window, c->image, &c->out->runs[2], &c->weight->runs[2]);
    if (!tables_of(&local, c->image, &c->tables) || group < 1 ||
        !conv_terms(call, c, group, &channel, &terms))
        return false;
    c->n_in = c->weight->shape.dim[1];
    c->channels = channel;
    if (group == 1 && c->n_in > 0)
        return build_product_of(build, call, c);
    return build_direct(build, c, channel, terms, c->n_in);
}

static bool conv(DeviceBuild *build, const KernelCall *call, const void *row)
{
    (void)row;
    Conv c = conv_of(call);
    Window window = {0};
    Error err = {0};
    RuleCall rule = device_rule_call(call);
    return window_read(&rule, 0, 1, &window, &err) &&
           gather_windows(build, call, &rule, &window, &c);
}

/* ---- ConvTranspose ---- */

/* Inverts the tables: which image place puts element k into each output place. */
static void turn_tables(Arena *arena, const LocalWindow *window, const Local *image,
                        const Local *out, Tables *tables)
{
    int64_t step = 1, out_step = 1;
    *tables = (Tables){.n = window->n, .n_places = 1, .n_elements = 1, .pixels = 1};
    for (int d = window->n - 1; d >= 0; d--) {
        int64_t n_out = out->shape.dim[2 + d], n_kernel = window->n_kernel[d];
        tables->n_out[d] = n_out;
        tables->n_kernel[d] = n_kernel;
        tables->place[d] = arena_array(arena, int64_t, n_out * n_kernel);
        for (int64_t i = 0; i < n_out * n_kernel; i++)
            tables->place[d][i] = PLACE_PADDING;
        for (int64_t i = 0; i < window->n_out[d]; i++)
            for (int64_t e = 0; e < n_kernel; e++) {
                int64_t to = window->place[d][i * n_kernel + e];
                if (to >= 0)
                    tables->place[d][to / out_step * n_kernel + e] = i * step;
            }
        step *= image->shape.dim[2 + d];
        out_step *= n_out;
        tables->n_places *= n_out;
        tables->n_elements *= n_kernel;
        tables->pixels *= image->shape.dim[2 + d];
    }
}

/* From places to the image: c->image are the places, c->out is the image. */
static bool scatter_windows(DeviceBuild *build, const KernelCall *call, const RuleCall *rule,
                            const Window *window, Conv *c)
{
    int64_t group = args_int(rule, "group", 1);
    if (!fits(c) || c->image->shape.dim[1] != c->weight->shape.dim[0] || group < 1)
        return false;
    LocalWindow local =
        local_window(call->scratch, window, c->out, &c->image->runs[2], &c->weight->runs[2]);
    turn_tables(call->scratch, &local, c->image, c->out, &c->tables);
    const int64_t *major = kernel_globals(call->scratch, &c->weight->runs[0]);
    const int64_t *global = kernel_globals(call->scratch, &c->out->runs[1]);
    int64_t n_in = c->weight->shape.dim[0], n_minor = c->weight->shape.dim[1];
    int64_t n_out = c->out->shape.dim[1], each = c->weight->whole.dim[0] / group;
    int64_t *channel = arena_array(call->scratch, int64_t, n_out * n_in);
    int64_t *terms = arena_array(call->scratch, int64_t, n_out * n_in);
    for (int64_t o = 0; o < n_out; o++)
        for (int64_t j = 0; j < n_in; j++) {
            int64_t in_group = global[o] - major[j] / each * c->weight->whole.dim[1];
            int64_t found = runs_find(&c->weight->runs[1], in_group);
            channel[o * n_in + j] = found < 0 ? -1 : j;
            terms[o * n_in + j] = j * n_minor + found;
        }
    return build_direct(build, c, channel, terms, n_in);
}

static bool conv_transpose(DeviceBuild *build, const KernelCall *call, const void *row)
{
    (void)row;
    Conv c = conv_of(call);
    Window window = {0};
    Error err = {0};
    RuleCall rule = device_rule_call(call);
    return window_read_transposed(&rule, 0, 1, &window, &err) &&
           scatter_windows(build, call, &rule, &window, &c);
}

/* ---- pools ---- */

static const char pool_body[] =
    "typedef struct {\n"
    "    const T *x;\n    T *y;\n    const i64 *counts[N];\n"
    "    i64 n, n_elements, n_places, pixels;\n    double p;\n    Tables tables;\n"
    "} Args;\n"
    "KERNEL(256, NAME, Args)\n"
    "{\n"
    "    for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < a.n; i += (i64)gridDim.x * 256) {\n"
    "        i64 o = i % a.n_places, count = 1, rest = o;\n"
    "        const T *image = a.x + i / a.n_places * a.pixels;\n"
    "        C s = START;\n"
    "        for (i64 e = 0; e < a.n_elements; e++) {\n"
    "            i64 at = image_place(&a.tables, o, e);\n"
    "            if (at >= 0) {\n"
    "                C x = LOAD(image[at]);\n"
    "                s = MERGE;\n"
    "            }\n"
    "        }\n"
    "        UNROLL\n"
    "        for (int d = N - 1; d >= 0; d--) {\n"
    "            count *= a.counts[d][rest % a.tables.n_out[d]];\n"
    "            rest /= a.tables.n_out[d];\n"
    "        }\n"
    "        a.y[i] = STORE(LAST);\n"
    "    }\n"
    "}\n";

static const struct {
    const char *name, *start, *merge, *last;
} pools[] = {
    {"MaxPool", "-INFINITY", "x > s || !(x == x) ? x : s", "s"},
    {"AveragePool", "0", "s + x", "s / (C)count"},
    {"LpPool", "0", "s + POW(x < 0 ? -x : x, (C)a.p)", "POW(s, 1 / (C)a.p)"},
};

/* Number of elements averaged per place of a dim. */
static int64_t *counts_of(Arena *arena, const WindowDim *dim, const Runs *out, bool with_pad)
{
    const int64_t *global = kernel_globals(arena, out);
    int64_t *counts = arena_array(arena, int64_t, out->local_size);
    int64_t lo = with_pad ? -dim->before : 0, hi = dim->size + (with_pad ? dim->after : 0);
    for (int64_t i = 0; i < out->local_size; i++)
        for (int64_t k = 0; k < dim->kernel; k++) {
            int64_t at = global[i] * dim->stride + k * dim->dilation - dim->before;
            counts[i] += lo <= at && at < hi;
        }
    return counts;
}

static bool pool(DeviceBuild *build, const KernelCall *call, const void *row)
{
    const Local *image = kernel_input(call, 0), *out = call->output[0];
    Window window;
    Tables tables;
    Error err = {0};
    RuleCall rule = device_rule_call(call);
    size_t kind = 0;
    while (strcmp(pools[kind].name, row) != 0)
        kind++;
    if (!image || !dtype_on_device(image->dtype) || !dtype_is_float(image->dtype) ||
        image->dtype != out->dtype || (kernel_output(call, 1)) ||
        !window_read(&rule, 0, -1, &window, &err))
        return false;
    LocalWindow local = local_window(call->scratch, &window, image, &out->runs[2], NULL);
    if (!tables_of(&local, image, &tables))
        return false;
    bool with_pad = args_int(&rule, "count_include_pad", 0) != 0;
    KernelText k = kernel_text(build, "pool_%s", dtype_name(image->dtype));
    put_window_types(&k, image->dtype, tables.n);
    buf_printf(&k.text, "#define START %s\n#define MERGE %s\n#define LAST %s\n%s",
               pools[kind].start, pools[kind].merge, pools[kind].last, pool_body);
    ARGS_PLACES(&k, place_input(0, 0), place_output(0, 0));
    for (int d = 0; d < tables.n; d++) {
        const Runs *runs = &out->runs[2 + d];
        const int64_t *counts = counts_of(call->scratch, &window.dim[d], runs, with_pad);
        arg_table(&k, counts, runs->local_size * 8);
    }
    ARGS_I64(&k, shape_elements(&out->shape), tables.n_elements, tables.n_places, tables.pixels);
    arg_f64(&k, args_float(&rule, "p", 2));
    args_tables(&k, &tables);
    build_launch(&k, launch_over(shape_elements(&out->shape)));
    return true;
}

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

static DevicePlace build_arguments(DeviceBuild *build, const Local *image, const Tables *tables,
                                   int64_t n)
{
    DevicePlace to = place_workspace(build, n * 8);
    KernelText k = kernel_text(build, "max_places_%s", dtype_name(image->dtype));
    put_window_types(&k, image->dtype, tables->n);
    buf_puts(&k.text, argument_body);
    ARGS_PLACES(&k, place_input(0, 1), to);
    ARGS_I64(&k, n, tables->n_elements, tables->n_places, tables->pixels);
    args_tables(&k, tables);
    build_launch(&k, launch_over(n));
    return to;
}

/* What the gradient of a window needs: the windows, and which of them each place is in. */
typedef struct {
    Window window;
    Tables tables, turned;
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
    if (!tables_of(&local, made, &out->tables))
        return false;
    turn_tables(call->scratch, &local, d, made, &out->turned);
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
        const int64_t *counts = counts_of(call->scratch, &p.window.dim[i], runs, with_pad);
        arg_table(&k, counts, runs->local_size * 8);
    }
    int64_t n = shape_elements(&made->shape);
    ARGS_I64(&k, n, p.turned.n_elements, p.turned.n_places, p.tables.n_places);
    args_i64(&k, (size_t)p.tables.n, p.tables.n_out);
    arg_f64(&k, gradient->scale);
    args_tables(&k, &p.turned);
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
    Conv c = conv_of(call);
    c.bias = NULL;
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
static void build_weigh(DeviceBuild *build, const Conv *c, const Local *places, DevicePlace x,
                        DevicePlace d)
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
    args_tables(&k, &c->tables);
    build_launch(&k, (LaunchSize){{n < 65535 ? n : 65535, 1, 1}, 256, 0});
}

/* Columns of each image times its places; addends of images are rounded once, then summed. */
static bool build_weigh_product(DeviceBuild *build, const Conv *c, const Local *places,
                                DevicePlace d)
{
    bool own = is_own_columns(c);
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
            build_columns(build, c, b, p.n_batch, at);
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
    Conv c = {.image = call->input[x],
              .weight = call->output[0],
              .out = places,
              .at_image = place_input(0, x)};
    if (!fits(&c) || places->shape.dim[1] != c.weight->shape.dim[0] || group < 1)
        return false;
    LocalWindow local =
        local_window(call->scratch, &back.window, c.image, &places->runs[2], &c.weight->runs[2]);
    if (!tables_of(&local, c.image, &c.tables) || !conv_terms(call, &c, group, &channel, &terms))
        return false;
    c.n_in = c.weight->shape.dim[1];
    c.channels = channel;
    if (c.tables.n_places == 0 || c.image->shape.dim[0] == 0)
        build_zero(build, place_output(0, 0), local_bytes(c.weight));
    else if (group > 1 || !build_weigh_product(build, &c, places, place_input(0, d)))
        build_weigh(build, &c, places, c.at_image, place_input(0, d));
    return true;
}

const DeviceOp device_ops_window[] = {
    {"ConvGrad", conv_grad, NULL}, {"ConvWeightGrad", conv_weight_grad, NULL},
    {"Conv", conv, NULL},          {"ConvTranspose", conv_transpose, NULL},
    {"MaxPool", pool, "MaxPool"},  {"AveragePool", pool, "AveragePool"},
    {"LpPool", pool, "LpPool"},    {0},
};
