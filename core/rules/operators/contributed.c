/* contributed.c - operators of onnxruntime whose dims are told by an annotation alone.
 *
 *     com.microsoft::PackedAttention   t^ i^, i^ (3 num_heads d^), .. -> t^ (num_heads d^)
 *     com.microsoft::RestorePadding    t^ d, b^ s^ -> b^ s^ d
 *     com.microsoft::GatedRMSNorm      * (h c^), c^, * (h c^) -> * (h c^)
 *
 * Each has one form or a few, which are tried in order. A form is an annotation (core/space/anno.h)
 * by operands: those that are absent, or that the form does not name, are `?`. `~h` is h, or 1
 * where that dim has one element. The integer attributes of the op are sizes by their names, and so
 * is what the form computes. Source: onnxruntime's published schemas of contributed operators.
 */
#include "core/rules/args.h"
#include "core/rules/rule_anno.h"

#define FAMILY "contributed"

enum { FORM_INPUTS = 12, FORM_OUTPUTS = 3, FORM_SIZES = 3 };

typedef struct {
    int n;
    AnnoArg at[FORM_SIZES];
} FormSizes;

typedef struct {
    const char *in[FORM_INPUTS], *out[FORM_OUTPUTS];
    /* Sizes that are no attribute and no dim. */
    bool (*sizes)(const RuleCall *call, FormSizes *out, Error *err);
    double (*flops)(const RuleCall *call); /* NULL: the row's, per point */
    Dtype dtype[FORM_OUTPUTS];             /* DT_NONE: of input 0 */
} ContributedForm;

/* ---- forms ---- */

/* Appends a tensor of a form. */
static void put_tensor(const char *form, const Shape *shape, Buf *out)
{
    int64_t d = 0;
    bool inside = false;
    for (const char *s = form; *s; s++) {
        inside = *s == '(' || (inside && *s != ')');
        d += *s == ' ' && !inside;
        if (*s != '~') {
            buf_putc(out, *s);
            continue;
        }
        if (!shape || d >= shape->n_dims || shape->dim[d] != 1)
            continue;
        buf_putc(out, '1');
        s += strcspn(s, " ") - 1;
    }
}

/* Names of its own for each dim: it is read whole. */
static void put_whole(int input, const Shape *shape, Buf *out)
{
    for (int64_t d = 0; d < shape->n_dims; d++)
        buf_printf(out, "%sw%d_%d^", d > 0 ? " " : "", input, (int)d);
    if (shape->n_dims == 0)
        buf_putc(out, '?');
}

/* The form as an annotation of the call's operands. */
static const Anno *form_anno(const ContributedForm *form, const RuleCall *call, Error *err)
{
    Buf text = buf_new(call->arena);
    for (int i = 0; i < call->n_inputs; i++) {
        const char *named = i < FORM_INPUTS ? form->in[i] : NULL;
        buf_puts(&text, i > 0 ? ", " : "");
        if (args_has(call, i) && !named)
            put_whole(i, call->shape[i], &text);
        else
            put_tensor(args_has(call, i) ? named : "?", call->shape[i], &text);
    }
    for (int o = 0; o < call->n_outputs; o++) {
        if (o == FORM_OUTPUTS || !form->out[o]) {
            error_set(err, "it has %d outputs, and gives %d", call->n_outputs, o);
            return NULL;
        }
        buf_puts(&text, o > 0 ? ", " : " -> ");
        put_tensor(form->out[o], NULL, &text);
    }
    Source source = {.name = "annotation", .text = buf_str(&text)};
    return anno_parse(call->arena, &source, err);
}

static bool apply_form(const ContributedForm *form, RuleCall *call, Error *err)
{
    FormSizes sizes = {0};
    AnnoMatch match;
    const Anno *anno = form_anno(form, call, err);
    if (!anno || (form->sizes && !form->sizes(call, &sizes, err)) ||
        !rule_match_anno(call, &anno, 1, sizes.at, sizes.n, &match, err))
        return false;
    for (int o = 0; o < call->n_outputs; o++) {
        call->out_shape[o] = match.output[o];
        call->out_dtype[o] = form->dtype[o] != DT_NONE ? form->dtype[o] : call->dtype[0];
    }
    call->space = anno_opspace(call->arena, &match, err);
    if (call->space && form->flops)
        call->space->flops = form->flops(call);
    return call->space != NULL;
}

