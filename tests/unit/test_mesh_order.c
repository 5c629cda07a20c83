/* The finding about a mesh whose axes stand in an order that costs more: which axis crosses nodes,
 * what a step takes, and the order that takes least, against plans made in every order. */
#include "tests/unit/opened.h"

#include "core/base/units.h"
#include "core/cost/pipeline.h"

typedef struct {
    const char *name, *model, *policy, *mesh;
    const char *axis, *best; /* NULL: no finding */
} OrderRow;

static OrderRow rows[] = {
    {"tp strides over nodes", "gpt2.onnx", "megatron", "tp=8,dp=4", "tp", "dp=4,tp=8"},
    {"tp on a node", "gpt2.onnx", "megatron", "dp=4,tp=8", NULL, NULL},
    {"all on one node", "gpt2.onnx", "megatron", "tp=4,dp=2", NULL, NULL},
    {"no axis fits a node better", "gpt2.onnx", "megatron", "dp=1,tp=16", NULL, NULL},
    {"nothing is moved", "gpt2.onnx", "dp", "x=2,dp=8", NULL, NULL},
    {"devices by number are in an order already", "gpt2.onnx", "megatron",
     "tp,dp=[[0,2,4,6],[1,3,5,7],[8,10,12,14],[9,11,13,15]]", NULL, NULL},
    {"the issue's mesh", "llama-3-70b.json", "hybrid3d", "dp=2,tp=8,pp=4", "tp", "pp=4,dp=2,tp=8"},
    {"the issue's better mesh", "llama-3-70b.json", "hybrid3d", "pp=4,dp=2,tp=8", NULL, NULL},
    {"an axis of one device stays", "gpt2.onnx", "megatron", "tp=8,pp=1,dp=4", "tp",
     "pp=1,dp=4,tp=8"},
};

static Opened open_on(const char *model, const char *policy, const char *mesh)
{
    Arena *arena = arena_new();
    SessionOptions options = {.mesh = mesh, .policy = policy};
    options.model = arena_printf(arena, "samples/models/%s", model);
    return open_in(arena, &options);
}

static const Finding *finding_of(const Plan *plan)
{
    const Finding *found = NULL;
    for (int i = 0; i < plan->findings.n; i++)
        if (strcmp(plan->findings.at[i].code, "mesh-order") == 0) {
            assert_null(found);
            found = &plan->findings.at[i];
        }
    return found;
}

static void assert_has(const Finding *finding, const char *part)
{
    if (!strstr(finding->text, part))
        fail_msg("no '%s' in: %s", part, finding->text);
}

static void it_names_axis_times_and_better_order(void **state)
{
    const OrderRow *row = *state;
    Opened o = open_on(row->model, row->policy, row->mesh);
    const Plan *plan = o.session->plan;
    const Finding *finding = finding_of(plan);
    if (!row->best) {
        if (finding)
            fail_msg("%s", finding->text);
    } else {
        Buf step = buf_new(o.arena);
        units_format_us(plan_step_us(plan), &step);
        assert_non_null(finding);
        assert_has(finding, arena_printf(o.arena, "axis %s crosses nodes", row->axis));
        assert_has(finding, arena_printf(o.arena, "a step %s; ", step.s));
        assert_has(finding, arena_printf(o.arena, "in the order %s a step", row->best));
        assert_string_equal(finding->hint, arena_printf(o.arena, "-m %s", row->best));
    }
    close_opened(&o);
}

/* Without stages the same collectives are the plan: the time named is that of the plan made so. */
static void time_of_the_better_order_is_that_of_its_plan(void **state)
{
    (void)state;
    Opened o = open_on("gpt2.onnx", "megatron", "tp=8,dp=4");
    Opened better = open_on("gpt2.onnx", "megatron", "dp=4,tp=8");
    Buf named = buf_new(o.arena);
    buf_puts(&named, "a step takes at most ");
    units_format_us(plan_step_us(better.session->plan), &named);
    assert_has(finding_of(o.session->plan), named.s);
    close_opened(&o);
    close_opened(&better);
}

/* Plans made in all six orders: the finding of each names one that no other plan undercuts, and
 * there is none where the plan itself is within the limit of the best. */
static void named_order_is_the_best_of_all_plans(void **state)
{
    static const char *const orders[] = {"dp=2,tp=8,pp=2", "dp=2,pp=2,tp=8", "tp=8,dp=2,pp=2",
                                         "tp=8,pp=2,dp=2", "pp=2,dp=2,tp=8", "pp=2,tp=8,dp=2"};
    enum { N = sizeof orders / sizeof *orders };
    double step[N], least = 0;
    const char *named[N];
    Arena *arena = arena_new();
    (void)state;
    for (int i = 0; i < N; i++) {
        Opened o = open_on("llama-3-8b.json", "hybrid3d", orders[i]);
        const Finding *finding = finding_of(o.session->plan);
        step[i] = plan_step_us(o.session->plan);
        named[i] = finding ? arena_str(arena, str_from(finding->hint + 3)) : NULL;
        least = i == 0 || step[i] < least ? step[i] : least;
        close_opened(&o);
    }
    for (int i = 0; i < N; i++) {
        double best = step[i];
        for (int k = 0; named[i] && k < N; k++)
            if (strcmp(named[i], orders[k]) == 0)
                best = step[k];
        if (named[i] ? best > 1.001 * least : step[i] > 1.06 * least)
            fail_msg("%s takes %g us and names %s, %g us; the best takes %g us", orders[i], step[i],
                     named[i] ? named[i] : "none", best, least);
    }
    assert_non_null(named[0]);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_of_the_better_order_is_that_of_its_plan),
        cmocka_unit_test(named_order_is_the_best_of_all_plans)};
    return run_rows("orders", rows, it_names_axis_times_and_better_order) +
           cmocka_run_group_tests_name("plans", tests, NULL, NULL);
}
