/* fuzz_keys.c - any keys, on a screen of any size: the screen stays whole, files are written into
 * an empty folder only, and no program is started.
 *
 * Bytes of the input, in order: which model and whether jobs work beside the screen, then what is
 * pressed: ASCII is itself, 0x80 and more are named keys, the mouse, a new size, or a text.
 */
#include "tui/app/app.h"

#include "tests/fuzz/quick_hooks.h"
#include "tests/fuzz/sandbox.h"
#include "tests/unit/graph_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

enum { INPUT_MAX = 8, LONG_INPUT_MAX = 64 };

/* ---- keys ---- */

static const char *const texts[] = {
    "/attn<Enter>",
    "/(<Enter>",
    ":rank 5<Enter>",
    ":mesh tp=4<Enter>",
    ":mesh dp=2,tp=4<Enter>",
    ":mesh x=1<Enter>",
    ":policy fsdp<Enter>",
    ":policy megatron<Enter>",
    ":machine a100x8<Enter>",
    ":lua print(mesh)<Enter>",
    ":lua while true do end<Enter>",
    ":lua error('x')<Enter>",
    ":run fast<Enter>",
    ":run verify<Enter>",
    ":diff mesh tp=2<Enter>",
    ":diff fsdp<Enter>",
    ":export a.csv<Enter>",
    ":export b.svg<Enter>",
    ":export c.html<Enter>",
    ":save p.json<Enter>",
    ":diff p.json<Enter>",
    ":write w.lua<Enter>",
    ":policy w.lua<Enter>",
    ":trace t.json<Enter>",
    ":screen s.txt<Enter>",
    ":set theme=mono<Enter>",
    ":set glyphs=ascii<Enter>",
    ":shell true<Enter>",
    ":why 0.0<Enter>",
    ":decide unreduced tp<Enter>",
    ":decide barrier none<Enter>",
    ":assign k=tp<Enter>",
    "faxis:tp !norm<Enter>",
    "fop:matmul kind:AR|AG<Enter>",
    "fis:changed<Enter>",
    ":sort ms<Enter>",
    ":links<Enter>",
    ":journal<Enter>",
    ":errors<Enter>",
    ":jumps<Enter>",
    ":undecide<Enter>",
    ":search devices=2 global_batch=2 tp=1 seconds=1<Enter>",
    "\xe2\x9c\x93\xf0\x9f\x98\x80",
};
enum { TEXT_COUNT = sizeof texts / sizeof *texts };

typedef struct {
    const uint8_t *at;
    size_t n;
} Bytes;

static int take(Bytes *from)
{
    if (from->n == 0)
        return 0;
    from->n--;
    return *from->at++;
}

static void check_screen(const App *app, const Grid *grid)
{
    for (int y = 0; y < grid->h; y++) {
        for (int x = 0, to = 0; x < grid->w; x++) {
            const Cell *cell = &grid->cells[y * grid->w + x];
            if (cell->width > 2 || cell->rune < 0x20 || cell->rune == 0x7f)
                fail_msg("WRONG cell at %d,%d: %x\n", x, y, (unsigned)cell->rune);
            if (x >= to)
                to = x + (cell->width ? cell->width : 1);
            if (to > grid->w)
                fail_msg("WRONG width at %d,%d\n", x, y);
        }
    }
    if (grid->cursor_x < 0 || grid->cursor_x >= grid->w || grid->cursor_y < 0 ||
        grid->cursor_y >= grid->h || !app->ui.session->plan)
        fail_msg("WRONG cursor\n");
}

/* As it is pasted: no screen is drawn meanwhile. */
static void type_text(App *app, Str text)
{
    for (Key key; !app->quit && key_script_next(&text, &key);)
        app_key(app, key);
}

