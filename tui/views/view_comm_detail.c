#include "tui/state/comm_table.h"
#include "tui/views/label.h"
#include "tui/views/page.h"

#include "core/cost/exposed.h"
#include "core/cost/cost.h"
#include "core/reshard/price_choice.h"
#include "core/explain/why_reshard.h"
#include "core/plan/stage.h"
#include "tui/state/jobs/job.h"
#include "tui/state/jobs/reasons_job.h"
#include "tui/state/jobs/whatif.h"
#include "tui/views/step/step_account.h"
#include "core/plan/plan_machine.h"

enum { LABEL = 10, LINES_MAX = 80, WIDE = 88, TALL = 18, NUMBER = 11, LINES_WANTED = 24 };

static const char arrow[] = "→";

/* A line, and how much it is wanted: where there are too many the highest `drop` goes first. */
typedef struct {
    const char *label;
    Text text;
    Style style;
    int drop;
} DetailLine;

typedef struct {
    Ui *ui;
    const Reshard *reshard;
    const CommRow *row;
    int w, h, n;
    DetailLine line[LINES_MAX];
} Detail;

static void add(Detail *detail, int drop, const char *label, Style style, Text text)
{
    if (detail->n < LINES_MAX)
        detail->line[detail->n++] = (DetailLine){label, text, style, drop};
}

static void add_text(Detail *detail, int drop, const char *label, const Buf *text)
{
    add(detail, drop, label, ROLE_TEXT, buf_text(text));
}

static Buf begin(const Detail *detail)
{
    return buf_marked(detail->ui->frame);
}

/* ---- the moved value ---- */

static void put_end(const Detail *detail, int32_t sharding, Buf *out)
{
    const Ui *ui = detail->ui;
    const Plan *plan = ui_plan(ui);
    size_t before;

    label_put_sharding(ui, sharding, out);
    if (detail->w < WIDE)
        return;
    before = out->n;
    buf_puts(out, "   placements ");
    if (!sharding_format(shardings_at(plan->shardings, sharding), plan->mesh, VIEW_PLACEMENTS_LONG,
                         out, NULL))
        buf_cut(out, before);
    buf_printf(out, "   %.*s a device",
               STR_ARG(label_bytes(ui, plan_local_bytes(plan, detail->reshard->tensor, sharding))));
}

static void add_ends(Detail *detail)
{
    Buf from = begin(detail), to = begin(detail);

    put_end(detail, detail->reshard->from, &from);
    put_end(detail, detail->reshard->to, &to);
    if (detail->w >= WIDE && detail->h >= TALL) {
        add_text(detail, 1, "from", &from);
        add_text(detail, 1, "to", &to);
        return;
    }
    buf_printf(&from, "  %s  ", arrow);
    buf_add_text(&from, buf_text(&to));
    add_text(detail, 1, "change", &from);
}

/* ---- steps ---- */

static void add_price(Detail *detail, const Step *step)
{
    const Session *session = detail->ui->session;
    Buf sum = begin(detail), formula = begin(detail);
    const Machine *machine = plan_reshard_machine(session->plan, detail->reshard);
    PriceChoice choice = price_choice(machine, session->mesh, step->kind, step->atoms, step->bytes);

    price_sum(machine, session->mesh, step->kind, step->atoms, step->bytes, &sum);
    if (choice.name[0])
        buf_printf(&formula, "%s: %s", choice.name, choice.formula);
    add_text(detail, 1, "time", &sum);
    add(detail, 5, "formula", ROLE_DIM, buf_text(&formula));
}

