#include "tui/app/export_view.h"

#include "core/base/file.h"
#include "tui/state/menu.h"
#include "tui/screen/grid_write.h"
#include "core/base/sheet_write.h"

#include <ctype.h>

enum { EXPORT_W_MIN = 80, EXPORT_H_MIN = 40, EXPORT_ROWS_MAX = 2000 };

typedef enum { AS_SVG, AS_HTML, AS_TXT, AS_ANSI, AS_CSV, AS_JSON, AS_MD, AS_COUNT } Format;

static const struct {
    const char *name, *what;
} formats[AS_COUNT] = {
    [AS_SVG] = {"svg", "drawing of the view"}, [AS_HTML] = {"html", "page of the view"},
    [AS_TXT] = {"txt", "plain text"},          [AS_ANSI] = {"ansi", "text with terminal colours"},
    [AS_CSV] = {"csv", "its rows as data"},    [AS_JSON] = {"json", "its rows as data"},
    [AS_MD] = {"md", "its rows as a table"},
};

static bool format_find(Str name, Format *out)
{
    for (int i = 0; i < AS_COUNT; i++) {
        if (!str_eq(name, str_from(formats[i].name)))
            continue;
        *out = (Format)i;
        return true;
    }
    return false;
}

/* ---- as it looks ---- */

/* The view alone with all its rows. What drawing it changes is put back. */
static Grid *draw_whole(App *app, Arena *arena)
{
    Ui *ui = &app->ui;
    List before[SHOW_COUNT];
    ShowId show = ui->at.show;
    int w = app->grid->w > EXPORT_W_MIN ? app->grid->w : EXPORT_W_MIN;
    int h = app->grid->h > EXPORT_H_MIN ? app->grid->h : EXPORT_H_MIN;
    Grid *grid = grid_new(arena, w, h, ui->look.ascii);

    memcpy(before, ui->list, sizeof before);
    app_draw_alone(app, grid);
    int64_t more = ui->list[show].n - ui->list[show].height;
    if (more > 0) {
        h += (int)(more < EXPORT_ROWS_MAX ? more : EXPORT_ROWS_MAX);
        grid = grid_new(arena, w, h, ui->look.ascii);
        app_draw_alone(app, grid);
    }
    memcpy(ui->list, before, sizeof before);
    return grid;
}

static void write_looks(App *app, Format format, Str title, Buf *out)
{
    const Grid *grid = draw_whole(app, out->arena);
    Theme theme = config_theme(app->config, &app->ui.look.settings);

    if (format == AS_SVG)
        grid_write_svg(grid, &theme, title, out);
    else if (format == AS_HTML)
        grid_write_html(grid, &theme, title, out);
    else if (format == AS_ANSI)
        grid_write_ansi(grid, &theme, out);
    else
        grid_format(grid, out);
}

/* ---- as data ---- */

/* A page of text is a table of its lines. */
static void page_table(const Ui *ui, ShowId show, Sheet *sheet)
{
    Str rest = ui->list[show].text.str;

    sheet_column(sheet, "text", false);
    while (rest.n > 0)
        sheet_put(sheet, str_take(&rest, '\n'));
}

static bool write_data(App *app, Format format, Buf *out, Error *err)
{
    Ui *ui = &app->ui;
    const View *view = views[ui->at.show];
    Sheet sheet = {.arena = out->arena};

    if (view->table)
        view->table(ui, &sheet);
    else if (ui->list[ui->at.show].text.str.n > 0)
        page_table(ui, ui->at.show, &sheet);
    if (sheet.columns.n == 0) {
        error_set(err, "%s is a picture and has no rows", view->name);
        error_hint(err, "svg, html, txt and ansi show it as it looks");
        return false;
    }
    if (format == AS_CSV)
        sheet_write_csv(&sheet, out);
    else if (format == AS_JSON)
        sheet_write_json(&sheet, view->name, out);
    else
        sheet_write_md(&sheet, out);
    return true;
}

/* ---- the command ---- */

static bool is_drawing(const Ui *ui, Str kind)
{
    for (const AppOffer *offer = ui->commands.offers; offer && offer->command; offer++)
        if (strcmp(offer->command, "draw") == 0 && str_eq(kind, str_from(offer->word)))
            return true;
    return false;
}