/* Which keys the bytes from 0x80 on are. */
static void press_other(App *app, Bytes *from, int byte)
{
    static int64_t now_ms;
    int x, y;
    if (byte < 0x80 + K_LAST - K_UP) {
        app_key(app, K_UP + byte - 0x80);
    } else if (byte < 0xa8) {
        x = 1 + (take(from) | (byte & 1) << 8) % 300;
        y = 1 + take(from) % 100;
        app_resize(app, x, y);
    } else if (byte < 0xc0) {
        x = take(from);
        y = take(from);
        now_ms += byte & 8 ? 100 : 1000;
        mouse_event(app, (MouseKind)(byte % (MOUSE_OTHER + 1)), x, y, now_ms);
    } else {
        type_text(app, str_from(texts[(byte - 0xc0) % TEXT_COUNT]));
    }
}

/* A signal to the whole explorer is out of reach of a test. */
static bool is_suspend(int byte)
{
    return byte == key_ctrl('z');
}

static void press(App *app, Bytes *from)
{
    int byte = take(from);
    if (byte >= 0x80)
        press_other(app, from, byte);
    else if (!is_suspend(byte))
        app_key(app, byte ? byte : K_ENTER);
}

/* ---- the explorer ---- */

static const char *const models[] = {
    "y <- MatMul f32[8,4] f32[4,6]!",
    "h <- MatMul f32[4,6,24] f32[24,72]!; q k v <- Split h axis=2; "
    "s <- MatMul q f32[24,6]!; p <- Softmax s axis=2; o <- MatMul p v; z <- Add o f32[24]!"};
enum { MODEL_COUNT = sizeof models / sizeof *models };

/* A session is opened again when its keys changed something; what they did not change serves the
 * next input. */
static struct {
    Arena *arena;
    Scripts *scripts;
    Session *session;
} opened[MODEL_COUNT];

static void open_session(int model)
{
    static Graph *graphs[MODEL_COUNT];
    if (opened[model].session)
        return;
    if (!graphs[model])
        graphs[model] = graph_from_text(arena_new(), models[model], 13);
    opened[model].arena = arena_new();
    opened[model].scripts = scripts_new(opened[model].arena, root);
    SessionHooks hooks = quick_hooks(opened[model].scripts);
    SessionOptions options = {.mesh = "dp=2,tp=4", .policy = model > 0 ? "megatron" : NULL};
    Error err = {0};
    opened[model].session = session_open_graph(graphs[model], &options, &hooks, &err);
    if (!opened[model].session)
        fail_msg("%s\n", err.text);
}

static void close_session(int model)
{
    session_close(opened[model].session);
    scripts_free(opened[model].scripts);
    arena_free(opened[model].arena);
    opened[model].session = NULL;
}

/* Keys may come faster than the screen is drawn: between two screens up to DRAW_EVERY of them. */
static App *press_all(App *app, Bytes *from)
{
    enum { DRAW_EVERY = 16 };
    check_screen(app, app_draw(app));
    for (int i = 1; from->n > 0 && !app->quit; i++) {
        press(app, from);
        job_poll(&app->ui);
        if (i % DRAW_EVERY == 0 || from->n == 0)
            check_screen(app, app_draw(app));
        app = app_reopened(app);
    }
    return app;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    Bytes from = {bytes, size_used(bytes, n_bytes, INPUT_MAX, LONG_INPUT_MAX)};
    int first = take(&from), model = !(first & 1);
    open_session(model);
    Session *session = opened[model].session;
    const Plan *plan = session->plan;
    AppOptions options = {.ascii = first & 2, .one_pane = first & 4};
    App *app = app_new(session, &options, NULL, 60, 16);
    app->ui.jobs.quiet_ms = 1; /* a line of Lua without end is stopped where the explorer ends */
    app = press_all(app, &from);
    bool changed = app->ui.session != session || app->ui.changes.n > 0;
    opened[model].session = app->ui.session;
    app_free(app);
    if (changed || opened[model].session->plan != plan)
        close_session(model);
    if (wrote)
        empty_folder();
    wrote = false;
    return 0;
}
