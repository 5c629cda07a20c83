/* rows_window.c - torch's operators on windows, borders and blocks of images. */
#include "core/peers/torch_export/windows.h"

/* ---- windows ---- */

ExportTerm windows_of(Call *c, ExportTerm x, int64_t dim, int64_t size, int64_t step,
                      int64_t dilation)
{
    Export *e = c->e;
    Attr attrs[] = {attr_int(e, "axis", dim), attr_int(e, "size", size), attr_int(e, "step", step),
                    attr_int(e, "dilation", dilation)};
    ExportTerm out = emit(c, "Windows", &x, 1, attrs, 4);
    out.rank = legal_rank(c, x.rank + 1);
    return out;
}

static void make_unfold(Call *c)
{
    ExportTerm x = call_tensor(c, "self");
    if (x.rank == 0) {
        call_fail(c, "it has no dim");
        return;
    }
    ExportTerm out = windows_of(c, x, call_axis(c, "dimension", x.rank), call_int(c, "size"),
                                call_int(c, "step"), 1);
    call_results(c, &out, 1);
}

ExportTerm pad_dims(Call *c, ExportTerm x, const int64_t *before, const int64_t *after,
                    const char *mode)
{
    int64_t pads[2 * DIMS_MAX];
    bool none = true;
    for (int d = 0; d < x.rank; d++) {
        pads[d] = before[d];
        pads[x.rank + d] = after[d];
        none &= before[d] == 0 && after[d] == 0;
    }
    if (none)
        return x;
    Attr attr = attr_text(c->e, "mode", str_from(mode));
    ExportTerm in[] = {x, emit_ints(c->e, pads, 2 * x.rank),
                       emit_constant(c, term_int(0), (Dtype)x.dtype)};
    ExportTerm out = emit(c, "Pad", in, 3, &attr, 1);
    out.rank = x.rank;
    return out;
}

/* Two numbers of an argument that may be one for both. */
static bool two(Call *c, const char *arg, int64_t out[2])
{
    int n = call_ints(c, arg, out, 2);
    out[1] = n == 1 ? out[0] : out[1];
    return n == 1 || n == 2 || call_fail(c, "its argument '%s' is not one for each dim", arg);
}

typedef struct {
    int64_t kernel[2], dilation[2], padding[2], stride[2];
} Blocks;

static bool read_blocks(Call *c, Blocks *out)
{
    return two(c, "kernel_size", out->kernel) && two(c, "dilation", out->dilation) &&
           two(c, "padding", out->padding) && two(c, "stride", out->stride);
}

/* [n, c, h, w] -> [n, (c kh kw), (oh ow)] */
static void make_im2col(Call *c)
{
    Blocks b;
    ExportTerm x = call_tensor(c, "self");
    bool batched = x.rank == 4;
    if (!read_blocks(c, &b))
        return;
    ExportTerm rows = size_of(c, x, batched);
    if (x.rank < 3 || rows.kind != TERM_NUMBER) {
        call_fail(c, "its channels are not known");
        return;
    }
    ExportTerm batch = batched ? size_of(c, x, 0) : term_int(1);
    x = batched ? x : unsqueeze(c, x, 0);
    int64_t border[] = {0, 0, b.padding[0], b.padding[1]};
    x = pad_dims(c, x, border, border, "constant");
    for (int d = 0; d < 2; d++)
        x = windows_of(c, x, 2 + d, b.kernel[d], b.stride[d], b.dilation[d]);
    Terms sizes = {0};
    add_size(c, &sizes, batch);
    add_size(c, &sizes, term_int(rows.i * b.kernel[0] * b.kernel[1]));
    add_size(c, &sizes, term_int(-1));
    ExportTerm out = reshape(c, transpose(c, x, (int64_t[]){0, 1, 4, 5, 2, 3}), &sizes);
    out = batched ? out : squeeze(c, out, 0);
    call_results(c, &out, 1);
}

