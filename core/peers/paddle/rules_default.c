/* Rules for operators without their own rule (data parallel, replicated), and of optimizers and
 * gradient checks. */
#include "core/peers/paddle/answer.h"

/* ---- default_data_parallel, default_: dim 0 of every tensor is the batch ---- */

/* Merges the axes of the batch dims. */
static bool batch_merge(SpmdCall *call, const SpmdTensor *given, int n, SpmdLetters *merged,
                        Error *err)
{
    SpmdTensor *tensor = arena_array(call->arena, SpmdTensor, n);
    SpmdOperand *operand = arena_array(call->arena, SpmdOperand, n);
    for (int i = 0; i < n; i++) {
        tensor[i] = given[i];
        tensor[i].n_dims = given[i].n_dims > 0;
        operand[i] = (SpmdOperand){"b", &tensor[i]};
    }
    return spmd_merge(call, SPMD_CLASSIC, operand, n, merged, err);
}

static void answer_batch(SpmdTensor *answer, int n_dims, const SpmdLetters *merged)
{
    spmd_replicate(answer);
    answer->n_dims = n_dims;
    if (n_dims > 0)
        answer->dim[0] = *merged_axes(merged, 'b');
}

static bool data_parallel(SpmdCall *call, const SpmdTensor *given, int n, Error *err)
{
    SpmdLetters merged;
    if (!batch_merge(call, given, n, &merged, err))
        return false;
    for (int i = 0; i < call->n_inputs; i++)
        answer_batch(spmd_need(call, &call->input[i]), (int)call->input[i].shape.n_dims, &merged);
    for (int i = 0; i < call->n_outputs; i++)
        answer_batch(spmd_out(call, &call->output[i]), (int)call->output[i].shape.n_dims, &merged);
    return true;
}

static bool data_parallel_forward(SpmdCall *call, Error *err)
{
    return data_parallel(call, call->input, call->n_inputs, err);
}

static bool data_parallel_backward(SpmdCall *call, Error *err)
{
    return data_parallel(call, call->output, call->n_outputs, err);
}

static bool replicate_all(SpmdCall *call, Error *err)
{
    (void)err;
    for (int i = 0; i < call->n_inputs; i++)
        need_whole(call, &call->input[i]);
    for (int i = 0; i < call->n_outputs; i++)
        spmd_out_whole(call, (int)call->output[i].shape.n_dims);
    return true;
}

/* ---- numel, full_like ---- */

static bool full_like_forward(SpmdCall *call, Error *err)
{
    (void)err;
    spmd_need_as_given(call, &call->input[0]);
    spmd_out(call, &call->input[0]);
    return true;
}

/* x -> the number of its elements, a sum over the ranks. */
static bool numel_forward(SpmdCall *call, Error *err)
{
    const SpmdTensor *x = spmd_need_as_given(call, &call->input[0]);
    SpmdTensor *out = spmd_out_whole(call, 0);
    for (int d = 0; d < x->n_dims; d++)
        if (!spmd_set_partial(out, &x->dim[d], REDUCE_SUM, err))
            return false;
    return true;
}

/* ---- optimizers ---- */

enum { PARAM, GRAD, RATE, MOMENT1, MOMENT2, MOMENT2_MAX, BETA1, BETA2, MASTER, SKIP, ADAM_INPUTS };

/* Merges parameter and gradient and answers for both. */
static bool update_merge(SpmdCall *call, const SpmdTensor *param, const SpmdTensor *grad,
                         SpmdTensor *need_param, SpmdTensor *need_grad, Error *err)
{
    int n_dims = param->n_dims > grad->n_dims ? param->n_dims : grad->n_dims;
    const char *letters = spmd_broadcast_letters(call, param, n_dims, false);
    const char *grad_letters = spmd_broadcast_letters(call, grad, n_dims, false);
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC, (SpmdOperand[]){{letters, param}, {grad_letters, grad}}, 2,
                    &merged, err))
        return false;
    *need_param = spmd_without_partial(param);
    *need_grad = spmd_without_partial(grad);
    spmd_set_letters(need_param, letters, &merged);
    spmd_set_letters(need_grad, grad_letters, &merged);
    return true;
}

/* The axis on which all tensors that split the dim agree, or none. */
static SpmdAxes vote(const SpmdTensor *const *voter, int n, int dim)
{
    SpmdAxes agreed = {0};
    for (int i = 0; i < n; i++) {
        const SpmdAxes *axes = &voter[i]->dim[dim];
        if (agreed.n > 0 && axes->n > 0 && !spmd_axes_equal(&agreed, axes))
            return (SpmdAxes){0};
        if (axes->n > 0)
            agreed = *axes;
    }
    return agreed;
}

