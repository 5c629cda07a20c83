/* fuzz_tensor.c - any bytes as a file of an ONNX test set, input_0.pb: a tensor, a sequence or an
 * optional, or an error with its kind; elements that are there are as many as the shape says. */
#include "core/model/onnx.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const OnnxTensor *tensor, int depth)
{
    for (int i = 0; i < tensor->n_items; i++)
        check(&tensor->items[i], depth + 1);
    if (depth > 3)
        abort();
    int64_t n = tensor->n_items == 0 && !tensor->nothing ? shape_elements(&tensor->shape) : 0;
    if (n <= 0 || tensor->data.form == DATA_ABSENT || tensor->dtype == DT_NONE || n > 1 << 16)
        return;
    Arena *arena = arena_new();
    Error err = {0};
    void *elements = arena_alloc(arena, (size_t)n * 16 + 1);
    if (data_read(&tensor->data, tensor->dtype, n, elements, &err) == error_is_set(&err))
        abort();
    arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const OnnxKind kinds[] = {ONNX_TENSOR, ONNX_SEQUENCE, ONNX_OPTIONAL};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        Arena *arena = arena_new();
        OnnxTensor tensor = {0};
        Error err = {0};
        Str bytes = {arena_str(arena, (Str){(const char *)data, size}), size};
        if (onnx_read_value(arena, "input_0.pb", bytes, kinds[k], &tensor, &err))
            check(&tensor, 0);
        else if (!error_is_set(&err))
            abort();
        arena_free(arena);
    }
    return 0;
}
