/* What a training step costs, counted by hand on small models. */
#include "tests/unit/unit.h"

#include "core/base/file.h"
#include "core/cost/pipeline.h"
#include "core/cost/training_cost.h"
#include "core/session/planfile.h"
#include "core/session/session.h"
#include "scripts/hooks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* x [8, 16] w [16, 32], Relu, v [32, 4], mean: products of 8192 and 2048 FLOPs forward. */
#define LAYERS(dtype)                                                                              \
    "local x = model:input('x', '" dtype "', {8, 16})\n"                                           \
    "local w = model:param('w', {16, 32}, '" dtype "')\n"                                          \
    "local v = model:param('v', {32, 4}, '" dtype "')\n"                                           \
    "local y = model:op('Relu', {model:op('MatMul', {x, w})})\n"                                   \
    "local z = model:op('MatMul', {y, v})\n"
#define MEAN "model:output(model:op('ReduceMean', {z}, {keepdims = 0}), 'loss')\n"
#define STAGES                                                                                     \
    "local nodes = graph:nodes()\n"                                                                \
    "graph:staging{nodes[1], nodes[3]}\n"                                                          \
    "for i, segment in ipairs(graph:segments()) do graph:assign(segment, {pp = i - 1}) end\n"      \
    "graph:schedule('1f1b', {micro_batches = 4})\n"

typedef struct {
    const char *title, *body, *train, *mesh, *policy; /* policy: body of PAS(graph); NULL: none */
    int64_t parameters;
    double model_flops, hardware_flops, labels; /* labels of a step; 0: there are none */
    int reductions;
    StepMemory rank0; /* without input, gathered, buffer and peak */
} CostRow;

