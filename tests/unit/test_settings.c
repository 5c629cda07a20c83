/* Settings that reach further than the policy: sizes of free dims, the model's builder, the step.
 */
#include "tests/unit/unit.h"

#include "core/base/file.h"
#include "core/cost/pipeline.h"
#include "core/plan/stage.h"
#include "core/session/session.h"
#include "scripts/hooks.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define GPT "samples/models/tiny-gpt.onnx"
#define LLAMA "samples/models/llama-3-tiny.json"

typedef struct {
    Arena *arena;
    Scripts *scripts;
    SessionHooks hooks;
    SessionOptions options;
    Session *session;
    Error err;
} World;

/* set: "a=1 b=2" */
static void open_world(World *world, const char *model, const char *mesh, const char *policy,
                       const char *set)
{
    if (!world->arena) {
        world->arena = arena_new();
        world->scripts = scripts_new(world->arena, ".");
        world->hooks = scripts_hooks(world->scripts);
    }
    world->options.model = model;
    world->options.mesh = mesh;
    world->options.policy = policy;
    world->err = (Error){0};
    PolicySettings *settings = &world->options.settings;
    *settings = (PolicySettings){0};
    for (Str rest = str_from(set); rest.n > 0;)
        assert_true(policy_settings_with(world->arena, settings, str_take(&rest, ' '), settings,
                                         &world->err));
    session_close(world->session);
    world->session = session_open(&world->options, &world->hooks, &world->err);
}

static void close_world(World *world)
{
    session_close(world->session);
    scripts_free(world->scripts);
    arena_free(world->arena);
}

static int64_t batch_of(const Session *session)
{
    const Graph *graph = session->graph;
    return inferred_shape(session->inferred, graph->inputs[0])->dim[0];
}

/* The change is one that opens the model again; the world goes on with that session. */
static void reopen(World *world, ChangeKind kind, const char *text)
{
    Change change = {.kind = kind, .text = text};
    bool reopens = false;
    assert_true(session_reopens(world->session, &change, &reopens, &world->err));
    assert_true(reopens);
    assert_null(session_prepare(world->session, &change, &world->err));
    Session *next = session_reopen_changed(world->session, &change, &world->err);
    if (!next)
        fail_msg("%s", world->err.text);
    session_close(world->session);
    world->session = next;
}

static void a_micro_batch_is_of_each_rank_of_the_batch(void **state)
{
    (void)state;
    static const struct {
        const char *mesh, *policy, *set;
        int64_t batch;
    } rows[] = {
        {"dp=2,tp=2", "megatron", "", 2}, /* of the model */
        {"dp=2,tp=2", "megatron", "micro_batch=3", 6},
        {"dp=4", "fsdp", "micro_batch=2", 8},
        {"dp=2,sh=2", "fsdp", "micro_batch=2 zero_axis=dp,sh", 8},
        {"tp=2", "tp", "micro_batch=5", 5},
        {"dp=2,cp=2", "context", "micro_batch=3", 6},
        {"dp=2,ep=2", "hybrid3d", "micro_batch=1", 4},
        {"dp=2,pp=2", "pipeline", "micro_batch=4", 8},
    };
    World world = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        open_world(&world, GPT, rows[i].mesh, rows[i].policy, rows[i].set);
        if (!world.session)
            fail_msg("%s %s: %s", rows[i].policy, rows[i].set, world.err.text);
        assert_int_equal(batch_of(world.session), rows[i].batch);
    }
    open_world(&world, GPT, "dp=2", "dp", "micro_batch=-1");
    assert_null(world.session);
    assert_string_equal(world.err.text, "micro_batch is a number of samples, or 0");
    close_world(&world);
}

static void a_size_that_the_user_gives_stays(void **state)
{
    (void)state;
    World world = {0};
    DimBinding batch = {STR("batch"), 10};
    world.options.dims = (DimBindings){.at = &batch, .n = 1};
    open_world(&world, GPT, "dp=2", "dp", "micro_batch=3");
    assert_non_null(world.session);
    assert_int_equal(batch_of(world.session), 10);
    close_world(&world);
}

static int n_user_decisions(const Session *session)
{
    int n = 0;
    for (int i = 0; i < session->journal.n_done; i++)
        n += session->journal.decisions.at[i].origin.kind == ORIGIN_USER;
    return n;
}

