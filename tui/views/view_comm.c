#include "tui/views/label.h"

#include "core/plan/cost.h"
#include "tui/app/whatif.h"
#include "tui/views/page.h"

enum { TENSOR_LEAST = 12, AT_BEST_LEAST = 92 };

static const char arrow[] = "→", sum_mark[] = "Σ";

static const Reshard *reshard_at(const Ui *ui, int row)
{
    return &ui_plan(ui)->reshards[ui->comm->row[row].first];
}

static int64_t payload(const Reshard *reshard)
{
    int64_t most = 0;

    for (int s = 0; s < reshard->path->n_steps; s++)
        if (reshard->path->step[s].bytes > most)
            most = reshard->path->step[s].bytes;
    return most;
}

static Str cause_text(const Ui *ui, const Reshard *reshard)
{
    const Decision *pin = comm_cause(ui->frame, ui->session, reshard);

    return pin ? label_pin(ui, pin) : STR("-");
}

static Str change_text(const Ui *ui, const Reshard *reshard)
{
    Buf text = buf_new(ui->frame);

    comm_format_change(ui->session, reshard, ui->ascii ? "+" : sum_mark, arrow, &text);
    return buf_str(&text);
}

/* Columns of a row, from its width: the tensor takes what is left. */
typedef struct {
    int steps, tensor, change, bytes, each, total, cause;
} Widths;

static Widths widths_for(int w)
{
    Widths widths = {.steps = 8, .change = 7, .bytes = 9, .each = 9, .total = 9, .cause = 16};

    if (w >= 92)
        widths.steps = 12;
    if (w < 86)
        widths.each = 0;
    if (w < 62)
        widths.bytes = 0;
    if (w < 52)
        widths.cause = 0;
    widths.tensor = w - 7 - widths.steps - widths.change - widths.bytes - widths.each -
                    widths.total - widths.cause - 4;
    if (widths.tensor < TENSOR_LEAST)
        widths.tensor = TENSOR_LEAST;
    return widths;
}

static void draw_headings(const Widths *widths, Pen *pen)
{
    pen_puts(pen, ROLE_HEAD, "     × ");
    pen_fit(pen, ROLE_HEAD, STR("KIND"), widths->steps + 1);
    pen_fit(pen, ROLE_HEAD, STR("TENSOR"), widths->tensor + 1);
    pen_fit(pen, ROLE_HEAD, STR("CHANGE"), widths->change);
    pen_right(pen, ROLE_HEAD, STR("BYTES"), widths->bytes);
    pen_right(pen, ROLE_HEAD, STR("EACH"), widths->each);
    pen_right(pen, ROLE_HEAD, STR("TOTAL"), widths->total);
    pen_puts(pen, ROLE_HEAD, "  CAUSE");
    pen_line(pen);
}

static void draw_row(const Ui *ui, int row, const Widths *widths, Pen *pen)
{
    const CommRow *line = &ui->comm->row[row];
    const Reshard *reshard = reshard_at(ui, row);
    Buf steps = buf_new(ui->frame);
    bool dear = line->us > ui_plan(ui)->totals.step_us * ui->settings.dear / 100;

    comm_format_steps(ui->session, reshard->path, &steps);
    pen_right(pen, ROLE_TEXT, str_from(arena_printf(ui->frame, "%.10g", line->times)), 6);
    pen_rune(pen, ROLE_TEXT, ' ');
    draw_sharding(ui, pen, buf_str(&steps), -1, widths->steps);
    pen_rune(pen, ROLE_TEXT, ' ');
    pen_fit_tail(pen, ROLE_TEXT, str_from(line->label), widths->tensor);
    pen_rune(pen, ROLE_TEXT, ' ');
    pen_fit(pen, ROLE_TEXT, change_text(ui, reshard), widths->change);
    pen_right(pen, ROLE_TEXT, label_bytes(ui, payload(reshard)), widths->bytes);
    pen_right(pen, ROLE_TEXT, label_us(ui, reshard->path->us), widths->each);
    pen_right(pen, dear ? ROLE_DEAR : ROLE_TEXT, label_us(ui, line->us), widths->total);
    pen_puts(pen, ROLE_TEXT, "  ");
    pen_fit(pen, ROLE_TEXT, cause_text(ui, reshard), widths->cause);
}

