/* python.h - texts of models and users inside of Python. All that is written is ASCII. */
#ifndef CORE_CODE_PYTHON_H
#define CORE_CODE_PYTHON_H

#include "core/base/str.h"

/* A literal in double quotes that Python reads as exactly this text. A byte that is no UTF-8 is
 * shown as the four characters \xNN, as it is in JSON. */
void python_string(Str text, Buf *out);
void python_text(Str text, Buf *out); /* what stands between its quotes */

/* The same characters as in the literal, for a comment: what would end the line does not. */
void python_comment(Str text, Buf *out);

/* What stands behind the n items of a tuple: ")", and of one ",)". */
void python_tuple_end(int64_t n, Buf *out);

/* A name for a variable or a function: what a name cannot have is an underscore, and so is put
 * before a digit and behind a keyword. Two texts may give one name. */
void python_identifier(Str text, Buf *out);

#endif
