#include "tui/views/page.h"

#include "core/explain/reason.h"
#include "core/explain/why_not.h"
#include "core/plan/origin.h"
#include "core/summary/label.h"
#include "tui/state/jobs/plan_search.h"
#include "tui/state/jobs/reasons_job.h"
#include "tui/views/policy_try.h"
#include "tui/views/run_state.h"

void why_index_text(const Ui *ui, int32_t op, int index, Buf *out)
{
    const OpCut *cuts = plan_cut(ui_plan(ui), op);
    ReasonChain *chains;

    if (!cuts || cut_is_whole(&cuts->index[index]))
        return;
    if (!reasons_ready(ui, ui_plan(ui))) {
        buf_printf(out, "%s\n", reasons_waiting);
        return;
    }
    int n = why_index_dim(ui->frame, ui_plan(ui), op, index, &chains);
    for (int i = 0; i < n; i++)
        reason_format_chain(ui_plan(ui), &chains[i], "", out);
}

static void index_page(const Ui *ui, const Place *place, const OpSpace *space, Buf *out)
{
    Str label = label_op(ui->session, ui->frame, place->op);
    size_t before;

    buf_printf(out, "index dim %s of %.*s\n", space->index[place->why_dim].name, STR_ARG(label));
    before = out->n;
    why_index_text(ui, place->op, place->why_dim, out);
    if (out->n == before)
        buf_puts(out, "  replicated: no axis shards it\n");
}

void why_text(Ui *ui, const Place *place, Buf *out)
{
    const OpSpace *space = place->op < 0 ? NULL : inferred_space(ui->session->inferred, place->op);

    if (job_changes_plan(ui))
        buf_puts(out, job_waiting);
    else if (!reasons_ready(ui, ui_plan(ui)))
        buf_printf(out, "%s\n", reasons_waiting);
    else if (place->why == WHY_INDEX && space && place->why_dim < space->n_index)
        index_page(ui, place, space, out);
    else if (place->why == WHY_NOT && place->why_axis >= ui->session->mesh->n_axes)
        buf_puts(out, "the mesh no longer has this axis\n");
    else if (place->why == WHY_NOT && place->tensor >= 0)
        why_not_format(ui_plan(ui), place->tensor, -1, place->why_axis, out);
    else if (place->tensor >= 0)
        why_format(ui_plan(ui), place->tensor, place->why_dim, out);
    else
        buf_puts(out, "select an op or a tensor first\n");
}

/* ---- what searched decisions are worth ---- */

static void put_price(const Ui *ui, const Decision *pin, Buf *out)
{
    Buf price = buf_new(out->arena);

    if (!pin || !plan_search_put_price(ui, pin, &price))
        return;
    buf_puts(out, "searched: ");
    origin_put_lua(ui->session->mesh, str_from(pin->origin.text), out);
    buf_printf(out, "  %s\n", price.s);
}

/* A line for each decision of a search that these chains begin at, with the price of the next best
 * choice. */
static void put_prices(const Ui *ui, const Place *place, Buf *out)
{
    const Plan *plan = ui_plan(ui);
    bool index = place->why == WHY_INDEX;
    int last = index ? place->why_dim : -1;
    const Shape *shape =
        index || place->tensor < 0 ? NULL : inferred_shape(ui->session->inferred, place->tensor);
    const Decision *said = NULL;

    if (job_changes_plan(ui) || !reasons_ready(ui, plan) || place->why == WHY_NOT)
        return;
    if (shape)
        last = (int)shape->n_dims - 1;
    for (int d = index ? place->why_dim : 0; d <= last; d++)
        for (int a = 0; a < ui->session->mesh->n_axes; a++) {
            const Decision *pin =
                why_pin(plan, a, index ? -1 : place->tensor, index ? place->op : -1, d);
            if (pin != said)
                put_price(ui, pin, out);
            said = pin;
        }
}

/* ---- what is wrong with the value ---- */

/* The worst finding about the tensor; NULL: nothing to warn of. */
static const Finding *worst_finding(const Ui *ui, int32_t tensor)
{
    const Findings *findings = &ui_plan(ui)->findings;
    const Finding *worst = NULL;

    for (int i = 0; i < findings->n; i++)
        if (findings->at[i].tensor == tensor && findings->at[i].level > LEVEL_NOTE &&
            (!worst || findings->at[i].level > worst->level))
            worst = &findings->at[i];
    return worst;
}

int why_fix_line(const Ui *ui)
{
    const Finding *finding = ui->at.tensor < 0 ? NULL : worst_finding(ui, ui->at.tensor);
    const char *policy = ui_policy_file(ui->session);
    bool of_policy = finding && finding->file && policy &&
                     strcmp(path_base(finding->file), path_base(policy)) == 0;

    return of_policy && finding->level == LEVEL_ERROR ? finding->line : 0;
}

