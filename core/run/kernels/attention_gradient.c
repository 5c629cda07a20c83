/* attention_gradient.c - gradients of attention: one op for those of queries, keys, values, past
 * ones, the mask and the bias, in tiles of queries.
 *
 *     P  = softmax(scale q k' + ..)                recomputed: a tile of rows at a time
 *     dv = P' dy           dP = dy v'
 *     dS = P (dP - sum over the keys of P dP)      times the slope of softcap
 *     dq = scale dS k      dk = scale dS' q
 *
 * Five products. A rank that has some of the query heads of a key head, some queries, or some
 * numbers of the values makes addends of the gradients that others add to. Gradients of the
 * outputs that several ranks hold alike enter one of these addends. Where keys and values go around
 * a ring, their gradients go with them, and P comes from what the forward op kept.
 * Sources: Dao 2023, FlashAttention-2, algorithm 2; Liu et al. 2023, arXiv 2310.01889, algorithm 1.
 */
#include "core/run/kernels/attention.h"
#include "core/run/kernels/derivative.h"
#include "core/space/gradient.h"

#include <math.h>

enum { OPERANDS_HELD = 16 };

typedef struct {
    Attention a; /* its outputs hold gradients, without elements where there are none */
    KernelCall forward;
    int32_t op;                 /* of the gradient */
    Local *made[OPERANDS_HELD]; /* by input of the forward op; NULL: not wanted */
    Local *to[3], *past[2];     /* gradients of queries, keys, values, of past keys and values */
    double *bias, *mask, *angles[2]; /* sums of their gradients; NULL: not wanted */
    void *dq_all;      /* gradients of the queries held, of all turns of a ring; NULL: none goes */
    bool first_number; /* of values; this rank adds what has no dim for them */
    bool first_query;  /* and for queries */
    /* of a head */
    void *q, *k, *v, *dy, *dq, *dk, *dv, *product;
    /* of a tile */
    void *p, *dp;
    double *x, *slope, *row, *dots;
    void *sizes, *size_of[2]; /* dy v' of magnitudes, and these; NULL: rounding is not measured */
    double *turned;           /* a row of a head before its rotation */
} AttentionGradient;

static size_t bytes_of(const AttentionGradient *g, int64_t n)
{
    return (size_t)(n * number_bytes(g->a.number));
}

static char *at_row(const AttentionGradient *g, void *rows, int64_t row, int64_t width)
{
    return (char *)rows + bytes_of(g, row * width);
}

/* A number that is added to the gradient of the bias. That of the keys' bias is zero, since it
 * moves all scores of a query alike: what is left is rounding, of these numbers. */
static double added(const AttentionGradient *g, double x, int64_t place)
{
    const KernelCall *call = g->a.call;
    return call->inner ? call->inner(x, g->a.dtype, call->inner_key, place) : x;
}

/* ---- a row of scores ---- */

static bool has_scores(const AttentionGradient *g, ScoresStage stage)
{
    const Local *scores = g->a.scores_out;
    return scores && scores->data && g->a.stage == stage && g->first_number;
}

/* Adds the gradient of the output with scores of that stage. */
static void add_scores(const AttentionGradient *g, ScoresStage stage, int64_t row, double *to)
{
    const Attention *a = &g->a;
    if (!has_scores(g, stage))
        return;
    local_load(a->scores_out, row * a->n_keys, 1, a->n_keys, NUMBER_F64, g->row);
    for (int64_t t = 0; t < a->n_keys; t++)
        to[t] += g->row[t];
}

/* What the forward op kept for a query: the logarithm of its sum, and its result. */
static const double *kept_of(const AttentionGradient *g, int64_t row)
{
    return g->a.call->kept->at + row * attention_kept_row(&g->a);
}

/* Scores of the keys that are here become p, by the sum over all keys that the forward op kept. */
static void weigh(const AttentionGradient *g, int64_t row, double *x)
{
    double sum = kept_of(g, row)[0];
    for (int64_t t = 0; t < g->a.n_keys; t++)
        x[t] = sum == -INFINITY ? 0 : exp(x[t] - sum);
}

