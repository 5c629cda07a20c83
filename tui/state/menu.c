#include "tui/state/menu.h"

#include "tui/state/ui.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

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
    menu->listed[menu->n_listed++] = menu->n - 1;
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

const MenuItem *menu_at(const Menu *menu)
{
    return menu->at < menu->n_listed ? &menu->item[menu->listed[menu->at]] : NULL;
}

static void choose(Ui *ui, int item)
{
    void (*chosen)(Ui *, int) = ui->menu.chosen;
    int value = ui->menu.item[item].value;

    ui->menu.open = false;
    chosen(ui, value);
}

static void move(Menu *menu, int by, bool around)
{
    int n = menu->n_listed, to = menu->at + by;

    if (n == 0)
        return;
    if (around)
        to = (to + n) % n;
    menu->at = to >= n ? n - 1 : to < 0 ? 0 : to;
}

/* ---- typing ---- */

static bool begins_with(const char *text, const char *typed)
{
    while (*typed && tolower((unsigned char)*text) == tolower((unsigned char)*typed))
        text++, typed++;
    return !*typed;
}

static bool has_text(const MenuItem *item, const char *typed)
{
    const char *at = item->text;

    while (*at && !begins_with(at, typed))
        at++;
    return begins_with(at, typed);
}

/* The cursor goes to the first item that begins with the text, or else to the first that has it. */
static void list_typed(Menu *menu)
{
    bool found = false;

    menu->n_listed = menu->at = menu->top = 0;
    for (int i = 0; i < menu->n; i++) {
        if (!has_text(&menu->item[i], menu->typed))
            continue;
        if (!found && begins_with(menu->item[i].text, menu->typed)) {
            menu->at = menu->n_listed;
            found = true;
        }
        menu->listed[menu->n_listed++] = i;
    }
}

/* A letter that leaves no item is not taken, unless the text itself can be chosen. */
static void type_letter(Menu *menu, char letter)
{
    size_t n = strlen(menu->typed);
    Menu before = *menu;

    if (n + 1 >= MENU_TYPED_MAX)
        return;
    menu->typed[n] = letter;
    menu->typed[n + 1] = '\0';
    menu->typing = true;
    list_typed(menu);
    if (menu->n_listed == 0 && !menu->given)
        *menu = before;
}

static void erase(Menu *menu, size_t n)
{
    size_t typed = strlen(menu->typed);

    menu->typed[n < typed ? typed - n : 0] = '\0';
    menu->typing = menu->typed[0] != '\0';
    list_typed(menu);
}

static void enter(Ui *ui)
{
    Menu *menu = &ui->menu;
    const MenuItem *item = menu_at(menu);

    if (item) {
        choose(ui, (int)(item - menu->item));
    } else if (menu->given && menu->typed[0]) {
        menu->open = false;
        menu->given(ui, str_from(arena_str(ui->frame, str_from(menu->typed))));
    }
}

static bool chose_by_key(Ui *ui, Key key)
{
    const Menu *menu = &ui->menu;

    if (menu->typing || key == ' ' || (menu->given && key < 0x80 && isalpha(key)))
        return false;
    for (int i = 0; i < menu->n; i++) {
        if (menu->item[i].key != key)
            continue;
        choose(ui, i);
        return true;
    }
    return false;
}

/* What a key does besides typing. */
static bool steer(Ui *ui, Key key)
{
    Menu *menu = &ui->menu;
    bool letters = !menu->typing && !menu->given;

    if (key == K_DOWN || key == K_UP)
        move(menu, key == K_DOWN ? 1 : -1, true);
    else if (letters && (key == 'j' || key == 'k'))
        move(menu, key == 'j' ? 1 : -1, true);
    else if (key == K_PGDN || key == K_PGUP)
        move(menu, (menu->height > 1 ? menu->height - 1 : 1) * (key == K_PGDN ? 1 : -1), false);
    else if (key == K_HOME || key == K_END)
        move(menu, key == K_END ? menu->n_listed : -menu->n_listed, false);
    else if (key == K_ENTER)
        enter(ui);
    else if ((key == '<' || key == '>') && menu->moved && !menu->typing)
        menu->moved(ui, key == '>' ? 1 : -1);
    else if (menu->typing && (key == K_BACKSPACE || key == K_ESC || key == key_ctrl('u')))
        erase(menu, key == K_BACKSPACE ? 1 : MENU_TYPED_MAX);
    else if (key == K_ESC || key == K_BACKSPACE || key == key_ctrl('c') || (letters && key == 'q'))
        menu->open = false;
    else
        return false;
    return true;
}

void menu_key(Ui *ui, Key key)
{
    Menu *menu = &ui->menu;

    if (chose_by_key(ui, key) || steer(ui, key))
        return;
    if (key == '/' && !menu->typing && !menu->given)
        menu->typing = true;
    else if (key >= ' ' && key < 0x7f && (key != ' ' || menu->typing))
        type_letter(menu, (char)key);
}