static Str ending(Str file)
{
    for (size_t i = file.n; i > 0 && file.s[i - 1] != '/'; i--)
        if (file.s[i - 1] == '.')
            return (Str){file.s + i, file.n - i};
    return (Str){"", 0};
}

const char *export_kinds(const Ui *ui)
{
    Buf names = buf_new(ui->frame);

    for (int i = 0; i < AS_COUNT; i++)
        buf_printf(&names, "%s%s", i > 0 ? " " : "", formats[i].name);
    for (const AppOffer *offer = ui->commands.offers; offer && offer->command; offer++)
        if (strcmp(offer->command, "draw") == 0)
            buf_printf(&names, " %s", offer->word);
    return names.s;
}

static const char *model_name(const Ui *ui)
{
    Str name = str_from(path_base(ui->session->options.model ? ui->session->options.model : ""));
    Str end = ending(name);

    if (end.n > 0 && end.n + 1 < name.n)
        name.n -= end.n + 1;
    return name.n > 0 ? arena_str(ui->frame, name) : "model";
}

bool export_view(App *app, Str args, Error *err)
{
    Ui *ui = &app->ui;
    Str kind = str_trim(args), file = str_take(&kind, ' ');
    const char *path = arena_str(ui->frame, file);
    Buf text = buf_new(ui->frame);
    Format format;

    kind = str_trim(kind);
    if (is_drawing(ui, kind) || (kind.n == 0 && str_ends(file, STR(".dot")))) {
        ui->asked.command = arena_printf(ui->frame, "draw %.*s", STR_ARG(args));
        return true;
    }
    if (!format_find(kind.n > 0 ? kind : ending(file), &format)) {
        error_set(err, "which file? its name ends in .svg .html .txt .ansi .csv .json or .md");
        error_hint(err, ":export FILE KIND, or `E` for a menu");
        return false;
    }
    const char *title = arena_printf(ui->frame, "%s: %s", model_name(ui), views[ui->at.show]->name);
    bool ok = true;
    if (format >= AS_CSV)
        ok = write_data(app, format, &text, err);
    else
        write_looks(app, format, str_from(title), &text);
    if (!ok || !file_write(path, buf_str(&text), err))
        return false;
    ui_say(ui, "%s written", path);
    return true;
}

/* ---- the menu ---- */

/* "gpt2-on-the-mesh" */
static const char *stem(const Ui *ui, const char *what)
{
    Buf out = buf_new(ui->frame);

    buf_printf(&out, "%s-", model_name(ui));
    for (const char *c = what; *c; c++)
        buf_putc(&out, *c == ' ' ? '-' : (char)tolower((unsigned char)*c));
    return out.s;
}

/* Formats of the view first, then what other layers write of the plan. */
static void chosen(Ui *ui, int value)
{
    const char *view = views[ui->at.show]->name;

    if (value < AS_COUNT) {
        ui->asked.command =
            arena_printf(ui->frame, "export %s.%s", stem(ui, view), formats[value].name);
        return;
    }
    const AppOffer *offer = &ui->commands.offers[value - AS_COUNT];
    ui->asked.command = arena_printf(ui->frame, "%s %s.%s %s", offer->command,
                                     stem(ui, offer->name), offer->ending, offer->word);
}

void export_menu(App *app)
{
    static const char keys[AS_COUNT + 1] = "shtacjm"; /* ORDER Format */
    Ui *ui = &app->ui;
    const char *view = views[ui->at.show]->name;

    menu_open(ui, arena_printf(ui->frame, "export to %s.*", stem(ui, view)), chosen);
    for (int i = 0; i < AS_COUNT; i++) {
        const char *text = arena_printf(ui->frame, "%-5s %s", formats[i].name, formats[i].what);
        menu_add(ui, keys[i], str_from(text), i);
    }
    for (int i = 0; ui->commands.offers && ui->commands.offers[i].command; i++) {
        const AppOffer *offer = &ui->commands.offers[i];
        const char *text =
            arena_printf(ui->frame, "%-5s %s: %s", offer->ending, offer->name, offer->what);
        menu_add(ui, 0, str_from(text), AS_COUNT + i);
    }
}
