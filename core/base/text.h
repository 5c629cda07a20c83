/* text.h - text measured in columns of a screen: its width, its first and last columns, line
 * breaking.
 *
 * Columns are those that pen_put() draws: a wide character takes two, one without a width one, a
 * byte that is no character of a text four (\xNN). Parts are views into the text they are of, and
 * never cut a character.
 */
#ifndef CORE_BASE_TEXT_H
#define CORE_BASE_TEXT_H

#include "core/base/str.h"

/* Whether a code point may be shown as it is: false for controls (including C1, which terminals
 * obey) and for what hides or turns the text around it, as direction marks do. */
bool rune_is_shown(uint32_t rune);

/* Reads the first character of a text that is not empty, and its length in bytes. Returns false
 * with *n 1 for the first byte of one that is not shown, or of invalid UTF-8. */
bool text_rune(Str text, uint32_t *rune, size_t *n);

/* Columns of a code point: 0 if it combines with the one before (accents, variation selectors,
 * joiners, direction marks), 2 for East Asian wide and emoji, else 1. Our own table, so that
 * screens do not depend on the C library's. */
int rune_width(uint32_t rune);

int text_columns(Str text);

/* The longest beginning, and end, of the text that fits into that many columns. */
Str text_head(Str text, int columns);
Str text_tail(Str text, int columns);

/* The last two parts of the name of a tensor or an op, which tell it from others of its layer:
 * "gate_proj.weight", "mlp/MatMul_3". */
Str text_name_end(Str name);

/* Cuts a name to that many columns: an ellipsis stands between *head and *tail. Its end is kept:
 * "…mlp.gate_proj.weight". Where its last two parts do not fit, the beginning of the first and the
 * end of the second are: "gate….weight" beside "up_p….weight". Returns false, with the name as
 * *head, if it fits. */
bool text_cut_name(Str name, int columns, Str *head, Str *tail);
void text_put_name(Str name, int columns, Buf *out);

/* Removes one line from the front of a text that is not empty: the words that fit, and the blanks
 * after them. A word that is wider than the line is a line of its own. Leading blanks stay. */
Str text_take_line(Str *text, int columns);

enum { TEXT_COLUMNS = 78 }; /* of help, whatever the terminal has */

/* Appends a line of help: a term, and its meaning from column `at` on, or on the next line if the
 * term is too long. */
void text_put_pair(Str term, int at, const char *meaning, Buf *out);

#endif
