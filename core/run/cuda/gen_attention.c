/* gen_attention.c - kernels of Attention and RotaryEmbedding.
 *
 * Scores are not stored: a block has BQ queries of a head and iterates over its keys, BK at a time,
 * with the running maximum and sum of each query; the output is rescaled as these change. A thread
 * has some queries by some columns in registers, for scores and values; tiles are in shared memory.
 * Sums are in f32, in f64 for f64; no tensor cores.
 *
 *     16 by 16 threads: RM = BQ / 16 queries each, by CN = BK / 16 keys, by OD values
 *
 * Heads and positions are local: tables give the keys of each head and the global index of each
 * query.
 */
#include "core/rules/args.h"
#include "core/run/cuda/device_build.h"
#include "core/run/kernels/heads.h"

#include <math.h>

enum { SIDE = 16, HEAD_MAX = 128, KEYS_AT_ONCE = 32 };

static const char attention_head[] =
    "enum { RM = BQ / 16, CN = BK / 16, OD = (E + 15) / 16, DE = D > E ? D : E };\n"
    "typedef struct {\n"
    "    const T *q, *k, *v;\n    T *y;\n    const MASK *mask;\n    const i64 *head, *position;\n"
    "    i64 n_heads, n_queries, n_keys, n_masked, blocks;\n"
    "    i64 q_b, q_h, q_s, k_b, k_h, k_s, v_b, v_h, v_s, y_b, y_h, y_s;\n"
    "    i64 mask_b, mask_h, mask_s, causal, left, right;\n"
    "    double scale, cap;\n"
    "} Args;\n"
    "KERNEL(256, NAME, Args)\n"
    "{\n"
    "    SHARED C tile_q[BQ][D + 1];\n"
    "    SHARED C tile_k[BK][DE + 1];\n"
    "    SHARED C tile_s[BQ][BK + 1];\n"
    "    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;\n"
    "    i64 first = blockIdx.x % a.blocks * BQ, h = blockIdx.x / a.blocks % a.n_heads;\n"
    "    i64 b = blockIdx.x / a.blocks / a.n_heads, kh = a.head[h];\n"
    "    const T *q = a.q + b * a.q_b + h * a.q_h;\n"
    "    const T *k = a.k + b * a.k_b + kh * a.k_h;\n"
    "    const T *v = a.v + b * a.v_b + kh * a.v_h;\n"
    "    C most[RM], sum[RM], out[RM][OD];\n"
    "    UNROLL\n"
    "    for (int r = 0; r < RM; r++) {\n"
    "        most[r] = -INFINITY;\n"
    "        sum[r] = 0;\n"
    "        UNROLL\n"
    "        for (int o = 0; o < OD; o++)\n"
    "            out[r][o] = 0;\n"
    "    }\n"
    "    for (int i = threadIdx.x; i < BQ * D; i += 256)\n"
    "        tile_q[i / D][i % D] =\n"
    "            first + i / D < a.n_queries ? LOAD(q[(first + i / D) * a.q_s + i % D]) : 0;\n";

