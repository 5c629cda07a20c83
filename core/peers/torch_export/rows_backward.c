/* rows_backward.c - torch's operators that make gradients, as the sums and products that they are.
 */
#include "core/peers/torch_export/windows.h"

/* With the normalized x^ = (x - mean) * rstd and g = dy * weight:
 *
 *     dx = rstd * (g - mean(g) - x^ * mean(g x^))    dweight = sum(dy x^)    dbias = sum(dy)
 *
 * means over the normalized dims, sums over the others. */
static void make_layer_norm_backward(Call *c)
{
    Export *e = c->e;
    ExportTerm dy = call_tensor(c, "grad_out"), x = call_tensor(c, "input"), out[3];
    ExportTerm mean = call_tensor(c, "mean"), rstd = call_tensor(c, "rstd"),
               weight = call_term(c, "weight");
    Terms sizes = {0};
    int64_t inner[DIMS_MAX], outer[DIMS_MAX];
    call_terms(c, "normalized_shape", &sizes);
    int n_outer = x.rank - sizes.n;
    if (n_outer < 0) {
        call_fail(c, "it normalizes %d dims of %d", sizes.n, x.rank);
        return;
    }
    for (int d = 0; d < x.rank; d++)
        *(d < n_outer ? &outer[d] : &inner[d - n_outer]) = d;
    ExportTerm over = emit_ints(e, inner, sizes.n), rest = emit_ints(e, outer, n_outer);
    ExportTerm normal = emit2(c, "Mul", emit2(c, "Sub", x, mean), rstd);
    ExportTerm g = term_is(weight) ? emit2(c, "Mul", dy, weight) : dy;
    ExportTerm first[] = {g, over}, second[] = {emit2(c, "Mul", g, normal), over};
    ExportTerm mean_g = emit(c, "ReduceMean", first, 2, NULL, 0);
    ExportTerm mean_gx = emit(c, "ReduceMean", second, 2, NULL, 0);
    ExportTerm inside =
        emit2(c, "Sub", emit2(c, "Sub", g, mean_g), emit2(c, "Mul", normal, mean_gx));
    Attr drop = attr_int(e, "keepdims", 0);
    ExportTerm products[] = {emit2(c, "Mul", dy, normal), rest}, sums[] = {dy, rest};
    out[0] = emit2(c, "Mul", rstd, inside);
    out[1] = n_outer == 0 ? products[0] : emit(c, "ReduceSum", products, 2, &drop, 1);
    out[2] = n_outer == 0 ? dy : emit(c, "ReduceSum", sums, 2, &drop, 1);
    call_results(c, out, 3);
}

/* Rows of the gradient are added up where they were read. */
static void make_embedding_backward(Call *c)
{
    Export *e = c->e;
    ExportTerm grad = call_tensor(c, "grad_output"),
               ids = emit_cast(c, call_tensor(c, "indices"), DT_I64);
    Terms flat = {0}, shape = {0};
    int64_t padding = call_int(c, "padding_idx");
    if (call_bool(c, "scale_grad_by_freq")) {
        call_fail(c, "it scales gradients by frequency");
        return;
    }
    ExportTerm width = size_of(c, grad, grad.rank - 1);
    add_size(c, &flat, term_int(-1));
    add_size(c, &flat, width);
    add_size(c, &shape, call_term(c, "num_weights"));
    add_size(c, &shape, width);
    ExportTerm table = emit_filled(c, emit_sizes(c, &shape), term_int(0), (Dtype)grad.dtype, 2);
    ExportTerm rows = reshape(c, grad, &flat);
    flat.at[1] = term_int(1);
    ExportTerm places = reshape(c, ids, &flat);
    if (padding >= 0) {
        ExportTerm in[] = {emit2(c, "Equal", places, term_int(padding)), term_number(0), rows};
        rows = emit(c, "Where", in, 3, NULL, 0);
    }
    Attr attr = attr_text(e, "reduction", STR("add"));
    ExportTerm in[] = {table, places, rows}, out = emit(c, "ScatterND", in, 3, &attr, 1);
    call_results(c, &out, 1);
}

