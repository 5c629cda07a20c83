/* Published formulas say what the programs that they are of print; sizes are read from a config. */
#include "tests/unit/opened.h"

#include "core/summary/published.h"

#include <math.h>
#include <string.h>

#define GIB 1073741824.0
#define MIB 1048576.0

/* GPT-3 and Llama 3 as each calculator is asked. */
#define GPT_175B                                                                                   \
    .hidden = 12288, .layers = 96, .heads = 96, .kv_heads = 96, .head_dim = 128, .ffn = 49152,     \
    .seq = 2048, .micro_batch = 1, .tied = true, .drops = true
#define GPT_22B                                                                                    \
    .hidden = 6144, .layers = 48, .heads = 64, .kv_heads = 64, .head_dim = 96, .ffn = 24576,       \
    .vocabulary = 51200, .seq = 2048, .micro_batch = 4, .tied = true, .drops = true
#define GPT_1T                                                                                     \
    .hidden = 25600, .layers = 128, .heads = 160, .kv_heads = 160, .head_dim = 160, .ffn = 102400, \
    .vocabulary = 51200, .seq = 2048, .tied = true, .drops = true
#define LLAMA_8B                                                                                   \
    .hidden = 4096, .layers = 32, .heads = 32, .kv_heads = 8, .head_dim = 128, .ffn = 14336,       \
    .vocabulary = 128256, .seq = 8192, .micro_batch = 1, .gated = true, .rms = true
#define LLAMA_70B                                                                                  \
    .hidden = 8192, .layers = 80, .heads = 64, .kv_heads = 8, .head_dim = 128, .ffn = 28672,       \
    .vocabulary = 128256, .seq = 8192, .micro_batch = 1, .gated = true, .rms = true

typedef struct {
    const char *title, *of;
    PublishedSizes n;
    struct {
        PublishedPart part;
        double value, tolerance; /* as printed, and half of its last digit */
    } says[5];
} PublishedRow;

#define CUT(t_, p_, d_) .t = t_, .p = p_, .d = d_, .c = 1, .e = 1
#define SAYS_PARAMETER(bytes, tolerance)                                                           \
    {                                                                                              \
        PUBLISHED_PARAMETER, bytes, tolerance                                                      \
    }
#define SAYS_GRADIENT(bytes, tolerance)                                                            \
    {                                                                                              \
        PUBLISHED_GRADIENT, bytes, tolerance                                                       \
    }
#define SAYS_OPTIMIZER(bytes, tolerance)                                                           \
    {                                                                                              \
        PUBLISHED_OPTIMIZER, bytes, tolerance                                                      \
    }
#define SAYS_STATES(bytes, tolerance)                                                              \
    {                                                                                              \
        PUBLISHED_STATES, bytes, tolerance                                                         \
    }
#define SAYS_ACTIVATION(bytes, tolerance)                                                          \
    {                                                                                              \
        PUBLISHED_ACTIVATION, bytes, tolerance                                                     \
    }
#define SAYS_STEP(us, tolerance)                                                                   \
    {                                                                                              \
        PUBLISHED_TIME, us, tolerance                                                              \
    }
#define MIB_PRINTED (.005 * MIB)
#define GIB_PRINTED (.005 * GIB)

