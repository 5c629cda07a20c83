#include "tui/cli/help.h"

#include "core/base/nearest.h"
#include "tui/cli/options.h"
#include "tui/views/about.h"
#include "tui/views/page.h"
#include "core/base/text.h"
#include "tui/state/config.h"
#include "tui/help/glossary.h"
#include "tui/help/lua_help.h"
#include "tui/help/shipped.h"

/* ---- text ---- */

static void add_indented(const char *text, const char *indent, Buf *out)
{
    for (Str rest = str_from(text); rest.n > 0;) {
        Str line = str_take(&rest, '\n');
        buf_puts(out, line.n > 0 ? indent : "");
        buf_add(out, line);
        buf_putc(out, '\n');
    }
}

enum { LEFT_MOST = 44 };

/* "dimscope plan MODEL .." */
void help_synopsis(const Verb *verb, Buf *out)
{
    buf_puts(out, "dimscope");
    if (*verb->action.name)
        buf_printf(out, " %s", verb->action.name);
    if (*verb->action.args)
        buf_printf(out, " %s", verb->action.args);
}

/* "-m, --mesh MESH" */
void help_option(const Option *option, Buf *out)
{
    if (option->key)
        buf_printf(out, "-%c, ", option->key);
    buf_printf(out, "--%s%s%s", option->name, *option->arg ? " " : "", option->arg);
}

void help_usage(Buf *out)
{
    buf_puts(out, "usage: dimscope MODEL [-m dp=2,tp=4] [-p POLICY]\n"
                  "       dimscope VERB ...\n"
                  "see dimscope help\n");
}

void help_overview(Buf *out)
{
    buf_puts(out, "dimscope explores how a model is sharded over a mesh of devices.\n\n");
    for (const Verb *verb = verbs; verb->run; verb++) {
        Buf synopsis = buf_new(out->arena);
        buf_puts(&synopsis, "  ");
        help_synopsis(verb, &synopsis);
        text_put_pair(buf_str(&synopsis), LEFT_MOST, verb->action.help, out);
    }
    buf_puts(out, "\ndimscope help VERB explains a verb and its options. Topics:\n\n");
    for (const Topic *topic = cli_topics; topic->name; topic++) {
        Str term = str_from(arena_printf(out->arena, "  dimscope help %s", topic->name));
        text_put_pair(term, 27, topic->title, out);
    }
    text_put_pair(STR("  dimscope help WORD"), 27,
                  "a word of another system: dimop, Shard, ipf, factor, 1F1B, ..", out);
    text_put_pair(STR("  dimscope help explore"), 27, "the options of the explorer", out);
    text_put_pair(STR("  dimscope help lua"), 27,
                  "what scripts can call; lua.NAME explains one name", out);
}

/* "      --dim K=V,..." */
static Str option_term(const Option *option, Arena *arena)
{
    Buf term = buf_new(arena);
    buf_puts(&term, option->key ? "  " : "      ");
    help_option(option, &term);
    return buf_str(&term);
}

void help_verb(const Verb *verb, Buf *out)
{
    int at = 0;
    for (const Option *option = cli_options; option->name; option++) {
        int columns = text_columns(option_term(option, out->arena)) + 2;
        if (option->verbs & verb->bit && columns > at)
            at = columns;
    }
    help_synopsis(verb, out);
    buf_puts(out, "\n\n");
    add_indented(verb->text, "", out);
    buf_puts(out, "\noptions\n");
    for (const Option *option = cli_options; option->name; option++)
        if (option->verbs & verb->bit)
            text_put_pair(option_term(option, out->arena), at, option->help, out);
}

void help_keys(Buf *out)
{
    enum { NAME_AT = 20, HELP_AT = 44 };
    const char *group = "";
    for (const Action *action = explorer_actions; action->name; action++) {
        Buf term = buf_new(out->arena);
        if (strcmp(action->group, group) != 0)
            buf_printf(out, "%s\n", action->group);
        group = action->group;
        buf_printf(&term, "  %s", action->keys);
        buf_blanks(&term, NAME_AT - (int)term.n);
        buf_printf(&term, "%s:%s%s%s", term.n > NAME_AT ? " " : "", action->name,
                   *action->args ? " " : "", action->args);
        text_put_pair(buf_str(&term), HELP_AT, action->help, out);
    }
}

