#include "tui/views/page.h"

#include "core/plan/explain/reason.h"
#include "core/plan/explain/why_not.h"
#include "tui/views/label.h"

void why_index_text(const Ui *ui, int32_t op, int index, Buf *out)
{
    const OpCut *cuts = plan_cut(ui_plan(ui), op);
    ReasonChain *chains;

    if (job_changes_plan(ui) || !cuts || cut_is_whole(&cuts->index[index]))
        return;
    int n = why_index_dim(ui->frame, ui_plan(ui), op, index, &chains);
    for (int i = 0; i < n; i++)
        reason_format_chain(ui_plan(ui), &chains[i], "", out);
}

static void index_page(const Ui *ui, const Place *place, Buf *out)
{
    const OpSpace *space = inferred_space(ui->session->inferred, place->op);
    Str label = label_op(ui->session, ui->frame, place->op);
    size_t before;

    buf_printf(out, "index dim %s of %.*s\n", space->index[place->why_dim].name, STR_ARG(label));
    before = out->n;
    why_index_text(ui, place->op, place->why_dim, out);
    if (out->n == before)
        buf_puts(out, "  whole: no axis cuts it\n");
}

void why_text(Ui *ui, const Place *place, Buf *out)
{
    const OpSpace *space = place->op < 0 ? NULL : inferred_space(ui->session->inferred, place->op);

    if (job_changes_plan(ui))
        buf_puts(out, job_waiting);
    else if (place->why == WHY_INDEX && space && place->why_dim < space->n_index)
        index_page(ui, place, out);
    else if (place->why == WHY_NOT && place->why_axis >= ui->session->mesh->n_axes)
        buf_puts(out, "the mesh has no such axis any more\n");
    else if (place->why == WHY_NOT && place->tensor >= 0)
        why_not_format(ui_plan(ui), place->tensor, -1, place->why_axis, out);
    else if (place->tensor >= 0)
        why_format(ui_plan(ui), place->tensor, place->why_dim, out);
    else
        buf_puts(out, "select an op or a tensor first\n");
}

static void draw_why(Ui *ui, Pen *pen)
{
    Buf text = buf_new(ui->frame);

    why_text(ui, &ui->at, &text);
    page_draw(ui, SHOW_WHY, buf_str(&text), pen);
}

static bool act_why(Ui *ui, ActId act, Key last)
{
    (void)last;
    return page_act(ui, SHOW_WHY, act);
}

static void note_why(Ui *ui, Buf *out)
{
    Str line = page_line(ui->page_text[SHOW_WHY], ui->line[SHOW_WHY]), file;
    int number;

    if (page_find_place(ui, line, &file, &number))
        buf_printf(out, "%.*s:%d  e opens it", STR_ARG(file), number);
}

static const Hint why_hints[] = {
    {ACT_DOWN, "move"},       {ACT_EDIT, "edit the line"},
    {ACT_WHY_NOT, "why not"}, {ACT_RESHARD, "reshard"},
    {ACT_BACK, "back"},       {ACT_HELP, "help"},
    {ACT_CLOSE, "close"},     {0},
};

const View view_why = {
    .name = "Why",
    .draw = draw_why,
    .act = act_why,
    .note = note_why,
    .go = page_go,
    .list_at = 0,
    .hints = why_hints,
};

static void draw_findings(Ui *ui, Pen *pen)
{
    const Findings *findings = &ui_plan(ui)->findings;
    Buf text = buf_new(ui->frame);

    for (int i = 0; i < findings->n; i++) {
        const Finding *finding = &findings->at[i];
        buf_printf(&text, "%s %s: %s", finding->level == LEVEL_NOTE ? "i" : "!", finding->code,
                   finding->text);
        if (finding->file && *finding->file)
            buf_printf(&text, "  %s:%d", path_base(finding->file), finding->line);
        buf_printf(&text, "\n    %s\n", finding->hint ? finding->hint : "");
    }
    if (findings->n == 0)
        buf_puts(&text, "no findings: nothing to warn of\n");
    page_draw(ui, SHOW_FINDINGS, buf_str(&text), pen);
}

/* A finding begins with a line that is not indented. */
static int64_t finding_at_cursor(const Ui *ui)
{
    int64_t at = -1;

    for (int64_t i = 0; i <= ui->line[SHOW_FINDINGS]; i++) {
        Str line = page_line(ui->page_text[SHOW_FINDINGS], i);
        at += line.n > 0 && line.s[0] != ' ';
    }
    return at;
}

/* Enter goes to the finding's op or tensor. */
static bool act_findings(Ui *ui, ActId act, Key last)
{
    const Findings *findings = &ui_plan(ui)->findings;
    int64_t at = finding_at_cursor(ui);

    (void)last;
    if (page_act(ui, SHOW_FINDINGS, act))
        return true;
    if (act != ACT_OPEN || at < 0 || at >= findings->n)
        return false;
    const Finding *finding = &findings->at[at];
    if (finding->op < 0 && finding->tensor < 0)
        return false;
    ui_remember(ui);
    if (finding->op >= 0)
        ui_go_op(ui, finding->op);
    if (finding->tensor >= 0)
        ui_select_tensor(ui, finding->tensor);
    ui->at.show = finding->op >= 0 ? SHOW_OP : SHOW_TENSOR;
    return true;
}

static const Hint findings_hints[] = {
    {ACT_DOWN, "move"}, {ACT_OPEN, "go to it"}, {ACT_BACK, "back"},
    {ACT_HELP, "help"}, {ACT_CLOSE, "close"},   {0},
};

const View view_findings = {
    .name = "Findings",
    .draw = draw_findings,
    .act = act_findings,
    .go = page_go,
    .list_at = 0,
    .hints = findings_hints,
};
