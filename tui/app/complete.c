#include "tui/app/complete.h"

#include "core/propagate/propagators.h"
#include "core/base/file.h"
#include "tui/app/console_complete.h"
#include "tui/app/copy.h"
#include "tui/app/export_view.h"
#include "tui/help/glossary.h"
#include "tui/help/lua_help.h"

#include <dirent.h>
#include <sys/stat.h>

void complete_offer(Ui *ui, Completions *all, Str stem, Candidate word)
{
    if (!str_starts(word.text, stem))
        return;
    if (all->words.n == 0)
        all->shared = word.text.n;
    Str first = all->words.n > 0 ? all->words.at[0].text : word.text;
    size_t same = 0;
    while (same < all->shared && same < word.text.n && word.text.s[same] == first.s[same])
        same++;
    while (same < first.n && same > 0 && ((unsigned char)first.s[same] & 0xc0) == 0x80)
        same--; /* whole characters */
    all->shared = same;
    if (all->words.n < CANDIDATES_MAX)
        vec_push(ui->frame, &all->words, word);
}

/* A word that is whole: the next one follows. */
static const char *after_word(Str word)
{
    char last = word.n > 0 ? word.s[word.n - 1] : ' ';

    return last == '/' || last == '=' ? "" : " ";
}

static void offer(Ui *ui, Completions *all, Str stem, Str word)
{
    complete_offer(ui, all, stem, (Candidate){word, after_word(word), {0}});
}

static void offer_words(Ui *ui, Completions *all, Str stem, const char *words)
{
    for (Str rest = str_from(words); rest.n > 0;)
        offer(ui, all, stem, str_take(&rest, ' '));
}

static void offer_actions(Ui *ui, Completions *all, Str stem)
{
    for (int t = -1; t < ui->commands.n; t++)
        for (const Action *row = t < 0 ? explorer_actions : ui->commands.tables[t]; row->name;
             row++)
            offer(ui, all, stem, str_from(row->name));
}

static void offer_axes(Ui *ui, Completions *all, Str stem)
{
    const Mesh *mesh = ui->session->mesh;

    for (int a = 0; a < mesh->n_axes; a++)
        offer(ui, all, stem, str_from(mesh->axes[a].name));
}

static void offer_ops(Ui *ui, Completions *all, Str stem)
{
    const Inferred *inferred = ui->session->inferred;

    for (int i = 0; i < inferred->n_program && all->words.n < CANDIDATES_MAX; i++)
        offer(ui, all, stem, str_from(op_name(ui_graph(ui), inferred->program[i])));
}

/* Parameters and inputs by their names, all else by its module. */
static void offer_tensors(Ui *ui, Completions *all, Str stem)
{
    const Naming *naming = ui->session->naming;

    for (int t = 0; t < ui_graph(ui)->n_tensors && all->words.n < CANDIDATES_MAX; t++)
        offer(ui, all, stem, str_from(naming_label(naming, t)));
}

/* "NAME=" of settings, then the values of one. */
static void offer_settings(Ui *ui, Completions *all, Str stem)
{
    Str value = stem, name = str_take(&value, '=');
    const Setting *setting = name.n < stem.n ? setting_find(name) : NULL;
    size_t n = stem.n;

    while (setting && n > name.n + 1 && (!setting_is_list(setting) || stem.s[n - 1] != ','))
        n--; /* of a list the words before stay */

    for (int i = 0; !setting && settings_table[i].name; i++)
        offer(ui, all, stem, str_from(arena_printf(ui->frame, "%s=", settings_table[i].name)));
    const PolicyOptions *options = &ui->session->policy_options;
    for (int i = 0; !setting && i < options->n; i++)
        offer(ui, all, stem, str_from(arena_printf(ui->frame, "policy.%s=", options->at[i].name)));
    if (!setting || !setting->values)
        return;
    for (Str rest = str_from(setting->values); rest.n > 0;) {
        Str word = str_take(&rest, ' ');
        offer(ui, all, stem,
              str_from(arena_printf(ui->frame, "%.*s%.*s", (int)n, stem.s, STR_ARG(word))));
    }
}

static void offer_forms(Ui *ui, Completions *all, Str stem)
{
    offer_words(ui, all, stem, copy_forms(ui));
}

static void offer_kinds(Ui *ui, Completions *all, Str stem)
{
    offer_words(ui, all, stem, export_kinds(ui));
}

