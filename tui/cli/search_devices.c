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

enum { CHANGES_PLANNED = 5, CHANGES_SHOWN = 8, PARTS_SHOWN = 2 };

typedef struct {
    Cli *cli;
    ConfigSearch *search;
    int64_t n_devices, max_peak;
    ConfigAnswer answer;
    ConfigChanges changes;
    ConfigAnswer unlimited; /* best NULL: not asked */
    const ConfigPlan **point;
    int n_points;
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

static void put_proof(const Found *found, Buf *out)
{
    const ConfigAnswer *answer = &found->answer;
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
    buf_printf(out, "searched %.1f s, ", answer->seconds);
    units_format_count(counts->planned, out);
    buf_puts(out, " planned");
    put_count(counts->by_time, "too slow", &between, out);
    put_count(counts->by_memory, "too large", &between, out);
    put_count(counts->by_schedule, "without such a schedule", &between, out);
    put_count(counts->same, "like another", &between, out);
    put_count(counts->failed, "without a plan", &between, out);
    put_count(counts->left, "not looked at", &between, out);
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
    double us = plan ? plan->step_us : change->bound_us, best = found->answer.best->step_us;
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
    for (int i = 0; i < found->changes.n && i < CHANGES_SHOWN; i++)
        put_change(found, &found->changes.change[i], table);
    if (found->changes.n > 0) {
        buf_putc(out, '\n');
        table_format(table, "", out);
    }
    const ConfigPlan *free = found->unlimited.best, *best = found->answer.best;
    if (free && free != best && free->step_us < best->step_us)
        buf_printf(out, "\nwithout the limit of %s: %s, %s (%+.1f%%): %s  %s\n",
                   text_bytes(arena, found->max_peak), text_us(arena, free->step_us),
                   text_bytes(arena, free->peak_bytes), 100 * (free->step_us / best->step_us - 1),
                   free->mesh, free->text);
}

static void put_points(const Found *found, Buf *out)
{
    static const TableColumn columns[] = {{"STEP", -99}, {"PEAK", -99}, {"MESH", 0}, {"WITH", 0}};
    Arena *arena = found->cli->arena;
    Table *table = table_new(arena, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < found->n_points; i++) {
        const ConfigPlan *plan = found->point[i];
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
    for (int i = 0; i < found->n_points; i++) {
        const ConfigPlan *plan = found->point[i];
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
    const ConfigPlan *best = found->answer.best;
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
    if (!best)
        return;
    put_command(found, best, out);
    put_changes(found, out);
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
    for (int i = 0; i < found->changes.n; i++) {
        const ConfigChange *change = &found->changes.change[i];
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

static Json *found_json(const Found *found)
{
    const ConfigAnswer *answer = &found->answer;
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
    if (found->unlimited.best)
        json_set(out, "without_limit", plan_of_search_json(found->unlimited.best));
    for (int i = 0; i < found->n_points; i++)
        json_add(points, plan_of_search_json(found->point[i]));
    json_set(out, "frontier", points);
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
    const ConfigPlan *best = found->answer.best;
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
    return error_hint(&cli->err, "write a number from 1 to %d", MESH_DEVICES_MAX);
}

/* Nothing fits: says what the smallest needs. */
static bool explain_none(Found *found, const ConfigQuestion *question)
{
    Cli *cli = found->cli;
    ConfigQuestion least = *question;
    ConfigAnswer answer;
    least.aim = LEAST_MEMORY;
    least.max_peak_bytes = INT64_MAX;
    if (!config_search(found->search, &least, &answer, &cli->err))
        return false;
    if (!answer.best)
        return true;
    buf_printf(&cli->out, "none fits: the smallest needs %s of %s: %s  %s\n",
               text_bytes(cli->arena, answer.best->peak_bytes),
               text_bytes(cli->arena, found->max_peak), answer.best->mesh, answer.best->text);
    return true;
}

/* What other choices and the limit cost. */
static bool explain_best(Found *found, const ConfigQuestion *question, const Progress *watched)
{
    Cli *cli = found->cli;
    ConfigQuestion unlimited = *question;
    unlimited.max_peak_bytes = INT64_MAX;
    unlimited.gap = fmax(question->gap, .01);
    if (progress_stopped(watched) || found->answer.counts.left > 0)
        return true;
    return config_changes(cli->arena, found->search, found->answer.best, found->max_peak,
                          CHANGES_PLANNED, &found->changes, &cli->err) &&
           config_search(found->search, &unlimited, &found->unlimited, &cli->err);
}

static bool answer_frontier(Found *found, const ConfigQuestion *question)
{
    Cli *cli = found->cli;
    if (!config_frontier(cli->arena, found->search, question, &found->point, &found->n_points,
                         &cli->err))
        return false;
    found->answer.best = found->n_points > 0 ? found->point[0] : NULL;
    if (cli->options.csv)
        put_csv(found, &cli->out);
    else if (!cli->options.json)
        put_points(found, &cli->out);
    return true;
}

static bool answer_question(Found *found, const ConfigQuestion *question, const Progress *watched)
{
    Cli *cli = found->cli;
    if (!config_search(found->search, question, &found->answer, &cli->err))
        return false;
    if (found->answer.best && !explain_best(found, question, watched))
        return false;
    if (cli->options.json)
        return true;
    put_text(found, &cli->out);
    return found->answer.outcome != SEARCH_INFEASIBLE || explain_none(found, question);
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
        error_kind(&cli->err, ERROR_USAGE, "--devices searches the mesh, for the policy hybrid3d");
        error_hint(&cli->err, "pin an axis with --set tp=8; or search one mesh, without --devices");
        return cli_fail(cli);
    }
    found.search = config_search_new(cli->arena, &request, &cli->err);
    if (!found.search)
        return cli_fail(cli);
    found.n_devices = config_space_of(found.search)->n_devices;
    found.max_peak = max_peak > 0 ? max_peak : config_memory_of(found.search);
    question.max_peak_bytes = found.max_peak;
    bool ok = cli->options.frontier ? answer_frontier(&found, &question)
                                    : answer_question(&found, &question, watched);
    if (ok && cli->options.json)
        cli_write_json(cli, found_json(&found));
    if (ok && found.answer.best && cli->options.output)
        ok = save(&found, cli->options.output);
    config_search_free(found.search);
    if (!ok)
        return cli_fail(cli);
    if (progress_stopped(watched))
        return CLI_INTERRUPTED;
    return found.answer.best ? CLI_FINE : CLI_ILLEGAL;
}
