/* What a policy can be told and can ask: OPTIONS with --set and :set, trial plans, files beside it.
 */
#include "tests/unit/unit.h"

#include "core/session/planfile.h"
#include "scripts/hooks.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODEL "samples/models/tiny-gpt.onnx"

typedef struct {
    Arena *arena;
    Scripts *scripts;
    SessionHooks hooks;
    char folder[64];
    Session *session;
    Error err;
} World;

static World new_world(void)
{
    World world = {.arena = arena_new(), .folder = "/tmp/dimscope_options_XXXXXX"};
    world.scripts = scripts_new(world.arena, ".");
    world.hooks = scripts_hooks(world.scripts);
    assert_non_null(mkdtemp(world.folder));
    return world;
}

static const char *in_folder(World *world, const char *name)
{
    return arena_printf(world->arena, "%s/%s", world->folder, name);
}

static const char *write_file(World *world, const char *name, const char *text)
{
    const char *path = in_folder(world, name);
    assert_true(file_write(path, str_from(text), NULL));
    return path;
}

/* set: "a=1 b=2" */
static void open_world(World *world, const char *model, const char *policy, const char *set)
{
    SessionOptions options = {.model = model, .policy = policy};
    if (strcmp(model, MODEL) == 0)
        options.mesh = "dp=2,tp=2";
    for (Str rest = str_from(set); rest.n > 0;)
        assert_true(policy_settings_with(world->arena, &options.settings, str_take(&rest, ' '),
                                         &options.settings, &world->err));
    world->session = session_open(&options, &world->hooks, &world->err);
}

static void close_world(World *world)
{
    session_close(world->session);
    scripts_free(world->scripts);
    if (fork() == 0)
        execlp("rm", "rm", "-r", world->folder, (char *)NULL);
    arena_free(world->arena);
}

static const char *printed(const World *world)
{
    Buf out = buf_new(world->arena);
    for (int i = 0; world->session && i < world->session->notes.n; i++)
        buf_printf(&out, "%s%s", out.n > 0 ? "; " : "", world->session->notes.at[i].text);
    return out.n > 0 ? out.s : "";
}

/* ---- options ---- */

#define DECLARED                                                                                   \
    "OPTIONS = {{'count', 8, 'how many'}, {'share', 0.5, 'a part'}, {'whole', true, 'or not'}, "   \
    "{'way', 'ring', 'which'}}\n"
#define SHOWN                                                                                      \
    "function PAS(graph, resource)\n local o = resource.options\n"                                 \
    " print(math.type(o.count), o.count, o.share, o.whole, o.way)\n return graph\nend\n"

typedef struct {
    const char *name, *script, *set;
    const char *want; /* what it prints, or the error and its hint */
    ErrorKind kind;   /* of the error */
} OptionRow;

static OptionRow option_rows[] = {
    {"defaults", DECLARED SHOWN, "", "integer 8       0.5     true    ring", ERROR_USAGE},
    {"values", DECLARED SHOWN, "count=3 share=2 whole=false way=tree",
     "integer 3       2       false   tree", ERROR_USAGE},
    {"the last one counts", DECLARED SHOWN, "count=3 count=4",
     "integer 4       0.5     true    ring", ERROR_USAGE},
    {"a text may be empty", DECLARED SHOWN, "way=", "integer 8       0.5     true    ",
     ERROR_USAGE},
    {"unknown", DECLARED SHOWN, "cuont=3", "mine.lua has no option 'cuont'; did you mean 'count'?",
     ERROR_USAGE},
    {"a beginning", DECLARED SHOWN, "wh=3", "mine.lua has no option 'wh'; did you mean 'whole'?",
     ERROR_USAGE},
    {"no number", DECLARED SHOWN, "count=many",
     "option 'count' is a whole number, not 'many'; how many (default 8)", ERROR_USAGE},
    {"no whole number", DECLARED SHOWN, "count=1.5",
     "option 'count' is a whole number, not '1.5'; how many (default 8)", ERROR_USAGE},
    {"no truth", DECLARED SHOWN, "whole=perhaps",
     "option 'whole' is true or false, not 'perhaps'; or not (default true)", ERROR_USAGE},
    {"none are declared", "function PAS(g) return g end", "a=1",
     "mine.lua has no option 'a'; it declares no options", ERROR_USAGE},
    {"not a list", "OPTIONS = 3\nfunction PAS(g) return g end", "",
     "OPTIONS is a number; it is a list of {name, value, help}", ERROR_SCRIPT},
    {"an entry without help", "OPTIONS = {{'a', 1}}\nfunction PAS(g) return g end", "",
     "option 'a' has no help; write OPTIONS = {{\"micro_batches\", 8, \"what it is\"}, ..}",
     ERROR_SCRIPT},
    {"an entry without a default", "OPTIONS = {{'a', {}, 'x'}}\nfunction PAS(g) return g end", "",
     "option 'a' has no default: a number, a text, true or false; "
     "write OPTIONS = {{\"micro_batches\", 8, \"what it is\"}, ..}",
     ERROR_SCRIPT},
    {"a name that cannot be typed", "OPTIONS = {{'a=b', 1, 'x'}}\nfunction PAS(g) return g end", "",
     "OPTIONS[1] has no name of letters, digits and _; "
     "write OPTIONS = {{\"micro_batches\", 8, \"what it is\"}, ..}",
     ERROR_SCRIPT},
    {"an option that is not there",
     "OPTIONS = {{'a', 1, 'x'}}\nfunction PAS(g, r)\nprint(r.options.b)\n"
     "return g end",
     "", "the policy declares no option 'b'; a policy declares its options in OPTIONS",
     ERROR_SCRIPT},
};