static void add_step(Detail *detail, int i)
{
    const Ui *ui = detail->ui;
    const Session *session = ui->session;
    const Step *step = &detail->reshard->path->step[i];
    Buf groups = begin(detail), bytes = begin(detail);

    if (detail->reshard->path->n_steps > 1)
        buf_printf(&groups, "%d. ", i + 1);
    buf_printf(&groups, "%s ", step_kind_name(step->kind));
    if (step->kind == STEP_SLICE) {
        buf_puts(&groups, "of what each rank holds: nothing is sent");
        add_text(detail, 1, "step", &groups);
        return;
    }
    const Machine *machine = plan_reshard_machine(session->plan, detail->reshard);
    const Link *link = machine_link(machine, session->mesh, step->atoms);
    mesh_format_set(session->mesh, step->atoms, ".", &groups);
    buf_putc(&groups, ' ');
    comm_format_step_groups(session->plan, detail->reshard, i, &groups);
    buf_printf(&groups, "  %s %s", link->name,
               link == &machine->inside ? "inside nodes" : "between nodes");
    add_text(detail, 1, "step", &groups);
    buf_printf(&bytes, "%.*s in, %.*s out of each device", STR_ARG(label_bytes(ui, step->bytes)),
               STR_ARG(label_bytes(ui, step->wire_bytes)));
    if (step->padding_bytes > 0)
        buf_printf(&bytes, ", %.*s of it padding", STR_ARG(label_bytes(ui, step->padding_bytes)));
    add_text(detail, 3, "bytes", &bytes);
    add_price(detail, step);
}

/* "optimal: no path is cheaper; at least ..; next best AG tp + AR tp 102 us" */
static void add_margins(Detail *detail, const WhyReshard *why)
{
    const ReshardPath *path = detail->reshard->path;
    const Ui *ui = detail->ui;
    Buf text = begin(detail);

    if (path->us <= 0)
        return;
    buf_printf(&text, "%s; at least %.*s", path->proven ? "no path is cheaper" : "not proven",
               STR_ARG(label_us(ui, path->bound_us)));
    if (why->runner_up) {
        buf_puts(&text, "; next best ");
        comm_format_steps(ui->session, why->runner_up, &text);
        buf_printf(&text, ": %.*s", STR_ARG(label_us(ui, why->runner_up->us)));
    }
    if (detail->w >= WIDE + 20)
        buf_printf(&text, "; peak per rank %.*s", STR_ARG(label_bytes(ui, path->peak_bytes)));
    add_text(detail, 4, "optimal", &text);
}

static void add_overlap(Detail *detail)
{
    const Ui *ui = detail->ui;
    const CommRow *row = detail->row;
    Buf text = begin(detail);

    if (row->us <= 0)
        return;
    buf_printf(&text, "ops wait %.*s of %.*s%s", STR_ARG(label_us(ui, row->exposed_us)),
               STR_ARG(label_us(ui, row->us)),
               exposed_by_streams(ui_plan(ui)) ? ": buckets run beside ops, lanes wait for sends"
                                               : " at best: two queues in program order");
    add_text(detail, 5, "overlap", &text);
}

/* ---- why ---- */

/* "attn.c_proj/Gemm": an op by the end of its path; the title has the rest. */
static Str short_op(const Detail *detail, int32_t op)
{
    Str label = label_op(detail->ui->session, detail->ui->frame, op);
    int dots = 0;

    for (size_t i = label.n; i > 0; i--)
        if (label.s[i - 1] == '.' && ++dots == 2)
            return (Str){label.s + i, label.n - i};
    return label;
}

static void add_sum_cause(Detail *detail, const WhyReshard *why)
{
    const Session *session = detail->ui->session;
    int index = 0;
    int32_t op = why_summed_by(session->plan, detail->reshard->tensor, why->summed, &index);
    Buf text = begin(detail);

    if (op < 0)
        return;
    buf_printf(&text, "%.*s sums over %s, sharded by ", STR_ARG(short_op(detail, op)),
               program_space(session->inferred, op)->index[index].name);
    mesh_format_set(session->mesh, why->summed, ".", &text);
    if (why->op >= 0)
        buf_printf(&text, "; %.*s needs the sum", STR_ARG(short_op(detail, why->op)));
    else if (session->graph->tensors[detail->reshard->tensor].output)
        buf_puts(&text, "; a graph output must be reduced");
    add_text(detail, 1, "cause", &text);
}