/* What the last run found in it, what the plan says against it, and what mends that. */
static void put_wrong(const Ui *ui, Buf *out)
{
    const RunElement *wrong = run_wrong(ui);
    const Finding *finding = worst_finding(ui, ui->at.tensor);
    int line = why_fix_line(ui);

    if (wrong && wrong->tensor == ui->at.tensor) {
        buf_puts(out, "the last run found it wrong: ");
        run_put_element(ui->session, wrong, out);
        buf_puts(out, "\n");
    }
    if (!finding)
        return;
    buf_printf(out, "! %s: %s\n", finding->code, finding->text);
    if (finding->hint && *finding->hint)
        buf_printf(out, "    FIX  %s\n", finding->hint);
    if (line > 0)
        buf_printf(out, "    press x to plan without line %d and see what that costs\n", line);
}

static void draw_why(Ui *ui, Pen *pen)
{
    Buf text = buf_marked(ui->frame);

    if (ui->at.why == WHY_TENSOR && ui->at.tensor >= 0)
        put_wrong(ui, &text);
    why_text(ui, &ui->at, &text);
    put_prices(ui, &ui->at, &text);
    page_draw(ui, SHOW_WHY, buf_text(&text), pen);
}

/* ---- its steps ---- */

static bool is_step(const Ui *ui, int64_t line)
{
    return text_find(page_line(ui->list[SHOW_WHY].text, line), SPAN_STEP) != NULL;
}

/* Which step the cursor is on, from 0 over the whole page; -1: before the first. */
static int64_t step_at(const Ui *ui)
{
    int64_t at = -1;

    for (int64_t i = 0; i <= ui->list[SHOW_WHY].at; i++)
        at += is_step(ui, i);
    return at;
}

/* Where a step goes through: its op; of a pin of a tensor, who makes or first reads that. */
static int32_t op_of(const Ui *ui, const ReasonStep *step)
{
    const Graph *graph = ui_graph(ui);

    if (step->op >= 0 || step->tensor < 0)
        return step->op;
    const GraphTensor *tensor = &graph->tensors[step->tensor];
    return tensor->maker >= 0                       ? tensor->maker
           : tensor_n_uses(graph, step->tensor) > 0 ? graph->uses[tensor->use]
                                                    : -1;
}

/* Step `*at` of these chains, in the order of the page; what they have is taken off *at. */
static const ReasonStep *step_of(const ReasonChain *chains, int n, int64_t *at)
{
    for (int i = 0; i < n; *at -= chains[i++].n_steps)
        if (*at < chains[i].n_steps)
            return &chains[i].step[chains[i].n_steps - 1 - *at];
    return NULL;
}

static const ReasonStep *selected_step(const Ui *ui)
{
    const Plan *plan = ui_plan(ui);
    const Place *place = &ui->at;
    int64_t at = step_at(ui);
    const ReasonStep *step = NULL;
    ReasonChain *chains;

    if (at < 0 || place->why == WHY_NOT || !reasons_ready(ui, plan))
        return NULL;
    if (place->why == WHY_INDEX) {
        int n = why_index_dim(ui->frame, plan, place->op, place->why_dim, &chains);
        return step_of(chains, n, &at);
    }
    int n_dims = place->tensor < 0 || plan->moved->sharding[place->tensor] < 0
                     ? 0
                     : (int)plan_sharding(plan, place->tensor)->n_dims;
    for (int i = 0; i <= n_dims && !step; i++) {
        int dim = i - 1; /* ORDER WHY: partial axes come first */
        if (place->why_dim != -2 && place->why_dim != dim)
            continue;
        int n = why_tensor_dim(ui->frame, plan, place->tensor, dim, &chains);
        step = step_of(chains, n, &at);
    }
    return step;
}

/* w again: the next step, after the last the first. */
static void next_step(Ui *ui)
{
    int64_t n = ui->list[SHOW_WHY].n, at = ui->list[SHOW_WHY].at;

    for (int64_t i = 1; i <= n; i++) {
        if (!is_step(ui, (at + i) % n))
            continue;
        ui->list[SHOW_WHY].at = (at + i) % n;
        return;
    }
}

