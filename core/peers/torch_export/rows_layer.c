/* rows_layer.c - torch's products, convolutions, pools, norms, attention and losses. */
#include "core/peers/torch_export/shapes.h"

#include <math.h>

/* ---- products ---- */

/* beta * self + alpha * mat1 @ mat2 */
static void make_addmm(Call *c)
{
    ExportTerm self = call_tensor(c, "self"), beta = call_term(c, "beta"),
               alpha = call_term(c, "alpha");
    Attr attrs[] = {attr_float(c->e, "alpha", alpha.f), attr_float(c->e, "beta", beta.f)};
    bool plain = !(alpha.f < 1) && !(alpha.f > 1) && !(beta.f < 1) && !(beta.f > 1);
    ExportTerm in[] = {call_tensor(c, "mat1"), call_tensor(c, "mat2"), self};
    ExportTerm out = emit(c, "Gemm", in, 3, attrs, plain ? 0 : 2);
    call_results(c, &out, 1);
}

/* ---- convolutions and pools ---- */

/* `n` numbers of an argument that may be one number for all. */
static bool spatial(Call *c, const char *arg, int n, int64_t fallback, int64_t *out)
{
    int given = call_given(c, arg) ? call_ints(c, arg, out, DIMS_MAX) : 0;
    if (given == n)
        return true;
    if (given > 1 || given < 0)
        return call_fail(c, "its argument '%s' has %d numbers for %d dims", arg, given, n);
    for (int i = 0; i < n; i++)
        out[i] = given == 1 ? out[0] : fallback;
    return true;
}

/* The same borders before and after. */
static Attr pads_attr(Call *c, const int64_t *pads, int n)
{
    int64_t both[2 * DIMS_MAX];
    for (int i = 0; i < n; i++)
        both[i] = both[i + n] = pads[i];
    return attr_ints(c->e, "pads", both, 2 * n);
}

static void make_convolution(Call *c)
{
    Export *e = c->e;
    int64_t stride[DIMS_MAX], dilation[DIMS_MAX], pads[DIMS_MAX] = {0}, more[DIMS_MAX];
    ExportTerm x = call_tensor(c, "input"), weight = call_tensor(c, "weight");
    int n = weight.rank - 2, n_attrs = 0;
    bool batched = x.rank == weight.rank, transposed = call_bool(c, "transposed");
    Str padding = call_text(c, "padding");
    bool same = str_eq(padding, STR("same")), named = same || str_eq(padding, STR("valid"));
    if (n < 1 || n > 3 || !spatial(c, "stride", n, 1, stride) ||
        !spatial(c, "dilation", n, 1, dilation) || (!named && !spatial(c, "padding", n, 0, pads)) ||
        !spatial(c, "output_padding", n, 0, more)) {
        call_fail(c, "it has %d spatial dims", n);
        return;
    }
    Attr attrs[6];
    attrs[n_attrs++] = attr_ints(e, "strides", stride, n);
    attrs[n_attrs++] = attr_ints(e, "dilations", dilation, n);
    attrs[n_attrs++] = attr_int(e, "group", call_int(c, "groups"));
    attrs[n_attrs++] = same ? attr_text(e, "auto_pad", STR("SAME_UPPER")) : pads_attr(c, pads, n);
    if (transposed)
        attrs[n_attrs++] = attr_ints(e, "output_padding", more, n);
    ExportTerm in[] = {batched ? x : unsqueeze(c, x, 0), weight, call_term(c, "bias")};
    ExportTerm out = emit(c, transposed ? "ConvTranspose" : "Conv", in, 3, attrs, n_attrs);
    out.rank = weight.rank;
    out = batched ? out : squeeze(c, out, 0);
    call_results(c, &out, 1);
}

static void make_conv_transposed(Call *c)
{
    Export *e = c->e;
    int64_t stride[DIMS_MAX], dilation[DIMS_MAX], pads[DIMS_MAX], more[DIMS_MAX];
    ExportTerm weight = call_tensor(c, "weight");
    int n = weight.rank - 2;
    if (n < 1 || n > 3 || !spatial(c, "stride", n, 1, stride) ||
        !spatial(c, "dilation", n, 1, dilation) || !spatial(c, "padding", n, 0, pads) ||
        !spatial(c, "output_padding", n, 0, more)) {
        call_fail(c, "it has %d spatial dims", n);
        return;
    }
    Attr attrs[] = {attr_ints(e, "strides", stride, n), attr_ints(e, "dilations", dilation, n),
                    attr_int(e, "group", call_int(c, "groups")), pads_attr(c, pads, n),
                    attr_ints(e, "output_padding", more, n)};
    ExportTerm in[] = {call_tensor(c, "input"), weight, call_term(c, "bias")};
    ExportTerm out = emit(c, "ConvTranspose", in, 3, attrs, 5);
    call_results(c, &out, 1);
}

