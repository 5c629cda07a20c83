/* The explorer around its views: prompts, help, settings, errors, exports, the mouse, any size. */
#include "tests/unit/screen.h"
#include "tests/unit/graph_text.h"
#include "tests/unit/model_text.h"

#include "tui/app/app.h"

#include <stdlib.h>
#include <unistd.h>

static ScreenRow rows[] = {
    {"help comes from the table",
     80,
     24,
     "?",
     1,
     {":down", "in Graph", ":right", "in program order"}},
    {"help of the view that was left, beside all keys",
     120,
     40,
     "5?",
     2,
     {"in Comm", " move  ", ":down    ", "Every reshard, the most expensive first;"}},
    {"help runs what it lists", 80, 24, "?/devices<Enter><Enter>", -1, {"[4 Mesh]"}},
    {"an unknown command", 80, 24, ":wyh<Enter>", -1, {"no command ':wyh'", "':why'"}},
    {"a command by its start", 80, 24, ":findi<Enter>", -1, {"[Findings]", "no findings"}},
    {"panes on a wide screen",
     160,
     50,
     "",
     0,
     {"═ Graph ═", "─ Op ─", "─ Tensor ─", "dims_mapping", "RULE"}},
    {"the next pane", 160, 50, "<Tab>", 1, {"─ Graph ─", "═ Op ═"}},
    {"one pane alone", 160, 50, "zz", 2, {"COST"}},
    {"ascii", 80, 24, "~", 1, {"+-*        ln_1", "*-'        Add", "h[0..11] x12", "+tp"}},
    {"ascii devices", 80, 24, "~54", 3, {"A +1/4", "+------", "|>d0<"}},
    {"row numbers", 80, 24, "#", 1, {" 12  │ ●       Gather_6", " 19 >▾         h[0..11] ×12"}},
    {"a setting by name", 80, 24, ":set glyphs=ascii<Enter>", -1, {"glyphs = ascii", "+-*"}},
    {"a setting that is none", 80, 24, ":set dear=none<Enter>", -1, {"dear must be from 1 to 100"}},
    {"settings as a menu", 80, 24, "o4", 2, {"options", "numbers    on", "1  glyphs     auto"}},
    {"help begins with the view", 80, 24, "5?", 2, {"in Comm"}},
    {"tabs where only the shown one has a name", 60, 20, "9", 1, {" 1 2 3 4 5 6 7 8[9 Run]"}},
    {"and those of a page", 40, 10, "w", 1, {" 1 2 3 4 5 6 7 8 9  [Why]"}},
    {"the keys of a menu", 80, 24, "o", 1, {"Enter choose, or its key  / find  Esc leave"}},
    {"keys that have something to do", 80, 24, "7", 1, {" d compare  Tab pane  Backspace back"}},
    {"and what has no key", 80, 24, "9", 1, {" :run measure  l time"}},
    {"a name copied", 80, 24, "y", 1, {"to copy: transformer.h.0/Add_1"}},
    {"a form that is none",
     80,
     24,
     ":copy-as dtensors<Enter>",
     -1,
     {"there is no notation 'dtensors'"}},
    {"a view as a file: the kinds",
     80,
     24,
     "5E",
     2,
     {"export to gpt2-comm.*", "s  svg", "h  html", "m  md"}},
    {"a file of no kind", 80, 24, ":export plan.pdf<Enter>", -1, {"which file? its name ends in"}},
    {"a picture has no rows", 80, 24, "Z:export /tmp/x.csv<Enter>", -1, {" is a picture"}},
    {"an action by a few letters", 80, 24, "<C-p>", 1, {"actions", ":down", ":page-down"}},
    {"the nearest name first", 80, 24, "<C-p>find", 5, {"> find", ":findings"}},
    {"and it is done", 80, 24, "<C-p>findi<Enter>", -1, {"[Findings]"}},
    {"one that needs an argument is asked for it", 80, 24, "<C-p>mesh<Enter>", -1, {":mesh"}},
    {"by what it does", 80, 24, "<C-p>undo the last<Enter>", -1, {"nothing to undo"}},
    {"the palette is left", 80, 24, "<C-p>xyz<Esc>", -1, {"j move", "q quit"}},
    {"a command completed", 80, 24, ":findin<Tab>", -1, {":findings"}},
    {"candidates are listed", 80, 24, ":pre<Tab><Tab>", -1, {":previous-", "previous-pane"}},
    {"an axis completed", 80, 24, ":why-not t<Tab>", -1, {":why-not tp"}},
    {"a setting's value completed", 80, 24, ":set glyphs=as<Tab>", -1, {":set glyphs=ascii"}},
    {"an op completed", 80, 24, ":op /lm_<Tab>", -1, {":op /lm_head/MatMul"}},
    {"a file completed",
     80,
     24,
     ":screen samples/models/gpt<Tab>",
     -1,
     {":screen samples/models/gpt2"}},
    {"a kind completed", 80, 24, ":export x.y ht<Tab>", -1, {":export x.y html"}},
    {"nothing to complete", 80, 24, ":rank zz<Tab>", -1, {"no match"}},
    {"a shell needs a terminal",
     120,
     24,
     ":shell echo %op '%%'<Enter>",
     -1,
     {"echo 'transformer.h.0/Add_1' '%'"}},
    {"the shell is asked for its command", 80, 24, "!", 1, {":shell"}},
    {"a command of a view", 80, 24, "?<C-d>j:open<Enter>j", -1, {"q quit"}},
    {"errors so far, with their places",
     80,
     24,
     ":wyh<Enter>:rank 99<Enter>:wyh<Enter>]e",
     8,
     {"[Errors]", "ranks go from 0 to 7", "×2 ", "no command ':wyh' (did you mean ':why'?)",
      "error 2/2"}},
    {"no errors", 80, 24, ":errors<Enter>", 2, {"no errors so far"}},
    {"too small", 39, 9, "", 0, {"too small: 39x9"}},
    {"smallest", 40, 10, "", 0, {"h[0..11] ×12", "q quit"}},
    {"q closes before it quits", 80, 24, "5q", 2, {"[1 Graph]"}},
    {"escape never quits", 80, 24, "<Esc>", 1, {"q quits"}},
};

