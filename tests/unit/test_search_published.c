/* Published configurations of training runs beside what the search finds where they chose. */
#include "tests/unit/unit.h"

#include "core/search/config_search.h"
#include "scripts/hooks.h"

#include <math.h>

enum { SETS = 12 };

typedef struct {
    const char *title, *model, *machine;
    int64_t n_devices;
    const char *set[SETS];
    Configuration theirs;
    double most;             /* of the best step's time */
    Configuration too_large; /* with half the stages, which they did without: it must not fit; size
                         0: not asked */
} Published;

static Published rows[] = {
    /* Dubey et al. 2024, arXiv 2407.21783, table 4: tp 8, pp 16, dp 128, 16 sequences of 8192 a
     * group; stages take turns. Gradients that are stored sharded are reduced in each micro-batch,
     * with nothing to hide that here: once a step would take 7.1 s, but 84.8 GiB. */
    {"Llama 3 405B on 16,384 H100",
     "tests/training/llama-3.1-405b.json",
     "h100x8",
     16384,
     {"seq=8192", "global_batch=2048", "cp=1", "tp=8", "schedule=1f1b_interleaved",
      "micro_batch=1"},
     {.size = {16, 128, 1, 1, 8},
      .micro_batch = 1,
      .micro_batches = 16,
      .schedule = 1,
      .virtual = 4,
      .zero = 2,
      .sequence_parallel = 1},
     1.6,
     {.micro_batch = 0}},
    /* Narayanan et al. 2021, arXiv 2104.04473, table 1: tp 8, pp 2, dp 32, micro-batches of 4. */
    {"GPT of 39B on 512 A100",
     "tests/training/gpt-39b.json",
     "a100x8",
     512,
     {"seq=2048", "global_batch=1536", "precision=fp16", "attention=eager", "dropout=0.1", "zero=0",
      "recompute=full", "schedule=1f1b", "cp=1", "sequence_parallel=false", "micro_batch=4"},
     {.size = {2, 32, 1, 1, 8},
      .micro_batch = 4,
      .micro_batches = 12,
      .virtual = 1,
      .recompute = AGAIN_FULL},
     1.05,
     {.size = {1, 64, 1, 1, 8},
      .micro_batch = 4,
      .micro_batches = 6,
      .virtual = 1,
      .recompute = AGAIN_FULL}},
    /* The same table: tp 8, pp 4, dp 32, micro-batches of 2. */
    {"GPT of 76B on 1,024 A100",
     "tests/training/gpt-76b.json",
     "a100x8",
     1024,
     {"seq=2048", "global_batch=1792", "precision=fp16", "attention=eager", "dropout=0.1", "zero=0",
      "recompute=full", "schedule=1f1b", "cp=1", "sequence_parallel=false", "micro_batch=2"},
     {.size = {4, 32, 1, 1, 8},
      .micro_batch = 2,
      .micro_batches = 28,
      .virtual = 1,
      .recompute = AGAIN_FULL},
     1.05,
     {.size = {2, 64, 1, 1, 8},
      .micro_batch = 2,
      .micro_batches = 14,
      .virtual = 1,
      .recompute = AGAIN_FULL}},
    /* The same table: tp 8 and pp 8, 35 and 64. */
    {"GPT of 145B on 1,536 A100",
     "tests/training/gpt-145b.json",
     "a100x8",
     1536,
     {"seq=2048", "global_batch=2304", "precision=fp16", "attention=eager", "dropout=0.1", "zero=0",
      "recompute=full", "schedule=1f1b", "cp=1", "sequence_parallel=false", "micro_batch=2"},
     {.size = {8, 24, 1, 1, 8},
      .micro_batch = 2,
      .micro_batches = 48,
      .virtual = 1,
      .recompute = AGAIN_FULL},
     1.05,
     {.size = {4, 48, 1, 1, 8},
      .micro_batch = 2,
      .micro_batches = 24,
      .virtual = 1,
      .recompute = AGAIN_FULL}},
    {"GPT of 530B on 2,520 A100",
     "tests/training/gpt-530b.json",
     "a100x8",
     2520,
     {"seq=2048", "global_batch=2520", "precision=fp16", "attention=eager", "dropout=0.1", "zero=0",
      "recompute=full", "schedule=1f1b", "cp=1", "sequence_parallel=false", "micro_batch=1"},
     {.size = {35, 9, 1, 1, 8},
      .micro_batch = 1,
      .micro_batches = 280,
      .virtual = 1,
      .recompute = AGAIN_FULL},
     1.05,
     {.micro_batch = 0}},
    {"GPT of 1T on 3,072 A100",
     "tests/training/gpt-1t.json",
     "a100x8",
     3072,
     {"seq=2048", "global_batch=3072", "precision=fp16", "attention=eager", "dropout=0.1", "zero=0",
      "recompute=full", "schedule=1f1b", "cp=1", "sequence_parallel=false", "micro_batch=1"},
     {.size = {64, 6, 1, 1, 8},
      .micro_batch = 1,
      .micro_batches = 512,
      .virtual = 1,
      .recompute = AGAIN_FULL},
     1.05,
     {.micro_batch = 0}},
    /* Megatron-Bridge, perf_recipes/llama/h100 at 067f987df, in bf16: cp 2. Gradients that are
     * stored sharded are reduced in each micro-batch; two uneven stages have room for whole ones.
     */
    {"Llama 3 8B on 8 H100",
     "samples/models/llama-3-8b.json",
     "h100x8",
     8,
     {"seq=8192", "global_batch=128", "schedule=1f1b", "micro_batch=1", "recompute=none"},
     {.size = {1, 4, 2, 1, 1}, .micro_batch = 1, .micro_batches = 32, .virtual = 1, .zero = 2},
     1.15,
     {.micro_batch = 0}},
    /* The same: tp 4, pp 4, cp 2, 5 stages a device. */
    {"Llama 3 70B on 64 H100",
     "samples/models/llama-3-70b.json",
     "h100x8",
     64,
     {"seq=8192", "global_batch=256", "schedule=1f1b_interleaved", "micro_batch=1",
      "recompute=none", "cp=2", "virtual=5"},
     {.size = {4, 2, 2, 1, 4},
      .micro_batch = 1,
      .micro_batches = 128,
      .schedule = 1,
      .virtual = 5,
      .zero = 1,
      .sequence_parallel = 1},
     1.05,
     {.size = {2, 4, 2, 1, 4},
      .micro_batch = 1,
      .micro_batches = 64,
      .schedule = 1,
      .virtual = 5,
      .zero = 1,
      .sequence_parallel = 1}},
};

