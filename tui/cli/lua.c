/* lua.c - `help lua`: what scripts can call, for people, programs and language servers. */
#include "tui/cli/help.h"

#include "core/base/json.h"
#include "core/base/version.h"
#include "tui/help/lua_help.h"
#include "tui/cli/lua_use.h"

/* ---- JSON ---- */

static Json *row_json(const ScriptEntry *row, Arena *arena)
{
    /* ORDER SCRIPT KIND */
    static const char *const kinds[] = {"global", "method", "field", "type", "standard", "defined"};
    Buf name = buf_new(arena);
    lua_row_name(row, &name);
    Json *json = json_object();
    json_set_str(json, "name", name.s);
    json_set_str(json, "kind", kinds[row->kind]);
    json_set_str(json, "of", row->of);
    json_set_str(json, "use", row->use);
    json_set_str(json, "help", row->help);
    return json;
}

static bool rows_json(Cli *cli, const ScriptEntry *rows, Str name)
{
    LuaRows found = {0};
    bool all = str_eq(name, STR("lua"));
    if (!all && !lua_help_find(cli->arena, rows, name, &found, &cli->err))
        return false;
    for (const ScriptEntry *row = rows; all && row->name; row++)
        vec_push(cli->arena, &found, row);
    Json *list = json_array(), *root = json_object();
    for (int i = 0; i < found.n; i++)
        json_add(list, row_json(found.at[i], cli->arena));
    json_set(root, "rows", list);
    cli_write_json(cli, root);
    return true;
}

/* ---- annotations ---- */

static void put_comment(const char *text, Buf *out)
{
    buf_printf(out, "---%s\n", text);
}

/* "name, ..." */
static void put_names(const LuaUse *use, Buf *out)
{
    for (int i = 0; i < use->params.n; i++)
        buf_printf(out, "%s%.*s", i > 0 ? ", " : "", STR_ARG(use->params.at[i].name));
}

static void put_function(const ScriptEntry *row, const LuaUse *use, Buf *out)
{
    put_comment(row->help, out);
    for (int i = 0; i < use->params.n; i++) {
        const LuaParam *param = &use->params.at[i];
        buf_printf(out, "---@param %.*s%s %.*s\n", STR_ARG(param->name), param->optional ? "?" : "",
                   STR_ARG(param->type));
    }
    for (int i = 0; i < use->results.n; i++)
        buf_printf(out, "---@return %s%.*s\n", str_eq(use->results.at[i], STR("...")) ? "any " : "",
                   STR_ARG(use->results.at[i]));
    buf_puts(out, "function ");
    lua_row_name(row, out);
    buf_putc(out, '(');
    put_names(use, out);
    buf_puts(out, ") end\n\n");
}

/* What a file defines is a type there, so that the file can say `---@type PAS`. */
static void put_defined(const ScriptEntry *row, const LuaUse *use, Buf *out)
{
    put_comment(row->help, out);
    buf_printf(out, "---@alias %s %s%s\n\n", row->name, use->is_call ? "fun" : "", row->use);
}

static void put_standard(const ScriptEntry *row, Buf *out)
{
    Buf use = buf_new(out->arena);
    lua_row_use(row, &use);
    buf_printf(out, "-- %s\n--     %s\n", use.s, row->help);
}

static void put_class(const ScriptEntry *rows, const ScriptEntry *type, Buf *out)
{
    LuaUse use = {0};
    put_comment(type->help, out);
    buf_printf(out, "---@class %s\n", type->name);
    for (const ScriptEntry *row = rows; row->name; row++)
        if (row->kind == SCRIPT_FIELD && strcmp(row->of, type->name) == 0)
            buf_printf(out, "---@field %s %s # %s\n", row->name, row->use, row->help);
    buf_printf(out, "local %s = {}\n\n", type->name);
    for (const ScriptEntry *row = rows; row->name; row++)
        if (row->kind == SCRIPT_METHOD && strcmp(row->of, type->name) == 0 &&
            lua_use_parse(out->arena, row->use, &use, NULL))
            put_function(row, &use, out);
}

static void put_type(const ScriptEntry *rows, const ScriptEntry *type, Buf *out)
{
    if (strcmp(type->use, "class") == 0) {
        buf_puts(out, "do\n");
        put_class(rows, type, out);
        buf_puts(out, "end\n\n");
        return;
    }
    put_comment(type->help, out);
    buf_printf(out, "---@alias %s %s\n\n", type->name, type->use);
}

/* The table of a global's functions, before the first of them. */
static void open_table(const ScriptEntry *rows, const ScriptEntry *row, Buf *out)
{
    if (!*row->of)
        return;
    for (const ScriptEntry *it = rows; it < row; it++)
        if (it->kind == SCRIPT_GLOBAL && strcmp(it->of, row->of) == 0)
            return;
    buf_printf(out, "%s = {}\n\n", row->of);
}

void lua_annotate(const ScriptEntry *rows, Buf *out)
{
    buf_puts(out,
             "---@meta\n"
             "-- What scripts of dimscope " DIMSCOPE_VERSION " can call, for language servers.\n"
             "-- Made by: dimscope help lua --annotations\n\n");
    for (const ScriptEntry *row = rows; row->name; row++) {
        LuaUse use = {0};
        if (!lua_use_parse(out->arena, row->use, &use, NULL))
            continue;
        if (row->kind == SCRIPT_DEFINED)
            put_defined(row, &use, out);
        if (row->kind == SCRIPT_TYPE)
            put_type(rows, row, out);
        if (row->kind != SCRIPT_GLOBAL)
            continue;
        open_table(rows, row, out);
        put_function(row, &use, out);
    }
    buf_puts(out, "-- Lua's own, where it differs here:\n");
    for (const ScriptEntry *row = rows; row->name; row++)
        if (row->kind == SCRIPT_STANDARD)
            put_standard(row, out);
}

/* ---- the verb ---- */

int help_lua(Cli *cli, Str name)
{
    const ScriptEntry *rows = cli->hooks->rows(cli->hooks->context, cli->arena);
    bool ok = true;
    if (cli->options.annotations) {
        cli->raw = true;
        lua_annotate(rows, &cli->out);
    } else if (cli->options.json) {
        ok = rows_json(cli, rows, name);
    } else {
        ok = lua_help(rows, name, &cli->out, &cli->err);
    }
    return ok ? CLI_FINE : cli_fail(cli);
}
