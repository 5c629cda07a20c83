#include "core/run/vectors.h"

#include "core/run/element.h"

bool vectors_open(Arena *arena, const char *folder, const char *stem, Vectors *out, Error *err)
{
    *out = (Vectors){.maps = {.n = 0}};
    for (int i = 0;; i++) {
        const char *path = path_join(arena, folder, arena_printf(arena, "%s_%d.pb", stem, i));
        if (!file_exists(path))
            break;
        FileMap map;
        OnnxTensor tensor;
        if (!file_map(path, &map, err))
            return false;
        vec_push(arena, &out->maps, map);
        if (!onnx_read_tensor(arena, path, map.text, &tensor, err))
            return false;
        vec_push(arena, &out->tensors, tensor);
    }
    return out->tensors.n > 0 ||
           error_kind(err, ERROR_UNREADABLE, "there is no file %s_0.pb in '%s'", stem, folder);
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
    if (data->bytes.n < (size_t)n / 4 && n > 0) { /* before memory is taken for what is not there */
        error_kind(err, ERROR_UNREADABLE, "the data is shorter than its shape");
        return NULL;
    }
    void *elements = arena_alloc(arena, n_bytes);
    return data_read(data, dtype, n, elements, err) ? elements : NULL;
}
