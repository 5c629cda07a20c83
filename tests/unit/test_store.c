/* How a parameter is stored beside how it is used: both pins hold, and what is gathered is the
 * difference. */
#include "tests/unit/planning_text.h"

#include "core/plan/edges.h"

#include <string.h>

static void assert_lies(const Planning *p, const char *name, const char *want)
{
    int32_t tensor = naming_find(p->naming, str_from(name), NULL);
    Buf text = buf_new(p->arena);
    sharding_format(plan_sharding(p->plan, tensor), p->mesh, VIEW_OURS, &text, NULL);
    assert_string_equal(text.s, want);
}

static void storing_adds_to_using(void **state)
{
    (void)state;
    static const char weight[] = "transformer.h.0.mlp.c_fc.weight";
    for (int order = 0; order < 2; order++) {
        Planning *p = planning_open("tiny-gpt", "batch=4,seq=8", "dp=2,tp=2");
        planning_pin(p, weight, 1, order ? "dp" : "tp", 1, order);
        planning_pin(p, weight, 1, order ? "tp" : "dp", 1, !order);
        planning_make(p);
        assert_lies(p, weight, "64,256/tp.dp");
        assert_int_equal(p->plan->moved->n_reshards > 0, 1);
        const Reshard *gather = NULL;
        for (int r = 0; r < p->plan->moved->n_reshards; r++)
            if (p->plan->moved->reshards[r].tensor ==
                naming_find(p->naming, str_from(weight), NULL))
                gather = &p->plan->moved->reshards[r];
        assert_non_null(gather);
        assert_int_equal(gather->path->n_steps, 1);
        assert_int_equal(gather->path->step[0].kind, STEP_ALL_GATHER);
        assert_int_equal(gather->path->step[0].atoms, mesh_axis_atoms(p->mesh, 0));
        planning_close(p);
    }
}

static void storing_as_said_replaces_using(void **state)
{
    (void)state;
    static const char weight[] = "transformer.h.0.mlp.c_fc.weight";
    Planning *p = planning_open("tiny-gpt", "batch=4,seq=8", "dp=2,tp=2");
    planning_pin(p, weight, 1, "tp", 1, false);
    planning_pin(p, weight, 1, "dp,tp", 1, true);
    planning_make(p);
    assert_lies(p, weight, "64,256/dp.tp");
    planning_close(p);
}

static void storing_a_view_stores_the_parameter(void **state)
{
    (void)state;
    Planning *p =
        planning_text("t <- Transpose f32[8,64]! perm=[1,0]; y <- MatMul f32[4,64] t", "dp=2");
    int32_t view = op_outputs(p->graph, 0)[0], weight = op_inputs(p->graph, 0)[0];
    planning_pin(p, tensor_name(p->graph, view), 0, "dp", 1, true);
    planning_make(p);
    assert_non_null(plan_store_pin_of(p->plan, weight, 1));
    assert_true(!cut_is_whole(&plan_sharding(p->plan, weight)->dim[1]));
    planning_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(storing_adds_to_using),
        cmocka_unit_test(storing_as_said_replaces_using),
        cmocka_unit_test(storing_a_view_stores_the_parameter),
    };
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
