/* Plan files: what is saved opens again as the same plan; plans as JSON. */
#include "tests/unit/planfile_opened.h"

#include "core/plan/json_forms.h"
#include "core/propagate/propagators.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* ---- saving and opening ---- */

static void what_is_saved_opens_as_the_same_plan(void **state)
{
    Fixture *f = *state;
    const char *first = in_folder(f, "first.json"), *second = in_folder(f, "second.json");
    assert_true(planfile_save(f->session, first, false, &f->err));
    SessionOptions options = {.model = first};
    Session *again = session_open(&options, &hooks, &f->err);
    if (!again)
        fail_msg("%s: %s", f->err.file, f->err.text);
    assert_true(planfile_save(again, second, false, &f->err));
    assert_string_equal(contents(f->arena, second), contents(f->arena, first));

    const Plan *a = f->session->plan, *b = again->plan;
    assert_int_equal(a->findings.n, b->findings.n);
    assert_int_equal(a->moved->n_reshards, b->moved->n_reshards);
    for (int t = 0; t < f->session->graph->n_tensors; t++) {
        assert_int_equal(a->moved->sharding[t] < 0, b->moved->sharding[t] < 0);
        if (a->moved->sharding[t] >= 0)
            assert_true(sharding_equal(plan_sharding(a, t), plan_sharding(b, t)));
    }
    session_close(again);
    unlink(first);
    unlink(second);
}

static void it_says_whether_ops_may_move_what_they_read(void **state)
{
    Fixture *f = *state;
    const char *path = in_folder(f, "plan.json");
    for (int refuse = 0; refuse < 2; refuse++) {
        f->session->options.no_redistribute = refuse == 1;
        assert_true(planfile_save(f->session, path, false, &f->err));
        SessionOptions options = {.no_redistribute = refuse == 0};
        PlanFile file;
        assert_true(planfile_open(f->arena, path, &options, &file, &f->err));
        assert_int_equal(options.no_redistribute, refuse == 1);
        planfile_close(&file);
    }
    unlink(path);
    f->session->options.no_redistribute = false;
}

static void decisions_are_saved_by_name(void **state)
{
    Fixture *f = *state;
    const char *path = in_folder(f, "plan.json");
    assert_true(planfile_save(f->session, path, false, &f->err));
    Source source = {path, str_from(contents(f->arena, path))};
    Json *root = json_parse(&source, &f->err), *all = json_get(root, "decisions");
    assert_int_equal(json_size(all), N_DECISIONS);
    Json *qkv = json_at(all, 2), *index = json_at(all, 5), *unpin = json_at(all, 6);
    assert_true(str_eq(json_str(json_get(qkv, "cut"), ""), STR("(3)(64/tp)")));
    assert_true(
        str_eq(json_str(json_get(qkv, "tensor"), ""), STR("transformer.h.0.attn.c_attn.weight")));
    assert_int_equal(json_int(json_get(qkv, "dim"), -1), 1);
    assert_int_equal(json_int(json_get(json_get(qkv, "origin"), "line"), -1), 7);
    assert_true(json_bool(json_get(json_at(all, 3), "store"), false));
    assert_true(json_bool(json_get(json_at(all, 4), "open"), false));
    assert_true(str_eq(json_str(json_get(index, "index"), ""), STR("k")));
    assert_true(str_eq(json_str(json_get(unpin, "kind"), ""), STR("unpin")));
    assert_null(json_get(unpin, "cut"));
    assert_int_equal(json_int(json_get(json_at(all, 4), "priority"), -1), 3);
    static const char *const marks[] = {
        "\"kind\":\"replicated\",\"tensor\":\"" WEIGHT "\",\"axes\":[\"dp\",\"tp:(1)2\"],",
        "\"axes\":[\"tp:(1)2\"],",
        "\"kind\":\"tie\",\"tensor\":\"" WEIGHT "\",\"group\":\"fc\",",
        "\"group\":\"fc\",",
        "\"kind\":\"barrier\",\"tensor\":\"input_ids\",\"pass\":\"forward\",",
        "\"kind\":\"unmark\",\"tensor\":\"" WEIGHT "\",\"origin\"",
    };
    for (int i = 0; i < (int)COUNT_OF(marks); i++) {
        Buf text = buf_new(f->arena);
        json_write(json_at(all, 7 + i), &text);
        if (!strstr(text.s, marks[i]))
            fail_msg("%s", text.s);
    }
    assert_true(str_eq(json_str(json_get(root, "profile"), ""), STR("explain")));
    assert_true(str_eq(json_str(json_get(root, "policy"), ""), STR("megatron")));
    assert_null(json_get(root, "derived"));
    json_free(root);
    unlink(path);
}

