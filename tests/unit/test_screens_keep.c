/* What a person has decided is not lost: leaving, the next session, another mesh. */
#include "tests/unit/screen.h"

#include "core/base/file.h"
#include "tui/app/resume.h"
#include "tui/state/pins.h"

#define PIN ":tensor lm_head.weight.1<Enter>:pin tp<Enter>"

static ScreenRow rows[] = {
    {"q with a pin that is in no file asks",
     80,
     24,
     PIN "1q",
     -1,
     {"1 pin made here is not saved", "w  write them as a policy, and quit"}},
    {"so does Q", 80, 24, PIN "Q", -1, {"1 pin made here is not saved"}},
    {"Esc stays", 80, 24, PIN "Q<Esc>", -1, {"? help  q"}},
    {"another mesh keeps pins that it has the axes for",
     80,
     24,
     PIN ":mesh dp=4,tp=2<Enter>",
     -1,
     {"dp=4,tp=2", "mesh dp=4,tp=2: step", "the pin made here kept"}},
    {"and says how many it has no place for",
     80,
     24,
     PIN ":mesh dp=4<Enter>",
     -1,
     {"│ dp=4 │", "0 of 1 pins made here kept: gf lists"}},
    {"u takes the mesh back, with the pins",
     80,
     24,
     PIN ":mesh dp=4<Enter>u",
     -1,
     {"│ dp=2,tp=4 │", "undone: mesh dp=2,tp=4", "the pin made here kept"}},
    {"then u takes the pin back", 80, 24, PIN ":mesh dp=4<Enter>uu", -1, {"undone: step"}},
    {"the mesh again",
     80,
     24,
     PIN ":mesh dp=4<Enter>u<C-r>",
     -1,
     {"│ dp=4 │", "redone: mesh dp=4"}},
    {"a pin after the mesh goes first",
     80,
     24,
     ":mesh dp=4,tp=2<Enter>" PIN "u",
     -1,
     {"│ dp=4,tp=2 │", "undone: step"}},
    {"then the mesh",
     80,
     24,
     ":mesh dp=4,tp=2<Enter>" PIN "uu",
     -1,
     {"│ dp=2,tp=4 │", "undone: mesh dp=2,tp=4: step"}},
};

typedef struct {
    char folder[64];
    Session *session;
    App *app;
} Kept;

static void begin(Kept *kept, const char *mesh)
{
    SessionOptions options = {
        .model = "samples/models/tiny-gpt.onnx", .mesh = mesh, .policy = "megatron"};
    AppOptions explorer = {.restore = true};
    kept->session = session_open(&options, &hooks, &(Error){0});
    assert_non_null(kept->session);
    kept->app = app_new(kept->session, &explorer, NULL, 120, 40);
    state_load(kept->app);
}

static void end(Kept *kept, bool saves)
{
    if (saves)
        state_save(kept->app);
    app_free(kept->app);
    session_close(kept->session);
}

static void setup(Kept *kept)
{
    strcpy(kept->folder, "/tmp/dimscope-keep-XXXXXX");
    assert_non_null(mkdtemp(kept->folder));
    setenv("XDG_STATE_HOME", kept->folder, 1);
}

static void clean(const Kept *kept)
{
    Arena *arena = arena_new();
    assert_int_equal(system(arena_printf(arena, "rm -r %s", kept->folder)), 0);
    arena_free(arena);
}

static void pins_survive_a_restart(void **state)
{
    (void)state;
    Kept kept;
    setup(&kept);
    begin(&kept, "dp=2,tp=2");
    app_type(kept.app, STR(PIN));
    Totals totals = kept.session->plan->priced->totals;
    end(&kept, true);
    begin(&kept, "dp=2,tp=2");
    screen_says(kept.app, (const char *[]){"with the 1 pin made there", NULL});
    assert_memory_equal(&kept.session->plan->priced->totals, &totals, sizeof totals);
    assert_int_equal(pins_unwritten(&kept.app->ui), 0);
    app_type(kept.app, STR("u"));
    screen_says(kept.app, (const char *[]){"undone: step", NULL});
    end(&kept, true);
    begin(&kept, "dp=2,tp=2"); /* it was taken back */
    assert_int_equal(pins_made_here(kept.session), 0);
    end(&kept, false);
    clean(&kept);
}

