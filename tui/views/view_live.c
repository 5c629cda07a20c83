/* view_live.c - what is alive at the place that the Mem view shows: a tree of rows. */
#include "core/explain/reason.h"
#include "core/summary/label.h"
#include "tui/state/format.h"
#include "tui/state/jobs/reasons_job.h"
#include "tui/views/mem.h"
#include "tui/views/rows.h"

enum { HEAD_ROWS = 2, BYTES_W = 11, SHARE_W = 10 };

/* Columns; 0: there is no room for it. The name takes what is left. */
typedef struct {
    int name, n, dtype, local, bar, sharding, born, dies, seeded;
} LiveWidths;

static int take(int *left, int columns, int least)
{
    if (*left - columns < least)
        return 0;
    *left -= columns;
    return columns;
}

static LiveWidths widths_for(int w)
{
    enum { NAME_LEAST = 22 };
    int left = w - 1 - BYTES_W;
    LiveWidths widths = {0};
    widths.n = take(&left, 6, NAME_LEAST);
    widths.dies = take(&left, 17, NAME_LEAST);
    widths.local = take(&left, 15, NAME_LEAST);
    widths.bar = take(&left, SHARE_W + 6, NAME_LEAST + 4);
    widths.sharding = take(&left, 20, NAME_LEAST + 4);
    widths.seeded = take(&left, 18, NAME_LEAST + 4);
    widths.born = take(&left, 17, NAME_LEAST + 4);
    widths.dtype = take(&left, 6, NAME_LEAST + 4);
    widths.name = left;
    return widths;
}

static void draw_headings(const LiveWidths *widths, Pen *pen)
{
    pen_fit(pen, ROLE_HEAD, STR("   VALUE"), widths->name + 1);
    pen_right(pen, ROLE_HEAD, STR("×"), widths->n);
    pen_right(pen, ROLE_HEAD, STR("BYTES"), BYTES_W);
    pen_right(pen, ROLE_HEAD, STR("SHARE"), widths->bar ? 6 : 0);
    pen_fit(pen, ROLE_HEAD, STR(""), widths->bar ? widths->bar - 6 : 0);
    pen_fit(pen, ROLE_HEAD, STR("  DTYPE"), widths->dtype + (widths->dtype ? 1 : 0));
    pen_fit(pen, ROLE_HEAD, STR("  LOCAL"), widths->local);
    pen_fit(pen, ROLE_HEAD, STR("  SHARDING"), widths->sharding);
    pen_fit(pen, ROLE_HEAD, STR("  BORN"), widths->born);
    pen_fit(pen, ROLE_HEAD, STR("  UNTIL"), widths->dies);
    pen_fit(pen, ROLE_HEAD, STR("  SEEDED BY"), widths->seeded);
    pen_line(pen);
}

/* The nearest pin that a dim of the tensor goes back to. */
static Str seed_of(const Ui *ui, int32_t tensor)
{
    const Shape *shape = inferred_shape(ui->session->inferred, tensor);
    for (int d = 0; shape && d < shape->n_dims; d++) {
        const Decision *pin = plan_pin_of(ui_plan(ui), PIN_TENSOR_DIM, tensor, d);
        if (pin)
            return label_pin(ui->frame, pin);
    }
    if (!reasons_ready(ui, ui_plan(ui)))
        return STR("..");
    for (int d = 0; shape && d < shape->n_dims; d++) {
        ReasonChain *chains;
        int n = why_tensor_dim(ui->frame, ui_plan(ui), tensor, d, &chains);
        for (int i = 0; i < n; i++)
            if (chains[i].n_steps > 0 && chains[i].step[0].pin)
                return label_pin(ui->frame, chains[i].step[0].pin);
    }
    return STR("-");
}

/* An op by the end of its name: "mlp.act/Mul". */
static Str op_text(const Ui *ui, int place, const char *before, const char *after)
{
    const Session *session = ui->session;
    if (place < 0)
        return str_from(before);
    if (place >= session->inferred->n_program)
        return str_from(after);
    return label_op(session, ui->frame, session->inferred->program[place]);
}

