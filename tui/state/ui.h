/* ui.h - the explorer's state, of which each part has a header of its own.
 *
 * One Place says what is selected; the views are windows onto it, so that panes beside each other
 * agree. Selecting an op selects its first output, selecting an operand selects that tensor. Ids of
 * ops and tensors are the graph's and outlive every plan, so a new plan keeps the cursor.
 *
 * Every change of the plan goes through ui_change_to(), or is put between ui_change_begin() and
 * ui_change_end(): what was drawn from the old plan is forgotten in between. The Ui owns its
 * arenas; the session is the caller's. The screen's thread alone reads and writes it; jobs (job.h)
 * work on copies of what they need.
 */
#ifndef TUI_STATE_UI_H
#define TUI_STATE_UI_H

#include "core/session/session.h"
#include "core/summary/changed.h"
#include "core/summary/comm.h"
#include "tui/state/config.h"
#include "tui/state/jobs/job.h"
#include "tui/state/list.h"
#include "tui/state/listing.h"
#include "tui/state/menu.h"
#include "tui/state/messages.h"
#include "tui/state/parameters.h"
#include "tui/state/places.h"
#include "tui/state/prompt.h"
#include "tui/state/search.h"
#include "tui/state/view.h"

/* What has changed the plan so far. */
typedef struct {
    ChangedOps ops;            /* by the last change; its bits are the plan's */
    const int32_t *before;     /* changed ops before each place in groups->order; comm's, or NULL */
    int n;                     /* number of changes of the plan, by any means */
    int edits;                 /* changes by the user: one number per undo step */
    int n_policy_runs;         /* and of failed ones */
    Error policy_failed;       /* of the last run of the policy; not set: it succeeded */
    const char *reload_failed; /* "model" or "machine": its file cannot be read again; NULL */
    int reload_line;           /* where in it; 0 if that is not known */
    int written_edits, written; /* of the last :write or :save: `edits`, and pins made here then */
} Changes;

/* What a key has asked the loop to do once it is handled; texts are the frame's. */
typedef struct {
    const char *command;   /* run this `:` command */
    const char *prompt;    /* open the prompt with this text */
    const char *clipboard; /* copy this */
    bool quit, drop_pins;  /* leave the explorer; and forget the pins made here */
    ActId letter;          /* take the next key as the argument of this action; ACT_NONE */
    Session *session;      /* go on with this one: the same files read again */
    const char *reopened;  /* what was done to get that session; NULL: its files were read again */
    bool keeps;            /* the explorer of before stays, for undo */
    int step;              /* go to that explorer (-1), or again to the one behind it (1) */
} Asked;

/* What an export command writes: `COMMAND MODEL-NAME.ENDING WORD`. */
typedef struct {
    const char *command, *word, *ending, *name, *what; /* NULL: the list has ended */
} AppOffer;

/* `:` commands of other layers, for help and completion, and what they write. */
typedef struct {
    const Action *const *tables;
    int n;
    const AppOffer *offers; /* NULL: nothing */
} Commands;

struct Ui {
    Session *session;
    Arena *arena; /* as long as the explorer */
    Arena *frame; /* lives for one key or one frame */
    const View *const *views;
    void *own[SHOW_COUNT]; /* what each view keeps */

    Place at;       /* what is selected */
    int64_t row_at; /* where at.row is in the outline */
    int64_t rank;   /* place in the mesh that local shapes and slices are shown for */
    History history;
    List list[SHOW_COUNT];
    Outline *outline;
    Listing listing;
    Parameters parameters;
    Find find;

    Comm *comm;      /* of the session's plan */
    bool comm_asked; /* a pane lacks the table of reshards, which is to be made beside the screen */
    CommSort comm_sort;                 /* of the table of reshards */
    bool comm_reversed;                 /* which has the least first */
    struct Compare *compare;            /* another plan beside it; NULL: none */
    struct WhatIf *whatif;              /* what-if options being shown, or NULL */
    struct PlanSearch *plan_search;     /* what :search found; NULL: nothing yet */
    struct Console *console;            /* lines of Lua typed so far */
    struct MeshSteps *mesh_steps;       /* changes of the mesh, for undo; NULL: none */
    struct TrainSteps *train_steps;     /* of the training step; likewise */
    struct SettingSteps *setting_steps; /* of settings of the policy; likewise */
    Changes changes;
    Jobs jobs;

    Key key; /* the last one of a sequence, or the first character of a command's argument */
    Menu menu;
    const Prompt *prompt; /* of the explorer, for what is typed inside a view; NULL: none */
    Messages messages;
    Asked asked;
    Look look;
    Commands commands;
};

void ui_open(Ui *ui, Session *session, const View *const *shown, bool ascii);
void ui_close(Ui *ui);

/* Around anything that may replace the session's plan. Forgets and rebuilds what hangs on it. */
void ui_change_begin(Ui *ui);
void ui_change_end(Ui *ui);
/* Both, around session_commit(); what has changed is known afterwards. */
void ui_change_to(Ui *ui, Session *next);

/* Whether the last change of the plan changed an op, or one of those that a row stands for. */
bool ui_changed(const Ui *ui, int32_t op);
bool ui_row_changed(const Ui *ui, const OutlineRow *row);

/* ---- selecting ---- */
void ui_select_row(Ui *ui, int64_t i); /* of the outline, held inside it */
void ui_keep_row(Ui *ui);              /* at.row again, or the nearest, after rows have changed */
void ui_select_op(Ui *ui, int32_t op); /* and its first output; not the outline's cursor */
void ui_select_tensor(Ui *ui, int32_t tensor);
void ui_go_op(Ui *ui, int32_t op); /* reveals it in the outline and selects it there */
void ui_show(Ui *ui, ShowId show); /* keeps the place */

/* How an action's first key is written, "" when it has none; in the frame's arena. */
Str ui_key(const Ui *ui, ActId act);

static inline const Plan *ui_plan(const Ui *ui)
{
    return ui->session->plan;
}

static inline const Graph *ui_graph(const Ui *ui)
{
    return ui->session->graph;
}

/* The policy as a file; a shipped one is found by name through the decisions it made. NULL if there
 * is none. */
const char *ui_policy_file(const Session *session);

#endif