static void options_are_what_the_policy_declares(void **state)
{
    const OptionRow *row = *state;
    World world = new_world();
    open_world(&world, MODEL, write_file(&world, "mine.lua", row->script), row->set);
    const char *got = world.session
                          ? printed(&world)
                          : arena_printf(world.arena, "%s; %s", world.err.text, world.err.hint);
    assert_string_equal(got, row->want);
    if (!world.session)
        assert_int_equal(world.err.kind, row->kind);
    close_world(&world);
}

static void a_setting_without_a_policy_is_refused(void **state)
{
    (void)state;
    World world = new_world();
    open_world(&world, MODEL, NULL, "a=1");
    assert_null(world.session);
    assert_int_equal(world.err.kind, ERROR_USAGE);
    assert_string_equal(world.err.text, "'a' is an option of policies, but no policy is given");
    close_world(&world);
}

static void a_plan_file_keeps_the_settings(void **state)
{
    (void)state;
    World world = new_world();
    const char *policy = write_file(&world, "mine.lua", DECLARED SHOWN);
    const char *plan = in_folder(&world, "plan.json");
    open_world(&world, MODEL, policy, "count=3 whole=false");
    assert_non_null(world.session);
    assert_true(planfile_save(world.session, plan, false, &world.err));
    session_close(world.session);
    open_world(&world, plan, NULL, "");
    assert_non_null(world.session);
    assert_string_equal(policy_settings_find(&world.session->options.settings, "count"), "3");
    assert_true(session_rerun_policy(world.session, &world.err));
    assert_string_equal(printed(&world), "integer 3       0.5     false   ring");
    session_close(world.session);
    open_world(&world, plan, NULL, "count=5");
    assert_non_null(world.session);
    assert_string_equal(printed(&world), "integer 5       0.5     false   ring");
    close_world(&world);
}

static bool set(World *world, const char *text)
{
    return session_change(world->session, &(Change){.kind = CHANGE_SETTING, .text = text},
                          &world->err);
}

static void a_setting_runs_the_policy_again(void **state)
{
    (void)state;
    World world = new_world();
    open_world(&world, MODEL, "megatron", "");
    assert_non_null(world.session);
    int64_t peak = world.session->plan->priced->totals.peak_bytes;
    assert_true(set(&world, "cut_vocabulary=false"));
    assert_true(world.session->plan->priced->totals.peak_bytes > peak);
    assert_string_equal(world.session->policy_options.at[0].value, "false");
    assert_string_equal(world.session->policy_options.at[0].fallback, "true");
    assert_false(set(&world, "cut_vocabulary=some"));
    assert_false(set(&world, "nothing"));
    assert_true(world.session->plan->priced->totals.peak_bytes > peak);
    assert_true(set(&world, "cut_vocabulary=true"));
    assert_int_equal(world.session->plan->priced->totals.peak_bytes, peak);
    close_world(&world);
}

/* ---- trial plans ---- */

static void a_policy_compares_and_chooses(void **state)
{
    (void)state;
    World world = new_world();
    const char *policy = write_file(
        &world, "mine.lua",
        "function PAS(graph, resource)\n"
        "    local node = graph:op('lm_head')\n"
        "    local whole = graph:propose()\n"
        "    local us = node.us\n"
        "    graph:pin(node, {n = 'tp'})\n"
        "    local cut = graph:propose()\n"
        "    print(cut.peak_bytes < whole.peak_bytes, node.us <= us, cut.legal)\n"
        "    graph:shard('transformer.h.*.mlp.c_proj.weight', {k = 'tp'})\n"
        "    local with_sums, n = graph:propose(), 0\n"
        "    for it in graph:reshards{axis = 'tp'} do n = n + (it.kind:find('AR') and 1 or 0) end\n"
        "    print(n, with_sums.comm_ms > cut.comm_ms, graph:outputs()[1].sharding)\n"
        "    graph:unpin('transformer.h.0.mlp.c_proj.weight')\n"
        "    graph:propose()\n"
        "    n = 0\n"
        "    for it in graph:reshards() do n = n + (it.kind:find('AR') and 1 or 0) end\n"
        "    print(n)\n"
        "    return graph\n"
        "end\n");
    open_world(&world, MODEL, policy, "");
    if (!world.session)
        fail_msg("%d: %s", world.err.line, world.err.text);
    assert_string_equal(printed(&world), "true    true    true; 2       true    2,16,256/tp; 1");
    close_world(&world);
}

