/* Options: what they would cost is what a session that has their decisions costs, and the lines
 * they stand for decide the same when a policy says them. */
#include "core/peers/propagators.h"
#include "tests/unit/unit.h"

#include "core/cost/cost.h"
#include "core/summary/decision_lua.h"
#include "core/summary/diff.h"
#include "core/summary/options.h"
#include "scripts/hooks.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct {
    const char *name, *model, *mesh, *policy;
    const Propagator *propagator;
    int stride; /* every so many tensors, reshards and ops are asked about */
} TruthRow;

static TruthRow truth_rows[] = {
    {"gpt2, megatron", "gpt2", "dp=2,tp=4", "tests/policies/megatron.lua", &propagator_explain, 24},
    {"tiny-gpt, megatron", "tiny-gpt", "dp=2,tp=2", "tests/policies/megatron.lua",
     &propagator_explain, 3},
    {"tiny-gpt, fsdp", "tiny-gpt", "dp=4", "fsdp", &propagator_explain, 3},
    {"llama, 3 axes", "llama-tiny", "pp=2,dp=2,tp=2", "tests/policies/megatron.lua",
     &propagator_explain, 11},
    {"llama, one device", "llama-tiny", "x=1", NULL, &propagator_explain, 40},
    {"tiny-gpt, shardy", "tiny-gpt", "dp=2,tp=2", "tests/policies/megatron.lua", &propagator_shardy,
     9},
    {"tiny-conv, spmd", "tiny-conv", "dp=2,tp=2", "dp", &propagator_spmd, 9},
    {"tiny-gpt, torch", "tiny-gpt", "dp=2,tp=2", "tests/policies/megatron.lua", &propagator_torch,
     9},
};

static Scripts *scripts;
static Arena *shared;

static Session *open_session(Arena *arena, const char *model, const char *mesh, const char *policy,
                             const Propagator *propagator)
{
    SessionHooks hooks = scripts_hooks(scripts);
    SessionOptions options = {.model = arena_printf(arena, "samples/models/%s.onnx", model),
                              .mesh = mesh,
                              .policy = policy,
                              .propagator = propagator,
                              .propagator_given = true};
    Error err = {0};
    Session *session = session_open(&options, &hooks, &err);
    if (!session)
        fail_msg("%s", err.text);
    return session;
}

static bool new_error(const Plan *plan, const Findings *before)
{
    for (int i = 0; i < plan->findings.n; i++) {
        const Finding *finding = &plan->findings.at[i];
        bool known = finding->level != LEVEL_ERROR;
        for (int b = 0; b < before->n && !known; b++)
            known = strcmp(before->at[b].text, finding->text) == 0;
        if (!known)
            return true;
    }
    return false;
}

/* Tries all options, makes each change in the session and takes it back. How many there were. */
static int compare_with_session(Session *session, PlanOptions *options)
{
    Arena *arena = arena_new();
    Error err = {0};
    assert_true(options_try(arena, session, options, NULL, &err));
    for (int i = 0; i < options->list.n; i++) {
        const PlanOption *option = &options->list.at[i];
        assert_true(option->trial.done);
        Findings before = session->plan->findings;
        Plan *plan = session->plan;
        assert_memory_equal(&options->now, &plan->priced->totals, sizeof plan->priced->totals);
        Session *next = session_prepare(
            session,
            &(Change){.kind = CHANGE_APPLY, .decisions = option->decisions, .n = option->n}, &err);
        assert_non_null(next);
        const Totals *a = &option->trial.totals, *b = &next->plan->priced->totals;
        if (memcmp(a, b, sizeof *a) != 0)
            fail_msg("%s: step %g and %g, peak %lld and %lld", option->text.str.s, a->step_us,
                     b->step_us, (long long)a->peak_bytes, (long long)b->peak_bytes);
        assert_int_equal(option->trial.legal, !new_error(next->plan, &before));
        assert_true(option->trial.legal || option->trial.reason[0]);
        session_discard(session, next);
    }
    arena_free(arena);
    return options->list.n;
}

static int reshards_of(Session *session, int stride)
{
    Arena *arena = arena_new();
    const Plan *plan = session->plan;
    int n_options = 0;
    for (int32_t r = 0; r < plan->moved->n_reshards; r += stride) {
        int32_t alike[2] = {r};
        int n = 1;
        for (int32_t o = r + 1; o < plan->moved->n_reshards && n < 2; o++)
            if (plan->moved->reshards[o].path == plan->moved->reshards[r].path &&
                plan->moved->reshards[o].from == plan->moved->reshards[r].from)
                alike[n++] = o;
        PlanOptions options = options_for_reshard(arena, session, alike, n);
        n_options += compare_with_session(session, &options);
    }
    arena_free(arena);
    return n_options;
}

