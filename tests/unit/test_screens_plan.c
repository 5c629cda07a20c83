/* Changes of the plan on the screen: pins, decisions, policies, two plans, a run of it. */
#include "core/propagate/propagators.h"
#include "tests/unit/screen.h"

#include "core/session/planfile.h"

#include "tui/views/policy_lines.h"

#include <stdlib.h>
#include <unistd.h>

static ScreenRow rows[] = {
    {"a note that only one of two plans has is no error",
     80,
     24,
     "8ig:shard(\"*.c_fc.weight\", {n = \"dp\"})<Enter><Esc>7db<Enter>G",
     -1,
     {"- i conflict"}},
    {"long lines of the console break between words",
     80,
     24,
     "8ig:shard(\"*.c_fc.weight\", {n = \"dp\"})<Enter><Esc>",
     -1,
     {"ms, peak\n>  1.1→1.2 GiB"}},
    {"an index dim assigned to ranks",
     80,
     24,
     "/h.0.mlp.c_fc/Gemm<Enter>:assign m=tp<Enter>",
     -1,
     {"m to tp: step"}},
    {"an index dim that is not there",
     80,
     24,
     "/h.0.mlp.c_fc/Gemm<Enter>:assign q=tp<Enter>",
     -1,
     {"no index dim 'q'"}},
    {"a tensor kept whole over an axis",
     80,
     24,
     ":tensor transformer.h.3.mlp.c_fc.weight<Enter>:decide replicated tp<Enter>:journal<Enter>",
     -1,
     {"[Journal]", "graph:replicated(\"transformer.h.3.mlp.c_fc.weight\", {\"tp\"})"}},
    {"that taken back by a decision",
     80,
     24,
     ":tensor lm_head.weight<Enter>:decide barrier none<Enter>:undecide<Enter>:journal<Enter>",
     -1,
     {"graph:barrier(\"lm_head.weight\", \"none\")", "graph:unmark(\"lm_head.weight\")"}},
    {"what can be decided of a tensor",
     200,
     24,
     ":decide sharded<Enter>",
     -1,
     {"replicated AXES, unreduced AXES, barrier forward|backward|none, tie NAME"}},
    {"where undo stands", 80, 24, "ptu:journal<Enter>", -1, {"12 undone", "undo position"}},
    {"a pin's price before it is set",
     80,
     24,
     "x",
     1,
     {"size 8", "as now", "STEP", "PEAK", "+0.976 ms", "graph:shard("}},
    {"a pin, and its effect", 80, 24, "pt", 2, {"pinned to tp: step", "8/tp,1024,768"}},
    {"taken back in one key", 80, 24, "ptu", 3, {"undone: step", "8/dp,1024,768", "24 AR tp"}},
    {"done again", 80, 24, "ptu<C-r>", 4, {"redone: step", "8/tp,1024,768"}},
    {"unpin says when there is none", 80, 24, "P", 1, {"is not pinned"}},
    {"two plans: what differs first, what in total",
     80,
     24,
     "df<Enter>",
     3,
     {"A megatron.lua     B fsdp", "step          17.5 ms", "149 AG", "verdict       B is worse",
      ">~ transformer.wte.weight", "50257,768/dp", "decision 3", "stored, open   fsdp.lua:35"}},
    {"the same side by side with reasons",
     160,
     50,
     ":diff fsdp<Enter>]c]c]c",
     -1,
     {"EFFECTS in B: 149 AG more, 24 AR less", "WHY it differs: transformer.wpe.weight",
      "back to its pin:", "AG dp 147.2 MiB", "×12", "│ A megatron.lua"}},
    {"what is alike, too", 80, 24, "df<Enter>=", 4, {">= input_ids", "(shown: 27)"}},
    {"the plan before the last change",
     80,
     24,
     "pt:diff before<Enter>",
     -1,
     {"B before", "decision 75", "no further decision: it has 74", "by you"}},
    {"a plan on another mesh",
     80,
     24,
     ":diff dp=4<Enter>",
     3,
     {"mesh          dp=2,tp=4          dp=4"}},
    {"a plan by another propagator",
     80,
     24,
     ":diff spmd<Enter>",
     3,
     {"propagate     factor             spmd", "histories are equal: 74"}},
    {"plans that are the same",
     80,
     24,
     ":diff tests/policies/megatron.lua<Enter>",
     3,
     {"The plans are the same: 486 ops"}},
    {"the other way round", 80, 24, "df<Enter>s", -1, {"A fsdp", "B megatron.lua", "B is better"}},
    {"a plan that cannot be opened",
     80,
     24,
     ":diff zzz<Enter>",
     3,
     {"no 'zzz' among the policies", "[1 Graph]"}},
    {"Tab completes the plan", 80, 24, ":diff meg<Tab>", -1, {":diff megatron"}},
    {"no second plan",
     80,
     24,
     "7",
     1,
     {"No second plan yet", ":diff dp=4,tp=2", "this policy on another mesh"}},
    {"a change of A is seen at once",
     80,
     24,
     ":diff tests/policies/megatron.lua<Enter>1pt7",
     -1,
     {"48 AG", "decision 75"}},
    {"another mesh", 80, 24, ":mesh dp=4<Enter>", -1, {"dp=4", "mesh dp=4: step"}},
    {"a mesh that is none", 80, 24, ":mesh dp=<Enter>", -1, {"--mesh", "dp=2,tp=4"}},
    {"more devices than run here",
     80,
     24,
     ":mesh dp=64,tp=8<Enter>9",
     -1,
     {"this plan cannot run here: the mesh has 512 devices, one host runs at most 256"}},
    {"which lines of the policy did nothing",
     80,
     24,
     "8",
     1,
     {"megatron.lua  74 decisions of 5 lines hold, 11 decided nothing", "22    12  ",
      "    42     0  ", "LINE 21 decided    12 × transformer.h.*.attn.c_attn.weight"}},
    {"what a line decided, and what follows",
     80,
     24,
     "8j",
     3,
     {"LINE 22 decided    12 × transformer.h.*.attn.c_proj.weight  768/tp,768",
      "causes   0.975 ms of reshards"}},
    {"and the way there", 80, 24, "8j<Enter>", 4, {"[3 Tensor]", "h.0.attn.c_proj.weight"}},
    {"the plan without a line", 80, 24, "8jx", 4, {"drop it: step 17.5→"}},
    {"dropped, and taken back",
     80,
     24,
     "8jxxu",
     6,
     {"undone: step", "74 decisions of 5 lines hold"}},
    {"a dropped line did nothing, and who took it back",
     80,
     24,
     "8xx",
     -1,
     {"1 did nothing !", ">!   21     0", "LINE 21: all of its 24 decisions were undone",
      "line 21 dropped: step"}},
    {"all of its source",
     80,
     24,
     "8zagg",
     5,
     {"for tests: the pairs of", "line 1 decides nothing"}},
    {"its name is completed", 80, 24, ":policy fs<Tab><Enter>", -1, {"fsdp.lua  "}},
    {"another policy", 80, 24, ":policy fsdp<Enter>", -1, {"fsdp.lua  ", "policy run: step"}},
    {"no such policy", 80, 24, ":policy nope<Enter>", -1, {"nope"}},
    {"a line of Lua asks the plan",
     80,
     24,
     "i'lm_head.weight.1' .. 1<Enter>g:op('transformer.h.0.mlp.c_fc').out[1]<Enter>",
     -1,
     {"[8 Policy]", "> 'lm_head.weight.1' .. 1", "  lm_head.weight.11",
      "Gemm_output_0  f32 8192/dp,3072/tp", "Enter run  Tab complete"}},
    {"one that changes it is taken back",
     80,
     24,
     "ig:shard('lm_head.weight', {[1] = 'tp'})<Enter><Esc>u",
     -1,
     {"plan changed: 1 decision: step", "undone: step"}},
    {"what is wrong with one, and the next",
     80,
     24,
     ":lua g:shrad()<Enter>i<Up>1<Enter>",
     -1,
     {"! console:1: a graph has no 'shrad'; did you mean 'shard'?"}},
    {"an endless line ends",
     80,
     24,
     "iwhile true do end<Enter>1 + 1<Enter>",
     -1,
     {"! console:1: stopped after 51 million instructions", "  2"}},
    {"names are completed",
     80,
     24,
     "ig:sh<Tab>('lm_h<Tab>.w<Tab>', {n = 't<Tab>",
     -1,
     {"> g:shard('lm_head.weight', {n = 'tp", "axis of 4"}},
    {"the use of what Tab goes through stands beside it",
     80,
     24,
     "ig:un<Tab>",
     -1,
     {"> g:unpin", "unreduced  graph:unreduced(what: target|target[], axes: axes)"}},
    {"Tab goes on, and back", 80, 24, "ig:un<Tab><Tab><BTab><BTab>", -1, {"> g:unmark"}},
    {"a line of Lua is written", 80, 24, ":write /dev/null<Enter>", -1, {"no pins were made here"}},
};

