/* text.h - measures, cuts and wraps text in screen columns.
 *
 * Columns are counted as pen_put() draws: a wide character is two columns, one without a width is
 * one, and a byte that belongs to no character is four (\xNN). Results are views of the given text,
 * and never cut a character.
 */
#ifndef CORE_BASE_TEXT_H
#define CORE_BASE_TEXT_H

#include "core/base/str.h"

/* Returns whether a code point may be shown as it is: false for control characters (including C1,
 * which terminals obey) and for characters that hide or reverse the text around them, such as
 * direction marks. */
bool rune_is_shown(uint32_t rune);

/* Reads the first character of a text that is not empty, and its length in bytes. Returns false
 * with *n 1 for the first byte of one that is not shown, or of invalid UTF-8. */
bool text_rune(Str text, uint32_t *rune, size_t *n);

/* Columns of a code point: 0 if it combines with the one before (accents, variation selectors,
 * joiners, direction marks), 2 for East Asian wide and emoji, else 1. Our own table, so that
 * screens do not depend on the C library's. */
int rune_width(uint32_t rune);

int text_columns(Str text);

/* text_head() and text_tail() return the longest beginning and the longest end of the text that fit
 * into that many columns. */
Str text_head(Str text, int columns);
Str text_tail(Str text, int columns);

/* The last two parts of the name of a tensor or an op, which tell it from others of its layer:
 * "gate_proj.weight", "mlp/MatMul_3". */
Str text_name_end(Str name);

/* Cuts a name to that many columns: an ellipsis stands between *head and *tail. Its end is kept:
 * "…mlp.gate_proj.weight". Where even its last two parts do not fit, the beginning of the first and
 * the end of the second stay: "gate….weight" beside "up_p….weight". Returns false, with the name as
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
