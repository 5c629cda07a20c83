/* Where a session ended: written, read again, and what is not ours is left alone. */
#include "tests/unit/unit.h"

#include "core/base/file.h"
#include "scripts/hooks.h"
#include "tui/app/resume.h"

#include <stdlib.h>
#include <unistd.h>

static Arena *arena;
static Scripts *scripts;
static Arena *scripts_arena;
static SessionHooks hooks;

static Session *open_model(const char *model)
{
    SessionOptions options = {.model = model, .mesh = "dp=2,tp=4", .policy = "megatron"};
    Session *session = session_open(&options, &hooks, &(Error){0});
    assert_non_null(session);
    return session;
}

static App *start(Session *session)
{
    return app_new(session, &(AppOptions){0}, NULL, 100, 30);
}

static const char *screen(App *app)
{
    Buf text = buf_new(arena);
    grid_format(app_draw(app), &text);
    return text.s;
}

static Source state_of(App *app)
{
    Buf text = buf_new(arena);
    state_format(app, &text);
    return (Source){.name = "state", .text = buf_str(&text)};
}

typedef struct {
    const char *name, *keys, *has;
} StateRow;

static StateRow rows[] = {
    {"a view", "5", "[5 Comm]"},
    {"an op", "/h.7.mlp.c_proj/Gemm<Enter>", "c_proj"},
    {"a tensor", "/h.3.mlp.c_fc.weight<Enter>", "768,3072/tp"},
    {"closed groups", "zM", "▸"},
    {"open groups", "zRgg/h.11.mlp.act/Tanh<Enter>", "Tanh"},
    {"a rank", "3:rank 5<Enter>", "d5"},
    {"a mark", "/h.3.mlp.c_fc.weight<Enter>ma1'a", "768,3072/tp"},
    {"tags", "<Space>", "468 tagged"},
};

/* Two sessions one after the other show the same, but for the message. */
static void it_comes_back(void **state)
{
    const StateRow *row = *state;
    arena = arena_new();
    Session *session = open_model("samples/models/gpt2.onnx");
    App *first = start(session);
    app_type(first, str_from(row->keys));
    first->ui.messages.text[0] = '\0';
    const char *want = screen(first);
    Source source = state_of(first);
    App *second = start(session);
    assert_true(state_apply(second, &source, &(Error){0}));
    const char *got = screen(second);
    if (!strstr(got, row->has))
        fail_msg("'%s' is not on the screen:\n%s\nbut was:\n%s", row->has, got, want);
    app_free(first);
    app_free(second);
    session_close(session);
    arena_free(arena);
}

/* What a filter opens is not what the user opened. */
static void groups_are_as_before_the_filter(void **state)
{
    (void)state;
    arena = arena_new();
    Session *session = open_model("samples/models/gpt2.onnx");
    App *first = start(session), *second = start(session);
    app_type(first, STR("zM"));
    const char *closed = screen(first);
    app_type(first, STR("fop:Gemm<Enter>"));
    Source source = state_of(first);
    assert_true(state_apply(second, &source, &(Error){0}));
    app_type(second, STR("Fgg"));
    app_type(first, STR("Fgg"));
    assert_string_equal(screen(second), screen(first));
    assert_null(strstr(screen(second), "c_fc"));
    assert_null(strstr(closed, "c_fc"));
    app_free(first);
    app_free(second);
    session_close(session);
    arena_free(arena);
}

static void what_was_typed_is_recalled(void **state)
{
    (void)state;
    arena = arena_new();
    Session *session = open_model("samples/models/gpt2.onnx");
    App *first = start(session), *second = start(session);
    app_type(first, STR(":rank 5<Enter>"));
    Source source = state_of(first);
    assert_true(state_apply(second, &source, &(Error){0}));
    app_type(second, STR(":<Up>"));
    assert_non_null(strstr(screen(second), ":rank 5"));
    app_free(first);
    app_free(second);
    session_close(session);
    arena_free(arena);
}

static void what_is_not_ours_is_left_out(void **state)
{
    static const char *const texts[] = {"", "x", "dimscope state 2\n", "\x7f\x45LF\n\n\n",
                                        "dimscope state 1\ngraph 0\nat Comm\n"};
    (void)state;
    arena = arena_new();
    Session *session = open_model("samples/models/gpt2.onnx");
    App *app = start(session);
    const char *before = screen(app);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        Source source = {.name = "state", .text = str_from(texts[i])};
        Error err = {0};
        assert_false(state_apply(app, &source, &err));
        assert_true(error_is_set(&err));
    }
    assert_string_equal(screen(app), before);
    app_free(app);
    session_close(session);
    arena_free(arena);
}

/* Each line is spoilt in turn; the others still count and nothing breaks. */
static void a_spoilt_line_is_left_out(void **state)
{
    static const char *const lines[] = {"open 0 zz",      "open",         "rank -1",
                                        "rank 99999",     "at Nowhere x", "mark 1 Comm",
                                        "mark",           "tag no-such",  "typed ",
                                        "filter bad:bad", "columns -4",   "columns 4294967295",
                                        "unknown line",   "at Graph op ", "\x1b[2J"};
    (void)state;
    arena = arena_new();
    Session *session = open_model("samples/models/gpt2.onnx");
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        App *app = start(session);
        Source source = state_of(app);
        Buf text = buf_new(arena);
        buf_printf(&text, "%s%s\nrank 3\n", source.text.s, lines[i]);
        source.text = buf_str(&text);
        assert_true(state_apply(app, &source, &(Error){0}));
        assert_int_equal(app->ui.rank, 3);
        screen(app);
        app_free(app);
    }
    session_close(session);
    arena_free(arena);
}

static void it_is_kept_in_a_file_per_model(void **state)
{
    (void)state;
    arena = arena_new();
    char folder[] = "/tmp/dimscope-state-XXXXXX";
    assert_non_null(mkdtemp(folder));
    setenv("XDG_STATE_HOME", folder, 1);
    Session *session = open_model("samples/models/gpt2.onnx");
    const char *path = state_path(arena, "samples/models/gpt2.onnx");
    assert_string_equal(path, state_path(arena, "./samples/../samples/models/gpt2.onnx"));
    assert_string_not_equal(path, state_path(arena, "samples/models/tiny-gpt.onnx"));
    App *app = start(session);
    app_type(app, STR("5"));
    state_save(app);
    app_free(app);
    app = start(session);
    state_load(app);
    assert_non_null(strstr(screen(app), "[5 Comm]"));
    assert_non_null(strstr(screen(app), "--fresh"));
    app_free(app);
    assert_true(file_write(path, STR("noise\n"), NULL));
    app = start(session);
    state_load(app);
    assert_non_null(strstr(screen(app), "is not a saved session"));
    app_free(app);
    unlink(path);
    rmdir(arena_printf(arena, "%s/dimscope", folder));
    rmdir(folder);
    session_close(session);
    arena_free(arena);
}

static int open_scripts(void **state)
{
    (void)state;
    scripts_arena = arena_new();
    scripts = scripts_new(scripts_arena, ".");
    hooks = scripts_hooks(scripts);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_are_as_before_the_filter),
        cmocka_unit_test(what_was_typed_is_recalled),
        cmocka_unit_test(what_is_not_ours_is_left_out),
        cmocka_unit_test(a_spoilt_line_is_left_out),
        cmocka_unit_test(it_is_kept_in_a_file_per_model),
    };
    open_scripts(NULL);
    int failed = run_rows("state", rows, it_comes_back) +
                 cmocka_run_group_tests_name("files", tests, NULL, NULL);
    scripts_free(scripts);
    arena_free(scripts_arena);
    return failed;
}