static void draw_leaf(const Ui *ui, const MemRow *row, const LiveWidths *widths, Pen *pen)
{
    const LiveValue *value = &row->value;
    Shape local;
    Buf text = buf_new(ui->frame);
    sharding_local_shape(shardings_at(ui_plan(ui)->shardings, value->sharding), ui->session->mesh,
                         mem_ranks(mem_of(ui))->rank, &local);
    shape_format(&local, &text);
    const char *dtype = dtype_name((Dtype)ui->session->inferred->dtype[value->tensor]);
    if (widths->dtype)
        pen_printf(pen, ROLE_TEXT, "  %-5s", dtype);
    if (widths->local) {
        pen_puts(pen, ROLE_TEXT, "  ");
        pen_fit(pen, ROLE_TEXT, buf_str(&text), widths->local - 2);
    }
    if (widths->sharding) {
        pen_puts(pen, ROLE_TEXT, "  ");
        pen_text(pen, label_sharding(ui, value->sharding), -1, widths->sharding - 2);
    }
    if (widths->born) {
        pen_puts(pen, ROLE_TEXT, "  ");
        pen_fit_name(pen, ROLE_DIM, op_text(ui, value->from, "given", ""), widths->born - 2);
    }
    if (widths->dies) {
        pen_puts(pen, ROLE_TEXT, "  ");
        pen_fit_name(pen, ROLE_DIM, op_text(ui, value->to, "", "the end"), widths->dies - 2);
    }
    if (widths->seeded) {
        pen_puts(pen, ROLE_TEXT, "  ");
        pen_fit(pen, ROLE_TEXT, seed_of(ui, value->tensor), widths->seeded - 2);
    }
}

static void draw_row(const Ui *ui, int at, const LiveWidths *widths, Pen *pen)
{
    const MemRow *row = &mem_of(ui)->row[at];
    const LiveSet *live = &mem_of(ui)->live;
    Style style = row->leaf ? ROLE_TEXT : ROLE_HEAD;
    double share = live->bytes > 0 ? (double)row->bytes / (double)live->bytes : 0;
    pen_rune(pen, ROLE_TEXT, ' ');
    for (int i = 0; i < row->depth; i++)
        pen_puts(pen, ROLE_TEXT, "  ");
    pen_puts(pen, ROLE_TEXT, row->leaf ? "  " : row->open ? "▾ " : "▸ ");
    if (widths->name + 1 > pen->x)
        pen_fit_name(pen, style, str_from(row->label), widths->name + 1 - pen->x);
    if (widths->n)
        pen_right(pen, ROLE_TEXT, str_from(arena_printf(ui->frame, "%d", row->n)), widths->n);
    pen_right(pen, ROLE_TEXT, label_bytes(ui, row->bytes), BYTES_W);
    if (widths->bar) {
        pen_right(pen, ROLE_TEXT, str_from(arena_printf(ui->frame, "%.1f%%", 100 * share)), 6);
        pen_rune(pen, ROLE_TEXT, ' ');
        pen_bar(pen, ROLE_RAIL, share, 1, widths->bar - 7);
    }
    if (row->leaf)
        draw_leaf(ui, row, widths, pen);
}

/* What is shown: where, how much, in what order. */
/* A clause that fits into the line, or nothing. */
static void add_clause(const Buf *clause, int columns, Buf *out)
{
    if (text_columns(buf_str(out)) + text_columns(buf_str(clause)) <= columns)
        buf_add(out, buf_str(clause));
}

static void draw_top(const Ui *ui, Pen *pen)
{
    const Mem *mem = mem_of(ui);
    int place = mem_place(mem);
    Buf text = buf_new(ui->frame);
    buf_puts(&text, place == mem_ranks(mem)->use.peak_place ? " at the peak of " : " on ");
    mem_format_devices(mem, mem->at, ui->session->mesh->n_devices, 16, &text);
    buf_printf(&text, ": %.*s in %d values", STR_ARG(label_bytes(ui, mem->live.bytes)),
               mem->live.n);
    Buf runs = buf_new(ui->frame), padding = buf_new(ui->frame), by = buf_new(ui->frame);
    enum { AROUND_W = 13, NAME_LEAST = 12 };
    int room = pen->area.w - text_columns(buf_str(&text)) - AROUND_W;
    if (place >= 0) {
        buf_puts(&runs, ", while ");
        text_put_name(op_text(ui, place, "", ""), room > NAME_LEAST ? room : NAME_LEAST, &runs);
        buf_puts(&runs, " runs");
    }
    if (mem->live.padding_bytes > 0)
        buf_printf(&padding, ", %.*s of it padding on the last device",
                   STR_ARG(label_bytes(ui, mem->live.padding_bytes)));
    buf_printf(&by, "   grouped: %s", mem_grouping_name(mem->grouping));
    add_clause(&runs, pen->area.w, &text);
    add_clause(&padding, pen->area.w, &text);
    add_clause(&by, pen->area.w, &text);
    pen_fit(pen, ROLE_TEXT, buf_str(&text), pen->area.w);
    pen_line(pen);
}

static int row_at(Ui *ui)
{
    mem_is_listed(ui);
    return (int)list_cursor(&ui->list[SHOW_LIVE], mem_of(ui)->n_rows);
}