static void the_model_is_named_relative_to_the_plan(void **state)
{
    Fixture *f = *state;
    const char *inside = in_folder(f, "m.onnx"), *path = in_folder(f, "plan.json");
    Source model;
    assert_true(file_read(f->arena, MODEL, 1 << 24, &model, &f->err));
    assert_true(file_write(inside, model.text, &f->err));
    SessionOptions options = options_for(f->arena, inside, NULL);
    Session *session = session_open(&options, &hooks, &f->err);
    assert_non_null(session);
    assert_true(planfile_save(session, path, false, &f->err));
    assert_non_null(strstr(contents(f->arena, path), "\"model\": \"m.onnx\""));
    session_close(session);
    unlink(inside);
    unlink(path);
}

static void full_adds_the_derived_columns(void **state)
{
    Fixture *f = *state;
    const char *path = in_folder(f, "full.json");
    assert_true(planfile_save(f->session, path, true, &f->err));
    Source source = {path, str_from(contents(f->arena, path))};
    Json *root = json_parse(&source, &f->err);
    assert_int_equal(json_size(json_get(json_get(root, "derived"), "ops")),
                     f->session->inferred->n_program);
    json_free(root);
    unlink(path);
}

/* ---- a save that fails ---- */

static int n_entries(Fixture *f)
{
    const char *list = in_folder(f, "ls.txt");
    Buf command = buf_new(f->arena);
    buf_printf(&command, "ls -A %s >%s", f->folder, list);
    assert_int_equal(system(command.s), 0);
    int n = 0;
    for (const char *c = contents(f->arena, list); *c; c++)
        n += *c == '\n';
    unlink(list);
    return n - 1; /* the list itself */
}

/* What fails, and what is done to make it fail. */
typedef struct {
    const char *name, *path; /* in the folder */
    bool full;               /* no file may be longer than a few bytes */
    bool none;               /* no further file may be opened */
} FailRow;

static FailRow fail_rows[] = {
    {"no such folder", "no/such/plan.json", false, false},
    {"no room", "plan.json", true, false},
    {"no new file", "plan.json", false, true},
};

static bool save_within(Fixture *f, const char *path, __rlimit_resource_t what, rlim_t limit)
{
    struct rlimit old, little;
    assert_int_equal(getrlimit(what, &old), 0);
    little = (struct rlimit){limit, old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(what, &little), 0);
    bool ok = planfile_save(f->session, path, false, &f->err);
    assert_int_equal(setrlimit(what, &old), 0);
    return ok;
}

static bool save(Fixture *f, const FailRow *row, const char *path)
{
    enum { BYTES = 100 };
    if (row->full)
        return save_within(f, path, RLIMIT_FSIZE, BYTES);
    if (row->none)
        return save_within(f, path, RLIMIT_NOFILE, 0);
    return planfile_save(f->session, path, false, &f->err);
}

static void a_failing_save_leaves_the_old_file(void **state)
{
    const FailRow *row = *state;
    void *fixture = NULL;
    set_up(&fixture);
    Fixture *f = fixture;
    const char *path = in_folder(f, row->path), *old = in_folder(f, "plan.json");
    assert_true(file_write(old, STR("the old plan"), &f->err));
    assert_false(save(f, row, path));
    assert_int_equal(f->err.kind, ERROR_UNREADABLE);
    assert_string_equal(f->err.file, path);
    assert_string_equal(contents(f->arena, old), "the old plan");
    assert_int_equal(n_entries(f), 1); /* and nothing else is left there */
    unlink(old);
    tear_down(&fixture);
}

/* ---- what does not fit ---- */

static void version_1_still_opens(void **state)
{
    Fixture *f = *state;
    SessionOptions options = {.model = "tests/golden/plan-json/v1.json"};
    Session *session = session_open(&options, &hooks, &f->err);
    if (!session)
        fail_msg("%s: %s", f->err.file, f->err.text);
    assert_int_equal(session->journal.n_done, 7);
    assert_ptr_equal(session->options.propagator, &propagator_explain);
    assert_null(find_code(session, "decision-dropped"));
    assert_null(find_code(session, "unknown-field"));
    const char *path = in_folder(f, "plan.json");
    assert_true(planfile_save(session, path, false, &f->err));
    assert_non_null(strstr(contents(f->arena, path), "\"dimscope_plan\": 2"));
    unlink(path);
    session_close(session);
}

