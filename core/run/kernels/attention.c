/* attention.c - Attention: a head's queries against all its keys, softmax, and the values.
 *
 *     scores[s][t] = scale * q[s][d] * k[t][d]', softcap, + bias, softmax over t
 *     y[s][e]      = scores * v[t][e]
 *
 * Products are in the class of the operands' type, the softmax in double. A rank has some batches,
 * heads, queries and value numbers, and all keys of the heads it has queries of. Past keys and
 * values come before the new ones.
 *
 * Query i is at position offset + i of the keys; offset is the number of past keys, or of unpadded
 * keys less the queries. A query without visible keys gets zeros. Source: the ONNX operator schemas
 * of Attention, opset 23 to 25, and onnxruntime's of MultiHeadAttention, whose operands are packed
 * and have a bias, and of GroupQueryAttention, which keeps keys and values in a buffer filled up to
 * a length per batch element; its Attention makes them of one input and one weight.
 */
#include "core/run/kernels/attention.h"

#include "core/rules/args.h"

#include <math.h>

#define ONNX_HEADS .q_heads = "q_num_heads", .k_heads = "kv_num_heads", .causal = "is_causal"
#define MICROSOFT_HEADS .q_heads = "num_heads", .causal = "unidirectional"

static const AttentionForm onnx = {ONNX_HEADS,   .mask = 3,  .past = 4,
                                   .lengths = 6, .bias = -1, .hidden = -1};
static const AttentionForm flex = {ONNX_HEADS,    .mask = -1, .past = -2,
                                   .lengths = -1, .bias = -1, .hidden = -1};
static const AttentionForm microsoft = {MICROSOFT_HEADS, .k_heads = "num_heads", .mask = 5,
                                        .past = 6,       .lengths = -1,          .bias = 3,
                                        .hidden = 4};
static const AttentionForm grouped = {MICROSOFT_HEADS, .k_heads = "kv_num_heads",
                                      .mask = -1,      .past = 3,
                                      .lengths = 5,    .bias = -1,
                                      .hidden = -1,    .buffer = true};
static const AttentionForm projecting = {MICROSOFT_HEADS, .k_heads = "num_heads", .mask = 5,
                                         .past = 4,       .lengths = -1,          .bias = -1,
                                         .hidden = 3,     .projects = true};

/* ---- operands ---- */

void *attention_numbers(const Attention *a, int64_t rows, int64_t columns)
{
    size_t n = arena_array_bytes((size_t)rows, (size_t)columns);
    n = arena_array_bytes(n, (size_t)number_bytes(a->number));
    return memset(arena_alloc(a->call->scratch, n), 0, n);
}

/* Broadcasts the mask to local batch, heads, queries and keys. */
static bool open_mask(Attention *a, Error *err)
{
    const Local *mask = a->mask;
    const int64_t held[4] = {a->q.b, a->q.h, a->q.s, 0};
    if (!mask)
        return true;
    if (!kernel_computes(mask, err))
        return false;
    int64_t own[DIMS_MAX], n = mask->shape.n_dims;
    row_major_strides(&mask->shape, own);
    a->n_masked = n > 0 ? mask->shape.dim[n - 1] : 0;
    bool fits = n >= 1 && n <= 4 && a->n_masked <= a->n_all;
    for (int64_t d = 0; fits && d < n; d++) {
        int64_t to = 4 - n + d;
        bool repeats = to < 3 && mask->whole.dim[d] == 1;
        a->mask_stride[to] = repeats ? 0 : own[d];
        fits = repeats || to == 3 || mask->shape.dim[d] == held[to];
    }
    return fits || error_kind(err, ERROR_RUN, "its mask has another size");
}

