/* lua_partition.h - how ops are partitioned in one run of a policy.
 *
 * A partition of a node makes a level; a partition of its sub-nodes makes the next level. All
 * sub-nodes of an op are partitioned in the same way, so levels belong to the op. A level given by
 * a number of parts gets its axes from the devices of its sub-nodes (lua_place.h), or else the axes
 * of that size.
 */
#ifndef SCRIPTS_LUA_PARTITION_H
#define SCRIPTS_LUA_PARTITION_H

#include "scripts/lua_objects.h"

enum { REPLICATED = -1 };

typedef struct {
    int index;   /* dim of the op's space, or REPLICATED */
    bool by_num; /* a number of parts was given instead of axes */
    bool rest;   /* the number is that of all remaining devices */
    bool open;   /* no axes, or several, have that size: the devices decide */
    int line;    /* of the script */
    int n;
    uint8_t atom[ATOMS_MAX]; /* major first; none while open */
    int64_t num;             /* parts: the product of their sizes */
} PartLevel;

struct OpParts {
    int n;
    PartLevel level[PART_LEVELS_MAX];
};

/* Partitions dim `dim` of operand `idx` into `num` parts, by the axes of that size. */
bool partition_node(lua_State *L, Policy *policy, const NodeRef *node, int64_t idx, int64_t dim,
                    int64_t num, Error *err);
/* Returns whether that is possible, without doing it; *err has the reason. */
bool partition_allowed(const Policy *policy, const NodeRef *node, int64_t idx, int64_t dim,
                       int64_t num, Error *err);
bool replicate_node(lua_State *L, Policy *policy, const NodeRef *node, int64_t num, Error *err);

/* Whether a level is open: the op is then pinned once its devices are known. */
bool parts_open(const OpParts *parts);

/* Pins the cuts of the op's levels. No level may be open. */
void partition_pin(lua_State *L, Policy *policy, int32_t op);

/* Gives the level the axes of its size among those in `left`. The error says why it has none. */
bool partition_by_size(const Policy *policy, AtomSet left, PartLevel *level, Error *err);

/* Which part of a level the position is in; its atoms as a set. */
int64_t level_part_at(const Mesh *mesh, const PartLevel *level, int64_t position);
AtomSet level_atoms(const PartLevel *level);

/* parts_count(): the number of sub-nodes that the levels make. parts_leaf(): the number of the one
 * with all levels, the first level major. */
int64_t parts_count(const OpParts *parts);
int64_t parts_leaf(const OpParts *parts, const NodeRef *node);

/* (idx, dim) of each index dim that can be cut, at its first place among the inputs: nnScaler's
 * transform_space(). At most X_MAX. */
typedef struct {
    int idx, dim, index;
} Splittable;
int splittable_dims(const OpSpace *space, Splittable *out);

#endif