/* "made on pp=0, stage 0, pipeline.lua:12; read on pp=1, .." */
static void add_devices(Detail *detail, const WhyReshard *why)
{
    const Plan *plan = detail->ui->session->plan;
    int32_t maker = plan->inferred->graph->tensors[detail->reshard->tensor].maker;
    Buf text = begin(detail);

    if (detail->reshard->from_devices == detail->reshard->to_devices || maker < 0)
        return;
    buf_puts(&text, "made on ");
    stage_format(plan, maker, &text);
    if (why->op >= 0) {
        buf_puts(&text, "; read on ");
        stage_format(plan, why->op, &text);
    } else {
        buf_puts(&text, "; a stage in between passes it on");
    }
    add_text(detail, 1, "cause", &text);
    if (why->joined < 0)
        return;
    text = begin(detail);
    why_reshard_format_joined(plan, why, &text);
    add_text(detail, 1, "cause", &text);
}

static void add_reader_causes(Detail *detail, const WhyReshard *why)
{
    const Session *session = detail->ui->session;
    Str reader = why->op < 0 ? STR("it") : short_op(detail, why->op);

    for (int i = 0; i < why->n_dropped; i++) {
        Buf text = begin(detail);
        buf_printf(&text, "%.*s does not support ", STR_ARG(reader));
        mesh_format_set(session->mesh, why->dropped[i].atoms, ".", &text);
        buf_printf(&text, " from dim %d", why->dropped[i].dim);
        if (why->dropped[i].found) {
            buf_puts(&text, ": ");
            why_not_format_stop(session->plan, &why->dropped[i].stop, &text);
        }
        add_text(detail, i == 0 ? 1 : 4, "cause", &text);
    }
    for (int i = 0; i < why->n_wanted; i++) {
        Buf text = begin(detail);
        buf_printf(&text, "%.*s needs dim %d sharded by ", STR_ARG(reader), why->wanted[i].dim);
        mesh_put_axis(session->mesh, why->wanted[i].chain.axis, &text);
        add_text(detail, i == 0 ? 1 : 4, "cause", &text);
    }
}

static void add_decision(Detail *detail)
{
    Ui *ui = detail->ui;
    const Decision *pin = comm_cause(ui->frame, ui->session, detail->reshard);
    Buf text = begin(detail);

    if (pin)
        label_origin(ui->session->mesh, &pin->origin, &text);
    else
        buf_puts(&text, "no pin causes it: press w for its chain of reasons");
    add_text(detail, 1, "line", &text);
    bool asked = comm_is_asked(ui_plan(ui), detail->reshard);
    add(detail, 4, "implicit", ROLE_TEXT,
        text_from(asked ? "no: a pin on the value asks for it"
                        : "yes: no line asks for it, the planner inserted it"));
}

static void add_readers(Detail *detail)
{
    const Ui *ui = detail->ui;
    const Reshard *reshard = detail->reshard;
    Buf text = begin(detail);

    for (int u = 0; u < reshard->n_uses && (int)text.n < 2 * detail->w; u++) {
        buf_puts(&text, u ? ", " : "");
        buf_add(&text, label_op(ui->session, ui->frame,
                                ui_plan(ui)->moved->reshard_uses[reshard->use + u]));
    }
    if (reshard->n_uses == 0)
        buf_puts(&text, reshard->from_devices == reshard->to_devices
                            ? "no op: a pin on the value asks for it"
                            : "no op there: the stage only passes it on");
    add_text(detail, 3, "read by", &text);
}

