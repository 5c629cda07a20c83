/* tables_ops.c - ops, one by one, in sums over groups and in sums over operators. */
#include "viz/report/cells.h"

#include "core/summary/comm.h"
#include "core/cost/cost.h"
#include "core/cost/op_declared.h"
#include "core/plan/stage.h"

#include <stdlib.h>

/* ---- ops ---- */

/* "m=dp k=tp": index dims and the axes that shard them, with all digits. */
static void put_cuts(const Session *session, int32_t op, Sheet *out)
{
    const OpSpace *space = inferred_space(session->inferred, op);
    const OpCut *cut = plan_cut(session->plan, op);
    Buf text = buf_new(out->arena);

    for (int i = 0; cut && i < cut->n; i++) {
        if (cut_is_whole(&cut->index[i]))
            continue;
        buf_printf(&text, "%s%s=", text.n > 0 ? " " : "", space->index[i].name);
        cut_format(&cut->index[i], session->mesh, &text);
    }
    sheet_put(out, buf_str(&text));
}

static void put_op(const Session *session, const Comm *comm, int32_t op, Sheet *out)
{
    const Graph *graph = session->graph;
    const Plan *plan = session->plan;
    OpCost cost = op_cost(plan, op);
    int32_t made = graph->ops[op].n_outputs > 0 ? op_outputs(graph, op)[0] : -1;
    double comm_us = op_comm_us(plan, op);
    int reshards = 0;

    for (int32_t r = comm->of_op[op]; r >= 0; r = comm->next[r]) {
        comm_us +=
            reshard_repeat(plan, &plan->moved->reshards[r]) * plan->moved->reshards[r].path->us;
        reshards++;
    }
    table_put_text(out, op_name(graph, op));
    table_put_text(out, op_path(graph, op));
    table_put_text(out, op_operator(graph, op));
    sheet_number(out, inferred_repeat(session->inferred, op));
    table_put_bytes(out, plan->decided->stages != NULL, stage_of(plan, op));
    table_put_devices(out, session, plan_devices(plan, op));
    put_cuts(session, op, out);
    if (made >= 0)
        table_put_size(out, session, made);
    else
        table_put_text(out, "");
    table_put_sharding(out, session, made < 0 ? -1 : plan->moved->made[made], VIEW_OURS);
    table_put_local_shape(out, session, made < 0 ? -1 : plan->moved->made[made]);
    table_put_text(out, work_name(cost.work));
    sheet_number(out, cost.flops);
    sheet_number(out, (double)cost.bytes);
    sheet_number(out, cost.us);
    sheet_number(out, plan->priced->op_us[op]);
    sheet_number(out, comm_us);
    sheet_number(out, reshards);
}

static bool rows_ops(const Session *session, Sheet *out, Error *err)
{
    const Inferred *inferred = session->inferred;

    if (!table_fits(inferred->n_program, "ops", err))
        return false;
    Comm *comm = comm_new(session);
    for (int i = 0; i < inferred->n_program; i++)
        put_op(session, comm, inferred->program[i], out);
    comm_free(comm);
    return true;
}

static const SheetColumn ops_columns[] = {
    {"name", false},        {"path", false},    {"operator", false},
    {"times", true},        {"stage", true},    {"devices", false},
    {"cuts", false},        {"shape", false},   {"sharding", false},
    {"local_shape", false}, {"work", false},    {"flops", true},
    {"bytes", true},        {"us", true},       {"total_us", true},
    {"comm_us", true},      {"reshards", true}, {0},
};

const PlanTable table_ops = {
    "ops",
    "an op of the program; flops, bytes and us of one run on rank 0; shape of its first output; "
    "total_us: as often as it runs; comm_us: of the reshards shown at it",
    ops_columns, rows_ops};

/* ---- layers ---- */

typedef struct {
    int32_t groups, ops;
    double us, comm_us, reshards, flops, parameter_bytes, activation_bytes;
} LayerSum;

typedef struct {
    const Session *session;
    const Comm *comm;
    int32_t *seen; /* per tensor: 1 + the last group that counted it */
} Layering;

static void add_op(Layering *l, int32_t group, int32_t op, LayerSum *sum)
{
    const Plan *plan = l->session->plan;
    const Graph *graph = l->session->graph;

    for (int i = 0; i < graph->ops[op].n_inputs; i++) {
        int32_t t = op_inputs(graph, op)[i];
        if (t < 0 || l->seen[t] == group + 1 || !tensor_is_parameter(plan->inferred, t) ||
            plan->moved->sharding[t] < 0)
            continue;
        l->seen[t] = group + 1;
        sum->parameter_bytes += (double)plan_local_bytes(plan, t, plan->moved->sharding[t]);
    }
    for (int i = 0; i < graph->ops[op].n_outputs; i++) {
        int32_t t = op_outputs(graph, op)[i];
        if (t >= 0 && plan->moved->made[t] >= 0)
            sum->activation_bytes += (double)plan_local_bytes(plan, t, plan->moved->made[t]);
    }
    sum->flops += op_flops_local(plan, op) * inferred_repeat(plan->inferred, op);
    sum->comm_us += op_comm_us(plan, op);
}

