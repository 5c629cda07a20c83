/* loss.c - losses over classes, and the optimizers of ai.onnx.preview.training.
 *
 *     loss, reduction=none    n c^ d2, n d2, c^ -> n d2
 *     loss, reduction=sum     n+ c^ d2+, n+ d2+, c^ ->
 *     mean                    as sum; n^, d2^ where weights or ignored labels make its divisor data
 *
 * A mean is a sum divided by the global count. The second output, the log-probabilities, has all
 * dims. If it is used beside a sum or mean, these dims are frozen, since one index dim cannot be
 * both kept and summed.
 *
 * An optimizer's inputs are the rate, the step, then per role (weights, gradients, moments) one
 * tensor of each parameter; everything happens element by element: parameter 0 has index dims a0,
 * a1, .., the next one b0, .. as long as there is room for them.
 */
#include "core/rules/operators/dims.h"

#include <inttypes.h>

/* ---- losses ---- */

typedef struct {
    IndexRole role;
    ReduceOp reduce;
    bool scalar;
} LossForm;

/* weighted: weights of the classes, or a class that does not count, decide what a mean divides by.
 */
static bool read_form(const RuleCall *call, bool weighted, LossForm *form, Error *err)
{
    Str text = args_text(call, "reduction", "mean");
    bool none = str_eq(text, STR("none")), sum = str_eq(text, STR("sum"));
    if (!none && !sum && !str_eq(text, STR("mean")))
        return error_set(err, "unknown reduction '%.*s'", (int)text.n, text.s);
    bool keeps_all = call->n_outputs > 1 && call->out_shape[1].n_dims > 0;
    bool data_divides = weighted && !sum && (args_has(call, 2) || args_attr(call, "ignore_index"));
    if (none)
        *form = (LossForm){ROLE_MAP, REDUCE_NONE, false};
    else if (keeps_all || data_divides)
        *form = (LossForm){ROLE_FROZEN, REDUCE_NONE, true};
    else
        *form = (LossForm){ROLE_REDUCE, REDUCE_SUM, true};
    return true;
}

/* The class dim: the second, or the only one. */
static int class_dim(const Shape *scores)
{
    return scores->n_dims > 1 ? 1 : 0;
}

static bool labels_fit(const RuleCall *call, Error *err)
{
    const Shape *scores = call->shape[0];
    if (!args_rank(call, 0, 1, DIMS_MAX, err))
        return false;
    Shape labels = dims_without_one(scores, class_dim(scores));
    Shape weights = {.n_dims = 1, .dim = {scores->dim[class_dim(scores)]}};
    return args_shape(call, 1, &labels, err) &&
           (!args_has(call, 2) || args_shape(call, 2, &weights, err));
}

/* out_shape[1] is set if there is a second output: the shape of the scores, or a scalar. */
static bool loss(RuleCall *call, Error *err)
{
    const Shape *scores = call->shape[0];
    LossForm form = {0};
    if (!labels_fit(call, err) || !read_form(call, true, &form, err))
        return false;
    call->out_shape[0] = form.scalar ? (Shape){0} : *call->shape[1];
    for (int o = 0; o < call->n_outputs; o++)
        call->out_dtype[o] = call->dtype[0];
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;

    int classes = class_dim(scores);
    for (int d = 0; d < scores->n_dims; d++) {
        int index = d == classes ? rule_index(space, "c", scores->dim[d], ROLE_FROZEN, REDUCE_NONE)
                    : d == 0     ? rule_index(space, "n", scores->dim[d], form.role, form.reduce)
                                 : rule_index_at(call, 'd', d, scores->dim[d]);
        if (index >= 0 && d > classes) {
            space->index[index].role = form.role;
            space->index[index].reduce = form.reduce;
        }
        rule_unit(&space->operand[0], d, index);
        if (call->n_outputs > 1 && call->out_shape[1].n_dims > 0)
            rule_unit(rule_output(space, 1), d, index);
        if (d == classes && args_has(call, 2))
            rule_unit(&space->operand[2], 0, index);
        if (d != classes)
            rule_unit(&space->operand[1], d > classes ? d - 1 : d, index);
        if (d != classes && !form.scalar)
            rule_unit(rule_output(space, 0), d > classes ? d - 1 : d, index);
    }
    return true;
}

static bool softmax_cross_entropy(RuleCall *call, Error *err)
{
    if (call->n_outputs > 1)
        call->out_shape[1] = *call->shape[0];
    return loss(call, err);
}

/* torch has a second output, the sum of the labels' weights. */
static bool negative_log_likelihood(RuleCall *call, Error *err)
{
    if (call->n_outputs > 1)
        call->out_shape[1] = (Shape){0};
    return loss(call, err);
}