static CostRow rows[] = {
    {"a step on one device",
     LAYERS("f32") MEAN,
     "adamw",
     "d=1",
     NULL,
     16 * 32 + 32 * 4,
     3 * (8192 + 2048),
     8192 + 2048 + 8192 + 2 * 2048,
     0,
     0,
     {.parameter = 640 * 4, .optimizer = 640 * 8, .gradient = 640 * 4, .activation = 8 * 32 * 4}},
    {"sgd keeps nothing",
     LAYERS("f32") MEAN,
     "sgd",
     "d=1",
     NULL,
     640,
     3 * 10240,
     22528,
     0,
     0,
     {.parameter = 640 * 4, .gradient = 640 * 4, .activation = 8 * 32 * 4}},
    {"16-bit parameters have a master, and gradients of 32",
     LAYERS("bf16") MEAN,
     "adamw",
     "d=1",
     NULL,
     640,
     3 * 10240,
     22528,
     0,
     0,
     {.parameter = 640 * 2,
      .optimizer = 640 * 12,
      .gradient = 640 * 4, /* those of 16 bits are added to it when they are made */
      .activation = 8 * 32 * 2}},
    {"replicas reduce each gradient once",
     LAYERS("f32") MEAN,
     "sgd",
     "dp=2",
     "graph:shard('x', {[0] = 'dp'})\n",
     640,
     3 * 10240,
     22528,
     0,
     2,
     {.parameter = 640 * 4, .gradient = 640 * 4, .activation = 4 * 32 * 4}},
    {"with states in parts gradients are added up whole",
     LAYERS("f32") MEAN,
     "adamw",
     "dp=2",
     "graph:shard('x', {[0] = 'dp'})\n"
     "graph:zero(1, 'dp')\n",
     640,
     3 * 10240,
     22528,
     0,
     2,
     {.parameter = 640 * 4, .optimizer = 320 * 8, .gradient = 640 * 4, .activation = 4 * 32 * 4}},
    {"in parts they are added up in parts",
     LAYERS("f32") MEAN,
     "adamw",
     "dp=2",
     "graph:shard('x', {[0] = 'dp'})\n"
     "graph:zero(2, 'dp')\n",
     640,
     3 * 10240,
     22528,
     0,
     2,
     {.parameter = 640 * 4, .optimizer = 320 * 8, .gradient = 320 * 4, .activation = 4 * 32 * 4}},
    {"of act(gate) * up the gate and up are kept",
     "local x = model:input('x', 'f32', {8, 16})\n"
     "local u, v = model:param('u', {16, 32}), model:param('v', {16, 32})\n"
     "local gate = model:op('Swish', {model:op('MatMul', {x, u})})\n"
     "local z = model:op('Mul', {gate, model:op('MatMul', {x, v})})\n" MEAN,
     "sgd",
     "d=1",
     NULL,
     1024,
     3 * 16384,
     16384 * 2,
     0,
     0,
     {.parameter = 1024 * 4, .gradient = 1024 * 4, .activation = 2 * 8 * 32 * 4}},
    {"dropout keeps a byte of each element",
     "local training = model:constant('training', 'bool', {}, {true})\n"
     "local x = model:input('x', 'f32', {8, 16})\n"
     "local w = model:param('w', {16, 32})\n"
     "local z = model:op('Dropout', {model:op('MatMul', {x, w}), 0.5, training})\n" MEAN,
     "sgd",
     "d=1",
     NULL,
     512,
     3 * 8192,
     8192 * 2,
     0,
     0,
     {.parameter = 512 * 4, .gradient = 512 * 4, .activation = 8 * 32}},
    {"a gradient of a stored shard is whole only until it is reduced",
     LAYERS("f32") MEAN,
     "sgd",
     "dp=2",
     "graph:shard('x', {[0] = 'dp'})\n"
     "graph:shard({'w', 'v'}, {[0] = {axis = 'dp', store = true}})\n",
     640,
     3 * 10240,
     22528,
     0,
     2,
     {.parameter = 320 * 4, .gradient = 320 * 4, .activation = 4 * 32 * 4}},
    {"the first of two stages keeps two of four micro-batches",
     LAYERS("f32") MEAN,
     "adamw",
     "pp=2",
     STAGES,
     640,
     4 * 3 * 10240,
     4 * 22528,
     0,
     0,
     {.parameter = 512 * 4,
      .optimizer = 512 * 8,
      .gradient = 512 * 4,
      .activation = 2 * 8 * 32 * 4}},
    {"two stages that read one weight both update it, by one sum of gradients",
     "local x = model:input('x', 'f32', {8, 16})\n"
     "local w = model:param('w', {16, 16})\n"
     "local y = model:op('Relu', {model:op('MatMul', {x, w})})\n"
     "local z = model:op('MatMul', {y, w})\n" MEAN,
     "adamw",
     "pp=2",
     STAGES,
     256,
     4 * 3 * 8192,
     4 * (8192 + 3 * 4096), /* nothing wants the gradient of x */
     0,
     1,
     {.parameter = 256 * 4,
      .optimizer = 256 * 8,
      .gradient = 256 * 4,
      .activation = 2 * 8 * 16 * 4}},
    {"labels are counted",
     LAYERS("f32") "model:output(z, 'scores')\n",
     "sgd",
     "d=1",
     NULL,
     640,
     3 * 10240,
     22528,
     8,
     0,
     {.parameter = 640 * 4, .gradient = 640 * 4, .activation = 8 * 32 * 4 + 8 * 4 * 4 + 2 * 8 * 4}},
};

static Session *open_step(Arena *arena, const CostRow *row, Scripts *scripts)
{
    char name[] = "/tmp/dimscope_cost_XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0 && close(fd) == 0 && unlink(name) == 0);
    SessionOptions options = {.train = row->train, .mesh = row->mesh};
    options.model = arena_printf(arena, "%s.lua", name);
    const char *text = arena_printf(arena, "function MODEL(model)\n%s\nend\n", row->body);
    assert_true(file_write(options.model, str_from(text), NULL));
    if (row->policy) {
        options.policy = arena_printf(arena, "%s_policy.lua", name);
        text = arena_printf(arena, "function PAS(graph)\n%s\nreturn graph\nend\n", row->policy);
        assert_true(file_write(options.policy, str_from(text), NULL));
    }
    SessionHooks hooks = scripts_hooks(scripts);
    Error err = {0};
    Session *session = session_open(&options, &hooks, &err);
    unlink(options.model);
    if (options.policy)
        unlink(options.policy);
    if (!session)
        fail_msg("%s", err.text);
    return session;
}

