#include "tui/views/menu_box.h"

#include "tui/screen/folded.h"
#include "tui/state/menu.h"

enum { COLUMNS_MAX = 8, GAP = 2, BEFORE = 4, NOTE_LINES = 3 }; /* before: the key of an item */

typedef struct {
    int n, gap, width[COLUMNS_MAX];
    bool right[COLUMNS_MAX];
} MenuColumns;

static void measure(const char *text, bool head, MenuColumns *columns)
{
    Str rest = str_from(text);

    for (int c = 0; c < COLUMNS_MAX && rest.n > 0; c++) {
        Str cell = str_take(&rest, '\t');
        if (head && cell.n > 0 && cell.s[0] == ' ')
            columns->right[c] = true;
        int w = text_columns(str_trim(cell));
        if (w > columns->width[c])
            columns->width[c] = w;
        if (w > 0 && c >= columns->n)
            columns->n = c + 1;
    }
}

static int columns_width(const MenuColumns *columns)
{
    int w = columns->n > 1 ? columns->gap * (columns->n - 1) : 0;

    for (int c = 0; c < columns->n; c++)
        w += columns->width[c];
    return w;
}

/* Leaves out last columns until the rest fits; then columns stand closer, and the first one is cut.
 */
static MenuColumns fit_columns(const Menu *menu, int room)
{
    MenuColumns columns = {.gap = GAP};

    measure(menu->head, true, &columns);
    for (int i = 0; i < menu->n; i++)
        measure(menu->item[i].text, false, &columns);
    while (columns.n > 1 && columns_width(&columns) > room &&
           columns_width(&columns) - columns.width[0] + room * 2 / 5 > room)
        columns.n--;
    if (columns_width(&columns) > room)
        columns.gap = 1;
    int over = columns_width(&columns) - room;
    columns.width[0] -= over > 0 ? over : 0;
    return columns;
}

/* The end of a text tells options apart: "…oj.weight dim 1 stored by dp". */
static void draw_end(Text cell, int columns, Pen *pen)
{
    Str tail = text_tail(cell.str, columns - 1);

    pen_rune(pen, ROLE_TEXT, 0x2026);
    pen_text(pen, text_part(cell, cell.str.n - tail.n, tail.n), -1, columns - 1);
}

static void draw_cells(const MenuColumns *columns, Text rest, bool head, Pen *pen)
{
    for (int c = 0; c < columns->n; c++) {
        Text cell = text_trim(text_take(&rest, '\t'));
        int w = columns->width[c];
        if (c > 0)
            pen_tab(pen, pen->x + columns->gap);
        if (columns->right[c])
            pen_right(pen, head ? ROLE_HEAD : ROLE_TEXT, cell.str, w);
        else if (head)
            pen_fit(pen, ROLE_HEAD, cell.str, w);
        else if (columns->n > 1 && text_columns(cell.str) > w)
            draw_end(cell, w, pen);
        else
            pen_text(pen, cell, -1, w);
    }
}

static void draw_items(const Ui *ui, const MenuColumns *columns, Grid *grid, Rect area)
{
    const Menu *menu = &ui->menu;
    Pen pen = pen_new(grid, area);

    if (menu->n_listed == 0)
        pen_puts(&pen, ROLE_NOTE,
                 menu->given ? " no item has this text: Enter uses it as typed" : " no item");
    for (int y = 0; y < menu->height && menu->top + y < menu->n_listed; y++) {
        const MenuItem *item = &menu->item[menu->listed[menu->top + y]];
        pen_to(&pen, 1, y);
        pen_rune(&pen, ROLE_FOCUS, (unsigned char)item->key);
        pen_puts(&pen, ROLE_TEXT, "  ");
        draw_cells(columns, menu_item_text(item), false, &pen);
        if (menu->top + y != menu->at)
            continue;
        pen_to(&pen, 0, y);
        pen_cursor(&pen);
        grid_mark(grid, (Rect){area.x, area.y + y, area.w, 1}, STYLE_SELECTED);
    }
}

static int widest_note(const Menu *menu)
{
    int w = 0;

    for (int i = 0; i < menu->n; i++) {
        int need = text_columns(str_from(menu->item[i].note));
        w = need > w ? need : w;
    }
    return w;
}

/* Lines that the longest note takes. */
static int note_lines(const Menu *menu, int columns)
{
    int most = 0;

    for (int i = 0; i < menu->n; i++) {
        Str rest = str_from(menu->item[i].note);
        int n = 0;
        for (; rest.n > 0 && n < NOTE_LINES; n++)
            text_take_line(&rest, columns);
        most = n > most ? n : most;
    }
    return most;
}

static void draw_note(const Menu *menu, Grid *grid, Rect area)
{
    Pen pen = pen_new(grid, area);

    if (menu_at(menu))
        pen_put_folded(&pen, ROLE_NOTE, str_from(menu_at(menu)->note), 0);
}

/* The title, with what was typed, and how far down the list is shown where it does not fit. */
static const char *box_title(const Ui *ui)
{
    const Menu *menu = &ui->menu;
    Buf title = buf_new(ui->frame);

    buf_puts(&title, menu->title);
    if (menu->typing)
        buf_printf(&title, "   /%s", menu->typed);
    if (menu->n_listed > menu->height)
        buf_printf(&title, "   %.*s",
                   STR_ARG(list_range(ui->frame, menu->top, menu->height, menu->n_listed)));
    return title.s;
}

void menu_draw(Ui *ui, Grid *grid, Rect body)
{
    Menu *menu = &ui->menu;
    MenuColumns columns = fit_columns(menu, body.w - 2 - 2 - BEFORE - 1);
    int note = widest_note(menu) + 2, w = columns_width(&columns) + BEFORE + 3;
    int most = body.w - 2;

    w = note + 2 > w ? note + 2 : w;
    w = w < 30 ? 30 : w;
    int notes = note_lines(menu, (w < most ? w : most) - 4);
    int extra = 2 + (menu->head[0] != 0) + notes;
    int h = menu->n + extra < body.h ? menu->n + extra : body.h;
    menu->height = h > extra ? h - extra : 1;
    menu->top = (int)list_scroll(menu->top, menu->at, menu->n_listed, menu->height);
    int title = text_columns(str_from(box_title(ui))) + 6;
    w = title > w ? title : w;
    w = w > most ? most : w;
    Rect box = {body.x + 1, body.y + body.h - h, w, h};
    grid_blank(grid, box);
    grid_box(grid, box, true, box_title(ui));
    Rect inner = {box.x + 1, box.y + 1, w - 2, h - 2};
    draw_note(menu, grid, (Rect){inner.x + 1, inner.y + inner.h - notes, inner.w - 2, notes});
    Pen pen = pen_new(grid, inner);
    if (menu->head[0]) {
        pen_to(&pen, BEFORE, 0);
        draw_cells(&columns, text_from(menu->head), true, &pen);
        inner.y++;
    }
    inner.h = menu->height;
    menu->items = inner;
    draw_items(ui, &columns, grid, inner);
}
