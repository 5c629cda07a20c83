/* What scripts can call, as rows: every row says its use and its help, in a language that language
 * servers read, and nothing that scripts have is without a row. */
#include "tests/unit/unit.h"

#include "scripts/hooks.h"
#include "scripts/lua_api.h"
#include "scripts/register/lua_operator.h"
#include "scripts/lua_policy.h"
#include "scripts/register/lua_register.h"
#include "tui/help/lua_help.h"
#include "tui/cli/help.h"
#include "tui/cli/lua_use.h"

#include <stdio.h>

/* ---- rows ---- */

static const ScriptEntry *find_type(const ScriptEntry *rows, Str name)
{
    for (const ScriptEntry *row = rows; row->name; row++)
        if (row->kind == SCRIPT_TYPE && str_eq(str_from(row->name), name))
            return row;
    return NULL;
}

static const char *name_of(const ScriptEntry *row, Arena *arena)
{
    Buf name = buf_new(arena);
    lua_row_name(row, &name);
    return name.s;
}

static void every_row_has_use_and_help(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    int n = 0, n_bad = 0;
    for (const ScriptEntry *row = lua_api_rows(arena); row->name; row++, n++) {
        Str help = str_from(row->help ? row->help : "");
        bool sentence = help.n > 10 && str_ends(help, STR(".")) && help.s[0] >= 'A' &&
                        (help.s[0] <= 'Z' || help.s[0] >= 'a');
        if (row->use && *row->use && sentence)
            continue;
        n_bad++;
        print_error("%s: use '%s', help '%s'\n", name_of(row, arena), row->use, row->help);
    }
    assert_int_equal(n_bad, 0);
    assert_true(n > 80);
    arena_free(arena);
}

static void every_use_can_be_read(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const ScriptEntry *rows = lua_api_rows(arena);
    int n_bad = 0;
    for (const ScriptEntry *row = rows; row->name; row++) {
        LuaUse use;
        Error err = {0};
        if (row->kind == SCRIPT_TYPE && strcmp(row->use, "class") == 0)
            continue;
        bool ok = lua_use_parse(arena, row->use, &use, &err);
        bool call = row->kind == SCRIPT_METHOD || row->kind == SCRIPT_GLOBAL;
        if (!ok || (call && !use.is_call)) {
            n_bad++;
            print_error("%s: '%s': %s at column %d\n", name_of(row, arena), row->use,
                        ok ? "no call" : err.text, err.column);
        }
        for (int i = 0; ok && i < use.names.n; i++)
            if (!lua_type_is_basic(use.names.at[i]) && !find_type(rows, use.names.at[i])) {
                n_bad++;
                print_error("%s: there is no type '%.*s'\n", name_of(row, arena),
                            STR_ARG(use.names.at[i]));
            }
    }
    assert_int_equal(n_bad, 0);
    arena_free(arena);
}

static void names_are_told_apart(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const ScriptEntry *rows = lua_api_rows(arena);
    for (const ScriptEntry *row = rows; row->name; row++) {
        bool of_type = row->kind == SCRIPT_METHOD || row->kind == SCRIPT_FIELD;
        const ScriptEntry *type = of_type ? find_type(rows, str_from(row->of)) : NULL;
        if (of_type && (!type || strcmp(type->use, "class") != 0))
            fail_msg("%s is of no class", name_of(row, arena));
        for (const ScriptEntry *it = rows; it < row; it++)
            if (strcmp(it->of, row->of) == 0 && strcmp(it->name, row->name) == 0)
                fail_msg("%s is there twice", name_of(row, arena));
    }
    arena_free(arena);
}

/* ---- what Lua has ---- */

typedef struct {
    const ScriptEntry *rows;
    int n_missing;
} Walk;

static bool has_row(const ScriptEntry *rows, const char *of, const char *name)
{
    for (const ScriptEntry *row = rows; row->name; row++)
        if (strcmp(row->of, of) == 0 && strcmp(row->name, name) == 0 && row->kind != SCRIPT_TYPE)
            return true;
    return false;
}

/* Keys of the table at the top that no row has. */
static void walk_table(lua_State *L, const char *of, Walk *walk)
{
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING || has_row(walk->rows, of, lua_tostring(L, -2)))
            continue;
        walk->n_missing++;
        print_error("%s.%s has no row\n", of, lua_tostring(L, -2));
    }
}

