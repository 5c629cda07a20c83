#include "tui/help/lua_help.h"

#include "core/base/text.h"

#include <ctype.h>
#include <limits.h>

static const char prefix[] = "lua"; /* of topics; "lua." takes as much as it with its end */

bool lua_help_is_meant(Str topic)
{
    return str_eq(topic, str_from(prefix)) || str_starts(topic, STR("lua."));
}

/* What stands behind "lua." */
static Str without_prefix(Str name)
{
    if (str_eq(name, str_from(prefix)))
        return (Str){0};
    size_t n = str_starts(name, STR("lua.")) ? sizeof prefix : 0;
    return (Str){name.s + n, name.n - n};
}

void lua_row_name(const ScriptEntry *row, Buf *out)
{
    const char *between = row->kind == SCRIPT_METHOD ? ":" : row->name[0] == '[' ? "" : ".";
    buf_printf(out, "%s%s%s", row->of, *row->of ? between : "", row->name);
}

static const char *whole_name(const ScriptEntry *row, Arena *arena)
{
    Buf name = buf_new(arena);
    lua_row_name(row, &name);
    return name.s;
}

/* ---- finding ---- */

/* A dot does for a colon. */
static bool same_name(const char *whole, Str asked)
{
    bool same = strlen(whole) == asked.n;
    for (size_t i = 0; same && i < asked.n; i++)
        same = whole[i] == asked.s[i] || (whole[i] == ':' && asked.s[i] == '.');
    return same;
}

static void add_members(Arena *arena, const ScriptEntry *rows, Str type, LuaRows *out)
{
    for (const ScriptEntry *row = rows; row->name; row++)
        if (*row->of && str_eq(str_from(row->of), type))
            vec_push(arena, out, row);
}

static bool refuse(Arena *arena, const ScriptEntry *rows, Str name, Error *err)
{
    const char *nearest = NULL;
    int best = INT_MAX;
    for (const ScriptEntry *row = rows; row->name; row++) {
        const char *whole = whole_name(row, arena);
        int of_whole = str_distance(str_from(whole), name);
        int of_last = str_distance(str_from(row->name), name);
        int distance = of_whole < of_last ? of_whole : of_last;
        if (distance < best) {
            best = distance;
            nearest = whole;
        }
    }
    error_kind(err, ERROR_USAGE, "scripts have no '%.*s'", STR_ARG(name));
    if (nearest)
        error_hint(err, "nearest: lua.%s; dimscope help lua lists all", nearest);
    return false;
}

bool lua_help_find(Arena *arena, const ScriptEntry *rows, Str name, LuaRows *out, Error *err)
{
    Str asked = without_prefix(name);
    bool is_type = false;
    for (const ScriptEntry *row = rows; row->name; row++)
        if (same_name(whole_name(row, arena), asked)) {
            vec_push(arena, out, row);
            is_type |= row->kind == SCRIPT_TYPE;
        }
    if (is_type || out->n == 0) /* of a type, or of a table of functions */
        add_members(arena, rows, asked, out);
    bool by_last = out->n == 0;
    for (const ScriptEntry *row = rows; by_last && row->name; row++)
        if (str_eq(str_from(row->name), asked))
            vec_push(arena, out, row);
    return out->n > 0 || refuse(arena, rows, asked, err);
}

/* ---- text ---- */

enum { INDENT = 2, NAME_AT = 20 };

static bool is_call(const ScriptEntry *row)
{
    return row->kind != SCRIPT_FIELD && row->kind != SCRIPT_TYPE && row->use[0] == '(';
}

void lua_row_use(const ScriptEntry *row, Buf *out)
{
    lua_row_name(row, out);
    if (strcmp(row->use, "class") != 0)
        buf_printf(out, "%s%s", is_call(row) ? "" : ": ", row->use);
}

/* A long one takes more lines, further in. */
static void put_use_line(const ScriptEntry *row, int indent, Buf *out)
{
    Buf line = buf_new(out->arena);
    lua_row_use(row, &line);
    Str rest = buf_str(&line);
    for (int at = indent; rest.n > 0; at = indent + 2 * INDENT) {
        buf_blanks(out, at);
        buf_add(out, text_take_line(&rest, TEXT_COLUMNS - at));
        buf_putc(out, '\n');
    }
}

