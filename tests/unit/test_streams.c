/* Traffic of parameters beside the ops of a step: buckets, and what is exposed of them. */
#include "tests/unit/unit.h"

#include "core/cost/step_parts.h"
#include "core/cost/streams.h"
#include "core/session/session.h"
#include "scripts/hooks.h"

#include <math.h>

typedef struct {
    double alone_us, exposed_us;
    int n;
} Sum;

/* Of all that runs at that time, with or without gathers alone. */
static Sum sum_of(const Plan *plan, When when, bool gathers)
{
    const Streams *streams = plan->priced->pipeline->streams;
    Sum sum = {0};
    for (int i = 0; i < streams->n; i++) {
        const StreamTraffic *row = &streams->at[i];
        if (row->when != when || (row->kind == STEP_ALL_GATHER) != gathers)
            continue;
        sum.alone_us += row->alone_us;
        sum.exposed_us += row->exposed_us;
        sum.n += row->n;
    }
    return sum;
}

static Session *open_with(Arena *arena, Scripts *scripts, const char *overlap)
{
    SessionOptions options = {.model = "samples/models/llama-3-8b.json", .mesh = "dp=8"};
    options.policy = "fsdp";
    options.train = "adamw,precision=bf16";
    Error err = {0};
    const char *const settings[] = {"micro_batch=1", "micro_batches=2", overlap};
    for (int i = 0; i < 3; i++)
        assert_true(policy_settings_with(arena, &options.settings, str_from(settings[i]),
                                         &options.settings, &err));
    SessionHooks hooks = scripts_hooks(scripts);
    Session *session = session_open(&options, &hooks, &err);
    if (!session)
        fail_msg("%s", err.text);
    return session;
}

/* One gather for each of 32 layers, one for the embedding, one for the last norm and the head; as
 * many reductions to shards of gradients, in each micro-batch. */
static void buckets_are_layers(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    Session *session = open_with(arena, scripts, "overlap=none");
    const Plan *plan = session->plan;
    Sum forward = sum_of(plan, WHEN_FORWARD, true), reduced = sum_of(plan, WHEN_BACKWARD, false);
    assert_int_equal(forward.n, 34);
    assert_true(fabs(forward.exposed_us - forward.alone_us) < 1e-6 * forward.alone_us);
    assert_int_equal(reduced.n, 34);

    /* as many bytes as in single gathers, and fewer latencies */
    double single_us = 0;
    for (int i = 0; i < plan->moved->n_reshards; i++) {
        const Reshard *reshard = &plan->moved->reshards[i];
        int32_t reader = reshard->n_uses > 0 ? plan->moved->reshard_uses[reshard->use] : -1;
        for (int s = 0; s < reshard->path->n_steps && plan_phase(plan, reader) == 1; s++)
            if (reshard->path->step[s].kind == STEP_ALL_GATHER)
                single_us += reshard->path->step[s].us;
    }
    assert_true(forward.alone_us < single_us && forward.alone_us > .5 * single_us);
    session_close(session);
    scripts_free(scripts);
    arena_free(arena);
}

/* What is hidden shortens the step by as much; parts add up to the step in both. */
static void overlap_hides(void **state)
{
    static const char *const overlaps[] = {"overlap=none", "overlap=forward", "overlap=backward",
                                           "overlap=both"};
    double step_us[4], forward_us[4], backward_us[4], reduced_us[4];
    (void)state;
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    for (int i = 0; i < 4; i++) {
        Session *session = open_with(arena, scripts, overlaps[i]);
        const Plan *plan = session->plan;
        step_us[i] = plan_step_us(plan);
        forward_us[i] = sum_of(plan, WHEN_FORWARD, true).exposed_us;
        backward_us[i] = sum_of(plan, WHEN_BACKWARD, true).exposed_us;
        reduced_us[i] = sum_of(plan, WHEN_BACKWARD, false).exposed_us;
        StepParts parts = step_parts(arena, plan);
        double sum = 0;
        for (int k = 0; k < parts.n; k++)
            sum += parts.part[k].us;
        assert_true(fabs(sum - step_us[i]) < 1e-6 * step_us[i]);
        session_close(session);
    }
    assert_true(forward_us[1] < .5 * forward_us[0] && forward_us[2] == forward_us[0]);
    assert_true(backward_us[2] < .5 * backward_us[0] && backward_us[1] == backward_us[0]);
    assert_true(reduced_us[2] < .5 * reduced_us[0]);
    assert_true(fabs(reduced_us[1] - reduced_us[0]) < 1e-6 * reduced_us[0]);
    for (int i = 1; i < 4; i++) {
        double hidden = 2 * (forward_us[0] - forward_us[i]) +
                        2 * (backward_us[0] - backward_us[i]) + 2 * (reduced_us[0] - reduced_us[i]);
        assert_true(fabs(step_us[0] - step_us[i] - hidden) < 1e-6 * step_us[0]);
    }
    scripts_free(scripts);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_are_layers),
        cmocka_unit_test(overlap_hides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
