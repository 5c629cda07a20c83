#include "core/fuse/unroll.h"

#include "core/base/vec.h"
#include "core/model/rewrite.h"

#include <inttypes.h>

/* New ops have their axes as attributes, as operators of this opset. */
enum { NEW_OPSET = 11 };

typedef Vec(int32_t) Tensors;

typedef struct {
    const Inferred *inferred;
    const Graph *graph;
    GraphBuilder *builder;
    Arena *arena, *scratch;
    bool *unrolled;     /* per body */
    int32_t *now;       /* per tensor: what it is in the new graph, at this iteration */
    const char *ending; /* of names, in an iteration: ".2", ".2.0" */
    Tensors indexes;    /* constants 0, 1, .. */
    Vec(int32_t) lines;
} Unrolling;

static bool is(const Unrolling *u, int32_t op, const char *op_type)
{
    return strcmp(op_operator(u->graph, op), op_type) == 0;
}

static bool loops(const GraphBody *body)
{
    return body->kind == BODY_LOOP || body->kind == BODY_SCAN;
}

/* ---- which loops ---- */

/* The end of the ops behind a loop that return its results. */
static int32_t results_end(const Unrolling *u, const GraphBody *body)
{
    int32_t op = body->end;
    while (op < u->graph->n_ops && (is(u, op, "LoopResult") || is(u, op, "LoopStack")))
        op++;
    return op;
}

/* Whether values can be stacked: there are some, or their shape is known or nobody reads them. */
static bool can_stack(const Unrolling *u, int32_t op, int64_t n)
{
    int32_t out = op_outputs(u->graph, op)[0];
    bool is_output = false;
    for (int i = 0; i < u->graph->n_outputs; i++)
        is_output |= u->graph->outputs[i] == out;
    return n > 0 ? n < OPERANDS_MAX
                 : inferred_shape(u->inferred, out) ||
                       (tensor_n_uses(u->graph, out) == 0 && !is_output);
}

static bool can_unroll(const Unrolling *u, int b)
{
    const GraphBody *body = &u->graph->bodies[b];
    double n = loops(body) ? inferred_known_trips(u->inferred, b) : -1, n_ops = 0;
    for (int32_t op = body->first; op < body->end; op++)
        n_ops += u->inferred->repeat[op];
    if (n < 0 || n_ops > UNROLLED_OPS_MAX || results_end(u, body) == body->end)
        return false;
    for (int32_t op = body->first; op < body->end; op++)
        if (is(u, op, "SequenceElement"))
            return false;
    for (int32_t op = body->end; op < results_end(u, body); op++)
        if (is(u, op, "LoopStack") && !can_stack(u, op, (int64_t)n))
            return false;
    return true;
}

/* ---- new tensors and ops ---- */

static int32_t constant(Unrolling *u, const char *name, Dtype dtype, const Shape *shape,
                        const void *bytes, size_t n_bytes)
{
    char *copy = arena_alloc(u->arena, n_bytes + 1);
    memcpy(copy, bytes, n_bytes);
    int32_t tensor = graph_new_tensor(u->builder, str_from(name));
    graph_add_initializer(u->builder, tensor, dtype, shape,
                          (TensorData){.form = DATA_RAW, .bytes = {copy, n_bytes}});
    return tensor;
}

/* The scalar constant i. */
static int32_t index_of(Unrolling *u, int64_t i)
{
    const Shape scalar = {0};
    for (int64_t n = u->indexes.n; n <= i; n++)
        vec_push(u->scratch, &u->indexes,
                 constant(u, arena_printf(u->arena, "iteration_%" PRId64, n), DT_I64, &scalar, &n,
                          sizeof n));
    return u->indexes.at[i];
}

static int32_t new_tensor(Unrolling *u, const char *name)
{
    return graph_new_tensor(u->builder, str_from(arena_printf(u->arena, "%s%s", name, u->ending)));
}

/* An op that comes of `of`; attr: NULL if it has none. */
static void add(Unrolling *u, int32_t of, const char *op_type, const int32_t *inputs, int n_inputs,
                int32_t output, const Attr *attr)
{
    int32_t attrs = attr ? graph_add_attrs_of_opset(u->builder, attr, 1, NEW_OPSET) : 0;
    graph_add_op(u->builder, str_from(op_type),
                 str_from(arena_printf(u->arena, "%s%s", op_name(u->graph, of), u->ending)),
                 str_from(op_path(u->graph, of)), inputs, n_inputs, &output, 1, attrs);
    vec_push(u->arena, &u->lines, u->graph->lines ? u->graph->lines[of] : 0);
}

/* An attribute of an integer, or of a list of one. */
static Attr axis_attr(const Unrolling *u, const char *name, int64_t axis, bool list)
{
    Attr attr = {.name = names_intern(u->graph->names, str_from(name)),
                 .type = list ? ATTR_INTS : ATTR_INT};
    if (!list) {
        attr.i = axis;
        return attr;
    }
    int64_t *values = arena_array(u->arena, int64_t, 1);
    values[0] = axis;
    attr.ints = values;
    attr.n = 1;
    return attr;
}

