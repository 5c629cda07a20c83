/* Decisions by every way they come: a policy, a file of pins, a plan file, the user. Those that can
 * be kept arrive in the journal as they were said; what cannot hold is a finding, or an error, with
 * its file, its line and a hint, and the rest of the plan stays as it is. */
#include "tests/unit/unit.h"

#include "core/summary/diff.h"
#include "core/session/planfile.h"
#include "scripts/hooks.h"

#include <stdlib.h>
#include <unistd.h>

#define MODEL "samples/models/tiny-gpt.onnx"
#define FC "transformer.h.0.mlp.c_fc.weight" /* [64, 256] */
#define FC1 "transformer.h.1.mlp.c_fc.weight"
#define OUT "transformer.h.0.mlp.c_fc.out" /* [2, 16, 256] */

typedef struct {
    Arena *arena;
    Scripts *scripts;
    char folder[40];
    const char *file; /* of the last script or pins */
    Error err;
} Fixture;

static Fixture *fixture_new(void)
{
    Arena *arena = arena_new();
    Fixture *f = arena_make(arena, Fixture);
    *f = (Fixture){.arena = arena, .folder = "/tmp/dimscope_decisions_XXXXXX"};
    assert_non_null(mkdtemp(f->folder));
    f->scripts = scripts_new(arena, ".");
    return f;
}

static void fixture_free(Fixture *f)
{
    scripts_free(f->scripts);
    unlink(path_join(f->arena, f->folder, "p.lua"));
    rmdir(f->folder);
    arena_free(f->arena);
}

static const char *write_text(Fixture *f, const char *name, const char *text)
{
    f->file = path_join(f->arena, f->folder, name);
    assert_true(file_write(f->file, str_from(text), NULL));
    return f->file;
}

static Session *open_with(Fixture *f, SessionOptions options)
{
    SessionHooks hooks = scripts_hooks(f->scripts);
    f->err = (Error){0};
    return session_open(&options, &hooks, &f->err);
}

static Session *open_policy(Fixture *f, const char *body, const char *mesh)
{
    const char *text = arena_printf(
        f->arena, "function PAS(graph)\ngraph:pin('input_ids', {[0] = 'dp'})\n%s\nreturn graph end",
        body);
    const char *path = write_text(f, "p.lua", text);
    Session *session = open_with(f, (SessionOptions){.model = MODEL, .mesh = mesh, .policy = path});
    return session;
}

static const char *first_pin(void)
{
    return "{\"kind\":\"pin\",\"tensor\":\"input_ids\",\"dim\":0,\"cut\":\"2/dp\"}";
}

/* The decisions begin in line 2, and those of the row in line 3. */
static Session *open_pins(Fixture *f, const char *decisions, const char *mesh)
{
    const char *path =
        write_text(f, "pins.json",
                   arena_printf(f->arena, "{\"dimscope_plan\":2,\"decisions\":[\n%s,\n%s]}",
                                first_pin(), decisions));
    Session *session = open_with(f, (SessionOptions){.model = MODEL, .mesh = mesh, .pins = path});
    unlink(path);
    return session;
}

static Session *open_plan(Fixture *f, const char *decisions, const char *mesh)
{
    char model[4096];
    assert_non_null(realpath(MODEL, model));
    const char *text = arena_printf(
        f->arena,
        "{\"dimscope_plan\":2,\"model\":\"%s\",\"mesh\":\"%s\",\"decisions\":[\n%s,\n%s]}", model,
        mesh, first_pin(), decisions);
    const char *path = write_text(f, "plan.json", text);
    Session *session = open_with(f, (SessionOptions){.model = path});
    unlink(path);
    return session;
}

static const Finding *find_code(const Session *session, const char *code)
{
    for (int i = 0; i < session->plan->findings.n; i++)
        if (strcmp(session->plan->findings.at[i].code, code) == 0)
            return &session->plan->findings.at[i];
    return NULL;
}

