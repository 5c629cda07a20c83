/* stateful.c - recurrences along a sequence, in double.
 *
 *     LinearAttention      S *= exp(decay), v' = beta (v - S' k), S += k v', y = scale S' q
 *     CausalConvWithState  y[l] = bias + sum over k of w[k] * (kept positions, then x)[l + k]
 *
 * S: a matrix of key by value numbers per key head, read by the query heads of its group. A rank
 * has some batches, heads (channels) and value numbers, and whole sequences. Source: the ONNX
 * operator schemas of LinearAttention and CausalConvWithState, opset 27.
 */
#include "core/rules/args.h"
#include "core/run/kernels/heads.h"

#include <math.h>

/* ---- LinearAttention ---- */

typedef struct {
    HeldHeads q, k, v, y, kept, last;
    const double *decay, *beta; /* NULL: none */
    int64_t n_decay, n_beta;    /* numbers of a position */
    int64_t group;
    double scale;
} LinearAttention;

static bool gate_fits(const LinearAttention *n, const Local *gate, int64_t *n_numbers, Error *err)
{
    if (!gate)
        return true;
    bool fits = gate->shape.n_dims == 3 && gate->shape.dim[0] == n->k.b &&
                gate->shape.dim[1] == n->k.s && kernel_computes(gate, err);
    *n_numbers = fits ? gate->shape.dim[2] : 0;
    fits =
        fits && (*n_numbers == n->k.h || *n_numbers == n->k.h * n->k.d || gate->whole.dim[2] == 1);
    return fits || error_kind(err, ERROR_RUN, "a gate has another size");
}

static bool open_linear(const KernelCall *call, LinearAttention *n, Error *err)
{
    if (!kernel_needs(call, 3, err))
        return false;
    RuleCall rule = kernel_rule_call(call);
    int64_t q_heads = args_int(&rule, "q_num_heads", 0);
    int64_t k_heads = args_int(&rule, "kv_num_heads", 0);
    const Local *state = kernel_input(call, 3);
    if (k_heads < 1 || q_heads % k_heads != 0)
        return error_kind(err, ERROR_RUN, "its heads of queries do not share those of keys");
    *n = (LinearAttention){.group = q_heads / k_heads};
    if (!held_heads(call, call->input[0], q_heads, &n->q, err) ||
        !held_heads(call, call->input[1], k_heads, &n->k, err) ||
        !held_heads(call, call->input[2], k_heads, &n->v, err) ||
        !held_heads(call, state, k_heads, &n->kept, err) ||
        !held_heads(call, call->output[0], q_heads, &n->y, err) ||
        !held_heads(call, kernel_output(call, 1), k_heads, &n->last, err))
        return false;
    n->decay = kernel_doubles(call, 4);
    n->beta = kernel_doubles(call, 5);
    n->scale = args_float(&rule, "scale", 0);
    if (n->scale == 0)
        n->scale = 1 / sqrt((double)(n->k.d > 0 ? n->k.d : 1));
    bool fits = n->q.s == n->k.s && n->q.s == n->v.s && n->q.b == n->k.b &&
                (n->v.d == 0 || n->v.h == n->k.h) && (n->q.h == 0 || n->q.d == n->k.d) &&
                (n->y.d == 0 || (n->y.h == n->q.h && n->y.d == n->v.d));
    const Shape state_shape = {.n_dims = 4, .dim = {n->k.b, n->k.h, n->k.d, n->v.d}};
    for (int i = 0; i < 2; i++) {
        const Local *local = i == 0 ? n->kept.local : n->last.local;
        fits = fits && (!local || shape_equal(&local->shape, &state_shape) || n->v.d == 0);
    }
    return (fits || error_kind(err, ERROR_RUN, "operand shapes do not match")) &&
           gate_fits(n, kernel_input(call, 4), &n->n_decay, err) &&
           gate_fits(n, kernel_input(call, 5), &n->n_beta, err);
}

typedef struct {
    double *q, *k, *v, *y; /* [s][numbers] of a head; y of each query head in turn */
    double *state, *fresh; /* [d][e], [e] */
} LinearWork;

