#include "tui/app/app.h"

#include "core/base/clock.h"
#include "tui/screen/clipboard.h"
#include "tui/state/console.h"
#include "tui/app/complete.h"
#include "tui/app/go.h"
#include "tui/state/jobs/job.h"
#include "tui/state/menu.h"
#include "tui/app/reload.h"
#include "tui/app/resume.h"

#include <stdio.h>

enum { WATCH_MS = 300, JOB_MS = 50, KEYS_A_FRAME = 64 };

void app_apply_settings(App *app)
{
    Ui *ui = &app->ui;

    if (ui->look.settings.glyphs != GLYPHS_AUTO)
        ui->look.ascii = ui->look.settings.glyphs == GLYPHS_ASCII;
    app->applied = ui->look.settings;
    if (!app->term)
        return;
    Theme theme = config_theme(app->config, &ui->look.settings);
    term_theme(app->term, &theme, (Background)ui->look.settings.background);
    term_mouse_on(app->term, ui->look.settings.mouse && !app->options.no_mouse);
}

/* The first is on the message line, all are among the errors. */
static void say_warnings(App *app)
{
    int n = app->config->warnings.n;

    while (n-- > 0)
        ui_error(&app->ui, app->config->warnings.at[n]);
}

void app_take_config(App *app)
{
    app->ui.look.keymap = config_keys(app->config, app->tables, app->n_tables);
    app->ui.look.settings = app->config->settings;
    app_apply_settings(app);
    say_warnings(app);
}

App *app_new(Session *session, const AppOptions *options, Term *term, int w, int h)
{
    Arena *arena = arena_new();
    App *app = arena_make(arena, App);

    app->arena = arena;
    app->options = *options;
    app->tour.on = options->tour;
    app->term = term;
    ui_open(&app->ui, session, views, options->ascii);
    app->ui.jobs.quiet_ms = term ? JOB_QUIET_MS : -1;
    app->ui.prompt = &app->prompt;
    app->config = options->config;
    if (!app->config)
        app->config = config_read(arena, "none");
    app->tables[app->n_tables++] = explorer_actions;
    for (int i = 0; i < options->n_commands && app->n_tables < APP_TABLES_MAX; i++)
        app->tables[app->n_tables++] = options->commands[i].actions;
    app->ui.commands.tables = app->tables + 1;
    app->ui.commands.n = app->n_tables - 1;
    app->ui.commands.offers = options->offers;
    app_resize(app, w, h);
    app_take_config(app);
    return app;
}

static void free_other(App *other)
{
    Session *session = other ? other->ui.session : NULL;

    app_free(other);
    session_close(session);
}

void app_free(App *app)
{
    if (!app)
        return;
    job_end(&app->ui);
    free_other(app->before);
    free_other(app->after);
    if (app->ui.asked.session && app->ui.asked.session != app->ui.session)
        session_close(app->ui.asked.session);
    ui_close(&app->ui);
    arena_free(app->grid_arena);
    arena_free(app->search_arena);
    arena_free(app->arena); /* the explorer itself lives there */
}

void app_resize(App *app, int w, int h)
{
    arena_free(app->grid_arena);
    app->grid_arena = arena_new();
    app->grid = grid_new(app->grid_arena, w < 1 ? 1 : w, h < 1 ? 1 : h, app->options.ascii);
}

static void search_restart(App *app)
{
    if (app->open_change == app->ui.changes.n)
        outline_set_marks(app->ui.outline, app->open_then);
    places_restore(&app->ui, &app->searched_from);
}

/* While a search is typed its first hit is shown; leaving the prompt goes back. */
static void search_as_typed(App *app)
{
    Ui *ui = &app->ui;

    if (app->prompt.n < 2 || ui->at.show >= SHOW_PAGES)
        return;
    search_restart(app);
    go_search(ui, (Str){app->prompt.text, (size_t)app->prompt.n});
}

/* A line of Lua: the next one may be typed at once. True when the key was its own. */
static bool handle_console_key(App *app, Key key)
{
    Ui *ui = &app->ui;

    if (key == key_ctrl('c') && job_in_foreground(ui))
        job_stop(ui);
    else if (key == K_TAB || key == K_BTAB)
        complete_step(ui, &app->prompt, key == K_TAB ? 1 : -1);
    else if (key == K_ENTER && app->prompt.n > 0 && job_in_foreground(ui))
        ui_fail(ui, "the previous line still runs: wait, or stop it with C-c");
    else
        return false;
    return true;
}

static void complete_filter(App *app)
{
    Ui *ui = &app->ui;
    Buf text = buf_new(ui->frame), choices = buf_new(ui->frame);

    filter_complete(&ui->listing.source, (Str){app->prompt.text, (size_t)app->prompt.n}, &text,
                    &choices);
    prompt_set(&app->prompt, text.s);
    if (choices.n > 0)
        ui_say(ui, "%.*s", STR_ARG(buf_str(&choices)));
}