/* ---- every screen, at every size, in ASCII and not ---- */

static const char *const walks[] = {"",
                                    "2",
                                    "3",
                                    "4",
                                    "5",
                                    "w",
                                    "Wt",
                                    "gf",
                                    "?",
                                    "x",
                                    "zR",
                                    ":",
                                    "/",
                                    "fnorm<Enter>",
                                    "Z",
                                    "6",
                                    "df<Enter>",
                                    "5x",
                                    "5:links<Enter>",
                                    "pt:journal<Enter>"};
static const int sizes[][2] = {{40, 10}, {60, 20}, {80, 24}, {131, 31}, {160, 50}, {300, 90}};

/* Screens stay in their lines, and ASCII ones are ASCII of the same columns. */
static void every_screen_fits_its_size(void **state)
{
    (void)state;
    Session *session = open_gpt2();
    for (size_t walk = 0; walk < COUNT_OF(walks); walk++) {
        for (size_t size = 0; size < COUNT_OF(sizes); size++) {
            Arena *arena = arena_new();
            int w = sizes[size][0], h = sizes[size][1], lines = 0;
            const char *keys = arena_printf(arena, "~%s", walks[walk]);
            const char *text = screen_after(arena, session, w, h, keys);
            for (const char *s = text; *s; lines++) {
                size_t n = strcspn(s, "\n");
                assert_true((int)n <= w);
                for (size_t i = 0; i < n; i++)
                    assert_true(s[i] >= 0x20 && s[i] < 0x7f);
                s += n + 1;
            }
            assert_int_equal(lines, h);
            arena_free(arena);
        }
    }
    session_close(session);
}

/* ---- the terminal's cursor, which screen readers follow ---- */

