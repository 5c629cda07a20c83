/* Rules of products of matrices and their gradients. */
#include "core/plan/spmd/product.h"

static Factors given_factors(const SpmdCall *call)
{
    return (Factors){&call->input[0], &call->input[1], spmd_int(call, "trans_x transpose_x", 0),
                     spmd_int(call, "trans_y transpose_y", 0)};
}

/* ---- matmul ---- */

static bool matmul(SpmdCall *call, Error *err)
{
    Product product;
    Factors factors = given_factors(call);
    if (!product_of(call, &factors, &product, err))
        return false;
    spmd_need(call, &product.x);
    spmd_need(call, &product.y);
    return spmd_set_partial(spmd_out(call, &product.out), &product.k, REDUCE_SUM, err);
}

/* Upstream looks for dims of size 1 in the factor as stored, with the letters as multiplied: where
 * a factor is transposed, a 1 makes its neighbour whole. That is exact. */
static void need_backward(SpmdCall *call, const SpmdTensor *factor, const char *letters,
                          const SpmdLetters *merged, bool transposed)
{
    SpmdTensor *need = spmd_need(call, factor);
    int last = need->n_dims - 1;
    spmd_set_letters(need, letters, merged);
    for (int d = 0; d <= last; d++) {
        bool swapped = transposed && call->exact && last >= 1 && d >= last - 1;
        if (factor->shape.dim[d] == 1)
            spmd_unsplit(need, swapped ? 2 * last - 1 - d : d);
    }
}

static bool matmul_backward(SpmdCall *call, Error *err)
{
    ProductLetters letters;
    SpmdLetters merged;
    Factors factors = given_factors(call);
    int n_x = factors.x->n_dims, n_y = factors.y->n_dims;
    if (call->exact && call->output[0].n_dims != (n_x > n_y ? n_x : n_y))
        return error_set(err, "a product by a vector has no backward rule upstream");
    if (!product_letters(call, &factors, &letters, err))
        return false;
    SpmdOperand out = {letters.out, &call->output[0]};
    if (!spmd_merge(call, SPMD_BY_LISTS, &out, 1, &merged, err))
        return false;
    need_backward(call, factors.x, letters.x, &merged, factors.trans_x);
    need_backward(call, factors.y, letters.y, &merged, factors.trans_y);
    spmd_out_as_given(call, &call->output[0]);
    return true;
}

/* ---- its gradient: x, y, out_grad ---- */

static bool same_mapping(const SpmdTensor *a, const SpmdTensor *b)
{
    for (int d = 0; d < a->n_dims; d++)
        if (!spmd_axes_equal(&a->dim[d], &b->dim[d]))
            return false;
    return true;
}

static bool agree(const SpmdCall *call, const char *what, const SpmdTensor *a, const SpmdTensor *b,
                  Error *err)
{
    return same_mapping(a, b) || error_kind(err, ERROR_CONFLICT, "%s is needed as %s and as %s",
                                            what, spmd_show(call, a), spmd_show(call, b));
}

/* The gradient of one factor, less the dims it was broadcast over. */
static bool answer_gradient(SpmdCall *call, const Product *product, const SpmdTensor *factor,
                            Error *err)
{
    SpmdTensor *out = spmd_out(call, &product->out);
    if (out->n_dims < factor->n_dims)
        return error_set(err, "a factor of %d dims has a gradient of %d", factor->n_dims,
                         out->n_dims);
    if (!spmd_set_partial(out, &product->k, REDUCE_SUM, err))
        return false;
    spmd_reduce_broadcast(out, factor->n_dims, &factor->shape);
    return true;
}

/* Where a factor is transposed upstream refuses a gradient that needs any change, were it only that
 * it is partial: that is exact. */
static bool keeps_gradient(const SpmdCall *call, const Factors *factors, const SpmdTensor *needed,
                           Error *err)
{
    const SpmdTensor *given = &call->input[2];
    bool transposed = factors->trans_x || factors->trans_y;
    if (!call->exact || !transposed || (same_mapping(given, needed) && !spmd_is_partial(given)))
        return true;
    return error_kind(err, ERROR_CONFLICT, "the gradient is needed as %s, not as given",
                      spmd_show(call, needed));
}