/* The time of one collective: the formula of its algorithm, and the same with numbers. */
static void draw_step(const Ui *ui, const Step *step, Pen *pen)
{
    const Session *session = ui->session;
    Buf text = buf_new(ui->frame);

    draw_field(pen, "  groups", 10);
    if (step->kind == STEP_SLICE) {
        pen_puts(pen, ROLE_TEXT, "none: each rank keeps a part of what it holds");
        pen_line(pen);
        return;
    }
    const Link *link = machine_link(session->machine, session->mesh, step->atoms);
    comm_format_groups(session->mesh, step->atoms, &text);
    buf_printf(&text, "  %s, %s", link->name,
               link == &session->machine->inside ? "inside nodes" : "between nodes");
    draw_sharding(ui, pen, buf_str(&text), -1, -1);
    pen_line(pen);
    text = buf_new(ui->frame);
    price_explain(session->machine, session->mesh, step->kind, step->atoms, step->bytes, &text);
    int64_t end = str_find(buf_str(&text), STR("\n"));
    size_t n = end < 0 ? text.n : (size_t)end;
    draw_field(pen, "  time", 10);
    pen_fit(pen, ROLE_TEXT, str_from(end < 0 ? "" : text.s + n + 1), pen->area.w - pen->x);
    pen_line(pen);
    draw_field(pen, "  formula", 10);
    pen_fit(pen, ROLE_DIM, (Str){text.s, n}, pen->area.w - pen->x);
    pen_line(pen);
}

static void draw_readers(const Ui *ui, const Reshard *reshard, Pen *pen)
{
    draw_field(pen, "  read by", 10);
    Buf readers = buf_new(ui->frame);
    for (int u = 0; u < reshard->n_uses && (int)readers.n < 2 * pen->area.w; u++) {
        int32_t op = ui_plan(ui)->reshard_uses[reshard->use + u];
        buf_puts(&readers, u ? ", " : "");
        buf_add(&readers, label_op(ui->session, ui->frame, op));
    }
    if (reshard->n_uses == 0)
        buf_puts(&readers, "nobody yet: its pin asks for it");
    pen_fit(pen, ROLE_TEXT, buf_str(&readers), pen->area.w - pen->x);
    pen_line(pen);
}

static void draw_detail(Ui *ui, Pen *pen)
{
    comm_table(ui->comm);
    if (ui->comm->n_rows == 0)
        return;
    if (ui->at.reshard >= ui->comm->n_rows)
        ui->at.reshard = ui->comm->n_rows - 1;
    const Reshard *reshard = reshard_at(ui, ui->at.reshard);
    const Decision *pin = comm_cause(ui->frame, ui->session, reshard);
    Buf origin = buf_new(ui->frame);

    draw_field(pen, " SELECTED", 10);
    pen_put(pen, ROLE_HEAD, label_tensor(ui->session, ui->frame, reshard->tensor));
    if (ui->comm->row[ui->at.reshard].n > 1)
        pen_printf(pen, ROLE_HEAD, "  ×%d, the first", ui->comm->row[ui->at.reshard].n);
    if (reshard_repeat(ui_plan(ui), reshard) != 1)
        pen_printf(pen, ROLE_HEAD, "  ↻%.10g", reshard_repeat(ui_plan(ui), reshard));
    pen_line(pen);
    draw_field(pen, "  change", 10);
    draw_sharding(ui, pen, label_sharding(ui, reshard->from), -1, -1);
    pen_printf(pen, ROLE_TEXT, "  %s  ", arrow);
    draw_sharding(ui, pen, label_sharding(ui, reshard->to), -1, -1);
    pen_line(pen);
    for (int s = 0; s < reshard->path->n_steps; s++)
        draw_step(ui, &reshard->path->step[s], pen);
    draw_field(pen, "  cause", 10);
    if (pin)
        label_origin(&pin->origin, &origin);
    pen_fit(pen, ROLE_TEXT, pin ? buf_str(&origin) : STR("no pin: see w"), pen->area.w - pen->x);
    pen_line(pen);
    draw_readers(ui, reshard, pen);
}