static void add_why(Detail *detail)
{
    Ui *ui = detail->ui;

    if (job_changes_plan(ui)) {
        add(detail, 1, "cause", ROLE_DIM, text_from("another plan is being made"));
        return;
    }
    if (!reasons_ready(ui, ui_plan(ui))) {
        add(detail, 1, "cause", ROLE_DIM, text_from(reasons_waiting));
        return;
    }
    WhyReshard why = why_reshard(ui->frame, ui_plan(ui), detail->reshard);
    if (!job_runs(ui))
        why.runner_up = why_reshard_other(ui_plan(ui), detail->reshard);
    add_devices(detail, &why);
    if (why.summed)
        add_sum_cause(detail, &why);
    add_reader_causes(detail, &why);
    add_decision(detail);
    add_margins(detail, &why);
}

/* ---- options ---- */

static Str aligned(const Detail *detail, Str text)
{
    Buf out = begin(detail);

    for (int i = text_columns(text); i < NUMBER; i++)
        buf_putc(&out, ' ');
    buf_add(&out, text);
    return buf_str(&out);
}

static void put_numbers(const Detail *detail, const Totals *now, const Totals *then, Buf *out)
{
    const Ui *ui = detail->ui;

    buf_add(out, aligned(detail, whatif_us(ui, now->step_us, then->step_us)));
    buf_add(out, aligned(detail, whatif_us(ui, now->comm_us, then->comm_us)));
    buf_add(out, aligned(detail, whatif_bytes(ui, now->peak_bytes, then->peak_bytes)));
    if (detail->w >= WIDE)
        buf_add(out, aligned(detail, whatif_bytes(ui, now->comm_bytes, then->comm_bytes)));
}

static int name_columns(const Detail *detail)
{
    int columns = detail->w - LABEL - (detail->w >= WIDE ? 4 : 3) * NUMBER - 9;

    return columns < 8 ? 8 : columns;
}

static void put_name(const Detail *detail, Text name, Buf *out)
{
    int columns = name_columns(detail);

    bool cut = text_columns(name.str) >= columns;
    if (cut)
        name = text_part(name, 0, (size_t)columns - 2); /* names of options are ASCII */
    buf_add_text(out, name);
    buf_puts(out, cut ? "…" : "");
    for (int i = text_columns(name.str) + cut; i < columns; i++)
        buf_putc(out, ' ');
}

static void add_options(Detail *detail)
{
    const PlanOptions *options = whatif_known(detail->ui);
    Buf head = begin(detail);

    if (!options) {
        add(detail, 4, "options", ROLE_DIM, text_from("press x to list and try them"));
        return;
    }
    put_name(detail, text_from("x tries, u undoes"), &head);
    const char *numbers[] = {"STEP", "COMM", "PEAK", "WIRE"};
    for (int i = 0; i < (detail->w >= WIDE ? 4 : 3); i++)
        buf_add(&head, aligned(detail, str_from(numbers[i])));
    add(detail, 2, "OPTIONS", ROLE_HEAD, buf_text(&head));
    for (int i = 0; i < options->list.n; i++) {
        const PlanOption *option = &options->list.at[i];
        Buf text = begin(detail);
        put_name(detail, option->text, &text);
        if (option->trial.done && option->trial.legal && !option->trial.same)
            put_numbers(detail, &options->now, &option->trial.totals, &text);
        buf_printf(&text, "  %s", whatif_check(&option->trial));
        if (option->trial.done && !option->trial.legal)
            buf_printf(&text, ": %s", option->trial.reason);
        add(detail, i < 2 ? 2 : 3, arena_printf(detail->ui->frame, "  %d", i + 1), ROLE_TEXT,
            buf_text(&text));
    }
}

/* ---- drawing ---- */

/* Leaves out what is least wanted, from the end. */
static void fit(Detail *detail)
{
    for (int drop = 9; drop > 0 && detail->n > detail->h; drop--)
        for (int i = detail->n - 1; i >= 0 && detail->n > detail->h; i--)
            if (detail->line[i].drop == drop) {
                memmove(&detail->line[i], &detail->line[i + 1],
                        sizeof detail->line[0] * (size_t)(detail->n - i - 1));
                detail->n--;
            }
}

