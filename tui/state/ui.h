/* ui.h - what the explorer shows and where its cursors are: all the state that views draw from.
 *
 * One Place says what is selected; the views are windows onto it, so that panes beside each other
 * agree. Selecting an op selects its first output, selecting an operand selects that tensor. Ids of
 * ops and tensors are the graph's and outlive every plan, so a re-plan keeps the cursor.
 *
 * Every change of the plan goes through ui_change_begin() and ui_change_end(): what was drawn from
 * the old plan is forgotten in between. The Ui owns its arenas; the session is the caller's.
 */
#ifndef TUI_STATE_UI_H
#define TUI_STATE_UI_H

#include "core/summary/changed.h"
#include "core/explain/events.h"
#include "core/session/session.h"
#include "tui/state/config.h"
#include "tui/state/job.h"
#include "tui/state/prompt.h"
#include "core/summary/comm.h"
#include "tui/state/control.h"
#include "tui/views/mem.h"
#include "tui/state/outline.h"
#include "tui/views/graph/rail.h"
#include "tui/state/filter.h"
#include "tui/state/search.h"
#include "tui/state/view.h"

enum { JUMPS_MAX = 100, MESSAGE_MAX = 256, MENU_MAX = 64, MARKS_MAX = 26, ERRORS_MAX = 100 };

typedef enum { WHY_TENSOR, WHY_INDEX, WHY_NOT } WhyKind;

typedef struct {
    ShowId show;
    OutlineRow row;     /* the outline's cursor */
    int32_t op, tensor; /* selected; -1: none */
    int dim;            /* of the tensor: the one that p pins */
    int item;           /* Op view: index dims, then operands */
    int reshard;        /* Comm view: row of the table */
    WhyKind why;
    int why_dim;  /* of the tensor (-2: all), or index dim of the op */
    int why_axis; /* WHY_NOT */
} Place;

typedef struct {
    char key;       /* ' ': none, it is reached by moving */
    char text[160]; /* columns, with tabs between */
    char note[200]; /* said below the list while the item is the chosen one; "" */
    int value;
} MenuItem;

/* An error that was shown; told again it counts, and is the last one once more. */
typedef struct {
    char file[400], text[MESSAGE_MAX]; /* file "": it has no place */
    int line, times;
    bool can_edit; /* its place is in a file that is there */
} ErrorNote;

/* A choice on the screen. `chosen` may open another one. */
typedef struct {
    bool open;
    bool plain;                 /* what is named in it are no axes, though it may be named so */
    char title[100], head[100]; /* head: of the columns; one that begins with a blank is aligned
                                   at the right; "" */
    int n, at, top, height;     /* top: the first shown; height: how many, as last drawn */
    Rect items;                 /* where they stand, as last drawn */
    MenuItem item[MENU_MAX];
    void (*chosen)(Ui *ui, int value);
    void (*moved)(Ui *ui, int by); /* < and >; NULL: nothing */
} Menu;

/* What a command of another layer writes: `COMMAND MODEL-NAME.ENDING WORD`. */
typedef struct {
    const char *command, *word, *ending, *name, *what; /* NULL: the list has ended */
} AppOffer;

typedef struct WhatIf WhatIf; /* whatif.h */

struct Ui {
    Session *session;
    Arena *arena; /* as long as the explorer */
    Arena *frame; /* lives for one key or one frame */
    Outline *outline;
    Rail *rail;
    Comm *comm;              /* of the session's plan */
    struct Compare *compare; /* another plan beside it; NULL: none */
    Mem mem;                 /* of the session's plan, once it is shown */
    Control control;         /* of its groups; as long as comm */
    Session *reopened;       /* the same files read again; the explorer goes on with it; NULL */
    Job *job;                /* what works beside the screen; NULL */
    struct Console *console; /* lines of Lua typed so far */
    const Prompt *prompt;    /* of the explorer, for what is typed inside a view; NULL: none */
    CommSort comm_sort;      /* of the table of reshards */
    uint32_t comm_hidden;    /* its columns that are left out, by bit */
    WhatIf *whatif;          /* options that were asked for; NULL */
    int quiet_ms; /* a job may take so long before the screen goes on: JOB_QUIET_MS; below 0: there
                     is no screen to go on with */
    Settings settings;
    const KeyMap *keymap;
    bool ascii;
    bool zoomed;
    Place at;
    int64_t row_at;           /* where at.row is in the outline */
    int64_t line[SHOW_COUNT]; /* cursor of text pages */
    int64_t top[SHOW_COUNT];  /* first shown row or line */
    int64_t rows[SHOW_COUNT]; /* how many there are, as last drawn */
    int height[SHOW_COUNT];   /* of the list part, as last drawn */
    int64_t rank;             /* place in the mesh that local shapes and slices are shown for */
    int mesh_turn;            /* which axes go down and across in the Mesh view */
    int64_t mesh_columns;     /* of its grid, as last drawn */
    bool mesh_groups;         /* it shows groups of a collective instead of slices */
    Place jump[JUMPS_MAX];
    int n_jumps, jump_at;
    Place mark[MARKS_MAX]; /* by letter */
    bool is_marked[MARKS_MAX];
    ActId wants_letter; /* the next key is the argument of this action; ACT_NONE */
    const double *params_before, *flops_before; /* sums over groups->order; comm's, or NULL */
    int32_t near;  /* the op that boxes are drawn around; -1: the selected one */
    int sorted_by; /* GraphColumn; -1: program order */
    Menu menu;
    char message[MESSAGE_MAX];
    bool message_is_error;
    ErrorNote error[ERRORS_MAX]; /* oldest first */
    int n_errors;
    ChangedOps changed;       /* by the last change of the plan; its bits are the plan's */
    const int32_t *n_changed; /* per place in groups->order: how many before it; comm's, or NULL */
    int n_jobs_done;          /* a frame in which one was done is drawn again */
    int n_changes;            /* of the plan so far, whoever made them */
    int edits;                /* user changes of the plan so far: one number per undo step */
    char found[40];           /* "/c_fc 3/12" while the cursor is on a hit */
    Search *search;           /* the last one; NULL */
    Hit search_hit;           /* the last hit of it that was gone to */
    int search_waits;         /* by: go there once the hits are counted; 0 */
    FilterSource filter_source;
    Filter *filter;             /* what the outline lists; NULL: all */
    Arena *filter_arena;        /* of filter_pass */
    const int32_t *filter_pass; /* per place in groups->order: how many before it pass */
    const char *filter_again;   /* the filter's text while there are no groups; frame's */
    uint8_t *tagged;            /* per op */
    int n_taggable, n_tagged;
    int32_t n_parameters;
    bool parameters_open;
    ParameterRow *parameter_rows; /* by pattern, once they are opened; comm's, or NULL */
    int n_parameter_rows;
    const PlanEvent *events;   /* of the session's plan, once they are asked for; comm's */
    char help_about[80];       /* "lua.graph.shard": what Help is about; "": the explorer */
    Str page_text[SHOW_COUNT]; /* of text pages, as last drawn; frame's */
    const char *run_next;      /* a `:` command that a view asks for, done after its key; frame's */
    const char *ask_next;      /* one to be completed by the user: the prompt opens with it */

