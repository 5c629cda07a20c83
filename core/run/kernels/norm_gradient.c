/* norm_gradient.c - gradients of norms and softmaxes.
 *
 *     y = (x - mean) r scale + shift,  r = 1 / sqrt(variance + epsilon),  n numbers share a mean
 *     dx = r (g - sum g / n - xh sum (g xh) / n)        g = dy scale,  xh = (x - mean) r
 *     d scale = dy xh,  d shift = dy                    summed to their shapes
 *
 * A group is the numbers that share a mean, its members are never sharded. Without centring the
 * terms of the mean fall away; with given statistics dx = r g. Mean and r, of BatchNormalization
 * the running and the saved statistics, may be outputs too, with gradients of their own. Everything
 * is computed in double. Softmax: dx = y (dy - sum dy y); 0 where y is NaN.
 */
#include "core/run/kernels/norm_gradient.h"

#include "core/rules/args.h"
#include "core/run/kernels/derivative.h"
#include "core/run/kernels/embed.h"
#include "core/space/gradient.h"

#include <math.h>

/* Of one place: its element in x, in scale and in what is made. */
typedef struct {
    int64_t x, scale, to;
} NormPlace;

typedef struct GradientForm GradientForm;

typedef struct {
    const KernelCall *call;
    KernelCall forward;
    const GradientForm *form;
    const Local *like; /* laid out as x */
    NormMakes makes;
    NormWalk group, member;
    bool given;  /* statistics are inputs */
    bool unread; /* shapes are looked at alone */
    double epsilon;
    double keep;                                    /* of running statistics */
    const double *x, *dy, *scale, *mean, *variance; /* NULL: 0, or 1 */
    const double *d_mean, *d_inverse, *d_x; /* gradients of other outputs, by group; NULL: 0 */
    const double *d_running[4]; /* of running mean and variance, of the input's mean and variance */
    const NormPlace *members;   /* from a group's first one */
    double *xh, *g, *sums;
} Norm;

struct GradientForm {
    bool (*open)(Norm *s, Error *err);
    bool centre, outside; /* epsilon is added to the deviation */
    int scale, shift;     /* inputs; -1: none */
};

static const double *values(const Norm *s, const Local *local)
{
    return !s->unread && local && local->data ? local_doubles(s->call->scratch, local) : NULL;
}

/* Size and strides of one dim; members share a mean. */
static void add_dim(Norm *s, bool member, int64_t size, int64_t x, int64_t scale, int64_t to)
{
    NormWalk *walk = member ? &s->member : &s->group;
    int64_t d = walk->shape.n_dims++;
    walk->shape.dim[d] = size;
    walk->x[d] = x;
    walk->scale[d] = scale;
    walk->to[d] = to;
}

/* ---- which dims share a mean ---- */

/* Rows of the dims from the axis on; scale and shift are broadcast. */
static bool open_rows(Norm *s, Error *err)
{
    int64_t axis, x[DIMS_MAX], scale[DIMS_MAX] = {0}, to[DIMS_MAX];
    const Local *lines = s->form->scale < 0 ? NULL : s->forward.input[s->form->scale];
    if (!kernel_axis(&s->forward, -1, s->like->shape.n_dims, &axis, err) ||
        !kernel_broadcast(s->call->output[0], s->like, to, err) ||
        (lines && !kernel_broadcast(lines, s->like, scale, err)))
        return false;
    row_major_strides(&s->like->shape, x);
    for (int64_t d = 0; d < s->like->shape.n_dims; d++)
        add_dim(s, d >= axis, s->like->shape.dim[d], x[d], scale[d], to[d]);
    return kernel_whole(s->like, axis, s->like->shape.n_dims, err);
}

