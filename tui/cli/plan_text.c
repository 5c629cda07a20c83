#include "tui/cli/plan_text.h"

#include "core/base/intern.h"
#include "core/base/units.h"
#include "core/cost/cost.h"
#include "core/cost/memory.h"
#include "core/plan/stage.h"
#include "core/summary/comm.h"
#include "core/cost/pipeline.h"
#include "core/summary/label.h"
#include "tui/state/control.h"
#include "tui/state/parameters.h"
#include "tui/cli/training_text.h"
#include "core/base/table.h"
#include "core/plan/plan_machine.h"
#include "core/reshard/cluster.h"

#include <inttypes.h>

enum { ROWS_AT_ONCE = 256, NAME_MOST = 23, OUTPUT_MOST = 30, PARAMETER_MOST = 48 };

typedef struct {
    const Session *session;
    const Plan *plan;
    Outline *outline;
    Comm *comm;
    Control control;
    Arena *scratch;
} PlanPage;

/* ---- cells ---- */

static void bytes_cell(Table *table, Arena *scratch, int64_t bytes)
{
    Buf text = buf_new(scratch);
    units_format_bytes(bytes, &text);
    table_cell(table, buf_str(&text));
}

static void us_cell(Table *table, Arena *scratch, double us)
{
    Buf text = buf_new(scratch);
    if (us > 0)
        units_format_us(us, &text);
    table_cell(table, buf_str(&text));
}

/* Of a tensor whose sizes are not all known, what is. */
static void sharding_cell(const PlanPage *page, Table *table, int32_t tensor, int32_t sharding)
{
    Buf text = buf_new(page->scratch);
    if (sharding >= 0) {
        label_put_list(page->session->inferred, tensor, &text);
        sharding_format(shardings_at(page->plan->shardings, sharding), page->session->mesh,
                        VIEW_OURS, &text, NULL);
    } else if (tensor >= 0) {
        label_put_shape(page->session->inferred, tensor, &text);
    }
    table_cell(table, buf_str(&text));
}

static void atoms_cell(Table *table, Arena *scratch, const Mesh *mesh, AtomSet atoms)
{
    Buf text = buf_new(scratch);
    mesh_format_set(mesh, atoms, ".", &text);
    table_cell(table, buf_str(&text));
}

/* ---- head ---- */

/* ", 2 nodes of 8: dp crosses them"; nothing if all devices are on one node. */
static void put_nodes(const Session *session, Buf *out)
{
    const Mesh *mesh = session->mesh;
    AtomSet all = (AtomSet)((1u << mesh->n_atoms) - 1);
    int64_t n = machine_group(session->machine, mesh, all).nodes;
    int n_across = 0;
    if (n < 2)
        return;
    buf_printf(out, ", %" PRId64 " nodes of %" PRId64 ": ", n, session->machine->devices_per_node);
    for (int a = 0; a < mesh->n_axes; a++) {
        if (machine_group(session->machine, mesh, mesh_axis_atoms(mesh, a)).nodes < 2)
            continue;
        buf_puts(out, n_across++ > 0 ? ", " : "");
        mesh_put_axis(mesh, a, out);
    }
    buf_puts(out, n_across == 1 ? " crosses them" : " cross them");
}

/* " (8 of h100x8, 8 of a100x8)" where devices are unlike. */
static void put_kinds(const Cluster *cluster, Buf *out)
{
    for (int i = 0; cluster && i < cluster->n; i++)
        buf_printf(out, "%s%" PRId64 " of %s", i > 0 ? ", " : " (", cluster->kind[i].devices,
                   cluster->kind[i].machine->name);
    if (cluster)
        buf_puts(out, ")");
}

