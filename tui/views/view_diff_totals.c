/* view_diff_totals.c - what two plans cost, and what they were asked, in a few lines; or what the
 * one plan costs while there is no second. */
#include "tui/views/diff_cells.h"
#include "tui/screen/folded.h"
#include "tui/views/step/step_account.h"

#include "core/cost/pipeline.h"
#include "core/plan/plan_machine.h"
#include "tui/state/format.h"

#include <math.h>

/* The least wanted rows are left out first. */
typedef struct {
    const char *name;
    Str a, b, delta;
    double bar[2]; /* both 0: none */
    int wanted;
} TotalRow;

enum { ROWS_MAX = 24, NAME_W = 14 };

typedef struct {
    const Ui *ui;
    const PlanDiff *diff;            /* NULL: one plan, which is both sides */
    const Session *side[2];          /* A and B */
    const TrainingCost *training[2]; /* of training steps; else NULL */
    const double *n_steps[2];        /* by StepKind */
    int n;
    TotalRow row[ROWS_MAX];
} TotalRows;

static const Totals *totals_of(const TotalRows *rows, int side)
{
    return &rows->side[side]->plan->priced->totals;
}

/* The time of a whole step, of all micro-batches. */
static double step_of(const TotalRows *rows, int side)
{
    return plan_step_us(rows->side[side]->plan);
}

static TotalRow *add_row(TotalRows *rows, const char *name, int wanted)
{
    TotalRow *row = &rows->row[rows->n < ROWS_MAX ? rows->n++ : ROWS_MAX - 1];
    *row = (TotalRow){.name = name, .a = STR(""), .b = STR(""), .delta = STR("")};
    row->wanted = wanted;
    return row;
}

/* "+1.2 GiB", "−3.4 ms", "0". */
static Str signed_text(const Ui *ui, double delta, Str text)
{
    const char *sign = delta > 0 ? "+" : "−";
    if (delta == 0)
        return STR("0");
    return str_from(arena_printf(ui->frame, "%s%.*s", sign, STR_ARG(text)));
}

static void add_us(TotalRows *rows, const char *name, int wanted, double a, double b)
{
    TotalRow *row = add_row(rows, name, wanted);
    row->a = label_us(rows->ui, a);
    row->b = label_us(rows->ui, b);
    row->delta = signed_text(rows->ui, b - a, label_us(rows->ui, fabs(b - a)));
    row->bar[0] = a;
    row->bar[1] = b;
}

static void add_bytes(TotalRows *rows, const char *name, int wanted, int64_t a, int64_t b)
{
    TotalRow *row = add_row(rows, name, wanted);
    int64_t delta = b > a ? b - a : a - b;
    row->a = label_bytes(rows->ui, a);
    row->b = label_bytes(rows->ui, b);
    row->delta = signed_text(rows->ui, (double)b - (double)a, label_bytes(rows->ui, delta));
    row->bar[0] = (double)a;
    row->bar[1] = (double)b;
}

/* "54.2%", of shares from 0 to 1. */
static void add_share(TotalRows *rows, const char *name, int wanted, double a, double b)
{
    Arena *frame = rows->ui->frame;
    TotalRow *row = add_row(rows, name, wanted);
    row->a = str_from(isnan(a) ? "-" : arena_printf(frame, "%.1f%%", 100 * a));
    row->b = str_from(isnan(b) ? "-" : arena_printf(frame, "%.1f%%", 100 * b));
    if (!isnan(a) && !isnan(b))
        row->delta =
            signed_text(rows->ui, b - a, str_from(arena_printf(frame, "%.1f", 100 * fabs(b - a))));
}

/* "24 AR, 2 AG": steps as often as they are done. */
static Str steps_text(const Ui *ui, const double *n_steps)
{
    Buf text = buf_new(ui->frame);
    for (StepKind kind = 0; kind < STEP_KIND_COUNT; kind++)
        if (n_steps[kind] > 0)
            buf_printf(&text, "%s%.10g %s", text.n ? ", " : "", n_steps[kind],
                       step_kind_mark(kind));
    return text.n > 0 ? buf_str(&text) : STR("none");
}

static int count_level(const Findings *findings, bool legal)
{
    int n = 0;
    for (int i = 0; i < findings->n; i++)
        n += legal ? findings->at[i].level != LEVEL_ERROR : findings->at[i].level == LEVEL_ERROR;
    return n;
}

