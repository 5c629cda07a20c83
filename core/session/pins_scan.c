#include "core/session/pins_read.h"

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static Str rest(const Scan *scan)
{
    return (Str){scan->source->text.s + scan->at, scan->source->text.n - scan->at};
}

/* "# text" and "// text" are comments; #sdy.sharding and #loc1 are not. */
static bool at_comment(const Scan *scan)
{
    Str left = rest(scan);
    bool mlir = str_starts(left, STR("#sdy")) || str_starts(left, STR("#loc"));
    return (str_starts(left, STR("#")) && !mlir) || str_starts(left, STR("//"));
}

char pins_peek(Scan *scan)
{
    char c = scan_peek(scan);
    while (at_comment(scan)) {
        Str left = rest(scan);
        const char *end = memchr(left.s, '\n', left.n);
        scan->at += end ? (size_t)(end - left.s) : left.n;
        c = scan_peek(scan);
    }
    return c;
}

bool pins_accept(Scan *scan, char c)
{
    if (pins_peek(scan) != c || scan->at == scan->source->text.n)
        return false;
    scan->at++;
    return true;
}

bool pins_expect(Scan *scan, char c)
{
    pins_peek(scan);
    return scan_char(scan, c);
}

bool pins_accept_text(Scan *scan, const char *text)
{
    pins_peek(scan);
    return scan_accept_text(scan, str_from(text));
}

Str pins_word(Scan *scan)
{
    Str left = {"", 0};
    if (!is_letter(pins_peek(scan)))
        return left;
    left = rest(scan);
    size_t n = 1;
    while (n < left.n && (is_letter(left.s[n]) || is_digit(left.s[n]) ||
                          (left.s[n] == '.' && n + 1 < left.n && is_letter(left.s[n + 1]))))
        n++;
    scan->at += n;
    return (Str){left.s, n};
}

Str pins_last(Str word)
{
    size_t n = word.n;
    while (n > 0 && word.s[n - 1] != '.')
        n--;
    return (Str){word.s + n, word.n - n};
}

bool pins_at_string(Scan *scan)
{
    char c = pins_peek(scan);
    return c == '"' || c == '\'';
}

bool pins_at_number(Scan *scan)
{
    char c = pins_peek(scan);
    return is_digit(c) || c == '-';
}

/* ---- strings ---- */

static int hex_of(char c)
{
    if (is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads n hex digits from `at` on; -1 if there are fewer. */
static int64_t hex_number(Str text, size_t at, int n)
{
    int64_t number = 0;
    for (int i = 0; i < n; i++) {
        int digit = at + (size_t)i < text.n ? hex_of(text.s[at + (size_t)i]) : -1;
        if (digit < 0)
            return -1;
        number = number * 16 + digit;
    }
    return number;
}

/* MLIR escapes are bytes, such as \0A. */
static size_t mlir_escape(Str text, size_t at, Buf *out)
{
    int64_t byte = hex_number(text, at, 2);
    buf_putc(out, byte < 0 ? text.s[at] : (char)byte);
    return byte < 0 ? 1 : 2;
}

/* Reads one code point of n digits, or both halves of a surrogate pair, as in JSON. */
static size_t rune_escape(Str text, size_t at, int n, Buf *out)
{
    int64_t rune = hex_number(text, at, n);
    size_t used = (size_t)n;
    if (rune >= 0xD800 && rune < 0xDC00 && at + 5 < text.n && text.s[at + 4] == '\\') {
        int64_t low = hex_number(text, at + 6, 4);
        if (low >= 0xDC00 && low < 0xE000) {
            rune = 0x10000 + (rune - 0xD800) * 0x400 + (low - 0xDC00);
            used = 10;
        }
    }
    if (rune < 0 || rune > 0x10FFFF)
        return 0;
    buf_put_rune(out, (uint32_t)rune);
    return used;
}

/* Reads the characters after a backslash; returns how many bytes were read. */
static size_t escape(Str text, size_t at, Buf *out)
{
    static const char names[] = "nrtbf0av", values[] = "\n\r\t\b\f\0\a\v";
    char c = text.s[at];
    const char *known = c ? strchr(names, c) : NULL;
    int n = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    size_t used = n > 0 ? rune_escape(text, at + 1, n, out) : 0;
    if (used > 0)
        return 1 + used;
    if (c != '\n')
        buf_putc(out, known ? values[known - names] : c);
    return 1;
}

/* The closing quote of the string that opens at `at`; text.n if it does not end. */
static size_t string_end(Str text, size_t at)
{
    char quote = text.s[at++];
    while (at < text.n && text.s[at] != quote)
        at += text.s[at] == '\\' ? 2 : 1;
    return at < text.n ? at : text.n;
}

bool pins_string(Arena *arena, Scan *scan, bool mlir, Str *out)
{
    if (!pins_at_string(scan))
        return scan_fail(scan, "expected a text in quotes");
    Str text = scan->source->text;
    size_t from = scan->at, to = string_end(text, from);
    if (to == text.n)
        return scan_fail(scan, "a string has no closing quote");
    scan->at = to + 1;
    *out = (Str){text.s + from + 1, to - from - 1};
    if (out->n == 0 || !memchr(out->s, '\\', out->n))
        return true;
    Buf plain = buf_new(arena);
    Str raw = *out;
    for (size_t at = 0; at < raw.n;)
        if (raw.s[at] != '\\' || at + 1 == raw.n)
            buf_putc(&plain, raw.s[at++]);
        else
            at += 1 + (mlir ? mlir_escape(raw, at + 1, &plain) : escape(raw, at + 1, &plain));
    *out = buf_str(&plain);
    return true;
}

/* Skips to the next token; if `lines`, not past the end of the line. */
static char next(Scan *scan, bool lines)
{
    Str text = scan->source->text;
    if (!lines)
        return pins_peek(scan);
    while (scan->at < text.n && memchr(" \t\r", text.s[scan->at], 3))
        scan->at++;
    return scan->at == text.n ? '\0' : at_comment(scan) ? '\n' : text.s[scan->at];
}

static bool is_one_of(char c, const char *set)
{
    return c && strchr(set, c);
}

/* Skips a string, or one character. */
static bool skip_one(Scan *scan)
{
    Str text = scan->source->text;
    char c = text.s[scan->at];
    if (c == '"' || c == '\'')
        scan->at = string_end(text, scan->at);
    if (scan->at == text.n)
        return scan_fail(scan, "a string has no closing quote");
    scan->at++;
    return true;
}

bool pins_skip(Scan *scan, const char *ends)
{
    Str text = scan->source->text;
    int depth = 0;
    bool lines = strchr(ends, '\n');
    for (;;) {
        char c = next(scan, lines && depth == 0);
        if (scan->at >= text.n)
            return depth == 0 || scan_fail(scan, "a bracket is not closed");
        bool arrow = c == '>' && scan->at > 0 && text.s[scan->at - 1] == '-';
        if (depth == 0 && is_one_of(c, ends))
            return true;
        if (is_one_of(c, "([{<") && ++depth > 4 * PINS_NEST_MAX)
            return scan_fail(scan, "brackets are nested more than %d deep", depth);
        if (is_one_of(c, ")]}>") && !arrow && depth-- == 0)
            return true;
        if (!skip_one(scan))
            return false;
    }
}
