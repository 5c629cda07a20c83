/* session.h - what a user works on: a model, a mesh, a policy, and the resulting plan.
 *
 * The session owns three arenas: model (graph and inference), journal (decisions, mesh, machine)
 * and the plan's own. Every change has two halves: session_prepare() makes the changed session
 * beside the current one and may run on another thread; session_commit() replaces the old plan and
 * frees it. If anything fails, the old plan stays. Scripts are called through hooks that main()
 * sets, since core does not know Lua.
 */
#ifndef CORE_SESSION_SESSION_H
#define CORE_SESSION_SESSION_H

#include "core/base/file.h"
#include "core/base/progress.h"
#include "core/model/group.h"
#include "core/plan/naming.h"
#include "core/plan/plan.h"
#include "core/rules/roles.h"
#include "core/rules/rule_book.h"
#include "core/session/policy_options.h"
#include "core/session/script_entry.h"
#include "core/step/backward.h"

typedef struct Session Session;

typedef struct {
    void *context;
    /* Reads a machine by name (in the shipped folder) or from a file. */
    bool (*machine)(void *context, Arena *arena, const char *name, Machine *out, Error *err);
    /* Builds the graph of a model file that is a .lua, or an HF config.json. `dims`: the sizes
     * given for free dims; the file's own sizes are appended to `defaults`, those that it was built
     * with to session->built_with. May be NULL. */
    Graph *(*model)(void *context, Session *session, const char *path, const DimBindings *dims,
                    DimBindings *defaults, Error *err);
    /* Runs the top level of the policy file (register_op ..) before inference. path NULL: the
     * shipped operators. session NULL: its output is dropped. */
    bool (*prepare)(void *context, Session *session, const char *policy, const RuleBook *rules,
                    Error *err);
    /* Runs the policy's PAS function, which appends decisions to the journal. session->inferred and
     * mesh are set. */
    bool (*policy)(void *context, Session *session, const char *policy, Journal *journal,
                   Error *err);
    /* Runs a line of Lua in the policy's state: appends its decisions to the journal, and its
     * output and result to `answer`. May be NULL. */
    bool (*console)(void *context, Session *session, const char *text, Journal *journal,
                    Buf *answer, Error *err);
    /* Everything that scripts can call or use, in the order of help. May be NULL. */
    const ScriptEntry *(*rows)(void *context, Arena *arena);
    /* The options that a shipped policy, or a policy file, declares. May be NULL. */
    bool (*options)(void *context, Arena *arena, const char *policy, PolicyOptions *out,
                    Error *err);
    /* The sizes of free dims that a policy asks for under these settings and this mesh: its
     * function SIZES. None if it has no such function. May be NULL. */
    bool (*sizes)(void *context, Arena *arena, const char *policy, const PolicySettings *settings,
                  const Mesh *mesh, DimBindings *out, Error *err);
    /* Names of shipped files, separated by blanks: kind is "policies", "machines" or
     * "models". */
    const char *(*shipped)(void *context, Arena *arena, const char *kind);
    /* Path of the shipped file of that kind and name; NULL if it does not exist. */
    const char *(*shipped_file)(void *context, const char *kind, const char *name);
    /* Path of a shipped file, such as "samples/models/gpt2.onnx"; NULL if it does not exist. */
    const char *(*data_file)(void *context, Arena *arena, const char *name);
} SessionHooks;

typedef struct {
    const char *model;       /* path of an .onnx, .lua, config.json or plan.json */
    const char *mesh;        /* NULL: from the plan file, else "x=1" */
    const char *policy;      /* NULL: none */
    PolicySettings settings; /* values of the policy's options; others have their defaults */
    const char *machine;     /* NULL: "h100x8" */
    const char *pins;        /* file of pins (session_pins.h), or NULL */
    const Propagator *propagator;
    bool no_redistribute;  /* PlanRequest */
    bool propagator_given; /* the user chose the propagator, so a plan file's is ignored */
    bool allow_native;     /* RuleBook */
    bool f64;              /* compute an f32 model in f64: core/model/widen.h */
    const char *train;     /* the training step to plan ("adamw,loss=auto"); NULL: the one that the
                              policy asks for, else forward only; "none": forward only */
    unsigned fuse;         /* fusions (core/fuse/fuse.h) of the graph, by bit */
    DimBindings dims;      /* on top of MODEL.dims */
    const char *config;    /* of a .lua model: the .json file that MODEL gets; NULL: none */
    const char *dtype;     /* "bf16": the type of parameters whose type the model file does not
                              give; NULL: the config's, else "f32" */
    bool figures_only;     /* plans are made for their time, memory and legality alone: without
                              notes (PlanRequest) and without groups of equal layers */
    const GivenValues *given; /* elements known only at run time that the user gives; NULL if
                                 none; they outlive every session that is opened from these
                                 options */
    Progress *progress;       /* while opening; NULL if nobody watches */
} SessionOptions;