/* The sum over all keys of P dP is that of y dy over the numbers of a row, since y = P v. */
static double kept_sum(const AttentionGradient *g, int64_t row, int64_t s)
{
    const Attention *a = &g->a;
    const double *y = kept_of(g, row) + 1;
    double sum = 0;
    elements_load(a->dtype, at_row(g, g->dy, s, a->v.d), 1, a->v.d, NUMBER_F64, a->row);
    for (int64_t e = 0; e < a->v.d; e++)
        sum += y[e] * a->row[e];
    return sum;
}

/* x: scores, replaced by their softmax; slope of softcap. False if the query sees no key. */
static bool softmax_row(const AttentionGradient *g, int64_t b, int64_t head, int64_t s, double *x)
{
    const Attention *a = &g->a;
    for (int64_t t = 0; t < a->n_keys; t++) {
        double capped = a->cap > 0 ? tanh(x[t] / a->cap) : 0;
        g->slope[t] = 1 - capped * capped;
        x[t] = a->cap > 0 ? a->cap * capped : x[t];
    }
    bool any = attention_bias(a, b, head, s, g->row);
    for (int64_t t = 0; t < a->n_keys; t++)
        x[t] += g->row[t];
    if (a->call->ring)
        weigh(g, (b * a->q.h + head) * a->q.s + s, x);
    else if (any)
        attention_softmax(x, a->n_keys);
    else
        memset(x, 0, (size_t)a->n_keys * sizeof *x);
    return any;
}

/* The mask is added to the scores of keys that nothing else hides. */
static void add_mask(const AttentionGradient *g, int64_t b, int64_t head, int64_t s,
                     const double *dots)
{
    const Attention *a = &g->a;
    if (!g->mask)
        return;
    attention_bias(a, b, head, s, g->row);
    double *to = g->mask + b * a->mask_stride[0] + head * a->mask_stride[1] + s * a->mask_stride[2];
    for (int64_t t = 0; t < a->n_keys; t++)
        if (a->key[t] < a->n_masked)
            to[a->key[t]] += g->row[t] == -INFINITY ? 0 : dots[t];
}

/* The sum over the keys of P dP, x: P, dots: dP. It may round otherwise than dP. */
static double sum_row(const AttentionGradient *g, int64_t row, const double *x, const double *dots,
                      const void *sizes)
{
    int64_t n = g->a.n_keys;
    double sum = 0;
    for (int64_t t = 0; t < n; t++)
        sum += x[t] == 0 ? 0 : x[t] * dots[t];
    if (!sizes)
        return sum;
    elements_load(g->a.dtype, sizes, 1, n, NUMBER_F64, g->row);
    for (int64_t t = 0; t < n; t++)
        sum += x[t] == 0 ? 0 : x[t] * (added(g, g->row[t], row * n + t) - g->row[t]);
    return sum;
}

/* p: a row of scores becomes their softmax; dp: a row of dy v' becomes the gradient of q k'. */
static void differentiate_row(const AttentionGradient *g, int64_t b, int64_t head, int64_t s,
                              char *p, char *dp, const void *sizes)
{
    const Attention *a = &g->a;
    int64_t n = a->n_keys, row = (b * a->q.h + head) * a->q.s + s;
    double *x = g->x, *dots = g->dots, sum;
    elements_load(a->dtype, p, 1, n, NUMBER_F64, x);
    elements_load(a->dtype, dp, 1, n, NUMBER_F64, dots);
    softmax_row(g, b, head, s, x);
    add_scores(g, SCORES_SOFTMAX, row, dots);
    sum = a->call->ring ? kept_sum(g, row, s) : sum_row(g, row, x, dots, sizes);

    for (int64_t t = 0; t < n; t++)
        dots[t] = x[t] == 0 ? 0 : x[t] * (dots[t] - sum);
    add_scores(g, SCORES_BIASED, row, dots);
    add_mask(g, b, head, s, dots);
    add_scores(g, SCORES_CAPPED, row, dots);
    for (int64_t t = 0; t < n; t++)
        dots[t] *= g->slope[t];
    add_scores(g, SCORES_RAW, row, dots);
    elements_store(a->dtype, p, n, NUMBER_F64, x);
    elements_store(a->dtype, dp, n, NUMBER_F64, dots);
}

/* ---- a head ---- */

