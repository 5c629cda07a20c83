/* Decisions about gradients and about the ops of a training step: the layout, the op's cut and the
 * collective that follow, under each propagator; plan files keep them with the step. */
#include "tests/unit/unit.h"

#include "core/base/file.h"
#include "core/code/code.h"
#include "core/explain/why_not.h"
#include "core/propagate/propagators.h"
#include "core/run/run.h"
#include "core/session/planfile.h"
#include "tests/unit/opened.h"
#include "tests/unit/spreads.h"
#include "viz/export.h"

#include <stdlib.h>
#include <unistd.h>

#define MODEL                                                                                      \
    "function MODEL(model)\n"                                                                      \
    "local x = model:input('x', 'f32', {8, 16})\n"                                                 \
    "local w = model:param('w', {16, 32}, 'f32')\n"                                                \
    "local v = model:param('v', {32, 4}, 'f32')\n"                                                 \
    "local t = model:op('Relu', {model:op('MatMul', {x, w})})\n"                                   \
    "local y = model:op('MatMul', {t, v})\n"                                                       \
    "model:output(model:op('ReduceMean', {y}, {keepdims = 0}), 'loss')\n"                          \
    "end\n"

typedef struct {
    Arena *arena;
    const char *model, *policy;
    Scripts *scripts;
    SessionHooks hooks;
    Session *session; /* NULL: */
    Error err;
} TestStep;

static const char *made_file(Arena *arena, const char *end, const char *text)
{
    char name[] = "/tmp/dimscope_pins_XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0 && close(fd) == 0 && unlink(name) == 0);
    const char *path = arena_printf(arena, "%s%s", name, end);
    assert_true(file_write(path, str_from(text), NULL));
    return path;
}

/* lua: what the policy decides, beside dp on the batch. */
static TestStep open_trained(const char *lua, const char *train, const Propagator *propagator)
{
    TestStep s = {.arena = arena_new()};
    s.model = made_file(s.arena, ".lua", MODEL);
    s.policy = made_file(s.arena, ".lua",
                         arena_printf(s.arena,
                                      "function PAS(graph)\ngraph:shard('x', {[0] = 'dp'})\n%s\n"
                                      "return graph\nend\n",
                                      lua));
    s.scripts = scripts_new(s.arena, ".");
    s.hooks = scripts_hooks(s.scripts);
    SessionOptions options = {
        .model = s.model, .policy = s.policy, .mesh = "dp=2,tp=2", .train = train};
    options.propagator = propagator;
    s.session = session_open(&options, &s.hooks, &s.err);
    return s;
}

static TestStep open_step(const char *lua, const Propagator *propagator)
{
    return open_trained(lua, "sgd", propagator);
}

static void close_step(TestStep *s)
{
    session_close(s->session);
    scripts_free(s->scripts);
    unlink(s->model);
    unlink(s->policy);
    arena_free(s->arena);
}

static void put_sharding(const TestStep *s, int32_t id, Buf *out)
{
    const Plan *plan = s->session->plan;
    sharding_format(shardings_at(plan->shardings, id), plan->mesh, VIEW_OURS, out, NULL);
}

/* "16,32 Σdp | RS dp | 16/dp,32": as the op makes it, what moves it there, as it lies; then the
 * codes of findings about it, but for what its readers need. */
static const char *shown(const TestStep *s, const char *tensor)
{
    const Plan *plan = s->session->plan;
    int32_t t = naming_find(s->session->naming, str_from(tensor), NULL);
    assert_true(t >= 0);
    Buf out = buf_new(s->arena);
    put_sharding(s, plan->moved->made[t], &out);
    for (int i = 0; i < plan->moved->n_reshards; i++) {
        const Reshard *reshard = &plan->moved->reshards[i];
        if (reshard->tensor != t || reshard->n_uses > 0)
            continue;
        for (int k = 0; k < reshard->path->n_steps; k++)
            buf_printf(&out, " | %s", step_kind_name(reshard->path->step[k].kind));
    }
    if (plan->moved->made[t] != plan->moved->sharding[t]) {
        buf_puts(&out, " | ");
        put_sharding(s, plan->moved->sharding[t], &out);
    }
    for (int i = 0; i < plan->findings.n; i++)
        if (plan->findings.at[i].tensor == t && strcmp(plan->findings.at[i].code, "conflict") != 0)
            buf_printf(&out, " %s", plan->findings.at[i].code);
    return out.s;
}