static void assert_number(const char *name, double is, double expected)
{
    if (!(fabs(is - expected) <= 1e-9 * (1 + fabs(expected))))
        fail_msg("%s is %.12g, not %.12g", name, is, expected);
}

static void counts_a_step(void **state)
{
    const CostRow *row = *state;
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    Session *session = open_step(arena, row, scripts);
    const Plan *plan = session->plan;
    TrainingCost cost = training_cost(arena, plan, session->groups);
    assert_number("parameters", (double)cost.parameters, (double)row->parameters);
    assert_number("model_flops", cost.model_flops, row->model_flops);
    assert_number("hardware_flops", cost.hardware_flops, row->hardware_flops);
    assert_number("reductions", cost.gradient_reductions, row->reductions);
    assert_number("step_us", cost.step_us, plan_step_us(plan));
    if (!plan->decided->stages)
        assert_number("phases", cost.forward_us + cost.backward_us + cost.update_us,
                      plan->priced->totals.step_us);
    double peak = plan->machine->flops_per_s[plan->inferred->dtype[0]];
    assert_number("mfu", cost.mfu,
                  row->model_flops / peak / (cost.step_us / 1e6) / (double)plan->mesh->n_devices);
    if (row->labels > 0)
        assert_number("labels", cost.tokens_per_s_device, row->labels / (cost.step_us / 1e6));
    else
        assert_true(isnan(cost.tokens_per_s_device) && cost.why.tokens_per_s_device);
    assert_number("parameter", (double)cost.rank0.parameter, (double)row->rank0.parameter);
    assert_number("optimizer", (double)cost.rank0.optimizer, (double)row->rank0.optimizer);
    assert_number("gradient", (double)cost.rank0.gradient, (double)row->rank0.gradient);
    assert_number("activation", (double)cost.rank0.activation, (double)row->rank0.activation);
    assert_number("peak", (double)cost.most.peak, (double)plan->priced->totals.peak_bytes);
    session_close(session);
    scripts_free(scripts);
    arena_free(arena);
}

/* What scripts read of `plan --json`: a number, or null with a note. */
static void json_says_all(void **state)
{
    static const char *const numbers[] = {"parameters",
                                          "model_flops",
                                          "hardware_flops",
                                          "step_us",
                                          "forward_us",
                                          "backward_us",
                                          "update_us",
                                          "bubble",
                                          "mfu",
                                          "hfu",
                                          "tokens_per_s_device",
                                          "exposed_comm_us",
                                          "gradient_reductions"};
    static const char *const ranks[] = {"rank0", "last", "most"};
    static const char *const classes[] = {"parameter", "gradient", "optimizer", "activation",
                                          "gathered",  "input",    "buffer",    "peak"};
    const CostRow *row = *state;
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    Session *session = open_step(arena, row, scripts);
    Json *plan = plan_json(session);
    const Json *training = json_get(plan, "training"), *notes = json_get(training, "notes");
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        if (!json_is_number(json_get(training, numbers[i])) &&
            !(json_is_null(json_get(training, numbers[i])) && json_get(notes, numbers[i])))
            fail_msg("%s is no number, and no note says why", numbers[i]);
    for (size_t r = 0; r < COUNT_OF(ranks); r++)
        for (size_t c = 0; c < COUNT_OF(classes); c++)
            assert_true(json_is_number(
                json_get(json_get(json_get(training, "memory"), ranks[r]), classes[c])));
    assert_true(json_is_null(json_get(training, "layer")) && json_get(notes, "layer"));
    json_free(plan);
    session_close(session);
    scripts_free(scripts);
    arena_free(arena);
}

