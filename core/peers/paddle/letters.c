#include "core/peers/paddle/letters.h"

#include "core/peers/paddle/merge.h"

#include <assert.h>
#include <inttypes.h>

enum { LETTER_OPERANDS_MAX = 64 };

bool spmd_letters_check(Str text, int *n_inputs, int *n_outputs, Error *err)
{
    bool arrow = false;
    *n_inputs = *n_outputs = 1;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.s[i];
        if (c == '-' && i + 1 < text.n && text.s[i + 1] == '>' && !arrow) {
            arrow = true;
            i++;
        } else if (c == ',') {
            *(arrow ? n_outputs : n_inputs) += 1;
        } else if (!(c >= 'a' && c <= 'z') && c != '1') {
            return error_kind(err, ERROR_SYNTAX, "character %zu of '%.*s' is not a letter", i + 1,
                              STR_ARG(text));
        }
    }
    if (!arrow)
        return error_kind(err, ERROR_SYNTAX, "'%.*s' has no arrow", STR_ARG(text));
    if (*n_inputs + *n_outputs > LETTER_OPERANDS_MAX)
        return error_kind(err, ERROR_SYNTAX, "letters may name at most %d operands",
                          LETTER_OPERANDS_MAX);
    return true;
}

/* Letters of each operand, inputs then outputs. */
static const char **split_letters(const SpmdCall *call, int *n)
{
    const char **out = arena_array(call->arena, const char *, LETTER_OPERANDS_MAX);
    const char *at = call->rule->letters;
    *n = 0;
    while (*n < LETTER_OPERANDS_MAX) {
        size_t length = strcspn(at, ",-");
        out[(*n)++] = arena_str(call->arena, (Str){at, length});
        if (!at[length])
            break;
        at += length + (at[length] == '-' ? 2 : 1);
    }
    return out;
}

static bool check_rank(const SpmdTensor *tensor, const char *letters, const char *what, int i,
                       Error *err)
{
    return tensor->absent || tensor->n_dims == (int)strlen(letters) ||
           error_kind(err, ERROR_RANK, "%s %d has %d dims but its letters '%s' name %zu", what, i,
                      tensor->n_dims, letters, strlen(letters));
}

static bool merge_all(SpmdCall *call, const SpmdTensor *tensors, const char *const *letters, int n,
                      const char *what, SpmdLetters *merged, Error *err)
{
    SpmdOperand operand[LETTER_OPERANDS_MAX];
    for (int i = 0; i < n; i++) {
        if (!check_rank(&tensors[i], letters[i], what, i, err))
            return false;
        operand[i] = (SpmdOperand){letters[i], &tensors[i]};
    }
    return spmd_merge(call, SPMD_CLASSIC, operand, n, merged, err);
}

static bool in_any(const char *const *letters, int n, char letter)
{
    for (int i = 0; i < n; i++)
        if (strchr(letters[i], letter))
            return true;
    return false;
}

bool spmd_letters_forward(SpmdCall *call, Error *err)
{
    SpmdLetters merged;
    int n, n_inputs = call->n_inputs;
    const char *const *letters = split_letters(call, &n);
    const char *const *of_outputs = letters + n_inputs;
    if (!merge_all(call, call->input, letters, n_inputs, "input", &merged, err))
        return false;
    for (int i = 0; i < n_inputs; i++)
        spmd_set_letters(spmd_need(call, &call->input[i]), letters[i], &merged);
    for (int o = 0; o < n - n_inputs; o++) {
        SpmdTensor *out = spmd_out_whole(call, (int)strlen(of_outputs[o]));
        spmd_set_letters(out, of_outputs[o], &merged);
        for (int c = 'a'; c <= 'z'; c++)
            if (merged.known[c] && !in_any(of_outputs, n - n_inputs, (char)c))
                spmd_add_partial(out, &merged.axes[c], call->rule->reduce);
    }
    return true;
}

bool spmd_letters_backward(SpmdCall *call, Error *err)
{
    SpmdLetters merged;
    int n, n_inputs = call->n_inputs;
    const char *const *letters = split_letters(call, &n);
    assert(n == n_inputs + call->n_outputs);
    if (!merge_all(call, call->output, letters + n_inputs, call->n_outputs, "output", &merged, err))
        return false;
    for (int i = 0; i < n_inputs; i++) {
        if (!check_rank(&call->input[i], letters[i], "input", i, err))
            return false;
        SpmdTensor *need = spmd_need(call, &call->input[i]);
        spmd_replicate(need);
        spmd_set_letters(need, letters[i], &merged);
    }
    for (int o = 0; o < call->n_outputs; o++)
        spmd_set_letters(spmd_out(call, &call->output[o]), letters[n_inputs + o], &merged);
    return true;
}
