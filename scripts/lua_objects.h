/* lua_objects.h - the graph, its nodes and its tensors as Lua values.
 *
 * `dimscope help lua` lists their fields and methods. All are small values that own no memory.
 * Equal ones compare equal, and are the same table key if they have the same name. Reading an
 * unknown field is an error with the nearest name.
 */
#ifndef SCRIPTS_LUA_OBJECTS_H
#define SCRIPTS_LUA_OBJECTS_H

#include "scripts/lua_api.h"
#include "scripts/lua_policy.h"

/* An op, or one of its sub-nodes: part[level] is the number of the sub-node at that level of
 * partition. */
enum { PART_LEVELS_MAX = 8 };

typedef struct {
    int32_t op;
    int n_levels;
    int64_t part[PART_LEVELS_MAX];
} NodeRef;

extern const char *const graph_type, *const tensor_type, *const algorithm_type;

/* Returns the running policy; raises unless the first argument is the graph. */
Policy *graph_check(lua_State *L);

void objects_open(lua_State *L); /* creates the types */

/* Creates the type from its tables unless it exists; pushes its metatable. */
void open_type(lua_State *L, const char *type);

/* The name of the value's type for messages, "node" or "table". May leave a value on the stack. */
const char *type_shown(lua_State *L, int at);

void push_graph(lua_State *L);
void push_node(lua_State *L, const NodeRef *node);
void push_op(lua_State *L, int32_t op); /* the whole op as a node */
void push_tensor(lua_State *L, const NamedTensor *named);
void push_own_tensor(lua_State *L, int32_t tensor); /* by its label */

/* The node at that stack index. A whole op is light userdata, so that a loop over a million nodes
 * allocates nothing; luaL_checkudata() does not recognise it. All three raise an error for a
 * sub-node of an earlier run, which lines of the console may still hold. */
bool node_read(lua_State *L, int at, NodeRef *out); /* false if it is no node */
NodeRef node_check(lua_State *L, int at);           /* raises if it is no node */
int32_t node_check_op(lua_State *L);                /* the op of the node at 1 */
void node_check_parts(lua_State *L, const NodeRef *node);

/* Defines the lua_CFunction that reads a field of a node or tensor. `value`, pushed by `push`, may
 * use the running policy, its session, inferred and graph, and the id `op` or `tensor`. */
#define FIELD_FUNCTION(function, id, check, push, value)                                           \
    static int function(lua_State *L)                                                              \
    {                                                                                              \
        Policy *policy = policy_of(L);                                                             \
        const Inferred *inferred = policy->session->inferred;                                      \
        const Graph *graph = policy->session->graph;                                               \
        int32_t id = check(L);                                                                     \
        (void)inferred, (void)graph;                                                               \
        push(L, value);                                                                            \
        return 1;                                                                                  \
    }
#define NODE_FIELD(name, push, value) FIELD_FUNCTION(node_##name, op, node_check_op, push, value)
#define TENSOR_FIELD(name, push, value)                                                            \
    FIELD_FUNCTION(tensor_##name, tensor, tensor_check, push, value)

int32_t tensor_check(lua_State *L); /* the id of the tensor at 1; raises if it is no tensor */

/* Their fields and methods (lua_api.h). */
extern const LuaEntry graph_methods[];                          /* lua_graph.c */
extern const LuaEntry assume_methods[];                         /* lua_assume.c */
extern const LuaEntry store_methods[];                          /* lua_store.c */
extern const LuaEntry search_methods[], search_answer_fields[]; /* lua_search.c */
extern const LuaEntry select_fields[], select_methods[], partition_methods[];
extern const LuaEntry role_methods[], role_fields[]; /* lua_roles.c */
extern const LuaEntry plan_totals_fields[];          /* lua_query.c */
extern const LuaEntry segment_graph_methods[];
extern const LuaEntry filter_fields[], schedule_block_fields[];
extern const LuaEntry op_plan_fields[], pas_config_fields[];   /* lua_op_plans.c */
extern const LuaEntry more_node_fields[], more_node_methods[]; /* lua_node.c */
extern const LuaEntry more_tensor_fields[], resource_methods[], policy_globals[];
extern const LuaEntry node_fields[], node_methods[], tensor_fields[], tensor_methods[],
    algorithm_methods[];
int algorithm_satisfy(lua_State *L); /* lua_partition.c */

int tensor_consumers(lua_State *L);

/* True for float parameters, and for float values computed from them. */
bool tensor_needs_gradient(Policy *policy, int32_t tensor);

/* ---- lua_query.c: reads the current plan ---- */
int graph_op(lua_State *L);
int graph_propose(lua_State *L);
int graph_reshards(lua_State *L);
int node_us(lua_State *L);
int tensor_sharding(lua_State *L);

#endif
