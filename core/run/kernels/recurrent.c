/* recurrent.c - RNN, GRU and LSTM: a state carried along a sequence, in double.
 *
 *     RNN   H = f(x + h)
 *     GRU   z = f(x_z + h_z), r = f(x_r + h_r), H = (1 - z) g(x_h + (r H) R_h + b) + z H
 *     LSTM  i, o, f = f(x + h + peephole C), C = f C + i g(x_c + h_c), H = o h(C)
 *
 * x: the step's input by W, h: the state by R, both with biases. A rank has some directions and
 * batches, with whole sequences and states. Gates are [gates][state] in rows of W and R: z r h, i o
 * f c. Beyond the end of a sequence its state stays and its output is 0; in reverse it starts at
 * its own end. Source: the ONNX operator schemas of RNN, GRU and LSTM, opset 1 to 22.
 */
#include "core/run/kernels/recurrent.h"

#include "core/rules/args.h"

#include <math.h>

/* ---- activations ---- */

/* name, alpha and beta by default, takes alpha, takes beta, function and slope of x, a, b. At kinks
 * slopes are those of derivative.h. */
#define ACTIVATIONS(A)                                                                             \
    A(RELU, "Relu", 0, 0, false, false, x > 0 ? x : 0, x > 0)                                      \
    A(TANH, "Tanh", 0, 0, false, false, tanh(x), 1 - tanh(x) * tanh(x))                            \
    A(SIGMOID, "Sigmoid", 0, 0, false, false, sigmoid(x), sigmoid(x) * sigmoid(-x))                \
    A(AFFINE, "Affine", 1, 0, true, true, a *x + b, a)                                             \
    A(LEAKY_RELU, "LeakyRelu", 0.01, 0, true, false, x >= 0 ? x : a * x, x > 0 ? 1 : a)            \
    A(THRESHOLDED, "ThresholdedRelu", 1, 0, true, false, x >= a ? x : 0, x > a)                    \
    A(SCALED_TANH, "ScaledTanh", 1, 1, true, true, a *tanh(b *x),                                  \
      a *b *(1 - tanh(b * x) * tanh(b * x)))                                                       \
    A(HARD_SIGMOID, "HardSigmoid", 0.2, 0.5, true, true, fmin(fmax(a *x + b, 0), 1),               \
      a *x + b > 0 && a * x + b < 1 ? a : 0)                                                       \
    A(ELU, "Elu", 1, 0, true, false, x >= 0 ? x : a * expm1(x), x > 0 ? 1 : a * exp(x))            \
    A(SOFTSIGN, "Softsign", 0, 0, false, false, x / (1 + fabs(x)),                                 \
      1 / ((1 + fabs(x)) * (1 + fabs(x))))                                                         \
    A(SOFTPLUS, "Softplus", 0, 0, false, false, x > 30 ? x : log1p(exp(x)), sigmoid(x))

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

#define A(id, name, alpha, beta, takes_alpha, takes_beta, function, derivative)                    \
    static double activate_##id(double x, double a, double b)                                      \
    {                                                                                              \
        (void)a;                                                                                   \
        (void)b;                                                                                   \
        return function;                                                                           \
    }                                                                                              \
    static double slope_##id(double x, double a, double b)                                         \
    {                                                                                              \
        (void)x;                                                                                   \
        (void)a;                                                                                   \
        (void)b;                                                                                   \
        return derivative;                                                                         \
    }
ACTIVATIONS(A)
#undef A

