/* lua_node.c - nnScaler's attributes of nodes, tensors and devices. */
#include "scripts/lua_attrs.h"
#include "scripts/lua_place.h"
#include "scripts/lua_push.h"

#include <ctype.h>

/* ---- gradients ---- */

static void find_gradients(Policy *policy)
{
    const Inferred *inferred = policy->session->inferred;
    const Graph *graph = inferred->graph;
    policy->gradient = arena_array(policy->arena, bool, graph->n_tensors);
    for (int t = 0; t < graph->n_tensors; t++)
        policy->gradient[t] =
            tensor_is_parameter(inferred, t) && dtype_is_float((Dtype)inferred->dtype[t]);
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        bool any = false;
        for (int k = 0; k < graph->ops[op].n_inputs; k++)
            any |= op_inputs(graph, op)[k] >= 0 && policy->gradient[op_inputs(graph, op)[k]];
        for (int k = 0; k < graph->ops[op].n_outputs; k++) {
            int32_t t = op_outputs(graph, op)[k];
            if (t >= 0)
                policy->gradient[t] = any && dtype_is_float((Dtype)inferred->dtype[t]);
        }
    }
}

bool tensor_needs_gradient(Policy *policy, int32_t tensor)
{
    if (!policy->gradient)
        find_gradients(policy);
    return policy->gradient[tensor];
}

/* ---- nodes ---- */

static const OpSpace *space_of(lua_State *L)
{
    return inferred_space(policy_of(L)->session->inferred, node_check_op(L));
}

static int node_attrs(lua_State *L)
{
    attrs_push(L, policy_of(L)->session->graph, node_check_op(L));
    return 1;
}

static int node_anno(lua_State *L)
{
    const OpSpace *space = space_of(L);
    if (!space || space->no_rule)
        return 0;
    Buf text = buf_new(policy_of(L)->arena);
    opspace_format(space, &text);
    lua_pushlstring(L, text.s, text.n);
    return 1;
}

static double flops_of(const OpSpace *space)
{
    return space ? space->flops : 0;
}

NODE_FIELD(index, lua_pushinteger, policy_program_place(policy, op))
NODE_FIELD(cid, lua_pushinteger, op)
NODE_FIELD(n_inputs, lua_pushinteger, graph->ops[op].n_inputs)
NODE_FIELD(n_outputs, lua_pushinteger, graph->ops[op].n_outputs)
NODE_FIELD(flops, lua_pushnumber, flops_of(inferred_space(inferred, op)))
NODE_FIELD(fqn, lua_pushstring, op_path(graph, op))
NODE_FIELD(signature, lua_pushstring, op_operator(graph, op))

/* "a.b.c": {"a", "a.b", "a.b.c"}. */
static int node_modules(lua_State *L)
{
    const char *path = op_path(policy_of(L)->session->graph, node_check_op(L));
    lua_Integer n = 0;
    lua_newtable(L);
    for (const char *at = path; *path && at; at = *at ? at + 1 : NULL) {
        at += strcspn(at, ".");
        lua_pushlstring(L, path, (size_t)(at - path));
        lua_rawseti(L, -2, ++n);
    }
    return 1;
}

/* The only part of a path that is a number; -1 if there is none, -2 if there are several. */
static int64_t layer_of(const char *path)
{
    int64_t layer = -1;
    for (Str rest = str_from(path); rest.n > 0;) {
        Str part = str_take(&rest, '.');
        int64_t number;
        if (part.n == 0 || !isdigit((unsigned char)part.s[0]) || !str_to_int(part, &number))
            continue;
        if (layer != -1)
            return -2;
        layer = number;
    }
    return layer;
}

static int node_layer(lua_State *L)
{
    int64_t layer = layer_of(op_path(policy_of(L)->session->graph, node_check_op(L)));
    if (layer < 0)
        return 0;
    lua_pushinteger(L, layer);
    return 1;
}

