/* lua_names.h - the tensors that a policy can name by a pattern, and where index dims shard them.
 *
 * A tensor has its own name and names such as PATH.weight, .bias, .in, .out (core/plan/naming.h).
 * Constants known before the run are left out, because they are never sharded.
 */
#ifndef SCRIPTS_LUA_NAMES_H
#define SCRIPTS_LUA_NAMES_H

#include "core/plan/naming.h"

typedef struct {
    const char *name; /* as the policy writes it */
    int32_t tensor;
    int32_t op; /* the op that reads it under that name (for .out: makes it); -1 for its own name */
} NamedTensor;

/* All names: PATH.part first, in program order of the paths, then own names in the graph's order.
 * They are generated while iterating: a graph of a million ops has millions of names. */
typedef struct {
    const Inferred *inferred;
    const Naming *naming;
    int path, part; /* the next to be tried */
    int32_t next;   /* and then */
    int32_t tensor; /* of the name that was found */
    Str name;       /* its name, valid until the next call */
    Str derived;    /* "~grad": names what a training step makes from PATH.part; "": PATH.part
                       itself */
    Buf text;
} NameWalk;

NameWalk names_walk(Arena *arena, const Inferred *inferred, const Naming *naming);
/* The next name with this ending; returns false if there is none. */
bool names_next(NameWalk *walk, Str tail);
/* The tensor at which the iteration is. `kept` holds its text. Returns false if this is the own
 * name of a tensor that the iteration gives again later. */
bool names_take(const NameWalk *walk, Names *kept, NamedTensor *out);
int names_count_all(const Inferred *inferred, const Naming *naming); /* at most */

/* The name nearest to a pattern's text after its last '*'; NULL when none has a quarter of
 * it. Costs NEAREST_INSTRUCTIONS of a script's budget. */
enum { NEAREST_LOOK_AT = 20000, NEAREST_INSTRUCTIONS = 20000 };
const char *names_nearest(Arena *arena, const Inferred *inferred, const Naming *naming,
                          Str pattern);

/* One tensor by its exact name. Returns false with the nearest name as a hint. */
bool tensor_by_name(Arena *arena, const Inferred *inferred, const Naming *naming, Str name,
                    NamedTensor *out, Error *err);

/* Whether patterns may match it: not constants, which every rank holds whole. */
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

/* Searches the op of that name, else the maker and the readers, through ops on parameters alone;
 * for a bias that a separate op adds, the op that makes the other operand. ERROR_OUT_OF_RANGE lists
 * the index dims of these ops. */
bool tensor_find_index(Arena *arena, const Inferred *inferred, const NamedTensor *named, Str index,
                       IndexPlace *out, Error *err);

#endif
