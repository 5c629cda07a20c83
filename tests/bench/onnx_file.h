/* onnx_file.h - writes a made graph as an .onnx file, named and scoped as torch does.
 *
 * An op "h.3.attn.q_view" of the module h.3.attn is "/h.3.attn/q_view". Weights are there without
 * elements; attributes are integers.
 */
#ifndef TESTS_BENCH_ONNX_FILE_H
#define TESTS_BENCH_ONNX_FILE_H

#include "core/model/graph.h"

bool onnx_file_write(const Graph *graph, const char *path, Error *err);

#endif
