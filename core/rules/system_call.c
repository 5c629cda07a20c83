#include "core/rules/system_call.h"

#include "core/rules/one_op.h"

#include <inttypes.h>

typedef struct {
    const char *names;    /* theirs, with blanks between */
    const char *operator; /* ours; NULL: the alias says it */
    const char *operands; /* ours, as one_op_operands() reads them */
    const char *attrs;    /* ours, as Example */
    int n_outputs;        /* ours; 0: 1 */
    const char *theirs;   /* their attributes; NULL: none */
    const char *order; /* per input of theirs: the number of ours; 5x6 one that only says a shape, -
                          none. NULL: ours in order, but those known before the run */
} CallRow;

/* clang-format off */
static const CallRow paddle_rows[] = {
    /* element by element */
    {"clip", NULL, "5x6,scalar,scalar", NULL, 0, NULL, "0"},
    {"cast", "Cast", "5x6:i64", "to=1", 0, NULL, NULL},
    {"maximum", NULL, "5x6,5x6", NULL, 0, NULL, NULL},
    {"minimum maximum", NULL, "4x5x6,5x1", NULL, 0, NULL, NULL},
    {"add_n", "Sum", "5x6,5x6,5x6", NULL, 0, NULL, NULL},
    {"expand", "Expand", "5x1x6,=[4,5,7,6]", NULL, 0, "shape=[4,5,7,6]", NULL},
    {"expand_as expand_as_v2", "Expand", "5x1x6,=[4,5,7,6]", NULL, 0, "target_shape=[4,5,7,6]", "0,4x5x7x6"},
    /* products */
    {"matmul matmul_v2", "MatMul", "5x6,6x8", NULL, 0, NULL, NULL},
    {"matmul matmul_v2", "MatMul", "6x4x6,6x7", NULL, 0, NULL, NULL},
    {"matmul matmul_v2", "MatMul", "3x1x5x6,4x6x7", NULL, 0, NULL, NULL},
    {"matmul matmul_v2", "MatMul", "6,6x7", NULL, 0, NULL, NULL},
    {"matmul matmul_v2", "MatMul", "4x5x6,6", NULL, 0, NULL, NULL},
    {"matmul matmul_v2", "MatMul", "6,6", NULL, 0, NULL, NULL},
    {"matmul matmul_v2", "Gemm", "6x5,7x6", "transA=1 transB=1", 0, "trans_x=1 trans_y=1", NULL},
    {"bmm", "MatMul", "6x5x6,6x6x7", NULL, 0, NULL, NULL},
    {"fused_gemm_epilogue", "Gemm", "4x6,6x7,7", NULL, 0, NULL, NULL},
    {"conv2d", "Conv", "3x4x7x6,6x4x3x2", "strides=[2,1] pads=[1,0,2,1] dilations=[1,2]", 0, "strides=[2,1] paddings=[1,0,2,1] dilations=[1,2] groups=1", NULL},
    {"depthwise_conv2d", "Conv", "3x6x7x6,6x1x3x2", "group=6", 0, "strides=[1,1] paddings=[0,0] dilations=[1,1] groups=6", NULL},
    {"conv3d", "Conv", "3x4x5x4x4,6x4x2x2x2", NULL, 0, "strides=[1,1,1] paddings=[0,0,0] dilations=[1,1,1] groups=1", NULL},
    {"conv2d_transpose", "ConvTranspose", "3x4x5x4,4x6x3x2", "strides=[2,1]", 0, "strides=[2,1] paddings=[0,0] dilations=[1,1] groups=1", NULL},
    /* folded */
    {"sum reduce_sum reduce_base max reduce_max amax min amin prod logsumexp frobenius_norm mean", NULL, "5x6x4,=[1]", "keepdims=0", 0, "axis=[1] keepdim=0 keep_dim=0", NULL},
    {"sum reduce_sum reduce_base max reduce_max amax min amin prod logsumexp frobenius_norm mean", NULL, "5x6x4,=[0,2]", "keepdims=1", 0, "axis=[0,2] keepdim=1 keep_dim=1", NULL},
    {"sum reduce_sum max min mean mean_all", NULL, "5x6", "keepdims=0", 0, NULL, NULL},
    {"squared_l2_norm", NULL, "6,=[0]", "keepdims=1", 0, "axis=[0] keepdim=1 keep_dim=1", NULL},
    {"all", "ReduceMin", "5x6x4:bool,=[1]", "keepdims=0", 0, "axis=[1] keepdim=0", NULL},
    {"any", "ReduceMax", "5x6x4:bool,=[1]", "keepdims=0", 0, "axis=[1] keepdim=0", NULL},
    {"argmax", "ArgMax", "5x6x4", "axis=1 keepdims=0", 0, "axis=1 keepdims=0 flatten=0", NULL},
    {"argmin", "ArgMin", "5x6x4", "axis=2 keepdims=1", 0, "axis=2 keepdims=1 flatten=0", NULL},
    {"cumsum", "CumSum", "5x6x4,=1", NULL, 0, "axis=1 flatten=0 exclusive=0 reverse=0", NULL},
    /* normalized */
    {"layer_norm", "LayerNormalization", "5x6x4,4,4", "axis=-1", 3, "begin_norm_axis=2", NULL},
    {"layer_norm", "LayerNormalization", "5x6,6,6", "axis=1", 3, "begin_norm_axis=1", NULL},
    {"fast_layer_norm", "LayerNormalization", "5x6x4,4,4", "axis=-1", 3, NULL, NULL},
    {"rms_norm fused_rms_norm", "SimplifiedLayerNormalization", "5x6x4,4", NULL, 2, NULL, NULL},
    {"batch_norm", "BatchNormalization", "3x6x4x3,6,6,6,6", NULL, 0, NULL, "0,3,4,1,2"},
    {"instance_norm", "InstanceNormalization", "3x6x4x3,6,6", NULL, 0, NULL, NULL},
    {"group_norm", "GroupNormalization", "3x6x4x3,6,6", "num_groups=3", 0, "groups=3", NULL},
    /* moved */
    {"reshape reshape2", "Reshape", "6x10,=[12,5]", NULL, 0, "shape=[12,5]", NULL},
    {"reshape reshape2", "Reshape", "6x4x5,=[6,20]", NULL, 0, "shape=[6,20]", NULL},
    {"reshape reshape2", "Reshape", "12x5,=[3,4,5]", NULL, 0, "shape=[3,4,5]", NULL},
    {"reshape reshape2", "Reshape", "4x6x8,=[192]", NULL, 0, "shape=[192]", NULL},
    {"reshape reshape2", "Reshape", "6x1x10,=[1,2,3,10]", NULL, 0, "shape=[1,2,3,10]", NULL},
    {"flatten", "Reshape", "5x4x6x3,=[5,24,3]", NULL, 0, "start_axis=1 stop_axis=2", NULL},
    {"flatten", "Reshape", "5x1x6x3,=[5,6,3]", NULL, 0, "start_axis=1 stop_axis=2", NULL},
    {"squeeze", "Squeeze", "5x1x6x1,=[1]", NULL, 0, "axis=[1]", NULL},
    {"unsqueeze unsqueeze2", "Unsqueeze", "5x6,=[1]", NULL, 0, "axis=[1]", NULL},
    {"concat", "Concat", "5x6,5x4,5x3", "axis=1", 0, "axis=1", NULL},
    {"concat", "Concat", "4x6,2x6", "axis=0", 0, "axis=0", NULL},
    {"split", "Split", "5x9x4,=[4,5]", "axis=1", 2, "axis=1 sections=[4,5]", NULL},
    {"split_with_num", "Split", "5x8x4,=[4,4]", "axis=1", 2, "axis=1 num=2", NULL},
    {"slice", "Slice", "7x9x4,=[2],=[7],=[1],=[1]", NULL, 0, "axes=[1] starts=[2] ends=[7] infer_flags=[1]", NULL},
    {"strided_slice", "Slice", "7x9x4,=[1],=[8],=[1],=[3]", NULL, 0, "axes=[1] starts=[1] ends=[8] strides=[3]", NULL},
    {"strided_slice", "Slice", "7x8,=[0],=[8],=[1],=[2]", NULL, 0, "axes=[1] starts=[0] ends=[8] strides=[2]", NULL},
    {"strided_slice", "Slice", "7x8,=[2],=[8],=[1],=[2]", NULL, 0, "axes=[1] starts=[2] ends=[8] strides=[2]", NULL},
    {"tile", "Tile", "5x6,=[1,2]", NULL, 0, "repeat_times=[1,2]", NULL},
    {"pad", "Pad", "5x6x4,=[2,0,0,1,0,3]", NULL, 0, "paddings=[2,1,0,0,0,3]", NULL},
    {"triu", "Trilu", "5x6x7", "upper=1", 0, NULL, NULL},
    {"tril_triu", "Trilu", "5x6x7", "upper=0", 0, NULL, NULL},
    /* by position */
    {"gather", "Gather", "5x6x4,7:i64", "axis=1", 0, "axis=1", NULL},
    {"gather", "Gather", "5x6x4,scalar:i64", "axis=1", 0, "axis=1", NULL},
    {"index_select", "Gather", "5x6x4,7:i64", "axis=0", 0, "axis=0", NULL},
    {"embedding lookup_table_v2", "Gather", "7x6,5x4:i64", "axis=0", 0, "padding_idx=-1 sparse=0", "1,0"},
    {"c_embedding", "Gather", "7x6,5x4:i64", "axis=0", 0, "start_index=0", "0,1"},
    {"gather_nd", "GatherND", "5x6x4,3x2:i64", NULL, 0, NULL, NULL},
    {"take_along_axis", "GatherElements", "5x6,5x4:i64", "axis=1", 0, "axis=1", NULL},
    {"take_along_axis", "GatherElements", "5x6,4x6:i64", "axis=1", 0, "axis=1", NULL},
    /* gradients that another operator is */
    {"transpose_grad", "Transpose", "5x6x4", "perm=[2,0,1]", 0, "perm=[1,2,0]", NULL},
    {"sum_grad", "Expand", "5x1x4,=[5,6,4]", NULL, 0, "axis=[1] keepdim=1", "5x6x4,0"},
    {"reshape_grad", "Reshape", "12x5,=[6,10]", NULL, 0, NULL, "6x10,0"},
    {"flatten_grad", "Reshape", "5x24,=[5,4,6]", NULL, 0, NULL, "5x4x6,0"},
    {"squeeze_grad", "Unsqueeze", "5x6,=[1]", NULL, 0, "axis=[1]", "5x1x6,0"},
    {"unsqueeze_grad", "Squeeze", "5x1x6,=[1]", NULL, 0, "axis=[1]", "5x6,0"},
    {0},
};