typedef enum { POOL_MAX, POOL_MAX_PLACES, POOL_AVERAGE } PoolKind;

/* Places in a whole tensor as places in the plane of their channel. */
static ExportTerm places_in_plane(Call *c, ExportTerm image, ExportTerm places, int n)
{
    Attr start = attr_int(c->e, "start", -n);
    ExportTerm sizes = emit(c, "Shape", &image, 1, &start, 1),
               plane = emit1(c, "ReduceProd", sizes);
    places.dtype = DT_I64;
    return emit2(c, "Mod", places, plane);
}

static void make_pool(Call *c, PoolKind kind)
{
    Export *e = c->e;
    int64_t kernel[DIMS_MAX], stride[DIMS_MAX], pads[DIMS_MAX], dilation[DIMS_MAX];
    ExportTerm x = call_tensor(c, "self"), out[2] = {no_term(), no_term()};
    int n = c->op.s[c->op.n - 2] - '0', n_attrs = 0; /* max_pool2d */
    for (size_t i = 0; i + 1 < c->op.n; i++)
        if (is_digit(c->op.s[i]) && c->op.s[i + 1] == 'd')
            n = c->op.s[i] - '0';
    if (n < 1 || n > 3 || !spatial(c, "kernel_size", n, 1, kernel) ||
        !spatial(c, "padding", n, 0, pads) || !spatial(c, "dilation", n, 1, dilation))
        return;
    memcpy(stride, kernel, sizeof stride);
    int64_t given[DIMS_MAX];
    if (call_given(c, "stride") && call_ints(c, "stride", given, DIMS_MAX) > 0 &&
        !spatial(c, "stride", n, 1, stride))
        return;
    if (term_is(call_term(c, "divisor_override"))) {
        call_fail(c, "its divisor is another one");
        return;
    }
    Attr attrs[6];
    attrs[n_attrs++] = attr_ints(e, "kernel_shape", kernel, n);
    attrs[n_attrs++] = attr_ints(e, "strides", stride, n);
    attrs[n_attrs++] = pads_attr(c, pads, n);
    attrs[n_attrs++] = attr_int(e, "ceil_mode", call_bool(c, "ceil_mode"));
    if (kind == POOL_AVERAGE)
        attrs[n_attrs++] = attr_int(e, "count_include_pad", call_bool(c, "count_include_pad"));
    else
        attrs[n_attrs++] = attr_ints(e, "dilations", dilation, n);
    bool batched = x.rank == n + 2;
    ExportTerm in = batched ? x : unsqueeze(c, x, 0);
    int n_out = kind == POOL_MAX_PLACES ? 2 : 1;
    emit_many(c, kind == POOL_AVERAGE ? "AveragePool" : "MaxPool", &in, 1, attrs, n_attrs, out,
              n_out);
    if (n_out > 1)
        out[1] = places_in_plane(c, in, out[1], n);
    for (int i = 0; i < n_out && !batched; i++)
        out[i] = squeeze(c, out[i], 0);
    call_results(c, out, n_out);
}

static void make_max_pool(Call *c)
{
    make_pool(c, POOL_MAX);
}

static void make_max_pool_places(Call *c)
{
    make_pool(c, POOL_MAX_PLACES);
}

static void make_average_pool(Call *c)
{
    make_pool(c, POOL_AVERAGE);
}

/* ---- norms ---- */

static ExportTerm ones_or(Call *c, ExportTerm weight, ExportTerm sizes, Dtype dtype, int rank)
{
    return term_is(weight) ? weight : emit_filled(c, sizes, term_int(1), dtype, rank);
}

/* Over the last dims, with their mean and one over their deviation, [.., 1 ..]. */
static void make_layer_norm(Call *c)
{
    Terms sizes = {0};
    ExportTerm x = call_tensor(c, "input"), out[3];
    call_terms(c, "normalized_shape", &sizes);
    ExportTerm weight =
        ones_or(c, call_term(c, "weight"), emit_sizes(c, &sizes), (Dtype)x.dtype, sizes.n);
    Attr attrs[] = {attr_int(c->e, "axis", -sizes.n),
                    attr_float(c->e, "epsilon", call_float(c, "eps"))};
    ExportTerm in[] = {x, weight, call_term(c, "bias")};
    bool all = str_eq(c->op, STR("native_layer_norm"));
    emit_many(c, "LayerNormalization", in, 3, attrs, 2, out, all ? 3 : 1);
    if (all)
        out[1].dtype = out[2].dtype = DT_F32;
    call_results(c, out, all ? 3 : 1);
}

