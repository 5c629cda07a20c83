#include "core/rules/infer_state.h"

#include "core/rules/written/written.h"

#include <inttypes.h>

static void add_finding(InferState *state, Level level, const char *code, int32_t op,
                        const char *hint, Buf *text)
{
    Finding finding = {.level = level, .code = code, .text = text->s, .hint = hint};
    finding.op = op;
    finding.tensor = -1;
    if (op >= 0 && state->graph->lines) {
        finding.file = state->graph->script;
        finding.line = state->graph->lines[op];
    }
    vec_push(state->arena, &state->result->findings, finding);
}

static bool is_assumed(const InferState *state, Str name)
{
    for (int i = 0; i < state->assumed.n; i++)
        if (str_eq(state->assumed.at[i], name))
            return true;
    return false;
}

/* Adds one finding per name for sizes known only at run time that the user gave. */
void infer_find_assumed(InferState *state, int32_t op, Str name, int64_t size)
{
    Buf text = buf_new(state->arena);
    if (is_assumed(state, name))
        return;
    vec_push(state->scratch, &state->assumed, str_from(arena_str(state->scratch, name)));
    buf_putc(&text, '\'');
    text_printable(name, &text);
    buf_printf(&text, "' is assumed to be %" PRId64 ": known only at run time", size);
    add_finding(state, LEVEL_NOTE, "assumed-size", op, "", &text);
}

void infer_find_given(InferState *state, Str name)
{
    Buf text = buf_new(state->arena);
    buf_puts(&text, "the elements of '");
    text_printable(name, &text);
    buf_puts(&text, "' are assumed as given: known only at run time");
    add_finding(state, LEVEL_NOTE, "assumed-elements", -1, "", &text);
}

/* "x.0" names a dim of input x that has no name. */
static bool is_nameless_dim(const Graph *graph, Str name)
{
    size_t dot = name.n;
    int64_t d;
    while (dot > 0 && name.s[dot - 1] != '.')
        dot--;
    if (dot == 0 || !str_to_int((Str){name.s + dot, name.n - dot}, &d))
        return false;
    int32_t t = graph_find_tensor(graph, (Str){name.s, dot - 1});
    return t >= 0 && 0 <= d && d < graph->tensors[t].n_declared &&
           graph->declared[graph->tensors[t].declared + d].name == 0;
}

static bool is_used(const InferState *state, Str name)
{
    const Graph *graph = state->graph;
    int32_t id = names_find(graph->names, name);
    for (int32_t t = 0; id > 0 && t < graph->n_tensors; t++)
        for (int d = 0; d < graph->tensors[t].n_declared; d++)
            if (graph->declared[graph->tensors[t].declared + d].name == id)
                return true;
    return is_nameless_dim(graph, name) || is_assumed(state, name);
}

/* Reports bindings of names that no dim of the model has, which are usually typing errors. A script
 * that builds the model leaves out what would have a dim of 0. */
static void find_unused_bindings(InferState *state)
{
    for (int b = 0; b < state->bindings->n; b++) {
        Str name = state->bindings->at[b].name;
        if (state->bindings->at[b].size == 0 || is_used(state, name))
            continue;
        Buf text = buf_new(state->arena);
        buf_puts(&text, "no dim of the model is named '");
        text_printable(name, &text);
        buf_puts(&text, "', which is bound to a size");
        add_finding(state, LEVEL_WARNING, "unused-dim", -1, "dimscope info lists the free dims",
                    &text);
    }
}

static void put_op(const InferState *state, int32_t op, Buf *text)
{
    text_printable(str_from(op_operator(state->graph, op)), text);
    buf_puts(text, " '");
    text_printable(str_from(op_name(state->graph, op)), text);
    buf_putc(text, '\'');
}

