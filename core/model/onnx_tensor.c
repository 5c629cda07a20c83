#include "core/model/onnx_tensor.h"

#include <inttypes.h>

/* Fields of TensorProto that hold elements. */
typedef enum {
    FIELD_FLOAT = 4,
    FIELD_INT32 = 5,
    FIELD_STRING = 6,
    FIELD_INT64 = 7,
    FIELD_RAW = 9,
    FIELD_DOUBLE = 10,
    FIELD_UINT64 = 11,
    FIELD_COUNT = 12
} ElementField;

/* Elements as encoded in the file, in one piece or several. */
typedef struct {
    Str bytes;
    Buf joined; /* s is NULL while there is one piece */
    bool seen;
} RawElements;

typedef struct {
    Arena *arena;
    const char *start; /* of the message, for errors */
    OnnxTensor *out;
    RawElements elements[FIELD_COUNT];
    int64_t n_strings;
    bool external, has_type;
    Str location, offset, length;
} TensorReader;

static void add_piece(Arena *arena, RawElements *elements, Str piece)
{
    elements->seen = true;
    if (elements->bytes.n == 0) {
        elements->bytes = piece;
        return;
    }
    if (!elements->joined.s) {
        elements->joined = buf_new(arena);
        buf_add(&elements->joined, elements->bytes);
    }
    buf_add(&elements->joined, piece);
    elements->bytes = buf_str(&elements->joined);
}

static void add_dims(Wire *wire, const WireField *field, Shape *shape)
{
    Str sizes = wire_elements(wire, field, WIRE_VARINT);
    while (sizes.n > 0 && !wire->file->failed) {
        uint64_t size;
        if (!wire_take_varint(&sizes, &size))
            wire_fail(wire, sizes.s, "a dim is cut off");
        else if (shape->n_dims == DIMS_MAX)
            wire_fail(wire, sizes.s, "a tensor has more than %d dims", DIMS_MAX);
        else
            shape->dim[shape->n_dims++] = (int64_t)size;
    }
}

/* An entry of external_data: location, offset, length, checksum. */
static void read_external(TensorReader *reader, Wire wire)
{
    Str value, key = wire_entry(wire, &value);
    if (str_eq(key, STR("location")))
        reader->location = value;
    else if (str_eq(key, STR("offset")))
        reader->offset = value;
    else if (str_eq(key, STR("length")))
        reader->length = value;
}

Dtype tensor_dtype(Wire *wire, const WireField *field)
{
    int64_t number = wire_int(wire, field);
    Dtype dtype = dtype_from_onnx(number);
    if (number != 0 && dtype == DT_NONE)
        wire_fail(wire, wire->at, "element type %" PRId64 " is not one of ONNX's", number);
    return dtype;
}

static void read_field(TensorReader *reader, Wire *wire, const WireField *field)
{
    RawElements *elements = &reader->elements[field->number < FIELD_COUNT ? field->number : 0];
    switch (field->number) {
    case 1:
        add_dims(wire, field, &reader->out->shape);
        break;
    case 2:
        reader->out->dtype = tensor_dtype(wire, field);
        reader->has_type = wire_int(wire, field) != 0;
        break;
    case 8:
        reader->out->name = wire_bytes(wire, field);
        break;
    case 13:
        read_external(reader, wire_message(wire, field, "StringStringEntryProto"));
        break;
    case 14:
        reader->external = wire_int(wire, field) == 1;
        break;
    case FIELD_RAW:
        *elements = (RawElements){.bytes = wire_bytes(wire, field), .seen = true};
        break;
    case FIELD_STRING:
        wire_bytes(wire, field);
        elements->seen = true;
        reader->n_strings++;
        break;
    case FIELD_FLOAT:
        add_piece(reader->arena, elements, wire_elements(wire, field, WIRE_FIXED32));
        break;
    case FIELD_DOUBLE:
        add_piece(reader->arena, elements, wire_elements(wire, field, WIRE_FIXED64));
        break;
    case FIELD_INT32:
    case FIELD_INT64:
    case FIELD_UINT64:
        add_piece(reader->arena, elements, wire_elements(wire, field, WIRE_VARINT));
        break;
    default:
        break;
    }
}