static void make_rms_norm(Call *c)
{
    Terms sizes = {0};
    ExportTerm x = call_tensor(c, "input"), eps = call_term(c, "eps");
    call_terms(c, "normalized_shape", &sizes);
    ExportTerm weight =
        ones_or(c, call_term(c, "weight"), emit_sizes(c, &sizes), (Dtype)x.dtype, sizes.n);
    double least = x.dtype == DT_F64 ? 2.220446049250313e-16 : 1.1920928955078125e-07;
    Attr attrs[] = {attr_int(c->e, "axis", -sizes.n),
                    attr_float(c->e, "epsilon", term_is(eps) ? eps.f : least)};
    ExportTerm in[] = {x, weight}, out = emit(c, "RMSNormalization", in, 2, attrs, 2);
    call_results(c, &out, 1);
}

static int64_t n_groups(Call *c)
{
    return call_int(c, call_given(c, "group") ? "group" : "num_groups");
}

/* The mean of each group, and one over its deviation: [batch, groups]. */
static void group_moments(Call *c, ExportTerm x, ExportTerm eps, ExportTerm *mean, ExportTerm *rstd)
{
    Terms sizes = {0};
    add_size(c, &sizes, size_of(c, x, 0));
    add_size(c, &sizes, term_int(n_groups(c)));
    add_size(c, &sizes, term_int(-1));
    ExportTerm groups = reshape(c, x, &sizes), last = emit_ints(c->e, (int64_t[]){2}, 1);
    Attr drop = attr_int(c->e, "keepdims", 0);
    ExportTerm all[] = {groups, last}, kept = emit(c, "ReduceMean", all, 2, NULL, 0);
    *mean = emit(c, "ReduceMean", all, 2, &drop, 1);
    ExportTerm off = emit2(c, "Sub", groups, kept), squares[] = {emit2(c, "Mul", off, off), last};
    ExportTerm variance = emit(c, "ReduceMean", squares, 2, &drop, 1);
    *rstd = emit1(c, "Reciprocal", emit1(c, "Sqrt", emit2(c, "Add", variance, eps)));
}

static void make_group_norm(Call *c)
{
    Export *e = c->e;
    ExportTerm x = call_tensor(c, "input"), eps = call_term(c, "eps");
    Terms channels = {0};
    add_size(c, &channels, size_of(c, x, 1));
    ExportTerm shape = emit_sizes(c, &channels), weight = call_term(c, "weight"),
               bias = call_term(c, "bias");
    weight = ones_or(c, weight, shape, (Dtype)x.dtype, 1);
    bias = term_is(bias) ? bias : emit_filled(c, shape, term_int(0), (Dtype)x.dtype, 1);
    Attr attrs[] = {attr_float(e, "epsilon", eps.f), attr_int(e, "num_groups", n_groups(c))};
    ExportTerm in[] = {x, weight, bias}, out[3] = {emit(c, "GroupNormalization", in, 3, attrs, 2)};
    if (!str_eq(c->op, STR("native_group_norm"))) {
        call_results(c, out, 1);
        return;
    }
    group_moments(c, x, eps, &out[1], &out[2]);
    call_results(c, out, 3);
}

static void make_instance_norm(Call *c)
{
    ExportTerm x = call_tensor(c, "input"), weight = call_term(c, "weight"),
               bias = call_term(c, "bias");
    Terms channels = {0};
    if (!call_bool(c, "use_input_stats")) {
        call_fail(c, "it takes running means");
        return;
    }
    add_size(c, &channels, size_of(c, x, 1));
    ExportTerm shape = emit_sizes(c, &channels);
    bias = term_is(bias) ? bias : emit_filled(c, shape, term_int(0), (Dtype)x.dtype, 1);
    Attr attr = attr_float(c->e, "epsilon", call_float(c, "eps"));
    ExportTerm in[] = {x, ones_or(c, weight, shape, (Dtype)x.dtype, 1), bias};
    ExportTerm out = emit(c, "InstanceNormalization", in, 3, &attr, 1);
    call_results(c, &out, 1);
}

/* v * g / |v|, the norm over all dims but one. */
static void make_weight_norm(Call *c)
{
    int64_t rest[DIMS_MAX];
    ExportTerm v = call_tensor(c, "v");
    int64_t dim = call_axis(c, "dim", v.rank);
    int n = 0;
    for (int d = 0; d < v.rank; d++)
        if (d != dim)
            rest[n++] = d;
    ExportTerm in[] = {v, emit_ints(c->e, rest, n)}, norm = emit(c, "ReduceL2", in, 2, NULL, 0);
    ExportTerm out = emit2(c, "Mul", v, emit2(c, "Div", call_tensor(c, "g"), norm));
    call_results(c, &out, 1);
}

/* [channels] along dim 1 of x. */
static ExportTerm along_channels(Call *c, ExportTerm line, ExportTerm x)
{
    return term_is(line) ? reshape_along(c, line, x.rank > 1 ? 1 : 0, x.rank) : line;
}

