/* completion.c - what a shell may offer after "dimscope ..", from the tables of verbs and options.
 *
 * Each shell gets the same facts in its own words: verbs with their help, options per verb with
 * theirs, and for an option's argument the words it may be, or files. What is shipped (policies,
 * machines) is what was there when the script was made.
 */
#include "tui/cli/help.h"
#include "core/propagate/propagators.h"

#include "tui/help/glossary.h"
#include "tui/help/lua_help.h"
#include "viz/report/tables.h"

/* What an option's argument, or a verb's operand, may be. */
typedef struct {
    const char *option;                /* its name */
    const char *words;                 /* with blanks between; NULL: files */
    const char *shipped;               /* kind of shipped scripts that come first, or NULL */
    const char *(*list)(Arena *arena); /* lists the words, or NULL */
} ArgWords;

static const char *list_kinds(Arena *arena)
{
    Buf words = buf_new(arena);

    for (int kind = 0; kind < DIAGRAM_KIND_COUNT; kind++)
        buf_printf(&words, "%s%s", kind > 0 ? " " : "", diagram_kind((DiagramKind)kind)->name);
    return words.s;
}

static const char *list_tables(Arena *arena)
{
    Buf words = buf_new(arena);

    for (const PlanTable *const *table = plan_tables; *table; table++)
        buf_printf(&words, "%s%s", words.n > 0 ? " " : "", (*table)->name);
    return words.s;
}

static const char *list_systems(Arena *arena)
{
    return export_format_names(arena, true, "", " ");
}

static const char *list_propagators(Arena *arena)
{
    return propagator_names(arena, " ");
}

/* `rules` is what `rule --profile` answers to besides. */
static const char *list_profiles(Arena *arena)
{
    return arena_printf(arena, "%s rules", propagator_profiles(arena, " "));
}

static const ArgWords values[] = {
    {"policy", NULL, "policies", NULL},
    {"machine", NULL, "machines", NULL},
    {"pins", NULL, NULL, NULL},
    {"output", NULL, NULL, NULL},
    {"weights", NULL, NULL, NULL},
    {"trace", NULL, NULL, NULL},
    {"screen", NULL, NULL, NULL},
    {"config", NULL, NULL, NULL},
    {"propagate", NULL, NULL, list_propagators},
    {"profile", NULL, NULL, list_profiles},
    {"kind", NULL, NULL, list_kinds},
    {"table", NULL, NULL, list_tables},
    {"to", NULL, NULL, list_systems},
    {"backend", "host mpi cuda auto", NULL, NULL},
    {"color", "auto never", NULL, NULL},
    {"fuse", "attention", NULL, NULL},
    {"completion", "bash zsh fish", NULL, NULL},
    {"dtype", "f32 f64 f16 bf16 i64 i32 i8 u8 bool", NULL, NULL},
};

static const ArgWords *words_for(const Option *option)
{
    if (option->kind == OPTION_FLAG)
        return NULL;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (strcmp(values[i].option, option->name) == 0)
            return &values[i];
    return NULL;
}

static const char *words_of(Cli *cli, const ArgWords *value)
{
    return value->list      ? value->list(cli->arena)
           : value->shipped ? cli->hooks->shipped(cli->hooks->context, cli->arena, value->shipped)
           : value->words   ? value->words
                            : "";
}

static bool takes_files(const ArgWords *value)
{
    return value && !value->words && !value->list;
}

static const char *help_words(Cli *cli)
{
    Buf words = buf_new(cli->arena);
    for (const Verb *verb = verbs + 1; verb->run; verb++)
        buf_printf(&words, "%s ", verb->action.name);
    for (const Topic *topic = cli_topics; topic->name; topic++)
        buf_printf(&words, "%s ", topic->name);
    buf_puts(&words, "explore ");
    glossary_words(&words);
    lua_help_words(cli->hooks->rows(cli->hooks->context, cli->arena), &words);
    return words.s;
}

/* ---- bash ---- */

static void bash_option(Cli *cli, const Option *option, Buf *out)
{
    const ArgWords *value = words_for(option);
    if (option->kind == OPTION_FLAG)
        return;
    buf_printf(out, "    --%s", option->name);
    if (option->key)
        buf_printf(out, "|-%c", option->key);
    buf_puts(out, ")");
    if (value)
        buf_printf(out, " COMPREPLY=($(compgen %s-W \"%s\" -- \"$word\"));",
                   takes_files(value) ? "-f " : "", words_of(cli, value));
    buf_puts(out, " return ;;\n");
}

static void add_options_of(const Verb *verb, Buf *out)
{
    for (const Option *option = cli_options; option->name; option++) {
        if (!(option->verbs & verb->bit))
            continue;
        buf_printf(out, "--%s ", option->name);
        if (option->key)
            buf_printf(out, "-%c ", option->key);
    }
}

static void bash(Cli *cli, Buf *out)
{
    buf_puts(out, "# bash completion of dimscope\n_dimscope()\n{\n"
                  "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
                  "    local verb=${COMP_WORDS[1]} options\n    COMPREPLY=()\n"
                  "    case $before in\n");
    for (const Option *option = cli_options; option->name; option++)
        bash_option(cli, option, out);
    buf_puts(out, "    esac\n    case $verb in\n");
    for (const Verb *verb = verbs + 1; verb->run; verb++) {
        buf_printf(out, "    %s) options='", verb->action.name);
        add_options_of(verb, out);
        buf_puts(out, "' ;;\n");
    }
    buf_puts(out, "    *) options='");
    add_options_of(verbs, out);
    buf_puts(out, "' ;;\n    esac\n    if [[ $word == -* ]]; then\n"
                  "        COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
                  "    elif [[ $COMP_CWORD -gt 1 && $verb == help ]]; then\n"
                  "        COMPREPLY=($(compgen -W '");
    buf_puts(out, help_words(cli));
    buf_puts(out, "' -- \"$word\"))\n    else\n        COMPREPLY=($(compgen -f -- \"$word\"))\n"
                  "        [[ $COMP_CWORD -gt 1 ]] ||\n            COMPREPLY+=($(compgen -W '");
    for (const Verb *verb = verbs + 1; verb->run; verb++)
        buf_printf(out, "%s%s", verb == verbs + 1 ? "" : " ", verb->action.name);
    buf_puts(out, "' -- \"$word\"))\n    fi\n}\n"
                  "complete -o filenames -F _dimscope dimscope\n");
}