/* The pin that every session has holds: "2/dp". */
static void check_the_rest(const Session *session)
{
    int32_t tensor = graph_find_tensor(session->graph, STR("input_ids"));
    assert_true(tensor >= 0);
    const Cut *cut = &plan_sharding(session->plan, tensor)->dim[0];
    assert_int_equal(cut_atoms(cut), mesh_axis_atoms(session->mesh, 0));
}

/* ---- what arrives ---- */

typedef struct {
    const char *name, *body, *want; /* want: the journal behind the first pin */
} ArriveRow;

static ArriveRow arrive_rows[] = {
    {"priority", "graph:pin('" FC "', {[1] = {axis = 'tp', priority = 2}})",
     "pin " FC " dim 1 256/tp, priority 2 @3\n"},
    {"open", "graph:pin('" FC "', {[1] = {axis = 'tp', open = true}})",
     "pin " FC " dim 1 256/tp, open @3\n"},
    {"priority of an index dim", "graph:pin('" FC "', {n = {axis = 'tp', priority = 1}})",
     "pin " FC " dim 1 256/tp, priority 1 @3\n"},
    {"replicated", "graph:replicated('*.mlp.c_fc.weight', {'dp', 'tp:(1)2'})",
     "replicated " FC " over dp,tp:(1)2 @3\nreplicated " FC1 " over dp,tp:(1)2 @3\n"},
    {"replicated over one", "graph:replicated('" FC "', 'dp')", "replicated " FC " over dp @3\n"},
    {"unreduced", "graph:unreduced('transformer.h.0.mlp.c_proj.out', {'tp'})",
     "unreduced /transformer/h.0/mlp/c_proj/Reshape_1_output_0 over tp @3\n"},
    {"tie", "graph:tie('fc', {'" FC "', '" FC1 "'})",
     "tie " FC " in fc @3\ntie " FC1 " in fc @3\n"},
    {"tie by pattern", "graph:tie('fc', '*.h.{0,1}.mlp.c_fc.weight')",
     "tie " FC " in fc @3\ntie " FC1 " in fc @3\n"},
    {"tie of tensors", "graph:tie('fc', graph:tensors('*.h.0.mlp.c_fc.weight'))",
     "tie " FC " in fc @3\n"},
    {"barrier forward", "graph:barrier('input_ids', 'forward')",
     "barrier input_ids passes forward @3\n"},
    {"barrier backward", "graph:barrier('input_ids', 'backward')",
     "barrier input_ids passes backward @3\n"},
    {"barrier none", "graph:barrier('input_ids', 'none')", "barrier input_ids passes none @3\n"},
    {"said twice", "for i = 1, 2 do graph:replicated('" FC "', 'dp') end",
     "replicated " FC " over dp @3\n"},
    {"all four of a tensor",
     "graph:replicated('" FC "', 'dp')\ngraph:unreduced('" FC "', 'dp')\ngraph:tie('g', '" FC
     "')\ngraph:barrier('" FC "', 'none')",
     "replicated " FC " over dp @3\nunreduced " FC " over dp @4\ntie " FC " in g @5\nbarrier " FC
     " passes none @6\n"},
    {"beside pins", "graph:pin('" FC "', {[1] = 'tp'})\ngraph:replicated('" FC "', 'dp')",
     "pin " FC " dim 1 256/tp @3\nreplicated " FC " over dp @4\n"},
    {"unpin takes all away",
     "graph:replicated('" FC "', 'dp')\ngraph:unpin('" FC "')\ngraph:replicated('" FC "', 'tp')",
     "replicated " FC " over dp @3\nunpin " FC " dim 0 @4\nunpin " FC " dim 1 @4\nunmark " FC
     " @4\nreplicated " FC " over tp @5\n"},
    {"unpin lets pins in",
     "graph:replicated('" FC "', 'dp')\ngraph:unpin('" FC "')\ngraph:pin('" FC "', {[0] = 'dp'})",
     "replicated " FC " over dp @3\nunpin " FC " dim 0 @4\nunpin " FC " dim 1 @4\nunmark " FC
     " @4\npin " FC " dim 0 64/dp @5\n"},
    {"stored where it is not cut in use",
     "graph:replicated('" FC "', 'dp')\ngraph:pin('" FC "', {[0] = {axis = 'dp', store = true}})",
     "replicated " FC " over dp @3\npin " FC " dim 0 64/dp, stored @4\n"},
};

