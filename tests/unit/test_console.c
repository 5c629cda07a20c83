/* Lines of Lua typed beside a policy: what they answer, decide, refuse, and use up. */
#include "tests/unit/unit.h"

#include "scripts/hooks.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static SessionHooks hooks;

static Session *open_tiny(const char *policy)
{
    SessionOptions options = {
        .model = "samples/models/tiny-gpt.onnx", .mesh = "dp=2,tp=2", .policy = policy};
    Error err = {0};
    Session *session = session_open(&options, &hooks, &err);
    if (!session)
        fail_msg("%s", err.text);
    return session;
}

/* Types a line; its answer, then "! file:line: error (hint)" where it fails. */
static void type_line(Session *session, const char *text, int n, Buf *out)
{
    Error err = {0};
    Change change = {.kind = CHANGE_CONSOLE, .text = text, .n = n, .answer = out};
    if (!session_change(session, &change, &err))
        buf_printf(out, "! %s:%d: %s (%s)\n", err.file, err.line, err.text, err.hint);
}

/* ---- answers ---- */

typedef struct {
    const char *name, *lines, *want; /* lines end with \n; want: how all answers begin */
} AnswerRow;

static AnswerRow answer_rows[] = {
    {"an_expression", "1 + 2\n", "3\n"},
    {"an_expression_with_a_mark", "=1 + 2, 'x'\n", "3\nx\n"},
    {"nothing", "local x = 1\n", ""},
    {"an_empty_line", "\n", ""},
    {"globals_stay", "x = 20\nx + 1\n", "21\n"},
    {"what_is_printed", "print('a', 1) return 2\n", "a  1\n2\n"},
    {"nil_is_said", "nothing\n", "nil\n"},
    {"a_table_shallow", "{1, 'b', {2}, key = true, [7] = 0}\n",
     "{1, \"b\", {..}, [7] = 0, key = true}\n"},
    {"a_long_table", "(function() local t = {} for i = 1, 30 do t[i] = i end return t end)()\n",
     "{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, .. "
     "30 in all}\n"},
    {"control_bytes", "'a\\27[2J'\n", "a\\x1B[2J\n"},
    {"the_policy_is_there", "type(PAS)\n", "function\n"},
    {"the_mesh", "resource.mesh.tp\n", "2\n"},
    {"a_tensor_with_its_sharding", "g:op('transformer.h.0.mlp.c_fc').out[1]\n",
     "/transformer/h.0/mlp/c_fc/Gemm_output_0  f32 32/dp,256/tp"},
    {"a_sharding_as_text", "g:tensors('*h.0.mlp.c_fc.weight')[1].sharding\n", "64,256/tp\n"},
    {"an_op_s_time", "g:op('transformer.h.0.mlp.c_fc').us > 0\n", "true\n"},
    {"no_such_op", "g:op('transformer.h.0.mlp.c_fx')\n",
     "! console:1: there is no op 'transformer.h.0.mlp.c_fx' (did you mean "
     "'transformer.h.0.mlp.c_fc'?)\n"},
    {"reshards_of_an_axis",
     "n = 0 for r in g:reshards{axis='tp'} do n = n + 1 kind = r.kind end return n > 0, kind\n",
     "true\nAR tp\n"},
    {"reshards_of_a_kind", "g:reshards{kind='all_to_all'}()\n", "nil\n"},
    {"reshards_of_no_axis", "g:reshards{axis='pp'}\n", "! console:1: no axis 'pp' in the mesh"},
    {"a_syntax_error", "local = 2\n", "! console:1: <name> expected near '='"},
    {"an_error_of_the_line", "error('no')\n", "! console:1: no ()\n"},
    {"a_dim_that_is_none", "g:pin('lm_head.weight', {q = 'tp'})\n", "! console:1: "},
    {"a_method_that_is_none", "g:shrad('x', {})\n",
     "! console:1: a graph has no 'shrad' (did you mean 'shard'?)\n"},
    {"a_pattern_of_nothing", "g:shard('no.such.*', {[0] = 'tp'})\n",
     "pattern 'no.such.*' matches no tensor"},
    {"a_node_and_a_segment_are_kept",
     "node, segment = g:node(0), g:segments()[1]\nnode.index, segment.index, #segment:nodes() > "
     "90\n",
     "0\n0\ntrue\n"},
    {"a_sub_node_ends_with_its_line",
     "sub = g:replicate(g:op('transformer.h.0.mlp.c_fc'))[1] error('kept')\n"
     "g:assign(sub, 0)\n",
     "! console:1: kept ()\n! console:1: a sub-node of '/transformer/h.0/mlp/c_fc/Gemm' is of an "
     "earlier run, which has "
     "ended (partition the node again: sub-nodes exist only during their run)\n"},
    {"so_does_its_algorithm",
     "way = g:replicate(g:op('transformer.h.0.mlp.c_fc'))[1]:algorithm('dim') error('kept')\n"
     "way:satisfy{idx = 0, dim = 0, num = 2}\n",
     "! console:1: kept ()\n! console:1: a sub-node of '/transformer/h.0/mlp/c_fc/Gemm' is of an "
     "earlier run"},
    {"no_files", "io\n", "nil\n"},
    {"memory_is_bounded", "local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1000) .. i end\n",
     "! console:1: "},
    {"after_an_endless_loop", "while true do end\n1 + 1\n",
     "! console:1: stopped after 50 million instructions (a loop that does not end?)\n2\n"},
    {"after_an_endless_loop_of_pcall", "while true do pcall(error) end\n1 + 1\n",
     "! console:1: stopped after 50 million instructions (a loop that does not end?)\n2\n"},
};

