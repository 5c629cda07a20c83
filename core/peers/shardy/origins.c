#include "core/peers/shardy/origins.h"

#include <limits.h>

typedef enum { ORIGIN_CONSTRAINT, ORIGIN_INPUT, ORIGIN_OUTPUT } AxisOriginKind;

typedef struct {
    AxisRef axis;
    AxisOriginKind kind;
    int number;
} AxisOrigin;

typedef struct {
    Vec(AxisOrigin) axes; /* in the order they came */
} ValueOrigins;

/* An axis moved from one tensor of an op to another, first at `step`. Tensors are numbered operands
 * first. */
typedef struct {
    AxisRef axis;
    int source, target, n_operands, step;
} AxisEdge;

typedef struct {
    Vec(AxisEdge) edges;
} OpEdges;

struct Origins {
    Arena *arena;
    const ImportedGraph *imported;
    const ShardyProgram *program;
    const int *op_of;
    ValueOrigins *value; /* per value */
    OpEdges *edges;      /* per op of the graph; the last: results of the function */
    int *constraint;     /* per op of the graph: its number among constraints */
    int step;
};

/* ---- initial origins ---- */

static void add_origin(Origins *o, int value, AxisOrigin origin)
{
    ValueOrigins *of = &o->value[value];
    for (int i = 0; i < of->axes.n; i++)
        if (axis_ref_equal(&of->axes.at[i].axis, &origin.axis))
            return;
    vec_push(o->arena, &of->axes, origin);
}

static void add_sharding(Origins *o, int value, const TensorSharding *sharding, AxisOriginKind kind,
                         int number)
{
    for (int d = 0; d < sharding->n_dims; d++)
        for (int i = 0; i < sharding->dim[d].axes.n; i++)
            add_origin(o, value, (AxisOrigin){sharding->dim[d].axes.at[i], kind, number});
}

static const TensorSharding *initial_sharding(const Origins *o, int value)
{
    return &o->imported->graph->values.at[value].sharding;
}

static void add_constraints(Origins *o)
{
    int n = 0;
    for (int i = 0; i < o->imported->order.n; i++) {
        int id = o->imported->order.at[i];
        const FactorOp *op = &o->imported->graph->ops.at[id];
        if (op->kind != FACTOR_CONSTRAINT)
            continue;
        add_sharding(o, op->output[0], initial_sharding(o, op->output[0]), ORIGIN_CONSTRAINT, n);
        add_sharding(o, op->input[0], initial_sharding(o, op->input[0]), ORIGIN_CONSTRAINT, n);
        o->constraint[id] = n++;
    }
}

/* Origins of constraints that the import applied to their inputs. */
static void add_applied(Origins *o)
{
    for (int i = 0; i < o->imported->applied.n; i++) {
        const AppliedConstraint *applied = &o->imported->applied.at[i];
        const TensorSharding *sharding = initial_sharding(o, applied->value);
        if (o->imported->graph->ops.at[applied->op].kind != FACTOR_CONSTRAINT)
            continue;
        for (int d = 0; d < sharding->n_dims; d++)
            for (int k = 0; k < sharding->dim[d].axes.n; k++)
                vec_push(o->arena, &o->edges[applied->op].edges,
                         (AxisEdge){sharding->dim[d].axes.at[k], 1, 0, 1, -1});
    }
}

Origins *origins_new(Arena *arena, const ImportedGraph *imported, const ShardyProgram *program,
                     const int *op_of)
{
    const FactorGraph *graph = imported->graph;
    Origins *o = arena_make(arena, Origins);
    *o = (Origins){.arena = arena, .imported = imported, .program = program};
    o->op_of = op_of;
    o->value = arena_array(arena, ValueOrigins, graph->values.n);
    o->edges = arena_array(arena, OpEdges, graph->ops.n + 1);
    o->constraint = arena_array(arena, int, graph->ops.n);
    add_constraints(o);
    for (int i = 0; i < graph->n_inputs; i++)
        add_sharding(o, graph->input[i], initial_sharding(o, graph->input[i]), ORIGIN_INPUT, i);
    for (int i = 0; i < graph->n_outputs; i++)
        add_sharding(o, imported->returned[i], &graph->output[i].sharding, ORIGIN_OUTPUT, i);
    add_applied(o);
    return o;
}

