#include "core/model/onnx_reader.h"

#include <stdio.h>

/* ---- bodies ---- */

static int count_fields(Wire wire, uint32_t number)
{
    int n = 0;
    for (WireField field; wire_next(&wire, &field);)
        n += field.number == number;
    return n;
}

static const Subgraph *find_subgraph(const InlinedCall *call, const char *name)
{
    for (int i = 0; i < call->n_subgraphs; i++)
        if (str_eq(call->subgraphs[i].name, str_from(name)))
            return &call->subgraphs[i];
    return NULL;
}

static const Attr *find_attr(const OnnxReader *reader, const InlinedCall *call, const char *name)
{
    AttrList list = reader->builder->lists.at[call->attrs];
    int32_t id = names_find(reader->graph->names, str_from(name));
    for (int i = 0; i < list.n; i++)
        if (list.at[i].name == id)
            return &list.at[i];
    return NULL;
}

/* Element i of a list of integers; `fallback` if the list is too short or i is negative. */
static int64_t int_at(const OnnxReader *reader, const InlinedCall *call, const char *name, int i,
                      int64_t fallback)
{
    const Attr *attr = find_attr(reader, call, name);
    return attr && attr->type == ATTR_INTS && i >= 0 && i < attr->n ? attr->ints[i] : fallback;
}

/* Defines the names of an inner graph: its inputs are the given tensors, other names are its own.
 * An inner graph without inputs is given NULL. */
static void define_inside(OnnxReader *reader, Wire wire, const int32_t *inputs)
{
    Wire made = wire, initializers = wire;
    int n = 0;
    for (WireField field; wire_next(&wire, &field);)
        if (field.number == FIELD_INPUT && inputs) {
            Declared input = read_value_info(reader, wire_message(&wire, &field, "ValueInfoProto"));
            scope_define(reader->scope, input.name, inputs[n++]);
        }
    for (WireField field; wire_next(&initializers, &field);)
        if (field.number == FIELD_INITIALIZER || field.number == FIELD_SPARSE) {
            Wire tensor = wire_message(&initializers, &field, "TensorProto");
            scope_define_new(reader, initializer_name(tensor, field.number == FIELD_SPARSE));
        }
    scope_define_made(reader, made, FIELD_NODE);
}

/* Reads the ops of an inner graph whose names are defined; outputs: the tensors of its outputs. */
static void read_inside(OnnxReader *reader, Wire wire, int32_t *outputs)
{
    Wire again = wire;
    int n = 0;
    for (WireField field; wire_next(&wire, &field);)
        if (field.number == FIELD_INITIALIZER)
            read_initializer(reader, wire_message(&wire, &field, "TensorProto"), false);
        else if (field.number == FIELD_SPARSE)
            read_initializer(reader, wire_message(&wire, &field, "SparseTensorProto"), true);
        else if (field.number == FIELD_NODE)
            read_node(reader, wire_message(&wire, &field, "NodeProto"));
    for (WireField field; wire_next(&again, &field);)
        if (field.number == FIELD_INFO) {
            declare_value(reader, wire_message(&again, &field, "ValueInfoProto"));
        } else if (field.number == FIELD_OUTPUT) {
            Declared output =
                read_value_info(reader, wire_message(&again, &field, "ValueInfoProto"));
            outputs[n++] = reader_tensor(reader, output.name);
        }
}

/* ---- If ---- */

static bool read_branch(OnnxReader *reader, const InlinedCall *call, const Subgraph *graph,
                        bool then, int32_t *outputs)
{
    OnnxScope scope;
    GraphBody body = {.first = reader->builder->ops.n,
                      .of = call->inputs[0],
                      .kind = then ? BODY_THEN : BODY_ELSE};
    if (!scope_open(reader, &scope, call, graph->wire, then ? "then" : "else"))
        return false;
    define_inside(reader, graph->wire, NULL);
    read_inside(reader, graph->wire, outputs);
    scope_close(reader);
    graph_add_body(reader->builder, body, NULL);
    return !graph->wire.file->failed;
}