/* -dloss * weight of the label, at the label's class; 0 where the label does not count. */
static void make_nll_backward(Call *c)
{
    Export *e = c->e;
    ExportTerm dloss = call_tensor(c, "grad_output"), x = call_tensor(c, "self");
    ExportTerm target = call_tensor(c, "target"), weight = call_term(c, "weight");
    int64_t classes = x.rank > 1 ? 1 : 0, reduction = call_int(c, "reduction");
    ExportTerm line = range(c, term_int(0), size_of(c, x, classes), term_int(1), DT_I64);
    ExportTerm labels = unsqueeze(c, target, classes);
    ExportTerm counts =
        emit1(c, "Not", emit2(c, "Equal", labels, term_int(call_int(c, "ignore_index"))));
    ExportTerm hit =
        emit2(c, "And", emit2(c, "Equal", labels, reshape_along(c, line, classes, x.rank)), counts);
    if (reduction == 1)
        dloss = emit2(c, "Div", dloss, call_tensor(c, "total_weight"));
    else if (reduction == 0)
        dloss = unsqueeze(c, dloss, classes);
    ExportTerm value = emit1(c, "Neg", dloss);
    if (term_is(weight))
        value = emit2(c, "Mul", value, reshape_along(c, weight, classes, x.rank));
    ExportTerm in[] = {hit, value, emit_constant(c, term_number(0), (Dtype)x.dtype)};
    ExportTerm out = emit(c, "Where", in, 3, NULL, 0);
    (void)e;
    call_results(c, &out, 1);
}

/* ---- convolutions ---- */

typedef struct {
    int n;                                                     /* spatial dims */
    int64_t stride[3], pad[3], dilation[3], kernel[3], groups; /* kernel: sizes of the weight */
} Sliding;

static bool read_numbers(Call *c, const char *arg, int n, int64_t fallback, int64_t *out)
{
    int given = call_given(c, arg) ? call_ints(c, arg, out, 3) : 0;
    for (int d = given; d < n && given >= 0; d++)
        out[d] = given == 0 ? fallback : out[0];
    return given >= 0;
}

static Attr border_attr(Call *c, const Sliding *s, const int64_t *after)
{
    int64_t pads[6];
    for (int d = 0; d < s->n; d++) {
        pads[d] = s->pad[d];
        pads[s->n + d] = after[d];
    }
    return attr_ints(c->e, "pads", pads, 2 * s->n);
}

/* Each element of x times the weight [channels, out / groups, ..], added up at the places of its
 * window in an image of those sizes. */
static ExportTerm spread(Call *c, ExportTerm x, ExportTerm weight, const Sliding *s,
                         const int64_t *out, const int64_t *size)
{
    Export *e = c->e;
    int64_t after[3], more[3];
    for (int d = 0; d < s->n; d++) {
        int64_t reach = s->stride[d] * (out[d] - 1) + s->dilation[d] * (s->kernel[d] - 1) + 1;
        int64_t over = reach - s->pad[d] - size[d];
        after[d] = over > 0 ? over : 0;
        more[d] = over < 0 ? -over : 0;
    }
    Attr attrs[] = {attr_ints(e, "strides", s->stride, s->n),
                    attr_ints(e, "dilations", s->dilation, s->n), attr_int(e, "group", s->groups),
                    border_attr(c, s, after), attr_ints(e, "output_padding", more, s->n)};
    ExportTerm in[] = {x, weight}, made = emit(c, "ConvTranspose", in, 2, attrs, 5);
    made.rank = legal_rank(c, s->n + 2);
    return made;
}

static ExportTerm convolved(Call *c, ExportTerm x, ExportTerm weight, const Sliding *s)
{
    Export *e = c->e;
    Attr attrs[] = {attr_ints(e, "strides", s->stride, s->n),
                    attr_ints(e, "dilations", s->dilation, s->n), attr_int(e, "group", s->groups),
                    border_attr(c, s, s->pad)};
    ExportTerm in[] = {x, weight}, made = emit(c, "Conv", in, 2, attrs, 4);
    made.rank = legal_rank(c, s->n + 2);
    return made;
}

/* The sum over batch and places of an element of the image times one behind the window: a
 * convolution of images whose batch is what is summed over, by steps of the dilation. */
