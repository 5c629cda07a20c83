#include "core/base/json_view.h"

#include "core/base/vec.h"

#include <stdlib.h>

/* ---- reading ---- */

typedef struct {
    Arena *arena;
    const Source *source;
    const char *s;
    size_t at, n;
    Vec(JsonPlace) places;
    Error *err;
} JsonParsing;

static bool fail(JsonParsing *r, const char *what)
{
    error_kind(r->err, ERROR_SYNTAX, "JSON: %s", what);
    error_at(r->err, r->source, r->at);
    return false;
}

static void skip_blanks(JsonParsing *r)
{
    while (r->at < r->n && (r->s[r->at] == ' ' || r->s[r->at] == '\n' || r->s[r->at] == '\t' ||
                            r->s[r->at] == '\r'))
        r->at++;
}

static int32_t add(JsonParsing *r, char kind, size_t at, size_t n)
{
    JsonPlace place = {(uint32_t)at, (uint32_t)n, (uint32_t)r->places.n + 1, kind, false};
    vec_push_own(r->arena, &r->places, place);
    return r->places.n - 1;
}

/* A text ends with the first quote behind an even number of backslashes. */
static bool read_text(JsonParsing *r)
{
    size_t start = ++r->at;
    bool escaped = false;
    for (;;) {
        const char *quote = r->at < r->n ? memchr(r->s + r->at, '"', r->n - r->at) : NULL;
        if (!quote) {
            r->at = start - 1;
            return fail(r, "a text without an end");
        }
        size_t end = (size_t)(quote - r->s), slashes = 0;
        while (end - slashes > start && r->s[end - slashes - 1] == '\\')
            slashes++;
        r->at = end + 1;
        if (slashes % 2 == 1)
            continue;
        escaped = memchr(r->s + start, '\\', end - start) != NULL;
        int32_t place = add(r, '"', start, end - start); /* the table may move */
        r->places.at[place].escaped = escaped;
        return true;
    }
}

