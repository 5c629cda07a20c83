/* lua_targets.h - the tensors and ops that an argument of a graph's method names. */
#ifndef SCRIPTS_LUA_TARGETS_H
#define SCRIPTS_LUA_TARGETS_H

#include "scripts/lua_names.h"
#include "scripts/lua_policy.h"

/* What a name stands for: a tensor, or a node if `named` is NULL. */
typedef struct {
    const NamedTensor *named;
    int32_t op;
} Target;

typedef void TargetVisit(lua_State *L, Policy *policy, const Target *target, void *context);

/* Reads the tensor or node at that stack index; false if it is neither. */
bool target_read(lua_State *L, int at, Target *out);

/* The string at that stack index: a name, or a pattern of names. */
Str target_pattern(lua_State *L, int at);

/* Visits each tensor that matches, once for each of its names that do; returns their number. */
int targets_match(lua_State *L, Policy *policy, Str pattern, TargetVisit *visit, void *context);

/* Visits the tensor or op with exactly the name at stack index `at`, or else all that match it; a
 * pattern without a match is a warning. The policy sees the model: a name with "~" belongs to the
 * training step, which the session shows during these visits. */
void targets_named(lua_State *L, Policy *policy, int at, bool exact, TargetVisit *visit,
                   void *context);

#endif