static ExportTerm weight_gradient(Call *c, ExportTerm image, ExportTerm behind, const Sliding *s)
{
    Sliding turned = *s;
    for (int d = 0; d < s->n; d++) {
        turned.stride[d] = s->dilation[d];
        turned.dilation[d] = s->stride[d];
    }
    ExportTerm out = convolved(c, swap_dims(c, image, 0, 1), swap_dims(c, behind, 0, 1), &turned);
    for (int d = 0; d < s->n; d++)
        out = slice(c, out, 2 + d, no_term(), term_int(s->kernel[d]), 1);
    return swap_dims(c, out, 0, 1);
}

/* The same by groups of channels: each window of the image by its elements, times what is behind
 * it. */
static ExportTerm grouped_gradient(Call *c, ExportTerm image, ExportTerm behind, const Sliding *s)
{
    static const char *const equations[] = {"ngaxu,ngbx->gbau", "ngaxyuv,ngbxy->gbauv",
                                            "ngaxyzuvw,ngbxyz->gbauvw"};
    int64_t border[5] = {0};
    ExportTerm inside = size_of(c, image, 1), outside = size_of(c, behind, 1);
    Terms split = {0}, split_behind = {0}, whole = {0};
    for (int d = 0; d < s->n; d++)
        border[2 + d] = s->pad[d];
    ExportTerm all = pad_dims(c, image, border, border, "constant");
    for (int d = 0; d < s->n; d++)
        all = windows_of(c, all, 2 + d, s->kernel[d], s->stride[d], s->dilation[d]);
    Terms *apart[] = {&split, &split_behind};
    for (int i = 0; i < 2; i++) {
        add_size(c, apart[i], size_of(c, i ? behind : image, 0));
        add_size(c, apart[i], term_int(s->groups));
        add_size(c, apart[i], term_int((i ? outside.i : inside.i) / s->groups));
        for (int d = 0; d < s->n; d++)
            add_size(c, apart[i], size_of(c, behind, 2 + d));
    }
    add_size(c, &whole, outside);
    add_size(c, &whole, term_int(inside.i / s->groups));
    for (int d = 0; d < s->n; d++) {
        add_size(c, &split, term_int(s->kernel[d]));
        add_size(c, &whole, term_int(s->kernel[d]));
    }
    Attr attr = attr_text(c->e, "equation", str_from(equations[s->n - 1]));
    ExportTerm in[] = {reshape(c, all, &split), reshape(c, behind, &split_behind)};
    return reshape(c, emit(c, "Einsum", in, 2, &attr, 1), &whole);
}

/* Known sizes of the spatial dims. */
static bool spatial_sizes(Call *c, ExportTerm x, int n, int64_t *out)
{
    for (int d = 0; d < n; d++) {
        ExportTerm size = size_of(c, x, x.rank - n + d);
        if (size.kind != TERM_NUMBER)
            return call_fail(c, "the size of its image is not known");
        out[d] = size.i;
    }
    return true;
}

static bool read_sliding(Call *c, ExportTerm weight, Sliding *s)
{
    *s = (Sliding){.n = weight.rank - 2, .groups = call_int(c, "groups")};
    if (s->n < 1 || s->n > 3)
        return call_fail(c, "it has %d spatial dims", s->n);
    return read_numbers(c, "stride", s->n, 1, s->stride) &&
           read_numbers(c, "padding", s->n, 0, s->pad) &&
           read_numbers(c, "dilation", s->n, 1, s->dilation) &&
           spatial_sizes(c, weight, s->n, s->kernel);
}

