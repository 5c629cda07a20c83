/* part_mesh.c - the devices and the use of each mesh axis; pipeline stages. */
#include "viz/report/page.h"

#include "core/cost/cost.h"
#include "core/summary/label.h"
#include "core/plan/stage.h"
#include "core/cost/pipeline.h"

#include <inttypes.h>

/* ---- mesh ---- */

static void add_axis(Page *page, ReportTable *table, int axis)
{
    const Session *session = page->session;
    const Plan *plan = session->plan;
    AtomSet atoms = mesh_axis_atoms(session->mesh, axis);
    Buf groups = buf_new(page->arena), name = buf_marked(page->arena);
    double n = 0, us = 0, bytes = 0;

    for (int r = 0; r < plan->moved->n_reshards; r++) {
        double times = reshard_repeat(plan, &plan->moved->reshards[r]);
        const ReshardPath *path = plan->moved->reshards[r].path;
        for (int s = 0; s < path->n_steps; s++)
            if (path->step[s].kind != STEP_SLICE && (path->step[s].atoms & atoms)) {
                n += times;
                us += times * path->step[s].us;
                bytes += times * (double)path->step[s].wire_bytes;
            }
    }
    if (!table_row(table, 0))
        return;
    comm_format_groups(session->mesh, (SubMesh){0}, atoms, &groups);
    mesh_put_axis(session->mesh, axis, &name);
    table_marked(table, buf_text(&name));
    table_count(table, (double)session->mesh->axes[axis].size);
    table_text(table, groups.s);
    table_count(table, n);
    table_bytes(table, (int64_t)bytes);
    table_us(table, us);
}

void part_mesh(Page *page)
{
    const Mesh *mesh = page->session->mesh;

    page_section(page, "mesh", "Mesh");
    page_drawing(page, DIAGRAM_MESH, "Devices and axes", NULL);
    ReportTable *table =
        page_table(page, "axes", "Axes", "Communication along each mesh axis in a step.");
    table_column(table, "axis", LOOK_SHARDING, NULL);
    table_column(table, "size", LOOK_NUMBER, NULL);
    table_column(table, "groups", LOOK_NAME, "a group of devices along this axis");
    table_column(table, "collectives", LOOK_NUMBER,
                 "in a step, over this axis alone or with others");
    table_column(table, "sent", LOOK_NUMBER, "bytes that one device sends");
    table_column(table, "time", LOOK_NUMBER, NULL);
    for (int axis = 0; axis < mesh->n_axes; axis++)
        add_axis(page, table, axis);
}

/* ---- stages ---- */

static void add_stage(Page *page, ReportTable *table, int s)
{
    const Session *session = page->session;
    const Stages *stages = session->plan->decided->stages;
    const Stage *stage = &stages->at[s];
    const StagePrice *price = &session->plan->priced->pipeline->stage[s];
    Buf devices = buf_new(page->arena);
    bool trains = plan_schedule(session->plan) && plan_schedule(session->plan)->trains;

    if (!table_row(table, 0))
        return;
    comm_format_part(session, stage->devices, &devices);
    table_count(table, s);
    table_text(table, devices.s);
    table_str(table, label_op(session, page->arena, session->inferred->program[stage->first]));
    table_count(table, stage->last - stage->first + 1);
    table_us(table, stage_forward_us(price));
    table_us(table, trains ? stage_backward_us(price) : 0);
    table_us(table, price->receive_us);
    table_bytes(table, price->receive_bytes);
    if (plan_schedule(session->plan))
        table_count(table, plan_schedule(session->plan)->in_flight[s]);
    else
        table_none(table);
    table_str(table, stage->decision ? label_pin(page->arena, stage->decision) : STR(""));
}

void part_stages(Page *page)
{
    const Stages *stages = page->session->plan->decided->stages;

    if (!stages)
        return;
    page_section(page, "stages", "Stages");
    Buf text = buf_new(page->arena);
    pipeline_explain(page->session->plan, &text);
    ReportTable *table = page_table(page, "stages-table", "Pipeline stages", text.s);
    table_column(table, "stage", LOOK_NUMBER, NULL);
    table_column(table, "devices", LOOK_NAME, NULL);
    table_column(table, "from", LOOK_NAME, "its first op");
    table_column(table, "ops", LOOK_NUMBER, NULL);
    table_column(table, "forward", LOOK_NUMBER, "of one micro-batch, collectives included");
    table_column(table, "backward", LOOK_NUMBER, pipeline_backward_note(page->session->plan));
    table_column(table, "receives", LOOK_NUMBER, NULL);
    table_column(table, "received", LOOK_NUMBER, "bytes sent to it");
    table_column(table, "in flight", LOOK_NUMBER, "micro-batches started there and not finished");
    table_column(table, "by", LOOK_NAME, "the decision that starts it there");
    for (int s = 0; s < stages->n; s++)
        add_stage(page, table, s);
}
