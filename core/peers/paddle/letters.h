/* letters.h - rules that letters alone define: "mk,kn->mn".
 *
 * Forward: the inputs' mappings are merged letter by letter; the outputs get the merged axes of
 * their letters, and are partial over the axes of letters that no output has. Backward: the outputs
 * are merged, and letters they lack are not split. Most operators need no more; users state rules
 * in this form (register_rule).
 */
#ifndef CORE_PEERS_PADDLE_LETTERS_H
#define CORE_PEERS_PADDLE_LETTERS_H

#include "core/peers/paddle/spmd.h"

/* Checks the text: letters a to z and '1' (a dim of size 1), commas, one arrow. *n_inputs and
 * *n_outputs get the numbers of operands. ERROR_SYNTAX names the character. */
bool spmd_letters_check(Str text, int *n_inputs, int *n_outputs, Error *err);

/* Rule functions; the row's `letters` holds the text, `reduce` the reduction of summed letters. */
bool spmd_letters_forward(SpmdCall *call, Error *err);
bool spmd_letters_backward(SpmdCall *call, Error *err);

#endif