static void plan_text_head(const Session *session, Buf *out)
{
    const SessionOptions *options = &session->options;
    int n_ops = session->inferred->n_program;
    buf_printf(out, "model    %s  %d op%s, ", session->graph->file, n_ops, n_ops == 1 ? "" : "s");
    units_format_count(inferred_params(session->inferred), out);
    buf_puts(out, " parameters ");
    for (int i = 0; i < options->dims.n; i++)
        if (!dim_is_overridden(&options->dims, i))
            buf_printf(out, " %.*s=%" PRId64, STR_ARG(options->dims.at[i].name),
                       options->dims.at[i].size);
    buf_puts(out, "\nmesh     ");
    mesh_format(session->mesh, out);
    buf_printf(out, "  %" PRId64 " device%s of %s", session->mesh->n_devices,
               session->mesh->n_devices == 1 ? "" : "s", options->machine);
    put_kinds(session->machine->cluster, out);
    put_nodes(session, out);
    buf_printf(out, "\npolicy   %s\n", options->policy ? options->policy : "none");
    if (options->train)
        buf_printf(out, "train    %s\n", options->train);
}

/* ---- the outline: a row inside a fold stands for all members, its times and counts too ---- */

static void name_cell(const PlanPage *page, Table *table, const OutlineRow *row)
{
    Buf text = buf_new(page->scratch);
    outline_label(page->outline, row, &text);
    if (row->fold_n > 1)
        buf_printf(&text, " ×%d", row->fold_n);
    control_format_times(&page->control, row, &text);
    table_name(table, row->depth, buf_str(&text), NAME_MOST);
}

/* The largest payload of a path's steps; 0: nothing is sent. */
static int64_t path_bytes(const ReshardPath *path)
{
    int64_t bytes = 0;
    for (int s = 0; s < path->n_steps; s++)
        bytes = path->step[s].bytes > bytes ? path->step[s].bytes : bytes;
    return bytes;
}

/* "AR tp 12.0 MiB ×12" of the first reshard at an op that sends something, "+2" for the others. */
static void op_reshards_cell(const PlanPage *page, Table *table, int32_t op, double times)
{
    Buf text = buf_new(page->scratch);
    int more = 0;
    for (int32_t r = page->comm->of_op[op]; r >= 0; r = page->comm->next[r]) {
        const ReshardPath *path = page->plan->moved->reshards[r].path;
        int64_t bytes = path_bytes(path);
        if (bytes == 0 || text.n > 0) {
            more += bytes > 0;
            continue;
        }
        comm_format_steps(page->session, path, &text);
        buf_putc(&text, ' ');
        units_format_bytes(bytes, &text);
        if (times > 1)
            buf_printf(&text, " ×%.10g", times);
    }
    if (more > 0)
        buf_printf(&text, " +%d", more);
    table_cell(table, buf_str(&text));
}

static void group_cells(const PlanPage *page, Table *table, const OutlineRow *row)
{
    CommSums sum = comm_sum(page->comm, row->first, row->first + row->n);
    table_printf(table, "%d ops", (int)row->n);
    table_cell(table, STR(""));
    table_cell(table, STR(""));
    int64_t whole_folds = row->times / row->fold_n;
    double folds = (double)whole_folds;
    us_cell(table, page->scratch, sum.us * folds);
    Buf text = buf_new(page->scratch);
    if (sum.count > 0) {
        buf_printf(&text, "%.10g: ", sum.count * folds);
        units_format_us(sum.comm_us * folds, &text);
    }
    table_cell(table, buf_str(&text));
}

static void tensor_cells(const PlanPage *page, Table *table, int32_t tensor)
{
    int32_t sharding = tensor < 0 ? -1 : page->plan->moved->made[tensor];
    sharding_cell(page, table, tensor, sharding);
    if (sharding < 0)
        table_cell(table, STR(""));
    else
        bytes_cell(table, page->scratch, plan_local_bytes(page->plan, tensor, sharding));
}

static void op_cells(const PlanPage *page, Table *table, const OutlineRow *row)
{
    const Graph *graph = page->session->graph;
    int32_t tensor = -1;
    for (int o = graph->ops[row->id].n_outputs - 1; o >= 0; o--)
        if (op_outputs(graph, row->id)[o] >= 0)
            tensor = op_outputs(graph, row->id)[o];
    table_cell(table, str_from(label_operator(graph, row->id)));
    tensor_cells(page, table, tensor);
    us_cell(table, page->scratch, page->plan->priced->op_us[row->id] * (double)row->times);
    op_reshards_cell(page, table, row->id,
                     (double)row->times * inferred_repeat(page->session->inferred, row->id));
}

