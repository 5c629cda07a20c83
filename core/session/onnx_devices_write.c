#include "core/session/onnx_devices.h"

#include "core/model/wire.h"
#include "core/session/onnx_fields.h"
#include "core/plan/stage.h"

enum { IR_WITH_DEVICES = 11 };

typedef struct {
    const Session *session;
    const Plan *plan;
    const Graph *graph;
    const Mesh *mesh;
    const char *name; /* of the configuration */
    OnnxLosses *losses;
    Arena *arena;
    const char *problem;
} DevicesWriter;

const char *onnx_loss_text(OnnxLoss loss)
{
    /* ORDER ONNX_LOSS */
    static const char *const texts[] = {
        "partial values are written as if already reduced",
        "uneven shards are written by their number only, without their sizes",
        "values with blocks of unequal width are written as replicated",
        "parameters are stored in another sharding than they are read in: it is not written",
        "fused ops, and nodes in local functions, branches and loops, are not annotated",
        "weights outside the file stay in their own files, beside the model",
        "micro-batches, their order and recomputation are not written",
    };
    return texts[loss];
}

static void lose(DevicesWriter *w, OnnxLoss loss, const char *what)
{
    if (w->losses->n[loss]++ == 0)
        w->losses->first[loss] = what;
}

/* ---- protobuf ---- */

/* A field as it is in the file. */
static void put_field(Buf *out, const WireField *field)
{
    wire_put_varint(out, (uint64_t)field->number << 3 | field->type);
    if (field->type == WIRE_VARINT)
        wire_put_varint(out, field->varint);
    else if (field->type == WIRE_BYTES)
        wire_put_varint(out, field->bytes.n);
    if (field->type != WIRE_VARINT)
        buf_add(out, field->bytes);
}

/* ---- the sharding of an operand ---- */

static int64_t digit_parts(const Digit *digit, const Mesh *mesh)
{
    int64_t n = 1;
    for (int i = 0; i < digit->n; i++)
        n *= mesh->atoms[digit->atom[i]].size;
    return n;
}

/* The part of a digit that a position has, given that of the digits before it. */
static int64_t part_after(int64_t before, const Digit *digit, const Mesh *mesh, int64_t position)
{
    for (int i = 0; i < digit->n; i++)
        before = before * mesh->atoms[digit->atom[i]].size +
                 mesh_atom_coord(mesh, digit->atom[i], position);
    return before;
}

static void put_dims(DevicesWriter *w, const Sharding *sharding, Buf *out)
{
    for (int d = 0; d < sharding->n_dims; d++) {
        const Cut *cut = &sharding->dim[d];
        if (cut_is_whole(cut))
            continue;
        Buf dim = buf_new(w->arena);
        wire_put_int(&dim, DIM_AXIS, d);
        for (int i = 0; i < cut->n; i++) {
            Buf simple = buf_new(w->arena);
            wire_put_int(&simple, SIMPLE_VALUE, cut->digit[i].size);
            wire_put_int(&simple, SIMPLE_SHARDS, digit_parts(&cut->digit[i], w->mesh));
            wire_put_bytes(&dim, DIM_SIMPLE, buf_str(&simple));
        }
        wire_put_bytes(out, SPEC_DIM, buf_str(&dim));
    }
}

/* The device that holds each shard; if several do, a negative number that refers to them in the
 * map. */
static void put_devices(DevicesWriter *w, const Sharding *sharding, SubMesh part, Buf *out)
{
    int64_t n_shards = 1, n = submesh_size(w->mesh, part);
    for (int d = 0; d < sharding->n_dims; d++)
        for (int i = 0; i < sharding->dim[d].n; i++)
            n_shards *= digit_parts(&sharding->dim[d].digit[i], w->mesh);
    Buf *group = arena_array(w->arena, Buf, n_shards);
    int64_t *only = arena_array(w->arena, int64_t, n_shards),
            *count = arena_array(w->arena, int64_t, n_shards);

    for (int64_t i = 0; i < n; i++) {
        int64_t position = submesh_position(w->mesh, part, i), shard = 0;
        for (int d = 0; d < sharding->n_dims; d++)
            for (int k = 0; k < sharding->dim[d].n; k++)
                shard = part_after(shard, &sharding->dim[d].digit[k], w->mesh, position);
        if (count[shard]++ == 0)
            group[shard] = buf_new(w->arena);
        only[shard] = mesh_device(w->mesh, position);
        wire_put_int(&group[shard], GROUP_DEVICE, only[shard]);
    }
    for (int64_t s = 0; s < n_shards; s++)
        wire_put_int(out, SPEC_DEVICE, count[s] == 1 ? only[s] : -s - 1);
    for (int64_t s = 0; s < n_shards; s++) {
        Buf entry = buf_new(w->arena);
        if (count[s] == 1)
            continue;
        wire_put_int(&entry, GROUP_KEY, -s - 1);
        if (count[s] > 0)
            buf_add(&entry, buf_str(&group[s]));
        wire_put_bytes(out, SPEC_GROUP, buf_str(&entry));
    }
}