static void pins_are_written_as_a_policy(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Session *session = open_gpt2();
    char folder[] = "/tmp/dimscope-screens-XXXXXX";
    assert_non_null(mkdtemp(folder));
    const char *path = arena_printf(arena, "%s/kept.lua", folder);
    const char *keys =
        arena_printf(arena, ":tensor lm_head.weight.1<Enter>pt:write %s<Enter>", path);
    const char *text = screen_after(arena, session, 200, 24, keys);
    /* include() cannot reach the policy of the tests: its decisions are written out */
    assert_non_null(strstr(text, " lines to /tmp/dimscope-screens-"));
    Source source;
    assert_true(file_read(arena, path, 1 << 16, &source, NULL));
    assert_true(str_find(source.text, STR("graph:shard(\"lm_head.weight\", {[1] = {\"tp\"}})")) >
                0);

    /* Another file is not written over; this one may be. */
    const char *other = arena_printf(arena, "%s/mine.lua", folder);
    assert_true(file_write(other, STR("-- mine\n"), NULL));
    keys = arena_printf(arena, ":write %s<Enter>", other);
    assert_non_null(strstr(screen_after(arena, session, 200, 24, keys), "is not overwritten"));
    keys = arena_printf(arena, ":write %s<Enter>", path);
    assert_non_null(strstr(screen_after(arena, session, 200, 24, keys), " lines to /tmp/"));
    unlink(other);
    unlink(path);
    rmdir(folder);
    session_close(session);
    arena_free(arena);
}

