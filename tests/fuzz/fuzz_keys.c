/* fuzz_keys.c - any keys, on a screen of any size: the screen stays whole, files are written into
 * an empty folder only, and no program is started.
 *
 * Bytes of the input, in order: which model and whether jobs work beside the screen, then what is
 * pressed: ASCII is itself, 0x80 and more are named keys, the mouse, a new size, or a text.
 */
#include "core/model/onnx.h"
#include "scripts/hooks.h"
#include "tui/app/app.h"

#include "tests/fuzz/sandbox.h"
#include "tests/unit/graph_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

enum { INPUT_MAX = 600 };

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
        app_type(app, str_from(texts[(byte - 0xc0) % TEXT_COUNT]));
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

static Graph *one_op(void)
{
    static Graph *graph;
    if (!graph)
        graph = graph_from_text(arena_new(), "y <- MatMul f32[8,4] f32[4,6]!", 13);
    return graph;
}

static Session *open_session(Scripts *scripts, bool small)
{
    static char model[PATH_MAX + 64];
    SessionHooks hooks = scripts_hooks(scripts);
    SessionOptions options = {.mesh = "dp=2,tp=4"};
    Error err = {0};
    snprintf(model, sizeof model, "%s/samples/models/tiny-gpt.onnx", root);
    if (!small) {
        options.model = model;
        options.policy = "megatron";
    }
    Session *session = small ? session_open_graph(one_op(), &options, &hooks, &err)
                             : session_open(&options, &hooks, &err);
    if (!session)
        fail_msg("%s\n", err.text);
    return session;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    Bytes from = {bytes, n_bytes < INPUT_MAX ? n_bytes : INPUT_MAX};
    int first = take(&from);
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, root);
    Session *session = open_session(scripts, first & 1);
    AppOptions options = {.ascii = first & 2, .one_pane = first & 4};
    App *app = app_new(session, &options, NULL, 80, 24);
    app->ui.jobs.quiet_ms = 1; /* a line of Lua without end is stopped where the explorer ends */
    while (from.n > 0 && !app->quit) {
        press(app, &from);
        job_poll(&app->ui);
        check_screen(app, app_draw(app));
        app = app_reopened(app);
    }
    session = app->ui.session;
    app_free(app);
    session_close(session);
    scripts_free(scripts);
    arena_free(arena);
    empty_folder();
    return 0;
}