static int tensors_of(Session *session, int stride)
{
    Arena *arena = arena_new();
    int n_options = 0;
    for (int32_t t = 0; t < session->graph->n_tensors; t += stride) {
        const Shape *shape = inferred_shape(session->inferred, t);
        if (!shape || session->plan->moved->sharding[t] < 0 ||
            tensor_is_known(session->inferred, t))
            continue;
        PlanOptions options = options_for_value(arena, session, &t, 1);
        n_options += compare_with_session(session, &options);
        for (int d = 0; d < shape->n_dims; d++) {
            options = options_for_dim(arena, session, PIN_TENSOR_DIM, &t, 1, d);
            n_options += compare_with_session(session, &options);
        }
    }
    arena_free(arena);
    return n_options;
}

static int ops_of(Session *session, int stride)
{
    Arena *arena = arena_new();
    int n_options = 0;
    for (int i = 0; i < session->inferred->n_program; i += stride) {
        int32_t op = session->inferred->program[i];
        for (int j = 0; j < program_space(session->inferred, op)->n_index; j++) {
            PlanOptions options = options_for_dim(arena, session, PIN_INDEX_DIM, &op, 1, j);
            n_options += compare_with_session(session, &options);
        }
    }
    arena_free(arena);
    return n_options;
}

static void totals_are_those_of_the_session(void **state)
{
    const TruthRow *row = *state;
    Arena *arena = arena_new();
    Session *session = open_session(arena, row->model, row->mesh, row->policy, row->propagator);
    int n = reshards_of(session, row->stride) + tensors_of(session, 4 * row->stride) +
            ops_of(session, 4 * row->stride);
    assert_true(n > 0);
    session_close(session);
    arena_free(arena);
}

/* What ops wait for each reshard is together what stays exposed of communication. */
static void waits_add_up(void **state)
{
    const TruthRow *row = *state;
    Arena *arena = arena_new();
    Session *session = open_session(arena, row->model, row->mesh, row->policy, row->propagator);
    const Plan *plan = session->plan;
    double *us = arena_array(arena, double, plan->moved->n_reshards + 1), sum = 0;
    cost_exposed(plan, us);
    for (int r = 0; r < plan->moved->n_reshards; r++) {
        assert_true(us[r] >= 0);
        assert_true(us[r] == 0 || plan->moved->reshards[r].path->us > 0);
        sum += us[r];
    }
    double want = plan->priced->totals.overlap_us - plan->priced->totals.compute_us;
    if (fabs(sum - want) > 1e-6 * plan->priced->totals.overlap_us)
        fail_msg("%g, not %g", sum, want);
    session_close(session);
    arena_free(arena);
}

/* ---- what is offered ---- */

static const PlanOption *option_called(const PlanOptions *options, const char *text)
{
    for (int i = 0; i < options->list.n; i++)
        if (strcmp(options->list.at[i].text.str.s, text) == 0)
            return &options->list.at[i];
    return NULL;
}

/* The first that sums. */
static int32_t a_sum(const Plan *plan)
{
    int32_t r = 0;
    while (!sharding_partials(shardings_at(plan->shardings, plan->moved->reshards[r].from)))
        r++;
    return r;
}

static void a_sum_has_the_options_people_know(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Session *session = open_session(arena, "gpt2", "dp=2,tp=4", "tests/policies/megatron.lua",
                                    &propagator_explain);
    int32_t reshard = a_sum(session->plan);
    PlanOptions options = options_for_reshard(arena, session, &reshard, 1);
    assert_true(options_try(arena, session, &options, NULL, NULL));
    assert_non_null(option_called(&options, "sum into dim 1 by tp"));
    assert_non_null(option_called(&options, "weight without tp"));
    assert_non_null(option_called(&options, "Gemm: k without tp"));
    const PlanOption *other = option_called(&options, "Gemm: n by tp, not k");
    assert_non_null(other);
    assert_int_equal(other->n, 2);
    assert_non_null(strstr(other->decisions[1].origin.text, "{n = {\"tp\"}}"));
    session_close(session);
    arena_free(arena);
}