static const char *const with_rows[] = {
    "1jj",
    "2j",
    "3j",
    "5j",
    "6",
    "6<Enter>jj",
    "df<Enter>j",
    "8j",
    "9k",
    "w",
    "ww",
    "Wt",
    "gf",
    "gej",
    "?jj",
    ":wyh<Enter>:errors<Enter>",
    "pt:journal<Enter>",
    "m",
    "x",
    "xj",
    "p",
    "5x",
    "6x",
    "Yj",
    "E",
    "oj",
    "S",
    "d",
    "W",
    "gd",
    "t",
    "zz",
    "#",
};
static const char *const without[] = {
    "4jl",
    "54",
    "Z",
    "Zj",
    "7",
    "df<Enter><Tab>",
    "df<Enter><Tab><Tab>",
    "5<Tab>",
    "8<Tab>",
    "9<Tab>",
    "8i",
    "8ig:op",
    "5:links<Enter>",
    ":",
    ":mesh<Tab>",
    "/c_fc",
    "fnorm",
    "!",
    "<C-p>fi",
    "9",
    "6<Tab>",
};

static bool has_point(Rect area, int x, int y)
{
    return x >= area.x && x < area.x + area.w && y >= area.y && y < area.y + area.h;
}

/* In the menu, at the end of what is typed, or in the pane that has the focus. */
static bool cursor_is_in_place(const App *app, const Grid *grid)
{
    int x = grid->cursor_x, y = grid->cursor_y;
    if (app->ui.menu.open)
        return has_point(app->ui.menu.items, x, y);
    if (app->palette.open || (app->prompt.kind && has_point(app->layout.keys, x, y)))
        return true;
    for (int i = 0; i < app->layout.n_panes; i++)
        if (app->layout.pane[i].show == app->ui.at.show)
            return has_point(app->layout.pane[i].area, x, y);
    return false;
}

static void assert_cursor(Session *session, int w, int h, const char *keys, bool selected)
{
    App *app = app_new(session, &(AppOptions){0}, NULL, w, h);
    app_type(app, str_from(keys));
    const Grid *grid = app_draw(app);
    const Cell *cell = grid->cells + grid->cursor_y * grid->w + grid->cursor_x;
    if (!cursor_is_in_place(app, grid))
        fail_msg("after '%s' at %dx%d the cursor is at %d,%d", keys, w, h, grid->cursor_x,
                 grid->cursor_y);
    if (selected && !(cell->style & STYLE_SELECTED))
        fail_msg("after '%s' at %dx%d the cursor is not on the selected row", keys, w, h);
    app_free(app);
}

static void the_cursor_is_on_the_selected_row(void **state)
{
    static const int of[][2] = {{40, 10}, {80, 24}, {160, 50}};
    (void)state;
    Session *session = open_gpt2();
    for (size_t size = 0; size < COUNT_OF(of); size++) {
        bool rows_fit = of[size][1] > 10; /* of the table of Run */
        for (size_t i = 0; i < COUNT_OF(with_rows); i++)
            assert_cursor(session, of[size][0], of[size][1], with_rows[i],
                          rows_fit || strcmp(with_rows[i], "9k") != 0);
        for (size_t i = 0; i < COUNT_OF(without); i++)
            assert_cursor(session, of[size][0], of[size][1], without[i], false);
    }
    session_close(session);
}