/* The loop over the keys. */
static const char attention_walk[] =
    "    i64 last = first + BQ < a.n_queries ? first + BQ : a.n_queries;\n"
    "    i64 end = a.n_keys;\n"
    "    if (a.causal && a.position[last - 1] + 1 < end)\n"
    "        end = a.position[last - 1] + 1;\n"
    "    for (i64 t0 = 0; t0 < end; t0 += BK) {\n"
    "        __syncthreads();\n"
    "        for (int i = threadIdx.x; i < BK * D; i += 256)\n"
    "            tile_k[i / D][i % D] =\n"
    "                t0 + i / D < a.n_keys ? LOAD(k[(t0 + i / D) * a.k_s + i % D]) : 0;\n"
    "        __syncthreads();\n"
    "        C s[RM][CN];\n"
    "        UNROLL\n"
    "        for (int r = 0; r < RM; r++)\n"
    "            UNROLL\n"
    "            for (int c = 0; c < CN; c++)\n"
    "                s[r][c] = 0;\n"
    "        for (int d = 0; d < D; d++)\n"
    "            UNROLL\n"
    "            for (int r = 0; r < RM; r++)\n"
    "                UNROLL\n"
    "                for (int c = 0; c < CN; c++)\n"
    "                    s[r][c] += tile_q[ty * RM + r][d] * tile_k[tx + 16 * c][d];\n"
    "        UNROLL\n"
    "        for (int r = 0; r < RM; r++) {\n"
    "            i64 at = first + ty * RM + r, here = at < a.n_queries ? a.position[at] : 0;\n"
    "            C most_now = most[r], sum_now = 0;\n"
    "            UNROLL\n"
    "            for (int c = 0; c < CN; c++) {\n"
    "                i64 t = t0 + tx + 16 * c;\n"
    "                C x = s[r][c] * (C)a.scale;\n"
    "                if (a.cap > 0)\n"
    "                    x = (C)a.cap * TANH(x / (C)a.cap);\n"
    "                int hidden = t >= a.n_keys || at >= a.n_queries || (a.causal && t > here) ||\n"
    "                             (a.left >= 0 && here - t > a.left) ||\n"
    "                             (a.right >= 0 && t - here > a.right);\n"
    "                MASKED\n"
    "                s[r][c] = hidden ? (C)-INFINITY : x;\n"
    "                most_now = s[r][c] > most_now ? s[r][c] : most_now;\n"
    "            }\n"
    "            UNROLL\n"
    "            for (int m = 8; m > 0; m /= 2) {\n"
    "                C y = SHUFFLE(most_now, m);\n"
    "                most_now = y > most_now ? y : most_now;\n"
    "            }\n"
    "            C shift = most_now == (C)-INFINITY ? 0 : most_now;\n"
    "            C shrink = most[r] == (C)-INFINITY ? 0 : EXP(most[r] - shift);\n"
    "            UNROLL\n"
    "            for (int c = 0; c < CN; c++) {\n"
    "                C p = EXP(s[r][c] - shift);\n"
    "                sum_now += p;\n"
    "                tile_s[ty * RM + r][tx + 16 * c] = p;\n"
    "            }\n"
    "            UNROLL\n"
    "            for (int m = 8; m > 0; m /= 2)\n"
    "                sum_now += SHUFFLE(sum_now, m);\n"
    "            sum[r] = sum[r] * shrink + sum_now;\n"
    "            most[r] = most_now;\n"
    "            UNROLL\n"
    "            for (int o = 0; o < OD; o++)\n"
    "                out[r][o] *= shrink;\n"
    "        }\n"
    "        __syncthreads();\n"
    "        for (int i = threadIdx.x; i < BK * E; i += 256)\n"
    "            tile_k[i / E][i % E] =\n"
    "                t0 + i / E < a.n_keys ? LOAD(v[(t0 + i / E) * a.v_s + i % E]) : 0;\n"
    "        __syncthreads();\n"
    "        for (int t = 0; t < BK; t++)\n"
    "            UNROLL\n"
    "            for (int r = 0; r < RM; r++)\n"
    "                UNROLL\n"
    "                for (int o = 0; o < OD; o++)\n"
    "                    if (OD * 16 == E || tx + 16 * o < E)\n"
    "                        out[r][o] += tile_s[ty * RM + r][t] * tile_k[t][tx + 16 * o];\n"
    "    }\n"
    "    UNROLL\n"
    "    for (int r = 0; r < RM; r++) {\n"
    "        i64 at = first + ty * RM + r;\n"
    "        C factor = sum[r] > 0 ? 1 / sum[r] : 0;\n"
    "        UNROLL\n"
    "        for (int o = 0; o < OD; o++)\n"
    "            if (at < a.n_queries && tx + 16 * o < E)\n"
    "                a.y[b * a.y_b + h * a.y_h + at * a.y_s + tx + 16 * o] =\n"
    "                    STORE(out[r][o] * factor);\n"
    "    }\n"
    "}\n";

