/* vectors.h - values from files: the input_N.pb and output_N.pb of ONNX test sets. */
#ifndef CORE_RUN_VECTORS_H
#define CORE_RUN_VECTORS_H

#include "core/base/vec.h"
#include "core/model/onnx.h"
#include "core/run/local.h"

typedef struct {
    Vec(OnnxTensor) tensors; /* N is the place */
    Vec(FileMap) maps;
} Vectors;

/* Reads FOLDER/input_0.pb, _1.pb .. until one is missing, or output_0.pb ..: N is the place in the
 * graph's inputs or outputs, which says whether it is a tensor, a sequence or an optional; graph
 * NULL: all are tensors. Ends with vectors_close(), also after an error. ERROR_UNREADABLE: the
 * folder is missing, or a file is no such value. */
bool vectors_open(Arena *arena, const char *folder, const char *stem, const Graph *graph,
                  Vectors *out, Error *err);
void vectors_close(Vectors *vectors);

/* The one that has this name, else the one at `place`; NULL when there is none. */
const OnnxTensor *vectors_find(const Vectors *vectors, Str name, int place);

/* A value as one device has it, which the caller frees, its elements read as of type dtype; NULL
 * with *err: text, or data that is short. */
Local *vector_value(Arena *arena, const OnnxTensor *vector, Dtype dtype, Error *err);

/* Elements in host order, in the file's bytes where they lie so, else read into the arena. They may
 * be unaligned. NULL with *err. */
const void *data_elements(Arena *arena, const TensorData *data, Dtype dtype, int64_t n, Error *err);

#endif