/* The first form that fits; the reason of the first is told if none does. */
static bool apply_forms(const ContributedForm *forms, size_t n, RuleCall *call, Error *err)
{
    Error first = {0};
    for (size_t i = 0; i < n; i++) {
        Error of_form = {0};
        if (apply_form(&forms[i], call, &of_form))
            return true;
        if (i == 0)
            first = of_form;
    }
    *err = first;
    return false;
}

/* Defines a rule by its forms. */
#define FORMS(name, ...)                                                                           \
    static bool name(RuleCall *call, Error *err)                                                   \
    {                                                                                              \
        static const ContributedForm forms[] = {__VA_ARGS__};                                      \
        return apply_forms(forms, sizeof forms / sizeof *forms, call, err);                        \
    }

static void add_size(FormSizes *out, const char *name, int64_t size)
{
    out->at[out->n++] = (AnnoArg){str_from(name), true, size};
}

/* ---- attention ---- */

/* 0 where there is no such input, or no such dim. */
static int64_t size_of(const RuleCall *call, int input, int64_t dim)
{
    return args_has(call, input) && dim < call->shape[input]->n_dims ? call->shape[input]->dim[dim]
                                                                     : 0;
}

/* 2 flops for each product of a score and of a value: each query with each key, 4 d in all. */
static double scores(double queries, double keys, double width)
{
    return 4 * queries * keys * width;
}

/* Weights of queries, keys and values are applied too; each token looks at one sequence. */
static double packed_flops(const RuleCall *call)
{
    double tokens = (double)size_of(call, 0, 0);
    return 2 * tokens * (double)size_of(call, 0, 1) * (double)size_of(call, 1, 1) +
           scores(tokens, (double)size_of(call, 3, 1), (double)call->out_shape[0].dim[1]);
}

static double packed_heads_flops(const RuleCall *call)
{
    return scores((double)size_of(call, 0, 0), (double)size_of(call, 4, 1),
                  (double)call->out_shape[0].dim[1]);
}

FORMS(packed_attention, {.in = {"t^ i^", "i^ (3 num_heads d^)", "(3 num_heads d^)", "b^ s^", "c^",
                                "~p^ ~num_heads u^ v^"},
                         .out = {"t^ (num_heads d^)"},
                         .flops = packed_flops})

FORMS(packed_heads,
      {.in = {"t^ (num_heads d^)", "t^ (num_heads d^)", "t^ (num_heads e^)", "(3 num_heads d^)",
              "b^ s^", "c^", "~p^ ~num_heads u^ v^"},
       .out = {"t^ (num_heads e^)"},
       .flops = packed_heads_flops},
      {.in = {"t^ num_heads 3 d^", NULL, NULL, "(3 num_heads d^)", "b^ s^", "c^",
              "~p^ ~num_heads u^ v^"},
       .out = {"t^ (num_heads d^)"},
       .flops = packed_heads_flops})

/* Each sequence has at most as many keys as its blocks have places. */
static double paged_flops(const RuleCall *call)
{
    double keys = (double)size_of(call, 7, 1) * (double)size_of(call, 3, 1);
    return scores((double)size_of(call, 0, 0), keys, (double)call->out_shape[0].dim[1]);
}

FORMS(paged_attention,
      {.in = {"t^ (kv_num_heads g d^)", "t^ (kv_num_heads d^)", "t^ (kv_num_heads d^)",
              "n^ p^ kv_num_heads d^", "n^ p^ kv_num_heads d^", "c^", "b^", "b^ m^", "x^ y^",
              "x^ y^", "t^", "(kv_num_heads g)"},
       .out = {"t^ (kv_num_heads g d^)", "n^ p^ kv_num_heads d^", "n^ p^ kv_num_heads d^"},
       .flops = paged_flops})