static void answers(void **state)
{
    const AnswerRow *row = *state;
    Arena *arena = arena_new();
    Session *session = open_tiny("megatron");
    const Plan *plan = session->plan;
    Buf out = buf_new(arena);
    Str lines = str_from(row->lines);
    while (lines.n > 0)
        type_line(session, arena_str(arena, str_take(&lines, '\n')), 1, &out);
    if (!str_starts(buf_str(&out), str_from(row->want)) || (*row->want == '\0' && out.n > 0))
        fail_msg("answers '%s', not '%s'", out.s, row->want);
    assert_ptr_equal(session->plan, plan); /* a question leaves the plan as it is */
    session_close(session);
    arena_free(arena);
}

/* ---- decisions ---- */

static int n_of_user(const Session *session)
{
    int n = 0;
    for (int i = 0; i < session->journal.n_done; i++)
        n += session->journal.decisions.at[i].origin.kind == ORIGIN_USER;
    return n;
}

static void a_line_is_one_step_of_the_journal(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Session *session = open_tiny("megatron");
    Buf out = buf_new(arena);
    const char *line = "g:shard('transformer.h.*.mlp.c_fc.weight', {[1] = {}}) "
                       "g:shard('lm_head.weight', {[1] = 'tp'})";
    type_line(session, line, 4, &out);
    assert_string_equal(out.n ? out.s : "", "");
    int n = n_of_user(session);
    assert_true(n > 2);
    for (int i = session->journal.n_done - n; i < session->journal.n_done; i++) {
        const Origin *origin = &session->journal.decisions.at[i].origin;
        assert_string_equal(origin->text, line);
        assert_int_equal(origin->line, 4);
    }
    type_line(session, "g:tensors('lm_head.weight')[1].sharding", 5, &out);
    assert_non_null(strstr(out.s, "/tp"));

    /* A later line may say otherwise; one that fails half way decides nothing. */
    type_line(session, "g:shard('lm_head.weight', {[1] = {}})", 5, &out);
    int before = session->journal.n_done;
    type_line(session, "g:shard('lm_head.weight', {[1] = 'tp'}) error('no')", 6, &out);
    assert_int_equal(session->journal.n_done, before);
    session_close(session);
    arena_free(arena);
}

static void there_is_a_console_without_a_policy(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Session *session = open_tiny(NULL);
    Buf out = buf_new(arena);
    type_line(session, "x = 3", 1, &out);
    type_line(session, "x, PAS", 1, &out);
    assert_string_equal(out.s, "3\nnil\n");
    session_close(session);
    arena_free(arena);
}

