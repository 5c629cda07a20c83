/* control.c - operators of torch that run graphs: inlined, branches of an If, bodies of a Loop. */
#include "core/peers/torch_export/nodes.h"

enum { OPERANDS_OF_GRAPH_MAX = 512 };

typedef struct {
    ExportTerm at[OPERANDS_OF_GRAPH_MAX];
    int n;
} Operands;

/* ---- arguments: in order, without names ---- */

static int32_t argument(const Call *c, int i)
{
    const JsonView *json = c->e->json;
    json_view_each (item, json, json_view_get(json, c->node, "inputs"))
        if (i-- == 0)
            return json_view_get(json, item, "arg");
    return -1;
}

static int32_t graph_at(const Call *c, int i)
{
    return json_view_get(c->e->json, argument(c, i), "as_graph");
}

static void add_operand(Call *c, Operands *out, ExportTerm t)
{
    if (out->n == OPERANDS_OF_GRAPH_MAX)
        call_fail(c, "its graph has more than %d operands", OPERANDS_OF_GRAPH_MAX);
    else
        out->at[out->n++] = t;
}

static ExportTerm value_at(Call *c, int32_t name)
{
    ExportValue *value = export_value(c->e, name, json_view_raw(c->e->json, name));
    return value ? inplace_current(c->e, value) : no_term();
}

/* A tensor, a size, a number, or a list of those. */
static void add_operands(Call *c, int32_t value, Operands *out)
{
    static const char *const lists[] = {"as_tensors", "as_sym_ints", "as_ints"};
    const JsonView *json = c->e->json;
    int64_t number;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        int32_t list = json_view_get(json, value, lists[i]);
        json_view_each (item, json, list) {
            int32_t name = json_view_get(json, item, i == 0 ? "name" : "as_name");
            int32_t plain = i == 1 ? json_view_get(json, item, "as_int") : item;
            if (name >= 0)
                add_operand(c, out, value_at(c, name));
            else if (json_view_int(json, plain, &number))
                add_operand(c, out, term_int(number));
        }
        if (list >= 0)
            return;
    }
    int32_t size = json_view_get(json, value, "as_sym_int");
    int32_t name = json_view_get(json, json_view_get(json, value, "as_tensor"), "name");
    if (name < 0)
        name = json_view_get(json, size, "as_name");
    int32_t plain = json_view_get(json, size >= 0 ? size : value, "as_int");
    if (name >= 0)
        add_operand(c, out, value_at(c, name));
    else if (json_view_int(json, plain, &number))
        add_operand(c, out, term_int(number));
    else
        add_operand(c, out, no_term());
}

/* ---- graphs of nodes ---- */

/* The name of a value that a list of arguments has: of a tensor or of a size. */
static Str value_name(const JsonView *json, int32_t item)
{
    int32_t name = json_view_get(json, json_view_get(json, item, "as_tensor"), "name");
    if (name < 0)
        name = json_view_get(json, json_view_get(json, item, "as_sym_int"), "as_name");
    return json_view_raw(json, name);
}

/* Opens the graph's scope with its inputs bound to the operands. */
static bool enter(Call *c, ExportScope *scope, int32_t place, const char *suffix,
                  const Operands *in)
{
    Export *e = c->e;
    const JsonView *json = e->json;
    int32_t graph = json_view_get(json, place, "graph");
    Str name = json_view_raw(json, json_view_get(json, place, "name"));
    const char *prefix =
        arena_printf(e->scratch, "%.*s%.*s%s.", STR_ARG(e->scope->prefix), STR_ARG(name), suffix);
    int i = 0;
    export_enter(e, scope, graph, str_from(prefix));
    json_view_each (item, json, json_view_get(json, graph, "inputs")) {
        Str input = value_name(json, item);
        if (i < in->n && input.n > 0) {
            export_define(e, input, in->at[i], false);
            if (in->at[i].kind == TERM_TENSOR)
                export_also(e, str_from(arena_printf(e->scratch, "%s%.*s", prefix, STR_ARG(input))),
                            in->at[i].tensor);
        }
        i++;
    }
    if (i != in->n)
        return export_fail(e, place, "a graph of node '%.*s' has %d inputs for %d operands",
                           STR_ARG(c->name), i, in->n);
    return true;
}

