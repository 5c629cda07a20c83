#include "scripts/lua_place.h"

#include <inttypes.h>

/* ---- declared places ---- */

static void read_before(Policy *policy, Placing *placing)
{
    const Journal *journal = policy->before;
    for (int i = 0; journal && i < journal->n_done; i++) {
        const Decision *it = &journal->decisions.at[i];
        if (it->kind != PIN_STAGE)
            continue;
        int place = policy_program_place(policy, it->place);
        placing->begin[place] = it->relay ? BEGINS_STAGING : BEGINS_BLOCKING;
        placing->staged |= place > 0;
    }
}

Placing *placing_of(Policy *policy)
{
    const Inferred *inferred = policy->session->inferred;
    if (policy->placing)
        return policy->placing;
    Placing *placing = arena_make(policy->arena, Placing);
    placing->op = arena_array(policy->arena, OpPlace *, inferred->graph->n_ops);
    placing->begin = arena_array(policy->arena, uint8_t, inferred->n_program);
    policy->placing = placing;
    read_before(policy, placing);
    return placing;
}

static OpPlace *place_of(const Policy *policy, int32_t op)
{
    return policy->placing ? policy->placing->op[op] : NULL;
}

bool place_has_parts(const Policy *policy, int32_t op)
{
    const OpPlace *place = place_of(policy, op);
    return place && place->by_parts;
}

static OpPlace *need_place(Policy *policy, int32_t op)
{
    Placing *placing = placing_of(policy);
    placing->any = true;
    if (!placing->op[op])
        placing->op[op] = arena_make(policy->arena, OpPlace);
    return placing->op[op];
}

void place_op(Policy *policy, int32_t op, SubMesh sub, int line)
{
    *need_place(policy, op) = (OpPlace){.line = line, .sub = sub};
}

static void place_part(Policy *policy, const NodeRef *node, int64_t position, int line)
{
    const OpParts *parts = policy->parts[node->op];
    OpPlace *place = need_place(policy, node->op);
    if (!place->by_parts) {
        *place = (OpPlace){.line = line, .by_parts = true, .n = parts_count(parts)};
        place->position = arena_array(policy->arena, int32_t, place->n);
        for (int64_t i = 0; i < place->n; i++)
            place->position[i] = -1;
    }
    place->position[parts_leaf(parts, node)] = (int32_t)position;
}

/* ---- devices and parts of the mesh ---- */

static int64_t position_of(const Mesh *mesh, int64_t device)
{
    if (!mesh->devices)
        return device >= 0 && device < mesh->n_devices ? device : -1;
    for (int64_t i = 0; i < mesh->n_devices; i++)
        if (mesh->devices[i] == device)
            return i;
    return -1;
}

bool place_need_position(const Mesh *mesh, int64_t device, int64_t *out, Error *err)
{
    *out = position_of(mesh, device);
    if (*out >= 0)
        return true;
    error_kind(err, ERROR_OUT_OF_RANGE, "the mesh has no device %" PRId64, device);
    return error_hint(err, "it has %" PRId64 " devices, from 0", mesh->n_devices);
}

bool place_read_coordinates(lua_State *L, int at, const Mesh *mesh, SubMesh *out, Error *err)
{
    for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1)) {
        int whole = 0;
        lua_Integer coordinate = lua_tointegerx(L, -1, &whole);
        if (lua_type(L, -2) != LUA_TSTRING || !whole)
            return error_set(err, "coordinates must be integers by axis: {pp = 0}");
        if (!submesh_fix(mesh, str_from(lua_tostring(L, -2)), coordinate, out, err))
            return false;
    }
    return true;
}

