/* Rules of cross entropy and label smoothing. 'k' is the dim of the classes; it has size 1 ('1') in
 * the loss and in labels that are class numbers. */
#include "core/peers/paddle/answer.h"

typedef struct {
    bool soft_label, use_softmax;
    int axis;
    const char *logits; /* "abk" */
    const char *label;  /* "abk" of soft labels, "ab1" of class numbers */
    const char *loss;   /* "ab1" */
} Entropy;

static bool entropy_letters(const SpmdCall *call, int n_dims, Entropy *entropy, Error *err)
{
    entropy->soft_label = spmd_int(call, "soft_label", 0) != 0;
    entropy->use_softmax = spmd_int(call, "use_softmax", 1) != 0;
    if (!spmd_axis(spmd_int(call, "axis", -1), n_dims, &entropy->axis, err))
        return false;
    const char *letters = letters_without(call, n_dims, "k");
    entropy->logits = letters_with(call, letters, entropy->axis, 'k');
    entropy->loss = letters_with(call, letters, entropy->axis, '1');
    entropy->label = entropy->soft_label ? entropy->logits : entropy->loss;
    return true;
}

/* ---- cross_entropy_with_softmax ---- */

/* logits, label -> softmax, loss. The static rule keeps the classes split, for a kernel that
 * communicates. */
static bool entropy_answer(SpmdCall *call, bool split_classes, Error *err)
{
    const SpmdTensor *logits = &call->input[0], *label = &call->input[1];
    Entropy entropy;
    if (!entropy_letters(call, logits->n_dims, &entropy, err) ||
        !check_rank(label, logits->n_dims, "label", err))
        return false;
    if (spmd_is_split(logits, entropy.axis) &&
        (entropy.soft_label || !entropy.use_softmax || entropy.axis != logits->n_dims - 1))
        return error_kind(
            err, ERROR_INVALID,
            "split classes need class numbers as labels, the last axis, and use_softmax");
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC,
                    (SpmdOperand[]){{entropy.logits, logits}, {entropy.label, label}}, 2, &merged,
                    err))
        return false;
    if (!split_classes)
        merged_forget(&merged, 'k');
    need_letters(call, logits, entropy.logits, &merged);
    need_letters(call, label, entropy.label, &merged);
    out_letters(call, entropy.use_softmax ? entropy.logits : "", &merged);
    out_letters(call, entropy.loss, &merged);
    return true;
}

static bool entropy_forward(SpmdCall *call, Error *err)
{
    return entropy_answer(call, true, err);
}

static bool entropy_eager(SpmdCall *call, Error *err)
{
    return entropy_answer(call, false, err);
}

/* Exact: without use_softmax, softmax must have no dims. */
static bool check_softmax(const SpmdCall *call, const Entropy *entropy, const SpmdTensor *softmax,
                          int n_dims, Error *err)
{
    if (entropy->use_softmax)
        return check_rank(softmax, n_dims, "softmax", err);
    return !call->exact || check_rank(softmax, 0, "softmax", err);
}

static bool entropy_backward(SpmdCall *call, Error *err)
{
    const SpmdTensor *logits = &call->input[0], *softmax = &call->output[0],
                     *loss = &call->output[1];
    Entropy entropy;
    if (!entropy_letters(call, logits->n_dims, &entropy, err) ||
        !check_rank(loss, logits->n_dims, "loss", err) ||
        !check_softmax(call, &entropy, softmax, logits->n_dims, err))
        return false;
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC,
                    (SpmdOperand[]){{entropy.loss, loss}, {entropy.logits, softmax}},
                    entropy.use_softmax ? 2 : 1, &merged, err))
        return false;
    if (entropy.soft_label || entropy.axis != logits->n_dims - 1)
        merged_forget(&merged, 'k');
    for (int i = 0; i < 2; i++)
        spmd_set_letters(spmd_need_as_given(call, spmd_given(call, &call->input[i])),
                         i == 0 ? entropy.logits : entropy.label, &merged);
    spmd_set_letters(spmd_out_as_given(call, softmax), entropy.use_softmax ? entropy.logits : "",
                     &merged);
    spmd_set_letters(spmd_out_as_given(call, loss), entropy.loss, &merged);
    return true;
}