    struct RunState *run;             /* the plan along time, and its last run */
    struct ScheduleState *schedule;   /* its pipeline */
    struct PolicyLines *policy_lines; /* of the plan, once they are asked for; NULL */
    bool policy_all;                  /* all of its lines, not only those that tell something */
    int n_policy_runs;                /* and of failed ones */
    Error policy_failed;              /* of the last run of the policy; not set: it succeeded */

    const Action *const *extra; /* tables of further `:` commands, for help and completion */
    int n_extra;
    const AppOffer *offers; /* of the options; NULL: nothing */
    const char *copy_next;  /* for the clipboard, taken after the key; frame's */
};

void ui_open(Ui *ui, Session *session, bool ascii);
void ui_close(Ui *ui);

/* Around anything that may replace the session's plan. Forgets and rebuilds what hangs on it. */
void ui_change_begin(Ui *ui);
void ui_change_end(Ui *ui);
/* Both, around session_commit(); what has changed is known afterwards. */
void ui_change_to(Ui *ui, Session *next);

/* Whether the last change of the plan changed an op; one of those that a row stands for. */
bool ui_changed(const Ui *ui, int32_t op);
bool ui_row_changed(const Ui *ui, const OutlineRow *row);

void ui_say(Ui *ui, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ui_fail(Ui *ui, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "file:line: what (hint)" on the message line, and in the list of errors. */
void ui_error(Ui *ui, const Error *err);

/* ---- selecting ---- */
void ui_select_row(Ui *ui, int64_t i); /* of the outline, held inside it */
void ui_select_op(Ui *ui, int32_t op); /* and its first output; not the outline's cursor */
void ui_select_tensor(Ui *ui, int32_t tensor);
void ui_go_op(Ui *ui, int32_t op); /* reveals it in the outline and selects it there */
void ui_show(Ui *ui, ShowId show); /* keeps the place */

/* The table of reshards, as it is sorted and filtered; the cursor is on one of its rows. n_rows is
 * below 0 while it is made, beside the screen. */
Comm *ui_comm(Ui *ui);

/* How an action's first key is written, "" when it has none; frame's. */
Str ui_key(const Ui *ui, ActId act);

/* Before a jump: the place to come back to. */
void ui_remember(Ui *ui);
bool ui_back(Ui *ui);
bool ui_forward(Ui *ui);
void ui_restore(Ui *ui, const Place *place);

/* Moves a cursor among n things by an action of the "move" group; true when the action is one. */
bool ui_move(int64_t *at, int64_t n, int page, ActId act);

/* Scrolls so that `at` is in the h lines from the returned top on. */
int64_t ui_scroll(int64_t top, int64_t at, int64_t n, int h);

static inline const Plan *ui_plan(const Ui *ui)
{
    return ui->session->plan;
}

static inline const Graph *ui_graph(const Ui *ui)
{
    return ui->session->graph;
}

/* The policy as a file: a shipped one is given by name, and found by what it decided. NULL: none.
 */
const char *ui_policy_file(const Session *session);

/* The cursor's row of a list in view `show`: reversed where the view has the focus. y is in the
 * pen's area. */
void ui_mark_row(const Ui *ui, ShowId show, const Pen *pen, int y);

#endif