/* Globals: rows, Lua's own functions, and tables of functions whose own rows are asked for. */
static int walk_globals(lua_State *L)
{
    static const char *const lua_own[] = {
        "_G",       "_VERSION", "assert", "error",  "getmetatable", "ipairs",   "next",     "pcall",
        "rawequal", "rawget",   "rawlen", "rawset", "select",       "tonumber", "tostring", "type"};
    Walk *walk = lua_touserdata(L, 1);
    lua_pushglobaltable(L);
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        const char *name = lua_tostring(L, -2);
        bool known = has_row(walk->rows, "", name);
        for (size_t i = 0; i < COUNT_OF(lua_own); i++)
            known |= strcmp(lua_own[i], name) == 0;
        if (known)
            continue;
        if (lua_istable(L, -1)) {
            walk_table(L, name, walk);
        } else {
            walk->n_missing++;
            print_error("the global %s has no row\n", name);
        }
    }
    return 0;
}

static int walk_resource(lua_State *L)
{
    Walk *walk = lua_touserdata(L, 1);
    Arena *arena = arena_new();
    Source text = {"mesh", STR("dp=2,tp=2,pp=2,cp=2,ep=2")};
    push_resource(L, mesh_parse(arena, &text, NULL));
    walk_table(L, "resource", walk);
    lua_getfield(L, -1, "mesh");
    walk_table(L, "mesh", walk);
    lua_rawgeti(L, -1, 1);
    walk_table(L, "mesh_axis", walk);
    arena_free(arena);
    return 0;
}

static void nothing_is_without_a_row(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    RuleBook rules = rule_book_new(arena);
    Walk walk = {lua_api_rows(arena), 0};
    Sandbox *sandbox = sandbox_new("p.lua");
    sandbox->source.text = STR("");
    assert_true(register_run(sandbox, &rules, NULL));
    assert_true(sandbox_protect(sandbox, walk_globals, &walk, NULL));
    assert_true(sandbox_protect(sandbox, walk_resource, &walk, NULL));
    assert_int_equal(walk.n_missing, 0);
    sandbox_free(sandbox);
    arena_free(arena);
}

static int globals_are_there(lua_State *L)
{
    for (const LuaTable *table = lua_tables; table->entries; table++)
        for (const LuaEntry *it = table->entries; it->name; it++) {
            if (table->kind != LUA_GLOBALS || !it->function)
                continue;
            lua_pushglobaltable(L);
            if (*table->of)
                lua_getfield(L, -1, table->of);
            lua_getfield(L, -1, it->name);
            if (lua_tocfunction(L, -1) != it->function)
                luaL_error(L, "there is no function %s of '%s'", it->name, table->of);
            lua_settop(L, 1);
        }
    return 0;
}

static void every_global_row_is_a_function(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    RuleBook rules = rule_book_new(arena);
    Error err = {0};
    Sandbox *sandbox = sandbox_new("p.lua");
    sandbox->source.text = STR("");
    assert_true(register_run(sandbox, &rules, NULL));
    if (!sandbox_protect(sandbox, globals_are_there, NULL, &err))
        fail_msg("%s", err.text);
    sandbox_free(sandbox);
    arena_free(arena);
}

/* What register_op reads has rows, and nothing else has. */
static void options_have_rows(void **state)
{
    (void)state;
    int n = 0, n_rows = 0;
    for (const char *const *name = operator_option_names; *name; name++, n++) {
        const LuaEntry *row = register_fields;
        while (row->name && strcmp(row->name, *name) != 0)
            row++;
        if (!row->name)
            fail_msg("the option %s has no row", *name);
    }
    for (const LuaEntry *row = register_fields; row->name; row++)
        n_rows++;
    assert_int_equal(n_rows, n + 1); /* name, which register_op reads itself */
}

/* ---- annotations ---- */

/* They are a file of Lua; every row is in it. */
static void annotations_are_lua(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const ScriptEntry *rows = lua_api_rows(arena);
    Buf text = buf_new(arena);
    Error err = {0};
    lua_annotate(rows, &text);
    Sandbox *sandbox = sandbox_new("dimscope.lua");
    sandbox->source.text = buf_str(&text);
    if (!sandbox_run(sandbox, NULL, NULL, &err))
        fail_msg("line %d: %s", err.line, err.text);
    sandbox_free(sandbox);
    for (const ScriptEntry *row = rows; row->name; row++) {
        bool field = row->kind == SCRIPT_FIELD;
        const char *want = field ? arena_printf(arena, "---@field %s %s", row->name, row->use)
                                 : name_of(row, arena);
        if (str_find(buf_str(&text), str_from(want)) < 0)
            fail_msg("'%s' is not among the annotations", want);
    }
    arena_free(arena);
}

/* ---- uses ---- */

