/* search.c - `dimscope search`: the plan of least time within a limit of memory, on a mesh or on N
 * devices. */
#include "tui/cli/cli.h"

#include "core/base/units.h"
#include "tui/cli/search.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>

/* A handler of signals has no other way to it. */
static Progress watched;

static void stop(int signal_number)
{
    (void)signal_number;
    progress_stop(&watched);
}

static bool read_seconds(Cli *cli, double *out)
{
    const char *text = cli->options.seconds;
    char *end;
    *out = 0;
    if (!text)
        return true;
    errno = 0;
    *out = strtod(text, &end);
    if (end != text && *end == '\0' && errno == 0 && *out > 0 && *out < 1e9)
        return true;
    error_kind(&cli->err, ERROR_USAGE, "--seconds cannot be '%s'", text);
    return error_hint(&cli->err, "write a number above 0, as in --seconds 10");
}

static bool read_peak(Cli *cli, int64_t *out)
{
    const char *text = cli->options.max_peak;
    *out = 0;
    if (!text || (units_parse_bytes(str_from(text), out) && *out > 0))
        return true;
    error_kind(&cli->err, ERROR_USAGE, "--max-peak cannot be '%s'", text);
    return error_hint(&cli->err, "write it as in --max-peak 75GiB");
}

int cli_search(Cli *cli)
{
    double seconds;
    int64_t max_peak;
    if (!read_seconds(cli, &seconds) || !read_peak(cli, &max_peak))
        return cli_fail(cli);
    struct sigaction action = {.sa_handler = stop, .sa_flags = (int)SA_RESETHAND}, before;
    sigaction(SIGINT, &action, &before);
    int code = cli->options.devices ? search_devices(cli, &watched, seconds, max_peak)
                                    : search_mesh(cli, &watched, seconds, max_peak);
    sigaction(SIGINT, &before, NULL);
    return code;
}