typedef struct {
    const char *title, *lua, *tensor, *want;
} PinRow;

static const PinRow rows[] = {
    {"without a pin the gradient is partial until the update", "", "w~grad", "16,32 Σdp"},
    {"a pin by the axis that it is partial over is a reduce-scatter",
     "graph:shard('w~grad', {[0] = 'dp'})", "w~grad",
     "16,32 Σdp | reduce_scatter | 16/dp,32 pin-moves"},
    {"an op makes a gradient by an axis that it has no use for",
     "graph:shard('w~grad', {[1] = 'tp'})", "w~grad", "16,32/tp Σdp | all_reduce | 16,32/tp"},
    {"unreduced, it stays partial there",
     "graph:shard('w~grad', {[1] = 'tp'})\ngraph:unreduced('w~grad', 'dp')", "w~grad",
     "16,32/tp Σdp"},
    {"replicated, it is reduced where it is made", "graph:replicated('w~grad', 'dp')", "w~grad",
     "16,32 Σdp | all_reduce | 16,32"},
    {"a pattern names gradients", "graph:shard('*~grad', {[1] = 'tp'})", "w~grad",
     "16,32/tp Σdp | all_reduce | 16,32/tp"},
    {"a pin of a gradient op replaces the copied cut", "graph:pin('MatMul~d1', {n = 'tp'})",
     "w~grad", "16,32/tp Σdp"},
    {"and takes its axis from the op's other dims", "graph:pin('MatMul~d1', {n = 'dp'})", "w~grad",
     "16,32/dp"},
    {"a pattern names gradient ops", "graph:shard('MatMul*~d1', {n = 'tp'})", "w~grad",
     "16,32/tp Σdp"},
    {"unpin takes it back", "graph:shard('w~grad', {[0] = 'dp'})\ngraph:unpin('w~grad', 0)",
     "w~grad", "16,32 Σdp"},
    {"a group has no use there", "graph:tie('g', 'w~grad')", "w~grad", "16,32 Σdp not-obeyed"},
    {"what a parameter becomes lies as the parameter", "graph:shard('w~next', {[0] = 'dp'})",
     "w~next", "16,32 pin-of-next"},
};

static void run_verified(const TestStep *s, const char *title)
{
    RunReport report;
    Error err = {0};
    RunOptions options = {.verify = true, .repeat = 1, .seed = 3};
    if (!run_plan(s->arena, s->session->plan, &options, &report, &err))
        fail_msg("%s: %s", title, err.text);
    if (report.verdict != RUN_PASS)
        fail_msg("%s: the run differs from one device", title);
}

static void pins_of_a_step_hold_under_every_propagator(void **state)
{
    (void)state;
    int n_bad = 0;
    for (int p = 0; propagator_at(p); p++)
        for (size_t i = 0; propagator_spreads(propagator_at(p)) && i < COUNT_OF(rows); i++) {
            TestStep s = open_step(rows[i].lua, propagator_at(p));
            if (!s.session)
                fail_msg("%s, %s: %s", rows[i].title, propagator_at(p)->name, s.err.text);
            const char *got = shown(&s, rows[i].tensor);
            if (strcmp(got, rows[i].want) != 0 && ++n_bad)
                print_error("%s, %s (%s): '%s', not '%s'\n", rows[i].title, propagator_at(p)->name,
                            propagator_at(p)->profile, got, rows[i].want);
            if (p == 0)
                run_verified(&s, rows[i].title);
            close_step(&s);
        }
    assert_int_equal(n_bad, 0);
}

/* The sum of its squares is computed where the pin leaves it: the clip norm needs no all-gather. */
static void the_norm_reads_a_gradient_where_its_pin_leaves_it(void **state)
{
    (void)state;
    static const struct {
        const char *lua, *want;
    } norms[] = {
        {"", "scalar"},
        {"graph:shard('w~grad', {[0] = 'dp'})", "scalar Σdp"},
        {"graph:shard('w~grad', {[1] = 'tp'})", "scalar Σtp"},
        {"graph:shard('w~grad', {[0] = 'dp', [1] = 'tp'})", "scalar Σdp.tp"},
    };
    for (size_t i = 0; i < COUNT_OF(norms); i++) {
        TestStep s = open_trained(norms[i].lua, "sgd,clip=1", NULL);
        assert_non_null(s.session);
        const char *got = shown(&s, "w~grad~square");
        if (strcmp(got, norms[i].want) != 0)
            fail_msg("%s: '%s', not '%s'", norms[i].lua, got, norms[i].want);
        run_verified(&s, norms[i].lua);
        close_step(&s);
    }
}

