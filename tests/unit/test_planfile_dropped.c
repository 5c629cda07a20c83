/* Plan files that do not fit, in whole or in part: what is left out is said, the rest is kept. */
#include "tests/unit/planfile_opened.h"

typedef struct {
    const char *name, *decision, *says; /* says: of the finding; NULL: it is kept */
} DropRow;

static DropRow drop_rows[] = {
    {"kept", "{\"kind\":\"pin\",\"tensor\":\"" WEIGHT "\",\"dim\":0,\"cut\":\"64/dp\"}", NULL},
    {"by module and part",
     "{\"kind\":\"pin\",\"tensor\":\"transformer.h.0.mlp.c_fc.weight\",\"dim\":0,"
     "\"cut\":\"64/dp\"}",
     NULL},
    {"another size", "{\"kind\":\"pin\",\"tensor\":\"" WEIGHT "\",\"dim\":0,\"cut\":\"8/dp\"}",
     NULL},
    {"unknown tensor", "{\"kind\":\"pin\",\"tensor\":\"nobody\",\"dim\":0,\"cut\":\"64/dp\"}",
     "no tensor is named 'nobody'"},
    {"unknown op", "{\"kind\":\"pin\",\"op\":\"nobody\",\"index\":\"k\",\"cut\":\"64/dp\"}",
     "no op 'nobody'"},
    {"unknown index dim",
     "{\"kind\":\"pin\",\"op\":\"/transformer/h.1/mlp/c_proj/Gemm\",\"index\":\"q\",\"cut\":\"1\"}",
     "no index dim 'q'"},
    {"no dim of that number",
     "{\"kind\":\"pin\",\"tensor\":\"" WEIGHT "\",\"dim\":2,\"cut\":\"64/dp\"}", "has only 2 dims"},
    {"a negative dim", "{\"kind\":\"pin\",\"tensor\":\"" WEIGHT "\",\"dim\":-1,\"cut\":\"64\"}",
     "has only 2 dims"},
    {"unknown axis", "{\"kind\":\"pin\",\"tensor\":\"" WEIGHT "\",\"dim\":0,\"cut\":\"64/pp\"}",
     "no axis 'pp'"},
    {"blocks of another size",
     "{\"kind\":\"pin\",\"tensor\":\"" WEIGHT "\",\"dim\":0,\"cut\":\"(3)(64/dp)\"}", "64"},
    {"partial", "{\"kind\":\"pin\",\"tensor\":\"" WEIGHT "\",\"dim\":0,\"cut\":\"64 +tp\"}",
     "is not a cut"},
    {"with a priority",
     "{\"kind\":\"pin\",\"tensor\":\"" WEIGHT "\",\"dim\":0,\"cut\":\"64\",\"priority\":2}", NULL},
    {"a priority below 0",
     "{\"kind\":\"pin\",\"tensor\":\"" WEIGHT "\",\"dim\":0,\"cut\":\"64\",\"priority\":-2}",
     "\"priority\" must be"},
    {"a text as flag",
     "{\"kind\":\"pin\",\"tensor\":\"" WEIGHT "\",\"dim\":0,\"cut\":\"64\",\"open\":\"yes\"}",
     "\"open\" must be true or false"},
    {"replicated", "{\"kind\":\"replicated\",\"tensor\":\"" WEIGHT "\",\"axes\":[\"tp:(2)2\"]}",
     NULL},
    {"replicated over no list",
     "{\"kind\":\"replicated\",\"tensor\":\"" WEIGHT "\",\"axes\":\"tp\"}", "\"axes\" must be"},
    {"replicated over nothing", "{\"kind\":\"replicated\",\"tensor\":\"" WEIGHT "\",\"axes\":[]}",
     "\"axes\" must be"},
    {"replicated over an axis twice",
     "{\"kind\":\"replicated\",\"tensor\":\"" WEIGHT "\",\"axes\":[\"tp\",\"tp:(1)2\"]}", "tp"},
    {"unreduced over no axis",
     "{\"kind\":\"unreduced\",\"tensor\":\"" WEIGHT "\",\"axes\":[\"tq\"]}", "no axis 'tq'"},
    {"unreduced of nobody", "{\"kind\":\"unreduced\",\"tensor\":\"nobody\",\"axes\":[\"tp\"]}",
     "no tensor is named"},
    {"tie", "{\"kind\":\"tie\",\"tensor\":\"" WEIGHT "\",\"group\":\"g\"}", NULL},
    {"tie without a group", "{\"kind\":\"tie\",\"tensor\":\"" WEIGHT "\"}", "\"group\" must be"},
    {"barrier", "{\"kind\":\"barrier\",\"tensor\":\"" WEIGHT "\",\"pass\":\"none\"}", NULL},
    {"barrier both ways", "{\"kind\":\"barrier\",\"tensor\":\"" WEIGHT "\",\"pass\":\"both\"}",
     "\"pass\" cannot be 'both'"},
    {"unmark", "{\"kind\":\"unmark\",\"tensor\":\"" WEIGHT "\"}", NULL},
    {"unmark of nobody", "{\"kind\":\"unmark\"}", "no tensor is named ''"},
    {"unknown kind", "{\"kind\":\"nail\",\"tensor\":\"" WEIGHT "\",\"dim\":0}", "'nail'"},
    {"no object", "7", "''"},
    {"no cut", "{\"kind\":\"pin\",\"tensor\":\"" WEIGHT "\",\"dim\":1}", "expected"},
};

