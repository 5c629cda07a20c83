#include "tui/cli/estimate_parts.h"

#include "core/base/table.h"
#include "core/base/units.h"
#include "core/cost/pipeline_idle.h"
#include "core/plan/json_forms.h"
#include "core/plan/stage.h"
#include "tui/cli/plan_text.h"
#include "core/plan/plan_machine.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { SHOWN_MAX = 3 };

void estimate_parts_fit(Arena *scratch, const Plan *plan, Buf *out)
{
    int64_t peak = plan->priced->totals.peak_bytes, room = plan_memory(plan);
    bool fits = estimate_fits(plan);
    buf_printf(out, "memory   %s of %s on the fullest device: %s %s\n", text_bytes(scratch, peak),
               text_bytes(scratch, room), text_bytes(scratch, fits ? room - peak : peak - room),
               fits ? "free" : "too much");
}

/* Of notes only that the batch, or another dim of an input, does not divide: ranks wait for it. */
static bool is_grave(const Graph *graph, const Finding *it)
{
    return it->level != LEVEL_NOTE ||
           (strcmp(it->code, "uneven") == 0 && graph->tensors[it->tensor].kind == TENSOR_INPUT);
}

static Findings grave_findings(Arena *scratch, const Plan *plan)
{
    const Findings *all = &plan->findings;
    Findings grave = {0};
    for (int i = 0; i < all->n; i++)
        if (is_grave(plan->inferred->graph, &all->at[i]))
            vec_push(scratch, &grave, all->at[i]);
    return grave;
}

Json *estimate_parts_findings_json(Arena *scratch, const Plan *plan)
{
    Findings grave = grave_findings(scratch, plan);
    return json_of_findings(&grave);
}

void estimate_parts_findings(Arena *scratch, const Plan *plan, Buf *out)
{
    Findings grave = grave_findings(scratch, plan);
    plan_text_findings(&grave, out);
    if (grave.n > 0)
        buf_putc(out, '\n');
}

void estimate_parts_text(Arena *scratch, const Mesh *mesh, const StepParts *parts, Buf *out)
{
    static const TableColumn columns[] = {
        {"WHERE THE TIME GOES", 0}, {"TIME", -99}, {"SHARE", -99}, {"TIMES", -99}};
    Table *table = table_new(scratch, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < parts->n; i++) {
        const StepPart *part = &parts->part[i];
        Buf times = buf_new(scratch);
        if (part->n > 0)
            units_format_count((int64_t)(part->n + .5), &times);
        table_cell(table, str_from(step_part_name(scratch, mesh, part)));
        table_cell(table, str_from(text_us(scratch, part->us)));
        table_printf(table, "%.1f%%", parts->us > 0 ? 100 * part->us / parts->us : 0);
        table_cell(table, buf_str(&times));
    }
    table_format(table, "", out);
}

Json *estimate_parts_json(Arena *scratch, const Mesh *mesh, const StepParts *parts)
{
    Json *out = json_array();
    for (int i = 0; i < parts->n; i++) {
        Json *row = json_object();
        json_set_str(row, "part", step_part_name(scratch, mesh, &parts->part[i]));
        json_set_real(row, "us", parts->part[i].us);
        json_set_real(row, "times", parts->part[i].n);
        json_add(out, row);
    }
    return out;
}

/* "all_gather over dp"; "inside ops" */
static const char *exposed_name(Arena *scratch, const Mesh *mesh, const ExposedPart *part)
{
    Buf out = buf_new(scratch);
    if (!part->atoms)
        return "inside ops";
    buf_printf(&out, "%s over ", step_kind_name(part->step));
    mesh_format_set(mesh, part->atoms, ".", &out);
    return out.s;
}

/* Under which passes traffic of parameters and gradients is assumed to run, if there is any. */
static void put_overlap(const Plan *plan, const StepParts *parts, Buf *out)
{
    const Stages *stages = plan->decided->stages;
    Pass pass = stages ? stages->overlap : PASS_NONE;
    bool found = false;
    for (int i = 0; i < parts->n_exposed; i++)
        found |= parts->exposed[i].buckets;
    if (found)
        buf_printf(out, "assumed: overlap=%s, %s\n", pass_name(pass),
                   pass == PASS_NONE ? "no bucket runs beside ops"
                                     : "the passes whose ops buckets run beside");
}

void estimate_parts_exposed(Arena *scratch, const Plan *plan, const StepParts *parts, Buf *out)
{
    static const TableColumn columns[] = {{"EXPOSED", 0},  {"CAUSE", 0},   {"TIMES", -99},
                                          {"EACH", -99},   {"ALONE", -99}, {"EXPOSED", -99},
                                          {"HIDDEN", -99}, {"", 0}};
    Table *table = table_new(scratch, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < parts->n_exposed; i++) {
        const ExposedPart *part = &parts->exposed[i];
        Buf times = buf_new(scratch);
        units_format_count((int64_t)(part->n + .5), &times);
        table_cell(table, str_from(exposed_name(scratch, plan->mesh, part)));
        table_cell(table, str_from(exposed_part_cause(part)));
        table_cell(table, buf_str(&times));
        table_cell(table, part->bytes > 0 && part->n > 0
                              ? str_from(text_bytes(scratch, (int64_t)(part->bytes / part->n)))
                              : STR(""));
        table_cell(table, str_from(text_us(scratch, part->alone_us)));
        table_cell(table, str_from(text_us(scratch, part->exposed_us)));
        table_printf(table, "%.1f%%",
                     part->alone_us > 0 ? 100 * (1 - part->exposed_us / part->alone_us) : 0);
        table_cell(table, part->buckets ? STR("in buckets") : STR(""));
    }
    if (parts->n_exposed == 0)
        return;
    buf_putc(out, '\n');
    table_format(table, "", out);
    put_overlap(plan, parts, out);
}

