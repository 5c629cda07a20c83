#include "tui/app/plain.h"

#include <stdlib.h>

enum { PLAIN_W = 100, PLAIN_H = 60 };

typedef struct {
    App *app;
    FILE *out;
    ShowId show; /* what was printed last */
    int64_t top;
    int changes;
} Plain;

static void print_rows(Plain *plain, int first, int n)
{
    Buf text = buf_new(plain->app->ui.frame);

    grid_format_rows(plain->app->grid, first, n, &text);
    fwrite(text.s, 1, text.n, plain->out);
}

/* Names of a model are anything; tabs stand between columns. */
static void print_text(Plain *plain, const char *text)
{
    Buf out = buf_new(plain->app->ui.frame);
    Str rest = str_from(text);

    while (rest.n > 0) {
        text_printable(str_take(&rest, '\t'), &out);
        if (rest.n > 0)
            buf_putc(&out, '\t');
    }
    fwrite(out.s, 1, out.n, plain->out);
}

static void print_menu(Plain *plain)
{
    const Menu *menu = &plain->app->ui.menu;

    print_text(plain, menu->title);
    fputc('\n', plain->out);
    for (const char *s = menu->head; *s; s++) { /* a blank behind a tab says how to align */
        if (s == menu->head)
            fputs("     ", plain->out);
        if (*s != ' ' || s[-1] != '\t')
            fputc(*s, plain->out);
    }
    if (menu->head[0])
        fputc('\n', plain->out);
    for (int i = 0; i < menu->n; i++) {
        fprintf(plain->out, "  %c  ", menu->item[i].key);
        print_text(plain, menu->item[i].text);
        fputc('\n', plain->out);
    }
}

/* The view and the parts that explain it, each under its title, without blank lines. */
static void print_view(Plain *plain)
{
    App *app = plain->app;
    const Rect *body = &app->layout.body;

    print_rows(plain, app->layout.status.y, 1);
    fprintf(plain->out, " %s:", views[app->ui.at.show]->name);
    print_rows(plain, app->layout.path.y, 1);
    for (int y = body->y; y < body->y + body->h; y++)
        if (!grid_row_is_blank(app->grid, y))
            print_rows(plain, y, 1);
    plain->show = app->ui.at.show;
    plain->top = app->ui.list[app->ui.at.show].top;
    plain->changes = app->ui.changes.n;
}

/* Prints what a command changed: the whole view, or the selected row; and the message. */
static void print_change(Plain *plain, bool again)
{
    App *app = plain->app;
    Ui *ui = &app->ui;

    app_draw(app);
    if (ui->menu.open) {
        print_menu(plain);
        return;
    }
    if (again || ui->at.show != plain->show || ui->list[ui->at.show].top != plain->top ||
        ui->changes.n != plain->changes)
        print_view(plain);
    else if (!ui->messages.text[0])
        print_rows(plain, app->grid->cursor_y, 1);
    print_rows(plain, app->layout.note.y, 1);
}

static void type_line(App *app, Str line)
{
    while (line.n > 0 && !app->quit)
        app_key(app, (Key)str_take_rune(&line));
    app_key(app, K_ENTER);
}

enum { NAME_MIN = 3 }; /* shorter words are keys */

static bool is_action(const App *app, Str line)
{
    Str rest = line, name = str_take(&rest, ' ');
    Error none = {0};

    return name.n >= NAME_MIN && action_by_name(name, app->tables, app->n_tables, &none);
}

/* Whether all of it are keys, as in a script. */
static bool is_keys(const App *app, Str line)
{
    Key key[KEY_SEQUENCE_MAX];
    int n = 0;

    for (Key next; key_script_next(&line, &next);) {
        const Action *action;
        key[n++] = next;
        KeysMatch match = keymap_match(app->ui.look.keymap, key, n, &action);
        if (match == KEYS_ACTION)
            n = 0;
        else if (match == KEYS_NO || n == KEY_SEQUENCE_MAX)
            return false;
    }
    return n == 0;
}

static void obey(App *app, Str line)
{
    bool command = line.s[0] == ':' || line.s[0] == '/';

    if (app->prompt.kind || app->palette.open) {
        type_line(app, line);
    } else if (app->ui.menu.open && line.n == 1) {
        app_key(app, line.s[0]);
    } else if (command) {
        app_key(app, line.s[0]);
        type_line(app, (Str){line.s + 1, line.n - 1});
    } else if (!is_action(app, line) && is_keys(app, line)) {
        app_type(app, line);
    } else {
        app_key(app, ':');
        type_line(app, line);
    }
}

void plain_run(Session *session, const AppOptions *options, FILE *in, FILE *out)
{
    AppOptions own = *options;
    char *line = NULL;
    size_t room = 0;

    own.ascii = own.ascii || !term_is_utf8();
    own.by_lines = true;
    App *app = app_new(session, &own, NULL, options->width > 0 ? options->width : PLAIN_W,
                       options->height > 0 ? options->height : PLAIN_H);
    Plain plain = {.app = app, .out = out};
    print_change(&plain, true);
    while (!app->quit) {
        print_text(&plain, app->prompt.kind ? app->prompt.text : "dimscope> ");
        fflush(out);
        ssize_t n = getline(&line, &room, in);
        if (n < 0)
            break;
        Str typed = str_trim((Str){line, (size_t)n});
        if (typed.n > 0)
            obey(app, typed);
        if (!app->quit)
            print_change(&plain, typed.n == 0);
    }
    fflush(out);
    free(line);
    app_free(app);
}
