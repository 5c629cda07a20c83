#include "tui/views/page.h"

static const Hint hints[] = {{ACT_BACK, "back"}, {ACT_HELP, "help"}, {ACT_CLOSE, "close"}, {0}};

static bool act(Ui *ui, ActId act, Key last)
{
    (void)last;
    return page_act(ui, ui->at.show, act);
}

static void draw_mem(Ui *ui, Pen *pen)
{
    page_draw(ui, SHOW_MEM, STR(""), pen);
}

static void draw_live(Ui *ui, Pen *pen)
{
    page_draw(ui, SHOW_LIVE, STR(""), pen);
}

const View view_mem = {
    .name = "Mem",
    .draw = draw_mem,
    .act = act,
    .go = page_go,
    .list_at = 0,
    .hints = hints,
};
const View view_live = {
    .name = "Live at the peak",
    .draw = draw_live,
    .act = act,
    .go = page_go,
    .list_at = 0,
    .hints = hints,
};