static void decision_that_is_not_obeyed_is_an_error_on_the_screen(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    SessionOptions options = {.model = "samples/models/tiny-gpt.onnx", .mesh = "dp=2,tp=2"};
    Error err = {0};
    assert_true(propagator_find(STR("spmd"), STR(""), &options.propagator, &err));
    Session *session = session_open(&options, &hooks, &err);
    assert_non_null(session);
    const char *screen = screen_after(arena, session, 160, 30,
                                      ":tensor lm_head.weight<Enter>:decide replicated tp<Enter>");
    if (!strstr(screen, "spmd (profile paddle) does not obey 'replicated'"))
        screen_lacks(screen, "the refusal");
    session_close(session);
    arena_free(arena);
}

/* Decisions of every kind, written and run as a policy: the plan is the same. */
static void what_is_written_decides_the_same(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    char folder[] = "/tmp/dimscope-screens-XXXXXX";
    assert_non_null(mkdtemp(folder));
    const char *path = arena_printf(arena, "%s/kept.lua", folder);
    SessionOptions options = {.model = "samples/models/tiny-gpt.onnx", .mesh = "dp=2,tp=2"};
    Session *made = session_open(&options, &hooks, &(Error){0});
    assert_non_null(made);
    const char *keys = arena_printf(
        arena,
        ":tensor input_ids.0<Enter>:pin dp<Enter>:tensor lm_head.weight.1<Enter>:pin dp.tp<Enter>"
        ":pin tp<Enter>/h.0.mlp.c_fc/Gemm<Enter>:assign n=tp<Enter>:assign k=whole<Enter>"
        ":op<Enter>P"
        ":tensor transformer.h.0.mlp.c_proj.weight.0<Enter>:pin tp<Enter>:unpin<Enter>"
        ":tensor transformer.h.1.mlp.c_fc.weight<Enter>:decide replicated tp<Enter>"
        ":decide barrier forward<Enter>:tensor transformer.h.1.mlp.c_fc.bias<Enter>"
        ":decide tie both<Enter>:decide unreduced dp<Enter>:undecide<Enter>5x1"
        ":lua w = 'transformer.wpe.weight'<Enter>:lua g:pin(w, {[0] = 'tp'})<Enter>"
        ":lua =g:pin('transformer.ln_f.weight', {[0] = 'dp'})<Enter>"
        ":write %s<Enter>",
        path);
    screen_after(arena, made, 120, 40, keys);
    assert_true(made->journal.n_done > 8);
    options.policy = path;
    Error err = {0};
    Session *run = session_open(&options, &hooks, &err);
    if (!run)
        fail_msg("%s:%d: %s", err.file, err.line, err.text);
    assert_memory_equal(&run->plan->priced->totals, &made->plan->priced->totals,
                        sizeof run->plan->priced->totals);
    assert_int_equal(run->plan->decided->n_pins, made->plan->decided->n_pins);
    assert_int_equal(run->plan->decided->n_marks, made->plan->decided->n_marks);
    session_close(run);
    session_close(made);
    unlink(path);
    rmdir(folder);
    arena_free(arena);
}

