/* The dims_mapping rules where the facts are silent: every name, what is refused, where sane and
 * exact answers part, the trace, and operands that make no sense. */
#include "tests/unit/unit.h"

#include "core/peers/paddle/spmd.h"
#include "core/rules/one_op.h"

#include <stdio.h>

/* ---- one call ---- */

/* An op on the mesh x=2,y=2. Mappings have a letter a dim, "x-" [x,-]; "." an operand without dims.
 */
typedef struct {
    const char *name, *op, *shapes, *mappings;
    const char *out_shapes, *out_mappings; /* backward, or NULL */
    const char *attrs;                     /* with blanks between */
    bool exact;
    const char *want; /* needed inputs, " -> ", outputs; or the kind of the error */
} Case;

static const Mesh *test_mesh(Arena *arena)
{
    Source source = {"mesh", STR("x=2,y=2")};
    return mesh_parse(arena, &source, NULL);
}

static const Graph *read_attrs(Arena *arena, const char *op, const char *attrs)
{
    OneOp one = {.op_type = str_from(op)};
    OneOpBuilder *builder = one_op_new(arena, &one);
    while (attrs && *attrs) {
        size_t n = strcspn(attrs, " ");
        assert_true(one_op_attr_text(builder, arena_str(arena, (Str){attrs, n}), NULL));
        attrs += n + (attrs[n] == ' ');
    }
    return one_op_graph(builder, NULL);
}

static const SpmdTensor *read_tensors(Arena *arena, const char *shapes, const char *mappings,
                                      int *n)
{
    OneOp op = {0};
    if (!shapes)
        return NULL;
    assert_true(one_op_operands(arena, str_from(shapes), &op, NULL));
    *n = op.n_inputs;
    SpmdTensor *tensor = arena_array(arena, SpmdTensor, *n);
    for (int i = 0; i < *n; i++) {
        tensor[i].absent = op.shape[i].n_dims < 0;
        tensor[i].shape = tensor[i].absent ? (Shape){0} : op.shape[i];
        tensor[i].n_dims = (int)tensor[i].shape.n_dims;
        for (int d = 0; mappings && mappings[d] && mappings[d] != ' '; d++)
            if (mappings[d] == 'x' || mappings[d] == 'y')
                spmd_axes_push(&tensor[i].dim[d], mappings[d] - 'x');
        mappings = mappings ? strchr(mappings, ' ') : NULL;
        mappings = mappings ? mappings + 1 : NULL;
    }
    return tensor;
}

static SpmdCall make_call(Arena *arena, const Case *row)
{
    SpmdCall call = {.arena = arena,
                     .mesh = test_mesh(arena),
                     .graph = read_attrs(arena, row->op, row->attrs),
                     .name = row->op,
                     .backward = row->out_mappings != NULL,
                     .exact = row->exact};
    call.input = read_tensors(arena, row->shapes, row->mappings, &call.n_inputs);
    call.output = read_tensors(arena, row->out_shapes, row->out_mappings, &call.n_outputs);
    return call;
}

static const char *answer_of(SpmdCall *call, Error *err)
{
    if (!spmd_apply(spmd_rules_find(NULL, str_from(call->name)), call, err))
        return error_kind_name(err->kind);
    Buf out = buf_new(call->arena);
    for (int i = 0; i < call->need.n; i++)
        buf_printf(&out, "%s%s", i ? " " : "", spmd_show(call, call->need.at[i]));
    buf_puts(&out, " ->");
    for (int o = 0; o < call->out.n; o++)
        buf_printf(&out, " %s", spmd_show(call, call->out.at[o]));
    return out.s;
}

static void test_answer(void **state)
{
    const Case *row = *state;
    Arena *arena = arena_new();
    Error err = {0};
    SpmdCall call = make_call(arena, row);
    assert_string_equal(answer_of(&call, &err), row->want);
    arena_free(arena);
}

