/* Learning rates that torch.optim.lr_scheduler gives, worked out by hand; those of the facts are in
 * tests/conformance/optimizer.jsonl. */
#include "tests/unit/unit.h"

#include "core/step/learning_rate.h"

#include <math.h>

typedef struct {
    const char *name, *kind;
    RateParams params;
    double want[8]; /* of steps 0 to 7 */
} RateRow;

static RateRow rows[] = {
    {"constant", "constant", {.lr = 8, .param = {1, 0}}, {8, 8, 8, 8, 8, 8, 8, 8}},
    {"a part at first", "constant", {.lr = 8, .param = {0.25, 3}}, {2, 2, 2, 8, 8, 8, 8, 8}},
    {"steps", "step", {.lr = 8, .param = {3, 0.5}}, {8, 8, 8, 4, 4, 4, 2, 2}},
    {"milestones",
     "multistep",
     {.lr = 8, .param = {0.5}, .n_milestones = 2, .milestone = {2, 5}},
     {8, 8, 4, 4, 4, 2, 2, 2}},
    {"exponential", "exponential", {.lr = 128, .param = {0.5}}, {128, 64, 32, 16, 8, 4, 2, 1}},
    {"a cosine rises again", "cosine", {.lr = 8, .param = {2, 4}}, {8, 6, 4, 6, 8, 6, 4, 6}},
    {"cycles", "cosine_restarts", {.lr = 8, .param = {2, 1, 4}}, {8, 6, 8, 6, 8, 6, 8, 6}},
    {"longer cycles",
     "cosine_restarts",
     {.lr = 8, .param = {1, 2, 4}},
     {8, 8, 6, 8, 7.414213562373095, 6, 4.585786437626905, 8}},
    {"a line", "linear", {.lr = 8, .param = {0.5, 1, 4}}, {4, 5, 6, 7, 8, 8, 8, 8}},
    {"a power", "polynomial", {.lr = 16, .param = {4, 2}}, {16, 9, 4, 1, 0, 0, 0, 0}},
    {"one cycle",
     "onecycle",
     {.lr = 0, .param = {8, 8, 0.375, 4, 2}, .linear = true},
     {2, 5, 8, 6.6, 5.2, 3.8, 2.4, 1}},
    {"a warm-up", "warmup", {.lr = 8, .param = {4, 0}}, {0, 2, 4, 6, 8, 8, 8, 8}},
    {"a warm-up, then a line",
     "warmup_linear",
     {.lr = 8, .param = {2, 0.5, 6, 4}},
     {4, 6, 8, 7, 6, 5, 4, 4}},
    {"a warm-up, then a cosine",
     "warmup_cosine",
     {.lr = 8, .param = {2, 0, 4, 0}},
     {0, 4, 8, 4, 0, 0, 0, 0}},
    {"a warm-up, then a root",
     "inverse_sqrt",
     {.lr = 8, .param = {1, 0}},
     {0, 8, 5.656854249492381, 4.618802153517006, 4, 3.577708763999664, 3.265986323710904,
      3.023715784073818}},
};

static void rates_follow(void **state)
{
    const RateRow *row = *state;
    Error err = {0};
    const RateKind *kind = rate_kind(str_from(row->kind), &err);
    if (!kind)
        fail_msg("%s", err.text);
    for (int step = 0; step < 8; step++)
        assert_true(fabs(rate_at(kind, &row->params, step) - row->want[step]) < 1e-12);
}

static void an_unknown_kind_has_a_hint(void **state)
{
    (void)state;
    Error err = {0};
    assert_null(rate_kind(STR("cosin"), &err));
    assert_string_equal(err.text, "there is no schedule of learning rates 'cosin'");
    assert_string_equal(err.hint, "did you mean cosine?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unknown_kind_has_a_hint),
    };
    return cmocka_run_group_tests_name("learning rate", tests, NULL, NULL) +
           run_rows("learning rates", rows, rates_follow);
}