static void offer_policies(Ui *ui, Completions *all, Str stem)
{
    const SessionHooks *hooks = &ui->session->hooks;

    if (hooks->shipped)
        offer_words(ui, all, stem, hooks->shipped(hooks->context, ui->frame, "policies"));
}

/* What is in the folder of the stem; a folder ends in '/'. */
static void offer_files(Ui *ui, Completions *all, Str stem)
{
    size_t n = stem.n;
    while (n > 0 && stem.s[n - 1] != '/')
        n--;
    const char *folder = n > 0 ? arena_str(ui->frame, (Str){stem.s, n}) : ".";
    DIR *dir = opendir(folder);

    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        struct stat status;
        if (entry->d_name[0] == '.' && (stem.n == n || stem.s[n] != '.'))
            continue;
        const char *path = path_join(ui->frame, folder, entry->d_name);
        bool is_folder = stat(path, &status) == 0 && S_ISDIR(status.st_mode);
        offer(ui, all, stem,
              str_from(arena_printf(ui->frame, "%.*s%s%s", (int)n, stem.s, entry->d_name,
                                    is_folder ? "/" : "")));
    }
    if (dir)
        closedir(dir);
}

/* Shipped policies by their names, others by their files. */
static void offer_policy(Ui *ui, Completions *all, Str stem)
{
    offer_policies(ui, all, stem);
    offer_files(ui, all, stem);
}

/* What compare.h opens: policies, propagators, words of its own, files. */
static void offer_plans(Ui *ui, Completions *all, Str stem)
{
    offer_policies(ui, all, stem);
    const Propagator *propagator;
    for (int i = 0; (propagator = propagator_at(i)); i++)
        offer(ui, all, stem,
              str_from(arena_printf(ui->frame, "%s:%s", propagator->name, propagator->profile)));
    offer_words(ui, all, stem, "before off");
    offer_files(ui, all, stem);
}

static void offer_help(Ui *ui, Completions *all, Str stem)
{
    const SessionHooks *hooks = &ui->session->hooks;
    Buf words = buf_new(ui->frame);

    if (!hooks->rows)
        return;
    glossary_words(&words);
    lua_help_words(hooks->rows(hooks->context, ui->frame), &words);
    offer_words(ui, all, stem, words.s);
}

/* A word of an action's arguments, as help writes it, and what completes it. */
static const struct {
    const char *word;
    void (*offer)(Ui *ui, Completions *all, Str stem);
} arguments[] = {
    {"lua.NAME", offer_help}, {"POLICY", offer_policy},  {"FILE", offer_files},
    {"KIND", offer_kinds},    {"FORM", offer_forms},     {"NAME", offer_settings},
    {"AXIS", offer_axes},     {"TENSOR", offer_tensors}, {"OP", offer_ops},
    {"PLAN", offer_plans},
};

/* The n-th argument's word, or the last one. */
static Str argument_word(const Action *action, int n)
{
    Str rest = str_from(action->args), word = {0};

    for (int i = 0; i <= n && rest.n > 0; i++)
        word = str_take(&rest, ' ');
    return word;
}

static const Action *exact_action(const Ui *ui, Str name)
{
    for (int t = -1; t < ui->commands.n; t++)
        for (const Action *row = t < 0 ? explorer_actions : ui->commands.tables[t]; row->name;
             row++)
            if (str_eq(str_from(row->name), name))
                return row;
    return NULL;
}

/* In the frame's arena; at most CANDIDATES_MAX. */
static Completions complete_find(Ui *ui, Str typed)
{
    Completions all = {.from = typed.n};
    Str rest = typed, name = str_take(&rest, ' ');
    int n_words = -1;

    while (all.from > 0 && typed.s[all.from - 1] != ' ')
        all.from--;
    Str stem = {typed.s + all.from, typed.n - all.from};
    if (all.from == 0) {
        offer_actions(ui, &all, stem);
        return all;
    }
    for (size_t i = 0; i < all.from; i++)
        n_words += typed.s[i] == ' ';
    const Action *action = exact_action(ui, name);
    Str word = action ? argument_word(action, n_words) : (Str){0};
    for (size_t i = 0; i < sizeof arguments / sizeof arguments[0]; i++) {
        if (str_find(word, str_from(arguments[i].word)) < 0)
            continue;
        arguments[i].offer(ui, &all, stem);
        break;
    }
    return all;
}

