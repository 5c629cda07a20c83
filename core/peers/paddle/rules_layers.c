/* Rules of mixtures of experts, einsum, swiglu, dropout and roi_align. */
#include "core/peers/paddle/answer.h"

/* ---- mixtures of experts: tokens s, hidden h, experts e, choices k per token ---- */

/* Merges the inputs after checking that each has as many dims as letters. */
static bool merge_inputs(SpmdCall *call, const char *const *letters, int n, SpmdLetters *merged,
                         Error *err)
{
    SpmdOperand operand[8];
    for (int i = 0; i < n; i++) {
        if (!check_rank(&call->input[i], (int)strlen(letters[i]), "an operand", err))
            return false;
        operand[i] = (SpmdOperand){letters[i], &call->input[i]};
    }
    return spmd_merge(call, SPMD_CLASSIC, operand, n, merged, err);
}

static void need_all(SpmdCall *call, const char *const *letters, int n, const SpmdLetters *merged)
{
    for (int i = 0; i < n; i++)
        need_letters(call, &call->input[i], letters[i], merged);
}

static void out_all(SpmdCall *call, const char *const *letters, int n, const SpmdLetters *merged)
{
    for (int i = 0; i < n; i++)
        out_letters(call, letters[i], merged);
}

/* x, weights, index -> out. Exact: a split of k leaves the output partial over mesh axis 1,
 * whichever axis splits k. */
static bool moe_combine_forward(SpmdCall *call, Error *err)
{
    static const char *const letters[] = {"sh", "sk", "sk"};
    SpmdLetters merged;
    if (!merge_inputs(call, letters, 3, &merged, err))
        return false;
    bool split = merged_axes(&merged, 'k')->n > 0;
    if (split)
        merged_forget(&merged, 'h');
    need_all(call, letters, 3, &merged);
    SpmdTensor *out = out_letters(call, "sh", &merged);
    SpmdAxes second = {1, {1}};
    return !split || spmd_set_partial(out, call->exact ? &second : merged_axes(&merged, 'k'),
                                      REDUCE_SUM, err);
}

/* x, weights, index, out_grad -> gradients of x, weights, index */
static bool moe_combine_gradient(SpmdCall *call, Error *err)
{
    static const char *const letters[] = {"sh", "sk", "sk", "sh"};
    SpmdLetters merged;
    if (!merge_inputs(call, letters, 4, &merged, err))
        return false;
    merged_forget(&merged, 'k');
    need_all(call, letters, 4, &merged);
    out_all(call, letters, 3, &merged);
    return true;
}

/* x, gate [, correction bias] -> y, weights, index, expert offset, expert id */
static bool moe_dispatch_forward(SpmdCall *call, Error *err)
{
    static const char *const letters[] = {"sh", "se"};
    static const char *const out[] = {"esh", "sk", "ks", "e", "sk"};
    SpmdLetters merged;
    if (!merge_inputs(call, letters, 2, &merged, err))
        return false;
    need_all(call, letters, 2, &merged);
    if (call->n_inputs > 2)
        need_letters(call, &call->input[2], "e", &merged);
    out_all(call, out, 5, &merged);
    return true;
}

/* weights, index, expert id, y_grad, weights_grad -> gradients of x, gate */
static bool moe_dispatch_gradient(SpmdCall *call, Error *err)
{
    static const char *const letters[] = {"sk", "ks", "sk", "esh", "sk"};
    static const char *const out[] = {"sh", "se"};
    SpmdLetters merged;
    if (!merge_inputs(call, letters, 5, &merged, err))
        return false;
    need_all(call, letters, 5, &merged);
    out_all(call, out, 2, &merged);
    return true;
}

/* ---- einsum ---- */

/* The sides of "ij,jk->ik"; a letter that is twice in one of them is '1' everywhere. */
typedef struct {
    int n;
    char *operand[2], *out; /* not NULL; "" for an absent operand */
} Equation;

static char *equation_side(const SpmdCall *call, Str text)
{
    char *side = arena_array(call->arena, char, text.n + 1);
    int n = 0;
    for (size_t i = 0; i < text.n; i++)
        if (text.s[i] != ' ')
            side[n++] = text.s[i];
    return side;
}

static void blank_letter(Equation *equation, char letter)
{
    char *side[3] = {equation->operand[0], equation->operand[1], equation->out};
    for (int i = 0; i < 3; i++)
        for (char *at = side[i]; *at; at++)
            if (*at == letter)
                *at = '1';
}

