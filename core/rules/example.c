#include "core/rules/example.h"

#include "core/rules/anno.h"
#include "core/rules/one_op.h"
#include "core/rules/template/template.h"

#include <inttypes.h>

/* clang-format off */
static const Example examples[] = {
    /* element-wise */
    {"Abs Acos Acosh Asin Asinh Atan Atanh Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid "
     "HardSwish LeakyRelu Log Mish Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus "
     "Softsign Sqrt Swish Tan Tanh ThresholdedRelu IsInf IsNaN Neg Identity Dropout", "5x6", NULL, 0},
    {"BitwiseNot", "5x6:i64", NULL, 0},
    {"Not", "5x6:bool", NULL, 0},
    {"Cast", "5x6", "to=7", 0},
    {"Clip", "5x6,scalar,scalar", NULL, 0},
    {"Add Sub Mul Div PRelu Pow Equal Greater GreaterOrEqual Less LessOrEqual Max Min Mean Sum", "5x6,5x6", NULL, 0},
    {"Add Sub Mul Div Max", "4x5x6,5x1", NULL, 0},
    {"Add Sub Mul Div", "5x6,scalar", NULL, 0},
    {"Mul Div", "5x6,1x1", NULL, 0},
    {"BitShift", "5x6:u8,5x6:u8", "direction=LEFT", 0},
    {"BitwiseAnd BitwiseOr BitwiseXor Mod", "5x6:i64,6:i64", NULL, 0},
    {"And Or Xor", "5x6:bool,5x6:bool", NULL, 0},
    {"Where", "5x1:bool,6,5x6", NULL, 0},
    {"Max Min Mean Sum", "5x6,6,5x1", NULL, 0},
    {"Expand", "5x1,=[4,5,6]", NULL, 0},
    /* matmul */
    {"MatMul", "5x6,6x7", NULL, 0},
    {"MatMul", "3x5x6,6x7", NULL, 0},
    {"MatMul", "3x1x5x6,4x6x7", NULL, 0},
    {"MatMul", "6,6x7", NULL, 0},
    {"MatMul", "5x6,6", NULL, 0},
    {"MatMul", "6,6", NULL, 0},
    {"Gemm", "5x6,6x7,7", NULL, 0},
    {"Gemm", "6x5,7x6,5x7", "transA=1 transB=1 alpha=0.5 beta=2.5", 0},
    {"Gemm", "5x6,6x7", NULL, 0},
    {"Einsum", "3x5x6,3x6x7", "equation=bij,bjk->bik", 0},
    {"Einsum", "5x6", "equation=ij->i", 0},
    /* reduce */
    {"ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare", "5x6x4,=[1]", "keepdims=0", 0},
    {"ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd", "5x6x4,=[0,2]", "keepdims=1", 0},
    {"ReduceSum ReduceMean ReduceMax", "5x6:i64", "keepdims=0", 0},
    {"ArgMax ArgMin", "5x6x4", "axis=1", 0},
    {"CumSum CumProd", "5x6x4,=1", NULL, 0},
    /* norm */
    {"Softmax LogSoftmax", "5x6x4", "axis=1", 0},
    {"LayerNormalization", "5x6x4,4,4", "axis=-1", 3},
    {"LayerNormalization", "5x6x4,6x4", "axis=1", 1},
    {"RMSNormalization", "5x6x4,4", "axis=-1", 0},
    /* shape */
    {"Reshape", "6x10,=[12,5]", NULL, 0},
    {"Reshape", "6x4x5,=[6,20]", NULL, 0},
    {"Reshape", "12x5,=[3,4,5]", NULL, 0},
    {"Flatten", "4x3x5", "axis=2", 0},
    {"Squeeze", "5x1x6,=[1]", NULL, 0},
    {"Unsqueeze", "5x6,=[1]", NULL, 0},
    {"Transpose", "5x6x4", "perm=[2,0,1]", 0},
    {"Concat", "5x6,5x4,5x3", "axis=1", 0},
    {"Trilu", "5x6x7", "upper=0", 0},
    {"Split", "5x9,=[4,5]", "axis=1", 2},
    {"Slice", "7x9,=[1,2],=[7,9],=[0,1],=[1,3]", NULL, 0},
    {"Slice", "7x9,=[8],=[0],=[1],=[-2]", NULL, 0},
    {"Tile", "5x6,=[1,2]", NULL, 0},
    /* index */
    {"Gather", "5x6x4,3x7:i64", "axis=1", 0},
    {"Gather", "5x6,7:i64", "axis=0", 0},
    {"GatherElements", "5x6,5x4:i64", "axis=1", 0},
    {"GatherND", "5x6x4,3x2:i64", NULL, 0},
    /* windows */
    {"Conv", "3x4x7x6,5x4x3x2,5", "strides=[2,1] pads=[1,0,2,1] dilations=[1,2]", 0},
    {"Conv", "3x6x9,4x3x3,4", "group=2 strides=[3]", 0},
    {"Conv", "3x5x6,5x1x3", "group=5 auto_pad=SAME_UPPER", 0},
    {"Conv", "2x3x5x5,4x3x1x1", NULL, 0},
    {"ConvInteger", "3x4x5x5:u8,3x4x2x2:u8,scalar:u8,3:u8", "pads=[1,1,0,0]", 0},
    {"ConvTranspose", "3x4x5x4,4x3x3x2,3", "strides=[2,1] pads=[1,0,0,1] output_padding=[1,0]", 0},
    {"ConvTranspose", "3x4x5,4x3x3,6", "group=2 strides=[3]", 0},
    {"MaxPool AveragePool LpPool", "3x5x7x6", "kernel_shape=[3,2] strides=[2,1] pads=[1,0,1,1]", 0},
    {"MaxPool AveragePool LpPool", "3x5x9x6", "kernel_shape=[3,2] strides=[3,2]", 0},
    {"MaxPool", "3x4x7", "kernel_shape=[3] strides=[2] ceil_mode=1", 2},
    {"AveragePool", "3x4x7x5", "kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1] count_include_pad=1 ceil_mode=1", 0},
    {"GlobalAveragePool GlobalMaxPool GlobalLpPool", "3x5x7x6", NULL, 0},
    {"LRN", "3x5x4x3", "size=3", 0},
    /* few bits */
    {"QuantizeLinear com.microsoft::QuantizeLinear", "5x6,6,6:u8", NULL, 0},
    {"DequantizeLinear com.microsoft::DequantizeLinear", "5x6:i8,5,5:i8", "axis=0", 0},
    {"DequantizeLinear", "5x6:u8,5x2", "axis=1 block_size=3", 0},
    {"DequantizeLinear", "5x7:u8,5x3", "axis=1 block_size=3", 0},
    {"QuantizeLinear", "5x6,scalar,scalar:i8", NULL, 0},
    {"DynamicQuantizeLinear", "5x6", NULL, 3},
    {"SimplifiedLayerNormalization", "5x6x4,4", NULL, 2},
    /* images */
    {"BatchNormalization", "3x5x4x3,5,5,5,5", NULL, 0},
    {"InstanceNormalization", "3x5x4x3,5,5", NULL, 0},
    {"GroupNormalization", "3x6x4x3,6,6", "num_groups=3", 0},
    {"Pad", "5x6x4,=[2,0,0,1,0,3]", NULL, 0},
    {"Pad", "5x6x4,=[2,0,0,1,0,3]", "mode=reflect", 0},
    {"Pad", "5x6x4,=[-1,0,2,-1,1,0]", "mode=edge", 0},
    {"DepthToSpace", "3x12x5x4", "blocksize=2", 0},
    {"DepthToSpace", "3x12x5x4", "blocksize=2 mode=CRD", 0},
    {"SpaceToDepth", "3x5x6x4", "blocksize=2", 0},
    {"Resize", "3x5x4x3,-,-,=[3,5,8,9]", NULL, 0},
    {"Resize", "3x5x4x3,-,-,=[3,5,8,6]", "mode=linear", 0},
    {"Upsample", "3x5x4x3", "height_scale=2.0 width_scale=1.5", 0},
    {"Resize", "3x5x4x6,-,-,=[3,5,7,4]", "mode=cubic coordinate_transformation_mode=align_corners", 0},
    {NULL, NULL, NULL, 0},
};
/* clang-format on */

