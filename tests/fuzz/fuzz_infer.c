/* fuzz_infer.c - any bytes as an ONNX file, its sizes bound and not: inference ends, and what it
 * says of a tensor with free dims holds when they are bound. */
#include "core/model/onnx.h"
#include "core/rules/infer.h"
#include "core/rules/registry.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static void check(const Inferred *inferred)
{
    const Graph *graph = inferred->graph;
    Buf text = buf_new(inferred->arena);
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        const Shape *shape = inferred_sizes(inferred, t);
        assert(!shape || (shape->n_dims >= 0 && shape->n_dims <= DIMS_MAX));
        assert(!inferred_shape(inferred, t) || shape_is_known(inferred_shape(inferred, t)));
        text.n = 0;
        inferred_put_shape(inferred, t, &text);
    }
    for (int32_t op = 0; op < graph->n_ops; op++)
        assert(inferred->space[op] < inferred->n_spaces);
}

/* Each free dim of an input is bound to a small size. */
static DimBindings bind(Arena *arena, const Graph *graph)
{
    DimBindings dims = {0};
    for (int i = 0; i < graph->n_inputs; i++) {
        const GraphTensor *input = &graph->tensors[graph->inputs[i]];
        for (int d = 0; d < input->n_declared; d++) {
            DeclaredDim dim = graph->declared[input->declared + d];
            if (dim.size >= 0 || dims.n > 64)
                continue;
            Str name = dim.name != 0
                           ? names_str(graph->names, dim.name)
                           : str_from(arena_printf(arena, "%s.%d",
                                                   tensor_name(graph, graph->inputs[i]), d));
            vec_push(arena, &dims, ((DimBinding){name, 3 + d}));
        }
    }
    return dims;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    Arena *arena = arena_new();
    Graph *graph = onnx_read(arena, "fuzz.onnx", (Str){(const char *)bytes, n_bytes}, NULL);
    DimBindings none = {0};
    if (graph && graph->n_ops < 1000) {
        const Registry *registry = registry_new(arena);
        DimBindings dims = bind(arena, graph);
        Inferred *freely = infer(arena, graph, registry, &none, true, NULL);
        Inferred *bound = infer(arena, graph, registry, &dims, false, NULL);
        if (freely)
            check(freely);
        if (bound)
            check(bound);
    }
    arena_free(arena);
    return 0;
}