static void draw(Ui *ui, Pen *pen)
{
    Comm *comm = ui->comm;
    Widths widths = widths_for(pen->area.w);

    comm_table(comm);
    if (ui->at.reshard >= comm->n_rows)
        ui->at.reshard = comm->n_rows > 0 ? comm->n_rows - 1 : 0;
    if (comm->n_rows == 0) {
        pen_puts(pen, ROLE_DIM, " no reshards: nothing moves between devices");
        return;
    }
    pen_printf(pen, ROLE_TEXT, " %d reshard%s, the dearest first: ", ui_plan(ui)->n_reshards,
               ui_plan(ui)->n_reshards == 1 ? "" : "s");
    pen_put(pen, ROLE_TEXT, label_us(ui, ui_plan(ui)->totals.comm_us));
    pen_puts(pen, ROLE_TEXT, ", each rank sends ");
    pen_put(pen, ROLE_TEXT, label_bytes(ui, ui_plan(ui)->totals.comm_bytes));
    if (pen->area.w >= AT_BEST_LEAST) {
        pen_puts(pen, ROLE_TEXT, "; exposed at best ");
        pen_put(pen, ROLE_TEXT,
                label_us(ui, ui_plan(ui)->totals.overlap_us - ui_plan(ui)->totals.compute_us));
    }
    pen_line(pen);
    draw_headings(&widths, pen);
    int h = pen->area.h - pen->y;
    ui->height[SHOW_COMM] = h;
    ui->rows[SHOW_COMM] = ui->comm->n_rows;
    ui->top[SHOW_COMM] = ui_scroll(ui->top[SHOW_COMM], ui->at.reshard, comm->n_rows, h);
    for (int i = 0; i < h && ui->top[SHOW_COMM] + i < comm->n_rows; i++) {
        int row = (int)ui->top[SHOW_COMM] + i;
        draw_row(ui, row, &widths, pen);
        if (row == ui->at.reshard)
            ui_mark_row(ui, SHOW_COMM, pen, pen->y);
        pen_line(pen);
    }
}

/* The other panes follow: the tensor that is moved, and the op it is shown at. */
static void select_row(Ui *ui, int row)
{
    ui->at.reshard = row;
    const Reshard *reshard = reshard_at(ui, row);
    int32_t op = comm_op(ui->session, reshard);
    if (op >= 0)
        ui_select_op(ui, op);
    ui_select_tensor(ui, reshard->tensor);
}

static void go(Ui *ui, int64_t row)
{
    if (row >= 0 && row < ui->comm->n_rows)
        select_row(ui, (int)row);
}

static bool act(Ui *ui, ActId act, Key last)
{
    int64_t at = ui->at.reshard;

    (void)last;
    comm_table(ui->comm);
    if (ui->comm->n_rows == 0)
        return false;
    if (act == ACT_SHOW_COMM) {
        select_row(ui, ui->at.reshard < ui->comm->n_rows ? ui->at.reshard : 0);
        return true;
    }
    if (ui_move(&at, ui->comm->n_rows, ui->height[SHOW_COMM], act)) {
        select_row(ui, (int)at);
        return true;
    }
    if (act == ACT_WHAT_IF) {
        whatif_reshard(ui);
        return true;
    }
    if (act == ACT_OPEN) {
        int32_t op = comm_op(ui->session, reshard_at(ui, ui->at.reshard));
        if (op < 0)
            return false;
        int32_t tensor = reshard_at(ui, ui->at.reshard)->tensor;
        ui_remember(ui);
        ui_go_op(ui, op);
        ui_select_tensor(ui, tensor);
        ui->at.show = SHOW_OP;
        return true;
    }
    return false;
}

static void note(Ui *ui, Buf *out)
{
    comm_table(ui->comm);
    if (ui->comm->n_rows > 0)
        buf_printf(out,
                   "%d/%d  AR all-reduce, AG gather, RS reduce-scatter, A2A all-to-all, SL slice",
                   ui->at.reshard + 1, ui->comm->n_rows);
}

static const Hint hints[] = {
    {ACT_DOWN, "move"},
    {ACT_OPEN, "op"},
    {ACT_WHY, "why"},
    {ACT_SHOW_MESH, "groups"},
    {ACT_SHOW_TENSOR, "tensor"},
    {ACT_BACK, "back"},
    {ACT_HELP, "help"},
    {ACT_CLOSE, "close"},
    {0},
};

const View view_comm = {
    .name = "Comm",
    .draw = draw,
    .act = act,
    .note = note,
    .go = go,
    .list_at = 2,
    .hints = hints,
};
const View view_comm_detail = {
    .name = "Selected",
    .draw = draw_detail,
    .act = act,
    .note = note,
    .go = go,
    .list_at = -1,
    .hints = hints,
};