/* What the view shows is in each file; the files are whole, and nothing else changed. */
static void a_view_is_exported_in_every_format(void **state)
{
    static const struct {
        const char *keys, *ending, *has;
    } files[] = {
        {"", "svg", "input_ids"},     {"", "html", "input_ids"}, {"", "txt", "lm_head"},
        {"", "ansi", "lm_head"},      {"?", "txt", ":quit"},     {"w", "csv", "\ntext"},
        {"w", "json", "\"rows\":[{"}, {"w", "md", "| --- |\n"},  {"zR", "txt", "c_proj"},
        {"4", "svg", "<svg"},         {"2", "html", "INDEX"},    {"w", "csv", "sharded by dp"},
    };
    (void)state;
    Arena *arena = arena_new();
    Session *session = open_gpt2();
    char folder[] = "/tmp/dimscope-export-XXXXXX";
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        const char *path = arena_printf(arena, "%s/view.%s", folder, files[i].ending);
        const char *keys = arena_printf(arena, "%s:export %s<Enter>", files[i].keys, path);
        const char *before = screen_after(arena, session, 100, 24, files[i].keys);
        const char *after = screen_after(arena, session, 100, 24, keys);
        Source source;
        assert_non_null(strstr(after, "written"));
        assert_true(file_read(arena, path, 1 << 22, &source, NULL));
        const char *text = arena_printf(arena, "\n%s", source.text.s);
        if (!strstr(text, files[i].has))
            fail_msg("'%s' is not in %s:\n%s", files[i].has, files[i].ending, text);
        assert_memory_equal(before, after, strlen(before) / 2);
        unlink(path);
    }
    rmdir(folder);
    session_close(session);
    arena_free(arena);
}

/* What the mouse points to, at 160x50 unless it says otherwise; times in milliseconds. */
static void the_mouse_does_what_it_points_to(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Session *session = open_gpt2();
    App *app = app_new(session, &(AppOptions){0}, NULL, 160, 50);
    app_draw(app);
    mouse_event(app, MOUSE_PRESS, 5, 8, 1000); /* a row of the graph */
    int64_t row = app->ui.row_at;
    assert_int_equal(row, app->ui.list[SHOW_GRAPH].top + 8 - app->layout.pane[0].area.y - 1);
    app_draw(app);
    mouse_event(app, MOUSE_WHEEL_DOWN, 5, 8, 2000);
    assert_int_equal(app->ui.row_at, row + 3);
    app_draw(app);
    mouse_event(app, MOUSE_PRESS, 120, 10, 3000); /* the pane of the op gets the focus */
    assert_int_equal(app->ui.at.show, SHOW_OP);
    app_draw(app);
    mouse_event(app, MOUSE_WHEEL_UP, 5, 8, 4000); /* the wheel is the pane's under it */
    assert_int_equal(app->ui.row_at, row);
    int w = app->layout.pane[0].frame.w;
    mouse_event(app, MOUSE_PRESS, w, 20, 5000); /* the border between them */
    mouse_event(app, MOUSE_DRAG, w - 20, 20, 5100);
    mouse_event(app, MOUSE_RELEASE, w - 20, 20, 5200);
    mouse_event(app, MOUSE_DRAG, w, 20, 5300); /* let go: nothing moves */
    app_draw(app);
    assert_in_range(app->layout.pane[0].frame.w, w - 22, w - 18);
    app_type(app, STR("Y"));
    app_draw(app);
    mouse_event(app, MOUSE_PRESS, app->ui.menu.items.x + 3, app->ui.menu.items.y + 1, 6000);
    assert_true(app->ui.menu.open); /* the first click moves the cursor, the second chooses */
    mouse_event(app, MOUSE_PRESS, app->ui.menu.items.x + 3, app->ui.menu.items.y + 1, 6900);
    assert_false(app->ui.menu.open);
    assert_non_null(app->ui.asked.clipboard);
    app->ui.asked.clipboard = NULL;
    app_type(app, STR("Y"));
    app_draw(app);
    mouse_event(app, MOUSE_PRESS, 159, 0, 7000); /* beside the menu: it closes */
    assert_false(app->ui.menu.open);
    app_type(app, STR("1"));
    app_draw(app);
    mouse_event(app, MOUSE_PRESS, 5, 8, 8000);
    app_draw(app);
    mouse_event(app, MOUSE_PRESS, 5, 8, 8100); /* twice: Enter */
    assert_int_equal(app->ui.at.show, SHOW_OP);
    app_free(app);
    session_close(session);
    arena_free(arena);
}