static bool check_sizes(const Attention *a, Error *err)
{
    const KernelCall *call = a->call;
    const HeldHeads *kept[2] = {&a->past_k, &a->past_v}, *fresh[2] = {&a->k, &a->v};
    bool fits = a->q.b == a->k.b && a->q.b == a->v.b && a->q.b == a->y.b && a->k.s == a->v.s &&
                a->y.s == a->q.s && (a->v.d == 0 || a->k.h == a->v.h) &&
                (a->y.d == 0 || (a->y.h == a->q.h && a->y.d == a->v.d)) &&
                (a->q.d == 0 || a->k.d == 0 || a->q.d == a->k.d);
    for (int i = 0; i < 2; i++) {
        const Shape want = {.n_dims = 4, .dim = {a->q.b, a->k.h, a->n_keys, fresh[i]->d}};
        Shape past = want;
        past.dim[2] = a->past_k.s;
        bool none = a->k.h == 0 || fresh[i]->d == 0; /* a packed operand has no sizes in that case
                                                      */
        fits = fits && (none || !kept[i]->local || shape_equal(&kept[i]->local->shape, &past)) &&
               (none || !a->present[i] || shape_equal(&a->present[i]->shape, &want));
    }
    const Shape scores_out = {.n_dims = 4, .dim = {a->q.b, a->q.h, a->q.s, a->n_keys}};
    fits = fits && (!a->scores_out || shape_equal(&a->scores_out->shape, &scores_out)) &&
           (!a->past_k.local == !a->past_v.local);
    const Local *lengths = kernel_input(call, a->form->lengths);
    fits = fits && (!lengths || shape_elements(&lengths->shape) == a->q.b);
    return fits || error_kind(err, ERROR_RUN, "operand shapes do not match");
}

/* ---- queries, keys and values of one product ---- */

Local *attention_half(Arena *arena, const Local *both, int half)
{
    if (!both)
        return NULL;
    Local *out = arena_make(arena, Local);
    *out = *both;
    out->shape.n_dims = out->whole.n_dims = both->shape.n_dims - 1;
    for (int64_t d = 0; d < out->shape.n_dims; d++) {
        out->shape.dim[d] = both->shape.dim[d + 1];
        out->whole.dim[d] = both->whole.dim[d + 1];
        out->runs[d] = both->runs[d + 1];
    }
    if (both->data)
        out->data = local_at(both, half * shape_elements(&out->shape));
    return out;
}

Local *attention_projected(const KernelCall *call, const Local *y)
{
    Local *out = arena_make(call->scratch, Local);
    *out = *y;
    out->data = arena_alloc(call->scratch, (size_t)local_bytes(y));
    memset(out->data, 0, (size_t)local_bytes(y));
    return out;
}

/* x * weight + bias. A rank's columns of the weight are those of its queries, keys and values. */
static bool open_projected(Attention *a, const RuleCall *rule, Error *err)
{
    const KernelCall *call = a->call;
    const Local *x = call->input[0], *weight = call->input[1], *bias = kernel_input(call, 2);
    const Local *y = call->output[0];
    int64_t rows = x->shape.dim[0] * x->shape.dim[1], n = y->shape.dim[2];
    Product p = {.m = rows, .n = 3 * n, .k = x->shape.dim[2], .scale = 1};
    if (args_int(rule, "do_rotary", 0) != 0 || kernel_input(call, 6))
        return error_kind(err, ERROR_RUN, "rotation and a shared buffer are not supported");
    if (weight->shape.dim[0] != p.k || weight->shape.dim[1] != p.n ||
        (bias && shape_elements(&bias->shape) != p.n))
        return error_kind(err, ERROR_RUN, "operand shapes do not match");
    char *all = attention_numbers(a, rows, p.n);
    const double *addend = kernel_doubles(call, 2);
    kernel_multiply(call, &p, a->dtype, kernel_numbers(call->scratch, x),
                    kernel_numbers(call->scratch, weight), all);
    double *row = arena_array(call->scratch, double, n);
    for (int i = 0; i < 3; i++) {
        Local *part = attention_projected(call, y);
        for (int64_t r = 0; r < rows; r++) {
            elements_load(a->dtype, all + (r * p.n + i * n) * number_bytes(a->number), 1, n,
                          NUMBER_F64, row);
            for (int64_t k = 0; addend && k < n; k++)
                row[k] += addend[i * n + k];
            local_store(part, r * n, n, NUMBER_F64, row);
        }
        a->from[i] = part;
    }
    return true;
}

