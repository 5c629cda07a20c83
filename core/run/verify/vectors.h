/* vectors.h - values from files: the input_N.pb and output_N.pb of ONNX test sets, or in_N.npy and
 * out_N.npy. */
#ifndef CORE_RUN_VERIFY_VECTORS_H
#define CORE_RUN_VERIFY_VECTORS_H

#include "core/base/vec.h"
#include "core/model/onnx.h"
#include "core/run/local.h"

typedef struct {
    Vec(OnnxTensor) tensors; /* N is the place */
    Vec(FileMap) maps;
} Vectors;

/* Reads FOLDER/input_0.pb, _1.pb .. (or output_0.pb ..) until one is missing; without them
 * FOLDER/in_0.npy .. (out_0.npy ..), whose f32 may stand for a shorter float of the graph, since
 * numpy has no bf16. N is the place in the
 * graph's inputs or outputs, which tells tensors, sequences and optionals apart; all are tensors
 * when graph is NULL. End with vectors_close(), also after an error. ERROR_UNREADABLE: the folder
 * is missing or a file is malformed. */
bool vectors_open(Arena *arena, const char *folder, const char *stem, const Graph *graph,
                  Vectors *out, Error *err);
void vectors_close(Vectors *vectors);

/* Reads a tensor from the bytes of a file: .npy, or a TensorProto. */
bool vector_read(Arena *arena, const char *path, Str bytes, OnnxTensor *out, Error *err);

/* Rounds a vector's f32 or f64 elements to `wanted` if that is a shorter float of whole bytes; else
 * leaves it. The new elements live in the arena. */
void vector_shorten(Arena *arena, Dtype wanted, OnnxTensor *vector);

/* Reads one more tensor from a file, as the value of that name. */
bool vectors_add(Arena *arena, const char *path, Str name, Vectors *out, Error *err);

/* The value of that name, else the one at `place`; NULL when there is none. */
const OnnxTensor *vectors_find(const Vectors *vectors, Str name, int place);

/* Its elements, which may be read as f64 where they are f32. */
TensorData vector_data(const OnnxTensor *vector);

/* The whole value with elements of type dtype, which the caller frees; NULL with *err: strings, or
 * too little data. */
Local *vector_value(Arena *arena, const OnnxTensor *vector, Dtype dtype, Error *err);

/* Elements in host byte order, maybe unaligned: in the file's bytes where possible, else in the
 * arena. NULL with *err. */
const void *data_elements(Arena *arena, const TensorData *data, Dtype dtype, int64_t n, Error *err);

#endif
