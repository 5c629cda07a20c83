#include "tui/cli/run.h"

#include "core/base/file.h"
#include "core/plan/json_forms.h"
#include "core/run/estimate.h"
#include "core/run/plugin.h"
#include "core/run/trace/trace_json.h"
#include "tui/cli/plan_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { REPEAT_MAX = 1000000, STALL_MAX = 86400 };

static bool read_number(Cli *cli, const char *name, const char *given, int64_t least, int64_t most,
                        int64_t *out)
{
    if (!given || (str_to_int(str_from(given), out) && *out >= least && *out <= most))
        return true;
    error_kind(&cli->err, ERROR_USAGE, "--%s cannot be '%s'", name, given);
    return error_hint(&cli->err, "give a whole number from %" PRId64 " to %" PRId64, least, most);
}

bool cli_run_options(Cli *cli, RunOptions *out)
{
    int64_t seed = 0, repeat = 1, stall = RUN_STALL_S;
    if (!read_number(cli, "seed", cli->options.seed, 0, INT64_MAX, &seed) ||
        !read_number(cli, "repeat", cli->options.repeat, 1, REPEAT_MAX, &repeat) ||
        !read_number(cli, "stall", cli->options.stall, 1, STALL_MAX, &stall))
        return false;
    int64_t steps = 0;
    if (!read_number(cli, "steps", cli->options.steps, 1, REPEAT_MAX, &steps))
        return false;
    if ((cli->options.steps || cli->options.loss_csv) && !cli->options.train) {
        error_kind(&cli->err, ERROR_USAGE, "--%s can only be used with --train",
                   cli->options.steps ? "steps" : "loss-csv");
        return error_hint(&cli->err, "add for example --train adamw: see help train");
    }
    if (steps > 0 && (cli->options.repeat || cli->options.warmup))
        return error_kind(&cli->err, ERROR_USAGE,
                          "--steps N trains N steps: leave out --repeat and --warmup");
    int64_t warmup = repeat > 1;
    if (!read_number(cli, "warmup", cli->options.warmup, 0, REPEAT_MAX, &warmup))
        return false;
    *out = (RunOptions){.verify = cli->options.verify, .seed = (uint64_t)seed, .isolated = true};
    out->backend = cli->options.backend;
    out->weights = cli->options.weights;
    out->draw_missing = cli->options.draw_missing;
    out->inputs = cli->options.inputs;
    out->stall_s = (double)stall;
    out->deterministic = cli->options.deterministic;
    out->repeat = (int)repeat;
    out->steps = (int)steps;
    out->warmup = (int)warmup;
    out->trace = cli->options.trace_file != NULL;
    return true;
}

bool cli_all_have(Cli *cli, World *world, const Session *session)
{
    if (world->n == 1 || world->meet(world, session == NULL, &cli->err))
        return session != NULL;
    if (!error_is_set(&cli->err))
        error_kind(&cli->err, ERROR_RUN, "another process could not open the model");
    return false;
}

static bool write_trace(Cli *cli, const Session *session, const RunReport *report)
{
    const char *path = cli->options.trace_file;
    if (!path || report->elsewhere)
        return true;
    Buf text = buf_new(cli->arena);
    Timeline *timeline = timeline_new(session);
    trace_json_put(session, timeline, report->trace, &text);
    timeline_free(timeline);
    return file_write(path, buf_str(&text), &cli->err);
}

/* On a terminal, how far it is: the line is taken away again. */
static bool show_progress(void *context, int done, int total)
{
    int *shown = context, percent = total > 0 ? (int)(100.0 * done / total) : 0;
    if (percent != *shown)
        fprintf(stderr, "\r%3d%%\r", percent);
    *shown = percent;
    return true;
}

/* "found from the data: NonZero_12.1=5, elements of 'starts'" */
static void put_data_shapes(const DataShapes *data_shapes, Buf *out)
{
    const char *comma = "found from the data: ";
    for (int i = data_shapes->dims.n - data_shapes->n_sizes; i < data_shapes->dims.n; i++) {
        buf_printf(out, "%s%.*s=%" PRId64, comma, STR_ARG(data_shapes->dims.at[i].name),
                   data_shapes->dims.at[i].size);
        comma = ", ";
    }
    for (int i = data_shapes->values.n - data_shapes->n_values; i < data_shapes->values.n; i++) {
        buf_printf(out, "%selements of '%.*s'", comma, STR_ARG(data_shapes->values.at[i].tensor));
        comma = ", ";
    }
    if (data_shapes->n_sizes + data_shapes->n_values > 0)
        buf_putc(out, '\n');
}

static Json *data_shapes_json(const DataShapes *data_shapes)
{
    Json *out = json_object();
    for (int i = data_shapes->dims.n - data_shapes->n_sizes; i < data_shapes->dims.n; i++)
        json_set_int(out, data_shapes->dims.at[i].name.s, data_shapes->dims.at[i].size);
    return out;
}

/* Says how long the run takes, if that is long, and goes on: C-c stops it. False when it needs more
 * memory than there is. */
