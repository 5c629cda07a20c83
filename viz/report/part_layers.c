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
    const char **ids; /* per op: ids of all ops that its row stands for */
} Walk;

static const char *group_title(const Walk *walk, int32_t group, int32_t base)
{
    const Group *g = &walk->groups->groups[group];
    Buf title = buf_new(walk->page->arena);

    group_format_fold(walk->groups, group, g->fold_n, base, &title);
    return title.s;
}

/* ---- ids: links to any member of a fold lead to its row, unless there are very many ---- */

enum { IDS_MOST = 20000 };

static void make_ids(Walk *walk)
{
    const Graph *graph = walk->session->graph;
    Arena *scratch = arena_new();
    const int32_t *first = groups_first_members(scratch, walk->groups, graph->n_ops);
    Buf *text = arena_array(scratch, Buf, graph->n_ops + 1);

    walk->ids = arena_array(walk->page->arena, const char *, graph->n_ops + 1);
    for (int32_t i = 0; i < walk->groups->n_order; i++) {
        int32_t op = walk->groups->order[i], head = first[op];
        if (walk->groups->n_order > IDS_MOST && head != op)
            continue;
        if (!text[head].arena)
            text[head] = buf_new(walk->page->arena);
        buf_printf(&text[head], "%sop-%d", text[head].n ? " " : "", op);
        walk->ids[head] = text[head].s;
    }
    for (int32_t op = 0; op < graph->n_ops; op++)
        if (text[op].arena)
            walk->ids[op] = text[op].s;
    arena_free(scratch);
}

/* ---- layers: the boxes of the overview ---- */

static int64_t made_bytes(const Walk *walk, int32_t op)
{
    const Plan *plan = walk->session->plan;
    int64_t bytes = 0;

    for (int o = 0; o < walk->session->graph->ops[op].n_outputs; o++) {
        int32_t t = op_outputs(walk->session->graph, op)[o];
        bytes +=
            t < 0 || plan->moved->made[t] < 0 ? 0 : plan_local_bytes(plan, t, plan->moved->made[t]);
    }
    return bytes;
}

/* Bytes of parameters that an op of this run is the first to read. */
static int64_t parameter_bytes(Walk *walk, int32_t op)
{
    const Plan *plan = walk->session->plan;
    int64_t bytes = 0;

    for (int i = 0; i < walk->session->graph->ops[op].n_inputs; i++) {
        int32_t t = op_inputs(walk->session->graph, op)[i];
        if (t < 0 || !tensor_is_parameter(walk->session->inferred, t) ||
            walk->stamp[t] == walk->n_runs)
            continue;
        walk->stamp[t] = walk->n_runs;
        bytes +=
            plan->moved->sharding[t] < 0 ? 0 : plan_local_bytes(plan, t, plan->moved->sharding[t]);
    }
    return bytes;
}

/* Sums over all members of a fold, since communication may differ at their ends. */
static CommSums sum_members(const Walk *walk, int32_t head, int times)
{
    CommSums all = {0};

    for (int i = 0; i < times; i++) {
        const Group *member = &walk->groups->groups[groups_member(walk->groups, head, i)];
        CommSums sum = comm_sum(walk->page->comm, member->first, member->first + member->n);
        all.us += sum.us;
        all.comm_us += sum.comm_us;
        all.count += sum.count;
    }
    return all;
}

/* Adds the row of ops order[first..first+n), which stands for `times` such runs with these sums. */
static void add_run(Walk *walk, const char *title, int32_t first, int32_t n, int times,
                    CommSums sum)
{
    int64_t made = 0, parameters = 0;
    double flops = 0;
    const Plan *plan = walk->session->plan;

    walk->n_runs++;
    for (int32_t i = first; i < first + n; i++) {
        int32_t op = walk->groups->order[i];
        made += made_bytes(walk, op);
        parameters += parameter_bytes(walk, op);
        flops += op_flops_local(plan, op) * inferred_repeat(walk->session->inferred, op);
    }
    if (!table_row(walk->table, 0))
        return;
    double us = sum.us > 1e-9 ? sum.us : 0, comm_us = sum.comm_us > 1e-9 ? sum.comm_us : 0;
    table_link(walk->table, title,
               arena_printf(walk->page->arena, "#op-%d", walk->groups->order[first]));
    table_count(walk->table, times);
    table_count(walk->table, n);
    table_us(walk->table, us / times);
    table_us(walk->table, comm_us / times);
    table_us(walk->table, us + comm_us);
    table_share(walk->table, us + comm_us, plan->priced->totals.step_us);
    table_count(walk->table, sum.count);
    table_bytes(walk->table, parameters);
    table_bytes(walk->table, made);
    table_count(walk->table, flops);
}

