#include "scripts/peers/tapestry.h"

#include "core/session/session.h"
#include "core/peers/tapestry/eval_template.h"
#include "scripts/register/lua_operator.h"
#include "scripts/register/lua_registered.h"
#include "scripts/sandbox/lua_state.h"

#include <lauxlib.h>

enum { NAME_MAX_BYTES = 100, TEMPLATE_INSTRUCTIONS = 20000, LIST_LENGTH_MAX = 64 };

/* Receives a template that is not defined by a policy: the reader of a text. */
typedef struct {
    Arena *arena;
    const Template *found;
    int n;
    Error err; /* of the template, apart from Lua's */
} Sink;

/* A table being read, at an absolute place of the stack. Texts stay where they are: the tables
 * outlive the reading. */
typedef struct {
    lua_State *L;
    Arena *arena;
    const char *name; /* of the template */
    Error *err;
} TemplateReading;

static bool fail(const TemplateReading *reading, const char *code, const char *what,
                 const char *field)
{
    return error_kind(reading->err, strcmp(code, "E_SYNTAX") == 0 ? ERROR_SYNTAX : ERROR_INVALID,
                      "%s: %s (%s, %s)", code, what, reading->name, field);
}

/* ---- tables ---- */

static bool is_known(const char *const *fields, const char *key)
{
    for (; *fields; fields++)
        if (strcmp(*fields, key) == 0)
            return true;
    return false;
}

/* Has the table no other keys than these and 1 .. n_items? */
static bool check_keys(const TemplateReading *reading, int table, const char *what,
                       const char *const *fields, lua_Integer n_items)
{
    lua_State *L = reading->L;
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        if (lua_isinteger(L, -2) && lua_tointeger(L, -2) >= 1 && lua_tointeger(L, -2) <= n_items)
            continue;
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "a number";
        if (lua_type(L, -2) == LUA_TSTRING && is_known(fields, key))
            continue;
        const char *text = arena_printf(reading->arena, "there is no field '%s'", key);
        lua_pop(L, 2);
        return fail(reading, "E_EXTRA", text, what);
    }
    return true;
}

static const char *const no_fields[] = {NULL};

/* The value at the top of the stack, which stays there. */
static bool text_at_top(const TemplateReading *reading, const char *field, const char **out)
{
    if (lua_type(reading->L, -1) != LUA_TSTRING) {
        const char *text =
            arena_printf(reading->arena, "it is a %s, not a text", luaL_typename(reading->L, -1));
        return fail(reading, "E_SYNTAX", text, field);
    }
    *out = lua_tostring(reading->L, -1);
    return true;
}

/* An absent field leaves *out NULL. */
static bool read_text(const TemplateReading *reading, int table, const char *field,
                      const char **out)
{
    lua_State *L = reading->L;
    lua_pushstring(L, field);
    bool given = lua_rawget(L, table) != LUA_TNIL;
    bool ok = !given || text_at_top(reading, field, out);
    lua_pop(L, 1);
    return ok;
}

static bool read_flag(const TemplateReading *reading, int table, const char *field, bool *out)
{
    lua_State *L = reading->L;
    lua_pushstring(L, field);
    int type = lua_rawget(L, table);
    *out = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return type == LUA_TNIL || type == LUA_TBOOLEAN ||
           fail(reading, "E_SYNTAX", "it must be true or false", field);
}

/* Pushes the table of that field; nothing, and *given false, when it is absent. */
static bool push_table(const TemplateReading *reading, int table, const char *field, bool *given)
{
    lua_State *L = reading->L;
    lua_pushstring(L, field);
    int type = lua_rawget(L, table);
    *given = type == LUA_TTABLE;
    if (type == LUA_TTABLE)
        return true;
    lua_pop(L, 1);
    return type == LUA_TNIL || fail(reading, "E_SYNTAX", "it must be a table", field);
}

static bool check_length(const TemplateReading *reading, const char *field, lua_Unsigned n)
{
    return n <= LIST_LENGTH_MAX || fail(reading, "E_LIMIT", "it has more than 64 entries", field);
}

