/* recurrent_gradient.c - gradients of RNN, GRU and LSTM: back through the steps, in double.
 *
 * A direction runs forward again and keeps the states before each step and what its activations
 * are taken of. Then its steps are gone through from the last one. A step turns the gradients of
 * the states after it into those of its gates, and these into the gradients of the states before
 * it; gradients of X, W, R and the biases are matrix products of all steps' gates.
 *
 * dx: gradient of a gate's term of the input, dh: of its term of the state. They differ in a GRU.
 */
#include "core/run/kernels/derivative.h"
#include "core/run/kernels/recurrent.h"
#include "core/space/gradient.h"

#include <math.h>

/* Inputs whose gradients are made. */
enum { OF_X, OF_W, OF_R, OF_B, OF_LENGTHS, OF_H, OF_C, OF_P, INPUTS_HELD };

struct RecurrentGradient {
    RecurrentLayer n;
    int64_t rows;                /* of the gates: gates * h */
    double *made[INPUTS_HELD];   /* sums laid out as the inputs */
    double *before[STATES_MAX];  /* [step][b][h] */
    double *notes;               /* [step][b][n_notes][h] */
    double *d_state[STATES_MAX]; /* [b][h] of the current step */
    double *dx, *dh;             /* [b][rows] of the current step */
    double *all_dx, *all_dh;     /* [row of x][rows] */
    double *states, *reset;      /* [row of x][h]: what R multiplies; reset: for the candidate of a
                                  * GRU; NULL: the same */
    double *product, *other;     /* work space */
};

/* ---- places and slopes ---- */

static bool is_over(const RecurrentGradient *g, int64_t b, int64_t step)
{
    return step >= layer_length(&g->n, b);
}

static double before(const RecurrentGradient *g, int state, int64_t step, int64_t at)
{
    return g->before[state][step * g->n.b * g->n.h + at];
}

static double note(const RecurrentGradient *g, int64_t step, int64_t b, int which, int64_t k)
{
    return g->notes[((step * g->n.b + b) * g->n.cell->n_notes + which) * g->n.h + k];
}

/* A value and its derivative. */
typedef struct {
    double value, slope;
} Sloped;

static Sloped activated(const RecurrentGradient *g, int f, double x)
{
    const Activation *by = &g->n.f[f];
    double clipped = layer_clipped(&g->n, x);
    bool moves = fabs(x) < g->n.clip;
    return (Sloped){by->of(clipped, by->alpha, by->beta),
                    moves ? by->slope(clipped, by->alpha, by->beta) : 0};
}

/* of a gate at a step */
static Sloped gate(const RecurrentGradient *g, int f, int64_t step, int64_t b, int which, int64_t k)
{
    return activated(g, f, note(g, step, b, which, k));
}

static void set_gate(RecurrentGradient *g, int64_t b, int64_t at, double gradient)
{
    g->dx[b * g->rows + at] = g->dh[b * g->rows + at] = gradient;
}

/* ---- cells ---- */

void rnn_back(RecurrentGradient *g, int64_t d, int64_t step)
{
    (void)d;
    for (int64_t b = 0; b < g->n.b; b++)
        for (int64_t k = 0; k < g->n.h && !is_over(g, b, step); k++) {
            double *dh = &g->d_state[0][b * g->n.h + k];
            set_gate(g, b, k, *dh * gate(g, 0, step, b, 0, k).slope);
            *dh = 0;
        }
}