static bool act_why(Ui *ui, ActId act)
{
    if (page_act(ui, SHOW_WHY, act))
        return true;
    if (act == ACT_WHY) {
        next_step(ui);
        return true;
    }
    if (act == ACT_WHAT_IF && ui->at.why == WHY_TENSOR && why_fix_line(ui) > 0) {
        policy_try_without(ui, why_fix_line(ui));
        return true;
    }
    const ReasonStep *step = act == ACT_OPEN ? selected_step(ui) : NULL;
    int32_t op = step ? op_of(ui, step) : -1;
    if (op < 0)
        return false;
    places_remember(ui);
    ui_go_op(ui, op);
    if (step->tensor >= 0)
        ui_select_tensor(ui, step->tensor);
    ui->at.show = SHOW_OP;
    return true;
}

static void note_why(Ui *ui, Buf *out)
{
    Str file;
    int number;

    if (page_find_place(ui, page_line(ui->list[SHOW_WHY].text, ui->list[SHOW_WHY].at), &file,
                        &number))
        buf_printf(out, "%.*s:%d  e opens it", STR_ARG(file), number);
}

static const Hint why_hints[] = {
    {ACT_WHAT_IF, "try the fix"},
    {ACT_WHY, "next step"},
    {ACT_OPEN, "its op"},
    {ACT_EDIT, "edit"},
    {ACT_DOWN, "move"},
    {ACT_WHY_NOT, "why not"},
    {ACT_RESHARD, "reshard"},
    {ACT_BACK, "back"},
    {ACT_HELP, "help"},
    {ACT_CLOSE, "close"},
    {0},
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

enum { PLACE_W = 20 }; /* of the file and line behind a text */

/* Blanks that align what a policy prints are two where lines are to be folded. */
static void put_text(const char *text, bool folded, Buf *out)
{
    for (const char *c = text; *c; c++)
        if (!folded || *c != ' ' || c - text < 2 || c[-1] != ' ' || c[-2] != ' ')
            buf_putc(out, *c);
}

static bool is_wide(const Finding *finding, int columns)
{
    int before = (int)strlen(finding->code) + 4;
    return text_columns(str_from(finding->text)) > columns - before - PLACE_W;
}

/* Whether the finding, or another of its code beside it, is wider than that. */
static bool any_is_wide(const Findings *findings, int at, int columns)
{
    const char *code = findings->at[at].code;
    int first = at;

    while (first > 0 && strcmp(findings->at[first - 1].code, code) == 0)
        first--;
    for (int i = first; i < findings->n && strcmp(findings->at[i].code, code) == 0; i++)
        if (is_wide(&findings->at[i], columns))
            return true;
    return false;
}

static void put_finding(const Finding *finding, int id, bool folded, Buf *out)
{
    size_t from = out->n;

    buf_puts(out, finding->level == LEVEL_NOTE ? "i" : "!");
    buf_mark(out, from, SPAN_ITEM, id);
    buf_printf(out, " %s: ", finding->code);
    put_text(finding->text, folded, out);
    if (finding->file && *finding->file) {
        buf_puts(out, "  ");
        origin_put_place(&(Origin){.file = finding->file, .line = finding->line}, out);
    }
    buf_putc(out, '\n');
    if (finding->hint && *finding->hint)
        buf_printf(out, "    %s\n", finding->hint);
}

/* The gravest first, so that what makes a plan illegal does not stand below a page of notes. */
static void draw_findings(Ui *ui, Pen *pen)
{
    const Findings *findings = &ui_plan(ui)->findings;
    Buf text = buf_marked(ui->frame);

    for (int level = LEVEL_ERROR; level >= LEVEL_NOTE; level--)
        for (int i = 0; i < findings->n; i++)
            if (findings->at[i].level == (Level)level)
                put_finding(&findings->at[i], i, any_is_wide(findings, i, pen->area.w), &text);
    if (findings->n == 0)
        buf_puts(&text, "no findings: no problems were found\n");
    page_draw(ui, SHOW_FINDINGS, buf_text(&text), pen);
}

static int finding_at_cursor(const Ui *ui)
{
    const TextSpan *item = NULL;

    for (int64_t i = ui->list[SHOW_FINDINGS].at; i >= 0 && !item; i--)
        item = text_find(page_line(ui->list[SHOW_FINDINGS].text, i), SPAN_ITEM);
    return item ? item->value : -1;
}

/* Enter goes to the finding's op or tensor. */
static bool act_findings(Ui *ui, ActId act)
{
    const Findings *findings = &ui_plan(ui)->findings;
    int at = finding_at_cursor(ui);

    if (page_act(ui, SHOW_FINDINGS, act))
        return true;
    if (act != ACT_OPEN || at < 0 || at >= findings->n)
        return false;
    const Finding *finding = &findings->at[at];
    if (finding->op < 0 && finding->tensor < 0)
        return false;
    places_remember(ui);
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