static void find_unknown_attr(InferState *state, const InferCase *found)
{
    const InferKind *kind = &state->kinds[state->graph->ops[found->op].op_type];
    const char *has = kind->row->attrs;
    Buf text = buf_new(state->arena), hint = buf_new(state->arena);
    put_op(state, found->op, &text);
    buf_puts(&text, ": no rule reads its attribute '");
    text_printable(found->unknown, &text);
    buf_putc(&text, '\'');
    if (found->meant.n > 0)
        buf_printf(&hint, "did you mean %.*s", STR_ARG(found->meant));
    else
        buf_printf(&hint, "it has: %s", *has ? has : "none");
    add_finding(state, LEVEL_WARNING, "unknown-attribute", found->op, hint.s, &text);
}

/* Lists the first inputs, "its inputs are [4,8], none, [7]", to explain a refusal. */
static const char *inputs_of(const InferState *state, int32_t op)
{
    Buf text = buf_new(state->arena);
    enum { SHOWN_MAX = 8 };
    const int32_t *inputs = op_inputs(state->graph, op);
    int n = state->graph->ops[op].n_inputs;
    for (int i = 0; i < n && i < SHOWN_MAX; i++) {
        buf_puts(&text, i > 0 ? ", " : n == 1 ? "its input is " : "its inputs are ");
        if (inputs[i] < 0) {
            buf_puts(&text, "none");
            continue;
        }
        buf_putc(&text, '[');
        const Shape *shape = code_shape(state, state->result->shape[inputs[i]]);
        if (!shape || shape->n_dims > 0)
            inferred_put_shape(state->result, inputs[i], &text);
        buf_putc(&text, ']');
    }
    if (n > SHOWN_MAX)
        buf_printf(&text, " and %d more", n - SHOWN_MAX);
    return text.s;
}

static void find_case(InferState *state, const InferCase *found, const char *code, const char *what,
                      const char *hint)
{
    Buf text = buf_new(state->arena);
    put_op(state, found->op, &text);
    if (found->n_ops > 1)
        buf_printf(&text, " and %d like it", found->n_ops - 1);
    buf_printf(&text, ": %s", what);
    add_finding(state, LEVEL_WARNING, code, found->op, hint, &text);
}

/* The dims of an op's operands as identifiers of an annotation: dims of one size have one, but for
 * those of the same operand. */
typedef struct {
    int n;
    int64_t size[26];
} DimLetters;

/* The letter of a dim of that size which the operand, whose letters are in `used`, has not yet;
 * without one a new letter of an input, else the size. */
static void put_letter(DimLetters *letters, int64_t size, bool input, uint32_t *used, Buf *out)
{
    int i = 0;
    while (i < letters->n && (letters->size[i] != size || (*used >> i & 1)))
        i++;
    if (i == letters->n && (!input || i == 26)) {
        buf_printf(out, "%" PRId64, size);
        return;
    }
    letters->n += i == letters->n;
    letters->size[i] = size;
    *used |= 1u << i;
    buf_printf(out, "%c^", 'a' + i);
}

/* "a^ b^, b^ c^ -> a^ c^", an annotation that holds for the op as it is and shards nothing; false
 * if the shape of an operand is not known. */
static bool put_annotation(const InferState *state, int32_t op, Buf *out)
{
    const GraphOp *at = &state->graph->ops[op];
    DimLetters letters = {0};
    for (int i = 0; i < at->n_inputs + at->n_outputs; i++) {
        int32_t tensor = op_operand(state->graph, op, i);
        const Shape *shape = tensor < 0 ? NULL : inferred_shape(state->result, tensor);
        uint32_t used = 0;
        if (!shape)
            return false;
        buf_puts(out, i == 0 ? "" : i == at->n_inputs ? " -> " : ", ");
        for (int d = 0; d < shape->n_dims; d++) {
            buf_puts(out, d > 0 ? " " : "");
            put_letter(&letters, shape->dim[d], i < at->n_inputs, &used, out);
        }
        buf_puts(out, shape->n_dims == 0 ? "1" : "");
    }
    return at->n_inputs > 0;
}

