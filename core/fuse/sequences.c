#include "core/fuse/sequences.h"

#include "core/base/vec.h"
#include "core/fuse/collected.h"
#include "core/fuse/fuse.h"
#include "core/model/rewrite.h"
#include "core/rules/value.h"

/* New ops have their axes as attributes, as operators of this opset. */
enum { NEW_OPSET = 11 };

/* An element of a sequence: a tensor of the old graph, or what a SplitToSequence makes. */
typedef struct {
    int32_t tensor; /* -1: it is part `part` of op `split` */
    int32_t split;
    int part;
} GrownElement;

typedef Vec(GrownElement) GrownElements;

typedef struct {
    const Inferred *inferred;
    const Graph *graph;
    Arena *arena, *scratch;
    GraphBuilder *builder;
    const GrownElements *
        *held;      /* per tensor: the elements of a sequence; NULL if they are not known */
    bool *apart;    /* per op: it is replaced */
    bool *wanted;   /* per op: tensors that this SplitToSequence makes are read */
    int32_t **part; /* per op: of the new graph, what this SplitToSequence makes */
    int32_t *now;   /* per tensor: what it is in the new graph */
    Vec(int32_t) lines;
} Apart;

static bool is(const Apart *a, int32_t op, const char *op_type)
{
    return strcmp(op_operator(a->graph, op), op_type) == 0;
}

static int32_t input_of(const Apart *a, int32_t op, int i)
{
    return i < a->graph->ops[op].n_inputs ? op_inputs(a->graph, op)[i] : -1;
}

static const GrownElements *held_by_input(const Apart *a, int32_t op)
{
    int32_t t = input_of(a, op, 0);
    return t < 0 ? NULL : a->held[t];
}

/* The position in operand i, of n_places; the last if it is absent. Negative ones count from n.
 * Returns false if it is not known. */
static bool position(const Apart *a, int32_t op, int i, int n, int n_places, int *out)
{
    int32_t t = input_of(a, op, i);
    int64_t at = n_places - 1;
    if (t >= 0 && !value_one_int(inferred_value(a->inferred, t), &at))
        return false;
    at += at < 0 ? n : 0;
    *out = (int)at;
    return at >= 0 && at < n_places;
}

/* ---- what a sequence holds ---- */

static GrownElements *constructed(Apart *a, int32_t op)
{
    GrownElements *out = arena_make(a->scratch, GrownElements);
    for (int i = 0; i < a->graph->ops[op].n_inputs; i++)
        vec_push(a->scratch, out, ((GrownElement){.tensor = op_inputs(a->graph, op)[i]}));
    return out;
}

/* SequenceInsert (sequence, tensor, at), SequenceErase (sequence, at). */
static GrownElements *edited(Apart *a, int32_t op, bool insert)
{
    const GrownElements *from = held_by_input(a, op);
    int at;
    if (!from || !position(a, op, insert ? 2 : 1, from->n, from->n + insert, &at))
        return NULL;
    GrownElements *out = arena_make(a->scratch, GrownElements);
    for (int i = 0; i <= from->n; i++) {
        if (insert && i == at)
            vec_push(a->scratch, out, ((GrownElement){.tensor = input_of(a, op, 1)}));
        if (i < from->n && (insert || i != at))
            vec_push(a->scratch, out, from->at[i]);
    }
    return out;
}

/* The sizes of the parts into which a SplitToSequence splits, at most OPERANDS_MAX; NULL if they
 * are not known. */
static const int64_t *split_sizes(const Apart *a, int32_t op, int *axis, int *n)
{
    const Shape *shape = inferred_shape(a->inferred, input_of(a, op, 0));
    int32_t sizes = input_of(a, op, 1);
    const Value *value = sizes < 0 ? NULL : inferred_value(a->inferred, sizes);
    int64_t at = op_attr_int(a->graph, op, "axis", 0);
    if (!shape || (sizes >= 0 && (!value || !value->ints || value->partly)))
        return NULL;
    at += at < 0 ? shape->n_dims : 0;
    if (at < 0 || at >= shape->n_dims)
        return NULL;
    bool listed = value && value->shape.n_dims > 0;
    int64_t each = value && !listed ? value->ints[0] : 1, left = shape->dim[at];
    int64_t n_parts = listed     ? shape_elements(&value->shape)
                      : each > 0 ? (left + each - 1) / each
                                 : -1;
    if (n_parts < 1 || n_parts > OPERANDS_MAX)
        return NULL;
    int64_t *out = arena_array(a->arena, int64_t, (int)n_parts);
    for (int i = 0; i < n_parts; i++, left -= each)
        out[i] = listed ? value->ints[i] : left < each ? left : each;
    *axis = (int)at;
    *n = (int)n_parts;
    return out;
}

