#include "tests/unit/unit.h"
#include "tests/unit/graph_lines.h"

#include <inttypes.h>

typedef struct {
    const char *name, *graph;
    const char *want; /* names of the ops in program order, or the error and hint */
} Row;

static Row rows[] = {
    {"file order is kept", "in x\nb:Relu x -> y\na:Relu x -> z", "b a"},
    {"order of data wins", "in x\nlast:Add y z -> w\nb:Relu x -> y\na:Relu y -> z\nout w",
     "b a last"},
    {"file order breaks ties", "in x\nc:Add q p -> w\nz:Relu x -> p\na:Relu x -> q\nm:Relu x -> r",
     "z a c m"},
    {"nothing", "", ""},
    {"unnamed ops get names", "in x\nRelu x -> y\nRelu y -> z", "Relu_0 Relu_1"},
    {"given names come first", "in x\nRelu x -> y\nRelu_0:Exp y -> z", "Relu_0_ Relu_0"},
    {"equal names are told apart", "in x\na:Relu x -> y\na:Exp y -> z\na:Exp z -> w", "a a_1 a_2"},
    {"absent operands", "in x\na:Clip x _ x -> y _\nout y", "a"},
    {"input that is an initializer", "in w\nweight w\na:Relu w -> y", "a"},
    {"initializer that is an input", "weight w\nin w\na:Relu w -> y", "a"},
    {"output nobody computes", "in x\nout x", ""},
    {"cycle", "in x\na:Add x c -> b\nm:Relu b -> c\nz:Relu c -> d",
     "the graph has a cycle: op 'a' depends on its own output 'b' (a loop must be a Loop or Scan "
     "op, whose body is a graph of its own)"},
    {"op that reads itself", "a:Relu y -> y",
     "the graph has a cycle: op 'a' depends on its own output 'y' (a loop must be a Loop or Scan "
     "op, whose body is a graph of its own)"},
    {"dangling input", "in x\na:Add x lost -> y",
     "tensor 'lost', read by op 'a', is made by no op (a graph cut out of a larger one must list "
     "what it reads as inputs)"},
    {"dangling output", "in x\na:Relu x -> y\nout z",
     "tensor 'z', read by the graph's list of outputs, is made by no op (a graph cut out of a "
     "larger one must list what it reads as inputs)"},
    {"made twice", "in x\na:Relu x -> y\nExp x -> y",
     "tensor 'y' is made by op 'a', and is made by op 'Exp' too (every tensor of a graph has one "
     "maker: rename one of the two)"},
    {"made twice by one op", "in x\na:Split x -> y y",
     "tensor 'y' is made by op 'a', and is made by op 'a' too (every tensor of a graph has one "
     "maker: rename one of the two)"},
    {"input made by an op", "in x\na:Relu x -> x",
     "tensor 'x' is an input of the graph, and is made by op 'a' too (every tensor of a graph has "
     "one maker: rename one of the two)"},
    {"two inputs of one name", "in x\nin x",
     "tensor 'x' is an input of the graph, and is listed as an input (every tensor of a graph has "
     "one maker: rename one of the two)"},
    {"initializer twice", "weight w\nweight w",
     "tensor 'w' is an initializer, and is listed as an initializer (every tensor of a graph has "
     "one maker: rename one of the two)"},
    {"initializer made by an op", "in x\na:Relu x -> w\nweight w",
     "tensor 'w' is made by op 'a', and is listed as an initializer (every tensor of a graph has "
     "one maker: rename one of the two)"},
};

static void check_uses(const Graph *graph)
{
    for (int32_t tensor = 0, at = 0; tensor < graph->n_tensors; tensor++) {
        assert_int_equal(graph->tensors[tensor].use, at);
        for (int i = 1; i < tensor_n_uses(graph, tensor); i++)
            assert_true(graph->uses[at + i - 1] <= graph->uses[at + i]);
        at += tensor_n_uses(graph, tensor);
    }
}

static void graph_is_ordered_and_checked(void **state)
{
    const Row *row = *state;
    Arena *arena = arena_new();
    Error err = {0};
    Buf out = buf_new(arena);
    Graph *graph = build_lines(arena, row->graph, &err);
    if (!graph) {
        buf_printf(&out, "%s (%s)", err.text, err.hint);
    } else {
        for (int32_t op = 0; op < graph->n_ops; op++) {
            buf_printf(&out, "%s%s", op > 0 ? " " : "", op_name(graph, op));
            assert_int_equal(graph_find_op(graph, str_from(op_name(graph, op))), op);
        }
        check_uses(graph);
    }
    assert_string_equal(out.s, row->want);
    arena_free(arena);
}