static const char *journal_text(Arena *arena, const Session *session)
{
    Buf out = buf_new(arena);
    for (int i = 1; i < session->journal.n_done; i++) {
        const Decision *decision = &session->journal.decisions.at[i];
        decision_format(session, decision, &out);
        buf_printf(&out, " @%d\n", decision->origin.line);
        assert_string_not_equal(decision->origin.text, "");
    }
    return out.s;
}

static void what_a_policy_says_arrives(void **state)
{
    const ArriveRow *row = *state;
    Fixture *f = fixture_new();
    Session *session = open_policy(f, row->body, "dp=2,tp=4");
    if (!session)
        fail_msg("%d: %s", f->err.line, f->err.text);
    assert_string_equal(journal_text(f->arena, session), row->want);
    check_the_rest(session);

    const char *path = path_join(f->arena, f->folder, "saved.json");
    assert_true(planfile_save(session, path, false, &f->err));
    Session *again = open_with(f, (SessionOptions){.model = path});
    unlink(path);
    if (!again)
        fail_msg("%s", f->err.text);
    assert_string_equal(journal_text(f->arena, again), row->want);
    assert_true(plan_diff(f->arena, session, again)->same_result);
    session_close(session);
    session_close(again);
    fixture_free(f);
}

/* ---- what a policy may not say: an error at its line ---- */

typedef struct {
    const char *name, *body;
    int line;
    const char *says, *hint;
} RefuseRow;