/* Gradients of what is convolved, of the weight and of the bias, as far as they are asked for. */
static void make_convolution_backward(Call *c)
{
    ExportTerm dy = call_tensor(c, "grad_output"), x = call_tensor(c, "input");
    ExportTerm weight = call_tensor(c, "weight"), out[3] = {no_term(), no_term(), no_term()};
    Sliding s;
    int64_t image[3], made[3], axes[4], wanted[3];
    bool transposed = call_bool(c, "transposed");
    if (!read_sliding(c, weight, &s) || call_ints(c, "output_mask", wanted, 3) != 3 ||
        !spatial_sizes(c, x, s.n, image) || !spatial_sizes(c, dy, s.n, made))
        return;
    if (x.rank != weight.rank || (s.groups > 1 && (size_of(c, x, 1).kind != TERM_NUMBER ||
                                                   size_of(c, dy, 1).kind != TERM_NUMBER))) {
        call_fail(c, "it has no batch, or an unknown number of channels");
        return;
    }
    if (wanted[0])
        out[0] = transposed ? convolved(c, dy, weight, &s) : spread(c, dy, weight, &s, made, image);
    ExportTerm full = transposed ? dy : x, behind = transposed ? x : dy;
    if (wanted[1])
        out[1] = s.groups == 1 ? weight_gradient(c, full, behind, &s)
                               : grouped_gradient(c, full, behind, &s);
    for (int d = 0; d <= s.n; d++)
        axes[d] = d == 0 ? 0 : 1 + d;
    if (wanted[2])
        out[2] = fold_dims(c, "ReduceSum", dy, axes, s.n + 1, false);
    call_results(c, out, 3);
}

/* ---- pools ---- */

/* How many elements of the image, or of it with its border, each window has: [out]. */
static ExportTerm window_counts(Call *c, const Sliding *s, int d, int64_t out, int64_t size,
                                bool border, Dtype dtype)
{
    int64_t *n = arena_array(c->e->scratch, int64_t, out);
    int64_t low = border ? -s->pad[d] : 0, high = size + (border ? s->pad[d] : 0);
    for (int64_t o = 0; o < out; o++) {
        int64_t from = o * s->stride[d] - s->pad[d], to = from + s->kernel[d];
        from = from < low ? low : from;
        to = to > high ? high : to;
        n[o] = to > from ? to - from : 1;
    }
    return emit_cast(c, emit_ints(c->e, n, (int)out), dtype);
}

/* A share of each gradient for every element of its window: a weight of ones. */
static void make_average_backward(Call *c)
{
    ExportTerm dy = call_tensor(c, "grad_output"), x = call_tensor(c, "self");
    Sliding s = {.n = str_find(c->op, STR("3d")) >= 0 ? 3 : 2, .groups = 1};
    int64_t size[3], out[3];
    bool border = call_bool(c, "count_include_pad"), divides = call_given(c, "divisor_override");
    if (!read_numbers(c, "kernel_size", s.n, 1, s.kernel) ||
        !read_numbers(c, "padding", s.n, 0, s.pad) || !spatial_sizes(c, x, s.n, size) ||
        !spatial_sizes(c, dy, s.n, out))
        return;
    memcpy(s.stride, s.kernel, sizeof s.stride);
    int64_t given[3];
    if (call_given(c, "stride") && call_ints(c, "stride", given, 3) > 0 &&
        !read_numbers(c, "stride", s.n, 1, s.stride))
        return;
    Terms one = {0}, weight = {0}, shape = {0};
    ExportTerm each = divides ? emit2(c, "Div", dy, call_term(c, "divisor_override")) : dy;
    add_size(c, &one, term_int(-1));
    add_size(c, &one, term_int(1));
    add_size(c, &weight, term_int(1));
    add_size(c, &weight, term_int(1));
    add_sizes(c, &shape, x, 0, x.rank);
    for (int d = 0; d < s.n; d++) {
        s.dilation[d] = 1;
        add_size(c, &one, term_int(out[d]));
        add_size(c, &weight, term_int(s.kernel[d]));
        ExportTerm count = window_counts(c, &s, d, out[d], size[d], border, (Dtype)dy.dtype);
        if (!divides)
            each = emit2(c, "Div", each, reshape_along(c, count, x.rank - s.n + d, x.rank));
    }
    ExportTerm ones = emit_filled(c, emit_sizes(c, &weight), term_int(1), (Dtype)dy.dtype, s.n + 2);
    ExportTerm dx = reshape(c, spread(c, reshape(c, each, &one), ones, &s, out, size), &shape);
    call_results(c, &dx, 1);
}

