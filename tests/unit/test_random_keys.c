/* Any keys in any order, on a screen of any size, that changes under them: the screen stays whole,
 * the cursor stays on it, and taking everything back leaves the plan as it was. */
#include "tests/unit/unit.h"
#include "tests/unit/random.h"

#include "core/base/file.h"
#include "scripts/hooks.h"
#include "tui/app/app.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { KEYS = 250, KEYS_MAX = 512 };

/* Keys of the actions' table, as scripts write them, and texts for prompts and menus. */
static const char *const texts[] = {
    "/attn<Enter>",
    "/h.1<Enter>",
    "/(<Enter>",
    "/<Esc>",
    ":rank 5<Enter>",
    ":row 40<Enter>",
    ":mesh tp=4<Enter>",
    ":mesh dp=2,tp=4<Enter>",
    ":no such<Enter>",
    ":<Tab><Esc>",
    "ftp<Enter>",
    "fop:matmul<Enter>",
    "faxis:tp !norm<Enter>",
    "f<<Enter>",
    "dfsdp<Enter>",
    ":tensor 1<Enter>",
    ":why x<Enter>",
    "p<Enter>",
    "x<Down><Enter>",
    "Wt",
    "<Down><Down>",
    "<Enter>",
    "<Esc>",
    "<Esc><Esc>",
    "ijk<Enter><Esc>",
    ":run fast<Enter>",
    ":run verify<Enter>",
    ":policy fsdp<Enter>",
    ":policy tp<Enter>",
    ":lua print(#graph:ops())<Enter>",
    ":lua error(mesh)<Enter>",
    ":diff fsdp<Enter>",
    ":diff mesh=tp=2<Enter>",
    "df",
    "8<Down>",
    "Z<Down>",
    "s<Down><Enter>",
    ":sort ms<Enter>",
    "S<Down><Enter>",
    "T",
    "<Space><Space>",
    "ma",
    "'a",
    "''",
    "Y<Down><Enter>",
    "oj<Enter><Esc>",
    "<C-p>comm<Enter>",
    "<C-p><Down><Down><Enter>",
    ":export view.csv<Enter>",
    ":export view.svg<Enter>",
    ":export view.html<Enter>",
    ":save plan.json<Enter>",
    ":diff plan.json<Enter>",
    ":write pins.lua<Enter>",
    ":trace trace.json<Enter>",
    ":screen screen.txt<Enter>",
    ":links<Enter>",
    ":journal<Enter>",
    ":errors<Enter>",
    ":decide unreduced tp<Enter>",
    ":decide barrier none<Enter>",
    ":undecide<Enter>",
    ":assign d0=tp<Enter>",
    ":shell exit 1<Enter>",
};

/* What ends the explorer, or leaves it for another program. */
static bool is_out(const Action *action)
{
    return action->id == ACT_QUIT || action->id == ACT_CLOSE || action->id == ACT_SUSPEND;
}

static int table_keys(Arena *arena, const char **keys)
{
    int n = 0;

    for (const Action *row = explorer_actions; row->name; row++) {
        for (Str rest = str_trim(str_from(row->keys)); rest.n > 0 && !is_out(row);) {
            int64_t blank = str_find(rest, STR(" "));
            Str word = {rest.s, blank < 0 ? rest.n : (size_t)blank};
            bool named = word.n > 2 || (word.n == 2 && word.s[0] == 'F');
            assert_true(n < KEYS_MAX);
            keys[n++] =
                arena_printf(arena, named && word.s[1] != ']' ? "<%.*s>" : "%.*s", STR_ARG(word));
            rest = str_trim((Str){rest.s + word.n, rest.n - word.n});
        }
    }
    return n;
}

static void check_screen(const App *app, const Grid *grid)
{
    for (int y = 0; y < grid->h; y++) {
        for (int x = 0, to = 0; x < grid->w; x++) {
            const Cell *cell = &grid->cells[y * grid->w + x];
            assert_true(cell->width <= 2 && cell->rune >= 0x20 && cell->rune != 0x7f);
            if (x >= to)
                to = x + (cell->width ? cell->width : 1);
            assert_true(to <= grid->w);
        }
    }
    assert_in_range(grid->cursor_x, 0, grid->w - 1);
    assert_in_range(grid->cursor_y, 0, grid->h - 1);
    assert_true(app->ui.session->plan != NULL);
}

typedef struct {
    const char *name, *model, *mesh, *policy, *dims;
    uint32_t seed;
} Walk;