static void find_no_rule(InferState *state, int32_t op, int n_ops)
{
    Buf text = buf_new(state->arena), hint = buf_new(state->arena);
    Str name = str_from(op_operator(state->graph, op));
    const char *why = written_reason(op_operator(state->graph, op));
    text_printable(name, &text);
    if (why)
        buf_printf(&text, ", %s,", why);
    buf_printf(&text, " has no rule: %d op%s replicated, the first is '", n_ops,
               n_ops == 1 ? " is" : "s are");
    text_printable(str_from(op_name(state->graph, op)), &text);
    buf_putc(&text, '\'');
    Buf line = buf_new(state->arena);
    bool known = put_annotation(state, op, &line);
    buf_printf(&hint, "describe it: register_op(\"%s\", {name=\"", known ? line.s : "a b -> a b");
    text_printable(name, &hint);
    buf_puts(&hint, "\"})");
    add_finding(state, LEVEL_WARNING, "no-rule", op, hint.s, &text);
}

/* The first input of the op that has no shape. */
static int32_t unknown_tensor(const InferState *state, int32_t op)
{
    const int32_t *inputs = op_inputs(state->graph, op);
    while (*inputs < 0 || state->result->shape[*inputs] != -1)
        inputs++;
    return *inputs;
}

static void find_unknown(InferState *state, int32_t op, int n_ops)
{
    Buf text = buf_new(state->arena);
    put_op(state, op, &text);
    buf_puts(&text, " reads '");
    text_printable(str_from(tensor_name(state->graph, unknown_tensor(state, op))), &text);
    buf_printf(&text, "', whose shape is unknown: %d op%s replicated", n_ops,
               n_ops == 1 ? " is" : "s are");
    add_finding(state, LEVEL_WARNING, "unknown-shape", op,
                "give the operators before it rules, or declare shapes", &text);
}

/* Lists the first unknown sizes, "NonZero_12.1, Unique_3.0". If all of them are given, the ops that
 * make them are replicated. */
static void find_unknown_sizes(InferState *state, int32_t op, int n_ops)
{
    enum { NAMED_MAX = 8 };
    Buf text = buf_new(state->arena), hint = buf_new(state->arena);
    int n = state->late_sizes.n;
    buf_printf(&text, "%d op%s replicated, since ", n_ops, n_ops == 1 ? " is" : "s are");
    if (n == 0)
        buf_printf(&text, "the size of %s", n_ops == 1 ? "its result" : "their results");
    buf_puts(&text, n > 0 ? "sizes are known only at run time: " : " is known only at run time");
    for (int i = 0; i < n && i < NAMED_MAX; i++) {
        buf_puts(&text, i > 0 ? ", " : "");
        text_printable(str_from(sizes_at(state->sizes, state->late_sizes.at[i])->name), &text);
    }
    if (n > NAMED_MAX)
        buf_printf(&text, " and %d more", n - NAMED_MAX);
    if (n > 0)
        buf_printf(&hint, "give a size to plan with: --dim '%s=100'",
                   sizes_at(state->sizes, state->late_sizes.at[0])->name);
    add_finding(state, n > 0 ? LEVEL_WARNING : LEVEL_NOTE, "unknown-size", op, n > 0 ? hint.s : "",
                &text);
}

/* The first sequence that the op reads or makes whose elements have no shape; -1. */
static int32_t whole_sequence(const InferState *state, int32_t op)
{
    const GraphOp *at = &state->graph->ops[op];
    for (int i = 0; i < at->n_inputs + at->n_outputs; i++) {
        int32_t t = state->graph->operands[at->input + i];
        if (t >= 0 && infer_is_list(state, t) && state->result->shape[t] < 0 &&
            infer_sequence_length(inferred_value(state->result, t)) != 0)
            return t;
    }
    return -1;
}

static void find_sequences(InferState *state, int32_t op, int n_ops)
{
    Buf text = buf_new(state->arena);
    int32_t whole = whole_sequence(state, op);
    put_op(state, op, &text);
    buf_printf(&text, ": %d op%s on sequences or optionals %s replicated", n_ops,
               n_ops == 1 ? "" : "s", n_ops == 1 ? "is" : "are");
    const char *late = NULL;
    if (whole >= 0) {
        buf_printf(&text, ", since the elements of '%s' ", tensor_name(state->graph, whole));
        late = infer_put_varying(state, whole, &text);
    }
    add_finding(
        state, LEVEL_NOTE, "sequence", op,
        late ? arena_printf(state->arena, "give the size of each to plan with: --dim '%s=8'", late)
             : "elements of one shape are sharded; --fuse sequences makes tensors of a "
               "sequence whose length and positions are known before the run",
        &text);
}

