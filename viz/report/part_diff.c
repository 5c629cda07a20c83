/* part_diff.c - this plan (A) and a second one (B) side by side. */
#include "viz/report/page.h"

#include "core/summary/diff.h"
#include "core/summary/label.h"
#include "core/session/planfile.h"

#include <inttypes.h>

static ReportTable *table_of_sides(Page *page, const char *id, const char *title,
                                   const char *caption, const char *head, ReportLook look)
{
    ReportTable *table = page_table(page, id, title, caption);

    table_column(table, head, LOOK_NAME, NULL);
    table_column(table, "A", look, NULL);
    table_column(table, "B", look, NULL);
    return table;
}

static const char *side_name(Page *page, const Session *session)
{
    Buf mesh = buf_new(page->arena);

    mesh_format(session->mesh, &mesh);
    return arena_printf(page->arena, "%s on %s, policy %s, plan %016" PRIx64,
                        path_base(session->plan_file ? session->plan_file : session->graph->file),
                        mesh.s,
                        session->options.policy ? path_base(session->options.policy) : "none",
                        planfile_hash(session));
}

/* ---- requests and decisions ---- */

static void put_decision(Page *page, Buf *out, const PlanDiff *diff, int side)
{
    const Decision *decision = diff_fork(diff, side);

    if (!decision) {
        buf_printf(out, "none: it has %d", diff->side[side]->journal.n_done);
        return;
    }
    decision_format(diff->side[side], decision, out);
    buf_printf(out, " (%.*s)", STR_ARG(label_pin(page->arena, decision)));
}

static void add_request(Page *page, const PlanDiff *diff)
{
    ReportTable *table =
        table_of_sides(page, "diff-asked", "Requests and decisions", NULL, "what", LOOK_TEXT);

    for (int r = 0; r < diff->n_requests && table_row(table, 0); r++) {
        table_text(table, diff->request[r].what);
        for (int side = 0; side < 2; side++)
            table_text(table, strcmp(diff->request[r].what, "model") == 0
                                  ? path_base(diff->request[r].text[side])
                                  : diff->request[r].text[side]);
    }
    table_row(table, 0);
    if (diff->fork < 0) {
        table_text(table, "decisions");
        for (int side = 0; side < 2; side++)
            table_text(table,
                       arena_printf(page->arena, "alike, %d", diff->side[side]->journal.n_done));
        return;
    }
    table_text(table,
               arena_printf(page->arena, "decision %d, the first that differs", diff->fork + 1));
    for (int side = 0; side < 2; side++) {
        Buf text = buf_new(page->arena);
        put_decision(page, &text, diff, side);
        table_text(table, text.s);
    }
}

/* ---- totals ---- */

static void put_change(ReportTable *table, double a, double b)
{
    if (a > 0 && a != b)
        table_text(table, arena_printf(table->arena, "%+.1f%%", 100 * (b - a) / a));
    else
        table_text(table, a == b ? "" : "new");
}

static void add_us(ReportTable *table, const char *name, double a, double b)
{
    if (!table_row(table, 0))
        return;
    table_text(table, name);
    table_us(table, a);
    table_us(table, b);
    put_change(table, a, b);
}

static void add_bytes(ReportTable *table, const char *name, int64_t a, int64_t b)
{
    if (!table_row(table, 0))
        return;
    table_text(table, name);
    table_bytes(table, a);
    table_bytes(table, b);
    put_change(table, (double)a, (double)b);
}

static void add_count(ReportTable *table, const char *name, double a, double b)
{
    if ((a == 0 && b == 0) || !table_row(table, 0))
        return;
    table_text(table, name);
    table_count(table, a);
    table_count(table, b);
    put_change(table, a, b);
}

static void add_totals(Page *page, const PlanDiff *diff)
{
    const Totals *a = &diff->side[0]->plan->priced->totals,
                 *b = &diff->side[1]->plan->priced->totals;
    ReportTable *table = table_of_sides(page, "diff-totals", "Totals", NULL, "what", LOOK_NUMBER);

    table_column(table, "change", LOOK_NUMBER, "from A to B");
    const Plan *plan[] = {diff->side[0]->plan, diff->side[1]->plan};
    bool scheduled = plan_schedule(plan[0]) || plan_schedule(plan[1]);
    if (scheduled)
        add_us(table, "step", plan_step_us(plan[0]), plan_step_us(plan[1]));
    add_us(table, scheduled ? "micro-batch" : "step", a->step_us, b->step_us);
    add_us(table, "compute", a->compute_us, b->compute_us);
    add_us(table, "collectives", a->comm_us, b->comm_us);
    add_us(table, "with best overlap", a->overlap_us, b->overlap_us);
    add_bytes(table, "sent per device", a->comm_bytes, b->comm_bytes);
    add_bytes(table, "peak memory", a->peak_bytes, b->peak_bytes);
    if (table_row(table, 0)) {
        table_text(table, "flops per device");
        table_flops(table, a->flops);
        table_flops(table, b->flops);
        put_change(table, a->flops, b->flops);
    }
    for (StepKind kind = 0; kind < STEP_KIND_COUNT; kind++)
        add_count(table, step_kind_name(kind), diff->n_steps[0][kind], diff->n_steps[1][kind]);
}