/* C = f C' + i g, H = o h(C), with gates in the order i o f g. */
void lstm_back(RecurrentGradient *g, int64_t d, int64_t step)
{
    enum { I, O, F, C };
    int64_t h = g->n.h;
    double *peephole = g->made[OF_P] + d * 3 * h;
    for (int64_t b = 0; b < g->n.b; b++)
        for (int64_t k = 0; k < h && !is_over(g, b, step); k++) {
            double *dh = &g->d_state[0][b * h + k], *dc = &g->d_state[1][b * h + k];
            double c = before(g, 1, step, b * h + k);
            Sloped i = gate(g, 0, step, b, I, k), o = gate(g, 0, step, b, O, k);
            Sloped f = gate(g, 0, step, b, F, k), x = gate(g, 1, step, b, C, k);
            if (g->n.input_forget)
                f = (Sloped){1 - i.value, 0};
            const Activation *out = &g->n.f[2];
            double c_after = f.value * c + i.value * x.value;
            double d_o = *dh * out->of(c_after, out->alpha, out->beta) * o.slope;
            double d_c = *dc + *dh * o.value * out->slope(c_after, out->alpha, out->beta) +
                         d_o * layer_peephole(&g->n, d, O, k);
            double d_i = d_c * (x.value - (g->n.input_forget ? c : 0)) * i.slope;
            double d_f = d_c * c * f.slope;
            set_gate(g, b, I * h + k, d_i);
            set_gate(g, b, O * h + k, d_o);
            set_gate(g, b, F * h + k, d_f);
            set_gate(g, b, C * h + k, d_c * i.value * x.slope);
            peephole[I * h + k] += d_i * c;
            peephole[O * h + k] += d_o * c_after;
            peephole[F * h + k] += d_f * c;
            *dh = 0;
            *dc = d_c * f.value + d_i * layer_peephole(&g->n, d, I, k) +
                  d_f * layer_peephole(&g->n, d, F, k);
        }
}

/* The candidate's term of the state is (r H) R: back through the product. */
static void reset_back(RecurrentGradient *g, int64_t d, int64_t step)
{
    int64_t h = g->n.h;
    const double *matrix = g->n.recurrence + (d * 3 + 2) * h * h;
    Product p = {.m = g->n.b, .n = h, .k = h, .scale = 1};
    for (int64_t b = 0; b < g->n.b; b++)
        memcpy(g->other + b * h, g->dh + b * 3 * h + 2 * h, (size_t)h * sizeof *g->other);
    memset(g->product, 0, (size_t)(g->n.b * h) * sizeof *g->product);
    kernel_multiply(g->n.call, &p, DT_F64, g->other, matrix, g->product);
    for (int64_t b = 0; b < g->n.b; b++)
        for (int64_t k = 0; k < h && !is_over(g, b, step); k++) {
            Sloped r = gate(g, 0, step, b, 1, k);
            double state = before(g, 0, step, b * h + k), d_product = g->product[b * h + k];
            set_gate(g, b, h + k, d_product * state * r.slope);
            g->d_state[0][b * h + k] += d_product * r.value;
            g->reset[layer_row(&g->n, d, b, step) * h + k] = r.value * state;
        }
}

/* H = (1 - z) n + z H', with gates in the order z r n. */
void gru_back(RecurrentGradient *g, int64_t d, int64_t step)
{
    int64_t h = g->n.h;
    for (int64_t b = 0; b < g->n.b; b++)
        for (int64_t k = 0; k < h && !is_over(g, b, step); k++) {
            double *dh = &g->d_state[0][b * h + k], state = before(g, 0, step, b * h + k);
            Sloped z = gate(g, 0, step, b, 0, k), r = gate(g, 0, step, b, 1, k);
            Sloped n = gate(g, 1, step, b, 2, k);
            double d_n = *dh * (1 - z.value) * n.slope;
            set_gate(g, b, k, *dh * (state - n.value) * z.slope);
            set_gate(g, b, 2 * h + k, d_n);
            if (g->n.linear_before_reset) {
                set_gate(g, b, h + k, d_n * note(g, step, b, 3, k) * r.slope);
                g->dh[b * 3 * h + 2 * h + k] = d_n * r.value;
            }
            *dh *= z.value;
        }
    if (!g->n.linear_before_reset)
        reset_back(g, d, step);
}

/* ---- steps ---- */

/* Runs direction `d` forward, and keeps what the way back reads. */
static void keep_steps(RecurrentGradient *g, int64_t d)
{
    RecurrentLayer *n = &g->n;
    const double *x_gates = layer_inputs(n, d);
    int64_t size = n->b * n->h;
    layer_begin(n, d);
    for (int64_t step = 0; step < n->s; step++) {
        for (int k = 0; k < n->cell->n_states; k++)
            memcpy(g->before[k] + step * size, n->state[k], (size_t)size * sizeof(double));
        for (int64_t b = 0; b < n->b; b++)
            if (!is_over(g, b, step))
                memcpy(g->states + layer_row(n, d, b, step) * n->h, n->state[0] + b * n->h,
                       (size_t)n->h * sizeof(double));
        n->notes = g->notes + step * size * n->cell->n_notes;
        n->cell->step(n, d, x_gates, step);
    }
}

