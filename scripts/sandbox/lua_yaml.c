#include "scripts/sandbox/lua_yaml.h"

#include "core/base/vec.h"
#include "core/summary/decision_lua.h"

/* A name whose content follows, by its indentation. The names below `slots` are slots in order. */
typedef struct {
    int indent, inside; /* of the name; of what stands below it, -1: nothing yet */
    bool slots, listed; /* listed: below it stands a list */
} Open;

typedef struct {
    Arena *arena;
    const Source *source;
    Buf *lua;
    Vec(Open) open;
    size_t at; /* of the line */
    Error *err;
} Yaml;

static bool fail(const Yaml *yaml, Str where, const char *what)
{
    error_kind(yaml->err, ERROR_SYNTAX, "%s", what);
    error_hint(yaml->err, "'dimscope help templates' shows what a file in YAML may have");
    error_at(yaml->err, yaml->source, (size_t)(where.s - yaml->source->text.s));
    return false;
}

/* ---- texts ---- */

/* The bytes of a quoted text up to the mark that ends it; 0 if there is none. */
static size_t quoted_length(Str text)
{
    char mark = text.s[0];
    for (size_t i = 1; i < text.n; i++) {
        bool doubled = mark == '\'' && text.s[i] == mark && i + 1 < text.n && text.s[i + 1] == mark;
        if (doubled || (mark == '"' && text.s[i] == '\\'))
            i++;
        else if (text.s[i] == mark)
            return i + 1;
    }
    return 0;
}

/* What the quotation marks hold: '' is ' in single ones; \" and \\ are escapes in double ones. */
static Str unquoted(const Yaml *yaml, Str text)
{
    Buf out = buf_new(yaml->arena);
    for (size_t i = 1; i + 1 < text.n; i++) {
        bool escaped = text.s[i] == (text.s[0] == '"' ? '\\' : '\'');
        i += escaped && i + 2 < text.n;
        buf_putc(&out, text.s[i]);
    }
    return buf_str(&out);
}

/* The line without its comment and the blanks around it. */
static Str without_comment(Str line)
{
    for (size_t i = 0; i < line.n; i++) {
        bool begins = i == 0 || line.s[i - 1] == ' ';
        if ((line.s[i] == '"' || line.s[i] == '\'') && begins) {
            size_t n = quoted_length((Str){line.s + i, line.n - i});
            i += n > 0 ? n - 1 : 0;
        } else if (line.s[i] == '#' && begins) {
            line.n = i;
        }
    }
    return str_trim(line);
}

static bool is_quoted(Str text)
{
    return text.n > 0 && (text.s[0] == '"' || text.s[0] == '\'');
}

/* A text, true or false. */
static bool put_scalar(const Yaml *yaml, Str text)
{
    if (is_quoted(text)) {
        if (quoted_length(text) != text.n)
            return fail(yaml, text,
                        "a quoted text must end on its line, and nothing may follow it");
        put_lua_str(unquoted(yaml, text), yaml->lua);
        return true;
    }
    if (text.n == 0 || strchr("|>&*!{%@`-", text.s[0]))
        return fail(yaml, text,
                    "a text must stand on one line, and in quotation marks if it begins "
                    "with a sign");
    if (str_eq(text, STR("true")) || str_eq(text, STR("false")))
        buf_add(yaml->lua, text);
    else
        put_lua_str(text, yaml->lua);
    return true;
}

/* [a, b] */
static bool put_list(const Yaml *yaml, Str text)
{
    if (!str_starts(text, STR("[")) || !str_ends(text, STR("]")))
        return fail(yaml, text, "a list is [a, b], or lines that begin with a dash");
    Str rest = {text.s + 1, text.n - 2};
    buf_putc(yaml->lua, '{');
    while (rest.n > 0) {
        Str item = str_trim(str_take(&rest, ','));
        if (!put_scalar(yaml, item))
            return false;
        buf_putc(yaml->lua, ',');
    }
    buf_putc(yaml->lua, '}');
    return true;
}

/* ---- names ---- */