static void handle_prompt_key(App *app, Key key)
{
    char kind = app->prompt.kind;
    if (kind == '>' && handle_console_key(app, key))
        return;
    if (kind == ':' && (key == K_TAB || key == K_BTAB)) {
        complete_step(&app->ui, &app->prompt, key == K_TAB ? 1 : -1);
        return;
    }
    Str typed = {app->prompt.text, 0};

    if (kind == 'f' && key == K_TAB) {
        complete_filter(app);
        return;
    }
    PromptState state = prompt_key(&app->prompt, key);

    typed.n = (size_t)app->prompt.n;
    if (kind == ':' && state == PROMPT_DONE) {
        app_command(app, typed);
    } else if (kind == '>' && state == PROMPT_DONE) {
        if (typed.n > 0)
            console_type(&app->ui, typed);
        prompt_open(&app->prompt, '>');
    } else if (kind == 'f' && state == PROMPT_DONE && str_trim(typed).n > 0) {
        app_command(app, str_from(arena_printf(app->ui.frame, "filter %s", typed.s)));
    } else if (kind == '/' && state == PROMPT_OPEN) {
        search_as_typed(app);
    } else if (kind == '/') {
        search_restart(app);
        app->ui.messages.text[0] = '\0';
        if (state == PROMPT_DONE && typed.n > 0) {
            places_remember(&app->ui);
            go_search(&app->ui, typed);
        }
    }
}

static void mouse(App *app)
{
    int x, y;
    MouseKind kind = term_mouse(app->term, &x, &y);

    mouse_event(app, kind, x, y, clock_ms());
}

/* The letter of a mark. */
static void handle_letter_key(App *app, Key key)
{
    const Action *action = action_by_id(app->ui.asked.letter);

    app->ui.asked.letter = ACT_NONE;
    if (key > ' ' && key < K_BACKSPACE)
        app_command(app, str_from(arena_printf(app->ui.frame, "%s %c", action->name, (char)key)));
}

static void handle_sequence_key(App *app, Key key)
{
    const Action *action = NULL;

    if (app->ui.asked.letter != ACT_NONE) {
        handle_letter_key(app, key);
        return;
    }

    app->keys[app->n_keys++] = key;
    KeysMatch match = keymap_match(app->ui.look.keymap, app->keys, app->n_keys, &action);
    if (match == KEYS_PREFIX && app->n_keys < KEY_SEQUENCE_MAX)
        return;
    if (match == KEYS_ACTION) {
        app->n_keys = 0;
        app_act(app, action, key);
        return;
    }
    Buf text = buf_new(app->ui.frame);
    for (int i = 0; i < app->n_keys; i++)
        key_format(app->keys[i], &text);
    if (key != K_ESC && key != key_ctrl('c'))
        ui_say(&app->ui, "no action on %s; ? lists the keys", text.s);
    app->n_keys = 0;
}

/* Puts the text on the clipboard; returns what accepted it, a program or the terminal; NULL with
 * *err if nothing did. */
static const char *put_on_clipboard(App *app, Str text, Error *err)
{
    ClipboardWay way = (ClipboardWay)app->ui.look.settings.clipboard;
    Buf sequence = buf_new(app->ui.frame);
    const char *program = NULL;

    if (way == CLIPBOARD_OFF || !app->term)
        return "";
    if (way == CLIPBOARD_AUTO && clipboard_prefers_terminal())
        way = CLIPBOARD_TERMINAL;
    if (way != CLIPBOARD_TERMINAL)
        program = clipboard_program(text, err);
    if (program || way == CLIPBOARD_PROGRAM)
        return program;
    *err = (Error){0};
    if (!clipboard_sequence(text, &sequence, err))
        return NULL;
    term_send(app->term, buf_str(&sequence));
    return "the terminal (OSC 52)";
}

static void copy(App *app)
{
    Str text = str_from(app->ui.asked.clipboard), rest = text, line = str_take(&rest, '\n');
    Error err = {0};

    app->ui.asked.clipboard = NULL;
    if (text.n == 0)
        return;
    const char *by = put_on_clipboard(app, text, &err);
    if (!by)
        ui_error(&app->ui, &err);
    else if (*by)
        ui_say(&app->ui, "copied by %s: %.*s%s", by, STR_ARG(line), rest.n > 0 ? " .." : "");
    else
        ui_say(&app->ui, "to copy: %.*s%s", STR_ARG(line), rest.n > 0 ? " .." : "");
}

/* A command that lacks its argument goes to the prompt. */
static void ask(App *app)
{
    const char *text = app->ui.asked.prompt;

    app->ui.asked.prompt = NULL;
    if (!text)
        return;
    prompt_open(&app->prompt, ':');
    prompt_set(&app->prompt, text);
}

