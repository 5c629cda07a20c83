#include "tui/app/leave.h"

#include "tui/state/menu.h"
#include "tui/state/pins.h"

enum { LEAVE_KEEP, LEAVE_WRITE, LEAVE_DROP };

static void chosen(Ui *ui, int value)
{
    Error err = {0};

    if (value == LEAVE_WRITE && !pins_write(ui, STR(""), &err)) {
        ui_error(ui, &err);
        return;
    }
    ui->asked.drop_pins = value == LEAVE_DROP;
    ui->asked.quit = true;
}

void leave(App *app)
{
    Ui *ui = &app->ui;
    int n = pins_unwritten(ui);
    bool kept = app->options.restore;

    if (n == 0 || job_in_foreground(ui)) {
        app->quit = true;
        return;
    }
    menu_open(ui,
              arena_printf(ui->frame, "%d pin%s made here %s not saved", n, n > 1 ? "s" : "",
                           n > 1 ? "are" : "is"),
              chosen);
    if (kept)
        menu_add(ui, 'q', STR("quit; the next session restores them"), LEAVE_KEEP);
    menu_add(ui, 'w', STR("write them as a policy, and quit"), LEAVE_WRITE);
    menu_add(ui, kept ? 'd' : 'q', STR("quit and discard them"), LEAVE_DROP);
}