static PublishedRow rows[] = {
    /* Megatron-LM d98e8a64, report_theoretical_memory() */
    {"megatron, 175B",
     "megatron",
     {GPT_175B, .vocabulary = 51200, CUT(8, 8, 16), .v = 3, .micro_batches = 64, .zero = 1,
      .selective = true, .sequence_parallel = true},
     {SAYS_STATES(18006.07 * MIB, MIB_PRINTED), SAYS_ACTIVATION(12679.02 * MIB, MIB_PRINTED)}},
    {"megatron, Llama 3 8B",
     "megatron",
     {LLAMA_8B, CUT(1, 1, 8), .v = 1, .micro_batches = 1, .zero = 1, .selective = true,
      .sequence_parallel = true},
     {SAYS_STATES(57436.90 * MIB, MIB_PRINTED), SAYS_ACTIVATION(36936.06 * MIB, MIB_PRINTED)}},
    {"megatron, Llama 3 70B",
     "megatron",
     {LLAMA_70B, CUT(8, 4, 2), .v = 1, .micro_batches = 64, .zero = 1, .selective = true,
      .sequence_parallel = true},
     {SAYS_STATES(25986.77 * MIB, MIB_PRINTED), SAYS_ACTIVATION(20512.03 * MIB, MIB_PRINTED)}},
    /* DeepSpeed, docs/code-docs/source/memory.rst: 2851M parameters, 32M of the largest layer, on
     * eight devices without offloading */
    {"deepspeed, ZeRO-3",
     "deepspeed",
     {.parameters = 2851e6, .largest = 32e6, CUT(1, 1, 8), .zero = 3},
     {SAYS_STATES(6.09 * GIB, GIB_PRINTED)}},
    {"deepspeed, ZeRO-2",
     "deepspeed",
     {.parameters = 2851e6, CUT(1, 1, 8), .zero = 2},
     {SAYS_STATES(15.93 * GIB, GIB_PRINTED)}},
    /* Calculon caa4b11 on systems/a100_80g.json with fused_activation false */
    {"calculon, 1T with full recomputation",
     "calculon",
     {GPT_1T, .micro_batch = 4, CUT(4, 64, 12), .v = 1, .micro_batches = 64, .zero = 1,
      .full = true},
     {SAYS_PARAMETER(7.325 * GIB, .0005 * GIB), SAYS_GRADIENT(7.630 * GIB, .0005 * GIB),
      SAYS_OPTIMIZER(3.662 * GIB, .0005 * GIB)}},
    {"calculon, 175B of tp",
     "calculon",
     {GPT_175B, .vocabulary = 51200, CUT(8, 8, 2), .v = 3, .micro_batches = 64, .zero = 1},
     {SAYS_PARAMETER(5436997632, 1), SAYS_GRADIENT(3398123520, 1), SAYS_OPTIMIZER(16310992896, 1),
      SAYS_ACTIVATION(71873593344, 1)}},
    {"calculon, 175B selective",
     "calculon",
     {GPT_175B, .vocabulary = 51200, CUT(8, 8, 2), .v = 3, .micro_batches = 64, .zero = 1,
      .selective = true},
     {SAYS_ACTIVATION(34728837120, 1)}},
    {"calculon, 175B full",
     "calculon",
     {GPT_175B, .vocabulary = 51200, CUT(8, 8, 2), .v = 3, .micro_batches = 64, .zero = 1,
      .full = true},
     {SAYS_ACTIVATION(679477248.0 + 6241124352.0, 1)}},
    {"calculon, 175B without tp",
     "calculon",
     {GPT_175B, .vocabulary = 51200, CUT(1, 8, 2), .v = 3, .micro_batches = 64, .zero = 1},
     {SAYS_PARAMETER(43487723520, 1), SAYS_ACTIVATION(355744088064, 1)}},
    {"calculon, 175B of tp and sp",
     "calculon",
     {GPT_175B, .vocabulary = 51200, CUT(8, 8, 2), .v = 3, .micro_batches = 64, .zero = 1,
      .sequence_parallel = true},
     {SAYS_ACTIVATION(44581257216, 1)}},
    {"calculon, 22B of one stage",
     "calculon",
     {GPT_22B, CUT(8, 1, 1), .v = 1, .micro_batches = 1, .selective = true,
      .sequence_parallel = true},
     {SAYS_PARAMETER(5438177280, 1), SAYS_GRADIENT(5551472640, 1), SAYS_OPTIMIZER(32629063680, 1),
      SAYS_ACTIVATION(11165237248, 1)}},
    {"calculon, 1T of two blocks a stage",
     "calculon",
     {GPT_1T, .micro_batch = 1, CUT(8, 64, 1), .v = 1, .micro_batches = 512, .selective = true,
      .sequence_parallel = true},
     {SAYS_PARAMETER(3932569600, 1), SAYS_GRADIENT(5898854400, 1), SAYS_OPTIMIZER(23595417600, 1),
      SAYS_ACTIVATION(29176627200, 1)}},
    /* llm-analysis d841e40, LLMAnalysis.training() on a100-sxm-80gb */
    {"llm-analysis, 175B of pp 12",
     "llm-analysis",
     {GPT_175B, .vocabulary = 50272, CUT(8, 12, 1), .v = 1, .micro_batches = 64,
      .peak_flops_per_s = 312e12},
     {SAYS_PARAMETER(3778710528, 1), SAYS_GRADIENT(7556732928, 1), SAYS_OPTIMIZER(22672263168, 1),
      SAYS_ACTIVATION(58114752512, 1), SAYS_STEP(4710288.568635077, 1e-3)}},
    {"llm-analysis, 175B selective",
     "llm-analysis",
     {GPT_175B, .vocabulary = 50272, CUT(8, 8, 2), .v = 1, .micro_batches = 64, .zero = 1,
      .selective = true, .sequence_parallel = true, .peak_flops_per_s = 312e12},
     {SAYS_PARAMETER(5590846464, 1), SAYS_GRADIENT(11180660736, 1), SAYS_OPTIMIZER(16772539392, 1),
      SAYS_ACTIVATION(11218239488, 1), SAYS_STEP(7128866.216093538, 1e-3)}},
    {"llm-analysis, 175B full",
     "llm-analysis",
     {GPT_175B, .vocabulary = 50272, CUT(8, 8, 16), .v = 1, .micro_batches = 64, .zero = 2,
      .full = true, .flash = true, .peak_flops_per_s = 312e12},
     {SAYS_PARAMETER(5590846464, 1), SAYS_GRADIENT(698791296, 1), SAYS_OPTIMIZER(2096567424, 1),
      SAYS_ACTIVATION(736673792, 1), SAYS_STEP(9420577.137270154, 1e-3)}},
    {"llm-analysis, Llama 3 70B",
     "llm-analysis",
     {LLAMA_70B, CUT(8, 4, 2), .v = 1, .micro_batches = 16, .zero = 1, .flash = true,
      .sequence_parallel = true, .peak_flops_per_s = 312e12},
     {SAYS_PARAMETER(4541515776, 1), SAYS_GRADIENT(9081884672, 1), SAYS_OPTIMIZER(13624547328, 1),
      SAYS_ACTIVATION(26527399936, 1), SAYS_STEP(6320374.758163692, 1e-3)}},
    /* cookbook 827ee3b, calc_transformer_mem.py: "Per-GPU .. Memory" */
    {"cookbook, Pythia 6.9B",
     "cookbook",
     {.hidden = 4096,
      .layers = 32,
      .heads = 32,
      .kv_heads = 32,
      .head_dim = 128,
      .ffn = 16384,
      .vocabulary = 51200,
      .seq = 2048,
      .micro_batch = 8,
      CUT(2, 1, 64),
      .zero = 1,
      .full = true},
     {SAYS_PARAMETER(6.40 * GIB, GIB_PRINTED), SAYS_GRADIENT(25.60 * GIB, GIB_PRINTED),
      SAYS_OPTIMIZER(.60 * GIB, GIB_PRINTED), SAYS_ACTIVATION(68.00 * GIB, GIB_PRINTED)}},
    {"cookbook, 175B",
     "cookbook",
     {GPT_175B, .vocabulary = 51200, CUT(8, 8, 16), .zero = 1},
     {SAYS_PARAMETER(5.10 * GIB, GIB_PRINTED), SAYS_GRADIENT(652.82 * GIB, GIB_PRINTED),
      SAYS_OPTIMIZER(1.91 * GIB, GIB_PRINTED), SAYS_ACTIVATION(256.50 * GIB, GIB_PRINTED)}},
    {"cookbook, Llama 3 70B of ZeRO-3",
     "cookbook",
     {LLAMA_70B, CUT(8, 4, 2), .zero = 3},
     {SAYS_PARAMETER(.06 * GIB, GIB_PRINTED), SAYS_GRADIENT(4.11 * GIB, GIB_PRINTED),
      SAYS_OPTIMIZER(12.33 * GIB, GIB_PRINTED), SAYS_ACTIVATION(1770.00 * GIB, GIB_PRINTED)}},
};