static double sparse_flops(const RuleCall *call)
{
    const Shape *x = call->shape[0];
    double total = (double)size_of(call, 3, 2), rows = (double)size_of(call, 5, 1) - 1;
    double share = rows > 0 ? (double)size_of(call, 6, 1) / (rows * rows) : 1;
    return scores((double)(x->dim[0] * x->dim[1]), share < 1 ? share * total : total,
                  (double)x->dim[2]);
}

/* Several layouts of blocks take turns over the heads, which then stay together. */
FORMS(sparse_attention,
      {.in = {"b s^ (kv_num_heads g d^)", "b t^ (kv_num_heads d^)", "b t^ (kv_num_heads d^)",
              "b kv_num_heads p^ d^", "b kv_num_heads p^ d^", "1 r^", "1 c^", NULL, "b", "x^ y^",
              "x^ y^"},
       .out = {"b s^ (kv_num_heads g d^)", "b kv_num_heads p^ d^", "b kv_num_heads p^ d^"},
       .flops = sparse_flops},
      {.in = {"b s^ (kv_num_heads^ g^ d^)", "b t^ (kv_num_heads^ d^)", "b t^ (kv_num_heads^ d^)",
              "b kv_num_heads^ p^ d^", "b kv_num_heads^ p^ d^", "l^ r^", "l^ c^", NULL, "b",
              "x^ y^", "x^ y^"},
       .out = {"b s^ (kv_num_heads^ g^ d^)", "b kv_num_heads^ p^ d^", "b kv_num_heads^ p^ d^"},
       .flops = sparse_flops})

/* Keys that are kept, and the new ones behind them, unless both share one buffer. */
static bool present_size(const RuleCall *call, int past, int64_t dim, int64_t added, FormSizes *out)
{
    bool shares = args_int(call, "past_present_share_buffer", 0) != 0;
    int64_t kept =
        args_has(call, past) && call->shape[past]->n_dims > dim ? call->shape[past]->dim[dim] : 0;
    add_size(out, "total", shares ? kept : kept + added);
    return true;
}

static bool quantized_sizes(const RuleCall *call, FormSizes *out, Error *err)
{
    (void)err;
    return present_size(call, 8, 3, size_of(call, 0, 1), out);
}

static bool decoder_sizes(const RuleCall *call, FormSizes *out, Error *err)
{
    (void)err;
    return present_size(call, 4, 3, size_of(call, 0, 1), out);
}

static bool decoder_heads_sizes(const RuleCall *call, FormSizes *out, Error *err)
{
    (void)err;
    bool cross = args_has(call, 1) && call->shape[1]->n_dims == 4; /* kept keys alone */
    return present_size(call, cross ? 1 : 5, 2, cross ? 0 : size_of(call, 1, 1), out);
}

static double projected_flops(const RuleCall *call)
{
    const Shape *x = call->shape[0], *w = call->shape[1], *y = &call->out_shape[0];
    double tokens = (double)(x->dim[0] * x->dim[1]);
    int64_t keys = call->n_outputs > 1 ? call->out_shape[1].dim[3] : x->dim[1];
    return 2 * tokens * (double)x->dim[2] * (double)w->dim[1] +
           scores(tokens, (double)keys, (double)y->dim[2]);
}

static double decoder_heads_flops(const RuleCall *call)
{
    const Shape *x = call->shape[0];
    FormSizes total = {0};
    Error err = {0};
    decoder_heads_sizes(call, &total, &err);
    return scores((double)(x->dim[0] * x->dim[1]), (double)total.at[0].value, (double)x->dim[2]);
}

FORMS(quantized_attention, {.in = {"b s^ i^", "i^ (3 num_heads d^)", "(3 num_heads d^)", NULL, NULL,
                                   "b", NULL, NULL, "2 b num_heads k^ d^"},
                            .out = {"b s^ (num_heads d^)", "2 b num_heads total^ d^"},
                            .sizes = quantized_sizes,
                            .flops = projected_flops,
                            .dtype = {DT_F32, DT_F32}})

