/* Ops that are written out as others: what comes out has the shapes and types that the operator's
 * own rule says, for every example that has a form; what they compute is in tests/contributed. */
#include "tests/unit/unit.h"

#include "core/fuse/write_out.h"
#include "core/rules/example.h"
#include "core/rules/written/written.h"

/* Examples that stay whole, and why. */
static const struct {
    const char *operator, * part;
} kept[] = {
    {"com.microsoft::PackedAttention", "a bias of its scores"},
    {"com.microsoft::GatherBlockQuantized", "other than rows"},
};

static const Inferred *inferred_of(Arena *arena, const Graph *graph)
{
    const DimBindings none = {0};
    Error err = {0};
    const Inferred *inferred = infer(arena, graph, registry_new(arena), &none, true, &err);
    if (!inferred)
        fail_msg("%s", err.text);
    return inferred;
}

/* *kept_by: the note of what stays. */
static const Inferred *written(Arena *arena, Graph *graph, const char **kept_by)
{
    const DimBindings none = {0};
    Error err = {0};
    Findings notes = {0};
    const Inferred *inferred =
        infer_written(arena, &graph, registry_new(arena), &none, NULL, true, NULL, &notes, &err);
    if (!inferred)
        fail_msg("%s", err.text);
    *kept_by = notes.n > 0 ? notes.at[0].text : NULL;
    return inferred;
}

static bool is_kept(const char *name, const char *note)
{
    for (size_t i = 0; i < COUNT_OF(kept); i++)
        if (strcmp(kept[i].operator, name) == 0 && strstr(note, kept[i].part))
            return true;
    return false;
}

static int n_differences(Arena *arena, const Inferred *one, const Inferred *all)
{
    int n = 0;
    for (int o = 0; o < one->graph->ops[0].n_outputs; o++) {
        int32_t t = op_outputs(one->graph, 0)[o];
        int32_t now = graph_find_tensor(all->graph, str_from(tensor_name(one->graph, t)));
        Buf want = buf_new(arena), got = buf_new(arena);
        assert_true(now >= 0);
        const Shape *shape = inferred_shape(one, t), *made = inferred_shape(all, now);
        buf_puts(&want, dtype_name((Dtype)one->dtype[t]));
        buf_puts(&got, dtype_name((Dtype)all->dtype[now]));
        if (shape && made) { /* sizes known only at run time are not known everywhere */
            shape_format(shape, &want);
            shape_format(made, &got);
        }
        if (strcmp(want.s, got.s) != 0) {
            print_error("output %d: the rule says %s, and it becomes %s\n", o, want.s, got.s);
            n++;
        }
    }
    return n;
}

static void what_comes_out_is_what_the_rule_says(void **state)
{
    int n_wrong = 0, n_written = 0;
    (void)state;
    for (const Operator *row = operator_next(NULL); row; row = operator_next(row)) {
        if (!written_text(row->name))
            continue;
        for (const char *e = example_next(row->name, NULL); e; e = example_next(row->name, e)) {
            Arena *arena = arena_new();
            Error err = {0};
            const char *note;
            Graph *graph = example_graph(arena, row->name, e, &err);
            if (!graph)
                fail_msg("%s: %s", row->name, err.text);
            const Inferred *one = inferred_of(arena, graph), *all = written(arena, graph, &note);
            bool wrong = note ? !is_kept(row->name, note) : n_differences(arena, one, all) > 0;
            if (wrong)
                print_error("%s: %s\n", row->name, note ? note : e);
            n_written += !note;
            n_wrong += wrong;
            arena_free(arena);
        }
    }
    assert_int_equal(n_wrong, 0);
    assert_true(n_written > 60);
}

static void texts_of_operators_with_a_kernel_keep_some(void **state)
{
    (void)state;
    for (const Operator *row = operator_next(NULL); row; row = operator_next(row))
        if (written_text(row->name) && row->kernel && !strstr(written_text(row->name), "] keep;"))
            fail_msg("%s has a kernel and is always written out", row->name);
}

static void what_has_no_row_has_a_reason(void **state)
{
    (void)state;
    for (const Operator *row = operator_next(NULL); row; row = operator_next(row))
        if (written_reason(row->name))
            fail_msg("%s has a row, and a reason why it has none", row->name);
    assert_string_equal(written_reason("com.microsoft::DecoderAttention"),
                        "whose shapes depend on the elements of its inputs");
    assert_null(written_reason("DecoderAttention"));
    assert_null(written_reason("com.microsoft::Sparse"));
    Arena *arena = arena_new();
    GraphBuilder *builder = graph_builder_new(arena, "one");
    int32_t x = graph_tensor(builder, STR("x")), y = graph_tensor(builder, STR("y"));
    graph_add_input(builder, x, DT_F32, (DeclaredDim[]){{.size = 4}}, 1);
    graph_add_op(builder, STR("com.microsoft::BeamSearch"), STR("op"), STR(""), &x, 1, &y, 1, 0);
    graph_add_output(builder, y);
    const Inferred *inferred = inferred_of(arena, graph_seal(builder, NULL));
    assert_int_equal(inferred->findings.n, 1);
    assert_non_null(strstr(inferred->findings.at[0].text, "a search, which runs a model"));
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_out_is_what_the_rule_says),
        cmocka_unit_test(what_has_no_row_has_a_reason),
        cmocka_unit_test(texts_of_operators_with_a_kernel_keep_some),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
