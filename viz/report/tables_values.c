/* tables_values.c - what tensors are and how they lie. */
#include "viz/report/cells.h"

#include "core/plan/label.h"
#include "core/plan/stage.h"

/* ---- parts ---- */

/* Per place of plan->submeshes: whether a tensor lies there. */
static void find_devices(const Plan *plan, int32_t tensor, bool *on)
{
    int32_t maker = plan->inferred->graph->tensors[tensor].maker;

    memset(on, 0, (size_t)plan->n_submeshes);
    if (maker >= 0 && !inferred_is_host(plan->inferred, maker)) {
        on[plan_devices(plan, maker)] = true;
        return;
    }
    int at = 0, devices = stage_given_on(plan, tensor, &at);
    on[0] = devices < 0; /* nobody reads it */
    for (; devices >= 0; devices = stage_given_on(plan, tensor, &at))
        on[devices] = true;
}

static bool lies_at(const Plan *plan, const bool *on, int64_t position)
{
    for (int s = 0; s < plan->n_submeshes; s++)
        if (on[s] && submesh_has(plan->mesh, plan->submeshes[s], position))
            return true;
    return false;
}

static void put_part(const Session *session, int32_t tensor, int64_t position, Sheet *out)
{
    const Mesh *mesh = session->mesh;
    const Sharding *sharding = plan_sharding(session->plan, tensor);
    Shape local;

    sharding_local_shape(sharding, mesh, position, &local);
    table_put_text(out, tensor_name(session->graph, tensor));
    sheet_put(out, label_tensor(session, out->arena, tensor));
    table_put_text(out, label_tensor_kind(session, tensor));
    sheet_number(out, (double)mesh_device(mesh, position));
    table_put_coordinates(out, mesh, position);
    table_put_shape(out, inferred_shape(session->inferred, tensor));
    table_put_shape(out, &local);
    table_put_partial(out, mesh, sharding);
}

static bool rows_parts(const Session *session, Sheet *out, Error *err)
{
    const Plan *plan = session->plan;
    bool *in = inferred_in_program(out->arena, session->inferred);
    bool *on = arena_array(out->arena, bool, plan->n_submeshes);
    double n = 0;

    for (int32_t t = 0; t < session->graph->n_tensors; t++) {
        in[t] = in[t] && plan->sharding[t] >= 0 && inferred_shape(session->inferred, t);
        n += in[t];
    }
    if (!table_fits(n * (double)session->mesh->n_devices, "parts", err))
        return false;
    for (int32_t t = 0; t < session->graph->n_tensors; t++) {
        if (!in[t])
            continue;
        find_devices(plan, t, on);
        for (int64_t at = 0; at < session->mesh->n_devices; at++)
            if (lies_at(plan, on, at))
                put_part(session, t, at, out);
    }
    return true;
}

static const SheetColumn parts_columns[] = {
    {"tensor", false},      {"label", false},       {"kind", false},
    {"device", true},       {"coordinates", false}, {"global_shape", false},
    {"local_shape", false}, {"partial", false},     {0},
};

const PlanTable table_parts = {"parts",
                               "what a device holds of a tensor, as it is made, stored or given",
                               parts_columns, rows_parts};
