/* answer.h - helpers of several families of rules: answers written by letters, checks of ranks. */
#ifndef CORE_PEERS_PADDLE_ANSWER_H
#define CORE_PEERS_PADDLE_ANSWER_H

#include "core/peers/paddle/merge.h"

/* The answer for the next input, or output, with the merged axes of its letters. An absent input
 * stays absent. */
static inline SpmdTensor *need_letters(SpmdCall *call, const SpmdTensor *given, const char *letters,
                                       const SpmdLetters *merged)
{
    SpmdTensor *need = spmd_need(call, given);
    if (!given->absent)
        spmd_set_letters(need, letters, merged);
    return need;
}

static inline SpmdTensor *out_letters(SpmdCall *call, const char *letters,
                                      const SpmdLetters *merged)
{
    SpmdTensor *out = spmd_out_whole(call, (int)strlen(letters));
    spmd_set_letters(out, letters, merged);
    return out;
}

/* The answer for the next input: no dim split. */
static inline SpmdTensor *need_whole(SpmdCall *call, const SpmdTensor *given)
{
    SpmdTensor *need = spmd_need(call, given);
    spmd_replicate(need);
    return need;
}

/* The i-th input; absent if there are fewer inputs. */
static inline const SpmdTensor *input_at(const SpmdCall *call, int i)
{
    static const SpmdTensor none = {.absent = true};
    return i < call->n_inputs ? &call->input[i] : &none;
}

/* Merges the first n inputs by one list of letters, keeps dim `axis` unsplit, and answers for
 * them. */
bool need_merged(SpmdCall *call, int n, const char *letters, int axis, SpmdLetters *merged,
                 Error *err);

/* Removes a letter's axes. */
static inline void merged_forget(SpmdLetters *merged, char letter)
{
    merged->axes[(unsigned char)letter].n = 0;
}

static inline const SpmdAxes *merged_axes(const SpmdLetters *merged, char letter)
{
    return &merged->axes[(unsigned char)letter];
}

static inline bool check_rank(const SpmdTensor *tensor, int n_dims, const char *what, Error *err)
{
    return tensor->n_dims == n_dims || error_kind(err, ERROR_INVALID, "%s has %d dims but needs %d",
                                                  what, tensor->n_dims, n_dims);
}

/* "abc": the first n letters of the alphabet that are not in `reserved`, in the arena of the call.
 * DIMS_MAX ensures that there are enough. */
const char *letters_without(const SpmdCall *call, int n, const char *reserved);

/* A copy of `letters` with `other` at `dim`. */
const char *letters_with(const SpmdCall *call, const char *letters, int dim, char other);

/* Removes the axes of the dims from `first` on. */
static inline void unsplit_from(SpmdTensor *tensor, int first)
{
    for (int d = first; d < tensor->n_dims; d++)
        spmd_unsplit(tensor, d);
}

#endif
