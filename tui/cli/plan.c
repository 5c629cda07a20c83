#include "tui/cli/cli.h"

#include "core/base/units.h"
#include "core/cost/gradient_reduces.h"
#include "core/plan/json_forms.h"
#include "core/session/planfile.h"
#include "core/cost/pipeline.h"
#include "tui/cli/estimate_parts.h"
#include "tui/cli/plan_text.h"

#include <stdlib.h>

static int legal_or_not(const Session *session)
{
    return plan_is_legal(session->plan) ? CLI_FINE : CLI_ILLEGAL;
}

/* What the page on a training step ends with: whether it fits, what takes the time, what would
 * help. */
static bool put_page(Cli *cli, const Session *session)
{
    EstimateChanges changes;
    if (!session->graph->phase)
        return true;
    if (!estimate_changes(cli->arena, session, NULL, &changes, &cli->err))
        return false;
    StepParts parts = step_parts(cli->arena, session->plan);
    buf_putc(&cli->out, '\n');
    estimate_parts_fit(cli->arena, session->plan, &cli->out);
    buf_putc(&cli->out, '\n');
    estimate_parts_text(cli->arena, session->mesh, &parts, &cli->out);
    estimate_parts_exposed(cli->arena, session->plan, &parts, &cli->out);
    estimate_parts_bubble(cli->arena, session->plan, &cli->out);
    buf_putc(&cli->out, '\n');
    estimate_parts_changes(cli->arena, session->plan, &changes, &cli->out);
    return true;
}

static bool put_plan(Cli *cli, const Session *session)
{
    plan_text_format(session, &cli->out);
    return put_page(cli, session);
}

/* Answers one of a plan's forms; -o saves it instead, and says only what makes it illegal. */
int cli_plan(Cli *cli)
{
    const CliOptions *options = &cli->options;
    if (options->full && !options->output) {
        error_kind(&cli->err, ERROR_USAGE, "--full can only be used with -o FILE");
        return cli_fail(cli);
    }
    Session *session = cli_open(cli);
    if (!session)
        return cli_fail(cli);
    int code = legal_or_not(session);
    if (options->output && !planfile_save(session, options->output, options->full, &cli->err))
        code = cli_fail(cli);
    else if (options->json)
        cli_write_json(cli, plan_json(session));
    else if (!options->output)
        code = put_plan(cli, session) ? code : cli_fail(cli);
    else if (code != CLI_FINE)
        plan_text_findings(&session->plan->findings, &cli->out);
    session_close(session);
    return code;
}

/* ---- check ---- */

/* A limit that was given, and what the plan has of it. */
typedef struct {
    const char *name, *given;
    double value, limit;
    void (*format)(double value, Buf *out);
    const Schedule *schedule; /* that the value is of; NULL */
    bool forward_only;        /* the value leaves out what a training step needs besides */
} Limit;

static void format_bytes(double value, Buf *out)
{
    units_format_bytes((int64_t)value, out);
}

static void format_percent(double value, Buf *out)
{
    buf_printf(out, "%.1f%%", value);
}

static bool parse_bytes(const char *text, double *out)
{
    int64_t bytes;
    bool ok = units_parse_bytes(str_from(text), &bytes);
    *out = ok ? (double)bytes : 0;
    return ok;
}

static bool parse_us(const char *text, double *out)
{
    return units_parse_us(str_from(text), out);
}

static void format_count(double value, Buf *out)
{
    buf_printf(out, "%.0f", value);
}

static bool parse_count(const char *text, double *out)
{
    char *end;
    *out = (double)strtoll(text, &end, 10);
    return end != text && !*end && *out >= 0;
}

static bool parse_percent(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && (!*end || strcmp(end, "%") == 0) && *out >= 0 && *out <= 100;
}

/* Appends a limit that was given. False when it cannot be read. */
static bool add_limit(Cli *cli, Limit *limits, int *n, const Limit *limit,
                      bool (*parse)(const char *text, double *out), const char *example)
{
    if (!limit->given)
        return true;
    limits[*n] = *limit;
    if (parse(limit->given, &limits[(*n)++].limit))
        return true;
    error_kind(&cli->err, ERROR_USAGE, "--max-%s cannot be '%s'", limit->name, limit->given);
    return error_hint(&cli->err, "write it like this: --max-%s %s", limit->name, example);
}

enum { LIMITS_MAX = 4 };

