#include "core/model/rewrite.h"

#include "core/model/builder.h"

/* The opset that new ops follow. */
enum { NEW_OPSET = 23 };

typedef struct {
    Dtype dtype;
    int n_dims;
    Str bytes;
} NewConstant;

/* Tensors of new ops are numbered after those of the old graph; new constants are numbered
 * downwards from -2. */
struct Rewrite {
    const Graph *graph;
    Arena *arena;
    Vec(NewOp) ops;
    Vec(NewConstant) constants;
    int32_t *replaced; /* per old op: the new op that replaces it, or -1 */
};

Rewrite *rewrite_new(const Graph *graph)
{
    Rewrite *rewrite = arena_make(graph->arena, Rewrite);
    *rewrite = (Rewrite){.graph = graph, .arena = graph->arena};
    rewrite->replaced = arena_array(graph->arena, int32_t, graph->n_ops);
    memset(rewrite->replaced, -1, (size_t)graph->n_ops * sizeof *rewrite->replaced);
    return rewrite;
}

static bool same_attr(const Attr *a, const Attr *b)
{
    if (a->name != b->name || a->type != b->type || a->n != b->n)
        return false;
    return a->type == ATTR_INTS ? memcmp(a->ints, b->ints, (size_t)a->n * sizeof *a->ints) == 0
                                : a->i == b->i;
}

static bool same_op(const NewOp *a, const NewOp *b)
{
    bool same = !a->replaces && !b->replaces && strcmp(a->operator, b->operator) == 0 &&
                a->n_inputs == b->n_inputs && a->n_attrs == b->n_attrs;
    for (int i = 0; same && i < a->n_inputs; i++)
        same = a->input[i] == b->input[i];
    for (int i = 0; same && i < a->n_attrs; i++)
        same = same_attr(&a->attr[i], &b->attr[i]);
    return same;
}

int32_t rewrite_add(Rewrite *rewrite, NewOp op)
{
    for (int i = 0; i < rewrite->ops.n; i++)
        if (same_op(&rewrite->ops.at[i], &op))
            return rewrite->graph->n_tensors + i;
    if (op.replaces)
        rewrite->replaced[op.before] = rewrite->ops.n;
    vec_push(rewrite->arena, &rewrite->ops, op);
    return rewrite->graph->n_tensors + rewrite->ops.n - 1;
}

int32_t rewrite_constant(Rewrite *rewrite, Dtype dtype, int n_dims, const void *bytes,
                         size_t n_bytes)
{
    NewConstant constant = {dtype, n_dims, {NULL, n_bytes}};
    for (int i = 0; i < rewrite->constants.n; i++) {
        const NewConstant *old = &rewrite->constants.at[i];
        if (old->dtype == dtype && old->n_dims == n_dims && old->bytes.n == n_bytes &&
            memcmp(old->bytes.s, bytes, n_bytes) == 0)
            return -2 - i;
    }
    char *copy = arena_alloc(rewrite->arena, n_bytes);
    memcpy(copy, bytes, n_bytes);
    constant.bytes.s = copy;
    vec_push(rewrite->arena, &rewrite->constants, constant);
    return -1 - rewrite->constants.n;
}

static Attr named(const Rewrite *rewrite, const char *name, AttrType type)
{
    return (Attr){.name = names_intern(rewrite->graph->names, str_from(name)),
                  .type = (uint8_t)type};
}

Attr rewrite_int(const Rewrite *rewrite, const char *name, int64_t value)
{
    Attr attr = named(rewrite, name, ATTR_INT);
    attr.i = value;
    return attr;
}

Attr rewrite_float(const Rewrite *rewrite, const char *name, double value)
{
    Attr attr = named(rewrite, name, ATTR_FLOAT);
    attr.f = value;
    return attr;
}

Attr rewrite_ints(const Rewrite *rewrite, const char *name, const int64_t *values, int n)
{
    Attr attr = named(rewrite, name, ATTR_INTS);
    int64_t *copy = arena_array(rewrite->arena, int64_t, n);
    memcpy(copy, values, (size_t)n * sizeof *copy);
    attr.ints = copy;
    attr.n = n;
    return attr;
}

/* ---- what stays ---- */

