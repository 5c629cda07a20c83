/* matmul.c - products that sum over a shared dim.
 *
 *     MatMul   b0.. m k, b0.. k n -> b0.. m n     k reduced; batch dims broadcast
 *              b s k, k n -> b s n                an activation by a weight: 3 dims by 2
 *     Gemm     m k, k n, n -> m n                 transA, transB swap their operand's rows
 *     Einsum   the letters of the equation
 *     MatMulInteger, QLinearMatMul                with zero points and scales, a number a row of A
 *                                                 or a column of B; k is frozen where the sum is
 * rounded
 *
 * A vector operand of MatMul lacks m or n. Gemm's C is added once: where k is cut, only where the
 * coordinates of k's axes are 0.
 */
#include "core/rules/args.h"
#include "core/space/einsum.h"

#include <inttypes.h>

typedef struct {
    const Shape *shape;
    bool vector;
    int n_batch;
    int64_t rows,
        columns; /* of the matrix; a vector on the left has 1 row, on the right 1 column */
} Matrix;

/* turned: the last two dims are transposed. */
static Matrix matrix_of(const Shape *shape, bool left, bool turned)
{
    int n = (int)shape->n_dims;
    if (n == 1)
        return (Matrix){shape, true, 0, left ? 1 : shape->dim[0], left ? shape->dim[0] : 1};
    return (Matrix){shape, false, n - 2, shape->dim[n - 2 + turned], shape->dim[n - 1 - turned]};
}

static bool matmul_shape(const Matrix *a, const Matrix *b, Shape *out, Error *err)
{
    Shape batch_a = *a->shape, batch_b = *b->shape;
    const Shape *both[2] = {&batch_a, &batch_b};
    batch_a.n_dims = a->n_batch;
    batch_b.n_dims = b->n_batch;
    if (!args_broadcast(both, 2, out, err))
        return false;
    if (!a->vector)
        out->dim[out->n_dims++] = a->rows;
    if (!b->vector)
        out->dim[out->n_dims++] = b->columns;
    return true;
}

/* Which operands a product is of, and how. */
typedef struct {
    int a, b; /* inputs */
    bool turn_a, turn_b;
    IndexRole sum;
} ProductForm;

static bool product(RuleCall *call, const ProductForm *form, Error *err)
{
    const Shape *shapes[2] = {call->shape[form->a], call->shape[form->b]};
    if (!args_rank(call, form->a, 1, DIMS_MAX, err) || !args_rank(call, form->b, 1, DIMS_MAX, err))
        return false;
    Matrix a = matrix_of(shapes[0], true, form->turn_a);
    Matrix b = matrix_of(shapes[1], false, form->turn_b);
    int64_t at_a = shapes[0]->n_dims - 1 - (form->turn_a && !a.vector);
    int64_t at_b = shapes[1]->n_dims - 1 - (!form->turn_b && !b.vector);
    if (!args_same_size(call, form->a, at_a, form->b, at_b, err) ||
        !matmul_shape(&a, &b, &call->out_shape[0], err))
        return false;
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;

    const Shape *out = &call->out_shape[0];
    bool by_weight = a.n_batch == 1 && b.n_batch == 0 && !b.vector;
    int n_batch = a.n_batch > b.n_batch ? a.n_batch : b.n_batch, index[DIMS_MAX];
    for (int d = 0; d < n_batch; d++)
        index[d] = by_weight ? rule_index(space, "b", out->dim[d], ROLE_MAP, REDUCE_NONE)
                             : rule_index_at(call, 'b', d, out->dim[d]);
    ReduceOp how = form->sum == ROLE_REDUCE ? REDUCE_SUM : REDUCE_NONE;
    int m = rule_index(space, by_weight ? "s" : "m", a.rows, ROLE_MAP, REDUCE_NONE);
    int k = rule_index(space, "k", a.columns, form->sum, how);
    int n = rule_index(space, "n", b.columns, ROLE_MAP, REDUCE_NONE);

    const Matrix *sides[2] = {&a, &b};
    for (int i = 0; i < 2; i++) {
        Operand *operand = &space->operand[i == 0 ? form->a : form->b];
        int64_t last = operand->shape.n_dims - 1, turned = i == 0 ? form->turn_a : form->turn_b;
        for (int d = 0; d < sides[i]->n_batch; d++)
            rule_unit(operand, d,
                      operand->shape.dim[d] == 1 ? -1 : index[n_batch - sides[i]->n_batch + d]);
        if (!sides[i]->vector)
            rule_unit(operand, last - 1 + turned, i == 0 ? m : k);
        rule_unit(operand, sides[i]->vector ? last : last - turned,
                  i == 0 || sides[i]->vector ? k : n);
    }
    for (int d = 0; d < n_batch; d++)
        rule_unit(rule_output(space, 0), d, index[d]);
    if (!a.vector)
        rule_unit(rule_output(space, 0), n_batch, m);
    if (!b.vector)
        rule_unit(rule_output(space, 0), out->n_dims - 1, n);
    return true;
}

