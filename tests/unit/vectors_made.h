/* vectors_made.h - folders of input_N.pb and output_N.pb, as ONNX test sets have them. */
#ifndef TESTS_UNIT_VECTORS_MADE_H
#define TESTS_UNIT_VECTORS_MADE_H

#include "tests/unit/proto.h"
#include "tests/unit/unit.h"

#include "core/base/file.h"
#include "core/rules/infer.h"

#include <stdlib.h>
#include <unistd.h>

enum { VECTORS_MAX = 8 };

/* One file, a TensorProto of these elements. */
static inline void vectors_write(Arena *arena, const char *folder, const char *stem, int n,
                                 Dtype dtype, const Shape *shape, Str elements)
{
    enum { DIMS = 1, DATA_TYPE = 2, RAW_DATA = 9 };
    Buf out = buf_new(arena);
    for (int64_t d = 0; d < shape->n_dims; d++)
        proto_int(&out, DIMS, shape->dim[d]);
    proto_int(&out, DATA_TYPE, dtype == DT_I64 ? 7 : dtype == DT_BOOL ? 9 : 1);
    proto_bytes(&out, RAW_DATA, elements);
    assert_true(
        file_write(arena_printf(arena, "%s/%s_%d.pb", folder, stem, n), buf_str(&out), NULL));
}

static inline const char *vectors_folder(Arena *arena)
{
    char name[] = "/tmp/dimscope_vectors_XXXXXX";
    assert_non_null(mkdtemp(name));
    return arena_str(arena, str_from(name));
}

/* A folder with numbers below limit[i] for input i, of i64; NULL where the first limit is 0. */
static inline const char *vectors_made(Arena *arena, const Inferred *inferred, const int *limit)
{
    if (limit[0] == 0)
        return NULL;
    const char *folder = vectors_folder(arena);
    uint32_t state = 1;
    for (int i = 0; i < inferred->graph->n_inputs; i++) {
        const Shape *shape = inferred_shape(inferred, inferred->graph->inputs[i]);
        int64_t n = shape_elements(shape), *ids = arena_array(arena, int64_t, n);
        for (int64_t k = 0; k < n; k++) {
            state = state * 1664525u + 1013904223u;
            ids[k] = (state >> 16) % (uint32_t)limit[i];
        }
        vectors_write(arena, folder, "input", i, DT_I64, shape,
                      (Str){(const char *)ids, (size_t)n * sizeof *ids});
    }
    return folder;
}

static inline void vectors_remove(Arena *arena, const char *folder)
{
    static const char *const stems[] = {"input", "output"};
    for (int i = 0; folder && i < VECTORS_MAX; i++)
        for (size_t s = 0; s < COUNT_OF(stems); s++)
            unlink(arena_printf(arena, "%s/%s_%d.pb", folder, stems[s], i));
    if (folder)
        rmdir(folder);
}

#endif
