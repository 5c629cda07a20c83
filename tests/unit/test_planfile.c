/* Plan files: what is saved opens again as the same plan, and what does not fit is said. */
#include "core/propagate/propagators.h"
#include "tests/unit/unit.h"

#include "core/plan/json_forms.h"
#include "core/session/planfile.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODEL "samples/models/tiny-gpt.onnx"
enum { N_DECISIONS = 14 };                       /* of pins_of_all_kinds() */
#define WEIGHT "transformer.h.0.mlp.c_fc.weight" /* [64, 256] */

/* ---- hooks in the place of scripts: a machine of round numbers, and a policy of pins ---- */

static bool round_machine(void *context, Arena *arena, const char *name, Machine *out, Error *err)
{
    (void)context, (void)arena, (void)name, (void)err;
    *out = (Machine){.name = "round", .source = "made up", .devices_per_node = 8};
    out->memory_bytes = (int64_t)1 << 34;
    out->memory_bytes_per_s = 1e12;
    out->flops_per_s[DT_F32] = 1e13;
    out->launch_us = 1;
    out->inside = out->between = (Link){.name = "wire", .latency_us = 1, .bytes_per_s = 1e11};
    return true;
}

static Decision pin(Session *session, const char *tensor, int dim, const char *cut)
{
    Error err = {0};
    Decision decision = {.kind = PIN_TENSOR_DIM, .dim = dim};
    decision.place = naming_find(session->naming, str_from(tensor), &err);
    assert_true(decision.place >= 0);
    Shape shape = {.n_dims = 1,
                   .dim = {inferred_shape(session->inferred, decision.place)->dim[dim]}};
    Source source = {"cut", str_from(cut)};
    Sharding sharding;
    assert_true(sharding_parse(&source, &shape, session->mesh, VIEW_OURS, &sharding, &err));
    decision.cut = cut_keep(intern_new(session->journal_arena), &sharding.dim[0]);
    decision.origin = (Origin){ORIGIN_POLICY, "policy.lua", 7, "graph:shard(..)"};
    return decision;
}

/* Adds a decision about a tensor as a whole. */
static void mark(Session *session, Journal *journal, const char *tensor, Decision decision)
{
    Error err = {0};
    decision.place = naming_find(session->naming, str_from(tensor), &err);
    assert_true(decision.place >= 0);
    decision.dim = -1;
    decision.origin = (Origin){ORIGIN_POLICY, "policy.lua", 9, "graph:replicated(..)"};
    journal_add(journal, session->journal_arena, &decision);
}

/* One decision of every form. */
static bool pins_of_all_kinds(void *context, Session *session, const char *policy, Journal *journal,
                              Error *err)
{
    (void)context, (void)policy, (void)err;
    Arena *arena = session->journal_arena;
    Decision decisions[] = {
        pin(session, "input_ids", 0, "2/dp"),
        pin(session, WEIGHT, 1, "256/tp"),
        pin(session, "transformer.h.0.attn.c_attn.weight", 1, "(3)(64/tp)"),
        pin(session, "transformer.wpe.weight", 0, "64/tp:(1)2"),
        pin(session, "transformer.h.1.mlp.c_fc.weight", 0, "64/tp"),
    };
    decisions[3].store = STORED_ALL;
    decisions[4].open = true;
    decisions[4].priority = 3;
    for (size_t i = 0; i < COUNT_OF(decisions); i++)
        journal_add(journal, arena, &decisions[i]);
    Decision index = {.kind = PIN_INDEX_DIM, .origin = {ORIGIN_USER, "", 0, "p k tp"}};
    index.place = graph_find_op(session->graph, STR("/transformer/h.1/mlp/c_proj/Gemm"));
    index.dim = opspace_find_index(inferred_space(session->inferred, index.place), STR("k"));
    index.cut = decisions[1].cut;
    journal_add(journal, arena, &index);
    Decision unpin = {.kind = UNPIN_TENSOR_DIM, .place = decisions[1].place, .dim = 1};
    unpin.origin = (Origin){ORIGIN_SEARCH, "", 0, "tried"};
    journal_add(journal, arena, &unpin);
    mark(session, journal, WEIGHT, (Decision){.kind = PIN_REPLICATED, .axes = 3});
    mark(session, journal, "transformer.h.0.mlp.c_proj.out",
         (Decision){.kind = PIN_UNREDUCED, .axes = 2});
    mark(session, journal, WEIGHT, (Decision){.kind = PIN_GROUP, .group = "fc"});
    mark(session, journal, "transformer.h.1.mlp.c_fc.weight",
         (Decision){.kind = PIN_GROUP, .group = "fc"});
    mark(session, journal, "input_ids", (Decision){.kind = PIN_BARRIER, .pass = PASS_FORWARD});
    mark(session, journal, WEIGHT, (Decision){.kind = UNPIN_TENSOR});
    Decision assumed = {.kind = PIN_ASSUMED, .pattern = "*.c_proj.out", .axes = 1};
    assumed.assumed = ASSUMED_DRAWN_ALIKE;
    assumed.origin = (Origin){ORIGIN_USER, "", 0, "assumed"};
    journal_add(journal, arena, &assumed);
    return true;
}