static void without_a_trial_there_is_no_plan_in_pas(void **state)
{
    (void)state;
    World world = new_world();
    const char *policy = write_file(&world, "mine.lua",
                                    "function PAS(graph)\n"
                                    "    print(graph:op('lm_head').us)\n"
                                    "    for it in graph:reshards() do print(it.kind) end\n"
                                    "    return graph\n"
                                    "end\n");
    open_world(&world, MODEL, policy, "");
    assert_null(world.session);
    assert_int_equal(world.err.line, 3);
    assert_non_null(strstr(world.err.text, "graph:propose() makes a trial plan"));
    close_world(&world);
}

static void a_warning_of_a_policy_has_its_line(void **state)
{
    (void)state;
    World world = new_world();
    const char *policy = write_file(
        &world, "mine.lua",
        "function PAS(graph)\n    graph:warn('beware', 'of this')\n    return graph\nend");
    open_world(&world, MODEL, policy, "");
    assert_non_null(world.session);
    const Finding *finding = &world.session->notes.at[0];
    assert_int_equal(finding->level, LEVEL_WARNING);
    assert_int_equal(finding->line, 2);
    assert_string_equal(finding->text, "beware");
    assert_string_equal(finding->hint, "of this");
    close_world(&world);
}

/* ---- files beside the policy ---- */

static void a_policy_includes_files_beside_it(void **state)
{
    (void)state;
    World world = new_world();
    assert_int_equal(mkdir(in_folder(&world, "lib"), 0700), 0);
    write_file(&world, "lib/mine.lua", "return {name = include('lib/deeper').name .. ' beside'}");
    write_file(&world, "lib/deeper.lua", "return {name = 'deeper'}");
    write_file(&world, "lib/common.lua", "return {use_axes = 'mine'}");
    const char *policy = write_file(
        &world, "mine.lua",
        "local mine, common = include 'lib/mine', include 'lib/common'\n"
        "function PAS(graph)\n    print(mine.name, common.use_axes)\n    return graph\nend");
    open_world(&world, MODEL, policy, "");
    if (!world.session)
        fail_msg("%d: %s", world.err.line, world.err.text);
    assert_string_equal(printed(&world), "deeper beside   mine");
    close_world(&world);
}

static void no_link_leads_out_of_the_folder(void **state)
{
    (void)state;
    World world = new_world();
    assert_int_equal(mkdir(in_folder(&world, "inner"), 0700), 0);
    write_file(&world, "secret.lua", "return {name = 'secret'}");
    assert_int_equal(symlink("../secret.lua", in_folder(&world, "inner/link.lua")), 0);
    const char *policy = write_file(&world, "inner/mine.lua",
                                    "include 'link'\nfunction PAS(graph) return graph end");
    open_world(&world, MODEL, policy, "");
    assert_null(world.session);
    assert_string_equal(world.err.text, "there is no 'link' among the policies");
    close_world(&world);
}

static int count_ops(const Graph *graph, const char *operator_name)
{
    int n = 0;
    for (int32_t op = 0; op < graph->n_ops; op++)
        n += strcmp(op_operator(graph, op), operator_name) == 0;
    return n;
}

/* PAS begins again on the fused graph, where the call does nothing. */
static void a_policy_fuses_attention(void **state)
{
    (void)state;
    World world = new_world();
    const char *policy = write_file(&world, "mine.lua",
                                    "function PAS(graph, resource)\n graph:fuse('attention')\n"
                                    " graph:fuse('attention')\n"
                                    " graph:shard('*.c_attn.weight', {[1] = 'tp'})\n"
                                    " print('after')\n return graph\nend\n");
    open_world(&world, MODEL, policy, "");
    assert_string_equal(world.err.text, "");
    assert_int_equal(count_ops(world.session->graph, "Attention"), 2);
    assert_int_equal(count_ops(world.session->graph, "Softmax"), 0);
    assert_int_equal(world.session->journal.n_done, 2);
    assert_string_equal(printed(&world), "after");
    close_world(&world);

    world = new_world();
    policy = write_file(&world, "mine.lua", "function PAS(graph)\n graph:fuse('atention')\nend\n");
    open_world(&world, MODEL, policy, "");
    assert_null(world.session);
    assert_string_equal(world.err.text, "there is no fusion 'atention'");
    assert_string_equal(world.err.hint, "did you mean 'attention'?");
    assert_int_equal(world.err.line, 2);
    close_world(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_setting_without_a_policy_is_refused),
        cmocka_unit_test(a_plan_file_keeps_the_settings),
        cmocka_unit_test(a_setting_runs_the_policy_again),
        cmocka_unit_test(a_policy_compares_and_chooses),
        cmocka_unit_test(without_a_trial_there_is_no_plan_in_pas),
        cmocka_unit_test(a_warning_of_a_policy_has_its_line),
        cmocka_unit_test(a_policy_includes_files_beside_it),
        cmocka_unit_test(no_link_leads_out_of_the_folder),
        cmocka_unit_test(a_policy_fuses_attention),
    };
    return run_rows("options", option_rows, options_are_what_the_policy_declares) +
           cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
