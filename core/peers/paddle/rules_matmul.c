/* Rules of matrix products and their gradients. */
#include "core/peers/paddle/product.h"

static Factors given_factors(const SpmdCall *call)
{
    return (Factors){&call->input[0], &call->input[1], spmd_int(call, "trans_x transpose_x", 0),
                     spmd_int(call, "trans_y transpose_y", 0)};
}

/* ---- matmul ---- */

static bool matmul(SpmdCall *call, Error *err)
{
    SpmdProduct product;
    Factors factors = given_factors(call);
    if (!product_of(call, &factors, &product, err))
        return false;
    spmd_need(call, &product.x);
    spmd_need(call, &product.y);
    return spmd_set_partial(spmd_out(call, &product.out), &product.k, REDUCE_SUM, err);
}

/* Exact: Paddle checks for dims of size 1 in the stored factor but with the letters of the product,
 * so in a transposed factor a 1 makes the neighbouring dim unsplit. */
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
        return error_set(err, "a product with a vector has no backward rule in Paddle");
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

static bool agree(const SpmdCall *call, const char *what, const SpmdTensor *a, const SpmdTensor *b,
                  Error *err)
{
    return spmd_mappings_equal(a, b) || error_kind(err, ERROR_CONFLICT, "%s needs both %s and %s",
                                                   what, spmd_show(call, a), spmd_show(call, b));
}

/* The gradient of one factor without the dims it was broadcast over. */
static bool answer_gradient(SpmdCall *call, const SpmdProduct *product, const SpmdTensor *factor,
                            Error *err)
{
    SpmdTensor *out = spmd_out(call, &product->out);
    int more = out->n_dims - factor->n_dims;
    if (more < 0)
        return error_set(err, "a factor has %d dims but its gradient %d", factor->n_dims,
                         out->n_dims);
    Shape narrow = factor->shape; /* 1 where it was broadcast, and only there */
    for (int d = 0; d < factor->n_dims; d++)
        narrow.dim[d] += narrow.dim[d] == 1 && out->shape.dim[more + d] == 1;
    if (!spmd_set_partial(out, &product->k, REDUCE_SUM, err))
        return false;
    spmd_reduce_broadcast(out, factor->n_dims, &narrow);
    return true;
}

/* Exact: with a transposed factor Paddle refuses a gradient that needs any change, even only of its
 * partial axes. */
static bool keeps_gradient(const SpmdCall *call, const Factors *factors, const SpmdTensor *needed,
                           Error *err)
{
    const SpmdTensor *given = &call->input[2];
    bool transposed = factors->trans_x || factors->trans_y;
    if (!call->exact || !transposed ||
        (spmd_mappings_equal(given, needed) && !spmd_is_partial(given)))
        return true;
    return error_kind(err, ERROR_CONFLICT, "the gradient needs %s but has another mapping",
                      spmd_show(call, needed));
}