/* The typed field that holds the elements of each type if they are not in raw_data. */
static ElementField field_of(Dtype dtype)
{
    switch (dtype) {
    case DT_F32:
    case DT_C64:
        return FIELD_FLOAT;
    case DT_F64:
    case DT_C128:
        return FIELD_DOUBLE;
    case DT_I64:
        return FIELD_INT64;
    case DT_U32:
    case DT_U64:
        return FIELD_UINT64;
    case DT_STR:
        return FIELD_STRING;
    case DT_NONE:
    case DT_U8:
    case DT_I8:
    case DT_U16:
    case DT_I16:
    case DT_I32:
    case DT_BOOL:
    case DT_F16:
    case DT_BF16:
    case DT_F8E4M3FN:
    case DT_F8E4M3FNUZ:
    case DT_F8E5M2:
    case DT_F8E5M2FNUZ:
    case DT_U4:
    case DT_I4:
    case DT_U2:
    case DT_I2:
    case DT_F4E2M1:
    case DT_F8E8M0:
    case DT_F6E2M3:
    case DT_F6E3M2:
    case DT_COUNT:
        return FIELD_INT32;
    }
    return FIELD_INT32;
}

__attribute__((format(printf, 3, 4))) static bool fail(TensorReader *reader, Wire *wire,
                                                       const char *format, ...)
{
    Buf text = buf_new(reader->arena);
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    return wire_fail(wire, reader->start, "tensor '%s': %s",
                     arena_str(reader->arena, reader->out->name), text.s);
}

static bool is_outside(Str path)
{
    if (path.n == 0 || path.s[0] == '/' || memchr(path.s, '\0', path.n))
        return true;
    for (size_t from = 0; from <= path.n;) {
        const char *slash = memchr(path.s + from, '/', path.n - from);
        size_t n = slash ? (size_t)(slash - path.s) - from : path.n - from;
        if (str_eq((Str){path.s + from, n}, STR("..")))
            return true;
        from += n + 1;
    }
    return false;
}

/* Reads a count of bytes in decimal; `absent` when the text is missing. */
static bool parse_bytes(Str text, int64_t absent, int64_t *out)
{
    *out = absent;
    return text.n == 0 || (str_to_int(text, out) && *out >= 0);
}

static bool finish_external(TensorReader *reader, Wire *wire, int64_t n_bytes)
{
    TensorData *data = &reader->out->data;
    data->form = DATA_ABSENT;
    if (is_outside(reader->location))
        return fail(reader, wire, "its data is at '%s', which is not in the model's folder",
                    arena_str(reader->arena, reader->location));
    data->location = arena_str(reader->arena, reader->location);
    if (!parse_bytes(reader->offset, 0, &data->offset) ||
        !parse_bytes(reader->length, n_bytes, &data->length) ||
        data->offset > INT64_MAX - data->length)
        return fail(reader, wire, "offset or length of its external data is no number of bytes");
    if (data->length != n_bytes)
        return fail(reader, wire,
                    "its external data has %" PRId64 " bytes, its shape needs %" PRId64,
                    data->length, n_bytes);
    return true;
}

/* Bytes that are the elements themselves. */
static bool finish_raw(TensorReader *reader, Wire *wire, Str bytes, int64_t n_bytes)
{
    reader->out->data = (TensorData){.form = DATA_RAW, .bytes = bytes};
    return bytes.n == (uint64_t)n_bytes ||
           fail(reader, wire, "its data has %zu bytes, its shape needs %" PRId64, bytes.n, n_bytes);
}

static bool finish_inline(TensorReader *reader, Wire *wire, int64_t n_elements, int64_t n_bytes)
{
    ElementField number = field_of(reader->out->dtype);
    const RawElements *raw = &reader->elements[FIELD_RAW], *typed = &reader->elements[number];
    if (raw->seen && number != FIELD_STRING)
        return finish_raw(reader, wire, raw->bytes, n_bytes);
    for (int i = 0; i < FIELD_COUNT; i++)
        if (reader->elements[i].seen && !typed->seen)
            return fail(reader, wire, "its data is in field %d, where %s does not belong", i,
                        dtype_name(reader->out->dtype));

    if (number == FIELD_STRING) {
        reader->out->data.form = DATA_STRINGS;
        return reader->n_strings == n_elements ||
               fail(reader, wire, "it has %" PRId64 " texts, its shape needs %" PRId64,
                    reader->n_strings, n_elements);
    }
    if (!typed->seen && n_elements > 0) {
        reader->out->data.form = DATA_ABSENT;
        return true;
    }
    if (!typed->seen || number == FIELD_FLOAT || number == FIELD_DOUBLE)
        return finish_raw(reader, wire, typed->bytes, n_bytes);
    reader->out->data = (TensorData){.form = DATA_VARINTS, .bytes = typed->bytes};
    return true;
}