/* {"..", ".."} at the top of the stack. */
static bool read_texts(const TemplateReading *reading, const char *field, const char *const **out,
                       int *n)
{
    lua_State *L = reading->L;
    int table = lua_gettop(L);
    lua_Unsigned length = lua_rawlen(L, table);
    if (!check_length(reading, field, length) ||
        !check_keys(reading, table, field, no_fields, (lua_Integer)length))
        return false;
    const char **texts = arena_array(reading->arena, const char *, length);
    for (lua_Unsigned i = 0; i < length; i++) {
        lua_rawgeti(L, table, (lua_Integer)i + 1);
        bool ok = text_at_top(reading, field, &texts[i]);
        lua_pop(L, 1);
        if (!ok)
            return false;
    }
    *out = texts;
    *n = (int)length;
    return true;
}

static bool read_text_list(const TemplateReading *reading, int table, const char *field,
                           const char *const **out, int *n)
{
    bool given;
    if (!push_table(reading, table, field, &given))
        return false;
    bool ok = !given || read_texts(reading, field, out, n);
    lua_pop(reading->L, given ? 1 : 0);
    return ok;
}

/* ---- slots ---- */

/* The part of "[0] :> [$n]" between the brackets behind ":>", if a 0 stands before; else false. */
static bool split_patch(Str patch, Str *window)
{
    int64_t at = str_find(patch, STR(":>"));
    if (at < 0)
        return false;
    Str map = str_trim((Str){patch.s, (size_t)at});
    *window = str_trim((Str){patch.s + at + 2, patch.n - (size_t)at - 2});
    if (!str_starts(map, STR("[")) || !str_ends(map, STR("]")) || window->n < 3 ||
        !str_starts(*window, STR("[")) || !str_ends(*window, STR("]")))
        return false;
    *window = (Str){window->s + 1, window->n - 2};
    return str_eq(str_trim((Str){map.s + 1, map.n - 2}), STR("0"));
}

/* The transform insert puts the row of a patch in: "[0] :> [$n]" is the row "[0... | 0 | $n]". */
static bool read_patch(const TemplateReading *reading, const char *patch, TemplateSlot *slot)
{
    Str window;
    if (!patch || slot->row || !split_patch(str_from(patch), &window))
        return fail(reading, "E_SYNTAX", "insert needs a patch \"[0] :> [SIZE]\"", "ipf");
    slot->row = arena_printf(reading->arena, "[0... | 0 | %.*s]", STR_ARG(window));
    return true;
}

static bool read_ipf_table(const TemplateReading *reading, int table, TemplateSlot *slot)
{
    static const char *const fields[] = {"map",   "offset", "shape", "transform", "source",
                                         "index", "row",    "patch", NULL};
    const char *transform = NULL, *patch = NULL;
    if (!check_keys(reading, table, "ipf", fields, 0) ||
        !read_text(reading, table, "transform", &transform) ||
        !read_text(reading, table, "map", &slot->map) ||
        !read_text(reading, table, "offset", &slot->offset) ||
        !read_text(reading, table, "shape", &slot->window) ||
        !read_text(reading, table, "source", &slot->source) ||
        !read_text(reading, table, "index", &slot->at) ||
        !read_text(reading, table, "row", &slot->row) ||
        !read_text(reading, table, "patch", &patch))
        return false;
    if (transform && strcmp(transform, "insert") == 0)
        return read_patch(reading, patch, slot);
    if (patch)
        return fail(reading, "E_EXTRA", "a patch is of the transform insert", "ipf");
    return !transform || strcmp(transform, "insertRow") == 0 ||
           fail(reading, "E_EXTRA", "the transforms are insert and insertRow", "ipf");
}

static bool read_ipf(const TemplateReading *reading, int table, TemplateSlot *slot)
{
    lua_State *L = reading->L;
    lua_pushstring(L, "ipf");
    int type = lua_rawget(L, table);
    bool ok = type == LUA_TNIL || (type == LUA_TTABLE ? read_ipf_table(reading, lua_gettop(L), slot)
                                                      : text_at_top(reading, "ipf", &slot->ipf));
    lua_pop(L, 1);
    return ok;
}

