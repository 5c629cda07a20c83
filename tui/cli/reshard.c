/* `dimscope reshard SHAPE FROM TO -m MESH`: how a tensor is brought from one sharding to another,
 * with formulas, the lower bound, and what other planners do; with --to-mesh, from one mesh to
 * another, message by message. */
#include "tui/cli/cli.h"

#include "core/base/units.h"
#include "core/reshard/cross_mesh.h"
#include "core/plan/json_forms.h"
#include "core/reshard/compare.h"
#include "core/rules/one_op.h"
#include "core/base/table.h"

#include <inttypes.h>
#include <math.h>

enum { MESSAGES_SHOWN = 16 };

typedef struct {
    Shape shape;
    Dtype dtype;
    Machine machine;
    const Mesh *mesh, *to_mesh; /* to_mesh NULL: the same */
    Sharding from, to;
} AskedReshard;

/* ---- the request ---- */

static bool read_tensor(Cli *cli, AskedReshard *asked)
{
    OneOp op = {.op_type = STR("")};
    if (!one_op_operands(cli->arena, str_from(cli->operand[0]), &op, &cli->err))
        return false;
    if (op.n_inputs != 1 || op.n_outputs != 0 || op.shape[0].n_dims < 0)
        return error_kind(&cli->err, ERROR_USAGE, "'%s' is not a shape such as 4096x768, or scalar",
                          cli->operand[0]);
    asked->shape = op.shape[0];
    asked->dtype = op.dtype[0];
    if (!cli->options.dtype)
        return shape_check(&asked->shape, &cli->err);
    asked->dtype = dtype_from_name(str_from(cli->options.dtype));
    if (asked->dtype != DT_NONE)
        return shape_check(&asked->shape, &cli->err);
    error_kind(&cli->err, ERROR_USAGE, "'%s' is not an element type", cli->options.dtype);
    return error_hint(&cli->err,
                      "types: bool, str, i8 to i64, u8 to u64, f16, bf16, f32, f64, c64, c128");
}

static const Mesh *read_mesh(Cli *cli, const char *option, const char *text)
{
    Source source = {.name = option, .text = str_from(text)};
    return mesh_parse(cli->arena, &source, &cli->err);
}

static bool read_sharding(Cli *cli, const char *name, const char *text, const Shape *shape,
                          const Mesh *mesh, Sharding *out)
{
    Source source = {.name = name, .text = str_from(text)};
    if (sharding_parse_any(&source, shape, mesh, out, &cli->err))
        return true;
    cli->err.kind = ERROR_USAGE;
    return false;
}

static bool read_asked(Cli *cli, AskedReshard *asked)
{
    const char *machine = cli->options.machine ? cli->options.machine : "h100x8";
    if (!cli->options.mesh) {
        error_kind(&cli->err, ERROR_USAGE, "reshard needs a mesh");
        return error_hint(&cli->err,
                          "dimscope reshard 4096x768 4096/dp,768 4096,768/tp -m dp=2,tp=4");
    }
    if (!read_tensor(cli, asked) || !(asked->mesh = read_mesh(cli, "-m", cli->options.mesh)))
        return false;
    if (cli->options.to_mesh &&
        !(asked->to_mesh = read_mesh(cli, "--to-mesh", cli->options.to_mesh)))
        return false;
    const Mesh *there = asked->to_mesh ? asked->to_mesh : asked->mesh;
    return read_sharding(cli, "FROM", cli->operand[1], &asked->shape, asked->mesh, &asked->from) &&
           read_sharding(cli, "TO", cli->operand[2], &asked->shape, there, &asked->to) &&
           cli->hooks->machine(cli->hooks->context, cli->arena, machine, &asked->machine,
                               &cli->err);
}

/* ---- text ---- */

static const char *sharding_text(Arena *arena, const Sharding *sharding, const Mesh *mesh)
{
    Buf text = buf_new(arena);
    sharding_format(sharding, mesh, VIEW_OURS, &text, NULL);
    return text.s ? text.s : "";
}

static void write_asked(Cli *cli, const AskedReshard *asked)
{
    Buf *out = &cli->out;
    int64_t bytes = dtype_bytes(asked->dtype, shape_elements(&asked->shape));
    shape_format(&asked->shape, out);
    buf_printf(out, " %s, %s, from %s", dtype_name(asked->dtype), text_bytes(cli->arena, bytes),
               sharding_text(cli->arena, &asked->from, asked->mesh));
    buf_puts(out, asked->to_mesh ? " on " : "");
    if (asked->to_mesh)
        mesh_format(asked->mesh, out);
    const Mesh *there = asked->to_mesh ? asked->to_mesh : asked->mesh;
    buf_printf(out, " to %s on ", sharding_text(cli->arena, &asked->to, there));
    mesh_format(there, out);
    buf_printf(out, ", %s\n\n", asked->machine.name);
}

