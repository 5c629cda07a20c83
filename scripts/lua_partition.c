/* lua_partition.c - nnScaler's way to say a plan: nodes are partitioned, replicated and assigned.
 *
 *     local subs = graph:partition(node, node:algorithm('dim'), {idx = 0, dim = 1, num = 4})
 *     for i, sub in ipairs(subs) do graph:assign(sub, i - 1) end
 *
 * idx and dim count from 0, outputs follow inputs. A partition cuts one index dim by `axis`, or by
 * the axes that `num` devices can only be; a sub-node may be partitioned again by another axis.
 * Devices follow the mesh: sub-node i is where the coordinate along the axis is i, so all sub-nodes
 * of a node are cut alike and assign() only checks. What is refused follows nnScaler: an
 * operand or dim that is not there, a frozen or undividable index dim.
 */
#include "scripts/lua_cut.h"
#include "scripts/lua_objects.h"

#include <inttypes.h>

enum { REPLICATED = -1 };

typedef struct {
    int index; /* dim of the op's space, or REPLICATED */
    int n;
    uint8_t atom[ATOMS_MAX]; /* major first */
    int64_t num;             /* product of their sizes */
} PartLevel;

struct OpParts {
    int n;
    PartLevel level[PART_LEVELS_MAX]; /* a sub-node's partition is the next level */
};

typedef struct {
    lua_Integer idx, dim, num;
    bool has_idx, has_dim, has_num, has_axis;
    int n;
    uint8_t atom[ATOMS_MAX];
} Config;

/* ---- reading {idx=, dim=, num=, axis=} ---- */

static bool read_whole(lua_State *L, const char *key, lua_Integer *out, bool *has, Error *err)
{
    int whole;
    *out = lua_tointegerx(L, -1, &whole);
    *has = true;
    return whole || error_set(err, "'%s' is a whole number", key);
}

static bool read_entry(lua_State *L, const char *key, const Mesh *mesh, Config *out, Error *err)
{
    if (strcmp(key, "idx") == 0)
        return read_whole(L, key, &out->idx, &out->has_idx, err);
    if (strcmp(key, "dim") == 0)
        return read_whole(L, key, &out->dim, &out->has_dim, err);
    if (strcmp(key, "num") == 0)
        return read_whole(L, key, &out->num, &out->has_num, err);
    if (strcmp(key, "axis") == 0) {
        out->has_axis = true;
        return cut_axes_read(L, lua_gettop(L), mesh, out->atom, &out->n, err);
    }
    error_set(err, "a partition has no '%s'", key);
    error_hint(err, "say {idx = 0, dim = 1, num = 4} or {idx = 0, dim = 1, axis = \"tp\"}");
    return false;
}

static bool read_config(lua_State *L, int at, const Mesh *mesh, Config *out, Error *err)
{
    *out = (Config){0};
    if (!lua_istable(L, at))
        return error_set(err, "a partition is a table {idx = 0, dim = 1, num = 4}");
    for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "1";
        if (!read_entry(L, key, mesh, out, err)) {
            lua_pop(L, 2);
            return false;
        }
    }
    return true;
}

/* ---- axes ---- */

static int64_t product_of(const Mesh *mesh, const uint8_t *atom, int n)
{
    int64_t product = 1;
    for (int i = 0; i < n; i++)
        product *= mesh->atoms[atom[i]].size;
    return product;
}

static AtomSet used_by(const OpParts *parts, int n_levels)
{
    AtomSet used = 0;
    for (int l = 0; parts && l < n_levels; l++)
        for (int i = 0; i < parts->level[l].n; i++)
            used |= (AtomSet)1 << parts->level[l].atom[i];
    return used;
}

static AtomSet atoms_of_axes(const Mesh *mesh, int first, int last)
{
    AtomSet atoms = 0;
    for (int axis = first; axis <= last; axis++)
        atoms |= mesh_axis_atoms(mesh, axis);
    return atoms;
}

static void set_atoms(const Mesh *mesh, AtomSet atoms, PartLevel *level)
{
    level->n = 0;
    for (int i = 0; i < mesh->n_atoms; i++)
        if (atoms >> i & 1)
            level->atom[level->n++] = (uint8_t)i;
    level->num = product_of(mesh, level->atom, level->n);
}

static bool refuse_num(const Policy *policy, int64_t num, const char *why, Error *err)
{
    Buf mesh = buf_new(policy->arena);
    mesh_format(policy->session->mesh, &mesh);
    error_set(err, "num = %" PRId64 " %s: say axis = \"NAME\"", num, why);
    error_hint(err, "the mesh is %s", mesh.s);
    return false;
}