static const char *suffix(Arena *arena, int i)
{
    return i > 0 ? arena_printf(arena, "_%d", i) : "";
}

static bool read_if(OnnxReader *reader, const InlinedCall *call)
{
    const Subgraph *then = find_subgraph(call, "then_branch");
    const Subgraph *other = find_subgraph(call, "else_branch");
    int n = call->n_outputs;
    if (!then || !other || call->n_inputs != 1 || count_fields(then->wire, FIELD_INPUT) > 0 ||
        count_fields(other->wire, FIELD_INPUT) > 0 || count_fields(then->wire, FIELD_OUTPUT) != n ||
        count_fields(other->wire, FIELD_OUTPUT) != n)
        return false;
    Arena *arena = arena_new();
    int32_t *from_then = arena_array(arena, int32_t, n),
            *from_else = arena_array(arena, int32_t, n);
    if (read_branch(reader, call, then, true, from_then) &&
        read_branch(reader, call, other, false, from_else))
        for (int o = 0; o < n; o++) {
            int32_t inputs[] = {call->inputs[0], from_then[o], from_else[o]};
            if (call->outputs[o] >= 0)
                add_op(reader, "If", call, suffix(arena, o), inputs, 3, call->outputs[o], 0);
        }
    arena_free(arena);
    return true;
}

/* ---- Loop, Scan, SequenceMap ---- */

/* A body that runs many times: its inputs, the values carried to the next iteration, and its
 * outputs. */
typedef struct {
    OnnxReader *reader;
    const InlinedCall *call;
    Wire wire;
    Arena *arena;
    OnnxScope scope;
    int n_inputs, n_outputs; /* of the body */
    int32_t *inputs, *outputs;
    int n_carries;
    GraphCarry *carries;
    GraphBody body;
} Looping;

static bool looping_open(Looping *looping, OnnxReader *reader, const InlinedCall *call,
                         const Subgraph *graph, GraphBody body)
{
    Arena *arena = arena_new();
    *looping = (Looping){.reader = reader,
                         .call = call,
                         .wire = graph->wire,
                         .arena = arena,
                         .n_inputs = count_fields(graph->wire, FIELD_INPUT),
                         .n_outputs = count_fields(graph->wire, FIELD_OUTPUT),
                         .body = body};
    looping->inputs = arena_array(arena, int32_t, looping->n_inputs);
    looping->outputs = arena_array(arena, int32_t, looping->n_outputs);
    looping->carries = arena_array(arena, GraphCarry, looping->n_inputs);
    looping->body.first = reader->builder->ops.n;
    if (scope_open(reader, &looping->scope, call, graph->wire, ""))
        return true;
    arena_free(arena);
    return false;
}

/* Adds an op before the body that makes the body's input i. */
static void add_input_op(Looping *looping, int i, const char *op_type, int32_t from, int32_t attrs)
{
    InlinedCall call = *looping->call;
    char name[32];
    snprintf(name, sizeof name, "/%s_%d", op_type, i);
    call.node.path = looping->scope.path;
    Str whole = str_from(arena_printf(looping->arena, "%.*s%d", STR_ARG(looping->scope.prefix), i));
    looping->inputs[i] = graph_new_tensor(looping->reader->builder, whole);
    add_op(looping->reader, op_type, &call, name, &from, from >= 0, looping->inputs[i], attrs);
}

static void carry(Looping *looping, int i, int32_t from)
{
    add_input_op(looping, i, "LoopCarry", from, 0);
    looping->carries[looping->n_carries++].in = looping->inputs[i];
}

/* Reads the body; next: where the outputs for carried values begin. */
static bool looping_read(Looping *looping)
{
    OnnxReader *reader = looping->reader;
    define_inside(reader, looping->wire, looping->inputs);
    read_inside(reader, looping->wire, looping->outputs);
    scope_close(reader);
    for (int i = 0; i < looping->n_carries; i++)
        looping->carries[i].next = looping->outputs[i];
    looping->body.n_carries = looping->n_carries;
    graph_add_body(reader->builder, looping->body, looping->carries);
    return !looping->wire.file->failed;
}

