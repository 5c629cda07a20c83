#include "core/model/onnx.h"

#include "core/model/onnx_tensor.h"
#include "core/model/wire.h"

#include <inttypes.h>

/* Scratch lists of the node being read are emptied, not freed, for the next one. A list attribute
 * keeps its place in its scratch list in `i` until all attributes of the node are read, since the
 * list may move while it grows. */
typedef struct {
    Arena *arena;
    GraphBuilder *builder;
    Graph *graph;
    Vec(int32_t) inputs, outputs;
    Vec(Attr) attrs;
    Vec(int64_t) ints;
    Vec(double) floats;
    Vec(Str) strings;
    Buf path, kind;
    int64_t ir_version;
    bool has_graph, has_opset, has_output;
} Reader;

/* ---- attributes ---- */

/* AttributeProto.type */
typedef enum {
    PROTO_FLOAT = 1,
    PROTO_INT = 2,
    PROTO_STRING = 3,
    PROTO_TENSOR = 4,
    PROTO_GRAPH = 5,
    PROTO_FLOATS = 6,
    PROTO_INTS = 7,
    PROTO_STRINGS = 8
} ProtoType;

static void add_ints(Reader *reader, Wire *wire, const WireField *field)
{
    Str numbers = wire_elements(wire, field, WIRE_VARINT);
    uint64_t value;
    while (numbers.n > 0 && !wire->file->failed)
        if (wire_take_varint(&numbers, &value))
            vec_push(reader->arena, &reader->ints, (int64_t)value);
        else
            wire_fail(wire, numbers.s, "a number of a list is cut off");
}

static void add_floats(Reader *reader, Wire *wire, const WireField *field)
{
    Str numbers = wire_elements(wire, field, WIRE_FIXED32);
    for (; numbers.n >= sizeof(float); numbers.s += sizeof(float), numbers.n -= sizeof(float)) {
        float value;
        memcpy(&value, numbers.s, sizeof value);
        vec_push(reader->arena, &reader->floats, (double)value);
    }
}

static const TensorData *read_attr_tensor(Reader *reader, Wire wire, Attr *attr)
{
    OnnxTensor tensor;
    if (!tensor_read(reader->arena, wire, &tensor))
        return NULL;
    attr->dtype = (uint8_t)tensor.dtype;
    attr->shape = shapes_put(reader->graph->shapes, &tensor.shape);
    TensorData *data = arena_make(reader->arena, TensorData);
    *data = tensor.data;
    return data;
}

/* What an attribute may hold, as far as its fields are read; its type says which of it counts. */
typedef struct {
    Str name, s;
    int64_t type, seen; /* seen: the type of the last value field, for files that give no type */
    int64_t i;
    float f;
    const TensorData *tensor;
    int first_int, first_float, first_string;
} Values;

static void read_attr_field(Reader *reader, Wire *wire, const WireField *field, Values *values,
                            Attr *attr)
{
    switch (field->number) {
    case 1:
        values->name = wire_bytes(wire, field);
        return;
    case 20:
        values->type = wire_int(wire, field);
        return;
    case 2:
        values->f = wire_float(wire, field);
        values->seen = PROTO_FLOAT;
        return;
    case 3:
        values->i = wire_int(wire, field);
        values->seen = PROTO_INT;
        return;
    case 4:
        values->s = wire_bytes(wire, field);
        values->seen = PROTO_STRING;
        return;
    case 5:
        values->tensor = read_attr_tensor(reader, wire_message(wire, field, "TensorProto"), attr);
        values->seen = PROTO_TENSOR;
        return;
    case 6:
        wire_bytes(wire, field);
        values->seen = PROTO_GRAPH;
        return;
    case 7:
        add_floats(reader, wire, field);
        values->seen = PROTO_FLOATS;
        return;
    case 8:
        add_ints(reader, wire, field);
        values->seen = PROTO_INTS;
        return;
    case 9:
        vec_push(reader->arena, &reader->strings, wire_bytes(wire, field));
        values->seen = PROTO_STRINGS;
        return;
    default:
        return;
    }
}

/* The attribute as its type says. False for the types that no rule reads (sparse tensors, lists of
 * tensors or graphs, types): those attributes are left out. */
