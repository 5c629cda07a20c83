#include "core/base/scan.h"

Scan scan_begin(const Source *source, Error *err)
{
    return (Scan){.source = source, .err = err};
}

static Str rest(const Scan *scan)
{
    Str text = scan->source->text;
    return scan->at > 0 ? (Str){text.s + scan->at, text.n - scan->at} : text;
}

static void skip_blanks(Scan *scan)
{
    Str text = scan->source->text;
    while (scan->at < text.n && memchr(" \t\r\n", text.s[scan->at], 4))
        scan->at++;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* "expected WANTED, found 'x'". */
static bool fail_wanted(Scan *scan, const char *wanted)
{
    char c = scan_peek(scan);
    if (scan->at == scan->source->text.n)
        return scan_fail(scan, "expected %s, found the end", wanted);
    return scan_fail(scan, "expected %s, found '%c'", wanted, c);
}

bool scan_name(Scan *scan, Str *out)
{
    if (!is_letter(scan_peek(scan)))
        return fail_wanted(scan, "a name");
    Str left = rest(scan);
    size_t n = 1;
    while (n < left.n && (is_letter(left.s[n]) || is_digit(left.s[n])))
        n++;
    *out = (Str){left.s, n};
    scan->at += n;
    return true;
}

bool scan_int(Scan *scan, int64_t *out)
{
    skip_blanks(scan);
    Str left = rest(scan);
    size_t n_sign = left.n > 0 && left.s[0] == '-' ? 1 : 0;
    size_t n = n_sign;
    while (n < left.n && is_digit(left.s[n]))
        n++;
    if (n == n_sign)
        return fail_wanted(scan, "a number");
    Str token = {left.s, n};
    if (!str_to_int(token, out)) {
        error_kind(scan->err, ERROR_OUT_OF_RANGE, "the number %.*s is too large", STR_ARG(token));
        scan_blame(scan, token);
        return false;
    }
    scan->at += n;
    return true;
}

bool scan_char(Scan *scan, char c)
{
    if (scan_accept(scan, c))
        return true;
    const char wanted[] = {'\'', c, '\'', '\0'};
    return fail_wanted(scan, wanted);
}

bool scan_accept(Scan *scan, char c)
{
    return scan_accept_text(scan, (Str){&c, 1});
}

bool scan_accept_text(Scan *scan, Str text)
{
    skip_blanks(scan);
    if (!str_starts(rest(scan), text))
        return false;
    scan->at += text.n;
    return true;
}

char scan_peek(Scan *scan)
{
    skip_blanks(scan);
    Str left = rest(scan);
    return left.n > 0 ? left.s[0] : '\0';
}

bool scan_end(Scan *scan)
{
    skip_blanks(scan);
    return scan->at == scan->source->text.n || fail_wanted(scan, "the end");
}

bool scan_fail(Scan *scan, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_kind_args(scan->err, ERROR_SYNTAX, format, args);
    va_end(args);
    skip_blanks(scan);
    error_at(scan->err, scan->source, scan->at);
    return false;
}

void scan_blame(Scan *scan, Str token)
{
    Str text = scan->source->text;
    if (token.s >= text.s && token.s <= text.s + text.n)
        error_at(scan->err, scan->source, (size_t)(token.s - text.s));
}