/* A line of the policy that the user has changed: at the end of its PAS the new one holds. */
static void an_edit_of_a_policy_goes_behind_it(void **state)
{
    (void)state;
    static const char shard[] =
        "graph:shard('*.mlp.c_fc.weight', {n = 'tp'}) graph:shard('input_ids', {[0] = 'dp'})";
    Arena *arena = arena_new();
    char folder[] = "/tmp/dimscope-screens-XXXXXX";
    assert_non_null(mkdtemp(folder));
    const char *path = arena_printf(arena, "%s/kept.lua", folder);
    const char *policy = arena_printf(arena, "%s/mine.lua", folder);
    const char *text = arena_printf(arena, "function PAS(graph)\n%s\nreturn graph\nend\n", shard);
    assert_true(file_write(policy, str_from(text), NULL));
    SessionOptions options = {
        .model = "samples/models/tiny-gpt.onnx", .mesh = "dp=2,tp=2", .policy = policy};
    Session *made = session_open(&options, &hooks, &(Error){0});
    assert_non_null(made);
    const char *keys = arena_printf(arena,
                                    ":tensor transformer.h.0.mlp.c_fc.weight.1<Enter>:pin whole"
                                    "<Enter>:pin dp<Enter>:write %s<Enter>",
                                    path);
    screen_after(arena, made, 120, 40, keys);
    Source source;
    assert_true(file_read(arena, path, 1 << 16, &source, NULL));
    int64_t from = str_find(source.text, STR("local g"));
    int64_t to = str_find(source.text, STR("    return graph"));
    assert_true(from > 0 && to > from);
    assert_true(str_find(source.text, STR("unpin(")) > 0);
    assert_true(str_find(source.text, STR("= {}")) < 0); /* it was replaced */
    text = arena_printf(arena, "function PAS(graph)\n%s\n%.*s\nreturn graph\nend\n", shard,
                        (int)(to - from), source.text.s + from);
    assert_true(file_write(policy, str_from(text), NULL));
    Error err = {0};
    Session *run = session_open(&options, &hooks, &err);
    if (!run)
        fail_msg("%s:%d: %s", err.file, err.line, err.text);
    assert_memory_equal(&run->plan->priced->totals, &made->plan->priced->totals,
                        sizeof run->plan->priced->totals);
    session_close(run);
    session_close(made);
    unlink(path);
    unlink(policy);
    rmdir(folder);
    arena_free(arena);
}

