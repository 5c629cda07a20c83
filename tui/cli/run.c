#include "tui/cli/run.h"

#include "core/base/units.h"
#include "core/run/world.h"
#include "core/run/plugin.h"
#include "tui/views/label.h"
#include "tui/cli/table.h"

#include <inttypes.h>
#include <stdlib.h>

enum { REPEAT_MAX = 1000000, STALL_MAX = 86400, SLOWEST_OPS = 10, NAME_MOST = 50 };

/* ---- options ---- */

static bool read_number(Cli *cli, const char *name, const char *given, int64_t least, int64_t most,
                        int64_t *out)
{
    if (!given || (str_to_int(str_from(given), out) && *out >= least && *out <= most))
        return true;
    return error_kind(&cli->err, ERROR_USAGE, "--%s cannot be '%s'", name, given);
}

bool cli_run_options(Cli *cli, RunOptions *out)
{
    int64_t seed = 0, repeat = 1, stall = RUN_STALL_S;
    if (!read_number(cli, "seed", cli->options.seed, 0, INT64_MAX, &seed) ||
        !read_number(cli, "repeat", cli->options.repeat, 1, REPEAT_MAX, &repeat) ||
        !read_number(cli, "stall", cli->options.stall, 1, STALL_MAX, &stall))
        return false;
    *out = (RunOptions){.verify = cli->options.verify, .seed = (uint64_t)seed, .isolated = true};
    out->backend = cli->options.backend;
    out->weights = cli->options.weights;
    out->stall_s = (double)stall;
    out->deterministic = cli->options.deterministic;
    out->repeat = (int)repeat;
    return true;
}

/* ---- report ---- */

static Json *outputs_json(const Session *session, const RunReport *report)
{
    Json *out = json_array();
    for (int i = 0; i < report->n_outputs; i++) {
        const RunOutput *output = &report->outputs[i];
        Json *row = json_object();
        json_set_str(row, "name", tensor_name(session->graph, output->tensor));
        json_set_real(row, "max_abs", output->max_abs);
        json_set_real(row, "max_rel", output->max_rel);
        json_set_int(row, "max_ulp", output->max_ulp);
        json_set_bool(row, "ok", output->ok);
        json_add(out, row);
    }
    return out;
}

static Json *ops_json(const Session *session, const RunReport *report)
{
    Json *out = json_array();
    for (int i = 0; i < session->inferred->n_program; i++) {
        int32_t op = session->inferred->program[i];
        Json *row = json_object();
        json_set_str(row, "name", op_name(session->graph, op));
        json_set_real(row, "us", report->op_us[op]);
        json_set_real(row, "predicted_us", session->plan->op_us[op]);
        json_add(out, row);
    }
    return out;
}

Json *run_report_json(const Session *session, const RunReport *report)
{
    Json *out = json_object();
    json_set_int(out, "ranks", report->n_ranks);
    json_set_str(out, "backend", report->backend);
    json_set(out, "outputs", outputs_json(session, report));
    json_set_real(out, "median_us", report->median_us);
    json_set_int(out, "peak_bytes", report->peak_bytes);
    json_set_real(out, "predicted_us", report->predicted_us);
    json_set_int(out, "predicted_peak_bytes", report->predicted_peak_bytes);
    json_set_int(out, "values_checked", report->n_values_checked);
    json_set(out, "first_bad",
             report->first_bad < 0
                 ? json_null()
                 : json_from_str(str_from(tensor_name(session->graph, report->first_bad))));
    json_set_bool(out, "ok", report->ok);
    json_set(out, "ops", ops_json(session, report));
    return out;
}

static void outputs_text(const Session *session, const RunReport *report, Buf *out)
{
    static const TableColumn columns[] = {
        {"OUTPUT", 0}, {"MAX ABS", -12}, {"MAX REL", -12}, {"MAX ULP", -20}, {"", 0}};
    Table *table = table_new(out->arena, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < report->n_outputs; i++) {
        const RunOutput *output = &report->outputs[i];
        table_cell(table, str_from(tensor_name(session->graph, output->tensor)));
        table_printf(table, "%.3g", output->max_abs);
        table_printf(table, "%.3g", output->max_rel);
        if (output->max_ulp == INT64_MAX)
            table_cell(table, STR("not a number"));
        else
            table_printf(table, "%" PRId64, output->max_ulp);
        table_cell(table, output->ok ? STR("ok") : STR("DIFFERS"));
    }
    if (report->n_outputs > 0)
        table_format(table, "", out);
}

typedef struct {
    int32_t op;
    double us;
} OpTime;

static int by_time(const void *a, const void *b)
{
    const OpTime *x = a, *y = b;
    if (x->us != y->us)
        return x->us < y->us ? 1 : -1;
    return x->op < y->op ? -1 : x->op > y->op;
}