/* The axis, or run of neighbouring axes, of that many devices among those not used yet. */
static bool axes_of_num(const Policy *policy, int64_t num, AtomSet used, PartLevel *level,
                        Error *err)
{
    const Mesh *mesh = policy->session->mesh;
    AtomSet found = 0;
    for (int first = 0; num > 1 && first < mesh->n_axes; first++)
        for (int last = first; last < mesh->n_axes; last++) {
            AtomSet atoms = atoms_of_axes(mesh, first, last);
            if (atoms & used || mesh_atoms_size(mesh, atoms) != num)
                continue;
            if (found && found != atoms)
                return refuse_num(policy, num, "could be several axes", err);
            found = atoms;
        }
    if (num > 1 && !found)
        return refuse_num(policy, num, "is the size of no axis that is left", err);
    set_atoms(mesh, found, level);
    return true;
}

/* ---- which index dim ---- */

/* The index dim that dim `dim` of operand `idx` is cut by: its major factor. */
static bool find_index(const Graph *graph, int32_t op, const OpSpace *space, const Config *config,
                       int *index, Error *err)
{
    int n_operands = space->n_inputs + space->n_outputs;
    if (config->idx < 0 || config->idx >= n_operands)
        return error_kind(err, ERROR_OUT_OF_RANGE, "node '%s' has %d operands, no idx %lld",
                          op_name(graph, op), n_operands, (long long)config->idx);
    const Operand *operand = &space->operand[config->idx];
    if (operand->absent || operand->ignored)
        return error_kind(err, ERROR_OUT_OF_RANGE, "idx %lld of '%s' is no tensor to be cut",
                          (long long)config->idx, op_name(graph, op));
    int rank = operand->projection.n_dims;
    lua_Integer dim = config->dim < 0 ? config->dim + rank : config->dim;
    if (dim < 0 || dim >= rank)
        return error_kind(err, ERROR_OUT_OF_RANGE, "idx %lld of '%s' has %d dims, no dim %lld",
                          (long long)config->idx, op_name(graph, op), rank, (long long)config->dim);
    const DimFactors *factors = &operand->factors[dim];
    *index = factors->n > 0 ? factors->index[0] : -1;
    if (*index < 0 || space->index[*index].role == ROLE_FROZEN)
        return error_kind(err, ERROR_FROZEN, "dim %d of idx %d of '%s' is frozen: it is never cut",
                          (int)dim, (int)config->idx, op_name(graph, op));
    return true;
}

/* The elements of an index dim that a sub-node of these levels has. */
static int64_t size_left(const OpSpace *space, const OpParts *parts, int n_levels, int index)
{
    int64_t size = space->index[index].size;
    for (int l = 0; parts && l < n_levels; l++)
        if (parts->level[l].index == index)
            size /= parts->level[l].num;
    return size;
}

static bool check_divides(const Graph *graph, int32_t op, const OpSpace *space,
                          const PartLevel *level, int64_t size, Error *err)
{
    if (size % level->num == 0)
        return true;
    return error_kind(err, ERROR_NOT_DIVISIBLE,
                      "index dim %s of '%s' has %" PRId64 " elements, which %" PRId64
                      " does not divide",
                      space->index[level->index].name, op_name(graph, op), size, level->num);
}

/* The level that the config asks for below a node. */
static bool choose_level(const Policy *policy, const NodeRef *node, const Config *config,
                         PartLevel *level, Error *err)
{
    const Graph *graph = policy->session->graph;
    const Mesh *mesh = policy->session->mesh;
    const OpSpace *space = inferred_space(policy->session->inferred, node->op);
    const OpParts *parts = policy->parts[node->op];
    if (!space || space->no_rule)
        return error_kind(err, ERROR_UNKNOWN_OP, "'%s' has no rule: it can only be replicated",
                          op_operator(graph, node->op));
    if (!config->has_idx || !config->has_dim || (!config->has_num && !config->has_axis))
        return error_set(err, "a partition needs idx, dim, and num or axis");
    if (!find_index(graph, node->op, space, config, &level->index, err))
        return false;

    level->n = config->n;
    memcpy(level->atom, config->atom, sizeof level->atom);
    level->num = config->has_axis ? product_of(mesh, level->atom, level->n) : config->num;
    if (level->num < 1)
        return error_kind(err, ERROR_OUT_OF_RANGE, "num is 1 or more");
    if (config->has_num && config->num != level->num)
        return error_kind(err, ERROR_OUT_OF_RANGE, "num = %lld, but axis has %" PRId64 " devices",
                          (long long)config->num, level->num);
    int64_t size = size_left(space, parts, node->n_levels, level->index);
    if (!check_divides(graph, node->op, space, level, size, err))
        return false;
    AtomSet used = used_by(parts, node->n_levels);
    if (!config->has_axis)
        return axes_of_num(policy, config->num, used, level, err);
    for (int i = 0; i < level->n; i++)
        if (used >> level->atom[i] & 1)
            return error_kind(err, ERROR_CONFLICT, "'%s' is partitioned by axis %s already",
                              op_name(graph, node->op),
                              mesh->axes[mesh->atoms[level->atom[i]].axis].name);
    return true;
}

