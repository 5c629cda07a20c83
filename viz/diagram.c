#include "viz/diagram.h"

#include "core/base/intern.h"
#include "core/base/units.h"
#include "core/plan/cost.h"
#include "core/plan/explain/reason.h"

/* ORDER DIAGRAM_KIND */
static const char *const kind_names[] = {"overview", "block"};

const char *diagram_kind_name(DiagramKind kind)
{
    return kind_names[kind];
}

typedef struct {
    Arena *arena;
    const Session *session;
    const Plan *plan;
    const Groups *groups;
    Diagram *diagram;
    Vec(DiagramNode) nodes;
    Vec(DiagramEdge) edges;
    Vec(int) members; /* per node: repeats of its ops (a fold of 12 has 12) */
    int32_t *node_of; /* per op: box, or -1 */
    int32_t *outside; /* per tensor: 1 + box of what comes from outside */
    Intern *pairs;    /* (from, to, label) of edges drawn */
} Draw;

/* The sharding of a tensor, or what is known of its shape where that has none. */
static void format_value(const Plan *plan, int32_t tensor, int32_t sharding, Buf *out)
{
    if (sharding >= 0)
        sharding_format(shardings_at(plan->shardings, sharding), plan->mesh, VIEW_OURS, out, NULL);
    else if (tensor >= 0)
        inferred_put_shape(plan->inferred, tensor, out);
}

static int add_node(Draw *draw, DiagramNode node, int members)
{
    vec_push(draw->arena, &draw->nodes, node);
    vec_push(draw->arena, &draw->members, members);
    return draw->nodes.n - 1;
}

/* ---- figures of a set of ops ---- */

static void say_time_and_bytes(double us, int64_t bytes, Buf *out)
{
    units_format_us(us, out);
    buf_puts(out, "  ");
    units_format_bytes(bytes, out);
}

/* "2 AR tp": collectives read by the ops of order[first..first+n), by kind and axes. */
static void say_collectives(const Draw *draw, int32_t first, int32_t n, Buf *out)
{
    const Plan *plan = draw->plan;
    Arena *scratch = arena_new();
    Intern *seen = intern_new(scratch);
    bool *member = arena_array(scratch, bool, plan->inferred->graph->n_ops);
    double count[64] = {0};
    for (int32_t i = first; i < first + n; i++)
        member[draw->groups->order[i]] = true;
    for (int i = 0; i < plan->n_reshards; i++) {
        const Reshard *r = &plan->reshards[i];
        if (r->n_uses == 0 || !member[plan->reshard_uses[r->use]])
            continue;
        for (int s = 0; s < r->path->n_steps; s++) {
            int32_t key[2] = {(int32_t)r->path->step[s].kind, (int32_t)r->path->step[s].atoms};
            int32_t id = key[0] == STEP_SLICE ? 64 : intern_put(seen, key, sizeof key);
            if (id < 64)
                count[id] += reshard_repeat(plan, r);
        }
    }
    for (int32_t id = 0; id < intern_count(seen) && id < 64; id++) {
        const int32_t *key = intern_key(seen, id, NULL);
        buf_printf(out, "  %.10g %s ", count[id], step_kind_mark((StepKind)key[0]));
        mesh_format_set(plan->mesh, (AtomSet)key[1], ".", out);
    }
    arena_free(scratch);
}

static void say_flow(const Plan *plan, int32_t op, Buf *out)
{
    const Graph *graph = plan->inferred->graph;
    int32_t in = graph->ops[op].n_inputs > 0 ? op_inputs(graph, op)[0] : -1;
    int32_t result = graph->ops[op].n_outputs > 0 ? op_outputs(graph, op)[0] : -1;
    format_value(plan, in, in < 0 ? -1 : plan->need[graph->ops[op].input], out);
    buf_puts(out, " \xe2\x86\x92 ");
    format_value(plan, result, result < 0 ? -1 : plan->made[result], out);
}

