/* lua_partition.c - graph:partition and graph:replicate, as in nnScaler.
 *
 * A partition shards one index dim by `axis`, or by the axes over which `num` sub-nodes are spread.
 * As in nnScaler, it refuses unknown operands and dims, and frozen or indivisible index dims.
 */
#include "scripts/lua_partition.h"

#include "scripts/lua_cut.h"
#include "scripts/lua_legal.h"
#include "scripts/lua_place.h"

#include <inttypes.h>

enum { SPLITS_MAX = PART_LEVELS_MAX };

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
    return whole || error_set(err, "'%s' must be an integer", key);
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
    return error_hint(err,
                      "write {idx = 0, dim = 1, num = 4} or {idx = 0, dim = 1, axis = \"tp\"}");
}

static bool read_config(lua_State *L, int at, const Mesh *mesh, Config *out, Error *err)
{
    *out = (Config){0};
    if (!lua_istable(L, at))
        return error_set(err, "a partition must be a table {idx = 0, dim = 1, num = 4}");
    for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "1";
        if (!read_entry(L, key, mesh, out, err)) {
            lua_pop(L, 2);
            return false;
        }
    }
    return true;
}

/* Several configs are read after each other: a list of tables, or one table. */
static int count_configs(lua_State *L, int at)
{
    if (!lua_istable(L, at) || lua_rawlen(L, at) == 0)
        return 1;
    return lua_rawlen(L, at) > SPLITS_MAX ? SPLITS_MAX + 1 : (int)lua_rawlen(L, at);
}

static bool read_nth_config(lua_State *L, int at, int i, const Mesh *mesh, Config *out, Error *err)
{
    if (!lua_istable(L, at) || lua_rawlen(L, at) == 0)
        return read_config(L, at, mesh, out, err);
    lua_rawgeti(L, at, i + 1);
    bool ok = read_config(L, lua_gettop(L), mesh, out, err);
    lua_pop(L, 1);
    return ok;
}

/* ---- axes ---- */

static int64_t product_of(const Mesh *mesh, const uint8_t *atom, int n)
{
    int64_t product = 1;
    for (int i = 0; i < n; i++)
        product *= mesh->atoms[atom[i]].size;
    return product;
}

AtomSet level_atoms(const PartLevel *level)
{
    AtomSet atoms = 0;
    for (int i = 0; i < level->n; i++)
        atoms |= (AtomSet)1 << level->atom[i];
    return atoms;
}

static AtomSet used_by(const PartLevel *level, int n_levels)
{
    AtomSet used = 0;
    for (int l = 0; l < n_levels; l++)
        used |= level_atoms(&level[l]);
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
    level->n = mesh_list_set(mesh, atoms, level->atom);
    level->num = product_of(mesh, level->atom, level->n);
}

static bool refuse_num(const Policy *policy, int64_t num, const char *why, Error *err)
{
    Buf mesh = buf_new(policy->arena);
    mesh_format(policy->session->mesh, &mesh);
    error_set(err, "num = %" PRId64 " %s: give axis = \"NAME\", or assign the sub-nodes", num, why);
    return error_hint(err, "the mesh is %s", mesh.s);
}

/* The axis, or run of neighbouring axes, of that many devices among those that are left. */
bool partition_by_size(const Policy *policy, AtomSet left, PartLevel *level, Error *err)
{
    const Mesh *mesh = policy->session->mesh;
    int64_t num = level->num;
    AtomSet found = 0;
    for (int first = 0; num > 1 && first < mesh->n_axes; first++)
        for (int last = first; last < mesh->n_axes; last++) {
            AtomSet atoms = atoms_of_axes(mesh, first, last) & left;
            if (mesh_atoms_size(mesh, atoms) != num)
                continue;
            if (found && found != atoms)
                return refuse_num(policy, num, "fits several axes", err);
            found = atoms;
        }
    if (num > 1 && !found)
        return refuse_num(policy, num, "fits no unused axis", err);
    set_atoms(mesh, found, level);
    level->open = false;
    return true;
}

int64_t level_part_at(const Mesh *mesh, const PartLevel *level, int64_t position)
{
    int64_t part = 0;
    for (int i = 0; i < level->n; i++)
        part = part * mesh->atoms[level->atom[i]].size +
               mesh_atom_coord(mesh, level->atom[i], position);
    return part;
}