int algorithm_satisfy(lua_State *L)
{
    const NodeRef *node = luaL_checkudata(L, 1, algorithm_type);
    const Policy *policy = policy_of(L);
    Config config;
    PartLevel level = {0};
    Error err = {0};
    bool ok = read_config(L, 2, policy->session->mesh, &config, &err) &&
              choose_level(policy, node, &config, &level, &err);
    lua_pushboolean(L, ok);
    if (ok)
        return 1;
    lua_pushstring(L, err.text);
    lua_pushstring(L, error_kind_name(err.kind));
    return 3;
}

/* ---- deciding ---- */

/* Takes the level as the node's next one; false when its siblings are cut otherwise. */
static bool add_level(Policy *policy, const NodeRef *node, const PartLevel *level, Error *err)
{
    OpParts **parts = &policy->parts[node->op];
    if (!*parts)
        *parts = arena_make(policy->arena, OpParts);
    const char *name = op_name(policy->session->graph, node->op);
    if (node->n_levels == PART_LEVELS_MAX)
        return error_kind(err, ERROR_OUT_OF_RANGE, "'%s' is partitioned more than %d times", name,
                          PART_LEVELS_MAX);
    if ((*parts)->n > node->n_levels) {
        const PartLevel *old = &(*parts)->level[node->n_levels];
        if (old->index == level->index && old->n == level->n &&
            memcmp(old->atom, level->atom, (size_t)old->n) == 0)
            return true;
        error_kind(err, ERROR_CONFLICT, "'%s' is partitioned otherwise already", name);
        error_hint(err, "all sub-nodes of a node are cut alike; a sub-node by a further axis");
        return false;
    }
    (*parts)->level[(*parts)->n++] = *level;
    return true;
}

static void pin_index(lua_State *L, Policy *policy, int32_t op, int index)
{
    const OpSpace *space = inferred_space(policy->session->inferred, op);
    const OpParts *parts = policy->parts[op];
    uint8_t atom[ATOMS_MAX];
    int n = 0;
    for (int l = 0; l < parts->n; l++)
        for (int i = 0; parts->level[l].index == index && i < parts->level[l].n; i++)
            atom[n++] = parts->level[l].atom[i];
    Decision decision = {.kind = PIN_INDEX_DIM, .place = op, .dim = index};
    Cut cut = cut_by(space ? space->index[index].size : 0, atom, n, policy->session->mesh);
    decision.cut = &cut;
    policy_decide_part(L, policy, &decision);
}

static int push_sub_nodes(lua_State *L, const NodeRef *node, int64_t num)
{
    NodeRef sub = *node;
    sandbox_spend(L, num);
    lua_newtable(L);
    for (sub.n_levels++; sub.part[node->n_levels] < num; sub.part[node->n_levels]++) {
        push_node(L, &sub);
        lua_rawseti(L, -2, sub.part[node->n_levels] + 1);
    }
    return 1;
}

static NodeRef check_graph_and_node(lua_State *L)
{
    luaL_checkudata(L, 1, graph_type);
    return node_check(L, 2);
}

static int graph_partition(lua_State *L)
{
    const NodeRef of = check_graph_and_node(L), *node = &of;
    const NodeRef *algorithm = luaL_checkudata(L, 3, algorithm_type);
    Policy *policy = policy_of(L);
    Config config;
    PartLevel level = {0};
    Error err = {0};
    if (algorithm->op != node->op)
        return luaL_error(L, "the algorithm is that of another node");
    if (!read_config(L, 4, policy->session->mesh, &config, &err) ||
        !choose_level(policy, node, &config, &level, &err) ||
        !add_level(policy, node, &level, &err))
        return sandbox_raise(L, &err);
    pin_index(L, policy, node->op, level.index);
    return push_sub_nodes(L, node, level.num);
}