/* The answer for an output; an absent one has no dims. */
static void out_or_none(SpmdCall *call, const SpmdTensor *tensor)
{
    if (tensor->absent)
        spmd_out_whole(call, 0);
    else
        spmd_out(call, tensor);
}

/* param, grad, rate, moments 1, 2, 2 max, beta powers 1, 2, master, skip -> param, moments 1, 2,
 * 2 max, beta powers 1, 2, master */
static bool adam_forward(SpmdCall *call, Error *err)
{
    const SpmdTensor *given[ADAM_INPUTS];
    bool amsgrad = spmd_int(call, "amsgrad", 0) != 0;
    for (int i = 0; i < ADAM_INPUTS; i++)
        given[i] = input_at(call, i);
    if (!check_rank(given[GRAD], given[PARAM]->n_dims, "grad", err) ||
        !check_rank(given[MOMENT1], given[PARAM]->n_dims, "moment1", err) ||
        !check_rank(given[MOMENT2], given[PARAM]->n_dims, "moment2", err) ||
        (amsgrad && !check_rank(given[MOMENT2_MAX], given[PARAM]->n_dims, "moment2_max", err)))
        return false;
    SpmdTensor param, grad;
    if (!update_merge(call, given[PARAM], given[GRAD], &param, &grad, err))
        return false;
    const SpmdTensor *voter[5] = {&param, &grad, given[MOMENT1], given[MOMENT2],
                                  given[MOMENT2_MAX]};
    SpmdTensor state = param;
    for (int d = 0; d < state.n_dims; d++)
        state.dim[d] = vote(voter, amsgrad ? 5 : 4, d);
    static const bool follows[ADAM_INPUTS] = {
        [PARAM] = true,   [GRAD] = true,        [MOMENT1] = true,
        [MOMENT2] = true, [MOMENT2_MAX] = true, [MASTER] = true,
    };
    static const int output[] = {PARAM, MOMENT1, MOMENT2, MOMENT2_MAX, BETA1, BETA2, MASTER};
    for (int i = 0; i < call->n_inputs; i++)
        spmd_need(call, follows[i] && !given[i]->absent ? &state : given[i]);
    for (size_t o = 0; o < sizeof output / sizeof *output; o++)
        out_or_none(call,
                    follows[output[o]] && !given[output[o]]->absent ? &state : given[output[o]]);
    return true;
}

/* param, rate, grad, master -> param, master */
static bool sgd_forward(SpmdCall *call, Error *err)
{
    const SpmdTensor *master = input_at(call, 3);
    SpmdTensor param, grad;
    if (!update_merge(call, &call->input[0], &call->input[2], &param, &grad, err))
        return false;
    spmd_need(call, &param);
    spmd_need(call, &call->input[1]);
    spmd_need(call, &grad);
    if (call->n_inputs > 3)
        spmd_need(call, master->absent ? master : &param);
    spmd_out(call, &param);
    out_or_none(call, master->absent ? master : &param);
    return true;
}

/* Gradients and their scale -> gradients, and whether one is not finite (a maximum over the
 * ranks). */
static bool check_finite_forward(SpmdCall *call, Error *err)
{
    int n = call->n_inputs - 1;
    (void)err;
    for (int i = 0; i < n; i++)
        spmd_need(call, spmd_given(call, &call->input[i]));
    spmd_need_as_given(call, spmd_given(call, &call->input[n]));
    for (int i = 0; i < n; i++)
        spmd_out(call, spmd_given(call, &call->input[i]));
    SpmdTensor *found = spmd_out_whole(call, 1);
    for (int i = 0; i < n; i++)
        for (int d = 0; d < call->input[i].n_dims; d++)
            spmd_add_partial(found, &call->input[i].dim[d], REDUCE_MAX);
    return true;
}

const SpmdRule spmd_rules_default[] = {
    {.names = "default_data_parallel default_",
     .forward = data_parallel_forward,
     .backward = data_parallel_backward,
     .inputs = {0, SPMD_ANY},
     .outputs = {0, SPMD_ANY}},
    {.names = "replicated",
     .forward = replicate_all,
     .backward = replicate_all,
     .inputs = {0, SPMD_ANY},
     .outputs = {0, SPMD_ANY}},
    {.names = "full_like", .forward = full_like_forward, .flags = SPMD_LISTS, .inputs = {1, 1}},
    {.names = "numel", .forward = numel_forward, .flags = SPMD_LISTS, .inputs = {1, 1}},
    {.names = "adam adamw", .forward = adam_forward, .inputs = {5, ADAM_INPUTS}},
    {.names = "sgd", .forward = sgd_forward, .inputs = {3, 4}},
    {.names = "check_finite_and_unscale", .forward = check_finite_forward, .inputs = {1, SPMD_ANY}},
    {0},
};
