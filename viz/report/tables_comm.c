/* tables_comm.c - communication: what is moved, how, and between which devices. */
#include "viz/report/cells.h"

#include "core/cost/cost.h"
#include "core/reshard/price_choice.h"
#include "core/summary/label.h"
#include "core/summary/sheets.h"

#include <inttypes.h>

/* ---- collectives ---- */

static bool rows_collectives(const Session *session, Sheet *out, Error *err)
{
    (void)err;
    Comm *comm = comm_new(session);

    comm_table(comm, NULL);
    sheet_comm_rows(comm, VIEW_OURS, out);
    for (int i = 0; i < out->cells.n; i++) /* copies labels, which are in the comm's arena */
        out->cells.at[i] = str_from(arena_str(out->arena, out->cells.at[i]));
    comm_free(comm);
    return true;
}

const PlanTable table_collectives = {
    "collectives",
    "equal reshards of all layers, the most expensive first; bytes, wire_bytes and us of one",
    sheet_comm_columns, rows_collectives};

/* ---- reshards ---- */

static void put_steps(const Session *session, const ReshardPath *path, Sheet *out)
{
    Buf steps = buf_new(out->arena);

    reshard_format_steps(path, session->mesh, &steps);
    sheet_put(out, buf_str(&steps));
}

static void put_times(double us, double times, Sheet *out)
{
    sheet_number(out, us);
    sheet_number(out, times);
    sheet_number(out, us * times);
}

static void put_reshard(const Session *session, int32_t r, Sheet *out)
{
    const Plan *plan = session->plan;
    const Reshard *reshard = &plan->moved->reshards[r];
    const Decision *pin = comm_cause(out->arena, session, reshard);
    int32_t first = reshard->n_uses > 0 ? plan->moved->reshard_uses[reshard->use] : -1;

    sheet_number(out, r);
    table_put_text(out, tensor_name(session->graph, reshard->tensor));
    sheet_put(out, label_tensor(session, out->arena, reshard->tensor));
    table_put_text(out, first < 0 ? "" : op_name(session->graph, first));
    sheet_number(out, reshard->n_uses);
    table_put_sharding(out, session, reshard->from, VIEW_OURS);
    table_put_sharding(out, session, reshard->to, VIEW_OURS);
    table_put_devices(out, session, reshard->from_devices);
    table_put_devices(out, session, reshard->to_devices);
    put_steps(session, reshard->path, out);
    sheet_number(out, (double)comm_payload(reshard));
    sheet_number(out, (double)reshard->path->wire_bytes);
    sheet_number(out, (double)reshard->path->peak_bytes);
    sheet_number(out, reshard->path->bound_us);
    table_put_bool(out, reshard->path->proven);
    put_times(reshard->path->us, reshard_repeat(plan, reshard), out);
    table_put_bool(out, comm_is_asked(plan, reshard));
    sheet_put(out, pin ? label_pin(out->arena, pin) : STR(""));
}

static bool rows_reshards(const Session *session, Sheet *out, Error *err)
{
    if (!table_fits(session->plan->moved->n_reshards, "reshards", err))
        return false;
    for (int32_t r = 0; r < session->plan->moved->n_reshards; r++)
        put_reshard(session, r, out);
    return true;
}

static const SheetColumn reshards_columns[] = {
    {"reshard", true},    {"tensor", false},       {"label", false},
    {"reader", false},    {"uses", true},          {"from", false},
    {"to", false},        {"from_devices", false}, {"to_devices", false},
    {"steps", false},     {"bytes", true},         {"wire_bytes", true},
    {"peak_bytes", true}, {"bound_us", true},      {"proven", false},
    {"us", true},         {"times", true},         {"total_us", true},
    {"asked", false},     {"cause", false},        {0},
};

const PlanTable table_reshards = {"reshards", "a reshard, in program order", reshards_columns,
                                  rows_reshards};

/* ---- steps ---- */

static void put_step(const Session *session, int32_t r, int s, Sheet *out)
{
    const Reshard *reshard = &session->plan->moved->reshards[r];
    const Step *step = &reshard->path->step[s];
    Buf axes = buf_new(out->arena), groups = buf_new(out->arena), sum = buf_new(out->arena);
    PriceChoice choice = {.name = ""};

    mesh_format_set(session->mesh, step->atoms, " ", &axes);
    if (step->kind != STEP_SLICE) {
        comm_format_step_groups(session->plan, reshard, s, &groups);
        choice =
            price_choice(session->machine, session->mesh, step->kind, step->atoms, step->bytes);
        if (choice.name[0])
            price_sum(session->machine, session->mesh, step->kind, step->atoms, step->bytes, &sum);
    }
    sheet_number(out, r);
    sheet_number(out, s);
    table_put_text(out, tensor_name(session->graph, reshard->tensor));
    table_put_text(out, step_kind_name(step->kind));
    sheet_put(out, buf_str(&axes));
    sheet_number(out, (double)mesh_atoms_size(session->mesh, step->atoms));
    sheet_put(out, buf_str(&groups));
    table_put_sharding(out, session, step->from, VIEW_OURS);
    table_put_sharding(out, session, step->to, VIEW_OURS);
    sheet_number(out, (double)step->bytes);
    sheet_number(out, (double)step->wire_bytes);
    sheet_number(out, (double)step->padding_bytes);
    sheet_number(out, step->us);
    sheet_put(out, str_from(choice.name));
    sheet_put(out, buf_str(&sum));
}