static void the_cursor_stays_on_its_op_through_a_new_plan(void **state)
{
    (void)state;
    Session *session = open_gpt2();
    AppOptions options = {0};
    App *app = app_new(session, &options, NULL, 80, 24);
    app_type(app, STR("/h.0.mlp.c_fc/Gemm<Enter>"));
    int32_t op = app->ui.at.op;
    app_type(app, STR(":mesh tp=2,dp=2<Enter>"));
    assert_int_equal(app->ui.at.row.id, op);
    app_type(app, STR("ptu"));
    assert_int_equal(app->ui.at.row.id, op);
    app_free(app);
    session_close(session);
}

static void write_policy(const char *path, const char *body)
{
    Arena *arena = arena_new();
    Buf text = buf_new(arena);
    buf_printf(&text, "function PAS(graph, resource)\n%s\nreturn graph\nend\n", body);
    assert_true(file_write(path, buf_str(&text), NULL));
    arena_free(arena);
}

/* Edited in another window, run again: the same place, what a line did, where one fails. */
static void a_policy_is_edited_and_run_again(void **state)
{
    (void)state;
    char path[] = "/tmp/dimscope-policy-XXXXXX.lua";
    int file = mkstemps(path, 4);
    assert_true(file >= 0);
    close(file);
    write_policy(path, "  graph:shard('lm_head.weight', {[1] = 'tp'})");
    SessionOptions session_options = {
        .model = "samples/models/tiny-gpt.onnx", .mesh = "tp=2", .policy = path};
    Error err = {0};
    Session *session = session_open(&session_options, &hooks, &err);
    assert_non_null(session);
    AppOptions options = {0};
    App *app = app_new(session, &options, NULL, 80, 24);
    app_type(app, STR("8"));
    screen_says(app, (const char *const[]){"1 decision of 1 line hold", ">     2     1", NULL});

    /* A pattern that matches nothing is marked, with the nearest name. */
    write_policy(path, "  graph:shard('lm_hed.weight', {[1] = 'tp'})");
    app_type(app, STR("r"));
    screen_says(app, (const char *const[]){"1 did nothing !", ">!    2     0",
                                           "matches no tensor; nearest: 'lm_head.weight'", NULL});

    /* A call that is refused: its place, what was legal, and the plan before it. */
    write_policy(path, "  graph:pin('lm_head.weight', {[2] = 'tp'})");
    app_type(app, STR("r"));
    screen_says(app, (const char *const[]){":2:3: 'lm_head.weight' has 2 dims, no dim 2",
                                           "its dims: 0 of 64",
                                           "e edits the policy, r runs it again", ">!    2", NULL});
    Str place;
    int line = 0;
    assert_true(policy_place(&app->ui, &place, &line));
    assert_int_equal(line, 2);
    assert_true(str_eq(place, str_from(path)));

    write_policy(path, "  graph:pin('lm_head.weight', {[1] = 'tp'})");
    app_type(app, STR("r"));
    screen_says(app, (const char *const[]){"1 decision of 1 line hold", "policy run: step", NULL});
    assert_false(error_is_set(&app->ui.changes.policy_failed));
    app_free(app);
    session_close(session);
    unlink(path);
}