/* Paddle: logits, labels -> softmax, loss. Labels have the shape of the logits, with size 1 at the
 * axis or without that dim. */
static bool cross_entropy_with_softmax(RuleCall *call, Error *err)
{
    const Shape *logits = call->shape[0], *labels = call->shape[1];
    DimUse use[DIMS_MAX];
    int index[DIMS_MAX], axis;
    if (!args_axis(args_int(call, "axis", -1), logits->n_dims, &axis, err))
        return false;
    for (int d = 0; d < logits->n_dims; d++)
        use[d] = d == axis ? DIM_FROZEN : DIM_MAP;
    dims_answer(call, logits, call->dtype[0]);
    if (call->n_outputs > 1)
        call->out_shape[1].dim[axis] = 1;
    OpSpace *space = dims_space(call, logits, use, index, err);
    if (!space || labels->n_dims != logits->n_dims - 1)
        return space;
    for (int d = 0; d < labels->n_dims; d++) {
        int at = d < axis ? d : d + 1;
        if (!args_same_size(call, 1, d, 0, at, err))
            return false;
        rule_unit(&space->operand[1], d, index[at]);
    }
    return true;
}

/* ---- distances ---- */

/* The distance of two tensors of one shape: per element, summed, or averaged (a sum divided by the
 * global count). */
static bool distance(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    DimUse use[DIMS_MAX];
    LossForm form = {0};
    if (!args_same_shape(call, 0, 1, err) || !read_form(call, false, &form, err))
        return false;
    for (int64_t d = 0; d < from->n_dims; d++)
        use[d] = form.scalar ? DIM_SUM : DIM_MAP;
    Shape out = form.scalar ? (Shape){0} : *from;
    dims_answer(call, &out, call->dtype[0]);
    return dims_space(call, from, use, NULL, err);
}

/* A norm of the difference, which is frozen: roots of partial sums do not add up. */
static bool norm_of_difference(RuleCall *call, Error *err)
{
    DimUse use[DIMS_MAX];
    Shape common, scalar = {0};
    if (!args_broadcast(call->shape, 2, &common, err))
        return false;
    for (int64_t d = 0; d < common.n_dims; d++)
        use[d] = DIM_FROZEN;
    dims_answer(call, &scalar, call->dtype[0]);
    return dims_space(call, &common, use, NULL, err);
}

/* ---- optimizers ---- */

typedef struct {
    int inputs, outputs; /* tensors a parameter */
} Roles;

static bool optimizer(RuleCall *call, Roles roles, Error *err)
{
    int n = (call->n_inputs - 2) / roles.inputs;
    if (n < 1 || call->n_inputs != 2 + n * roles.inputs || call->n_outputs > n * roles.outputs)
        return error_set(err, "its %d inputs and %d outputs are not 2 and %d, and %d, a parameter",
                         call->n_inputs, call->n_outputs, roles.inputs, roles.outputs);
    for (int i = 2; i < call->n_inputs; i++)
        if (!call->shape[i])
            return error_set(err, "its input %d is absent", i);
        else if (!args_same_shape(call, i, 2 + (i - 2) % n, err))
            return false;
    for (int o = 0; o < call->n_outputs; o++) {
        call->out_shape[o] = *call->shape[2 + o % n];
        call->out_dtype[o] = call->dtype[2 + o % n];
    }
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;

    for (int p = 0; p < n && p < 26 && p < call->n_outputs; p++) {
        const Shape *shape = call->shape[2 + p];
        for (int64_t d = 0; d < shape->n_dims && space->n_index < X_MAX; d++) {
            int index = rule_index_at(call, (char)('a' + p), d, shape->dim[d]);
            for (int i = 2 + p; i < call->n_inputs; i += n)
                rule_unit(&space->operand[i], d, index);
            for (int o = p; o < call->n_outputs; o += n)
                rule_unit(rule_output(space, o), d, index);
        }
    }
    return true;
}

static bool three_to_two(RuleCall *call, Error *err)
{
    return optimizer(call, (Roles){3, 2}, err);
}

static bool four_to_three(RuleCall *call, Error *err)
{
    return optimizer(call, (Roles){4, 3}, err);
}

/* Derivatives of a tensor that is computed elsewhere in the graph. The rule does not know how they
 * depend on the inputs, so nothing is sharded. */
static bool gradient(RuleCall *call, Error *err)
{
    for (int o = 0; o < call->n_outputs; o++) {
        if (o >= call->n_inputs || !call->shape[o])
            return error_set(err, "it has no input for its output %d", o);
        call->out_shape[o] = *call->shape[o];
        call->out_dtype[o] = call->dtype[o];
    }
    return rule_space(call, err);
}