typedef struct {
    Rewrite *rewrite;
    const Graph *graph;
    GraphBuilder *builder;
    bool *needed;       /* per old op */
    bool *read;         /* per old tensor, by what stays */
    int32_t *tensor;    /* old to new; -1: left out */
    int32_t *made;      /* per new op: its tensor in the new graph */
    int32_t *constants; /* per new constant */
    int32_t *first;     /* per old op, and the end: where it, or what runs before it, is */
    Vec(int32_t) lines;
} Sealing;

static void need(Sealing *s, int32_t tensor)
{
    if (tensor < 0 || tensor >= s->graph->n_tensors)
        return;
    s->read[tensor] = true;
    if (s->graph->tensors[tensor].maker >= 0)
        s->needed[s->graph->tensors[tensor].maker] = true;
}

/* Whether nobody reads the op's outputs in the old graph; such ops stay. */
static bool is_loose(const Graph *graph, int32_t op)
{
    for (int i = 0; i < graph->ops[op].n_outputs; i++) {
        int32_t tensor = op_outputs(graph, op)[i];
        if (tensor >= 0 && tensor_n_uses(graph, tensor) > 0)
            return false;
    }
    return true;
}

/* Marks needed ops backwards, since makers come before readers. */
static void find_needed(Sealing *s)
{
    const Graph *graph = s->graph;
    const Rewrite *rewrite = s->rewrite;
    for (int i = 0; i < graph->n_outputs; i++)
        need(s, graph->outputs[i]);
    for (int b = 0; b < graph->n_bodies; b++)
        need(s, graph->bodies[b].of);
    for (int c = 0; c < graph->n_carries; c++) {
        need(s, graph->carries[c].in);
        need(s, graph->carries[c].next);
    }
    int at = rewrite->ops.n - 1;
    for (int32_t op = graph->n_ops - 1; op >= 0; op--) {
        for (; at >= 0 && rewrite->ops.at[at].before > op; at--)
            ;
        s->needed[op] |= is_loose(graph, op);
        for (int i = at; i >= 0 && rewrite->ops.at[i].before == op; i--)
            for (int k = 0; k < rewrite->ops.at[i].n_inputs; k++)
                need(s, rewrite->ops.at[i].input[k]);
        for (int i = 0; i < graph->ops[op].n_inputs; i++)
            if (s->needed[op] && rewrite->replaced[op] < 0)
                need(s, op_inputs(graph, op)[i]);
    }
}

/* ---- the new graph ---- */

int32_t rewrite_copy_tensor(GraphBuilder *builder, const Graph *graph, int32_t t)
{
    const GraphTensor *old = &graph->tensors[t];
    int32_t id = graph_tensor(builder, str_from(tensor_name(graph, t)));
    const DeclaredDim *dims = old->declared < 0 ? NULL : graph->declared + old->declared;
    int n_dims = old->declared < 0 ? -1 : old->n_declared;
    if (old->kind == TENSOR_INITIALIZER) {
        Shape shape = {.n_dims = n_dims};
        for (int d = 0; d < n_dims; d++)
            shape.dim[d] = dims[d].size;
        graph_add_initializer(builder, id, (Dtype)old->dtype, &shape, graph->data[old->data]);
    } else if (old->kind == TENSOR_MADE) {
        graph_declare(builder, id, (Dtype)old->dtype, dims, n_dims);
    }
    graph_mark(builder, id, old->sequence, old->optional);
    if (old->trains || old->frozen || old->buffer)
        graph_mark_training(builder, id,
                            old->trains   ? MARK_TRAINS
                            : old->frozen ? MARK_FROZEN
                                          : MARK_BUFFER);
    return id;
}

static void add_tensor(Sealing *s, int32_t t)
{
    const Graph *graph = s->graph;
    const GraphTensor *old = &graph->tensors[t];
    bool used = s->read[t] || tensor_n_uses(graph, t) == 0;
    s->tensor[t] = -1;
    if (old->kind != TENSOR_INPUT && (!used || (old->maker >= 0 && !s->needed[old->maker])))
        return;
    s->tensor[t] = rewrite_copy_tensor(s->builder, graph, t);
}

