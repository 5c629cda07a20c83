#include "core/model/onnx_reader.h"

#include "core/model/onnx_tensor.h"

/* AttributeProto.type */
typedef enum {
    PROTO_FLOAT = 1,
    PROTO_INT = 2,
    PROTO_STRING = 3,
    PROTO_TENSOR = 4,
    PROTO_GRAPH = 5,
    PROTO_FLOATS = 6,
    PROTO_INTS = 7,
    PROTO_STRINGS = 8,
    PROTO_SPARSE = 11
} ProtoType;

static void add_ints(OnnxReader *reader, Wire *wire, const WireField *field)
{
    Str numbers = wire_elements(wire, field, WIRE_VARINT);
    uint64_t value;
    while (numbers.n > 0 && !wire->file->failed)
        if (wire_take_varint(&numbers, &value))
            vec_push(reader->arena, &reader->ints, (int64_t)value);
        else
            wire_fail(wire, numbers.s, "a number of a list is cut off");
}

static void add_floats(OnnxReader *reader, Wire *wire, const WireField *field)
{
    Str numbers = wire_elements(wire, field, WIRE_FIXED32);
    for (; numbers.n >= sizeof(float); numbers.s += sizeof(float), numbers.n -= sizeof(float)) {
        float value;
        memcpy(&value, numbers.s, sizeof value);
        vec_push(reader->arena, &reader->floats, (double)value);
    }
}

static const TensorData *read_attr_tensor(OnnxReader *reader, Wire wire, bool sparse, Attr *attr)
{
    OnnxTensor tensor = {0};
    if (!(sparse ? tensor_read_sparse : tensor_read)(reader->arena, wire, &tensor))
        return NULL;
    attr->dtype = (uint8_t)tensor.dtype;
    attr->shape = shapes_put(reader->graph->shapes, &tensor.shape);
    TensorData *data = arena_make(reader->arena, TensorData);
    *data = tensor.data;
    return data;
}

/* All values that an attribute may have, as far as they were read; its type tells which one
 * counts. */
typedef struct {
    Str name, s, reference; /* reference: the function's attribute whose value it has */
    Wire graph;
    int64_t type, seen; /* seen: the type of the last value field, for files that give no type */
    int64_t i;
    float f;
    const TensorData *tensor;
    int first_int, first_float, first_string;
} AttrValues;

static void read_attr_field(OnnxReader *reader, Wire *wire, const WireField *field,
                            AttrValues *values, Attr *attr)
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
        values->tensor =
            read_attr_tensor(reader, wire_message(wire, field, "TensorProto"), false, attr);
        values->seen = PROTO_TENSOR;
        return;
    case 6:
        values->graph = wire_message(wire, field, "GraphProto");
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
    case 21:
        values->reference = wire_bytes(wire, field);
        return;
    case 22:
        values->tensor =
            read_attr_tensor(reader, wire_message(wire, field, "SparseTensorProto"), true, attr);
        values->seen = PROTO_SPARSE;
        return;
    default:
        return;
    }
}

/* Sets the attribute by its type. Returns false for types that no rule reads (lists of tensors or
 * graphs, types); those attributes are dropped. */
static bool set_value(const OnnxReader *reader, const AttrValues *values, Attr *attr)
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
    case PROTO_SPARSE:
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

/* The attribute of the function that is being inlined: the caller's, or the function's default. */
static const Attr *function_attr(const OnnxReader *reader, Str name)
{
    const OnnxScope *scope = reader->scope;
    while (scope && !scope->function)
        scope = scope->outer;
    int32_t id = names_find(reader->graph->names, name);
    for (int i = 0; scope && i < scope->attrs.n; i++)
        if (scope->attrs.at[i].name == id)
            return &scope->attrs.at[i];
    return NULL;
}

/* Copies an attribute of the function's call; its lists go to the scratch lists like those of the
 * node. */
static void add_referenced(OnnxReader *reader, const Attr *from, int32_t name)
{
    Arena *arena = reader->arena;
    Attr attr = *from;
    attr.name = name;
    if (attr.type == ATTR_INTS)
        attr.i = reader->ints.n;
    else if (attr.type == ATTR_FLOATS)
        attr.i = reader->floats.n;
    else if (attr.type == ATTR_STRINGS)
        attr.i = reader->strings.n;
    for (int i = 0; i < from->n; i++)
        if (from->type == ATTR_INTS)
            vec_push(arena, &reader->ints, from->ints[i]);
        else if (from->type == ATTR_FLOATS)
            vec_push(arena, &reader->floats, from->floats[i]);
        else if (from->type == ATTR_STRINGS)
            vec_push(arena, &reader->strings, from->strings[i]);
    vec_push(arena, &reader->attrs, attr);
}

/* The attribute's name; a sparse tensor is read as the dense one that it represents. */
static Str attr_name(const AttrValues *values)
{
    return str_eq(values->name, STR("sparse_value")) ? STR("value") : values->name;
}

void read_attr(OnnxReader *reader, Wire wire)
{
    Attr attr = {0};
    AttrValues values = {.name = STR(""),
                         .s = STR(""),
                         .reference = STR(""),
                         .first_int = reader->ints.n,
                         .first_float = reader->floats.n,
                         .first_string = reader->strings.n};
    for (WireField field; wire_next(&wire, &field);)
        read_attr_field(reader, &wire, &field, &values, &attr);
    if (wire.file->failed)
        return;
    if (values.reference.n > 0) {
        const Attr *from = function_attr(reader, values.reference);
        if (from)
            add_referenced(reader, from, names_intern(reader->graph->names, values.name));
        return;
    }
    if (!set_value(reader, &values, &attr))
        return;
    if (attr.type == ATTR_GRAPH && values.graph.file)
        vec_push(reader->arena, &reader->subgraphs, ((Subgraph){values.name, values.graph}));
    attr.name = names_intern(reader->graph->names, attr_name(&values));
    vec_push(reader->arena, &reader->attrs, attr);
}

/* Ends reading of attributes: lists no longer move, so places become pointers. An empty list may be
 * NULL. */
int32_t add_attrs(OnnxReader *reader)
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
    int64_t opset = reader->scope ? reader->scope->opset : 0;
    bool same = opset == reader->graph->opset || opset < 0 || opset > INT32_MAX;
    return graph_add_attrs_of_opset(reader->builder, reader->attrs.at, reader->attrs.n,
                                    same ? 0 : (int32_t)opset);
}