/* Reads the graph's nodes, and the values that it returns. */
static bool run_through(Call *c, Operands *out)
{
    Export *e = c->e;
    const JsonView *json = e->json;
    out->n = 0;
    if (!nodes_read(e))
        return false;
    json_view_each (item, json, json_view_get(json, e->scope->graph, "outputs"))
        add_operands(c, item, out);
    return !export_failed(e);
}

static bool read_inside(Call *c, int32_t place, const char *suffix, const Operands *in,
                        Operands *out)
{
    ExportScope scope;
    bool ok = enter(c, &scope, place, suffix, in) && run_through(c, out);
    export_leave(c->e);
    return ok;
}

/* The node's results are other names of what a graph returned. */
static void pass_results(Call *c, const Operands *out)
{
    Export *e = c->e;
    const JsonView *json = e->json;
    int i = 0;
    json_view_each (item, json, json_view_get(json, c->node, "outputs")) {
        int32_t list = json_view_get(json, item, "as_tensors");
        Str name = value_name(json, item);
        if (list < 0 && i < out->n) {
            if (name.n > 0) {
                export_define(e, name, out->at[i], false);
                export_also(e,
                            str_from(arena_printf(e->scratch, "%.*s%.*s", STR_ARG(e->scope->prefix),
                                                  STR_ARG(name))),
                            out->at[i].tensor);
            }
            i++;
        }
        json_view_each (part, json, list) {
            Str part_name = json_view_raw(json, json_view_get(json, part, "name"));
            if (i >= out->n)
                break;
            export_define(e, part_name, out->at[i], false);
            export_also(e, part_name, out->at[i++].tensor);
        }
    }
}

/* ---- inlined ---- */

static bool read_inlined(Call *c)
{
    int at = 0;
    while (argument(c, at) >= 0 && graph_at(c, at) < 0)
        at++;
    int32_t graph = graph_at(c, at);
    Operands in = {.n = 0}, out = {.n = 0};
    if (graph < 0)
        return false;
    for (int i = at + 1; argument(c, i) >= 0; i++)
        if (json_view_get(c->e->json, argument(c, i), "as_string") < 0)
            add_operands(c, argument(c, i), &in);
    if (!export_failed(c->e) && read_inside(c, graph, "", &in, &out))
        pass_results(c, &out);
    return true;
}

/* ---- cond ---- */

static bool read_branch(Call *c, int32_t graph, BodyKind kind, ExportTerm condition,
                        const Operands *in, Operands *out)
{
    Export *e = c->e;
    GraphBody body = {.first = e->builder->ops.n, .of = condition.tensor, .kind = (uint8_t)kind};
    e->n_bodies++;
    bool ok = read_inside(c, graph, "", in, out);
    e->n_bodies++;
    if (ok)
        graph_add_body(e->builder, body, NULL);
    return ok;
}

static bool read_cond(Call *c)
{
    Operands in = {.n = 0}, then = {.n = 0}, other = {.n = 0}, condition = {.n = 0};
    if (graph_at(c, 1) < 0 || graph_at(c, 2) < 0)
        return false;
    add_operands(c, argument(c, 0), &condition);
    add_operands(c, argument(c, 3), &in);
    ExportTerm truth = condition.n == 1 ? condition.at[0] : no_term();
    if (truth.kind != TERM_TENSOR)
        return false;
    if (truth.rank > 0) /* of sizes: bool[1] */
        truth = emit2(c, "Reshape", truth, emit_ints(c->e, NULL, 0));
    if (!read_branch(c, graph_at(c, 1), BODY_THEN, truth, &in, &then) ||
        !read_branch(c, graph_at(c, 2), BODY_ELSE, truth, &in, &other))
        return true;
    if (then.n != other.n) {
        call_fail(c, "its branches return %d and %d values", then.n, other.n);
        return true;
    }
    ExportTerm out[CALL_OUTPUTS_MAX];
    c->first_op = c->e->builder->ops.n;
    for (int i = 0; i < then.n && i < CALL_OUTPUTS_MAX; i++) {
        ExportTerm inputs[] = {truth, then.at[i], other.at[i]};
        out[i] = emit(c, "If", inputs, 3, NULL, 0);
        out[i].dtype = then.at[i].dtype;
        out[i].rank = then.at[i].rank;
    }
    call_results(c, out, then.n);
    return true;
}

