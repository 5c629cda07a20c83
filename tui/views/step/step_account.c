#include "tui/views/step/step_account.h"

#include "core/cost/step_parts.h"
#include "core/plan/stage.h"
#include "tui/state/comm_table.h"
#include "tui/state/format.h"
#include "tui/views/mem.h"

enum {
    BESIDE_FROM = 120,
    NAME_W = 31,
    US_W = 10,
    SHARE_W = 7,
    TIMES_W = 6,
    PARTS_PERCENT = 49,
    INDENT = 3
};

/* ---- parts ---- */

static const double BRIEF_SHARE = 0.002; /* parts below it go where there is no room for all */

static int name_columns(const Pen *pen)
{
    int room = pen->area.w - INDENT - US_W - SHARE_W - TIMES_W - 1;
    return room < NAME_W ? room : NAME_W;
}

static void draw_part(const Ui *ui, const StepParts *parts, int at, Pen *pen)
{
    const StepPart *part = &parts->part[at];
    bool waits = part->kind == PART_WAIT;
    pen_tab(pen, INDENT);
    pen_fit(pen, waits ? ROLE_NOTE : ROLE_TEXT,
            str_from(step_part_name(ui->frame, ui->session->mesh, part)), name_columns(pen));
    pen_right(pen, ROLE_TEXT, label_us(ui, part->us), US_W);
    double share = parts->us > 0 ? part->us / parts->us : 0;
    pen_right(pen, ROLE_TEXT, str_from(arena_printf(ui->frame, "%.1f%%", 100 * share)), SHARE_W);
    Str times = str_from(part->n > 0 ? arena_printf(ui->frame, "%.10g", part->n) : "");
    pen_right(pen, ROLE_DIM, times, TIMES_W);
    int left = pen->area.w - pen->x - 3;
    if (left >= 4) {
        pen_puts(pen, ROLE_TEXT, "  ");
        pen_bar(pen, waits ? ROLE_NOTE : ROLE_RAIL, share, 1, left);
    }
    pen_line(pen);
}

void step_parts_draw(const Ui *ui, Pen *pen)
{
    const StepParts *parts = comm_parts(ui->comm);
    int room = name_columns(pen) + INDENT;
    Str title = STR(" WHERE A STEP'S TIME GOES");
    pen_fit(pen, ROLE_HEAD, (int)title.n <= room ? title : STR(" TIME OF A STEP"), room);
    pen_right(pen, ROLE_HEAD, label_us(ui, parts->us), US_W);
    pen_right(pen, ROLE_HEAD, STR("SHARE"), SHARE_W);
    pen_right(pen, ROLE_HEAD, STR("TIMES"), TIMES_W);
    pen_line(pen);
    double least = parts->n <= pen->area.h - pen->y ? 0 : parts->us * BRIEF_SHARE;
    for (int i = 0; i < parts->n && !pen_full(pen); i++)
        if (parts->part[i].us >= least)
            draw_part(ui, parts, i, pen);
    const Stages *stages = ui_plan(ui)->decided->stages;
    if (!pen_full(pen))
        pen_puts(pen, ROLE_DIM,
                 stages && stages->overlap != PASS_NONE
                     ? "   on the devices that are busy longest; parameter traffic counts where "
                       "ops wait for it"
                     : "   on the devices that are busy longest; nothing overlaps");
}

/* ---- reshards ---- */

typedef struct {
    int tensor, each, exposed, kind;
    bool pass;
} AccountWidths;

/* Of the widest kind among the first rows. */
static int kind_columns(const Ui *ui, int rows)
{
    enum { LEAST = 6, MOST = 14 };
    const Comm *comm = ui->comm;
    int most = LEAST;

    for (int i = 0; i < comm->n_rows && i < rows; i++) {
        Buf kind = buf_new(ui->frame);
        comm_format_steps(ui->session, ui_plan(ui)->moved->reshards[comm->row[i].first].path,
                          &kind);
        int own = text_columns(buf_str(&kind));
        most = own > most ? own : most;
    }
    return most < MOST ? most : MOST;
}

static AccountWidths widths_for(const Ui *ui, int w, int rows)
{
    AccountWidths widths = {.kind = kind_columns(ui, rows), .pass = ui_graph(ui)->phase != NULL};
    enum { ALWAYS = 3 + TIMES_W + US_W, PASS_W = 10, TENSOR_LEAST = 20 };
    int left = w - ALWAYS - widths.kind - 1 - (widths.pass ? PASS_W : 0);
    widths.exposed = left - US_W >= TENSOR_LEAST ? US_W : 0;
    left -= widths.exposed;
    widths.each = left - US_W >= TENSOR_LEAST ? US_W : 0;
    widths.tensor = left - widths.each;
    return widths;
}

