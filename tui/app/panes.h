/* panes.h - the layout of a screen of a given size: a pure function, tested by rows.
 *
 *     status          model, policy, mesh, peak, step, findings
 *     tabs            1 Graph  2 Op ...                          ? help
 *     path            model > transformer > h[0..11] x12
 *     body            one view, or panes with frames where the screen is wide
 *     note            about the selected row; answers and errors
 *     keys            the most useful keys; the prompt
 *
 * From LAYOUT_WIDE columns and LAYOUT_TALL rows on, views that belong together are panes beside
 * each other, one workspace (a high screen may have a pane more): graph + op + tensor, mesh +
 * memory + what lives at its peak (in a training step memory + that + what is kept), reshards + the
 * selected one + links, two plans, policy + console + run; a page (why, findings, events, the
 * journal, errors, boxes around an op) + op + tensor + policy. Below that size a view fills the
 * screen, or shares it with the parts that explain it, stacked; from LAYOUT_STACK_TALL rows on this
 * includes pages, values and the mesh, and from LAYOUT_PANES_W columns on values, the mesh, a run,
 * boxes around an op and one plan alone have panes there too. A pane with more lines than its view
 * can use (LayoutLook) gives them to the pane above or below it. Below LAYOUT_MIN_W x LAYOUT_MIN_H
 * the screen is one line with a message.
 */
#ifndef TUI_APP_PANES_H
#define TUI_APP_PANES_H

#include "tui/state/view.h"

enum {
    LAYOUT_MIN_W = 40,
    LAYOUT_MIN_H = 10,
    LAYOUT_WIDE = 130,
    LAYOUT_PANES_W = 116, /* from here on some views have panes beside each other on tall screens */
    LAYOUT_TALL = 30,
    LAYOUT_HIGH = 56,       /* from here on some workspaces have an additional pane */
    LAYOUT_STACK_H = 14,    /* height of the body from which views are stacked */
    LAYOUT_STACK_TALL = 36, /* from here on pages and details have what explains them below */
    LAYOUT_PANES = 5,
    LAYOUT_BORDERS = 24 /* of all workspaces */
};

typedef struct {
    ShowId show;
    Rect frame; /* w == 0: no frame; h == 1: a line with its name */
    Rect area;
} LayoutPane;

/* A border between panes of a workspace: all pane edges at that percentage. */
typedef struct {
    int workspace;
    bool upright; /* vertical: moves left and right */
    int percent;  /* its default position */
} Border;

/* Borders that the user has moved. */
typedef struct {
    int n;
    struct {
        Border border;
        int percent;
    } moved[LAYOUT_BORDERS];
} Splits;

typedef struct {
    bool too_small;
    Rect status, tabs, path, note, keys;
    Rect body;
    int workspace; /* -1 for a single pane */
    Splits splits;
    int lower[101]; /* number of rows by which the horizontal border with that default position
                       has moved down */
    int n_panes;
    LayoutPane pane[LAYOUT_PANES];
} PaneLayout;

typedef struct {
    bool zoomed;           /* only the view that has the focus */
    bool trains;           /* the plan is of a training step: some workspaces have other panes */
    bool tries;            /* its policy has settings to try (mem_has_settings()) */
    bool staged;           /* the plan has stages */
    ShowId lead;           /* the view whose panes stay while `show` is one of them */
    bool alone;            /* no second plan is being compared */
    bool brief;            /* pages stand alone even on tall screens */
    int wants[SHOW_COUNT]; /* number of lines that a view can use; 0: any */
} LayoutLook;

/* splits NULL: the defaults of the table. show: the view that has the focus; it is always in a
 * pane. */
PaneLayout layout_make(int w, int h, ShowId show, const LayoutLook *look, const Splits *splits);

/* The border between frames at that cell. */
bool layout_border(const PaneLayout *layout, int x, int y, Border *out);

/* Moves a border to that cell, as far as the panes stay large enough to read. */
void layout_drag(const PaneLayout *layout, Splits *splits, const Border *border, int x, int y);

#endif