/* ---- while_loop ---- */

static ExportTerm entering(Call *c, const char *op, ExportTerm from)
{
    ExportTerm out = emit(c, op, &from, term_is(from) ? 1 : 0, NULL, 0);
    out.dtype = from.dtype;
    out.rank = from.rank;
    return out;
}

/* The condition is looked at before the loop, and at the end of each iteration for the next one. */
static bool read_while(Call *c)
{
    Export *e = c->e;
    Operands carried = {.n = 0}, more = {.n = 0}, first = {.n = 0}, in = {.n = 0}, next = {.n = 0},
             last = {.n = 0};
    GraphCarry carries[OPERANDS_OF_GRAPH_MAX + 1];
    ExportTerm out[CALL_OUTPUTS_MAX];
    add_operands(c, argument(c, 2), &carried);
    if (argument(c, 3) >= 0)
        add_operands(c, argument(c, 3), &more);
    bool tensors = graph_at(c, 0) >= 0 && graph_at(c, 1) >= 0 && carried.n < CALL_OUTPUTS_MAX &&
                   carried.n + more.n <= OPERANDS_OF_GRAPH_MAX;
    for (int i = 0; i < carried.n; i++)
        tensors &= carried.at[i].kind == TERM_TENSOR;
    if (!tensors)
        return false;
    Operands start = carried;
    for (int i = 0; i < more.n; i++)
        start.at[start.n++] = more.at[i];
    if (!read_inside(c, graph_at(c, 0), "~first", &start, &first) || first.n != 1)
        return true;
    GraphBody body = {.first = e->builder->ops.n, .of = -1, .kind = BODY_LOOP};
    e->n_bodies++;
    entering(c, "LoopIndex", no_term());
    carries[0].in = entering(c, "LoopCarry", first.at[0]).tensor;
    for (int i = 0; i < carried.n; i++) {
        in.at[in.n++] = entering(c, "LoopCarry", carried.at[i]);
        carries[1 + i].in = in.at[i].tensor;
    }
    for (int i = 0; i < more.n; i++)
        in.at[in.n++] = more.at[i];
    if (!read_inside(c, graph_at(c, 1), "", &in, &next))
        return true;
    int n = next.n;
    for (int i = 0; i < more.n; i++)
        next.at[next.n++] = more.at[i];
    if (n != carried.n || !read_inside(c, graph_at(c, 0), "", &next, &last) || last.n != 1) {
        call_fail(c, "its body returns %d values for %d", n, carried.n);
        return true;
    }
    carries[0].next = last.at[0].tensor;
    for (int i = 0; i < n; i++)
        carries[1 + i].next = next.at[i].tensor;
    body.n_carries = n + 1;
    graph_add_body(e->builder, body, carries);
    e->n_bodies++;
    c->first_op = e->builder->ops.n;
    for (int i = 0; i < n; i++) {
        out[i] = emit2(c, "LoopResult", carried.at[i], next.at[i]);
        out[i].dtype = carried.at[i].dtype;
        out[i].rank = carried.at[i].rank;
    }
    call_results(c, out, n);
    return true;
}

/* ---- scan, map ---- */

/* Results of a body that goes along dim 0 of `over`: what is carried, then what is stacked. */
static void scan_results(Call *c, ExportTerm over, const Operands *carried, const Operands *made)
{
    ExportTerm out[CALL_OUTPUTS_MAX];
    c->first_op = c->e->builder->ops.n;
    for (int i = 0; i < made->n; i++) {
        ExportTerm last[] = {i < carried->n ? carried->at[i] : no_term(), made->at[i]};
        ExportTerm stack[] = {made->at[i], no_term(), no_term(), over};
        bool result = i < carried->n;
        out[i] = result ? emit(c, "LoopResult", last, 2, NULL, 0)
                        : emit(c, "LoopStack", stack, 4, NULL, 0);
        out[i].dtype = made->at[i].dtype;
        out[i].rank = (uint8_t)(made->at[i].rank + !result);
    }
    call_results(c, out, made->n);
}

