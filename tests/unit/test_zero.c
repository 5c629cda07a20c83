/* What a training step stores of each parameter, by pins of its storage: where the parameter, its
 * gradient and the states lie, under every propagator, and the bytes of the states. */
#include "tests/unit/unit.h"

#include "core/base/file.h"
#include "core/cost/memory.h"
#include "core/propagate/propagators.h"
#include "core/run/run.h"
#include "core/session/planfile.h"
#include "core/summary/decision_lua.h"
#include "core/summary/diff.h"
#include "tests/unit/opened.h"
#include "tests/unit/spreads.h"

#include <stdlib.h>
#include <unistd.h>

/* 16 * 32 + 32 * 4 + 5 = 645 elements of parameters. */
#define MODEL                                                                                      \
    "function MODEL(model)\n"                                                                      \
    "local x = model:input('x', 'f32', {8, 16})\n"                                                 \
    "local w = model:param('w', {16, 32}, 'f32')\n"                                                \
    "local v = model:param('v', {32, 5}, 'f32')\n"                                                 \
    "local b = model:param('b', {5}, 'f32')\n"                                                     \
    "local t = model:op('Relu', {model:op('MatMul', {x, w})})\n"                                   \
    "local y = model:op('Add', {model:op('MatMul', {t, v}), b})\n"                                 \
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
    char name[] = "/tmp/dimscope_zero_XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0 && close(fd) == 0 && unlink(name) == 0);
    const char *path = arena_printf(arena, "%s%s", name, end);
    assert_true(file_write(path, str_from(text), NULL));
    return path;
}

/* lua: what the policy decides. */
static TestStep open_step(const char *lua, const char *train, const Propagator *propagator)
{
    TestStep s = {.arena = arena_new()};
    s.model = made_file(s.arena, ".lua", MODEL);
    s.policy =
        made_file(s.arena, ".lua",
                  arena_printf(s.arena, "function PAS(graph)\n%s\nreturn graph\nend\n", lua));
    s.scripts = scripts_new(s.arena, ".");
    s.hooks = scripts_hooks(s.scripts);
    SessionOptions options = {
        .model = s.model, .policy = s.policy, .mesh = "dp=2,tp=2", .train = train};
    options.propagator = propagator;
    s.session = session_open(&options, &s.hooks, &s.err);
    return s;
}

static void close_step(TestStep *s)
{
    session_close(s->session);
    scripts_free(s->scripts);
    unlink(s->model);
    unlink(s->policy);
    arena_free(s->arena);
}

/* "16/dp,32" */
static const char *lies(const TestStep *s, const char *tensor)
{
    const Plan *plan = s->session->plan;
    int32_t t = naming_find(s->session->naming, str_from(tensor), NULL);
    assert_true(t >= 0);
    Buf out = buf_new(s->arena);
    sharding_format(plan_sharding(plan, t), plan->mesh, VIEW_OURS, &out, NULL);
    return out.s;
}

/* ---- where values lie ---- */

typedef struct {
    const char *title, *lua;
    const char *w, *grad, *m, *v; /* w, w~grad, w~m, w~v */
} LiesRow;

#define BATCH "graph:shard('x', {[0] = 'dp'})\n"
#define COLUMNS "graph:shard('w', {[1] = 'tp'})\n"
#define STORE(what) BATCH "graph:shard('w', {[0] = {axis = 'dp', store = " what "}})"