/* Paddle's oversights are answered when asked for, and only then. */
static Case odd[] = {
    {.name = "where asks y",
     .op = "where",
     .shapes = "8x8,8x8,8x8",
     .mappings = "-- -- x-",
     .want = "[x,-] [x,-] [x,-] -> [x,-]"},
    {.name = "where, exact: y is not asked",
     .op = "where",
     .shapes = "8x8,8x8,8x8",
     .mappings = "-- -- x-",
     .exact = true,
     .want = "[-,-] [-,-] [-,-] -> [-,-]"},
    {.name = "gather asks the indices too",
     .op = "gather",
     .shapes = "8x8,4",
     .mappings = "-x x",
     .attrs = "axis=0",
     .want = "[-,x] [-] -> [-,x]"},
    {.name = "gather, exact: the indices keep what they lost",
     .op = "gather",
     .shapes = "8x8,4",
     .mappings = "-x x",
     .attrs = "axis=0",
     .exact = true,
     .want = "[-,x] [x] -> [-,x]"},
    {.name = "gather by a single index",
     .op = "gather",
     .shapes = "8x8,scalar",
     .mappings = "-x .",
     .attrs = "axis=0",
     .want = "[-,x] [] -> [x]"},
    {.name = "gather, exact: no single index",
     .op = "gather",
     .shapes = "8x8,scalar",
     .mappings = "-x .",
     .attrs = "axis=0",
     .exact = true,
     .want = "invalid"},
    {.name = "gather by an axis from the end",
     .op = "gather",
     .shapes = "8x8,4",
     .mappings = "xy -",
     .attrs = "axis=-1",
     .want = "[x,-] [-] -> [x,-]"},
    {.name = "attention asks v",
     .op = "flash_attention",
     .shapes = "4x8x2x8,4x8x2x8,4x8x2x8",
     .mappings = "---- ---- x---",
     .want = "[x,-,-,-] [x,-,-,-] [x,-,-,-] absent absent -> [x,-,-,-] [x,-,-,-] [x,-,-] [-]"},
    {.name = "attention, exact: k twice",
     .op = "flash_attention",
     .shapes = "4x8x2x8,4x8x2x8,4x8x2x8",
     .mappings = "---- ---- x---",
     .exact = true,
     .want = "[-,-,-,-] [-,-,-,-] [-,-,-,-] absent absent -> [-,-,-,-] [-,-,-,-] [-,-,-] [-]"},
    {.name = "dropout_add asks its inputs",
     .op = "fused_dropout_add",
     .shapes = "4x8,4x8",
     .mappings = "x- -y",
     .want = "[x,y] [x,y] -> [x,y] [-]"},
    {.name = "dropout_add, exact: it does not",
     .op = "fused_dropout_add",
     .shapes = "4x8,4x8",
     .mappings = "x- -y",
     .exact = true,
     .want = "[x,-] [-,y] -> [x,y] [-]"},
    {.name = "experts: partial over the axis of k",
     .op = "moe_combine",
     .shapes = "8x4,4x2,4x2",
     .mappings = "-- -x --",
     .want = "[-,-] [-,x] [-,x] -> [-,-] sum(x)"},
    {.name = "experts, exact: over axis 1",
     .op = "moe_combine",
     .shapes = "8x4,4x2,4x2",
     .mappings = "-- -x --",
     .exact = true,
     .want = "[-,-] [-,x] [-,x] -> [-,-] sum(y)"},
    {.name = "cumsum along an axis from the end",
     .op = "cumsum",
     .shapes = "8x8",
     .mappings = "xy",
     .attrs = "axis=-1",
     .want = "[x,-] -> [x,-]"},
    {.name = "cumsum, exact: along none",
     .op = "cumsum",
     .shapes = "8x8",
     .mappings = "xy",
     .attrs = "axis=-1",
     .exact = true,
     .want = "[x,y] -> [x,y]"},
    {.name = "norm, backward: a normalised dim claims nothing",
     .op = "layer_norm",
     .shapes = "8x8,8,8",
     .out_shapes = "8x8,8,8",
     .out_mappings = "-x x -",
     .attrs = "begin_norm_axis=1",
     .want = "[x,-] [-] [-] -> [x,-] [x] [x]"},
    {.name = "norm, backward, exact: it takes the axis first",
     .op = "layer_norm",
     .shapes = "8x8x8,8,8",
     .out_shapes = "8x8x8,8x8,8x8",
     .out_mappings = "--x -x --",
     .attrs = "begin_norm_axis=2",
     .exact = true,
     .want = "[-,-,-] [-] [-] -> [-,-,-] [-,-] [-,-]"},
    {.name = "nonzero takes any split",
     .op = "nonzero",
     .shapes = "8x8",
     .mappings = "xy",
     .want = "[-,-] -> [-,-]"},
    {.name = "nonzero, exact: not two",
     .op = "nonzero",
     .shapes = "8x8",
     .mappings = "xy",
     .exact = true,
     .want = "conflict"},
};