static void the_best_come_first_and_the_illegal_last(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Session *session = open_session(arena, "tiny-gpt", "dp=2,tp=2", "tests/policies/megatron.lua",
                                    &propagator_explain);
    int32_t tensor = naming_find(session->naming, STR("transformer.h.0.mlp.c_fc.weight"), NULL);
    PlanOptions options = options_for_dim(arena, session, PIN_TENSOR_DIM, &tensor, 1, 0);
    assert_true(options_try(arena, session, &options, NULL, NULL));
    options_sort(&options);
    const PlanOption *same = option_called(&options, "whole"),
                     *twice = option_called(&options, "tp"); /* it cuts dim 1 already */
    assert_true(same && same->trial.same && same->trial.legal);
    assert_true(twice && !twice->trial.legal);
    assert_non_null(strstr(twice->trial.reason, "shards another of its dims"));
    for (int i = 1; i < options.list.n; i++) {
        const Trial *a = &options.list.at[i - 1].trial, *b = &options.list.at[i].trial;
        assert_true(a->legal || !b->legal);
        if (a->legal && b->legal && !a->same && !b->same)
            assert_true(a->totals.step_us <= b->totals.step_us);
    }
    session_close(session);
    arena_free(arena);
}

static void a_stop_leaves_the_rest_untried(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Session *session = open_session(arena, "tiny-gpt", "dp=2,tp=2", "tests/policies/megatron.lua",
                                    &propagator_explain);
    int32_t reshard = a_sum(session->plan);
    PlanOptions options = options_for_reshard(arena, session, &reshard, 1);
    Progress progress = {.stage = NULL};
    Error err = {0};
    progress_stop(&progress);
    assert_true(options.list.n > 2);
    assert_false(options_try(arena, session, &options, &progress, &err));
    assert_int_equal(err.kind, ERROR_CANCELLED);
    assert_true(options.list.at[0].trial.done);
    assert_false(options.list.at[options.list.n - 1].trial.done);
    options_sort(&options);
    assert_true(options.list.at[0].trial.done);
    session_close(session);
    arena_free(arena);
}

static void an_option_with_no_such_dim_is_no_plan(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Session *session = open_session(arena, "tiny-gpt", "dp=2", "dp", &propagator_explain);
    Decision wrong = {.kind = PIN_TENSOR_DIM, .place = 0, .dim = 40, .cut = (Cut[]){cut_whole(1)}};
    Trial trial;
    Error err = {0};
    assert_false(plan_try(arena, session, &wrong, 1, &trial, &err));
    assert_int_equal(err.kind, ERROR_OUT_OF_RANGE);
    session_close(session);
    arena_free(arena);
}

/* ---- decisions as lines of a policy ---- */

#define FC "transformer.h.0.mlp.c_fc.weight"
#define OUT "transformer.h.0.mlp.c_fc.out"

typedef struct {
    const char *name, *line;
} LineRow;

/* What a policy says comes back as the same line. */
static LineRow line_rows[] = {
    {"a dim", "graph:shard(\"" FC "\", {[1] = {\"tp\"}})"},
    {"two axes", "graph:shard(\"" FC "\", {[1] = {\"dp\", \"tp\"}})"},
    {"a part of an axis", "graph:shard(\"" FC "\", {[1] = {\"tp:(1)2\"}})"},
    {"whole", "graph:shard(\"" FC "\", {[1] = {}})"},
    {"open", "graph:shard(\"" FC "\", {[1] = {axis = {\"tp\"}, open = true}})"},
    {"stored", "graph:shard(\"" FC "\", {[0] = {axis = {\"dp\"}, store = true}})"},
    {"later", "graph:shard(\"" FC "\", {[0] = {axis = {\"dp\"}, priority = 2}})"},
    {"interleaved", "graph:shard(\"" FC "\", {[1] = {axis = {\"tp\"}, interleave = 2}})"},
    {"units", "graph:shard(\"" FC "\", {[1] = {axis = {\"tp\"}, unit = 128}})"},
    {"parts and units",
     "graph:shard(\"" FC "\", {[1] = {axis = {\"tp\"}, interleave = 2, unit = 64}})"},
    {"blocks", "graph:shard(\"" FC "\", {[1] = {axis = {\"tp\"}, blocks = {128, 64, 64}}})"},
    {"parts of given sizes",
     "graph:shard(\"" FC "\", {[1] = {axis = {\"tp\"}, sizes = {128, 64, 48, 16}}})"},
    {"given sizes of parts",
     "graph:shard(\"" FC "\", {[1] = {axis = {\"tp\"}, interleave = 2, sizes = {64, 32, 24, 8}}})"},
    {"an index dim", "graph:pin(graph:op(\"/transformer/h.0/mlp/c_fc/Gemm\"), {k = {\"tp\"}})"},
    {"an index dim, whole", "graph:pin(graph:op(\"/transformer/h.0/mlp/c_fc/Gemm\"), {k = {}})"},
    {"no pin", "graph:unpin(\"" FC "\", 1)"},
    {"no pin of an index dim", "graph:unpin(graph:op(\"/transformer/h.0/mlp/c_fc/Gemm\"), \"k\")"},
    {"replicated", "graph:replicated(\"" FC "\", {\"dp\", \"tp:(1)2\"})"},
    {"unreduced", "graph:unreduced(\"" FC "\", {\"tp\"})"},
    {"tie", "graph:tie(\"all of \\\"them\\\"\", \"" FC "\")"},
    {"barrier", "graph:barrier(\"" FC "\", \"forward\")"},
};

