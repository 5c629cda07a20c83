#include "tui/app/resume.h"

#include "core/base/file.h"
#include "core/base/intern.h"
#include "core/session/planfile.h"
#include "tui/state/listing.h"
#include "tui/state/pins.h"
#include "tui/state/places.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STATE_BYTES_MAX = 16 << 20, TAGS_MAX = 1000 };

static const char first_line[] = "dimscope state 1";

/* ---- which file, which graph ---- */

static const char *state_folder(Arena *arena)
{
    const char *folder = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

    if (folder && folder[0] == '/')
        return path_join(arena, folder, "dimscope");
    return home && *home ? path_join(arena, home, ".local/state/dimscope") : NULL;
}

const char *state_path(Arena *arena, const char *model)
{
    const char *folder = state_folder(arena);
    char *real = realpath(model, NULL);
    const char *path = real ? real : model;
    uint64_t hash = hash_bytes(path, strlen(path));

    free(real);
    return folder ? path_join(arena, folder, arena_printf(arena, "%016" PRIx64, hash)) : NULL;
}

static uint64_t graph_hash(const Graph *graph)
{
    uint64_t hash = (uint64_t)graph->n_tensors;

    for (int op = 0; op < graph->n_ops; op++) {
        const char *name = op_name(graph, op);
        hash = hash * 31 + hash_bytes(name, strlen(name));
    }
    return hash;
}

static uint64_t groups_hash(const Groups *groups)
{
    uint64_t hash = (uint64_t)groups->n_groups;

    for (int g = 0; g < groups->n_groups; g++)
        hash = hash * 31 + hash_bytes(groups->groups[g].path, strlen(groups->groups[g].path));
    return hash;
}

/* ---- writing ---- */

/* A line; what has a line end in it is left out. */
static void put(const char *key, Str value, Buf *out)
{
    if (value.n > 0 && !memchr(value.s, '\n', value.n))
        buf_printf(out, "%s %.*s\n", key, STR_ARG(value));
}

static void put_place(const Ui *ui, const char *key, const Place *place, Buf *out)
{
    Buf text = buf_new(ui->frame);

    place_format(ui, place, &text);
    put(key, buf_str(&text), out);
}

static void put_open(const Ui *ui, Buf *out)
{
    const Groups *groups = ui->session->groups;
    const uint8_t *marks = outline_own_marks(ui->outline, ui->frame);

    buf_printf(out, "open %016" PRIx64 " ", groups_hash(groups));
    for (int g = 0; g < groups->n_groups; g++)
        buf_printf(out, "%02x", marks[g]);
    buf_putc(out, '\n');
}

static void put_tags(const Ui *ui, Buf *out)
{
    int n = 0;

    for (int op = 0; op < ui->listing.n_taggable && n < TAGS_MAX && ui->listing.n_tagged > 0;
         op++) {
        if (!ui->listing.tagged[op])
            continue;
        put("tag", str_from(op_name(ui_graph(ui), op)), out);
        n++;
    }
}

/* Where they are not those of the user's file. */
static void put_columns(const App *app, Buf *out)
{
    const Setting *columns = setting_find(STR("columns"));
    Buf text = buf_new(app->ui.frame);

    if (app->ui.look.settings.columns == app->config->settings.columns)
        return;
    setting_format(&app->ui.look.settings, columns, &text);
    put("columns", buf_str(&text), out);
}

void state_format(App *app, Buf *out)
{
    const Ui *ui = &app->ui;

    buf_printf(out, "%s\ngraph %016" PRIx64 "\n", first_line, graph_hash(ui_graph(ui)));
    put_open(ui, out);
    put_place(ui, "at", &ui->at, out);
    buf_printf(out, "rank %" PRId64 "\n", ui->rank);
    put_columns(app, out);
    for (int i = 0; i < MARKS_MAX; i++)
        if (ui->history.is_marked[i])
            put_place(ui, arena_printf(ui->frame, "mark %c", 'a' + i), &ui->history.mark[i], out);
    put_tags(ui, out);
    for (int i = 0; i < app->prompt.n_history; i++)
        put("typed", str_from(app->prompt.history[i]), out);
}