static void add_counts(TotalRows *rows)
{
    Arena *frame = rows->ui->frame;
    TotalRow *row = add_row(rows, "reshards", 7);
    row->a = steps_text(rows->ui, rows->n_steps[0]);
    row->b = steps_text(rows->ui, rows->n_steps[1]);
    Str *cell[2];
    row = add_row(rows, "decisions", 3);
    cell[0] = &row->a;
    cell[1] = &row->b;
    for (int s = 0; s < 2; s++)
        *cell[s] = str_from(arena_printf(frame, "%d", rows->side[s]->journal.n_done));
    row = add_row(rows, "findings", 2);
    cell[0] = &row->a;
    cell[1] = &row->b;
    for (int s = 0; s < 2; s++) {
        const Findings *findings = &rows->side[s]->plan->findings;
        int errors = count_level(findings, false);
        *cell[s] = str_from(arena_printf(frame, "%s, %d other", errors ? "ILLEGAL" : "legal",
                                         count_level(findings, true)));
    }
}

/* Where the requests of the two plans differ. Plans of different models are compared by name, those
 * of different meshes by the cuts of axes with one name. */
static void add_requests(TotalRows *rows)
{
    const PlanDiff *diff = rows->diff;
    for (int r = 0; r < diff->n_requests; r++) {
        TotalRow *row = add_row(rows, diff->request[r].what, 8);
        row->a = str_from(diff->request[r].text[0]);
        row->b = str_from(diff->request[r].text[1]);
    }
}

static void add_differing(TotalRows *rows)
{
    static const char *const what[] = {"ops", "tensors", "reshards"};
    const PlanDiff *diff = rows->diff;
    Buf text = buf_new(rows->ui->frame);
    for (int kind = 0; kind < DIFF_FINDINGS; kind++)
        buf_printf(&text, "%s%d of %d %s", text.n ? ", " : "", diff->list[kind].n_entries,
                   diff->list[kind].n_compared, what[kind]);
    add_row(rows, "differ", 5)->a = buf_str(&text);
}

/* Whether steps of the two plans train on as many tokens: else their times say little. */
static bool same_work(const TotalRows *rows)
{
    const TrainingCost *const *training = rows->training;
    return !training[0] || isnan(training[0]->tokens_per_s_device) ||
           isnan(training[1]->tokens_per_s_device) ||
           training[0]->micro_batches == training[1]->micro_batches;
}

/* How much more time B takes: "2.66 s", of a step; or "31.0%", of a token. */
static double more_time(const TotalRows *rows, Str *text)
{
    const TrainingCost *const *training = rows->training;
    double us = step_of(rows, 1) - step_of(rows, 0);
    *text = label_us(rows->ui, fabs(us));
    if (same_work(rows))
        return us;
    double more = training[0]->tokens_per_s_device / training[1]->tokens_per_s_device - 1;
    *text = str_from(arena_printf(rows->ui->frame, "%.1f%%", 100 * fabs(more)));
    return more;
}

/* From the two numbers that decide: the step and the peak. */
static Str verdict(const TotalRows *rows)
{
    const Totals *a = totals_of(rows, 0), *b = totals_of(rows, 1);
    const char *per = same_work(rows) ? "a step" : "a token";
    Str time;
    double us = more_time(rows, &time);
    int64_t bytes = b->peak_bytes - a->peak_bytes;
    Str size = label_bytes(rows->ui, bytes < 0 ? -bytes : bytes);
    const char *text = "B costs the same as A";
    const Session *other = rows->side[1];
    if (!plan_is_legal(other->plan))
        return STR("B is illegal: F lists why");
    if (b->peak_bytes > plan_memory(other->plan) && a->peak_bytes <= plan_memory(other->plan))
        text = arena_printf(rows->ui->frame, "B does not fit: it needs %.*s more than A",
                            STR_ARG(size));
    else if (bytes < 0 && us > 0)
        text = arena_printf(rows->ui->frame, "B saves %.*s a device for %.*s more %s",
                            STR_ARG(size), STR_ARG(time), per);
    else if (bytes > 0 && us < 0)
        text = arena_printf(rows->ui->frame, "B saves %.*s %s for %.*s more a device",
                            STR_ARG(time), per, STR_ARG(size));
    else if (us == 0 && bytes != 0)
        text = arena_printf(rows->ui->frame, "B %s %.*s a device at the same step time",
                            bytes < 0 ? "saves" : "needs", STR_ARG(size));
    else if (bytes == 0 && us != 0)
        text = arena_printf(rows->ui->frame, "B is %s: %.*s %s, with the same memory",
                            us < 0 ? "better" : "worse", STR_ARG(signed_text(rows->ui, us, time)),
                            per);
    else if (bytes != 0)
        text = arena_printf(rows->ui->frame, "B is %s: %.*s %s, %.*s a device",
                            bytes <= 0 && us <= 0 ? "better" : "worse",
                            STR_ARG(signed_text(rows->ui, us, time)), per,
                            STR_ARG(signed_text(rows->ui, (double)bytes, size)));
    return str_from(text);
}

