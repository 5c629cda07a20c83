/* text.h - text in columns of a screen: how many it takes, its ends, its lines.
 *
 * Columns are those that pen_put() draws: a wide character takes two, one without a width one, a
 * byte that is no character of a text four (\xNN). Parts are views into the text they are of, and
 * never cut a character.
 */
#ifndef CORE_BASE_TEXT_H
#define CORE_BASE_TEXT_H

#include "core/base/str.h"

/* The character that text, which is not empty, opens with, and its bytes; false with *n 1: a
 * control character (those of C1 too: terminals act on them) or no UTF-8. */
bool text_rune(Str text, uint32_t *rune, size_t *n);

/* Columns of a code point: 0 for what does not take one (combining, variation selectors, joiners,
 * direction marks), 2 for East Asian wide and emoji, else 1. Ours, so that no screen depends on the
 * C library's idea of it. */
int rune_width(uint32_t rune);

int text_columns(Str text);

/* The longest beginning, and end, that takes no more than that many columns. */
Str text_head(Str text, int columns);
Str text_tail(Str text, int columns);

/* Takes the words off that go into a line, and the blanks behind it: at least one word, whole, be
 * it wider than the line. Blanks in front of the first stay. *text is not empty. */
Str text_take_line(Str *text, int columns);

enum { TEXT_COLUMNS = 78 }; /* of help, whatever the terminal has */

/* Lines of help: a term, and what it means from column `at` on; below it where it does not fit. */
void text_put_pair(Str term, int at, const char *meaning, Buf *out);

#endif
