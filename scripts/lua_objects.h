/* lua_objects.h - what a policy holds: the graph, its nodes, its tensors, as Lua values.
 *
 *     graph   nodes() select where inputs() outputs() params() tensors(pattern) shard pin unpin
 *             replicated unreduced tie barrier unmark partition replicate assign op reshards
 *             staging blocking group segments() recompute schedule multiref ..
 *     node    .name (the operator's, as in nnScaler) .path .op (the op's own name) .out .us
 *             inputs() outputs() input(i) output(i) algorithm('dim')
 *     tensor  .name .label .shape .dtype .is_param .dim_names .sharding consumers() producer()
 *     algorithm  satisfy{idx=, dim=, num= | axis=}
 *
 * All are small values without memory of their own; equal ones compare equal, and are the same key
 * of a table while they have the same name. A name that a type does not have is an error that says
 * the nearest.
 */
#ifndef SCRIPTS_LUA_OBJECTS_H
#define SCRIPTS_LUA_OBJECTS_H

#include "scripts/lua_api.h"
#include "scripts/lua_policy.h"

/* An op, or one part of it: part[level] is which of the sub-nodes that partition gave. As a Lua
 * value it has the parts of its levels only, so that it is read through pointers. */
enum { PART_LEVELS_MAX = 8 };

typedef struct {
    int32_t op;
    int n_levels;
    int64_t part[PART_LEVELS_MAX];
} NodeRef;

extern const char *const graph_type, *const tensor_type, *const algorithm_type;

/* The policy that runs, of a call whose first argument must be the graph. */
Policy *graph_check(lua_State *L);

void objects_open(lua_State *L); /* makes the types */

/* Makes a type of what its tables have, when there is none; leaves its metatable on the stack. */
void open_type(lua_State *L, const char *type);

/* "node", "table": what the value is, for messages. Leaves something on the stack. */
const char *type_shown(lua_State *L, int at);

void push_graph(lua_State *L);
void push_node(lua_State *L, const NodeRef *node);
void push_op(lua_State *L, int32_t op); /* the whole op as a node */
void push_tensor(lua_State *L, const NamedTensor *named);
void push_own_tensor(lua_State *L, int32_t tensor); /* by its label */

/* The node at that place of the stack. A whole op is a number in disguise (light userdata), so that
 * a walk over a million makes nothing: luaL_checkudata() does not know it. */
bool node_read(lua_State *L, int at, NodeRef *out); /* false: it is something else */
NodeRef node_check(lua_State *L, int at);           /* raises */
/* Raises for a sub-node that this run has not made: typed lines keep what earlier ones left. Both
 * above do. */
void node_check_parts(lua_State *L, const NodeRef *node);

/* What can be called of them (lua_api.h). */
extern const LuaEntry graph_methods[];                                        /* lua_graph.c */
extern const LuaEntry select_fields[], select_methods[], partition_methods[]; /* of it too */
extern const LuaEntry segment_graph_methods[];
extern const LuaEntry filter_fields[], schedule_block_fields[];
extern const LuaEntry op_plan_fields[], pas_config_fields[];   /* lua_op_plans.c */
extern const LuaEntry more_node_fields[], more_node_methods[]; /* lua_node.c */
extern const LuaEntry more_tensor_fields[], resource_methods[], policy_globals[];
extern const LuaEntry node_fields[], node_methods[], tensor_fields[], tensor_methods[],
    algorithm_methods[];
int algorithm_satisfy(lua_State *L); /* lua_partition.c */

int node_name(lua_State *L);
int node_path(lua_State *L);
int tensor_consumers(lua_State *L);

/* A float parameter has a gradient, and float values computed from what has one. */
bool tensor_needs_gradient(Policy *policy, int32_t tensor);

/* ---- lua_query.c: of the plan that stands ---- */
int graph_op(lua_State *L);
int graph_reshards(lua_State *L);
int node_us(lua_State *L);
int tensor_sharding(lua_State *L);

#endif