/* Numbers are dims of the tensor, names are index dims of the op. */
static void an_op_and_its_result_of_one_name_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *lua;
        DecisionKind kind;
    } pins[] = {
        {"graph:pin('/transformer/h.0/mlp/act/Add~d0', {[2] = 'tp'})", PIN_TENSOR_DIM},
        {"graph:pin('/transformer/h.0/mlp/act/Add~d0', {d2 = 'tp'})", PIN_INDEX_DIM},
        {"graph:shard('*h.0/mlp/act/Add~d0', {d2 = 'tp'})", PIN_INDEX_DIM},
    };
    for (size_t i = 0; i < COUNT_OF(pins); i++) {
        Arena *arena = arena_new();
        const char *policy = made_file(
            arena, ".lua",
            arena_printf(arena, "function PAS(graph)\n%s\nreturn graph\nend\n", pins[i].lua));
        SessionOptions options = {.model = "samples/models/tiny-gpt.onnx",
                                  .policy = policy,
                                  .mesh = "dp=2,tp=2",
                                  .train = "sgd"};
        DimBinding dims[] = {{STR("batch"), 4}, {STR("seq"), 8}};
        options.dims = (DimBindings){.at = dims, .n = 2};
        Opened o = open_in(arena, &options);
        assert_int_equal(o.session->journal.n_done, 1);
        assert_int_equal(o.session->journal.decisions.at[0].kind, pins[i].kind);
        unlink(policy);
        close_opened(&o);
    }
}

/* A gradient that no axis reaches, and one whose op cannot be sharded so. */
static void why_not_speaks_of_gradients(void **state)
{
    (void)state;
    static const struct {
        const char *lua, *tensor, *want;
    } asked[] = {
        {"", "w~grad", "no pin leads tp to any dim linked with these"},
        {"graph:shard('w', {[1] = 'tp'})", "w~grad", "tp shards it"},
        {"graph:shard('w~grad', {[1] = 'tp'})", "w~grad", "tp already shards dim 1"},
    };
    for (size_t i = 0; i < COUNT_OF(asked); i++) {
        TestStep s = open_step(asked[i].lua, NULL);
        assert_non_null(s.session);
        Buf text = buf_new(s.arena);
        why_not_format(s.session->plan,
                       naming_find(s.session->naming, str_from(asked[i].tensor), NULL), -1,
                       mesh_find_axis(s.session->mesh, STR("tp")), &text);
        if (!strstr(text.s, asked[i].want))
            fail_msg("%s: no '%s' in\n%s", asked[i].lua, asked[i].want, text.s);
        close_step(&s);
    }
}

static void names_that_the_step_lacks_are_errors(void **state)
{
    (void)state;
    static const struct {
        const char *lua, *text, *hint;
    } bad[] = {
        {"graph:pin('w~gra', {[0] = 'dp'})", "no tensor is named 'w~gra'",
         "did you mean 'w~grad'?"},
        {"graph:pin('w~grad', {[7] = 'dp'})", "'w~grad' has 2 dims, no dim 7", ""},
        {"graph:pin('MatMul~d1', {z = 'dp'})", "node 'MatMul~d1' has no index dim 'z'", ""},
        {"graph:replicated('MatMul~d1', 'dp')", "'MatMul~d1' is an op, not a tensor", ""},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        TestStep s = open_step(bad[i].lua, NULL);
        assert_null(s.session);
        if (!strstr(s.err.text, bad[i].text) || !strstr(s.err.hint, bad[i].hint) || s.err.line != 3)
            fail_msg("%s: line %d: %s; %s", bad[i].lua, s.err.line, s.err.text, s.err.hint);
        close_step(&s);
    }
}

static void an_error_that_is_caught_leaves_the_model_shown(void **state)
{
    (void)state;
    TestStep s = open_step("local n = #graph:params()\n"
                           "pcall(function() graph:pin('w~grad', {[7] = 'dp'}) end)\n"
                           "if #graph:params() ~= n or #graph:tensors('w~grad') > 0 then\n"
                           "  error('the policy sees the step')\nend",
                           NULL);
    if (!s.session)
        fail_msg("%s", s.err.text);
    close_step(&s);
}