static bool open_axes(Norm *s, Error *err)
{
    static const int64_t usual[] = {0, 2, 3};
    bool averaged[DIMS_MAX] = {false};
    int64_t x[DIMS_MAX];
    RuleCall rule = kernel_rule_call(&s->forward);
    Ints axes;
    if (!args_ints(&rule, -1, "axes", &axes, err))
        return false;
    if (!axes.given)
        axes = (Ints){true, 3, usual};
    for (int i = 0; i < axes.n; i++) {
        int axis;
        if (!args_axis(axes.at[i], s->like->shape.n_dims, &axis, err) ||
            !kernel_whole(s->like, axis, axis + 1, err))
            return false;
        averaged[axis] = true;
    }
    row_major_strides(&s->like->shape, x);
    for (int64_t d = 0; d < s->like->shape.n_dims; d++)
        add_dim(s, averaged[d], s->like->shape.dim[d], x[d], 0, x[d]);
    return true;
}

/* Groups of n channels of a sample. One number of scale and shift belongs to `each` channels. */
static bool open_groups(Norm *s, int64_t n, int64_t each, Error *err)
{
    const Shape *shape = &s->like->shape;
    int64_t x[DIMS_MAX];
    bool image = s->makes == MAKES_X;
    row_major_strides(shape, x);
    if (!kernel_whole(s->like, 2, shape->n_dims, err))
        return false;
    if (n < 1 || shape->dim[1] % n != 0)
        return error_kind(err, ERROR_RUN, "a group of channels is sharded");
    int64_t line = n / each, step = each == 1;
    add_dim(s, false, shape->dim[0], x[0], 0, image ? x[0] : 0);
    add_dim(s, false, shape->dim[1] / n, n * x[1], line, image ? n * x[1] : line);
    add_dim(s, true, n, x[1], step, image ? x[1] : step);
    for (int64_t d = 2; d < shape->n_dims; d++)
        add_dim(s, true, shape->dim[d], x[d], 0, image ? x[d] : 0);
    return true;
}

static bool open_channels(Norm *s, Error *err)
{
    return open_groups(s, 1, 1, err);
}

static bool open_channel_groups(Norm *s, Error *err)
{
    RuleCall rule = kernel_rule_call(&s->forward);
    int64_t n = s->like->whole.dim[1] / args_int(&rule, "num_groups", 1);
    return open_groups(s, n, rule.opset < 21 ? n : 1, err);
}

/* Whether statistics come from the input; opsets say so differently. */
static bool is_training(const Norm *s, const RuleCall *rule)
{
    const Graph *graph = kernel_graph(s->call);
    if (rule->opset >= 14)
        return args_int(rule, "training_mode", 0) != 0;
    if (rule->opset < 7)
        return args_int(rule, "is_test", 0) == 0;
    for (int o = 1; o < s->forward.n_outputs; o++)
        if (op_outputs(graph, s->forward.op)[o] >= 0)
            return true;
    return false;
}

/* Channels share a mean over samples and pixels; `spatial` 0 keeps one for each element. */
static bool open_batch(Norm *s, Error *err)
{
    const Shape *shape = &s->like->shape;
    RuleCall rule = kernel_rule_call(&s->forward);
    bool each = rule.opset < 9 && args_int(&rule, "spatial", 1) == 0, image = s->makes == MAKES_X;
    int64_t x[DIMS_MAX];
    row_major_strides(shape, x);
    s->given = !is_training(s, &rule);
    s->mean = values(s, s->forward.input[3]);
    s->variance = values(s, s->forward.input[4]);
    s->keep = args_float(&rule, "momentum", 0.9);
    for (int o = 1; !s->given && o < s->forward.n_outputs && o < 5; o++)
        s->d_running[o - 1] = values(s, s->forward.output[o]);
    for (int64_t d = 0; d < shape->n_dims; d++) {
        bool line = d == 1 || (each && d > 1);
        int64_t step = !line ? 0 : each ? x[d] : 1;
        add_dim(s, !line, shape->dim[d], x[d], step, image ? x[d] : step);
        if (!line && !s->given && !kernel_whole(s->like, d, d + 1, err))
            return false;
    }
    return true;
}

