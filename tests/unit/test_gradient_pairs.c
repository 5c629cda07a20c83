/* Every way in which a value changes its sharding between two ops, and how its gradient changes
 * back: the table of types of spmd_types (R replicated and its gradient partial, I replicated and
 * its gradient too, V varying, P partial), row by row. No rule of dimscope names the types: the
 * gradient ops have the cuts of their forward ops. */
#include "tests/unit/step_opened.h"

#include "core/run/run.h"

/* t = x w; y = t v. An op is cut by tp along one index dim: m, k, n, or "" for none. */
#define CHAIN                                                                                      \
    X "local w = model:param('w', {16, 16}, 'f32')\n" V                                            \
      "local t = model:op('MatMul', {x, w})\n" MEAN("model:op('MatMul', {t, v})")

/* Pins each index dim of a node: d by tp, others whole. */
#define CUT(node, d)                                                                               \
    "do local cuts = {}\n"                                                                         \
    "for _, dim in ipairs(graph:nodes()[" node "].dims) do cuts[dim.name] = {} end\n"              \
    "if '" d "' ~= '' then cuts['" d "'] = 'tp' end\n"                                             \
    "graph:pin(graph:nodes()[" node "], cuts) end\n"

typedef struct {
    const char *title, *model, *policy, *tensor;
    const char *value, *gradient; /* as it is made, and what moves it to whom reads it */
} PairRow;

#define PAIR(title, first, second, value, gradient)                                                \
    {                                                                                              \
        title, CHAIN, CUT("1", first) CUT("2", second), "MatMul", value, gradient                  \
    }

static PairRow rows[] = {
    PAIR("I stays I", "", "", "8,16", "8,16"),
    PAIR("V stays V: rows", "m", "m", "8/tp,16", "8/tp,16"),
    PAIR("V stays V: columns, which the second sums", "n", "k", "8,16/tp", "8,16/tp"),
    PAIR("I -> V: cut locally; V -> I: all-gather", "", "m", "8,16; 8/tp,16 slice",
         "8/tp,16; 8,16 all_gather"),
    PAIR("I -> V: columns", "", "k", "8,16; 8,16/tp slice", "8,16/tp; 8,16 all_gather"),
    PAIR("I -> R: nothing; P -> I: all-reduce", "", "n", "8,16", "8,16 Σtp; 8,16 all_reduce"),
    PAIR("V -> V: all-to-all, both ways", "m", "k", "8/tp,16; 8,16/tp all_to_all",
         "8,16/tp; 8/tp,16 all_to_all"),
    PAIR("V -> V: the other way around", "n", "m", "8,16/tp; 8/tp,16 all_to_all",
         "8/tp,16; 8,16/tp all_to_all"),
    PAIR("V -> I: all-gather; I -> V: cut locally", "n", "", "8,16/tp; 8,16 all_gather",
         "8,16; 8,16/tp slice"),
    PAIR("V -> I: rows", "m", "", "8/tp,16; 8,16 all_gather", "8,16; 8/tp,16 slice"),
    PAIR("V -> R: all-gather; P -> V: reduce-scatter", "n", "n", "8,16/tp; 8,16 all_gather",
         "8,16 Σtp; 8,16/tp reduce_scatter"),
    PAIR("V -> R: rows", "m", "n", "8/tp,16; 8,16 all_gather", "8,16 Σtp; 8/tp,16 reduce_scatter"),
    PAIR("P -> I: all-reduce; I -> R: nothing", "k", "", "8,16 Σtp; 8,16 all_reduce", "8,16"),
    PAIR("P -> V: reduce-scatter; V -> R: all-gather", "k", "m", "8,16 Σtp; 8/tp,16 reduce_scatter",
         "8/tp,16; 8,16 all_gather"),
    PAIR("P -> V: columns", "k", "k", "8,16 Σtp; 8,16/tp reduce_scatter",
         "8,16/tp; 8,16 all_gather"),
    PAIR("P -> R: all-reduce, both ways", "k", "n", "8,16 Σtp; 8,16 all_reduce",
         "8,16 Σtp; 8,16 all_reduce"),
    /* A parameter's gradient stays as it is made until the update. */
    {"R -> V: cut locally; V -> P: kept", CHAIN,
     CUT("1", "n") CUT("2", "k") "graph:shard('w', {[0] = {}, [1] = {}})\n", "w",
     "16,16; 16,16/tp slice", "16,16/tp; 16,16 all_gather"},
    {"R stays R: P until the update", CHAIN, CUT("1", "m") CUT("2", "m"), "w", "16,16",
     "16,16 Σtp; 16,16 all_reduce"},
    {"R -> P: one rank adds it, nothing moves",
     X W "local c = model:param('c', {16}, 'f32')\n" MEAN("model:op('Gemm', {x, w, c})"),
     CUT("1", "k"), "c", "16", "16"},
    {"R -> V twice: shards of two gradients become one sum",
     X W "local c = model:param('c', {16}, 'f32')\n"
         "local t = model:op('Add', {model:op('MatMul', {x, w}), c})\n"
         "local u = model:param('u', {16, 16}, 'f32')\n"
         "local s = model:op('Add', {model:op('MatMul', {t, u}), c})\n" MEAN(
             "model:op('Add', {model:op('MatMul', {s, u}), c})"),
     CUT("2", "d1") CUT("4", "d1") CUT("5", "") CUT("6", "") "graph:shard('c', {[0] = {}})\n", "c",
     "16; 16/tp slice", "16 Σtp; 16 all_reduce"},
};