static bool is_number_char(char c)
{
    return is_digit(c) || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

static bool read_scalar(JsonParsing *r)
{
    static const char *const words[] = {"true", "false", "null"};
    size_t start = r->at;
    if (r->s[start] == '"')
        return read_text(r);
    if (is_digit(r->s[start]) || r->s[start] == '-') {
        while (r->at < r->n && is_number_char(r->s[r->at]))
            r->at++;
        add(r, '#', start, r->at - start);
        return true;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        if (r->n - start < n || memcmp(r->s + start, words[i], n) != 0)
            continue;
        add(r, words[i][0], start, n);
        r->at += n;
        return true;
    }
    return fail(r, "a value is expected");
}

/* Reads `"key" :` of an object. */
static bool read_key(JsonParsing *r)
{
    skip_blanks(r);
    if (r->at >= r->n || r->s[r->at] != '"')
        return fail(r, "a key is expected");
    if (!read_text(r))
        return false;
    skip_blanks(r);
    if (r->at >= r->n || r->s[r->at] != ':')
        return fail(r, "':' is expected");
    r->at++;
    skip_blanks(r);
    return true;
}

/* Ends the containers that end here, and takes the comma before what comes next. *depth becomes 0
 * at the end of the root. */
static bool end_value(JsonParsing *r, int32_t *open, int *depth)
{
    while (*depth > 0) {
        JsonPlace *container = &r->places.at[open[*depth - 1]];
        container->n++;
        skip_blanks(r);
        if (r->at >= r->n)
            return fail(r, "the file ends in the middle");
        char end = container->kind == '{' ? '}' : ']';
        if (r->s[r->at] == ',') {
            r->at++;
            return true;
        }
        if (r->s[r->at] != end)
            return fail(r, "',' or the end of the list is expected");
        r->at++;
        container->next = (uint32_t)r->places.n;
        (*depth)--;
    }
    return true;
}

static bool is_open(const JsonParsing *r)
{
    return r->at < r->n && (r->s[r->at] == '{' || r->s[r->at] == '[');
}

/* Begins a container; an empty one ends at once, with *empty true. */
static bool begin_container(JsonParsing *r, int32_t *open, int *depth, bool *empty)
{
    if (*depth == JSON_VIEW_DEPTH_MAX)
        return fail(r, "lists are nested too deeply");
    char kind = r->s[r->at];
    int32_t place = add(r, kind, r->at++, 0);
    skip_blanks(r);
    *empty = r->at < r->n && r->s[r->at] == (kind == '{' ? '}' : ']');
    r->at += *empty;
    if (!*empty)
        open[(*depth)++] = place;
    return true;
}

static bool read_values(JsonParsing *r)
{
    int32_t open[JSON_VIEW_DEPTH_MAX];
    int depth = 0;
    do {
        bool empty = true;
        if (depth > 0 && r->places.at[open[depth - 1]].kind == '{' && !read_key(r))
            return false;
        skip_blanks(r);
        if (r->at >= r->n)
            return fail(r, "the file ends where a value is expected");
        if (is_open(r) ? !begin_container(r, open, &depth, &empty) : !read_scalar(r))
            return false;
        if (empty && !end_value(r, open, &depth))
            return false;
    } while (depth > 0);
    skip_blanks(r);
    return r->at == r->n || fail(r, "more text behind the end");
}

bool json_view_read(Arena *arena, const Source *source, JsonView *out, Error *err)
{
    JsonParsing r = {.arena = arena, .source = source, .s = source->text.s, .n = source->text.n};
    r.err = err;
    if (r.n > JSON_VIEW_BYTES_MAX)
        return fail(&r, "the file is larger than 1 GiB");
    r.places.room = (int)(r.n / 12 + 16);
    r.places.at = arena_alloc(arena, arena_array_bytes((size_t)r.places.room, sizeof(JsonPlace)));
    if (!read_values(&r))
        return false;
    *out = (JsonView){source, r.places.n, r.places.at};
    return true;
}

/* ---- asking ---- */

static bool is_container(const JsonView *view, int32_t value)
{
    char kind = json_view_kind(view, value);
    return kind == '{' || kind == '[';
}

int json_view_size(const JsonView *view, int32_t value)
{
    return is_container(view, value) ? (int)view->places[value].n : 0;
}

int32_t json_view_first(const JsonView *view, int32_t container)
{
    return json_view_size(view, container) > 0 ? container + 1 : -1;
}

int32_t json_view_next(const JsonView *view, int32_t container, int32_t item)
{
    const JsonPlace *places = view->places;
    uint32_t value = (uint32_t)item + (places[container].kind == '{');
    uint32_t next = places[value].next;
    return next < places[container].next ? (int32_t)next : -1;
}

Str json_view_raw(const JsonView *view, int32_t value)
{
    if (value < 0 || is_container(view, value))
        return STR("");
    return (Str){view->source->text.s + view->places[value].at, view->places[value].n};
}

bool json_view_is(const JsonView *view, int32_t value, const char *text)
{
    return json_view_kind(view, value) == '"' && str_eq(json_view_raw(view, value), str_from(text));
}

int32_t json_view_get(const JsonView *view, int32_t object, const char *key)
{
    if (json_view_kind(view, object) != '{')
        return -1;
    size_t n = strlen(key);
    json_view_each (item, view, object)
        if (view->places[item].n == n &&
            memcmp(view->source->text.s + view->places[item].at, key, n) == 0)
            return item + 1;
    return -1;
}

static bool read_hex(Str text, size_t at, uint32_t *out)
{
    char digits[5] = {0};
    if (text.n < 4 || at > text.n - 4)
        return false;
    memcpy(digits, text.s + at, 4);
    char *end;
    *out = (uint32_t)strtoul(digits, &end, 16);
    return *end == '\0';
}

/* \u and what follows it, two of them for a code point above 65535. */
static size_t put_code(Str text, size_t at, Buf *out)
{
    uint32_t code, low;
    if (!read_hex(text, at, &code))
        return at;
    at += 4;
    bool pair = code >= 0xD800 && code < 0xDC00 && text.n - at >= 6 && text.s[at] == '\\' &&
                text.s[at + 1] == 'u' && read_hex(text, at + 2, &low) && low >= 0xDC00 &&
                low < 0xE000;
    if (pair) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        at += 6;
    }
    buf_put_rune(out, code >= 0xD800 && code < 0xE000 ? 0xFFFD : code);
    return at;
}

Str json_view_str(const JsonView *view, int32_t value, Arena *arena)
{
    static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";
    Str raw = json_view_kind(view, value) == '"' ? json_view_raw(view, value) : STR("");
    if (raw.n == 0 || !view->places[value].escaped)
        return raw;
    Buf out = buf_new(arena);
    for (size_t i = 0; i < raw.n;) {
        char c = raw.s[i++];
        if (c != '\\' || i == raw.n) {
            buf_putc(&out, c);
            continue;
        }
        c = raw.s[i++];
        const char *found = strchr(from, c);
        if (c == 'u')
            i = put_code(raw, i, &out);
        else
            buf_putc(&out, found && c ? to[found - from] : c);
    }
    return buf_str(&out);
}

bool json_view_int(const JsonView *view, int32_t value, int64_t *out)
{
    return json_view_kind(view, value) == '#' && str_to_int(json_view_raw(view, value), out);
}

bool json_view_real(const JsonView *view, int32_t value, double *out)
{
    return json_view_kind(view, value) == '#' && str_to_real(json_view_raw(view, value), out);
}

bool json_view_bool(const JsonView *view, int32_t value, bool fallback)
{
    char kind = json_view_kind(view, value);
    return kind == 't' ? true : kind == 'f' ? false : fallback;
}

bool json_view_fail(const JsonView *view, int32_t value, Error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    error_kind_args(err, ERROR_UNREADABLE, format, args);
    va_end(args);
    error_at(err, view->source, value < 0 ? 0 : view->places[value].at);
    return false;
}
