/* random.c - operators that draw numbers.
 *
 * A number depends on the seed and on the place of its element in the whole tensor, so any cut
 * draws what one device would: the output's dims are index dims d0, d1, .., although no input has
 * them (RandomNormal) or its values do not count (RandomNormalLike).
 *
 *     Multinomial   b c^ -> b n      n samples of each row
 */
#include "core/rules/args.h"

static bool draw_space(RuleCall *call, Error *err)
{
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    const Shape *out = &call->out_shape[0];
    for (int d = 0; d < out->n_dims; d++) {
        int index = rule_index_at(call, 'd', d, out->dim[d]);
        if (call->n_inputs > 0)
            rule_unit(&space->operand[0], d, index);
        rule_unit(rule_output(space, 0), d, index);
    }
    return true;
}

static bool draw(RuleCall *call, Error *err)
{
    Ints sizes;
    Shape *out = &call->out_shape[0];
    if (!args_ints(call, -1, "shape", &sizes, err) ||
        !args_dtype(call, "dtype", DT_F32, &call->out_dtype[0], err))
        return false;
    if (!sizes.given)
        return error_set(err, "it has no shape");
    if (sizes.n > DIMS_MAX)
        return error_kind(err, ERROR_RANK, "its output has more than %d dims", DIMS_MAX);
    *out = (Shape){.n_dims = sizes.n};
    for (int d = 0; d < sizes.n; d++)
        out->dim[d] = sizes.at[d];
    return draw_space(call, err);
}

static bool draw_like(RuleCall *call, Error *err)
{
    call->out_shape[0] = *call->shape[0];
    return args_dtype(call, "dtype", call->dtype[0], &call->out_dtype[0], err) &&
           draw_space(call, err);
}

static bool multinomial(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    if (!args_rank(call, 0, 2, 2, err))
        return false;
    call->out_shape[0] =
        (Shape){.n_dims = 2, .dim = {from->dim[0], args_int(call, "sample_size", 1)}};
    if (!args_dtype(call, "dtype", DT_I32, &call->out_dtype[0], err))
        return false;
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int b = rule_index(space, "b", from->dim[0], ROLE_MAP, REDUCE_NONE);
    int c = rule_index(space, "c", from->dim[1], ROLE_FROZEN, REDUCE_NONE);
    rule_unit(&space->operand[0], 0, b);
    rule_unit(&space->operand[0], 1, c);
    rule_unit(rule_output(space, 0), 0, b);
    return true;
}

#define FAMILY "random"

const Operator operators_random[] = {
    {OP("RandomNormal", draw, 8, 0, 0), EARLY_DRAWS, ONNX("dtype mean scale seed shape", ""),
     .kernel = "RandomNormal", .examples = "() shape=[5,6]", NNSCALER("randn(size=shape)"),
     TORCH("randn(size=shape)")},
    {OP("RandomUniform", draw, 8, 0, 0), EARLY_DRAWS, ONNX("dtype high low seed shape", ""),
     .kernel = "RandomUniform", .examples = "() shape=[5,6]", NNSCALER("rand(size=shape)"),
     TORCH("rand(size=shape)")},
    {OP("RandomNormalLike", draw_like, 8, 1, 1), GRADIENT("0: zero"), EARLY_DRAWS,
     ONNX("dtype mean scale seed", ""), .kernel = "RandomNormal", .examples = "5x6",
     NNSCALER("randn_like"), TORCH("randn_like normal_ normal")},
    {OP("RandomUniformLike", draw_like, 8, 1, 1), GRADIENT("0: zero"), EARLY_DRAWS,
     ONNX("dtype high low seed", ""), .kernel = "RandomUniform", .examples = "5x6",
     NNSCALER("rand_like"), TORCH("rand_like uniform_ uniform exponential_ random_")},
    {OP("Bernoulli", draw_like, 8, 1, 1), GRADIENT("all: zero"), EARLY_DRAWS,
     ONNX("dtype seed", ".f"), .kernel = "Bernoulli", .examples = "5x6",
     TORCH("bernoulli(; 0) bernoulli_(; 0)"), PADDLE("bernoulli")},
    {OP("Multinomial", multinomial, 8, 1, 1), GRADIENT("all: zero"), .flags = OPERATOR_DRAWS,
     ONNX("dtype sample_size seed", ".f"), .kernel = "Multinomial", .examples = "5x6 sample_size=4",
     TORCH("multinomial(num_samples=sample_size;; dtype:=7)"),
     PADDLE("multinomial(num_samples=sample_size;; dtype:=7)")},
    {0},
};