static bool matmul(RuleCall *call, Error *err)
{
    static const ProductForm form = {0, 1, false, false, ROLE_REDUCE};
    call->out_dtype[0] = call->dtype[0];
    return product(call, &form, err);
}

/* com.microsoft: the last two dims of an operand may be transposed, but not batch dims. */
static bool fused_matmul(RuleCall *call, Error *err)
{
    ProductForm form = {0, 1, args_int(call, "transA", 0) != 0, args_int(call, "transB", 0) != 0,
                        ROLE_REDUCE};
    if (args_int(call, "transBatchA", 0) != 0 || args_int(call, "transBatchB", 0) != 0)
        return error_kind(err, ERROR_UNSUPPORTED, "it transposes batch dims");
    call->out_dtype[0] = call->dtype[0];
    return product(call, &form, err);
}

/* An operand with one number, or one for each row of A or column of B, whose index dim it
 * follows. */
static bool follow_line(RuleCall *call, int input, const char *line, Error *err)
{
    if (!args_has(call, input) || shape_elements(call->shape[input]) == 1)
        return true;
    Operand *operand = &call->space->operand[input];
    int index = opspace_find_index(call->space, str_from(line));
    if (operand->shape.n_dims != 1)
        return true; /* one for each row of each matrix of a batch: read whole */
    if (index < 0 || operand->shape.dim[0] != call->space->index[index].size)
        return error_set(err, "its input %d does not have one number for each %s", input, line);
    rule_unit(operand, 0, index);
    return true;
}

static const char *row_name(const RuleCall *call)
{
    return opspace_find_index(call->space, STR("s")) >= 0 ? "s" : "m";
}

static bool matmul_integer(RuleCall *call, Error *err)
{
    static const ProductForm form = {0, 1, false, false, ROLE_REDUCE};
    call->out_dtype[0] = DT_I32;
    return product(call, &form, err) && follow_line(call, 2, row_name(call), err) &&
           follow_line(call, 3, "n", err);
}

/* a, its scale and zero point, b, its scale and zero point, those of the output. */
static bool matmul_quantized(RuleCall *call, Error *err)
{
    static const ProductForm form = {0, 3, false, false, ROLE_FROZEN};
    call->out_dtype[0] = call->dtype[7];
    if (!product(call, &form, err))
        return false;
    for (int i = 1; i < 3; i++)
        if (!follow_line(call, i, row_name(call), err) || !follow_line(call, 3 + i, "n", err))
            return false;
    return true;
}

/* C broadcasts onto [m, n], never the other way. */
static bool addend_fits(const Shape *c, const Shape *out, Error *err)
{
    Shape common;
    const Shape *both[2] = {c, out};
    if (!args_broadcast(both, 2, &common, err))
        return false;
    return shape_equal(&common, out) || error_set(err, "its input 2 is larger than the product");
}

static bool gemm(RuleCall *call, Error *err)
{
    const Shape *a = call->shape[0], *b = call->shape[1];
    bool swap_a = args_int(call, "transA", 0) != 0, swap_b = args_int(call, "transB", 0) != 0;
    if (!args_rank(call, 0, 2, 2, err) || !args_rank(call, 1, 2, 2, err) ||
        !args_same_size(call, 0, !swap_a, 1, swap_b, err))
        return false;
    call->out_shape[0] = (Shape){.n_dims = 2, .dim = {a->dim[swap_a], b->dim[!swap_b]}};
    call->out_dtype[0] = call->dtype[0];
    if (args_has(call, 2) && !addend_fits(call->shape[2], &call->out_shape[0], err))
        return false;
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;

    int m = rule_index(space, "m", a->dim[swap_a], ROLE_MAP, REDUCE_NONE);
    int k = rule_index(space, "k", a->dim[!swap_a], ROLE_REDUCE, REDUCE_SUM);
    int n = rule_index(space, "n", b->dim[!swap_b], ROLE_MAP, REDUCE_NONE);
    rule_unit(&space->operand[0], swap_a, m);
    rule_unit(&space->operand[0], !swap_a, k);
    rule_unit(&space->operand[1], swap_b, k);
    rule_unit(&space->operand[1], !swap_b, n);
    rule_align(rule_output(space, 0), (const int[]){m, n}, 2);
    if (args_has(call, 2)) {
        rule_align(&space->operand[2], (const int[]){m, n}, 2);
        space->operand[2].once = true;
    }
    return true;
}