static void multiply(const AttentionGradient *g, const Product *p, const void *x, const void *y,
                     void *to)
{
    memset(to, 0, bytes_of(g, p->m * p->n));
    kernel_multiply(g->a.call, p, g->a.dtype, x, y, to);
}

/* to += x' y, of a tile of queries */
static void add_product(const AttentionGradient *g, const Product *p, const void *x, const void *y,
                        void *to)
{
    multiply(g, p, x, y, g->product);
    kernel_combine(REDUCE_SUM, g->a.dtype, to, g->product, 1, p->m * p->n);
}

/* The gradients of a head of queries: of all turns until now, where keys go around a ring. */
static void *queries_of(const AttentionGradient *g, int64_t b, int64_t head)
{
    const Attention *a = &g->a;
    return g->dq_all ? at_row(g, g->dq_all, (b * a->q.h + head) * a->q.s, a->q.d) : g->dq;
}

static void copy_magnitudes(const AttentionGradient *g, const void *from, int64_t n, void *to)
{
    double x[ELEMENT_BLOCK];
    for (int64_t i = 0, some; i < n; i += some) {
        some = n - i < ELEMENT_BLOCK ? n - i : ELEMENT_BLOCK;
        elements_load(g->a.dtype, (const char *)from + bytes_of(g, i), 1, some, NUMBER_F64, x);
        for (int64_t k = 0; k < some; k++)
            x[k] = fabs(x[k]);
        elements_store(g->a.dtype, (char *)to + bytes_of(g, i), some, NUMBER_F64, x);
    }
}

/* dy v' of magnitudes. */
static void multiply_sizes(const AttentionGradient *g, const Product *by_values, const void *dy)
{
    copy_magnitudes(g, dy, by_values->m * by_values->k, g->size_of[0]);
    copy_magnitudes(g, g->v, by_values->n * by_values->k, g->size_of[1]);
    multiply(g, by_values, g->size_of[0], g->size_of[1], g->sizes);
}

static void differentiate_tile(const AttentionGradient *g, int64_t b, int64_t head, int64_t first,
                               int64_t n)
{
    const Attention *a = &g->a;
    int64_t keys = a->n_keys, d = a->q.d, e = a->v.d;
    const char *q = at_row(g, g->q, first, d), *dy = at_row(g, g->dy, first, e);
    const Product scores = {.m = n, .n = keys, .k = d, .b_turned = true, .scale = a->scale};
    const Product by_values = {.m = n, .n = keys, .k = e, .b_turned = true, .scale = 1};
    const Product of_values = {.m = keys, .n = e, .k = n, .a_turned = true, .scale = 1};
    const Product of_keys = {.m = keys, .n = d, .k = n, .a_turned = true, .scale = a->scale};
    const Product of_queries = {.m = n, .n = d, .k = keys, .scale = a->scale};
    multiply(g, &scores, q, g->k, g->p);
    multiply(g, &by_values, dy, g->v, g->dp);
    if (g->sizes)
        multiply_sizes(g, &by_values, dy);

    for (int64_t s = 0; s < n; s++)
        differentiate_row(g, b, head, first + s, at_row(g, g->p, s, keys),
                          at_row(g, g->dp, s, keys),
                          g->sizes ? at_row(g, g->sizes, s, keys) : NULL);
    if (g->dv)
        add_product(g, &of_values, g->p, dy, g->dv);
    if (g->dk)
        add_product(g, &of_keys, g->dp, q, g->dk);
    if (g->dq && g->dq_all)
        add_product(g, &of_queries, g->dp, g->k, at_row(g, queries_of(g, b, head), first, d));
    else if (g->dq)
        multiply(g, &of_queries, g->dp, g->k, at_row(g, g->dq, first, d));
}

static HeldHeads laid_as(const HeldHeads *heads, const Local *local)
{
    HeldHeads out = *heads;
    out.local = local;
    return out;
}

/* The gradient of a rotated row of a head becomes that of the row. */
static void turn_back(const AttentionGradient *g, const HeldHeads *heads, int64_t b, int64_t head,
                      int64_t s, double *row)
{
    const Attention *a = &g->a;
    int64_t at = (attention_past(a, b) + s) * a->turn.half;
    const double *x = NULL;
    if (g->angles[0] || g->angles[1]) {
        held_heads_load_row(heads, b, head, s, NUMBER_F64, g->turned);
        x = g->turned;
    }
    head_turn_back(&a->turn, a->cosine + at, a->sine + at, x, 1, row,
                   g->angles[0] ? g->angles[0] + at : NULL,
                   g->angles[1] ? g->angles[1] + at : NULL);
}