/* One line a step, and how its time comes about. */
static void write_steps(Cli *cli, const AskedReshard *asked, const Mesh *mesh,
                        const Shardings *shardings, const Step *step, int n)
{
    for (int i = 0; i < n; i++) {
        Buf axes = buf_new(cli->arena), formula = buf_new(cli->arena);
        mesh_format_set(mesh, step[i].atoms, ".", &axes);
        buf_printf(&cli->out, "  %-14s %-8s to %s", step_kind_name(step[i].kind),
                   axes.s ? axes.s : "",
                   sharding_text(cli->arena, shardings_at(shardings, step[i].to), mesh));
        if (step[i].kind == STEP_SLICE) {
            buf_puts(&cli->out, ": free\n");
            continue;
        }
        buf_printf(&cli->out, ": %s of %s, sends %s\n", text_us(cli->arena, step[i].us),
                   text_bytes(cli->arena, step[i].bytes),
                   text_bytes(cli->arena, step[i].wire_bytes));
        price_explain(&asked->machine, mesh, step[i].kind, step[i].atoms, step[i].bytes, &formula);
        for (Str rest = str_trim(buf_str(&formula)); rest.n > 0;) {
            Str line = str_take(&rest, '\n');
            buf_printf(&cli->out, "      %.*s\n", STR_ARG(line));
        }
    }
}

/* ---- on one mesh ---- */

typedef struct {
    ReshardQuestion question;
    int n_planned;
    PlannedReshard planned[PLANNED_MAX];
    const ReshardPath *path, *runner_up; /* ours; runner_up NULL: no other way */
} Compared;

/* --max-peak: what a rank may hold on the way. */
static bool read_cap(Cli *cli, const AskedReshard *asked, ReshardOptions *out)
{
    const char *text = cli->options.max_peak;
    *out = reshard_defaults();
    if (!text)
        return true;
    out->cap = PEAK_BYTES;
    if (asked->to_mesh) {
        error_kind(&cli->err, ERROR_USAGE, "--max-peak cannot be used with --to-mesh");
        error_hint(&cli->err, "run reshard once for each mesh to limit its memory");
    } else if (!units_parse_bytes(str_from(text), &out->bytes)) {
        error_kind(&cli->err, ERROR_USAGE, "--max-peak cannot be '%s'", text);
        error_hint(&cli->err, "write it like this: --max-peak 64MiB");
    }
    return !error_is_set(&cli->err);
}

static bool compare(Cli *cli, const AskedReshard *asked, const ReshardOptions *options,
                    Compared *out)
{
    ReshardQuestion *question = &out->question;
    *question = (ReshardQuestion){.mesh = asked->mesh,
                                  .machine = &asked->machine,
                                  .shardings = shardings_new(cli->arena),
                                  .shape = &asked->shape,
                                  .dtype = asked->dtype};
    question->resharder =
        resharder_new(cli->arena, asked->mesh, &asked->machine, question->shardings);
    resharder_options(question->resharder, options);
    question->from = shardings_put(question->shardings, &asked->from);
    question->to = shardings_put(question->shardings, &asked->to);
    out->n_planned = reshard_compare(cli->arena, question, out->planned, &cli->err);
    if (out->n_planned == 0)
        return false;
    Resharder *resharder = question->resharder;
    out->path = reshard(resharder, question->dtype, question->from, question->to);
    out->runner_up = reshard_runner_up(resharder, question->dtype, question->from, question->to, 1);
    return true;
}

/* ORDER MOVES_OUTCOME */
static const char *const outcome_names[] = {"right", "wrong data", "not run"};

static void write_ratio(Table *table, double ratio)
{
    if (isfinite(ratio))
        table_printf(table, "%.2f", ratio);
    else
        table_cell(table, STR("-"));
}