/* ---- strides of heads ---- */

/* Strides of batch, heads and positions. */
static void arg_strides(KernelText *k, const HeldHeads *heads)
{
    int64_t h = heads->h, s = heads->s, d = heads->d;
    ARGS_I64(k, s * h * d, heads->packed ? d : s * d, heads->packed ? h * d : d);
}

/* ---- Attention ---- */

typedef struct {
    HeldHeads q, k, v, y;
    const Local *mask;
    int64_t mask_step[3], n_masked; /* b, head, query; keys are contiguous */
    int64_t *keys_of;               /* per local query head: its key head */
    int64_t first_key;              /* the global place of the first key held */
} Attending;

/* Keys are all there, or a stretch of them, without a mask. */
static bool find_first_key(const Local *keys, Attending *a)
{
    const Runs *held = &keys->runs[a->k.packed ? 1 : 2];
    a->first_key = held->n > 0 ? held->at[0].start : 0;
    return held->local_size == keys->whole.dim[a->k.packed ? 1 : 2] || (held->n == 1 && !a->mask);
}

static bool mask_fits(Attending *a)
{
    const Local *mask = a->mask;
    const int64_t held[3] = {a->q.b, a->q.h, a->q.s};
    a->n_masked = a->k.s;
    if (!mask)
        return true;
    int64_t own[DIMS_MAX], n = mask->shape.n_dims;
    if (!dtype_on_device(mask->dtype) || n < 1 || n > 4 ||
        (!dtype_is_float(mask->dtype) && mask->dtype != DT_BOOL))
        return false;
    row_major_strides(&mask->shape, own);
    a->n_masked = mask->shape.dim[n - 1];
    for (int64_t d = 0; d < n - 1; d++) {
        int64_t to = 4 - n + d;
        bool repeats = mask->whole.dim[d] == 1;
        a->mask_step[to] = repeats ? 0 : own[d];
        if (!repeats && mask->shape.dim[d] != held[to])
            return false;
    }
    return a->n_masked <= a->k.s;
}

static bool find_keys(const KernelCall *call, Attending *a, int64_t group)
{
    a->keys_of = arena_array(call->scratch, int64_t, a->q.h);
    for (int64_t h = 0; h < a->q.h; h++) {
        a->keys_of[h] = held_heads_find(&a->k, a->q.head[h] / group);
        if (a->keys_of[h] < 0)
            return false;
    }
    return true;
}

/* Supports no past keys, no lengths, and only the first output. */
static bool open_attention(const KernelCall *call, const RuleCall *rule, Attending *a)
{
    const Local *q = kernel_input(call, 0), *k = kernel_input(call, 1), *v = kernel_input(call, 2);
    Error err = {0};
    *a = (Attending){.mask = kernel_input(call, 3)};
    for (int i = 4; i < call->n_inputs; i++)
        if (call->input[i])
            return false;
    for (int o = 1; o < call->n_outputs; o++)
        if (call->output[o])
            return false;
    if (!q || !k || !v || !dtype_is_float(q->dtype) || !dtype_on_device(q->dtype) ||
        k->dtype != q->dtype || v->dtype != q->dtype || call->output[0]->dtype != q->dtype ||
        args_attr(rule, "score_mod") || args_attr(rule, "prob_mod"))
        return false;
    int64_t q_heads = args_int(rule, "q_num_heads", 0), k_heads = args_int(rule, "kv_num_heads", 0);
    q_heads = q->whole.n_dims == 4 ? q->whole.dim[1] : q_heads;
    k_heads = k->whole.n_dims == 4 ? k->whole.dim[1] : k_heads;
    if (k_heads < 1 || q_heads % k_heads != 0 || !held_heads(call, q, q_heads, &a->q, &err) ||
        !held_heads(call, k, k_heads, &a->k, &err) || !held_heads(call, v, k_heads, &a->v, &err) ||
        !held_heads(call, call->output[0], q_heads, &a->y, &err))
        return false;
    bool fits = a->q.b == a->k.b && a->q.b == a->v.b && a->q.b == a->y.b && a->k.s == a->v.s &&
                a->y.s == a->q.s && a->y.h == a->q.h && a->y.d == a->v.d && a->k.h == a->v.h &&
                a->q.d == a->k.d && a->q.d > 0 && a->v.d > 0 && a->q.d <= HEAD_MAX &&
                a->v.d <= HEAD_MAX && a->k.s > 0;
    return fits && mask_fits(a) && find_first_key(k, a) && find_keys(call, a, q_heads / k_heads);
}