/* Stores the gradient of a head of queries, keys or values as it is loaded, before the bias and
 * the rotation. */
static void store_head(const AttentionGradient *g, int operand, int64_t b, int64_t head, void *from)
{
    const Attention *a = &g->a;
    const HeldHeads *heads = operand == ATTENTION_Q   ? &a->q
                             : operand == ATTENTION_K ? &a->k
                                                      : &a->v;
    bool turns = a->cosine && operand != ATTENTION_V, adds = g->bias && a->bias[operand];
    for (int64_t s = 0; (turns || adds) && s < heads->s; s++) {
        char *row = at_row(g, from, s, heads->d);
        elements_load(a->dtype, row, 1, heads->d, NUMBER_F64, a->row);
        if (turns)
            turn_back(g, heads, b, head, s, a->row);
        for (int64_t i = 0; adds && i < heads->d; i++)
            g->bias[a->bias_place[operand][head * heads->d + i]] +=
                added(g, a->row[i], ((b * heads->h + head) * heads->s + s) * heads->d + i);
        elements_store(a->dtype, row, heads->d, NUMBER_F64, a->row);
    }
    if (!g->to[operand])
        return;
    const HeldHeads to = laid_as(heads, g->to[operand]);
    if (a->call->ring && operand != ATTENTION_Q) { /* what other ranks have added */
        held_heads_load(&to, b, head, a->number, g->product);
        kernel_combine(REDUCE_SUM, a->dtype, from, g->product, 1, heads->s * heads->d);
    }
    held_heads_store(&to, b, head, a->number, from);
}

/* Gradients of keys or values: of past ones, then of new ones. */
static void store_keys(const AttentionGradient *g, int operand, int64_t b, int64_t head, void *from)
{
    const Attention *a = &g->a;
    int i = operand - ATTENTION_K;
    const HeldHeads *kept = i == 0 ? &a->past_k : &a->past_v;
    int64_t d = i == 0 ? a->k.d : a->v.d, past = attention_past(a, b);
    const Local *present = a->present[i];
    bool adds = present && present->data && g->first_query && (i == 1 || g->first_number) &&
                held_heads_find(&a->q, a->k.head[head] * a->group) >= 0;
    if (adds) {
        held_heads_load(&(HeldHeads){.local = present, .h = a->k.h, .s = a->n_keys, .d = d}, b,
                        head, a->number, g->product);
        kernel_combine(REDUCE_SUM, a->dtype, from, g->product, 1, a->n_keys * d);
    }
    if (g->past[i])
        local_store(g->past[i], (b * a->k.h + head) * kept->s * d, past * d, a->number, from);
    store_head(g, operand, b, head, at_row(g, from, past, d));
}

static void differentiate_head(const AttentionGradient *g, int64_t b, int64_t head)
{
    const Attention *a = &g->a;
    attention_load_head(a, ATTENTION_Q, b, head, g->q);
    if (a->y.local->data)
        held_heads_load(&a->y, b, head, a->number, g->dy);

    for (int64_t first = 0, n; first < a->q.s; first += n) {
        n = a->q.s - first < QUERIES_MAX ? a->q.s - first : QUERIES_MAX;
        differentiate_tile(g, b, head, first, n);
    }
    if (g->dq)
        store_head(g, ATTENTION_Q, b, head, queries_of(g, b, head));
}

static void differentiate_keys(const AttentionGradient *g, int64_t b, int64_t at)
{
    const Attention *a = &g->a;
    attention_load_keys(a, ATTENTION_K, b, at, g->k);
    attention_load_keys(a, ATTENTION_V, b, at, g->v);
    if (g->dk)
        memset(g->dk, 0, bytes_of(g, a->n_keys * a->k.d));
    if (g->dv)
        memset(g->dv, 0, bytes_of(g, a->n_keys * a->v.d));
    for (int64_t head = 0; head < a->q.h; head++)
        if (a->q.head[head] / a->group == a->k.head[at])
            differentiate_head(g, b, head);
    if (g->dk)
        store_keys(g, ATTENTION_K, b, at, g->dk);
    if (g->dv)
        store_keys(g, ATTENTION_V, b, at, g->dv);
}

