/* What gradient ops are on a device, beside their host kernels: of every operator that has a
 * gradient, on its examples in f64 and on the parts of every cut; and updates in other types. */
#include "tests/unit/on_device.h"

#include "core/prove/gradient_check.h"
#include "core/prove/rule_check.h"
#include "core/rules/derivative.h"
#include "core/rules/example.h"

#include <math.h>

typedef struct {
    const char *name, *op_type, *example;
} Case;

/* Sizes and forms that the examples do not have. */
static const Case larger[] = {
    {"columns of a softmax", "Softmax", "2x9x4 axis=1"},
    {"rows over several warps", "Softmax", "2x40"},
    {"products of batches", "MatMul", "2x3x4x5,2x3x5x6"},
    {"products, broadcast", "MatMul", "2x3x4x5,1x3x5x6"},
    {"a product of transposes", "Gemm", "5x4,6x5,4x1 transA=1 transB=1 alpha=0.5 beta=2.0"},
    {"heads", "Transpose", "2x3x4x5 perm=[0,2,1,3]"},
    {"rows of a table", "Gather", "5x6x4,3x7:i64 axis=0"},
    {"columns of a table", "Gather", "5x6x4,3:i64 axis=2"},
    {"pads that wrap", "Pad", "5x6x4,=[2,1,0,1,0,2] mode=wrap"},
    {"a padded, dilated window", "Conv", "2x4x9,6x2x3,6 group=2 dilations=[2] pads=[1,2]"},
    {"windows of one place", "Conv", "2x4x6x6,6x4x1x1,6"},
    {"a window over all places", "Conv", "2x4x6x6,6x4x2x2 strides=[2,2]"},
    {"a transposed convolution", "ConvTranspose", "2x4x5x4,4x3x3x2,6 group=2 strides=[2,3]"},
    {"windows that overlap", "MaxPool", "2x3x9 kernel_shape=[3] strides=[1] dilations=[2]"},
    {"padded windows", "AveragePool",
     "2x3x9x8 kernel_shape=[3,2] strides=[2,2] auto_pad=SAME_UPPER count_include_pad=1"},
    {"running statistics", "BatchNormalization", "3x5x4,5,5,5,5"},
};

static const Kernel *both_kernels(Arena *arena, const Kernel *host)
{
    Kernel *both = arena_make(arena, Kernel);
    *both = (Kernel){host->name, on_both, host, host->first_value, host->rounding};
    return both;
}

static Graph *graph_of(Arena *arena, const Case *row, const char *dtype, Error *err)
{
    Example example = example_read(arena, row->example);
    example.operands = example_operands(arena, example.operands, dtype);
    return example_op(arena, row->op_type, &example, err);
}

static void test_gradient(void **state)
{
    const Case *row = *state;
    Arena *arena = arena_new();
    Error err = {0};
    GradientProof proof;
    Graph *graph = graph_of(arena, row, "f64", &err);
    bool ran =
        graph && gradient_check(arena, graph, registry_new(arena), 1, both_kernels, &proof, &err);
    if (!ran && err.kind != ERROR_UNSUPPORTED)
        fail_msg("%s %s: %s", row->op_type, row->example, err.text);
    if (ran && !proof.proof.ok)
        fail_msg("%s %s: %s", row->op_type, row->example, proof.proof.text);
    arena_free(arena);
}

/* Optimizers have no gradient; parameter, gradient and states of that type. */
static void test_update(void **state)
{
    static const char *const dtypes[] = {"f32", "bf16", "f64"};
    const Case *row = *state;
    Arena *arena = arena_new();
    for (size_t i = 0; i < COUNT_OF(dtypes); i++) {
        Error err = {0};
        const DimBindings none = {0};
        int n_done = device.n_done;
        Graph *graph = graph_of(arena, row, dtypes[i], &err);
        Inferred *inferred =
            graph ? infer(arena, graph, registry_new(arena), &none, false, &err) : NULL;
        if (!inferred)
            fail_msg("%s: %s", row->example, err.text);
        OpSpace own = *inferred_space(inferred, 0);
        RuleProof proof;
        own.own = both_kernels(arena, kernel_find(&own, row->op_type));
        if (!rule_check(arena, inferred, 0, &own, 1, &proof, &err))
            fail_msg("%s %s of %s: %s", row->op_type, row->example, dtypes[i], err.text);
        if (!proof.ok)
            fail_msg("%s of %s: %s", row->op_type, dtypes[i], proof.text);
        assert_true(device.n_done > n_done);
    }
    arena_free(arena);
}