/* label, softmax, loss_grad -> logits_grad: the classes are not split. */
static bool entropy_gradient(SpmdCall *call, Error *err)
{
    const SpmdTensor *label = &call->input[0], *softmax = &call->input[1],
                     *loss_grad = &call->input[2];
    Entropy entropy;
    if (!entropy_letters(call, loss_grad->n_dims, &entropy, err) ||
        !check_rank(label, loss_grad->n_dims, "label", err) ||
        !check_softmax(call, &entropy, softmax, loss_grad->n_dims, err))
        return false;
    SpmdTensor none = {.absent = true};
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC,
                    (SpmdOperand[]){{entropy.label, label},
                                    {entropy.logits, entropy.use_softmax ? softmax : &none},
                                    {entropy.loss, loss_grad}},
                    3, &merged, err))
        return false;
    merged_forget(&merged, 'k');
    need_letters(call, label, entropy.label, &merged);
    need_letters(call, softmax, entropy.use_softmax ? entropy.logits : "", &merged);
    need_letters(call, loss_grad, entropy.loss, &merged);
    out_letters(call, entropy.label, &merged);
    return true;
}

/* ---- the same with split classes: the last dim of the logits ---- */

/* The letters of logits (or softmax), of labels, and of the loss. */
typedef struct {
    const char *logits, *label, *loss;
} Classes;

/* With several labels a token, their dim has its own letter, which the loss shares unless the
 * losses are summed; else it has size 1. */
static bool classes_letters(const SpmdCall *call, Classes *classes, bool several, Error *err)
{
    int n_dims = call->input[0].n_dims;
    *classes = (Classes){"", "", ""};
    if (n_dims < 1)
        return error_kind(err, ERROR_INVALID, "the logits have no dims");
    for (int i = 1; i < call->n_inputs; i++)
        if (!check_rank(&call->input[i], n_dims, "an operand", err))
            return false;
    const char *letters = letters_without(call, n_dims, "kn");
    classes->logits = letters_with(call, letters, n_dims - 1, 'k');
    classes->label = letters_with(call, letters, n_dims - 1, several ? 'n' : '1');
    bool summed = spmd_int(call, "sum_multi_label_loss", 1) != 0;
    classes->loss = summed ? letters_with(call, letters, n_dims - 1, '1') : classes->label;
    return true;
}

/* logits, label [, smooth weight] -> softmax, loss */
static bool classes_forward(SpmdCall *call, Error *err)
{
    Classes classes;
    if (!classes_letters(call, &classes, call->n_inputs == 3, err))
        return false;
    SpmdOperand operand[3] = {{classes.logits, &call->input[0]}};
    for (int i = 1; i < call->n_inputs; i++)
        operand[i] = (SpmdOperand){classes.label, &call->input[i]};
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC, operand, call->n_inputs, &merged, err))
        return false;
    for (int i = 0; i < call->n_inputs; i++)
        need_letters(call, &call->input[i], operand[i].letters, &merged);
    out_letters(call, classes.logits, &merged);
    out_letters(call, classes.loss, &merged);
    return true;
}

/* softmax, label [, smooth weight], loss_grad -> logits_grad. The labels come first in the
 * merge. */
static bool classes_gradient(SpmdCall *call, Error *err)
{
    Classes classes;
    int last = call->n_inputs - 1;
    if (!classes_letters(call, &classes, last == 3, err))
        return false;
    SpmdOperand operand[4];
    for (int i = 1; i < last; i++)
        operand[i - 1] = (SpmdOperand){classes.label, &call->input[i]};
    operand[last - 1] = (SpmdOperand){classes.logits, &call->input[0]};
    operand[last] = (SpmdOperand){classes.loss, &call->input[last]};
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC, operand, call->n_inputs, &merged, err))
        return false;
    need_letters(call, &call->input[0], classes.logits, &merged);
    for (int i = 1; i < last; i++)
        need_letters(call, &call->input[i], classes.label, &merged);
    need_letters(call, &call->input[last], classes.loss, &merged);
    out_letters(call, classes.logits, &merged);
    return true;
}