/* Rows of a sum: x, skip and a bias. */
static bool open_skip(Norm *s, Error *err)
{
    const int more[2] = {1, s->form->shift < 0 ? 3 : 4};
    int64_t n = shape_elements(&s->like->shape), stride[DIMS_MAX];
    double *sum = arena_array(s->call->scratch, double, n);
    for (int64_t i = 0; s->x && i < n; i++)
        sum[i] = s->x[i];
    for (int k = 0; s->x && k < 2; k++) {
        const Local *addend = kernel_input(&s->forward, more[k]);
        const double *from = values(s, addend);
        if (!from)
            continue;
        if (!kernel_broadcast(addend, s->like, stride, err))
            return false;
        for (int64_t i = 0; i < n; i++)
            sum[i] += from[strided_place(&s->like->shape, stride, 0, s->like->shape.n_dims, i)];
    }
    s->x = s->x ? sum : NULL;
    s->d_x = s->forward.n_outputs > 3 ? values(s, s->forward.output[3]) : NULL;
    return open_rows(s, err);
}

/* Rows of a sum of rows of tables. What a table gets is summed by rows at the end. */
static bool open_embedded(Norm *s, Error *err)
{
    int64_t n = shape_elements(&s->like->shape), x[DIMS_MAX];
    double *sum = arena_array(s->call->scratch, double, n);
    bool tables = s->makes == MAKES_X;
    s->d_x = s->forward.n_outputs > 2 ? values(s, s->forward.output[2]) : NULL;
    s->x = s->makes == MAKES_SHIFT ? NULL : sum;
    row_major_strides(&s->like->shape, x);
    add_dim(s, false, s->like->shape.dim[0], x[0], 0, tables ? x[0] : 0);
    add_dim(s, false, s->like->shape.dim[1], x[1], 0, tables ? x[1] : 0);
    add_dim(s, true, s->like->shape.dim[2], 1, 1, 1);
    return !s->x || embed_sum(&s->forward, s->like, sum, err);
}

static bool store_rows(const Norm *s, int table, Error *err)
{
    Local *made = s->call->output[0];
    int64_t n = shape_elements(&made->shape), hidden = s->like->shape.dim[2];
    int64_t tokens = s->like->shape.dim[0] * s->like->shape.dim[1];
    int64_t *rows = arena_array(s->call->scratch, int64_t, tokens);
    double *to = arena_array(s->call->scratch, double, n);
    if (!embed_rows(&s->forward, table, s->like, rows, err))
        return false;
    for (int64_t i = 0; i < tokens * hidden; i++)
        to[rows[i / hidden] * hidden + i % hidden] += s->sums[i];
    local_store(made, 0, n, NUMBER_F64, to);
    return true;
}

/* ---- one group ---- */

static NormPlace place_in(const NormWalk *walk, int64_t i)
{
    int n = (int)walk->shape.n_dims;
    return (NormPlace){strided_place(&walk->shape, walk->x, 0, n, i),
                       strided_place(&walk->shape, walk->scale, 0, n, i),
                       strided_place(&walk->shape, walk->to, 0, n, i)};
}

typedef struct {
    double mean, inverse, slope; /* slope: of xh by the sum of g xh */
} Statistics;

static Statistics statistics_of(const Norm *s, int64_t x, int64_t line, int64_t n)
{
    double sum = 0, squares = 0;
    if (s->given && s->mean && s->variance)
        return (Statistics){s->mean[line], 1 / sqrt(s->variance[line] + s->epsilon), 0};
    for (int64_t i = 0; s->form->centre && i < n; i++)
        sum += s->x[x + s->members[i].x];
    double mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++) {
        double at = s->x[x + s->members[i].x] - mean;
        squares += at * at;
    }
    double variance = squares / (double)n, deviation = sqrt(variance);
    if (s->form->outside)
        return (Statistics){mean, 1 / (deviation + s->epsilon), deviation > 0 ? 1 / deviation : 0};
    double inverse = 1 / sqrt(variance + s->epsilon);
    return (Statistics){mean, inverse, inverse};
}