static void draw_reshard_heads(const Comm *comm, const AccountWidths *widths, Pen *pen)
{
    pen_puts(pen, ROLE_HEAD, " MOST EXPENSIVE RESHARDS OF A STEP");
    if (comm->n_rows < comm->n_all)
        pen_printf(pen, ROLE_HEAD, ", filter: %s", comm->kept_by);
    pen_line(pen);
    pen_right(pen, ROLE_HEAD, STR("×"), TIMES_W);
    pen_puts(pen, ROLE_HEAD, widths->pass ? "  PASS     " : " ");
    pen_fit(pen, ROLE_HEAD, STR("KIND"), widths->kind);
    pen_fit(pen, ROLE_HEAD, STR(" VALUE"), widths->tensor);
    pen_right(pen, ROLE_HEAD, STR("EACH"), widths->each);
    pen_right(pen, ROLE_HEAD, STR("A STEP"), US_W);
    pen_right(pen, ROLE_HEAD, STR("EXPOSED"), widths->exposed);
    pen_line(pen);
}

/* What ops wait for it in the best case, of all micro-batches. */
static double exposed_us(const Ui *ui, const CommRow *row)
{
    return row->exposed_us * (row->pass == COMM_UPDATE ? 1 : plan_micro_batches(ui_plan(ui)));
}

static void draw_reshard(const Ui *ui, const CommRow *row, const AccountWidths *widths, Pen *pen)
{
    const Reshard *first = &ui_plan(ui)->moved->reshards[row->first];
    double times = reshard_step_times(ui_plan(ui), first) * row->n;
    Buf kind = buf_marked(ui->frame);
    comm_format_steps(ui->session, first->path, &kind);
    pen_right(pen, ROLE_TEXT, str_from(arena_printf(ui->frame, "%.10g", times)), TIMES_W);
    if (widths->pass)
        pen_printf(pen, ROLE_TEXT, "  %-9s", comm_pass_name(row->pass));
    else
        pen_rune(pen, ROLE_TEXT, ' ');
    pen_text(pen, buf_text(&kind), -1, widths->kind);
    pen_rune(pen, ROLE_TEXT, ' ');
    pen_fit_name(pen, ROLE_TEXT, str_from(row->label), widths->tensor - 1);
    if (widths->each)
        pen_right(pen, ROLE_TEXT, label_us(ui, first->path->us), widths->each);
    bool dear = row->step_us > plan_step_us(ui_plan(ui)) * ui->look.settings.dear / 100;
    pen_right(pen, dear ? ROLE_DEAR : ROLE_TEXT, label_us(ui, row->step_us), US_W);
    if (widths->exposed)
        pen_right(pen, ROLE_TEXT, label_us(ui, exposed_us(ui, row)), widths->exposed);
    pen_line(pen);
}

static void draw_reshards(Ui *ui, Pen *pen)
{
    const Comm *comm = comm_arranged(ui);
    if (comm->n_rows < 0) {
        pen_printf(pen, ROLE_NOTE, " %s", comm_waiting);
        return;
    }
    AccountWidths widths = widths_for(ui, pen->area.w, pen->area.h);
    draw_reshard_heads(comm, &widths, pen);
    for (int i = 0; i < comm->n_rows && !pen_full(pen); i++)
        draw_reshard(ui, &comm->row[i], &widths, pen);
    if (comm->n_rows == 0)
        pen_puts(pen, ROLE_DIM, "   none");
}

void step_account_draw(Ui *ui, Pen *pen)
{
    Rect area = pen->area;
    int from = area.y + pen->y, h = area.h - pen->y;
    if (area.w < BESIDE_FROM) {
        step_parts_draw(ui, pen);
        pen_line(pen);
        if (area.h - pen->y >= STEP_ACCOUNT_LEAST)
            draw_reshards(ui, pen);
        return;
    }
    int left_w = area.w * PARTS_PERCENT / 100;
    Pen left = pen_new(pen->grid, (Rect){area.x, from, left_w, h});
    Pen right = pen_new(pen->grid, (Rect){area.x + left_w + 1, from, area.w - left_w - 1, h});
    step_parts_draw(ui, &left);
    draw_reshards(ui, &right);
    enum { STRIP_LEAST = 7 };
    pen_line(&left);
    pen_line(&left);
    int room = h - left.y;
    if (ui_graph(ui)->phase && room >= STRIP_LEAST && mem_is_listed(ui))
        mem_strip_draw(ui, room, &left);
}