/* Devices may tell which axes these are, where their number can be that of a part of the mesh. */
static bool can_stay_open(const Policy *policy, int64_t num)
{
    return policy->session->mesh->n_devices % num == 0;
}

static bool axes_of_num(const Policy *policy, AtomSet left, PartLevel *level, Error *err)
{
    level->by_num = true;
    Error why = {0};
    if (partition_by_size(policy, left, level, &why))
        return true;
    level->open = can_stay_open(policy, level->num);
    if (!level->open && err)
        *err = why;
    return level->open;
}

/* ---- which index dim ---- */

/* Index dims that are no major part of some tensor dim: `n` of (b n). */
static uint32_t inner_dims(const OpSpace *space)
{
    uint32_t inner = 0;
    for (int i = 0; i < space->n_inputs + space->n_outputs; i++) {
        const Operand *operand = &space->operand[i];
        for (int d = 0; !operand->absent && !operand->ignored && d < operand->projection.n_dims;
             d++)
            for (int f = 1; f < operand->factors[d].n; f++)
                inner |= (uint32_t)1 << operand->factors[d].index[f];
    }
    return inner;
}

int splittable_dims(const OpSpace *space, Splittable *out)
{
    uint32_t seen = inner_dims(space);
    int n = 0;
    for (int i = 0; i < space->n_inputs; i++) {
        const Operand *operand = &space->operand[i];
        for (int d = 0; !operand->absent && !operand->ignored && d < operand->projection.n_dims;
             d++) {
            const DimFactors *factors = &operand->factors[d];
            int index = factors->n > 0 ? factors->index[0] : -1;
            if (index < 0 || seen >> index & 1)
                continue;
            seen |= (uint32_t)1 << index;
            if (space->index[index].role != ROLE_FROZEN)
                out[n++] = (Splittable){i, d, index};
        }
    }
    return n;
}

/* The hint of a refused place: all that may be cut. */
static bool hint_splittable(const Policy *policy, int32_t op, AtomSet used, Error *err)
{
    const OpSpace *space = inferred_space(policy->session->inferred, op);
    Splittable at[X_MAX];
    int n = space ? splittable_dims(space, at) : 0;
    Buf text = buf_new(policy->arena);
    for (int i = 0; i < n; i++)
        buf_printf(&text, "%s(%d, %d) %s of %" PRId64,
                   i ? ", " : "(idx, dim) that can be partitioned: ", at[i].idx, at[i].dim,
                   space->index[at[i].index].name, space->index[at[i].index].size);
    legal_put_axes(policy->session->mesh, used, n > 0 ? "; unused axes: " : "", &text);
    return error_hint(err, "%s", n > 0 ? text.s : "graph:replicate it");
}

/* The index dim that dim `dim` of operand `idx` is sharded by: its major factor. */
static bool find_index(const OpSpace *space, const Config *config, int *index, Error *err)
{
    int n_operands = space->n_inputs + space->n_outputs;
    if (config->idx < 0 || config->idx >= n_operands)
        return error_kind(err, ERROR_OUT_OF_RANGE, "it has %d operands, no idx %lld", n_operands,
                          (long long)config->idx);
    const Operand *operand = &space->operand[config->idx];
    if (operand->absent || operand->ignored)
        return error_kind(err, ERROR_OUT_OF_RANGE, "idx %lld is not a tensor that can be sharded",
                          (long long)config->idx);
    int rank = operand->projection.n_dims;
    lua_Integer dim = config->dim < 0 ? config->dim + rank : config->dim;
    if (dim < 0 || dim >= rank)
        return error_kind(err, ERROR_OUT_OF_RANGE, "idx %lld has %d dims, no dim %lld",
                          (long long)config->idx, rank, (long long)config->dim);
    const DimFactors *factors = &operand->factors[dim];
    *index = factors->n > 0 ? factors->index[0] : -1;
    if (*index < 0 || space->index[*index].role == ROLE_FROZEN)
        return error_kind(err, ERROR_FROZEN, "dim %d of idx %d is frozen: it cannot be sharded",
                          (int)dim, (int)config->idx);
    return true;
}

