/* onnx_tensor.h - a TensorProto: as initializer, as attribute, as a file of its own. */
#ifndef CORE_MODEL_ONNX_TENSOR_H
#define CORE_MODEL_ONNX_TENSOR_H

#include "core/model/onnx.h"
#include "core/model/wire.h"

/* Name and data are views of the file; elements that stand in several pieces are joined in the
 * arena. Checks the shape, the length of what is inline, and the path of what is not. */
bool tensor_read(Arena *arena, Wire wire, OnnxTensor *out);

/* A SparseTensorProto as the dense tensor it stands for. Its elements are written out where they
 * are few, else they are absent. */
bool tensor_read_sparse(Arena *arena, Wire wire, OnnxTensor *out);

/* "f32" for a TensorProto.DataType; DT_NONE when it is none that we
 * know: newer files have newer types. */
Dtype tensor_dtype(Wire *wire, const WireField *field);

#endif
