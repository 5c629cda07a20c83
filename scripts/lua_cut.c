#include "scripts/lua_cut.h"

#include "scripts/lua_legal.h"

#include <lauxlib.h>

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

static bool read_axis(lua_State *L, int at, const Mesh *mesh, uint8_t *atom, int *n, Error *err)
{
    if (lua_type(L, at) != LUA_TSTRING)
        return error_set(err, "an axis must be a string, not a %s", luaL_typename(L, at));
    Source source = {"<axis>", str_from(lua_tostring(L, at))};
    Scan scan = scan_begin(&source, err);
    return (mesh_parse_atoms(mesh, &scan, atom, n) && scan_end(&scan)) || legal_axes(mesh, err);
}

bool cut_axes_read(lua_State *L, int at, const Mesh *mesh, uint8_t *atom, int *n, Error *err)
{
    if (!lua_istable(L, at))
        return read_axis(L, at, mesh, atom, n, err);
    lua_Integer length = (lua_Integer)lua_rawlen(L, at);
    for (lua_Integer i = 1; i <= length; i++) {
        lua_rawgeti(L, at, i);
        bool ok = read_axis(L, lua_gettop(L), mesh, atom, n, err);
        lua_pop(L, 1);
        if (!ok)
            return false;
    }
    return true;
}

static bool read_count(lua_State *L, const char *option, int64_t least, int64_t *out, Error *err)
{
    int whole;
    *out = lua_tointegerx(L, -1, &whole);
    if (whole && *out >= least)
        return true;
    return error_set(err, "'%s' must be an integer, %" PRId64 " or more", option, least);
}

static bool read_priority(lua_State *L, int *out, Error *err)
{
    enum { PRIORITY_MAX = 1000 };
    int64_t priority;
    if (!read_count(L, "priority", 0, &priority, err))
        return false;
    *out = (int)priority;
    return priority <= PRIORITY_MAX ||
           error_kind(err, ERROR_OUT_OF_RANGE, "'priority' must be at most %d", PRIORITY_MAX);
}

static bool read_flag(lua_State *L, const char *option, bool *out, Error *err)
{
    *out = lua_toboolean(L, -1);
    return lua_isboolean(L, -1) || error_set(err, "'%s' must be true or false", option);
}

/* true, "states", or a list of such words. */
static bool read_stored(lua_State *L, uint8_t *out, Error *err)
{
    int at = lua_gettop(L);
    bool known = lua_isboolean(L, at) || lua_type(L, at) == LUA_TSTRING || lua_istable(L, at);
    *out = lua_isboolean(L, at) && lua_toboolean(L, at) ? STORED_ALL : STORED_NONE;
    if (lua_type(L, at) == LUA_TSTRING)
        known = stored_add(str_from(lua_tostring(L, at)), out);
    int n = lua_istable(L, at) ? (int)lua_rawlen(L, at) : 0;
    known = known && (!lua_istable(L, at) || n > 0);
    for (int i = 1; known && i <= n; i++) {
        bool text = lua_rawgeti(L, at, i) == LUA_TSTRING;
        known = text && stored_add(str_from(lua_tostring(L, -1)), out);
        lua_pop(L, 1);
    }
    return known || error_set(err, "'store' must be true, false or of \"parameter\", "
                                   "\"gradient\", \"states\"");
}

/* A list of at most `most` sizes, each 1 or more, at the top of the stack. */
static bool read_sizes(lua_State *L, const char *option, int most, int64_t *size, int *n,
                       Error *err)
{
    int list = lua_gettop(L);
    if (!lua_istable(L, list) || lua_rawlen(L, list) == 0)
        return error_set(err, "'%s' must be a list of sizes", option);
    if (lua_rawlen(L, list) > (size_t)most)
        return error_kind(err, ERROR_OUT_OF_RANGE, "'%s' has at most %d sizes", option, most);
    *n = (int)lua_rawlen(L, list);
    for (int i = 0; i < *n; i++) {
        char place[32];
        snprintf(place, sizeof place, "%s[%d]", option, i + 1);
        lua_rawgeti(L, list, i + 1);
        bool ok = read_count(L, place, 1, &size[i], err);
        lua_pop(L, 1);
        if (!ok)
            return false;
    }
    return true;
}

/* The value of an option is at the top of the stack. */
static bool read_option(lua_State *L, const char *option, const Mesh *mesh, CutSpec *out,
                        Error *err)
{
    if (strcmp(option, "axis") == 0)
        return cut_axes_read(L, lua_gettop(L), mesh, out->atom, &out->n, err);
    if (strcmp(option, "interleave") == 0)
        return read_count(L, option, 1, &out->interleave, err);
    if (strcmp(option, "unit") == 0)
        return read_count(L, option, 1, &out->unit, err);
    if (strcmp(option, "blocks") == 0)
        return read_sizes(L, option, DIGITS_MAX, out->block, &out->n_blocks, err);
    if (strcmp(option, "sizes") == 0)
        return read_sizes(L, option, WEIGHTS_MAX, out->size, &out->n_sizes, err);
    if (strcmp(option, "ring") == 0)
        return read_flag(L, option, &out->ring, err);
    if (strcmp(option, "zigzag") == 0)
        return read_flag(L, option, &out->zigzag, err);
    if (strcmp(option, "store") == 0)
        return read_stored(L, &out->store, err);
    if (strcmp(option, "keep") == 0)
        return read_flag(L, option, &out->keep, err);
    if (strcmp(option, "open") == 0)
        return read_flag(L, option, &out->open, err);
    if (strcmp(option, "priority") == 0)
        return read_priority(L, &out->priority, err);
    error_set(err, "a cut has no option '%s'", option);
    return error_hint(err, "options: axis, interleave, unit, blocks, sizes, zigzag, ring, store, "
                           "keep, open, priority");
}

