/* calibrate.c - `dimscope calibrate`: a run of many sizes, and the machine file that fits it; with
 * --train also a training step, and tables of what its operators take. */
#include "core/run/calibrate.h"

#include "core/base/file.h"
#include "core/base/units.h"
#include "core/run/plugin.h"
#include "tui/cli/run.h"
#include "core/base/table.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

enum { PASSES = 5 };

static const char *const calibrate_model = "samples/calibrate.lua",
                         *const train_model = "samples/calibrate_train.lua",
                         *const check_model = "samples/models/tiny-gpt.onnx";

enum { RUNS = 2 };

/* What has been run. */
typedef struct {
    int n;
    Session *session[RUNS];
    RunReport report[RUNS];
    RunOptions options;
    World world;
} Calibrating;

/* ---- the file ---- */

/* Names of hosts may hold anything that is no quote of Lua here. */
static void put_text(Buf *out, const char *text)
{
    for (; *text; text++)
        buf_putc(out, *text == '"' || *text == '\\' || (unsigned char)*text < ' ' ? ' ' : *text);
}

static void put_rates(const char *name, const double *rates, Buf *out)
{
    bool any = false;
    for (int dtype = 0; dtype < DT_COUNT; dtype++)
        any |= rates[dtype] > 0;
    if (!any)
        return;
    buf_printf(out, "    %s = {", name);
    for (int dtype = 0, n = 0; dtype < DT_COUNT; dtype++)
        if (rates[dtype] > 0)
            buf_printf(out, "%s%s = %.4g", n++ > 0 ? ", " : "", dtype_name((Dtype)dtype),
                       rates[dtype]);
    buf_puts(out, "},\n");
}

static void put_link(const char *name, const Link *link, Buf *out)
{
    buf_printf(out, "    %s = {name = \"", name);
    put_text(out, link->name);
    buf_printf(out, "\", latency_us = %.4g, bytes_per_s = %.4g},\n", link->latency_us,
               link->bytes_per_s);
}

static void put_measured_op(const MeasuredOp *op, Buf *out)
{
    buf_printf(out, "            {operator = \"%s\", dtype = \"%s\", points = {\n", op->op_type,
               dtype_name(op->dtype));
    for (int p = 0; p < op->n; p++) {
        buf_puts(out, "                {");
        for (int i = 0; i < op->n_sizes; i++)
            buf_printf(out, "%.0f, ", op->point[p].size[i]);
        buf_printf(out, "%.4g},\n", op->point[p].us);
    }
    buf_puts(out, "            }},\n");
}

static void put_measured(const Measured *measured, Buf *out)
{
    buf_puts(out,
             "    measured = {\n        -- points: {batch, m, n, k, us} of products, {flops, us} "
             "of attention, {bytes, us} of others\n        operators = {\n");
    for (int i = 0; i < measured->n_ops; i++)
        put_measured_op(&measured->op[i], out);
    buf_puts(out, "        },\n        collectives = {\n");
    for (int i = 0; i < measured->n_steps; i++)
        buf_printf(out,
                   "            {collective = \"%s\", ranks = %" PRId64
                   ", latency_us = %.4g, bytes_per_s = %.4g},\n",
                   step_kind_name(measured->step[i].kind), measured->step[i].ranks,
                   measured->step[i].latency_us, measured->step[i].bytes_per_s);
    buf_puts(out, "        },\n    },\n");
}

static void put_machine(const Machine *machine, const char *how, Buf *out)
{
    buf_puts(out, "-- ");
    put_text(out, how);
    buf_puts(out, ".\nreturn {\n    name = \"");
    put_text(out, machine->name);
    buf_puts(out, "\",\n    source = \"");
    put_text(out, how);
    buf_printf(out, "\",\n    devices_per_node = %" PRId64 ",\n", machine->devices_per_node);
    if (machine->devices_per_block > 0)
        buf_printf(out, "    devices_per_block = %" PRId64 ",\n", machine->devices_per_block);
    buf_printf(out, "    memory_bytes = %" PRId64 ", memory_bytes_per_s = %.4g,\n",
               machine->memory_bytes, machine->memory_bytes_per_s);
    put_rates("flops_per_s", machine->flops_per_s, out);
    put_rates("vector_flops_per_s", machine->vector_flops_per_s, out);
    buf_printf(out, "    matmul_share = %.4g, memory_share = %.4g, gather_share = %.4g,\n",
               machine->matmul_share, machine->memory_share, machine->gather_share);
    buf_printf(out, "    launch_us = %.4g,\n", machine->launch_us);
    put_link("inside", &machine->inside, out);
    put_link("between", &machine->between, out);
    if (machine->devices_per_block > 0)
        put_link("spine", &machine->spine, out);
    if (machine->measured)
        put_measured(machine->measured, out);
    buf_puts(out, "}\n");
}