/* Each input has one number everywhere. Under a dynamic loss scale a factor that is NaN skips the
 * step: parameter and states stay. */
static void steps_are_skipped(void **state)
{
    static const struct {
        const char *op_type, *example;
        double input[7];
    } calls[] = {
        {"ClipFactor", "scalar,scalar clip=1.0 checked=1 -> 2", {INFINITY, 2}},
        {"ClipFactor", "scalar,scalar clip=1.0 checked=1 -> 2", {NAN, 2}},
        {"ClipFactor", "scalar,scalar clip=1.0 checked=1 -> 2", {16, 2}},
        {"AdamWUpdate",
         "5x6,5x6,scalar,scalar:i64,scalar,5x6,5x6 -> 3",
         {0.5, INFINITY, 0.1, 1, NAN, 0.25, 0.75}},
        {"SgdUpdate",
         "5x6,5x6,scalar,scalar:i64,scalar weight_decay=0.5",
         {0.5, INFINITY, 0.1, 1, NAN}},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        Arena *arena = arena_new();
        Error err = {0};
        const DimBindings none = {0};
        Graph *graph =
            graph_of(arena, &(Case){NULL, calls[i].op_type, calls[i].example}, "f32", &err);
        Inferred *inferred =
            graph ? infer(arena, graph, registry_new(arena), &none, false, &err) : NULL;
        if (!inferred)
            fail_msg("%s: %s", calls[i].example, err.text);
        Local **value = arena_array(arena, Local *, graph->n_tensors);
        for (int k = 0; k < graph->ops[0].n_inputs; k++) {
            int32_t t = op_inputs(graph, 0)[k];
            value[t] = local_new_whole((Dtype)inferred->dtype[t], inferred_shape(inferred, t));
            for (int64_t at = 0; at < local_count(value[t]); at++)
                local_store(value[t], at, 1, NUMBER_F64, &calls[i].input[k]);
        }
        const Kernel *host = kernel_find(inferred_space(inferred, 0), calls[i].op_type);
        int n_done = device.n_done;
        if (!kernel_run_whole(inferred, 0, both_kernels(arena, host), NULL, 0, 0, value, &err))
            fail_msg("%s, case %zu: %s", calls[i].op_type, i, err.text);
        assert_true(device.n_done > n_done);
        for (int32_t t = 0; t < graph->n_tensors; t++)
            local_free(value[t]);
        arena_free(arena);
    }
}

enum { TESTS_MAX = 1024 };

static struct CMUnitTest tests[TESTS_MAX];
static Case rows[TESTS_MAX];
static int n_tests;

static void add_test(Arena *arena, const Case *row, CMUnitTestFunction test)
{
    rows[n_tests] = *row;
    const char *name = arena_printf(arena, "%s %s", row->op_type, row->example);
    tests[n_tests] = (struct CMUnitTest){name, test, NULL, NULL, &rows[n_tests]};
    n_tests++;
}

int main(void)
{
    device_open();
    Arena *arena = arena_new();
    const Registry *registry = registry_new(arena);
    for (int i = 0; i < registry_count(registry); i++) {
        const Operator *op = registry_at(registry, i);
        bool updates = op->kernel && (strcmp(op->kernel, "SgdUpdate") == 0 ||
                                      strcmp(op->kernel, "ClipFactor") == 0);
        bool derives = op->gradient && gradient_check_runs_alone(op->name);
        for (const char *e = example_next(op->name, NULL); e && (updates || derives);
             e = updates ? example_next(op->name, e) : NULL)
            add_test(arena, &(Case){NULL, op->name, e}, updates ? test_update : test_gradient);
    }
    for (size_t i = 0; i < COUNT_OF(larger); i++)
        add_test(arena, &larger[i], test_gradient);
    add_test(arena, &(Case){NULL, "Update", "of a step that is skipped"}, steps_are_skipped);
    cmocka_set_test_filter(getenv("ONLY"));
    int failed = _cmocka_run_group_tests("device_gradients", tests, (size_t)n_tests, NULL, NULL);
    print_message("%d calls done; the host's kernel does%s\n", device.n_done, device.without.s);
    arena_free(arena);
    device_close();
    return failed;
}
