/* fuzz_mlir.c - any bytes as StableHLO text: an error with its place, or a graph in program order.
 */
#include "core/peers/stablehlo/reader.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

/* Constants are read where they are few. */
static void read_constants(const Graph *graph)
{
    enum { ELEMENTS_MAX = 1024 };
    static uint64_t elements[2 * ELEMENTS_MAX]; /* c128 is the largest type */
    for (int32_t op = 0; op < graph->n_ops; op++) {
        const Attr *value = op_attr(graph, op, "value");
        if (!value || value->type != ATTR_TENSOR)
            continue;
        int64_t n = shape_elements(shapes_at(graph->shapes, value->shape));
        if (n <= ELEMENTS_MAX)
            data_read(value->tensor, (Dtype)value->dtype, n, elements, NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    Arena *arena = arena_new();
    FileShardings shardings = {.mesh = NULL};
    Findings notes = {0};
    DimBindings dims = {0};
    ModelFile file = {.arena = arena,
                      .path = "fuzz.mlir",
                      .text = {n_bytes ? (const char *)bytes : "", n_bytes},
                      .dims = &dims,
                      .notes = &notes,
                      .shardings = &shardings};
    Error err = {0};
    Graph *graph = stablehlo_read(&file, &err);
    assert((graph != NULL) != error_is_set(&err));
    assert(graph || err.file[0]);
    for (int i = 0; i < shardings.shardings.n; i++)
        assert(shardings.shardings.at[i].from <= shardings.shardings.at[i].to &&
               shardings.shardings.at[i].to <= n_bytes);
    for (int32_t op = 0; graph && op < graph->n_ops; op++)
        for (int i = 0; i < graph->ops[op].n_inputs; i++) {
            int32_t tensor = op_inputs(graph, op)[i];
            assert(tensor < 0 || graph->tensors[tensor].maker < op);
        }
    if (graph)
        read_constants(graph);
    arena_free(arena);
    return 0;
}