/* ---- all operands ---- */

static void find_past(const Attention *a, const Local *past[2])
{
    for (int i = 0; i < 2; i++)
        past[i] = a->form->projects
                      ? attention_half(a->call->scratch, kernel_input(a->call, a->form->past), i)
                      : kernel_input(a->call, a->form->past + i);
}

static bool open_heads(Attention *a, const RuleCall *rule, Error *err)
{
    const KernelCall *call = a->call;
    const Local *q = a->from[0], *k = a->from[1], *past[2];
    find_past(a, past);
    int64_t q_heads = args_int(rule, a->form->q_heads, 0);
    int64_t k_heads = args_int(rule, a->form->k_heads, 0);
    if (q->whole.n_dims == 4)
        q_heads = q->whole.dim[1];
    if (k->whole.n_dims == 4)
        k_heads = k->whole.dim[1];
    if (k_heads < 1 || q_heads % k_heads != 0)
        return error_kind(err, ERROR_RUN, "its heads of queries do not share those of keys");
    a->group = q_heads / k_heads;
    a->n_key_heads = k_heads;
    return held_heads(call, q, q_heads, &a->q, err) && held_heads(call, k, k_heads, &a->k, err) &&
           held_heads(call, a->from[2], k_heads, &a->v, err) &&
           held_heads(call, past[0], k_heads, &a->past_k, err) &&
           held_heads(call, past[1], k_heads, &a->past_v, err) &&
           held_heads(call, call->output[0], q_heads, &a->y, err);
}

/* The bias of queries, keys and values, concatenated. */
static bool open_bias(Attention *a, Error *err)
{
    const Local *bias = kernel_input(a->call, a->form->bias);
    int64_t first = 0;
    for (int i = 0; bias && i < 3; i++) {
        const Local *local = a->from[i];
        if (local->shape.n_dims != 3 || !kernel_computes(bias, err))
            return error_kind(err, ERROR_RUN, "a bias of operands that are not packed");
        const int64_t *global = kernel_globals(a->call->scratch, &local->runs[2]);
        double *out = arena_array(a->call->scratch, double, local->shape.dim[2]);
        int64_t *places = arena_array(a->call->scratch, int64_t, local->shape.dim[2]);
        for (int64_t k = 0; k < local->shape.dim[2]; k++) {
            int64_t place = runs_find(&bias->runs[0], first + global[k]);
            if (place < 0)
                return error_kind(err, ERROR_RUN, "a part of its bias is on another rank");
            local_load(bias, place, 1, 1, NUMBER_F64, &out[k]);
            places[k] = place;
        }
        a->bias[i] = out;
        a->bias_place[i] = places;
        first += local->whole.dim[2];
    }
    return true;
}

/* The unpadded keys of a batch element: a mask, or their number. */
static bool open_hidden(Attention *a, Error *err)
{
    const Local *given = kernel_input(a->call, a->form->hidden);
    if (!given)
        return true;
    bool each = given->shape.n_dims == 2;
    const Shape want = {.n_dims = each ? 2 : 1, .dim = {a->q.b, each ? a->n_keys : 0}};
    if (!kernel_computes(given, err) || !shape_equal(&given->shape, &want))
        return error_kind(err, ERROR_RUN, "its form of padding mask is not supported");
    const double *x = kernel_doubles(a->call, a->form->hidden);
    double *seen = arena_array(a->call->scratch, double, a->q.b * a->n_keys);
    for (int64_t i = 0; i < a->q.b * a->n_keys; i++)
        seen[i] = each ? x[i] : (double)(i % a->n_keys) < x[i / a->n_keys];
    a->seen = seen;
    return true;
}