static GrownElements *split(Apart *a, int32_t op)
{
    int axis, n;
    if (!split_sizes(a, op, &axis, &n))
        return NULL;
    GrownElements *out = arena_make(a->scratch, GrownElements);
    for (int i = 0; i < n; i++)
        vec_push(a->scratch, out, ((GrownElement){.tensor = -1, .split = op, .part = i}));
    return out;
}

static const GrownElements *made_by(Apart *a, int32_t op)
{
    if (is(a, op, "SequenceConstruct"))
        return constructed(a, op);
    if (is(a, op, "SequenceEmpty"))
        return arena_make(a->scratch, GrownElements);
    if (is(a, op, "SequenceInsert") || is(a, op, "SequenceErase"))
        return edited(a, op, is(a, op, "SequenceInsert"));
    if (is(a, op, "SplitToSequence"))
        return split(a, op);
    return is(a, op, "Identity") ? held_by_input(a, op) : NULL;
}

/* Whether the op reads elements that are known. */
static bool reads_known(const Apart *a, int32_t op)
{
    const GrownElements *from = held_by_input(a, op);
    int at;
    if (!from)
        return false;
    if (is(a, op, "SequenceAt"))
        return position(a, op, 1, from->n, from->n, &at);
    return is(a, op, "SequenceLength") ||
           (is(a, op, "ConcatFromSequence") && from->n > 0 && from->n < OPERANDS_MAX);
}

static void want(Apart *a, const GrownElement *element)
{
    if (element->tensor < 0)
        a->wanted[element->split] = true;
}

/* Marks what is replaced: what reads known elements, and the sequences that nothing else reads. */
static bool find(Apart *a)
{
    const Graph *graph = a->graph;
    bool any = false;
    for (int32_t op = 0; op < graph->n_ops; op++) {
        const GrownElements *made = graph->ops[op].n_outputs > 0 ? made_by(a, op) : NULL;
        bool reads = reads_known(a, op);
        const GrownElements *from = reads ? held_by_input(a, op) : NULL;
        any |= reads;
        a->apart[op] = made || reads;
        if (made)
            a->held[op_outputs(graph, op)[0]] = made;
        for (int i = 0; from && !is(a, op, "SequenceLength") && i < from->n; i++)
            want(a, &from->at[i]);
    }
    for (int i = 0; i < graph->n_outputs; i++)
        if (a->held[graph->outputs[i]])
            a->apart[graph->tensors[graph->outputs[i]].maker] = false;
    for (int32_t op = graph->n_ops - 1; op >= 0; op--)
        for (int i = 0; !a->apart[op] && i < graph->ops[op].n_inputs; i++) {
            int32_t t = op_inputs(graph, op)[i];
            if (t >= 0 && a->held[t])
                a->apart[graph->tensors[t].maker] = false;
        }
    return any;
}

/* ---- the new graph ---- */

static void add(Apart *a, int32_t of, const char *op_type, const char *name, const int32_t *inputs,
                int n_inputs, const int32_t *outputs, int n_outputs, const Attr *attrs, int n_attrs)
{
    int32_t set = n_attrs > 0 ? graph_add_attrs_of_opset(a->builder, attrs, n_attrs, NEW_OPSET) : 0;
    graph_add_op(a->builder, str_from(op_type), str_from(name), str_from(op_path(a->graph, of)),
                 inputs, n_inputs, outputs, n_outputs, set);
    vec_push(a->arena, &a->lines, a->graph->lines ? a->graph->lines[of] : 0);
}

static Attr int_attr(const Apart *a, const char *name, int64_t value)
{
    return (Attr){
        .name = names_intern(a->graph->names, str_from(name)), .type = ATTR_INT, .i = value};
}

