/* widen.h - a model whose f32 numbers are computed as f64.
 *
 * For comparing a run with exact results: inputs, parameters, constants and results of casts become
 * f64; elements stored as f32 are converted when they are read (TensorData.stored). Models with
 * floats of less than 32 bits are refused: without their rounding they would be another model.
 */
#ifndef CORE_MODEL_WIDEN_H
#define CORE_MODEL_WIDEN_H

#include "core/model/graph.h"

/* Changes the graph in place. Returns false with ERROR_UNSUPPORTED naming a tensor of f16 or bf16.
 */
bool graph_widen(Graph *graph, Error *err);

#endif
