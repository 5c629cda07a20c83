/* search_mesh.c - `dimscope search -m MESH`: what a search of plans found, as text and JSON. */
#include "tui/cli/search.h"

#include "core/base/file.h"
#include "core/base/units.h"
#include "core/search/policy.h"
#include "core/session/planfile.h"

#include <math.h>

static const char *const outcomes[] = {"plan", "infeasible", "unknown"};

static double gap_of(const SearchResult *result)
{
    return result->proven ? 0 : (result->cost_us - result->bound_us) / result->cost_us;
}

static void put_times(const SearchResult *result, Buf *out)
{
    buf_printf(out, "searched %.3f s: problem %.3f s, solver %.3f s; ", result->seconds,
               result->build_seconds, result->solve_seconds);
    units_format_count(result->n_nodes, out);
    buf_puts(out, " nodes, ");
    units_format_count(result->n_edges, out);
    buf_puts(out, " edges, ");
    units_format_count(result->n_choices, out);
    buf_puts(out, " choices");
    if (result->n_folded > 1)
        buf_printf(out, "; equal layers tied, up to %d", result->n_folded);
    buf_putc(out, '\n');
}

static void put_plan(const SearchResult *result, double before_us, Buf *out)
{
    buf_puts(out, "plan     ");
    units_format_us(result->cost_us, out);
    buf_puts(out, ", ");
    units_format_bytes(result->peak_bytes, out);
    buf_puts(out, " a device; without the search ");
    units_format_us(before_us, out);
    buf_puts(out,
             result->proven ? "\nproven   none of the plans searched takes less\n" : "\nbound    ");
    if (result->proven)
        return;
    units_format_us(result->bound_us, out);
    buf_printf(out, ", gap %.2f%%\n", 100 * gap_of(result));
}

/* What the best plan costs in which an op is cut otherwise. */
static void put_prices(const Session *session, const SearchResult *result, Buf *out)
{
    if (result->n_by_op > 0)
        buf_puts(out, "\nIF CUT OTHERWISE\n");
    for (int i = 0; i < result->n_by_op; i++) {
        const SearchDecision *at = &result->by_op[i];
        if (at->next_us < INFINITY) {
            buf_puts(out, "at least +");
            units_format_us(at->next_us, out);
        } else
            buf_puts(out, "no plan");
        buf_printf(out, "  %s", op_name(session->graph, at->op));
        if (at->n_ops > 1)
            buf_printf(out, " and %d alike", at->n_ops - 1);
        buf_putc(out, '\n');
    }
}

static void put_text(const Session *session, const SearchResult *result, Buf *out)
{
    if (result->outcome == SEARCH_PLAN)
        put_plan(result, session->plan->priced->totals.step_us, out);
    else
        buf_printf(out, "%s\n",
                   result->conflict ? result->conflict : "stopped before a plan was found");
    put_times(result, out);
    if (result->n_decisions > 0) {
        buf_putc(out, '\n');
        search_decisions(session, result, "", out);
    }
    put_prices(session, result, out);
}

static Json *result_json(const Session *session, const SearchResult *result)
{
    Json *root = json_object(), *lines = json_array(), *prices = json_array();
    bool found = result->outcome == SEARCH_PLAN;
    json_set(root, "outcome", json_from_str(str_from(outcomes[result->outcome])));
    json_set(root, "step_us", found ? json_from_real(result->cost_us) : json_null());
    json_set(root, "model_us", found ? json_from_real(result->model_us) : json_null());
    json_set(root, "bound_us", json_from_real(result->bound_us));
    json_set(root, "proven", json_from_bool(result->proven));
    json_set(root, "gap", found ? json_from_real(gap_of(result)) : json_null());
    json_set(root, "peak_bytes", found ? json_from_int(result->peak_bytes) : json_null());
    json_set(root, "seconds", json_from_real(result->seconds));
    json_set(root, "build_seconds", json_from_real(result->build_seconds));
    json_set(root, "solve_seconds", json_from_real(result->solve_seconds));
    json_set(root, "nodes", json_from_int(result->n_nodes));
    json_set(root, "edges", json_from_int(result->n_edges));
    json_set(root, "choices", json_from_int(result->n_choices));
    json_set(root, "folded", json_from_int(result->n_folded));
    for (int i = 0; i < result->n_decisions; i++)
        json_add(lines, json_from_str(str_from(result->decisions[i].origin.text)));
    json_set(root, "decisions", lines);
    for (int i = 0; i < result->n_by_op; i++) {
        Json *row = json_object();
        json_set(row, "op", json_from_str(str_from(op_name(session->graph, result->by_op[i].op))));
        json_set(row, "ops", json_from_int(result->by_op[i].n_ops));
        json_set(row, "next_us", json_from_real(result->by_op[i].next_us));
        json_add(prices, row);
    }
    json_set(root, "otherwise", prices);
    json_set(root, "conflict",
             result->conflict ? json_from_str(str_from(result->conflict)) : json_null());
    return root;
}

/* Writes a policy or a plan file, by the name. */
static bool save(Cli *cli, Session *session, const SearchResult *result)
{
    const char *path = cli->options.output;
    if (result->outcome != SEARCH_PLAN)
        return true;
    if (str_ends(str_from(path), STR(".lua"))) {
        Buf text = buf_new(cli->arena);
        search_policy(session, result, &text);
        return file_write(path, buf_str(&text), &cli->err);
    }
    return (result->n_decisions == 0 ||
            session_apply(session, result->decisions, result->n_decisions, &cli->err)) &&
           planfile_save(session, path, cli->options.full, &cli->err);
}

int search_mesh(Cli *cli, Progress *watched, double seconds, int64_t max_peak)
{
    enum { SECONDS = 60 };
    Session *session = cli_open(cli);
    if (!session)
        return cli_fail(cli);
    SearchRequest request = {.session = session,
                             .max_peak_bytes = max_peak,
                             .seconds = seconds > 0 ? seconds : SECONDS,
                             .unfold = cli->options.unfold,
                             .price_choices = !cli->options.unfold,
                             .progress = watched};
    SearchResult result;
    bool ok = search_plan(cli->arena, &request, &result, &cli->err);
    if (ok && cli->options.json)
        cli_write_json(cli, result_json(session, &result));
    else if (ok)
        put_text(session, &result, &cli->out);
    ok = ok && (!cli->options.output || save(cli, session, &result));
    session_close(session);
    return !ok ? cli_fail(cli) : result.outcome == SEARCH_PLAN ? CLI_FINE : CLI_ILLEGAL;
}