static void a_plan_file_keeps_the_step_and_its_pins(void **state)
{
    (void)state;
    TestStep s = open_step(
        "graph:shard('w~grad', {[0] = 'dp'})\ngraph:pin('MatMul_1~d1', {n = 'tp'})", NULL);
    assert_non_null(s.session);
    const char *path = arena_printf(s.arena, "%s.json", s.model);
    assert_true(planfile_save(s.session, path, false, &s.err));
    SessionOptions options = {.model = path};
    Session *again = session_open(&options, &s.hooks, &s.err);
    if (!again)
        fail_msg("%s", s.err.text);
    assert_string_equal(again->options.train, "sgd");
    assert_int_equal(again->inferred->n_program, s.session->inferred->n_program);
    assert_int_equal(again->notes.n, 0);
    assert_true(planfile_hash(again) == planfile_hash(s.session));
    session_close(again);
    options.train = "adamw";
    again = session_open(&options, &s.hooks, &s.err);
    assert_non_null(again);
    assert_string_equal(again->options.train, "adamw");
    session_close(again);
    unlink(path);
    close_step(&s);
}

/* ---- what a policy says about training ---- */

typedef struct {
    const char *title, *lua, *train; /* --train; NULL: none */
    const char *want;                /* the step, how many parameters it has, codes of notes */
} TrainRow;

static const TrainRow trained[] = {
    {"without a word there is no step", "", NULL, "none 0"},
    {"a policy asks for a step", "graph:train()", NULL, "auto 2"},
    {"by a table", "graph:train{clip = 1, optimizer = 'adam'}", NULL, "adam,clip=1 2"},
    {"by the text of --train", "graph:train('sgd,lr=0.1')", NULL, "sgd,lr=0.1 2"},
    {"--train holds over the policy", "graph:train('sgd')", "adam", "adam 2 train-given"},
    {"the same step twice is one", "graph:train('sgd')\ngraph:train('sgd')", "sgd", "sgd 2"},
    {"--train none plans forward only", "graph:train('sgd')", "none", "none 0 train-given"},
    {"a frozen parameter does not train", "graph:freeze('v')", "sgd", "sgd,freeze=v 1 frozen"},
    {"patterns freeze, once each", "graph:train('sgd')\ngraph:freeze{'{v,z}', 'v', 'v'}", NULL,
     "sgd,freeze={v,z},freeze=v 1 frozen frozen"},
    {"what matches nothing is a warning", "graph:freeze('vv')", "sgd",
     "sgd,freeze=vv 2 pattern-matched-nothing"},
    {"without a step freezing has no effect", "graph:freeze('v')", NULL, "none 0"},
    {"a tensor freezes too", "graph:freeze(graph:params()[1])", "sgd", "sgd,freeze=w 1 frozen"},
    {"a gradient may be pinned behind graph:train",
     "graph:train('sgd')\ngraph:pin('w~grad', {[0] = 'dp'})", NULL, "sgd 2"},
    {"parts of an update have no op in the forward graph",
     "graph:train('sgd')\nfor _, t in ipairs(graph:tensors('*')) do "
     "pcall(graph.shard, graph, t, {k = 'dp'}) end",
     NULL, "sgd 2"},
};

static const char *training_of(const TestStep *s)
{
    const Session *session = s->session;
    const Plan *plan = session->plan;
    int n = 0;
    for (int32_t t = 0; session->options.train && t < session->graph->n_tensors; t++)
        n += session->graph->next_of && session->graph->next_of[t] >= 0 &&
             !strchr(tensor_name(session->graph, session->graph->next_of[t]), '~');
    Buf out = buf_new(s->arena);
    buf_printf(&out, "%s %d", session->options.train ? session->options.train : "none", n);
    for (int i = 0; i < plan->findings.n; i++) {
        const char *code = plan->findings.at[i].code;
        if (strcmp(code, "conflict") != 0 && strcmp(code, "pin-moves") != 0)
            buf_printf(&out, " %s", code);
    }
    return out.s;
}

static void policies_ask_for_training(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(trained); i++) {
        TestStep s = open_trained(trained[i].lua, trained[i].train, NULL);
        if (!s.session)
            fail_msg("%s: %s", trained[i].title, s.err.text);
        const char *got = training_of(&s);
        if (strcmp(got, trained[i].want) != 0)
            fail_msg("%s: '%s', not '%s'", trained[i].title, got, trained[i].want);
        close_step(&s);
    }
}

