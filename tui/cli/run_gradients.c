#include "tui/cli/run.h"

#include "core/base/file.h"
#include "core/prove/cut_check.h"
#include "core/run/verify/gradient_test.h"

/* Of one data set. */
typedef struct {
    bool ran, ok;
    GradientReport gradients; /* of the plan as it is */
    CutProof cuts;            /* with --cuts */
    Error err;
} Outcome;

/* ---- what is shown ---- */

static void put_row(const GradientRow *row, Buf *out)
{
    buf_printf(out, "%s: max error %.3g, allowed %.3g", row->name, row->error, row->allowed);
}

static void put_rows(const GradientReport *report, Buf *out)
{
    if (report->first_wrong >= 0) {
        buf_puts(out, "first that differs  ");
        put_row(&report->rows[report->first_wrong], out);
        buf_puts(out, "\n");
    }
    if (report->worst >= 0) {
        buf_puts(out, "worst               ");
        put_row(&report->rows[report->worst], out);
        buf_puts(out, "\n");
    }
    for (int i = 0; i < report->n_rows; i++)
        if (report->rows[i].reason)
            buf_printf(out, "not compared        %s: %s\n", report->rows[i].name,
                       report->rows[i].reason);
}

static void put_outcome(const Cli *cli, const Outcome *outcome, Buf *out)
{
    const GradientReport *report = &outcome->gradients;
    if (outcome->ran) {
        buf_printf(out, "%d of %d gradients compared, ", report->n_compared, report->n_rows);
        if (report->n_compared == 0)
            buf_puts(out, "so nothing was proven");
        else if (report->n_wrong > 0)
            buf_printf(out, "%d differ", report->n_wrong);
        else
            buf_puts(out, "all agree");
        if (cli->options.cuts && report->run.ok)
            buf_printf(out, " on 1 device; %d cut%s, max error %.3g", outcome->cuts.n_cuts,
                       outcome->cuts.n_cuts == 1 ? "" : "s", outcome->cuts.max_abs);
        buf_puts(out, "\n");
        put_rows(report, out);
    }
    if (outcome->cuts.line)
        buf_printf(out, "differs in sharding %d: %s\n", outcome->cuts.n_cuts, outcome->cuts.line);
}

static Json *row_json(const GradientRow *row)
{
    Json *out = json_object();
    json_set_str(out, "name", row->name);
    json_set_bool(out, "compared", !row->reason);
    if (row->reason) {
        json_set_str(out, "reason", row->reason);
        return out;
    }
    json_set_bool(out, "ok", row->ok);
    json_set_real(out, "max_abs", row->error);
    json_set_real(out, "allowed", row->allowed);
    return out;
}

static Json *name_json(const GradientReport *report, int row)
{
    return row < 0 ? json_null() : json_from_str(str_from(report->rows[row].name));
}

static Json *outcome_json(const Cli *cli, const Outcome *outcome)
{
    const GradientReport *report = &outcome->gradients;
    Json *out = json_object(), *rows = json_array();
    for (int i = 0; i < report->n_rows; i++)
        json_add(rows, row_json(&report->rows[i]));
    json_set_bool(out, "ok", outcome->ok);
    json_set_int(out, "compared", report->n_compared);
    json_set_int(out, "wrong", report->n_wrong);
    json_set(out, "worst", name_json(report, report->worst));
    json_set(out, "first_wrong", name_json(report, report->first_wrong));
    if (cli->options.cuts)
        json_set_int(out, "cuts", outcome->cuts.n_cuts);
    if (outcome->cuts.line)
        json_set_str(out, "failing_cut", outcome->cuts.line);
    json_set(out, "gradients", rows);
    return out;
}

/* ---- the run ---- */

/* With --cuts: one device, then a mesh whose axes shard each op in turn. */
static void run_data_set(Cli *cli, const char *data_set, RunOptions *run, Outcome *out)
{
    SessionOptions options;
    DataShapes data_shapes;
    *out = (Outcome){.ran = false};
    if (!cli_session_options(cli, &options)) {
        out->err = cli->err;
        return;
    }
    options.train = "loss=outputs";
    options.mesh = cli->options.cuts ? NULL : cli->options.mesh;
    run->inputs = data_set;
    Session *session = cli_open_resolved(cli, cli->arena, options, run, &data_shapes, &out->err);
    out->ran = session &&
               run_gradients(cli->arena, session->plan, data_set, run, &out->gradients, &out->err);
    out->ok = out->ran && out->gradients.run.ok;
    if (out->ok && cli->options.cuts && session_set_mesh(session, cli->options.mesh, &out->err)) {
        out->cuts = cut_check(cli->arena, session, run_gradient_test, data_set, run);
        out->ok = !out->cuts.line;
        out->err = out->cuts.err;
    }
    session_close(session);
}

/* The data set of a folder: itself, or its test_data_set_0. */
static const char *data_set_of(Cli *cli, const char *folder)
{
    const char *inner = path_join(cli->arena, folder, "test_data_set_0");
    return file_exists(path_join(cli->arena, folder, "index.json")) ? folder : inner;
}

int cli_run_gradients(Cli *cli)
{
    RunOptions run;
    Outcome outcome;
    if (!cli_run_options(cli, &run) || !cli_check_cuts(cli))
        return cli_fail(cli);
    if (cli->options.train)
        error_kind(
            &cli->err, ERROR_USAGE,
            "--grad-vectors reads the gradients of the outputs from the folder: leave out --train");
    else if (cli->n_operands != 1)
        error_kind(&cli->err, ERROR_USAGE, "run needs one model");
    if (error_is_set(&cli->err))
        return cli_fail(cli);
    if (cli->options.cuts)
        run.isolated = false;
    run_data_set(cli, data_set_of(cli, cli->options.grad_vectors), &run, &outcome);
    if (cli->options.json && outcome.ran)
        cli_write_json(cli, outcome_json(cli, &outcome));
    else
        put_outcome(cli, &outcome, &cli->out);
    if (error_is_set(&outcome.err)) {
        cli->err = outcome.err;
        return cli_fail(cli);
    }
    return outcome.ok ? CLI_FINE : CLI_ILLEGAL;
}
