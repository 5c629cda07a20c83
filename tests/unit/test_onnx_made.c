#include "tests/unit/unit.h"
#include "tests/unit/proto.h"

#include "core/model/onnx.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

static void add_words(Buf *out, uint32_t field, const char *words)
{
    for (const char *at = words; *at;) {
        size_t n = strcspn(at, " ");
        proto_bytes(out, field, strncmp(at, "_", n) == 0 ? STR("") : (Str){at, n});
        at += n + (at[n] == ' ');
    }
}

/* A node with one attribute, or without (NULL). */
static void add_node(Buf *graph, const char *op_type, const char *inputs, const char *outputs,
                     const Buf *attribute)
{
    Buf node = buf_new(graph->arena);
    add_words(&node, 1, inputs);
    add_words(&node, 2, outputs);
    proto_text(&node, 4, op_type);
    if (attribute)
        proto_message(&node, 5, attribute);
    proto_message(graph, 1, &node);
}

static void add_value(Buf *graph, uint32_t field, const char *name)
{
    Buf value = buf_new(graph->arena);
    proto_text(&value, 1, name);
    proto_message(graph, field, &value);
}

static Buf begin_tensor(Buf *graph, const char *name, int64_t type, int64_t n)
{
    Buf tensor = buf_new(graph->arena);
    proto_int(&tensor, 1, n);
    proto_int(&tensor, 2, type);
    proto_text(&tensor, 8, name);
    return tensor;
}

static void add_entry(Buf *out, uint32_t field, const char *key, const char *value)
{
    Buf entry = buf_new(out->arena);
    proto_text(&entry, 1, key);
    proto_text(&entry, 2, value);
    proto_message(out, field, &entry);
}

static void plain(Buf *graph)
{
    add_node(graph, "Relu", "x", "y", NULL);
    add_value(graph, 11, "x");
    add_value(graph, 12, "y");
}

static void initializers_as_inputs(Buf *graph)
{
    add_node(graph, "Add", "x w", "y", NULL);
    Buf w = begin_tensor(graph, "w", 7, 2);
    proto_bytes(&w, 7, STR("\x05\x07"));
    proto_message(graph, 5, &w);
    add_value(graph, 11, "x");
    add_value(graph, 11, "w");
    add_value(graph, 12, "y");
}

static void unpacked_elements(Buf *graph)
{
    plain(graph);
    Buf w = begin_tensor(graph, "w", 7, 3);
    proto_int(&w, 7, 5);
    proto_int(&w, 7, -1);
    proto_bytes(&w, 7, STR("\x07"));
    proto_message(graph, 5, &w);
    Buf f = begin_tensor(graph, "f", 1, 2);
    proto_fixed32(&f, 4, 1.5f);
    proto_fixed32(&f, 4, -2.0f);
    proto_message(graph, 5, &f);
}

static void unknown_fields(Buf *graph)
{
    plain(graph);
    proto_int(graph, 99, 7);
    proto_text(graph, 98, "later");
    proto_fixed32(graph, 97, 1.0f);
    proto_varint(graph, 96 << 3 | 1);
    buf_add(graph, STR("12345678"));
}

static void other_domain(Buf *graph)
{
    Buf node = buf_new(graph->arena);
    add_words(&node, 1, "x");
    add_words(&node, 2, "y _");
    proto_text(&node, 3, "block/act/Gelu");
    proto_text(&node, 4, "Gelu");
    proto_text(&node, 7, "com.microsoft");
    proto_message(graph, 1, &node);
    add_value(graph, 11, "x");
    add_value(graph, 12, "y");
}

static void plain_domain(Buf *graph)
{
    Buf node = buf_new(graph->arena);
    add_words(&node, 1, "x");
    add_words(&node, 2, "y");
    proto_text(&node, 4, "Relu");
    proto_text(&node, 7, "ai.onnx");
    proto_message(graph, 1, &node);
    add_value(graph, 11, "x");
    add_value(graph, 12, "y");
}

