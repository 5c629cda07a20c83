#include "core/session/pins_read.h"

typedef struct {
    PinsText *text;
    Scan *scan;
    Buf name; /* of this dict: "params.wte.kernel" */
} DictReader;

static bool read_container(DictReader *w, int depth);

/* ---- keys ---- */

static int64_t *number_named(PinsText *text, Str name)
{
    for (int i = 0; i < text->numbers.n; i++)
        if (str_eq(text->numbers.at[i].name, name))
            return &text->numbers.at[i].value;
    return NULL;
}

/* f"h.{i}.mlp": its variables replaced by their values. */
static bool put_formatted(DictReader *w, Str text, size_t at)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.s[i];
        if ((c == '{' || c == '}') && i + 1 < text.n && text.s[i + 1] == c) {
            i++;
        } else if (c == '{') {
            const char *end = memchr(text.s + i, '}', text.n - i);
            Str name = {text.s + i + 1, end ? (size_t)(end - text.s) - i - 1 : 0};
            const int64_t *number = number_named(w->text, name);
            if (!number) {
                error_kind(w->scan->err, ERROR_SYNTAX, "'%.*s' is not a loop variable here",
                           STR_ARG(name));
                error_at(w->scan->err, w->scan->source, at);
                return false;
            }
            buf_printf(&w->name, "%lld", (long long)*number);
            i += name.n + 1;
            continue;
        }
        buf_putc(&w->name, c);
    }
    return true;
}

static void put_part(DictReader *w, Str part)
{
    if (w->name.n > 0)
        buf_putc(&w->name, '.');
    buf_add(&w->name, part);
}

/* A text in quotes, f before it or not; a bare word; a number. */
static bool read_simple_key(DictReader *w)
{
    Str part = {"", 0};
    int64_t number;
    pins_peek(w->scan);
    size_t at = w->scan->at;
    Scan ahead = *w->scan;
    Str word = pins_word(&ahead);
    Str text = w->scan->source->text;
    bool formatted = str_eq(word, STR("f")) && ahead.at < text.n && pins_at_string(&ahead);
    if (formatted)
        w->scan->at = ahead.at;
    if (pins_at_string(w->scan)) {
        if (!pins_string(w->text->scratch, w->scan, w->text->mlir, &part))
            return false;
        if (!formatted) {
            put_part(w, part);
            return true;
        }
        if (w->name.n > 0)
            buf_putc(&w->name, '.');
        return put_formatted(w, part, at);
    }
    if (pins_at_number(w->scan)) {
        if (!scan_int(w->scan, &number))
            return false;
        put_part(w, str_from(arena_printf(w->text->scratch, "%lld", (long long)number)));
        return true;
    }
    if (word.n == 0)
        return scan_fail(w->scan, "expected the name of a tensor");
    w->scan->at = ahead.at;
    put_part(w, word);
    return true;
}

/* A key as above, or a tuple of them: ('params', 'wte', 'kernel') */
static bool read_key(DictReader *w)
{
    if (!pins_accept(w->scan, '('))
        return read_simple_key(w);
    while (!pins_accept(w->scan, ')')) {
        if (!read_simple_key(w))
            return false;
        if (!pins_accept(w->scan, ',') && pins_peek(w->scan) != ')')
            return pins_expect(w->scan, ')');
    }
    return true;
}

/* ---- contents ---- */

static bool is_listed(Str key, const char *words)
{
    return key.n > 0 && str_has_word(str_from(words), key);
}

/* Returns whether "{" opens one sharding, {"dims_mapping": ..}, and not a dict of names. */
static bool at_object(const DictReader *w)
{
    Error unused = {0};
    Scan ahead = *w->scan;
    Str key = {"", 0};
    ahead.err = &unused;
    if (!pins_accept(&ahead, '{'))
        return false;
    if (pins_at_string(&ahead) ? !pins_string(w->text->scratch, &ahead, false, &key)
                               : !(key = pins_word(&ahead), key.n > 0))
        return false;
    return is_listed(key, "dims_mapping dims_mappings dim_mappings placements partial shape "
                          "process_mesh spec sharding");
}