static void write_planners(Cli *cli, const PlannedReshard *planned, int n)
{
    static const TableColumn columns[] = {{"PLANNER", 0}, {"STEPS", -6}, {"SENT", -10},
                                          {"PEAK", -10},  {"TIME", -10}, {"RATIO", -6},
                                          {"", 60}};
    Table *table = table_new(cli->arena, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < n; i++) {
        table_cell(table, str_from(planned_by_name(i)));
        if (planned[i].why_not) {
            for (int k = 0; k < 5; k++)
                table_cell(table, STR("-"));
            table_cell(table, str_from(planned[i].why_not));
            continue;
        }
        table_printf(table, "%d", planned[i].n_steps);
        table_cell(table, str_from(text_bytes(cli->arena, planned[i].wire_bytes)));
        table_cell(table, str_from(text_bytes(cli->arena, planned[i].peak_bytes)));
        table_cell(table, str_from(text_us(cli->arena, planned[i].us)));
        write_ratio(table, planned[i].ratio);
        bool right = planned[i].outcome == MOVES_RIGHT;
        table_cell(table, str_from(right ? "" : outcome_names[planned[i].outcome]));
    }
    buf_putc(&cli->out, '\n');
    table_format(table, "", &cli->out);
}

/* "all_to_all tp; slice": the kinds and axes of a path, in a line. */
static void path_format(const ReshardPath *path, const Mesh *mesh, Buf *out)
{
    for (int i = 0; i < path->n_steps; i++) {
        buf_printf(out, "%s%s", i > 0 ? "; " : "", step_kind_name(path->step[i].kind));
        buf_puts(out, path->step[i].atoms ? " " : "");
        mesh_format_set(mesh, path->step[i].atoms, ".", out);
    }
}

/* What stands around the path chosen: the total, the next best, the least there can be. */
static void write_margins(Cli *cli, const Compared *compared)
{
    const ReshardPath *path = compared->path;
    Buf *out = &cli->out;
    if (path->n_steps == 0) {
        buf_puts(out, "  nothing to do\n");
        return;
    }
    buf_printf(out, "\n%s; peak per rank at most %s", text_us(cli->arena, path->us),
               text_bytes(cli->arena, path->peak_bytes));
    if (path->padding_bytes > 0)
        buf_printf(out, "; %s of the payload is padding",
                   text_bytes(cli->arena, path->padding_bytes));
    buf_puts(out, path->proven ? "; no path is cheaper\n" : "\n");
    if (compared->runner_up) {
        buf_printf(out, "next best %s: ", text_us(cli->arena, compared->runner_up->us));
        path_format(compared->runner_up, compared->question.mesh, out);
        buf_putc(out, '\n');
    }
    buf_printf(out, "at least %s:\n", text_us(cli->arena, path->bound_us));
    for (Str rest = str_from(reshard_bound_formula()); rest.n > 0;) {
        Str clause = str_trim(str_take(&rest, ';'));
        buf_printf(out, "      %.*s\n", STR_ARG(clause));
    }
}

static void write_compared(Cli *cli, const AskedReshard *asked, const Compared *compared)
{
    const ReshardPath *path = compared->path;
    write_asked(cli, asked);
    write_steps(cli, asked, asked->mesh, compared->question.shardings, path->step, path->n_steps);
    write_margins(cli, compared);
    write_planners(cli, compared->planned, compared->n_planned);
}

static Json *steps_json(const Mesh *mesh, const Shardings *shardings, const Step *step, int n)
{
    Json *steps = json_array();
    for (int i = 0; i < n; i++) {
        Json *one = json_of_step(&step[i], mesh);
        json_set(one, "to", json_of_sharding(shardings_at(shardings, step[i].to), mesh));
        json_add(steps, one);
    }
    return steps;
}

static Json *planner_json(const Compared *compared, int by)
{
    const PlannedReshard *planned = &compared->planned[by];
    const ReshardQuestion *question = &compared->question;
    Json *out = json_object();
    json_set_str(out, "planner", planned_by_name(by));
    if (planned->why_not) {
        json_set_str(out, "why_not", planned->why_not);
        return out;
    }
    json_set(out, "steps",
             steps_json(question->mesh, question->shardings, planned->step, planned->n_steps));
    json_set_str(out, "outcome", outcome_names[planned->outcome]);
    json_set_int(out, "wire_bytes", planned->wire_bytes);
    json_set_int(out, "peak_bytes", planned->peak_bytes);
    json_set_real(out, "us", planned->us);
    json_set_real(out, "ratio", planned->ratio);
    return out;
}

static Json *asked_json(const AskedReshard *asked)
{
    Json *out = json_object();
    const Mesh *there = asked->to_mesh ? asked->to_mesh : asked->mesh;
    json_set(out, "shape", json_of_shape(&asked->shape));
    json_set_str(out, "dtype", dtype_name(asked->dtype));
    json_set_str(out, "machine", asked->machine.name);
    json_set(out, "mesh", json_of_mesh(asked->mesh));
    if (asked->to_mesh)
        json_set(out, "to_mesh", json_of_mesh(asked->to_mesh));
    json_set(out, "from", json_of_sharding(&asked->from, asked->mesh));
    json_set(out, "to", json_of_sharding(&asked->to, there));
    return out;
}