/* The whole tables of rotary angles. */
static bool open_angles(Attention *a, const RuleCall *rule, Error *err)
{
    const Local *cosine = kernel_input(a->call, ATTENTION_ANGLES);
    const Local *sine = kernel_input(a->call, ATTENTION_ANGLES + 1);
    if (args_int(rule, "do_rotary", 0) == 0)
        return true;
    if (!cosine || !sine || cosine->shape.n_dims != 2 || !kernel_computes(cosine, err) ||
        !shape_equal(&cosine->shape, &sine->shape) || 2 * cosine->shape.dim[1] > a->q.d)
        return a->q.d == 0 || error_kind(err, ERROR_RUN, "its tables of angles do not fit");
    a->turn = (Turn){cosine->shape.dim[1], args_int(rule, "rotary_interleaved", 0) != 0};
    for (int64_t b = 0; b < a->q.b; b++)
        if (a->kept[b] + a->k.s > cosine->shape.dim[0])
            return error_kind(err, ERROR_RUN, "a position is outside its table of angles");
    a->cosine = kernel_doubles(a->call, ATTENTION_ANGLES);
    a->sine = kernel_doubles(a->call, ATTENTION_ANGLES + 1);
    return true;
}

/* New keys follow the past ones in the buffer; the first call has no past. */
static bool open_buffer(Attention *a, const RuleCall *rule, Error *err)
{
    if (!a->form->buffer)
        return true;
    int64_t total = 0, s = a->from[0]->whole.dim[a->q.packed ? 1 : 2];
    for (int i = 9; i < a->call->n_inputs; i++)
        if (a->call->input[i])
            return error_kind(err, ERROR_RUN, "its input %d is not supported", i);
    if (args_int(rule, "smooth_softmax", 0) != 0 || args_int(rule, "sliding_window_cache", 0) != 0)
        return error_kind(err, ERROR_RUN,
                          "smooth_softmax and sliding_window_cache are not supported");
    if (!kernel_input(a->call, 5) || !kernel_input(a->call, 6) || a->lengths == NULL ||
        shape_elements(&a->call->input[5]->shape) != a->q.b)
        return error_kind(err, ERROR_RUN, "its lengths are absent or have another size");
    if (!kernel_scalar(a->call->input[6], &total, err))
        return false;
    a->n_keys =
        a->present[0] ? a->present[0]->whole.dim[2] : (total > a->past_k.s ? total : a->past_k.s);
    a->causal = args_int(rule, "causal", 1) != 0;
    int64_t window = args_int(rule, "local_window_size", -1);
    a->left = window < 0 ? -1 : window - 1;
    a->kept = arena_array(a->call->scratch, int64_t, a->q.b);
    for (int64_t b = 0; b < a->q.b; b++) {
        int64_t before = (int64_t)a->lengths[b] + 1 - s;
        a->kept[b] = total == s || before < 0 ? 0 : before;
        if (a->kept[b] + a->k.s > a->n_keys || (a->kept[b] > a->past_k.s && a->k.h > 0) ||
            a->past_k.s > a->n_keys)
            return error_kind(err, ERROR_RUN, "its buffer is too short for the keys");
    }
    return open_angles(a, rule, err);
}

/* The number class of the operands. */
static bool open_numbers(Attention *a, Error *err)
{
    static const Dtype dtypes[NUMBER_KINDS] = {DT_F32, DT_F64, DT_I64};
    a->number = dtype_number(a->call->input[0]->dtype);
    a->dtype = dtypes[a->number];
    return a->number != NUMBER_I64 ||
           error_kind(err, ERROR_RUN, "attention of integers is not supported");
}

