#include "core/run/verify/vectors.h"

#include "core/run/element.h"
#include "core/model/npy.h"

static OnnxKind kind_of(const Graph *graph, bool input, int place)
{
    if (!graph || place >= (input ? graph->n_inputs : graph->n_outputs))
        return ONNX_TENSOR;
    const GraphTensor *tensor =
        &graph->tensors[input ? graph->inputs[place] : graph->outputs[place]];
    return tensor->optional ? ONNX_OPTIONAL : tensor->sequence ? ONNX_SEQUENCE : ONNX_TENSOR;
}

enum { GAP_MOST = 16 };

/* How the files of a data set are called. */
typedef struct {
    const char *stem, *ending; /* "input", "pb" */
} FileNames;

static const char *path_of(Arena *arena, const char *folder, const FileNames *names, int i)
{
    return path_join(arena, folder, arena_printf(arena, "%s_%d.%s", names->stem, i, names->ending));
}

static FileNames names_in(Arena *arena, const char *folder, const char *stem)
{
    FileNames onnx = {stem, "pb"}, numpy = {stem, "npy"};
    if (strcmp(stem, "input") == 0)
        numpy.stem = "in";
    else if (strcmp(stem, "output") == 0)
        numpy.stem = "out";
    bool plain = !file_exists(path_of(arena, folder, &onnx, 0)) &&
                 file_exists(path_of(arena, folder, &numpy, 0));
    return plain ? numpy : onnx;
}

/* File numbers have no gaps: reports a file after the first missing one. */
static bool check_gap(Arena *arena, const char *folder, const FileNames *names, int missing,
                      Error *err)
{
    const char *before = path_base(path_of(arena, folder, names, missing));
    for (int i = missing + 1; i <= missing + GAP_MOST; i++)
        if (file_exists(path_of(arena, folder, names, i)))
            return error_kind(err, ERROR_UNREADABLE, "'%s' has %s but no %s", folder,
                              path_base(path_of(arena, folder, names, i)), before);
    return true;
}

void vector_shorten(Arena *arena, Dtype wanted, OnnxTensor *vector)
{
    Dtype from = vector->dtype;
    bool whole = dtype_is_float(wanted) && dtype_bits(wanted) >= 8 && dtype_is_computed(wanted);
    bool shorter = (from == DT_F32 || from == DT_F64) && dtype_bits(wanted) < dtype_bits(from);
    int64_t n = shape_elements(&vector->shape);
    bool raw = vector->data.form == DATA_RAW;
    if (!whole || !shorter || !raw || vector->data.bytes.n != (size_t)dtype_bytes(from, n))
        return;
    Number number = from == DT_F64 ? NUMBER_F64 : NUMBER_F32;
    int64_t size = element_bytes(wanted);
    char *made = arena_alloc(arena, arena_array_bytes((size_t)n, (size_t)size));
    for (int64_t i = 0; i < n; i += ELEMENT_BLOCK) {
        NumberBlock stored, block;
        int64_t some = n - i < ELEMENT_BLOCK ? n - i : ELEMENT_BLOCK;
        const char *at = vector->data.bytes.s + dtype_bytes(from, i); /* maybe unaligned */
        memcpy(&stored, at, (size_t)dtype_bytes(from, some));
        elements_load(from, &stored, 1, some, number, &block);
        elements_store(wanted, made + i * size, some, number, &block);
    }
    vector->dtype = wanted;
    vector->data.bytes = (Str){made, (size_t)(n * size)};
}

static bool read_value(Arena *arena, const char *path, Str bytes, const Graph *graph, bool input,
                       int place, OnnxTensor *out, Error *err)
{
    if (!str_ends(str_from(path), STR(".npy")))
        return onnx_read_value(arena, path, bytes, kind_of(graph, input, place), out, err);
    if (!npy_read(arena, path, bytes, out, err))
        return false;
    if (graph && place < (input ? graph->n_inputs : graph->n_outputs)) {
        int32_t tensor = input ? graph->inputs[place] : graph->outputs[place];
        if (out->dtype == DT_F32)
            vector_shorten(arena, (Dtype)graph->tensors[tensor].dtype, out);
    }
    return true;
}

