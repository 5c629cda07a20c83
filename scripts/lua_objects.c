#include "scripts/lua_partition.h"

#include "core/base/nearest.h"
#include "scripts/lua_attrs.h"
#include "scripts/lua_place.h"

#include <limits.h>
#include <stdio.h>

static const char *const node_type = "node";
const char *const graph_type = "graph", *const tensor_type = "tensor",
                  *const algorithm_type = "algorithm";

const char *type_shown(lua_State *L, int at)
{
    if (luaL_getmetafield(L, at, "__name") == LUA_TSTRING)
        return lua_tostring(L, -1);
    return luaL_typename(L, at);
}

/* ---- creating values ---- */

void push_graph(lua_State *L)
{
    lua_newuserdatauv(L, 0, 0);
    luaL_setmetatable(L, graph_type);
}

void push_node(lua_State *L, const NodeRef *node)
{
    if (node->n_levels == 0) {
        push_op(L, node->op);
        return;
    }
    NodeRef *copy = lua_newuserdatauv(L, sizeof *copy, 0);
    *copy = *node;
    luaL_setmetatable(L, node_type);
}

Policy *graph_check(lua_State *L)
{
    if (!luaL_testudata(L, 1, graph_type))
        luaL_argerror(L, 1, "the graph stands before a colon: graph:NAME(..), not graph.NAME(..)");
    return policy_of(L);
}

/* The op as an odd number, which is no address of another light userdata. */
void push_op(lua_State *L, int32_t op)
{
    lua_pushlightuserdata(L, (void *)((uintptr_t)op << 1 | 1));
}

static int32_t light_op(lua_State *L, int at)
{
    return (int32_t)((uintptr_t)lua_touserdata(L, at) >> 1);
}

/* Also accepts a sub-node of an earlier run. */
static bool read_any(lua_State *L, int at, NodeRef *out)
{
    if (lua_islightuserdata(L, at)) {
        *out = (NodeRef){.op = light_op(L, at)};
        return true;
    }
    const NodeRef *part = luaL_testudata(L, at, node_type);
    if (part)
        *out = *part;
    return part != NULL;
}

void node_check_parts(lua_State *L, const NodeRef *node)
{
    const Policy *policy = policy_of(L);
    const OpParts *parts = policy->parts[node->op];
    bool there = node->n_levels == 0 || (parts && node->n_levels <= parts->n);
    for (int l = 0; there && l < node->n_levels; l++)
        there = node->part[l] < parts->level[l].num;
    if (there)
        return;
    sandbox_refuse(L, ERROR_INVALID,
                   "partition the node again: sub-nodes exist only during their run",
                   "a sub-node of '%s' is of an earlier run, which has ended",
                   op_name(policy->session->graph, node->op));
}

bool node_read(lua_State *L, int at, NodeRef *out)
{
    bool is_node = read_any(L, at, out);
    if (is_node)
        node_check_parts(L, out);
    return is_node;
}

NodeRef node_check(lua_State *L, int at)
{
    NodeRef node = {0};
    if (!node_read(L, at, &node))
        luaL_typeerror(L, at, node_type);
    return node;
}

void push_tensor(lua_State *L, const NamedTensor *named)
{
    NamedTensor *copy = lua_newuserdatauv(L, sizeof *copy, 0);
    *copy = *named;
    luaL_setmetatable(L, tensor_type);
}

/* Created once per tensor: the registry has a list of them by id, under this key. */
static const char own_tensors;

void push_own_tensor(lua_State *L, int32_t tensor)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &own_tensors);
    if (lua_rawgeti(L, -1, tensor + 1) == LUA_TNIL) {
        lua_pop(L, 1);
        NamedTensor named = {naming_label(policy_of(L)->session->naming, tensor), tensor, -1};
        push_tensor(L, &named);
        lua_pushvalue(L, -1);
        lua_rawseti(L, -3, tensor + 1);
    }
    lua_remove(L, -2);
}

/* ---- nodes ---- */

int32_t node_check_op(lua_State *L)
{
    return lua_islightuserdata(L, 1) ? light_op(L, 1) : node_check(L, 1).op;
}

NODE_FIELD(name, lua_pushstring, op_operator(graph, op))
NODE_FIELD(path, lua_pushstring, op_path(graph, op))
NODE_FIELD(op, lua_pushstring, op_name(graph, op))

/* A tensor, or false for an absent operand, so that lists keep their positions. */
static void push_operand(lua_State *L, int32_t tensor)
{
    if (tensor < 0)
        lua_pushboolean(L, false);
    else
        push_own_tensor(L, tensor);
}