static void attributes(Buf *graph)
{
    Buf node = buf_new(graph->arena), attr = buf_new(graph->arena);
    add_words(&node, 1, "x");
    add_words(&node, 2, "y");
    proto_text(&node, 4, "Op");
    proto_text(&attr, 1, "packed");
    proto_bytes(&attr, 8, STR("\x01\x02\x03"));
    proto_int(&attr, 20, 7);
    proto_message(&node, 5, &attr);

    attr = buf_new(graph->arena);
    proto_text(&attr, 1, "single");
    proto_int(&attr, 8, -1);
    proto_int(&attr, 8, 4);
    proto_int(&attr, 20, 7);
    proto_message(&node, 5, &attr);

    attr = buf_new(graph->arena);
    proto_text(&attr, 1, "floats");
    proto_fixed32(&attr, 7, 0.5f);
    proto_fixed32(&attr, 7, 2.0f);
    proto_int(&attr, 20, 6);
    proto_message(&node, 5, &attr);

    attr = buf_new(graph->arena);
    proto_text(&attr, 1, "texts");
    proto_text(&attr, 9, "a");
    proto_text(&attr, 9, "bc");
    proto_int(&attr, 20, 8);
    proto_message(&node, 5, &attr);

    attr = buf_new(graph->arena); /* before IR 2 there was no type */
    proto_text(&attr, 1, "untyped");
    proto_fixed32(&attr, 2, 0.25f);
    proto_message(&node, 5, &attr);

    attr = buf_new(graph->arena);
    proto_text(&attr, 1, "empty");
    proto_int(&attr, 20, 7);
    proto_message(&node, 5, &attr);

    attr = buf_new(graph->arena);
    proto_text(&attr, 1, "body");
    proto_text(&attr, 6, "anything at all: it is not read");
    proto_int(&attr, 20, 5);
    proto_message(&node, 5, &attr);

    attr = buf_new(graph->arena); /* TYPE_PROTO: no rule reads it */
    proto_text(&attr, 1, "type");
    proto_text(&attr, 14, "");
    proto_int(&attr, 20, 13);
    proto_message(&node, 5, &attr);
    proto_message(graph, 1, &node);
    add_value(graph, 11, "x");
    add_value(graph, 12, "y");
}

static void empty_lists(Buf *graph)
{
    for (int type = 6; type <= 8; type++) {
        Buf attr = buf_new(graph->arena);
        proto_text(&attr, 1, "empty");
        proto_int(&attr, 20, type);
        add_node(graph, "Op", "x", type == 6 ? "y" : type == 7 ? "z" : "w", &attr);
    }
    add_value(graph, 11, "x");
    add_value(graph, 12, "y");
}

static void out_of_order(Buf *graph)
{
    add_node(graph, "Last", "b", "y", NULL);
    add_node(graph, "First", "x", "a", NULL);
    add_node(graph, "Middle", "a", "b", NULL);
    add_value(graph, 12, "y");
    add_value(graph, 11, "x");
}

static void control_bytes(Buf *graph)
{
    add_node(graph, "Relu", "x\x1B[2J", "y", NULL);
    add_value(graph, 11, "x\x1B[2J");
    add_value(graph, 12, "y");
}

static void sequence_input(Buf *graph)
{
    Buf value = buf_new(graph->arena), type = buf_new(graph->arena), none = buf_new(graph->arena);
    proto_message(&type, 4, &none);
    proto_text(&value, 1, "x");
    proto_message(&value, 2, &type);
    add_node(graph, "SequenceLength", "x", "y", NULL);
    proto_message(graph, 11, &value);
    add_value(graph, 12, "y");
}

static void no_op_type(Buf *graph)
{
    plain(graph);
    Buf node = buf_new(graph->arena);
    proto_text(&node, 3, "lost");
    proto_message(graph, 1, &node);
}

static void cycle(Buf *graph)
{
    add_node(graph, "Add", "x b", "a", NULL);
    add_node(graph, "Relu", "a", "b", NULL);
    add_value(graph, 11, "x");
    add_value(graph, 12, "b");
}

static void dangling(Buf *graph)
{
    add_node(graph, "Add", "x lost\x1B", "y", NULL);
    add_value(graph, 11, "x");
    add_value(graph, 12, "y");
}

static void made_twice(Buf *graph)
{
    plain(graph);
    add_node(graph, "Exp", "x", "y", NULL);
}

static void initializer_twice(Buf *graph)
{
    plain(graph);
    for (int i = 0; i < 2; i++) {
        Buf w = begin_tensor(graph, "w", 7, 1);
        proto_int(&w, 7, 5);
        proto_message(graph, 5, &w);
    }
}

static void short_data(Buf *graph)
{
    plain(graph);
    Buf w = begin_tensor(graph, "w", 1, 3);
    proto_text(&w, 9, "12345678");
    proto_message(graph, 5, &w);
}

