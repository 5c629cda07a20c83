/* diff_actual.c - `dimscope diff PLAN --actual TRACE`: a plan beside what a job of it ran. */
#include "tui/cli/cli.h"

#include "core/summary/actual.h"

#include <math.h>

/* A positive number of an option; `without` where it is not given. */
static bool positive(Cli *cli, const char *name, const char *text, double without, double *out)
{
    *out = without;
    if (!text || (str_to_real(str_from(text), out) && *out > 0 && isfinite(*out)))
        return true;
    return error_kind(&cli->err, ERROR_USAGE, "--%s takes a number above 0, not '%s'", name, text);
}

int cli_diff_actual(Cli *cli)
{
    double slow, steps;
    const CliOptions *options = &cli->options;
    if (cli->n_operands != 1) {
        error_kind(&cli->err, ERROR_USAGE, "diff --actual compares one plan with what ran");
        error_hint(&cli->err, "dimscope diff PLAN.json --actual TRACE.json");
        return cli_fail(cli);
    }
    if (!positive(cli, "slow", options->slow, 2, &slow) ||
        !positive(cli, "steps", options->steps, 1, &steps))
        return cli_fail(cli);
    const ActualTrace *trace = actual_read(cli->arena, options->actual, &cli->err);
    Session *session = trace ? cli_open(cli) : NULL;
    if (!session)
        return cli_fail(cli);
    const Actual *actual =
        actual_compare(cli->arena, session, trace, slow, steps < 1 << 20 ? (int)steps : 1 << 20);
    if (options->json)
        cli_write_json(cli, actual_json(actual));
    else
        actual_format(actual, &cli->out);
    int code = actual->n_missing + actual->n_unplanned > 0 ? CLI_ILLEGAL : CLI_FINE;
    session_close(session);
    return code;
}