/* An op as it is in the graph. */
static void copy_op(Unrolling *u, int32_t op)
{
    const GraphOp *old = &u->graph->ops[op];
    int32_t *operand = arena_array(u->scratch, int32_t, old->n_inputs + old->n_outputs);
    for (int i = 0; i < old->n_inputs + old->n_outputs; i++) {
        int32_t t = u->graph->operands[old->input + i];
        if (t >= 0 && i >= old->n_inputs && *u->ending)
            u->now[t] = new_tensor(u, tensor_name(u->graph, t));
        operand[i] = t < 0 ? -1 : u->now[t];
    }
    graph_add_op(u->builder, str_from(op_operator(u->graph, op)),
                 str_from(arena_printf(u->arena, "%s%s", op_name(u->graph, op), u->ending)),
                 str_from(op_path(u->graph, op)), operand, old->n_inputs, operand + old->n_inputs,
                 old->n_outputs, old->attrs);
    vec_push(u->arena, &u->lines, u->graph->lines ? u->graph->lines[op] : 0);
}

/* ---- a loop ---- */

typedef struct {
    const GraphBody *body;
    int64_t n, iteration;
    int32_t *carried; /* per carry: as this iteration finds it; -1: its initial value */
    Tensors *stacked; /* per op behind the loop: of each iteration */
    int32_t results_end;
} Loop;

static int carry_of(const Unrolling *u, const Loop *loop, int32_t tensor)
{
    for (int c = 0; c < loop->body->n_carries; c++)
        if (u->graph->carries[loop->body->carry + c].in == tensor)
            return c;
    return -1;
}

/* The step of a scanned tensor that this iteration has. */
static void slice(Unrolling *u, const Loop *loop, int32_t op)
{
    int32_t from = op_inputs(u->graph, op)[0], out = op_outputs(u->graph, op)[0];
    int64_t axis = op_attr_int(u->graph, op, "axis", 0);
    bool reverse = op_attr_int(u->graph, op, "reverse", 0) != 0;
    Attr attr = axis_attr(u, "axis", axis, false);
    int64_t at = reverse ? loop->n - 1 - loop->iteration : loop->iteration;
    int32_t inputs[2] = {u->now[from], index_of(u, at)};
    u->now[out] = new_tensor(u, tensor_name(u->graph, out));
    add(u, op, "Gather", inputs, 2, u->now[out], &attr);
}

/* An op of the body: what enters an iteration is named, not made. */
static void loop_op(Unrolling *u, const Loop *loop, int32_t op)
{
    int32_t out = u->graph->ops[op].n_outputs > 0 ? op_outputs(u->graph, op)[0] : -1;
    int carry = carry_of(u, loop, out);
    if (is(u, op, "LoopIndex") && out >= 0)
        u->now[out] = index_of(u, loop->iteration);
    else if (is(u, op, "LoopCarry") && carry >= 0)
        u->now[out] =
            loop->iteration == 0 ? u->now[op_inputs(u->graph, op)[0]] : loop->carried[carry];
    else if (is(u, op, "LoopSlice") && out >= 0)
        slice(u, loop, op);
    else
        copy_op(u, op);
}

/* The values of all iterations along a new axis. */
static void stack(Unrolling *u, const Loop *loop, int32_t op)
{
    int32_t out = op_outputs(u->graph, op)[0];
    const Shape *shape = inferred_shape(u->inferred, out);
    int64_t axis = op_attr_int(u->graph, op, "axis", 0);
    bool reverse = op_attr_int(u->graph, op, "reverse", 0) != 0;
    const Tensors *parts = &loop->stacked[op - loop->body->end];
    const char *name = tensor_name(u->graph, out), *around = u->ending;
    int32_t *inputs = arena_array(u->scratch, int32_t, parts->n + 1);
    Attr along = axis_attr(u, "axis", axis, false), at = axis_attr(u, "axes", axis, true);
    if (parts->n == 0 && !shape)
        return; /* nobody reads it */
    if (parts->n == 0) {
        int32_t empty = constant(u, arena_printf(u->arena, "%s.empty", name),
                                 (Dtype)u->inferred->dtype[out], shape, "", 0);
        add(u, op, "Identity", &empty, 1, u->now[out], NULL);
        return;
    }
    for (int i = 0; i < parts->n; i++) {
        u->ending = arena_printf(u->arena, "%s.%d", around, i);
        int32_t part = new_tensor(u, name);
        inputs[reverse ? parts->n - 1 - i : i] = part;
        add(u, op, "Unsqueeze", &parts->at[i], 1, part, &at);
    }
    u->ending = around;
    add(u, op, "Concat", inputs, parts->n, u->now[out], &along);
}

static void add_results(Unrolling *u, const Loop *loop)
{
    for (int32_t op = loop->body->end; op < loop->results_end; op++) {
        int32_t out = u->graph->ops[op].n_outputs > 0 ? op_outputs(u->graph, op)[0] : -1;
        if (out < 0)
            continue;
        if (*u->ending)
            u->now[out] = new_tensor(u, tensor_name(u->graph, out));
        if (is(u, op, "LoopStack")) {
            stack(u, loop, op);
            continue;
        }
        int32_t last = u->now[op_inputs(u->graph, op)[loop->n > 0 ? 1 : 0]];
        add(u, op, "Identity", &last, 1, u->now[out], NULL);
    }
}