static void put_operand(DevicesWriter *w, int32_t tensor, int32_t id, SubMesh part, Buf *out)
{
    if (tensor < 0 || id < 0)
        return;
    const char *name = tensor_name(w->graph, tensor);
    Sharding sharding = sharding_without_partial(shardings_at(w->plan->shardings, id));
    Buf spec = buf_new(w->arena);

    if (sharding_partials(shardings_at(w->plan->shardings, id)))
        lose(w, LOSS_PARTIAL, name);
    for (int d = 0; d < sharding.n_dims; d++) {
        if (cut_is_blocks(&sharding.dim[d])) {
            lose(w, LOSS_BLOCKS, name);
            sharding.dim[d] = cut_whole(cut_size(&sharding.dim[d]));
        }
    }
    if (sharding_is_uneven(&sharding, w->mesh))
        lose(w, LOSS_UNEVEN, name);
    wire_put_bytes(&spec, SPEC_TENSOR, str_from(name));
    put_devices(w, &sharding, part, &spec);
    put_dims(w, &sharding, &spec);
    wire_put_bytes(out, NODE_SPEC, buf_str(&spec));
}

/* ---- nodes ---- */

static void put_op(DevicesWriter *w, int32_t op, Buf *out)
{
    const GraphOp *node = &w->graph->ops[op];
    SubMesh part = w->plan->decided->submeshes[plan_devices(w->plan, op)];
    Buf own = buf_new(w->arena);

    wire_put_bytes(&own, NODE_CONFIGURATION, str_from(w->name));
    for (int i = 0; i < node->n_inputs; i++)
        put_operand(w, op_inputs(w->graph, op)[i], w->plan->moved->need[node->input + i], part,
                    &own);
    for (int o = 0; o < node->n_outputs; o++) {
        int32_t tensor = op_outputs(w->graph, op)[o];
        put_operand(w, tensor, tensor < 0 ? -1 : w->plan->moved->made[tensor], part, &own);
    }
    if (stage_of(w->plan, op) >= 0)
        wire_put_int(&own, NODE_STAGE, stage_of(w->plan, op));
    wire_put_bytes(out, FIELD_NODE_DEVICES, buf_str(&own));
}

/* The op of the graph for a node: the one that makes its first named output. Returns -1 if there is
 * none, or if it is computed at load. */
static int32_t op_of(const DevicesWriter *w, Wire node)
{
    for (WireField field; wire_next(&node, &field);) {
        if (field.number != FIELD_NODE_OUTPUT)
            continue;
        Str name = wire_bytes(&node, &field);
        int32_t tensor = name.n > 0 ? graph_find_tensor(w->graph, name) : -1;
        if (name.n > 0)
            return tensor < 0 ? -1 : w->graph->tensors[tensor].maker;
    }
    return -1;
}

/* Whether the node has a body or calls a function, so that an op inside it makes its output. */
static bool is_the_node(const DevicesWriter *w, Wire node, int32_t op)
{
    int n_inputs = 0;
    Str kind = STR("");
    for (WireField field; wire_next(&node, &field);) {
        n_inputs += field.number == FIELD_NODE_INPUT;
        if (field.number == FIELD_NODE_KIND)
            kind = wire_bytes(&node, &field);
    }
    return n_inputs == w->graph->ops[op].n_inputs &&
           str_ends(str_from(op_operator(w->graph, op)), kind);
}

static bool is_own(const DevicesWriter *w, Wire devices)
{
    for (WireField field; wire_next(&devices, &field);)
        if (field.number == NODE_CONFIGURATION)
            return str_eq(wire_bytes(&devices, &field), str_from(w->name));
    return false;
}

static void put_node(DevicesWriter *w, Wire node, bool *written, Buf *out)
{
    int32_t op = op_of(w, node);
    Buf copy = buf_new(w->arena);
    Wire fields = node;

    for (WireField field; wire_next(&fields, &field);)
        if (field.number != FIELD_NODE_DEVICES ||
            !is_own(w, wire_message(&fields, &field, "NodeDeviceConfigurationProto")))
            put_field(&copy, &field);
    if (op >= 0 && plan_cut(w->plan, op) && is_the_node(w, node, op)) {
        put_op(w, op, &copy);
        written[op] = true;
    }
    wire_put_bytes(out, FIELD_GRAPH_NODE, buf_str(&copy));
}