Json *estimate_parts_exposed_json(Arena *scratch, const Mesh *mesh, const StepParts *parts)
{
    Json *out = json_array();
    for (int i = 0; i < parts->n_exposed; i++) {
        const ExposedPart *part = &parts->exposed[i];
        Buf axes = buf_new(scratch);
        Json *row = json_object();
        mesh_format_set(mesh, part->atoms, ".", &axes);
        json_set_str(row, "collective", part->atoms ? step_kind_name(part->step) : "inside");
        json_set(row, "axes", json_from_str(buf_str(&axes)));
        json_set_str(row, "cause", exposed_part_cause(part));
        json_set_bool(row, "buckets", part->buckets);
        json_set_real(row, "times", part->n);
        json_set_real(row, "bytes", part->bytes);
        json_set_real(row, "alone_us", part->alone_us);
        json_set_real(row, "exposed_us", part->exposed_us);
        json_add(out, row);
    }
    return out;
}

/* "stage 2", "stage 0, 7": those of a lane. */
static void put_stages(const Schedule *table, int lane, Buf *out)
{
    int n = 0;
    for (int s = 0; s < table->n_stages; s++)
        for (int32_t i = table->lanes->first[s]; i < table->lanes->first[s + 1]; i++)
            if (table->lanes->lane[i] == lane)
                buf_printf(out, "%s%d", n++ > 0 ? ", " : "stage ", s);
}

static void put_idle(Table *table, const ScheduleIdle *idle, const double *of, double all)
{
    double sum = 0;
    for (int cause = 0; cause < N_IDLE_CAUSES; cause++)
        sum += of[cause];
    table_printf(table, "%.1f%%", all > 0 ? 100 * sum / all : 0);
    for (int cause = 0; cause < N_IDLE_CAUSES; cause++)
        if (idle->share[cause] >= IDLE_SHOWN)
            table_printf(table, "%.1f%%", all > 0 ? 100 * of[cause] / all : 0);
}

static const char *idle_heading(Arena *scratch, IdleCause cause)
{
    Buf out = buf_new(scratch);
    for (const char *c = idle_cause_name(cause); *c; c++)
        buf_putc(&out, (char)toupper((unsigned char)*c));
    return out.s;
}

void estimate_parts_bubble(Arena *scratch, const Plan *plan, Buf *out)
{
    const Schedule *schedule = plan_schedule(plan);
    if (!schedule || schedule->lanes->n < 2)
        return;
    ScheduleIdle idle = pipeline_idle(scratch, plan);
    TableColumn columns[2 + N_IDLE_CAUSES] = {{"BUBBLE", 0}, {"ALL", -9}};
    int n = 2;
    for (int cause = 0; cause < N_IDLE_CAUSES; cause++)
        if (idle.share[cause] >= IDLE_SHOWN)
            columns[n++] = (TableColumn){idle_heading(scratch, (IdleCause)cause), -99};
    Table *table = table_new(scratch, columns, n);
    for (int lane = 0; lane < schedule->lanes->n; lane++) {
        Buf name = buf_new(scratch);
        put_stages(schedule, lane, &name);
        table_cell(table, buf_str(&name));
        put_idle(table, &idle, idle.lane_us[lane], schedule->us);
    }
    table_cell(table, STR("all devices"));
    put_idle(table, &idle, idle.share, 1);
    buf_putc(out, '\n');
    table_format(table, "", out);
}

static void put_change(Arena *scratch, const Plan *plan, const EstimateChange *change, Table *table)
{
    double more_us = change->step_us - plan_step_us(plan);
    int64_t more = change->peak_bytes - plan->priced->totals.peak_bytes;
    table_printf(table, "%s%s%s", change->setting[0], change->setting[1] ? " " : "",
                 change->setting[1] ? change->setting[1] : "");
    table_cell(table, str_from(text_us(scratch, change->step_us)));
    table_printf(table, "%c%s", more_us <= -0.05 ? '-' : '+', text_us(scratch, fabs(more_us)));
    table_cell(table, str_from(text_bytes(scratch, change->peak_bytes)));
    table_printf(table, "%c%s", more < 0 ? '-' : '+', text_bytes(scratch, more < 0 ? -more : more));
    table_printf(table, "%s", !change->legal ? "illegal" : change->fits ? "fits" : "does not fit");
}

void estimate_parts_changes(Arena *scratch, const Plan *plan, const EstimateChanges *changes,
                            Buf *out)
{
    static const TableColumn columns[] = {
        {"WOULD HELP (--set)", 0}, {"STEP", -99}, {"", -99}, {"PEAK", -99}, {"", -99}, {"", 0}};
    Table *table = table_new(scratch, columns, sizeof columns / sizeof *columns);
    int helping = 0, failed = 0;
    for (int i = 0; i < changes->n; i++) {
        const EstimateChange *change = &changes->change[i];
        helping += change->helps;
        failed += change->failed != NULL;
        if (change->helps && helping <= SHOWN_MAX)
            put_change(scratch, plan, change, table);
    }
    if (helping > 0)
        table_format(table, "", out);
    if (changes->n == 0) {
        buf_puts(out, "no other settings: the policy declares none to try\n");
        return;
    }
    buf_printf(out, "%d other setting%s planned, %d would help", changes->n - failed,
               changes->n - failed == 1 ? "" : "s", helping);
    if (failed > 0)
        buf_printf(out, "; %d could not be planned", failed);
    buf_putc(out, '\n');
    for (int i = changes->n - failed; i < changes->n; i++)
        buf_printf(out, "  %s: %s\n", changes->change[i].setting[0], changes->change[i].failed);
}
