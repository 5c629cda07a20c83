/* Memory along a whole step: what the schedule has in flight at each time, against the account of
 * one micro-batch and against counting by hand; and what is kept, by layer. */
#include "tests/unit/unit.h"

#include "core/cost/memory_moments.h"
#include "core/cost/pipeline.h"
#include "core/plan/stage.h"
#include "core/session/session.h"
#include "core/summary/saved.h"
#include "scripts/hooks.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct {
    const char *name, *schedule;
    int micro_batches;
    const char *mesh;
    bool middle; /* the middle of a step, as the account has it, is its fullest time */
} MomentsRow;

static MomentsRow rows[] = {
    {"1f1b on two stages", "1f1b", 4, "pp=2,tp=2", true},
    {"all forwards first", "gpipe", 4, "pp=2,tp=2", true},
    {"1f1b on four stages", "1f1b", 8, "pp=4", true},
    {"a split backward", "zb1p", 4, "pp=2,dp=2", false},
    {"two stages a device", "1f1b_interleaved", 4, "pp=2", false},
    {"no stages", "1f1b", 1, "dp=2", true},
};

static SessionHooks hooks;
static Scripts *scripts;
static Arena *shared;

static int open_scripts(void **state)
{
    (void)state;
    char *top = getcwd(NULL, 0);
    shared = arena_new();
    scripts = scripts_new(shared, arena_str(shared, str_from(top)));
    free(top);
    hooks = scripts_hooks(scripts);
    return 0;
}

static int close_scripts(void **state)
{
    (void)state;
    scripts_free(scripts);
    arena_free(shared);
    return 0;
}

static Session *open_row(Arena *arena, const MomentsRow *row)
{
    SessionOptions options = {.model = "samples/models/tiny-gpt.onnx",
                              .mesh = row->mesh,
                              .policy = "hybrid3d",
                              .train = "auto"};
    Error err = {0};
    const char *settings[] = {arena_printf(arena, "schedule=%s", row->schedule),
                              arena_printf(arena, "micro_batches=%d", row->micro_batches),
                              strcmp(row->schedule, "1f1b_interleaved") == 0 ? "virtual=2"
                                                                             : "virtual=1"};
    for (size_t i = 0; i < COUNT_OF(settings); i++)
        assert_true(policy_settings_with(arena, &options.settings, str_from(settings[i]),
                                         &options.settings, &err));
    Session *session = session_open(&options, &hooks, &err);
    if (!session)
        fail_msg("%s", err.text);
    return session;
}

static int64_t sum(const ClassBytes *bytes)
{
    int64_t all = 0;
    for (int c = 0; c < MEMORY_CLASS_COUNT; c++) {
        assert_true(bytes->of[c] >= 0);
        all += bytes->of[c];
    }
    return all;
}

/* Counted from the schedule alone: forwards begun whose backward has not ended. */
static int in_flight_at(const Schedule *table, int stage, double at)
{
    int n = 0;
    for (int i = 0; i < table->n_blocks; i++) {
        const Block *block = &table->block[i];
        if (block->stage != stage)
            continue;
        n += block->pass == BLOCK_FORWARD && block->start_us <= at;
        n -= (block->pass == BLOCK_BACKWARD || block->pass == BLOCK_WEIGHT) && block->end_us <= at;
    }
    return n;
}

static void the_step_is_filled_block_by_block(void **state)
{
    const MomentsRow *row = *state;
    Arena *arena = arena_new();
    Session *session = open_row(arena, row);
    const Plan *plan = session->plan;
    const Schedule *table = plan_schedule(plan);
    MemoryAccount *account = memory_account_new(plan);
    RankMemories ranks = memory_ranks(arena, account, NULL);
    for (int g = 0; g < ranks.n; g++) {
        int64_t rank = ranks.at[g].rank;
        MemoryMoments moments = memory_moments(arena, account, rank);
        assert_true(moments.n > 0);
        double at = 0;
        for (int i = 0; i < moments.n; i++) {
            const MemoryMoment *moment = &moments.at[i];
            assert_true(fabs(moment->from_us - at) < 1e-6 * moments.us);
            assert_int_equal(sum(&moment->live), moment->bytes);
            at = moment->to_us;
            if (moment->block < 0)
                continue;
            int n = 0;
            for (int s = 0; s < table->n_stages; s++)
                if (submesh_has(plan->mesh,
                                plan->decided->submeshes[plan->decided->stages->at[s].devices],
                                rank))
                    n += in_flight_at(table, s, (moment->from_us + moment->to_us) / 2);
            assert_int_equal(moment->in_flight, n);
        }
        assert_true(fabs(at - moments.us) < 1e-6 * moments.us);
        assert_true(fabs(moments.us - plan_step_us(plan)) < 1e-6 * moments.us);
        int64_t most = moments.at[moments.peak].bytes, middle = ranks.at[g].use.peak_bytes;
        if (row->middle)
            assert_int_equal(most, middle);
        else
            assert_true(llabs(most - middle) <= moments.saved);
    }
    memory_account_free(account);
    session_close(session);
    arena_free(arena);
}

/* Layers are the sums of their values, and all of them what the account keeps. */
static void kept_values_add_up(void **state)
{
    const MomentsRow *row = *state;
    Arena *arena = arena_new();
    Session *session = open_row(arena, row);
    MemoryAccount *account = memory_account_new(session->plan);
    RankMemories ranks = memory_ranks(arena, account, NULL);
    for (int g = 0; g < ranks.n; g++) {
        Saved saved = saved_by_layer(arena, session, account, ranks.at[g].rank);
        StepMemory step = memory_of_step(account, ranks.at[g].rank);
        int64_t layers = 0, values = 0, one = 0;
        assert_true(saved.n > 1 && saved.row[0].layer);
        for (int i = 0; i < saved.n; i++) {
            layers += saved.row[i].layer ? saved.row[i].held : 0;
            values += saved.row[i].layer ? 0 : saved.row[i].held;
            one += saved.row[i].layer ? 0 : saved.row[i].bytes;
        }
        assert_int_equal(layers, step.activation);
        assert_int_equal(values, step.activation);
        assert_int_equal(saved.held, step.activation);
        assert_int_equal(one, memory_moments(arena, account, ranks.at[g].rank).saved);
    }
    memory_account_free(account);
    session_close(session);
    arena_free(arena);
}

static void a_forward_plan_has_no_moments(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    SessionOptions options = {
        .model = "samples/models/tiny-gpt.onnx", .mesh = "dp=2,tp=2", .policy = "megatron"};
    Session *session = session_open(&options, &hooks, &(Error){0});
    assert_non_null(session);
    MemoryAccount *account = memory_account_new(session->plan);
    assert_int_equal(memory_moments(arena, account, 0).n, 0);
    memory_account_free(account);
    session_close(session);
    arena_free(arena);
}

int main(void)
{
    enum { N = COUNT_OF(rows) };
    struct CMUnitTest tests[2 * N + 1];
    for (int i = 0; i < N; i++) {
        tests[2 * i] = (struct CMUnitTest){.name = rows[i].name,
                                           .test_func = the_step_is_filled_block_by_block,
                                           .initial_state = &rows[i]};
        tests[2 * i + 1] = (struct CMUnitTest){
            .name = rows[i].name, .test_func = kept_values_add_up, .initial_state = &rows[i]};
    }
    tests[2 * N] = (struct CMUnitTest)cmocka_unit_test(a_forward_plan_has_no_moments);
    return cmocka_run_group_tests_name("memory_moments", tests, open_scripts, close_scripts);
}