static double sum_of(const ConfigPlan *plan)
{
    double us = 0;
    for (int i = 0; i < plan->n_parts; i++)
        us += plan->part[i].us;
    return us;
}

/* What was chosen is in the space, fits, and is not slower than the best by more than the row
 * says; the parts of both add up, so that they explain the difference. Half the stages, which are
 * faster, do not fit. */
static void theirs_is_near(void **state)
{
    const Published *row = *state;
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    SessionOptions options = {.model = row->model, .machine = row->machine};
    Error err = {0};
    for (int i = 0; i < SETS && row->set[i]; i++)
        assert_true(policy_settings_with(arena, &options.settings, str_from(row->set[i]),
                                         &options.settings, &err));
    ConfigRequest request = {.options = &options, .hooks = &hooks, .n_devices = row->n_devices};
    ConfigSearch *search = config_search_new(arena, &request, &err);
    assert_non_null(search);
    assert_true(config_is_in(config_space_of(search), &row->theirs));
    ConfigQuestion question = {.max_peak_bytes = config_memory_of(search)};
    ConfigAnswer answer;
    assert_true(config_search(search, &question, &answer, &err));
    assert_true(answer.proven);
    const ConfigPlan *theirs = config_plan(search, &row->theirs, &err);
    assert_non_null(theirs);
    assert_null(theirs->failed);
    assert_true(theirs->legal && theirs->peak_bytes <= config_memory_of(search));
    print_message("%s: %.1f ms, the best %.1f ms: %s %s\n", row->title, theirs->step_us / 1e3,
                  answer.best->step_us / 1e3, answer.best->mesh, answer.best->text);
    assert_true(theirs->step_us <= row->most * answer.best->step_us);
    assert_true(theirs->step_us >= answer.best->step_us);
    assert_true(fabs(sum_of(theirs) - theirs->step_us) <= 1e-6 * theirs->step_us);
    assert_true(fabs(sum_of(answer.best) - answer.best->step_us) <= 1e-6 * answer.best->step_us);
    if (row->too_large.micro_batch > 0) {
        const ConfigPlan *large = config_plan(search, &row->too_large, &err);
        assert_non_null(large);
        assert_true(large->failed || large->peak_bytes > config_memory_of(search));
    }
    config_search_free(search);
    scripts_free(scripts);
    arena_free(arena);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows)];
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        tests[i] = (struct CMUnitTest){rows[i].title, theirs_is_near, NULL, NULL, &rows[i]};
    return cmocka_run_group_tests_name("published", tests, NULL, NULL);
}