int push_devices(lua_State *L, const Mesh *mesh, SubMesh sub)
{
    int64_t n = submesh_size(mesh, sub);
    sandbox_spend(L, n);
    lua_createtable(L, (int)n, 0);
    for (int64_t i = 0; i < n; i++) {
        lua_pushinteger(L, mesh_device(mesh, submesh_position(mesh, sub, i)));
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

void place_put_devices(const Mesh *mesh, SubMesh sub, Buf *out)
{
    enum { DEVICES_SHOWN = 16 };
    int64_t n = submesh_size(mesh, sub);
    for (int64_t i = 0; i < n && i < DEVICES_SHOWN; i++)
        buf_printf(out, "%s%" PRId64, i ? "," : "",
                   mesh_device(mesh, submesh_position(mesh, sub, i)));
    buf_puts(out, n > DEVICES_SHOWN ? ",.." : "");
}

/* "0,1 (pp=0); 0,2 (tp=0)": parts of n devices with that one in them. */
static void put_parts_of_size(const Policy *policy, int64_t position, int64_t n, Buf *out)
{
    enum { SHOWN = 3, ATOMS_TRIED_MAX = 12 };
    const Mesh *mesh = policy->session->mesh;
    int shown = 0, tried = mesh->n_atoms < ATOMS_TRIED_MAX ? mesh->n_atoms : ATOMS_TRIED_MAX;
    for (AtomSet fixed = 0; fixed < (AtomSet)1 << tried && shown < SHOWN; fixed++) {
        SubMesh sub = {fixed, 0};
        if (submesh_size(mesh, sub) != n)
            continue;
        for (int a = 0; a < tried; a++)
            if (fixed >> a & 1)
                sub.first += (int32_t)(mesh_atom_coord(mesh, a, position) * mesh->atoms[a].stride);
        buf_puts(out, shown++ ? "; " : "");
        place_put_devices(mesh, sub, out);
        buf_puts(out, " (");
        submesh_format(mesh, sub, out);
        buf_puts(out, ")");
    }
}

static void put_positions(const Mesh *mesh, const int64_t *position, int64_t n, Buf *out)
{
    enum { SHOWN = 16 };
    for (int64_t i = 0; i < n && i < SHOWN; i++)
        buf_printf(out, "%s%" PRId64, i ? "," : "", mesh_device(mesh, position[i]));
    buf_puts(out, n > SHOWN ? ",.." : "");
}

/* The first that is there twice; -1: none. */
static int64_t twice_at(Policy *policy, const int64_t *position, int64_t n)
{
    Placing *placing = placing_of(policy);
    if (!placing->seen)
        placing->seen = arena_array(policy->arena, int32_t, policy->session->mesh->n_devices);
    placing->n_seen++;
    for (int64_t i = 0; i < n; i++) {
        if (placing->seen[position[i]] == placing->n_seen)
            return i;
        placing->seen[position[i]] = placing->n_seen;
    }
    return -1;
}

static bool refuse_twice(const Policy *policy, const char *who, int64_t position, Error *err)
{
    error_kind(err, ERROR_CONFLICT, "'%s' has device %" PRId64 " twice", who,
               mesh_device(policy->session->mesh, position));
    return error_hint(
        err,
        "a device runs one part of an op: partition the op into as many parts as it has devices");
}

bool place_of_positions(Policy *policy, const char *who, const int64_t *position, int64_t n,
                        SubMesh *out, Error *err)
{
    const Mesh *mesh = policy->session->mesh;
    int64_t twice = twice_at(policy, position, n);
    if (twice >= 0)
        return refuse_twice(policy, who, position[twice], err);
    if (submesh_of_positions(mesh, position, n, out))
        return true;
    Buf devices = buf_new(policy->arena), legal = buf_new(policy->arena);
    put_positions(mesh, position, n, &devices);
    put_parts_of_size(policy, position[0], n, &legal);
    error_kind(err, ERROR_CONFLICT,
               "'%s' would run on devices %s, which do not form a part of the mesh", who,
               devices.s);
    if (legal.n > 0)
        error_hint(err, "parts of %" PRId64 " devices: %s", n, legal.s);
    else {
        Buf text = buf_new(policy->arena);
        mesh_format(mesh, &text);
        error_hint(err, "the mesh %s has no part of %" PRId64 " devices", text.s, n);
    }
    return false;
}

/* ---- graph:assign ---- */

/* What is assigned to: one device, a list of them, or coordinates. */
typedef struct {
    int line; /* of the script that assigns */
    bool coordinates;
    SubMesh sub; /* of coordinates */
    int64_t n;
    int64_t *position; /* of devices, in the order of the list */
} Where;

static bool read_devices(lua_State *L, int at, const Policy *policy, Where *out, Error *err)
{
    const Mesh *mesh = policy->session->mesh;
    out->n = (int64_t)lua_rawlen(L, at);
    if (out->n > mesh->n_devices)
        return error_kind(err, ERROR_OUT_OF_RANGE,
                          "the list has %" PRId64 " devices, but the mesh has %" PRId64, out->n,
                          mesh->n_devices);
    out->position = arena_array(policy->arena, int64_t, out->n);
    for (int64_t i = 0; i < out->n; i++) {
        int whole;
        lua_rawgeti(L, at, i + 1);
        lua_Integer device = lua_tointegerx(L, -1, &whole);
        lua_pop(L, 1);
        if (!whole)
            return error_set(err, "a list of devices must hold integers");
        if (!place_need_position(mesh, device, &out->position[i], err))
            return false;
    }
    return true;
}

static bool read_where(lua_State *L, int at, const Policy *policy, Where *out, Error *err)
{
    int whole;
    *out = (Where){sandbox_line(L), .coordinates = lua_istable(L, at) && lua_rawlen(L, at) == 0};
    if (out->coordinates)
        return place_read_coordinates(L, at, policy->session->mesh, &out->sub, err);
    if (lua_istable(L, at))
        return read_devices(L, at, policy, out, err);
    lua_Integer device = lua_tointegerx(L, at, &whole);
    if (!whole)
        return error_set(err,
                         "devices must be a number, a list of numbers, or coordinates {pp = 0}");
    out->n = 1;
    out->position = arena_array(policy->arena, int64_t, 1);
    return place_need_position(policy->session->mesh, device, &out->position[0], err);
}

static bool find_sub(Policy *policy, int32_t op, const Where *where, SubMesh *out, Error *err)
{
    *out = where->sub;
    return where->coordinates || place_of_positions(policy, op_name(policy->session->graph, op),
                                                    where->position, where->n, out, err);
}

static bool assign_part(Policy *policy, const NodeRef *node, const Where *where, Error *err)
{
    const OpParts *parts = policy->parts[node->op];
    const char *name = op_name(policy->session->graph, node->op);
    if (node->n_levels < parts->n) {
        error_kind(err, ERROR_CONFLICT, "a sub-node of '%s' is partitioned further", name);
        return error_hint(err, "assign its sub-nodes instead");
    }
    place_part(policy, node, where->position[0], where->line);
    return true;
}

static bool assign_node(lua_State *L, Policy *policy, const NodeRef *node, const Where *where,
                        Error *err)
{
    const OpParts *parts = policy->parts[node->op];
    const char *name = op_name(policy->session->graph, node->op);
    if (!where->coordinates && where->n == 1 && node->n_levels > 0)
        return assign_part(policy, node, where, err);
    if (!where->coordinates && node->n_levels > 0) {
        error_kind(err, ERROR_CONFLICT, "a sub-node of '%s' runs on one device", name);
        return error_hint(
            err, "give one device, or assign the list of sub-nodes to the list of devices");
    }
    if (!where->coordinates && where->n == 1 && parts_count(parts) > 1) {
        error_kind(err, ERROR_CONFLICT,
                   "'%s' is partitioned into %" PRId64 " parts: it cannot run on one device", name,
                   parts_count(parts));
        return error_hint(err, "assign its sub-nodes, or give it a part of the mesh: {pp = 0}");
    }
    SubMesh sub;
    sandbox_spend(L, where->n);
    if (!find_sub(policy, node->op, where, &sub, err))
        return false;
    place_op(policy, node->op, sub, where->line);
    return true;
}

static bool assign_segment(lua_State *L, Policy *policy, Segment segment, const Where *where,
                           Error *err)
{
    const int32_t *program = policy->session->inferred->program;
    sandbox_spend(L, segment.last - segment.first);
    for (int i = segment.first; i <= segment.last; i++) {
        NodeRef node = {.op = program[i]};
        if (!assign_node(L, policy, &node, where, err))
            return false;
    }
    return true;
}

static bool assign_value(lua_State *L, Policy *policy, int at, const Where *where, Error *err)
{
    NodeRef node;
    const Segment *segment = luaL_testudata(L, at, segment_type);
    if (node_read(L, at, &node))
        return assign_node(L, policy, &node, where, err);
    if (segment)
        return assign_segment(L, policy, *segment, where, err);
    return error_set(err, "expected a node, a segment or a list of these, not a %s",
                     type_shown(L, at));
}

/* Sub-nodes and as many devices: one by one. */
static bool goes_in_pairs(lua_State *L, int at, const Where *where)
{
    lua_rawgeti(L, at, 1);
    NodeRef first;
    bool pairs =
        node_read(L, -1, &first) && first.n_levels > 0 && !where->coordinates && where->n > 1;
    lua_pop(L, 1);
    return pairs;
}

static bool assign_list(lua_State *L, Policy *policy, int at, const Where *where, Error *err)
{
    lua_Integer n = (lua_Integer)lua_rawlen(L, at);
    bool pairs = goes_in_pairs(L, at, where);
    if (pairs && n != where->n)
        return error_kind(err, ERROR_OUT_OF_RANGE,
                          "%lld sub-nodes are assigned to %" PRId64 " devices", (long long)n,
                          where->n);
    for (lua_Integer i = 1; i <= n; i++) {
        Where one = {where->line, .n = 1, .position = pairs ? where->position + i - 1 : NULL};
        lua_rawgeti(L, at, i);
        if (!assign_value(L, policy, lua_gettop(L), pairs ? &one : where, err))
            return false;
        lua_pop(L, 1);
    }
    return true;
}

static int graph_assign(lua_State *L)
{
    Policy *policy = graph_check(L);
    Where where;
    Error err = {0};
    lua_settop(L, 3);
    bool ok = read_where(L, 3, policy, &where, &err);
    ok = ok && (lua_istable(L, 2) ? assign_list(L, policy, 2, &where, &err)
                                  : assign_value(L, policy, 2, &where, &err));
    if (!ok)
        return sandbox_raise(L, &err);
    lua_pushboolean(L, true);
    return 1;
}

/* ---- asked of nodes ---- */

static int push_one_device(lua_State *L, const Policy *policy, const NodeRef *node)
{
    const OpPlace *place = place_of(policy, node->op);
    const OpParts *parts = policy->parts[node->op];
    if (!place || !place->by_parts || !parts || node->n_levels != parts->n)
        return 0;
    int64_t position = place->position[parts_leaf(parts, node)];
    if (position < 0)
        return 0;
    lua_pushinteger(L, mesh_device(policy->session->mesh, position));
    return 1;
}

int node_device(lua_State *L)
{
    const NodeRef of = node_check(L, 1), *node = &of;
    const Policy *policy = policy_of(L);
    const OpPlace *place = place_of(policy, node->op);
    const Mesh *mesh = policy->session->mesh;
    if (node->n_levels > 0)
        return push_one_device(L, policy, node);
    if (!place || place->by_parts || submesh_size(mesh, place->sub) != 1)
        return 0;
    lua_pushinteger(L, mesh_device(mesh, place->sub.first));
    return 1;
}

/* Of the part of the mesh that the op runs on. */
static SubMesh sub_of(const Policy *policy, int32_t op)
{
    const OpPlace *place = place_of(policy, op);
    const Plan *plan = policy->session->plan;
    if (place && !place->by_parts)
        return place->sub;
    return plan && plan->decided->submeshes ? plan->decided->submeshes[plan_devices(plan, op)]
                                            : (SubMesh){0};
}

int node_devices(lua_State *L)
{
    const NodeRef of = node_check(L, 1), *node = &of;
    const Policy *policy = policy_of(L);
    const Mesh *mesh = policy->session->mesh;
    const OpPlace *place = place_of(policy, node->op);
    if (!place || !place->by_parts)
        return push_devices(L, mesh, sub_of(policy, node->op));
    lua_newtable(L);
    for (int64_t i = 0, n = 0; i < place->n; i++) {
        if (place->position[i] < 0)
            continue;
        lua_pushinteger(L, mesh_device(mesh, place->position[i]));
        lua_rawseti(L, -2, ++n);
    }
    return 1;
}

const LuaEntry place_methods[] = {
    {"assign", graph_assign, "(what: ops, where: integer|integer[]|table<string, integer>): true",
     "Places ops on devices: a node or sub-node on one device; a list of sub-nodes on equally many "
     "devices, one each; nodes, segments and lists of them on all devices of a list, or on the "
     "part of the mesh with these coordinates: {pp = 0}; {} is the whole mesh. The last call "
     "counts. When the policy returns, the devices of an op must form a part of the mesh, with its "
     "sub-nodes in mesh order. Refused: an op of which only some sub-nodes have a device, or two "
     "have the same. Ops without a device join the others of their stage, else they run on all "
     "devices."},
    {NULL, NULL, NULL, NULL},
};