FORMS(decoder_self_attention,
      {.in = {"b s^ i^", "i^ (3 num_heads d^)", "(3 num_heads d^)", "b m^", "2 b num_heads k^ d^",
              "~b ~num_heads s^ n^", NULL, NULL, "b w^ l^"},
       .out = {"b s^ (num_heads d^)", "2 b num_heads total^ d^"},
       .sizes = decoder_sizes,
       .flops = projected_flops})

FORMS(decoder_heads,
      {.in = {"b s^ (num_heads d^)", "b t^ (num_heads d^)", "b t^ (num_heads e^)", "b m^",
              "~b ~num_heads s^ n^", "b num_heads k^ d^", "b num_heads k^ e^", NULL, NULL,
              "b w^ l^", "(3 num_heads d^)"},
       .out = {"b s^ (num_heads e^)", "b num_heads total^ d^", "b num_heads total^ e^"},
       .sizes = decoder_heads_sizes,
       .flops = decoder_heads_flops},
      {.in = {"b s^ (num_heads d^)", "b num_heads t^ d^", "b num_heads t^ e^", "b m^",
              "~b ~num_heads s^ n^", NULL, NULL, NULL, NULL, "b w^ l^", "(3 num_heads d^)"},
       .out = {"b s^ (num_heads e^)"},
       .sizes = decoder_heads_sizes,
       .flops = decoder_heads_flops})

/* A token looks at a window of its neighbours on both sides, and at the global ones. */
static double longformer_flops(const RuleCall *call)
{
    const Shape *x = call->shape[0], *w = call->shape[1];
    double tokens = (double)(x->dim[0] * x->dim[1]),
           seen = 2.0 * (double)args_int(call, "window", 0);
    seen = seen > 0 && seen < (double)x->dim[1] ? seen : (double)x->dim[1];
    return 2 * tokens * (double)x->dim[2] * (double)w->dim[1] +
           scores(tokens, seen, (double)w->dim[1] / 3);
}

FORMS(longformer, {.in = {"b s^ i^", "i^ (3 num_heads d^)", "(3 num_heads d^)", "b s^",
                          "i^ (3 num_heads d^)", "(3 num_heads d^)", "b s^"},
                   .out = {"b s^ (num_heads d^)"},
                   .flops = longformer_flops})

FORMS(gated_position_bias, {.in = {"b s (num_heads d^)", "(num_heads d^)", "1 num_heads s t",
                                   "d^ e^", "e^", "1 num_heads 1 1"},
                            .out = {"b num_heads s t"}})

/* Sizes that are the values of inputs. */
static bool value_size(const RuleCall *call, int input, const char *name, FormSizes *out,
                       Error *err)
{
    int64_t size;
    if (!args_has(call, input) || !value_one_int(call->value[input], &size))
        return error_kind(err, ERROR_NOT_INFERABLE, "its input %d is known only at run time",
                          input);
    if (size < 0)
        return error_kind(err, ERROR_OUT_OF_RANGE, "its input %d is negative", input);
    add_size(out, name, size);
    return true;
}

static bool bias_sizes(const RuleCall *call, FormSizes *out, Error *err)
{
    return value_size(call, 1, "s", out, err) && value_size(call, 2, "t", out, err);
}

FORMS(position_bias, {.in = {"k^ h"}, .out = {"1 h s^ t^"}, .sizes = bias_sizes})

/* ---- tokens ---- */

/* How many tokens are no padding is known only at run time. */
static bool remove_padding(RuleCall *call, Error *err)
{
    const Shape *x = call->shape[0];
    if (!args_rank(call, 0, 3, 3, err) || !args_rank(call, 1, 1, 1, err) ||
        !args_same_size(call, 0, 0, 1, 0, err))
        return false;
    const Shape shapes[] = {{.n_dims = 2, .dim = {-1, x->dim[2]}},
                            {.n_dims = 2, .dim = {x->dim[0], x->dim[1]}},
                            {.n_dims = 1, .dim = {x->dim[0] + 1}},
                            {.n_dims = 1, .dim = {1}}};
    for (int o = 0; o < call->n_outputs; o++) {
        call->out_shape[o] = shapes[o];
        call->out_dtype[o] = o == 0 ? call->dtype[0] : DT_I32;
    }
    return rule_space(call, err) != NULL;
}