static void blank_repeated(Equation *equation, const char *side)
{
    char letter;
    for (int i = 0; (letter = side[i]); i++)
        if (letter != '1' && strchr(side + i + 1, letter))
            blank_letter(equation, letter);
}

/* Reads the equation and checks the ranks of its n inputs. */
static bool read_equation(const SpmdCall *call, int n, Equation *equation, Error *err)
{
    Str text = spmd_text(call, "equation", "");
    char *none = equation_side(call, STR(""));
    *equation = (Equation){n, {none, none}, none};
    int64_t arrow = str_find(text, STR("->"));
    if (arrow < 0 || n < 1 || n > 2)
        return error_kind(err, ERROR_INVALID, "the equation '%.*s' cannot have %d operands",
                          STR_ARG(text), n);
    Str left = {text.s, (size_t)arrow};
    int64_t comma = str_find(left, STR(","));
    if ((comma >= 0) != (n == 2))
        return error_kind(err, ERROR_INVALID, "the equation '%.*s' does not have %d operands",
                          STR_ARG(text), n);
    Str first = {left.s, n == 2 ? (size_t)comma : left.n};
    equation->operand[0] = equation_side(call, first);
    if (n == 2)
        equation->operand[1] =
            equation_side(call, (Str){left.s + comma + 1, left.n - (size_t)comma - 1});
    equation->out = equation_side(call, (Str){text.s + arrow + 2, text.n - (size_t)arrow - 2});
    for (int i = 0; i < n; i++) {
        for (const char *at = equation->operand[i]; *at; at++)
            if ((unsigned char)*at >= SPMD_LETTERS)
                return error_kind(err, ERROR_INVALID, "an equation may contain only letters");
        if (!check_rank(&call->input[i], (int)strlen(equation->operand[i]), "an operand", err))
            return false;
    }
    return true;
}

/* No letter is shared or summed over. */
static bool is_outer(const Equation *equation)
{
    if (equation->n != 2 ||
        strlen(equation->out) != strlen(equation->operand[0]) + strlen(equation->operand[1]))
        return false;
    for (const char *at = equation->operand[0]; *at; at++)
        if (strchr(equation->operand[1], *at) || !strchr(equation->out, *at))
            return false;
    for (const char *at = equation->operand[1]; *at; at++)
        if (!strchr(equation->out, *at))
            return false;
    return true;
}

static bool any_split(const SpmdTensor *tensor)
{
    for (int d = 0; d < tensor->n_dims; d++)
        if (spmd_is_split(tensor, d))
            return true;
    return false;
}

/* Merges the operands as the forward rule does; given[] holds them as merged. */
static bool einsum_merge(SpmdCall *call, Equation *equation, SpmdTensor *given, SpmdLetters *merged,
                         Error *err)
{
    SpmdOperand operand[2];
    bool outer = is_outer(equation);
    blank_repeated(equation, equation->operand[0]);
    blank_repeated(equation, equation->operand[1]);
    blank_repeated(equation, equation->out);
    for (int i = 0; i < equation->n; i++) {
        given[i] = call->input[i];
        operand[i] = (SpmdOperand){equation->operand[i], &given[i]};
    }
    if (outer && any_split(&given[0]))
        spmd_replicate(&given[1]);
    return spmd_merge(call, SPMD_CLASSIC, operand, equation->n, merged, err);
}

static bool einsum_forward(SpmdCall *call, Error *err)
{
    Equation equation;
    SpmdTensor given[2];
    SpmdLetters merged;
    if (!read_equation(call, call->n_inputs, &equation, err) ||
        !einsum_merge(call, &equation, given, &merged, err))
        return false;
    for (int i = 0; i < equation.n; i++)
        need_letters(call, &call->input[i], equation.operand[i], &merged);
    SpmdTensor *out = out_letters(call, equation.out, &merged);
    spmd_partial_of_letters(out, equation.out, &merged, REDUCE_SUM);
    return true;
}

/* The gradient of an operand: partial over the merged letters of the other operand and out_grad
 * that it lacks. */
static bool einsum_operand_gradient(SpmdCall *call, const char *letters, const SpmdLetters *merged,
                                    SpmdOperand other, SpmdOperand out_grad, Error *err)
{
    SpmdTensor *gradient = out_letters(call, letters, merged);
    SpmdLetters summed;
    if (!spmd_merge(call, SPMD_CLASSIC, (SpmdOperand[]){other, out_grad}, 2, &summed, err))
        return false;
    for (int letter = 'A'; letter < SPMD_LETTERS; letter++)
        if (summed.known[letter] && !strchr(letters, letter) &&
            !spmd_set_partial(gradient, &summed.axes[letter], REDUCE_SUM, err))
            return false;
    return true;
}