static bool product_gradient(SpmdCall *call, const Factors *factors, Error *err)
{
    const SpmdTensor *given = &call->input[2];
    bool tx = factors->trans_x, ty = factors->trans_y;
    Product forward, of_x, of_y;
    if (!product_of(call, factors, &forward, err))
        return false;
    const SpmdTensor *x = &forward.x, *y = &forward.y;
    /* dx = g y', or y g' where x was transposed; dy = x' g, or g' x. */
    Factors for_x = tx ? (Factors){y, given, ty, true} : (Factors){given, y, false, !ty};
    Factors for_y = ty ? (Factors){given, x, true, tx} : (Factors){x, given, !tx, false};
    if (!product_of(call, &for_x, &of_x, err) || !product_of(call, &for_y, &of_y, err))
        return false;
    const SpmdTensor *gradient = tx ? &of_x.y : &of_x.x;
    if (!agree(call, "y", y, tx ? &of_x.x : &of_x.y, err) ||
        !agree(call, "x", x, ty ? &of_y.y : &of_y.x, err) ||
        !agree(call, "the gradient", gradient, ty ? &of_y.x : &of_y.y, err) ||
        !keeps_gradient(call, factors, gradient, err))
        return false;
    spmd_need(call, x);
    spmd_need(call, y);
    spmd_need(call, gradient);
    return answer_gradient(call, &of_x, factors->x, err) &&
           answer_gradient(call, &of_y, factors->y, err);
}

static bool matmul_gradient(SpmdCall *call, Error *err)
{
    Factors factors = given_factors(call);
    return product_gradient(call, &factors, err);
}

/* ---- bmm: three dims, no broadcasting ---- */

static bool check_bmm(const SpmdCall *call, Error *err)
{
    const SpmdTensor *x = &call->input[0], *y = &call->input[1];
    if (x->n_dims != 3 || y->n_dims != 3)
        return error_set(err, "a batched product is of tensors with 3 dims");
    return x->shape.dim[0] == y->shape.dim[0] || error_set(err, "the batch sizes differ");
}

static bool bmm(SpmdCall *call, Error *err)
{
    return check_bmm(call, err) && matmul(call, err);
}

static bool bmm_gradient(SpmdCall *call, Error *err)
{
    return check_bmm(call, err) && matmul_gradient(call, err);
}

/* ---- with a bias: x, y, bias ---- */

/* The reserved space, of which nothing is said. */
static void no_mapping(SpmdCall *call)
{
    spmd_out_whole(call, 0);
}

/* The bias is asked for as partial as the product, so that their sum is that of one bias. */
static bool gemm_with_bias(SpmdCall *call, Error *err)
{
    Product product;
    Factors factors = given_factors(call);
    if (factors.x->n_dims == 1 && factors.y->n_dims == 1)
        return error_set(err, "a product of two vectors has no bias");
    if (!product_of(call, &factors, &product, err))
        return false;
    spmd_need(call, &product.x);
    spmd_need(call, &product.y);
    SpmdTensor *bias = spmd_need(call, &call->input[2]), *out = spmd_out(call, &product.out);
    if (bias->n_dims > 0)
        bias->dim[bias->n_dims - 1] = product.n;
    no_mapping(call);
    return spmd_set_partial(bias, &product.k, REDUCE_SUM, err) &&
           spmd_set_partial(out, &product.k, REDUCE_SUM, err);
}

const SpmdRule spmd_rules_matmul[] = {
    {.names = "matmul matmul_v2",
     .forward = matmul,
     .backward = matmul_backward,
     .flags = SPMD_LISTS,
     .inputs_min = 2,
     .inputs_max = 2,
     .outputs_min = 1,
     .outputs_max = 1},
    {.names = "matmul_grad",
     .forward = matmul_gradient,
     .flags = SPMD_LISTS,
     .inputs_min = 3,
     .inputs_max = 3},
    {.names = "bmm",
     .forward = bmm,
     .backward = bmm_gradient,
     .flags = SPMD_LISTS | SPMD_GRADIENT,
     .inputs_min = 2,
     .inputs_max = 2,
     .outputs_min = 1,
     .outputs_max = 1},
    {.names = "bmm_grad",
     .forward = bmm_gradient,
     .flags = SPMD_LISTS,
     .inputs_min = 3,
     .inputs_max = 3},
    {.names = "fused_gemm_epilogue linear_v2",
     .forward = gemm_with_bias,
     .flags = SPMD_LISTS,
     .inputs_min = 3,
     .inputs_max = 3},
    {0},
};