/* One position: decays the state and adds the key's update. */
static void update_state(const LinearAttention *n, const LinearWork *w, int64_t b, int64_t head,
                         int64_t s)
{
    int64_t d = n->k.d, e = n->v.d, at = b * n->k.s + s;
    const double *k = w->k + s * d;
    bool each = n->n_decay == n->k.h * d && n->n_decay != n->k.h;
    for (int64_t i = 0; n->decay && i < d; i++) {
        double factor = exp(n->decay[at * n->n_decay + (each ? head * d + i : head)]);
        for (int64_t j = 0; j < e; j++)
            w->state[i * e + j] *= factor;
    }
    for (int64_t j = 0; j < e; j++) {
        double had = 0;
        for (int64_t i = 0; n->beta && i < d; i++)
            had += w->state[i * e + j] * k[i];
        double beta = n->beta ? n->beta[at * n->n_beta + (n->n_beta == 1 ? 0 : head)] : 1;
        w->fresh[j] = beta * (w->v[s * e + j] - had);
    }
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < e; j++)
            w->state[i * e + j] += k[i] * w->fresh[j];
}

static void read_state(const LinearAttention *n, const LinearWork *w, const double *q, double *y)
{
    for (int64_t j = 0; j < n->v.d; j++) {
        double sum = 0;
        for (int64_t i = 0; i < n->k.d; i++)
            sum += q[i] * w->state[i * n->v.d + j];
        y[j] = n->scale * sum;
    }
}

/* A key head and the local query heads of its group. */
static void run_head(const LinearAttention *n, const LinearWork *w, int64_t b, int64_t head,
                     int64_t first, int64_t n_queries)
{
    int64_t d = n->k.d, e = n->v.d, s_all = n->k.s;
    held_heads_load(&n->k, b, head, NUMBER_F64, w->k);
    held_heads_load(&n->v, b, head, NUMBER_F64, w->v);
    memset(w->state, 0, (size_t)(d * e) * sizeof(double));
    if (n->kept.local)
        held_heads_load(&n->kept, b, head, NUMBER_F64, w->state);
    for (int64_t i = 0; i < n_queries; i++)
        held_heads_load(&n->q, b, first + i, NUMBER_F64, w->q + i * s_all * d);
    for (int64_t s = 0; s < s_all; s++) {
        update_state(n, w, b, head, s);
        for (int64_t i = 0; i < n_queries; i++)
            read_state(n, w, w->q + (i * s_all + s) * d, w->y + (i * s_all + s) * e);
    }
    for (int64_t i = 0; e > 0 && i < n_queries; i++)
        held_heads_store(&n->y, b, first + i, NUMBER_F64, w->y + i * s_all * e);
    if (n->last.local)
        held_heads_store(&n->last, b, head, NUMBER_F64, w->state);
}

static bool linear_attention(const KernelCall *call, Error *err)
{
    LinearAttention n = {.group = 0};
    if (!open_linear(call, &n, err))
        return false;
    int64_t rows = n.q.h * n.k.s, d = n.k.d, e = n.v.d;
    LinearWork w = {.q = arena_array(call->scratch, double, rows *d),
                    .k = arena_array(call->scratch, double, n.k.s *d),
                    .v = arena_array(call->scratch, double, n.k.s *e),
                    .y = arena_array(call->scratch, double, rows *e),
                    .state = arena_array(call->scratch, double, d *e),
                    .fresh = arena_array(call->scratch, double, e)};
    for (int64_t head = 0; head < n.q.h; head++)
        if (held_heads_find(&n.k, n.q.head[head] / n.group) < 0)
            return error_kind(err, ERROR_RUN, "the keys of a head are on other ranks");
    for (int64_t b = 0; b < n.k.b; b++)
        for (int64_t head = 0, first = 0, end; head < n.k.h; head++, first = end) {
            end = first;
            while (end < n.q.h && n.q.head[end] / n.group == n.k.head[head])
                end++;
            run_head(&n, &w, b, head, first, end - first);
        }
    return true;
}

/* ---- CausalConvWithState ---- */

typedef struct {
    int64_t b, c, l, k; /* local; k: elements of a kernel */
    const double *x, *w, *bias, *kept;
    bool silu;
    int64_t n_out; /* local positions of the result */
} CausalConv;

