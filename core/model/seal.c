#include "core/model/builder.h"

#include <assert.h>
#include <stdlib.h>

/* ---- checks ---- */

static const char *op_label(const Graph *graph, int32_t op)
{
    return names_text(graph->names,
                      graph->ops[op].name != 0 ? graph->ops[op].name : graph->ops[op].op_type);
}

static bool is_dangling(const Graph *graph, int32_t tensor)
{
    return tensor >= 0 && graph->tensors[tensor].kind == TENSOR_MADE &&
           graph->tensors[tensor].maker < 0;
}

static bool fail_dangling(const Graph *graph, int32_t tensor, const char *reader, Error *err)
{
    error_kind(err, ERROR_INVALID, "tensor '%s', read by %s, is made by no op",
               tensor_name(graph, tensor), reader);
    error_hint(err, "a graph cut out of a larger one must list what it reads as inputs");
    return false;
}

/* *ordered: no op reads what a later one makes. */
static bool check_makers(const Graph *graph, int32_t first, bool *ordered, Error *err)
{
    *ordered = true;
    for (int32_t op = first; op < graph->n_ops; op++)
        for (int i = 0; i < graph->ops[op].n_inputs; i++) {
            int32_t tensor = op_inputs(graph, op)[i];
            if (is_dangling(graph, tensor))
                return fail_dangling(
                    graph, tensor, arena_printf(graph->arena, "op '%s'", op_label(graph, op)), err);
            *ordered &= tensor < 0 || graph->tensors[tensor].maker < op;
        }
    for (int i = 0; i < graph->n_outputs; i++)
        if (is_dangling(graph, graph->outputs[i]))
            return fail_dangling(graph, graph->outputs[i], "the graph's list of outputs", err);
    return true;
}

/* ---- program order ---- */

static int32_t input_maker(const Graph *graph, int32_t op, int i)
{
    int32_t tensor = op_inputs(graph, op)[i];
    return tensor < 0 ? -1 : graph->tensors[tensor].maker;
}

/* The ready ops as a binary heap whose top is the first in the file. */
typedef struct {
    int32_t *at;
    int n;
} ReadyHeap;

static void heap_push(ReadyHeap *heap, int32_t op)
{
    int i = heap->n++;
    for (; i > 0 && heap->at[(i - 1) / 2] > op; i = (i - 1) / 2)
        heap->at[i] = heap->at[(i - 1) / 2];
    heap->at[i] = op;
}

static int32_t heap_pop(ReadyHeap *heap)
{
    int32_t top = heap->at[0], last = heap->at[--heap->n];
    int i = 0;
    for (int child; (child = 2 * i + 1) < heap->n; i = child) {
        if (child + 1 < heap->n && heap->at[child + 1] < heap->at[child])
            child++;
        if (last <= heap->at[child])
            break;
        heap->at[i] = heap->at[child];
    }
    heap->at[i] = last;
    return top;
}

/* Lists the readers of every tensor: graph->uses and tensors[].use, in program order. A run is
 * filled from its end, so that `use` is its place meanwhile. */
static void number_uses(Graph *graph)
{
    GraphTensor *tensors = graph->tensors;
    for (int32_t tensor = 0; tensor < graph->n_tensors; tensor++)
        tensors[tensor].use = 0;
    for (int32_t op = 0; op < graph->n_ops; op++)
        for (int i = 0; i < graph->ops[op].n_inputs; i++)
            if (op_inputs(graph, op)[i] >= 0)
                tensors[op_inputs(graph, op)[i]].use++;
    int32_t n = 0;
    for (int32_t tensor = 0; tensor < graph->n_tensors; tensor++)
        n = tensors[tensor].use += n;
    tensors[graph->n_tensors].use = n;
    if (!graph->uses)
        graph->uses = arena_array(graph->arena, int32_t, n);
    for (int32_t op = graph->n_ops - 1; op >= 0; op--)
        for (int i = graph->ops[op].n_inputs - 1; i >= 0; i--)
            if (op_inputs(graph, op)[i] >= 0)
                graph->uses[--tensors[op_inputs(graph, op)[i]].use] = op;
}

/* Reports a cycle: an op whose inputs are never all made waits for another such op, so following
 * them leads round the cycle. */
static bool fail_cycle(const Graph *graph, const int32_t *n_waiting, Error *err)
{
    int32_t op = 0;
    while (n_waiting[op] == 0)
        op++;
    int32_t tensor = -1;
    for (int step = 0; step <= graph->n_ops; step++)
        for (int i = 0; i < graph->ops[op].n_inputs; i++) {
            int32_t maker = input_maker(graph, op, i);
            if (maker < 0 || n_waiting[maker] == 0)
                continue;
            tensor = op_inputs(graph, op)[i];
            op = maker;
            break;
        }
    error_kind(err, ERROR_INVALID, "the graph has a cycle: op '%s' depends on its own output '%s'",
               op_label(graph, op), tensor_name(graph, tensor));
    error_hint(err, "a loop must be a Loop or Scan op, whose body is a graph of its own");
    return false;
}

/* Puts the ops into topological order by Kahn's algorithm, file order as tie-break; n_waiting: per
 * op, the operands not made yet. */