/* The gradient of the mean (0) or variance (1) that a training step finds in a group. */
static double found_gradient(const Norm *s, int which, int64_t group)
{
    const double *running = s->d_running[which], *saved = s->d_running[2 + which];
    return (running ? running[group] * (1 - s->keep) : 0) + (saved ? saved[group] : 0);
}

/* What member i of the group adds to what is made; a and b are the means of g and g xh. */
static double made_of(const Norm *s, const Statistics *at, int64_t group, int64_t i, double dy,
                      double a, double b, int64_t n)
{
    double xh = s->xh[i], r = at->inverse;
    switch (s->makes) {
    case MAKES_SCALE:
        return dy * xh;
    case MAKES_SHIFT:
        return dy;
    case MAKES_MEAN:
        return s->given ? -s->g[i] * r : 0;
    case MAKES_VARIANCE:
        return s->given ? -s->g[i] * xh * r * r / 2 : 0;
    case MAKES_X:
        break;
    }
    if (s->given)
        return s->g[i] * r;
    double dx = r * (s->g[i] - (s->form->centre ? a : 0)) - xh * b * at->slope;
    dx += ((s->d_mean ? s->d_mean[group] : 0) + found_gradient(s, 0, group) +
           2 * xh / r * found_gradient(s, 1, group)) /
          (double)n;
    return dx - (s->d_inverse ? s->d_inverse[group] * r * r * xh / (double)n : 0);
}

static void add_group(const Norm *s, int64_t group, int64_t n)
{
    NormPlace first = place_in(&s->group, group);
    Statistics at = {0, 1, 1};
    double a = 0, b = 0;
    if (s->x)
        at = statistics_of(s, first.x, first.scale, n);
    for (int64_t i = 0; i < n; i++) {
        NormPlace place = s->members[i];
        double dy = s->dy ? s->dy[first.x + place.x] : 0;
        s->xh[i] = s->x ? (s->x[first.x + place.x] - at.mean) * at.inverse : 0;
        s->g[i] = dy * (s->scale ? s->scale[first.scale + place.scale] : 1);
        a += s->g[i] / (double)n;
        b += s->g[i] * s->xh[i] / (double)n;
    }
    const double *kept = s->makes == MAKES_MEAN ? s->d_running[0] : s->d_running[1];
    if ((s->makes == MAKES_MEAN || s->makes == MAKES_VARIANCE) && kept)
        s->sums[first.to] += s->keep * kept[group];
    for (int64_t i = 0; i < n; i++) {
        NormPlace place = s->members[i];
        double dy = s->dy ? s->dy[first.x + place.x] : 0;
        double made = made_of(s, &at, group, i, dy, a, b, n);
        if (s->makes == MAKES_X && s->d_x)
            made += s->d_x[first.x + place.x];
        s->sums[first.to + place.to] += made;
    }
}

static NormMakes makes_of(const Norm *s, int input)
{
    if (s->form->scale == input)
        return MAKES_SCALE;
    if (s->form->shift == input)
        return MAKES_SHIFT;
    if (s->form->open == open_batch && input > 2)
        return input == 3 ? MAKES_MEAN : MAKES_VARIANCE;
    return MAKES_X;
}

static bool open_norm(const KernelCall *call, bool unread, Norm *s, Error *err)
{
    const Gradient *gradient = program_space(call->inferred, call->op)->gradient;
    *s = (Norm){.call = call, .form = call->kernel->row, .unread = unread};
    if (!forward_call(call, &s->forward, err))
        return false;
    s->like = s->forward.output[0];
    s->makes = makes_of(s, gradient->written[0]);
    double usual = s->form->outside ? 1e-9 : s->form->scale > 1 ? 1e-12 : 1e-5;
    s->epsilon = op_attr_float(kernel_graph(call), call->op, "epsilon", usual);
    s->x = values(s, s->forward.input[0]);
    s->dy = values(s, s->like);
    if (s->form->scale >= 0 && s->form->scale < s->forward.n_inputs)
        s->scale = values(s, s->forward.input[s->form->scale]);
    return s->form->open(s, err);
}

