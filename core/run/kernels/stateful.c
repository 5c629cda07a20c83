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
#include "core/run/kernels/derivative.h"
#include "core/run/kernels/heads.h"
#include "core/space/gradient.h"

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

/* Number i of the key's decay at a position, in the gate or in its gradient. */
static int64_t decay_place(const LinearAttention *n, int64_t b, int64_t head, int64_t s, int64_t i)
{
    bool each = n->n_decay == n->k.h * n->k.d && n->n_decay != n->k.h;
    return (b * n->k.s + s) * n->n_decay + (each ? head * n->k.d + i : head);
}

static int64_t beta_place(const LinearAttention *n, int64_t b, int64_t head, int64_t s)
{
    return (b * n->k.s + s) * n->n_beta + (n->n_beta == 1 ? 0 : head);
}

static void decay_state(const LinearAttention *n, const LinearWork *w, int64_t b, int64_t head,
                        int64_t s)
{
    int64_t e = n->v.d;
    for (int64_t i = 0; n->decay && i < n->k.d; i++) {
        double factor = exp(n->decay[decay_place(n, b, head, s, i)]);
        for (int64_t j = 0; j < e; j++)
            w->state[i * e + j] *= factor;
    }
}

/* Adds what the key at a position updates. */
static void add_key(const LinearAttention *n, const LinearWork *w, int64_t b, int64_t head,
                    int64_t s)
{
    int64_t d = n->k.d, e = n->v.d;
    const double *k = w->k + s * d;
    double beta = n->beta ? n->beta[beta_place(n, b, head, s)] : 1;
    for (int64_t j = 0; j < e; j++) {
        double had = 0;
        for (int64_t i = 0; n->beta && i < d; i++)
            had += w->state[i * e + j] * k[i];
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

static void load_head(const LinearAttention *n, const LinearWork *w, int64_t b, int64_t head,
                      int64_t first, int64_t n_queries)
{
    held_heads_load(&n->k, b, head, NUMBER_F64, w->k);
    held_heads_load(&n->v, b, head, NUMBER_F64, w->v);
    memset(w->state, 0, (size_t)(n->k.d * n->v.d) * sizeof(double));
    if (n->kept.local)
        held_heads_load(&n->kept, b, head, NUMBER_F64, w->state);
    for (int64_t i = 0; i < n_queries; i++)
        held_heads_load(&n->q, b, first + i, NUMBER_F64, w->q + i * n->k.s * n->k.d);
}

/* A key head and the local query heads of its group. */
static void run_head(const LinearAttention *n, const LinearWork *w, int64_t b, int64_t head,
                     int64_t first, int64_t n_queries)
{
    int64_t d = n->k.d, e = n->v.d, s_all = n->k.s;
    load_head(n, w, b, head, first, n_queries);
    for (int64_t s = 0; s < s_all; s++) {
        decay_state(n, w, b, head, s);
        add_key(n, w, b, head, s);
        for (int64_t i = 0; i < n_queries; i++)
            read_state(n, w, w->q + (i * s_all + s) * d, w->y + (i * s_all + s) * e);
    }
    for (int64_t i = 0; e > 0 && i < n_queries; i++)
        held_heads_store(&n->y, b, first + i, NUMBER_F64, w->y + i * s_all * e);
    if (n->last.local)
        held_heads_store(&n->last, b, head, NUMBER_F64, w->state);
}

static LinearWork new_work(Arena *scratch, const LinearAttention *n)
{
    int64_t rows = n->q.h * n->k.s, d = n->k.d, e = n->v.d;
    return (LinearWork){.q = arena_array(scratch, double, rows *d),
                        .k = arena_array(scratch, double, n->k.s *d),
                        .v = arena_array(scratch, double, n->k.s *e),
                        .y = arena_array(scratch, double, rows *e),
                        .state = arena_array(scratch, double, d *e),
                        .fresh = arena_array(scratch, double, e)};
}

static bool has_keys(const LinearAttention *n, Error *err)
{
    for (int64_t head = 0; head < n->q.h; head++)
        if (held_heads_find(&n->k, n->q.head[head] / n->group) < 0)
            return error_kind(err, ERROR_RUN, "the keys of a head are on other ranks");
    return true;
}

/* Behind the last local query head from `first` on that reads a local key head. */
static int64_t queries_end(const LinearAttention *n, int64_t head, int64_t first)
{
    while (first < n->q.h && n->q.head[first] / n->group == n->k.head[head])
        first++;
    return first;
}

static bool linear_attention(const KernelCall *call, Error *err)
{
    LinearAttention n = {.group = 0};
    if (!open_linear(call, &n, err) || !has_keys(&n, err))
        return false;
    LinearWork w = new_work(call->scratch, &n);
    for (int64_t b = 0; b < n.k.b; b++)
        for (int64_t head = 0, first = 0, end; head < n.k.h; head++, first = end) {
            end = queries_end(&n, head, first);
            run_head(&n, &w, b, head, first, end - first);
        }
    return true;
}

/* ---- its gradient: back through the positions ---- */

enum { OF_Q, OF_K, OF_V, OF_STATE, OF_DECAY, OF_BETA, OF_LINEAR };

typedef struct {
    LinearAttention n;      /* y, last: gradients of the outputs */
    LinearWork w;           /* y: the gradient */
    double *after;          /* the state [d][e] behind each position, .. */
    double *decayed;        /* .. and before its key is added */
    double *ds;             /* [d][e]: the gradient of the state */
    double *of[OF_LINEAR];  /* of a head, as in w; of gates, as the rank holds them */
    HeldHeads to[OF_DECAY]; /* local NULL: not wanted */
} LinearGradient;

static void keep_states(const LinearGradient *g, int64_t b, int64_t head)
{
    const LinearAttention *n = &g->n;
    int64_t size = n->k.d * n->v.d;
    for (int64_t s = 0; s < n->k.s; s++) {
        decay_state(n, &g->w, b, head, s);
        memcpy(g->decayed + s * size, g->w.state, (size_t)size * sizeof(double));
        add_key(n, &g->w, b, head, s);
        memcpy(g->after + s * size, g->w.state, (size_t)size * sizeof(double));
    }
}

/* y = scale S' q; row: of a query head at a position */
static void read_back(const LinearGradient *g, int64_t s, int64_t row)
{
    int64_t d = g->n.k.d, e = g->n.v.d;
    const double *state = g->after + s * d * e, *q = g->w.q + row * d, *dy = g->w.y + row * e;
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < e; j++) {
            g->of[OF_Q][row * d + i] += g->n.scale * state[i * e + j] * dy[j];
            g->ds[i * e + j] += g->n.scale * q[i] * dy[j];
        }
}

/* S += k (beta (v - S' k)), without beta S += k v */
static void key_back(const LinearGradient *g, int64_t b, int64_t head, int64_t s)
{
    const LinearAttention *n = &g->n;
    int64_t d = n->k.d, e = n->v.d, gate = beta_place(n, b, head, s);
    const double *k = g->w.k + s * d, *state = g->decayed + s * d * e;
    double *dk = g->of[OF_K] + s * d, beta = n->beta ? n->beta[gate] : 1;
    for (int64_t j = 0; j < e; j++) {
        double had = 0, d_fresh = 0;
        for (int64_t i = 0; i < d; i++) {
            had += n->beta ? state[i * e + j] * k[i] : 0;
            d_fresh += g->ds[i * e + j] * k[i];
        }
        double rest = g->w.v[s * e + j] - had;
        g->of[OF_V][s * e + j] = beta * d_fresh;
        for (int64_t i = 0; i < d; i++)
            dk[i] += beta * g->ds[i * e + j] * rest;
        if (!n->beta)
            continue;
        g->of[OF_BETA][gate] += d_fresh * rest;
        for (int64_t i = 0; i < d; i++) {
            dk[i] -= beta * d_fresh * state[i * e + j];
            g->ds[i * e + j] -= beta * d_fresh * k[i];
        }
    }
}

/* S *= exp(decay) */
static void decay_back(const LinearGradient *g, int64_t b, int64_t head, int64_t s)
{
    const LinearAttention *n = &g->n;
    int64_t d = n->k.d, e = n->v.d;
    for (int64_t i = 0; n->decay && i < d; i++) {
        int64_t gate = decay_place(n, b, head, s, i);
        double factor = exp(n->decay[gate]), *ds = g->ds + i * e;
        for (int64_t j = 0; j < e; j++) {
            g->of[OF_DECAY][gate] += ds[j] * g->decayed[(s * d + i) * e + j];
            ds[j] *= factor;
        }
    }
}

/* The gradient of the last state counts on the rank with the first query head of its group. */
static void head_back(const LinearGradient *g, int64_t b, int64_t head, int64_t first, int64_t end)
{
    const LinearAttention *n = &g->n;
    int64_t d = n->k.d, e = n->v.d, s_all = n->k.s, n_queries = end - first;
    bool ends = first < end && n->q.head[first] % n->group == 0;
    load_head(n, &g->w, b, head, first, n_queries);
    keep_states(g, b, head);
    memset(g->ds, 0, (size_t)(d * e) * sizeof(double));
    memset(g->of[OF_Q], 0, (size_t)(n_queries * s_all * d) * sizeof(double));
    memset(g->of[OF_K], 0, (size_t)(s_all * d) * sizeof(double));
    if (ends && n->last.local && n->last.local->data)
        held_heads_load(&n->last, b, head, NUMBER_F64, g->ds);
    for (int64_t i = 0; n->y.local->data && i < n_queries; i++)
        held_heads_load(&n->y, b, first + i, NUMBER_F64, g->w.y + i * s_all * e);
    for (int64_t s = s_all; s-- > 0;) {
        for (int64_t i = 0; i < n_queries; i++)
            read_back(g, s, i * s_all + s);
        key_back(g, b, head, s);
        decay_back(g, b, head, s);
    }
    for (int64_t i = 0; g->to[OF_Q].local && i < n_queries; i++)
        held_heads_store(&g->to[OF_Q], b, first + i, NUMBER_F64, g->of[OF_Q] + i * s_all * d);
    for (int i = OF_K; i <= OF_STATE; i++)
        if (g->to[i].local)
            held_heads_store(&g->to[i], b, head, NUMBER_F64, i == OF_STATE ? g->ds : g->of[i]);
}

static void open_back(const KernelCall *call, LinearGradient *g)
{
    const LinearAttention *n = &g->n;
    const Gradient *gradient = program_space(call->inferred, call->op)->gradient;
    int64_t s = n->k.s, d = n->k.d, e = n->v.d, places = n->k.b * s;
    const HeldHeads *held[OF_DECAY] = {&n->q, &n->k, &n->v, &n->kept};
    g->w = new_work(call->scratch, n);
    g->after = arena_array(call->scratch, double, s *d *e);
    g->decayed = arena_array(call->scratch, double, s *d *e);
    g->ds = arena_array(call->scratch, double, d *e);
    g->of[OF_Q] = arena_array(call->scratch, double, n->q.h *s *d);
    g->of[OF_K] = arena_array(call->scratch, double, s *d);
    g->of[OF_V] = arena_array(call->scratch, double, s *e);
    g->of[OF_DECAY] = arena_array(call->scratch, double, places * n->n_decay);
    g->of[OF_BETA] = arena_array(call->scratch, double, places * n->n_beta);
    for (int i = 0; i < gradient->n_written; i++)
        if (gradient->written[i] < OF_DECAY) {
            g->to[gradient->written[i]] = *held[gradient->written[i]];
            g->to[gradient->written[i]].local = call->output[i];
        }
}

static bool linear_gradient(const KernelCall *call, Error *err)
{
    const Gradient *gradient = program_space(call->inferred, call->op)->gradient;
    LinearGradient g = {.n = {.group = 0}};
    KernelCall forward;
    if (!forward_call(call, &forward, err) || !open_linear(&forward, &g.n, err) ||
        !has_keys(&g.n, err))
        return false;
    open_back(call, &g);
    for (int64_t b = 0; b < g.n.k.b; b++)
        for (int64_t head = 0, first = 0, end; head < g.n.k.h; head++, first = end) {
            end = queries_end(&g.n, head, first);
            head_back(&g, b, head, first, end);
        }
    for (int i = 0; i < gradient->n_written; i++)
        if (gradient->written[i] >= OF_DECAY)
            local_store(call->output[i], 0, shape_elements(&call->output[i]->shape), NUMBER_F64,
                        g.of[gradient->written[i]]);
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

/* ---- its gradient ---- */

typedef struct {
    CausalConv n;
    const double *dy, *d_last; /* NULL: no gradient */
    double *dx, *dw, *d_bias, *d_kept;
} CausalGradient;

/* The gradient of a result before its activation: the result is z sigmoid(z), or z itself. */
static double before_activation(const CausalConv *n, double z, double dy)
{
    double sigmoid = 1 / (1 + exp(-z));
    return n->silu ? dy * sigmoid * (1 + z * (1 - sigmoid)) : dy;
}

/* x, dx: one channel of one batch element behind what is kept of the positions before it. */
static void channel_back(const CausalGradient *g, int64_t row, const int64_t *place,
                         const double *x, double *dx)
{
    const CausalConv *n = &g->n;
    int64_t c = row % n->c;
    for (int64_t at = 0; g->dy && at < n->n_out; at++) {
        double z = n->bias ? n->bias[c] : 0;
        for (int64_t k = 0; k < n->k; k++)
            z += n->w[c * n->k + k] * x[place[at * n->k + k]];
        double dz = before_activation(n, z, g->dy[row * n->n_out + at]);
        g->d_bias[c] += dz;
        for (int64_t k = 0; k < n->k; k++) {
            g->dw[c * n->k + k] += dz * x[place[at * n->k + k]];
            dx[place[at * n->k + k]] += dz * n->w[c * n->k + k];
        }
    }
    for (int64_t i = 0; g->d_last && i < n->k - 1; i++)
        dx[n->l + i - (n->k - 1)] += g->d_last[row * (n->k - 1) + i];
}

static bool open_causal_back(const KernelCall *call, CausalGradient *g, KernelCall *forward,
                             Error *err)
{
    if (!forward_call(call, forward, err) || !open_causal(forward, &g->n, err))
        return false;
    const CausalConv *n = &g->n;
    const Local *dy = forward->output[0], *last = kernel_output(forward, 1);
    g->dy = dy->data ? local_doubles(call->scratch, dy) : NULL;
    g->d_last = last && last->data ? local_doubles(call->scratch, last) : NULL;
    g->dx = arena_array(call->scratch, double, n->b * n->c * n->l);
    g->dw = arena_array(call->scratch, double, n->c * n->k);
    g->d_bias = arena_array(call->scratch, double, n->c);
    g->d_kept = arena_array(call->scratch, double, n->b * n->c * (n->k - 1));
    return true;
}

static bool causal_gradient(const KernelCall *call, Error *err)
{
    const Gradient *gradient = program_space(call->inferred, call->op)->gradient;
    CausalGradient g = {.dy = NULL};
    KernelCall forward;
    if (!open_causal_back(call, &g, &forward, err))
        return false;
    const CausalConv *n = &g.n;
    const int64_t *place = window_places(&forward, n);
    int64_t before = n->k - 1;
    if (!place)
        return error_kind(err, ERROR_RUN, "a position is on another rank");
    double *x = arena_array(call->scratch, double, before + n->l);
    double *dx = arena_array(call->scratch, double, before + n->l);
    for (int64_t row = 0; row < n->b * n->c; row++) {
        for (int64_t i = 0; i < before; i++)
            x[i] = n->kept ? n->kept[row * before + i] : 0;
        memcpy(x + before, n->x + row * n->l, (size_t)n->l * sizeof *x);
        memset(dx, 0, (size_t)(before + n->l) * sizeof *dx);
        channel_back(&g, row, place, x + before, dx + before);
        memcpy(g.d_kept + row * before, dx, (size_t)before * sizeof *dx);
        memcpy(g.dx + row * n->l, dx + before, (size_t)n->l * sizeof *dx);
    }
    const double *made[] = {g.dx, g.dw, g.d_bias, g.d_kept};
    for (int i = 0; i < gradient->n_written; i++)
        local_store(call->output[i], 0, shape_elements(&call->output[i]->shape), NUMBER_F64,
                    made[gradient->written[i]]);
    return true;
}

const Kernel kernels_stateful[] = {
    {"LinearAttention", linear_attention, NULL, 0, ROUNDING_SENSITIVE},
    {"LinearAttentionBackward", linear_gradient, NULL, 0, ROUNDING_SENSITIVE},
    {"CausalConvWithState", causal_conv, NULL, 0, ROUNDING_SENSITIVE},
    {"CausalConvBackward", causal_gradient, NULL, 0, ROUNDING_SENSITIVE},
    {0},
};
