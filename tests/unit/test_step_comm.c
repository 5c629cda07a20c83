/* Communication of a training step by pass: what the table and the totals say adds up to what the
 * pipeline is priced from. */
#include "tests/unit/screen.h"

#include "core/cost/gradient_reduces.h"
#include "core/cost/op_declared.h"
#include "core/cost/pipeline.h"
#include "core/cost/slot_pieces.h"
#include "core/cost/step_comm.h"
#include "core/plan/stage.h"

#include <math.h>

typedef struct {
    const char *name, *mesh, *policy, *settings[3];
} CommRowOf;

static CommRowOf rows[] = {
    {"two stages", "pp=2,dp=2,tp=2", "hybrid3d", {"micro_batches=4"}},
    {"zero 1", "pp=2,dp=2", "hybrid3d", {"micro_batches=4", "zero=1"}},
    {"zero 2", "pp=2,dp=2", "hybrid3d", {"micro_batches=4", "zero=2"}},
    {"zero 3", "pp=2,dp=2", "hybrid3d", {"micro_batches=4", "zero=3"}},
    {"no stages", "dp=2,tp=2", "megatron", {0}},
    {"recomputed", "dp=2,tp=2", "hybrid3d", {"recompute=full"}},
};

static Session *open_model(const char *model, const CommRowOf *row)
{
    Arena *arena = arena_new();
    SessionOptions options = {
        .model = model, .mesh = row->mesh, .policy = row->policy, .train = "auto"};
    Error err = {0};
    for (int i = 0; i < 3 && row->settings[i]; i++)
        assert_true(policy_settings_with(arena, &options.settings, str_from(row->settings[i]),
                                         &options.settings, &err));
    Session *session = session_open(&options, &hooks, &err);
    if (!session)
        fail_msg("%s", err.text);
    arena_free(arena);
    return session;
}

static Session *open_row(const CommRowOf *row)
{
    return open_model("samples/models/tiny-gpt.onnx", row);
}

/* The pipeline's own word on when each step of a reshard happens. */
typedef struct {
    double us[COMM_PASS_COUNT];
} ByWhen;

static void add_step(void *context, const PricedStep *step)
{
    ByWhen *sum = context;
    bool sends = step->step->kind == STEP_SEND || step->step->kind == STEP_BROADCAST;
    bool apart = step->when == WHEN_RECEIVED || step->when == WHEN_RETURNED;
    assert_true(apart == (sends && step->when != WHEN_ONCE)); /* it occupies no stage */
    CommPass pass = step->when == WHEN_ONCE                                      ? COMM_UPDATE
                    : step->when == WHEN_BACKWARD || step->when == WHEN_RETURNED ? COMM_BACKWARD
                                                                                 : COMM_FORWARD;
    sum->us[pass] += step->us;
}

enum { PARTS_MAX = 8 };

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b)) + 1e-9;
}

static void passes_add_up(void **state)
{
    Session *session = open_row(*state);
    const Plan *plan = session->plan;
    CommPasses passes = comm_passes(plan);
    ByWhen when = {{0}};
    double inside = 0;
    for (int r = 0; r < plan->moved->n_reshards; r++)
        pipeline_visit_steps(plan, &plan->moved->reshards[r], add_step, &when);
    for (int i = 0; i < plan->inferred->n_program; i++)
        inside += op_comm_us(plan, plan->inferred->program[i]);
    int n = 0;
    double us = 0;
    for (CommPass pass = 0; pass < COMM_PASS_COUNT; pass++) {
        if (plan->decided->stages) /* none is left out */
            assert_true(near(passes.us[pass], when.us[pass]));
        n += passes.n[pass];
        us += passes.us[pass];
    }
    assert_int_equal(n, plan->moved->n_reshards);
    assert_true(near(us + inside, plan->priced->totals.comm_us));
    session_close(session);
}

/* The rows of the table, each of one pass, add up to a step. */
static void rows_add_up(void **state)
{
    Session *session = open_row(*state);
    Comm *comm = comm_new(session);
    assert_true(comm_table(comm, NULL));
    double by_pass[COMM_PASS_COUNT] = {0}, step_us = 0;
    for (int i = 0; i < comm->n_all; i++) {
        const CommRow *row = &comm->row[i];
        by_pass[row->pass] += row->us;
        step_us += row->step_us;
        for (int32_t r = row->first; r >= 0; r = comm->next_alike[r])
            assert_int_equal(reshard_pass(session->plan, &session->plan->moved->reshards[r]),
                             row->pass);
    }
    for (CommPass pass = 0; pass < COMM_PASS_COUNT; pass++)
        assert_true(near(by_pass[pass], comm->passes.us[pass]));
    assert_true(near(step_us, comm->passes.step_us));
    comm_free(comm);
    session_close(session);
}

/* As gradient_reduces() counts them, reduction by reduction. What a micro-batch costs is that of
 * the part of the mesh where it costs most. */