static void make_col2im(Call *c)
{
    Export *e = c->e;
    Blocks b;
    int64_t image[2];
    ExportTerm x = call_tensor(c, "self");
    bool batched = x.rank == 3;
    if (!read_blocks(c, &b) || !two(c, "output_size", image))
        return;
    Attr attrs[] = {attr_ints(e, "dilations", b.dilation, 2),
                    attr_ints(e, "pads",
                              (int64_t[]){b.padding[0], b.padding[1], b.padding[0], b.padding[1]},
                              4),
                    attr_ints(e, "strides", b.stride, 2)};
    ExportTerm in[] = {batched ? x : unsqueeze(c, x, 0), emit_ints(e, image, 2),
                       emit_ints(e, b.kernel, 2)};
    ExportTerm out = emit(c, "Col2Im", in, 3, attrs, 3);
    out.rank = 4;
    out = batched ? out : squeeze(c, out, 0);
    call_results(c, &out, 1);
}

/* ---- borders ---- */

/* Pairs from the last dim on. */
static void make_border(Call *c)
{
    int64_t pairs[2 * DIMS_MAX], before[DIMS_MAX] = {0}, after[DIMS_MAX] = {0};
    ExportTerm x = call_tensor(c, "self");
    int n = call_ints(c, "padding", pairs, 2 * DIMS_MAX);
    if (n < 0 || n % 2 != 0 || n / 2 > x.rank) {
        call_fail(c, "it pads %d sides of %d dims", n, x.rank);
        return;
    }
    for (int i = 0; i < n / 2; i++) {
        before[x.rank - 1 - i] = pairs[2 * i];
        after[x.rank - 1 - i] = pairs[2 * i + 1];
    }
    bool reflects = str_starts(c->op, STR("reflection"));
    ExportTerm out = pad_dims(c, x, before, after, reflects ? "reflect" : "edge");
    call_results(c, &out, 1);
}

/* ---- blocks ---- */

/* [.., c, (h r), (w r)] -> [.., (c r r), h, w] */
static void make_pixel_unshuffle(Call *c)
{
    ExportTerm x = call_tensor(c, "self");
    int64_t r = call_int(c, "downscale_factor"), size[3], perm[DIMS_MAX];
    int lead = x.rank - 3;
    if (lead < 0 || lead + 5 > DIMS_MAX || r < 1) {
        call_fail(c, "it has %d dims", x.rank);
        return;
    }
    for (int d = 0; d < 3; d++) {
        ExportTerm known = size_of(c, x, lead + d);
        size[d] = known.i;
        if (known.kind != TERM_NUMBER) {
            call_fail(c, "the size of its image is not known");
            return;
        }
    }
    Terms apart = {0}, together = {0};
    add_sizes(c, &apart, x, 0, lead);
    add_sizes(c, &together, x, 0, lead);
    for (int d = 0; d < lead; d++)
        perm[d] = d;
    int64_t parts[] = {size[0], size[1] / r, r, size[2] / r, r};
    int64_t whole[] = {size[0] * r * r, size[1] / r, size[2] / r};
    static const int order[] = {0, 2, 4, 1, 3};
    for (int i = 0; i < 5; i++) {
        perm[lead + i] = lead + order[i];
        add_size(c, &apart, term_int(parts[i]));
    }
    for (int i = 0; i < 3; i++)
        add_size(c, &together, term_int(whole[i]));
    ExportTerm out = reshape(c, transpose(c, reshape(c, x, &apart), perm), &together);
    call_results(c, &out, 1);
}

/* Channels (g c) become (c g). */
static void make_channel_shuffle(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), channels = size_of(c, x, 1);
    int64_t groups = call_int(c, "groups");
    Terms apart = {0}, together = {0};
    if (channels.kind != TERM_NUMBER || x.rank < 2 || groups < 1) {
        call_fail(c, "its channels are not known");
        return;
    }
    for (int d = 0; d < x.rank; d++) {
        add_size(c, &together, size_of(c, x, d));
        if (d != 1) {
            add_size(c, &apart, size_of(c, x, d));
            continue;
        }
        add_size(c, &apart, term_int(groups));
        add_size(c, &apart, term_int(channels.i / groups));
    }
    ExportTerm out = reshape(c, swap_dims(c, reshape(c, x, &apart), 1, 2), &together);
    call_results(c, &out, 1);
}

/* ---- pools by places ---- */

typedef struct {
    int n;                          /* spatial dims */
    int64_t in[3], out[3], most[3]; /* sizes, and the longest window */
    int64_t places, elements;       /* windows, and elements of each */
} Adaptive;

/* The window of element o of `out` over `in` elements. */
static int64_t window_start(int64_t in, int64_t out, int64_t o)
{
    return o * in / out;
}