typedef struct {
    Graph *graph;
    Inferred *inferred;
} SessionModel;

/* What the policy says about training, in the journal's arena. */
typedef struct {
    const char *spec;   /* in the form of `--train`; NULL: nothing */
    const char *frozen; /* ",freeze=PATTERN" for each; NULL: none */
} TrainingAsked;

/* Of a training step: what it is derived from, and its shape. */
typedef struct {
    const struct UpdateSpec *spec;
    const struct Loss *loss; /* NULL: the gradients of the outputs are inputs */
    const int32_t *frozen;   /* parameters that do not train */
    int n_frozen;
    SessionModel model; /* with its loss */
    SessionModel plain; /* the step in which nothing is recomputed or held twice, .. */
    Naming *naming;     /* .. and its names */
    Arena *arena;       /* of the current step; NULL: it is `plain` */
    StepShape shape;
} SessionDerivation;

struct Session {
    Arena *model_arena, *journal_arena, *propagation_arena;
    Arena *step_arena; /* of a training step made since the model was opened; NULL: the model's */
    SessionOptions options, given; /* the current options; the options it was opened with */
    const Plan *lender;            /* while a change is prepared: Change.lender */
    const Session *carried;        /* while opening: a session whose user's decisions are kept */
    const char *plan_file; /* the plan file that was opened; NULL if it was the model itself */
    const char *mesh_file; /* the plan file that names the mesh; NULL if the user gave it */
    PolicyOptions policy_options; /* declared by the policy, with their values; in the journal's
                                     arena */
    bool fusible;                 /* the model is being opened, so that its policy may fuse it */
    bool in_policy;               /* PAS is running, and may ask for a training step */
    unsigned fuse_wanted;         /* fusions that the policy asks for and the graph lacks */
    const char *train_given;      /* options.train of the user or of a plan file; takes
                                     precedence over: */
    TrainingAsked training;
    DimBindings policy_sizes; /* sizes of free dims that the policy asked for when the model was
                                 opened */
    bool policy_given;        /* with a plan file: run this policy instead of the file's own */
    SessionHooks hooks;
    FileMap model_map;                    /* of an ONNX model */
    FileMap source_map;                   /* of a model of another kind (core/model/reader.h) */
    Findings read_notes;                  /* what its reader reports */
    struct FileShardings *file_shardings; /* given by the model file; NULL: none */
    Graph *read;                          /* the model as it was read, before any fusion */
    DimBindings built_with;               /* free dims on whose sizes `read` depends */
    SessionModel loaded;                  /* without a training step */
    SessionModel bare; /* with options.train: `loaded` without loops. graph and inferred are then of
                          the whole step */
    SessionModel step; /* the whole step while a policy runs, which sees only the model; else
                          NULL */
    SessionDerivation derived;
    Graph *graph;
    RuleBook rules;
    Inferred *inferred;
    struct {
        const Inferred *of; /* NULL: not asked for yet */
        MatmulRoles found;
    } roles; /* of the model that the policy sees, kept from one run of it to the next */
    Naming *naming;
    Mesh *mesh;
    const Machine *machine; /* in the journal's arena: plans point to it */
    Journal journal;
    Plan *plan;
    Propagation *propagation; /* for this model and mesh, kept from plan to plan */
    Groups *groups;           /* folded by structure and sharding; made again with the plan; NULL
                                 with options.figures_only */
    Arena *change_arena;      /* the arena of a prepared session that is not in use yet; else
                                 NULL */
    Progress *progress;       /* while opening, or while a change is prepared; else NULL */
    Findings notes; /* of loading and of the policy: "axis 'pp' is not in the mesh: left out"; shown
                       before the plan's own findings */
};

/* Returns NULL with *err; its kind tells unreadable files (exit 3), scripts (4) and usage (2). */
Session *session_open(const SessionOptions *options, const SessionHooks *hooks, Error *err);
/* The same for a graph made by the caller, which must outlive the session. */
Session *session_open_graph(Graph *graph, const SessionOptions *options, const SessionHooks *hooks,
                            Error *err);
/* Reads all files of a session again: its model, plan file, policy, machine; mesh and policy stay
 * those in use. The user's decisions are matched by name; each that cannot be kept is a warning in
 * the notes. `old` stays unchanged. Returns NULL with *err. dims: sizes of free dims in place of
 * those of `old`, or NULL. */