/* Where a text is on the screen. */
static bool find_on_screen(const App *app, const char *text, int *x, int *y)
{
    const Grid *grid = app->grid;
    size_t n = strlen(text);
    for (*y = 0; *y < grid->h; (*y)++)
        for (*x = 0; *x + (int)n <= grid->w; (*x)++) {
            size_t i = 0;
            while (i < n && grid->cells[*y * grid->w + *x + (int)i].rune == (uint32_t)text[i])
                i++;
            if (i == n)
                return true;
        }
    return false;
}

static void click_on(App *app, const char *text, int64_t now_ms)
{
    int x, y;
    app_draw(app);
    if (!find_on_screen(app, text, &x, &y))
        fail_msg("'%s' is not on the screen", text);
    mouse_event(app, MOUSE_PRESS, x, y, now_ms);
    app_draw(app);
}

/* The second click comes as fast as a double click, which opens what it is on elsewhere. */
static void a_click_on_a_head_sorts_and_a_second_one_reverses(void **state)
{
    (void)state;
    Session *session = open_gpt2();
    App *app = app_new(session, &(AppOptions){0}, NULL, 100, 30);
    app_type(app, STR("5"));
    const Comm *comm = app->ui.comm;
    click_on(app, "TENSOR", 1000);
    assert_int_equal(app->ui.comm_sort, COMM_BY_NAME);
    assert_true(strcmp(comm->row[0].label, comm->row[comm->n_rows - 1].label) < 0);
    click_on(app, "TENSOR", 1100);
    assert_int_equal(app->ui.at.show, SHOW_COMM);
    assert_true(strcmp(comm->row[0].label, comm->row[comm->n_rows - 1].label) > 0);
    click_on(app, "TOTAL", 3000);
    assert_true(comm->row[0].us >= comm->row[comm->n_rows - 1].us);
    click_on(app, "TOTAL", 5000);
    assert_true(comm->row[0].us <= comm->row[comm->n_rows - 1].us);
    assert_false(app->ui.menu.open);
    click_on(app, "CAUSE", 7000); /* no rows can be sorted by it: the menu says by what */
    assert_true(app->ui.menu.open);
    app_type(app, STR("<Esc>1"));
    click_on(app, "RESHARD", 9000);
    app_draw(app);
    int x, y;
    assert_true(find_on_screen(app, "by reshard", &x, &y));
    click_on(app, "RESHARD", 9100);
    assert_int_equal(app->ui.at.show, SHOW_GRAPH);
    assert_true(find_on_screen(app, "smallest first", &x, &y));
    click_on(app, "NAME", 12000);
    assert_true(find_on_screen(app, "rows in program order", &x, &y));
    app_free(app);
    session_close(session);
}

/* Options stand above the source there, so that its list begins lower. */
static void a_click_opens_the_pins_that_one_row_of_the_policy_stands_for(void **state)
{
    (void)state;
    SessionOptions options = {
        .model = "samples/models/gpt2.onnx", .mesh = "dp=2,tp=4", .policy = "megatron"};
    Error err = {0};
    Session *session = session_open(&options, &hooks, &err);
    assert_non_null(session);
    App *app = app_new(session, &(AppOptions){0}, NULL, 120, 40);
    int x, y, column, line;
    app_type(app, STR("/c_fc<Enter>pd8"));
    app_draw(app);
    assert_true(find_on_screen(app, "options  cut_vocabulary", &x, &y));
    assert_true(find_on_screen(app, "you    12", &x, &y));
    assert_true(find_on_screen(app, "h.*/mlp/c_fc", &column, &y));
    assert_false(find_on_screen(app, "h.0/mlp/c_fc", &column, &line));
    mouse_event(app, MOUSE_PRESS, x - 3, y, 1000);
    app_draw(app);
    assert_true(find_on_screen(app, "h.0/mlp/c_fc", &column, &line));
    assert_true(find_on_screen(app, "you     1", &x, &line));
    assert_int_equal(line, y + 1);
    mouse_event(app, MOUSE_PRESS, x - 3, y, 3000);
    app_draw(app);
    assert_false(find_on_screen(app, "h.0/mlp/c_fc", &column, &line));
    app_type(app, STR("<Enter>jj<Enter>")); /* and Enter shows what a pin is on */
    app_draw(app);
    assert_int_equal(app->ui.at.show, SHOW_TENSOR);
    assert_true(find_on_screen(app, "h.1/mlp/c_fc", &x, &y));
    app_free(app);
    session_close(session);
}