static Case refused[] = {
    {.name = "channels split otherwise",
     .op = "conv2d",
     .shapes = "2x4x8x8,4x4x3x3",
     .mappings = "xy-- -x--",
     .want = "invalid"},
    {.name = "channels split alike",
     .op = "conv2d",
     .shapes = "2x4x8x8,4x4x3x3",
     .mappings = "-y-- -y--",
     .want = "[-,y,-,-] [-,y,-,-] -> [-,-,-,-] sum(y)"},
    {.name = "conv of a matrix",
     .op = "conv2d",
     .shapes = "4x4,4x4",
     .mappings = "-- --",
     .want = "invalid"},
    {.name = "classes split with soft labels",
     .op = "cross_entropy_with_softmax",
     .shapes = "8x8,8x8",
     .mappings = "-x --",
     .attrs = "soft_label=true",
     .want = "invalid"},
    {.name = "sparse gradient of a table",
     .op = "embedding_grad",
     .shapes = "4,8x8,4x8",
     .mappings = "- -- --",
     .attrs = "sparse=true",
     .want = "invalid"},
    {.name = "rows split, with a padding row",
     .op = "embedding",
     .shapes = "4,8x8",
     .mappings = "- x-",
     .attrs = "padding_idx=3",
     .want = "invalid"},
    {.name = "rows and tokens over one axis",
     .op = "embedding",
     .shapes = "4,8x8",
     .mappings = "x x-",
     .want = "conflict"},
    {.name = "x and its order split otherwise",
     .op = "argsort_grad",
     .shapes = "8x8,8x8,8x8",
     .mappings = "x- -- --",
     .attrs = "axis=1",
     .want = "invalid"},
    {.name = "two axes for one letter",
     .op = "einsum",
     .shapes = "4x8,8x4",
     .mappings = "-x y-",
     .attrs = "equation=ij,jk->ik",
     .want = "conflict"},
    {.name = "an equation of more dims",
     .op = "einsum",
     .shapes = "4x8,8x4",
     .mappings = "-- --",
     .attrs = "equation=bij,jk->bik",
     .want = "invalid"},
    {.name = "an equation without arrow",
     .op = "einsum",
     .shapes = "4x8,8x4",
     .mappings = "-- --",
     .attrs = "equation=ij,jk",
     .want = "invalid"},
    {.name = "gated by halves of a split dim",
     .op = "swiglu",
     .shapes = "8x8,-",
     .mappings = "-x .",
     .want = "invalid"},
    {.name = "shifts without axes",
     .op = "roll",
     .shapes = "8x8",
     .mappings = "x-",
     .attrs = "shifts=[1,2] axis=[]",
     .want = "invalid"},
    {.name = "heads of q and k",
     .op = "flash_attention",
     .shapes = "4x8x3x8,4x8x2x8,4x8x2x8",
     .mappings = "---- ---- ----",
     .want = "invalid"},
    {.name = "an operand too few",
     .op = "layer_norm",
     .shapes = "8x8,8",
     .mappings = "-- -",
     .want = "rank"},
    {.name = "a required operand that is absent",
     .op = "layer_norm",
     .shapes = "8x8,-,8",
     .mappings = "-- . -",
     .want = "rank"},
    {.name = "an axis twice",
     .op = "softmax",
     .shapes = "8x8",
     .mappings = "xx",
     .want = "invalid"},
    {.name = "no backward rule",
     .op = "batch_norm",
     .shapes = "8x8,8,8,8,8",
     .out_shapes = "8x8",
     .out_mappings = "x-",
     .want = "unknown_op"},
    {.name = "no rule", .op = "softmaxx", .shapes = "8x8", .mappings = "--", .want = "unknown_op"},
};

