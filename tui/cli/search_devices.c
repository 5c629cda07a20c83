/* search_devices.c - `dimscope search --devices N`: the fastest configuration that fits, why not
 * others, and the frontier of time against memory. */
#include "tui/cli/search.h"

#include "core/base/file.h"
#include "core/base/table.h"
#include "core/base/units.h"
#include "core/search/config_explain.h"
#include "core/session/model_settings.h"
#include "core/session/planfile.h"

#include <inttypes.h>
#include <math.h>

enum { CHANGES_SHOWN = 8, PARTS_SHOWN = 2 };

typedef struct {
    Cli *cli;
    ConfigSearch *search;
    int64_t n_devices, max_peak;
    ConfigFound at;
    ConfigPinPrice *pin; /* [n_pins]: with --price-pins */
    int n_pins;
} Found;

/* ---- as text ---- */

static void put_count(int64_t n, const char *what, const char **between, Buf *out)
{
    if (n == 0)
        return;
    buf_puts(out, *between);
    units_format_count(n, out);
    buf_printf(out, " %s", what);
    *between = ", ";
}

static void put_plan(const Found *found, const ConfigPlan *plan, Buf *out)
{
    Arena *arena = found->cli->arena;
    buf_printf(out, "%s, %s: %s  %s\n", text_us(arena, plan->step_us),
               text_bytes(arena, plan->peak_bytes), plan->mesh, plan->text);
}

static void put_planned(const ConfigCounts *counts, Buf *out)
{
    const char *between = ", ";
    put_count(counts->guessed, "planned as a first guess", &between, out);
    put_count(counts->planned, "planned", &between, out);
    if (counts->planned + counts->guessed == 0)
        buf_puts(out, ", none planned");
}

static void put_proof(const Found *found, Buf *out)
{
    const ConfigAnswer *answer = &found->at.answer;
    const ConfigCounts *counts = &answer->counts;
    const char *between = "; ";
    if (answer->proven) {
        buf_puts(out, "proven   none of ");
        units_format_count(counts->all, out);
        buf_puts(out, " configurations takes less\n");
    } else if (isfinite(answer->bound)) {
        buf_printf(out, "bound    %s: none takes less", text_us(found->cli->arena, answer->bound));
        if (answer->best)
            buf_printf(out, ", so the gap is %.2f%%",
                       100 * (1 - answer->bound / answer->best->step_us));
        buf_putc(out, '\n');
    }
    buf_printf(out, "searched %.1f s", answer->seconds);
    put_planned(counts, out);
    put_count(counts->by_time, "too slow", &between, out);
    put_count(counts->by_memory, "too large", &between, out);
    put_count(counts->by_schedule, "without such a schedule", &between, out);
    put_count(counts->same, "equal to another", &between, out);
    put_count(counts->failed, "without a plan", &between, out);
    put_count(counts->left, "not examined", &between, out);
    buf_putc(out, '\n');
    if (answer->failed)
        buf_printf(out, "         without a plan: %s\n", answer->failed);
    between = "meshes   left out: ";
    for (int i = 0; i < LEFT_COUNT; i++)
        put_count(counts->left_out[i], config_left_text((ConfigLeft)i), &between, out);
    if (*between == ',')
        buf_putc(out, '\n');
}

/* The command that opens it. */
static void put_command(const Found *found, const ConfigPlan *plan, Buf *out)
{
    SessionOptions options = config_options(found->search, plan);
    buf_puts(out, "open     dimscope ");
    buf_put_quoted(out, str_from(options.model));
    buf_printf(out, " -m %s -p hybrid3d --machine %s --train=%s", plan->mesh, options.machine,
               options.train);
    for (int i = 0; i < options.dims.n; i++)
        buf_printf(out, " --dim %.*s=%" PRId64, STR_ARG(options.dims.at[i].name),
                   options.dims.at[i].size);
    for (int i = 0; i < plan->settings.n; i++)
        buf_printf(out, " --set %s=%s", plan->settings.at[i].name, plan->settings.at[i].value);
    buf_putc(out, '\n');
}