/* ---- zsh ---- */

/* "--mesh[the devices]:MESH:" with what it may be behind. */
static void zsh_option(Cli *cli, const Option *option, const char *dashes, Buf *out)
{
    const ArgWords *value = words_for(option);
    Buf spec = buf_new(cli->arena);
    buf_printf(&spec, "%s%s%s[", option->kind == OPTION_LIST ? "*" : "", dashes,
               strlen(dashes) == 1 ? (char[]){option->key, '\0'} : option->name);
    for (const char *c = option->help; *c; c++)
        buf_printf(&spec, "%s%c", *c == '[' || *c == ']' || *c == ':' ? "\\" : "", *c);
    buf_putc(&spec, ']');
    if (option->kind != OPTION_FLAG)
        buf_printf(&spec, ":%s:", *option->arg ? "argument" : "");
    if (value && takes_files(value) && *words_of(cli, value))
        buf_printf(&spec, "{_values shipped %s; _files}", words_of(cli, value));
    else if (takes_files(value))
        buf_puts(&spec, "_files");
    else if (value)
        buf_printf(&spec, "(%s)", words_of(cli, value));
    buf_puts(out, " \\\n            ");
    buf_put_quoted(out, str_from(spec.s));
}

static void zsh_verb(Cli *cli, const Verb *verb, Buf *out)
{
    buf_printf(out, "    %s)\n        _arguments -S", *verb->action.name ? verb->action.name : "*");
    for (const Option *option = cli_options; option->name; option++) {
        if (!(option->verbs & verb->bit))
            continue;
        zsh_option(cli, option, "--", out);
        if (option->key)
            zsh_option(cli, option, "-", out);
    }
    if (verb->run == cli_help)
        buf_printf(out, " \\\n            '*:topic:(%s)'", help_words(cli));
    else
        buf_puts(out, " \\\n            '*:file:_files'");
    buf_puts(out, " ;;\n");
}

static void zsh(Cli *cli, Buf *out)
{
    buf_puts(out, "#compdef dimscope\n# zsh completion of dimscope\n"
                  "if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n    local -a verbs\n"
                  "    verbs=(\n");
    for (const Verb *verb = verbs + 1; verb->run; verb++) {
        Buf row = buf_new(cli->arena);
        buf_printf(&row, "%s:%s", verb->action.name, verb->action.help);
        buf_puts(out, "        ");
        buf_put_quoted(out, str_from(row.s));
        buf_putc(out, '\n');
    }
    buf_puts(out, "    )\n    _describe verb verbs\n    _files\n    return\nfi\n"
                  "local verb=$words[2]\ncase $verb in\n");
    for (const Verb *verb = verbs + 1; verb->run; verb++)
        zsh_verb(cli, verb, out);
    zsh_verb(cli, verbs, out);
    buf_puts(out, "esac\n");
}

/* ---- fish ---- */

static void fish_option(Cli *cli, const Option *option, const char *of, Buf *out)
{
    const ArgWords *value = words_for(option);
    buf_printf(out, "complete -c dimscope -n %s -l %s", of, option->name);
    if (option->key)
        buf_printf(out, " -s %c", option->key);
    if (option->kind != OPTION_FLAG)
        buf_puts(out, takes_files(value) ? " -r -F" : " -x");
    if (value && *words_of(cli, value))
        buf_printf(out, " -a '%s'", words_of(cli, value));
    buf_puts(out, " -d ");
    buf_put_quoted(out, str_from(option->help));
    buf_putc(out, '\n');
}

static void fish(Cli *cli, Buf *out)
{
    buf_puts(out, "# fish completion of dimscope\nset -l verbs");
    for (const Verb *verb = verbs + 1; verb->run; verb++)
        buf_printf(out, " %s", verb->action.name);
    buf_puts(out, "\n");
    for (const Verb *verb = verbs + 1; verb->run; verb++) {
        buf_printf(out,
                   "complete -c dimscope -n \"not __fish_seen_subcommand_from $verbs\" -a %s -d ",
                   verb->action.name);
        buf_put_quoted(out, str_from(verb->action.help));
        buf_putc(out, '\n');
    }
    for (const Verb *verb = verbs; verb->run; verb++) {
        const char *of =
            verb == verbs
                ? "\"not __fish_seen_subcommand_from $verbs\""
                : arena_printf(cli->arena, "\"__fish_seen_subcommand_from %s\"", verb->action.name);
        for (const Option *option = cli_options; option->name; option++)
            if (option->verbs & verb->bit)
                fish_option(cli, option, of, out);
    }
    buf_printf(out, "complete -c dimscope -n \"__fish_seen_subcommand_from help\" -f -a '%s'\n",
               help_words(cli));
}

bool help_completion(Cli *cli, Str shell, Buf *out)
{
    if (str_eq(shell, STR("bash")))
        bash(cli, out);
    else if (str_eq(shell, STR("zsh")))
        zsh(cli, out);
    else if (str_eq(shell, STR("fish")))
        fish(cli, out);
    else
        return false;
    return true;
}
