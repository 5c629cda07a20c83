/* lua_names.h - the tensors that a policy can name by a pattern, and where index dims shard them.
 *
 * A tensor has its own name and names such as PATH.weight, .bias, .in, .out (core/plan/naming.h).
 * Constants known before the run are left out, because they are never sharded.
 */
#ifndef SCRIPTS_LUA_NAMES_H
#define SCRIPTS_LUA_NAMES_H

#include "core/plan/naming.h"

typedef struct {
    const char *name; /* as the policy says it */
    int32_t tensor;
    int32_t op; /* that reads it (makes it, for .out) by that name; -1 for its own name */
} NamedTensor;

/* All names: PATH.part first, in program order of the paths, then own names in the graph's order.
 * They are made while they are walked through: a million ops have millions. */
typedef struct {
    const Inferred *inferred;
    const Naming *naming;
    int path, part; /* the next to be looked at */
    int32_t next;   /* and then */
    int32_t tensor; /* of the name that was found */
    Str name;       /* of it, until the next is looked for */
    Str derived; /* "~grad": names what a training step makes of PATH.part; "": PATH.part itself */
    Buf text;
} NameWalk;

NameWalk names_walk(Arena *arena, const Inferred *inferred, const Naming *naming);
/* The next name with this ending; returns false if there is none. */
bool names_next(NameWalk *walk, Str tail);
/* What the walk stands at. `kept` holds its text. False when it is the own name of a tensor: that
 * comes later. */
bool names_take(const NameWalk *walk, Names *kept, NamedTensor *out);
int names_count_all(const Inferred *inferred, const Naming *naming); /* at most */

/* The name nearest to a pattern's text after its last '*'; NULL when there are no names. Costs
 * NEAREST_INSTRUCTIONS of a script's budget. */
enum { NEAREST_LOOK_AT = 20000, NEAREST_INSTRUCTIONS = 20000 };
const char *names_nearest(Arena *arena, const Inferred *inferred, const Naming *naming,
                          Str pattern);

/* One tensor by its exact name. False with the nearest name as a hint. */
bool tensor_by_name(Arena *arena, const Inferred *inferred, const Naming *naming, Str name,
                    NamedTensor *out, Error *err);

/* Whether patterns of names mean it: not constants, which every rank has whole. */
bool tensor_can_be_sharded(const Inferred *inferred, int32_t tensor);

/* A parameter, or a value computed from parameters only, such as a transposed one. */
bool tensor_is_weight(const Inferred *inferred, int32_t tensor);

/* The place of an index dim: dim `dim` of `tensor` is the mixed radix `factors`, of which number
 * `factor` is that index dim of `op`. tensor may be a view of the parameter that was asked for. */
typedef struct {
    int32_t tensor, op;
    int dim, factor;
    DimFactors factors;
} IndexPlace;

/* Looks at the op of that name, else at the maker and the readers, through ops on parameters alone;
 * for a bias that an op of its own adds, at the op that makes what it is added to.
 * ERROR_OUT_OF_RANGE lists the index dims that these ops have. */
bool tensor_find_index(Arena *arena, const Inferred *inferred, const NamedTensor *named, Str index,
                       IndexPlace *out, Error *err);

#endif