static void bad_training_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *lua, *train, *text, *hint;
    } bad[] = {
        {"graph:train('adamv')", NULL, "there is no optimizer 'adamv'", "did you mean adam?"},
        {"graph:train{clip = true}", NULL, "'clip' of graph:train must be a text or a number", ""},
        {"graph:train{clipp = 1}", NULL, "there is no option 'clipp'", "did you mean clip?"},
        {"graph:train('sgd')\ngraph:train('adam')", NULL, "graph:train asked for 'sgd' before",
         "leave one of the two out"},
        {"graph:freeze('v,w')", "sgd", "'v,w' is two patterns", ""},
        {"graph:freeze('*')", "sgd", "nothing of the model trains",
         "all its parameters are frozen"},
        {"graph:pin('w~grad', {[0] = 'dp'})", NULL, "no tensor is named 'w~grad'", ""},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        TestStep s = open_trained(bad[i].lua, bad[i].train, NULL);
        if (s.session || !strstr(s.err.text, bad[i].text) || !strstr(s.err.hint, bad[i].hint))
            fail_msg("%s: %s; %s", bad[i].lua, s.err.text, s.err.hint);
        close_step(&s);
    }
}

static void another_step_carries_pins_by_name(void **state)
{
    (void)state;
    TestStep s = open_step("", NULL);
    int32_t w = naming_find(s.session->naming, STR("w~grad"), NULL);
    int32_t v = naming_find(s.session->naming, STR("v~grad"), NULL);
    Cut cut = cut_whole(32);
    Decision pins[] = {{.kind = PIN_TENSOR_DIM, .place = w, .dim = 1, .cut = &cut},
                       {.kind = PIN_TENSOR_DIM, .place = v, .dim = 0, .cut = &cut}};
    for (int i = 0; i < 2; i++)
        pins[i].origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = ""};
    assert_true(session_apply(s.session, pins, 2, &s.err));
    Session *next = session_retrain(s.session, "adam,freeze=v", NULL, &s.err);
    if (!next)
        fail_msg("%s", s.err.text);
    const Decision *kept = &next->journal.decisions.at[next->journal.n_done - 1];
    assert_int_equal(next->journal.n_done, 2); /* the policy's, and that of w */
    assert_string_equal(tensor_name(next->graph, kept->place), "w~grad");
    assert_int_equal(next->notes.n, 1);
    assert_string_equal(next->notes.at[0].code, "decision-dropped");
    session_close(s.session);
    s.session = session_retrain(next, "none", NULL, &s.err);
    assert_non_null(s.session);
    assert_null(s.session->inferred->forward);
    session_close(next);
    close_step(&s);
}

/* A policy that is run again may ask for another step: what it asks first, then. */
static void a_policy_run_again_makes_its_step(void **state)
{
    (void)state;
    static const struct {
        const char *title, *first, *then, *want;
        int n_kept; /* of the user's two decisions: on w and on w~grad */
    } reruns[] = {
        {"from no step to one", "", "graph:train('sgd')", "sgd 2", 1},
        {"another optimizer", "graph:train('sgd')", "graph:train('adam')", "adam 2", 2},
        {"to no step", "graph:train('sgd')", "", "none 0 decision-dropped", 1},
        {"a parameter freezes", "graph:train('sgd')", "graph:train('sgd')\ngraph:freeze('w')",
         "sgd,freeze=w 1 decision-dropped frozen", 1},
        {"pins of its own on the step", "", "graph:train('sgd')\ngraph:shard('w~grad', {'dp'})",
         "sgd 2", 1},
        {"ops that run again", "graph:train('sgd')\ngraph:recompute('Relu*')",
         "graph:train('adam')\ngraph:recompute('Relu*')", "adam 2", 2},
    };
    for (size_t i = 0; i < COUNT_OF(reruns); i++) {
        TestStep s = open_trained(reruns[i].first, NULL, NULL);
        if (!s.session)
            fail_msg("%s: %s", reruns[i].title, s.err.text);
        Cut cut = cut_whole(32);
        Decision pins[2] = {{.kind = PIN_TENSOR_DIM, .dim = 1, .cut = &cut},
                            {.kind = PIN_TENSOR_DIM, .dim = 1, .cut = &cut}};
        for (int p = 0; p < 2; p++)
            pins[p].origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = ""};
        pins[0].place = naming_find(s.session->naming, STR("w"), NULL);
        pins[1].place = naming_find(s.session->naming, STR("w~grad"), NULL);
        assert_true(session_apply(s.session, pins, pins[1].place >= 0 ? 2 : 1, &s.err));
        int n_before = s.session->journal.n_done;
        assert_true(file_write(
            s.policy,
            str_from(arena_printf(s.arena, "function PAS(graph)\n%s\nreturn graph\nend\n",
                                  reruns[i].then)),
            NULL));
        if (!session_rerun_policy(s.session, &s.err))
            fail_msg("%s: %s", reruns[i].title, s.err.text);
        int n_user = 0;
        for (int d = 0; d < s.session->journal.n_done; d++)
            n_user += s.session->journal.decisions.at[d].origin.kind != ORIGIN_POLICY;
        const char *got = training_of(&s);
        if (strcmp(got, reruns[i].want) != 0 || n_user != reruns[i].n_kept)
            fail_msg("%s: '%s', not '%s'; %d of the user's %d kept", reruns[i].title, got,
                     reruns[i].want, n_user, n_before);
        close_step(&s);
    }
}