static bool kahn(const Graph *graph, int32_t *order, int32_t *n_waiting, ReadyHeap *ready)
{
    for (int32_t op = 0; op < graph->n_ops; op++) {
        for (int i = 0; i < graph->ops[op].n_inputs; i++)
            n_waiting[op] += input_maker(graph, op, i) >= 0;
        if (n_waiting[op] == 0)
            heap_push(ready, op);
    }
    int n_done = 0;
    while (ready->n > 0) {
        int32_t op = heap_pop(ready);
        order[n_done++] = op;
        for (int i = 0; i < graph->ops[op].n_outputs; i++) {
            int32_t tensor = op_outputs(graph, op)[i];
            if (tensor < 0)
                continue;
            for (int use = 0; use < tensor_n_uses(graph, tensor); use++) {
                int32_t user = graph->uses[graph->tensors[tensor].use + use];
                if (--n_waiting[user] == 0)
                    heap_push(ready, user);
            }
        }
    }
    return n_done == graph->n_ops;
}

static void permute_ops(Graph *graph, const int32_t *order, Arena *scratch)
{
    GraphOp *old = arena_array(scratch, GraphOp, graph->n_ops);
    memcpy(old, graph->ops, (size_t)graph->n_ops * sizeof *old);
    for (int32_t op = 0; op < graph->n_ops; op++) {
        graph->ops[op] = old[order[op]];
        for (int i = 0; i < graph->ops[op].n_outputs; i++)
            if (op_outputs(graph, op)[i] >= 0)
                graph->tensors[op_outputs(graph, op)[i]].maker = op;
    }
}

static bool put_in_order(Graph *graph, Error *err)
{
    Arena *scratch = arena_new();
    int32_t *order = arena_array(scratch, int32_t, graph->n_ops);
    int32_t *n_waiting = arena_array(scratch, int32_t, graph->n_ops);
    ReadyHeap ready = {.at = arena_array(scratch, int32_t, graph->n_ops)};

    number_uses(graph);
    bool ok = kahn(graph, order, n_waiting, &ready);
    if (!ok)
        fail_cycle(graph, n_waiting, err);
    else if (graph->n_bodies > 0)
        ok = error_kind(err, ERROR_INVALID,
                        "a graph with branches or loops must list an op after those it reads");
    else
        permute_ops(graph, order, scratch);
    arena_free(scratch);
    return ok;
}

/* ---- names ---- */

static bool has_own_name(const GraphBuilder *builder, int32_t op)
{
    int32_t name = builder->graph->ops[op].name;
    return name != 0 && builder->op_of_name[name] == op;
}

/* "NAME_N" for the op N, where NAME is its operator or the name that an earlier op has too. */
static void make_name(GraphBuilder *builder, int32_t op, Buf *text)
{
    Graph *graph = builder->graph;
    text->n = 0;
    buf_printf(text, "%s_%d", op_label(graph, op), op);
    int32_t id;
    while ((id = names_find(graph->names, buf_str(text))) >= 0 && builder->op_of_name[id] >= 0)
        buf_putc(text, '_');
    id = names_intern(graph->names, buf_str(text));
    graph->ops[op].name = id;
    builder->op_of_name[id] = op;
}

static int32_t *owner_of_name(GraphBuilder *builder, int32_t name)
{
    while (builder->tensor_of_name.n <= name)
        vec_push_own(builder->graph->arena, &builder->tensor_of_name, -1);
    return &builder->tensor_of_name.at[name];
}

/* Tensors of inner graphs get their names if those are free, else NAME_N for tensor N. */
static void name_new_tensors(GraphBuilder *builder)
{
    Graph *graph = builder->graph;
    Buf text = buf_new(graph->arena);
    for (int32_t t = 0; builder->has_new && t < graph->n_tensors; t++) {
        int32_t *name = &graph->tensors[t].name, owner = *owner_of_name(builder, *name);
        if (owner == t)
            continue;
        text.n = 0;
        buf_printf(&text, "%s_%d", names_text(graph->names, *name), t);
        for (; owner >= 0; buf_putc(&text, '_')) {
            *name = names_intern(graph->names, buf_str(&text));
            owner = *owner_of_name(builder, *name);
        }
        *owner_of_name(builder, *name) = t;
    }
}

/* Names from the file are assigned first, in program order; then those that were missing or
 * taken. */
static void name_ops(GraphBuilder *builder, Arena *scratch)
{
    Graph *graph = builder->graph;
    int32_t n_names = names_count(graph->names), n_nameless = graph->n_ops;
    builder->op_of_name = arena_array(scratch, int32_t, n_names);
    memset(builder->op_of_name, -1, (size_t)n_names * sizeof *builder->op_of_name);
    for (int32_t op = 0; op < graph->n_ops; op++) {
        int32_t name = graph->ops[op].name;
        if (name == 0 || builder->op_of_name[name] >= 0)
            continue;
        builder->op_of_name[name] = op;
        n_nameless--;
    }
    if (n_nameless > 0) {
        int32_t *longer = arena_array(scratch, int32_t, n_names + n_nameless);
        memcpy(longer, builder->op_of_name, (size_t)n_names * sizeof *longer);
        memset(longer + n_names, -1, (size_t)n_nameless * sizeof *longer);
        builder->op_of_name = longer;
    }
    Buf text = buf_new(graph->arena);
    int32_t n_room = n_names + n_nameless;
    for (int32_t op = 0; op < graph->n_ops && n_nameless > 0; op++) {
        if (has_own_name(builder, op))
            continue;
        make_name(builder, op, &text);
        n_nameless--;
    }
    graph->n_names = names_count(graph->names);
    assert(graph->n_names <= n_room);
}