static bool rows_steps(const Session *session, Sheet *out, Error *err)
{
    const Plan *plan = session->plan;
    double n = 0;

    for (int32_t r = 0; r < plan->moved->n_reshards; r++)
        n += plan->moved->reshards[r].path->n_steps;
    if (!table_fits(n, "steps", err))
        return false;
    for (int32_t r = 0; r < plan->moved->n_reshards; r++)
        for (int s = 0; s < plan->moved->reshards[r].path->n_steps; s++)
            put_step(session, r, s, out);
    return true;
}

static const SheetColumn steps_columns[] = {
    {"reshard", true}, {"step", true},       {"tensor", false},    {"kind", false},
    {"axes", false},   {"group", true},      {"groups", false},    {"from", false},
    {"to", false},     {"bytes", true},      {"wire_bytes", true}, {"padding_bytes", true},
    {"us", true},      {"algorithm", false}, {"formula", false},   {0},
};

const PlanTable table_steps = {
    "steps", "a step of a reshard, one collective; group: the number of ranks in it", steps_columns,
    rows_steps};

/* ---- traffic ---- */

enum { TRAFFIC_DEVICES_MAX = 1 << 14, LINKS_MAX = 64 };

static bool traffic_told(const Session *session, const char *table, Error *err)
{
    if (session->mesh->n_devices <= TRAFFIC_DEVICES_MAX)
        return true;
    return error_kind(err, ERROR_UNSUPPORTED, "the table '%s' is limited to %d devices", table,
                      TRAFFIC_DEVICES_MAX);
}

static bool rows_traffic(const Session *session, Sheet *out, Error *err)
{
    if (!traffic_told(session, "traffic", err))
        return false;
    Traffic traffic = traffic_of_plan(out->arena, session->plan, 1);
    for (int i = 0; i < traffic.n_axes; i++) {
        const AxisTraffic *axis = &traffic.axis[i];
        Buf axes = buf_new(out->arena);
        mesh_format_set(session->mesh, axis->atoms, " ", &axes);
        sheet_put(out, buf_str(&axes));
        sheet_number(out, (double)mesh_atoms_size(session->mesh, axis->atoms));
        sheet_number(out, axis->n);
        sheet_number(out, axis->us);
        sheet_number(out, axis->sent.inside);
        sheet_number(out, axis->sent.between);
        sheet_number(out, axis->sent.to_switch);
    }
    return true;
}

static const SheetColumn traffic_columns[] = {
    {"axes", false},        {"group", true},         {"times", true},        {"us", true},
    {"inside_bytes", true}, {"between_bytes", true}, {"switch_bytes", true}, {0},
};

const PlanTable table_traffic = {
    "traffic",
    "groups of collectives; bytes of all devices inside nodes, between nodes, to switches",
    traffic_columns, rows_traffic};

/* "d0", "d0..d7": the devices of a bucket. */
static void put_bucket(const Session *session, const Traffic *traffic, int i, Sheet *out)
{
    int64_t n = session->mesh->n_devices;
    int64_t first = (i * n + traffic->n_buckets - 1) / traffic->n_buckets;
    int64_t end = ((i + 1) * n + traffic->n_buckets - 1) / traffic->n_buckets;
    Buf text = buf_new(out->arena);

    buf_printf(&text, "d%" PRId64, mesh_device(session->mesh, first));
    if (end - first > 1)
        buf_printf(&text, "..d%" PRId64, mesh_device(session->mesh, end - 1));
    sheet_put(out, buf_str(&text));
}

static bool rows_links(const Session *session, Sheet *out, Error *err)
{
    int64_t n = session->mesh->n_devices;

    if (!traffic_told(session, "links", err))
        return false;
    Traffic traffic =
        traffic_of_plan(out->arena, session->plan, n < LINKS_MAX ? (int)n : LINKS_MAX);
    for (int i = 0; i < traffic.n_buckets; i++)
        for (int j = 0; j < traffic.n_buckets; j++) {
            double bytes = traffic.pair[i * traffic.n_buckets + j];
            if (bytes <= 0)
                continue;
            put_bucket(session, &traffic, i, out);
            put_bucket(session, &traffic, j, out);
            sheet_number(out, bytes);
        }
    return true;
}

static const SheetColumn links_columns[] = {{"from", false}, {"to", false}, {"bytes", true}, {0}};

const PlanTable table_links = {
    "links",
    "bytes that a device sends to another in a step; on large meshes, summed over neighbours",
    links_columns, rows_links};