static bool product_gradient(SpmdCall *call, const Factors *factors, Error *err)
{
    const SpmdTensor *given = &call->input[2];
    bool tx = factors->trans_x, ty = factors->trans_y;
    SpmdProduct forward, of_x, of_y;
    if (!product_of(call, factors, &forward, err))
        return false;
    const SpmdTensor *x = &forward.x, *y = &forward.y;
    /* dx = g y', or y g' if x is transposed; dy = x' g, or g' x. */
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
        return error_set(err, "a batched product needs tensors with 3 dims");
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

/* The reserved space, which has no mapping. */
static void no_mapping(SpmdCall *call)
{
    spmd_out_whole(call, 0);
}

/* These merge classically, m k of x before k n of y, in any storage order. */
static bool merge_factors(SpmdCall *call, const Factors *factors, SpmdLetters *out, Error *err)
{
    SpmdTensor x = product_untransposed(factors->x, factors->trans_x);
    SpmdTensor y = product_untransposed(factors->y, factors->trans_y);
    Factors plain = {&x, &y, false, false};
    ProductLetters letters;
    *out = (SpmdLetters){0};
    if (x.n_dims == 1 && y.n_dims == 1)
        return error_set(err, "a product of two vectors has no bias");
    if (!product_letters(call, &plain, &letters, err))
        return false;
    SpmdOperand operand[] = {{letters.x, &x}, {letters.y, &y}};
    return spmd_merge(call, SPMD_CLASSIC, operand, 2, out, err);
}

static bool answer_with_bias(SpmdCall *call, const Factors *factors, const SpmdLetters *merged,
                             Error *err)
{
    ProductLetters letters;
    if (!product_letters(call, factors, &letters, err))
        return false;
    SpmdTensor x = product_need(factors->x, letters.x, merged);
    SpmdTensor y = product_need(factors->y, letters.y, merged);
    spmd_need(call, &x);
    spmd_need(call, &y);
    SpmdTensor *bias = spmd_need(call, &call->input[2]), *out = spmd_out_whole(call, 0);
    spmd_replicate(bias);
    if (bias->n_dims > 0)
        bias->dim[bias->n_dims - 1] = merged->axes['n'];
    spmd_set_letters(out, letters.out, merged);
    no_mapping(call);
    return spmd_set_partial(bias, &merged->axes['k'], REDUCE_SUM, err) &&
           spmd_set_partial(out, &merged->axes['k'], REDUCE_SUM, err);
}

/* The bias needs the partial axes of the product, so that it is added once. */
static bool gemm_with_bias(SpmdCall *call, Error *err)
{
    SpmdLetters merged;
    Factors factors = given_factors(call);
    return merge_factors(call, &factors, &merged, err) &&
           answer_with_bias(call, &factors, &merged, err);
}

/* Never partial: if k is split, all of m, n and k become unsplit. */
static bool linear(SpmdCall *call, Error *err)
{
    SpmdLetters merged;
    Factors factors = {&call->input[0], &call->input[1], false, false};
    if (spmd_int(call, "transpose_weight", 0))
        return error_set(err, "linear_v2 with transpose_weight has no rule");
    if (!merge_factors(call, &factors, &merged, err))
        return false;
    if (merged.axes['k'].n > 0) {
        spmd_trace(call, "k is split: m, n and k become unsplit, to add the bias once");
        merged.axes['m'].n = merged.axes['n'].n = merged.axes['k'].n = 0;
    }
    return answer_with_bias(call, &factors, &merged, err);
}

/* ---- gradients of a linear layer, added to previous ones: x, out_grad [, weight_grad, bias_grad]
 * ---- */

static bool agree_with_given(SpmdCall *call, const char *what, int input, const SpmdTensor *answer,
                             Error *err)
{
    if (input >= call->n_inputs)
        return true;
    const SpmdTensor *given = &call->input[input];
    if (given->absent || given->n_dims == 0)
        return true;
    if (given->n_dims == answer->n_dims && spmd_mappings_equal(given, answer) &&
        memcmp(given->partial, answer->partial, sizeof answer->partial) == 0)
        return true;
    return error_set(err, "the gradient of the %s is %s but was given as %s", what,
                     spmd_show(call, answer), spmd_show(call, given));
}

/* Exact: uses the given mapping of out_grad instead of the needed one, and its partial axes as
 * sums. */
static void answer_bias(SpmdCall *call, const SpmdTensor *out_grad)
{
    SpmdTensor *bias = spmd_out_as_given(call, out_grad);
    for (int axis = 0; axis < MESH_AXES_MAX; axis++)
        if (bias->partial[axis] != REDUCE_NONE)
            bias->partial[axis] = REDUCE_SUM;
    spmd_reduce_broadcast(bias, 1, NULL);
    if (!spmd_int(call, "has_bias", 1))
        *bias = (SpmdTensor){0};
}

static bool add_gradients(SpmdCall *call, Error *err)
{
    SpmdProduct product;
    Factors factors = {&call->input[0], &call->input[1], true, false};
    if (!product_of(call, &factors, &product, err))
        return false;
    spmd_need(call, &product.x);
    spmd_need(call, &product.y);
    for (int i = 2; i < call->n_inputs; i++)
        spmd_need_as_given(call, &call->input[i]);
    SpmdTensor *weight = spmd_out(call, &product.out);
    if (!spmd_set_partial(weight, &product.k, REDUCE_SUM, err))
        return false;
    spmd_reduce_broadcast(weight, 2, NULL);
    answer_bias(call, call->exact ? factors.y : &product.y);
    const SpmdTensor *bias = call->out.at[1];
    return agree_with_given(call, "weight", 2, weight, err) &&
           agree_with_given(call, "bias", 3, bias, err);
}

const SpmdRule spmd_rules_matmul[] = {
    {.names = "matmul matmul_v2",
     .forward = matmul,
     .backward = matmul_backward,
     .flags = SPMD_LISTS,
     .inputs = {2, 2},
     .outputs = {1, 1}},
    {.names = "matmul_grad", .forward = matmul_gradient, .flags = SPMD_LISTS, .inputs = {3, 3}},
    {.names = "bmm",
     .forward = bmm,
     .backward = bmm_gradient,
     .flags = SPMD_LISTS | SPMD_GRADIENT,
     .inputs = {2, 2},
     .outputs = {1, 1}},
    {.names = "bmm_grad", .forward = bmm_gradient, .flags = SPMD_LISTS, .inputs = {3, 3}},
    {.names = "fused_gemm_epilogue", .forward = gemm_with_bias, .inputs = {3, 3}},
    {.names = "linear_v2", .forward = linear, .inputs = {3, 3}},
    {.names = "fused_linear_param_grad_add",
     .forward = add_gradients,
     .flags = SPMD_LISTS,
     .inputs = {2, 4}},
    {0},
};