static bool take_value(const Reader *reader, const Values *values, Attr *attr)
{
    switch (values->type != 0 ? values->type : values->seen) {
    case PROTO_FLOAT:
        attr->type = ATTR_FLOAT;
        attr->f = (double)values->f;
        return true;
    case PROTO_INT:
        attr->type = ATTR_INT;
        attr->i = values->i;
        return true;
    case PROTO_STRING:
        attr->type = ATTR_STRING;
        attr->s = values->s;
        return true;
    case PROTO_TENSOR:
        attr->type = ATTR_TENSOR;
        attr->tensor = values->tensor;
        return values->tensor != NULL;
    case PROTO_GRAPH:
        attr->type = ATTR_GRAPH;
        return true;
    case PROTO_FLOATS:
        attr->type = ATTR_FLOATS;
        attr->n = reader->floats.n - values->first_float;
        attr->i = values->first_float;
        return true;
    case PROTO_INTS:
        attr->type = ATTR_INTS;
        attr->n = reader->ints.n - values->first_int;
        attr->i = values->first_int;
        return true;
    case PROTO_STRINGS:
        attr->type = ATTR_STRINGS;
        attr->n = reader->strings.n - values->first_string;
        attr->i = values->first_string;
        return true;
    default:
        return false;
    }
}

static void read_attr(Reader *reader, Wire wire)
{
    Attr attr = {0};
    Values values = {.name = STR(""),
                     .s = STR(""),
                     .first_int = reader->ints.n,
                     .first_float = reader->floats.n,
                     .first_string = reader->strings.n};
    for (WireField field; wire_next(&wire, &field);)
        read_attr_field(reader, &wire, &field, &values, &attr);
    if (!take_value(reader, &values, &attr))
        return;
    attr.name = names_intern(reader->graph->names, values.name);
    vec_push(reader->arena, &reader->attrs, attr);
}

/* Lists are complete now: places become pointers. An empty list may have none. */
static int32_t add_attrs(Reader *reader)
{
    for (int i = 0; i < reader->attrs.n; i++) {
        Attr *attr = &reader->attrs.at[i];
        int64_t first = attr->i;
        if (attr->type == ATTR_INTS)
            attr->ints = attr->n > 0 ? reader->ints.at + first : NULL;
        else if (attr->type == ATTR_FLOATS)
            attr->floats = attr->n > 0 ? reader->floats.at + first : NULL;
        else if (attr->type == ATTR_STRINGS)
            attr->strings = attr->n > 0 ? reader->strings.at + first : NULL;
    }
    return graph_add_attrs(reader->builder, reader->attrs.at, reader->attrs.n);
}

/* ---- module paths ---- */

/* Takes one quoted text off the front of a Python list: "'a', ..." gives a. */
static bool take_quoted(Str *list, Str *out)
{
    *list = str_trim(*list);
    if (list->n < 2 || (list->s[0] != '\'' && list->s[0] != '"'))
        return false;
    const char *close = memchr(list->s + 1, list->s[0], list->n - 1);
    if (!close)
        return false;
    *out = (Str){list->s + 1, (size_t)(close - list->s) - 1};
    *list = (Str){close + 1, list->n - out->n - 2};
    return true;
}

/* "['', 'transformer', 'transformer.h.0', 'add_1']": modules from the outermost in, then the node.
 * torch writes one made-up module where it knows none. */
static bool path_of_scopes(Str scopes, Str *out)
{
    Str list = str_trim(scopes), last = STR(""), module = STR("");
    if (!str_starts(list, STR("[")) || !str_ends(list, STR("]")))
        return false;
    list = (Str){list.s + 1, list.n - 2};
    while (list.n > 0) {
        module = last;
        if (!take_quoted(&list, &last))
            return false;
        list = str_trim(list);
        if (list.n > 0 && list.s[0] != ',')
            return false;
        if (list.n > 0)
            list = (Str){list.s + 1, list.n - 1};
    }
    *out = str_starts(module, STR("_empty_nn_module_stack")) ? STR("") : module;
    return true;
}

/* "/transformer/h.0/mlp/c_fc/Gemm" is of transformer.h.0.mlp.c_fc. */
static Str path_of_name(Str name, Buf *path)
{
    path->n = 0;
    size_t n = name.n;
    bool has_slash = n > 0 && memchr(name.s, '/', n);
    while (n > 0 && name.s[n - 1] != (has_slash ? '/' : '.'))
        n--;
    for (size_t i = 0; i + 1 < n; i++)
        if (i > 0 || (name.s[i] != '/' && name.s[i] != '.'))
            buf_putc(path, name.s[i] == '/' ? '.' : name.s[i]);
    return buf_str(path);
}

/* ---- nodes ---- */

typedef struct {
    Str name, op_type, domain, scopes;
} Node;

static void read_metadata(Wire wire, Node *node)
{
    Str key = STR(""), value = STR("");
    for (WireField field; wire_next(&wire, &field);)
        if (field.number == 1)
            key = wire_bytes(&wire, &field);
        else if (field.number == 2)
            value = wire_bytes(&wire, &field);
    if (str_eq(key, STR("pkg.torch.onnx.name_scopes")))
        node->scopes = value;
}

