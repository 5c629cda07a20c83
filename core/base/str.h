/* str.h - text: Str is a view of bytes owned elsewhere, Buf is text being built.
 *
 * A Buf is in an arena; its text is always NUL-terminated, so buf.s may be printed at any time.
 */
#ifndef CORE_BASE_STR_H
#define CORE_BASE_STR_H

#include "core/base/arena.h"

#include <stdarg.h>
#include <string.h>

#define STR(literal) ((Str){(literal), sizeof(literal) - 1})
#define STR_ARG(str) (int)(str).n, (str).s

static inline Str str_from(const char *s)
{
    return (Str){s, s ? strlen(s) : 0};
}

static inline bool str_eq(Str a, Str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.s, b.s, a.n) == 0);
}

/* The same in every locale. */
static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool str_starts(Str text, Str head);
bool str_ends(Str text, Str tail);
int64_t str_find(Str text, Str part); /* first place, or -1 */
Str str_trim(Str text);
/* The part before the separator, or all; *rest becomes what follows it. */
Str str_take(Str *rest, char separator);
bool str_has_word(Str words, Str word);  /* words separated by blanks */
bool str_to_int(Str text, int64_t *out); /* decimal, optional sign, whole text, no overflow */
bool str_to_real(Str text, double *out); /* as strtod() reads it, whole text of up to 63 bytes */

/* The glob of policies: `*` is any run of characters, dots too; `?` one; `{a,b}` one of; the rest
 * itself. */
bool str_glob(Str pattern, Str text);

/* Decodes the code point at the start of text; returns its length in bytes, 0 if text is empty. */
size_t str_rune(Str text, uint32_t *rune);
/* Removes one code point from the front of a text that is not empty; an invalid byte counts as a
 * code point. */
uint32_t str_take_rune(Str *text);

/* Writes the code point as UTF-8; returns the number of bytes written. */
size_t rune_format(uint32_t rune, char bytes[4]);

/* Edit distance of two words, exact for small distances only; for "did you mean". */
int str_distance(Str a, Str b);

typedef struct Spans Spans;
typedef struct {
    Arena *arena;
    char *s;
    size_t n, room;
    Spans *spans; /* marks in the text (core/base/span.h); NULL: no marks are kept */
} Buf;

Buf buf_new(Arena *arena);
void buf_add(Buf *buf, Str text);
void buf_puts(Buf *buf, const char *text);
void buf_putc(Buf *buf, char c);
void buf_put_rune(Buf *buf, uint32_t rune);
void buf_blanks(Buf *buf, int n);        /* n of them; none if n is negative */
void buf_put_quoted(Buf *buf, Str text); /* in single quotes, as one word of a shell */
void buf_printf(Buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(Buf *buf, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
static inline Str buf_str(const Buf *buf)
{
    return (Str){buf->s, buf->n};
}

const char *str_lower_case(Arena *arena, Str text); /* only ASCII letters change */

#endif