/* ---- label_smooth: label [, prior distribution] ---- */

/* Without a prior: elementwise. */
static bool label_alone(SpmdCall *call, Error *err)
{
    (void)err;
    SpmdTensor *label = spmd_need(call, spmd_given(call, &call->input[0]));
    spmd_drop_indivisible(call, label);
    if (call->n_inputs > 1)
        spmd_need(call, &call->input[1]);
    spmd_out(call, label);
    return true;
}

/* The prior broadcasts against the label, and loses the axes that split dims it lacks.
 */
static bool label_smooth_forward(SpmdCall *call, Error *err)
{
    const SpmdTensor *label = &call->input[0], *prior = input_at(call, 1);
    if (prior->absent)
        return label_alone(call, err);
    if (prior->n_dims > label->n_dims)
        return error_kind(err, ERROR_INVALID, "the prior has more dims than the label");
    const char *letters = spmd_broadcast_letters(call, label, label->n_dims, false);
    const char *prior_letters = spmd_broadcast_letters(call, prior, label->n_dims, false);
    SpmdTensor asked = *prior;
    for (int d = 0; d < asked.n_dims; d++)
        for (int extra = 0; extra < label->n_dims - prior->n_dims; extra++)
            for (int i = 0; i < label->dim[extra].n; i++)
                spmd_axes_remove(&asked.dim[d], label->dim[extra].axis[i]);
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC, (SpmdOperand[]){{letters, label}, {prior_letters, &asked}},
                    2, &merged, err))
        return false;
    need_letters(call, label, letters, &merged);
    need_letters(call, prior, prior_letters, &merged);
    out_letters(call, letters, &merged);
    return true;
}

/* Label and prior follow the output. */
static bool label_smooth_backward(SpmdCall *call, Error *err)
{
    SpmdTensor *out = spmd_out(call, spmd_given(call, &call->output[0]));
    const char *letters = spmd_letters(call, out->n_dims, 'a');
    spmd_drop_indivisible(call, out);
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC, (SpmdOperand[]){{letters, out}}, 1, &merged, err))
        return false;
    for (int i = 0; i < call->n_inputs; i++)
        need_letters(call, &call->input[i],
                     spmd_broadcast_letters(call, &call->input[i], out->n_dims, false), &merged);
    return true;
}

static bool label_smooth_gradient(SpmdCall *call, Error *err)
{
    (void)err;
    spmd_out(call, spmd_need(call, &call->input[0]));
    return true;
}

const SpmdRule spmd_rules_loss[] = {
    {.names = "cross_entropy_with_softmax",
     .forward = entropy_forward,
     .backward = entropy_backward,
     .eager = entropy_eager,
     .inputs = {2, 2},
     .outputs = {2, 2}},
    {.names = "softmax_with_cross_entropy",
     .forward = entropy_forward,
     .backward = entropy_backward,
     .inputs = {2, 2},
     .outputs = {2, 2}},
    {.names = "cross_entropy_with_softmax_grad softmax_with_cross_entropy_grad",
     .forward = entropy_gradient,
     .inputs = {3, 3}},
    {.names = "c_softmax_with_cross_entropy", .forward = classes_forward, .inputs = {2, 2}},
    {.names = "c_softmax_with_cross_entropy_grad", .forward = classes_gradient, .inputs = {3, 3}},
    {.names = "c_softmax_with_multi_label_cross_entropy",
     .forward = classes_forward,
     .inputs = {3, 3}},
    {.names = "c_softmax_with_multi_label_cross_entropy_grad",
     .forward = classes_gradient,
     .inputs = {4, 4}},
    {.names = "label_smooth",
     .forward = label_smooth_forward,
     .backward = label_smooth_backward,
     .inputs = {1, 2},
     .outputs = {1, 1}},
    {.names = "label_smooth_grad",
     .forward = label_smooth_gradient,
     .flags = SPMD_LISTS,
     .inputs = {1, 1}},
    {0},
};