/* ---- a visit ---- */

typedef struct {
    const FactorProjection *before, *after;
    int n_operands, n;
    struct {
        Vec(AxisEdge) edges;
    } changes;
} SeenVisit;

static int find_source(const SeenVisit *seen, int factor, const AxisList *axes)
{
    for (int t = 0; t < seen->n; t++) {
        const FactorAxes *was = &seen->before->tensor[t].factor[factor];
        if (was->here && axis_list_is_prefix(axes, &was->axes))
            return t;
    }
    return -1;
}

static void drop_change(SeenVisit *seen, int target, const AxisRef *axis)
{
    int n = 0;
    for (int i = 0; i < seen->changes.edges.n; i++) {
        const AxisEdge *edge = &seen->changes.edges.at[i];
        if (edge->target != target || !axis_ref_equal(&edge->axis, axis))
            seen->changes.edges.at[n++] = *edge;
    }
    seen->changes.edges.n = n;
}

static void add_change(Origins *o, SeenVisit *seen, int target, int source, AxisRef axis)
{
    for (int i = 0; i < seen->changes.edges.n; i++) {
        const AxisEdge *edge = &seen->changes.edges.at[i];
        if (edge->target == target && axis_ref_equal(&edge->axis, &axis))
            return;
    }
    vec_push(o->arena, &seen->changes.edges,
             (AxisEdge){axis, source, target, seen->n_operands, o->step});
}

static bool can_merge(const AxisRef *a, const AxisRef *b, const Mesh *mesh)
{
    return a->axis == b->axis && a->pre * a->size == b->pre && !axis_ref_is_whole(a, mesh) &&
           !axis_ref_is_whole(b, mesh);
}

/* Adds the axes that a dim gained: for each factor its last axis if that grew, and those after it.
 * An axis that continues over two factors counts once. */
static void compare_dim(Origins *o, SeenVisit *seen, int t, const FactorDim *dim)
{
    AxisRef previous = {.axis = -1};
    for (int i = 0; i < dim->n; i++) {
        const AxisList *was = &seen->before->tensor[t].factor[dim->at[i]].axes;
        const AxisList *now = &seen->after->tensor[t].factor[dim->at[i]].axes;
        if (axis_list_equal(was, now))
            continue;
        AxisList changes = *now;
        AxisRef *last = &changes.at[changes.n - 1], unmerged = *last;
        if (previous.axis >= 0 && can_merge(&previous, last, seen->before->mesh)) {
            drop_change(seen, t, &previous);
            *last = (AxisRef){last->axis, previous.pre, previous.size * last->size};
        }
        previous = unmerged;
        int source = find_source(seen, dim->at[i], now), first = was->n;
        if (was->n > 0 && !axis_ref_equal(&was->at[was->n - 1], &changes.at[was->n - 1]))
            first--;
        for (int k = first; source >= 0 && k < changes.n; k++)
            add_change(o, seen, t, source, changes.at[k]);
    }
}

static int value_of(const Origins *o, const ShardyEvent *event, int t)
{
    return event->op < 0 ? o->program->result[-1 - event->op].tensor
                         : o->program->op[event->op].tensor[t];
}

/* The origin of the axis on a value, or NULL. */
static const AxisOrigin *look_up(const Origins *o, int value, const AxisRef *axis)
{
    const ValueOrigins *of = &o->value[value];
    for (int i = 0; i < of->axes.n; i++)
        if (axis_ref_equal(&of->axes.at[i].axis, axis))
            return &of->axes.at[i];
    for (int i = 0; i < of->axes.n; i++)
        if (axis_ref_contains(&of->axes.at[i].axis, axis) ||
            axis_ref_contains(axis, &of->axes.at[i].axis))
            return &of->axes.at[i];
    return NULL;
}