/* As after a kill: the file of pins is written after each change. */
static void pins_of_another_mesh_wait_for_it(void **state)
{
    (void)state;
    Kept kept;
    setup(&kept);
    begin(&kept, "dp=2,tp=2");
    app_type(kept.app, STR(PIN));
    pins_keep(kept.app);
    end(&kept, false);
    begin(&kept, "dp=4");
    assert_int_equal(pins_made_here(kept.session), 0);
    end(&kept, true);
    begin(&kept, "dp=2,tp=2");
    assert_int_equal(pins_made_here(kept.session), 1);
    end(&kept, false);
    clean(&kept);
}

static void pins_that_the_user_drops_are_gone(void **state)
{
    (void)state;
    Kept kept;
    setup(&kept);
    begin(&kept, "dp=2,tp=2");
    app_type(kept.app, STR(PIN "Q"));
    assert_false(kept.app->quit);
    app_type(kept.app, STR("d"));
    assert_true(kept.app->quit);
    end(&kept, true);
    begin(&kept, "dp=2,tp=2");
    assert_int_equal(pins_made_here(kept.session), 0);
    end(&kept, false);
    clean(&kept);
}

static void pins_that_were_written_are_not_asked_about(void **state)
{
    (void)state;
    Session *session = open_tiny();
    App *app = app_new(session, &(AppOptions){0}, NULL, 120, 40);
    char path[] = "/tmp/dimscope-keep-XXXXXX.json";
    close(mkstemps(path, 5));
    Arena *arena = arena_new();
    app_type(app, str_from(arena_printf(arena, PIN ":save %s<Enter>Q", path)));
    assert_true(app->quit);
    unlink(path);
    arena_free(arena);
    app_free(app);
    session_close(session);
}

/* A row of equal layers, which stands for the result of the first. */
static void a_row_of_layers_is_explained_after_a_restart(void **state)
{
    (void)state;
    Kept kept;
    setup(&kept);
    begin(&kept, "dp=2,tp=2");
    end(&kept, true);
    begin(&kept, "dp=2,tp=2");
    screen_says(kept.app, (const char *[]){"restored the last session", "h[0..1] ×2", NULL});
    app_type(kept.app, STR("w"));
    screen_says(kept.app, (const char *[]){"sharded by dp, back to its pin", NULL});
    end(&kept, false);
    clean(&kept);
}

static void a_filter_does_not_come_back(void **state)
{
    (void)state;
    Kept kept;
    setup(&kept);
    begin(&kept, "dp=2,tp=2");
    app_type(kept.app, STR("fop:MatMul<Enter>"));
    assert_non_null(kept.app->ui.listing.filter);
    end(&kept, true);
    begin(&kept, "dp=2,tp=2");
    assert_null(kept.app->ui.listing.filter);
    end(&kept, false);
    clean(&kept);
}