enum { SMALL_BYTES_MAX = 1 << 19 };

/* Copies sizes, indices and the like, which are read on each inference: they then survive changes
 * of the file. Weights are not copied. */
static void keep_small(Arena *arena, OnnxTensor *tensor)
{
    Str *bytes = &tensor->data.bytes;
    bool is_weight = dtype_is_float(tensor->dtype) && tensor->shape.n_dims > 0;
    if (!is_weight && bytes->n > 0 && bytes->n <= SMALL_BYTES_MAX)
        bytes->s = arena_str(arena, *bytes);
}

bool tensor_read(Arena *arena, Wire wire, OnnxTensor *out)
{
    *out = (OnnxTensor){.name = STR("")};
    TensorReader reader = {.arena = arena, .start = wire.at, .out = out};
    for (WireField field; wire_next(&wire, &field);)
        read_field(&reader, &wire, &field);
    if (wire.file->failed)
        return false;

    Error why = {0};
    if (!shape_check(&out->shape, &why))
        return fail(&reader, &wire, "%s", why.text);
    if (!reader.has_type)
        return fail(&reader, &wire, "it has no element type");
    int64_t n_elements = shape_elements(&out->shape);
    int64_t n_bytes = dtype_bytes(out->dtype, n_elements);
    if (reader.external)
        return finish_external(&reader, &wire, n_bytes);
    if (!finish_inline(&reader, &wire, n_elements, n_bytes))
        return false;
    keep_small(arena, out);
    return true;
}

/* ---- sparse tensors ---- */

enum { SPARSE_WRITTEN_MAX = 1 << 16 };

/* Sparse indices are element numbers, or coordinates in rows. */
static bool write_sparse(Arena *arena, const OnnxTensor *values, const OnnxTensor *indices,
                         OnnxTensor *out)
{
    int64_t n = shape_elements(&values->shape), n_dense = shape_elements(&out->shape);
    int64_t rank = out->shape.n_dims, n_places = shape_elements(&indices->shape);
    int64_t per_value = indices->shape.n_dims == 2 ? rank : 1;
    size_t size = (size_t)dtype_bits(out->dtype) / 8;
    if (n_dense > SPARSE_WRITTEN_MAX || n > n_dense || size == 0 || indices->dtype != DT_I64 ||
        n_places != n * per_value || out->dtype == DT_STR)
        return false;
    char *dense = arena_alloc(arena, (size_t)n_dense * size);
    char *given = arena_alloc(arena, (size_t)n * size + sizeof(int64_t));
    int64_t *place = arena_array(arena, int64_t, n_places);
    if (!data_read(&values->data, out->dtype, n, given, NULL) ||
        !data_read(&indices->data, DT_I64, n_places, place, NULL))
        return false;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = 0;
        for (int64_t d = 0; d < per_value; d++) {
            int64_t limit = per_value > 1 ? out->shape.dim[d] : n_dense;
            int64_t x = place[i * per_value + d];
            if (x < 0 || x >= limit)
                return false;
            at = per_value > 1 ? at * limit + x : x;
        }
        memcpy(dense + (size_t)at * size, given + (size_t)i * size, size);
    }
    out->data = (TensorData){.form = DATA_RAW, .bytes = {dense, (size_t)n_dense * size}};
    return true;
}

bool tensor_read_sparse(Arena *arena, Wire wire, OnnxTensor *out)
{
    OnnxTensor values = {.name = STR("")}, indices = values;
    TensorReader reader = {.arena = arena, .start = wire.at, .out = out};
    *out = (OnnxTensor){.name = STR("")};
    for (WireField field; wire_next(&wire, &field);)
        if (field.number == 1)
            tensor_read(arena, wire_message(&wire, &field, "TensorProto"), &values);
        else if (field.number == 2)
            tensor_read(arena, wire_message(&wire, &field, "TensorProto"), &indices);
        else if (field.number == 3)
            add_dims(&wire, &field, &out->shape);
    if (wire.file->failed)
        return false;
    Error why = {0};
    out->name = values.name;
    out->dtype = values.dtype;
    if (!shape_check(&out->shape, &why))
        return fail(&reader, &wire, "%s", why.text);
    if (!write_sparse(arena, &values, &indices, out))
        out->data = (TensorData){.form = DATA_ABSENT};
    return true;
}