bool norm_frame(const KernelCall *call, NormFrame *out, Error *err)
{
    Norm s;
    const GradientForm *form = call->kernel->row;
    if (form->open == open_skip || form->open == open_embedded)
        return error_kind(err, ERROR_UNSUPPORTED, "x is a sum");
    if (!open_norm(call, true, &s, err))
        return false;
    *out = (NormFrame){.like = s.like,
                       .makes = s.makes,
                       .group = s.group,
                       .member = s.member,
                       .given = s.given,
                       .centre = form->centre,
                       .outside = form->outside,
                       .scale = form->scale,
                       .epsilon = s.epsilon};
    return true;
}

static bool norm(const KernelCall *call, Error *err)
{
    Norm s;
    if (!open_norm(call, false, &s, err))
        return false;
    bool rows = s.form->open == open_rows || s.form->open == open_skip;
    int inverse = s.form->centre ? 2 : 1; /* outputs of statistics: mean and r, or r alone */
    for (int o = 1; rows && o < s.forward.n_outputs && o < 3; o++)
        if (s.forward.output[o]->data)
            *(o < inverse ? &s.d_mean : &s.d_inverse) = values(&s, s.forward.output[o]);
    Local *made = call->output[0];
    int64_t n = shape_elements(&s.member.shape), n_groups = shape_elements(&s.group.shape);
    NormPlace *members = arena_array(call->scratch, NormPlace, n);
    for (int64_t i = 0; i < n; i++)
        members[i] = place_in(&s.member, i);
    s.members = members;
    s.xh = arena_array(call->scratch, double, n);
    s.g = arena_array(call->scratch, double, n);
    bool by_rows = s.form->open == open_embedded && s.makes == MAKES_X;
    int64_t n_made = shape_elements(&(by_rows ? s.like : made)->shape);
    s.sums = arena_array(call->scratch, double, n_made);
    for (int64_t group = 0; n > 0 && group < n_groups; group++)
        add_group(&s, group, n);
    if (by_rows)
        return store_rows(&s, program_space(call->inferred, call->op)->gradient->written[0], err);
    local_store(made, 0, n_made, NUMBER_F64, s.sums);
    return true;
}

/* ---- rows: softmaxes, LpNormalization ---- */

/* d becomes the gradient of the row whose value read is v. */
typedef void RowFn(double *d, const double *v, int64_t n, int64_t order);

static void softmax(double *d, const double *y, int64_t n, int64_t order)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += isnan(y[i]) ? 0 : d[i] * y[i];
    for (int64_t i = 0; i < n; i++)
        d[i] = isnan(y[i]) ? 0 : y[i] * (d[i] - sum);
    (void)order;
}

static void log_softmax(double *d, const double *y, int64_t n, int64_t order)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += d[i];
    for (int64_t i = 0; i < n; i++)
        d[i] -= exp(y[i]) * sum;
    (void)order;
}

static void unit_length(double *d, const double *x, int64_t n, int64_t order)
{
    double sum = 0, along = 0;
    for (int64_t i = 0; i < n; i++)
        sum += order == 1 ? fabs(x[i]) : x[i] * x[i];
    double norm = order == 1 ? sum : sqrt(sum);
    for (int64_t i = 0; i < n && norm > 0; i++)
        along += d[i] * x[i] / norm;
    for (int64_t i = 0; i < n; i++) {
        double slope = order == 1 ? (double)((x[i] > 0) - (x[i] < 0)) : x[i] / norm;
        d[i] = norm > 0 ? (d[i] - slope * along) / norm : 0;
    }
}