static void draw(Ui *ui, Pen *pen)
{
    if (!mem_is_listed(ui)) {
        pen_puts(pen, ROLE_NOTE, " counting live values ..");
        return;
    }
    int cursor = row_at(ui), h = pen->area.h - HEAD_ROWS;
    LiveWidths widths = widths_for(pen->area.w);
    draw_top(ui, pen);
    draw_headings(&widths, pen);
    ui->list[SHOW_LIVE].wants = mem_of(ui)->n_rows + HEAD_ROWS;
    list_show(&ui->list[SHOW_LIVE], cursor, mem_of(ui)->n_rows, h);
    for (int i = (int)ui->list[SHOW_LIVE].top; i < mem_of(ui)->n_rows && !pen_full(pen); i++) {
        draw_row(ui, i, &widths, pen);
        rows_end(ui, SHOW_LIVE, i == cursor, pen);
    }
}

/* The other panes follow. */
static void select_row(Ui *ui, int64_t at)
{
    ui->list[SHOW_LIVE].at = at;
    if (!mem_is_listed(ui) || mem_of(ui)->n_rows == 0)
        return;
    const MemRow *row = &mem_of(ui)->row[row_at(ui)];
    int32_t op = mem_op(ui->session, row->value.tensor);
    if (!row->leaf)
        return;
    if (op >= 0)
        ui_select_op(ui, op);
    ui_select_tensor(ui, row->value.tensor);
}

static bool open_row(Ui *ui, const MemRow *row, bool open)
{
    if (row->leaf || row->open == open)
        return false;
    mem_toggle(mem_of(ui), row_at(ui));
    return true;
}

static bool go_to_tensor(Ui *ui, const MemRow *row)
{
    int32_t op = mem_op(ui->session, row->value.tensor), tensor = row->value.tensor;
    places_remember(ui);
    if (op >= 0)
        ui_go_op(ui, op);
    ui_select_tensor(ui, tensor);
    ui->at.show = SHOW_TENSOR;
    return true;
}

static bool act(Ui *ui, ActId act)
{
    int64_t at = row_at(ui);
    if (mem_act(ui, act))
        return true;
    if (mem_of(ui)->n_rows == 0)
        return false;
    const MemRow *row = &mem_of(ui)->row[at];
    if (list_move(&at, mem_of(ui)->n_rows, ui->list[SHOW_LIVE].height, act))
        select_row(ui, at);
    else if (act == ACT_WHAT_IF)
        mem_what_if(ui, row);
    else if (act == ACT_OPEN && row->leaf)
        return go_to_tensor(ui, row);
    else if (act == ACT_OPEN || act == ACT_FOLD)
        return open_row(ui, row, !row->open);
    else if (act == ACT_RIGHT)
        open_row(ui, row, true);
    else if (act == ACT_LEFT && !open_row(ui, row, false) && row->parent >= 0)
        select_row(ui, row->parent);
    else if (act != ACT_LEFT)
        return false;
    return true;
}

static const char *open_hint(const Ui *ui)
{
    const Mem *mem = ui->own[SHOW_MEM];
    int64_t at = ui->list[SHOW_LIVE].at;

    if (!mem || at < 0 || at >= mem->n_rows)
        return "";
    return mem->row[at].leaf ? "tensor" : mem->row[at].open ? "close" : "open";
}

static void go(Ui *ui, int64_t row)
{
    select_row(ui, row);
}

static void table(Ui *ui, Sheet *out)
{
    mem_list(mem_of(ui), ui->session, NULL);
    const LiveSet *live = &mem_of(ui)->live;
    static const char *const texts[] = {"tensor", "class", "dtype",    "sharding",
                                        "from",   "until", "seeded_by"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        sheet_column(out, texts[i], false);
    sheet_head(out, "bytes# padding_bytes#");
    for (int i = 0; i < live->n; i++) {
        const LiveValue *value = &live->at[i];
        sheet_put(out, label_tensor(ui->session, out->arena, value->tensor));
        sheet_put(out, str_from(memory_class_name(value->class)));
        sheet_put(out, str_from(dtype_name((Dtype)ui->session->inferred->dtype[value->tensor])));
        sheet_put(out, label_sharding(ui, value->sharding).str);
        sheet_put(out, op_text(ui, value->from, "given", ""));
        sheet_put(out, op_text(ui, value->to, "", "the end"));
        sheet_put(out, seed_of(ui, value->tensor));
        sheet_number(out, (double)value->bytes);
        sheet_number(out, (double)value->padding_bytes);
    }
}

static const Hint hints[] = {
    {ACT_DOWN, "move"},
    {ACT_RIGHT, "open"},
    {ACT_OPEN, "tensor"},
    {ACT_WHAT_IF, "what-if"},
    {ACT_DIM_NEXT, "later"},
    {ACT_GROUPING, "grouping"},
    {ACT_WHY, "why"},
    {ACT_BACK, "back"},
    {ACT_HELP, "help"},
    {ACT_CLOSE, "close"},
    {0},
};

const View view_live = {
    .name = "Live set",
    .draw = draw,
    .act = act,
    .note = mem_note,
    .go = go,
    .list_at = HEAD_ROWS,
    .hints = hints,
    .open_hint = open_hint,
    .table = table,
};
