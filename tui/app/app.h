/* app.h - the explorer: reads keys and draws screens until the user leaves.
 *
 * app_run() is the whole explorer. Without a terminal it types `script` key by key and writes the
 * last screen as text; tests use the functions below to check every screen between. The main thread
 * handles keys and draws; changes of the plan and other long work run as jobs on a worker thread
 * (tui/state/jobs/job.h).
 */
#ifndef TUI_APP_APP_H
#define TUI_APP_APP_H

#include "tui/state/config.h"
#include "tui/app/panes.h"
#include "tui/app/open.h"
#include "tui/app/palette.h"
#include "tui/state/prompt.h"
#include "tui/app/tour.h"
#include "tui/screen/term.h"
#include "tui/state/ui.h"

/* `:` commands of other layers: drawings, reports. run() says itself what came of it, now or, of a
 * job, later; false with *err. */
typedef struct {
    const Action *actions; /* ended by a row without a name */
    bool (*run)(void *context, Ui *ui, int id, Str args, Error *err);
    void *context;
} AppCommands;

typedef struct {
    bool ascii; /* also where the locale is not UTF-8 */
    ColorMode color;
    bool no_mouse;
    int width, height;      /* of a screen without a terminal; 0: 80x24 */
    UserConfig *config;     /* NULL for the defaults */
    bool restore;           /* begin where the last session ended, and keep where this one does */
    bool fresh;             /* .. but begin anew */
    bool one_pane;          /* never panes beside each other */
    bool by_lines;          /* read line by line: no page has what explains it below */
    const char *script;     /* keys, as "j/c_fc<Enter>w"; NULL: none */
    const char *screen;     /* file for the last screen, "-" for stdout; with script or alone: no
                               terminal is used */
    bool tour;              /* the session is what tour.h names */
    bool watch;             /* read files again when they are written, unless the settings say no */
    const AppOffer *offers; /* what such commands write, for the menu of exports; NULL: nothing */
    const AppCommands *commands;
    int n_commands;
} AppOptions;

/* Opens the session, shows it until the user leaves, closes it. False with *err: what opening says;
 * no terminal; the screen cannot be written. */
bool app_run(const AppOpener *opener, const AppOptions *options, Error *err);

/* ---- the parts ---- */

/* Where and when it was pressed last; the border it moves while it is held. */
typedef struct {
    int x, y;
    int64_t pressed_ms;
    bool drags;
    Border border;
} Mouse;

enum { APP_TABLES_MAX = 8 };

/* A group in the path line, in columns [x, end) of it. */
typedef struct {
    int x, end;
    int32_t group;
} Crumb;

typedef struct App {
    Ui ui;
    struct App *before, *after; /* with their sessions: the explorer from which this one was opened
                                   as another configuration, and one that `u` went back from; NULL
                                 */
    int left_at;                /* changes of the plan when one of them took its place */
    Arena *arena, *grid_arena;
    AppOptions options;
    Term *term; /* NULL without a terminal */
    Grid *grid;
    PaneLayout layout;
    ShowId lead, shown; /* the view that was opened, and the one with the focus since */
    Prompt prompt;
    Crumb crumb[OUTLINE_DEPTH_MAX];
    int n_crumbs;
    Palette palette;
    Mouse mouse;
    Splits splits;
    Place searched_from; /* where `/` was typed, and what was open then */
    Arena *search_arena;
    uint8_t *open_then;
    int open_change; /* Ui.n_changes then: the groups are others after a change */
    Key keys[KEY_SEQUENCE_MAX];
    int n_keys;
    Tour tour;
    bool quit;
    const Action *tables[APP_TABLES_MAX]; /* ours, then the commands' */
    int n_tables;
    UserConfig *config;
    Settings applied; /* the settings that the screen and the terminal use now */
} App;

/* app_free() frees it, and explorers before and after it with their sessions; its own session stays
 * the caller's. */
App *app_new(Session *session, const AppOptions *options, Term *term, int w, int h);
void app_free(App *app);
void app_resize(App *app, int w, int h);
void app_key(App *app, Key key);
void app_type(App *app, Str script); /* keys as in a script */
const Grid *app_draw(App *app);

/* The focused view on a screen of its own, between the first lines and the marks explained. */
void app_draw_alone(App *app, Grid *grid);

int app_tab(const App *app, int x); /* the tab in that column of its line; -1: none */

/* The settings as they are now: glyphs, theme and mouse follow. */
void app_apply_settings(App *app);
void app_take_config(App *app); /* settings, theme and keys of app->config */

/* The explorer to go on with. On the session that was opened again, where there is one: `app` and
 * its session are freed then, or kept for undo. The one before or after it, where undo asked for
 * it. */
App *app_reopened(App *app);

/* ---- actions.c ---- */
void app_act(App *app, const Action *action, Key last);
void app_command(App *app, Str line); /* what stands after `:` */
void app_run_asked(App *app);         /* what a view or a menu asked for with Ui.run_next */

/* Changes the plan under the explorer; errors go to the message line. */
void app_rerun_policy(App *app);

/* "NAME=VALUE", or "NAME", which shows its value; "policy.NAME" is an option of the policy. */
bool settings_set(Ui *ui, Str args, Error *err);
void settings_menu(Ui *ui);

enum { DOUBLE_MS = 400, HELP_COLUMNS = 8 }; /* of "? help" at the right of the tabs */

void mouse_event(App *app, MouseKind kind, int x, int y, int64_t now_ms);

#endif