static RefuseRow refuse_rows[] = {
    {"two cuts of a dim", "graph:pin('" FC "', {[1] = 'tp'})\ngraph:pin('" FC "', {[1] = 'dp'})", 4,
     "dim 1 of '" FC "' is pinned 256/tp in line 3 and 256/dp here", "unpin"},
    {"two priorities of a dim",
     "graph:pin('" FC "', {[1] = 'tp'})\ngraph:pin('" FC "', {[1] = {axis = 'tp', priority = 1}})",
     4, "256/tp in line 3 and 256/tp, priority 1 here", "unpin"},
    {"one axis on two dims", "graph:pin('" FC "', {[0] = 'tp', [1] = 'tp'})", 3,
     "one of its axes shards dim 0", "one dim of a tensor"},
    {"one axis twice in a cut", "graph:pin('" FC "', {[0] = {'tp', 'tp'}})", 3,
     "axis 'tp' is used twice", "once"},
    {"no such tensor", "graph:pin('transformer.h.0.mlp.c_cf.weight', {[0] = 'tp'})", 3,
     "no tensor is named 'transformer.h.0.mlp.c_cf.weight'", "did you mean '" FC "'?"},
    {"no such axis", "graph:pin('" FC "', {[0] = 'pt'})", 3, "no axis 'pt'", "did you mean"},
    {"no such dim", "graph:pin('" FC "', {[2] = 'tp'})", 3, "has 2 dims, no dim 2",
     "its dims: 0 of 64, 1 of 256"},
    {"no such index dim", "graph:pin(graph:nodes()[1], {zz = 'tp'})", 3, "no index dim 'zz'",
     "index dims that can be sharded: a 2, b 16"},
    {"no such option", "graph:pin('" FC "', {[0] = {axis = 'tp', prio = 1}})", 3,
     "no option 'prio'", "priority"},
    {"a priority below 0", "graph:pin('" FC "', {[0] = {axis = 'tp', priority = -1}})", 3,
     "'priority' must be an integer, 0 or more", ""},
    {"a priority of text", "graph:pin('" FC "', {[0] = {axis = 'tp', priority = 'x'}})", 3,
     "'priority' must be an integer", ""},
    {"a priority too large", "graph:pin('" FC "', {[0] = {axis = 'tp', priority = 1 << 40}})", 3,
     "'priority' must be at most 1000", ""},
    {"a frozen index dim",
     "for _, n in ipairs(graph:nodes()) do if n.name == 'Softmax' then graph:pin(n, {d = 'tp'}) "
     "end end",
     3, "frozen", "index dims that can be sharded: d0 2"},
    {"replicated over an axis that cuts it",
     "graph:pin('" FC "', {[1] = 'tp'})\ngraph:replicated('" FC "', 'tp')", 4,
     "'" FC "' is replicated over tp, but dim 1 of '" FC "' is pinned 256/tp in line 3",
     "cannot shard a dim"},
    {"cut by an axis it is replicated over",
     "graph:replicated('" FC "', {'tp', 'dp'})\ngraph:pin('" FC "', {[1] = 'tp'})", 4,
     "dim 1 of '" FC "' is pinned 256/tp, but the tensor is replicated over dp,tp in line 3",
     "cannot shard a dim"},
    {"cut by an axis it is unreduced over",
     "graph:unreduced('" FC "', 'tp')\ngraph:pin('" FC "', {[1] = 'tp:(1)2'})", 4,
     "the tensor is unreduced over tp in line 3", "cannot shard a dim"},
    {"two lists of axes", "graph:replicated('" FC "', 'tp')\ngraph:replicated('" FC "', 'dp')", 4,
     "is replicated over tp in line 3 and replicated over dp here", "unpin"},
    {"two groups", "graph:tie('a', '" FC "')\ngraph:tie('b', '" FC "')", 4,
     "is tied to group 'a' in line 3 and tied to group 'b' here", "unpin"},
    {"two directions", "graph:barrier('" FC "', 'forward')\ngraph:barrier('" FC "', 'none')", 4,
     "a barrier \"forward\" in line 3", "unpin"},
    {"no such direction", "graph:barrier('" FC "', 'both')", 3, "no direction 'both'", "backward"},
    {"a barrier without direction", "graph:barrier('" FC "')", 3, "bad argument #2", ""},
    {"replicated over nothing", "graph:replicated('" FC "', {})", 3, "no axis is given", ""},
    {"replicated over a number", "graph:replicated('" FC "', {1})", 3, "must be a string", ""},
    {"unreduced over no axis", "graph:unreduced('" FC "', {'tq'})", 3, "no axis 'tq'",
     "did you mean"},
    {"a node is no tensor", "graph:replicated(graph:nodes()[1], 'tp')", 3, "not a node", ""},
    {"a group without a name", "graph:tie('', '" FC "')", 3, "a group needs a name", ""},
    {"nnScaler's fuse", "graph:fuse({})", 3, "bad argument #1 to 'fuse' (string expected", ""},
    {"nnScaler's reorder", "graph:reorder({})", 3, "there is no graph:reorder", "in program order"},
};

static void a_policy_that_contradicts_itself_is_an_error(void **state)
{
    const RefuseRow *row = *state;
    Fixture *f = fixture_new();
    assert_null(open_policy(f, row->body, "dp=2,tp=4"));
    assert_int_equal(f->err.kind, ERROR_SCRIPT);
    assert_string_equal(f->err.file, f->file);
    assert_int_equal(f->err.line, row->line);
    if (!strstr(f->err.text, row->says) || !strstr(f->err.hint, row->hint))
        fail_msg("%s [%s]", f->err.text, f->err.hint);
    fixture_free(f);
}

static void a_policy_that_fails_leaves_the_plan(void **state)
{
    (void)state;
    Fixture *f = fixture_new();
    Session *session = open_policy(f, "graph:pin('" FC "', {[1] = 'tp'})", "dp=2,tp=4");
    assert_non_null(session);
    const Plan *plan = session->plan;
    write_text(f, "p.lua",
               "function PAS(graph)\ngraph:pin('" FC "', {[1] = 'tpp'})\nreturn graph end");
    assert_false(session_rerun_policy(session, &f->err));
    assert_int_equal(f->err.line, 2);
    assert_ptr_equal(session->plan, plan);
    assert_int_equal(session->journal.n_done, 2);
    check_the_rest(session);
    session_close(session);
    fixture_free(f);
}

/* ---- what cannot hold: a finding, whichever way it came ---- */