static const char *because(const Found *found, const ConfigChange *change)
{
    Buf out = buf_new(found->cli->arena);
    for (int i = 0; i < change->n_deltas && i < PARTS_SHOWN; i++)
        buf_printf(&out, "%s%s %c%s", i > 0 ? ", " : "", change->delta[i].name,
                   change->delta[i].us < 0 ? '-' : '+',
                   text_us(found->cli->arena, fabs(change->delta[i].us)));
    return out.s;
}

static void put_change(const Found *found, const ConfigChange *change, Table *table)
{
    Arena *arena = found->cli->arena;
    const ConfigPlan *plan = change->plan;
    double us = plan ? plan->step_us : change->bound_us, best = found->at.answer.best->step_us;
    const char *least = plan ? "" : ">= ";
    table_cell(table, str_from(change->what));
    table_printf(table, "%s%s", least, text_us(arena, us));
    table_printf(table, "%+.1f%%", 100 * (us / best - 1));
    table_printf(table, "%s%s", least,
                 text_bytes(arena, plan ? plan->peak_bytes : change->bound_bytes));
    table_cell(table, str_from(!change->fits ? "does not fit"
                               : plan        ? because(found, change)
                                             : ""));
}

static void put_changes(const Found *found, Buf *out)
{
    static const TableColumn columns[] = {
        {"INSTEAD", 44}, {"STEP", -99}, {"", -99}, {"PEAK", -99}, {"BECAUSE", 0}};
    Arena *arena = found->cli->arena;
    Table *table = table_new(arena, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < found->at.changes.n && i < CHANGES_SHOWN; i++)
        put_change(found, &found->at.changes.change[i], table);
    if (found->at.changes.n > 0) {
        buf_putc(out, '\n');
        table_format(table, "", out);
    }
    const ConfigPlan *free = found->at.unlimited.best, *best = found->at.answer.best;
    if (free && free != best && free->step_us < best->step_us)
        buf_printf(out, "\nwithout the limit of %s: %s, %s (%+.1f%%): %s  %s\n",
                   text_bytes(arena, found->max_peak), text_us(arena, free->step_us),
                   text_bytes(arena, free->peak_bytes), 100 * (free->step_us / best->step_us - 1),
                   free->mesh, free->text);
}

/* Nothing fits: what the smallest needs. */
static void put_least(const Found *found, Buf *out)
{
    const ConfigPlan *least = found->at.least;
    buf_printf(out, "none fits: the smallest needs %s of %s: %s  %s\n",
               text_bytes(found->cli->arena, least->peak_bytes),
               text_bytes(found->cli->arena, found->max_peak), least->mesh, least->text);
}

/* The smallest set of pins that leaves nothing. */
static void put_conflict(const Found *found, Buf *out)
{
    int n = 0;
    for (int i = 0; i < found->n_pins; i++) {
        if (!found->pin[i].conflict)
            continue;
        buf_printf(out, "%s%s", n++ == 0 ? "conflict " : ", ", found->pin[i].pin);
    }
    if (n > 0)
        buf_printf(out, " and the limit of %s: none obeys all, without one of them there is one\n",
                   text_bytes(found->cli->arena, found->max_peak));
    else if (found->n_pins > 0)
        buf_printf(out, "conflict the limit of %s, with or without pins\n",
                   text_bytes(found->cli->arena, found->max_peak));
}

/* The best without each pin. */
static void put_pins(const Found *found, Buf *out)
{
    static const TableColumn columns[] = {
        {"WITHOUT", 0}, {"STEP", -99}, {"", -99}, {"PEAK", -99}, {"THEN", 0}};
    Arena *arena = found->cli->arena;
    Table *table = table_new(arena, columns, sizeof columns / sizeof *columns);
    const ConfigPlan *best = found->at.answer.best;
    for (int i = 0; i < found->n_pins; i++) {
        const ConfigPlan *plan = found->pin[i].answer.best;
        table_cell(table, str_from(found->pin[i].pin ? found->pin[i].pin : "all of them"));
        table_cell(table, str_from(plan ? text_us(arena, plan->step_us) : "no plan"));
        table_cell(table, plan && best
                              ? str_from(arena_printf(arena, "%+.1f%%",
                                                      100 * (plan->step_us / best->step_us - 1)))
                              : STR(""));
        table_cell(table, str_from(plan ? text_bytes(arena, plan->peak_bytes) : ""));
        table_cell(table, plan ? str_from(arena_printf(arena, "%s  %s", plan->mesh, plan->text))
                               : STR(""));
    }
    if (found->n_pins > 0) {
        buf_putc(out, '\n');
        table_format(table, "", out);
    }
    if (!best)
        put_conflict(found, out);
}

