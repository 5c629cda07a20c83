/* part_layers.c - the model from top to bottom: a row per layer, then a row per op; equal layers
 * are one row. */
#include "viz/report/page.h"

#include "core/cost/cost.h"
#include "core/summary/diff.h"
#include "core/summary/label.h"

typedef struct {
    Page *page;
    const Session *session;
    const Groups *groups;
    ReportTable *table;
    int32_t *stamp; /* per tensor: the last run that counted it as a parameter */
    int n_runs;
    int32_t *first_alike, *next_alike; /* per op: the ops that its row stands for, or -1 */
} LayerReport;

static const char *group_title(const LayerReport *report, int32_t group, int32_t base)
{
    const Group *g = &report->groups->groups[group];
    Buf title = buf_new(report->page->arena);

    group_format_fold(report->groups, group, g->fold_n, base, &title);
    return title.s;
}

/* ---- ids: links to any member of a fold lead to its row, unless there are very many ---- */

enum { IDS_MOST = 20000 };

static void find_alike(LayerReport *report)
{
    const Graph *graph = report->session->graph;
    Arena *scratch = arena_new();
    const int32_t *first = groups_first_members(scratch, report->groups, graph->n_ops);

    report->first_alike = arena_array(report->page->arena, int32_t, graph->n_ops + 1);
    report->next_alike = arena_array(report->page->arena, int32_t, graph->n_ops + 1);
    for (int32_t op = 0; op < graph->n_ops; op++)
        report->first_alike[op] = -1;
    for (int32_t i = report->groups->n_order - 1; i >= 0; i--) {
        int32_t op = report->groups->order[i], head = first[op];
        if (report->groups->n_order > IDS_MOST && head != op)
            continue;
        report->next_alike[op] = report->first_alike[head];
        report->first_alike[head] = op;
    }
    arena_free(scratch);
}

/* ---- layers: the boxes of the overview ---- */

static int64_t made_bytes(const LayerReport *report, int32_t op)
{
    const Plan *plan = report->session->plan;
    int64_t bytes = 0;

    for (int o = 0; o < report->session->graph->ops[op].n_outputs; o++) {
        int32_t t = op_outputs(report->session->graph, op)[o];
        bytes +=
            t < 0 || plan->moved->made[t] < 0 ? 0 : plan_local_bytes(plan, t, plan->moved->made[t]);
    }
    return bytes;
}

/* Bytes of parameters that an op of this run is the first to read. */
static int64_t parameter_bytes(LayerReport *report, int32_t op)
{
    const Plan *plan = report->session->plan;
    int64_t bytes = 0;

    for (int i = 0; i < report->session->graph->ops[op].n_inputs; i++) {
        int32_t t = op_inputs(report->session->graph, op)[i];
        if (t < 0 || !tensor_is_parameter(report->session->inferred, t) ||
            report->stamp[t] == report->n_runs)
            continue;
        report->stamp[t] = report->n_runs;
        bytes +=
            plan->moved->sharding[t] < 0 ? 0 : plan_local_bytes(plan, t, plan->moved->sharding[t]);
    }
    return bytes;
}

/* Sums over all members of a fold, since communication may differ at their ends. */
static CommSums sum_members(const LayerReport *report, int32_t head, int times)
{
    CommSums all = {0};

    for (int i = 0; i < times; i++) {
        const Group *member = &report->groups->groups[groups_member(report->groups, head, i)];
        CommSums sum = comm_sum(report->page->comm, member->first, member->first + member->n);
        all.us += sum.us;
        all.comm_us += sum.comm_us;
        all.count += sum.count;
    }
    return all;
}

/* Adds the row of ops order[first..first+n), which stands for `times` such runs with these sums. */
static void add_run(LayerReport *report, const char *title, int32_t first, int32_t n, int times,
                    CommSums sum)
{
    int64_t made = 0, parameters = 0;
    double flops = 0;
    const Plan *plan = report->session->plan;

    report->n_runs++;
    for (int32_t i = first; i < first + n; i++) {
        int32_t op = report->groups->order[i];
        made += made_bytes(report, op);
        parameters += parameter_bytes(report, op);
        flops += op_flops_local(plan, op) * inferred_repeat(report->session->inferred, op);
    }
    if (!table_row(report->table, 0))
        return;
    double us = sum.us > 1e-9 ? sum.us : 0, comm_us = sum.comm_us > 1e-9 ? sum.comm_us : 0;
    table_link(report->table, title,
               arena_printf(report->page->arena, "#op-%d", report->groups->order[first]));
    table_count(report->table, times);
    table_count(report->table, n);
    table_us(report->table, us / times);
    table_us(report->table, comm_us / times);
    table_us(report->table, us + comm_us);
    table_share(report->table, us + comm_us, plan->priced->totals.step_us);
    table_count(report->table, sum.count);
    table_bytes(report->table, parameters);
    table_bytes(report->table, made);
    table_flops(report->table, flops);
}