static void what_does_not_fit_is_left_out_and_said(void **state)
{
    const DropRow *row = *state;
    void *fixture = NULL;
    set_up(&fixture);
    Fixture *f = fixture;
    const char *other = "{\"kind\":\"pin\",\"tensor\":\"input_ids\",\"dim\":0,\"cut\":\"2/dp\"}";
    const char *text =
        decisions_text(f->arena, arena_printf(f->arena, "%s,%s", row->decision, other));
    Session *session = open_text(f, text, (SessionOptions){0});
    if (!session)
        fail_msg("%s", f->err.text);
    const Finding *finding = find_code(session, "decision-dropped");
    assert_int_equal(session->journal.n_done, row->says ? 1 : 2);
    assert_int_equal(finding != NULL, row->says != NULL);
    if (finding && !strstr(finding->text, row->says))
        fail_msg("%s", finding->text);
    if (finding && (finding->line != 2 || !str_ends(str_from(finding->file), STR("text.json"))))
        fail_msg("%s:%d", finding->file, finding->line);
    assert_string_equal(cut_of(f->arena, session, "input_ids", 0), "2/dp");
    session_close(session);
    tear_down(&fixture);
}

static void pins_follow_a_dim_that_has_another_size_now(void **state)
{
    Fixture *f = *state;
    const char *text = decisions_text(
        f->arena, "{\"kind\":\"pin\",\"tensor\":\"input_ids\",\"dim\":0,\"cut\":\"2/dp\"}");
    SessionOptions options = {0};
    vec_push(f->arena, &options.dims, (DimBinding){STR("batch"), 8});
    Session *session = open_text(f, text, options);
    assert_non_null(session);
    assert_string_equal(cut_of(f->arena, session, "input_ids", 0), "8/dp");
    session_close(session);
}

static void another_model_is_a_note(void **state)
{
    Fixture *f = *state;
    const char *path = in_folder(f, "plan.json");
    assert_true(planfile_save(f->session, path, false, &f->err));
    char *text = arena_alloc(f->arena, strlen(contents(f->arena, path)) + 1);
    strcpy(text, contents(f->arena, path));
    unlink(path);
    char *hash = strstr(text, "\"model_hash\": \"") + strlen("\"model_hash\": \"");
    *hash = *hash == '0' ? '1' : '0';
    Session *session = open_text(f, text, (SessionOptions){0});
    assert_non_null(session);
    assert_int_equal(find_code(session, "model-changed")->level, LEVEL_NOTE);
    assert_int_equal(session->journal.n_done, N_DECISIONS);
    session_close(session);
}

static void pins_of_a_file_come_after_the_policy(void **state)
{
    Fixture *f = *state;
    const char *pins = in_folder(f, "pins.json");
    const char *text = "{\"dimscope_plan\":1,\"decisions\":[{\"kind\":\"pin\",\"tensor\":\"" WEIGHT
                       "\",\"dim\":1,\"cut\":\"256/dp\"}]}";
    assert_true(file_write(pins, str_from(text), &f->err));
    SessionOptions options = options_for(f->arena, MODEL, "megatron");
    options.pins = pins;
    Session *session = session_open(&options, &hooks, &f->err);
    unlink(pins);
    if (!session)
        fail_msg("%s", f->err.text);
    assert_int_equal(session->journal.n_done, N_DECISIONS + 1);
    assert_string_equal(cut_of(f->arena, session, WEIGHT, 1), "256/dp");
    session_close(session);
}