static const CallRow torch_rows[] = {
    /* element by element */
    {"clamp clip", NULL, "5x6,scalar,scalar", NULL, 0, NULL, NULL},
    {"clamp_min", "Max", "5x6,scalar", NULL, 0, NULL, "0"},
    {"clamp_max", "Min", "5x6,scalar", NULL, 0, NULL, "0"},
    {"maximum fmax", "Max", "4x5x6,5x1", NULL, 0, NULL, NULL},
    {"minimum fmin", "Min", "4x5x6,5x1", NULL, 0, NULL, NULL},
    {"maximum", "Max", "5x6,5x6", NULL, 0, NULL, NULL},
    {"to.dtype", "Cast", "5x6:i64", "to=1", 0, NULL, NULL},
    {"expand broadcast_to expand_copy", "Expand", "5x1x6,=[4,5,7,6]", NULL, 0, "size=[4,5,7,6]", NULL},
    {"expand_as", "Expand", "5x1x6,=[4,5,7,6]", NULL, 0, NULL, "0,4x5x7x6"},
    /* products */
    {"mm matmul", "MatMul", "5x6,6x7", NULL, 0, NULL, NULL},
    {"bmm matmul", "MatMul", "3x5x6,3x6x7", NULL, 0, NULL, NULL},
    {"dot matmul", "MatMul", "6,6", NULL, 0, NULL, NULL},
    {"matmul", "MatMul", "4x5x6,6x7", NULL, 0, NULL, NULL},
    {"addmm", "Gemm", "5x6,6x7,7", NULL, 0, NULL, "2,0,1"},
    {"addmm", "Gemm", "5x6,6x7,5x7", NULL, 0, NULL, "2,0,1"},
    {"linear", "Gemm", "5x6,7x6,7", "transB=1", 0, NULL, NULL},
    {"linear", "Einsum", "4x5x6,7x6", "equation=bik,nk->bin", 0, NULL, NULL},
    {"convolution", "Conv", "3x4x7x6,5x4x3x2,5", "strides=[2,1] pads=[1,0,1,0]", 0, "stride=[2,1] padding=[1,0] dilation=[1,1] transposed=0 groups=1", NULL},
    {"convolution", "Conv", "3x4x7x6,5x4x3x2,5", "strides=[1,2]", 0, "stride=[1,2] padding=[0,0] dilation=[1,1] transposed=0 groups=1", NULL},
    {"avg_pool2d", "AveragePool", "3x5x9x6", "kernel_shape=[3,2] strides=[3,2]", 0, "kernel_size=[3,2] stride=[3,2]", NULL},
    {"max_pool2d_with_indices", "MaxPool", "3x5x7x6", "kernel_shape=[3,2] strides=[2,1]", 2, "kernel_size=[3,2] stride=[2,1]", NULL},
    /* folded */
    {"sum nansum prod amax amin mean logsumexp", NULL, "5x6x4,=[1]", "keepdims=0", 0, "dim=[1] keepdim=0", NULL},
    {"sum nansum prod amax amin mean logsumexp", NULL, "5x6x4,=[0,2]", "keepdims=1", 0, "dim=[0,2] keepdim=1", NULL},
    {"sum prod mean max min", NULL, "4x6", "keepdims=0", 0, NULL, NULL},
    {"all", "ReduceMin", "5x6x4:bool,=[1]", "keepdims=0", 0, "dim=[1] keepdim=0", NULL},
    {"any", "ReduceMax", "5x6x4:bool,=[1]", "keepdims=0", 0, "dim=[1] keepdim=0", NULL},
    {"argmax", "ArgMax", "5x6x4", "axis=1 keepdims=0", 0, "dim=1 keepdim=0", NULL},
    {"argmin", "ArgMin", "5x6x4", "axis=2 keepdims=1", 0, "dim=2 keepdim=1", NULL},
    {"cumsum", "CumSum", "5x6x4,=1", NULL, 0, "dim=1", NULL},
    {"cumprod", "CumProd", "5x6x4,=1", NULL, 0, "dim=1", NULL},
    {"linalg_vector_norm", "ReduceL2", "5x6x4,=[1]", "keepdims=0", 0, "dim=[1] keepdim=0", NULL},
    /* normalized */
    {"native_layer_norm", "LayerNormalization", "5x6x4,4,4", "axis=-1", 3, "normalized_shape=[4]", NULL},
    {"layer_norm", "LayerNormalization", "5x6x4,6x4,6x4", "axis=1", 0, "normalized_shape=[6,4]", NULL},
    {"rms_norm", "RMSNormalization", "5x6x4,4", "axis=-1", 0, "normalized_shape=[4]", NULL},
    {"_fused_rms_norm", "SimplifiedLayerNormalization", "5x6x4,4", NULL, 2, "normalized_shape=[4]", NULL},
    /* moved */
    {"view _unsafe_view reshape view_copy", "Reshape", "6x10,=[12,5]", NULL, 0, "shape=[12,5] size=[12,5]", NULL},
    {"view _unsafe_view reshape view_copy", "Reshape", "6x4x5,=[6,20]", NULL, 0, "shape=[6,20] size=[6,20]", NULL},
    {"view _unsafe_view reshape view_copy", "Reshape", "12x5,=[3,4,5]", NULL, 0, "shape=[3,4,5] size=[3,4,5]", NULL},
    {"view reshape", "Reshape", "6x1x10,=[1,2,3,10]", NULL, 0, "shape=[1,2,3,10] size=[1,2,3,10]", NULL},
    {"flatten", "Reshape", "5x4x6x3,=[5,24,3]", NULL, 0, "start_dim=1 end_dim=2", NULL},
    {"ravel", "Reshape", "6x10,=[60]", NULL, 0, NULL, NULL},
    {"squeeze", "Squeeze", "5x1x6x1,=[1]", NULL, 0, "dim=1", NULL},
    {"unsqueeze", "Unsqueeze", "5x6,=[1]", NULL, 0, "dim=1", NULL},
    {"transpose", "Transpose", "5x6x4", "perm=[2,1,0]", 0, "dim0=0 dim1=2", NULL},
    {"t", "Transpose", "5x6", "perm=[1,0]", 0, NULL, NULL},
    {"repeat tile", "Tile", "5x6,=[1,2]", NULL, 0, "repeats=[1,2] dims=[1,2]", NULL},
    {"slice", "Slice", "7x9x4,=[2],=[7],=[1],=[1]", NULL, 0, "dim=1 start=2 end=7 step=1", NULL},
    {"select", "Gather", "5x6x4,=2", "axis=1", 0, "dim=1 index=2", NULL},
    {"flip", "Slice", "5x6x4,=[-1],=[-9],=[1],=[-1]", NULL, 0, "dims=[1]", NULL},
    {"split", "Split", "5x8x4,=[4,4]", "axis=1", 2, "dim=1 split_size=4", NULL},
    {"split_with_sizes", "Split", "5x9x4,=[4,5]", "axis=1", 2, "dim=1 split_sizes=[4,5]", NULL},
    {"chunk", "Split", "5x8x4,=[4,4]", "axis=1", 2, "dim=1 chunks=2", NULL},
    {"cat", "Concat", "4x6,4x8,4x2", "axis=1", 0, "dim=1", NULL},
    {"constant_pad_nd", "Pad", "5x6x4,=[2,0,0,1,0,3]", NULL, 0, "pad=[0,3,0,0,2,1] value=0", NULL},
    {"triu", "Trilu", "5x6x7", "upper=1", 0, NULL, NULL},
    {"tril", "Trilu", "5x6x7", "upper=0", 0, NULL, NULL},
    /* by position */
    {"index_select", "Gather", "5x6x4,7:i64", "axis=1", 0, "dim=1", NULL},
    {"embedding", "Gather", "7x6,5x4:i64", "axis=0", 0, NULL, NULL},
    {"gather", "GatherElements", "5x6x4,5x3x4:i64", "axis=1", 0, "dim=1", NULL},
    {"gather", "GatherElements", "5x6,5x1:i64", "axis=1", 0, "dim=1", NULL},
    {"gather", "GatherElements", "5x6,4x6:i64", "axis=1", 0, "dim=1", NULL},
    {0},
};
/* clang-format on */