/* Adds an op after the body that makes output o of the node. */
static void add_output_op(Looping *looping, int o, const char *op_type, const int32_t *inputs,
                          int n_inputs, int32_t attrs)
{
    const InlinedCall *call = looping->call;
    if (o < call->n_outputs && call->outputs[o] >= 0)
        add_op(looping->reader, op_type, call, suffix(looping->arena, o), inputs, n_inputs,
               call->outputs[o], attrs);
}

/* The constant true, for an absent condition. */
static int32_t true_constant(OnnxReader *reader, const InlinedCall *call)
{
    const Shape scalar = {0};
    Arena *arena = reader->arena;
    int32_t tensor = graph_new_tensor(
        reader->builder, str_from(arena_printf(arena, "%.*s/always", STR_ARG(call->label))));
    if (tensor >= 0)
        graph_add_initializer(reader->builder, tensor, DT_BOOL, &scalar,
                              (TensorData){.form = DATA_RAW, .bytes = STR("\1")});
    return tensor;
}

static bool read_loop(OnnxReader *reader, const InlinedCall *call)
{
    const Subgraph *graph = find_subgraph(call, "body");
    int n = call->n_inputs - 2;
    if (!graph || n < 0 || count_fields(graph->wire, FIELD_INPUT) != n + 2 ||
        count_fields(graph->wire, FIELD_OUTPUT) < n + 1)
        return false;
    Looping looping;
    int32_t most = call->inputs[0], condition = call->inputs[1];
    GraphBody body = {.kind = BODY_LOOP, .of = most};
    if (condition < 0)
        condition = true_constant(reader, call);
    if (!looping_open(&looping, reader, call, graph, body))
        return true;
    add_input_op(&looping, 0, "LoopIndex", most, 0);
    carry(&looping, 1, condition);
    for (int i = 0; i < n; i++)
        carry(&looping, i + 2, call->inputs[i + 2]);
    if (looping_read(&looping))
        for (int o = 0; o + 1 < looping.n_outputs; o++) {
            int32_t next = looping.outputs[o + 1];
            if (o < n)
                add_output_op(&looping, o, "LoopResult", (int32_t[]){call->inputs[o + 2], next}, 2,
                              0);
            else
                add_output_op(&looping, o, "LoopStack",
                              (int32_t[]){next, most, looping.outputs[0], -1, condition}, 5, 0);
        }
    arena_free(looping.arena);
    return true;
}

/* reverse: from the last step to the first. */
static int32_t axis_attrs(OnnxReader *reader, int64_t axis, int64_t count_axis, bool reverse)
{
    Names *names = reader->graph->names;
    Attr attrs[] = {
        {.name = names_intern(names, STR("axis")), .type = ATTR_INT, .i = axis},
        {.name = names_intern(names, STR("count_axis")), .type = ATTR_INT, .i = count_axis},
        {.name = names_intern(names, STR("reverse")), .type = ATTR_INT, .i = reverse}};
    return graph_add_attrs(reader->builder, attrs, reverse ? 3 : 2);
}