/* ---- other versions, other fields, other models ---- */

static int count_code(const Session *session, const char *code)
{
    int n = 0;
    for (int i = 0; i < session->plan->findings.n; i++)
        n += strcmp(session->plan->findings.at[i].code, code) == 0;
    return n;
}

/* A plan of another model altogether takes no minutes and no thousands of lines. */
static void many_that_do_not_fit_are_counted(void **state)
{
    enum { DECISIONS = 30000, SAID = 1000 };
    Fixture *f = *state;
    Buf text = buf_new(f->arena);
    for (int i = 0; i < DECISIONS; i++)
        buf_printf(&text,
                   "%s{\"kind\":\"unmark\",\"tensor\":\"the.decoder.of.another.model.%d.weight\"}",
                   i ? "," : "", i);
    Session *session = open_text(f, decisions_text(f->arena, text.s), (SessionOptions){0});
    if (!session)
        fail_msg("%s", f->err.text);
    assert_int_equal(count_code(session, "decision-dropped"), SAID + 1);
    session_close(session);
}

static void a_plan_opens_without_its_policy(void **state)
{
    Fixture *f = *state;
    const char *path = in_folder(f, "plan.json");
    SessionOptions options = options_for(f->arena, MODEL, in_folder(f, "gone.lua"));
    Session *session = session_open(&options, &hooks, &f->err); /* these hooks read no file */
    assert_non_null(session);
    assert_true(planfile_save(session, path, false, &f->err));
    session_close(session);
    session = session_open(&(SessionOptions){.model = path}, &hooks, &f->err);
    assert_non_null(session);
    assert_int_equal(find_code(session, "policy-gone")->level, LEVEL_WARNING);
    assert_null(session->options.policy);
    assert_int_equal(session->journal.n_done, N_DECISIONS);
    session_close(session);
    unlink(path);
}

static void unknown_fields_are_named_once(void **state)
{
    Fixture *f = *state;
    const char *text = decisions_text(
        f->arena,
        "{\"kind\":\"pin\",\"tensor\":\"input_ids\",\"dim\":0,\"cut\":\"2/dp\",\"why\":1},\n"
        "{\"kind\":\"pin\",\"tensor\":\"" WEIGHT "\",\"dim\":0,\"cut\":\"64\",\"why\":1,"
        "\"origin\":{\"kind\":\"user\",\"column\":4}}], \"color\":[\"blue\"");
    Session *session = open_text(f, text, (SessionOptions){0});
    if (!session)
        fail_msg("%s", f->err.text);
    assert_int_equal(count_code(session, "unknown-field"), 3);
    assert_non_null(strstr(find_code(session, "unknown-field")->text, "\"color\""));
    assert_int_equal(session->journal.n_done, 2);
    assert_int_equal(session->journal.decisions.at[0].origin.line, 2);
    session_close(session);
}

/* The file's text with one name in it changed, of equal length. */
static const char *renamed(Arena *arena, const char *text, const char *from, const char *to)
{
    char *out = arena_alloc(arena, strlen(text) + 1);
    strcpy(out, text);
    for (char *at = out; (at = strstr(at, from)); at += strlen(to))
        memcpy(at, to, strlen(to));
    return out;
}