/* "transformer", "a .. b": a title for ops outside of groups. */
static const char *direct_title(const LayerReport *report, int32_t first, int32_t n)
{
    const Graph *graph = report->session->graph;
    Arena *arena = report->page->arena;
    int32_t head = report->groups->order[first], last = report->groups->order[first + n - 1];
    const char *path = op_path_or_name(graph, head), *end = op_path_or_name(graph, last);

    if (n == 1)
        return arena_str(arena, label_op(report->session, arena, head));
    return strcmp(path, end) == 0 ? path : arena_printf(arena, "%s .. %s", path, end);
}

static void add_direct(LayerReport *report, int32_t first, int32_t n)
{
    if (n > 0)
        add_run(report, direct_title(report, first, n), first, n, 1,
                comm_sum(report->page->comm, first, first + n));
}

static void add_layers(LayerReport *report, int32_t group)
{
    const Group *g = &report->groups->groups[group];
    int32_t at = g->first;

    for (int32_t c = g->child; c >= 0; c = report->groups->groups[c].next) {
        const Group *child = &report->groups->groups[c];
        add_direct(report, at, child->first - at);
        at = child->first + child->n;
        if (child->fold != c)
            continue; /* in the row of the first of its fold */
        if (child->fold_n == 1 && groups_have_fold(report->groups, c))
            add_layers(report, c);
        else
            add_run(report, group_title(report, c, 0), child->first, child->n, child->fold_n,
                    sum_members(report, c, child->fold_n));
    }
    add_direct(report, at, g->first + g->n - at);
}

static LayerReport new_report(Page *page, ReportTable *table)
{
    return (LayerReport){
        .page = page,
        .session = page->session,
        .groups = page->session->groups,
        .table = table,
        .stamp = arena_array(page->arena, int32_t, page->session->graph->n_tensors + 1)};
}

void part_layers(Page *page)
{
    page_section(page, "layers", "Layers");
    ReportTable *table =
        page_table(page, "layers-table", "All layers in program order",
                   "Equal layers are one row; times and bytes are those of one device.");
    LayerReport report = new_report(page, table);

    table->md_rows = 40;
    table_column(table, "layer", LOOK_NAME, NULL);
    table_column(table, "\xc3\x97", LOOK_NUMBER, "number of equal layers");
    table_column(table, "ops", LOOK_NUMBER, "ops in one of them");
    table_column(table, "compute", LOOK_NUMBER, "of one layer");
    table_column(table, "collectives", LOOK_NUMBER,
                 "of one layer; the average if the first or last layer differs");
    table_column(table, "total", LOOK_NUMBER, "compute and collectives of all layers");
    table_column(table, "share", LOOK_SHARE, "fraction of a step");
    table_page_column(table, "moves", LOOK_NUMBER, "number of collectives of all layers");
    table_column(table, "parameters", LOOK_NUMBER, "bytes of one layer's parameters on a device");
    table_column(
        table, "makes", LOOK_NUMBER,
        "bytes of its ops' results on a device, views included; not all alive at the same time");
    table_page_column(table, "flops", LOOK_NUMBER, "of one layer, on a device");
    add_layers(&report, 0);
}

/* ---- ops ---- */

static void put_output(const LayerReport *report, int32_t op)
{
    const Graph *graph = report->session->graph;
    const Plan *plan = report->session->plan;
    int32_t tensor = -1;

    for (int o = graph->ops[op].n_outputs - 1; o >= 0; o--)
        if (op_outputs(graph, op)[o] >= 0)
            tensor = op_outputs(graph, op)[o];
    int32_t made = tensor < 0 ? -1 : plan->moved->made[tensor];
    table_sharding(report->table, report->session, tensor, made);
    if (made < 0)
        table_none(report->table);
    else
        table_bytes(report->table, plan_local_bytes(plan, tensor, made));
}

static void put_moves(const LayerReport *report, int32_t op)
{
    const Comm *comm = report->page->comm;
    Buf text = buf_marked(report->page->arena);
    int32_t first = -1;

    for (int32_t r = comm->of_op[op]; r >= 0; r = comm->next[r]) {
        const Reshard *reshard = &report->session->plan->moved->reshards[r];
        if (comm_payload(reshard) == 0)
            continue;
        buf_puts(&text, text.n ? "\n" : "");
        comm_format_steps(report->session, reshard->path, &text);
        buf_printf(&text, " %s", text_bytes(report->page->arena, comm_payload(reshard)));
        first = first < 0 ? r : first;
    }
    if (first < 0)
        table_none(report->table);
    else
        table_marked(report->table, buf_text(&text));
    if (first >= 0)
        report->table->cells.at[report->table->cells.n - 1].link =
            arena_printf(report->page->arena, "#reshard-%d", first);
}