/* { "name", shape = "..", ..} at the top of the stack. */
static bool read_slot(const TemplateReading *reading, const char *field, TemplateSlot *slot)
{
    static const char *const fields[] = {"shape", "dtype", "ipf", "clip", "optional", "each", NULL};
    lua_State *L = reading->L;
    int table = lua_gettop(L);
    if (!lua_istable(L, table))
        return fail(reading, "E_SYNTAX", "a slot must be a table that begins with its name", field);
    if (lua_rawgeti(L, table, 1) != LUA_TSTRING)
        return fail(reading, "E_SYNTAX", "a slot must be a table that begins with its name", field);
    slot->name = lua_tostring(L, -1);
    lua_pop(L, 1);
    return check_keys(reading, table, slot->name, fields, 1) &&
           read_text(reading, table, "shape", &slot->shape) &&
           read_text(reading, table, "dtype", &slot->dtype) &&
           read_text(reading, table, "each", &slot->each) &&
           read_flag(reading, table, "clip", &slot->clip) &&
           read_flag(reading, table, "optional", &slot->optional) && read_ipf(reading, table, slot);
}

static bool read_slots(const TemplateReading *reading, int table, const char *field,
                       const TemplateSlot **out, int *n)
{
    lua_State *L = reading->L;
    bool given;
    if (!push_table(reading, table, field, &given))
        return false;
    if (!given)
        return fail(reading, "E_SYNTAX", "a template has inputs and outputs", field);
    int list = lua_gettop(L);
    lua_Unsigned length = lua_rawlen(L, list);
    if (!check_length(reading, field, length) ||
        !check_keys(reading, list, field, no_fields, (lua_Integer)length))
        return false;
    TemplateSlot *slots = arena_array(reading->arena, TemplateSlot, length);
    for (lua_Unsigned i = 0; i < length; i++) {
        lua_rawgeti(L, list, (lua_Integer)i + 1);
        if (!read_slot(reading, field, &slots[i]))
            return false;
        lua_settop(L, list);
    }
    lua_pop(L, 1);
    *out = slots;
    *n = (int)length;
    return true;
}

/* ---- named fields ---- */

/* The names of the table's texts, sorted: Lua has no order of its own. */
static bool read_params(const TemplateReading *reading, int table, TemplateText *text)
{
    lua_State *L = reading->L;
    bool given;
    if (!push_table(reading, table, "params", &given) || !given)
        return !given && !error_is_set(reading->err);
    int params = lua_gettop(L);
    sandbox_push_keys(L, params);
    int keys = lua_gettop(L);
    lua_Unsigned n = lua_rawlen(L, keys);
    if (!check_length(reading, "params", n))
        return false;
    TemplateField *fields = arena_array(reading->arena, TemplateField, n);
    for (lua_Unsigned i = 0; i < n; i++) {
        if (lua_rawgeti(L, keys, (lua_Integer)i + 1) != LUA_TSTRING)
            return fail(reading, "E_SYNTAX", "a param needs a name", "params");
        fields[i].name = lua_tostring(L, -1);
        if (!read_text(reading, params, fields[i].name, &fields[i].text))
            return false;
        lua_settop(L, keys);
    }
    lua_settop(L, params - 1);
    text->params = fields;
    text->n_params = (int)n;
    return true;
}

