/* lua_policy.h - one run of a policy: its PAS(graph, resource) makes decisions.
 *
 * PAS is nnScaler's partition-and-schedule function in Lua; POLICY (lua_op_plans.c) takes its place
 * if a file has that instead. Each call that decides something adds a Decision with the line of the
 * script. They go to the journal when PAS has returned, or not at all if it failed. A decision that
 * contradicts an earlier one of the same run is an error.
 */
#ifndef SCRIPTS_LUA_POLICY_H
#define SCRIPTS_LUA_POLICY_H

#include "core/session/session.h"
#include "scripts/lua_names.h"
#include "scripts/lua_state.h"

typedef struct {
    Decision decision;
    int32_t before;      /* the decision before it on the same tensor or op, or -1 */
    bool from_partition; /* may be refined by a partition of sub-nodes */
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
    int32_t *program_place;               /* per op, -1 of host ops; made when it is asked for */
    Placing *placing;                     /* the same */
    bool *gradient;                       /* per tensor; the same */
    struct Plan *trial;                   /* of graph:propose(), or NULL */
    const Journal *before;                /* decisions that stand before those of this run */
    bool whole;                           /* a policy runs, not a typed line */
    const char *file;                     /* of origins; in the journal's arena, as the next */
    const char *text;                     /* of line text_line */
    int text_line;
} Policy;

/* Calls PAS of the file that ran in the sandbox. ERROR_SCRIPT: it fails, is missing, or does not
 * return the graph. Notes go to session->notes. */
bool policy_run(Sandbox *sandbox, Session *session, Journal *journal, Error *err);

/* Calls body with the context while the graph is there: decisions go onto the journal when it has
 * returned. The budget is not refilled. */
bool policy_protect(Sandbox *sandbox, Session *session, lua_CFunction body, void *context,
                    Journal *journal, Error *err);

/* Calls SIZES(resource) of the file that ran in the sandbox, before the model is opened:
 * {batch = 8}, sizes of free dims. Nothing if it has no such function. Names are copied to the
 * arena. ERROR_SCRIPT: it fails, or returns no table of sizes. */
bool policy_sizes(Sandbox *sandbox, const Mesh *mesh, Arena *arena, DimBindings *out, Error *err);

/* ---- inside PAS ---- */

/* Pushes what PAS gets as its second argument: .ngpus, .mesh. */
void push_resource(lua_State *L, const Mesh *mesh);

/* Raises a Lua error when no PAS is running: a script may have kept the graph. */
Policy *policy_of(lua_State *L);

/* Adds a decision made by the line that is being executed. Raises ERROR_CONFLICT when it
 * contradicts an earlier one: another cut of the same dim, the same axis on two dims of a tensor or
 * op, other axes, group or direction of a tensor as a whole, a cut by axes that may not cut it. An
 * equal decision is not added again. */
void policy_decide(lua_State *L, Policy *policy, const Decision *decision);

/* Takes what was decided of a tensor as a whole away, if anything was. */
void policy_unmark(lua_State *L, Policy *policy, int32_t tensor);

/* The same for an index dim whose cut by a partition is cut further by one of its sub-nodes. */
void policy_decide_part(lua_State *L, Policy *policy, const Decision *decision);

/* Adds a decision about ops in a row, or the schedule, without comparing it. */
void policy_add(lua_State *L, Policy *policy, const Decision *decision);

/* Index dims that partitions cut are cut by nothing again, until they are decided anew. */
void policy_forget_parts(Policy *policy, int32_t op);

/* Calls visit with the stack index of the value at `at`, or of each element of the list there. */
typedef void ValueFn(lua_State *L, Policy *policy, int at, void *context);
void policy_each_value(lua_State *L, Policy *policy, int at, ValueFn *visit, void *context);

/* Whether policy_forget_parts() removed it, and an unpin stands between it and later ones. */
bool pending_is_forgotten(const Pending *pending);

void policy_end_trial(Policy *policy); /* lua_query.c */
/* What has been decided before this run and in it, in the arena of the run; lua_query.c. */
Journal policy_decided_so_far(const Policy *policy);

/* Its position in inferred->program; -1 for a host op. */
int policy_program_place(Policy *policy, int32_t op);

/* A finding about the line that is being executed; texts are copied. Past NOTES_MAX of a session
 * they are dropped: a loop makes many. */
enum { NOTES_MAX = 1000 };
void policy_note(lua_State *L, Policy *policy, Level level, const char *code, const char *text,
                 const char *hint);

#endif