void app_key(App *app, Key key)
{
    if (key == K_NONE)
        return;
    if (key == K_EOF) {
        app->quit = true;
        return;
    }
    if (app->layout.too_small) {
        app->quit = key == 'q' || key == 'Q';
        return;
    }
    if (key == K_RESIZE) /* the caller has the size */
        return;
    app->ui.messages.text[0] = '\0';
    app->ui.find.label[0] = '\0';
    app->ui.find.waits = 0;
    tour_key(&app->tour, key);
    if (key == K_MOUSE)
        mouse(app);
    else if (app->prompt.kind)
        handle_prompt_key(app, key);
    else if (app->palette.open)
        palette_key(&app->ui, &app->palette, key);
    else if (app->ui.menu.open)
        menu_key(&app->ui, key);
    else
        handle_sequence_key(app, key);
    app_run_asked(app);
    copy(app);
    ask(app);
    if (memcmp(&app->applied, &app->ui.look.settings, sizeof app->applied) != 0)
        app_apply_settings(app);
}

void app_type(App *app, Str script)
{
    for (Key key; !app->quit && key_script_next(&script, &key);) {
        app_draw(app);
        app_key(app, key);
    }
}

static void take_size(App *app)
{
    int w, h;

    term_size(app->term, &w, &h);
    if (w != app->grid->w || h != app->grid->h)
        app_resize(app, w, h);
}

/* Waits for a key, or for something that changes the screen without one. */
static Key next_key(App *app, Watch *watch)
{
    Ui *ui = &app->ui;

    for (;;) {
        bool busy = job_runs(ui), watches = app->options.watch && ui->look.settings.watch;
        Key key = term_key(app->term, busy ? JOB_MS : watches ? WATCH_MS : -1);
        if (busy)
            job_poll(ui);
        bool written = watches && !job_in_foreground(ui) && watch_poll(watch);
        if (key != K_NONE || busy || written)
            return key;
    }
}

/* The explorer as it is in the end: a model that is read again gets a new one. */
static App *loop(App *app)
{
    Watch *watch = reload_watch(app);
    bool keeps = app->options.restore && !app->options.tour;
    int n_kept = app->ui.changes.n;

    while (!app->quit) {
        if (keeps && app->ui.changes.n != n_kept)
            pins_keep(app);
        n_kept = app->ui.changes.n;
        take_size(app);
        term_show(app->term, app_draw(app));
        Key key = next_key(app, watch);
        for (int i = 0; key != K_NONE && i < KEYS_A_FRAME && !app->quit; i++) {
            if (i > 0)
                app_draw(app); /* keys read what is drawn, shown or not */
            app_key(app, key);
            key = key == K_RESIZE ? K_NONE : term_key(app->term, 0);
        }
        App *next = app->quit ? app : app_reopened(app);
        if (next != app)
            watch = reload_watch(next);
        app = next;
    }
    return app;
}

/* Closes the session. */
static bool run_headless(Session *session, const AppOptions *options, Error *err)
{
    App *app = app_new(session, options, NULL, options->width > 0 ? options->width : 80,
                       options->height > 0 ? options->height : 24);
    Str script = str_from(options->script ? options->script : "");
    bool ok = true;

    for (Key key; !app->quit && key_script_next(&script, &key);) {
        app_draw(app);
        app_key(app, key);
        app = app_reopened(app);
    }
    Buf text = buf_new(app->arena);
    grid_format(app_draw(app), &text);
    if (options->screen && strcmp(options->screen, "-") != 0)
        ok = file_write(options->screen, buf_str(&text), err);
    else if (fwrite(text.s, 1, text.n, stdout) != text.n || fflush(stdout) != 0)
        ok = error_set(err, "the screen cannot be written to stdout");
    session = app->ui.session;
    app_free(app);
    session_close(session);
    return ok;
}

/* Closes the session. */
static void run_on(Term *term, Session *session, const AppOptions *options)
{
    int w, h;

    term_size(term, &w, &h);
    App *app = app_new(session, options, term, w, h);
    bool restore = options->restore && !options->tour;
    if (restore && !options->fresh)
        state_load(app);
    app = loop(app);
    if (restore)
        state_save(app);
    term_end_soon();
    session = app->ui.session;
    app_free(app);
    session_close(session);
}

bool app_run(const AppOpener *opener, const AppOptions *options, Error *err)
{
    AppOptions own = *options;

    if (options->script || options->screen) {
        Session *session = opener->open(opener->context, NULL, err);
        return session && run_headless(session, options, err);
    }
    own.ascii = own.ascii || !term_is_utf8();
    Term *term = term_open(own.color, err);
    if (!term)
        return false;
    Session *session = open_on_screen(opener, term, own.ascii, err);
    if (session)
        run_on(term, session, &own);
    term_close(term);
    term_raise();
    return session != NULL;
}