static const Activation activations[] = {
#define A(id, name, alpha, beta, takes_alpha, takes_beta, function, derivative)                    \
    {name, alpha, beta, takes_alpha, takes_beta, activate_##id, slope_##id},
    ACTIVATIONS(A)
#undef A
};

static double activate(const Activation *activation, double x)
{
    return activation->of(x, activation->alpha, activation->beta);
}

/* ---- attributes and operands ---- */

static bool read_activations(RecurrentLayer *layer, const RuleCall *rule, int directions,
                             Error *err)
{
    const Attr *names = args_attr(rule, "activations"), *a = args_attr(rule, "activation_alpha");
    const Attr *b = args_attr(rule, "activation_beta");
    int n = layer->cell->n_activations, n_a = 0, n_b = 0;
    if (names && (names->type != ATTR_STRINGS || names->n < n * directions))
        return error_kind(err, ERROR_RUN, "it needs %d activations", n * directions);
    for (int k = 0; k < n * directions; k++) {
        Str name = names ? names->strings[k] : str_from(layer->cell->activation[k % n]);
        Activation *to = &layer->activation[k];
        *to = (Activation){.name = NULL};
        for (size_t i = 0; i < sizeof activations / sizeof *activations; i++)
            if (str_eq(name, str_from(activations[i].name)))
                *to = activations[i];
        if (!to->name)
            return error_kind(err, ERROR_RUN, "unknown activation '%.*s'", STR_ARG(name));
        if (to->takes_alpha && a && a->type == ATTR_FLOATS && n_a < a->n)
            to->alpha = a->floats[n_a++];
        if (to->takes_beta && b && b->type == ATTR_FLOATS && n_b < b->n)
            to->beta = b->floats[n_b++];
    }
    return true;
}

static bool held_as(const KernelCall *call, int operand, const Shape *want, Error *err)
{
    bool input = operand < call->n_inputs;
    const Local *local = input ? call->input[operand] : call->output[operand - call->n_inputs];
    if (!local)
        return true;
    return (shape_equal(&local->shape, want) ||
            error_kind(err, ERROR_RUN, "operand %d has another size", operand)) &&
           kernel_computes(local, err);
}

static bool check_sizes(const RecurrentLayer *n, Error *err)
{
    const KernelCall *call = n->call;
    int64_t rows = n->cell->gates * n->h;
    Shape state = {.n_dims = 3, .dim = {n->r, n->b, n->h}};
    Shape steps = {.n_dims = 4, .dim = {n->s, n->r, n->b, n->h}};
    if (n->batch_first) {
        state = (Shape){.n_dims = 3, .dim = {n->b, n->r, n->h}};
        steps = (Shape){.n_dims = 4, .dim = {n->b, n->s, n->r, n->h}};
    }
    const Shape inputs[] = {call->input[0]->shape,
                            {.n_dims = 3, .dim = {n->r, rows, n->i}},
                            {.n_dims = 3, .dim = {n->r, rows, n->h}},
                            {.n_dims = 2, .dim = {n->r, 2 * rows}},
                            {.n_dims = 1, .dim = {n->b}},
                            state,
                            state,
                            {.n_dims = 2, .dim = {n->r, 3 * n->h}}};
    for (int i = 0; i < call->n_inputs; i++)
        if (!held_as(call, i, &inputs[i], err))
            return false;
    for (int o = 0; o < call->n_outputs; o++)
        if (!held_as(call, call->n_inputs + o, o == 0 ? &steps : &state, err))
            return false;
    return true;
}

bool layer_open(const KernelCall *call, RecurrentLayer *out, Error *err)
{
    for (int i = 0; i < 3; i++)
        if (i >= call->n_inputs || !call->input[i] || call->input[i]->shape.n_dims != 3)
            return error_kind(err, ERROR_RUN, "input %d is absent or has no 3 dims", i);
    RuleCall rule = kernel_rule_call(call);
    const Shape *x = &call->input[0]->shape, *r = &call->input[2]->shape;
    bool batch_first = args_int(&rule, "layout", 0) != 0;
    Str given = args_text(&rule, "direction", "forward");
    int directions = str_eq(given, STR("bidirectional")) ? 2 : 1;
    *out = (RecurrentLayer){.call = call, .cell = call->kernel->row, .batch_first = batch_first};
    out->s = x->dim[batch_first];
    out->b = x->dim[!batch_first];
    out->i = x->dim[2];
    out->r = r->dim[0];
    out->h = r->dim[2];
    out->reverse = str_eq(given, STR("reverse"));
    out->linear_before_reset = args_int(&rule, "linear_before_reset", 0) != 0;
    out->input_forget = args_int(&rule, "input_forget", 0) != 0;
    out->clip = args_float(&rule, "clip", 0);
    out->clip = out->clip > 0 ? out->clip : INFINITY;
    out->direction = kernel_globals(call->scratch, &call->input[2]->runs[0]);
    if (!check_sizes(out, err) || !read_activations(out, &rule, directions, err))
        return false;
    out->x = kernel_doubles(call, 0);
    out->w = kernel_doubles(call, 1);
    out->recurrence = kernel_doubles(call, 2);
    out->bias = kernel_doubles(call, 3);
    out->length = kernel_doubles(call, 4);
    out->peephole = kernel_doubles(call, 7);
    for (int k = 0; k < out->cell->n_states; k++)
        out->state[k] = arena_array(call->scratch, double, out->b * out->h);
    out->h_gates = arena_array(call->scratch, double, out->b * out->h * out->cell->gates);
    out->scratch = arena_array(call->scratch, double, out->b * out->h);
    return true;
}

/* ---- steps ---- */

int64_t layer_length(const RecurrentLayer *n, int64_t batch)
{
    int64_t length = n->length ? (int64_t)n->length[batch] : n->s;
    return length < 0 ? 0 : length > n->s ? n->s : length;
}

/* The time of step `step` for a batch element. */
static int64_t time_of(const RecurrentLayer *n, int64_t d, int64_t batch, int64_t step)
{
    bool backwards = n->reverse || n->direction[d] == 1;
    return backwards ? layer_length(n, batch) - 1 - step : step;
}

int64_t layer_row(const RecurrentLayer *n, int64_t d, int64_t batch, int64_t step)
{
    int64_t time = time_of(n, d, batch, step);
    return n->batch_first ? batch * n->s + time : time * n->b + batch;
}

/* out[b][rows] = from[b][h] * R' for rows from `first` on; out is cleared. */
static void by_recurrence(const RecurrentLayer *n, int64_t d, const double *from, int64_t first,
                          int64_t rows, double *out)
{
    const double *matrix = n->recurrence + (d * n->cell->gates * n->h + first) * n->h;
    Product p = {.m = n->b, .n = rows, .k = n->h, .b_turned = true, .scale = 1};
    memset(out, 0, (size_t)(n->b * rows) * sizeof *out);
    kernel_multiply(n->call, &p, DT_F64, from, matrix, out);
}

/* Wb or Rb of a gate's number; 0 without biases. */
static double bias_of(const RecurrentLayer *n, int64_t d, bool recurrent, int64_t at)
{
    int64_t rows = n->cell->gates * n->h;
    return n->bias ? n->bias[d * 2 * rows + (recurrent ? rows : 0) + at] : 0;
}

double layer_clipped(const RecurrentLayer *n, double x)
{
    return fmin(fmax(x, -n->clip), n->clip);
}

/* x + h of one number of a gate, with both biases. */
static double gate_sum(const RecurrentLayer *n, int64_t d, const double *x, int64_t batch,
                       int64_t at)
{
    return x[at] + n->h_gates[batch * n->cell->gates * n->h + at] + bias_of(n, d, false, at) +
           bias_of(n, d, true, at);
}

/* What an activation is taken of. */
static double noted(const RecurrentLayer *n, int64_t batch, int note, int64_t k, double x)
{
    if (n->notes)
        n->notes[(batch * n->cell->n_notes + note) * n->h + k] = x;
    return x;
}

static double gated(const RecurrentLayer *n, const Activation *f, int64_t batch, int note,
                    int64_t k, double x)
{
    return activate(f, layer_clipped(n, noted(n, batch, note, k, x)));
}

static const double *x_row(const RecurrentLayer *n, const double *x_gates, int64_t d, int64_t batch,
                           int64_t step)
{
    return x_gates + layer_row(n, d, batch, step) * n->cell->gates * n->h;
}

static void rnn_step(RecurrentLayer *n, int64_t d, const double *x_gates, int64_t step)
{
    by_recurrence(n, d, n->state[0], 0, n->h, n->h_gates);
    for (int64_t b = 0; b < n->b; b++) {
        if (step >= layer_length(n, b))
            continue;
        const double *x = x_row(n, x_gates, d, b, step);
        for (int64_t k = 0; k < n->h; k++)
            n->state[0][b * n->h + k] = gated(n, &n->f[0], b, 0, k, gate_sum(n, d, x, b, k));
    }
}

/* The recurrent term of a GRU's candidate: r (H R), or (r H) R. */
static void reset_states(RecurrentLayer *n, int64_t d, const double *x_gates, int64_t step)
{
    int64_t h = n->h;
    for (int64_t b = 0; b < n->b; b++) {
        if (step >= layer_length(n, b))
            continue;
        const double *x = x_row(n, x_gates, d, b, step);
        for (int64_t k = 0; k < h; k++) {
            double r = gated(n, &n->f[0], b, 1, k, gate_sum(n, d, x, b, h + k));
            double *of_state = &n->h_gates[b * 3 * h + 2 * h + k];
            if (n->linear_before_reset)
                *of_state = r * noted(n, b, 3, k, *of_state + bias_of(n, d, true, 2 * h + k));
            else
                n->scratch[b * h + k] = r * n->state[0][b * h + k];
        }
    }
    if (n->linear_before_reset)
        return;
    double *product = arena_array(n->call->scratch, double, n->b *h);
    by_recurrence(n, d, n->scratch, 2 * h, h, product);
    for (int64_t i = 0; i < n->b * h; i++)
        n->h_gates[i / h * 3 * h + 2 * h + i % h] = product[i] + bias_of(n, d, true, 2 * h + i % h);
}

static void gru_step(RecurrentLayer *n, int64_t d, const double *x_gates, int64_t step)
{
    int64_t h = n->h;
    by_recurrence(n, d, n->state[0], 0, 3 * h, n->h_gates);
    reset_states(n, d, x_gates, step);
    for (int64_t b = 0; b < n->b; b++) {
        if (step >= layer_length(n, b))
            continue;
        const double *x = x_row(n, x_gates, d, b, step);
        for (int64_t k = 0; k < h; k++) {
            double *state = &n->state[0][b * h + k];
            double z = gated(n, &n->f[0], b, 0, k, gate_sum(n, d, x, b, k));
            double sum =
                x[2 * h + k] + bias_of(n, d, false, 2 * h + k) + n->h_gates[b * 3 * h + 2 * h + k];
            *state = (1 - z) * gated(n, &n->f[1], b, 2, k, sum) + z * *state;
        }
    }
}

double layer_peephole(const RecurrentLayer *n, int64_t d, int gate, int64_t k)
{
    return n->peephole ? n->peephole[(d * 3 + gate) * n->h + k] : 0;
}

static void lstm_step(RecurrentLayer *n, int64_t d, const double *x_gates, int64_t step)
{
    enum { I, O, F, C };
    int64_t h = n->h;
    by_recurrence(n, d, n->state[0], 0, 4 * h, n->h_gates);
    for (int64_t b = 0; b < n->b; b++) {
        if (step >= layer_length(n, b))
            continue;
        const double *x = x_row(n, x_gates, d, b, step);
        for (int64_t k = 0; k < h; k++) {
            double *c = &n->state[1][b * h + k], sum[4];
            for (int gate = 0; gate < 4; gate++)
                sum[gate] = gate_sum(n, d, x, b, gate * h + k);
            double i = gated(n, &n->f[0], b, I, k, sum[I] + layer_peephole(n, d, I, k) * *c);
            double f = gated(n, &n->f[0], b, F, k, sum[F] + layer_peephole(n, d, F, k) * *c);
            if (n->input_forget)
                f = 1 - i;
            *c = f * *c + i * gated(n, &n->f[1], b, C, k, sum[C]);
            double o = gated(n, &n->f[0], b, O, k, sum[O] + layer_peephole(n, d, O, k) * *c);
            n->state[0][b * h + k] = o * activate(&n->f[2], *c);
        }
    }
}

/* ---- the whole layer ---- */

int64_t layer_state_place(const RecurrentLayer *n, int64_t d, int64_t batch)
{
    return (n->batch_first ? batch * n->r + d : d * n->b + batch) * n->h;
}

int64_t layer_step_place(const RecurrentLayer *n, int64_t d, int64_t batch, int64_t step)
{
    int64_t time = time_of(n, d, batch, step);
    return n->h *
           (n->batch_first ? (batch * n->s + time) * n->r + d : (time * n->r + d) * n->b + batch);
}

void layer_begin(RecurrentLayer *n, int64_t d)
{
    n->f = &n->activation[n->direction[d] * n->cell->n_activations];
    for (int k = 0; k < n->cell->n_states; k++) {
        int input = 5 + k;
        const Local *from = input < n->call->n_inputs ? n->call->input[input] : NULL;
        memset(n->state[k], 0, (size_t)(n->b * n->h) * sizeof(double));
        for (int64_t b = 0; from && b < n->b; b++)
            local_load(from, layer_state_place(n, d, b), 1, n->h, NUMBER_F64,
                       n->state[k] + b * n->h);
    }
}

static void store_step(const RecurrentLayer *n, int64_t d, int64_t step)
{
    Local *out = n->call->output[0];
    for (int64_t b = 0; out && b < n->b; b++)
        if (step < layer_length(n, b))
            local_store(out, layer_step_place(n, d, b, step), n->h, NUMBER_F64,
                        n->state[0] + b * n->h);
}

static void store_states(const RecurrentLayer *n, int64_t d)
{
    for (int k = 0; k < n->cell->n_states && 1 + k < n->call->n_outputs; k++) {
        Local *to = n->call->output[1 + k];
        for (int64_t b = 0; to && b < n->b; b++)
            local_store(to, layer_state_place(n, d, b), n->h, NUMBER_F64, n->state[k] + b * n->h);
    }
}

double *layer_inputs(const RecurrentLayer *n, int64_t d)
{
    int64_t rows = n->cell->gates * n->h;
    double *out = arena_array(n->call->scratch, double, n->s * n->b * rows);
    Product p = {.m = n->s * n->b, .n = rows, .k = n->i, .b_turned = true, .scale = 1};
    kernel_multiply(n->call, &p, DT_F64, n->x, n->w + d * rows * n->i, out);
    return out;
}

static bool recurrent(const KernelCall *call, Error *err)
{
    RecurrentLayer n;
    if (!layer_open(call, &n, err))
        return false;
    for (int64_t d = 0; d < n.r; d++) {
        const double *x_gates = layer_inputs(&n, d);
        layer_begin(&n, d);
        for (int64_t step = 0; step < n.s; step++) {
            n.cell->step(&n, d, x_gates, step);
            store_step(&n, d, step);
        }
        store_states(&n, d);
    }
    return true;
}

static const RecurrentCell of_rnn = {1, 1, 1, 1, {"Tanh"}, rnn_step, rnn_back};
static const RecurrentCell of_gru = {3, 1, 2, 4, {"Sigmoid", "Tanh"}, gru_step, gru_back};
static const RecurrentCell of_lstm = {4,         2,        3, 4, {"Sigmoid", "Tanh", "Tanh"},
                                      lstm_step, lstm_back};

const Kernel kernels_recurrent[] = {
    {"RNN", recurrent, &of_rnn, 0, ROUNDING_SENSITIVE},
    {"GRU", recurrent, &of_gru, 0, ROUNDING_SENSITIVE},
    {"LSTM", recurrent, &of_lstm, 0, ROUNDING_SENSITIVE},
    {"RecurrentBackward", recurrent_gradient, NULL, 0, ROUNDING_SENSITIVE},
    {0},
};
