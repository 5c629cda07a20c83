#include "tui/app/app.h"

#include "tui/app/go.h"
#include "tui/state/menu.h"

static const LayoutPane *pane_at(const App *app, int x, int y)
{
    for (int i = 0; i < app->layout.n_panes; i++) {
        const LayoutPane *pane = &app->layout.pane[i];
        if (rect_has(pane->area, x, y) || (pane->frame.w > 0 && rect_has(pane->frame, x, y)))
            return pane;
    }
    return NULL;
}

static void wheel(App *app, bool up, int x, int y)
{
    const LayoutPane *pane = pane_at(app, x, y);

    if (app->palette.open)
        palette_key(&app->ui, &app->palette, up ? K_UP : K_DOWN);
    else if (app->ui.menu.open)
        menu_key(&app->ui, up ? K_UP : K_DOWN);
    else if (pane)
        for (int i = 0; i < 3; i++)
            views[pane->show]->act(&app->ui, up ? ACT_UP : ACT_DOWN);
}

/* The first click puts the cursor on an item, one on the item under the cursor chooses it. */
static void click_menu(Ui *ui, int x, int y)
{
    Menu *menu = &ui->menu;
    int row = menu->top + (y - menu->items.y);

    if (!rect_has(menu->items, x, y) || row >= menu->n_listed) {
        menu->open = false;
        return;
    }
    if (menu->at == row && menu->clicked)
        menu_key(ui, K_ENTER);
    else
        menu->clicked = true;
    menu->at = row;
}

/* Whether the cell shows the mark of a group, which a click opens or closes. */
static bool is_fold_mark(const Grid *grid, int x, int y)
{
    uint32_t rune = grid->cells[y * grid->w + x].rune;

    return rune == 0x25b8 || rune == 0x25be;
}

/* Whether the line has the heads of columns that a click sorts by. */
static bool is_head(const LayoutPane *pane, int y)
{
    const View *view = views[pane->show];
    return view->head && view->list_at > 0 && y == pane->area.y + view->list_at - 1;
}

/* A row is selected, and opened or closed on its mark; the head of a column sorts by it, or
 * opens the menu of what rows can be sorted by. */
static void click_pane(App *app, const LayoutPane *pane, int x, int y)
{
    const View *view = views[pane->show];
    const List *list = &app->ui.list[pane->show];
    int row = y - pane->area.y - view->list_at - list->lead;
    bool folds = is_fold_mark(app->grid, x, y);

    app->ui.at.show = app->shown = pane->show;
    if (is_head(pane, y) && !view->head(&app->ui, x - pane->area.x))
        app_act(app, action_by_id(ACT_SORT), 0);
    if (view->list_at < 0 || row < 0 || row >= pane->area.h)
        return;
    row += list->column ? (x - pane->area.x) / list->column * pane->area.h : 0;
    if (row >= list->height)
        return;
    view->go(&app->ui, list->top + row);
    if (folds)
        view->act(&app->ui, ACT_FOLD);
}

static void click(App *app, int x, int y, bool twice)
{
    const PaneLayout *layout = &app->layout;
    const LayoutPane *pane = pane_at(app, x, y);
    ActId tab = rect_has(layout->tabs, x, y) ? app_tab(app, x) : ACT_NONE;

    if (tab != ACT_NONE)
        app_act(app, action_by_id(tab), 0);
    else if (twice && pane && !is_head(pane, y))
        app_act(app, action_by_id(ACT_OPEN), K_ENTER);
    else if (pane && rect_has(pane->area, x, y))
        click_pane(app, pane, x, y);
    else if (rect_has(layout->tabs, x, y) && x >= layout->tabs.w - HELP_COLUMNS)
        app_act(app, action_by_id(ACT_HELP), 0);
    for (int i = 0; rect_has(layout->path, x, y) && i < app->n_crumbs; i++)
        if (x >= app->crumb[i].x && x < app->crumb[i].end)
            go_group(&app->ui, app->crumb[i].group);
}

static void press(App *app, int x, int y, int64_t now_ms)
{
    Mouse *mouse = &app->mouse;
    bool twice = x == mouse->x && y == mouse->y && now_ms - mouse->pressed_ms < DOUBLE_MS;

    mouse->x = x;
    mouse->y = y;
    mouse->pressed_ms = twice ? now_ms - DOUBLE_MS : now_ms;
    mouse->drags = false;
    if (app->prompt.kind)
        return;
    if (app->palette.open) {
        palette_click(&app->ui, &app->palette, x, y);
        return;
    }
    if (app->ui.menu.open) {
        click_menu(&app->ui, x, y);
        return;
    }
    mouse->drags = layout_border(&app->layout, x, y, &mouse->border);
    if (!mouse->drags)
        click(app, x, y, twice);
    else if (app->term)
        term_drag(app->term, true);
}

static void drop(App *app)
{
    app->mouse.drags = false;
    if (app->term)
        term_drag(app->term, false);
}

void mouse_event(App *app, MouseKind kind, int x, int y, int64_t now_ms)
{
    if (kind == MOUSE_WHEEL_UP || kind == MOUSE_WHEEL_DOWN)
        wheel(app, kind == MOUSE_WHEEL_UP, x, y);
    else if (kind == MOUSE_PRESS)
        press(app, x, y, now_ms);
    else if (kind == MOUSE_DRAG && app->mouse.drags)
        layout_drag(&app->layout, &app->splits, &app->mouse.border, x, y);
    else if (kind == MOUSE_RELEASE && app->mouse.drags)
        drop(app);
}