/* Values in the order in which they come first, their places, how often each comes. */
static bool unique_1d(RuleCall *call, Error *err)
{
    if (!args_rank(call, 0, 1, 1, err))
        return false;
    for (int o = 0; o < call->n_outputs; o++) {
        call->out_shape[o] = o == 1 ? *call->shape[0] : (Shape){.n_dims = 1, .dim = {-1}};
        call->out_dtype[o] = o == 0 ? call->dtype[0] : DT_I64;
    }
    return rule_space(call, err) != NULL;
}

/* The path of least cost through a matrix, or through the one of a batch: its length depends on the
 * costs. */
static bool warped_path(RuleCall *call, Error *err)
{
    const Shape *cost = call->shape[0];
    if (!args_rank(call, 0, 2, 3, err))
        return false;
    if (cost->n_dims == 3 && cost->dim[0] != 1)
        return error_set(err, "its costs are a batch of more than one matrix");
    call->out_shape[0] = (Shape){.n_dims = 2, .dim = {2, -1}};
    call->out_dtype[0] = DT_I32;
    return rule_space(call, err) != NULL;
}

/* Current tokens, and those of the predicted ones that the source has: as many as fit; where the
 * source goes on. */
static bool merged_tokens(RuleCall *call, Error *err)
{
    for (int i = 0; i < call->n_inputs; i++)
        if (call->shape[i] && !args_rank(call, i, i == 2 ? 0 : 1, 1, err))
            return false;
    bool known = !args_has(call, 3) && call->shape[1];
    call->out_shape[0] = known ? *call->shape[1] : (Shape){.n_dims = 1, .dim = {-1}};
    call->out_dtype[0] = call->dtype[1];
    if (call->n_outputs > 1) {
        call->out_shape[1] = (Shape){0};
        call->out_dtype[1] = call->dtype[1];
    }
    return rule_space(call, err) != NULL;
}

FORMS(restore_padding, {.in = {"t^ d", "b^ s^"}, .out = {"b^ s^ d"}})

FORMS(repeat_block, {.in = {"b s^", "b v^"}, .out = {"b v^"}, .dtype = {DT_F32}})

/* One of each order of n-grams, from 2 on, for each of its heads. */
static bool hash_sizes(const RuleCall *call, FormSizes *out, Error *err)
{
    (void)err;
    int64_t most = args_int(call, "max_ngram_size", 2);
    add_size(out, "kept", most - 1);
    return true;
}

FORMS(ngram_hash, {.in = {"b s^", "m^", "v", "b kept^", "v", NULL, "b s^"},
                   .out = {"b s^ v", "b kept^"},
                   .sizes = hash_sizes})

/* ---- place by place, norms ---- */

FORMS(complex_product, {.in = {"* 2", "* 2"}, .out = {"* 2"}})
FORMS(same_places, {.in = {"*"}, .out = {"*"}})
FORMS(hashed_places, {.in = {"*"}, .out = {"*"}, .dtype = {DT_U32}})
FORMS(gated_add, {.in = {"* c", "* c", "* 1"}, .out = {"* c"}})
FORMS(gated_norm, {.in = {"* (h c^)", "c^", "* (h c^)"}, .out = {"* (h c^)"}})
FORMS(engram_gate, {.in = {"b s m d^", "b s m d^", "b s d^", "m d^", "m d^", "m d^"},
                    .out = {"b s m d^", "b s m d^"}})
FORMS(rotated_pair, {.in = {"b s d", "b h s d", "b h s d", "b k s d", "b k s d"},
                     .out = {"b h s d", "b k s d"},
                     .dtype = {DT_F16, DT_F16}})

/* The state holds what a kernel looks back to. */
static bool causal_sizes(const RuleCall *call, FormSizes *out, Error *err)
{
    int64_t taps = size_of(call, 1, 2), apart = args_int(call, "dilation", 1);
    if (args_int(call, "ndim", 1) != 1 || args_int(call, "state_window", 0) != 0)
        return error_kind(err, ERROR_UNSUPPORTED,
                          "it has more than one dim of space or a window of states");
    add_size(out, "kept", (taps - 1) * apart);
    return true;
}

