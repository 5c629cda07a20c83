#include "scripts/lua_measured.h"

#include "core/base/vec.h"

#include <lauxlib.h>

enum { TABLES_MAX = 4096, POINTS_MAX = 1 << 16 };

typedef struct {
    lua_State *L;
    Arena *arena;
    Error *err;
} MeasuredReader;

/* The length of the list at the top of the stack; -1 with *err if it is none. */
static int list_length(const MeasuredReader *r, const char *what, int most)
{
    if (!lua_istable(r->L, -1)) {
        error_set(r->err, "'%s' in 'measured' must be a list", what);
        return -1;
    }
    lua_Unsigned n = lua_rawlen(r->L, -1);
    if (n <= (lua_Unsigned)most)
        return (int)n;
    error_set(r->err, "'%s' in 'measured' has more than %d rows", what, most);
    return -1;
}

/* Field of the table at the top. */
static const char *text_field(const MeasuredReader *r, const char *name)
{
    bool is_text = lua_istable(r->L, -1) && lua_getfield(r->L, -1, name) == LUA_TSTRING;
    const char *text = is_text ? arena_str(r->arena, str_from(lua_tostring(r->L, -1))) : NULL;
    if (lua_istable(r->L, -2))
        lua_pop(r->L, 1);
    if (!text)
        error_set(r->err, "a row of 'measured' needs a string '%s'", name);
    return text;
}

static bool number_field(const MeasuredReader *r, const char *name, double *out)
{
    bool ok = lua_getfield(r->L, -1, name) == LUA_TNUMBER;
    *out = lua_tonumber(r->L, -1);
    lua_pop(r->L, 1);
    return ok || error_set(r->err, "a row of 'measured' needs a number '%s'", name);
}

/* {SIZE, US} or {BATCH, M, N, K, US}; *n_sizes is that of the points before, or 0. */
static bool read_point(const MeasuredReader *r, int *n_sizes, MeasuredPoint *out)
{
    int n = list_length(r, "points", MEASURED_SIZES + 1);
    if (n < 0)
        return false;
    if ((n != 2 && n != MEASURED_SIZES + 1) || (*n_sizes > 0 && n - 1 != *n_sizes))
        return error_set(r->err, "a measured point is {size, us} or {batch, m, n, k, us}, all of "
                                 "one operator alike");
    *n_sizes = n - 1;
    for (int i = 0; i < n; i++) {
        lua_rawgeti(r->L, -1, i + 1);
        bool is_number = lua_type(r->L, -1) == LUA_TNUMBER;
        *(i == n - 1 ? &out->us : &out->size[i]) = lua_tonumber(r->L, -1);
        lua_pop(r->L, 1);
        if (!is_number)
            return error_set(r->err, "a measured point has numbers alone");
    }
    return true;
}

static bool read_points(const MeasuredReader *r, MeasuredOp *out)
{
    lua_getfield(r->L, -1, "points");
    out->n = list_length(r, "points", POINTS_MAX);
    MeasuredPoint *points = arena_array(r->arena, MeasuredPoint, out->n > 0 ? out->n : 1);
    out->point = points;
    bool ok = out->n >= 0;
    for (int i = 0; i < out->n && ok; i++) {
        lua_rawgeti(r->L, -1, i + 1);
        ok = read_point(r, &out->n_sizes, &points[i]);
        lua_pop(r->L, 1);
    }
    lua_pop(r->L, 1);
    return ok;
}

static bool read_op(const MeasuredReader *r, void *row)
{
    MeasuredOp *out = row;
    const char *dtype;
    if (!(out->op_type = text_field(r, "operator")) || !(dtype = text_field(r, "dtype")))
        return false;
    out->dtype = dtype_from_name(str_from(dtype));
    if (out->dtype == DT_NONE)
        return error_set(r->err, "'measured' has an unknown element type '%s'", dtype);
    return read_points(r, out);
}

static bool read_step(const MeasuredReader *r, void *row)
{
    MeasuredStep *out = row;
    double ranks;
    const char *name = text_field(r, "collective");
    if (!name || !number_field(r, "ranks", &ranks) ||
        !number_field(r, "latency_us", &out->latency_us) ||
        !number_field(r, "bytes_per_s", &out->bytes_per_s))
        return false;
    out->ranks = ranks >= 0 && ranks < 1e9 ? (int64_t)ranks : 0;
    for (out->kind = 0; out->kind < STEP_KIND_COUNT; out->kind++)
        if (strcmp(step_kind_name(out->kind), name) == 0)
            return true;
    return error_set(r->err, "'measured' has an unknown collective '%s'", name);
}

/* Reads the rows of a list of the table at the top; none if it is left out. */
static bool read_rows(const MeasuredReader *r, const char *name,
                      bool (*read)(const MeasuredReader *, void *), size_t each, void **out, int *n)
{
    bool ok = true;
    if (lua_getfield(r->L, -1, name) != LUA_TNIL) {
        *n = list_length(r, name, TABLES_MAX);
        ok = *n >= 0;
        char *rows = ok && *n > 0 ? arena_alloc(r->arena, each * (size_t)*n) : NULL;
        if (rows)
            memset(rows, 0, each * (size_t)*n);
        *out = rows;
        for (int i = 0; i < *n && ok; i++) {
            lua_rawgeti(r->L, -1, i + 1);
            ok = read(r, rows + each * (size_t)i);
            lua_pop(r->L, 1);
        }
    }
    lua_pop(r->L, 1);
    return ok;
}

const Measured *measured_read(lua_State *L, Arena *arena, Error *err)
{
    MeasuredReader r = {L, arena, err};
    Measured *out = arena_make(arena, Measured);
    void *ops = NULL, *steps = NULL;
    if (!lua_istable(L, -1)) {
        error_set(err, "'measured' must be a table {operators = .., collectives = ..}");
        return NULL;
    }
    if (!read_rows(&r, "operators", read_op, sizeof(MeasuredOp), &ops, &out->n_ops) ||
        !read_rows(&r, "collectives", read_step, sizeof(MeasuredStep), &steps, &out->n_steps))
        return NULL;
    out->step = steps;
    measured_sort(out, ops);
    return out;
}