/* ---- every name ---- */

/* All that Paddle 3.3.1 registers, then what only its eager mode asks. */
static const char registered[] =
    "abs acos acosh asin asinh assign atan atanh bernoulli bitwise_not ceil celu clip conj cos "
    "cosh digamma dropout elementwise_unary elu erf erfinv exp expm1 fill floor hardshrink "
    "hardsigmoid hardswish hardtanh leaky_relu lgamma log log10 log1p log2 logical_not logit "
    "logsigmoid mish poisson pow reciprocal relu relu6 round rsqrt scale selu sigmoid sign silu "
    "sin sinh softplus softshrink softsign sqrt square stanh swish tan tanh tanh_shrink "
    "thresholded_relu trunc "
    "add bitwise_and bitwise_or bitwise_xor divide elementwise_add elementwise_binary "
    "elementwise_div elementwise_mul elementwise_pow floor_divide fmax fmin greater_than "
    "heaviside less_than logical_and logical_or logical_xor maximum minimum not_equal remainder "
    "subtract trunc_divide "
    "all amax amin any frobenius_norm max min prod reduce_max reduce_sum squared_l2_norm sum "
    "add_n argmax argmin argsort batch_norm bmm c_embedding c_softmax_with_cross_entropy "
    "c_softmax_with_multi_label_cross_entropy concat conv2d conv2d_transpose conv3d "
    "cross_entropy_with_softmax cummax cummin cumsum default_ default_data_parallel "
    "depthwise_conv2d einsum embedding expand_as expand_as_v2 flash_attention flatten "
    "fused_dropout_add fused_gemm_epilogue fused_linear_param_grad_add fused_rms_norm "
    "fused_rotary_position_embedding gather gather_nd gelu group_norm index_put index_select "
    "instance_norm label_smooth layer_norm linear_v2 log_softmax logsumexp lookup_table_v2 matmul "
    "matmul_v2 mean_all moe_combine moe_gate_dispatch multiply nonzero one_hot p_norm pad "
    "put_along_axis reduce_base replicated reshape reshape2 roi_align roll scatter "
    "scatter_nd_add slice softmax softmax_with_cross_entropy split split_with_num squeeze stack "
    "strided_slice swiglu take_along_axis tile topk transpose transpose2 tril_triu triu unbind "
    "unique unsqueeze unsqueeze2 where "
    "cast mean expand numel full_like rms_norm fast_layer_norm flashmask_attention adam adamw sgd "
    "check_finite_and_unscale";

enum { NAMES_MAX = 256 };

static int list_names(Arena *arena, const char **names)
{
    int n = 0;
    for (const char *at = registered; *at;) {
        size_t length = strcspn(at, " ");
        assert_true(n < NAMES_MAX);
        names[n++] = arena_str(arena, (Str){at, length});
        at += length + (at[length] == ' ');
    }
    return n;
}

static void test_every_name_has_a_rule(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *names[NAMES_MAX];
    int n = list_names(arena, names);
    assert_int_equal(n, 187 + 12);
    for (int i = 0; i < n; i++)
        if (!spmd_rules_find(NULL, str_from(names[i])))
            fail_msg("no rule for %s", names[i]);
    arena_free(arena);
}

/* ---- senseless operands ---- */

typedef struct {
    uint64_t state;
} Random;

static int draw(Random *random, int n)
{
    random->state = random->state * 6364136223846793005U + 1442695040888963407U;
    return (int)((random->state >> 33) % (uint64_t)n);
}

