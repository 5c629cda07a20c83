/* tables_values.c - tensors, their shardings and shards. */
#include "core/cost/memory_class.h"
#include "viz/report/cells.h"

#include "core/layout/runs.h"
#include "core/summary/label.h"
#include "core/plan/stage.h"

/* ---- tensors ---- */

static bool rows_tensors(const Session *session, Sheet *out, Error *err)
{
    (void)err;
    const Inferred *inferred = session->inferred;
    const bool *in = inferred_in_program(out->arena, inferred);
    const MemoryClass *class = memory_classes(out->arena, inferred);

    for (int32_t t = 0; t < session->graph->n_tensors; t++) {
        if (!in[t])
            continue;
        int32_t id = session->plan->moved->made[t], maker = session->graph->tensors[t].maker;
        int32_t kept = session->plan->moved->sharding[t];
        table_put_text(out, tensor_name(session->graph, t));
        sheet_put(out, label_tensor(session, out->arena, t));
        table_put_text(out, label_tensor_kind(session, t));
        table_put_text(out, memory_class_name(class[t]));
        table_put_text(out, dtype_name((Dtype)inferred->dtype[t]));
        table_put_size(out, session, t);
        table_put_sharding(out, session, id, VIEW_OURS);
        table_put_sharding(out, session, id, VIEW_DIMS_MAPPING);
        table_put_sharding(out, session, id, VIEW_PLACEMENTS);
        table_put_sharding(out, session, id, VIEW_PARTITION_SPEC);
        table_put_local_shape(out, session, id);
        table_put_text(
            out, id < 0 ? ""
                 : sharding_is_uneven(shardings_at(session->plan->shardings, id), session->mesh)
                     ? "yes"
                     : "no");
        table_put_bytes(out, inferred_shape(inferred, t), inferred_bytes(inferred, t));
        table_put_bytes(out, id >= 0, id < 0 ? 0 : plan_local_bytes(session->plan, t, id));
        table_put_text(out, maker < 0 ? "" : op_name(session->graph, maker));
        sheet_number(out, tensor_n_uses(session->graph, t));
        int32_t gradient = plan_gradient(session->plan, t);
        table_put_sharding(out, session, gradient < 0 ? -1 : session->plan->moved->made[gradient],
                           VIEW_OURS);
        table_put_sharding(out, session, kept == id ? -1 : kept, VIEW_OURS);
    }
    return true;
}

static const SheetColumn tensors_columns[] = {
    {"name", false},
    {"label", false},
    {"kind", false},
    {"class", false},
    {"dtype", false},
    {"shape", false},
    {"sharding", false},
    {"dims_mapping", false},
    {"placements", false},
    {"partition_spec", false},
    {"local_shape", false},
    {"uneven", false},
    {"bytes", true},
    {"local_bytes", true},
    {"made_by", false},
    {"uses", true},
    {"gradient", false}, /* of a training step: as its op makes it */
    {"then", false},     /* the sharding that an output or a pin makes of it */
    {0},
};

const PlanTable table_tensors = {
    "tensors",
    "a tensor of the program, as an op produces it, as it is stored or given; local: on rank 0; "
    "then: the sharding it is resharded to as an output or by a pin",
    tensors_columns, rows_tensors};

/* ---- parameters ---- */

/* The axes over which it is gathered before use: those that shard it as stored only. */
static void put_stored(const Session *session, int32_t tensor, Sheet *out)
{
    const Sharding *sharding = plan_sharding(session->plan, tensor);
    AtomSet stored = 0;
    Buf text = buf_new(out->arena);

    for (int d = 0; d < sharding->n_dims; d++) {
        const Decision *pin = plan_store_pin_of(session->plan, tensor, d);
        if (pin)
            stored |= cut_atoms(&sharding->dim[d]) & cut_atoms(decision_cut(pin));
    }
    mesh_format_set(session->mesh, stored, " ", &text);
    sheet_put(out, buf_str(&text));
}

static bool rows_parameters(const Session *session, Sheet *out, Error *err)
{
    (void)err;
    const Inferred *inferred = session->inferred;
    const bool *in = inferred_in_program(out->arena, inferred);
    const MemoryClass *class = memory_classes(out->arena, inferred);

    for (int32_t t = 0; t < session->graph->n_tensors; t++) {
        int32_t id = session->plan->moved->sharding[t];
        if (!in[t] || id < 0 || !tensor_is_parameter(inferred, t))
            continue;
        table_put_text(out, tensor_name(session->graph, t));
        table_put_text(out, memory_class_name(class[t]));
        table_put_text(out, dtype_name((Dtype)inferred->dtype[t]));
        table_put_size(out, session, t);
        table_put_sharding(out, session, id, VIEW_OURS);
        table_put_sharding(out, session, id, VIEW_PLACEMENTS);
        table_put_local_shape(out, session, id);
        table_put_bytes(out, true, inferred_bytes(inferred, t));
        table_put_bytes(out, true, plan_local_bytes(session->plan, t, id));
        put_stored(session, t, out);
        sheet_number(out, tensor_n_uses(session->graph, t));
    }
    return true;
}

static const SheetColumn parameters_columns[] = {
    {"name", false},       {"class", false},      {"dtype", false},       {"shape", false},
    {"sharding", false},   {"placements", false}, {"local_shape", false}, {"bytes", true},
    {"local_bytes", true}, {"stored_by", false},  {"uses", true},         {0},
};