/* Past keys come first; those of a part are anywhere. */
static void open_keys(Attention *a)
{
    const Local *k = a->from[1];
    int dim = a->k.packed ? 1 : 2;
    int64_t past = a->past_k.s, *key;
    a->n_keys = past + a->k.s;
    a->n_all = past + k->whole.dim[dim];
    key = arena_array(a->call->scratch, int64_t, a->n_keys);
    const int64_t *global = kernel_globals(a->call->scratch, &k->runs[dim]);
    for (int64_t t = 0; t < a->n_keys; t++)
        key[t] = t < past ? t : past + global[t - past];
    a->key = key;
}

static void open_attributes(Attention *a, const RuleCall *rule)
{
    open_keys(a);
    a->stage = (ScoresStage)args_int(rule, "qk_matmul_output_mode", SCORES_RAW);
    a->scale = args_float(rule, "scale", 0);
    if (a->scale == 0)
        a->scale = a->q.d > 0 ? 1 / sqrt((double)a->q.d) : 1;
    a->hide = args_float(rule, "mask_filter_value", -10000);
    a->cap = args_float(rule, "softcap", 0);
    a->causal = args_int(rule, a->form->causal, 0) != 0;
    a->left = args_int(rule, "left_window_size", -1);
    a->right = args_int(rule, "right_window_size", -1);
}

bool attention_open(const KernelCall *call, Attention *a, Error *err)
{
    const AttentionForm *form = call->kernel->row;
    if (!kernel_needs(call, form->projects ? 2 : 3, err))
        return false;
    RuleCall rule = kernel_rule_call(call);
    *a = (Attention){.call = call, .form = form};
    a->mask = kernel_input(call, form->mask);
    a->scores_out = kernel_output(call, 3);
    for (int i = 0; i < 2; i++)
        a->present[i] = form->projects ? attention_half(call->scratch, kernel_output(call, 1), i)
                                       : kernel_output(call, 1 + i);
    for (int i = 0; i < 3 && !form->projects; i++)
        a->from[i] = call->input[i];
    if (!open_numbers(a, err) || (form->projects && !open_projected(a, &rule, err)) ||
        !open_heads(a, &rule, err))
        return false;
    open_attributes(a, &rule);
    if (form->lengths >= 0)
        a->lengths = kernel_doubles(call, form->lengths);
    a->position = kernel_globals(call->scratch, &a->from[0]->runs[a->q.packed ? 1 : 2]);
    a->row = arena_array(call->scratch, double, a->q.d + a->k.d + a->v.d);
    return open_buffer(a, &rule, err) && open_mask(a, err) && check_sizes(a, err) &&
           open_bias(a, err) && open_hidden(a, err);
}

/* ---- a head ---- */

/* Of the keys held; those that the mask does not cover are left. */
static void load_mask(const Attention *a, int64_t b, int64_t head, int64_t s, double *out)
{
    if (!a->mask)
        return;
    int64_t at = b * a->mask_stride[0] + head * a->mask_stride[1] + s * a->mask_stride[2];
    bool all = a->n_keys == a->n_all;
    if (all)
        local_load(a->mask, at, 1, a->n_masked, NUMBER_F64, out);
    for (int64_t t = 0; !all && t < a->n_keys; t++)
        if (a->key[t] < a->n_masked)
            out[t] = local_number(a->mask, at + a->key[t]);
}

bool attention_bias(const Attention *a, int64_t b, int64_t head, int64_t s, double *bias)
{
    int64_t whole_queries = a->from[0]->whole.dim[a->q.packed ? 1 : 2];
    int64_t n_real = a->lengths ? (int64_t)a->lengths[b] + a->form->buffer : a->n_all;
    int64_t offset = a->kept           ? a->kept[b]
                     : a->past_k.local ? a->past_k.s
                     : a->lengths      ? n_real - whole_queries
                                       : 0;
    int64_t at = offset + a->position[s];
    bool any = false, yes_no = a->mask && a->mask->dtype == DT_BOOL;
    load_mask(a, b, head, s, bias);
    for (int64_t t = 0; t < a->n_keys; t++) {
        int64_t key = a->key ? a->key[t] : t;
        bool hidden = (a->causal && key > at) || key >= n_real || (a->mask && key >= a->n_masked) ||
                      (a->left >= 0 && at - key > a->left) ||
                      (a->right >= 0 && key - at > a->right);
        if (!a->mask || hidden || yes_no)
            bias[t] = hidden || (yes_no && bias[t] == 0) ? -INFINITY : 0;
        if (a->seen && a->seen[b * a->n_keys + t] == 0)
            bias[t] += a->hide;
        any |= bias[t] != -INFINITY;
    }
    return any;
}