#define PIN(tensor, dim, cut)                                                                      \
    "{\"kind\":\"pin\",\"tensor\":\"" tensor "\",\"dim\":" #dim ",\"cut\":\"" cut "\"}"
#define AXES(kind, tensor, axes)                                                                   \
    "{\"kind\":\"" kind "\",\"tensor\":\"" tensor "\",\"axes\":[" axes "]}"
#define TIE(tensor) "{\"kind\":\"tie\",\"tensor\":\"" tensor "\",\"group\":\"g\"}"

typedef struct {
    const char *name, *mesh, *decisions;
    const char *code, *says;
    Level level;
    bool dropped;     /* it does not come to the journal */
    const char *body; /* what a policy says, where that is no error; NULL */
} HoldRow;

static HoldRow hold_rows[] = {
    {"no such tensor", "dp=2,tp=4", PIN("transformer.h.0.mlp.c_cf.weight", 0, "64/tp"),
     "decision-dropped", "no tensor is named 'transformer.h.0.mlp.c_cf.weight'", LEVEL_WARNING,
     true, NULL},
    {"no tensor of that pattern", "dp=2,tp=4", PIN("*.c_cf.weight", 0, "64/tp"), "decision-dropped",
     "no tensor is named '*.c_cf.weight'", LEVEL_WARNING, true, NULL},
    {"no such op", "dp=2,tp=4",
     "{\"kind\":\"pin\",\"op\":\"/transformer/h.1/mlp/c_proj/Gem\",\"index\":\"k\",\"cut\":\"256/"
     "tp\"}",
     "decision-dropped", "no op '/transformer/h.1/mlp/c_proj/Gem'", LEVEL_WARNING, true, NULL},
    {"no such axis", "dp=2,tp=4", PIN(FC, 0, "64/pt"), "decision-dropped", "no axis 'pt'",
     LEVEL_WARNING, true, NULL},
    {"one axis twice in a cut", "dp=2,tp=4", PIN(FC, 0, "64/tp.tp"), "decision-dropped",
     "axis 'tp' is used twice", LEVEL_WARNING, true, NULL},
    {"one axis on two dims", "dp=2,tp=4", PIN(FC, 0, "64/tp") "," PIN(FC, 1, "256/tp"),
     "axis-twice", "shards another of its dims: dim 0 is pinned by it (", LEVEL_ERROR, false, NULL},
    {"two cuts of a dim", "dp=2,tp=4", PIN(FC, 0, "64/tp") "," PIN(FC, 0, "64/dp"), "pin-replaced",
     " replaces that of ", LEVEL_NOTE, false, NULL},
    {"two lists of axes", "dp=2,tp=4",
     AXES("replicated", FC, "\"tp\"") "," AXES("replicated", FC, "\"dp\""), "pin-replaced",
     " replaces that of ", LEVEL_NOTE, false, NULL},
    {"cut by an axis it is replicated over", "dp=2,tp=4",
     AXES("replicated", FC, "\"tp\"") "," PIN(FC, 0, "64/tp"), "axis-barred",
     "the tensor is replicated or unreduced over: 'replicated' holds (", LEVEL_ERROR, false, NULL},
    {"unreduced over an axis that cuts it", "dp=2,tp=4",
     PIN(FC, 0, "64/tp") "," AXES("unreduced", FC, "\"tp:(1)2\""), "axis-barred",
     "dim 0 cannot be sharded by an axis that the tensor is replicated or unreduced over: "
     "'unreduced' holds (",
     LEVEL_ERROR, false, NULL},
    {"a frozen index dim", "dp=2,tp=4",
     "{\"kind\":\"pin\",\"op\":\"/transformer/h.0/attn/Softmax\",\"index\":\"d\",\"cut\":\"16/"
     "tp\"}",
     "frozen-pin", "is frozen", LEVEL_ERROR, false, NULL},
    {"stored, but no parameter", "dp=2,tp=4",
     "{\"kind\":\"pin\",\"tensor\":\"" OUT "\",\"dim\":2,\"cut\":\"256/tp\",\"store\":true}",
     "store-ignored", "is not a dim of a parameter", LEVEL_WARNING, false,
     "graph:pin('" OUT "', {[2] = {axis = 'tp', store = true}})"},
    {"a closed dim that must move", "dp=2,tp=4", PIN(OUT, 2, "256") "," PIN(FC, 1, "256/tp"),
     "pin-moves", "is pinned 256, but its op produces 256/tp: ", LEVEL_NOTE, false,
     "graph:pin('" OUT "', {[2] = {}}) graph:pin('" FC "', {[1] = 'tp'})"},
    {"a mesh too large for a dim", "dp=2,tp=1024", PIN(FC, 1, "256/tp"), "empty",
     "256/tp gives 1 on the first rank, 0 on the last", LEVEL_WARNING, false,
     "graph:pin('" FC "', {[1] = 'tp'})"},
    {"a group of other shapes", "dp=2,tp=4", TIE(FC) "," TIE("input_ids"), "group-shape",
     "is of another shape than", LEVEL_WARNING, false, "graph:tie('g', {'" FC "', 'input_ids'})"},
    {"a group pinned in two ways", "dp=2,tp=4",
     PIN(FC, 1, "256/tp") "," PIN(FC1, 0, "64/tp") "," TIE(FC) "," TIE(FC1), "group-pin",
     "is pinned differently from", LEVEL_WARNING, false,
     "graph:pin('" FC "', {[1] = 'tp'}) graph:pin('" FC1 "', {[0] = 'tp'}) graph:tie('g', {'" FC
     "', '" FC1 "'})"},
};