/* Returns whether a Name( follows, and then a dict or a list of pairs. */
bool pins_at_dict(const Scan *scan)
{
    Scan ahead = *scan;
    if (pins_peek(&ahead) == '{')
        return true;
    if (pins_word(&ahead).n == 0 || !pins_accept(&ahead, '('))
        return false;
    if (pins_peek(&ahead) == '{')
        return true;
    return pins_accept(&ahead, '[') && pins_accept(&ahead, '(') && pins_at_string(&ahead);
}

static bool take(DictReader *w)
{
    pins_peek(w->scan);
    size_t from = w->scan->at;
    Str name = {arena_str(w->text->scratch, buf_str(&w->name)), w->name.n};
    if (!pins_skip(w->scan, ","))
        return false;
    if (w->scan->at == from)
        return scan_fail(w->scan, "expected a sharding");
    bool ok = pins_add(w->text, w->scan, &name, 1, NULL, from, w->scan->at);
    arena_release(w->text->scratch, (void *)(uintptr_t)name.s);
    return ok;
}

/* Reads members that are not tensors: {"process_mesh": {..}, "tensors": {..}}. */
static bool read_special(DictReader *w, Str key, int depth, bool *done)
{
    char c = pins_peek(w->scan);
    *done = false;
    if (depth != 1)
        return true;
    if (is_listed(key, "process_mesh device_mesh mesh")) {
        *done = true;
        return pins_is_mesh(key) && pins_at_string(w->scan) ? pins_skip(w->scan, ",")
                                                            : pins_mesh_read(w->text, w->scan, 0);
    }
    if (c == '{' && !at_object(w) && is_listed(key, "tensors placements shardings parameters")) {
        *done = true;
        w->name.n = 0;
        return read_container(w, depth);
    }
    return true;
}

static bool read_member(DictReader *w, size_t outer, int depth)
{
    bool done = false;
    Str key = {w->name.s + outer, w->name.n - outer};
    if (!read_special(w, key, depth, &done) || done)
        return done;
    if (pins_at_dict(w->scan) && !at_object(w))
        return read_container(w, depth);
    return take(w);
}

/* key: value, .. } */
static bool read_members(DictReader *w, int depth)
{
    size_t outer = w->name.n;
    while (!pins_accept(w->scan, '}')) {
        if (!read_key(w) || !pins_expect(w->scan, ':') || !read_member(w, outer, depth))
            return false;
        w->name.n = outer;
        if (!pins_accept(w->scan, ',') && pins_peek(w->scan) != '}')
            return pins_expect(w->scan, '}');
    }
    return true;
}

/* ('key', value), .. ] */
static bool read_pairs(DictReader *w, int depth)
{
    size_t outer = w->name.n;
    while (!pins_accept(w->scan, ']')) {
        if (!pins_expect(w->scan, '(') || !read_key(w) || !pins_expect(w->scan, ',') ||
            !read_member(w, outer, depth))
            return false;
        w->name.n = outer;
        pins_accept(w->scan, ',');
        if (!pins_expect(w->scan, ')'))
            return false;
        if (!pins_accept(w->scan, ',') && pins_peek(w->scan) != ']')
            return pins_expect(w->scan, ']');
    }
    return true;
}

static bool read_container(DictReader *w, int depth)
{
    if (depth == PINS_NEST_MAX)
        return scan_fail(w->scan, "dicts are nested more than %d deep", depth);
    if (pins_accept(w->scan, '{'))
        return read_members(w, depth + 1);
    pins_word(w->scan);
    if (!pins_expect(w->scan, '('))
        return false;
    bool ok = pins_accept(w->scan, '{')   ? read_members(w, depth + 1)
              : pins_accept(w->scan, '[') ? read_pairs(w, depth + 1)
                                          : pins_expect(w->scan, '{');
    return ok && pins_skip(w->scan, "") && pins_expect(w->scan, ')');
}

bool pins_dict_read(PinsText *text, Scan *scan)
{
    DictReader walk = {.text = text, .scan = scan, .name = buf_new(text->scratch)};
    return read_container(&walk, 0);
}

bool pins_made_read(PinsText *text, Scan *scan, const Buf *made)
{
    Source source = {scan->source->name, buf_str(made)};
    const Source *whole = text->source;
    Scan own = scan_begin(&source, scan->err);
    text->source = &source;
    bool ok = pins_dict_read(text, &own);
    text->source = whole;
    scan->at = scan->source->text.n;
    return ok;
}

