/* session.h - what a person works on: a model, a mesh, a policy, and the plan that follows.
 *
 * The session owns three arenas: model (graph and inference), journal (decisions, mesh, machine)
 * and the plan's own. Every change has two halves: session_prepare() makes the session as it will
 * be, beside the one that is, and may run on another thread; session_commit() puts it in its place
 * and frees the old plan. When anything fails the old plan stays. Scripts are reached through hooks
 * that main() sets, since core knows no Lua.
 */
#ifndef CORE_SESSION_SESSION_H
#define CORE_SESSION_SESSION_H

#include "core/base/progress.h"
#include "core/model/group.h"
#include "core/plan/naming.h"
#include "core/plan/plan.h"
#include "core/rules/rule_book.h"
#include "core/session/script_entry.h"

typedef struct Session Session;

typedef struct {
    void *context;
    /* Reads a machine by name (in the shipped folder) or by file. */
    bool (*machine)(void *context, Arena *arena, const char *name, Machine *out, Error *err);
    /* Builds the graph of a model file that is a .lua, or an HF config.json. `dims`: sizes that
     * free dims have been given; onto `defaults` go those that the file gives them. May be NULL. */
    Graph *(*model)(void *context, Session *session, const char *path, const DimBindings *dims,
                    DimBindings *defaults, Error *err);
    /* Runs the policy file's top level (register_op ..) before inference. NULL path: the
     * operators that are shipped.
     * session NULL: nobody hears what it prints. */
    bool (*prepare)(void *context, Session *session, const char *policy, const RuleBook *rules,
                    Error *err);
    /* Runs its PAS function: appends decisions to journal. Called with session->inferred and mesh
     * set. */
    bool (*policy)(void *context, Session *session, const char *policy, Journal *journal,
                   Error *err);
    /* Runs a line of Lua beside the policy, in its state: what it decides is appended to journal,
     * what it prints and gives to answer. May be NULL. */
    bool (*console)(void *context, Session *session, const char *text, Journal *journal,
                    Buf *answer, Error *err);
    /* All that scripts can call or meet, in the order of help. May be NULL. */
    const ScriptEntry *(*rows)(void *context, Arena *arena);
    /* Names of what is shipped, with blanks between: kind is "policies" or "machines". */
    const char *(*shipped)(void *context, Arena *arena, const char *kind);
    /* Path of a file that is shipped, as "samples/models/gpt2.onnx"; NULL: it is not there. */
    const char *(*data_file)(void *context, Arena *arena, const char *name);
} SessionHooks;

typedef struct {
    const char *model;   /* path of an .onnx, .lua, config.json or plan.json */
    const char *mesh;    /* NULL: from the plan file, else "x=1" */
    const char *policy;  /* NULL: none */
    const char *machine; /* NULL: "h100x8" */
    const char *pins;    /* file of pins (session_pins.h), or NULL */
    const Propagator *propagator;
    bool no_redistribute;     /* PlanRequest */
    bool method_given;        /* a plan file's is not asked then */
    bool allow_native;        /* RuleBook */
    DimBindings dims;         /* on top of MODEL.dims */
    const GivenValues *given; /* elements that only the run tells; NULL: none. They outlive every
                                 session that is opened from these options */
    Progress *progress;       /* of opening; NULL: nobody watches */
} SessionOptions;

