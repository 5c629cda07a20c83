#include "tui/app/complete.h"

#include "core/base/file.h"
#include "tui/app/copy.h"
#include "tui/app/export_view.h"
#include "tui/app/lua_help.h"

#include <dirent.h>
#include <sys/stat.h>

static void offer(Ui *ui, Completions *all, Str stem, Str word)
{
    if (all->words.n < CANDIDATES_MAX && str_starts(word, stem))
        vec_push(ui->frame, &all->words, word);
}

static void offer_words(Ui *ui, Completions *all, Str stem, const char *words)
{
    for (Str rest = str_from(words); rest.n > 0;)
        offer(ui, all, stem, str_take(&rest, ' '));
}

static void offer_actions(Ui *ui, Completions *all, Str stem)
{
    for (int t = -1; t < ui->n_extra; t++)
        for (const Action *row = t < 0 ? explorer_actions : ui->extra[t]; row->name; row++)
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
    for (Method method = 0; method < METHOD_COUNT; method++)
        offer(ui, all, stem,
              str_from(arena_printf(ui->frame, "%s:%s", method_propagator(method),
                                    method_profile(method))));
    offer_words(ui, all, stem, "before off");
    offer_files(ui, all, stem);
}

static void offer_lua(Ui *ui, Completions *all, Str stem)
{
    const SessionHooks *hooks = &ui->session->hooks;
    Buf words = buf_new(ui->frame);

    if (!hooks->rows)
        return;
    lua_help_words(hooks->rows(hooks->context, ui->frame), &words);
    offer_words(ui, all, stem, words.s);
}

/* A word of an action's arguments, as help writes it, and what completes it. */
static const struct {
    const char *word;
    void (*offer)(Ui *ui, Completions *all, Str stem);
} arguments[] = {
    {"lua.NAME", offer_lua}, {"POLICY", offer_policy},  {"FILE", offer_files},
    {"KIND", offer_kinds},   {"FORM", offer_forms},     {"NAME", offer_settings},
    {"AXIS", offer_axes},    {"TENSOR", offer_tensors}, {"OP", offer_ops},
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
    for (int t = -1; t < ui->n_extra; t++)
        for (const Action *row = t < 0 ? explorer_actions : ui->extra[t]; row->name; row++)
            if (str_eq(str_from(row->name), name))
                return row;
    return NULL;
}

Completions complete_find(Ui *ui, Str typed)
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

/* How much all of them begin with. */
static size_t common_length(const Completions *all)
{
    Str first = all->words.at[0];
    size_t n = first.n;

    for (int i = 1; i < all->words.n; i++) {
        size_t same = 0;
        while (same < n && same < all->words.at[i].n && all->words.at[i].s[same] == first.s[same])
            same++;
        n = same;
    }
    while (n < first.n && n > 0 && ((unsigned char)first.s[n] & 0xc0) == 0x80)
        n--;
    return n;
}

static void put_word(Ui *ui, Prompt *prompt, Str typed, size_t from, Str word, const char *after)
{
    prompt_set(prompt,
               arena_printf(ui->frame, "%.*s%.*s%s", (int)from, typed.s, STR_ARG(word), after));
}

/* A word that is whole: the next one follows. */
static const char *after_word(Str word)
{
    char last = word.n > 0 ? word.s[word.n - 1] : ' ';

    return last == '/' || last == '=' ? "" : " ";
}

void complete_step(Ui *ui, Prompt *prompt, int by)
{
    Str typed = str_from(arena_str(ui->frame, prompt->tab_at >= 0
                                                  ? str_from(prompt->stem)
                                                  : (Str){prompt->text, (size_t)prompt->n}));
    Completions all = complete_find(ui, typed);

    if (all.words.n == 0) {
        ui_say(ui, "nothing begins so");
    } else if (prompt->tab_at >= 0) {
        prompt->tab_at = (prompt->tab_at + by + all.words.n) % all.words.n;
        put_word(ui, prompt, typed, all.from, all.words.at[prompt->tab_at], "");
    } else if (all.words.n == 1) {
        put_word(ui, prompt, typed, all.from, all.words.at[0], after_word(all.words.at[0]));
    } else if (common_length(&all) > typed.n - all.from) {
        put_word(ui, prompt, typed, all.from, (Str){all.words.at[0].s, common_length(&all)}, "");
    } else {
        prompt_keep_stem(prompt);
        prompt->tab_at = by > 0 ? 0 : all.words.n - 1;
        put_word(ui, prompt, typed, all.from, all.words.at[prompt->tab_at], "");
    }
}

enum { LIST_H = 10 };

void complete_draw(Ui *ui, const Prompt *prompt, Grid *grid, Rect area)
{
    if (prompt->kind != ':' || prompt->tab_at < 0)
        return;
    Completions all = complete_find(ui, str_from(prompt->stem));
    int n = all.words.n < LIST_H ? all.words.n : LIST_H, w = 20;
    int first = (int)ui_scroll(0, prompt->tab_at, all.words.n, n);

    for (int i = 0; i < n; i++) {
        int need = text_columns(all.words.at[first + i]) + 4;
        w = need > w ? need : w;
    }
    Rect box = {area.x, area.y + area.h - n - 2, w < area.w ? w : area.w, n + 2};
    grid_blank(grid, box);
    grid_box(grid, box, true, arena_printf(ui->frame, "%d", all.words.n));
    for (int i = 0; i < n; i++) {
        Pen pen = pen_new(grid, (Rect){box.x + 1, box.y + 1 + i, box.w - 2, 1});
        pen_rune(&pen, ROLE_TEXT, ' ');
        pen_fit(&pen, ROLE_TEXT, all.words.at[first + i], box.w - 3);
        if (first + i == prompt->tab_at)
            grid_mark(grid, pen.area, STYLE_SELECTED);
    }
}