static SpmdTensor draw_tensor(Random *random)
{
    SpmdTensor tensor = {.absent = draw(random, 12) == 0};
    bool used[2] = {false, false};
    if (tensor.absent)
        return tensor;
    tensor.n_dims = draw(random, 6);
    tensor.shape.n_dims = tensor.n_dims;
    for (int d = 0; d < tensor.n_dims; d++) {
        int axis = draw(random, 4);
        tensor.shape.dim[d] = draw(random, 5);
        if (axis < 2 && !used[axis])
            spmd_axes_push(&tensor.dim[d], axis);
        used[axis % 2] |= axis < 2;
    }
    for (int axis = 0; axis < 2; axis++)
        if (!used[axis] && draw(random, 6) == 0)
            tensor.partial[axis] = REDUCE_SUM;
    return tensor;
}

static const SpmdTensor *draw_tensors(Random *random, Arena *arena, int n)
{
    SpmdTensor *tensor = arena_array(arena, SpmdTensor, n);
    for (int i = 0; i < n; i++)
        tensor[i] = draw_tensor(random);
    return tensor;
}

static int draw_count(Random *random, int min, int max)
{
    return min + draw(random, (max == SPMD_ANY ? min + 4 : max) - min + 1);
}

static const char *const attr_sets[] = {
    "axis=0",
    "axis=-1",
    "axis=7",
    "axis=[0,-1]",
    "begin_norm_axis=2 axis=[]",
    "shape=[2,-1] sections=[1,2] num=2",
    "shape=[0,0,3] repeat_times=[2,1,3] start_axis=0 stop_axis=1",
    "paddings=[0,1,0,0] shifts=[1] perm=[1,0] axes=[0] starts=[0] ends=[9] strides=[2]",
    "equation=ij,jk->ik flatten=true soft_label=true trans_x=true",
    "equation=,-> keepdim=true reduce_all=true data_format=NHWC time_major=true",
};

/* Rules refuse or answer, whatever they are given; a sanitizer watches. */
static void test_senseless_operands(void **state)
{
    (void)state;
    Arena *names_arena = arena_new();
    const char *names[NAMES_MAX];
    int n_names = list_names(names_arena, names);
    Random random = {1};
    for (int round = 0; round < 200 * n_names; round++) {
        Arena *arena = arena_new();
        Error err = {0};
        const char *name = names[round % n_names];
        if (draw(&random, 3) == 0)
            name = arena_printf(arena, "%s_grad", name);
        const SpmdRule *rule = spmd_rules_find(NULL, str_from(name));
        SpmdCall call = {.arena = arena,
                         .mesh = test_mesh(arena),
                         .name = name,
                         .backward = draw(&random, 2) == 0,
                         .exact = draw(&random, 2) == 0,
                         .mode = (SpmdMode)draw(&random, 3)};
        Buf trace = buf_new(arena);
        call.trace = &trace;
        call.graph = read_attrs(arena, name, attr_sets[draw(&random, (int)COUNT_OF(attr_sets))]);
        if (rule) {
            call.n_inputs = draw_count(&random, rule->inputs.min, rule->inputs.max);
            call.n_outputs = draw_count(&random, rule->outputs.min, rule->outputs.max);
        }
        call.input = draw_tensors(&random, arena, call.n_inputs);
        call.output = draw_tensors(&random, arena, call.n_outputs);
        answer_of(&call, &err);
        arena_free(arena);
    }
    arena_free(names_arena);
}

/* ---- the trace ---- */

static void test_trace_names_who_loses_an_axis(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Error err = {0};
    Case row = {.op = "gather", .shapes = "8x8,4", .mappings = "-x x", .attrs = "axis=0"};
    SpmdCall call = make_call(arena, &row);
    Buf trace = buf_new(arena);
    call.trace = &trace;
    answer_of(&call, &err);
    assert_non_null(strstr(trace.s, "letters: ab, k"));
    assert_non_null(strstr(trace.s, "axis x: k loses it to b"));
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_name_has_a_rule),
        cmocka_unit_test(test_senseless_operands),
        cmocka_unit_test(test_trace_names_who_loses_an_axis),
    };
    return run_rows("spmd rules, odd", odd, test_answer) +
           run_rows("spmd rules, refused", refused, test_answer) +
           cmocka_run_group_tests_name("spmd rules", tests, NULL, NULL);
}
