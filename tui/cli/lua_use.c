#include "tui/cli/lua_use.h"

#include "core/base/scan.h"

typedef struct {
    Scan scan;
    Arena *arena;
    LuaUse *out;
} UseReader;

bool lua_type_is_basic(Str name)
{
    static const char *const basic[] = {"any",    "boolean", "false", "function", "integer", "nil",
                                        "number", "string",  "table", "true",     NULL};
    for (const char *const *it = basic; *it; it++)
        if (str_eq(name, str_from(*it)))
            return true;
    return false;
}

static bool read_type(UseReader *reader);

/* name ["?"] ":" type, or "..." ":" type */
static bool read_param(UseReader *reader, LuaParam *out)
{
    Scan *scan = &reader->scan;
    *out = (LuaParam){.name = STR("...")};
    if (!scan_accept_text(scan, STR("...")) && !scan_name(scan, &out->name))
        return false;
    out->optional = scan_accept(scan, '?');
    if (!scan_char(scan, ':'))
        return false;
    scan_peek(scan); /* past the blanks */
    size_t start = scan->at;
    if (!read_type(reader))
        return false;
    out->type = str_trim((Str){scan->source->text.s + start, scan->at - start});
    return true;
}

/* "(" param, .. ")", into params when these are the row's own */
static bool read_params(UseReader *reader, bool own)
{
    Scan *scan = &reader->scan;
    if (!scan_char(scan, '('))
        return false;
    while (!scan_accept(scan, ')')) {
        LuaParam param;
        if (!read_param(reader, &param))
            return false;
        if (own)
            vec_push(reader->arena, &reader->out->params, param);
        if (scan_peek(scan) != ')' && !scan_char(scan, ','))
            return false;
    }
    return true;
}

/* [":" type, ..], into results when these are the row's own; one where a comma means another
 * thing */
static bool read_results(UseReader *reader, bool own, bool several)
{
    Scan *scan = &reader->scan;
    if (!scan_accept(scan, ':'))
        return true;
    do {
        scan_peek(scan);
        size_t start = scan->at;
        if (!(several && scan_accept_text(scan, STR("..."))) && !read_type(reader))
            return false;
        Str type = str_trim((Str){scan->source->text.s + start, scan->at - start});
        if (own)
            vec_push(reader->arena, &reader->out->results, type);
    } while (several && scan_accept(scan, ','));
    return true;
}

static bool read_function(UseReader *reader, bool several)
{
    return read_params(reader, false) && read_results(reader, false, several);
}

/* What stands in brackets: a type, or a function with several results. */
static bool read_bracketed(UseReader *reader)
{
    Scan ahead = reader->scan;
    ahead.err = NULL;
    Str name;
    if (scan_name(&ahead, &name) && str_eq(name, STR("fun")))
        return scan_name(&reader->scan, &name) && read_function(reader, true) &&
               scan_char(&reader->scan, ')');
    return read_type(reader) && scan_char(&reader->scan, ')');
}

/* "{" name["?"] ":" type, "[" integer "]" ":" type, .. "}", behind the brace */
static bool read_fields(UseReader *reader)
{
    Scan *scan = &reader->scan;
    while (!scan_accept(scan, '}')) {
        LuaParam field;
        int64_t number;
        bool listed = scan_accept(scan, '[');
        bool ok = listed ? scan_int(scan, &number) && scan_char(scan, ']') &&
                               scan_char(scan, ':') && read_type(reader)
                         : read_param(reader, &field);
        if (!ok || (scan_peek(scan) != '}' && !scan_char(scan, ',')))
            return false;
    }
    return true;
}

/* "table<type, type>", behind the name */
static bool read_table(UseReader *reader)
{
    Scan *scan = &reader->scan;
    return read_type(reader) && scan_char(scan, ',') && read_type(reader) && scan_char(scan, '>');
}

/* Words up to a quotation mark, behind the first. */
static bool read_text(UseReader *reader)
{
    Str word;
    do {
        if (!scan_name(&reader->scan, &word))
            return false;
    } while (scan_peek(&reader->scan) != '"');
    return scan_char(&reader->scan, '"');
}

static bool read_part(UseReader *reader)
{
    Scan *scan = &reader->scan;
    Str name;
    if (scan_accept(scan, '('))
        return read_bracketed(reader);
    if (scan_accept(scan, '{'))
        return read_fields(reader);
    if (scan_accept(scan, '"'))
        return read_text(reader);
    if (!scan_name(scan, &name))
        return false;
    if (str_eq(name, STR("fun")))
        return read_function(reader, false);
    if (str_eq(name, STR("table")) && scan_accept(scan, '<'))
        return read_table(reader);
    vec_push(reader->arena, &reader->out->names, name);
    return true;
}

static bool read_type(UseReader *reader)
{
    Scan *scan = &reader->scan;
    do {
        if (!read_part(reader))
            return false;
        while (scan_accept_text(scan, STR("[]")) || scan_accept(scan, '?'))
            continue;
    } while (scan_accept(scan, '|'));
    return true;
}

/* "(name:", "(name?:", "(...", "()": a type in brackets has no colon there. */
static bool begins_call(Scan scan)
{
    Str name;
    if (!scan_accept(&scan, '('))
        return false;
    if (scan_accept(&scan, ')') || scan_accept_text(&scan, STR("...")))
        return true;
    return scan_name(&scan, &name) && (scan_accept(&scan, '?') || scan_accept(&scan, ':'));
}

bool lua_use_parse(Arena *arena, const char *text, LuaUse *out, Error *err)
{
    Source source = {"use", str_from(text)};
    UseReader reader = {scan_begin(&source, err), arena, out};
    *out = (LuaUse){.is_call = begins_call(scan_begin(&source, NULL))};
    if (out->is_call)
        return read_params(&reader, true) && read_results(&reader, true, true) &&
               scan_end(&reader.scan);
    vec_push(arena, &out->results, source.text);
    return read_type(&reader) && scan_end(&reader.scan);
}