static const Published *find(const char *name)
{
    int n;
    const Published *all = published_all(&n);
    for (int i = 0; i < n; i++)
        if (strcmp(all[i].name, name) == 0)
            return &all[i];
    fail_msg("no formulas named %s", name);
    return NULL;
}

static void says_what_is_printed(void **state)
{
    const PublishedRow *row = *state;
    PublishedNumbers said = published_say(find(row->of), &row->n);
    assert_true(row->says[0].value > 0);
    for (size_t i = 0; i < COUNT_OF(row->says) && row->says[i].value > 0; i++) {
        double got = said.part[row->says[i].part], want = row->says[i].value;
        if (!(fabs(got - want) <= row->says[i].tolerance))
            fail_msg("%s: %.17g, printed is %.17g", published_part_name(row->says[i].part), got,
                     want);
    }
}

static Opened open_llama(const char *mesh, const char *const *set, int n)
{
    Arena *arena = arena_new();
    Error err = {0};
    SessionOptions options = {.model = "samples/models/llama-3-8b.json",
                              .mesh = mesh,
                              .policy = "hybrid3d",
                              .train = "adamw"};
    for (int i = 0; i < n; i++)
        assert_true(policy_settings_with(arena, &options.settings, str_from(set[i]),
                                         &options.settings, &err));
    return open_in(arena, &options);
}