static void slowest_text(const Session *session, const RunReport *report, Buf *out)
{
    static const TableColumn columns[] = {
        {"SLOWEST OPS", 0}, {"OP", 0}, {"TIME", -10}, {"PREDICTED", -10}};
    const Inferred *inferred = session->inferred;
    OpTime *times = arena_array(out->arena, OpTime, inferred->n_program);
    for (int i = 0; i < inferred->n_program; i++)
        times[i] = (OpTime){inferred->program[i], report->op_us[inferred->program[i]]};
    qsort(times, (size_t)inferred->n_program, sizeof *times, by_time);
    Table *table = table_new(out->arena, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < inferred->n_program && i < SLOWEST_OPS; i++) {
        Buf us = buf_new(out->arena), predicted = buf_new(out->arena);
        units_format_us(times[i].us, &us);
        units_format_us(session->plan->op_us[times[i].op], &predicted);
        table_path(table, 0, label_op(session, out->arena, times[i].op), NAME_MOST);
        table_cell(table, str_from(label_operator(session->graph, times[i].op)));
        table_cell(table, buf_str(&us));
        table_cell(table, buf_str(&predicted));
    }
    buf_putc(out, '\n');
    table_format(table, "", out);
}

/* "PASS: the largest error of an output is 2.98e-07; 96 values compared on every rank" */
static void verdict(const Session *session, const RunReport *report, Buf *out)
{
    double largest = 0;
    for (int i = 0; i < report->n_outputs; i++)
        largest = report->outputs[i].max_abs > largest ? report->outputs[i].max_abs : largest;
    buf_printf(out,
               "%s: the largest error of an output is %.3g; %d values compared on every rank\n",
               report->ok ? "PASS" : "FAIL", largest, report->n_values_checked);
    if (report->first_bad < 0)
        return;
    int32_t maker = session->graph->tensors[report->first_bad].maker;
    buf_printf(out, "first to differ: %s", tensor_name(session->graph, report->first_bad));
    if (maker >= 0)
        buf_printf(out, ", made by %s %s", op_operator(session->graph, maker),
                   op_name(session->graph, maker));
    buf_putc(out, '\n');
}

static void report_text(const Session *session, const RunReport *report, Buf *out)
{
    buf_printf(out, "%d rank%s on the %s  step ", report->n_ranks, report->n_ranks == 1 ? "" : "s",
               report->backend);
    units_format_us(report->median_us, out);
    buf_puts(out, "  peak ");
    units_format_bytes(report->peak_bytes, out);
    buf_printf(out, "; predicted for %s: ", session->machine->name);
    units_format_us(report->predicted_us, out);
    buf_puts(out, ", ");
    units_format_bytes(report->predicted_peak_bytes, out);
    buf_putc(out, '\n');
    if (report->n_values_checked > 0)
        verdict(session, report, out);
    outputs_text(session, report, out);
    slowest_text(session, report, out);
}

/* All processes have a plan, or none goes on. */
static bool all_have(Cli *cli, World *world, const Session *session)
{
    if (world->n == 1 || world->meet(world, session == NULL, &cli->err))
        return session != NULL;
    if (!error_is_set(&cli->err))
        error_kind(&cli->err, ERROR_RUN, "another process could not open the model");
    return false;
}

static int run_session(Cli *cli, const Session *session, const RunOptions *options)
{
    RunReport report;
    if (!run_plan(cli->arena, session->plan, options, &report, &cli->err))
        return cli_fail(cli);
    if (!report.elsewhere && cli->options.json)
        cli_write_json(cli, run_report_json(session, &report));
    else if (!report.elsewhere)
        report_text(session, &report, &cli->out);
    return report.ok ? CLI_FINE : CLI_ILLEGAL;
}

int cli_run(Cli *cli)
{
    if (cli->options.onnx_test)
        return cli_run_tests(cli);
    if (cli->options.cuts) {
        error_kind(&cli->err, ERROR_USAGE, "--cuts goes with --onnx-test");
        return cli_fail(cli);
    }
    RunOptions options;
    World world;
    if (!cli_run_options(cli, &options) || !world_open(options.backend, &world, &cli->err))
        return cli_fail(cli);
    options.world = &world;
    cli->silent = world.me > 0;
    if (cli->n_operands != 1)
        error_kind(&cli->err, ERROR_USAGE, "run takes one model");
    Session *session = error_is_set(&cli->err) ? NULL : cli_open(cli);
    int code = all_have(cli, &world, session) ? run_session(cli, session, &options) : cli_fail(cli);
    session_close(session);
    world.close(&world);
    return code;
}