static void put_points(const Found *found, Buf *out)
{
    static const TableColumn columns[] = {{"STEP", -99}, {"PEAK", -99}, {"MESH", 0}, {"WITH", 0}};
    Arena *arena = found->cli->arena;
    Table *table = table_new(arena, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < found->at.n_points; i++) {
        const ConfigPlan *plan = found->at.point[i];
        table_cell(table, str_from(text_us(arena, plan->step_us)));
        table_cell(table, str_from(text_bytes(arena, plan->peak_bytes)));
        table_cell(table, str_from(plan->mesh));
        table_cell(table, str_from(plan->text));
    }
    table_format(table, "", out);
}

static void put_csv(const Found *found, Buf *out)
{
    buf_puts(out, "step_us,peak_bytes,mesh,settings\n");
    for (int i = 0; i < found->at.n_points; i++) {
        const ConfigPlan *plan = found->at.point[i];
        buf_printf(out, "%.3f,%" PRId64 ",\"%s\",\"", plan->step_us, plan->peak_bytes, plan->mesh);
        for (int s = 0; s < plan->settings.n; s++)
            buf_printf(out, "%s%s=%s", s > 0 ? " " : "", plan->settings.at[s].name,
                       plan->settings.at[s].value);
        buf_puts(out, "\"\n");
    }
}

static void put_text(const Found *found, Buf *out)
{
    Arena *arena = found->cli->arena;
    const ConfigPlan *best = found->at.answer.best;
    buf_printf(out, "%s on ", path_base(found->cli->operand[0]));
    units_format_count(found->n_devices, out);
    buf_printf(out, " device%s, at most %s each, ", found->n_devices == 1 ? "" : "s",
               text_bytes(arena, found->max_peak));
    units_format_count(config_space_of(found->search)->samples, out);
    buf_puts(out, " samples a step\n");
    if (best) {
        buf_puts(out, "best     ");
        put_plan(found, best, out);
    }
    put_proof(found, out);
    if (best) {
        put_command(found, best, out);
        put_changes(found, out);
    }
    put_pins(found, out);
    if (found->at.least)
        put_least(found, out);
}

/* ---- as JSON ---- */

static Json *plan_of_search_json(const ConfigPlan *plan)
{
    Json *out = json_object(), *settings = json_object(), *parts = json_object();
    json_set_str(out, "mesh", plan->mesh);
    for (int i = 0; i < plan->settings.n; i++)
        json_set_str(settings, plan->settings.at[i].name, plan->settings.at[i].value);
    json_set(out, "set", settings);
    json_set_real(out, "step_us", plan->step_us);
    json_set_int(out, "peak_bytes", plan->peak_bytes);
    for (int i = 0; i < plan->n_parts; i++)
        json_set_real(parts, plan->part[i].name, plan->part[i].us);
    json_set(out, "parts", parts);
    return out;
}

static Json *counts_json(const ConfigCounts *counts)
{
    Json *out = json_object(), *meshes = json_object();
    json_set_int(out, "all", counts->all);
    json_set_int(out, "planned", counts->planned);
    json_set_int(out, "guessed", counts->guessed);
    json_set_int(out, "by_time", counts->by_time);
    json_set_int(out, "by_memory", counts->by_memory);
    json_set_int(out, "by_schedule", counts->by_schedule);
    json_set_int(out, "same", counts->same);
    json_set_int(out, "failed", counts->failed);
    json_set_int(out, "left", counts->left);
    for (int i = 0; i < LEFT_COUNT; i++)
        json_set_int(meshes, config_left_text((ConfigLeft)i), counts->left_out[i]);
    json_set(out, "meshes_left_out", meshes);
    return out;
}

