/* view.h - a view: something a pane can show. One row of `views` each.
 *
 * draw() is pure: it reads the explorer's state and writes cells, so a test prints it. act()
 * changes the state and returns false for actions that the view has no use for. The state that a
 * view keeps between frames is its own: own_size bytes in Ui.own, initially zero, which only the
 * files of that view access. A new view is a file view_X.c with one `const View view_X`, an id and
 * a declaration here and a row in tui/app/views.c.
 */
#ifndef TUI_STATE_VIEW_H
#define TUI_STATE_VIEW_H

#include "tui/screen/grid.h"
#include "core/base/sheet.h"
#include "tui/state/act.h"

typedef struct Ui Ui;

/* ORDER SHOW: the rows of `views`. First the numbered tabs, then parts shown beside them, then
 * pages. */
typedef enum {
    SHOW_GRAPH,
    SHOW_OP,
    SHOW_TENSOR,
    SHOW_MESH,
    SHOW_COMM,
    SHOW_MEM,
    SHOW_DIFF,
    SHOW_POLICY,
    SHOW_RUN,
    SHOW_COMM_DETAIL, /* the selected reshard: formula, cause, options */
    SHOW_LINKS,       /* its groups on the mesh, load of links, traffic between devices */
    SHOW_LIVE,        /* what is alive at the peak */
    SHOW_SAVED,       /* what is saved for the backward pass, by layer */
    SHOW_TRY,         /* other settings of the policy, each planned */
    SHOW_DIFF_TOTALS,
    SHOW_FORK, /* the first difference of two plans, and why */
    SHOW_CONSOLE,
    SHOW_CHECK,    /* of a run: compared with one device, predicted and measured times */
    SHOW_SCHEDULE, /* stages and micro-batches along time */
    SHOW_SEARCH,   /* the best plan that fits, with a proof */
    SHOW_NEAR,     /* boxes around one op */
    SHOW_WHY,
    SHOW_FINDINGS,
    SHOW_EVENTS,
    SHOW_ERRORS,
    SHOW_JOURNAL,
    SHOW_HELP,
    SHOW_COUNT,
    SHOW_TABS = SHOW_RUN + 1,
    SHOW_PAGES = SHOW_SCHEDULE
} ShowId;

/* An entry of the bottom line: an action, and a word for what it does here. */
typedef struct {
    ActId act;
    const char *label;
} Hint;

typedef struct {
    const char *name;                /* "Graph": tab and frame */
    void (*draw)(Ui *ui, Pen *pen);  /* into the pen's area, from its corner */
    bool (*act)(Ui *ui, ActId act);  /* Ui.key is the last key of the sequence */
    void (*note)(Ui *ui, Buf *out);  /* the line about what is selected; NULL: none */
    void (*go)(Ui *ui, int64_t row); /* moves the cursor of its list there, clipped to its range */
    int list_at;                     /* the line its list begins on; -1 without a list */
    /* A click on a column heading: sorts by the column, a second click reverses; false: it
     * cannot be sorted by. NULL: no column can. */
    bool (*head)(Ui *ui, int x);
    const Hint *hints; /* ended by ACT_NONE; most wanted first */
    /* What Enter does to the selected row, "" if nothing; NULL if `hints` applies to all rows. */
    const char *(*open_hint)(const Ui *ui);
    /* For exports as data; NULL: a picture, or a page whose lines are the table. */
    void (*table)(Ui *ui, Sheet *out);
    /* Called when the user opens the view from that one; or NULL. */
    void (*enter)(Ui *ui, ShowId from);
    ActId enter_act;      /* or an action to run then; ACT_NONE */
    size_t own_size;      /* size of its state */
    void (*open)(Ui *ui); /* initialises its state if zeros are not enough; or NULL */
    /* Called when the plan is replaced or the explorer closes: frees what was made from the
     * plan; NULL. */
    void (*forget)(Ui *ui);
} View;

extern const View view_graph, view_op, view_tensor, view_mesh, view_comm, view_mem, view_diff,
    view_policy, view_run, view_comm_detail, view_links, view_live, view_saved, view_diff_totals,
    view_fork, view_try, view_console, view_check, view_schedule, view_search, view_near, view_why,
    view_findings, view_events, view_errors, view_journal, view_help;
extern const View *const views[SHOW_COUNT]; /* tui/app/views.c */

#endif