const PlanTable table_parameters = {"parameters",
                                    "a parameter as it is stored; local: on rank 0; stored_by: the "
                                    "axes over which it is gathered for use",
                                    parameters_columns, rows_parameters};

/* ---- parts ---- */

/* Per index of plan->submeshes: whether a tensor is there. */
static void find_devices(const Plan *plan, int32_t tensor, bool *on)
{
    int32_t maker = plan->inferred->graph->tensors[tensor].maker;

    memset(on, 0, (size_t)plan->decided->n_submeshes);
    if (maker >= 0 && !inferred_is_host(plan->inferred, maker)) {
        on[plan_devices(plan, maker)] = true;
        return;
    }
    int at = 0, devices = stage_given_on(plan, tensor, &at);
    on[0] = devices < 0; /* no op reads it */
    for (; devices >= 0; devices = stage_given_on(plan, tensor, &at))
        on[devices] = true;
}

static bool lies_at(const Plan *plan, const bool *on, int64_t position)
{
    for (int s = 0; s < plan->decided->n_submeshes; s++)
        if (on[s] && submesh_has(plan->mesh, plan->decided->submeshes[s], position))
            return true;
    return false;
}

static const Sharding *made_sharding(const Plan *plan, int32_t tensor)
{
    return shardings_at(plan->shardings, plan->moved->made[tensor]);
}

/* Where the shard begins and ends in the tensor, [0,8] and [4,16], and in how many separate runs of
 * elements it lies along each dim: more than one where a dim is interleaved. */
static void put_place(const Sharding *sharding, const Mesh *mesh, int64_t position, Sheet *out)
{
    enum { RUNS_SHOWN_MAX = 1 << 16 };
    Shape start = {.n_dims = sharding->n_dims}, end = start, runs = start;
    bool known = true;

    for (int64_t d = 0; d < sharding->n_dims; d++) {
        runs.dim[d] = cut_n_runs(&sharding->dim[d], mesh, position);
        known = known && runs.dim[d] <= RUNS_SHOWN_MAX;
        if (!known || runs.dim[d] == 0)
            continue;
        Runs held = cut_runs(out->arena, &sharding->dim[d], mesh, position);
        start.dim[d] = held.at[0].start;
        end.dim[d] = held.at[held.n - 1].start + held.at[held.n - 1].length;
    }
    if (known) {
        table_put_shape(out, &start);
        table_put_shape(out, &end);
    } else {
        table_put_text(out, "");
        table_put_text(out, "");
    }
    table_put_shape(out, &runs);
}

/* The cells that all shards of a tensor have in common. */
static Sheet describe(const Session *session, int32_t tensor, Arena *arena)
{
    Sheet cells = {.arena = arena};

    table_put_text(&cells, tensor_name(session->graph, tensor));
    sheet_put(&cells, label_tensor(session, arena, tensor));
    table_put_text(&cells, label_tensor_kind(session, tensor));
    table_put_shape(&cells, inferred_shape(session->inferred, tensor));
    table_put_partial(&cells, session->mesh, made_sharding(session->plan, tensor));
    return cells;
}

/* device: its number and its coordinates. */
static void put_part(const Session *session, int32_t tensor, int64_t position, const Str *common,
                     const Str *device, Sheet *out)
{
    Shape local;

    const Sharding *sharding = made_sharding(session->plan, tensor);

    sharding_local_shape(sharding, session->mesh, position, &local);
    for (int i = 0; i < 3; i++)
        sheet_put(out, common[i]);
    sheet_put(out, device[0]);
    sheet_put(out, device[1]);
    sheet_put(out, common[3]);
    table_put_shape(out, &local);
    sheet_put(out, common[4]);
    put_place(sharding, session->mesh, position, out);
}

static bool rows_parts(const Session *session, Sheet *out, Error *err)
{
    const Plan *plan = session->plan;
    bool *in = inferred_in_program(out->arena, session->inferred);
    bool *on = arena_array(out->arena, bool, plan->decided->n_submeshes);
    double n = 0;

    for (int32_t t = 0; t < session->graph->n_tensors; t++) {
        in[t] = in[t] && plan->moved->made[t] >= 0 && inferred_shape(session->inferred, t);
        n += in[t];
    }
    if (!table_fits(n * (double)session->mesh->n_devices, "parts", err)) {
        error_hint(err, "the table 'tensors' has the shards of rank 0, which are the largest");
        return false;
    }
    Sheet devices = {.arena = out->arena};
    for (int64_t at = 0; at < session->mesh->n_devices; at++) {
        sheet_number(&devices, (double)mesh_device(session->mesh, at));
        table_put_coordinates(&devices, session->mesh, at);
    }
    for (int32_t t = 0; t < session->graph->n_tensors; t++) {
        if (!in[t])
            continue;
        Sheet common = describe(session, t, out->arena);
        find_devices(plan, t, on);
        for (int64_t at = 0; at < session->mesh->n_devices; at++)
            if (lies_at(plan, on, at))
                put_part(session, t, at, common.cells.at, &devices.cells.at[2 * at], out);
    }
    return true;
}

static const SheetColumn parts_columns[] = {
    {"tensor", false},      {"label", false},        {"kind", false},        {"device", true},
    {"coordinates", false}, {"global_shape", false}, {"local_shape", false}, {"partial", false},
    {"start", false},       {"end", false},          {"runs", false},        {0},
};

const PlanTable table_parts = {
    "parts",
    "a shard of a tensor on a device, as an op produces it, as it is stored or given; start, end: "
    "its first element and the one after its last; runs: of neighbouring elements, along each dim",
    parts_columns, rows_parts};