static int64_t window_end(int64_t in, int64_t out, int64_t o)
{
    return ((o + 1) * in + out - 1) / out;
}

static bool read_adaptive(Call *c, ExportTerm x, Adaptive *a)
{
    *a = (Adaptive){.places = 1, .elements = 1};
    a->n = call_ints(c, "output_size", a->out, 3);
    for (int d = 0; d < a->n; d++) {
        ExportTerm size = size_of(c, x, x.rank - a->n + d);
        if (size.kind != TERM_NUMBER || size.i < 1 || a->out[d] < 1)
            return call_fail(c, "the size of its image is not known");
        a->in[d] = size.i;
        for (int64_t o = 0; o < a->out[d]; o++) {
            int64_t n = window_end(size.i, a->out[d], o) - window_start(size.i, a->out[d], o);
            a->most[d] = n > a->most[d] ? n : a->most[d];
        }
        a->places *= a->out[d];
        a->elements *= a->most[d];
    }
    return a->n > 0 && a->places * a->elements < 1 << 22;
}

/* The place in its plane of element k of window o; a window that is shorter than the longest
 * repeats its last element, which changes neither its maximum nor the first place that has it. */
static int64_t adaptive_place(const Adaptive *a, int64_t o, int64_t k)
{
    int64_t place = 0, step = 1;
    for (int d = a->n - 1; d >= 0; d--) {
        int64_t window = o % a->out[d];
        int64_t at = window_start(a->in[d], a->out[d], window) + k % a->most[d];
        int64_t last = window_end(a->in[d], a->out[d], window) - 1;
        place += (at < last ? at : last) * step;
        step *= a->in[d];
        o /= a->out[d];
        k /= a->most[d];
    }
    return place;
}

static void make_adaptive_max(Call *c)
{
    Export *e = c->e;
    ExportTerm x = call_tensor(c, "self");
    Adaptive a;
    Terms plane = {0}, table = {0}, sizes = {0};
    if (!read_adaptive(c, x, &a)) {
        call_fail(c, "its windows have too many elements");
        return;
    }
    int lead = x.rank - a.n;
    add_sizes(c, &plane, x, 0, lead);
    add_sizes(c, &sizes, x, 0, lead);
    add_size(c, &plane, term_int(-1));
    for (int d = 0; d < a.n; d++)
        add_size(c, &sizes, term_int(a.out[d]));
    int64_t *places = arena_array(e->scratch, int64_t, a.places * a.elements);
    for (int64_t i = 0; i < a.places * a.elements; i++)
        places[i] = adaptive_place(&a, i / a.elements, i % a.elements);
    add_size(c, &table, term_int(a.places));
    add_size(c, &table, term_int(a.elements));
    ExportTerm at = reshape(c, emit_ints(e, places, (int)(a.places * a.elements)), &table);
    Attr axis = attr_int(e, "axis", lead), last = attr_int(e, "axis", -1);
    ExportTerm flat = reshape(c, x, &plane), in[] = {flat, at};
    ExportTerm windows = emit(c, "Gather", in, 2, &axis, 1); /* [.., places, elements] */
    windows.rank = legal_rank(c, lead + 2);
    ExportTerm first = emit(c, "ArgMax", &windows, 1, &last, 1); /* [.., places, 1] */
    ExportTerm lines = expand(c, at, emit1(c, "Shape", windows), lead + 2);
    ExportTerm found = elements_at(c, lines, first, -1);
    found.rank = windows.rank;
    found = squeeze(c, found, lead + 1);
    ExportTerm value = elements_at(c, flat, found, lead);
    ExportTerm out[] = {reshape(c, value, &sizes), reshape(c, found, &sizes)};
    call_results(c, out, 2);
}