static const CallRow *const system_rows[SYSTEM_COUNT] = {
    [SYSTEM_PADDLE] = paddle_rows, [SYSTEM_TORCH] = torch_rows};

/* ---- attributes of theirs ---- */

static const char *theirs_of(Arena *arena, const Alias *alias, Str attr)
{
    Str value = attr, ours = str_take(&value, '=');
    for (int i = 0; alias && i < alias->n_attrs; i++)
        if (str_eq(ours, str_from(alias->attr[i].ours)))
            return arena_printf(arena, "%s=%.*s", alias->attr[i].theirs, STR_ARG(value));
    return arena_str(arena, attr);
}

/* attrs: theirs, or with an alias ours. */
static const Graph *graph_of_theirs(Arena *arena, const char *name, const char *attrs,
                                    const Alias *alias, Error *err)
{
    OneOp op = {.operator= str_from(name)};
    OneOpBuilder *builder = one_op_new(arena, &op);
    for (Str rest = str_from(attrs ? attrs : ""); rest.n > 0;)
        if (!one_op_attr_text(builder, theirs_of(arena, alias, str_take(&rest, ' ')), err))
            return NULL;
    return one_op_graph(builder, err);
}

/* ---- operands of theirs ---- */

/* Inputs that are values known before the run are attributes there. */
static bool is_known(const Graph *graph, int input)
{
    int32_t tensor = op_inputs(graph, 0)[input];
    return tensor >= 0 && graph->tensors[tensor].kind == TENSOR_INITIALIZER;
}