/* The inputs or outputs of the node at 1: a list, or with an index at 2 one of them. */
static int push_operands(lua_State *L, bool outputs, bool one)
{
    const Graph *graph = policy_of(L)->session->graph;
    int32_t op = node_check_op(L);
    const int32_t *tensors = outputs ? op_outputs(graph, op) : op_inputs(graph, op);
    int n = outputs ? graph->ops[op].n_outputs : graph->ops[op].n_inputs;
    lua_Integer i = one ? luaL_checkinteger(L, 2) : 0;
    luaL_argcheck(L, !one || (i >= 0 && i < n), 2,
                  "the node has no such operand; operands count from 0");
    if (one) {
        push_operand(L, tensors[i]);
        return 1;
    }
    lua_createtable(L, n, 0);
    for (int t = 0; t < n; t++) {
        push_operand(L, tensors[t]);
        lua_rawseti(L, -2, t + 1);
    }
    return 1;
}

static int node_inputs(lua_State *L)
{
    return push_operands(L, false, false);
}

static int node_outputs(lua_State *L)
{
    return push_operands(L, true, false);
}

static int node_input(lua_State *L)
{
    return push_operands(L, false, true);
}

static int node_output(lua_State *L)
{
    return push_operands(L, true, true);
}

static int node_algorithm(lua_State *L)
{
    NodeRef node = node_check(L, 1);
    const char *tag = luaL_checkstring(L, 2);
    if (strcmp(tag, "dim") != 0)
        return luaL_error(L, "there is no algorithm '%s', only 'dim'", tag);
    NodeRef *algorithm = lua_newuserdatauv(L, sizeof *algorithm, 0);
    *algorithm = node;
    luaL_setmetatable(L, algorithm_type);
    return 1;
}

static int node_equal(lua_State *L)
{
    NodeRef a, b;
    bool equal =
        read_any(L, 1, &a) && read_any(L, 2, &b) && a.op == b.op && a.n_levels == b.n_levels;
    for (int i = 0; equal && i < a.n_levels; i++)
        equal = a.part[i] == b.part[i];
    lua_pushboolean(L, equal);
    return 1;
}

static NodeRef check_any(lua_State *L)
{
    NodeRef node = {0};
    if (!read_any(L, 1, &node))
        luaL_typeerror(L, 1, node_type);
    return node;
}

/* The string that orders nodes as table keys: in program order, then sub-node by sub-node. */
static int node_order(lua_State *L)
{
    NodeRef node = check_any(L);
    char text[24 * (1 + PART_LEVELS_MAX)];
    int n = snprintf(text, sizeof text, "%010d", (int)node.op);
    for (int i = 0; i < node.n_levels; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, " %010lld", (long long)node.part[i]);
    lua_pushlstring(L, text, (size_t)n);
    return 1;
}

static int node_text(lua_State *L)
{
    NodeRef node = check_any(L);
    const Graph *graph = policy_of(L)->session->graph;
    lua_pushfstring(L, "%s '%s'", op_operator(graph, node.op), op_name(graph, node.op));
    for (int i = 0; i < node.n_levels; i++) {
        lua_pushfstring(L, "[%I]", (LUAI_UACINT)node.part[i]);
        lua_concat(L, 2);
    }
    return 1;
}

/* ---- tensors ---- */

static const NamedTensor *check_named(lua_State *L)
{
    return luaL_checkudata(L, 1, tensor_type);
}

int32_t tensor_check(lua_State *L)
{
    return check_named(L)->tensor;
}

TENSOR_FIELD(own_name, lua_pushstring, tensor_name(graph, tensor))
TENSOR_FIELD(dtype, lua_pushstring, dtype_name((Dtype)inferred->dtype[tensor]))
TENSOR_FIELD(is_param, lua_pushboolean, tensor_is_weight(inferred, tensor))

static int tensor_label(lua_State *L)
{
    policy_of(L); /* the name lives as long as the run */
    lua_pushstring(L, check_named(L)->name);
    return 1;
}

/* A list of sizes; nil if the shape is unknown. */
static int tensor_shape(lua_State *L)
{
    const Shape *shape = inferred_shape(policy_of(L)->session->inferred, tensor_check(L));
    if (!shape)
        return 0;
    sizes_push(L, shape);
    return 1;
}

/* The file's names of free dims, "" for other dims. */
static int tensor_dim_names(lua_State *L)
{
    const Graph *graph = policy_of(L)->session->graph;
    const GraphTensor *tensor = &graph->tensors[tensor_check(L)];
    int n = tensor->declared < 0 ? 0 : tensor->n_declared;
    lua_createtable(L, n, 0);
    for (int d = 0; d < n; d++) {
        lua_pushstring(L, names_text(graph->names, graph->declared[tensor->declared + d].name));
        lua_rawseti(L, -2, d + 1);
    }
    return 1;
}