static void misplaced_data(Buf *graph)
{
    plain(graph);
    Buf w = begin_tensor(graph, "w", 7, 1);
    proto_fixed32(&w, 4, 1.0f);
    proto_message(graph, 5, &w);
}

static void unknown_type(Buf *graph)
{
    plain(graph);
    Buf w = begin_tensor(graph, "w", 77, 1);
    proto_message(graph, 5, &w);
}

static void no_type(Buf *graph)
{
    plain(graph);
    Buf w = buf_new(graph->arena);
    proto_text(&w, 8, "w");
    proto_message(graph, 5, &w);
}

static void negative_dim(Buf *graph)
{
    plain(graph);
    Buf w = begin_tensor(graph, "w", 1, -4);
    proto_message(graph, 5, &w);
}

static void many_dims(Buf *graph)
{
    plain(graph);
    Buf w = begin_tensor(graph, "w", 1, 1);
    proto_bytes(&w, 1, STR("\1\1\1\1\1\1\1\1\1\1"));
    proto_message(graph, 5, &w);
}

static void huge_shape(Buf *graph)
{
    plain(graph);
    Buf w = begin_tensor(graph, "w", 1, INT64_C(1) << 59);
    proto_int(&w, 1, 1024);
    proto_message(graph, 5, &w);
}

static void wrong_wire_type(Buf *graph)
{
    plain(graph);
    proto_int(graph, 1, 5);
}

static void nested_without_end(Buf *graph)
{
    plain(graph);
    Buf inner = buf_new(graph->arena);
    for (int i = 0; i < 4000; i++) { /* graph { node { attribute { g { ... */
        Buf attr = buf_new(graph->arena), node = buf_new(graph->arena),
            body = buf_new(graph->arena);
        proto_message(&attr, 6, &inner);
        proto_message(&node, 5, &attr);
        proto_message(&body, 1, &node);
        inner = body;
    }
    Buf attr = buf_new(graph->arena);
    proto_text(&attr, 1, "body");
    proto_message(&attr, 6, &inner);
    add_node(graph, "Loop", "x", "z", &attr);
}

typedef struct {
    const char *name;
    void (*fill)(Buf *graph);
    const char *want; /* the graph in words, or the error */
} MadeRow;

static MadeRow made_rows[] = {
    {"plain", plain, "in x; Relu Relu_0(x)->y; out y"},
    {"initializers as inputs", initializers_as_inputs, "in x; w=5,7; Add Add_0(x,w)->y; out y"},
    {"unpacked elements", unpacked_elements, "in x; w=5,-1,7; f=1.5,-2; Relu Relu_0(x)->y; out y"},
    {"unknown fields", unknown_fields, "in x; Relu Relu_0(x)->y; out y"},
    {"other domain", other_domain,
     "in x; com.microsoft::Gelu block/act/Gelu(x)->y,- at block.act; out y"},
    {"plain domain", plain_domain, "in x; Relu Relu_0(x)->y; out y"},
    {"attributes", attributes,
     "in x; Op Op_0(x)->y packed=1,2,3 single=-1,4 floats=0.5,2 texts=a,bc untyped=0.25 empty= "
     "body=graph; out y"},
    {"empty lists", empty_lists,
     "in x; Op Op_0(x)->y empty=; Op Op_1(x)->z empty=; Op Op_2(x)->w empty=; out y"},
    {"out of order", out_of_order,
     "in x; First First_0(x)->a; Middle Middle_1(a)->b; Last Last_2(b)->y; out y"},
    {"control bytes", control_bytes, "in x\x1B[2J; Relu Relu_0(x\x1B[2J)->y; out y"},
    {"sequence input", sequence_input, "in x; SequenceLength SequenceLength_0(x)->y; out y"},
    {"nested without end", nested_without_end,
     "in x; Relu Relu_0(x)->y; Loop Loop_1(x)->z body=graph; out y"},
    {"no op_type", no_op_type, "byte 30, in a NodeProto: node 'lost' has no op_type"},
    {"cycle", cycle, "the graph has a cycle: op 'Relu' depends on its own output 'b'"},
    {"dangling", dangling, "tensor 'lost\\x1B', read by op 'Add', is made by no op"},
    {"made twice", made_twice, "tensor 'y' is made by op 'Relu', and is made by op 'Exp' too"},
    {"initializer twice", initializer_twice,
     "tensor 'w' is an initializer, and is listed as an initializer"},
    {"short data", short_data,
     "byte 30, in a TensorProto: tensor 'w': its data has 8 bytes, its shape needs 12"},
    {"misplaced data", misplaced_data,
     "byte 30, in a TensorProto: tensor 'w': its data is in field 4, where i64 does not belong"},
    {"unknown type", unknown_type,
     "byte 34, in a TensorProto: element type 77 is not one of ONNX's"},
    {"no type", no_type, "byte 30, in a TensorProto: tensor 'w': it has no element type"},
    {"negative dim", negative_dim, "byte 30, in a TensorProto: tensor 'w': dim 0 has the size -4"},
    {"many dims", many_dims, "byte 49, in a TensorProto: a tensor has more than 10 dims"},
    {"huge shape", huge_shape,
     "byte 30, in a TensorProto: tensor 'w': the shape has 2^60 elements or more"},
    {"wrong wire type", wrong_wire_type,
     "byte 29, in a GraphProto: field 1 has wire type 0, not 2"},
};

