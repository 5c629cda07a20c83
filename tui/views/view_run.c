#include "tui/views/page.h"

static const Hint hints[] = {{ACT_BACK, "back"}, {ACT_HELP, "help"}, {ACT_CLOSE, "close"}, {0}};

static bool act(Ui *ui, ActId act, Key last)
{
    (void)last;
    return page_act(ui, ui->at.show, act);
}

static void draw_run(Ui *ui, Pen *pen)
{
    page_draw(ui, SHOW_RUN, STR(""), pen);
}

static void draw_check(Ui *ui, Pen *pen)
{
    page_draw(ui, SHOW_CHECK, STR(""), pen);
}

const View view_run = {
    .name = "Run",
    .draw = draw_run,
    .act = act,
    .go = page_go,
    .list_at = 0,
    .hints = hints,
};
const View view_check = {
    .name = "Check",
    .draw = draw_check,
    .act = act,
    .go = page_go,
    .list_at = 0,
    .hints = hints,
};