typedef struct {
    ExportTerm out, mean, rstd, new_mean, new_var;
} BatchNorm;

/* Over all dims but the channels. The running variance is that of a sample, n / (n - 1) of what
 * normalizes. */
static BatchNorm batch_norm(Call *c, ExportTerm x)
{
    Export *e = c->e;
    int64_t axes[DIMS_MAX], n_axes = 0;
    double momentum = call_float(c, "momentum");
    for (int d = 0; d < x.rank; d++)
        if (d != 1)
            axes[n_axes++] = d;
    ExportTerm over = emit_ints(e, axes, (int)n_axes);
    Attr drop = attr_int(e, "keepdims", 0);
    ExportTerm in[] = {x, over}, mean = emit(c, "ReduceMean", in, 2, NULL, 0);
    ExportTerm off = emit2(c, "Sub", x, mean);
    ExportTerm squares[] = {emit2(c, "Mul", off, off), over};
    ExportTerm var = emit(c, "ReduceMean", squares, 2, NULL, 0);
    ExportTerm deviation =
        emit1(c, "Sqrt", emit2(c, "Add", var, term_number(call_float(c, "eps"))));
    ExportTerm rstd = emit1(c, "Reciprocal", deviation);
    ExportTerm out = emit2(c, "Mul", off, rstd), weight = call_term(c, "weight"),
               bias = call_term(c, "bias");
    out = term_is(weight) ? emit2(c, "Mul", out, along_channels(c, weight, x)) : out;
    out = term_is(bias) ? emit2(c, "Add", out, along_channels(c, bias, x)) : out;
    BatchNorm made = {.out = out, .new_mean = no_term(), .new_var = no_term()};
    ExportTerm channel_mean = emit2(c, "Squeeze", mean, over),
               channel_var = emit2(c, "Squeeze", var, over);
    channel_mean.rank = channel_var.rank = 1;
    made.mean = channel_mean;
    made.rstd = emit2(c, "Squeeze", rstd, over);
    (void)drop;
    if (!call_given(c, "running_mean"))
        return made;
    ExportTerm many = emit1(c, "Size", x), few = emit1(c, "Size", channel_mean);
    many.rank = few.rank = 0;
    ExportTerm n = emit_cast(c, emit2(c, "Div", many, few), (Dtype)channel_var.dtype);
    ExportTerm of_sample = emit2(c, "Div", n, emit2(c, "Sub", n, term_number(1)));
    channel_var = emit2(c, "Mul", channel_var, of_sample);
    ExportTerm keep = term_number(1 - momentum), take = term_number(momentum);
    made.new_mean = emit2(c, "Add", emit2(c, "Mul", call_tensor(c, "running_mean"), keep),
                          emit2(c, "Mul", channel_mean, take));
    made.new_var = emit2(c, "Add", emit2(c, "Mul", call_tensor(c, "running_var"), keep),
                         emit2(c, "Mul", channel_var, take));
    return made;
}

static ExportTerm batch_norm_fixed(Call *c, ExportTerm x)
{
    Terms channels = {0};
    add_size(c, &channels, size_of(c, x, 1));
    ExportTerm shape = emit_sizes(c, &channels), weight = call_term(c, "weight"),
               bias = call_term(c, "bias");
    ExportTerm mean = call_tensor(c, "running_mean");
    weight = ones_or(c, weight, shape, (Dtype)mean.dtype, 1);
    bias = term_is(bias) ? bias : emit_filled(c, shape, term_int(0), (Dtype)mean.dtype, 1);
    Attr attr = attr_float(c->e, "epsilon", call_float(c, "eps"));
    ExportTerm in[] = {x, weight, bias, mean, call_tensor(c, "running_var")};
    return emit(c, "BatchNormalization", in, 5, &attr, 1);
}

static void make_batch_norm(Call *c)
{
    ExportTerm x = call_tensor(c, "input"), out;
    out = call_bool(c, "training") ? batch_norm(c, x).out : batch_norm_fixed(c, x);
    call_results(c, &out, 1);
}

/* Saved statistics are empty when the running ones are used. */
static void make_native_batch_norm(Call *c)
{
    ExportTerm x = call_tensor(c, "input"), zero = emit_ints(c->e, (int64_t[]){0}, 1);
    bool functional = str_ends(c->op, STR("_functional"));
    if (call_bool(c, "training")) {
        BatchNorm made = batch_norm(c, x);
        ExportTerm out[] = {made.out, made.mean, made.rstd, made.new_mean, made.new_var};
        call_results(c, out, functional ? 5 : 3);
        return;
    }
    ExportTerm none = emit_filled(c, zero, term_int(0), DT_F32, 1);
    ExportTerm out[] = {batch_norm_fixed(c, x), none, none, call_term(c, "running_mean"),
                        call_term(c, "running_var")};
    call_results(c, out, functional ? 5 : 3);
}