static void emit(Unrolling *u, int32_t first, int32_t end, int b, const Loop *loop);

static void emit_loop(Unrolling *u, int b)
{
    const GraphBody *body = &u->graph->bodies[b];
    const char *around = u->ending;
    Loop loop = {.body = body, .n = (int64_t)u->inferred->trips[b]};
    loop.results_end = results_end(u, body);
    loop.carried = arena_array(u->scratch, int32_t, body->n_carries);
    loop.stacked = arena_array(u->scratch, Tensors, loop.results_end - body->end);
    for (; loop.iteration < loop.n; loop.iteration++) {
        u->ending = arena_printf(u->arena, "%s.%" PRId64, around, loop.iteration);
        emit(u, body->first, body->end, b + 1, &loop);
        for (int c = 0; c < body->n_carries; c++) {
            int32_t next = u->graph->carries[body->carry + c].next;
            loop.carried[c] = next < 0 ? -1 : u->now[next];
        }
        for (int32_t op = body->end; op < loop.results_end; op++)
            if (is(u, op, "LoopStack"))
                vec_push(u->scratch, &loop.stacked[op - body->end],
                         u->now[op_inputs(u->graph, op)[0]]);
    }
    u->ending = around;
    add_results(u, &loop);
}

/* A branch, or a loop that stays one. */
static void emit_body(Unrolling *u, int b)
{
    const Graph *graph = u->graph;
    GraphBody body = graph->bodies[b];
    GraphCarry *carries = arena_array(u->scratch, GraphCarry, body.n_carries);
    int32_t first = body.first, end = body.end;
    body.first = u->lines.n;
    body.of = body.of < 0 ? -1 : u->now[body.of];
    emit(u, first, end, b + 1, NULL);
    for (int c = 0; c < body.n_carries; c++) {
        const GraphCarry *carry = &graph->carries[graph->bodies[b].carry + c];
        carries[c] = (GraphCarry){carry->in < 0 ? -1 : u->now[carry->in],
                                  carry->next < 0 ? -1 : u->now[carry->next]};
    }
    graph_add_body(u->builder, body, carries);
}

/* Ops [first, end), bodies among which are listed from b on; loop: whose iteration they are. */
static void emit(Unrolling *u, int32_t first, int32_t end, int b, const Loop *loop)
{
    const GraphBody *bodies = u->graph->bodies;
    int n = u->graph->n_bodies;
    for (int32_t op = first; op < end;) {
        while (b < n && (bodies[b].first < op || bodies[b].first == bodies[b].end))
            b++;
        const GraphBody *body = b < n && bodies[b].end <= end ? &bodies[b] : NULL;
        for (int32_t until = body ? body->first : end; op < until; op++)
            if (loop)
                loop_op(u, loop, op);
            else
                copy_op(u, op);
        if (!body)
            return;
        if (u->unrolled[b])
            emit_loop(u, b);
        else
            emit_body(u, b);
        op = u->unrolled[b] ? results_end(u, body) : body->end;
    }
}

/* ---- all of it ---- */

/* Tensors outside of what is unrolled are those of the new graph; -1: others, made when they are
 * reached. */
static void copy_tensors(Unrolling *u)
{
    bool *inside = arena_array(u->scratch, bool, u->graph->n_ops);
    for (int b = 0; b < u->graph->n_bodies; b++)
        for (int32_t op = u->graph->bodies[b].first; op < u->graph->bodies[b].end; op++)
            inside[op] |= u->unrolled[b];
    for (int32_t t = 0; t < u->graph->n_tensors; t++) {
        int32_t maker = u->graph->tensors[t].maker;
        u->now[t] = maker >= 0 && inside[maker] ? -1 : rewrite_copy_tensor(u->builder, u->graph, t);
    }
    rewrite_copy_ends(u->builder, u->graph, u->now);
}

bool unroll_loops(const Inferred *inferred, Graph **out, Error *err)
{
    const Graph *graph = inferred->graph;
    Unrolling u = {.inferred = inferred,
                   .graph = graph,
                   .arena = graph->arena,
                   .scratch = arena_new(),
                   .ending = ""};
    bool any = false;
    u.unrolled = arena_array(u.scratch, bool, graph->n_bodies);
    u.now = arena_array(u.scratch, int32_t, graph->n_tensors);
    for (int b = 0; b < graph->n_bodies; b++)
        any |= u.unrolled[b] = can_unroll(&u, b);
    *out = NULL;
    if (any) {
        u.builder = graph_builder_like(graph->arena, graph);
        copy_tensors(&u);
        emit(&u, 0, graph->n_ops, 0, NULL);
        *out = graph_seal(u.builder, err);
        if (*out) {
            (*out)->n_nodes = graph->n_nodes;
            (*out)->lines = graph->lines ? u.lines.at : NULL;
        }
    }
    arena_free(u.scratch);
    return !any || *out;
}