static void put_word(Ui *ui, Prompt *prompt, Str typed, size_t from, Str word, const char *after)
{
    prompt_set(prompt,
               arena_printf(ui->frame, "%.*s%.*s%s", (int)from, typed.s, STR_ARG(word), after));
}

static Completions find(Ui *ui, const Prompt *prompt, Str typed)
{
    return prompt->kind == '>' ? console_complete_find(ui, typed) : complete_find(ui, typed);
}

void complete_step(Ui *ui, Prompt *prompt, int by)
{
    Str typed = str_from(arena_str(ui->frame, prompt->tab_at >= 0
                                                  ? str_from(prompt->stem)
                                                  : (Str){prompt->text, (size_t)prompt->n}));
    Completions all = find(ui, prompt, typed);

    if (all.words.n == 0) {
        ui_say(ui, "%s", all.none ? all.none : "no match");
        return;
    }
    const Candidate *only = &all.words.at[0];
    if (prompt->tab_at >= 0) {
        prompt->tab_at = (prompt->tab_at + by + all.words.n) % all.words.n;
        put_word(ui, prompt, typed, all.from, all.words.at[prompt->tab_at].text, "");
    } else if (all.words.n == 1) {
        put_word(ui, prompt, typed, all.from, only->text, only->after);
        if (only->note.n > 0)
            ui_say(ui, "%.*s", STR_ARG(only->note));
    } else if (all.shared > typed.n - all.from) {
        put_word(ui, prompt, typed, all.from, (Str){only->text.s, all.shared}, "");
    } else {
        prompt_keep_stem(prompt);
        prompt->tab_at = by > 0 ? 0 : all.words.n - 1;
        put_word(ui, prompt, typed, all.from, all.words.at[prompt->tab_at].text, "");
    }
}

enum { LIST_H = 10 };

/* Above the line of commands; of Lua, which stands in a pane, below or above what is typed. */
static Rect list_box(const Prompt *prompt, const Grid *grid, Rect area, int w, int h)
{
    int y = area.y + area.h - h, below = grid->cursor_y + 1;

    w = w < area.w ? w : area.w;
    if (prompt->kind != '>')
        return (Rect){area.x, y, w, h};
    if (below > y)
        below = grid->cursor_y >= h ? grid->cursor_y - h : y;
    int x = grid->cursor_x < area.w - w ? grid->cursor_x : area.w - w;
    return (Rect){area.x + x, below, w, h};
}

static void draw_candidate(const Candidate *word, int columns, Pen *pen)
{
    pen_rune(pen, ROLE_TEXT, ' ');
    pen_fit(pen, ROLE_TEXT, word->text, pen->area.w - 1);
    if (word->note.n == 0)
        return;
    pen_to(pen, columns + 3, 0);
    pen_fit(pen, ROLE_DIM, word->note, pen->area.w - pen->x);
}

void complete_draw(Ui *ui, const Prompt *prompt, Grid *grid, Rect area)
{
    if ((prompt->kind != ':' && prompt->kind != '>') || prompt->tab_at < 0)
        return;
    Completions all = find(ui, prompt, str_from(prompt->stem));
    int n = all.words.n < LIST_H ? all.words.n : LIST_H, w = 20, columns = 0;
    int first = (int)list_scroll(0, prompt->tab_at, all.words.n, n);

    for (int i = 0; i < n; i++) {
        int own = text_columns(all.words.at[first + i].text);
        columns = own > columns ? own : columns;
    }
    for (int i = 0; i < n; i++) {
        int note = text_columns(all.words.at[first + i].note);
        int need = columns + 4 + (note > 0 ? note + 2 : 0);
        w = need > w ? need : w;
    }
    Rect box = list_box(prompt, grid, area, w, n + 2);
    grid_blank(grid, box);
    grid_box(grid, box, true, arena_printf(ui->frame, "%d words", all.words.n));
    for (int i = 0; i < n; i++) {
        Pen pen = pen_new(grid, (Rect){box.x + 1, box.y + 1 + i, box.w - 2, 1});
        draw_candidate(&all.words.at[first + i], columns, &pen);
        if (first + i == prompt->tab_at)
            grid_mark(grid, pen.area, STYLE_SELECTED);
    }
}