/* ---- attention ---- */

static void make_attention(Call *c)
{
    Export *e = c->e;
    ExportTerm q = call_tensor(c, "query"), k = call_tensor(c, "key"), v = call_tensor(c, "value");
    ExportTerm mask = call_term(c, "attn_mask"), scale = call_term(c, "scale");
    int rank = q.rank;
    Attr attrs[2];
    int n_attrs = 0;
    if (rank < 3 || rank > 4) {
        call_fail(c, "its queries have %d dims, not 3 or 4", rank);
        return;
    }
    ExportTerm in[] = {q, k, v, mask};
    for (int i = 0; i < 3 && rank == 3; i++)
        in[i] = unsqueeze(c, in[i], 1);
    if (rank == 3 && mask.rank == 3)
        in[3] = unsqueeze(c, mask, 1);
    if (call_bool(c, "is_causal"))
        attrs[n_attrs++] = attr_int(e, "is_causal", 1);
    if (term_is(scale))
        attrs[n_attrs++] = attr_float(e, "scale", scale.f);
    ExportTerm out = emit(c, "Attention", in, 4, attrs, n_attrs);
    out.rank = 4;
    out = rank == 3 ? squeeze(c, out, 1) : out;
    call_results(c, &out, 1);
}

/* ---- losses ---- */

static Str reduction_of(Call *c)
{
    static const char *const names[] = {"none", "mean", "sum"};
    int64_t n = call_given(c, "reduction") ? call_int(c, "reduction") : 1;
    return str_from(names[n < 0 || n > 2 ? 1 : n]);
}

static ExportTerm loss_of(Call *c, const char *op)
{
    Attr attrs[] = {attr_text(c->e, "reduction", reduction_of(c)),
                    attr_int(c->e, "ignore_index", call_int(c, "ignore_index"))};
    ExportTerm in[] = {call_tensor(c, "self"), call_tensor(c, "target"), call_term(c, "weight")};
    ExportTerm out = emit(c, op, in, 3, attrs, 2);
    out.rank = 0;
    return out;
}

/* The loss and the weight of the labels that count. */
static void make_nll_loss(Call *c)
{
    ExportTerm loss = loss_of(c, "NegativeLogLikelihoodLoss"), out[2] = {loss, no_term()};
    if (str_find(c->op, STR("forward")) >= 0) {
        ExportTerm target = call_tensor(c, "target"), weight = call_term(c, "weight");
        ExportTerm ignored =
            emit_constant(c, term_int(call_int(c, "ignore_index")), (Dtype)target.dtype);
        ExportTerm counts =
            emit_cast(c, emit1(c, "Not", emit2(c, "Equal", target, ignored)), (Dtype)loss.dtype);
        if (term_is(weight)) {
            ExportTerm in[] = {weight, emit2(c, "Max", target, term_int(0))};
            counts = emit2(c, "Mul", counts, emit(c, "Gather", in, 2, NULL, 0));
        }
        Attr attr = attr_int(c->e, "keepdims", 0);
        out[1] = emit(c, "ReduceSum", &counts, 1, &attr, 1);
    }
    call_results(c, out, 2);
}

static ExportTerm summed(Call *c, ExportTerm x, int64_t dim)
{
    Attr attr = attr_int(c->e, "keepdims", 0);
    ExportTerm out = emit(c, "ReduceSum", (ExportTerm[]){x, emit_ints(c->e, &dim, 1)}, 2, &attr, 1);
    out.rank = legal_rank(c, x.rank - 1);
    return out;
}

static ExportTerm log_softmax(Call *c, ExportTerm x, int64_t dim)
{
    Attr attr = attr_int(c->e, "axis", dim);
    return emit(c, "LogSoftmax", &x, 1, &attr, 1);
}

/* Losses of labels, reduced; where some do not count (`counts` is 0), their mean is over others. */
static ExportTerm reduced_loss(Call *c, ExportTerm each, ExportTerm counts)
{
    Str reduction = reduction_of(c);
    bool mean = str_eq(reduction, STR("mean")), weighed = term_is(counts);
    Attr attr = attr_int(c->e, "keepdims", 0);
    each = weighed ? emit2(c, "Mul", each, counts) : each;
    if (str_eq(reduction, STR("none")))
        return each;
    ExportTerm out = emit(c, mean && !weighed ? "ReduceMean" : "ReduceSum", &each, 1, &attr, 1);
    out.rank = 0;
    return mean && weighed ? emit2(c, "Div", out, emit(c, "ReduceSum", &counts, 1, &attr, 1)) : out;
}