void attention_softmax(double *x, int64_t n)
{
    double most = -INFINITY, sum = 0;
    for (int64_t t = 0; t < n; t++)
        most = x[t] > most || isnan(x[t]) ? x[t] : most;
    for (int64_t t = 0; t < n; t++)
        sum += x[t] = most == -INFINITY ? 0 : exp(x[t] - most);
    for (int64_t t = 0; t < n && sum > 0; t++)
        x[t] /= sum;
}

static void store_scores(const Attention *a, ScoresStage stage, int64_t row, const double *scores)
{
    if (a->scores_out && a->stage == stage)
        local_store(a->scores_out, row * a->n_keys, a->n_keys, NUMBER_F64, scores);
}

/* New ones in the first turn; NULL if all keys are there at once. */
static AttentionSums *open_sums(const Attention *a, int64_t width)
{
    const KernelRing *ring = a->call->ring;
    if (!ring)
        return NULL;
    if (!*ring->state) {
        AttentionSums *sums = arena_make(ring->arena, AttentionSums);
        int64_t n = a->q.b * a->q.h * a->q.s;
        *ring->state = sums;
        sums->most = arena_array(ring->arena, double, n);
        sums->sum = arena_array(ring->arena, double, n);
        sums->y = arena_array(ring->arena, double, n *width);
        sums->width = width;
        for (int64_t i = 0; i < n; i++)
            sums->most[i] = -INFINITY;
    }
    return *ring->state;
}

/* Turns the scores x of n keys for row `row` into p, and rescales the sums so far to the new
 * maximum. */
static void join_row(AttentionSums *sums, int64_t row, double *x, int64_t n)
{
    double before = sums->most[row], most = before, *y = sums->y + row * sums->width;
    for (int64_t t = 0; t < n; t++)
        most = x[t] > most || isnan(x[t]) ? x[t] : most;
    double scale = before == most || before == -INFINITY ? 1 : exp(before - most);
    sums->sum[row] *= scale;
    for (int64_t i = 0; i < sums->width; i++)
        y[i] *= scale;
    for (int64_t t = 0; t < n; t++)
        sums->sum[row] += x[t] = most == -INFINITY ? 0 : exp(x[t] - most);
    sums->most[row] = most;
}

/* Replaces the scores of a query by their softmax. */
static void score_row(const Attention *a, int64_t b, int64_t head, int64_t s, double *bias,
                      double *x)
{
    int64_t row = (b * a->q.h + head) * a->q.s + s;
    store_scores(a, SCORES_RAW, row, x);
    for (int64_t t = 0; t < a->n_keys && a->cap > 0; t++)
        x[t] = a->cap * tanh(x[t] / a->cap);
    store_scores(a, SCORES_CAPPED, row, x);
    bool any = attention_bias(a, b, head, s, bias);
    for (int64_t t = 0; t < a->n_keys; t++)
        x[t] += bias[t];
    store_scores(a, SCORES_BIASED, row, x);
    if (a->sums)
        join_row(a->sums, row, x, a->n_keys);
    else if (any)
        attention_softmax(x, a->n_keys);
    else
        memset(x, 0, (size_t)a->n_keys * sizeof *x);
    store_scores(a, SCORES_SOFTMAX, row, x);
}

/* For the current head. */
typedef struct {
    void *q, *k, *v, *scores, *y;
    double *row, *bias; /* of a query */
} AttentionWork;

