#include "tests/unit/proto.h"
#include "tests/unit/unit.h"

#include "core/model/onnx.h"

#include <stdlib.h>

/* ---- the samples, as samples/README.md and the exporters describe them ---- */

typedef struct {
    const char *name;
    int n_nodes, n_initializers;
    int64_t n_elements; /* of all float initializers */
    int64_t opset;
    int n_inline; /* initializers with their data in the file */
} Sample;

static Sample samples[] = {
    {"gpt2", 2311, 149, 163037184, 17, 0},
    {"gpt2-dynamo", 640, 175, 124439816, 20, 27},
    {"tiny-gpt", 481, 29, 136960, 17, 29},
    {"llama-tiny", 187, 44, 426637, 20, 44},
};

static const char *sample_path(Arena *arena, const char *name)
{
    return arena_printf(arena, "samples/models/%s", name);
}

static Graph *open_sample(Arena *arena, const char *name, FileMap *map)
{
    Error err = {0};
    Graph *graph =
        onnx_open(arena, sample_path(arena, arena_printf(arena, "%s.onnx", name)), map, &err);
    assert_string_equal(err.text, "");
    return graph;
}

static int64_t declared_elements(const Graph *graph, const GraphTensor *tensor)
{
    int64_t n_elements = 1;
    for (int d = 0; d < tensor->n_declared; d++)
        n_elements *= graph->declared[tensor->declared + d].size;
    return n_elements;
}

static void check_initializers(const Graph *graph, const Sample *sample)
{
    int n_initializers = 0, n_inline = 0;
    int64_t n_elements = 0;
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        const GraphTensor *tensor = &graph->tensors[t];
        if (tensor->kind != TENSOR_INITIALIZER)
            continue;
        n_initializers++;
        n_inline += graph->data[tensor->data].form != DATA_ABSENT;
        if (dtype_is_float((Dtype)tensor->dtype))
            n_elements += declared_elements(graph, tensor);
    }
    assert_int_equal(n_initializers, sample->n_initializers);
    assert_int_equal(n_inline, sample->n_inline);
    assert_int_equal(n_elements, sample->n_elements);
}

static void check_input(const Graph *graph, int i, const char *name)
{
    const GraphTensor *tensor = &graph->tensors[graph->inputs[i]];
    assert_string_equal(tensor_name(graph, graph->inputs[i]), name);
    assert_int_equal(tensor->dtype, DT_I64);
    assert_int_equal(tensor->n_declared, 2);
    const DeclaredDim *dims = &graph->declared[tensor->declared];
    assert_int_equal(dims[0].size, -1);
    assert_string_equal(names_text(graph->names, dims[0].name), "batch");
    assert_string_equal(names_text(graph->names, dims[1].name), "seq");
}

static void sample_is_read_whole(void **state)
{
    const Sample *sample = *state;
    Arena *arena = arena_new();
    FileMap map;
    const Graph *graph = open_sample(arena, sample->name, &map);
    assert_int_equal(graph->n_nodes, sample->n_nodes);
    assert_int_equal(graph->n_ops, sample->n_nodes);
    assert_int_equal(graph->opset, sample->opset);
    assert_int_equal(graph->n_inputs, 2);
    check_input(graph, 0, "input_ids");
    check_input(graph, 1, "attention_mask");
    assert_int_equal(graph->n_outputs, 1);
    assert_string_equal(tensor_name(graph, graph->outputs[0]), "logits");
    check_initializers(graph, sample);
    arena_free(arena);
    file_unmap(&map);
}

/* Every name of the measured shapes is a tensor of the graph, and of the dtype where one is said.
 */
static void measured_values_are_in_the_graph(void **state)
{
    const Sample *sample = *state;
    Arena *arena = arena_new();
    FileMap map;
    const Graph *graph = open_sample(arena, sample->name, &map);
    Source shapes;
    const char *path = sample_path(arena, arena_printf(arena, "%s.shapes.tsv", sample->name));
    assert_true(file_read(arena, path, 1 << 20, &shapes, NULL));

    int n_found = 0;
    for (const char *line = shapes.text.s; *line; line = strchr(line, '\n') + 1) {
        if (*line == '#')
            continue;
        const char *tab = strchr(line, '\t'), *end = strchr(tab + 1, '\t');
        int32_t tensor = graph_find_tensor(graph, (Str){line, (size_t)(tab - line)});
        assert_true(tensor >= 0);
        Dtype dtype = dtype_from_name((Str){tab + 1, (size_t)(end - tab - 1)});
        assert_int_not_equal(dtype, DT_NONE);
        if (graph->tensors[tensor].dtype != DT_NONE)
            assert_int_equal(graph->tensors[tensor].dtype, dtype);
        n_found++;
    }
    assert_int_equal(n_found, graph->n_tensors);
    arena_free(arena);
    file_unmap(&map);
}