/* ---- what differs ---- */

static const char *row_name(Page *page, const PlanDiff *diff, DiffListKind kind, int row)
{
    const DiffList *list = &diff->list[kind];
    const DiffEntry *first = &list->entries[list->rows[row].first];
    int side = diff_first_side(first);
    Buf text = buf_new(page->arena);

    diff_format_row(diff, kind, row, &text);
    if (kind == DIFF_OPS)
        buf_printf(&text, " %s", label_operator(diff->side[side]->graph, first->id[side]));
    return text.s;
}

static void put_side(Page *page, ReportTable *table, const PlanDiff *diff, DiffListKind kind,
                     int side, int32_t id)
{
    Buf text = buf_marked(page->arena);

    if (id < 0)
        buf_puts(&text, "none");
    else if (kind == DIFF_OPS)
        diff_format_op(diff->side[side], id, &text);
    else if (kind == DIFF_TENSORS)
        diff_format_tensor(diff->side[side], id, &text);
    else
        diff_format_reshard(diff->side[side], id, &text);
    table_marked(table, buf_text(&text));
}

static void add_list(Page *page, const PlanDiff *diff, DiffListKind kind, const char *what)
{
    const DiffList *list = &diff->list[kind];

    if (list->n_rows == 0) {
        page_sentence(page, "All %s are equal.", what);
        return;
    }
    ReportTable *table =
        table_of_sides(page, arena_printf(page->arena, "diff-%s", what),
                       arena_printf(page->arena, "%c%s that differ", what[0] - 'a' + 'A', what + 1),
                       arena_printf(page->arena, "%d of %d; equal layers share a row.",
                                    list->n_entries, list->n_compared),
                       "what", LOOK_SHARDING);
    table->md_rows = 25;
    table->high = true;
    table_column(table, "\xc3\x97", LOOK_NUMBER, "number of equal ones");
    for (int row = 0; row < list->n_rows && table_row(table, 0); row++) {
        const DiffEntry *first = &list->entries[list->rows[row].first];
        table_text(table, row_name(page, diff, kind, row));
        for (int side = 0; side < 2; side++)
            put_side(page, table, diff, kind, side, first->id[side]);
        table_count(table, list->rows[row].n);
    }
}

static void add_findings(Page *page, const PlanDiff *diff)
{
    const DiffList *list = &diff->list[DIFF_FINDINGS];

    if (list->n_entries == 0)
        return;
    ReportTable *table = page_table(page, "diff-findings", "Findings of one plan only", NULL);
    table->md_rows = 15;
    table_column(table, "in", LOOK_TEXT, NULL);
    table_column(table, "level", LOOK_TEXT, NULL);
    table_column(table, "what", LOOK_TEXT, NULL);
    for (int i = 0; i < list->n_entries && table_row(table, 0); i++) {
        int side = diff_first_side(&list->entries[i]);
        const Finding *finding = &diff->side[side]->plan->findings.at[list->entries[i].id[side]];
        table_text(table, side == 0 ? "A" : "B");
        table_text(table, level_name(finding->level));
        table_text(table, finding->text);
    }
}

/* Why the first op that differs is sharded as it is, on both sides. */
static void add_first(Page *page, const PlanDiff *diff)
{
    ReportBlock *lines;
    Buf text = buf_new(page->arena);
    const DiffEntry *entry = diff_first_op(diff);

    if (!entry)
        return;
    for (int side = 0; side < 2; side++) {
        buf_printf(&text, "%c  ", 'A' + side);
        if (entry->id[side] < 0)
            buf_puts(&text, "has no such op");
        else
            diff_format_op(diff->side[side], entry->id[side], &text);
        buf_putc(&text, '\n');
        diff_format_why(diff, side, "   ", &text);
    }
    lines = page_block(page, BLOCK_LINES);
    lines->title =
        arena_printf(page->arena, "First difference: %s", row_name(page, diff, DIFF_OPS, 0));
    lines->text = text.s;
}

void part_diff(Page *page)
{
    if (!page->other)
        return;
    const PlanDiff *diff = plan_diff(page->arena, page->session, page->other);
    page_section(page, "diff", "Differences");
    ReportBlock *facts = page_block(page, BLOCK_FACTS);
    block_fact(page, facts, "A", side_name(page, page->session), "the plan of this report");
    block_fact(page, facts, "B", side_name(page, page->other), NULL);
    if (diff->same)
        page_sentence(page, "The plans are the same.");
    add_request(page, diff);
    add_totals(page, diff);
    if (diff->same_result) {
        page_sentence(page, "The results are the same: every op, tensor and reshard is equal.");
        return;
    }
    page_drawing(page, DIAGRAM_DIFF, "The differences as a drawing",
                 "Dashed grey: only in A; bold: only in B.");
    add_list(page, diff, DIFF_OPS, "ops");
    add_list(page, diff, DIFF_TENSORS, "tensors");
    add_list(page, diff, DIFF_RESHARDS, "moves");
    add_findings(page, diff);
    add_first(page, diff);
}
