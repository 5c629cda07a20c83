#include "core/session/onnx_devices.h"

#include "core/model/wire.h"
#include "core/session/onnx_fields.h"

#include <inttypes.h>
#include <stdlib.h>

enum { SHARDS_MAX = MESH_DEVICES_MAX, NOTES_MAX = 20 };

/* The annotation of one node. */
typedef struct {
    bool annotated, placed;
    SubMesh part;
    int stage;    /* -1 if not given */
    AtomSet used; /* that shard an operand of it */
    bool given[X_MAX];
    Cut cut[X_MAX];
} OpDevices;

typedef struct {
    Session *session;
    const Graph *graph;
    const Mesh *mesh;
    const char *path, *name; /* of the file; of the configuration */
    int64_t *position_of;    /* per device; -1 */
    int64_t n_devices;       /* how long that is */
    OpDevices *op;           /* per op of the graph */
    Arena *arena;            /* scratch */
    int n_notes;
} DevicesReader;

/* A sharded dim: its digits, and the number of parts of each. */
typedef struct {
    int axis, n;
    int64_t size[DIGITS_MAX], parts[DIGITS_MAX];
} SpecDim;

/* Several devices that hold the same: a device list refers to them by number. */
typedef struct {
    int64_t key;
    int at; /* how many of these came before */
    Vec(int64_t) devices;
} Sharers;

typedef struct {
    Str tensor;
    Vec(int64_t) devices;
    Sharers *group;
    int n_groups, room;
    int n_dims;
    SpecDim dim[DIMS_MAX];
    bool strange; /* it has more entries than any tensor could need */
} Spec;

static void note(DevicesReader *r, const char *code, const char *text, int32_t op)
{
    Finding finding = {.level = LEVEL_WARNING, .code = code, .text = text, .hint = ""};

    if (r->n_notes++ >= NOTES_MAX)
        return;
    finding.file = r->path;
    finding.op = op;
    finding.tensor = -1;
    vec_push(r->session->journal_arena, &r->session->notes, finding);
}

/* ---- a spec as it is written ---- */

static void read_group(DevicesReader *r, Wire wire, Spec *spec)
{
    if (spec->n_groups == spec->room)
        spec->group = vec_grow(r->arena, spec->group, &spec->room, sizeof *spec->group);
    spec->group[spec->n_groups] = (Sharers){.at = spec->n_groups};
    for (WireField field; wire_next(&wire, &field);)
        if (field.number == GROUP_KEY) {
            spec->group[spec->n_groups].key = wire_int(&wire, &field);
        } else if (field.number == GROUP_DEVICE) {
            Str rest = wire_elements(&wire, &field, WIRE_VARINT);
            uint64_t value;
            while (rest.n > 0 && wire_take_varint(&rest, &value))
                vec_push(r->arena, &spec->group[spec->n_groups].devices, (int64_t)value);
        }
    spec->n_groups++;
}

/* A digit without a size covers the whole dim: 0. */
static void read_simple(const DevicesReader *r, Wire wire, SpecDim *dim)
{
    int64_t size = 0, parts = 1;

    for (WireField field; wire_next(&wire, &field);)
        if (field.number == SIMPLE_VALUE) {
            size = wire_int(&wire, &field);
        } else if (field.number == SIMPLE_PARAM) {
            Str name = wire_bytes(&wire, &field);
            const DimBindings *dims = &r->session->options.dims;
            for (int i = 0; i < dims->n; i++)
                if (str_eq(dims->at[i].name, name))
                    size = dims->at[i].size;
        } else if (field.number == SIMPLE_SHARDS) {
            parts = wire_int(&wire, &field);
        }
    if (dim->n == DIGITS_MAX) {
        dim->axis = INT16_MAX; /* no dim: the caller reports it */
        return;
    }
    dim->size[dim->n] = size;
    dim->parts[dim->n++] = parts;
}

static void read_dim(const DevicesReader *r, Wire wire, Spec *spec)
{
    if (spec->n_dims == DIMS_MAX) {
        spec->strange = true;
        return;
    }
    SpecDim *dim = &spec->dim[spec->n_dims++];
    *dim = (SpecDim){0};
    for (WireField field; wire_next(&wire, &field);)
        if (field.number == DIM_AXIS) {
            int64_t axis = wire_int(&wire, &field);
            dim->axis = axis < -DIMS_MAX || axis > DIMS_MAX ? INT16_MAX : (int)axis;
        } else if (field.number == DIM_SIMPLE) {
            read_simple(r, wire_message(&wire, &field, "SimpleShardedDimProto"), dim);
        }
}