/* Another policy that fails: its line is no line of the policy that is shown. */
static void a_line_of_another_policy_is_not_marked_here(void **state)
{
    (void)state;
    char path[] = "/tmp/dimscope-policy-XXXXXX.lua";
    close(mkstemps(path, 4));
    write_policy(path, "  graph:pin('lm_head.weight', {[2] = 'tp'})");
    Arena *arena = arena_new();
    Session *session = open_gpt2();
    App *app = app_new(session, &(AppOptions){0}, NULL, 80, 24);
    app_type(app, str_from(arena_printf(arena, ":policy %s<Enter>8", path)));
    screen_says(app, (const char *const[]){":2:3: 'lm_head.weight' has 2 dims, no dim 2",
                                           ">    21    24", "LINE  HITS  RESHARDS        SOURCE\n>",
                                           NULL});
    app_free(app);
    session_close(session);
    arena_free(arena);
    unlink(path);
}

static void an_option_of_the_policy_is_set_here(void **state)
{
    (void)state;
    Session *session = open_tiny();
    App *app = app_new(session, &(AppOptions){0}, NULL, 100, 24);
    app_type(app, STR(":set policy.cut_vocabulary=false<Enter>"));
    screen_says(app, (const char *const[]){"policy.cut_vocabulary=false: step ", NULL});
    app_type(app, STR("8"));
    screen_says(app,
                (const char *const[]){
                    "options  cut_vocabulary false, one_sum false, zero 0, zero_axis dp", NULL});
    app_type(app, STR(":set policy.cut_vocab<Enter>"));
    screen_says(app, (const char *const[]){"did you mean 'policy.cut_vocabulary'?", NULL});
    app_type(app, STR(":set policy.cut_vocabulary<Enter>"));
    screen_says(app, (const char *const[]){"policy.cut_vocabulary = false: shard the", NULL});
    app_free(app);
    session_close(session);
}

static void a_run_says_whether_it_computes_the_same(void **state)
{
    (void)state;
    Session *session = open_tiny();
    AppOptions options = {0};
    App *app = app_new(session, &options, NULL, 80, 24);
    assert_in_range(count_keys("9:run<Enter>"), 0, 3);
    app_type(app, STR("9:run<Enter>"));
    screen_says(app, (const char *const[]){"PASS: 153 values, each compared on every rank",
                                           "of what rounding explains",
                                           "3 passes timed on the host, seed 0", ", measured ",
                                           "OP, worst estimate first", "CHANGE", " d0 ",
                                           "the same ops from", NULL});
    app_type(app, STR("19"));
    screen_says(app, (const char *const[]){"PASS", "OP, worst estimate first", NULL});
    app_resize(app, 160, 50);
    screen_says(app, (const char *const[]){"DEVICE    COMPUTE", "KIND", NULL});
    app_type(app, STR(":run fast repeat 1 seed 7<Enter>"));
    screen_says(app,
                (const char *const[]){"not checked", "1 pass timed on the host, seed 7", NULL});
    app_type(app, STR(":run slowly<Enter>"));
    screen_says(app, (const char *const[]){":run has no option 'slowly'", NULL});
    app_type(app, STR("1pt9"));
    screen_says(app, (const char *const[]){"not run since the plan changed", NULL});
    app_free(app);
    session_close(session);
}

static void a_run_names_the_first_value_that_differs(void **state)
{
    (void)state;
    Session *session = open_tiny();
    Plan *plan = session->plan;
    int32_t summed = -1;
    for (int r = 0; r < plan->moved->n_reshards && summed < 0; r++)
        if (sharding_partials(shardings_at(plan->shardings, plan->moved->reshards[r].from)))
            summed = plan->moved->reshards[r].tensor;
    assert_true(summed >= 0);
    Sharding whole = sharding_without_partial(plan_sharding(plan, summed));
    plan->moved->made[summed] = plan->moved->sharding[summed] =
        shardings_put(plan->shardings, &whole);
    AppOptions options = {0};
    App *app = app_new(session, &options, NULL, 120, 30);
    app_type(app, STR("9:run<Enter>"));
    screen_says(app, (const char *const[]){"FAIL: the first wrong value is ", ", from ",
                                           "element [", " on one device, from the same inputs",
                                           "rounding explains", NULL});
    app_free(app);
    session_close(session);
}

