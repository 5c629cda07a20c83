#include "core/model/safetensors.h"

#include "core/base/json.h"
#include "core/base/zip.h"
#include "core/model/npy.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { LENGTH_BYTES = 8, HEADER_MOST = 100 << 20 };

static const struct {
    const char *name;
    Dtype dtype;
} dtypes[] = {
    {"F64", DT_F64},   {"F32", DT_F32},          {"F16", DT_F16},        {"BF16", DT_BF16},
    {"I64", DT_I64},   {"I32", DT_I32},          {"I16", DT_I16},        {"I8", DT_I8},
    {"U64", DT_U64},   {"U32", DT_U32},          {"U16", DT_U16},        {"U8", DT_U8},
    {"BOOL", DT_BOOL}, {"F8_E4M3", DT_F8E4M3FN}, {"F8_E5M2", DT_F8E5M2},
};

static Dtype dtype_of(Str name)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (str_eq(name, str_from(dtypes[i].name)))
            return dtypes[i].dtype;
    return DT_NONE;
}

static bool wrong(Error *err, const char *path, const char *what, const char *tensor)
{
    return error_kind(err, ERROR_UNREADABLE, "'%s' is not a safetensors file: %s%s%s%s", path, what,
                      *tensor ? " '" : "", tensor, *tensor ? "'" : "");
}

static bool read_shape(const Json *sizes, Shape *out)
{
    *out = (Shape){.n_dims = json_size(sizes)};
    if (!json_is_array(sizes) || out->n_dims > DIMS_MAX)
        return false;
    for (int d = 0; d < out->n_dims; d++)
        out->dim[d] = json_int(json_at(sizes, d), -1);
    return shape_check(out, NULL);
}

/* data: the bytes after the header. */
static bool read_tensor(const char *path, const char *name, const Json *entry, Str data,
                        SafeTensor *out, Error *err)
{
    const Json *offsets = json_get(entry, "data_offsets");
    int64_t from = json_int(json_at(offsets, 0), -1), to = json_int(json_at(offsets, 1), -1);
    out->dtype = dtype_of(json_str(json_get(entry, "dtype"), ""));
    if (out->dtype == DT_NONE)
        return wrong(err, path, "an element type that is not known, of", name);
    if (!read_shape(json_get(entry, "shape"), &out->shape))
        return wrong(err, path, "no shape of", name);
    if (json_size(offsets) != 2 || from < 0 || to < from || (uint64_t)to > data.n)
        return wrong(err, path, "it ends before the elements of", name);
    if (to - from != dtype_bytes(out->dtype, shape_elements(&out->shape)))
        return wrong(err, path, "the bytes are not as many as the shape says, of", name);
    out->bytes = (Str){data.s + from, (size_t)(to - from)};
    return true;
}

static bool read_header(Arena *arena, const char *path, Str text, SafeTensors *out, Error *err)
{
    uint64_t n = 0;
    if (text.n < LENGTH_BYTES)
        return wrong(err, path, "it has no header", "");
    for (int i = LENGTH_BYTES - 1; i >= 0; i--)
        n = n << 8 | (unsigned char)text.s[i];
    if (n > text.n - LENGTH_BYTES || n > HEADER_MOST)
        return wrong(err, path, "its header is longer than the file", "");
    Source source = {path, {text.s + LENGTH_BYTES, (size_t)n}};
    Str data = {text.s + LENGTH_BYTES + n, text.n - LENGTH_BYTES - (size_t)n};
    Json *header = json_parse(&source, err);
    bool ok = header && (json_is_object(header) || wrong(err, path, "its header is no object", ""));
    for (const char *key = NULL; ok && (key = json_key_after(header, key));) {
        SafeTensor tensor = {.name = ""};
        if (strcmp(key, "__metadata__") == 0)
            continue;
        ok = read_tensor(path, key, json_get(header, key), data, &tensor, err);
        tensor.name = arena_str(arena, str_from(key));
        if (ok)
            vec_push(arena, &out->tensors, tensor);
    }
    json_free(header);
    return ok;
}

/* numpy.savez: a zip file with NAME.npy for each array. */
static bool read_npz(Arena *arena, const char *path, Str text, SafeTensors *out, Error *err)
{
    const Source source = {path, text};
    Zip zip;
    if (!zip_open(arena, &source, &zip, err))
        return false;
    for (int i = 0; i < zip.members.n; i++) {
        Str name = zip.members.at[i].name, bytes;
        OnnxTensor array;
        if (!str_ends(name, STR(".npy")))
            continue;
        if (!zip_view(arena, &zip, &zip.members.at[i], &bytes, err) ||
            !npy_read(arena, path, bytes, &array, err))
            return false;
        name.n -= strlen(".npy");
        vec_push(arena, &out->tensors,
                 (SafeTensor){arena_str(arena, name), array.dtype, array.shape, array.data.bytes});
    }
    return true;
}

static bool read_file(Arena *arena, const char *path, SafeTensors *out, Error *err)
{
    FileMap map;
    if (!file_map(path, &map, err))
        return false;
    vec_push(arena, &out->maps, map);
    return zip_is(map.text) ? read_npz(arena, path, map.text, out, err)
                            : read_header(arena, path, map.text, out, err);
}

static bool read_folder(Arena *arena, const char *path, SafeTensors *out, Error *err)
{
    DIR *dir = opendir(path);
    int n = 0;
    bool ok = dir || error_kind(err, ERROR_UNREADABLE, "cannot read '%s'", path);
    for (const struct dirent *entry; ok && (entry = readdir(dir));) {
        if (!str_ends(str_from(entry->d_name), STR(".safetensors")))
            continue;
        ok = read_file(arena, path_join(arena, path, entry->d_name), out, err);
        n++;
    }
    if (dir)
        closedir(dir);
    return ok && (n > 0 || error_kind(err, ERROR_UNREADABLE,
                                      "there is no file *.safetensors in '%s'", path));
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const SafeTensor *)a)->name, ((const SafeTensor *)b)->name);
}

bool safetensors_open(Arena *arena, const char *path, SafeTensors *out, Error *err)
{
    struct stat status;
    *out = (SafeTensors){.path = path};
    bool folder = stat(path, &status) == 0 && S_ISDIR(status.st_mode);
    if (!(folder ? read_folder(arena, path, out, err) : read_file(arena, path, out, err)))
        return false;
    if (out->tensors.n > 0)
        qsort(out->tensors.at, (size_t)out->tensors.n, sizeof *out->tensors.at, by_name);
    for (int i = 1; i < out->tensors.n; i++)
        if (by_name(&out->tensors.at[i - 1], &out->tensors.at[i]) == 0)
            return error_kind(err, ERROR_UNREADABLE, "'%s' has two tensors '%s'", path,
                              out->tensors.at[i].name);
    return true;
}

void safetensors_close(SafeTensors *tensors)
{
    for (int i = 0; i < tensors->maps.n; i++)
        file_unmap(&tensors->maps.at[i]);
    tensors->maps.n = tensors->tensors.n = 0;
}

const SafeTensor *safetensors_find(const SafeTensors *tensors, const char *name)
{
    SafeTensor key = {.name = name};
    return tensors->tensors.n == 0 ? NULL
                                   : bsearch(&key, tensors->tensors.at, (size_t)tensors->tensors.n,
                                             sizeof *tensors->tensors.at, by_name);
}