static bool open_causal(const KernelCall *call, CausalConv *n, Error *err)
{
    if (!kernel_needs(call, 2, err) || call->input[0]->shape.n_dims != 3 ||
        call->input[1]->shape.n_dims != 3)
        return error_kind(err, ERROR_RUN, "its input or its weight has no 3 dims");
    const Shape *x = &call->input[0]->shape;
    const Shape *y = &call->output[0]->shape;
    *n = (CausalConv){.b = x->dim[0], .c = x->dim[1], .l = x->dim[2], .n_out = y->dim[2]};
    n->k = call->input[1]->shape.dim[2];
    const Shape state = {.n_dims = 3, .dim = {n->b, n->c, n->k - 1}};
    const Shape made = {.n_dims = 3, .dim = {n->b, n->c, n->n_out}};
    const Shape want[4] = {
        *x, {.n_dims = 3, .dim = {n->c, 1, n->k}}, {.n_dims = 1, .dim = {n->c}}, state};
    for (int i = 0; i < call->n_inputs && i < 4; i++)
        if (call->input[i] && (!kernel_computes(call->input[i], err) ||
                               !shape_equal(&call->input[i]->shape, &want[i])))
            return error_kind(err, ERROR_RUN, "operand %d has another size", i);
    for (int o = 0; o < call->n_outputs && o < 2; o++)
        if (call->output[o] && !shape_equal(&call->output[o]->shape, o == 0 ? &made : &state))
            return error_kind(err, ERROR_RUN, "output %d has another size", o);
    RuleCall rule = kernel_rule_call(call);
    Str after = args_text(&rule, "activation", "none");
    n->silu = str_eq(after, STR("silu")) || str_eq(after, STR("swish"));
    if (!n->silu && !str_eq(after, STR("none")))
        return error_kind(err, ERROR_RUN, "unknown activation '%.*s'", STR_ARG(after));
    n->x = kernel_doubles(call, 0);
    n->w = kernel_doubles(call, 1);
    n->bias = kernel_doubles(call, 2);
    n->kept = kernel_doubles(call, 3);
    return true;
}

/* Per element of each window of the local outputs its place in a row of the local input; below 0:
 * as many before the first position. NULL: another rank holds one. */
static const int64_t *window_places(const KernelCall *call, const CausalConv *n)
{
    const Runs *held = &call->input[0]->runs[2];
    const int64_t *global = kernel_globals(call->scratch, &call->output[0]->runs[2]);
    int64_t *place = arena_array(call->scratch, int64_t, n->n_out * n->k);
    for (int64_t i = 0; i < n->n_out * n->k; i++) {
        int64_t at = global[i / n->k] + i % n->k - (n->k - 1);
        place[i] = at < 0 ? at : runs_find(held, at);
        if (at >= 0 && place[i] < 0)
            return NULL;
    }
    return place;
}

static bool causal_conv(const KernelCall *call, Error *err)
{
    CausalConv n = {.b = 0};
    if (!open_causal(call, &n, err))
        return false;
    Local *out = call->output[0], *last = kernel_output(call, 1);
    int64_t before = n.k - 1;
    const int64_t *place = window_places(call, &n);
    if (!place)
        return error_kind(err, ERROR_RUN, "a position is on another rank");
    double *row_held = arena_array(call->scratch, double, before + n.l), *x = row_held + before;
    double *y = arena_array(call->scratch, double, n.n_out);
    for (int64_t row = 0; row < n.b * n.c; row++) {
        const double *w = n.w + row % n.c * n.k;
        for (int64_t i = 0; i < before; i++)
            row_held[i] = n.kept ? n.kept[row * before + i] : 0;
        memcpy(x, n.x + row * n.l, (size_t)n.l * sizeof *x);
        for (int64_t at = 0; at < n.n_out; at++) {
            y[at] = n.bias ? n.bias[row % n.c] : 0;
            for (int64_t k = 0; k < n.k; k++)
                y[at] += w[k] * x[place[at * n.k + k]];
            y[at] = n.silu ? y[at] / (1 + exp(-y[at])) : y[at];
        }
        local_store(out, row * n.n_out, n.n_out, NUMBER_F64, y);
        if (last)
            local_store(last, row * before, before, NUMBER_F64, row_held + n.l);
    }
    return true;
}

const Kernel kernels_stateful[] = {
    {"LinearAttention", linear_attention, NULL, 0, ROUNDING_SENSITIVE},
    {"CausalConvWithState", causal_conv, NULL, 0, ROUNDING_SENSITIVE},
    {0},
};