/* The finding of the row's code that says what it should, with its place and a hint. */
static void check_finding(const HoldRow *row, const Session *session, const char *file, int line)
{
    const Finding *finding = find_code(session, row->code);
    if (!finding) {
        for (int i = 0; i < session->plan->findings.n; i++)
            print_error("%s: %s\n", session->plan->findings.at[i].code,
                        session->plan->findings.at[i].text);
        fail_msg("no %s", row->code);
        return;
    }
    assert_int_equal(finding->level, row->level);
    if (!strstr(finding->text, row->says))
        fail_msg("%s", finding->text);
    assert_string_not_equal(finding->hint, "");
    if (file && (!finding->file || strcmp(finding->file, file) != 0 || finding->line != line))
        fail_msg("%s:%d: %s", finding->file ? finding->file : "-", finding->line, finding->text);
    check_the_rest(session);
    assert_int_equal(plan_is_legal(session->plan), row->level != LEVEL_ERROR);
}

/* The same decisions made on the screen: they are the user's, and have no file. */
static void check_as_user(Fixture *f, const HoldRow *row, const Session *from)
{
    Session *session = open_policy(f, "", row->mesh);
    assert_non_null(session);
    for (int i = 1; i < from->journal.n_done; i++) {
        Decision decision = from->journal.decisions.at[i];
        decision.origin = (Origin){ORIGIN_USER, "", 0, "p"};
        assert_true(session_apply(session, &decision, 1, &f->err));
    }
    check_finding(row, session, NULL, 0);
    while (session->journal.n_done > 1)
        assert_true(session_undo(session, &f->err));
    assert_null(find_code(session, row->code));
    session_close(session);
}

static void what_cannot_hold_is_said(void **state)
{
    const HoldRow *row = *state;
    Fixture *f = fixture_new();
    Session *pins = open_pins(f, row->decisions, row->mesh);
    if (!pins)
        fail_msg("%s", f->err.text);
    check_finding(row, pins, f->file, 3);
    Session *plan = open_plan(f, row->decisions, row->mesh);
    if (!plan)
        fail_msg("%s", f->err.text);
    check_finding(row, plan, f->file, 3);
    assert_int_equal(plan->journal.n_done == 1, row->dropped);
    if (!row->dropped)
        check_as_user(f, row, plan);
    if (row->body) {
        Session *policy = open_policy(f, row->body, row->mesh);
        if (!policy)
            fail_msg("%s", f->err.text);
        check_finding(row, policy, f->file, 3);
        session_close(policy);
    }
    session_close(pins);
    session_close(plan);
    fixture_free(f);
}