/* x, out_grad -> x_grad */
static bool einsum_gradient_of_one(SpmdCall *call, Equation *equation, Error *err)
{
    const SpmdTensor *x = &call->input[0], *out_grad = &call->input[1];
    blank_repeated(equation, equation->operand[0]);
    blank_repeated(equation, equation->out);
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC,
                    (SpmdOperand[]){{equation->operand[0], x}, {equation->out, out_grad}}, 2,
                    &merged, err))
        return false;
    need_letters(call, x, equation->operand[0], &merged);
    spmd_set_letters(spmd_need_as_given(call, out_grad), equation->out, &merged);
    out_letters(call, equation->operand[0], &merged);
    return true;
}

/* x [, y], out_grad -> x_grad [, y_grad]. With two operands, out_grad needs the mapping that the
 * forward rule gives the output. */
static bool einsum_gradient(SpmdCall *call, Error *err)
{
    Equation equation;
    SpmdTensor given[2];
    SpmdLetters merged;
    int n = call->n_inputs - 1;
    if (!read_equation(call, n, &equation, err) ||
        !check_rank(&call->input[n], (int)strlen(equation.out), "out_grad", err))
        return false;
    if (n == 1)
        return einsum_gradient_of_one(call, &equation, err);
    if (!einsum_merge(call, &equation, given, &merged, err))
        return false;
    for (int i = 0; i < 2; i++)
        need_letters(call, &call->input[i], equation.operand[i], &merged);
    SpmdOperand out_grad = {equation.out,
                            need_letters(call, &call->input[2], equation.out, &merged)};
    for (int i = 0; i < 2; i++)
        if (!einsum_operand_gradient(call, equation.operand[i], &merged,
                                     (SpmdOperand){equation.operand[1 - i], &given[1 - i]},
                                     out_grad, err))
            return false;
    return true;
}

/* ---- element-wise layers ---- */

/* Merges tensors of the same shape or that broadcast; operand[] gets the letters of each. */
static bool merge_elements(SpmdCall *call, const SpmdTensor *tensor, int n, SpmdOperand *operand,
                           SpmdLetters *merged, Error *err)
{
    int n_dims = 0;
    for (int i = 0; i < n; i++)
        n_dims = tensor[i].n_dims > n_dims ? tensor[i].n_dims : n_dims;
    for (int i = 0; i < n; i++)
        operand[i] =
            (SpmdOperand){spmd_broadcast_letters(call, &tensor[i], n_dims, false), &tensor[i]};
    return spmd_merge(call, SPMD_CLASSIC, operand, n, merged, err);
}

/* The output letters of two tensors that broadcast: a dim of size 1 in both is '1'. */
static const char *merged_letters(const SpmdCall *call, const SpmdOperand *operand)
{
    int longer = operand[0].tensor->n_dims >= operand[1].tensor->n_dims ? 0 : 1;
    const char *letters = operand[longer].letters;
    int shift = operand[longer].tensor->n_dims - operand[1 - longer].tensor->n_dims;
    for (int d = shift; letters[d]; d++)
        if (letters[d] == '1')
            letters = letters_with(call, letters, d, operand[1 - longer].letters[d - shift]);
    return letters;
}

/* x, y -> out, seed. Exact: the inputs keep their mappings, though out has the merged one. */
static bool dropout_add_forward(SpmdCall *call, Error *err)
{
    SpmdOperand operand[2];
    SpmdLetters merged;
    if (!merge_elements(call, call->input, 2, operand, &merged, err))
        return false;
    for (int i = 0; i < 2; i++) {
        if (call->exact)
            spmd_need_as_given(call, spmd_given(call, &call->input[i]));
        else
            need_letters(call, &call->input[i], operand[i].letters, &merged);
    }
    out_letters(call, merged_letters(call, operand), &merged);
    spmd_out_whole(call, 1);
    return true;
}