typedef struct {
    RowFn *of_row;
    bool flattens; /* before opset 13 a row is all dims from axis 1 on; since, one dim */
} RowForm;

/* The value that the op reads, of input or output, is its last input. */
static bool each_row(const KernelCall *call, Error *err)
{
    const RowForm *form = call->kernel->row;
    const Graph *graph = kernel_graph(call);
    bool old = form->flattens && graph->opset > 0 && graph->opset < 13;
    int64_t axis, step = 1, n = 1;
    if (!kernel_numeric(call, 2, err) ||
        !kernel_axis(call, old ? 1 : -1, call->output[0]->shape.n_dims, &axis, err))
        return false;
    Local *made = call->output[0];
    int64_t end = old ? made->shape.n_dims : axis + 1;
    if (!kernel_whole(made, axis, end, err))
        return false;
    for (int64_t d = axis; d < made->shape.n_dims; d++)
        *(d < end ? &n : &step) *= made->shape.dim[d];
    int64_t order = op_attr_int(graph, call->op, "p", 2), n_elements = shape_elements(&made->shape);
    double *d = arena_array(call->scratch, double, n), *v = arena_array(call->scratch, double, n);
    for (int64_t block = 0; block < n_elements; block += n * step)
        for (int64_t at = block; at < block + step; at++) {
            local_load(call->input[0], at, step, n, NUMBER_F64, d);
            local_load(call->input[1], at, step, n, NUMBER_F64, v);
            form->of_row(d, v, n, order);
            if (step == 1)
                local_store(made, at, n, NUMBER_F64, d);
            for (int64_t i = 0; step > 1 && i < n; i++)
                local_store(made, at + i * step, 1, NUMBER_F64, &d[i]);
        }
    return true;
}

/* ---- LRN ---- */

/* y = x / s ^ beta, s = bias + alpha / size * the sum of squares of the channels around */
typedef struct {
    int64_t size, before;
    double share, beta, bias;
} Lrn;

/* What the gradient of y at channel `g` gives to the channels around it. x, dx: by local channels
 * of `runs`, which may lack channels that no window of this rank reaches. */
static void add_lrn(const Lrn *lrn, const Runs *runs, int64_t g, double dy, const double *x,
                    double *dx)
{
    double sum = lrn->bias;
    int64_t own = runs_find(runs, g);
    for (int64_t k = g - lrn->before; k < g - lrn->before + lrn->size; k++) {
        int64_t at = runs_find(runs, k);
        sum += at < 0 ? 0 : lrn->share * x[at] * x[at];
    }
    double factor = dy * pow(sum, -lrn->beta);
    dx[own] += factor;
    for (int64_t k = g - lrn->before; k < g - lrn->before + lrn->size; k++) {
        int64_t at = runs_find(runs, k);
        if (at >= 0)
            dx[at] -= factor / sum * x[own] * lrn->beta * 2 * lrn->share * x[at];
    }
}

/* Whether a rank holds all channels that the windows around the channels of `out` read. */
static bool holds_windows(const Lrn *lrn, const Local *held, const int64_t *out, int64_t n)
{
    bool holds = true;
    for (int64_t c = 0; holds && c < n; c++)
        for (int64_t k = out[c] - lrn->before; k < out[c] - lrn->before + lrn->size; k++)
            holds &= k < 0 || k >= held->whole.dim[1] || runs_find(&held->runs[1], k) >= 0;
    return holds;
}

