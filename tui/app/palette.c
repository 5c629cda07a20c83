#include "tui/app/palette.h"

#include "tui/help/glossary.h"
#include "tui/screen/folded.h"

#include <ctype.h>

enum { ACTIONS_MAX = 400, NAME_SCORE = 1000, BEGINS = 30, TOGETHER = 15, LETTER = 2 };

/* An action, or a word that has a page of help. */
typedef struct {
    const Action *action; /* NULL of a word */
    const GlossaryTerm *term;
    int score;
} Match;

typedef struct {
    int n;
    Match at[ACTIONS_MAX];
} Matches;

void palette_open(Palette *palette)
{
    *palette = (Palette){.open = true};
}

static bool begins_word(Str text, size_t i)
{
    return i == 0 || !isalnum((unsigned char)text.s[i - 1]);
}

/* How well the typed letters fit a text: more is better, 0 is not at all. */
static int palette_score(Str typed, Str text)
{
    int score = 1;
    size_t at = 0, last = 0;

    for (size_t i = 0; i < typed.n; i++) {
        int letter = tolower((unsigned char)typed.s[i]);
        while (at < text.n && tolower((unsigned char)text.s[at]) != letter)
            at++;
        if (at == text.n)
            return 0;
        score += begins_word(text, at) ? BEGINS : i > 0 && at == last + 1 ? TOGETHER : LETTER;
        last = at++;
    }
    return score;
}

static int score_of(Str typed, const Action *action)
{
    Str name = str_from(action->name), help = str_from(action->help);
    int score = palette_score(typed, name);

    if (score > 0)
        return NAME_SCORE + score + (str_starts(name, typed) ? NAME_SCORE : 0) - (int)name.n;
    return str_find(help, typed) >= 0 ? 2 : palette_score(typed, help) > (int)typed.n * LETTER * 3;
}

/* By the beginning of one of its names: an action that has the letters comes first. */
static int score_of_term(Str typed, const GlossaryTerm *term, Arena *arena)
{
    for (Str rest = str_from(term->words); rest.n > 0;) {
        Str name = str_from(str_lower_case(arena, str_take(&rest, '|')));
        if (str_starts(name, str_from(str_lower_case(arena, typed))))
            return NAME_SCORE - (int)name.n;
    }
    return 0;
}

/* Best first; equals stay in the order of the tables. */
static void insert(Matches *all, Match match)
{
    int i = all->n;

    if (match.score <= 0 || all->n == ACTIONS_MAX)
        return;
    for (; i > 0 && all->at[i - 1].score < match.score; i--)
        all->at[i] = all->at[i - 1];
    all->at[i] = match;
    all->n++;
}

static Matches *find(Ui *ui, const Palette *palette)
{
    Matches *all = arena_make(ui->frame, Matches);
    Str typed = {palette->text, (size_t)palette->n};

    for (int t = -1; t < ui->commands.n; t++)
        for (const Action *row = t < 0 ? explorer_actions : ui->commands.tables[t]; row->name;
             row++)
            insert(all, (Match){row, NULL, typed.n == 0 ? 1 : score_of(typed, row)});
    const GlossaryTerm *term;
    for (int i = 0; typed.n > 1 && (term = glossary_at(i)); i++)
        insert(all, (Match){NULL, term, score_of_term(typed, term, ui->frame)});
    return all;
}

static void choose(Ui *ui, Palette *palette, const Matches *all)
{
    palette->open = false;
    if (palette->at >= all->n) {
        ui_say(ui, "no action has this name");
        return;
    }
    const GlossaryTerm *term = all->at[palette->at].term;
    if (term) {
        ui->asked.command = arena_printf(ui->frame, "help %.*s", STR_ARG(glossary_title(term)));
        return;
    }
    const Action *action = all->at[palette->at].action;
    bool needs_more = *action->args && action->args[0] != '[';
    if (needs_more)
        ui->asked.prompt = arena_printf(ui->frame, "%s ", action->name);
    else
        ui->asked.command = action->name;
}