static void make_adaptive_average_backward(Call *c)
{
    ExportTerm dx = call_tensor(c, "grad_output"), x = call_tensor(c, "self");
    int64_t size[3], out[3];
    int n = str_find(c->op, STR("3d")) >= 0 ? 3 : 2;
    if (!spatial_sizes(c, x, n, size) || !spatial_sizes(c, dx, n, out))
        return;
    for (int d = 0; d < n; d++) {
        if (size[d] > (1 << 20) / (out[d] > 0 ? out[d] : 1)) {
            call_fail(c, "it averages too many elements");
            return;
        }
        ExportTerm back = swap_dims(c, adaptive_weights(c, size[d], out[d], (Dtype)dx.dtype), 0, 1);
        dx = multiply_dim(c, dx, x.rank - n + d, back);
    }
    call_results(c, &dx, 1);
}

/* Each gradient is added at the place of the largest element, in its plane. */
static void make_max_backward(Call *c)
{
    Export *e = c->e;
    ExportTerm dy = call_tensor(c, "grad_output"), x = call_tensor(c, "self");
    Terms flat = {0}, plane = {0}, shape = {0};
    int n = str_find(c->op, STR("3d")) >= 0 ? 3 : 2, lead = x.rank - n;
    int64_t size[3], all = 1;
    if (lead < 0 || !spatial_sizes(c, x, n, size))
        return;
    for (int d = 0; d < n; d++)
        all *= size[d];
    add_sizes(c, &shape, x, 0, x.rank);
    add_sizes(c, &flat, x, 0, lead);
    add_sizes(c, &plane, x, 0, lead);
    add_size(c, &flat, term_int(-1));
    add_size(c, &plane, term_int(all));
    Attr attrs[] = {attr_int(e, "axis", lead), attr_text(e, "reduction", STR("add"))};
    ExportTerm in[] = {
        emit_filled(c, emit_sizes(c, &plane), term_int(0), (Dtype)dy.dtype, lead + 1),
        reshape(c, call_tensor(c, "indices"), &flat), reshape(c, dy, &flat)};
    ExportTerm dx = reshape(c, emit(c, "ScatterElements", in, 3, attrs, 2), &shape);
    call_results(c, &dx, 1);
}

/* ---- norms ---- */

/* dx = rstd * (g - mean(g) - x^ * mean(g x^)), means over those axes. */
static ExportTerm normalized_gradient(Call *c, ExportTerm g, ExportTerm normal, ExportTerm rstd,
                                      const int64_t *axes, int n)
{
    ExportTerm mean = fold_dims(c, "ReduceMean", g, axes, n, true);
    ExportTerm along = fold_dims(c, "ReduceMean", emit2(c, "Mul", g, normal), axes, n, true);
    ExportTerm inside = emit2(c, "Sub", emit2(c, "Sub", g, mean), emit2(c, "Mul", normal, along));
    return emit2(c, "Mul", rstd, inside);
}

/* Groups of channels: [batch, groups, channels of one, places]. */
static void make_group_norm_backward(Call *c)
{
    ExportTerm dy = call_tensor(c, "grad_out"), x = call_tensor(c, "input"), out[3];
    ExportTerm weight = call_term(c, "weight"), channels = size_of(c, x, 1), groups;
    Terms apart = {0}, one = {0}, shape = {0}, line = {0};
    groups = call_term(c, "group");
    if (channels.kind != TERM_NUMBER || groups.kind != TERM_NUMBER || groups.i < 1) {
        call_fail(c, "its channels are not known");
        return;
    }
    ExportTerm sizes[] = {size_of(c, x, 0), groups, term_int(channels.i / groups.i), term_int(-1)};
    for (int d = 0; d < 4; d++) {
        add_size(c, &apart, sizes[d]);
        add_size(c, &one, d < 2 ? sizes[d] : term_int(1));
        add_size(c, &line, d == 0 || d == 3 ? term_int(1) : sizes[d]);
    }
    add_sizes(c, &shape, x, 0, x.rank);
    ExportTerm mean = reshape(c, call_tensor(c, "mean"), &one);
    ExportTerm rstd = reshape(c, call_tensor(c, "rstd"), &one);
    ExportTerm grad = reshape(c, dy, &apart);
    ExportTerm normal = emit2(c, "Mul", emit2(c, "Sub", reshape(c, x, &apart), mean), rstd);
    ExportTerm g = term_is(weight) ? emit2(c, "Mul", grad, reshape(c, weight, &line)) : grad;
    out[0] = normalized_gradient(c, g, normal, rstd, (int64_t[]){2, 3}, 2);
    out[0] = reshape(c, out[0], &shape);
    Terms all = {0};
    add_size(c, &all, channels);
    for (int i = 0; i < 2; i++) {
        ExportTerm sum = i == 0 ? emit2(c, "Mul", grad, normal) : grad;
        sum.rank = 4;
        out[1 + i] = reshape(c, fold_dims(c, "ReduceSum", sum, (int64_t[]){0, 3}, 2, false), &all);
    }
    call_results(c, out, 3);
}

