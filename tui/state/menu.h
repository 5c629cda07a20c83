/* menu.h - a list of items to choose from; views/menu_box.h draws it over the lower part of the
 * screen.
 *
 * Items have aligned columns; if there is no room, the last columns are left out. More items than
 * lines scroll. An item's key chooses it at once. Other letters, and all letters after `/`, are
 * typed: then only the items that contain the text are listed, and Enter chooses one. Other keys do
 * nothing.
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
    char key;                       /* ' ': no key; the item is reached by moving */
    char text[160];                 /* columns, separated by tabs */
    TextSpan spans[MENU_SPANS_MAX]; /* the mesh axes in it */
    int n_spans;
    char note[200]; /* shown below the list while the cursor is on the item; "" */
    int value;
} MenuItem;

/* An open menu. `chosen` may open another one. */
typedef struct {
    bool open;
    char title[100], head[100]; /* head: the headings of the columns; one that begins with a
                                   blank is right-aligned; "" */
    int n;
    int at, top, height; /* of the listed items: the cursor, the first shown, and the number
                            shown, as last drawn */
    Rect items;          /* their area on the screen, as last drawn */
    MenuItem item[MENU_MAX];
    int n_listed, listed[MENU_MAX]; /* the items that contain the typed text, in order */
    char typed[MENU_TYPED_MAX];     /* "": all items are listed */
    bool typing;                    /* letters are typed even if they are items' keys */
    bool clicked;                   /* the cursor was placed by a click */
    void (*chosen)(Ui *ui, int value);
    /* Receives a typed text that no item has; letters are then always typed. NULL: only items
     * can be chosen. */
    void (*given)(Ui *ui, Str text);
    void (*moved)(Ui *ui, int by); /* < and >; NULL if they do nothing */
} Menu;

/* Empties the menu and opens it. */
void menu_open(Ui *ui, const char *title, void (*chosen)(Ui *ui, int value));

/* Sets the headings of the columns: "TO\t STEP\t COMM". */
void menu_head(Ui *ui, const char *head);

/* The first letter of the axis if no other axis starts with it and it is not in `taken`; else 0. */
char menu_axis_key(const Mesh *mesh, int axis, const char *taken);

/* key 0: the digit of the item's place, from 1, then letters while there are any. */
void menu_add(Ui *ui, char key, Str text, int value);
/* The same, with names of axes in their colours. */
void menu_add_text(Ui *ui, char key, Text text, int value);
/* An axis by name, with its first letter as the key if that is free. */
void menu_add_axis(Ui *ui, int axis, const char *taken);
Text menu_item_text(const MenuItem *item);
void menu_note(Ui *ui, Str note); /* for the item that was added last */

/* Handles a key while the menu is open. */
void menu_key(Ui *ui, Key key);

/* The item under the cursor; NULL if none is listed. */
const MenuItem *menu_at(const Menu *menu);

#endif
