/* onnx_tensor.h - a TensorProto: as initializer, as attribute, as a file of its own. */
#ifndef CORE_MODEL_ONNX_TENSOR_H
#define CORE_MODEL_ONNX_TENSOR_H

#include "core/model/onnx.h"
#include "core/model/wire.h"

/* Name and data are views of the file; elements in several pieces are joined in the arena. Checks
 * the shape, the length of inline data, and the path of external data. */
bool tensor_read(Arena *arena, Wire wire, OnnxTensor *out);

/* Reads a SparseTensorProto as a dense tensor. The elements are expanded if there are few, else
 * they are absent. */
bool tensor_read_sparse(Arena *arena, Wire wire, OnnxTensor *out);

/* "f32" for a TensorProto.DataType; DT_NONE for an unknown one: newer files have newer types. */
Dtype tensor_dtype(Wire *wire, const WireField *field);

#endif
