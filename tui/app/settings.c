#include "tui/app/app.h"

#include "tui/state/menu.h"

static void say_setting(Ui *ui, const Setting *setting)
{
    Buf value = buf_new(ui->frame);

    setting_format(&ui->look.settings, setting, &value);
    ui_say(ui, "%s = %s: %s", setting->name, value.s, setting->help);
}

bool settings_set(Ui *ui, Str args, Error *err)
{
    Str value = args, name = str_trim(str_take(&value, '='));
    const Setting *setting = setting_find(name);

    if (!setting) {
        error_set(err, "no setting '%.*s'", STR_ARG(name));
        error_hint(err, "`o` lists them");
        return false;
    }
    if (memchr(args.s, '=', args.n) &&
        !setting_put(&ui->look.settings, setting, str_trim(value), err))
        return false;
    say_setting(ui, setting);
    return true;
}

/* A choice goes to its next word and the menu stays; a number or a list is typed. */
static void chosen(Ui *ui, int value)
{
    const Setting *setting = &settings_table[value];

    if (!setting->values || setting_is_list(setting)) {
        Buf text = buf_new(ui->frame);
        buf_printf(&text, "set %s=", setting->name);
        if (setting_is_list(setting))
            setting_format(&ui->look.settings, setting, &text);
        ui->asked.prompt = text.s;
        return;
    }
    setting_next(&ui->look.settings, setting);
    settings_menu(ui);
    ui->menu.at = value;
    say_setting(ui, setting);
}

void settings_menu(Ui *ui)
{
    menu_open(ui, "options", chosen);
    for (int i = 0; settings_table[i].name; i++) {
        Buf text = buf_new(ui->frame);
        buf_printf(&text, "%-11s", settings_table[i].name);
        setting_format(&ui->look.settings, &settings_table[i], &text);
        menu_add(ui, 0, buf_str(&text), i);
    }
}