static void a_changed_model_keeps_what_matches(void **state)
{
    Fixture *f = *state;
    const char *path = in_folder(f, "plan.json");
    assert_true(planfile_save(f->session, path, false, &f->err));
    const char *text = contents(f->arena, path);
    unlink(path);
    char *hash = strstr(text, "\"model_hash\": \"") + strlen("\"model_hash\": \"");
    *hash = *hash == '0' ? '1' : '0';
    text = renamed(f->arena, text, "h.0.mlp.c_fc.weight", "h.0.mlp.C_fc.weight"); /* 5 of them */
    text = renamed(f->arena, text, "/transformer/h.1/mlp/c_proj/Gemm",
                   "/transformer/h.1/mlp/C_proj/Gemm");
    text = renamed(f->arena, text, "\"2/dp\"", "\"4/dp\"");             /* followed */
    text = renamed(f->arena, text, "\"(3)(64/tp)\"", "\"(3)(32/tp)\""); /* blocks are not */
    text = renamed(f->arena, text, "\"64/tp:(1)2\"", "\"64/tq:(1)2\"");
    Session *session = open_text(f, text, (SessionOptions){0});
    if (!session)
        fail_msg("%s", f->err.text);
    assert_int_equal(count_code(session, "model-changed"), 1);
    assert_int_equal(count_code(session, "dim-resized"), 1);
    assert_non_null(
        strstr(find_code(session, "dim-resized")->text, "dim 0 of 'input_ids' was 4 and is 2"));
    assert_int_equal(count_code(session, "decision-dropped"), 5 + 1 + 1 + 1);
    assert_int_equal(session->journal.n_done, N_DECISIONS - 8);
    static const char *const hints[] = {"did you mean '" WEIGHT "'?",
                                        "did you mean '/transformer/h.1/mlp/c_proj/Gemm'?",
                                        "did you mean 'tp'?"};
    for (size_t h = 0; h < COUNT_OF(hints); h++) {
        bool found = false;
        for (int i = 0; i < session->plan->findings.n; i++)
            found |= strcmp(session->plan->findings.at[i].hint, hints[h]) == 0;
        if (!found)
            fail_msg("no hint %s", hints[h]);
    }
    assert_string_equal(cut_of(f->arena, session, "input_ids", 0), "2/dp");
    session_close(session);
}

/* ---- what is no plan ---- */

typedef struct {
    const char *name, *text, *says;
} BadRow;

static BadRow bad_rows[] = {
    {"empty", "", "JSON"},
    {"no JSON", "plan", "JSON"},
    {"cut off", "{\"dimscope_plan\":1,", "JSON"},
    {"a list", "[]", "is not a dimscope plan"},
    {"no version", "{\"model\":\"m.onnx\",\"decisions\":[]}", "is not a dimscope plan"},
    {"a text as version", "{\"dimscope_plan\":\"1\"}", "is not a dimscope plan"},
    {"newer", "{\"dimscope_plan\":3,\"model\":\"m.onnx\",\"decisions\":[]}",
     "is a plan of version 3, but this program reads versions 1 to 2"},
    {"version 0", "{\"dimscope_plan\":0}", "version 0"},
    {"no model", "{\"dimscope_plan\":1,\"decisions\":[]}", "names no model"},
    {"a number as model", "{\"dimscope_plan\":1,\"model\":7,\"decisions\":[]}", "\"model\""},
    {"a model that is not there", "{\"dimscope_plan\":1,\"model\":\"m.onnx\",\"decisions\":[]}",
     "cannot open"},
    {"no decisions", "{\"dimscope_plan\":1,\"model\":\"m.onnx\"}", "\"decisions\""},
    {"dims of text", "{\"dimscope_plan\":1,\"dims\":{\"b\":\"8\"},\"decisions\":[]}", "\"b\""},
    {"a list of dims", "{\"dimscope_plan\":1,\"dims\":[8],\"decisions\":[]}", "\"dims\""},
    {"another propagator",
     "{\"dimscope_plan\":2,\"model\":\"m.onnx\",\"propagate\":\"smpd\",\"decisions\":[]}",
     "no propagator 'smpd'"},
    {"another profile",
     "{\"dimscope_plan\":2,\"model\":\"m.onnx\",\"profile\":\"torch\",\"decisions\":[]}",
     "factor has no profile 'torch'"},
    {"a number as profile", "{\"dimscope_plan\":2,\"model\":\"m.onnx\",\"profile\":1}",
     "\"profile\""},
    {"itself as model", "{\"dimscope_plan\":1,\"model\":\"text.json\",\"decisions\":[]}", ""},
};

static void what_is_no_plan_is_an_error(void **state)
{
    const BadRow *row = *state;
    void *fixture = NULL;
    set_up(&fixture);
    Fixture *f = fixture;
    assert_null(open_text(f, row->text, (SessionOptions){0}));
    assert_int_equal(f->err.kind, ERROR_UNREADABLE);
    assert_string_not_equal(f->err.file, "");
    if (!strstr(f->err.text, row->says))
        fail_msg("%s", f->err.text);
    tear_down(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(many_that_do_not_fit_are_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_plan_opens_without_its_policy, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unknown_fields_are_named_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_changed_model_keeps_what_matches, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pins_follow_a_dim_that_has_another_size_now, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(another_model_is_a_note, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pins_of_a_file_come_after_the_policy, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows("left out", drop_rows, what_does_not_fit_is_left_out_and_said) +
           run_rows("no plan", bad_rows, what_is_no_plan_is_an_error);
}