static int64_t declared_elements(const Graph *graph, const GraphTensor *tensor)
{
    int64_t n_elements = 1;
    for (int d = 0; d < tensor->n_declared; d++)
        n_elements *= graph->declared[tensor->declared + d].size;
    return n_elements;
}

static void print_data(const Graph *graph, int32_t t, Buf *out)
{
    const GraphTensor *tensor = &graph->tensors[t];
    int64_t n = declared_elements(graph, tensor), ints[8];
    float floats[8];
    Error err = {0};
    bool is_float = tensor->dtype == DT_F32;
    if (graph->data[tensor->data].form == DATA_ABSENT) {
        buf_printf(out, "%s=absent; ", tensor_name(graph, t));
        return;
    }
    assert_true(data_read(&graph->data[tensor->data], (Dtype)tensor->dtype, n,
                          is_float ? (void *)floats : ints, &err));
    buf_printf(out, "%s=", tensor_name(graph, t));
    for (int i = 0; i < n; i++)
        buf_printf(out, "%s%g", i > 0 ? "," : "", is_float ? (double)floats[i] : (double)ints[i]);
    buf_puts(out, "; ");
}

static void print_attr(const Graph *graph, const Attr *attr, Buf *out)
{
    buf_printf(out, " %s=", names_text(graph->names, attr->name));
    if (attr->type == ATTR_FLOAT)
        buf_printf(out, "%g", attr->f);
    if (attr->type == ATTR_GRAPH)
        buf_puts(out, "graph");
    for (int i = 0; i < attr->n; i++) {
        buf_puts(out, i > 0 ? "," : "");
        if (attr->type == ATTR_INTS)
            buf_printf(out, "%" PRId64, attr->ints[i]);
        else if (attr->type == ATTR_FLOATS)
            buf_printf(out, "%g", attr->floats[i]);
        else
            buf_add(out, attr->strings[i]);
    }
}

static void print_operands(const Graph *graph, const int32_t *tensors, int n, Buf *out)
{
    for (int i = 0; i < n; i++)
        buf_printf(out, "%s%s", i > 0 ? "," : "",
                   tensors[i] < 0 ? "-" : tensor_name(graph, tensors[i]));
}

static void print_graph(const Graph *graph, Buf *out)
{
    for (int i = 0; i < graph->n_inputs; i++)
        buf_printf(out, "in %s; ", tensor_name(graph, graph->inputs[i]));
    for (int32_t t = 0; t < graph->n_tensors; t++)
        if (graph->tensors[t].kind == TENSOR_INITIALIZER)
            print_data(graph, t, out);
    for (int32_t op = 0; op < graph->n_ops; op++) {
        const GraphOp *row = &graph->ops[op];
        buf_printf(out, "%s %s(", op_operator(graph, op), op_name(graph, op));
        print_operands(graph, op_inputs(graph, op), row->n_inputs, out);
        buf_puts(out, ")->");
        print_operands(graph, op_outputs(graph, op), row->n_outputs, out);
        if (*op_path(graph, op))
            buf_printf(out, " at %s", op_path(graph, op));
        for (int i = 0; i < graph->attr_lists[row->attrs].n; i++)
            print_attr(graph, &graph->attr_lists[row->attrs].at[i], out);
        buf_puts(out, "; ");
    }
    for (int i = 0; i < graph->n_outputs; i++)
        buf_printf(out, "out %s", tensor_name(graph, graph->outputs[i]));
}

static Str model_of(const Buf *graph, int64_t ir_version, bool with_opset)
{
    Buf model = buf_new(graph->arena), opset = buf_new(graph->arena);
    proto_int(&model, 1, ir_version);
    proto_message(&model, 7, graph);
    proto_int(&opset, 2, 17);
    if (with_opset)
        proto_message(&model, 8, &opset);
    return buf_str(&model);
}

