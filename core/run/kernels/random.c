/* random.c - random operators and Dropout.
 *
 * A number is a function of (seed, name of the op's output, index in the whole tensor): every plan
 * draws the same; another seed, op or loop iteration draws others. An assumption
 * (core/plan/assume.h) can make ranks draw otherwise. An op that a training step runs again draws
 * what it drew in the forward pass. The seed is the attribute's, else the run's. Normal numbers by
 * Box and Muller (1958), two draws each; Multinomial inverts the running sum of its row.
 */
#include "core/rules/args.h"
#include "core/run/draw.h"
#include "core/run/kernels/derivative.h"

#include <math.h>

static uint64_t key_of(const KernelCall *call)
{
    const Graph *graph = kernel_graph(call);
    RuleCall rule = kernel_rule_call(call);
    const Attr *given = args_attr(&rule, "seed");
    uint64_t seed = call->seed;
    if (given && (given->type == ATTR_FLOAT || given->type == ATTR_INT)) {
        double number = args_float(&rule, "seed", 0);
        memcpy(&seed, &number, sizeof seed);
    }
    bool again = graph->phase && graph->phase[call->op] == PHASE_AGAIN;
    int32_t op = again ? graph->of[call->op] : call->op;
    int32_t made = op_outputs(graph, op)[0];
    Str name = str_from(made < 0 ? op_name(graph, op) : tensor_name(graph, made));
    uint64_t key = draw_key(seed + call->by_rank, name);
    return call->iteration > 0 ? draw_key(key + (uint64_t)call->iteration, name) : key;
}

static double draw_unit(uint64_t key, int64_t index) /* in [0, 1) */
{
    return draw_uniform(key, index) / 2 + 0.5;
}

static double draw_normal(uint64_t key, int64_t index)
{
    double radius = sqrt(-2 * log(1 - draw_unit(key, 2 * index)));
    return radius * cos(6.283185307179586 * draw_unit(key, 2 * index + 1));
}

/* index[i]: index in the whole tensor of place i of the part; along dims that are drawn alike on
 * each rank, as if the part began there. */
static int64_t *whole_indices(const KernelCall *call, const Local *local)
{
    Arena *arena = call->scratch;
    int64_t stride[DIMS_MAX], *index = arena_array(arena, int64_t, shape_elements(&local->shape));
    Picks picks = picks_new(arena, &local->shape);
    row_major_strides(&local->whole, stride);
    for (int d = 0; d < picks.n_dims; d++) {
        Run part = {0, local->shape.dim[d]};
        const Runs runs = {.n = 1, .local_size = part.length, .at = &part};
        picks_global(&picks, d, call->by_place >> d & 1 ? &runs : &local->runs[d], stride[d]);
    }
    Stretch s;
    for (PickScan scan = picks_scan(&picks); picks_next(&scan, &s);)
        for (int64_t i = 0; i < s.n; i++)
            index[s.to + i] = s.from + i * s.step;
    return index;
}

/* RandomNormal: mean and scale; RandomUniform: low and high. */
static bool draw(const KernelCall *call, Error *err)
{
    bool normal = call->kernel->row != NULL;
    if (!kernel_needs(call, 0, err) || !kernel_computes(call->output[0], err))
        return false;
    Local *out = call->output[0];
    RuleCall rule = kernel_rule_call(call);
    double from = args_float(&rule, normal ? "mean" : "low", 0);
    double to = args_float(&rule, normal ? "scale" : "high", 1);
    double factor = normal ? to : to - from;
    uint64_t key = key_of(call);
    const int64_t *index = whole_indices(call, out);
    int64_t n = shape_elements(&out->shape);
    for (int64_t at = 0; at < n; at += ELEMENT_BLOCK) {
        double block[ELEMENT_BLOCK];
        int64_t n_block = n - at < ELEMENT_BLOCK ? n - at : ELEMENT_BLOCK;
        for (int64_t i = 0; i < n_block; i++)
            block[i] = from + factor * (normal ? draw_normal(key, index[at + i])
                                               : draw_unit(key, index[at + i]));
        local_store(out, at, n_block, NUMBER_F64, block);
    }
    return true;
}

