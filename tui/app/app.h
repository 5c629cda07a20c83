/* app.h - the explorer: reads keys and draws screens until the user leaves.
 *
 * app_run() is the whole explorer. Without a terminal it types `script` key by key and writes the
 * last screen as text; tests use the functions below to check every screen in between. The main
 * thread handles keys and draws; changes of the plan and other long work run as jobs on a worker
 * thread (tui/state/jobs/job.h).
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

/* `:` commands of other layers: drawings, reports. run() reports its result itself, at once or, for
 * a job, later; it returns false with *err. */
typedef struct {
    const Action *actions; /* ended by a row without a name */
    bool (*run)(void *context, Ui *ui, int id, Str args, Error *err);
    void *context;
} AppCommands;

typedef struct {
    bool ascii; /* also used if the locale is not UTF-8 */
    ColorMode color;
    bool no_mouse;
    int width, height;      /* of a screen without a terminal; 0: 80x24 */
    UserConfig *config;     /* NULL for the defaults */
    bool restore;           /* continue where the last session ended, and save where this one
                               ends */
    bool fresh;             /* .. but start from the beginning */
    bool one_pane;          /* no panes side by side */
    bool by_lines;          /* used line by line: pages have no explaining parts below them */
    const char *script;     /* keys, as "j/c_fc<Enter>w"; NULL: none */
    const char *screen;     /* file for the last screen, "-" for stdout; no terminal is used,
                               with or without a script */
    bool tour;              /* show the tour; the session is the one that tour.h names */
    bool watch;             /* read files again when they are written, unless the settings forbid
                               it */
    const AppOffer *offers; /* outputs of these commands, for the menu of exports; NULL: none */
    const AppCommands *commands;
    int n_commands;
} AppOptions;

/* Opens the session, shows it until the user leaves, and closes it. Returns false with *err if the
 * session cannot be opened, there is no terminal, or the screen cannot be written. */
bool app_run(const AppOpener *opener, const AppOptions *options, Error *err);

/* ---- the parts ---- */

/* Where and when the mouse was last pressed; the border that it moves while it is held. */
typedef struct {
    int x, y;
    int64_t pressed_ms;
    bool drags;
    Border border;
} Mouse;

enum { APP_TABLES_MAX = 8 };

/* A group in the path line, in columns [x, end). */
typedef struct {
    int x, end;
    int32_t group;
} Crumb;

typedef struct App {
    Ui ui;
    struct App *before, *after; /* with their sessions: the explorer from which this one was
                                   opened as another configuration, and one that `u` left; NULL */
    int left_at;                /* number of changes of the plan when one of them replaced it */
    Arena *arena, *grid_arena;
    AppOptions options;
    Term *term; /* NULL without a terminal */
    Grid *grid;
    PaneLayout layout;
    ShowId lead, shown; /* the view that was opened, and the view that has the focus since */
    Prompt prompt;
    Crumb crumb[OUTLINE_DEPTH_MAX];
    int n_crumbs;
    Palette palette;
    Mouse mouse;
    Splits splits;
    Place searched_from; /* where `/` was typed, and what was open at that time */
    Arena *search_arena;
    uint8_t *open_then;
    int open_change; /* Ui.n_changes at that time: after a change the groups differ */
    Key keys[KEY_SEQUENCE_MAX];
    int n_keys;
    Tour tour;
    bool quit;
    const Action *tables[APP_TABLES_MAX]; /* the explorer's, then the commands' */
    int n_tables;
    UserConfig *config;
    Settings applied; /* the settings that screen and terminal currently use */
} App;

/* app_free() frees it together with the explorers before and after it and their sessions; its own
 * session remains the caller's. */
App *app_new(Session *session, const AppOptions *options, Term *term, int w, int h);
void app_free(App *app);
void app_resize(App *app, int w, int h);
void app_key(App *app, Key key);
void app_type(App *app, Str script); /* keys in the form of a script */
const Grid *app_draw(App *app);

/* Draws the focused view on a screen of its own, between the first lines and the explanation of
 * marks. */
void app_draw_alone(App *app, Grid *grid);

/* What a click in that column of the line of tabs does; ACT_NONE: nothing. */
ActId app_tab(const App *app, int x);

/* Applies the current settings: glyphs, theme and mouse. */
void app_apply_settings(App *app);
void app_take_config(App *app); /* settings, theme and keys of app->config */

/* The explorer to continue with. If the session was opened again, one on the new session: `app` and
 * its session are then freed, or kept for undo. If undo asked for it, the one before or after it.
 */
App *app_reopened(App *app);

/* ---- actions.c ---- */
void app_act(App *app, const Action *action, Key last);
void app_command(App *app, Str line); /* the text after `:` */
void app_run_asked(App *app);         /* what a view or a menu asked for with Ui.run_next */

/* Changes the current plan; errors go to the message line. */
void app_rerun_policy(App *app);

/* "NAME=VALUE", or "NAME", which shows its value; "policy.NAME" is an option of the policy. */
bool settings_set(Ui *ui, Str args, Error *err);
void settings_menu(Ui *ui);

enum { DOUBLE_MS = 400, HELP_COLUMNS = 8 }; /* of "? help" at the right of the tabs */

void mouse_event(App *app, MouseKind kind, int x, int y, int64_t now_ms);

#endif
