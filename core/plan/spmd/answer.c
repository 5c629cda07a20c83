#include "core/plan/spmd/answer.h"

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
