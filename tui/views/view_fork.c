/* view_fork.c - where two plans begin to differ, and why the selected line does. */
#include "tui/views/diff_cells.h"

#include "core/explain/reason.h"
#include "core/summary/label.h"
#include "tui/state/format.h"
#include "tui/state/jobs/reasons_job.h"

/* ---- the first decision that is not alike ---- */

static void put_decision(const Compare *compare, int side, Buf *out)
{
    const Decision *decision = diff_fork(compare->diff, side);
    if (!decision) {
        buf_printf(out, "no further decision: it has %d",
                   compare->diff->side[side]->journal.n_done);
        return;
    }
    decision_format(compare->diff->side[side], decision, out);
    buf_puts(out, "   ");
    label_origin(compare->diff->side[side]->mesh, &decision->origin, out);
}

static void put_fork(const Compare *compare, Buf *out)
{
    if (compare->diff->fork < 0) {
        buf_printf(out, "The histories are equal: %d decisions\n",
                   compare->diff->side[0]->journal.n_done);
        return;
    }
    buf_printf(out, "FIRST FORK of the histories: decision %d\n", compare->diff->fork + 1);
    for (int s = 0; s < 2; s++) {
        buf_printf(out, " %c ", 'A' + s);
        put_decision(compare, s, out);
        buf_putc(out, '\n');
    }
}

/* ---- the selected line ---- */

static void put_chains(const Session *session, const ReasonChain *chains, int n, const char *what,
                       Buf *out)
{
    for (int i = 0; i < n; i++) {
        buf_printf(out, "%s sharded by ", what);
        mesh_put_axis(session->mesh, chains[i].axis, out);
        buf_printf(out, ", back to %s:\n", reason_root(&chains[i]));
        reason_format_chain(session->plan, &chains[i], " ", out);
    }
}

static void put_why_op(const Session *session, int32_t op, Buf *out)
{
    const OpSpace *space = program_space(session->inferred, op);
    for (int i = 0; i < space->n_index; i++) {
        ReasonChain *chains;
        int n = why_index_dim(out->arena, session->plan, op, i, &chains);
        put_chains(session, chains, n, space->index[i].name, out);
    }
}

/* The chains of reasons of an op or a tensor on one side; of a reshard, those of its value. */
static Text why_text(const Ui *ui, const Session *session, const DiffLine *line, int32_t id)
{
    Buf out = buf_marked(ui->frame);
    if (id < 0)
        buf_puts(&out, "has none");
    else if (line->kind == DIFF_LINE_OP && reasons_ready(ui, session->plan))
        put_why_op(session, id, &out);
    else if (line->kind == DIFF_LINE_FINDING)
        buf_puts(&out, session->plan->findings.at[id].text);
    else if (!reasons_ready(ui, session->plan))
        buf_puts(&out, reasons_waiting);
    else
        why_format(session->plan,
                   line->kind == DIFF_LINE_RESHARD ? session->plan->moved->reshards[id].tensor : id,
                   -2, &out);
    if (out.n == 0)
        buf_puts(&out, "replicated: no axis propagates here from a pin");
    return buf_text(&out);
}

/* Two texts beside each other, line by line. */
static void draw_beside(Text a, Text b, Pen *pen)
{
    int half = (pen->area.w - 3) / 2;
    while ((a.str.n > 0 || b.str.n > 0) && !pen_full(pen)) {
        pen_rune(pen, ROLE_TEXT, ' ');
        pen_text(pen, text_take(&a, '\n'), -1, half - 1);
        pen_puts(pen, ROLE_FRAME, " │ ");
        pen_text(pen, text_take(&b, '\n'), -1, half);
        pen_line(pen);
    }
}

static void draw_lines(Text text, Pen *pen)
{
    while (text.str.n > 0 && !pen_full(pen)) {
        pen_rune(pen, ROLE_TEXT, ' ');
        pen_text(pen, text_take(&text, '\n'), -1, pen->area.w - 1);
        pen_line(pen);
    }
}

static void draw_why(const Ui *ui, const Compare *compare, const DiffLine *line, Pen *pen)
{
    enum { BESIDE_LEAST = 100 };
    Text text[2];
    for (int s = 0; s < 2; s++)
        text[s] = why_text(ui, compare->diff->side[s], line, line->id[s]);
    pen_puts(pen, ROLE_HEAD, line->mark == '=' ? " WHY so: " : " WHY it differs: ");
    pen_fit_name(pen, ROLE_TEXT, diff_line_label(ui, compare, line), pen->area.w - pen->x);
    pen_line(pen);
    if (pen->area.w >= BESIDE_LEAST) {
        draw_beside(text[0], text[1], pen);
        return;
    }
    for (int s = 0; s < 2; s++) {
        Buf all = buf_marked(ui->frame);
        buf_printf(&all, "%c ", 'A' + s);
        buf_add_text(&all, text[s]);
        draw_lines(buf_text(&all), pen);
    }
}

/* What comes of the fork, from the sums of both plans. */
static void put_effects(const Ui *ui, const Compare *compare, Buf *out)
{
    const PlanDiff *diff = compare->diff;
    const Totals *a = &diff->side[0]->plan->priced->totals,
                 *b = &diff->side[1]->plan->priced->totals;
    buf_puts(out, "EFFECTS in B: ");
    size_t began = out->n;
    for (StepKind kind = 0; kind < STEP_KIND_COUNT; kind++) {
        double more = diff->n_steps[1][kind] - diff->n_steps[0][kind];
        if (more != 0)
            buf_printf(out, "%s%.10g %s %s", out->n > began ? ", " : "", more > 0 ? more : -more,
                       step_kind_mark(kind), more > 0 ? "more" : "less");
    }
    buf_puts(out, out->n > began ? "; " : "");
    double us[2] = {b->compute_us - a->compute_us, b->comm_us - a->comm_us};
    for (int i = 0; i < 2; i++)
        buf_printf(out, "%s %s%.*s%s", i ? "collectives" : "compute",
                   us[i] > 0   ? "+"
                   : us[i] < 0 ? "−"
                               : "",
                   STR_ARG(label_us(ui, us[i] < 0 ? -us[i] : us[i])), i ? "\n" : ", ");
}

static void draw(Ui *ui, Pen *pen)
{
    const Compare *compare = compare_now(ui);
    if (!compare) {
        pen_puts(pen, ROLE_DIM,
                 ui->compare ? " comparing .."
                             : " this compares two plans: press d to choose the second");
        return;
    }
    const DiffLine *line = diff_line_at(ui, compare);
    Buf head = buf_marked(ui->frame);
    put_fork(compare, &head);
    if (!compare->diff->same_result && pen->area.h > 5)
        put_effects(ui, compare, &head);
    draw_lines(buf_text(&head), pen);
    if (line && !pen_full(pen))
        draw_why(ui, compare, line, pen);
}

static bool act(Ui *ui, ActId act)
{
    return diff_act(ui, act);
}

const View view_fork = {
    .name = "First fork",
    .draw = draw,
    .act = act,
    .note = diff_note,
    .list_at = -1,
    .hints = diff_hints,
};