/* ---- a line each: NAME: SHARDING ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Where a name without quotes ends: at ": ", before a bracket after ':' or '=', else at the first
 * blank. */
static size_t bare_end(Str text, size_t at)
{
    size_t blank = text.n;
    for (size_t i = at; i < text.n && text.s[i] != '\n'; i++) {
        char c = text.s[i], next = i + 1 < text.n ? text.s[i + 1] : '\n';
        bool sign = c == ':' || c == '=';
        if (sign && (is_blank(next) || (next && strchr("[({<#\"'\n", next))))
            return i;
        if (is_blank(c) && blank == text.n)
            blank = i;
        if (blank < text.n && c && strchr("[({<#\"'", c))
            break;
    }
    return blank;
}

/* The end of a path as JAX prints it: ['params']['wte']['kernel']. */
static size_t path_end(Str text, size_t at)
{
    while (at + 1 < text.n && text.s[at] == '[' &&
           (text.s[at + 1] == '\'' || text.s[at + 1] == '"')) {
        char quote = text.s[at + 1];
        at += 2;
        while (at < text.n && text.s[at] != quote && text.s[at] != '\n')
            at++;
        if (at + 1 >= text.n || text.s[at + 1] != ']')
            return text.n;
        at += 2;
    }
    return at;
}

static bool read_line_name(PinsText *text, Scan *scan, Str *out)
{
    Str all = scan->source->text;
    size_t from = scan->at;
    if (pins_at_string(scan))
        return pins_string(text->scratch, scan, text->mlir, out);
    size_t to = all.s[from] == '[' ? path_end(all, from) : bare_end(all, from);
    if (to == all.n || to == from)
        return scan_fail(scan, "expected a line \"name: sharding\"");
    *out = str_trim((Str){all.s + from, to - from});
    scan->at = to;
    return true;
}

/* "DeviceMesh((dp=2, tp=4))", "sdy.mesh @mesh = <[..]>", "mesh: .." */
static bool read_line_mesh(PinsText *text, Scan *scan, bool *is_mesh)
{
    Scan ahead = *scan;
    Str word = pins_word(&ahead);
    *is_mesh = false;
    if (word.n == 0 || !(pins_is_mesh(word) || is_listed(word, "process_mesh device_mesh")))
        return true;
    if (pins_accept(&ahead, '@'))
        pins_word(&ahead);
    if (!pins_accept(&ahead, ':'))
        pins_accept(&ahead, '=');
    Scan mesh = ahead;
    pins_word(&mesh);
    char c = pins_peek(&mesh);
    if (c != '(' && c != '{' && c != '[' && c != '<')
        return true;
    *is_mesh = true;
    scan->at = ahead.at;
    return pins_mesh_read(text, scan, 0);
}

static bool read_line(PinsText *text, Scan *scan)
{
    Str name, all = scan->source->text;
    bool is_mesh;
    if (!read_line_mesh(text, scan, &is_mesh) || is_mesh)
        return is_mesh && !error_is_set(scan->err);
    if (!read_line_name(text, scan, &name))
        return false;
    while (scan->at < all.n && is_blank(all.s[scan->at]))
        scan->at++;
    if (scan->at < all.n && (all.s[scan->at] == ':' || all.s[scan->at] == '='))
        scan->at++;
    while (scan->at < all.n && is_blank(all.s[scan->at]))
        scan->at++;
    size_t from = scan->at;
    if (!pins_skip(scan, "\n;"))
        return false;
    size_t to = scan->at;
    while (to > from && (is_blank(all.s[to - 1]) || all.s[to - 1] == ','))
        to--;
    if (to == from)
        return scan_fail(scan, "expected a line \"name: sharding\"");
    if (scan->at < all.n && all.s[scan->at] == ';')
        scan->at++;
    return pins_add(text, scan, &name, 1, NULL, from, to);
}

bool pins_lines_read(PinsText *text, Scan *scan)
{
    while (pins_peek(scan), scan->at < scan->source->text.n)
        if (!read_line(text, scan))
            return false;
    return true;
}
