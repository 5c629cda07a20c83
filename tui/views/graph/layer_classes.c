#include "tui/views/graph/graph_row.h"

#include "core/plan/stage.h"
#include "core/session/signature.h"
#include "core/summary/label.h"
#include "tui/state/format.h"

enum { CLASSES_SHOWN = 3 };

void alike_format_classes(const Ui *ui, const OutlineRow *row, Buf *out)
{
    int members[CLASSES_SHOWN];
    int32_t main;
    int n = outline_classes(ui->outline, row->head, members, CLASSES_SHOWN, &main);
    for (int i = 0; i < n && i < CLASSES_SHOWN; i++)
        buf_printf(out, "%s%d", i ? "+" : "(", members[i]);
    buf_puts(out, n > CLASSES_SHOWN ? "+..)" : ")");
}

/* The first member of the largest class beside the row's; -1: the row is of that class, or there is
 * one only. */
static int32_t main_class(const Ui *ui, const OutlineRow *row)
{
    const Groups *groups = ui->session->groups;
    int32_t main;

    if (!row_has_ops(row) || row->head < 0 || row->mixed)
        return -1;
    int32_t first = groups->groups[row->head].alike;
    int32_t fold = groups->groups[row->head].fold;
    if (groups->groups[first].alike_n == groups->groups[fold].fold_n)
        return -1;
    outline_classes(ui->outline, first, NULL, 0, &main);
    if (stage_of(ui_plan(ui), groups->order[groups->groups[main].first]) !=
        stage_of(ui_plan(ui), row->op))
        return -1; /* it differs in that alone, or in that too: the column says so */
    return groups_difference(groups, main, row->head) < 0 ? -1 : main;
}

bool alike_is_exception(const Ui *ui, const OutlineRow *row)
{
    return main_class(ui, row) >= 0;
}

/* "cuts n as 3072, there 3072/tp" */
static bool format_cuts(const Ui *ui, int32_t op, int32_t other, Buf *out)
{
    const OpSpace *space = inferred_space(ui->session->inferred, op);
    const OpCut *a = plan_cut(ui_plan(ui), op), *b = plan_cut(ui_plan(ui), other);

    for (int x = 0; space && a && b && x < space->n_index && x < a->n && x < b->n; x++) {
        if (cut_equal(&a->index[x], &b->index[x]))
            continue;
        buf_printf(out, " has %s ", space->index[x].name);
        cut_format(&a->index[x], ui->session->mesh, out);
        buf_puts(out, ", there ");
        cut_format(&b->index[x], ui->session->mesh, out);
        return true;
    }
    return false;
}

/* "input 1 is 768,3072, there 768,3072/tp" */
static bool format_values(const Ui *ui, const char *what, int i, int32_t a, int32_t b, Buf *out)
{
    if (a == b || a < 0 || b < 0)
        return false;
    buf_printf(out, " %s %d is ", what, i);
    label_put_sharding(ui, a, out);
    buf_puts(out, ", there ");
    label_put_sharding(ui, b, out);
    return true;
}

static void format_ops(const Ui *ui, int32_t op, int32_t other, Buf *out)
{
    const Graph *graph = ui_graph(ui);
    const Plan *plan = ui_plan(ui);
    const GraphOp *a = &graph->ops[op], *b = &graph->ops[other];

    if (format_cuts(ui, op, other, out))
        return;
    for (int o = 0; o < a->n_outputs; o++)
        if (op_outputs(graph, op)[o] >= 0 && op_outputs(graph, other)[o] >= 0 &&
            (format_values(ui, "output", o, plan->moved->made[op_outputs(graph, op)[o]],
                           plan->moved->made[op_outputs(graph, other)[o]], out) ||
             format_values(ui, "pinned output", o, plan->moved->sharding[op_outputs(graph, op)[o]],
                           plan->moved->sharding[op_outputs(graph, other)[o]], out)))
            return;
    for (int i = 0; i < a->n_inputs; i++) {
        int32_t in = op_inputs(graph, op)[i], there = op_inputs(graph, other)[i];
        if (format_values(ui, "input", i, plan->moved->need[a->input + i],
                          plan->moved->need[b->input + i], out) ||
            (in >= 0 && there >= 0 && !moved_at_maker(ui->session->inferred, in) &&
             format_values(ui, "given input", i, plan->moved->sharding[in],
                           plan->moved->sharding[there], out)))
            return;
    }
    buf_puts(out, " differs");
}

void alike_format_difference(const Ui *ui, const OutlineRow *row, Buf *out)
{
    const Groups *groups = ui->session->groups;
    int32_t main = main_class(ui, row);

    if (main < 0)
        return;
    const Group *here = &groups->groups[row->head], *there = &groups->groups[main];
    int32_t at = groups_difference(groups, main, row->head);
    int32_t op = groups->order[here->first + at], other = groups->order[there->first + at];
    const char *path = op_path(ui_graph(ui), op);
    const char *prefix = group_prefix(groups, row->head);
    Str inside = str_starts(str_from(path), str_from(prefix)) && strcmp(path, prefix) != 0
                     ? group_relative(path, prefix)
                     : (Str){"", 0};
    buf_puts(out, "unlike ");
    group_format_fold(groups, main, there->fold == main ? there->fold_n : 1, row->base, out);
    buf_printf(out, ": %.*s%s%s", STR_ARG(inside), inside.n > 0 ? "/" : "",
               label_operator(ui_graph(ui), op));
    format_ops(ui, op, other, out);
}