static void a_decision_is_the_line_that_made_it(void **state)
{
    const LineRow *row = *state;
    Arena *arena = arena_new();
    char path[] = "/tmp/dimscope-options-XXXXXX.lua";
    int file = mkstemps(path, 4);
    assert_true(file >= 0);
    close(file);
    const char *text =
        arena_printf(arena, "function PAS(graph)\n%s\nreturn graph end\n", row->line);
    assert_true(file_write(path, str_from(text), NULL));
    Session *session = open_session(arena, "tiny-gpt", "dp=2,tp=4", path, &propagator_explain);
    unlink(path);
    assert_int_equal(session->journal.n_done, 1);
    Buf line = buf_new(arena);
    decision_lua(session, &session->journal.decisions.at[0], &line);
    assert_string_equal(line.s, row->line);
    session_close(session);
    arena_free(arena);
}

static void unmark_takes_marks_back(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    char path[] = "/tmp/dimscope-options-XXXXXX.lua";
    close(mkstemps(path, 4));
    assert_true(file_write(path,
                           STR("function PAS(graph)\ngraph:replicated('" FC "', 'tp')\n"
                               "graph:unmark('" FC "')\nreturn graph end\n"),
                           NULL));
    Session *session = open_session(arena, "tiny-gpt", "dp=2,tp=4", path, &propagator_explain);
    unlink(path);
    assert_int_equal(session->plan->decided->n_marks, 0);
    Buf line = buf_new(arena);
    decision_lua(session, &session->journal.decisions.at[1], &line);
    assert_string_equal(line.s, "graph:unmark(\"" FC "\")");
    session_close(session);
    arena_free(arena);
}

/* Each option of a plan as a policy of its own. */
static void lines_of_options_decide_the_same(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Session *session = open_session(arena, "tiny-gpt", "dp=2,tp=2", "tests/policies/megatron.lua",
                                    &propagator_explain);
    SessionHooks hooks = scripts_hooks(scripts);
    char path[] = "/tmp/dimscope-options-XXXXXX.lua";
    close(mkstemps(path, 4));
    for (int32_t r = 0; r < session->plan->moved->n_reshards; r++) {
        PlanOptions options = options_for_reshard(arena, session, &r, 1);
        for (int i = 0; i < options.list.n; i++) {
            const PlanOption *option = &options.list.at[i];
            Buf text = buf_new(arena), want = buf_new(arena), have = buf_new(arena);
            buf_puts(&text, "function PAS(graph)\n");
            for (int d = 0; d < option->n; d++) {
                buf_printf(&text, "%s\n", option->decisions[d].origin.text);
                decision_format(session, &option->decisions[d], &want);
            }
            buf_puts(&text, "return graph end\n");
            assert_true(file_write(path, buf_str(&text), NULL));
            Journal journal = {0};
            assert_true(hooks.policy(hooks.context, session, path, &journal, NULL));
            for (int d = 0; d < journal.n_done; d++)
                decision_format(session, &journal.decisions.at[d], &have);
            assert_string_equal(have.s, want.s);
        }
    }
    unlink(path);
    session_close(session);
    arena_free(arena);
}

static int open_scripts(void **state)
{
    (void)state;
    shared = arena_new();
    scripts = scripts_new(shared, ".");
    return 0;
}

static int close_scripts(void **state)
{
    (void)state;
    scripts_free(scripts);
    arena_free(shared);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sum_has_the_options_people_know),
        cmocka_unit_test(the_best_come_first_and_the_illegal_last),
        cmocka_unit_test(a_stop_leaves_the_rest_untried),
        cmocka_unit_test(an_option_with_no_such_dim_is_no_plan),
        cmocka_unit_test(unmark_takes_marks_back),
        cmocka_unit_test(lines_of_options_decide_the_same),
    };
    open_scripts(NULL);
    int failed = run_rows("options", truth_rows, totals_are_those_of_the_session) +
                 run_rows("waits", truth_rows, waits_add_up) +
                 run_rows("lines", line_rows, a_decision_is_the_line_that_made_it);
    close_scripts(NULL);
    return failed + cmocka_run_group_tests_name("options", tests, open_scripts, close_scripts);
}