static void row_cells(const PlanPage *page, Table *table, const OutlineRow *row)
{
    name_cell(page, table, row);
    if (row->kind == ROW_GROUP) {
        group_cells(page, table, row);
    } else if (row->kind == ROW_OP) {
        op_cells(page, table, row);
    } else {
        table_cell(table, STR("input"));
        tensor_cells(page, table, row->id);
        table_cell(table, STR(""));
        table_cell(table, STR(""));
    }
}

static void format_outline(const PlanPage *page, Buf *out)
{
    static const TableColumn columns[] = {{"NAME", 0},    {"OP", 10},   {"OUTPUT", OUTPUT_MOST},
                                          {"LOCAL", -10}, {"TIME", -9}, {"RESHARD", 0}};
    Table *table = table_new(page->scratch, columns, sizeof columns / sizeof *columns);
    OutlineRow rows[ROWS_AT_ONCE];
    int64_t at = 0;
    for (int n; (n = outline_rows(page->outline, at, ROWS_AT_ONCE, rows)) > 0; at += n)
        for (int i = 0; i < n; i++)
            row_cells(page, table, &rows[i]);
    table_format(table, "", out);
}

/* ---- parameters ---- */

static void format_parameters(const PlanPage *page, Buf *out)
{
    static const TableColumn columns[] = {
        {"PARAMETERS", 0}, {"TYPE", 8}, {"STORED", OUTPUT_MOST}, {"LOCAL", -10}};
    ParameterRow *rows;
    int n = parameters_fold(page->scratch, page->session, &rows);
    if (n == 0)
        return;
    Table *table = table_new(page->scratch, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < n; i++) {
        const ParameterRow *row = &rows[i];
        Buf name = buf_new(page->scratch);
        buf_add(&name, row->name);
        if (row->n > 1)
            buf_printf(&name, " ×%d", row->n);
        table_name(table, 0, buf_str(&name), PARAMETER_MOST);
        table_cell(table, str_from(dtype_name((Dtype)page->session->inferred->dtype[row->first])));
        int32_t stored = page->plan->moved->sharding[row->first];
        sharding_cell(page, table, row->first, stored);
        bytes_cell(table, page->scratch, row->n * plan_local_bytes(page->plan, row->first, stored));
    }
    buf_putc(out, '\n');
    table_format(table, "", out);
}

/* ---- collectives ---- */

static int count_steps(const Plan *plan)
{
    int n = 0;
    for (int i = 0; i < plan->moved->n_reshards; i++)
        n += plan->moved->reshards[i].path->n_steps;
    return n;
}

int plan_collectives(Arena *arena, const Plan *plan, CollectiveRow **out)
{
    Arena *scratch = arena_new();
    Intern *alike = intern_new(scratch);
    CollectiveRow *rows = *out = arena_array(arena, CollectiveRow, count_steps(plan));
    for (int i = 0; i < plan->moved->n_reshards; i++) {
        const Machine *machine = plan_reshard_machine(plan, &plan->moved->reshards[i]);
        const ReshardPath *path = plan->moved->reshards[i].path;
        double times = reshard_repeat(plan, &plan->moved->reshards[i]);
        for (int s = 0; s < path->n_steps; s++) {
            const Step *step = &path->step[s];
            if (step->kind == STEP_SLICE)
                continue;
            int64_t key[4] = {(int64_t)step->kind, step->atoms, step->bytes, (intptr_t)machine};
            CollectiveRow *row = &rows[intern_put(alike, key, sizeof key)];
            row->kind = step->kind;
            row->machine = machine;
            row->atoms = step->atoms;
            row->bytes = step->bytes;
            row->count += times;
            row->us += times * step->us;
        }
    }
    int n = intern_count(alike);
    for (int i = 0; i < n; i++)
        rows[i].algorithm =
            price_step(rows[i].machine, plan->mesh, rows[i].kind, rows[i].atoms, rows[i].bytes)
                .algorithm;
    arena_free(scratch);
    return n;
}