static bool lrn(const KernelCall *call, Error *err)
{
    const Graph *graph = kernel_graph(call);
    Local *made = call->output[0];
    if (!kernel_numeric(call, 2, err))
        return false;
    const Local *grad = call->input[0];
    Lrn lrn = {.size = op_attr_int(graph, call->op, "size", 1)};
    lrn.before = (lrn.size - 1) / 2;
    lrn.share = op_attr_float(graph, call->op, "alpha", 1e-4) / (double)lrn.size;
    lrn.beta = op_attr_float(graph, call->op, "beta", 0.75);
    lrn.bias = op_attr_float(graph, call->op, "bias", 1);
    int64_t n = made->shape.dim[1], n_grad = grad->shape.dim[1], pixels = 1;
    const int64_t *channel = kernel_globals(call->scratch, &grad->runs[1]);
    const Local *read = part_like(call, call->input[1], made);
    if (!read || !holds_windows(&lrn, made, channel, n_grad))
        return error_kind(err, ERROR_RUN, "a channel is on another rank");
    for (int64_t d = 2; d < made->shape.n_dims; d++)
        pixels *= made->shape.dim[d];
    double *dy = arena_array(call->scratch, double, n_grad);
    double *x = arena_array(call->scratch, double, n), *dx = arena_array(call->scratch, double, n);
    for (int64_t i = 0; i < made->shape.dim[0] * pixels; i++) {
        int64_t image = i / pixels, pixel = i % pixels, at = image * n * pixels + pixel;
        local_load(grad, image * n_grad * pixels + pixel, pixels, n_grad, NUMBER_F64, dy);
        local_load(read, at, pixels, n, NUMBER_F64, x);
        memset(dx, 0, (size_t)n * sizeof *dx);
        for (int64_t c = 0; c < n_grad; c++)
            add_lrn(&lrn, &made->runs[1], channel[c], dy[c], x, dx);
        for (int64_t c = 0; c < n; c++)
            local_store(made, at + c * pixels, 1, NUMBER_F64, &dx[c]);
    }
    return true;
}

static const GradientForm of_layer = {open_rows, true, false, 1, 2},
                          of_rms = {open_rows, false, false, 1, -1},
                          of_instance = {open_channels, true, false, 1, 2},
                          of_group = {open_channel_groups, true, false, 1, 2},
                          of_batch = {open_batch, true, false, 1, 2},
                          of_axes = {open_axes, true, true, -1, -1},
                          of_skip = {open_skip, true, false, 2, 3},
                          of_simple_skip = {open_skip, false, false, 2, -1},
                          of_embedded = {open_embedded, true, false, 5, 6};
static const RowForm of_softmax = {softmax, true}, of_log_softmax = {log_softmax, true},
                     of_length = {unit_length, false};

const Kernel kernels_norm_gradient[] = {
    {"LayerNormalizationBackward", norm, &of_layer, 0, ROUNDING_SENSITIVE},
    {"RMSNormalizationBackward", norm, &of_rms, 0, ROUNDING_SENSITIVE},
    {"InstanceNormalizationBackward", norm, &of_instance, 0, ROUNDING_SENSITIVE},
    {"GroupNormalizationBackward", norm, &of_group, 0, ROUNDING_SENSITIVE},
    {"BatchNormalizationBackward", norm, &of_batch, 0, ROUNDING_SENSITIVE},
    {"MeanVarianceNormalizationBackward", norm, &of_axes, 0, ROUNDING_SENSITIVE},
    {"SkipLayerNormalizationBackward", norm, &of_skip, 0, ROUNDING_SENSITIVE},
    {"SkipSimplifiedLayerNormalizationBackward", norm, &of_simple_skip, 0, ROUNDING_SENSITIVE},
    {"EmbedLayerNormalizationBackward", norm, &of_embedded, 0, ROUNDING_SENSITIVE},
    {"SoftmaxBackward", each_row, &of_softmax, 0, ROUNDING_SENSITIVE},
    {"LogSoftmaxBackward", each_row, &of_log_softmax, 0, ROUNDING_SENSITIVE},
    {"LpNormalizationBackward", each_row, &of_length, 0, ROUNDING_SENSITIVE},
    {"LRNBackward", lrn, NULL, 0, ROUNDING_SENSITIVE},
    {0},
};
