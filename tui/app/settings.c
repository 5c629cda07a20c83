#include "tui/app/app.h"

#include "core/session/model_settings.h"
#include "tui/state/jobs/job.h"
#include "tui/state/menu.h"
#include "tui/state/pins.h"

static void say_setting(Ui *ui, const Setting *setting)
{
    Buf value = buf_new(ui->frame);

    setting_format(&ui->look.settings, setting, &value);
    ui_say(ui, "%s = %s: %s", setting->name, value.s, setting->help);
}

/* ---- options of the policy: "policy.NAME=VALUE" ---- */

static const PolicyOption *find_option(const Ui *ui, Str name)
{
    const PolicyOptions *options = &ui->session->policy_options;

    for (int i = 0; i < options->n; i++)
        if (str_eq(name, str_from(options->at[i].name)))
            return &options->at[i];
    return NULL;
}

static bool no_option(const Ui *ui, Str name, Error *err)
{
    const char *nearest = policy_options_nearest(&ui->session->policy_options, name);

    error_set(err, "the policy has no option '%.*s'", STR_ARG(name));
    return nearest ? error_hint(err, "did you mean 'policy.%s'?", nearest)
                   : error_hint(err, "it declares no options");
}

static void option_set(Ui *ui, const Totals *before, const char *what)
{
    Buf text = buf_new(ui->frame);

    pins_format_change(ui, before, &text);
    ui_say(ui, "policy.%s%s", what, text.s);
}

static bool set_option(Ui *ui, Str args, Error *err)
{
    Str value = args, name = str_trim(str_take(&value, '='));
    const PolicyOption *option = find_option(ui, name);

    if (!option && !model_setting_is(name))
        return no_option(ui, name, err);
    if (!memchr(args.s, '=', args.n)) {
        const char *set = option ? NULL
                                 : policy_settings_find(&ui->session->options.settings,
                                                        arena_str(ui->frame, name));
        if (!option)
            ui_say(ui, "policy.%.*s = %s", STR_ARG(name), set ? set : "the model's own");
        else
            ui_say(ui, "policy.%s = %s: %s", option->name, option->value, option->help);
        return true;
    }
    const char *text = arena_str(ui->frame, args);
    job_change(ui, &(Change){.kind = CHANGE_SETTING, .text = text}, option_set, text);
    return true;
}

bool settings_set(Ui *ui, Str args, Error *err)
{
    static const Str prefix = {"policy.", sizeof "policy." - 1};
    if (str_starts(args, prefix))
        return set_option(ui, (Str){args.s + prefix.n, args.n - prefix.n}, err);
    Str value = args, name = str_trim(str_take(&value, '='));
    const Setting *setting = setting_find(name);

    if (!setting) {
        error_set(err, "no setting '%.*s'", STR_ARG(name));
        error_hint(err, "`o` lists all settings");
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