/* Of labels that are shares of all classes, smoothed or not. */
static ExportTerm loss_of_shares(Call *c, ExportTerm x, ExportTerm target, int64_t dim,
                                 double smoothing)
{
    double classes = (double)size_of(c, x, dim).i;
    if (smoothing > 0)
        target = emit2(c, "Add", emit2(c, "Mul", target, term_number(1 - smoothing)),
                       term_number(smoothing / classes));
    ExportTerm each =
        emit1(c, "Neg", summed(c, emit2(c, "Mul", target, log_softmax(c, x, dim)), dim));
    return reduced_loss(c, each, no_term());
}

/* (1 - s) times the loss of the label, and s times the mean of those of all classes. */
static ExportTerm smoothed_loss(Call *c, ExportTerm x, ExportTerm target, int64_t dim,
                                double smoothing)
{
    ExportTerm ignored =
        emit_constant(c, term_int(call_int(c, "ignore_index")), (Dtype)target.dtype);
    ExportTerm counts =
        emit_cast(c, emit1(c, "Not", emit2(c, "Equal", target, ignored)), (Dtype)x.dtype);
    ExportTerm all = emit1(c, "Neg", summed(c, log_softmax(c, x, dim), dim));
    ExportTerm smooth = reduced_loss(c, all, counts);
    double classes = (double)size_of(c, x, dim).i;
    ExportTerm of_label =
        emit2(c, "Mul", loss_of(c, "SoftmaxCrossEntropyLoss"), term_number(1 - smoothing));
    return emit2(c, "Add", of_label, emit2(c, "Mul", smooth, term_number(smoothing / classes)));
}

static void make_cross_entropy(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), target = call_tensor(c, "target"), out;
    int64_t dim = x.rank > 1 ? 1 : 0;
    double smoothing = call_float(c, "label_smoothing");
    bool shares = dtype_is_float((Dtype)target.dtype);
    if ((shares || smoothing > 0) &&
        (call_given(c, "weight") || size_of(c, x, dim).kind != TERM_NUMBER)) {
        call_fail(c, "it smooths weighted labels, or those of an unknown number of classes");
        return;
    }
    if (shares)
        out = loss_of_shares(c, x, target, dim, smoothing);
    else if (smoothing > 0)
        out = smoothed_loss(c, x, target, dim, smoothing);
    else
        out = loss_of(c, "SoftmaxCrossEntropyLoss");
    call_results(c, &out, 1);
}

/* exp(x) - t x, or x - t log x, and Stirling's approximation of log t! where t is above 1. */
static void make_poisson_loss(Call *c)
{
    ExportTerm each, more, out;
    if (call_bool(c, "log_input"))
        recipe_run(c, "Sub(Exp(input), Mul(target, input))", &each, 1);
    else
        recipe_run(c, "Sub(input, Mul(target, Log(Add(input, eps))))", &each, 1);
    if (call_bool(c, "full")) {
        recipe_run(c,
                   "Where(Greater(target, 1), Add(Sub(Mul(target, Log(Max(target, 1))), target), "
                   "Mul(0.5, Log(Mul(6.283185307179586, Max(target, 1))))), 0)",
                   &more, 1);
        each = emit2(c, "Add", each, more);
    }
    out = reduced_loss(c, each, no_term());
    call_results(c, &out, 1);
}

/* 1 - cos for pairs that belong together, else what cos is above the margin. */
static void make_cosine_loss(Call *c)
{
    ExportTerm each, out;
    recipe_run(c,
               "Where(Equal(target, 1), Sub(1, Div(ReduceSum(Mul(input1, input2), ints(-1); "
               "keepdims=0), Sqrt(Mul(Add(ReduceSumSquare(input1, ints(-1); keepdims=0), 1e-12), "
               "Add(ReduceSumSquare(input2, ints(-1); keepdims=0), 1e-12))))), "
               "Relu(Sub(Div(ReduceSum(Mul(input1, input2), ints(-1); keepdims=0), "
               "Sqrt(Mul(Add(ReduceSumSquare(input1, ints(-1); keepdims=0), 1e-12), "
               "Add(ReduceSumSquare(input2, ints(-1); keepdims=0), 1e-12)))), margin)))",
               &each, 1);
    out = reduced_loss(c, each, no_term());
    call_results(c, &out, 1);
}