static void another_micro_batch_or_mesh_opens_the_model_again(void **state)
{
    (void)state;
    World world = {0};
    open_world(&world, GPT, "dp=2,tp=2", "megatron", "micro_batch=2");
    assert_non_null(world.session);
    int32_t weight = graph_find_tensor(world.session->graph, STR("transformer.wpe.weight"));
    Decision mark = {.kind = PIN_REPLICATED, .place = weight, .dim = -1, .axes = 1};
    mark.origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = "here"};
    assert_true(session_apply(world.session, &mark, 1, &world.err));
    reopen(&world, CHANGE_SETTING, "micro_batch=4");
    assert_int_equal(batch_of(world.session), 8);
    reopen(&world, CHANGE_MESH, "dp=4,tp=2");
    assert_int_equal(batch_of(world.session), 16);
    assert_string_equal(policy_settings_find(&world.session->options.settings, "micro_batch"), "4");
    reopen(&world, CHANGE_POLICY, "fsdp"); /* whose micro_batch is not set */
    assert_int_equal(batch_of(world.session), 2);
    assert_int_equal(n_user_decisions(world.session), 1);
    assert_false(session_change(world.session, &(Change){.kind = CHANGE_SETTING, .text = "nothing"},
                                &world.err));
    close_world(&world);
}

/* shares: whether the fork has the graph that the session read. */
static void fork_as_reopened(World *world, bool shares)
{
    Change change = {.kind = CHANGE_SETTING, .text = "micro_batch=4\nmicro_batches=8"};
    Decision mark = {.kind = PIN_REPLICATED, .dim = -1, .axes = 1};
    mark.place = world->session->graph->n_tensors - 1;
    mark.origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = "here"};
    assert_true(session_apply(world->session, &mark, 1, &world->err));
    Session *fork = session_fork(world->session, &change, &world->err);
    Session *opened = session_reopen_changed(world->session, &change, &world->err);
    if (!fork || !opened)
        fail_msg("%s", world->err.text);
    assert_int_equal(fork->read->ops == world->session->read->ops, shares);
    assert_int_equal(batch_of(fork), 8);
    assert_int_equal(batch_of(opened), 8);
    assert_int_equal(fork->graph->n_ops, opened->graph->n_ops);
    assert_true(plan_step_us(fork->plan) == plan_step_us(opened->plan));
    assert_true(plan_step_us(fork->plan) != plan_step_us(world->session->plan));
    assert_int_equal(fork->plan->priced->totals.peak_bytes,
                     opened->plan->priced->totals.peak_bytes);
    assert_int_equal(fork->plan->findings.n, opened->plan->findings.n);
    assert_int_equal(n_user_decisions(fork), 1);
    assert_int_equal(n_user_decisions(opened), 1);
    session_close(opened);
    session_close(fork);
}

static void a_fork_of_another_micro_batch_is_what_opens_again(void **state)
{
    (void)state;
    static const struct {
        const char *model, *mesh, *policy, *train;
        unsigned fuse;
    } rows[] = {
        {GPT, "dp=2,tp=2", "megatron", NULL, 0},
        {GPT, "dp=2,tp=2", "megatron", "adamw", 1},
        {LLAMA, "pp=2,dp=2,tp=2", "hybrid3d", "adamw", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        World world = {0};
        world.options.train = rows[i].train;
        world.options.fuse = rows[i].fuse;
        open_world(&world, rows[i].model, rows[i].mesh, rows[i].policy, "micro_batch=2");
        assert_non_null(world.session);
        fork_as_reopened(&world, true);
        close_world(&world);
    }
}

static void a_graph_built_for_a_batch_is_built_again_for_another(void **state)
{
    (void)state;
    static const char *const sizes[] = {"model:dim('batch')", "config.batch"};
    char folder[] = "/tmp/dimscope_settings_XXXXXX", path[64], text[256];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/m.lua", folder);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        World world = {0};
        snprintf(text, sizeof text,
                 "function MODEL(model, config)\n"
                 "    local n = %s or 2\n"
                 "    local x = model:input('x', 'f32', {n, 16})\n"
                 "    model:output(model:op('Mul', {x, model:param('w', {n, 16})}), 'y')\n"
                 "end\n",
                 sizes[i]);
        assert_true(file_write(path, str_from(text), NULL));
        open_world(&world, path, "dp=2", "dp", "micro_batch=2");
        if (!world.session)
            fail_msg("%s", world.err.text);
        fork_as_reopened(&world, false);
        close_world(&world);
    }
    unlink(path);
    rmdir(folder);
}

