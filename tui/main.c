/* main.c - the program: reads the command line, lets the verb work, writes its answer. */
#include "core/base/file.h"
#include "core/base/memory.h"
#include "scripts/hooks.h"
#include "tui/cli/help.h"
#include "tui/cli/options.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* Files are written beside their place and renamed, so nothing is left half done. */
static void interrupted(int signal_number)
{
    (void)signal_number;
    _exit(CLI_INTERRUPTED);
}

/* The core ends by abort() where there is no memory, with errno as calloc() set it. */
static void aborted(int signal_number)
{
    if (errno == ENOMEM) {
        (void)file_write_all(STDERR_FILENO, STR("error: out of memory\n"));
        _exit(CLI_USAGE);
    }
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void set_signals(void)
{
    struct sigaction action = {.sa_handler = interrupted};
    sigaction(SIGINT, &action, NULL);
    action.sa_handler = aborted;
    sigaction(SIGABRT, &action, NULL);
    action.sa_handler = SIG_IGN; /* a reader that goes away is an error of the write */
    sigaction(SIGPIPE, &action, NULL);
}

static bool usage_error(Cli *cli)
{
    const Verb *verb = cli->verb;
    const char *name = verb->action.name;
    if (cli->n_operands >= verb->n_min && cli->n_operands <= verb->n_max)
        return false;
    if (verb == verbs) {
        const char *near = verb_nearest(str_from(cli->operand[0]));
        error_kind(&cli->err, ERROR_USAGE, "'%s' is no verb, and a model stands alone",
                   cli->operand[0]);
        error_hint(&cli->err, "%s%s", near ? "did you mean dimscope " : "see dimscope help",
                   near ? near : "");
        return true;
    }
    error_kind(&cli->err, ERROR_USAGE, "%s needs %s", name,
               *verb->action.args ? verb->action.args : "no operand");
    error_hint(&cli->err, "see dimscope help %s", name);
    return true;
}

static int run_verb(Cli *cli)
{
    const CliOptions *options = &cli->options;
    if (options->version) {
        help_version(&cli->out);
        return CLI_FINE;
    }
    if (options->help) {
        if (cli->verb == verbs)
            help_overview(&cli->out);
        else
            help_verb(cli->verb, &cli->out);
        return CLI_FINE;
    }
    if (cli->verb == verbs && cli->n_operands == 0) {
        Buf usage = buf_new(cli->arena);
        help_usage(&usage);
        fputs(usage.s, stderr);
        return CLI_USAGE;
    }
    return usage_error(cli) ? cli_fail(cli) : cli->verb->run(cli);
}

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, "");
    set_signals();
    memory_give_back();
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, NULL);
    SessionHooks hooks = scripts_hooks(scripts);
    Cli cli = {.arena = arena, .hooks = &hooks, .out = buf_new(arena)};

    int code = cli_parse(&cli, argc, argv) ? CLI_FINE : cli_fail(&cli);
    cli.ascii = cli.options.ascii || strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
    if (code == CLI_FINE)
        code = run_verb(&cli);
    if (!cli_write(&cli) && error_is_set(&cli.err))
        code = cli_fail(&cli);

    scripts_free(scripts);
    arena_free(arena);
    return code;
}