/* constraints = { dtype = { enum = { "f32", .. } } } */
static bool read_constraints(const TemplateReading *reading, int table, TemplateText *text)
{
    static const char *const fields[] = {"enum", NULL};
    lua_State *L = reading->L;
    bool given;
    if (!push_table(reading, table, "constraints", &given) || !given)
        return !given && !error_is_set(reading->err);
    int constraints = lua_gettop(L);
    sandbox_push_keys(L, constraints);
    int keys = lua_gettop(L);
    lua_Unsigned n = lua_rawlen(L, keys);
    if (!check_length(reading, "constraints", n))
        return false;
    TemplateEnum *enums = arena_array(reading->arena, TemplateEnum, n);
    for (lua_Unsigned i = 0; i < n; i++) {
        if (lua_rawgeti(L, keys, (lua_Integer)i + 1) != LUA_TSTRING)
            return fail(reading, "E_SYNTAX", "a constraint needs the name of a param",
                        "constraints");
        enums[i].name = lua_tostring(L, -1);
        if (!push_table(reading, constraints, enums[i].name, &given))
            return false;
        if (!check_keys(reading, lua_gettop(L), "constraints", fields, 0) ||
            !read_text_list(reading, lua_gettop(L), "enum", &enums[i].allowed, &enums[i].n))
            return false;
        lua_settop(L, keys);
    }
    lua_settop(L, constraints - 1);
    text->enums = enums;
    text->n_enums = (int)n;
    return true;
}

/* reduce = { sum = "[$k]" } */
static bool read_reduce(const TemplateReading *reading, int table, TemplateText *text)
{
    lua_State *L = reading->L;
    bool given;
    if (!push_table(reading, table, "reduce", &given) || !given)
        return !given && !error_is_set(reading->err);
    int reduce = lua_gettop(L);
    lua_pushnil(L);
    if (!lua_next(L, reduce) || lua_type(L, -2) != LUA_TSTRING)
        return fail(reading, "E_SYNTAX", "it takes one reduction: { sum = \"[..]\" }", "reduce");
    text->reduce_op = lua_tostring(L, -2);
    if (!text_at_top(reading, "reduce", &text->reduce))
        return false;
    lua_pop(L, 1);
    if (lua_next(L, reduce))
        return fail(reading, "E_EXTRA", "it takes only one reduction", "reduce");
    lua_settop(L, reduce - 1);
    return true;
}

/* Beside the language's own fields stand the options of register_op. */
static bool check_fields(const TemplateReading *reading, int table, const char *const *fields)
{
    lua_State *L = reading->L;
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "a number";
        if (is_known(fields, key) || is_known(operator_option_names, key))
            continue;
        const char *text = arena_printf(reading->arena, "there is no field '%s'", key);
        lua_pop(L, 2);
        return fail(reading, "E_EXTRA", text, "template");
    }
    return true;
}

/* A kernel that is a text is part of the template; others are options. */
static bool read_kernel_name(const TemplateReading *reading, int table, const char **out)
{
    lua_State *L = reading->L;
    lua_getfield(L, table, "kernel");
    *out = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    lua_pop(L, 1);
    return true;
}

/* The table at that place. */
static bool read_template(const TemplateReading *reading, int table, TemplateText *text)
{
    static const char *const fields[] = {"params", "constraints", "let",     "require", "inputs",
                                         "index",  "reduce",      "outputs", NULL};
    *text = (TemplateText){.name = reading->name};
    return check_fields(reading, table, fields) &&
           read_text(reading, table, "index", &text->index) &&
           read_text(reading, table, "example", &text->example) &&
           read_kernel_name(reading, table, &text->kernel) &&
           read_text_list(reading, table, "let", &text->let, &text->n_let) &&
           read_text_list(reading, table, "require", &text->require, &text->n_require) &&
           read_params(reading, table, text) && read_constraints(reading, table, text) &&
           read_reduce(reading, table, text) &&
           read_slots(reading, table, "inputs", &text->inputs, &text->n_inputs) &&
           read_slots(reading, table, "outputs", &text->outputs, &text->n_outputs);
}

/* ---- template "name" { .. } ---- */

static bool add_operator(lua_State *L, const TemplateText *text, Error *err)
{
    Sandbox *sandbox = sandbox_of(L);
    const RuleBook *rules = sandbox->rules;
    if (!rules)
        return error_set(err, "template stands at the top level of the file, not in a function "
                              "that runs later");
    const Operator *old = registry_find(rules->registry, str_from(text->name));
    if (old && (old->data || (old->anno && old->anno->file)))
        return error_kind(err, ERROR_DUPLICATE, "operator '%s' is registered already", text->name);
    const Template *template = template_load(registry_arena(rules->registry), text, err);
    if (!template)
        return false;
    OperatorOptions options;
    if (!operator_options_read(L, 1, text->name, rules, &options, err))
        return false;
    Operator row = template_operator(registry_arena(rules->registry), template);
    operator_options_set(&options, registry_arena(rules->registry), &row);
    registry_add(rules->registry, &row);
    registered_note(L, text->name);
    return true;
}

