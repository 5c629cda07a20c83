/* Rules of elementwise operators: unary, binary, add_n, and their gradients. */
#include "core/peers/paddle/merge.h"

/* ---- one operand ---- */

/* The mapping that x and out share: x's axes that divide the dims. */
static bool share(SpmdCall *call, const SpmdTensor *given, bool partial, Error *err)
{
    SpmdOperand operand = {spmd_letters(call, given->n_dims, 'a'), given};
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_BY_LISTS, &operand, 1, &merged, err))
        return false;
    SpmdTensor shared = partial ? *given : spmd_without_partial(given);
    spmd_set_letters(&shared, operand.letters, &merged);
    spmd_need_as_given(call, &shared);
    spmd_out_as_given(call, &shared);
    return true;
}

static bool unary(SpmdCall *call, Error *err)
{
    return share(call, &call->input[0], false, err);
}

static bool unary_backward(SpmdCall *call, Error *err)
{
    return share(call, &call->output[0], false, err);
}

/* Linear in x, so partial values stay partial. */
static bool cast(SpmdCall *call, Error *err)
{
    return share(call, &call->input[0], true, err);
}

/* Inputs are any of x and out, and last the gradient of out, which the others follow. */
static bool unary_gradient(SpmdCall *call, Error *err)
{
    (void)err;
    for (int i = 0; i < call->n_inputs; i++)
        spmd_need(call, &call->input[call->n_inputs - 1]);
    spmd_out(call, &call->input[call->n_inputs - 1]);
    return true;
}

/* ---- two operands ---- */

typedef struct {
    const char *x, *y, *out;
} BinaryLetters;

/* A dim of the output is '1' if it is 1 in both operands. */
static BinaryLetters binary_letters(const SpmdCall *call)
{
    const SpmdTensor *x = &call->input[0], *y = &call->input[1];
    int n = x->n_dims > y->n_dims ? x->n_dims : y->n_dims;
    BinaryLetters letters = {spmd_broadcast_letters(call, x, n, false),
                             spmd_broadcast_letters(call, y, n, false), NULL};
    char *out = arena_array(call->arena, char, n + 1);
    for (int d = 0; d < n; d++) {
        int of_x = d - (n - x->n_dims), of_y = d - (n - y->n_dims);
        bool wide = (of_x >= 0 && letters.x[of_x] != '1') || (of_y >= 0 && letters.y[of_y] != '1');
        out[d] = wide ? (char)('a' + d) : '1';
    }
    letters.out = out;
    return letters;
}

static bool binary(SpmdCall *call, Error *err)
{
    BinaryLetters letters = binary_letters(call);
    SpmdOperand operand[] = {{letters.x, &call->input[0]}, {letters.y, &call->input[1]}};
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC, operand, 2, &merged, err))
        return false;
    spmd_set_letters(spmd_need(call, &call->input[0]), letters.x, &merged);
    spmd_set_letters(spmd_need(call, &call->input[1]), letters.y, &merged);
    spmd_set_letters(spmd_out_whole(call, 0), letters.out, &merged);
    return true;
}

static bool binary_backward(SpmdCall *call, Error *err)
{
    BinaryLetters letters = binary_letters(call);
    SpmdOperand operand = {letters.out, &call->output[0]};
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC, &operand, 1, &merged, err))
        return false;
    spmd_set_letters(spmd_need(call, &call->input[0]), letters.x, &merged);
    spmd_set_letters(spmd_need(call, &call->input[1]), letters.y, &merged);
    spmd_out(call, &call->output[0]);
    return true;
}

/* True if partial with sum or average, which products and sums preserve, unlike a maximum. Exact:
 * any reduction. */
static bool has_addends(const SpmdCall *call, const SpmdTensor *tensor)
{
    for (int axis = 0; axis < MESH_AXES_MAX && !call->exact; axis++)
        if (tensor->partial[axis] > REDUCE_AVG)
            return false;
    return true;
}

/* A product is linear in each factor: one may stay partial if none of its partial axes splits a
 * dim. If both are partial, the one with more dims stays so, else x. */
static bool multiply(SpmdCall *call, Error *err)
{
    if (!binary(call, err))
        return false;
    const SpmdTensor *x = &call->input[0], *y = &call->input[1];
    int linear = spmd_is_partial(x) && (!spmd_is_partial(y) || x->n_dims >= y->n_dims) ? 0 : 1;
    const uint8_t *partial = call->input[linear].partial;
    SpmdTensor *need = call->need.at[linear], *out = call->out.at[0];
    if (!has_addends(call, &call->input[linear]))
        return true;
    for (int axis = 0; axis < call->mesh->n_axes; axis++)
        if (partial[axis] != REDUCE_NONE &&
            (spmd_uses_axis(need, axis) || spmd_uses_axis(out, axis)))
            return true;
    memcpy(need->partial, partial, sizeof need->partial);
    memcpy(out->partial, partial, sizeof out->partial);
    return true;
}

/* An operand of the forward op gets the gradient's mapping on its dims; its own gradient is partial
 * over the axes that split broadcast dims. Lists pass only if both have the same dims. */
