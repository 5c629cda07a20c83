#include "tui/views/policy_decided.h"

#include "core/cost/pipeline.h"
#include "core/summary/diff.h"
#include "tui/views/label.h"
#include "tui/views/policy_lines.h"

double policy_whole_us(const Ui *ui)
{
    const Pipeline *pipeline = ui_plan(ui)->priced->pipeline;
    return !ui_graph(ui)->phase ? ui_plan(ui)->priced->totals.step_us
                                : plan_step_us(ui_plan(ui)) * (pipeline ? pipeline->lanes->n : 1);
}

static Str fold_name(const Ui *ui, const Decision *decision)
{
    Buf name = buf_new(ui->frame);
    if (decision_is_on_ops(decision->kind)) {
        decision_format(ui->session, decision, &name);
        return buf_str(&name);
    }
    Str whole = decision_is_on_tensor(decision->kind)
                    ? str_from(naming_label(ui->session->naming, decision->place))
                    : label_op(ui->session, ui->frame, decision->place);

    text_wildcard(whole, &name);
    return buf_str(&name);
}

static Text fold_sharding(const Ui *ui, const Decision *decision)
{
    const Plan *plan = ui_plan(ui);
    const OpSpace *space;
    Buf text = buf_marked(ui->frame);

    if (decision_is_on_ops(decision->kind))
        return (Text){0};
    if (decision_is_on_tensor(decision->kind))
        return label_value(ui, decision->place, plan->moved->sharding[decision->place]);
    space = inferred_space(ui->session->inferred, decision->place);
    buf_printf(&text, "%s = ", space ? space->index[decision->dim].name : "?");
    cut_format(decision_cut(decision), plan->mesh, &text);
    return buf_text(&text);
}

int policy_folds(Ui *ui, int line, PolicyFold **out)
{
    const Decision **all;
    Vec(PolicyFold) folds = {0};
    int n = policy_line_decisions(ui, line, &all);

    for (int i = 0; i < n; i++) {
        PolicyFold fold = {all[i], fold_name(ui, all[i]), fold_sharding(ui, all[i]), 1};
        int at = 0;
        while (at < folds.n && !(str_eq(folds.at[at].name, fold.name) &&
                                 str_eq(folds.at[at].sharding.str, fold.sharding.str)))
            at++;
        if (at == folds.n)
            vec_push(ui->frame, &folds, fold);
        else
            folds.at[at].n++;
    }
    *out = folds.at;
    return folds.n;
}

static void draw_finding(const PolicyLine *line, Pen *pen)
{
    const Finding *finding = line->finding;

    draw_field(pen, finding->level == LEVEL_NOTE ? "  NOTE" : "! NOTE", 10);
    pen_printf(pen, finding->level == LEVEL_NOTE ? ROLE_NOTE : ROLE_ERROR, "%s%s%s", finding->text,
               *finding->hint ? "; " : "", finding->hint);
    pen_line(pen);
}

static void draw_cost(const Ui *ui, const PolicyLine *line, Pen *pen)
{
    bool trains = ui_graph(ui)->phase;
    pen_puts(pen, ROLE_HEAD, "         causes");
    pen_tab(pen, 18);
    pen_put(pen, ROLE_TEXT, label_us(ui, line->us));
    pen_printf(pen, ROLE_TEXT, " of reshards%s, %.1f%% of %s", trains ? " a step" : "",
               100 * line->us / policy_whole_us(ui), trains ? "the devices' time" : "the step");
    pen_line(pen);
    if (!trains)
        return;
    pen_tab(pen, 18);
    for (CommPass pass = 0; pass < COMM_PASS_COUNT; pass++)
        if (line->pass_us[pass] > 0)
            pen_printf(pen, ROLE_TEXT, "%s %.*s ×%d  ", comm_pass_name(pass),
                       STR_ARG(label_us(ui, line->pass_us[pass])),
                       pass == COMM_UPDATE ? 1 : plan_micro_batches(ui_plan(ui)));
    pen_line(pen);
}

static void draw_decided(Ui *ui, int number, int h, Pen *pen)
{
    const PolicyLine *line = &policy_lines(ui)->line[number - 1];
    PolicyFold *folds;
    int n = policy_folds(ui, number, &folds);

    pen_printf(pen, ROLE_HEAD, " LINE %d decided", number);
    for (int i = 0; i < n; i++) {
        int below = line->us > 0 ? 1 + (ui_graph(ui)->phase != NULL) : 0;
        if (pen->y == h - below - 1 && i < n - 1) {
            pen_tab(pen, 18);
            pen_printf(pen, ROLE_DIM, "and %d more kinds: Enter lists them", n - i);
            pen_line(pen);
            break;
        }
        pen_tab(pen, 18);
        pen_printf(pen, ROLE_TEXT, "%4d × ", folds[i].n);
        pen_put(pen, ROLE_TEXT, folds[i].name);
        pen_puts(pen, ROLE_TEXT, "  ");
        pen_text(pen, folds[i].sharding, -1, -1);
        pen_line(pen);
    }
    if (line->us <= 0)
        return;
    draw_cost(ui, line, pen);
}

void policy_draw_decided(Ui *ui, int number, Pen *pen)
{
    const PolicyLine *line = &policy_lines(ui)->line[number - 1];

    if (error_is_set(&ui->changes.policy_failed)) {
        pen_puts(pen, ROLE_DIM, " hits are from the last successful run; the source may be newer");
        return;
    }
    if (line->finding)
        draw_finding(line, pen);
    if (line->hits > 0)
        draw_decided(ui, number, pen->area.h, pen);
    else if (line->made > 0)
        pen_printf(pen, ROLE_NOTE, " LINE %d: all of its %d decisions were undone or replaced",
                   number, line->made);
    else if (policy_line_is_unused(line))
        pen_printf(pen, ROLE_NOTE,
                   " LINE %d did not run, or other lines had made its decisions before", number);
    else if (!line->finding)
        pen_printf(pen, ROLE_DIM, " line %d decides nothing by itself", number);
}