static LiesRow lies_rows[] = {
    {"nothing is stored", BATCH, "16,32", "16,32 Σdp", "16,32", "16,32"},
    {"states", STORE("'states'"), "16,32", "16,32 Σdp", "16/dp,32", "16/dp,32"},
    {"the gradient", STORE("{'gradient'}"), "16,32", "16/dp,32", "16,32", "16,32"},
    {"gradient and states", STORE("{'gradient', 'states'}"), "16,32", "16/dp,32", "16/dp,32",
     "16/dp,32"},
    {"the parameter: the others are stored as it is", STORE("'parameter'"), "16/dp,32", "16,32 Σdp",
     "16/dp,32", "16/dp,32"},
    {"all", STORE("true"), "16/dp,32", "16/dp,32", "16/dp,32", "16/dp,32"},
    {"states of a parameter that its use shards", COLUMNS STORE("'states'"), "16,32/tp",
     "16,32/tp Σdp", "16/dp,32/tp", "16/dp,32/tp"},
    {"states on the dim that its use shards",
     COLUMNS BATCH "graph:shard('w', {[1] = {axis = 'dp', store = 'states'}})", "16,32/tp",
     "16,32/tp Σdp", "16,32/tp.dp", "16,32/tp.dp"},
    {"zero(0)", BATCH "graph:zero(0, 'dp')", "16,32", "16,32 Σdp", "16,32", "16,32"},
    {"zero(1)", BATCH "graph:zero(1, 'dp')", "16,32", "16,32 Σdp", "16/dp,32", "16/dp,32"},
    {"zero(2)", BATCH "graph:zero(2, 'dp')", "16,32", "16/dp,32", "16/dp,32", "16/dp,32"},
    {"zero(3)", BATCH "graph:zero(3, 'dp')", "16/dp,32", "16/dp,32", "16/dp,32", "16/dp,32"},
    {"zero(1) by two axes", BATCH "graph:zero(1, {'dp', 'tp'})", "16,32", "16,32 Σdp",
     "16/dp.tp,32", "16/dp.tp,32"},
    {"a pin of one state", BATCH "graph:shard('w~m', {[0] = 'dp'})", "16,32", "16,32 Σdp",
     "16/dp,32", "16,32"},
    {"a later pin of the states replaces one of all in that part",
     STORE("true") "\ngraph:unpin('w')\n" STORE("'states'"), "16,32", "16,32 Σdp", "16/dp,32",
     "16/dp,32"},
};

static void assert_lies(const TestStep *s, const LiesRow *row, const Propagator *propagator)
{
    const char *const tensor[] = {"w", "w~grad", "w~m", "w~v"};
    const char *const want[] = {row->w, row->grad, row->m, row->v};
    for (int i = 0; i < 4; i++)
        if (strcmp(lies(s, tensor[i]), want[i]) != 0)
            fail_msg("%s:%s: %s is %s, not %s", propagator->name, propagator->profile, tensor[i],
                     lies(s, tensor[i]), want[i]);
}

/* Not asked under a propagator whose uses are sharded where they are pinned alone. */
static void values_lie_as_stored_under_every_propagator(void **state)
{
    const LiesRow *row = *state;
    for (int i = 0; propagator_at(i); i++) {
        if (!propagator_spreads(propagator_at(i)))
            continue;
        TestStep s = open_step(row->lua, "adamw", propagator_at(i));
        if (!s.session)
            fail_msg("%s: %s", propagator_at(i)->name, s.err.text);
        assert_lies(&s, row, propagator_at(i));
        close_step(&s);
    }
}

/* ---- what is refused or found ---- */

typedef struct {
    const char *title, *lua, *train, *want; /* the error, or the code and text of a finding */
} SaidRow;

static SaidRow said_rows[] = {
    {"a level that there is not", "graph:zero(4, 'dp')", "adamw",
     "the level of ZeRO must be 0, 1, 2 or 3"},
    {"an axis that there is not", "graph:zero(1, 'sh')", "adamw", "no axis 'sh'"},
    {"no axis", "graph:zero(1, {})", "adamw", "no axis is given"},
    {"keep of level 1", "graph:zero(1, 'dp', {keep = true})", "adamw", "keep is of level 3"},
    {"an unknown option", "graph:zero(3, 'dp', {kept = true})", "adamw", "the options of zero are"},
    {"keep of states", STORE("'states', keep = true"), "adamw", "'keep' is of what is gathered"},
    {"keep of a node", "graph:pin(graph:nodes()[1], {n = {axis = 'tp', keep = true}})", "adamw",
     "'keep' applies to tensors"},
    {"an unknown value", STORE("'moments'"), "adamw", "'store' must be true, false or of"},
    {"an empty list", STORE("{}"), "adamw", "'store' must be true, false or of"},
    {"two levels", "graph:zero(1, 'dp')\ngraph:zero(2, 'dp')", "adamw", "is pinned"},
    {"an axis that does not shard the batch", BATCH "graph:zero(1, 'tp')", "adamw",
     "store-axis: b (and 2 more): gradients or states are stored sharded by tp, which does not "
     "shard the "
     "batch"},
    {"nothing shards the batch", "graph:zero(3, 'dp')", "adamw", "store-axis: b (and 2 more)"},
    {"no step", BATCH "graph:zero(2, 'dp')", NULL,
     "store-no-step: w: 3 pins say how gradient and states are stored"},
    {"a state beside its siblings", BATCH "graph:shard('w~m', {[0] = 'dp'})", "adamw",
     "states-differ: w~v is stored as 16,32, w~m as 16/dp,32"},
};

