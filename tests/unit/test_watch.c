/* Files that are written while the explorer shows them: read again once they are whole, with the
 * cursor and the user's pins kept by name; what cannot be read leaves what was shown. */
#include "tests/unit/unit.h"

#include "scripts/hooks.h"
#include "tui/app/reload.h"
#include "tui/state/pins.h"
#include "tui/views/graph/graph_row.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    Arena *arena;
    Scripts *scripts;
    SessionHooks hooks;
    char folder[40];
    const char *model, *sizes, *policy, *machine, *settings;
    App *app;
    Watch *watch;
} Fixture;

static void write_file(const char *path, const char *text)
{
    assert_true(file_write(path, str_from(text), NULL));
}

/* As if written so long ago. */
static void age(const char *path, int seconds)
{
    struct timespec times[2];
    clock_gettime(CLOCK_REALTIME, &times[0]);
    times[0].tv_sec -= seconds;
    times[1] = times[0];
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void copy_model(const Fixture *f, const char *from)
{
    Arena *arena = arena_new();
    Source source;
    assert_true(file_read(arena, from, 1 << 24, &source, NULL));
    assert_true(file_write(f->model, source.text, NULL));
    arena_free(arena);
}

static const char pinned[] =
    "function PAS(g)\n  g:shard('input_ids', {[0] = 'dp'})\n  return g\nend\n";

/* A session on a copy of that model, under that name in a folder of its own. */
static int setup_with(void **state, const char *name, const char *model)
{
    Arena *arena = arena_new();
    Fixture *f = arena_make(arena, Fixture);
    Error err = {0};
    AppOptions options = {.watch = true};
    *f = (Fixture){
        .arena = arena, .scripts = scripts_new(arena, "."), .folder = "/tmp/dimscope-watch-XXXXXX"};
    assert_non_null(mkdtemp(f->folder));
    f->hooks = scripts_hooks(f->scripts);
    f->model = path_join(arena, f->folder, name);
    f->sizes = path_join(arena, f->folder, "model.dims");
    f->policy = path_join(arena, f->folder, "policy.lua");
    f->machine = path_join(arena, f->folder, "machine.lua");
    f->settings = path_join(arena, f->folder, "config");
    copy_model(f, model);
    write_file(f->settings, "[explorer]\n");
    age(f->settings, 60);
    options.config = config_read(arena, f->settings);
    write_file(f->sizes, "batch=2,seq=16\n");
    write_file(f->policy, pinned);
    Source machine;
    assert_true(file_read(arena, "scripts/machines/h100x8.lua", 1 << 16, &machine, NULL));
    assert_true(file_write(f->machine, machine.text, NULL));
    age(f->model, 60);
    age(f->sizes, 60);
    age(f->policy, 60);
    age(f->machine, 60);
    SessionOptions session = {
        .model = f->model, .mesh = "dp=2,tp=2", .policy = f->policy, .machine = f->machine};
    Session *opened = session_open(&session, &f->hooks, &err);
    if (!opened)
        fail_msg("%s", err.text);
    f->app = app_new(opened, &options, NULL, 120, 30);
    f->watch = reload_watch(f->app);
    app_draw(f->app);
    *state = f;
    return 0;
}

static int setup(void **state)
{
    return setup_with(state, "model.onnx", "samples/models/tiny-gpt.onnx");
}

static int setup_config(void **state)
{
    return setup_with(state, "model.json", "samples/models/llama-3-tiny.json");
}

static int teardown(void **state)
{
    Fixture *f = *state;
    Session *session = f->app->ui.session;
    app_free(f->app);
    session_close(session);
    scripts_free(f->scripts);
    unlink(f->model);
    unlink(f->sizes);
    unlink(f->policy);
    unlink(f->machine);
    unlink(f->settings);
    rmdir(f->folder);
    arena_free(f->arena);
    return 0;
}

/* A turn of the explorer's loop. */
static bool turn(Fixture *f)
{
    bool read = watch_poll(f->watch);
    App *app = app_reopened(f->app);
    if (app != f->app)
        f->watch = reload_watch(app);
    f->app = app;
    app_draw(app);
    return read;
}

static void nothing_is_read_until_it_is_written(void **state)
{
    Fixture *f = *state;
    assert_false(turn(f));
    write_file(f->policy, pinned);
    assert_false(turn(f)); /* a moment ago: it may not be whole */
    age(f->policy, 5);
    assert_true(turn(f));
    assert_false(turn(f));
    unlink(f->policy);
    assert_false(turn(f)); /* gone: left alone */
    write_file(f->policy, pinned);
    age(f->policy, 3);
    assert_true(turn(f));
}

static void a_policy_is_run_again_under_the_pins(void **state)
{
    Fixture *f = *state;
    app_type(f->app, STR(":tensor lm_head.weight.1<Enter>:pin tp<Enter>"));
    int n = f->app->ui.session->journal.n_done;
    write_file(f->policy, "function PAS(g) return g end\n");
    age(f->policy, 5);
    assert_true(turn(f));
    assert_int_equal(f->app->ui.session->journal.n_done, n - 1);
    assert_int_equal(f->app->ui.session->journal.decisions.at[0].origin.kind, ORIGIN_USER);
    assert_true(f->app->ui.changes.ops.n > 0);
}

static void a_failing_policy_leaves_the_plan(void **state)
{
    Fixture *f = *state;
    const Plan *plan = f->app->ui.session->plan;
    for (int i = 0; i < 2; i++) {
        write_file(f->policy, "function PAS(g)\n  oops()\nend\n");
        age(f->policy, 5 + i);
        assert_true(turn(f));
    }
    assert_ptr_equal(f->app->ui.session->plan, plan);
    assert_int_equal(f->app->ui.messages.n_errors, 1);
    assert_int_equal(f->app->ui.messages.error[0].times, 2);
    assert_int_equal(f->app->ui.messages.error[0].line, 2);
    assert_string_equal(f->app->ui.messages.error[0].file, f->policy);
    assert_true(f->app->ui.messages.error[0].can_edit);
}

static void a_machine_prices_anew(void **state)
{
    Fixture *f = *state;
    double step_us = f->app->ui.session->plan->priced->totals.step_us;
    Source slower;
    assert_true(file_read(f->arena, "scripts/machines/pcie.lua", 1 << 16, &slower, NULL));
    assert_true(file_write(f->machine, slower.text, NULL));
    age(f->machine, 5);
    assert_true(turn(f));
    assert_true(f->app->ui.session->plan->priced->totals.step_us > step_us);
    write_file(f->machine, "nonsense");
    age(f->machine, 4);
    step_us = f->app->ui.session->plan->priced->totals.step_us;
    assert_true(turn(f));
    assert_true(f->app->ui.messages.is_error);
    assert_true(f->app->ui.session->plan->priced->totals.step_us == step_us);
}

static void a_model_is_opened_again_with_the_pins(void **state)
{
    Fixture *f = *state;
    app_type(f->app, STR(":tensor lm_head.weight.1<Enter>:pin tp<Enter>"
                         "/h.1.mlp.c_proj/Gemm<Enter>"));
    Session *old = f->app->ui.session;
    const char *op = arena_str(f->arena, str_from(op_name(old->graph, f->app->ui.at.op)));
    double step_us = old->plan->priced->totals.step_us;
    copy_model(f, "samples/models/tiny-gpt.onnx");
    age(f->model, 5);
    assert_true(turn(f));
    Session *session = f->app->ui.session;
    assert_ptr_not_equal(session, old);
    assert_string_equal(op_name(session->graph, f->app->ui.at.op), op);
    assert_true(session->plan->priced->totals.step_us == step_us);
    assert_non_null(strstr(f->app->ui.messages.text, "1 of 1 pins kept"));
    app_type(f->app, STR("u")); /* it can be taken back as before */
    assert_int_equal(session->journal.n_done, 1);
    assert_false(f->app->ui.messages.is_error);
}

static void other_sizes_open_it_again(void **state)
{
    Fixture *f = *state;
    app_type(f->app, STR(":tensor lm_head.weight.1<Enter>:pin tp<Enter>"));
    write_file(f->sizes, "batch=4,seq=16\n");
    age(f->sizes, 5);
    assert_true(turn(f));
    Session *session = f->app->ui.session;
    int32_t ids = graph_find_tensor(session->graph, STR("input_ids"));
    const Shape *shape = inferred_shape(session->inferred, ids);
    assert_true(shape && shape->dim[0] == 4);
    assert_non_null(strstr(f->app->ui.messages.text, "1 of 1 pins kept"));
}

static void another_model_keeps_what_it_can(void **state)
{
    Fixture *f = *state;
    app_type(f->app, STR(":tensor transformer.h.1.mlp.c_fc.weight.1<Enter>:pin tp<Enter>"));
    write_file(f->policy, "function PAS(g) return g end\n");
    age(f->policy, 5);
    assert_true(turn(f));
    copy_model(f, "samples/models/llama-tiny.onnx");
    age(f->model, 5);
    assert_true(turn(f));
    assert_non_null(strstr(f->app->ui.messages.text, "pins kept"));
    assert_null(strstr(f->app->ui.messages.text, "1 of 1"));
    app_type(f->app, STR("F"));
    assert_true(f->app->ui.session->plan->findings.n > 0);
}

static void a_broken_model_leaves_the_last_one(void **state)
{
    Fixture *f = *state;
    Session *old = f->app->ui.session;
    write_file(f->model, "this is no model");
    age(f->model, 5);
    assert_true(turn(f));
    assert_ptr_equal(f->app->ui.session, old);
    assert_true(f->app->ui.messages.is_error);
    assert_int_equal(f->app->ui.messages.n_errors, 1);
}

static void a_config_builds_another_model_with_the_pins(void **state)
{
    Fixture *f = *state;
    app_type(f->app, STR(":tensor model.layers.1.mlp.up_proj.weight.0<Enter>:pin tp<Enter>"));
    int n_ops = f->app->ui.session->graph->n_ops;
    write_file(f->model, "{\"model_type\": \"qwen3\", \"hidden_size\": 32, \"vocab_size\": 64,\n"
                         " \"num_hidden_layers\": 3, \"intermediate_size\": 48,\n"
                         " \"num_attention_heads\": 4}");
    age(f->model, 5);
    assert_true(turn(f));
    assert_true(f->app->ui.session->graph->n_ops > n_ops);
    assert_non_null(strstr(f->app->ui.messages.text, "1 of 1 pins kept"));
    Session *old = f->app->ui.session;
    write_file(f->model, "{\"model_type\": \"llama\",\n \"num_attention_heads\": \"x\"}");
    age(f->model, 4);
    assert_true(turn(f));
    assert_ptr_equal(f->app->ui.session, old);
    assert_int_equal(f->app->ui.messages.error[0].line, 2);
    assert_string_equal(f->app->ui.messages.error[0].file, f->model);
}

static bool on_screen(const Fixture *f, const char *text)
{
    const Grid *grid = app_draw(f->app); /* what the frame before had is gone then */
    Buf screen = buf_new(f->app->ui.frame);
    grid_format(grid, &screen);
    return strstr(screen.s, text) != NULL;
}

static void settings_are_taken_at_once(void **state)
{
    Fixture *f = *state;
    assert_true(on_screen(f, "h[0..1] ×2"));
    assert_true(on_screen(f, "KiB/dev"));
    write_file(f->settings, "[explorer]\nfold = off\ncolumns = op flops\nmouse = maybe\n"
                            "[keys]\nundo = U\n");
    age(f->settings, 5);
    assert_true(turn(f));
    assert_false(on_screen(f, "×2"));
    assert_true(on_screen(f, "FLOPS"));
    assert_false(on_screen(f, "KiB/dev"));
    assert_int_equal(f->app->ui.messages.n_errors, 1);
    assert_int_equal(f->app->ui.messages.error[0].line, 4);
    assert_string_equal(f->app->ui.messages.error[0].file, f->settings);
    assert_int_equal(ui_key(&f->app->ui, ACT_UNDO).s[0], 'U');
    app_type(f->app, STR("]e")); /* where it is wrong */
    assert_true(on_screen(f, "mouse must be one of"));
}

/* The words of the setting are those of the view, in its order. */
static void columns_are_named_once(void **state)
{
    Fixture *f = *state;
    Ui *ui = &f->app->ui;
    Str words = str_from(setting_find(STR("columns"))->values);
    Error err = {0};
    int n = 0;
    for (; words.n > 0; n++) {
        int before = ui->look.settings.columns;
        assert_true(graph_columns_toggle(ui, str_take(&words, ' '), &err));
        assert_int_equal(before ^ ui->look.settings.columns, 1 << n);
    }
    assert_int_equal(n, COL_COUNT);
    assert_int_equal(n, setting_find(STR("columns"))->max);
}

static void a_key_reads_all_of_it(void **state)
{
    Fixture *f = *state;
    Session *old = f->app->ui.session;
    app_type(f->app, STR("5R"));
    f->app = app_reopened(f->app);
    f->watch = reload_watch(f->app);
    assert_ptr_not_equal(f->app->ui.session, old);
    assert_int_equal(f->app->ui.at.show, SHOW_COMM);
    assert_non_null(strstr(f->app->ui.messages.text, "read again: "));
}

/* Types keys, and goes on with the explorer that they open. */
static const char *after(Fixture *f, const char *keys)
{
    app_type(f->app, str_from(keys));
    f->app = app_reopened(f->app);
    f->watch = reload_watch(f->app);
    return f->app->ui.session->options.train;
}

static void a_training_step_is_undone(void **state)
{
    Fixture *f = *state;
    assert_null(f->app->ui.session->options.train);
    assert_string_equal(after(f, ":train sgd\n"), "sgd");
    assert_string_equal(after(f, ":train adamw,clip=1\n"), "adamw,clip=1");
    assert_string_equal(after(f, "u"), "sgd");
    assert_non_null(strstr(f->app->ui.messages.text, "undone: training step sgd: "));
    assert_null(after(f, "u"));
    assert_non_null(strstr(f->app->ui.messages.text, "undone: training step as the policy asks"));
    assert_string_equal(after(f, "\x12"), "sgd");
    assert_non_null(strstr(f->app->ui.messages.text, "redone: training step sgd: "));
    assert_string_equal(after(f, "\x12"), "adamw,clip=1");
    assert_string_equal(after(f, "u"), "sgd");
    assert_string_equal(after(f, ":freeze *wte*\n"),
                        "sgd,freeze=*wte*"); /* drops what was undone */
    assert_string_equal(after(f, "\x12"), "sgd,freeze=*wte*");
    assert_string_equal(after(f, "u"), "sgd");
}

/* Steps of undo are taken in their order, whatever they change. */
static void a_pin_behind_it_is_undone_first(void **state)
{
    Fixture *f = *state;
    app_type(f->app, STR("pt"));
    int n_before = pins_made_here(f->app->ui.session);
    assert_true(n_before > 0);
    assert_string_equal(after(f, ":train sgd\n"), "sgd");
    app_type(f->app, STR("jpd"));
    assert_true(pins_made_here(f->app->ui.session) > n_before);
    assert_string_equal(after(f, "u"), "sgd");
    assert_int_equal(pins_made_here(f->app->ui.session), n_before);
    assert_null(after(f, "u"));
    assert_int_equal(pins_made_here(f->app->ui.session), n_before);
    assert_null(after(f, "u"));
    assert_int_equal(pins_made_here(f->app->ui.session), 0);
}

#define WITH_FILES(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILES(nothing_is_read_until_it_is_written),
        WITH_FILES(a_policy_is_run_again_under_the_pins),
        WITH_FILES(a_failing_policy_leaves_the_plan),
        WITH_FILES(a_machine_prices_anew),
        WITH_FILES(a_model_is_opened_again_with_the_pins),
        WITH_FILES(other_sizes_open_it_again),
        WITH_FILES(another_model_keeps_what_it_can),
        WITH_FILES(a_broken_model_leaves_the_last_one),
        cmocka_unit_test_setup_teardown(a_config_builds_another_model_with_the_pins, setup_config,
                                        teardown),
        WITH_FILES(settings_are_taken_at_once),
        WITH_FILES(columns_are_named_once),
        WITH_FILES(a_key_reads_all_of_it),
        WITH_FILES(a_training_step_is_undone),
        WITH_FILES(a_pin_behind_it_is_undone_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