static void follow_gradient(SpmdCall *call, const SpmdTensor *operand, const SpmdTensor *gradient)
{
    SpmdTensor reduced = *gradient;
    spmd_keep_largest_axes(call, &reduced);
    spmd_reduce_broadcast(&reduced, operand->n_dims, &operand->shape);
    bool same = shape_equal(&operand->shape, &gradient->shape) && !spmd_is_partial(&reduced);
    SpmdTensor answer = same ? *gradient : reduced;
    answer.shape = operand->shape;
    spmd_need(call, &answer);
    spmd_out_as_given(call, &answer);
}

/* x, y [, out], out_grad. Exact: out needs the partial axes of its gradient. */
static bool binary_gradient(SpmdCall *call, Error *err)
{
    int last = call->n_inputs - 1;
    SpmdTensor gradient = spmd_without_partial(&call->input[last]);
    if (gradient.n_dims < call->input[0].n_dims || gradient.n_dims < call->input[1].n_dims)
        return error_kind(err, ERROR_RANK, "the gradient has fewer dims than an operand");
    follow_gradient(call, &call->input[0], &gradient);
    follow_gradient(call, &call->input[1], &gradient);
    for (int i = 2; i <= last; i++)
        spmd_need_as_given(call, i < last && call->exact ? &call->input[last] : &gradient);
    return true;
}

/* ---- any number of operands of the same shape ---- */

static bool same_partial(const SpmdCall *call)
{
    for (int i = 1; i < call->n_inputs; i++)
        if (memcmp(call->input[i].partial, call->input[0].partial, sizeof call->input[0].partial) !=
            0)
            return false;
    return true;
}

/* A sum is linear in its operands, so equally partial operands may stay so. */
static bool add_n(SpmdCall *call, Error *err)
{
    SpmdOperand *operand = arena_array(call->arena, SpmdOperand, call->n_inputs);
    for (int i = 0; i < call->n_inputs; i++)
        operand[i] = (SpmdOperand){spmd_letters(call, call->input[i].n_dims, 'a'), &call->input[i]};
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC, operand, call->n_inputs, &merged, err))
        return false;
    bool partial = same_partial(call) && has_addends(call, &call->input[0]);
    SpmdTensor shared = partial ? call->input[0] : spmd_without_partial(&call->input[0]);
    spmd_set_letters(&shared, operand[0].letters, &merged);
    for (int i = 0; i < call->n_inputs; i++)
        spmd_need_as_given(call, &shared);
    spmd_out_as_given(call, &shared);
    return true;
}

#define UNARY                                                                                      \
    "elementwise_unary abs acos acosh asin asinh assign atan atanh bernoulli bitwise_not ceil "    \
    "celu clip conj cos cosh digamma elu erf erfinv exp expm1 fill floor hardshrink hardsigmoid "  \
    "hardswish hardtanh leaky_relu lgamma log log10 log1p log2 logical_not logit logsigmoid mish " \
    "poisson pow reciprocal relu relu6 round rsqrt scale selu sigmoid sign silu sin sinh "         \
    "softplus softshrink softsign sqrt square stanh swish tan tanh tanh_shrink thresholded_relu "  \
    "trunc"
#define UNARY_GRADIENTS                                                                            \
    "elementwise_unary_grad relu_grad celu_grad clip_grad elu_grad gelu_grad logit_grad "          \
    "mish_grad "                                                                                   \
    "pow_grad selu_grad softplus_grad softshrink_grad stanh_grad thresholded_relu_grad"
#define BINARY                                                                                     \
    "elementwise_binary elementwise_add elementwise_div elementwise_mul elementwise_pow add "      \
    "bitwise_and bitwise_or bitwise_xor divide floor_divide fmax fmin greater_than heaviside "     \
    "less_than logical_and logical_or logical_xor maximum minimum not_equal remainder subtract "   \
    "trunc_divide"

const SpmdRule spmd_rules_basic[] = {
    {.names = UNARY,
     .forward = unary,
     .backward = unary_backward,
     .flags = SPMD_LISTS,
     .inputs = {1, 1},
     .outputs = {1, 1}},
    {.names = "gelu",
     .forward = unary,
     .backward = unary_gradient,
     .flags = SPMD_LISTS | SPMD_GRADIENT,
     .inputs = {1, 1},
     .outputs = {1, 1}},
    {.names = "cast", .forward = cast, .flags = SPMD_LISTS, .inputs = {1, 1}},
    {.names = UNARY_GRADIENTS, .forward = unary_gradient, .flags = SPMD_LISTS, .inputs = {1, 3}},
    {.names = BINARY,
     .forward = binary,
     .backward = binary_backward,
     .inputs = {2, 2},
     .outputs = {1, 1}},
    {.names = "multiply",
     .forward = multiply,
     .backward = binary_backward,
     .inputs = {2, 2},
     .outputs = {1, 1}},
    {.names = "add_grad subtract_grad multiply_grad divide_grad maximum_grad",
     .forward = binary_gradient,
     .flags = SPMD_LISTS,
     .inputs = {3, 4}},
    {.names = "add_n", .forward = add_n, .inputs = {1, SPMD_ANY}},
    {0},
};