static void uses_list_every_operand(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Error err = {0};
    const Graph *graph = build_lines(arena, "in x\nAdd x x -> y\nMul y x -> z\nout z", &err);
    int32_t x = graph_find_tensor(graph, STR("x"));
    assert_int_equal(tensor_n_uses(graph, x), 3);
    const int32_t *uses = graph->uses + graph->tensors[x].use;
    assert_int_equal(uses[0], 0);
    assert_int_equal(uses[1], 0);
    assert_int_equal(uses[2], 1);
    assert_int_equal(tensor_n_uses(graph, graph_find_tensor(graph, STR("z"))), 0);
    assert_true(graph->tensors[graph_find_tensor(graph, STR("z"))].output);
    assert_int_equal(graph_find_tensor(graph, STR("Add")), -1);
    assert_int_equal(graph_find_tensor(graph, STR("nothing")), -1);
    assert_int_equal(graph_find_op(graph, STR("x")), -1);
    arena_free(arena);
}

static void reading_moved_ops_keeps_makers(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Error err = {0};
    const Graph *graph =
        build_lines(arena, "in x\nc:Relu b -> c\nb:Relu a -> b\na:Relu x -> a", &err);
    for (int32_t op = 0; op < graph->n_ops; op++)
        assert_int_equal(graph->tensors[op_outputs(graph, op)[0]].maker, op);
    assert_string_equal(op_name(graph, 0), "a");
    assert_int_equal(graph->n_nodes, 3);
    arena_free(arena);
}

static void inputs_must_have_names(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    GraphBuilder *builder = graph_builder_new(arena, "made");
    graph_add_input(builder, graph_tensor(builder, STR("")), DT_F32, NULL, -1);
    Error err = {0};
    assert_null(graph_seal(builder, &err));
    assert_string_equal(err.text, "an input of the graph has no name");
    arena_free(arena);
}

/* ---- attributes ---- */

static Attr attr_int(Graph *graph, const char *name, int64_t value)
{
    return (Attr){.name = names_intern(graph->names, str_from(name)), .type = ATTR_INT, .i = value};
}

/* A file may list inputs and weights among its values again, and be wrong. */
static void what_is_given_is_declared_once(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    GraphBuilder *builder = graph_builder_new(arena, "made");
    const DeclaredDim four = {4, 0}, eight = {8, 0};
    const Shape shape = {.n_dims = 1, .dim = {4}};
    int32_t x = graph_tensor(builder, STR("x")), w = graph_tensor(builder, STR("w"));
    graph_declare(builder, w, DT_I32, &eight, 1);
    graph_add_input(builder, x, DT_F32, &four, 1);
    graph_add_initializer(builder, w, DT_F32, &shape, (TensorData){.form = DATA_ABSENT});
    graph_declare(builder, x, DT_I32, &eight, 1);
    graph_declare(builder, w, DT_I32, &eight, 1);
    Error err = {0};
    const Graph *graph = graph_seal(builder, &err);
    assert_non_null(graph);
    for (int32_t t = 0; t < 2; t++) {
        assert_int_equal(graph->tensors[t].dtype, DT_F32);
        assert_int_equal(graph->declared[graph->tensors[t].declared].size, 4);
    }
    arena_free(arena);
}

static void equal_attributes_are_one_list(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    GraphBuilder *builder = graph_builder_new(arena, "made");
    Graph *graph = graph_builder_graph(builder);
    int32_t perm = names_intern(graph->names, STR("perm"));
    int64_t values[] = {0, 2, 1}, again[] = {0, 2, 1};
    Attr list[] = {attr_int(graph, "axis", 1), {.name = perm, .type = ATTR_INTS, .n = 3}};
    list[1].ints = values;
    int32_t id = graph_add_attrs(builder, list, 2);
    list[1].ints = again;
    assert_int_equal(graph_add_attrs(builder, list, 2), id);
    again[2] = 3;
    assert_int_not_equal(graph_add_attrs(builder, list, 2), id);
    assert_int_not_equal(graph_add_attrs(builder, list, 1), id);
    assert_int_equal(graph_add_attrs(builder, list, 0), 0);

    Attr constant = {.name = perm, .type = ATTR_TENSOR, .tensor = arena_make(arena, TensorData)};
    int32_t first = graph_add_attrs(builder, &constant, 1);
    assert_int_not_equal(graph_add_attrs(builder, &constant, 1), first);
    arena_free(arena);
}

static void attributes_are_found_by_name_and_type(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    GraphBuilder *builder = graph_builder_new(arena, "made");
    Graph *graph = graph_builder_graph(builder);
    int32_t alpha = names_intern(graph->names, STR("alpha"));
    char text[] = "SAME";
    Attr list[] = {attr_int(graph, "axis", -1),
                   {.name = alpha, .type = ATTR_FLOAT, .f = 0.5},
                   {.name = names_intern(graph->names, STR("pad")), .type = ATTR_STRING}};
    list[2].s = str_from(text);
    int32_t x = graph_tensor(builder, STR("x")), y = graph_tensor(builder, STR("y"));
    graph_add_input(builder, x, DT_F32, NULL, -1);
    graph_add_op(builder, STR("Op"), STR(""), STR(""), &x, 1, &y, 1,
                 graph_add_attrs(builder, list, 3));
    text[0] = 'X'; /* the graph has its own copy */
    Error err = {0};
    graph = graph_seal(builder, &err);
    assert_int_equal(op_attr_int(graph, 0, "axis", 7), -1);
    assert_int_equal(op_attr_int(graph, 0, "alpha", 7), 7);
    assert_int_equal(op_attr_int(graph, 0, "absent", 7), 7);
    assert_true(op_attr_float(graph, 0, "alpha", 1) == 0.5);
    assert_true(op_attr_float(graph, 0, "beta", 1) == 1);
    assert_string_equal(op_attr(graph, 0, "pad")->s.s, "SAME");
    assert_null(op_attr(graph, 0, "Op"));
    arena_free(arena);
}