bool vectors_open(Arena *arena, const char *folder, const char *stem, const Graph *graph,
                  Vectors *out, Error *err)
{
    bool input = strcmp(stem, "input") == 0;
    FileNames names = names_in(arena, folder, stem);
    *out = (Vectors){.maps = {.n = 0}};
    for (int i = 0;; i++) {
        const char *path = path_of(arena, folder, &names, i);
        if (!file_exists(path))
            break;
        FileMap map;
        OnnxTensor tensor;
        if (!file_map(path, &map, err))
            return false;
        vec_push(arena, &out->maps, map);
        if (!read_value(arena, path, map.text, graph, input, i, &tensor, err))
            return false;
        vec_push(arena, &out->tensors, tensor);
    }
    if (!check_gap(arena, folder, &names, out->tensors.n, err))
        return false;
    if (out->tensors.n > 0)
        return true;
    error_kind(err, ERROR_UNREADABLE, "there is no file %s_0.pb in '%s'", stem, folder);
    const char *inner = path_join(arena, folder, "test_data_set_0");
    if (file_exists(path_of(arena, inner, &names, 0)))
        error_hint(err, "they are in a folder of it: %s", inner);
    return false;
}

bool vector_read(Arena *arena, const char *path, Str bytes, OnnxTensor *out, Error *err)
{
    return str_ends(str_from(path), STR(".npy")) ? npy_read(arena, path, bytes, out, err)
                                                 : onnx_read_tensor(arena, path, bytes, out, err);
}

bool vectors_add(Arena *arena, const char *path, Str name, Vectors *out, Error *err)
{
    FileMap map;
    OnnxTensor tensor;
    if (!file_map(path, &map, err))
        return false;
    vec_push(arena, &out->maps, map);
    if (!vector_read(arena, path, map.text, &tensor, err))
        return false;
    tensor.name = name;
    vec_push(arena, &out->tensors, tensor);
    return true;
}

void vectors_close(Vectors *vectors)
{
    for (int i = 0; i < vectors->maps.n; i++)
        file_unmap(&vectors->maps.at[i]);
    *vectors = (Vectors){.maps = {.n = 0}};
}

const OnnxTensor *vectors_find(const Vectors *vectors, Str name, int place)
{
    for (int i = 0; i < vectors->tensors.n; i++)
        if (str_eq(vectors->tensors.at[i].name, name))
            return &vectors->tensors.at[i];
    return place < vectors->tensors.n ? &vectors->tensors.at[place] : NULL;
}

const void *data_elements(Arena *arena, const TensorData *data, Dtype dtype, int64_t n, Error *err)
{
    bool as_they_lie = data->form == DATA_RAW && dtype_bits(dtype) >= 8;
    if (as_they_lie && data->bytes.n == (size_t)dtype_bytes(dtype, n))
        return n > 0 ? data->bytes.s : "";
    if (dtype == DT_NONE || dtype == DT_STR) {
        error_kind(err, ERROR_DTYPE, "elements of type %s are not computed on", dtype_name(dtype));
        return NULL;
    }
    size_t n_bytes = arena_array_bytes((size_t)n, (size_t)element_bytes(dtype));
    bool missing = data->form != DATA_FILL && data->bytes.n < (size_t)n / 4;
    if (missing && n > 0) { /* before allocating memory for missing data */
        error_kind(err, ERROR_UNREADABLE, "the data is shorter than its shape");
        return NULL;
    }
    void *elements = arena_alloc(arena, n_bytes);
    return data_read(data, dtype, n, elements, err) ? elements : NULL;
}

/* The tensor's elements as a Local; NULL with *err if its data cannot be read. */
TensorData vector_data(const OnnxTensor *vector)
{
    TensorData data = vector->data;
    if (vector->dtype == DT_F32)
        data.stored = DT_F32;
    return data;
}

static Local *tensor_value(Arena *arena, const OnnxTensor *vector, Dtype dtype, Error *err)
{
    int64_t n = shape_elements(&vector->shape);
    TensorData data = vector_data(vector);
    const void *elements = data_elements(arena, &data, dtype, n, err);
    if (!elements)
        return NULL;
    Local *value = local_new_whole(dtype, &vector->shape);
    elements_copy(dtype, value->data, elements, 1, n);
    return value;
}

Local *vector_value(Arena *arena, const OnnxTensor *vector, Dtype dtype, Error *err)
{
    if (vector->nothing)
        return local_new_nothing(vector->dtype);
    if (!vector->sequence)
        return tensor_value(arena, vector, dtype, err);
    Local *value = local_new_sequence(vector->dtype);
    for (int i = 0; i < vector->n_items; i++) {
        Local *item = tensor_value(arena, &vector->items[i], dtype, err);
        if (!item) {
            local_free(value);
            return NULL;
        }
        local_append(value, item);
    }
    return value;
}