static bool dropout_add_backward(SpmdCall *call, Error *err)
{
    const SpmdTensor *out = &call->output[0];
    const char *letters = spmd_letters(call, out->n_dims, 'a');
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC, (SpmdOperand[]){{letters, out}}, 1, &merged, err))
        return false;
    for (int i = 0; i < 2; i++)
        need_letters(call, &call->input[i],
                     spmd_broadcast_letters(call, &call->input[i], out->n_dims, false), &merged);
    spmd_out(call, out);
    spmd_out_as_given(call, spmd_given(call, &call->output[1]));
    return true;
}

/* seed, out_grad -> x_grad, y_grad */
static bool dropout_add_gradient(SpmdCall *call, Error *err)
{
    (void)err;
    spmd_need(call, &call->input[0]);
    SpmdTensor *out_grad = spmd_need(call, &call->input[1]);
    spmd_out(call, out_grad);
    spmd_out(call, out_grad);
    return true;
}

/* x, y -> out; without y, x is twice as wide */
static bool swiglu_forward(SpmdCall *call, Error *err)
{
    const SpmdTensor *x = &call->input[0];
    if (input_at(call, 1)->absent) {
        if (x->n_dims < 1 || spmd_is_split(x, x->n_dims - 1))
            return error_kind(err, ERROR_INVALID, "without y the last dim of x may not be split");
        spmd_need(call, x);
        if (call->n_inputs > 1)
            spmd_need(call, &call->input[1]);
        spmd_out(call, x);
        return true;
    }
    SpmdOperand operand[2];
    SpmdLetters merged;
    if (!merge_elements(call, call->input, 2, operand, &merged, err))
        return false;
    for (int i = 0; i < 2; i++)
        need_letters(call, &call->input[i], operand[i].letters, &merged);
    out_letters(call, merged_letters(call, operand), &merged);
    return true;
}

static bool swiglu_backward(SpmdCall *call, Error *err)
{
    const SpmdTensor *out = &call->output[0];
    bool alone = input_at(call, 1)->absent;
    if (alone && (out->n_dims < 1 || spmd_is_split(out, out->n_dims - 1)))
        return error_kind(err, ERROR_INVALID, "without y the last dim of out may not be split");
    const char *letters = spmd_letters(call, out->n_dims, 'a');
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC, (SpmdOperand[]){{letters, out}}, 1, &merged, err))
        return false;
    for (int i = 0; i < call->n_inputs; i++)
        need_letters(call, &call->input[i],
                     spmd_broadcast_letters(call, &call->input[i], out->n_dims, false), &merged);
    spmd_out(call, out);
    return true;
}

/* x, y or none, out_grad -> x_grad, y_grad. The operands follow out_grad; where they broadcast, the
 * gradient is a sum. */
static bool swiglu_gradient(SpmdCall *call, Error *err)
{
    const SpmdTensor *out_grad = &call->input[2];
    bool alone = call->input[1].absent;
    if (alone && out_grad->n_dims > 0 && spmd_is_split(out_grad, out_grad->n_dims - 1))
        return error_kind(err, ERROR_INVALID, "without y the last dim may not be split");
    SpmdTensor gradient[2];
    for (int i = 0; i < 2; i++) {
        gradient[i] = spmd_without_partial(out_grad);
        if (call->input[i].n_dims > out_grad->n_dims)
            return error_kind(err, ERROR_INVALID, "out_grad has fewer dims than an operand");
        if (!call->input[i].absent)
            spmd_reduce_broadcast(&gradient[i], call->input[i].n_dims, &call->input[i].shape);
        spmd_need(call, call->input[i].absent ? &call->input[i] : &gradient[i]);
    }
    spmd_need(call, out_grad);
    spmd_out_as_given(call, &gradient[0]);
    if (!alone)
        spmd_out_as_given(call, &gradient[1]);
    else
        spmd_out_absent(call);
    return true;
}

/* ---- dropout: x [, seed] -> out [, mask] ---- */

/* Without a seed operand it is an elementwise op of one operand. Paddle then gives no mask, which
 * `exact` reproduces. */
static bool dropout_forward(SpmdCall *call, Error *err)
{
    (void)err;
    SpmdTensor *x = spmd_need(call, &call->input[0]);
    spmd_drop_indivisible(call, x);
    if (call->n_inputs > 1)
        spmd_need_as_given(call, &call->input[1]);
    for (int i = 0; i < (call->exact ? call->n_inputs : 2); i++)
        spmd_out(call, x);
    return true;
}

static bool dropout_backward(SpmdCall *call, Error *err)
{
    (void)err;
    SpmdTensor *out = spmd_out(call, &call->output[0]);
    spmd_drop_indivisible(call, out);
    for (int i = 0; i < call->n_inputs; i++)
        spmd_need(call, i == 0 ? out : &call->input[i]);
    if (!call->exact)
        spmd_out(call, out); /* the mask */
    return true;
}

