/* diff_beside.c - `dimscope diff PLAN --actual TRACE`: a plan beside what a job of it ran; and
 * `dimscope diff MODEL --joint FILE`: the step that is derived of a model beside the one that a
 * file holds. */
#include "tui/cli/cli.h"

#include "core/model/stated.h"
#include "core/summary/actual.h"
#include "core/summary/step_diff.h"

#include <math.h>

/* ---- what ran ---- */

/* A positive number of an option; `without` where it is not given. */
static bool positive(Cli *cli, const char *name, const char *text, double without, double *out)
{
    *out = without;
    if (!text || (str_to_real(str_from(text), out) && *out > 0 && isfinite(*out)))
        return true;
    return error_kind(&cli->err, ERROR_USAGE, "--%s needs a number above 0, not '%s'", name, text);
}

int cli_diff_actual(Cli *cli)
{
    double slow, steps;
    const CliOptions *options = &cli->options;
    if (cli->n_operands != 1) {
        error_kind(&cli->err, ERROR_USAGE, "diff --actual needs one plan");
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

/* ---- the step in a file ---- */

/* The file as it is: a policy's training step would be one of a step. */
static Session *open_stated(Cli *cli)
{
    Cli one = *cli;
    const char *operand = cli->options.joint;
    one.operand = &operand;
    one.options.train = "none";
    Session *session = cli_open(&one);
    cli->err = one.err;
    if (!session || session->graph->stated)
        return session;
    error_kind(&cli->err, ERROR_USAGE, "the file holds no gradients of a loss");
    error_in_file(&cli->err, operand);
    error_hint(&cli->err, "torch's joint graph names its gradients; a jitted jax step must return "
                          "the loss and gradients, or the next values of its arguments");
    session_close(session);
    return NULL;
}

static bool has_update(const Session *session)
{
    for (int i = 0; i < session->inferred->n_program; i++)
        if (op_phase(session->graph, session->inferred->program[i]) == PHASE_UPDATE)
            return true;
    return false;
}

/* Of a file without an update the derived step has none that keeps states. */
static Session *open_derived(Cli *cli, const Session *stated)
{
    Cli one = *cli;
    if (!one.options.train)
        one.options.train = has_update(stated) ? "adamw" : "sgd";
    Session *session = cli_open(&one);
    cli->err = one.err;
    if (!session || session->graph->phase)
        return session;
    error_kind(&cli->err, ERROR_USAGE,
               "--joint compares a training step, but --train none plans none");
    session_close(session);
    return NULL;
}

int cli_diff_joint(Cli *cli)
{
    if (cli->n_operands != 1) {
        error_kind(&cli->err, ERROR_USAGE,
                   "diff --joint needs one model and a file of its training step");
        error_hint(&cli->err, "dimscope diff MODEL.pt2 --joint JOINT.pt2 -m MESH");
        return cli_fail(cli);
    }
    Session *stated = open_stated(cli);
    Session *derived = stated ? open_derived(cli, stated) : NULL;
    if (!derived) {
        session_close(stated);
        return cli_fail(cli);
    }
    const StepDiff *diff = step_diff(cli->arena, derived, stated);
    if (cli->options.json)
        cli_write_json(cli, step_diff_json(diff));
    else
        step_diff_format(diff, &cli->out);
    int code = diff->same ? CLI_FINE : CLI_ILLEGAL;
    session_close(derived);
    session_close(stated);
    return code;
}