int tensor_consumers(lua_State *L)
{
    const Session *session = policy_of(L)->session;
    int32_t tensor = tensor_check(L), last = -1;
    const int32_t *use = session->graph->uses + session->graph->tensors[tensor].use;
    int n = tensor_n_uses(session->graph, tensor), n_nodes = 0;
    lua_newtable(L);
    for (int i = 0; i < n; i++) {
        if (use[i] == last || inferred_is_host(session->inferred, use[i]))
            continue;
        last = use[i];
        push_op(L, last);
        lua_rawseti(L, -2, ++n_nodes);
    }
    return 1;
}

static int tensor_producer(lua_State *L)
{
    const Session *session = policy_of(L)->session;
    int32_t maker = session->graph->tensors[tensor_check(L)].maker;
    if (maker < 0 || inferred_is_host(session->inferred, maker))
        return 0;
    push_op(L, maker);
    return 1;
}

static int tensor_equal(lua_State *L)
{
    const NamedTensor *a = luaL_testudata(L, 1, tensor_type);
    const NamedTensor *b = luaL_testudata(L, 2, tensor_type);
    lua_pushboolean(L, a && b && a->tensor == b->tensor);
    return 1;
}

static int tensor_order(lua_State *L)
{
    const NamedTensor *named = check_named(L);
    char number[24];
    snprintf(number, sizeof number, "%010d ", (int)named->tensor);
    lua_pushfstring(L, "%s%s", number, named->name);
    return 1;
}

/* ---- types ---- */

const LuaEntry node_fields[] = {
    {"name", node_name, "string", "The operator's name, as in nnScaler: \"MatMul\"."},
    {"path", node_path, "string",
     "The module of the node: \"transformer.h.0.mlp.c_fc\"; \"\" if the model names none."},
    {"op", node_op, "string", "The op's own name, which is unique in the model."},
    {"out", node_outputs, "(tensor|false)[]", "The outputs, the same as node:outputs()."},
    {"us", node_us, "number?",
     "Microseconds of compute on the slowest rank in the current plan; nil before there is a "
     "plan."},
    {NULL, NULL, NULL, NULL}};
const LuaEntry node_methods[] = {
    {"inputs", node_inputs, "(): (tensor|false)[]",
     "The inputs in the operator's order, false for an absent one, so that positions keep their "
     "meaning."},
    {"outputs", node_outputs, "(): (tensor|false)[]",
     "The outputs in the operator's order, false for an absent one."},
    {"input", node_input, "(idx: integer): tensor|false",
     "The input at that position, from 0; false if it is absent. A position that the node does not "
     "have is an error."},
    {"output", node_output, "(idx: integer): tensor|false",
     "The output at that position, from 0; false if it is absent. A position that the node does "
     "not have is an error."},
    {"algorithm", node_algorithm, "(tag: \"dim\"): algorithm",
     "The partition algorithm for graph:partition; nnScaler's tag \"dim\" is the only one."},
    {NULL, NULL, NULL, NULL}};
const LuaEntry tensor_fields[] = {
    {"name", tensor_own_name, "string", "The name in the model file."},
    {"label", tensor_label, "string",
     "The readable name by which the tensor was found: \"transformer.h.0.mlp.c_fc.out\"."},
    {"shape", tensor_shape, "integer[]?",
     "The sizes of the dims, in elements; shape[1] is dim 0. Nil if the shape is unknown."},
    {"dtype", tensor_dtype, "string",
     "The element type: f32 f64 f16 bf16 i8 .. i64 u8 .. u64 bool str c64, and others."},
    {"is_param", tensor_is_param, "boolean",
     "True for a parameter, and for a value computed only from parameters."},
    {"dim_names", tensor_dim_names, "string[]",
     "The names that the model file gives free dims, \"\" for other dims; empty if the file "
     "declares no shape."},
    {"sharding", tensor_sharding, "string?",
     "The sharding in the current plan: \"8/dp,1024,768\"; nil before there is a plan."},
    {NULL, NULL, NULL, NULL}};
const LuaEntry tensor_methods[] = {
    {"consumers", tensor_consumers, "(): node[]",
     "The nodes that read it, each once, in program order."},
    {"producer", tensor_producer, "(): node?",
     "The node that computes it; nil for inputs, parameters and constants."},
    {NULL, NULL, NULL, NULL}};
const LuaEntry algorithm_methods[] = {
    {"satisfy", algorithm_satisfy,
     "(config: partition_table|partition_table[]): boolean, string?, string?",
     "Whether graph:partition would accept the config; if not, also why, and the kind of error."},
    {NULL, NULL, NULL, NULL}};

static const char *find_nearest(const char *type, const char *key)
{
    Nearest nearest = {str_from(key), INT_MAX, ""};
    for (const LuaTable *table = lua_tables; table->entries; table++)
        for (const LuaEntry *it = table->entries; strcmp(table->of, type) == 0 && it->name; it++)
            nearest_try(&nearest, it->name);
    return nearest.name;
}

