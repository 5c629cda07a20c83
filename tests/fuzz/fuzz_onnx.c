/* fuzz_onnx.c - any bytes as an ONNX file: an error or a graph that holds what graph.h promises. */
#include "core/model/group.h"
#include "core/run/verify/vectors.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

/* What a file says of where its elements are is a file in its folder, or an error. */
static void open_external(const Graph *graph, const TensorData *data)
{
    FileMap map = {0};
    Str bytes = {0};
    Error err = {0};
    if (onnx_external(graph, data, &map, &bytes, &err))
        assert(bytes.n <= map.text.n);
    file_unmap(&map);
}

/* Elements are read where they are few: the reader must not trust what a file says of them. */
static void read_data(const Graph *graph)
{
    enum { ELEMENTS_MAX = 1024 };
    static uint64_t elements[2 * ELEMENTS_MAX]; /* c128 is the largest type */
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        const GraphTensor *tensor = &graph->tensors[t];
        if (tensor->kind != TENSOR_INITIALIZER)
            continue;
        open_external(graph, &graph->data[tensor->data]);
        int64_t n = 1;
        for (int d = 0; d < tensor->n_declared; d++)
            n *= graph->declared[tensor->declared + d].size;
        if (n <= ELEMENTS_MAX)
            data_read(&graph->data[tensor->data], (Dtype)tensor->dtype, n, elements, NULL);
    }
}

static void check_order(const Graph *graph)
{
    for (int32_t op = 0; op < graph->n_ops; op++) {
        assert(graph_find_op(graph, names_str(graph->names, graph->ops[op].name)) == op);
        for (int i = 0; i < graph->ops[op].n_inputs; i++) {
            int32_t tensor = op_inputs(graph, op)[i];
            assert(tensor < graph->n_tensors);
            assert(tensor < 0 || graph->tensors[tensor].maker < op);
        }
    }
}

static void check_groups(Arena *arena, const Graph *graph)
{
    int32_t *shown = arena_array(arena, int32_t, graph->n_ops);
    int32_t *signature = arena_array(arena, int32_t, graph->n_ops);
    for (int32_t op = 0; op < graph->n_ops; op++) {
        shown[op] = op;
        signature[op] = graph->ops[op].op_type;
    }
    const Groups *groups = groups_build(arena, graph, shown, graph->n_ops, signature, signature);
    assert(groups->n_order == graph->n_ops);
}

/* As a file of a test set, whatever the model says that it is. */
static void read_values(Arena *arena, Str bytes)
{
    static const OnnxKind kinds[] = {ONNX_TENSOR, ONNX_SEQUENCE, ONNX_OPTIONAL};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        Error err = {0};
        OnnxTensor value;
        bool read = onnx_read_value(arena, "fuzz.pb", bytes, kinds[i], &value, &err);
        assert(read == !error_is_set(&err));
        Local *whole = read ? vector_value(arena, &value, value.dtype, NULL) : NULL;
        assert(!whole || local_bytes(whole) >= 0);
        local_free(whole);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    Arena *arena = arena_new();
    Error err = {0};
    Graph *graph = onnx_read(arena, "fuzz.onnx", (Str){(const char *)bytes, n_bytes}, &err);
    assert(error_is_set(&err) == !graph);
    if (graph) {
        check_order(graph);
        read_data(graph);
        check_groups(arena, graph);
    } else {
        assert(err.kind == ERROR_UNREADABLE);
    }
    read_values(arena, (Str){(const char *)bytes, n_bytes});
    arena_free(arena);
    return 0;
}