static void the_method_is_saved_unless_another_is_given(void **state)
{
    Fixture *f = *state;
    const char *path = in_folder(f, "plan.json");
    SessionOptions options = options_for(f->arena, MODEL, "megatron");
    const Propagator *propagator;
    for (int i = 0; (propagator = propagator_at(i)); i++) {
        options.propagator = propagator;
        Session *session = session_open(&options, &hooks, &f->err);
        if (!session)
            fail_msg("%s: %s", propagator->profile, f->err.text);
        assert_true(planfile_save(session, path, false, &f->err));
        session_close(session);
        SessionOptions open = {.model = path};
        session = session_open(&open, &hooks, &f->err);
        if (!session)
            fail_msg("%s: %s", propagator->profile, f->err.text);
        assert_ptr_equal(session->options.propagator, propagator);
        assert_ptr_equal(session->plan->propagator, propagator);
        session_close(session);
        open.propagator_given = true;
        session = session_open(&open, &hooks, &f->err);
        assert_ptr_equal(session->plan->propagator, &propagator_explain);
        session_close(session);
    }
    unlink(path);
}

/* ---- plan --json ---- */

static const Json *named(const Json *list, const char *name)
{
    for (int i = 0; i < json_size(list); i++)
        if (str_eq(json_str(json_get(json_at(list, i), "name"), ""), str_from(name)))
            return json_at(list, i);
    fail_msg("no '%s'", name);
    return NULL;
}

static const char *as_text(Arena *arena, const Json *json)
{
    Buf out = buf_new(arena);
    json_write(json, &out);
    return out.s;
}

static void the_json_has_the_fields_of_the_contract(void **state)
{
    Fixture *f = *state;
    Json *root = plan_json(f->session);
    assert_string_equal(as_text(f->arena, json_get(root, "mesh")),
                        "{\"axes\":[[\"dp\",2],[\"tp\",4]],\"devices\":[0,1,2,3,4,5,6,7]}");
    const Json *op = named(json_get(root, "ops"), "/transformer/h.1/mlp/c_proj/Gemm");
    assert_string_equal(
        as_text(f->arena, op),
        "{\"name\":\"/transformer/h.1/mlp/c_proj/Gemm\","
        "\"path\":\"transformer.h.1.mlp.c_proj\",\"operator\":\"Gemm\",\"us\":1.024832,"
        "\"cuts\":{\"m\":[\"dp\"],\"k\":[\"tp\"]}}");
    const Json *tensor = named(json_get(root, "tensors"), "transformer.h.0.attn.c_attn.weight");
    assert_string_equal(
        as_text(f->arena, tensor),
        "{\"name\":\"transformer.h.0.attn.c_attn.weight\",\"dtype\":\"f32\","
        "\"shape\":[64,192],\"sharding\":{\"dims\":[[],null],"
        "\"text\":\"64,(3)(64/tp)\"},\"then\":null,\"dims_mapping\":null,\"partial\":{},"
        "\"placements\":[\"R\",\"IS(1,3)\"],\"local_shape\":[64,48],"
        "\"uneven\":false}");
    static const char *const totals[] = {"step_us",    "compute_us", "comm_us",
                                         "comm_bytes", "peak_bytes", "flops"};
    for (size_t i = 0; i < COUNT_OF(totals); i++)
        assert_true(json_is_number(json_get(json_get(root, "totals"), totals[i])));
    assert_true(json_is_array(json_get(root, "findings")));
    json_free(root);
}

static void a_reshard_lists_its_uses_and_steps(void **state)
{
    Fixture *f = *state;
    Json *root = plan_json(f->session);
    const Json *reshards = json_get(root, "reshards"), *found = NULL;
    for (int i = 0; i < json_size(reshards) && !found; i++)
        if (str_eq(json_str(json_get(json_at(reshards, i), "tensor"), ""),
                   STR("/transformer/h.1/mlp/c_proj/Reshape_1_output_0")))
            found = json_at(reshards, i);
    assert_non_null(found);
    assert_string_equal(as_text(f->arena, json_get(found, "uses")), "[\"/transformer/h.1/Add_1\"]");
    assert_string_equal(as_text(f->arena, json_get(found, "from")),
                        "{\"dims\":[[\"dp\"],[],[]],\"unreduced\":[\"tp\"],"
                        "\"text\":\"2/dp,16,64 Σtp\"}");
    const Json *step = json_at(json_get(found, "steps"), 0);
    assert_true(str_eq(json_str(json_get(step, "kind"), ""), STR("all_reduce")));
    assert_string_equal(as_text(f->arena, json_get(step, "axes")), "[\"tp\"]");
    assert_int_equal(json_int(json_get(step, "bytes"), 0), 16 * 64 * 4);
    assert_int_equal(json_int(json_get(step, "wire_bytes"), 0), 16 * 64 * 4 * 2 * 3 / 4);
    json_free(root);
}

