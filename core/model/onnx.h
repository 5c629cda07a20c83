/* onnx.h - an ONNX file read from the wire format: mapped, not copied, weights untouched.
 *
 * Reads ModelProto by field number (onnx.proto, IR 3 to 14); unknown fields are skipped, nesting is
 * limited, every length is checked against what is left. Initializers may be listed as inputs or
 * not. External data is located relative to the model file and refused if its path leaves that
 * folder; it is mapped on first use, and the file may be missing. The map is used as long as the
 * graph lives: free the arena first, then unmap.
 *
 * Local functions are inlined, the bodies of If, Loop, Scan and SequenceMap become ops of the same
 * graph (GraphBody in graph.h); their ops are named after the node, "If_3/Add_1", and are below
 * its path. A function that calls itself is refused. If becomes one op per output, `If(condition,
 * then, else)`; a Loop or Scan ops LoopIndex, LoopCarry, LoopSlice before its body and, after it,
 * one op LoopResult (initial, next) per carried value and LoopStack per other output: of a Loop
 * (one iteration's, the most iterations, goes on, -, begins), of a Scan (one's, -, -, what is
 * scanned). A node whose body does not fit it stays one op.
 *
 * Module paths: the last module in a node's metadata `pkg.torch.onnx.name_scopes`, else its name.
 */
#ifndef CORE_MODEL_ONNX_H
#define CORE_MODEL_ONNX_H

#include "core/base/file.h"
#include "core/base/progress.h"
#include "core/model/graph.h"

/* Operators that have rules of their own: a local function with such a name is not inlined. */
typedef struct {
    bool (*has)(const void *context, Str op_type); /* NULL if there are none */
    const void *context;
    Progress *progress; /* bytes of the file, and its first ops as lines; or NULL */
} OnnxKeep;

/* Returns NULL with ERROR_UNREADABLE if the file is missing, truncated or hostile. */
Graph *onnx_open(Arena *arena, const char *path, FileMap *map, Error *err);

/* The same on bytes in memory (fuzzers, tests). file names them and locates external data. */
Graph *onnx_read(Arena *arena, const char *file, Str bytes, Error *err);

Graph *onnx_open_keeping(Arena *arena, const char *path, OnnxKeep keep, FileMap *map, Error *err);
Graph *onnx_read_keeping(Arena *arena, const char *file, Str bytes, OnnxKeep keep, Error *err);

/* The elements of an external tensor: maps `location` beside graph->file. Returns false if absent.
 */
bool onnx_external(const Graph *graph, const TensorData *data, FileMap *map, Str *bytes,
                   Error *err);

/* A file of an ONNX test set (input_0.pb): a TensorProto, a SequenceProto of tensors, or an
 * OptionalProto of either. The bytes do not say which of them the file holds; the model does. */
enum { ONNX_ITEMS_MAX = 1 << 16 };
typedef enum { ONNX_TENSOR, ONNX_SEQUENCE, ONNX_OPTIONAL } OnnxKind;

typedef struct OnnxTensor {
    Str name;
    Dtype dtype; /* of a sequence: its elements'; DT_NONE when there are none */
    Shape shape;
    TensorData data;
    bool sequence, nothing; /* a sequence, of `items`; an optional that holds nothing */
    int n_items;
    struct OnnxTensor *items;
} OnnxTensor;
bool onnx_read_tensor(Arena *arena, const char *file, Str bytes, OnnxTensor *out, Error *err);
/* Reads at most ONNX_ITEMS_MAX elements; a sequence of anything but tensors is refused. */
bool onnx_read_value(Arena *arena, const char *file, Str bytes, OnnxKind kind, OnnxTensor *out,
                     Error *err);

#endif