/* By the batch's own statistics, or by running ones, which do not vary with x. */
static void make_batch_norm_backward(Call *c)
{
    ExportTerm dy = call_tensor(c, "grad_out"), x = call_tensor(c, "input"), out[3];
    ExportTerm weight = call_term(c, "weight"), mean, rstd;
    int64_t axes[DIMS_MAX];
    int n = 0;
    bool trains = call_bool(c, "train");
    for (int d = 0; d < x.rank; d++)
        if (d != 1)
            axes[n++] = d;
    mean = call_tensor(c, trains ? "save_mean" : "running_mean");
    if (trains) {
        rstd = call_tensor(c, "save_invstd");
    } else {
        ExportTerm eps = term_number(call_float(c, "eps"));
        rstd = emit2(c, "Add", call_tensor(c, "running_var"), eps);
        rstd = emit1(c, "Reciprocal", emit1(c, "Sqrt", rstd));
    }
    rstd = reshape_along(c, rstd, 1, x.rank);
    ExportTerm normal =
        emit2(c, "Mul", emit2(c, "Sub", x, reshape_along(c, mean, 1, x.rank)), rstd);
    ExportTerm g = term_is(weight) ? emit2(c, "Mul", dy, reshape_along(c, weight, 1, x.rank)) : dy;
    out[0] = trains ? normalized_gradient(c, g, normal, rstd, axes, n) : emit2(c, "Mul", g, rstd);
    out[1] = fold_dims(c, "ReduceSum", emit2(c, "Mul", dy, normal), axes, n, false);
    out[2] = fold_dims(c, "ReduceSum", dy, axes, n, false);
    call_results(c, out, 3);
}

/* ---- losses ---- */

/* The slope of x times the normal distribution function, or of its approximation by tanh. */
static void make_gelu_backward(Call *c)
{
    ExportTerm out;
    if (str_eq(call_text(c, "approximate"), STR("tanh"))) {
        ExportTerm t, x = call_tensor(c, "self");
        recipe_run(c,
                   "Tanh(Mul(0.7978845608028654, Add(self, Mul(0.044715, Mul(self, Mul(self, "
                   "self))))))",
                   &t, 1);
        ExportTerm square = emit2(c, "Mul", x, x);
        ExportTerm inner = emit2(c, "Add", emit2(c, "Mul", square, term_number(0.1070322243)),
                                 term_number(0.7978845608028654));
        ExportTerm rest = emit2(c, "Sub", term_int(1), emit2(c, "Mul", t, t));
        ExportTerm slope = emit2(c, "Mul", emit2(c, "Mul", x, rest), inner);
        slope = emit2(c, "Add", emit2(c, "Add", slope, t), term_int(1));
        out = emit2(c, "Mul", call_tensor(c, "grad_output"),
                    emit2(c, "Mul", slope, term_number(0.5)));
    } else {
        recipe_run(c,
                   "Mul(grad_output, Add(Mul(0.5, Add(1, Erf(Mul(self, 0.7071067811865476)))), "
                   "Mul(Mul(self, 0.3989422804014327), Exp(Mul(-0.5, Mul(self, self))))))",
                   &out, 1);
    }
    call_results(c, &out, 1);
}

static void make_mse_backward(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), off, out;
    off = emit2(c, "Mul", emit2(c, "Sub", x, call_tensor(c, "target")), term_int(2));
    out = emit2(c, "Mul", off, call_tensor(c, "grad_output"));
    if (call_int(c, "reduction") == 1) {
        ExportTerm count = emit1(c, "Size", off);
        count.rank = 0;
        out = emit2(c, "Div", out, emit_cast(c, count, (Dtype)x.dtype));
    }
    call_results(c, &out, 1);
}