struct Session {
    Arena *model_arena, *journal_arena, *propagation_arena;
    SessionOptions options, given; /* in use now; as it was opened */
    const Session *carried; /* while it is opened: the user's decisions in that one are kept */
    const char *plan_file;  /* the plan file that was opened; NULL: the model itself */
    const char *mesh_file;  /* the plan file that names the mesh; NULL: somebody gave it */
    bool policy_given; /* beside a plan file: run it instead of what the file says of policies */
    SessionHooks hooks;
    FileMap model_map;
    Graph *graph;
    RuleBook rules;
    Inferred *inferred;
    Naming *naming;
    Mesh *mesh;
    const Machine *machine; /* in the journal's arena: plans refer to it */
    Journal journal;
    Plan *plan;
    Propagation *propagation; /* for this model and mesh, kept from plan to plan */
    Groups *groups;           /* folded by structure and sharding; remade with the plan */
    Arena *change_arena;      /* where a session that is not yet in its place lives; NULL */
    Progress *progress;       /* of opening, or of the change being prepared; NULL */
    Findings notes; /* of loading and of the policy: "axis 'pp' is not in the mesh: left out"; they
                       stand in front of the plan's own findings */
};

/* NULL with *err: unreadable (exit 3), script (4) or usage (2) errors as their kind says. */
Session *session_open(const SessionOptions *options, const SessionHooks *hooks, Error *err);
/* The same on a graph made elsewhere, which must outlive the session. */
Session *session_open_graph(Graph *graph, const SessionOptions *options, const SessionHooks *hooks,
                            Error *err);
/* The files of a session read again: its model, plan file, policy, machine; mesh and policy are
 * those in use. The user's decisions are applied by name, and what cannot be kept is a warning
 * among the notes. `old` stays as it is. NULL with *err. */
Session *session_reopen(const Session *old, Progress *progress, Error *err);
void session_close(Session *session);

/* Whether session_open() takes the file for a saved plan, and not for a model. */
bool session_opens_plan(const char *path);

/* MODEL.dims beside a model: default sizes of its free dims. */
const char *session_dims_path(Arena *arena, const char *model);

/* Only graph and inference, free dims allowed: what `info` needs. */
Session *session_open_model(const SessionOptions *options, const SessionHooks *hooks, Error *err);

/* What a plan of the session with this journal is made from. */
PlanRequest session_request(const Session *session, const Journal *journal);

/* ---- changes ---- */

typedef enum {
    CHANGE_APPLY,
    CHANGE_STEP,
    CHANGE_POLICY,
    CHANGE_MESH,
    CHANGE_MACHINE,
    CHANGE_CONSOLE
} ChangeKind;

typedef struct {
    ChangeKind kind;
    const Decision *decisions; /* CHANGE_APPLY: added to the journal, in one step */
    int n;            /* how many; CHANGE_STEP: decisions to redo, or below 0 to undo, in one step;
                         CHANGE_CONSOLE: the number that its decisions have as their line */
    const char *text; /* CHANGE_MESH: the mesh; CHANGE_CONSOLE: the line of Lua; CHANGE_MACHINE,
                         CHANGE_POLICY:
                         another policy, or NULL */
    Buf *answer;      /* CHANGE_CONSOLE: what the line says, also where it fails */
    Progress *progress; /* NULL: nobody waits */
} Change;

/* The session as it will be; with the same plan where a line of Lua decided nothing. It shares with
 * the old one all but the plan and what is made for it: until one of the next two is called the old
 * one may be read, not changed, and nothing else may be put into its journal's arena. NULL with
 * *err: nothing has changed. */
Session *session_prepare(const Session *session, const Change *change, Error *err);
void session_commit(Session *session, Session *next);
void session_discard(const Session *session, Session *next); /* NULL is allowed */

/* The session after a change, beside the one that is: it shares the model, and must be closed
 * before it. NULL with *err. */
Session *session_fork(const Session *session, const Change *change, Error *err);

/* Both halves. The others are short for it. */
bool session_change(Session *session, const Change *change, Error *err);
bool session_apply(Session *session, const Decision *decisions, int n, Error *err);
bool session_undo(Session *session, Error *err); /* false with *err when there is nothing to undo */
bool session_redo(Session *session, Error *err);
/* Runs the policy again (the file changed): user decisions are kept after it. */
bool session_rerun_policy(Session *session, Error *err);
bool session_set_mesh(Session *session, const char *text, Error *err);

#endif