/* ---- the op ---- */

/* Whether this rank has the first numbers of the values, and the first queries. */
static void find_firsts(AttentionGradient *g)
{
    const Attention *a = &g->a;
    const Local *q = a->from[ATTENTION_Q], *v = a->from[ATTENTION_V];
    int64_t last = v->shape.n_dims - 1, n_queries = q->whole.dim[a->q.packed ? 1 : 2];
    int64_t width = v->whole.dim[last] / (a->v.packed ? a->n_key_heads : 1);
    g->first_number =
        width == 0 || (v->runs[last].local_size > 0 &&
                       kernel_globals(a->call->scratch, &v->runs[last])[0] % width == 0);
    g->first_query = n_queries == 0 || (a->q.s > 0 && a->position[0] == 0);
}

static void open_work(AttentionGradient *g)
{
    const Attention *a = &g->a;
    int64_t tile = a->q.s < QUERIES_MAX ? a->q.s : QUERIES_MAX;
    int64_t widest = a->k.d > a->v.d ? a->k.d : a->v.d;
    double **rows[4] = {&g->x, &g->slope, &g->row, &g->dots};
    for (int i = 0; i < 4; i++)
        *rows[i] = arena_array(a->call->scratch, double, a->n_keys);
    g->q = attention_numbers(a, a->q.s, a->q.d);
    g->k = attention_numbers(a, a->n_keys, a->k.d);
    g->v = attention_numbers(a, a->n_keys, a->v.d);
    g->dy = attention_numbers(a, a->q.s, a->v.d);
    g->product = attention_numbers(a, a->n_keys > tile ? a->n_keys : tile, widest);
    g->p = attention_numbers(a, tile, a->n_keys);
    g->dp = attention_numbers(a, tile, a->n_keys);
    if (a->call->inner) {
        g->sizes = attention_numbers(a, tile, a->n_keys);
        g->size_of[0] = attention_numbers(a, tile, a->v.d);
        g->size_of[1] = attention_numbers(a, a->n_keys, a->v.d);
    }
    g->turned = arena_array(a->call->scratch, double, a->q.d);

    bool all = g->bias || g->angles[0] || g->angles[1];
    if (g->to[ATTENTION_Q] || all)
        g->dq = attention_numbers(a, a->q.s, a->q.d);
    if (g->to[ATTENTION_K] || g->past[0] || all)
        g->dk = attention_numbers(a, a->n_keys, a->k.d);
    if (g->to[ATTENTION_V] || g->past[1] || g->bias)
        g->dv = attention_numbers(a, a->n_keys, a->v.d);
}

static Local *made_of(const AttentionGradient *g, int input)
{
    return input >= 0 && input < OPERANDS_HELD ? g->made[input] : NULL;
}

static double *sums_of(const AttentionGradient *g, int input)
{
    const Local *made = made_of(g, input);
    return made ? arena_array(g->a.call->scratch, double, shape_elements(&made->shape)) : NULL;
}

static void store_sums(const AttentionGradient *g, int input, const double *sums)
{
    Local *made = made_of(g, input);
    if (made && sums)
        local_store(made, 0, shape_elements(&made->shape), NUMBER_F64, sums);
}

/* What is kept over the turns of a ring. */
static bool open_ring(AttentionGradient *g, Error *err)
{
    const Attention *a = &g->a;
    const KernelRing *ring = a->call->ring;
    const KernelKept *kept = a->call->kept;
    int64_t n = a->q.b * a->q.h * a->q.s;
    if (!kept || kept->n != n * attention_kept_row(a))
        return error_kind(err, ERROR_RUN, "the softmax of its queries was taken on other ranks");
    size_t n_bytes = bytes_of(g, n * a->q.d);
    if (!*ring->state)
        *ring->state = memset(arena_alloc(ring->arena, n_bytes + 1), 0, n_bytes);
    g->dq_all = *ring->state;
    const Gradient *gradient = program_space(a->call->inferred, g->op)->gradient;
    for (int i = 0; i < gradient->n_written; i++)
        if (gradient->written[i] == a->form->mask)
            return error_kind(err, ERROR_RUN,
                              "the gradient of a mask is not made while keys go around a ring");
    return true;
}