static Json *compared_json(const AskedReshard *asked, const Compared *compared)
{
    Json *out = asked_json(asked), *planners = json_array();
    const ReshardPath *path = compared->path, *next = compared->runner_up;
    json_set_real(out, "us", path->us);
    json_set_real(out, "bound_us", path->bound_us);
    json_set_bool(out, "proven", path->proven);
    json_set_int(out, "peak_bytes", path->peak_bytes);
    json_set_int(out, "padding_bytes", path->padding_bytes);
    json_set(out, "steps",
             steps_json(asked->mesh, compared->question.shardings, path->step, path->n_steps));
    json_set(out, "runner_up", next ? json_object() : json_null());
    if (next) {
        json_set_real(json_get(out, "runner_up"), "us", next->us);
        json_set(json_get(out, "runner_up"), "steps",
                 steps_json(asked->mesh, compared->question.shardings, next->step, next->n_steps));
    }
    for (int i = 0; i < compared->n_planned; i++)
        json_add(planners, planner_json(compared, i));
    json_set(out, "planners", planners);
    return out;
}

/* ---- between meshes ---- */

static void box_format(const Runs *box, int64_t n_dims, Buf *out)
{
    buf_putc(out, '[');
    for (int d = 0; d < n_dims; d++) {
        buf_puts(out, d > 0 ? ", " : "");
        for (int i = 0; i < box[d].n && i < 3; i++)
            buf_printf(out, "%s%" PRId64 ":%" PRId64, i > 0 ? "+" : "", box[d].at[i].start,
                       box[d].at[i].start + box[d].at[i].length);
        buf_puts(out, box[d].n > 3 ? "+.." : "");
    }
    buf_putc(out, ']');
}

static void targets_format(const Transfer *transfer, Buf *out)
{
    for (int i = 0; i < transfer->n_targets; i++)
        buf_printf(out, "%s%d", i > 0 ? "," : "", transfer->target[i]);
}

static void write_messages(Cli *cli, const AskedReshard *asked, const Crossing *crossing)
{
    static const TableColumn columns[] = {{"DEVICE", -6}, {"TO", 30}, {"BYTES", -10}, {"PART", 50}};
    Table *table = table_new(cli->arena, columns, sizeof columns / sizeof *columns);
    int n = crossing->n_transfers < MESSAGES_SHOWN ? crossing->n_transfers : MESSAGES_SHOWN;
    buf_printf(
        &cli->out, "  %-14s %d message%s, all at once: %s, %s in total, a device sends %s%s\n",
        step_kind_name(crossing->kind), crossing->n_transfers,
        crossing->n_transfers == 1 ? "" : "s", text_us(cli->arena, crossing->us),
        text_bytes(cli->arena, crossing->total_bytes), text_bytes(cli->arena, crossing->wire_bytes),
        crossing->reduce == REDUCE_NONE ? "" : "; receivers reduce");
    for (int i = 0; i < n; i++) {
        const Transfer *transfer = &crossing->transfer[i];
        Buf targets = buf_new(cli->arena), box = buf_new(cli->arena);
        targets_format(transfer, &targets);
        box_format(transfer->box, asked->shape.n_dims, &box);
        table_printf(table, "%d", transfer->source);
        table_cell(table, buf_str(&targets));
        table_cell(table, str_from(text_bytes(cli->arena, transfer->bytes)));
        table_cell(table, buf_str(&box));
    }
    table_format(table, "      ", &cli->out);
    if (crossing->n_transfers > n)
        buf_printf(&cli->out, "      and %d more\n", crossing->n_transfers - n);
}

static void write_ways(Cli *cli, const CrossMeshPath *path)
{
    static const TableColumn columns[] = {{"WAY", 0}, {"TIME", -10}, {"RATIO", -6}};
    Table *table = table_new(cli->arena, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < CROSS_WAY_COUNT; i++) {
        if (!isfinite(path->way_us[i]))
            continue;
        table_cell(table, str_from(cross_way_name((CrossWay)i)));
        table_cell(table, str_from(text_us(cli->arena, path->way_us[i])));
        write_ratio(table, path->us > 0 ? path->way_us[i] / path->us : 1);
    }
    table_cell(table, STR("lower bound"));
    table_cell(table, str_from(text_us(cli->arena, path->bound_us)));
    write_ratio(table, path->us > 0 ? path->bound_us / path->us : 1);
    buf_putc(&cli->out, '\n');
    table_format(table, "", &cli->out);
}