/* A policy that gives the plan on the screen by itself, with a line for all layers that agree. */
static void what_is_written_gives_the_same_plan(void **state)
{
    static const struct {
        const char *policy, *keys, *line, *head;
    } cases[] = {
        {"megatron",
         "ig:assume('*.ln_1.out', 'partial', 'dp')<Enter>g:assume('*.ln_2.out', 'mean', "
         "'dp')<Enter><Esc>",
         "g:assume('*.ln_1.out', 'partial', 'dp')\n    g:assume('*.ln_2.out', 'mean', 'dp')",
         "include \"megatron\""},
        {"megatron", "/c_fc.weight<Enter>:pin dp<Enter>",
         "graph:shard(\"transformer.h.*.mlp.c_fc.weight\", {[0] = {\"dp\"}})",
         "include \"megatron\""},
        {"megatron", ":tensor transformer.wpe.weight<Enter>:pin dp<Enter>",
         "graph:shard(\"transformer.wpe.weight\"", "include \"megatron\""},
        {NULL, "/c_fc.weight<Enter>:pin tp<Enter>", "{[0] = {\"tp\"}}", "gives the same plan.\n"},
        {NULL, "/h.0/mlp/c_fc/Gemm<Enter>:assign n=tp<Enter>",
         "graph:pin(graph:where{op = \"/transformer/h.*/mlp/c_fc/Gemm\"}, {n = {\"tp\"}})",
         "gives the same plan.\n"},
        {"megatron", "/h.0/mlp/act/Mul_3<Enter>:assign d1=dp<Enter>",
         "graph:pin(graph:where{op = \"/transformer/h.*/mlp/act/Mul_3\"}, {",
         "include \"megatron\""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char path[] = "/tmp/dimscope-keep-XXXXXX.lua";
        close(mkstemps(path, 4));
        unlink(path);
        Arena *arena = arena_new();
        SessionOptions options = {.model = "samples/models/gpt2.onnx", .mesh = "dp=2,tp=4"};
        options.policy = cases[i].policy;
        Session *made = session_open(&options, &hooks, &(Error){0});
        assert_non_null(made);
        const char *keys = arena_printf(arena, "%s:write %s<Enter>", cases[i].keys, path);
        const char *screen = screen_after(arena, made, 160, 50, keys);
        const char *lines = strchr(cases[i].line, '\n') ? "2 lines to /tmp/dimscope-keep-"
                                                        : "1 line to /tmp/dimscope-keep-";
        if (!strstr(screen, lines))
            screen_lacks(screen, lines);
        Source source;
        assert_true(file_read(arena, path, 1 << 16, &source, NULL));
        assert_true(str_find(source.text, str_from(cases[i].line)) > 0);
        assert_true(str_find(source.text, str_from(cases[i].head)) > 0);
        Error err = {0};
        options.policy = path;
        Session *run = session_open(&options, &hooks, &err);
        if (!run)
            fail_msg("%s:%d: %s", err.file, err.line, err.text);
        assert_memory_equal(&run->plan->priced->totals, &made->plan->priced->totals,
                            sizeof run->plan->priced->totals);
        session_close(run);
        session_close(made);
        unlink(path);
        arena_free(arena);
    }
}

/* The step that was asked for here is asked for by the file, before pins of its gradients. */
static void what_is_written_gives_the_same_step(void **state)
{
    static const struct {
        const char *policy, *keys, *lines;
    } cases[] = {
        {NULL, "", "1 line to /tmp/dimscope-keep-"},
        {"dp", "/c_fc.weight~grad<Enter>:pin dp<Enter>", "2 lines to /tmp/dimscope-keep-"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char path[] = "/tmp/dimscope-keep-XXXXXX.lua";
        close(mkstemps(path, 4));
        unlink(path);
        Arena *arena = arena_new();
        SessionOptions options = {.model = "samples/models/gpt2.onnx", .mesh = "dp=2,tp=4"};
        options.policy = cases[i].policy;
        options.train = "sgd,clip=1";
        Session *made = session_open(&options, &hooks, &(Error){0});
        assert_non_null(made);
        const char *keys = arena_printf(arena, "%s:write %s<Enter>", cases[i].keys, path);
        const char *screen = screen_after(arena, made, 160, 50, keys);
        if (!strstr(screen, cases[i].lines))
            screen_lacks(screen, cases[i].lines);
        Error err = {0};
        options.policy = path;
        options.train = NULL;
        Session *run = session_open(&options, &hooks, &err);
        if (!run)
            fail_msg("%s:%d: %s", err.file, err.line, err.text);
        assert_string_equal(run->options.train, "sgd,clip=1");
        assert_memory_equal(&run->plan->priced->totals, &made->plan->priced->totals,
                            sizeof run->plan->priced->totals);
        session_close(run);
        session_close(made);
        unlink(path);
        arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pins_survive_a_restart),
        cmocka_unit_test(pins_of_another_mesh_wait_for_it),
        cmocka_unit_test(pins_that_the_user_drops_are_gone),
        cmocka_unit_test(pins_that_were_written_are_not_asked_about),
        cmocka_unit_test(a_row_of_layers_is_explained_after_a_restart),
        cmocka_unit_test(a_filter_does_not_come_back),
        cmocka_unit_test(what_is_written_gives_the_same_plan),
        cmocka_unit_test(what_is_written_gives_the_same_step),
    };
    open_scripts(NULL);
    int failed = run_rows("keep", rows, screen_has);
    failed += cmocka_run_group_tests(tests, NULL, NULL);
    close_scripts(NULL);
    return failed;
}