static void another_policy_takes_the_place_of_the_first(void **state)
{
    (void)state;
    Session *session = open_tiny("megatron");
    Error err = {0};
    Change change = {.kind = CHANGE_POLICY, .text = "dp"};
    if (!session_change(session, &change, &err))
        fail_msg("%s", err.text);
    assert_string_equal(session->options.policy, "dp");
    for (int i = 0; i < session->journal.n_done; i++)
        assert_non_null(strstr(session->journal.decisions.at[i].origin.file, "dp.lua"));
    change.text = "none-such";
    assert_false(session_change(session, &change, &err));
    assert_string_equal(session->options.policy, "dp");
    session_close(session);
}

/* ---- one state with the policy ---- */

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static bool run_policy_again(Session *session)
{
    Error err = {0};
    return session_change(session, &(Change){.kind = CHANGE_POLICY}, &err);
}

static const char *note_of(const Session *session, const char *code)
{
    for (int i = 0; i < session->plan->findings.n; i++)
        if (strcmp(session->plan->findings.at[i].code, code) == 0)
            return session->plan->findings.at[i].text;
    return "";
}

static void what_is_defined_stays_until_the_policy_is_read_again(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    char path[] = "/tmp/dimscope-console-XXXXXX.lua";
    int made = mkstemps(path, 4);
    assert_true(made >= 0);
    close(made);
    write_text(path, "size = 3\nfunction cut(g, name) g:shard(name, {[1] = 'tp'}) end\n"
                     "function PAS(graph) return graph end\n");
    Session *session = open_tiny(path);
    Buf out = buf_new(arena);
    type_line(session, "size, mine = 4, 5", 1, &out);
    type_line(session, "cut(g, 'lm_head.weight') return size + mine", 2, &out);
    assert_string_equal(out.s, "9\n");
    assert_int_equal(n_of_user(session), 1);

    /* A file that is wrong, or whose PAS is, leaves the state as it was. */
    write_text(path, "function PAS(");
    assert_false(run_policy_again(session));
    write_text(path, "function PAS() error('no') end");
    assert_false(run_policy_again(session));
    out.n = 0;
    type_line(session, "cut ~= nil, mine", 3, &out);
    assert_string_equal(out.s, "true\n5\n");
    assert_string_equal(note_of(session, "console-gone"), "");

    write_text(path, "size = 30\nfunction PAS(graph) return graph end\n");
    assert_true(run_policy_again(session));
    assert_string_equal(note_of(session, "console-gone"),
                        "the policy was read again, so definitions made in the console are gone: "
                        "mine, size");
    out.n = 0;
    type_line(session, "size, mine, cut", 4, &out);
    assert_string_equal(out.s, "30\nnil\nnil\n");
    assert_int_equal(n_of_user(session), 1); /* what was decided stays */
    assert_true(run_policy_again(session));
    assert_string_equal(note_of(session, "console-gone"), "");
    session_close(session);
    unlink(path);
    arena_free(arena);
}

/* ---- stopping ---- */

static void *stop_soon(void *progress)
{
    while (!atomic_load(&((Progress *)progress)->stage))
        ;
    progress_stop(progress);
    return NULL;
}

static void a_line_is_stopped_from_outside(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Session *session = open_tiny("megatron");
    Buf out = buf_new(arena);
    Error err = {0};
    Progress progress = {.stage = NULL};
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, stop_soon, &progress), 0);
    progress_stage(&progress, "running", 0);
    Change change = {.kind = CHANGE_CONSOLE, .text = "while true do end", .n = 1};
    change.answer = &out;
    change.progress = &progress;
    assert_false(session_change(session, &change, &err));
    pthread_join(other, NULL);
    assert_string_equal(err.text, "stopped");
    out = buf_new(arena);
    type_line(session, "1 + 1", 1, &out);
    assert_string_equal(out.s, "2\n");
    session_close(session);
    arena_free(arena);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_line_is_one_step_of_the_journal),
    cmocka_unit_test(there_is_a_console_without_a_policy),
    cmocka_unit_test(another_policy_takes_the_place_of_the_first),
    cmocka_unit_test(what_is_defined_stays_until_the_policy_is_read_again),
    cmocka_unit_test(a_line_is_stopped_from_outside),
};

int main(void)
{
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    hooks = scripts_hooks(scripts);
    int failed = run_rows("answers", answer_rows, answers) +
                 cmocka_run_group_tests_name("console", tests, NULL, NULL);
    scripts_free(scripts);
    arena_free(arena);
    return failed;
}