/* The worst device of each plan by what its memory is for. */
static void add_memory(TotalRows *rows, const StepMemory *a, const StepMemory *b)
{
    add_bytes(rows, "  parameters", 4, a->parameter, b->parameter);
    add_bytes(rows, "  gradients", 4, a->gradient, b->gradient);
    add_bytes(rows, "  optimizer", 4, a->optimizer, b->optimizer);
    add_bytes(rows, "  activations", 4, a->activation, b->activation);
}

static void add_rates(TotalRows *rows, const TrainingCost *a, const TrainingCost *b)
{
    Arena *frame = rows->ui->frame;
    TotalRow *row = add_row(rows, "micro-batches", 9);
    row->a = str_from(arena_printf(frame, "%d", a->micro_batches));
    row->b = str_from(arena_printf(frame, "%d", b->micro_batches));
    row = add_row(rows, "tokens/s dev.", 9);
    row->a = str_from(arena_printf(frame, "%.1f", a->tokens_per_s_device));
    row->b = str_from(arena_printf(frame, "%.1f", b->tokens_per_s_device));
    double more = 100 * (b->tokens_per_s_device / a->tokens_per_s_device - 1);
    row->delta = signed_text(rows->ui, more, str_from(arena_printf(frame, "%.1f%%", fabs(more))));
}

static void add_training(TotalRows *rows, const TrainingCost *a, const TrainingCost *b)
{
    if (!same_work(rows))
        add_rates(rows, a, b);
    add_share(rows, "MFU", 8, a->mfu, b->mfu);
    add_share(rows, "bubble", 8, a->bubble, b->bubble);
    add_us(rows, "exposed comm", 8, a->exposed_comm_us, b->exposed_comm_us);
    add_us(rows, "forward", 5, a->forward_us, b->forward_us);
    add_us(rows, "backward", 5, a->backward_us, b->backward_us);
    add_us(rows, "update", 5, a->update_us, b->update_us);
}

static void add_pass(TotalRows *rows, const Totals *a, const Totals *b)
{
    add_us(rows, "compute", 6, a->compute_us, b->compute_us);
    add_us(rows, "collectives", 9, a->comm_us, b->comm_us);
}

static void fill(TotalRows *rows)
{
    const Totals *a = totals_of(rows, 0), *b = totals_of(rows, 1);
    const TrainingCost *const *training = rows->training;
    if (rows->diff)
        add_requests(rows);
    add_bytes(rows, "peak a device", 10, a->peak_bytes, b->peak_bytes);
    if (training[0])
        add_memory(rows, &training[0]->most, &training[1]->most);
    add_us(rows, "step", 10, step_of(rows, 0), step_of(rows, 1));
    if (training[0])
        add_training(rows, training[0], training[1]);
    else
        add_pass(rows, a, b);
    add_bytes(rows, "on the wire", 4, a->comm_bytes, b->comm_bytes);
    add_counts(rows);
    if (!rows->diff)
        return;
    add_differing(rows);
    add_row(rows, "verdict", 9)->a = verdict(rows);
}

/* Where both plans have the same, the row says less; step and peak are always shown. */
static int how_wanted(const TotalRow *row)
{
    enum { DECIDES = 10, EQUAL = 6 };
    bool equal = row->wanted < DECIDES && row->b.n > 0 && str_eq(row->a, row->b);
    return row->wanted - (equal ? EQUAL : 0);
}

/* Leaves out the least wanted until there are h rows. */
static void fit(TotalRows *rows, int h)
{
    while (rows->n > h && rows->n > 0) {
        int least = 0;
        for (int i = 1; i < rows->n; i++)
            if (how_wanted(&rows->row[i]) <= how_wanted(&rows->row[least]))
                least = i;
        memmove(rows->row + least, rows->row + least + 1,
                sizeof rows->row[0] * (size_t)(rows->n - 1 - least));
        rows->n--;
    }
}

static void draw_row(const TotalRow *row, int cell_w, int delta_w, int bar_w, Pen *pen)
{
    bool alone = row->b.n == 0;
    pen_rune(pen, ROLE_TEXT, ' ');
    pen_fit(pen, ROLE_HEAD, str_from(row->name), NAME_W);
    if (alone) {
        pen_fit(pen, ROLE_TEXT, row->a, pen->area.w - pen->x);
        pen_line(pen);
        return;
    }
    pen_fit(pen, ROLE_TEXT, row->a, cell_w);
    pen_rune(pen, ROLE_TEXT, ' ');
    pen_fit(pen, ROLE_TEXT, row->b, cell_w);
    pen_rune(pen, ROLE_TEXT, ' ');
    pen_right(pen, ROLE_TEXT, row->delta, delta_w);
    double whole = row->bar[0] > row->bar[1] ? row->bar[0] : row->bar[1];
    for (int s = 0; s < 2 && bar_w > 3 && whole > 0; s++) {
        pen_printf(pen, ROLE_DIM, "  %c ", 'A' + s);
        pen_bar(pen, ROLE_RAIL, row->bar[s], whole, bar_w);
    }
    pen_line(pen);
}

