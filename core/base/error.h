/* error.h - an error is a value on the caller's stack: what happened, where, and what to do.
 *
 * The callee says what (error_set); whoever holds the Source stamps where (error_at). Only the
 * first error is kept. Text that came from input goes through error_set's "%.*s" and is made
 * printable there: control bytes show as \xNN.
 */
#ifndef CORE_BASE_ERROR_H
#define CORE_BASE_ERROR_H

#include "core/base/str.h"

#include <stdarg.h>

/* Text to be read, and its name as the user knows it: a path, "--mesh", "<lua>". */
typedef struct {
    const char *name;
    Str text;
} Source;

/* ORDER ERROR_KIND: error_kind_name() and the exit codes of the command follow it. */
typedef enum {
    ERROR_INVALID, /* any malformed input without a kind of its own */
    ERROR_SYNTAX,
    ERROR_INCONSISTENT_REDUCE,
    ERROR_NO_MATCH,
    ERROR_NOT_INFERABLE,
    ERROR_NOT_DIVISIBLE,
    ERROR_FROZEN,
    ERROR_OUT_OF_RANGE,
    ERROR_CONFLICT,
    ERROR_DUPLICATE,
    ERROR_ELLIPSIS,
    ERROR_RANK,
    ERROR_DTYPE,
    ERROR_UNBOUND,
    ERROR_NEEDS_RESHARD,
    ERROR_PARTIAL,
    ERROR_UNKNOWN_OP,
    ERROR_UNSUPPORTED,
    ERROR_UNREADABLE, /* a file that is missing, truncated or hostile: exit code 3 */
    ERROR_SCRIPT,     /* a failing Lua script: exit code 4 */
    ERROR_USAGE,      /* a wrong command line: exit code 2 */
    ERROR_RUN,        /* a run that failed: exit code 5 */
    ERROR_CANCELLED,  /* the user asked for a stop: exit code 130 */
    ERROR_KIND_COUNT
} ErrorKind;

typedef struct {
    ErrorKind kind;
    char file[400];   /* a printable copy, since an error outlives what it is about; "" if no place
                         is known */
    int line, column; /* from 1, in characters; 0 if there is none */
    char text[400], hint[400];
    char source_line[200]; /* the text around the place, printable, for the caret; "" if unknown */
    int caret;             /* characters of source_line before the place */
} Error;

/* Both return false, so that a failing function can say `return error_set(...)`. The second error
 * set on the same value is dropped: the first one is the cause. err may be NULL. */
bool error_set(Error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool error_kind(Error *err, ErrorKind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with a va_list, for functions that take a format themselves. */
bool error_kind_args(Error *err, ErrorKind kind, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* Adds a hint what to do about the error; returns false, too. */
bool error_hint(Error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Sets the place: the offset `at` of source. Keeps a place that is already set. */
void error_at(Error *err, const Source *source, size_t at);
void error_in_file(Error *err, const char *file); /* a place without a line */
static inline bool error_is_set(const Error *err)
{
    return err->text[0] != '\0';
}

const char *error_kind_name(ErrorKind kind); /* "not_divisible": the names of the eval protocol */

/* "file:line:col: error: what", the line and a caret, "hint: ...": the form of the command line. */
void error_format(const Error *err, Buf *out);

/* Appends text; bytes of broken UTF-8 and of code points that rune_is_shown() refuses appear as
 * \xNN, so that no name from a file can control the terminal. */
void text_printable(Str text, Buf *out);
/* The same for several lines: line ends and tabs stay. */
void text_printable_lines(Str text, Buf *out);

#endif