/* "transformer", "a .. b": a title for ops outside of groups. */
static const char *direct_title(const Walk *walk, int32_t first, int32_t n)
{
    const Graph *graph = walk->session->graph;
    Arena *arena = walk->page->arena;
    int32_t head = walk->groups->order[first], last = walk->groups->order[first + n - 1];
    const char *path = op_path_or_name(graph, head), *end = op_path_or_name(graph, last);

    if (n == 1)
        return arena_str(arena, label_op(walk->session, arena, head));
    return strcmp(path, end) == 0 ? path : arena_printf(arena, "%s .. %s", path, end);
}

static void add_direct(Walk *walk, int32_t first, int32_t n)
{
    if (n > 0)
        add_run(walk, direct_title(walk, first, n), first, n, 1,
                comm_sum(walk->page->comm, first, first + n));
}

static void add_layers(Walk *walk, int32_t group)
{
    const Group *g = &walk->groups->groups[group];
    int32_t at = g->first;

    for (int32_t c = g->child; c >= 0; c = walk->groups->groups[c].next) {
        const Group *child = &walk->groups->groups[c];
        add_direct(walk, at, child->first - at);
        at = child->first + child->n;
        if (child->fold != c)
            continue; /* in the row of the first of its fold */
        if (child->fold_n == 1 && groups_have_fold(walk->groups, c))
            add_layers(walk, c);
        else
            add_run(walk, group_title(walk, c, 0), child->first, child->n, child->fold_n,
                    sum_members(walk, c, child->fold_n));
    }
    add_direct(walk, at, g->first + g->n - at);
}

