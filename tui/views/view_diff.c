#include "tui/views/page.h"

static const Hint hints[] = {{ACT_BACK, "back"}, {ACT_HELP, "help"}, {ACT_CLOSE, "close"}, {0}};

static bool act(Ui *ui, ActId act, Key last)
{
    (void)last;
    return page_act(ui, ui->at.show, act);
}

static void draw_diff(Ui *ui, Pen *pen)
{
    page_draw(ui, SHOW_DIFF, STR(""), pen);
}

static void draw_diff_totals(Ui *ui, Pen *pen)
{
    page_draw(ui, SHOW_DIFF_TOTALS, STR(""), pen);
}

static void draw_fork(Ui *ui, Pen *pen)
{
    page_draw(ui, SHOW_FORK, STR(""), pen);
}

const View view_diff = {
    .name = "Diff",
    .draw = draw_diff,
    .act = act,
    .go = page_go,
    .list_at = 0,
    .hints = hints,
};
const View view_diff_totals = {
    .name = "Totals",
    .draw = draw_diff_totals,
    .act = act,
    .go = page_go,
    .list_at = 0,
    .hints = hints,
};
const View view_fork = {
    .name = "First fork",
    .draw = draw_fork,
    .act = act,
    .go = page_go,
    .list_at = 0,
    .hints = hints,
};