static void made_file_is_read(void **state)
{
    const MadeRow *row = *state;
    Arena *arena = arena_new();
    Buf graph_bytes = buf_new(arena), out = buf_new(arena);
    row->fill(&graph_bytes);
    Error err = {0};
    Graph *graph = onnx_read(arena, "made.onnx", model_of(&graph_bytes, 8, true), &err);
    if (graph) {
        print_graph(graph, &out);
    } else {
        buf_puts(&out, err.text);
        assert_int_equal(err.kind, ERROR_UNREADABLE);
        assert_string_equal(err.file, "made.onnx");
        assert_string_not_equal(err.hint, "");
    }
    assert_string_equal(out.s, row->want);
    arena_free(arena);
}

typedef struct {
    const char *name;
    const char *location, *offset, *length; /* of 2 elements of f32; NULL: no entry */
    const char *want;                       /* the error, "" when it is fine */
} ExternalRow;

static ExternalRow externals[] = {
    {"beside", "w.bin", "4", "8", ""},
    {"in a folder", "weights/w.bin", NULL, NULL, ""},
    {"name with dots", "..w..bin", NULL, NULL, ""},
    {"absolute", "/etc/passwd", NULL, NULL,
     "tensor 'w': its data is at '/etc/passwd', which is not in the model's folder"},
    {"above", "../w.bin", NULL, NULL,
     "tensor 'w': its data is at '../w.bin', which is not in the model's folder"},
    {"above on a way around", "a/../../w.bin", NULL, NULL,
     "tensor 'w': its data is at 'a/../../w.bin', which is not in the model's folder"},
    {"above at the end", "a/..", NULL, NULL,
     "tensor 'w': its data is at 'a/..', which is not in the model's folder"},
    {"nowhere", NULL, NULL, NULL,
     "tensor 'w': its data is at '', which is not in the model's folder"},
    {"length of another shape", "w.bin", "0", "12",
     "tensor 'w': its external data has 12 bytes, its shape needs 8"},
    {"negative offset", "w.bin", "-1", "8",
     "tensor 'w': offset or length of its external data is no number of bytes"},
    {"no number", "w.bin", "four", "8",
     "tensor 'w': offset or length of its external data is no number of bytes"},
    {"offset past any file", "w.bin", "9223372036854775807", "8",
     "tensor 'w': offset or length of its external data is no number of bytes"},
};

static Str external_model(Arena *arena, const char *location, const char *offset,
                          const char *length)
{
    Buf graph = buf_new(arena);
    plain(&graph);
    Buf w = begin_tensor(&graph, "w", 1, 2);
    if (location)
        add_entry(&w, 13, "location", location);
    if (offset)
        add_entry(&w, 13, "offset", offset);
    if (length)
        add_entry(&w, 13, "length", length);
    proto_int(&w, 14, 1);
    proto_message(&graph, 5, &w);
    return model_of(&graph, 8, true);
}

static void external_data_stays_in_the_folder(void **state)
{
    const ExternalRow *row = *state;
    Arena *arena = arena_new();
    Error err = {0};
    Str model = external_model(arena, row->location, row->offset, row->length);
    Graph *graph = onnx_read(arena, "made.onnx", model, &err);
    assert_int_equal(graph != NULL, *row->want == '\0');
    assert_non_null(strstr(err.text, row->want));
    if (graph)
        assert_string_equal(graph->data[0].location, row->location);
    arena_free(arena);
}

static void external_data_is_found_beside_the_model(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    char folder[] = "/tmp/dimscope-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    const char *weights = arena_printf(arena, "%s/w.bin", folder);
    assert_true(file_write(weights, STR("????\0\0\x80\x3F\0\0\0\x40"), NULL));
    Error err = {0};
    Str model = external_model(arena, "w.bin", "4", "8"), bytes;
    Graph *graph = onnx_read(arena, arena_printf(arena, "%s/made.onnx", folder), model, &err);
    FileMap map;
    assert_true(onnx_external(graph, &graph->data[0], &map, &bytes, &err));
    float values[2];
    TensorData data = {.form = DATA_RAW, .bytes = bytes};
    assert_true(data_read(&data, DT_F32, 2, values, &err));
    assert_true(values[0] == 1.0f && values[1] == 2.0f);
    file_unmap(&map);

    assert_true(file_write(weights, STR("short"), NULL));
    assert_false(onnx_external(graph, &graph->data[0], &map, &bytes, &err));
    assert_string_equal(err.text, "has 5 bytes, the tensor's data is from 4 to 12");
    assert_string_equal(err.file, weights);
    unlink(weights);
    rmdir(folder);
    arena_free(arena);
}

