/* Gradients of every operator that has some, on its examples: by differences and under every cut;
 * and wrong gradients, which the check must find. */
#include "tests/unit/unit.h"

#include "core/prove/gradient_check.h"
#include "core/prove/rule_check.h"
#include "core/rules/derivative.h"
#include "core/rules/example.h"

#include <stdio.h>

typedef struct {
    const char *op_type, *example;
    bool runs; /* there is something to differentiate */
} Checked;

/* Forms that the examples do not have. */
static const Checked more[] = {
    {"Clip", "5x6", true},
    {"Clip", "5x6 min=-1.0 max=0.5", true},
    {"Elu", "5x6 alpha=2.5", true},
    {"Celu", "5x6 alpha=2.5", true},
    {"Selu", "5x6 alpha=2.5 gamma=0.5", true},
    {"Shrink", "5x6 bias=0.25 lambd=0.75", true},
    {"Gelu", "5x6 approximate=tanh", true},
    {"Swish", "5x6 alpha=1.5", true},
    {"SwiGLU", "5x6,5x6 alpha=1.5", true},
    {"com.microsoft::QuickGelu", "5x6 alpha=0.5", true},
    {"Pow", "5x1,6", true},
    {"Mod", "5x6,6 fmod=1", true},
    {"Max", "5x6,6,5x1", true},
    {"Mean", "5x6,6,5x1", true},
    {"ReduceMax", "5x6x4 keepdims=0", true},
    {"ReduceL2", "5x6x4,=[0,2] keepdims=1", true},
    {"ReduceLogSumExp", "5x6x4,=[0,2] keepdims=1", true},
    {"ReduceProd", "5x6 noop_with_empty_axes=1", true},
    {"CumSum", "5x6x4,=0 exclusive=1 reverse=1", true},
    {"LpNormalization", "5x6x4 axis=0 p=1", true},
    {"LayerNormalization", "5x6x4,6x4,6x4 axis=1 stash_type=11 -> 3", true},
    {"LayerNormalization", "5x6x4,6x1,4 axis=1", true},
    {"SimplifiedLayerNormalization", "5x6x4,6x4 axis=1 stash_type=11 -> 2", true},
    {"BatchNormalization", "3x5,5,5,5,5", true},
    {"BatchNormalization", "3x5x4,5,5,5,5 training_mode=1 momentum=0.75 -> 3", true},
    {"GroupNormalization", "3x6x4,6,6 num_groups=1", true},
    {"MeanVarianceNormalization", "3x5x4 axes=[1]", true},
    {"LRN", "3x7x5 size=4 alpha=0.5 beta=0.75 bias=1.5", true},
    {"com.microsoft::SkipLayerNormalization", "5x6x4,6x4,4", true},
    {"com.microsoft::SkipSimplifiedLayerNormalization", "5x6x4,1x6x4,4,4 -> 4", true},
    {"SoftmaxCrossEntropyLoss", "5x6x4,5x4:i64,6 ignore_index=1 -> 2", true},
    {"NegativeLogLikelihoodLoss", "5x6x4,5x4:i64,6 ignore_index=1", true},
};

/* Parts of a cross entropy: the gradient of the last one is that of all of them. */
static bool is_part(const char *op_type)
{
    return strcmp(op_type, "SumExp") == 0 || strcmp(op_type, "TokenLoss") == 0;
}

static Graph *graph_of(Arena *arena, const Checked *row, Error *err)
{
    Example example = example_read(arena, row->example);
    example.operands = example_operands(arena, example.operands, "f64");
    return example_op(arena, row->op_type, &example, err);
}

/* The gradients are the differences, under every cut. Examples without floats are not run. */
static void test_gradient(void **state)
{
    const Checked *row = *state;
    Arena *arena = arena_new();
    Error err = {0};
    GradientProof proof;
    Graph *graph = graph_of(arena, row, &err);
    if (!graph)
        fail_msg("%s %s: %s", row->op_type, row->example, err.text);
    bool ran = gradient_check(arena, graph, registry_new(arena), 1, &proof, &err);
    if (!ran && (row->runs || err.kind != ERROR_UNSUPPORTED))
        fail_msg("%s %s: %s", row->op_type, row->example, err.text);
    if (ran && !proof.proof.ok)
        fail_msg("%s %s: %s", row->op_type, row->example, proof.proof.text);
    if (ran)
        assert_true(proof.n_elements > 0);
    else
        print_message("not run: %s\n", err.text);
    arena_free(arena);
}

/* ---- wrong gradients ---- */

typedef struct {
    const char *kernel, *anno, *gradient, *example, *says;
} Wrong;

static Wrong wrongs[] = {
    {"Neg", "n d -> n d", "0: contract", "5x6", "by differences"},
    {"Neg", "n d -> n d", "0: zero", "5x6", "by differences"},
    {"Mul", "n d, n d -> n d", "0: contract(x1); 1: contract(x1)", "5x6,5x6", "'input 1' is"},
    {"Softmax", "n d -> n d", "0: SoftmaxBackward(y0)", "5x6", "d 6/"},
};

static void test_wrong(void **state)
{
    const Wrong *wrong = *state;
    Arena *arena = arena_new();
    Error err = {0};
    GradientProof proof;
    const char *const annos[] = {wrong->anno, NULL};
    const AnnoSource source = {.annos = annos, .file = "test"};
    const Checked row = {"my.op", wrong->example, true};
    Registry *registry = registry_new(arena);
    registry_add(registry, &(Operator){.name = "my.op",
                                       .anno = &source,
                                       .own = kernel_find(NULL, wrong->kernel),
                                       .gradient = wrong->gradient});
    if (!gradient_check(arena, graph_of(arena, &row, &err), registry, 1, &proof, &err))
        fail_msg("%s", err.text);
    assert_false(proof.proof.ok);
    if (!strstr(proof.proof.text, wrong->says))
        fail_msg("%s", proof.proof.text);
    arena_free(arena);
}

int main(void)
{
    enum { TESTS_MAX = 1024 };
    static struct CMUnitTest tests[TESTS_MAX];
    static Checked rows[TESTS_MAX];
    static char names[TESTS_MAX][80];
    int n = 0;
    Arena *arena = arena_new();
    const Registry *registry = registry_new(arena);
    for (int i = 0; i < registry_count(registry); i++) {
        const Operator *row = registry_at(registry, i);
        bool alone = row->gradient && !is_part(row->name);
        for (const char *e = alone ? example_next(row->name, NULL) : NULL; e;
             e = example_next(row->name, e))
            rows[n++] = (Checked){row->name, e, false};
    }
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        rows[n++] = more[i];
    for (int i = 0; i < n; i++) {
        snprintf(names[i], sizeof names[i], "%s %.*s", rows[i].op_type,
                 (int)strcspn(rows[i].example, ";"), rows[i].example);
        tests[i] = (struct CMUnitTest){names[i], test_gradient, NULL, NULL, &rows[i]};
    }
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++)
        tests[n++] = (struct CMUnitTest){arena_printf(arena, "%s is not the gradient of %s",
                                                      wrongs[i].gradient, wrongs[i].kernel),
                                         test_wrong, NULL, NULL, &wrongs[i]};
    int failed = _cmocka_run_group_tests("gradient", tests, (size_t)n, NULL, NULL);
    arena_free(arena);
    return failed;
}