static const char config_about[] =
    "$XDG_CONFIG_HOME/dimscope/config, by default ~/.config/dimscope/config, holds\n"
    "settings, colours and keys. --config FILE reads another file, --config none reads\n"
    "none. A line with an error is reported as a warning; the other lines still apply.\n";
static const char config_example[] = "[explorer]\n"
                                     "numbers = on\n"
                                     "[theme]\n"
                                     "axis1 = bold #56b4e9\n"
                                     "dim = bright-black\n"
                                     "[keys]\n"
                                     "undo = \"u U\"\n";
static const char config_theme_text[] =
    "A look is a colour and attributes. Colours: black red green yellow blue magenta\n"
    "cyan white, also with bright- in front, 0 to 255, #rrggbb, or default. Attributes:\n"
    "bold, underline, reverse.\n";
static const char config_keys_text[] =
    "The name of an action, and the keys that replace its default keys, separated by\n"
    "blanks: j, C-d, Enter, F5, Space, or up to three in sequence: gg, C-wl. 'dimscope\n"
    "help keys' lists the actions.\n";

/* "off on; off" */
static const char *setting_values(const Setting *setting, Arena *arena)
{
    const Settings standard = settings_standard();
    Buf out = buf_new(arena);
    if (setting_is_list(setting))
        buf_printf(&out, "%d words", setting->max);
    else if (setting->values)
        buf_puts(&out, setting->values);
    else
        buf_printf(&out, "%d to %d", setting->min, setting->max);
    if (setting_is_list(setting))
        return out.s;
    buf_puts(&out, "; ");
    setting_format(&standard, setting, &out);
    return out.s;
}

/* For a list, with its possible words. */
static const char *setting_help(const Setting *setting, Arena *arena)
{
    const Settings standard = settings_standard();
    Buf shipped = buf_new(arena);

    if (!setting_is_list(setting))
        return setting->help;
    setting_format(&standard, setting, &shipped);
    return arena_printf(arena, "%s: some of %s; %s", setting->help, setting->values, shipped.s);
}

static void add_roles(Buf *out)
{
    for (int role = 0; role < ROLE_COUNT; role++)
        buf_printf(out, "%s%s", role > 0 ? " " : "", theme_role_name((Role)role));
    buf_putc(out, '\n');
}

void help_config(Buf *out)
{
    buf_puts(out, config_about);
    buf_putc(out, '\n');
    add_indented(config_example, "  ", out);
    buf_puts(out, "\n[explorer]: a setting, its values; the default\n");
    for (const Setting *setting = settings_table; setting->name; setting++) {
        const char *values = setting_values(setting, out->arena);
        Str term = str_from(arena_printf(out->arena, "  %-12s %s", setting->name, values));
        text_put_pair(term, LEFT_MOST, setting_help(setting, out->arena), out);
    }
    buf_puts(out, "\n[theme]: looks of roles, which replace those of the theme\n  ");
    add_roles(out);
    add_indented(config_theme_text, "  ", out);
    buf_puts(out, "\n[keys]\n");
    add_indented(config_keys_text, "  ", out);
}

/* Views by the number of their tab, then the panes beside them. */
void help_views(Buf *out)
{
    for (int i = 0; i < SHOW_COUNT; i++) {
        buf_printf(out, i == 0 ? "" : "\n");
        if (i < SHOW_TABS)
            buf_printf(out, "%d  ", i + 1);
        buf_printf(out, "%s\n", views[i]->name);
        add_indented(view_about[i], "  ", out);
    }
    buf_putc(out, '\n');
    buf_puts(out, help_marks);
}

/* The options that a policy declares, below its line. */
static void write_options(const Cli *cli, Str policy, Buf *out)
{
    enum { HELP_AT = 41 };
    const SessionHooks *hooks = cli->hooks;
    PolicyOptions options = {0};
    if (!hooks->options ||
        !hooks->options(hooks->context, cli->arena, arena_str(cli->arena, policy), &options, NULL))
        return;
    for (int i = 0; i < options.n; i++) {
        const PolicyOption *option = &options.at[i];
        const char *term =
            arena_printf(cli->arena, "               --set %s=%s", option->name, option->fallback);
        text_put_pair(str_from(term), HELP_AT, option->help, out);
    }
}

