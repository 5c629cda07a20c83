/* gradient_model.h - reads the models and tensors of the requests `grad` and `grad.graph`.
 *
 *     {"inputs": {NAME: TENSOR}, "constants": {NAME: TENSOR}, "nodes": [NODE], "outputs": [NAME]}
 *     TENSOR  {"dtype": "f64", "shape": [2,3], "data": [..]}
 *     NODE    {"op": "Mul", "inputs": [NAME], "outputs": [NAME], "attrs": {NAME: VALUE}}
 *
 * An attribute that is an object is a graph of this form, with a list of names as its inputs. Such
 * a model is written as an ONNX file in memory and read back, so that branches and loops are
 * treated as in files. Inputs of whole numbers are constants, since shapes may depend on them.
 */
#ifndef CORE_PROVE_GRADIENT_MODEL_H
#define CORE_PROVE_GRADIENT_MODEL_H

#include "core/base/json.h"
#include "core/model/graph.h"

Graph *gradient_model(Arena *arena, const Json *request, Error *err);

bool gradient_tensor_type(const Json *tensor, Dtype *dtype, Shape *shape, Error *err);
/* Elements of the type, row-major; as many as the shape has. */
bool gradient_tensor_elements(const Json *tensor, Dtype dtype, const Shape *shape, void *out,
                              Error *err);

#endif
