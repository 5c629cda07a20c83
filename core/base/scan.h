/* scan.h - a reader of small texts: meshes, annotations, shardings.
 *
 * A scanner skips blanks before each token. Every function returns false and sets the error, with
 * its place, if the text is not of the expected form; the *_accept functions set no error.
 */
#ifndef CORE_BASE_SCAN_H
#define CORE_BASE_SCAN_H

#include "core/base/error.h"

typedef struct {
    const Source *source;
    size_t at;
    Error *err;
} Scan;

Scan scan_begin(const Source *source, Error *err);
bool scan_name(Scan *scan, Str *out);    /* [A-Za-z_][A-Za-z0-9_]* */
bool scan_int(Scan *scan, int64_t *out); /* optional '-', decimal, no overflow */
bool scan_char(Scan *scan, char c);      /* must be next */
bool scan_accept(Scan *scan, char c);    /* skips the character if it is next */
bool scan_accept_text(Scan *scan, Str text);
char scan_peek(Scan *scan); /* next character after blanks, '\0' at the end */
bool scan_end(Scan *scan);  /* succeeds only at the end of the text */
bool scan_fail(Scan *scan, const char *format, ...) __attribute__((format(printf, 2, 3)));
void scan_blame(Scan *scan, Str token); /* sets the place of an error to this token */

#endif