static const ScriptEntry *find_type(const ScriptEntry *rows, Str name)
{
    for (const ScriptEntry *row = rows; row->name; row++)
        if (row->kind == SCRIPT_TYPE && str_eq(str_from(row->name), name))
            return row;
    return NULL;
}

static bool in_name(char c)
{
    return c == '_' || isalnum((unsigned char)c);
}

/* The types that the use of a row names, each once, in their order there. */
static LuaRows types_in(Arena *arena, const ScriptEntry *rows, const ScriptEntry *row)
{
    LuaRows found = {0};
    const char *at = strcmp(row->use, "class") == 0 ? "" : row->use;
    while (*at) {
        size_t n = 0;
        while (in_name(at[n]))
            n++;
        bool is_param = at[n] == ':' || (at[n] == '?' && at[n + 1] == ':');
        const ScriptEntry *type = n > 0 && !is_param ? find_type(rows, (Str){at, n}) : NULL;
        for (int i = 0; type && i < found.n; i++)
            if (found.at[i] == type)
                type = NULL;
        if (type)
            vec_push(arena, &found, type);
        at += n > 0 ? n : 1;
    }
    return found;
}

static void put_types(const ScriptEntry *rows, const ScriptEntry *row, Buf *out)
{
    LuaRows types = types_in(out->arena, rows, row);
    if (types.n > 0)
        buf_puts(out, "\ntypes\n");
    for (int i = 0; i < types.n; i++) {
        const ScriptEntry *type = types.at[i];
        Str name = str_from(arena_printf(out->arena, "  %s", type->name));
        bool is_class = strcmp(type->use, "class") == 0;
        const char *help =
            is_class ? type->help : arena_printf(out->arena, "%s. %s", type->use, type->help);
        text_put_pair(name, NAME_AT, help, out);
    }
}

static const struct {
    ScriptKind kind;
    const char *title;
} parts[] = {
    {SCRIPT_DEFINED, "what a file defines"},
    {SCRIPT_GLOBAL, "at the top level of a file"},
    {SCRIPT_STANDARD, "Lua's own"},
};

static void index_part(const ScriptEntry *rows, ScriptKind kind, const char *title, Buf *out)
{
    buf_printf(out, "\n%s\n", title);
    for (const ScriptEntry *row = rows; row->name; row++)
        if (row->kind == kind)
            put_use_line(row, INDENT, out);
}

/* All rows, by type, a line each. */
static void lua_help_index(const ScriptEntry *rows, Buf *out)
{
    buf_puts(out, "What scripts can call, and the types of it. dimscope help lua.NAME has one:\n"
                  "lua.graph.partition, lua.partition, lua.graph.\n");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        index_part(rows, parts[i].kind, parts[i].title, out);
    for (const ScriptEntry *type = rows; type->name; type++) {
        if (type->kind != SCRIPT_TYPE)
            continue;
        LuaRows members = {0};
        add_members(out->arena, rows, str_from(type->name), &members);
        buf_putc(out, '\n');
        put_use_line(type, 0, out);
        for (int i = 0; i < members.n; i++)
            put_use_line(members.at[i], INDENT, out);
    }
}

bool lua_help(const ScriptEntry *rows, Str name, Buf *out, Error *err)
{
    LuaRows found = {0};
    if (without_prefix(name).n == 0) {
        lua_help_index(rows, out);
        return true;
    }
    if (!lua_help_find(out->arena, rows, name, &found, err))
        return false;
    for (int i = 0; i < found.n; i++) {
        buf_puts(out, i > 0 ? "\n" : "");
        put_use_line(found.at[i], 0, out);
        text_put_pair((Str){0}, INDENT, found.at[i]->help, out);
    }
    if (found.n == 1)
        put_types(rows, found.at[0], out);
    return true;
}

void lua_help_words(const ScriptEntry *rows, Buf *out)
{
    buf_puts(out, prefix);
    for (const ScriptEntry *row = rows; row->name; row++)
        if (row->kind != SCRIPT_STANDARD)
            buf_printf(out, " lua.%s%s%s", row->of, *row->of ? "." : "", row->name);
}