/* graph:replicate(node [, num]): over all axes that are left, or those that num devices can be. */
static int graph_replicate(lua_State *L)
{
    const NodeRef of = check_graph_and_node(L), *node = &of;
    Policy *policy = policy_of(L);
    const Mesh *mesh = policy->session->mesh;
    const OpSpace *space = inferred_space(policy->session->inferred, node->op);
    AtomSet used = used_by(policy->parts[node->op], node->n_levels);
    AtomSet left = mesh->n_axes > 0 ? atoms_of_axes(mesh, 0, mesh->n_axes - 1) & ~used : 0;
    int64_t num = luaL_optinteger(L, 3, mesh_atoms_size(mesh, left));
    PartLevel level = {.index = REPLICATED};
    Error err = {0};
    bool ok = num >= 1 || error_kind(&err, ERROR_OUT_OF_RANGE, "num is 1 or more");
    if (ok && num == mesh_atoms_size(mesh, left))
        set_atoms(mesh, left, &level);
    else
        ok = ok && axes_of_num(policy, num, used, &level, &err);
    if (!ok || !add_level(policy, node, &level, &err))
        return sandbox_raise(L, &err);
    for (int i = 0; space && i < space->n_index; i++)
        if (space->index[i].role != ROLE_FROZEN)
            pin_index(L, policy, node->op, i);
    return push_sub_nodes(L, node, level.num);
}

/* ---- assign ---- */

static int64_t position_of(const Mesh *mesh, int64_t device)
{
    for (int64_t i = 0; i < mesh->n_devices; i++)
        if (mesh_device(mesh, mesh->devices ? i : device) == device)
            return mesh->devices ? i : device;
    return -1;
}

/* Which sub-node of a level the position belongs to. */
static int64_t part_at(const Mesh *mesh, const PartLevel *level, int64_t position)
{
    int64_t part = 0;
    for (int i = 0; i < level->n; i++)
        part = part * mesh->atoms[level->atom[i]].size +
               mesh_atom_coord(mesh, level->atom[i], position);
    return part;
}

static bool check_device(const Policy *policy, const NodeRef *node, int64_t device, Error *err)
{
    const Mesh *mesh = policy->session->mesh;
    const OpParts *parts = policy->parts[node->op];
    const char *name = op_name(policy->session->graph, node->op);
    int64_t position = device < 0 || (!mesh->devices && device >= mesh->n_devices)
                           ? -1
                           : position_of(mesh, device);
    if (position < 0)
        return error_kind(err, ERROR_OUT_OF_RANGE, "the mesh has no device %" PRId64, device);
    if (node->n_levels == 0 && mesh->n_devices > 1)
        return error_kind(err, ERROR_UNSUPPORTED,
                          "'%s' would run on device %" PRId64
                          " alone: sub-meshes are not supported yet",
                          name, device);
    for (int l = 0; l < node->n_levels; l++)
        if (part_at(mesh, &parts->level[l], position) != node->part[l])
            return error_kind(err, ERROR_UNSUPPORTED,
                              "device %" PRId64 " is not where sub-node %" PRId64
                              " of '%s' is in mesh order: sub-meshes are not supported yet",
                              device, node->part[l], name);
    return true;
}

static int graph_assign(lua_State *L)
{
    const NodeRef of = check_graph_and_node(L), *node = &of;
    Error err = {0};
    if (!check_device(policy_of(L), node, luaL_checkinteger(L, 3), &err)) {
        error_hint(&err, "partition and assign in mesh order: sub-node i on the i-th device");
        return sandbox_raise(L, &err);
    }
    lua_pushboolean(L, true);
    return 1;
}

const LuaEntry partition_methods[] = {
    {"partition", graph_partition,
     "(node: node, algorithm: algorithm, config: partition_table): node[]",
     "Partitions the node along one dim of an operand, as nnScaler does, and returns the sub-nodes "
     "in mesh order. A sub-node may be partitioned again, by an axis that is left; all sub-nodes "
     "of a node alike. Refused: an operand or dim that is not there, a frozen dim, sizes that do "
     "not divide, a num that is no axis or several."},
    {"replicate", graph_replicate, "(node: node, num?: integer): node[]",
     "Every device computes the whole node: over the axes that are left, or the one axis, or run "
     "of neighbouring ones, of num devices. Returns the sub-nodes in mesh order."},
    {"assign", graph_assign, "(node: node, device: integer): true",
     "Says which device, counted from 0, a sub-node runs on. Sub-nodes follow the mesh, so this "
     "only checks; another device is refused."},
    {NULL, NULL, NULL, NULL},
};