static int by_key(const void *a, const void *b)
{
    const Sharers *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static Spec read_spec(DevicesReader *r, Wire wire)
{
    Spec spec = {0};

    for (WireField field; wire_next(&wire, &field);)
        if (field.number == SPEC_TENSOR) {
            spec.tensor = wire_bytes(&wire, &field);
        } else if (field.number == SPEC_DEVICE) {
            Str rest = wire_elements(&wire, &field, WIRE_VARINT);
            uint64_t value;
            while (rest.n > 0 && wire_take_varint(&rest, &value))
                vec_push(r->arena, &spec.devices, (int64_t)value);
        } else if (field.number == SPEC_GROUP) {
            read_group(r, wire_message(&wire, &field, "IntIntListEntryProto"), &spec);
        } else if (field.number == SPEC_DIM) {
            read_dim(r, wire_message(&wire, &field, "ShardedDimProto"), &spec);
        }
    if (spec.n_groups > 1)
        qsort(spec.group, (size_t)spec.n_groups, sizeof *spec.group, by_key);
    return spec;
}

/* ---- which device holds which shard ---- */

typedef struct {
    int64_t n_shards, n;
    int64_t *position; /* n of them, each once */
    int64_t *shard;    /* per mesh position; -1 if it holds none */
    SubMesh part;
} Holders;

static bool hold(DevicesReader *r, Holders *holders, int64_t device, int64_t shard)
{
    int64_t position = device >= 0 && device < r->n_devices ? r->position_of[device] : -1;

    if (position < 0 || holders->shard[position] >= 0)
        return false;
    holders->shard[position] = shard;
    holders->position[holders->n++] = position;
    return true;
}

/* The first entry with that key; NULL if the key is the number of a device. */
static const Sharers *find_group(const Spec *spec, int64_t key)
{
    int low = 0, high = spec->n_groups;

    while (low < high) {
        int middle = low + (high - low) / 2;
        if (spec->group[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < spec->n_groups && spec->group[low].key == key ? &spec->group[low] : NULL;
}

static bool hold_shard(DevicesReader *r, Holders *holders, const Spec *spec, int shard)
{
    int64_t device = spec->devices.at[shard];
    const Sharers *group = find_group(spec, device);

    if (!group)
        return hold(r, holders, device, shard);
    for (int i = 0; i < group->devices.n; i++)
        if (!hold(r, holders, group->devices.at[i], shard))
            return false;
    return group->devices.n > 0;
}

static bool find_holders(DevicesReader *r, const Spec *spec, Holders *out)
{
    *out = (Holders){.n_shards = 1};
    for (int d = 0; d < spec->n_dims; d++)
        for (int i = 0; i < spec->dim[d].n; i++) {
            int64_t parts = spec->dim[d].parts[i];
            if (parts < 1 || parts > SHARDS_MAX || out->n_shards > SHARDS_MAX / parts)
                return false;
            out->n_shards *= parts;
        }
    if (out->n_shards != spec->devices.n)
        return false;
    out->position = arena_array(r->arena, int64_t, r->mesh->n_devices);
    out->shard = arena_array(r->arena, int64_t, r->mesh->n_devices);
    for (int64_t p = 0; p < r->mesh->n_devices; p++)
        out->shard[p] = -1;
    for (int i = 0; i < spec->devices.n; i++)
        if (!hold_shard(r, out, spec, i))
            return false;
    return out->n > 0 && submesh_of_positions(r->mesh, out->position, out->n, &out->part);
}

/* ---- a digit's part as a list of atoms: linear in the coordinates, or not expressible ---- */

typedef struct {
    int atom;
    int64_t step;
} Stride;

static int largest_first(const void *a, const void *b)
{
    const Stride *x = a, *y = b;
    return (x->step < y->step) - (x->step > y->step);
}

/* The part of a digit that a shard is, if `after` shards follow each part. */
static int64_t part_of(int64_t shard, int64_t after, int64_t parts)
{
    return shard / after % parts;
}

static bool find_atoms(const DevicesReader *r, const Holders *holders, int64_t after, int64_t parts,
                       Digit *digit)
{
    Stride stride[ATOMS_MAX] = {{0}};
    int n = 0;
    int64_t first = holders->part.first, product = 1;

    for (int a = 0; a < r->mesh->n_atoms; a++) {
        if (holders->part.fixed >> a & 1)
            continue;
        int64_t step = part_of(holders->shard[first + r->mesh->atoms[a].stride], after, parts) -
                       part_of(holders->shard[first], after, parts);
        if (step < 0)
            return false;
        if (step > 0)
            stride[n++] = (Stride){a, step};
    }
    qsort(stride, (size_t)n, sizeof *stride, largest_first);
    for (int i = n - 1; i >= 0; i--) {
        if (stride[i].step != product)
            return false;
        product *= r->mesh->atoms[stride[i].atom].size;
    }
    if (product != parts)
        return false;
    for (int64_t i = 0; i < holders->n; i++) {
        int64_t part = 0;
        for (int k = 0; k < n; k++)
            part += stride[k].step * mesh_atom_coord(r->mesh, stride[k].atom, holders->position[i]);
        if (part != part_of(holders->shard[holders->position[i]], after, parts))
            return false;
    }
    for (int k = 0; k < n; k++)
        digit->atom[digit->n++] = (uint8_t)stride[k].atom;
    return true;
}

/* The cut of each dim of a tensor of that shape. */
static bool find_cuts(const DevicesReader *r, const Spec *spec, const Holders *holders,
                      const Shape *shape, Cut *out)
{
    int64_t after = holders->n_shards;

    for (int d = 0; d < shape->n_dims; d++)
        out[d] = cut_whole(shape->dim[d]);
    for (int i = 0; i < spec->n_dims; i++) {
        const SpecDim *dim = &spec->dim[i];
        int64_t axis = dim->axis < 0 ? dim->axis + shape->n_dims : dim->axis, product = 1;
        if (axis < 0 || axis >= shape->n_dims)
            return false;
        Cut cut = {.n = dim->n};
        for (int k = 0; k < dim->n; k++) {
            cut.digit[k].size = dim->size[k] == 0 && dim->n == 1 ? shape->dim[axis] : dim->size[k];
            after /= dim->parts[k];
            if (!find_atoms(r, holders, after, dim->parts[k], &cut.digit[k]))
                return false;
            product = cut.digit[k].size > 0 && product <= INT64_MAX / cut.digit[k].size
                          ? product * cut.digit[k].size
                          : 0;
        }
        if (product != shape->dim[axis])
            return false;
        cut_canonical(&cut, r->mesh);
        out[axis] = cut;
    }
    return true;
}

/* ---- nodes ---- */

/* Gives the cut of an operand's dim to the index dims that the dim is the mixed radix of. */
static void cut_indices(DevicesReader *r, int32_t op, const OpSpace *space,
                        const DimFactors *factors, const Cut *cut)
{
    OpDevices *devices = &r->op[op];
    int64_t sizes[FACTORS_MAX];
    Cut parts[FACTORS_MAX], joined;
    AtomSet lost = 0;

    devices->used |= cut_atoms(cut);
    if (!factors->exact || factors->n == 0)
        return;
    for (int i = 0; i < factors->n; i++)
        sizes[i] = space->index[factors->index[i]].size;
    cut_split(cut, sizes, factors->n, r->mesh, parts, &lost);
    for (int i = 0; i < factors->n; i++) {
        int x = factors->index[i];
        if (!devices->given[x])
            devices->cut[x] = parts[i];
        else if (cut_join(&devices->cut[x], &parts[i], r->mesh, &joined))
            devices->cut[x] = joined;
        devices->given[x] = true;
    }
}

static void cut_operand(DevicesReader *r, int32_t op, const Spec *spec)
{
    const OpSpace *space = program_space(r->session->inferred, op);
    const GraphOp *node = &r->graph->ops[op];
    int32_t tensor = graph_find_tensor(r->graph, spec->tensor);
    const Shape *shape = tensor < 0 ? NULL : inferred_shape(r->session->inferred, tensor);
    Holders holders;
    Cut cut[DIMS_MAX];

    if (!shape || spec->strange || !find_holders(r, spec, &holders) ||
        !find_cuts(r, spec, &holders, shape, cut)) {
        note(r, "onnx-sharding",
             arena_printf(r->session->journal_arena,
                          "%s: the sharding of '%.*s' cannot be expressed on this mesh",
                          op_name(r->graph, op), STR_ARG(spec->tensor)),
             op);
        return;
    }
    if (!r->op[op].placed)
        r->op[op].part = holders.part;
    r->op[op].placed = true;
    for (int o = 0; o < node->n_inputs + node->n_outputs; o++)
        if (r->graph->operands[node->input + o] == tensor && !space->operand[o].ignored)
            for (int d = 0; d < shape->n_dims; d++)
                cut_indices(r, op, space, &space->operand[o].factors[d], &cut[d]);
}

static void read_devices(DevicesReader *r, int32_t op, Wire wire)
{
    Wire whole = wire;
    bool meant = false;

    for (WireField field; wire_next(&wire, &field);)
        if (field.number == NODE_CONFIGURATION)
            meant = str_eq(wire_bytes(&wire, &field), str_from(r->name));
    if (!meant)
        return;
    r->op[op].annotated = true;
    for (WireField field; wire_next(&whole, &field);)
        if (field.number == NODE_STAGE) {
            int64_t stage = wire_int(&whole, &field);
            r->op[op].stage = stage >= 0 && stage <= INT16_MAX ? (int)stage : -1;
        } else if (field.number == NODE_SPEC) {
            Arena *outer = r->arena;
            r->arena = arena_new(); /* of one spec */
            Spec spec = read_spec(r, wire_message(&whole, &field, "ShardingSpecProto"));
            if (!whole.file->failed)
                cut_operand(r, op, &spec);
            arena_free(r->arena);
            r->arena = outer;
        }
}

static void read_node_devices(DevicesReader *r, Wire node)
{
    Wire fields = node;
    int32_t op = -1;

    for (WireField field; op < 0 && wire_next(&node, &field);) {
        Str name = field.number == FIELD_NODE_OUTPUT ? wire_bytes(&node, &field) : STR("");
        int32_t tensor = name.n > 0 ? graph_find_tensor(r->graph, name) : -1;
        op = tensor < 0 ? -1 : r->graph->tensors[tensor].maker;
    }
    if (op < 0 || inferred_is_host(r->session->inferred, op))
        return;
    for (WireField field; wire_next(&fields, &field);)
        if (field.number == FIELD_NODE_DEVICES)
            read_devices(r, op, wire_message(&fields, &field, "NodeDeviceConfigurationProto"));
}

/* ---- decisions ---- */

static void add(DevicesReader *r, Journal *journal, Decision decision)
{
    Arena *arena = r->session->journal_arena;
    decision.origin =
        (Origin){ORIGIN_POLICY, r->path, 0, arena_printf(arena, "configuration %s", r->name)};
    journal_add(journal, arena, &decision);
}

/* Runs of ops on one part of the mesh, and where stages begin. */
static void add_places(DevicesReader *r, Journal *journal)
{
    const Inferred *inferred = r->session->inferred;
    int32_t first = -1, last = -1;
    int stage = -1;

    for (int i = 0; i <= inferred->n_program; i++) {
        int32_t op = i < inferred->n_program ? inferred->program[i] : -1;
        const OpDevices *at = op < 0 ? NULL : &r->op[op];
        if (at && !at->placed && first >= 0) {
            last = op;
            continue;
        }
        bool goes_on = at && first >= 0 && submesh_equal(at->part, r->op[first].part);
        if (first >= 0 && !goes_on)
            add(r, journal,
                (Decision){.kind = PIN_DEVICES,
                           .place = first,
                           .last = last,
                           .dim = -1,
                           .devices = r->op[first].part});
        if (!goes_on)
            first = at && at->placed && at->part.fixed != 0 ? op : -1;
        last = op;
        if (at && at->annotated && at->stage >= 0 && at->stage != stage) {
            if (stage >= 0)
                add(r, journal, (Decision){.kind = PIN_STAGE, .place = op, .dim = -1});
            stage = at->stage;
        }
    }
}

static void add_cuts(DevicesReader *r, int32_t op, Journal *journal)
{
    const OpSpace *space = program_space(r->session->inferred, op);
    AtomSet kept = 0;

    for (int x = 0; x < space->n_index; x++) {
        if (!r->op[op].given[x] || space->index[x].role == ROLE_FROZEN)
            continue;
        kept |= cut_atoms(&r->op[op].cut[x]);
        add(r, journal,
            (Decision){.kind = PIN_INDEX_DIM, .place = op, .dim = x, .cut = &r->op[op].cut[x]});
    }
    if (r->op[op].used & ~kept)
        note(r, "onnx-sharding",
             arena_printf(r->session->journal_arena,
                          "%s: the shardings of its operands do not fit together: no sharding of "
                          "its index dims gives all of them",
                          op_name(r->graph, op)),
             op);
}

/* ---- the model ---- */

static const char *find_name(Arena *arena, Wire wire, int64_t *n)
{
    const char *name = NULL;

    *n = 0;
    for (WireField field; wire_next(&wire, &field);)
        if (field.number == CONFIGURATION_NAME)
            name = arena_str(arena, wire_bytes(&wire, &field));
        else if (field.number == CONFIGURATION_N)
            *n = wire_int(&wire, &field);
    return *n >= 1 && *n <= MESH_DEVICES_MAX ? name : NULL;
}

bool onnx_devices_find(Arena *arena, Str bytes, const char **name, const char **mesh)
{
    WireFile file = wire_file("", bytes, NULL);
    Wire model = wire_begin(&file, "ModelProto");

    for (WireField field; wire_next(&model, &field);) {
        if (field.number != FIELD_MODEL_CONFIGURATION)
            continue;
        int64_t n;
        *name = find_name(arena, wire_message(&model, &field, "DeviceConfigurationProto"), &n);
        if (!*name)
            continue;
        Source source = {"configuration", str_from(*name)};
        Error unused = {0};
        Mesh *named = mesh_parse(arena, &source, &unused);
        *mesh = named && named->n_devices == n ? *name : arena_printf(arena, "x=%" PRId64, n);
        return true;
    }
    return false;
}

static bool check_size(const DevicesReader *r, const char *mesh, Error *err)
{
    Arena *scratch = arena_new();
    Source source = {"configuration", str_from(mesh)};
    const Mesh *named = mesh_parse(scratch, &source, NULL);
    bool fits = named && named->n_devices == r->mesh->n_devices;

    if (!fits) {
        error_kind(err, ERROR_USAGE,
                   "its configuration '%s' has %" PRId64 " devices, the mesh has %" PRId64, r->name,
                   named ? named->n_devices : 0, r->mesh->n_devices);
        error_hint(err, "-m %s", mesh);
        error_in_file(err, r->path);
    }
    arena_free(scratch);
    return fits;
}

static void index_positions(DevicesReader *r)
{
    for (int64_t p = 0; p < r->mesh->n_devices; p++)
        if (mesh_device(r->mesh, p) >= r->n_devices)
            r->n_devices = mesh_device(r->mesh, p) + 1;
    r->position_of = arena_array(r->arena, int64_t, r->n_devices);
    for (int64_t d = 0; d < r->n_devices; d++)
        r->position_of[d] = -1;
    for (int64_t p = 0; p < r->mesh->n_devices; p++)
        r->position_of[mesh_device(r->mesh, p)] = p;
}

static void read_all(DevicesReader *r, Wire model)
{
    for (WireField field; wire_next(&model, &field);) {
        if (field.number != FIELD_MODEL_GRAPH)
            continue;
        Wire graph = wire_message(&model, &field, "GraphProto");
        for (WireField inner; wire_next(&graph, &inner);)
            if (inner.number == FIELD_GRAPH_NODE)
                read_node_devices(r, wire_message(&graph, &inner, "NodeProto"));
    }
}

bool onnx_devices_read(Session *session, const char *path, Str bytes, Journal *journal, Error *err)
{
    Arena *scratch = arena_new();
    DevicesReader r = {.session = session,
                       .graph = session->graph,
                       .mesh = session->mesh,
                       .path = path,
                       .arena = scratch};
    const char *mesh = NULL;
    WireFile file = wire_file(path, bytes, err);
    bool ok = onnx_devices_find(session->journal_arena, bytes, &r.name, &mesh);

    if (!ok) {
        error_kind(err, ERROR_USAGE, "the model has no multi-device configuration");
        error_hint(err, "dimscope export MODEL --onnx writes one");
        error_in_file(err, path);
    }
    ok = ok && check_size(&r, mesh, err);
    if (ok) {
        r.op = arena_array(scratch, OpDevices, r.graph->n_ops + 1);
        for (int32_t op = 0; op < r.graph->n_ops; op++)
            r.op[op].stage = -1;
        index_positions(&r);
        read_all(&r, wire_begin(&file, "ModelProto"));
        ok = !file.failed;
    }
    if (ok) {
        add_places(&r, journal);
        for (int i = 0; i < session->inferred->n_program; i++)
            if (r.op[session->inferred->program[i]].annotated)
                add_cuts(&r, session->inferred->program[i], journal);
        int more = r.n_notes - NOTES_MAX;
        r.n_notes = 0;
        if (more > 0)
            note(&r, "onnx-sharding",
                 arena_printf(session->journal_arena, "%d more findings like these", more), -1);
    }
    arena_free(scratch);
    return ok;
}