static const char *first_cause(const Draw *draw, int32_t op)
{
    const OpCut *cut = plan_cut(draw->plan, op);
    for (int i = 0; cut && i < cut->n; i++) {
        ReasonChain *chains;
        if (cut_is_whole(&cut->index[i]) || !why_index_dim(draw->arena, draw->plan, op, i, &chains))
            continue;
        Buf text = buf_new(draw->arena);
        reason_format(draw->plan, &chains[0].step[0], chains[0].axis, &text);
        return text.s;
    }
    return "";
}

/* ---- boxes ---- */

static void op_node(Draw *draw, int32_t op, const char *inside)
{
    const Plan *plan = draw->plan;
    const Graph *graph = plan->inferred->graph;
    Buf flow = buf_new(draw->arena), figures = buf_new(draw->arena);
    say_flow(plan, op, &flow);
    int32_t result = graph->ops[op].n_outputs > 0 ? op_outputs(graph, op)[0] : -1;
    say_time_and_bytes(plan->op_us[op],
                       result < 0 ? 0 : plan_local_bytes(plan, result, plan->made[result]),
                       &figures);
    const char *path = op_path_or_name(graph, op);
    DiagramNode node = {.title = arena_str(draw->arena, group_relative(path, inside)),
                        .operator= op_operator(graph, op)};
    node.flow = flow.s;
    node.figures = figures.s;
    node.why = first_cause(draw, op);
    draw->node_of[op] = add_node(draw, node, 1);
}

/* One box for ops order[first..first+n), standing for `repeats` such runs behind each other. */
static void run_node(Draw *draw, const char *title, int32_t first, int32_t n, int repeats)
{
    const Plan *plan = draw->plan;
    double us = 0;
    int64_t bytes = 0;
    for (int32_t i = first; i < first + n; i++) {
        int32_t op = draw->groups->order[i];
        us += plan->op_us[op];
        for (int o = 0; o < plan->inferred->graph->ops[op].n_outputs; o++) {
            int32_t t = op_outputs(plan->inferred->graph, op)[o];
            bytes += t < 0 ? 0 : plan_local_bytes(plan, t, plan->made[t]);
        }
    }
    Buf flow = buf_new(draw->arena), figures = buf_new(draw->arena);
    say_flow(plan, draw->groups->order[first + n - 1], &flow);
    say_time_and_bytes(us, bytes, &figures);
    say_collectives(draw, first, n, &figures);
    DiagramNode node = {.flow = flow.s, .figures = figures.s, .repeated = repeats > 1, .why = ""};
    node.title = title;
    node.operator= n == 1 ? op_operator(plan->inferred->graph, draw->groups->order[first])
                          : arena_printf(draw->arena, "%d ops", n);
    int at = add_node(draw, node, repeats);
    for (int32_t i = first; i < first + n * repeats && i < draw->groups->n_order; i++)
        draw->node_of[draw->groups->order[i]] = at;
}

static bool has_fold(const Groups *groups, int32_t group)
{
    for (int32_t c = groups->groups[group].child; c >= 0; c = groups->groups[c].next)
        if (groups->groups[c].fold_n > 1 || has_fold(groups, c))
            return true;
    return false;
}

static void direct_run(Draw *draw, int32_t first, int32_t n)
{
    if (n <= 0)
        return;
    const Graph *graph = draw->plan->inferred->graph;
    int32_t op = draw->groups->order[first];
    const char *name = op_path_or_name(graph, op);
    run_node(draw, name, first, n, 1);
}

