/* Attention whose queries, keys and values are one tensor: it is read as three, and computes, on
 * ranks too, what it does with three. */
#include "tests/unit/planning_text.h"

#include "tests/unit/onnx_made.h"

#include "core/run/run.h"

typedef struct {
    const char *name;
    const char *input, *dims;  /* the packed tensor */
    const char *alone, *split; /* nodes: it alone; what makes q, k and v of it, and with these */
    bool grouped;
    const char *mesh, *pin; /* of the packed tensor; NULL: none */
} PackedRow;

static PackedRow rows[] = {
    {"grouped queries", "x", "2,5,48", "com.microsoft::GroupQueryAttention one: x _ _ _ _ n t -> y",
     "com.microsoft::GroupQueryAttention two: q k v _ _ n t -> z", true, "tp=2",
     "2,5,(24|12|12)/tp"},
    {"heads of three operands", "x", "2,5,4,3,6", "com.microsoft::MultiHeadAttention one: x -> y",
     "com.microsoft::MultiHeadAttention two: q k v -> z", false, "tp=2", "2,5,4/tp,3,6"},
};

static void add_attention(Body *body, const PackedRow *row, const char *text)
{
    Buf node = node_begin(body->arena, text);
    node_int(&node, "num_heads", 4);
    if (row->grouped)
        node_int(&node, "kv_num_heads", 2);
    body_add(body, &node);
}

/* The same heads by operators of ONNX. */
static void add_operands(Body *body, const PackedRow *row)
{
    if (row->grouped) {
        Buf node = node_begin(body->arena, "Split parts: x sizes -> q k v");
        node_int(&node, "axis", 2);
        body_ints(body, "sizes", "24,12,12", false);
        body_add(body, &node);
        body_ints(body, "t", "5", true); /* keys in all, and those of each sample but one */
        body_ints(body, "lengths", "4,4", false);
        Buf cast = node_begin(body->arena, "Cast -: lengths -> n");
        node_int(&cast, "to", 6);
        body_add(body, &cast);
        return;
    }
    Buf node = node_begin(body->arena, "Split parts: x -> q3 k3 v3");
    node_int(&node, "axis", 3);
    body_add(body, &node);
    body_ints(body, "flat", "2,5,24", false);
    body_node(body, "Reshape -: q3 flat -> q");
    body_node(body, "Reshape -: k3 flat -> k");
    body_node(body, "Reshape -: v3 flat -> v");
}

/* The output is by how much the two forms differ. */
static Planning *planning_packed(const PackedRow *row)
{
    Error err = {0};
    Arena *arena = arena_new();
    Body body = body_new(arena);
    body_input(&body, row->input, DT_F32, row->dims);
    add_operands(&body, row);
    add_attention(&body, row, row->alone);
    add_attention(&body, row, row->split);
    body_node(&body, "Sub off: y z -> d");
    body_output(&body, "d");
    Planning *p = arena_make(arena, Planning);
    p->arena = arena;
    p->graph = onnx_read(arena, "made.onnx", model_bytes(&body, 18, NULL, 0), &err);
    if (!p->graph)
        planning_fail(&err);
    planning_infer(p, "", row->mesh);
    return p;
}

static void it_is_that_of_three(void **state)
{
    const PackedRow *row = *state;
    static const RunOptions verified = {.verify = true, .seed = 3, .repeat = 1};
    Error err = {0};
    RunReport report;
    Planning *p = planning_packed(row);
    planning_pin_text(p, graph_find_tensor(p->graph, str_from(row->input)), str_from(row->pin));
    planning_make(p);
    int n_parts = 0;
    for (int32_t op = 0; op < p->graph->n_ops; op++)
        n_parts += strcmp(op_operator(p->graph, op), "SplitHeads") == 0;
    assert_int_equal(n_parts, 1);
    assert_string_equal(planning_collectives(p), ""); /* heads stay where they are */
    if (!run_plan(p->arena, p->plan, &verified, &report, &err))
        planning_fail(&err);
    assert_true(report.ok);
    int32_t off = graph_find_tensor(p->graph, STR("d"));
    Local **zeros = arena_array(p->arena, Local *, p->graph->n_tensors);
    Sharding whole = sharding_whole(inferred_shape(p->inferred, off));
    zeros[off] = local_new(DT_F32, inferred_shape(p->inferred, off), &whole, p->mesh, 0);
    if (!run_expecting(p->arena, p->plan, &verified, zeros, &report, &err))
        planning_fail(&err);
    assert_int_equal(report.n_outputs, 1);
    assert_true(report.outputs[0].max_abs < 1e-5);
    local_free(zeros[off]);
    planning_close(p);
}

/* Heads that do not fit are refused by name. */
static void heads_must_fit(void **state)
{
    (void)state;
    Error err = {0};
    Arena *arena = arena_new();
    Body body = body_new(arena);
    DimBindings none = {0};
    body_input(&body, "x", DT_F32, "2,5,50");
    add_attention(&body, &rows[0], "com.microsoft::GroupQueryAttention one: x -> y");
    body_output(&body, "y");
    Graph *graph = onnx_read(arena, "made.onnx", model_bytes(&body, 18, NULL, 0), &err);
    assert_non_null(graph);
    const Inferred *inferred = infer(arena, graph, registry_new(arena), &none, false, &err);
    assert_true(inferred && inferred->findings.n > 0);
    assert_non_null(strstr(inferred->findings.at[0].text,
                           "the 50 numbers of dim 2 are no multiple of 8 heads"));
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(heads_must_fit)};
    return run_rows("packed heads", rows, it_is_that_of_three) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
