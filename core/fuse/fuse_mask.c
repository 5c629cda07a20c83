#include "core/fuse/fuse_mask.h"

#include "core/rules/host.h"

#include <limits.h>
#include <math.h>

/* The elements of a constant: held by inference, or the bytes of the file. */
typedef struct {
    const Value *value;
    Dtype dtype;
    char *bytes;
} MaskElements;

enum { MASK_ELEMENTS_MAX = 1 << 26 };

static bool read_elements(const Inferred *inferred, int32_t tensor, int64_t n, Arena *scratch,
                          MaskElements *out)
{
    const GraphTensor *at = &inferred->graph->tensors[tensor];
    *out = (MaskElements){.value = inferred_value(inferred, tensor),
                          .dtype = (Dtype)inferred->dtype[tensor]};
    if (out->value && (out->value->ints || out->value->floats))
        return true;
    if (at->kind != TENSOR_INITIALIZER || at->data < 0 || dtype_bits(out->dtype) < CHAR_BIT)
        return false;
    const TensorData *data = &inferred->graph->data[at->data];
    if (data->form == DATA_ABSENT || data->form == DATA_STRINGS)
        return false;
    out->bytes = arena_alloc(scratch, (size_t)dtype_bytes(out->dtype, n));
    return data_read(data, out->dtype, n, out->bytes, NULL);
}

static double element_at(const MaskElements *elements, int64_t i)
{
    const Value *value = elements->value;
    double number = NAN;
    if (!elements->bytes)
        return value->floats ? value->floats[i] : (double)value->ints[i];
    host_number(elements->dtype, elements->bytes, i, &number);
    return number;
}

/* Reads one matrix [n, n]; *nearest: the least distance of a hidden key before its query. */
static void read_matrix(AttentionMask *mask, const MaskElements *elements, int64_t first, int64_t n,
                        int64_t *nearest)
{
    for (int64_t query = 0; query < n && mask->known; query++)
        for (int64_t key = 0; key < n; key++) {
            double x = element_at(elements, first + query * n + key);
            bool hidden = mask->meaning == MASK_ADDED   ? x < MASK_HIDDEN
                          : mask->meaning == MASK_HIDES ? x != 0
                                                        : x == 0;
            int64_t before = query - key;
            mask->known &= !isnan(x) && !(hidden && before == 0);
            mask->is_plain &= hidden || mask->meaning != MASK_ADDED || x == 0;
            if (before < 0)
                mask->causal &= hidden;
            else if (hidden)
                *nearest = before < *nearest ? before : *nearest;
            else
                mask->left = before > mask->left ? before : mask->left;
        }
}

void attention_mask_read(const Inferred *inferred, AttentionMask *mask)
{
    const Shape *shape = inferred_sizes(inferred, mask->tensor);
    int64_t n_dims = shape ? shape->n_dims : 0, n = n_dims < 2 ? 0 : shape->dim[n_dims - 1];
    mask->known = false;
    if (n < 2 || shape->dim[n_dims - 2] != n || shape_elements(shape) > MASK_ELEMENTS_MAX)
        return;
    Arena *scratch = arena_new();
    MaskElements elements;
    if (read_elements(inferred, mask->tensor, shape_elements(shape), scratch, &elements)) {
        int64_t nearest = n;
        mask->known = mask->causal = mask->is_plain = true;
        mask->left = 0;
        for (int64_t first = 0; first < shape_elements(shape); first += n * n)
            read_matrix(mask, &elements, first, n, &nearest);
        mask->is_plain &= nearest > mask->left;
    }
    arena_free(scratch);
}