static void write_crossed(Cli *cli, const AskedReshard *asked, const CrossMeshPath *path)
{
    write_asked(cli, asked);
    write_steps(cli, asked, asked->mesh, path->from_shardings, path->before->step,
                path->before->n_steps);
    if (path->crossing.n_transfers > 0)
        write_messages(cli, asked, &path->crossing);
    else
        buf_puts(&cli->out, "  nothing to send\n");
    write_steps(cli, asked, asked->to_mesh, path->to_shardings, path->after->step,
                path->after->n_steps);
    write_ways(cli, path);
}

static Json *box_json(const Runs *box, int64_t n_dims)
{
    Json *out = json_array();
    for (int d = 0; d < n_dims; d++) {
        Json *runs = json_array();
        for (int i = 0; i < box[d].n; i++)
            json_add(runs, json_ints((int64_t[]){box[d].at[i].start, box[d].at[i].length}, 2));
        json_add(out, runs);
    }
    return out;
}

static Json *messages_json(const AskedReshard *asked, const Crossing *crossing)
{
    Json *out = json_array();
    for (int i = 0; i < crossing->n_transfers; i++) {
        const Transfer *transfer = &crossing->transfer[i];
        Json *one = json_object(), *targets = json_array();
        for (int k = 0; k < transfer->n_targets; k++)
            json_add(targets, json_from_int(transfer->target[k]));
        json_set_int(one, "source", transfer->source);
        json_set(one, "targets", targets);
        json_set_int(one, "bytes", transfer->bytes);
        json_set(one, "runs", box_json(transfer->box, asked->shape.n_dims));
        json_add(out, one);
    }
    return out;
}

static Json *crossed_json(const AskedReshard *asked, const CrossMeshPath *path)
{
    Json *out = asked_json(asked), *crossing = json_object(), *ways = json_object();
    json_set_str(crossing, "kind", step_kind_name(path->crossing.kind));
    json_set_str(crossing, "reduce",
                 path->crossing.reduce == REDUCE_NONE ? "" : reduce_name(path->crossing.reduce));
    json_set(crossing, "messages", messages_json(asked, &path->crossing));
    json_set_int(crossing, "total_bytes", path->crossing.total_bytes);
    json_set_int(crossing, "wire_bytes", path->crossing.wire_bytes);
    json_set_real(crossing, "us", path->crossing.us);
    for (int i = 0; i < CROSS_WAY_COUNT; i++)
        json_set_real(ways, cross_way_name((CrossWay)i), path->way_us[i]);
    json_set(
        out, "before",
        steps_json(asked->mesh, path->from_shardings, path->before->step, path->before->n_steps));
    json_set(out, "crossing", crossing);
    json_set(
        out, "after",
        steps_json(asked->to_mesh, path->to_shardings, path->after->step, path->after->n_steps));
    json_set_real(out, "us", path->us);
    json_set_real(out, "bound_us", path->bound_us);
    json_set(out, "ways", ways);
    return out;
}

static int answer_crossed(Cli *cli, const AskedReshard *asked)
{
    CrossMeshPath path;
    CrossMeshSide from = {asked->mesh, &asked->from}, to = {asked->to_mesh, &asked->to};
    if (!cross_mesh_reshard(cli->arena, &asked->machine, asked->dtype, &from, &to, &path,
                            &cli->err))
        return cli_fail(cli);
    if (cli->options.json)
        cli_write_json(cli, crossed_json(asked, &path));
    else
        write_crossed(cli, asked, &path);
    return CLI_FINE;
}

/* ---- the verb ---- */

int cli_reshard(Cli *cli)
{
    AskedReshard asked = {0};
    Compared compared;
    ReshardOptions options;
    if (!read_asked(cli, &asked) || !read_cap(cli, &asked, &options)) {
        if (cli_exit_code(cli->err.kind) == CLI_UNREADABLE)
            cli->err.kind = ERROR_USAGE;
        return cli_fail(cli);
    }
    if (asked.to_mesh)
        return answer_crossed(cli, &asked);
    if (!compare(cli, &asked, &options, &compared))
        return cli_fail(cli);
    if (cli->options.json)
        cli_write_json(cli, compared_json(&asked, &compared));
    else
        write_compared(cli, &asked, &compared);
    return CLI_FINE;
}