static void operands_in_order(Arena *arena, SystemCall *call)
{
    int n = call->ours->ops[0].n_inputs, *input = arena_array(arena, int, n);
    for (int i = 0; i < n; i++)
        if (!is_known(call->ours, i))
            input[call->n_inputs++] = i;
    call->input = input;
    call->shape = arena_array(arena, Shape, n);
}

static bool operands_listed(Arena *arena, const char *order, SystemCall *call, Error *err)
{
    int n = 1;
    for (const char *at = order; *at; at++)
        n += *at == ',';
    int *input = arena_array(arena, int, n);
    Shape *shape = arena_array(arena, Shape, n);
    for (Str rest = str_from(order); rest.n > 0; call->n_inputs++) {
        int64_t number;
        Str part = str_take(&rest, ',');
        OneOp one = {0};
        input[call->n_inputs] = -1;
        if (str_to_int(part, &number)) {
            input[call->n_inputs] = (int)number;
            continue;
        }
        if (!one_op_operands(arena, part, &one, err))
            return false;
        shape[call->n_inputs] = one.shape[0];
    }
    call->input = input;
    call->shape = shape;
    return true;
}

/* ---- calls ---- */

static const Alias *alias_of(Arena *arena, SystemId system, Str name)
{
    return alias_find(
        arena, str_from(arena_printf(arena, "%s::%.*s", system_name(system), STR_ARG(name))));
}

