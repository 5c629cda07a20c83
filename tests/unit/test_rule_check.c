/* Every built-in rule that has a kernel, proven by brute force on its examples; and wrong rules,
 * which the proof must find. */
#include "tests/unit/unit.h"

#include "core/rules/example.h"
#include "core/prove/rule_check.h"

#include <stdio.h>

typedef struct {
    const char *op_type;
    const char *example;
} Proved;

static const OpSpace *infer_one(Arena *arena, const char *op_type, const char *example,
                                const Inferred **out)
{
    Error err = {0};
    Graph *graph = example_graph(arena, op_type, example, &err);
    if (!graph)
        fail_msg("%s: %s", op_type, err.text);
    *out = rule_check_infer(arena, graph, registry_new(arena), 1, &err);
    if (!*out)
        fail_msg("%s: %s", op_type, err.text);
    const OpSpace *space = inferred_space(*out, 0);
    if (!space)
        fail_msg("%s is a host op", op_type);
    const Kernel *kernel = kernel_find(space, op_type);
    bool decides = kernel && kernel->first_value == KERNEL_DECIDES; /* sizes that no rule knows */
    if (space->no_rule && !decides)
        fail_msg("%s %s: %s", op_type, example,
                 (*out)->findings.n ? (*out)->findings.at[0].text : "no rule");
    return space;
}

/* Sequences are no operands of one op alone: such ops are tested in programs. */
static bool needs_example(const char *op_type)
{
    return rule_check_runs_alone(op_type) &&
           kernel_find(NULL, op_type)->first_value != KERNEL_LISTS;
}

/* The rule's claims hold on every cut. */
static void test_proof(void **state)
{
    const Proved *row = *state;
    Arena *arena = arena_new();
    const Inferred *inferred;
    RuleProof proof;
    Error err = {0};
    const OpSpace *space = infer_one(arena, row->op_type, row->example, &inferred);
    if (!rule_check(arena, inferred, 0, space, 1, &proof, &err))
        fail_msg("%s: %s", row->op_type, err.text);
    if (!proof.ok)
        fail_msg("%s %s: %s", row->op_type, row->example, proof.text);
    for (int o = 0; o < inferred->graph->ops[0].n_outputs; o++) {
        int32_t t = op_outputs(inferred->graph, 0)[o];
        if (t >= 0 && !inferred_shape(inferred, t))
            fail_msg("%s: output %d has no size", row->op_type, o);
    }
    arena_free(arena);
}

/* ---- wrong rules ---- */

/* What makes a right op space wrong: the index dim of that name gets a role, input 0 a linearity.
 */
typedef struct {
    const char *name, *op_type, *index;
    IndexRole role;
    ReduceOp reduce;
    Linear linear;
    const char *says; /* in the text of the proof */
} Wrong;

static Wrong wrongs[] = {
    {"softmax cut along its axis", "Softmax", "d", ROLE_MAP, REDUCE_NONE, LINEAR_NO, "d 6/b"},
    {"a max summed", "ReduceMax", "d", ROLE_REDUCE, REDUCE_SUM, LINEAR_NO, "on one device"},
    {"a sum taken as max", "ReduceSum", "d", ROLE_REDUCE, REDUCE_MAX, LINEAR_NO, "on one device"},
    {"relu of addends", "Relu", NULL, ROLE_MAP, REDUCE_NONE, LINEAR_ALONE,
     "input 0 partial over a"},
    {"one addend of a sum", "Add", NULL, ROLE_MAP, REDUCE_NONE, LINEAR_ALONE, "input 0 partial"},
    {"arg max of a part", "ArgMax", "d", ROLE_REDUCE, REDUCE_MAX, LINEAR_NO, "d 6/b"},
};

static OpSpace *changed(Arena *arena, const OpSpace *space, const Wrong *wrong)
{
    OpSpace *copy = arena_make(arena, OpSpace);
    *copy = *space;
    int n = space->n_inputs + space->n_outputs;
    copy->operand = arena_array(arena, Operand, n);
    memcpy(copy->operand, space->operand, (size_t)n * sizeof *copy->operand);
    copy->operand[0].linear = wrong->linear;
    for (int i = 0; wrong->index && i < copy->n_index; i++)
        if (strcmp(copy->index[i].name, wrong->index) == 0) {
            copy->index[i].role = wrong->role;
            copy->index[i].reduce = wrong->reduce;
        }
    return copy;
}

static void test_wrong(void **state)
{
    const Wrong *wrong = *state;
    Arena *arena = arena_new();
    const Inferred *inferred;
    RuleProof proof;
    Error err = {0};
    const OpSpace *space =
        infer_one(arena, wrong->op_type, example_next(wrong->op_type, NULL), &inferred);
    assert_true(rule_check(arena, inferred, 0, changed(arena, space, wrong), 1, &proof, &err));
    assert_false(proof.ok);
    if (!strstr(proof.text, wrong->says))
        fail_msg("%s", proof.text);
    arena_free(arena);
}

/* No operator with a kernel is left out, but for those that make a tensor of nothing cut. */
static void test_all_have_examples(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const Registry *registry = registry_new(arena);
    Buf missing = buf_new(arena);
    for (int i = 0; i < registry_count(registry); i++) {
        const char *name = registry_at(registry, i)->name;
        const Kernel *kernel = kernel_find(NULL, name);
        bool makes = false;
        for (const Kernel *made = kernels_make; made->name; made++)
            makes |= made == kernel;
        if (!makes && needs_example(name) && !example_next(name, NULL))
            buf_printf(&missing, " %s", name);
    }
    if (missing.n > 0)
        fail_msg("no example of%s", missing.s);
    arena_free(arena);
}

int main(void)
{
    enum { TESTS_MAX = 1024 };
    static struct CMUnitTest tests[TESTS_MAX];
    static Proved rows[TESTS_MAX];
    static char names[TESTS_MAX][80];
    int n = 0;
    Arena *arena = arena_new();
    const Registry *registry = registry_new(arena);
    for (int i = 0; i < registry_count(registry); i++) {
        const char *name = registry_at(registry, i)->name;
        for (const char *e = example_next(name, NULL); e; e = example_next(name, e)) {
            if (!rule_check_runs_alone(name))
                continue;
            rows[n] = (Proved){name, e};
            snprintf(names[n], sizeof names[n], "%s %.*s", name, (int)strcspn(e, " "), e);
            tests[n] = (struct CMUnitTest){names[n], test_proof, NULL, NULL, &rows[n]};
            n++;
        }
    }
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++)
        tests[n++] = (struct CMUnitTest){wrongs[i].name, test_wrong, NULL, NULL, &wrongs[i]};
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(test_all_have_examples);
    int failed = _cmocka_run_group_tests("rule_check", tests, (size_t)n, NULL, NULL);
    arena_free(arena);
    return failed;
}