/* Each element goes to its place in the plane of the output. */
static void make_max_unpool(Call *c)
{
    Export *e = c->e;
    ExportTerm x = call_tensor(c, "self"), at = call_tensor(c, "indices");
    int64_t size[3], plane = 1;
    int n = call_ints(c, "output_size", size, 3), lead = x.rank - n;
    Terms lines = {0}, zeros = {0}, sizes = {0};
    if (n < 1 || lead < 0) {
        call_fail(c, "its output has %d sizes", n);
        return;
    }
    add_sizes(c, &lines, x, 0, lead);
    add_sizes(c, &zeros, x, 0, lead);
    add_sizes(c, &sizes, x, 0, lead);
    for (int d = 0; d < n; d++) {
        plane *= size[d];
        add_size(c, &sizes, term_int(size[d]));
    }
    add_size(c, &lines, term_int(-1));
    add_size(c, &zeros, term_int(plane));
    Attr axis = attr_int(e, "axis", lead);
    ExportTerm in[] = {emit_filled(c, emit_sizes(c, &zeros), term_int(0), (Dtype)x.dtype, lead + 1),
                       reshape(c, at, &lines), reshape(c, x, &lines)};
    ExportTerm flat = emit(c, "ScatterElements", in, 3, &axis, 1), out = reshape(c, flat, &sizes);
    call_results(c, &out, 1);
}

/* ---- means of parts ---- */

ExportTerm adaptive_weights(Call *c, int64_t in, int64_t out, Dtype dtype)
{
    Export *e = c->e;
    Shape shape = {.n_dims = 2, .dim = {in, out}};
    float *weights = arena_array(e->arena, float, in *out);
    for (int64_t o = 0; o < out; o++) {
        int64_t start = window_start(in, out, o), end = window_end(in, out, o);
        for (int64_t i = start; i < end; i++)
            weights[i * out + o] = 1.0F / (float)(end - start);
    }
    int32_t tensor = graph_new_tensor(e->builder, STR("constant"));
    graph_add_initializer(
        e->builder, tensor, DT_F32, &shape,
        (TensorData){.form = DATA_RAW,
                     .bytes = {(const char *)weights, (size_t)(in * out) * sizeof *weights}});
    return emit_cast(c, term_tensor(tensor, DT_F32, 2), dtype);
}

ExportTerm multiply_dim(Call *c, ExportTerm x, int64_t dim, ExportTerm matrix)
{
    int64_t last = x.rank - 1;
    ExportTerm made = emit2(c, "MatMul", dim == last ? x : swap_dims(c, x, dim, last), matrix);
    made.rank = x.rank;
    return dim == last ? made : swap_dims(c, made, dim, last);
}

static void make_adaptive_average(Call *c)
{
    enum { ELEMENTS_MAX = 1 << 20 };
    int64_t out[DIMS_MAX], axes[DIMS_MAX];
    ExportTerm x = call_tensor(c, "self");
    int n = call_ints(c, "output_size", out, DIMS_MAX);
    bool ones = true;
    for (int i = 0; i < n; i++) {
        axes[i] = x.rank - n + i;
        ones &= out[i] == 1;
    }
    if (ones && n > 0) {
        ExportTerm in[] = {x, emit_ints(c->e, axes, n)},
                   mean = emit(c, "ReduceMean", in, 2, NULL, 0);
        call_results(c, &mean, 1);
        return;
    }
    for (int i = 0; i < n; i++) {
        int64_t size = x.meta < 0 ? -1 : meta_dim(c->e, call_tensor(c, "self").meta, (int)axes[i]);
        if (size <= 0 || out[i] <= 0 || size > ELEMENTS_MAX / out[i]) {
            call_fail(c, "it averages a dim of unknown size");
            return;
        }
        int32_t meta = x.meta;
        if (size != out[i])
            x = multiply_dim(c, x, axes[i], adaptive_weights(c, size, out[i], (Dtype)x.dtype));
        x.meta = meta;
    }
    call_results(c, &x, 1);
}

const TorchRow rows_window[] = {
    {"adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d _adaptive_avg_pool2d "
     "_adaptive_avg_pool3d",
     "self output_size", NULL, make_adaptive_average},
    {"unfold", "self dimension size step", NULL, make_unfold},
    {"im2col", "self kernel_size dilation padding stride", NULL, make_im2col},
    {"col2im", "self output_size kernel_size dilation padding stride", NULL, make_col2im},
    {"reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d "
     "replication_pad3d",
     "self padding", NULL, make_border},
    {"pixel_unshuffle", "self downscale_factor", NULL, make_pixel_unshuffle},
    {"channel_shuffle", "self groups", NULL, make_channel_shuffle},
    {"adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d", "self output_size", NULL,
     make_adaptive_max},
    {"max_unpool2d max_unpool3d", "self indices output_size stride= padding=", NULL,
     make_max_unpool},
    {0},
};