static bool einsum(RuleCall *call, Error *err)
{
    const Attr *equation = args_attr(call, "equation");
    if (!equation || equation->type != ATTR_STRING)
        return error_set(err, "it has no equation");
    for (int i = 0; i < call->n_inputs; i++)
        if (!call->shape[i])
            return error_set(err, "its input %d is absent", i);
    Source source = {"equation", equation->s};
    call->space =
        einsum_opspace(call->arena, &source, call->shape, call->n_inputs, &call->out_shape[0], err);
    call->out_dtype[0] = call->dtype[0];
    return call->space != NULL;
}

#define FAMILY "matmul"

const Operator operators_matmul[] = {
    {OP("MatMul", matmul, 2, 2, 2), GRADIENT("0: contract(x1); 1: contract(x0)"),
     ONNX("", "Afi Afi"), .kernel = "MatMul",
     .examples = "5x6,6x7; 3x5x6,6x7; 3x1x5x6,4x6x7; 6,6x7; 5x6,6; 6,6",
     NNSCALER("matmul mm bmm dot"), TORCH("matmul mm bmm mv dot vdot"), STABLEHLO("dot"),
     .paddle = "matmul", .dtensor = "matmul matmul",
     PADDLE_CALLS("matmul matmul_v2: 5x6,6x8; 6x4x6,6x7; 3x1x5x6,4x6x7; 6,6x7; 4x5x6,6; 6,6; bmm: "
                  "6x5x6,6x6x7"),
     TORCH_CALLS(
         "mm matmul: 5x6,6x7; bmm matmul: 3x5x6,3x6x7; dot matmul: 6,6; matmul: 4x5x6,6x7")},
    {OP("MatMulInteger", matmul_integer, 2, 2, 4), ONNX("", "Ai Bi Ai Bi"),
     .kernel = "MatMulInteger", .examples = "5x6:u8,6x7:u8,5:u8,7:u8"},
    {OP("QLinearMatMul", matmul_quantized, 2, 8, 8), ONNX("", "Afi Bf Afi Cfi Bf Cfi Bf .fi"),
     .kernel = "QLinearMatMul", .examples = "5x6:u8,5,5:u8,6x7:u8,7,7:u8,scalar,scalar:u8"},
    {OP("com.microsoft::FusedMatMul", fused_matmul, 2, 2, 2),
     GRADIENT("0: contract(x1) *alpha; 1: contract(x0) *alpha"),
     OWN("alpha transA transB transBatchA transBatchB", ""), .kernel = "com.microsoft::FusedMatMul",
     .examples = "3x6x5,3x7x6 transA=1 transB=1"},
    {OP("Gemm", gemm, 2, 2, 3),
     GRADIENT("0: contract(x1) *alpha; 1: contract(x0) *alpha; 2: contract *beta"),
     ONNX("alpha beta broadcast transA transB", "Afi Afi Afi"), .kernel = "Gemm",
     .examples = "5x6,6x7,7; 6x5,7x6,5x7 transA=1 transB=1 alpha=0.5 beta=2.5; 5x6,6x7",
     NNSCALER("addmm(; 1,2,0)"), TORCH("addmm(; 1,2,0) addmv(; 1,2,0)"), PADDLE("addmm(; 1,2,0)"),
     .paddle = "gemm", .dtensor = "gemm linear",
     PADDLE_CALLS("matmul matmul_v2: 6x5,7x6 transA=1 transB=1 | trans_x=1 trans_y=1; "
                  "fused_gemm_epilogue: 4x6,6x7,7"),
     TORCH_CALLS("addmm(2,0,1): 5x6,6x7,7; 5x6,6x7,5x7; linear: 5x6,7x6,7 transB=1")},
    {OP("Einsum", einsum, 2, 1, OPERATOR_ANY), GRADIENT("all: contract(others)"),
     ONNX("equation", "Afi+"), .kernel = "Einsum",
     .examples = "3x5x6,3x6x7 equation=bij,bjk->bik; 5x6 equation=ij->i; 5,6 equation=i,j->ij; "
                 "3x4x5x6,6x7 equation=...ij,jk->...ik",
     NNSCALER("einsum"), TORCH("einsum"), PADDLE("einsum"), .dtensor = "einsum einsum",
     TORCH_CALLS("linear: 4x5x6,7x6 equation=bik,nk->bin")},
    {0},
};