Session *session_reopen(const Session *old, const DimBindings *dims, Progress *progress,
                        Error *err);
/* The same with another training step, in the form of options.train; "": none is asked for. */
Session *session_retrain(const Session *old, const char *train, Progress *progress, Error *err);
void session_close(Session *session);

/* Returns whether session_open() would open the file as a saved plan, not as a model. */
bool session_opens_plan(const char *path);

/* MODEL.dims beside a model: default sizes of its free dims. */
const char *session_dims_path(Arena *arena, const char *model);

/* The training step that a policy asks for, besides the user's wishes; in the form of
 * options.train. */
const char *session_training_wanted(const Session *session, Arena *arena);

/* Replaces the graph that the session shows by another of its graphs; returns the one shown before.
 */
SessionModel session_show(Session *session, SessionModel model);

/* Only graph and inference, free dims allowed: what `info` needs. */
Session *session_open_model(const SessionOptions *options, const SessionHooks *hooks, Error *err);

/* The request from which a plan of the session with this journal is made. */
PlanRequest session_request(const Session *session, const Journal *journal);
/* A journal in the arena with the decisions in use and n more, for a plan beside the session's. */
Journal session_journal_with(const Session *session, Arena *arena, const Decision *decisions,
                             int n);

/* ---- changes ---- */

typedef enum {
    CHANGE_APPLY,
    CHANGE_STEP,
    CHANGE_POLICY,
    CHANGE_SETTING,
    CHANGE_MESH,
    CHANGE_MACHINE,
    CHANGE_CONSOLE
} ChangeKind;

typedef struct {
    ChangeKind kind;
    const Decision *decisions; /* CHANGE_APPLY: appended to the journal, as one step */
    int n;               /* their number; CHANGE_STEP: decisions to redo, or if negative to undo, as
                            one step; CHANGE_CONSOLE: the line number of its decisions */
    const char *text;    /* CHANGE_MESH: the mesh; CHANGE_SETTING: "NAME=VALUE", an option of the
                            policy, which runs again, or a line for each of several;
                            CHANGE_CONSOLE: the line of Lua; CHANGE_MACHINE, CHANGE_POLICY:
                            another policy, or NULL */
    const Journal *kept; /* CHANGE_MESH: the user's decisions for that mesh; NULL: the current
                            ones, matched by name, with a warning for each that does not fit the
                            mesh */
    Buf *answer;         /* CHANGE_CONSOLE: the output of the line, also if it fails */
    const Plan *lender;  /* for session_fork(): a plan on the same mesh and machine that no one
                            uses meanwhile; reshards that it has are not searched again; or NULL */
    Progress *progress;  /* NULL if nobody watches */
} Change;

/* Makes the session after the change; its plan is the same if a line of Lua made no decisions. It
 * shares everything with the old one except the plan and what depends on it. Until session_commit()
 * or session_discard() the old one may be read but not changed, and nothing else may be allocated
 * in its journal's arena. Returns NULL with *err and nothing changed. */
Session *session_prepare(const Session *session, const Change *change, Error *err);
void session_commit(Session *session, Session *next);
void session_discard(const Session *session, Session *next); /* NULL is allowed */

/* Whether a change requires opening the model again, with session_reopen_changed(): a setting of
 * its builder or its training step, or another mesh, policy or setting for which the policy asks
 * for other sizes of free dims. *out is false if that is not known. */
bool session_reopens(const Session *session, const Change *change, bool *out, Error *err);
Session *session_reopen_changed(const Session *old, const Change *change, Error *err);

/* Makes the session after a change beside the current one, which must be closed later: they share
 * the model or, if the change gives free dims other sizes, the graph that was read. If that does
 * not do, the model is opened again. Returns NULL with *err. */
Session *session_fork(const Session *session, const Change *change, Error *err);

/* From a session with a training step: a session with the model alone, under the decisions about
 * it; it must be closed before the current one. */
Session *session_of_model(const Session *session, Error *err);

/* Prepares and commits at once. The functions below are shorthands for it. */
bool session_change(Session *session, const Change *change, Error *err);
bool session_apply(Session *session, const Decision *decisions, int n, Error *err);
bool session_undo(Session *session, Error *err); /* Returns false with *err if there is nothing to
                                                    undo. */
bool session_redo(Session *session, Error *err);
/* Runs the policy again (its file changed); user decisions are kept after it. */
bool session_rerun_policy(Session *session, Error *err);
bool session_set_mesh(Session *session, const char *text, Error *err);

#endif