static Attr ints_attr(const Apart *a, const char *name, const int64_t *values, int n)
{
    return (Attr){.name = names_intern(a->graph->names, str_from(name)),
                  .type = ATTR_INTS,
                  .ints = values,
                  .n = n};
}

/* "NAME.2": part 2 of the op's result, or its name. */
static const char *numbered(const Apart *a, const char *name, int i)
{
    return arena_printf(a->arena, "%s.%d", name, i);
}

static int32_t new_tensor(Apart *a, const char *name)
{
    return graph_new_tensor(a->builder, str_from(name));
}

/* Adds or takes away a dim of size 1. */
static void reshape(Apart *a, int32_t of, const char *op_type, int i, int64_t axis, int32_t from,
                    int32_t to)
{
    int64_t *axes = arena_array(a->arena, int64_t, 1);
    axes[0] = axis;
    Attr attr = ints_attr(a, "axes", axes, 1);
    add(a, of, op_type, numbered(a, op_name(a->graph, of), i), &from, 1, &to, 1, &attr, 1);
}

static void emit_split(Apart *a, int32_t op)
{
    int axis = 0, n = 0;
    const int64_t *sizes = split_sizes(a, op, &axis, &n);
    bool squeezes = input_of(a, op, 1) < 0 && op_attr_int(a->graph, op, "keepdims", 1) == 0;
    const char *name = tensor_name(a->graph, op_outputs(a->graph, op)[0]);
    int32_t *made = arena_array(a->scratch, int32_t, n), *part = made;
    for (int i = 0; i < n; i++)
        made[i] = new_tensor(a, numbered(a, name, i));
    Attr attrs[] = {int_attr(a, "axis", axis), ints_attr(a, "split", sizes, n)};
    add(a, op, "Split", op_name(a->graph, op), &a->now[input_of(a, op, 0)], 1, made, n, attrs, 2);
    if (squeezes)
        part = arena_array(a->scratch, int32_t, n);
    for (int i = 0; squeezes && i < n; i++) {
        part[i] = new_tensor(a, arena_printf(a->arena, "%s.%d.squeezed", name, i));
        reshape(a, op, "Squeeze", i, axis, made[i], part[i]);
    }
    a->part[op] = part;
}

static int32_t element_now(const Apart *a, const GrownElement *element)
{
    return element->tensor >= 0 ? a->now[element->tensor] : a->part[element->split][element->part];
}

static void emit_concat(Apart *a, int32_t op, const GrownElements *from)
{
    int32_t out = a->now[op_outputs(a->graph, op)[0]];
    int64_t axis = op_attr_int(a->graph, op, "axis", 0);
    bool stacks = op_attr_int(a->graph, op, "new_axis", 0) != 0;
    const char *name = tensor_name(a->graph, op_outputs(a->graph, op)[0]);
    int32_t *inputs = arena_array(a->scratch, int32_t, from->n);
    for (int i = 0; i < from->n; i++) {
        inputs[i] = element_now(a, &from->at[i]);
        if (!stacks)
            continue;
        int32_t row = new_tensor(a, numbered(a, name, i));
        reshape(a, op, "Unsqueeze", i, axis, inputs[i], row);
        inputs[i] = row;
    }
    Attr attr = int_attr(a, "axis", axis);
    add(a, op, "Concat", op_name(a->graph, op), inputs, from->n, &out, 1, &attr, 1);
}

static int32_t length_constant(Apart *a, int32_t op, const GrownElements *held)
{
    int64_t *n = arena_array(a->arena, int64_t, 1);
    const Shape scalar = {0};
    *n = held->n;
    int32_t tensor = new_tensor(
        a, arena_printf(a->arena, "%s.n", tensor_name(a->graph, op_outputs(a->graph, op)[0])));
    graph_add_initializer(a->builder, tensor, DT_I64, &scalar,
                          (TensorData){.form = DATA_RAW, .bytes = {(const char *)n, sizeof *n}});
    return tensor;
}

