/* python.h - writes texts of models and users into Python files. All output is ASCII. */
#ifndef CORE_CODE_PYTHON_H
#define CORE_CODE_PYTHON_H

#include "core/base/str.h"

/* A literal in double quotes that Python reads as exactly this text. A byte that is not UTF-8
 * becomes the four characters \xNN, as in JSON. */
void python_string(Str text, Buf *out);
void python_text(Str text, Buf *out); /* the same without the quotes */

/* The same characters as in the literal, for a comment: the text cannot end its line. */
void python_comment(Str text, Buf *out);

/* The end of a tuple of n items: ")", or ",)" for one. */
void python_tuple_end(int64_t n, Buf *out);

/* A name for a variable or a function: characters that are not allowed become underscores, and a
 * digit at the start or a keyword gets an underscore. Two texts may give one name. */
void python_identifier(Str text, Buf *out);

/* Writes the module of `model` with that path, "model.h.attn", as a call if a name in it is no
 * identifier; for an empty path `model` itself. A parameter is written by its name:
 * "model.h.attn.weight". */
void python_module(Str path, Buf *out);
void python_parameter(Str name, Buf *out);

#endif