static bool read_scan(OnnxReader *reader, const InlinedCall *call)
{
    const Subgraph *graph = find_subgraph(call, "body");
    const Attr *scanned = find_attr(reader, call, "num_scan_inputs");
    int n_scanned =
        scanned && scanned->type == ATTR_INT && scanned->i > 0 && scanned->i <= call->n_inputs
            ? (int)scanned->i
            : 0;
    int n = call->n_inputs - n_scanned;
    int64_t opset =
        reader->scope && reader->scope->opset > 0 ? reader->scope->opset : reader->graph->opset;
    if (!graph || n_scanned == 0 || (opset > 0 && opset < 9) ||
        count_fields(graph->wire, FIELD_INPUT) != call->n_inputs ||
        count_fields(graph->wire, FIELD_OUTPUT) < n)
        return false;
    Looping looping;
    int64_t axis = int_at(reader, call, "scan_input_axes", 0, 0);
    GraphBody body = {.kind = BODY_SCAN, .of = call->inputs[n], .dim = (int8_t)axis};
    if (axis < -DIMS_MAX || axis >= DIMS_MAX || !looping_open(&looping, reader, call, graph, body))
        return axis >= -DIMS_MAX && axis < DIMS_MAX;
    for (int i = 0; i < n; i++)
        carry(&looping, i, call->inputs[i]);
    for (int i = n; i < call->n_inputs; i++)
        add_input_op(&looping, i, "LoopSlice", call->inputs[i],
                     axis_attrs(reader, int_at(reader, call, "scan_input_axes", i - n, 0), 0,
                                int_at(reader, call, "scan_input_directions", i - n, 0) == 1));
    if (looping_read(&looping))
        for (int o = 0; o < looping.n_outputs; o++) {
            int32_t next = looping.outputs[o];
            int64_t at = int_at(reader, call, "scan_output_axes", o - n, 0);
            if (o < n)
                add_output_op(&looping, o, "LoopResult", (int32_t[]){call->inputs[o], next}, 2, 0);
            else
                add_output_op(
                    &looping, o, "LoopStack", (int32_t[]){next, -1, -1, call->inputs[n]}, 4,
                    axis_attrs(reader, at, axis,
                               int_at(reader, call, "scan_output_directions", o - n, 0) == 1));
        }
    arena_free(looping.arena);
    return true;
}

static bool read_sequence_map(OnnxReader *reader, const InlinedCall *call)
{
    const Subgraph *graph = find_subgraph(call, "body");
    if (!graph || call->n_inputs < 1 || count_fields(graph->wire, FIELD_INPUT) != call->n_inputs)
        return false;
    Looping looping;
    GraphBody body = {.kind = BODY_SCAN, .of = call->inputs[0]};
    if (!looping_open(&looping, reader, call, graph, body))
        return true;
    for (int i = 0; i < call->n_inputs; i++)
        add_input_op(&looping, i, "SequenceElement", call->inputs[i], 0);
    if (looping_read(&looping))
        for (int o = 0; o < looping.n_outputs; o++)
            add_output_op(&looping, o, "SequenceMap",
                          (int32_t[]){looping.outputs[o], call->inputs[0]}, 2, 0);
    arena_free(looping.arena);
    return true;
}

/* ---- FlexAttention ---- */

bool read_modifier(OnnxReader *reader, const InlinedCall *call, const Subgraph *graph,
                   const char *name, int32_t *x)
{
    OnnxScope scope;
    if (!scope_open(reader, &scope, call, graph->wire, name))
        return false;
    define_inside(reader, graph->wire, x);
    read_inside(reader, graph->wire, x);
    scope_close(reader);
    return !graph->wire.file->failed;
}

static bool read_flex(OnnxReader *reader, const InlinedCall *call)
{
    static const char *const names[] = {"score_mod", "prob_mod"};
    const Subgraph *graph[2];
    for (int i = 0; i < 2; i++) {
        graph[i] = find_subgraph(call, names[i]);
        if (graph[i] && (count_fields(graph[i]->wire, FIELD_INPUT) != 1 ||
                         count_fields(graph[i]->wire, FIELD_OUTPUT) != 1))
            return false;
    }
    return read_flex_attention(reader, call, graph[0], graph[1]);
}

bool read_control(OnnxReader *reader, const InlinedCall *call)
{
    static const struct {
        const char *op_type;
        bool (*read)(OnnxReader *reader, const InlinedCall *call);
    } rows[] = {{"If", read_if},
                {"Loop", read_loop},
                {"Scan", read_scan},
                {"SequenceMap", read_sequence_map},
                {"ai.onnx.preview::FlexAttention", read_flex}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (str_eq(operator_name(reader, &call->node), str_from(rows[i].op_type)))
            return rows[i].read(reader, call);
    return false;
}
