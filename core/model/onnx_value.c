#include "core/model/onnx_reader.h"

#include "core/model/onnx_tensor.h"

static DeclaredDim read_dim(OnnxReader *reader, Wire wire)
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

static void read_shape(OnnxReader *reader, Wire wire, Declared *declared)
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

static void read_tensor_type(OnnxReader *reader, Wire wire, Declared *declared)
{
    for (WireField field; wire_next(&wire, &field);)
        if (field.number == 1)
            declared->dtype = tensor_dtype(&wire, &field);
        else if (field.number == 2)
            read_shape(reader, wire_message(&wire, &field, "TensorShapeProto"), declared);
}

/* Reads a TypeProto: a tensor, dense (1) or sparse (8), or a container: a sequence (4), an optional
 * (9). A map (5) is ignored. */
static void read_type(OnnxReader *reader, Wire wire, Declared *declared)
{
    for (WireField field; wire_next(&wire, &field);) {
        if (field.number == 1 || field.number == 8) {
            read_tensor_type(reader, wire_message(&wire, &field, "TypeProto.Tensor"), declared);
            continue;
        }
        if (field.number != 4 && field.number != 9)
            continue;
        *(field.number == 4 ? &declared->sequence : &declared->optional) = true;
        Wire holder = wire_message(&wire, &field, "TypeProto.Sequence");
        for (WireField inner; wire_next(&holder, &inner);)
            if (inner.number == 1)
                read_type(reader, wire_message(&holder, &inner, "TypeProto"), declared);
    }
}

Declared read_value_info(OnnxReader *reader, Wire wire)
{
    Declared declared = {.name = STR(""), .n_dims = -1};
    for (WireField field; wire_next(&wire, &field);)
        if (field.number == 1)
            declared.name = wire_bytes(&wire, &field);
        else if (field.number == 2)
            read_type(reader, wire_message(&wire, &field, "TypeProto"), &declared);
    return declared;
}

void declare_value(OnnxReader *reader, Wire wire)
{
    Declared declared = read_value_info(reader, wire);
    if (wire.file->failed || declared.name.n == 0)
        return;
    int32_t tensor = reader_tensor(reader, declared.name);
    if (tensor < 0)
        return;
    graph_declare(reader->builder, tensor, declared.dtype, declared.dims, declared.n_dims);
    graph_mark(reader->builder, tensor, declared.sequence, declared.optional);
}

void read_initializer(OnnxReader *reader, Wire wire, bool sparse)
{
    OnnxTensor tensor;
    if ((sparse ? tensor_read_sparse : tensor_read)(reader->arena, wire, &tensor))
        graph_add_initializer(reader->builder, reader_tensor(reader, tensor.name), tensor.dtype,
                              &tensor.shape, tensor.data);
}

Str initializer_name(Wire wire, bool sparse)
{
    Str name = STR("");
    for (WireField field; wire_next(&wire, &field);)
        if (sparse && field.number == 1)
            return initializer_name(wire_message(&wire, &field, "TensorProto"), false);
        else if (!sparse && field.number == 8)
            name = wire_bytes(&wire, &field);
    return name;
}