FORMS(causal_conv, {.in = {"b c l^", "c 1 k^", "c", "b c kept^"},
                    .out = {"b c l^", "b c kept^"},
                    .sizes = causal_sizes})

/* ---- transforms, quantized tables ---- */

static bool half_sizes(const RuleCall *call, FormSizes *out, Error *err)
{
    const Shape *x = call->shape[0];
    if (args_int(call, "signal_ndim", 1) != 1)
        return error_kind(err, ERROR_UNSUPPORTED, "its signal has more than one dim");
    if (x->n_dims > 0)
        add_size(out, "half", x->dim[x->n_dims - 1] / 2 + 1);
    return true;
}

static bool whole_sizes(const RuleCall *call, FormSizes *out, Error *err)
{
    const Shape *x = call->shape[0];
    if (args_int(call, "signal_ndim", 1) != 1)
        return error_kind(err, ERROR_UNSUPPORTED, "its signal has more than one dim");
    if (x->n_dims > 1)
        add_size(out, "n", 2 * (x->dim[x->n_dims - 2] - 1));
    return true;
}

FORMS(real_fft, {.in = {"* n^"}, .out = {"* half^ 2"}, .sizes = half_sizes})
FORMS(real_ifft, {.in = {"* half^ 2"}, .out = {"* n^"}, .sizes = whole_sizes})

static bool table_sizes(const RuleCall *call, FormSizes *out, Error *err)
{
    int64_t axes[] = {args_int(call, "gather_axis", 0), args_int(call, "quantize_axis", 1)};
    int64_t bits = args_int(call, "bits", 4), block = args_int(call, "block_size", 128);
    if (axes[0] != 0 || (axes[1] != 1 && axes[1] != -1) || bits < 1 || block < 1)
        return error_kind(err, ERROR_UNSUPPORTED, "only rows of a table in blocks along dim 1");
    add_size(out, "k", block);
    if (call->dtype[0] == DT_U8)
        add_size(out, "packed", block * bits / 8);
    return true;
}

/* Bytes of a table hold several numbers; other types count them. */
FORMS(quantized_rows,
      {.in = {"v^ (c packed^)", "*", "v^ c", "v^ c"},
       .out = {"* (c k^)"},
       .sizes = table_sizes,
       .dtype = {DT_F32}},
      {.in = {"v^ (c k^)", "*", "v^ c", "v^ c"},
       .out = {"* (c k^)"},
       .sizes = table_sizes,
       .dtype = {DT_F32}})

FORMS(blocked_matmul, {.in = {"* K^", "z^", "y^"}, .out = {"* N"}})

static bool crop_sizes(const RuleCall *call, FormSizes *out, Error *err)
{
    Ints sizes;
    if (!args_ints(call, 3, "", &sizes, err))
        return false;
    if (sizes.n != 2 || sizes.at[0] < 1 || sizes.at[1] < 1)
        return error_kind(err, ERROR_OUT_OF_RANGE, "its input 3 is no height and width");
    add_size(out, "y", sizes.at[0]);
    add_size(out, "x", sizes.at[1]);
    return true;
}

FORMS(crop, {.in = {"n^ c h^ w^", "r 4", "r"}, .out = {"r c y x"}, .sizes = crop_sizes})

/* ---- the table ---- */

