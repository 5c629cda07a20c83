#include "scripts/lua_machine.h"

#include "scripts/lua_state.h"

#include <lauxlib.h>

#include <ctype.h>
#include <math.h>

typedef enum { FIELD_TEXT, FIELD_COUNT, FIELD_REAL, FIELD_FLOPS, FIELD_LINK } FieldType;

typedef struct {
    const char *name;
    FieldType type;
    size_t at; /* offset in the struct */
} Field;

static const Field machine_fields[] = {
    {"name", FIELD_TEXT, offsetof(Machine, name)},
    {"source", FIELD_TEXT, offsetof(Machine, source)},
    {"devices_per_node", FIELD_COUNT, offsetof(Machine, devices_per_node)},
    {"memory_bytes", FIELD_COUNT, offsetof(Machine, memory_bytes)},
    {"memory_bytes_per_s", FIELD_REAL, offsetof(Machine, memory_bytes_per_s)},
    {"flops_per_s", FIELD_FLOPS, offsetof(Machine, flops_per_s)},
    {"launch_us", FIELD_REAL, offsetof(Machine, launch_us)},
    {"inside", FIELD_LINK, offsetof(Machine, inside)},
    {"between", FIELD_LINK, offsetof(Machine, between)},
    {NULL, FIELD_TEXT, 0},
};

static const Field link_fields[] = {
    {"name", FIELD_TEXT, offsetof(Link, name)},
    {"latency_us", FIELD_REAL, offsetof(Link, latency_us)},
    {"bytes_per_s", FIELD_REAL, offsetof(Link, bytes_per_s)},
    {NULL, FIELD_TEXT, 0},
};

typedef struct {
    Arena *arena;
    Machine *machine;
    Error *err;
    const Sandbox *sandbox;
    bool ok;
} Reading;

static bool is_word(char c)
{
    return c == '_' || isalnum((unsigned char)c);
}

/* Where the text gives a field of that name, `name =`; the text's length when nowhere. */
static size_t find_field(Str text, Str name)
{
    for (size_t at = 0; at + name.n <= text.n; at++) {
        if (!str_eq((Str){text.s + at, name.n}, name) || (at > 0 && is_word(text.s[at - 1])))
            continue;
        size_t end = at + name.n;
        while (end < text.n && text.s[end] == ' ')
            end++;
        if (end < text.n && text.s[end] == '=')
            return at;
    }
    return text.n;
}

/* The place of an error about a field is where the file first gives one of its name. */
static bool blame(const Reading *reading, const char *name)
{
    const Source *source = &reading->sandbox->source;
    size_t at = find_field(source->text, str_from(name));
    reading->err->kind = ERROR_SCRIPT;
    if (at < source->text.n)
        error_at(reading->err, source, at);
    else
        error_in_file(reading->err, source->name);
    return false;
}

static bool read_table(lua_State *L, const Reading *reading, const char *what, const Field *fields,
                       void *out);

static bool number_is_good(double number, bool whole)
{
    return isfinite(number) && number >= 0 &&
           (!whole || (number == floor(number) && number < 1e18));
}

static bool read_number(lua_State *L, const Reading *reading, const char *name, bool whole,
                        double *out)
{
    *out = lua_tonumber(L, -1);
    if (lua_type(L, -1) == LUA_TNUMBER && number_is_good(*out, whole))
        return true;
    error_set(reading->err, "'%s' is a %s number, 0 or more", name, whole ? "whole" : "finite");
    return blame(reading, name);
}

static bool read_flops(lua_State *L, const Reading *reading, double *out)
{
    if (!lua_istable(L, -1)) {
        error_set(reading->err, "'flops_per_s' is a table {f32 = .., bf16 = ..}");
        return blame(reading, "flops_per_s");
    }
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
        Dtype dtype = dtype_from_name(str_from(name));
        if (dtype == DT_NONE) {
            error_set(reading->err, "'flops_per_s' knows no element type '%s'", name);
            return blame(reading, name[0] ? name : "flops_per_s");
        }
        if (!read_number(L, reading, name, false, &out[dtype]))
            return false;
    }
    return true;
}

static bool read_field(lua_State *L, const Reading *reading, const Field *field, void *out)
{
    char *at = (char *)out + field->at;
    double number;
    switch (field->type) {
    case FIELD_TEXT:
        if (lua_type(L, -1) != LUA_TSTRING) {
            error_set(reading->err, "'%s' is a text", field->name);
            return blame(reading, field->name);
        }
        *(const char **)(void *)at = arena_str(reading->arena, str_from(lua_tostring(L, -1)));
        return true;
    case FIELD_COUNT:
        if (!read_number(L, reading, field->name, true, &number))
            return false;
        *(int64_t *)(void *)at = (int64_t)number;
        return true;
    case FIELD_REAL:
        return read_number(L, reading, field->name, false, (double *)(void *)at);
    case FIELD_FLOPS:
        return read_flops(L, reading, (double *)(void *)at);
    case FIELD_LINK:
        return read_table(L, reading, field->name, link_fields, at);
    }
    return false;
}

/* Names the key of the table at the top that no field has. */
static bool refuse_unknown(lua_State *L, const Reading *reading, const char *what,
                           const Field *fields)
{
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "1";
        const Field *field = fields, *nearest = fields;
        for (; field->name && strcmp(field->name, key) != 0; field++)
            if (str_distance(str_from(field->name), str_from(key)) <
                str_distance(str_from(nearest->name), str_from(key)))
                nearest = field;
        if (field->name)
            continue;
        error_set(reading->err, "%s has no field '%s'", what, key);
        error_hint(reading->err, "did you mean '%s'?", nearest->name);
        return blame(reading, key);
    }
    return true;
}

/* Reads the table at the top of the stack into the struct that the fields describe. */
static bool read_table(lua_State *L, const Reading *reading, const char *what, const Field *fields,
                       void *out)
{
    if (!lua_istable(L, -1)) {
        error_set(reading->err, "%s is a %s, not a table", what, luaL_typename(L, -1));
        return blame(reading, what);
    }
    if (!refuse_unknown(L, reading, what, fields))
        return false;
    for (const Field *field = fields; field->name; field++) {
        if (lua_getfield(L, -1, field->name) == LUA_TNIL) {
            error_set(reading->err, "%s lacks '%s'", what, field->name);
            return blame(reading, what);
        }
        if (!read_field(L, reading, field, out))
            return false;
        lua_pop(L, 1);
    }
    return true;
}

static int read_machine(lua_State *L)
{
    Reading *reading = lua_touserdata(L, 1);
    reading->ok = read_table(L, reading, "a machine", machine_fields, reading->machine);
    return 0;
}

bool machine_read(Arena *arena, const char *path, Machine *out, Error *err)
{
    Error own = {0};
    Sandbox *sandbox = sandbox_new(path);
    if (!sandbox)
        return error_set(err, "no memory for Lua");

    *out = (Machine){0};
    Reading reading = {arena, out, err ? err : &own, sandbox, false};
    bool ok = sandbox_read(sandbox, err) && sandbox_run(sandbox, read_machine, &reading, err) &&
              reading.ok;
    sandbox_free(sandbox);
    if (ok && !machine_check(out, reading.err)) {
        reading.err->kind = ERROR_SCRIPT;
        error_in_file(err, path);
        return false;
    }
    return ok;
}