/* A group of one op is an op; equal ones in a row are a fold of ops. */
static void a_click_on_the_mark_of_an_op_row_unfolds_and_folds_it(void **state)
{
    (void)state;
    OpenedText o = model_text_open(
        "function MODEL(model, config)\n"
        "  local x = model:input('x', 'f32', {4, 8})\n"
        "  for i = 0, 5 do\n"
        "    x = model:module('tail.' .. i, function() return model:op('Relu', {x}) end)\n"
        "  end\n"
        "  model:output(model:op('Exp', {x}), 'y')\n"
        "end\n",
        "", "dp=2", NULL);
    if (!o.session)
        fail_msg("%s", o.err.text);
    App *app = app_new(o.session, &(AppOptions){0}, NULL, 100, 30);
    int x, y, line;
    app_draw(app);
    assert_true(find_on_screen(app, "tail[0..5]", &x, &y));
    mouse_event(app, MOUSE_PRESS, 1, y, 1000);
    app_draw(app);
    assert_false(find_on_screen(app, "tail[0..5]", &x, &line));
    assert_true(find_on_screen(app, "tail.5", &x, &line));
    assert_int_equal(line, y + 5);
    mouse_event(app, MOUSE_PRESS, 1, y + 2, 3000); /* an op's dot is no mark */
    app_draw(app);
    assert_true(find_on_screen(app, "tail.5", &x, &line));
    mouse_event(app, MOUSE_PRESS, 1, y, 5000);
    app_draw(app);
    assert_true(find_on_screen(app, "tail[0..5]", &x, &line));
    app_type(app, STR("ll")); /* so do the keys of groups */
    app_draw(app);
    assert_true(find_on_screen(app, "tail.5", &x, &line));
    app_type(app, STR("za"));
    app_draw(app);
    assert_true(find_on_screen(app, "tail[0..5]", &x, &line));
    app_free(app);
    model_text_close(&o);
}

static void the_palette_takes_clicks(void **state)
{
    (void)state;
    Session *session = open_gpt2();
    App *app = app_new(session, &(AppOptions){0}, NULL, 100, 30);
    app_type(app, STR("<C-p>comm"));
    click_on(app, ":comm", 1000);
    assert_true(app->palette.open);
    click_on(app, ":comm", 3000);
    assert_false(app->palette.open);
    assert_string_equal(app->ui.asked.command, "comm");
    app->ui.asked.command = NULL;
    app_type(app, STR("<C-p>comm"));
    app_draw(app);
    mouse_event(app, MOUSE_PRESS, 5, 29, 5000); /* beside it: it closes */
    assert_false(app->palette.open);
    app_free(app);
    session_close(session);
}

static Session *open_for_app(void *context, Progress *progress, Error *err)
{
    (void)context, (void)progress, (void)err;
    return open_gpt2();
}

static void a_script_without_a_terminal_writes_its_screen(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    char path[] = "/tmp/dimscope-screen-XXXXXX";
    close(mkstemp(path));
    AppOptions options = {.width = 80, .height = 24, .script = "5", .screen = path};
    AppOpener opener = {.open = open_for_app, .model = "gpt2.onnx"};
    Error err = {0};
    Source source;
    assert_true(app_run(&opener, &options, &err));
    assert_true(file_read(arena, path, 1 << 16, &source, &err));
    assert_true(str_find(source.text, STR("[5 Comm]")) > 0);
    options.screen = "/nowhere/at/all";
    assert_false(app_run(&opener, &options, &err));
    assert_true(error_is_set(&err));
    unlink(path);
    arena_free(arena);
}