/* to[i] += from's element at `place`, of a gradient that may be absent. */
static void add_row(const RecurrentGradient *g, int output, int64_t place, double *to)
{
    const Local *from = kernel_output(g->n.call, output);
    if (!from || !from->data)
        return;
    local_load(from, place, 1, g->n.h, NUMBER_F64, g->product);
    for (int64_t k = 0; k < g->n.h; k++)
        to[k] += g->product[k];
}

/* Gradients of the states at the end. */
static void begin_back(RecurrentGradient *g, int64_t d)
{
    const RecurrentLayer *n = &g->n;
    for (int s = 0; s < n->cell->n_states; s++) {
        memset(g->d_state[s], 0, (size_t)(n->b * n->h) * sizeof(double));
        for (int64_t b = 0; b < n->b; b++)
            add_row(g, 1 + s, layer_state_place(n, d, b), g->d_state[s] + b * n->h);
    }
}

/* d_state[0] += dh R, but for the candidate of a GRU that is reset before. */
static void by_recurrence_back(RecurrentGradient *g, int64_t d)
{
    const RecurrentLayer *n = &g->n;
    Product p = {.m = n->b, .n = n->h, .k = g->rows, .scale = 1};
    memcpy(g->other, g->dh, (size_t)(n->b * g->rows) * sizeof(double));
    for (int64_t b = 0; g->reset && b < n->b; b++)
        memset(g->other + b * g->rows + 2 * n->h, 0, (size_t)n->h * sizeof(double));
    memset(g->product, 0, (size_t)(n->b * n->h) * sizeof(double));
    kernel_multiply(n->call, &p, DT_F64, g->other, n->recurrence + d * g->rows * n->h, g->product);
    for (int64_t i = 0; i < n->b * n->h; i++)
        g->d_state[0][i] += g->product[i];
}

static void step_back(RecurrentGradient *g, int64_t d, int64_t step)
{
    const RecurrentLayer *n = &g->n;
    size_t bytes = (size_t)(n->b * g->rows) * sizeof(double);
    memset(g->dx, 0, bytes);
    memset(g->dh, 0, bytes);
    for (int64_t b = 0; b < n->b; b++)
        if (!is_over(g, b, step))
            add_row(g, 0, layer_step_place(n, d, b, step), g->d_state[0] + b * n->h);
    n->cell->back(g, d, step);
    by_recurrence_back(g, d);
    for (int64_t b = 0; b < n->b; b++) {
        if (is_over(g, b, step))
            continue;
        int64_t at = layer_row(n, d, b, step) * g->rows;
        memcpy(g->all_dx + at, g->dx + b * g->rows, (size_t)g->rows * sizeof(double));
        memcpy(g->all_dh + at, g->dh + b * g->rows, (size_t)g->rows * sizeof(double));
    }
}

/* ---- all steps ---- */

/* to[m][n] += a b of all rows of x */
static void add_product(const RecurrentGradient *g, const Product *p, const double *a,
                        const double *b, double *to)
{
    double *product = arena_array(g->n.call->scratch, double, p->m * p->n);
    kernel_multiply(g->n.call, p, DT_F64, a, b, product);
    for (int64_t i = 0; i < p->m * p->n; i++)
        to[i] += product[i];
}

static void add_bias(const RecurrentGradient *g, int64_t d)
{
    double *to = g->made[OF_B] + d * 2 * g->rows;
    for (int64_t row = 0; row < g->n.s * g->n.b; row++)
        for (int64_t k = 0; k < g->rows; k++) {
            to[k] += g->all_dx[row * g->rows + k];
            to[g->rows + k] += g->all_dh[row * g->rows + k];
        }
}