static void add_title(Detail *detail)
{
    const Ui *ui = detail->ui;
    double times = reshard_repeat(ui_plan(ui), detail->reshard);
    Buf text = begin(detail);

    buf_add(&text, label_tensor(ui->session, ui->frame, detail->reshard->tensor));
    if (detail->row->n > 1)
        buf_printf(&text, "  ×%d, the first", detail->row->n);
    if (times != 1)
        buf_printf(&text, "  ↻%.10g", times);
    add(detail, 0, "SELECTED", ROLE_HEAD, buf_text(&text));
}

/* Below it, where there is room: how the value came to be as it is, and where the step's time goes.
 */
static void draw_below(Ui *ui, Pen *pen)
{
    enum { WHY_LEAST = 5, ACCOUNT_LEAST = 6 };
    int left = pen->area.h - pen->y;

    if (left < WHY_LEAST)
        return;
    Buf text = buf_marked(ui->frame);
    Place place = ui->at;
    place.why = WHY_TENSOR;
    place.why_dim = -2;
    why_text(ui, &place, &text);
    pen_line(pen);
    pen_puts(pen, ROLE_HEAD, " WHY");
    for (Text rest = buf_text(&text); rest.str.n > 0 && !pen_full(pen);) {
        pen_tab(pen, LABEL);
        pen_text(pen, text_take(&rest, '\n'), -1, pen->area.w - pen->x);
        pen_line(pen);
    }
    if (pen->area.h - pen->y < ACCOUNT_LEAST)
        return;
    pen_line(pen);
    step_parts_draw(ui, pen);
}

static void draw(Ui *ui, Pen *pen)
{
    const Comm *comm = comm_arranged(ui);
    Detail *detail = arena_make(ui->frame, Detail);

    if (comm->n_rows < 0)
        pen_printf(pen, ROLE_NOTE, " %s", comm_waiting);
    if (comm->n_all == 0)
        step_account_draw(ui, pen);
    if (comm->n_rows <= 0)
        return;
    bool all_listed = ui->list[SHOW_COMM].n <= ui->list[SHOW_COMM].height;
    ui->list[SHOW_COMM_DETAIL].wants = all_listed ? 0 : LINES_WANTED; /* whichever is selected */
    *detail = (Detail){.ui = ui, .w = pen->area.w, .h = pen->area.h};
    detail->row = &comm->row[ui->at.reshard];
    detail->reshard = &ui_plan(ui)->moved->reshards[detail->row->first];
    add_title(detail);
    add_ends(detail);
    for (int s = 0; s < detail->reshard->path->n_steps; s++)
        add_step(detail, s);
    add_why(detail);
    add_overlap(detail);
    add_readers(detail);
    add_options(detail);
    fit(detail);
    for (int i = 0; i < detail->n && !pen_full(pen); i++) {
        const DetailLine *line = &detail->line[i];
        pen_rune(pen, ROLE_TEXT, ' ');
        draw_field(pen, line->label, LABEL - 1);
        if (line->style == ROLE_TEXT)
            pen_text(pen, line->text, -1, pen->area.w - pen->x);
        else
            pen_fit(pen, line->style, line->text.str, pen->area.w - pen->x);
        pen_line(pen);
    }
    draw_below(ui, pen);
}

static bool act(Ui *ui, ActId act)
{
    return view_comm.act(ui, act);
}

static void note(Ui *ui, Buf *out)
{
    view_comm.note(ui, out);
}

static void go(Ui *ui, int64_t row)
{
    view_comm.go(ui, row);
}

static const Hint hints[] = {
    {ACT_DOWN, "move"}, {ACT_WHAT_IF, "options"},  {ACT_OPEN, "op"},
    {ACT_WHY, "why"},   {ACT_SHOW_MESH, "groups"}, {ACT_UNDO, "undo"},
    {ACT_HELP, "help"}, {ACT_CLOSE, "close"},      {0},
};

const View view_comm_detail = {
    .name = "Selected",
    .draw = draw,
    .act = act,
    .note = note,
    .go = go,
    .list_at = -1,
    .hints = hints,
};