typedef struct {
    Arena *arena;
    char folder[40];
    Session *session;
    Error err;
} Fixture;

static const SessionHooks hooks = {.machine = round_machine, .policy = pins_of_all_kinds};

static SessionOptions options_for(Arena *arena, const char *model, const char *policy)
{
    SessionOptions options = {.model = model, .mesh = "dp=2,tp=4", .policy = policy};
    vec_push(arena, &options.dims, (DimBinding){STR("batch"), 2});
    vec_push(arena, &options.dims, (DimBinding){STR("seq"), 16});
    return options;
}

static int set_up(void **state)
{
    Arena *arena = arena_new();
    Fixture *f = arena_make(arena, Fixture);
    *f = (Fixture){.arena = arena, .folder = "/tmp/dimscope_planfile_XXXXXX"};
    assert_non_null(mkdtemp(f->folder));
    SessionOptions options = options_for(arena, MODEL, "megatron");
    f->session = session_open(&options, &hooks, &f->err);
    if (!f->session)
        fail_msg("%s", f->err.text);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    session_close(f->session);
    rmdir(f->folder);
    arena_free(f->arena);
    return 0;
}

static const char *in_folder(Fixture *f, const char *name)
{
    return path_join(f->arena, f->folder, name);
}

static const char *contents(Arena *arena, const char *path)
{
    Source source;
    assert_true(file_read(arena, path, 1 << 24, &source, NULL));
    return source.text.s;
}

/* A file of that text, opened as a plan; NULL with f->err. */
static Session *open_text(Fixture *f, const char *text, SessionOptions options)
{
    options.model = in_folder(f, "text.json");
    assert_true(file_write(options.model, str_from(text), NULL));
    f->err = (Error){0};
    Session *session = session_open(&options, &hooks, &f->err);
    unlink(options.model);
    return session;
}

static const char *decisions_text(Arena *arena, const char *decisions)
{
    char model[4096];
    assert_non_null(realpath(MODEL, model));
    return arena_printf(arena,
                        "{\"dimscope_plan\":2,\"model\":\"%s\",\"dims\":{\"batch\":2,\"seq\":16},"
                        "\"mesh\":\"dp=2,tp=4\",\n\"decisions\":[%s]}",
                        model, decisions);
}

static const Finding *find_code(const Session *session, const char *code)
{
    for (int i = 0; session && i < session->plan->findings.n; i++)
        if (strcmp(session->plan->findings.at[i].code, code) == 0)
            return &session->plan->findings.at[i];
    return NULL;
}

static const char *cut_of(Arena *arena, const Session *session, const char *tensor, int dim)
{
    Error err = {0};
    int32_t t = naming_find(session->naming, str_from(tensor), &err);
    assert_true(t >= 0);
    Buf out = buf_new(arena);
    cut_format(&plan_sharding(session->plan, t)->dim[dim], session->mesh, &out);
    return out.s;
}

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
     "{\"kind\":\"pin\",\"tensor\":\"" WEIGHT "\",\"dim\":2,\"cut\":\"64/dp\"}", "has 2 dims"},
    {"a negative dim", "{\"kind\":\"pin\",\"tensor\":\"" WEIGHT "\",\"dim\":-1,\"cut\":\"64\"}",
     "has 2 dims"},
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
        open.method_given = true;
        session = session_open(&open, &hooks, &f->err);
        assert_ptr_equal(session->plan->propagator, &propagator_explain);
        session_close(session);
    }
    unlink(path);
}

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
        cmocka_unit_test_setup_teardown(many_that_do_not_fit_are_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_plan_opens_without_its_policy, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unknown_fields_are_named_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_changed_model_keeps_what_matches, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pins_follow_a_dim_that_has_another_size_now, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(another_model_is_a_note, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pins_of_a_file_come_after_the_policy, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_json_has_the_fields_of_the_contract, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reshard_lists_its_uses_and_steps, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows("failing save", fail_rows, a_failing_save_leaves_the_old_file) +
           run_rows("left out", drop_rows, what_does_not_fit_is_left_out_and_said) +
           run_rows("no plan", bad_rows, what_is_no_plan_is_an_error) +
           run_rows("forms", form_rows, a_sharding_has_the_forms_of_the_protocol);
}