static void put_graph(DevicesWriter *w, Wire graph, bool *written, Buf *out)
{
    for (WireField field; wire_next(&graph, &field);) {
        if (field.number != FIELD_GRAPH_NODE) {
            put_field(out, &field);
            continue;
        }
        Arena *outer = w->arena;
        w->arena = arena_new(); /* of one node */
        put_node(w, wire_message(&graph, &field, "NodeProto"), written, out);
        arena_free(w->arena);
        w->arena = outer;
    }
}

/* ---- the model ---- */

static void put_configuration(const DevicesWriter *w, Buf *out)
{
    Buf own = buf_new(w->arena);

    wire_put_bytes(&own, CONFIGURATION_NAME, str_from(w->name));
    wire_put_int(&own, CONFIGURATION_N, w->mesh->n_devices);
    wire_put_bytes(out, FIELD_MODEL_CONFIGURATION, buf_str(&own));
}

static bool is_own_configuration(const DevicesWriter *w, Wire configuration)
{
    for (WireField field; wire_next(&configuration, &field);)
        if (field.number == CONFIGURATION_NAME)
            return str_eq(wire_bytes(&configuration, &field), str_from(w->name));
    return false;
}

static void put_model(DevicesWriter *w, Wire model, bool *written, Buf *out)
{
    Buf graph = buf_new(w->arena);

    for (WireField field; wire_next(&model, &field);)
        if (field.number == FIELD_MODEL_IR) {
            int64_t ir = wire_int(&model, &field);
            wire_put_int(out, FIELD_MODEL_IR, ir < IR_WITH_DEVICES ? IR_WITH_DEVICES : ir);
        } else if (field.number == FIELD_MODEL_GRAPH) {
            graph.n = 0;
            put_graph(w, wire_message(&model, &field, "GraphProto"), written, &graph);
            wire_put_bytes(out, FIELD_MODEL_GRAPH, buf_str(&graph));
        } else if (field.number != FIELD_MODEL_CONFIGURATION ||
                   !is_own_configuration(
                       w, wire_message(&model, &field, "DeviceConfigurationProto"))) {
            put_field(out, &field);
        }
    put_configuration(w, out);
}

static void count_left_out(DevicesWriter *w, const bool *written)
{
    const Inferred *inferred = w->session->inferred;

    for (int i = 0; i < inferred->n_program; i++)
        if (!written[inferred->program[i]])
            lose(w, LOSS_INNER, op_name(w->graph, inferred->program[i]));
    for (int32_t t = 0; t < w->graph->n_tensors; t++) {
        const GraphTensor *tensor = &w->graph->tensors[t];
        if (tensor->data >= 0 && w->graph->data[tensor->data].location)
            lose(w, LOSS_WEIGHTS, tensor_name(w->graph, t));
    }
    for (int i = 0; i < w->plan->moved->n_reshards; i++) {
        const Reshard *reshard = &w->plan->moved->reshards[i];
        if (tensor_is_parameter(inferred, reshard->tensor))
            lose(w, LOSS_STORED, tensor_name(w->graph, reshard->tensor));
    }
    for (int i = 0; i < w->plan->decided->n_places; i++) {
        DecisionKind kind = w->plan->decided->places[i]->kind;
        if (kind == PIN_SCHEDULE || kind == PIN_RECOMPUTE)
            lose(w, LOSS_SCHEDULE, w->plan->decided->places[i]->origin.text);
    }
}

bool onnx_devices_write(const Session *session, Buf *out, OnnxLosses *losses, Error *err)
{
    const FileMap *map = &session->model_map;

    if (!map->map) {
        error_kind(err, ERROR_UNSUPPORTED, "%s is not an ONNX file, so it cannot be annotated",
                   path_base(session->graph->file));
        error_hint(err, "export the model to ONNX first, or use --to for another form");
        return false;
    }
    if (file_map_is_stale(map)) {
        error_kind(err, ERROR_UNREADABLE, "the model file has changed since it was read");
        error_in_file(err, session->graph->file);
        return false;
    }
    Arena *scratch = arena_new();
    Buf name = buf_new(scratch);
    mesh_format(session->mesh, &name);
    DevicesWriter w = {.session = session,
                       .plan = session->plan,
                       .graph = session->graph,
                       .mesh = session->mesh,
                       .name = name.s,
                       .losses = losses,
                       .arena = scratch};
    bool *written = arena_array(scratch, bool, session->graph->n_ops + 1);
    WireFile file = wire_file(session->graph->file, map->text, err);
    size_t before = out->n;
    put_model(&w, wire_begin(&file, "ModelProto"), written, out);
    if (file.failed)
        out->n = before;
    else
        count_left_out(&w, written);
    arena_free(scratch);
    return !file.failed;
}