/* ---- exports ---- */

static const char *exported(TestStep *s, const ExportFormat *format, int *n_notes)
{
    ExportRequest request = {.drawing.session = s->session};
    ExportNotes notes = {.arena = s->arena};
    Buf text = buf_new(s->arena);
    if (!export_write(format, &request, &text, &notes, &s->err))
        fail_msg("%s: %s", format->name, s->err.text);
    *n_notes = notes.at.n;
    return text.s;
}

static void exports_to_systems_are_of_the_model(void **state)
{
    (void)state;
    TestStep step = open_trained("graph:shard('w', {[1] = 'tp'})\n"
                                 "graph:shard('w~grad', {[0] = 'dp'})",
                                 "sgd", NULL);
    TestStep model = open_trained("graph:shard('w', {[1] = 'tp'})", NULL, NULL);
    const ExportFormat *format;
    for (int i = 0; (format = code_format_at(i)); i++) {
        int n, n_model;
        if (strcmp(format->name, "lua") == 0 || format->step) /* tests/exports/steps.py */
            continue;
        const char *got = exported(&step, format, &n), *want = exported(&model, format, &n_model);
        const char *file = path_base(model.model); /* differs between the two */
        if (strlen(got) != strlen(want) || strstr(got, "w~") || n != n_model + 2 || !*file)
            fail_msg("%s: %d notes, not %d:\n%s", format->name, n, n_model + 2, got);
    }
    close_step(&step);
    close_step(&model);
}

static void a_policy_makes_the_step_again(void **state)
{
    (void)state;
    TestStep s = open_step(
        "graph:shard('w~grad', {[0] = 'dp'})\ngraph:pin('MatMul_1~d1', {n = 'tp'})", NULL);
    int n;
    const ExportFormat lua = {.name = "lua", .code = code_lua};
    const char *policy = made_file(s.arena, ".lua", exported(&s, &lua, &n));
    SessionOptions options = {.model = s.model, .policy = policy, .mesh = "dp=2,tp=2"};
    Session *again = session_open(&options, &s.hooks, &s.err);
    unlink(policy);
    if (!again)
        fail_msg("%s", s.err.text);
    assert_int_equal(n, 0);
    assert_string_equal(again->options.train, "sgd");
    assert_true(again->plan->priced->totals.step_us == s.session->plan->priced->totals.step_us);
    assert_int_equal(again->plan->decided->n_pins, s.session->plan->decided->n_pins);
    session_close(again);
    close_step(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pins_of_a_step_hold_under_every_propagator),
        cmocka_unit_test(the_norm_reads_a_gradient_where_its_pin_leaves_it),
        cmocka_unit_test(an_op_and_its_result_of_one_name_are_told_apart),
        cmocka_unit_test(why_not_speaks_of_gradients),
        cmocka_unit_test(names_that_the_step_lacks_are_errors),
        cmocka_unit_test(an_error_that_is_caught_leaves_the_model_shown),
        cmocka_unit_test(a_plan_file_keeps_the_step_and_its_pins),
        cmocka_unit_test(policies_ask_for_training),
        cmocka_unit_test(bad_training_is_refused),
        cmocka_unit_test(another_step_carries_pins_by_name),
        cmocka_unit_test(a_policy_run_again_makes_its_step),
        cmocka_unit_test(exports_to_systems_are_of_the_model),
        cmocka_unit_test(a_policy_makes_the_step_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
