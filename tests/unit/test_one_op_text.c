/* The command that shows an op of a model makes the same op: its index space is the same. */
#include "tests/unit/unit.h"

#include "core/rules/infer.h"
#include "core/rules/one_op.h"
#include "core/rules/one_op_text.h"
#include "scripts/hooks.h"

static Graph *read_back(Arena *arena, const Inferred *inferred, int32_t op, bool *whole, Error *err)
{
    const GraphOp *node = &inferred->graph->ops[op];
    const AttrList *attrs = &inferred->graph->attr_lists[node->attrs];
    OneOp one = {.op_type = str_from(op_operator(inferred->graph, op)), .n_outputs = 1};
    Buf text = buf_new(arena);

    *whole = one_op_put_operands(inferred, op, &text);
    if (!one_op_operands(arena, buf_str(&text), &one, err))
        return NULL;
    OneOpBuilder *builder = one_op_new(arena, &one);
    for (int i = 0; i < attrs->n; i++) {
        Buf attr = buf_new(arena);
        if (one_op_put_attr(inferred->graph, &attrs->at[i], &attr) &&
            !one_op_attr_text(builder, attr.s, err))
            return NULL;
    }
    return one_op_graph(builder, err);
}

static const char *space_text(Arena *arena, const OpSpace *space)
{
    Buf text = buf_new(arena);
    opspace_format(space, &text);
    return text.s;
}

/* Returns whether all of the op could be written. */
static bool compare_op(const Session *session, int32_t op)
{
    Arena *arena = arena_new();
    Error err = {0};
    const OpSpace *want = inferred_space(session->inferred, op);
    bool whole;
    Graph *graph = read_back(arena, session->inferred, op, &whole, &err);
    if (!graph)
        fail_msg("%s: %s", op_name(session->graph, op), err.text);
    DimBindings none = {0};
    const Inferred *alone = infer(arena, graph, session->inferred->registry, &none, false, &err);
    if (!alone)
        fail_msg("%s: %s", op_name(session->graph, op), err.text);
    const OpSpace *got = inferred_space(alone, 0);
    if (!want->no_rule && whole)
        assert_string_equal(space_text(arena, got), space_text(arena, want));
    arena_free(arena);
    return whole;
}

static void ops_of_a_model_are_read_back(void **state)
{
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    SessionOptions options = {.model = *state};
    Error err = {0};
    Session *session = session_open_model(&options, &hooks, &err);
    if (!session)
        fail_msg("%s", err.text);
    assert_true(session->inferred->n_program > 10);
    int n = session->inferred->n_program, n_whole = 0;
    for (int i = 0; i < n; i++)
        n_whole += compare_op(session, session->inferred->program[i]);
    assert_true(n_whole * 2 >= n);
    session_close(session);
    scripts_free(scripts);
    arena_free(arena);
}

int main(void)
{
    static const char *const models[] = {
        "samples/models/tiny-gpt.onnx", "samples/models/tiny-conv.onnx",
        "samples/models/llama-tiny.onnx", "samples/models/llama-3-tiny.json",
        "tests/families/phi3-dyn.onnx"};
    struct CMUnitTest tests[COUNT_OF(models)];
    for (size_t i = 0; i < COUNT_OF(models); i++)
        tests[i] = (struct CMUnitTest){.name = models[i],
                                       .test_func = ops_of_a_model_are_read_back,
                                       .initial_state = (void *)(uintptr_t)models[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