/* By how much other classes come within the margin of the label's, over the number of classes. */
static void make_margin_loss(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), target = call_tensor(c, "target"), weight;
    int64_t dim = x.rank - 1, p = call_int(c, "p");
    ExportTerm label = unsqueeze(c, target, target.rank);
    label = x.rank == 1 && target.rank == 1 ? target : label;
    ExportTerm own = elements_at(c, x, label, dim);
    ExportTerm off = emit2(c, "Add", emit2(c, "Sub", x, own), call_term(c, "margin"));
    ExportTerm each = emit1(c, "Relu", off);
    each = p == 2 ? emit2(c, "Mul", each, each) : each;
    weight = call_term(c, "weight");
    if (term_is(weight)) {
        ExportTerm of[] = {weight, label};
        each = emit2(c, "Mul", each, emit(c, "Gather", of, 2, NULL, 0));
    }
    ExportTerm line = range(c, term_int(0), size_of(c, x, dim), term_int(1), DT_I64);
    ExportTerm in[] = {emit2(c, "Equal", label, line), term_number(0), each};
    each = emit(c, "Where", in, 3, NULL, 0);
    each.rank = x.rank;
    each = fold_dims(c, "ReduceMean", each, &dim, 1, false);
    ExportTerm out = reduced_loss(c, each, no_term());
    call_results(c, &out, 1);
}

#define CONV "input weight bias= stride=1 padding=0 dilation=1 groups=1"
#define CONV_TRANSPOSED "input weight bias= stride=1 padding=0 output_padding=0 groups=1 dilation=1"
#define POOL "self kernel_size stride= padding=0 dilation=1 ceil_mode=False"
#define AVERAGE                                                                                    \
    "self kernel_size stride= padding=0 ceil_mode=False count_include_pad=True divisor_override="
#define NORM "input weight= bias= running_mean= running_var="
#define LOSS(name, more, each)                                                                     \
    {                                                                                              \
        name, "self target reduction=1" more, "reduced(" each ")", NULL                            \
    }
#define NLL "self target weight= reduction=1 ignore_index=-100"