/* Two sequences of 64 positions, 4 heads of 32: 4 products of [128, 128] by [128, 128], then scores
 * and what they weigh, 4 * 2 * 64 * 64 * 128 FLOPs. Heads are a dim, or a part of the last dim. */
static void attention_counts_heads(void **state)
{
    static const char *const ways[] = {"local function heads(v) return v end\n"
                                       "local at = {q_num_heads = 4, kv_num_heads = 4}\n",
                                       "local function heads(v)\n"
                                       "return model:op('Transpose', {model:op('Reshape', {v, {2, "
                                       "64, 4, 32}})}, {perm = {0, 2, 1, "
                                       "3}})\n"
                                       "end\n"
                                       "local at = {}\n"};
    (void)state;
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        CostRow row = {.train = "sgd", .mesh = "d=1"};
        row.body = arena_printf(
            arena,
            "local x = model:input('x', 'f32', {2, 64, 128})\n%s"
            "local function product(v, n) return model:op('MatMul', {v, model:param(n, {128, "
            "128})}) "
            "end\n"
            "local v = model:op('Attention', {heads(product(x, 'q')), heads(product(x, 'k')), "
            "heads(product(x, 'v'))}, at)\n"
            "if not at.q_num_heads then\n"
            "v = model:op('Reshape', {model:op('Transpose', {v}, {perm = {0, 2, 1, 3}}), {2, 64, "
            "128}})\n"
            "end\n"
            "model:output(product(v, 'o'), 'scores')\n",
            ways[i]);
        Session *session = open_step(arena, &row, scripts);
        TrainingCost cost = training_cost(arena, session->plan, session->groups);
        assert_number("model_flops", cost.model_flops,
                      3. * (4 * 2 * 128 * 128 * 128 + 4 * 2 * 64 * 64 * 128));
        session_close(session);
    }
    scripts_free(scripts);
    arena_free(arena);
}

static int64_t peak_with(Arena *arena, Scripts *scripts, const char *grad_dtype)
{
    SessionOptions options = {.model = "samples/models/llama-3-70b.json",
                              .mesh = "dp=64",
                              .policy = "fsdp",
                              .train = "adamw"};
    const char *set[] = {"micro_batch=1", "recompute=full", grad_dtype};
    SessionHooks hooks = scripts_hooks(scripts);
    Error err = {0};
    for (size_t i = 0; i < COUNT_OF(set); i++)
        assert_true(policy_settings_with(arena, &options.settings, str_from(set[i]),
                                         &options.settings, &err));
    Session *session = session_open(&options, &hooks, &err);
    if (!session)
        fail_msg("%s", err.text);
    int64_t peak = session->plan->priced->totals.peak_bytes;
    session_close(session);
    return peak;
}

/* A weight's gradient is cast and reduced when it is made, and so ends that of its transposed view:
 * in f32 each rank has a shard of twice the bytes, and at one moment the largest gradient as it is
 * made and cast. */
static void whole_gradients_are_there_one_by_one(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    const int64_t parameters = 70553706496, largest = (int64_t)128256 * 8192;
    int64_t narrow = peak_with(arena, scripts, "grad_dtype=bf16");
    int64_t wide = peak_with(arena, scripts, "grad_dtype=f32");
    assert_true(wide > narrow);
    assert_true(wide - narrow < 2 * parameters / 64 + (2 + 4) * largest);
    scripts_free(scripts);
    arena_free(arena);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows) + 3];
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        tests[i] = (struct CMUnitTest){
            .name = rows[i].title, .test_func = counts_a_step, .initial_state = &rows[i]};
    tests[COUNT_OF(rows)] = (struct CMUnitTest){"JSON has all numbers of the contract",
                                                json_says_all, NULL, NULL, &rows[0]};
    tests[COUNT_OF(rows) + 1] = (struct CMUnitTest){.name = "attention counts its heads",
                                                    .test_func = attention_counts_heads};
    tests[COUNT_OF(rows) + 2] =
        (struct CMUnitTest){.name = "whole gradients are there one by one",
                            .test_func = whole_gradients_are_there_one_by_one};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