static bool read_limits(Cli *cli, const Plan *plan, Limit *limits, int *n)
{
    const Totals *totals = &plan->priced->totals;
    double share = totals->step_us > 0 ? 100 * totals->comm_us / totals->step_us : 0;
    Limit peak = {.name = "peak", .given = cli->options.max_peak, .format = format_bytes};
    Limit comm = {.name = "comm", .given = cli->options.max_comm, .format = format_percent};
    Limit step = {.name = "step", .given = cli->options.max_step, .format = units_format_us};
    Limit reduces = {
        .name = "grad-reduces", .given = cli->options.max_grad_reduces, .format = format_count};
    GradientReduces counted = gradient_reduces(plan);
    peak.value = (double)totals->peak_bytes;
    peak.forward_only = plan_counts_forward_only(plan);
    comm.value = share;
    step.value = plan_step_us(plan);
    step.schedule = plan_schedule(plan);
    reduces.value = (double)gradient_reduces_count(&counted);
    *n = 0;
    if (reduces.given && !plan->inferred->forward) {
        error_kind(&cli->err, ERROR_USAGE, "--max-grad-reduces needs a training step");
        return error_hint(&cli->err, "add --train");
    }
    return add_limit(cli, limits, n, &peak, parse_bytes, "74GiB") &&
           add_limit(cli, limits, n, &comm, parse_percent, "20%") &&
           add_limit(cli, limits, n, &step, parse_us, "5ms") &&
           add_limit(cli, limits, n, &reduces, parse_count, "149");
}

static bool is_over(const Limit *limit)
{
    return limit->value > limit->limit;
}

static bool is_met(const Limit *limit)
{
    return !is_over(limit) && !limit->forward_only;
}

static Json *limits_json(const Limit *limits, int n)
{
    Json *out = json_array();
    for (int i = 0; i < n; i++) {
        Json *row = json_object();
        json_set_str(row, "name", limits[i].name);
        json_set_real(row, "value", limits[i].value);
        json_set_real(row, "limit", limits[i].limit);
        if (is_over(&limits[i]) || is_met(&limits[i]))
            json_set_bool(row, "ok", is_met(&limits[i]));
        else
            json_set(row, "ok", json_null());
        json_add(out, row);
    }
    return out;
}

static void check_json(Cli *cli, const Session *session, bool ok, const Limit *limits, int n)
{
    Json *out = json_object();
    json_set_bool(out, "ok", ok);
    json_set(out, "limits", limits_json(limits, n));
    json_set(out, "findings", json_of_findings(&session->plan->findings));
    cli_write_json(cli, out);
}

static void check_text(Cli *cli, const Session *session, const Limit *limits, int n)
{
    plan_text_findings(&session->plan->findings, &cli->out);
    for (int i = 0; i < n; i++) {
        buf_printf(&cli->out, "%s  %s ",
                   is_over(&limits[i])  ? "OVER"
                   : is_met(&limits[i]) ? "ok  "
                                        : "?   ",
                   limits[i].name);
        limits[i].format(limits[i].value, &cli->out);
        buf_puts(&cli->out, " of ");
        limits[i].format(limits[i].limit, &cli->out);
        if (limits[i].schedule)
            buf_printf(&cli->out, ": %s of %d micro-batches", limits[i].schedule->name,
                       limits[i].schedule->n_micro_batches);
        if (limits[i].forward_only)
            buf_puts(&cli->out, ", forward only: gradients and optimizer states are not counted");
        buf_puts(&cli->out, limits[i].forward_only && !is_over(&limits[i])
                                ? "\nhint: add --train, or a schedule that does not train\n"
                                : "\n");
    }
    if (!plan_is_legal(session->plan))
        buf_puts(&cli->out, "the plan is illegal\n");
    else if (n == 0)
        buf_puts(&cli->out, "the plan is legal\n");
}

int cli_check(Cli *cli)
{
    Session *session = cli_open(cli);
    Limit limits[LIMITS_MAX];
    int n;
    if (!session)
        return cli_fail(cli);
    if (!read_limits(cli, session->plan, limits, &n)) {
        session_close(session);
        return cli_fail(cli);
    }
    bool ok = plan_is_legal(session->plan);
    for (int i = 0; i < n; i++)
        ok &= is_met(&limits[i]);
    if (cli->options.json)
        check_json(cli, session, ok, limits, n);
    else
        check_text(cli, session, limits, n);
    session_close(session);
    return ok ? CLI_FINE : CLI_ILLEGAL;
}