static void put_mask(const Attending *a, const char *class, Buf *text)
{
    const char *type = a->mask ? dtype_name(a->mask->dtype) : "bool";
    buf_printf(text, "typedef t_%s MASK;\n", type);
    if (!a->mask) {
        buf_puts(text, "#define MASKED\n");
        return;
    }
    buf_puts(text,
             "#define MASKED \\\n"
             "    if (!hidden && t >= a.n_masked) \\\n        hidden = 1; \\\n"
             "    if (!hidden) { \\\n"
             "        MASK with = a.mask[b * a.mask_b + h * a.mask_h + at * a.mask_s + t]; \\\n");
    if (a->mask->dtype == DT_BOOL)
        buf_puts(text, "        hidden = with == 0; \\\n    }\n");
    else
        buf_printf(text, "        x += load_%s_%s(with); \\\n    }\n", type, class);
}

/* Places of queries are counted from the first key. */
static void args_attention(KernelText *k, const KernelCall *call, const RuleCall *rule,
                           const Attending *a, int64_t blocks)
{
    int64_t *position = kernel_globals(call->scratch, &call->input[0]->runs[a->q.packed ? 1 : 2]);
    for (int64_t s = 0; s < a->q.s; s++)
        position[s] -= a->first_key;
    ARGS_PLACES(k, place_input(0, 0), place_input(0, 1), place_input(0, 2), place_output(0, 0));
    arg_place_if(k, a->mask, place_input(0, 3));
    arg_table(k, a->keys_of, a->q.h * 8);
    arg_table(k, position, a->q.s * 8);
    ARGS_I64(k, a->q.h, a->q.s, a->k.s, a->n_masked, blocks);
    arg_strides(k, &a->q);
    arg_strides(k, &a->k);
    arg_strides(k, &a->v);
    arg_strides(k, &a->y);
    for (int i = 0; i < 3; i++)
        ARGS_I64(k, a->mask_step[i]);
    ARGS_I64(k, args_int(rule, "is_causal", 0) != 0);
    ARGS_I64(k, args_int(rule, "left_window_size", -1));
    ARGS_I64(k, args_int(rule, "right_window_size", -1));
    arg_f64(k, args_float(rule, "scale", 1 / sqrt((double)a->q.d)));
    arg_f64(k, args_float(rule, "softcap", 0));
}

static bool attention(DeviceBuild *build, const KernelCall *call, const void *row)
{
    (void)row;
    Attending a;
    RuleCall rule = device_rule_call(call);
    if (!open_attention(call, &rule, &a))
        return false;
    Dtype dtype = call->input[0]->dtype;
    int64_t largest = a.q.d > a.v.d ? a.q.d : a.v.d;
    bool wide = largest > 64, is_double = dtype == DT_F64;
    int64_t queries = SIDE * (wide && is_double ? 1 : wide || is_double ? 2 : 4);
    int64_t keys = wide && is_double ? SIDE : KEYS_AT_ONCE;
    int64_t blocks = (a.q.s + queries - 1) / queries;
    KernelText k = kernel_text(build, "attention_%s_%d", dtype_name(dtype), (int)a.q.d);
    put_types(&k, dtype, dtype_number(dtype));
    put_mask(&a, number_name(dtype_number(dtype)), &k.text);
    buf_printf(&k.text, "enum { BQ = %d, BK = %d, D = %d, E = %d };\n%s%s", (int)queries, (int)keys,
               (int)a.q.d, (int)a.v.d, attention_head, attention_walk);
    args_attention(&k, call, &rule, &a, blocks);
    LaunchSize size = {{blocks * a.q.h * a.q.b, 1, 1}, SIDE * SIDE, 0};
    build_launch(&k, size);
    return true;
}

