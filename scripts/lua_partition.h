/* lua_partition.h - how ops are partitioned in one run of a policy.
 *
 * Each partition of a node is a level; a partition of its sub-nodes is the next level. All
 * sub-nodes of an op are partitioned alike, so levels belong to the op. A level given by a number
 * of parts gets its axes from the devices of its sub-nodes (lua_place.h), or else the axes of that
 * size.
 */
#ifndef SCRIPTS_LUA_PARTITION_H
#define SCRIPTS_LUA_PARTITION_H

#include "scripts/lua_objects.h"

enum { REPLICATED = -1 };

typedef struct {
    int index;   /* dim of the op's space, or REPLICATED */
    bool by_num; /* a number of parts was given, no axes */
    bool rest;   /* the number is that of all devices that are left */
    bool open;   /* no axes, or several, have that size: devices must tell */
    int line;    /* of the script */
    int n;
    uint8_t atom[ATOMS_MAX]; /* major first; none while open */
    int64_t num;             /* parts: the product of their sizes */
} PartLevel;

struct OpParts {
    int n;
    PartLevel level[PART_LEVELS_MAX];
};

/* Dim `dim` of operand `idx` in `num` parts by the axes that have that size. */
bool partition_node(lua_State *L, Policy *policy, const NodeRef *node, int64_t idx, int64_t dim,
                    int64_t num, Error *err);
/* The same, and nothing is done: why it cannot be. */
bool partition_allowed(const Policy *policy, const NodeRef *node, int64_t idx, int64_t dim,
                       int64_t num, Error *err);
bool replicate_node(lua_State *L, Policy *policy, const NodeRef *node, int64_t num, Error *err);

/* A level is open: the op is pinned once its devices are known. */
bool parts_open(const OpParts *parts);

/* Pins what the op's levels cut. None of them is open. */
void partition_pin(lua_State *L, Policy *policy, int32_t op);

/* Gives the level the axes of its size, of those that are in `left`. The error says why it has
 * none. */
bool partition_by_size(const Policy *policy, AtomSet left, PartLevel *level, Error *err);

/* Which part of a level the position is in; its atoms as a set. */
int64_t level_part_at(const Mesh *mesh, const PartLevel *level, int64_t position);
AtomSet level_atoms(const PartLevel *level);

/* Sub-nodes that the levels make; the number of one with all levels, first level major. */
int64_t parts_count(const OpParts *parts);
int64_t parts_leaf(const OpParts *parts, const NodeRef *node);

/* (idx, dim) of each index dim that can be cut, at its first place among the inputs: nnScaler's
 * transform_space(). At most X_MAX. */
typedef struct {
    int idx, dim, index;
} Splittable;
int splittable_dims(const OpSpace *space, Splittable *out);

#endif
