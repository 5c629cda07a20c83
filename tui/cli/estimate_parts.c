#include "tui/cli/estimate_parts.h"

#include "core/base/table.h"
#include "core/base/units.h"
#include "tui/cli/plan_text.h"

void estimate_parts_findings(Arena *scratch, const Plan *plan, Buf *out)
{
    const Findings *all = &plan->findings;
    Findings grave = {0};
    for (int i = 0; i < all->n; i++)
        if (all->at[i].level != LEVEL_NOTE)
            vec_push(scratch, &grave, all->at[i]);
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