/* Takes "name:" from the text. */
static bool take_name(const Yaml *yaml, Str *text, Str *name)
{
    Str all = *text;
    size_t n = is_quoted(all) ? quoted_length(all) : 0;
    while (n < all.n && (all.s[n] != ':' || (n + 1 < all.n && all.s[n + 1] != ' ')))
        n++;
    if (n == all.n || n == 0)
        return fail(yaml, all, "expected 'name: text', or 'name:' and its content below");
    *name = str_trim((Str){all.s, n});
    *text = str_trim((Str){all.s + n + 1, all.n - n - 1});
    if (is_quoted(*name))
        *name = unquoted(yaml, *name);
    return true;
}

static void close_to(Yaml *yaml, int indent, bool item)
{
    while (yaml->open.n > 0) {
        const Open *top = &yaml->open.at[yaml->open.n - 1];
        if (top->indent < indent ||
            (item && top->indent == indent && (top->listed || top->inside < 0)))
            return;
        yaml->open.n--;
        buf_puts(yaml->lua, yaml->open.n > 0 ? "}, " : "}; ");
    }
}

static void open_table(Yaml *yaml, int indent, bool slots)
{
    vec_push(yaml->arena, &yaml->open, ((Open){indent, -1, slots, false}));
}

static bool put_name(Yaml *yaml, Str name, Str text, int indent, Open *in)
{
    static const char *const lists[] = {"enum", "let", "require"};
    bool list = false;
    if (in && in->slots) {
        buf_putc(yaml->lua, '{');
        put_lua_str(name, yaml->lua);
        buf_putc(yaml->lua, ',');
    } else {
        buf_puts(yaml->lua, in ? "[" : "template ");
        put_lua_str(name, yaml->lua);
        buf_puts(yaml->lua, in ? "] = " : " {");
    }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        list |= str_eq(name, str_from(lists[i]));
    if (text.n > 0 && (!in || in->slots))
        return fail(yaml, text, "the content of this name stands below it");
    if (text.n > 0) {
        bool ok = list ? put_list(yaml, text) : put_scalar(yaml, text);
        buf_putc(yaml->lua, ',');
        return ok;
    }
    if (in && !in->slots)
        buf_putc(yaml->lua, '{');
    bool slots = yaml->open.n == 1 && (str_eq(name, STR("inputs")) || str_eq(name, STR("outputs")));
    open_table(yaml, indent, slots);
    return true;
}

static bool put_line(Yaml *yaml, Str text, int indent)
{
    bool item = str_starts(text, STR("- ")) || str_eq(text, STR("-"));
    close_to(yaml, indent, item);
    Open *in = yaml->open.n > 0 ? &yaml->open.at[yaml->open.n - 1] : NULL;
    if (in ? in->inside >= 0 && in->inside != indent : indent != 0)
        return fail(yaml, text, "it is indented otherwise than the names beside it");
    if (in && in->inside >= 0 && in->listed != item)
        return fail(yaml, text, "a list and names stand side by side");
    if (in)
        in->inside = indent;
    if (!item) {
        Str name;
        return take_name(yaml, &text, &name) && put_name(yaml, name, text, indent, in);
    }
    if (!in)
        return fail(yaml, text, "a file has the names of templates, and what they have below");
    in->listed = true;
    if (!put_scalar(yaml, str_trim((Str){text.s + 1, text.n - 1})))
        return false;
    buf_putc(yaml->lua, ',');
    return true;
}

bool yaml_to_lua(Arena *arena, const Source *source, Buf *lua, Error *err)
{
    Yaml yaml = {.arena = arena, .source = source, .lua = lua, .err = err};
    for (Str rest = source->text; rest.n > 0;) {
        Str line = str_take(&rest, '\n'), text = without_comment(line);
        size_t indent = 0;
        while (indent < line.n && line.s[indent] == ' ')
            indent++;
        if (text.n > 0 && line.s[indent] == '\t')
            return fail(&yaml, line, "lines are indented by blanks, not by tabs");
        if (text.n > 0 && !str_eq(text, STR("---")) && !put_line(&yaml, text, (int)indent))
            return false;
        buf_putc(lua, '\n');
    }
    close_to(&yaml, -1, false);
    return true;
}
