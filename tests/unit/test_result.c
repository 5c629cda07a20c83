/* What other processes send as results of their ranks is used only where it can be one. */
#include "core/run/result.h"
#include "tests/unit/planning_text.h"

#include <limits.h>

static void of_an_honest_rank(RankResult *result)
{
    (void)result;
}

static void more_passes(RankResult *result)
{
    result->head->n_done = 2;
}

static void instruction_behind_the_last(RankResult *result)
{
    result->head->first_bad = 1 << 20;
}

static void element_of_no_tensor(RankResult *result)
{
    result->head->first_bad = 0;
    result->head->wrong.tensor = 1 << 20;
}

static void too_many_dims(RankResult *result)
{
    result->head->closest = 0.5;
    result->head->close.at.n_dims = DIMS_MAX + 1;
}

static void strange_tensor(RankResult *result)
{
    result->head->strange = INT_MAX;
}

static void count_that_overflows(RankResult *result)
{
    result->head->n_checked = INT_MAX;
}

static void negative_elements(RankResult *result)
{
    result->n_elements[0] = -1;
}

static void byte_that_is_no_bool(RankResult *result)
{
    memset(&result->output[0].ok, 7, 1);
}

static const struct {
    const char *name;
    void (*change)(RankResult *result);
} changes[] = {
    {"an honest rank", of_an_honest_rank},
    {"more passes", more_passes},
    {"an instruction behind the last", instruction_behind_the_last},
    {"an element of no tensor", element_of_no_tensor},
    {"too many dims", too_many_dims},
    {"a strange tensor", strange_tensor},
    {"a count that overflows", count_that_overflows},
    {"negative elements", negative_elements},
    {"a byte that is no bool", byte_that_is_no_bool},
};

static void a_result_that_cannot_be_one_is_refused(void **state)
{
    (void)state;
    Planning *p = planning_text("x <- Neg f32[8,16]; y <- MatMul x f32[16,4]!", "a=2");
    planning_make(p);
    const RunOptions options = {.repeat = 1};
    Program program;
    Error err = {0};
    assert_true(program_lower(p->arena, p->plan, &program, &err));
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        Results results;
        Error refused = {0};
        assert_true(results_open(p->arena, p->plan, &program, 2, &options, &results, &err));
        changes[i].change(&results.rank[1]);
        bool ok = results_check(&results, p->plan, &program, &options, &refused);
        if (ok != (i == 0) || (!ok && !strstr(refused.text, "rank 1")))
            fail_msg("%s: %s", changes[i].name, ok ? "taken" : refused.text);
        results_close(&results);
    }
    planning_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_that_cannot_be_one_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