static int count_ops(const Graph *graph, const char *operator_name)
{
    int n = 0;
    for (int32_t op = 0; op < graph->n_ops; op++)
        n += strcmp(op_operator(graph, op), operator_name) == 0;
    return n;
}

static Dtype parameters_of(const Session *session)
{
    const Graph *graph = session->graph;
    int32_t table = graph_find_tensor(graph, STR("model.embed_tokens.weight"));
    return (Dtype)session->inferred->dtype[table];
}

static void a_builder_takes_precision_and_dropout(void **state)
{
    (void)state;
    World world = {0};
    open_world(&world, LLAMA, "dp=2", "dp", "precision=fp16 dropout=0.1");
    assert_non_null(world.session);
    assert_int_equal(parameters_of(world.session), DT_F16);
    assert_int_equal(count_ops(world.session->graph, "Dropout"), 1 + 2 * 2);
    reopen(&world, CHANGE_SETTING, "attention=eager");
    assert_int_equal(count_ops(world.session->graph, "Dropout"), 1 + 2 * 3);
    reopen(&world, CHANGE_SETTING, "precision=bf16");
    assert_int_equal(parameters_of(world.session), DT_BF16);
    assert_true(session_change(world.session, &(Change){.kind = CHANGE_POLICY, .text = "fsdp"},
                               &world.err));
    assert_string_equal(policy_settings_find(&world.session->options.settings, "dropout"), "0.1");
    close_world(&world);
}

static void a_step_takes_precision_and_the_type_of_gradients(void **state)
{
    (void)state;
    World world = {0};
    world.options.train = "sgd,precision=bf16";
    open_world(&world, LLAMA, "dp=2", "dp", "grad_dtype=bf16");
    assert_non_null(world.session);
    assert_int_equal(parameters_of(world.session), DT_BF16);
    assert_string_equal(world.session->options.train, "sgd,precision=bf16,grads=bf16");
    world.options.train = "sgd,grads=f32"; /* said of this step */
    open_world(&world, LLAMA, "dp=2", "dp", "grad_dtype=bf16");
    assert_string_equal(world.session->options.train, "sgd,grads=f32");
    close_world(&world);
}

static void stages_have_as_many_layers_or_as_many_flops(void **state)
{
    (void)state;
    static const struct {
        const char *set, *second; /* where the second stage begins */
    } rows[] = {{"balance=layers", "layers.2."}, {"balance=flops", "norm"}};
    static const char config[] =
        "{\"model_type\": \"llama\", \"hidden_size\": 32, \"num_hidden_layers\": 4,"
        " \"num_attention_heads\": 2, \"intermediate_size\": 32, \"vocab_size\": 5000,"
        " \"max_position_embeddings\": 16}";
    char folder[] = "/tmp/dimscope_settings_XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/config.json", folder);
    assert_true(file_write(path, str_from(config), NULL));
    World world = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        open_world(&world, path, "pp=2", "hybrid3d", rows[i].set);
        if (!world.session)
            fail_msg("%s", world.err.text);
        const Stages *stages = world.session->plan->decided->stages;
        int32_t op = world.session->inferred->program[stages->at[1].first];
        assert_non_null(strstr(op_path(world.session->graph, op), rows[i].second));
    }
    open_world(&world, path, "pp=2", "hybrid3d", "balance=bytes");
    assert_null(world.session);
    assert_non_null(strstr(world.err.text, "balance is layers or flops"));
    unlink(path);
    rmdir(folder);
    close_world(&world);
}