/* Sequences of known elements whose number is known only at run time. */
static void find_lengths(InferState *state)
{
    int32_t first = -1;
    int n = 0;
    for (int32_t t = 0; t < state->graph->n_tensors && state->has_inner; t++)
        if (infer_is_list(state, t) && state->result->shape[t] >= 0 &&
            infer_sequence_length(inferred_value(state->result, t)) < 0 &&
            infer_assumed_length(state, t) < 0) {
            first = n == 0 ? t : first;
            n++;
        }
    if (n == 0)
        return;
    Buf text = buf_new(state->arena);
    const char *name = tensor_name(state->graph, first);
    buf_printf(
        &text,
        "%d sequence%s a length that is known only at run time, the first is '%s': bytes and "
        "moves count one element",
        n, n == 1 ? " has" : "s have", name);
    add_finding(state, LEVEL_NOTE, "sequence-length", state->graph->tensors[first].maker,
                arena_printf(state->arena, "give a length to plan with: --dim '%s.n=8'", name),
                &text);
}

static void put_declared(const InferState *state, const GraphTensor *tensor, Buf *text)
{
    for (int d = 0; d < tensor->n_declared; d++) {
        DeclaredDim dim = state->graph->declared[tensor->declared + d];
        buf_puts(text, d > 0 ? "," : "");
        if (dim.size >= 0)
            buf_printf(text, "%" PRId64, dim.size);
        else if (dim.name == 0)
            buf_putc(text, '?');
        else
            text_printable(names_str(state->graph->names, dim.name), text);
    }
}

/* Whether the file declares another shape of the tensor than inference finds. */
static bool is_contradicted(const InferState *state, int32_t t)
{
    const GraphTensor *tensor = &state->graph->tensors[t];
    if (tensor->declared < 0 || tensor->kind != TENSOR_MADE || tensor->sequence || tensor->optional)
        return false;
    const Shape *shape = code_shape(state, state->result->shape[t]);
    if (!shape || tensor->n_declared != shape->n_dims)
        return shape != NULL;
    for (int d = 0; d < tensor->n_declared; d++) {
        DeclaredDim dim = state->graph->declared[tensor->declared + d];
        int64_t size = dim_size(state->graph, dim, state->bindings);
        if (size >= 0 && shape->dim[d] >= 0 && size != shape->dim[d])
            return true;
    }
    return false;
}

/* Adds one finding: if one declared shape is out of date, those after it are too. */
static void find_contradictions(InferState *state)
{
    int32_t first = -1;
    int n = 0;
    for (int32_t t = 0; t < state->graph->n_tensors; t++)
        if (is_contradicted(state, t)) {
            first = n == 0 ? t : first;
            n++;
        }
    if (n == 0)
        return;
    Buf text = buf_new(state->arena);
    buf_putc(&text, '\'');
    text_printable(str_from(tensor_name(state->graph, first)), &text);
    buf_puts(&text, "' is declared as [");
    put_declared(state, &state->graph->tensors[first], &text);
    buf_puts(&text, "], and is [");
    inferred_put_shape(state->result, first, &text);
    buf_puts(&text, "]");
    if (n > 1)
        buf_printf(&text, "; %d more are declared wrongly", n - 1);
    add_finding(state, LEVEL_WARNING, "declared-shape", state->graph->tensors[first].maker,
                "the shapes in the file are out of date: the inferred ones are used", &text);
}

/* The name of the size of a stack that a loop makes, which is the number of its iterations. NULL if
 * the loop stacks nothing, or the size is bound. */
