/* ui.h - the explorer's state; each part has a header of its own.
 *
 * One Place stores the selection; all views show it, so that panes agree. Selecting an op selects
 * its first output, selecting an operand selects that tensor. Ids of ops and tensors are the
 * graph's and outlive every plan, so a new plan keeps the cursor.
 *
 * Every change of the plan goes through ui_change_to(), or is made between ui_change_begin() and
 * ui_change_end(), which drop everything derived from the old plan. The Ui owns its arenas; the
 * session is the caller's. Only the screen's thread reads and writes it; jobs (job.h) work on
 * copies.
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

/* The history of changes of the plan. */
typedef struct {
    ChangedOps ops;             /* changed by the last change; its bits are the plan's */
    const int32_t *before;      /* number of changed ops before each place in groups->order;
                                   comm's, or NULL */
    int n;                      /* number of changes of the plan, by any means */
    int edits;                  /* changes by the user: one number per undo step */
    int n_policy_runs;          /* including failed ones */
    Error policy_failed;        /* of the last run of the policy; not set: it succeeded */
    const char *reload_failed;  /* "model" or "machine": its file could not be read again; NULL */
    int reload_line;            /* the line in it; 0 if unknown */
    int written_edits, written; /* at the last :write or :save: `edits`, and pins made here */
} Changes;

/* What a key asks the main loop to do after it is handled; texts are in the frame's arena. */
typedef struct {
    const char *command;   /* run this `:` command */
    const char *prompt;    /* open the prompt with this text */
    const char *clipboard; /* copy this */
    bool quit, drop_pins;  /* leave the explorer; and forget the pins made here */
    ActId letter;          /* take the next key as the argument of this action; ACT_NONE */
    Session *session;      /* continue with this session: the same files, read again */
    const char *reopened;  /* what led to that session; NULL: its files were read again */
    bool keeps;            /* keep the old explorer, for undo */
    int step;              /* go back to that explorer (-1), or forward to the next one (1) */
} Asked;

/* What an export command writes: `COMMAND MODEL-NAME.ENDING WORD`. */
typedef struct {
    const char *command, *word, *ending, *name, *what; /* NULL: end of the list */
} AppOffer;

/* `:` commands of other layers, for help and completion, and their outputs. */
typedef struct {
    const Action *const *tables;
    int n;
    const AppOffer *offers; /* NULL: nothing */
} Commands;

struct Ui {
    Session *session;
    Arena *arena; /* lives as long as the explorer */
    Arena *frame; /* lives for one key or one frame */
    const View *const *views;
    void *own[SHOW_COUNT]; /* the state of each view */

    Place at;       /* what is selected */
    int64_t row_at; /* index of at.row in the outline */
    int64_t rank;   /* the mesh position whose local shapes and slices are shown */
    History history;
    List list[SHOW_COUNT];
    Outline *outline;
    Listing listing;
    Parameters parameters;
    Find find;

    Comm *comm;              /* of the session's plan */
    bool comm_asked;         /* a pane needs the table of reshards, which a job should make */
    CommSort comm_sort;      /* of the table of reshards */
    bool comm_reversed;      /* smallest first */
    struct Compare *compare; /* a second plan; NULL: none */
    struct WhatIf *whatif;   /* what-if options being shown, or NULL */
    struct PlanSearch *plan_search;     /* results of :search; NULL: none yet */
    struct Console *console;            /* lines of Lua typed so far */
    struct MeshSteps *mesh_steps;       /* changes of the mesh, for undo; NULL: none */
    struct TrainSteps *train_steps;     /* of the training step; likewise */
    struct SettingSteps *setting_steps; /* of settings of the policy; likewise */
    Changes changes;
    Jobs jobs;

    Key key; /* the last key of a sequence, or the first character of a command's argument */
    Menu menu;
    const Prompt *prompt; /* the explorer's, for text typed inside a view; NULL: none */
    Messages messages;
    Asked asked;
    Look look;
    Commands commands;
};

void ui_open(Ui *ui, Session *session, const View *const *shown, bool ascii);
void ui_close(Ui *ui);

/* Call them around anything that may replace the session's plan. They drop and rebuild everything
 * that depends on it. */
void ui_change_begin(Ui *ui);
void ui_change_end(Ui *ui);
/* Both of them, around session_commit(); afterwards the changed ops are known. */
void ui_change_to(Ui *ui, Session *next);

/* Whether the last change of the plan changed an op, or one of the ops that a row stands for. */
bool ui_changed(const Ui *ui, int32_t op);
bool ui_row_changed(const Ui *ui, const OutlineRow *row);

/* ---- selecting ---- */
void ui_select_row(Ui *ui, int64_t i); /* a row of the outline; clipped to its range */
/* Selects at.row again, or the nearest row, after rows have changed. */
void ui_keep_row(Ui *ui);
/* And its first output; does not move the outline's cursor. */
void ui_select_op(Ui *ui, int32_t op);
void ui_select_tensor(Ui *ui, int32_t tensor);
void ui_go_op(Ui *ui, int32_t op); /* reveals it in the outline and selects it there */
void ui_show(Ui *ui, ShowId show); /* without changing the selection */

/* The first key of an action as text, "" if it has none; in the frame's arena. */
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