static void add_constants(Sealing *s)
{
    const Rewrite *rewrite = s->rewrite;
    Buf name = buf_new(rewrite->arena);
    for (int i = 0; i < rewrite->constants.n; i++) {
        const NewConstant *constant = &rewrite->constants.at[i];
        Shape shape = {.n_dims = constant->n_dims};
        for (int d = 0; d < constant->n_dims; d++)
            shape.dim[d] = 1;
        name.n = 0;
        buf_printf(&name, "fused_constant_%d", i);
        while (graph_has_tensor(s->builder, buf_str(&name)))
            buf_putc(&name, '_');
        s->constants[i] = graph_tensor(s->builder, buf_str(&name));
        graph_add_initializer(s->builder, s->constants[i], constant->dtype, &shape,
                              (TensorData){.form = DATA_RAW, .bytes = constant->bytes});
    }
}

static int32_t new_input(const Sealing *s, int32_t tensor)
{
    return tensor >= s->graph->n_tensors ? s->made[tensor - s->graph->n_tensors]
           : tensor >= 0                 ? s->tensor[tensor]
           : tensor == -1                ? -1
                                         : s->constants[-2 - tensor];
}

/* "PATH/Operator", or that with a number if the name is taken. */
static Str free_name(const Sealing *s, const NewOp *op)
{
    const Graph *graph = s->graph;
    Buf name = buf_new(graph->arena);
    buf_printf(&name, "%s/%s", op_name(graph, op->before), op->operator);
    while (graph_has_tensor(s->builder, buf_str(&name)) ||
           graph_find_tensor(graph, buf_str(&name)) >= 0)
        buf_putc(&name, '_');
    return buf_str(&name);
}

static void add_new_op(Sealing *s, int at)
{
    const Graph *graph = s->graph;
    const NewOp *op = &s->rewrite->ops.at[at];
    int32_t input[NEW_OP_INPUTS];
    for (int i = 0; i < op->n_inputs; i++)
        input[i] = new_input(s, op->input[i]);
    Str name = op->replaces ? str_from(op_name(graph, op->before)) : free_name(s, op);
    s->made[at] =
        op->replaces ? s->tensor[op_outputs(graph, op->before)[0]] : graph_tensor(s->builder, name);
    int32_t attrs = graph_add_attrs_of_opset(s->builder, op->attr, op->n_attrs, NEW_OPSET);
    graph_add_op(s->builder, str_from(op->operator), name, str_from(op_path(graph, op->before)),
                 input, op->n_inputs, &s->made[at], 1, attrs);
    vec_push(graph->arena, &s->lines, graph->lines ? graph->lines[op->before] : 0);
}

static void add_ops(Sealing *s)
{
    const Graph *graph = s->graph;
    const Rewrite *rewrite = s->rewrite;
    int at = 0;
    for (int32_t op = 0; op < graph->n_ops; op++) {
        const GraphOp *old = &graph->ops[op];
        s->first[op] = s->builder->ops.n;
        for (; at < rewrite->ops.n && rewrite->ops.at[at].before == op; at++)
            add_new_op(s, at);
        if (!s->needed[op] || rewrite->replaced[op] >= 0)
            continue;
        int32_t *operand = arena_array(graph->arena, int32_t, old->n_inputs + old->n_outputs);
        for (int i = 0; i < old->n_inputs + old->n_outputs; i++) {
            int32_t tensor = graph->operands[old->input + i];
            operand[i] = tensor < 0 ? -1 : s->tensor[tensor];
        }
        graph_add_op(s->builder, str_from(op_operator(graph, op)), str_from(op_name(graph, op)),
                     str_from(op_path(graph, op)), operand, old->n_inputs, operand + old->n_inputs,
                     old->n_outputs, old->attrs);
        vec_push(graph->arena, &s->lines, graph->lines ? graph->lines[op] : 0);
    }
    s->first[graph->n_ops] = s->builder->ops.n;
}

static int32_t new_tensor(const Sealing *s, int32_t tensor)
{
    return tensor < 0 ? -1 : s->tensor[tensor];
}

static void add_bodies(Sealing *s)
{
    const Graph *graph = s->graph;
    Arena *arena = graph->arena;
    for (int b = 0; b < graph->n_bodies; b++) {
        GraphBody body = graph->bodies[b];
        body.first = s->first[body.first];
        body.end = s->first[body.end];
        body.of = new_tensor(s, body.of);
        vec_push_own(arena, &s->builder->bodies, body);
    }
    for (int c = 0; c < graph->n_carries; c++) {
        GraphCarry carry = {new_tensor(s, graph->carries[c].in),
                            new_tensor(s, graph->carries[c].next)};
        vec_push_own(arena, &s->builder->carries, carry);
    }
}

