/* menu.h - a choice among things, which views/menu_box.h draws over the lower part of the screen.
 *
 * Items have columns, which are aligned; where there is no room the last ones are left out. More
 * items than lines scroll. An item's key chooses it at once. Other letters, and all after `/`, are
 * typed: only the items with that text are listed then, and Enter chooses. Other keys do nothing.
 */
#ifndef TUI_STATE_MENU_H
#define TUI_STATE_MENU_H

#include "core/base/span.h"
#include "core/layout/mesh.h"
#include "tui/screen/grid.h"
#include "tui/screen/key.h"

typedef struct Ui Ui;

enum { MENU_MAX = 64, MENU_SPANS_MAX = 16, MENU_TYPED_MAX = 200 };

typedef struct {
    char key;                       /* ' ': none, it is reached by moving */
    char text[160];                 /* columns, with tabs between */
    TextSpan spans[MENU_SPANS_MAX]; /* the mesh axes in it */
    int n_spans;
    char note[200]; /* shown below the list while the cursor is on the item; "" */
    int value;
} MenuItem;

/* A choice on the screen. `chosen` may open another one. */
typedef struct {
    bool open;
    char title[100], head[100]; /* head: of the columns; one that begins with a blank is aligned
                                   at the right; "" */
    int n;
    int at, top, height; /* of the listed items: the cursor, the first shown, how many, as last
                            drawn */
    Rect items;          /* where they are on the screen, as last drawn */
    MenuItem item[MENU_MAX];
    int n_listed, listed[MENU_MAX]; /* the items with the typed text, in order */
    char typed[MENU_TYPED_MAX];     /* "": all items are listed */
    bool typing;                    /* letters are typed even if they are keys of items */
    bool clicked;                   /* a click has put the cursor where it is */
    void (*chosen)(Ui *ui, int value);
    void (*given)(Ui *ui, Str text); /* takes a typed text that no item has; then letters are always
                                        typed. NULL: only items can be chosen */
    void (*moved)(Ui *ui, int by);   /* < and >; NULL if they do nothing */
} Menu;

/* Empties the menu and opens it. */
void menu_open(Ui *ui, const char *title, void (*chosen)(Ui *ui, int value));

/* The headings of the columns of texts: "TO\t STEP\t COMM". */
void menu_head(Ui *ui, const char *head);

/* The first letter of an axis where only it has it and it is not among `taken`; else 0. */
char menu_axis_key(const Mesh *mesh, int axis, const char *taken);

/* key 0: the place's digit, from 1, then letters as long as there are any. */
void menu_add(Ui *ui, char key, Str text, int value);
/* The same, with the names of axes in their colours. */
void menu_add_text(Ui *ui, char key, Text text, int value);
/* An axis by its name, with its letter as the key where that is free. */
void menu_add_axis(Ui *ui, int axis, const char *taken);
Text menu_item_text(const MenuItem *item);
void menu_note(Ui *ui, Str note); /* of the item that was added last */

/* Takes a key while the menu is open. */
void menu_key(Ui *ui, Key key);

/* The item under the cursor; NULL if none is listed. */
const MenuItem *menu_at(const Menu *menu);

#endif