/* 1 with the probability given by the input. */
static bool bernoulli(const KernelCall *call, Error *err)
{
    if (!kernel_numeric(call, 1, err))
        return false;
    const Local *in = call->input[0];
    Local *out = call->output[0];
    if (!shape_equal(&in->shape, &out->shape))
        return error_kind(err, ERROR_RUN, "input and output differ in shape");
    uint64_t key = key_of(call);
    const int64_t *index = whole_indices(call, out);
    int64_t n = shape_elements(&out->shape);
    for (int64_t at = 0; at < n; at += ELEMENT_BLOCK) {
        double block[ELEMENT_BLOCK];
        int64_t n_block = n - at < ELEMENT_BLOCK ? n - at : ELEMENT_BLOCK;
        local_load(in, at, 1, n_block, NUMBER_F64, block);
        for (int64_t i = 0; i < n_block; i++)
            block[i] = draw_unit(key, index[at + i]) < block[i];
        local_store(out, at, n_block, NUMBER_F64, block);
    }
    return true;
}

/* Turns unnormalized log probabilities into their running sum. */
static void accumulate(double *row, int64_t n)
{
    double most = -INFINITY, sum = 0;
    for (int64_t c = 0; c < n; c++)
        most = fmax(most, row[c]);
    for (int64_t c = 0; c < n; c++) {
        sum += exp(row[c] - most);
        row[c] = sum;
    }
}

static bool multinomial(const KernelCall *call, Error *err)
{
    if (!kernel_numeric(call, 1, err))
        return false;
    const Local *in = call->input[0];
    Local *out = call->output[0];
    if (in->shape.n_dims != 2 || out->shape.n_dims != 2 || out->shape.dim[0] != in->shape.dim[0] ||
        in->shape.dim[1] != in->whole.dim[1])
        return error_kind(err, ERROR_RUN, "input and output shapes do not match");
    int64_t n = in->shape.dim[1], n_samples = out->shape.dim[1];
    if (n == 0 && shape_elements(&out->shape) > 0)
        return error_kind(err, ERROR_RUN, "there are no classes to choose from");
    uint64_t key = key_of(call);
    const int64_t *index = whole_indices(call, out);
    double *row = arena_array(call->scratch, double, n);
    for (int64_t i = 0; i < shape_elements(&out->shape); i++) {
        if (i % n_samples == 0) {
            local_load(in, i / n_samples * n, 1, n, NUMBER_F64, row);
            accumulate(row, n);
        }
        double at = draw_unit(key, index[i]) * row[n - 1];
        int64_t c = 0;
        while (c < n - 1 && !(at < row[c]))
            c++;
        local_store(out, i, 1, NUMBER_I64, &c);
    }
    return true;
}

/* ---- Dropout ---- */

/* The dropout ratio; 0 unless training. */
static bool read_ratio(const KernelCall *call, double *ratio, Error *err)
{
    const Local *given = kernel_input(call, 1);
    int64_t training = 0;
    *ratio = 0;
    if (kernel_input(call, 2) && !kernel_scalar(call->input[2], &training, err))
        return false;
    if (!training)
        return true;
    *ratio = 0.5;
    if (!given)
        return true;
    if (!kernel_computes(given, err))
        return false;
    if (shape_elements(&given->shape) == 1)
        local_load(given, 0, 1, 1, NUMBER_F64, ratio);
    return (*ratio >= 0 && *ratio < 1) ||
           error_kind(err, ERROR_RUN, "invalid dropout ratio %g", *ratio);
}