typedef struct {
    const char *name; /* of the op */
    const char *sample, *path;
} PathRow;

static PathRow paths[] = {
    {"/transformer/h.0/mlp/c_fc/Gemm", "gpt2", "transformer.h.0.mlp.c_fc"},
    {"/transformer/h.11/Add_1", "gpt2", "transformer.h.11"},
    {"/transformer/Shape", "gpt2", "transformer"},
    {"/lm_head/MatMul", "gpt2", "lm_head"},
    {"Constant_910", "gpt2", ""},
    {"node_addmm", "gpt2-dynamo", "transformer.h.0.attn.c_attn"},
    {"node_add_4", "gpt2-dynamo", "transformer.h.0"},
    {"node_linear", "gpt2-dynamo", "lm_head"},
    {"node_Split_1222", "gpt2-dynamo", ""},
    {"node_Shape_0", "gpt2-dynamo", ""},
    {"node_linear", "llama-tiny", "model.layers.0.self_attn.q_proj"},
};

static void path_is_the_module(void **state)
{
    const PathRow *row = *state;
    Arena *arena = arena_new();
    FileMap map;
    const Graph *graph = open_sample(arena, row->sample, &map);
    int32_t op = graph_find_op(graph, str_from(row->name));
    assert_true(op >= 0);
    assert_string_equal(op_path(graph, op), row->path);
    arena_free(arena);
    file_unmap(&map);
}

static void stripped_weights_say_where_they_are(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    FileMap map, weights;
    const Graph *graph = open_sample(arena, "gpt2", &map);
    int32_t wpe = graph_find_tensor(graph, STR("transformer.wpe.weight"));
    const TensorData *data = &graph->data[graph->tensors[wpe].data];
    assert_int_equal(data->form, DATA_ABSENT);
    assert_string_equal(data->location, "gpt2.weights");
    assert_int_equal(data->offset, 154389504);
    assert_int_equal(data->length, 1024 * 768 * 4);
    Error err = {0};
    Str bytes;
    assert_false(onnx_external(graph, data, &weights, &bytes, &err));
    assert_string_equal(err.file, "samples/models/gpt2.weights");
    arena_free(arena);
    file_unmap(&map);
}

static void constants_are_attributes(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    FileMap map;
    const Graph *graph = open_sample(arena, "tiny-gpt", &map);
    int32_t op = graph_find_op(graph, STR("/transformer/Constant_1"));
    assert_string_equal(op_operator(graph, op), "Constant");
    const Attr *value = op_attr(graph, op, "value");
    assert_int_equal(value->type, ATTR_TENSOR);
    assert_int_equal(value->dtype, DT_I64);
    assert_int_equal(shapes_at(graph->shapes, value->shape)->n_dims, 1);
    int64_t number = 0;
    Error err = {0};
    assert_true(data_read(value->tensor, DT_I64, 1, &number, &err));
    assert_int_equal(number, -1);
    arena_free(arena);
    file_unmap(&map);
}

static void vectors_are_read(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    FileMap map;
    Error err = {0};
    const char *path = sample_path(arena, "tiny-gpt.io/test_data_set_0/input_1.pb");
    assert_true(file_map(path, &map, &err));
    OnnxTensor tensor;
    assert_true(onnx_read_tensor(arena, path, map.text, &tensor, &err));
    assert_true(str_eq(tensor.name, STR("attention_mask")));
    assert_int_equal(tensor.dtype, DT_I64);
    assert_true(shape_equal(&tensor.shape, &(Shape){2, {2, 16}}));
    int64_t mask[32];
    assert_true(data_read(&tensor.data, DT_I64, 32, mask, &err));
    for (int i = 0; i < 32; i++)
        assert_int_equal(mask[i], i < 16 || i > 18); /* the second row is padded by three */
    arena_free(arena);
    file_unmap(&map);
}

/* A TensorProto of one f32 1 (field 3 of a sequence); the dtype may be another. */
static void put_item(Buf *out, int64_t dtype, size_t n_bytes)
{
    static const char element[8] = {0, 0, (char)0x80, 0x3f};
    Buf item = buf_new(out->arena);
    proto_int(&item, 1, 1);
    proto_int(&item, 2, dtype);
    proto_bytes(&item, 9, (Str){element, n_bytes});
    proto_message(out, 3, &item);
}

static void sequences_and_optionals_are_read(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Error err = {0};
    OnnxTensor value;
    Buf two = buf_new(arena), held = buf_new(arena), none = buf_new(arena);
    proto_text(&two, 1, "s");
    put_item(&two, 1, 4);
    put_item(&two, 1, 4);
    assert_true(onnx_read_value(arena, "s", buf_str(&two), ONNX_SEQUENCE, &value, &err));
    assert_true(str_eq(value.name, STR("s")) && value.sequence && value.dtype == DT_F32);
    assert_int_equal(value.n_items, 2);
    proto_text(&held, 1, "o");
    proto_message(&held, 5, &two);
    assert_true(onnx_read_value(arena, "o", buf_str(&held), ONNX_OPTIONAL, &value, &err));
    assert_true(str_eq(value.name, STR("o")) && value.sequence && !value.nothing);
    proto_text(&none, 1, "o");
    assert_true(onnx_read_value(arena, "o", buf_str(&none), ONNX_OPTIONAL, &value, &err));
    assert_true(value.nothing && !value.sequence);
    arena_free(arena);
}