static Json *changes_json(const Found *found)
{
    Json *out = json_array();
    for (int i = 0; i < found->at.changes.n; i++) {
        const ConfigChange *change = &found->at.changes.change[i];
        Json *row = json_object(), *deltas = json_object();
        json_set_str(row, "instead", change->what);
        json_set_real(row, "bound_us", change->bound_us);
        json_set_int(row, "bound_bytes", change->bound_bytes);
        json_set_bool(row, "fits", change->fits);
        for (int d = 0; d < change->n_deltas; d++)
            json_set_real(deltas, change->delta[d].name, change->delta[d].us);
        if (change->plan) {
            json_set_real(row, "step_us", change->plan->step_us);
            json_set_int(row, "peak_bytes", change->plan->peak_bytes);
            json_set(row, "because", deltas);
        } else {
            json_free(deltas);
        }
        json_add(out, row);
    }
    return out;
}

/* {"tp=8": plan without it, or null} */
static Json *pins_json(const Found *found)
{
    Json *out = json_object();
    for (int i = 0; i < found->n_pins; i++) {
        const ConfigPlan *plan = found->pin[i].answer.best;
        json_set(out, found->pin[i].pin ? found->pin[i].pin : "all",
                 plan ? plan_of_search_json(plan) : json_null());
    }
    return out;
}

static Json *found_json(const Found *found)
{
    const ConfigAnswer *answer = &found->at.answer;
    Json *out = json_object(), *points = json_array();
    if (answer->best)
        json_set(out, "best", plan_of_search_json(answer->best));
    if (isfinite(answer->bound))
        json_set_real(out, "bound_us", answer->bound);
    json_set_bool(out, "proven", answer->proven);
    json_set_bool(out, "infeasible", answer->outcome == SEARCH_INFEASIBLE);
    json_set_int(out, "max_peak_bytes", found->max_peak);
    json_set_real(out, "seconds", answer->seconds);
    json_set(out, "configurations", counts_json(&answer->counts));
    json_set(out, "changes", changes_json(found));
    if (found->at.unlimited.best)
        json_set(out, "without_limit", plan_of_search_json(found->at.unlimited.best));
    for (int i = 0; i < found->at.n_points; i++)
        json_add(points, plan_of_search_json(found->at.point[i]));
    json_set(out, "frontier", points);
    if (found->n_pins > 0)
        json_set(out, "pins", pins_json(found));
    return out;
}

/* ---- saving ---- */

/* A policy that is hybrid3d with other defaults. */
static bool save_policy(const Found *found, const ConfigPlan *plan, const char *path, Error *err)
{
    Buf out = buf_new(found->cli->arena);
    const char *model = path_base(found->cli->operand[0]);
    buf_printf(&out,
               "-- %s: hybrid3d.lua with the settings that dimscope search found for %s.\n--\n",
               path_base(path), model);
    buf_printf(&out, "-- Cost: %s a step, %s on the fullest device\n",
               text_us(found->cli->arena, plan->step_us),
               text_bytes(found->cli->arena, plan->peak_bytes));
    buf_printf(&out, "-- Mesh: %s\n\ninclude \"hybrid3d\"\n\nlocal found = {\n", plan->mesh);
    const PolicySettings *given = &plan->settings;
    for (int i = 0; i < given->n; i++)
        if (!model_setting_is(str_from(given->at[i].name))) {
            const char *value = given->at[i].value;
            int64_t n;
            bool plain = str_to_int(str_from(value), &n) || strcmp(value, "true") == 0 ||
                         strcmp(value, "false") == 0;
            buf_printf(&out, "    %s = %s%s%s,\n", given->at[i].name, plain ? "" : "\"", value,
                       plain ? "" : "\"");
        }
    buf_puts(&out, "}\n\nfor _, option in ipairs(OPTIONS) do\n"
                   "    local value = found[option[1]]\n"
                   "    if value ~= nil then option[2] = value end\nend\n");
    return file_write(path, buf_str(&out), err);
}

