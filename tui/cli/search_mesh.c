/* search_mesh.c - `dimscope search -m MESH`: what a search of plans found, as text and JSON. */
#include "tui/cli/search.h"

#include "core/base/file.h"
#include "core/base/table.h"
#include "core/base/units.h"
#include "core/plan/json_forms.h"
#include "core/search/frontier.h"
#include "core/search/pin_prices.h"
#include "core/search/policy.h"
#include "core/session/planfile.h"
#include "tui/cli/plan_text.h"

#include <inttypes.h>
#include <math.h>

static const char *const outcomes[] = {"plan", "infeasible", "unknown"};

static double gap_of(const SearchResult *result)
{
    return result->proven ? 0 : fmax(0, 1 - result->bound_us / result->cost_us);
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

/* What separates a step under a schedule from what the search adds up. */
static void put_parts(const SearchResult *result, Buf *out)
{
    const struct {
        double us;
        const char *is;
    } part[] = {
        {result->parts.sends_us, " sends between stages"},
        {result->parts.beside_us, " moves beside sends, in the stage where they are made"},
        {-result->parts.joined_us, " traffic of parameters, joined in buckets"},
    };
    enum { N = sizeof part / sizeof *part };
    bool any = false;
    for (int i = 0; i < N; i++)
        any |= fabs(part[i].us) > 1e-9 * result->cost_us;
    if (!any)
        return;
    buf_puts(out, "parts    ");
    units_format_us(result->parts.model_us, out);
    buf_puts(out, " ops and moves on the longest path of blocks, one by one");
    for (int i = 0; i < N; i++) {
        if (fabs(part[i].us) <= 1e-9 * result->cost_us)
            continue;
        buf_puts(out, part[i].us < 0 ? "; less " : "; ");
        units_format_us(fabs(part[i].us), out);
        buf_puts(out, part[i].is);
    }
    buf_putc(out, '\n');
}

static void put_plan(const SearchResult *result, Buf *out)
{
    buf_puts(out, "plan     ");
    units_format_us(result->cost_us, out);
    buf_puts(out, ", ");
    units_format_bytes(result->peak_bytes, out);
    buf_puts(out, " a device; without the search ");
    units_format_us(result->before_us, out);
    buf_puts(out,
             result->proven ? "\nproven   none of the plans searched takes less\n" : "\nbound    ");
    if (result->proven)
        return;
    if (result->bound_us <= 0) {
        buf_puts(out, result->n_nodes == 0
                          ? "none: the search was stopped while it priced the choices\n"
                      : result->coarse
                          ? "none: the choices are too many for the time, and those of whole axes "
                            "alone were searched\n"
                          : "none: the mesh has more than 14 prime factors\n");
        return;
    }
    units_format_us(result->bound_us, out);
    if (result->cost_us < result->bound_us)
        buf_puts(out, ", but some moves of this plan take less than the search adds up\n");
    else
        buf_printf(out, ", gap %.2f%%\n", 100 * gap_of(result));
}

/* Why there is no plan, or what ended the search without one and without a proof. */
static void put_none(const SearchResult *result, Buf *out)
{
    if (result->conflict) {
        buf_printf(out, "%s\n", result->conflict);
        return;
    }
    buf_puts(out, "no plan within the memory limit was found, nor a proof that there is none: ");
    buf_puts(out, result->coarse      ? "the choices are too many for the time, and those of whole "
                                        "axes alone were searched; --seconds gives more"
                  : result->time_over ? "the time was over, --seconds gives more"
                                      : "what moves hold is known of plans alone");
    if (result->smallest_bytes > 0) {
        buf_puts(out, "; the smallest plan tried needs ");
        units_format_bytes(result->smallest_bytes, out);
    }
    buf_putc(out, '\n');
}

static void put_text(const Session *session, const SearchResult *result, Buf *out)
{
    if (result->outcome == SEARCH_PLAN) {
        put_plan(result, out);
        put_parts(result, out);
    } else {
        put_none(result, out);
    }
    put_times(result, out);
    if (result->n_decisions > result->n_lifted) {
        buf_putc(out, '\n');
        search_decisions(session, result, "", out);
    }
}

/* ---- what pins and limits cost ---- */

static const char *pin_text(Arena *arena, const SearchRequest *request, const PinPrice *price)
{
    Buf out = buf_new(arena);
    pin_price_put(request, price, &out);
    return out.s;
}

static void put_lifted(Arena *arena, const PinPrice *price, double now_us, Table *table)
{
    if (price->outcome != SEARCH_PLAN) {
        table_cell(table, price->outcome == SEARCH_INFEASIBLE ? STR("no plan") : STR("not known"));
        table_cell(table, STR(""));
        table_cell(table, STR(""));
        return;
    }
    table_cell(table, str_from(text_us(arena, price->cost_us)));
    if (now_us > 0)
        table_printf(table, "%+.1f%%", 100 * (price->cost_us / now_us - 1));
    else
        table_cell(table, STR(""));
    table_cell(table, str_from(text_bytes(arena, price->peak_bytes)));
}

/* conflict: those of the set that leaves no plan alone. now_us: the plan that obeys all; 0: none */
static void put_pins(Arena *arena, const SearchRequest *request, const PinPrices *prices,
                     bool conflict, double now_us, Buf *out)
{
    static const TableColumn columns[] = {{"LIFTED", 90}, {"STEP", -99}, {"", -99}, {"PEAK", -99}};
    Table *table = table_new(arena, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < prices->n; i++) {
        if (conflict && !prices->pin[i].conflict)
            continue;
        table_cell(table, str_from(pin_text(arena, request, &prices->pin[i])));
        put_lifted(arena, &prices->pin[i], now_us, table);
    }
    if (prices->all.n > 0) {
        table_cell(table, STR("all pins"));
        put_lifted(arena, &prices->all, now_us, table);
    }
    buf_putc(out, '\n');
    table_format(table, "", out);
}

static Json *pin_json(Arena *arena, const SearchRequest *request, const PinPrice *price)
{
    Json *out = json_object();
    bool found = price->outcome == SEARCH_PLAN;
    json_set_str(out, "lifted", pin_text(arena, request, price));
    json_set_bool(out, "limit", price->limit);
    json_set_int(out, "decisions", price->n);
    json_set_str(out, "outcome", outcomes[price->outcome]);
    json_set(out, "step_us", found ? json_from_real(price->cost_us) : json_null());
    json_set(out, "peak_bytes", found ? json_from_int(price->peak_bytes) : json_null());
    json_set_bool(out, "proven", price->proven);
    return out;
}

static Json *pins_json(Arena *arena, const SearchRequest *request, const PinPrices *prices,
                       bool conflict)
{
    Json *out = json_array();
    for (int i = 0; i < prices->n; i++)
        if (!conflict || prices->pin[i].conflict)
            json_add(out, pin_json(arena, request, &prices->pin[i]));
    return out;
}

/* ---- as JSON ---- */

static Json *result_json(const Session *session, const SearchResult *result)
{
    Json *root = json_object(), *lines = json_array(), *prices = json_array();
    bool found = result->outcome == SEARCH_PLAN;
    json_set(root, "outcome", json_from_str(str_from(outcomes[result->outcome])));
    json_set(root, "step_us", found ? json_from_real(result->cost_us) : json_null());
    json_set(root, "sum_us", found ? json_from_real(result->sum_us) : json_null());
    json_set(root, "model_us", found ? json_from_real(result->parts.model_us) : json_null());
    json_set(root, "sends_us", found ? json_from_real(result->parts.sends_us) : json_null());
    json_set(root, "beside_us", found ? json_from_real(result->parts.beside_us) : json_null());
    json_set(root, "joined_us", found ? json_from_real(result->parts.joined_us) : json_null());
    json_set(root, "bound_us", json_from_real(result->bound_us));
    json_set(root, "proven", json_from_bool(result->proven));
    json_set(root, "gap", found ? json_from_real(gap_of(result)) : json_null());
    json_set(root, "peak_bytes", found ? json_from_int(result->peak_bytes) : json_null());
    json_set_bool(root, "time_over", result->time_over);
    json_set_bool(root, "coarse", result->coarse);
    json_set_int(root, "smallest_bytes", result->smallest_bytes);
    json_set(root, "seconds", json_from_real(result->seconds));
    json_set(root, "build_seconds", json_from_real(result->build_seconds));
    json_set(root, "solve_seconds", json_from_real(result->solve_seconds));
    json_set(root, "nodes", json_from_int(result->n_nodes));
    json_set(root, "edges", json_from_int(result->n_edges));
    json_set(root, "choices", json_from_int(result->n_choices));
    json_set(root, "folded", json_from_int(result->n_folded));
    for (int i = result->n_lifted; i < result->n_decisions; i++)
        json_add(lines, json_from_str(str_from(result->decisions[i].origin.text)));
    json_set(root, "decisions", lines);
    for (int i = 0; i < result->n_by_op; i++) {
        Json *row = json_object();
        const SearchDecision *at = &result->by_op[i];
        json_set_str(row, at->op >= 0 ? "op" : "tensor",
                     at->op >= 0 ? op_name(session->graph, at->op)
                                 : tensor_name(session->graph, at->tensor));
        json_set(row, "ops", json_from_int(at->n_ops));
        json_set(row, "next_us", json_from_real(at->next_us));
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

/* ---- the frontier ---- */

static void put_frontier(const SearchFrontier *frontier, bool csv, Arena *arena, Buf *out)
{
    static const TableColumn columns[] = {{"STEP", -99}, {"PEAK", -99}, {"", 0}};
    Table *table = table_new(arena, columns, sizeof columns / sizeof *columns);
    if (csv)
        buf_puts(out, "step_us,peak_bytes,proven\n");
    for (int i = 0; i < frontier->n; i++) {
        const SearchResult *at = &frontier->point[i];
        table_cell(table, str_from(text_us(arena, at->cost_us)));
        table_cell(table, str_from(text_bytes(arena, at->peak_bytes)));
        if (at->proven)
            table_cell(table, STR("proven"));
        else
            table_printf(table, "gap %.2f%%", 100 * gap_of(at));
        if (csv)
            buf_printf(out, "%.3f,%" PRId64 ",%d\n", at->cost_us, at->peak_bytes, at->proven);
    }
    if (!csv)
        table_format(table, "", out);
    if (!csv && frontier->n < FRONTIER_POINTS_MAX)
        buf_puts(out, frontier->smallest ? "no plan needs much less memory than the last\n"
                      : frontier->cancelled
                          ? "the search was cancelled before a smaller plan was found\n"
                      : frontier->stopped
                          ? "the time was over before a smaller plan was found; --seconds gives "
                            "more\n"
                          : "no plan with much less memory was found, which does not prove that "
                            "there is none\n");
}

static Json *frontier_json(const Session *session, const SearchFrontier *frontier)
{
    Json *root = json_object(), *points = json_array();
    for (int i = 0; i < frontier->n; i++)
        json_add(points, result_json(session, &frontier->point[i]));
    json_set(root, "frontier", points);
    json_set_bool(root, "smallest", frontier->smallest);
    json_set_bool(root, "stopped", frontier->stopped);
    json_set_bool(root, "cancelled", frontier->cancelled);
    return root;
}

static bool answer_frontier(Cli *cli, const SearchRequest *request, SearchResult *best)
{
    SearchFrontier frontier;
    if (!search_frontier(cli->arena, request, &frontier, &cli->err))
        return false;
    *best = frontier.point[0];
    if (cli->options.json)
        cli_write_json(cli, frontier_json(request->session, &frontier));
    else if (frontier.n > 0 || !best->conflict)
        put_frontier(&frontier, cli->options.csv, cli->arena, &cli->out);
    else
        buf_printf(&cli->out, "%s\n", best->conflict);
    return true;
}

/* ---- the verb ---- */

static bool answer_plan(Cli *cli, const SearchRequest *request, SearchResult *result)
{
    PinPrices prices = {0};
    if (!search_plan(cli->arena, request, result, &cli->err))
        return false;
    bool conflict = result->outcome == SEARCH_INFEASIBLE;
    bool priced = conflict || (cli->options.price_pins && result->outcome == SEARCH_PLAN);
    if (conflict && !search_conflict(cli->arena, request, &prices, &cli->err)) {
        cli->err = (Error){0}; /* stopped: what is known is the limit */
        prices.n = 0;
    }
    if (!conflict && priced && !search_price_pins(cli->arena, request, &prices, &cli->err))
        return false;
    double now_us = conflict ? 0 : result->cost_us;
    Findings findings = plan_text_unheeded(cli->arena, request->session->plan);
    if (cli->options.json) {
        Json *root = result_json(request->session, result);
        json_set(root, "findings", json_of_findings(&findings));
        if (priced)
            json_set(root, conflict ? "conflict_of" : "pins",
                     pins_json(cli->arena, request, &prices, conflict));
        cli_write_json(cli, root);
        return true;
    }
    plan_text_findings(&findings, &cli->out);
    put_text(request->session, result, &cli->out);
    if (priced && prices.n > 0)
        put_pins(cli->arena, request, &prices, conflict, now_us, &cli->out);
    return true;
}

int search_mesh(Cli *cli, Progress *watched, double seconds, int64_t max_peak)
{
    enum { SECONDS = 60 };
    double gap;
    Session *session = search_read_gap(cli, &gap) ? cli_open(cli) : NULL;
    if (!session)
        return cli_fail(cli);
    SearchRequest request = {.session = session,
                             .max_peak_bytes = max_peak,
                             .seconds = seconds > 0 ? seconds : SECONDS,
                             .gap = gap,
                             .unfold = cli->options.unfold,
                             .price_choices = !cli->options.unfold && !cli->options.frontier,
                             .memo = search_memo_new(),
                             .progress = watched};
    SearchResult result;
    bool ok = cli->options.frontier ? answer_frontier(cli, &request, &result)
                                    : answer_plan(cli, &request, &result);
    ok = ok && (!cli->options.output || save(cli, session, &result));
    search_memo_free(request.memo);
    session_close(session);
    if (!ok)
        return cli_fail(cli);
    if (progress_stopped(watched))
        return CLI_INTERRUPTED;
    return result.outcome == SEARCH_PLAN ? CLI_FINE : CLI_ILLEGAL;
}
