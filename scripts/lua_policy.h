/* lua_policy.h - one run of a policy: its PAS(graph, resource) makes decisions.
 *
 * PAS is nnScaler's partition-and-schedule function in Lua; a file may have POLICY instead
 * (lua_op_plans.c). Each call that decides something adds a Decision with the line of the script.
 * They are added to the journal after PAS has returned, or not at all if it failed. A decision that
 * contradicts an earlier one of the same run is an error.
 */
#ifndef SCRIPTS_LUA_POLICY_H
#define SCRIPTS_LUA_POLICY_H

#include "core/session/session.h"
#include "scripts/lua_names.h"
#include "scripts/sandbox/lua_state.h"

typedef struct {
    Decision decision;
    int32_t before;      /* the decision before it on the same tensor or op, or -1 */
    bool from_partition; /* a partition of sub-nodes may refine it */
} Pending;

typedef struct OpParts OpParts; /* lua_partition.h: how an op is partitioned */
typedef struct Placing Placing; /* lua_place.h: where ops run, and in which stages */

typedef struct {
    Sandbox *sandbox;
    Session *session;
    Arena *arena; /* of the run */
    Vec(Pending) pending;
    Intern *cuts;                         /* of those */
    int32_t *last_of_tensor, *last_of_op; /* places in pending, or -1 */
    OpParts **parts;                      /* per op, or NULL */
    int32_t *program_place;               /* per op, -1 for host ops; made on first use */
    Placing *placing;                     /* the same */
    bool *gradient;                       /* per tensor; likewise */
    struct Plan *trial;                   /* of graph:propose(), or NULL */
    const Journal *before;                /* earlier decisions than those of this run */
    bool whole;                           /* a policy is running, not a typed line */
    const char *file;                     /* of origins; in the journal's arena, as the next */
    const char *text;                     /* of line text_line */
    int text_line;
} Policy;

/* Calls PAS of the file that was run in the sandbox. ERROR_SCRIPT: it fails, is missing, or does
 * not return the graph. Notes go to session->notes. */
bool policy_run(Sandbox *sandbox, Session *session, Journal *journal, Error *err);

/* Calls body with the context while the graph is accessible; its decisions are added to the journal
 * after it has returned. The budget is not refilled. */
bool policy_protect(Sandbox *sandbox, Session *session, lua_CFunction body, void *context,
                    Journal *journal, Error *err);

/* Calls SIZES(resource) of the file that was run in the sandbox, before the model is opened: {batch
 * = 8}, sizes of free dims. Nothing if it has no such function. Names are copied to the arena.
 * ERROR_SCRIPT: it fails, or returns no table of sizes. */
bool policy_sizes(Sandbox *sandbox, const Mesh *mesh, Arena *arena, DimBindings *out, Error *err);

/* ---- inside PAS ---- */

/* Pushes the second argument of PAS: .ngpus, .mesh. */
void push_resource(lua_State *L, const Mesh *mesh);

/* The running policy; raises a Lua error if no PAS is running, since a script may have kept the
 * graph. */
Policy *policy_of(lua_State *L);

/* Adds a decision made by the current line. Raises ERROR_CONFLICT when it contradicts an earlier
 * one: another cut of the same dim, the same axis on two dims of a tensor or op, other axes, group
 * or direction of a tensor as a whole, a cut by axes that may not cut it. An equal decision is not
 * added again. */
void policy_decide(lua_State *L, Policy *policy, const Decision *decision);

/* Removes the decisions about a tensor as a whole, if there are any. */
void policy_unmark(lua_State *L, Policy *policy, int32_t tensor);

/* The same for an index dim whose cut by a partition is cut further by a partition of its
 * sub-nodes. */
void policy_decide_part(lua_State *L, Policy *policy, const Decision *decision);

/* Adds a decision about a range of ops, or the schedule, without comparing it with earlier ones. */
void policy_add(lua_State *L, Policy *policy, const Decision *decision);

/* Removes the cuts that partitions have made of index dims, so that they can be decided again. */
void policy_forget_parts(Policy *policy, int32_t op);

/* Calls visit with the stack index of the value at `at`, or of each element of the list there. */
typedef void ValueFn(lua_State *L, Policy *policy, int at, void *context);
void policy_each_value(lua_State *L, Policy *policy, int at, ValueFn *visit, void *context);

/* Whether policy_forget_parts() removed it, so that an unpin separates it from later ones. */
bool pending_is_forgotten(const Pending *pending);

void policy_end_trial(Policy *policy); /* lua_query.c */
/* All decisions before this run and in it, in the arena of the run; lua_query.c. */
Journal policy_decided_so_far(const Policy *policy);

/* Its position in inferred->program; -1 for a host op. */
int policy_program_place(Policy *policy, int32_t op);

/* Adds a finding about the current line; texts are copied. Beyond NOTES_MAX in a session they are
 * dropped, since a loop may make many. */
enum { NOTES_MAX = 1000 };
void policy_note(lua_State *L, Policy *policy, Level level, const char *code, const char *text,
                 const char *hint);

#endif