/* Where the gradients go. */
static void find_made(const KernelCall *call, AttentionGradient *g)
{
    const Gradient *gradient = program_space(call->inferred, call->op)->gradient;
    const AttentionForm *form = g->a.form;
    for (int i = 0; i < gradient->n_written; i++)
        if (gradient->written[i] < OPERANDS_HELD)
            g->made[gradient->written[i]] = call->output[i];
    for (int i = 0; i < 3; i++)
        g->to[i] = form->projects ? attention_projected(call, g->a.y.local) : g->made[i];
    for (int i = 0; i < 2; i++)
        g->past[i] = form->projects ? attention_half(call->scratch, made_of(g, form->past), i)
                                    : made_of(g, form->past + i);
    g->bias = sums_of(g, form->bias);
    g->mask = sums_of(g, form->mask);
    for (int i = 0; i < 2 && g->a.cosine; i++)
        g->angles[i] = sums_of(g, ATTENTION_ANGLES + i);
}

/* Of x, the weight and the bias, from those of queries, keys and values side by side. */
static void differentiate_projection(const AttentionGradient *g)
{
    const Attention *a = &g->a;
    const Local *x = a->call->input[0], *weight = a->call->input[1];
    int64_t rows = x->shape.dim[0] * x->shape.dim[1], n = a->y.local->shape.dim[2];
    Product by_weight = {.m = rows, .n = x->shape.dim[2], .k = 3 * n, .b_turned = true, .scale = 1};
    Product by_x = {.m = x->shape.dim[2], .n = 3 * n, .k = rows, .a_turned = true, .scale = 1};
    char *all = attention_numbers(a, rows, 3 * n);
    double *row = arena_array(a->call->scratch, double, n), *bias = sums_of(g, 2);
    for (int64_t r = 0; r < rows; r++)
        for (int i = 0; i < 3; i++) {
            local_load(g->to[i], r * n, 1, n, NUMBER_F64, row);
            for (int64_t k = 0; bias && k < n; k++)
                bias[i * n + k] += added(g, row[k], (3 * r + i) * n + k);
            elements_store(a->dtype, at_row(g, all, 3 * r + i, n), n, NUMBER_F64, row);
        }
    void *dx = attention_numbers(a, rows, by_weight.n), *dw = attention_numbers(a, by_x.m, 3 * n);
    Arena *scratch = a->call->scratch;
    if (g->made[0]) {
        multiply(g, &by_weight, all, kernel_numbers(scratch, weight), dx);
        local_store(g->made[0], 0, rows * by_weight.n, a->number, dx);
    }
    if (g->made[1]) {
        multiply(g, &by_x, kernel_numbers(scratch, x), all, dw);
        local_store(g->made[1], 0, by_x.m * 3 * n, a->number, dw);
    }
    store_sums(g, 2, bias);
}

bool attention_gradient(const KernelCall *call, Error *err)
{
    AttentionGradient g = {.a = {.call = NULL}, .op = call->op};
    if (!forward_call(call, &g.forward, err) || !attention_open(&g.forward, &g.a, err))
        return false;
    for (int64_t head = 0; head < g.a.q.h; head++)
        if (held_heads_find(&g.a.k, g.a.q.head[head] / g.a.group) < 0)
            return error_kind(err, ERROR_RUN, "the keys of a head are on other ranks");
    if (call->ring && !open_ring(&g, err))
        return false;
    find_made(call, &g);
    find_firsts(&g);
    open_work(&g);
    for (int64_t b = 0; b < g.a.q.b; b++)
        for (int64_t at = 0; at < g.a.k.h; at++)
            differentiate_keys(&g, b, at);
    store_sums(&g, g.a.form->mask, g.mask);
    if (g.a.form->bias >= 0)
        store_sums(&g, g.a.form->bias, g.bias);
    for (int i = 0; i < 2; i++)
        store_sums(&g, ATTENTION_ANGLES + i, g.angles[i]);
    if (g.a.form->projects)
        differentiate_projection(&g);
    return true;
}