/* A decision that cannot be one, by a program that makes them: an error, and the plan stays. */
static void no_decision_at_all(void **state)
{
    (void)state;
    Fixture *f = fixture_new();
    Session *session = open_policy(f, "", "dp=2,tp=4");
    const Plan *plan = session->plan;
    int32_t tensor = naming_find(session->naming, STR(FC), NULL);
    Decision wrong[] = {
        {.kind = PIN_TENSOR_DIM, .place = tensor, .dim = 2, .cut = (Cut[]){cut_whole(64)}},
        {.kind = PIN_TENSOR_DIM, .place = tensor, .dim = 0, .cut = (Cut[]){cut_whole(65)}},
        {.kind = PIN_TENSOR_DIM, .place = session->graph->n_tensors, .cut = (Cut[]){cut_whole(64)}},
        {.kind = PIN_REPLICATED, .place = -1, .dim = -1, .axes = 1},
        {.kind = PIN_REPLICATED, .place = tensor, .dim = -1, .axes = 1 << 10},
        {.kind = UNPIN_TENSOR, .place = session->graph->n_tensors, .dim = -1},
    };
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        Error err = {0};
        assert_false(session_apply(session, &wrong[i], 1, &err));
        assert_int_equal(err.kind, ERROR_OUT_OF_RANGE);
        assert_ptr_equal(session->plan, plan);
    }
    session_close(session);
    fixture_free(f);
}

static void a_pattern_without_a_tensor_is_a_warning(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "graph:shard('*.c_cf.weight', {[0] = 'tp'})", "graph:replicated('*.c_cf.weight', 'tp')",
        "graph:unreduced('*.c_cf.weight', 'tp')",     "graph:tie('g', {'*.c_cf.weight'})",
        "graph:barrier('*.c_cf.weight', 'none')",
    };
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        Fixture *f = fixture_new();
        HoldRow row = {.code = "pattern-matched-nothing",
                       .says = "'*.c_cf.weight' matches no tensor"};
        row.level = LEVEL_WARNING;
        Session *session = open_policy(f, bodies[i], "dp=2,tp=4");
        if (!session)
            fail_msg("%s", f->err.text);
        check_finding(&row, session, f->file, 3);
        assert_non_null(strstr(find_code(session, row.code)->hint, "c_fc.weight"));
        session_close(session);
        fixture_free(f);
    }
}

/* Exporters fuse the bias or add it by an op of its own: by name of index dim it is one spelling.
 */
static void a_bias_has_the_index_dim_of_its_matmul(void **state)
{
    (void)state;
    Fixture *f = fixture_new();
    const char *path = write_text(f, "p.lua",
                                  "function PAS(graph)\n"
                                  "graph:shard('*layer_0.mlp.0.{weight,bias}', {n = 'tp'})\n"
                                  "return graph end");
    Session *session = open_with(
        f,
        (SessionOptions){.model = "samples/models/vit_b_16.onnx", .mesh = "tp=2", .policy = path});
    assert_non_null(session);
    const Str name = STR("encoder.layers.encoder_layer_0.mlp.0.bias");
    int32_t bias = naming_find(session->naming, name, NULL);
    const Decision *pin = plan_pin_of(session->plan, PIN_TENSOR_DIM, bias, 0);
    assert_non_null(pin);
    assert_int_equal(cut_local_size(decision_cut(pin), session->mesh, 0), 3072 / 2);
    assert_int_equal(session->plan->decided->n_pins, 2);
    session_close(session);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_policy_that_fails_leaves_the_plan),
        cmocka_unit_test(no_decision_at_all),
        cmocka_unit_test(a_bias_has_the_index_dim_of_its_matmul),
        cmocka_unit_test(a_pattern_without_a_tensor_is_a_warning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows("arrives", arrive_rows, what_a_policy_says_arrives) +
           run_rows("refused", refuse_rows, a_policy_that_contradicts_itself_is_an_error) +
           run_rows("held", hold_rows, what_cannot_hold_is_said);
}
