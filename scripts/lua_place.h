/* lua_place.h - the devices on which the ops of a policy run, and their stages.
 *
 * Devices of sub-nodes are collected while the policy runs and checked after it has returned: those
 * of one op must form a part of the mesh (SubMesh), with its sub-nodes in mesh order. They also
 * determine the axes of a partition that was given by a number of parts.
 */
#ifndef SCRIPTS_LUA_PLACE_H
#define SCRIPTS_LUA_PLACE_H

#include "scripts/lua_partition.h"

/* Where an op runs. */
typedef struct {
    int line;          /* line of the script */
    bool by_parts;     /* its sub-nodes were assigned; else the op as a whole */
    SubMesh sub;       /* of by_parts: known after the policy has returned */
    int64_t n;         /* sub-nodes */
    int32_t *position; /* position of each; -1 if not given */
} OpPlace;

typedef enum { BEGINS_NOT, BEGINS_BLOCKING, BEGINS_STAGING } Begin;

struct Placing {
    OpPlace **op;       /* per op; NULL if not placed */
    bool any;           /* something is */
    uint8_t *begin;     /* per position in the program: whether a stage begins there */
    bool staged;        /* a stage begins there, besides the first */
    int32_t *recompute; /* per op: its group; -1: none. NULL: there are none */
    int n_groups;
    int32_t *seen; /* per position: the last search for repeated devices that found it */
    int32_t n_seen;
    const char *schedule; /* NULL if not given */
    int n_micro_batches, schedule_line;
};

Placing *placing_of(Policy *policy); /* made on first use, from the earlier decisions */

bool place_has_parts(const Policy *policy, int32_t op); /* sub-nodes of it are assigned */
void place_op(Policy *policy, int32_t op, SubMesh sub, int line);

/* The part of the mesh with these positions; the error lists the parts of that size. */
bool place_of_positions(Policy *policy, const char *who, const int64_t *position, int64_t n,
                        SubMesh *out, Error *err);

/* The position of a device; ERROR_OUT_OF_RANGE lists the valid ones. */
bool place_need_position(const Mesh *mesh, int64_t device, int64_t *out, Error *err);
/* {pp = 0}, the table at that absolute stack index: adds the coordinates to *out. */
bool place_read_coordinates(lua_State *L, int at, const Mesh *mesh, SubMesh *out, Error *err);
int push_devices(lua_State *L, const Mesh *mesh, SubMesh sub); /* a list in mesh order; 1 */

/* "0,1,2": at most the first few. */
void place_put_devices(const Mesh *mesh, SubMesh sub, Buf *out);

/* A lua_CFunction, in lua_settle.c: decides where ops run after the policy has returned. */
int place_finish(lua_State *L);

/* Pushes the current devices of a node: numbers in mesh order; nil if none were given. */
int node_devices(lua_State *L);
int node_device(lua_State *L);

/* ---- lua_segment.c: runs of ops ---- */

typedef struct {
    int first, last; /* places in the program */
} Segment;

extern const char *const segment_type;
extern const LuaEntry segment_fields[], segment_methods[];

int push_nodes(lua_State *L, const Policy *policy, Segment segment); /* as a list; 1 */
bool segment_has(Policy *policy, Segment segment, int32_t op);       /* op < 0: no */
void segments_open(lua_State *L);
int segments_count(Policy *policy);
Segment segment_at(Policy *policy, int place); /* the one that the place is in */

/* The ops that the value at that stack index stands for: a node, a segment, or a list of these.
 * Raises for other values. */
typedef Vec(int32_t) Ops;
void check_ops(lua_State *L, Policy *policy, int at, Ops *out);

/* ---- lua_recompute.c, lua_stage.c: recompute, schedule, multiref; staging, blocking, group ----
 */

extern const LuaEntry recompute_methods[], stage_methods[], place_methods[];
extern const LuaEntry train_methods[]; /* lua_train.c */

void stage_begin(lua_State *L, Policy *policy, int place, bool relay);
void ops_sort(Ops *ops); /* in ascending order; there is at least one */
/* A group of ops that are recomputed together; some may be left out (see graph:recompute). */
bool recompute_ops(lua_State *L, Policy *policy, const int32_t *ops, int n, bool whole, Error *err);
void schedule_set(lua_State *L, Policy *policy, const char *name, int n_micro_batches,
                  Pass overlap);
void multiref_tensor(lua_State *L, Policy *policy, int32_t tensor);
/* Checks a schedule against the stages of the policy. */
bool schedule_check(lua_State *L, Policy *policy, Error *err);

/* ---- lua_op_plans.c: POLICY ---- */

/* Runs the function on top of the stack as nnScaler's functional policy. */
void op_plans_run(lua_State *L, Policy *policy);

#endif