/* What reads elements of a sequence reads these tensors. */
static void emit_apart(Apart *a, int32_t op)
{
    const GrownElements *held = held_by_input(a, op);
    int32_t from;
    int at;
    if (!held)
        return; /* it makes a sequence of tensors */
    if (is(a, op, "ConcatFromSequence")) {
        emit_concat(a, op, held);
        return;
    }
    if (is(a, op, "SequenceAt") && position(a, op, 1, held->n, held->n, &at))
        from = element_now(a, &held->at[at]);
    else if (is(a, op, "SequenceLength"))
        from = length_constant(a, op, held);
    else
        return; /* the sequence itself */
    add(a, op, "Identity", op_name(a->graph, op), &from, 1, &a->now[op_outputs(a->graph, op)[0]], 1,
        NULL, 0);
}

static void copy_op(Apart *a, int32_t op)
{
    const GraphOp *old = &a->graph->ops[op];
    int n = old->n_inputs + old->n_outputs;
    int32_t *operand = arena_array(a->scratch, int32_t, n);
    for (int i = 0; i < n; i++) {
        int32_t t = a->graph->operands[old->input + i];
        operand[i] = t < 0 ? -1 : a->now[t];
    }
    graph_add_op_like(a->builder, *old, operand, operand + old->n_inputs);
    vec_push(a->arena, &a->lines, a->graph->lines ? a->graph->lines[op] : 0);
}

static Graph *rebuilt(Apart *a, Error *err)
{
    const Graph *graph = a->graph;
    a->builder = graph_builder_like(graph->arena, graph);
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        int32_t maker = graph->tensors[t].maker;
        bool gone = a->held[t] && maker >= 0 && a->apart[maker];
        a->now[t] = gone ? -1 : rewrite_copy_tensor(a->builder, graph, t);
    }
    rewrite_copy_ends(a->builder, graph, a->now);
    for (int32_t op = 0; op < graph->n_ops; op++) {
        if (a->wanted[op])
            emit_split(a, op);
        if (a->apart[op])
            emit_apart(a, op);
        else
            copy_op(a, op);
    }
    return rewrite_seal_like(a->builder, graph, a->lines.at, err);
}

/* *n_apart: the ops that are replaced. */
static bool take_apart(const Inferred *inferred, Graph **out, int *n_apart, Error *err)
{
    const Graph *graph = inferred->graph;
    *out = NULL;
    *n_apart = 0;
    if (!inferred->listed || graph->n_bodies > 0)
        return true;
    Apart a = {.inferred = inferred, .graph = graph, .arena = graph->arena, .scratch = arena_new()};
    a.held = arena_array(a.scratch, const GrownElements *, graph->n_tensors);
    a.apart = arena_array(a.scratch, bool, graph->n_ops);
    a.wanted = arena_array(a.scratch, bool, graph->n_ops);
    a.part = arena_array(a.scratch, int32_t *, graph->n_ops);
    a.now = arena_array(a.scratch, int32_t, graph->n_tensors);
    bool any = find(&a);
    if (any)
        *out = rebuilt(&a, err);
    for (int32_t op = 0; op < graph->n_ops; op++)
        *n_apart += a.apart[op];
    arena_free(a.scratch);
    return !any || *out;
}

bool take_sequences_apart(const Inferred *inferred, Graph **out, Error *err)
{
    int n_apart;
    return take_apart(inferred, out, &n_apart, err);
}

bool fuse_sequences(const Inferred *inferred, Progress *progress, Findings *notes, Graph **graph,
                    Error *err)
{
    Arena *arena = inferred->graph->arena;
    int n, n_collected = 0;
    (void)progress; /* takes no longer than reading the graph */
    if (!take_apart(inferred, graph, &n, err) ||
        (!*graph && !collect_in_loops(inferred, graph, &n_collected, err)))
        return false;
    if (n == 0 && *graph) {
        Finding note = {.level = LEVEL_NOTE, .code = "fused", .hint = "", .op = -1, .tensor = -1};
        note.text =
            arena_printf(arena, "sequences: %d that a loop fills became tensors", n_collected);
        vec_push(arena, notes, note);
        return true;
    }
    Finding note = {.level = LEVEL_NOTE, .code = "fused", .hint = "", .op = -1, .tensor = -1};
    note.text = n == 0 ? "sequences: none has a length and positions that are known before the run"
                       : arena_printf(arena, "sequences: %d op%s on sequences became tensors", n,
                                      n == 1 ? "" : "s");
    vec_push(arena, notes, note);
    return true;
}