const Operator operators_contributed[] = {
    {OP("com.microsoft::PackedAttention", packed_attention, 0, 5, 6), .flags = OPERATOR_ATTENDS,
     OWN("num_heads qkv_hidden_sizes scale", ""),
     .examples = "7x8,8x36,36,3x5:i32,4:i32 num_heads=4; "
                 "7x8,8x36,36,3x5:i32,4:i32,1x4x5x5 num_heads=4"},
    {OP("com.microsoft::PackedMultiHeadAttention", packed_heads, 0, 1, 7),
     .flags = OPERATOR_ATTENDS, OWN("mask_filter_value num_heads scale", ""),
     .examples = "7x12,7x12,7x20,-,3x5:i32,4:i32 num_heads=4; "
                 "7x4x3x5,-,-,60,3x5:i32,4:i32 num_heads=4"},
    {OP("com.microsoft::PagedAttention", paged_attention, 0, 8, 17), .flags = OPERATOR_ATTENDS,
     OWN("do_rotary is_causal k_cache_dtype k_quant_type kv_cache_layout kv_num_heads "
         "local_window_size num_heads qk_norm_epsilon rotary_interleaved rotary_offset scale "
         "softcap "
         "v_cache_dtype v_head_size v_quant_type",
         ""),
     .outputs_max = 3,
     .examples =
         "7x24,7x12,7x12,5x4x2x6,5x4x2x6,4:i32,3:i32,3x2:i32 kv_num_heads=2 num_heads=4 -> 3"},
    {OP("com.microsoft::SparseAttention", sparse_attention, 0, 9, 11), .flags = OPERATOR_ATTENDS,
     OWN("do_rotary kv_num_heads num_heads rotary_interleaved scale sparse_block_size", ""),
     .outputs_max = 3,
     .examples =
         "3x5x24,3x5x12,3x5x12,3x2x9x6,3x2x9x6,1x3:i32,1x3:i32,scalar:i32,3:i32 kv_num_heads=2 "
         "num_heads=4 sparse_block_size=16 -> 3"},
    {OP("com.microsoft::QAttention", quantized_attention, 0, 5, 9), .flags = OPERATOR_ATTENDS,
     OWN("do_rotary mask_filter_value num_heads past_present_share_buffer scale unidirectional",
         ""),
     .outputs_max = 2, .examples = "3x5x8:u8,8x36:i8,36,scalar,scalar,3:i32 num_heads=4"},
    {OP("com.microsoft::DecoderMaskedSelfAttention", decoder_self_attention, 0, 5, 9),
     .flags = OPERATOR_ATTENDS,
     OWN("do_rotary mask_filter_value num_heads past_present_share_buffer scale", ""),
     .outputs_max = 2, .examples = "3x1x8,8x36,36,3x7:i32,2x3x4x6x3 num_heads=4 -> 2"},
    {OP("com.microsoft::DecoderMaskedMultiHeadAttention", decoder_heads, 0, 3, 11),
     .flags = OPERATOR_ATTENDS,
     OWN("mask_filter_value num_heads output_qk past_present_share_buffer scale", ""),
     .outputs_max = 3,
     .examples = "3x1x12,3x1x12,3x1x20,-,-,3x4x6x3,3x4x6x5 num_heads=4 -> 3; "
                 "3x1x12,3x4x7x3,3x4x7x5 num_heads=4"},
    {OP("com.microsoft::LongformerAttention", longformer, 0, 7, 7), .flags = OPERATOR_ATTENDS,
     OWN("num_heads window", ""),
     .examples = "3x6x8,8x36,36,3x6,8x36,36,3x6:i32 num_heads=4 window=2"},
    {OP("com.microsoft::GatedRelativePositionBias", gated_position_bias, 4, 6, 7),
     OWN("num_heads", ""), .examples = "3x5x24,24,1x4x5x5,6x8,8,1x4x1x1 num_heads=4"},
    {OP("com.microsoft::RelativePositionBias", position_bias, 1, 3, 3),
     OWN("is_bidirectional max_distance", ""), .reads = 1 << 1 | 1 << 2,
     .examples = "8x4,=5,=5 max_distance=16"},
    {OP("com.microsoft::RemovePadding", remove_padding, 0, 2, 2), OWN("", ""), .outputs_max = 4,
     .examples = "3x5x4,3:i32 -> 4"},
    {OP("com.microsoft::RestorePadding", restore_padding, 0, 2, 2), OWN("", ""),
     .examples = "7x4,3x5:i32"},
    {OP("com.microsoft::NGramRepeatBlock", repeat_block, 1, 2, 2), OWN("ngram_size", ""),
     .examples = "3x5:i64,3x8 ngram_size=2"},
    {OP("com.microsoft::NGramHashMapping", ngram_hash, 4, 3, 7),
     OWN("max_ngram_size n_head_per_ngram pad_id reset_on_eos", ""), .outputs_max = 2,
     .examples = "3x5:i64,3:i64,4:i64 max_ngram_size=3 n_head_per_ngram=2 pad_id=0 -> 2"},
    {OP("com.microsoft::Unique", unique_1d, 1, 1, 1), OWN("", ""), .outputs_max = 3,
     .examples = "9 -> 3"},
    {OP("com.microsoft::DynamicTimeWarping", warped_path, 1, 1, 1), OWN("", ".f"),
     .kernel = "com.microsoft::DynamicTimeWarping", .examples = "4x6"},
    {OP("com.microsoft::BifurcationDetector", merged_tokens, 1, 3, 4),
     OWN("max_ngram_size min_ngram_size", "Ai Ai Ai Ai"), .outputs_max = 2,
     .kernel = "com.microsoft::BifurcationDetector",
     .examples = "5:i64,3:i64,=0,6:i64 max_ngram_size=3 min_ngram_size=1 -> 2"},
    {OP("com.microsoft::ComplexMul", complex_product, 4, 2, 2), OWN("", ""), EARLY,
     .examples = "3x4x2,3x4x2"},
    {OP("com.microsoft::ComplexMulConj", complex_product, 4, 2, 2), OWN("", ""), EARLY,
     .examples = "3x4x2,3x4x2"},
    {OP("com.microsoft::SampleOp", same_places, 0, 1, 1), OWN("", ""), EARLY, .examples = "3x4"},
    {OP("com.microsoft::MurmurHash3", hashed_places, 8, 1, 1), OWN("positive seed", ""), EARLY,
     .examples = "3x4:i32"},
    {OP("com.microsoft::GatedAdd", gated_add, 2, 3, 4), OWN("", ""), EARLY,
     .examples = "3x4x5,3x4x5,3x4x1"},
    {OP("com.microsoft::GatedRMSNorm", gated_norm, 8, 3, 3), OWN("activation epsilon", ""), EARLY,
     .examples = "3x5x8,4,3x5x8"},
    {OP("com.microsoft::EngramGate", engram_gate, 10, 5, 6), OWN("epsilon", ""), EARLY,
     .outputs_max = 2, .examples = "3x5x2x6,3x5x2x6,3x5x6,2x6,2x6,2x6 -> 2"},
    {OP("com.microsoft::GemmaRotaryEmbedding", rotated_pair, 3, 5, 5), OWN("", ""), EARLY,
     .outputs_max = 2, .examples = "3x5x6,3x4x5x6:f16,3x4x5x6:f16,3x2x5x6:f16,3x2x5x6:f16 -> 2"},
    {OP("com.microsoft::CausalConvWithState", causal_conv, 2, 2, 4),
     OWN("activation channels_last dilation ndim state_window", ""), .outputs_max = 2,
     .examples = "3x4x9,4x1x3,4,3x4x2 -> 2"},
    {OP("com.microsoft::Rfft", real_fft, 10, 1, 1), OWN("normalized onesided signal_ndim", ""),
     .examples = "3x4x8 signal_ndim=1"},
    {OP("com.microsoft::Irfft", real_ifft, 10, 1, 1), OWN("normalized onesided signal_ndim", ""),
     .examples = "3x4x5x2 signal_ndim=1"},
    {OP("com.microsoft::GatherBlockQuantized", quantized_rows, 2, 3, 4),
     OWN("bits block_size gather_axis quantize_axis", ""),
     .examples = "9x32:u8,3x5:i64,9x4 bits=4 block_size=16; 9x32:i8,3:i64,9x2 block_size=16"},
    {OP("com.microsoft::MatMulBnb4", blocked_matmul, 2, 3, 3),
     OWN("K N accuracy_level block_size quant_type training_mode transB", ""),
     .examples = "3x5x16,64:u8,8 K=16 N=8 block_size=16 quant_type=1"},
    {OP("com.microsoft::CropAndResize", crop, 8, 4, 4), OWN("extrapolation_value mode", ""),
     .reads = 1 << 3, .examples = "2x3x8x9,5x4,5:i32,=[4,6]"},
    {0},
};