/* ---- reading ---- */

static int hex_digit(char c)
{
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void read_open(App *app, Str value)
{
    Ui *ui = &app->ui;
    const Groups *groups = ui->session->groups;
    Str hash = str_take(&value, ' ');
    const char *own = arena_printf(ui->frame, "%016" PRIx64, groups_hash(groups));
    uint8_t *marks = arena_array(ui->frame, uint8_t, groups->n_groups + 1);

    if (!str_eq(hash, str_from(own)) || value.n != 2 * (size_t)groups->n_groups)
        return;
    for (int g = 0; g < groups->n_groups; g++) {
        int high = hex_digit(value.s[2 * g]), low = hex_digit(value.s[2 * g + 1]);
        if (high < 0 || low < 0)
            return;
        marks[g] = (uint8_t)(high << 4 | low);
    }
    outline_set_marks(ui->outline, marks);
}

static void read_at(App *app, Str value)
{
    Place place = app->ui.at;

    if (place_read(&app->ui, value, &place))
        places_restore(&app->ui, &place);
}

static void read_rank(App *app, Str value)
{
    int64_t rank;

    if (str_to_int(value, &rank) && rank >= 0 && rank < app->ui.session->mesh->n_devices)
        app->ui.rank = rank;
}

static void read_columns(App *app, Str value)
{
    Error none = {0};

    setting_put(&app->ui.look.settings, setting_find(STR("columns")), value, &none);
}

static void read_mark(App *app, Str value)
{
    Str letter = str_take(&value, ' ');
    int i = letter.n == 1 ? letter.s[0] - 'a' : -1;
    Place place = app->ui.at;

    if (i < 0 || i >= MARKS_MAX || !place_read(&app->ui, value, &place))
        return;
    app->ui.history.mark[i] = place;
    app->ui.history.is_marked[i] = true;
}

static void read_tag(App *app, Str value)
{
    int32_t op = graph_find_op(ui_graph(&app->ui), value);

    if (op < 0 || op >= app->ui.listing.n_taggable || app->ui.listing.tagged[op])
        return;
    app->ui.listing.tagged[op] = 1;
    app->ui.listing.n_tagged++;
}

static void read_typed(App *app, Str value)
{
    Prompt *prompt = &app->prompt;

    if (value.n > 1 && !memchr(value.s, '\0', value.n) && prompt->n_history < PROMPT_HISTORY)
        snprintf(prompt->history[prompt->n_history++], PROMPT_MAX, "%.*s", STR_ARG(value));
}

static const struct {
    const char *key;
    void (*read)(App *app, Str value);
} readers[] = {
    {"open", read_open}, {"at", read_at},   {"rank", read_rank},   {"columns", read_columns},
    {"mark", read_mark}, {"tag", read_tag}, {"typed", read_typed},
};

bool state_apply(App *app, const Source *source, Error *err)
{
    Str rest = source->text, first = str_take(&rest, '\n'), graph = str_take(&rest, '\n');
    const char *own =
        arena_printf(app->ui.frame, "graph %016" PRIx64, graph_hash(ui_graph(&app->ui)));

    if (!str_eq(first, str_from(first_line)))
        return error_set(err, "%s is not a saved session", source->name);
    if (!str_eq(graph, str_from(own)))
        return error_set(err, "the model has changed since the last session: nothing was restored");
    while (rest.n > 0) {
        Str value = str_take(&rest, '\n'), key = str_take(&value, ' ');
        for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++)
            if (str_eq(key, str_from(readers[i].key)))
                readers[i].read(app, value);
    }
    return true;
}

/* ---- the model's own file ---- */

/* ---- pins ---- */