static const char *stacked_size(const InferState *state, int32_t first_result)
{
    const Graph *graph = state->graph;
    for (int32_t op = first_result; op < graph->n_ops; op++) {
        bool stacks = strcmp(op_operator(graph, op), "LoopStack") == 0;
        if (!stacks && strcmp(op_operator(graph, op), "LoopResult") != 0)
            break;
        int32_t t = stacks ? op_outputs(graph, op)[0] : -1;
        const Shape *sizes = t < 0 ? NULL : inferred_sizes(state->result, t);
        for (int d = 0; sizes && d < sizes->n_dims; d++)
            if (sizes->dim[d] < SIZE_UNNAMED && !sizes_at(state->sizes, sizes->dim[d])->computed)
                return sizes_at(state->sizes, sizes->dim[d])->name;
    }
    return NULL;
}

static void find_unknown_trips(InferState *state)
{
    Buf text = buf_new(state->arena);
    const char *size = stacked_size(state, state->unknown_loop), *hint = "";
    put_op(state, state->unknown_loop, &text);
    buf_printf(&text, ": %d loop%s a number of times known only at run time, and %s counted once",
               state->unknown_trips, state->unknown_trips == 1 ? " runs" : "s run",
               state->unknown_trips == 1 ? "is" : "are");
    if (size) {
        buf_puts(&text, "; the rows that it stacks, and what is made of them, have no size");
        hint =
            arena_printf(state->arena, "give the number of its iterations: --dim '%s=100'", size);
    }
    add_finding(state, LEVEL_NOTE, "unknown-trips", state->unknown_loop, hint, &text);
}

void infer_add_findings(InferState *state)
{
    int32_t first_unknown = -1, first_size = -1, first_sequence = -1;
    int n_unknown = 0, n_sizes = 0, n_sequences = 0;
    int *n_without = arena_array(state->scratch, int, names_count(state->graph->names));
    find_lengths(state);
    find_unused_bindings(state);
    for (int i = 0; i < state->found.n; i++)
        state->cases.at[state->found.at[i]].n_ops++;
    for (int i = 0; i < state->cases.n; i++) {
        const InferCase *found = &state->cases.at[i];
        const GraphOp *op = &state->graph->ops[found->op];
        if (found->n_ops == 0 || found->space == SPACE_HOST)
            continue;
        if (found->unknown.n > 0)
            find_unknown_attr(state, found);
        if (found->refused)
            find_case(state, found, "rule-refused", found->refused,
                      *found->hint ? found->hint : inputs_of(state, found->op));
        if (found->mistyped)
            find_case(state, found, "wrong-dtype", found->mistyped, "");
        if (found->space < 0)
            continue;
        int32_t space = state->result->space[found->op];
        bool whole = space >= 0 && state->spaces.at[space]->no_rule;
        if (found->sequence && (!whole || op->n_inputs == 0))
            continue;
        bool has_row = state->kinds[op->op_type].row != NULL;
        bool unsized = !found->sequence && has_row && !found->unknown_input &&
                       found->unknown_size && space == found->space;
        if (found->late || unsized) {
            first_size = n_sizes == 0 ? found->op : first_size;
            n_sizes += found->n_ops;
        } else if (found->sequence) {
            first_sequence = n_sequences == 0 ? found->op : first_sequence;
            n_sequences += found->n_ops;
        } else if (!has_row) {
            n_without[op->op_type] += found->n_ops;
        } else if (found->unknown_input) {
            first_unknown = n_unknown == 0 ? found->op : first_unknown;
            n_unknown += found->n_ops;
        }
    }
    for (int i = 0; i < state->cases.n; i++) {
        int32_t op = state->cases.at[i].op, name = state->graph->ops[op].op_type;
        if (n_without[name] > 0)
            find_no_rule(state, op, n_without[name]);
        n_without[name] = 0;
    }
    if (n_sequences > 0)
        find_sequences(state, first_sequence, n_sequences);
    if (n_sizes > 0 && !state->allow_free)
        find_unknown_sizes(state, first_size, n_sizes);
    if (n_unknown > 0 && !state->allow_free)
        find_unknown(state, first_unknown, n_unknown);
    if (state->unknown_trips > 0 && !state->allow_free)
        find_unknown_trips(state);
    find_contradictions(state);
}