static bool is_named(const char *names, Str name)
{
    for (const char *at = names; *at;) {
        size_t n = strcspn(at, " ");
        if (str_eq((Str){at, n}, name))
            return true;
        at += n + strspn(at + n, " ");
    }
    return false;
}

const Example *example_next(const char *name, const Example *after)
{
    for (const Example *row = after ? after + 1 : examples; row->operators; row++)
        if (is_named(row->operators, str_from(name)))
            return row;
    return NULL;
}

/* attrs: "axis=1 keepdims=0", or NULL. */
static Graph *make(Arena *arena, const char *name, Str operands, const char *attrs, int n_outputs,
                   Error *err)
{
    OneOp op = {.operator= str_from(name), .n_outputs = n_outputs};
    if (!one_op_operands(arena, operands, &op, err))
        return NULL;
    OneOpBuilder *builder = one_op_new(arena, &op);
    for (const char *at = attrs ? attrs : ""; *at;) {
        size_t n = strcspn(at, " ");
        if (!one_op_attr_text(builder, arena_str(arena, (Str){at, n}), err))
            return NULL;
        at += n + strspn(at + n, " ");
    }
    return one_op_graph(builder, err);
}

Graph *example_graph(Arena *arena, const char *name, const Example *example, Error *err)
{
    return make(arena, name, str_from(example->operands), example->attrs,
                example->n_outputs > 0 ? example->n_outputs : 1, err);
}