static bool add_row(Arena *arena, SystemId system, const CallRow *row, Str name, SystemCalls *out,
                    Error *err)
{
    SystemCall call = {.name = arena_str(arena, name), .operands = row->operands};
    const Alias *alias = row->operator? NULL : alias_of(arena, system, name);
    if (!row->operator&& !alias)
        return error_kind(err, ERROR_UNKNOWN_OP, "'%s' is no operator of ours", call.name);
    const char *operator= row->operator? row->operator: alias->operator;
    Example example = {operator, row->operands, row->attrs, row->n_outputs};
    call.ours = example_graph(arena, operator, & example, err);
    call.theirs = graph_of_theirs(arena, call.name, row->theirs, NULL, err);
    if (!call.ours || !call.theirs)
        return false;
    call.n_outputs = call.ours->ops[0].n_outputs;
    if (!row->order)
        operands_in_order(arena, &call);
    else if (!operands_listed(arena, row->order, &call, err))
        return false;
    vec_push(arena, out, call);
    return true;
}

/* Whether the attributes that an alias fixes are given by the example all the same, texts with the
 * same value. */
static bool says_constants(const Alias *alias, const Example *example)
{
    for (int i = 0; i < alias->n_constants; i++) {
        bool given = false;
        for (Str rest = str_from(example->attrs ? example->attrs : ""); rest.n > 0;) {
            Str attr = str_take(&rest, ' ');
            const Attr *value = &alias->constant[i].value;
            if (str_eq(str_take(&attr, '='), str_from(alias->constant[i].ours)))
                given = value->type != ATTR_STRING || str_eq(attr, value->s);
        }
        if (!given)
            return false;
    }
    return true;
}