void palette_key(Ui *ui, Palette *palette, Key key)
{
    Matches *all = find(ui, palette);
    int n = all->n > 0 ? all->n : 1;

    palette->clicked = false;
    if (key == K_ESC || key == key_ctrl('c') || (key == K_BACKSPACE && palette->n == 0)) {
        palette->open = false;
    } else if (key == K_ENTER) {
        choose(ui, palette, all);
    } else if (key == K_DOWN || key == K_TAB || key == key_ctrl('n')) {
        palette->at = (palette->at + 1) % n;
    } else if (key == K_UP || key == K_BTAB || key == key_ctrl('p')) {
        palette->at = (palette->at + n - 1) % n;
    } else if (key == K_BACKSPACE || key == key_ctrl('u')) {
        palette->n = key == K_BACKSPACE ? palette->n - 1 : 0;
        palette->at = 0;
    } else if (key >= ' ' && key < 0x7f && palette->n + 1 < PALETTE_TEXT_MAX) {
        palette->text[palette->n++] = (char)key;
        palette->at = 0;
    }
}

void palette_click(Ui *ui, Palette *palette, int x, int y)
{
    Matches *all = find(ui, palette);
    int row = palette->top + (y - palette->items.y);

    if (!rect_has(palette->items, x, y)) {
        palette->open = false;
        return;
    }
    if (row >= all->n)
        return;
    bool again = palette->clicked && palette->at == row;
    palette->at = row;
    palette->clicked = true;
    if (again)
        choose(ui, palette, all);
}

enum { BOX_W = 118, BOX_H = 16, FOOT_H = 2, NAME_W = 21, KEYS_W = 12 };

static const char *match_name(Arena *arena, const Match *match)
{
    const Action *action = match->action;

    if (match->term)
        return arena_printf(arena, ":help %.*s", STR_ARG(glossary_title(match->term)));
    return arena_printf(arena, ":%s%s%s", action->name, *action->args ? " " : "", action->args);
}

static const char *match_help(const Match *match)
{
    return match->action ? match->action->help : match->term->what;
}

static void draw_match(Ui *ui, const Match *match, Pen *pen)
{
    Str keys = {0};

    if (match->action)
        keys = keymap_keys(ui->look.keymap, ui->frame, match->action);
    pen_rune(pen, ROLE_TEXT, ' ');
    pen_fit(pen, ROLE_HEAD, str_from(match_name(ui->frame, match)), NAME_W);
    pen_rune(pen, ROLE_TEXT, ' ');
    pen_fit(pen, ROLE_FOCUS, keys, KEYS_W);
    pen_rune(pen, ROLE_TEXT, ' ');
    pen_fit(pen, ROLE_TEXT, str_from(match_help(match)), pen->area.w - pen->x);
}

static const char *box_title(const Ui *ui, int first, int height, int n)
{
    Str range = list_range(ui->frame, first, height, n);

    return range.n > 0 ? arena_printf(ui->frame, "actions %.*s", STR_ARG(range))
                       : arena_printf(ui->frame, "actions %d", n);
}

/* All of the help that the selected row cuts off where the box is narrow. */
static void draw_foot(const Match *match, Grid *grid, Rect area)
{
    Pen pen = pen_new(grid, area);

    pen_put_folded(&pen, ROLE_NOTE, str_from(match_help(match)), 0);
}

void palette_draw(Ui *ui, Palette *palette, Grid *grid, Rect area)
{
    const Matches *all = find(ui, palette);
    int h = area.h < BOX_H ? area.h : BOX_H, w = area.w - 2 < BOX_W ? area.w - 2 : BOX_W;
    int foot = w < BOX_W && h > 3 * FOOT_H ? FOOT_H : 0, rows = h - 3 - foot;
    Rect box = {area.x + 1, area.y, w, h};
    int first = (int)list_scroll(0, palette->at, all->n, rows);

    palette->top = first;
    palette->items = (Rect){box.x + 1, box.y + 2, w - 2, rows > 0 ? rows : 0};
    grid_blank(grid, box);
    grid_box(grid, box, true, box_title(ui, first, rows, all->n));
    for (int i = 0; i < rows && first + i < all->n; i++) {
        Pen pen = pen_new(grid, (Rect){box.x + 1, box.y + 2 + i, w - 2, 1});
        draw_match(ui, &all->at[first + i], &pen);
        if (first + i == palette->at)
            grid_mark(grid, pen.area, STYLE_SELECTED);
    }
    if (palette->at < all->n)
        draw_foot(&all->at[palette->at], grid, (Rect){box.x + 2, box.y + 2 + rows, w - 4, foot});
    Pen pen = pen_new(grid, (Rect){box.x + 1, box.y + 1, w - 2, 1});
    pen_printf(&pen, ROLE_HEAD, " > %.*s", palette->n, palette->text);
    pen_cursor(&pen);
}
