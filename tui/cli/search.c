/* search.c - `dimscope search`: the plan of least time within a limit of memory, on a mesh or on N
 * devices. */
#include "tui/cli/cli.h"

#include "core/base/units.h"
#include "core/search/config_pins.h"
#include "tui/cli/search.h"

static bool read_peak(Cli *cli, int64_t *out)
{
    const char *text = cli->options.max_peak;
    *out = 0;
    if (!text || (units_parse_bytes(str_from(text), out) && *out > 0))
        return true;
    error_kind(&cli->err, ERROR_USAGE, "--max-peak cannot be '%s'", text);
    return error_hint(&cli->err, "write it like this: --max-peak 75GiB");
}

bool search_read_gap(Cli *cli, double *out)
{
    const char *text = cli->options.gap;
    *out = 0;
    if (!text || config_gap_read(text, out))
        return true;
    error_kind(&cli->err, ERROR_USAGE, "--gap cannot be '%s'", text);
    return error_hint(&cli->err, "write it like this: --gap 1%%");
}

int cli_search(Cli *cli)
{
    double seconds;
    int64_t max_peak;
    if (!cli_seconds(cli, 0, &seconds) || !read_peak(cli, &max_peak))
        return cli_fail(cli);
    Progress *watched = cli_watch();
    bool whole = cli->options.devices || search_asks_stages(cli);
    int code = whole ? search_devices(cli, watched, seconds, max_peak)
                     : search_mesh(cli, watched, seconds, max_peak);
    cli_unwatch();
    return code;
}