/* An example of ours under their name; one that needs more than the alias says is left out. */
static bool add_example(Arena *arena, const Alias *alias, const Example *example, Str name,
                        SystemCalls *out, Error *err)
{
    SystemCall call = {.name = arena_str(arena, name), .operands = example->operands};
    call.ours = example_graph(arena, alias->operator, example, err);
    if (!call.ours)
        return false;
    int n = call.ours->ops[0].n_inputs, n_theirs = 0;
    for (int i = 0; i < n; i++)
        if (is_known(call.ours, i))
            return true;
    int *input = arena_array(arena, int, n + alias->n_operands);
    for (int i = 0; i < n; i++) {
        int at = alias_operand(alias, i);
        if (at >= n + alias->n_operands)
            return true;
        n_theirs = at >= n_theirs ? at + 1 : n_theirs;
        if (at >= 0)
            input[at] = i;
    }
    call.theirs = graph_of_theirs(arena, call.name, example->attrs, alias, err);
    call.input = input;
    call.shape = arena_array(arena, Shape, n + alias->n_operands);
    call.n_inputs = n_theirs;
    call.n_outputs = call.ours->ops[0].n_outputs;
    if (call.theirs)
        vec_push(arena, out, call);
    return call.theirs != NULL;
}

bool system_calls(Arena *arena, const Registry *registry, SystemId system, Str name,
                  SystemCalls *out, Error *err)
{
    int n_before = out->n;
    for (const CallRow *row = system_rows[system]; row && row->names; row++)
        if (str_has_word(str_from(row->names), name) &&
            !add_row(arena, system, row, name, out, err))
            return false;
    const Alias *alias = out->n > n_before ? NULL : alias_of(arena, system, name);
    const Operator *ours = alias ? registry_find(registry, str_from(alias->operator)) : NULL;
    const Example *example = ours ? example_next(ours->name, NULL) : NULL;
    for (; example; example = example_next(ours->name, example))
        if (says_constants(alias, example) && !add_example(arena, alias, example, name, out, err))
            return false;
    return true;
}