/* Pins are for one mesh, policy and plan file: a file for each. */
static const char *pins_path(Ui *ui)
{
    const SessionOptions *options = &ui->session->options;
    const char *model = options->model ? state_path(ui->frame, options->model) : NULL;
    const char *of[] = {options->mesh, options->policy, ui->session->plan_file};
    uint64_t hash = 0;

    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        hash = hash * 31 + (of[i] ? hash_bytes(of[i], strlen(of[i])) : 1);
    return model ? arena_printf(ui->frame, "%s-%016" PRIx64 ".json", model, hash) : NULL;
}

/* The decisions of the plan file that were made in the explorer. */
static Journal read_pins(Ui *ui, const char *path, Error *err)
{
    Session *session = ui->session;
    SessionOptions options = {.model = session->options.model};
    PlanFile file;
    Journal all = {0}, own = {0};

    if (!planfile_open(session->journal_arena, path, &options, &file, err))
        return own;
    planfile_decisions(session, &file, &all);
    planfile_close(&file);
    for (int i = 0; i < all.n_done; i++) {
        Decision *decision = &all.decisions.at[i];
        if (decision->origin.kind != ORIGIN_USER)
            continue;
        decision->origin.file = "";
        if (decision->origin.line > ui->changes.edits)
            ui->changes.edits = decision->origin.line;
        journal_add(&own, session->journal_arena, decision);
    }
    return own;
}

/* Returns how many pins the last session had and this one has now. */
static int load_pins(App *app, Error *err)
{
    Ui *ui = &app->ui;
    const char *path = pins_path(ui);

    if (!path || !file_exists(path))
        return 0;
    Journal own = read_pins(ui, path, err);
    if (own.n_done == 0)
        return 0;
    ui_change_begin(ui);
    bool applied = session_apply(ui->session, own.decisions.at, own.n_done, err);
    ui_change_end(ui);
    pins_are_written(ui);
    return applied ? own.n_done : 0;
}

static void make_folders(Arena *arena, const char *path);

void pins_keep(App *app)
{
    Ui *ui = &app->ui;
    const char *path = pins_path(ui);
    Error none = {0};

    if (!path)
        return;
    if (pins_made_here(ui->session) == 0 || ui->asked.drop_pins) {
        unlink(path);
        return;
    }
    make_folders(ui->frame, path);
    planfile_save(ui->session, path, false, &none);
}

/* ---- both ---- */

static bool load_state(App *app, Error *err)
{
    Ui *ui = &app->ui;
    const char *model = ui->session->options.model;
    const char *path = model ? state_path(ui->frame, model) : NULL;
    Source source;

    return path && file_exists(path) && file_read(ui->frame, path, STATE_BYTES_MAX, &source, err) &&
           state_apply(app, &source, err);
}

void state_load(App *app)
{
    Ui *ui = &app->ui;
    Error err = {0};
    int n_pins = load_pins(app, &err);
    bool restored = load_state(app, &err);
    Buf pins = buf_new(ui->frame);

    if (n_pins > 0)
        buf_printf(&pins, ", with the %d pin%s made there", n_pins, n_pins > 1 ? "s" : "");
    if (error_is_set(&err))
        ui_say(ui, "%s", err.text);
    else if (restored || n_pins > 0)
        ui_say(ui, "restored the last session%s; start with --fresh to ignore it",
               pins.n > 0 ? pins.s : "");
}

/* Every folder on the way; what fails is seen when the file is written. */
static void make_folders(Arena *arena, const char *path)
{
    for (const char *s = strchr(path + 1, '/'); s; s = strchr(s + 1, '/'))
        mkdir(arena_str(arena, (Str){path, (size_t)(s - path)}), 0700);
}

void state_save(App *app)
{
    Ui *ui = &app->ui;
    const char *model = ui->session->options.model;
    const char *path = model ? state_path(ui->frame, model) : NULL;
    Buf text = buf_new(ui->frame);
    Error none = {0};

    if (!path)
        return;
    make_folders(ui->frame, path);
    state_format(app, &text);
    file_write(path, buf_str(&text), &none);
    pins_keep(app);
}