static Walk rows[] = {
    {"tiny-gpt", "samples/models/tiny-gpt.onnx", "dp=2,tp=4", "megatron", NULL, 1},
    {"tiny-gpt again", "samples/models/tiny-gpt.onnx", "dp=2,tp=4", "fsdp", NULL, 2},
    {"one device", "samples/models/tiny-gpt.onnx", "x=1", NULL, NULL, 3},
    {"three axes", "samples/models/tiny-gpt.onnx", "pp=2,dp=2,tp=2", "tp", NULL, 4},
    {"convolutions", "samples/models/tiny-conv.onnx", "dp=3", NULL, NULL, 5},
    {"loops and branches", "tests/models/control.onnx", "dp=2", NULL, "N=4,S=6", 6},
    {"many devices", "samples/models/tiny-gpt.onnx", "dp=64,tp=16", "megatron", NULL, 7},
};

typedef struct {
    Arena *arena;
    Scripts *scripts;
    Session *session;
    App *app;
    char folder[40];
} Fixture;

static char root[PATH_MAX]; /* where the tests were started */

/* In an empty folder, since keys write files. */
static Fixture open_walk(const Walk *walk)
{
    Fixture f = {.arena = arena_new(), .folder = "/tmp/dimscope-keys-XXXXXX"};
    f.scripts = scripts_new(f.arena, root);
    SessionHooks hooks = scripts_hooks(f.scripts);
    SessionOptions options = {
        .model = path_join(f.arena, root, walk->model), .mesh = walk->mesh, .policy = walk->policy};
    assert_non_null(mkdtemp(f.folder));
    assert_int_equal(chdir(f.folder), 0);
    Source dims = {.name = "dims", .text = str_from(walk->dims ? walk->dims : "")};
    Error err = {0};
    assert_true(dims.text.n == 0 || dims_parse(f.arena, &dims, &options.dims, &err));
    f.session = session_open(&options, &hooks, &err);
    if (!f.session)
        fail_msg("%s", err.text);
    f.app = app_new(f.session, &(AppOptions){0}, NULL, 80, 24);
    seed = walk->seed;
    return f;
}

static void empty_folder(void)
{
    DIR *dir = opendir(".");
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;)
        unlink(entry->d_name);
    closedir(dir);
}

static void close_walk(Fixture *f)
{
    app_free(f->app);
    session_close(f->session);
    scripts_free(f->scripts);
    empty_folder();
    assert_int_equal(chdir(root), 0);
    assert_int_equal(rmdir(f->folder), 0);
    arena_free(f->arena);
}

static void any_keys(void **state)
{
    Fixture f = open_walk(*state);
    App *app = f.app;
    const char *keys[KEYS_MAX];
    int n_keys = table_keys(f.arena, keys);
    for (int i = 0; i < KEYS && !app->quit; i++) {
        const char *key = pick(4) == 0 ? texts[pick(COUNT_OF(texts))] : keys[pick(n_keys)];
        if (pick(12) == 0)
            app_resize(app, 1 + pick(pick(2) ? 300 : 100), 1 + pick(pick(2) ? 100 : 30));
        if (app->prompt.kind == ':' && strchr(key, '/')) /* no file of another folder */
            continue;
        if (getenv("SHOW_KEYS"))
            fprintf(stderr, "%s at %dx%d\n", key, app->grid->w, app->grid->h);
        app_type(app, str_from(key));
        check_screen(app, app_draw(app));
        f.app = app = app_reopened(app);
        f.session = app->ui.session;
    }
    close_walk(&f);
}

/* Pins of all kinds, then as often `u` as there were. */
static void taking_back_leaves_the_plan_as_it_was(void **state)
{
    Fixture f = open_walk(*state);
    Session *session = f.session;
    Totals before = session->plan->priced->totals;
    int n_findings = session->plan->findings.n, n_policy = session->journal.n_done;
    static const char *const edits[] = {
        "p<Enter>", "p<Down><Enter>", "P", "x<Enter>", "j", "j", "]r", "2j", "1", ">", "zR"};
    for (int i = 0; i < 60; i++)
        app_type(f.app, str_from(edits[pick(COUNT_OF(edits))]));
    for (int i = 0; i < 100; i++)
        app_type(f.app, STR("<Esc>u"));
    assert_int_equal(session->journal.n_done, n_policy);
    assert_int_equal(session->plan->findings.n, n_findings);
    assert_true(fabs(session->plan->priced->totals.step_us - before.step_us) < 1e-6);
    assert_int_equal(session->plan->priced->totals.peak_bytes, before.peak_bytes);
    assert_int_equal(session->plan->priced->totals.comm_bytes, before.comm_bytes);
    close_walk(&f);
}

int main(void)
{
    assert_non_null(getcwd(root, sizeof root));
    return run_rows("any keys", rows, any_keys) +
           run_rows("taken back", rows, taking_back_leaves_the_plan_as_it_was);
}