/* "8,16 Σtp; 8,16 all_reduce": the sharding in which the value is made, then what it becomes, once
 * each. */
static const char *moves_text(Arena *arena, const Plan *plan, int32_t tensor)
{
    Buf out = buf_new(arena);
    int32_t before = -1;
    sharding_format(shardings_at(plan->shardings, plan->moved->made[tensor]), plan->mesh, VIEW_OURS,
                    &out, NULL);
    for (int i = 0; i < plan->moved->n_reshards; i++) {
        const Reshard *reshard = &plan->moved->reshards[i];
        if (reshard->tensor != tensor || reshard->to == before)
            continue;
        buf_puts(&out, "; ");
        sharding_format(shardings_at(plan->shardings, reshard->to), plan->mesh, VIEW_OURS, &out,
                        NULL);
        for (int s = 0; s < reshard->path->n_steps; s++)
            buf_printf(&out, " %s", step_kind_name(reshard->path->step[s].kind));
        before = reshard->to;
    }
    return out.s;
}

static void the_gradient_changes_back(void **state)
{
    const PairRow *row = *state;
    OpenedStep o = open_step(row->model, "sgd", "tp=2", row->policy);
    if (!o.session)
        fail_msg("%s", o.err.text);
    const Plan *plan = o.session->plan;
    int32_t value = naming_find(o.session->naming, str_from(row->tensor), NULL);
    assert_true(value >= 0);
    assert_string_equal(moves_text(o.arena, plan, value), row->value);
    assert_string_equal(moves_text(o.arena, plan, plan_gradient(plan, value)), row->gradient);
    RunOptions options = {.verify = true, .repeat = 1, .seed = 3};
    RunReport report;
    if (!run_plan(o.arena, plan, &options, &report, &o.err))
        fail_msg("%s", o.err.text);
    assert_int_equal(report.verdict, RUN_PASS);
    close_step(&o);
}

int main(void)
{
    enum { N = sizeof rows / sizeof *rows };
    static struct CMUnitTest tests[N];
    for (int i = 0; i < N; i++)
        tests[i] =
            (struct CMUnitTest){rows[i].title, the_gradient_changes_back, NULL, NULL, &rows[i]};
    return cmocka_run_group_tests_name("gradient_pairs", tests, NULL, NULL);
}