/* How the times come about: a line for each sum that differs, bytes being those of the row. */
static void format_prices(const PlanPage *page, const CollectiveRow *rows, int n, Buf *out)
{
    const Session *session = page->session;
    Intern *said = intern_new(page->scratch);
    for (int i = 0; i < n; i++) {
        const CollectiveRow *row = &rows[i];
        Buf line = buf_new(page->scratch);
        buf_printf(&line, "  %s ", step_kind_name(row->kind));
        mesh_format_set(session->mesh, row->atoms, ".", &line);
        buf_printf(&line, ", %s: ", row->algorithm);
        price_terms(row->machine, session->mesh, row->kind, row->atoms, row->bytes, &line);
        int n_said = intern_count(said);
        if (intern_put(said, line.s, line.n) == n_said)
            buf_printf(out, "%s\n", line.s);
    }
}

static void format_collectives(const PlanPage *page, Buf *out)
{
    static const TableColumn columns[] = {{"COLLECTIVES", 0},  {"AXIS", 0}, {"COUNT", -99},
                                          {"BYTES EACH", -99}, {"", -99},   {"TIME", -99},
                                          {"HOW", 0}};
    CollectiveRow *rows;
    int n = plan_collectives(page->scratch, page->plan, &rows);
    if (n == 0) {
        buf_puts(out, "\nno collectives: nothing is sent between devices\n");
        return;
    }
    Table *table = table_new(page->scratch, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < n; i++) {
        Buf bytes = buf_new(page->scratch);
        units_format_count(rows[i].bytes, &bytes);
        table_cell(table, str_from(step_kind_name(rows[i].kind)));
        atoms_cell(table, page->scratch, page->session->mesh, rows[i].atoms);
        table_printf(table, "%.10g", rows[i].count);
        table_cell(table, buf_str(&bytes));
        bytes_cell(table, page->scratch, rows[i].bytes);
        us_cell(table, page->scratch, rows[i].us);
        table_cell(table, str_from(rows[i].algorithm));
    }
    buf_putc(out, '\n');
    table_format(table, "", out);
    buf_puts(out, "each takes\n");
    format_prices(page, rows, n, out);
}

/* ---- memory ---- */

enum { LIVE_MOST = 8 };

static void format_classes(const PlanPage *page, const LiveSet *set, Buf *out)
{
    static const TableColumn columns[] = {{"MEMORY AT THE PEAK", 0}, {"BYTES", -99}, {"", -99}};
    Table *table = table_new(page->scratch, columns, sizeof columns / sizeof *columns);
    for (int c = 0; c < MEMORY_CLASS_COUNT; c++) {
        if (set->by_class[c] == 0)
            continue;
        table_cell(table, str_from(memory_class_name((MemoryClass)c)));
        bytes_cell(table, page->scratch, set->by_class[c]);
        table_printf(table, "%.1f%%", 100.0 * (double)set->by_class[c] / (double)set->bytes);
    }
    if (set->padding_bytes > 0) {
        table_cell(table, STR("of it padding on the last rank"));
        bytes_cell(table, page->scratch, set->padding_bytes);
        table_printf(table, "%.1f%%", 100.0 * (double)set->padding_bytes / (double)set->bytes);
    }
    buf_putc(out, '\n');
    table_format(table, "", out);
}

static void format_live(const PlanPage *page, const LiveSet *set, Buf *out)
{
    static const TableColumn columns[] = {{"LIVE THEN", OUTPUT_MOST},
                                          {"CLASS", 0},
                                          {"AS IT LIES", OUTPUT_MOST},
                                          {"BYTES", -99},
                                          {"UNTIL", NAME_MOST}};
    const Inferred *inferred = page->plan->inferred;
    Table *table = table_new(page->scratch, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < set->n && i < LIVE_MOST; i++) {
        const LiveValue *value = &set->at[i];
        const char *name = tensor_name(inferred->graph, value->tensor);
        bool ends = value->to < inferred->n_program;
        table_name(table, 0, str_from(name), OUTPUT_MOST);
        table_cell(table, str_from(memory_class_name(value->class)));
        sharding_cell(page, table, value->tensor, value->sharding);
        bytes_cell(table, page->scratch, value->bytes);
        table_name(
            table, 0,
            str_from(ends ? op_name(inferred->graph, inferred->program[value->to]) : "the end"),
            NAME_MOST);
    }
    buf_putc(out, '\n');
    table_format(table, "", out);
    if (set->n > LIVE_MOST)
        buf_printf(out, "and %d more\n", set->n - LIVE_MOST);
}