static bool add_to_sink(Sink *sink, const TemplateText *text, Error *err)
{
    if (sink->n++ > 0)
        return error_kind(err, ERROR_INVALID, "the text defines more than one template");
    sink->found = template_load(sink->arena, text, err);
    return sink->found != NULL;
}

/* The function that `template "name"` gives: upvalues are the sink (nil: the registry) and the
 * name.
 */
static int define_template(lua_State *L)
{
    Error err = {0};
    TemplateText text;
    Sandbox *sandbox = sandbox_of(L);
    Sink *sink = lua_touserdata(L, lua_upvalueindex(1));
    TemplateReading reading = {L, sandbox->arena, lua_tostring(L, lua_upvalueindex(2)), &err};
    lua_settop(L, 1);
    luaL_checkstack(L, 20, "template");
    sandbox_spend(L, TEMPLATE_INSTRUCTIONS);
    if (!lua_istable(L, 1))
        fail(&reading, "E_SYNTAX", "template takes a name and a table", "template");
    else if (read_template(&reading, 1, &text) &&
             (sink ? add_to_sink(sink, &text, &err) : add_operator(L, &text, &err)))
        return 0;
    if (sink)
        sink->err = err;
    return sandbox_raise(L, &err);
}

static int name_template(lua_State *L)
{
    size_t n;
    const char *name = luaL_checklstring(L, 1, &n);
    if (n == 0 || n > NAME_MAX_BYTES || strlen(name) != n)
        return luaL_error(L, "a template's name has 1 to %d characters", NAME_MAX_BYTES);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushvalue(L, 1);
    lua_pushcclosure(L, define_template, 2);
    return 1;
}

const LuaEntry template_globals[] = {
    {"template", name_template, "(name: string): fun(template: table)",
     "Adds an operator by a metakernel template: template \"my.conv\" {inputs = .., index = .., "
     "outputs = ..} with strings as fields; the options of register_op except name may be added. "
     "Call it at the top level of the file, with the table in braces as second argument."},
    {NULL, NULL, NULL, NULL},
};

/* ---- a text by itself ---- */

static int open_sink(lua_State *L)
{
    lua_pushcclosure(L, name_template, 1);
    lua_setglobal(L, "template");
    return 0;
}

const Template *template_read(Arena *arena, const char *name, Str text, Error *err)
{
    Sink sink = {.arena = arena};
    Error lua = {0};
    Sandbox *sandbox = sandbox_new(name);
    if (!sandbox) {
        error_set(err, "no memory for Lua");
        return NULL;
    }
    sandbox->source.text = text;
    bool ok =
        sandbox_protect(sandbox, open_sink, &sink, &lua) && sandbox_run(sandbox, NULL, NULL, &lua);
    sandbox_free(sandbox);
    if (ok && sink.n == 1)
        return sink.found;
    if (error_is_set(&sink.err)) {
        error_kind(err, sink.err.kind, "%s", sink.err.text);
        error_hint(err, "%s", sink.err.hint);
    }
    error_kind(err, ERROR_SYNTAX, "%s", ok ? "the text defines no template" : lua.text);
    return NULL;
}

static bool answer_apply(const char *verb, Arena *arena, const Json *request, Json *answer,
                         Error *err)
{
    (void)verb;
    const Json *text = json_get(request, "template");
    if (!text)
        return eval_template_apply(arena, NULL, request, answer, err);
    if (!json_is_string(text))
        return error_set(err, "`template` is a Lua text");
    const Template *template = template_read(arena, "template", json_str(text, ""), err);
    return template && eval_template_apply(arena, template, request, answer, err);
}

const EvalVerb template_eval_verbs[] = {{"template.apply", answer_apply}, {0}};