/* The graph takes what is carried, then a row of each tensor that is gone along, then the rest. */
static bool read_along(Call *c, const Operands *carried, const Operands *along,
                       const Operands *more)
{
    Export *e = c->e;
    Operands in = {.n = 0}, made = {.n = 0};
    GraphCarry carries[OPERANDS_OF_GRAPH_MAX];
    bool tensors = graph_at(c, 0) >= 0 && along->n > 0 && carried->n < CALL_OUTPUTS_MAX &&
                   carried->n + along->n + more->n <= OPERANDS_OF_GRAPH_MAX;
    for (int i = 0; i < along->n; i++)
        tensors &= along->at[i].kind == TERM_TENSOR && along->at[i].rank > 0;
    for (int i = 0; i < carried->n; i++)
        tensors &= carried->at[i].kind == TERM_TENSOR;
    if (!tensors)
        return false;
    GraphBody body = {
        .first = e->builder->ops.n, .of = along->at[0].tensor, .kind = BODY_SCAN, .dim = 0};
    e->n_bodies++;
    for (int i = 0; i < carried->n; i++) {
        in.at[in.n++] = entering(c, "LoopCarry", carried->at[i]);
        carries[i].in = in.at[i].tensor;
    }
    for (int i = 0; i < along->n; i++) {
        ExportTerm row = entering(c, "LoopSlice", along->at[i]);
        row.rank--;
        in.at[in.n++] = row;
    }
    for (int i = 0; i < more->n; i++)
        in.at[in.n++] = more->at[i];
    if (!read_inside(c, graph_at(c, 0), "", &in, &made))
        return true;
    if (made.n < carried->n || made.n > CALL_OUTPUTS_MAX) {
        call_fail(c, "its graph returns %d values", made.n);
        return true;
    }
    for (int i = 0; i < carried->n; i++)
        carries[i].next = made.at[i].tensor;
    body.n_carries = carried->n;
    graph_add_body(e->builder, body, carries);
    e->n_bodies++;
    scan_results(c, along->at[0], carried, &made);
    return true;
}

/* (graph, [carried], [gone along], [extra]) */
static bool read_scan(Call *c)
{
    Operands lists[3] = {{.n = 0}};
    for (int i = 0; i < 3; i++)
        if (argument(c, 1 + i) >= 0)
            add_operands(c, argument(c, 1 + i), &lists[i]);
    return read_along(c, &lists[0], &lists[1], &lists[2]);
}

/* (graph, [gone along], [extra]) */
static bool read_map(Call *c)
{
    Operands none = {.n = 0}, lists[2] = {{.n = 0}};
    for (int i = 0; i < 2; i++)
        if (argument(c, 1 + i) >= 0)
            add_operands(c, argument(c, 1 + i), &lists[i]);
    return read_along(c, &none, &lists[0], &lists[1]);
}

static const struct {
    const char *op;
    bool (*read)(Call *c);
} rows[] = {
    {"higher_order::cond", read_cond},
    {"higher_order::while_loop", read_while},
    {"higher_order::scan", read_scan},
    {"higher_order::map_impl", read_map},
    {"higher_order::wrap", read_inlined},
    {"higher_order::wrap_with_set_grad_enabled", read_inlined},
    {"higher_order::wrap_with_autocast", read_inlined},
    {"higher_order::invoke_subgraph", read_inlined},
    {"higher_order::tag_activation_checkpoint", read_inlined},
    {"higher_order::wrap_activation_checkpoint", read_inlined},
};

bool nodes_read_control(Call *c)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (str_eq(c->op, str_from(rows[i].op)))
            return rows[i].read(c);
    return false;
}