static void sizes_are_of_config_mesh_and_policy(void **state)
{
    (void)state;
    static const char *const set[] = {"micro_batch=2", "micro_batches=16", "zero=1",
                                      "recompute=selective", "sequence_parallel=true"};
    Opened o = open_llama("pp=4,dp=2,tp=2", set, COUNT_OF(set));
    TrainingCost cost = training_cost(o.arena, o.session->plan, o.session->groups);
    PublishedSizes n;
    Error err = {0};
    assert_true(published_sizes(o.arena, o.session, &cost, &n, &err));
    assert_true(n.hidden == 4096 && n.layers == 32 && n.heads == 32 && n.kv_heads == 8);
    assert_true(n.ffn == 14336 && n.vocabulary == 128256 && n.gated && n.rms && !n.tied);
    assert_true(n.t == 2 && n.p == 4 && n.d == 2 && n.c == 1 && n.e == 1 && n.v == 1);
    assert_true(n.micro_batch == 2 && n.micro_batches == 16 && n.seq == 4096 && n.zero == 1);
    assert_true(n.selective && !n.full && n.sequence_parallel && n.flash && !n.drops);
    assert_true(n.parameters == 8030261248 && n.largest == 128256.0 * 4096);
    close_opened(&o);
}

/* Where nothing that a formula forgets is there, its states are the plan's. */
static void states_agree_where_nothing_is_left_out(void **state)
{
    (void)state;
    static const char *const set[] = {"micro_batch=1", "zero=1", "precision=bf16",
                                      "grad_dtype=f32"};
    Opened o = open_llama("dp=8", set, COUNT_OF(set));
    TrainingCost cost = training_cost(o.arena, o.session->plan, o.session->groups);
    PublishedSizes n;
    Error err = {0};
    Buf why = buf_new(o.arena);
    assert_true(published_sizes(o.arena, o.session, &cost, &n, &err));
    PublishedNumbers ours = published_ours(&cost), megatron = published_say(find("megatron"), &n);
    assert_true(fabs(megatron.part[PUBLISHED_STATES] / ours.part[PUBLISHED_STATES] - 1) < 1e-3);
    published_differs(find("megatron"), PUBLISHED_STATES, &n, &why);
    assert_int_equal(why.n, 0);
    n.t = 4;
    published_differs(find("cookbook"), PUBLISHED_GRADIENT, &n, &why);
    assert_string_equal(why.s, "is divided by neither tp nor pp");
    close_opened(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sizes_are_of_config_mesh_and_policy),
                                       cmocka_unit_test(states_agree_where_nothing_is_left_out)};
    return run_rows("printed", rows, says_what_is_printed) +
           cmocka_run_group_tests_name("sizes", tests, NULL, NULL);
}