static void format_memory(const PlanPage *page, Buf *out)
{
    MemoryUse use = memory_use(page->scratch, page->plan);
    LiveSet set = memory_live_at(page->scratch, page->plan, use.rank, use.peak_place);
    if (set.n == 0)
        return;
    format_classes(page, &set, out);
    if (use.peak_place >= 0)
        buf_printf(
            out, "while %s runs\n",
            op_name(page->plan->inferred->graph, page->plan->inferred->program[use.peak_place]));
    format_live(page, &set, out);
}

/* ---- stages ---- */

static void stage_cells(const PlanPage *page, Table *table, int s)
{
    const Stages *stages = page->plan->decided->stages;
    const Stage *stage = &stages->at[s];
    const StagePrice *price = &page->plan->priced->pipeline->stage[s];
    const Inferred *inferred = page->plan->inferred;
    Buf devices = buf_new(page->scratch);
    comm_format_part(page->session, stage->devices, &devices);
    table_printf(table, "%d", s);
    table_cell(table, buf_str(&devices));
    table_name(table, 0, label_op(page->session, page->scratch, inferred->program[stage->first]),
               OUTPUT_MOST);
    table_printf(table, "%d", stage->last - stage->first + 1);
    us_cell(table, page->scratch, stage_forward_us(price));
    if (plan_schedule(page->plan) && plan_schedule(page->plan)->trains)
        us_cell(table, page->scratch, stage_backward_us(price));
    else
        table_cell(table, STR(""));
    us_cell(table, page->scratch, price->receive_us);
    if (price->receive_bytes > 0)
        bytes_cell(table, page->scratch, price->receive_bytes);
    else
        table_cell(table, STR(""));
    if (plan_schedule(page->plan))
        table_printf(table, "%d", plan_schedule(page->plan)->in_flight[s]);
    else
        table_cell(table, STR(""));
}

static void format_stages(const PlanPage *page, Buf *out)
{
    static const TableColumn columns[] = {{"STAGE", 0},      {"DEVICES", 0},   {"FROM", 0},
                                          {"OPS", -99},      {"FORWARD", -99}, {"BACKWARD", -99},
                                          {"RECEIVES", -99}, {"", -99},        {"IN FLIGHT", -99}};
    const Stages *stages = page->plan->decided->stages;
    if (!stages)
        return;
    Table *table = table_new(page->scratch, columns, sizeof columns / sizeof *columns);
    for (int s = 0; s < stages->n; s++)
        stage_cells(page, table, s);
    buf_putc(out, '\n');
    table_format(table, "", out);
}

/* How much a device needs before the run, by how its parameters are made; nothing when none is cut.
 */
static void format_init(const Plan *plan, Buf *out)
{
    InitMemory init;
    memory_init(plan, plan->priced->peak_rank, &init);
    if (init.parts_bytes == init.whole_bytes)
        return;
    buf_puts(out, "init     ");
    units_format_bytes(init.parts_bytes, out);
    buf_puts(out, " when parameters are created sharded, ");
    units_format_bytes(init.cut_bytes, out);
    buf_puts(out, " when each is created whole and sliced, ");
    units_format_bytes(init.whole_bytes, out);
    buf_puts(out, " when all are created whole first\n");
}

/* ---- findings and totals ---- */