/* ---- from an annotation ---- */

static const int64_t sizes[] = {5, 6, 4, 7, 3, 8};
enum { N_SIZES = sizeof sizes / sizeof *sizes };

static int64_t dim_of(const AnnoDim *dim)
{
    int64_t size = 1;
    for (int a = 0; a < dim->n; a++)
        size *= dim->atom[a].number >= 0 ? dim->atom[a].number : sizes[dim->atom[a].id % N_SIZES];
    return size;
}

/* False: more dims than a tensor has. */
static bool shape_of(const AnnoTensor *tensor, Shape *out)
{
    *out = (Shape){0};
    for (int d = 0; d < tensor->n_dims && !tensor->ignored; d++) {
        bool any = tensor->dim[d].n == 1 && str_eq(tensor->dim[d].atom[0].name, STR("*"));
        if (out->n_dims + 1 + any > DIMS_MAX)
            return false;
        if (any)
            out->dim[out->n_dims++] = sizes[N_SIZES - 2];
        out->dim[out->n_dims++] = any ? sizes[N_SIZES - 4] : dim_of(&tensor->dim[d]);
    }
    return true;
}

/* What stands in a bracket is told by an attribute: `(h m) k` with h=5. */
static bool add_lengths(OneOpBuilder *builder, Arena *arena, const AnnoTensor *tensor, Error *err)
{
    for (int d = 0; d < tensor->n_dims && !tensor->ignored; d++)
        for (int a = 0; tensor->dim[d].n > 1 && a < tensor->dim[d].n; a++) {
            const AnnoAtom *atom = &tensor->dim[d].atom[a];
            if (atom->number < 0 &&
                !one_op_attr_text(builder,
                                  arena_printf(arena, "%.*s=%" PRId64, STR_ARG(atom->name),
                                               sizes[atom->id % N_SIZES]),
                                  err))
                return false;
        }
    return true;
}

static const Anno *first_anno(Arena *arena, const Operator *row, Error *err)
{
    if (!row->anno || !row->anno->annos || !row->anno->annos[0])
        return NULL;
    Source source = {row->name, str_from(row->anno->annos[0])};
    return anno_parse(arena, &source, err);
}

static Graph *from_anno(Arena *arena, const Operator *row, const Anno *anno, Error *err)
{
    OneOp op = {.operator= str_from(row->name)};
    op.n_inputs = anno->n_inputs;
    op.n_outputs = anno->n_outputs;
    Shape *shape = arena_array(arena, Shape, anno->n_inputs);
    op.shape = shape;
    for (int i = 0; i < anno->n_inputs; i++)
        if (!shape_of(&anno->tensor[i], &shape[i])) {
            error_kind(err, ERROR_UNSUPPORTED, "%s: input %d has too many dims", row->name, i);
            return NULL;
        }
    OneOpBuilder *builder = one_op_new(arena, &op);
    for (int i = 0; i < anno->n_inputs; i++)
        if (!add_lengths(builder, arena, &anno->tensor[i], err))
            return NULL;
    return one_op_graph(builder, err);
}

Graph *example_of_user(Arena *arena, const Operator *row, Error *err)
{
    const Anno *anno = first_anno(arena, row, err);
    if (row->example) {
        size_t n = strcspn(row->example, " ");
        int n_outputs = row->template ? template_text(row->template)->n_outputs
                        : anno        ? anno->n_outputs
                                      : 1;
        return make(arena, row->name, (Str){row->example, n},
                    row->example + n + strspn(row->example + n, " "), n_outputs, err);
    }
    if (anno)
        return from_anno(arena, row, anno, err);
    error_kind(err, ERROR_UNSUPPORTED, "%s has no example", row->name);
    error_hint(err, "give --shapes, or example = \"4x6,6x5\" where it is registered");
    return NULL;
}
