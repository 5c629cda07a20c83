#include "core/model/onnx.h"

#include "core/model/onnx_reader.h"

#include <inttypes.h>

/* ---- the graph ---- */

static void add_declared(OnnxReader *reader, const Declared *declared, uint32_t field)
{
    int32_t tensor = graph_tensor(reader->builder, declared->name);
    if (field == FIELD_INPUT)
        graph_add_input(reader->builder, tensor, declared->dtype, declared->dims, declared->n_dims);
    else
        graph_declare(reader->builder, tensor, declared->dtype, declared->dims, declared->n_dims);
    bool made = tensor >= 0 && reader->builder->tensors.at[tensor].kind == TENSOR_MADE;
    if (field == FIELD_INPUT || made)
        graph_mark(reader->builder, tensor, declared->sequence, declared->optional);
    if (field != FIELD_OUTPUT)
        return;
    graph_add_output(reader->builder, tensor);
    reader->has_output = true;
}

/* Counts before reading, to allocate columns once; the counts are only a hint. */
static void reserve(OnnxReader *reader, Wire wire)
{
    enum { COUNT_MAX = 1 << 24 }; /* a first guess: what is beyond grows as it comes */
    int n_nodes = 0, n_others = 0;
    for (WireField field; wire_next(&wire, &field);)
        if (field.number == FIELD_NODE)
            n_nodes += n_nodes < COUNT_MAX;
        else
            n_others += n_others < COUNT_MAX;
    int n_tensors = n_nodes + n_nodes / 8 + n_others, n_paths = n_nodes / 2;
    graph_reserve(reader->builder, n_nodes, n_tensors, 3 * n_nodes, n_nodes + n_tensors + n_paths);
}

enum { REPORT_BYTES = 1 << 18 };

/* Reports progress. Returns false, with the file marked as failed, if the user cancels the reading.
 */
static bool report_progress(OnnxReader *reader, Wire *wire)
{
    Progress *progress = reader->keep.progress;
    if (!progress || wire->at - reader->reported < REPORT_BYTES)
        return true;
    progress_add(progress, wire->at - reader->reported);
    reader->reported = wire->at;
    if (!progress_goes_on(progress, wire->file->err))
        wire->file->failed = true;
    return !wire->file->failed;
}

static void read_graph(OnnxReader *reader, Wire wire)
{
    if (!reader->has_graph)
        reserve(reader, wire);
    reader->has_graph = true;
    for (WireField field; report_progress(reader, &wire) && wire_next(&wire, &field);)
        switch (field.number) {
        case FIELD_NODE:
            read_node(reader, wire_message(&wire, &field, "NodeProto"));
            break;
        case FIELD_INITIALIZER:
            read_initializer(reader, wire_message(&wire, &field, "TensorProto"), false);
            break;
        case FIELD_SPARSE:
            read_initializer(reader, wire_message(&wire, &field, "SparseTensorProto"), true);
            break;
        case FIELD_INPUT:
        case FIELD_OUTPUT:
        case FIELD_INFO: {
            Declared declared =
                read_value_info(reader, wire_message(&wire, &field, "ValueInfoProto"));
            if (!wire.file->failed)
                add_declared(reader, &declared, field.number);
            break;
        }
        default:
            break;
        }
}

/* ---- the model ---- */

/* Checks that opset_import is there. It follows the graph in most files, so a file without it is
 * truncated. */
static bool check_model(OnnxReader *reader, WireFile *file)
{
    if (file->failed)
        return false;
    const char *missing = NULL;
    if (!reader->has_graph)
        missing = "a graph";
    else if (!reader->has_output)
        missing = "an output of its graph";
    else if (!reader->has_opset && (reader->ir_version == 0 || reader->ir_version >= 3))
        missing = "an opset_import";
    if (!missing)
        return true;
    error_kind(file->err, ERROR_UNREADABLE, "the model ends at byte %zu without %s", file->bytes.n,
               missing);
    error_in_file(file->err, file->name);
    return false;
}

static bool read_model(OnnxReader *reader, WireFile *file)
{
    Wire wire = wire_begin(file, "ModelProto"), first = wire;
    for (WireField field;
         wire_next(&first, &field);) /* what the graph is read by stands after it */
        if (field.number == 8) {
            reader->has_opset = true;
            read_opset(wire_message(&first, &field, "OperatorSetIdProto"), &reader->graph->opset);
        } else if (field.number == 25)
            index_function(reader, wire_message(&first, &field, "FunctionProto"));
    for (WireField field; wire_next(&wire, &field);)
        if (field.number == 1)
            reader->ir_version = wire_int(&wire, &field);
        else if (field.number == 7)
            read_graph(reader, wire_message(&wire, &field, "GraphProto"));
    return check_model(reader, file);
}

static OnnxReader new_reader(Arena *arena, Arena *scratch, const char *file, OnnxKeep keep)
{
    GraphBuilder *builder = graph_builder_new(arena, file);
    return (OnnxReader){.arena = arena,
                        .builder = builder,
                        .graph = graph_builder_graph(builder),
                        .keep = keep,
                        .function_keys = intern_new(scratch),
                        .bytes_left = INLINED_BYTES_MAX,
                        .path = buf_new(scratch),
                        .whole_name = buf_new(scratch),
                        .whole_path = buf_new(scratch),
                        .kind = buf_new(scratch)};
}

Graph *onnx_read_keeping(Arena *arena, const char *file, Str bytes, OnnxKeep keep, Error *err)
{
    Arena *scratch = arena_new();
    OnnxReader reader = new_reader(arena, scratch, file, keep);
    WireFile wire = wire_file(file, bytes, err);
    progress_stage(keep.progress, "reading", (int64_t)bytes.n);
    reader.reported = bytes.s;
    bool read = read_model(&reader, &wire);
    arena_free(scratch);
    if (!read) {
        if (err && !progress_stopped(keep.progress) && !err->hint[0])
            error_hint(err, "is this a whole ONNX file?");
        return NULL;
    }
    if (!progress_goes_on(keep.progress, err))
        return NULL;
    Error why = {0};
    Graph *graph = graph_seal(reader.builder, &why);
    if (!graph) {
        error_kind(err, ERROR_UNREADABLE, "%s", why.text);
        error_hint(err, "%s", why.hint);
        error_in_file(err, file);
        return NULL;
    }
    graph->hash = graph_hash_of_file(bytes);
    return graph;
}

Graph *onnx_read(Arena *arena, const char *file, Str bytes, Error *err)
{
    return onnx_read_keeping(arena, file, bytes, (OnnxKeep){0}, err);
}

Graph *onnx_open_keeping(Arena *arena, const char *path, OnnxKeep keep, FileMap *map, Error *err)
{
    if (!file_map(path, map, err))
        return NULL;
    Graph *graph = onnx_read_keeping(arena, path, map->text, keep, err);
    if (!graph)
        file_unmap(map);
    return graph;
}

Graph *onnx_open(Arena *arena, const char *path, FileMap *map, Error *err)
{
    return onnx_open_keeping(arena, path, (OnnxKeep){0}, map, err);
}