static bool save(const Found *found, const char *path)
{
    Cli *cli = found->cli;
    const ConfigPlan *best = found->at.answer.best;
    if (str_ends(str_from(path), STR(".lua")))
        return save_policy(found, best, path, &cli->err);
    SessionOptions options = config_options(found->search, best);
    Session *session = session_open(&options, cli->hooks, &cli->err);
    bool ok = session && planfile_save(session, path, false, &cli->err);
    session_close(session);
    return ok;
}

/* ---- the verb ---- */

bool search_asks_stages(Cli *cli)
{
    const CliOptions *options = &cli->options;
    Error err = {0};
    Source source = {.name = "--mesh", .text = str_from(options->mesh ? options->mesh : "")};
    const Mesh *mesh = options->mesh && options->train && !options->policy
                           ? mesh_parse(cli->arena, &source, &err)
                           : NULL;
    int axis = mesh ? mesh_find_axis(mesh, STR("pp")) : -1;
    return axis >= 0 && mesh->axes[axis].size > 1;
}

static bool read_devices(Cli *cli, int64_t *out)
{
    const char *text = cli->options.devices;
    *out = 0;
    if (!text || (str_to_int(str_from(text), out) && *out >= 1 && *out <= MESH_DEVICES_MAX))
        return true;
    error_kind(&cli->err, ERROR_USAGE, "--devices cannot be '%s'", text);
    return error_hint(&cli->err, "give a number from 1 to %d", MESH_DEVICES_MAX);
}

static void put_found(const Found *found, Buf *out)
{
    if (found->cli->options.frontier && found->cli->options.csv)
        put_csv(found, out);
    else if (found->cli->options.frontier)
        put_points(found, out);
    else
        put_text(found, out);
}

/* Where asked, and where they leave nothing that fits. Stopped: what is known is the answer. */
static bool price_pins(Found *found, const ConfigRequest *request, const ConfigQuestion *question)
{
    Cli *cli = found->cli;
    bool none = found->at.answer.outcome == SEARCH_INFEASIBLE && !cli->options.frontier;
    if (progress_stopped(request->progress) || (!none && !cli->options.price_pins))
        return true;
    if (config_price_pins(cli->arena, request, question, !none, &found->pin, &found->n_pins,
                          &cli->err))
        return true;
    found->n_pins = 0;
    bool stopped = cli->err.kind == ERROR_CANCELLED;
    if (stopped)
        cli->err = (Error){0};
    return stopped;
}

int search_devices(Cli *cli, Progress *watched, double seconds, int64_t max_peak)
{
    SessionOptions options;
    ConfigRequest request = {.hooks = cli->hooks, .progress = watched, .options = &options};
    ConfigQuestion question = {.seconds = seconds};
    Found found = {.cli = cli};
    if (!read_devices(cli, &request.n_devices) || !search_read_gap(cli, &question.gap) ||
        !cli_session_options(cli, &options))
        return cli_fail(cli);
    if (cli->options.devices && (options.mesh || options.policy)) {
        error_kind(&cli->err, ERROR_USAGE,
                   "--devices searches for a mesh under the policy hybrid3d");
        error_hint(&cli->err,
                   "fix an axis with --set tp=8; or search on one mesh, without --devices");
        return cli_fail(cli);
    }
    found.search = config_search_new(cli->arena, &request, &cli->err);
    if (!found.search)
        return cli_fail(cli);
    found.n_devices = config_space_of(found.search)->n_devices;
    found.max_peak = max_peak > 0 ? max_peak : config_memory_of(found.search);
    question.max_peak_bytes = found.max_peak;
    bool ok = config_find(cli->arena, found.search, &question, cli->options.frontier, &found.at,
                          &cli->err) &&
              price_pins(&found, &request, &question);
    if (ok && cli->options.json)
        cli_write_json(cli, found_json(&found));
    else if (ok)
        put_found(&found, &cli->out);
    if (ok && found.at.answer.best && cli->options.output)
        ok = save(&found, cli->options.output);
    config_search_free(found.search);
    if (!ok)
        return cli_fail(cli);
    if (progress_stopped(watched))
        return CLI_INTERRUPTED;
    return found.at.answer.best ? CLI_FINE : CLI_ILLEGAL;
}