#define FAMILY "loss"

const Operator operators_loss[] = {
    {OP("SoftmaxCrossEntropyLoss", softmax_cross_entropy, 8, 2, 3),
     .flags = OPERATOR_CHOOSES | OPERATOR_LABELS,
     GRADIENT("0: SoftmaxCrossEntropyLossBackward(x0 x1 x2); 2: SoftmaxCrossEntropyLossBackward(x0 "
              "x1 x2)"),
     .outputs_max = 2, ONNX("ignore_index reduction", "Af .i Af"),
     .kernel = "SoftmaxCrossEntropyLoss",
     .examples = "5x6x4,5x4:i64 reduction=none; 5x6x4,5x4:i64,6 reduction=sum; 5x6x4,5x4:i64,6 "
                 "reduction=mean; 5x6,5:i64 reduction=mean -> 2; 5x6,5:i64 reduction=none -> 2",
     NNSCALER("cross_entropy"), TORCH("cross_entropy cross_entropy_loss")},
    {OP("NegativeLogLikelihoodLoss", negative_log_likelihood, 1, 2, 3), .flags = OPERATOR_LABELS,
     GRADIENT("0: NegativeLogLikelihoodLossBackward(x0 x1 x2); 2: "
              "NegativeLogLikelihoodLossBackward(x0 x1 x2)"),
     .outputs_max = 2, ONNX("ignore_index reduction", "Af .i Af"),
     .kernel = "NegativeLogLikelihoodLoss",
     .examples = "5x6x4,5x4:i64 reduction=none; 5x6x4,5x4:i64,6 reduction=sum; 5x6x4,5x4:i64,6 "
                 "reduction=mean; 5x6,5:i64 reduction=mean -> 2",
     NNSCALER("nll_loss"), TORCH("nll_loss nll_loss_forward nll_loss2d_forward nll_loss_nd"),
     PADDLE("nll_loss")},
    {OP("CrossEntropyWithSoftmax", cross_entropy_with_softmax, 8, 2, 3),
     .flags = OPERATOR_CHOOSES | OPERATOR_LABELS, .outputs_max = 2,
     OWN("axis ignore_index soft_label", ".f"),
     .examples = "5x6x4,5x1x4:i64 axis=1 -> 2; 5x6,5:i64 -> 2",
     PADDLE("cross_entropy_with_softmax softmax_with_cross_entropy c_softmax_with_cross_entropy "
            "c_softmax_with_multi_label_cross_entropy")},
    {OP("L1Loss", distance, 2, 2, 2), OWN("reduction", ".f .f"),
     .examples = "5x6,5x6 reduction=none; 5x6,5x6 reduction=mean", NNSCALER("l1_loss"),
     TORCH("l1_loss")},
    {OP("MseLoss", distance, 2, 2, 2), OWN("reduction", ".f .f"),
     .examples = "5x6,5x6 reduction=none; 5x6,5x6 reduction=mean", TORCH("mse_loss")},
    {OP("Dist", norm_of_difference, 2, 2, 2), OWN("p", ".f .f"), .examples = "5x6,6", TORCH("dist"),
     PADDLE("dist")},
    {OP("ai.onnx.preview.training::Adagrad", three_to_two, 8, 2, OPERATOR_ANY),
     .outputs_max = OPERATOR_MANY, ONNX("decay_factor epsilon norm_coefficient", ".f .i .f+"),
     .kernel = "ai.onnx.preview.training::Adagrad",
     .examples = "scalar,scalar:i64,5x6,7,5x6,7,5x6,7 -> 4"},
    {OP("ai.onnx.preview.training::Momentum", three_to_two, 4, 2, OPERATOR_ANY),
     .outputs_max = OPERATOR_MANY, ONNX("alpha beta mode norm_coefficient", ".f .i .f+"),
     .kernel = "ai.onnx.preview.training::Momentum",
     .examples = "scalar,scalar:i64,5x6,7,5x6,7,5x6,7 -> 4"},
    {OP("ai.onnx.preview.training::Adam", four_to_three, 16, 2, OPERATOR_ANY),
     .outputs_max = OPERATOR_MANY,
     ONNX("alpha beta epsilon norm_coefficient norm_coefficient_post", ".f .i .f+"),
     .kernel = "ai.onnx.preview.training::Adam",
     .examples = "scalar,scalar:i64,5x6,5x6,5x6,5x6 -> 3"},
    {OP("ai.onnx.preview.training::Gradient", gradient, 0, 1, OPERATOR_ANY),
     .outputs_max = OPERATOR_MANY, ONNX("xs y zs", ""), .examples = "5x6,7,scalar -> 2"},
    {0},
};