void rewrite_copy_ends(GraphBuilder *builder, const Graph *graph, const int32_t *tensor)
{
    for (int i = 0; i < graph->n_inputs; i++) {
        const GraphTensor *old = &graph->tensors[graph->inputs[i]];
        bool declared = old->declared >= 0;
        graph_add_input(builder, tensor[graph->inputs[i]], (Dtype)old->dtype,
                        declared ? graph->declared + old->declared : NULL,
                        declared ? old->n_declared : -1);
    }
    for (int i = 0; i < graph->n_outputs; i++)
        graph_add_output(builder, tensor[graph->outputs[i]]);
}

static void copy_body(GraphBuilder *builder, const Graph *graph, const int32_t *tensor,
                      const RewriteOps *ops, const GraphBody *old, int32_t first)
{
    GraphBody body = *old;
    GraphCarry *carries = arena_array(graph->arena, GraphCarry, body.n_carries + 1);
    body.first = first;
    body.of = body.of < 0 ? -1 : tensor[body.of];
    body.n_carries = 0;
    for (int c = 0; c < old->n_carries; c++) {
        const GraphCarry *carry = &graph->carries[old->carry + c];
        if (ops->drops && ops->drops(ops->context, carry))
            continue;
        carries[body.n_carries++] = (GraphCarry){carry->in < 0 ? -1 : tensor[carry->in],
                                                 carry->next < 0 ? -1 : tensor[carry->next]};
    }
    graph_add_body(builder, body, carries);
}

/* Ops [first, end), bodies among which are listed from b on; empty ones are left out. */
static void copy_ops(GraphBuilder *builder, const Graph *graph, const int32_t *tensor,
                     const RewriteOps *ops, int32_t first, int32_t end, int b)
{
    const GraphBody *bodies = graph->bodies;
    for (int32_t op = first; op < end;) {
        while (b < graph->n_bodies && (bodies[b].first < op || bodies[b].first == bodies[b].end))
            b++;
        const GraphBody *body = b < graph->n_bodies && bodies[b].end <= end ? &bodies[b] : NULL;
        for (int32_t until = body ? body->first : end; op < until; op++)
            ops->emit(ops->context, op);
        if (!body)
            return;
        int32_t at = builder->ops.n;
        copy_ops(builder, graph, tensor, ops, body->first, body->end, b + 1);
        copy_body(builder, graph, tensor, ops, body, at);
        op = body->end;
    }
}

void rewrite_copy_ops(GraphBuilder *builder, const Graph *graph, const int32_t *tensor,
                      const RewriteOps *ops)
{
    copy_ops(builder, graph, tensor, ops, 0, graph->n_ops, 0);
}

static void add_tensors(Sealing *s)
{
    for (int32_t t = 0; t < s->graph->n_tensors; t++)
        add_tensor(s, t);
    rewrite_copy_ends(s->builder, s->graph, s->tensor);
    add_constants(s);
}

Graph *rewrite_seal(Rewrite *rewrite, Error *err)
{
    const Graph *graph = rewrite->graph;
    Arena *arena = graph->arena;
    Sealing s = {
        .rewrite = rewrite, .graph = graph, .builder = graph_builder_like(graph->arena, graph)};
    s.needed = arena_array(arena, bool, graph->n_ops);
    s.read = arena_array(arena, bool, graph->n_tensors);
    s.tensor = arena_array(arena, int32_t, graph->n_tensors);
    s.made = arena_array(arena, int32_t, rewrite->ops.n);
    s.constants = arena_array(arena, int32_t, rewrite->constants.n);
    s.first = arena_array(arena, int32_t, graph->n_ops + 1);
    find_needed(&s);
    add_tensors(&s);
    add_ops(&s);
    add_bodies(&s);
    return rewrite_seal_like(s.builder, graph, s.lines.at, err);
}

Graph *rewrite_seal_like(GraphBuilder *builder, const Graph *graph, int32_t *lines, Error *err)
{
    Graph *out = graph_seal(builder, err);
    if (!out)
        return NULL;
    out->n_nodes = graph->n_nodes;
    out->lines = graph->lines ? lines : NULL;
    return out;
}