/* Bodies are added as they end, but listed as they begin, the outer one first. */
static int compare_bodies(const void *a, const void *b)
{
    const GraphBody *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->end != y->end ? (x->end > y->end ? -1 : 1) : (x->carry > y->carry ? -1 : 1);
}

/* ---- closing ---- */

/* Inputs that are initializers too were weights all along (IR 3 lists both). */
static void keep_true_inputs(GraphBuilder *builder)
{
    int n_kept = 0;
    for (int i = 0; i < builder->inputs.n; i++)
        if (builder->tensors.at[builder->inputs.at[i]].kind == TENSOR_INPUT)
            builder->inputs.at[n_kept++] = builder->inputs.at[i];
    builder->inputs.n = n_kept;
}

static void move_columns(GraphBuilder *builder)
{
    Graph *graph = builder->graph;
    keep_true_inputs(builder);
    vec_push_own(graph->arena, &builder->tensors,
                 (GraphTensor){.maker = -1}); /* ends the last run */
    vec_trim(graph->arena, &builder->ops);
    vec_trim(graph->arena, &builder->tensors);
    vec_trim(graph->arena, &builder->operands);
    vec_trim(graph->arena, &builder->outputs);
    vec_trim(graph->arena, &builder->data);
    vec_trim(graph->arena, &builder->declared);
    graph->n_ops = graph->n_nodes = builder->ops.n;
    graph->n_tensors = builder->tensors.n - 1;
    graph->n_operands = builder->operands.n;
    graph->n_inputs = builder->inputs.n;
    graph->n_outputs = builder->outputs.n;
    graph->ops = builder->ops.at;
    graph->tensors = builder->tensors.at;
    graph->operands = builder->operands.at;
    graph->declared = builder->declared.at;
    graph->data = builder->data.at;
    graph->attr_lists = builder->lists.at;
    graph->bodies = builder->bodies.at;
    graph->n_bodies = builder->bodies.n;
    graph->carries = builder->carries.at;
    graph->n_carries = builder->carries.n;
    if (graph->n_bodies > 0)
        qsort(graph->bodies, (size_t)graph->n_bodies, sizeof *graph->bodies, compare_bodies);
    graph->inputs = builder->inputs.at;
    graph->outputs = builder->outputs.at;
}

/* Exporters give most ops the name of their output, so most ops are found by their output. */
static void keep_names(GraphBuilder *builder)
{
    Graph *graph = builder->graph;
    Vec(int32_t) named_as = {0};
    while (builder->tensor_of_name.n < graph->n_names)
        vec_push_own(graph->arena, &builder->tensor_of_name, -1);
    vec_trim(graph->arena, &builder->tensor_of_name);
    graph->owner_of_name = builder->tensor_of_name.at;
    for (int32_t name = 0; name < graph->n_names; name++) {
        int32_t op = builder->op_of_name[name], *owner = &graph->owner_of_name[name];
        if (op >= 0 && *owner < 0)
            *owner = -2 - op;
        else if (op >= 0 && graph->tensors[*owner].maker != op)
            vec_push_own(graph->arena, &named_as, op);
    }
    for (int i = 0; i < graph->n_also; i++)
        if (graph->owner_of_name[graph->also[i].name] == -1)
            graph->owner_of_name[graph->also[i].name] = graph->also[i].tensor;
    vec_trim(graph->arena, &named_as);
    graph->named_as = named_as.at;
    graph->n_named_as = named_as.n;
}

/* Ops that were added to those of a script have no line of it. */
static void extend_lines(Graph *graph, int n_lines)
{
    if (!graph->lines || graph->n_ops <= n_lines)
        return;
    int32_t *lines = arena_array(graph->arena, int32_t, graph->n_ops);
    memcpy(lines, graph->lines, (size_t)n_lines * sizeof *lines);
    graph->lines = lines;
}

Graph *graph_seal(GraphBuilder *builder, Error *err)
{
    Graph *graph = builder->graph;
    if (error_is_set(&builder->problem)) {
        if (err && !error_is_set(err))
            *err = builder->problem;
        return NULL;
    }
    move_columns(builder);
    bool ordered;
    if (!check_makers(graph, builder->n_sealed, &ordered, err) ||
        (!ordered && !put_in_order(graph, err)))
        return NULL;
    extend_lines(graph, builder->n_sealed);
    number_uses(graph);
    name_new_tensors(builder);
    Arena *scratch = arena_new();
    name_ops(builder, scratch);
    keep_names(builder);
    arena_free(scratch);
    return graph;
}