/* Of queries first .. end-1. */
static void softmax_scores(const Attention *a, int64_t b, int64_t head, int64_t first, int64_t end,
                           const AttentionWork *work)
{
    for (int64_t s = first; s < end; s++) {
        char *at = (char *)work->scores + (s - first) * a->n_keys * number_bytes(a->number);
        elements_load(a->dtype, at, 1, a->n_keys, NUMBER_F64, work->row);
        score_row(a, b, head, s, work->bias, work->row);
        elements_store(a->dtype, at, a->n_keys, NUMBER_F64, work->row);
    }
}

void attention_load_head(const Attention *a, int operand, int64_t b, int64_t head, void *out)
{
    const HeldHeads *from = operand == 0 ? &a->q : operand == 1 ? &a->k : &a->v;
    const double *bias = a->bias[operand] ? a->bias[operand] + head * from->d : NULL;
    held_heads_load(from, b, head, a->number, out);
    bool turns = a->cosine && operand < 2;
    double *row = a->row;
    for (int64_t s = 0; (bias || turns) && s < from->s; s++) {
        char *at = (char *)out + s * from->d * number_bytes(a->number);
        elements_load(a->dtype, at, 1, from->d, NUMBER_F64, row);
        for (int64_t i = 0; bias && i < from->d; i++)
            row[i] += bias[i];
        if (turns)
            head_turn(&a->turn, a->cosine + (a->kept[b] + s) * a->turn.half,
                      a->sine + (a->kept[b] + s) * a->turn.half, row);
        elements_store(a->dtype, at, from->d, NUMBER_F64, row);
    }
}

int64_t attention_past(const Attention *a, int64_t b)
{
    return a->kept ? a->kept[b] : a->past_k.s;
}

void attention_load_keys(const Attention *a, int operand, int64_t b, int64_t head, void *out)
{
    const HeldHeads *past = operand == 1 ? &a->past_k : &a->past_v;
    int64_t d = operand == 1 ? a->k.d : a->v.d;
    int64_t bytes = d * number_bytes(a->number), before = attention_past(a, b);
    if (past->local)
        held_heads_load(past, b, head, a->number, out);
    memset((char *)out + before * bytes, 0, (size_t)((a->n_keys - before) * bytes));
    attention_load_head(a, operand, b, head, (char *)out + before * bytes);
}

/* Adds what the keys of this turn give to queries from row `first` on; y: that, and then the values
 * of all turns, divided by the sum of p. */
static void join_values(const Attention *a, int64_t first, void *y)
{
    for (int64_t s = 0; s < a->q.s; s++) {
        double *to = a->sums->y + (first + s) * a->v.d, sum = a->sums->sum[first + s];
        char *at = (char *)y + s * a->v.d * number_bytes(a->number);
        elements_load(a->dtype, at, 1, a->v.d, NUMBER_F64, a->row);
        for (int64_t e = 0; e < a->v.d; e++) {
            to[e] += a->row[e];
            a->row[e] = sum > 0 || isnan(sum) ? to[e] / sum : 0;
        }
        elements_store(a->dtype, at, a->v.d, NUMBER_F64, a->row);
    }
}

static void attend(const Attention *a, int64_t b, int64_t head, const AttentionWork *work)
{
    int64_t bytes = number_bytes(a->number);
    attention_load_head(a, 0, b, head, work->q);
    memset(work->y, 0, (size_t)(a->q.s * a->v.d * bytes));
    for (int64_t first = 0, end; first < a->q.s; first = end) {
        end = first + QUERIES_MAX < a->q.s ? first + QUERIES_MAX : a->q.s;
        Product by_keys = {.m = end - first, .n = a->n_keys, .k = a->q.d, .b_turned = true};
        Product by_values = {.m = end - first, .n = a->v.d, .k = a->n_keys, .scale = 1};
        by_keys.scale = a->scale;
        memset(work->scores, 0, (size_t)((end - first) * a->n_keys * bytes));
        kernel_multiply(a->call, &by_keys, a->dtype, (char *)work->q + first * a->q.d * bytes,
                        work->k, work->scores);
        softmax_scores(a, b, head, first, end, work);
        kernel_multiply(a->call, &by_values, a->dtype, work->scores, work->v,
                        (char *)work->y + first * a->v.d * bytes);
    }
    if (a->sums)
        join_values(a, (b * a->q.h + head) * a->q.s, work->y);
    if (a->sums && a->call->ring->turn + 1 < a->call->ring->n_turns)
        return;
    held_heads_store(&a->y, b, head, a->number, work->y);
}