static void it_is_refused_or_found(void **state)
{
    const SaidRow *row = *state;
    TestStep s = open_step(row->lua, row->train, NULL);
    Buf said = buf_new(s.arena);
    if (!s.session)
        buf_printf(&said, "%s\n%s", s.err.text, s.err.hint);
    for (int i = 0; s.session && i < s.session->plan->findings.n; i++)
        buf_printf(&said, "%s: %s\n", s.session->plan->findings.at[i].code,
                   s.session->plan->findings.at[i].text);
    if (!said.s || !strstr(said.s, row->want))
        fail_msg("'%s' is not in: %s", row->want, said.s ? said.s : "nothing");
    close_step(&s);
}

static void a_sound_plan_has_no_finding_about_storage(void **state)
{
    (void)state;
    for (int level = 0; level <= 3; level++) {
        Arena *arena = arena_new();
        TestStep s =
            open_step(arena_printf(arena, BATCH "graph:zero(%d, 'dp')", level), "adamw", NULL);
        assert_non_null(s.session);
        for (int i = 0; i < s.session->plan->findings.n; i++) {
            const char *code = s.session->plan->findings.at[i].code;
            assert_true(strncmp(code, "store-", 6) != 0 && strcmp(code, "states-differ") != 0);
        }
        close_step(&s);
        arena_free(arena);
    }
}

/* ---- bytes ---- */

/* Two moments of f32 of 16 x 32, 32 x 5 and 5 elements: over dp=2 half of them, of b's 5 the larger
 * part, 3. Adam's counter is no state of a parameter. */
static void states_take_their_part_of_the_bytes(void **state)
{
    (void)state;
    for (int level = 0; level <= 3; level++) {
        Arena *arena = arena_new();
        TestStep s =
            open_step(arena_printf(arena, BATCH "graph:zero(%d, 'dp')", level), "adamw", NULL);
        assert_non_null(s.session);
        int64_t whole = 16 * 32 + 32 * 5 + 5, part = 16 * 32 / 2 + 32 * 5 / 2 + 3;
        LiveSet live = memory_live_at(arena, s.session->plan, 0, 0);
        assert_int_equal(live.by_class[MEMORY_OPTIMIZER], 2 * 4 * (level == 0 ? whole : part));
        int64_t gathered = 16 * 32; /* w, where the first op reads it */
        assert_int_equal(live.by_class[MEMORY_PARAMETER],
                         4 * (level < 3 ? whole : part + gathered));
        close_step(&s);
        arena_free(arena);
    }
}

/* ---- kept ---- */