/* ---- dims ---- */

typedef struct {
    const char *name, *text, *want; /* want: the bindings, or the place and error */
} DimRow;

static DimRow dim_rows[] = {
    {"two", "batch=8,seq=1024", "batch=8 seq=1024 "},
    {"blanks", "  batch = 8 ,\tseq=0", "batch=8 seq=0 "},
    {"lines and comments", "# sizes\n\nbatch=8, # rows\nseq=16\n", "batch=8 seq=16 "},
    {"expression", "floor(s0/2)=8", "floor(s0/2)=8 "},
    {"nothing", "", ""},
    {"no size", "batch", "1:6 expected '=' and a size"},
    {"no number", "batch=", "1:7 expected '=' and a size"},
    {"no name", "batch=8,\n =9", "2:2 expected the name of a dim"},
    {"empty binding", "batch=8,,seq=9", "1:9 expected the name of a dim"},
    {"word", "batch=eight", "1:7 expected a size"},
    {"negative", "batch=2, seq=-1", "1:14 a size is 0 or more"},
    {"too large", "batch=99999999999999999999", "1:7 expected a size"},
};

static void dims_are_read(void **state)
{
    const DimRow *row = *state;
    Arena *arena = arena_new();
    Source source = {"--dim", str_from(row->text)};
    DimBindings bindings = {0};
    Error err = {0};
    Buf out = buf_new(arena);
    if (dims_parse(arena, &source, &bindings, &err))
        for (int i = 0; i < bindings.n; i++)
            buf_printf(&out, "%.*s=%" PRId64 " ", STR_ARG(bindings.at[i].name),
                       bindings.at[i].size);
    else
        buf_printf(&out, "%d:%d %s", err.line, err.column, err.text);
    assert_string_equal(out.s, row->want);
    arena_free(arena);
}

static void later_bindings_win(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Source source = {"--dim", STR("batch=8,seq=4,batch=2")};
    DimBindings bindings = {0};
    Error err = {0};
    assert_true(dims_parse(arena, &source, &bindings, &err));
    Graph *graph = graph_builder_graph(graph_builder_new(arena, "made"));
    int32_t batch = names_intern(graph->names, STR("batch"));
    int32_t other = names_intern(graph->names, STR("other"));
    assert_int_equal(dim_size(graph, (DeclaredDim){-1, batch}, &bindings), 2);
    assert_int_equal(dim_size(graph, (DeclaredDim){-1, other}, &bindings), -1);
    assert_int_equal(dim_size(graph, (DeclaredDim){-1, 0}, &bindings), -1);
    assert_int_equal(dim_size(graph, (DeclaredDim){768, 0}, &bindings), 768);
    arena_free(arena);
}

/* As a training step adds ops to those of a script. */
static void ops_that_are_added_have_no_line(void **state)
{
    (void)state;
    static const int32_t lines[] = {7};
    Arena *arena = arena_new();
    GraphBuilder *builder = graph_builder_new(arena, "made");
    int32_t x = graph_tensor(builder, STR("x")), y = graph_tensor(builder, STR("y"));
    graph_add_input(builder, x, DT_F32, NULL, -1);
    graph_add_op(builder, STR("Relu"), STR(""), STR(""), &x, 1, &y, 1, 0);
    Graph *model = graph_seal(builder, NULL);
    assert_non_null(model);
    model->lines = lines;

    GraphBuilder *more = graph_builder_from(arena, model);
    int32_t z = graph_tensor(more, STR("z"));
    graph_add_op(more, STR("Relu"), STR(""), STR(""), &y, 1, &z, 1, 0);
    const Graph *step = graph_seal(more, NULL);
    assert_non_null(step);
    assert_int_equal(step->lines[0], 7);
    assert_int_equal(step->lines[1], 0);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uses_list_every_operand),
        cmocka_unit_test(reading_moved_ops_keeps_makers),
        cmocka_unit_test(inputs_must_have_names),
        cmocka_unit_test(what_is_given_is_declared_once),
        cmocka_unit_test(equal_attributes_are_one_list),
        cmocka_unit_test(attributes_are_found_by_name_and_type),
        cmocka_unit_test(later_bindings_win),
        cmocka_unit_test(ops_that_are_added_have_no_line),
    };
    return run_rows("graph: order", rows, graph_is_ordered_and_checked) +
           run_rows("graph: dims", dim_rows, dims_are_read) +
           cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
