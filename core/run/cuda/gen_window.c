/* gen_window.c - kernels of sliding windows: Conv, ConvTranspose and pools.
 *
 * Tables per dim (kernels/window.h) map an output place and a window element to a place of
 * the image; they cover padding, strides and local parts.
 *
 *     one group of channels     the windows become columns in a workspace, an image or more at a
 *                               time, and cuBLASLt multiplies; a window of one element that takes
 *                               every place needs no columns
 *     several, or transposed    a thread an output
 *     pools                     a thread an output
 */
#include "core/run/cuda/gen_window.h"

#include "core/rules/args.h"

bool window_tables_of(const LocalWindow *window, const Local *image, WindowTables *out)
{
    *out = (WindowTables){.n = window->n, .n_places = 1, .n_elements = 1, .pixels = 1};
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

void args_window_tables(KernelText *k, const WindowTables *tables)
{
    args_i64(k, (size_t)tables->n, tables->n_out);
    args_i64(k, (size_t)tables->n, tables->n_kernel);
    for (int d = 0; d < tables->n; d++)
        arg_table(k, tables->place[d], tables->n_out[d] * tables->n_kernel[d] * 8);
}

void put_window_types(KernelText *k, Dtype dtype, int n)
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

void build_window_columns(DeviceBuild *build, const ConvWindows *c, int64_t batch, int64_t n_batch,
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
    args_window_tables(&k, &c->tables);
    build_launch(&k, launch_over(n));
}

bool windows_are_columns(const ConvWindows *c)
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
static bool lay_bias(DeviceBuild *build, const KernelCall *call, const ConvWindows *c)
{
    const Local *bias = c->bias, *out = c->out;
    if (bias->dtype != out->dtype || shape_elements(&bias->shape) != out->shape.dim[1])
        return false;
    Picks picks = picks_new(call->scratch, &out->shape);
    for (int64_t i = 0; i < picks.size[1]; i++)
        picks.from[1][i] = i;
    return build_move(build, out->dtype, &picks, place_output(0, 0), place_input(0, 2));
}

static bool build_product_of(DeviceBuild *build, const KernelCall *call, const ConvWindows *c)
{
    bool own = windows_are_columns(c), with_bias = c->bias != NULL;
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
            build_window_columns(build, c, b, p.n_batch, columns);
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

static bool build_direct(DeviceBuild *build, const ConvWindows *c, const int64_t *channel,
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
    args_window_tables(&k, &c->tables);
    build_launch(&k, launch_over(n));
    return true;
}

/* ---- Conv ---- */

bool windows_fit(const ConvWindows *c)
{
    return c->image && c->weight && c->out && c->image->dtype == c->weight->dtype &&
           c->image->dtype == c->out->dtype && dtype_on_device(c->image->dtype) &&
           dtype_is_float(c->image->dtype) && c->image->shape.n_dims > 2 &&
           c->image->shape.dim[0] == c->out->shape.dim[0];
}

static ConvWindows conv_of(const KernelCall *call)
{
    return (ConvWindows){.image = kernel_input(call, 0),
                         .weight = kernel_input(call, 1),
                         .out = call->output[0],
                         .at_image = place_input(0, 0),
                         .at_weight = place_input(0, 1),
                         .bias = call->first ? kernel_input(call, 2) : NULL};
}

bool window_terms(const KernelCall *call, const ConvWindows *c, int64_t group, int64_t **channel,
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

bool gather_windows(DeviceBuild *build, const KernelCall *call, const RuleCall *rule,
                    const Window *window, ConvWindows *c)
{
    int64_t group = args_int(rule, "group", 1), *channel, *terms;
    if (!windows_fit(c) || c->out->shape.dim[1] != c->weight->shape.dim[0])
        return false;
    LocalWindow local =
        local_window(call->scratch, window, c->image, &c->out->runs[2], &c->weight->runs[2]);
    if (!window_tables_of(&local, c->image, &c->tables) || group < 1 ||
        !window_terms(call, c, group, &channel, &terms))
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
    ConvWindows c = conv_of(call);
    Window window = {0};
    Error err = {0};
    RuleCall rule = device_rule_call(call);
    return window_read(&rule, 0, 1, &window, &err) &&
           gather_windows(build, call, &rule, &window, &c);
}

/* ---- ConvTranspose ---- */

void turn_windows(Arena *arena, const LocalWindow *window, const Local *image, const Local *out,
                  WindowTables *tables)
{
    int64_t step = 1, out_step = 1;
    *tables = (WindowTables){.n = window->n, .n_places = 1, .n_elements = 1, .pixels = 1};
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

bool scatter_windows(DeviceBuild *build, const KernelCall *call, const RuleCall *rule,
                     const Window *window, ConvWindows *c)
{
    int64_t group = args_int(rule, "group", 1);
    if (!windows_fit(c) || c->image->shape.dim[1] != c->weight->shape.dim[0] || group < 1)
        return false;
    LocalWindow local =
        local_window(call->scratch, window, c->out, &c->image->runs[2], &c->weight->runs[2]);
    turn_windows(call->scratch, &local, c->image, c->out, &c->tables);
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
    ConvWindows c = conv_of(call);
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

int64_t *window_counts(Arena *arena, const WindowDim *dim, const Runs *out, bool with_pad)
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
    WindowTables tables;
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
    if (!window_tables_of(&local, image, &tables))
        return false;
    bool with_pad = args_int(&rule, "count_include_pad", 0) != 0;
    KernelText k = kernel_text(build, "pool_%s", dtype_name(image->dtype));
    put_window_types(&k, image->dtype, tables.n);
    buf_printf(&k.text, "#define START %s\n#define MERGE %s\n#define LAST %s\n%s",
               pools[kind].start, pools[kind].merge, pools[kind].last, pool_body);
    ARGS_PLACES(&k, place_input(0, 0), place_output(0, 0));
    for (int d = 0; d < tables.n; d++) {
        const Runs *runs = &out->runs[2 + d];
        const int64_t *counts = window_counts(call->scratch, &window.dim[d], runs, with_pad);
        arg_table(&k, counts, runs->local_size * 8);
    }
    ARGS_I64(&k, shape_elements(&out->shape), tables.n_elements, tables.n_places, tables.pixels);
    arg_f64(&k, args_float(&rule, "p", 2));
    args_window_tables(&k, &tables);
    build_launch(&k, launch_over(shape_elements(&out->shape)));
    return true;
}

const DeviceOp device_ops_window[] = {

    {"Conv", conv, NULL},         {"ConvTranspose", conv_transpose, NULL},
    {"MaxPool", pool, "MaxPool"}, {"AveragePool", pool, "AveragePool"},
    {"LpPool", pool, "LpPool"},   {0},
};
