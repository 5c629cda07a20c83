#include "tui/views/page.h"

static const Hint hints[] = {{ACT_BACK, "back"}, {ACT_HELP, "help"}, {ACT_CLOSE, "close"}, {0}};

static bool act(Ui *ui, ActId act, Key last)
{
    (void)last;
    return page_act(ui, ui->at.show, act);
}

static void draw_policy(Ui *ui, Pen *pen)
{
    page_draw(ui, SHOW_POLICY, STR(""), pen);
}

const View view_policy = {
    .name = "Policy",
    .draw = draw_policy,
    .act = act,
    .go = page_go,
    .list_at = 0,
    .hints = hints,
};