/* Boxes of a group: folds and groups without folds are one box, the rest is opened. */
static void overview_group(Draw *draw, int32_t group)
{
    const Group *g = &draw->groups->groups[group];
    int32_t at = g->first;
    for (int32_t c = g->child; c >= 0; c = draw->groups->groups[c].next) {
        const Group *child = &draw->groups->groups[c];
        direct_run(draw, at, child->first - at);
        at = child->first + child->n;
        if (child->fold != c)
            continue; /* drawn with the first of its fold */
        if (child->fold_n == 1 && has_fold(draw->groups, c)) {
            overview_group(draw, c);
            continue;
        }
        Buf title = buf_new(draw->arena);
        group_format_fold(draw->groups, c, child->fold_n, 0, &title);
        if (child->fold_n > 1)
            buf_printf(&title, " \xc3\x97%d", child->fold_n);
        run_node(draw, title.s, child->first, child->n, child->fold_n);
    }
    direct_run(draw, at, g->first + g->n - at);
}

static int32_t largest_fold(const Groups *groups)
{
    int32_t best = -1;
    int64_t most = 0;
    for (int32_t i = 0; i < groups->n_groups; i++) {
        int64_t ops = (int64_t)groups->groups[i].n * groups->groups[i].fold_n;
        if (groups->groups[i].fold_n > 1 && groups->groups[i].fold == i && ops > most) {
            most = ops;
            best = i;
        }
    }
    return best;
}

/* ---- edges ---- */

static const Reshard *reshard_for(const Plan *plan, int32_t tensor, int32_t need)
{
    for (int i = 0; i < plan->n_reshards; i++)
        if (plan->reshards[i].tensor == tensor && plan->reshards[i].to == need)
            return &plan->reshards[i];
    return NULL;
}

static void say_reshard(const Plan *plan, const Reshard *reshard, DiagramEdge *edge, Arena *arena)
{
    Buf label = buf_new(arena);
    for (int i = 0; i < reshard->path->n_steps; i++) {
        const Step *step = &reshard->path->step[i];
        if (step->kind == STEP_SLICE)
            continue;
        uint8_t atom[ATOMS_MAX];
        int n = mesh_list_set(plan->mesh, step->atoms, atom);
        if (edge->axis < 0 && n > 0) {
            edge->axis = plan->mesh->atoms[atom[0]].axis;
            edge->kind = step->kind;
            edge->bytes = step->bytes;
        }
        buf_printf(&label, "%s%s ", label.n ? "\n" : "", step_kind_mark(step->kind));
        mesh_format_atoms(plan->mesh, atom, n, ".", &label);
        buf_putc(&label, ' ');
        units_format_bytes(step->bytes, &label);
        buf_putc(&label, ' ');
        units_format_us(step->us, &label);
    }
    edge->label = label.s;
}

static void draw_edge(Draw *draw, int from, int32_t op, int32_t tensor, int32_t need)
{
    DiagramEdge edge = {.from = from, .to = draw->node_of[op], .axis = -1, .label = ""};
    const Reshard *reshard = reshard_for(draw->plan, tensor, need);
    if (reshard)
        say_reshard(draw->plan, reshard, &edge, draw->arena);
    edge.partial = need >= 0 && sharding_partials(shardings_at(draw->plan->shardings, need)) != 0;
    int32_t key[4] = {from, edge.to, edge.axis < 0 ? -1 : need, edge.axis < 0 ? -1 : tensor};
    if (intern_put(draw->pairs, key, sizeof key) == draw->edges.n)
        vec_push(draw->arena, &draw->edges, edge);
}

/* The box of a value made outside of a block: inputs and other blocks' results, not parameters. */
static int outside_node(Draw *draw, int32_t tensor)
{
    if (draw->outside[tensor])
        return draw->outside[tensor] - 1;
    Buf flow = buf_new(draw->arena);
    format_value(draw->plan, tensor, draw->plan->sharding[tensor], &flow);
    DiagramNode node = {.title = naming_label(draw->session->naming, tensor),
                        .operator= "from outside" };
    node.flow = flow.s;
    node.figures = node.why = "";
    node.outside = true;
    draw->outside[tensor] = add_node(draw, node, 1) + 1;
    return draw->outside[tensor] - 1;
}