#define OUTPUT "grad_output output"
#define ALONG "grad_output output dim input_dtype"

#define INPUT "grad_output self"
#define AVERAGE                                                                                    \
    "grad_output self kernel_size stride padding ceil_mode count_include_pad divisor_override"
#define NORM_BACKWARD                                                                              \
    "grad_out input weight running_mean running_var save_mean save_invstd train eps"

const TorchRow rows_backward[] = {
    {"convolution_backward",
     "grad_output input weight bias_sizes stride padding dilation transposed output_padding groups "
     "output_mask",
     NULL, make_convolution_backward},
    {"avg_pool2d_backward avg_pool3d_backward", AVERAGE, NULL, make_average_backward},
    {"_adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward", INPUT, NULL,
     make_adaptive_average_backward},
    {"max_pool2d_with_indices_backward max_pool3d_with_indices_backward",
     "grad_output self kernel_size stride padding dilation ceil_mode indices", NULL,
     make_max_backward},
    {"native_group_norm_backward", "grad_out input mean rstd weight N C HxW group output_mask",
     NULL, make_group_norm_backward},
    {"native_batch_norm_backward", NORM_BACKWARD " output_mask", NULL, make_batch_norm_backward},
    {"native_dropout_backward", "grad_output mask scale",
     "Mul(Mul(grad_output, like(mask, grad_output)), scale)", NULL},
    {"mse_loss_backward", INPUT " target reduction", NULL, make_mse_backward},
    {"gelu_backward", INPUT " approximate=none", NULL, make_gelu_backward},
    {"leaky_relu_backward", INPUT " negative_slope self_is_result",
     "Mul(grad_output, Where(Greater(self, 0), 1.0, like(negative_slope, self)))", NULL},
    {"hardtanh_backward", INPUT " min_val max_val",
     "Mul(grad_output, like(And(Greater(self, min_val), Less(self, max_val)), self))", NULL},
    {"hardsigmoid_backward", INPUT,
     "Mul(grad_output, Where(And(Greater(self, -3), Less(self, 3)), 0.16666666666666666, "
     "filled(self, 0)))",
     NULL},
    {"hardswish_backward", INPUT,
     "Mul(grad_output, Where(LessOrEqual(self, -3), 0.0, Where(GreaterOrEqual(self, 3), 1.0, "
     "Add(Div(self, 3), 0.5))))",
     NULL},
    {"softplus_backward", INPUT " beta threshold",
     "Mul(grad_output, Where(Greater(Mul(self, beta), threshold), 1.0, Sigmoid(Mul(self, beta))))",
     NULL},
    {"log_sigmoid_backward", INPUT " buffer", "Mul(grad_output, Sigmoid(Neg(self)))", NULL},
    {"tanh_backward", OUTPUT, "Mul(grad_output, Sub(1, Mul(output, output)))", NULL},
    {"sigmoid_backward", OUTPUT, "Mul(grad_output, Mul(output, Sub(1, output)))", NULL},
    {"threshold_backward", "grad_output self threshold",
     "Where(Greater(self, threshold), grad_output, 0)", NULL},
    {"silu_backward", "grad_output self",
     "Mul(grad_output, Mul(Sigmoid(self), Add(1, Mul(self, Sub(1, Sigmoid(self))))))", NULL},
    {"_softmax_backward_data", ALONG,
     "Mul(output, Sub(grad_output, ReduceSum(Mul(grad_output, output), ints(dim))))", NULL},
    {"_log_softmax_backward_data", ALONG,
     "Sub(grad_output, Mul(Exp(output), ReduceSum(grad_output, ints(dim))))", NULL},
    {"native_layer_norm_backward",
     "grad_out input normalized_shape mean rstd weight bias output_mask", NULL,
     make_layer_norm_backward},
    {"embedding_dense_backward", "grad_output indices num_weights padding_idx scale_grad_by_freq",
     NULL, make_embedding_backward},
    {"nll_loss_backward nll_loss2d_backward",
     "grad_output self target weight reduction ignore_index total_weight", NULL, make_nll_backward},
    {0},
};