/* Keys and sizes at random: nothing breaks, and the way out always works. */
static void type_at_random(Session *session, int n_words)
{
    static const char *const words[] = {
        "j",        "k",           "l",       "h",     "<Enter>",     "gg",
        "G",        "zR",          "zM",      "z2",    "za",          "gd",
        "gu",       "gr",          "1",       "2",     "3",           "4",
        "5",        "w",           "W",       "t",     "d",           "p",
        "P",        "x",           "u",       "f",     "is:reshard",  "F",
        " ",        "T",           "S",       "m",     "'",           "%",
        "?",        "q",           "<Esc>",   "H",     "L",           "/",
        "c_fc",     "n",           "N",       "<Tab>", "zz",          ":",
        "why",      "rank 3",      "]t",      "[t",    "]r",          "<Lt>",
        ">",        "<Backspace>", "~",       "120",   "pin tp",      "undo",
        "<C-d>",    "mesh tp=2",   "open",    "6",     "7",           "c",
        "=",        "diff before", "diff tp", "s",     "assign n=tp", "decide replicated dp",
        "undecide", "journal",     "links",
    };
    uint32_t random = 1;
    AppOptions options = {0};
    App *app = app_new(session, &options, NULL, 80, 24);
    for (int i = 0; i < n_words; i++) {
        random = random * 1664525 + 1013904223;
        if (i % 50 == 0)
            app_resize(app, 1 + (int)(random >> 20) % 200, 1 + (int)(random >> 8) % 60);
        app_type(app, str_from(words[(random >> 10) % COUNT_OF(words)]));
        app->quit = false;
    }
    app_resize(app, 80, 24);
    app_type(app, STR("<Esc><Esc><Esc>Q"));
    assert_true(app->quit);
    app_free(app);
    session_close(session);
}

static void random_keys_do_no_harm(void **state)
{
    (void)state;
    SessionOptions options = {.model = "samples/models/tiny-gpt.onnx",
                              .mesh = "dp=2,tp=2",
                              .policy = "tests/policies/megatron.lua"};
    Session *session = session_open(&options, &hooks, &(Error){0});
    assert_non_null(session);
    type_at_random(session, 1500);
}

/* No op in the program; an op without a rule, whose value has no shape; without operands. */
static void random_keys_do_no_harm_to_odd_models(void **state)
{
    (void)state;
    static const char *const models[] = {"y <- Shape f32[4]", "y <- Foo f32[4]; z <- Tanh y",
                                         "y <- RandomNormal shape=[4]; - <- Tanh y; z <- Tanh y",
                                         "y <- Tanh f32[]; z <- Tanh f32[0,4]"};
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        Arena *arena = arena_new();
        SessionOptions options = {.mesh = "dp=2,tp=2"};
        Session *session = session_open_graph(graph_from_text(arena, models[i], 17), &options,
                                              &hooks, &(Error){0});
        assert_non_null(session);
        type_at_random(session, 500);
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_screen_fits_its_size),
        cmocka_unit_test(the_cursor_is_on_the_selected_row),
        cmocka_unit_test(a_view_is_exported_in_every_format),
        cmocka_unit_test(the_mouse_does_what_it_points_to),
        cmocka_unit_test(a_click_on_a_head_sorts_and_a_second_one_reverses),
        cmocka_unit_test(a_click_opens_the_pins_that_one_row_of_the_policy_stands_for),
        cmocka_unit_test(a_click_on_the_mark_of_an_op_row_unfolds_and_folds_it),
        cmocka_unit_test(the_palette_takes_clicks),
        cmocka_unit_test(a_script_without_a_terminal_writes_its_screen),
        cmocka_unit_test(random_keys_do_no_harm),
        cmocka_unit_test(random_keys_do_no_harm_to_odd_models),
    };
    open_scripts(NULL);
    int failed = run_rows("screens", rows, screen_has);
    close_scripts(NULL);
    return failed +
           cmocka_run_group_tests_name("screens, more", tests, open_scripts, close_scripts);
}