/* What a policy decided comes back from the lines that stand for it, and from a plan file. */
static void lines_and_plan_files_say_the_same(void **state)
{
    (void)state;
    TestStep s = open_step(BATCH "graph:zero(3, 'dp', {keep = true})\ngraph:unpin('w')\n"
                                 "graph:shard('w', {[0] = {axis = 'dp', store = {'gradient', "
                                 "'states'}}})",
                           "adamw", NULL);
    assert_non_null(s.session);
    const Decision *keep = NULL, *part = NULL;
    for (int i = 0; i < s.session->plan->decided->n_pins; i++) {
        const Decision *pin = s.session->plan->decided->pins[i];
        keep = pin->keep ? pin : keep;
        part = pin->store == (STORED_GRADIENT | STORED_STATES) ? pin : part;
    }
    assert_non_null(keep);
    assert_non_null(part);
    Buf text = buf_new(s.arena);
    decision_lua(s.session, part, &text);
    assert_string_equal(text.s,
                        "graph:shard(\"w\", {[0] = {axis = {\"dp\"}, store = {\"gradient\", "
                        "\"states\"}}})");
    const char *file = made_file(s.arena, ".plan.json", "");
    assert_true(planfile_save(s.session, file, false, &s.err));
    SessionOptions options = {.model = file};
    Session *read = session_open(&options, &s.hooks, &s.err);
    if (!read)
        fail_msg("%s", s.err.text);
    assert_int_equal(read->journal.n_done, s.session->journal.n_done);
    for (int i = 0; i < read->journal.n_done; i++) {
        const Decision *a = &read->journal.decisions.at[i],
                       *b = &s.session->journal.decisions.at[i];
        assert_true(a->store == b->store && a->keep == b->keep);
    }
    session_close(read);
    unlink(file);
    close_step(&s);
}

static void kept_parameters_are_gathered_once(void **state)
{
    (void)state;
    for (int keep = 0; keep < 2; keep++) {
        TestStep s = open_step(keep ? BATCH "graph:zero(3, 'dp', {keep = true})"
                                    : BATCH "graph:zero(3, 'dp')",
                               "adamw", NULL);
        assert_non_null(s.session);
        int32_t v = naming_find(s.session->naming, STR("v"), NULL);
        int n = 0;
        for (int i = 0; i < s.session->plan->moved->n_reshards; i++)
            n += s.session->plan->moved->reshards[i].tensor == v;
        assert_int_equal(n, keep ? 1 : 2); /* forward, and for the gradient of t */
        close_step(&s);
    }
}

/* v is sharded by columns and t by rows along one axis: forward, and for the gradient of v, t is
 * gathered. */
#define ROWS_OF_T(keep)                                                                            \
    "graph:shard('v', {[1] = 'tp'})\n"                                                             \
    "for _, node in ipairs(graph:nodes()) do\n"                                                    \
    "if node.name == 'Relu' then graph:shard(node:output(0), {[0] = {axis = 'tp', priority = "     \
    "1" keep "}}) end\n"                                                                           \
    "end\n"

static void kept_activations_are_gathered_once(void **state)
{
    (void)state;
    for (int keep = 0; keep < 2; keep++) {
        TestStep s = open_step(keep ? ROWS_OF_T(", keep = true") : ROWS_OF_T(""), "sgd", NULL);
        assert_non_null(s.session);
        int32_t v = naming_find(s.session->naming, STR("v"), NULL);
        const Graph *graph = s.session->plan->inferred->graph;
        int32_t t = op_inputs(graph, graph->uses[graph->tensors[v].use])[0];
        int n = 0;
        for (int i = 0; i < s.session->plan->moved->n_reshards; i++)
            n += s.session->plan->moved->reshards[i].tensor == t;
        assert_int_equal(n, keep ? 1 : 2);
        Buf line = buf_new(s.arena), words = buf_new(s.arena);
        const Decision *pin = plan_pin_of(s.session->plan, PIN_TENSOR_DIM, t, 0);
        decision_lua(s.session, pin, &line);
        decision_format(s.session, pin, &words);
        assert_int_equal(strstr(line.s, ", keep = true") != NULL, keep);
        assert_int_equal(strstr(words.s, ", kept gathered") != NULL, keep);
        close_step(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_sound_plan_has_no_finding_about_storage),
                                       cmocka_unit_test(states_take_their_part_of_the_bytes),
                                       cmocka_unit_test(lines_and_plan_files_say_the_same),
                                       cmocka_unit_test(kept_parameters_are_gathered_once),
                                       cmocka_unit_test(kept_activations_are_gathered_once)};
    return run_rows("lies", lies_rows, values_lie_as_stored_under_every_propagator) +
           run_rows("said", said_rows, it_is_refused_or_found) +
           cmocka_run_group_tests_name("stored", tests, NULL, NULL);
}