static void what_no_sequence_can_be_is_named(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    OnnxTensor value;
    Buf mixed = buf_new(arena), nested = buf_new(arena), many = buf_new(arena);
    Buf empty = buf_new(arena), short_one = buf_new(arena);
    put_item(&mixed, 1, 4);
    put_item(&mixed, 7, 8);
    put_item(&short_one, 1, 3);
    proto_message(&nested, 5, &empty);
    for (int i = 0; i <= ONNX_ITEMS_MAX; i++)
        put_item(&many, 1, 4);
    const struct {
        const Buf *bytes;
        const char *want;
    } rows[] = {{&mixed, "elements of several types"},
                {&short_one, "byte"},
                {&nested, "only tensors are read"},
                {&many, "more than 65536 elements"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Error err = {0};
        assert_false(
            onnx_read_value(arena, "s", buf_str(rows[i].bytes), ONNX_SEQUENCE, &value, &err));
        assert_int_equal(err.kind, ERROR_UNREADABLE);
        if (!strstr(err.text, rows[i].want))
            fail_msg("%s", err.text);
    }
    arena_free(arena);
}

static void equal_bytes_have_equal_hashes(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    FileMap map, other_map;
    uint64_t hash = open_sample(arena, "gpt2", &map)->hash;
    assert_true(hash == open_sample(arena, "gpt2", &other_map)->hash);
    file_unmap(&other_map);
    assert_true(hash != open_sample(arena, "tiny-gpt", &other_map)->hash);
    file_unmap(&other_map);
    arena_free(arena);
    file_unmap(&map);
}

/* ---- broken files ---- */

/* A file cut off anywhere is refused, and the error names the file. */
static void truncated_anywhere_is_refused(void **state)
{
    (void)state;
    FileMap map;
    assert_true(file_map("samples/models/tiny-gpt.onnx", &map, NULL));
    for (size_t n = 0; n < map.text.n; n += n < 4096 || n + 4096 > map.text.n ? 1 : 997) {
        Arena *arena = arena_new();
        Error err = {0};
        assert_null(onnx_read(arena, "x.onnx", (Str){map.text.s, n}, &err));
        assert_int_equal(err.kind, ERROR_UNREADABLE);
        assert_string_equal(err.file, "x.onnx");
        assert_non_null(strstr(err.text, "byte"));
        arena_free(arena);
    }
    file_unmap(&map);
}

static uint32_t next_random(uint32_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 17;
    *random ^= *random << 5;
    return *random;
}

/* Flipped bytes give an error or some graph, and reading what is in it is safe. */
static void flipped_bytes_are_safe(void **state)
{
    (void)state;
    FileMap map;
    assert_true(file_map("samples/models/tiny-gpt.onnx", &map, NULL));
    char *bytes = malloc(map.text.n);
    uint32_t random = 2463534242u;
    int n_refused = 0;
    for (int round = 0; round < 200; round++) {
        memcpy(bytes, map.text.s, map.text.n);
        for (int i = 0; i <= round % 4; i++) /* nodes stand before the weights */
            bytes[next_random(&random) % 70000] ^= (char)(1u << next_random(&random) % 8);
        Arena *arena = arena_new();
        Error err = {0};
        Graph *graph = onnx_read(arena, "x.onnx", (Str){bytes, map.text.n}, &err);
        n_refused += !graph;
        assert_int_equal(error_is_set(&err), !graph);
        arena_free(arena);
    }
    assert_true(n_refused > 50 && n_refused < 200);
    free(bytes);
    file_unmap(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stripped_weights_say_where_they_are),
        cmocka_unit_test(constants_are_attributes),
        cmocka_unit_test(vectors_are_read),
        cmocka_unit_test(sequences_and_optionals_are_read),
        cmocka_unit_test(what_no_sequence_can_be_is_named),
        cmocka_unit_test(equal_bytes_have_equal_hashes),
        cmocka_unit_test(truncated_anywhere_is_refused),
        cmocka_unit_test(flipped_bytes_are_safe),
    };
    return run_rows("onnx: samples", samples, sample_is_read_whole) +
           run_rows("onnx: measured values", samples, measured_values_are_in_the_graph) +
           run_rows("onnx: paths", paths, path_is_the_module) +
           cmocka_run_group_tests_name("onnx", tests, NULL, NULL);
}