static void a_failing_policy_leaves_the_last_plan(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    char path[] = "/tmp/dimscope-policy-XXXXXX.lua";
    int file = mkstemps(path, 4);
    assert_true(file >= 0);
    close(file);
    assert_true(file_write(path, STR("function PAS(graph, resource) return graph end\n"), NULL));
    SessionOptions session_options = {
        .model = "samples/models/tiny-gpt.onnx", .mesh = "tp=2", .policy = path};
    Error err = {0};
    Session *session = session_open(&session_options, &hooks, &err);
    assert_non_null(session);
    AppOptions options = {0};
    App *app = app_new(session, &options, NULL, 120, 24);
    app_draw(app);
    assert_true(file_write(path, STR("function PAS(graph, resource)\n  oops()\nend\n"), NULL));
    app_type(app, STR("r"));
    Buf text = buf_new(arena);
    grid_format(app_draw(app), &text);
    assert_non_null(strstr(text.s, ":2:"));
    assert_non_null(strstr(text.s, "oops"));
    assert_non_null(strstr(text.s, "policy FAILED line 2"));
    app_free(app);
    session_close(session);
    unlink(path);
    arena_free(arena);
}

/* A line of Lua is one step with its text: in the plan file, and of the session that opens it. */
static void typed_lines_come_back_with_a_plan(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    char path[] = "/tmp/dimscope-plan-XXXXXX.json";
    int file = mkstemps(path, 5);
    assert_true(file >= 0);
    close(file);
    Session *session = open_tiny();
    App *app = app_new(session, &(AppOptions){0}, NULL, 80, 24);
    app_type(app, STR("i"));
    app_type(app, STR("g:shard('transformer.h.*.mlp.c_fc.weight', {[1] = {}})<Enter><Esc>"));
    Error err = {0};
    assert_true(planfile_save(session, path, false, &err));
    app_free(app);
    session_close(session);

    SessionOptions options = {.model = path};
    session = session_open(&options, &hooks, &err);
    if (!session)
        fail_msg("%s", err.text);
    app = app_new(session, &(AppOptions){0}, NULL, 80, 24);
    int n = session->journal.n_done;
    app_type(app, STR("8G"));
    screen_says(app, (const char *const[]){
                         "you     2                  g:shard('transformer.h.*.mlp", NULL});
    app_type(app, STR(":lua g:pin('transformer.wpe.weight', {[0] = 'tp'})<Enter>"));
    assert_int_equal(session->journal.n_done, n + 1);
    app_type(app, STR("u"));
    assert_int_equal(session->journal.n_done, n); /* the new line alone, and then the old one */
    app_type(app, STR("u"));
    assert_int_equal(session->journal.n_done, n - 2);
    app_free(app);
    session_close(session);
    unlink(path);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pins_are_written_as_a_policy),
        cmocka_unit_test(decision_that_is_not_obeyed_is_an_error_on_the_screen),
        cmocka_unit_test(what_is_written_decides_the_same),
        cmocka_unit_test(an_edit_of_a_policy_goes_behind_it),
        cmocka_unit_test(the_cursor_stays_on_its_op_through_a_new_plan),
        cmocka_unit_test(a_policy_is_edited_and_run_again),
        cmocka_unit_test(a_line_of_another_policy_is_not_marked_here),
        cmocka_unit_test(an_option_of_the_policy_is_set_here),
        cmocka_unit_test(a_run_says_whether_it_computes_the_same),
        cmocka_unit_test(a_run_names_the_first_value_that_differs),
        cmocka_unit_test(a_failing_policy_leaves_the_last_plan),
        cmocka_unit_test(typed_lines_come_back_with_a_plan),
    };
    open_scripts(NULL);
    int failed = run_rows("plan", rows, screen_has);
    close_scripts(NULL);
    return failed + cmocka_run_group_tests_name("plan, more", tests, open_scripts, close_scripts);
}