/* The name below the group of the row. */
static Str name_inside(const LayerReport *report, int32_t op, const char *inside)
{
    Str name = label_op(report->session, report->page->arena, op), head = str_from(inside);

    if (head.n == 0 || name.n <= head.n + 1 || !str_starts(name, head) ||
        (name.s[head.n] != '.' && name.s[head.n] != '/'))
        return name;
    return (Str){name.s + head.n + 1, name.n - head.n - 1};
}

static void add_op(LayerReport *report, int32_t op, const char *inside, int depth, double times)
{
    const Plan *plan = report->session->plan;
    Buf cut = buf_marked(report->page->arena);

    if (!table_row(report->table, depth))
        return;
    for (int32_t k = report->first_alike[op]; k >= 0; k = report->next_alike[k])
        row_id(report->table, arena_printf(report->page->arena, "op-%d", k));
    table_str(report->table, name_inside(report, op, inside));
    table_text(report->table, label_operator(report->session->graph, op));
    diff_format_op(report->session, op, &cut);
    table_marked(report->table, buf_text(&cut));
    put_output(report, op);
    table_count(report->table, times);
    table_us(report->table, plan->priced->op_us[op]);
    table_us(report->table, plan->priced->op_us[op] * times);
    put_moves(report, op);
}

static void add_group(LayerReport *report, const char *title, int32_t group, int depth,
                      double times)
{
    const Group *g = &report->groups->groups[group];
    CommSums sum = comm_sum(report->page->comm, g->first, g->first + g->n);

    if (!table_row(report->table, depth))
        return;
    row_head(report->table);
    table_text(report->table, title);
    table_text(report->table, arena_printf(report->page->arena, "%d ops", (int)g->n));
    table_none(report->table);
    table_none(report->table);
    table_none(report->table);
    table_count(report->table, times);
    table_us(report->table, sum.us);
    table_us(report->table, sum.us * times);
    table_none(report->table);
}

static void add_ops(LayerReport *report, int32_t first, int32_t end, const char *inside, int depth,
                    double times)
{
    for (int32_t i = first; i < end; i++)
        add_op(report, report->groups->order[i], inside, depth, times);
}

/* If a group contains only one fold, the fold takes its place: "h[0..11]". */
static int32_t single_fold(const Groups *groups, int32_t group)
{
    int32_t child = groups->groups[group].child;

    if (groups->groups[group].fold_n > 1 || child < 0 || groups->groups[child].fold_n == 1 ||
        groups->groups[child].n * groups->groups[child].fold_n != groups->groups[group].n)
        return group;
    return child;
}

static void add_tree(LayerReport *report, int32_t group, int depth, double times)
{
    const Group *g = &report->groups->groups[group];
    const char *inside = group_prefix(report->groups, group);
    int32_t at = g->first;

    for (int32_t c = g->child; c >= 0; c = report->groups->groups[c].next) {
        const Group *child = &report->groups->groups[c];
        add_ops(report, at, child->first, inside, depth, times);
        at = child->first + child->n;
        if (child->fold != c)
            continue;
        int32_t shown = single_fold(report->groups, c);
        double n = times * report->groups->groups[shown].fold_n;
        if (child->n == 1) {
            add_op(report, report->groups->order[child->first], inside, depth, n);
            continue;
        }
        add_group(report, group_title(report, shown, group), shown, depth, n);
        add_tree(report, shown, depth + 1, n);
    }
    add_ops(report, at, g->first + g->n, inside, depth, times);
}

enum { OPS_MOST = 2500 };

void part_ops(Page *page)
{
    page_section(page, "ops", "Ops");
    page->blocks.at[page->blocks.n - 1]->page_only = true;
    ReportTable *table = page_table(page, "ops-table", "Every op, layer by layer",
                                    "Of equal layers the first is shown.");
    LayerReport report = new_report(page, table);

    table->page_only = true;
    table->high = true;
    table->most = OPS_MOST;
    find_alike(&report);
    table_column(table, "op", LOOK_NAME, NULL);
    table_column(table, "operator", LOOK_TEXT, NULL);
    table_column(table, "sharded", LOOK_SHARDING, "its index dims, and the axes that shard them");
    table_column(table, "makes", LOOK_SHARDING,
                 "its first output, in the sharding it is produced in");
    table_column(table, "local", LOOK_NUMBER, "bytes of the output on a device");
    table_more(table);
    table_column(table, "times", LOOK_NUMBER, "number of equal ops, one per layer");
    table_column(table, "each", LOOK_NUMBER, "time of one run");
    table_more(table);
    table_column(table, "total", LOOK_NUMBER, "time of all");
    table_column(table, "moved", LOOK_SHARDING, "reshards of its outputs");
    add_tree(&report, 0, 0, 1);
}
