/* text_fold.h - wraps a line of text to the columns of a terminal, where a reader would break it.
 *
 * Text that does not fit continues on further lines. A row of a table breaks between two cells (two
 * blanks or more), and its last cells are right-aligned; a sentence breaks between words and
 * continues at its indent; text without blanks is cut.
 */
#ifndef TUI_CLI_TEXT_FOLD_H
#define TUI_CLI_TEXT_FOLD_H

#include "core/base/str.h"

/* The line contains no line break, and none is appended. */
void text_fold(Str line, int columns, Buf *out);

#endif