static void read_node_field(Reader *reader, Wire *wire, const WireField *field, Node *node)
{
    switch (field->number) {
    case 1:
        vec_push(reader->arena, &reader->inputs,
                 graph_tensor(reader->builder, wire_bytes(wire, field)));
        return;
    case 2:
        vec_push(reader->arena, &reader->outputs,
                 graph_tensor(reader->builder, wire_bytes(wire, field)));
        return;
    case 3:
        node->name = wire_bytes(wire, field);
        return;
    case 4:
        node->op_type = wire_bytes(wire, field);
        return;
    case 5:
        read_attr(reader, wire_message(wire, field, "AttributeProto"));
        return;
    case 7:
        node->domain = wire_bytes(wire, field);
        return;
    case 9:
        read_metadata(wire_message(wire, field, "StringStringEntryProto"), node);
        return;
    default:
        return;
    }
}

static bool is_plain_domain(Str domain)
{
    return domain.n == 0 || str_eq(domain, STR("ai.onnx"));
}

static Str operator_name(Reader *reader, const Node *node)
{
    if (is_plain_domain(node->domain))
        return node->op_type;
    reader->kind.n = 0;
    buf_add(&reader->kind, node->domain);
    buf_puts(&reader->kind, "::");
    buf_add(&reader->kind, node->op_type);
    return buf_str(&reader->kind);
}

static void read_node(Reader *reader, Wire wire)
{
    reader->inputs.n = reader->outputs.n = reader->attrs.n = 0;
    reader->ints.n = reader->floats.n = reader->strings.n = 0;
    const char *start = wire.at;
    Node node = {.name = STR(""), .op_type = STR(""), .domain = STR(""), .scopes = STR("")};
    for (WireField field; wire_next(&wire, &field);)
        read_node_field(reader, &wire, &field, &node);
    if (wire.file->failed)
        return;
    if (node.op_type.n == 0) {
        wire_fail(&wire, start, "node '%s' has no op_type", arena_str(reader->arena, node.name));
        return;
    }
    Str path;
    if (!path_of_scopes(node.scopes, &path))
        path = path_of_name(node.name, &reader->path);
    graph_add_op(reader->builder, operator_name(reader, &node), node.name, path, reader->inputs.at,
                 reader->inputs.n, reader->outputs.at, reader->outputs.n, add_attrs(reader));
}

/* ---- values ---- */

static DeclaredDim read_dim(Reader *reader, Wire wire)
{
    DeclaredDim dim = {.size = -1};
    for (WireField field; wire_next(&wire, &field);)
        if (field.number == 1)
            dim.size = wire_int(&wire, &field);
        else if (field.number == 2)
            dim.name = names_intern(reader->graph->names, wire_bytes(&wire, &field));
    return dim.size >= 0 ? (DeclaredDim){.size = dim.size}
                         : (DeclaredDim){.size = -1, .name = dim.name};
}

typedef struct {
    Str name;
    Dtype dtype;
    int n_dims; /* -1: not declared */
    DeclaredDim dims[DIMS_MAX];
} Declared;

static void read_shape(Reader *reader, Wire wire, Declared *declared)
{
    declared->n_dims = 0;
    for (WireField field; wire_next(&wire, &field);) {
        if (field.number != 1)
            continue;
        if (declared->n_dims == DIMS_MAX)
            wire_fail(&wire, field.bytes.s, "a tensor has more than %d dims", DIMS_MAX);
        else
            declared->dims[declared->n_dims++] =
                read_dim(reader, wire_message(&wire, &field, "Dimension"));
    }
}

/* Sequences, maps and optionals have no type here: they stay undeclared. */
static void read_type(Reader *reader, Wire wire, Declared *declared)
{
    for (WireField field; wire_next(&wire, &field);) {
        if (field.number != 1)
            continue;
        Wire tensor = wire_message(&wire, &field, "TypeProto.Tensor");
        for (WireField inner; wire_next(&tensor, &inner);)
            if (inner.number == 1)
                declared->dtype = tensor_dtype(&tensor, &inner);
            else if (inner.number == 2)
                read_shape(reader, wire_message(&tensor, &inner, "TensorShapeProto"), declared);
    }
}

static Declared read_value_info(Reader *reader, Wire wire)
{
    Declared declared = {.name = STR(""), .n_dims = -1};
    for (WireField field; wire_next(&wire, &field);)
        if (field.number == 1)
            declared.name = wire_bytes(&wire, &field);
        else if (field.number == 2)
            read_type(reader, wire_message(&wire, &field, "TypeProto"), &declared);
    return declared;
}