static void add_group(Layering *l, int32_t group, LayerSum *sum)
{
    const Groups *groups = l->session->groups;
    const Group *at = &groups->groups[group];
    CommSums comm = comm_sum(l->comm, at->first, at->first + at->n);

    for (int32_t i = at->first; i < at->first + at->n; i++)
        add_op(l, group, groups->order[i], sum);
    sum->groups++;
    sum->ops += at->n;
    sum->us += comm.us;
    sum->comm_us += comm.comm_us;
    sum->reshards += comm.count;
}

/* Adds the group and its equals: all members of the folds that begin with it, or with a group
 * around it. `of`: the group itself, then those around it. */
static void add_members(Layering *l, int32_t group, int32_t of, LayerSum *sum)
{
    const Groups *groups = l->session->groups;

    while (of > 0 && groups->groups[of].fold_n == 1)
        of = groups->groups[of].parent;
    if (of <= 0) {
        add_group(l, group, sum);
        return;
    }
    for (int i = 0; i < groups->groups[of].fold_n; i++)
        add_members(l, group + groups_member(groups, of, i) - of, groups->groups[of].parent, sum);
}

static void put_layer(Layering *l, int32_t group, Sheet *out)
{
    const Groups *groups = l->session->groups;
    const Group *at = &groups->groups[group];
    Buf name = buf_new(out->arena);
    LayerSum sum = {0};

    group_format_fold(groups, group, at->fold_n, at->parent, &name);
    add_members(l, group, group, &sum);
    sheet_number(out, at->depth);
    sheet_put(out, buf_str(&name));
    table_put_text(out, at->path);
    sheet_number(out, sum.groups);
    sheet_number(out, sum.ops);
    sheet_number(out, sum.us);
    sheet_number(out, sum.comm_us);
    sheet_number(out, sum.reshards);
    sheet_number(out, sum.flops);
    sheet_number(out, sum.parameter_bytes);
    sheet_number(out, sum.activation_bytes);
}

static bool rows_layers(const Session *session, Sheet *out, Error *err)
{
    (void)err;
    const Groups *groups = session->groups;
    Comm *comm = comm_new(session);
    Layering l = {session, comm, arena_array(out->arena, int32_t, session->graph->n_tensors)};
    bool *shown = arena_array(out->arena, bool, groups->n_groups);

    for (int32_t g = 0; g < groups->n_groups; g++) {
        const Group *at = &groups->groups[g];
        shown[g] = g == 0 || (shown[at->parent] && at->fold == g);
        if (g > 0 && shown[g])
            put_layer(&l, g, out);
    }
    comm_free(comm);
    return true;
}

static const SheetColumn layers_columns[] = {
    {"depth", true},
    {"name", false},
    {"path", false},
    {"groups", true},
    {"ops", true},
    {"us", true},
    {"comm_us", true},
    {"reshards", true},
    {"flops", true},
    {"parameter_bytes", true},
    {"activation_bytes", true},
    {0},
};

const PlanTable table_layers = {
    "layers",
    "a group of ops, equal ones folded; sums over all of them on rank 0; reshards that take time; "
    "path of the first; activation_bytes: of all results",
    layers_columns, rows_layers};

/* ---- operators ---- */

typedef struct {
    const char *name;
    double n, us, comm_us, flops;
} OperatorSum;

static int dearest_first(const void *a, const void *b)
{
    const OperatorSum *x = a, *y = b;

    if (x->us + x->comm_us != y->us + y->comm_us)
        return x->us + x->comm_us < y->us + y->comm_us ? 1 : -1;
    return strcmp(x->name, y->name);
}

static bool rows_operators(const Session *session, Sheet *out, Error *err)
{
    (void)err;
    const Plan *plan = session->plan;
    const Inferred *inferred = session->inferred;
    Intern *names = intern_new(out->arena);
    OperatorSum *sum = arena_array(out->arena, OperatorSum, inferred->n_program);
    int n = 0;

    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        const char *name = op_operator(session->graph, op);
        int32_t id = intern_put(names, name, strlen(name));
        n = id == n ? n + 1 : n;
        double times = inferred_repeat(inferred, op);
        sum[id].name = name;
        sum[id].n++;
        sum[id].us += plan->priced->op_us[op];
        sum[id].comm_us += op_comm_us(plan, op);
        sum[id].flops += times * op_flops_local(plan, op);
    }
    if (n > 0)
        qsort(sum, (size_t)n, sizeof *sum, dearest_first);
    for (int i = 0; i < n; i++) {
        table_put_text(out, sum[i].name);
        sheet_number(out, sum[i].n);
        sheet_number(out, sum[i].us);
        sheet_number(out, sum[i].comm_us);
        sheet_number(out, sum[i].flops);
    }
    return true;
}

static const SheetColumn operators_columns[] = {
    {"operator", false}, {"ops", true}, {"us", true}, {"comm_us", true}, {"flops", true}, {0},
};

const PlanTable table_operators = {
    "operators",
    "an operator, the most expensive first; sums of its ops on rank 0; "
    "comm_us: of collectives inside them",
    operators_columns, rows_operators};
