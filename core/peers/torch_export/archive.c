#include "core/peers/torch_export/archive.h"

#include <inttypes.h>

enum { EXPANDED_MAX = 1 << 30 };

static const char *const folders[ARCHIVE_KINDS] = {"data/weights/", "data/constants/"};

/* `name` is said behind what is wrong; "" for none. */
static bool fail(const Archive *archive, Error *err, const char *what, Str name)
{
    error_kind(err, ERROR_UNREADABLE, name.n > 0 ? "%s '%.*s'" : "%s", what, STR_ARG(name));
    error_in_file(err, archive->source.name);
    return false;
}

/* ---- opening ---- */

static bool read_json(Archive *archive, Arena *scratch, const ZipMember *member, Source *text,
                      JsonView *out, Error *err)
{
    *text = (Source){
        arena_printf(archive->arena, "%s:%.*s", archive->source.name, STR_ARG(member->name)),
        STR("")};
    return zip_read(archive->arena, &archive->zip, member, &text->text, err) &&
           json_view_read(scratch, text, out, err);
}

/* How many programs the archive has; *found becomes the last of them. */
static int count_programs(const Archive *archive, const ZipMember **found)
{
    int n = 0;
    for (int i = 0; i < archive->zip.members.n; i++) {
        const ZipMember *member = &archive->zip.members.at[i];
        int64_t at = str_find(member->name, STR("models/"));
        bool inside = at == 0 || (at > 0 && member->name.s[at - 1] == '/');
        if (!inside || !str_ends(member->name, STR(".json")))
            continue;
        *found = member;
        n++;
    }
    return n;
}

/* The folder of everything is what comes before "models/". */
static const ZipMember *find_program(Archive *archive, Error *err)
{
    const ZipMember *found = NULL;
    int n = count_programs(archive, &found);
    if (n > 1) {
        error_kind(err, ERROR_UNREADABLE, "the archive has %d models, one is read", n);
        error_in_file(err, archive->source.name);
        error_hint(err, "save each with torch.export.save");
        return NULL;
    }
    if (n == 1) {
        archive->folder = (Str){found->name.s, (size_t)str_find(found->name, STR("models/"))};
        return found;
    }
    found = zip_find_end(&archive->zip, "serialized_exported_program.json");
    archive->pickled = found != NULL;
    if (!found) {
        fail(archive, err, "the zip file has no models/*.json", STR(""));
        error_hint(err,
                   "write it with torch.export.save(torch.export.export(model, inputs), FILE); a "
                   "checkpoint has weights, but no graph");
    }
    return found;
}

static const ZipMember *find_in(const Archive *archive, Arena *scratch, const char *name)
{
    return zip_find(&archive->zip,
                    str_from(arena_printf(scratch, "%.*s%s", STR_ARG(archive->folder), name)));
}

static bool check_byteorder(Archive *archive, Arena *scratch, Error *err)
{
    Str text;
    const ZipMember *member = find_in(archive, scratch, "byteorder");
    if (!member)
        return true;
    if (!zip_read(archive->arena, &archive->zip, member, &text, err))
        return false;
    return str_eq(str_trim(text), STR("little")) ||
           fail(archive, err, "its numbers are not little-endian: its byte order is",
                str_trim(text));
}

/* The config of the weights ends so under any name of a model. */
static const ZipMember *find_config(const Archive *archive, int kind)
{
    for (int i = 0; i < archive->zip.members.n; i++) {
        Str name = archive->zip.members.at[i].name;
        if (str_starts(name, archive->folder) && str_find(name, str_from(folders[kind])) >= 0 &&
            str_ends(name, STR("_config.json")))
            return &archive->zip.members.at[i];
    }
    return NULL;
}

static bool open_zip(Archive *archive, Arena *scratch, Error *err)
{
    if (!zip_open(scratch, &archive->source, &archive->zip, err))
        return false;
    archive->zipped = true;
    const ZipMember *program = find_program(archive, err);
    if (!program || !check_byteorder(archive, scratch, err) ||
        !read_json(archive, scratch, program, &archive->text[0], &archive->program, err))
        return false;
    for (int kind = 0; kind < ARCHIVE_KINDS; kind++) {
        const ZipMember *config = find_config(archive, kind);
        if (config && !read_json(archive, scratch, config, &archive->text[1 + kind],
                                 &archive->config[kind], err))
            return false;
    }
    return true;
}

bool archive_open(const ModelFile *file, Arena *scratch, Archive *out, Error *err)
{
    *out = (Archive){.arena = file->arena, .source = {file->path, file->text}};
    if (zip_is(file->text) || str_ends(str_from(file->path), STR(".pt2")))
        return open_zip(out, scratch, err);
    out->text[0] = out->source;
    return json_view_read(scratch, &out->text[0], &out->program, err);
}