/* The elements of an index dim that a sub-node of these levels has. */
static int64_t size_left(const OpSpace *space, const PartLevel *before, int n_before, int index)
{
    int64_t size = space->index[index].size;
    for (int l = 0; l < n_before; l++)
        if (before[l].index == index)
            size /= before[l].num;
    return size;
}

static bool check_divides(const OpSpace *space, const PartLevel *level, int64_t size, Error *err)
{
    if (size % level->num == 0)
        return true;
    return error_kind(err, ERROR_NOT_DIVISIBLE,
                      "index dim %s has %" PRId64 " elements, which %" PRId64 " does not divide",
                      space->index[level->index].name, size, level->num);
}

static bool find_level(const Policy *policy, int32_t op, const PartLevel *before, int n_before,
                       const Config *config, PartLevel *level, Error *err)
{
    const Graph *graph = policy->session->graph;
    const Mesh *mesh = policy->session->mesh;
    const OpSpace *space = inferred_space(policy->session->inferred, op);
    *level = (PartLevel){.n = config->n, .num = config->num};
    if (!space || space->no_rule)
        return error_kind(err, ERROR_UNKNOWN_OP, "'%s' has no rule: it can only be replicated",
                          op_operator(graph, op));
    if (!config->has_idx || !config->has_dim || (!config->has_num && !config->has_axis))
        return error_set(err, "a partition needs idx, dim, and num or axis");
    if (!find_index(space, config, &level->index, err))
        return false;

    memcpy(level->atom, config->atom, sizeof level->atom);
    if (config->has_axis)
        level->num = product_of(mesh, level->atom, level->n);
    if (level->num < 1)
        return error_kind(err, ERROR_OUT_OF_RANGE, "num must be 1 or more");
    if (config->has_num && config->num != level->num)
        return error_kind(err, ERROR_OUT_OF_RANGE, "num = %lld, but axis has %" PRId64 " devices",
                          (long long)config->num, level->num);
    int64_t size = size_left(space, before, n_before, level->index);
    if (!check_divides(space, level, size, err))
        return false;
    AtomSet used = used_by(before, n_before);
    if (!config->has_axis)
        return axes_of_num(policy, submesh_free(mesh, (SubMesh){.fixed = used}), level, err);
    for (int i = 0; i < level->n; i++)
        if (used >> level->atom[i] & 1)
            return error_kind(err, ERROR_CONFLICT, "it is already partitioned by axis %s",
                              mesh->axes[mesh->atoms[level->atom[i]].axis].name);
    return true;
}

/* The level that the config asks for below a sub-node of `before`. An error names the op, and what
 * it could have asked for. */
static bool choose_level(const Policy *policy, int32_t op, const PartLevel *before, int n_before,
                         const Config *config, PartLevel *level, Error *err)
{
    if (find_level(policy, op, before, n_before, config, level, err))
        return true;
    const char *name = op_name(policy->session->graph, op);
    legal_about(err, arena_printf(policy->arena, "'%s'", name));
    return hint_splittable(policy, op, used_by(before, n_before), err);
}

/* The levels of the node, and behind them those that the value at that place asks for. */
typedef struct {
    int n;
    PartLevel level[PART_LEVELS_MAX];
} Levels;

static bool choose_levels(lua_State *L, const Policy *policy, const NodeRef *node, int at,
                          Levels *out, Error *err)
{
    int n = count_configs(L, at);
    const OpParts *parts = policy->parts[node->op];
    out->n = node->n_levels;
    for (int l = 0; l < out->n; l++)
        out->level[l] = parts->level[l];
    if (out->n + n > PART_LEVELS_MAX)
        return error_kind(err, ERROR_OUT_OF_RANGE, "'%s' is partitioned more than %d times",
                          op_name(policy->session->graph, node->op), PART_LEVELS_MAX);
    for (int i = 0; i < n; i++, out->n++) {
        Config config;
        if (!read_nth_config(L, at, i, policy->session->mesh, &config, err) ||
            !choose_level(policy, node->op, out->level, out->n, &config, &out->level[out->n], err))
            return false;
        out->level[out->n].line = sandbox_line(L);
    }
    return true;
}

int algorithm_satisfy(lua_State *L)
{
    const NodeRef *node = luaL_checkudata(L, 1, algorithm_type);
    Levels levels;
    Error err = {0};
    node_check_parts(L, node);
    bool ok = choose_levels(L, policy_of(L), node, 2, &levels, &err);
    lua_pushboolean(L, ok);
    if (ok)
        return 1;
    lua_pushstring(L, err.text);
    lua_pushstring(L, error_kind_name(err.kind));
    return 3;
}

