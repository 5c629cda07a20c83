/* graph_table.c - the rows of the graph as data. */
#include "tui/views/graph/graph_row.h"

#include "tui/state/listing.h"

static const char *const row_kinds[] = {
    [ROW_INPUT] = "input",           [ROW_GROUP] = "group",         [ROW_OP] = "op",
    [ROW_PARAMETERS] = "parameters", [ROW_PARAMETER] = "parameter",
};

void graph_table(Ui *ui, Sheet *out)
{
    enum { BATCH = 256 };
    static const char *const names[] = {"depth",      "kind",     "name",         "operator",
                                        "output",     "sharding", "dims_mapping", "local_bytes",
                                        "compute_us", "comm_us",  "reshards",     "times"};
    bool stages = ui_plan(ui)->decided->stages != NULL;
    OutlineRow rows[BATCH];
    int n;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        sheet_column(out, names[i], i == 0 || i > 6);
    if (stages)
        sheet_column(out, "stage", false);
    for (int64_t at = 0; (n = outline_rows(ui->outline, at, BATCH, rows)) > 0; at += n)
        for (int i = 0; i < n; i++) {
            if (ui->listing.n_tagged > 0 && !listing_row_tagged(ui, &rows[i]))
                continue;
            RowFacts facts = graph_row_facts(ui, &rows[i]);
            int32_t made = graph_row_made(ui, &facts);
            Buf name = buf_new(out->arena), ours = buf_new(out->arena),
                mapping = buf_new(out->arena), shape = buf_new(out->arena);
            outline_label(ui->outline, &rows[i], &name);
            if (rows[i].fold_n > 1)
                buf_printf(&name, " x%d", rows[i].fold_n);
            if (rows[i].mixed)
                buf_putc(&name, ' ');
            if (rows[i].mixed)
                alike_format_classes(ui, &rows[i], &name);
            if (facts.tensor >= 0)
                inferred_put_shape(ui->session->inferred, facts.tensor, &shape);
            if (made >= 0) {
                const Sharding *sharding = shardings_at(ui_plan(ui)->shardings, made);
                sharding_format(sharding, ui->session->mesh, VIEW_OURS, &ours, NULL);
                sharding_format(sharding, ui->session->mesh, VIEW_DIMS_MAPPING, &mapping, NULL);
            }
            sheet_number(out, rows[i].depth);
            sheet_put(out, str_from(row_kinds[rows[i].kind]));
            sheet_put(out, buf_str(&name));
            sheet_put(
                out, str_from(rows[i].kind == ROW_OP ? op_operator(ui_graph(ui), rows[i].id) : ""));
            sheet_put(out, buf_str(&shape));
            sheet_put(out, buf_str(&ours));
            sheet_put(out, buf_str(&mapping));
            sheet_number(out,
                         made < 0 ? 0 : (double)plan_local_bytes(ui_plan(ui), facts.tensor, made));
            sheet_number(out, facts.us);
            sheet_number(out, facts.comm_us);
            sheet_number(out, facts.n_reshards);
            sheet_number(out, (double)rows[i].times);
            if (stages)
                sheet_put(out, graph_row_stage(ui, &rows[i]));
        }
}
