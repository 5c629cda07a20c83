#include "core/peers/paddle/answer.h"

const char *letters_without(const SpmdCall *call, int n, const char *reserved)
{
    char *out = arena_array(call->arena, char, n + 1);
    char letter = 'a';
    for (int i = 0; i < n; letter++)
        if (!strchr(reserved, letter))
            out[i++] = letter;
    return out;
}

const char *letters_with(const SpmdCall *call, const char *letters, int dim, char other)
{
    char *out = arena_array(call->arena, char, strlen(letters) + 1);
    memcpy(out, letters, strlen(letters));
    out[dim] = other;
    return out;
}

bool need_merged(SpmdCall *call, int n, const char *letters, int axis, SpmdLetters *merged,
                 Error *err)
{
    SpmdTensor *given = arena_array(call->arena, SpmdTensor, n);
    SpmdOperand *operand = arena_array(call->arena, SpmdOperand, n);
    for (int i = 0; i < n; i++) {
        given[i] = call->input[i];
        spmd_unsplit(&given[i], axis);
        operand[i] = (SpmdOperand){letters, &given[i]};
    }
    if (!spmd_merge(call, SPMD_CLASSIC, operand, n, merged, err))
        return false;
    for (int i = 0; i < n; i++)
        need_letters(call, &given[i], letters, merged);
    return true;
}