/* ---- forms of shardings ---- */

typedef struct {
    const char *name, *sharding, *json, *mapping, *placements, *partial;
} FormRow;

static FormRow form_rows[] = {
    {"cut", "8/dp,16,64/tp", "{\"dims\":[[\"dp\"],[],[\"tp\"]],\"text\":\"8/dp,16,64/tp\"}",
     "[0,-1,1]", "[\"S(0)\",\"S(2)\"]", "{}"},
    {"two axes on a dim", "8,16/dp.tp,64",
     "{\"dims\":[[],[\"dp\",\"tp\"],[]],\"text\":\"8,16/dp.tp,64\"}", "[[],[0,1],[]]",
     "[\"S(1)\",\"S(1)\"]", "{}"},
    {"a part of an axis", "8,16/tp:(1)2,64",
     "{\"dims\":[[],[\"tp:(1)2\"],[]],\"text\":\"8,16/tp:(1)2,64\"}", "null", "null", "{}"},
    {"blocks", "8,16,(4)(16/tp)", "{\"dims\":[[],[],null],\"text\":\"8,16,(4)(16/tp)\"}", "null",
     "[\"R\",\"IS(2,4)\"]", "{}"},
    {"a ring", "8,16/tp[ring],64",
     "{\"dims\":[[],[\"tp\"],[]],\"halo\":[{\"dim\":1,\"ring\":1}],\"text\":\"8,16/tp[ring],64\"}",
     "null", "null", "{}"},
    {"partial", "8/dp,16,64 +tp",
     "{\"dims\":[[\"dp\"],[],[]],\"unreduced\":[\"tp\"],\"text\":\"8/dp,16,64 Σtp\"}", "[0,-1,-1]",
     "[\"S(0)\",\"P(sum)\"]", "{\"1\":\"sum\"}"},
    {"largest of", "8,16,64 max(dp)",
     "{\"dims\":[[],[],[]],\"unreduced\":[\"dp\"],\"text\":\"8,16,64 max(dp)\"}", "[-1,-1,-1]",
     "[\"P(max)\",\"R\"]", "{\"0\":\"max\"}"},
};

static void a_sharding_has_the_forms_of_the_protocol(void **state)
{
    const FormRow *row = *state;
    Arena *arena = arena_new();
    Source mesh_text = {"mesh", STR("dp=2,tp=4")}, text = {"sharding", str_from(row->sharding)};
    Error err = {0};
    const Mesh *mesh = mesh_parse(arena, &mesh_text, &err);
    Shape shape = {.n_dims = 3, .dim = {8, 16, 64}};
    Sharding sharding;
    assert_true(sharding_parse(&text, &shape, mesh, VIEW_OURS, &sharding, &err));
    Json *forms[] = {json_of_sharding(&sharding, mesh), json_of_dims_mapping(&sharding, mesh),
                     json_of_placements(&sharding, mesh), json_of_partial(&sharding, mesh)};
    const char *wants[] = {row->json, row->mapping, row->placements, row->partial};
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        assert_string_equal(as_text(arena, forms[i]), wants[i]);
        json_free(forms[i]);
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_saved_opens_as_the_same_plan, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_says_whether_ops_may_move_what_they_read, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(decisions_are_saved_by_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_model_is_named_relative_to_the_plan, set_up, tear_down),
        cmocka_unit_test_setup_teardown(full_adds_the_derived_columns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(version_1_still_opens, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_method_is_saved_unless_another_is_given, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_json_has_the_fields_of_the_contract, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reshard_lists_its_uses_and_steps, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows("failing save", fail_rows, a_failing_save_leaves_the_old_file) +
           run_rows("forms", form_rows, a_sharding_has_the_forms_of_the_protocol);
}