/* ---- tensors ---- */

ArchiveEntry archive_find(const Archive *archive, Str name)
{
    const char *key = arena_str(archive->arena, name);
    for (int kind = 0; kind < ARCHIVE_KINDS; kind++) {
        const JsonView *view = &archive->config[kind];
        int32_t entry =
            view->n == 0 ? -1 : json_view_get(view, json_view_get(view, 0, "config"), key);
        if (entry < 0)
            continue;
        Str storage = json_view_raw(view, json_view_get(view, entry, "path_name"));
        const char *path = arena_printf(archive->arena, "%.*s%s%.*s", STR_ARG(archive->folder),
                                        folders[kind], STR_ARG(storage));
        const ZipMember *member = zip_find(&archive->zip, str_from(path));
        return (ArchiveEntry){kind, entry, storage, member ? member->size : 0};
    }
    return (ArchiveEntry){-1, -1, STR(""), 0};
}

typedef struct {
    int64_t offset, stride[DIMS_MAX];
    bool row_major;
} Strides;

/* The strides and the offset of a TensorMeta, in elements; false if the elements do not lie in a
 * storage of `n` of them. */
static bool read_strides(const JsonView *view, int32_t meta, const Shape *shape, int64_t n,
                         Strides *out)
{
    int64_t dense[DIMS_MAX], last = 0;
    int d = 0;
    *out = (Strides){.row_major = true};
    row_major_strides(shape, dense);
    json_view_int(view, json_view_get(view, json_view_get(view, meta, "storage_offset"), "as_int"),
                  &out->offset);
    json_view_each (item, view, json_view_get(view, meta, "strides"))
        if (d < shape->n_dims &&
            json_view_int(view, json_view_get(view, item, "as_int"), &out->stride[d]))
            d++;
    if (d != shape->n_dims || out->offset < 0 || out->offset > n)
        return false;
    if (shape_elements(shape) == 0)
        return true;
    for (d = 0; d < shape->n_dims; d++) {
        int64_t reach, stride = out->stride[d];
        out->row_major &= stride == dense[d] || shape->dim[d] == 1;
        if (stride < 0 || __builtin_mul_overflow(stride, shape->dim[d] - 1, &reach) ||
            __builtin_add_overflow(last, reach, &last))
            return false;
    }
    return last < n - out->offset;
}

/* The elements of a strided view, one after the other. */
static char *gather(Arena *arena, const char *from, const Strides *at, const Shape *shape,
                    int64_t size)
{
    int64_t n = shape_elements(shape), index[DIMS_MAX] = {0};
    char *out = arena_alloc(arena, arena_array_bytes((size_t)n, (size_t)size));
    for (int64_t i = 0; i < n; i++) {
        int64_t place = at->offset;
        for (int d = 0; d < shape->n_dims; d++)
            place += index[d] * at->stride[d];
        memcpy(out + i * size, from + place * size, (size_t)size);
        for (int d = (int)shape->n_dims - 1; d >= 0 && ++index[d] == shape->dim[d]; d--)
            index[d] = 0;
    }
    return out;
}

bool archive_data(Archive *archive, const ArchiveEntry *entry, Dtype dtype, const Shape *shape,
                  TensorData *out, Error *err)
{
    *out = (TensorData){.form = DATA_ABSENT};
    const JsonView *view = entry->kind < 0 ? NULL : &archive->config[entry->kind];
    int64_t size = dtype_bits(dtype) / 8;
    if (!view || entry->bytes == 0 || size == 0 ||
        json_view_bool(view, json_view_get(view, entry->entry, "use_pickle"), false))
        return true;
    const char *path = arena_printf(archive->arena, "%.*s%s%.*s", STR_ARG(archive->folder),
                                    folders[entry->kind], STR_ARG(entry->storage));
    Str bytes;
    Strides at;
    if (!zip_view(archive->arena, &archive->zip, zip_find(&archive->zip, str_from(path)), &bytes,
                  err))
        return false;
    int64_t n = (int64_t)bytes.n / size;
    if (!read_strides(view, json_view_get(view, entry->entry, "tensor_meta"), shape, n, &at))
        return fail(archive, err, "a tensor lies outside of its storage", entry->storage);
    size_t n_bytes = arena_array_bytes((size_t)shape_elements(shape), (size_t)size);
    if (!at.row_major && n_bytes > bytes.n && n_bytes > EXPANDED_MAX)
        return fail(archive, err, "a view is larger than 1 GiB, of storage", entry->storage);
    out->form = DATA_RAW;
    if (at.row_major)
        out->bytes = (Str){bytes.s + at.offset * size, n_bytes};
    else
        out->bytes = (Str){gather(archive->arena, bytes.s, &at, shape, size), n_bytes};
    return true;
}