bool onnx_read_tensor(Arena *arena, const char *file, Str bytes, OnnxTensor *out, Error *err)
{
    WireFile wire = wire_file(file, bytes, err);
    return tensor_read(arena, wire_begin(&wire, "TensorProto"), out);
}

/* ---- sequences and optionals ---- */

/* Fields of SequenceProto and OptionalProto. */
enum { VALUE_NAME = 1, VALUE_TENSOR = 3, VALUE_SPARSE = 4, VALUE_SEQUENCE = 5, VALUE_LAST = 7 };

static bool read_item(Arena *arena, Wire *wire, const WireField *field, OnnxTensor *out)
{
    if (field->number == VALUE_TENSOR)
        return tensor_read(arena, wire_message(wire, field, "TensorProto"), out);
    if (field->number == VALUE_SPARSE)
        return tensor_read_sparse(arena, wire_message(wire, field, "SparseTensorProto"), out);
    return wire_fail(wire, field->bytes.s, "only tensors are read as elements of a sequence");
}

static bool read_sequence(Arena *arena, Wire wire, OnnxTensor *out)
{
    Vec(OnnxTensor) items = {0};
    *out = (OnnxTensor){.name = STR(""), .sequence = true};
    for (WireField field; wire_next(&wire, &field);) {
        OnnxTensor item;
        if (field.number == VALUE_NAME)
            out->name = wire_bytes(&wire, &field);
        if (field.number < VALUE_TENSOR || field.number > VALUE_LAST)
            continue;
        if (items.n == ONNX_ITEMS_MAX)
            return wire_fail(&wire, field.bytes.s, "a sequence has more than %d elements",
                             ONNX_ITEMS_MAX);
        if (!read_item(arena, &wire, &field, &item))
            return false;
        if (items.n > 0 && item.dtype != out->dtype)
            return wire_fail(&wire, field.bytes.s, "a sequence has elements of several types");
        out->dtype = item.dtype;
        vec_push(arena, &items, item);
    }
    out->items = items.at;
    out->n_items = items.n;
    return !wire.file->failed;
}

static bool read_optional(Arena *arena, Wire wire, OnnxTensor *out)
{
    Str name = STR("");
    *out = (OnnxTensor){.name = name, .nothing = true};
    for (WireField field; wire_next(&wire, &field);) {
        if (field.number == VALUE_NAME)
            name = wire_bytes(&wire, &field);
        if (field.number < VALUE_TENSOR || field.number > VALUE_LAST)
            continue;
        if (!out->nothing)
            return wire_fail(&wire, field.bytes.s, "an optional holds two values");
        bool read = field.number == VALUE_SEQUENCE
                        ? read_sequence(arena, wire_message(&wire, &field, "SequenceProto"), out)
                        : read_item(arena, &wire, &field, out);
        if (!read)
            return false;
    }
    out->name = name;
    return !wire.file->failed;
}

bool onnx_read_value(Arena *arena, const char *file, Str bytes, OnnxKind kind, OnnxTensor *out,
                     Error *err)
{
    WireFile wire = wire_file(file, bytes, err);
    if (kind == ONNX_SEQUENCE)
        return read_sequence(arena, wire_begin(&wire, "SequenceProto"), out);
    if (kind == ONNX_OPTIONAL)
        return read_optional(arena, wire_begin(&wire, "OptionalProto"), out);
    return onnx_read_tensor(arena, file, bytes, out, err);
}

bool onnx_external(const Graph *graph, const TensorData *data, FileMap *map, Str *bytes, Error *err)
{
    if (!data->location)
        return error_kind(err, ERROR_UNREADABLE, "the elements are not in the model file");
    const char *folder = path_dir(graph->arena, graph->file);
    const char *path = path_join(graph->arena, folder, data->location);
    if (file_exists(path) && !path_is_below(folder, path)) {
        error_kind(err, ERROR_UNREADABLE, "is a link that leaves the model's folder");
        error_in_file(err, path);
        return error_hint(err, "put the file itself there");
    }
    if (!file_map(path, map, err))
        return false;
    if (data->offset + data->length <= (int64_t)map->text.n) {
        *bytes = (Str){map->text.s + data->offset, (size_t)data->length};
        return true;
    }
    error_kind(err, ERROR_UNREADABLE,
               "has %zu bytes, the tensor's data is from %" PRId64 " to %" PRId64, map->text.n,
               data->offset, data->offset + data->length);
    error_in_file(err, path);
    file_unmap(map);
    return false;
}
