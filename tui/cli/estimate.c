/* estimate.c - `dimscope estimate`: does a training step fit, how long does it take, what takes the
 * time, and what would help; a page for who wants nothing else. */
#include "tui/cli/cli.h"

#include "core/base/units.h"
#include "core/cost/training_cost.h"
#include "core/session/schedule_json.h"
#include "core/session/training_json.h"
#include "core/summary/estimate.h"
#include "tui/cli/estimate_against.h"
#include "tui/cli/estimate_decode.h"
#include "tui/cli/estimate_parts.h"
#include "tui/cli/training_text.h"
#include "core/plan/plan_machine.h"

#include <math.h>

typedef struct {
    Cli *cli;
    const Session *session;
    TrainingCost cost;
    StepParts parts;
    EstimateChanges changes;
    Against against;
} EstimatePage;

/* ---- as text ---- */

static void put_head(const EstimatePage *page, Buf *out)
{
    const Session *session = page->session;
    const Plan *plan = session->plan;
    Arena *arena = page->cli->arena;
    buf_printf(out, "%s: ", path_base(session->options.model));
    units_format_count(page->cost.parameters, out);
    buf_puts(out, " trained parameters, on ");
    units_format_count(session->mesh->n_devices, out);
    buf_printf(out, " devices of %s, policy %s\n", session->machine->name, session->options.policy);
    estimate_parts_fit(arena, plan, out);
    buf_printf(out, "step     %s", text_us(arena, page->parts.us));
    if (!isnan(page->cost.tokens_per_s_device)) {
        buf_puts(out, ", ");
        units_format_count((int64_t)(page->cost.tokens_per_s_device + .5), out);
        buf_puts(out, " labels/s a device");
    }
    buf_printf(out, ", MFU %.1f%%, HFU %.1f%%", 100 * page->cost.mfu, 100 * page->cost.hfu);
    if (plan->decided->stages)
        buf_printf(out, ", bubble %.1f%%", 100 * page->cost.bubble);
    buf_puts(out, "\n\n");
}

/* ---- as JSON ---- */

static Json *changes_json(const EstimatePage *page)
{
    Json *out = json_array();
    for (int i = 0; i < page->changes.n; i++) {
        const EstimateChange *change = &page->changes.change[i];
        Json *row = json_object(), *settings = json_array();
        for (int k = 0; k < ESTIMATE_SETTINGS && change->setting[k]; k++)
            json_add(settings, json_from_str(str_from(change->setting[k])));
        json_set(row, "set", settings);
        if (change->failed) {
            json_set_str(row, "failed", change->failed);
        } else {
            json_set_real(row, "step_us", change->step_us);
            json_set_int(row, "peak_bytes", change->peak_bytes);
            json_set_bool(row, "legal", change->legal);
            json_set_bool(row, "fits", change->fits);
            json_set_bool(row, "helps", change->helps);
        }
        json_add(out, row);
    }
    return out;
}

static Json *page_json(const EstimatePage *page)
{
    const Plan *plan = page->session->plan;
    Json *out = json_object();
    json_set_bool(out, "legal", plan_is_legal(plan));
    json_set_bool(out, "fits", estimate_fits(plan));
    json_set_int(out, "peak_bytes", plan->priced->totals.peak_bytes);
    json_set_int(out, "memory_bytes", plan_memory(plan));
    json_set_real(out, "step_us", page->parts.us);
    json_set(out, "training", training_json(&page->cost));
    json_set(out, "parts",
             estimate_parts_json(page->cli->arena, page->session->mesh, &page->parts));
    json_set(out, "exposed",
             estimate_parts_exposed_json(page->cli->arena, page->session->mesh, &page->parts));
    if (plan->decided->stages)
        json_set(out, "schedule", schedule_json(plan, false));
    json_set(out, "changes", changes_json(page));
    json_set(out, "findings", estimate_parts_findings_json(page->cli->arena, plan));
    if (page->against.n > 0)
        json_set(out, "against", against_json(page->cli->arena, &page->against));
    return out;
}

/* ---- the verb ---- */

int cli_estimate(Cli *cli)
{
    bool given = cli->options.policy, decodes = cli->options.decode;
    DecodeAsked asked;
    cli->options.policy = given ? cli->options.policy : "hybrid3d";
    if (!decodes && !cli->options.train)
        cli->options.train = "adamw";
    Session *session = cli_open(cli);
    if (!session && !given && cli->err.kind == ERROR_SCRIPT && !cli->err.hint[0])
        error_hint(&cli->err,
                   "without -p, estimate uses the policy hybrid3d, whose axes are dp, tp and pp");
    if (!session)
        return cli_fail(cli);
    if (decodes && cli_decode_asked(cli, &asked)) {
        int code = estimate_decode(cli, session, asked);
        session_close(session);
        return code;
    }
    if (!session->graph->phase) {
        session_close(session);
        error_kind(&cli->err, ERROR_USAGE, "estimate needs a training step, not --train none");
        error_hint(&cli->err, "dimscope plan prints the cost of a forward pass");
        return cli_fail(cli);
    }
    EstimatePage page = {.cli = cli, .session = session};
    page.cost = training_cost(cli->arena, session->plan, session->groups);
    page.parts = step_parts(cli->arena, session->plan);
    int code =
        plan_is_legal(session->plan) && estimate_fits(session->plan) ? CLI_FINE : CLI_ILLEGAL;
    if (!against_read(cli->arena, cli->options.against, session, &page.cost, &page.against,
                      &cli->err) ||
        !estimate_changes(cli->arena, session, NULL, &page.changes, &cli->err)) {
        code = cli_fail(cli);
    } else if (cli->options.json) {
        cli_write_json(cli, page_json(&page));
    } else {
        put_head(&page, &cli->out);
        estimate_parts_findings(cli->arena, session->plan, &cli->out);
        estimate_parts_text(cli->arena, session->mesh, &page.parts, &cli->out);
        estimate_parts_exposed(cli->arena, session->plan, &page.parts, &cli->out);
        estimate_parts_bubble(cli->arena, session->plan, &cli->out);
        buf_putc(&cli->out, '\n');
        training_text_memory(cli->arena, &page.cost, &cli->out);
        buf_putc(&cli->out, '\n');
        estimate_parts_changes(cli->arena, session->plan, &page.changes, &cli->out);
        against_text(cli->arena, &page.against, &cli->out);
    }
    session_close(session);
    return code;
}