/* ---- deciding ---- */

static bool same_level(const PartLevel *a, const PartLevel *b)
{
    return a->index == b->index && a->num == b->num && a->n == b->n &&
           memcmp(a->atom, b->atom, (size_t)a->n) == 0;
}

/* Takes the level as the node's next one; false when its siblings are cut otherwise. */
static bool add_level(Policy *policy, int32_t op, int at, const PartLevel *level, Error *err)
{
    OpParts **parts = &policy->parts[op];
    if (!*parts)
        *parts = arena_make(policy->arena, OpParts);
    const char *name = op_name(policy->session->graph, op);
    if (at == PART_LEVELS_MAX)
        return error_kind(err, ERROR_OUT_OF_RANGE, "'%s' is partitioned more than %d times", name,
                          PART_LEVELS_MAX);
    if ((*parts)->n > at) {
        if (same_level(&(*parts)->level[at], level))
            return true;
        error_kind(err, ERROR_CONFLICT, "'%s' is already partitioned differently", name);
        return error_hint(err,
                          "all sub-nodes of a node must be partitioned alike; a sub-node may be "
                          "partitioned by another axis");
    }
    if (place_has_parts(policy, op)) {
        error_kind(err, ERROR_CONFLICT, "'%s' is partitioned after its sub-nodes were assigned",
                   name);
        return error_hint(err, "partition first, then graph:assign the resulting sub-nodes");
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

static void pin_level(lua_State *L, Policy *policy, int32_t op, const PartLevel *level)
{
    const OpSpace *space = inferred_space(policy->session->inferred, op);
    if (level->index != REPLICATED) {
        pin_index(L, policy, op, level->index);
        return;
    }
    for (int i = 0; space && i < space->n_index; i++)
        if (space->index[i].role != ROLE_FROZEN)
            pin_index(L, policy, op, i);
}

void partition_pin(lua_State *L, Policy *policy, int32_t op)
{
    const OpParts *parts = policy->parts[op];
    policy_forget_parts(policy, op);
    for (int l = 0; l < parts->n; l++)
        pin_level(L, policy, op, &parts->level[l]);
}

bool parts_open(const OpParts *parts)
{
    for (int l = 0; l < parts->n; l++)
        if (parts->level[l].open)
            return true;
    return false;
}

static bool decide_level(lua_State *L, Policy *policy, int32_t op, int at, const PartLevel *level,
                         Error *err)
{
    if (!add_level(policy, op, at, level, err))
        return false;
    if (!parts_open(policy->parts[op]))
        pin_level(L, policy, op, level);
    return true;
}

int64_t parts_count(const OpParts *parts)
{
    int64_t n = 1;
    for (int l = 0; parts && l < parts->n; l++)
        n *= parts->level[l].num;
    return n;
}

int64_t parts_leaf(const OpParts *parts, const NodeRef *node)
{
    int64_t leaf = 0;
    for (int l = 0; l < node->n_levels; l++)
        leaf = leaf * parts->level[l].num + node->part[l];
    return leaf;
}

/* The sub-nodes of a node down to that level, the first level major. */
static int push_sub_nodes(lua_State *L, const Policy *policy, const NodeRef *node, int n_levels)
{
    const OpParts *parts = policy->parts[node->op];
    int64_t n = 1;
    for (int l = node->n_levels; l < n_levels; l++)
        n *= parts->level[l].num;
    sandbox_spend(L, n);
    lua_createtable(L, (int)n, 0);
    for (int64_t i = 0; i < n; i++) {
        NodeRef sub = {node->op, n_levels, {0}};
        memcpy(sub.part, node->part, (size_t)node->n_levels * sizeof *sub.part);
        int64_t rest = i;
        for (int l = n_levels - 1; l >= node->n_levels; l--) {
            sub.part[l] = rest % parts->level[l].num;
            rest /= parts->level[l].num;
        }
        push_node(L, &sub);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static int graph_partition(lua_State *L)
{
    Policy *policy = graph_check(L);
    const NodeRef of = node_check(L, 2), *node = &of;
    const NodeRef *algorithm = luaL_checkudata(L, 3, algorithm_type);
    Levels levels;
    Error err = {0};
    if (algorithm->op != node->op)
        return luaL_error(L, "the algorithm belongs to another node");
    if (!choose_levels(L, policy, node, 4, &levels, &err))
        return sandbox_raise(L, &err);
    for (int l = node->n_levels; l < levels.n; l++)
        if (!decide_level(L, policy, node->op, l, &levels.level[l], &err))
            return sandbox_raise(L, &err);
    return push_sub_nodes(L, policy, node, levels.n);
}

static bool choose_next_level(const Policy *policy, const NodeRef *node, int64_t idx, int64_t dim,
                              int64_t num, PartLevel *level, Error *err)
{
    Config config = {.idx = idx, .dim = dim, .num = num};
    config.has_idx = config.has_dim = config.has_num = true;
    const OpParts *parts = policy->parts[node->op];
    return choose_level(policy, node->op, parts ? parts->level : NULL, parts ? node->n_levels : 0,
                        &config, level, err);
}

bool partition_allowed(const Policy *policy, const NodeRef *node, int64_t idx, int64_t dim,
                       int64_t num, Error *err)
{
    PartLevel level;
    return choose_next_level(policy, node, idx, dim, num, &level, err);
}

bool partition_node(lua_State *L, Policy *policy, const NodeRef *node, int64_t idx, int64_t dim,
                    int64_t num, Error *err)
{
    PartLevel level;
    if (!choose_next_level(policy, node, idx, dim, num, &level, err))
        return false;
    level.line = sandbox_line(L);
    return decide_level(L, policy, node->op, node->n_levels, &level, err);
}

/* The axes by which the node is not partitioned. */
static AtomSet atoms_left(const Policy *policy, const NodeRef *node)
{
    const OpParts *parts = policy->parts[node->op];
    AtomSet used = parts ? used_by(parts->level, node->n_levels) : 0;
    return submesh_free(policy->session->mesh, (SubMesh){.fixed = used});
}

bool replicate_node(lua_State *L, Policy *policy, const NodeRef *node, int64_t num, Error *err)
{
    const Mesh *mesh = policy->session->mesh;
    AtomSet left = atoms_left(policy, node);
    PartLevel level = {.index = REPLICATED, .num = num, .line = sandbox_line(L)};
    if (num < 1)
        return error_kind(err, ERROR_OUT_OF_RANGE, "num must be 1 or more");
    if (num == mesh_atoms_size(mesh, left)) {
        level.by_num = level.rest = true;
        set_atoms(mesh, left, &level);
    } else if (!axes_of_num(policy, left, &level, err)) {
        return false;
    }
    return decide_level(L, policy, node->op, node->n_levels, &level, err);
}

/* graph:replicate(node [, num]): over all axes that are left, or those that num devices can be. */
static int graph_replicate(lua_State *L)
{
    Policy *policy = graph_check(L);
    const NodeRef of = node_check(L, 2), *node = &of;
    AtomSet left = atoms_left(policy, node);
    int64_t num = luaL_optinteger(L, 3, mesh_atoms_size(policy->session->mesh, left));
    Error err = {0};
    if (!replicate_node(L, policy, node, num, &err))
        return sandbox_raise(L, &err);
    return push_sub_nodes(L, policy, node, node->n_levels + 1);
}

const LuaEntry partition_methods[] = {
    {"partition", graph_partition,
     "(node: node, algorithm: algorithm, config: partition_table|partition_table[]): node[]",
     "Partitions the node along one dim of an operand, as nnScaler does, and returns the sub-nodes "
     "in mesh order; along several dims if config is a list, the first major. A sub-node may be "
     "partitioned again by an axis that is not yet used; all sub-nodes of a node must be "
     "partitioned alike. If num fits no axis or several, the devices of the sub-nodes determine "
     "the axes. Refused: an operand or dim that does not exist, a frozen dim, sizes that do not "
     "divide, a num that nothing determines."},
    {"replicate", graph_replicate, "(node: node, times?: integer): node[]",
     "Every device computes the whole node, over the axes that are not yet used, or over `times` "
     "devices. Returns the sub-nodes in mesh order. Unlike in nnScaler the default of `times` is "
     "not 1, and a node without a rule has sub-nodes too."},
    {NULL, NULL, NULL, NULL},
};