static TotalRows rows_of_two(const Ui *ui, const Compare *compare)
{
    TotalRows rows = {.ui = ui, .diff = compare->diff};
    for (int s = 0; s < 2; s++) {
        rows.side[s] = compare->diff->side[s];
        rows.training[s] = compare->training[s];
        rows.n_steps[s] = compare->diff->n_steps[s];
    }
    return rows;
}

static void draw_two(const Ui *ui, const Compare *compare, Pen *pen)
{
    TotalRows rows = rows_of_two(ui, compare);
    int w = pen->area.w, delta_w = w < 50 ? 0 : 12;
    int cell_w = w < 68 ? (w - NAME_W - 3 - delta_w) / 2 : w < 100 ? 18 : 26;
    int bar_w = (w - NAME_W - 3 - 2 * cell_w - delta_w - 8) / 2;
    fill(&rows);
    fit(&rows, pen->area.h - 1);
    pen_fit(pen, ROLE_HEAD, STR(""), NAME_W + 1);
    for (int s = 0; s < 2; s++) {
        const char *name = arena_printf(ui->frame, "%c %s", 'A' + s, compare_name(ui, s));
        pen_fit(pen, ROLE_HEAD, str_from(name), cell_w);
        pen_rune(pen, ROLE_HEAD, ' ');
    }
    pen_right(pen, ROLE_HEAD, STR("B - A"), delta_w);
    pen_line(pen);
    for (int i = 0; i < rows.n; i++)
        draw_row(&rows.row[i], cell_w, delta_w, bar_w < 24 ? bar_w : 24, pen);
}

/* ---- one plan ---- */

/* What is kept of the plan on the screen. */
typedef struct {
    Arena *arena; /* NULL: nothing yet */
    TrainingCost training;
} Single;

static const TrainingCost *training_of(Ui *ui)
{
    Single *single = ui->own[SHOW_DIFF_TOTALS];
    if (!ui_graph(ui)->phase)
        return NULL;
    if (!single->arena) {
        single->arena = arena_new();
        single->training = training_cost(single->arena, ui_plan(ui), ui->session->groups);
    }
    return &single->training;
}

static void forget(Ui *ui)
{
    Single *single = ui->own[SHOW_DIFF_TOTALS];
    arena_free(single->arena);
    *single = (Single){0};
}

static void draw_one(Ui *ui, Pen *pen)
{
    double n_steps[STEP_KIND_COUNT] = {0};
    const TrainingCost *training = training_of(ui);
    TotalRows rows = {.ui = ui,
                      .side = {ui->session, ui->session},
                      .training = {training, training},
                      .n_steps = {n_steps, n_steps}};
    plan_count_steps(ui_plan(ui), n_steps);
    fill(&rows);
    fit(&rows, pen->area.h - 1);
    pen_printf(pen, ROLE_HEAD, " A %s", compare_name(ui, 0));
    pen_put_folded(pen, ROLE_DIM, STR(", the plan on the screen; d opens plan B beside it"), 3);
    pen_line(pen);
    for (int i = 0; i < rows.n; i++) {
        rows.row[i].b = STR("");
        draw_row(&rows.row[i], 0, 0, 0, pen);
    }
    if (!pen_full(pen)) {
        pen_line(pen);
        step_account_draw(ui, pen);
    }
}

static void draw(Ui *ui, Pen *pen)
{
    const Compare *compare = compare_now(ui);
    if (compare)
        draw_two(ui, compare, pen);
    else if (ui->compare)
        pen_puts(pen, ROLE_DIM, " comparing ..");
    else
        draw_one(ui, pen);
}

static bool act(Ui *ui, ActId act)
{
    return diff_act(ui, act);
}

static void table(Ui *ui, Sheet *out)
{
    const Compare *compare = compare_now(ui);
    static const char *const texts[] = {"total", "a", "b", "delta"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        sheet_column(out, texts[i], false);
    if (!compare)
        return;
    TotalRows rows = rows_of_two(ui, compare);
    fill(&rows);
    for (int i = 0; i < rows.n; i++) {
        sheet_put(out, str_from(rows.row[i].name));
        sheet_put(out, rows.row[i].a);
        sheet_put(out, rows.row[i].b);
        sheet_put(out, rows.row[i].delta);
    }
}

const View view_diff_totals = {
    .name = "Totals",
    .draw = draw,
    .act = act,
    .note = diff_note,
    .list_at = -1,
    .hints = diff_hints,
    .table = table,
    .own_size = sizeof(Single),
    .forget = forget,
};