/* The hint for an nnScaler method that changes the graph, which plans never do; else NULL. */
static const char *instead_of(const char *key)
{
    static const struct {
        const char *name, *hint;
    } rows[] = {
        {"sequential", "ops run in program order on each device; see graph:schedule"},
        {"bind_schedule", "graph:schedule(\"1f1b\", {micro_batches = 4})"},
        {"insert", "the graph stays as it is"},
        {"remove", "the graph stays as it is"},
        {"replace", "the graph stays as it is"},
        {"reorder", "ops run in program order on each device; see graph:schedule"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, key) == 0)
            return rows[i].hint;
    return NULL;
}

static const char *article(const char *type)
{
    return type[0] == 'a' ? "an" : "a";
}

static void refuse_name(const char *type, const char *key, Error *err)
{
    const char *instead = strcmp(type, graph_type) == 0 ? instead_of(key) : NULL;
    if (instead) {
        error_kind(err, ERROR_UNSUPPORTED, "a plan does not change the graph: there is no graph:%s",
                   key);
        error_hint(err, "%s", instead);
        return;
    }
    error_set(err, "%s %s has no '%s'", article(type), type, key);
    error_hint(err, "did you mean '%s'?", find_nearest(type, key));
}

/* __index. Upvalues: a table of the type's fields (as the address of their row) and methods (as
 * functions) by name; the type's name. */
static int look_up(lua_State *L)
{
    lua_pushvalue(L, 2);
    int found = lua_rawget(L, lua_upvalueindex(1));
    if (found == LUA_TLIGHTUSERDATA)
        return ((const LuaEntry *)lua_touserdata(L, -1))->function(L);
    if (found != LUA_TNIL)
        return 1;
    Error err = {0};
    refuse_name(lua_tostring(L, lua_upvalueindex(2)), sandbox_push_text(L, 2, NULL), &err);
    return sandbox_raise(L, &err);
}

/* __newindex. Upvalue: the type's name. */
static int refuse_write(lua_State *L)
{
    const char *type = lua_tostring(L, lua_upvalueindex(1));
    return luaL_error(L, "%s %s is read-only: '%s'", article(type), type,
                      sandbox_push_text(L, 2, NULL));
}

static void set_fields(lua_State *L, const char *type)
{
    for (const LuaTable *table = lua_tables; table->entries; table++)
        for (const LuaEntry *it = table->entries;
             table->kind == LUA_FIELDS && strcmp(table->of, type) == 0 && it->name; it++) {
            lua_pushlightuserdata(L, (void *)(uintptr_t)it);
            lua_setfield(L, -2, it->name);
        }
}

/* Fills the metatable at the top of the stack. */
static void fill_type(lua_State *L, const char *type)
{
    lua_pushstring(L, type);
    lua_setfield(L, -2, "__name");
    lua_newtable(L);
    lua_api_set(L, type, LUA_METHODS);
    set_fields(L, type);
    lua_pushstring(L, type);
    lua_pushcclosure(L, look_up, 2);
    lua_setfield(L, -2, "__index");
    lua_pushstring(L, type);
    lua_pushcclosure(L, refuse_write, 1);
    lua_setfield(L, -2, "__newindex");
    lua_pushboolean(L, false);
    lua_setfield(L, -2, "__metatable");
}

void open_type(lua_State *L, const char *type)
{
    if (luaL_newmetatable(L, type))
        fill_type(L, type);
}

static void set_function(lua_State *L, const char *name, lua_CFunction function)
{
    lua_pushcfunction(L, function);
    lua_setfield(L, -2, name);
}

/* All light userdata share one metatable: scripts see no others than nodes. */
static void open_nodes(lua_State *L)
{
    open_type(L, node_type);
    push_op(L, 0);
    lua_newtable(L);
    fill_type(L, node_type);
    for (int it = 1; it <= 2; it++) {
        lua_pushvalue(L, it == 1 ? -1 : -3);
        set_function(L, "__eq", node_equal);
        set_function(L, "__tostring", node_text);
        set_function(L, "__order", node_order);
        lua_pop(L, 1);
    }
    lua_setmetatable(L, -2);
    lua_pop(L, 2);
}

void objects_open(lua_State *L)
{
    int top = lua_gettop(L);
    bool opened = lua_rawgetp(L, LUA_REGISTRYINDEX, &own_tensors) != LUA_TNIL;
    lua_settop(L, top);
    if (opened)
        return;
    lua_createtable(L, policy_of(L)->session->graph->n_tensors, 0);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &own_tensors);
    open_type(L, graph_type);
    open_nodes(L);
    open_type(L, tensor_type);
    set_function(L, "__eq", tensor_equal);
    set_function(L, "__tostring", tensor_label);
    set_function(L, "__order", tensor_order);
    open_type(L, algorithm_type);
    segments_open(L);
    lua_settop(L, top);
}