static void read_initializer(Reader *reader, Wire wire)
{
    OnnxTensor tensor;
    if (tensor_read(reader->arena, wire, &tensor))
        graph_add_initializer(reader->builder, graph_tensor(reader->builder, tensor.name),
                              tensor.dtype, &tensor.shape, tensor.data);
}

/* ---- the graph ---- */

enum {
    FIELD_NODE = 1,
    FIELD_INITIALIZER = 5,
    FIELD_INPUT = 11,
    FIELD_OUTPUT = 12,
    FIELD_INFO = 13
};

static void add_declared(Reader *reader, const Declared *declared, uint32_t field)
{
    int32_t tensor = graph_tensor(reader->builder, declared->name);
    if (field == FIELD_INPUT)
        graph_add_input(reader->builder, tensor, declared->dtype, declared->dims, declared->n_dims);
    else
        graph_declare(reader->builder, tensor, declared->dtype, declared->dims, declared->n_dims);
    if (field != FIELD_OUTPUT)
        return;
    graph_add_output(reader->builder, tensor);
    reader->has_output = true;
}

/* Counts before reading, so that the columns are made once; a hint only. */
static void reserve(Reader *reader, Wire wire)
{
    enum { COUNT_MAX = 1 << 24 }; /* a first guess: what is beyond grows as it comes */
    int n_nodes = 0, n_others = 0;
    for (WireField field; wire_next(&wire, &field);)
        if (field.number == FIELD_NODE)
            n_nodes += n_nodes < COUNT_MAX;
        else
            n_others += n_others < COUNT_MAX;
    graph_reserve(reader->builder, n_nodes, n_nodes + n_nodes / 8 + n_others, 3 * n_nodes);
}

static void read_graph(Reader *reader, Wire wire)
{
    if (!reader->has_graph)
        reserve(reader, wire);
    reader->has_graph = true;
    for (WireField field; wire_next(&wire, &field);)
        switch (field.number) {
        case FIELD_NODE:
            read_node(reader, wire_message(&wire, &field, "NodeProto"));
            break;
        case FIELD_INITIALIZER:
            read_initializer(reader, wire_message(&wire, &field, "TensorProto"));
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

static void read_opset(Reader *reader, Wire wire)
{
    Str domain = STR("");
    int64_t version = 0;
    for (WireField field; wire_next(&wire, &field);)
        if (field.number == 1)
            domain = wire_bytes(&wire, &field);
        else if (field.number == 2)
            version = wire_int(&wire, &field);
    reader->has_opset = true;
    if (is_plain_domain(domain))
        reader->graph->opset = version;
}

/* opset_import stands behind the graph in most files: without it the file was cut off. */
static bool check_model(Reader *reader, WireFile *file)
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

static bool read_model(Reader *reader, WireFile *file)
{
    Wire wire = wire_begin(file, "ModelProto");
    for (WireField field; wire_next(&wire, &field);)
        if (field.number == 1)
            reader->ir_version = wire_int(&wire, &field);
        else if (field.number == 7)
            read_graph(reader, wire_message(&wire, &field, "GraphProto"));
        else if (field.number == 8)
            read_opset(reader, wire_message(&wire, &field, "OperatorSetIdProto"));
    return check_model(reader, file);
}

static uint64_t hash_file(Str bytes)
{
    const size_t limit = (size_t)64 << 20;
    const uint64_t parts[] = {hash_bytes(bytes.s, bytes.n < limit ? bytes.n : limit), bytes.n};
    return hash_bytes(parts, sizeof parts);
}

Graph *onnx_read(Arena *arena, const char *file, Str bytes, Error *err)
{
    Reader reader = {.arena = arena,
                     .builder = graph_builder_new(arena, file),
                     .path = buf_new(arena),
                     .kind = buf_new(arena)};
    reader.graph = graph_builder_graph(reader.builder);
    WireFile wire = wire_file(file, bytes, err);
    if (!read_model(&reader, &wire)) {
        error_hint(err, "is this a whole ONNX file?");
        return NULL;
    }
    Error why = {0};
    Graph *graph = graph_seal(reader.builder, &why);
    if (!graph) {
        error_kind(err, ERROR_UNREADABLE, "%s", why.text);
        error_hint(err, "%s", why.hint);
        error_in_file(err, file);
        return NULL;
    }
    graph->hash = hash_file(bytes);
    return graph;
}

Graph *onnx_open(Arena *arena, const char *path, FileMap *map, Error *err)
{
    if (!file_map(path, map, err))
        return NULL;
    Graph *graph = onnx_read(arena, path, map->text, err);
    if (!graph)
        file_unmap(map);
    return graph;
}