static bool announce(Cli *cli, const Session *session, const RunOptions *options)
{
    RunEstimate estimate, smaller;
    if (cli->silent || (options->backend && strcmp(options->backend, "cuda") == 0))
        return true;
    run_estimate(session->plan, options, &estimate);
    if (!run_estimate_fits(session, &estimate, &cli->err))
        return false;
    if (estimate.us < RUN_LONG_US)
        return true;
    Buf text = buf_new(cli->arena);
    buf_puts(&text, "the run takes ");
    run_estimate_put(&estimate, &text);
    const char *dims = run_estimate_smaller(cli->arena, session, &estimate, &smaller);
    if (dims) {
        buf_puts(&text, "; with --dim ");
        text_printable(str_from(dims), &text);
        buf_putc(&text, ' ');
        run_estimate_put(&smaller, &text);
    }
    fprintf(stderr, "%s\n", text.s);
    return true;
}

/* Losses as rows: step, loss, and with verify that of one device and the drift from it. */
static bool write_losses(Cli *cli, const RunReport *report)
{
    const char *path = cli->options.loss_csv;
    if (!path || report->elsewhere)
        return true;
    Buf text = buf_new(cli->arena);
    buf_puts(&text, cli->options.verify ? "step,loss,one_device,drift,us\n" : "step,loss,us\n");
    for (int i = 0; i < report->n_steps; i++) {
        const RunStep *step = &report->steps[i];
        buf_printf(&text, "%d,%.9g", i + 1, run_shown(step->loss));
        if (cli->options.verify)
            buf_printf(&text, ",%.9g,%.3g", run_shown(step->one_device), step->drift);
        buf_printf(&text, ",%.1f\n", step->us);
    }
    return file_write(path, buf_str(&text), &cli->err);
}

static int run_session(Cli *cli, const Session *session, const DataShapes *data_shapes,
                       const RunOptions *options)
{
    RunReport report;
    int shown = -1;
    bool watched = !cli->silent && isatty(STDERR_FILENO);
    RunOptions watching = *options;
    watching.progress = watched ? show_progress : NULL;
    watching.context = &shown;
    bool ran = announce(cli, session, options) &&
               run_plan(cli->arena, session->plan, &watching, &report, &cli->err);
    if (shown >= 0)
        fputs("    \r", stderr);
    if (!ran || !write_trace(cli, session, &report) || !write_losses(cli, &report))
        return cli_fail(cli);
    Findings findings = plan_text_unheeded(cli->arena, session->plan);
    if (!report.elsewhere && cli->options.json) {
        Json *json = run_report_json(session, &report);
        json_set(json, "found", data_shapes_json(data_shapes));
        json_set(json, "findings", json_of_findings(&findings));
        cli_write_json(cli, json);
    } else if (!report.elsewhere) {
        plan_text_findings(&findings, &cli->out);
        put_data_shapes(data_shapes, &cli->out);
        run_report_text(session, &report, &cli->out);
    }
    return report.ok ? CLI_FINE : CLI_ILLEGAL;
}

static Session *open_session(Cli *cli, const RunOptions *options, DataShapes *data_shapes)
{
    SessionOptions wanted;
    if (!cli_session_options(cli, &wanted))
        return NULL;
    return cli_open_resolved(cli, cli->arena, wanted, options, data_shapes, &cli->err);
}

int cli_run(Cli *cli)
{
    bool mpi = cli->options.backend && strcmp(cli->options.backend, "mpi") == 0;
    bool tests = cli->options.onnx_test || cli->options.vectors;
    bool compares = tests || cli->options.grad_vectors;
    if (compares && !mpi)
        return tests ? cli_run_tests(cli) : cli_run_gradients(cli);
    if (compares)
        error_kind(&cli->err, ERROR_USAGE, "--%s runs in one process: start it without mpirun",
                   cli->options.onnx_test ? "onnx-test"
                   : cli->options.vectors ? "vectors"
                                          : "grad-vectors");
    else if (cli->options.cuts)
        error_kind(&cli->err, ERROR_USAGE,
                   "--cuts can only be used with --onnx-test, --vectors or --grad-vectors");
    if (error_is_set(&cli->err))
        return cli_fail(cli);
    RunOptions options;
    DataShapes data_shapes;
    World world;
    if (!cli_run_options(cli, &options) || !world_open(options.backend, &world, &cli->err))
        return cli_fail(cli);
    options.world = &world;
    cli->silent = world.me > 0;
    if (cli->n_operands != 1)
        error_kind(&cli->err, ERROR_USAGE, "run needs one model");
    Session *session = error_is_set(&cli->err) ? NULL : open_session(cli, &options, &data_shapes);
    int code = cli_all_have(cli, &world, session)
                   ? run_session(cli, session, &data_shapes, &options)
                   : cli_fail(cli);
    session_close(session);
    /* mpirun ends all processes when one has ended with a code that is not 0. */
    if (!cli_write(cli) && error_is_set(&cli->err))
        code = cli_fail(cli);
    world.close(&world);
    return code;
}
