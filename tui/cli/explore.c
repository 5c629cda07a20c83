#include "tui/app/app.h"
#include "tui/app/plain.h"
#include "tui/cli/cli.h"
#include "tui/cli/explore_export.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

enum { SCREEN_MAX = 1000 };

/* ---- the verb ---- */

static bool read_size(Cli *cli, AppOptions *out)
{
    Str text = str_from(cli->options.size);
    int64_t cross = str_find(text, STR("x")), width = 0, height = 0;
    if (text.n == 0)
        return true;
    if (cross < 0 || !str_to_int((Str){text.s, (size_t)cross}, &width) ||
        !str_to_int((Str){text.s + cross + 1, text.n - (size_t)cross - 1}, &height) || width < 1 ||
        height < 1 || width > SCREEN_MAX || height > SCREEN_MAX)
        return error_kind(&cli->err, ERROR_USAGE,
                          "--size must be COLSxROWS, for example 80x24, not '%s'",
                          cli->options.size);
    out->width = (int)width;
    out->height = (int)height;
    return true;
}

static bool read_color(Cli *cli, ColorMode *out)
{
    static const char *const names[] = {
        [COLOR_MODE_AUTO] = "auto", [COLOR_MODE_NEVER] = "never", [COLOR_MODE_ALWAYS] = "always"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!cli->options.color || strcmp(cli->options.color, names[i]) == 0) {
            *out = (ColorMode)i;
            return true;
        }
    return error_kind(&cli->err, ERROR_USAGE, "--color must be auto, always or never, not '%s'",
                      cli->options.color);
}

/* Whether the explorer has somewhere to show itself. */
static bool has_screen(const CliOptions *given)
{
    return given->plain || given->script || given->screen ||
           (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO));
}

static bool line_by_line(const CliOptions *given)
{
    const char *term = getenv("TERM");
    bool headless = given->script || given->screen;

    return given->plain || (!headless && (!term || !*term || strcmp(term, "dumb") == 0));
}

static Session *open_session(void *context, Progress *progress, Error *err)
{
    Cli *cli = context;
    Session *session = cli_open_watched(cli, progress);
    if (!session)
        *err = cli->err;
    return session;
}

static int explore_lines(Cli *cli, const AppOptions *options)
{
    Session *session = cli_open(cli);
    if (!session)
        return cli_fail(cli);
    plain_run(session, options, stdin, stdout);
    session_close(session);
    return CLI_FINE;
}

static int explore(Cli *cli, bool tour)
{
    const CliOptions *given = &cli->options;
    AppOptions options = {.ascii = given->ascii, .no_mouse = given->no_mouse};
    options.tour = tour;
    options.script = given->script;
    options.screen = given->screen;
    bool for_model = given->config && str_ends(str_from(given->config), STR(".json"));
    const char *settings = for_model ? NULL : given->config;
    if (settings || !(given->script || given->screen))
        options.config = config_read(cli->arena, settings);
    options.watch = true;
    options.restore = options.config && options.config->settings.restore;
    options.fresh = given->fresh;
    options.offers = explore_offers(cli->arena);
    options.commands = &explore_export;
    options.n_commands = 1;
    if (!read_size(cli, &options) || !read_color(cli, &options.color))
        return cli_fail(cli);
    AppOpener opener = {open_session, cli, cli->operand[0], given->policy, given->mesh};
    signal(SIGINT, SIG_DFL); /* here it is a key, and the terminal is put right first */
    if (line_by_line(given))
        return explore_lines(cli, &options);
    if (app_run(&opener, &options, &cli->err))
        return CLI_FINE;
    return cli->err.kind == ERROR_CANCELLED ? CLI_INTERRUPTED : cli_fail(cli);
}

int cli_explore(Cli *cli)
{
    return has_screen(&cli->options) ? explore(cli, false) : cli_plan(cli);
}

int cli_tour(Cli *cli)
{
    if (!has_screen(&cli->options)) {
        tour_format(&cli->out);
        return CLI_FINE;
    }
    const char *model = cli->hooks->data_file(cli->hooks->context, cli->arena, tour_model);
    if (!model) {
        error_kind(&cli->err, ERROR_UNREADABLE, "the sample %s is not installed", tour_model);
        error_hint(&cli->err, "it comes with the program; make install installs it");
        return cli_fail(cli);
    }
    const char **operand = arena_array(cli->arena, const char *, 1);
    operand[0] = model;
    cli->operand = operand;
    cli->n_operands = 1;
    cli->options.mesh = tour_mesh;
    cli->options.policy = tour_policy;
    return explore(cli, true);
}