static void keep_edge(Origins *o, OpEdges *of, const AxisEdge *edge)
{
    for (int i = 0; i < of->edges.n; i++) {
        const AxisEdge *other = &of->edges.at[i];
        if (other->source == edge->source && other->target == edge->target &&
            axis_ref_equal(&other->axis, &edge->axis))
            return;
    }
    vec_push(o->arena, &of->edges, *edge);
}

static void add_changes(Origins *o, const ShardyEvent *event, const SeenVisit *seen)
{
    int n_ops = o->imported->graph->ops.n;
    OpEdges *of = &o->edges[event->op < 0 ? n_ops : o->op_of[event->op]];
    for (int i = 0; i < seen->changes.edges.n; i++) {
        const AxisEdge *edge = &seen->changes.edges.at[i];
        if (of->edges.n > 0 && of->edges.at[0].step < 0)
            of->edges.n = 0; /* earlier moves by a constraint count only if no later ones came */
        keep_edge(o, of, edge);
        const AxisOrigin *origin = look_up(o, value_of(o, event, edge->source), &edge->axis);
        if (origin)
            add_origin(o, value_of(o, event, edge->target),
                       (AxisOrigin){edge->axis, origin->kind, origin->number});
    }
}

void origins_seen(void *context, const ShardyEvent *event)
{
    Origins *o = context;
    Arena *scratch = arena_new();
    ShardyOp op = event->op < 0 ? shardy_result_op(&o->program->result[-1 - event->op])
                                : o->program->op[event->op];
    Pass *direction = arena_array(scratch, Pass, op.rule->n_factors);
    FactorStep step =
        shardy_step_of(o->program, &op, event->pass, event->aggressive, event->before, direction);
    FactorProjection *after = factor_project(scratch, op.rule, step.mesh, event->before);
    SeenVisit seen = {.before = factor_project(scratch, op.rule, step.mesh, event->before),
                      .after = after,
                      .n_operands = op.n_inputs,
                      .n = op.n_inputs + op.n_outputs};
    bool *updated = arena_array(scratch, bool, seen.n);
    factor_propagate(scratch, &step, after, updated);
    for (int t = 0; t < seen.n; t++)
        for (int d = 0; d < op.rule->tensor[t].n_dims; d++)
            compare_dim(o, &seen, t, &op.rule->tensor[t].dim[d]);
    add_changes(o, event, &seen);
    o->step++;
    arena_free(scratch);
}

/* ---- the answer ---- */

/* The origin that is reported as "self" for a value. */
typedef struct {
    AxisOriginKind kind;
    int number;
} Self;

static Json *value_json(const Origins *o, int value, Self self)
{
    static const char *const kinds[] = {"constraint", "input", "output"};
    const Mesh *mesh = factor_graph_mesh(o->imported->graph, initial_sharding(o, value));
    Json *out = json_object();
    for (int i = 0; i < o->value[value].axes.n; i++) {
        const AxisOrigin *origin = &o->value[value].axes.at[i];
        Buf axis = buf_new(o->arena);
        axis_ref_format(mesh, &origin->axis, &axis);
        bool is_self = origin->kind == self.kind && origin->number == self.number;
        json_set_str(out, axis.s,
                     is_self
                         ? "self"
                         : arena_printf(o->arena, "%s:%d", kinds[origin->kind], origin->number));
    }
    return out;
}

static Self self_of(const Origins *o, int value)
{
    const FactorGraph *graph = o->imported->graph;
    int maker = graph->values.at[value].maker;
    for (int i = 0; maker < 0 && i < graph->n_inputs; i++)
        if (graph->input[i] == value)
            return (Self){ORIGIN_INPUT, i};
    if (maker >= 0 && graph->ops.at[maker].kind == FACTOR_CONSTRAINT)
        return (Self){ORIGIN_CONSTRAINT, o->constraint[maker]};
    return (Self){ORIGIN_INPUT, -1};
}