/* mask, out_grad -> x_grad */
static bool dropout_gradient(SpmdCall *call, Error *err)
{
    SpmdOperand operand[2];
    SpmdLetters merged;
    if (!merge_elements(call, call->input, 2, operand, &merged, err))
        return false;
    need_letters(call, &call->input[0], operand[0].letters, &merged);
    need_letters(call, &call->input[1], operand[1].letters, &merged);
    out_letters(call, merged_letters(call, operand), &merged);
    return true;
}

/* ---- roi_align: x [n, c, h, w], boxes, numbers of boxes; only c stays split ---- */

static bool roi_align_forward(SpmdCall *call, Error *err)
{
    const SpmdTensor *x = &call->input[0];
    if (!check_rank(x, 4, "x", err))
        return false;
    SpmdTensor *need = need_whole(call, x);
    need->dim[1] = x->dim[1];
    for (int i = 1; i < call->n_inputs; i++)
        need_whole(call, &call->input[i]);
    spmd_out(call, need);
    return true;
}

/* x, boxes, numbers, out_grad -> x_grad */
static bool roi_align_gradient(SpmdCall *call, Error *err)
{
    int last = call->n_inputs - 1;
    SpmdTensor given[2] = {call->input[0], call->input[last]};
    for (int i = 0; i < 2; i++) {
        if (!check_rank(&given[i], 4, i == 0 ? "x" : "out_grad", err))
            return false;
        for (int d = 0; d < 4; d++)
            if (d != 1)
                spmd_unsplit(&given[i], d);
    }
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC, (SpmdOperand[]){{"1c11", &given[0]}, {"1c11", &given[1]}},
                    2, &merged, err))
        return false;
    need_letters(call, &given[0], "1c11", &merged);
    for (int i = 1; i < last; i++)
        need_whole(call, &call->input[i]);
    need_letters(call, &given[1], "1c11", &merged);
    out_letters(call, "1c11", &merged);
    return true;
}

const SpmdRule spmd_rules_layers[] = {
    {.names = "moe_combine",
     .forward = moe_combine_forward,
     .backward = moe_combine_gradient,
     .flags = SPMD_GRADIENT,
     .inputs = {3, 3},
     .outputs = {1, 1}},
    {.names = "moe_combine_grad", .forward = moe_combine_gradient, .inputs = {4, 4}},
    {.names = "moe_gate_dispatch",
     .forward = moe_dispatch_forward,
     .backward = moe_dispatch_gradient,
     .flags = SPMD_GRADIENT,
     .inputs = {2, 3},
     .outputs = {2, 3}},
    {.names = "moe_gate_dispatch_grad", .forward = moe_dispatch_gradient, .inputs = {5, 5}},
    {.names = "einsum",
     .forward = einsum_forward,
     .backward = einsum_gradient,
     .flags = SPMD_GRADIENT,
     .inputs = {1, SPMD_ANY},
     .outputs = {1, 1}},
    {.names = "einsum_grad", .forward = einsum_gradient, .inputs = {2, SPMD_ANY}},
    {.names = "fused_dropout_add",
     .forward = dropout_add_forward,
     .backward = dropout_add_backward,
     .inputs = {2, 2},
     .outputs = {2, 2}},
    {.names = "fused_dropout_add_grad", .forward = dropout_add_gradient, .inputs = {2, 2}},
    {.names = "swiglu",
     .forward = swiglu_forward,
     .backward = swiglu_backward,
     .inputs = {1, 2},
     .outputs = {1, 1}},
    {.names = "swiglu_grad", .forward = swiglu_gradient, .flags = SPMD_LISTS, .inputs = {3, 3}},
    {.names = "dropout",
     .forward = dropout_forward,
     .backward = dropout_backward,
     .flags = SPMD_LISTS,
     .inputs = {1, 2},
     .outputs = {1, 1}},
    {.names = "dropout_grad", .forward = dropout_gradient, .inputs = {2, 2}},
    {.names = "roi_align",
     .forward = roi_align_forward,
     .backward = roi_align_gradient,
     .flags = SPMD_GRADIENT,
     .inputs = {2, 3},
     .outputs = {1, 1}},
    {.names = "roi_align_grad", .forward = roi_align_gradient, .inputs = {2, 4}},
    {0},
};
