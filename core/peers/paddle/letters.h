/* letters.h - a rule that is said by letters alone: "mk,kn->mn".
 *
 * Forward: the inputs' mappings are merged letter by letter; the outputs get what their letters
 * came to, and are partial over the axes of letters that no output has. Backward: the outputs are
 * merged, and letters they do not have are not split. This is all most operators need; it is the
 * form in which a user states one (register_rule).
 */
#ifndef CORE_PEERS_PADDLE_LETTERS_H
#define CORE_PEERS_PADDLE_LETTERS_H

#include "core/peers/paddle/spmd.h"

/* Checks the text: letters a to z and '1' (a dim of size 1), commas, one arrow. *n_inputs and
 * *n_outputs are what it names. ERROR_SYNTAX with the character in the text of the error. */
bool spmd_letters_check(Str text, int *n_inputs, int *n_outputs, Error *err);

/* Rule functions; the row's `letters` holds the text, `reduce` the reduction of summed letters. */
bool spmd_letters_forward(SpmdCall *call, Error *err);
bool spmd_letters_backward(SpmdCall *call, Error *err);

#endif