/* ---- RotaryEmbedding ---- */

static const char rotary_body[] =
    "typedef struct {\n"
    "    const T *x;\n    T *y;\n    const ANGLE *cosine, *sine;\n    const ID *ids;\n"
    "    const i64 *position;\n    int *fault;\n"
    "    i64 n, n_heads, n_positions, d, turned, n_rows, by_batch, by_position, first_only;\n"
    "    i64 b, h, s;\n    double scale;\n"
    "} Args;\n"
    "KERNEL(256, NAME, Args)\n"
    "{\n"
    "    for (i64 i = (i64)blockIdx.x * 256 + threadIdx.x; i < a.n; i += (i64)gridDim.x * 256) {\n"
    "        i64 e = i % a.d, h = i / a.d % a.n_heads, s = i / a.d / a.n_heads % a.n_positions;\n"
    "        i64 b = i / a.d / a.n_heads / a.n_positions, half = a.turned / 2;\n"
    "        i64 at = b * a.b + h * a.h + s * a.s, row = b * a.by_batch + s * a.by_position;\n"
    "        C x = LOAD(a.x[at + e]) * (C)a.scale;\n"
    "        if (a.ids) {\n"
    "            row = LOAD_ID(a.ids[a.first_only ? 0 : b * a.n_positions + s]);\n"
    "            row += a.first_only ? a.position[s] : 0;\n"
    "            if (row < 0 || row >= a.n_rows) {\n"
    "                *a.fault = FAULT_INDEX;\n"
    "                row = 0;\n"
    "            }\n"
    "        }\n"
    "        if (e < a.turned) {\n"
    "            int second = INTERLEAVED ? e % 2 == 1 : e >= half;\n"
    "            i64 pair = INTERLEAVED ? e / 2 : e % half;\n"
    "            i64 other = INTERLEAVED ? e + (second ? -1 : 1) : e + (second ? -half : half);\n"
    "            C z = LOAD(a.x[at + other]) * (C)a.scale;\n"
    "            C cosine = LOAD_ANGLE(a.cosine[row * half + pair]);\n"
    "            C sine = LOAD_ANGLE(a.sine[row * half + pair]);\n"
    "            x = second ? sine * z + cosine * x : cosine * x - sine * z;\n"
    "        }\n"
    "        a.y[at + e] = STORE(x);\n"
    "    }\n"
    "}\n";

typedef struct {
    HeldHeads x;
    const Local *cosine, *sine, *ids;
    int cosine_at, sine_at, ids_at;
    int64_t turned;
} Rotary;

