/* What ops are on a device: every text is compiled as C and run, and must make what the host kernel
 * makes, on whole tensors of every type and on the parts of every cut that the op's rule allows. */
#include "tests/unit/on_device.h"

#include "tests/unit/nvrtc.h"

#include "core/rules/example.h"
#include "core/prove/rule_check.h"

typedef struct {
    const char *name, *op_type;
    const char *example;
    const char *dtype; /* of operands that say none; NULL: as they are, under every cut */
} Case;

/* What examples are too small for. */
static const struct {
    const char *op_types, *example;
} larger[] = {
    {"Softmax LogSoftmax", "6x3x1000"},
    {"Softmax", "2x3001"},
    {"Softmax", "2x16400"},
    {"Softmax", "3x40x5 axis=1"},
    {"LayerNormalization", "5x768,768,768 -> 3"},
    {"LayerNormalization", "2x4x1024,1024,1024 -> 1"},
    {"RMSNormalization", "3x2050,2050"},
    {"GroupNormalization", "2x6x40x41,6,6 num_groups=3"},
    {"Transpose", "70x90"},
    {"Transpose", "3x40x2x64 perm=[0,2,3,1]"},
    {"Transpose", "2x33x4x64 perm=[0,2,1,3]"},
    {"Add", "40x64,64"},
    {"Mul", "4x16x32,4x1x32"},
    {"Add", "5x7x3,5x1x1"},
    {"MatMul", "3x4x5,3x5x6"},
    {"MatMul", "2x3x4x5,2x1x5x6"},
    {"Gemm", "4x5,5x6,6"},
    {"Attention", "1x2x70x64,1x2x70x64,1x2x70x64 is_causal=1"},
    {"Attention", "1x4x40x80,1x2x50x80,1x2x50x96"},
    {"Attention", "2x33x48,2x45x24,2x45x24,33x45 q_num_heads=4 kv_num_heads=2"},
    {"ReduceSum ReduceMax ReduceLogSumExp", "3x5000,=[1]"},
    {"ReduceMean", "1200x3,=[0]"},
    {"ReduceSum", "5x6x7x8,=[0,2]"},
    {"ReduceSum", "2x600x4,=[1,2]"},
    {"Gemm", "5x4,6x5,4x1 transA=1 transB=1 alpha=0.5 beta=2.0"},
};

static void test_case(void **state)
{
    const Case *row = *state;
    Arena *arena = arena_new();
    Error err = {0};
    const DimBindings none = {0};
    Example example = example_read(arena, row->example);
    if (row->dtype)
        example.operands = example_operands(arena, example.operands, row->dtype);
    Graph *graph = example_op(arena, row->op_type, &example, &err);
    Inferred *inferred =
        graph ? infer(arena, graph, registry_new(arena), &none, false, &err) : NULL;
    const OpSpace *space = inferred ? inferred_space(inferred, 0) : NULL;
    const Kernel *host = space ? kernel_find(space, row->op_type) : NULL;
    if (host) {
        Kernel both = {host->name, on_both, host, host->first_value, host->rounding};
        OpSpace own = *space;
        own.own = &both;
        own.no_rule |= row->dtype != NULL;
        RuleProof proof = {.ok = true};
        bool ran = rule_check(arena, inferred, 0, &own, 1, &proof, &err);
        if (!ran && strstr(err.text, "on the device"))
            fail_msg("%s %s: %s", row->op_type, example.operands, err.text);
        if (!proof.ok)
            fail_msg("%s %s: %s", row->op_type, example.operands, proof.text);
    }
    arena_free(arena);
}

enum { TESTS_MAX = 8192 };

static struct CMUnitTest tests[TESTS_MAX];
static Case rows[TESTS_MAX];
static int n_tests;

/* Under every cut; and the first example of an operator in the first n other types. */
static void add_tests(Arena *arena, const char *name, const char *example, size_t n_dtypes)
{
    static const char *const dtypes[] = {NULL, "bf16", "i64", "f16", "f64", "bool"};
    for (size_t d = 0; d <= n_dtypes; d++) {
        const char *test = arena_printf(arena, "%s %.*s %s", name, (int)strcspn(example, " "),
                                        example, dtypes[d] ? dtypes[d] : "cut");
        rows[n_tests] = (Case){test, name, example, dtypes[d]};
        tests[n_tests] = (struct CMUnitTest){test, test_case, NULL, NULL, &rows[n_tests]};
        n_tests++;
    }
}

/* ---- as code of a GPU ---- */

/* Registers of a multiprocessor; one text in so many is compiled for other GPUs too; what calls of
 * the library's functions of 64 bits may put aside; optimizers compute in double. */
enum { REGISTERS = 65536, ELSEWHERE_EACH = 12, CALL_BYTES = 64 };

static void must_compile(const Nvrtc *nvrtc, int32_t id, const char *architecture, int *most)
{
    Arena *arena = arena_new();
    Resources used;
    const char *log;
    if (!nvrtc_compile(nvrtc, arena, device_text(device.texts, id).s, architecture, &used, &log))
        fail_msg("%s for %s: %s", device.name[id], architecture, log);
    bool doubles =
        strstr(device.name[id], "64") || str_starts(str_from(device.name[id]), STR("apply_"));
    int allowed = doubles ? CALL_BYTES : 0;
    if (used.spill_bytes > allowed || used.registers * device.threads[id] > REGISTERS)
        fail_msg("%s for %s: %d registers, %d bytes spilled, %d threads", device.name[id],
                 architecture, used.registers, used.spill_bytes, device.threads[id]);
    *most = used.registers > *most ? used.registers : *most;
    arena_free(arena);
}

/* No text of those that were run spills, or needs more registers than its threads have. */
static void texts_fit_a_gpu(void **state)
{
    (void)state;
    Nvrtc nvrtc = nvrtc_open();
    int most = 0, n = device_texts_count(device.texts);
    if (!nvrtc.library) {
        print_message("there is no NVRTC here\n");
        skip();
    }
    for (int32_t id = 0; id < n; id++)
        must_compile(&nvrtc, id, "sm_90", &most);
    for (int32_t id = 0; id < n; id += ELSEWHERE_EACH) {
        must_compile(&nvrtc, id, "sm_80", &most);
        must_compile(&nvrtc, id, "sm_100", &most);
    }
    print_message("%d texts, at most %d registers a thread\n", n, most);
}

int main(void)
{
    device_open();
    Arena *arena = arena_new();
    const Registry *registry = registry_new(arena);
    for (int i = 0; i < registry_count(registry); i++) {
        const char *name = registry_at(registry, i)->name;
        for (const char *e = example_next(name, NULL); e; e = example_next(name, e))
            add_tests(arena, name, e, e == example_next(name, NULL) ? 2 : 0);
        for (size_t e = 0; e < COUNT_OF(larger); e++)
            if (str_has_word(str_from(larger[e].op_types), str_from(name)))
                add_tests(arena, name, larger[e].example, 5);
    }
    cmocka_set_test_filter(getenv("ONLY"));
    int failed = _cmocka_run_group_tests("device_work", tests, (size_t)n_tests, NULL, NULL);
    const struct CMUnitTest code[] = {cmocka_unit_test(texts_fit_a_gpu)};
    failed += cmocka_run_group_tests_name("device_texts", code, NULL, NULL);
    print_message("%d calls done; the host's kernel does%s\n", device.n_done, device.without.s);
    arena_free(arena);
    device_close();
    return failed;
}
