#include "tui/app/menu.h"

#include "tui/views/label.h"

#include <stdio.h>

void menu_open(Ui *ui, const char *title, void (*chosen)(Ui *ui, int value))
{
    ui->menu = (Menu){.open = true, .chosen = chosen};
    snprintf(ui->menu.title, sizeof ui->menu.title, "%s", title);
}

void menu_add(Ui *ui, char key, Str text, int value)
{
    Menu *menu = &ui->menu;

    if (menu->n == MENU_MAX)
        return;
    MenuItem *item = &menu->item[menu->n++];
    item->key = key ? key : (char)(menu->n < 10 ? '0' + menu->n : 'a' + menu->n - 10);
    item->value = value;
    snprintf(item->text, sizeof item->text, "%.*s", STR_ARG(text));
}

static void choose(Ui *ui, int i)
{
    void (*chosen)(Ui *, int) = ui->menu.chosen;
    int value = ui->menu.item[i].value;

    ui->menu.open = false;
    chosen(ui, value);
}

void menu_key(Ui *ui, Key key)
{
    Menu *menu = &ui->menu;

    for (int i = 0; i < menu->n; i++) {
        if (menu->item[i].key == key) {
            choose(ui, i);
            return;
        }
    }
    if ((key == 'j' || key == K_DOWN) && menu->n > 0)
        menu->at = (menu->at + 1) % menu->n;
    else if ((key == 'k' || key == K_UP) && menu->n > 0)
        menu->at = (menu->at + menu->n - 1) % menu->n;
    else if (key == K_ENTER && menu->n > 0)
        choose(ui, menu->at);
    else if ((key == '<' || key == '>') && menu->moved)
        menu->moved(ui, key == '>' ? 1 : -1);
    else
        menu->open = false;
}

void menu_draw(const Ui *ui, Grid *grid, Rect body)
{
    const Menu *menu = &ui->menu;
    int w = text_columns(str_from(menu->title)) + 4;

    for (int i = 0; i < menu->n; i++) {
        int need = text_columns(str_from(menu->item[i].text)) + 8;
        w = need > w ? need : w;
    }
    w = w < 30 ? 30 : w > body.w - 2 ? body.w - 2 : w;
    int h = menu->n + 2 < body.h ? menu->n + 2 : body.h;
    Rect box = {body.x + 1, body.y + body.h - h, w, h};
    Pen pen = pen_new(grid, box);
    for (int y = 0; y < h; y++) {
        pen_to(&pen, 0, y);
        pen_tab(&pen, w);
    }
    grid_box(grid, box, true, menu->title);
    pen = pen_new(grid, (Rect){box.x + 1, box.y + 1, w - 2, h - 2});
    for (int i = 0; i < menu->n; i++) {
        pen_to(&pen, 1, i);
        pen_rune(&pen, ROLE_FOCUS, (unsigned char)menu->item[i].key);
        pen_puts(&pen, ROLE_TEXT, "  ");
        draw_sharding(ui, &pen, str_from(menu->item[i].text), -1, w - 7);
        if (i != menu->at)
            continue;
        pen_to(&pen, 0, i);
        pen_cursor(&pen);
        grid_mark(grid, (Rect){box.x + 1, box.y + 1 + i, w - 2, 1}, STYLE_SELECTED);
    }
}