typedef struct {
    const char *name, *text, *want;
} UseCase;

static UseCase use_cases[] = {
    {"no parameters", "(): node[]", "call -> node[]"},
    {"nothing comes back", "(name: string, rule?: rule)", "call name string, rule? rule"},
    {"more results", "(): value, ...", "call -> value -> ..."},
    {"any number", "(...: integer): number", "call ... integer -> number"},
    {"two results", "(a: b): string, fun(): c?", "call a b -> string -> fun(): c?"},
    {"function and table", "(f: fun(a: x, b?: y[]): z|nil, t: {[1]: u, k?: v})",
     "call f fun(a: x, b?: y[]): z|nil, t {[1]: u, k?: v}"},
    {"a type", "integer[]?", "-> integer[]?"},
    {"a type in brackets", "(tensor|false)[]", "-> (tensor|false)[]"},
    {"functions with results in brackets", "(f: (fun(): a, b)?, g: c): d",
     "call f (fun(): a, b)?, g c -> d"},
    {"a function in brackets", "(fun(a: b): c)?", "-> (fun(a: b): c)?"},
    {"texts", "\"none\"|\"forward\"", "-> \"none\"|\"forward\""},
    {"a map", "table<string, integer|integer[]>", "-> table<string, integer|integer[]>"},
    {"nothing", "", "a name is expected"},
    {"half a call", "(a: b", "',' is expected"},
    {"no type", "(a: )", "a name is expected"},
    {"more behind it", "(): a b", "wrong"},
    {"half a list", "a[", "wrong"},
};

static void takes_uses_apart(void **state)
{
    const UseCase *row = *state;
    Arena *arena = arena_new();
    Buf got = buf_new(arena);
    LuaUse use;
    Error err = {0};
    if (!lua_use_parse(arena, row->text, &use, &err)) {
        assert_int_equal(err.kind, ERROR_SYNTAX);
        assert_true(row->want[0] != '-' && strncmp(row->want, "call", 4) != 0);
        arena_free(arena);
        return;
    }
    buf_puts(&got, use.is_call ? "call" : "");
    for (int i = 0; i < use.params.n; i++)
        buf_printf(&got, "%s %.*s%s %.*s", i > 0 ? "," : "", STR_ARG(use.params.at[i].name),
                   use.params.at[i].optional ? "?" : "", STR_ARG(use.params.at[i].type));
    for (int i = 0; i < use.results.n; i++)
        buf_printf(&got, "%s-> %.*s", got.n > 0 ? " " : "", STR_ARG(use.results.at[i]));
    assert_string_equal(got.s, row->want);
    arena_free(arena);
}

/* ---- help ---- */

static UseCase help_cases[] = {
    {"a method", "lua.graph.partition", "graph:partition(node: node,"},
    {"with a colon", "lua.graph:partition", "graph:partition(node: node,"},
    {"by its last part", "lua.partition", "graph:partition(node: node,"},
    {"a field", "lua.node.name", "node.name: string\n"},
    {"a type with what it has", "lua.tensor", "tensor:producer(): node?"},
    {"a table of functions", "lua.spmd", "spmd.merge("},
    {"a last part of several", "lua.shape", "part.shape: integer[]"},
    {"types are explained", "lua.shard", "\ntypes\n  what "},
    {"the index", "lua", "\n  graph:partition(node: node,"},
    {"unknown", "lua.partitoin",
     "usage: scripts have no 'partitoin' [nearest: lua.graph:partition; dimscope help lua lists "
     "all]"},
};

static void answers_help(void **state)
{
    const UseCase *row = *state;
    Arena *arena = arena_new();
    Buf got = buf_new(arena);
    Error err = {0};
    if (!lua_help(lua_api_rows(arena), str_from(row->text), &got, &err))
        buf_printf(&got, "%s: %s [%s]", error_kind_name(err.kind), err.text, err.hint);
    if (str_find(buf_str(&got), str_from(row->want)) < 0)
        fail_msg("'%s' is not in:\n%s", row->want, got.s);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_has_use_and_help),
        cmocka_unit_test(every_use_can_be_read),
        cmocka_unit_test(names_are_told_apart),
        cmocka_unit_test(nothing_is_without_a_row),
        cmocka_unit_test(every_global_row_is_a_function),
        cmocka_unit_test(options_have_rows),
        cmocka_unit_test(annotations_are_lua),
    };
    return cmocka_run_group_tests_name("rows", tests, NULL, NULL) +
           run_rows("uses", use_cases, takes_uses_apart) +
           run_rows("help", help_cases, answers_help);
}