Json *origins_json(const Origins *o)
{
    const FactorGraph *graph = o->imported->graph;
    Json *out = json_object();
    for (int v = 0; v < o->imported->n_given; v++)
        if (o->value[v].axes.n > 0)
            json_set(out, graph->values.at[v].name, value_json(o, v, self_of(o, v)));
    for (int i = 0; i < graph->n_outputs; i++) {
        int value = o->imported->returned[i];
        bool again = false; /* a value that is returned twice: "self" is its last result */
        for (int j = i + 1; j < graph->n_outputs; j++)
            again |= o->imported->returned[j] == value;
        if (!again && o->value[value].axes.n > 0)
            json_set(out, arena_printf(o->arena, "output:%d", i),
                     value_json(o, value, (Self){ORIGIN_OUTPUT, i}));
    }
    return out;
}

static const char *end_text(const Origins *o, const AxisEdge *edge, int t)
{
    return t < edge->n_operands ? arena_printf(o->arena, "operand:%d", t)
                                : arena_printf(o->arena, "result:%d", t - edge->n_operands);
}

static bool same_row(const AxisEdge *a, const AxisEdge *b)
{
    return a->step == b->step && a->source == b->source && axis_ref_equal(&a->axis, &b->axis);
}

/* The smallest target of a row greater than `after`, or INT_MAX. */
static int next_target(const OpEdges *of, const AxisEdge *row, int after)
{
    int next = INT_MAX;
    for (int i = 0; i < of->edges.n; i++) {
        const AxisEdge *edge = &of->edges.at[i];
        if (same_row(row, edge) && edge->target > after && edge->target < next)
            next = edge->target;
    }
    return next;
}

/* The targets of a row, in order. */
static Json *targets_json(const Origins *o, const OpEdges *of, const AxisEdge *row)
{
    Json *to = json_array();
    for (int last = -1, next; (next = next_target(of, row, last)) < INT_MAX; last = next)
        json_add(to, json_from_str(str_from(end_text(o, row, next))));
    return to;
}

/* By step, then by name of the axis. */
static bool stands_before(const AxisEdge *a, const AxisEdge *b, const Mesh *mesh)
{
    if (a->step != b->step)
        return a->step < b->step;
    int order = strcmp(mesh->axes[a->axis.axis].name, mesh->axes[b->axis.axis].name);
    if (order != 0)
        return order < 0;
    return a->axis.pre != b->axis.pre ? a->axis.pre < b->axis.pre : a->source < b->source;
}

static void sort_edges(OpEdges *of, const Mesh *mesh)
{
    for (int i = 1; i < of->edges.n; i++)
        for (int j = i; j > 0 && stands_before(&of->edges.at[j], &of->edges.at[j - 1], mesh); j--) {
            AxisEdge moved = of->edges.at[j];
            of->edges.at[j] = of->edges.at[j - 1];
            of->edges.at[j - 1] = moved;
        }
}

static Json *edges_json(const Origins *o, OpEdges *of, const Mesh *mesh)
{
    sort_edges(of, mesh);
    Json *out = json_array();
    for (int i = 0; i < of->edges.n; i++) {
        const AxisEdge *edge = &of->edges.at[i];
        bool said = false;
        for (int j = 0; j < i; j++)
            said |= same_row(edge, &of->edges.at[j]);
        if (said)
            continue;
        Json *row = json_object();
        Buf axis = buf_new(o->arena);
        axis_ref_format(mesh, &edge->axis, &axis);
        json_set_str(row, "axis", axis.s);
        json_set_str(row, "from", end_text(o, edge, edge->source));
        json_set(row, "to", targets_json(o, of, edge));
        json_add(out, row);
    }
    return out;
}

Json *origins_edges_json(const Origins *o)
{
    const FactorGraph *graph = o->imported->graph;
    const Mesh *mesh = graph->meshes->at[0];
    Json *out = json_object();
    for (int i = 0; i < graph->ops.n; i++)
        if (o->edges[i].edges.n > 0 && graph->ops.at[i].n_outputs > 0)
            json_set(out, graph->values.at[graph->ops.at[i].output[0]].name,
                     edges_json(o, &o->edges[i], mesh));
    if (o->edges[graph->ops.n].edges.n > 0)
        json_set(out, "output:0", edges_json(o, &o->edges[graph->ops.n], mesh));
    return out;
}
