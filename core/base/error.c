#include "core/base/error.h"

#include "core/base/text.h"

#include <stdio.h>

static const char *const kind_names[ERROR_KIND_COUNT] = {
    /* ORDER ERROR_KIND */
    [ERROR_INVALID] = "invalid",
    [ERROR_SYNTAX] = "syntax",
    [ERROR_INCONSISTENT_REDUCE] = "inconsistent_reduce",
    [ERROR_NO_MATCH] = "no_match",
    [ERROR_NOT_INFERABLE] = "not_inferable",
    [ERROR_NOT_DIVISIBLE] = "not_divisible",
    [ERROR_FROZEN] = "frozen",
    [ERROR_OUT_OF_RANGE] = "out_of_range",
    [ERROR_CONFLICT] = "conflict",
    [ERROR_DUPLICATE] = "duplicate",
    [ERROR_ELLIPSIS] = "ellipsis",
    [ERROR_RANK] = "rank",
    [ERROR_DTYPE] = "dtype",
    [ERROR_UNBOUND] = "unbound",
    [ERROR_NEEDS_RESHARD] = "needs_reshard",
    [ERROR_PARTIAL] = "partial",
    [ERROR_UNKNOWN_OP] = "unknown_op",
    [ERROR_UNSUPPORTED] = "unsupported",
    [ERROR_UNREADABLE] = "unreadable",
    [ERROR_SCRIPT] = "script",
    [ERROR_USAGE] = "usage",
    [ERROR_RUN] = "run",
    [ERROR_CANCELLED] = "cancelled",
};

const char *error_kind_name(ErrorKind kind)
{
    return kind_names[kind];
}

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

enum { PIECE_ROOM = 5 };

/* Removes one character from the front of *text and writes it in printable form; returns the bytes
 * written. */
static size_t next_printable(Str *text, char piece[PIECE_ROOM])
{
    uint32_t rune;
    size_t n, n_written = 4;
    if (text_rune(*text, &rune, &n))
        memcpy(piece, text->s, n_written = n);
    else
        snprintf(piece, PIECE_ROOM, "\\x%02X", (unsigned)(unsigned char)text->s[0]);
    *text = (Str){text->s + n, text->n - n};
    return n_written;
}

void text_printable(Str text, Buf *out)
{
    char piece[PIECE_ROOM];
    while (text.n > 0) {
        size_t plain = 0;
        while (plain < text.n && text.s[plain] >= ' ' && text.s[plain] < 0x7f)
            plain++;
        buf_add(out, (Str){text.s, plain});
        text = (Str){text.s + plain, text.n - plain};
        if (text.n > 0) {
            size_t n = next_printable(&text, piece);
            buf_add(out, (Str){piece, n});
        }
    }
}

void text_printable_lines(Str text, Buf *out)
{
    for (size_t n; text.n > 0; text = (Str){text.s + n, text.n - n}) {
        for (n = 0; n < text.n && (text.s[n] == '\n' || text.s[n] == '\r' || text.s[n] == '\t');
             n++)
            buf_putc(out, text.s[n]);
        size_t begin = n;
        while (n < text.n && text.s[n] != '\n' && text.s[n] != '\r' && text.s[n] != '\t')
            n++;
        text_printable((Str){text.s + begin, n - begin}, out);
    }
}

/* The same into a fixed array, ended by "..." when it does not fit; returns the bytes written. */
static size_t printable_into(Str text, char *out, size_t room)
{
    char piece[PIECE_ROOM];
    size_t n = 0, n_cut = 0; /* n_cut: the last place where "..." still fits */
    while (text.n > 0) {
        size_t n_piece = next_printable(&text, piece);
        if (n + n_piece >= room) {
            n = n_cut;
            memcpy(out + n, "...", 3);
            n += 3;
            break;
        }
        memcpy(out + n, piece, n_piece);
        n += n_piece;
        if (n + 3 < room)
            n_cut = n;
    }
    out[n] = '\0';
    return n;
}

enum { MESSAGE_ROOM = 1024 };

__attribute__((format(printf, 3, 0))) static void format_into(char *out, size_t room,
                                                              const char *format, va_list args)
{
    char raw[MESSAGE_ROOM];
    vsnprintf(raw, sizeof raw, format, args);
    printable_into(str_from(raw), out, room);
}

bool error_set(Error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_kind_args(err, ERROR_INVALID, format, args);
    va_end(args);
    return false;
}

bool error_kind_args(Error *err, ErrorKind kind, const char *format, va_list args)
{
    if (!err || error_is_set(err))
        return false;
    err->kind = kind;
    format_into(err->text, sizeof err->text, format, args);
    return false;
}

bool error_kind(Error *err, ErrorKind kind, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_kind_args(err, kind, format, args);
    va_end(args);
    return false;
}

bool error_hint(Error *err, const char *format, ...)
{
    if (!err || err->hint[0] != '\0')
        return false;
    va_list args;
    va_start(args, format);
    format_into(err->hint, sizeof err->hint, format, args);
    va_end(args);
    return false;
}

static int count_chars(const char *s, size_t n)
{
    int count = 0;
    for (size_t i = 0; i < n; i++)
        count += !is_continuation(s[i]);
    return count;
}

/* Bytes of a long line that are shown before the place of the error. */
enum { BEFORE_BYTES = 80, BEFORE_ROOM = 160 };

/* Keeps the part of the line around offset `at`; the line may have any length. */
static void keep_line(Error *err, Str line, size_t at)
{
    size_t from = at > BEFORE_BYTES ? at - BEFORE_BYTES : 0;
    while (from > 0 && from < at && is_continuation(line.s[from]))
        from++;
    char before[BEFORE_ROOM] = "";
    size_t n_before = printable_into((Str){line.s + from, at - from}, before, sizeof before);
    err->caret = count_chars(before, n_before);
    memcpy(err->source_line, before, n_before);
    printable_into((Str){line.s + at, line.n - at}, err->source_line + n_before,
                   sizeof err->source_line - n_before);
}

void error_at(Error *err, const Source *source, size_t at)
{
    if (!err || err->file[0] != '\0')
        return;
    Str text = source->text;
    if (at > text.n)
        at = text.n;

    size_t line_from = 0;
    err->line = 1;
    for (size_t i = 0; i < at; i++)
        if (text.s[i] == '\n') {
            err->line++;
            line_from = i + 1;
        }
    size_t line_to = at;
    while (line_to < text.n && text.s[line_to] != '\n' && text.s[line_to] != '\r')
        line_to++;

    printable_into(str_from(source->name), err->file, sizeof err->file);
    err->column = 1;
    if (line_to == line_from)
        return;
    Str line = {text.s + line_from, line_to - line_from};
    err->column += count_chars(line.s, at - line_from);
    keep_line(err, line, at - line_from);
}

void error_in_file(Error *err, const char *file)
{
    if (err && err->file[0] == '\0')
        printable_into(str_from(file), err->file, sizeof err->file);
}

void error_format(const Error *err, Buf *out)
{
    if (err->file[0] != '\0') {
        buf_puts(out, err->file);
        if (err->line > 0)
            buf_printf(out, ":%d:%d", err->line, err->column);
        buf_puts(out, ": ");
    }
    buf_printf(out, "error: %s\n", err->text);
    if (err->source_line[0] != '\0')
        buf_printf(out, "  %s\n  %*s^\n", err->source_line, err->caret, "");
    if (err->hint[0] != '\0')
        buf_printf(out, "hint: %s\n", err->hint);
}