static Walk new_walk(Page *page, ReportTable *table)
{
    return (Walk){.page = page,
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
    Walk walk = new_walk(page, table);

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
    add_layers(&walk, 0);
}

/* ---- ops ---- */

static void put_output(const Walk *walk, int32_t op)
{
    const Graph *graph = walk->session->graph;
    const Plan *plan = walk->session->plan;
    int32_t tensor = -1;

    for (int o = graph->ops[op].n_outputs - 1; o >= 0; o--)
        if (op_outputs(graph, op)[o] >= 0)
            tensor = op_outputs(graph, op)[o];
    int32_t made = tensor < 0 ? -1 : plan->moved->made[tensor];
    table_sharding(walk->table, walk->session, tensor, made);
    if (made < 0)
        table_none(walk->table);
    else
        table_bytes(walk->table, plan_local_bytes(plan, tensor, made));
}

static void put_moves(const Walk *walk, int32_t op)
{
    const Comm *comm = walk->page->comm;
    Buf text = buf_marked(walk->page->arena);
    int32_t first = -1;

    for (int32_t r = comm->of_op[op]; r >= 0; r = comm->next[r]) {
        const Reshard *reshard = &walk->session->plan->moved->reshards[r];
        if (comm_payload(reshard) == 0)
            continue;
        buf_puts(&text, text.n ? "\n" : "");
        comm_format_steps(walk->session, reshard->path, &text);
        buf_printf(&text, " %s", text_bytes(walk->page->arena, comm_payload(reshard)));
        first = first < 0 ? r : first;
    }
    if (first < 0)
        table_none(walk->table);
    else
        table_marked(walk->table, buf_text(&text));
    if (first >= 0)
        walk->table->cells.at[walk->table->cells.n - 1].link =
            arena_printf(walk->page->arena, "#reshard-%d", first);
}

/* The name below the group of the row. */
static Str name_inside(const Walk *walk, int32_t op, const char *inside)
{
    Str name = label_op(walk->session, walk->page->arena, op), head = str_from(inside);

    if (head.n == 0 || name.n <= head.n + 1 || !str_starts(name, head) ||
        (name.s[head.n] != '.' && name.s[head.n] != '/'))
        return name;
    return (Str){name.s + head.n + 1, name.n - head.n - 1};
}

static void add_op(Walk *walk, int32_t op, const char *inside, int depth, double times)
{
    const Plan *plan = walk->session->plan;
    Buf cut = buf_marked(walk->page->arena);

    if (!table_row(walk->table, depth))
        return;
    row_id(walk->table, walk->ids[op]);
    table_str(walk->table, name_inside(walk, op, inside));
    table_text(walk->table, label_operator(walk->session->graph, op));
    diff_format_op(walk->session, op, &cut);
    table_marked(walk->table, buf_text(&cut));
    put_output(walk, op);
    table_count(walk->table, times);
    table_us(walk->table, plan->priced->op_us[op]);
    table_us(walk->table, plan->priced->op_us[op] * times);
    put_moves(walk, op);
}

static void add_group(Walk *walk, const char *title, int32_t group, int depth, double times)
{
    const Group *g = &walk->groups->groups[group];
    CommSums sum = comm_sum(walk->page->comm, g->first, g->first + g->n);

    if (!table_row(walk->table, depth))
        return;
    row_head(walk->table);
    table_text(walk->table, title);
    table_text(walk->table, arena_printf(walk->page->arena, "%d ops", (int)g->n));
    table_none(walk->table);
    table_none(walk->table);
    table_none(walk->table);
    table_count(walk->table, times);
    table_us(walk->table, sum.us);
    table_us(walk->table, sum.us * times);
    table_none(walk->table);
}

static void add_ops(Walk *walk, int32_t first, int32_t end, const char *inside, int depth,
                    double times)
{
    for (int32_t i = first; i < end; i++)
        add_op(walk, walk->groups->order[i], inside, depth, times);
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

static void add_tree(Walk *walk, int32_t group, int depth, double times)
{
    const Group *g = &walk->groups->groups[group];
    int32_t at = g->first;

    for (int32_t c = g->child; c >= 0; c = walk->groups->groups[c].next) {
        const Group *child = &walk->groups->groups[c];
        add_ops(walk, at, child->first, g->path, depth, times);
        at = child->first + child->n;
        if (child->fold != c)
            continue;
        int32_t shown = single_fold(walk->groups, c);
        double n = times * walk->groups->groups[shown].fold_n;
        if (child->n == 1) {
            add_op(walk, walk->groups->order[child->first], g->path, depth, n);
            continue;
        }
        add_group(walk, group_title(walk, shown, group), shown, depth, n);
        add_tree(walk, shown, depth + 1, n);
    }
    add_ops(walk, at, g->first + g->n, g->path, depth, times);
}

enum { OPS_MOST = 2500 };

void part_ops(Page *page)
{
    page_section(page, "ops", "Ops");
    page->blocks.at[page->blocks.n - 1]->page_only = true;
    ReportTable *table = page_table(page, "ops-table", "Every op, layer by layer",
                                    "Of equal layers the first is shown.");
    Walk walk = new_walk(page, table);

    table->page_only = true;
    table->high = true;
    table->most = OPS_MOST;
    make_ids(&walk);
    table_column(table, "op", LOOK_NAME, NULL);
    table_column(table, "operator", LOOK_TEXT, NULL);
    table_column(table, "sharded", LOOK_SHARDING, "its index dims, and the axes that shard them");
    table_column(table, "makes", LOOK_SHARDING,
                 "its first output, in the sharding it is made with");
    table_column(table, "local", LOOK_NUMBER, "bytes of the output on a device");
    table_column(table, "times", LOOK_NUMBER, "number of equal ops, one per layer");
    table_column(table, "each", LOOK_NUMBER, "time of one run");
    table_column(table, "total", LOOK_NUMBER, "time of all");
    table_column(table, "moved", LOOK_SHARDING, "reshards of its outputs");
    add_tree(&walk, 0, 0, 1);
}