/* Settings, the type of parameters and the flag of the head reach the text_config. */
static void settings_are_of_the_language_model(void **state)
{
    (void)state;
    static const char config[] =
        "{\"model_type\": \"seeing\", \"tie_word_embeddings\": true, \"torch_dtype\": \"bfloat16\","
        " \"text_config\": {\"model_type\": \"llama\", \"hidden_size\": 8,"
        " \"num_hidden_layers\": 4, \"num_attention_heads\": 2, \"intermediate_size\": 8,"
        " \"vocab_size\": 5, \"tie_word_embeddings\": false}}";
    char folder[] = "/tmp/dimscope_settings_XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/config.json", folder);
    assert_true(file_write(path, str_from(config), NULL));
    World world = {0};
    static const struct {
        const char *set;
        int64_t parameters;
    } rows[] = {{"attention=eager", 5 * 8 + 4 * (4 * 64 + 3 * 64 + 2 * 8) + 8},
                {"layers=1", 5 * 8 + 4 * 64 + 3 * 64 + 2 * 8 + 8}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        open_world(&world, path, "dp=2", "dp", rows[i].set);
        if (!world.session)
            fail_msg("%s", world.err.text);
        const Graph *graph = world.session->graph;
        assert_int_equal(inferred_params(world.session->inferred), rows[i].parameters);
        int32_t table = graph_find_tensor(graph, STR("language_model.model.embed_tokens.weight"));
        assert_true(table >= 0);
        assert_int_equal(world.session->inferred->dtype[table], DT_BF16);
        bool softmax = false;
        for (int32_t op = 0; op < graph->n_ops; op++)
            softmax |= strcmp(op_operator(graph, op), "Softmax") == 0;
        assert_int_equal(softmax, i == 0);
    }
    unlink(path);
    rmdir(folder);
    close_world(&world);
}

static void what_cannot_be_set_is_refused(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        {LLAMA, "dropout=1", "dropout is a number from 0 to below 1, not '1'"},
        {LLAMA, "dropout=some", "dropout is a number from 0 to below 1, not 'some'"},
        {LLAMA, "precision=int8", "precision is fp32, bf16 or fp16, not 'int8'"},
        {LLAMA, "grad_dtype=f64", "grad_dtype is f32, bf16 or fp16, not 'f64'"},
        {GPT, "dropout=0.1",
         "'" GPT "' is not a .lua model or a config.json, so its dropout cannot be set"},
    };
    World world = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        open_world(&world, rows[i][0], "dp=2", "dp", rows[i][1]);
        assert_null(world.session);
        assert_string_equal(world.err.text, rows[i][2]);
    }
    world.options.dtype = "f32";
    open_world(&world, LLAMA, "dp=2", "dp", "precision=bf16");
    assert_null(world.session);
    assert_string_equal(world.err.text, "--dtype f32 contradicts precision=bf16");
    close_world(&world);
}

static void sizes_are_whole_numbers_by_name(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"return 8", "SIZES must return a table of sizes, but returned a number"},
        {"return {batch = 0}", "SIZES must return sizes of dims by name, such as {batch = 8}, and "
                               "has batch"},
        {"return {batch = 1.5}", "SIZES must return sizes of dims by name, such as {batch = 8}, "
                                 "and has batch"},
        {"return {8}", "SIZES must return sizes of dims by name, such as {batch = 8}, and has "
                       "number"},
        {"error('no')", "no"},
    };
    char folder[] = "/tmp/dimscope_settings_XXXXXX";
    World world = {0};
    assert_non_null(mkdtemp(folder));
    char path[64];
    snprintf(path, sizeof path, "%s/p.lua", folder);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "function SIZES(resource) %s end\nfunction PAS(graph) return graph end\n",
                 rows[i][0]);
        assert_true(file_write(path, str_from(text), NULL));
        open_world(&world, GPT, "dp=2", path, "");
        assert_null(world.session);
        assert_non_null(strstr(world.err.text, rows[i][1]));
        assert_int_equal(world.err.line, 1);
    }
    unlink(path);
    rmdir(folder);
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_micro_batch_is_of_each_rank_of_the_batch),
        cmocka_unit_test(a_size_that_the_user_gives_stays),
        cmocka_unit_test(another_micro_batch_or_mesh_opens_the_model_again),
        cmocka_unit_test(a_fork_of_another_micro_batch_is_what_opens_again),
        cmocka_unit_test(a_graph_built_for_a_batch_is_built_again_for_another),
        cmocka_unit_test(a_builder_takes_precision_and_dropout),
        cmocka_unit_test(a_step_takes_precision_and_the_type_of_gradients),
        cmocka_unit_test(stages_have_as_many_layers_or_as_many_flops),
        cmocka_unit_test(settings_are_of_the_language_model),
        cmocka_unit_test(what_cannot_be_set_is_refused),
        cmocka_unit_test(sizes_are_whole_numbers_by_name),
    };
    return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
