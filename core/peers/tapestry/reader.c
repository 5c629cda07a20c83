#include "core/peers/tapestry/reader.h"

#include "core/peers/tapestry/template.h"

#include <stdio.h>

/* ---- codes ---- */

/* For example "E_RANK". */
static const char *template_code_name(TemplateCode code)
{
    static const char *const names[] = {
#define TEMPLATE_CODE_NAME(id, kind) "E_" #id,
        TEMPLATE_CODES(TEMPLATE_CODE_NAME)
#undef TEMPLATE_CODE_NAME
    };
    return names[code];
}

static ErrorKind template_code_kind(TemplateCode code)
{
    static const ErrorKind kinds[] = {
#define TEMPLATE_CODE_KIND(id, kind) ERROR_##kind,
        TEMPLATE_CODES(TEMPLATE_CODE_KIND)
#undef TEMPLATE_CODE_KIND
    };
    return kinds[code];
}

bool phrase_vfail(const Phrase *phrase, int at, TemplateCode code, Error *err, const char *format,
                  va_list args)
{
    char what[300], column[32] = "";
    vsnprintf(what, sizeof what, format, args);
    if (phrase->text.s)
        snprintf(column, sizeof column, ", column %d", at + 1);
    return error_kind(err, template_code_kind(code), "%s: %s (%s%s%s%s)", template_code_name(code),
                      what, phrase->owner, phrase->owner[0] ? ", " : "", phrase->where, column);
}

bool phrase_fail(const Phrase *phrase, int at, TemplateCode code, Error *err, const char *format,
                 ...)
{
    va_list args;
    va_start(args, format);
    phrase_vfail(phrase, at, code, err, format, args);
    va_end(args);
    return false;
}

bool reader_fail(Reader *reader, TemplateCode code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    phrase_vfail(reader->phrase, reader->token.at, code, reader->err, format, args);
    va_end(args);
    return false;
}

/* ---- tokens ---- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* The character at pos + ahead; '\0' past the end. */
static char peek(const Reader *reader, size_t ahead)
{
    size_t at = reader->pos + ahead;
    return at < reader->phrase->text.n ? reader->phrase->text.s[at] : '\0';
}

static Str take_word(Reader *reader)
{
    Str word = {reader->phrase->text.s + reader->pos, 0};
    while (is_letter(peek(reader, 0)) || is_digit(peek(reader, 0))) {
        reader->pos++;
        word.n++;
    }
    return word;
}

/* Reads a.b.c, but not the `.size` of `x.size`, which is the number of dims. */
static Str read_qualified(Reader *reader)
{
    Str name = take_word(reader);
    while (name.n > 0 && peek(reader, 0) == '.' && is_letter(peek(reader, 1))) {
        size_t before = reader->pos++;
        Str word = take_word(reader);
        if (str_eq(word, STR("size")) && peek(reader, 0) != '.') {
            reader->pos = before;
            return name;
        }
        name.n += word.n + 1;
    }
    return name;
}

static bool take_number(Reader *reader)
{
    Str digits = {reader->phrase->text.s + reader->pos, 0};
    while (is_digit(peek(reader, 0))) {
        reader->pos++;
        digits.n++;
    }
    reader->token.kind = TOKEN_INT;
    return str_to_int(digits, &reader->token.number) ||
           reader_fail(reader, E_OVERFLOW, "%.*s does not fit 64 bits", STR_ARG(digits));
}

static bool take_name(Reader *reader, TokenKind kind)
{
    reader->pos++;
    if (kind == TOKEN_VAR && peek(reader, 0) == '.')
        reader->pos++;
    reader->token.kind = kind;
    reader->token.name = kind == TOKEN_VAR ? read_qualified(reader) : take_word(reader);
    return kind == TOKEN_COORD || reader->token.name.n > 0 ||
           reader_fail(reader, E_LEX, "a name follows '$'");
}

