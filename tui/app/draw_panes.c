#include "tui/app/draw_panes.h"

#include "tui/views/mem.h"

#include <inttypes.h>

bool panes_show(const PaneLayout *layout, ShowId show)
{
    for (int i = 0; i < layout->n_panes; i++)
        if (layout->pane[i].show == show)
            return true;
    return false;
}

/* Which rows of a view's list are shown; "" where all are. */
Str panes_position(const Ui *ui, ShowId show)
{
    const List *list = &ui->list[show];

    return list_range(ui->frame, list->top, list->height, list->n);
}

enum { GUTTER_MIN = 4, GUTTER_PANE_MIN = 50 };

/* Room for row numbers, as of the last time the view was drawn. */
static int gutter_columns(const Ui *ui, const LayoutPane *pane)
{
    int columns = 2;

    if (views[pane->show]->list_at < 0 || pane->area.w < GUTTER_PANE_MIN)
        return 0;
    for (int64_t n = ui->list[pane->show].n; n > 0; n /= 10)
        columns++;
    return columns < GUTTER_MIN ? GUTTER_MIN : columns;
}

static void draw_numbers(App *app, const LayoutPane *pane, int columns)
{
    const Ui *ui = &app->ui;
    ShowId show = pane->show;
    int first = views[show]->list_at + ui->list[show].lead;
    Pen pen = pen_new(app->grid, pane->area);

    for (int y = 0; y < ui->list[show].height && ui->list[show].top + y < ui->list[show].n; y++) {
        pen_to(&pen, 0, first + y);
        pen_printf(&pen, ROLE_DIM, "%*" PRId64, columns - 1, ui->list[show].top + y + 1);
    }
}

/* At the right end of the top line of the pane's frame. */
static void draw_position(const App *app, const LayoutPane *pane)
{
    Str text = panes_position(&app->ui, pane->show);
    Rect line = pane->frame;

    if (text.n == 0 || line.w < (int)text.n + 4 + (int)strlen(views[pane->show]->name) + 6)
        return;
    Pen pen = pen_new(app->grid, (Rect){line.x, line.y, line.w, 1});
    pen_to(&pen, line.w - (int)text.n - 4, 0);
    pen_printf(&pen, ROLE_DIM, " %.*s ", STR_ARG(text));
}

static void draw_pane(App *app, const LayoutPane *pane)
{
    Ui *ui = &app->ui;
    Pen pen = pen_new(app->grid, pane->area);
    int gutter = ui->look.settings.numbers ? gutter_columns(ui, pane) : 0;

    pen.area.x += gutter;
    pen.area.w -= gutter;
    if (pane->frame.h > 1)
        grid_box(app->grid, pane->frame, pane->show == ui->at.show, views[pane->show]->name);
    else if (pane->frame.h == 1)
        grid_rule(app->grid, pane->frame, pane->show == ui->at.show, views[pane->show]->name);
    if (pane->show == ui->at.show)
        pen_cursor(&pen);           /* where the view begins, unless it has a selected row */
    ui->list[pane->show].wants = 0; /* unless the view says it */
    views[pane->show]->draw(ui, &pen);
    draw_position(app, pane);
    if (gutter > 0)
        draw_numbers(app, pane, gutter);
}

void panes_lay_out(App *app, int h)
{
    Ui *ui = &app->ui;
    LayoutLook look = {.zoomed = ui->look.zoomed || app->options.one_pane,
                       .trains = ui_graph(ui)->phase != NULL,
                       .tries = mem_has_settings(ui),
                       .staged = ui_plan(ui)->decided->stages != NULL,
                       .lead = app->lead,
                       .alone = !ui->compare,
                       .brief = app->options.by_lines};

    for (int show = 0; show < SHOW_COUNT; show++)
        look.wants[show] = ui->list[show].wants;
    app->layout = layout_make(app->grid->w, h, ui->at.show, &look, &app->splits);
}

static bool same_panes(const PaneLayout *a, const PaneLayout *b)
{
    if (a->n_panes != b->n_panes)
        return false;
    for (int i = 0; i < a->n_panes; i++)
        if (memcmp(&a->pane[i], &b->pane[i], sizeof a->pane[i]) != 0)
            return false;
    return true;
}

void panes_draw(App *app, int h)
{
    for (int i = 0; i < app->layout.n_panes; i++)
        draw_pane(app, &app->layout.pane[i]);
    PaneLayout drawn = app->layout;
    panes_lay_out(app, h);
    if (same_panes(&drawn, &app->layout))
        return;
    grid_clear(app->grid);
    for (int i = 0; i < app->layout.n_panes; i++)
        draw_pane(app, &app->layout.pane[i]);
}
