/* What ops are on a device: every text is compiled as C and run, and must make what the host kernel
 * makes, on whole tensors of every type and on the parts of every cut that the op's rule allows. */
#include "tests/unit/on_device.h"

#include "core/rules/example.h"
#include "core/run/rule_check.h"

typedef struct {
    const char *name, *operator;
    const Example *example;
    const char *dtype; /* of operands that say none; NULL: as they are, under every cut */
} Case;

/* The host's kernel, then the device's work on the same parts. */
static bool on_both(const KernelCall *call, Error *err)
{
    KernelCall host = *call;
    host.kernel = call->kernel->row;
    if (!host.kernel->run(&host, err))
        return false;
    const KernelCall *run[] = {&host};
    Buf wrong = buf_new(call->scratch);
    on_device(run, 1, (bool[]){true}, &wrong);
    return wrong.n == 0 || error_kind(err, ERROR_RUN, "%s", wrong.s);
}

static const char *with_dtype(Arena *arena, const char *operands, const char *dtype)
{
    Buf out = buf_new(arena);
    int depth = 0;
    for (const char *item = operands; *item; item = *item ? item + 1 : item) {
        const char *end = item;
        for (; *end && (*end != ',' || depth > 0); end++)
            depth += (*end == '[') - (*end == ']');
        Str text = {item, (size_t)(end - item)};
        bool typed = str_find(text, STR(":")) >= 0 || *item == '=' || *item == '-' ||
                     str_find(text, STR(">")) >= 0;
        buf_printf(&out, "%s%.*s%s%s", item == operands ? "" : ",", STR_ARG(text), typed ? "" : ":",
                   typed ? "" : dtype);
        item = end;
        if (!*item)
            break;
    }
    return out.s;
}

static void test_case(void **state)
{
    const Case *row = *state;
    Arena *arena = arena_new();
    Error err = {0};
    const DimBindings none = {0};
    Example example = *row->example;
    if (row->dtype)
        example.operands = with_dtype(arena, example.operands, row->dtype);
    Graph *graph = example_graph(arena, row->operator, & example, &err);
    Inferred *inferred =
        graph ? infer(arena, graph, registry_new(arena), &none, false, &err) : NULL;
    const OpSpace *space = inferred ? inferred_space(inferred, 0) : NULL;
    const Kernel *host = space ? kernel_find(space, row->operator) : NULL;
    if (host) {
        Kernel both = {host->name, on_both, host, host->first_value};
        OpSpace own = *space;
        own.own = &both;
        own.no_rule |= row->dtype != NULL;
        RuleProof proof = {.ok = true};
        bool ran = rule_check(arena, inferred, 0, &own, 1, &proof, &err);
        if (!ran && strstr(err.text, "on the device"))
            fail_msg("%s %s: %s", row->operator, example.operands, err.text);
        if (!proof.ok)
            fail_msg("%s %s: %s", row->operator, example.operands, proof.text);
    }
    arena_free(arena);
}

int main(void)
{
    static const char *const dtypes[] = {NULL, "bf16", "f16", "f64", "i32", "i64", "bool", "u8"};
    enum { TESTS_MAX = 8192 };
    static struct CMUnitTest tests[TESTS_MAX];
    static Case rows[TESTS_MAX];
    int n = 0;
    device_open();
    Arena *arena = arena_new();
    const Registry *registry = registry_new(arena);
    for (int i = 0; i < registry_count(registry); i++) {
        const char *name = registry_at(registry, i)->name;
        for (const Example *e = example_next(name, NULL); e; e = example_next(name, e))
            for (size_t d = 0; d < COUNT_OF(dtypes); d++) {
                const char *test = arena_printf(arena, "%s %s %s", name, e->operands,
                                                dtypes[d] ? dtypes[d] : "cut");
                rows[n] = (Case){test, name, e, dtypes[d]};
                tests[n] = (struct CMUnitTest){test, test_case, NULL, NULL, &rows[n]};
                n++;
            }
    }
    int failed = _cmocka_run_group_tests("device_work", tests, (size_t)n, NULL, NULL);
    printf("texts: %d, calls: %d\nwithout:%s\n", (int)device_texts_count(device.texts),
           device.n_done, device.without.s);
    arena_free(arena);
    device_close();
    return failed;
}