/* Outputs past and new keys and values of every local key head. */
static void store_present(const Attention *a, int64_t b, int64_t head, const AttentionWork *work)
{
    const void *from[2] = {work->k, work->v};
    const int64_t d[2] = {a->k.d, a->v.d};
    for (int i = 0; i < 2; i++)
        if (a->present[i])
            local_store(a->present[i], (b * a->k.h + head) * a->n_keys * d[i], a->n_keys * d[i],
                        a->number, from[i]);
}

static void keep_rows(const Attention *a)
{
    KernelKept *kept = a->call->kept;
    int64_t n = a->q.b * a->q.h * a->q.s, width = attention_kept_row(a);
    if (!kept->at || kept->n != n * width)
        kept->at = arena_array(kept->arena, double, n *width);
    kept->n = n * width;
    for (int64_t i = 0; i < n; i++) {
        double *to = kept->at + i * width, sum = a->sums->sum[i];
        to[0] = a->sums->most[i] + log(sum);
        for (int64_t e = 0; e < a->v.d; e++)
            to[1 + e] = sum > 0 || isnan(sum) ? a->sums->y[i * a->v.d + e] / sum : 0;
    }
}

static bool attention(const KernelCall *call, Error *err)
{
    Attention a;
    if (!attention_open(call, &a, err))
        return false;
    a.sums = open_sums(&a, a.v.d);
    const AttentionWork work = {
        attention_numbers(&a, a.q.s, a.q.d),
        attention_numbers(&a, a.n_keys, a.k.d),
        attention_numbers(&a, a.n_keys, a.v.d),
        attention_numbers(&a, a.q.s < QUERIES_MAX ? a.q.s : QUERIES_MAX, a.n_keys),
        attention_numbers(&a, a.q.s, a.v.d),
        arena_array(call->scratch, double, a.n_keys),
        arena_array(call->scratch, double, a.n_keys)};
    for (int64_t head = 0; head < a.q.h; head++)
        if (held_heads_find(&a.k, a.q.head[head] / a.group) < 0)
            return error_kind(err, ERROR_RUN, "the keys of a head are on other ranks");
    for (int64_t b = 0; b < a.q.b; b++)
        for (int64_t at = 0; at < a.k.h; at++) {
            attention_load_keys(&a, 1, b, at, work.k);
            attention_load_keys(&a, 2, b, at, work.v);
            store_present(&a, b, at, &work);
            for (int64_t head = 0; head < a.q.h; head++)
                if (a.q.head[head] / a.group == a.k.head[at])
                    attend(&a, b, head, &work);
        }
    if (a.sums && call->kept && call->ring->turn + 1 == call->ring->n_turns)
        keep_rows(&a);
    return true;
}

const Kernel kernels_attention[] = {
    {"Attention", attention, &onnx, 0, ROUNDING_SENSITIVE},
    {"ai.onnx.preview::FlexAttention", attention, &flex, 0, ROUNDING_SENSITIVE},
    {"com.microsoft::MultiHeadAttention", attention, &microsoft, 0, ROUNDING_SENSITIVE},
    {"com.microsoft::GroupQueryAttention", attention, &grouped, 0, ROUNDING_SENSITIVE},
    {"com.microsoft::Attention", attention, &projecting, 0, ROUNDING_SENSITIVE},
    {"AttentionBackward", attention_gradient, NULL, 0, ROUNDING_SENSITIVE},
    {0},
};