/* ---- by our own names ---- */

/* "5x6x4,6": declared shapes; "-" for an input that is absent. */
static const char *shapes_text(Arena *arena, const Graph *graph)
{
    Buf out = buf_new(arena);
    for (int i = 0; i < graph->ops[0].n_inputs; i++) {
        int32_t tensor = op_inputs(graph, 0)[i];
        const GraphTensor *at = tensor < 0 ? NULL : &graph->tensors[tensor];
        buf_puts(&out, i ? "," : "");
        buf_puts(&out, !at ? "-" : at->n_declared == 0 ? "scalar" : "");
        for (int d = 0; at && d < at->n_declared; d++)
            buf_printf(&out, "%s%" PRId64, d ? "x" : "", graph->declared[at->declared + d].size);
    }
    return out.s;
}

static void add_own(Arena *arena, const char *name, const Graph *graph, SystemCalls *out)
{
    int n = graph->ops[0].n_inputs, *input = arena_array(arena, int, n);
    for (int i = 0; i < n; i++)
        input[i] = i;
    SystemCall call = {.name = name, .ours = graph, .theirs = graph, .n_inputs = n};
    call.operands = shapes_text(arena, graph);
    call.n_outputs = graph->ops[0].n_outputs;
    call.input = input;
    call.shape = arena_array(arena, Shape, n);
    vec_push(arena, out, call);
}

bool system_calls_own(Arena *arena, const Operator *row, SystemCalls *out, Error *err)
{
    bool users = row->example || row->data || (row->anno && row->anno->file);
    const Example *example = users ? NULL : example_next(row->name, NULL);
    const Graph *graph = example ? NULL : example_of_user(arena, row, err);
    if (graph)
        add_own(arena, row->name, graph, out);
    for (; example; example = example_next(row->name, example)) {
        graph = example_graph(arena, row->name, example, err);
        if (!graph)
            return false;
        add_own(arena, row->name, graph, out);
    }
    return graph != NULL;
}
