#include "tui/state/menu.h"

#include "tui/state/ui.h"

#include <stdio.h>

void menu_open(Ui *ui, const char *title, void (*chosen)(Ui *ui, int value))
{
    ui->menu = (Menu){.open = true, .chosen = chosen};
    snprintf(ui->menu.title, sizeof ui->menu.title, "%s", title);
}

void menu_head(Ui *ui, const char *head)
{
    snprintf(ui->menu.head, sizeof ui->menu.head, "%s", head);
}

static bool has_key(const Menu *menu, char key)
{
    for (int i = 0; i < menu->n; i++)
        if (menu->item[i].key == key)
            return true;
    return false;
}

/* The key of the item in that place, or the next one that is free. j and k move, q leaves. */
static char key_of_place(const Menu *menu, int place)
{
    static const char keys[] = "123456789abcdefghilmnoprstuvwxyz";

    while (place < (int)sizeof keys - 1 && has_key(menu, keys[place]))
        place++;
    return place < (int)sizeof keys - 1 ? keys[place] : ' ';
}

char menu_axis_key(const Mesh *mesh, int axis, const char *taken)
{
    char letter = mesh->axes[axis].name[0];

    for (int a = 0; a < mesh->n_axes; a++)
        if (a != axis && mesh->axes[a].name[0] == letter)
            return 0;
    return strchr(taken, letter) ? 0 : letter;
}

void menu_add(Ui *ui, char key, Str text, int value)
{
    Menu *menu = &ui->menu;

    if (menu->n == MENU_MAX)
        return;
    if (!key)
        key = key_of_place(menu, menu->n);
    MenuItem *item = &menu->item[menu->n++];
    *item = (MenuItem){.key = key, .value = value};
    snprintf(item->text, sizeof item->text, "%.*s", STR_ARG(text));
}

void menu_add_text(Ui *ui, char key, Text text, int value)
{
    Menu *menu = &ui->menu;

    menu_add(ui, key, text.str, value);
    MenuItem *item = &menu->item[menu->n - 1];
    for (int i = 0; i < text.n_spans && item->n_spans < MENU_SPANS_MAX; i++)
        if (text.spans[i].role == SPAN_AXIS || text.spans[i].role == SPAN_SUM)
            item->spans[item->n_spans++] = text.spans[i];
}

void menu_add_axis(Ui *ui, int axis, const char *taken)
{
    Buf name = buf_marked(ui->frame);

    mesh_put_axis(ui->session->mesh, axis, &name);
    menu_add_text(ui, menu_axis_key(ui->session->mesh, axis, taken), buf_text(&name), axis);
}

Text menu_item_text(const MenuItem *item)
{
    return (Text){.str = str_from(item->text), .spans = item->spans, .n_spans = item->n_spans};
}

void menu_note(Ui *ui, Str note)
{
    MenuItem *item = &ui->menu.item[ui->menu.n - 1];

    snprintf(item->note, sizeof item->note, "%.*s", STR_ARG(note));
}

static void choose(Ui *ui, int i)
{
    void (*chosen)(Ui *, int) = ui->menu.chosen;
    int value = ui->menu.item[i].value;

    ui->menu.open = false;
    chosen(ui, value);
}

static void turn_page(Menu *menu, int by)
{
    menu->at += by * (menu->height > 1 ? menu->height - 1 : 1);
    if (menu->at >= menu->n)
        menu->at = menu->n - 1;
    if (menu->at < 0)
        menu->at = 0;
}

void menu_key(Ui *ui, Key key)
{
    Menu *menu = &ui->menu;

    for (int i = 0; i < menu->n; i++) {
        if (menu->item[i].key == key && key != ' ') {
            choose(ui, i);
            return;
        }
    }
    if ((key == 'j' || key == K_DOWN) && menu->n > 0)
        menu->at = (menu->at + 1) % menu->n;
    else if ((key == 'k' || key == K_UP) && menu->n > 0)
        menu->at = (menu->at + menu->n - 1) % menu->n;
    else if (key == K_PGDN || key == K_PGUP)
        turn_page(menu, key == K_PGDN ? 1 : -1);
    else if (key == K_ENTER && menu->n > 0)
        choose(ui, menu->at);
    else if ((key == '<' || key == '>') && menu->moved)
        menu->moved(ui, key == '>' ? 1 : -1);
    else
        menu->open = false;
}