static bool open_rotary(const KernelCall *call, const RuleCall *rule, bool ids_first, Rotary *r)
{
    const Local *x = kernel_input(call, 0), *out = call->output[0];
    Error err = {0};
    *r = (Rotary){
        .cosine_at = ids_first ? 2 : 1, .sine_at = ids_first ? 3 : 2, .ids_at = ids_first ? 1 : 3};
    r->cosine = kernel_input(call, r->cosine_at);
    r->sine = kernel_input(call, r->sine_at);
    r->ids = kernel_input(call, r->ids_at);
    if (!x || !r->cosine || !r->sine || !dtype_is_float(x->dtype) || !dtype_on_device(x->dtype) ||
        x->dtype != out->dtype || !shape_equal(&x->shape, &out->shape) ||
        !dtype_is_float(r->cosine->dtype) || !dtype_on_device(r->cosine->dtype) ||
        r->sine->dtype != r->cosine->dtype || !shape_equal(&r->sine->shape, &r->cosine->shape) ||
        (r->ids && (!dtype_is_int(r->ids->dtype) || !dtype_on_device(r->ids->dtype))))
        return false;
    int64_t heads = args_int(rule, "num_heads", 0), last = r->cosine->whole.n_dims - 1;
    int64_t half = last >= 0 ? r->cosine->whole.dim[last] : 0;
    if (heads == 0 && x->whole.n_dims == 3 && half > 0)
        heads = x->whole.dim[2] / (2 * half);
    if (!held_heads(call, x, heads, &r->x, &err) || r->x.h == 0)
        return false;
    int64_t given = args_int(rule, "rotary_embedding_dim", 0), n = r->cosine->shape.n_dims;
    r->turned = given > 0 ? given : r->x.d;
    bool fits = r->turned <= r->x.d && r->turned % 2 == 0 && n == (r->ids ? 2 : 3) &&
                r->cosine->shape.dim[n - 1] == r->turned / 2;
    const int64_t held[2] = {r->x.b, r->x.s};
    for (int d = 0; fits && !r->ids && d < 2; d++)
        fits = r->cosine->whole.dim[d] == 1 || r->cosine->shape.dim[d] == held[d];
    bool one = r->ids && shape_elements(&r->ids->whole) == 1 && r->ids->whole.n_dims == 1;
    return fits && (!r->ids || one || shape_elements(&r->ids->shape) == r->x.b * r->x.s);
}

static bool rotary(DeviceBuild *build, const KernelCall *call, const void *row)
{
    Rotary r;
    RuleCall rule = device_rule_call(call);
    if (!open_rotary(call, &rule, row != NULL, &r))
        return false;
    const Local *x = call->input[0];
    const int64_t *position = kernel_globals(call->scratch, &x->runs[r.x.packed ? 1 : 2]);
    const Shape *angles = &r.cosine->shape;
    bool one = r.ids && shape_elements(&r.ids->whole) == 1 && r.ids->whole.n_dims == 1;
    const char *angle = dtype_name(r.cosine->dtype), *class = number_name(dtype_number(x->dtype));
    const char *id = r.ids ? dtype_name(r.ids->dtype) : "i64";
    KernelText k = kernel_text(build, "rotary_%s", dtype_name(x->dtype));
    put_types(&k, x->dtype, dtype_number(x->dtype));
    buf_printf(&k.text,
               "enum { FAULT_INDEX = %d, INTERLEAVED = %d };\ntypedef t_%s ANGLE;\n"
               "typedef t_%s ID;\n#define LOAD_ANGLE(x) load_%s_%s(x)\n"
               "#define LOAD_ID(x) load_%s_i64(x)\n%s",
               FAULT_INDEX, args_int(&rule, "interleaved", 0) != 0, angle, id, angle, class, id,
               rotary_body);
    ARGS_PLACES(&k, place_input(0, 0), place_output(0, 0), place_input(0, r.cosine_at),
                place_input(0, r.sine_at));
    arg_place_if(&k, r.ids, place_input(0, r.ids_at));
    ARGS_PLACES(&k, place_table(build, position, r.x.s * 8), place_fault());
    bool by_batch = !r.ids && r.cosine->whole.dim[0] != 1;
    bool by_position = !r.ids && r.cosine->whole.dim[1] != 1;
    int64_t n = r.x.b * r.x.h * r.x.s * r.x.d;
    ARGS_I64(&k, n, r.x.h, r.x.s, r.x.d, r.turned, angles->dim[0], by_batch ? angles->dim[1] : 0,
             by_position, one);
    arg_strides(&k, &r.x);
    arg_f64(&k, row ? args_float(&rule, "scale", 1) : 1);
    build_launch(&k, launch_over(n));
    return true;
}

const DeviceOp device_ops_attention[] = {
    {"Attention", attention, NULL},
    {"ai.onnx.preview::FlexAttention", attention, NULL},
    {"RotaryEmbedding", rotary, NULL},
    {"com.microsoft::RotaryEmbedding", rotary, "ids first"},
    {0},
};