bool cut_spec_read(lua_State *L, int at, const Mesh *mesh, CutSpec *out, Error *err)
{
    memset(out, 0, offsetof(CutSpec, size));
    out->interleave = out->unit = 1;
    if (!cut_axes_read(L, at, mesh, out->atom, &out->n, err))
        return false;
    if (!lua_istable(L, at))
        return true;
    for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1)) {
        if (lua_type(L, -2) == LUA_TNUMBER)
            continue;
        const char *option = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
        if (!read_option(L, option, mesh, out, err)) {
            lua_pop(L, 2);
            return false;
        }
    }
    if (out->keep && out->store && !(out->store & STORED_PARAMETER))
        return error_set(err, "'keep' is of what is gathered of a value, but this pin says how its "
                              "gradient or states are stored");
    return true;
}

/* Blocks stand behind each other, so they are not interleaved, nor in units. */
static bool cut_of_blocks(const CutSpec *spec, int64_t size, const Mesh *mesh, Cut *out, Error *err)
{
    int64_t total = 0;
    bool fits = true;
    for (int i = 0; i < spec->n_blocks; i++)
        fits = fits && !__builtin_add_overflow(total, spec->block[i], &total);
    if (!fits || total != size)
        return error_kind(err, ERROR_NOT_DIVISIBLE,
                          "the blocks have %" PRId64 " elements, but the dim has %" PRId64, total,
                          size);
    if (spec->interleave != 1 || spec->unit != 1 || spec->n_sizes > 0)
        return error_set(err, "blocks cannot be combined with interleave, unit or sizes");
    cut_blocks(spec->block, spec->n_blocks, spec->atom, spec->n, mesh, out);
    return true;
}

/* A part of the first half and the mirrored part of the second. */
static bool cut_zigzag(const CutSpec *spec, int64_t size, const Mesh *mesh, Cut *out, Error *err)
{
    int64_t parts = 1, half[2] = {size / 2, size / 2};
    for (int i = 0; i < spec->n; i++)
        parts *= mesh->atoms[spec->atom[i]].size;
    if (spec->n_blocks > 0 || spec->n_sizes > 0 || spec->interleave != 1 || spec->unit != 1)
        return error_set(err, "zigzag cannot be combined with blocks, sizes, interleave or unit");
    if (size % (2 * parts) != 0)
        return error_kind(err, ERROR_NOT_DIVISIBLE,
                          "zigzag deals two parts to each of %" PRId64 " ranks, but %" PRId64
                          " does not divide by %" PRId64,
                          parts, size, 2 * parts);
    return cut_blocks_dealt(half, (const bool[]){false, true}, 2, spec->atom, spec->n, mesh, out);
}

/* The digit that is sharded, in parts of the sizes that are asked for, which are whole units: their
 * shares are those of the digit with its units. */
static bool size_parts(const CutSpec *spec, const Mesh *mesh, Digit *digit, Error *err)
{
    Cut cut;
    for (int i = 0; i < spec->n_sizes; i++)
        if (spec->size[i] % spec->unit != 0)
            return error_kind(err, ERROR_NOT_DIVISIBLE,
                              "a size of %" PRId64 " does not divide by unit=%" PRId64,
                              spec->size[i], spec->unit);
    if (!cut_sized(digit->size * spec->unit, spec->size, spec->n_sizes, spec->atom, spec->n, mesh,
                   &cut, err))
        return false;
    digit->weights = cut.digit[0].weights;
    return true;
}

static bool plain_cut(const CutSpec *spec, int64_t size, const Mesh *mesh, Cut *out, Error *err)
{
    if (spec->zigzag)
        return cut_zigzag(spec, size, mesh, out, err);
    if (spec->n_blocks > 0)
        return cut_of_blocks(spec, size, mesh, out, err);
    int64_t block; /* both are at least 1 */
    if (__builtin_mul_overflow(spec->interleave, spec->unit, &block) || size % block != 0)
        return error_kind(err, ERROR_NOT_DIVISIBLE,
                          "%" PRId64 " elements do not divide by interleave=%" PRId64
                          " times unit=%" PRId64,
                          size, spec->interleave, spec->unit);
    Digit middle = {.size = size / block, .n = (uint8_t)spec->n};
    memcpy(middle.atom, spec->atom, (size_t)spec->n);
    if (spec->n_sizes > 0 && !size_parts(spec, mesh, &middle, err))
        return false;
    *out = (Cut){.n = 3, .digit = {{.size = spec->interleave}, middle, {.size = spec->unit}}};
    cut_canonical(out, mesh);
    return true;
}

bool cut_spec_cut(const CutSpec *spec, int64_t size, const Mesh *mesh, Cut *out, Error *err)
{
    if (!plain_cut(spec, size, mesh, out, err))
        return false;
    if (spec->ring && !cut_is_whole(out)) {
        out->before = CUT_RING;
        out->after = 1;
    }
    return true;
}
