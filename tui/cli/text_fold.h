/* text_fold.h - a line of text in the columns of a terminal, broken where a reader would break it.
 *
 * Text that does not fit continues on further lines. A row of a table breaks between two cells (two
 * blanks or more), and its last cells stand at the right edge; a sentence breaks between words and
 * goes on behind its indent; what has no blank is cut.
 */
#ifndef TUI_CLI_TEXT_FOLD_H
#define TUI_CLI_TEXT_FOLD_H

#include "core/base/str.h"

/* The line has no line break in it, and none is appended at its end. */
void text_fold(Str line, int columns, Buf *out);

#endif