void plan_text_findings(const Findings *findings, Buf *out)
{
    for (int i = 0; i < findings->n; i++) {
        const Finding *finding = &findings->at[i];
        if (finding->file && *finding->file)
            buf_printf(out, "%s:", finding->file);
        if (finding->file && *finding->file && finding->line > 0)
            buf_printf(out, "%d:", finding->line);
        if (finding->file && *finding->file && finding->column > 0)
            buf_printf(out, "%d:", finding->column);
        buf_puts(out, finding->file && *finding->file ? " " : "");
        buf_printf(out, "%s: %s [%s]\n", level_name(finding->level), finding->text, finding->code);
        if (finding->hint && *finding->hint)
            buf_printf(out, "  hint: %s\n", finding->hint);
    }
}

Findings plan_text_unheeded(Arena *arena, const Plan *plan)
{
    Findings out = {0};
    for (int i = 0; i < plan->findings.n; i++) {
        const Finding *it = &plan->findings.at[i];
        if (it->level == LEVEL_ERROR || (it->level == LEVEL_WARNING && it->file && *it->file))
            vec_push(arena, &out, *it);
    }
    return out;
}

static void format_schedule(const Plan *plan, Buf *out)
{
    if (!plan->decided->stages)
        return;
    buf_puts(out, "schedule ");
    pipeline_explain(plan, out);
    if (plan_schedule(plan) && plan_schedule(plan)->trains)
        buf_printf(out, "\n         %s", pipeline_backward_note(plan));
    buf_putc(out, '\n');
}

static void plan_text_totals(const Session *session, Buf *out)
{
    const Totals *totals = &session->plan->priced->totals;
    double share = totals->step_us > 0 ? 100 * totals->comm_us / totals->step_us : 0;
    buf_puts(out, "step     ");
    units_format_us(totals->step_us, out);
    buf_puts(out, " = compute ");
    units_format_us(totals->compute_us, out);
    buf_puts(out, " + collectives ");
    units_format_us(totals->comm_us, out);
    buf_printf(out, " (%.1f%%)%s\n", share,
               session->plan->decided->stages ? ", one micro-batch through all stages" : "");
    format_schedule(session->plan, out);
    if (totals->comm_us > 0) {
        buf_puts(out, "overlap  ");
        units_format_us(totals->overlap_us, out);
        buf_puts(out, " at best = compute + ");
        units_format_us(totals->overlap_us - totals->compute_us, out);
        buf_puts(out, " of collectives that stay exposed\n");
    }
    buf_puts(out, "moved    ");
    units_format_bytes(totals->comm_bytes, out);
    buf_printf(out, " sent per device%s\npeak     ",
               session->plan->decided->stages ? " of each stage" : "");
    units_format_bytes(totals->peak_bytes, out);
    buf_puts(out, " of ");
    units_format_bytes(plan_memory(session->plan), out);
    buf_puts(
        out,
        plan_counts_forward_only(session->plan)
            ? " on a device, forward only: add --train to count gradients and optimizer states\n"
            : " on a device\n");
    format_init(session->plan, out);
    buf_puts(out, "flops    ");
    units_format_flops(totals->flops, out);
    buf_printf(out, " on a device%s\n", session->plan->decided->stages ? " of each stage" : "");
    buf_puts(out, "op time  ");
    cost_explain(session->machine, out);
    buf_puts(out, "; see help machine\n");
}

void plan_text_format(const Session *session, Buf *out)
{
    PlanPage page = {.session = session, .plan = session->plan, .scratch = arena_new()};
    page.outline = outline_new(page.scratch);
    outline_set(page.outline, session->graph, session->groups);
    outline_depth(page.outline, OUTLINE_DEPTH_MAX);
    page.comm = comm_new(session);
    page.control = control_new(page.scratch, session);

    plan_text_head(session, out);
    buf_putc(out, '\n');
    format_outline(&page, out);
    format_parameters(&page, out);
    format_collectives(&page, out);
    format_memory(&page, out);
    format_stages(&page, out);
    buf_putc(out, '\n');
    plan_text_findings(&session->plan->findings, out);
    if (session->plan->findings.n == 0)
        buf_puts(out, "findings none\n");
    buf_putc(out, '\n');
    plan_text_totals(session, out);
    training_text_format(session, out);

    comm_free(page.comm);
    outline_free(page.outline);
    arena_free(page.scratch);
}