static void draw_edges(Draw *draw, bool with_outside)
{
    const Inferred *inferred = draw->plan->inferred;
    const Graph *graph = inferred->graph;
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        if (draw->node_of[op] < 0)
            continue;
        for (int o = 0; o < graph->ops[op].n_inputs; o++) {
            int32_t t = op_inputs(graph, op)[o];
            if (t < 0 || inferred_value(inferred, t) ||
                graph->tensors[t].kind == TENSOR_INITIALIZER)
                continue;
            int32_t maker = graph->tensors[t].maker;
            int from = maker >= 0 ? draw->node_of[maker] : -1;
            bool from_host = maker >= 0 && inferred_is_host(inferred, maker);
            if (from < 0 && (!with_outside || from_host))
                continue;
            if (from < 0)
                from = outside_node(draw, t);
            if (from != draw->node_of[op])
                draw_edge(draw, from, op, t, draw->plan->need[graph->ops[op].input + o]);
        }
    }
}

static const char *legend_text(const Draw *draw)
{
    const Session *session = draw->session;
    Buf text = buf_new(draw->arena);
    buf_printf(&text, "%s\nmesh ", path_base(session->options.model));
    mesh_format(session->mesh, &text);
    buf_printf(&text, ", %s", session->machine->name);
    if (session->options.policy)
        buf_printf(&text, "\npolicy %s", path_base(session->options.policy));
    buf_puts(
        &text,
        "\n4096/tp: 4096 elements cut by axis tp   \xce\xa3tp: partial, still to be summed over tp"
        "\nAR all-reduce  AG all-gather  RS reduce-scatter  A2A all-to-all"
        "\nms and MiB are per device, by the machine's formulas");
    return text.s;
}

Diagram *diagram_make(Arena *arena, const Session *session, DiagramKind kind, Error *err)
{
    const Graph *graph = session->graph;
    Draw draw = {
        .arena = arena, .session = session, .plan = session->plan, .groups = session->groups};
    draw.diagram = arena_make(arena, Diagram);
    draw.node_of = arena_array(arena, int32_t, graph->n_ops);
    draw.outside = arena_array(arena, int32_t, graph->n_tensors);
    draw.pairs = intern_new(arena);
    for (int i = 0; i < graph->n_ops; i++)
        draw.node_of[i] = -1;
    const char *what = path_base(session->options.model);
    if (kind == DIAGRAM_OVERVIEW) {
        overview_group(&draw, 0);
    } else {
        int32_t fold = largest_fold(draw.groups);
        if (fold < 0) {
            error_kind(err, ERROR_UNSUPPORTED, "no block of this model repeats");
            error_hint(err, "use --kind overview");
            return NULL;
        }
        const Group *group = &draw.groups->groups[fold];
        if (group->n > DIAGRAM_NODES_MAX) {
            error_kind(err, ERROR_UNSUPPORTED,
                       "the repeated block has %d ops, a drawing at most %d", group->n,
                       DIAGRAM_NODES_MAX);
            return NULL;
        }
        for (int32_t i = group->first; i < group->first + group->n; i++)
            op_node(&draw, draw.groups->order[i], group->path);
        what = arena_printf(arena, "%s: %s, one of %d", what, group->path, group->fold_n);
    }
    draw_edges(&draw, kind == DIAGRAM_BLOCK);
    if (draw.nodes.n > DIAGRAM_NODES_MAX) {
        error_kind(err, ERROR_UNSUPPORTED, "%d boxes are more than the %d a drawing can show",
                   draw.nodes.n, DIAGRAM_NODES_MAX);
        error_hint(err, "use --kind block");
        return NULL;
    }
    *draw.diagram = (Diagram){.title = what, .n_nodes = draw.nodes.n, .n_edges = draw.edges.n};
    draw.diagram->nodes = draw.nodes.at;
    draw.diagram->edges = draw.edges.at;
    draw.diagram->legend = legend_text(&draw);
    return draw.diagram;
}