/* ---- in words ---- */

static void put_fit(const char *what, const CalibrateFit *fit, const char *machine, Buf *out)
{
    if (fit->n > 0)
        buf_printf(out,
                   "%d %s: predictions off by %.3g times with %s, by %.2f times with this file\n",
                   fit->n, what, fit->before, machine, fit->after);
}

static void put_row(Table *table, const char *name, bool fitted, Str before, Str after)
{
    table_cell(table, str_from(name));
    table_cell(table, before);
    table_cell(table, fitted ? after : STR("as it was"));
}

static Str number(Arena *arena, double value, const char *unit)
{
    return str_from(arena_printf(arena, "%.4g %s", value, unit));
}

static void put_numbers(const Machine *was, const Machine *is, const Calibration *said, Buf *out)
{
    Arena *arena = out->arena;
    Str names[] = {str_from(was->name), str_from(is->name)};
    const TableColumn columns[] = {{"NUMBER", 0}, {names[0].s, -16}, {names[1].s, -16}};
    Table *table = table_new(arena, columns, 3);
    const struct {
        const char *name, *unit;
        bool fitted;
        double before, after;
    } rows[] = {
        {"launch", "us", said->has_launch, was->launch_us, is->launch_us},
        {"matmul f32", "GFLOP/s", said->has_matmul,
         was->flops_per_s[DT_F32] * was->matmul_share / 1e9,
         is->flops_per_s[DT_F32] * is->matmul_share / 1e9},
        {"vector f32", "GFLOP/s", said->has_vector, was->vector_flops_per_s[DT_F32] / 1e9,
         is->vector_flops_per_s[DT_F32] / 1e9},
        {"memory", "GB/s", said->has_memory, was->memory_bytes_per_s * was->memory_share / 1e9,
         is->memory_bytes_per_s * is->memory_share / 1e9},
        {"gather", "GB/s", said->has_gather, was->memory_bytes_per_s * was->gather_share / 1e9,
         is->memory_bytes_per_s * is->gather_share / 1e9},
        {"hop", "us", said->has_link, was->inside.latency_us, is->inside.latency_us},
        {"link", "GB/s", said->has_link, was->inside.bytes_per_s / 1e9,
         is->inside.bytes_per_s / 1e9},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        put_row(table, rows[i].name, rows[i].fitted, number(arena, rows[i].before, rows[i].unit),
                number(arena, rows[i].after, rows[i].unit));
    table_format(table, "", out);
}

/* ---- the verb ---- */

static const char *host_name(Arena *arena)
{
    char name[256] = "";
    if (gethostname(name, sizeof name - 1) != 0 || !*name)
        return "this host";
    return arena_str(arena, str_from(name));
}

/* "measured 2026-11-22 on HOST: 4 ranks of the host runner, median of 5 passes of MODEL" */
static const char *how_measured(Cli *cli, const Session *session, const RunReport *report)
{
    char day[16] = "";
    time_t now = time(NULL);
    struct tm at;
    if (localtime_r(&now, &at))
        strftime(day, sizeof day, "%Y-%m-%d", &at);
    return arena_printf(cli->arena,
                        "measured %s on %s: %d ranks of the %s runner, median of %d passes of %s",
                        day, host_name(cli->arena), report->n_ranks, report->backend,
                        report->n_timed, path_base(session->options.model));
}

/* Makes a sample the model, under the policy of that path or none. */
static bool choose_sample(Cli *cli, const char *sample, bool has_policy)
{
    const char **operand = arena_array(cli->arena, const char *, 1);
    operand[0] = cli->hooks->data_file(cli->hooks->context, cli->arena, sample);
    if (!operand[0]) {
        error_kind(&cli->err, ERROR_UNREADABLE, "the sample %s is not installed", sample);
        return error_hint(&cli->err, "it comes with the program; make install installs it");
    }
    cli->operand = operand;
    cli->n_operands = 1;
    if (has_policy && !cli->options.policy)
        cli->options.policy = operand[0];
    return true;
}

/* Opens the model of the command line and runs it; its session is closed with the others. */
static bool run_next(Cli *cli, Calibrating *all)
{
    Session **session = &all->session[all->n];
    *session = cli_open(cli);
    return cli_all_have(cli, &all->world, *session) &&
           run_plan(cli->arena, (*session)->plan, &all->options, &all->report[all->n++], &cli->err);
}

/* Without a model the samples; with --train the second one is a training step. */
static bool run_samples(Cli *cli, Calibrating *all)
{
    const char *train = cli->options.train, *policy = cli->options.policy;
    if (!cli->options.mesh)
        cli->options.mesh = arena_printf(cli->arena, "x=%ld", sysconf(_SC_NPROCESSORS_ONLN));
    if (cli->n_operands > 0)
        return run_next(cli, all);
    cli->options.train = NULL;
    if (!choose_sample(cli, calibrate_model, true) || !run_next(cli, all))
        return false;
    cli->options.train = train;
    cli->options.policy = policy;
    return !train || (choose_sample(cli, train_model, false) && run_next(cli, all));
}

/* "host" of "out/host.lua": as --machine names it. */
static const char *machine_name(Cli *cli)
{
    if (!cli->options.output)
        return "measured";
    Str name = str_from(path_base(cli->options.output));
    if (str_ends(name, STR(".lua")))
        name.n -= strlen(".lua");
    return arena_str(cli->arena, name);
}

/* What is no time: how many devices share a node; of ranks in this host's memory, their part. */
static void say_host(Cli *cli, const Session *session, const RunReport *report, Machine *machine)
{
    int64_t n = session->mesh->n_devices;
    machine->name = machine_name(cli);
    machine->devices_per_node = n;
    if (strcmp(report->backend, "cuda") != 0)
        machine->memory_bytes =
            (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE) / n;
}

/* Every op and reshard at its median: what a pass takes if nothing else has the cores. */
static double sum_of_medians(const Session *session, const RunReport *report)
{
    double us = 0;
    for (int i = 0; i < session->inferred->n_program; i++)
        us += report->op_us[session->inferred->program[i]];
    for (int i = 0; i < session->plan->moved->n_reshards; i++)
        us += report->reshard_us[i];
    return us;
}

static void put_check(const Session *session, const RunReport *report, Buf *out)
{
    double medians = sum_of_medians(session, report);
    buf_printf(out, "a step of %s, which is not in the tables: predicted ", path_base(check_model));
    units_format_us(report->predicted_us, out);
    buf_puts(out, "; measured ");
    units_format_us(medians, out);
    buf_printf(out, " with each op at its median, %.2f times that; whole passes ",
               medians / report->predicted_us);
    units_format_us(report->median_us, out);
    buf_putc(out, '\n');
}

/* A step that no table is from, as the new machine file predicts it and as it runs. */
static bool check(Cli *cli, Calibrating *all)
{
    RunReport report;
    cli->options.machine = cli->options.output;
    Session *session = choose_sample(cli, check_model, false) ? cli_open(cli) : NULL;
    bool ran = cli_all_have(cli, &all->world, session) && session &&
               run_plan(cli->arena, session->plan, &all->options, &report, &cli->err);
    if (ran && !report.elsewhere)
        put_check(session, &report, &cli->out);
    session_close(session);
    return ran;
}

static int answer(Cli *cli, const Calibrating *all)
{
    const Session *session = all->session[0];
    const RunReport *report = &all->report[0];
    CalibratedRun runs[RUNS];
    Machine machine;
    Calibration said;
    Buf text = buf_new(cli->arena);
    if (report->elsewhere)
        return CLI_FINE;
    if (!calibrate(session->plan, report, &machine, &said, &cli->err))
        return cli_fail(cli);
    for (int i = 0; i < all->n; i++)
        runs[i] = (CalibratedRun){all->session[i]->plan, &all->report[i]};
    if (cli->options.train)
        machine.measured = calibrate_tables(cli->arena, runs, all->n);
    say_host(cli, session, report, &machine);
    put_machine(&machine, how_measured(cli, session, report), &text);
    if (!cli->options.output) {
        buf_add(&cli->out, buf_str(&text));
        return CLI_FINE;
    }
    if (!file_write(cli->options.output, buf_str(&text), &cli->err))
        return cli_fail(cli);
    put_numbers(session->machine, &machine, &said, &cli->out);
    put_fit("ops", &said.ops, session->machine->name, &cli->out);
    put_fit("reshards", &said.reshards, session->machine->name, &cli->out);
    if (machine.measured)
        buf_printf(&cli->out, "%d operators and %d collectives have tables of measured times\n",
                   machine.measured->n_ops, machine.measured->n_steps);
    buf_printf(&cli->out, "wrote %s: --machine %s\n", cli->options.output, cli->options.output);
    return CLI_FINE;
}

int cli_calibrate(Cli *cli)
{
    Calibrating all = {0};
    bool own = cli->n_operands == 0;
    if (!cli->options.repeat)
        cli->options.repeat = arena_printf(cli->arena, "%d", PASSES);
    if (!cli_run_options(cli, &all.options) ||
        !world_open(all.options.backend, &all.world, &cli->err))
        return cli_fail(cli);
    all.options.world = &all.world;
    cli->silent = all.world.me > 0;
    int code = run_samples(cli, &all) ? answer(cli, &all) : cli_fail(cli);
    if (code == CLI_FINE && own && cli->options.train && cli->options.output && !check(cli, &all))
        code = cli_fail(cli);
    for (int i = 0; i < all.n; i++)
        session_close(all.session[i]);
    all.world.close(&all.world);
    return code;
}