const TorchRow rows_layer[] = {
    {"mm bmm", "self mat2", "MatMul(self, mat2)", NULL},
    {"matmul linalg_matmul", "self other", "MatMul(self, other)", NULL},
    {"dot", "self tensor", "MatMul(self, tensor)", NULL},
    {"vdot", "self other", "MatMul(self, other)", NULL},
    {"mv", "self vec", "MatMul(self, vec)", NULL},
    {"linear", "input weight bias=", "Linear(input, weight, bias)", NULL},
    {"addmm", "self mat1 mat2 beta=1 alpha=1", NULL, make_addmm},
    {"addmv", "self mat vec beta=1 alpha=1",
     "Add(scaled(self, beta), scaled(MatMul(mat, vec), alpha))", NULL},
    {"baddbmm", "self batch1 batch2 beta=1 alpha=1",
     "Add(scaled(self, beta), scaled(MatMul(batch1, batch2), alpha))", NULL},
    {"outer ger", "self vec2", "Mul(Unsqueeze(self, ints(1)), Unsqueeze(vec2, ints(0)))", NULL},
    {"_grouped_mm", "self mat2 offs= bias= out_dtype=", "GroupedMatMul(self, mat2, offs)", NULL},
    {"transformers::grouped_mm_fallback", "input weight offs", "GroupedMatMul(input, weight, offs)",
     NULL},
    {"_weight_norm", "v g dim=0", NULL, make_weight_norm},
    {"inner", "self other", "MatMul(self, Transpose(other))", NULL},
    {"linalg_vecdot", "x y dim=-1", "ReduceSum(Mul(x, y), ints(dim); keepdims=0)", NULL},
    {"addr", "self vec1 vec2 beta=1 alpha=1",
     "Add(scaled(self, beta), scaled(Mul(Unsqueeze(vec1, ints(1)), Unsqueeze(vec2, ints(0))), "
     "alpha))",
     NULL},
    {"bilinear", "input1 input2 weight bias=",
     "Add(Einsum(input1, weight, input2; equation='...a,oab,...b->...o'), given(bias, bias, 0))",
     NULL},
    {"cosine_similarity", "x1 x2 dim=1 eps=1e-08",
     "ReduceSum(Mul(Div(x1, Max(ReduceL2(x1, ints(dim)), eps)), Div(x2, Max(ReduceL2(x2, "
     "ints(dim)), eps))), ints(dim); keepdims=0)",
     NULL},
    {"pairwise_distance", "x1 x2 p=2 eps=1e-06 keepdim=False",
     "Pow(ReduceSum(Pow(Abs(Add(Sub(x1, x2), eps)), p), ints(-1); keepdims=keepdim), Div(float(1), "
     "p))",
     NULL},
    {"cdist _cdist_forward", "x1 x2 p=2 compute_mode=",
     "Pow(ReduceSum(Pow(Abs(Sub(Unsqueeze(x1, ints(-2)), Unsqueeze(x2, ints(-3)))), p), ints(-1); "
     "keepdims=0), Div(float(1), p))",
     NULL},
    {"einsum", "equation tensors path=", "Einsum(tensors; equation=equation)", NULL},

    {"conv1d conv2d conv3d", CONV, NULL, make_convolution},
    {"convolution", "input weight bias stride padding dilation transposed output_padding groups",
     NULL, make_convolution},
    {"conv_transpose1d conv_transpose2d conv_transpose3d", CONV_TRANSPOSED, NULL,
     make_conv_transposed},
    {"max_pool1d max_pool2d max_pool3d", POOL, NULL, make_max_pool},
    {"max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices", POOL, NULL,
     make_max_pool_places},
    {"avg_pool1d avg_pool2d avg_pool3d", AVERAGE, NULL, make_average_pool},

    {"layer_norm", "input normalized_shape weight= bias= eps=1e-05 cudnn_enable=True", NULL,
     make_layer_norm},
    {"native_layer_norm", "input normalized_shape weight bias eps", NULL, make_layer_norm},
    {"rms_norm", "input normalized_shape weight= eps=", NULL, make_rms_norm},
    {"group_norm", "input num_groups weight= bias= eps=1e-05 cudnn_enabled=True", NULL,
     make_group_norm},
    {"instance_norm",
     "input weight= bias= running_mean= running_var= use_input_stats=True momentum=0.1 eps=1e-05 "
     "cudnn_enabled=True",
     NULL, make_instance_norm},
    {"native_group_norm", "input weight bias N C HxW group eps", NULL, make_group_norm},
    {"batch_norm", NORM " training=False momentum=0.1 eps=1e-05 cudnn_enabled=True", NULL,
     make_batch_norm},
    {"_native_batch_norm_legit_functional native_batch_norm _native_batch_norm_legit",
     "input weight bias running_mean running_var training momentum eps", NULL,
     make_native_batch_norm},
    {"_native_batch_norm_legit_no_training",
     "input weight bias running_mean running_var momentum eps", NULL, make_native_batch_norm},

    {"scaled_dot_product_attention",
     "query key value attn_mask= dropout_p=0 is_causal=False scale= enable_gqa=False", NULL,
     make_attention},

    {"nll_loss nll_loss2d nll_loss_nd nll_loss_forward nll_loss2d_forward", NLL, NULL,
     make_nll_loss},
    {"cross_entropy_loss", NLL " label_smoothing=0", NULL, make_cross_entropy},
    LOSS("mse_loss", "", "Mul(Sub(self, target), Sub(self, target))"),
    LOSS("l1_loss", "", "Abs(Sub(self, target))"),
    LOSS("smooth_l1_loss", " beta=1",
         "Where(Less(Abs(Sub(self, target)), beta), Div(Mul(Mul(Sub(self, target), Sub(self, "
         "target)), 0.5), beta), Sub(Abs(Sub(self, target)), Mul(0.5, beta)))"),
    LOSS("huber_loss", " delta=1",
         "Where(LessOrEqual(Abs(Sub(self, target)), delta), Mul(Mul(Sub(self, target), Sub(self, "
         "target)), 0.5), Mul(Sub(Abs(Sub(self, target)), Mul(0.5, delta)), delta))"),
    {"binary_cross_entropy", "self target weight= reduction=1",
     "reduced(Mul(Neg(Add(Mul(target, Max(Log(self), -100)), Mul(Sub(1, target), Max(Log(Sub(1, "
     "self)), -100)))), given(weight, weight, 1)))",
     NULL},
    {"binary_cross_entropy_with_logits", "self target weight= pos_weight= reduction=1",
     "reduced(Mul(Add(Mul(Sub(1, target), self), Mul(Add(1, Mul(Sub(given(pos_weight, pos_weight, "
     "1), 1), target)), Add(Log(Add(1, Exp(Neg(Abs(self))))), Relu(Neg(self))))), given(weight, "
     "weight, 1)))",
     NULL},
    LOSS("kl_div", " log_target=False",
         "yes(log_target, Mul(Exp(target), Sub(target, self)), Sub(Where(Greater(target, 0), "
         "Mul(target, Log(target)), 0), Mul(target, self)))"),
    {"poisson_nll_loss", "input target log_input full eps reduction", NULL, make_poisson_loss},
    {"cosine_embedding_loss", "input1 input2 target margin=0 reduction=1", NULL, make_cosine_loss},
    {"multi_margin_loss", "self target p=1 margin=1 weight= reduction=1", NULL, make_margin_loss},
    LOSS("soft_margin_loss", "", "Log(Add(1, Exp(Mul(Neg(target), self))))"),
    {"hinge_embedding_loss", "self target margin=1 reduction=1",
     "reduced(Where(Greater(target, 0), self, Relu(Sub(margin, self))))", NULL},
    {"margin_ranking_loss", "input1 input2 target margin=0 reduction=1",
     "reduced(Relu(Add(Mul(Neg(target), Sub(input1, input2)), margin)))", NULL},
    {0},
};