/* Kept elements are scaled by 1 / (1 - ratio); the mask is 1 where kept. */
static bool dropout(const KernelCall *call, Error *err)
{
    double ratio;
    if (!kernel_needs(call, 1, err) || !read_ratio(call, &ratio, err))
        return false;
    const Local *in = call->input[0];
    Local *out = call->output[0], *mask = kernel_output(call, 1);
    int64_t n = shape_elements(&in->shape);
    if (in->dtype != out->dtype || n != shape_elements(&out->shape) ||
        (mask && n != shape_elements(&mask->shape)))
        return error_kind(err, ERROR_RUN, "output and input shapes do not match");
    if (ratio > 0 && !kernel_computes(in, err))
        return false;
    elements_copy(out->dtype, out->data, in->data, 1, n);
    uint64_t key = key_of(call);
    const int64_t *index = ratio > 0 ? whole_indices(call, out) : NULL;
    for (int64_t at = 0; at < n && (mask || index); at += ELEMENT_BLOCK) {
        double x[ELEMENT_BLOCK], kept[ELEMENT_BLOCK];
        int64_t n_block = n - at < ELEMENT_BLOCK ? n - at : ELEMENT_BLOCK;
        for (int64_t i = 0; i < n_block; i++)
            kept[i] = !index || draw_unit(key, index[at + i]) >= ratio;
        if (mask)
            local_store(mask, at, n_block, NUMBER_F64, kept);
        if (!index)
            continue;
        local_load(in, at, 1, n_block, NUMBER_F64, x);
        for (int64_t i = 0; i < n_block; i++)
            x[i] = kept[i] > 0 ? x[i] / (1 - ratio) : 0;
        local_store(out, at, n_block, NUMBER_F64, x);
    }
    return true;
}

/* Whether each element is kept: by the mask, else drawn as the forward op drew it. */
static bool dropout_gradient(const KernelCall *call, Error *err)
{
    double ratio;
    KernelCall forward;
    if (!forward_call(call, &forward, err) || !read_ratio(&forward, &ratio, err))
        return false;
    const Local *from = forward.output[0], *mask = kernel_input(call, call->n_inputs - 1);
    Local *made = call->output[0];
    int64_t n = shape_elements(&made->shape);
    if (!from->data || n != shape_elements(&from->shape))
        return n == 0 || !from->data;
    uint64_t key = key_of(&forward);
    const int64_t *index = ratio > 0 && !mask ? whole_indices(call, made) : NULL;
    for (int64_t at = 0; at < n; at += ELEMENT_BLOCK) {
        double d[ELEMENT_BLOCK], kept[ELEMENT_BLOCK];
        int64_t n_block = n - at < ELEMENT_BLOCK ? n - at : ELEMENT_BLOCK;
        local_load(from, at, 1, n_block, NUMBER_F64, d);
        if (mask)
            local_load(mask, at, 1, n_block, NUMBER_F64, kept);
        for (int64_t i = 0; i < n_block; i++) {
            bool is_kept = mask ? kept[i] != 0 : !index || draw_unit(key, index[at + i]) >= ratio;
            d[i] = is_kept ? d[i] / (1 - ratio) : 0;
        }
        local_store(made, at, n_block, NUMBER_F64, d);
    }
    return true;
}

/* Dropout is random only with its training input. */
bool kernel_draws(const Graph *graph, int32_t op, const Kernel *kernel)
{
    bool is_random = false;
    for (const Kernel *row = kernels_random; row->name; row++)
        is_random |= row == kernel;
    return is_random && (kernel->run != dropout ||
                         (graph->ops[op].n_inputs > 2 && op_inputs(graph, op)[2] >= 0));
}

const Kernel kernels_random[] = {
    {"RandomNormal", draw, "normal", 0, ROUNDING_ULPS},
    {"RandomUniform", draw, NULL, 0, ROUNDING_ULPS},
    {"Bernoulli", bernoulli, NULL, 0, ROUNDING_ULPS},
    {"Multinomial", multinomial, NULL, 0, ROUNDING_ULPS},
    {"Dropout", dropout, NULL, 0, ROUNDING_ULPS},
    {"DropoutBackward", dropout_gradient, NULL, 0, ROUNDING_ULPS},
    {0},
};