/* Signs of more than one character, longest first. */
static bool read_sign(Reader *reader)
{
    static const struct {
        const char *text;
        TokenKind kind;
        int op;
    } signs[] = {
        {"...", TOKEN_RUN, 0},         {":+", TOKEN_WINDOW, 0},       {":>", TOKEN_OWNS, 0},
        {"==", TOKEN_COMPARE, CMP_EQ}, {"!=", TOKEN_COMPARE, CMP_NE}, {"<=", TOKEN_COMPARE, CMP_LE},
        {">=", TOKEN_COMPARE, CMP_GE}, {"<", TOKEN_COMPARE, CMP_LT},  {">", TOKEN_COMPARE, CMP_GT},
    };
    Str rest = {reader->phrase->text.s + reader->pos, reader->phrase->text.n - reader->pos};
    if (str_starts(rest, STR(">:"))) {
        reader_fail(reader, E_SYNTAX, "'>:' is not an operator");
        error_hint(reader->err, "write ':>' before a window");
        return false;
    }
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (str_starts(rest, str_from(signs[i].text))) {
            reader->token.kind = signs[i].kind;
            reader->token.op = signs[i].op;
            reader->pos += strlen(signs[i].text);
            return true;
        }
    if (!strchr("[](),:+-*/%^=|.~", rest.s[0]) || rest.s[0] == '\0')
        return reader_fail(reader, E_LEX, "unexpected '%.1s'", rest.s);
    reader->token.kind = TOKEN_CHAR;
    reader->token.op = (unsigned char)rest.s[0];
    reader->pos++;
    return true;
}

bool reader_next(Reader *reader)
{
    while (peek(reader, 0) == ' ' || peek(reader, 0) == '\t' || peek(reader, 0) == '\n' ||
           peek(reader, 0) == '\r')
        reader->pos++;
    char c = peek(reader, 0);
    reader->token = (Token){.at = (int)reader->pos};
    if (reader->pos >= reader->phrase->text.n)
        return true;
    if (is_digit(c))
        return take_number(reader);
    if (c == '$')
        return take_name(reader, TOKEN_VAR);
    if (c == '@')
        return take_name(reader, TOKEN_COORD);
    if (!is_letter(c))
        return read_sign(reader);
    reader->token.name = take_word(reader);
    reader->token.kind = str_eq(reader->token.name, STR("_")) ? TOKEN_CHAR : TOKEN_ID;
    reader->token.op = '_';
    return true;
}

/* ---- for phrases and patterns ---- */

bool reader_begin(Reader *reader, Arena *arena, const char *owner, const char *where, Str text,
                  Error *err)
{
    *reader = (Reader){.arena = arena, .err = err};
    reader->phrase = arena_make(arena, Phrase);
    *reader->phrase = (Phrase){.owner = owner, .where = where, .text = text};
    if (text.n > TEMPLATE_TEXT_MAX)
        return reader_fail(reader, E_LIMIT, "a text has at most %d bytes", TEMPLATE_TEXT_MAX);
    return reader_next(reader);
}

bool reader_is(const Reader *reader, char c)
{
    return reader->token.kind == TOKEN_CHAR && reader->token.op == c;
}

bool reader_accept(Reader *reader, char c, bool *taken)
{
    *taken = reader_is(reader, c);
    return !*taken || reader_next(reader);
}

bool reader_expected(Reader *reader, const char *what)
{
    Str text = reader->phrase->text;
    int at = reader->token.at;
    Str next = {text.s + at, reader->pos - (size_t)at};
    if (reader->token.kind == TOKEN_END)
        return reader_fail(reader, E_SYNTAX, "expected %s at the end", what);
    return reader_fail(reader, E_SYNTAX, "expected %s before '%.*s'", what, STR_ARG(next));
}

bool reader_expect(Reader *reader, char c, const char *after)
{
    if (reader_is(reader, c))
        return reader_next(reader);
    char what[80];
    snprintf(what, sizeof what, "'%c' after %s", c, after);
    return reader_expected(reader, what);
}

bool reader_end(Reader *reader)
{
    return reader->token.kind == TOKEN_END || reader_expected(reader, "the end");
}

bool reader_enter(Reader *reader)
{
    return ++reader->depth <= NESTING_MAX ||
           reader_fail(reader, E_LIMIT, "brackets may nest at most %d deep", NESTING_MAX);
}