static void add_recurrence(const RecurrentGradient *g, int64_t d)
{
    const RecurrentLayer *n = &g->n;
    int64_t size = g->rows * n->h, reset = 2 * n->h * n->h;
    Product p = {.m = g->rows, .n = n->h, .k = n->s * n->b, .a_turned = true, .scale = 1};
    double *to = g->made[OF_R] + d * size;
    add_product(g, &p, g->all_dh, g->states, to);
    if (!g->reset)
        return;
    double *other = arena_array(n->call->scratch, double, size);
    add_product(g, &p, g->all_dh, g->reset, other);
    memcpy(to + reset, other + reset, (size_t)(size - reset) * sizeof *to);
}

static void direction_back(RecurrentGradient *g, int64_t d)
{
    const RecurrentLayer *n = &g->n;
    int64_t n_rows = n->s * n->b;
    memset(g->all_dx, 0, (size_t)(n_rows * g->rows) * sizeof(double));
    memset(g->all_dh, 0, (size_t)(n_rows * g->rows) * sizeof(double));
    keep_steps(g, d);
    begin_back(g, d);
    for (int64_t step = n->s - 1; step >= 0; step--)
        step_back(g, d, step);
    Product of_x = {.m = n_rows, .n = n->i, .k = g->rows, .scale = 1};
    Product of_w = {.m = g->rows, .n = n->i, .k = n_rows, .a_turned = true, .scale = 1};
    add_product(g, &of_x, g->all_dx, n->w + d * g->rows * n->i, g->made[OF_X]);
    add_product(g, &of_w, g->all_dx, n->x, g->made[OF_W] + d * g->rows * n->i);
    add_recurrence(g, d);
    add_bias(g, d);
    for (int s = 0; s < n->cell->n_states; s++)
        for (int64_t b = 0; b < n->b; b++)
            memcpy(g->made[OF_H + s] + layer_state_place(n, d, b), g->d_state[s] + b * n->h,
                   (size_t)n->h * sizeof(double));
}

static void open_sums(RecurrentGradient *g)
{
    const RecurrentLayer *n = &g->n;
    Arena *scratch = n->call->scratch;
    int64_t state = n->b * n->h, n_rows = n->s * n->b, n_states = n->r * state;
    const int64_t sizes[INPUTS_HELD] = {[OF_X] = n_rows * n->i,
                                        [OF_W] = n->r * g->rows * n->i,
                                        [OF_R] = n->r * g->rows * n->h,
                                        [OF_B] = n->r * 2 * g->rows,
                                        [OF_H] = n_states,
                                        [OF_C] = n_states,
                                        [OF_P] = n->r * 3 * n->h};
    for (int i = 0; i < INPUTS_HELD; i++)
        g->made[i] = arena_array(scratch, double, sizes[i]);
    for (int k = 0; k < n->cell->n_states; k++) {
        g->before[k] = arena_array(scratch, double, n->s *state);
        g->d_state[k] = arena_array(scratch, double, state);
    }
    g->notes = arena_array(scratch, double, n->s *state * n->cell->n_notes);
    g->dx = arena_array(scratch, double, n->b * g->rows);
    g->dh = arena_array(scratch, double, n->b * g->rows);
    g->other = arena_array(scratch, double, n->b * g->rows);
    g->product = arena_array(scratch, double, state);
    g->all_dx = arena_array(scratch, double, n_rows * g->rows);
    g->all_dh = arena_array(scratch, double, n_rows * g->rows);
    g->states = arena_array(scratch, double, n_rows * n->h);
    if (n->cell->gates == 3 && !n->linear_before_reset)
        g->reset = arena_array(scratch, double, n_rows * n->h);
}

bool recurrent_gradient(const KernelCall *call, Error *err)
{
    const Gradient *gradient = program_space(call->inferred, call->op)->gradient;
    RecurrentGradient g = {.rows = 0};
    KernelCall forward;
    if (!forward_call(call, &forward, err) || !layer_open(&forward, &g.n, err))
        return false;
    g.rows = g.n.cell->gates * g.n.h;
    open_sums(&g);
    for (int64_t d = 0; d < g.n.r; d++)
        direction_back(&g, d);
    for (int i = 0; i < gradient->n_written; i++)
        local_store(call->output[i], 0, shape_elements(&call->output[i]->shape), NUMBER_F64,
                    g.made[gradient->written[i]]);
    return true;
}
