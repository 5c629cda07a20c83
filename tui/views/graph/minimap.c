#include "tui/views/graph/graph_row.h"

enum { COLUMNS_MAX = 200, HEIGHTS = 8 };

static CommSums stretch(const Ui *ui, int i, int n)
{
    int64_t n_order = ui->session->groups->n_order;

    return comm_sum(ui->comm, (int32_t)(n_order * i / n), (int32_t)(n_order * (i + 1) / n));
}

static int height_of(double us, double most)
{
    int height = HEIGHTS;

    for (; height > 1 && us < most; height--)
        us *= 2;
    return us > 0 ? height : 0;
}

void minimap_draw(const Ui *ui, Pen *pen)
{
    static const uint32_t height[HEIGHTS + 1] = {' ',    0x2581, 0x2582, 0x2583, 0x2584,
                                                 0x2585, 0x2586, 0x2587, 0x2588};
    int32_t n_order = ui->session->groups->n_order;
    int32_t place = ui->at.op < 0 ? -1 : outline_position(ui->outline, ui->at.op);
    Str text = str_from(arena_printf(ui->frame, "  op %d of %d", place + 1, n_order));
    int n = pen->area.w - pen->x - text_columns(text) - 7;
    double most = 0;

    n = n < COLUMNS_MAX ? n : COLUMNS_MAX;
    n = n < n_order ? n : n_order;
    if (n < 1 || place < 0)
        return;
    for (int i = 0; i < n; i++) {
        CommSums s = stretch(ui, i, n);
        most = s.us + s.comm_us > most ? s.us + s.comm_us : most;
    }
    pen_puts(pen, ROLE_HEAD, " TIME ");
    for (int i = 0; i < n; i++) {
        CommSums s = stretch(ui, i, n);
        bool here = place >= (int64_t)n_order * i / n && place < (int64_t)n_order * (i + 1) / n;
        Style style = s.comm_us > s.us ? ROLE_DEAR | STYLE_BOLD : ROLE_TEXT;
        pen_rune(pen, (Style)(style | (here ? STYLE_SELECTED : 0)),
                 height[height_of(s.us + s.comm_us, most)]);
    }
    pen_put(pen, ROLE_DIM, text);
}