static int node_dims(lua_State *L)
{
    const OpSpace *space = space_of(L);
    lua_newtable(L);
    for (int i = 0; space && i < space->n_index; i++) {
        lua_createtable(L, 0, 3);
        set_string(L, "name", space->index[i].name);
        set_integer(L, "size", space->index[i].size);
        set_string(L, "role", role_name(space->index[i].role));
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static int node_recompute(lua_State *L)
{
    const Policy *policy = policy_of(L);
    int32_t op = node_check_op(L);
    if (!policy->placing || !policy->placing->recompute || policy->placing->recompute[op] < 0)
        return 0;
    lua_pushinteger(L, policy->placing->recompute[op]);
    return 1;
}

static int node_transform_space(lua_State *L)
{
    const OpSpace *space = space_of(L);
    Splittable at[X_MAX];
    int n = space && !space->no_rule ? splittable_dims(space, at) : 0;
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        lua_createtable(L, 2, 2);
        set_integer(L, "idx", at[i].idx);
        set_integer(L, "dim", at[i].dim);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static int node_algorithms(lua_State *L)
{
    const OpSpace *space = space_of(L);
    lua_settop(L, 1);
    lua_newtable(L);
    if (!space || space->no_rule)
        return 1;
    lua_getfield(L, 1, "algorithm");
    lua_pushvalue(L, 1);
    lua_pushliteral(L, "dim");
    lua_call(L, 2, 1);
    lua_rawseti(L, 2, 1);
    return 1;
}

/* ---- tensors ---- */

static int tensor_ndims(lua_State *L)
{
    const Shape *shape = inferred_sizes(policy_of(L)->session->inferred, tensor_check(L));
    if (!shape)
        return 0;
    lua_pushinteger(L, shape->n_dims);
    return 1;
}

static bool is_buffer(const Inferred *inferred, int32_t tensor)
{
    return inferred->graph->tensors[tensor].kind == TENSOR_INITIALIZER &&
           !(tensor_is_parameter(inferred, tensor) &&
             dtype_is_float((Dtype)inferred->dtype[tensor]));
}

TENSOR_FIELD(is_buffer, lua_pushboolean, is_buffer(inferred, tensor))
TENSOR_FIELD(is_attr, lua_pushboolean,
             is_buffer(inferred, tensor) || tensor_is_weight(inferred, tensor))
TENSOR_FIELD(requires_grad, lua_pushboolean, tensor_needs_gradient(policy, tensor))
TENSOR_FIELD(is_output, lua_pushboolean, graph->tensors[tensor].output)
TENSOR_FIELD(is_input, lua_pushboolean, graph->tensors[tensor].kind == TENSOR_INPUT)
TENSOR_FIELD(bytes, lua_pushinteger, inferred_bytes(inferred, tensor))

/* The parameter from which ops on parameters compute the tensor, else the tensor itself. */
static int tensor_parent(lua_State *L)
{
    const Session *session = policy_of(L)->session;
    const Inferred *inferred = session->inferred;
    int32_t tensor = tensor_check(L), maker = session->graph->tensors[tensor].maker;
    while (maker >= 0 && inferred->on_parameters[maker] &&
           session->graph->ops[maker].n_inputs > 0 && op_inputs(session->graph, maker)[0] >= 0) {
        tensor = op_inputs(session->graph, maker)[0];
        maker = session->graph->tensors[tensor].maker;
    }
    push_own_tensor(L, tensor);
    return 1;
}

/* ---- devices ---- */

static int resource_coordinates(lua_State *L)
{
    const Mesh *mesh = policy_of(L)->session->mesh;
    lua_Integer device = luaL_checkinteger(L, 2);
    int64_t position = 0;
    Error err = {0};
    if (!place_need_position(mesh, device, &position, &err))
        return sandbox_raise(L, &err);
    lua_createtable(L, 0, mesh->n_axes);
    for (int axis = 0; axis < mesh->n_axes; axis++) {
        set_integer(L, mesh->axes[axis].name, mesh_coord(mesh, axis, position));
    }
    return 1;
}

static int resource_devices(lua_State *L)
{
    const Mesh *mesh = policy_of(L)->session->mesh;
    SubMesh sub = {0};
    Error err = {0};
    lua_settop(L, 2);
    if (!lua_isnil(L, 2)) {
        luaL_checktype(L, 2, LUA_TTABLE);
        if (!place_read_coordinates(L, 2, mesh, &sub, &err))
            return sandbox_raise(L, &err);
    }
    return push_devices(L, mesh, sub);
}

/* ---- nnScaler's helpers ---- */

static int get_layer_index(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    int64_t layer = layer_of(path);
    if (layer < 0) {
        return sandbox_refuse(
            L, ERROR_INVALID, "a layer's path has one part that is a number: \"h.3.mlp\"",
            layer == -1 ? "'%s' has no number" : "'%s' has several numbers", path);
    }
    lua_pushinteger(L, layer);
    return 1;
}

static int get_pas_ops(lua_State *L)
{
    const Policy *policy = graph_check(L);
    return push_nodes(L, policy, (Segment){0, policy->session->inferred->n_program - 1});
}

const LuaEntry policy_globals[] = {
    {"get_layer_index", get_layer_index, "(path: string): integer",
     "The number in a path: 3 for \"h.3.mlp\". Refused: a path without a number, or with several."},
    {"get_pas_ops", get_pas_ops, "(graph: graph): node[]",
     "The nodes for which POLICY makes plans: all of them."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry more_node_fields[] = {
    {"fqn", node_fqn, "string", "nnScaler's name for path."},
    {"signature", node_signature, "string",
     "The operator with its domain: \"MatMul\", \"com.microsoft::FusedMatMul\"."},
    {"kwargs", node_attrs, "attrs", "nnScaler's name for attrs."},
    {"attrs", node_attrs, "attrs", "The attributes by name."},
    {"anno", node_anno, "string?",
     "The rule as an annotation: \"m k+, k+ n -> m n\"; nil if the op has no rule."},
    {"dims", node_dims, "{name: string, size: integer, role: string}[]",
     "The index dims, with their sizes in elements; the role is map, reduce or frozen."},
    {"index", node_index, "integer", "The position in the program, from 0."},
    {"cid", node_cid, "integer", "A number that is unique among the nodes of the model."},
    {"modules", node_modules, "string[]",
     "The modules that contain the node, outermost first: \"h\", \"h.3\", \"h.3.mlp\"."},
    {"layer", node_layer, "integer?",
     "The number in its path; nil if there is none or there are several."},
    {"n_inputs", node_n_inputs, "integer", "The number of inputs, absent ones included."},
    {"n_outputs", node_n_outputs, "integer", "The number of outputs, absent ones included."},
    {"flops", node_flops, "number",
     "Floating point operations of the whole op, before sharding; 0 if unknown."},
    {"device", node_device, "integer?",
     "The device that the node or sub-node was assigned to; nil if there is none or there are "
     "several."},
    {"devices", node_devices, "integer[]",
     "The devices that the op was assigned to, else those of the current plan, else all."},
    {"recompute", node_recompute, "integer?",
     "The number of its recompute group in this run; nil if it has none."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry more_node_methods[] = {
    {"transform_space", node_transform_space, "(): {idx: integer, dim: integer}[]",
     "The dims along which the node can be partitioned: each index dim that is not frozen, at its "
     "first position among the inputs, whether or not the number of parts divides its size. As in "
     "nnScaler it leaves out inner parts of a tensor dim, such as n of (b n), which "
     "graph:partition accepts too."},
    {"algorithms", node_algorithms, "(): algorithm[]",
     "The partition algorithms of the node: \"dim\", or none if it has no rule."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry more_tensor_fields[] = {
    {"ndims", tensor_ndims, "integer?", "The number of dims; nil if unknown."},
    {"is_attr", tensor_is_attr, "boolean", "True for parameters and buffers."},
    {"is_buffer", tensor_is_buffer, "boolean",
     "True for stored values that are not parameters: constants, masks, integer tables."},
    {"is_input", tensor_is_input, "boolean", "True for an input of the graph."},
    {"is_output", tensor_is_output, "boolean", "True for an output of the graph."},
    {"requires_grad", tensor_requires_grad, "boolean",
     "True for a float parameter, and for float values computed from one."},
    {"parent", tensor_parent, "tensor",
     "The parameter from which ops on parameters compute it; else the tensor itself, which is "
     "always the whole tensor."},
    {"bytes", tensor_bytes, "integer", "The size of the whole tensor in bytes; 0 if unknown."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry resource_methods[] = {
    {"coordinates", resource_coordinates, "(device: integer): table<string, integer>",
     "The position of the device in the mesh, from 0 along each axis: {dp = 0, tp = 3}."},
    {"devices", resource_devices, "(coordinates?: table<string, integer>): integer[]",
     "The devices with these coordinates, in mesh order: resource:devices{pp = 0}; without "
     "coordinates all devices."},
    {NULL, NULL, NULL, NULL},
};