/* Lists the shipped files that belong to a topic, each with the first sentence of its comment. */
static void write_shipped(Cli *cli, const char *topic, Buf *out)
{
    static const struct {
        const char *topic, *kind;
    } kinds[] = {{"policies", "policies"}, {"machine", "machines"}, {"models", "models"}};
    enum { ABOUT_AT = 13 };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].topic, topic) != 0)
            continue;
        Str rest = str_from(cli->hooks->shipped(cli->hooks->context, cli->arena, kinds[i].kind));
        buf_puts(out, rest.n > 0 ? "\n\nShipped:\n" : "\n\nNone is shipped.\n");
        while (rest.n > 0) {
            Str name = str_take(&rest, ' ');
            text_put_pair(name, ABOUT_AT,
                          shipped_about(cli->hooks, cli->arena, kinds[i].kind, name), out);
            if (strcmp(topic, "policies") == 0)
                write_options(cli, name, out);
        }
    }
}

void topic_write(Cli *cli, const Topic *topic, Buf *out)
{
    if (topic->write)
        topic->write(out);
    else
        buf_puts(out, topic->text);
    write_shipped(cli, topic->name, out);
}

/* Returns false if there is no such topic. */
static bool help_topic(Cli *cli, Str name, Buf *out)
{
    for (const Topic *topic = cli_topics; topic->name; topic++)
        if (str_eq(name, str_from(topic->name))) {
            Buf text = buf_new(out->arena);
            topic_write(cli, topic, &text);
            buf_printf(out, "%s\n\n", topic->title);
            add_indented(text.s, "  ", out);
            return true;
        }
    return false;
}

/* ---- the verb ---- */

/* Prints a manual page, or the completion of a shell. */
static int print_for_programs(Cli *cli, Str section)
{
    const char *shell = cli->options.completion;
    cli->raw = true;
    bool ok = shell ? help_completion(cli, str_from(shell), &cli->out)
                    : help_man(cli, section.n > 0 ? section : STR("1"), &cli->out);
    if (ok)
        return CLI_FINE;
    if (shell)
        error_kind(&cli->err, ERROR_USAGE, "--completion supports bash, zsh and fish, not '%s'",
                   shell);
    else
        error_kind(&cli->err, ERROR_USAGE, "the manual pages are 1, 5, 7 and glossary");
    return cli_fail(cli);
}

/* "hidden dim" may be typed as two words. */
static Str asked_name(const Cli *cli)
{
    Buf name = buf_new(cli->arena);
    for (int i = 0; i < cli->n_operands; i++)
        buf_printf(&name, "%s%s", i > 0 ? " " : "", cli->operand[i]);
    return buf_str(&name);
}

/* Names the words of the glossary, else the topic, that are most like the name. */
static int refuse_name(Cli *cli, Str name)
{
    Nearest nearest = nearest_to(name, 3);
    Buf near = buf_new(cli->arena);
    glossary_near(name, &near);
    for (const Topic *topic = cli_topics; topic->name; topic++)
        nearest_try(&nearest, topic->name);
    error_kind(&cli->err, ERROR_USAGE, "there is no help on '%.*s'", STR_ARG(name));
    if (near.n > 0)
        error_hint(&cli->err, "%s", near.s);
    else if (nearest.name)
        error_hint(&cli->err, "did you mean %s?", nearest.name);
    else
        error_hint(&cli->err,
                   "dimscope help lists verbs and topics, dimscope help glossary lists words");
    return cli_fail(cli);
}

int cli_help(Cli *cli)
{
    Str name = asked_name(cli);
    if (cli->options.man || cli->options.completion)
        return print_for_programs(cli, name);
    if (lua_help_is_meant(name))
        return help_lua(cli, name);
    if (cli->options.json || cli->options.annotations) {
        error_kind(&cli->err, ERROR_USAGE,
                   "--json and --annotations can only be used with 'help lua'");
        return cli_fail(cli);
    }
    if (cli->n_operands == 0) {
        help_overview(&cli->out);
        return CLI_FINE;
    }
    const Verb *verb = str_eq(name, STR("explore")) ? verbs : verb_find(name);
    const GlossaryTerm *term = glossary_find(name);
    if (verb)
        help_verb(verb, &cli->out);
    else if (help_topic(cli, name, &cli->out))
        return CLI_FINE;
    else if (term)
        glossary_write(term, &cli->out);
    else
        return refuse_name(cli, name);
    return CLI_FINE;
}
