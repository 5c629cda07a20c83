/* Bounds by prices of memory, however early the solves behind them end. */
#include "tests/unit/hooked.h"
#include "tests/unit/looks.h"

#include "core/search/relax.h"

#include <math.h>

#define GPT "samples/models/tiny-gpt.onnx"

static void holds_wherever_solves_are_cut_short(void **state)
{
    (void)state;
    static const double parts[] = {.8, .5, .4};
    Hooked f = hooked_new();
    SessionOptions options = {.model = GPT, .mesh = "dp=2,tp=2", .train = "adamw"};
    Session *session = session_open(&options, &f.hooks, NULL);
    assert_non_null(session);
    SearchMemo *memo = search_memo_new();
    Instance *instance = instance_make(f.arena, session, &(InstanceOptions){.memo = memo}, NULL);
    assert_non_null(instance);
    instance_weigh(instance, COST_OF_PLAN);
    MemoryPoint point = memory_point(f.arena, instance, session->plan);
    int n_cut = 0;
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        double limit = parts[i] * point.modelled;
        RelaxedChoice found = {.arena = f.arena};
        SolveOptions how = {0};
        RelaxedInstance relaxed = {.instance = instance,
                                   .point = &point,
                                   .n = 1,
                                   .limit = &limit,
                                   .how = &how,
                                   .found = &found};
        double whole_us = relaxed_prices(&relaxed, (double[]){0});
        assert_non_null(found.choice);
        assert_true(whole_us > 0 && whole_us <= found.us * (1 + 1e-9));
        relaxed.found = NULL;
        for (int looks = 1; looks < 300; looks += 1 + looks / 2) {
            how.seconds = looks * LOOK_S;
            looks_from_now(true);
            double us = relaxed_prices(&relaxed, (double[]){0});
            n_cut += us < whole_us * (1 - 1e-6);
            assert_true(us <= found.us * (1 + 1e-9));
        }
        looks_from_now(false);
    }
    assert_true(n_cut > 10);
    search_memo_free(memo);
    session_close(session);
    hooked_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_wherever_solves_are_cut_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