static void gradients_are_reduced_in_the_pass_they_are_counted_in(void **state)
{
    Session *session = open_row(*state);
    const Plan *plan = session->plan;
    GradientReduces reduces = gradient_reduces(plan);
    int n[COMM_PASS_COUNT] = {0};
    double us[PARTS_MAX] = {0}, most = 0;
    assert_true(plan->decided->n_submeshes <= PARTS_MAX);
    for (int r = 0; r < plan->moved->n_reshards; r++) {
        const Reshard *reshard = &plan->moved->reshards[r];
        for (int s = 0; s < reshard->path->n_steps; s++) {
            StepKind kind = reshard->path->step[s].kind;
            bool sums = (kind == STEP_ALL_REDUCE || kind == STEP_REDUCE_SCATTER) &&
                        gradient_is_of_parameters(plan, reshard->tensor);
            CommPass pass = reshard_pass(plan, reshard);
            n[pass] += sums;
            us[reshard->to_devices] +=
                sums && pass == COMM_BACKWARD ? reshard->path->step[s].us : 0;
        }
        most = fmax(most, us[reshard->to_devices]);
    }
    assert_true(near(reduces.each_us, most));
    assert_int_equal(n[COMM_FORWARD], 0);
    assert_int_equal(n[COMM_BACKWARD], reduces.n_each);
    assert_int_equal(n[COMM_UPDATE], reduces.n_once);
    assert_true(reduces.n_each + reduces.n_once > 0);
    session_close(session);
}

/* The gradient of one weight of all stages is summed by recursive doubling: with n stages, 2^k of
 * them in pairs, a stage receives k others, and one more if it is, or stands for, a stage left
 * over.
 */
static void several_parts_sum_a_gradient_in_rounds(void **state)
{
    (void)state;
    static const struct {
        CommRowOf plan;
        int received[4]; /* per stage */
    } held[] = {
        {{"two", "pp=2", "pipeline", {0}}, {1, 1}},
        {{"three", "pp=3", "pipeline", {0}}, {2, 1, 1}},
        {{"four", "pp=4", "pipeline", {0}}, {2, 2, 2, 2}},
    };
    for (size_t i = 0; i < COUNT_OF(held); i++) {
        Session *session = open_model("tests/training/one_weight.lua", &held[i].plan);
        const Plan *plan = session->plan;
        int received[4] = {0};
        for (int r = 0; r < plan->moved->n_reshards; r++) {
            const Reshard *reshard = &plan->moved->reshards[r];
            int32_t reader = reshard->n_uses > 0 ? plan->moved->reshard_uses[reshard->use] : -1;
            if (reshard_joins(plan, reshard) < 0)
                continue;
            assert_int_equal(reshard->path->n_steps, 1);
            received[plan->decided->stages->of_op[reader]]++;
        }
        assert_memory_equal(received, held[i].received, sizeof received);
        assert_int_equal(gradient_reduces(plan).n_joined, 1);
        session_close(session);
    }
}

/* What fills the slots of a schedule takes as long as they do. */
static void pieces_add_up_to_their_slot(void **state)
{
    Session *session = open_row(*state);
    const Plan *plan = session->plan;
    for (int s = 0; plan->decided->stages && s < plan->decided->stages->n; s++) {
        Arena *arena = arena_new();
        const StagePrice *stage = &plan->priced->pipeline->stage[s];
        double us[N_BLOCK_PASSES];
        for (BlockPass pass = 0; pass < N_BLOCK_PASSES; pass++)
            us[pass] = slot_pieces(arena, plan, s, pass).us;
        assert_true(us[BLOCK_FORWARD] > 0 && us[BLOCK_WEIGHT] > 0);
        assert_true(near(us[BLOCK_FORWARD], stage_forward_us(stage)));
        assert_true(near(us[BLOCK_BACKWARD], stage_backward_us(stage)));
        assert_true(near(us[BLOCK_WEIGHT], stage_weight_us(stage)));
        assert_true(near(us[BLOCK_INPUT] + us[BLOCK_WEIGHT], us[BLOCK_BACKWARD]));
        arena_free(arena);
    }
    session_close(session);
}

int main(void)
{
    enum { N = COUNT_OF(rows), EACH = 4 };
    struct CMUnitTest tests[EACH * N + 1];
    static const CMUnitTestFunction claims[EACH] = {
        passes_add_up, rows_add_up, gradients_are_reduced_in_the_pass_they_are_counted_in,
        pieces_add_up_to_their_slot};
    for (int i = 0; i < EACH * N; i++)
        tests[i] = (struct CMUnitTest){.name = rows[i / EACH].name,
                                       .test_func = claims[i % EACH],
                                       .initial_state = &rows[i / EACH]};
    tests[EACH * N] = (struct CMUnitTest)cmocka_unit_test(several_parts_sum_a_gradient_in_rounds);
    return cmocka_run_group_tests_name("step_comm", tests, open_scripts, close_scripts);
}