static void external_data_is_no_link_out_of_the_folder(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    char folder[] = "/tmp/dimscope-test-XXXXXX", other[] = "/tmp/dimscope-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
    assert_non_null(mkdtemp(other));
    const char *secret = arena_printf(arena, "%s/secret", other);
    const char *link = arena_printf(arena, "%s/w.bin", folder);
    const char *nowhere = arena_printf(arena, "%s/absent", other);
    assert_true(file_write(secret, STR("123456789012"), NULL));
    Error err = {0}, opened = {0};
    Str model = external_model(arena, "w.bin", "4", "8"), bytes;
    Graph *graph = onnx_read(arena, arena_printf(arena, "%s/made.onnx", folder), model, &err);
    FileMap map;
    assert_true(file_is_absent(link));
    assert_int_equal(symlink(secret, link), 0);
    assert_false(onnx_external(graph, &graph->data[0], &map, &bytes, &err));
    assert_string_equal(err.text, "is a link that leaves the model's folder");
    assert_string_equal(err.file, link);
    unlink(link);
    assert_int_equal(symlink(nowhere, link), 0);
    assert_false(file_is_absent(link)); /* so that its elements are not drawn */
    assert_false(onnx_external(graph, &graph->data[0], &map, &bytes, &opened));
    assert_string_equal(opened.text, "cannot open: No such file or directory");
    unlink(link);
    unlink(secret);
    rmdir(folder);
    rmdir(other);
    arena_free(arena);
}

/* ---- what is no model ---- */

static void assert_unreadable(Str bytes, const char *want)
{
    Arena *arena = arena_new();
    Error err = {0};
    assert_null(onnx_read(arena, "x.onnx", bytes, &err));
    assert_int_equal(err.kind, ERROR_UNREADABLE);
    assert_string_equal(err.file, "x.onnx");
    assert_non_null(strstr(err.text, want));
    arena_free(arena);
}

static void what_is_no_model_is_refused(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Buf graph = buf_new(arena), no_output = buf_new(arena);
    plain(&graph);
    add_node(&no_output, "Relu", "x", "y", NULL);
    add_value(&no_output, 11, "x");
    assert_unreadable(STR(""), "the model ends at byte 0 without a graph");
    assert_unreadable(STR("# dimscope\n"), "byte 1, in a ModelProto");
    assert_unreadable(STR("\x08\x08"), "without a graph");
    assert_unreadable(model_of(&graph, 8, false), "without an opset_import");
    assert_unreadable(model_of(&no_output, 8, true), "without an output of its graph");
    Error err = {0};
    assert_non_null(
        onnx_read(arena, "x.onnx", model_of(&graph, 2, false), &err)); /* before opsets */
    FileMap map;
    assert_null(onnx_open(arena, "samples/models/nothing.onnx", &map, &err));
    assert_int_equal(err.kind, ERROR_UNREADABLE);
    arena_free(arena);
}

/* Graphs cut off inside a file whose outer lengths are right: mostly refused, never a crash. */
static void graph_cut_off_inside_is_safe(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Buf whole = buf_new(arena);
    attributes(&whole);
    initializers_as_inputs(&whole);
    for (size_t n = 0; n < whole.n; n++) {
        Arena *scratch = arena_new();
        Buf part = buf_new(scratch);
        buf_add(&part, (Str){whole.s, n});
        add_value(&part, 12, "x");
        Error err = {0};
        if (!onnx_read(scratch, "x.onnx", model_of(&part, 8, true), &err))
            assert_int_equal(err.kind, ERROR_UNREADABLE);
        arena_free(scratch);
    }
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(external_data_is_found_beside_the_model),
        cmocka_unit_test(external_data_is_no_link_out_of_the_folder),
        cmocka_unit_test(what_is_no_model_is_refused),
        cmocka_unit_test(graph_cut_off_inside_is_safe),
    };
    return run_rows("onnx_made: files", made_rows, made_file_is_read) +
           run_rows("onnx_made: external data", externals, external_data_stays_in_the_folder) +
           cmocka_run_group_tests_name("onnx_made", tests, NULL, NULL);
}
